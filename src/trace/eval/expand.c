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
#include "trace/graph/watch.h"

/* Targets that have copies; weak: an entry is dropped when its target has none any
 * more. */
static VarId *targets;
static uint32_t target_count, target_capacity;

uint64_t expand_stride(const Var *target)
{
    const uint64_t entries = var_entries(target);
    return (entries + EXPAND_LINE - 1) / EXPAND_LINE * EXPAND_LINE;
}

/* Entries of all copies; 0: its device has no workers that could have one each. */
static uint64_t entries_for(const Var *target)
{
    Device *device = var_device(target);
    return device->workers ? expand_stride(target) * device->workers(device) : 0;
}

bool expand_pays(const Var *target, uint64_t values)
{
    /* Entries for whose filling and folding a write makes up that is not an atomic one;
     * and how many writes there have to be, as few take microseconds in any way. */
    enum { WORTH = 6, LEAST = 8192 };
    uint64_t entries = entries_for(target);
    return values >= LEAST && var_lanes(target) <= state.expand_threshold &&
           entries && entries <= WORTH * values;
}

VarId expand_copies_of(VarId target)
{
    const Extra *extra = extra_find(var_get(target));
    return extra ? extra->expanded : 0;
}

/* Fill all copies but the first one with neutral elements. What is between the target's
 * end and the second copy is never read: it may stay as it is. In a recording, in which
 * commands write whole arrays of whatever size, all of them are filled. */
static bool fill(ThreadState *ts, VarId target, uint64_t identity, Buffer *buffer)
{
    const Var *v = var_get(target);
    uint32_t entry = type_info[v->type].size;
    const size_t second = expand_stride(v) * entry;
    if (watch_records(ts))
        return watcher.copies(ts, target, (uint32_t) (buffer->size / second)) &&
               work_fill(ts, buffer, identity, entry);
    return second == buffer->size ||
           work_fill_rest(ts, buffer, second, identity, entry);
}

/* Let a buffer be a hidden array of copies: the target itself, then neutral elements.
 * It is taken over. */
static VarId make_copies(ThreadState *ts, VarId target, uint64_t identity,
                         uint32_t entries, Buffer *buffer)
{
    const Var *v = var_get(target);
    VarId id = 0;
    if (fill(ts, target, identity, buffer) &&
        work_copy(ts, v->value.buffer, 0, buffer, 0,
                  var_bytes(v)))
        id = node_buffer(ts, v->device, (VarType) v->type, entries, buffer);
    if (!id)
        buffer_release(buffer);
    return id;
}

bool expand_fits(const Var *target)
{
    const uint64_t entries = entries_for(target);
    return entries && entries <= INT32_MAX;
}

Buffer *expand_memory(ThreadState *ts, VarId target)
{
    const Var *v = var_get(target);
    return work_buffer(ts, v->device, entries_for(v) * type_info[v->type].size);
}

VarId expand_get(ThreadState *ts, VarId target, ReduceOp op)
{
    const Var *v = var_get(target);
    VarId known = expand_copies_of(target);
    if (known && extra_find(v)->expanded_op == op &&
        var_lanes_of(known) == entries_for(v))
        return known;
    Buffer *memory = expand_memory(ts, target);
    TRY(memory, 0);
    /* Writes of other kinds, queued before, come first. */
    if (!var_pending(v) || evaluate_pending(ts, target))
        return expand_make(ts, target, op, memory);
    buffer_release(memory);
    return 0;
}

static bool prepare(Var *target, ReduceOp op, uint64_t *identity)
{
    if (!reduce_rule_identity(op, (VarType) target->type, identity))
        return error_set(JIT_ERROR_UNSUPPORTED, "jit_var_scatter(): no such reduction "
                         "for %s", type_info[target->type].name);
    TRY(vec_reserve(&targets, &target_capacity, target_count + 1, sizeof(VarId)),
        false);
    return extra_make(target) != NULL;
}

VarId expand_make(ThreadState *ts, VarId target, ReduceOp op, Buffer *memory)
{
    Var *v = var_get(target);
    uint64_t identity;
    /* There may be more workers by now. */
    uint32_t entries = (uint32_t) (memory->size / type_info[v->type].size);
    if (!prepare(v, op, &identity)) {
        buffer_release(memory);
        return 0;
    }
    VarId copies = make_copies(ts, target, identity, entries, memory);
    TRY(copies, 0);
    Extra *mine = extra_make(var_get(copies));
    if (!mine) {
        var_dec(copies);
        return 0;
    }
    mine->expanded_of = target;
    mine->copies = (uint32_t) (entries / expand_stride(v));
    Extra *extra = extra_find(v);
    extra->expanded = copies;
    extra->expanded_op = (uint8_t) op;
    var_add_pending(v);
    targets[target_count++] = target;
    return copies;
}

/* If out of memory, the copies stay, and the next read of the target tries again. */
bool expand_collapse(ThreadState *ts, VarId target)
{
    Var *v = var_get(target);
    Extra *extra = extra_find(v);
    VarId copies = extra->expanded;
    const Var *c = var_get(copies);
    const Buffer *from = c->value.buffer, *to = v->value.buffer;
    const uint32_t stride = (uint32_t) expand_stride(v); /* expand_fits() */
    Command *command = command_create(to->device, COMMAND_COMBINE, var_lanes(v), 2, 0);
    TRY(command, false);
    watcher.combine(ts, target);
    command_set_slot(command, 0, c->value.buffer, 0, from->size, SLOT_READ);
    command_set_slot(command, 1, v->value.buffer, 0, to->size, SLOT_WRITE);
    command->combine.op = (ReduceOp) extra->expanded_op;
    command->combine.type = (VarType) v->type;
    command->combine.stride = stride;
    command->combine.copies = var_entries(c) / stride;
    TRY(work_submit(ts, command), false);
    extra->expanded = 0;
    var_drop_pending(v);
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
