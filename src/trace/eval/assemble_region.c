/*
 * assemble_region.c -- see assemble_region.h
 */
#include "trace/eval/assemble_region.h"

#include <string.h>

#include "base/error.h"
#include "base/vec.h"
#include "trace/eval/call_merge.h"
#include "trace/graph/region.h"

enum { PHASES = 3 }; /* marks of structure: REGION, TEST or ELSE, END */

static TraceRegion *region_record(VarId id) { return var_get(id)->region; }

/* Operand 'k' of a list of a region. */
static VarId item(const Var *v, RegionPart part, uint32_t k)
{
    return v->value.list->ids[v->region->parts[part].first + k];
}

/* ----------------------------------------------------------------- marking */

static bool mark(Assembly *b, VarId id)
{
    Var *v = var_get(id);
    if (v->stamp == b->mark_stamp)
        return true;
    v->stamp = b->mark_stamp;
    if (b->call_preview && v->scope < b->call_preview->scope)
        return true;
    TRY(vec_reserve(&b->work, &b->work_capacity, b->work_count + 1, sizeof(VarId)),
        false);
    b->work[b->work_count++] = id;
    return true;
}

static bool mark_all(Assembly *b, const VarId *ids, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
        if (ids[i])
            TRY(mark(b, ids[i]), false);
    return true;
}

static bool mark_part(Assembly *b, const Var *v, RegionPart part)
{
    uint32_t count;
    const VarId *ids = region_part(v, part, &count);
    return mark_all(b, ids, count);
}

/* The fields of a region that belong to this walk. */
static TraceRegion *begin_region(Assembly *b, VarId id)
{
    TraceRegion *region = region_record(id);
    if (region->stamp != b->mark_stamp) {
        region->stamp = b->mark_stamp;
        region->phase = 0;
        uint32_t states = region->parts[PART_STATES].count;
        memset(region->needed, 0, states > region->count ? states : region->count);
    }
    return region;
}

static bool need_state(Assembly *b, VarId id, uint32_t which)
{
    const Var *v = var_get(id);
    TraceRegion *region = begin_region(b, id);
    if (region->needed[which] & NEEDED_STATE)
        return true;
    region->needed[which] |= NEEDED_STATE;
    TRY(mark(b, item(v, PART_INPUTS, which)), false);
    return region->kind != REGION_LOOP || region->fixed[which] ||
           mark(b, region_output(v, 0, which));
}

static bool need_result(Assembly *b, VarId id, uint32_t which)
{
    const Var *v = var_get(id);
    TraceRegion *region = begin_region(b, id);
    region->needed[which] |= NEEDED_RESULT;
    TRY(mark(b, id), false);
    switch (region->kind) {
    case REGION_LOOP:
        return need_state(b, id, which);
    default:
        for (uint32_t c = 0; c < region->body_count; ++c)
            TRY(mark(b, region_output(v, c, which)), false);
        return true;
    }
}

/* What a region needs in any case. */
static bool mark_region(Assembly *b, VarId id)
{
    const Var *v = var_get(id);
    begin_region(b, id);
    TRY(mark_part(b, v, PART_MASK) && mark_part(b, v, PART_CONDITION), false);
    for (uint32_t i = 0; i < v->region->body_count; ++i) {
        RegionList effects = v->region->bodies[i].effects;
        TRY(mark_all(b, region_list(v, effects), effects.count), false);
    }
    const CallInfo *call = region_record(id)->call;
    return !call || !call->slot_count ||
           mark(b, item(var_get(id), PART_STATES, call->offset_state));
}

static bool mark_operands(Assembly *b, VarId id)
{
    const Var *v = var_get(id);
    uint32_t count;
    switch (v->op) {
    case OP_REGION: return mark_region(b, id);
    case OP_RESULT: return need_result(b, v->dep[0], v->aux);
    case OP_POINTER: return true;
    case OP_STATE: /* of a region that is gone: an error when it is to be emitted */
        return !region_of(id) || need_state(b, region_of(id), v->aux);
    default: {
        const VarId *ids = var_operands(v, &count);
        return mark_all(b, ids, count);
    }
    }
}

bool assemble_region_mark(Assembly *b, const Group *group)
{
    b->mark_stamp = 0;
    if (!region_live)
        return true;
    b->mark_stamp = var_new_stamp();
    b->work_count = 0;
    for (uint32_t i = 0; i < group->root_count; ++i) {
        VarId id = group->roots[i];
        TRY(mark(b, id), false);
        /* A region with effects runs once: all results that exist are stored. */
        if (var_get(id)->op != OP_REGION)
            continue;
        TRY(!b->call_preview || mark_region(b, id), false);
        const TraceRegion *region = region_record(id);
        for (uint32_t k = 0; k < region->count; ++k)
            if (region->results[k] || b->call_preview)
                TRY(need_result(b, id, k), false);
    }
    while (b->work_count)
        TRY(mark_operands(b, b->work[--b->work_count]), false);
    return true;
}

/* ---------------------------------------------------------- bodies in progress */

bool assemble_region_note(Assembly *b, VarId id)
{
    TRY(vec_reserve(&b->inside, &b->inside_capacity, b->inside_count + 1,
                    sizeof(VarId)), false);
    b->inside[b->inside_count++] = id;
    return true;
}

/* What has been emitted in a body since then is not there any more. */
void assemble_region_forget(Assembly *b, uint32_t from)
{
    while (b->inside_count > from)
        var_get(b->inside[--b->inside_count])->stamp = b->mark_stamp;
}

/* The body of a loop, or one side of a conditional, is complete. */
static void leave_body(Assembly *b)
{
    assemble_region_forget(b, b->open[b->open_count - 1].inside);
    if (b->call_count)
        assemble_call_body_ended(b);
}

static bool set_position(Assembly *b, VarId id, uint32_t position)
{
    TRY(position != PROGRAM_NONE, false);
    var_get(id)->stamp = b->stamp;
    var_get(id)->position = position;
    return !b->bodies || assemble_region_note(b, id);
}

/* ------------------------------------------------------------------- marks */

/* Operands of a mark. */
static bool add_word(Assembly *b, uint32_t *count, uint32_t position)
{
    TRY(vec_reserve(&b->words, &b->word_capacity, *count + 1, sizeof(uint32_t)), false);
    b->words[(*count)++] = position;
    return true;
}

/* Does the body have to compute result or state number k? */
static bool is_computed(const TraceRegion *region, uint32_t k)
{
    return region->kind == REGION_LOOP
               ? (region->needed[k] & NEEDED_STATE) && !region->fixed[k]
               : (region->needed[k] & NEEDED_RESULT) != 0;
}

/* Is it part of the Program's region? Local arrays are not (local_plan.h). */
static bool is_present(const Var *v, uint32_t k)
{
    return is_computed(v->region, k) &&
           (v->region->kind == REGION_CALL ||
            !(var_get(region_output(v, 0, k))->flags & VAR_LOCAL));
}

/* The mask of the body that ends, if local arrays need it. */
static bool add_active(Assembly *b, const Var *v, uint32_t *active)
{
    *active = PROGRAM_NONE;
    if (!local_plan_moves(b, b->stamp))
        return true;
    *active = program_add(b->program, OP_ACTIVE, VarTypeBool, v->region->number, 0,
                          NULL);
    return *active != PROGRAM_NONE;
}

/* Positions of those entries of a list that are present. */
static bool add_present(Assembly *b, const Var *v, RegionList list, uint32_t *count)
{
    for (uint32_t k = 0; k < v->region->count; ++k)
        if (is_present(v, k))
            TRY(add_word(b, count, var_get(region_list(v, list)[k])->position), false);
    return true;
}

static bool add_states(Assembly *b, const Var *v)
{
    const TraceRegion *region = v->region;
    uint32_t number = 0, count = region->parts[PART_STATES].count;
    for (uint32_t k = 0; k < count; ++k) {
        VarId id = item(v, PART_STATES, k);
        if (!(region->needed[k] & NEEDED_STATE))
            continue;
        uint32_t position = var_get(item(v, PART_INPUTS, k))->position;
        if (var_get(id)->flags & VAR_LOCAL)
            position = var_get(id)->position;
        else if (region->kind == REGION_LOOP && !region->fixed[k])
            position = program_add(b->program, OP_STATE, (VarType) var_get(id)->type,
                                   number++, 0, NULL);
        TRY(set_position(b, id, position), false);
    }
    return true;
}

static bool begin_body(Assembly *b, VarId id)
{
    const Var *v = var_get(id);
    TraceRegion *region = v->region;
    uint32_t count = 0;
    TRY(local_plan_enter(b, id, b->stamp), false);
    TRY(add_word(b, &count, var_get(item(v, PART_MASK, 0))->position), false);
    if (region->kind == REGION_IF)
        TRY(add_word(b, &count, var_get(item(v, PART_CONDITION, 0))->position), false);
    else
        TRY(add_present(b, v, region->parts[PART_INPUTS], &count), false);
    region->number =
        program_add_region(b->program, region->kind, count, b->words, 0, NULL);
    TRY(region->number != PROGRAM_NONE, false);
    b->open[b->open_count - 1].inside = b->inside_count;
    b->bodies++;
    return add_states(b, v);
}

static bool middle_of_body(Assembly *b, const Var *v)
{
    uint32_t count = 0, active;
    bool loop = v->region->kind == REGION_LOOP;
    if (loop) {
        TRY(add_word(b, &count, var_get(item(v, PART_CONDITION, 0))->position), false);
    } else {
        TRY(add_present(b, v, v->region->bodies[0].outputs, &count), false);
        TRY(add_active(b, v, &active) && local_plan_else(b, active, b->stamp), false);
        leave_body(b);
    }
    return program_add(b->program, loop ? OP_TEST : OP_ELSE, VarTypeVoid,
                       v->region->number, count, b->words) != PROGRAM_NONE;
}

static bool add_results(Assembly *b, const Var *v)
{
    TraceRegion *region = v->region;
    uint32_t number = 0;
    for (uint32_t k = 0; k < region->count; ++k) {
        const Var *output = var_get(region_output(v, 0, k));
        if (region->needed[k] & NEEDED_RESULT && !(output->flags & VAR_LOCAL)) {
            VarType type = (VarType) output->type;
            region->positions[k] =
                program_add(b->program, OP_RESULT, type, number, 0, NULL);
            TRY(region->positions[k] != PROGRAM_NONE, false);
        }
        number += is_present(v, k);
    }
    return true;
}

static bool end_body(Assembly *b, VarId id)
{
    const Var *v = var_get(id);
    uint32_t count = 0, active;
    const RegionBody *last = &v->region->bodies[v->region->body_count - 1];
    TRY(add_present(b, v, last->outputs, &count), false);
    TRY(add_active(b, v, &active) && local_plan_leave(b, active, b->stamp), false);
    uint32_t end = program_add(b->program, OP_END, VarTypeVoid, v->region->number,
                               count, b->words);
    leave_body(b);
    b->open_count--;
    b->bodies--;
    return set_position(b, id, end) && add_results(b, v);
}

bool assemble_region_results(Assembly *b, VarId id)
{
    const Var *v = var_get(id);
    return set_position(b, id, b->program->regions[v->region->number].end) &&
           add_results(b, v);
}

/* -------------------------------------------------------------------- steps */

static bool in_list(RegionList list, uint32_t index, uint32_t *k)
{
    *k = index - list.first;
    return *k < list.count;
}

/* Does operand 'index' of a region need no visit before the next mark? */
static bool skips(const Assembly *b, const Var *v, uint32_t index)
{
    const TraceRegion *region = v->region;
    const Var *operand = var_get(v->value.list->ids[index]);
    uint32_t k;
    if (operand->stamp == b->stamp)
        return true;
    if (in_list(region->parts[PART_READS], index, &k))
        /* Arrays are loaded on the side of the conditional that needs them. */
        return operand->stamp != b->mark_stamp ||
               (region->kind == REGION_IF && operand->op == OP_EVALUATED);
    if (in_list(region->parts[PART_INPUTS], index, &k))
        return !(region->needed[k] & NEEDED_STATE);
    for (uint32_t i = 0; i < region->body_count; ++i)
        if (in_list(region->bodies[i].outputs, index, &k))
            return !is_computed(region, k);
    return false;
}

/* Operands before mark of structure number 'phase'. */
static uint32_t phase_end(const TraceRegion *region, uint32_t phase)
{
    if (phase == 0)
        return region->outside;
    const RegionBody *last = &region->bodies[region->body_count - 1];
    return phase == 1 ? last->effects.first : last->outputs.first + last->outputs.count;
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
    TRY(vec_reserve(&b->open, &b->open_capacity, b->open_count + 1, sizeof(OpenRegion)),
        false);
    b->open[b->open_count++] = (OpenRegion){ b->inside_count };
    v->region->phase = 0;
    return true;
}

bool assemble_region_step(Assembly *b, VarId id, uint32_t *next, VarId *operand)
{
    const Var *v = var_get(id);
    TraceRegion *region = v->region;
    if (*next == 0)
        TRY(enter(b, id), false);
    if (region->kind == REGION_CALL)
        return assemble_call_step(b, id, next, operand);
    while (region->phase < PHASES) {
        while (*next < phase_end(region, region->phase)) {
            uint32_t index = (*next)++;
            if (skips(b, v, index))
                continue;
            *operand = v->value.list->ids[index];
            return true;
        }
        if (region->phase == 0) {
            TRY(local_plan_before(b, id, b->stamp, operand), false);
            if (*operand)
                return true;
        }
        /* The phase counts first: ACTIVE may be emitted from here on. */
        switch (region->phase++) {
        case 0: TRY(begin_body(b, id), false); break;
        case 1: TRY(middle_of_body(b, v), false); break;
        default: TRY(end_body(b, id), false); break;
        }
    }
    *operand = 0;
    return true;
}

/* ------------------------------------------------------------- placeholders */

/* Is the body, or the side of it, open in which this ACTIVE means something? */
static bool is_current(const Assembly *b, const Var *active, const TraceRegion *region)
{
    if (region->stamp != b->mark_stamp || region->phase == 0 ||
        region->phase == PHASES)
        return false;
    if (region->kind == REGION_LOOP)
        return active->aux < region->phase;
    return active->aux + 1 == region->phase;
}

uint32_t assemble_region_placeholder(Assembly *b, VarId id)
{
    const Var *v = var_get(id);
    VarId region = region_of(id);
    if (v->op == OP_RESULT)
        return region_record(region)->positions[v->aux];
    if (v->op == OP_ACTIVE && region && is_current(b, v, region_record(region)))
        return program_add(b->program, OP_ACTIVE, VarTypeBool,
                           region_record(region)->number, 0, NULL);
    char name[150];
    extra_describe(id, name, sizeof(name));
    error_set(JIT_ERROR_STATE,
              "jit_eval(): the computation uses %s, which belongs to the body of a "
              "loop, conditional or call and has no value outside of it",
              name);
    return PROGRAM_NONE;
}
