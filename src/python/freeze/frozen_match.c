/*
 * frozen_match.c -- see frozen_match.h
 */
#include "python/freeze/frozen_match.h"

#include "python/freeze/frozen_key.h"

enum {
    NUMBER = UINT32_MAX, /* an extent that is no size of an input */
    PARTS = 4,           /* of a tuple of inputs, without those of derivatives */
    FEW = 8,             /* variables that are compared with each other one by one */
    MOST_DEPTH = 100
};

struct MatchPlan {
    PyObject **plain; /* leaves that are no arrays: the object, or a weak reference */
    size_t leaf_count;
    uint32_t *extents; /* of tensors, in order: of which input it is the size */
    size_t extent_count;
    /* A set of variables, for the time of one comparison: generation << 32 | variable,
     * where it is this generation. Open addressing. */
    uint64_t *slots;
    size_t mask;
    uint32_t generation;
};

/* ---------------------------------------------------------------- the plan */

void frozen_match_free(MatchPlan *plan)
{
    for (size_t i = 0; plan && plan->plain && i < plan->leaf_count; i++)
        Py_XDECREF(plan->plain[i]);
    if (plan) {
        PyMem_Free(plan->plain);
        PyMem_Free(plan->extents);
        PyMem_Free(plan->slots);
    }
    PyMem_Free(plan);
}

int frozen_match_references(const MatchPlan *plan, visitproc visit, void *arg)
{
    for (size_t i = 0; plan && plan->plain && i < plan->leaf_count; i++)
        Py_VISIT(plan->plain[i]);
    return 0;
}

static bool is_value(PyObject *object)
{
    return object == Py_None || object == Py_Ellipsis || PyBool_Check(object) ||
           PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
           PyComplex_CheckExact(object) || PyUnicode_CheckExact(object) ||
           PyBytes_CheckExact(object);
}

/* What tells that a leaf is the same again (new reference). NULL: nothing does but its
 * content, or an exception. */
static PyObject *mark_of(PyObject *object)
{
    if (is_value(object))
        return Py_NewRef(object);
    if (PyAnySet_Check(object) || PyObject_CheckBuffer(object) ||
        !frozen_key_by_identity(object))
        return NULL;
    PyObject *reference = PyWeakref_NewRef(object, NULL);
    if (!reference && PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Clear(); /* of a class without */
    return reference;
}

static bool keep_plain(MatchPlan *plan, const Collection *inputs)
{
    plan->plain = PyMem_Calloc(inputs->tree.leaf_count + 1, sizeof(*plan->plain));
    if (!plan->plain)
        return PyErr_NoMemory() != NULL;
    plan->leaf_count = inputs->tree.leaf_count;
    for (size_t i = 0; i < plan->leaf_count; i++)
        if (!inputs->places[i].info &&
            !(plan->plain[i] = mark_of(inputs->tree.leaves[i])))
            return false;
    return true;
}

static bool is_tensor(const Collection *c, size_t leaf)
{
    return c->places[leaf].info && c->places[leaf].info->kind == KIND_TENSOR;
}

static bool keep_extents(MatchPlan *plan, const Snapshot *s)
{
    const Collection *c = &s->inputs;
    size_t count = 0;
    for (size_t leaf = 0; leaf < c->tree.leaf_count; leaf++)
        if (is_tensor(c, leaf))
            count += array_tensor(array_of(c->tree.leaves[leaf]))->ndim;
    plan->extents = PyMem_New(uint32_t, count + 1);
    if (!plan->extents)
        return PyErr_NoMemory() != NULL;
    for (size_t leaf = 0; leaf < c->tree.leaf_count; leaf++) {
        const Tensor *t = is_tensor(c, leaf)
                              ? array_tensor(array_of(c->tree.leaves[leaf]))
                              : NULL;
        for (size_t i = 0; t && i < t->ndim; i++) {
            const SizeClass *known =
                t->extents[i] < FIRST_CLASS || t->extents[i] > UINT32_MAX
                    ? NULL
                    : size_classes_find(&s->sizes, (uint32_t) t->extents[i]);
            plan->extents[plan->extent_count++] = known ? known->input : NUMBER;
        }
    }
    return true;
}

static bool keep_slots(MatchPlan *plan, size_t variables)
{
    size_t room = 1;
    while (room < 2 * variables)
        room *= 2;
    plan->mask = room - 1;
    plan->slots = variables > FEW ? PyMem_Calloc(room, sizeof(*plan->slots)) : NULL;
    return plan->slots || variables <= FEW || PyErr_NoMemory() != NULL;
}

/* Does each variable occur once, and does the function leave its inputs alone? */
static bool is_simple(const Frozen *f, const Collection *c)
{
    return c->number_count == c->id_count && !c->repeated_count && !f->change_count &&
           c->tree.nodes[0].kind == NODE_TUPLE && c->tree.nodes[0].count == PARTS;
}

bool frozen_match_keep(Frozen *f, const Snapshot *s)
{
    if (!is_simple(f, &s->inputs))
        return true;
    MatchPlan *plan = PyMem_Calloc(1, sizeof(*plan));
    if (!plan)
        return PyErr_NoMemory() != NULL;
    if (keep_plain(plan, &s->inputs) && keep_extents(plan, s) &&
        keep_slots(plan, s->inputs.id_count))
        f->match = plan;
    else
        frozen_match_free(plan);
    return !PyErr_Occurred();
}

/* ---------------------------------------------------------------- comparing */

/* A walk through the outline and the inputs at the same time. */
typedef struct Match {
    const Frozen *f;
    const MatchPlan *plan;
    Matched *matched;
    size_t node, leaf, depth; /* of the outline, the next ones */
    const Plan *valid;        /* of a class, as the class is now */
    size_t *extents;          /* that were found, of all tensors */
    size_t extent_count;
} Match;

static bool match_shape(Match *m, const Tensor *tensor, const Tensor *like)
{
    if (tensor->ndim != like->ndim)
        return false;
    for (size_t i = 0; i < like->ndim; i++) {
        const size_t extent = tensor->extents[i];
        const bool number = m->plan->extents[m->extent_count] == NUMBER;
        if (number ? extent != like->extents[i]
                   : extent < FIRST_CLASS || extent > UINT32_MAX)
            return false;
        m->extents[m->extent_count++] = extent;
    }
    return true;
}

/* Variables get references at once, since reading attributes may run any code. */
static bool match_array(Match *m, PyObject *object, PyObject *like)
{
    const CollectedLeaf *place = &m->f->inputs.places[m->leaf];
    if (Py_TYPE(object) != Py_TYPE(like))
        return false;
    const Array *a = (const Array *) object;
    if (a->info != place->info || array_count(a) != place->count)
        return false;
    if (place->info->kind == KIND_TENSOR &&
        !match_shape(m, (const Tensor *) a, (const Tensor *) like))
        return false;
    const Leaf *leaves = array_leaves(a);
    for (size_t i = 0; i < place->count; i++) {
        if (!leaves[i] || leaf_node(leaves[i]))
            return false;
        m->matched->ids[m->matched->count++] = jit_var_inc_ref(leaf_index(leaves[i]));
    }
    return true;
}

static bool match_leaf(Match *m, PyObject *object)
{
    PyObject *mark = m->plan->plain[m->leaf];
    if (!mark) {
        const bool fits = match_array(m, object, m->f->inputs.tree.leaves[m->leaf]);
        m->leaf++;
        return fits;
    }
    m->leaf++;
    return mark == object ||
           (PyWeakref_CheckRef(mark) && weakref_is(mark, object));
}

static bool match_node(Match *m, PyObject *object);

static inline bool match_child(Match *m, PyObject *object)
{
    if (m->f->inputs.tree.nodes[m->node].kind != NODE_LEAF)
        return match_node(m, object);
    m->node++;
    return match_leaf(m, object);
}

static bool match_tuple(Match *m, const TreeNode *node, PyObject *object)
{
    bool fits = PyTuple_GET_SIZE(object) == node->count;
    for (Py_ssize_t i = 0; fits && i < node->count; i++)
        fits = match_child(m, PyTuple_GET_ITEM(object, i));
    return fits;
}

static bool match_list(Match *m, const TreeNode *node, PyObject *object)
{
    bool fits = PyList_GET_SIZE(object) == node->count;
    for (Py_ssize_t i = 0; fits && i < node->count; i++) {
        if (i >= PyList_GET_SIZE(object)) /* it has changed meanwhile */
            return false;
        PyObject *child = Py_NewRef(PyList_GET_ITEM(object, i));
        fits = match_child(m, child);
        Py_DECREF(child);
    }
    return fits;
}

/* The same keys, in the same order. */
static bool match_dictionary(Match *m, const TreeNode *node, PyObject *object)
{
    Py_ssize_t position = 0, i = 0;
    bool fits = PyDict_GET_SIZE(object) == node->count;
    for (PyObject *key, *child;
         fits && i < node->count && PyDict_Next(object, &position, &key, &child); i++) {
        fits = key == PyList_GET_ITEM(node->keys, i);
        Py_INCREF(child);
        fits = fits && match_child(m, child);
        Py_DECREF(child);
    }
    return fits && i == node->count;
}

/* Has the class the fields that it had? */
static bool is_same_class(Match *m, const TreeNode *node, PyObject *object)
{
    NodeKind kind;
    Plan *plan;
    if ((PyObject *) Py_TYPE(object) != node->object)
        return false;
    if (node->plan == m->valid)
        return true;
    if (!plan_of_class(m->f->state, "freeze", Py_TYPE(object), &kind, &plan))
        return false;
    m->valid = plan;
    plan_release(plan); /* the outline has a reference, if it is this one */
    return plan == node->plan;
}

static bool match_fields(Match *m, const TreeNode *node, PyObject *object)
{
    bool fits = is_same_class(m, node, object);
    if (fits && node->kind == NODE_NAMED_TUPLE)
        return match_tuple(m, node, object);
    for (Py_ssize_t i = 0; fits && i < node->count; i++) {
        PyObject *child =
            PyObject_GetAttr(object, PyTuple_GET_ITEM(node->plan->names, i));
        fits = child && match_child(m, child);
        Py_XDECREF(child);
    }
    return fits;
}

static bool match_node(Match *m, PyObject *object)
{
    const TreeNode *node = &m->f->inputs.tree.nodes[m->node++];
    if (m->depth == MOST_DEPTH)
        return false;
    m->depth++;
    bool fits = false;
    switch (node->kind) {
    case NODE_TUPLE:
        fits = PyTuple_CheckExact(object) && match_tuple(m, node, object);
        break;
    case NODE_LIST:
        fits = PyList_CheckExact(object) && match_list(m, node, object);
        break;
    case NODE_DICTIONARY:
        fits = PyDict_CheckExact(object) && match_dictionary(m, node, object);
        break;
    default:
        fits = node->plan && match_fields(m, node, object);
    }
    m->depth--;
    return fits;
}

/* ---------------------------------------------------------------- variables, sizes */

static bool are_few_distinct(const Frozen *f, const uint32_t *ids)
{
    for (size_t i = 0; i < f->inputs.id_count; i++)
        for (size_t k = f->described[i].literal ? i : 0; k < i; k++)
            if (ids[k] == ids[i])
                return false;
    return true;
}

/* Does each variable occur once? Literals may be equal. */
static bool are_distinct(const Frozen *f, const uint32_t *ids)
{
    MatchPlan *plan = f->match;
    if (!plan->slots)
        return are_few_distinct(f, ids);
    if (!++plan->generation) {
        memset(plan->slots, 0, (plan->mask + 1) * sizeof(*plan->slots));
        plan->generation = 1;
    }
    const uint64_t mark = (uint64_t) plan->generation << 32;
    for (size_t i = 0; i < f->inputs.id_count; i++) {
        size_t slot = ids[i] & plan->mask;
        if (f->described[i].literal)
            continue;
        while (plan->slots[slot] > mark && plan->slots[slot] != (mark | ids[i]))
            slot = (slot + 1) & plan->mask;
        if (plan->slots[slot] == (mark | ids[i]))
            return false;
        plan->slots[slot] = mark | ids[i];
    }
    return true;
}

/* Are extents the sizes that they were, and equal to each other where they were? Those
 * that are no variable's go in as literals. */
static bool add_extents(const Match *m)
{
    const Frozen *f = m->f;
    const size_t variables = f->inputs.id_count;
    Matched *matched = m->matched;
    const JitBackend backend = collection_backend(&f->inputs);
    for (size_t i = 0; i < m->extent_count; i++) {
        const uint32_t input = m->plan->extents[i];
        if (input == NUMBER)
            continue;
        if (input == matched->count && input >= variables) {
            const Leaf size = leaf_entries(backend, m->extents[i]);
            if (!size)
                return false;
            matched->ids[matched->count++] = leaf_index(size);
        } else if (jit_var_peek_size(matched->ids[input]) != m->extents[i]) {
            return false;
        }
    }
    return matched->count == variables + f->extent_count;
}

/* ---------------------------------------------------------------- whole */

void frozen_match_release(Matched *matched)
{
    for (size_t i = 0; i < matched->count; i++)
        jit_var_dec_ref(matched->ids[i]);
    if (matched->ids != matched->few)
        PyMem_Free(matched->ids);
    matched->ids = NULL;
    matched->count = 0;
}

static bool reserve(Matched *matched, size_t count)
{
    matched->count = 0;
    matched->ids = count > sizeof(matched->few) / sizeof(*matched->few)
                       ? PyMem_New(uint32_t, count)
                       : matched->few;
    return matched->ids || PyErr_NoMemory() != NULL;
}

int frozen_match(const Frozen *f, PyObject *const *parts, Matched *matched)
{
    const size_t extents = f->match ? f->match->extent_count : 0;
    if (!f->match || f->suspended != ad_scope_suspends_all())
        return 0;
    Match m = { .f = f, .plan = f->match, .matched = matched, .node = 1 };
    if (!reserve(matched, f->inputs.id_count + f->extent_count))
        return -1;
    m.extents = extents ? PyMem_New(size_t, extents) : NULL;
    bool fits = m.extents || !extents || PyErr_NoMemory() != NULL;
    for (size_t i = 0; fits && i < PARTS; i++)
        fits = match_child(&m, parts[i]);
    fits = fits && are_distinct(f, matched->ids) && add_extents(&m);
    PyMem_Free(m.extents);
    if (!fits)
        frozen_match_release(matched);
    return fits ? 1 : PyErr_Occurred() ? -1 : 0;
}
