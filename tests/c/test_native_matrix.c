/*
 * test_native_matrix.c -- products with matrices on the native engine, against the
 * interpreter and against those that the legaliser writes out, bit for bit
 *
 * As in test_native_memory.c, everything runs for each table of rows, with packets of
 * full and of half the width, and with ends inside of a packet.
 */
#include "native_rows.h"

#include "base/alloc.h"
#include "lower/legalise.h"

enum { MOST = 40 /* rows and columns */ };

static uint32_t add_vector(Program *p, VarType type, uint32_t count, uint32_t *out)
{
    for (uint32_t k = 0; k < count; ++k)
        out[k] = k % 7 == 3 ? program_add_literal(p, type, any_value(type))
                            : add_input(p, type);
    return count;
}

/* Bits of 'variant': 64-bit values in the kernel, transposed, something is added, not
 * all results are used. */
enum { WIDE = 1, TURNED = 2, ADDS = 4, FEW = 8, VARIANTS = 16 };

static Program *matvec(VarType type, uint32_t rows, uint32_t columns, uint32_t variant)
{
    const bool turned = variant & TURNED;
    const uint32_t m = turned ? columns : rows, n = turned ? rows : columns;
    uint32_t args[2 + 2 * MOST], count = 2;
    Program *p = new_program();
    add_wide(p, variant);
    args[0] = add_pointer(p, type);
    args[1] = program_add_literal(p, VarTypeUInt32, 3);
    count += add_vector(p, type, n, args + count);
    if (variant & ADDS)
        count += add_vector(p, type, m, args + count);
    uint32_t aux = m | (turned ? MATVEC_TRANSPOSED : 0) |
                   (variant & ADDS ? MATVEC_ADDS : 0);
    uint32_t product = program_add(p, OP_MATVEC, type, aux, count, args);
    for (uint32_t k = 0; k < m; ++k)
        if (!(variant & FEW) || k % 5 == 1 || k + 1 == m)
            add_output(p, type, add(p, OP_PACKET_ITEM, type, k, 1, product));
    return p;
}

static const uint32_t sizes[][2] = { { 1, 1 },  { 1, 9 },   { 3, 2 },  { 12, 16 },
                                     { 13, 5 }, { 40, 23 }, { 2, 40 }, { 31, 40 } };
enum { SIZES = sizeof sizes / sizeof *sizes };
static const VarType floats[] = { VarTypeFloat16, VarTypeFloat32, VarTypeFloat64 };

static void test_matvec(void **state)
{
    (void) state;
    for (uint32_t t = 0; t < 3; ++t)
        for (uint32_t s = 0; s < SIZES; ++s)
            for (uint32_t variant = 0; variant < VARIANTS; ++variant) {
                char what[80];
                snprintf(what, sizeof what, "matvec of %u x %u %s, variant %u",
                         sizes[s][0], sizes[s][1], type_info[floats[t]].short_name,
                         variant);
                check(matvec(floats[t], sizes[s][0], sizes[s][1], variant), what);
            }
}

/* An engine that has all that the interpreter has but these. */
static bool lacks_matrices(Op op, VarType type, VarType operand)
{
    return op != OP_MATVEC && op != OP_OUTER &&
           interp_engine.supports(op, type, operand);
}

/* What the legaliser makes of a product has its bits. */
static void test_legalised(void **state)
{
    (void) state;
    Engine poor = interp_engine;
    poor.supports = lacks_matrices;
    for (uint32_t t = 0; t < 3; ++t)
        for (uint32_t variant = 0; variant < VARIANTS; ++variant) {
            Program *p = matvec(floats[t], 13, 5, variant);
            const Program *legal = legalise(p, &poor);
            assert_non_null(legal);
            assert_ptr_not_equal(legal, p);
            assert_true(program_verify(legal));
            uint64_t mine[ARRAYS], theirs[ARRAYS];
            for (uint32_t i = 0; i < p->param_count; ++i)
                mine[i] = theirs[i] =
                    address(new_array((VarType) p->params[i].type, i));
            for (uint32_t i = 0; i < p->param_count; ++i)
                if (p->params[i].kind == PARAM_OUTPUT)
                    theirs[i] = address(new_array((VarType) p->params[i].type, i));
            run_engine(&interp_engine, p, mine, 0, 100);
            run_engine(&interp_engine, legal, theirs, 0, 100);
            for (uint32_t i = 0; i < p->param_count; ++i) {
                VarType type = (VarType) p->params[i].type;
                for (uint32_t k = 0; k < 100; ++k)
                    assert_true(same(type, get((void *) (uintptr_t) mine[i], type, k),
                                     get((void *) (uintptr_t) theirs[i], type, k)));
                if (mine[i] != theirs[i])
                    free((void *) (uintptr_t) theirs[i]);
                free((void *) (uintptr_t) mine[i]);
            }
            program_free((Program *) legal);
            program_free(p);
        }
}

static Program *outer(VarType type, uint32_t rows, uint32_t columns, ReduceMode mode,
                      uint32_t variant)
{
    uint32_t args[3 + 2 * MOST], count = 3;
    Program *p = new_program();
    add_wide(p, variant);
    args[0] = add_pointer(p, type);
    p->params[p->insts[args[0]].aux].written = 1;
    args[1] = program_add_literal(p, VarTypeUInt32, 5);
    args[2] = variant & TURNED ? program_add_literal(p, VarTypeBool, 1)
                               : add_input(p, VarTypeBool);
    count += add_vector(p, type, rows, args + count);
    count += add_vector(p, type, columns, args + count);
    assert_int_not_equal(program_add(p, OP_OUTER, VarTypeVoid,
                                     (uint32_t) ReduceOpAdd | (uint32_t) mode << 8 |
                                         rows << OUTER_ROWS,
                                     count, args),
                         PROGRAM_NONE);
    return p;
}

/* In a copy of its own, lanes add one after the other, whatever the packets. */
static void test_outer(void **state)
{
    (void) state;
    for (uint32_t t = 1; t < 3; ++t)
        for (uint32_t s = 0; s < SIZES; ++s)
            for (uint32_t variant = 0; variant < 4; ++variant) {
                char what[80];
                snprintf(what, sizeof what, "outer of %u x %u %s, variant %u",
                         sizes[s][0], sizes[s][1], type_info[floats[t]].short_name,
                         variant);
                check(outer(floats[t], sizes[s][0], sizes[s][1], ReduceModeExpand,
                            variant),
                      what);
            }
}

/* Entries are 0 or 1: sums are exact in any order, in all types and modes. */
static uint64_t is_one(uint32_t entry, uint32_t slot)
{
    return (entry + entry / 3 + slot) % 2;
}

static void check_sums(VarType type, ReduceMode mode)
{
    enum { ROWS = 3, COLUMNS = 2, FIRST = 2, COUNT = 100 };
    Program *p = outer(type, ROWS, COLUMNS, mode, 0);
    uint64_t args[ARRAYS];
    assert_int_equal(p->param_count, FIRST + ROWS + COLUMNS);
    for (uint32_t i = 0; i < p->param_count; ++i) {
        VarType own = (VarType) p->params[i].type;
        void *data = new_array(own, i);
        for (uint32_t k = 0; k < ENTRIES; ++k)
            put(data, own, k,
                i == 0   ? 0
                : i == 1 ? k % 3 != 0
                         : rounded(type, (Real) is_one(k, i)));
        args[i] = address(data);
    }
    run_engine(native, p, args, 0, COUNT);
    for (uint32_t e = 0; e < ROWS * COLUMNS; ++e) {
        uint64_t sum = 0;
        for (uint32_t k = 0; k < COUNT; ++k)
            sum += k % 3 != 0 && is_one(k, FIRST + e / COLUMNS) &&
                   is_one(k, FIRST + ROWS + e % COLUMNS);
        assert_int_equal(get((void *) (uintptr_t) args[0], type, 5 + e),
                         rounded(type, (Real) sum));
    }
    for (uint32_t i = 0; i < p->param_count; ++i)
        free((void *) (uintptr_t) args[i]);
    program_free(p);
}

static void test_sums(void **state)
{
    (void) state;
    for (uint32_t t = 0; t < 3; ++t)
        for (int mode = 0; mode < ReduceModeCount; ++mode)
            check_sums(floats[t], (ReduceMode) mode);
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matvec),
        cmocka_unit_test(test_legalised),
        cmocka_unit_test(test_outer),
        cmocka_unit_test(test_sums),
    };
    native = engine_find("native");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return native_targets_run(run_all);
}
