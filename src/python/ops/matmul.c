/*
 * matmul.c -- matrix, vector and tensor products
 *
 * Arrays of known size: by its leading extents an operand is a matrix (n, n, ...), a
 * vector (n, ...) or a single value. What follows the leading extents belongs to the
 * elements; elements of one operand may be single values where those of the other have
 * several leaves (Matrix34f @ Array3f).
 *
 * Tensors: NumPy's rules; the CPU kernel of the core, or a plain loop in drjit.scalar
 * that adds in the same order.
 */
#include "python/ops/matmul.h"

#include <math.h>

#include "python/array/evaluate.h"
#include "python/base/error.h"
#include "python/convert/convert.h"
#include "python/convert/promote.h"
#include "python/convert/value.h"
#include "python/ops/broadcast.h"

/* ---------------------------------------------------------------- arrays */

enum { NAME_ARGS = 2 };

/* One side of a product of arrays. */
typedef struct Side {
    const TypeInfo *info;
    int axes;        /* 2: matrix, 1: vector */
    size_t n, inner; /* leading extent; leaves of an element */
} Side;

static bool describe(Side *side, const Array *a)
{
    const TypeInfo *t = a->info;
    if (t->ndim == 0 || t->dynamic || t->kind == KIND_COMPLEX ||
        t->kind == KIND_QUATERNION || t->dims[0] == 0)
        return false;
    side->info = t;
    side->axes = t->ndim > 1 && t->dims[0] == t->dims[1] ? 2 : 1;
    side->n = (size_t) t->dims[0];
    side->inner = t->leaves;
    for (int i = 0; i < side->axes; i++)
        side->inner /= side->n;
    return true;
}

/* A product, and fused multiply-adds. False: the core's error is set. */
static bool sum_products(const TypeInfo *info, const Terms *a, const Terms *b, size_t n,
                         Value *sum)
{
    *sum = 0;
    for (size_t k = 0; k < n; k++) {
        const Value x = value_peek(a->array, a->first + k * a->term),
                    y = value_peek(b->array, b->first + k * b->term);
        Value next;
        const bool ok = k ? value_op3(info, JitOpFma, x, y, *sum, &next)
                          : value_op2(info, JitOpMul, x, y, &next);
        value_release(info, *sum);
        *sum = next;
        if (!ok)
            return false;
    }
    return n || value_constant(info, 0, sum);
}

PyObject *matmul_sums(const TypeInfo *info, const Terms *a, const Terms *b, size_t n,
                      size_t rows, size_t columns, const char *operation,
                      PyObject *const *args)
{
    const size_t inner = info->leaves / (rows * columns);
    Array *out = info->kind == KIND_FLAT ? NULL : array_new(info);
    if (!out && info->kind != KIND_FLAT)
        return NULL;
    for (size_t i = 0; i < info->leaves; i++) {
        const size_t row = i / inner / columns, column = i / inner % columns;
        Terms x = *a, y = *b;
        Value sum;
        x.first += row * a->line + i % inner * a->leaf;
        y.first += column * b->line + i % inner * b->leaf;
        if (!sum_products(info, &x, &y, n, &sum)) {
            Py_XDECREF((PyObject *) out);
            return error_from_core(operation, args, NAME_ARGS);
        }
        if (!out)
            return value_wrap(info, sum);
        value_store(out, i, sum);
    }
    return (PyObject *) out;
}

/* The type of the result: id, TYPE_NONE if there is none. */
static uint16_t result_type(const Side *a, const Side *b)
{
    const Side *larger = a->info->entry >= b->info->entry ? a : b;
    const Side *elements = a->info->ndim - a->axes >= b->info->ndim - b->axes ? a : b;
    VarType entry = (VarType) larger->info->entry;
    Family family = family_merge(a->info->family, b->info->family);
    int axes = a->axes + b->axes - 2, ndim = axes;
    int8_t dims[4];
    for (int i = 0; i < axes; i++)
        dims[i] = (int8_t) a->n;
    for (int i = elements->axes; i < elements->info->ndim; i++)
        dims[ndim++] = elements->info->dims[i];
    if (ndim > 3 || entry == VarTypeBool)
        return TYPE_NONE;
    bool matrix =
        axes == 2 && (a->info->kind == KIND_MATRIX || b->info->kind == KIND_MATRIX);
    Kind kind = ndim == 0 ? KIND_FLAT : matrix ? KIND_MATRIX : KIND_ARRAY;
    return type_find(family, kind, ndim, dims, entry);
}

static PyObject *fail(PyObject *const *args)
{
    return error_from_core("matmul", args, NAME_ARGS);
}

static PyObject *multiply_arrays(State *state, Array *x, Array *y,
                                 PyObject *const *args)
{
    Side a, b;
    if (!describe(&a, x) || !describe(&b, y) || a.n != b.n)
        Py_RETURN_NOTIMPLEMENTED;
    bool same_elements =
        a.inner == b.inner && a.info->ndim - a.axes == b.info->ndim - b.axes;
    for (int i = 0; same_elements && i < a.info->ndim - a.axes; i++)
        same_elements = a.info->dims[a.axes + i] == b.info->dims[b.axes + i];
    bool single = a.info->ndim == a.axes || b.info->ndim == b.axes;
    uint16_t id = same_elements || single ? result_type(&a, &b) : TYPE_NONE;
    if (id == TYPE_NONE)
        Py_RETURN_NOTIMPLEMENTED;
    const TypeInfo *info = &state->types[id];
    Array *left = convert_entries(info, x, "matmul"),
          *right = left ? convert_entries(info, y, "matmul") : NULL;
    const bool rows = a.axes == 2, columns = b.axes == 2;
    const Terms p = { left, 0, rows ? a.n * a.inner : 0, a.inner, a.inner > 1 };
    const Terms q = { right, 0, b.inner, columns ? a.n * b.inner : b.inner,
                      b.inner > 1 };
    PyObject *result = right ? matmul_sums(info, &p, &q, a.n, rows ? a.n : 1,
                                           columns ? a.n : 1, "matmul", args)
                             : NULL;
    Py_XDECREF((PyObject *) left);
    Py_XDECREF((PyObject *) right);
    return info->kind == KIND_FLAT ? result
                                   : array_finish((Array *) result, args, NAME_ARGS);
}

/* ---------------------------------------------------------------- tensors */

/* One tensor operand as a batch of matrices. */
typedef struct Stack {
    Extents shape; /* at least 2 axes; vectors have got one */
    bool vector, transposed;
    Extent rows, columns; /* after transposition */
} Stack;

static bool describe_stack(Stack *s, Array *a, bool left, bool transposed,
                           PyObject *const *args)
{
    extents_of(a, &s->shape);
    s->vector = s->shape.ndim == 1;
    s->transposed = transposed;
    if (s->shape.ndim == 0)
        return error_raise(PyExc_ValueError, "matmul", args, NAME_ARGS,
                           "operand %d has no axes, expected at least one",
                           left ? 1 : 2);
    if (s->vector && transposed)
        return error_raise(PyExc_ValueError, "matmul", args, NAME_ARGS,
                           "'%s=True' is possible for operands of 2 axes and more only",
                           left ? "At" : "Bt");
    if (s->vector) { /* a row on the left, a column on the right */
        const Extent entries = extents_get(&s->shape, 0);
        s->shape.ndim = 2;
        extents_set(&s->shape, left ? 1 : 0, entries);
        extents_set(&s->shape, left ? 0 : 1, extent_of(1));
    }
    const Extent rows = extents_get(&s->shape, s->shape.ndim - 2);
    const Extent columns = extents_get(&s->shape, s->shape.ndim - 1);
    s->rows = transposed ? columns : rows;
    s->columns = transposed ? rows : columns;
    return true;
}

/* JitGemm.sizes: m, n, k, lda, ldb, then three of each axis of the batch. */
enum { SIZE_BATCH = 5, AXIS_SIZES = 3 };

typedef struct Product {
    JitGemm gemm;
    Extents batch;
    size_t stride_a[TENSOR_MAX_DIMS], stride_b[TENSOR_MAX_DIMS];
    JitSize sizes[SIZE_BATCH + AXIS_SIZES * TENSOR_MAX_DIMS];
    Extents result;
    size_t batches;
    Extent size;
} Product;

static void batch_strides(const Stack *s, const Extents *batch, size_t *strides,
                          JitSize *sizes)
{
    const Extent none = extent_of(0);
    Extent stride = extent_mul(s->rows, s->columns);
    const size_t own = s->shape.ndim - 2;
    for (size_t d = 0; d < batch->ndim; d++) {
        const size_t axis = batch->ndim - 1 - d;
        const Extent extent = d < own ? extents_get(&s->shape, own - 1 - d)
                                      : extent_of(1);
        const Extent step = extent.n == 1 ? none : stride;
        strides[axis] = step.n;
        sizes[AXIS_SIZES * axis] = step.size;
        stride = extent_mul(stride, extent);
    }
}

static bool plan(Product *p, const Stack *a, const Stack *b, PyObject *const *args)
{
    if (!extent_equal(a->columns, b->rows))
        return error_raise(
            PyExc_ValueError, "matmul", args, NAME_ARGS,
            "the first operand has %zu columns and the second %zu rows, expected equal "
            "numbers",
            a->columns.n, b->rows.n);
    Extents other = b->shape;
    p->batch = a->shape;
    p->batch.ndim -= 2;
    other.ndim -= 2;
    if (!broadcast_merge(&p->batch, &other))
        return error_raise(PyExc_ValueError, "matmul", args, NAME_ARGS,
                           "the batch axes of the operands do not broadcast");
    memset(p->sizes, 0, sizeof(p->sizes));
    p->sizes[0] = a->rows.size;
    p->sizes[1] = b->columns.size;
    p->sizes[2] = a->columns.size;
    batch_strides(a, &p->batch, p->stride_a, &p->sizes[SIZE_BATCH + 1]);
    batch_strides(b, &p->batch, p->stride_b, &p->sizes[SIZE_BATCH + 2]);
    for (size_t i = 0; i < p->batch.ndim; i++)
        p->sizes[SIZE_BATCH + AXIS_SIZES * i] = extents_get(&p->batch, i).size;
    p->gemm = (JitGemm){
        .m = a->rows.n,
        .n = b->columns.n,
        .k = a->columns.n,
        .transpose_a = a->transposed,
        .transpose_b = b->transposed,
        .batch_ndim = (uint32_t) p->batch.ndim,
        .batch_shape = p->batch.dims,
        .batch_stride_a = p->stride_a,
        .batch_stride_b = p->stride_b,
        .sizes = size_is_recording() ? p->sizes : NULL,
    };
    p->result = p->batch;
    if (!a->vector)
        extents_append(&p->result, a->rows);
    if (!b->vector)
        extents_append(&p->result, b->columns);
    return array_shape_size(p->batch.ndim, p->batch.dims, &p->batches) &&
           extents_total(&p->result, &p->size);
}

typedef struct GemmCall {
    VarIndex b;
    const JitGemm *shape;
} GemmCall;

static VarIndex call_gemm(VarIndex a, void *argument)
{
    const GemmCall *call = argument;
    return var_gemm(a, call->b, call->shape);
}

static bool multiply_traced(const Product *p, Array *a, Array *b, Array *out,
                            PyObject *const *args)
{
    VarIndex index;
    const uint64_t zero = 0;
    const VarIndex from[] = { array_var(a), array_var(b) };
    bool ok = true;
    if (p->size.n == 0) {
        ok = var_none(out->info, 2, from, &index);
    } else if (p->gemm.k == 0) {
        index =
            var_of_none(var_literal(out->info, &zero, extent_next(p->size)), 2, from);
    } else {
        GemmCall call = { array_var(b), &p->gemm };
        index = evaluate_command(call_gemm, array_var(a), call.b, &call);
    }
    if (!ok || (p->size.n && !index)) {
        fail(args);
        return false;
    }
    array_set_leaf(out, 0, index);
    return true;
}

enum { BLOCK = 256 };

/* One entry of a product in memory: blocks of products are added in order. */
typedef struct Dot {
    size_t k, step_a, step_b;
} Dot;

#define DOT(name, type, fma)                                            \
    static type name(const type *a, const type *b, const Dot *d)        \
    {                                                                   \
        type sum = 0;                                                   \
        for (size_t start = 0; start < d->k; start += BLOCK) {          \
            type block = 0;                                             \
            for (size_t i = start; i < d->k && i < start + BLOCK; i++)  \
                block = fma(a[i * d->step_a], b[i * d->step_b], block); \
            sum = start ? sum + block : block;                          \
        }                                                               \
        return sum;                                                     \
    }
DOT(dot_f32, float, fmaf)
DOT(dot_f64, double, fma)

static uint64_t dot_u64(const uint64_t *a, const uint64_t *b, const Dot *d)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < d->k; i++)
        sum += a[i * d->step_a] * b[i * d->step_b];
    return sum;
}

/* Where a matrix of the batch starts. */
static size_t matrix_offset(const Extents *batch, const size_t *strides, size_t i)
{
    size_t offset = 0;
    for (size_t d = batch->ndim; d-- > 0;) {
        offset += i % batch->dims[d] * strides[d];
        i /= batch->dims[d];
    }
    return offset;
}

static void multiply_entries(const Product *p, VarType type, const char *a,
                             const char *b, char *out)
{
    const JitGemm *g = &p->gemm;
    size_t size = type_entry_size(type);
    Dot d = { g->k, g->transpose_a ? g->m : 1, g->transpose_b ? 1 : g->n };
    size_t row = g->transpose_a ? 1 : g->k, column = g->transpose_b ? g->k : 1;
    for (size_t batch = 0; batch < p->batches; batch++) {
        size_t first_a = matrix_offset(&p->batch, p->stride_a, batch);
        size_t first_b = matrix_offset(&p->batch, p->stride_b, batch);
        for (size_t i = 0; i < g->m; i++)
            for (size_t j = 0; j < g->n; j++, out += size) {
                const char *x = a + (first_a + i * row) * size;
                const char *y = b + (first_b + j * column) * size;
                if (type == VarTypeFloat32)
                    *(float *) out = dot_f32((const float *) x, (const float *) y, &d);
                else if (type == VarTypeFloat64)
                    *(double *) out =
                        dot_f64((const double *) x, (const double *) y, &d);
                else
                    *(uint64_t *) out =
                        dot_u64((const uint64_t *) x, (const uint64_t *) y, &d);
            }
    }
}

/* drjit.scalar: halves are multiplied as f32 and integers as u64, and converted back.
 * */
static bool multiply_now(const Product *p, Array *a, Array *b, Array *out,
                         PyObject *const *args)
{
    VarType type = (VarType) out->info->entry;
    VarType wide = type == VarTypeFloat16  ? VarTypeFloat32
                   : type > VarTypeFloat16 ? type
                                           : VarTypeUInt64;
    size_t size = type_entry_size(wide), n_a = array_count(a), n_b = array_count(b);
    const size_t entries = p->size.n;
    if (entries == 0)
        return true;
    char *memory = PyMem_Malloc((n_a + n_b + entries) * size);
    if (!memory)
        return PyErr_NoMemory();
    char *x = memory, *y = x + n_a * size, *z = y + n_b * size;
    bool ok = jit_host_cast(type, wide, 0, n_a, array_data(a), x) &&
              jit_host_cast(type, wide, 0, n_b, array_data(b), y);
    if (ok) {
        multiply_entries(p, wide, x, y, z);
        ok = jit_host_cast(wide, type, 0, entries, z, array_data(out));
    }
    PyMem_Free(memory);
    if (!ok)
        fail(args);
    return ok;
}

static PyObject *multiply_tensors(Array *a, Array *b, bool at, bool bt,
                                  PyObject *const *args)
{
    if (a->info != b->info)
        return error_raise(
            PyExc_TypeError, "matmul", args, NAME_ARGS,
            "the tensors have different types, expected the same entry type and "
            "backend");
    if (a->info->entry == VarTypeBool)
        return error_raise(PyExc_TypeError, "matmul", args, NAME_ARGS,
                           "masks have no matrix product");
    Stack left, right;
    Product product;
    if (!describe_stack(&left, a, true, at, args) ||
        !describe_stack(&right, b, false, bt, args) ||
        !plan(&product, &left, &right, args))
        return NULL;
    Array *out = extents_new_tensor(a->info, &product.result);
    if (out && !(a->info->jit ? multiply_traced(&product, a, b, out, args)
                              : multiply_now(&product, a, b, out, args)))
        Py_CLEAR(out);
    return array_finish(out, args, NAME_ARGS);
}

/* ---------------------------------------------------------------- entry */

PyObject *matmul_apply(State *state, PyObject *const *args, bool at, bool bt)
{
    Array *a = array_of(args[0]), *b = array_of(args[1]);
    if (!a || !b)
        Py_RETURN_NOTIMPLEMENTED;
    const Family family = family_merge(a->info->family, b->info->family);
    if (!promote_fits("matmul", args, 2, family))
        return NULL;
    bool tensor_a = a->info->kind == KIND_TENSOR;
    bool tensor_b = b->info->kind == KIND_TENSOR;
    if (tensor_a && tensor_b)
        return multiply_tensors(a, b, at, bt, args);
    if (tensor_a || tensor_b)
        Py_RETURN_NOTIMPLEMENTED;
    return multiply_arrays(state, a, b, args);
}
