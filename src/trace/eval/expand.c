/*
 * expand.c -- see expand.h
 */
#include "trace/eval/expand.h"

#include "base/error.h"
#include "base/vec.h"
#include "ir/reduce_rule.h"
#include "trace/eval/evaluate.h"
#include "trace/eval/work.h"
#include "trace/graph/node.h"

/* Targets that have copies; weak: an entry is dropped when its target has none any
 * more. */
static VarId *targets;
static uint32_t target_count, target_capacity;

static uint32_t stride_of(uint32_t size)
{
    return (size + 63) / 64 * 64; /* no two workers share a cache line */
}

/* Entries of all copies. */
static uint64_t entries_for(const Var *target)
{
    Device *device = work_device((JitBackend) target->backend);
    return (uint64_t) stride_of(target->size) * device->workers(device);
}

bool expand_pays(const Var *target, uint64_t lanes)
{
    uint64_t entries = entries_for(target);
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
    if (!reduce_rule_identity(op, type, &identity)) {
        error_set(JIT_ERROR_UNSUPPORTED, "jit_var_scatter(): no such reduction for %s",
                  type_info[type].name);
        return 0;
    }
    Buffer *buffer = buffer_get(work_device((JitBackend) target->backend),
                                (size_t) entries * type_info[type].size);
    TRY(buffer, 0);
    VarId id = 0;
    if (work_fill(ts, buffer, identity, type_info[type].size) &&
        work_copy(ts, target->value.buffer, 0, buffer, 0,
                  (size_t) target->size * type_info[type].size))
        id = node_buffer(ts, (JitBackend) target->backend, type, entries, buffer);
    if (!id)
        buffer_release(buffer);
    return id;
}

VarId expand_get(ThreadState *ts, VarId target, ReduceOp op, uint32_t *stride,
                 bool *fits)
{
    const Var *v = var_get(target);
    VarId known = expand_copies_of(target);
    uint64_t entries = entries_for(v);
    *fits = entries <= INT32_MAX;
    if (known && extra_find(v)->expanded_op == op && var_get(known)->size == entries) {
        *stride = stride_of(v->size);
        return known;
    }
    if (*fits && var_pending(v)) /* writes of other kinds, queued before, come first */
        TRY(evaluate_pending(ts, target), 0);
    return expand_make(ts, target, op, stride, fits);
}

VarId expand_make(ThreadState *ts, VarId target, ReduceOp op, uint32_t *stride,
                  bool *fits)
{
    Var *v = var_get(target);
    *stride = stride_of(v->size);
    uint64_t entries = entries_for(v);
    *fits = entries <= INT32_MAX; /* the index may be signed */
    TRY(*fits, 0);
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

/* If memory is out, the copies stay, and whoever reads the target tries again. */
bool expand_collapse(ThreadState *ts, VarId target)
{
    Var *v = var_get(target);
    Extra *extra = extra_find(v);
    VarId copies = extra->expanded;
    const Var *c = var_get(copies);
    const Buffer *from = c->value.buffer, *to = v->value.buffer;
    uint32_t stride = stride_of(v->size);
    Command *command = command_create(to->device, COMMAND_COMBINE, v->size, 2, 0);
    TRY(command, false);
    command_set_slot(command, 0, c->value.buffer, 0, from->size, SLOT_READ);
    command_set_slot(command, 1, v->value.buffer, 0, to->size, SLOT_WRITE);
    command->combine.op = (ReduceOp) extra->expanded_op;
    command->combine.type = (VarType) v->type;
    command->combine.stride = stride;
    command->combine.copies = c->size / stride;
    TRY(work_submit(ts, command), false);
    extra->expanded = 0;
    v->pending--;
    extra_find(c)->expanded_of = 0;
    var_dec(copies);
    return true;
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
        if (!var_get(copies)->pending && expand_collapse(ts, target))
            continue;
        ok &= var_get(copies)->pending != 0;
        targets[kept++] = target;
    }
    target_count = kept;
    return ok;
}
