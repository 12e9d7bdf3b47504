/*
 * test_sort.c -- jit_var_sort and jit_var_argsort
 *
 * Expected permutations come from an insertion into a sorted list by comparison of
 * numbers (C's qsort with the position as the last criterion), which shares nothing
 * with keys and digits.
 */
#include "ops_reference.h"

/* ------------------------------------------------------------- the reference */

typedef struct Item {
    long double value; /* every type's values are exact */
    bool nan;
    uint32_t position;
} Item;

static int direction;

static int by_position(const Item *a, const Item *b)
{
    return a->position < b->position ? -1 : 1;
}

static int compare_items(const void *left, const void *right)
{
    const Item *a = left, *b = right;
    int order = 0;
    if (a->nan || b->nan)
        order = (int) a->nan - (int) b->nan;
    else if (a->value != b->value)
        order = a->value < b->value ? -1 : 1;
    return order ? order * direction : by_position(a, b);
}

static Item item_of(VarType type, uint64_t bits, uint32_t position)
{
    Item item = { .position = position };
    if (type_of(type)->kind == 'f') {
        double value = float_value(type, bits);
        item.nan = isnan(value);
        item.value = item.nan ? 0 : (long double) value;
    } else {
        item.value = (long double) int_value(type, bits);
    }
    return item;
}

static uint32_t *expected_positions(VarType type, const void *data, size_t size,
                                    size_t block, bool descending)
{
    Item *items = malloc(size * sizeof(Item));
    uint32_t *out = malloc(size * sizeof(uint32_t));
    direction = descending ? -1 : 1;
    for (size_t i = 0; i < size; ++i)
        items[i] = item_of(type, get_bits(data, type_of(type)->size, i), (uint32_t) i);
    for (size_t i = 0; i < size; i += block)
        qsort(items + i, block, sizeof(Item), compare_items);
    for (size_t i = 0; i < size; ++i)
        out[i] = items[i].position;
    free(items);
    return out;
}

/* ------------------------------------------------------------------ values */

typedef enum Shape { ANY, FEW, EQUAL, LOW_DIGIT, HIGH_DIGIT, SORTED, SHAPES } Shape;

static uint64_t any_value(VarType type)
{
    static const double special[] = { 0, -0.0, 1, -1, NAN, -NAN, INFINITY, -INFINITY };
    uint64_t bits = random_bits();
    if (type_of(type)->kind == 'b')
        return bits & 1;
    if (type_of(type)->kind == 'f' && bits % 8 == 0)
        return float_bits(type, special[bits >> 32 & 7]);
    return bits & ones_of(type_of(type)->size * 8);
}

static void *values(VarType type, size_t size, Shape shape)
{
    const TestType *t = type_of(type);
    unsigned width = t->size * 8;
    uint64_t few[8], top = t->kind == 'b' ? 1 : ones_of(width);
    for (size_t i = 0; i < COUNT_OF(few); ++i)
        few[i] = any_value(type);
    char *data = malloc(size * t->size);
    for (size_t i = 0; i < size; ++i) {
        const uint64_t choices[] = {
            [ANY] = any_value(type),
            [FEW] = few[random_bits() % 8],
            [EQUAL] = few[0],
            [LOW_DIGIT] = random_bits() & 0xff & top,
            [HIGH_DIGIT] = random_bits() % 16 << (width - 4) & top,
            [SORTED] = i & top,
        };
        put_bits(data, t->size, i, choices[shape]);
    }
    return data;
}

/* ------------------------------------------------------------------- tests */

static void check_sort(VarType type, size_t size, size_t block, Shape shape)
{
    uint32_t entry = type_of(type)->size;
    char *data = values(type, size, shape), *sorted = malloc(size * entry);
    uint32_t array = array_of(type, data, size);
    for (int descending = 0; descending < 2; ++descending) {
        uint32_t *expected =
            expected_positions(type, data, size, block ? block : size, descending);
        for (size_t i = 0; i < size; ++i)
            put_bits(sorted, entry, i, get_bits(data, entry, expected[i]));
        uint32_t positions = jit_var_argsort(array, block, descending);
        uint32_t entries = jit_var_sort(array, block, descending);
        OK(positions && entries);
        assert_int_equal(jit_var_type(positions), VarTypeUInt32);
        assert_int_equal(jit_var_type(entries), type);
        CHECK_BYTES(positions, expected, size);
        CHECK_BYTES(entries, sorted, size);
        DROP(positions, entries);
        free(expected);
    }
    CHECK_BYTES(array, data, size); /* the input stays */
    jit_var_dec_ref(array);
    free(data);
    free(sorted);
}

static void test_types_and_blocks(void **unused)
{
    (void) unused;
    static const struct {
        size_t size, block;
    } cases[] = { { 1, 0 },    { 2, 0 },       { 9, 3 },      { 30, 30 },
                  { 512, 2 },  { 700, 7 },     { 2560, 256 }, { 2570, 257 },
                  { 6000, 0 }, { 9000, 1000 }, { 40, 1 } };
    for (size_t t = 0; t < COUNT_OF(test_types); ++t) {
        if (test_types[t].kind == 'p')
            continue;
        for (size_t i = 0; i < COUNT_OF(cases); ++i)
            for (Shape shape = ANY; shape < SHAPES; ++shape)
                check_sort(test_types[t].type, cases[i].size, cases[i].block, shape);
    }
}

/* Long enough to be cut into pieces. */
static void test_long(void **unused)
{
    (void) unused;
    uint32_t before = jit_llvm_thread_count();
    for (uint32_t threads = 1; threads < 4; threads += 2) {
        OK(jit_llvm_set_thread_count(threads));
        for (size_t t = 0; t < COUNT_OF(test_types); ++t)
            if (test_types[t].kind != 'p')
                check_sort(test_types[t].type, 70001, 0, (Shape) ((t + threads) % 4));
        check_sort(VarTypeFloat32, 140000, 70000, FEW);
        check_sort(VarTypeUInt64, 100000, 0, HIGH_DIGIT);
        check_sort(VarTypeInt32, 200000, 0, ANY);
        check_sort(VarTypeFloat64, 198000, 66000, ANY);
    }
    OK(jit_llvm_set_thread_count(before));
}

static void test_hand(void **unused)
{
    (void) unused;
    const float f[] = { 3, NAN, -0.0f, 0.0f, -1, INFINITY, -INFINITY, 0.0f };
    uint32_t a = array_of(VarTypeFloat32, f, 8);
    uint32_t up = jit_var_argsort(a, 0, 0), down = jit_var_argsort(a, 8, 1);
    CHECK_U32(up, 6, 4, 2, 3, 7, 0, 5, 1);
    CHECK_U32(down, 1, 5, 0, 2, 3, 7, 4, 6);
    DROP(a, up, down);
    uint32_t u = u32_array(6, (uint32_t[]){ 3, 1, 2, 9, 7, 8 });
    uint32_t s = jit_var_sort(u, 3, 0), p = jit_var_argsort(u, 3, 0);
    CHECK_U32(s, 1, 2, 3, 7, 8, 9);
    CHECK_U32(p, 1, 2, 0, 4, 5, 3);
    DROP(u, s, p);
}

/* Unevaluated input, results in later kernels, literals. */
static void test_traced(void **unused)
{
    (void) unused;
    uint32_t c = jit_var_counter(CPU, 5), four = literal_of(VarTypeUInt32, 4, 1);
    uint32_t falling = jit_var_sub(four, c), s = jit_var_sort(falling, 0, 0);
    uint32_t p = jit_var_argsort(falling, 0, 0), sum = jit_var_add(s, p);
    CHECK_U32(sum, 4, 4, 4, 4, 4);
    uint32_t same = literal_of(VarTypeUInt32, 7, 3), t = jit_var_sort(same, 0, 1);
    uint32_t q = jit_var_argsort(same, 0, 1);
    CHECK_U32(t, 7, 7, 7);
    CHECK_U32(q, 0, 1, 2);
    DROP(c, four, falling, s, p, sum, same, t, q);
}

static void test_errors(void **unused)
{
    (void) unused;
    uint32_t a = u32_array(4, (uint32_t[]){ 1, 2, 3, 4 });
    assert_int_equal(jit_var_sort(a, 3, 0), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_sort()", "block size is 3", "size 4");
    assert_int_equal(jit_var_argsort(a, 8, 0), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_argsort()", "block size is 8");
    assert_int_equal(jit_var_sort(0, 0, 0), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_sort()");
    uint32_t pointer = jit_var_pointer(CPU, &a, 0, 0);
    assert_int_equal(jit_var_sort(pointer, 0, 0), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_sort()", "pointer");
    DROP(a, pointer);
}

static void test_history(void **unused)
{
    (void) unused;
    uint32_t a = u32_array(4, (uint32_t[]){ 1, 3, 2, 4 });
    jit_set_flag(JitFlagKernelHistory, 1);
    uint32_t s = jit_var_sort(a, 0, 0);
    KernelHistoryEntry *entries;
    assert_int_equal(jit_kernel_history(&entries), 1);
    assert_int_equal(entries[0].type, KernelTypeMkPerm);
    assert_int_equal(entries[0].size, 4);
    assert_true(entries[0].execution_time >= 0);
    jit_kernel_history_release(entries, 1);
    DROP(a, s);
}

int main(void)
{
    const struct CMUnitTest tests[] = { TEST(test_hand),   TEST(test_types_and_blocks),
                                        TEST(test_long),   TEST(test_traced),
                                        TEST(test_errors), TEST(test_history) };
    jit_set_log_level_stderr(LogLevelWarn);
    return cmocka_run_group_tests_name("sort", tests, NULL, NULL);
}
