/*
 * test_fused.c -- reductions by the kernels that compute what they reduce
 *
 * The reference is the same reduction with JitFlagFuseReductions off, which evaluates
 * its operand first and whose bits other tests check: they have to be the same for all
 * types, sizes and numbers of threads.
 */
#include "test_util.h"

#include <pthread.h>

#include "eval_util.h"

#include <pthread.h>

#include "trace/graph/pending.h"
#include "thread_util.h"

typedef uint32_t (*Reduce)(uint32_t id, ReduceOp op, uint32_t block);

static uint32_t reduce(uint32_t id, ReduceOp op, uint32_t block)
{
    return jit_var_block_reduce(op, id, block);
}

static uint32_t dot(uint32_t id, ReduceOp op, uint32_t block)
{
    (void) op;
    (void) block;
    uint32_t other = jit_var_neg(id), result = jit_var_reduce_dot(id, other);
    jit_var_dec_ref(other);
    return result;
}

/* Prefix reductions: inclusive or exclusive, from either end. */
static uint32_t prefix_up(uint32_t id, ReduceOp op, uint32_t block)
{
    return jit_var_block_prefix_reduce(op, id, block, false, false);
}
static uint32_t prefix_before(uint32_t id, ReduceOp op, uint32_t block)
{
    return jit_var_block_prefix_reduce(op, id, block, true, false);
}
static uint32_t prefix_down(uint32_t id, ReduceOp op, uint32_t block)
{
    return jit_var_block_prefix_reduce(op, id, block, false, true);
}
static uint32_t prefix_behind(uint32_t id, ReduceOp op, uint32_t block)
{
    return jit_var_block_prefix_reduce(op, id, block, true, true);
}
static const Reduce prefixes[] = { prefix_up, prefix_before, prefix_down,
                                   prefix_behind };

/* A value of the type that has not been computed; its sums are not exact. */
static uint32_t computed(const TestType *t, uint32_t stored)
{
    uint32_t id = t->kind == 'b' ? jit_var_not(stored) : jit_var_add(stored, stored);
    OK(id);
    return id;
}

/* Numbers between -1 and 1, or bits. */
static uint32_t stored_numbers(const TestType *t, uint32_t size)
{
    if (t->kind != 'f') {
        void *data = random_array(t->type, size);
        uint32_t id = array_of(t->type, data, size);
        free(data);
        return id;
    }
    double *data = malloc(size * sizeof(double));
    for (uint32_t i = 0; i < size; ++i)
        data[i] = (double) (int64_t) random_bits() * 0x1p-63;
    uint32_t wide = array_of(VarTypeFloat64, data, size);
    uint32_t id = jit_var_cast(wide, t->type, 0);
    OK(jit_var_eval(id) || jit_error() == JIT_OK);
    DROP(wide);
    free(data);
    return id;
}

static void check_same_bits(const TestType *t, Reduce make, ReduceOp op, uint32_t size,
                            uint32_t block)
{
    uint32_t stored = stored_numbers(t, size), result[2], held[2];
    void *data[2];
    for (int fused = 0; fused < 2; ++fused) {
        jit_set_flag(JitFlagFuseReductions, fused);
        uint32_t value = computed(t, stored);
        result[fused] = make(value, op, block);
        OK(result[fused]);
        if (fused && size > 1 && block > 1)
            assert_int_equal(jit_var_state(result[1]), VarStateUnevaluated);
        jit_var_dec_ref(value);
        held[fused] = data_of(result[fused], &data[fused]);
        OK(held[fused]);
    }
    size_t count = jit_var_size(result[0]);
    assert_int_equal(jit_var_size(result[1]), count);
    if (memcmp(data[0], data[1], count * t->size))
        fail_msg("%s, operation %d: %u entries in blocks of %u differ", t->name,
                 (int) op, size, block);
    DROP(stored, result[0], result[1], held[0], held[1]);
}

/* All types and operations; sizes at the edges of tiles and chunks. */
static void test_all_types(void **unused)
{
    (void) unused;
    static const uint32_t shapes[][2] = {
        { 2, 2 },       { 63, 63 },       { 64, 64 },         { 65, 65 },
        { 4095, 4095 }, { 4096, 4096 },   { 4097, 4097 },     { 65535, 65535 },
        { 65537, 65537 }, { 9000, 3 },    { 70000, 1000 },    { 150000, 50000 }
    };
    for (size_t i = 0; i < COUNT_OF(test_types); ++i)
        for (int op = ReduceOpAdd; op < ReduceOpCount; ++op)
            for (size_t s = 0; s < COUNT_OF(shapes); ++s)
                if (reducible(&test_types[i], (ReduceOp) op)) {
                    check_same_bits(&test_types[i], reduce, (ReduceOp) op,
                                    shapes[s][0], shapes[s][1]);
                    check_same_bits(&test_types[i], prefixes[(i + s) % 4],
                                    (ReduceOp) op, shapes[s][0], shapes[s][1]);
                }
}

/* Where units, chunks and tiles begin, with any number of threads. */
static void test_shapes(void **unused)
{
    (void) unused;
    static const uint32_t shapes[][2] = {
        { 1000003, 1000003 }, { 2097152, 2097152 }, { 300000, 1000 }, { 999000, 999 },
        { 600000, 5000 },     { 700000, 7 },        { 65537 * 3, 65537 },
        { 65600 * 6, 65600 }, { 131072 * 5, 131072 }, { 4097 * 99, 4097 },
        { 524288, 2 }
    };
    const TestType *types[] = { type_of(VarTypeFloat32), type_of(VarTypeFloat64),
                                type_of(VarTypeFloat16), type_of(VarTypeUInt8) };
    uint32_t before = jit_llvm_thread_count();
    for (uint32_t threads = 0; threads <= 8; threads = threads ? threads * 2 : 1) {
        OK(jit_llvm_set_thread_count(threads));
        for (size_t s = 0; s < COUNT_OF(shapes); ++s)
            for (size_t i = 0; i < COUNT_OF(types); ++i)
                if (i == s % COUNT_OF(types) || i == 0)
                    check_same_bits(types[i], reduce,
                                    s % 2 ? ReduceOpAdd : ReduceOpMax, shapes[s][0],
                                    shapes[s][1]);
        for (size_t i = 0; i < 3; ++i) {
            check_same_bits(types[i], dot, ReduceOpAdd, 1000, 1000);
            check_same_bits(types[i], dot, ReduceOpAdd, 700001, 700001);
        }
    }
    OK(jit_llvm_set_thread_count(before));
}

/* Reductions of the same lanes: sums whose runs have different lengths, squares, and
 * what code does not add up, also of the same value. */
enum { TOGETHER = 9 };

/* The results without and with fusion are the same; they are dropped. */
static void check_results(uint32_t (*results)[TOGETHER], uint32_t count,
                          const uint32_t *shape)
{
    for (uint32_t i = 0; i < count; ++i) {
        void *data[2];
        uint32_t held[] = { data_of(results[0][i], &data[0]),
                            data_of(results[1][i], &data[1]) };
        assert_int_equal(jit_var_size(results[0][i]), jit_var_size(results[1][i]));
        size_t bytes =
            jit_var_size(results[0][i]) * type_of(jit_var_type(results[0][i]))->size;
        if (memcmp(data[0], data[1], bytes))
            fail_msg("shape %u, %u, ...: result %u differs", shape[0], shape[1], i);
        drop_all(held, 2);
    }
    drop_all(results[0], count);
    drop_all(results[1], count);
}

static uint32_t reduce_together(uint32_t single, uint32_t whole, uint32_t block,
                                bool fused, uint32_t *results)
{
    uint32_t size = (uint32_t) jit_var_size(single), count = 0;
    jit_set_flag(JitFlagFuseReductions, fused);
    uint32_t a = jit_var_add(single, single), d = jit_var_add(whole, whole);
    uint32_t lanes = jit_var_counter(CPU, size), n = jit_var_mul(lanes, lanes);
    results[count++] = jit_var_block_reduce(ReduceOpAdd, a, block);
    results[count++] = jit_var_block_reduce(ReduceOpMax, a, block);
    results[count++] = jit_var_block_reduce(ReduceOpAdd, n, block);
    if (block % 3)
        results[count++] = jit_var_block_reduce(ReduceOpAdd, d, block);
    if (block % 2)
        results[count++] = jit_var_block_reduce(ReduceOpMul, a, block);
    if (block == size) {
        results[count++] = jit_var_reduce_dot(a, a);
        results[count++] = jit_var_reduce_dot(d, d);
    }
    for (uint32_t i = 0; i < count; ++i)
        OK(jit_var_schedule(results[i]) || jit_error() == JIT_OK);
    OK(jit_eval());
    DROP(a, d, lanes, n);
    return count;
}

static void test_together(void **unused)
{
    (void) unused;
    static const uint32_t shapes[][2] = {
        { 4096, 4096 },   { 4097, 4097 },     { 6144, 6144 },     { 5000, 5000 },
        { 4160 * 7, 4160 }, { 4128 * 5, 4128 }, { 6208 * 40, 6208 }, { 8192 * 5, 8192 },
        { 65536 * 3, 65536 }, { 131072 * 3, 131072 }, { 1000003, 1000003 },
        { 65600 * 9, 65600 }, { 300000, 300000 }
    };
    uint32_t before = jit_llvm_thread_count();
    for (size_t s = 0; s < COUNT_OF(shapes); ++s) {
        uint32_t single = stored_numbers(type_of(VarTypeFloat32), shapes[s][0]);
        uint32_t whole = stored_numbers(type_of(VarTypeFloat64), shapes[s][0]);
        uint32_t results[2][TOGETHER], count = 0;
        OK(jit_llvm_set_thread_count((uint32_t) s % 4));
        for (int fused = 0; fused < 2; ++fused)
            count = reduce_together(single, whole, shapes[s][1], fused, results[fused]);
        check_results(results, count, shapes[s]);
        DROP(single, whole);
    }
    OK(jit_llvm_set_thread_count(before));
}

/* The same along the columns of matrices, of values one of which is wanted as well and
 * one is an array, beside a write. If they are all of one type, rows are taken from
 * tiles. */
static uint32_t reduce_columns(uint32_t single, uint32_t whole, const JitAxis *axis,
                               bool alike, bool fused, uint32_t *results)
{
    uint32_t size = (uint32_t) jit_var_size(single), count = 0;
    jit_set_flag(JitFlagFuseReductions, fused);
    uint32_t a = jit_var_add(single, single), d = jit_var_add(whole, whole);
    uint32_t b = jit_var_mul(single, single), half = jit_var_cast(a, VarTypeFloat16, 0);
    uint32_t lanes = jit_var_counter(CPU, size);
    uint32_t byte = jit_var_cast(lanes, VarTypeUInt8, 0);
    uint32_t all = jit_var_bool(CPU, true), last = jit_var_u32(CPU, size - 1);
    uint32_t back = jit_var_sub(last, lanes);
    results[count++] = jit_var_axis_reduce(ReduceOpAdd, a, axis);
    results[count++] = jit_var_axis_reduce(ReduceOpMax, a, axis);
    results[count++] = jit_var_axis_reduce(ReduceOpAdd, single, axis);
    results[count++] = jit_var_axis_reduce(ReduceOpMul, b, axis);
    if (!alike) {
        results[count++] = jit_var_axis_reduce(ReduceOpMin, d, axis);
        results[count++] = jit_var_axis_reduce(ReduceOpAdd, half, axis);
        results[count++] = jit_var_axis_reduce(ReduceOpOr, byte, axis);
    }
    results[count++] = b; /* is stored */
    uint32_t zeros = literal_of(VarTypeUInt32, 0, size);
    results[count++] = jit_var_scatter(zeros, lanes, back, all, ReduceOpAdd,
                                       ReduceModeAuto);
    for (uint32_t i = 0; i < count; ++i)
        OK(results[i] && (jit_var_schedule(results[i]) || jit_error() == JIT_OK));
    OK(jit_eval());
    DROP(a, d, half, lanes, byte, all, last, back, zeros);
    return count;
}

static JitAxis column_axis;

static uint32_t reduce_axis(uint32_t id, ReduceOp op, uint32_t block)
{
    (void) block;
    return jit_var_axis_reduce(op, id, &column_axis);
}

static void test_columns(void **unused)
{
    (void) unused;
    static const uint32_t shapes[][3] = { /* matrices, rows, columns */
        { 1, 2, 3 },      { 1, 64, 64 },   { 1, 65, 128 },   { 3, 100, 33 },
        { 2, 99, 320 },   { 1, 170, 1024 }, { 1, 5, 16384 }, { 1, 66000, 3 },
        { 1, 65600, 64 }, { 2, 33, 2112 }, { 1, 4097, 64 },  { 35, 9, 640 },
        { 1, 300, 320 },  { 3, 130, 192 }
    };
    uint32_t before = jit_llvm_thread_count();
    for (size_t s = 0; s < COUNT_OF(shapes); ++s) {
        const uint32_t rows = shapes[s][1], columns = shapes[s][2];
        const uint32_t size = shapes[s][0] * rows * columns;
        const JitAxis axis = { rows, columns, NULL };
        uint32_t single = stored_numbers(type_of(VarTypeFloat32), size);
        uint32_t whole = stored_numbers(type_of(VarTypeFloat64), size);
        OK(jit_llvm_set_thread_count((uint32_t) s % 4));
        for (int alike = 0; alike < 2; ++alike) {
            uint32_t results[2][TOGETHER], count = 0;
            for (int fused = 0; fused < 2; ++fused)
                count = reduce_columns(single, whole, &axis, alike, fused,
                                       results[fused]);
            check_results(results, count, shapes[s]);
        }
        /* A single one: the widest panels. */
        const TestType *types[] = { type_of(VarTypeFloat32), type_of(VarTypeFloat64),
                                    type_of(VarTypeFloat16), type_of(VarTypeUInt8) };
        column_axis = axis;
        for (size_t i = 0; i < COUNT_OF(types); ++i)
            check_same_bits(types[i], reduce_axis, ReduceOpAdd, size, rows);
        DROP(single, whole);
    }
    OK(jit_llvm_set_thread_count(before));
}

/* Prefix reductions of each kind; parts that have to wait for each other, in both
 * directions, and such that cannot be tiles. */
static void test_prefixes(void **unused)
{
    (void) unused;
    static const uint32_t shapes[][2] = {
        { 1, 1 },           { 2, 2 },           { 17, 17 },         { 99, 1 },
        { 4096, 4096 },     { 4097, 4097 },     { 65536, 65536 },   { 65537, 65537 },
        { 65536 * 5, 65536 * 5 }, { 65536 * 6, 65536 * 2 }, { 1000003, 1000003 },
        { 700000, 700000 }, { 300000, 3 },      { 600000, 5000 },
        { 65600 * 6, 65600 }, { 4097 * 99, 4097 }, { 70001 * 3, 70001 }
    };
    const TestType *types[] = { type_of(VarTypeFloat32), type_of(VarTypeFloat64),
                                type_of(VarTypeFloat16), type_of(VarTypeUInt8) };
    uint32_t before = jit_llvm_thread_count();
    for (uint32_t threads = 0; threads <= 8; threads = threads ? threads * 2 : 1) {
        OK(jit_llvm_set_thread_count(threads));
        for (size_t s = 0; s < COUNT_OF(shapes); ++s)
            for (size_t k = 0; k < COUNT_OF(prefixes); ++k)
                for (size_t i = 0; i < COUNT_OF(types); ++i)
                    if (i == (s + k) % COUNT_OF(types) || i == 0)
                        check_same_bits(types[i], prefixes[k],
                                        s % 2 ? ReduceOpAdd : ReduceOpMin, shapes[s][0],
                                        shapes[s][1]);
    }
    OK(jit_llvm_set_thread_count(before));
}

/* Positions, of a mask that the caller needs or not. */
static void test_compress(void **unused)
{
    (void) unused;
    static const uint32_t sizes[] = { 2, 64, 65535, 65536, 65537, 1000003 };
    uint32_t before = jit_llvm_thread_count();
    for (uint32_t threads = 0; threads <= 4; threads += 2)
        for (size_t s = 0; s < COUNT_OF(sizes); ++s)
            for (uint32_t k = 1; k < 8; k += 3) {
                OK(jit_llvm_set_thread_count(threads));
                uint32_t n = sizes[s], count = 0, *expected = malloc(n * 4);
                uint32_t lanes = jit_var_counter(CPU, n), rule = jit_var_u32(CPU, k);
                uint32_t rest = jit_var_and(lanes, rule);
                uint32_t mask = jit_var_eq(rest, rule);
                for (uint32_t i = 0; i < n; ++i)
                    if ((i & k) == k)
                        expected[count++] = i;
                uint32_t brief = jit_var_compress_temporary(mask, 1);
                OK(brief);
                assert_int_equal(jit_var_state(mask), VarStateUnevaluated);
                uint32_t positions = jit_var_compress(mask);
                OK(positions);
                assert_int_equal(jit_var_state(mask), VarStateEvaluated);
                assert_int_equal(jit_var_size(positions), count);
                assert_int_equal(jit_var_size(brief), count);
                if (count) {
                    CHECK_BYTES(positions, expected, count);
                    CHECK_BYTES(brief, expected, count);
                }
                DROP(lanes, rule, rest, mask, positions, brief);
                free(expected);
            }
    OK(jit_llvm_set_thread_count(before));
}

/* A temporary mask that somebody else holds is written, as is one of which the caller
 * has fewer references than there are. */
static void test_compress_held(void **unused)
{
    (void) unused;
    for (uint32_t kind = 0; kind < 3; ++kind) {
        uint32_t lanes = jit_var_counter(CPU, 100), ten = jit_var_u32(CPU, 10);
        uint32_t mask = jit_var_lt(lanes, ten), user = mask;
        if (kind == 0)
            user = jit_var_not(mask);
        else
            jit_var_inc_ref(mask);
        uint32_t positions = jit_var_compress_temporary(mask, kind == 2 ? 2 : 1);
        assert_int_equal(jit_var_state(mask),
                         kind == 2 ? VarStateUnevaluated : VarStateEvaluated);
        CHECK_U32(positions, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
        DROP(lanes, ten, mask, positions, user);
    }
}

/* -------------------------------------------------------------- what is shared */

/* Several reductions, an output and a write are one kernel, and a value that somebody
 * holds is written. */
static void test_one_kernel(void **unused)
{
    (void) unused;
    enum { N = 100000 };
    uint32_t lanes = jit_var_counter(CPU, N), three = jit_var_u32(CPU, 3);
    uint32_t x = jit_var_mul(lanes, three), y = jit_var_add(x, three);
    uint32_t target = fill_u32(1, 0), zero = jit_var_u32(CPU, 0);
    uint32_t written = jit_var_scatter(target, y, zero, ALWAYS, ReduceOpMax, 0);
    uint32_t r[] = { jit_var_reduce(x, ReduceOpAdd), jit_var_reduce(x, ReduceOpMax),
                     jit_var_reduce(y, ReduceOpMin),
                     jit_var_block_reduce(ReduceOpAdd, y, N) };
    uint32_t again = jit_var_reduce(x, ReduceOpAdd);
    assert_int_equal(again, r[0]); /* value numbering applies */
    Stats before = stats_now();
    for (size_t i = 0; i < COUNT_OF(r); ++i)
        OK(jit_var_schedule(r[i]));
    OK(jit_var_schedule(y));
    OK(jit_eval());
    assert_int_equal(stats_now().launches, before.launches + 1);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < N; ++i)
        sum += 3 * i;
    CHECK_U32(r[0], sum);
    CHECK_U32(r[1], 3 * (N - 1));
    CHECK_U32(r[2], 3);
    CHECK_U32(r[3], sum + 3 * N);
    assert_int_equal(jit_var_state(x), VarStateEvaluated);
    assert_int_equal(jit_var_state(y), VarStateEvaluated);
    CHECK_U32(written, 3 * N);
    assert_int_equal(stats_now().launches, before.launches + 1);
    DROP(lanes, three, x, y, target, zero, written, again);
    drop_all(r, COUNT_OF(r));
}

/* Prefix sums share a kernel with other reductions, outputs and writes, if they begin
 * at the same end. */
static void test_prefix_kernel(void **unused)
{
    (void) unused;
    enum { N = 200000 };
    uint32_t lanes = jit_var_counter(CPU, N), one = jit_var_u32(CPU, 1);
    uint32_t x = jit_var_add(lanes, one), y = jit_var_xor(lanes, one);
    uint32_t target = fill_u32(1, 0), zero = jit_var_u32(CPU, 0);
    uint32_t written = jit_var_scatter(target, x, zero, ALWAYS, ReduceOpAdd, 0);
    uint32_t sums[] = { prefix_up(x, ReduceOpAdd, N), prefix_before(y, ReduceOpMax, N),
                        jit_var_reduce(x, ReduceOpAdd), prefix_down(x, ReduceOpAdd, N),
                        prefix_behind(x, ReduceOpAdd, N) };
    uint32_t again = prefix_up(x, ReduceOpAdd, N), other = prefix_up(x, ReduceOpMul, N);
    assert_int_equal(again, sums[0]); /* value numbering applies */
    assert_int_not_equal(other, sums[0]);
    DROP(other, again, y);
    Stats before = stats_now();
    for (size_t i = 0; i < COUNT_OF(sums); ++i)
        OK(jit_var_schedule(sums[i]));
    OK(jit_eval());
    assert_int_equal(stats_now().launches, before.launches + 2);
    uint32_t *expected = malloc(N * sizeof(uint32_t)), sum = 0;
    for (uint32_t i = 0; i < N; ++i)
        expected[i] = sum += i + 1;
    CHECK_BYTES(sums[0], expected, N);
    CHECK_U32(sums[2], sum);
    CHECK_U32(written, sum);
    for (uint32_t i = 0; i < N; ++i)
        expected[i] = i ? (i - 1) | 1 : 0;
    CHECK_BYTES(sums[1], expected, N);
    for (uint32_t i = 0; i < N; ++i)
        expected[i] = sum -= i;
    CHECK_BYTES(sums[3], expected, N);
    for (uint32_t i = 0; i < N; ++i)
        expected[i] -= i + 1;
    CHECK_BYTES(sums[4], expected, N);
    free(expected);
    drop_all(sums, COUNT_OF(sums));
    DROP(lanes, one, x, target, zero, written);
}

/* An operand is written if somebody needs it after the launch, and else not: what
 * else refers to it are roots, what these need, or writes. */
static void test_spent(void **unused)
{
    (void) unused;
    enum { N = 1 << 22 };
    for (int held = 0; held < 2; ++held) {
        uint32_t lanes = jit_var_counter(CPU, N), three = jit_var_u32(CPU, 3);
        uint32_t x = jit_var_mul(lanes, three), y = jit_var_xor(x, three);
        uint32_t far = jit_var_add(y, lanes), z = jit_var_mul(far, y);
        uint32_t target = fill_u32(1, 0), zero = jit_var_u32(CPU, 0);
        uint32_t written = jit_var_scatter(target, x, zero, ALWAYS, ReduceOpMax, 0);
        uint32_t r[] = { jit_var_reduce(x, ReduceOpMax),
                         jit_var_reduce(y, ReduceOpAdd), jit_var_reduce(z, ReduceOpOr),
                         prefix_up(far, ReduceOpMax, N) };
        DROP(y, far, z);
        if (!held)
            jit_var_dec_ref(x);
        jit_flush_malloc_cache();
        jit_malloc_clear_statistics();
        size_t before = jit_malloc_watermark(CPU);
        for (size_t i = 0; i < COUNT_OF(r); ++i)
            OK(jit_var_schedule(r[i]));
        OK(jit_eval() && jit_sync_thread());
        size_t bytes = jit_malloc_watermark(CPU) - before;
        size_t arrays = 1 + (size_t) held; /* the prefix sums, and x */
        assert_true(bytes >= 4 * N * arrays && bytes < 4 * N * (arrays + 1));
        uint32_t sum = 0, any = 0;
        for (uint32_t i = 0; i < N; ++i) {
            sum += (3 * i) ^ 3;
            any |= (((3 * i) ^ 3) + i) * ((3 * i) ^ 3);
        }
        CHECK_U32(r[0], 3 * (N - 1));
        CHECK_U32(r[1], sum);
        CHECK_U32(r[2], any);
        CHECK_U32(written, 3 * (N - 1));
        if (held) {
            assert_int_equal(jit_var_state(x), VarStateEvaluated);
            jit_var_dec_ref(x);
        }
        drop_all(r, COUNT_OF(r));
        DROP(lanes, three, target, zero, written);
    }
}

/* What needs the result of a reduction comes in the kernel after it. */
static void test_chains(void **unused)
{
    (void) unused;
    enum { N = 5000 };
    uint32_t lanes = jit_var_counter(CPU, N), count = jit_var_u32(CPU, N);
    uint32_t sum = jit_var_reduce(lanes, ReduceOpAdd), mean = jit_var_div(sum, count);
    uint32_t apart = jit_var_sub(lanes, mean), square = jit_var_mul(apart, apart);
    uint32_t total = jit_var_reduce(square, ReduceOpAdd);
    uint32_t most = jit_var_reduce(apart, ReduceOpMax);
    uint32_t all = jit_var_add(total, most), spread = jit_var_add(all, lanes);
    uint32_t last = jit_var_reduce(spread, ReduceOpMin);
    DROP(sum, mean, apart, square, total, most);
    uint32_t m = (N - 1) / 2, t = 0;
    for (uint32_t i = 0; i < N; ++i)
        t += (i - m) * (i - m);
    Stats before = stats_now();
    CHECK_U32(last, t + UINT32_MAX - 0u); /* apart wraps */
    assert_int_equal(stats_now().launches, before.launches + 3);
    CHECK_U32(all, t + UINT32_MAX);
    DROP(lanes, count, all, spread, last);
}

/* Blocks of blocks; reductions of one array in memory in one pass over it. */
static void test_blocks_of_blocks(void **unused)
{
    (void) unused;
    enum { N = 1 << 20 };
    uint32_t lanes = jit_var_counter(CPU, N), one = jit_var_u32(CPU, 1);
    uint32_t x = jit_var_add(lanes, one);
    uint32_t pairs = jit_var_block_reduce(ReduceOpAdd, x, 2);
    uint32_t rows = jit_var_block_reduce(ReduceOpMax, pairs, 1024);
    uint32_t low = jit_var_reduce(rows, ReduceOpMin);
    CHECK_U32(low, 2 * 2048 - 1 + 0);
    uint32_t a[] = { jit_var_reduce(x, ReduceOpMax), jit_var_reduce(x, ReduceOpMin) };
    jit_var_eval(x);
    DROP(a[0], a[1]);
    uint32_t b[] = { jit_var_reduce(x, ReduceOpMax), jit_var_reduce(x, ReduceOpMin) };
    Stats before = stats_now();
    OK(jit_var_schedule(b[0]) && jit_var_schedule(b[1]) && jit_eval());
    assert_int_equal(stats_now().launches, before.launches + 1);
    CHECK_U32(b[0], N);
    CHECK_U32(b[1], 1);
    DROP(lanes, one, x, pairs, rows, low, b[0], b[1]);
}

/* ------------------------------------------------------------ what it must not do */

/* An array is changed in place although a reduction of it waits, which gives what it
 * was before. */
static void test_in_place(void **unused)
{
    (void) unused;
    enum { N = 100000 };
    uint32_t x = fill_u32(N, 2), nine = jit_var_u32(CPU, 9), zero = jit_var_u32(CPU, 0);
    void *before, *after;
    uint32_t held = data_of(x, &before);
    jit_var_dec_ref(held);
    uint32_t sum = jit_var_reduce(x, ReduceOpAdd);
    uint32_t twice = jit_var_reduce_dot(zero, zero);
    assert_int_equal(twice, 0); /* no floats */
    jit_error_clear();
    advance(&x, jit_var_scatter(x, nine, zero, ALWAYS, ReduceOpIdentity, 0));
    uint32_t now = jit_var_reduce(x, ReduceOpAdd);
    CHECK_U32(sum, 2 * N);
    CHECK_U32(now, 2 * N + 7);
    held = data_of(x, &after);
    assert_ptr_equal(before, after);
    DROP(x, nine, zero, sum, now, held);
}

/* The sum of what is computed needs no array for it. */
static void test_memory(void **unused)
{
    (void) unused;
    size_t peak[2];
    for (int k = 0; k < 2; ++k) {
        uint32_t lanes = jit_var_counter(CPU, (size_t) 1 << (20 + 4 * k));
        uint32_t x = jit_var_mul(lanes, lanes);
        uint32_t sum = jit_var_reduce(x, ReduceOpAdd);
        DROP(lanes, x);
        jit_malloc_clear_statistics();
        OK(jit_var_eval(sum) && jit_sync_thread());
        peak[k] = jit_malloc_watermark(CPU);
        DROP(sum);
    }
    assert_true(peak[1] <= peak[0] + (1 << 16));
}

/* Of a prefix sum there is the result only, from whichever end. */
static void test_prefix_memory(void **unused)
{
    (void) unused;
    enum { N = 1 << 24 };
    for (size_t k = 0; k < COUNT_OF(prefixes); ++k) {
        uint32_t lanes = jit_var_counter(CPU, N), x = jit_var_mul(lanes, lanes);
        uint32_t sums = prefixes[k](x, ReduceOpAdd, N);
        DROP(lanes, x);
        jit_flush_malloc_cache();
        jit_malloc_clear_statistics();
        size_t before = jit_malloc_watermark(CPU);
        OK(jit_var_eval(sums) && jit_sync_thread());
        assert_true(jit_malloc_watermark(CPU) < before + 4 * N + 2 * N);
        DROP(sums);
    }
}

static void *evaluate_one(void *id)
{
    EXPECT(jit_var_eval(*(uint32_t *) id) && jit_sync_thread());
    return NULL;
}

/* A prefix sum whose operand another thread has written meanwhile is a command. */
static void test_prefix_of_array(void **unused)
{
    (void) unused;
    enum { N = 100 };
    uint32_t x = sample(N, 3), ones = fill_u32(N, 1);
    uint32_t sums = prefix_before(x, ReduceOpAdd, N / 2);
    assert_int_equal(jit_var_state(sums), VarStateUnevaluated);
    uint32_t now = prefix_down(ones, ReduceOpAdd, N);
    assert_int_equal(jit_var_state(now), VarStateEvaluated);
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, evaluate_one, &x), 0);
    pthread_join(other, NULL);
    assert_int_equal(atomic_load(&faults), 0);
    assert_int_equal(jit_var_state(x), VarStateEvaluated);
    assert_int_equal(jit_var_state(sums), VarStateUnevaluated);
    uint32_t expected[N], down[N];
    for (uint32_t i = 0, sum = 0; i < N; ++i) {
        sum = i % (N / 2) ? sum : 0;
        expected[i] = sum;
        sum += 3 * i + 1;
        down[i] = N - i;
    }
    CHECK_BYTES(sums, expected, N);
    CHECK_BYTES(now, down, N);
    DROP(x, ones, sums, now);
}

/* A reduction keeps alive what it is made of until its thread evaluates something. */
static void test_wait(void **unused)
{
    (void) unused;
    uint32_t x = fill_u32(100000, 3), other = jit_var_counter(CPU, 10);
    uint32_t twice = jit_var_add(x, x), sum = jit_var_reduce(twice, ReduceOpAdd);
    DROP(twice);
    assert_int_equal(jit_var_state(sum), VarStateUnevaluated);
    OK(jit_var_eval(other));
    assert_int_equal(jit_var_state(sum), VarStateEvaluated);
    CHECK_U32(sum, 600000);
    uint32_t *memory;
    uint32_t held = data_of(x, (void **) &memory), all = jit_var_reduce(x, ReduceOpAdd);
    OK(jit_sync_thread()); /* from now on the caller may write there */
    assert_int_equal(jit_var_state(all), VarStateEvaluated);
    DROP(held, all);
    uint32_t unused_sum = jit_var_reduce(x, ReduceOpMax), last = jit_var_not(other);
    DROP(unused_sum); /* which then is not computed at all */
    Stats before = stats_now();
    OK(jit_var_eval(last));
    assert_int_equal(stats_now().launches, before.launches + 1);
    DROP(x, other, sum, last);
}

/* Reductions that nobody evaluates keep arrays alive up to a bound only. */
static void test_bound(void **unused)
{
    (void) unused;
    enum { COUNT = 300, N = 1 << 24 };
    uint32_t kept[COUNT], done = 0;
    if (engine_is("ptx-sim"))
        skip(); /* it would take half an hour to perform them */
    for (uint32_t i = 0; i < COUNT; ++i) {
        uint32_t lanes = jit_var_counter(CPU, N), k = jit_var_u32(CPU, i);
        uint32_t x = jit_var_xor(lanes, k);
        kept[i] = jit_var_reduce(x, ReduceOpMax);
        done += jit_var_state(kept[i]) == VarStateEvaluated;
        DROP(lanes, k, x);
    }
    uint64_t bytes = (uint64_t) COUNT * N * 4;
    FILE *file = fopen("/proc/meminfo", "r");
    unsigned long long kib = 0;
    if (file) {
        (void) !fscanf(file, "MemTotal: %llu", &kib);
        fclose(file);
    }
    if (kib && bytes > kib * 1024 / 16 + ((uint64_t) N << 3))
        assert_true(done > 0);
    drop_all(kept, COUNT);
}

static void *leave_waiting(void *result)
{
    uint32_t lanes = jit_var_counter(CPU, 100), one = jit_var_u32(CPU, 1);
    uint32_t x = jit_var_add(lanes, one);
    *(uint32_t *) result = jit_var_reduce(x, ReduceOpAdd);
    DROP(lanes, one, x);
    return NULL;
}

/* The list of reductions that wait does not grow with those that have been performed,
 * whether others wait or not. */
static void test_many(void **unused)
{
    (void) unused;
    uint32_t other;
    for (int others = 0; others < 2; ++others) {
        pthread_t thread;
        if (others) {
            assert_int_equal(pthread_create(&thread, NULL, leave_waiting, &other), 0);
            assert_int_equal(pthread_join(thread, NULL), 0);
        }
        for (uint32_t i = 0; i < 1000; ++i) {
            uint32_t sum;
            leave_waiting(&sum);
            OK(jit_var_eval(sum));
            jit_var_dec_ref(sum);
            assert_true(pending_table.count <= 100);
        }
    }
    CHECK_U32(other, 5050);
    jit_var_dec_ref(other);
}

static int tests(void)
{
    const struct CMUnitTest list[] = {
        TEST(test_all_types), TEST(test_shapes), TEST(test_together),
        TEST(test_columns), TEST(test_prefixes), TEST(test_compress),
        TEST(test_compress_held),
        TEST(test_one_kernel), TEST(test_prefix_kernel), TEST(test_spent),
        TEST(test_chains), TEST(test_blocks_of_blocks), TEST(test_in_place),
        TEST(test_memory), TEST(test_prefix_memory), TEST(test_prefix_of_array),
        TEST(test_wait), TEST(test_bound), TEST(test_many)
    };
    return cmocka_run_group_tests(list, NULL, NULL);
}

int main(void) { return run_engines(tests); }
