/*
 * march.c -- rays march through a Menger sponge
 *
 *     march OUTPUT.png [--size W] [--height H] [--levels L] [--frames N]
 *
 * A ray goes forward by the distance to the nearest surface until that is tiny: a loop
 * that each pixel leaves after a number of steps of its own. The distance is a loop,
 * too, over the levels of holes. Pixels whose ray meets the sponge are shaded on one
 * side of a conditional, which looks for the light with a third loop. All of it is one
 * kernel.
 *
 * The picture is drawn N times. The first time is that of a program that starts; later
 * ones trace the same operations again and find the kernel. One line of times is
 * printed [ms]: tracing, compiling, first frame, best frame. tools/demo.sh runs this
 * with each engine. Exit status 3: the engine that DRJIT_CPU_ENGINE names cannot be
 * used.
 */
#include "common.h"
#include "expr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_NO_ENGINE = 3, MOST_STATES = 4 };

typedef struct Options {
    const char *output;
    uint32_t width, height, levels, frames;
} Options;

/* ------------------------------------------------------------------- loops */

/* A loop. 'state' holds placeholders while it is recorded, results when it is complete;
 * each is a reference of its own. */
typedef struct Loop {
    uint32_t handle, count;
    uint32_t state[MOST_STATES];
} Loop;

static void free_loop(const Loop *loop) {
    for (uint32_t k = 0; k < loop->count; ++k)
        jit_var_dec_ref(loop->state[k]);
}

static bool begin_loop(Loop *loop, const char *name, uint32_t count,
                       const Value *initial) {
    loop->count = count;
    for (uint32_t k = 0; k < count; ++k)
        loop->state[k] = v_keep(initial[k]);
    loop->handle = jit_var_loop_start(JitBackendLLVM, name, count, loop->state);
    if (loop->handle)
        return true;
    free_loop(loop);
    return report_error(name);
}

/* Shall the body be traced? */
static bool loop_goes_on(const Loop *loop, Value condition) {
    return jit_var_loop_cond(loop->handle, condition) > 0;
}

static void set_next(Loop *loop, const Value *next) {
    for (uint32_t k = 0; k < loop->count; ++k) {
        jit_var_dec_ref(loop->state[k]);
        loop->state[k] = v_keep(next[k]);
    }
}

/* Is it complete? If not, it is to be traced once more from the condition on. */
static bool end_loop(Loop *loop) {
    const int done = jit_var_loop_end(loop->handle, loop->state);
    if (done < 0)
        report_error("loop");
    return done != 0;
}

/* A placeholder or result; the list of expr.h owns it from here on. */
static Value take_state(const Loop *loop, uint32_t k) {
    return expr_own(v_keep(loop->state[k]));
}

/* ------------------------------------------------------------------- scene */

static Value max3(Value a, Value b, Value c) {
    return v_max(a, v_max(b, c));
}

static Value min3(Value a, Value b, Value c) {
    return v_min(a, v_min(b, c));
}

/* Where in its cell of length 2 a coordinate is, as a distance from the middle. */
static Value fold(Value x) {
    const Value cell = v_mul(v_floor(v_mul(x, v_f(0.5))), v_f(2));
    return v_abs(v_sub(v_sub(x, cell), v_f(1)));
}

/* |1 - 3 fold(x)|: distance of a coordinate from the hole of its cell. */
static Value hole(Value x) {
    return v_abs(v_fma(fold(x), v_f(-3), v_f(1)));
}

/* A bound of the distance to the sponge: a cube less three square bars a level. */
static Value distance_at(Value3 p, uint32_t levels) {
    const Value cube = v_sub(max3(v_abs(p.x), v_abs(p.y), v_abs(p.z)), v_f(1));
    Loop loop;
    if (!begin_loop(&loop, "levels", 3, (Value[]) { v_u(0), v_f(1), cube }))
        return 0;
    do {
        const Value level = take_state(&loop, 0), scale = take_state(&loop, 1),
                    distance = take_state(&loop, 2);
        if (loop_goes_on(&loop, v_lt(level, v_u(levels)))) {
            const Value x = hole(v_mul(p.x, scale)), y = hole(v_mul(p.y, scale)),
                        z = hole(v_mul(p.z, scale));
            const Value finer = v_mul(scale, v_f(3));
            const Value bars = v_div(
                v_sub(min3(v_max(x, y), v_max(y, z), v_max(z, x)), v_f(1)), finer);
            set_next(&loop, (Value[]) { v_add(level, v_u(1)), finer,
                                        v_max(distance, bars) });
        }
    } while (!end_loop(&loop));
    const Value result = take_state(&loop, 2);
    free_loop(&loop);
    return result;
}

/* How far a ray gets, and the number of its steps. */
typedef struct March {
    Value length, steps, gap;
} March;

static March march(Value3 from, Value3 direction, double near, double far,
                   uint32_t most, uint32_t levels) {
    Loop loop;
    if (!begin_loop(&loop, "march", 3, (Value[]) { v_f(near), v_f(1), v_u(0) }))
        return (March) { 0, 0, 0 };
    do {
        const Value length = take_state(&loop, 0), gap = take_state(&loop, 1),
                    steps = take_state(&loop, 2);
        const Value open = v_gt(gap, v_mul(length, v_f(4e-4)));
        const Value short_yet = v_lt(length, v_f(far)), few = v_lt(steps, v_u(most));
        if (loop_goes_on(&loop, v_and(v_and(open, short_yet), few))) {
            const Value next = distance_at(v3_fma(direction, length, from), levels);
            set_next(&loop, (Value[]) { v_add(length, next), next,
                                        v_add(steps, v_u(1)) });
        }
    } while (!end_loop(&loop));
    const March result = { take_state(&loop, 0), take_state(&loop, 2),
                           take_state(&loop, 1) };
    free_loop(&loop);
    return result;
}

/* The direction in which the distance grows, from four points around. */
static Value3 normal_at(Value3 p, uint32_t levels) {
    static const double sign[4][3] = {
        { 1, -1, -1 }, { -1, -1, 1 }, { -1, 1, -1 }, { 1, 1, 1 }
    };
    Value3 sum = v3_f(0, 0, 0);
    for (int k = 0; k < 4; ++k) {
        const Value3 way = v3_f(sign[k][0], sign[k][1], sign[k][2]);
        sum = v3_fma(way, distance_at(v3_fma(way, v_f(5e-4), p), levels), sum);
    }
    return v3_unit(sum);
}

/* ----------------------------------------------------------------- shading */

/* Color of a point of the sponge: light, unless something is before it, and sky. */
static Value3 shade(Value3 p, Value steps, uint32_t levels) {
    const Value3 light = v3_unit(v3_f(0.55, 0.8, -0.35));
    const Value3 normal = normal_at(p, levels);
    const Value facing = v_max(v3_dot(normal, light), v_f(0));
    const Value3 start = v3_fma(normal, v_f(4e-3), p);
    const March shadow = march(start, light, 2e-3, 4, 64, levels);
    const Value sun = v_select(v_gt(shadow.length, v_f(3.9)), facing, v_f(0));
    const Value up = v_fma(normal.y, v_f(0.5), v_f(0.5));
    /* Where rays need many steps it is narrow, and little light gets there. */
    const Value open = v_clamp(
        v_fma(v_cast(steps, VarTypeFloat32), v_f(-1.0 / 90), v_f(1)), 0.1, 1);
    const Value3 paint = v3_mix(v3_f(0.95, 0.55, 0.25), v3_f(0.85, 0.8, 0.7),
                                v_clamp(v_fma(p.y, v_f(0.5), v_f(0.5)), 0, 1));
    const Value3 lit = v3_fma(v3_f(1.25, 1.15, 0.95), sun,
                              v3_scale(v3_f(0.25, 0.35, 0.55), v_mul(up, open)));
    return v3_mul(paint, lit);
}

static Value3 sky(Value3 direction) {
    const Value high = v_clamp(v_fma(direction.y, v_f(0.8), v_f(0.5)), 0, 1);
    return v3_mix(v3_f(0.9, 0.8, 0.7), v3_f(0.25, 0.45, 0.75), high);
}

static bool append_side(uint32_t cond, Value3 color) {
    return jit_var_cond_append(cond, 3, (uint32_t[]) { color.x, color.y, color.z });
}

/* The sponge where the ray has met it, else the sky. */
static Value3 color_of(Value3 eye, Value3 direction, March ray, uint32_t levels) {
    const Value met = v_lt(ray.length, v_f(8));
    const uint32_t cond = jit_var_cond_start("met", met);
    uint32_t results[3];
    bool ok = cond != 0;
    ok = ok && append_side(cond, shade(v3_fma(direction, ray.length, eye), ray.steps,
                                       levels));
    ok = ok && append_side(cond, sky(direction));
    if (!ok || !jit_var_cond_end(cond, results)) {
        report_error("shading");
        return (Value3) { 0, 0, 0 };
    }
    return (Value3) { expr_own(results[0]), expr_own(results[1]),
                      expr_own(results[2]) };
}

static Value draw(const Options *options) {
    const size_t count = (size_t) options->width * options->height;
    const Value pixel = expr_own(jit_var_counter(JitBackendLLVM, count));
    const Value row = v_div(pixel, v_u(options->width));
    const Value column = v_sub(pixel, v_mul(row, v_u(options->width)));
    const double zoom = 1.5 / options->height;
    const Value x = v_fma(v_cast(column, VarTypeFloat32), v_f(zoom),
                          v_f(-0.5 * zoom * options->width)),
                y = v_fma(v_cast(row, VarTypeFloat32), v_f(-zoom),
                          v_f(0.5 * zoom * options->height));

    const Value3 eye = v3_f(1.7, 1.25, -2.2), ahead = v3_unit(v3_f(-1.7, -1.4, 2.2));
    const Value3 right = v3_unit(v3_f(2.2, 0, 1.7));
    const Value3 up = v3_unit(v3_f(-1.7 * 1.4, 1.7 * 1.7 + 2.2 * 2.2, 2.2 * 1.4));
    const Value3 direction =
        v3_unit(v3_fma(right, x, v3_fma(up, y, v3_scale(ahead, v_f(1.35)))));
    const March ray = march(eye, direction, 0.5, 8, 128, options->levels);
    return v3_pixels(color_of(eye, direction, ray, options->levels));
}

/* ------------------------------------------------------------------ frames */

/* Times of a frame in seconds. */
typedef struct Frame {
    double trace, compile, total;
    char engine[16];
} Frame;

/* Time that compiling took, and with what. */
static void read_history(Frame *frame) {
    KernelHistoryEntry *entries = NULL;
    const size_t count = jit_kernel_history(&entries);
    for (size_t i = 0; i < count; ++i) {
        if (entries[i].type != KernelTypeJIT)
            continue;
        frame->compile += 1e-3 * entries[i].backend_time;
        snprintf(frame->engine, sizeof(frame->engine), "%s",
                 entries[i].engine ? entries[i].engine : "?");
    }
    jit_kernel_history_release(entries, count);
}

/* Trace and compute one picture. With 'pixels', they get a copy of it. */
static bool draw_frame(const Options *options, Frame *frame, uint32_t *pixels) {
    *frame = (Frame) { 0 };
    jit_kernel_history_clear();
    const double start = clock_seconds();
    const Value packed = draw(options);
    frame->trace = clock_seconds() - start;
    void *data = NULL;
    const Value array = packed ? expr_own(jit_var_data(packed, &data)) : 0;
    bool ok = array != 0;
    ok = ok && (jit_sync_thread() || report_error("march"));
    frame->total = clock_seconds() - start;
    if (ok) {
        read_history(frame);
        if (pixels)
            memcpy(pixels, data, (size_t) options->width * options->height * 4);
    }
    expr_end();
    return ok;
}

/* Draw all frames, write the last one, and say how long they took: one line. */
static bool draw_all(const Options *options, uint32_t *pixels) {
    Frame first, frame;
    if (!draw_frame(options, &first, pixels))
        return false;
    double best = first.total;
    for (uint32_t i = 1; i < options->frames; ++i) {
        if (!draw_frame(options, &frame, pixels))
            return false;
        best = frame.total < best ? frame.total : best;
    }
    printf("  %-8s %10.2f %12.2f %12.2f %14.2f\n", first.engine, 1e3 * first.trace,
           1e3 * first.compile, 1e3 * first.total, 1e3 * best);
    const Picture picture = { options->width, options->height, pixels };
    return picture_write(&picture, options->output);
}

/* Can kernels run at all? Some engine may have been asked for that is not here. */
static bool engine_works(void) {
    const Value two = expr_own(jit_var_counter(JitBackendLLVM, 2));
    const bool ok = two && jit_var_eval(two) && jit_sync_thread();
    if (!ok)
        report_error("march");
    expr_end();
    return ok;
}

/* ------------------------------------------------------------ command line */

static bool parse_options(int argc, char **argv, Options *options) {
    *options = (Options) { .width = 800, .height = 600, .levels = 4, .frames = 3 };
    if (argc < 2) {
        fprintf(stderr, "usage: march OUTPUT.png [--size W] [--height H] "
                "[--levels L] [--frames N]\n");
        return false;
    }
    options->output = argv[1];
    for (int i = 2; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        const struct {
            const char *name;
            long low, high;
            uint32_t *out;
        } known[] = { { "--size", 1, 8192, &options->width },
                      { "--height", 1, 8192, &options->height },
                      { "--levels", 0, 8, &options->levels },
                      { "--frames", 1, 1000, &options->frames } };
        size_t k = 0;
        while (k < 4 && strcmp(argv[i], known[k].name) != 0)
            ++k;
        if (k == 4) {
            fprintf(stderr, "expected --size, --height, --levels or --frames, found "
                    "'%s'\n", argv[i]);
            return false;
        }
        if (!parse_count(value, known[k].name, known[k].low, known[k].high,
                         known[k].out))
            return false;
    }
    return true;
}

int main(int argc, char **argv) {
    Options options;
    if (!parse_options(argc, argv, &options))
        return 2;
    uint32_t *pixels = malloc((size_t) options.width * options.height * 4);
    if (!pixels || !(jit_init(JitBackendLLVM) || report_error("march"))) {
        free(pixels);
        return 1;
    }
    jit_set_flag(JitFlagKernelHistory, 1);
    const bool works = engine_works();
    const bool ok = works && draw_all(&options, pixels);
    expr_end();
    const uint32_t leaks = jit_shutdown(0);
    free(pixels);
    return !works ? EXIT_NO_ENGINE : ok && leaks == 0 ? 0 : 1;
}
