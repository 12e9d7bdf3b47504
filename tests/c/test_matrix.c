/*
 * test_matrix.c -- products with matrices that all lanes share, and sums of outer
 * products: jit_var_matvec(), jit_var_outer()
 *
 * Entries are small whole numbers, so that all sums are exact.
 */
#include "test_util.h"

enum { ROWS = 3, COLUMNS = 2, OFFSET = 1, LANES = 1000 };

static float entry(size_t k) { return (float) (k % 7) - 3; }

/* Entry k of a vector: a number for each lane. */
static uint32_t component(size_t k)
{
    float data[LANES];
    for (size_t lane = 0; lane < LANES; ++lane)
        data[lane] = entry(5 * k + lane);
    return array_of(VarTypeFloat32, data, LANES);
}

static uint32_t matrix_array(void)
{
    float data[OFFSET + ROWS * COLUMNS];
    for (size_t k = 0; k < COUNT_OF(data); ++k)
        data[k] = entry(3 * k);
    return array_of(VarTypeFloat32, data, COUNT_OF(data));
}

/* Entry (i, k) of the matrix, or of its transpose. */
static float at(size_t i, size_t k, bool turned)
{
    size_t place = OFFSET + (turned ? k * COLUMNS + i : i * COLUMNS + k);
    return entry(3 * place);
}

static void check_product(bool turned, bool adds)
{
    const size_t m = turned ? COLUMNS : ROWS, n = turned ? ROWS : COLUMNS;
    const JitMatrix a = { matrix_array(), OFFSET, ROWS, COLUMNS, turned };
    uint32_t x[ROWS], add[ROWS], y[ROWS];
    for (size_t k = 0; k < ROWS; ++k) {
        x[k] = component(k);
        add[k] = component(10 + k);
    }
    OK(jit_var_matvec(&a, x, adds ? add : NULL, y));
    for (size_t i = 0; i < m; ++i) {
        float expected[LANES];
        for (size_t lane = 0; lane < LANES; ++lane) {
            expected[lane] = adds ? entry(5 * (10 + i) + lane) : 0;
            for (size_t k = 0; k < n; ++k)
                expected[lane] += at(i, k, turned) * entry(5 * k + lane);
        }
        CHECK_BYTES(y[i], expected, LANES);
    }
    drop_all(y, m);
    drop_all(x, ROWS);
    drop_all(add, ROWS);
    jit_var_dec_ref(a.array);
}

static void test_products(void **unused)
{
    (void) unused;
    for (int variant = 0; variant < 4; ++variant)
        check_product(variant & 1, variant & 2);
}

static void check_outer(bool turned, bool masked)
{
    const size_t m = turned ? COLUMNS : ROWS, n = turned ? ROWS : COLUMNS;
    JitMatrix a = { matrix_array(), OFFSET, ROWS, COLUMNS, turned };
    uint8_t on[LANES];
    float expected[OFFSET + ROWS * COLUMNS];
    uint32_t left[ROWS], right[ROWS];
    for (size_t lane = 0; lane < LANES; ++lane)
        on[lane] = lane % 3 != 1;
    for (size_t k = 0; k < COUNT_OF(expected); ++k)
        expected[k] = entry(3 * k);
    for (size_t i = 0; i < m; ++i)
        for (size_t k = 0; k < n; ++k)
            for (size_t lane = 0; lane < LANES; ++lane)
                if (!masked || on[lane])
                    expected[OFFSET + (turned ? k * COLUMNS + i : i * COLUMNS + k)] +=
                        entry(5 * i + lane) * entry(5 * (20 + k) + lane);
    for (size_t k = 0; k < ROWS; ++k) {
        left[k] = component(k);
        right[k] = component(20 + k);
    }
    uint32_t mask = masked ? array_of(VarTypeBool, on, LANES) : 0;
    uint32_t written = jit_var_outer(&a, left, right, mask);
    assert_int_equal(written, a.array); /* nobody else holds it */
    CHECK_BYTES(written, expected, COUNT_OF(expected));
    drop_all(left, ROWS);
    drop_all(right, ROWS);
    DROP(written, a.array);
    if (mask)
        jit_var_dec_ref(mask);
}

static void test_outer_products(void **unused)
{
    (void) unused;
    for (int variant = 0; variant < 4; ++variant)
        check_outer(variant & 1, variant & 2);
}

/* An array that somebody else holds stays as it is. */
static void test_copy_on_write(void **unused)
{
    (void) unused;
    JitMatrix a = { matrix_array(), OFFSET, ROWS, COLUMNS, false };
    float before[OFFSET + ROWS * COLUMNS];
    for (size_t k = 0; k < COUNT_OF(before); ++k)
        before[k] = entry(3 * k);
    uint32_t x = component(1), all[] = { x, x, x };
    jit_var_inc_ref(a.array);
    uint32_t written = jit_var_outer(&a, all, all, ALWAYS);
    assert_int_not_equal(written, a.array);
    CHECK_BYTES(a.array, before, COUNT_OF(before));
    jit_var_dec_ref(a.array);
    DROP(written, a.array, x);
}

static void test_errors(void **unused)
{
    (void) unused;
    uint32_t array = matrix_array(), x = component(0), wrong = jit_var_u32(CPU, 1);
    uint32_t all[] = { x, x, x }, bad[] = { x, wrong, x }, y[ROWS];
    const JitMatrix fine = { array, OFFSET, ROWS, COLUMNS, false };
    JitMatrix a = fine;
    assert_false(jit_var_matvec(NULL, all, NULL, y));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_matvec()", "matrix");
    assert_false(jit_var_matvec(&fine, bad, NULL, y));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_matvec()", "the vector is uint32");
    assert_false(jit_var_matvec(&fine, all, bad, y));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_matvec()", "what is added is uint32");
    a.offset = 2;
    assert_false(jit_var_matvec(&a, all, NULL, y));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_matvec()", "out of bounds");
    assert_int_equal(jit_var_outer(&a, all, all, ALWAYS), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_outer()", "out of bounds");
    a.offset = SIZE_MAX;
    assert_int_equal(jit_var_outer(&a, all, all, ALWAYS), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_outer()", "out of bounds");
    a = fine;
    a.rows = 0;
    assert_false(jit_var_matvec(&a, all, NULL, y));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_matvec()", "expected 1 to 8192");
    a = fine;
    a.array = wrong;
    assert_false(jit_var_matvec(&a, all, NULL, y));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_matvec()", "expected a floating point");
    assert_int_equal(jit_var_outer(&fine, all, bad, ALWAYS), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_outer()", "the right vector is uint32");
    jit_set_flag(JitFlagDeterministic, 1);
    assert_int_equal(jit_var_outer(&fine, all, all, ALWAYS), 0);
    CHECK_ERROR(JIT_ERROR_UNSUPPORTED, "jit_var_outer()", "JitFlag.Deterministic");
    jit_set_flag(JitFlagDeterministic, 0);
    DROP(array, x, wrong);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_products), TEST(test_outer_products), TEST(test_copy_on_write),
        TEST(test_errors),
    };
    return cmocka_run_group_tests_name("matrix", tests, NULL, NULL);
}

int main(void)
{
    return run_engines(run);
}
