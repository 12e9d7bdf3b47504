/*
 * reduce.c -- reductions, scans, sorting, aggregation
 */
#include "device/cpu/reduce.h"

#include "api/api.h"
#include "base/error.h"
#include "device/cpu/mkperm.h"
#include "device/cpu/transfer.h"
#include "trace/array/reduction.h"
#include "trace/eval/history.h"
#include "trace/graph/node.h"

uint32_t jit_var_all(uint32_t index)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = reduction_all(ts, index);
    api_leave();
    return result;
}

uint32_t jit_var_any(uint32_t index)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = reduction_any(ts, index);
    api_leave();
    return result;
}

uint32_t jit_var_reduce(uint32_t index, ReduceOp op)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    size_t size = var_exists(index) ? var_get(index)->size : 1;
    uint32_t result = reduction_reduce(ts, op, index, size, "jit_var_reduce()");
    api_leave();
    return result;
}

uint32_t jit_var_reduce_dot(uint32_t a, uint32_t b)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = reduction_dot(ts, a, b);
    api_leave();
    return result;
}

uint32_t jit_var_block_reduce(ReduceOp op, uint32_t index, size_t block_size)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result =
        reduction_reduce(ts, op, index, block_size, "jit_var_block_reduce()");
    api_leave();
    return result;
}

uint32_t jit_var_block_prefix_reduce(ReduceOp op, uint32_t index, size_t block_size,
                                     int exclusive, int reverse)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = reduction_prefix(ts, op, index, block_size, exclusive != 0,
                                       reverse != 0);
    api_leave();
    return result;
}

uint32_t jit_var_sort(uint32_t index, size_t block_size, int descending)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = reduction_sort(ts, index, block_size, descending != 0, false);
    api_leave();
    return result;
}

uint32_t jit_var_argsort(uint32_t index, size_t block_size, int descending)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = reduction_sort(ts, index, block_size, descending != 0, true);
    api_leave();
    return result;
}

bool jit_reduce_identity(VarType type, ReduceOp op, uint64_t *bits)
{
    if (!bits)
        return api_null("jit_reduce_identity()", "bits");
    uint64_t neutral;
    if (!type_valid(type) || (unsigned) op >= ReduceOpCount ||
        !reduce_identity(op, type, &neutral))
        return error_set(JIT_ERROR_ARGUMENT,
                         "jit_reduce_identity(): reduction %d is not "
                         "defined for type %d",
                         (int) op, (int) type);
    *bits = neutral;
    return true;
}

uint32_t jit_block_mkperm(JitBackend backend, const uint32_t *values, uint32_t size,
                          uint32_t block_size, uint32_t bucket_count, uint32_t *perm,
                          uint32_t *offsets, bool *ok)
{
    static const char function[] = "jit_block_mkperm()";
    bool success = false;
    uint32_t unique = 0;
    ThreadState *ts = state_thread();
    if (!values || !perm) {
        api_null(function, values ? "perm" : "values");
    } else if (!ts || !node_backend_valid(backend, function)) {
        /* error recorded */
    } else if (!size || !block_size || size % block_size || !bucket_count) {
        error_set(JIT_ERROR_ARGUMENT,
                  "%s: size is %u, block_size %u, bucket_count %u; "
                  "expected positive numbers, block_size a divisor of size",
                  function, size, block_size, bucket_count);
    } else {
        uint64_t ns = 0;
        success = mkperm_run(ts->stream, values, size, block_size, bucket_count, perm,
                             offsets, &unique, &ns);
        if (success && state_flag(ts, JitFlagKernelHistory)) {
            KernelHistoryEntry entry = { .backend = backend,
                                         .type = KernelTypeMkPerm,
                                         .size = size,
                                         .input_count = 1,
                                         .output_count = 1 };
            history_finish(history_add(&entry), ns);
        }
    }
    if (ok)
        *ok = success;
    return offsets ? unique : 0;
}

bool jit_aggregate(JitBackend backend, void *dst, const AggregationEntry *entries,
                   uint32_t count)
{
    if (!dst || (count && !entries))
        return api_null("jit_aggregate()", dst ? "entries" : "dst");
    ThreadState *ts = state_thread();
    TRY(ts, false);
    TRY(node_backend_valid(backend, "jit_aggregate()"), false);
    for (uint32_t i = 0; i < count; ++i) {
        int32_t size = entries[i].size;
        if (size != 1 && size != 2 && size != 4 && size != 8 && size >= 0)
            return error_set(JIT_ERROR_ARGUMENT,
                             "jit_aggregate(): entry %u has size %d, "
                             "expected 1, 2, 4, 8 or a negative number",
                             i, size);
        if (size < 0 && !entries[i].src)
            return error_set(JIT_ERROR_ARGUMENT,
                             "jit_aggregate(): entry %u has size %d and "
                             "src NULL, expected an address",
                             i, size);
    }
    return transfer_aggregate(ts->stream, dst, entries, count,
                              history_report(ts, KernelTypeAggregate, count, count));
}
