/*
 * tree.c -- see tree.h
 *
 * A walk keeps a stack of the containers that it is in. Each child is owned while it is
 * processed, and the size of a list is looked at in each step: reading an attribute may
 * run code that changes the container.
 */
#include "python/tree/tree.h"

#include "python/base/error.h"
#include "python/tree/build.h"

enum {
    DEPTH_LIMIT = 1000,
    TREES_MAX = 4,
    FIRST_BYTES = 512, /* of an array that grows: Python's allocator has pools of it */
    FIRST_DEPTH = 4 /* of a stack, before it takes memory */
};

/* A container that the walk is in. */
typedef struct Frame {
    TreeNode node; /* its references are the frame's; count: children so far */
    size_t place;  /* its node in the tree, if nodes are wanted */
    Py_ssize_t size, position; /* of a dictionary without keys: for PyDict_Next() */
} Frame;

typedef struct Walk {
    State *state;
    const char *operation;
    bool nodes; /* wanted */
    bool cycles; /* a container may be within itself */
    Tree *tree;
    const Tree *like; /* that the walk follows, NULL: none */
    Frame *frames, *first; /* these are the walk's caller's */
    size_t depth, capacity;
    Plan *last; /* of the class that was met last, a reference */
} Walk;

/* ---------------------------------------------------------------- memory */

static void *grow(void *items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return items;
    size_t wanted = *capacity ? 2 * *capacity : FIRST_BYTES / size;
    void *grown = PyMem_Realloc(items, wanted * size);
    if (grown)
        *capacity = wanted;
    else
        PyErr_NoMemory();
    return grown;
}

/* The same for a stack whose first FIRST_DEPTH items are at 'first'. */
static void *grow_stack(void *items, void *first, size_t depth, size_t *capacity,
                        size_t size)
{
    if (depth < *capacity)
        return items;
    void *grown = PyMem_Realloc(items == first ? NULL : items, 2 * *capacity * size);
    if (!grown)
        return PyErr_NoMemory();
    if (items == first)
        memcpy(grown, first, depth * size);
    *capacity *= 2;
    return grown;
}

static void release_node(TreeNode *node)
{
    Py_XDECREF(node->object);
    Py_XDECREF(node->keys);
    plan_release(node->plan);
}

void tree_free(Tree *tree)
{
    for (size_t i = 0; i < tree->leaf_count; i++)
        Py_DECREF(tree->leaves[i]);
    for (size_t i = 0; i < tree->node_count; i++)
        release_node(&tree->nodes[i]);
    PyMem_Free(tree->leaves);
    PyMem_Free(tree->nodes);
    *tree = (Tree){ 0 };
}

void tree_skip(const Tree *tree, TreePlace *at)
{
    for (size_t left = 1; left; left--) {
        const TreeNode *node = &tree->nodes[at->node++];
        at->leaf += node->kind == NODE_LEAF;
        left += node->kind == NODE_LEAF ? 0 : (size_t) node->count;
    }
}

int tree_references(const Tree *tree, visitproc visit, void *arg)
{
    for (size_t i = 0; i < tree->leaf_count; i++)
        Py_VISIT(tree->leaves[i]);
    for (size_t i = 0; i < tree->node_count; i++) {
        Py_VISIT(tree->nodes[i].object);
        Py_VISIT(tree->nodes[i].keys);
    }
    return 0;
}

/* Add a leaf, whose reference is stolen. */
static inline bool add_leaf(Tree *tree, PyObject *leaf)
{
    if (tree->leaf_count == tree->leaf_capacity) {
        PyObject **leaves =
            grow(tree->leaves, tree->leaf_count, &tree->leaf_capacity, sizeof(*leaves));
        if (!leaves) {
            Py_DECREF(leaf);
            return false;
        }
        tree->leaves = leaves;
    }
    tree->leaves[tree->leaf_count++] = leaf;
    return true;
}

/* Room for a node, which is counted. NULL: exception. */
static inline TreeNode *extend(Tree *tree)
{
    TreeNode *nodes =
        grow(tree->nodes, tree->node_count, &tree->node_capacity, sizeof(*nodes));
    if (!nodes)
        return NULL;
    tree->nodes = nodes;
    return &nodes[tree->node_count++];
}

/* Add a node, of which the tree gets its own references. */
static bool add_node(Tree *tree, const TreeNode *node)
{
    TreeNode *added = extend(tree);
    if (!added)
        return false;
    *added = *node;
    Py_XINCREF(node->object);
    Py_XINCREF(node->keys);
    if (node->plan)
        ++node->plan->references;
    return true;
}

/* ---------------------------------------------------------------- children */

static bool is_tuple(const TreeNode *node)
{
    return node->kind == NODE_TUPLE || node->kind == NODE_NAMED_TUPLE;
}

static Py_ssize_t child_count(const TreeNode *node)
{
    switch (node->kind) {
    case NODE_LIST:
        return PyList_GET_SIZE(node->object);
    case NODE_DICTIONARY:
        return PyList_GET_SIZE(node->keys);
    case NODE_DATACLASS:
    case NODE_STRUCT:
        return PyTuple_GET_SIZE(node->plan->names);
    default:
        return PyTuple_GET_SIZE(node->object);
    }
}

/* Child i of an object that is like 'node', a new reference; NULL: exception. */
static PyObject *child_of(const TreeNode *node, PyObject *object, Py_ssize_t i)
{
    if (node->kind == NODE_LIST)
        return Py_XNewRef(PyList_GetItem(object, i));
    if (node->kind == NODE_DATACLASS || node->kind == NODE_STRUCT)
        return PyObject_GetAttr(object, PyTuple_GET_ITEM(node->plan->names, i));
    if (node->kind != NODE_DICTIONARY) /* tuples do not change */
        return Py_NewRef(PyTuple_GET_ITEM(object, i));
    PyObject *key = PyList_GET_ITEM(node->keys, i);
    PyObject *child = PyDict_GetItemWithError(object, key);
    if (!child && !PyErr_Occurred())
        PyErr_SetObject(PyExc_KeyError, key);
    return Py_XNewRef(child);
}

/* ---------------------------------------------------------------- taking apart */

static bool take_leaf(Walk *w, PyObject *object, size_t above)
{
    if (!add_leaf(w->tree, object))
        return false;
    TreeNode *added = w->nodes ? extend(w->tree) : NULL;
    if (added)
        *added = (TreeNode){ .kind = NODE_LEAF, .above = above };
    return added || !w->nodes;
}

/* How many levels above the next node is the container that this object is? 0: it is
 * not one of these, or that makes no difference. */
static size_t find_above(const Walk *w, const PyObject *object)
{
    size_t above = w->cycles ? w->depth : 0;
    while (above && w->frames[w->depth - above].node.object != object)
        --above;
    return above;
}

static bool fail_cycle(const char *operation)
{
    return error_raise(PyExc_RecursionError, operation, NULL, 0,
                       "the tree contains itself, or is nested more than %d levels "
                       "deep", DEPTH_LIMIT);
}

/* Begin with the children of a container, whose references become the frame's. */
static bool push(Walk *w, TreeNode *node)
{
    Frame *frames = w->frames;
    if (w->depth == DEPTH_LIMIT)
        fail_cycle(w->operation);
    else
        frames = grow_stack(frames, w->first, w->depth, &w->capacity, sizeof(*frames));
    if (w->depth == DEPTH_LIMIT || !frames || (w->nodes && !add_node(w->tree, node))) {
        release_node(node);
        return false;
    }
    w->frames = frames;
    frames[w->depth++] = (Frame){
        .node = *node,
        .place = w->tree->node_count - 1,
        .size = node->kind == NODE_DICTIONARY ? PyDict_GET_SIZE(node->object) : 0,
    };
    return true;
}

/* What _traverse_1_cb_ro() calls: with a variable, and names of classes that it may
 * have. 'found' is a list. */
static PyObject *receive_variable(PyObject *found, PyObject *const *args, Py_ssize_t n)
{
    if (n < 1 || !PyLong_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError,
                        "drjit: a traversal callback was called with no integer, "
                        "expected the index of a variable");
        return NULL;
    }
    if (PyList_Append(found, args[0]) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* The type of arrays of this variable, NULL: there is none. */
static const TypeInfo *type_of_variable(State *state, VarIndex var)
{
    VarInfo info;
    if (var == 0 || !var_info(var, &info))
        return NULL;
    return type_of_backend(state, info.backend, KIND_FLAT, info.type);
}

/* The array of one variable. */
static PyObject *make_array(State *state, PyObject *number)
{
    VarIndex var = var_of((uint32_t) PyLong_AsUnsignedLongLongMask(number));
    const TypeInfo *type = type_of_variable(state, var);
    if (type)
        return (PyObject *) array_new_leaf(type, var_ref(var));
    return PyErr_Format(
        PyExc_ValueError,
        "drjit: _traverse_1_cb_ro() gave %R, expected the index of a variable", number);
}

/* The variables of an object that tells them to a callback, as arrays. */
static bool add_variables(Walk *w, PyObject *object)
{
    static PyMethodDef receiver = { "traverse", METHOD(receive_variable), METH_FASTCALL,
                                    NULL };
    PyObject *found = PyList_New(0);
    PyObject *callback = found ? PyCFunction_New(&receiver, found) : NULL;
    PyObject *done =
        callback ? PyObject_CallMethodOneArg(object, w->state->str_traverse, callback)
                 : NULL;
    bool ok = done;
    for (Py_ssize_t i = 0; ok && i < PyList_GET_SIZE(found); i++) {
        PyObject *array = make_array(w->state, PyList_GET_ITEM(found, i));
        ok = array && add_leaf(w->tree, array);
    }
    Py_XDECREF(found);
    Py_XDECREF(callback);
    Py_XDECREF(done);
    return ok;
}

/* Take an object, whose reference is stolen: as a leaf, or begin with its children. */
static bool enter_other(Walk *w, PyObject *object)
{
    TreeNode node = { .object = object };
    if (w->last && plan_is_for(w->last, Py_TYPE(object))) {
        node.kind = w->last->kind;
        node.plan = w->last;
        ++node.plan->references;
    } else if (!plan_of(w->state, w->operation, object, &node.kind, &node.plan)) {
        Py_DECREF(object);
        return false;
    } else if (node.plan) {
        plan_release(w->last);
        w->last = node.plan;
        ++node.plan->references;
    }
    if (node.kind == NODE_TRAVERSABLE && !w->nodes) {
        bool ok = add_variables(w, object);
        Py_DECREF(object);
        return ok;
    }
    if (node.kind == NODE_LEAF || node.kind == NODE_TRAVERSABLE)
        return take_leaf(w, object, 0);
    const size_t above = find_above(w, object);
    if (above) {
        plan_release(node.plan);
        return take_leaf(w, object, above);
    }
    if (node.kind == NODE_DICTIONARY && w->nodes &&
        !(node.keys = PyDict_Keys(object))) {
        Py_DECREF(object);
        return false;
    }
    return push(w, &node);
}

static inline bool enter(Walk *w, PyObject *object)
{
    return array_check(w->state, object) ? take_leaf(w, object, 0)
                                         : enter_other(w, object);
}

static void pop(Walk *w)
{
    Frame *frame = &w->frames[--w->depth];
    if (w->nodes)
        w->tree->nodes[frame->place].count = frame->node.count;
    release_node(&frame->node);
}

/* The next value of a dictionary whose keys do not matter: a new reference, NULL at the
 * end. False: exception. */
static bool next_value(const Walk *w, Frame *frame, PyObject **value)
{
    PyObject *key;
    if (PyDict_GET_SIZE(frame->node.object) != frame->size)
        return error_raise(PyExc_RuntimeError, w->operation, NULL, 0,
                           "a dictionary changed its size while it was read");
    if (PyDict_Next(frame->node.object, &frame->position, &key, value))
        Py_INCREF(*value);
    return true;
}

static bool flatten(State *state, const char *operation, PyObject *object, bool nodes,
                    Tree *tree)
{
    Frame first[FIRST_DEPTH];
    Walk w = { .state = state, .operation = operation, .nodes = nodes, .tree = tree,
               .frames = first, .first = first, .capacity = FIRST_DEPTH,
               .cycles = strcmp(operation, "freeze") == 0 };
    *tree = (Tree){ 0 };
    bool ok = enter(&w, Py_NewRef(object));
    while (ok && w.depth) {
        Frame *frame = &w.frames[w.depth - 1];
        TreeNode *node = &frame->node;
        PyObject *child = NULL;
        if (node->kind == NODE_DICTIONARY && !node->keys)
            ok = next_value(&w, frame, &child);
        else if (node->count < child_count(node))
            ok = (child = child_of(node, node->object, node->count++)) != NULL;
        if (ok && !child)
            pop(&w);
        else if (ok)
            ok = enter(&w, child);
    }
    while (w.depth)
        pop(&w);
    plan_release(w.last);
    if (w.frames != first)
        PyMem_Free(w.frames);
    return ok;
}

bool tree_flatten(State *state, const char *operation, PyObject *object, Tree *tree)
{
    return flatten(state, operation, object, true, tree);
}

bool tree_has_cycles(const Tree *tree)
{
    size_t i = 0;
    while (i < tree->node_count && !tree->nodes[i].above)
        ++i;
    return i < tree->node_count;
}

/* ---------------------------------------------------------------- like another tree */

/* Are the keys of a dictionary these? -1: exception. */
static int has_keys(PyObject *dictionary, PyObject *keys)
{
    int has = PyDict_GET_SIZE(dictionary) == PyList_GET_SIZE(keys);
    for (Py_ssize_t i = 0; has == 1 && i < PyList_GET_SIZE(keys); i++)
        has = PyDict_Contains(dictionary, PyList_GET_ITEM(keys, i));
    return has;
}

/* "a list of 2 entries" */
static PyObject *describe(PyObject *object, NodeKind kind)
{
    const char *name = Py_TYPE(object)->tp_name;
    switch (kind) {
    case NODE_DICTIONARY: {
        PyObject *keys = PyDict_Keys(object);
        PyObject *text =
            keys ? PyUnicode_FromFormat("a dict with the keys %R", keys) : NULL;
        Py_XDECREF(keys);
        return text;
    }
    case NODE_TUPLE:
    case NODE_LIST:
        return PyUnicode_FromFormat("a %s of %zd entries", name,
                                    PySequence_Fast_GET_SIZE(object));
    default:
        return PyUnicode_FromFormat("a %s", name);
    }
}

static bool fail_structure(const Walk *w, size_t place, PyObject *object, NodeKind kind)
{
    const TreeNode *like = &w->like->nodes[place];
    PyObject *path = tree_node_path(w->like, place);
    PyObject *expected = path ? describe(like->object, like->kind) : NULL;
    PyObject *found = expected ? describe(object, kind) : NULL;
    if (found && PyUnicode_GET_LENGTH(path))
        error_raise(PyExc_ValueError, w->operation, NULL, 0,
                    "the PyTrees differ in structure: expected %U at '%U', found %U",
                    expected, path, found);
    else if (found)
        error_raise(PyExc_ValueError, w->operation, NULL, 0,
                    "the PyTrees differ in structure: expected %U, found %U", expected,
                    found);
    Py_XDECREF(path);
    Py_XDECREF(expected);
    Py_XDECREF(found);
    return false;
}

/* Is the object such a container? */
static bool check_node(const Walk *w, size_t place, PyObject *object)
{
    const TreeNode *like = &w->like->nodes[place];
    NodeKind kind = NODE_LEAF;
    Plan *plan = NULL;
    if (!array_check(w->state, object) &&
        !plan_of(w->state, w->operation, object, &kind, &plan))
        return false;
    plan_release(plan);
    int same =
        kind == like->kind && (!plan || Py_TYPE(object) == Py_TYPE(like->object));
    if (same && kind == NODE_DICTIONARY)
        same = has_keys(object, like->keys);
    else if (same && kind == NODE_LIST)
        same = PyList_GET_SIZE(object) == like->count;
    else if (same && is_tuple(like))
        same = PyTuple_GET_SIZE(object) == like->count;
    return same > 0 || (same == 0 && fail_structure(w, place, object, kind));
}

/* Take an object, whose reference is stolen, as what stands at the walk's place in the
 * other tree. */
static bool enter_like(Walk *w, size_t *place, PyObject *object)
{
    const TreeNode *like = &w->like->nodes[*place];
    if (like->kind == NODE_LEAF) {
        ++*place;
        return add_leaf(w->tree, object);
    }
    Frame *frames = check_node(w, *place, object)
                        ? grow_stack(w->frames, w->first, w->depth, &w->capacity,
                                     sizeof(*frames))
                        : NULL;
    if (!frames) {
        Py_DECREF(object);
        return false;
    }
    w->frames = frames;
    const TreeNode node = { .kind = like->kind, .object = object };
    frames[w->depth++] = (Frame){ .node = node, .place = (*place)++ };
    return true;
}

bool tree_flatten_like(State *state, const char *operation, const Tree *like,
                       PyObject *object, Tree *tree)
{
    Frame first[FIRST_DEPTH];
    Walk w = { .state = state, .operation = operation, .tree = tree, .like = like,
               .frames = first, .first = first, .capacity = FIRST_DEPTH };
    size_t place = 0;
    *tree = (Tree){ 0 };
    bool ok = enter_like(&w, &place, Py_NewRef(object));
    while (ok && w.depth) {
        Frame *frame = &w.frames[w.depth - 1];
        const TreeNode *node = &like->nodes[frame->place];
        if (frame->node.count == node->count) {
            release_node(&w.frames[--w.depth].node);
            continue;
        }
        PyObject *child = child_of(node, frame->node.object, frame->node.count++);
        ok = child && enter_like(&w, &place, child);
    }
    while (w.depth)
        release_node(&w.frames[--w.depth].node);
    if (w.frames != first)
        PyMem_Free(w.frames);
    return ok;
}

/* ---------------------------------------------------------------- putting together */

/* An empty result with room for the children; of a container with fields, their
 * values. */
static PyObject *start_result(const TreeNode *node)
{
    return node->kind == NODE_LIST         ? PyList_New(node->count)
           : node->kind == NODE_DICTIONARY ? PyDict_New()
                                           : PyTuple_New(node->count);
}

/* Store child i, whose reference is stolen. */
static bool store_child(const TreeNode *node, PyObject *result, Py_ssize_t i,
                        PyObject *child)
{
    if (node->kind == NODE_DICTIONARY) {
        int status = PyDict_SetItem(result, PyList_GET_ITEM(node->keys, i), child);
        Py_DECREF(child);
        return status == 0;
    }
    if (node->kind == NODE_LIST)
        PyList_SET_ITEM(result, i, child);
    else
        PyTuple_SET_ITEM(result, i, child);
    return true;
}

/* The container with these children, whose reference is stolen. */
static PyObject *finish_result(const char *operation, const TreeNode *node,
                               PyObject *children)
{
    if (!node->plan)
        return children;
    PyObject *made = build_instance(operation, node->plan, Py_TYPE(node->object),
                                    PySequence_Fast_ITEMS(children), node->object);
    Py_DECREF(children);
    return made;
}

/* Make a container of its children, whose reference is stolen. */
typedef PyObject *Finish(const char *operation, const Tree *tree, const void *context,
                         size_t place, PyObject *children);

static PyObject *finish_new(const char *operation, const Tree *tree,
                            const void *context, size_t place, PyObject *children)
{
    (void) context;
    return finish_result(operation, &tree->nodes[place], children);
}

typedef struct Known {
    PyObject **objects; /* NULL: none is */
    const uint32_t *same;
} Known;

static PyObject *finish_known(const char *operation, const Tree *tree,
                              const void *context, size_t place, PyObject *children)
{
    const Known *known = context;
    const TreeNode *node = &tree->nodes[place];
    PyObject **objects = known->objects, *made = children;
    const uint32_t same = objects ? known->same[place] : 0;
    PyObject *object = same ? objects[same - 1] : objects ? objects[place] : NULL;
    (void) operation;
    if (object)
        made = Py_NewRef(object);
    else if (node->plan)
        made = build_alike(node->plan, PySequence_Fast_ITEMS(children), node->object);
    if (made != children)
        Py_DECREF(children);
    if (objects && !object)
        objects[place] = Py_XNewRef(made);
    return made;
}

/* A container that is being put together. */
typedef struct Making {
    size_t place;
    PyObject *result;
    Py_ssize_t count;
} Making;

/* Is it a tuple of nothing but leaves, as most states of loops are? */
static bool is_plain_tuple(const Tree *tree)
{
    return tree->nodes[0].kind == NODE_TUPLE &&
           tree->node_count == tree->leaf_count + 1;
}

static PyObject *make_tuple(PyObject *const *leaves, size_t count)
{
    PyObject *made = PyTuple_New((Py_ssize_t) count);
    for (size_t i = 0; made && i < count; i++)
        PyTuple_SET_ITEM(made, i, Py_NewRef(leaves[i]));
    return made;
}

static PyObject *assemble(const char *operation, const Tree *tree, const void *context,
                          PyObject *const *leaves, Finish *finish)
{
    if (is_plain_tuple(tree)) {
        PyObject *made = make_tuple(leaves, tree->leaf_count);
        return made ? finish(operation, tree, context, 0, made) : NULL;
    }
    Making first[FIRST_DEPTH], *stack = first;
    PyObject *value = NULL;
    size_t depth = 0, capacity = FIRST_DEPTH, leaf = 0, place = 0;
    do {
        const TreeNode *node = &tree->nodes[place];
        if (node->kind == NODE_LEAF) {
            value = Py_NewRef(leaves[leaf++]);
        } else {
            Making *grown = grow_stack(stack, first, depth, &capacity, sizeof(*stack));
            PyObject *result = grown ? start_result(node) : NULL;
            stack = grown ? grown : stack;
            if (!result)
                goto fail;
            stack[depth++] = (Making){ .place = place, .result = result };
            value = NULL;
        }
        ++place;
        /* Give the value to its container, which may be complete with it. */
        while (depth) {
            Making *top = &stack[depth - 1];
            const TreeNode *container = &tree->nodes[top->place];
            if (value && !store_child(container, top->result, top->count++, value))
                goto fail;
            value = NULL;
            if (top->count < container->count)
                break;
            --depth;
            value = finish(operation, tree, context, top->place, top->result);
            if (!value)
                goto fail;
        }
    } while (depth);
    if (stack != first)
        PyMem_Free(stack);
    return value;
fail:
    while (depth)
        Py_DECREF(stack[--depth].result);
    if (stack != first)
        PyMem_Free(stack);
    return NULL;
}

PyObject *tree_unflatten(const char *operation, const Tree *tree,
                         PyObject *const *leaves)
{
    return assemble(operation, tree, NULL, leaves, finish_new);
}

PyObject *tree_unflatten_as(const char *operation, const Tree *tree,
                            PyObject *const *leaves, PyObject **objects,
                            const uint32_t *same)
{
    const Known known = { objects, same };
    return assemble(operation, tree, &known, leaves, finish_known);
}

/* ---------------------------------------------------------------- into containers */

static bool same_entries(PyObject *container, PyObject *children)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(children);
    bool same = PySequence_Fast_GET_SIZE(container) == n;
    for (Py_ssize_t i = 0; same && i < n; i++)
        same = PySequence_Fast_GET_ITEM(container, i) ==
               PySequence_Fast_GET_ITEM(children, i);
    return same;
}

/* Has a dictionary these keys, with these very values, in this order? */
static bool same_values(PyObject *dictionary, PyObject *children)
{
    PyObject *key[2], *value[2];
    Py_ssize_t position[2] = { 0, 0 };
    bool same = PyDict_GET_SIZE(dictionary) == PyDict_GET_SIZE(children);
    while (same && PyDict_Next(children, &position[0], &key[0], &value[0]))
        same = PyDict_Next(dictionary, &position[1], &key[1], &value[1]) &&
               key[0] == key[1] && value[0] == value[1];
    return same;
}

/* Set a field if it has another value. */
static bool place_field(const TreeNode *node, PyObject *object, Py_ssize_t i,
                        PyObject *child)
{
    setattrofunc set =
        node->kind == NODE_STRUCT ? PyObject_SetAttr : PyObject_GenericSetAttr;
    PyObject *name = PyTuple_GET_ITEM(node->plan->names, i);
    PyObject *now = PyObject_GetAttr(object, name);
    if (!now && !PyErr_ExceptionMatches(PyExc_AttributeError))
        return false;
    PyErr_Clear();
    const bool ok = now == child || set(object, name, child) == 0;
    Py_XDECREF(now);
    return ok;
}

static bool place_fields(const TreeNode *node, PyObject *children)
{
    Py_ssize_t i = 0;
    while (i < node->count &&
           place_field(node, node->object, i, PySequence_Fast_GET_ITEM(children, i)))
        ++i;
    return i == node->count;
}

static bool place_children(const TreeNode *node, PyObject *children)
{
    PyObject *object = node->object;
    switch (node->kind) {
    case NODE_LIST:
        return same_entries(object, children) ||
               PyList_SetSlice(object, 0, PyList_GET_SIZE(object), children) == 0;
    case NODE_DICTIONARY:
        if (same_values(object, children))
            return true;
        PyDict_Clear(object);
        return PyDict_Update(object, children) == 0;
    default:
        return place_fields(node, children);
    }
}

static PyObject *finish_placed(const char *operation, const Tree *tree,
                               const void *context, size_t place, PyObject *children)
{
    const Tree *other = context;
    const TreeNode *node = &tree->nodes[place];
    bool changed = other && other->nodes[place].object != node->object;
    if (is_tuple(node))
        changed = changed || !same_entries(node->object, children);
    else if (!changed && !place_children(node, children))
        Py_CLEAR(children);
    if (changed || !children)
        return children ? finish_result(operation, node, children) : NULL;
    Py_DECREF(children);
    return Py_NewRef(node->object);
}

PyObject *tree_place(const char *operation, const Tree *tree, const Tree *other,
                     PyObject *const *leaves)
{
    return assemble(operation, tree, other, leaves, finish_placed);
}

/* ---------------------------------------------------------------- restoring */

bool tree_put_child(const TreeNode *node, PyObject *object, Py_ssize_t i,
                    PyObject *child)
{
    switch (node->kind) {
    case NODE_LIST:
        if (i >= PyList_GET_SIZE(object))
            return PyList_Append(object, child) == 0;
        return PyList_GET_ITEM(object, i) == child ||
               PyList_SetItem(object, i, Py_NewRef(child)) == 0;
    case NODE_DICTIONARY:
        return PyDict_SetItem(object, PyList_GET_ITEM(node->keys, i), child) == 0;
    default:
        return place_field(node, object, i, child);
    }
}

/* Remove what a container has got in addition. */
static bool trim(const TreeNode *node)
{
    PyObject *object = node->object;
    if (node->kind == NODE_LIST && PyList_GET_SIZE(object) > node->count)
        return PyList_SetSlice(object, node->count, PyList_GET_SIZE(object), NULL) == 0;
    if (node->kind == NODE_DICTIONARY && has_keys(object, node->keys) != 1)
        PyDict_Clear(object);
    return true;
}

bool tree_restore(const Tree *tree)
{
    size_t leaf = 0;
    bool ok = true;
    for (size_t place = 0; place < tree->node_count; place++) {
        const TreeNode *node = &tree->nodes[place];
        size_t at = place + 1, next_leaf = leaf;
        leaf += node->kind == NODE_LEAF;
        if (node->kind == NODE_LEAF || is_tuple(node)) /* these do not change */
            continue;
        ok = trim(node) && ok;
        for (Py_ssize_t i = 0; i < node->count; i++) {
            PyObject *child = tree->nodes[at].kind == NODE_LEAF
                                  ? tree->leaves[next_leaf]
                                  : tree->nodes[at].object;
            ok = tree_put_child(node, node->object, i, child) && ok;
            /* Pass over the child, and what it contains. */
            for (Py_ssize_t open = 1; open > 0; ++at) {
                open += tree->nodes[at].count - 1;
                next_leaf += tree->nodes[at].kind == NODE_LEAF;
            }
        }
    }
    return ok;
}

/* ---------------------------------------------------------------- all leaves */

static PyObject *map_trees(const char *operation, const Tree *trees, int n, TreeMap map,
                           void *context, bool alike)
{
    size_t count = trees[0].leaf_count, done = 0;
    PyObject **made = PyMem_New(PyObject *, count + 1), *result = NULL;
    if (!made)
        return PyErr_NoMemory();
    for (; done < count; ++done) {
        PyObject *leaves[TREES_MAX];
        for (int i = 0; i < n; i++)
            leaves[i] = trees[i].leaves[done];
        if (!(made[done] = map(context, leaves)))
            break;
    }
    if (done == count)
        result = alike ? tree_unflatten_as(operation, &trees[0], made, NULL, NULL)
                       : tree_unflatten(operation, &trees[0], made);
    while (done)
        Py_DECREF(made[--done]);
    PyMem_Free(made);
    return result;
}

static PyObject *map_with(State *state, const char *operation, PyObject *const *trees,
                          int n, TreeMap map, void *context, bool alike)
{
    if (array_check(state, trees[0]))
        return map(context, trees);
    Tree flat[TREES_MAX] = { { 0 } };
    bool ok = tree_flatten(state, operation, trees[0], &flat[0]) &&
              (!tree_has_cycles(&flat[0]) || fail_cycle(operation));
    for (int i = 1; ok && i < n; i++)
        ok = tree_flatten_like(state, operation, &flat[0], trees[i], &flat[i]);
    PyObject *result = ok ? map_trees(operation, flat, n, map, context, alike) : NULL;
    for (int i = 0; i < n; i++)
        tree_free(&flat[i]);
    return result;
}

PyObject *tree_map(State *state, const char *operation, PyObject *const *trees, int n,
                   TreeMap map, void *context)
{
    return map_with(state, operation, trees, n, map, context, false);
}

PyObject *tree_map_alike(State *state, const char *operation, PyObject *tree,
                         TreeMap map, void *context)
{
    return map_with(state, operation, &tree, 1, map, context, true);
}

bool tree_visit(State *state, const char *operation, PyObject *object, TreeVisit visit,
                void *context)
{
    if (array_check(state, object)) /* a tree that is nothing but a leaf */
        return visit(context, object);
    Tree tree;
    bool ok = flatten(state, operation, object, false, &tree);
    for (size_t i = 0; ok && i < tree.leaf_count; i++)
        ok = visit(context, tree.leaves[i]);
    tree_free(&tree);
    return ok;
}
