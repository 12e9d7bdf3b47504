/*
 * reduction.c -- see reduction.h
 */
#include "trace/array/reduction.h"

#include "base/error.h"
#include "device/cpu/reduce.h"
#include "device/cpu/scan.h"
#include "device/cpu/sort.h"
#include "trace/array/array.h"
#include "trace/array/memory.h"
#include "trace/eval/evaluate.h"
#include "trace/eval/history.h"
#include "trace/graph/arith.h"

/* A history entry for a primitive, NULL unless the thread keeps a history. */
static HistoryEntry *record(const ThreadState *ts, KernelType type, uint32_t size,
                            uint32_t inputs)
{
    if (!state_flag(ts, JitFlagKernelHistory))
        return NULL;
    KernelHistoryEntry entry = { .backend = JitBackendLLVM, .type = type, .size = size,
                                 .input_count = inputs, .output_count = 1 };
    return history_add(&entry);
}

static bool check_reduction(VarId id, ReduceOp op, size_t block, const char *function)
{
    const Var *v = var_get(id);
    if ((unsigned) op >= ReduceOpCount || op == ReduceOpIdentity ||
        !reduce_supported(op, (VarType) v->type))
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: reduction %d is not defined for type %s", function,
                         (int) op, type_info[v->type].name);
    if (block == 0 || v->size % block)
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: the block size is %zu, expected a divisor "
                         "of the size %u",
                         function, block, v->size);
    return true;
}

/* An array in memory; 'id' stays evaluated for the next reduction of it. */
static Buffer *input(ThreadState *ts, VarId id)
{
    TRY(evaluate_var(ts, id), NULL);
    return var_get(id)->value.buffer;
}

VarId reduction_reduce(ThreadState *ts, ReduceOp op, VarId id, size_t block,
                       const char *function)
{
    TRY(node_usable(ts, id, function, "the variable"), 0);
    TRY(check_reduction(id, op, block, function), 0);
    if (block == 1) {
        var_inc(id);
        return id;
    }
    VarType type = (VarType) var_get(id)->type;
    uint32_t size = var_get(id)->size, count = (uint32_t) (size / block);
    Buffer *in = input(ts, id);
    TRY(in, 0);
    Buffer *out = buffer_get((size_t) count * type_info[type].size);
    TRY(out, 0);
    HistoryEntry *entry = record(ts, KernelTypeBlockReduce, size, 1);
    VarId result = 0;
    if (reduce_submit(ts->stream, op, type, in, size, block, out,
                      entry ? history_finish : NULL, entry))
        result = node_buffer(ts, JitBackendLLVM, type, count, out);
    else
        history_finish(entry, 0);
    if (!result)
        buffer_release(out);
    return result;
}

/* Literals and single entries need no pass over memory. */
static VarId reduce_mask(ThreadState *ts, VarId id, ReduceOp op, const char *function)
{
    TRY(node_usable(ts, id, function, "the mask"), 0);
    const Var *v = var_get(id);
    if (v->type != VarTypeBool)
        return (VarId) error_set(JIT_ERROR_ARGUMENT,
                                 "%s: the mask is %s, expected bool", function,
                                 type_info[v->type].name);
    if (v->op == OP_LITERAL)
        return node_literal(ts, (JitBackend) v->backend, VarTypeBool, v->value.literal,
                            1);
    return reduction_reduce(ts, op, id, v->size, function);
}

VarId reduction_all(ThreadState *ts, VarId id)
{
    return reduce_mask(ts, id, ReduceOpAnd, "jit_var_all()");
}

VarId reduction_any(ThreadState *ts, VarId id)
{
    return reduce_mask(ts, id, ReduceOpOr, "jit_var_any()");
}

VarId reduction_dot(ThreadState *ts, VarId a, VarId b)
{
    const char *function = "jit_var_reduce_dot()";
    TRY(node_usable(ts, a, function, "operand 1"), 0);
    TRY(node_usable(ts, b, function, "operand 2"), 0);
    VarType type = (VarType) var_get(a)->type;
    if (!type_info[type].is_float || var_get(b)->type != type)
        return (VarId) error_set(JIT_ERROR_ARGUMENT,
                                 "%s: operands are %s and %s, expected "
                                 "one floating point type",
                                 function, type_info[type].name,
                                 type_info[var_get(b)->type].name);
    VarId both[] = { a, b };
    uint32_t size;
    TRY(node_common_size(both, 2, function, &size), 0);
    TRY(evaluate_schedule(ts, a, NULL), 0); /* one kernel computes both if it can */
    TRY(evaluate_schedule(ts, b, NULL), 0);
    Buffer *in_a = input(ts, a), *in_b = in_a ? input(ts, b) : NULL;
    TRY(in_b, 0);
    Buffer *out = buffer_get(type_info[type].size);
    TRY(out, 0);
    HistoryEntry *entry = record(ts, KernelTypeDot, size, 2);
    VarId result = 0;
    if (reduce_dot_submit(ts->stream, type, in_a, var_get(a)->size == 1, in_b,
                          var_get(b)->size == 1, size, out,
                          entry ? history_finish : NULL, entry))
        result = node_buffer(ts, JitBackendLLVM, type, 1, out);
    else
        history_finish(entry, 0);
    if (!result)
        buffer_release(out);
    return result;
}

VarId reduction_prefix(ThreadState *ts, ReduceOp op, VarId id, size_t block,
                       bool exclusive, bool reverse)
{
    const char *function = "jit_var_block_prefix_reduce()";
    TRY(node_usable(ts, id, function, "the variable"), 0);
    TRY(check_reduction(id, op, block, function), 0);
    VarType type = (VarType) var_get(id)->type;
    uint32_t size = var_get(id)->size;
    if (block == 1 && !exclusive) {
        var_inc(id);
        return id;
    }
    Buffer *in = input(ts, id);
    TRY(in, 0);
    Buffer *out = buffer_get((size_t) size * type_info[type].size);
    TRY(out, 0);
    HistoryEntry *entry = record(ts, KernelTypeBlockPrefixReduce, size, 1);
    VarId result = 0;
    if (scan_submit(ts->stream, op, type, in, size, block, exclusive, reverse, out,
                    entry ? history_finish : NULL, entry))
        result = node_buffer(ts, JitBackendLLVM, type, size, out);
    else
        history_finish(entry, 0);
    if (!result)
        buffer_release(out);
    return result;
}

VarId reduction_sort(ThreadState *ts, VarId id, size_t block, bool descending,
                     bool positions)
{
    const char *function = positions ? "jit_var_argsort()" : "jit_var_sort()";
    TRY(node_usable(ts, id, function, "the variable"), 0);
    const Var *v = var_get(id);
    VarType type = (VarType) v->type, result_type = positions ? VarTypeUInt32 : type;
    JitBackend backend = (JitBackend) v->backend;
    uint32_t size = v->size;
    if (!sort_supported(type))
        return (VarId) error_set(JIT_ERROR_ARGUMENT, "%s: not defined for type %s",
                                 function, type_info[type].name);
    if (block == 0)
        block = size;
    if (size % block)
        return (VarId) error_set(JIT_ERROR_ARGUMENT,
                                 "%s: the block size is %zu, expected 0 or a divisor "
                                 "of the size %u",
                                 function, block, size);
    if (block == 1 || v->op == OP_LITERAL) { /* sorted already */
        if (positions)
            return array_counter(ts, backend, size);
        var_inc(id);
        return id;
    }
    Buffer *in = input(ts, id);
    TRY(in, 0);
    Buffer *out = buffer_get((size_t) size * type_info[result_type].size);
    TRY(out, 0);
    HistoryEntry *entry = record(ts, KernelTypeMkPerm, size, 1);
    VarId result = 0;
    if (sort_submit(ts->stream, type, in, size, block, descending, positions, out,
                    entry ? history_finish : NULL, entry))
        result = node_buffer(ts, backend, result_type, size, out);
    else
        history_finish(entry, 0);
    if (!result)
        buffer_release(out);
    return result;
}

VarId reduction_compress(ThreadState *ts, VarId mask)
{
    const char *function = "jit_var_compress()";
    TRY(node_usable(ts, mask, function, "the mask"), 0);
    const Var *v = var_get(mask);
    JitBackend backend = (JitBackend) v->backend;
    if (v->type != VarTypeBool)
        return (VarId) error_set(JIT_ERROR_ARGUMENT,
                                 "%s: the mask is %s, expected bool", function,
                                 type_info[v->type].name);
    if (v->op == OP_LITERAL && v->value.literal)
        return array_counter(ts, backend, v->size);
    uint32_t size = v->size, count = 0;
    if (v->op == OP_LITERAL)
        return node_buffer(ts, backend, VarTypeUInt32, 0, NULL);
    if (state_flag(ts, JitFlagForbidSynchronization))
        return (VarId) error_set(JIT_ERROR_STATE,
                                 "%s: has to wait for its result, which "
                                 "JitFlagForbidSynchronization forbids",
                                 function);
    Buffer *in = input(ts, mask);
    TRY(in, 0);
    Buffer *out = buffer_get((size_t) size * sizeof(uint32_t));
    TRY(out, 0);
    HistoryEntry *entry = record(ts, KernelTypeCompress, size, 1);
    uint64_t ns = 0;
    var_inc(mask);
    state_unlock(); /* it waits */
    bool ok = scan_compress(ts->stream, in, size, out, &count, &ns);
    state_lock();
    var_dec(mask);
    history_finish(entry, ns);
    VarId result = 0;
    if (ok && count)
        result = node_buffer(ts, backend, VarTypeUInt32, count, out);
    else if (ok)
        result = node_buffer(ts, backend, VarTypeUInt32, 0, NULL);
    if (!result || !count)
        buffer_release(out);
    return result;
}
