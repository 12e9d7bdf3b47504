/*
 * test_ad.c -- derivatives of elementwise operations, the graph, scopes, custom
 * operations
 */
#include "ad_util.h"

#include "ad/rule/ad_rule.h"
#include "ir/op.h"

/* ------------------------------------------------------------------ rules */

static Tracked apply_op(const Tracked *x, const void *payload)
{
    return ad_var_op(*(const JitOp *) payload, x);
}

/* Of functions with bounds. */
static double inside(Op op, double x)
{
    switch (op) {
    case OP_ASIN:
    case OP_ACOS:
    case OP_ATANH:
    case OP_ERFINV:
        return 0.9 * tanh(x);
    case OP_ACOSH:
        return 1.2 + fabs(x);
    case OP_SQRT:
    case OP_RSQRT:
    case OP_LOG:
    case OP_LOG2:
    case OP_POWER:
        return 0.3 + fabs(x);
    default:
        return x;
    }
}

static void test_rules(void **unused)
{
    (void) unused;
    static const double points[] = { -2.3, -0.71, 0.13, 0.9, 1.7, 3.1 };
    for (JitOp op = (JitOp) 0; op < JitOpCount; op = (JitOp) (op + 1)) {
        Op row = op_of(op);
        bool has_rule = false;
        for (uint32_t k = 0; k < op_info[row].arity; ++k)
            has_rule |= ad_rule_of(row, k) != RULE_NONE;
        const char *reason = ad_rule_reason(row);
        if (!has_rule && !reason)
            fail_msg("%s has neither a rule nor a reason for having none",
                     op_info[row].name);
        if (!has_rule || row == OP_SELECT || row == OP_AND)
            continue;
        Point p = { .inputs = op_info[row].arity };
        for (size_t i = 0; i < p.inputs; ++i) {
            p.size[i] = COUNT_OF(points);
            for (size_t k = 0; k < COUNT_OF(points); ++k)
                p.x[i][k] = inside(row, points[(k + 2 * i) % COUNT_OF(points)]);
        }
        check_program(op_info[row].name, apply_op, &op, &p);
    }
}

/* Operands that are equal, or no numbers: one of them gets all. */
static void test_ties(void **unused)
{
    (void) unused;
    static const double a[] = { 2, 0, NAN, 1, NAN }, b[] = { 2, -0.0, 1, NAN, NAN };
    static const struct {
        JitOp op;
        double by_a[5];
    } rows[] = {
        { JitOpMin, { 1, 1, 0, 1, 0 } },
        { JitOpMax, { 0, 0, 0, 1, 1 } },
        { JitOpFmin, { 1, 1, 0, 1, 1 } },
        { JitOpFmax, { 0, 0, 0, 1, 1 } },
    };
    for (size_t r = 0; r < COUNT_OF(rows); ++r) {
        Tracked x[] = { tracked(5, a), tracked(5, b) };
        Tracked y = ad_var_op(rows[r].op, x);
        double value[5], by_a[5], by_b[5];
        read_doubles(y, value, 5);
        backward(y);
        read_grad(x[0], by_a, 5);
        read_grad(x[1], by_b, 5);
        for (int k = 0; k < 5; ++k) {
            assert_true(by_a[k] == rows[r].by_a[k] && by_b[k] == 1 - by_a[k]);
            /* ... which is the one that is the result. */
            double chosen = by_a[k] != 0 ? a[k] : b[k];
            assert_true(chosen == value[k] || (isnan(chosen) && isnan(value[k])));
        }
        FREE(x[0], x[1], y);
    }
}

static Tracked apply_select(const Tracked *x, const void *payload)
{
    (void) payload;
    uint32_t mask = jit_var_lt(ad_var_index(x[0]), ad_var_index(x[1]));
    Tracked square = ad_var_mul(x[0], x[0]);
    Tracked chosen = ad_var_select(mask, square, x[1]);
    Tracked masked = ad_var_op(JitOpAnd, (Tracked[]){ square, mask });
    Tracked result = ad_var_add(chosen, masked);
    FREE(mask, square, chosen, masked);
    return result;
}

/* Entries that many share, casts, and values used twice. */
static Tracked apply_mixed(const Tracked *x, const void *payload)
{
    (void) payload;
    Tracked product = ad_var_mul(x[0], x[1]); /* one entry, many */
    Tracked power = ad_var_mul(x[0], x[0]);
    Tracked sum = ad_var_add(product, power);
    Tracked quotient = ad_var_div(sum, x[2]);
    Tracked result = ad_var_fma(quotient, product, x[0]);
    FREE(product, power, sum, quotient);
    return result;
}

static void test_programs(void **unused)
{
    (void) unused;
    Point p = { .inputs = 3,
                .size = { 1, 5, 1 },
                .x = { { 1.3 }, { -0.5, 0.2, 1.4, 2.2, -3 }, { 0.7 } } };
    check_program("mixed sizes", apply_mixed, NULL, &p);
    Point q = { .inputs = 2,
                .size = { 4, 4 },
                .x = { { 1, 2, 3, 4 }, { 4, 1, 5, 2 } } };
    check_program("select", apply_select, NULL, &q);
}

static void test_cast(void **unused)
{
    (void) unused;
    Tracked x = tracked(2, (double[]){ 1.5, -2 });
    Tracked single = ad_var_cast(x, VarTypeFloat32, 0);
    Tracked square = ad_var_mul(single, single);
    Tracked y = ad_var_cast(square, VarTypeFloat64, 0);
    Tracked whole = ad_var_cast(x, VarTypeInt32, 0);
    Tracked bits = ad_var_cast(x, VarTypeInt64, 1),
            same = ad_var_cast(x, VarTypeFloat64, 0);
    assert_int_equal(ad_var_node(whole), 0);
    assert_int_equal(ad_var_node(bits), 0);
    assert_true(same == x);
    backward(y);
    CHECK_GRAD(x, 3, -4);
    FREE(x, single, square, y, whole, bits, same);
    assert_int_equal(ad_node_count(), 0);
}

/* A value of the operands' type that no derivative goes through. */
static void test_step(void **unused)
{
    (void) unused;
    Tracked x = tracked(3, (double[]){ 1, 2, NAN });
    Tracked edge = tracked(1, (double[]){ 2 });
    Tracked y = ad_var_op(JitOpStep, (uint64_t[]){ x, edge });
    assert_int_equal(ad_var_node(y), 0);
    assert_int_equal(jit_var_type(ad_var_index(y)), VarTypeFloat64);
    const double expected[] = { 0, 1, 1 };
    for (size_t i = 0; i < 3; ++i) {
        double found;
        OK(jit_var_read(ad_var_index(y), i, &found));
        assert_true(found == expected[i]);
    }
    assert_int_equal(ad_var_op(JitOpStep, (uint64_t[]){ x, 0 }), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_lt()", "operand 2");
    FREE(x, edge, y);
    assert_int_equal(ad_node_count(), 0);
}

/* 0 times an infinite weight is 0. */
static void test_zero_times_infinity(void **unused)
{
    (void) unused;
    Tracked x = tracked(2, (double[]){ 0, 4 });
    Tracked root = ad_var_op(JitOpSqrt, &x);
    uint32_t zero = jit_var_f64(CPU, 0);
    uint32_t mask = jit_var_gt(ad_var_index(x), zero);
    Tracked y = ad_var_select(mask, root, zero);
    backward(y);
    CHECK_GRAD(x, 0, 0.25);
    FREE(x, root, zero, mask, y);
}

/* ------------------------------------------------------------------ the graph */

static void test_flags(void **unused)
{
    (void) unused;
    static const struct {
        uint32_t flags;
        double backward[3], forward[3]; /* gradients of x, y, z = 2 y, y = x x */
    } rows[] = {
        { ADFlagDefault, { 4, 0, 0 }, { 0, 0, 8 } },
        { ADFlagClearNone, { 8, 2, 1 }, { 1, 4, 8 } },
        { ADFlagClearEdges, { 8, 2, 1 }, { 1, 4, 8 } },
        { ADFlagClearInput, { 8, 2, 0 }, { 0, 4, 8 } },
        { ADFlagClearInterior, { 8, 0, 1 }, { 1, 0, 8 } },
        { ADFlagClearVertices, { 8, 0, 0 }, { 0, 0, 8 } },
    };
    for (size_t i = 0; i < COUNT_OF(rows); ++i) {
        for (int forward = 0; forward < 2; ++forward) {
            Tracked x = tracked(1, (double[]){ forward || i ? 2 : 1 });
            Tracked y = ad_var_mul(x, x), two = jit_var_f64(CPU, 2);
            Tracked z = ad_var_mul(y, two);
            ADMode mode = forward ? ADModeForward : ADModeBackward;
            seed(forward ? x : z, (double[]){ 1 }, 1);
            propagate(mode, forward ? x : z, rows[i].flags);
            const double *expected = forward ? rows[i].forward : rows[i].backward;
            CHECK_GRAD(x, expected[0]);
            CHECK_GRAD(y, expected[1]);
            CHECK_GRAD(z, expected[2]);
            /* without edges, a second time gives nothing */
            ad_clear_grad(x);
            ad_clear_grad(y);
            ad_clear_grad(z);
            seed(forward ? x : z, (double[]){ 1 }, 1);
            propagate(mode, forward ? x : z, ADFlagClearNone);
            double left = rows[i].flags & ADFlagClearEdges ? 0 : 8;
            CHECK_GRAD(forward ? z : x, left);
            FREE(x, y, two, z);
        }
    }
    assert_int_equal(ad_node_count(), 0);
}

/* Only what was enqueued: forward on the way back from one of two results. */
static void test_enqueue(void **unused)
{
    (void) unused;
    Tracked x = tracked(1, (double[]){ 3 });
    Tracked a = ad_var_mul(x, x), b = ad_var_neg(x), c = ad_var_neg(a);
    seed(x, (double[]){ 1 }, 1);
    OK(ad_enqueue(ADModeBackward, c));
    OK(ad_enqueue(ADModeBackward, a)); /* once more */
    OK(ad_traverse(ADModeForward, ADFlagDefault));
    CHECK_GRAD(c, -6);
    CHECK_GRAD(b, 0);
    assert_false(ad_enqueue(ADModePrimal, c));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "ad_enqueue()", "mode is 0");
    FREE(x, a, b, c);
}

/* Long chains and a parameter used often: no recursion, and linear. */
static void test_chain(void **unused)
{
    (void) unused;
    enum { LONG = 200000 };
    Tracked x = tracked(1, (double[]){ 1 }), y = ad_var_inc_ref(x);
    for (int i = 0; i < LONG; ++i) {
        Tracked next = ad_var_add(y, x);
        ad_var_dec_ref(y);
        y = next;
    }
    assert_int_equal(ad_node_count(), LONG + 1);
    backward(y);
    CHECK_GRAD(x, LONG + 1);
    FREE(y);
    assert_int_equal(ad_node_count(), 1);
    /* given up without being differentiated */
    y = ad_var_inc_ref(x);
    for (int i = 0; i < LONG; ++i) {
        Tracked next = ad_var_mul(y, y);
        ad_var_dec_ref(y);
        y = next;
    }
    FREE(x, y);
    assert_int_equal(ad_node_count(), 0);
}

static void test_set_grad(void **unused)
{
    (void) unused;
    Tracked x = tracked(2, (double[]){ 1, 2 }), one = tracked(1, (double[]){ 1 });
    assert_false(ad_has_grad(x));
    CHECK_GRAD(x, 0, 0);
    seed(x, (double[]){ 3 }, 1);
    CHECK_GRAD(x, 3, 3);
    uint32_t three = doubles(3, (double[]){ 1, 2, 3 });
    assert_false(ad_set_grad(x, three));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "ad_accum_grad()", "3 entries", "expected 2");
    CHECK_GRAD(x, 3, 3);
    OK(ad_accum_grad(x, ad_var_index(x)));
    CHECK_GRAD(x, 4, 5);
    OK(ad_set_grad(one, three));
    CHECK_GRAD(one, 6);
    uint32_t integer = jit_var_i32(CPU, 1);
    assert_false(ad_accum_grad(x, integer));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "ad_accum_grad()", "type");
    Tracked plain = ad_var_track(integer);
    assert_int_equal(ad_var_node(plain), 0);
    OK(ad_set_grad(plain, integer)); /* nothing happens */
    FREE(x, one, three, integer, plain);
}

static void test_replace_grad(void **unused)
{
    (void) unused;
    Tracked a = doubles(3, (double[]){ 1, 2, 3 }), b = tracked(1, (double[]){ 5 });
    Tracked y = ad_var_replace_grad(a, b);
    double value[3];
    read_doubles(y, value, 3);
    assert_true(value[0] == 1 && value[2] == 3);
    backward(y);
    CHECK_GRAD(b, 3);
    FREE(a, b, y);
}

/* ------------------------------------------------------------------ scopes */

static void test_scopes(void **unused)
{
    (void) unused;
    Tracked x = tracked(1, (double[]){ 2 }), y = tracked(1, (double[]){ 3 });
    OK(ad_scope_enter(ADScopeSuspend, 0, NULL));
    assert_false(ad_grad_enabled(x));
    Tracked a = ad_var_mul(x, y), none = tracked(1, (double[]){ 1 });
    assert_int_equal(ad_var_node(a), 0);
    assert_int_equal(ad_var_node(none), 0);
    OK(ad_scope_enter(ADScopeResume, 1, &x));
    Tracked b = ad_var_mul(x, y), c = ad_var_mul(b, b);
    assert_true(ad_grad_enabled(x) && ad_grad_enabled(b) && ad_grad_enabled(c));
    assert_false(ad_grad_enabled(y));
    OK(ad_scope_leave(true));
    assert_false(ad_grad_enabled(b));
    OK(ad_scope_leave(true));
    backward(c);
    CHECK_GRAD(x, 36);
    CHECK_GRAD(y, 0);
    OK(ad_scope_enter(ADScopeSuspend, 1, &x));
    Tracked d = ad_var_mul(x, y);
    assert_false(ad_grad_enabled(x));
    assert_true(ad_grad_enabled(y));
    OK(ad_scope_leave(true));
    ad_clear_grad(x);
    backward(d);
    CHECK_GRAD(x, 0);
    CHECK_GRAD(y, 2);
    assert_false(ad_scope_leave(true));
    CHECK_ERROR(JIT_ERROR_STATE, "ad_scope_leave()");
    FREE(x, y, a, none, b, c, d);
    assert_int_equal(ad_node_count(), 0);
}

static void test_isolate(void **unused)
{
    (void) unused;
    Tracked x = tracked(1, (double[]){ 3 }), y = ad_var_mul(x, x);
    OK(ad_scope_enter(ADScopeIsolate, 0, NULL));
    Tracked z = ad_var_mul(y, y);
    backward(z);
    CHECK_GRAD(y, 18);
    CHECK_GRAD(x, 0);
    OK(ad_scope_enter(ADScopeSuspend, 0, NULL));
    OK(ad_scope_leave(true));
    OK(ad_scope_leave(true));
    CHECK_GRAD(y, 0);
    CHECK_GRAD(x, 108);
    FREE(x, y, z);
    assert_int_equal(ad_node_count(), 0);
}

/* ---------------------------------------------------------------- custom operations */

enum { FAILS = 1, GIVES_TOO_MANY };

/* out[0] = in[0] * in[1], out[1] = in[0] + in[1], held as plain variables. */
typedef struct Pair {
    uint32_t a, b;
    int fails; /* how; 0: it does not */
    int *released;
} Pair;

static Tracked combine(Tracked x, Tracked g, Tracked y, Tracked h)
{
    Tracked p = g ? ad_var_mul(x, g) : 0, q = h ? ad_var_mul(y, h) : 0;
    Tracked sum = p && q ? ad_var_add(p, q) : ad_var_inc_ref(p ? p : q);
    FREE(p, q);
    return sum;
}

static bool pair_forward(void *payload, const Tracked *in, Tracked *out)
{
    const Pair *p = payload;
    uint32_t one = jit_var_f64(CPU, 1);
    out[0] = combine(p->b, in[0], p->a, in[1]);
    out[1] = combine(one, in[0], one, in[1]);
    jit_var_dec_ref(one);
    return p->fails != FAILS;
}

static bool pair_backward(void *payload, Tracked *in, const Tracked *out)
{
    const Pair *p = payload;
    uint32_t one = jit_var_f64(CPU, 1);
    in[0] = combine(p->b, out[0], one, out[1]);
    in[1] = combine(p->a, out[0], one, out[1]);
    jit_var_dec_ref(one);
    if (p->fails == FAILS)
        jit_var_add(one, 0); /* sets an error */
    if (p->fails == GIVES_TOO_MANY) {
        ad_var_dec_ref(in[0]);
        in[0] = jit_var_literal(CPU, VarTypeFloat64, &(uint64_t){ 0 }, 7, 0);
    }
    return p->fails != FAILS;
}

static void pair_release(void *payload)
{
    Pair *p = payload;
    DROP(p->a, p->b);
    ++*p->released;
    free(p);
}

static void make_pair(Tracked a, Tracked b, int fails, int *released, Tracked out[2])
{
    Pair *p = malloc(sizeof(*p));
    *p = (Pair){ jit_var_inc_ref(ad_var_index(a)), jit_var_inc_ref(ad_var_index(b)),
                 fails, released };
    out[0] = jit_var_mul(p->a, p->b);
    out[1] = jit_var_add(p->a, p->b);
    const ADCustom op = { "pair", pair_forward, pair_backward, pair_release, NULL };
    OK(ad_custom(&op, p, 2, (Tracked[]){ a, b }, 2, out));
}

static void test_custom(void **unused)
{
    (void) unused;
    int released = 0;
    for (int mode = 0; mode < 5; ++mode) {
        Tracked x = tracked(1, (double[]){ 3 }), y = tracked(1, (double[]){ 5 }),
                out[2];
        make_pair(x, y, mode == 4 ? FAILS : 0, &released, out);
        Tracked z = mode == 2 ? ad_var_inc_ref(out[1]) : ad_var_mul(out[0], out[1]);
        if (mode == 0 || mode == 2) { /* d(ab (a + b)) and d(a + b) */
            backward(z);
            CHECK_GRAD(x, mode ? 1 : 2 * 15 + 25);
            CHECK_GRAD(y, mode ? 1 : 9 + 2 * 15);
        } else if (mode == 1) {
            seed(x, (double[]){ 1 }, 1);
            propagate(ADModeForward, x, ADFlagDefault);
            CHECK_GRAD(z, 2 * 15 + 25);
        } else if (mode == 4) {
            seed(z, (double[]){ 1 }, 1);
            OK(ad_enqueue(ADModeBackward, z));
            assert_false(ad_traverse(ADModeBackward, ADFlagDefault));
            CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_add");
            OK(ad_traverse(ADModeBackward, ADFlagDefault)); /* nothing is left */
        }
        FREE(x, y, out[0], out[1], z);
        assert_int_equal(released, mode + 1);
        assert_int_equal(ad_node_count(), 0);
    }
    Tracked x = doubles(1, (double[]){ 3 }), out[2];
    make_pair(x, x, 0, &released, out); /* nothing to track */
    assert_int_equal(ad_var_node(out[0]), 0);
    assert_int_equal(released, 6);
    FREE(x, out[0], out[1]);
}

/* What an operation has made and nobody has taken is not given to it next time: the
 * other output's tangent, and the gradient of the second input after an error. */
static void test_custom_leftovers(void **unused)
{
    (void) unused;
    int released = 0;
    Tracked x = tracked(1, (double[]){ 3 }), y = tracked(1, (double[]){ 5 }), out[2];
    make_pair(x, y, 0, &released, out);
    seed(x, (double[]){ 1 }, 1);
    OK(ad_enqueue(ADModeBackward, out[0]));
    OK(ad_traverse(ADModeForward, ADFlagClearVertices));
    CHECK_GRAD(out[0], 5);
    ad_clear_grad(x);
    seed(out[0], (double[]){ 1 }, 1);
    OK(ad_enqueue(ADModeBackward, out[0]));
    OK(ad_traverse(ADModeBackward, ADFlagClearVertices));
    CHECK_GRAD(x, 5);
    CHECK_GRAD(y, 3);
    FREE(x, y, out[0], out[1]);

    x = tracked(2, (double[]){ 3, 4 }), y = tracked(2, (double[]){ 5, 6 });
    make_pair(x, y, GIVES_TOO_MANY, &released, out);
    seed(out[0], (double[]){ 1, 1 }, 2);
    OK(ad_enqueue(ADModeBackward, out[0]));
    assert_false(ad_traverse(ADModeBackward, ADFlagClearVertices));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "gave a gradient with 7 entries");
    seed(x, (double[]){ 1, 1 }, 2);
    ad_clear_grad(y);
    propagate(ADModeForward, x, ADFlagClearVertices);
    CHECK_GRAD(out[0], 5, 6);
    FREE(x, y, out[0], out[1]);
    assert_int_equal(ad_node_count(), 0);
}

static void note_pair(void *context, void *payload)
{
    (void) payload;
    ++*(int *) context;
}

/* How many pairs would be released with these references? */
static int released_with(size_t n, const Tracked *indices)
{
    int count = 0;
    OK(ad_custom_released_with(n, indices, pair_release, note_pair, &count));
    return count;
}

static void test_released_with(void **unused)
{
    (void) unused;
    int released = 0;
    Tracked x = tracked(1, (double[]){ 3 }), out[2], next[2];
    make_pair(x, x, 0, &released, out);
    Tracked z = ad_var_mul(out[0], out[0]);
    make_pair(z, out[1], 0, &released, next);
    const Tracked all[] = { x, out[0], out[1], z, next[0], next[1] };
    assert_int_equal(released_with(6, all), 2);
    assert_int_equal(released_with(5, all + 1), 2); /* without x, which stays */
    assert_int_equal(released_with(2, all + 4), 1);
    assert_int_equal(released_with(1, all + 4), 0); /* next[1] keeps it */
    assert_int_equal(released_with(4, all), 0);     /* 'next' depends on it */
    assert_int_equal(released_with(4, (Tracked[]){ out[0], out[1], next[0], next[1] }),
                     1); /* z depends on the other */
    assert_int_equal(released_with(0, NULL), 0);
    assert_int_equal(released, 0); /* nothing has changed */
    Tracked again = ad_var_inc_ref(next[0]);
    assert_int_equal(released_with(6, all), 0);
    assert_int_equal(
        released_with(7, (Tracked[]){ x, out[0], out[1], z, next[0], next[1], again }),
        2);
    FREE(next[0], next[1], again);
    assert_int_equal(released, 1);
    FREE(x, out[0], out[1], z);
    assert_int_equal(released, 2);
    assert_int_equal(ad_node_count(), 0);
}

static void test_text(void **unused)
{
    (void) unused;
    Tracked x = tracked(2, (double[]){ 1, 2 }), y = ad_var_mul(x, x);
    OK(ad_var_set_label(x, "a \"name\""));
    assert_string_equal(ad_var_label(x), "a \"name\"");
    assert_non_null(strstr(ad_whos(), "a \"name\""));
    assert_non_null(strstr(ad_graphviz(), "Label: \\\"a \\\"name\\\"\\\""));
    assert_non_null(strstr(ad_graphviz(), "mul|{Type: f64|Size: 2}"));
    OK(jit_prefix_push(JitBackendLLVM, "outer") && ad_var_set_label(y, "{y}") &&
       jit_prefix_pop(JitBackendLLVM));
    assert_string_equal(ad_var_label(y), "outer/{y}");
    assert_non_null(strstr(ad_graphviz(), "Label: \\\"outer/\\{y\\}\\\""));
    OK(ad_var_set_label(x, NULL));
    assert_null(ad_var_label(x));
    FREE(x, y);
}

/* The way there, and what is in it. */
static void check_way(const char *text, const char *a, const char *b)
{
    assert_non_null(text);
    if (!strstr(text, a) || !strstr(text, b))
        fail_msg("\"%s\" lacks \"%s\" or \"%s\"", text, a, b);
}

static void test_explain(void **unused)
{
    (void) unused;
    Tracked x = tracked(2, (double[]){ 1, 2 }), y = ad_var_mul(x, x),
            z = ad_var_add(x, y);
    OK(ad_var_set_label(x, "parameter"));
    check_way(ad_explain(z, x), ", 2 ways:", "input  float64[2]  \"parameter\"");
    check_way(ad_explain(x, z), "No gradient goes", "ends at r");
    Tracked step = ad_var_op(JitOpFloor, &y), plain = ad_var_detach(y);
    check_way(ad_explain(step, x), "floor (r", "it is piecewise constant");
    check_way(ad_explain(plain, x), "No gradient goes", "was detached on the way");
    check_way(ad_explain(z, plain), "No gradient goes", "the input is not tracked");
    assert_null(ad_explain(z, 1u << 30));
    assert_int_equal(jit_error(), JIT_ERROR_ARGUMENT);

    Tracked one = jit_var_f64(JitBackendLLVM, 1);
    assert_false(ad_is_cut(ADModeBackward, z) || ad_is_cut(ADModeForward, x));
    OK(ad_set_grad(z, one) && ad_enqueue(ADModeBackward, z) &&
       ad_traverse(ADModeBackward, ADFlagDefault));
    assert_true(ad_is_cut(ADModeBackward, z) && ad_is_cut(ADModeForward, x));
    assert_false(ad_is_cut(ADModeForward, z) || ad_is_cut(ADModeBackward, x));
    check_way(ad_explain(z, x), "No gradient goes", "cleared by a traversal");
    FREE(x, y, z, step, plain, one);
}

static void test_depends_beyond(void **unused)
{
    (void) unused;
    Tracked a = tracked(1, (double[]){ 3 }), x = tracked(1, (double[]){ 2 }),
            y = ad_var_mul(x, x), z = ad_var_mul(y, a), plain = ad_var_detach(z);
    assert_int_equal(ad_depends_beyond(1, &y, 1, &x), 0);
    assert_int_equal(ad_depends_beyond(1, &z, 1, &x), 1);
    assert_int_equal(ad_depends_beyond(1, &a, 1, &x), 1);
    assert_int_equal(ad_depends_beyond(2, (uint64_t[]){ y, z }, 2,
                                       (uint64_t[]){ x, a }), 0);
    assert_int_equal(ad_depends_beyond(1, &z, 1, &y), 1);
    assert_int_equal(ad_depends_beyond(1, &plain, 1, &x), 0);
    assert_int_equal(ad_depends_beyond(1, &z, 0, NULL), 1);
    FREE(a, x, y, z, plain);
}

static void test_reached(void **unused)
{
    (void) unused;
    bool found[3];
    Tracked a = tracked(1, (double[]){ 3 }), b = tracked(1, (double[]){ 2 }),
            x = ad_var_mul(a, a), y = ad_var_mul(x, b), plain = ad_var_detach(y);
    OK(ad_reached(1, &y, 3, (uint64_t[]){ a, b, x }, found));
    assert_true(!found[0] && found[1] && found[2]); /* a is after x */
    OK(ad_reached(1, &y, 2, (uint64_t[]){ a, b }, found));
    assert_true(found[0] && found[1]);
    OK(ad_reached(2, (uint64_t[]){ x, plain }, 3, (uint64_t[]){ a, b, plain }, found));
    assert_true(found[0] && !found[1] && !found[2]);
    OK(ad_reached(0, NULL, 1, &a, found));
    assert_false(found[0]);
    assert_true(ad_is_leaf(a) && !ad_is_leaf(x) && !ad_is_leaf(plain));
    Tracked one = jit_var_f64(JitBackendLLVM, 1);
    OK(ad_set_grad(x, one) && ad_enqueue(ADModeBackward, x) &&
       ad_traverse(ADModeBackward, ADFlagDefault));
    assert_true(ad_is_leaf(x) && !ad_is_leaf(y)); /* its edges have been cleared */
    FREE(a, b, x, y, plain, one);
}

/* Forward traversals to a result bring tangents from before a scope that isolates,
 * unless it is closed; gradients there stay. */
static void test_tangents_from_before(void **unused)
{
    (void) unused;
    static const ADScope kinds[] = { ADScopeIsolate, ADScopeClose };
    Tracked a = tracked(1, (double[]){ 3 }), x = ad_var_mul(a, a),
            one = jit_var_f64(JitBackendLLVM, 1);
    for (int k = 0; k < 2; k++) {
        OK(ad_set_grad(a, one) && ad_set_grad(x, one));
        assert_true(ad_has_grad_behind(1, &x) == 1 && ad_has_grad_behind(1, &a) == 0);
        OK(ad_scope_enter(kinds[k], 0, NULL));
        Tracked y = ad_var_mul(x, x);
        OK(ad_enqueue(ADModeBackward, y) &&
           ad_traverse(ADModeForward, ADFlagClearVertices));
        assert_int_equal(ad_scope_crossed(), k ? 0 : ADCrossingLook | ADCrossingIn);
        OK(ad_scope_leave(true));
        CHECK_GRAD(y, k ? 2 * 9 : 2 * 9 * (2 * 3 + 1));
        CHECK_GRAD(a, 1);
        CHECK_GRAD(x, 1);
        FREE(y);
    }
    FREE(a, x, one);
}

/* What a scope that isolates has kept, and what it is told to keep. */
static void test_scope_keeps(void **unused)
{
    (void) unused;
    Tracked a = tracked(1, (double[]){ 3 }), x = ad_var_mul(a, a),
            other = ad_var_mul(a, x), one = jit_var_f64(JitBackendLLVM, 1);
    assert_false(ad_scope_keep(1, &x));
    CHECK_ERROR(JIT_ERROR_STATE, "ad_scope_keep()");
    OK(ad_scope_enter(ADScopeIsolate, 0, NULL));
    Tracked y = ad_var_mul(x, x);
    assert_false(ad_scope_keeps(x));
    OK(ad_set_grad(y, one) && ad_enqueue(ADModeBackward, y) &&
       ad_traverse(ADModeBackward, ADFlagDefault));
    assert_true(ad_scope_keeps(x) && !ad_scope_keeps(a));
    assert_int_equal(ad_scope_crossed(), 0);
    OK(ad_enqueue(ADModeForward, x)); /* 'other' is from before */
    assert_int_equal(ad_scope_crossed(), ADCrossingOut);
    OK(ad_traverse(ADModeForward, ADFlagClearNone));
    OK(ad_scope_leave(true));
    CHECK_GRAD(a, 2 * 9 * 2 * 3);

    ad_clear_grad(a);
    OK(ad_set_grad(x, one) && ad_scope_enter(ADScopeIsolate, 0, NULL));
    assert_int_equal(ad_scope_crossed(), 0);
    OK(ad_scope_keep(1, &x) && ad_scope_keeps(x));
    CHECK_GRAD(a, 0);
    OK(ad_scope_leave(true));
    CHECK_GRAD(a, 2 * 3);
    FREE(a, x, other, one, y);
}

static void test_scope_suspends(void **unused)
{
    (void) unused;
    Tracked x = tracked(1, (double[]){ 3 });
    assert_false(ad_scope_suspends_others() || ad_scope_suspends_all());
    OK(ad_scope_enter(ADScopeSuspend, 1, &x));
    assert_false(ad_scope_suspends_others());
    OK(ad_scope_enter(ADScopeSuspend, 0, NULL));
    assert_true(ad_scope_suspends_others() && ad_scope_suspends_all());
    OK(ad_scope_admit_variable(x));
    assert_true(ad_scope_suspends_others() && !ad_scope_suspends_all());
    assert_true(ad_grad_enabled(x));
    OK(ad_scope_leave(true));
    assert_false(ad_grad_enabled(x));
    OK(ad_scope_leave(true));
    FREE(x);
}

/* In debug mode places and losses are noted. */
static void test_explain_debug(void **unused)
{
    (void) unused;
    jit_set_flag(JitFlagDebug, 1);
    jit_set_source_location("program", 1);
    Tracked x = tracked(2, (double[]){ 1, 2 });
    jit_set_source_location("program", 2);
    Tracked y = ad_var_mul(x, x);
    jit_set_source_location("program", 3);
    Tracked plain = ad_var_detach(y);
    jit_set_source_location("program", 4);
    Tracked z = ad_var_neg(plain);
    OK(jit_var_eval(ad_var_index(z)));
    check_way(ad_explain(y, x), "mul  float64[2]  program:2", "input");
    check_way(ad_explain(z, x), "No gradient goes", "- detach() at program:3");
    jit_set_source_location("program", 5);
    OK(ad_scope_enter(ADScopeSuspend, 0, NULL));
    jit_set_source_location("program", 6);
    Tracked w = ad_var_add(y, y);
    OK(ad_scope_leave(true));
    check_way(ad_explain(w, x), "suspended at program:6",
              "by suspend_grad() at program:5");
    jit_set_source_location(NULL, 0);
    jit_set_flag(JitFlagDebug, 0);
    FREE(x, y, plain, z, w);
}

static int all(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rules),
        TEST(test_ties),
        TEST(test_programs),
        TEST(test_cast),
        TEST(test_step),
        TEST(test_zero_times_infinity),
        TEST(test_flags),
        TEST(test_enqueue),
        TEST(test_chain),
        TEST(test_set_grad),
        TEST(test_replace_grad),
        TEST(test_scopes),
        TEST(test_isolate),
        TEST(test_tangents_from_before),
        TEST(test_custom),
        TEST(test_custom_leftovers),
        TEST(test_released_with),
        TEST(test_text),
        TEST(test_explain),
        TEST(test_depends_beyond),
        TEST(test_reached),
        TEST(test_scope_keeps),
        TEST(test_scope_suspends),
        TEST(test_explain_debug),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return run_engines(all);
}
