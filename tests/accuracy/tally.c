/*
 * tally.c -- see tally.h
 *
 * Errors come from the fast reference. Where one is about to become the largest, or is
 * so near 1 ulp that the reference could be to blame, MPFR decides. As there are
 * billions of single-precision arguments, ordinary ones have a fast path of their own.
 */
#include "tally.h"

#include <math.h>
#include <string.h>

/* Which error below this one is the largest is not worth asking MPFR. */
#define SMALL 0.25

static uint64_t sign_of(const Format *f)
{
    return UINT64_C(1) << (8 * f->size - 1);
}

static bool is_nan(const Format *f, uint64_t bits)
{
    return isnan(reference_value(f, bits));
}

static void measure(Tally *t, const Results *r, uint64_t i)
{
    const Format *f = r->arguments->format;
    const Function *function = r->arguments->function;
    Witness w = { { 0 }, arguments_bits(f, r->y, i), 0 };
    double x[2] = { 0 }, y = reference_value(f, w.found);
    for (int k = 0; k < function->arity; ++k) {
        w.x[k] = arguments_bits(f, r->x[k], i);
        x[k] = reference_value(f, w.x[k]);
    }
    Difference d = reference_near(function, f, x, y);
    bool doubtful = d.special ? d.wrong
                              : d.ulp > fmax(t->most, SMALL) + f->worth ||
                                    fabs(d.ulp - 1) < f->slack;
    if (doubtful)
        d = reference_exact(function, f, x, y);
    w.expected = reference_bits(f, d.exact);
    ++t->count;
    if (d.special) {
        if (d.wrong && !t->wrong++)
            t->first_wrong = w;
        return;
    }
    ++t->measured;
    t->sum += d.ulp;
    t->above += d.ulp > 1;
    if (d.ulp > t->most) {
        t->most = d.ulp;
        t->worst = w;
    }
}

/* Single precision, one argument, and an error that is neither above 1 nor the largest.
 * Comparisons with NaN are false. */
static bool measure_quickly(Tally *t, const Results *r, uint64_t i)
{
    const Function *function = r->arguments->function;
    const Format *f = r->arguments->format;
    if (f->type != VarTypeFloat32 || function->arity != 1)
        return false;
    float x, y;
    memcpy(&x, (const uint32_t *) r->x[0] + i, sizeof(x));
    memcpy(&y, (const uint32_t *) r->y + i, sizeof(y));
    double v = function->near_1((double) x), ulp = reference_distance(f, v, (double) y);
    if (!(ulp <= t->most + f->worth && ulp < 1 - f->slack && v != 0 &&
          !signbit(y) == !signbit(v)))
        return false;
    ++t->count;
    ++t->measured;
    t->sum += ulp;
    return true;
}

/* Argument i and its successor. */
static void check_order(Tally *t, const Results *r, uint64_t i)
{
    const Format *f = r->arguments->format;
    if (arguments_bits(f, r->y, i) == arguments_bits(f, r->y, i + 1))
        return;
    uint64_t a = arguments_bits(f, r->x[0], i), b = arguments_bits(f, r->x[0], i + 1);
    if (b != a + 1)
        return;
    Witness w = { .x = { a, b },
                  .found = arguments_bits(f, r->y, i),
                  .expected = arguments_bits(f, r->y, i + 1) };
    double from = reference_value(f, a), to = reference_value(f, b);
    double rise = reference_value(f, w.expected) - reference_value(f, w.found);
    if (!(fabs(rise) > 0) || isnan(from) || isnan(to))
        return;
    int slope = from < to ? r->arguments->function->slope(from, to)
                          : -r->arguments->function->slope(to, from);
    if (rise * slope < 0 && !t->unordered++)
        t->first_unordered = w;
}

static void check_mirrored(Tally *t, const Results *r, uint64_t i)
{
    const Format *f = r->arguments->format;
    uint64_t x = arguments_bits(f, r->x[0], i), y = arguments_bits(f, r->y, i);
    uint64_t found = arguments_bits(f, r->mirrored, i);
    uint64_t expected =
        r->arguments->function->parity == PARITY_ODD ? y ^ sign_of(f) : y;
    if (found != expected && !(is_nan(f, found) && is_nan(f, expected)) &&
        !t->lopsided++)
        t->first_lopsided = (Witness){ { x ^ sign_of(f) }, found, expected };
}

void tally_add(Tally *t, const Results *r, uint64_t first, uint64_t end, uint64_t count)
{
    bool one = r->arguments->function->arity == 1;
    for (uint64_t i = first; i < end; ++i) {
        if (!measure_quickly(t, r, i))
            measure(t, r, i);
        if (one && i + 1 < count)
            check_order(t, r, i);
        if (r->mirrored)
            check_mirrored(t, r, i);
    }
}

Tally tally_slice(const Tally *t)
{
    return (Tally){ .most = t->most };
}

void tally_merge(Tally *t, const Tally *other)
{
    if (other->most > t->most) {
        t->most = other->most;
        t->worst = other->worst;
    }
    if (!t->wrong)
        t->first_wrong = other->first_wrong;
    if (!t->unordered)
        t->first_unordered = other->first_unordered;
    if (!t->lopsided)
        t->first_lopsided = other->first_lopsided;
    t->count += other->count;
    t->measured += other->measured;
    t->sum += other->sum;
    t->above += other->above;
    t->wrong += other->wrong;
    t->unordered += other->unordered;
    t->lopsided += other->lopsided;
}

bool tally_passes(const Tally *t)
{
    return !(t->above || t->wrong || t->unordered || t->lopsided);
}
