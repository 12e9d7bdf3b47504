/*
 * ad_util.h -- derivatives of small programs, compared with difference quotients
 */
#ifndef AD_UTIL_H
#define AD_UTIL_H

#include <math.h>

#include "drjit-core/ad.h"
#include "test_util.h"

typedef uint64_t Tracked;

#define FREE(...) \
    free_all((Tracked[]){ __VA_ARGS__ }, COUNT_OF(((Tracked[]){ __VA_ARGS__ })))
static UNUSED void free_all(const Tracked *ids, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        ad_var_dec_ref(ids[i]);
}

static UNUSED uint32_t doubles(size_t size, const double *data)
{
    return array_of(VarTypeFloat64, data, size);
}

/* A tracked array; a program may ask for none to be tracked. */
static UNUSED Tracked tracked(size_t size, const double *data)
{
    uint32_t plain = doubles(size, data);
    Tracked x = ad_var_track(plain);
    OK(x);
    jit_var_dec_ref(plain);
    return x;
}

static UNUSED void read_doubles(Tracked x, double *out, size_t size)
{
    void *data = NULL;
    assert_int_equal(jit_var_size(ad_var_index(x)), size);
    uint32_t stored = data_of(ad_var_index(x), &data);
    OK(stored);
    memcpy(out, data, size * sizeof(double));
    jit_var_dec_ref(stored);
}

static UNUSED void read_grad(Tracked x, double *out, size_t size)
{
    Tracked g = ad_grad(x);
    OK(g);
    read_doubles(g, out, size);
    ad_var_dec_ref(g);
}

static UNUSED void check_grad(Tracked x, const double *expected, size_t size, int line)
{
    double found[256];
    read_grad(x, found, size);
    for (size_t i = 0; i < size; ++i)
        if (fabs(found[i] - expected[i]) > 1e-12 * fmax(1, fabs(expected[i])))
            fail_msg("line %d: gradient %zu is %.17g, expected %.17g", line, i,
                     found[i], expected[i]);
}
#define CHECK_GRAD(x, ...)                         \
    check_grad(x, (const double[]){ __VA_ARGS__ }, \
               COUNT_OF(((const double[]){ __VA_ARGS__ })), __LINE__)

static UNUSED void seed(Tracked x, const double *values, size_t size)
{
    uint32_t v = doubles(size, values);
    OK(ad_set_grad(x, v));
    jit_var_dec_ref(v);
}

static UNUSED void propagate(ADMode mode, Tracked x, uint32_t flags)
{
    OK(ad_enqueue(mode, x));
    OK(ad_traverse(mode, flags));
}

/* Start with 1. */
static UNUSED void backward(Tracked y)
{
    seed(y, (double[]){ 1 }, 1);
    propagate(ADModeBackward, y, ADFlagDefault);
}

enum { INPUTS = 3, ENTRIES = 16 }; /* of programs: inputs, entries of each at most */

/* A result, owned, made of some inputs. */
typedef Tracked (*Formula)(const Tracked *x, const void *payload);

typedef struct Point {
    size_t inputs, size[INPUTS];
    double x[INPUTS][ENTRIES];
} Point;

static UNUSED size_t run_plain(Formula formula, const void *payload, const Point *p,
                               double *out)
{
    Tracked x[INPUTS];
    for (size_t i = 0; i < p->inputs; ++i)
        x[i] = doubles(p->size[i], p->x[i]);
    Tracked y = formula(x, payload);
    OK(y);
    assert_int_equal(ad_var_node(y), 0);
    size_t size = jit_var_size(ad_var_index(y));
    assert_true(size <= 256);
    read_doubles(y, out, size);
    free_all(x, p->inputs);
    ad_var_dec_ref(y);
    return size;
}

static UNUSED double weight(size_t i)
{
    return 1 + 0.37 * (double) (i % 5);
}

/* The sum of the result's entries times weight(), a function of one number. */
static UNUSED double objective(Formula formula, const void *payload, const Point *p)
{
    double out[256], sum = 0;
    size_t size = run_plain(formula, payload, p, out);
    for (size_t i = 0; i < size; ++i)
        sum += weight(i) * out[i];
    return sum;
}

/* By entry k of input i, by a difference quotient of fourth order. */
static UNUSED double quotient(Formula formula, const void *payload, const Point *p,
                              size_t i, size_t k)
{
    static const double weights[] = { 1, -8, 8, -1 };
    double h = 0x1p-10 * fmax(0.25, fabs(p->x[i][k])), sum = 0;
    for (int s = 0; s < 4; ++s) {
        Point moved = *p;
        moved.x[i][k] += h * (s < 2 ? s - 2 : s - 1);
        sum += weights[s] * objective(formula, payload, &moved);
    }
    return sum / (12 * h);
}

static UNUSED void expect_near(double found, double expected, double tolerance,
                               const char *what, const char *name)
{
    if (!(fabs(found - expected) <= tolerance * fmax(1, fabs(expected))))
        fail_msg("%s: %s is %.17g, expected %.17g", name, what, found, expected);
}

/* Forward, reverse and difference quotients agree, and so do derivatives of the
 * gradient (reverse over reverse, forward over reverse) with quotients of it. */
static UNUSED void check_program(const char *name, Formula formula, const void *payload,
                                 const Point *p)
{
    Tracked x[INPUTS];
    double g[INPUTS][ENTRIES], w[256], plain[256], value[256];
    for (size_t i = 0; i < COUNT_OF(w); ++i)
        w[i] = weight(i);
    for (size_t i = 0; i < p->inputs; ++i)
        x[i] = tracked(p->size[i], p->x[i]);
    Tracked y = formula(x, payload);
    OK(y);
    size_t size = jit_var_size(ad_var_index(y));
    assert_int_equal(run_plain(formula, payload, p, plain), size);
    read_doubles(y, value, size);
    assert_memory_equal(plain, value, size * sizeof(double));
    if (!ad_var_node(y))
        fail_msg("%s: the result is not tracked", name);
    seed(y, w, size);
    propagate(ADModeBackward, y, ADFlagCreateGraph | ADFlagClearVertices);
    Tracked gradient[INPUTS];
    for (size_t i = 0; i < p->inputs; ++i) {
        gradient[i] = ad_grad(x[i]);
        OK(gradient[i]);
        read_doubles(gradient[i], g[i], p->size[i]);
        ad_clear_grad(x[i]);
        for (size_t k = 0; k < p->size[i]; ++k)
            expect_near(g[i][k], quotient(formula, payload, p, i, k), 1e-6,
                        "the reverse derivative", name);
    }
    ad_clear_grad(y);

    /* forward along a direction, by the dot product */
    double along = 0, out[256], forward = 0;
    for (size_t i = 0; i < p->inputs; ++i) {
        seed(x[i], w, p->size[i]);
        for (size_t k = 0; k < p->size[i]; ++k)
            along += w[k] * g[i][k];
    }
    OK(ad_enqueue(ADModeBackward, y)); /* towards y only */
    OK(ad_traverse(ADModeForward, ADFlagClearVertices));
    read_grad(y, out, size);
    for (size_t k = 0; k < size; ++k)
        forward += w[k] * out[k];
    expect_near(forward, along, 1e-13, "the forward derivative", name);

    ad_clear_grad(y);

    /* Of the gradient: by a quotient along the direction, ... */
    double quotients = 0, reverse = 0, second = 0;
    static const double weights[] = { 1, -8, 8, -1 };
    for (int s = 0; s < 4; ++s) {
        Point moved = *p;
        for (size_t i = 0; i < p->inputs; ++i)
            for (size_t k = 0; k < p->size[i]; ++k)
                moved.x[i][k] += 0x1p-10 * (s < 2 ? s - 2 : s - 1) * w[k];
        Tracked z[INPUTS];
        for (size_t i = 0; i < p->inputs; ++i)
            z[i] = tracked(p->size[i], moved.x[i]);
        Tracked result = formula(z, payload);
        seed(result, w, size);
        propagate(ADModeBackward, result, ADFlagDefault);
        for (size_t i = 0; i < p->inputs; ++i) {
            read_grad(z[i], out, p->size[i]);
            for (size_t k = 0; k < p->size[i]; ++k)
                quotients += weights[s] * out[k] * w[k];
        }
        free_all(z, p->inputs);
        ad_var_dec_ref(result);
    }
    /* ... reverse over reverse, ... */
    for (size_t i = 0; i < p->inputs; ++i) {
        ad_clear_grad(x[i]);
        uint32_t v = doubles(p->size[i], w);
        OK(ad_accum_grad(gradient[i], v)); /* two gradients may be one variable */
        jit_var_dec_ref(v);
        OK(ad_enqueue(ADModeBackward, gradient[i]));
    }
    OK(ad_traverse(ADModeBackward, ADFlagClearVertices));
    for (size_t i = 0; i < p->inputs; ++i) {
        read_grad(x[i], out, p->size[i]);
        for (size_t k = 0; k < p->size[i]; ++k)
            reverse += w[k] * out[k];
    }
    /* ... and forward over reverse, where a gradient may be on the way to another. */
    for (size_t i = 0; i < p->inputs; ++i) {
        seed(x[i], w, p->size[i]);
        OK(ad_enqueue(ADModeForward, x[i]));
    }
    OK(ad_traverse(ADModeForward, ADFlagClearEdges));
    for (size_t i = 0; i < p->inputs; ++i) {
        read_grad(gradient[i], out, p->size[i]);
        for (size_t k = 0; k < p->size[i]; ++k)
            second += w[k] * out[k];
    }
    expect_near(second, quotients / (12 * 0x1p-10), 1e-5, "forward over reverse", name);
    expect_near(reverse, second, 1e-11, "reverse over reverse", name);
    free_all(gradient, p->inputs);
    free_all(x, p->inputs);
    ad_var_dec_ref(y);
    assert_int_equal(ad_node_count(), 0);
}

#endif
