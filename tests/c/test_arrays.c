/*
 * test_arrays.c -- creation, whole-array functions, memory functions
 *
 * Expected values come from loops over plain arrays.
 */
#include "test_util.h"

#include <math.h>

/* ---------------------------------------------------------------- creation */

static void test_literals(void **unused)
{
    (void) unused;
    uint32_t ids[] = { jit_var_bool(CPU, true),      jit_var_i8(CPU, -5),
                       jit_var_u8(CPU, 200),         jit_var_i16(CPU, -3000),
                       jit_var_u16(CPU, 60000),      jit_var_i32(CPU, INT32_MIN),
                       jit_var_u32(CPU, UINT32_MAX), jit_var_i64(CPU, INT64_MIN),
                       jit_var_u64(CPU, UINT64_MAX), jit_var_f16(CPU, 1.5f),
                       jit_var_f32(CPU, -0.25f),     jit_var_f64(CPU, 1e300) };
    static const char *const texts[] = { "[True]",
                                         "[-5]",
                                         "[200]",
                                         "[-3000]",
                                         "[60000]",
                                         "[-2147483648]",
                                         "[4294967295]",
                                         "[-9223372036854775808]",
                                         "[18446744073709551615]",
                                         "[1.5]",
                                         "[-0.25]",
                                         "[1e+300]" };
    static const VarType types[] = { VarTypeBool,    VarTypeInt8,    VarTypeUInt8,
                                     VarTypeInt16,   VarTypeUInt16,  VarTypeInt32,
                                     VarTypeUInt32,  VarTypeInt64,   VarTypeUInt64,
                                     VarTypeFloat16, VarTypeFloat32, VarTypeFloat64 };
    for (size_t i = 0; i < COUNT_OF(ids); ++i) {
        OK(ids[i]);
        assert_int_equal(jit_var_type(ids[i]), types[i]);
        assert_int_equal(jit_var_size(ids[i]), 1);
        assert_int_equal(jit_var_state(ids[i]), VarStateLiteral);
        CHECK_STR(ids[i], texts[i]);
        jit_var_dec_ref(ids[i]);
    }
    /* Halves are rounded to nearest even: 1 + 2^-11 is half way and goes down. */
    VarInfo info;
    uint32_t half = jit_var_f16(CPU, 1.0f + 1.0f / 2048), up = jit_var_f16(CPU, 1e6f);
    OK(jit_var_info(half, &info));
    assert_int_equal(info.literal, 0x3c00);
    OK(jit_var_info(up, &info));
    assert_int_equal(info.literal, 0x7c00);
    DROP(half, up);

    for (int eval = 0; eval < 2; ++eval) {
        uint16_t value = 513, expected[1000];
        for (int i = 0; i < 1000; ++i)
            expected[i] = value;
        uint32_t id = jit_var_literal(CPU, VarTypeUInt16, &value, 1000, eval);
        OK(id);
        assert_int_equal(jit_var_state(id), eval ? VarStateEvaluated : VarStateLiteral);
        CHECK_BYTES(id, expected, 1000);
        jit_var_dec_ref(id);
    }
}

static void test_counter_and_undefined(void **unused)
{
    (void) unused;
    const uint32_t sizes[] = { 1, 2, 16, 17, 1000, 100001 };
    for (size_t s = 0; s < COUNT_OF(sizes); ++s) {
        uint32_t n = sizes[s], *expected = malloc(n * 4);
        for (uint32_t i = 0; i < n; ++i)
            expected[i] = i;
        uint32_t a = jit_var_counter(CPU, n), b = jit_var_new_counter(CPU, n);
        assert_int_equal(a, b);
        assert_int_equal(jit_var_type(a), VarTypeUInt32);
        assert_int_equal(jit_var_state(a),
                         n == 1 ? VarStateLiteral : VarStateUnevaluated);
        CHECK_BYTES(a, expected, n);
        uint32_t u = jit_var_undefined(CPU, VarTypeFloat64, n), v = jit_var_add(u, u);
        assert_int_equal(jit_var_state(u), VarStateUndefined);
        OK(jit_var_eval(v) && jit_var_eval(u));
        assert_int_equal(jit_var_state(u), VarStateEvaluated);
        DROP(a, b, u, v);
        free(expected);
    }
    /* Memory is taken only when it is needed. */
    uint32_t large = jit_var_undefined(CPU, VarTypeFloat64, UINT32_MAX);
    OK(large);
    assert_int_equal(jit_var_size(large), UINT32_MAX);
    jit_var_dec_ref(large);
}

static int freed_count;
static void *freed_payload;
static void count_free(uint32_t index, int freed, void *payload)
{
    (void) index;
    freed_count += freed;
    freed_payload = payload;
}

static void test_memory_arrays(void **unused)
{
    (void) unused;
    for (size_t t = 0; t < COUNT_OF(test_types); ++t) {
        const TestType *type = &test_types[t];
        char data[37 * 8];
        for (size_t i = 0; i < 37; ++i)
            put_bits(data, type->size, i,
                     type->kind == 'b' ? i % 3 == 0 : random_bits());
        uint32_t copy = jit_var_mem_copy(CPU, type->type, data, 37);
        OK(copy);
        char changed[37 * 8];
        memcpy(changed, data, sizeof(data));
        memset(data, 0, sizeof(data)); /* the copy was done */
        CHECK_BYTES(copy, changed, 37);
        VarInfo info;
        OK(jit_var_info(copy, &info));
        assert_int_equal(info.backend, CPU);
        assert_int_equal(info.type, type->type);
        assert_int_equal(info.state, VarStateEvaluated);
        assert_int_equal(info.size, 37);
        assert_false(info.unaligned);
        assert_non_null(info.data);
        jit_var_dec_ref(copy);
    }

    /* The caller's memory, not aligned to 64 bytes. */
    _Alignas(64) uint32_t block[40];
    for (uint32_t i = 0; i < 40; ++i)
        block[i] = i * i;
    for (uint32_t offset = 0; offset < 3; ++offset) {
        uint32_t map = jit_var_mem_map(CPU, VarTypeUInt32, block + offset, 20, 0);
        uint32_t one = jit_var_u32(CPU, 1), sum = jit_var_add(map, one), expected[20];
        OK(map && sum);
        VarInfo info;
        OK(jit_var_info(map, &info));
        assert_int_equal(info.unaligned, offset != 0);
        assert_ptr_equal(info.data, block + offset);
        for (uint32_t i = 0; i < 20; ++i)
            expected[i] = block[offset + i] + 1;
        CHECK_BYTES(sum, expected, 20);
        DROP(map, one, sum);
    }

    /* Writes by a sole owner go to the memory itself. */
    uint32_t map = jit_var_mem_map(CPU, VarTypeUInt32, block, 40, 0), seven = 7;
    freed_count = 0;
    OK(jit_var_set_callback(map, count_free, block));
    uint32_t written = jit_var_write(map, 3, &seven);
    assert_int_equal(written, map);
    OK(jit_sync_thread());
    assert_int_equal(block[3], 7);
    DROP(map, written);
    assert_int_equal(freed_count, 1);
    assert_ptr_equal(freed_payload, block);

    /* The library calls free(); the leak checker of 'make asan' sees whether. */
    uint32_t *heap = malloc(100 * sizeof(uint32_t));
    for (uint32_t i = 0; i < 100; ++i)
        heap[i] = i;
    uint32_t owned = jit_var_mem_map(CPU, VarTypeUInt32, heap, 100, 1);
    uint32_t twice = jit_var_add(owned, owned);
    jit_var_dec_ref(owned); /* still needed by 'twice' */
    uint32_t value;
    OK(jit_var_read(twice, 99, &value));
    assert_int_equal(value, 198);
    jit_var_dec_ref(twice);
}

static int released;
static void *released_ptr, *released_payload;

static void count_release(void *ptr, void *payload)
{
    released++;
    released_ptr = ptr;
    released_payload = payload;
}

static void test_map_release(void **unused)
{
    (void) unused;
    enum { SIZE = 100000 };
    float *data = malloc(SIZE * sizeof(float)), value;
    for (int i = 0; i < SIZE; ++i)
        data[i] = (float) i;
    released = 0;

    /* A failed call leaves the memory to the caller. */
    assert_int_equal(jit_var_mem_map_release(CPU, VarTypeFloat32, (char *) data + 1,
                                             SIZE, count_release, &released),
                     0);
    assert_int_equal(jit_error(), JIT_ERROR_ARGUMENT);
    assert_int_equal(released, 0);

    /* The variable goes while a kernel that reads the memory may still be queued. */
    uint32_t map = jit_var_mem_map_release(CPU, VarTypeFloat32, data, SIZE,
                                           count_release, &released);
    uint32_t sum = jit_var_add(map, map);
    OK(map && sum && jit_sync_thread());
    assert_int_equal(released, 0);
    OK(jit_var_schedule(sum) && jit_eval());
    jit_var_dec_ref(map);
    OK(jit_var_read(sum, SIZE - 1, &value));
    assert_true(value == 2.f * (SIZE - 1));
    OK(jit_sync_thread());
    assert_int_equal(released, 1);
    assert_ptr_equal(released_ptr, data);
    assert_ptr_equal(released_payload, &released);
    jit_var_dec_ref(sum);
    free(data);
}

/* ------------------------------------------------------------ whole arrays */

static void test_copy(void **unused)
{
    (void) unused;
    uint32_t data[] = { 3, 1, 4, 1, 5 };
    uint32_t a = u32_array(5, data), b = jit_var_copy(a);
    OK(b);
    assert_int_not_equal(a, b);
    assert_int_equal(jit_var_state(b), VarStateEvaluated);
    uint32_t nine = 9, w = jit_var_write(b, 0, &nine);
    OK(w);
    CHECK_U32(a, 3, 1, 4, 1, 5);
    CHECK_U32(w, 9, 1, 4, 1, 5);
    uint32_t sum = jit_var_add(a, a), c = jit_var_copy(sum);
    assert_int_not_equal(sum, c);
    assert_int_equal(jit_var_state(c), VarStateUnevaluated);
    CHECK_U32(c, 6, 2, 8, 2, 10);
    uint32_t l = literal_of(VarTypeUInt32, 6, 3), d = jit_var_copy(l);
    assert_int_not_equal(l, d);
    assert_int_equal(jit_var_state(d), VarStateLiteral);
    CHECK_U32(d, 6, 6, 6);
    uint32_t u = jit_var_undefined(CPU, VarTypeUInt32, 3), e = jit_var_copy(u);
    OK(e);
    assert_int_equal(jit_var_size(e), 3);
    DROP(a, b, w, sum, c, l, d, u, e);
}

static void test_sizes(void **unused)
{
    (void) unused;
    uint32_t data[] = { 3, 1, 4, 1, 5 };
    uint32_t a = u32_array(5, data), one = u32_array(1, data + 2),
             l = jit_var_u32(CPU, 8);
    uint32_t same = jit_var_resize(a, 5), wide = jit_var_resize(one, 4);
    uint32_t lwide = jit_var_resize(l, 3),
             undefined = jit_var_undefined(CPU, VarTypeInt8, 1);
    uint32_t uwide = jit_var_resize(undefined, 7);
    assert_int_equal(same, a);
    CHECK_U32(wide, 4, 4, 4, 4);
    CHECK_U32(lwide, 8, 8, 8);
    assert_int_equal(jit_var_size(uwide), 7);
    uint32_t sum = jit_var_add(one, l),
             swide = jit_var_resize(sum, 3); /* unevaluated */
    CHECK_U32(swide, 12, 12, 12);

    uint32_t first = jit_var_shrink(a, 3), whole = jit_var_shrink(a, 5);
    uint32_t lazy = jit_var_add(a, a), lfirst = jit_var_shrink(lazy, 2);
    uint32_t lit = jit_var_shrink(lwide, 2), und = jit_var_shrink(uwide, 2);
    CHECK_U32(first, 3, 1, 4);
    assert_int_equal(whole, a);
    CHECK_U32(lfirst, 6, 2);
    CHECK_U32(lit, 8, 8);
    assert_int_equal(jit_var_size(und), 2);
    DROP(a, one, l, same, wide, lwide, undefined, uwide, sum, swide, first, whole, lazy,
         lfirst, lit, und);
}

static void test_rearrangement(void **unused)
{
    (void) unused;
    uint32_t data[] = { 3, 1, 4 };
    uint32_t a = u32_array(3, data), one = u32_array(1, data),
             l = literal_of(VarTypeUInt32, 2, 2);
    uint32_t lazy = jit_var_mul(a, a);
    uint32_t r[] = { jit_var_reverse(a),   jit_var_tile(a, 3),
                     jit_var_repeat(a, 3), jit_var_tile(a, 1),
                     jit_var_repeat(a, 1), jit_var_reverse(one),
                     jit_var_tile(one, 2), jit_var_repeat(one, 3),
                     jit_var_reverse(l),   jit_var_tile(l, 2),
                     jit_var_repeat(l, 2), jit_var_reverse(lazy),
                     jit_var_tile(lazy, 2) };
    CHECK_U32(r[0], 4, 1, 3);
    CHECK_U32(r[1], 3, 1, 4, 3, 1, 4, 3, 1, 4);
    CHECK_U32(r[2], 3, 3, 3, 1, 1, 1, 4, 4, 4);
    assert_int_equal(r[3], a);
    assert_int_equal(r[4], a);
    CHECK_U32(r[5], 3);
    CHECK_U32(r[6], 3, 3);
    CHECK_U32(r[7], 3, 3, 3);
    CHECK_U32(r[8], 2, 2);
    CHECK_U32(r[9], 2, 2, 2, 2);
    CHECK_U32(r[10], 2, 2, 2, 2);
    CHECK_U32(r[11], 16, 1, 9);
    CHECK_U32(r[12], 9, 1, 16, 9, 1, 16);
    drop_all(r, COUNT_OF(r));
    DROP(a, one, l, lazy);
    for (size_t t = 0; t < COUNT_OF(test_types); ++t) { /* all types, odd sizes */
        const TestType *type = &test_types[t];
        enum { N = 333 };
        if (type->kind == 'p')
            continue;
        char values[N * 8], reversed[N * 8];
        for (size_t i = 0; i < N; ++i)
            put_bits(values, type->size, i,
                     type->kind == 'b' ? random_bits() & 1 : random_bits());
        for (size_t i = 0; i < N; ++i)
            put_bits(reversed, type->size, i, get_bits(values, type->size, N - 1 - i));
        uint32_t x = array_of(type->type, values, N), y = jit_var_reverse(x);
        CHECK_BYTES(y, reversed, N);
        DROP(x, y);
    }
}

static void test_opaque_width(void **unused)
{
    (void) unused;
    uint32_t a = jit_var_counter(CPU, 77), w = jit_var_opaque_width(a);
    assert_int_equal(jit_var_size(w), 1);
    assert_int_equal(jit_var_state(w), VarStateEvaluated);
    CHECK_U32(w, 77);
    /* The kernel does not know the number. */
    uint32_t ten = jit_var_u32(CPU, 10), f = jit_var_add(w, ten);
    assert_null(strstr(jit_program_str(f), "77"));
    CHECK_U32(f, 87);
    uint32_t m = jit_var_migrate(a, CPU);
    assert_int_equal(m, a);
    DROP(a, w, ten, f, m);
}

static void test_read_write_data(void **unused)
{
    (void) unused;
    uint32_t data[] = { 3, 1, 4, 1, 5 }, value = 0, nine = 9;
    uint32_t a = u32_array(5, data);
    for (uint32_t i = 0; i < 5; ++i) {
        OK(jit_var_read(a, i, &value));
        assert_int_equal(value, data[i]);
    }
    uint32_t held = jit_var_inc_ref(a), b = jit_var_write(a, 2, &nine);
    assert_int_not_equal(b, a);
    CHECK_U32(held, 3, 1, 4, 1, 5);
    CHECK_U32(b, 3, 1, 9, 1, 5);
    uint32_t l = literal_of(VarTypeUInt32, 2, 3), c = jit_var_write(l, 1, &nine);
    CHECK_U32(c, 2, 9, 2);
    uint32_t lazy = jit_var_add(a, a), d = jit_var_write(lazy, 4, &nine);
    CHECK_U32(d, 6, 2, 8, 2, 9);
    uint32_t shared = literal_of(VarTypeUInt32, 5, 2),
             again = literal_of(VarTypeUInt32, 5, 2);
    void *p, *q;
    uint32_t e = jit_var_data(shared, &p), f = jit_var_data(e, &q);
    OK(e && f);
    assert_int_equal(jit_var_state(again), VarStateLiteral);
    assert_ptr_equal(p, q);
    uint32_t g = data_of(f, &q);
    assert_int_equal(((uint32_t *) q)[1], 5);
    DROP(a, held, b, l, c, lazy, d, shared, again, e, f, g);
}

static void test_str(void **unused)
{
    (void) unused;
    float data[25];
    for (int i = 0; i < 25; ++i)
        data[i] = (float) i + 0.5f;
    uint32_t a = array_of(VarTypeFloat32, data, 20),
             b = array_of(VarTypeFloat32, data, 25);
    CHECK_STR(
        a, "[0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5, 11.5, 12.5, 13.5, "
           "14.5, 15.5, 16.5, 17.5, 18.5, 19.5]");
    CHECK_STR(b, "[0.5, 1.5, 2.5, .. 19 skipped .., 22.5, 23.5, 24.5]");
    uint32_t c = literal_of(VarTypeBool, 0, 2);
    CHECK_STR(c, "[False, False]");
    float special[] = { INFINITY, -INFINITY, -0.0f, 1e-40f };
    uint32_t d = array_of(VarTypeFloat32, special, 4);
    CHECK_STR(d, "[inf, -inf, -0, 9.99995e-41]");
    DROP(a, b, c, d);
}

/* ------------------------------------------------------------------ memory */

static void test_aggregate(void **unused)
{
    (void) unused;
    uint8_t *block = jit_malloc(CPU, 64), expected[64];
    OK(block);
    memset(expected, 0xee, sizeof(expected));
    uint8_t fill = 0xee, bytes[] = { 9, 8, 7, 6, 5 };
    OK(jit_memset_async(CPU, block, 64, 1, &fill));
    AggregationEntry entries[] = {
        { 1, 0, (void *) (uintptr_t) 0x11 },
        { 2, 2, (void *) (uintptr_t) 0x2233 },
        { 4, 4, (void *) (uintptr_t) 0x44556677 },
        { 8, 8, (void *) (uintptr_t) UINT64_C(0x1122334455667788) },
        { -5, 17, bytes },
        { -8, 32, &entries[0].src }
    };
    expected[0] = 0x11;
    put_bits(expected + 2, 2, 0, 0x2233);
    put_bits(expected + 4, 4, 0, 0x44556677);
    put_bits(expected + 8, 8, 0, UINT64_C(0x1122334455667788));
    memcpy(expected + 17, bytes, 5);
    put_bits(expected + 32, 8, 0, 0x11);
    OK(jit_aggregate(CPU, block, entries, COUNT_OF(entries)));
    OK(jit_aggregate(CPU, block, NULL, 0));
    OK(jit_sync_thread());
    assert_memory_equal(fetch(block, 64), expected, 64);
    OK(jit_free(block));
}

static void test_memory(void **unused)
{
    (void) unused;
    const size_t sizes[] = { 1, 64, 1000, 1 << 20, 3000001 };
    for (size_t s = 0; s < COUNT_OF(sizes); ++s) {
        size_t n = sizes[s];
        uint8_t *a = jit_malloc(CPU, n), *b = jit_malloc(CPU, n), *host = malloc(n);
        OK(a && b);
        assert_int_equal((uintptr_t) a % 64, 0);
        assert_int_equal(jit_malloc_device(a), MALLOC_DEVICE);
        for (size_t i = 0; i < n; ++i)
            host[i] = (uint8_t) (i * 7);
        OK(jit_memcpy(CPU, a, host, n));
        assert_memory_equal(fetch(a, n), host, n);
        OK(jit_memcpy_async(CPU, b, a, n));
        uint8_t *moved = jit_malloc_migrate(b, CPU, 1),
                *copy = jit_malloc_migrate(a, CPU, 0);
        OK(moved && copy && jit_sync_thread());
        assert_ptr_not_equal(copy, a);
        assert_memory_equal(fetch(moved, n), host, n);
        assert_memory_equal(fetch(copy, n), host, n);
        OK(jit_free(a) && jit_free(moved) && jit_free(copy));
        free(host);
    }
    OK(jit_memcpy(CPU, NULL, NULL, 0));
    for (uint32_t size = 1; size <= 8; size *= 2) {
        uint64_t item = UINT64_C(0x8877665544332211), zero = 0;
        uint8_t *a = jit_malloc(CPU, 8 * 1001);
        OK(jit_memset_async(CPU, a, 1001, 8, &zero));
        OK(jit_memset_async(CPU, a, 1000, size, &item));
        item = 0; /* copied at once */
        OK(jit_sync_thread());
        const uint8_t *found = fetch(a, 8 * 1001);
        for (uint32_t i = 0; i < 1000; ++i)
            assert_int_equal(get_bits(found, size, i),
                             UINT64_C(0x8877665544332211) & ones_of(size * 8));
        assert_int_equal(get_bits(found, size, 1000), 0);
        OK(jit_free(a));
    }
    jit_sync_thread();
    jit_flush_malloc_cache();
    jit_malloc_clear_statistics();
    size_t before = jit_malloc_watermark(CPU);
    void *large = jit_malloc(CPU, 10 << 20);
    OK(large);
    assert_true(jit_malloc_watermark(CPU) >= before + (10 << 20));
    OK(jit_free(large));
    assert_true(jit_malloc_watermark(CPU) >= before + (10 << 20));
    if (!IS_FAR)
        assert_int_equal(jit_malloc_watermark(JitBackendCUDA), 0);
    jit_sync_thread();
    jit_malloc_clear_statistics();
    assert_true(jit_malloc_watermark(CPU) < before + (10 << 20));
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_literals), TEST(test_counter_and_undefined), TEST(test_memory_arrays),
        TEST(test_map_release), TEST(test_copy), TEST(test_sizes),
        TEST(test_rearrangement), TEST(test_opaque_width), TEST(test_read_write_data),
        TEST(test_str), TEST(test_aggregate), TEST(test_memory),
    };
    return cmocka_run_group_tests_name("arrays", tests, NULL, NULL);
}

int main(void)
{
    return run_engines(run);
}
