/*
 * symsize.c -- see symsize.h
 */
#include "recording/symsize.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"

/* Terms, and guards, that are looked at one by one; 'known' has those after them. */
enum { FEW = 8 };

/* What makes two terms, or two guards, the same one. */
typedef struct Key {
    uint32_t kind, a, b, guard;
    int64_t value;
} Key;

/* -------------------------------------------------------------------- terms */

static bool same_term(const SizeTerm *x, const SizeTerm *y)
{
    return x->op == y->op && (x->op == SYMSIZE_CONSTANT ? x->value == y->value
                                                        : x->a == y->a && x->b == y->b);
}

/* The number of a term after the first few. UINT32_MAX: out of memory. */
static uint32_t number_of(SymSizes *w, const SizeTerm *term)
{
    Key key;
    memset(&key, 0, sizeof(key));
    key.kind = term->op;
    key.a = term->a;
    key.b = term->b;
    key.value = term->op == SYMSIZE_CONSTANT ? term->value : 0;
    return table_number(&w->known, &key, sizeof(key), w->count);
}

static SymSize find_or_add(SymSizes *w, const SizeTerm *term)
{
    for (uint32_t i = 1; i < w->count && i <= FEW; ++i)
        if (same_term(&w->terms[i], term))
            return i;
    if (!w->count) {
        TRY(vec_reserve(&w->terms, &w->capacity, 1, sizeof(SizeTerm)), 0);
        memset(&w->terms[w->count++], 0, sizeof(SizeTerm));
    }
    TRY(vec_reserve(&w->terms, &w->capacity, w->count + 1, sizeof(SizeTerm)), 0);
    uint32_t number = w->count <= FEW ? w->count : number_of(w, term);
    TRY(number != UINT32_MAX, 0);
    if (number == w->count)
        w->terms[w->count++] = *term;
    return number;
}

SymSize symsize_constant(SymSizes *w, int64_t value)
{
    return find_or_add(w, &(SizeTerm) { .op = SYMSIZE_CONSTANT, .value = value });
}

SymSize symsize_input(SymSizes *w, uint32_t number, int64_t value)
{
    return find_or_add(w, &(SizeTerm) { .op = SYMSIZE_INPUT, .a = number,
                                         .value = value });
}

SymSize symsize_read(SymSizes *w, uint32_t number, int64_t value)
{
    return find_or_add(w, &(SizeTerm) { .op = SYMSIZE_READ, .a = number, .value = value,
                                         .late = number + 1 });
}

/* Is it an operand that changes nothing? */
static bool is_neutral(const SymSizes *w, SizeOp op, SymSize operand)
{
    const bool sum = op == SYMSIZE_ADD || op == SYMSIZE_SUB;
    return op != SYMSIZE_MOD && symsize_is_constant(w, operand) &&
           symsize_value(w, operand) == (sum ? 0 : 1);
}

/* What a term is at least, as far as guards say so; 0: nothing is known. */
static int64_t known_least(const SymSizes *w, SymSize symsize)
{
    const SizeTerm *term = &w->terms[symsize];
    int64_t least = term->op == SYMSIZE_CONSTANT ? term->value : 0;
    if (term->op == SYMSIZE_MUL &&
        __builtin_mul_overflow(known_least(w, term->a), known_least(w, term->b),
                               &least))
        return INT64_MAX;
    for (uint32_t i = 0; !least && i < w->guard_count; ++i) {
        const SizeGuard *guard = &w->guards[i];
        if (guard->relation == SYMSIZE_NOT_LESS && guard->a == symsize &&
            symsize_is_constant(w, guard->b))
            least = symsize_value(w, guard->b);
    }
    return least > 0 ? least : 0;
}

/* What is left of a product without one of its factors, which is positive; 0: it is no
 * factor. */
static SymSize without_factor(SymSizes *w, SymSize product, SymSize factor)
{
    const SizeTerm term = w->terms[product];
    if (product == factor)
        return symsize_constant(w, 1);
    if (term.op != SYMSIZE_MUL)
        return 0;
    return term.b == factor ? term.a : term.a == factor ? term.b : 0;
}

SymSize symsize_make(SymSizes *w, SizeOp op, SymSize a, SymSize b)
{
    const bool constant = symsize_is_constant(w, a), other = symsize_is_constant(w, b);
    if ((op == SYMSIZE_ADD || op == SYMSIZE_MUL) &&
        (constant != other ? constant : a > b)) { /* they are one term */
        SymSize first = b;
        b = a;
        a = first;
    }
    SizeTerm term = { .op = op, .a = a, .b = b, .late = symsize_late(w, a, b) };
    if (!symsize_apply(op, symsize_value(w, a), symsize_value(w, b), &term.value))
        return (SymSize) error_set(
            JIT_ERROR_ARGUMENT, "jit_freeze_size(): %lld and %lld have no such result",
            (long long) symsize_value(w, a), (long long) symsize_value(w, b));
    if (constant && other)
        return symsize_constant(w, term.value);
    if (is_neutral(w, op, b))
        return a;
    SymSize rest = 0;
    if ((op == SYMSIZE_DIV || op == SYMSIZE_MOD) && known_least(w, b) > 0)
        rest = without_factor(w, a, b);
    if (rest)
        return op == SYMSIZE_DIV ? rest : symsize_constant(w, 0);
    return find_or_add(w, &term);
}

/* ------------------------------------------------------------------- guards */

/* Does it follow from what is known of the factors? */
static bool is_large_product(const SymSizes *w, SizeRelation relation, SymSize a,
                             SymSize b)
{
    return relation == SYMSIZE_NOT_LESS && w->terms[a].op == SYMSIZE_MUL &&
           symsize_is_constant(w, b) && known_least(w, a) >= symsize_value(w, b);
}

/* The number of a guard that is not one of the first few. UINT32_MAX: out of memory. */
static uint32_t guard_number(SymSizes *w, const SizeGuard *guard)
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

bool symsize_assume(SymSizes *w, SizeRelation relation, SymSize a, SymSize b)
{
    if (a == b || (symsize_is_constant(w, a) && symsize_is_constant(w, b)) ||
        is_large_product(w, relation, a, b))
        return true; /* it always holds */
    for (uint32_t i = 0; i < w->guard_count && i < FEW; ++i)
        if (w->guards[i].relation == relation && w->guards[i].a == a &&
            w->guards[i].b == b)
            return true;
    TRY(vec_reserve(&w->guards, &w->guard_capacity, w->guard_count + 1,
                    sizeof(SizeGuard)), false);
    uint32_t number = guard_number(w, &(SizeGuard) { relation, a, b });
    TRY(number != UINT32_MAX, false);
    if (number == w->guard_count)
        w->guards[w->guard_count++] = (SizeGuard) { relation, a, b };
    return true;
}

int symsize_test(SymSizes *w, SizeRelation relation, SymSize a, SymSize b)
{
    bool result = symsize_holds(relation, symsize_value(w, a), symsize_value(w, b));
    SizeRelation found = result ? relation : (SizeRelation) (relation ^ 1u);
    return symsize_assume(w, found, a, b) ? result : -1;
}

bool symsize_pin(SymSizes *w, SymSize symsize)
{
    SymSize value = symsize_constant(w, symsize_value(w, symsize));
    return value && symsize_assume(w, SYMSIZE_EQUAL, symsize, value);
}

/* Does it fit what arrays keep their sizes in, whatever the inputs are? */
static bool fits(const SymSizes *w, SymSize symsize)
{
    const SizeTerm *term = &w->terms[symsize];
    switch (term->op) {
        case SYMSIZE_CONSTANT: return term->value <= UINT32_MAX;
        case SYMSIZE_INPUT:
        case SYMSIZE_READ: return true;
        case SYMSIZE_SUB:
        case SYMSIZE_DIV:
        case SYMSIZE_MOD:
            return fits(w, term->a) && symsize_is_constant(w, term->b) &&
                   symsize_value(w, term->b) > 0;
        default: return false;
    }
}

bool symsize_pin_kind(SymSizes *w, SymSize symsize)
{
    if (symsize_value(w, symsize) <= 1)
        return symsize_pin(w, symsize);
    SymSize two = symsize_constant(w, 2), most = symsize_constant(w, UINT32_MAX);
    return two && most && symsize_assume(w, SYMSIZE_NOT_LESS, symsize, two) &&
           (fits(w, symsize) || symsize_assume(w, SYMSIZE_NOT_LESS, most, symsize));
}

bool symsize_check(SymSizes *w, uint32_t reads)
{
    for (uint32_t i = 1; i < w->count; ++i) {
        SizeTerm *term = &w->terms[i];
        bool joined = term->op >= SYMSIZE_ADD, read = term->op == SYMSIZE_READ;
        if (joined && (!term->a || term->a >= i || !term->b || term->b >= i))
            return false;
        if (read && term->a >= reads)
            return false;
        term->late = joined ? symsize_late(w, term->a, term->b)
                     : read ? term->a + 1 : 0;
    }
    return true;
}

/* --------------------------------------------------------------------- text */

enum { DEPTH = 8 }; /* of terms in terms that are written out */

static void write_term(const SymSizes *w, SymSize symsize, uint32_t depth, Text *out)
{
    static const char *const signs[] = { [SYMSIZE_ADD] = " + ", [SYMSIZE_SUB] = " - ",
                                         [SYMSIZE_MUL] = " * ", [SYMSIZE_DIV] = " / ",
                                         [SYMSIZE_MOD] = " % " };
    const SizeTerm *term = &w->terms[symsize];
    if (term->op == SYMSIZE_CONSTANT) {
        text_putf(out, "%lld", (long long) term->value);
    } else if (term->op < SYMSIZE_ADD) {
        text_putf(out, "%c%u", term->op == SYMSIZE_INPUT ? 'w' : 'r', term->a);
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

void symsize_write(const SymSizes *w, SymSize symsize, Text *out)
{
    write_term(w, symsize, 0, out);
}

void symsize_write_guard(const SymSizes *w, const SizeGuard *guard, Text *out)
{
    static const char *const signs[] = { " == ", " != ", " < ", " >= " };
    symsize_write(w, guard->a, out);
    text_put(out, signs[guard->relation]);
    symsize_write(w, guard->b, out);
}

void symsize_free(SymSizes *w)
{
    alloc_free(w->terms);
    alloc_free(w->guards);
    table_free(&w->known);
    memset(w, 0, sizeof(*w));
}
