/*
 * random_reduce.c -- smaller forms of a random Program; see random_program.h
 */
#include "random_program.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum { MOST_OPERANDS = 256 };

static bool is_mark(const Inst *inst)
{
    return inst->op >= OP_REGION && inst->op <= OP_END;
}

/* Regions that are left out as a whole: their instructions are dropped, their results
 * replaced. */
static void drop_regions(const Program *p, uint8_t *drop)
{
    for (uint32_t i = 0; i < p->region_count; ++i) {
        const Region *region = &p->regions[i];
        if (drop[region->begin] != REDUCE_KEEP)
            memset(drop + region->begin, REDUCE_REGION,
                   region->end - region->begin + 1);
        for (uint32_t at = region->end + 1;
             at < p->inst_count && p->insts[at].op == OP_RESULT; ++at)
            if (drop[region->begin] != REDUCE_KEEP && drop[at] == REDUCE_KEEP)
                drop[at] = REDUCE_DROP;
    }
}

/* Which instructions does somebody need? */
static bool *find_live(const Program *p, const uint8_t *reductions)
{
    bool *live = alloc_zero(p->inst_count + 1, sizeof(bool));
    for (uint32_t at = p->inst_count; live && at-- > 0;) {
        const Inst *inst = &p->insts[at];
        bool kept = reductions[at] == REDUCE_KEEP;
        if ((!op_may_drop((Op) inst->op) || inst->op == OP_STATE) && kept)
            live[at] = true;
        if (reductions[at] == REDUCE_REGION)
            live[at] = false;
        if (!live[at] || !kept)
            continue;
        const uint32_t *args = program_args(p, inst);
        for (uint32_t i = 0; i < inst->count; ++i)
            live[args[i]] = true;
    }
    return live;
}

/* New names: of instructions, regions and callables. */
typedef struct Names {
    uint32_t *insts, *regions, *callables;
} Names;

/* A mark of structure. */
static uint32_t copy_mark(Program *to, const Program *p, const Inst *inst,
                          const uint32_t *args, const Names *names)
{
    const Region *region = &p->regions[inst->aux];
    uint32_t *regions = names->regions, targets[MOST_OPERANDS];
    if (inst->op == OP_REGION) {
        for (uint32_t i = 0; i < region->target_count; ++i)
            targets[i] = names->callables[p->extra[region->targets + i]];
        regions[inst->aux] =
            program_add_region(to, (RegionKind) region->kind, inst->count, args,
                               region->target_count, targets);
        return to->inst_count - 1;
    }
    if (inst->op == OP_END && region->kind == REGION_CALL)
        return to->inst_count - 1; /* it is there */
    return program_add(to, (Op) inst->op, VarTypeVoid, regions[inst->aux], inst->count,
                       args);
}

static uint32_t copy_inst(Program *to, const Program *p, const Inst *inst,
                          const Names *names)
{
    uint32_t args[MOST_OPERANDS];
    for (uint32_t i = 0; i < inst->count; ++i)
        args[i] = names->insts[program_args(p, inst)[i]];
    VarType type = (VarType) inst->type;
    if (is_mark(inst))
        return copy_mark(to, p, inst, args, names);
    if (inst->op == OP_LITERAL)
        return program_add_literal(to, type, p->literals[inst->aux]);
    uint32_t aux = inst->op == OP_ACTIVE ? names->regions[inst->aux] : inst->aux;
    uint32_t at = program_add(to, (Op) inst->op, type, aux, inst->count, args);
    if (at != PROGRAM_NONE && inst->op == OP_LOAD)
        to->insts[at].flags = inst->flags;
    return at;
}

/* Mark the callables that the calls of a Program reach; 'live': NULL if all its
 * instructions are. */
static void mark_targets(const Program *p, const bool *live, bool *reached)
{
    for (uint32_t i = 0; i < p->region_count; ++i) {
        const Region *region = &p->regions[i];
        if (live && !live[region->begin])
            continue;
        for (uint32_t k = 0; k < region->target_count; ++k)
            reached[p->extra[region->targets + k]] = true;
    }
}

/* The callables that are still reached, with new numbers. */
static bool copy_callables(Program *to, const Program *p, const bool *live,
                           uint32_t *numbers)
{
    bool *reached = alloc_zero(p->callable_count + 1, sizeof(bool));
    TRY(reached, false);
    mark_targets(p, live, reached);
    for (uint32_t i = p->callable_count; i-- > 0;)
        if (reached[i])
            mark_targets(p->callables[i], NULL, reached);
    bool ok = true;
    for (uint32_t i = 0; ok && i < p->callable_count; ++i) {
        if (!reached[i])
            continue;
        Program *copy = program_copy(p->callables[i]);
        for (uint32_t k = 0; copy && k < copy->region_count; ++k)
            for (uint32_t t = 0; t < copy->regions[k].target_count; ++t) {
                uint32_t *target = &copy->extra[copy->regions[k].targets + t];
                *target = numbers[*target];
            }
        ok = copy && (numbers[i] = program_add_callable(to, copy)) != PROGRAM_NONE;
    }
    alloc_free(reached);
    return ok;
}

/* Slots and counts, which stay as they are. */
static bool copy_slots(Program *to, const Program *p)
{
    for (uint32_t i = 0; i < p->param_count; ++i) {
        if (program_add_param(to, (ParamKind) p->params[i].kind,
                              (VarType) p->params[i].type) == PROGRAM_NONE)
            return false;
        to->params[i] = p->params[i];
    }
    to->check_count = p->check_count;
    to->print_count = p->print_count;
    return true;
}

static bool copy_live(Program *to, const Program *p, const uint8_t *reductions,
                      const bool *live, const Names *names)
{
    for (uint32_t at = 0; at < p->inst_count; ++at) {
        if (!live[at])
            continue;
        const Inst *inst = &p->insts[at];
        names->insts[at] = reductions[at] == REDUCE_KEEP
                               ? copy_inst(to, p, inst, names)
                               : program_add_literal(to, (VarType) inst->type, 0);
        if (names->insts[at] == PROGRAM_NONE)
            return false;
    }
    return true;
}

Program *random_program_reduce(const RandomProgram *random, const uint8_t *reductions)
{
    const Program *p = random->program;
    Program *to = alloc_zero(1, sizeof *to);
    uint8_t *drop = alloc_zero(p->inst_count + 1, 1);
    uint32_t *map = alloc_zero(p->inst_count + p->region_count + p->callable_count + 1,
                               sizeof(uint32_t));
    const Names names = { map, map + p->inst_count,
                          map + p->inst_count + p->region_count };
    bool *live = NULL;
    if (drop) {
        memcpy(drop, reductions, p->inst_count);
        drop_regions(p, drop);
        live = find_live(p, drop);
    }
    if (!to || !live || !map || !copy_slots(to, p) ||
        !copy_callables(to, p, live, names.callables) ||
        !copy_live(to, p, drop, live, &names)) {
        program_free(to);
        to = NULL;
    }
    alloc_free(live);
    alloc_free(map);
    alloc_free(drop);
    return to;
}
