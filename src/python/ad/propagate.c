/*
 * propagate.c -- traversals, scopes, custom operations: for drjit._ad
 */
#include "python/ad/gradient.h"
#include "python/object/enums.h"
#include "python/object/error.h"
#include "python/object/tables.h"
#include "python/object/wait.h"
#include "python/tree/tree.h"

/* ---------------------------------------------------------------- leaves of arrays */

typedef struct Leaves {
    State *state;
    Leaf *leaves; /* references */
    size_t count, capacity;
} Leaves;

static void leaves_drop(Leaves *l)
{
    while (l->count)
        leaf_unref(l->leaves[--l->count]);
    PyMem_Free(l->leaves);
    l->leaves = NULL;
}

static bool leaves_add(Leaves *l, Leaf leaf)
{
    if (l->count == l->capacity) {
        const size_t capacity = 2 * l->capacity + 8;
        Leaf *leaves = PyMem_Realloc(l->leaves, capacity * sizeof(*leaves));
        if (!leaves) {
            PyErr_NoMemory();
            return false;
        }
        l->leaves = leaves;
        l->capacity = capacity;
    }
    l->leaves[l->count++] = leaf_ref(leaf);
    return true;
}

/* Of float arrays with derivatives; an empty one is 0. */
static bool collect_leaf(void *context, PyObject *object)
{
    Leaves *l = context;
    Array *a = array_check(l->state, object) ? (Array *) object : NULL;
    if (!a || !gradient_is_float(a->info))
        return true;
    for (size_t i = 0; i < array_count(a); i++)
        if (!leaves_add(l, array_leaves(a)[i]))
            return false;
    return true;
}

static bool collect(Leaves *l, const char *operation, PyObject *tree)
{
    return tree_visit(l->state, operation, tree, collect_leaf, l);
}

/* ---------------------------------------------------------------- traversals */

/* An exception of a callback that has ended a traversal is passed on as it is. */
static PyObject *failed(const char *operation)
{
    return PyErr_Occurred() ? NULL : error_from_core(operation, NULL, 0);
}

static PyObject *enqueue(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    Leaves l = { .state = state_of_module(module) };
    long mode = 0;
    if (n < 1)
        return error_raise(PyExc_TypeError, "enqueue", args, n,
                           "expected a drjit.ADMode and PyTrees");
    bool ok = enum_read(l.state, "enqueue", "ADMode", args[0], 3, &mode);
    for (Py_ssize_t i = 1; ok && i < n; i++)
        ok = collect(&l, "enqueue", args[i]);
    bool done = ok;
    for (size_t i = 0; done && i < l.count; i++)
        done = ad_enqueue((ADMode) mode, l.leaves[i]);
    if (ok && (!done || mode == ADModePrimal)) {
        if (done) /* nothing was looked at */
            ad_enqueue(ADModePrimal, 0);
        failed("enqueue");
        ok = false;
    }
    leaves_drop(&l);
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

/* _traverse(mode, flags) */
static PyObject *traverse(PyObject *module, PyObject *args)
{
    (void) module;
    int mode;
    unsigned flags;
    if (!PyArg_ParseTuple(args, "iI", &mode, &flags))
        return NULL;
    bool ok;
    WAIT_BEGIN
    ok = ad_traverse((ADMode) mode, flags);
    WAIT_END
    if (!ok)
        return failed("traverse");
    if (PyErr_Occurred()) /* of a callback whose traversal went on */
        return NULL;
    Py_RETURN_NONE;
}

/* ---------------------------------------------------------------- scopes */

/* _scope_enter(kind, args): an empty tuple stands for everything. */
static PyObject *scope_enter(PyObject *module, PyObject *args)
{
    int kind;
    PyObject *tree;
    if (!PyArg_ParseTuple(args, "iO!", &kind, &PyTuple_Type, &tree))
        return NULL;
    Leaves l = { .state = state_of_module(module) };
    /* Arguments without arrays name nothing, which is not the same as no arguments. */
    bool ok = collect(&l, "suspend_grad", tree) &&
              (l.count || !PyTuple_GET_SIZE(tree) || leaves_add(&l, 0));
    if (ok && !ad_scope_enter((ADScope) kind, l.count, l.leaves)) {
        error_from_core("suspend_grad", NULL, 0);
        ok = false;
    }
    leaves_drop(&l);
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *scope_leave(PyObject *module, PyObject *go_on)
{
    (void) module;
    bool ok;
    WAIT_BEGIN
    ok = ad_scope_leave(go_on == Py_True);
    WAIT_END
    if (!ok || PyErr_Occurred())
        return failed("isolate_grad");
    Py_RETURN_NONE;
}

/* ---------------------------------------------------------------- custom operations */

/* What the graph keeps of one: the callable that propagates, and the types of
 * leaves. */
typedef struct Custom {
    State *state;
    PyObject *call; /* call(forward, gradients): a list of gradients */
    size_t n_in, n_out;
    const TypeInfo *infos[]; /* of the leaves of inputs, of outputs */
} Custom;

static PyObject *wrap_gradients(const TypeInfo *const *infos, const uint64_t *gradients,
                                size_t n)
{
    PyObject *list = PyList_New((Py_ssize_t) n);
    for (size_t i = 0; list && i < n; i++) {
        PyObject *own =
            gradients[i] ? (PyObject *) array_new_leaf(infos[i], leaf_ref(gradients[i]))
                         : Py_NewRef(Py_None);
        if (own)
            PyList_SET_ITEM(list, (Py_ssize_t) i, own);
        else
            Py_CLEAR(list);
    }
    return list;
}

static bool unwrap_gradients(PyObject *list, uint64_t *gradients, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        PyObject *own = PyList_GET_ITEM(list, (Py_ssize_t) i);
        gradients[i] = own == Py_None ? 0 : leaf_ref(array_leaf((Array *) own));
    }
    return true;
}

static bool run_custom(Custom *c, bool forward, const uint64_t *given, uint64_t *made)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    const size_t n = forward ? c->n_in : c->n_out, m = forward ? c->n_out : c->n_in;
    const TypeInfo *const *infos = c->infos + (forward ? 0 : c->n_in);
    PyObject *list = wrap_gradients(infos, given, n);
    PyObject *result =
        list ? PyObject_CallFunction(c->call, "iO", (int) forward, list) : NULL;
    bool ok = result && PyList_CheckExact(result) &&
              PyList_GET_SIZE(result) == (Py_ssize_t) m &&
              unwrap_gradients(result, made, m);
    Py_XDECREF(list);
    Py_XDECREF(result);
    PyGILState_Release(gil);
    return ok;
}

static bool custom_forward(void *payload, const uint64_t *in, uint64_t *out)
{
    return run_custom(payload, true, in, out);
}

static bool custom_backward(void *payload, uint64_t *in, const uint64_t *out)
{
    return run_custom(payload, false, out, in);
}

static void custom_release(void *payload)
{
    Custom *c = payload;
    if (Py_IsInitialized()) {
        PyGILState_STATE gil = PyGILState_Ensure();
        Py_DECREF(c->call);
        PyGILState_Release(gil);
    }
    PyMem_RawFree(c);
}

static bool note_infos(void *context, PyObject *object)
{
    const TypeInfo ***next = context;
    Array *a = array_of(object);
    if (a && gradient_is_float(a->info))
        for (size_t i = 0; i < array_count(a); i++)
            *(*next)++ = &a->info->state->types[a->info->leaf];
    return true;
}

static bool set_nodes(void *context, PyObject *object)
{
    uint64_t **next = context;
    Array *a = array_of(object);
    if (a && gradient_is_float(a->info))
        for (size_t i = 0; i < array_count(a); i++, ++*next) {
            array_set_leaf(a, i, **next);
            **next = 0;
        }
    return true;
}

/* _custom(name, call, inputs, outputs): the arrays in 'outputs' become tracked. */
static PyObject *custom(PyObject *module, PyObject *args)
{
    const char *name;
    PyObject *call, *inputs, *outputs;
    if (!PyArg_ParseTuple(args, "sOOO", &name, &call, &inputs, &outputs))
        return NULL;
    State *state = state_of_module(module);
    Leaves in = { .state = state }, out = { .state = state };
    bool ok = collect(&in, "custom", inputs) && collect(&out, "custom", outputs);
    Custom *c = ok ? PyMem_RawCalloc(1, sizeof(Custom) + (in.count + out.count) *
                                                             sizeof(const TypeInfo *))
                   : NULL;
    if (ok && !c)
        PyErr_NoMemory();
    if (c) {
        *c = (Custom){ state, Py_NewRef(call), in.count, out.count };
        const TypeInfo **next = c->infos;
        const ADCustom op = { name, custom_forward, custom_backward, custom_release };
        ok = tree_visit(state, "custom", inputs, note_infos, &next) &&
             tree_visit(state, "custom", outputs, note_infos, &next);
        for (size_t i = 0; i < out.count; i++)
            out.leaves[i] = leaf_plain(out.leaves[i]);
        if (!ok)
            custom_release(c);
        else if (!ad_custom(&op, c, in.count, in.leaves, out.count, out.leaves))
            ok = error_from_core("custom", NULL, 0);
        uint64_t *leaf = out.leaves;
        ok = ok && tree_visit(state, "custom", outputs, set_nodes, &leaf);
    }
    leaves_drop(&in);
    leaves_drop(&out);
    if (!ok || !c)
        return NULL;
    Py_RETURN_NONE;
}

/* _leaves(array): its leaves as arrays; _from_leaves(like, leaves): an array of that
 * type and shape. */
static PyObject *split(PyObject *module, PyObject *object)
{
    State *state = state_of_module(module);
    if (!array_check(state, object) || !((Array *) object)->info->jit)
        return error_raise(PyExc_TypeError, "custom", &object, 1,
                           "expected a just-in-time compiled array");
    Array *a = (Array *) object;
    PyObject *list = PyList_New((Py_ssize_t) array_count(a));
    for (size_t i = 0; list && i < array_count(a); i++) {
        PyObject *own = (PyObject *) array_new_leaf(&state->types[a->info->leaf],
                                                    leaf_ref(array_leaves(a)[i]));
        if (own)
            PyList_SET_ITEM(list, (Py_ssize_t) i, own);
        else
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *join(PyObject *module, PyObject *args)
{
    PyObject *like, *list;
    State *state = state_of_module(module);
    if (!PyArg_ParseTuple(args, "O!O!", state->array_base, &like, &PyList_Type, &list))
        return NULL;
    Array *a = (Array *) like;
    Array *result = array_new_like(a->info, a);
    if (result && PyList_GET_SIZE(list) != (Py_ssize_t) array_count(result)) {
        Py_DECREF((PyObject *) result);
        return error_raise(PyExc_ValueError, "custom", NULL, 0,
                           "%zd components, expected %zu", PyList_GET_SIZE(list),
                           array_count(a));
    }
    for (size_t i = 0; result && i < array_count(result); i++) {
        Array *own = array_of(PyList_GET_ITEM(list, (Py_ssize_t) i));
        if (own)
            array_set_leaf(result, i, leaf_ref(array_leaf(own)));
    }
    return (PyObject *) result;
}

/* ---------------------------------------------------------------- inspection */

static PyObject *text(const char *content, const char *operation)
{
    return content ? PyUnicode_FromString(content)
                   : error_from_core(operation, NULL, 0);
}

static PyObject *whos(PyObject *module, PyObject *unused)
{
    (void) module, (void) unused;
    return text(ad_whos(), "whos_ad");
}

static PyObject *graphviz(PyObject *module, PyObject *unused)
{
    (void) module, (void) unused;
    return text(ad_graphviz(), "graphviz_ad");
}

static PyObject *tape_limit(PyObject *module, PyObject *unused)
{
    (void) module, (void) unused;
    return PyLong_FromSize_t(ad_tape_limit());
}

static PyObject *set_tape_limit(PyObject *module, PyObject *value)
{
    (void) module;
    const size_t bytes = PyLong_Check(value) ? PyLong_AsSize_t(value) : SIZE_MAX;
    if (!PyLong_Check(value) || PyErr_Occurred()) {
        PyErr_Clear();
        error_raise(PyExc_TypeError, "ad.set_tape_limit", NULL, 0,
                    "'limit' is %R, expected a number of bytes", value);
        return NULL;
    }
    ad_set_tape_limit(bytes);
    Py_RETURN_NONE;
}

static PyObject *node_count(PyObject *module, PyObject *unused)
{
    (void) module, (void) unused;
    return PyLong_FromSize_t(ad_node_count());
}

PyMethodDef propagate_functions[] = {
    { "enqueue", METHOD(enqueue), METH_FASTCALL,
      "enqueue(mode, *args)\n--\n\n"
      "Note, for the next traverse() of this thread, all that the arrays in these "
      "PyTrees depend\non (ADMode.Backward), or that depends on them "
      "(ADMode.Forward)." },
    { "_traverse", traverse, METH_VARARGS, "_traverse(mode, flags)" },
    { "_scope_enter", scope_enter, METH_VARARGS, "_scope_enter(kind, args)" },
    { "_scope_leave", scope_leave, METH_O, "_scope_leave(go_on)" },
    { "_custom", custom, METH_VARARGS, "_custom(name, call, inputs, outputs)" },
    { "_leaves", split, METH_O, "_leaves(array)" },
    { "_from_leaves", join, METH_VARARGS, "_from_leaves(like, leaves)" },
    { "_whos_ad", whos, METH_NOARGS, "_whos_ad()" },
    { "_graphviz_ad", graphviz, METH_NOARGS, "_graphviz_ad()" },
    { "_tape_limit", tape_limit, METH_NOARGS, "_tape_limit()" },
    { "_set_tape_limit", set_tape_limit, METH_O, "_set_tape_limit(bytes)" },
    { "_ad_node_count", node_count, METH_NOARGS,
      "_ad_node_count()\n\nNodes of the graph of derivatives there are." },
    { NULL, NULL, 0, NULL },
};
