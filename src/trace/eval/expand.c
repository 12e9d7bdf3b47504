/*
 * expand.c -- see expand.h
 */
#include "trace/eval/expand.h"

#include "base/error.h"
#include "base/vec.h"
#include "device/cpu/pool.h"
#include "device/cpu/reduce.h"
#include "device/cpu/transfer.h"
#include "trace/eval/evaluate.h"
#include "trace/eval/history.h"
#include "trace/graph/node.h"

/* Targets that have copies; weak: an entry is dropped when its target has none any
 * more. */
static VarId *targets;
static uint32_t target_count, target_capacity;

static uint32_t stride_of(uint32_t size)
{
    return (size + 63) / 64 * 64; /* no two workers share a cache line */
}

bool expand_pays(const Var *target, uint64_t lanes)
{
    uint64_t entries = (uint64_t) stride_of(target->size) * pool_worker_bound();
    return target->size <= state.expand_threshold && entries <= 2 * lanes;
}

VarId expand_copies_of(VarId target)
{
    const Extra *extra = extra_find(var_get(target));
    return extra ? extra->expanded : 0;
}

/* A hidden array of copies: the target itself, then neutral elements. */
static VarId make_copies(ThreadState *ts, const Var *target, ReduceOp op,
                         uint32_t entries)
{
    VarType type = (VarType) target->type;
    uint64_t identity;
    if (!reduce_identity(op, type, &identity)) {
        error_set(JIT_ERROR_UNSUPPORTED, "jit_var_scatter(): no such reduction for %s",
                  type_info[type].name);
        return 0;
    }
    Buffer *buffer = buffer_get((size_t) entries * type_info[type].size);
    TRY(buffer, 0);
    VarId id = 0;
    size_t bytes = (size_t) target->size * type_info[type].size;
    if (transfer_fill_buffer(ts->stream, buffer, identity, type_info[type].size,
                             entries,
                             history_report(ts, KernelTypeMemset, entries, 0)) &&
        transfer_copy_buffer(ts->stream, buffer, 0, target->value.buffer, 0, bytes,
                             history_report(ts, KernelTypeMemcpy, bytes, 1)))
        id = node_buffer(ts, (JitBackend) target->backend, type, entries, buffer);
    if (!id)
        buffer_release(buffer);
    return id;
}

VarId expand_get(ThreadState *ts, VarId target, ReduceOp op, uint32_t *stride,
                 bool *fits)
{
    Var *v = var_get(target);
    *stride = stride_of(v->size);
    uint64_t entries = (uint64_t) *stride * pool_worker_bound();
    *fits = entries <= INT32_MAX; /* the index may be signed */
    TRY(*fits, 0);
    VarId known = expand_copies_of(target);
    if (known && extra_find(v)->expanded_op == op && var_get(known)->size == entries)
        return known;
    if (var_pending(v)) /* writes of other kinds, queued before, come first */
        TRY(evaluate_pending(ts, target), 0);
    TRY(vec_reserve(&targets, &target_capacity, target_count + 1, sizeof(VarId)), 0);
    TRY(extra_make(v), 0);
    VarId copies = make_copies(ts, v, op, (uint32_t) entries);
    TRY(copies, 0);
    Extra *mine = extra_make(var_get(copies));
    if (!mine) {
        var_dec(copies);
        return 0;
    }
    mine->expanded_of = target;
    mine->copies = (uint32_t) entries / *stride;
    Extra *extra = extra_find(v);
    extra->expanded = copies;
    extra->expanded_op = (uint8_t) op;
    v->pending++;
    targets[target_count++] = target;
    return copies;
}

bool expand_collapse(ThreadState *ts, VarId target)
{
    Var *v = var_get(target);
    Extra *extra = extra_find(v);
    VarId copies = extra->expanded;
    const Var *c = var_get(copies);
    uint32_t stride = stride_of(v->size);
    bool ok = transfer_combine_copies(ts->stream, (ReduceOp) extra->expanded_op,
                                      (VarType) v->type, c->value.buffer, v->size,
                                      stride, c->size / stride, v->value.buffer);
    extra->expanded = 0;
    v->pending--;
    extra_find(c)->expanded_of = 0;
    var_dec(copies);
    return ok;
}

bool expand_collapse_idle(ThreadState *ts)
{
    bool ok = true;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < target_count; ++i) {
        VarId target = targets[i];
        VarId copies = var_exists(target) ? expand_copies_of(target) : 0;
        if (!copies)
            continue;
        if (var_get(copies)->pending)
            targets[kept++] = target;
        else
            ok &= expand_collapse(ts, target);
    }
    target_count = kept;
    return ok;
}
