/*
 * special.c -- the arithmetic of complex numbers, quaternions and matrices
 *
 * Formulas over components (calc.h).
 *
 *   complex      (re, im)
 *   quaternion   (x, y, z, w), w is the real part
 *   matrix       row major; elements of Matrix34f and the like have several leaves,
 *                which are independent: such a matrix is a stack of matrices
 */
#include "python/ops/special.h"

#include "python/base/error.h"
#include "python/ops/calc.h"
#include "python/ops/special_functions.h"

/* test == 0 ? 0 : a */
static Value choose_zero(Calc *c, Value test, Value a)
{
    Value zero = calc_number(c, 0);
    return calc_select(c, calc_2(c, JitOpEq, test, zero), zero, a);
}

/* ---------------------------------------------------------------- complex */

static Value squared_norm(Calc *c, int n, const Value *a)
{
    return calc_products(c, n, a, 1, a, 1, NULL);
}

/* Without the squares, which overflow. */
static Value norm(Calc *c, int n, const Value *a)
{
    Value size = calc_2(c, JitOpHypot, a[0], a[1]);
    return n == 2 ? size
                  : calc_2(c, JitOpHypot, size, calc_2(c, JitOpHypot, a[2], a[3]));
}

static void complex_mul(Calc *c, const Value *a, const Value *b, Value *out)
{
    out[0] = calc_difference(c, a[0], b[0], a[1], b[1]);
    out[1] = calc_sum(c, a[0], b[1], a[1], b[0]);
}

static void complex_fma(Calc *c, const Value *a, const Value *b, const Value *d,
                        Value *out)
{
    out[0] = calc_fma(c, a[0], b[0], calc_fma(c, calc_neg(c, a[1]), b[1], d[0]));
    out[1] = calc_fma(c, a[0], b[1], calc_fma(c, a[1], b[0], d[1]));
}

/* ---------------------------------------------------------------- quaternions */

static void quaternion_fma(Calc *c, const Value *a, const Value *b, const Value *d,
                           Value *out)
{
    /* Row k: which component of a meets component j of b, and with which sign. */
    static const int8_t partner[4][4] = {
        { 3, 2, 1, 0 }, { 2, 3, 0, 1 }, { 1, 0, 3, 2 }, { 0, 1, 2, 3 }
    };
    static const int8_t sign[4][4] = {
        { 1, -1, 1, 1 }, { 1, 1, -1, 1 }, { -1, 1, 1, 1 }, { -1, -1, -1, 1 }
    };
    Value negated[4];
    for (int i = 0; i < 4; i++)
        negated[i] = calc_neg(c, b[i]);
    for (int k = 0; k < 4; k++) {
        Value left[4], right[4];
        for (int j = 0; j < 4; j++) {
            left[j] = a[partner[k][j]];
            right[j] = sign[k][j] < 0 ? negated[j] : b[j];
        }
        out[k] = calc_products(c, 4, left, 1, right, 1, d ? &d[k] : NULL);
    }
}

/* ---------------------------------------------------------------- matrices */

static void matrix_inverse_2(Calc *c, const Value *m, Value *out)
{
    Value scale = calc_1(c, JitOpRcp, calc_difference(c, m[0], m[3], m[1], m[2]));
    Value negated = calc_neg(c, scale);
    out[0] = calc_mul(c, m[3], scale);
    out[1] = calc_mul(c, m[1], negated);
    out[2] = calc_mul(c, m[2], negated);
    out[3] = calc_mul(c, m[0], scale);
}

static void matrix_inverse_3(Calc *c, const Value *m, Value *out)
{
    Value cofactors[9];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int r = (i + 1) % 3, s = (i + 2) % 3, u = (j + 1) % 3, v = (j + 2) % 3;
            cofactors[3 * j + i] = calc_difference(c, m[3 * r + u], m[3 * s + v],
                                                   m[3 * r + v], m[3 * s + u]);
        }
    Value scale = calc_1(c, JitOpRcp, calc_products(c, 3, m, 1, cofactors, 3, NULL));
    for (int i = 0; i < 9; i++)
        out[i] = calc_mul(c, cofactors[i], scale);
}

/* x * a - y * b + z * d */
static Value expand3(Calc *c, Value x, Value a, Value y, Value b, Value z, Value d)
{
    return calc_fma(c, x, a, calc_difference(c, z, d, y, b));
}

/* By the 2x2 minors of the upper (s) and of the lower two rows (t). */
static void matrix_inverse_4(Calc *c, const Value *m, Value *out)
{
    static const uint8_t columns[6][2] = { { 0, 1 }, { 0, 2 }, { 0, 3 },
                                           { 1, 2 }, { 1, 3 }, { 2, 3 } };
    Value s[6], t[6];
    for (int i = 0; i < 6; i++) {
        int p = columns[i][0], q = columns[i][1];
        s[i] = calc_difference(c, m[p], m[4 + q], m[q], m[4 + p]);
        t[i] = calc_difference(c, m[8 + p], m[12 + q], m[8 + q], m[12 + p]);
    }
    Value det = calc_difference(c, s[0], t[5], s[1], t[4]);
    det = calc_fma(c, s[2], t[3], det);
    det = calc_fma(c, s[3], t[2], det);
    det = calc_fma(c, s[5], t[0], calc_fma(c, calc_neg(c, s[4]), t[1], det));
    Value scale = calc_1(c, JitOpRcp, det), negated = calc_neg(c, scale);

    /* Column j leaves out column j; minors of the other two rows. */
    static const uint8_t others[4][3] = {
        { 1, 2, 3 }, { 0, 2, 3 }, { 0, 1, 3 }, { 0, 1, 2 }
    };
    static const uint8_t minors[4][3] = {
        { 5, 4, 3 }, { 5, 2, 1 }, { 4, 2, 0 }, { 3, 1, 0 }
    };
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 4; i++) {
            const Value *row = &m[4 * (i ^ 1)]; /* 0 and 1 swap, as do 2 and 3 */
            const Value *minor = i < 2 ? t : s;
            Value x =
                expand3(c, row[others[j][0]], minor[minors[j][0]], row[others[j][1]],
                        minor[minors[j][1]], row[others[j][2]], minor[minors[j][2]]);
            out[4 * j + i] = calc_mul(c, x, (i + j) & 1 ? negated : scale);
        }
}

static void matrix_fma(Calc *c, int n, const Value *a, const Value *b, const Value *d,
                       Value *out)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            out[n * i + j] = calc_products(c, n, a + n * i, 1, b + j, n, &d[n * i + j]);
}

static bool matrix_step(Calc *c, Apply which, int n, const Value in[3][16], Value *out)
{
    if (which == APPLY_FMA)
        matrix_fma(c, n, in[0], in[1], in[2], out);
    else if (n == 2)
        matrix_inverse_2(c, in[0], out);
    else if (n == 3)
        matrix_inverse_3(c, in[0], out);
    else
        matrix_inverse_4(c, in[0], out);
    return c->ok;
}

/* ---------------------------------------------------------------- entry */

bool special_has(Kind kind, Apply which)
{
    ApplySpecial special = apply_rows[which].special;
    return special == SPECIAL_ALGEBRA ||
           ((special == SPECIAL_COMPLEX || special == SPECIAL_FIELD) &&
            kind != KIND_MATRIX);
}

bool special_refuses(Kind kind, Apply which)
{
    ApplySpecial special = apply_rows[which].special;
    return (special == SPECIAL_REAL && kind != KIND_MATRIX) ||
           (special == SPECIAL_FIELD && kind == KIND_MATRIX);
}

static void multiply(Calc *c, int n, const Value *a, const Value *b, Value *out)
{
    if (n == 2)
        complex_mul(c, a, b, out);
    else
        quaternion_fma(c, a, b, NULL, out);
}

/* Divisors are largest * unit, where no component of the unit exceeds 1, so that no
 * square overflows:
 *
 *     a / b = a * conj(unit) / largest / |unit|^2
 *
 * Of a quaternion that is the largest size of a component. The quotient does not depend
 * on it, so nor do derivatives. */
static Value split(Calc *c, int n, const Value *b, Value *unit)
{
    Value largest = calc_1(c, JitOpAbs, b[0]);
    for (int i = 1; i < n; i++)
        largest = calc_2(c, JitOpMax, largest, calc_1(c, JitOpAbs, b[i]));
    largest = calc_detached(c, largest);
    for (int i = 0; i < n; i++)
        unit[i] = calc_div(c, b[i], largest);
    return largest;
}

/* Of a complex number it is a part, as in R. Smith, "Algorithm 116: Complex division",
 * 1962: right also if one of the two is infinite. */
static Value split_complex(Calc *c, const Value *b, Value *unit)
{
    Value real =
        calc_2(c, JitOpGe, calc_1(c, JitOpAbs, b[0]), calc_1(c, JitOpAbs, b[1]));
    Value largest = calc_select(c, real, b[0], b[1]), one = calc_number(c, 1);
    Value ratio = calc_div(c, calc_select(c, real, b[1], b[0]), largest);
    unit[0] = calc_select(c, real, one, ratio);
    unit[1] = calc_select(c, real, ratio, one);
    return largest;
}

/* 'real' is the position of the real part; a = NULL stands for 1. */
static void divide(Calc *c, int n, int real, const Value *a, const Value *b, Value *out)
{
    Value unit[4];
    Value largest = n == 2 ? split_complex(c, b, unit) : split(c, n, b, unit);
    Value factor = calc_1(c, JitOpRcp, squared_norm(c, n, unit));
    for (int i = 0; i < n; i++)
        unit[i] = i == real ? unit[i] : calc_neg(c, unit[i]);
    if (a)
        multiply(c, n, a, unit, out);
    for (int i = 0; i < n; i++)
        out[i] = calc_mul(c, calc_div(c, a ? out[i] : unit[i], largest), factor);
}

/* exp(log(a) * b), and 0 for a = 0. Products of quaternions do not commute. */
static void power(Calc *c, int n, const Value *a, const Value *b, Value *out)
{
    Value logarithm[4], product[4], result[4];
    special_functions_step(c, n, APPLY_LOG, a, logarithm);
    multiply(c, n, logarithm, b, product);
    special_functions_step(c, n, APPLY_EXP, product, result);
    Value size = norm(c, n, a);
    for (int i = 0; i < n; i++)
        out[i] = choose_zero(c, size, result[i]);
}

/* Complex numbers and quaternions; a real result is out[0] and gives 1. */
static int number_step(Calc *c, Kind kind, Apply which, const Value in[3][16],
                       Value *out)
{
    int n = kind == KIND_COMPLEX ? 2 : 4, real = kind == KIND_COMPLEX ? 0 : 3;
    const Value *a = in[0], *b = in[1];
    Value root[4];
    if (special_functions_has(which)) {
        special_functions_step(c, n, which, a, out);
        return n;
    }
    switch (which) {
    case APPLY_ABS:
        out[0] = norm(c, n, a);
        return 1;
    case APPLY_RCP:
        divide(c, n, real, NULL, a, out);
        break;
    case APPLY_RSQRT:
        special_functions_step(c, n, APPLY_SQRT, a, root);
        divide(c, n, real, NULL, root, out);
        break;
    case APPLY_POWER:
        power(c, n, a, b, out);
        break;
    case APPLY_FMA:
        if (n == 2)
            complex_fma(c, a, b, in[2], out);
        else
            quaternion_fma(c, a, b, in[2], out);
        break;
    case APPLY_TRUEDIV:
        divide(c, n, real, a, b, out);
        break;
    default: /* MUL */
        multiply(c, n, a, b, out);
    }
    return n;
}

static PyObject *fail(const char *operation, Array *const *args, int n)
{
    PyObject *objects[3];
    for (int i = 0; i < n; i++)
        objects[i] = (PyObject *) args[i];
    return error_from_core(operation, objects, n);
}

PyObject *special_apply(const TypeInfo *info, Apply which, Array *const *args,
                        const char *operation)
{
    int arity = apply_rows[which].arity;
    bool matrix = info->kind == KIND_MATRIX;
    int elements = matrix ? info->dims[0] * info->dims[0] : info->dims[0];
    int inner = info->leaves / elements, count = elements;
    Array *out = array_new(info);
    if (!out)
        return NULL;
    for (int s = 0; s < inner; s++) {
        Calc c;
        Value in[3][16], result[16];
        calc_start(&c, info);
        for (int k = 0; k < arity; k++)
            for (int e = 0; e < elements; e++)
                in[k][e] = calc_keep(&c, value_of(args[k], (size_t) (e * inner + s)));
        if (matrix)
            matrix_step(&c, which, info->dims[0], in, result);
        else
            count = number_step(&c, (Kind) info->kind, which, in, result);
        PyObject *real = NULL;
        if (c.ok && count == 1) {
            if (info->jit)
                var_ref(result[0]);
            real = value_wrap(info, result[0]);
        }
        for (int e = 0; c.ok && count > 1 && e < count; e++) {
            if (info->jit)
                var_ref(result[e]);
            value_store(out, (size_t) (e * inner + s), result[e]);
        }
        calc_end(&c);
        if (!c.ok || count == 1) {
            Py_DECREF(out);
            return c.ok ? real : fail(operation, args, arity);
        }
    }
    return (PyObject *) out;
}
