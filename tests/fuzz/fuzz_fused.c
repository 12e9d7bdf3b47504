/*
 * fuzz_fused.c -- random computations with reductions, fused and not
 *
 *     fuzz_fused [--count N] [--seed S] [--steps N] [--engine NAME,...] [--print]
 *
 * Each computation has a pool of arrays of one length. A step replaces one of them by
 * arithmetic on others, by a reduction of one, a prefix sum, what a compressed mask
 * selects, or what a loop makes of it; or writes to an array, evaluates some, or drops
 * one. All results are compared bit for bit, NaNs of any kind being the same: with
 * JitFlagFuseReductions off and on, and between engines. Status 1 if any differ.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drjit-core/jit.h"
#include "ir/type.h"

#define CPU JitBackendLLVM
#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))
enum { POOL = 12, ALWAYS = 0, MOST_ENGINES = 4 };

typedef struct Options {
    uint64_t seed, count;
    uint32_t steps;
    const char *engines;
    bool print;
} Options;

/* One computation under way. */
typedef struct Run {
    uint64_t random;      /* state of the generator */
    uint32_t lanes;
    uint32_t pool[POOL];  /* of 'lanes' entries, or 1 */
    uint64_t digest;      /* of all results so far */
    bool print, failed;
} Run;

static const VarType types[] = { VarTypeFloat32, VarTypeFloat32, VarTypeFloat64,
                                 VarTypeFloat16, VarTypeInt32,   VarTypeUInt32,
                                 VarTypeUInt64,  VarTypeUInt8,   VarTypeBool };

/* Lengths at the edges of groups, parts, tiles and chunks, and what divides them. */
static const uint32_t lengths[] = { 1,     2,     64,     65,     999,    4096,
                                    4097,  16384, 65535,  65536,  65537,  70000,
                                    98304, 131072, 196608, 200001, 300000 };

/* ----------------------------------------------------------------------- drawing */

static uint64_t draw(Run *r)
{
    uint64_t z = r->random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint32_t below(Run *r, size_t limit) { return (uint32_t) (draw(r) % limit); }

/* A place in the pool whose type is among those wanted; if there is none, any. */
static uint32_t find(Run *r, bool (*wanted)(VarType type))
{
    uint32_t from = below(r, POOL);
    for (uint32_t i = 0; i < POOL; ++i) {
        uint32_t place = (from + i) % POOL;
        if (wanted(jit_var_type(r->pool[place])))
            return place;
    }
    return from;
}

static bool is_float(VarType type) { return type_info[type].is_float; }
static bool is_bool(VarType type) { return type == VarTypeBool; }
static bool is_number(VarType type) { return type != VarTypeBool; }

/* A divisor of the length, often a small one. */
static uint32_t draw_block(Run *r)
{
    if (below(r, 2))
        return r->lanes;
    uint32_t block = 1 + below(r, below(r, 2) ? 100 : r->lanes);
    while (r->lanes % block)
        block--;
    return block;
}

static ReduceOp draw_op(Run *r, VarType type)
{
    if (type == VarTypeBool)
        return below(r, 2) ? ReduceOpAnd : ReduceOpOr;
    return (ReduceOp) (ReduceOpAdd + below(r, is_float(type) ? 4 : 6));
}

/* ------------------------------------------------------------------------ values */

/* The array in a place of the pool is this one from now on. */
static void put(Run *r, uint32_t place, uint32_t id)
{
    if (!id) {
        r->failed = true;
        printf("%s\n", jit_error_message());
        return;
    }
    if (r->pool[place])
        jit_var_dec_ref(r->pool[place]);
    r->pool[place] = id;
    if (r->print)
        printf("    [%u] = r%u\n", place, id);
}

static uint32_t drop(uint32_t id, uint32_t result)
{
    jit_var_dec_ref(id);
    return result;
}

static uint32_t literal(VarType type, double number)
{
    uint32_t wide = jit_var_f64(CPU, number);
    return drop(wide, jit_var_cast(wide, type, 0));
}

/* In memory: small numbers, so that sums are exact as often as not. */
static uint32_t stored(Run *r, VarType type, uint32_t size)
{
    double *data = malloc(size * sizeof(double));
    double scale = below(r, 2) ? 1 : 0x1p-4 / 3;
    for (uint32_t i = 0; data && i < size; ++i)
        data[i] = ((double) below(r, 256) - (type == VarTypeUInt8 ? 0 : 128)) * scale;
    uint32_t wide = data ? jit_var_mem_copy(CPU, VarTypeFloat64, data, size) : 0;
    uint32_t id = drop(wide, jit_var_cast(wide, type, 0));
    r->failed |= !jit_var_eval(id) && jit_error() != JIT_OK;
    free(data);
    return id;
}

/* One entry for each lane. */
static uint32_t widen(const Run *r, uint32_t id)
{
    if (jit_var_size(id) == r->lanes) {
        jit_var_inc_ref(id);
        return id;
    }
    uint32_t zero = jit_var_u32(CPU, 0), lanes = jit_var_counter(CPU, r->lanes);
    uint32_t index = jit_var_mul(lanes, zero);
    jit_var_dec_ref(zero);
    jit_var_dec_ref(lanes);
    return drop(index, jit_var_gather(id, index, ALWAYS));
}

/* Of another array, as this type. */
static uint32_t other(Run *r, VarType type)
{
    return jit_var_cast(r->pool[below(r, POOL)], type, 0);
}

/* ------------------------------------------------------------------------- steps */

static void step_arithmetic(Run *r)
{
    static const JitOp of_numbers[] = { JitOpAdd, JitOpSub, JitOpMul, JitOpMin,
                                        JitOpMax };
    static const JitOp of_bits[] = { JitOpAnd, JitOpOr, JitOpXor };
    uint32_t a = r->pool[below(r, POOL)];
    VarType type = jit_var_type(a);
    bool bits = type == VarTypeBool || (!is_float(type) && below(r, 3) == 0);
    uint32_t operands[] = { a, other(r, type), 0 };
    JitOp op = bits ? of_bits[below(r, COUNT_OF(of_bits))]
                    : of_numbers[below(r, COUNT_OF(of_numbers))];
    put(r, below(r, POOL), drop(operands[1], jit_var_op(op, operands)));
}

static void step_select(Run *r)
{
    uint32_t mask = r->pool[find(r, is_bool)], a = r->pool[below(r, POOL)];
    if (jit_var_type(mask) != VarTypeBool)
        return;
    uint32_t b = other(r, jit_var_type(a));
    put(r, below(r, POOL), drop(b, jit_var_select(mask, a, b)));
}

static void step_compare(Run *r)
{
    uint32_t a = r->pool[find(r, is_number)];
    if (!is_number(jit_var_type(a)))
        return;
    uint32_t b = other(r, jit_var_type(a));
    put(r, below(r, POOL), drop(b, jit_var_lt(a, b)));
}

static void step_cast(Run *r)
{
    put(r, below(r, POOL), other(r, types[below(r, COUNT_OF(types))]));
}

static void step_reduce(Run *r)
{
    uint32_t a = r->pool[below(r, POOL)];
    put(r, below(r, POOL), jit_var_reduce(a, draw_op(r, jit_var_type(a))));
}

/* Each lane gets the result at an index. Both references are taken over. */
static void put_spread(Run *r, uint32_t results, uint32_t index)
{
    uint32_t spread = results ? jit_var_gather(results, index, ALWAYS) : 0;
    jit_var_dec_ref(index);
    if (results)
        jit_var_dec_ref(results);
    put(r, below(r, POOL), spread);
}

/* Each lane gets the result of its column. */
static void step_columns(Run *r)
{
    static const uint32_t often[] = { 64, 128, 192, 320, 3 };
    uint32_t block = draw_block(r), wide = widen(r, r->pool[below(r, POOL)]);
    uint32_t stride = often[below(r, COUNT_OF(often))];
    while (block % stride)
        stride--;
    ReduceOp op = draw_op(r, jit_var_type(wide));
    const JitAxis axis = { block / stride, stride, NULL };
    uint32_t results = drop(wide, jit_var_axis_reduce(op, wide, &axis));
    uint32_t size = jit_var_u32(CPU, block), columns = jit_var_u32(CPU, stride);
    uint32_t lanes = jit_var_counter(CPU, r->lanes);
    uint32_t matrix = drop(size, jit_var_div(lanes, size));
    uint32_t first = drop(matrix, jit_var_mul(matrix, columns));
    uint32_t column = drop(lanes, jit_var_mod(lanes, columns));
    uint32_t index = drop(first, jit_var_add(first, column));
    jit_var_dec_ref(column);
    jit_var_dec_ref(columns);
    put_spread(r, results, index);
}

/* Each lane gets the result of its block. */
static void step_blocks(Run *r)
{
    uint32_t block = draw_block(r), wide = widen(r, r->pool[below(r, POOL)]);
    ReduceOp op = draw_op(r, jit_var_type(wide));
    uint32_t results = drop(wide, jit_var_block_reduce(op, wide, block));
    uint32_t size = jit_var_u32(CPU, block), lanes = jit_var_counter(CPU, r->lanes);
    uint32_t index = drop(size, jit_var_div(lanes, size));
    jit_var_dec_ref(lanes);
    put_spread(r, results, index);
}

static void step_prefix(Run *r)
{
    uint32_t block = draw_block(r), wide = widen(r, r->pool[below(r, POOL)]);
    ReduceOp op = draw_op(r, jit_var_type(wide));
    if (jit_var_type(wide) == VarTypeBool)
        op = ReduceOpOr;
    int exclusive = (int) below(r, 2), reverse = (int) below(r, 2);
    put(r, below(r, POOL),
        drop(wide, jit_var_block_prefix_reduce(op, wide, block, exclusive, reverse)));
}

static void step_dot(Run *r)
{
    uint32_t a = r->pool[find(r, is_float)];
    if (!is_float(jit_var_type(a)))
        return;
    uint32_t b = other(r, jit_var_type(a));
    put(r, below(r, POOL), drop(b, jit_var_reduce_dot(a, b)));
}

/* The sum of what a mask selects. */
static void step_compress(Run *r)
{
    uint32_t place = find(r, is_bool), a = widen(r, r->pool[find(r, is_number)]);
    if (jit_var_type(r->pool[place]) == VarTypeBool) {
        uint32_t mask = widen(r, r->pool[place]);
        uint32_t positions = drop(mask, jit_var_compress(mask));
        VarType type = jit_var_type(a);
        uint32_t found = positions && jit_var_size(positions)
                             ? jit_var_gather(a, positions, ALWAYS)
                             : literal(type, 3);
        if (positions)
            jit_var_dec_ref(positions);
        put(r, below(r, POOL),
            found ? drop(found, jit_var_reduce(found, draw_op(r, type))) : 0);
    }
    jit_var_dec_ref(a);
}

/* x = (x + x) * x in some lanes, as often as another array says. */
static void step_loop(Run *r)
{
    uint32_t number = r->pool[find(r, is_number)];
    if (!is_number(jit_var_type(number)))
        return;
    uint32_t wide = widen(r, number), seven = jit_var_u32(CPU, 7);
    uint32_t turns = other(r, VarTypeUInt32), one = jit_var_u32(CPU, 1);
    uint32_t few = drop(turns, jit_var_and(turns, seven));
    uint32_t state[] = { wide, drop(few, widen(r, few)) };
    uint32_t loop = jit_var_loop_start(CPU, "fold", 2, state);
    int again = loop ? 0 : -1;
    while (again == 0) {
        uint32_t zero = jit_var_u32(CPU, 0), more = jit_var_gt(state[1], zero);
        again = jit_var_loop_cond(loop, more);
        jit_var_dec_ref(zero);
        jit_var_dec_ref(more);
        if (again > 0) {
            uint32_t twice = jit_var_add(state[0], state[0]);
            uint32_t next[] = { drop(twice, jit_var_mul(twice, state[0])),
                                jit_var_sub(state[1], one) };
            for (int i = 0; i < 2; ++i)
                state[i] = drop(state[i], next[i]);
        }
        again = again < 0 ? again : jit_var_loop_end(loop, state);
    }
    r->failed |= again < 0;
    jit_var_dec_ref(seven);
    jit_var_dec_ref(one);
    jit_var_dec_ref(state[1]);
    put(r, below(r, POOL), state[0]);
}

/* Lanes write to their own entries, or add to those of others. */
static void step_scatter(Run *r)
{
    uint32_t place = below(r, POOL), target = widen(r, r->pool[place]);
    VarType type = jit_var_type(target);
    bool adds = !is_float(type) && type != VarTypeBool && below(r, 2);
    uint32_t index = jit_var_counter(CPU, r->lanes);
    if (adds) {
        uint32_t half = jit_var_u32(CPU, r->lanes / 2 + 1);
        index = drop(index, jit_var_mod(index, half));
        jit_var_dec_ref(half);
    }
    uint32_t value = other(r, type), mask = ALWAYS;
    if (below(r, 2)) {
        mask = r->pool[find(r, is_bool)];
        mask = jit_var_type(mask) == VarTypeBool ? mask : ALWAYS;
    }
    uint32_t written = jit_var_scatter(target, value, index, mask,
                                       adds ? ReduceOpAdd : ReduceOpIdentity,
                                       ReduceModeAuto);
    jit_var_dec_ref(target);
    jit_var_dec_ref(value);
    jit_var_dec_ref(index);
    put(r, place, written);
}

static void step_gather(Run *r)
{
    uint32_t source = widen(r, r->pool[below(r, POOL)]), wide = other(r, VarTypeUInt32);
    uint32_t size = jit_var_u32(CPU, r->lanes), index = jit_var_mod(wide, size);
    jit_var_dec_ref(size);
    jit_var_dec_ref(wide);
    uint32_t id = jit_var_gather(source, index, ALWAYS);
    jit_var_dec_ref(source);
    put(r, below(r, POOL), drop(index, id));
}

static void step_forget(Run *r)
{
    put(r, below(r, POOL), stored(r, types[below(r, COUNT_OF(types))],
                                  below(r, 4) ? r->lanes : 1));
}

/* What comes next waits after this, so that launches are begun together. */
static void keep_busy(Run *r)
{
    enum { BUSY = 1 << 17 };
    uint32_t lanes = jit_var_counter(CPU, BUSY);
    uint32_t numbers = drop(lanes, jit_var_cast(lanes, VarTypeFloat64, 0));
    uint32_t roots = drop(numbers, jit_var_sqrt(numbers));
    r->failed |= !jit_var_schedule(roots) || !jit_eval();
    jit_var_dec_ref(roots);
}

static void step_evaluate(Run *r)
{
    if (below(r, 2))
        keep_busy(r);
    for (uint32_t i = 1 + below(r, 4); i > 0; --i)
        r->failed |= !jit_var_schedule(r->pool[below(r, POOL)]) &&
                     jit_error() != JIT_OK;
    r->failed |= !jit_eval();
}

/* Weights are numbers of rows. */
static const struct Step {
    const char *name;
    void (*run)(Run *r);
} steps[] = {
    { "arithmetic", step_arithmetic }, { "arithmetic", step_arithmetic },
    { "arithmetic", step_arithmetic }, { "arithmetic", step_arithmetic },
    { "select", step_select },         { "compare", step_compare },
    { "cast", step_cast },             { "reduce", step_reduce },
    { "reduce", step_reduce },         { "blocks", step_blocks },
    { "columns", step_columns },
    { "prefix", step_prefix },         { "prefix", step_prefix },
    { "dot", step_dot },               { "compress", step_compress },
    { "loop", step_loop },             { "scatter", step_scatter },
    { "gather", step_gather },         { "forget", step_forget },
    { "evaluate", step_evaluate }
};

/* ------------------------------------------------------------------ computations */

/* NaNs of any kind are the same. */
static uint64_t canonical(VarType type, uint64_t bits)
{
    if (!is_float(type))
        return bits;
    uint32_t width = type == VarTypeFloat16 ? 16 : type == VarTypeFloat32 ? 32 : 64;
    uint64_t infinity = width == 16 ? 0x7c00 : width == 32 ? 0x7f800000
                                                           : 0x7ff0000000000000;
    return (bits & ~(1ull << (width - 1))) > infinity ? infinity + 1 : bits;
}

static void digest(Run *r, uint32_t id)
{
    const uint8_t *data;
    VarType type = jit_var_type(id);
    size_t size = type_info[type].size, count = jit_var_size(id);
    uint32_t held = jit_var_data(id, (void **) &data);
    r->failed |= !held;
    for (size_t i = 0; held && i < count; ++i) {
        uint64_t bits = 0;
        memcpy(&bits, data + i * size, size);
        r->digest = (r->digest ^ canonical(type, bits)) * 0x9e3779b97f4a7c15u;
        r->digest ^= r->digest >> 29;
    }
    if (held)
        jit_var_dec_ref(held);
}

/* The digest of a computation; 0: it failed. */
static uint64_t compute(const Options *options, uint64_t seed, bool fused)
{
    Run r = { .random = seed, .print = options->print };
    r.lanes = lengths[below(&r, COUNT_OF(lengths))];
    jit_set_flag(JitFlagFuseReductions, fused);
    jit_set_flag(JitFlagFastMath, 0); /* x - x is 0 if both are known to be one x */
    jit_set_flag(JitFlagValueNumbering, below(&r, 4) != 0);
    jit_llvm_set_thread_count(below(&r, 5));
    if (r.print)
        printf("seed %llu: %u lanes, %s\n", (unsigned long long) seed, r.lanes,
               fused ? "fused" : "not fused");
    for (uint32_t i = 0; i < POOL; ++i)
        r.pool[i] = stored(&r, types[i % COUNT_OF(types)],
                           below(&r, 6) ? r.lanes : 1);
    for (uint32_t i = 0; i < options->steps && !r.failed; ++i) {
        const struct Step *step = &steps[below(&r, COUNT_OF(steps))];
        if (r.print)
            printf("  %s\n", step->name);
        step->run(&r);
    }
    keep_busy(&r);
    for (uint32_t i = 0; i < POOL; ++i)
        jit_var_schedule(r.pool[i]);
    for (uint32_t i = 0; i < POOL; ++i)
        digest(&r, r.pool[i]);
    for (uint32_t i = 0; i < POOL; ++i)
        jit_var_dec_ref(r.pool[i]);
    if (r.failed)
        printf("seed %llu: %s\n", (unsigned long long) seed, jit_error_message());
    return r.failed ? 0 : r.digest | 1;
}

/* All computations on one engine, in a process of its own; false: some failed. */
static bool run_engine(const Options *options, const char *engine, uint64_t *digests)
{
    pid_t child = fork();
    if (child == 0) {
        setenv("DRJIT_CPU_ENGINE", engine, 1);
        setenv("DRJIT_CACHE_DIR", "", 1);
        jit_set_log_level_stderr(LogLevelWarn);
        uint32_t failed = 0;
        if (!jit_init(CPU))
            exit(1);
        for (uint64_t k = 0; k < options->count; ++k) {
            uint64_t apart = compute(options, options->seed + k, false);
            digests[k] = compute(options, options->seed + k, true);
            bool same = apart == digests[k] && apart != 0;
            if (!same)
                printf("seed %llu, %s: fusion makes a difference\n",
                       (unsigned long long) (options->seed + k), engine);
            failed += !same;
        }
        bool leaks = jit_shutdown(1) != 0;
        printf("%s: %llu computations, %u wrong%s\n", engine,
               (unsigned long long) options->count, failed,
               leaks ? ", variables leak" : "");
        exit(failed || leaks);
    }
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static void read_options(Options *options, int argc, char **argv)
{
    for (int i = 1; i < argc; ++i) {
        const char *value = i + 1 < argc ? argv[i + 1] : "0";
        if (strcmp(argv[i], "--print") == 0)
            options->print = true;
        else if (strcmp(argv[i], "--seed") == 0)
            options->seed = strtoull(value, NULL, 10), i++;
        else if (strcmp(argv[i], "--steps") == 0)
            options->steps = (uint32_t) strtoul(value, NULL, 10), i++;
        else if (strcmp(argv[i], "--count") == 0)
            options->count = strtoull(value, NULL, 10), i++;
        else if (strcmp(argv[i], "--engine") == 0)
            options->engines = value, i++;
    }
}

int main(int argc, char **argv)
{
    Options options = { .seed = 1, .count = 200, .steps = 60,
                        .engines = "interp,native" };
    read_options(&options, argc, argv);
    setvbuf(stdout, NULL, _IOLBF, 0);
    size_t bytes = MOST_ENGINES * options.count * sizeof(uint64_t);
    uint64_t *digests = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char *names = strdup(options.engines), *rest = names;
    if (digests == MAP_FAILED || !names)
        return 1;
    bool ok = true;
    uint32_t engines = 0;
    for (char *name; engines < MOST_ENGINES && (name = strtok_r(rest, ",", &rest));
         ++engines) {
        uint64_t *own = digests + engines * options.count;
        ok = run_engine(&options, name, own) && ok;
        for (uint64_t k = 0; k < options.count; ++k)
            if (own[k] != digests[k]) {
                printf("seed %llu: %s differs from the first engine\n",
                       (unsigned long long) (options.seed + k), name);
                ok = false;
            }
    }
    free(names);
    munmap(digests, bytes);
    return ok ? 0 : 1;
}
