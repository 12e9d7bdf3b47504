/*
 * ad_pattern.c -- see ad_pattern.h
 *
 * The trace is looked through for divisions of the lane's number by literals, and
 * remainders, in the forms that they have after simplify.c: shifts and masks where the
 * number is a power of two; x - x / k * k, which is written by hand.
 */
#include "ad/array/ad_pattern.h"

/* The lane's number / 'over' % 'modulo' (0: no remainder is taken). 'over' is 0: it is
 * something else. */
typedef struct Term {
    uint64_t over, modulo;
} Term;

static const Term unknown = { 0, 0 };
enum { MOST_DEPTH = 8 };

static bool is_literal(VarId id, uint64_t *number)
{
    const Var *v = var_get(id);
    *number = v->value.literal;
    return v->op == OP_LITERAL && *number && *number <= UINT32_MAX / 2;
}

static Term divide(Term t, uint64_t by)
{
    if (!t.over || (t.modulo && t.modulo % by) || t.over > UINT32_MAX / by)
        return unknown;
    return (Term){ t.over * by, t.modulo / by };
}

static Term remainder_of(Term t, uint64_t by)
{
    if (!t.over || (t.modulo && t.modulo % by && t.modulo > by))
        return unknown;
    if (!t.modulo || t.modulo > by)
        t.modulo = by;
    return t;
}

/* Is it x / by * by? */
static bool is_multiple(VarId id, VarId x, uint64_t *by)
{
    const Var *v = var_get(id);
    uint64_t number, shift;
    if (v->op == OP_SHL && is_literal(v->dep[1], &shift) && shift < 31) {
        const Var *part = var_get(v->dep[0]);
        *by = UINT64_C(1) << shift;
        return part->op == OP_SHR && part->dep[0] == x &&
               is_literal(part->dep[1], &number) && number == shift;
    }
    if (v->op != OP_MUL)
        return false;
    const bool first = is_literal(v->dep[0], by);
    if (!first && !is_literal(v->dep[1], by))
        return false;
    const Var *part = var_get(v->dep[first]);
    return part->op == OP_DIV && part->dep[0] == x &&
           is_literal(part->dep[1], &number) && number == *by;
}

static Term term_of(VarId id, int depth)
{
    const Var *v = var_get(id);
    uint64_t number = 0;
    if (v->op == OP_COUNTER)
        return (Term){ 1, 0 };
    if (!depth)
        return unknown;
    switch (v->op) {
    case OP_BITCAST:
        return term_of(v->dep[0], depth - 1);
    case OP_DIV:
        return is_literal(v->dep[1], &number)
                   ? divide(term_of(v->dep[0], depth - 1), number)
                   : unknown;
    case OP_SHR:
        return is_literal(v->dep[1], &number) && number < 31
                   ? divide(term_of(v->dep[0], depth - 1), UINT64_C(1) << number)
                   : unknown;
    case OP_MOD:
        return is_literal(v->dep[1], &number)
                   ? remainder_of(term_of(v->dep[0], depth - 1), number)
                   : unknown;
    case OP_AND:
        return is_literal(v->dep[1], &number) && !(number & (number + 1))
                   ? remainder_of(term_of(v->dep[0], depth - 1), number + 1)
                   : unknown;
    case OP_SUB:
        return is_multiple(v->dep[1], v->dep[0], &number)
                   ? remainder_of(term_of(v->dep[0], depth - 1), number)
                   : unknown;
    default:
        return unknown;
    }
}

AdPattern ad_pattern_of(VarId index, size_t entries)
{
    const size_t lanes = var_lanes_of(index);
    const Term t = term_of(index, MOST_DEPTH);
    if (!t.over || lanes > INT32_MAX)
        return (AdPattern){ 0 };
    /* A remainder by more than there is has no effect. */
    const bool repeats = t.modulo && t.modulo * t.over < lanes;
    const size_t block = t.over * entries;
    const bool fits = repeats ? t.modulo == entries
                              : lanes <= block && block - lanes < t.over;
    return fits ? (AdPattern){ t.over, entries, (lanes + block - 1) / block }
                : (AdPattern){ 0 };
}
