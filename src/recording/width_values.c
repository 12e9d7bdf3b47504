/*
 * width_values.c -- values of terms, and guards; see width.h
 *
 * A part of exported functions, too (src/export): it makes nothing.
 */
#include "recording/width.h"

bool width_apply(WidthOp op, int64_t a, int64_t b, int64_t *result)
{
    switch (op) {
        case WIDTH_ADD: return !__builtin_add_overflow(a, b, result);
        case WIDTH_SUB: return !__builtin_sub_overflow(a, b, result);
        case WIDTH_MUL: return !__builtin_mul_overflow(a, b, result);
        default: break;
    }
    if (b == 0 || (a == INT64_MIN && b == -1))
        return false;
    int64_t rest = a % b;
    bool down = rest && (rest < 0) != (b < 0); /* C rounds towards zero */
    *result = op == WIDTH_DIV ? a / b - down : down ? rest + b : rest;
    return true;
}

uint32_t width_late(const Widths *w, Width a, Width b)
{
    uint32_t x = w->terms[a].late, y = w->terms[b].late;
    return x > y ? x : y;
}

bool width_holds(WidthRelation relation, int64_t a, int64_t b)
{
    switch (relation) {
        case WIDTH_EQUAL: return a == b;
        case WIDTH_NOT_EQUAL: return a != b;
        case WIDTH_LESS: return a < b;
        default: return a >= b;
    }
}

bool width_evaluate(const Widths *w, uint32_t late, const int64_t *inputs,
                    int64_t *values)
{
    for (uint32_t i = 1; i < w->count; ++i) {
        const WidthTerm *term = &w->terms[i];
        if (term->late != late || term->op == WIDTH_READ)
            continue;
        if (term->op == WIDTH_CONSTANT)
            values[i] = term->value;
        else if (term->op == WIDTH_INPUT)
            values[i] = inputs[term->a];
        else if (!width_apply(term->op, values[term->a], values[term->b], &values[i]))
            return false;
    }
    return true;
}

bool width_hold(const Widths *w, uint32_t late, const int64_t *values,
                uint32_t *broken)
{
    for (uint32_t i = 0; i < w->guard_count; ++i) {
        const WidthGuard *guard = &w->guards[i];
        if (width_late(w, guard->a, guard->b) == late &&
            !width_holds(guard->relation, values[guard->a], values[guard->b])) {
            *broken = i;
            return false;
        }
    }
    return true;
}
