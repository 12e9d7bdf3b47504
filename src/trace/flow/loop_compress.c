/*
 * loop_compress.c -- loops that are run at once, with JitFlagCompressLoops: lanes that
 * are done are taken out of the states
 *
 *     lanes      4 0 1 2 3 5          'lanes' names those that are left
 *     active     1 0 1 0 1 0
 *     kept       0 2 4                indices of the active ones
 *                  |
 *     state  <- state[kept],  lanes <- lanes[kept],  active <- true
 *
 * A state that has an entry for each lane, or that changes, has an array 'full' with
 * the entries of all lanes that there were. Lanes that are taken out leave theirs
 * there, and those that are left when the loop ends do the same.
 *
 * The first iteration runs with all lanes. It tells which states the body uses as
 * arrays, by gathers and scatters: if one of these has as many entries as there are
 * lanes, nothing can be taken out. At least two lanes are left, one of them masked if
 * need be, so that an array of another size beside the states is found to be wrong.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "trace/array/array.h"
#include "trace/array/memory.h"
#include "trace/array/reduction.h"
#include "trace/flow/loop.h"
#include "trace/graph/arith.h"

/* Put another variable, which is given away, in the place of one. False if there is
 * none. */
static bool replace(VarId *place, VarId id)
{
    TRY(id, false);
    var_clear(place);
    *place = id;
    return true;
}

static VarId literal(ThreadState *ts, const Loop *loop, VarType type, uint64_t bits,
                     uint32_t size)
{
    return node_literal(ts, loop->body.device, type, bits, size);
}

bool loop_compress_find(ThreadState *ts, Loop *loop, VarId active, bool *any)
{
    var_clear(&loop->kept);
    VarId kept = reduction_compress(ts, active, 0, "jit_var_loop_compress()");
    TRY(kept, false);
    *any = var_lanes_of(kept) != 0;
    if (*any && var_lanes_of(active) != 1)
        loop->kept = kept;
    else
        var_dec(kept);
    return true;
}

/* ---------------------------------------------------------- entries of all lanes */

/* Write the state of the lanes in the mask (0: all) to where they are in 'full'. */
static bool put_back(ThreadState *ts, const Loop *loop, LoopState *s, VarId mask)
{
    TRY(replace(&s->full, memory_writable(ts, s->full)), false);
    return replace(&s->full, memory_scatter(ts, s->full, s->initial, loop->lanes, mask,
                                            ReduceOpIdentity, ReduceModePermute));
}

/* Lanes that are there and not active. */
static VarId find_removed(ThreadState *ts, const Loop *loop)
{
    VarId active = loop->active[0];
    VarId removed = arith_op(ts, OP_NOT, &active), result = removed;
    if (removed && loop->present) {
        result = arith_op(ts, OP_AND, (VarId[]){ removed, loop->present });
        var_dec(removed);
    }
    return result;
}

/* Has it an entry for each lane? When lanes are taken out for the first time, the size
 * tells. */
static bool is_lanewise(const Loop *loop, const LoopState *s)
{
    return s->initial && (s->full || !loop->lanes) &&
           var_lanes_of(s->initial) == var_lanes_of(loop->active[0]);
}

static bool leave_entries(ThreadState *ts, Loop *loop)
{
    VarId removed = loop->lanes ? find_removed(ts, loop) : 0;
    bool ok = removed || !loop->lanes;
    for (uint32_t i = 0; ok && i < loop->count; ++i) {
        LoopState *s = &loop->states[i];
        if (s->full && s->changed) {
            ok = put_back(ts, loop, s, removed);
        } else if (!s->full && is_lanewise(loop, s)) {
            s->full = s->initial;
            var_inc(s->full);
        }
    }
    var_clear(&removed);
    return ok;
}

/* ------------------------------------------------------------- taking lanes out */

/* Where the lanes that go on are, with 'present' for them. */
static VarId choose_lanes(ThreadState *ts, const Loop *loop, VarId *present)
{
    *present = 0;
    if (var_lanes_of(loop->kept) != 1) {
        var_inc(loop->kept);
        return loop->kept;
    }
    VarId zero = literal(ts, loop, VarTypeUInt32, 0, 2);
    VarId one = literal(ts, loop, VarTypeUInt32, 1, 1);
    VarId counter = array_counter(ts, loop->body.device, 2), result = 0;
    if (zero && one && counter)
        *present = arith_op(ts, OP_LT, (VarId[]){ counter, one });
    if (*present)
        result = memory_pick(ts, loop->kept, zero, 0);
    var_clear(&zero);
    var_clear(&one);
    var_clear(&counter);
    return result;
}

/* Gather all that has an entry for each lane. What belongs to states goes to compact[],
 * 0 for the others. */
static bool gather_states(ThreadState *ts, const Loop *loop, VarId kept, VarId *compact,
                          VarId *lanes)
{
    for (uint32_t i = 0; i < loop->count; ++i) {
        const LoopState *s = &loop->states[i];
        if (!is_lanewise(loop, s))
            continue;
        compact[i] = memory_pick(ts, s->initial, kept, 0);
        TRY(compact[i], false);
    }
    if (loop->lanes)
        return (*lanes = memory_pick(ts, loop->lanes, kept, 0)) != 0;
    *lanes = kept;
    var_inc(kept);
    return true;
}

/* From here on, these are the states. */
static void give_compact(Loop *loop, VarId *compact, VarId *values)
{
    for (uint32_t i = 0; i < loop->count; ++i) {
        LoopState *s = &loop->states[i];
        if (!compact[i])
            continue;
        replace(&s->initial, compact[i]);
        var_inc(compact[i]);
        replace(&values[i], compact[i]);
        s->array = compact[i];
        s->size = var_lanes_of(compact[i]);
        compact[i] = 0;
    }
}

/* 'active' is the mask of those that go on. */
static bool take_out(ThreadState *ts, Loop *loop, VarId kept, VarId present,
                     VarId active, VarId *values)
{
    uint32_t before = var_lanes_of(loop->active[0]);
    VarId *compact = alloc_zero((size_t) loop->count + 1, sizeof(VarId)), lanes = 0;
    TRY(compact, false);
    bool ok = leave_entries(ts, loop) && gather_states(ts, loop, kept, compact, &lanes);
    if (ok) {
        if (!loop->lanes)
            loop->width = before;
        give_compact(loop, compact, values);
        replace(&loop->lanes, lanes);
        var_inc(active);
        replace(&loop->active[0], active);
        var_clear(&loop->present);
        if (present)
            var_inc(present);
        loop->present = present;
    }
    for (uint32_t i = 0; i < loop->count; ++i)
        var_clear(&compact[i]);
    alloc_free(compact);
    return ok;
}

bool loop_compress_states(ThreadState *ts, Loop *loop, VarId *values)
{
    static const char *const function = "jit_var_loop_compress()";
    uint32_t before = var_lanes_of(loop->active[0]), after = var_lanes_of(loop->kept);
    if (!loop->ran || after == before || before == 2)
        return true;
    /* What follows is not subject to the mask of the lanes there were. */
    VarId always = literal(ts, loop, VarTypeBool, 1, 1), present = 0, kept = 0;
    bool ok = always && record_set_active(ts, &loop->body, always, function);
    if (ok)
        kept = choose_lanes(ts, loop, &present);
    ok = kept && take_out(ts, loop, kept, present, present ? present : always, values);
    if (ok && present)
        ok = record_set_active(ts, &loop->body, present, function);
    var_clear(&always);
    var_clear(&present);
    var_clear(&kept);
    var_clear(&loop->kept);
    return ok;
}

/* ------------------------------------------------------------ after an iteration */

/* Does the body use a state as an array that lanes have been taken out of, or would
 * be? */
static bool check_arrays(Loop *loop)
{
    uint32_t lanes = var_lanes_of(loop->active[0]);
    for (uint32_t i = 0; i < loop->count; ++i) {
        const LoopState *s = &loop->states[i];
        bool gathered = s->array == s->initial; /* and not written to */
        if (!s->whole || (gathered && var_get(s->initial)->op == OP_LITERAL))
            continue;
        if (s->full)
            return error_set(JIT_ERROR_ARGUMENT,
                             "jit_var_loop_end(): loop '%s': state %u is gathered from "
                             "or scattered to as an array, though not in the first "
                             "iteration; lanes have been taken out of it "
                             "(JitFlagCompressLoops)", loop->body.name, i);
        loop->compress &= loop->lanes || s->size != lanes;
    }
    return true;
}

/* Is this a new value for each lane that is left? */
static bool is_changed(const LoopState *s, VarId next)
{
    return s->initial && next != s->initial && !(s->whole && next == s->array);
}

static bool check_size(const Loop *loop, uint32_t which, VarId next)
{
    uint32_t size = var_lanes_of(next), lanes = var_lanes_of(loop->lanes);
    if (size == 1 || size == lanes)
        return true;
    return error_set(JIT_ERROR_ARGUMENT,
                     "jit_var_loop_end(): loop '%s': state %u has %u entries, and %u "
                     "lanes are left; with JitFlagCompressLoops, arrays with an entry "
                     "for each lane have to be states", loop->body.name, which, size,
                     lanes);
}

bool loop_compress_note(ThreadState *ts, Loop *loop, const VarId *values)
{
    loop->ran = true;
    var_clear(&loop->kept);
    TRY(check_arrays(loop), false);
    for (uint32_t i = 0; loop->lanes && i < loop->count; ++i) {
        LoopState *s = &loop->states[i];
        if (!is_changed(s, values[i]))
            continue;
        TRY(check_size(loop, i, values[i]), false);
        if (!s->full)
            s->full = array_resize(ts, s->initial, loop->width);
        TRY(s->full, false);
        s->changed = true;
    }
    return true;
}

bool loop_compress_end(ThreadState *ts, Loop *loop, VarId *values)
{
    for (uint32_t i = 0; i < loop->count; ++i) {
        LoopState *s = &loop->states[i];
        if (s->full && s->changed)
            TRY(put_back(ts, loop, s, loop->present), false);
    }
    for (uint32_t i = 0; i < loop->count; ++i) {
        LoopState *s = &loop->states[i];
        if (!s->full)
            continue;
        var_inc(s->full);
        replace(&values[i], s->full);
    }
    return true;
}
