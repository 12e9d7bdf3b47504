/*
 * width.c -- see width.h
 */
#include "recording/width.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"

/* Terms, and guards, that are looked at one by one; 'known' has those behind them. */
enum { FEW = 8 };

/* What makes two terms, or two guards, the same one. */
typedef struct Key {
    uint32_t kind, a, b, guard;
    int64_t value;
} Key;

/* -------------------------------------------------------------------- terms */

static bool same_term(const WidthTerm *x, const WidthTerm *y)
{
    return x->op == y->op && (x->op == WIDTH_CONSTANT ? x->value == y->value
                                                      : x->a == y->a && x->b == y->b);
}

/* The number of a term behind the first few. UINT32_MAX: out of memory. */
static uint32_t number_of(Widths *w, const WidthTerm *term)
{
    Key key;
    memset(&key, 0, sizeof(key));
    key.kind = term->op;
    key.a = term->a;
    key.b = term->b;
    key.value = term->op == WIDTH_CONSTANT ? term->value : 0;
    return table_number(&w->known, &key, sizeof(key), w->count);
}

static Width find_or_add(Widths *w, const WidthTerm *term)
{
    for (uint32_t i = 1; i < w->count && i <= FEW; ++i)
        if (same_term(&w->terms[i], term))
            return i;
    if (!w->count) {
        TRY(vec_reserve(&w->terms, &w->capacity, 1, sizeof(WidthTerm)), 0);
        memset(&w->terms[w->count++], 0, sizeof(WidthTerm));
    }
    TRY(vec_reserve(&w->terms, &w->capacity, w->count + 1, sizeof(WidthTerm)), 0);
    uint32_t number = w->count <= FEW ? w->count : number_of(w, term);
    TRY(number != UINT32_MAX, 0);
    if (number == w->count)
        w->terms[w->count++] = *term;
    return number;
}

Width width_constant(Widths *w, int64_t value)
{
    return find_or_add(w, &(WidthTerm) { .op = WIDTH_CONSTANT, .value = value });
}

Width width_input(Widths *w, uint32_t number, int64_t value)
{
    return find_or_add(w, &(WidthTerm) { .op = WIDTH_INPUT, .a = number,
                                         .value = value });
}

Width width_read(Widths *w, uint32_t number, int64_t value)
{
    return find_or_add(w, &(WidthTerm) { .op = WIDTH_READ, .a = number, .value = value,
                                         .late = number + 1 });
}

/* Is it an operand that changes nothing? */
static bool is_neutral(const Widths *w, WidthOp op, Width operand)
{
    const bool sum = op == WIDTH_ADD || op == WIDTH_SUB;
    return op != WIDTH_MOD && width_is_constant(w, operand) &&
           width_value(w, operand) == (sum ? 0 : 1);
}

/* What a term is at least, as far as guards say so; 0: nothing is known. */
static int64_t known_least(const Widths *w, Width width)
{
    const WidthTerm *term = &w->terms[width];
    int64_t least = term->op == WIDTH_CONSTANT ? term->value : 0;
    if (term->op == WIDTH_MUL &&
        __builtin_mul_overflow(known_least(w, term->a), known_least(w, term->b),
                               &least))
        return INT64_MAX;
    for (uint32_t i = 0; !least && i < w->guard_count; ++i) {
        const WidthGuard *guard = &w->guards[i];
        if (guard->relation == WIDTH_NOT_LESS && guard->a == width &&
            width_is_constant(w, guard->b))
            least = width_value(w, guard->b);
    }
    return least > 0 ? least : 0;
}

/* What is left of a product without one of its factors, which is positive; 0: it is no
 * factor. */
static Width without_factor(Widths *w, Width product, Width factor)
{
    const WidthTerm term = w->terms[product];
    if (product == factor)
        return width_constant(w, 1);
    if (term.op != WIDTH_MUL)
        return 0;
    return term.b == factor ? term.a : term.a == factor ? term.b : 0;
}

Width width_make(Widths *w, WidthOp op, Width a, Width b)
{
    const bool constant = width_is_constant(w, a), other = width_is_constant(w, b);
    if ((op == WIDTH_ADD || op == WIDTH_MUL) &&
        (constant != other ? constant : a > b)) { /* they are one term */
        Width first = b;
        b = a;
        a = first;
    }
    WidthTerm term = { .op = op, .a = a, .b = b, .late = width_late(w, a, b) };
    if (!width_apply(op, width_value(w, a), width_value(w, b), &term.value))
        return (Width) error_set(JIT_ERROR_ARGUMENT,
                                 "jit_freeze_size(): %lld and %lld have no such result",
                                 (long long) width_value(w, a),
                                 (long long) width_value(w, b));
    if (constant && other)
        return width_constant(w, term.value);
    if (is_neutral(w, op, b))
        return a;
    Width rest = 0;
    if ((op == WIDTH_DIV || op == WIDTH_MOD) && known_least(w, b) > 0)
        rest = without_factor(w, a, b);
    if (rest)
        return op == WIDTH_DIV ? rest : width_constant(w, 0);
    return find_or_add(w, &term);
}

/* ------------------------------------------------------------------- guards */

/* Does it follow from what is known of the factors? */
static bool is_large_product(const Widths *w, WidthRelation relation, Width a, Width b)
{
    return relation == WIDTH_NOT_LESS && w->terms[a].op == WIDTH_MUL &&
           width_is_constant(w, b) && known_least(w, a) >= width_value(w, b);
}

/* The number of a guard that is not one of the first few. UINT32_MAX: out of memory. */
static uint32_t guard_number(Widths *w, const WidthGuard *guard)
{
    Key key;
    if (w->guard_count < FEW)
        return w->guard_count;
    memset(&key, 0, sizeof(key));
    key.kind = guard->relation;
    key.a = guard->a;
    key.b = guard->b;
    key.guard = 1;
    return table_number(&w->known, &key, sizeof(key), w->guard_count);
}

bool width_assume(Widths *w, WidthRelation relation, Width a, Width b)
{
    if (a == b || (width_is_constant(w, a) && width_is_constant(w, b)) ||
        is_large_product(w, relation, a, b))
        return true; /* it always holds */
    for (uint32_t i = 0; i < w->guard_count && i < FEW; ++i)
        if (w->guards[i].relation == relation && w->guards[i].a == a &&
            w->guards[i].b == b)
            return true;
    TRY(vec_reserve(&w->guards, &w->guard_capacity, w->guard_count + 1,
                    sizeof(WidthGuard)), false);
    uint32_t number = guard_number(w, &(WidthGuard) { relation, a, b });
    TRY(number != UINT32_MAX, false);
    if (number == w->guard_count)
        w->guards[w->guard_count++] = (WidthGuard) { relation, a, b };
    return true;
}

int width_test(Widths *w, WidthRelation relation, Width a, Width b)
{
    bool result = width_holds(relation, width_value(w, a), width_value(w, b));
    WidthRelation found = result ? relation : (WidthRelation) (relation ^ 1u);
    return width_assume(w, found, a, b) ? result : -1;
}

bool width_pin(Widths *w, Width width)
{
    Width value = width_constant(w, width_value(w, width));
    return value && width_assume(w, WIDTH_EQUAL, width, value);
}

/* Does it fit what arrays keep their sizes in, whatever the inputs are? */
static bool fits(const Widths *w, Width width)
{
    const WidthTerm *term = &w->terms[width];
    switch (term->op) {
        case WIDTH_CONSTANT: return term->value <= UINT32_MAX;
        case WIDTH_INPUT:
        case WIDTH_READ: return true;
        case WIDTH_SUB:
        case WIDTH_DIV:
        case WIDTH_MOD:
            return fits(w, term->a) && width_is_constant(w, term->b) &&
                   width_value(w, term->b) > 0;
        default: return false;
    }
}

bool width_pin_kind(Widths *w, Width width)
{
    if (width_value(w, width) <= 1)
        return width_pin(w, width);
    Width two = width_constant(w, 2), most = width_constant(w, UINT32_MAX);
    return two && most && width_assume(w, WIDTH_NOT_LESS, width, two) &&
           (fits(w, width) || width_assume(w, WIDTH_NOT_LESS, most, width));
}

bool width_check(Widths *w, uint32_t reads)
{
    for (uint32_t i = 1; i < w->count; ++i) {
        WidthTerm *term = &w->terms[i];
        bool joined = term->op >= WIDTH_ADD, read = term->op == WIDTH_READ;
        if (joined && (!term->a || term->a >= i || !term->b || term->b >= i))
            return false;
        if (read && term->a >= reads)
            return false;
        term->late = joined ? width_late(w, term->a, term->b)
                     : read ? term->a + 1 : 0;
    }
    return true;
}

/* --------------------------------------------------------------------- text */

enum { DEPTH = 8 }; /* of terms in terms that are written out */

static void write_term(const Widths *w, Width width, uint32_t depth, Text *out)
{
    static const char *const signs[] = { [WIDTH_ADD] = " + ", [WIDTH_SUB] = " - ",
                                         [WIDTH_MUL] = " * ", [WIDTH_DIV] = " / ",
                                         [WIDTH_MOD] = " % " };
    const WidthTerm *term = &w->terms[width];
    if (term->op == WIDTH_CONSTANT) {
        text_putf(out, "%lld", (long long) term->value);
    } else if (term->op < WIDTH_ADD) {
        text_putf(out, "%c%u", term->op == WIDTH_INPUT ? 'w' : 'r', term->a);
    } else if (depth == DEPTH) {
        text_put(out, "...");
    } else {
        text_put(out, depth ? "(" : "");
        write_term(w, term->a, depth + 1, out);
        text_put(out, signs[term->op]);
        write_term(w, term->b, depth + 1, out);
        text_put(out, depth ? ")" : "");
    }
}

void width_write(const Widths *w, Width width, Text *out)
{
    write_term(w, width, 0, out);
}

void width_write_guard(const Widths *w, const WidthGuard *guard, Text *out)
{
    static const char *const signs[] = { " == ", " != ", " < ", " >= " };
    width_write(w, guard->a, out);
    text_put(out, signs[guard->relation]);
    width_write(w, guard->b, out);
}

void width_free(Widths *w)
{
    alloc_free(w->terms);
    alloc_free(w->guards);
    table_free(&w->known);
    memset(w, 0, sizeof(*w));
}
