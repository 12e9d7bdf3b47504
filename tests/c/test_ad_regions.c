/*
 * test_ad_regions.c -- derivatives through conditionals and calls
 */
#include "ad_util.h"

static Tracked square(Tracked x)
{
    Tracked y = ad_var_mul(x, x);
    ad_var_dec_ref(x);
    return y;
}

static Tracked number(double x)
{
    return jit_var_f64(CPU, x);
}

static uint32_t below(Tracked x, double bound)
{
    Tracked b = number(bound);
    uint32_t mask = jit_var_lt(ad_var_index(x), ad_var_index(b));
    FREE(b);
    OK(mask);
    return mask;
}

typedef struct Sides {
    void (*side[2])(const Tracked *x, Tracked *out);
    size_t n;
} Sides;

static Tracked run_sides(const Sides *s, uint32_t condition, const Tracked *x)
{
    Tracked out[4], results[4];
    uint32_t cond = ad_var_cond_start("sides", condition);
    OK(cond);
    for (int i = 0; i < 2; ++i) {
        s->side[i](x, out);
        OK(ad_var_cond_append(cond, s->n, out));
        free_all(out, s->n);
    }
    OK(ad_var_cond_end(cond, results));
    Tracked sum = ad_var_inc_ref(results[0]);
    for (size_t i = 1; i < s->n; ++i) {
        Tracked next = ad_var_fma(sum, results[i], results[i]);
        ad_var_dec_ref(sum);
        sum = next;
    }
    free_all(results, s->n);
    return sum;
}

static Tracked conditional(const Tracked *x, const void *payload)
{
    uint32_t mask = below(x[0], 1);
    Tracked y = run_sides(payload, mask, x);
    jit_var_dec_ref(mask);
    return y;
}

/* arithmetic; what passes through; values from outside */
static void smooth(const Tracked *x, Tracked *out)
{
    Tracked s = ad_var_op(JitOpSin, &x[0]);
    out[0] = ad_var_mul(s, x[1]);
    out[1] = ad_var_inc_ref(x[1]);
    FREE(s);
}

static void other(const Tracked *x, Tracked *out)
{
    Tracked e = ad_var_op(JitOpExp, &x[1]);
    out[0] = ad_var_mul(e, e);
    out[1] = number(3);
    FREE(e);
}

/* gathers by lane, from an array that is used as it is, too */
static void reading(const Tracked *x, Tracked *out)
{
    uint32_t lane = jit_var_counter(CPU, 5), two = jit_var_u32(CPU, 2);
    uint32_t half = jit_var_div(lane, two);
    Tracked g = ad_var_gather(x[1], half, 0, ReduceModeAuto);
    Tracked h = ad_var_gather(x[1], lane, 0, ReduceModeAuto);
    Tracked product = ad_var_mul(g, h);
    out[0] = ad_var_mul(product, x[0]);
    out[1] = ad_var_mul(x[1], g);
    FREE(lane, two, half, g, h, product);
}

static const Sides side_sets[] = {
    { { smooth, other }, 2 },   { { other, smooth }, 2 },    { { reading, other }, 2 },
    { { smooth, reading }, 2 }, { { reading, reading }, 2 },
};

static const Point lanes = { .inputs = 2,
                             .size = { 5, 5 },
                             .x = { { 0.3, 1.5, -0.7, 2.2, 0.9 },
                                    { 0.8, -0.4, 0.5, 1.2, -1.1 } } };

static void test_conditionals(void **unused)
{
    (void) unused;
    for (int symbolic = 1; symbolic >= 0; --symbolic) {
        jit_set_flag(JitFlagSymbolicConditionals, symbolic);
        for (size_t i = 0; i < COUNT_OF(side_sets); ++i)
            check_program(symbolic ? "symbolic" : "evaluated", conditional,
                          &side_sets[i], &lanes);
        /* a parameter with one entry, used by all lanes */
        Point one = lanes;
        one.size[1] = 1;
        check_program("one entry", conditional, &side_sets[0], &one);
    }
    jit_set_flag(JitFlagSymbolicConditionals, 1);
}

static Tracked nested(const Tracked *x, const void *unused)
{
    (void) unused;
    uint32_t outer = below(x[0], 1), cond = ad_var_cond_start("outer", outer);
    OK(cond);
    Tracked s = square(ad_var_inc_ref(x[1])), result;
    uint32_t inner = below(s, 0.7);
    Tracked in[] = { s, x[0] };
    Tracked y = run_sides(&side_sets[0], inner, in), z = ad_var_mul(y, s);
    OK(ad_var_cond_append(cond, 1, &z));
    FREE(s, inner, y, z);
    y = ad_var_op(JitOpCos, &x[1]);
    OK(ad_var_cond_append(cond, 1, &y));
    OK(ad_var_cond_end(cond, &result));
    FREE(outer, y);
    return result;
}

static Tracked literal(const Tracked *x, const void *unused)
{
    (void) unused;
    uint32_t yes = jit_var_bool(CPU, true);
    Tracked y = run_sides(&side_sets[0], yes, x);
    jit_var_dec_ref(yes);
    return y;
}

static void test_nested(void **unused)
{
    (void) unused;
    check_program("nested", nested, NULL, &lanes);
    check_program("literal", literal, NULL, &lanes);
}

/* A scatter within a side, whose array is read after it. */
static Tracked writing(const Tracked *x, const void *op)
{
    uint32_t mask = below(x[0], 1), where = u32_array(5, (uint32_t[]){ 4, 1, 3, 1, 0 });
    Tracked target = square(ad_var_inc_ref(x[1]));
    uint32_t cond = ad_var_cond_start("writing", mask);
    OK(cond);
    Tracked value = square(ad_var_inc_ref(x[0]));
    Tracked written =
        ad_var_scatter(target, value, where, 0, *(const ReduceOp *) op, ReduceModeAuto);
    OK(written);
    OK(ad_var_cond_append(cond, 0, NULL));
    OK(ad_var_cond_append(cond, 0, NULL));
    OK(ad_var_cond_end(cond, NULL));
    FREE(mask, where, target, value);
    return square(written);
}

static void test_writes(void **unused)
{
    (void) unused;
    for (int symbolic = 1; symbolic >= 0; --symbolic) {
        jit_set_flag(JitFlagSymbolicConditionals, symbolic);
        ReduceOp op = ReduceOpAdd;
        check_program("scatter_add in a side", writing, &op, &lanes);
        op = ReduceOpIdentity;
        check_program("scatter in a side", writing, &op, &lanes);
    }
    jit_set_flag(JitFlagSymbolicConditionals, 1);
}

/* ------------------------------------------------------------------ calls */

typedef struct Calls {
    bool inputs; /* values are given as inputs, else used from outside */
    bool write;
    int callables;
} Calls;

static Tracked callable(int which, Tracked a, Tracked b, Tracked array)
{
    Tracked result;
    switch (which) {
    case 0: {
        Tracked s = ad_var_op(JitOpSin, &a);
        result = ad_var_mul(s, b);
        FREE(s);
        break;
    }
    case 1: {
        uint32_t one = jit_var_u32(CPU, 1);
        Tracked g = ad_var_gather(array, one, 0, ReduceModeAuto);
        Tracked p = ad_var_mul(g, a);
        result = ad_var_mul(p, g);
        FREE(one, g, p);
        break;
    }
    default:
        result = number(2);
        break;
    }
    return result;
}

static Tracked call(const Tracked *x, const void *payload)
{
    const Calls *c = payload;
    uint32_t self = u32_array(5, (uint32_t[]){ 1, 2, 0, 3, 2 });
    Tracked target = c->write ? square(ad_var_inc_ref(x[1])) : 0;
    uint32_t handle = ad_var_call_start(CPU, "call", 0);
    OK(handle);
    Tracked a = ad_var_inc_ref(x[0]), b = ad_var_inc_ref(x[2]), result;
    if (c->inputs) {
        FREE(a, b);
        a = ad_var_call_input(handle, x[0]);
        b = ad_var_call_input(handle, x[2]);
        OK(a && b);
    }
    for (int i = 0; i < c->callables; ++i) {
        Tracked y = callable(i, a, b, x[1]);
        if (c->write && i == 1) {
            uint32_t two = jit_var_u32(CPU, 2);
            Tracked next =
                ad_var_scatter(target, a, two, 0, ReduceOpAdd, ReduceModeAuto);
            OK(next);
            FREE(target, two);
            target = next;
        }
        OK(ad_var_call_append(handle, 1, &y));
        FREE(y);
    }
    OK(ad_var_call(handle, self, (uint32_t) c->callables, NULL, NULL, &result));
    FREE(a, b, self);
    Tracked y = square(result);
    if (c->write) {
        Tracked squares = square(target), sum = ad_var_add(y, squares);
        FREE(y, squares);
        y = sum;
    }
    return y;
}

static void test_calls(void **unused)
{
    (void) unused;
    const Point p = {
        .inputs = 3,
        .size = { 5, 5, 1 },
        .x = { { 0.3, 1.5, -0.7, 2.2, 0.9 }, { 0.8, -0.4, 0.5, 1.2, -1.1 }, { 0.6 } }
    };
    for (int bits = 0; bits < 4; ++bits)
        for (int callables = 2; callables <= 3; ++callables) {
            Calls c = { bits & 1, bits >> 1, callables };
            char name[64];
            snprintf(name, sizeof name, "call: inputs %d, writes %d, callables %d",
                     c.inputs, c.write, c.callables);
            check_program(name, call, &c, &p);
        }
}

/* ---------------------------------------------------------------- loops */

typedef struct Loop {
    int64_t max_iterations;
    bool sums;   /* the state is only added to */
    bool reads;  /* and there is a gather */
    bool nested; /* and a loop in the loop */
} Loop;

/* y * x (+ y) three times */
static Tracked inner_loop(Tracked y, Tracked x)
{
    uint64_t state[] = { ad_var_inc_ref(y), jit_var_u32(CPU, 0) };
    uint32_t three = jit_var_u32(CPU, 3), one = jit_var_u32(CPU, 1);
    uint32_t loop = ad_var_loop_start(CPU, "inner", ADLoopUnbounded, 2, state, NULL);
    int again;
    OK(loop);
    do {
        uint32_t more = jit_var_lt((uint32_t) state[1], three);
        again = ad_var_loop_cond(loop, more);
        FREE(more);
        if (again <= 0)
            continue;
        Tracked next = ad_var_fma(state[0], x, x);
        uint32_t number = jit_var_add((uint32_t) state[1], one);
        FREE(state[0], state[1]);
        state[0] = next;
        state[1] = number;
    } while (again >= 0 && (again = ad_var_loop_end(loop, state)) == 0);
    assert_int_equal(again, 1);
    FREE(three, one, state[1]);
    return state[0];
}

static Tracked loop_body(const Loop *l, const Tracked *x, Tracked y, uint32_t number)
{
    Tracked result;
    if (l->sums) {
        Tracked s = ad_var_op(JitOpSin, &x[0]);
        result = ad_var_fma(s, x[1], y);
        FREE(s);
    } else {
        Tracked c = ad_var_op(JitOpCos, &y);
        result = ad_var_fma(c, x[0], x[1]);
        FREE(c);
    }
    if (l->reads) {
        Tracked g = ad_var_gather(x[0], number, 0, ReduceModeAuto);
        Tracked sum = ad_var_add(result, g);
        FREE(result, g);
        result = sum;
    }
    if (l->nested) {
        Tracked inner = inner_loop(result, x[1]);
        FREE(result);
        result = inner;
    }
    return result;
}

/* As many iterations as 'times' says for each lane. */
static Tracked looped(const Tracked *x, const void *payload)
{
    static const uint32_t times[] = { 2, 0, 3, 1, 4 };
    const Loop *l = payload;
    uint64_t state[] = { ad_var_mul(x[0], x[1]), jit_var_u32(CPU, 0) };
    uint32_t limit = jit_var_mem_copy(CPU, VarTypeUInt32, times, COUNT_OF(times));
    uint32_t one = jit_var_u32(CPU, 1);
    uint32_t loop = ad_var_loop_start(CPU, "loop", l->max_iterations, 2, state, NULL);
    int again;
    OK(loop);
    do {
        uint32_t more = jit_var_lt((uint32_t) state[1], limit);
        again = ad_var_loop_cond(loop, more);
        FREE(more);
        if (again <= 0)
            continue;
        Tracked next = loop_body(l, x, state[0], (uint32_t) state[1]);
        uint32_t number = jit_var_add((uint32_t) state[1], one);
        FREE(state[0], state[1]);
        state[0] = next;
        state[1] = number;
    } while (again >= 0 && (again = ad_var_loop_end(loop, state)) == 0);
    assert_int_equal(again, 1);
    Tracked y = ad_var_mul(state[0], x[0]);
    FREE(limit, one, state[0], state[1]);
    return y;
}

static void test_loops(void **unused)
{
    (void) unused;
    static const Loop loops[] = {
        { ADLoopUnbounded, false, false, false },
        { 4, false, false, false },
        { 9, false, true, false },
        { ADLoopUnbounded, true, false, false },
        { ADLoopSums, true, true, false },
        { ADLoopUnbounded, false, true, true },
    };
    const size_t limit = ad_tape_limit();
    for (size_t i = 0; i < COUNT_OF(loops); ++i) {
        check_program("recorded", looped, &loops[i], &lanes);
        ad_set_tape_limit(1);
        check_program("without a tape", looped, &loops[i], &lanes);
        ad_set_tape_limit(limit);
        jit_set_flag(JitFlagSymbolicLoops, 0);
        check_program("evaluated", looped, &loops[i], &lanes);
        jit_set_flag(JitFlagSymbolicLoops, 1);
    }
}

static void test_loop_errors(void **unused)
{
    (void) unused;
    static const struct {
        Loop loop;
        uint32_t flags;
        JitError code;
        const char *message;
    } cases[] = {
        { { 3, false, false, false },
          ADFlagDefault,
          JIT_ERROR_ARGUMENT,
          "4 iterations" },
        { { ADLoopSums, false, false, false },
          ADFlagDefault,
          JIT_ERROR_ARGUMENT,
          "more than add" },
        { { ADLoopSums, false, false, false },
          ADFlagCreateGraph,
          JIT_ERROR_ARGUMENT,
          "more than add" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); ++i) {
        Tracked x[] = { tracked(5, lanes.x[0]), tracked(5, lanes.x[1]) };
        Tracked y = looped(x, &cases[i].loop);
        seed(y, (double[]){ 1 }, 1);
        OK(ad_enqueue(ADModeBackward, y));
        assert_false(ad_traverse(ADModeBackward, cases[i].flags));
        CHECK_ERROR(cases[i].code, "ad_traverse()", cases[i].message);
        ad_clear_grad(x[0]); /* tracked, it would keep itself alive */
        free_all(x, 2);
        FREE(y);
        assert_int_equal(ad_node_count(), 0);
    }
    assert_int_equal(ad_var_loop_start(CPU, "l", -3, 0, NULL, NULL), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "ad_var_loop_start()", "max_iterations is -3");
    assert_int_equal(ad_var_loop_start(CPU, "l", 0, 1, NULL, NULL), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "ad_var_loop_start()", "'states' is NULL");
}

static int all(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_conditionals), TEST(test_nested), TEST(test_writes),
        TEST(test_calls),        TEST(test_loops),  TEST(test_loop_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return run_engines(all);
}
