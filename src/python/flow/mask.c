/*
 * mask.c -- the mask stack, as far as Python asks for it
 */
#include "python/array/array.h"
#include "python/base/error.h"
#include "python/base/tables.h"
#include "python/memory/access.h"

static PyObject *is_recording(PyObject *module, PyObject *unused)
{
    (void) unused;
    (void) module;
    return PyBool_FromLong(jit_flag(JitFlagSymbolicScope));
}

static PyObject *masked(PyObject *module, PyObject *mask)
{
    if (!array_check(state_of_module(module), mask))
        return error_raise(PyExc_TypeError, "_masked", &mask, 1,
                           "expected a mask array");
    const Array *array = (Array *) mask;
    const VarIndex own = access_variable(array);
    const uint32_t all = jit_var_mask_apply(var_jit(own), var_size(own));
    var_unref(own);
    return all ? (PyObject *) array_new_leaf(array->info, var_of(all))
               : error_from_core("_masked", NULL, 0);
}

static PyObject *whole(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs < 2 || !array_check(state_of_module(module), args[0]))
        return error_raise(PyExc_TypeError, "_whole", args, nargs,
                           "expected an array, a function, and its arguments");
    const Array *array = (const Array *) args[0];
    Whole aside = { JitBackendNone, true };
    if (array->info->jit) {
        const VarIndex own = access_variable(array);
        aside = var_whole_begin(own);
        var_unref(own);
    }
    if (!aside.ok)
        return error_from_core("_whole", NULL, 0);
    PyObject *result = PyObject_Vectorcall(args[1], args + 2, (size_t) nargs - 2, NULL);
    var_whole_end(aside);
    return result;
}

PyMethodDef mask_functions[] = {
    { "_is_recording", is_recording, METH_NOARGS,
      "_is_recording()\n\nIs a loop, conditional or call being recorded?" },
    { "_masked", masked, METH_O,
      "_masked(mask)\n\nThe mask, as far as the body that is run lets lanes take "
      "part." },
    { "_whole", (PyCFunction) (void *) whole, METH_FASTCALL,
      "_whole(array, function, ...)\n\nWhat the function returns for these arguments "
      "if the mask of a body that runs at once is set aside meanwhile." },
    { NULL, NULL, 0, NULL },
};
