/*
 * frozen_match.c -- see frozen_match.h
 */
#include "python/freeze/frozen_match.h"

#include "python/freeze/exact.h"
#include "python/freeze/reads.h"
#include "python/freeze/spec_codec.h"

static const char name[] = "freeze";

enum {
    PARTS = 4, /* of inputs, without those of derivatives */
    FEW = 8,   /* variables that are compared with each other one by one */
    MOST_DEPTH = 1000
};

/* ---------------------------------------------------------------- changes */

bool frozen_match_keep(Frozen *f)
{
    const Tree *tree = &f->inputs->c.tree;
    size_t leaf = 0, change = 0, depth = 0;
    ChildPlace *above = PyMem_New(ChildPlace, tree->node_count + 1); /* a stack */
    f->places = PyMem_New(ChildPlace, f->change_count + 1);
    const bool ok = above && f->places;
    if (!ok)
        PyErr_NoMemory();
    for (size_t i = 0; ok && change < f->change_count && i < tree->node_count; i++) {
        const TreeNode *node = &tree->nodes[i];
        while (depth && above[depth - 1].child ==
                            tree->nodes[above[depth - 1].node].count)
            --depth;
        if (node->kind == NODE_LEAF && leaf++ == f->changes[change].leaf) {
            const NodeKind kind = tree->nodes[above[depth - 1].node].kind;
            f->in_tuples |= f->changes[change].replaced &&
                            (kind == NODE_TUPLE || kind == NODE_NAMED_TUPLE);
            f->places[change++] = above[depth - 1];
        }
        if (depth)
            above[depth - 1].child++;
        if (node->kind != NODE_LEAF)
            above[depth++] = (ChildPlace){ i, 0 };
    }
    PyMem_Free(above);
    return ok;
}

/* ---------------------------------------------------------------- comparing */

/* The containers that the walk is in. */
typedef struct Within {
    PyObject *object;
    const struct Within *outer;
} Within;

/* A walk through the input spec and the inputs at the same time, and what it finds. */
typedef struct Match {
    const Frozen *f;
    const InputSpec *o;
    const TreeNode *nodes;    /* of the input spec */
    PyObject *const *leaves;
    const FlattenedLeaf *places;
    TreePlace at;             /* what comes next there */
    int depth;
    const Within *within;
    const Plan *valid;        /* of a class, as the class is now */
    PyObject *reads;          /* Frozen.reads, whose rows are about objects that come
                                 by; NULL: they need not be the same */
    Py_ssize_t object_count;  /* of those */
    bool tracked;             /* arrays may be */
    uint32_t *ids, few[FEW];  /* inputs of the core; 0: none yet */
    size_t count;             /* without extents that are to come */
    bool held;                /* they have references */
    size_t *extents;          /* of all tensors */
    size_t extent_count;
    PyObject **objects;       /* of nodes that can be changed; references. NULL: it does
                                 not matter which are the same */
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
        const bool number = m->o->extents[m->extent_count] == INPUT_SPEC_NUMBER;
        if (number ? extent != like->extents[i]
                   : extent < FIRST_CLASS || extent > UINT32_MAX)
            return false;
        m->extents[m->extent_count++] = extent;
    }
    return true;
}

static bool match_array(Match *m, PyObject *object, PyObject *like,
                        const FlattenedLeaf *place)
{
    if (Py_TYPE(object) != Py_TYPE(like))
        return false;
    const Array *a = (const Array *) object;
    if (a->info != place->info || array_count(a) != place->count)
        return false;
    if (place->info->kind == KIND_TENSOR &&
        !match_shape(m, (const Tensor *) a, (const Tensor *) like))
        return false;
    const VarIndex *leaves = array_leaves(a);
    const uint32_t *numbers = m->o->c.numbers + place->first;
    for (size_t i = 0; i < place->count; i++) {
        const uint32_t id = var_jit(leaves[i]), number = numbers[i];
        if (var_node(leaves[i]) && !m->tracked)
            return false;
        if (!id || !number || m->ids[number - 1]) { /* none, or one that was met */
            if (number ? m->ids[number - 1] != id || !id : id)
                return false;
            continue;
        }
        m->ids[number - 1] = id;
        if (m->held)
            jit_var_inc_ref(id);
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
        f->returned[m->returned_count] == m->at.node)
        m->returned[m->returned_count++] = Py_NewRef(object);
}

/* Note what is to be changed. */
static void note_target(Match *m, PyObject *object)
{
    const Frozen *f = m->f;
    if (m->target_count < f->change_count &&
        f->changes[m->target_count].leaf == m->at.leaf) {
        const bool replaced = f->changes[m->target_count].replaced;
        m->targets[m->target_count++] =
            Py_NewRef(replaced && m->within ? m->within->object : object);
    }
}

/* Are two values equal, and the same as far as rows tell, which are about the first? */
static bool match_values(const Match *m, PyObject *known, PyObject *now)
{
    return exact_equal(known, now) > 0 && !(m->reads && exact_stands_in(known, now));
}

/* The same, as a row says it, of what is not a plain value. */
static bool match_row(const Match *m, PyObject *object, PyObject *mark)
{
    const size_t above = m->nodes[m->at.node - 1].above;
    if (above) {
        const Within *w = m->within;
        for (size_t i = 1; w && i < above; i++)
            w = w->outer;
        return w && w->object == object;
    }
    if (spec_rows_is_reference(mark))
        return weakref_is(PyTuple_GET_ITEM(mark, 1), object);
    PyObject *own = spec_rows_of_object(m->f->state, object, m->o->unordered);
    const bool fits = own && match_values(m, mark, own);
    Py_XDECREF(own);
    return fits;
}

static bool match_mark(const Match *m, PyObject *object, PyObject *mark)
{
    return PyTuple_CheckExact(mark) ? match_row(m, object, mark)
                                    : match_values(m, mark, object);
}

static bool match_leaf(Match *m, PyObject *object)
{
    PyObject *like = m->leaves[m->at.leaf];
    const FlattenedLeaf *place = &m->places[m->at.leaf];
    note_target(m, object);
    m->at.leaf++;
    return place->info ? match_array(m, object, like, place)
                       : match_mark(m, object, like);
}

static bool match_node(Match *m, PyObject *object);

static inline bool match_child(Match *m, PyObject *object)
{
    const TreeNode *node = &m->nodes[m->at.node];
    note_returned(m, object);
    if (m->objects && flattened_is_mutable(node, m->places[m->at.leaf].info))
        m->objects[m->at.node] = Py_NewRef(object);
    if (node->kind != NODE_LEAF)
        return match_node(m, object);
    m->at.node++;
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
        Py_INCREF(child);
        fits = match_values(m, PyList_GET_ITEM(node->keys, i), key) &&
               match_child(m, child);
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
    plan_release(plan); /* the input spec has a reference, if it is this one */
    return plan == node->plan;
}

static bool match_fields(Match *m, const TreeNode *node, PyObject *object)
{
    bool fits = is_same_class(m, node, object) &&
                (!m->reads || reads_is_about(m->reads, m->object_count++, object));
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
    const TreeNode *node = &m->nodes[m->at.node++];
    const Within within = { object, m->within };
    if (m->depth == MOST_DEPTH)
        return false;
    m->depth++;
    m->within = &within;
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
    m->within = within.outer;
    return fits;
}

/* ---------------------------------------------------------------- variables, sizes */

static bool are_few_distinct(const InputSpec *o, const uint32_t *ids)
{
    for (size_t i = 0; i < o->c.id_count; i++)
        for (size_t k = o->described[i].literal ? i : 0; k < i; k++)
            if (ids[k] == ids[i])
                return false;
    return true;
}

/* Does each number have a variable of its own? Literals may be equal. */
static bool are_distinct(InputSpec *o, const uint32_t *ids)
{
    if (!o->slots)
        return are_few_distinct(o, ids);
    if (!++o->generation) {
        memset(o->slots, 0, (o->mask + 1) * sizeof(*o->slots));
        o->generation = 1;
    }
    const uint64_t mark = (uint64_t) o->generation << 32;
    for (size_t i = 0; i < o->c.id_count; i++) {
        size_t slot = ids[i] & o->mask;
        if (o->described[i].literal)
            continue;
        while (o->slots[slot] > mark && o->slots[slot] != (mark | ids[i]))
            slot = (slot + 1) & o->mask;
        if (o->slots[slot] == (mark | ids[i]))
            return false;
        o->slots[slot] = mark | ids[i];
    }
    return true;
}

/* Are the same objects one? */
static bool are_repeated(const Match *m)
{
    const FlattenedInputs *c = &m->o->c;
    size_t count;
    if (!m->objects)
        return true;
    uint64_t *pairs =
        flattened_repeated(c->state, m->objects, c->tree.node_count, &count);
    const bool same = pairs && count == c->repeated_count &&
                      memcmp(pairs, c->repeated, count * sizeof(*pairs)) == 0;
    PyMem_Free(pairs);
    return same;
}

/* Are extents the sizes that they were, and equal to each other where they were? Those
 * that are not variable's go in as literals. */
static bool add_extents(Match *m)
{
    const size_t variables = m->o->c.id_count;
    for (size_t i = 0; i < m->extent_count; i++) {
        const uint32_t input = m->o->extents[i];
        if (input == INPUT_SPEC_NUMBER)
            continue;
        if (input == m->count && input >= variables) {
            const VarIndex size =
                var_of_size(flattened_backend(&m->o->c), m->extents[i]);
            if (!size)
                return false;
            m->ids[m->count++] = var_jit(size);
        } else if (jit_var_peek_size(m->ids[input]) != m->extents[i]) {
            return false;
        }
    }
    return m->count == variables + m->o->extra;
}

/* ---------------------------------------------------------------- repeating */

/* The inputs with other objects in the place of those that the function has replaced,
 * some of which are in tuples. */
static bool place_all(const Match *m, PyObject *inputs, PyObject *changed)
{
    const Frozen *f = m->f;
    Tree tree = { 0 };
    bool ok = tree_flatten(f->state, name, inputs, &tree);
    for (size_t i = 0; ok && i < f->change_count; i++)
        if (f->changes[i].replaced)
            Py_SETREF(tree.leaves[f->changes[i].leaf],
                      Py_NewRef(PyList_GET_ITEM(changed, (Py_ssize_t) i)));
    PyObject *root = ok ? tree_place(name, &tree, NULL, tree.leaves) : NULL;
    tree_free(&tree);
    Py_XDECREF(root);
    return root;
}

/* Do to the inputs what the function has done to those of the recording. */
static bool apply_changes(const Match *m, PyObject *inputs, PyObject *changed)
{
    const Frozen *f = m->f;
    for (size_t i = 0; i < f->change_count; i++) {
        const ChildPlace *place = &f->places[i];
        PyObject *target = m->targets[i], *now = PyList_GET_ITEM(changed, i);
        if (!f->changes[i].replaced
                ? !array_replace(array_of(target), (Array *) now)
                : !f->in_tuples && !tree_put_child(&m->nodes[place->node],
                                                   target, place->child, now))
            return false;
    }
    return !f->in_tuples || place_all(m, inputs, changed);
}

/* 'inputs': all; NULL: they are parts, and those of Frozen.reads are 'named', if there
 * are any. */
static PyObject *repeat(const Match *m, PyObject *inputs, PyObject *named)
{
    PyObject *both = frozen_repeat(m->f, m->ids, m->count, m->returned), *result = NULL;
    if (!both || both == Py_NotImplemented)
        return both;
    PyObject *before = named && m->f->change_count
                           ? PyList_GetSlice(named, 0, PyList_GET_SIZE(named))
                           : NULL;
    if (!PyErr_Occurred() && apply_changes(m, inputs, PyTuple_GET_ITEM(both, 1)) &&
        (!before || reads_store(m->f->reads, named, before)))
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

static bool begin(Match *m)
{
    const InputSpec *o = m->o;
    const size_t ids = o->c.id_count + o->extra;
    m->nodes = o->c.tree.nodes;
    m->leaves = o->c.tree.leaves;
    m->places = o->c.places;
    m->ids = m->few;
    m->count = o->c.id_count;
    m->held = o->runs_code;
    return (ids <= FEW || reserve(&m->ids, ids, sizeof(*m->ids))) &&
           reserve(&m->extents, o->extent_count, sizeof(*m->extents)) &&
           reserve(&m->targets, m->f->change_count, sizeof(PyObject *)) &&
           (!o->tells_objects ||
            reserve(&m->objects, o->c.tree.node_count, sizeof(PyObject *))) &&
           reserve(&m->returned, m->f->returned_count, sizeof(PyObject *));
}

static void release_all(PyObject **objects, size_t count)
{
    for (size_t i = 0; objects && i < count; i++)
        Py_XDECREF(objects[i]);
    PyMem_Free(objects);
}

/* The result, if all fits; NotImplemented, NULL: exception. */
static PyObject *end(Match *m, bool fits, PyObject *inputs, PyObject *named)
{
    PyObject *result = NULL;
    if (fits && hold(m) && are_distinct(m->f->inputs, m->ids) && are_repeated(m) &&
        add_extents(m))
        result = repeat(m, inputs, named);
    else if (!PyErr_Occurred())
        result = Py_NewRef(Py_NotImplemented);
    if (m->held && m->ids)
        jit_var_dec_refs(m->count, m->ids);
    if (m->ids != m->few)
        PyMem_Free(m->ids);
    PyMem_Free(m->extents);
    release_all(m->targets, m->target_count);
    release_all(m->returned, m->returned_count);
    release_all(m->objects, m->o->c.tree.node_count);
    return result;
}

/* What the function reads besides: the inputs among it are a list within a tuple. */
static bool match_reads(Match *m, PyObject *named)
{
    if (!named)
        return match_child(m, Py_None);
    const bool pair = m->nodes[m->at.node++].kind == NODE_TUPLE;
    const bool fits = pair && match_child(m, named);
    m->at = m->o->behind_named;
    return fits;
}

PyObject *frozen_match_parts(const Frozen *f, PyObject *const *parts)
{
    Match m = { .f = f, .o = f->inputs, .at = { 1, 0 }, .reads = f->reads };
    if (!m.o || !m.o->behind_named.node || f->in_tuples ||
        m.o->suspended != ad_scope_suspends_all())
        return Py_NewRef(Py_NotImplemented);
    PyObject *named = f->reads ? reads_inputs(f->reads) : NULL;
    if (named == Py_NotImplemented || (f->reads && !named))
        return named;
    const bool fits = begin(&m) && match_child(&m, parts[0]) &&
                      match_child(&m, parts[1]) && match_reads(&m, named) &&
                      match_child(&m, parts[2]);
    PyObject *result = end(&m, fits, NULL, named);
    Py_XDECREF(named);
    return result;
}

PyObject *frozen_match_inputs(const Frozen *f, PyObject *inputs)
{
    Match m = { .f = f, .o = f->inputs };
    if (!m.o || m.o->suspended != ad_scope_suspends_all())
        return Py_NewRef(Py_NotImplemented);
    m.tracked = PyTuple_GET_SIZE(inputs) != PARTS;
    const bool fits = begin(&m) && match_child(&m, inputs);
    return end(&m, fits, inputs, NULL);
}
