/*
 * api_gemm.c -- batched matrix products
 *
 * The shape is checked here in full, with sums and products that cannot wrap around, so
 * that the runtime may use it as it is.
 */
#include "api/api.h"
#include "base/alloc.h"
#include "base/error.h"
#include "trace/eval/evaluate.h"
#include "freeze/freezing.h"
#include "trace/eval/work.h"
#include "trace/graph/node.h"

static const char function[] = "jit_var_batched_gemm()";

/* *sum += a * b; false if that is not a size_t. */
static bool add_product(size_t *sum, size_t a, size_t b)
{
    size_t product;
    return !__builtin_mul_overflow(a, b, &product) &&
           !__builtin_add_overflow(*sum, product, sum);
}

/* Extents, and the number of entries of the result. */
static bool check_extents(const JitGemm *shape, uint32_t *size)
{
    size_t count = 1;
    bool fits = shape->m && shape->n;
    if (fits)
        fits = !__builtin_mul_overflow(shape->m, shape->n, &count);
    for (uint32_t i = 0; fits && i < shape->batch_ndim; ++i)
        fits = shape->batch_shape[i] &&
               !__builtin_mul_overflow(count, shape->batch_shape[i], &count);
    if (!fits || count > UINT32_MAX) {
        size_t batch = 1;
        for (uint32_t i = 0; i < shape->batch_ndim; ++i)
            if (__builtin_mul_overflow(batch, shape->batch_shape[i], &batch))
                batch = SIZE_MAX;
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: the result consists of %zu matrices of %zu x %zu, "
                         "expected 1 to 4294967295 entries",
                         function, batch, shape->m, shape->n);
    }
    *size = (uint32_t) count;
    return true;
}

/* An operand: matrices of rows x columns, as stored. Strides that are left out are
 * filled in. */
static bool check_operand(VarId id, const char *name, size_t rows, size_t columns,
                          const JitGemm *shape, size_t *row_stride, size_t *strides)
{
    if (*row_stride == 0)
        *row_stride = columns;
    if (*row_stride < columns)
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: the row stride of operand %s is %zu, expected at least "
                         "the %zu entries of a row",
                         function, name, *row_stride, columns);
    size_t extent = columns, matrix = 0;
    bool fits = add_product(&extent, rows - 1, *row_stride) &&
                add_product(&matrix, rows, *row_stride);
    for (uint32_t i = shape->batch_ndim; fits && i-- > 0;) {
        const size_t *given = name[0] == 'A' ? shape->batch_stride_a
                                             : shape->batch_stride_b;
        strides[i] = given ? given[i] : matrix;
        fits = add_product(&extent, shape->batch_shape[i] - 1, strides[i]);
        if (fits && !given)
            fits = !__builtin_mul_overflow(matrix, shape->batch_shape[i], &matrix);
    }
    if (!fits || extent > var_lanes_of(id))
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: operand %s (r%u) has %u entries, but its matrices of "
                         "%zu x %zu reach over %zu%s",
                         function, name, id, node_number(thread_self.state, id),
                         rows, columns,
                         fits ? extent : SIZE_MAX, fits ? "" : " or more");
    return true;
}

/* Are both usable, and of one type that can be multiplied? */
static bool check_types(ThreadState *ts, VarId a, VarId b)
{
    TRY(node_usable(ts, a, function, "operand A"), false);
    TRY(node_usable(ts, b, function, "operand B"), false);
    VarType type = (VarType) var_get(a)->type;
    if (var_get(b)->type != type ||
        !(type_info[type].is_integer || type_info[type].is_float))
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: operands are %s and %s, expected one integer or floating "
                         "point type",
                         function, type_info[type].name,
                         type_info[var_get(b)->type].name);
    return node_same_device(var_get(a)->device, var_get(b)->device, "%s: operands",
                            function);
}

/* 'shape' is what the caller has 'given', complete. */
static VarId multiply(ThreadState *ts, VarId a, VarId b, const JitGemm *shape,
                      const JitGemm *given, uint32_t size)
{
    VarType type = (VarType) var_get(a)->type;
    size_t bytes = (size_t) size * type_info[type].size;
    Command *c =
        work_command(ts, COMMAND_GEMM, size, (VarId[]){ a, b }, 2, &bytes, 1,
                     sizeof(GemmShape) + shape->batch_ndim * sizeof(GemmAxis));
    TRY(c, 0);
    c->gemm.type = type;
    GemmShape *s = c->data;
    *s = (GemmShape){ .m = shape->m, .n = shape->n, .k = shape->k,
                      .row_a = shape->lda, .row_b = shape->ldb,
                      .transpose_a = shape->transpose_a,
                      .transpose_b = shape->transpose_b, .axes = shape->batch_ndim };
    for (uint32_t i = 0; i < shape->batch_ndim; ++i)
        s->axis[i] = (GemmAxis){ shape->batch_shape[i], shape->batch_stride_a[i],
                              shape->batch_stride_b[i] };
    if (freezing_gemm(ts, c, given, a, b))
        return work_result(ts, c, type, size);
    command_free(c);
    return 0;
}

static VarId check_and_multiply(ThreadState *ts, VarId a, VarId b, const JitGemm *shape)
{
    uint32_t size = 0, axes = shape->batch_ndim;
    TRY(check_types(ts, a, b), 0);
    TRY(check_extents(shape, &size), 0);
    if (shape->k == 0 && shape->sizes && watch_records(ts))
        TRY(freezing_bind(ts), 0);
    if (shape->k == 0)
        return node_literal(ts, var_get(a)->device,
                            (VarType) var_get(a)->type, 0, size);
    size_t few[16], *strides = axes > 8 ? alloc_zero(axes, 2 * sizeof(size_t)) : few;
    TRY(strides, 0);
    JitGemm full = *shape;
    full.batch_stride_a = strides;
    full.batch_stride_b = strides + axes;
    size_t m = shape->m, n = shape->n, k = shape->k;
    bool ta = shape->transpose_a, tb = shape->transpose_b;
    VarId result = 0;
    if (check_operand(a, "A", ta ? k : m, ta ? m : k, shape, &full.lda, strides) &&
        check_operand(b, "B", tb ? n : k, tb ? k : n, shape, &full.ldb, strides + axes))
        result = multiply(ts, a, b, &full, shape, size);
    if (strides != few)
        alloc_free(strides);
    return result;
}

uint32_t jit_var_batched_gemm(uint32_t a, uint32_t b, const JitGemm *shape)
{
    if (!shape || (shape->batch_ndim && !shape->batch_shape))
        return (uint32_t) api_null(function, shape ? "shape->batch_shape" : "shape");
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = check_and_multiply(ts, a, b, shape);
    api_leave();
    return result;
}
