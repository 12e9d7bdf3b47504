/*
 * evaluate.c -- waiting without the GIL
 */
#include "python/evaluate.h"

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
