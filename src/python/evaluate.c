/*
 * evaluate.c -- waiting without the GIL
 */
#include "python/evaluate.h"

#include "python/error.h"
#include "python/promote.h"
#include "python/wait.h"

bool evaluate_read(uint32_t index, size_t offset, void *entry)
{
    bool ok;
    jit_var_inc_ref(index);
    WAIT_BEGIN
    ok = jit_var_read(index, offset, entry);
    jit_var_dec_ref(index);
    WAIT_END
    return ok;
}

bool evaluate_data(uint32_t index, uint32_t *evaluated, void **data)
{
    *evaluated = 0;
    *data = NULL;
    if (!index)
        return true;
    jit_var_inc_ref(index);
    WAIT_BEGIN
    *evaluated = jit_var_data(index, data);
    if (*evaluated && !jit_sync_thread()) {
        jit_var_dec_ref(*evaluated);
        *evaluated = 0;
    }
    jit_var_dec_ref(index);
    WAIT_END
    return *evaluated;
}

bool evaluate_scheduled(void)
{
    bool ok;
    WAIT_BEGIN
    ok = jit_eval();
    WAIT_END
    return ok;
}

static bool evaluate_writes_into_leaf(uint32_t index)
{
    bool ok;
    if (!index || jit_var_state(index) != VarStateDirty)
        return true;
    jit_var_inc_ref(index);
    WAIT_BEGIN
    ok = jit_var_eval_writes(index);
    jit_var_dec_ref(index);
    WAIT_END
    return ok;
}

bool evaluate_writes_into(const char *operation, PyObject *const *args, Py_ssize_t n)
{
    for (Py_ssize_t k = 0; k < n; k++) {
        const Array *a = args[k] ? promote_array(args[k]) : NULL;
        for (size_t i = 0; a && a->info->jit && i < array_count(a); i++)
            if (!evaluate_writes_into_leaf(leaf_index(array_leaves(a)[i])))
                return error_from_core(operation, args, n);
    }
    return true;
}

uint32_t evaluate_call(uint32_t (*function)(uint32_t index, void *argument),
                       uint32_t index, void *argument)
{
    uint32_t result;
    jit_var_inc_ref(index);
    WAIT_BEGIN
    result = function(index, argument);
    jit_var_dec_ref(index);
    WAIT_END
    return result;
}
