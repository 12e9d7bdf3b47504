/*
 * propagate.c -- traversals, scopes, inspection: for drjit._ad
 */
#include "python/ad/leaves.h"
#include "python/base/error.h"
#include "python/base/gil.h"
#include "python/base/tables.h"
#include "python/base/warn.h"
#include "python/docstrings.h"
#include "python/type/enums.h"

/* ---------------------------------------------------------------- traversals */

/* An exception of a callback that has ended a traversal is passed on as it is. */
static PyObject *failed(const char *operation)
{
    return PyErr_Occurred() ? NULL : error_from_core(operation, NULL, 0);
}

static bool warn_of_cut(const char *operation, const Leaves *l, ADMode mode)
{
    bool cut = false;
    for (size_t i = 0; !cut && i < l->count; i++)
        cut = ad_is_cut(mode, l->leaves[i]) && ad_grad_enabled(l->leaves[i]);
    return !cut ||
           warn_user(operation, "no gradient goes on from here, since an earlier "
                                "traversal has cleared the edges; expected one "
                                "traversal, or flags without ADFlag.ClearEdges");
}

static PyObject *enqueue_as(PyObject *module, const char *operation,
                            PyObject *const *args, Py_ssize_t n)
{
    Leaves l = { .state = state_of_module(module) };
    long mode = 0;
    if (n < 1)
        return error_raise(PyExc_TypeError, operation, args, n,
                           "expected a drjit.ADMode and PyTrees");
    bool ok = enum_read(l.state, operation, "ADMode", args[0], 3, &mode);
    if (ok && mode == ADModePrimal)
        return error_raise(PyExc_RuntimeError, operation, NULL, 0,
                           "'mode' is ADMode.Primal, expected ADMode.Forward or "
                           "ADMode.Backward");
    for (Py_ssize_t i = 1; ok && i < n; i++)
        ok = leaves_collect(&l, operation, args[i]);
    ok = ok && warn_of_cut(operation, &l, (ADMode) mode);
    if (ok && !ad_enqueue_all((ADMode) mode, l.count, l.leaves)) {
        failed(operation);
        ok = false;
    }
    leaves_drop(&l);
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *enqueue(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    return enqueue_as(module, "enqueue", args, n);
}

/* _enqueue(operation, mode, *args): enqueue(), on behalf of another function. */
static PyObject *enqueue_for(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    const char *operation = n ? PyUnicode_AsUTF8(args[0]) : NULL;
    return operation ? enqueue_as(module, operation, args + 1, n - 1) : NULL;
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
    GIL_RELEASE_BEGIN
    ok = ad_traverse((ADMode) mode, flags);
    GIL_RELEASE_END
    if (!ok)
        return failed("traverse");
    if (PyErr_Occurred()) /* of a callback whose traversal went on */
        return NULL;
    Py_RETURN_NONE;
}

/* ---------------------------------------------------------------- scopes */

static const char *const scope_names[] = { "suspend_grad", "resume_grad",
                                           "isolate_grad",
                                           "isolate_grad" }; /* by ADScope */

/* _scope_enter(kind, args): an empty tuple stands for everything. */
static PyObject *scope_enter(PyObject *module, PyObject *args)
{
    int kind;
    PyObject *tree;
    if (!PyArg_ParseTuple(args, "iO!", &kind, &PyTuple_Type, &tree))
        return NULL;
    Leaves l = { .state = state_of_module(module) };
    /* Arguments without arrays name nothing, which is not the same as no arguments. */
    bool ok = leaves_collect(&l, scope_names[kind], tree) &&
              (l.count || !PyTuple_GET_SIZE(tree) || leaves_add(&l, 0));
    if (ok && !ad_scope_enter((ADScope) kind, l.count, l.leaves)) {
        error_from_core(scope_names[kind], NULL, 0);
        ok = false;
    }
    leaves_drop(&l);
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

/* _scope_leave(kind, go_on) */
static PyObject *scope_leave(PyObject *module, PyObject *args)
{
    (void) module;
    int kind, go_on;
    if (!PyArg_ParseTuple(args, "ip", &kind, &go_on))
        return NULL;
    bool ok;
    GIL_RELEASE_BEGIN
    ok = ad_scope_leave(go_on);
    GIL_RELEASE_END
    if (!ok || PyErr_Occurred())
        return failed(scope_names[kind]);
    Py_RETURN_NONE;
}

/* _scope_suspends(): 0: nothing but what was named, 1: all but that, 2: all. */
static PyObject *scope_suspends(PyObject *module, PyObject *unused)
{
    (void) module, (void) unused;
    return PyLong_FromLong(ad_scope_suspends_others() + ad_scope_suspends_all());
}

static PyObject *for_variables(PyObject *module, PyObject *tree,
                               bool (*call)(size_t n, const uint64_t *indices))
{
    Leaves l = { .state = state_of_module(module) };
    bool ok = leaves_collect(&l, "isolate_grad", tree);
    if (ok && !call(l.count, l.leaves)) {
        error_from_core("isolate_grad", NULL, 0);
        ok = false;
    }
    leaves_drop(&l);
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

static bool admit(size_t n, const uint64_t *indices)
{
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++)
        ok = ad_scope_admit_variable(indices[i]);
    return ok;
}

/* _scope_admit(tree): the innermost scope tracks these. */
static PyObject *scope_admit(PyObject *module, PyObject *tree)
{
    return for_variables(module, tree, admit);
}

/* _scope_keep(tree): it goes on from these at its end. */
static PyObject *scope_keep(PyObject *module, PyObject *tree)
{
    return for_variables(module, tree, ad_scope_keep);
}

/* _scope_keeps(array with one leaf): does it? */
static PyObject *scope_keeps(PyObject *module, PyObject *array)
{
    return PyBool_FromLong(array_check(state_of_module(module), array) &&
                           ad_scope_keeps(array_var((Array *) array)));
}

/* _scope_crossed(): an ADCrossing. */
static PyObject *scope_crossed(PyObject *module, PyObject *unused)
{
    (void) module, (void) unused;
    return PyLong_FromUnsignedLong(ad_scope_crossed());
}

/* _is_leaf(array with one leaf): see ad_is_leaf(). */
static PyObject *is_leaf(PyObject *module, PyObject *array)
{
    return PyBool_FromLong(array_check(state_of_module(module), array) &&
                           ad_is_leaf(array_var((Array *) array)));
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

/* _explain(result, input): arrays with one leaf. */
static PyObject *explain(PyObject *module, PyObject *args)
{
    State *state = state_of_module(module);
    PyObject *a, *b;
    if (!PyArg_ParseTuple(args, "O!O!", state->array_base, &a, state->array_base, &b))
        return NULL;
    return text(ad_explain(array_var((Array *) a), array_var((Array *) b)),
                "explain_grad");
}

/* _depends_beyond(result, inputs): PyTrees. */
static PyObject *depends_beyond(PyObject *module, PyObject *args)
{
    static const char name[] = "ad";
    PyObject *result, *inputs;
    if (!PyArg_ParseTuple(args, "OO", &result, &inputs))
        return NULL;
    Leaves of_result = { .state = state_of_module(module) };
    Leaves of_inputs = { .state = of_result.state };
    int found = -1;
    if (leaves_collect(&of_result, name, result) &&
        leaves_collect(&of_inputs, name, inputs)) {
        found = ad_depends_beyond(of_result.count, of_result.leaves, of_inputs.count,
                                  of_inputs.leaves);
        if (found < 0)
            error_from_core(name, NULL, 0);
    }
    leaves_drop(&of_result);
    leaves_drop(&of_inputs);
    return found < 0 ? NULL : PyBool_FromLong(found);
}

/* _reached(results, inputs): lists of arrays with one leaf; the numbers of inputs. */
static PyObject *reached(PyObject *module, PyObject *args)
{
    static const char name[] = "freeze";
    PyObject *results, *inputs;
    if (!PyArg_ParseTuple(args, "OO", &results, &inputs))
        return NULL;
    Leaves of_results = { .state = state_of_module(module) };
    Leaves of_inputs = { .state = of_results.state };
    PyObject *list = NULL;
    bool *found = NULL;
    if (leaves_collect(&of_results, name, results) &&
        leaves_collect(&of_inputs, name, inputs)) {
        found = PyMem_Calloc(of_inputs.count + 1, sizeof(*found));
        if (!found)
            PyErr_NoMemory();
        else if (!ad_reached(of_results.count, of_results.leaves, of_inputs.count,
                             of_inputs.leaves, found))
            error_from_core(name, NULL, 0);
        else
            list = PyList_New(0);
    }
    for (size_t i = 0; list && i < of_inputs.count; i++) {
        if (found[i] && !list_add(list, PyLong_FromSize_t(i)))
            Py_CLEAR(list);
    }
    PyMem_Free(found);
    leaves_drop(&of_results);
    leaves_drop(&of_inputs);
    return list;
}

/* _has_grad_behind(tree) */
static PyObject *has_grad_behind(PyObject *module, PyObject *tree)
{
    static const char name[] = "freeze";
    Leaves l = { .state = state_of_module(module) };
    int found = -1;
    if (leaves_collect(&l, name, tree)) {
        found = ad_has_grad_behind(l.count, l.leaves);
        if (found < 0)
            error_from_core(name, NULL, 0);
    }
    leaves_drop(&l);
    return found < 0 ? NULL : PyBool_FromLong(found);
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
        return error_raise(PyExc_TypeError, "ad.set_tape_limit", NULL, 0,
                           "'limit' is %R, expected a number of bytes", value);
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
    { "enqueue", METHOD(enqueue), METH_FASTCALL, DOC_enqueue },
    { "_enqueue", METHOD(enqueue_for), METH_FASTCALL,
      "_enqueue(operation, mode, *args)" },
    { "_traverse", traverse, METH_VARARGS, "_traverse(mode, flags)" },
    { "_scope_enter", scope_enter, METH_VARARGS, "_scope_enter(kind, args)" },
    { "_scope_leave", scope_leave, METH_VARARGS, "_scope_leave(kind, go_on)" },
    { "_scope_suspends", scope_suspends, METH_NOARGS, "_scope_suspends()" },
    { "_scope_admit", scope_admit, METH_O, "_scope_admit(tree)" },
    { "_scope_keep", scope_keep, METH_O, "_scope_keep(tree)" },
    { "_scope_keeps", scope_keeps, METH_O, "_scope_keeps(array)" },
    { "_scope_crossed", scope_crossed, METH_NOARGS, "_scope_crossed()" },
    { "_is_leaf", is_leaf, METH_O, "_is_leaf(array)" },
    { "_whos_ad", whos, METH_NOARGS, "_whos_ad()" },
    { "_graphviz_ad", graphviz, METH_NOARGS, "_graphviz_ad()" },
    { "_explain", explain, METH_VARARGS, "_explain(result, input)" },
    { "_depends_beyond", depends_beyond, METH_VARARGS,
      "_depends_beyond(result, inputs)" },
    { "_reached", reached, METH_VARARGS, "_reached(results, inputs)" },
    { "_has_grad_behind", has_grad_behind, METH_O, "_has_grad_behind(tree)" },
    { "_tape_limit", tape_limit, METH_NOARGS, "_tape_limit()" },
    { "_set_tape_limit", set_tape_limit, METH_O, "_set_tape_limit(bytes)" },
    { "_ad_node_count", node_count, METH_NOARGS,
      "_ad_node_count()\n\nNodes of the graph of derivatives there are." },
    { NULL, NULL, 0, NULL },
};
