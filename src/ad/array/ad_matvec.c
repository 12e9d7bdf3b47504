/*
 * ad_matvec.c -- products with small matrices that all lanes share
 *
 * One operation with many results:
 *
 *     inputs     array of the matrix | entries of the vector | what is added
 *     y = A x + c        dy = A dx + dA x + dc
 *                        dx = A^T dy;  dA = sum over lanes of dy x^T;  dc = dy
 *
 * The gradient of the array is one that is added to in place, as that of a gather.
 */
#include "ad/array/ad_moves.h"
#include "ad/graph/ad_open.h"
#include "ad/graph/ad_thread.h"
#include "ad/rule/ad_apply.h"
#include "ad/rule/ad_operation.h"
#include "base/error.h"

enum { ARRAY, MASK, VECTOR }; /* leaves */

typedef struct MatVec {
    JitMatrix matrix; /* its array is leaf ARRAY */
    size_t n, m;      /* entries of the vector, of the result */
    AdSize entries;   /* of the array */
    AdSize lanes;     /* of the result */
    bool adds;
    bool array_tracked, vector_tracked;
    uint64_t leaves[]; /* owned: array, mask or 0, entries of the vector */
} MatVec;

/* A value that the operation holds: tracked if the traversal wants that. */
static uint64_t leaf(const MatVec *p, size_t i)
{
    return ad_traverse_is_tracked() ? p->leaves[i] : ad_var_index(p->leaves[i]);
}

static void drop_all(uint64_t *values, size_t count)
{
    for (size_t k = 0; values && k < count; k++)
        ad_var_dec_ref(values[k]);
    alloc_free(values);
}

/* Gradients, where there are none zeros, of which one has as many entries as there are
 * lanes. To be released with drop_all(). */
static uint64_t *fill(const uint64_t *given, size_t count, uint64_t like, AdSize lanes)
{
    uint64_t *all = alloc_zero(count + 1, sizeof(uint64_t));
    bool ok = all != NULL, wide = lanes.count == 1;
    for (size_t k = 0; k < count && ok; k++) {
        all[k] = given[k] ? ad_var_inc_ref(given[k]) : ad_moves_number(like, 0);
        ok = all[k] != 0;
        wide = wide || (ok && jit_var_peek_size(ad_var_index(all[k])) != 1);
    }
    if (ok && !wide) {
        uint64_t resized = ad_moves_resize(all[0], lanes);
        ad_var_dec_ref(all[0]);
        ok = (all[0] = resized) != 0;
    }
    if (ok)
        return all;
    drop_all(all, all ? count : 0);
    return NULL;
}

static bool any(const uint64_t *values, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (values[k])
            return true;
    return false;
}

/* ---------------------------------------------------------------- traversals */

/* out += dA x */
static bool add_change(const MatVec *p, uint64_t change, const uint64_t *x,
                       uint64_t *out)
{
    uint64_t whole = ad_moves_resize(change, p->entries);
    uint64_t *sums = alloc_zero(p->m, sizeof(uint64_t));
    bool ok = whole && sums && ad_var_matvec(whole, &p->matrix, x,
                                             out[0] ? out : NULL, sums);
    for (size_t i = 0; i < p->m && ok; i++) {
        ad_var_dec_ref(out[i]);
        out[i] = sums[i];
    }
    alloc_free(sums);
    ad_var_dec_ref(whole);
    return ok;
}

static bool matvec_forward(void *payload, const uint64_t *in, uint64_t *out)
{
    const MatVec *p = payload;
    const uint64_t *dx = in + 1, *added = dx + p->n;
    uint64_t *x = alloc_zero(p->n, sizeof(uint64_t)), *dc = NULL, *full = NULL;
    bool ok = x != NULL;
    for (size_t k = 0; k < p->n && ok; k++)
        x[k] = leaf(p, VECTOR + k);
    if (ok && p->adds && any(added, p->m))
        ok = (dc = fill(added, p->m, x[0], p->lanes)) != NULL;
    if (ok && any(dx, p->n)) {
        ok = (full = fill(dx, p->n, x[0], p->lanes)) &&
             ad_var_matvec(leaf(p, ARRAY), &p->matrix, full, dc, out);
        drop_all(full, p->n);
    } else if (ok && dc) {
        for (size_t i = 0; i < p->m; i++)
            out[i] = ad_var_inc_ref(dc[i]);
    }
    drop_all(dc, p->m);
    if (ok && in[0])
        ok = add_change(p, in[0], x, out);
    alloc_free(x);
    return ok;
}

/* The gradient of the array, to which 'into', which moves, belongs. */
static uint64_t array_gradient(const MatVec *p, uint64_t into, const uint64_t *g)
{
    uint64_t *x = alloc_zero(p->n, sizeof(uint64_t)), result = 0;
    uint64_t base = into ? ad_moves_resize(into, p->entries)
                         : ad_moves_fill(g[0], 0, p->entries);
    ad_var_dec_ref(into);
    for (size_t k = 0; k < p->n && x; k++)
        x[k] = leaf(p, VECTOR + k);
    if (x && base)
        result = ad_var_outer(base, &p->matrix, g, x, (uint32_t) p->leaves[MASK]);
    ad_var_dec_ref(base);
    alloc_free(x);
    return result;
}

static bool matvec_backward(void *payload, uint64_t *in, const uint64_t *out)
{
    const MatVec *p = payload;
    if (!any(out, p->m))
        return true;
    uint64_t *g = fill(out, p->m, leaf(p, VECTOR), p->lanes);
    TRY(g, false);
    bool ok = true;
    if (p->vector_tracked) {
        JitMatrix turned = p->matrix;
        turned.transpose = !turned.transpose;
        ok = ad_var_matvec(leaf(p, ARRAY), &turned, g, NULL, in + 1);
    }
    if (ok && p->array_tracked) {
        uint64_t into = in[0];
        in[0] = 0;
        ok = (in[0] = array_gradient(p, into, g)) != 0;
    }
    for (size_t i = 0; i < p->m && ok && p->adds; i++)
        in[1 + p->n + i] = ad_var_inc_ref(g[i]);
    drop_all(g, p->m);
    return ok;
}

static AdArrival matvec_arrival(const void *payload, uint32_t input)
{
    (void) payload;
    return input == 0 ? ARRIVES_ARRAY : ARRIVES_VALUE;
}

static void matvec_release(void *payload)
{
    MatVec *p = payload;
    for (size_t i = 0; i < VECTOR + p->n; i++)
        ad_var_dec_ref(p->leaves[i]);
    alloc_free(p);
}

/* ---------------------------------------------------------------- entry */

/* The only entry of an array is a value of all lanes. */
static bool multiply_number(uint64_t array, const uint64_t *x, const uint64_t *add,
                            uint64_t *out)
{
    *out = add ? ad_var_fma(array, *x, *add) : ad_var_mul(array, *x);
    return *out != 0;
}

static MatVec *describe(uint64_t array, const JitMatrix *matrix, const uint64_t *x,
                        bool adds, uint32_t result)
{
    const bool t = matrix->transpose != 0;
    const size_t n = t ? matrix->rows : matrix->columns;
    MatVec *p = alloc_zero(1, sizeof(MatVec) + (VECTOR + n) * sizeof(uint64_t));
    TRY(p, NULL);
    p->matrix = *matrix;
    p->n = n;
    p->m = t ? matrix->columns : matrix->rows;
    p->entries = ad_size_of(ad_var_index(array));
    p->lanes = ad_size_of(result);
    p->adds = adds;
    p->array_tracked = ad_apply_tracks(1, &array);
    p->vector_tracked = ad_apply_tracks((uint32_t) n, x);
    bool ok;
    p->leaves[MASK] = ad_moves_mask(ad_var_index(x[0]), 0, n, x, &ok);
    p->leaves[ARRAY] = ad_var_inc_ref(array);
    for (size_t k = 0; k < n; k++)
        p->leaves[VECTOR + k] = ad_var_inc_ref(x[k]);
    if (ok)
        return p;
    matvec_release(p);
    return NULL;
}

/* 'inputs': array, vector, what is added. */
static bool track(MatVec *p, size_t count, const uint64_t *inputs, uint64_t *out)
{
    const ADCustom custom = { "matvec", matvec_forward, matvec_backward, matvec_release,
                              NULL };
    return ad_operation_track(&custom, p, matvec_arrival, p->leaves, VECTOR + p->n,
                              count, inputs, p->m, out);
}

/* Results by now, with nodes if an operand is tracked; else they are gone. */
static bool finish(uint64_t array, const JitMatrix *matrix, const uint64_t *inputs,
                   size_t n, size_t m, bool adds, uint64_t *out)
{
    const size_t count = 1 + n + (adds ? m : 0);
    bool tracked = ad_apply_tracks((uint32_t) count, inputs);
    MatVec *p =
        tracked ? describe(array, matrix, inputs + 1, adds, (uint32_t) out[0]) : NULL;
    if (!tracked || (p && track(p, count, inputs, out)))
        return true;
    for (size_t i = 0; i < m; i++) {
        ad_var_dec_ref(out[i]);
        out[i] = 0;
    }
    return false;
}

bool ad_var_matvec(uint64_t array, const JitMatrix *matrix, const uint64_t *x,
                   const uint64_t *add, uint64_t *out)
{
    if (!matrix || !x || !out)
        return error_set(JIT_ERROR_ARGUMENT, "ad_var_matvec(): '%s' is NULL",
                         !matrix ? "matrix" : !x ? "x" : "out");
    const bool t = matrix->transpose != 0;
    const size_t n = t ? matrix->rows : matrix->columns;
    const size_t m = t ? matrix->columns : matrix->rows;
    JitMatrix own = *matrix;
    own.array = ad_var_index(array);
    if (n == 1 && m == 1 && !own.offset && array &&
        jit_var_peek_size(own.array) == 1 && ad_apply_tracks(1, &array))
        return multiply_number(array, x, add, out);
    const size_t count = 1 + n + (add ? m : 0);
    uint64_t *inputs = n && m && n < AD_SLOTS && m < AD_SLOTS
                           ? alloc_get(count * sizeof(uint64_t))
                           : NULL;
    uint32_t *plain = inputs ? alloc_get((count + m) * sizeof(uint32_t)) : NULL;
    bool ok = plain != NULL;
    if (ok) {
        inputs[0] = array;
        for (size_t k = 1; k < count; k++)
            inputs[k] = k <= n ? x[k - 1] : add[k - 1 - n];
        for (size_t k = 0; k < count; k++)
            plain[k] = ad_var_index(inputs[k]);
        ok = jit_var_matvec(&own, plain + 1, add ? plain + 1 + n : NULL, plain + count);
    } else if (!inputs) {
        const uint32_t none[1] = { 0 }; /* says what is wrong with the matrix */
        uint32_t nothing[1];
        jit_var_matvec(&own, none, NULL, nothing);
    }
    for (size_t i = 0; i < m && ok; i++)
        out[i] = plain[count + i];
    ok = ok && finish(array, &own, inputs, n, m, add != NULL, out);
    alloc_free(inputs);
    alloc_free(plain);
    return ok;
}
