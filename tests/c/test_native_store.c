/*
 * test_native_store.c -- outputs that are added up, or written past the caches
 *
 * Against loops in C, for each reduction that code knows and each type, with packets of
 * full and of half the width, beside an output that is stored: with partial results,
 * and with a tile; written past the caches, and not.
 */
#include <math.h>

#include "native_programs.h"

#include "ir/reduce_rule.h"

enum { COUNT = 4096, BEGIN = 8192 }; /* lanes, and the first of them */

static const VarType types[] = { VarTypeInt32, VarTypeUInt32, VarTypeInt64,
                                 VarTypeUInt64, F32, F64 };

typedef union Number {
    float single;
    double whole;
    uint64_t bits;
} Number;

static Number read_number(VarType type, const void *at)
{
    Number number = { .bits = 0 };
    memcpy(&number, at, type_info[type].size);
    return number;
}

/* One rounding each. */
static Number combine(uint32_t fold, VarType type, Number a, Number b)
{
    if (type == F32)
        a.single = fold == ReduceOpAdd   ? a.single + b.single
                   : fold == ReduceOpMul ? a.single * b.single
                                         : fmaf(b.single, b.single, a.single);
    else if (type == F64)
        a.whole = fold == ReduceOpAdd   ? a.whole + b.whole
                  : fold == ReduceOpMul ? a.whole * b.whole
                                        : fma(b.whole, b.whole, a.whole);
    else
        a.bits += b.bits;
    return a;
}

/* Numbers around 1, whose sums are not exact; integers that wrap. */
static void fill(VarType type, void *data)
{
    uint64_t state = 1;
    for (uint32_t i = 0; i < COUNT; ++i) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        double near_one = 1 + (double) (int64_t) state * 0x1p-64 / 100;
        Number number = { .bits = state };
        if (type == F32)
            number.single = (float) near_one;
        else if (type == F64)
            number.whole = near_one;
        memcpy((char *) data + i * type_info[type].size, &number,
               type_info[type].size);
    }
}

/* Slots: the values, the array that they are stored to, what is reduced; and a value of
 * 64 bits, which makes packets half as wide. */
static void make_program(uint32_t fold, VarType type, bool wide)
{
    begin_program();
    uint32_t in = program_add_param(p, PARAM_INPUT, type);
    uint32_t stored = program_add_param(p, PARAM_OUTPUT, type);
    uint32_t reduced = program_add_param(p, PARAM_OUTPUT, type);
    p->params[reduced].reduced = (uint8_t) fold;
    uint32_t value = op(OP_LOAD, type, in, 0);
    (void) op(OP_STORE, VarTypeVoid, stored, 1, value);
    (void) op(OP_STORE, VarTypeVoid, reduced, 1, value);
    if (!wide)
        return;
    uint32_t more = program_add_param(p, PARAM_OUTPUT, U64);
    (void) op(OP_STORE, VarTypeVoid, more, 1, op(OP_CAST, U64, 0, 1, lane()));
}

typedef struct Memory {
    _Alignas(64) char in[COUNT * 8], stored[COUNT * 8], reduced[COUNT * 8];
    char more[COUNT * 8];
} Memory;

static void check_partials(uint32_t fold, VarType type, const Memory *m,
                           const Number *before)
{
    uint32_t size = type_info[type].size, row = CPU_PARTIAL_BYTES / size;
    for (uint32_t k = 0; k < row; ++k) {
        Number expected = before[k];
        for (uint32_t i = k; i < COUNT; i += row)
            expected = combine(fold, type, expected,
                               read_number(type, m->in + i * size));
        if (memcmp(&expected, m->reduced + k * size, size))
            fail_msg("reduction %u of %s: partial result %u differs", fold,
                     type_info[type].name, k);
    }
    for (uint32_t i = row * size; i < COUNT * size; ++i)
        assert_int_equal((uint8_t) m->reduced[i], FILL);
}

enum { PARTIALS = 1, STREAMED = 2 };

static void run(const Code *code, void *scratch, uint32_t fold, VarType type,
                int how, uint32_t lanes)
{
    bool partials = how & PARTIALS;
    Memory *m = alloc_aligned(sizeof *m);
    assert_non_null(m);
    uint32_t size = type_info[type].size;
    Number before[CPU_PARTIAL_BYTES / 4];
    memset(m, FILL, sizeof *m);
    fill(type, m->in);
    memcpy(m->reduced, m->in, CPU_PARTIAL_BYTES); /* what they begin with */
    for (uint32_t k = 0; k < CPU_PARTIAL_BYTES / size; ++k)
        before[k] = read_number(type, m->in + k * size);
    uintptr_t first = (uintptr_t) BEGIN * size;
    uint64_t args[] = { (uintptr_t) m->in - first, (uintptr_t) m->stored - first,
                        partials ? (uintptr_t) m->reduced + CPU_PARTIALS
                                 : (uintptr_t) m->reduced - first,
                        (uintptr_t) m->more - (uintptr_t) BEGIN * 8 };
    if (how & STREAMED)
        args[1] += CPU_STREAMED;
    cpu_code_run(code, args, BEGIN, BEGIN + lanes, 0, scratch);
    assert_memory_equal(m->stored, m->in, lanes * size);
    for (uint32_t i = lanes * size; i < COUNT * size; ++i)
        assert_int_equal((uint8_t) m->stored[i], FILL);
    if (partials)
        check_partials(fold, type, m, before);
    else
        assert_memory_equal(m->reduced, m->in, lanes * size);
    alloc_free(m);
}

/* For a launch of many lanes, or of few, whose outputs do not exceed a cache. */
static Code *compile_for(bool many_lanes)
{
    assert_true(program_verify(p));
    CodeSpec spec = { .hash = { 1, 2 }, .many_lanes = many_lanes };
    Code *code = native->compile(p, &spec);
    if (!code)
        fail_msg("%s", error_message());
    const CpuCode *cpu = (const CpuCode *) (const void *) code;
    assert_true(cpu->adds);
    bool wide = p->param_count == 4;
    assert_int_equal(cpu->streams, many_lanes ? (wide ? 2 | 8 : 2) : 0);
    return code;
}

static void check_store(uint32_t fold, VarType type, bool wide, bool many_lanes)
{
    make_program(fold, type, wide);
    Code *code = compile_for(many_lanes);
    void *scratch = alloc_aligned(cpu_code_scratch(code));
    assert_non_null(scratch);
    for (int how = 0; how <= (many_lanes ? PARTIALS | STREAMED : PARTIALS); ++how) {
        run(code, scratch, fold, type, how, COUNT);
        if (!(how & PARTIALS)) /* which are of whole runs */
            run(code, scratch, fold, type, how, COUNT - 27);
    }
    alloc_free(scratch);
    code_release(code);
    program_free(p);
}

static void test_all(void **unused)
{
    (void) unused;
    uint32_t known = 0;
    for (uint32_t t = 0; t < sizeof types / sizeof *types; ++t)
        for (uint32_t fold = 1; fold < REDUCE_COUNT; ++fold)
            if (reduce_rule_adds(fold, types[t])) {
                for (int variant = 0; variant < 4; ++variant)
                    check_store(fold, types[t], variant & 1, variant & 2);
                ++known;
            }
    assert_int_equal(known, 6 + 2 + 2); /* sums; products, squares of floats */
}

/* Of other reductions there are tiles only. */
static void test_unknown(void **unused)
{
    (void) unused;
    assert_false(reduce_rule_adds(ReduceOpMax, F32));
    assert_false(reduce_rule_adds(ReduceOpAdd, VarTypeFloat16));
    assert_false(reduce_rule_adds(ReduceOpAdd, VarTypeUInt8));
    assert_false(reduce_rule_adds(ReduceOpMul, U32));
    assert_false(reduce_rule_adds(REDUCE_DOT, F32));
    assert_false(reduce_rule_adds(ReduceOpIdentity, F32));
    for (uint32_t fold = ReduceOpAdd; fold <= ReduceOpMax; ++fold) {
        make_program(fold, F32, false);
        bool adds = count_in_code(", 0x3F");
        assert_int_equal(adds, fold == ReduceOpAdd || fold == ReduceOpMul);
        program_free(p);
    }
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_unknown),
    };
    if (!native_begin())
        return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return native_targets_run(run_all);
}
