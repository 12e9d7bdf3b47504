/*
 * symsize_values.c -- values of terms, and guards; see symsize.h
 *
 * A part of exported functions, too (src/export): it makes nothing.
 */
#include "recording/symsize.h"

bool symsize_apply(SizeOp op, int64_t a, int64_t b, int64_t *result)
{
    switch (op) {
        case SYMSIZE_ADD: return !__builtin_add_overflow(a, b, result);
        case SYMSIZE_SUB: return !__builtin_sub_overflow(a, b, result);
        case SYMSIZE_MUL: return !__builtin_mul_overflow(a, b, result);
        default: break;
    }
    if (b == 0 || (a == INT64_MIN && b == -1))
        return false;
    int64_t rest = a % b;
    bool down = rest && (rest < 0) != (b < 0); /* C rounds towards zero */
    *result = op == SYMSIZE_DIV ? a / b - down : down ? rest + b : rest;
    return true;
}

uint32_t symsize_late(const SymSizes *w, SymSize a, SymSize b)
{
    uint32_t x = w->terms[a].late, y = w->terms[b].late;
    return x > y ? x : y;
}

bool symsize_holds(SizeRelation relation, int64_t a, int64_t b)
{
    switch (relation) {
        case SYMSIZE_EQUAL: return a == b;
        case SYMSIZE_NOT_EQUAL: return a != b;
        case SYMSIZE_LESS: return a < b;
        default: return a >= b;
    }
}

bool symsize_evaluate(const SymSizes *w, uint32_t late, const int64_t *inputs,
                      int64_t *values)
{
    for (uint32_t i = 1; i < w->count; ++i) {
        const SizeTerm *term = &w->terms[i];
        if (term->late != late || term->op == SYMSIZE_READ)
            continue;
        if (term->op == SYMSIZE_CONSTANT)
            values[i] = term->value;
        else if (term->op == SYMSIZE_INPUT)
            values[i] = inputs[term->a];
        else if (!symsize_apply(term->op, values[term->a], values[term->b], &values[i]))
            return false;
    }
    return true;
}

bool symsize_hold(const SymSizes *w, uint32_t late, const int64_t *values,
                  uint32_t *broken)
{
    for (uint32_t i = 0; i < w->guard_count; ++i) {
        const SizeGuard *guard = &w->guards[i];
        if (symsize_late(w, guard->a, guard->b) == late &&
            !symsize_holds(guard->relation, values[guard->a], values[guard->b])) {
            *broken = i;
            return false;
        }
    }
    return true;
}
