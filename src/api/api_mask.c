/*
 * api_mask.c -- the mask stack
 */
#include "trace/graph/mask.h"

#include "api/api.h"
#include "base/error.h"
#include "trace/array/array.h"
#include "trace/graph/current.h"

bool jit_var_mask_push(JitBackend backend, uint32_t mask)
{
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = current_device(ts, backend, "jit_var_mask_push()") && mask_push(ts, mask);
    api_leave();
    return ok;
}

bool jit_var_mask_pop(JitBackend backend)
{
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = current_device(ts, backend, "jit_var_mask_pop()") && mask_pop(ts);
    api_leave();
    return ok;
}

uint32_t jit_var_mask_peek(JitBackend backend)
{
    (void) backend; /* the stack belongs to the thread */
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = mask_top(ts);
    if (result)
        var_inc(result);
    api_leave();
    return result;
}

uint32_t jit_var_mask_default(JitBackend backend, size_t size)
{
    static const char *const function = "jit_var_mask_default()";
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    const Device *device = current_device(ts, backend, function);
    uint32_t result = 0;
    if (device && node_size_valid(size, function))
        result = node_literal(ts, device->index, VarTypeBool, 1, (uint32_t) size);
    api_leave();
    return result;
}

/* The mask with that of the stack, as wide as asked. */
static VarId apply(ThreadState *ts, VarId mask, size_t size)
{
    static const char *const function = "jit_var_mask_apply()";
    TRY(node_size_valid(size, function), 0);
    if (mask)
        TRY(node_usable(ts, mask, function, "the mask"), 0);
    if (mask && var_get(mask)->type != VarTypeBool)
        return (VarId) error_set(JIT_ERROR_ARGUMENT, "%s: the mask is %s, expected "
                                 "bool", function,
                                 type_info[var_get(mask)->type].name);
    VarId like = mask ? mask : mask_top(ts);
    uint8_t device = like ? var_get(like)->device : current_any(ts)->index;
    VarId wide = node_literal(ts, device, VarTypeBool, 1, (uint32_t) size);
    TRY(wide, 0);
    VarId narrow = mask_apply(ts, device, mask, wide, function);
    var_dec(wide);
    TRY(narrow, 0);
    uint32_t found = var_lanes_of(narrow);
    VarId result = 0;
    if (found == 1 || found == size)
        result = array_resize(ts, narrow, size);
    else
        error_set(JIT_ERROR_ARGUMENT, "%s: the mask has %u entries, expected 1 or %zu",
                  function, node_number(ts, narrow), size);
    var_dec(narrow);
    return result;
}

uint32_t jit_var_mask_apply(uint32_t mask, size_t size)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = apply(ts, mask, size);
    api_leave();
    return result;
}
