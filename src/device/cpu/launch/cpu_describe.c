/*
 * cpu_describe.c -- see cpu_describe.h
 *
 * Costs are sums over instructions, of which the engine says how long they take.
 *
 * Arrays that are loaded and stored have an entry for each lane. One that is gathered
 * from may have an entry for each row of lanes, if every gather's index is the number
 * of the lane divided by the same number; any other use of its address says nothing.
 */
#include "device/cpu/launch/cpu_describe.h"

#include "device/cpu/launch/cpu_code.h"
#include "ir/program.h"

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

static void add_body(CpuCode *code, const Program *p)
{
    uint64_t memory = 0, operations = 0;
    for (uint32_t i = 0; i < p->inst_count; ++i) {
        /* Nobody could predict a branch. */
        uint64_t each = !(p->insts[i].flags & INST_UNIFORM);
        memory += -each & access_cost[p->insts[i].op];
        operations += each;
    }
    code->cost.lane += memory + operations * code->lane_ps;
    code->cost.block += (uint64_t) p->inst_count * code->block_ps;
}

/* Bodies of loops and callables count once each. */
static void find_cost(CpuCode *code, const Program *p)
{
    CpuCost *cost = &code->cost;
    *cost = (CpuCost) { .loops = program_may_last(p) };
    add_body(code, p);
    for (uint32_t i = 0; i < p->callable_count; ++i)
        add_body(code, p->callables[i]);
    cost->lane = cost->lane < MOST_COST ? cost->lane : MOST_COST;
    cost->block = cost->block < MOST_COST ? cost->block : MOST_COST;
}

static CpuSpan *find(CpuSpans *spans, uint32_t word)
{
    for (uint32_t i = 0; i < spans->count; ++i)
        if (spans->list[i].word == word)
            return &spans->list[i];
    return NULL;
}

/* Of an array that is used in two ways, nothing is known. */
static void note(CpuSpans *spans, CpuSpan span)
{
    CpuSpan *known = find(spans, span.word);
    if (known && (known->lanes != span.lanes || known->by != span.by))
        known->lanes = 0, known->by = CPU_NO_WORD;
    else if (!known && spans->count < CPU_SPANS)
        spans->list[spans->count++] = span;
    else if (!known)
        spans->full = true;
}

/* What a gather with this index says of its array. */
static CpuSpan find_rows(const Program *p, uint32_t word, const Inst *index)
{
    CpuSpan span = { .word = word, .lanes = index->op == OP_COUNTER,
                     .by = CPU_NO_WORD };
    if ((index->op != OP_DIV && index->op != OP_SHR) || index->type != VarTypeUInt32 ||
        p->insts[index->arg[0]].op != OP_COUNTER)
        return span;
    const Inst *by = &p->insts[index->arg[1]];
    if (by->op == OP_LITERAL) {
        uint32_t literal = (uint32_t) p->literals[by->aux];
        span.lanes = index->op == OP_DIV ? literal
                     : literal < 32      ? 1u << literal
                                         : 0;
    } else if (by->op == OP_PARAM && index->op == OP_DIV) {
        span.by = by->aux;
    }
    return span;
}

static void note_pointers(CpuSpans *spans, const Program *p, const Inst *inst)
{
    const uint32_t *args = program_args(p, inst);
    for (uint32_t k = 0; k < inst->count; ++k) {
        const Inst *from = &p->insts[args[k]];
        if (from->op != OP_PARAM || from->type != VarTypePointer)
            continue;
        CpuSpan span = { .word = from->aux, .by = CPU_NO_WORD };
        if (inst->op == OP_GATHER && k == 0)
            span = find_rows(p, from->aux, &p->insts[args[1]]);
        note(spans, span);
    }
}

static CpuSpans find_spans(const Program *p)
{
    CpuSpans spans = { 0 };
    for (uint32_t i = 0; i < p->inst_count && !p->callable_count; ++i) {
        const Inst *inst = &p->insts[i];
        if ((inst->op == OP_LOAD && !(inst->flags & INST_UNIFORM)) ||
            inst->op == OP_STORE)
            note(&spans, (CpuSpan) { inst->aux, 1, CPU_NO_WORD });
        else
            note_pointers(&spans, p, inst);
    }
    if (spans.full)
        spans.count = 0;
    return spans;
}

void cpu_describe(Device *device, const Program *program, Code *code)
{
    CpuCode *cpu = (CpuCode *) (void *) code;
    (void) device;
    find_cost(cpu, program);
    cpu->spans = find_spans(program);
}
