/*
 * test_reductions.c -- reductions of variables, compression, counting sort
 *
 * Expected values come from loops over plain arrays. Sums and products of floats use
 * numbers whose results are exact in any order; the documented order of inexact sums is
 * the subject of test_primitives.c.
 */
#include "test_util.h"

#include <math.h>

static void test_compress(void **unused)
{
    (void) unused;
    const uint32_t sizes[] = { 1, 5, 64, 1000, 100003 };
    for (size_t s = 0; s < COUNT_OF(sizes); ++s) {
        for (int kind = 0; kind < 4; ++kind) { /* none, all, some, few */
            uint32_t n = sizes[s], count = 0, *expected = malloc(n * 4);
            uint8_t *flags = malloc(n);
            for (uint32_t i = 0; i < n; ++i) {
                flags[i] = kind == 1 || (kind == 2 && (random_bits() & 1)) ||
                           (kind == 3 && i % 777 == 5);
                if (flags[i])
                    expected[count++] = i;
            }
            uint32_t m = array_of(VarTypeBool, flags, n), r = jit_var_compress(m);
            OK(r);
            assert_int_equal(jit_var_size(r), count);
            if (count)
                CHECK_BYTES(r, expected, count);
            else
                CHECK_STR(r, "[]");
            DROP(m, r);
            free(expected);
            free(flags);
        }
    }
    uint32_t all = literal_of(VarTypeBool, 1, 4), none = literal_of(VarTypeBool, 0, 4);
    uint32_t a = jit_var_compress(all), b = jit_var_compress(none);
    CHECK_U32(a, 0, 1, 2, 3);
    assert_int_equal(jit_var_size(b), 0);
    uint32_t c = jit_var_counter(CPU, 9), four = jit_var_u32(CPU, 4),
             m = jit_var_gt(c, four);
    uint32_t d = jit_var_compress(m); /* an unevaluated mask */
    CHECK_U32(d, 5, 6, 7, 8);
    DROP(all, none, a, b, c, four, m, d);
}

static void test_all_any(void **unused)
{
    (void) unused;
    const uint32_t sizes[] = { 1, 3, 100, 4097, 100000 };
    for (size_t s = 0; s < COUNT_OF(sizes); ++s) {
        uint32_t n = sizes[s];
        uint8_t *flags = malloc(n);
        for (int kind = 0; kind < 4; ++kind) { /* none, all, one set, one clear */
            memset(flags, kind & 1, n);
            if (kind >= 2)
                flags[n - 1] = kind == 2;
            bool all = true, any = false;
            for (uint32_t i = 0; i < n; ++i) {
                all = all && flags[i];
                any = any || flags[i];
            }
            uint32_t m = array_of(VarTypeBool, flags, n);
            uint32_t a = jit_var_all(m), b = jit_var_any(m);
            uint8_t expected[] = { all, any };
            CHECK_BYTES(a, expected, 1);
            CHECK_BYTES(b, expected + 1, 1);
            DROP(m, a, b);
        }
        free(flags);
    }
    uint32_t on = literal_of(VarTypeBool, 1, 10), off = literal_of(VarTypeBool, 0, 10);
    uint32_t r[] = { jit_var_all(on), jit_var_any(on), jit_var_all(off),
                     jit_var_any(off) };
    for (int i = 0; i < 4; ++i) {
        assert_int_equal(jit_var_state(r[i]), VarStateLiteral);
        CHECK_STR(r[i], i < 2 ? "[True]" : "[False]");
    }
    drop_all(r, 4);
    DROP(on, off);
}

/* Reductions of small numbers, held as double: exact for all operations and sizes here.
 */
static double combine(ReduceOp op, double a, double b)
{
    switch (op) {
    case ReduceOpAdd:
        return a + b;
    case ReduceOpMul:
        return a * b;
    case ReduceOpMin:
        return a < b ? a : b;
    case ReduceOpMax:
        return a > b ? a : b;
    case ReduceOpAnd:
        return (double) ((int64_t) a & (int64_t) b);
    default:
        return (double) ((int64_t) a | (int64_t) b);
    }
}

static double start_of(ReduceOp op, const TestType *t)
{
    switch (op) {
    case ReduceOpMul:
        return 1;
    case ReduceOpMin:
        return (double) INFINITY;
    case ReduceOpMax:
        return -(double) INFINITY;
    case ReduceOpAnd:
        return t->kind == 'b' ? 1 : -1;
    default:
        return 0;
    }
}

/* A variable of this type with these numbers, through a cast. */
static uint32_t numbers(const TestType *t, const double *data, size_t size)
{
    uint32_t wide = array_of(VarTypeFloat64, data, size),
             id = jit_var_cast(wide, t->type, 0);
    OK(id);
    jit_var_eval(id);
    jit_var_dec_ref(wide);
    return id;
}

static void check_numbers(uint32_t id, const double *expected, size_t size, int line)
{
    if (!id)
        fail_msg("line %d: %s", line, jit_error_message());
    assert_int_equal(jit_var_size(id), size);
    uint32_t wide = jit_var_cast(id, VarTypeFloat64, 0), stored;
    double *data;
    stored = data_of(wide, (void **) &data);
    OK(stored);
    for (size_t i = 0; i < size; ++i)
        if (data[i] != expected[i])
            fail_msg("line %d: entry %zu of a %s is %g, expected %g", line, i,
                     type_of(jit_var_type(id))->name, data[i], expected[i]);
    DROP(wide, stored);
}

static double small_number(ReduceOp op, const TestType *t)
{
    uint32_t r = (uint32_t) (random_bits() >> 40);
    if (t->kind == 'b')
        return r % 8 != 0;
    switch (op) {
    case ReduceOpAdd:
        return t->kind == 'u' ? r % 16 == 0 : (double) (r % 3) - 1;
    case ReduceOpMul:
        return t->kind == 'u' ? 1 : r % 2 ? 1 : -1;
    default:
        return r % 100;
    }
}

static void check_reductions(const TestType *t, ReduceOp op, uint32_t size,
                             uint32_t block)
{
    double *data = malloc(size * sizeof(double)),
           *totals = malloc(size * sizeof(double));
    double *scan[4];
    for (int i = 0; i < 4; ++i)
        scan[i] = malloc(size * sizeof(double));
    for (uint32_t i = 0; i < size; ++i)
        data[i] = small_number(op, t);
    for (uint32_t b = 0; b < size / block; ++b) {
        const double *in = data + b * block;
        double up = start_of(op, t), down = up;
        for (uint32_t i = 0; i < block; ++i) {
            uint32_t at = b * block + i, back = b * block + block - 1 - i;
            scan[1][at] = up;
            scan[3][back] = down;
            up = combine(op, up, in[i]);
            down = combine(op, down, in[block - 1 - i]);
            scan[0][at] = up;
            scan[2][back] = down;
        }
        totals[b] = up;
    }
    uint32_t x = numbers(t, data, size), r = jit_var_block_reduce(op, x, block);
    check_numbers(r, totals, size / block, __LINE__);
    jit_var_dec_ref(r);
    if (block == size) {
        r = jit_var_reduce(x, op);
        check_numbers(r, totals, 1, __LINE__);
        jit_var_dec_ref(r);
    }
    for (int kind = 0; kind < 4; ++kind) {
        bool exclusive = kind & 1;
        /* Neutral elements of Min, Max and And depend on the type: see test_identities.
         */
        if (exclusive && (op == ReduceOpMin || op == ReduceOpMax || op == ReduceOpAnd))
            continue;
        r = jit_var_block_prefix_reduce(op, x, block, exclusive, kind >> 1);
        check_numbers(r, scan[kind], size, __LINE__);
        jit_var_dec_ref(r);
    }
    jit_var_dec_ref(x);
    free(data);
    free(totals);
    for (int i = 0; i < 4; ++i)
        free(scan[i]);
}

static void test_reductions(void **unused)
{
    (void) unused;
    static const uint32_t shapes[][2] = {
        /* size, block */
        { 1, 1 },    { 2, 2 },    { 7, 7 },         { 1000, 1000 }, { 1000, 1 },
        { 1000, 4 }, { 999, 37 }, { 20000, 20000 }, { 20000, 5000 }
    };
    for (size_t t = 0; t < COUNT_OF(test_types); ++t)
        for (int op = ReduceOpAdd; op < ReduceOpCount; ++op)
            for (size_t s = 0; s < COUNT_OF(shapes); ++s) {
                const TestType *type = &test_types[t];
                /* Sums of bytes would leave the type. */
                bool narrow =
                    type->size == 1 && op == ReduceOpAdd && shapes[s][1] > 1000;
                if (reducible(type, (ReduceOp) op) && !narrow)
                    check_reductions(type, (ReduceOp) op, shapes[s][0], shapes[s][1]);
            }
}

static void check_same(uint32_t a, uint32_t b)
{
    void *x, *y;
    uint32_t stored_a = data_of(a, &x), stored_b = data_of(b, &y);
    OK(stored_a && stored_b);
    assert_int_equal(jit_var_size(a), jit_var_size(b));
    assert_memory_equal(x, y, jit_var_size(a) * type_of(jit_var_type(a))->size);
    DROP(stored_a, stored_b, a, b);
}

/* The same of prefix reductions, where the transposed array is 'y'. */
static void check_prefixes(ReduceOp op, uint32_t x, uint32_t y, const JitAxis *axis)
{
    const JitTranspose back = { axis->stride, axis->extent, 1, NULL };
    for (int flags = 0; flags < 4; ++flags) {
        uint32_t a = jit_var_axis_prefix_reduce(op, x, axis, flags & 1, flags & 2);
        uint32_t b =
            jit_var_block_prefix_reduce(op, y, axis->extent, flags & 1, flags & 2);
        uint32_t c = jit_var_transpose(b, &back);
        OK(a && b && c);
        check_same(a, c);
        DROP(b);
    }
}

/* Columns of matrices: what the blocks of the transposed array give, bit for bit. */
static void test_axes(void **unused)
{
    (void) unused;
    static const uint32_t shapes[][3] = { /* matrices, rows, columns */
        { 1, 2, 3 },    { 1, 7, 1 },     { 5, 4, 6 },    { 1, 1, 9 },
        { 3, 100, 33 }, { 1, 66000, 3 }, { 1, 300, 700 }, { 2, 2, 5000 },
    };
    for (size_t s = 0; s < COUNT_OF(shapes); ++s) {
        const uint32_t rows = shapes[s][1], columns = shapes[s][2];
        const uint32_t size = shapes[s][0] * rows * columns;
        float *data = malloc(size * sizeof(float));
        float *turned = malloc(size * sizeof(float));
        for (uint32_t i = 0; i < size; ++i)
            data[i] = (float) random_bits() / 1e9f + 0.1f;
        for (uint32_t i = 0; i < size; ++i) {
            const uint32_t row = i / columns % rows, column = i % columns;
            turned[i / columns / rows * rows * columns + column * rows + row] = data[i];
        }
        uint32_t x = array_of(VarTypeFloat32, data, size);
        uint32_t y = array_of(VarTypeFloat32, turned, size);
        const JitAxis axis = { rows, columns, NULL };
        for (int op = ReduceOpAdd; op <= ReduceOpMax; ++op) {
            uint32_t a = jit_var_axis_reduce((ReduceOp) op, x, &axis);
            uint32_t b = jit_var_block_reduce((ReduceOp) op, y, rows);
            OK(a);
            assert_int_equal(jit_var_size(a), size / rows);
            check_same(a, b);
            check_prefixes((ReduceOp) op, x, y, &axis);
        }
        DROP(x, y);
        free(data);
        free(turned);
    }
    uint32_t c = jit_var_counter(CPU, 6), two = jit_var_u32(CPU, 2);
    uint32_t x = jit_var_mul(c, two); /* is computed first: 0 2 4 / 6 8 10 */
    uint32_t a = jit_var_axis_reduce(ReduceOpAdd, x, &(JitAxis){ 2, 3, NULL });
    uint32_t b = jit_var_axis_reduce(ReduceOpMax, two, &(JitAxis){ 1, 1, NULL });
    CHECK_U32(a, 6, 10, 14);
    CHECK_U32(b, 2);
    DROP(c, two, x, a, b);
}

/* Every size of entries, of items, and of what is left at the edges of tiles. */
static void test_transpose(void **unused)
{
    (void) unused;
    static const uint32_t shapes[][4] = { /* matrices, rows, columns, items */
        { 1, 64, 64, 1 },  { 2, 17, 33, 1 }, { 1, 3, 500, 1 },  { 1, 500, 3, 1 },
        { 3, 130, 67, 1 }, { 1, 5, 7, 2 },   { 2, 16, 24, 3 },  { 1, 9, 4, 100 },
        { 1, 1, 8, 2 },    { 2, 8, 1, 3 },   { 1, 2100, 70, 1 }, { 1, 2, 3, 9000 },
    };
    for (size_t t = 0; t < COUNT_OF(test_types); ++t)
        for (size_t s = 0; s < COUNT_OF(shapes); ++s) {
            if (test_types[t].type == VarTypePointer)
                continue;
            const uint32_t rows = shapes[s][1], columns = shapes[s][2];
            const uint32_t items = shapes[s][3], matrix = rows * columns * items;
            const uint32_t size = shapes[s][0] * matrix;
            const size_t entry = test_types[t].size;
            char *data = malloc(size * entry), *turned = malloc(size * entry);
            for (size_t i = 0; i < size * entry; ++i)
                data[i] = (char) (random_bits() & 1);
            for (uint32_t i = 0; i < size; ++i) {
                const uint32_t item = i % items, column = i / items % columns;
                const uint32_t row = i / items / columns % rows;
                const size_t to = i / matrix * matrix +
                                  (column * rows + row) * items + item;
                memcpy(turned + to * entry, data + i * entry, entry);
            }
            uint32_t x = array_of(test_types[t].type, data, size);
            uint32_t y = array_of(test_types[t].type, turned, size);
            uint32_t a = jit_var_transpose(
                x, &(JitTranspose){ rows, columns, items, NULL });
            OK(a);
            check_same(a, y);
            DROP(x);
            free(data);
            free(turned);
        }
    uint32_t two = jit_var_u32(CPU, 2);
    uint32_t a = jit_var_transpose(two, &(JitTranspose){ 1, 1, 1, NULL });
    CHECK_U32(a, 2);
    DROP(two, a);
}

static void test_identities(void **unused)
{
    (void) unused;
    for (size_t t = 0; t < COUNT_OF(test_types); ++t)
        for (int op = ReduceOpAdd; op < ReduceOpCount; ++op) {
            const TestType *type = &test_types[t];
            uint64_t bits = 1234;
            bool ok = jit_reduce_identity(type->type, (ReduceOp) op, &bits);
            assert_int_equal(ok, reducible(type, (ReduceOp) op));
            if (!ok)
                continue;
            /* op(identity, x) = x, also for infinities and the ends of the type; and an
             * exclusive prefix reduction begins with it. */
            uint64_t ends[] = { 0, 1, ones_of(type->size * 8),
                                ones_of(type->size * 8 - 1),
                                UINT64_C(1) << (type->size * 8 - 1) };
            uint64_t infinities[] = { 0x7c00,
                                      0xfc00,
                                      0x7f800000,
                                      0xff800000,
                                      UINT64_C(0x7ff0000000000000),
                                      UINT64_C(0xfff0000000000000) };
            char in[7 * 8], out[7 * 8];
            for (uint32_t i = 0; i < 7; ++i) {
                uint64_t v;
                if (type->kind == 'f')
                    v = infinities[(type->size == 2   ? 0
                                    : type->size == 4 ? 2
                                                      : 4) +
                                   i % 2];
                else
                    v = type->kind == 'b' ? i % 2 : ends[i % 5];
                put_bits(in, type->size, i, v);
            }
            for (uint32_t i = 0; i < 7; ++i)
                put_bits(out, type->size, i, bits);
            uint32_t x = array_of(type->type, in, 7);
            uint32_t r = jit_var_block_prefix_reduce((ReduceOp) op, x, 1, 1, 0);
            CHECK_BYTES(r, out, 7);
            uint32_t y = array_of(type->type, out, 7), c = jit_var_counter(CPU, 7);
            uint32_t z = jit_var_scatter(y, x, c, 0, (ReduceOp) op, ReduceModeAuto);
            CHECK_BYTES(z, in, 7);
            DROP(x, r, y, c, z);
        }
}

static void test_dot(void **unused)
{
    (void) unused;
    const VarType types[] = { VarTypeFloat16, VarTypeFloat32, VarTypeFloat64 };
    const uint32_t sizes[] = { 1, 2, 100, 1025, 30000 };
    for (size_t t = 0; t < COUNT_OF(types); ++t)
        for (size_t s = 0; s < COUNT_OF(sizes); ++s) {
            uint32_t n = sizes[s];
            double *a = malloc(n * sizeof(double)), *b = malloc(n * sizeof(double)),
                   sum = 0;
            double total = 0, two = 2;
            for (uint32_t i = 0; i < n; ++i) {
                a[i] = (double) (random_bits() % 3) - 1;
                b[i] = (double) (random_bits() % 3) - 1;
                sum += a[i] * b[i];
                total += 2 * a[i];
            }
            const TestType *type = type_of(types[t]);
            uint32_t x = numbers(type, a, n), y = numbers(type, b, n);
            uint32_t scalar = numbers(type, &two, 1);
            uint32_t r = jit_var_reduce_dot(x, y), q = jit_var_reduce_dot(x, scalar);
            check_numbers(r, &sum, 1, __LINE__);
            check_numbers(q, &total, 1, __LINE__);
            uint32_t lazy = jit_var_mul(x, scalar), l = jit_var_reduce_dot(lazy, y);
            sum *= 2;
            check_numbers(l, &sum, 1, __LINE__);
            DROP(x, y, scalar, r, q, lazy, l);
            free(a);
            free(b);
        }
}

/* Reductions of literals and of arrays with queued writes. */
static void test_reduction_inputs(void **unused)
{
    (void) unused;
    uint32_t l = literal_of(VarTypeUInt32, 3, 10), sum = jit_var_reduce(l, ReduceOpAdd);
    CHECK_U32(sum, 30);
    uint32_t x = u32_array(4, (uint32_t[]){ 1, 2, 3, 4 }), i = jit_var_u32(CPU, 1);
    uint32_t v = jit_var_u32(CPU, 100);
    uint32_t w = jit_var_scatter(x, v, i, 0, ReduceOpIdentity, ReduceModeAuto);
    uint32_t total = jit_var_reduce(w, ReduceOpAdd);
    CHECK_U32(total, 108);
    uint32_t again = jit_var_add(total, v);
    CHECK_U32(again, 208);
    DROP(l, sum, x, i, v, w, total, again);
}

static void test_mkperm(void **unused)
{
    (void) unused;
    static const uint32_t shapes[][3] = { /* size, block, buckets */
                                          { 1, 1, 1 },           { 10, 10, 3 },
                                          { 1000, 1000, 7 },     { 1000, 250, 2 },
                                          { 50000, 50000, 300 }, { 60000, 20000, 1 }
    };
    for (size_t s = 0; s < COUNT_OF(shapes); ++s) {
        uint32_t n = shapes[s][0], block = shapes[s][1], buckets = shapes[s][2];
        uint32_t *keys = malloc(n * 4), *perm = malloc(n * 4), *offsets = NULL;
        bool one = block == n, ok;
        for (uint32_t i = 0; i < n; ++i)
            keys[i] = (uint32_t) (random_bits() % buckets);
        if (one)
            offsets = malloc((size_t) buckets * 16);
        uint32_t unique =
            jit_block_mkperm(CPU, keys, n, block, buckets, perm, offsets, &ok);
        OK(ok);
        for (uint32_t b = 0; b < n / block;
             ++b) { /* selection, bucket by bucket: stable */
            uint32_t at = b * block;
            for (uint32_t k = 0; k < buckets; ++k)
                for (uint32_t i = b * block; i < (b + 1) * block; ++i)
                    if (keys[i] == k)
                        assert_int_equal(perm[at++], i);
        }
        if (one) {
            uint32_t found = 0, start = 0;
            for (uint32_t k = 0; k < buckets; ++k) {
                uint32_t count = 0;
                for (uint32_t i = 0; i < n; ++i)
                    count += keys[i] == k;
                if (!count)
                    continue;
                bool seen = false;
                for (uint32_t e = 0; e < unique; ++e)
                    seen |= offsets[4 * e] == k && offsets[4 * e + 1] == start &&
                            offsets[4 * e + 2] == count && offsets[4 * e + 3] == 0;
                assert_true(seen);
                start += count;
                found++;
            }
            assert_int_equal(unique, found);
        } else {
            assert_int_equal(unique, 0);
        }
        free(keys);
        free(perm);
        free(offsets);
    }
}

/* Small arrays are reduced without a command, which the history would show: with and
 * without it the bits are the same. */
static void test_at_once(void **unused)
{
    (void) unused;
    const uint32_t shapes[][2] = { { 2, 2 },     { 63, 63 },     { 64, 32 },
                                   { 65, 65 },   { 1000, 1000 }, { 1000, 250 },
                                   { 900, 3 },   { 2048, 2048 } };
    for (size_t t = 0; t < COUNT_OF(test_types); ++t)
        for (size_t s = 0; s < COUNT_OF(shapes); ++s) {
            const TestType *type = &test_types[t];
            uint32_t n = shapes[s][0], block = shapes[s][1], found[2];
            if (type->kind == 'p')
                continue;
            void *data = random_array(type->type, n);
            uint32_t x = array_of(type->type, data, n);
            for (int op = ReduceOpAdd; op < ReduceOpCount; ++op) {
                if (!reducible(type, (ReduceOp) op))
                    continue;
                for (int k = 0; k < 2; ++k) {
                    jit_set_flag(JitFlagKernelHistory, k);
                    OK(found[k] = jit_var_block_reduce((ReduceOp) op, x, block));
                }
                check_same(found[0], found[1]);
            }
            for (int k = 0; type->kind == 'f' && k < 2; ++k) {
                jit_set_flag(JitFlagKernelHistory, k);
                OK(found[k] = jit_var_reduce_dot(x, x));
            }
            if (type->kind == 'f')
                check_same(found[0], found[1]);
            jit_set_flag(JitFlagKernelHistory, 0);
            jit_var_dec_ref(x);
            free(data);
        }
    KernelHistoryEntry *entries;
    size_t count = jit_kernel_history(&entries);
    assert_true(count > 0);
    jit_kernel_history_release(entries, count);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_compress), TEST(test_all_any), TEST(test_reductions), TEST(test_axes),
        TEST(test_transpose),
        TEST(test_identities), TEST(test_dot), TEST(test_reduction_inputs),
        TEST(test_mkperm), TEST(test_at_once),
    };
    return cmocka_run_group_tests_name("reductions", tests, NULL, NULL);
}

int main(void)
{
    return run_engines(run);
}
