/*
 * mask.c -- the mask stack of drjit._flow.regions
 */
#include "python/flow/construct.h"
#include "python/object/error.h"
#include "python/object/tables.h"

static const char operation[] = "_flow.regions.masked";

/* From here on, 'mask' and what was on top before; with None, no restriction. */
static PyObject *mask_push(PyObject *module, PyObject *mask)
{
    State *state = state_of_module(module);
    uint32_t id = mask == Py_None ? 0 : construct_lanes(state, operation, mask);
    if (!id && mask != Py_None)
        return NULL;
    JitBackend backend = type_backend(state);
    uint32_t top = id ? jit_var_mask_peek(backend) : 0;
    uint32_t both = top  ? jit_var_and(id, top)
                    : id ? jit_var_inc_ref(id)
                         : jit_var_mask_default(backend, 1);
    bool ok = both && jit_var_mask_push(backend, both);
    jit_var_dec_ref(id);
    jit_var_dec_ref(top);
    jit_var_dec_ref(both);
    if (!ok)
        return error_from_core(operation, NULL, 0);
    Py_RETURN_NONE;
}

static PyObject *mask_pop(PyObject *module, PyObject *unused)
{
    (void) unused;
    if (!jit_var_mask_pop(type_backend(state_of_module(module))))
        return error_from_core(operation, NULL, 0);
    Py_RETURN_NONE;
}

static PyObject *is_recording(PyObject *module, PyObject *unused)
{
    (void) unused;
    const uint32_t top = jit_var_mask_peek(type_backend(state_of_module(module)));
    const bool symbolic = top && jit_var_state(top) == VarStateSymbolic;
    jit_var_dec_ref(top);
    return PyBool_FromLong(symbolic);
}

PyMethodDef mask_functions[] = {
    { "_is_recording", is_recording, METH_NOARGS,
      "_is_recording()\n\nIs a loop, conditional or call being recorded?" },
    { "_mask_push", mask_push, METH_O, "_mask_push(mask)\n\nsee drjit._flow.regions" },
    { "_mask_pop", mask_pop, METH_NOARGS, "_mask_pop()\n\nsee drjit._flow.regions" },
    { NULL, NULL, 0, NULL },
};
