/*
 * api_memops.c -- gathers, scatters, reads and writes
 */
#include "api/api.h"
#include "base/error.h"
#include "device/device.h"
#include "ir/reduce_rule.h"
#include "trace/array/array.h"
#include "trace/array/matrix.h"
#include "trace/array/memory.h"
#include "trace/array/reduction.h"

uint32_t jit_var_gather(uint32_t source, uint32_t index, uint32_t mask)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = memory_gather(ts, source, index, mask);
    api_leave();
    return result;
}

bool jit_var_gather_packet(size_t n, uint32_t source, uint32_t index, uint32_t mask,
                           uint32_t *out)
{
    if (!out)
        return api_null("jit_var_gather_packet()", "out");
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = memory_gather_packet(ts, n > UINT32_MAX ? 0 : (uint32_t) n, source, index,
                                   mask, out);
    api_leave();
    return ok;
}

uint32_t jit_var_scatter(uint32_t target, uint32_t value, uint32_t index, uint32_t mask,
                         ReduceOp op, ReduceMode mode)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = memory_scatter(ts, target, value, index, mask, op, mode);
    api_leave();
    return result;
}

uint32_t jit_var_scatter_packet(size_t n, uint32_t target, const uint32_t *values,
                                uint32_t index, uint32_t mask, ReduceOp op,
                                ReduceMode mode)
{
    if (!values)
        return (uint32_t) api_null("jit_var_scatter_packet()", "values");
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = memory_scatter_packet(ts, n > UINT32_MAX ? 0 : (uint32_t) n,
                                            target, values, index, mask, op, mode);
    api_leave();
    return result;
}

bool jit_var_matvec(const JitMatrix *matrix, const uint32_t *x, const uint32_t *add,
                    uint32_t *out)
{
    if (!matrix || !x || !out)
        return api_null("jit_var_matvec()", !matrix ? "matrix" : !x ? "x" : "out");
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = matrix_multiply(ts, matrix, x, add, out);
    api_leave();
    return ok;
}

uint32_t jit_var_outer(const JitMatrix *matrix, const uint32_t *left,
                       const uint32_t *right, uint32_t mask)
{
    if (!matrix || !left || !right)
        return (uint32_t) api_null("jit_var_outer()",
                                   !matrix ? "matrix" : !left ? "left" : "right");
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = matrix_add_outer(ts, matrix, left, right, mask);
    api_leave();
    return result;
}

uint32_t jit_var_scatter_inc(uint32_t *target, uint32_t index, uint32_t mask)
{
    if (!target)
        return (uint32_t) api_null("jit_var_scatter_inc()", "target");
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = memory_scatter_inc(ts, target, index, mask);
    api_leave();
    return result;
}

uint32_t jit_var_scatter_exch(uint32_t *target, uint32_t value, uint32_t index,
                              uint32_t mask)
{
    if (!target)
        return (uint32_t) api_null("jit_var_scatter_exch()", "target");
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = memory_scatter_exch(ts, target, value, index, mask);
    api_leave();
    return result;
}

bool jit_var_scatter_cas(uint32_t *target, uint32_t compare, uint32_t value,
                         uint32_t index, uint32_t mask, uint32_t out[2])
{
    if (!target || !out)
        return api_null("jit_var_scatter_cas()", target ? "out" : "target");
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = memory_scatter_cas(ts, target, compare, value, index, mask, out);
    api_leave();
    return ok;
}

bool jit_var_scatter_add_kahan(uint32_t *target_1, uint32_t *target_2, uint32_t value,
                               uint32_t index, uint32_t mask)
{
    if (!target_1 || !target_2)
        return api_null("jit_var_scatter_add_kahan()",
                        target_1 ? "target_2" : "target_1");
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = memory_scatter_add_kahan(ts, target_1, target_2, value, index, mask);
    api_leave();
    return ok;
}

bool jit_can_scatter_reduce(JitBackend backend, VarType type, ReduceOp op)
{
    if (!device_find(backend, 0) || !type_valid(type) || type == VarTypePointer)
        return false;
    return op == ReduceOpIdentity ||
           ((unsigned) op < ReduceOpCount && reduce_rule_defined(op, type));
}

bool jit_var_read(uint32_t index, size_t offset, void *dst)
{
    if (!dst)
        return api_null("jit_var_read()", "dst");
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = array_read(ts, index, offset, dst);
    api_leave();
    return ok;
}

uint32_t jit_var_write(uint32_t index, size_t offset, const void *src)
{
    if (!src)
        return (uint32_t) api_null("jit_var_write()", "src");
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = array_write(ts, index, offset, src);
    api_leave();
    return result;
}

uint32_t jit_var_data(uint32_t index, void **ptr)
{
    if (!ptr)
        return (uint32_t) api_null("jit_var_data()", "ptr");
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = array_data(ts, index, ptr);
    api_leave();
    return result;
}

uint32_t jit_var_lend(uint32_t index, uint32_t own, void **ptr)
{
    if (!ptr)
        return (uint32_t) api_null("jit_var_lend()", "ptr");
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = array_lend(ts, index, own, ptr);
    api_leave();
    return result;
}

void jit_var_take_back(uint32_t index)
{
    if (!api_enter())
        return;
    if (var_exists(index))
        array_take_back(index);
    api_leave();
}

uint32_t jit_var_compress(uint32_t mask)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = reduction_compress(ts, mask, 0, "jit_var_compress()");
    api_leave();
    return result;
}

uint32_t jit_var_compress_temporary(uint32_t mask, uint32_t refs)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result =
        reduction_compress(ts, mask, refs, "jit_var_compress_temporary()");
    api_leave();
    return result;
}
