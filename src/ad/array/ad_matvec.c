/*
 * ad_matvec.c -- products with small matrices that all lanes share
 *
 * One operation with many results:
 *
 *     inputs     array of the matrix | entries of the vector | array of the bias
 *     y = A x + c        dy = A dx + dA x + dc
 *                        dx = A^T dy;  dA = sum of dy x^T;  dc = sum of dy (over lanes)
 *
 * Gradients of the arrays are added to in place, as those of a gather. If both arrays
 * have one node, that is one input.
 */
#include "ad/array/ad_moves.h"
#include "ad/rule/ad_apply.h"
#include "ad/rule/ad_operation.h"
#include "base/error.h"

enum { ARRAY, MASK, VECTOR }; /* leaves */

typedef struct MatVec {
    JitMatrix matrix; /* its array is leaf ARRAY */
    size_t n, m;      /* entries of the vector, of the result */
    size_t bias;      /* where it begins in its array */
    AdSize entries, bias_entries; /* of the arrays */
    AdSize lanes;                 /* of the result */
    bool adds, shares; /* is there a bias? Is its array that of the matrix? */
    bool array_tracked, bias_tracked, vector_tracked;
    VarType sums;      /* of gradients of the arrays: that of the matrix */
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

/* ---------------------------------------------------------------- forward */

/* out[i] += term[i]; references of both move. */
static bool add_terms(uint64_t *out, const uint64_t *terms, size_t count)
{
    bool ok = true;
    for (size_t i = 0; i < count; i++)
        ok = (out[i] = ad_moves_add(out[i], terms[i])) != 0 && ok;
    return ok;
}

/* A tangent of the array, or of its gradient's type, as the array is. */
static uint64_t as_array(const MatVec *p, uint64_t tangent, AdSize entries)
{
    VarInfo info;
    TRY(jit_var_peek_info(ad_var_index(p->leaves[ARRAY]), &info), 0);
    uint64_t same = ad_var_cast(tangent, info.type, 0);
    uint64_t whole = same ? ad_moves_resize(same, entries) : 0;
    ad_var_dec_ref(same);
    return whole;
}

/* out += A x; 'array' has the entries of A, or one for all. */
static bool add_product(const MatVec *p, uint64_t array, const uint64_t *x,
                        uint64_t *out)
{
    uint64_t whole = as_array(p, array, p->entries);
    uint64_t *terms = alloc_zero(p->m, sizeof(uint64_t));
    bool ok = whole && terms && ad_var_matvec(whole, &p->matrix, x, 0, 0, 0, terms) &&
              add_terms(out, terms, p->m);
    alloc_free(terms);
    ad_var_dec_ref(whole);
    return ok;
}

/* The tangent of the bias, of which each entry is one for all lanes. */
static bool add_bias(const MatVec *p, uint64_t array, uint64_t *out)
{
    uint64_t whole = as_array(p, array, p->shares ? p->entries : p->bias_entries);
    bool ok = whole != 0;
    for (size_t i = 0; i < p->m && ok; i++) {
        uint32_t index = ad_moves_u32(ad_var_index(whole), (uint32_t) (p->bias + i));
        uint64_t term = index ? ad_var_gather(whole, index, 0, ReduceModeAuto) : 0;
        jit_var_dec_ref(index);
        ok = term && (out[i] = ad_moves_add(out[i], term));
    }
    ad_var_dec_ref(whole);
    return ok;
}

static bool matvec_forward(void *payload, const uint64_t *in, uint64_t *out)
{
    const MatVec *p = payload;
    const uint64_t bias = !p->adds ? 0 : p->shares ? in[0] : in[1 + p->n];
    bool ok = true;
    if (any(in + 1, p->n)) {
        uint64_t *dx = fill(in + 1, p->n, leaf(p, VECTOR), p->lanes);
        ok = dx && add_product(p, leaf(p, ARRAY), dx, out);
        drop_all(dx, p->n);
    }
    if (ok && in[0]) {
        uint64_t *x = alloc_zero(p->n, sizeof(uint64_t));
        for (size_t k = 0; k < p->n && x; k++)
            x[k] = leaf(p, VECTOR + k);
        ok = x && add_product(p, in[0], x, out);
        alloc_free(x);
    }
    return ok && (!bias || add_bias(p, bias, out));
}

/* ---------------------------------------------------------------- reverse */

/* 'into', which moves, or zeros for that many entries. */
static uint64_t begin_sums(uint64_t into, uint64_t like, AdSize entries, VarType type)
{
    uint64_t zero = into ? 0 : ad_moves_number(like, 0);
    uint64_t first = into ? into : ad_var_cast(zero, type, 0);
    uint64_t base = first ? ad_moves_resize(first, entries) : 0;
    ad_var_dec_ref(first);
    ad_var_dec_ref(zero);
    return base;
}

/* The gradient of the array of the matrix, with 'into', which moves. */
static uint64_t matrix_gradient(const MatVec *p, uint64_t into, const uint64_t *g)
{
    uint64_t *x = alloc_zero(p->n, sizeof(uint64_t)), result = 0;
    uint64_t base = begin_sums(into, g[0], p->entries, p->sums);
    for (size_t k = 0; k < p->n && x; k++)
        x[k] = leaf(p, VECTOR + k);
    if (x && base)
        result = ad_var_outer(base, &p->matrix, g, x, (uint32_t) p->leaves[MASK]);
    ad_var_dec_ref(base);
    alloc_free(x);
    return result;
}

/* The same for that of the bias: a matrix of one column, and a vector of one entry. An
 * array of one entry is a value of all lanes, whose node sums up. */
static uint64_t bias_gradient(const MatVec *p, uint64_t into, const uint64_t *g)
{
    if (p->bias_entries.count == 1)
        return ad_moves_add(into, ad_var_inc_ref(g[0]));
    const JitMatrix column = { .offset = p->bias, .rows = p->m, .columns = 1 };
    uint64_t one = ad_moves_number(g[0], 1);
    VarInfo info;
    TRY(jit_var_peek_info(ad_var_index(g[0]), &info), 0);
    uint64_t base = begin_sums(into, g[0], p->bias_entries,
                               p->shares ? p->sums : info.type);
    uint64_t result = 0;
    if (one && base)
        result = ad_var_outer(base, &column, g, &one, (uint32_t) p->leaves[MASK]);
    ad_var_dec_ref(one);
    ad_var_dec_ref(base);
    return result;
}

static bool reverse(const MatVec *p, uint64_t *in, const uint64_t *g)
{
    if (p->vector_tracked) {
        JitMatrix turned = p->matrix;
        turned.transpose = !turned.transpose;
        TRY(ad_var_matvec(leaf(p, ARRAY), &turned, g, 0, 0, 0, in + 1), false);
    }
    uint64_t into = in[0];
    if (p->array_tracked)
        TRY(in[0] = matrix_gradient(p, into, g), false);
    if (!p->bias_tracked)
        return true;
    uint64_t *bias = p->shares ? &in[0] : &in[1 + p->n];
    into = *bias;
    return (*bias = bias_gradient(p, into, g)) != 0;
}

static bool matvec_backward(void *payload, uint64_t *in, const uint64_t *out)
{
    const MatVec *p = payload;
    if (!any(out, p->m))
        return true;
    uint64_t *g = fill(out, p->m, leaf(p, VECTOR), p->lanes);
    bool ok = g && reverse(p, in, g);
    drop_all(g, p->m);
    return ok;
}

static AdArrival matvec_arrival(const void *payload, uint32_t input)
{
    const MatVec *p = payload;
    const bool bias = input > p->n && p->bias_entries.count != 1;
    return input == 0 || bias ? ARRIVES_ARRAY : ARRIVES_VALUE;
}

static void matvec_release(void *payload)
{
    MatVec *p = payload;
    for (size_t i = 0; i < VECTOR + p->n; i++)
        ad_var_dec_ref(p->leaves[i]);
    alloc_free(p);
}

/* ---------------------------------------------------------------- entry */

/* What is multiplied. */
typedef struct Product {
    uint64_t array;
    JitMatrix matrix;
    size_t n, m;
    const uint64_t *x;
    uint64_t bias;     /* 0: none */
    size_t first;      /* of its entries */
    uint64_t gradient; /* in the place of the array in derivatives */
} Product;

/* The only entry of an array is a value of all lanes. */
static bool multiply_number(const Product *f, uint64_t *out)
{
    uint32_t index = ad_moves_u32(ad_var_index(f->x[0]), (uint32_t) f->first);
    uint64_t bias =
        f->bias && index ? ad_var_gather(f->bias, index, 0, ReduceModeAuto) : 0;
    jit_var_dec_ref(index);
    out[0] = bias       ? ad_var_fma(f->array, f->x[0], bias)
             : f->bias ? 0
                        : ad_var_mul(f->array, f->x[0]);
    ad_var_dec_ref(bias);
    return out[0] != 0;
}

/* The entries of the bias: 'add'. */
static bool read_bias(const Product *f, uint32_t *add)
{
    for (size_t i = 0; i < f->m; i++) {
        uint32_t index =
            ad_moves_u32(ad_var_index(f->bias), (uint32_t) (f->first + i));
        add[i] = index ? jit_var_gather(ad_var_index(f->bias), index, 0) : 0;
        jit_var_dec_ref(index);
        TRY(add[i], false);
    }
    return true;
}

/* The variables alone. */
static bool compute(const Product *f, uint64_t *out)
{
    uint32_t *plain = alloc_zero(f->n + 2 * f->m + 1, sizeof(uint32_t));
    TRY(plain, false);
    uint32_t *add = plain + f->n, *results = add + f->m;
    for (size_t k = 0; k < f->n; k++)
        plain[k] = ad_var_index(f->x[k]);
    bool ok = (!f->bias || read_bias(f, add)) &&
              jit_var_matvec(&f->matrix, plain, f->bias ? add : NULL, results);
    for (size_t i = 0; i < f->m; i++) {
        jit_var_dec_ref(add[i]);
        if (ok)
            out[i] = results[i];
    }
    alloc_free(plain);
    return ok;
}

static MatVec *describe(const Product *f, uint32_t result)
{
    MatVec *p = alloc_zero(1, sizeof(MatVec) + (VECTOR + f->n) * sizeof(uint64_t));
    TRY(p, NULL);
    p->matrix = f->matrix;
    p->n = f->n;
    p->m = f->m;
    p->bias = f->first;
    p->adds = f->bias != 0;
    p->shares = p->adds && ad_var_node(f->array) == ad_var_node(f->bias);
    VarInfo info = { 0 };
    jit_var_peek_info(ad_var_index(f->gradient), &info);
    p->sums = info.type;
    p->entries = ad_size_of(ad_var_index(f->array));
    p->bias_entries = ad_size_of(ad_var_index(p->adds ? f->bias : f->array));
    p->lanes = ad_size_of(result);
    p->array_tracked = ad_apply_tracks(1, &f->gradient);
    p->bias_tracked = p->adds && ad_apply_tracks(1, &f->bias);
    p->vector_tracked = ad_apply_tracks((uint32_t) f->n, f->x);
    bool ok;
    p->leaves[MASK] = ad_moves_mask(ad_var_index(f->x[0]), 0, f->n, f->x, &ok);
    p->leaves[ARRAY] = ad_var_inc_ref(f->array);
    for (size_t k = 0; k < f->n; k++)
        p->leaves[VECTOR + k] = ad_var_inc_ref(f->x[k]);
    if (ok)
        return p;
    matvec_release(p);
    return NULL;
}

/* The results get nodes. */
static bool track(const Product *f, uint64_t *out)
{
    static const ADCustom custom = { "matvec", matvec_forward, matvec_backward,
                                     matvec_release, NULL };
    uint64_t *inputs = alloc_get((f->n + 2) * sizeof(uint64_t));
    MatVec *p = inputs ? describe(f, (uint32_t) out[0]) : NULL;
    bool ok = p != NULL;
    if (ok) {
        inputs[0] = f->gradient;
        for (size_t k = 0; k < f->n; k++)
            inputs[1 + k] = f->x[k];
        inputs[1 + f->n] = f->bias;
        const size_t count = 1 + f->n + (p->adds && !p->shares);
        ok = ad_operation_track(&custom, p, matvec_arrival, p->leaves, VECTOR + f->n,
                                count, inputs, f->m, out);
    }
    alloc_free(inputs);
    return ok;
}

static bool is_tracked(const Product *f)
{
    return ad_apply_tracks(1, &f->gradient) ||
           (f->bias && ad_apply_tracks(1, &f->bias)) ||
           ad_apply_tracks((uint32_t) f->n, f->x);
}

/* Of the wrong shape, it has no vectors: the core says what is wrong. */
static bool refuse(const Product *f)
{
    const uint32_t none = 0;
    uint32_t nothing;
    return jit_var_matvec(&f->matrix, &none, NULL, &nothing);
}

bool ad_var_matvec(uint64_t array, const JitMatrix *matrix, const uint64_t *x,
                   uint64_t bias, size_t first, uint64_t gradient, uint64_t *out)
{
    if (!matrix || !x || !out)
        return error_set(JIT_ERROR_ARGUMENT, "ad_var_matvec(): '%s' is NULL",
                         !matrix ? "matrix" : !x ? "x" : "out");
    const bool t = matrix->transpose != 0;
    Product f = { .array = array, .matrix = *matrix,
                  .n = t ? matrix->rows : matrix->columns,
                  .m = t ? matrix->columns : matrix->rows,
                  .x = x, .bias = bias, .first = first,
                  .gradient = gradient ? gradient : array };
    f.matrix.array = ad_var_index(array);
    if (!f.n || !f.m || f.n > AD_PORTS / 2 || f.m > AD_PORTS / 2)
        return refuse(&f);
    const bool tracked = is_tracked(&f);
    if (tracked && f.n == 1 && f.m == 1 && !matrix->offset && f.matrix.array &&
        jit_var_peek_size(f.matrix.array) == 1)
        return multiply_number(&f, out);
    TRY(compute(&f, out), false);
    if (!tracked || track(&f, out))
        return true;
    for (size_t i = 0; i < f.m; i++) {
        ad_var_dec_ref(out[i]);
        out[i] = 0;
    }
    return false;
}
