/*
 * spans.c -- see spans.h
 *
 * Arrays that are loaded and stored have an entry for each lane. One that is gathered
 * from may have an entry for each row of lanes, if every gather's index is the number
 * of the lane divided by the same number; any other use of its address says nothing.
 */
#include "kernel/spans.h"

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

CpuSpans spans_find(const Program *p)
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
