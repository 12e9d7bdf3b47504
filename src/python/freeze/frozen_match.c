/*
 * frozen_match.c -- see frozen_match.h
 */
#include "python/freeze/frozen_match.h"

#include "python/freeze/reads.h"

enum {
    NUMBER = UINT32_MAX, /* an extent that is no size of an input */
    PARTS = 4,           /* of a tuple of inputs, without those of derivatives: */
    READS = 2,           /* arguments, keyword arguments, ([inputs], values), state */
    FEW = 8,             /* variables that are compared with each other one by one */
    MOST_DEPTH = 100
};

/** Where a leaf is: child number 'child' of a node of the outline. */
typedef struct MatchPlace {
    size_t node;
    Py_ssize_t child;
} MatchPlace;

struct MatchPlan {
    uint32_t *extents; /* of tensors, in order: of which input it is the size */
    size_t extent_count;
    MatchPlace *places; /* of Frozen.changes */
    MatchPlace values, state; /* of the outline, nodes and leaves: what is compared by
                                 reads_inputs(), and what comes behind it */
    bool reads_fields;  /* there are objects with attributes, which may run any code */
    /* A set of variables, for the time of one comparison: generation << 32 | variable,
     * where it is this generation. Open addressing. */
    uint64_t *slots;
    size_t mask;
    uint32_t generation;
};

/* ---------------------------------------------------------------- the plan */

void frozen_match_free(MatchPlan *plan)
{
    if (!plan)
        return;
    PyMem_Free(plan->extents);
    PyMem_Free(plan->places);
    PyMem_Free(plan->slots);
    PyMem_Free(plan);
}

/* A leaf of the outline is a plain value, or a row (rows_of_object()), which has a weak
 * reference to an object that is only equal to itself. Of others the content tells. */
static bool is_mark(PyObject *leaf)
{
    return !PyTuple_CheckExact(leaf) ||
           PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(leaf, 0), "object") == 0;
}

static bool has_marks(const MatchPlan *plan, const Collection *outline)
{
    for (size_t i = 0; i < outline->tree.leaf_count; i++) {
        const bool skipped = i >= (size_t) plan->values.child &&
                             i < (size_t) plan->state.child;
        if (!skipped && !outline->places[i].info && !is_mark(outline->tree.leaves[i]))
            return false;
    }
    return true;
}

/* Go past a node of a tree, and all below it; 'child' counts leaves here. */
static void skip_node(const Tree *tree, MatchPlace *at)
{
    size_t left = 1;
    for (; left; left--) {
        const TreeNode *node = &tree->nodes[at->node++];
        at->child += node->kind == NODE_LEAF;
        left += node->kind == NODE_LEAF ? 0 : (size_t) node->count;
    }
}

static void keep_parts(MatchPlan *plan, const Tree *tree)
{
    MatchPlace at = { 1, 0 };
    for (size_t i = 0; i < READS; i++)
        skip_node(tree, &at);
    plan->state = at;
    skip_node(tree, &plan->state);
    plan->values = plan->state;
    if (tree->nodes[at.node].kind == NODE_LEAF)
        return;
    at.node++;
    skip_node(tree, &at); /* the inputs */
    plan->values = at;
}

static bool is_marked(PyObject *mark, PyObject *object)
{
    return PyTuple_CheckExact(mark) ? weakref_is(PyTuple_GET_ITEM(mark, 1), object)
                                    : mark == object;
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

/* Where all leaves are that the function changes; it has to replace none in a tuple. */
static bool keep_places(MatchPlan *plan, const Frozen *f, const Tree *tree)
{
    size_t leaf = 0, change = 0, depth = 0;
    MatchPlace *above = PyMem_New(MatchPlace, tree->node_count + 1); /* a stack */
    plan->places = PyMem_New(MatchPlace, f->change_count + 1);
    bool ok = above && plan->places;
    if (!ok)
        PyErr_NoMemory();
    for (size_t i = 0; ok && change < f->change_count && i < tree->node_count; i++) {
        const TreeNode *node = &tree->nodes[i];
        while (depth && above[depth - 1].child ==
                            tree->nodes[above[depth - 1].node].count)
            --depth;
        if (node->kind == NODE_LEAF && leaf++ == f->changes[change].leaf) {
            const NodeKind kind = tree->nodes[above[depth - 1].node].kind;
            ok = !f->changes[change].replaced ||
                 (kind != NODE_TUPLE && kind != NODE_NAMED_TUPLE);
            plan->places[change++] = above[depth - 1];
        }
        if (depth)
            above[depth - 1].child++;
        if (node->kind != NODE_LEAF)
            above[depth++] = (MatchPlace){ i, 0 };
    }
    PyMem_Free(above);
    return ok;
}

/* Does each variable occur once? */
static bool is_simple(const Collection *c)
{
    return c->number_count == c->id_count && !c->repeated_count &&
           c->tree.nodes[0].kind == NODE_TUPLE && c->tree.nodes[0].count == PARTS;
}

static bool has_fields(const Tree *tree)
{
    for (size_t i = 0; i < tree->node_count; i++)
        if (tree->nodes[i].kind == NODE_DATACLASS || tree->nodes[i].kind == NODE_STRUCT)
            return true;
    return false;
}

bool frozen_match_keep(Frozen *f, const Snapshot *s)
{
    if (!is_simple(&s->inputs))
        return true;
    MatchPlan *plan = PyMem_Calloc(1, sizeof(*plan));
    if (!plan)
        return PyErr_NoMemory() != NULL;
    plan->reads_fields = has_fields(&s->inputs.tree);
    keep_parts(plan, &s->inputs.tree);
    if (has_marks(plan, &f->inputs) && keep_extents(plan, s) &&
        keep_slots(plan, s->inputs.id_count) && keep_places(plan, f, &s->inputs.tree))
        f->match = plan;
    else
        frozen_match_free(plan);
    return !PyErr_Occurred();
}

/* ---------------------------------------------------------------- comparing */

/* A walk through the outline and the inputs at the same time, and what it finds. */
typedef struct Match {
    const Frozen *f;
    const MatchPlan *plan;
    size_t node, leaf, depth; /* of the outline, the next ones */
    PyObject *container;      /* the innermost one; borrowed */
    const Plan *valid;        /* of a class, as the class is now */
    uint32_t *ids, few[FEW];  /* inputs of the core; 0: none yet */
    size_t count;             /* without extents that are to come */
    bool held;                /* they have references */
    size_t *extents;          /* of all tensors */
    size_t extent_count;
    PyObject **returned;      /* objects of Frozen.returned; references */
    size_t returned_count;
    PyObject **targets;       /* of changes, the object, or the container in which there
                                 will be another one; references */
    size_t target_count;
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
    const uint32_t *numbers = m->f->inputs.numbers + place->first;
    for (size_t i = 0; i < place->count; i++) {
        if (!leaves[i] || leaf_node(leaves[i]))
            return false;
        m->ids[numbers[i] - 1] = leaf_index(leaves[i]);
        if (m->held)
            jit_var_inc_ref(leaf_index(leaves[i]));
    }
    return true;
}

/* Give all variables references, if they have none yet: no code has run since. */
static bool hold(Match *m)
{
    m->held = m->held || jit_var_inc_refs(m->count, m->ids);
    return m->held;
}

/* Note what is in the result; the next node is the object's. */
static inline void note_returned(Match *m, PyObject *object)
{
    const Frozen *f = m->f;
    if (m->returned_count < f->returned_count &&
        f->returned[m->returned_count] == m->node)
        m->returned[m->returned_count++] = Py_NewRef(object);
}

/* Note what is to be changed. */
static void note_target(Match *m, PyObject *object)
{
    const Frozen *f = m->f;
    if (m->target_count < f->change_count &&
        f->changes[m->target_count].leaf == m->leaf) {
        const bool replaced = f->changes[m->target_count].replaced;
        m->targets[m->target_count++] = Py_NewRef(replaced ? m->container : object);
    }
}

static bool match_leaf(Match *m, PyObject *object)
{
    PyObject *like = m->f->inputs.tree.leaves[m->leaf];
    const bool array = m->f->inputs.places[m->leaf].info;
    note_target(m, object);
    const bool fits = array ? match_array(m, object, like) : is_marked(like, object);
    m->leaf++;
    return fits;
}

static bool match_node(Match *m, PyObject *object);

static inline bool match_child(Match *m, PyObject *object)
{
    note_returned(m, object);
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
    PyObject *outer = m->container;
    if (m->depth == MOST_DEPTH)
        return false;
    m->depth++;
    m->container = object;
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
    m->container = outer;
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
static bool add_extents(Match *m)
{
    const Frozen *f = m->f;
    const size_t variables = f->inputs.id_count;
    const JitBackend backend = collection_backend(&f->inputs);
    for (size_t i = 0; i < m->extent_count; i++) {
        const uint32_t input = m->plan->extents[i];
        if (input == NUMBER)
            continue;
        if (input == m->count && input >= variables) {
            const Leaf size = leaf_entries(backend, m->extents[i]);
            if (!size)
                return false;
            m->ids[m->count++] = leaf_index(size);
        } else if (jit_var_peek_size(m->ids[input]) != m->extents[i]) {
            return false;
        }
    }
    return m->count == variables + f->extent_count;
}

/* ---------------------------------------------------------------- repeating */

/* Do to the inputs what the function has done to those of the recording. */
static bool apply_changes(const Match *m, PyObject *changed)
{
    const Frozen *f = m->f;
    for (size_t i = 0; i < f->change_count; i++) {
        const MatchPlace *place = &m->plan->places[i];
        PyObject *target = m->targets[i], *now = PyList_GET_ITEM(changed, i);
        if (f->changes[i].replaced
                ? !tree_put_child(&f->inputs.tree.nodes[place->node], target,
                                  place->child, now)
                : !array_replace(array_of(target), (Array *) now))
            return false;
    }
    return true;
}

/* 'inputs': of Frozen.reads; NULL: there are none. */
static PyObject *repeat(const Match *m, PyObject *inputs)
{
    PyObject *both = frozen_repeat(m->f, m->ids, m->count, m->returned), *result = NULL;
    if (!both || both == Py_NotImplemented)
        return both;
    PyObject *before = inputs && m->f->change_count
                           ? PyList_GetSlice(inputs, 0, PyList_GET_SIZE(inputs))
                           : NULL;
    if (!PyErr_Occurred() && apply_changes(m, PyTuple_GET_ITEM(both, 1)) &&
        (!before || reads_store(m->f->reads, inputs, before)))
        result = Py_NewRef(PyTuple_GET_ITEM(both, 0));
    Py_XDECREF(before);
    Py_DECREF(both);
    return result;
}

/* Room for 'count' items, zeroed; where there are none, none. */
static bool reserve(void *items, size_t count, size_t size)
{
    *(void **) items = count ? PyMem_Calloc(count, size) : NULL;
    return *(void **) items || !count || PyErr_NoMemory() != NULL;
}

static bool reserve_all(Match *m)
{
    const size_t ids = m->f->inputs.id_count + m->f->extent_count;
    m->ids = m->few;
    m->count = m->f->inputs.id_count;
    return (ids <= FEW || reserve(&m->ids, ids, sizeof(*m->ids))) &&
           reserve(&m->extents, m->plan->extent_count, sizeof(*m->extents)) &&
           reserve(&m->targets, m->f->change_count, sizeof(PyObject *)) &&
           reserve(&m->returned, m->f->returned_count, sizeof(PyObject *));
}

static void release(Match *m)
{
    if (m->held)
        jit_var_dec_refs(m->count, m->ids);
    for (size_t i = 0; i < m->target_count; i++)
        Py_DECREF(m->targets[i]);
    for (size_t i = 0; i < m->returned_count; i++)
        Py_DECREF(m->returned[i]);
    if (m->ids != m->few)
        PyMem_Free(m->ids);
    PyMem_Free(m->extents);
    PyMem_Free(m->targets);
    PyMem_Free(m->returned);
}

/* What the function reads besides: the inputs among it are a list within a tuple. */
static bool match_reads(Match *m, PyObject *inputs)
{
    if (!inputs)
        return match_child(m, Py_None);
    m->node++;
    const bool fits = match_child(m, inputs);
    m->node = m->plan->state.node;
    m->leaf = (size_t) m->plan->state.child;
    return fits;
}

PyObject *frozen_match_repeat(const Frozen *f, PyObject *const *parts)
{
    Match m = { .f = f, .plan = f->match, .node = 1 };
    if (!f->match || f->suspended != ad_scope_suspends_all())
        return Py_NewRef(Py_NotImplemented);
    PyObject *inputs = f->reads ? reads_inputs(f->reads) : NULL;
    if (inputs == Py_NotImplemented || (f->reads && !inputs))
        return inputs;
    bool fits = reserve_all(&m);
    m.held = fits && m.plan->reads_fields;
    fits = fits && match_child(&m, parts[0]) && match_child(&m, parts[1]) &&
           match_reads(&m, inputs) && match_child(&m, parts[2]) && hold(&m) &&
           are_distinct(f, m.ids) && add_extents(&m);
    PyObject *result = fits               ? repeat(&m, inputs)
                       : PyErr_Occurred() ? NULL
                                          : Py_NewRef(Py_NotImplemented);
    release(&m);
    Py_XDECREF(inputs);
    return result;
}
