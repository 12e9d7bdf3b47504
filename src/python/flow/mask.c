/*
 * mask.c -- the mask stack, as far as Python asks for it
 */
#include "python/object/array.h"
#include "python/object/tables.h"

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
    { NULL, NULL, 0, NULL },
};
