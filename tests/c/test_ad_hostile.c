/*
 * test_ad_hostile.c -- derivatives while the n-th allocation fails, for every n
 *
 * Built with JIT_HOSTILE; see hostile_util.h.
 */
#include "ad_hostile_writes.h"

/* ----------------------------------------------------------------- derivatives */

/* x^2, gathered twice over, and a sum */
static bool gradients(void)
{
    uint64_t x = input();
    uint64_t square = track(ad_var_mul(x, x));
    uint32_t position = counter();
    uint64_t g = track(ad_var_gather(square, position, 0, ReduceModeAuto));
    uint64_t product = track(ad_var_mul(g, x));
    uint64_t sum = track(ad_var_reduce(product, ReduceOpAdd));
    return go_back(sum, ADFlagDefault) && gradient_is(x, 8, 3) &&
           gradient_is(x, 16, 12);
}

static bool second_gradients(void)
{
    uint64_t x = input();
    uint64_t square = track(ad_var_mul(x, x)), cube = track(ad_var_mul(square, x));
    return go_back_twice(cube, x) && gradient_is(x, 8, 6);
}

/* x > 1 ? x^2 : 3 x */
static uint64_t conditional(uint64_t x)
{
    uint64_t result = 0;
    uint32_t one = own(jit_var_f32(CPU, 1)), three = own(jit_var_f32(CPU, 3));
    uint32_t greater = own(jit_var_gt((uint32_t) x, one));
    uint32_t cond = ad_var_cond_start("hostile", greater);
    if (!cond)
        return 0;
    for (int side = 0; side < 2; side++) {
        uint64_t y = track(ad_var_mul(x, side ? three : x));
        if (!y) {
            ad_record_end(CPU, cond, 1);
            return 0;
        }
        if (!ad_var_cond_append(cond, 1, &y))
            return 0;
    }
    return ad_var_cond_end(cond, &result) ? track(result) : 0;
}

static bool gradient_of_conditional(void)
{
    uint64_t x = input();
    return go_back(conditional(x), ADFlagDefault) && gradient_is(x, 4, 3) &&
           gradient_is(x, 16, 4);
}

static bool second_gradient_of_conditional(void)
{
    uint64_t x = input();
    return go_back_twice(conditional(x), x) && gradient_is(x, 4, 0) &&
           gradient_is(x, 16, 2);
}

/* y = x; three times y = y x */
static uint64_t powers(uint64_t x)
{
    return three_times(ADLoopUnbounded, ad_var_mul, ad_var_inc_ref(x), x);
}

static bool gradient_of_loop(void)
{
    uint64_t x = input();
    return go_back(powers(x), ADFlagDefault) && gradient_is(x, 4, 0.5f) &&
           gradient_is(x, 8, 4);
}

static bool second_gradient_of_loop(void)
{
    uint64_t x = input();
    return go_back_twice(powers(x), x) && gradient_is(x, 8, 12);
}

/* With a tape of one iteration, and checkpoints. */
static bool gradient_by_parts(void)
{
    size_t limit = ad_tape_limit();
    ad_set_tape_limit(1);
    uint64_t x = input();
    bool ok = go_back(powers(x), ADFlagDefault);
    ad_set_tape_limit(limit);
    return ok && gradient_is(x, 4, 0.5f) && gradient_is(x, 8, 4);
}

/* Callables x^4 and 3 x, by whether the lane is odd. */
static uint64_t call_by_lane(uint64_t x)
{
    uint64_t result = 0;
    uint32_t one = number(1), two = number(2), three = own(jit_var_f32(CPU, 3));
    uint32_t odd = own(jit_var_mod(counter(), two)), self = own(jit_var_add(odd, one));
    uint32_t call = x && self && three ? ad_var_call_start(CPU, "hostile", 0) : 0;
    if (!call)
        return 0;
    uint64_t in = track(ad_var_call_input(call, x));
    for (int callable = 0; callable < 2; callable++) {
        uint64_t y = callable ? track(ad_var_mul(in, three)) : powers(in);
        if (!in || !y) {
            ad_record_end(CPU, call, 1);
            return 0;
        }
        if (!ad_var_call_append(call, 1, &y))
            return 0;
    }
    return ad_var_call(call, self, 2, NULL, NULL, &result) ? track(result) : 0;
}

static bool gradient_of_call(void)
{
    uint64_t x = input();
    return go_back(call_by_lane(x), ADFlagDefault) && gradient_is(x, 4, 0.5f) &&
           gradient_is(x, 8, 4) && gradient_is(x, 9, 3);
}

static bool second_gradient_of_call(void)
{
    uint64_t x = input();
    return go_back_twice(call_by_lane(x), x) && gradient_is(x, 8, 12) &&
           gradient_is(x, 9, 0);
}

/* A loop whose body is a conditional, and one whose body is a loop. */
static uint64_t step_by_value(uint64_t y, uint64_t x)
{
    (void) x;
    return ad_var_inc_ref(conditional(y));
}

static uint64_t add_powers(uint64_t y, uint64_t x)
{
    return ad_var_add(y, powers(x));
}

static bool gradient_of_nested(void)
{
    uint64_t x = input();
    uint64_t y = three_times(ADLoopUnbounded, step_by_value, ad_var_inc_ref(x), x);
    uint64_t z = three_times(ADLoopUnbounded, add_powers, ad_var_inc_ref(x), x);
    return go_back(y, ADFlagDefault) && gradient_is(x, 1, 20.25f) &&
           go_back(z, ADFlagDefault) && gradient_is(x, 0, 27 + 1);
}

static uint64_t add_bounded_powers(uint64_t y, uint64_t x)
{
    uint64_t z = three_times(3, ad_var_mul, ad_var_inc_ref(x), x);
    return z ? ad_var_add(y, z) : 0;
}

/* A tape in a recording, and iterations that are more than there may be. */
static bool gradient_of_bounded_in_loop(void)
{
    uint64_t x = input();
    uint64_t y = three_times(ADLoopUnbounded, add_bounded_powers, ad_var_inc_ref(x), x);
    return go_back(y, ADFlagDefault) && gradient_is(x, 0, 1) && gradient_is(x, 8, 13);
}

/* The tangents of conditional and call, and their gradients. */
static bool tangents_of_regions(void)
{
    uint64_t x = input(), y = conditional(x), z = call_by_lane(x);
    uint64_t sum = track(ad_var_add(y, z));
    uint32_t one = own(jit_var_f32(CPU, 1));
    if (!sum || !one || !ad_set_grad(x, one) || !ad_enqueue(ADModeForward, x) ||
        !ad_traverse(ADModeForward, ADFlagCreateGraph | ADFlagClearVertices))
        return false;
    uint64_t tangent = track(ad_grad(sum));
    ad_clear_grad(sum);
    return go_back(tangent, ADFlagDefault) &&
           gradient_is(x, 8, 12) && gradient_is(x, 16, 2 + 48);
}

static bool third_gradient_of_loop(void)
{
    uint64_t x = input(), y = powers(x);
    if (!go_back(y, ADFlagCreateGraph | ADFlagClearVertices))
        return false;
    uint64_t first = track(ad_grad(x));
    ad_clear_grad(x);
    return go_back_twice(first, x) && gradient_is(x, 8, 24);
}

/* What runs at once is in the graph as it is. */
static bool gradient_of_evaluated_regions(void)
{
    jit_set_flag(JitFlagSymbolicConditionals, 0);
    jit_set_flag(JitFlagSymbolicCalls, 0);
    uint64_t x = input(), y = conditional(x);
    jit_set_flags(JitFlagDefault);
    return go_back(y, ADFlagDefault) && gradient_is(x, 4, 3) && gradient_is(x, 16, 4);
}

/* A loop that a scope isolates from its input. */
static bool isolated_loop(void)
{
    uint64_t x = input(), y = track(ad_var_mul(x, x));
    if (!y || !ad_scope_enter(ADScopeIsolate, 0, NULL))
        return false;
    bool ok = go_back(powers(y), ADFlagDefault);
    bool left = ad_scope_leave(ok);
    return ok && left && gradient_is(x, 8, 8);
}

static bool second_tangent_of_loop(void)
{
    uint64_t x = input(), y = powers(x);
    uint32_t one = own(jit_var_f32(CPU, 1));
    if (!y || !one || !ad_set_grad(x, one) || !ad_enqueue(ADModeBackward, y) ||
        !ad_traverse(ADModeForward, ADFlagCreateGraph | ADFlagClearVertices))
        return false;
    uint64_t tangent = track(ad_grad(y));
    ad_clear_grad(y);
    return go_back(tangent, ADFlagDefault) && gradient_is(x, 8, 12);
}

/* ---------------------------------------------------------------- moving entries */

/* x^2 by a scatter into 2 x, one half of whose entries it replaces. */
static bool gradient_of_scatter(void)
{
    uint64_t x = input(), target = track(ad_var_mul(x, single(2)));
    uint64_t square = track(ad_var_mul(x, x));
    uint32_t mask = own(jit_var_lt(counter(), number(N / 2)));
    uint64_t y = track(ad_var_scatter(target, square, counter(), mask, ReduceOpIdentity,
                                      ReduceModeAuto));
    uint64_t z = track(ad_var_scatter(y, x, counter(), 0, ReduceOpAdd, ReduceModeAuto));
    return go_back(z, ADFlagDefault) && gradient_is(x, 8, 3) && gradient_is(x, 160, 3);
}

static bool gradient_of_maximum(void)
{
    uint64_t x = input(), square = track(ad_var_mul(x, x));
    uint64_t y =
        track(ad_var_scatter(square, x, counter(), 0, ReduceOpMax, ReduceModeAuto));
    uint64_t largest = track(ad_var_reduce(y, ReduceOpMax));
    uint64_t all = track(ad_var_add(y, largest));
    return go_back(all, ADFlagDefault) && gradient_is(x, 4, 1) && gradient_is(x, 16, 4);
}

static bool gradient_of_packets(void)
{
    uint64_t x = input(), out[2] = { 0 }, target = 0;
    uint32_t half = own(jit_var_counter(CPU, N / 2));
    if (!x || !ad_var_gather_packet(2, x, half, 0, out, ReduceModePermute))
        return false;
    uint64_t product = track(ad_var_mul(track(out[0]), track(out[1])));
    target = track(ad_var_mul(x, single(0)));
    uint64_t values[] = { product, out[1] };
    uint64_t y = track(
        ad_var_scatter_packet(2, target, values, half, 0, ReduceOpAdd, ReduceModeAuto));
    return go_back(y, ADFlagDefault) && gradient_is(x, 8, 1.125f) &&
           gradient_is(x, 9, 2);
}

/* An array of four x, in which x^2 takes the place of number lane % 4: what is in the
 * first place? */
static bool gradient_of_local_array(void)
{
    uint64_t x = input(), square = track(ad_var_mul(x, x));
    uint32_t array = own(jit_array_create(CPU, VarTypeFloat32, 4, N));
    uint32_t place = own(jit_var_mod(counter(), number(4)));
    uint64_t filled = array ? track(ad_array_init(array, x)) : 0;
    uint64_t written = track(ad_array_write(filled, place, square, 0));
    uint64_t y = track(ad_array_read(written, number(0), 0));
    return go_back(y, ADFlagDefault) && gradient_is(x, 16, 4) && gradient_is(x, 17, 1);
}

/* One side of a conditional writes to an array from outside. */
static bool gradient_of_scatter_in_side(void)
{
    uint64_t x = input(), square = track(ad_var_mul(x, x));
    uint64_t array = track(ad_var_mul(x, single(3)));
    uint32_t less = own(jit_var_lt((uint32_t) x, single(1)));
    uint32_t cond = array && square && less ? ad_var_cond_start("hostile", less) : 0;
    if (!cond)
        return false;
    uint64_t y = track(ad_var_scatter(array, square, counter(), 0, ReduceOpIdentity,
                                      ReduceModeAuto));
    if (!y) {
        ad_record_end(CPU, cond, 1);
        return false;
    }
    return ad_var_cond_append(cond, 0, NULL) && ad_var_cond_append(cond, 0, NULL) &&
           ad_var_cond_end(cond, NULL) && go_back(y, ADFlagDefault) &&
           gradient_is(x, 4, 1) && gradient_is(x, 16, 3);
}

static bool gradient_of_compensated_sum(void)
{
    uint64_t x = input();
    uint64_t targets[] = { ad_var_mul(x, single(2)),
                           jit_var_literal(CPU, VarTypeFloat32, &(uint32_t){ 0 }, N,
                                           0) };
    uint64_t square = track(ad_var_mul(x, x));
    bool ok = targets[0] && targets[1] && square &&
              ad_var_scatter_add_kahan(&targets[0], &targets[1], square, counter(), 0);
    track(targets[0]);
    track(targets[1]);
    return ok && go_back(targets[0], ADFlagDefault) && gradient_is(x, 8, 4);
}

/* Tiled, repeated, turned round, cut, resized, copied, with an entry overwritten. */
static bool gradient_of_shapes(void)
{
    uint64_t x = input(), one = track(ad_var_shrink(x, 1));
    uint64_t tiled = track(ad_var_tile(x, 2)), repeated = track(ad_var_repeat(x, 2));
    uint64_t turned = track(ad_var_reverse(tiled));
    uint64_t sum = track(ad_var_add(turned, repeated));
    uint64_t cut = track(ad_var_shrink(sum, N)), copy = track(ad_var_copy(cut));
    uint64_t wide = track(ad_var_resize(one, N));
    uint64_t product = track(ad_var_fma(wide, wide, copy));
    float zero = 0;
    uint64_t written = product ? track(ad_var_write(product, 3, &zero)) : 0;
    return go_back(written, ADFlagDefault) && gradient_is(x, 8, 3) &&
           gradient_is(x, N - 4, 0) && gradient_is(x, N - 5, 1);
}

static bool gradient_of_reductions(void)
{
    uint64_t x = input(), blocks = track(ad_var_block_reduce(ReduceOpAdd, x, 3));
    uint64_t products = track(ad_var_block_reduce(ReduceOpMul, x, 3));
    uint64_t dot = track(ad_var_reduce_dot(blocks, blocks));
    uint64_t sums = track(ad_var_block_prefix_reduce(ReduceOpAdd, x, N, 0, 0));
    uint64_t total = track(ad_var_reduce(sums, ReduceOpAdd));
    uint64_t other = track(ad_var_reduce(products, ReduceOpMin));
    uint64_t both = track(ad_var_add(dot, total)), y = track(ad_var_add(both, other));
    /* 2 (x3 + x4 + x5) + N - 4 */
    return go_back(y, ADFlagDefault) && gradient_is(x, 4, 3 + N - 4);
}

static bool gradient_of_sort(void)
{
    uint64_t x = input(), down = track(ad_var_sort(x, N, 1));
    uint64_t y = track(ad_var_mul(down, x));
    return go_back(y, ADFlagDefault) && gradient_is(x, 0, 2 * 0.125f * (N - 1)) &&
           gradient_is(x, 9, 2 * 0.125f * (N - 10));
}

/* 15 x 20 times 20 x 15, transposed and not */
static bool gradient_of_matrix_product(void)
{
    uint64_t x = input();
    JitGemm shape = { .m = 15, .n = 15, .k = 20, .transpose_b = 1 };
    uint64_t y = x ? track(ad_var_batched_gemm(x, x, &shape)) : 0;
    uint64_t trace = track(ad_var_reduce(y, ReduceOpAdd));
    /* 2 times the sum of the column: 15 entries, 20 apart */
    return go_back(trace, ADFlagDefault) &&
           gradient_is(x, 0, 2 * 0.125f * 20 * 15 * 14 / 2);
}

/* Row 0 of a matrix by (lane, 1, lane), and an entry of the same array. */
static uint64_t product_with(uint64_t w)
{
    const JitMatrix matrix = { .offset = 1, .rows = 2, .columns = 3 };
    uint64_t lane = own(jit_var_cast(counter(), VarTypeFloat32, 0));
    uint64_t x[] = { lane, single(1), lane }, y[2];
    if (!w || !lane || !x[1] || !ad_var_matvec(w, &matrix, x, w, 7, 0, y))
        return 0;
    track(y[1]);
    return track(y[0]);
}

static bool gradient_of_small_matrix(void)
{
    uint64_t w = input(), sum = track(ad_var_reduce(product_with(w), ReduceOpAdd));
    return go_back(sum, ADFlagDefault) && gradient_is(w, 1, N * (N - 1) / 2) &&
           gradient_is(w, 2, N) && gradient_is(w, 7, N) && gradient_is(w, 4, 0);
}

static bool second_gradient_of_small_matrix(void)
{
    uint64_t w = input(), y = product_with(w);
    uint64_t square = y ? track(ad_var_mul(y, y)) : 0;
    uint64_t sum = track(ad_var_reduce(square, ReduceOpAdd));
    /* By the entry that is multiplied with 1, of the sum of all gradients. */
    return go_back_twice(sum, w) && gradient_is(w, 2, 2 * N * (N + 1));
}

static bool gradient_of_functions(void)
{
    uint64_t x = input();
    uint64_t wide = track(ad_var_cast(x, VarTypeFloat64, 0));
    uint64_t gamma = track(ad_var_op(JitOpDigamma, &wide));
    uint64_t back = track(ad_var_cast(gamma, VarTypeFloat32, 0));
    uint64_t value = track(ad_var_replace_grad(back, track(ad_var_mul(x, x))));
    uint64_t sine = track(ad_var_op(JitOpSin, &x));
    uint32_t low = own(jit_var_lt((uint32_t) x, single(1)));
    uint64_t y = low ? track(ad_var_select(low, sine, value)) : 0;
    return go_back(y, ADFlagDefault) && gradient_is(x, 0, 1) && gradient_is(x, 16, 4) &&
           go_back(back, ADFlagDefault) && gradient_is(x, 8, 3.64493407f);
}

/* ---------------------------------------------------------------- scopes, texts */

static void leave_scopes(size_t count)
{
    while (count--)
        assert_true(ad_scope_leave(false));
}

static bool scopes(void)
{
    uint64_t x = input(), y = track(ad_var_mul(x, x));
    if (!y || !ad_scope_enter(ADScopeSuspend, 1, &x))
        return false;
    bool ok = ad_scope_enter(ADScopeResume, 0, NULL);
    if (!ok) {
        leave_scopes(1);
        return false;
    }
    ok = ad_scope_enter(ADScopeSuspend, 0, NULL);
    if (!ok) {
        leave_scopes(2);
        return false;
    }
    uint64_t all[32];
    for (size_t k = 0; k < COUNT_OF(all); ++k)
        all[k] = ad_var_node(y) ? y : x;
    ok = ad_scope_enter(ADScopeResume, COUNT_OF(all), all);
    uint64_t z = ok ? track(ad_var_mul(y, y)) : 0;
    leave_scopes(ok ? 4 : 3);
    return go_back(z, ADFlagDefault) && gradient_is(x, 8, 4);
}

static bool isolation(void)
{
    uint64_t x = input(), y = track(ad_var_mul(x, x));
    if (!y || !ad_scope_enter(ADScopeIsolate, 0, NULL))
        return false;
    uint64_t z = track(ad_var_mul(y, y));
    bool ok = go_back(z, ADFlagDefault) && gradient_is(x, 8, 0);
    bool left = ad_scope_leave(ok);
    return ok && left && gradient_is(x, 8, 4);
}

static bool texts(void)
{
    uint64_t x = input(), y = track(ad_var_mul(x, x));
    const char *whos, *graph;
    if (!y || !ad_var_set_label(x, "parameter") || !ad_var_set_label(y, "square") ||
        !ad_var_set_label(x, "input") || !(whos = ad_whos()) ||
        !strstr(whos, "input") || !(graph = ad_graphviz()))
        return false;
    assert_non_null(strstr(graph, "Label: \\\"square\\\""));
    assert_null(strstr(graph, "parameter"));
    return true;
}

static bool explained(void)
{
    uint64_t x = input(), y = track(ad_var_mul(x, x));
    uint64_t loop = powers(y);
    uint32_t rounded = own(jit_var_round((uint32_t) y));
    const char *way, *none;
    if (!loop || !rounded || !(way = ad_explain(loop, x)) || !strstr(way, "hostile") ||
        !(none = ad_explain(rounded, x)))
        return false;
    assert_non_null(strstr(none, "round"));
    return true;
}

/* Debug mode: places, losses, and whether gradients are finite. */
static bool debugged(void)
{
    jit_set_flag(JitFlagDebug, 1);
    uint64_t x = input(), y = track(ad_var_op(JitOpSqrt, &x));
    uint64_t z = powers(y);
    bool ok = go_back(z, ADFlagDefault) && gradient_is(x, 16, 2 * 2);
    jit_set_flag(JitFlagDebug, 0);
    return ok;
}

/* ---------------------------------------------------------------- traversals */

static bool tangents(void)
{
    uint64_t x = input(), y = track(ad_var_mul(x, x));
    uint64_t one = track(ad_var_shrink(y, 1)),
             sum = track(ad_var_reduce(y, ReduceOpAdd));
    uint64_t z = track(ad_var_add(one, sum));
    uint32_t unit = single(1);
    return z && unit && ad_set_grad(x, unit) && ad_accum_grad(x, unit) &&
           ad_enqueue(ADModeForward, x) &&
           ad_traverse(ADModeForward, ADFlagClearNone) && gradient_is(y, 8, 4) &&
           gradient_is(z, 0, 0.25f * 2 * N * (N - 1) / 2);
}

/* x + x + ...: many edges between few nodes, sorted. */
static bool many_edges(void)
{
    uint64_t x = input(), y = track(ad_var_mul(x, x)), sum = ad_var_inc_ref(x);
    for (int k = 0; k < 40 && sum; ++k) {
        uint64_t next = ad_var_add(k % 2 ? sum : y, k % 2 ? x : sum);
        ad_var_dec_ref(sum);
        sum = next;
    }
    track(sum);
    return go_back(sum, ADFlagDefault) && gradient_is(x, 8, 1 + 20 + 40);
}

typedef struct Times {
    uint32_t factor;
} Times;

static bool times_forward(void *payload, const uint64_t *in, uint64_t *out)
{
    out[0] = ad_var_mul(in[0], ((Times *) payload)->factor);
    return out[0] != 0;
}

static bool times_backward(void *payload, uint64_t *in, const uint64_t *out)
{
    in[0] = ad_var_mul(out[0], ((Times *) payload)->factor);
    return in[0] != 0;
}

static void times_release(void *payload)
{
    jit_var_dec_ref(((Times *) payload)->factor);
    free(payload);
}

static bool custom_operation(void)
{
    uint64_t x = input();
    uint32_t three = single(3), product = three ? jit_var_mul((uint32_t) x, three) : 0;
    if (!product)
        return false;
    Times *payload = malloc(sizeof(*payload));
    payload->factor = jit_var_inc_ref(three);
    const ADCustom op = { "times", times_forward, times_backward, times_release, NULL };
    uint64_t out = product;
    bool ok = ad_custom(&op, payload, 1, &x, 1, &out);
    track(out);
    return ok && go_back(out, ADFlagDefault) && gradient_is(x, 8, 3);
}

static bool both_forward(void *payload, const uint64_t *in, uint64_t *out)
{
    (void) payload;
    out[0] = ad_var_inc_ref(in[0]);
    out[1] = ad_var_inc_ref(in[1]);
    return true;
}

static bool both_backward(void *payload, uint64_t *in, const uint64_t *out)
{
    return both_forward(payload, out, in);
}

/* Two inputs, each of which one output depends on: one result of a conditional with two
 * that do the same is differentiated. */
static bool operations_of_two(void)
{
    static const bool depends[] = { true, false, false, true };
    const ADCustom op = { "both", both_forward, both_backward, NULL, depends };
    uint64_t x = input(), y = track(ad_var_mul(x, x)), z = track(ad_var_mul(y, x));
    uint64_t in[] = { y, z }, out[] = { 0, 0 };
    if (!y || !z)
        return false;
    for (int i = 0; i < 2; i++)
        out[i] = jit_var_inc_ref(ad_var_index(in[i]));
    bool ok = ad_custom(&op, NULL, 2, in, 2, out);
    for (int i = 0; i < 2; i++)
        track(out[i]);
    uint32_t greater = ok ? own(jit_var_gt((uint32_t) x, single(1))) : 0;
    uint32_t cond = greater ? ad_var_cond_start("hostile", greater) : 0;
    if (!cond || !ad_var_cond_append(cond, 2, out) ||
        !ad_var_cond_append(cond, 2, in))
        return false;
    uint64_t results[2];
    if (!ad_var_cond_end(cond, results))
        return false;
    track(results[0]);
    track(results[1]);
    return go_back(results[0], ADFlagDefault) && gradient_is(x, 8, 2);
}

/* The tangent of a result of a scope, by what is from before it. */
static bool tangent_beyond_scope(void)
{
    uint64_t x = input(), y = track(ad_var_mul(x, x));
    uint32_t one = single(1);
    if (!y || !one || !ad_set_grad(x, one) || !ad_set_grad(y, one) ||
        ad_has_grad_behind(1, &y) < 0 || !ad_scope_enter(ADScopeIsolate, 0, NULL))
        return false;
    uint64_t z = track(ad_var_mul(y, y));
    bool ok = z && ad_enqueue(ADModeBackward, z) &&
              ad_traverse(ADModeForward, ADFlagClearVertices);
    bool left = ad_scope_leave(ok);
    return ok && left && gradient_is(z, 16, 2 * 4 * (2 * 2 + 1)) &&
           gradient_is(y, 16, 1) && gradient_is(x, 16, 1);
}

/* Positions that are rows of columns, of which the last one ends early. */
static bool gradient_of_columns(void)
{
    uint64_t x = input();
    uint32_t wide = own(jit_var_counter(CPU, 5 * N - 1)), two = number(2),
             all = number(N);
    uint32_t half = wide && two ? own(jit_var_div(wide, two)) : 0;
    uint32_t index = half && all ? own(jit_var_mod(half, all)) : 0;
    uint64_t y = index ? track(ad_var_gather(x, index, 0, ReduceModeAuto)) : 0;
    return y && go_back(track(ad_var_mul(y, y)), ADFlagDefault) &&
           gradient_is(x, 8, 6 * 2);
}

static uint64_t times_three(uint64_t y, uint64_t x)
{
    (void) x;
    uint32_t three = jit_var_f32(CPU, 3);
    uint64_t out = three ? jit_var_mul((uint32_t) y, three) : 0;
    Times *payload = out ? malloc(sizeof(*payload)) : NULL;
    if (payload) {
        payload->factor = jit_var_inc_ref(three);
        const ADCustom op = { "times", times_forward, times_backward, times_release,
                              NULL };
        if (!ad_custom(&op, payload, 1, &y, 1, &out)) {
            ad_var_dec_ref(out);
            out = 0;
        }
    }
    jit_var_dec_ref(three);
    return out;
}

static bool custom_in_loop(void)
{
    uint64_t x = input();
    uint64_t y = three_times(ADLoopUnbounded, times_three, ad_var_inc_ref(x), x);
    return go_back(y, ADFlagDefault) && gradient_is(x, 8, 27);
}

static void count_release(void *context, void *payload)
{
    (void) payload;
    ++*(int *) context;
}

static bool released_with(void)
{
    uint64_t x = input(), y = track(times_three(x, 0)), z = track(times_three(y, 0));
    int count = 0;
    uint64_t both[] = { y, z };
    if (!z || !ad_custom_released_with(2, both, times_release, count_release, &count))
        return false;
    assert_int_equal(count, 2);
    return true;
}

static uint64_t add_square(uint64_t y, uint64_t x)
{
    uint64_t square = ad_var_mul(x, x), sum = ad_var_add(y, square);
    ad_var_dec_ref(square);
    return sum;
}

static bool loop_over_sums(void)
{
    uint64_t x = input();
    uint64_t zero =
        x ? jit_var_literal(CPU, VarTypeFloat32, &(uint32_t){ 0 }, N, 0) : 0;
    uint64_t y = three_times(ADLoopSums, add_square, zero, x);
    return go_back(y, ADFlagDefault) && gradient_is(x, 8, 6);
}

static bool evaluated_loop(void)
{
    jit_set_flag(JitFlagSymbolicLoops, 0);
    uint64_t x = input();
    return go_back(powers(x), ADFlagDefault) && gradient_is(x, 8, 4);
}

/* ---------------------------------------------------------------- within bodies */

/* The gradient of x^2, which waits for the end of the construct. */
static uint64_t go_back_within(uint64_t y, uint64_t x)
{
    uint64_t square = track(ad_var_mul(x, x));
    return go_back(square, ADFlagDefault) ? ad_var_inc_ref(y) : 0;
}

/* By way of a gather, an array of gradients. */
static uint64_t go_back_to_array(uint64_t y, uint64_t x)
{
    uint64_t entry = track(ad_var_gather(x, counter(), 0, ReduceModeAuto));
    return go_back_within(y, entry);
}

/* By way of a loop that gathers. */
static uint64_t add_gathered(uint64_t y, uint64_t x)
{
    uint64_t entry = track(ad_var_gather(x, counter(), 0, ReduceModeAuto));
    return ad_var_add(y, entry);
}

static uint64_t go_back_through_loop(uint64_t y, uint64_t x)
{
    uint64_t inner = three_times(ADLoopUnbounded, add_gathered, ad_var_mul(x, x), x);
    return go_back(inner, ADFlagDefault) ? ad_var_inc_ref(y) : 0;
}

static bool back_in_loop(void)
{
    uint64_t x = input();
    uint64_t y = three_times(ADLoopUnbounded, go_back_within, ad_var_inc_ref(x), x);
    return y && gradient_is(x, 8, 6);
}

static bool back_in_evaluated_loop(void)
{
    jit_set_flag(JitFlagSymbolicLoops, 0);
    uint64_t x = input();
    uint64_t y = three_times(ADLoopUnbounded, go_back_within, ad_var_inc_ref(x), x);
    jit_set_flag(JitFlagSymbolicLoops, 1);
    return y && gradient_is(x, 8, 6);
}

static bool back_to_array(void)
{
    uint64_t x = input();
    uint64_t y = three_times(ADLoopUnbounded, go_back_to_array, ad_var_inc_ref(x), x);
    return y && gradient_is(x, 8, 6);
}

static bool back_through_loop(void)
{
    uint64_t x = input();
    uint64_t y =
        three_times(ADLoopUnbounded, go_back_through_loop, ad_var_inc_ref(x), x);
    return y && gradient_is(x, 8, 3 * (2 + 3));
}

/* The result of the loop is tracked, too. */
static uint64_t multiply_and_go_back(uint64_t y, uint64_t x)
{
    uint64_t same = go_back_within(y, x), product = same ? ad_var_mul(same, x) : 0;
    ad_var_dec_ref(same);
    return product;
}

static bool back_in_and_behind(void)
{
    uint64_t x = input();
    uint64_t y =
        three_times(ADLoopUnbounded, multiply_and_go_back, ad_var_inc_ref(x), x);
    return y && go_back(y, ADFlagDefault) && gradient_is(x, 8, 6 + 4);
}

/* ------------------------------------------------------- what turns out untracked */

/* y + 2 y, the slope of y^2: a state that may be tracked, but is not. */
static uint64_t add_slope(uint64_t y, uint64_t x)
{
    (void) x;
    uint64_t same = track(ad_var_mul(y, single(1)));
    uint64_t enabled = same ? track(ad_var_enable(same)) : 0;
    uint64_t square = track(ad_var_mul(enabled, enabled));
    uint64_t slope = go_back(square, ADFlagDefault) ? track(ad_grad(enabled)) : 0;
    return ad_var_add(y, slope);
}

static bool untracked_state(void)
{
    uint64_t x = input();
    uint64_t y = three_times(ADLoopUnbounded, add_slope, ad_var_detach(x), x);
    float found;
    if (!y || !jit_var_read((uint32_t) y, 8, &found))
        return false;
    if (ad_var_node(y) || found != 27)
        fail_msg("%g, with node %u, expected 27 without", (double) found,
                 ad_var_node(y));
    return true;
}

static uint64_t add_once(uint64_t y, uint64_t x)
{
    return ad_var_add(y, x);
}

/* In the loop within, y is tracked and s is not. */
static uint64_t add_untracked_powers(uint64_t y, uint64_t x)
{
    (void) x;
    uint64_t s = track(ad_var_mul(y, single(0.5f)));
    return ad_var_inc_ref(three_times(ADLoopUnbounded, add_once, ad_var_inc_ref(s), y));
}

static bool untracked_nested(void)
{
    uint64_t x = input();
    uint64_t y =
        three_times(ADLoopUnbounded, add_untracked_powers, ad_var_detach(x), x);
    if (y && ad_var_node(y))
        fail_msg("a state is tracked that nothing makes so");
    return y != 0;
}

/* ----------------------------------------------------------------------- tests */

static const Scenario scenarios[] = {
    { "gradients", gradients, false, false },
    { "second_gradients", second_gradients, false, false },
    { "gradient_of_conditional", gradient_of_conditional, false, false },
    { "second_gradient_of_conditional", second_gradient_of_conditional, false, false },
    { "gradient_of_loop", gradient_of_loop, false, false },
    { "second_gradient_of_loop", second_gradient_of_loop, false, false },
    { "gradient_by_parts", gradient_by_parts, false, false },
    { "gradient_of_call", gradient_of_call, false, false },
    { "gradient_of_bounded_in_loop", gradient_of_bounded_in_loop, false, false },
    { "gradient_of_nested", gradient_of_nested, false, false },
    { "gradient_of_evaluated_regions", gradient_of_evaluated_regions, false, false },
    { "third_gradient_of_loop", third_gradient_of_loop, false, false },
    { "tangents_of_regions", tangents_of_regions, false, false },
    { "second_gradient_of_call", second_gradient_of_call, false, false },
    { "second_tangent_of_loop", second_tangent_of_loop, false, false },
    { "gradient_of_scatter", gradient_of_scatter, false, false },
    { "gradient_of_maximum", gradient_of_maximum, false, false },
    { "gradient_of_packets", gradient_of_packets, false, false },
    { "gradient_of_local_array", gradient_of_local_array, false, false },
    { "gradient_of_scatter_in_loop", gradient_of_scatter_in_loop, false, false },
    { "gradient_of_overwriting_loop", gradient_of_overwriting_loop, false, false },
    { "gradient_of_scatter_in_side", gradient_of_scatter_in_side, false, false },
    { "gradient_of_compensated_sum", gradient_of_compensated_sum, false, false },
    { "gradient_of_shapes", gradient_of_shapes, false, false },
    { "gradient_of_reductions", gradient_of_reductions, false, false },
    { "gradient_of_sort", gradient_of_sort, false, false },
    { "gradient_of_matrix_product", gradient_of_matrix_product, false, false },
    { "gradient_of_small_matrix", gradient_of_small_matrix, false, false },
    { "second_gradient_of_small_matrix", second_gradient_of_small_matrix, false,
      false },
    { "gradient_of_functions", gradient_of_functions, false, false },
    { "scopes", scopes, false, false },
    { "isolation", isolation, false, false },
    { "isolated_loop", isolated_loop, false, false },
    { "texts", texts, false, false },
    { "explained", explained, false, false },
    { "debugged", debugged, false, false },
    { "tangents", tangents, false, false },
    { "many_edges", many_edges, false, false },
    { "custom_operation", custom_operation, false, false },
    { "custom_in_loop", custom_in_loop, false, false },
    { "operations_of_two", operations_of_two, false, false },
    { "tangent_beyond_scope", tangent_beyond_scope, false, false },
    { "gradient_of_columns", gradient_of_columns, false, false },
    { "released_with", released_with, false, false },
    { "loop_over_sums", loop_over_sums, false, false },
    { "evaluated_loop", evaluated_loop, false, false },
    { "back_in_loop", back_in_loop, false, false },
    { "back_in_evaluated_loop", back_in_evaluated_loop, false, false },
    { "back_to_array", back_to_array, false, false },
    { "back_through_loop", back_through_loop, false, false },
    { "back_in_and_behind", back_in_and_behind, false, false },
    { "untracked_state", untracked_state, false, false },
    { "untracked_nested", untracked_nested, false, false },
    { "tangent_of_overwritten", tangent_of_overwritten, false, false },
    { "tangent_of_overwritten_within", tangent_of_overwritten_within, false, false },
    { "gradient_of_overwritten_within", gradient_of_overwritten_within, false, false },
    { "gradient_of_sides_within", gradient_of_sides_within, false, false },
    { "gradient_of_cleared", gradient_of_cleared, false, false }
};

static int tests(void)
{
    return run_scenarios("ad_hostile", scenarios, COUNT_OF(scenarios));
}

int main(void)
{
    if (!begin_hostile())
        return 1;
    int failures = run_engines(tests);
    return !end_hostile() || failures;
}
