/*
 * cost.c -- see cost.h
 */
#include "kernel/cost.h"

enum {
    /* Picoseconds (measured on Zen 4, in cache). */
    COST_STREAM = 40,  /* a lane of a load or store, beyond the operation as such */
    COST_RANDOM = 500, /* a lane of a gather or scatter, likewise */
    MOST_COST = 1 << 30 /* of a lane: times lanes, there is no overflow */
};

/* Local arrays are in the caches. */
#define ACCESS_COST(group, memory)                                  \
    ((memory) == MEMORY_NONE || (group) == GROUP_LOCAL ? 0          \
     : (group) == GROUP_MEMORY                         ? COST_RANDOM \
                                                       : COST_STREAM)

static const uint16_t access_cost[OP_COUNT] = {
#define OP(name, text, group, arity, roles, operands, result, aux, memory, flags) \
    [OP_##name] = ACCESS_COST(GROUP_##group, MEMORY_##memory),
#include "ir/ops.def"
#undef OP
};

static void add_body(CpuCost *cost, const Program *p, const Engine *engine)
{
    uint64_t memory = 0, operations = 0;
    for (uint32_t i = 0; i < p->inst_count; ++i) {
        /* Nobody could predict a branch. */
        uint64_t each = !(p->insts[i].flags & INST_UNIFORM);
        memory += -each & access_cost[p->insts[i].op];
        operations += each;
    }
    cost->lane += memory + operations * engine->lane_ps;
    cost->step += (uint64_t) p->inst_count * engine->step_ps;
}

CpuCost cost_find(const Program *program, const Engine *engine)
{
    CpuCost cost = { .loops = program_may_last(program) };
    add_body(&cost, program, engine);
    for (uint32_t i = 0; i < program->callable_count; ++i)
        add_body(&cost, program->callables[i], engine);
    if (cost.lane > MOST_COST)
        cost.lane = MOST_COST;
    if (cost.step > MOST_COST)
        cost.step = MOST_COST;
    return cost;
}
