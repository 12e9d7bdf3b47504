/*
 * regions.c -- loops and dispatch (see regions.h)
 *
 * What is timed is tracing, evaluation and synchronisation of the loops, and evaluation
 * and synchronisation of the calls.
 */
#include "regions.h"

#include <math.h>
#include <stdlib.h>

#include "drjit-core/jit.h"
#include "harness.h"

#define BACKEND JitBackendLLVM

enum { MOST_HELD = 512, RUNS = 8 };

/* Variables that the program being traced has made; released together. */
static uint32_t held[MOST_HELD];
static size_t held_count;

static uint32_t hold(uint32_t index)
{
    harness_require(index != 0, "tracing");
    harness_require(held_count < MOST_HELD, "too many variables");
    return held[held_count++] = index;
}

static void release_from(size_t first)
{
    while (held_count > first)
        jit_var_dec_ref(held[--held_count]);
}

static uint32_t f32(double value)
{
    return hold(jit_var_f32(BACKEND, (float) value));
}

static uint32_t u32(uint32_t value)
{
    return hold(jit_var_u32(BACKEND, value));
}

static uint32_t add(uint32_t a, uint32_t b)
{
    return hold(jit_var_add(a, b));
}

static uint32_t sub(uint32_t a, uint32_t b)
{
    return hold(jit_var_sub(a, b));
}

static uint32_t mul(uint32_t a, uint32_t b)
{
    return hold(jit_var_mul(a, b));
}

static uint32_t fma3(uint32_t a, double b, double c)
{
    return hold(jit_var_fma(a, f32(b), f32(c)));
}

static uint32_t and2(uint32_t a, uint32_t b)
{
    return hold(jit_var_and(a, b));
}

static uint32_t to_f32(uint32_t a)
{
    return hold(jit_var_cast(a, VarTypeFloat32, 0));
}

/* Columns and rows of a square picture, scaled. */
static void picture(uint32_t width, double scale, double x0, double y0, uint32_t *x,
                    uint32_t *y)
{
    const uint32_t i = hold(jit_var_counter(BACKEND, (size_t) width * width));
    *x = fma3(to_f32(hold(jit_var_mod(i, u32(width)))), scale / width, x0);
    *y = fma3(to_f32(hold(jit_var_div(i, u32(width)))), scale / width, y0);
}

/* Replace the states of a loop by the next ones, which stay held. */
static void set_states(uint32_t *state, const uint32_t *next, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        jit_var_inc_ref(next[i]);
        jit_var_dec_ref(state[i]);
        state[i] = next[i];
    }
}

/* Take over the references to initial states. */
static void own_states(uint32_t *state, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        jit_var_inc_ref(state[i]);
}

/* -------------------------------------------------------------- Mandelbrot */

/* Iterations until |z| > 2. */
static uint32_t mandelbrot(uint32_t width, uint32_t most)
{
    uint32_t x, y;
    picture(width, 3, -2, -1.5, &x, &y);
    uint32_t state[] = { f32(0), f32(0), u32(0) };
    own_states(state, 3);
    const uint32_t loop = jit_var_loop_start(BACKEND, "mandelbrot", 3, state);
    harness_require(loop != 0, "jit_var_loop_start");
    int again;
    do {
        const uint32_t zx = state[0], zy = state[1], n = state[2];
        const uint32_t xx = mul(zx, zx), yy = mul(zy, zy);
        const uint32_t inside = hold(jit_var_le(add(xx, yy), f32(4))),
                       going = hold(jit_var_lt(n, u32(most)));
        again = jit_var_loop_cond(loop, and2(inside, going));
        if (again > 0) {
            const uint32_t next[] = { add(sub(xx, yy), x),
                                      add(mul(mul(f32(2), zx), zy), y),
                                      add(n, u32(1)) };
            set_states(state, next, 3);
        }
    } while (again >= 0 && (again = jit_var_loop_end(loop, state)) == 0);
    harness_require(again > 0, "loop");
    jit_var_dec_ref(state[0]);
    jit_var_dec_ref(state[1]);
    return state[2];
}

static uint32_t mandelbrot_value(float x, float y, uint32_t most)
{
    float zx = 0, zy = 0;
    uint32_t n = 0;
    for (; zx * zx + zy * zy <= 4 && n < most; ++n) {
        const float next = zx * zx - zy * zy + x;
        zy = 2 * zx * zy + y;
        zx = next;
    }
    return n;
}

static void check_mandelbrot(uint32_t result, uint32_t width, uint32_t most)
{
    for (uint32_t i = 12345; i < width * width; i += 77777) {
        uint32_t found = 0;
        const float x = fmaf((float) (i % width), 3.f / (float) width, -2.f),
                    y = fmaf((float) (i / width), 3.f / (float) width, -1.5f);
        harness_require(jit_var_read(result, i, &found) &&
                            found == mandelbrot_value(x, y, most),
                        "mandelbrot: point %u has %u", i, found);
    }
}

/* Time a picture again and again. */
static void time_pictures(const char *measure, uint32_t (*trace)(void),
                          void (*check)(uint32_t result))
{
    double times[RUNS];
    for (int i = 0; i < RUNS; ++i) {
        const double start = harness_clock();
        const uint32_t result = trace();
        const bool ok = jit_var_eval(result) && jit_sync_thread();
        times[i] = harness_clock() - start;
        harness_require(ok, "evaluation");
        check(result);
        jit_var_dec_ref(result);
        release_from(0);
    }
    harness_emit(measure, "first", times[0] * 1e3, "ms");
    harness_emit(measure, "steady", harness_median(times + 1, RUNS - 1) * 1e3, "ms");
}

static uint32_t trace_mandelbrot(void)
{
    return mandelbrot(512, 256);
}

static void check_picture(uint32_t result)
{
    check_mandelbrot(result, 512, 256);
}

void regions_mandelbrot(const char *argument)
{
    (void) argument;
    time_pictures("mandelbrot", trace_mandelbrot, check_picture);
}

/* ---------------------------------------------------------- sphere tracing */

enum { SPHERES = 6, STEPS = 64, RAYS = 512 };

/* Distance to the nearest of six spheres: a loop over them. */
static uint32_t scene(const uint32_t p[3])
{
    static const double slope[] = { .4, .25, .3 }, offset[] = { -1, -.6, 3 };
    uint32_t state[] = { u32(0), f32(1e9) };
    own_states(state, 2);
    const uint32_t loop = jit_var_loop_start(BACKEND, "scene", 2, state);
    harness_require(loop != 0, "jit_var_loop_start");
    int again;
    do {
        const uint32_t k = state[0];
        again = jit_var_loop_cond(loop, hold(jit_var_lt(k, u32(SPHERES))));
        if (again > 0) {
            const uint32_t c = to_f32(k);
            uint32_t sum = 0;
            for (int j = 0; j < 3; ++j) {
                const uint32_t e =
                    sub(p[j], add(mul(c, f32(slope[j])), f32(offset[j])));
                sum = sum ? add(sum, mul(e, e)) : mul(e, e);
            }
            const uint32_t distance = sub(hold(jit_var_sqrt(sum)), f32(.45));
            const uint32_t next[] = { add(k, u32(1)),
                                      hold(jit_var_min(state[1], distance)) };
            set_states(state, next, 2);
        }
    } while (again >= 0 && (again = jit_var_loop_end(loop, state)) == 0);
    harness_require(again > 0, "loop");
    jit_var_dec_ref(state[0]);
    return hold(state[1]);
}

static uint32_t march(void)
{
    uint32_t x, y;
    picture(RAYS, 2, -1, -1, &x, &y);
    const uint32_t one = f32(1),
                   length = hold(jit_var_sqrt(add(add(mul(x, x), mul(y, y)), one))),
                   scale = hold(jit_var_div(one, length)),
                   d[] = { mul(x, scale), mul(y, scale), scale };
    uint32_t state[] = { f32(0), f32(1), u32(0) };
    own_states(state, 3);
    const uint32_t loop = jit_var_loop_start(BACKEND, "march", 3, state);
    harness_require(loop != 0, "jit_var_loop_start");
    int again;
    do {
        const uint32_t s = state[0], n = state[2];
        const uint32_t far = hold(jit_var_gt(state[1], f32(1e-3))),
                       near = hold(jit_var_lt(s, f32(20))),
                       few = hold(jit_var_lt(n, u32(STEPS)));
        again = jit_var_loop_cond(loop, and2(and2(far, near), few));
        if (again > 0) {
            const uint32_t p[] = { mul(s, d[0]), mul(s, d[1]), mul(s, d[2]) };
            const uint32_t distance = scene(p);
            const uint32_t next[] = { add(s, distance), distance, add(n, u32(1)) };
            set_states(state, next, 3);
        }
    } while (again >= 0 && (again = jit_var_loop_end(loop, state)) == 0);
    harness_require(again > 0, "loop");
    jit_var_dec_ref(state[1]);
    jit_var_dec_ref(state[2]);
    return state[0];
}

static float march_value(uint32_t i)
{
    const float x = fmaf((float) (i % RAYS), 2.f / RAYS, -1.f),
                y = fmaf((float) (i / RAYS), 2.f / RAYS, -1.f),
                scale = 1 / sqrtf(x * x + y * y + 1);
    const float dx = x * scale, dy = y * scale, dz = scale;
    float s = 0, distance = 1;
    for (uint32_t n = 0; distance > 1e-3f && s < 20 && n < STEPS; ++n) {
        distance = 1e9f;
        for (int k = 0; k < SPHERES; ++k) {
            const float c = (float) k, ex = s * dx - (c * .4f + -1.f),
                        ey = s * dy - (c * .25f + -.6f), ez = s * dz - (c * .3f + 3.f);
            distance = fminf(distance, sqrtf(ex * ex + ey * ey + ez * ez) - .45f);
        }
        s += distance;
    }
    return s;
}

static void check_march(uint32_t result)
{
    for (uint32_t i = 1234; i < RAYS * RAYS; i += 7777) {
        float found = 0;
        harness_require(
            jit_var_read(result, i, &found) &&
                harness_close((double) found, (double) march_value(i), 1e-4),
            "march: ray %u has %g", i, (double) found);
    }
}

void regions_march(const char *argument)
{
    (void) argument;
    time_pictures("march", march, check_march);
}

/* ---------------------------------------------------------------- dispatch */

enum { LANES = 1 << 22, FUNCTIONS = 8, CLASSES = 5, OBJECTS = 1000, ROUNDS = 8 };

/* 24 operations that depend on each other. */
static uint32_t function(uint32_t k, uint32_t x)
{
    const double slope = .5 + .01 * k, offset = .1 * k;
    for (int j = 0; j < ROUNDS; ++j) {
        const uint32_t rest = sub(mul(x, f32(.125 * (j + 1))), f32(offset));
        x = hold(jit_var_fma(x, f32(slope), rest));
    }
    return x;
}

static float function_value(uint32_t k, float x)
{
    const float slope = (float) (.5 + .01 * k), offset = (float) (.1 * k);
    for (int j = 0; j < ROUNDS; ++j)
        x = fmaf(x, slope, x * (float) (.125 * (j + 1)) - offset);
    return x;
}

/* Call function number 'self' - 1, or of the object with that id. */
static uint32_t dispatch(uint32_t self, uint32_t x, uint32_t functions,
                         uint32_t objects, const uint32_t *function_of)
{
    const size_t before = held_count;
    const uint32_t call = jit_var_call_start(BACKEND, "dispatch", 0);
    harness_require(call != 0, "jit_var_call_start");
    const uint32_t input = hold(jit_var_call_input(call, x));
    for (uint32_t k = 0; k < functions; ++k) {
        const uint32_t output = function(k, input);
        harness_require(jit_var_call_append(call, 1, &output), "jit_var_call_append");
    }
    uint32_t result = 0;
    harness_require(jit_var_call(call, self, objects, NULL, function_of, &result),
                    "jit_var_call");
    release_from(before);
    return result;
}

static void check_dispatch(uint32_t result, uint32_t (*number)(uint32_t lane))
{
    for (uint32_t i = 5; i < LANES; i += 99991) {
        const float expected = function_value(
            number(i), fmaf((float) i, 1.f / LANES, .25f));
        float found = 0;
        harness_require(jit_var_read(result, i, &found) &&
                            harness_close((double) found, (double) expected, 1e-4),
                        "dispatch: lane %u has %g, expected %g", i, (double) found,
                        (double) expected);
    }
}

static uint32_t coherent(uint32_t lane)
{
    return lane / (LANES / FUNCTIONS);
}

static uint32_t incoherent(uint32_t lane)
{
    return lane * 2654435769u >> 29;
}

static void time_dispatch(const char *name, uint32_t (*number)(uint32_t lane))
{
    uint32_t *ids = harness_alloc(LANES * sizeof(uint32_t));
    float *values = harness_alloc(LANES * sizeof(float));
    for (uint32_t i = 0; i < LANES; ++i) {
        ids[i] = number(i) + 1;
        values[i] = fmaf((float) i, 1.f / LANES, .25f);
    }
    const uint32_t self = jit_var_mem_copy(BACKEND, VarTypeUInt32, ids, LANES),
                   x = jit_var_mem_copy(BACKEND, VarTypeFloat32, values, LANES);
    free(ids);
    free(values);
    double times[RUNS];
    for (int i = 0; i < RUNS; ++i) {
        const uint32_t y = dispatch(self, x, FUNCTIONS, FUNCTIONS, NULL);
        const double start = harness_clock();
        const bool ok = jit_var_eval(y) && jit_sync_thread();
        times[i] = harness_clock() - start;
        harness_require(ok, "evaluation");
        check_dispatch(y, number);
        jit_var_dec_ref(y);
    }
    harness_emit("dispatch", name, harness_median(times + 2, RUNS - 2) / LANES * 1e9,
                 "ns/lane");
    jit_var_dec_ref(self);
    jit_var_dec_ref(x);
}

/* A call over 1,000 objects of five classes, traced only. */
static void time_tracing(void)
{
    enum { TIMES = 51 };
    uint32_t function_of[OBJECTS];
    for (uint32_t i = 0; i < OBJECTS; ++i)
        function_of[i] = i % CLASSES;
    const uint32_t lane = hold(jit_var_counter(BACKEND, OBJECTS)),
                   self = add(lane, u32(1)), x = mul(to_f32(lane), f32(1e-3));
    harness_require(jit_var_eval(self) && jit_var_eval(x), "evaluation");
    double times[TIMES];
    for (int i = 0; i < TIMES; ++i) {
        const double start = harness_clock();
        const uint32_t y = dispatch(self, x, CLASSES, OBJECTS, function_of);
        times[i] = harness_clock() - start;
        jit_var_dec_ref(y);
    }
    release_from(0);
    harness_emit("dispatch", "tracing 1000", harness_median(times, TIMES) * 1e6, "us");
}

void regions_dispatch(const char *argument)
{
    (void) argument;
    time_dispatch("coherent", coherent);
    time_dispatch("incoherent", incoherent);
    time_tracing();
}
