/*
 * test_memops.c -- gathers, scatters, scatter-reductions
 *
 * Results are compared with loops over plain arrays. Reductions of floats use values
 * whose sums and products are exact in any order, so that those, too, are compared bit
 * for bit, for every mode, several numbers of threads and sizes from 1 to a million.
 */
#include "test_util.h"

#include <stdatomic.h>

/* ----------------------------------------------------------------- gathers */

static void test_gather(void **unused)
{
    (void) unused;
    enum { N = 700, M = 1003 };
    for (size_t t = 0; t < COUNT_OF(test_types); ++t) {
        const TestType *type = &test_types[t];
        if (type->kind == 'p')
            continue;
        char *source = random_array(type->type, N);
        uint32_t *index = random_indices(M, N);
        uint8_t *mask = random_array(VarTypeBool, M);
        char *plain = calloc(M, type->size), *masked = calloc(M, type->size);
        for (uint32_t i = 0; i < M; ++i) {
            uint64_t bits = get_bits(source, type->size, index[i]);
            put_bits(plain, type->size, i, bits);
            put_bits(masked, type->size, i, mask[i] ? bits : 0);
        }
        uint32_t s = array_of(type->type, source, N),
                 m = array_of(VarTypeBool, mask, M);
        uint32_t u = u32_array(M, index), i = array_of(VarTypeInt32, index, M);
        uint32_t r[4] = { jit_var_gather(s, u, ALWAYS), jit_var_gather(s, i, ALWAYS),
                          jit_var_gather(s, u, m), jit_var_gather(s, i, m) };
        CHECK_BYTES(r[0], plain, M);
        CHECK_BYTES(r[1], plain, M);
        CHECK_BYTES(r[2], masked, M);
        CHECK_BYTES(r[3], masked, M);
        drop_all(r, 4);
        /* One entry, by one index. */
        uint32_t five = jit_var_u32(CPU, 5), one = jit_var_gather(s, five, ALWAYS);
        CHECK_BYTES(one, source + 5 * type->size, 1);
        DROP(five, one, s, m, u, i);
        free(source);
        free(index);
        free(mask);
        free(plain);
        free(masked);
    }
}

/* Sources that are not in memory. */
static void test_gather_sources(void **unused)
{
    (void) unused;
    uint32_t data[] = { 2, 0, 1, 2 };
    uint8_t flags[] = { 1, 1, 0, 1 };
    uint32_t index = u32_array(4, data), mask = array_of(VarTypeBool, flags, 4);
    uint32_t literal = literal_of(VarTypeUInt32, 7, 3);
    uint32_t a = jit_var_gather(literal, index, ALWAYS),
             b = jit_var_gather(literal, index, mask);
    CHECK_U32(a, 7, 7, 7, 7);
    CHECK_U32(b, 7, 7, 0, 7);
    uint32_t counter = jit_var_counter(CPU, 3), three = jit_var_u32(CPU, 3);
    uint32_t computed = jit_var_mul(counter, three),
             c = jit_var_gather(computed, index, mask);
    CHECK_U32(c, 6, 0, 0, 6);
    uint32_t undefined = jit_var_undefined(CPU, VarTypeUInt32, 3);
    uint32_t d = jit_var_gather(undefined, index, ALWAYS);
    OK(jit_var_eval(d));
    assert_int_equal(jit_var_size(d), 4);
    uint32_t off = literal_of(VarTypeBool, 0, 1),
             e = jit_var_gather(computed, index, off);
    CHECK_U32(e, 0, 0, 0, 0);
    DROP(index, mask, literal, a, b, counter, three, computed, c, undefined, d, off, e);
}

static void test_gather_packet(void **unused)
{
    (void) unused;
    enum { ROWS = 37, LANES = 150 };
    for (int packets = 0; packets < 2; ++packets) {
        jit_set_flag(JitFlagPacketOps, packets);
        for (size_t t = 0; t < COUNT_OF(test_types); ++t) {
            const TestType *type = &test_types[t];
            if (type->kind == 'p')
                continue;
            for (uint32_t n = 1; n <= 64; n *= 2) {
                char *source = random_array(type->type, ROWS * n);
                uint32_t *index = random_indices(LANES, ROWS), out[64];
                uint8_t *mask = random_array(VarTypeBool, LANES);
                uint32_t s = array_of(type->type, source, ROWS * n);
                uint32_t i = u32_array(LANES, index),
                         m = array_of(VarTypeBool, mask, LANES);
                OK(jit_var_gather_packet(n, s, i, n & 10 ? ALWAYS : m, out));
                for (uint32_t k = 0; k < n; ++k)
                    jit_var_schedule(out[k]);
                OK(jit_eval());
                for (uint32_t k = 0; k < n; ++k) {
                    char expected[LANES * 8];
                    for (uint32_t l = 0; l < LANES; ++l)
                        put_bits(expected, type->size, l,
                                 n & 10 || mask[l]
                                     ? get_bits(source, type->size, index[l] * n + k)
                                     : 0);
                    CHECK_BYTES(out[k], expected, LANES);
                }
                drop_all(out, n);
                DROP(s, i, m);
                free(source);
                free(index);
                free(mask);
            }
        }
    }
}

/* ---------------------------------------------------------------- scatters */

static void test_scatter(void **unused)
{
    (void) unused;
    enum { N = 500, LANES = 333 };
    for (size_t t = 0; t < COUNT_OF(test_types); ++t) {
        const TestType *type = &test_types[t];
        if (type->kind == 'p')
            continue;
        for (int masked = 0; masked < 2; ++masked) {
            char *target = random_array(type->type, N),
                 *value = random_array(type->type, LANES);
            uint32_t *index = permutation(N);
            uint8_t *mask = random_array(VarTypeBool, LANES);
            uint32_t x = array_of(type->type, target, N),
                     v = array_of(type->type, value, LANES);
            uint32_t i = array_of(masked ? VarTypeInt32 : VarTypeUInt32, index, LANES);
            uint32_t m = array_of(VarTypeBool, mask, LANES), before = x;
            advance(&x, jit_var_scatter(x, v, i, masked ? m : ALWAYS, ReduceOpIdentity,
                                        ReduceModeAuto));
            assert_int_equal(x, before); /* nobody else held it */
            assert_true(jit_var_is_dirty(x));
            assert_int_equal(jit_var_state(x), VarStateDirty);
            for (uint32_t l = 0; l < LANES; ++l)
                if (!masked || mask[l])
                    put_bits(target, type->size, index[l],
                             get_bits(value, type->size, l));
            CHECK_BYTES(x, target, N);
            assert_false(jit_var_is_dirty(x));
            DROP(x, v, i, m);
            free(target);
            free(value);
            free(index);
            free(mask);
        }
    }
}

/* Who must not be kept waiting can ask whether it would be. */
static void test_at_hand(void **unused)
{
    (void) unused;
    uint32_t one = jit_var_u32(CPU, 1), large = fill_u32(1 << 20, 7);
    uint32_t x = u32_array(3, (uint32_t[]){ 1, 2, 3 });
    OK(jit_sync_thread());
    assert_true(jit_var_at_hand(x));
    assert_true(jit_var_at_hand(one));
    assert_false(jit_var_at_hand(large));
    assert_false(jit_var_at_hand(0));
    assert_false(jit_eval_pending());

    uint32_t sum = jit_var_add(x, one);
    assert_false(jit_var_at_hand(sum));
    assert_true(jit_var_schedule(sum));
    assert_true(jit_eval_pending());
    OK(jit_eval());
    assert_false(jit_eval_pending());
    OK(jit_sync_thread());
    assert_true(jit_var_at_hand(sum));

    advance(&x, jit_var_scatter(x, one, one, ALWAYS, ReduceOpIdentity, ReduceModeAuto));
    assert_false(jit_var_at_hand(x));
    assert_true(jit_eval_pending());
    OK(jit_eval());
    CHECK_U32(x, 1, 1, 3);
    DROP(one, large, x, sum);
}

static void wait_for(void *flag)
{
    while (!atomic_load((atomic_int *) flag))
        usleep(100);
}

/* The same of what the thread has enqueued. */
static void test_sync_pending(void **unused)
{
    (void) unused;
    OK(jit_sync_thread());
    assert_false(jit_sync_pending());
    atomic_int flag = 0;
    OK(jit_enqueue_host_func(CPU, wait_for, &flag));
    assert_true(jit_sync_pending());
    atomic_store(&flag, 1);
    OK(jit_sync_thread());
    assert_false(jit_sync_pending());

    uint32_t x = fill_u32(1000, 3), y = jit_var_add(x, x), sum;
    OK(sum = jit_var_reduce(y, ReduceOpAdd));
    assert_true(jit_sync_pending()); /* what is traced is part of it */
    OK(jit_sync_thread());
    assert_false(jit_sync_pending());
    DROP(x, y, sum);
}

/* Who must not be kept waiting can have writes evaluated beforehand. */
static void test_pending_writes(void **unused)
{
    (void) unused;
    uint32_t before = jit_pending_writes();
    uint32_t x = u32_array(3, (uint32_t[]){ 1, 2, 3 }), one = jit_var_u32(CPU, 1);
    uint32_t nine = jit_var_u32(CPU, 9);
    for (int k = 0; k < 2; ++k)
        advance(&x, jit_var_scatter(x, nine, one, ALWAYS, ReduceOpIdentity,
                                    ReduceModeAuto));
    assert_true(jit_var_is_dirty(x));
    assert_int_equal(jit_pending_writes(), before + 2);
    for (int k = 0; k < 2; ++k) { /* the second time there is nothing to do */
        OK(jit_var_eval_writes(x));
        assert_false(jit_var_is_dirty(x));
        assert_int_equal(jit_pending_writes(), before);
    }
    CHECK_U32(x, 1, 9, 3);
    assert_false(jit_var_eval_writes(0));
    assert_int_equal(jit_error(), JIT_ERROR_ARGUMENT);
    DROP(x, one, nine);
}

static void test_scatter_packet(void **unused)
{
    (void) unused;
    enum { ROWS = 100, LANES = 61 };
    for (int packets = 0; packets < 2; ++packets) {
        jit_set_flag(JitFlagPacketOps, packets);
        for (size_t t = 0; t < COUNT_OF(test_types); ++t) {
            const TestType *type = &test_types[t];
            if (type->kind == 'p')
                continue;
            for (uint32_t n = 1; n <= 64; n *= 2) {
                char *target = random_array(type->type, ROWS * n);
                uint32_t *index = permutation(ROWS), values[64];
                uint8_t *mask = random_array(VarTypeBool, LANES);
                uint32_t x = array_of(type->type, target, ROWS * n);
                uint32_t i = u32_array(LANES, index),
                         m = array_of(VarTypeBool, mask, LANES);
                for (uint32_t k = 0; k < n; ++k) {
                    char *value = random_array(type->type, LANES);
                    values[k] = array_of(type->type, value, LANES);
                    for (uint32_t l = 0; l < LANES; ++l)
                        if (mask[l])
                            put_bits(target, type->size, index[l] * n + k,
                                     get_bits(value, type->size, l));
                    free(value);
                }
                advance(&x, jit_var_scatter_packet(n, x, values, i, m, ReduceOpIdentity,
                                                   ReduceModeAuto));
                CHECK_BYTES(x, target, ROWS * n);
                drop_all(values, n);
                DROP(x, i, m);
                free(target);
                free(index);
                free(mask);
            }
        }
    }
}

/* Sums through packets, with conflicts. */
static void test_scatter_packet_add(void **unused)
{
    (void) unused;
    enum { ROWS = 7, LANES = 5000, N = 4 };
    for (int packets = 0; packets < 2; ++packets) {
        jit_set_flag(JitFlagPacketOps, packets);
        for (int mode = ReduceModeAuto; mode <= ReduceModeExpand; ++mode) {
            if (mode == ReduceModeNoConflicts)
                continue;
            float expected[ROWS * N] = { 0 }, one[ROWS * N] = { 0 };
            uint32_t *index = random_indices(LANES, ROWS), values[N];
            uint32_t i = u32_array(LANES, index);
            uint32_t x = array_of(VarTypeFloat32, one, ROWS * N);
            for (uint32_t k = 0; k < N; ++k)
                values[k] = jit_var_f32(CPU, (float) (k + 1));
            for (uint32_t l = 0; l < LANES; ++l)
                for (uint32_t k = 0; k < N; ++k)
                    expected[index[l] * N + k] += (float) (k + 1);
            advance(&x, jit_var_scatter_packet(N, x, values, i, ALWAYS, ReduceOpAdd,
                                               (ReduceMode) mode));
            CHECK_BYTES(x, expected, ROWS * N);
            drop_all(values, N);
            DROP(x, i);
            free(index);
        }
    }
}

/* ------------------------------------------------------- scatter-reductions */

/* Numbers as double (exact for all that occurs here) or as 64 bits. */
static uint64_t number(VarType type, int value)
{
    const TestType *t = type_of(type);
    if (t->kind != 'f')
        return (uint64_t) (int64_t) value & ones_of(t->size * 8);
    uint64_t bits = 0;
    if (type == VarTypeFloat64) {
        double v = value;
        memcpy(&bits, &v, 8);
    } else if (type == VarTypeFloat32) {
        float v = (float) value;
        memcpy(&bits, &v, 4);
    } else { /* small integers as halves */
        unsigned m = (unsigned) abs(value);
        if (m) {
            unsigned e = 0;
            while (m >> (e + 1))
                e++;
            bits = (e + 15) << 10 | ((m << 10 >> e) & 1023);
        }
        bits |= value < 0 ? 0x8000 : 0;
    }
    return bits;
}

/* a op b on small integers of this type. Bits of floats are those of number(). */
static int combine(ReduceOp op, int a, int b)
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
        return a & b;
    case ReduceOpOr:
        return a | b;
    default:
        return b;
    }
}

static int small_value(ReduceOp op, char kind)
{
    uint32_t r = (uint32_t) (random_bits() >> 40);
    switch (op) {
    case ReduceOpAdd:
        return kind == 'u' ? (int) (r % 2) : (int) (r % 3) - 1;
    case ReduceOpMul:
        return kind == 'u' ? (int) (r % 64 == 0) + 1 : (r % 2 ? 1 : -1);
    case ReduceOpMin:
    case ReduceOpMax:
        return kind == 'u' ? (int) (r % 128) : (int) (r % 200) - 100;
    default:
        return kind == 'b' ? (int) (r % 16 != 0) ^ (op == ReduceOpOr) : (int) (r & 127);
    }
}

/* One reduction of 'lanes' values into 'bins'. Distinct targets for modes that want
 * them. */
static void check_reduce(VarType type, ReduceOp op, ReduceMode mode, uint32_t lanes)
{
    const TestType *t = type_of(type);
    bool distinct = mode == ReduceModeNoConflicts || mode == ReduceModePermute;
    uint32_t bins = distinct ? lanes : lanes / 500 + 3;
    int *sums = malloc(bins * sizeof(int));
    uint32_t *index = distinct ? permutation(lanes) : random_indices(lanes, bins);
    char *start = malloc(bins * 8), *value = malloc((size_t) lanes * 8);
    uint8_t *mask = malloc(lanes);
    bool masked = mode != ReduceModePermute && lanes % 2;
    for (uint32_t i = 0; i < bins; ++i) {
        sums[i] = small_value(op, t->kind);
        put_bits(start, t->size, i, number(type, sums[i]));
    }
    for (uint32_t l = 0; l < lanes; ++l) {
        int v = small_value(op, t->kind);
        put_bits(value, t->size, l, number(type, v));
        mask[l] = random_bits() % 4 != 0;
        if (masked && !mask[l])
            continue;
        int *sum = &sums[index[l]];
        *sum = combine(op, *sum, v);
        if (op == ReduceOpMul && t->kind != 'f') /* stay within the type as it wraps */
            *sum = (int) ((unsigned) *sum & 0xff) | (*sum < 0 ? ~0xff : 0);
    }
    uint32_t x = array_of(type, start, bins), v = array_of(type, value, lanes);
    uint32_t i = u32_array(lanes, index), m = array_of(VarTypeBool, mask, lanes);
    uint32_t written = jit_var_scatter(x, v, i, masked ? m : ALWAYS, op, mode);
    advance(&x, written);
    void *data;
    uint32_t stored = data_of(x, &data);
    OK(stored);
    /* Products of unsigned numbers are powers of two, known modulo 256 only. */
    uint64_t relevant = op == ReduceOpMul && t->kind == 'u' ? 255 : UINT64_MAX;
    for (uint32_t b = 0; b < bins; ++b) {
        uint64_t found = get_bits(data, t->size, b), expected = number(type, sums[b]);
        if ((found & relevant) != (expected & relevant))
            fail_msg(
                "%s, reduction %d, mode %d, %u lanes, %u threads: bin %u is 0x%llx, "
                "expected 0x%llx",
                t->name, (int) op, (int) mode, lanes, jit_llvm_thread_count(), b,
                (unsigned long long) found, (unsigned long long) expected);
    }
    DROP(stored, x, v, i, m);
    free(sums);
    free(index);
    free(start);
    free(value);
    free(mask);
}

/* Plain writes are defined for masks, too. */
static bool writable(const TestType *t, ReduceOp op)
{
    return op == ReduceOpIdentity ? t->kind != 'p' : reducible(t, op);
}

static void test_reduce_all(void **unused)
{
    (void) unused;
    const uint32_t sizes[] = { 1, 17, 1000, 40001 };
    const uint32_t threads[] = { 1, 2, 5 };
    uint32_t usual = jit_llvm_thread_count();
    for (size_t k = 0; k < COUNT_OF(threads); ++k) {
        OK(jit_llvm_set_thread_count(threads[k]));
        for (size_t t = 0; t < COUNT_OF(test_types); ++t)
            for (int op = ReduceOpAdd; op < ReduceOpCount; ++op)
                for (int mode = 0; mode < ReduceModeCount; ++mode)
                    for (size_t s = 0; s < COUNT_OF(sizes); ++s)
                        if (writable(&test_types[t], (ReduceOp) op))
                            check_reduce(test_types[t].type, (ReduceOp) op,
                                         (ReduceMode) mode, sizes[s]);
    }
    OK(jit_llvm_set_thread_count(usual));
}

static void test_reduce_large(void **unused)
{
    (void) unused;
    const VarType types[] = { VarTypeFloat32, VarTypeUInt32, VarTypeFloat16,
                              VarTypeInt64 };
    OK(jit_llvm_set_thread_count(5));
    for (size_t t = 0; t < COUNT_OF(types); ++t)
        for (int mode = 0; mode < ReduceModeCount; ++mode)
            check_reduce(types[t], ReduceOpAdd, (ReduceMode) mode, 1000000);
    OK(jit_llvm_set_thread_count(2));
}

/* All lanes meet in one entry, several times in a row, between other uses of the
 * target. */
static void test_reduce_one_bin(void **unused)
{
    (void) unused;
    enum { LANES = 30000 };
    for (int mode = 0; mode < ReduceModeCount; ++mode) {
        if (mode == ReduceModeNoConflicts || mode == ReduceModePermute)
            continue;
        uint32_t x = fill_u32(1, 5), zero = jit_var_u32(CPU, 0);
        uint32_t value = jit_var_counter(CPU, LANES);
        uint32_t expected = 5, sum = LANES / 2 * (LANES - 1);
        for (int i = 0; i < 4; ++i) {
            advance(&x, jit_var_scatter(x, value, zero, ALWAYS, ReduceOpAdd,
                                        (ReduceMode) mode));
            expected += sum;
            if (i == 1) { /* with another operation in between */
                uint32_t one = jit_var_u32(CPU, 3);
                advance(&x, jit_var_scatter(x, one, zero, ALWAYS, ReduceOpMin,
                                            (ReduceMode) mode));
                expected = 3;
                jit_var_dec_ref(one);
            }
            if (i == 2)
                CHECK_U32(x, expected);
        }
        CHECK_U32(x, expected);
        DROP(x, zero, value);
    }
}

static void test_can_reduce(void **unused)
{
    (void) unused;
    for (size_t t = 0; t < COUNT_OF(test_types); ++t)
        for (int op = 0; op < ReduceOpCount; ++op) {
            VarType type = test_types[t].type;
            bool can = jit_can_scatter_reduce(CPU, type, (ReduceOp) op);
            assert_int_equal(can, writable(&test_types[t], (ReduceOp) op));
            if (can || test_types[t].kind == 'p')
                continue;
            uint64_t one = 1;
            uint32_t x = jit_var_literal(CPU, type, &one, 4, 1),
                     v = literal_of(type, 1, 1);
            uint32_t i = jit_var_u32(CPU, 0);
            assert_int_equal(
                jit_var_scatter(x, v, i, ALWAYS, (ReduceOp) op, ReduceModeAuto), 0);
            CHECK_ERROR(JIT_ERROR_UNSUPPORTED, "jit_var_scatter()", test_types[t].name);
            DROP(x, v, i);
        }
    if (!IS_FAR) /* which stands in for it */
        assert_false(
            jit_can_scatter_reduce(JitBackendCUDA, VarTypeFloat32, ReduceOpAdd));
    assert_false(jit_can_scatter_reduce(CPU, VarTypeVoid, ReduceOpAdd));
    assert_false(jit_can_scatter_reduce(CPU, VarTypeFloat32, (ReduceOp) 99));
}

/* ------------------------------------------------------------ copy on write */

static void test_copy_on_write(void **unused)
{
    (void) unused;
    uint32_t i = u32_array(2, (uint32_t[]){ 1, 3 }),
             v = u32_array(2, (uint32_t[]){ 10, 30 });
    uint32_t x = u32_array(4, (uint32_t[]){ 0, 1, 2, 3 });

    /* Shared: the other holder keeps the old content. */
    jit_var_inc_ref(x);
    uint32_t y = jit_var_scatter(x, v, i, ALWAYS, ReduceOpIdentity, ReduceModeAuto);
    OK(y);
    assert_int_not_equal(x, y);
    assert_int_equal(jit_var_ref(x), 2);
    assert_false(jit_var_is_dirty(x));
    CHECK_U32(x, 0, 1, 2, 3);
    CHECK_U32(y, 0, 10, 2, 30);
    jit_var_dec_ref(x);

    /* A gather or an expression that has not run keeps the old content, too. */
    uint32_t g = jit_var_gather(x, i, ALWAYS), e = jit_var_add(x, x);
    uint32_t z = jit_var_scatter(x, v, i, ALWAYS, ReduceOpAdd, ReduceModeAuto);
    assert_int_not_equal(x, z);
    CHECK_U32(z, 0, 11, 2, 33);
    CHECK_U32(g, 1, 3);
    CHECK_U32(e, 0, 2, 4, 6);
    DROP(g, e, z);

    /* Evaluated ones no longer do. */
    z = jit_var_scatter(x, v, i, ALWAYS, ReduceOpIdentity, ReduceModeAuto);
    assert_int_equal(x, z);
    CHECK_U32(z, 0, 10, 2, 30);
    DROP(z, x, y, i, v);
}

static void test_write_targets(void **unused)
{
    (void) unused;
    uint32_t i = u32_array(2, (uint32_t[]){ 1, 3 }),
             v = u32_array(2, (uint32_t[]){ 10, 30 });

    uint32_t x = literal_of(VarTypeUInt32, 7, 4),
             other = literal_of(VarTypeUInt32, 7, 4);
    assert_int_equal(x, other); /* shared by value numbering */
    advance(&x, jit_var_scatter(x, v, i, ALWAYS, ReduceOpAdd, ReduceModeAuto));
    CHECK_U32(x, 7, 17, 7, 37);
    assert_int_equal(jit_var_state(other), VarStateLiteral);
    CHECK_U32(other, 7, 7, 7, 7);

    uint32_t sole = literal_of(VarTypeUInt32, 9, 4);
    advance(&sole,
            jit_var_scatter(sole, v, i, ALWAYS, ReduceOpIdentity, ReduceModeAuto));
    CHECK_U32(sole, 9, 10, 9, 30);
    /* The literal that a written variable once was is not found again. */
    uint32_t again = literal_of(VarTypeUInt32, 9, 4);
    CHECK_U32(again, 9, 9, 9, 9);

    uint32_t u = jit_var_undefined(CPU, VarTypeUInt32, 2);
    uint32_t all = jit_var_counter(CPU, 2);
    advance(&u,
            jit_var_scatter(u, v, all, ALWAYS, ReduceOpIdentity, ReduceModePermute));
    CHECK_U32(u, 10, 30);

    uint32_t c = jit_var_counter(CPU, 4), one = jit_var_u32(CPU, 1),
             d = jit_var_add(c, one);
    advance(&d, jit_var_scatter(d, v, i, ALWAYS, ReduceOpMax, ReduceModeAuto));
    CHECK_U32(d, 1, 10, 3, 30);
    CHECK_U32(c, 0, 1, 2, 3);
    DROP(i, v, x, other, sole, again, u, all, c, one, d);
}

static void test_chained(void **unused)
{
    (void) unused;
    enum { N = 64 };
    uint32_t expected[N] = { 0 };
    uint32_t x = fill_u32(N, 0), c = jit_var_counter(CPU, N);
    /* Many writes of different sizes and kinds without an evaluation in between. */
    for (uint32_t k = 0; k < 12; ++k) {
        uint32_t lanes = k % 3 == 0 ? N : k % 3 == 1 ? 10 : 1;
        uint32_t index = lanes == 1 ? jit_var_u32(CPU, 3) : jit_var_counter(CPU, lanes);
        uint32_t value = jit_var_u32(CPU, k + 1);
        bool add = k % 2 != 0;
        advance(&x,
                jit_var_scatter(x, value, index, ALWAYS,
                                add ? ReduceOpAdd : ReduceOpIdentity, ReduceModeAuto));
        for (uint32_t l = 0; l < lanes; ++l) {
            uint32_t *entry = &expected[lanes == 1 ? 3 : l];
            *entry = add ? *entry + k + 1 : k + 1;
        }
        DROP(index, value);
    }
    CHECK_BYTES(x, expected, N);

    /* Reads see the writes before them, and not those after. */
    uint32_t ten = jit_var_u32(CPU, 10), twenty = jit_var_u32(CPU, 20);
    advance(&x, jit_var_scatter(x, ten, c, ALWAYS, ReduceOpIdentity, ReduceModeAuto));
    uint32_t before = jit_var_gather(x, c, ALWAYS);
    advance(&x,
            jit_var_scatter(x, twenty, c, ALWAYS, ReduceOpIdentity, ReduceModeAuto));
    uint32_t after = jit_var_gather(x, c, ALWAYS), value = 0;
    OK(jit_var_read(x, 7, &value));
    assert_int_equal(value, 20);
    OK(jit_var_read(before, 7, &value));
    assert_int_equal(value, 10);
    OK(jit_var_read(after, N - 1, &value));
    assert_int_equal(value, 20);
    DROP(x, c, ten, twenty, before, after);
}

/* The target is also the value, the index or the mask. */
static void test_into_itself(void **unused)
{
    (void) unused;
    enum { N = 50000 };
    uint32_t *data = malloc(N * sizeof(uint32_t)),
             *expected = malloc(N * sizeof(uint32_t));
    for (uint32_t l = 0; l < N; ++l)
        data[l] = l * 3;
    uint32_t last = jit_var_u32(CPU, N - 1), c = jit_var_counter(CPU, N);
    uint32_t reverse = jit_var_sub(last, c);
    uint32_t x = u32_array(N, data);
    advance(&x,
            jit_var_scatter(x, x, reverse, ALWAYS, ReduceOpIdentity, ReduceModeAuto));
    for (uint32_t l = 0; l < N; ++l)
        expected[l] = data[N - 1 - l];
    CHECK_BYTES(x, expected, N);

    /* x[perm[i]] = i inverts a permutation, here in place. */
    uint32_t *perm = permutation(N);
    uint32_t p = u32_array(N, perm);
    advance(&p, jit_var_scatter(p, c, p, ALWAYS, ReduceOpIdentity, ReduceModePermute));
    for (uint32_t l = 0; l < N; ++l)
        expected[perm[l]] = l;
    CHECK_BYTES(p, expected, N);

    uint8_t *mask = random_array(VarTypeBool, N), *flipped = malloc(N);
    uint32_t m = array_of(VarTypeBool, mask, N), off = literal_of(VarTypeBool, 0, 1);
    advance(&m, jit_var_scatter(m, off, reverse, m, ReduceOpIdentity, ReduceModeAuto));
    for (uint32_t l = 0; l < N; ++l)
        flipped[l] = mask[l] && !mask[N - 1 - l];
    CHECK_BYTES(m, flipped, N);

    uint32_t y = u32_array(N, data), old = jit_var_scatter_exch(&y, y, reverse, ALWAYS);
    OK(old);
    jit_var_schedule(old);
    OK(jit_eval());
    for (uint32_t l = 0; l < N; ++l)
        expected[l] = data[N - 1 - l];
    CHECK_BYTES(y, expected, N);
    CHECK_BYTES(old, expected, N);

    /* A packet: z[2i] = z[i], z[2i + 1] = z[i] for the first half of the entries. */
    uint32_t z = u32_array(N, data), half = jit_var_counter(CPU, N / 2);
    uint32_t first = jit_var_shrink(z, N / 2), items[] = { first, first };
    jit_var_dec_ref(z);
    z = jit_var_inc_ref(first);
    uint32_t wide = jit_var_tile(first, 2);
    OK(jit_var_eval(wide));
    advance(&wide, jit_var_scatter_packet(2, wide, items, half, ALWAYS,
                                          ReduceOpIdentity, ReduceModeAuto));
    for (uint32_t l = 0; l < N; ++l)
        expected[l] = data[l / 2];
    CHECK_BYTES(wide, expected, N);
    DROP(last, c, reverse, x, p, m, off, y, old, z, half, first, wide);
    free(data);
    free(expected);
    free(perm);
    free(mask);
    free(flipped);
}

/* Later writes win, whichever lanes they come from; what cannot collide stays in one
 * kernel. */
static void test_order_of_writes(void **unused)
{
    (void) unused;
    enum { N = 60000 };
    uint32_t c = jit_var_counter(CPU, N), half = jit_var_u32(CPU, N / 2);
    uint32_t n = jit_var_u32(CPU, N), moved = jit_var_add(c, half);
    uint32_t rotated = jit_var_mod(moved, n), one = jit_var_u32(CPU, 1);
    uint32_t two = jit_var_u32(CPU, 2), x = fill_u32(N, 0), *expected;
    expected = malloc(3 * N * sizeof(uint32_t));
    advance(&x, jit_var_scatter(x, one, c, ALWAYS, ReduceOpIdentity, ReduceModeAuto));
    advance(&x,
            jit_var_scatter(x, two, rotated, ALWAYS, ReduceOpIdentity, ReduceModeAuto));
    advance(&x, jit_var_scatter(x, two, c, ALWAYS, ReduceOpAdd, ReduceModeAuto));
    advance(&x, jit_var_scatter(x, c, rotated, ALWAYS, ReduceOpMax, ReduceModeAuto));
    for (uint32_t l = 0; l < N; ++l)
        expected[(l + N / 2) % N] = l > 4 ? l : 4;
    CHECK_BYTES(x, expected, N);

    /* Sums commute, components of vectors do not meet: one launch for all six writes.
     */
    uint32_t three = jit_var_u32(CPU, 3), base = jit_var_mul(rotated, three);
    uint32_t sums = fill_u32(N, 0), vectors = fill_u32(3 * N, 0);
    size_t before, after;
    jit_launch_stats(&before, NULL, NULL, NULL);
    for (uint32_t k = 0; k < 3; ++k) {
        uint32_t shift = jit_var_u32(CPU, k), at = jit_var_add(base, shift);
        uint32_t value = jit_var_add(c, shift);
        advance(&vectors, jit_var_scatter(vectors, value, at, ALWAYS, ReduceOpIdentity,
                                          ReduceModeAuto));
        advance(&sums, jit_var_scatter(sums, value, k == 1 ? c : rotated, ALWAYS,
                                       ReduceOpAdd, ReduceModeAuto));
        for (uint32_t l = 0; l < N; ++l)
            expected[3 * ((l + N / 2) % N) + k] = l + k;
        DROP(shift, at, value);
    }
    OK(jit_eval());
    jit_launch_stats(&after, NULL, NULL, NULL);
    assert_int_equal(after - before, 1);
    CHECK_BYTES(vectors, expected, 3 * N);
    for (uint32_t l = 0; l < N; ++l)
        expected[l] = 0;
    for (uint32_t k = 0; k < 3; ++k)
        for (uint32_t l = 0; l < N; ++l)
            expected[k == 1 ? l : (l + N / 2) % N] += l + k;
    CHECK_BYTES(sums, expected, N);
    DROP(c, half, n, moved, rotated, one, two, x, three, base, sums, vectors);
    free(expected);
}

/* Writes to several arrays in one evaluation; one reads what another wrote. */
static void test_two_targets(void **unused)
{
    (void) unused;
    uint32_t a = fill_u32(5, 1), b = fill_u32(5, 2), c = jit_var_counter(CPU, 5);
    advance(&a, jit_var_scatter(a, c, c, ALWAYS, ReduceOpAdd, ReduceModeAuto));
    uint32_t sum = jit_var_add(a, c); /* 1 3 5 7 9 */
    advance(&b, jit_var_scatter(b, sum, c, ALWAYS, ReduceOpAdd, ReduceModeAuto));
    advance(&a, jit_var_scatter(a, b, c, ALWAYS, ReduceOpAdd, ReduceModeAuto));
    CHECK_U32(a, 4, 7, 10, 13, 16);
    CHECK_U32(b, 3, 5, 7, 9, 11);
    CHECK_U32(sum, 1, 3, 5, 7, 9);
    DROP(a, b, c, sum);

    /* A write nobody can see any more is no harm. */
    uint32_t d = fill_u32(5, 1), i = jit_var_u32(CPU, 2);
    advance(&d, jit_var_scatter(d, i, i, ALWAYS, ReduceOpAdd, ReduceModeAuto));
    DROP(d, i);
    OK(jit_eval());
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_gather),          TEST(test_gather_sources),
        TEST(test_gather_packet),   TEST(test_scatter),
        TEST(test_pending_writes),
        TEST(test_at_hand), TEST(test_sync_pending),
        TEST(test_scatter_packet),  TEST(test_scatter_packet_add),
        TEST(test_reduce_one_bin),  TEST(test_can_reduce),
        TEST(test_copy_on_write),   TEST(test_write_targets),
        TEST(test_chained),         TEST(test_into_itself),
        TEST(test_order_of_writes), TEST(test_two_targets),
        TEST(test_reduce_all),      TEST(test_reduce_large),
    };
    return cmocka_run_group_tests_name("memops", tests, NULL, NULL);
}

int main(void)
{
    return run_engines(run);
}
