/*
 * recorder_merge.c -- is a Program what another one becomes if parameters are one?
 *
 * Where a loop has not gone round, what it gives is the array that it was given, and a
 * kernel that reads both reads one. Its Program has that array once, and each operation
 * once that is the same then. So the larger Program is followed, instruction by
 * instruction: each is the next one of the smaller one, or one that was there before.
 * What simplification makes of equal operands is not known here: then they differ.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "recording/recorder_loop.h"
#include "ir/program.h"

typedef struct Merge {
    const Program *p, *q;
    const uint32_t *params; /* of p: the parameter of q that it is */
    uint32_t *at;           /* where instructions of p are in q */
} Merge;

static bool same_params(const Merge *m)
{
    for (uint32_t i = 0; i < m->p->param_count; ++i)
        if (m->params[i] >= m->q->param_count ||
            memcmp(&m->p->params[i], &m->q->params[m->params[i]], sizeof(Param)) != 0)
            return false;
    return true;
}

static bool same_inst(const Merge *m, uint32_t i, uint32_t k)
{
    const Inst *a = &m->p->insts[i], *b = &m->q->insts[k];
    const uint32_t *x = program_args(m->p, a), *y = program_args(m->q, b);
    if (a->op != b->op || a->type != b->type || a->flags != b->flags ||
        a->count != b->count || op_info[a->op].group == GROUP_TABLE)
        return false;
    for (uint32_t n = 0; n < a->count; ++n)
        if (m->at[x[n]] != y[n])
            return false;
    switch (op_info[a->op].aux) {
        case AUX_PARAM: return m->params[a->aux] == b->aux;
        case AUX_LITERAL: return m->p->literals[a->aux] == m->q->literals[b->aux];
        default: return a->aux == b->aux;
    }
}

/* Would it be found if it was traced a second time? */
static bool is_shared(const Inst *inst)
{
    return inst->op == OP_LOAD || (op_info[inst->op].flags & F_SHARES &&
                                   op_info[inst->op].memory == MEMORY_NONE);
}

static bool follow(const Merge *m)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < m->p->inst_count; ++i) {
        if (next < m->q->inst_count && same_inst(m, i, next)) {
            m->at[i] = next++;
            continue;
        }
        uint32_t before = is_shared(&m->p->insts[i]) ? 0 : next;
        while (before < next && !same_inst(m, i, before))
            ++before;
        if (before == next)
            return false;
        m->at[i] = before;
    }
    return next == m->q->inst_count;
}

bool recorder_merge(Recorder *r, const Program *p, const Program *q,
                    const uint32_t *params)
{
    if (p->region_count || p->callable_count || p->stmt_count || p->check_count ||
        p->print_count)
        return false;
    Merge m = { p, q, params, alloc_get((p->inst_count + 1) * sizeof(uint32_t)) };
    r->failed |= !m.at;
    bool same = m.at && same_params(&m) && follow(&m);
    alloc_free(m.at);
    return same;
}
