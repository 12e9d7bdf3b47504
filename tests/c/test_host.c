/*
 * test_host.c -- operations on host memory
 *
 * Every operation and cast of every type is compared with ops_reference.h and, bit for
 * bit, with what each engine computes for arrays; reductions and scans with those of
 * variables. What needs no initialisation runs first, in a process that never calls
 * jit_init().
 */
#include "ops_reference.h"

enum { MOST = 1200, REDUCED = 200000 };

/* ------------------------------------------------------ without jit_init() */

static void test_values(void **unused)
{
    (void) unused;
    assert_false(jit_has_backend(CPU));
    float a = 1.5f, b[] = { 2, -3, 0.25f }, sum[3];
    JitHostOperand ab[] = { { &a, 0 }, { b, 1 } };
    OK(jit_host_op(JitOpAdd, VarTypeFloat32, 3, ab, sum));
    assert_true(sum[0] == 3.5f && sum[1] == -1.5f && sum[2] == 1.75f);

    int8_t i = -100, j = 100;
    int16_t product;
    JitHostOperand ij[] = { { &i, 0 }, { &j, 0 } };
    OK(jit_host_op(JitOpMulWide, VarTypeInt8, 1, ij, &product));
    assert_int_equal(product, -10000);
    OK(jit_host_op(JitOpSub, VarTypeInt8, 1, ij, &i)); /* in place; wraps */
    assert_int_equal(i, 56);

    uint8_t mask[] = { 1, 0 }, less[2];
    double x[] = { 1, 2 }, y = 7, chosen[2];
    JitHostOperand mxy[] = { { mask, 1 }, { x, 1 }, { &y, 0 } };
    OK(jit_host_op(JitOpSelect, VarTypeFloat64, 2, mxy, chosen));
    assert_true(chosen[0] == 1 && chosen[1] == 7);
    OK(jit_host_op(JitOpLt, VarTypeFloat64, 2, (JitHostOperand[]){ { x, 1 }, { x, 0 } },
                   less));
    assert_true(less[0] == 0 && less[1] == 0);
    OK(jit_host_op(JitOpNot, VarTypeBool, 2, (JitHostOperand[]){ { mask, 1 } }, less));
    assert_true(less[0] == 0 && less[1] == 1);

    uint16_t half = 0x3c01, third; /* 1 + 2^-10 */
    OK(jit_host_op(JitOpMul, VarTypeFloat16, 1,
                   (JitHostOperand[]){ { &half, 1 }, { &half, 1 } }, &third));
    assert_int_equal(third, 0x3c02); /* 1 + 2^-9 + 2^-20, rounded */
}

static void test_conversions(void **unused)
{
    (void) unused;
    assert_false(jit_has_backend(CPU));
    float f[] = { 3.99f, -1e20f, NAN };
    int32_t i[3];
    uint32_t bits[3];
    uint16_t half[3];
    OK(jit_host_cast(VarTypeFloat32, VarTypeInt32, 0, 3, f, i));
    assert_true(i[0] == 3 && i[1] == INT32_MIN && i[2] == 0);
    OK(jit_host_cast(VarTypeFloat32, VarTypeUInt32, 1, 3, f, bits));
    assert_memory_equal(bits, f, sizeof(f));
    OK(jit_host_cast(VarTypeFloat32, VarTypeFloat16, 0, 2, f, half));
    assert_true(half[0] == 0x43fb && half[1] == 0xfc00);
    OK(jit_host_cast(VarTypeFloat32, VarTypeFloat32, 0, 0, NULL, NULL));
}

static void test_folds(void **unused)
{
    (void) unused;
    assert_false(jit_has_backend(CPU));
    int32_t i[] = { 3, -1, 4, 1, -5, 9 }, out[6], one;
    OK(jit_host_reduce(ReduceOpAdd, VarTypeInt32, 6, i, &one));
    assert_int_equal(one, 11);
    OK(jit_host_reduce(ReduceOpMin, VarTypeInt32, 6, i, &one));
    assert_int_equal(one, -5);
    OK(jit_host_prefix_reduce(ReduceOpAdd, VarTypeInt32, 6, 3, 0, 0, i, out));
    assert_memory_equal(out, ((int32_t[]){ 3, 2, 6, 1, -4, 5 }), sizeof(out));
    OK(jit_host_prefix_reduce(ReduceOpAdd, VarTypeInt32, 6, 6, 1, 1, i, i));
    assert_memory_equal(i, ((int32_t[]){ 8, 9, 5, 4, 9, 0 }), sizeof(out));
    OK(jit_host_prefix_reduce(ReduceOpAdd, VarTypeInt32, 0, 0, 0, 0, NULL, NULL));
    uint8_t mask[] = { 1, 1, 0 }, all, any;
    OK(jit_host_reduce(ReduceOpAnd, VarTypeBool, 3, mask, &all));
    OK(jit_host_reduce(ReduceOpOr, VarTypeBool, 3, mask, &any));
    assert_true(all == 0 && any == 1);
}

/* Nothing is written, and the message says what is wrong. */
static void test_rejected(void **unused)
{
    (void) unused;
    uint32_t a = 5, out = 77;
    JitHostOperand args[] = { { &a, 1 }, { &a, 1 }, { &a, 1 } };
    assert_false(jit_host_op(JitOpSqrt, VarTypeUInt32, 1, args, &out));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_host_op()", "sqrt", "uint32");
    assert_false(jit_host_op(JitOpCount, VarTypeUInt32, 1, args, &out));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_host_op()", "op is");
    assert_false(jit_host_op(JitOpAdd, VarTypeBaseInt, 1, args, &out));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_host_op()", "type is 2");
    assert_false(jit_host_op(JitOpAdd, VarTypeUInt32, 1, NULL, &out));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "operands is NULL");
    assert_false(jit_host_op(JitOpAdd, VarTypeUInt32, 1, args, NULL));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "result is NULL");
    args[1].step = 4;
    assert_false(jit_host_op(JitOpAdd, VarTypeUInt32, 1, args, &out));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "operand 2", "4", "0 or 1");
    args[1] = (JitHostOperand){ NULL, 0 };
    assert_false(jit_host_op(JitOpAdd, VarTypeUInt32, 1, args, &out));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "operand 2 is NULL");
    assert_false(jit_host_cast(VarTypeUInt32, VarTypeFloat64, 1, 1, &a, &out));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_host_cast()", "uint32", "float64", "bytes");
    assert_false(jit_host_cast(VarTypeUInt32, VarTypePointer, 0, 1, &a, &out));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_host_cast()", "pointer");
    assert_false(jit_host_cast(VarTypeVoid, VarTypeUInt32, 0, 1, &a, &out));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_host_cast()", "type is 0");
    assert_false(jit_host_cast(VarTypeUInt32, VarTypeUInt32, 0, 1, NULL, &out));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "src is NULL");
    assert_false(jit_host_reduce(ReduceOpAnd, VarTypeFloat32, 1, &a, &out));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_host_reduce()", "float32");
    assert_false(jit_host_reduce(ReduceOpIdentity, VarTypeUInt32, 1, &a, &out));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_host_reduce()", "reduction 0");
    assert_false(jit_host_reduce(ReduceOpAdd, VarTypeUInt32, 0, &a, &out));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_host_reduce()", "n is 0");
    assert_false(jit_host_reduce(ReduceOpAdd, VarTypeUInt32, 1, &a, NULL));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "dst is NULL");
    assert_false(
        jit_host_prefix_reduce(ReduceOpAdd, VarTypeUInt32, 4, 3, 0, 0, &a, &out));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_host_prefix_reduce()", "block size is 3", "4");
    assert_int_equal(out, 77);
}

/* --------------------------------------------------------- beside variables */

/* Bits of all kinds: small and special ones too. */
static void *values(VarType type, size_t size)
{
    const TestType *t = type_of(type);
    char *data = random_array(type, size);
    for (size_t i = 0; t->kind != 'b' && i < size; i += 1 + random_bits() % 3) {
        uint64_t bits = random_bits() % 5 - 2;
        if (t->kind == 'f' && i % 4)
            bits = float_bits(type, (double) (int32_t) random_bits() / 65536.0);
        put_bits(data, t->size, i, bits);
    }
    return data;
}

static void compare(const char *what, VarType type, size_t i, bool exact,
                    uint64_t found, uint64_t expected)
{
    if (found != expected && (exact || !is_nan(type, found) || !is_nan(type, expected)))
        fail_msg("%s, entry %zu of %s is 0x%llx, expected 0x%llx", what, i,
                 type_of(type)->name, (unsigned long long) found,
                 (unsigned long long) expected);
}

/* Operand k has all entries where bit k of 'arrays' is set, else its first entry. */
static void check_op(JitOp op, VarType type, size_t n, unsigned arrays,
                     const void *const *data)
{
    VarType to = result_type(op, type);
    uint32_t entry = type_of(type)->size, result_entry = type_of(to)->size, vars[3];
    JitHostOperand operands[3];
    char what[100], *out = malloc(n * result_entry);
    snprintf(what, sizeof(what), "op %d of %s, %zu entries, arrays %u", (int) op,
             type_of(type)->name, n, arrays);
    for (unsigned k = 0; k < 3; ++k) {
        bool mask = op == JitOpSelect && k == 0;
        const void *from = op == JitOpSelect ? data[k ? k - 1 : 3] : data[k];
        operands[k] = (JitHostOperand){ from, arrays >> k & 1 };
        vars[k] = array_of(mask ? VarTypeBool : type, from, arrays >> k & 1 ? n : 1);
    }
    OK(jit_host_op(op, type, n, operands, out));
    uint32_t traced = jit_var_op(op, vars);
    OK(traced);
    void *kernel;
    uint32_t stored = data_of(traced, &kernel);
    OK(stored);
    bool uniform = jit_var_size(stored) == 1;
    for (size_t i = 0; i < n; ++i) {
        Args x = { 0 };
        uint64_t *const fields[] = { &x.a, &x.b, &x.c }, expected;
        for (unsigned k = 0; k < 3; ++k) {
            size_t at = arrays >> k & 1 ? i : 0;
            if (op != JitOpSelect)
                *fields[k] = get_bits(data[k], entry, at);
            else if (k == 0)
                x.m = get_bits(data[3], 1, at);
            else
                *fields[k - 1] = get_bits(data[k - 1], entry, at);
        }
        uint64_t found = get_bits(out, result_entry, i);
        assert_true(reference(op, type, x, &expected));
        compare(what, to, i, false, found, expected);
        compare(what, to, i, engine_is("interp"), found,
                get_bits(kernel, result_entry, uniform ? 0 : i));
    }
    drop_all(vars, 3);
    DROP(traced, stored);
    free(out);
}

static void test_ops(void **unused)
{
    (void) unused;
    jit_set_flag(JitFlagFastMath, 0);
    const size_t sizes[] = { 1, 5, 16, 17, 511, MOST };
    for (size_t t = 0; t < COUNT_OF(test_types); ++t) {
        VarType type = test_types[t].type;
        void *data[] = { values(type, MOST), values(type, MOST), values(type, MOST),
                         values(VarTypeBool, MOST) };
        for (JitOp op = 0; op < JitOpCount; ++op) {
            uint64_t ignored;
            if (op > JitOpSelect && test_types[t].kind == 'f')
                break; /* functions: test_math.c */
            if (!reference(op, type, (Args){ 1, 1, 1, true }, &ignored)) {
                uint64_t out;
                JitHostOperand one = { data[0], 1 };
                assert_false(jit_host_op(op, type, 1,
                                         (JitHostOperand[]){ one, one, one }, &out));
                CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_host_op()", "not defined");
                continue;
            }
            for (size_t s = 0; s < COUNT_OF(sizes); ++s)
                check_op(op, type, sizes[s], 7, (const void *const *) data);
            for (unsigned arrays = 0; arrays < 7; ++arrays)
                check_op(op, type, arrays ? 39 : 1, arrays, (const void *const *) data);
        }
        for (size_t i = 0; i < COUNT_OF(data); ++i)
            free(data[i]);
    }
}

/* What is composed of other operations; more entries than it compares at once. */
static void test_step(void **unused)
{
    (void) unused;
    for (size_t t = 0; t < COUNT_OF(test_types); ++t) {
        VarType type = test_types[t].type;
        uint64_t ignored, out = 7;
        void *data[] = { values(type, MOST), values(type, MOST), values(type, MOST),
                         values(VarTypeBool, MOST) };
        JitHostOperand operands[] = { { data[0], 1 }, { data[1], 1 } };
        if (reference(JitOpStep, type, (Args){ 1, 1, 1, true }, &ignored)) {
            for (unsigned arrays = 0; arrays < 4; ++arrays)
                check_op(JitOpStep, type, arrays ? MOST : 1, arrays,
                         (const void *const *) data);
            void *expected = malloc(MOST * sizeof(uint64_t));
            OK(jit_host_op(JitOpStep, type, MOST, operands, expected));
            OK(jit_host_op(JitOpStep, type, MOST, operands, data[0]));
            assert_memory_equal(data[0], expected, MOST * type_of(type)->size);
            free(expected);
        } else {
            assert_false(jit_host_op(JitOpStep, type, 1, operands, &out));
            CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_host_op()", "not defined");
            uint32_t x = array_of(type, data[0], 2);
            assert_int_equal(jit_var_step(x, x), 0);
            CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_lt()", type_of(type)->name);
            DROP(x);
        }
        for (size_t i = 0; i < COUNT_OF(data); ++i)
            free(data[i]);
    }
    uint32_t x = jit_var_f32(CPU, 1);
    assert_int_equal(jit_var_new_op_1(JitOpStep, x), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_new_op_1()", "step", "2 operands");
    DROP(x);
}

/* The result may replace an operand. */
static void test_in_place(void **unused)
{
    (void) unused;
    uint32_t a[MOST], expected[MOST];
    for (uint32_t i = 0; i < MOST; ++i) {
        a[i] = i;
        expected[i] = i * i + i;
    }
    JitHostOperand same[] = { { a, 1 }, { a, 1 }, { a, 1 } };
    OK(jit_host_op(JitOpFma, VarTypeUInt32, MOST, same, a));
    assert_memory_equal(a, expected, sizeof(a));
}

static void test_casts(void **unused)
{
    (void) unused;
    for (size_t f = 0; f < COUNT_OF(test_types); ++f)
        for (size_t t = 0; t < 2 * COUNT_OF(test_types); ++t) {
            const TestType *from = &test_types[f], *to = &test_types[t / 2];
            int reinterpret = t & 1;
            uint64_t out[MOST];
            void *data = values(from->type, MOST);
            uint32_t array = array_of(from->type, data, MOST);
            uint32_t cast = jit_var_cast(array, to->type, reinterpret);
            bool done =
                jit_host_cast(from->type, to->type, reinterpret, MOST, data, out);
            assert_int_equal(done, cast != 0);
            if (done) {
                void *kernel;
                uint32_t stored = data_of(cast, &kernel);
                OK(stored);
                bool keeps = reinterpret || from == to;
                for (size_t i = 0; i < MOST; ++i) {
                    uint64_t x = get_bits(data, from->size, i);
                    uint64_t found = get_bits(out, to->size, i);
                    compare("cast", to->type, i, keeps, found,
                            keeps ? x : cast_reference(from->type, to->type, x));
                    compare("cast", to->type, i, keeps || engine_is("interp"), found,
                            get_bits(kernel, to->size, i));
                }
                jit_var_dec_ref(stored);
            }
            jit_error_clear();
            DROP(array, cast);
            free(data);
        }
}

/* Which of two NaN a sum keeps is open. */
static void compare_entries(const char *what, uint32_t id, const void *found, size_t n)
{
    VarType type = jit_var_type(id);
    uint32_t entry = type_of(type)->size;
    void *data;
    uint32_t stored = data_of(id, &data);
    OK(stored);
    for (size_t i = 0; i < n; ++i)
        compare(what, type, i, false, get_bits(found, entry, i),
                get_bits(data, entry, i));
    jit_var_dec_ref(stored);
}

static void check_fused(ReduceOp op, const TestType *t, const void *data, size_t n)
{
    uint64_t found = 0;
    uint32_t array = array_of(t->type, data, n), reduced = jit_var_reduce(array, op);
    assert_int_equal(jit_host_reduce(op, t->type, n, data, &found), reduced != 0);
    if (reduced)
        compare_entries("reduction", reduced, &found, 1);
    jit_error_clear();
    char *out = malloc(n * t->size);
    for (unsigned way = 0; way < 4; ++way) {
        const size_t blocks[] = { n, n / 2, 5, 1 };
        size_t block = n % blocks[way] ? n : blocks[way];
        uint32_t scan =
            jit_var_block_prefix_reduce(op, array, block, way & 1, way >> 1);
        bool done =
            jit_host_prefix_reduce(op, t->type, n, block, way & 1, way >> 1, data, out);
        assert_int_equal(done, scan != 0);
        if (scan)
            compare_entries("prefix reduction", scan, out, n);
        jit_error_clear();
        jit_var_dec_ref(scan);
    }
    free(out);
    DROP(array, reduced);
}

static void test_reductions(void **unused)
{
    (void) unused;
    const size_t sizes[] = { 2, 10, 64, 65, 5000, 65537, REDUCED };
    for (size_t t = 0; t < COUNT_OF(test_types); ++t) {
        void *data = values(test_types[t].type, REDUCED);
        for (ReduceOp op = ReduceOpIdentity; op < ReduceOpCount; ++op)
            for (size_t s = 0; s < COUNT_OF(sizes) - (t % 3 != 0); ++s)
                check_fused(op, &test_types[t], data, sizes[s]);
        free(data);
    }
}

static int run(void)
{
    const struct CMUnitTest tests[] = { TEST(test_ops), TEST(test_step),
                                        TEST(test_in_place), TEST(test_casts),
                                        TEST(test_reductions) };
    return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest first[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_folds),
        cmocka_unit_test(test_rejected),
    };
    int failed =
        cmocka_run_group_tests_name("host, not initialised", first, NULL, NULL);
    return failed + run_engines(run);
}
