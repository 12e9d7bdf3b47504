/*
 * fuzz_coverage.c -- do random Programs have everything that Programs can have?
 *
 *     fuzz_coverage [N]
 *
 * Looks at the Programs of seeds 1 ... N (10,000) and counts operations by type,
 * inside and outside of bodies, and constructs: how deep, how many states. Prints
 * what occurs less often than it should; status 1 if there is anything.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random_program.h"

enum { OPS = 40, LEAST = 10, MOST_DEPTH = 32 };

typedef enum Construct {
    LOOPS,
    LOOPS_IN_LOOPS,
    LOOPS_IN_CALLABLES,
    LOOPS_WITH_EFFECTS_BEFORE_TEST,
    LOOPS_WITHOUT_STATES,
    LOOPS_OF_MANY_STATES, /* above 4 */
    LOOPS_OF_MOST_STATES, /* from 25 on */
    LOOPS_WITH_UNSEEN_STATES,
    LOOPS_THAT_SWAP,
    LOOPS_NOBODY_ENTERS,
    LOOPS_WITH_LONG_BODIES, /* from 150 instructions on */
    CONDITIONALS,
    CONDITIONALS_IN_LOOPS,
    CONDITIONALS_IN_CALLABLES,
    CONDITIONALS_OF_LITERALS,
    CALLS,
    CALLS_IN_LOOPS,
    CALLS_IN_CALLABLES,
    CALLS_OF_NOBODY,
    CALLS_OF_ONE,
    CALLS_OF_MANY, /* from 10 targets on */
    REGIONS_FIVE_DEEP,
    UNIFORM_IN_BODIES,
    CHECKS_IN_BODIES,
    PRINTS_IN_BODIES,
    SHARED_TABLES,
    SHARED_TARGETS,
    NARROW_PROGRAMS, /* no entries of 64 bits */
    PROGRAMS_OF_LITERALS,
    LONG_PROGRAMS,  /* 300 instructions and more without a region */
    MASK_PRESSURE,  /* more than 12 masks wait for their use */
    VALUE_PRESSURE, /* more than 40 values do */
    CONSTRUCTS
} Construct;

static const char *const names[CONSTRUCTS] = {
    [LOOPS] = "loops",
    [LOOPS_IN_LOOPS] = "loops in loops",
    [LOOPS_IN_CALLABLES] = "loops in callables",
    [LOOPS_WITH_EFFECTS_BEFORE_TEST] = "loops with effects in the condition part",
    [LOOPS_WITHOUT_STATES] = "loops with a counter only",
    [LOOPS_OF_MANY_STATES] = "loops with more than 4 states",
    [LOOPS_OF_MOST_STATES] = "loops with 25 states and more",
    [LOOPS_WITH_UNSEEN_STATES] = "loops with fewer STATEs than states",
    [LOOPS_THAT_SWAP] = "loops whose states change places",
    [LOOPS_NOBODY_ENTERS] = "loops that no lane enters",
    [LOOPS_WITH_LONG_BODIES] = "loops with long bodies",
    [CONDITIONALS] = "conditionals",
    [CONDITIONALS_IN_LOOPS] = "conditionals in loops",
    [CONDITIONALS_IN_CALLABLES] = "conditionals in callables",
    [CONDITIONALS_OF_LITERALS] = "conditionals on a literal",
    [CALLS] = "calls",
    [CALLS_IN_LOOPS] = "calls in loops",
    [CALLS_IN_CALLABLES] = "calls in callables",
    [CALLS_OF_NOBODY] = "calls without targets",
    [CALLS_OF_ONE] = "calls with one target",
    [CALLS_OF_MANY] = "calls with 10 targets and more",
    [REGIONS_FIVE_DEEP] = "regions within four others",
    [UNIFORM_IN_BODIES] = "uniform values in bodies",
    [CHECKS_IN_BODIES] = "checks in bodies",
    [PRINTS_IN_BODIES] = "prints in bodies",
    [SHARED_TABLES] = "arrays that are read twice",
    [SHARED_TARGETS] = "arrays that are changed twice",
    [NARROW_PROGRAMS] = "Programs without entries of 64 bits",
    [PROGRAMS_OF_LITERALS] = "Programs of literals",
    [LONG_PROGRAMS] = "long Programs without regions",
    [MASK_PRESSURE] = "Programs where many masks live",
    [VALUE_PRESSURE] = "Programs where many values live",
};

static uint64_t constructs[CONSTRUCTS];
/* By operation, type of the result, type of the first value operand; outside of bodies,
 * inside of them. */
static uint64_t rows[2][OP_COUNT][VarTypeCount][VarTypeCount];

/* ----------------------------------------------------------------------- counting */

/* What surrounds an instruction. */
typedef struct Place {
    const Program *p;
    uint32_t open[MOST_DEPTH]; /* regions */
    uint32_t depth;
    bool callable;
} Place;

static bool in_loop(const Place *place)
{
    for (uint32_t i = 0; i < place->depth; ++i)
        if (place->p->regions[place->open[i]].kind == REGION_LOOP)
            return true;
    return false;
}

/* Of the value that goes in or, if there is none, comes out. */
static VarType operand_type(const Program *p, const Inst *inst)
{
    static const uint8_t value_operand[OP_COUNT] = {
        [OP_SELECT] = 1,         [OP_LOOKUP] = 1,      [OP_SCATTER] = 1,
        [OP_SCATTER_PACKET] = 3, [OP_SCATTER_ADD] = 1, [OP_SCATTER_EXCH] = 1,
        [OP_SCATTER_CAS] = 1,    [OP_LOCAL_WRITE] = 1
    };
    uint32_t which = value_operand[inst->op];
    if (inst->op == OP_GATHER || inst->op == OP_SCATTER_INC)
        return (VarType) inst->type;
    return inst->count > which ? (VarType) p->insts[program_args(p, inst)[which]].type
                               : (VarType) inst->type;
}

static bool is_literal(const Program *p, uint32_t at, uint64_t bits)
{
    const Inst *inst = &p->insts[at];
    return inst->op == OP_LITERAL && p->literals[inst->aux] == bits;
}

static bool swaps(const Program *p, const Region *region)
{
    const uint32_t *next = program_args(p, &p->insts[region->end]);
    for (uint32_t k = 0; k < p->insts[region->end].count; ++k)
        if (p->insts[next[k]].op == OP_STATE && next[k] != region->begin + 1 + k)
            return true;
    return false;
}

static void count_loop(const Place *place, const Region *region)
{
    const Program *p = place->p;
    const Inst *begin = &p->insts[region->begin];
    uint32_t states = begin->count - 1u;
    constructs[LOOPS]++;
    constructs[LOOPS_IN_LOOPS] += in_loop(place);
    constructs[LOOPS_IN_CALLABLES] += place->callable;
    constructs[LOOPS_WITHOUT_STATES] += states == 1;
    constructs[LOOPS_OF_MANY_STATES] += states > 4;
    constructs[LOOPS_OF_MOST_STATES] += states >= 25;
    constructs[LOOPS_WITH_UNSEEN_STATES] +=
        p->insts[region->begin + states].op != OP_STATE;
    constructs[LOOPS_THAT_SWAP] += swaps(p, region);
    constructs[LOOPS_NOBODY_ENTERS] += is_literal(p, program_args(p, begin)[0], 0);
    constructs[LOOPS_WITH_LONG_BODIES] += region->end - region->begin >= 150;
    for (uint32_t at = region->begin + 1; at < region->middle; ++at)
        if (!op_may_drop((Op) p->insts[at].op)) {
            constructs[LOOPS_WITH_EFFECTS_BEFORE_TEST]++;
            break;
        }
}

static void count_region(const Place *place, const Inst *inst)
{
    const Program *p = place->p;
    const Region *region = &p->regions[inst->aux];
    constructs[REGIONS_FIVE_DEEP] += place->depth >= 4;
    if (region->kind == REGION_LOOP) {
        count_loop(place, region);
    } else if (region->kind == REGION_IF) {
        constructs[CONDITIONALS]++;
        constructs[CONDITIONALS_IN_LOOPS] += in_loop(place);
        constructs[CONDITIONALS_IN_CALLABLES] += place->callable;
        constructs[CONDITIONALS_OF_LITERALS] +=
            p->insts[program_args(p, inst)[1]].op == OP_LITERAL;
    } else {
        constructs[CALLS]++;
        constructs[CALLS_IN_LOOPS] += in_loop(place);
        constructs[CALLS_IN_CALLABLES] += place->callable;
        constructs[CALLS_OF_NOBODY] += region->target_count == 0;
        constructs[CALLS_OF_ONE] += region->target_count == 1;
        constructs[CALLS_OF_MANY] += region->target_count >= 10;
    }
}

static void count_inst(Place *place, uint32_t at)
{
    const Program *p = place->p;
    const Inst *inst = &p->insts[at];
    bool inside = place->depth > 0 || place->callable;
    rows[inside][inst->op][inst->type][operand_type(p, inst)]++;
    constructs[UNIFORM_IN_BODIES] +=
        inside && inst->flags & INST_UNIFORM && inst->count;
    constructs[CHECKS_IN_BODIES] += inside && inst->op == OP_CHECK;
    constructs[PRINTS_IN_BODIES] += inside && inst->op == OP_PRINT;
    if (inst->op == OP_REGION) {
        count_region(place, inst);
        if (place->depth < MOST_DEPTH)
            place->open[place->depth++] = inst->aux;
    } else if (inst->op == OP_END) {
        place->depth--;
    }
}

/* Values between where they are made and where they are used last. */
static void count_pressure(const Program *p)
{
    int32_t *ends = calloc(p->inst_count + 1u, 2 * sizeof *ends);
    int32_t live[2] = { 0 }, most[2] = { 0 };
    uint32_t *last = calloc(p->inst_count + 1u, sizeof *last);
    for (uint32_t at = 0; ends && last && at < p->inst_count; ++at)
        for (uint32_t i = 0; i < p->insts[at].count; ++i)
            last[program_args(p, &p->insts[at])[i]] = at;
    for (uint32_t at = 0; ends && last && at < p->inst_count; ++at) {
        const Inst *inst = &p->insts[at];
        bool mask = inst->type == VarTypeBool;
        if (last[at] > at && !(inst->flags & INST_UNIFORM)) {
            ends[2 * last[at] + mask]++;
            live[mask]++;
        }
        for (uint32_t k = 0; k < 2; ++k) {
            most[k] = live[k] > most[k] ? live[k] : most[k];
            live[k] -= ends[2 * at + k];
        }
    }
    constructs[VALUE_PRESSURE] += most[0] > 40;
    constructs[MASK_PRESSURE] += most[1] > 12;
    free(ends);
    free(last);
}

static void count_body(const Program *p, bool callable, uint32_t *types, bool *loads)
{
    Place place = { .p = p, .callable = callable };
    uint32_t tables = 0, targets = 0; /* the last ones */
    for (uint32_t at = 0; at < p->inst_count; ++at) {
        const Inst *inst = &p->insts[at];
        count_inst(&place, at);
        *types |= 1u << inst->type;
        *loads |= inst->op == OP_LOAD;
        if (inst->op == OP_GATHER || inst->op == OP_GATHER_PACKET) {
            constructs[SHARED_TABLES] += inst->arg[0] < tables;
            tables = inst->arg[0];
        }
        if (op_info[inst->op].group == GROUP_MEMORY && !op_may_drop((Op) inst->op)) {
            uint32_t target = program_args(p, inst)[0];
            constructs[SHARED_TARGETS] += target < targets;
            targets = target;
        }
    }
    count_pressure(p);
}

static void count_program(const Program *p)
{
    static const uint32_t wide =
        1u << VarTypeInt64 | 1u << VarTypeUInt64 | 1u << VarTypeFloat64;
    uint32_t types = 0;
    bool loads = false;
    count_body(p, false, &types, &loads);
    for (uint32_t i = 0; i < p->callable_count; ++i)
        count_body(p->callables[i], true, &types, &loads);
    constructs[NARROW_PROGRAMS] += !(types & wide);
    constructs[PROGRAMS_OF_LITERALS] += !loads && p->inst_count > 50;
    constructs[LONG_PROGRAMS] += !p->region_count && p->inst_count >= 300;
}

/* ---------------------------------------------------------------------- judgement */

static uint32_t missing;

static void expect(uint64_t count, const char *what, VarType type, VarType operand,
                   bool inside)
{
    if (count >= LEAST)
        return;
    missing++;
    printf("%s%s%s%s%s%s: %llu times\n", what, type ? " " : "",
           type ? type_info[type].short_name : "", operand ? " of " : "",
           operand ? type_info[operand].short_name : "", inside ? " in a body" : "",
           (unsigned long long) count);
}

/* Arithmetic by the type of the operand, conversions by both types. */
static void judge_op(Op op, bool inside)
{
    const OpInfo *info = &op_info[op];
    for (uint32_t from = 1; from < VarTypeCount; ++from) {
        uint64_t count = 0;
        if (!(info->operands >> from & 1))
            continue;
        for (uint32_t to = 0; to < VarTypeCount; ++to)
            count += rows[inside][op][to][from];
        expect(count, info->name, VarTypeVoid, (VarType) from, inside);
    }
}

static void judge_conversions(bool inside)
{
    uint32_t types = CLASS_NUMBER | 1u << VarTypeBool;
    for (uint32_t from = 0; from < VarTypeCount; ++from)
        for (uint32_t to = 0; to < VarTypeCount; ++to)
            if (types >> from & 1 && types >> to & 1 && from != to)
                expect(rows[inside][OP_CAST][to][from], "cast", (VarType) to,
                       (VarType) from, inside);
}

static void judge_memory(bool inside)
{
    static const Op ops[] = { OP_GATHER,      OP_SCATTER,    OP_SCATTER_EXCH,
                              OP_SCATTER_CAS, OP_LOCAL_READ, OP_LOCAL_WRITE,
                              OP_LOCAL_MOVE };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; ++i)
        judge_op(ops[i], inside);
    judge_op(OP_SCATTER_ADD, inside);
    judge_op(OP_SCATTER_INC, inside);
}

static const Op functions[] = {
#define MATH(name, ...) OP_##name,
#include "lower/math/math.def"
#undef MATH
};

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 0) : 10000;
    for (uint64_t seed = 1; seed <= count; ++seed) {
        RandomProgram *random = random_program_new(seed, OPS);
        if (!random)
            return 1;
        count_program(random->program);
        random_program_free(random);
    }
    for (uint32_t inside = 0; inside < 2; ++inside) {
        for (uint32_t op = OP_NEG; op <= OP_SELECT; ++op)
            judge_op((Op) op, inside);
        for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i)
            judge_op(functions[i], inside);
        judge_op(OP_LOOKUP, inside);
        judge_conversions(inside);
        judge_memory(inside);
    }
    for (uint32_t i = 0; i < CONSTRUCTS; ++i) {
        printf("%9llu %s\n", (unsigned long long) constructs[i], names[i]);
        expect(constructs[i], names[i], VarTypeVoid, VarTypeVoid, false);
    }
    printf("%u things occur less than %u times in %llu Programs\n", missing, LEAST,
           (unsigned long long) count);
    return missing != 0;
}
