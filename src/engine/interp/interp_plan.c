/*
 * interp_plan.c -- scans of a Program before its steps are made
 *
 *   1. regions   which region each one stands in
 *   2. roots     which instruction holds the value of each position (reinterpretations
 *                and packet items have no step: they name a register of their operand)
 *   3. hoisting  uniform values are computed once per launch
 *   4. last uses the last position that needs each value
 *
 * All are linear. A loop runs its body again: a value from outside that is used in it
 * lives to the end of the outermost loop that it stands outside of, and hangs on that
 * loop's list.
 *
 * Hoisted values stay in their registers for the whole launch. With very many literals
 * that would be more memory than the caches hold; so after HOIST_MOST of them,
 * constants are written into a temporary register right before each use instead, and
 * other uniform values are treated like any value.
 */
#include "engine/interp/interp_plan.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"

enum { HOIST_MOST = 256 };

void interp_plan_select(Builder *b, Unit *unit)
{
    b->unit = unit;
    b->program = unit->program;
    b->places = unit->places;
}

static bool is_uniform(const Inst *inst)
{
    return interp_plan_is_constant(inst) || (inst->flags & INST_UNIFORM);
}

/* Is the result the unchanged operand? Masks are 0 or 1, which other bytes need not be.
 * */
static bool is_alias(const Program *p, const Inst *inst)
{
    if (inst->op == OP_PACKET_ITEM)
        return true;
    if (inst->op != OP_CAST && inst->op != OP_BITCAST)
        return false;
    const TypeInfo *to = &type_info[inst->type];
    const TypeInfo *from = &type_info[p->insts[inst->arg[0]].type];
    if (inst->type == p->insts[inst->arg[0]].type)
        return true;
    if (inst->type == VarTypeBool || to->size != from->size)
        return false;
    return inst->op == OP_BITCAST ||
           (to->is_integer && from->is_integer && !to->is_float && !from->is_float);
}

/* ---- regions */

/* The number of states of all loops. */
static uint32_t plan_regions(Builder *b)
{
    const Program *p = b->program;
    Flow *flows = b->unit->flows;
    uint32_t open = PROGRAM_NONE, states = 0;
    for (uint32_t i = 0; i < p->region_count; ++i) {
        const Region *region = &p->regions[i];
        while (open != PROGRAM_NONE && p->regions[open].end < region->begin)
            open = flows[open].enclosing;
        flows[i] = (Flow){
            .enclosing = open, .loop = i, .release = PROGRAM_NONE, .states = states
        };
        if (region->kind == REGION_LOOP)
            states += p->insts[region->end].count;
        else
            flows[i].loop = open == PROGRAM_NONE ? open : flows[open].loop;
        open = i;
    }
    return states;
}

static bool allocate(Builder *b, Unit *unit)
{
    const Program *p = unit->program;
    unit->args = PROGRAM_NONE;
    unit->places = alloc_zero(p->inst_count + 1u, sizeof(Place));
    unit->flows = p->region_count ? alloc_zero(p->region_count, sizeof(Flow)) : NULL;
    TRY(unit->places && (unit->flows || !p->region_count), false);
    interp_plan_select(b, unit);
    uint32_t states = plan_regions(b), outputs = 0;
    if (p->inst_count && p->insts[p->inst_count - 1].op == OP_RETURN)
        outputs = p->insts[p->inst_count - 1].count;
    if (states + outputs == 0)
        return true;
    unit->states = alloc_get(((size_t) states + outputs) * sizeof(uint32_t));
    TRY(unit->states, false);
    unit->outputs = unit->states + states;
    return true;
}

/* ---- roots */

/* The array gets its number now, and its place in each lane's memory. */
static bool plan_local(Builder *b, const Inst *inst, Place *place)
{
    InterpCode *code = b->code;
    TRY(vec_reserve(&code->local_offsets, &code->local_capacity, code->locals + 1,
                    sizeof(size_t)),
        false);
    code->local_offsets[code->locals] = code->local_bytes;
    code->local_bytes += (size_t) inst->aux * type_info[inst->type].size;
    place->marks |= MARK_BORROWED;
    place->reg = code->locals++;
    return true;
}

static bool plan_special(Builder *b, uint32_t at, const Inst *inst, Place *place)
{
    switch (inst->op) {
    case OP_LOAD:
        b->code->views += !is_uniform(inst);
        return true;
    case OP_ARG:
        ++b->code->views;
        place->next = b->unit->args;
        b->unit->args = at;
        place->marks |= MARK_BORROWED;
        return true;
    case OP_ACTIVE: {
        const Region *region = &b->program->regions[inst->aux];
        if (region->kind != REGION_LOOP || at > region->middle)
            place->marks |= MARK_BORROWED;
        return true;
    }
    case OP_STATE:
        place->marks |= MARK_BORROWED;
        return true;
    case OP_LOCAL:
        return plan_local(b, inst, place);
    case OP_PRINT:
    case OP_MATVEC:
    case OP_OUTER:
        if (inst->count + program_item_count(inst) > b->code->rows)
            b->code->rows = inst->count + program_item_count(inst);
        return true;
    default:
        return true;
    }
}

/* Roots, and marks that follow from the uses by instructions that cannot be hoisted. */
static bool plan_roots(Builder *b)
{
    const Program *p = b->program;
    for (uint32_t at = 0; at < p->inst_count; ++at) {
        const Inst *inst = &p->insts[at];
        Place *place = &b->places[at];
        const uint32_t *args = program_args(p, inst);
        place->root = at;
        if (is_alias(p, inst)) {
            *place = (Place){ .root = b->places[args[0]].root,
                              .item = b->places[args[0]].item };
            if (inst->op == OP_PACKET_ITEM)
                place->item = (uint16_t) inst->aux;
            b->places[place->root].marks |= MARK_WIDE;
            continue;
        }
        uint8_t marks = is_uniform(inst) ? 0 : MARK_CROSSES;
        for (uint32_t i = 0; i < program_computed_args(inst); ++i)
            b->places[b->places[args[i]].root].marks |=
                marks | (op_role((Op) inst->op, i) == ROLE_POINTER ? 0 : MARK_WIDE);
        if (inst->count > b->most_operands)
            b->most_operands = inst->count;
        TRY(plan_special(b, at, inst, place), false);
    }
    return true;
}

/* ---- hoisting */

/* Hoist uniform instructions up to the one that fills the last register kept for them.
 * 'kept' counts those of all units. */
static void plan_hoisting(Builder *b, uint32_t *kept)
{
    const Program *p = b->program;
    uint32_t at = 0;
    for (; at < p->inst_count && *kept < HOIST_MOST; ++at) {
        if (b->places[at].root != at || !is_uniform(&p->insts[at]))
            continue;
        b->places[at].marks |= MARK_HOISTED;
        *kept += (b->places[at].marks & MARK_CROSSES) != 0;
    }
    for (; at < p->inst_count; ++at) {
        const uint32_t *args = program_args(p, &p->insts[at]);
        for (uint32_t i = 0; i < program_computed_args(&p->insts[at]); ++i)
            b->places[b->places[args[i]].root].marks |= MARK_CROSSES;
    }
}

/* ---- last uses */

/* The outermost loop that has region 'open' inside and position 'root' before it. */
static uint32_t find_loop(const Builder *b, uint32_t open, uint32_t root)
{
    const Flow *flows = b->unit->flows;
    uint32_t found = PROGRAM_NONE;
    while (open != PROGRAM_NONE) {
        uint32_t loop = flows[open].loop;
        if (loop == PROGRAM_NONE || b->program->regions[loop].begin < root)
            break;
        found = loop;
        open = flows[loop].enclosing;
    }
    return found;
}

static void note_use(Builder *b, uint32_t at, uint32_t root, uint32_t open)
{
    const uint8_t kept = MARK_HOISTED | MARK_CROSSES;
    Place *place = &b->places[root];
    if (place->last)
        return;
    place->last = (place->marks & kept) == kept ? NEVER : at;
    if (place->last == NEVER || place->marks & MARK_BORROWED ||
        interp_plan_is_temporary(b, root))
        return;
    uint32_t loop = find_loop(b, open, root);
    if (loop == PROGRAM_NONE)
        return;
    place->last = b->program->regions[loop].end;
    place->next = b->unit->flows[loop].release;
    b->unit->flows[loop].release = root;
}

/* From the end, so that what nobody needs does not keep its operands alive. */
static void plan_last_uses(Builder *b)
{
    const Program *p = b->program;
    uint32_t open = PROGRAM_NONE;
    for (uint32_t at = p->inst_count; at-- > 0;) {
        const Inst *inst = &p->insts[at];
        const Place *place = &b->places[at];
        const uint32_t *args = program_args(p, inst);
        if (inst->op == OP_END)
            open = inst->aux;
        else if (inst->op == OP_REGION)
            open = b->unit->flows[inst->aux].enclosing;
        if (place->root != at ||
            (place->last == 0 && op_may_drop((Op) inst->op)))
            continue;
        for (uint32_t i = 0; i < program_computed_args(inst); ++i)
            note_use(b, at, b->places[args[i]].root,
                     place->marks & MARK_HOISTED ? PROGRAM_NONE : open);
    }
}

bool interp_plan(Builder *b)
{
    const Program *p = b->program;
    b->unit_count = p->callable_count + 1;
    b->units = alloc_zero(b->unit_count, sizeof(Unit));
    TRY(b->units, false);
    for (uint32_t i = 0; i < b->unit_count; ++i) {
        b->units[i].program = i < p->callable_count ? p->callables[i] : p;
        TRY(allocate(b, &b->units[i]) && plan_roots(b), false);
    }
    /* The Program's own values come first when few can be kept. */
    uint32_t kept = 0;
    for (uint32_t i = b->unit_count; i-- > 0;) {
        interp_plan_select(b, &b->units[i]);
        plan_hoisting(b, &kept);
        plan_last_uses(b);
    }
    b->homes = alloc_get(b->code->views * sizeof(uint32_t));
    b->in = alloc_get(b->most_operands * sizeof(uint32_t));
    return b->homes && b->in;
}

void interp_plan_free(Builder *b)
{
    for (uint32_t i = 0; b->units && i < b->unit_count; ++i) {
        alloc_free(b->units[i].places);
        alloc_free(b->units[i].flows);
        alloc_free(b->units[i].states);
    }
    alloc_free(b->units);
    alloc_free(b->homes);
    alloc_free(b->in);
}
