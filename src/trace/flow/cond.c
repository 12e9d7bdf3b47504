/*
 * cond.c -- see cond.h
 *
 * Each side is recorded in a body of its own. In the end an output becomes
 *
 *     the same variable or literal on both sides     that
 *     two variables from outside                      a select between them
 *     anything else                                   a result of the region
 *
 *     an array that one side has written to, and      the array with all writes
 *     what that was before the write, or what the
 *     other side has written to
 *
 * and a conditional of which neither results nor effects are left is not there at all.
 * A literal condition takes one side: its effects and outputs are handed on as they
 * are, and the other side is dropped. Without JitFlagSymbolicConditionals the effects
 * of both sides are handed on (they are masked), and all outputs are selected.
 */
#include "trace/flow/cond.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "trace/flow/region_expand.h"
#include "trace/flow/region_replay.h"
#include "trace/graph/arith.h"
#include "trace/graph/local.h"
#include "trace/graph/loop_array.h"
#include "trace/graph/mask.h"
#include "trace/graph/node.h"
#include "trace/graph/region.h"

enum { SIDES = 2 };

typedef enum CondKind { COND_REGION, COND_SELECT, COND_LITERAL } CondKind;

typedef struct Cond {
    Body body;          /* of the side that is open */
    CondKind kind;
    VarId condition;    /* owned */
    VarId mask;         /* lanes that enter; owned */
    uint32_t scope;     /* of the true side */
    uint32_t sides;     /* complete ones */
    uint32_t count;     /* outputs of each side that has any */
    bool counted;       /* 'count' is known */
    VarId active[SIDES]; /* owned; 0: not made yet, or none */
    RecordedBody side[SIDES];
} Cond;

static void free_cond(Cond *cond)
{
    for (uint32_t i = 0; i < SIDES; ++i) {
        record_release(&cond->side[i]);
        var_drop(cond->active[i]);
    }
    var_ids_drop(&cond->body.effects);
    var_ids_drop(&cond->body.written);
    var_drop(cond->condition);
    var_drop(cond->mask);
    alloc_free(cond->body.name);
    alloc_free(cond);
}

static void abandon_cond(ThreadState *ts, Body *body)
{
    (void) ts;
    free_cond((Cond *) body);
}

/* ------------------------------------------------------------------- sides */

/* Does this side run at all? */
static bool is_taken(const Cond *cond, uint32_t side)
{
    return cond->kind != COND_LITERAL ||
           (var_get(cond->condition)->value.literal != 0) == (side == 0);
}

/* The mask of a side: a placeholder, or in a select the condition itself. */
static VarId make_active(ThreadState *ts, const Cond *cond, uint32_t side)
{
    uint8_t device = cond->body.device;
    if (cond->kind == COND_REGION)
        return region_placeholder(ts, OP_ACTIVE, side, device, VarTypeBool, 1, 0);
    VarId condition = cond->condition;
    if (side == 0)
        return mask_apply(ts, device, condition, 0, "jit_var_cond_start()");
    VarId opposite = arith_unary(ts, OP_NOT, condition);
    TRY(opposite, 0);
    VarId active = mask_apply(ts, device, opposite, 0, "jit_var_cond_append()");
    var_dec(opposite);
    return active;
}

/* Open the body of the next side. */
static bool open_side(ThreadState *ts, Cond *cond, const char *function)
{
    uint32_t number = cond->sides;
    TRY(record_open(ts, &cond->body, BODY_SIDE, cond->body.device, 0), false);
    if (number == 0)
        cond->scope = cond->body.scope;
    if (cond->kind == COND_LITERAL && is_taken(cond, number))
        return true;
    VarId active = cond->active[number] = make_active(ts, cond, number);
    if (active && record_set_active(ts, &cond->body, active, function))
        return true;
    record_close(ts, &cond->body, function);
    return false;
}

uint32_t cond_start(ThreadState *ts, const char *name, VarId condition)
{
    static const char *const function = "jit_var_cond_start()";
    TRY(node_usable(ts, condition, function, "the condition"), 0);
    const Var *v = var_get(condition);
    if (v->type != VarTypeBool)
        return (uint32_t) error_set(JIT_ERROR_ARGUMENT,
                                    "%s: the condition is %s, expected bool", function,
                                    type_info[v->type].name);
    Cond *cond = alloc_zero(1, sizeof(Cond));
    TRY(cond, 0);
    cond->body.abandon = abandon_cond;
    cond->body.device = v->device;
    cond->body.notes_written = true;
    cond->kind = v->op == OP_LITERAL                              ? COND_LITERAL
                 : state_flag(ts, JitFlagSymbolicConditionals) ? COND_REGION
                                                                  : COND_SELECT;
    cond->body.has_values = cond->kind != COND_REGION;
    cond->body.before = &cond->side[0].effects;
    cond->condition = condition;
    var_inc(condition);
    cond->body.name = alloc_string(name ? name : "unnamed");
    cond->mask = mask_apply(ts, cond->body.device, 0, condition, function);
    if (cond->body.name && cond->mask && open_side(ts, cond, function))
        return cond->body.handle;
    free_cond(cond);
    return 0;
}

/* ----------------------------------------------------------------- outputs */

static VarId output(const Cond *cond, uint32_t side, uint32_t k)
{
    return cond->side[side].outputs.ids[k];
}

/* Is it an array that a side has written to, which cannot be read yet? */
static bool is_written(const Cond *cond, VarId id)
{
    const VarIds *pairs = &cond->body.written;
    bool early = cond->body.backups.count != 0; /* then it may be performed */
    if (!var_exists(id) || (!early && !var_pending(var_get(id))))
        return false;
    for (uint32_t i = 1; i < pairs->count; i += 2)
        if (pairs->ids[i] == id)
            return true;
    return false;
}

static bool check_output(ThreadState *ts, const Cond *cond, size_t which, VarId id)
{
    static const char *const function = "jit_var_cond_append()";
    if (var_exists(id))
        node_read(ts, id);
    if (!is_written(cond, id) &&
        (!var_exists(id) || !(var_get(id)->flags & VAR_LOCAL)))
        TRY(node_usable(ts, id, function, "an output"), false);
    if (cond->kind != COND_LITERAL && var_get(id)->device != cond->body.device)
        TRY(node_same_device(cond->body.device, var_get(id)->device,
                             "%s: conditional '%s': condition and output %zu", function,
                             cond->body.name, which), false);
    if (!cond->side[0].outputs.count || cond->sides == 0)
        return true;
    const Var *v = var_get(id), *other = var_get(cond->side[0].outputs.ids[which]);
    if (v->type != other->type || (v->flags ^ other->flags) & VAR_LOCAL)
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: conditional '%s': output %zu is %s%s on the true side "
                         "and %s%s on the false side", function, cond->body.name, which,
                         other->flags & VAR_LOCAL ? "a local array of " : "",
                         type_info[other->type].name,
                         v->flags & VAR_LOCAL ? "a local array of " : "",
                         type_info[v->type].name);
    VarId before = cond->side[0].outputs.ids[which];
    if (v->flags & VAR_LOCAL &&
        local_length(id, function) != local_length(before, function))
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: conditional '%s': output %zu is a local array of %zu "
                         "entries on the true side and of %zu on the false side",
                         function, cond->body.name, which,
                         local_length(before, function), local_length(id, function));
    return true;
}

static bool take_outputs(ThreadState *ts, Cond *cond, size_t n, const VarId *outputs)
{
    static const char *const function = "jit_var_cond_append()";
    if (!is_taken(cond, cond->sides))
        return true;
    if (n > INST_MOST_OPERANDS || (cond->counted && n != cond->count))
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: conditional '%s': the sides have %u and %zu outputs, "
                         "expected equal numbers up to %u", function, cond->body.name,
                         cond->count, n, INST_MOST_OPERANDS);
    for (size_t i = 0; i < n; ++i)
        TRY(check_output(ts, cond, i, outputs[i]), false);
    cond->count = cond->body.results = (uint32_t) n;
    cond->counted = true;
    return record_outputs(&cond->side[cond->sides], n, outputs);
}

bool cond_append(ThreadState *ts, uint32_t handle, size_t n, const VarId *outputs)
{
    static const char *const function = "jit_var_cond_append()";
    Body *body = record_find(ts, handle, BODY_SIDE, function);
    TRY(body, false);
    Cond *cond = (Cond *) body;
    bool ok = cond->sides < SIDES ||
              error_set(JIT_ERROR_STATE, "%s: conditional '%s' has both sides already",
                        function, cond->body.name);
    if (!ok || !take_outputs(ts, cond, n, outputs)) {
        record_abandon(ts, body);
        return false;
    }
    /* The false side stays open until the end, with nothing left to record. */
    if (++cond->sides == SIDES)
        return true;
    cond->body.written_before = cond->body.written.count;
    ok = record_close_into(ts, body, &cond->side[0], function);
    if (ok && open_side(ts, cond, function))
        return true;
    record_settle(ts, &cond->body, false);
    free_cond(cond);
    return false;
}

/* ------------------------------------------------------ arrays that are written to */

/* Has a write to 'from' gone to 'to'? Arrays that are read in between change more than
 * once. Only the first 'count' ids of the pairs are looked at. */
static bool became_among(const VarIds *pairs, uint32_t count, VarId from, VarId to)
{
    for (uint32_t i = 0; i < count; i += 2) {
        const VarId before = pairs->ids[i];
        if (pairs->ids[i + 1] == to &&
            (before == from || (before != to && became_among(pairs, i, from, before))))
            return true;
    }
    return false;
}

static bool became(const Cond *cond, VarId from, VarId to)
{
    return became_among(&cond->body.written, cond->body.written.count, from, to);
}

/* Are these two arrays copies of one, which both sides have written to? All that the
 * false side has written is in 'b', or not yet anywhere. */
static bool have_origin(const Cond *cond, VarId a, VarId b)
{
    const VarIds *pairs = &cond->body.written;
    for (uint32_t i = 0; i < pairs->count; i += 2)
        if (pairs->ids[i + 1] == b && became(cond, pairs->ids[i], a))
            return true;
    return false;
}

static bool fail_array(const Cond *cond, uint32_t k)
{
    return error_set(JIT_ERROR_UNSUPPORTED,
                     "jit_var_cond_end(): conditional '%s': output %u of one side is "
                     "an array that it has written to, so the output of the other "
                     "side has to be this array, too; if both write to it, the second "
                     "one must not read what it writes", cond->body.name, k);
}

/* Which output of the false side is this? */
static uint32_t k_of(const Cond *cond, VarId b)
{
    uint32_t k = 0;
    while (output(cond, 1, k) != b)
        k++;
    return k;
}

/* What the false side has written to its copy goes to that of the true side, which all
 * outputs that are one have to be. */
static bool join_copies(ThreadState *ts, const Cond *cond, RegionReplay *r, VarId a,
                        VarId b)
{
    for (uint32_t k = 0; k < cond->count; ++k)
        if ((output(cond, 0, k) == a) != (output(cond, 1, k) == b))
            return fail_array(cond, k);
    for (uint32_t i = 0; i < cond->body.backups.count; i += 2)
        if (cond->body.backups.ids[i] == b) /* they have been performed there */
            return fail_array(cond, k_of(cond, b));
    loop_array_replaced(ts, b, a);
    return region_replay_target(r, b) == a || region_replay_redirect(r, b, a);
}

static void set_output(Cond *cond, uint32_t side, uint32_t k, VarId id)
{
    VarId *place = &cond->side[side].outputs.ids[k];
    var_inc(id);
    var_dec(*place);
    *place = id;
}

/* Outputs of the false side may have been made from what atomic operations find. */
static bool replay_false_side(Cond *cond, RegionReplay *r)
{
    VarIds old = cond->body.effects;
    cond->body.effects = (VarIds){ 0 };
    bool ok = true;
    for (uint32_t i = 0; ok && i < old.count; ++i)
        ok = region_replay_effect(r, old.ids[i]);
    var_ids_drop(&old);
    for (uint32_t k = 0; ok && k < cond->count; ++k) {
        ok = region_replay(r, output(cond, 1, k));
        if (ok)
            set_output(cond, 1, k, region_replay_find(r, output(cond, 1, k)));
    }
    return ok;
}

/* The false side is open. Afterwards, an array that is written to is the same variable
 * on both sides. */
static bool join_arrays(ThreadState *ts, Cond *cond)
{
    RegionReplay r;
    TRY(region_replay_begin(&r, ts, cond->body.scope), false);
    r.in_place = true;
    bool ok = true;
    for (uint32_t k = 0; ok && k < cond->count; ++k) {
        VarId a = output(cond, 0, k), b = output(cond, 1, k);
        if (a != b && is_written(cond, a) && is_written(cond, b))
            ok = have_origin(cond, a, b) ? join_copies(ts, cond, &r, a, b)
                                         : fail_array(cond, k);
    }
    ok = ok && (!r.target_count || replay_false_side(cond, &r));
    for (uint32_t k = 0; ok && k < cond->count; ++k) {
        VarId a = output(cond, 0, k), b = output(cond, 1, k);
        if (a == b || (!is_written(cond, a) && !is_written(cond, b)))
            continue;
        VarId to = region_replay_target(&r, b) == a || became(cond, b, a) ? a
                   : became(cond, a, b)                                     ? b
                                                                            : 0;
        ok = to || fail_array(cond, k);
        for (uint32_t i = 0; ok && i < SIDES; ++i)
            set_output(cond, i, k, to);
    }
    region_replay_end(&r);
    return ok;
}

/* Most conditionals have none. */
static bool has_arrays(const Cond *cond)
{
    if (!cond->body.written.count || cond->kind == COND_LITERAL)
        return false;
    for (uint32_t k = 0; k < cond->count; ++k)
        if (is_written(cond, output(cond, 0, k)) ||
            is_written(cond, output(cond, 1, k)))
            return true;
    return false;
}

/* --------------------------------------------------------------------- end */

/* The common size of condition, mask, outputs and effects. */
static bool find_size(const Cond *cond, uint32_t *size)
{
    RecordSize s = { "jit_var_cond_end(): conditional", cond->body.name,
                     cond->body.device, 1, { 0 } };
    TRY(record_join_sizes(&s, (VarId[]){ cond->condition, cond->mask }, 2), false);
    for (uint32_t i = 0; i < SIDES; ++i) {
        const VarIds *effects = &cond->side[i].effects;
        for (uint32_t k = 0; k < cond->count; ++k)
            TRY(output(cond, 0, k) == output(cond, 1, k) ||
                record_join_sizes(&s, &cond->side[i].outputs.ids[k], 1), false);
        TRY(record_join_sizes(&s, effects->ids, effects->count), false);
    }
    *size = s.size;
    return true;
}

static bool is_outside(const Cond *cond, const Var *v)
{
    return v->op == OP_LITERAL || v->op == OP_EVALUATED || v->scope < cond->scope;
}

static VarId select_local(ThreadState *ts, const Cond *cond, VarId a, VarId b,
                          bool *failed)
{
    VarIds entries = { 0 };
    VarId result = local_select(ts, cond->condition, a, b, &entries)
                       ? local_join_all(ts, &entries)
                       : 0;
    var_ids_drop(&entries);
    *failed |= !result;
    return result;
}

/* What an output is without a region; 0 (without an error) if it needs one. */
static VarId simple_output(ThreadState *ts, const Cond *cond, uint32_t k, bool *failed)
{
    VarId a = output(cond, 0, k), b = output(cond, 1, k);
    const Var *x = var_get(a), *y = var_get(b);
    if (a == b || (var_same_literal(a, b) && var_lanes(x) == var_lanes(y))) {
        var_inc(a);
        return a;
    }
    if (x->flags & VAR_LOCAL && cond->kind == COND_SELECT)
        return select_local(ts, cond, a, b, failed);
    if (x->flags & VAR_LOCAL ||
        (cond->kind == COND_REGION && !(is_outside(cond, x) && is_outside(cond, y))))
        return 0;
    VarId result = arith_op(ts, OP_SELECT, (VarId[]){ cond->condition, a, b });
    *failed |= !result;
    return result;
}

/* Fill in the results that are outputs of a region, of whose sides these are. */
static bool add_region(ThreadState *ts, const Cond *cond, const VarIds *outputs,
                       VarId *results)
{
    const RecordedBody *side = cond->side;
    if (!outputs[0].count && !side[0].effects.count && !side[1].effects.count)
        return true;
    RecordedBody bodies[SIDES];
    for (uint32_t i = 0; i < SIDES; ++i)
        bodies[i] = (RecordedBody){ side[i].effects, outputs[i], side[i].scope };
    RegionSpec spec = {
        .kind = REGION_IF, .device = cond->body.device, .name = cond->body.name,
        .scope = cond->scope, .bodies = bodies, .body_count = SIDES,
        .parts = { [PART_MASK] = { &cond->mask, 1 },
                   [PART_CONDITION] = { &cond->condition, 1 },
                   [PART_ACTIVE] = { cond->active, SIDES } }
    };
    TRY(find_size(cond, &spec.size), false);
    VarId region = region_expand(ts, region_make(ts, &spec));
    return region_add(ts, region, cond->count, results);
}

static bool make_results(ThreadState *ts, const Cond *cond, VarId *results)
{
    VarIds outputs[SIDES] = { 0 }; /* that need a region */
    bool failed = false;
    for (uint32_t k = 0; !failed && k < cond->count; ++k) {
        results[k] = simple_output(ts, cond, k, &failed);
        for (uint32_t i = 0; !failed && !results[k] && i < SIDES; ++i)
            failed = !var_ids_add(&outputs[i], output(cond, i, k));
    }
    if (!failed && cond->kind == COND_REGION)
        failed = !add_region(ts, cond, outputs, results);
    alloc_free(outputs[0].ids);
    alloc_free(outputs[1].ids);
    return !failed;
}

/* Effects of sides that are not a region's run like those around the conditional. */
static bool hand_over(ThreadState *ts, const Cond *cond)
{
    for (uint32_t i = 0; i < SIDES; ++i)
        TRY(!is_taken(cond, i) || record_hand_over(ts, cond->side[i].effects.ids,
                                                   cond->side[i].effects.count), false);
    return true;
}

/* A literal condition: the outputs of one side. */
static bool take_side(ThreadState *ts, Cond *cond, VarId *results)
{
    uint32_t taken = is_taken(cond, 0) ? 0 : 1;
    const RecordedBody *side = &cond->side[taken];
    TRY(hand_over(ts, cond), false);
    region_replaced_all(&cond->side[!taken].effects); /* by nothing */
    for (uint32_t k = 0; k < cond->count; ++k) {
        results[k] = side->outputs.ids[k];
        var_inc(results[k]);
    }
    return true;
}

bool cond_end(ThreadState *ts, uint32_t handle, VarId *results)
{
    static const char *const function = "jit_var_cond_end()";
    Body *body = record_find(ts, handle, BODY_SIDE, function);
    TRY(body, false);
    Cond *cond = (Cond *) body;
    if (cond->sides != SIDES) {
        error_set(JIT_ERROR_STATE, "%s: conditional '%s' has %u of 2 sides", function,
                  cond->body.name, cond->sides);
        record_abandon(ts, body);
        return false;
    }
    if (has_arrays(cond) && !join_arrays(ts, cond)) {
        record_abandon(ts, body);
        return false;
    }
    bool ok = record_close_into(ts, body, &cond->side[1], function);
    for (uint32_t k = 0; k < cond->count; ++k)
        results[k] = 0;
    if (ok && cond->kind == COND_LITERAL)
        ok = take_side(ts, cond, results);
    else if (ok)
        ok = make_results(ts, cond, results) &&
             (cond->kind == COND_REGION || hand_over(ts, cond));
    for (uint32_t k = 0; !ok && k < cond->count; ++k) {
        var_drop(results[k]);
        results[k] = 0;
    }
    record_settle(ts, &cond->body, ok);
    free_cond(cond);
    return ok;
}
