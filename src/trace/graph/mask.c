/*
 * mask.c -- see mask.h
 *
 * 'mask_base' is the number of masks that the innermost open body must not touch: those
 * from outside and its own. A mark keeps the base that was in force before, with
 * whether the body pushed a mask: 2 * base + pushed.
 */
#include "trace/graph/mask.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "trace/graph/arith.h"

static bool put(ThreadState *ts, VarId mask)
{
    TRY(vec_reserve(&ts->masks, &ts->mask_capacity, ts->mask_count + 1, sizeof(VarId)),
        false);
    var_inc(mask);
    ts->masks[ts->mask_count++] = mask;
    return true;
}

static void take(ThreadState *ts)
{
    var_dec(ts->masks[--ts->mask_count]);
}

static bool is_true(VarId mask)
{
    const Var *v = var_get(mask);
    return v->op == OP_LITERAL && v->value.literal;
}

/* Is a mask that is pushed now combined with the one below? What runs at once may set
 * it aside. */
static bool is_combined(const ThreadState *ts, VarId mask)
{
    VarId top = mask_top(ts);
    if (!ts->body || !top)
        return false;
    const Var *v = var_get(mask);
    bool lifts = v->op == OP_LITERAL &&
                 (var_lanes(v) == 1 ? is_true(mask)
                                    : var_lanes(v) != var_lanes_of(top));
    return !lifts || var_get(top)->flags & VAR_SYMBOLIC;
}

bool mask_push(ThreadState *ts, VarId mask)
{
    static const char *const function = "jit_var_mask_push()";
    TRY(node_usable(ts, mask, function, "the mask"), false);
    const Var *v = var_get(mask);
    if (v->type != VarTypeBool)
        return error_set(JIT_ERROR_ARGUMENT, "%s: the mask is %s, expected bool",
                         function, type_info[v->type].name);
    if (!is_combined(ts, mask))
        return put(ts, mask);
    VarId combined = mask_apply(ts, v->device, mask, 0, function);
    TRY(combined, false);
    bool ok = put(ts, combined);
    var_dec(combined);
    return ok;
}

bool mask_pop(ThreadState *ts)
{
    if (ts->mask_count == ts->mask_base)
        return error_set(JIT_ERROR_STATE, "jit_var_mask_pop(): there is no mask%s",
                         ts->mask_base ? " that was pushed in this body" : "");
    take(ts);
    return true;
}

VarId mask_wide(const VarId *ids, uint32_t count, VarId first)
{
    for (uint32_t i = 0; i < count && (!first || var_lanes_of(first) == 1); ++i)
        if (ids[i] && var_lanes_of(ids[i]) != 1)
            first = ids[i];
    return first;
}

VarId mask_for(ThreadState *ts, VarId wide)
{
    VarId top = mask_top(ts);
    uint32_t lanes = wide ? var_lanes_of(wide) : 1;
    if (!top || (var_get(top)->flags & VAR_SYMBOLIC) || lanes == 1 ||
        var_lanes_of(top) == 1 || var_lanes_of(top) == lanes)
        return top;
    node_number(ts, top); /* these sizes are to stay different */
    node_number(ts, wide);
    return 0;
}

VarId mask_apply(ThreadState *ts, uint8_t device, VarId mask, VarId wide,
                 const char *function)
{
    VarId both[] = { mask, mask_for(ts, wide ? wide : mask) };
    uint32_t size;
    if (both[1])
        node_read(ts, both[1]);
    TRY(node_common_size(both, 2, function, &size), 0);
    if (both[0] && both[1] && var_lanes_of(both[0]) == size && is_true(both[1]))
        both[1] = 0;
    else if (both[0] && both[1] && var_lanes_of(both[1]) == size && is_true(both[0]))
        both[0] = 0;
    if (both[0] && both[1])
        return arith_make(ts, OP_AND, VarTypeBool, size, both);
    VarId only = both[0] ? both[0] : both[1];
    if (!only)
        return node_literal(ts, device, VarTypeBool, 1, 1);
    TRY(node_same_device(device, var_get(only)->device, "%s: operands", function), 0);
    var_inc(only);
    return only;
}

/* -------------------------------------------------------------------- bodies */

bool mask_open(ThreadState *ts, VarId active, uint32_t *mark)
{
    *mark = 2 * ts->mask_base + (active != 0);
    if (active)
        TRY(put(ts, active), false);
    ts->mask_base = ts->mask_count;
    return true;
}

bool mask_check(const ThreadState *ts, const char *function)
{
    uint32_t left = ts->mask_count - ts->mask_base;
    if (left)
        return error_set(JIT_ERROR_STATE,
                         "%s: the body left %u mask%s on the mask stack", function,
                         left, left == 1 ? "" : "s");
    return true;
}

bool mask_close(ThreadState *ts, uint32_t mark, const char *function)
{
    bool ok = mask_check(ts, function);
    mask_drop(ts, mark);
    return ok;
}

void mask_drop(ThreadState *ts, uint32_t mark)
{
    while (ts->mask_count > ts->mask_base)
        take(ts);
    if (mark & 1)
        take(ts);
    ts->mask_base = mark / 2;
}

void mask_free(ThreadState *ts)
{
    while (ts->mask_count)
        take(ts);
    alloc_free(ts->masks);
    ts->masks = NULL;
    ts->mask_capacity = ts->mask_base = 0;
}
