/*
 * loop.c -- see loop.h
 *
 * A state is known by its placeholder while the body is recorded. What its output turns
 * out to be decides about it:
 *
 *     the placeholder itself         it never changes: its initial value is the result
 *     a literal equal to the initial one       the same
 *     anything else                  it is a state of the region
 *
 * States that never change may still be used in the body. They have an alias there (a
 * 'fixed' state of the region), or the body is changed to have the initial values in
 * their place, which lets folding and hoisting see them. The caller traces it once.
 *
 * An array that the body reads or writes by index cannot be a value of one lane: such
 * accesses go to the initial value, and the state has to be one that never changes.
 */
#include "trace/flow/loop.h"


#include "base/alloc.h"
#include "base/error.h"
#include "trace/array/memory.h"
#include "trace/eval/evaluate.h"
#include "trace/graph/local.h"
#include "trace/graph/mask.h"
#include "trace/graph/node.h"
#include "trace/flow/region_expand.h"
#include "trace/flow/region_replay.h"

/* ------------------------------------------------------------------- begin */

static void free_loop(Loop *loop)
{
    var_ids_drop(&loop->body.effects);
    var_clear(&loop->active[0]);
    var_clear(&loop->active[1]);
    var_clear(&loop->condition);
    var_clear(&loop->mask);
    var_clear(&loop->kept);
    var_clear(&loop->lanes);
    var_clear(&loop->present);
    for (uint32_t i = 0; i < loop->count; ++i) {
        var_clear(&loop->states[i].placeholder);
        var_clear(&loop->states[i].next);
        var_ids_drop(&loop->states[i].written);
        var_clear(&loop->states[i].initial);
        var_clear(&loop->states[i].given);
        var_clear(&loop->states[i].full);
    }
    alloc_free(loop->body.name);
    alloc_free(loop);
}

static void abandon_loop(ThreadState *ts, Body *body)
{
    (void) ts;
    free_loop((Loop *) body);
}

static bool check_initial(ThreadState *ts, VarId id, size_t which, uint8_t device)
{
    static const char *const function = "jit_var_loop_start()";
    if (!var_exists(id))
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: state %zu is r%u, which is not a variable", function,
                         which, id);
    node_read(ts, id);
    const Var *v = var_get(id);
    if (v->flags & (VAR_CONSUMED | VAR_POISONED))
        return node_usable(NULL, id, function, "a state");
    if (var_lanes(v) == 0)
        return error_set(JIT_ERROR_ARGUMENT, "%s: state %zu (r%u) is an empty array",
                         function, which, id);
    return node_same_device(v->device, device, "%s: state %zu (r%u) and the loop",
                            function, which, id);
}

/* Placeholders for all states, and for the mask. */
static bool make_placeholders(ThreadState *ts, Loop *loop)
{
    for (uint32_t i = 0; i < loop->count; ++i) {
        LoopState *s = &loop->states[i];
        s->placeholder = region_placeholder(ts, OP_STATE, i, loop->body.device,
                                            (VarType) s->type, s->size, s->initial);
        TRY(s->placeholder, false);
    }
    for (uint32_t i = 0; i < 2; ++i) {
        loop->active[i] = region_placeholder(ts, OP_ACTIVE, i, loop->body.device,
                                             VarTypeBool, 1, 0);
        TRY(loop->active[i], false);
    }
    return true;
}

/* Begin to record the body. Its mask is one of the placeholders, which belong to its
 * scope. */
static bool begin_recording(ThreadState *ts, Loop *loop)
{
    TRY(record_open(ts, &loop->body, BODY_LOOP, loop->body.device, 0), false);
    if (make_placeholders(ts, loop) &&
        record_set_active(ts, &loop->body, loop->active[0], "jit_var_loop_start()"))
        return true;
    record_close(ts, &loop->body, "jit_var_loop_start()");
    return false;
}

static Loop *make_loop(ThreadState *ts, uint8_t device, const char *name,
                       uint32_t n, const VarId *values)
{
    Loop *loop = alloc_zero(1, sizeof(Loop) + n * sizeof(LoopState));
    TRY(loop, NULL);
    loop->body.abandon = abandon_loop;
    loop->body.device = device;
    loop->count = loop->body.results = n;
    for (uint32_t i = 0; i < n; ++i) {
        const Var *v = var_get(values[i]);
        loop->states[i] = (LoopState){ .initial = values[i], .array = values[i],
                                       .type = v->type, .size = var_lanes(v),
                                       .local = (v->flags & VAR_LOCAL) != 0 };
        if (v->flags & VAR_LOCAL)
            loop->states[i].length = local_length(values[i], "jit_var_loop_start()");
        var_inc(values[i]);
    }
    loop->body.name = alloc_string(name ? name : "unnamed");
    loop->mask = mask_apply(ts, device, 0, mask_wide(values, n, 0),
                            "jit_var_loop_start()");
    loop->evaluated = !state_flag(ts, JitFlagSymbolicLoops);
    if (loop->body.name && loop->mask &&
        (loop->evaluated ? loop_evaluated_begin(ts, loop) : begin_recording(ts, loop)))
        return loop;
    free_loop(loop);
    return NULL;
}

/* Hand out what the body is to be recorded with. */
static void give_states(const Loop *loop, VarId *values)
{
    for (uint32_t i = 0; i < loop->count; ++i) {
        var_inc(loop->states[i].placeholder);
        var_dec(values[i]);
        values[i] = loop->states[i].placeholder;
    }
}

/* The states of a loop that is run at once, which may have been prepared for that. */
static void give_initial(const Loop *loop, VarId *values)
{
    for (uint32_t i = 0; i < loop->count; ++i) {
        if (values[i] == loop->states[i].initial)
            continue;
        var_inc(loop->states[i].initial);
        var_dec(values[i]);
        values[i] = loop->states[i].initial;
    }
}

uint32_t loop_start(ThreadState *ts, uint8_t device, const char *name, size_t n,
                    VarId *values)
{
    if (n >= INST_MOST_OPERANDS)
        return (uint32_t) error_set(JIT_ERROR_ARGUMENT,
                                    "jit_var_loop_start(): %zu states, there can be %u",
                                    n, INST_MOST_OPERANDS - 1);
    for (size_t i = 0; i < n; ++i)
        TRY(check_initial(ts, values[i], i, device), 0);
    Loop *loop = make_loop(ts, device, name, (uint32_t) n, values);
    TRY(loop, 0);
    if (loop->evaluated)
        give_initial(loop, values);
    else
        give_states(loop, values);
    return loop->body.handle;
}

/* --------------------------------------------------------------- condition */

static Loop *find_loop(ThreadState *ts, uint32_t handle, const char *function)
{
    BodyKind kind = ts->body && ts->body->kind == BODY_EVALUATED ? BODY_EVALUATED
                                                                 : BODY_LOOP;
    return (Loop *) record_find(ts, handle, kind, function);
}

/* Give up the loop after an error. */
static int fail(ThreadState *ts, Loop *loop)
{
    record_abandon(ts, &loop->body);
    return -1;
}

static bool check_condition(ThreadState *ts, const Loop *loop, VarId condition)
{
    static const char *const function = "jit_var_loop_cond()";
    if (loop->condition)
        return error_set(JIT_ERROR_STATE, "%s: loop '%s' has a condition already",
                         function, loop->body.name);
    TRY(node_usable(ts, condition, function, "the condition"), false);
    const Var *v = var_get(condition);
    if (v->type != VarTypeBool)
        return error_set(JIT_ERROR_ARGUMENT, "%s: the condition of loop '%s' is %s, "
                         "expected bool", function, loop->body.name,
                         type_info[v->type].name);
    TRY(node_same_device(v->device, loop->body.device,
                         "%s: the condition of loop '%s' and its states", function,
                         loop->body.name), false);
    if (v->op == OP_LITERAL && v->value.literal && !loop->evaluated)
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: the condition of loop '%s' is always true: it would "
                         "never end", function, loop->body.name);
    if (loop->body.effects.count)
        return error_set(JIT_ERROR_STATE,
                         "%s: the condition of loop '%s' has side effects", function,
                         loop->body.name);
    return true;
}

int loop_condition(ThreadState *ts, uint32_t handle, VarId condition)
{
    Loop *loop = find_loop(ts, handle, "jit_var_loop_cond()");
    TRY(loop, -1);
    Body *body = &loop->body;
    if (!check_condition(ts, loop, condition))
        return fail(ts, loop);
    loop->condition = condition;
    var_inc(condition);
    if (loop->evaluated)
        return loop_evaluated_condition(ts, loop) ? !loop->never : fail(ts, loop);
    loop->never = var_get(condition)->op == OP_LITERAL;
    if (!record_set_active(ts, body, loop->active[1], "jit_var_loop_cond()"))
        return fail(ts, loop);
    return !loop->never;
}

bool loop_compress(ThreadState *ts, uint32_t handle, VarId *values)
{
    Loop *loop = find_loop(ts, handle, "jit_var_loop_compress()");
    TRY(loop, false);
    if (!loop->kept || loop->never || loop_compress_states(ts, loop, values))
        return true;
    fail(ts, loop);
    return false;
}

/* ----------------------------------------------------------------- outputs */

/* Does a variable depend on an array, by its values or by index? */
static bool depends_on(VarId id, VarId array, bool *depends)
{
    RegionWalk w;
    *depends = false;
    TRY(region_walk_begin(&w), false);
    bool ok = true;
    region_walk_from(&w, id);
    while (ok && !*depends && (id = region_walk_next(&w)) != 0) {
        const Var *v = var_get(id);
        *depends = id == array || (v->op == OP_POINTER && v->dep[0] == array);
        ok = region_walk_operands(&w, id);
    }
    region_walk_end(&w);
    return ok;
}

/* A state of a loop that is run at once is also an array that was written to. It may be
 * replaced by what is made of the values there were, but not of those that the write
 * has left: then it was the state that was written to. */
static bool check_replaced(const LoopState *s, VarId id, bool *allowed)
{
    bool before = true, behind = false;
    const bool check = s->written.count && id != s->initial &&
                       var_get(s->initial)->op != OP_LITERAL;
    if (check)
        TRY(depends_on(id, s->initial, &before), false);
    for (uint32_t i = 0; check && !behind && i < s->written.count; ++i)
        TRY(depends_on(id, s->written.ids[i], &behind), false);
    *allowed = before && !behind;
    return true;
}

static bool check_output(ThreadState *ts, Loop *loop, uint32_t which, VarId id)
{
    static const char *const function = "jit_var_loop_end()";
    LoopState *s = &loop->states[which];
    if (!var_exists(id))
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: loop '%s': state %u is r%u, which is not a variable",
                         function, loop->body.name, which, id);
    node_read(ts, id);
    const Var *v = var_get(id);
    if (v->type != s->type)
        return error_set(JIT_ERROR_ARGUMENT, "%s: loop '%s': state %u is %s, and was "
                         "%s before", function, loop->body.name, which,
                         type_info[v->type].name, type_info[s->type].name);
    TRY(node_same_device(v->device, loop->body.device,
                         "%s: loop '%s': state %u before and now", function,
                         loop->body.name, which), false);
    if (((v->flags & VAR_LOCAL) != 0) != s->local)
        return error_set(JIT_ERROR_ARGUMENT, "%s: loop '%s': state %u is%s a local "
                         "array, unlike before", function, loop->body.name, which,
                         s->local ? " not" : "");
    if (s->local && local_length(id, function) != s->length)
        return error_set(JIT_ERROR_ARGUMENT, "%s: loop '%s': state %u is a local array "
                         "of %zu entries, and had %zu before", function,
                         loop->body.name, which, local_length(id, function),
                         s->length);
    if (v->flags & (VAR_CONSUMED | VAR_POISONED))
        return node_usable(NULL, id, function, "a state");
    if (loop_array_is_copy(s, id))
        s->array = id; /* that is the one */
    bool allowed = !s->whole || (var_exists(s->array) && id == s->array) ||
                   (s->placeholder && id == s->placeholder);
    if (!allowed && loop->evaluated && s->initial)
        TRY(check_replaced(s, id, &allowed), false);
    if (!allowed)
        return error_set(
            JIT_ERROR_ARGUMENT,
            "%s: loop '%s': state %u is gathered from or scattered to as an array with "
            "%u entries, so it cannot be replaced by another variable",
            function, loop->body.name, which, s->size);
    return true;
}

/* Note which placeholders are needed for this. */
static bool find_used_by(Loop *loop, RegionWalk *w, VarId root)
{
    VarId id;
    region_walk_from(w, root);
    while ((id = region_walk_next(w)) != 0) {
        const Var *v = var_get(id);
        if (region_is_outside(v, loop->body.scope))
            continue;
        if (v->op == OP_STATE)
            loop->states[v->aux].used = true;
        TRY(region_walk_operands(w, id), false);
    }
    return true;
}

/* Which placeholders does the body need? That a state is passed on as it is does not
 * count, but another one may become it. */
static bool find_used(Loop *loop)
{
    RegionWalk w;
    TRY(region_walk_begin(&w), false);
    for (uint32_t i = 0; i < loop->count; ++i)
        loop->states[i].used = false;
    bool ok = find_used_by(loop, &w, loop->condition);
    for (uint32_t i = 0; ok && i < loop->body.effects.count; ++i)
        ok = find_used_by(loop, &w, loop->body.effects.ids[i]);
    for (uint32_t i = 0; ok && i < loop->count; ++i)
        if (loop->states[i].next != loop->states[i].placeholder)
            ok = find_used_by(loop, &w, loop->states[i].next);
    region_walk_end(&w);
    return ok;
}

static bool is_same(const LoopState *s)
{
    return s->whole || s->next == s->placeholder ||
           (s->initial && var_same_literal(s->next, s->initial));
}

/* Which states never change? '*pays' tells whether the body needs one that is new among
 * them, so that it pays to have its value there. */
static bool find_fixed(const ThreadState *ts, Loop *loop, bool *pays)
{
    bool optimise = state_flag(ts, JitFlagOptimizeLoops), any = false;
    *pays = false;
    for (uint32_t i = 0; i < loop->count; ++i)
        any |= !loop->states[i].fixed && is_same(&loop->states[i]);
    TRY(!any || find_used(loop), false);
    for (uint32_t i = 0; any && i < loop->count; ++i) {
        LoopState *s = &loop->states[i];
        if (s->fixed || !is_same(s))
            continue;
        s->fixed = s->whole || optimise || !s->used;
        *pays |= s->fixed && s->used && !s->local && optimise;
    }
    return true;
}

/* ------------------------------------------------- values of states that are fixed */

/* A copy of an array that the body writes to, as it is before the loop. */
static VarId copy_before(ThreadState *ts, const Loop *loop, VarId array)
{
    uint32_t own = 0;
    for (uint32_t i = 0; i < loop->body.effects.count; ++i) {
        uint32_t count;
        const VarId *targets = region_targets(loop->body.effects.ids[i], &count);
        while (count-- > 0)
            own += targets[count] == array;
    }
    TRY(var_pending(var_get(array)) == own || evaluate_all(ts), 0);
    return memory_duplicate(ts, array);
}

/* What takes the place of a placeholder; a new reference. */
static VarId fixed_value(ThreadState *ts, const Loop *loop, const LoopState *s)
{
    if (!s->initial)
        return copy_before(ts, loop, s->array);
    var_inc(s->initial);
    return s->initial;
}

static bool set_fixed(ThreadState *ts, const Loop *loop, RegionReplay *r)
{
    for (uint32_t i = 0; i < loop->count; ++i) {
        const LoopState *s = &loop->states[i];
        if (!s->fixed || !s->used || s->local)
            continue;
        VarId value = fixed_value(ts, loop, s);
        bool ok = value && region_replay_set(r, s->placeholder, value);
        var_drop(value);
        TRY(ok, false);
    }
    return true;
}

/* '*place' becomes what it was replaced by. */
static bool replace(RegionReplay *r, VarId *place)
{
    TRY(region_replay(r, *place), false);
    VarId now = region_replay_find(r, *place);
    var_inc(now);
    var_dec(*place);
    *place = now;
    return true;
}

/* Effects that change are recorded on the way, the others are then. */
static bool replace_effects(Loop *loop, RegionReplay *r)
{
    VarIds old = loop->body.effects;
    loop->body.effects = (VarIds){ 0 };
    bool ok = true;
    for (uint32_t i = 0; ok && i < old.count; ++i)
        ok = region_replay_effect(r, old.ids[i]);
    var_ids_drop(&old);
    return ok;
}

/* Have the values of states that never change in the body. */
static bool insert_fixed(ThreadState *ts, Loop *loop)
{
    RegionReplay r;
    TRY(region_replay_begin(&r, ts, loop->body.scope), false);
    r.in_place = true;
    bool ok = set_fixed(ts, loop, &r) && replace(&r, &loop->condition) &&
              replace_effects(loop, &r);
    for (uint32_t i = 0; ok && i < loop->count; ++i)
        ok = loop->states[i].fixed || replace(&r, &loop->states[i].next);
    for (uint32_t i = 0; i < loop->count; ++i) {
        LoopState *s = &loop->states[i];
        VarId now = region_replay_find(&r, s->placeholder);
        s->used &= !now || now == s->placeholder; /* else it is not there any more */
    }
    region_replay_end(&r);
    return ok;
}

/* Find states that never change, and what follows for the body. */
static bool simplify(ThreadState *ts, Loop *loop)
{
    bool pays;
    TRY(find_fixed(ts, loop, &pays), false);
    if (!pays)
        return true;
    TRY(insert_fixed(ts, loop) && find_fixed(ts, loop, &pays), false);
    const Var *condition = var_get(loop->condition);
    loop->never = condition->op == OP_LITERAL;
    if (loop->never && condition->value.literal)
        return error_set(JIT_ERROR_ARGUMENT, "jit_var_loop_end(): the condition of "
                         "loop '%s' is always true: it would never end",
                         loop->body.name);
    return true;
}

/* ------------------------------------------------------------------- sizes */

static bool find_size(const Loop *loop, uint32_t *size)
{
    RecordSize all = { "jit_var_loop_end(): loop", loop->body.name, loop->body.device,
                       1, { 0 } };
    TRY(record_join_size(&all, loop->mask, "the mask", 0) &&
        record_join_size(&all, loop->condition, "the condition", 0), false);
    for (uint32_t i = 0; i < loop->count; ++i) {
        const LoopState *s = &loop->states[i];
        TRY(s->fixed || (record_join_size(&all, s->initial, "initial state %u", i) &&
                         record_join_size(&all, s->next, "state %u", i)), false);
    }
    for (uint32_t i = 0; i < loop->body.effects.count; ++i)
        TRY(record_join_size(&all, loop->body.effects.ids[i], "side effect %u", i),
            false);
    *size = all.size;
    return true;
}

/* --------------------------------------------------------------------- end */

/* The lists of the region: states that change, and those that are used though they do
 * not. 'numbers' receives, for each state of the loop, which of the region it is
 * (UINT32_MAX: none). */
typedef struct Lists {
    VarId *inputs; /* owned; the other lists follow in the same memory */
    VarId *placeholders, *outputs;
    VarId *results; /* room for those of the loop */
    uint32_t *numbers;
    bool *fixed;
    uint32_t count;
} Lists;

static bool fill_lists(const Loop *loop, Lists *lists)
{
    uint32_t n = loop->count + 1; /* no array is empty */
    lists->inputs = alloc_get(n * (4 * sizeof(VarId) + sizeof(uint32_t) +
                                   sizeof(bool)));
    TRY(lists->inputs, false);
    lists->placeholders = lists->inputs + n;
    lists->outputs = lists->placeholders + n;
    lists->results = lists->outputs + n;
    lists->numbers = lists->results + n;
    lists->fixed = (bool *) (lists->numbers + n);
    for (uint32_t i = 0; i < loop->count; ++i) {
        const LoopState *s = &loop->states[i];
        bool alias = s->fixed && s->initial && s->used;
        lists->numbers[i] = UINT32_MAX;
        if (s->fixed && !alias)
            continue;
        uint32_t k = lists->count++;
        lists->numbers[i] = k;
        lists->inputs[k] = s->initial;
        lists->placeholders[k] = s->placeholder;
        lists->outputs[k] = s->fixed ? s->initial : s->next;
        lists->fixed[k] = s->fixed;
    }
    return true;
}

/* What goes into the region has to be readable: no writes to it may be pending. */
static bool check_usable(ThreadState *ts, const Lists *lists)
{
    static const char *const function = "jit_var_loop_end()";
    for (uint32_t i = 0; i < lists->count; ++i) {
        if (var_get(lists->inputs[i])->flags & VAR_LOCAL)
            continue;
        TRY(node_usable(ts, lists->inputs[i], function, "an initial state"), false);
        TRY(node_usable(ts, lists->outputs[i], function, "a state"), false);
    }
    return true;
}

/* What a state is after a loop that does not change it: what a write went to. */
static VarId unchanged(const LoopState *s)
{
    return s->whole || !s->initial ? s->array : s->initial;
}

/* The result of state 'i'; a new reference. */
static VarId result_of(ThreadState *ts, const Loop *loop, uint32_t i, VarId region,
                       const Lists *lists)
{
    const LoopState *s = &loop->states[i];
    if (s->fixed) {
        VarId id = unchanged(s);
        var_inc(id);
        return id;
    }
    return region_result(ts, region, lists->numbers[i]);
}

/* Replace values[] by the results. */
static bool give_results(ThreadState *ts, const Loop *loop, VarId region,
                         const Lists *lists, VarId *values)
{
    VarId *results = lists->results;
    uint32_t made = 0;
    while (made < loop->count &&
           (results[made] = result_of(ts, loop, made, region, lists)) != 0)
        made++;
    bool ok = made == loop->count;
    if (ok && region_is_effect(var_get(region))) {
        ok = record_effect(ts, region);
        if (ok)
            var_inc(region);
    }
    for (uint32_t i = 0; i < made; ++i)
        if (ok) {
            var_dec(values[i]);
            values[i] = results[i];
        } else {
            var_dec(results[i]);
        }
    return ok;
}

static bool finish(ThreadState *ts, Loop *loop, uint32_t size, const Lists *lists,
                   VarId *values)
{
    RecordedBody body = { .effects = loop->body.effects,
                          .outputs = { lists->outputs, lists->count, 0 },
                          .scope = loop->body.scope };
    RegionSpec spec = {
        .kind = REGION_LOOP, .device = loop->body.device, .name = loop->body.name,
        .size = size, .scope = loop->body.scope, .fixed = lists->fixed,
        .bodies = &body, .body_count = 1,
        .parts = { [PART_MASK] = { &loop->mask, 1 },
                   [PART_INPUTS] = { lists->inputs, lists->count },
                   [PART_CONDITION] = { &loop->condition, 1 },
                   [PART_STATES] = { lists->placeholders, lists->count },
                   [PART_ACTIVE] = { loop->active, 2 } }
    };
    VarId region = region_expand(ts, region_make(ts, &spec));
    TRY(region, false);
    bool ok = give_results(ts, loop, region, lists, values);
    var_dec(region);
    return ok;
}

/* The condition is false: the results are the initial values, or what the caller has
 * where everything is evaluated. */
static int end_never(ThreadState *ts, Loop *loop, VarId *values)
{
    for (uint32_t i = 0; i < loop->count; ++i) {
        const LoopState *s = &loop->states[i];
        if (loop->evaluated && !s->given)
            continue;
        VarId id = loop->evaluated ? s->given : unchanged(s);
        var_inc(id);
        var_dec(values[i]);
        values[i] = id;
    }
    region_replaced_all(&loop->body.effects);
    bool ok = (!loop->lanes || loop_compress_end(ts, loop, values));
    ok = record_close(ts, &loop->body, "jit_var_loop_end()") && ok;
    free_loop(loop);
    return ok ? 1 : -1;
}

int loop_end(ThreadState *ts, uint32_t handle, VarId *values)
{
    Loop *loop = find_loop(ts, handle, "jit_var_loop_end()");
    TRY(loop, -1);
    if (loop->never)
        return end_never(ts, loop, values);
    bool ok = loop->condition ||
              error_set(JIT_ERROR_STATE, "jit_var_loop_end(): loop '%s' has no "
                        "condition", loop->body.name);
    for (uint32_t i = 0; ok && i < loop->count; ++i)
        ok = check_output(ts, loop, i, values[i]);
    if (ok && loop->evaluated)
        return loop_evaluated_end(ts, loop, values) ? 0 : fail(ts, loop);
    for (uint32_t i = 0; ok && i < loop->count; ++i) {
        loop->states[i].next = values[i];
        var_inc(values[i]);
    }
    ok = ok && simplify(ts, loop);
    if (ok && loop->never)
        return end_never(ts, loop, values);
    uint32_t size;
    Lists lists = { 0 };
    ok = ok && find_size(loop, &size) && fill_lists(loop, &lists) &&
         check_usable(ts, &lists);
    if (!ok) {
        alloc_free(lists.inputs);
        return fail(ts, loop);
    }
    ok = record_close(ts, &loop->body, "jit_var_loop_end()") &&
         finish(ts, loop, size, &lists, values);
    alloc_free(lists.inputs);
    free_loop(loop);
    return ok ? 1 : -1;
}
