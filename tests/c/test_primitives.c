/*
 * test_primitives.c -- reductions, dot products, scans, compression
 *
 * Integers are compared with 64-bit arithmetic cut to the width, floating-point sums
 * with a second, plain implementation of the documented order (primitives_reference.h),
 * bit for bit, and with sums in long double. Halves are converted by ldexp() and
 * nearbyint(). All of it is repeated for each instruction set and several numbers of
 * threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/cpu_hints.h"
#include "device/cpu/loops/reduce_lanes.h"
#include "device/cpu/pool.h"
#include "device/cpu/primitives/reduce.h"
#include "device/cpu/primitives/scan.h"
#include "device/stream.h"
#include "ir/reduce_rule.h"
#include "primitives_reference.h"

enum { MAX_SIZE = 1000000 };

static const char *const isas[] = { "baseline", "avx2", "avx512" };

/* ------------------------------------------------------------------- set-up */

static Buffer *in, *second, *out;
static Value *values, *results;

static int setup(void **state)
{
    (void) state;
    in = buffer_get(cpu_device(), 8 * MAX_SIZE);
    second = buffer_get(cpu_device(), 8 * MAX_SIZE);
    out = buffer_get(cpu_device(), 8 * MAX_SIZE);
    values = malloc(MAX_SIZE * sizeof(Value));
    results = malloc(MAX_SIZE * sizeof(Value));
    return !in || !second || !out || !values || !results;
}

static int teardown(void **state)
{
    (void) state;
    buffer_release(in);
    buffer_release(second);
    buffer_release(out);
    free(values);
    free(results);
    stream_shutdown();
    buffer_trim();
    return 0;
}

/* Values that suit the operation: sums near zero, products near one, anything for Min
 * and Max, with NaN and both zeros among it. */
static double random_float(ReduceOp op)
{
    uint64_t r = random_bits();
    double unit = (double) (r >> 11) * 0x1p-53 * 2 - 1;
    if (op == ReduceOpAdd)
        return unit;
    if (op == ReduceOpMul)
        return r % 2 ? 1 + unit / 64 : 1 / (1 + unit / 64);
    switch (r % 8) {
    case 0:
        return NAN;
    case 1:
        return unit > 0 ? 0.0 : -0.0;
    case 2:
        return unit * 1e-7;
    default:
        return unit;
    }
}

static void fill(const Type *t, ReduceOp op, Buffer *buffer, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        Value v = { .u = random_bits() };
        if (t->kind == 'f')
            v.f = random_float(op);
        else if (t->kind == 'b')
            v.u = op == ReduceOpAnd ? v.u % 50 > 0 : v.u % 50 == 0;
        else if (op == ReduceOpMul)
            v.u |= 1;
        else if (op == ReduceOpAnd)
            v.u |= random_bits() | random_bits() | random_bits();
        uint64_t bits = value_bits(t, v);
        memcpy((char *) buffer->address + i * t->size, &bits, t->size);
    }
}

static void read_values(const Type *t, Buffer *buffer, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        values[i] = value_get(t, buffer->address, i);
}

static void check_bits(const Type *t, const void *array, size_t i, uint64_t expected,
                       const char *what, size_t size, size_t block)
{
    uint64_t found = 0;
    memcpy(&found, (const char *) array + i * t->size, t->size);
    if (found == expected || (is_nan(t, found) && is_nan(t, expected)))
        return;
    fail_msg(
        "%s, type %d, size %zu, block %zu, isa %s, %u threads: entry %zu is %llx, not "
        "%llx",
        what, (int) t->type, size, block, reduce_lanes_get()->isa, pool_size(), i,
        (unsigned long long) found, (unsigned long long) expected);
}

/* ------------------------------------------------------------------ commands */

static void count_call(void *payload, const Command *command,
                       const CommandResult *result)
{
    (void) command;
    assert_null(result->error);
    assert_true(result->ns < UINT64_C(1000000000000));
    ++*(int *) payload;
}

static void use(Command *c, uint32_t slot, Buffer *buffer, size_t bytes,
                SlotAccess access)
{
    command_set_slot(c, slot, buffer, 0, bytes, access);
}

static Command *command_of(CommandKind kind, size_t size, uint32_t slots)
{
    Command *c = command_create(cpu_device(), kind, size, slots, 0);
    assert_non_null(c);
    return c;
}

/* Submit a command and wait for its end, of which one is told once. */
static void run_command(Command *c)
{
    int calls = 0;
    Stream *stream = stream_self(cpu_device());
    c->timed = true;
    c->done = count_call;
    c->payload = &calls;
    assert_true(stream_submit(stream, c));
    stream_sync(stream);
    assert_true(stream_check(stream));
    assert_int_equal(calls, 1);
}

static void run_reduce(ReduceOp op, VarType type, size_t size, size_t block,
                       size_t stride)
{
    size_t entry = type_info[type].size;
    Command *c = command_of(COMMAND_REDUCE, size, 2);
    use(c, 0, in, size * entry, SLOT_READ);
    use(c, 1, out, size / block * entry, SLOT_WRITE);
    c->reduce.op = op;
    c->reduce.type = type;
    c->reduce.block = block;
    c->reduce.stride = stride;
    run_command(c);
}

static void run_dot(VarType type, size_t size, bool a_scalar, bool b_scalar)
{
    size_t entry = type_info[type].size;
    Command *c = command_of(COMMAND_DOT, size, 3);
    use(c, 0, in, a_scalar ? entry : size * entry, SLOT_READ);
    use(c, 1, second, b_scalar ? entry : size * entry, SLOT_READ);
    use(c, 2, out, entry, SLOT_WRITE);
    c->dot.type = type;
    run_command(c);
}

static void run_scan_columns(ReduceOp op, VarType type, Buffer *from, size_t size,
                             size_t block, size_t stride, bool exclusive, bool reverse,
                             Buffer *to)
{
    size_t bytes = size * type_info[type].size;
    Command *c = command_of(COMMAND_PREFIX, size, 2);
    use(c, 0, from, bytes, SLOT_READ);
    use(c, 1, to, bytes, SLOT_WRITE);
    c->reduce.op = op;
    c->reduce.type = type;
    c->reduce.block = block;
    c->reduce.stride = stride;
    c->reduce.exclusive = exclusive;
    c->reduce.reverse = reverse;
    run_command(c);
}

static void run_scan(ReduceOp op, VarType type, Buffer *from, size_t size, size_t block,
                     bool exclusive, bool reverse, Buffer *to)
{
    run_scan_columns(op, type, from, size, block, 1, exclusive, reverse, to);
}

/* --------------------------------------------------------------- reductions */

/* Entry i of result j: its block begins at column j % stride of a matrix. */
static size_t place_of(size_t i, size_t j, size_t block, size_t stride)
{
    return j / stride * block * stride + i * stride + j % stride;
}

static void check_columns(const Type *t, ReduceOp op, size_t size, size_t block,
                          size_t stride)
{
    static Value entries[MAX_SIZE];
    fill(t, op, in, size);
    read_values(t, in, size);
    for (size_t j = 0; j < size / block; ++j) {
        for (size_t i = 0; i < block; ++i)
            entries[i] = values[place_of(i, j, block, stride)];
        results[j] = reference_reduce(t, op, entries, block);
    }
    for (size_t k = 0; k < 3; ++k) {
        if (!reduce_lanes_use(isas[k]))
            continue;
        memset(out->address, 0xa5, (size / block + 1) * t->size);
        run_reduce(op, t->type, size, block, stride);
        for (size_t i = 0; i < size / block; ++i)
            check_bits(t, out->address, i, value_bits(t, results[i]), "reduction", size,
                       block);
        for (size_t i = 0; i < t->size; ++i) /* nothing is written past the end */
            assert_int_equal(((uint8_t *) out->address)[size / block * t->size + i],
                             0xa5);
    }
}

static void check_reduce(const Type *t, ReduceOp op, size_t size, size_t block)
{
    check_columns(t, op, size, block, 1);
}

static void test_reduce_sizes(void **state)
{
    (void) state;
    static const size_t sizes[] = { 1, 2, 3, 63, 64, 65, 1000, 65535, 65536, 65537 };
    for (ReduceOp op = 0; op < ReduceOpCount; ++op)
        for (size_t i = 0; i < TYPES; ++i) {
            bool expected =
                op != ReduceOpIdentity &&
                (op >= ReduceOpAnd ? types[i].kind != 'f' : types[i].kind != 'b');
            assert_int_equal(reduce_rule_defined(op, types[i].type), expected);
            for (size_t k = 0; expected && k < sizeof sizes / sizeof sizes[0]; ++k)
                check_reduce(&types[i], op, sizes[k], sizes[k]);
            if (expected)
                check_reduce(&types[i], op, MAX_SIZE, MAX_SIZE);
        }
    assert_false(reduce_rule_defined(ReduceOpAdd, VarTypePointer));
    assert_false(reduce_rule_defined(ReduceOpAdd, VarTypeCount));
    assert_false(reduce_rule_defined(ReduceOpCount, VarTypeInt32));
}

static void test_reduce_blocks(void **state)
{
    (void) state;
    static const size_t long_blocks[] = { 127, 128, 1000, 4095, 4097, 65537, 140000 };
    for (ReduceOp op = ReduceOpAdd; op < ReduceOpCount; ++op)
        for (size_t i = 0; i < TYPES; ++i) {
            if (!reduce_rule_defined(op, types[i].type))
                continue;
            for (size_t block = 1; block <= 70; ++block)
                check_reduce(&types[i], op, block * (1 + random_bits() % 300), block);
            for (size_t k = 0; k < sizeof long_blocks / sizeof long_blocks[0]; ++k)
                check_reduce(&types[i], op, long_blocks[k] * 3, long_blocks[k]);
        }
}

/* Columns of one matrix and of several: narrow, wider than a panel, long and short. */
static void test_reduce_columns(void **state)
{
    (void) state;
    static const size_t shapes[][3] = { /* matrices, rows, columns */
        { 1, 2, 2 },     { 1, 3, 5 },     { 2, 7, 15 },    { 1, 64, 16 },
        { 3, 65, 17 },   { 1, 31, 300 },  { 2, 100, 257 }, { 1, 4096, 64 },
        { 1, 4097, 19 }, { 2, 5000, 3 },  { 1, 65536, 2 }, { 1, 65537, 2 },
        { 1, 70000, 3 }, { 40, 100, 7 },  { 1, 2, 40000 },
    };
    for (ReduceOp op = ReduceOpAdd; op < ReduceOpCount; ++op)
        for (size_t i = 0; i < TYPES; ++i)
            for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; ++k)
                if (reduce_rule_defined(op, types[i].type))
                    check_columns(&types[i], op,
                                  shapes[k][0] * shapes[k][1] * shapes[k][2],
                                  shapes[k][1], shapes[k][2]);
}

static void test_reduce_threads(void **state)
{
    (void) state;
    static const uint32_t counts[] = { 0, 1, 2, 5 };
    for (size_t k = 0; k < 4; ++k) {
        assert_true(pool_set_size(counts[k]));
        for (size_t i = 1; i < TYPES; ++i) {
            random_state = i; /* the same input for each number of threads */
            check_reduce(&types[i], ReduceOpAdd, MAX_SIZE, MAX_SIZE);
            check_columns(&types[i], ReduceOpAdd, MAX_SIZE, 1000, 250);
            check_columns(&types[i], ReduceOpAdd, MAX_SIZE, 100000, 5);
            check_reduce(&types[i], ReduceOpMin, MAX_SIZE, 100000);
            check_reduce(&types[i], ReduceOpMul, MAX_SIZE, 50);
        }
    }
    assert_true(pool_set_size(2));
}

/* Minima and maxima of blocks of special values only. */
static void test_reduce_special(void **state)
{
    (void) state;
    static const double rows[][4] = {
        { NAN, NAN, NAN, NAN },        { NAN, INFINITY, NAN, NAN },
        { NAN, -INFINITY, 1, NAN },    { 0.0, -0.0, 0.0, NAN },
        { -0.0, -0.0, 0.0, 0.0 },      { -0.0, -0.0, -0.0, -0.0 },
        { INFINITY, -INFINITY, 0, 1 }, { -NAN, 5, -NAN, -5 },
    };
    static const double least[] = { NAN,  INFINITY, -INFINITY, -0.0,
                                    -0.0, -0.0,     -INFINITY, -5 };
    static const double most[] = { NAN, INFINITY, 1, 0.0, 0.0, -0.0, INFINITY, 5 };
    for (size_t i = 9; i < TYPES; ++i)
        for (size_t k = 0; k < 3; ++k) {
            const Type *t = &types[i];
            if (!reduce_lanes_use(isas[k]))
                continue;
            for (size_t j = 0; j < 32; ++j) {
                uint64_t bits = value_bits(t, (Value){ .f = rows[j / 4][j % 4] });
                memcpy((char *) in->address + j * t->size, &bits, t->size);
            }
            for (int max = 0; max < 2; ++max) {
                run_reduce(max ? ReduceOpMax : ReduceOpMin, t->type, 32, 4, 1);
                for (size_t j = 0; j < 8; ++j)
                    check_bits(t, out->address, j,
                               value_bits(t, (Value){ .f = max ? most[j] : least[j] }),
                               "special values", 32, 4);
            }
        }
}

/* Sums are close to what long double gives. */
static void test_reduce_accuracy(void **state)
{
    (void) state;
    float *f = in->address;
    long double exact = 0, magnitude = 0;
    for (size_t i = 0; i < MAX_SIZE; ++i) {
        f[i] = (float) random_float(ReduceOpAdd) + 0.5f;
        exact += (long double) f[i];
        magnitude += fabsl((long double) f[i]);
    }
    run_reduce(ReduceOpAdd, VarTypeFloat32, MAX_SIZE, MAX_SIZE, 1);
    /* 64 + 16 + 6 roundings in a chunk, at most 7 above. */
    long double bound = 93 * FLT_EPSILON / 2 * magnitude;
    assert_true(fabsl((long double) *(float *) out->address - exact) < bound);
    /* Roundings are not all in one direction. */
    assert_true(fabsl((long double) *(float *) out->address - exact) < bound / 50);
}

static void test_reduce_identity(void **state)
{
    (void) state;
    for (ReduceOp op = ReduceOpAdd; op < ReduceOpCount; ++op)
        for (size_t i = 0; i < TYPES; ++i) {
            const Type *t = &types[i];
            uint64_t bits = 1;
            assert_int_equal(reduce_rule_identity(op, t->type, &bits),
                             reduce_rule_defined(op, t->type));
            if (!reduce_rule_defined(op, t->type))
                continue;
            if (t->size < 8)
                assert_int_equal(bits >> 8 * t->size, 0);
            fill(t, op, in, 100);
            for (size_t k = 0; k < 100; ++k) {
                Value v = value_get(t, in->address, k),
                      sum = combine(t, op, value_get(t, &bits, 0), v);
                if (t->kind != 'f' || !isnan(v.f))
                    check_bits(t, in->address, k, value_bits(t, sum), "identity", 100,
                               1);
            }
        }
    uint64_t bits = 1;
    assert_true(reduce_rule_identity(ReduceOpIdentity, VarTypeFloat32, &bits));
    assert_int_equal(bits, 0);
    assert_true(reduce_rule_identity(ReduceOpAnd, VarTypeBool, &bits));
    assert_int_equal(bits, 1);
}

/* Of floats, the sign of a zero stays, and NaN where all values are NaN; of others it
 * is the same. */
static void test_reduce_neutral(void **state)
{
    (void) state;
    static const float samples[] = { -0.0f, 0.0f, 1.5f, -INFINITY };
    for (size_t i = 0; i < sizeof samples / sizeof *samples; ++i) {
        const uint32_t bits =
            (uint32_t) reduce_rule_neutral(ReduceOpAdd, VarTypeFloat32);
        float neutral, sum;
        memcpy(&neutral, &bits, sizeof bits);
        sum = neutral + samples[i];
        assert_memory_equal(&sum, &samples[i], sizeof sum);
        const uint64_t least = reduce_rule_neutral(ReduceOpMin, VarTypeFloat64);
        double missing;
        memcpy(&missing, &least, sizeof least);
        assert_true(isnan(missing) && isnan(fmin(missing, NAN)));
        assert_true(fmin(missing, (double) samples[i]) == (double) samples[i]);
    }
    assert_int_equal(reduce_rule_neutral(ReduceOpMax, VarTypeFloat16), 0x7e00);
    assert_int_equal(reduce_rule_neutral(ReduceOpMul, VarTypeFloat16), 0x3c00);
    assert_int_equal(reduce_rule_neutral(ReduceOpMin, VarTypeInt8), 0x7f);
    assert_int_equal(reduce_rule_neutral(ReduceOpAnd, VarTypeUInt32), 0xffffffff);
}

static void expect_refused(uint32_t result)
{
    assert_int_equal(result, 0);
    assert_int_equal(error_code(), JIT_ERROR_ARGUMENT);
    error_clear();
}

/* What commands are not made for is refused before. */
static void test_reduce_errors(void **state)
{
    (void) state;
    const uint32_t zeros[4] = { 0 };
    assert_true(jit_init(JitBackendLLVM));
    uint32_t f = jit_var_mem_copy(JitBackendLLVM, VarTypeFloat32, zeros, 4);
    uint32_t i = jit_var_mem_copy(JitBackendLLVM, VarTypeInt32, zeros, 4);
    uint32_t b = jit_var_mem_copy(JitBackendLLVM, VarTypeBool, zeros, 4);
    assert_true(f && i && b);
    expect_refused(jit_var_reduce(f, ReduceOpAnd));
    expect_refused(jit_var_block_reduce(ReduceOpAdd, f, 3));
    expect_refused(jit_var_block_reduce(ReduceOpAdd, f, 0));
    expect_refused(jit_var_reduce_dot(i, i));
    expect_refused(jit_var_block_prefix_reduce(ReduceOpAdd, b, 4, 0, 0));
    jit_var_dec_ref(f);
    jit_var_dec_ref(i);
    jit_var_dec_ref(b);
    assert_int_equal(jit_shutdown(1), 0);
    assert_false(reduce_lanes_use("mmx"));
    error_clear();
}

/* ------------------------------------------------------------- dot products */

static double fma_step(const Type *t, double a, double b, double sum)
{
    return t->type == VarTypeFloat64 ? fma(a, b, sum)
                                     : (double) fmaf((float) a, (float) b, (float) sum);
}

static Value reference_dot(const Type *t, const Value *a, bool a_scalar, const Value *b,
                           bool b_scalar, size_t size)
{
    /* Each partial result of reference_chunk() as an array of its own: the runs of a
     * chunk become entries whose sums are taken by the same rule. */
    size_t width = t->type == VarTypeFloat64 ? 32 : 64, chunks = (size + 65535) / 65536;
    Value sums[64];
    assert_true(chunks <= 64);
    for (size_t c = 0; c < chunks; ++c) {
        Value total[64];
        size_t first = c * 65536, end = size < first + 65536 ? size : first + 65536;
        for (size_t j = 0; j < width; ++j)
            total[j].f = -0.0;
        for (size_t run = first; run < end; run += 64 * width) {
            for (size_t j = 0; j < width; ++j) {
                double part = -0.0;
                for (size_t i = run + j; i < end && i < run + 64 * width; i += width)
                    part =
                        fma_step(t, a[a_scalar ? 0 : i].f, b[b_scalar ? 0 : i].f, part);
                total[j] = combine(t, ReduceOpAdd, total[j], (Value){ .f = part });
            }
        }
        sums[c] = reference_chunk(t, ReduceOpAdd, total, width);
    }
    return reference_reduce(t, ReduceOpAdd, sums, chunks);
}

static void check_dot(const Type *t, size_t size, bool a_scalar, bool b_scalar)
{
    fill(t, ReduceOpAdd, in, size);
    fill(t, ReduceOpAdd, second, size);
    for (size_t i = 0; i < size; ++i) {
        values[i] = value_get(t, in->address, i);
        results[i] = value_get(t, second->address, i);
    }
    Value expected = reference_dot(t, values, a_scalar, results, b_scalar, size);
    for (size_t k = 0; k < 3; ++k) {
        if (!reduce_lanes_use(isas[k]))
            continue;
        run_dot(t->type, size, a_scalar, b_scalar);
        check_bits(t, out->address, 0, value_bits(t, expected), "dot product", size,
                   size);
    }
}

static void test_dot(void **state)
{
    (void) state;
    static const size_t sizes[] = {
        1, 2, 63, 64, 65, 1000, 65535, 65536, 65537, 300000
    };
    for (size_t i = 9; i < TYPES; ++i)
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; ++k)
            for (unsigned flags = 0; flags < 4; ++flags)
                check_dot(&types[i], sizes[k], flags & 1, flags & 2);
}

/* -------------------------------------------------------------------- scans */

/* What a scan has to give, as entries, in 'results'. */
static void expect_scan(const Type *t, ReduceOp op, size_t size, size_t block,
                        bool exclusive, bool reverse)
{
    Value *x = malloc(2 * block * sizeof(Value)), *y = x + block;
    assert_non_null(x);
    uint64_t identity;
    assert_true(reduce_rule_identity(op, t->type, &identity));
    for (size_t base = 0; base < size; base += block) {
        for (size_t i = 0; i < block; ++i)
            x[i] = values[base + (reverse ? block - 1 - i : i)];
        reference_scan(t, op, x, block, y);
        for (size_t i = 0; i < block; ++i) {
            Value v = !exclusive ? y[i] : i > 0 ? y[i - 1] : value_get(t, &identity, 0);
            results[base + (reverse ? block - 1 - i : i)] = v;
        }
    }
    free(x);
}

static void check_scan_columns(const Type *t, ReduceOp op, size_t size, size_t block,
                               size_t stride)
{
    static Value turned[MAX_SIZE];
    fill(t, op, in, size);
    read_values(t, in, size);
    for (size_t i = 0; i < size; ++i)
        turned[i] = values[place_of(i % block, i / block, block, stride)];
    memcpy(values, turned, size * sizeof(Value));
    for (unsigned flags = 0; flags < 4; ++flags) {
        expect_scan(t, op, size, block, flags & 1, flags & 2);
        for (size_t k = 0; k < 3; ++k) {
            if (!reduce_lanes_use(isas[k]))
                continue;
            bool in_place = (flags + k) % 2;
            Buffer *target = out;
            if (in_place) {
                memcpy(second->address, in->address, size * t->size);
                target = second;
            }
            run_scan_columns(op, t->type, in_place ? second : in, size, block, stride,
                             flags & 1, flags & 2, target);
            for (size_t i = 0; i < size; ++i)
                check_bits(t, target->address,
                           place_of(i % block, i / block, block, stride),
                           value_bits(t, results[i]), "scan", size, block);
        }
    }
}

static void check_scan(const Type *t, ReduceOp op, size_t size, size_t block)
{
    check_scan_columns(t, op, size, block, 1);
}

static void test_scan_sizes(void **state)
{
    (void) state;
    static const size_t sizes[] = { 1,    2,    3,    15,   16,   17,
                                    1000, 1024, 1025, 4096, 4097, 65537 };
    for (ReduceOp op = ReduceOpAdd; op < ReduceOpCount; ++op)
        for (size_t i = 0; i < TYPES; ++i)
            for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; ++k)
                if (reduce_rule_defined(op, types[i].type))
                    check_scan(&types[i], op, sizes[k], sizes[k]);
}

static void test_scan_blocks(void **state)
{
    (void) state;
    static const size_t blocks[] = { 1,  2,  3,  4,  5,   7,   8,    9,    13,  15,
                                     16, 17, 31, 64, 100, 999, 4095, 4096, 5000 };
    for (ReduceOp op = ReduceOpAdd; op < ReduceOpCount; ++op)
        for (size_t i = 0; i < TYPES; ++i)
            for (size_t k = 0; k < sizeof blocks / sizeof blocks[0]; ++k)
                if (reduce_rule_defined(op, types[i].type))
                    check_scan(&types[i], op, blocks[k] * (9000 / blocks[k] + 3),
                               blocks[k]);
}

/* Columns of one matrix and of several: a few, wider than a panel, long and short. */
static void test_scan_columns(void **state)
{
    (void) state;
    static const size_t shapes[][3] = { /* matrices, rows, columns */
        { 1, 2, 2 },     { 1, 3, 5 },     { 2, 17, 15 },  { 1, 64, 16 },
        { 3, 65, 17 },   { 1, 31, 300 },  { 1, 20, 530 }, { 2, 1, 30 },
        { 5, 33, 7 },    { 1, 2, 3000 },  { 1, 4112, 19 }, { 1, 8200, 3 },
    };
    for (ReduceOp op = ReduceOpAdd; op < ReduceOpCount; ++op)
        for (size_t i = 0; i < TYPES; ++i)
            for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; ++k)
                if (reduce_rule_defined(op, types[i].type))
                    check_scan_columns(&types[i], op,
                                       shapes[k][0] * shapes[k][1] * shapes[k][2],
                                       shapes[k][1], shapes[k][2]);
}

/* So large that results are written past the cache. */
static void test_scan_columns_large(void **state)
{
    (void) state;
    const size_t size = (size_t) 4 << 20, columns[] = { 1024, 1000 };
    Buffer *from = buffer_get(cpu_device(), size * 4);
    Buffer *to = buffer_get(cpu_device(), size * 4);
    assert_non_null(from);
    assert_non_null(to);
    assert_true(cpu_hints_bypass(size * 4 - 4000 * 4));
    uint32_t *x = from->address, *y = to->address;
    for (size_t i = 0; i < size; ++i)
        x[i] = (uint32_t) random_bits();
    for (size_t k = 0; k < 2; ++k)
        for (unsigned flags = 0; flags < 4; ++flags) {
            const size_t stride = columns[k], rows = size / stride;
            run_scan_columns(ReduceOpAdd, VarTypeUInt32, from, rows * stride, rows,
                             stride, flags & 1, flags & 2, to);
            for (size_t j = 0; j < stride; ++j) {
                uint32_t sum = 0;
                for (size_t i = 0; i < rows; ++i) {
                    const size_t at = (flags & 2 ? rows - 1 - i : i) * stride + j;
                    sum += x[at];
                    assert_int_equal(y[at], flags & 1 ? sum - x[at] : sum);
                }
            }
        }
    buffer_release(from);
    buffer_release(to);
}

static void test_scan_threads(void **state)
{
    (void) state;
    static const uint32_t counts[] = { 0, 1, 2, 5 };
    for (size_t k = 0; k < 4; ++k) {
        assert_true(pool_set_size(counts[k]));
        for (size_t i = 9; i < TYPES; ++i) {
            random_state = i;
            check_scan(&types[i], ReduceOpAdd, MAX_SIZE, MAX_SIZE);
            check_scan(&types[i], ReduceOpMax, MAX_SIZE, 20000);
            check_scan_columns(&types[i], ReduceOpAdd, MAX_SIZE, 5000, 100);
        }
        check_scan(&types[1], ReduceOpAdd, MAX_SIZE, 1000);
    }
    assert_true(pool_set_size(2));
}

/* Sums within blocks of a size at which results bypass the cache. */
static void check_large(Buffer *a, Buffer *b, size_t size, size_t block, int flags)
{
    const uint32_t *x = a->address, *y = b->address;
    memset(b->address, 0xa5, 4 * size);
    run_scan(ReduceOpAdd, VarTypeUInt32, a, size, block, flags & 1, flags & 2, b);
    uint32_t sum = 0;
    for (size_t i = 0; i < size; ++i) {
        size_t base = i - i % block;
        size_t at = flags & 2 ? base + block - 1 - i % block : i;
        sum = i % block ? sum : 0;
        assert_int_equal(y[at], flags & 1 ? sum : sum + x[at]);
        sum += x[at];
    }
}

/* One block with an unaligned end; blocks most of which begin unaligned. */
static void test_scan_large(void **state)
{
    (void) state;
    enum { BLOCK = 100003 };
    size_t blocks = 24;
    while (!cpu_hints_bypass(4 * blocks * BLOCK))
        blocks *= 2;
    size_t size = blocks * BLOCK;
    Buffer *a = buffer_get(cpu_device(), 4 * size);
    Buffer *b = buffer_get(cpu_device(), 4 * size);
    assert_true(a && b);
    uint32_t *x = a->address;
    for (size_t i = 0; i < size; ++i)
        x[i] = (uint32_t) random_bits();
    for (size_t k = 0; k < 3; ++k)
        for (int flags = 0; flags < 4 && reduce_lanes_use(isas[k]); ++flags) {
            check_large(a, b, size, size, flags);
            check_large(a, b, size, BLOCK, flags);
        }
    buffer_release(a);
    buffer_release(b);
}

/* Prefix sums of numbers that are not negative never decrease. */
static void test_scan_monotonic(void **state)
{
    (void) state;
    float *f = in->address, *sums = out->address;
    for (size_t i = 0; i < MAX_SIZE; ++i)
        f[i] = random_bits() % 3 ? fabsf((float) random_float(ReduceOpAdd)) : 1e-5f;
    run_scan(ReduceOpAdd, VarTypeFloat32, in, MAX_SIZE, MAX_SIZE, false, false, out);
    for (size_t i = 1; i < MAX_SIZE; ++i)
        assert_true(sums[i] >= sums[i - 1]);
}

/* -------------------------------------------------------------- compression */

static void check_compress(size_t size, unsigned period)
{
    uint8_t *mask = in->address;
    for (size_t i = 0; i < size; ++i)
        mask[i] = period && random_bits() % period == 0;
    for (size_t k = 0; k < 3; ++k) {
        if (!reduce_lanes_use(isas[k]))
            continue;
        uint32_t count, *found = out->address;
        memset(out->address, 0xa5, (size + 1) * sizeof(uint32_t));
        Command *c = command_of(COMMAND_COMPRESS, size, 3);
        use(c, 0, in, size, SLOT_READ);
        use(c, 1, out, size * sizeof(uint32_t), SLOT_WRITE);
        use(c, 2, second, sizeof(uint32_t), SLOT_WRITE);
        run_command(c);
        memcpy(&count, second->address, sizeof count);
        size_t next = 0;
        for (size_t i = 0; i < size; ++i)
            if (mask[i])
                assert_int_equal(found[next++], i);
        assert_int_equal(count, next);
        assert_int_equal(found[next], 0xa5a5a5a5u);
    }
}

static void test_compress(void **state)
{
    (void) state;
    static const size_t sizes[] = {
        1, 2, 15, 16, 17, 63, 64, 65, 1000, 65536, 65537
    };
    static const unsigned periods[] = { 0, 1, 2, 3, 100 };
    for (size_t p = 0; p < 5; ++p) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i)
            check_compress(sizes[i], periods[p]);
        for (uint32_t threads = 0; threads < 4; ++threads) {
            assert_true(pool_set_size(threads));
            check_compress(MAX_SIZE, periods[p]);
        }
    }
    assert_true(pool_set_size(2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reduce_sizes),    cmocka_unit_test(test_reduce_blocks),
        cmocka_unit_test(test_reduce_columns),
        cmocka_unit_test(test_reduce_threads),  cmocka_unit_test(test_reduce_special),
        cmocka_unit_test(test_reduce_accuracy), cmocka_unit_test(test_reduce_identity),
        cmocka_unit_test(test_reduce_neutral),
        cmocka_unit_test(test_reduce_errors),   cmocka_unit_test(test_dot),
        cmocka_unit_test(test_scan_sizes),      cmocka_unit_test(test_scan_blocks),
        cmocka_unit_test(test_scan_threads),    cmocka_unit_test(test_scan_large),
        cmocka_unit_test(test_scan_columns),
        cmocka_unit_test(test_scan_columns_large),
        cmocka_unit_test(test_scan_monotonic),  cmocka_unit_test(test_compress),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
