/*
 * test_gemm.c -- batched matrix products
 *
 * Integers are compared with plain loops in 64-bit arithmetic cut to the width, floats
 * with a plain implementation of the documented order of summation, bit for bit, and
 * with sums in long double. Halves are converted by ldexp() and nearbyint(). All of it
 * is repeated for each instruction set and several numbers of threads.
 */
#include "test_util.h"

#include <float.h>
#include <math.h>
#include <sys/mman.h>

#include "device/cpu/loops/reduce_lanes.h"
#include "half_reference.h"

static const char *const isas[] = { "baseline", "avx2", "avx512" };
static const VarType all_types[] = { VarTypeInt8,    VarTypeUInt8,  VarTypeInt16,
                                     VarTypeUInt16,  VarTypeInt32,  VarTypeUInt32,
                                     VarTypeInt64,   VarTypeUInt64, VarTypeFloat16,
                                     VarTypeFloat32, VarTypeFloat64 };

/* ------------------------------------------------------------------- values */

static double float_value(VarType type, const void *data, size_t i)
{
    if (type == VarTypeFloat16)
        return half_value((uint16_t) get_bits(data, 2, i));
    if (type == VarTypeFloat32)
        return (double) ((const float *) data)[i];
    return ((const double *) data)[i];
}

static void put_float(VarType type, void *data, size_t i, double value)
{
    if (type == VarTypeFloat16)
        ((uint16_t *) data)[i] = half_bits(value);
    else if (type == VarTypeFloat32)
        ((float *) data)[i] = (float) value;
    else
        ((double *) data)[i] = value;
}

/* Random entries; floats of either sign and of some orders of magnitude. */
static void *random_numbers(VarType type, size_t size)
{
    const TestType *t = type_of(type);
    void *data = malloc(size * t->size);
    assert_non_null(data);
    for (size_t i = 0; i < size; ++i) {
        uint64_t bits = random_bits();
        double value = ldexp((double) (int64_t) bits, -65 + (int) (bits & 3));
        if (t->kind == 'f')
            put_float(type, data, i, value);
        else
            put_bits(data, t->size, i, bits & ones_of(8 * t->size));
    }
    return data;
}

/* --------------------------------------------------------------- reference */

/* One matrix product: where each operand begins, and strides of op(a) and op(b). */
typedef struct Product {
    VarType type;
    const void *a, *b;
    size_t a_first, a_row, a_step, b_first, b_step, b_column, k;
} Product;

static uint64_t integer_entry(const Product *x, size_t i, size_t j)
{
    uint32_t size = type_of(x->type)->size;
    uint64_t sum = 0;
    for (size_t p = 0; p < x->k; ++p)
        sum += get_bits(x->a, size, x->a_first + i * x->a_row + p * x->a_step) *
               get_bits(x->b, size, x->b_first + p * x->b_step + j * x->b_column);
    return sum & ones_of(8 * size);
}

/* The documented order: chains of 256 fused multiply-adds, added in order. '*exact' is
 * the sum in long double, '*scale' the one of magnitudes. */
static double float_entry(const Product *x, size_t i, size_t j, long double *exact,
                          long double *scale)
{
    bool is_double = x->type == VarTypeFloat64;
    double total = 0, chain = 0;
    *exact = *scale = 0;
    for (size_t p = 0; p < x->k; ++p) {
        size_t at_a = x->a_first + i * x->a_row + p * x->a_step;
        size_t at_b = x->b_first + p * x->b_step + j * x->b_column;
        double a = float_value(x->type, x->a, at_a);
        double b = float_value(x->type, x->b, at_b);
        chain = is_double ? fma(a, b, chain)
                          : (double) fmaf((float) a, (float) b, (float) chain);
        if (p % 256 == 255 || p + 1 == x->k) {
            bool first = p < 256;
            total = first ? chain
                    : is_double ? total + chain
                                : (double) ((float) total + (float) chain);
            chain = 0;
        }
        *exact += (long double) a * (long double) b;
        *scale += fabsl((long double) a * (long double) b);
    }
    return total;
}

static void check_entry(const Product *x, const void *out, size_t at, size_t i,
                        size_t j)
{
    const TestType *t = type_of(x->type);
    uint64_t found = get_bits(out, t->size, at), expected;
    if (t->kind != 'f') {
        expected = integer_entry(x, i, j);
    } else {
        long double exact, scale;
        double sum = float_entry(x, i, j, &exact, &scale);
        expected = 0;
        put_float(x->type, &expected, 0, sum);
        long double unit = x->type == VarTypeFloat64   ? (long double) DBL_EPSILON
                           : x->type == VarTypeFloat32 ? (long double) FLT_EPSILON
                                                       : 0x1p-10L;
        long double limit = unit * (scale * (x->type == VarTypeFloat16 ? 1 : 256) + 1);
        long double value = (long double) float_value(x->type, out, at);
        if (!(fabsl(value - exact) <= limit))
            fail_msg("entry (%zu, %zu): %Lg, expected %Lg", i, j, value, exact);
    }
    if (found != expected)
        fail_msg("%s, k = %zu: entry (%zu, %zu) is 0x%llx, expected 0x%llx", t->name,
                 x->k, i, j, (unsigned long long) found, (unsigned long long) expected);
}

/* Multiply and look at every 'skip'-th entry. The arrays are as long as they must be,
 * plus 'slack' entries. */
static void check_product(VarType type, const JitGemm *s, size_t skip)
{
    size_t lda = s->lda ? s->lda : s->transpose_a ? s->m : s->k;
    size_t ldb = s->ldb ? s->ldb : s->transpose_b ? s->k : s->n;
    size_t rows_a = s->transpose_a ? s->k : s->m, rows_b = s->transpose_b ? s->n : s->k;
    size_t size_a = (rows_a - 1) * lda + (s->transpose_a ? s->m : s->k);
    size_t size_b = (rows_b - 1) * ldb + (s->transpose_b ? s->k : s->n);
    size_t batch = 1, matrix_a = rows_a * lda, matrix_b = rows_b * ldb;
    size_t stride_a[8] = { 0 }, stride_b[8] = { 0 };
    for (uint32_t x = s->batch_ndim; x-- > 0;) {
        stride_a[x] = s->batch_stride_a ? s->batch_stride_a[x] : matrix_a * batch;
        stride_b[x] = s->batch_stride_b ? s->batch_stride_b[x] : matrix_b * batch;
        size_a += stride_a[x] * (s->batch_shape[x] - 1);
        size_b += stride_b[x] * (s->batch_shape[x] - 1);
        batch *= s->batch_shape[x];
    }
    void *data_a = random_numbers(type, size_a), *data_b = random_numbers(type, size_b);
    uint32_t a = array_of(type, data_a, size_a), b = array_of(type, data_b, size_b);
    uint32_t c = jit_var_batched_gemm(a, b, s);
    OK(c);
    assert_int_equal(jit_var_state(c), VarStateEvaluated);
    assert_int_equal(jit_var_type(c), type);
    assert_int_equal(jit_var_size(c), batch * s->m * s->n);
    void *out;
    uint32_t stored = data_of(c, &out);
    OK(stored);
    for (size_t at = 0; at < batch * s->m * s->n; at += skip) {
        Product x = { .type = type,
                      .a = data_a,
                      .b = data_b,
                      .a_row = s->transpose_a ? 1 : lda,
                      .a_step = s->transpose_a ? lda : 1,
                      .b_step = s->transpose_b ? 1 : ldb,
                      .b_column = s->transpose_b ? ldb : 1,
                      .k = s->k };
        size_t rest = at / (s->m * s->n);
        for (uint32_t axis = s->batch_ndim; axis-- > 0; rest /= s->batch_shape[axis]) {
            x.a_first += rest % s->batch_shape[axis] * stride_a[axis];
            x.b_first += rest % s->batch_shape[axis] * stride_b[axis];
        }
        check_entry(&x, out, at, at / s->n % s->m, at % s->n);
    }
    DROP(a, b, c, stored);
    free(data_a);
    free(data_b);
}

/* All four combinations of transposes, for each instruction set there is. */
static void check_variants(VarType type, JitGemm s, size_t skip)
{
    size_t given_a = s.lda, given_b = s.ldb;
    for (size_t isa = 0; isa < COUNT_OF(isas); ++isa) {
        if (!reduce_lanes_use(isas[isa]))
            continue;
        for (int transposes = 0; transposes < 4; ++transposes) {
            s.transpose_a = transposes & 1;
            s.transpose_b = transposes & 2;
            /* What is given is the excess over a row. */
            s.lda = given_a ? given_a + (s.transpose_a ? s.m : s.k) : 0;
            s.ldb = given_b ? given_b + (s.transpose_b ? s.k : s.n) : 0;
            check_product(type, &s, skip);
        }
    }
}

/* -------------------------------------------------------------------- tests */

static void test_sizes(void **state)
{
    (void) state;
    for (size_t t = 0; t < COUNT_OF(all_types); ++t)
        for (size_t n = 1; n <= 70; n += n < 20 ? 1 : 7) {
            check_variants(all_types[t], (JitGemm){ .m = n, .n = n, .k = n }, 1);
            check_variants(all_types[t],
                           (JitGemm){ .m = 1 + random_bits() % 70,
                                      .n = 1 + random_bits() % 70,
                                      .k = 1 + random_bits() % 70 },
                           1);
        }
}

/* Several blocks along each direction, and the limits of blocks. */
static void test_large(void **state)
{
    (void) state;
    static const size_t shapes[][3] = {
        { 300, 300, 300 }, { 1, 1000, 600 },  { 1000, 1, 600 }, { 1, 1, 3000 },
        { 600, 40, 257 },  { 57, 1100, 256 }, { 511, 65, 512 }, { 1030, 1030, 3 },
        { 257, 129, 1025 }, { 56, 300, 1500 }
    };
    for (size_t t = 0; t < COUNT_OF(all_types); ++t)
        for (size_t i = 0; i < COUNT_OF(shapes); ++i)
            check_variants(all_types[t],
                           (JitGemm){ .m = shapes[i][0],
                                      .n = shapes[i][1],
                                      .k = shapes[i][2] },
                           i < 6 ? 487 : 1009);
}

static void test_row_strides(void **state)
{
    (void) state;
    for (size_t t = 0; t < COUNT_OF(all_types); ++t) {
        check_variants(all_types[t],
                       (JitGemm){ .m = 17, .n = 35, .k = 9, .lda = 5, .ldb = 3 }, 1);
        check_variants(all_types[t],
                       (JitGemm){ .m = 300, .n = 600, .k = 300, .lda = 1, .ldb = 7 },
                       997);
    }
}

static void test_batches(void **state)
{
    (void) state;
    static const size_t extents[][3] = { { 3, 2, 5 }, { 1, 7, 1 }, { 4, 1, 3 } };
    for (size_t t = 0; t < COUNT_OF(all_types); ++t)
        for (size_t e = 0; e < COUNT_OF(extents); ++e) {
            JitGemm s = { .m = 5, .n = 19, .k = 7, .batch_ndim = 3,
                          .batch_shape = extents[e] };
            check_variants(all_types[t], s, 1);
            /* All kinds of broadcasting, and matrices that lie apart or overlap. */
            for (unsigned kind = 0; kind < 64; kind += t % 3 + 1) {
                size_t stride_a[3], stride_b[3];
                for (unsigned x = 0; x < 3; ++x) {
                    stride_a[x] = kind >> x & 1 ? 0 : 35 + 11 * x;
                    stride_b[x] = kind >> (3 + x) & 1 ? 0 : 133 - 7 * x;
                }
                s.batch_stride_a = stride_a;
                s.batch_stride_b = stride_b;
                check_variants(all_types[t], s, 1);
            }
        }
}

/* Rows, columns and small matrices have ways of their own. */
static void test_vectors(void **state)
{
    (void) state;
    static const size_t shapes[][3] = { { 1, 200, 30 }, { 200, 1, 30 }, { 1, 1, 600 },
                                        { 1, 37, 513 }, { 41, 1, 300 }, { 4, 4, 6 },
                                        { 1, 6000, 5 }, { 33, 3, 1 } };
    for (size_t t = 0; t < COUNT_OF(all_types); ++t)
        for (size_t i = 0; i < COUNT_OF(shapes); ++i) {
            size_t extents[] = { 2, 3 }, stride_a[2], stride_b[2];
            JitGemm s = { .m = shapes[i][0], .n = shapes[i][1], .k = shapes[i][2],
                          .batch_ndim = 2, .batch_shape = extents };
            size_t skip = 1 + s.m * s.n / 64;
            check_variants(all_types[t], s, skip);
            s.batch_stride_a = stride_a;
            s.batch_stride_b = stride_b;
            for (unsigned kind = 0; kind < 4; ++kind) {
                stride_a[1] = kind == 1 ? 0 : s.m * s.k;
                stride_b[1] = kind == 2 ? 0 : s.k * s.n;
                stride_a[0] = 3 * stride_a[1];
                stride_b[0] = kind == 3 ? 0 : 3 * stride_b[1];
                check_variants(all_types[t], s, skip);
            }
        }
}

/* Nothing is read beyond the end of memory that is not the library's. */
static void test_mapped(void **state)
{
    (void) state;
    size_t page = (size_t) sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    assert_int_equal(mprotect(memory + 2 * page, page, PROT_NONE), 0);
    static const size_t sizes[] = { 3, 7, 17, 20, 31 };
    for (size_t t = 0; t < COUNT_OF(all_types); ++t)
        for (size_t i = 0; i < COUNT_OF(sizes); ++i)
            for (size_t isa = 0; isa < COUNT_OF(isas); ++isa) {
                if (!reduce_lanes_use(isas[isa]))
                    continue;
                size_t n = sizes[i], entry = type_of(all_types[t])->size;
                void *data = random_numbers(all_types[t], n * n);
                char *at = memory + 2 * page - n * n * entry;
                memcpy(at, data, n * n * entry);
                uint32_t a = jit_var_mem_map(CPU, all_types[t], at, n * n, 0);
                uint32_t b = array_of(all_types[t], data, n * n);
                for (int transposes = 0; transposes < 4; ++transposes) {
                    JitGemm s = { .m = n, .n = n, .k = n,
                                  .transpose_a = transposes & 1,
                                  .transpose_b = transposes & 2 };
                    uint32_t c = jit_var_batched_gemm(a, a, &s);
                    uint32_t d = jit_var_batched_gemm(b, b, &s);
                    void *expected;
                    uint32_t stored = data_of(d, &expected);
                    OK(c && stored);
                    CHECK_BYTES(c, expected, n * n);
                    DROP(c, d, stored);
                }
                DROP(a, b);
                OK(jit_sync_thread());
                free(data);
            }
    munmap(memory, 3 * page);
}

/* Large matrices in a batch, and many small ones. */
static void test_large_batches(void **state)
{
    (void) state;
    static const VarType some[] = { VarTypeFloat32, VarTypeFloat16, VarTypeUInt8,
                                    VarTypeFloat64 };
    for (size_t t = 0; t < COUNT_OF(some); ++t) {
        size_t two[] = { 2, 2 }, many = 20000;
        size_t dense[] = { 2 * 240 * 270, 240 * 270 }, none[] = { 0, 0 },
               mixed[] = { 0, 270 * 100 };
        JitGemm s = { .m = 240, .n = 100, .k = 270, .batch_ndim = 2,
                      .batch_shape = two };
        check_variants(some[t], s, 2003);
        s.batch_stride_a = dense;
        s.batch_stride_b = none;
        check_variants(some[t], s, 2003);
        s.batch_stride_a = none;
        s.batch_stride_b = mixed;
        check_variants(some[t], s, 2003);
        check_variants(some[t],
                       (JitGemm){ .m = 3, .n = 4, .k = 2, .batch_ndim = 1,
                                  .batch_shape = &many },
                       13);
    }
}

/* The same bits for any number of threads. */
static void test_threads(void **state)
{
    (void) state;
    uint32_t before = jit_llvm_thread_count();
    for (uint32_t threads = 1; threads <= 7; threads += 2) {
        OK(jit_llvm_set_thread_count(threads));
        for (size_t t = 0; t < COUNT_OF(all_types); ++t) {
            JitGemm s = { .m = 250, .n = 200, .k = 520 };
            check_product(all_types[t], &s, 331);
            s = (JitGemm){ .m = 130, .n = 67, .k = 300, .transpose_b = true };
            check_product(all_types[t], &s, 89);
        }
    }
    OK(jit_llvm_set_thread_count(before));
}

/* -0 does not survive, because chains start at +0; infinities and NaN go through; a
 * product that f32 cannot hold cancels if it is fused. */
static void test_special(void **state)
{
    (void) state;
    const float a[] = { -1, INFINITY, 0x1p100f, NAN, 0, 1 };
    const float b[] = { 0, 1, 0x1p30f, 1, INFINITY, -0.f };
    const float expected[] = { 0, INFINITY, INFINITY, NAN, NAN, 0 };
    for (size_t isa = 0; isa < COUNT_OF(isas); ++isa) {
        if (!reduce_lanes_use(isas[isa]))
            continue;
        size_t six = 6;
        uint32_t x = array_of(VarTypeFloat32, a, 6), y = array_of(VarTypeFloat32, b, 6);
        uint32_t z = jit_var_batched_gemm(
            x, y, &(JitGemm){ .m = 1, .n = 1, .k = 1, .batch_ndim = 1,
                              .batch_shape = &six });
        OK(z);
        for (size_t i = 0; i < 6; ++i) {
            float value;
            OK(jit_var_read(z, i, &value));
            assert_false(value == 0 && signbit(value));
            assert_true(isnan(expected[i]) ? isnan(value) : value == expected[i]);
        }
        DROP(x, y, z);
        /* (1 + e)^2 - (1 + 2e) is e^2 if the products are not rounded. */
        const float e = 0x1p-12f, c[] = { -(1 + 2 * e), 1 + e }, d[] = { 1, 1 + e };
        x = array_of(VarTypeFloat32, c, 2);
        y = array_of(VarTypeFloat32, d, 2);
        z = jit_var_batched_gemm(x, y, &(JitGemm){ .m = 1, .n = 1, .k = 2 });
        float value = 0;
        OK(jit_var_read(z, 0, &value));
        assert_true(value == e * e);
        DROP(x, y, z);
    }
}

static void test_unevaluated(void **state)
{
    (void) state;
    uint32_t i = jit_var_counter(CPU, 6), two = literal_of(VarTypeUInt32, 2, 1);
    uint32_t a = jit_var_mul(i, two), ones = literal_of(VarTypeUInt32, 1, 6);
    uint32_t c = jit_var_batched_gemm(a, ones, &(JitGemm){ .m = 2, .n = 2, .k = 3 });
    CHECK_U32(c, 6, 6, 24, 24);
    uint32_t square = jit_var_batched_gemm(
        a, a, &(JitGemm){ .m = 2, .n = 2, .k = 3, .transpose_b = true });
    CHECK_U32(square, 20, 56, 56, 200);
    DROP(i, two, a, ones, c, square);
}

static void test_no_products(void **state)
{
    (void) state;
    uint32_t a = literal_of(VarTypeFloat32, 0x3f800000u, 1);
    uint32_t c = jit_var_batched_gemm(a, a, &(JitGemm){ .m = 3, .n = 2, .k = 0 });
    OK(c);
    CHECK_BYTES(c, ((float[6]){ 0, 0, 0, 0, 0, 0 }), 6);
    DROP(a, c);
}

static void test_history(void **state)
{
    (void) state;
    jit_set_flag(JitFlagKernelHistory, 1);
    float data[6] = { 1, 2, 3, 4, 5, 6 };
    uint32_t a = array_of(VarTypeFloat32, data, 6);
    jit_kernel_history_clear();
    uint32_t c = jit_var_batched_gemm(a, a, &(JitGemm){ .m = 2, .n = 2, .k = 3 });
    OK(c);
    KernelHistoryEntry *entries;
    size_t count = jit_kernel_history(&entries);
    assert_int_equal(count, 1);
    assert_int_equal(entries[0].type, KernelTypeBatchedGemm);
    assert_int_equal(entries[0].size, 4);
    jit_kernel_history_release(entries, count);
    CHECK_BYTES(c, ((float[4]){ 22, 28, 49, 64 }), 4);
    DROP(a, c);
}

static void check_refused(uint32_t a, uint32_t b, const JitGemm *s, const char *part)
{
    uint32_t before = jit_var_ref(a);
    assert_int_equal(jit_var_batched_gemm(a, b, s), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_batched_gemm()", part);
    assert_int_equal(jit_var_ref(a), before);
}

static void test_errors(void **state)
{
    (void) state;
    const float data[12] = { 1 };
    const uint8_t mask[12] = { 1 };
    uint32_t a = array_of(VarTypeFloat32, data, 12);
    uint32_t d = array_of(VarTypeInt32, data, 12);
    uint32_t e = array_of(VarTypeBool, mask, 12);
    JitGemm good = { .m = 3, .n = 3, .k = 4 }, s = good;
    check_refused(a, a, NULL, "shape is NULL");
    check_refused(0, a, &s, "operand A");
    check_refused(a, 0, &s, "operand B");
    check_refused(a, 99999, &s, "r99999");
    check_refused(a, d, &s, "float32 and int32");
    check_refused(e, e, &s, "bool and bool");
    s.m = 0;
    check_refused(a, a, &s, "1 matrices of 0 x 3");
    s = (JitGemm){ .m = 4, .n = 3, .k = 4 };
    check_refused(a, a, &s, "12 entries, but its matrices of 4 x 4 reach over 16");
    s = (JitGemm){ .m = 3, .n = 4, .k = 4, .transpose_b = true };
    check_refused(a, a, &s, "operand B");
    s = good;
    s.lda = 3;
    check_refused(a, a, &s, "row stride of operand A is 3");
    s.lda = 5;
    check_refused(a, a, &s, "reach over 14");
    s.lda = SIZE_MAX / 2 + 2;
    check_refused(a, a, &s, "or more");
    s = good;
    s.ldb = 2;
    check_refused(a, a, &s, "row stride of operand B is 2");
    s = (JitGemm){ .m = SIZE_MAX, .n = SIZE_MAX, .k = 1 };
    check_refused(a, a, &s, "expected 1 to 4294967295");
    s = (JitGemm){ .m = 65536, .n = 65536, .k = 0 };
    check_refused(a, a, &s, "expected 1 to 4294967295");
    s = (JitGemm){ .m = 1, .n = 1, .k = SIZE_MAX };
    check_refused(a, a, &s, "operand A");

    size_t extents[] = { 2, 0 }, strides[] = { SIZE_MAX, 0 };
    s = good;
    s.batch_ndim = 1;
    check_refused(a, a, &s, "batch_shape");
    s.batch_shape = extents;
    check_refused(a, a, &s, "reach over 24");
    s.batch_ndim = 2;
    check_refused(a, a, &s, "0 matrices of 3 x 3");
    s.batch_ndim = 1;
    s.batch_stride_a = strides;
    check_refused(a, a, &s, "or more");
    extents[0] = SIZE_MAX;
    extents[1] = SIZE_MAX;
    s.batch_ndim = 2;
    check_refused(a, a, &s, "expected 1 to 4294967295");
    DROP(a, d, e);
}

/* More axes than fit the stack of the checks. */
static void test_many_axes(void **state)
{
    (void) state;
    size_t extents[20];
    for (size_t x = 0; x < 20; ++x)
        extents[x] = x % 7 == 0 ? 2 : 1;
    float data[32];
    for (size_t i = 0; i < 32; ++i)
        data[i] = (float) i;
    uint32_t a = array_of(VarTypeFloat32, data, 32);
    uint32_t c = jit_var_batched_gemm(a, a, &(JitGemm){ .m = 2, .n = 2, .k = 2,
                                                         .batch_ndim = 20,
                                                         .batch_shape = extents });
    OK(c);
    float found;
    OK(jit_var_read(c, 7 * 4, &found));
    assert_true(found == 28 * 28 + 29 * 30);
    DROP(a, c);
}

static int tests(void)
{
    const struct CMUnitTest list[] = {
        TEST(test_sizes),       TEST(test_large),   TEST(test_row_strides),
        TEST(test_batches),     TEST(test_vectors), TEST(test_mapped),
        TEST(test_large_batches),
        TEST(test_threads),     TEST(test_special), TEST(test_unevaluated),
        TEST(test_no_products), TEST(test_history), TEST(test_errors),
        TEST(test_many_axes),
    };
    return cmocka_run_group_tests(list, NULL, NULL);
}

int main(void)
{
    return tests();
}
