/*
 * reduction.c -- see reduction.h
 */
#include "trace/array/reduction.h"

#include "base/error.h"
#include "ir/reduce_rule.h"
#include "trace/array/array.h"
#include "trace/array/memory.h"
#include "trace/eval/evaluate.h"
#include "trace/eval/finite.h"
#include "freeze/freezing.h"
#include "trace/eval/work.h"
#include "trace/graph/arith.h"
#include "trace/graph/pending.h"
#include "trace/graph/record.h"

static bool check_reduction(ThreadState *ts, VarId id, ReduceOp op, size_t block,
                            const char *function)
{
    const Var *v = var_get(id);
    if ((unsigned) op >= ReduceOpCount || op == ReduceOpIdentity ||
        !reduce_rule_defined(op, (VarType) v->type))
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: reduction %d is not defined for type %s", function,
                         (int) op, type_info[v->type].name);
    if (block == 0 || var_entries(v) % block)
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: the block size is %zu, expected a divisor "
                         "of the size %u",
                         function, block, node_number(ts, id));
    return true;
}

/* Does the array consist of whole matrices? */
static bool check_axis(ThreadState *ts, VarId id, const ReductionAxis *axis,
                       const char *function)
{
    size_t matrix;
    if (!__builtin_mul_overflow(axis->extent, axis->stride, &matrix) && matrix &&
        var_entries(var_get(id)) % matrix == 0)
        return true;
    return error_set(JIT_ERROR_ARGUMENT,
                     "%s: the axis has %zu entries, which are %zu apart; expected that "
                     "the product divides the size %u",
                     function, axis->extent, axis->stride, node_number(ts, id));
}

/* The same, and can it be reduced? */
static bool check_blocks(ThreadState *ts, ReduceOp op, VarId id,
                         const ReductionAxis *axis, const char *function)
{
    SymSize all = axis->symsizes[0];
    if (axis->stride != 1)
        TRY(check_axis(ts, id, axis, function), false);
    return check_reduction(ts, id, op, axis->extent * axis->stride, function) &&
           (axis->stride == 1 || freezing_times(ts, axis->symsizes[1], &all)) &&
           freezing_divides(ts, id, all);
}

/* A variable like another one, with other entries, whose reference moves. */
static VarId give_buffer(ThreadState *ts, VarId like, uint32_t size, Buffer *entries)
{
    const Var *v = var_get(like);
    VarId id = node_buffer(ts, v->device, (VarType) v->type, size, entries);
    if (!id)
        buffer_release(entries);
    return id;
}

/* What a command writes that combines entries of blocks. */
static VarId block_result(ThreadState *ts, Command *c, VarId id, SymSize block,
                          VarType type, uint32_t size)
{
    if (!freezing_command_block(ts, id, block)) {
        command_free(c);
        return 0;
    }
    return work_result(ts, c, type, size);
}

/* The result of a reduction of entries that were at hand. */
static VarId give_reduced(ThreadState *ts, const VarId *ids, uint32_t count,
                          uint32_t size, Buffer *entries)
{
    FiniteInputs inputs;
    const bool watched = finite_wants(ts, (VarType) var_get(ids[0])->type);
    if (watched)
        finite_hold_vars(&inputs, ids, count);
    VarId id = give_buffer(ts, ids[0], size, entries);
    if (watched)
        finite_check_result(ts, id, &inputs);
    return id;
}

/* Entries that are at hand are reduced at once, since a command would cost several
 * times as much; else 0, without an error. */
static VarId reduce_at_once(ThreadState *ts, ReduceOp op, VarId id, size_t block)
{
    const void *in = work_entries(ts, id);
    TRY(in, 0);
    VarType type = (VarType) var_get(id)->type;
    size_t count = var_entries(var_get(id)) / block;
    Buffer *out = work_buffer_now(id, count * type_info[type].size);
    TRY(out, 0);
    out->device->reduce(op, type, in, block, count, buffer_host(out));
    return give_reduced(ts, &id, 1, (uint32_t) count, out);
}

static VarId dot_at_once(ThreadState *ts, VarId a, VarId b, uint32_t size)
{
    const void *x = work_entries(ts, a), *y = work_entries(ts, b);
    TRY(x && y, 0);
    VarType type = (VarType) var_get(a)->type;
    Buffer *out = work_buffer_now(a, type_info[type].size);
    TRY(out, 0);
    out->device->dot(type, x, var_lanes_of(a) == 1, y, var_lanes_of(b) == 1, size,
                     buffer_host(out));
    return give_reduced(ts, (VarId[]){ a, b }, 2, 1, out);
}

/* May a reduction wait, to be performed with what computes its operands? */
static bool may_wait(const ThreadState *ts, const Var *reduction)
{
    const Var *v = var_get(reduction->dep[0]);
    Device *device = var_device(v);
    bool ok = device->fuses && state_flag(ts, JitFlagFuseReductions) &&
              !record_is_symbolic(ts);
    for (uint32_t i = 0; ok && i < 2 && reduction->dep[i]; ++i) {
        const Var *w = var_get(reduction->dep[i]);
        ok = w->op != OP_LITERAL && w->op != OP_UNDEFINED &&
             var_lanes(w) == var_lanes(v) && !(w->flags & VAR_SYMBOLIC);
    }
    TRY(ok, false);
    const FusedReduction work = pending_work(reduction);
    return device->fuses(device, var_lanes(v), &work, NULL, 0);
}

/* A reduction that was made waits. All that do hold a share of the memory at most. */
static VarId wait_with_others(ThreadState *ts, VarId id)
{
    enum { SHARE = 16 };
    if (!id || var_get(id)->refs > 1) /* an equal one exists */
        return id;
    Device *device = var_device(var_get(id));
    bool ok = pending_note(id, ts->serial);
    if (ok && pending_table.bytes > device->memory(device) / SHARE)
        ok = evaluate_var(ts, id);
    if (ok)
        return id;
    var_dec(id);
    return 0;
}

/* 'symsizes': block and stride, while a function is recorded. */
static VarId reduce_later(ThreadState *ts, Var *reduction, const SymSize *symsizes)
{
    freezing_reduction(ts, reduction, symsizes);
    return wait_with_others(ts, reduction->value.literal
                                    ? node_new(ts, reduction)
                                    : node_operation(ts, reduction->head,
                                                     var_lanes(reduction),
                                                     reduction->dep_pair[0], 0));
}

/* What a command writes that combines entries along an axis. */
static VarId axis_result(ThreadState *ts, Command *c, VarId id,
                         const ReductionAxis *axis, uint32_t size)
{
    VarType type = (VarType) var_get(id)->type;
    c->reduce.type = type;
    c->reduce.block = axis->extent;
    c->reduce.stride = axis->stride;
    if (!freezing_command_block(ts, id, axis->symsizes[0])) {
        command_free(c);
        return 0;
    }
    freezing_stride_extent(ts, 1, axis->symsizes[1]);
    return work_result(ts, c, type, size);
}

/* By a command. */
static VarId reduce_stored(ThreadState *ts, ReduceOp op, VarId id,
                           const ReductionAxis *axis)
{
    uint32_t size = var_entries(var_get(id)), count = (uint32_t) (size / axis->extent);
    size_t bytes = (size_t) count * type_info[var_get(id)->type].size;
    Command *c = work_command(ts, COMMAND_REDUCE, size, &id, 1, &bytes, 1, 0);
    TRY(c, 0);
    c->reduce.op = op;
    return axis_result(ts, c, id, axis, count);
}

VarId reduction_axis(ThreadState *ts, ReduceOp op, VarId id, const ReductionAxis *axis,
                     const char *function)
{
    TRY(node_usable(ts, id, function, "the variable"), 0);
    TRY(check_blocks(ts, op, id, axis, function), 0);
    const size_t block = axis->extent;
    if (block == 1) {
        var_inc(id);
        return id;
    }
    VarId done = axis->stride == 1 ? reduce_at_once(ts, op, id, block) : 0;
    TRY(!done, done);
    Var reduction = pending_reduce(OP_REDUCE, op, &id, 1, (uint32_t) block,
                           (uint32_t) axis->stride);
    return may_wait(ts, &reduction) ? reduce_later(ts, &reduction, axis->symsizes)
                               : reduce_stored(ts, op, id, axis);
}

VarId reduction_reduce(ThreadState *ts, ReduceOp op, VarId id, size_t block,
                       SymSize symsize, const char *function)
{
    return reduction_axis(ts, op, id, &(ReductionAxis){ block, 1, { symsize, 0 } },
                          function);
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
        return node_literal(ts, v->device, VarTypeBool, v->value.literal, 1);
    return reduction_reduce(ts, op, id, var_lanes(v), FREEZING_LANES, function);
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
    VarId done = dot_at_once(ts, a, b, size);
    TRY(!done, done);
    Var reduction = pending_reduce(OP_DOT, ReduceOpIdentity, both, 2, size, 1);
    if (may_wait(ts, &reduction))
        return reduce_later(ts, &reduction, (const SymSize[]){ FREEZING_LANES, 0 });
    uint32_t size_a = var_lanes_of(a), size_b = var_lanes_of(b);
    size_t entry = type_info[type].size;
    Command *c = work_command(ts, COMMAND_DOT, size, both, 2, &entry, 1, 0);
    TRY(c, 0);
    c->slots[0].bytes = size_a * entry;
    c->slots[1].bytes = size_b * entry;
    c->dot.type = type;
    return work_result(ts, c, type, 1);
}

VarId reduction_prefix(ThreadState *ts, ReduceOp op, VarId id,
                       const ReductionAxis *axis, bool exclusive, bool reverse,
                       const char *function)
{
    TRY(node_usable(ts, id, function, "the variable"), 0);
    TRY(check_blocks(ts, op, id, axis, function), 0);
    VarType type = (VarType) var_get(id)->type;
    uint32_t size = var_lanes_of(id);
    if (axis->extent == 1 && !exclusive) {
        var_inc(id);
        return id;
    }
    Var reduction = pending_prefix(id, op, (exclusive ? PREFIX_EXCLUSIVE : 0u) |
                                       (reverse ? PREFIX_REVERSE : 0u),
                           (uint32_t) axis->extent);
    if (axis->stride == 1 && var_get(id)->op != OP_EVALUATED &&
        may_wait(ts, &reduction))
        return reduce_later(ts, &reduction, axis->symsizes);
    size_t bytes = (size_t) size * type_info[type].size;
    Command *c = work_command(ts, COMMAND_PREFIX, size, &id, 1, &bytes, 1, 0);
    TRY(c, 0);
    c->reduce.op = op;
    c->reduce.exclusive = exclusive;
    c->reduce.reverse = reverse;
    return axis_result(ts, c, id, axis, size);
}

VarId reduction_sort(ThreadState *ts, VarId id, size_t block, SymSize symsize,
                     bool descending, bool indices)
{
    const char *function = indices ? "jit_var_argsort()" : "jit_var_sort()";
    TRY(node_usable(ts, id, function, "the variable"), 0);
    const Var *v = var_get(id);
    VarType type = (VarType) v->type, result_type = indices ? VarTypeUInt32 : type;
    uint8_t device = v->device;
    uint32_t size = var_lanes(v);
    if (type == VarTypePointer || !type_valid(type))
        return (VarId) error_set(JIT_ERROR_ARGUMENT, "%s: not defined for type %s",
                                 function, type_info[type].name);
    if (block == 0)
        block = size;
    if (size % block)
        return (VarId) error_set(JIT_ERROR_ARGUMENT,
                                 "%s: the block size is %zu, expected 0 or a divisor "
                                 "of the size %u",
                                 function, block, node_number(ts, id));
    TRY(freezing_divides(ts, id, symsize), 0);
    if (block == 1 || v->op == OP_LITERAL) { /* sorted already */
        if (indices)
            return array_counter(ts, device, size);
        var_inc(id);
        return id;
    }
    size_t bytes = (size_t) size * type_info[result_type].size;
    Command *c = work_command(ts, COMMAND_SORT, size, &id, 1, &bytes, 1, 0);
    TRY(c, 0);
    c->sort.type = type;
    c->sort.block = block;
    c->sort.descending = descending;
    c->sort.indices = indices;
    return block_result(ts, c, id, symsize, result_type, size);
}

bool reduction_count(ThreadState *ts, Command *c, uint32_t slot, uint32_t *count,
                     const char *function)
{
    Buffer *number = c->slots[slot].buffer;
    buffer_retain(number);
    bool ok = work_perform(ts, c) && work_wait(ts, number, function) &&
              buffer_read(number, 0, count, sizeof *count);
    buffer_release(number);
    return ok;
}

static Buffer *compress_at_once(ThreadState *ts, VarId mask, uint32_t *count)
{
    const uint8_t *bits = work_entries(ts, mask);
    uint32_t size = var_lanes_of(mask);
    Buffer *out = bits ? work_buffer_now(mask, size * sizeof(uint32_t)) : NULL;
    TRY(out, NULL);
    uint32_t *indices = buffer_host(out);
    for (uint32_t i = 0; i < size; ++i) {
        indices[*count] = i; /* the next one takes its place if this bit is not set */
        *count += bits[i] != 0;
    }
    return out;
}

/* Is there a kernel to come that computes the mask and can compress it? */
static bool computes_mask(const ThreadState *ts, VarId mask)
{
    const Var *v = var_get(mask), reduction = { .op = OP_COMPRESS, .dep = { mask } };
    return v->op != OP_EVALUATED && var_lanes(v) < UINT32_MAX &&
           may_wait(ts, &reduction);
}

/* The indices of the set bits, and where their number is. */
typedef struct Compressed {
    Buffer *indices, *number; /* references */
    VarId place; /* 'number' has it after as many entries as this has; 0: at once */
    uint32_t count;
} Compressed;

/* By that kernel; the number comes after the indices. */
static bool compress_computed(ThreadState *ts, VarId mask, uint32_t spare,
                              Compressed *out, const char *function)
{
    const Var *v = var_get(mask);
    uint32_t size = var_lanes(v);
    const VarId deps[4] = { mask };
    VarId all = node_raw(ts, OP_COMPRESS, v->device, VarTypeUInt32, size + 1, spare,
                         deps);
    TRY(all, NULL);
    if (pending_note(all, ts->serial) && evaluate_var(ts, all)) {
        out->indices = out->number = var_get(all)->value.buffer;
        buffer_retain(out->indices);
        buffer_retain(out->number);
    }
    var_dec(all);
    TRY(out->number && work_wait(ts, out->number, function), false);
    TRY(buffer_read(out->number, (size_t) size * sizeof out->count, &out->count,
                    sizeof out->count), false);
    out->place = mask;
    return true;
}

/* By a command. */
static bool compress_stored(ThreadState *ts, VarId mask, Compressed *out,
                            const char *function)
{
    uint32_t size = var_lanes_of(mask);
    const size_t bytes[] = { (size_t) size * sizeof(uint32_t), sizeof(uint32_t) };
    Command *c = work_command(ts, COMMAND_COMPRESS, size, &mask, 1, bytes, 2, 0);
    TRY(c, false);
    out->indices = c->slots[1].buffer;
    out->number = c->slots[2].buffer;
    buffer_retain(out->indices);
    buffer_retain(out->number);
    return reduction_count(ts, c, 2, &out->count, function);
}

/* The indices as a variable. */
static VarId give_indices(ThreadState *ts, uint8_t device, Compressed *from)
{
    VarId id = node_buffer(ts, device, VarTypeUInt32, from->count,
                           from->count ? from->indices : NULL);
    TRY(id, 0);
    if (from->count)
        from->indices = NULL; /* the reference has moved */
    if (!from->number || freezing_count(ts, id, from->number, from->place))
        return id;
    var_dec(id);
    return 0;
}

VarId reduction_compress(ThreadState *ts, VarId mask, uint32_t spare,
                         const char *function)
{
    TRY(node_usable(ts, mask, function, "the mask"), 0);
    const Var *v = var_get(mask);
    uint8_t device = v->device;
    if (v->type != VarTypeBool)
        return (VarId) error_set(JIT_ERROR_ARGUMENT,
                                 "%s: the mask is %s, expected bool", function,
                                 type_info[v->type].name);
    if (v->op == OP_LITERAL && v->value.literal)
        return array_counter(ts, device, var_lanes(v));
    if (v->op == OP_LITERAL)
        return node_buffer(ts, device, VarTypeUInt32, 0, NULL);
    if (state_flag(ts, JitFlagForbidSynchronization))
        return (VarId) error_set(JIT_ERROR_STATE,
                                 "%s: has to wait for its result, which "
                                 "JitFlagForbidSynchronization forbids",
                                 function);
    Compressed out = { 0 };
    out.indices = compress_at_once(ts, mask, &out.count);
    bool ok = out.indices ||
              (computes_mask(ts, mask)
                   ? compress_computed(ts, mask, spare, &out, function)
                   : compress_stored(ts, mask, &out, function));
    VarId result = ok ? give_indices(ts, device, &out) : 0;
    buffer_release(out.indices);
    buffer_release(out.number);
    return result;
}
