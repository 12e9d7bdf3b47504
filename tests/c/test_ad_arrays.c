/*
 * test_ad_arrays.c -- derivatives of gathers, scatters, reductions and the like
 */
#include "ad_util.h"

static Tracked square(Tracked x)
{
    Tracked y = ad_var_mul(x, x);
    ad_var_dec_ref(x);
    return y;
}

static uint32_t indices, mask; /* of gathers and scatters */

static Tracked gather(const Tracked *x, const void *mode)
{
    return square(ad_var_gather(x[0], indices, mask, *(const ReduceMode *) mode));
}

static Tracked gather_packet(const Tracked *x, const void *unused)
{
    (void) unused;
    Tracked out[4];
    uint32_t where = u32_array(3, (uint32_t[]){ 1, 0, 1 });
    OK(ad_var_gather_packet(4, x[0], where, 0, out, ReduceModeAuto));
    Tracked a = ad_var_mul(out[0], out[3]), b = ad_var_mul(out[1], out[2]);
    Tracked result = ad_var_add(a, b);
    FREE(where, out[0], out[1], out[2], out[3], a, b);
    return result;
}

static Tracked scatter(const Tracked *x, const void *op)
{
    Tracked target = square(ad_var_inc_ref(x[0])), value = square(ad_var_inc_ref(x[1]));
    Tracked y = ad_var_scatter(target, value, indices, mask, *(const ReduceOp *) op,
                               ReduceModeAuto);
    FREE(target, value);
    return y ? square(y) : 0;
}

static Tracked scatter_packet(const Tracked *x, const void *op)
{
    uint32_t where = u32_array(2, (uint32_t[]){ 2, 0 });
    Tracked values[] = { ad_var_neg(x[1]), square(ad_var_inc_ref(x[1])) };
    Tracked y = ad_var_scatter_packet(2, x[0], values, where, 0, *(const ReduceOp *) op,
                                      ReduceModeAuto);
    FREE(where, values[0], values[1]);
    return y ? square(y) : 0;
}

static Tracked kahan(const Tracked *x, const void *unused)
{
    (void) unused;
    Tracked first = square(ad_var_inc_ref(x[0]));
    Tracked second = literal_of(VarTypeFloat64, 0, 4);
    OK(ad_var_scatter_add_kahan(&first, &second, x[1], indices, mask));
    ad_var_dec_ref(second);
    return square(first);
}

static Tracked write_entry(const Tracked *x, const void *unused)
{
    (void) unused;
    return square(ad_var_write(x[0], 1, &(double){ 7 }));
}

static void test_memory(void **unused)
{
    (void) unused;
    Point p = { .inputs = 2,
                .size = { 8, 3 },
                .x = { { 1, -2, 3.5, 0.5, 2.5, 1.5, -1, 0.25 },
                       { 0.75, 1.25, -2.1 } } };
    Point target = { .inputs = 2,
                     .size = { 4, 3 },
                     .x = { { 1, -2, 3.5, 0.5 }, { 0.75, 1.25, -2.1 } } };
    Point one = { .inputs = 1, .size = { 1 }, .x = { { 1.5 } } };
    Point source = p;
    source.inputs = 1;
    for (int masked = 0; masked < 2; ++masked) {
        indices = u32_array(3, (uint32_t[]){ 2, 0, 2 });
        mask = masked ? array_of(VarTypeBool, (uint8_t[]){ 1, 1, 0 }, 3) : 0;
        ReduceMode mode = ReduceModeAuto;
        check_program("gather", gather, &mode, &source);
        check_program("gather from one entry", gather, &mode, &one);
        ReduceOp op = ReduceOpAdd;
        check_program("scatter_add", scatter, &op, &target);
        check_program("kahan", kahan, NULL, &target);
        op = ReduceOpMin;
        check_program("scatter_min", scatter, &op, &target);
        op = ReduceOpMax;
        check_program("scatter_max", scatter, &op, &target);
        DROP(indices);
        indices = u32_array(3, (uint32_t[]){ 3, 0, 2 });
        op = ReduceOpIdentity;
        check_program("scatter", scatter, &op, &target);
        mode = ReduceModePermute;
        check_program("gather, each once", gather, &mode, &source);
        DROP(indices, mask);
    }
    check_program("gather_packet", gather_packet, NULL, &source);
    Point packet = { .inputs = 2,
                     .size = { 6, 2 },
                     .x = { { 1, -2, 3.5, 0.5, 2, 4 }, { 1.25, -2.1 } } };
    for (ReduceOp op = ReduceOpIdentity; op <= ReduceOpMax; op = (ReduceOp) (op + 1))
        if (op != ReduceOpMul)
            check_program(
                (const char *[]){ "scatter_packet", "add", "mul", "min", "max" }[op],
                scatter_packet, &op, &packet);
    Point written = { .inputs = 1, .size = { 3 }, .x = { { 1, 2, 3 } } };
    check_program("write", write_entry, NULL, &written);

    Tracked x = tracked(2, (double[]){ 1, 2 });
    indices = u32_array(1, (uint32_t[]){ 0 });
    assert_int_equal(ad_var_scatter(x, x, indices, 0, ReduceOpMul, ReduceModeAuto), 0);
    CHECK_ERROR(JIT_ERROR_UNSUPPORTED, "no derivative");
    FREE(x, indices);
}

/* What was read keeps its value, whatever is written after it. */
static void test_overwritten(void **unused)
{
    (void) unused;
    Tracked x = tracked(2, (double[]){ 3, 5 }), y = ad_var_mul(x, x);
    uint32_t zero = u32_array(1, (uint32_t[]){ 0 }), value = jit_var_f64(CPU, 100);
    Tracked z = ad_var_scatter(x, value, zero, 0, ReduceOpIdentity, ReduceModeAuto);
    backward(y);
    CHECK_GRAD(x, 6, 10);
    FREE(x, y, zero, value, z);
}

static Tracked whole(const Tracked *x, const void *op)
{
    Tracked y = square(ad_var_inc_ref(x[0]));
    Tracked sum = ad_var_reduce(y, *(const ReduceOp *) op);
    ad_var_dec_ref(y);
    return square(sum);
}

static Tracked blocks(const Tracked *x, const void *op)
{
    Tracked y = ad_var_block_reduce(*(const ReduceOp *) op, x[0], 3);
    return y ? square(y) : 0;
}

static Tracked dot(const Tracked *x, const void *unused)
{
    (void) unused;
    return square(ad_var_reduce_dot(x[0], x[1]));
}

static Tracked prefix(const Tracked *x, const void *bits)
{
    int how = *(const int *) bits;
    return square(ad_var_block_prefix_reduce(ReduceOpAdd, x[0], how & 4 ? 3 : 6,
                                             how & 1, how >> 1 & 1));
}

static Tracked shape(const Tracked *x, const void *which)
{
    switch (*(const int *) which) {
    case 0:
        return square(ad_var_tile(x[0], 3));
    case 1:
        return square(ad_var_repeat(x[0], 3));
    case 2:
        return square(ad_var_reverse(x[0]));
    case 3:
        return square(ad_var_shrink(x[0], 4));
    case 4:
        return square(ad_var_sort(x[0], 0, 0));
    case 5:
        return square(ad_var_sort(x[0], 3, 1));
    case 6:
        return square(ad_var_copy(x[0]));
    default:
        return 0;
    }
}

static Tracked resize(const Tracked *x, const void *unused)
{
    (void) unused;
    return square(ad_var_resize(x[0], 5));
}

static void test_reductions(void **unused)
{
    (void) unused;
    Point p = { .inputs = 1, .size = { 6 }, .x = { { 1.5, -2, 0.75, 3, -0.5, 1.25 } } };
    for (ReduceOp op = ReduceOpAdd; op <= ReduceOpMax; op = (ReduceOp) (op + 1)) {
        check_program("reduce", whole, &op, &p);
        check_program("block_reduce", blocks, &op, &p);
    }
    for (int bits = 0; bits < 8; ++bits)
        check_program("prefix sum", prefix, &bits, &p);
    for (int which = 0; which < 7; ++which)
        check_program("shape", shape, &which, &p);
    Point two = p;
    two.inputs = 2;
    two.size[1] = 6;
    for (int i = 0; i < 6; ++i)
        two.x[1][i] = 0.3 * i - 1;
    check_program("dot", dot, NULL, &two);
    Point one = { .inputs = 1, .size = { 1 }, .x = { { 2 } } };
    check_program("resize", resize, NULL, &one);
}

/* Ties share in full; a factor 0 gets 0. */
static void test_conventions(void **unused)
{
    (void) unused;
    Tracked x = tracked(3, (double[]){ 2, 5, 5 });
    Tracked y = ad_var_reduce(x, ReduceOpMax);
    backward(y);
    CHECK_GRAD(x, 0, 1, 1);
    FREE(x, y);
    x = tracked(3, (double[]){ 2, 0, 5 });
    y = ad_var_reduce(x, ReduceOpMul);
    backward(y);
    CHECK_GRAD(x, 0, 0, 0);
    assert_int_equal(ad_var_reduce(x, ReduceOpAnd), 0);
    jit_error_clear();
    assert_int_equal(ad_var_block_prefix_reduce(ReduceOpMul, x, 3, 0, 0), 0);
    CHECK_ERROR(JIT_ERROR_UNSUPPORTED, "no derivative");
    FREE(x, y);
}

/* A node, and no variable: nothing comes from there, and nothing is done by it. */
static void test_without_entries(void **unused)
{
    (void) unused;
    Tracked x = ad_var_track_none(JitBackendLLVM, VarTypeFloat64);
    Tracked two = tracked(1, (double[]){ 2 }), again = ad_var_enable(x);
    assert_int_equal(ad_var_index(x), 0);
    assert_int_not_equal(ad_var_node(x), 0);
    assert_true(again == x && ad_grad_enabled(x) && ad_is_leaf(x));
    assert_int_equal(ad_var_track_none(JitBackendLLVM, VarTypeInt32), 0);
    assert_true(ad_set_grad(x, two) && ad_accum_grad(x, two) && !ad_has_grad(x));
    assert_true(ad_enqueue(ADModeBackward, x) &&
                ad_traverse(ADModeBackward, ADFlagDefault));
    assert_int_equal(ad_var_detach(x), 0);
    assert_true(ad_scope_enter(ADScopeSuspend, 1, &x) && !ad_grad_enabled(x));
    assert_true(ad_scope_leave(true) && ad_grad_enabled(x));
    assert_true(ad_scope_enter(ADScopeSuspend, 0, NULL));
    assert_int_equal(ad_var_track_none(JitBackendLLVM, VarTypeFloat64), 0);
    assert_true(ad_scope_leave(true));
    assert_int_equal(ad_var_add(x, x), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "which is not a variable");
    FREE(x, again, two);
}

static Tracked gemm(const Tracked *x, const void *payload)
{
    return square(ad_var_batched_gemm(x[0], x[1], payload));
}

static void test_gemm(void **unused)
{
    (void) unused;
    Point p = { .inputs = 2, .size = { 12, 12 } };
    for (int i = 0; i < 12; ++i) {
        p.x[0][i] = 0.5 - 0.3 * i + (i % 3);
        p.x[1][i] = 0.2 * i - 1 + (i % 5) * 0.1;
    }
    for (int bits = 0; bits < 4; ++bits) {
        JitGemm plain = { .m = 2,
                          .n = 3,
                          .k = 4,
                          .transpose_a = bits & 1,
                          .transpose_b = bits >> 1 & 1 };
        Point q = p;
        q.size[0] = 8;
        check_program("gemm", gemm, &plain, &q);
        /* rows with gaps */
        JitGemm gaps = { .m = 2,
                         .n = 2,
                         .k = 2,
                         .lda = 3,
                         .ldb = 4,
                         .transpose_a = bits & 1,
                         .transpose_b = bits >> 1 & 1 };
        check_program("gemm with gaps", gemm, &gaps, &p);
        /* a batch of 2 x 3, a matrix shared along one axis */
        size_t batch[] = { 2, 3 }, one[] = { 0, 4 }, other[] = { 6, 0 };
        JitGemm batched = { .m = 2,
                            .n = 3,
                            .k = 2,
                            .transpose_a = bits & 1,
                            .transpose_b = bits >> 1 & 1,
                            .batch_ndim = 2,
                            .batch_shape = batch,
                            .batch_stride_a = one,
                            .batch_stride_b = other };
        check_program("batched gemm", gemm, &batched, &p);
    }
}

static int all(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_memory),      TEST(test_overwritten), TEST(test_reductions),
        TEST(test_conventions), TEST(test_gemm),        TEST(test_without_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return run_engines(all);
}
