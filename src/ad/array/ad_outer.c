/*
 * ad_outer.c -- sums over lanes of outer products
 *
 * As fast as can be where nothing is tracked: each thread adds to a copy of the matrix.
 * Else, and where the sums are to have a fixed order, they are a product of matrices
 * with a column for each lane, or in a body, which has no such thing, a scatter for
 * each entry.
 */
#include "ad/array/ad_moves.h"
#include "ad/graph/ad_thread.h"
#include "ad/rule/ad_apply.h"
#include "base/error.h"

/* As it stands: the vectors of a transposed matrix change places. */
typedef struct Outer {
    JitMatrix matrix;
    const uint64_t *left, *right;
    uint32_t mask;
} Outer;

/* ---------------------------------------------------------------- plain */

/* Variables of another type; to be released with drop_plain(). */
static uint32_t *convert(const uint64_t *values, size_t count, VarType type)
{
    uint32_t *result = alloc_zero(count, sizeof(uint32_t));
    for (size_t k = 0; k < count && result; k++)
        result[k] = jit_var_cast(ad_var_index(values[k]), type, 0);
    return result;
}

static void drop_plain(uint32_t *values, size_t count)
{
    for (size_t k = 0; k < count && values; k++)
        jit_var_dec_ref(values[k]);
    alloc_free(values);
}

static uint32_t add_plain(const Outer *o, uint32_t target, VarType type, size_t offset)
{
    JitMatrix matrix = o->matrix;
    matrix.array = target;
    matrix.offset = offset;
    uint32_t *left = convert(o->left, matrix.rows, type);
    uint32_t *right = convert(o->right, matrix.columns, type);
    uint32_t result =
        left && right ? jit_var_outer(&matrix, left, right, o->mask) : 0;
    drop_plain(left, matrix.rows);
    drop_plain(right, matrix.columns);
    return result;
}

/* target[offset + k] += matrix[k]; the latter's reference moves. */
static uint64_t add_matrix(const Outer *o, uint64_t target, uint64_t matrix)
{
    VarInfo info;
    if (!matrix || !jit_var_peek_info(ad_var_index(matrix), &info)) {
        ad_var_dec_ref(matrix);
        return 0;
    }
    uint32_t index = ad_moves_op(
        JitOpAdd, jit_var_counter(info.backend, o->matrix.rows * o->matrix.columns),
        ad_moves_u32(ad_var_index(matrix), (uint32_t) o->matrix.offset));
    uint64_t result = index ? ad_var_scatter(target, matrix, index, 0, ReduceOpAdd,
                                             ReduceModeNoConflicts)
                            : 0;
    jit_var_dec_ref(index);
    ad_var_dec_ref(matrix);
    return result;
}

/* Sums of many small numbers do not fit f16: a matrix of f32 has them until the end. */
static uint64_t add_half(const Outer *o, uint64_t target)
{
    static const uint64_t zero;
    VarInfo info;
    TRY(jit_var_peek_info(ad_var_index(target), &info), 0);
    uint32_t zeros = jit_var_literal(info.backend, VarTypeFloat32, &zero,
                                     o->matrix.rows * o->matrix.columns, 0);
    uint32_t sums = zeros ? add_plain(o, zeros, VarTypeFloat32, 0) : 0;
    uint32_t half = sums ? jit_var_cast(sums, VarTypeFloat16, 0) : 0;
    jit_var_dec_ref(zeros);
    jit_var_dec_ref(sums);
    return add_matrix(o, target, half);
}

/* ---------------------------------------------------------------- by entry */

static uint64_t scatter_each(const Outer *o, uint64_t target)
{
    uint64_t result = ad_var_inc_ref(target);
    for (size_t e = 0; e < o->matrix.rows * o->matrix.columns && result; e++) {
        uint64_t value = ad_var_mul(o->left[e / o->matrix.columns],
                                    o->right[e % o->matrix.columns]);
        uint32_t index = ad_moves_u32(ad_var_index(target),
                                      (uint32_t) (o->matrix.offset + e));
        uint64_t next = value && index ? ad_var_scatter(result, value, index, o->mask,
                                                        ReduceOpAdd, ReduceModeAuto)
                                       : 0;
        ad_var_dec_ref(value);
        jit_var_dec_ref(index);
        ad_var_dec_ref(result);
        result = next;
    }
    return result;
}

/* ---------------------------------------------------------------- by a product */

/* The row of a matrix: the value of each lane, or 0 where the mask is not set. */
static uint64_t put_row(uint64_t rows, size_t row, uint64_t value, uint32_t mask,
                        AdSize lanes)
{
    VarInfo info;
    TRY(jit_var_peek_info(ad_var_index(rows), &info), 0);
    uint64_t zero = mask ? ad_moves_number(value, 0) : 0;
    uint64_t shown = mask && zero ? ad_var_select(mask, value, zero)
                     : mask       ? 0
                                  : ad_var_inc_ref(value);
    uint32_t width = ad_size_number(lanes, info.backend);
    uint32_t first = ad_moves_op(JitOpMul, width,
                                 ad_moves_u32(ad_var_index(rows), (uint32_t) row));
    ad_size_next(lanes);
    uint32_t index =
        ad_moves_op(JitOpAdd, first, jit_var_counter(info.backend, lanes.count));
    uint64_t result = shown && index ? ad_var_scatter(rows, shown, index, 0,
                                                      ReduceOpIdentity,
                                                      ReduceModePermute)
                                     : 0;
    jit_var_dec_ref(index);
    ad_var_dec_ref(zero);
    ad_var_dec_ref(shown);
    return result;
}

static uint64_t put_rows(const uint64_t *values, size_t count, uint32_t mask,
                         AdSize lanes)
{
    const AdSize rows = { .count = count };
    uint64_t result = ad_moves_fill(values[0], 0, ad_size_times(lanes, rows));
    for (size_t k = 0; k < count && result; k++) {
        uint64_t next = put_row(result, k, values[k], mask, lanes);
        ad_var_dec_ref(result);
        result = next;
    }
    return result;
}

static AdSize find_lanes(const Outer *o)
{
    AdSize lanes = ad_size_of(o->mask ? o->mask : ad_var_index(o->left[0]));
    for (size_t k = 0; k < o->matrix.rows + o->matrix.columns && lanes.count == 1; k++)
        lanes = ad_size_of(ad_var_index(k < o->matrix.rows
                                            ? o->left[k]
                                            : o->right[k - o->matrix.rows]));
    return lanes;
}

static uint64_t multiply(const Outer *o, uint64_t target)
{
    const AdSize lanes = find_lanes(o);
    uint64_t left = put_rows(o->left, o->matrix.rows, o->mask, lanes);
    uint64_t right =
        left ? put_rows(o->right, o->matrix.columns, o->mask, lanes) : 0;
    const uint64_t sizes[] = { 0, 0, ad_size_origin(lanes), ad_size_origin(lanes),
                               ad_size_origin(lanes) };
    const JitGemm shape = { .m = o->matrix.rows, .n = o->matrix.columns,
                            .k = lanes.count, .transpose_b = true, .lda = lanes.count,
                            .ldb = lanes.count, .sizes = sizes };
    uint64_t product = right ? ad_var_batched_gemm(left, right, &shape) : 0;
    ad_var_dec_ref(left);
    ad_var_dec_ref(right);
    return add_matrix(o, target, product);
}

/* ---------------------------------------------------------------- entry */

/* Values of the type of the matrix; to be released with drop_values(). */
static uint64_t *converted(const uint64_t *values, size_t count, VarType type)
{
    uint64_t *result = alloc_zero(count, sizeof(uint64_t));
    for (size_t k = 0; k < count && result; k++)
        result[k] = ad_var_cast(values[k], type, 0);
    return result;
}

static void drop_values(uint64_t *values, size_t count)
{
    for (size_t k = 0; k < count && values; k++)
        ad_var_dec_ref(values[k]);
    alloc_free(values);
}

/* Where something is tracked, or the sums are to have a fixed order. */
static uint64_t add_tracked(const Outer *o, uint64_t array, VarType type)
{
    uint64_t *left = converted(o->left, o->matrix.rows, type), result = 0;
    uint64_t *right = converted(o->right, o->matrix.columns, type);
    const Outer same = { o->matrix, left, right, o->mask };
    if (left && right)
        result = ad_thread_in_body() ? scatter_each(&same, array)
                                     : multiply(&same, array);
    drop_values(left, o->matrix.rows);
    drop_values(right, o->matrix.columns);
    return result;
}

uint64_t ad_var_outer(uint64_t array, const JitMatrix *matrix, const uint64_t *left,
                      const uint64_t *right, uint32_t mask)
{
    if (!matrix || !left || !right)
        return (uint64_t) error_set(JIT_ERROR_ARGUMENT, "ad_var_outer(): '%s' is NULL",
                                    !matrix ? "matrix" : !left ? "left" : "right");
    VarInfo info;
    TRY(jit_var_peek_info(ad_var_index(array), &info), 0);
    Outer o = { *matrix, matrix->transpose ? right : left,
                matrix->transpose ? left : right, mask };
    o.matrix.transpose = 0;
    const bool tracked =
        ad_apply_tracks(1, &array) ||
        ad_apply_tracks((uint32_t) o.matrix.rows, o.left) ||
        ad_apply_tracks((uint32_t) o.matrix.columns, o.right);
    const bool fixed = jit_flag(JitFlagDeterministic);
    if (tracked || fixed)
        return add_tracked(&o, array, info.type);
    return info.type == VarTypeFloat16 && !ad_thread_in_body()
               ? add_half(&o, array)
               : add_plain(&o, ad_var_index(array), info.type, o.matrix.offset);
}
