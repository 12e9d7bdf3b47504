/*
 * propagate.c -- traversals, scopes, inspection: for drjit._ad
 */
#include "python/ad/leaves.h"
#include "python/object/enums.h"
#include "python/object/error.h"
#include "python/object/tables.h"
#include "python/object/wait.h"

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
        ok = leaves_collect(&l, "enqueue", args[i]);
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
    bool ok = leaves_collect(&l, "suspend_grad", tree) &&
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
    { "_whos_ad", whos, METH_NOARGS, "_whos_ad()" },
    { "_graphviz_ad", graphviz, METH_NOARGS, "_graphviz_ad()" },
    { "_tape_limit", tape_limit, METH_NOARGS, "_tape_limit()" },
    { "_set_tape_limit", set_tape_limit, METH_O, "_set_tape_limit(bytes)" },
    { "_ad_node_count", node_count, METH_NOARGS,
      "_ad_node_count()\n\nNodes of the graph of derivatives there are." },
    { NULL, NULL, 0, NULL },
};
