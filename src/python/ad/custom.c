/*
 * custom.c -- see custom.h; functions for drjit._ad.custom
 *
 * What an operation keeps may depend on its results: operation, array, node, operation.
 * Arrays are unknown to the garbage collector, and nodes are not objects; so where only
 * such a cycle keeps an operation (cycle.h), its Operation says that it refers to
 * itself, in the name of the graph.
 */
#include "python/ad/custom.h"

#include "python/ad/cycle.h"
#include "python/ad/gradient.h"
#include "python/ad/leaves.h"
#include "python/base/error.h"
#include "python/base/tables.h"
#include "python/tree/tree.h"

/* ---------------------------------------------------------------- the class */

static int operation_traverse(PyObject *self, visitproc visit, void *arg)
{
    const Operation *o = (Operation *) self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(o->op);
    if (o->held && cycle_is_closed(o))
        Py_VISIT(self);
    return 0;
}

static int operation_clear(PyObject *self)
{
    Py_CLEAR(((Operation *) self)->op);
    return 0;
}

static void operation_dealloc(PyObject *self)
{
    PyTypeObject *cls = Py_TYPE(self);
    State *state = ((Operation *) self)->state;
    PyObject_GC_UnTrack(self);
    PyMem_Free(((Operation *) self)->infos);
    Py_CLEAR(((Operation *) self)->op);
    PyObject_GC_Del(self);
    Py_DECREF(cls);
    state_unref(state);
}

bool custom_bind(State *state)
{
    PyType_Slot slots[] = {
        { Py_tp_doc, (void *) "What the graph of derivatives keeps of a CustomOp." },
        SLOT(Py_tp_traverse, operation_traverse),
        SLOT(Py_tp_clear, operation_clear),
        SLOT(Py_tp_dealloc, operation_dealloc),
        { 0, NULL },
    };
    state->operation =
        type_add(state->module, "drjit._core._Operation", sizeof(Operation),
                 Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots);
    return state->operation;
}

/* ---------------------------------------------------------------- callbacks */

static PyObject *wrap_gradients(const TypeInfo *const *infos, const uint64_t *gradients,
                                size_t n)
{
    PyObject *list = PyList_New((Py_ssize_t) n);
    for (size_t i = 0; list && i < n; i++) {
        PyObject *own =
            gradients[i] ? (PyObject *) array_new_leaf(infos[i], var_ref(gradients[i]))
                         : Py_NewRef(Py_None);
        if (own)
            PyList_SET_ITEM(list, (Py_ssize_t) i, own);
        else
            Py_CLEAR(list);
    }
    return list;
}

/* A gradient that was computed with something tracked would keep that alive where
 * nobody wants its derivative. */
static void unwrap_gradients(PyObject *list, uint64_t *gradients, size_t n)
{
    const bool tracked = ad_traverse_is_tracked();
    for (size_t i = 0; i < n; i++) {
        PyObject *own = PyList_GET_ITEM(list, (Py_ssize_t) i);
        gradients[i] = own == Py_None ? 0 : var_ref(array_var((Array *) own));
        if (!tracked)
            gradients[i] = var_plain(gradients[i]);
    }
}

static PyObject *call_python(const Operation *o, bool forward, PyObject *list)
{
    if (o->op)
        return PyObject_CallMethod(o->op, "_propagate", "OOO",
                                   forward ? Py_True : Py_False, list,
                                   ad_traverse_is_tracked() ? Py_True : Py_False);
    PyErr_SetString(PyExc_RuntimeError,
                    "drjit.traverse(): a custom operation has been collected");
    return NULL;
}

static bool run_custom(Operation *o, bool forward, const uint64_t *given,
                       uint64_t *made)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    const size_t n = forward ? o->n_in : o->n_out, m = forward ? o->n_out : o->n_in;
    PyObject *list = wrap_gradients(o->infos + (forward ? 0 : o->n_in), given, n);
    PyObject *result = list ? call_python(o, forward, list) : NULL;
    bool ok = result && PyList_CheckExact(result) &&
              PyList_GET_SIZE(result) == (Py_ssize_t) m;
    if (ok)
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

void custom_release(void *payload)
{
    if (!Py_IsInitialized())
        return;
    PyGILState_STATE gil = PyGILState_Ensure();
    ((Operation *) payload)->held = false;
    Py_DECREF((PyObject *) payload);
    PyGILState_Release(gil);
}

/* ---------------------------------------------------------------- making */

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

static Operation *operation_new(State *state, PyObject *op, size_t n_in, size_t n_out)
{
    Operation *o = PyObject_GC_New(Operation, state->operation);
    if (!o)
        return NULL;
    o->state = state;
    state->references++;
    o->op = Py_NewRef(op);
    o->held = false;
    o->n_in = n_in;
    o->n_out = n_out;
    o->infos = PyMem_Calloc(n_in + n_out + 1, sizeof(*o->infos));
    PyObject_GC_Track((PyObject *) o);
    if (!o->infos) {
        Py_DECREF((PyObject *) o);
        return (Operation *) PyErr_NoMemory();
    }
    return o;
}

static bool read_row(PyObject *row, size_t n_in, bool *to)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(row); i++) {
        const size_t number = PyLong_AsSize_t(PyTuple_GET_ITEM(row, i));
        if (number >= n_in)
            return false;
        to[number] = true;
    }
    return true;
}

/* ADCustom.depends of a tuple that has for each output a tuple of numbers of inputs, to
 * be freed by PyMem_Free(). NULL: it is None, or ('*ok' is false) exception. */
static bool *read_depends(PyObject *rows, size_t n_in, size_t n_out, bool *ok)
{
    *ok = true;
    if (rows == Py_None)
        return NULL;
    bool *depends = PyMem_Calloc(n_in * n_out + 1, sizeof(*depends));
    *ok = depends && PyTuple_Check(rows) && (size_t) PyTuple_GET_SIZE(rows) == n_out;
    for (size_t k = 0; *ok && k < n_out; k++) {
        PyObject *row = PyTuple_GET_ITEM(rows, (Py_ssize_t) k);
        *ok = PyTuple_Check(row) && read_row(row, n_in, depends + k * n_in);
    }
    if (*ok)
        return depends;
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError,
                        "drjit.custom(): expected a tuple of numbers of inputs for "
                        "each output");
    PyMem_Free(depends);
    return NULL;
}

/* The operation gets no gradients of what has no entries. */
static uint64_t *with_entries(const Leaves *in)
{
    uint64_t *leaves = PyMem_New(uint64_t, in->count + 1);
    for (size_t i = 0; leaves && i < in->count; i++)
        leaves[i] = var_is_empty(in->leaves[i]) ? 0 : in->leaves[i];
    return leaves ? leaves : (uint64_t *) PyErr_NoMemory();
}

/* Those of 'out' that the operation has not connected: they have no entries, or depend
 * on what has none. */
static bool connect_others(const TypeInfo *const *infos, const Leaves *in, Leaves *out)
{
    bool ok = true;
    for (size_t i = 0; ok && i < out->count; i++)
        if (var_is_empty(out->leaves[i]))
            ok = var_none(infos[i], (int) in->count, in->leaves, &out->leaves[i]);
    for (size_t k = 0; ok && k < in->count; k++)
        for (size_t i = 0; ok && var_is_empty(in->leaves[k]) && i < out->count; i++)
            if (!var_is_empty(out->leaves[i]))
                ok = (out->leaves[i] =
                          var_of_none(out->leaves[i], 1, &in->leaves[k])) != 0;
    return ok;
}

/* Connect the leaves; those of 'out' become tracked. */
static bool connect(State *state, const char *name, PyObject *op, PyObject *inputs,
                    PyObject *outputs, Leaves *in, Leaves *out, PyObject *rows)
{
    Operation *o = operation_new(state, op, in->count, out->count);
    if (!o)
        return false;
    const TypeInfo **next = o->infos;
    bool ok;
    bool *depends = read_depends(rows, in->count, out->count, &ok);
    const ADCustom callbacks = { name, custom_forward, custom_backward, custom_release,
                                 depends };
    ok = ok && tree_visit(state, "custom", inputs, note_infos, &next) &&
              tree_visit(state, "custom", outputs, note_infos, &next);
    for (size_t i = 0; i < out->count; i++)
        out->leaves[i] = var_plain(out->leaves[i]);
    uint64_t *given = ok ? with_entries(in) : NULL;
    ok = given;
    if (ok) {
        o->held = true;
        Py_INCREF((PyObject *) o); /* the graph's, which releases it if it fails, too */
        ok = ad_custom(&callbacks, o, in->count, given, out->count, out->leaves) &&
             (depends || connect_others(o->infos + in->count, in, out));
        if (!ok)
            error_from_core("custom", NULL, 0);
    }
    PyMem_Free(given);
    PyMem_Free(depends);
    Py_DECREF((PyObject *) o);
    return ok;
}

/* _custom(name, op, inputs, outputs, depends): the arrays in 'outputs' become tracked.
 * 'depends' has for each leaf of these, a tuple, those of the inputs that it depends
 * on; None: all. */
static PyObject *custom(PyObject *module, PyObject *args)
{
    const char *name;
    PyObject *op, *inputs, *outputs, *depends;
    if (!PyArg_ParseTuple(args, "sOOOO", &name, &op, &inputs, &outputs, &depends))
        return NULL;
    State *state = state_of_module(module);
    Leaves in = { .state = state }, out = { .state = state };
    bool ok = leaves_collect(&in, "custom", inputs) &&
              leaves_collect(&out, "custom", outputs) &&
              connect(state, name, op, inputs, outputs, &in, &out, depends);
    uint64_t *leaf = out.leaves;
    ok = ok && tree_visit(state, "custom", outputs, set_nodes, &leaf);
    leaves_drop(&in);
    leaves_drop(&out);
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

/* ---------------------------------------------------------------- leaves of arrays */

/* _leaves(array): its leaves as arrays. */
static PyObject *split(PyObject *module, PyObject *object)
{
    State *state = state_of_module(module);
    const Array *a = array_traced(state, object);
    if (!a)
        return error_raise(PyExc_TypeError, "custom", &object, 1,
                           "expected a just-in-time compiled array");
    PyObject *list = PyList_New((Py_ssize_t) array_count(a));
    for (size_t i = 0; list && i < array_count(a); i++) {
        PyObject *own = (PyObject *) array_new_leaf(&state->types[a->info->leaf],
                                                    var_ref(array_leaves(a)[i]));
        if (own)
            PyList_SET_ITEM(list, (Py_ssize_t) i, own);
        else
            Py_CLEAR(list);
    }
    return list;
}

static bool assign(Array *a, PyObject *list)
{
    if (PyList_GET_SIZE(list) != (Py_ssize_t) array_count(a))
        return error_raise(PyExc_ValueError, "custom", NULL, 0,
                           "%zd components, expected %zu", PyList_GET_SIZE(list),
                           array_count(a));
    for (size_t i = 0; i < array_count(a); i++) {
        Array *own = array_of(PyList_GET_ITEM(list, (Py_ssize_t) i));
        if (own)
            array_set_leaf(a, i, var_ref(array_var(own)));
    }
    return true;
}

/* _from_leaves(like, leaves): an array of that type and shape. */
static PyObject *join(PyObject *module, PyObject *args)
{
    PyObject *like, *list;
    State *state = state_of_module(module);
    if (!PyArg_ParseTuple(args, "O!O!", state->array_base, &like, &PyList_Type, &list))
        return NULL;
    Array *result = array_new_like(((Array *) like)->info, (Array *) like);
    if (result && !assign(result, list))
        Py_CLEAR(result);
    return (PyObject *) result;
}

/* _set_leaves(array, leaves): the same in place; leaves are of the array's type. */
static PyObject *set_leaves(PyObject *module, PyObject *args)
{
    PyObject *array, *list;
    State *state = state_of_module(module);
    if (!PyArg_ParseTuple(args, "O!O!", state->array_base, &array, &PyList_Type,
                          &list) ||
        !assign((Array *) array, list))
        return NULL;
    Py_RETURN_NONE;
}

PyMethodDef custom_functions[] = {
    { "_custom", custom, METH_VARARGS,
      "_custom(name, op, inputs, outputs, depends)" },
    { "_leaves", split, METH_O, "_leaves(array)" },
    { "_from_leaves", join, METH_VARARGS, "_from_leaves(like, leaves)" },
    { "_set_leaves", set_leaves, METH_VARARGS, "_set_leaves(array, leaves)" },
    { NULL, NULL, 0, NULL },
};
