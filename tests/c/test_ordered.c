/*
 * test_ordered.c -- sums and products by index in an order that depends on sizes alone
 *
 * Compared, bit by bit, with a plain loop over the documented order, with the loops of
 * each instruction set and for several numbers of threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/loops/reduce_lanes.h"
#include "device/cpu/pool.h"
#include "device/stream.h"

enum { LANES = 200000, ENTRIES = 120000 };

static Buffer *indices, *values, *target, *mask;
static double *expected, *copy;

static int setup(void **state)
{
    (void) state;
    indices = buffer_get(cpu_device(), sizeof(uint32_t) * LANES);
    values = buffer_get(cpu_device(), sizeof(double) * LANES);
    target = buffer_get(cpu_device(), sizeof(double) * ENTRIES);
    mask = buffer_get(cpu_device(), LANES);
    expected = malloc(sizeof(double) * ENTRIES);
    copy = malloc(sizeof(double) * ENTRIES);
    return !indices || !values || !target || !mask || !expected || !copy;
}

static int teardown(void **state)
{
    (void) state;
    buffer_release(indices);
    buffer_release(values);
    buffer_release(target);
    buffer_release(mask);
    free(expected);
    free(copy);
    stream_shutdown();
    buffer_trim();
    return buffer_stats(cpu_device()).live == 0 ? 0 : -1;
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

static size_t block_length(size_t n, size_t m)
{
    size_t length = larger(larger(1024, smaller(8 * m, larger(2 * m, (n + 1) / 2))),
                           (n + 63) / 64);
    size_t lines = (length + 63) / 64;
    return 64 * (lines % 2 ? lines : lines + 1);
}

/* As a float would be rounded, or not. */
static double rounded(VarType type, double value)
{
    return type == VarTypeFloat32 ? (double) (float) value : value;
}

static double get(VarType type, const Buffer *buffer, size_t i)
{
    return type == VarTypeFloat32 ? (double) ((const float *) buffer->address)[i]
                                  : ((const double *) buffer->address)[i];
}

static void put(VarType type, Buffer *buffer, size_t i, double value)
{
    if (type == VarTypeFloat32)
        ((float *) buffer->address)[i] = (float) value;
    else
        ((double *) buffer->address)[i] = value;
}

/* A sum or product of two floats is that of doubles, rounded. */
static double combine(VarType type, ReduceOp op, double a, double b)
{
    return rounded(type, op == ReduceOpAdd ? a + b : a * b);
}

static void compute(VarType type, ReduceOp op, size_t n, size_t m, bool masked)
{
    const size_t length = block_length(n, m);
    for (size_t e = 0; e < m; ++e)
        expected[e] = get(type, target, e);
    for (size_t begin = 0; begin < n; begin += length) {
        double *sums = begin ? copy : expected;
        for (size_t e = 0; begin && e < m; ++e)
            copy[e] = op == ReduceOpAdd ? -0.0 : 1;
        for (size_t i = begin; i < smaller(n, begin + length); ++i) {
            const uint32_t e = ((const uint32_t *) indices->address)[i];
            if (!masked || ((const uint8_t *) mask->address)[i])
                sums[e] = combine(type, op, sums[e], get(type, values, i));
        }
        for (size_t e = 0; begin && e < m; ++e)
            expected[e] = combine(type, op, expected[e], copy[e]);
    }
}

static void fill(VarType type, size_t n, size_t m, int pattern)
{
    uint32_t random = 1;
    for (size_t i = 0; i < n; ++i) {
        random = random * 1664525 + 1013904223;
        const size_t at[] = { random % m, i * m / n, i % m };
        ((uint32_t *) indices->address)[i] = (uint32_t) at[pattern];
        ((uint8_t *) mask->address)[i] = random >> 16 & 1;
        put(type, values, i, 0.9 + (double) (random >> 12) * 0x1p-22);
    }
    for (size_t e = 0; e < m; ++e)
        put(type, target, e, e % 3 ? 1.0 / (double) (e + 1) : -0.0);
}

static Command *ordered(VarType type, ReduceOp op, size_t n, size_t m, bool masked)
{
    const size_t entry = type == VarTypeFloat32 ? sizeof(float) : sizeof(double);
    Command *c = command_create(cpu_device(), COMMAND_ORDERED, n, masked ? 4 : 3, 0);
    assert_non_null(c);
    command_set_slot(c, 0, indices, 0, n * sizeof(uint32_t), SLOT_READ);
    command_set_slot(c, 1, values, 0, n * entry, SLOT_READ);
    command_set_slot(c, 2, target, 0, m * entry, SLOT_READ_WRITE);
    if (masked)
        command_set_slot(c, 3, mask, 0, n, SLOT_READ);
    c->ordered.op = op;
    c->ordered.type = type;
    return c;
}

static void check(VarType type, ReduceOp op, size_t n, size_t m, int pattern)
{
    for (int masked = 0; masked < 2; ++masked) {
        fill(type, n, m, pattern);
        compute(type, op, n, m, masked);
        Stream *stream = stream_self(cpu_device());
        assert_true(stream_submit(stream, ordered(type, op, n, m, masked)));
        assert_true(stream_sync_buffer(target));
        for (size_t e = 0; e < m; ++e) {
            const double found = get(type, target, e);
            if (memcmp(&found, &expected[e], sizeof found))
                fail_msg("%zu lanes, %zu entries, pattern %d, mask %d: entry %zu", n, m,
                         pattern, masked, e);
        }
    }
}

static void test_ordered(void **state)
{
    (void) state;
    static const size_t sizes[][2] = {
        { 1, 1 }, { 15, 4 }, { 1088, 3 }, { 1089, 3 }, { 5000, 2400 }, { 5000, 2600 },
        { 17000, 1000 }, { 70000, 7 }, { LANES, 3 }, { LANES, 60000 },
        { LANES, ENTRIES }
    };
    static const char *const isas[] = { "baseline", "avx2", "avx512" };
    static const uint32_t threads[] = { 0, 1, 2, 5, 8 };
    const uint32_t before = pool_size();
    for (size_t k = 0; k < 3 * 5; ++k) {
        if (!reduce_lanes_use(isas[k / 5]))
            continue;
        pool_set_size(threads[k % 5]);
        for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); ++s)
            for (int pattern = 0; pattern < 3; ++pattern) {
                VarType type = (s + k) % 2 ? VarTypeFloat32 : VarTypeFloat64;
                ReduceOp op = (s / 2 + k) % 2 ? ReduceOpAdd : ReduceOpMul;
                check(type, op, sizes[s][0], sizes[s][1], pattern);
            }
    }
    pool_set_size(before);
}

static void test_ordered_refuses(void **state)
{
    (void) state;
    Stream *stream = stream_self(cpu_device());
    assert_false(stream_submit(stream, ordered(VarTypeFloat32, ReduceOpMin, 10, 3, 0)));
    assert_int_equal(error_code(), JIT_ERROR_UNSUPPORTED);
    assert_false(stream_submit(stream, ordered(VarTypeInt32, ReduceOpAdd, 10, 3, 0)));
    assert_int_equal(error_code(), JIT_ERROR_UNSUPPORTED);
    error_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ordered),
        cmocka_unit_test(test_ordered_refuses),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
