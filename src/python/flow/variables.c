/*
 * variables.c -- lists of variables: see tracker.h
 */
#include "python/flow/tracker.h"

bool variables_append(Variables *variables, VarIndex id)
{
    if (variables->count == variables->capacity) {
        size_t capacity = variables->capacity ? 2 * variables->capacity : 8;
        VarIndex *ids = PyMem_Realloc(variables->ids, capacity * sizeof(*ids));
        if (!ids)
            return PyErr_NoMemory();
        variables->ids = ids;
        variables->capacity = capacity;
    }
    variables->ids[variables->count++] = var_ref(id);
    return true;
}

void variables_drop(Variables *variables)
{
    for (size_t i = 0; i < variables->count; i++)
        var_unref(variables->ids[i]);
    PyMem_Free(variables->ids);
    *variables = (Variables){ 0 };
}
