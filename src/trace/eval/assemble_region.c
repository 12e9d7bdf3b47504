/*
 * assemble_region.c -- see assemble_region.h
 */
#include "trace/eval/assemble_region.h"

#include <string.h>

#include "base/error.h"
#include "base/vec.h"
#include "trace/eval/assemble_call.h"
#include "trace/graph/region.h"
#include "trace/graph/region_walk.h"

/* A region is emitted in phases. The first has what comes from outside, each further
 * one a body; that of a loop takes two, its condition and the rest. At the end of each
 * is a mark of structure: REGION, TEST or ELSE, END; in a call, that of a callable. */
static uint32_t count_phases(const TraceRegion *region)
{
    return region->kind == REGION_LOOP ? 3 : 1 + region->body_count;
}

/* Operand 'k' of a list of a region. */
static VarId item(const Var *v, RegionPart part, uint32_t k)
{
    return v->value.list->ids[v->region->parts[part].first + k];
}

static NeededRegion *needed_region(const Assembly *b, VarId id)
{
    return &b->regions[marks_get(b->needed, id)];
}

uint8_t *assemble_region_flags(const Assembly *b, VarId id)
{
    return b->flags + needed_region(b, id)->flags;
}

/* ----------------------------------------------------------------- marking */

static bool mark_list(RegionWalk *w, VarId id, RegionList list)
{
    return region_walk_into(w, id, list.first, list.first + list.count);
}

static bool need_state(Assembly *b, RegionWalk *w, VarId id, uint32_t which)
{
    const TraceRegion *region = var_get(id)->region;
    uint8_t *flags = assemble_region_flags(b, id);
    if (flags[which] & NEEDED_STATE)
        return true;
    flags[which] |= NEEDED_STATE;
    uint32_t input = region->parts[PART_INPUTS].first + which;
    uint32_t output = region->bodies[0].outputs.first + which;
    bool changes = region->kind == REGION_LOOP && !region->fixed[which];
    return region_walk_into(w, id, input, input + 1) &&
           (!changes || region_walk_into(w, id, output, output + 1));
}

static bool need_result(Assembly *b, RegionWalk *w, VarId id, uint32_t which)
{
    const TraceRegion *region = var_get(id)->region;
    assemble_region_flags(b, id)[which] |= NEEDED_RESULT;
    if (region->kind == REGION_LOOP)
        return need_state(b, w, id, which);
    for (uint32_t i = 0; i < region->body_count; ++i) {
        uint32_t output = region->bodies[i].outputs.first + which;
        TRY(region_walk_into(w, id, output, output + 1), false);
    }
    return true;
}

/* A region, and what it needs in any case. */
static bool need_region(Assembly *b, RegionWalk *w, VarId id)
{
    const TraceRegion *region = var_get(id)->region;
    uint32_t states = region->parts[PART_STATES].count;
    uint32_t count = states > region->count ? states : region->count;
    TRY(vec_reserve(&b->regions, &b->region_capacity, b->region_count + 1,
                    sizeof(NeededRegion)), false);
    TRY(vec_reserve(&b->flags, &b->flag_capacity, b->flag_count + count + 1, 1), false);
    marks_set(w->marks, id, b->region_count);
    b->regions[b->region_count++] = (NeededRegion){ .flags = b->flag_count };
    memset(b->flags + b->flag_count, 0, count);
    b->flag_count += count;
    TRY(mark_list(w, id, region->parts[PART_MASK]), false);
    TRY(mark_list(w, id, region->parts[PART_CONDITION]), false);
    for (uint32_t i = 0; i < region->body_count; ++i)
        TRY(mark_list(w, id, region->bodies[i].effects), false);
    return true;
}

static bool mark_variable(Assembly *b, RegionWalk *w, VarId id)
{
    const Var *v = var_get(id);
    switch (v->op) {
    case OP_REGION:
        return need_region(b, w, id);
    case OP_RESULT:
        if (!marks_has(w->marks, v->dep[0]))
            TRY(need_region(b, w, v->dep[0]), false);
        return need_result(b, w, v->dep[0], v->aux);
    case OP_STATE: /* of one that is gone: an error when it is to be emitted */
        return !region_of(id) || need_state(b, w, region_of(id), v->aux);
    default:
        return region_walk_operands(w, id);
    }
}

static bool mark(Assembly *b, RegionWalk *w)
{
    VarId id;
    while ((id = region_walk_next(w)) != 0)
        TRY(mark_variable(b, w, id), false);
    return true;
}

/* A region with effects runs once: all results that exist are stored. */
static bool mark_root(Assembly *b, RegionWalk *w, VarId id)
{
    const Var *v = var_get(id);
    region_walk_from(w, id);
    TRY(mark(b, w), false);
    for (uint32_t k = 0; v->op == OP_REGION && k < v->region->count; ++k)
        if (v->region->results[k])
            TRY(need_result(b, w, id, k) && mark(b, w), false);
    return true;
}

bool assemble_region_mark(Assembly *b, const Group *group)
{
    b->region_count = b->flag_count = 0;
    if (!region_live)
        return true;
    RegionWalk w;
    TRY(region_walk_begin(&w), false);
    b->needed = w.marks;
    bool ok = true;
    for (uint32_t i = 0; ok && i < group->root_count; ++i)
        ok = mark_root(b, &w, group->roots[i]);
    region_walk_take(&w);
    return ok;
}

/* ---------------------------------------------------------- bodies in progress */

bool assemble_region_note(Assembly *b, VarId id)
{
    TRY(vec_reserve(&b->inside, &b->inside_capacity, b->inside_count + 1,
                    sizeof(VarId)), false);
    b->inside[b->inside_count++] = id;
    return true;
}

/* The body of a loop, or one side of a conditional, is complete: what has been emitted
 * in it is not there any more. */
static void leave_body(Assembly *b)
{
    uint32_t from = b->open[b->open_count - 1];
    while (b->inside_count > from)
        marks_drop(b->places, b->inside[--b->inside_count]);
}

/* ------------------------------------------------------------------- marks */

/* Operands of a mark. */
static bool add_word(Assembly *b, uint32_t *count, VarId id)
{
    TRY(vec_reserve(&b->words, &b->word_capacity, *count + 1, sizeof(uint32_t)), false);
    b->words[(*count)++] = assemble_position(b, id);
    return true;
}

/* Does the body have to compute result or state number k? */
static bool is_computed(const Assembly *b, VarId id, uint32_t k)
{
    const TraceRegion *region = var_get(id)->region;
    uint8_t flags = assemble_region_flags(b, id)[k];
    return region->kind == REGION_LOOP ? flags & NEEDED_STATE && !region->fixed[k]
                                       : (flags & NEEDED_RESULT) != 0;
}

/* Is it part of the Program's region? Local arrays are not (local_plan.h). */
static bool is_present(const Assembly *b, VarId id, uint32_t k)
{
    const Var *v = var_get(id);
    return is_computed(b, id, k) &&
           (v->region->kind == REGION_CALL ||
            !(var_get(region_output(v, 0, k))->flags & VAR_LOCAL));
}

/* Those entries of a list that are present. */
static bool add_present(Assembly *b, VarId id, RegionList list, uint32_t *count)
{
    const Var *v = var_get(id);
    for (uint32_t k = 0; k < v->region->count; ++k)
        if (is_present(b, id, k))
            TRY(add_word(b, count, region_list(v, list)[k]), false);
    return true;
}

/* Put the local arrays of the body that ends into their places. */
static bool settle_arrays(Assembly *b, VarId id)
{
    uint32_t active = PROGRAM_NONE;
    if (local_plan_moves(b)) {
        active = program_add(b->program, OP_ACTIVE, VarTypeBool,
                             needed_region(b, id)->number, 0, NULL);
        TRY(active != PROGRAM_NONE, false);
    }
    return local_plan_settle(b, active);
}

bool assemble_region_outputs(Assembly *b, VarId id, uint32_t body, uint32_t *count)
{
    *count = 0;
    return add_present(b, id, var_get(id)->region->bodies[body].outputs, count);
}

static bool add_states(Assembly *b, VarId id)
{
    const Var *v = var_get(id);
    const TraceRegion *region = v->region;
    uint32_t number = 0, count = region->parts[PART_STATES].count;
    for (uint32_t k = 0; k < count; ++k) {
        VarId placeholder = item(v, PART_STATES, k);
        VarType type = (VarType) var_get(placeholder)->type;
        if (!(assemble_region_flags(b, id)[k] & NEEDED_STATE))
            continue;
        uint32_t position = assemble_position(b, item(v, PART_INPUTS, k));
        if (var_get(placeholder)->flags & VAR_LOCAL)
            position = assemble_position(b, placeholder);
        else if (region->kind == REGION_LOOP && !region->fixed[k])
            position = program_add(b->program, OP_STATE, type, number++, 0, NULL);
        TRY(assemble_place(b, placeholder, position), false);
    }
    return true;
}

static bool begin_body(Assembly *b, VarId id)
{
    const Var *v = var_get(id);
    const TraceRegion *region = v->region;
    uint32_t count = 0;
    TRY(local_plan_enter(b, id), false);
    TRY(add_word(b, &count, item(v, PART_MASK, 0)), false);
    if (region->kind == REGION_IF)
        TRY(add_word(b, &count, item(v, PART_CONDITION, 0)), false);
    else
        TRY(add_present(b, id, region->parts[PART_INPUTS], &count), false);
    uint32_t number =
        program_add_region(b->program, region->kind, count, b->words, 0, NULL);
    TRY(number != PROGRAM_NONE, false);
    needed_region(b, id)->number = number;
    b->open[b->open_count - 1] = b->inside_count;
    b->bodies++;
    return add_states(b, id);
}

static bool middle_of_body(Assembly *b, VarId id)
{
    const Var *v = var_get(id);
    uint32_t count = 0;
    bool loop = v->region->kind == REGION_LOOP;
    if (loop) {
        TRY(add_word(b, &count, item(v, PART_CONDITION, 0)), false);
    } else {
        TRY(add_present(b, id, v->region->bodies[0].outputs, &count), false);
        TRY(settle_arrays(b, id), false);
        local_plan_else(b);
        leave_body(b);
    }
    return program_add(b->program, loop ? OP_TEST : OP_ELSE, VarTypeVoid,
                       needed_region(b, id)->number, count, b->words) != PROGRAM_NONE;
}

static bool add_results(Assembly *b, VarId id)
{
    const Var *v = var_get(id);
    uint32_t number = 0;
    for (uint32_t k = 0; k < v->region->count; ++k) {
        const Var *output = var_get(region_output(v, 0, k));
        bool needed = assemble_region_flags(b, id)[k] & NEEDED_RESULT;
        if (needed && !(output->flags & VAR_LOCAL))
            TRY(assemble_place(b, v->region->results[k],
                               program_add(b->program, OP_RESULT,
                                           (VarType) output->type, number, 0, NULL)),
                false);
        number += is_present(b, id, k);
    }
    return true;
}

static bool end_body(Assembly *b, VarId id)
{
    const TraceRegion *region = var_get(id)->region;
    uint32_t count = 0;
    TRY(add_present(b, id, region->bodies[region->body_count - 1].outputs, &count),
        false);
    TRY(settle_arrays(b, id), false);
    uint32_t end = program_add(b->program, OP_END, VarTypeVoid,
                               needed_region(b, id)->number, count, b->words);
    leave_body(b);
    b->open_count--;
    b->bodies--;
    return assemble_place(b, id, end) && local_plan_leave(b) && add_results(b, id);
}

bool assemble_region_added(Assembly *b, VarId id, uint32_t number)
{
    TRY(number != PROGRAM_NONE, false);
    b->open_count--;
    return assemble_place(b, id, b->program->regions[number].end) && add_results(b, id);
}

/* -------------------------------------------------------------------- steps */

static bool in_list(RegionList list, uint32_t index, uint32_t *k)
{
    *k = index - list.first;
    return *k < list.count;
}

/* Does operand 'index' of a region need no visit before the next mark? */
static bool skips(const Assembly *b, VarId id, uint32_t index)
{
    const Var *v = var_get(id);
    const TraceRegion *region = v->region;
    VarId operand = v->value.list->ids[index];
    uint32_t k;
    if (marks_has(b->places, operand))
        return true;
    if (in_list(region->parts[PART_READS], index, &k))
        /* Arrays are loaded on the side of the conditional that needs them, and
         * callables have literals and pointers of their own. */
        switch (var_get(operand)->op) {
        case OP_EVALUATED:
            return region->kind == REGION_IF || !assemble_region_needs(b, operand);
        case OP_LITERAL:
        case OP_POINTER:
            return region->kind == REGION_CALL || !assemble_region_needs(b, operand);
        default:
            return !assemble_region_needs(b, operand);
        }
    if (in_list(region->parts[PART_INPUTS], index, &k))
        return !(assemble_region_flags(b, id)[k] & NEEDED_STATE);
    for (uint32_t i = 0; i < region->body_count; ++i)
        if (in_list(region->bodies[i].outputs, index, &k))
            return !is_computed(b, id, k);
    return false;
}

/* Operands up to the end of a phase. */
static uint32_t phase_end(const TraceRegion *region, uint32_t phase)
{
    if (phase == 0)
        return region->outside;
    if (region->kind == REGION_LOOP && phase == 1)
        return region->bodies[0].effects.first;
    uint32_t body = region->kind == REGION_LOOP ? 0 : phase - 1;
    RegionList outputs = region->bodies[body].outputs;
    return outputs.first + outputs.count;
}

static bool end_phase(Assembly *b, VarId id, uint32_t phase)
{
    if (var_get(id)->region->kind == REGION_CALL)
        return assemble_call_phase(b, id, phase);
    return phase == 0   ? begin_body(b, id)
           : phase == 1 ? middle_of_body(b, id)
                        : end_body(b, id);
}

/* A region begins: it is on top of the open ones. */
static bool enter(Assembly *b, VarId id)
{
    const Var *v = var_get(id);
    if (region_is_effect(v) && !(v->flags & VAR_RUNNING) && !b->bodies && !b->preview)
        return error_set(JIT_ERROR_STATE,
                         "jit_eval(): the computation uses a result of '%s', a loop, "
                         "conditional or call with side effects that has yet to run: "
                         "it belongs to a recording that is open, or to another thread",
                         v->region->name ? v->region->name : "unnamed");
    TRY(vec_reserve(&b->open, &b->open_capacity, b->open_count + 1, sizeof(uint32_t)),
        false);
    b->open[b->open_count++] = b->inside_count;
    needed_region(b, id)->phase = 0;
    return true;
}

bool assemble_region_step(Assembly *b, VarId id, uint32_t *next, VarId *operand)
{
    const Var *v = var_get(id);
    const TraceRegion *region = v->region;
    if (*next == 0)
        TRY(enter(b, id), false);
    NeededRegion *needed = needed_region(b, id);
    while (needed->phase < count_phases(region)) {
        while (*next < phase_end(region, needed->phase)) {
            uint32_t index = (*next)++;
            if (skips(b, id, index))
                continue;
            *operand = v->value.list->ids[index];
            return true;
        }
        if (needed->phase == 0 && region->kind != REGION_CALL) {
            TRY(local_plan_before(b, id, operand), false);
            if (*operand)
                return true;
        }
        /* The phase counts first: ACTIVE may be emitted from here on. */
        uint32_t phase = needed->phase++;
        TRY(end_phase(b, id, phase), false);
    }
    *operand = 0;
    return true;
}

/* ------------------------------------------------------------- placeholders */

/* Is the body, or the side of it, open in which this ACTIVE means something? */
static bool is_current(const Assembly *b, const Var *active, VarId region)
{
    uint32_t phase = marks_has(b->needed, region) ? needed_region(b, region)->phase : 0;
    const TraceRegion *r = var_get(region)->region;
    if (phase == 0 || phase == count_phases(r) || r->kind == REGION_CALL)
        return false;
    if (r->kind == REGION_LOOP)
        return active->aux < phase;
    return active->aux + 1 == phase;
}

uint32_t assemble_region_placeholder(Assembly *b, VarId id)
{
    const Var *v = var_get(id);
    VarId region = region_of(id);
    if (v->op == OP_RESULT)
        return assemble_position(b, id);
    if (v->op == OP_ACTIVE && region && is_current(b, v, region))
        return program_add(b->program, OP_ACTIVE, VarTypeBool,
                           needed_region(b, region)->number, 0, NULL);
    char name[150];
    extra_describe(id, name, sizeof(name));
    error_set(JIT_ERROR_STATE,
              "jit_eval(): the computation uses %s, which belongs to the body of a "
              "loop, conditional or call and has no value outside of it",
              name);
    return PROGRAM_NONE;
}
