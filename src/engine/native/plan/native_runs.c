/*
 * native_runs.c -- accesses by index that are runs of entries
 *
 * Slices of tensors, parts of what is put together, and shifted arrays are read and
 * written with an index that is, for rows of w lanes,
 *
 *     start + lane + factor * (lane / w)
 *
 * and so on for blocks of rows. If rows are as long as a packet, it has one run of
 * entries, or two. Here such an index is found; rows say what becomes of it.
 * Nobody computes it, unless something else needs it.
 */
#include <string.h>

#include "base/error.h"
#include "engine/native/plan/native.h"

enum { MOST_VISITS = 64 /* of instructions, some more than once */ };

/* A sum of the lane's number and of its quotients, times factors, modulo 2^32. */
typedef struct Sum {
    uint32_t lane, start, factor[NATIVE_RUN_LEVELS];
} Sum;

typedef struct Search {
    const Program *p;
    NativeRuns *runs; /* lengths so far */
    uint32_t visits;
} Search;

static bool find_sum(Search *s, uint32_t at, Sum *out);

static bool literal_of(const Program *p, uint32_t at, uint32_t *value)
{
    const Inst *inst = &p->insts[at];
    if (inst->op == OP_LITERAL)
        *value = (uint32_t) p->literals[inst->aux];
    return inst->op == OP_LITERAL;
}

static void add_times(Sum *a, const Sum *b, uint32_t times)
{
    a->lane += b->lane * times;
    a->start += b->start * times;
    for (uint32_t k = 0; k < NATIVE_RUN_LEVELS; ++k)
        a->factor[k] += b->factor[k] * times;
}

/* Is the sum just one of its parts? The number of the level of its quotient: 0 is that
 * of the lane itself. */
static bool find_level(const Sum *sum, uint32_t *level)
{
    uint32_t parts = 0, others = sum->start != 0;
    *level = 0;
    for (uint32_t k = 0; k <= NATIVE_RUN_LEVELS; ++k) {
        uint32_t factor = k ? sum->factor[k - 1] : sum->lane;
        others += factor > 1;
        parts += factor == 1;
        *level = factor == 1 ? k : *level;
    }
    return parts == 1 && !others;
}

/* out = the operand / by */
static bool find_quotient(Search *s, uint32_t operand, uint32_t by, Sum *out)
{
    Sum of;
    uint32_t level;
    TRY(by && by <= INT32_MAX && find_sum(s, operand, &of), false);
    TRY(find_level(&of, &level) && level < NATIVE_RUN_LEVELS, false);
    if (level == s->runs->levels)
        s->runs->length[s->runs->levels++] = by;
    *out = (Sum) { 0 };
    out->factor[level] = 1;
    return s->runs->length[level] == by;
}

static bool find_rest(Search *s, uint32_t operand, uint32_t by, Sum *out)
{
    Sum quotient;
    TRY(find_quotient(s, operand, by, &quotient) && find_sum(s, operand, out), false);
    add_times(out, &quotient, 0u - by);
    return true;
}

/* a * b + c, where 'c' is 0 if there is none. */
static bool find_product(Search *s, uint32_t a, uint32_t b, const Sum *c, Sum *out)
{
    Sum of;
    uint32_t times;
    if (!literal_of(s->p, b, &times)) {
        TRY(literal_of(s->p, a, &times), false);
        a = b;
    }
    TRY(find_sum(s, a, &of), false);
    *out = c ? *c : (Sum) { 0 };
    add_times(out, &of, times);
    return true;
}

static bool find_sum(Search *s, uint32_t at, Sum *out)
{
    const Program *p = s->p;
    const Inst *inst = &p->insts[at];
    const uint32_t *arg = inst->arg;
    uint32_t by;
    Sum other;
    *out = (Sum) { 0 };
    TRY(inst->type == VarTypeUInt32 && s->visits++ < MOST_VISITS, false);
    switch (inst->op) {
    case OP_COUNTER:
        out->lane = 1;
        return true;
    case OP_LITERAL:
        return literal_of(p, at, &out->start);
    case OP_ADD:
    case OP_SUB:
        TRY(find_sum(s, arg[0], out) && find_sum(s, arg[1], &other), false);
        add_times(out, &other, inst->op == OP_ADD ? 1 : 0u - 1);
        return true;
    case OP_MUL:
        return find_product(s, arg[0], arg[1], NULL, out);
    case OP_FMA:
        return find_sum(s, arg[2], &other) &&
               find_product(s, arg[0], arg[1], &other, out);
    case OP_SHL:
        TRY(literal_of(p, arg[1], &by) && by < 32, false);
        TRY(find_sum(s, arg[0], &other), false);
        add_times(out, &other, 1u << by);
        return true;
    case OP_DIV:
        return literal_of(p, arg[1], &by) && find_quotient(s, arg[0], by, out);
    case OP_SHR:
        return literal_of(p, arg[1], &by) && by < 31 &&
               find_quotient(s, arg[0], 1u << by, out);
    case OP_MOD:
        return literal_of(p, arg[1], &by) && find_rest(s, arg[0], by, out);
    case OP_AND:
        return literal_of(p, arg[1], &by) && !(by & (by + 1)) && by < INT32_MAX &&
               find_rest(s, arg[0], by + 1, out);
    default:
        return false;
    }
}

bool native_runs_find(const Program *p, const Inst *inst, uint32_t lanes,
                      NativeRuns *out)
{
    const bool writes = inst->op == OP_SCATTER;
    TRY(inst->op == OP_GATHER || (writes && (inst->aux & 0xff) == ReduceOpIdentity),
        false);
    const uint32_t *arg = program_args(p, inst);
    VarType type = (VarType) (writes ? p->insts[arg[1]].type : inst->type);
    uint32_t mask;
    TRY(type_info[type].size >= 4, false);
    TRY(literal_of(p, arg[writes ? 3 : 2], &mask) && mask, false);
    Search s = { .p = p, .runs = out };
    Sum sum;
    *out = (NativeRuns) { 0 };
    TRY(find_sum(&s, arg[writes ? 2 : 1], &sum) && sum.lane == 1, false);
    out->start = sum.start;
    memcpy(out->factor, sum.factor, sizeof(sum.factor));
    return !out->levels || out->length[0] >= lanes;
}

uint32_t native_runs_index(const Native *n, const Program *p, const Inst *inst)
{
    NativeRuns runs;
    if (!native_runs_find(p, inst, n->lanes, &runs) || !native_has_row(n, p, inst))
        return NATIVE_NO_OPERAND;
    return inst->op == OP_SCATTER ? 2 : 1;
}
