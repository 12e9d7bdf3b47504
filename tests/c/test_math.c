/*
 * test_math.c -- the functions of math.def: same bits everywhere, special values
 *
 * How exact they are is measured by tests/accuracy, which 'make test' runs on samples.
 * Here, kernels of every engine are compared bit for bit with host_apply(), which runs
 * the interpreter: whole arrays, tails, literals, and inside of loops, conditionals and
 * callables, as the rules write conditionals of their own. Values of zeros, infinities
 * and NaN are those of Annex F of the C standard, written down by hand.
 */
#include "region_util.h"

#include <math.h>
#include <pthread.h>

#include "api/api.h"
#include "ir/op.h"
#include "kernel/host.h"
#include "lower/math/derivative.h"
#include "ops_reference.h"
#include "trace/graph/arith.h"

typedef struct Row {
    const char *name;
    Op op;
} Row;

static Row rows[] = {
#define MATH(name, ...) { #name, OP_##name },
#include "lower/math/math.def"
#undef MATH
};

static const VarType float_types[] = { VarTypeFloat16, VarTypeFloat32, VarTypeFloat64 };

static int arity_of(Op op)
{
    return op_info[op].arity;
}

/* As apply(), also for what has no public name. */
static uint32_t compute_row(Op op, const uint32_t *args)
{
    ThreadState *ts = api_enter();
    uint32_t result = arity_of(op) == 2 ? arith_binary(ts, op, args[0], args[1])
                                        : arith_unary(ts, op, args[0]);
    api_leave();
    return result;
}

/* JitOpCount: none. */
static JitOp public_name(Op op)
{
    int name = 0;
    while (name < (int) JitOpCount && op_of((JitOp) name) != op)
        name++;
    return (JitOp) name;
}

/* Nothing of ops.def lacks a rule, and each JitOp is another operation. */
static void test_rows(void **unused)
{
    (void) unused;
    for (int op = (int) JitOpSin; op < (int) JitOpCount; ++op) {
        bool found = false;
        for (size_t r = 0; r < COUNT_OF(rows); ++r)
            found |= rows[r].op == op_of((JitOp) op);
        if (!found)
            fail_msg("math.def has no row for %s", op_info[op_of((JitOp) op)].name);
    }
    bool known[OP_COUNT] = { 0 };
    for (int op = 0; op < (int) JitOpCount; ++op) {
        Op row = op_of((JitOp) op);
        assert_false(known[row]);
        assert_true(op_info[row].flags & F_FOLDS);
        assert_int_equal(op_info[row].group,
                         op >= (int) JitOpSin ? GROUP_FUNCTION : GROUP_ARITH);
        known[row] = true;
    }
}

/* No other types, and no mixture. */
static void test_rejected(void **unused)
{
    (void) unused;
    uint32_t x[COUNT_OF(test_types)];
    for (size_t t = 0; t < COUNT_OF(test_types); ++t)
        x[t] = literal_of(test_types[t].type, 0, 1);
    for (size_t r = 0; r < COUNT_OF(rows); ++r)
        for (size_t t = 0; t < COUNT_OF(test_types); ++t) {
            const TestType *type = &test_types[t], *other = type - (t > 0);
            const char *name = op_info[rows[r].op].name;
            const JitOp op = public_name(rows[r].op);
            if (type->kind != 'f') {
                uint32_t same[] = { x[t], x[t] };
                assert_int_equal(compute_row(rows[r].op, same), 0);
                CHECK_ERROR(JIT_ERROR_ARGUMENT, name, type->name);
                uint64_t out = 7, in[2] = { 0 };
                if (op == JitOpCount)
                    continue;
                assert_false(jit_host_op(op, type->type, 1,
                                         (JitHostOperand[]){ { in, 0 }, { in, 0 } },
                                         &out));
                assert_true(out == 7);
                CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_host_op()", name, type->name);
            } else if (arity_of(rows[r].op) == 2) {
                uint32_t two[] = { x[t], x[t - 1] };
                assert_int_equal(compute_row(rows[r].op, two), 0);
                CHECK_ERROR(JIT_ERROR_ARGUMENT, name, type->name, other->name);
            }
        }
    drop_all(x, COUNT_OF(x));
}

/* ---------------------------------------------------------------- arguments */

static const double interesting[] = {
    0, INFINITY, NAN, 1, 2, 3, 0.5, 0.25, 0.75, 1.5, 4, 8, 10, 100, 1000, 65504,
    1.5707963267948966, 3.141592653589793, 0.7853981633974483, 2.718281828459045,
    0.6931471805599453, 88.7, 89, 104, 127, 128, 150, 710, 746, 1024, 1075, 0x1p-14,
    0x1p-24, 0x1p-126, 0x1p-149, 0x1p-1022, 0x1p-1074, 0x1p24, 0x1p53, 0x1p100, 1e22,
    0x1p127, 0x1p1023, 0.46875, 0.84375, 1.25, 2.857, 5.8, 6.5, 9, 22, 28,
};

/* Special ones, moderate ones, and any bits. */
static uint64_t argument(VarType type, size_t i)
{
    uint64_t random = random_bits();
    double sign = random & 1 ? -1 : 1;
    if (i < 2 * COUNT_OF(interesting))
        return float_bits(type, (i & 1 ? -1 : 1) * interesting[i / 2]);
    switch (i % 4) {
    case 0:
        return random & ones_of(8 * type_of(type)->size);
    case 1: /* within -1 ... 1, the domain of some */
        return float_bits(type, sign * ldexp((double) (random >> 11), -53));
    default: /* 2^-15 ... 2^16 */
        return float_bits(type, sign * ldexp(1 + (double) (random >> 12) * 0x1p-52,
                                             (int) (random >> 1 & 31) - 15));
    }
}

static void *arguments(VarType type, size_t n)
{
    uint32_t size = type_of(type)->size;
    char *data = malloc(n * size);
    for (size_t i = 0; i < n; ++i)
        put_bits(data, size, i, argument(type, i));
    return data;
}

/* All of them. */
static void *half_arguments(void)
{
    uint16_t *data = malloc(65536 * sizeof(uint16_t));
    for (uint32_t i = 0; i < 65536; ++i)
        data[i] = (uint16_t) i;
    return data;
}

/* An operand is an array or, with step 0, one value. */
static void host(Op op, VarType type, size_t n, const void *a, uint32_t step_a,
                 const void *b, uint32_t step_b, void *out)
{
    const InterpOperand operands[] = { { a, step_a }, { b, step_b } };
    OK(host_apply(op, type, type, n, operands, out));
}

static void check_same(const char *what, const Row *row, VarType type, size_t n,
                       const void *a, const void *found, const void *expected)
{
    uint32_t size = type_of(type)->size;
    for (size_t i = 0; i < n; ++i) {
        uint64_t x = get_bits(found, size, i), y = get_bits(expected, size, i);
        if (x != y && !(is_nan(type, x) && is_nan(type, y)))
            fail_msg("%s: %s of %s, lane %zu of %zu, argument %a: %a, expected %a",
                     what, row->name, type_of(type)->name, i, n,
                     float_value(type, get_bits(a, size, i)), float_value(type, x),
                     float_value(type, y));
    }
}

/* The entries of a variable are these. */
static void check_variable(const char *what, const Row *row, VarType type, size_t n,
                           const void *a, uint32_t id, const void *expected)
{
    void *data;
    OK(id);
    uint32_t stored = data_of(id, &data);
    OK(stored);
    check_same(what, row, type, n, a, data, expected);
    jit_var_dec_ref(stored);
}

/* --------------------------------------------------------------- whole arrays */

static void check_array(const Row *row, VarType type, size_t n, const void *a,
                        const void *b)
{
    void *expected = malloc(n * type_of(type)->size);
    host(row->op, type, n, a, 1, b, 1, expected);
    uint32_t x[] = { array_of(type, a, n), array_of(type, b, n) };
    uint32_t y = compute_row(row->op, x);
    check_variable("array", row, type, n, a, y, expected);
    DROP(x[0], x[1], y);
    free(expected);
}

static void test_engines(void **unused)
{
    (void) unused;
    const size_t n = engine_is("llvm") ? 20011 : 300007;
    for (size_t t = 1; t < COUNT_OF(float_types); ++t) {
        void *a = arguments(float_types[t], n), *b = arguments(float_types[t], n);
        for (size_t r = 0; r < COUNT_OF(rows); ++r)
            check_array(&rows[r], float_types[t], n, a, b);
        free(a);
        free(b);
    }
    void *a = half_arguments(), *b = arguments(VarTypeFloat16, 65536);
    for (size_t r = 0; r < COUNT_OF(rows); ++r)
        check_array(&rows[r], VarTypeFloat16, 65536, a, b);
    free(a);
    free(b);
}

/* Ends of arrays, and one value for all lanes. */
static void test_sizes(void **unused)
{
    (void) unused;
    enum { MOST = 67 };
    const VarType type = VarTypeFloat32;
    float *a = arguments(type, 3 * MOST), *b = arguments(type, 3 * MOST);
    a += MOST; /* without the special ones */
    for (size_t r = 0; r < COUNT_OF(rows); ++r) {
        const Row *row = &rows[r];
        float expected[MOST];
        for (size_t n = 1; n <= MOST; n += 1 + n / 9)
            check_array(row, type, n, a, b);
        uint32_t array = array_of(type, a, MOST), one = array_of(type, b, 1), y[2];
        y[0] = compute_row(row->op, (uint32_t[]){ array, one });
        y[1] = compute_row(row->op, (uint32_t[]){ one, array });
        host(row->op, type, MOST, a, 1, b, 0, expected);
        check_variable("one on the right", row, type, MOST, a, y[0], expected);
        bool two = arity_of(row->op) == 2;
        host(row->op, type, MOST, b, 0, a, 1, expected);
        check_variable("one on the left", row, type, two ? MOST : 1, b, y[1], expected);
        DROP(array, one, y[0], y[1]);
    }
    free(a - MOST);
    free(b);
}

/* --------------------------------------------------------------------- literals */

static void test_literals(void **unused)
{
    (void) unused;
    enum { COUNT = 160 };
    for (size_t t = 0; t < COUNT_OF(float_types); ++t) {
        VarType type = float_types[t];
        uint32_t size = type_of(type)->size;
        void *a = arguments(type, COUNT), *b = arguments(type, COUNT);
        uint64_t folded[COUNT], expected[COUNT];
        for (size_t r = 0; r < COUNT_OF(rows); ++r) {
            for (size_t i = 0; i < COUNT; ++i) {
                uint32_t x[] = { literal_of(type, get_bits(a, size, i), 1),
                                 literal_of(type, get_bits(b, size, i), 1) };
                uint32_t y = compute_row(rows[r].op, x);
                OK(y);
                assert_int_equal(jit_var_state(y), VarStateLiteral);
                OK(jit_var_read(y, 0, (char *) folded + i * size));
                DROP(x[0], x[1], y);
            }
            host(rows[r].op, type, COUNT, a, 1, b, 1, expected);
            check_same("literals", &rows[r], type, COUNT, a, folded, expected);
        }
        free(a);
        free(b);
    }
}

/* One literal operand, for which the tracer may know something simpler. */
static void test_literal_operand(void **unused)
{
    (void) unused;
    enum { N = 300 };
    static const double numbers[] = { 0, -0.0, 1, -1, 2, 3, 0.5, -0.5, INFINITY, NAN };
    for (size_t t = 1; t < COUNT_OF(float_types); ++t) {
        VarType type = float_types[t];
        void *a = arguments(type, N);
        uint64_t expected[N];
        uint32_t array = array_of(type, a, N);
        for (size_t r = 0; r < COUNT_OF(rows); ++r) {
            const Row *row = &rows[r];
            for (size_t k = 0; k < COUNT_OF(numbers) && arity_of(row->op) == 2; ++k) {
                uint64_t bits = float_bits(type, numbers[k]);
                uint32_t x = literal_of(type, bits, 1);
                uint32_t right = compute_row(row->op, (uint32_t[]){ array, x });
                uint32_t left = compute_row(row->op, (uint32_t[]){ x, array });
                host(row->op, type, N, a, 1, &bits, 0, expected);
                check_variable("literal on the right", row, type, N, a, right,
                               expected);
                host(row->op, type, N, &bits, 0, a, 1, expected);
                check_variable("literal on the left", row, type, N, a, left, expected);
                DROP(x, right, left);
            }
        }
        jit_var_dec_ref(array);
        free(a);
    }
}

/* -------------------------------------------------------- two of one argument */

static void check_both(void (*both)(uint32_t, uint32_t *, uint32_t *), Op first,
                       Op second, VarType type)
{
    enum { N = 5003 };
    const Row names[] = { { "first", first }, { "second", second } };
    void *a = arguments(type, N);
    uint64_t expected[2][N];
    for (int k = 0; k < 2; ++k)
        host(names[k].op, type, N, a, 1, a, 1, expected[k]);
    /* In one kernel. */
    uint32_t x = array_of(type, a, N), one, other;
    both(x, &one, &other);
    OK(one && other);
    OK(jit_var_schedule(one));
    OK(jit_var_schedule(other));
    OK(jit_eval());
    check_variable("together", &names[0], type, N, a, one, expected[0]);
    check_variable("together", &names[1], type, N, a, other, expected[1]);
    DROP(one, other);
    /* In two. */
    both(x, &one, &other);
    check_variable("one after the other", &names[1], type, N, a, other, expected[1]);
    check_variable("one after the other", &names[0], type, N, a, one, expected[0]);
    DROP(one, other);
    /* Of literals, and after an error. */
    uint64_t bits = float_bits(type, 0.7), found[2] = { 0 };
    uint32_t literal = literal_of(type, bits, 1);
    both(literal, &one, &other);
    OK(jit_var_read(one, 0, &found[0]));
    OK(jit_var_read(other, 0, &found[1]));
    for (int k = 0; k < 2; ++k) {
        uint64_t alone = 0;
        host(names[k].op, type, 1, &bits, 0, &bits, 0, &alone);
        assert_true(found[k] == alone);
    }
    DROP(literal, one, other, x);
    free(a);
    one = other = 5;
    both(0, &one, &other);
    assert_true(one == 0 && other == 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "");
}

static void test_both(void **unused)
{
    (void) unused;
    for (size_t t = 0; t < COUNT_OF(float_types); ++t) {
        check_both(jit_var_sincos, OP_SIN, OP_COS, float_types[t]);
        check_both(jit_var_sincosh, OP_SINH, OP_COSH, float_types[t]);
    }
}

/* ---------------------------------------------------------------- regions */

enum { LANES = 515, STEPS = 4 };

/* What the bodies of regions compute with. */
static Op region_op;
static uint32_t region_operand;

/* op(x, the other operand), as a new reference. */
static uint32_t apply(uint32_t x)
{
    uint32_t y = compute_row(region_op, (uint32_t[]){ x, region_operand });
    OK(y);
    return y;
}

/* state: iteration, limit, value */
static uint32_t below(const uint32_t *states)
{
    return jit_var_lt(states[0], states[1]);
}

static void apply_step(uint32_t *states)
{
    add_u32(&states[0], 1);
    set(&states[2], apply(states[2]));
}

static void check_loop(const Row *row, VarType type, const void *a, const void *b)
{
    uint32_t size = type_of(type)->size, limits[LANES];
    uint64_t expected[LANES], next[LANES];
    memcpy(expected, a, LANES * size);
    for (uint32_t i = 0; i < LANES; ++i)
        limits[i] = i % (STEPS + 1);
    for (uint32_t k = 0; k < STEPS; ++k) {
        host(row->op, type, LANES, expected, 1, b, 1, next);
        for (uint32_t i = 0; i < LANES; ++i)
            if (k < limits[i])
                put_bits(expected, size, i, get_bits(next, size, i));
    }
    uint32_t states[] = { u32(0), u32_array(LANES, limits), array_of(type, a, LANES) };
    run_loop("functions", 3, states, below, apply_step);
    check_variable("loop", row, type, LANES, a, states[2], expected);
    DROP(states[0], states[1], states[2]);
}

/* f(x) here, f(-x) there, f(x) before and after: nothing may be shared that is not
 * computed in all lanes. */
static void check_cond(const Row *row, VarType type, const void *a, const void *b)
{
    uint32_t size = type_of(type)->size;
    uint64_t plain[LANES], mirrored[LANES], opposite[LANES];
    uint8_t odd[LANES];
    uint64_t sign = UINT64_C(1) << (8 * size - 1);
    for (uint32_t i = 0; i < LANES; ++i) {
        odd[i] = i % 3 == 1;
        put_bits(opposite, size, i, get_bits(a, size, i) ^ sign);
    }
    host(row->op, type, LANES, a, 1, b, 1, plain);
    host(row->op, type, LANES, opposite, 1, b, 1, mirrored);
    for (int before = 0; before < 2; ++before) {
        uint32_t x = array_of(type, a, LANES), m = array_of(VarTypeBool, odd, LANES);
        uint32_t first = before ? apply(x) : 0, result, out;
        uint32_t cond = jit_var_cond_start("functions", m);
        OK(cond);
        out = apply(x);
        OK(jit_var_cond_append(cond, 1, &out));
        jit_var_dec_ref(out);
        uint32_t negative = jit_var_neg(x);
        out = apply(negative);
        OK(jit_var_cond_append(cond, 1, &out));
        DROP(out, negative);
        OK(jit_var_cond_end(cond, &result));
        uint32_t last = apply(x);
        OK(jit_var_schedule(last));
        uint64_t expected[LANES];
        for (uint32_t i = 0; i < LANES; ++i)
            put_bits(expected, size, i, get_bits(odd[i] ? plain : mirrored, size, i));
        check_variable("conditional", row, type, LANES, a, result, expected);
        check_variable("after it", row, type, LANES, a, last, plain);
        if (before)
            check_variable("before it", row, type, LANES, a, first, plain);
        DROP(x, m, first, result, last);
    }
}

/* Two callables with the function and one without. */
static void check_call(const Row *row, VarType type, const void *a, const void *b)
{
    uint32_t size = type_of(type)->size, who[LANES];
    uint64_t once[LANES], twice[LANES], expected[LANES];
    host(row->op, type, LANES, a, 1, b, 1, once);
    host(row->op, type, LANES, once, 1, b, 1, twice);
    for (uint32_t i = 0; i < LANES; ++i) {
        who[i] = i * 7 % 4;
        const void *const from[] = { NULL, once, twice, a };
        put_bits(expected, size, i, who[i] ? get_bits(from[who[i]], size, i) : 0);
    }
    uint32_t x = array_of(type, a, LANES), self = u32_array(LANES, who), result, out;
    uint32_t call = jit_var_call_start(CPU, "functions", ALWAYS);
    OK(call);
    uint32_t in = jit_var_call_input(call, x), outside = region_operand;
    region_operand = jit_var_call_input(call, outside);
    out = apply(in);
    OK(jit_var_call_append(call, 1, &out));
    jit_var_dec_ref(out);
    uint32_t half_way = apply(in);
    out = apply(half_way);
    OK(jit_var_call_append(call, 1, &out));
    DROP(out, half_way);
    OK(jit_var_call_append(call, 1, &in));
    OK(jit_var_call(call, self, 3, NULL, NULL, &result));
    check_variable("call", row, type, LANES, a, result, expected);
    DROP(x, self, in, region_operand, result);
    region_operand = outside;
}

static void test_regions(void **unused)
{
    (void) unused;
    /* libLLVM takes long for this many kernels. */
    size_t types = engine_is("llvm") ? 2 : COUNT_OF(float_types);
    for (size_t t = 1; t < types; ++t) {
        VarType type = float_types[t];
        void *a = arguments(type, LANES), *b = arguments(type, LANES);
        region_operand = array_of(type, b, LANES);
        for (size_t r = 0; r < COUNT_OF(rows); ++r) {
            region_op = rows[r].op;
            check_loop(&rows[r], type, a, b);
            check_cond(&rows[r], type, a, b);
            check_call(&rows[r], type, a, b);
        }
        jit_var_dec_ref(region_operand);
        free(a);
        free(b);
    }
}

/* All in one kernel, each on the result of the one before, which is brought back into
 * the domains by an addition. */
static void test_chain(void **unused)
{
    (void) unused;
    for (size_t t = 0; t < COUNT_OF(float_types); ++t) {
        VarType type = float_types[t];
        uint32_t size = type_of(type)->size;
        void *a = arguments(type, LANES), *b = arguments(type, LANES);
        uint64_t expected[LANES], next[LANES];
        uint32_t y = array_of(type, a, LANES), x = array_of(type, b, LANES);
        memcpy(expected, a, LANES * size);
        for (size_t r = 0; r < COUNT_OF(rows); ++r) {
            uint32_t result = compute_row(rows[r].op, (uint32_t[]){ y, x });
            set(&y, jit_var_add(result, x));
            jit_var_dec_ref(result);
            host(rows[r].op, type, LANES, expected, 1, b, 1, next);
            host(OP_ADD, type, LANES, next, 1, b, 1, expected);
        }
        check_variable("chain", &(Row){ .name = "all" }, type, LANES, a, y, expected);
        DROP(x, y);
        free(a);
        free(b);
    }
}

/* ------------------------------------------------------------- special values */

#define INF INFINITY
static const struct {
    Op op;
    double a, b, y;
} specials[] = {
    { OP_SIN, 0, 0, 0 }, { OP_SIN, -0.0, 0, -0.0 }, { OP_SIN, INF, 0, NAN },
    { OP_SIN, -INF, 0, NAN }, { OP_SIN, NAN, 0, NAN },
    { OP_COS, 0, 0, 1 }, { OP_COS, -0.0, 0, 1 }, { OP_COS, INF, 0, NAN },
    { OP_COS, -INF, 0, NAN }, { OP_COS, NAN, 0, NAN },
    { OP_TAN, 0, 0, 0 }, { OP_TAN, -0.0, 0, -0.0 }, { OP_TAN, INF, 0, NAN },
    { OP_TAN, -INF, 0, NAN }, { OP_TAN, NAN, 0, NAN },
    { OP_ASIN, 0, 0, 0 }, { OP_ASIN, -0.0, 0, -0.0 }, { OP_ASIN, 1.5, 0, NAN },
    { OP_ASIN, -2, 0, NAN }, { OP_ASIN, INF, 0, NAN }, { OP_ASIN, -INF, 0, NAN },
    { OP_ASIN, NAN, 0, NAN },
    { OP_ACOS, 1, 0, 0 }, { OP_ACOS, 1.5, 0, NAN }, { OP_ACOS, -2, 0, NAN },
    { OP_ACOS, INF, 0, NAN }, { OP_ACOS, -INF, 0, NAN }, { OP_ACOS, NAN, 0, NAN },
    { OP_ATAN, 0, 0, 0 }, { OP_ATAN, -0.0, 0, -0.0 }, { OP_ATAN, NAN, 0, NAN },
    { OP_SINH, 0, 0, 0 }, { OP_SINH, -0.0, 0, -0.0 }, { OP_SINH, INF, 0, INF },
    { OP_SINH, -INF, 0, -INF }, { OP_SINH, NAN, 0, NAN },
    { OP_COSH, 0, 0, 1 }, { OP_COSH, -0.0, 0, 1 }, { OP_COSH, INF, 0, INF },
    { OP_COSH, -INF, 0, INF }, { OP_COSH, NAN, 0, NAN },
    { OP_TANH, 0, 0, 0 }, { OP_TANH, -0.0, 0, -0.0 }, { OP_TANH, INF, 0, 1 },
    { OP_TANH, -INF, 0, -1 }, { OP_TANH, NAN, 0, NAN },
    { OP_ASINH, 0, 0, 0 }, { OP_ASINH, -0.0, 0, -0.0 }, { OP_ASINH, INF, 0, INF },
    { OP_ASINH, -INF, 0, -INF }, { OP_ASINH, NAN, 0, NAN },
    { OP_ACOSH, 1, 0, 0 }, { OP_ACOSH, 0.5, 0, NAN }, { OP_ACOSH, 0, 0, NAN },
    { OP_ACOSH, -1, 0, NAN }, { OP_ACOSH, -INF, 0, NAN },
    { OP_ACOSH, INF, 0, INF }, { OP_ACOSH, NAN, 0, NAN },
    { OP_ATANH, 0, 0, 0 }, { OP_ATANH, -0.0, 0, -0.0 }, { OP_ATANH, 1, 0, INF },
    { OP_ATANH, -1, 0, -INF }, { OP_ATANH, 1.5, 0, NAN },
    { OP_ATANH, -2, 0, NAN }, { OP_ATANH, INF, 0, NAN },
    { OP_ATANH, -INF, 0, NAN }, { OP_ATANH, NAN, 0, NAN },
    { OP_EXP, 0, 0, 1 }, { OP_EXP, -0.0, 0, 1 }, { OP_EXP, INF, 0, INF },
    { OP_EXP, -INF, 0, 0 }, { OP_EXP, 60000, 0, INF }, { OP_EXP, -60000, 0, 0 },
    { OP_EXP, NAN, 0, NAN },
    { OP_EXP2, 0, 0, 1 }, { OP_EXP2, -0.0, 0, 1 }, { OP_EXP2, INF, 0, INF },
    { OP_EXP2, -INF, 0, 0 }, { OP_EXP2, 1, 0, 2 }, { OP_EXP2, -3, 0, 0.125 },
    { OP_EXP2, 15, 0, 32768 }, { OP_EXP2, -24, 0, 0x1p-24 },
    { OP_EXP2, NAN, 0, NAN },
    { OP_LOG, 0, 0, -INF }, { OP_LOG, -0.0, 0, -INF }, { OP_LOG, 1, 0, 0 },
    { OP_LOG, -1, 0, NAN }, { OP_LOG, -0x1p-20, 0, NAN }, { OP_LOG, INF, 0, INF },
    { OP_LOG, -INF, 0, NAN }, { OP_LOG, NAN, 0, NAN },
    { OP_LOG2, 0, 0, -INF }, { OP_LOG2, -0.0, 0, -INF }, { OP_LOG2, 1, 0, 0 },
    { OP_LOG2, -1, 0, NAN }, { OP_LOG2, INF, 0, INF }, { OP_LOG2, -INF, 0, NAN },
    { OP_LOG2, 8, 0, 3 }, { OP_LOG2, 0x1p-24, 0, -24 }, { OP_LOG2, NAN, 0, NAN },
    { OP_RSQRT, 0, 0, INF }, { OP_RSQRT, -0.0, 0, -INF }, { OP_RSQRT, INF, 0, 0 },
    { OP_RSQRT, -INF, 0, NAN }, { OP_RSQRT, -1, 0, NAN }, { OP_RSQRT, 1, 0, 1 },
    { OP_RSQRT, 4, 0, .5 }, { OP_RSQRT, NAN, 0, NAN },
    { OP_CBRT, 0, 0, 0 }, { OP_CBRT, -0.0, 0, -0.0 }, { OP_CBRT, INF, 0, INF },
    { OP_CBRT, -INF, 0, -INF }, { OP_CBRT, 8, 0, 2 }, { OP_CBRT, -27, 0, -3 },
    { OP_CBRT, 1, 0, 1 }, { OP_CBRT, NAN, 0, NAN },
    { OP_ERF, 0, 0, 0 }, { OP_ERF, -0.0, 0, -0.0 }, { OP_ERF, INF, 0, 1 },
    { OP_ERF, -INF, 0, -1 }, { OP_ERF, 100, 0, 1 }, { OP_ERF, NAN, 0, NAN },
    { OP_ERFINV, 0, 0, 0 }, { OP_ERFINV, -0.0, 0, -0.0 },
    { OP_ERFINV, 1, 0, INF }, { OP_ERFINV, -1, 0, -INF },
    { OP_ERFINV, 1.5, 0, NAN }, { OP_ERFINV, -2, 0, NAN },
    { OP_ERFINV, INF, 0, NAN }, { OP_ERFINV, NAN, 0, NAN },
    { OP_LGAMMA, 1, 0, 0 }, { OP_LGAMMA, 2, 0, 0 }, { OP_LGAMMA, 0, 0, INF },
    { OP_LGAMMA, -0.0, 0, INF }, { OP_LGAMMA, -1, 0, INF },
    { OP_LGAMMA, -2, 0, INF }, { OP_LGAMMA, -60000, 0, INF },
    { OP_LGAMMA, INF, 0, INF }, { OP_LGAMMA, -INF, 0, INF },
    { OP_LGAMMA, NAN, 0, NAN },
    { OP_DIGAMMA, 0, 0, -INF }, { OP_DIGAMMA, -0.0, 0, INF },
    { OP_DIGAMMA, -1, 0, NAN }, { OP_DIGAMMA, -2, 0, NAN },
    { OP_DIGAMMA, -60000, 0, NAN }, { OP_DIGAMMA, INF, 0, INF },
    { OP_DIGAMMA, -INF, 0, NAN }, { OP_DIGAMMA, NAN, 0, NAN },
    { OP_TRIGAMMA, 0, 0, INF }, { OP_TRIGAMMA, -0.0, 0, INF },
    { OP_TRIGAMMA, -1, 0, INF }, { OP_TRIGAMMA, -60000, 0, INF },
    { OP_TRIGAMMA, INF, 0, 0 }, { OP_TRIGAMMA, -INF, 0, NAN },
    { OP_TRIGAMMA, NAN, 0, NAN },
    { OP_ATAN2, 0, 0, 0 }, { OP_ATAN2, -0.0, 0, -0.0 }, { OP_ATAN2, 0, 2, 0 },
    { OP_ATAN2, -0.0, 2, -0.0 }, { OP_ATAN2, 3, INF, 0 },
    { OP_ATAN2, -3, INF, -0.0 }, { OP_ATAN2, NAN, 1, NAN },
    { OP_ATAN2, 1, NAN, NAN }, { OP_ATAN2, NAN, INF, NAN },
    { OP_ATAN2, 0, INF, 0 }, { OP_ATAN2, -0.0, INF, -0.0 },
    { OP_POWER, 0, -3, INF }, { OP_POWER, -0.0, -3, -INF },
    { OP_POWER, 0, -2, INF }, { OP_POWER, -0.0, -2, INF },
    { OP_POWER, -0.0, -2.5, INF }, { OP_POWER, 0, -INF, INF },
    { OP_POWER, -0.0, -INF, INF }, { OP_POWER, 0, 3, 0 },
    { OP_POWER, -0.0, 3, -0.0 }, { OP_POWER, 0, 2, 0 }, { OP_POWER, -0.0, 2, 0 },
    { OP_POWER, -0.0, 2.5, 0 }, { OP_POWER, -1, INF, 1 },
    { OP_POWER, -1, -INF, 1 }, { OP_POWER, 1, NAN, 1 }, { OP_POWER, 1, INF, 1 },
    { OP_POWER, NAN, 0, 1 }, { OP_POWER, NAN, -0.0, 1 }, { OP_POWER, INF, 0, 1 },
    { OP_POWER, 0, 0, 1 }, { OP_POWER, -2, 0.5, NAN },
    { OP_POWER, -8, 1.0 / 3, NAN }, { OP_POWER, 0.5, -INF, INF },
    { OP_POWER, -0.5, -INF, INF }, { OP_POWER, 2, -INF, 0 },
    { OP_POWER, -2, -INF, 0 }, { OP_POWER, 0.5, INF, 0 },
    { OP_POWER, -0.5, INF, 0 }, { OP_POWER, 2, INF, INF },
    { OP_POWER, -2, INF, INF }, { OP_POWER, -INF, -3, -0.0 },
    { OP_POWER, -INF, -2, 0 }, { OP_POWER, -INF, -2.5, 0 },
    { OP_POWER, -INF, 3, -INF }, { OP_POWER, -INF, 2, INF },
    { OP_POWER, -INF, 2.5, INF }, { OP_POWER, INF, -1, 0 },
    { OP_POWER, INF, 1, INF }, { OP_POWER, NAN, 1, NAN },
    { OP_POWER, 2, NAN, NAN }, { OP_POWER, -2, 3, -8 }, { OP_POWER, 2, 10, 1024 },
    { OP_POWER, -2, -3, -0.125 }, { OP_POWER, 9, 0.5, 3 }, { OP_POWER, 5, 1, 5 },
    { OP_POWER, 4, -0.5, 0.5 }, { OP_POWER, -INF, INF, INF },
    { OP_POWER, -INF, -INF, 0 }, { OP_POWER, INF, NAN, NAN },
    { OP_HYPOT, INF, NAN, INF }, { OP_HYPOT, NAN, -INF, INF },
    { OP_HYPOT, -INF, 1, INF }, { OP_HYPOT, NAN, 1, NAN }, { OP_HYPOT, -3, 0, 3 },
    { OP_HYPOT, -0.0, -0.0, 0 }, { OP_HYPOT, -0.0, -5, 5 },
    { OP_HYPOT, 3, -4, 5 },
};
#undef INF

static void test_specials(void **unused)
{
    (void) unused;
    for (size_t t = 0; t < COUNT_OF(float_types); ++t)
        for (size_t i = 0; i < COUNT_OF(specials); ++i) {
            VarType type = float_types[t];
            uint64_t found = 0, y = float_bits(type, specials[i].y);
            uint64_t bits[] = { float_bits(type, specials[i].a),
                                float_bits(type, specials[i].b) };
            uint32_t x[] = { array_of(type, &bits[0], 1), array_of(type, &bits[1], 1) };
            uint32_t result = compute_row(specials[i].op, x);
            OK(result);
            OK(jit_var_read(result, 0, &found));
            if (found != y && !(is_nan(type, found) && is_nan(type, y)))
                fail_msg("%s of %s(%g, %g) = %g, expected %g",
                         op_info[specials[i].op].name,
                         type_of(type)->name, specials[i].a, specials[i].b,
                         float_value(type, found), specials[i].y);
            DROP(x[0], x[1], result);
        }
}

/* ----------------------------------------------------------------- derivatives */

static double compute(Op op, double a, double b)
{
    double y;
    host(op, VarTypeFloat64, 1, &a, 0, &b, 0, &y);
    return y;
}

/* The derivative of the trigamma function, by its recurrence and asymptotic series. */
static double tetragamma(double x)
{
    if (x < 0.5) {
        double wave = M_PI / sin(M_PI * x);
        return tetragamma(1 - x) - 2 * pow(wave, 3) * cos(M_PI * x);
    }
    double sum = 0;
    for (; x < 20; x += 1)
        sum -= 2 / (x * x * x);
    double t = 1 / (x * x);
    return sum - t - t / x - t * t * (1.0 / 2 - t * (1.0 / 6 - t * (1.0 / 6)));
}

/* The column of math.def over doubles, computed by the functions themselves: a row of
 * one operand has no 'b', and none has more or fewer derivatives than operands. */
#define D_NUMBER(x) ((double) (x))
#define D_1(op, x) compute(OP_##op, x, 0)
#define D_2(op, x, y) compute(OP_##op, x, y)
#define D_UNLESS_ZERO(x, y) ((x) == 0 ? 0 : (y))
#define D_REPLACE_GRAD(x, y) ((void) (y), (x))
#define D_TETRAGAMMA(x) tetragamma(x)

#define DERIVATIVES(_1, _2, n, ...) DERIVATIVES_##n
#define DERIVATIVES_1(name, first)                                     \
    static double first_##name(double a, double y)                     \
    {                                                                  \
        (void) a, (void) y;                                            \
        return first;                                                  \
    }
#define DERIVATIVES_2(name, first, second)                             \
    static double first_##name(double a, double b, double y)           \
    {                                                                  \
        (void) a, (void) b, (void) y;                                  \
        return first;                                                  \
    }                                                                  \
    static double second_##name(double a, double b, double y)          \
    {                                                                  \
        (void) a, (void) b, (void) y;                                  \
        return second;                                                 \
    }
#define MATH(name, function, ...) \
    DERIVATIVES(__VA_ARGS__, 2, 1, )(name, __VA_ARGS__)
#include "lower/math/math.def"
#undef MATH

typedef struct Derivatives {
    double (*only)(double a, double y);
    double (*of[2])(double a, double b, double y);
} Derivatives;

#define ENTRY_1(name) { .only = first_##name }
#define ENTRY_2(name) { .of = { first_##name, second_##name } }
#define ENTRY(_1, _2, n, ...) ENTRY_##n
static const Derivatives derivatives[] = {
#define MATH(name, function, ...) ENTRY(__VA_ARGS__, 2, 1, )(name),
#include "lower/math/math.def"
#undef MATH
};

/* The difference quotient of fourth order by operand k. */
static double quotient(Op op, const double x[2], int k)
{
    static const double weights[] = { 1, -8, 8, -1 };
    const double h = 0x1p-11 * fabs(x[k]);
    double sum = 0;
    for (int i = 0; i < 4; ++i) {
        double moved[] = { x[0], x[1] };
        moved[k] += h * (i < 2 ? i - 2 : i - 1);
        sum += weights[i] * compute(op, moved[0], moved[1]);
    }
    return sum / (12 * h);
}

static void test_derivatives(void **unused)
{
    (void) unused;
    static const double points[] = { -3.7, -1.2, -0.6, -0.1, 0.03, 0.4, 0.9, 1.3, 5.3 };
    for (size_t r = 0; r < COUNT_OF(rows); ++r) {
        const Derivatives *d = &derivatives[r];
        int arity = arity_of(rows[r].op), compared = 0;
        assert_int_equal(arity, d->only ? 1 : 2);
        for (size_t i = 0; i < COUNT_OF(points) * COUNT_OF(points); ++i) {
            double x[] = { points[i / COUNT_OF(points)], points[i % COUNT_OF(points)] };
            double y = compute(rows[r].op, x[0], x[1]);
            for (int k = 0; k < arity; ++k) {
                double expected = quotient(rows[r].op, x, k);
                double found = d->only ? d->only(x[0], y) : d->of[k](x[0], x[1], y);
                if (isnan(y) || isnan(expected) || isnan(found))
                    continue; /* outside of its domain */
                compared++;
                if (fabs(found - expected) > 1e-7 * fmax(fabs(expected), 1e-3))
                    fail_msg("derivative %d of %s at (%g, %g): %.17g, expected %.17g",
                             k, rows[r].name, x[0], x[1], found, expected);
            }
        }
        if (compared < 2 * (int) COUNT_OF(points))
            fail_msg("%s: only %d points", rows[r].name, compared);
    }
}

/* ------------------------------------------------------------------- the host */

/* Threads that all want a function that none has used before. */
static void *use_host(void *out)
{
    const float x = 0.75f;
    float *results = out;
    for (size_t r = 0; r < COUNT_OF(rows); ++r)
        host(rows[r].op, VarTypeFloat32, 1, &x, 0, &x, 0, &results[r]);
    return NULL;
}

static void test_host_threads(void **unused)
{
    (void) unused;
    enum { THREADS = 4 };
    float results[THREADS][COUNT_OF(rows)];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, use_host, results[i]), 0);
    for (int i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 1; i < THREADS; ++i)
        assert_memory_equal(results[i], results[0], sizeof(results[0]));
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_host_threads), TEST(test_rows),     TEST(test_rejected),
        TEST(test_engines),
        TEST(test_sizes),        TEST(test_literals), TEST(test_literal_operand),
        TEST(test_both),         TEST(test_regions),  TEST(test_chain),
        TEST(test_specials),     TEST(test_derivatives),
    };
    return cmocka_run_group_tests_name("math", tests, NULL, NULL);
}

int main(void)
{
    /* Kernels on disk may be of rules that have changed since. */
    setenv("DRJIT_CACHE_DIR", "", 1);
    return run_engines(run);
}
