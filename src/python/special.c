/*
 * special.c -- the arithmetic of complex numbers, quaternions and matrices
 *
 * Formulas over components, written with Values: one text for all families. A Calc
 * holds every intermediate value until the end, so a formula is an expression and
 * failures need no handling within it: after the first one everything is 0.
 *
 *   complex      (re, im)
 *   quaternion   (x, y, z, w), w is the real part
 *   matrix       row major; elements of Matrix34f and the like have several leaves,
 *                which are independent: such a matrix is a stack of matrices
 */
#include "python/special.h"

#include "python/error.h"
#include "python/value.h"

enum { TEMPORARIES = 192 };

typedef struct Calc {
    const TypeInfo *info; /* any type with these leaves */
    bool ok;
    int count;
    Value all[TEMPORARIES];
} Calc;

static void calc_start(Calc *c, const TypeInfo *info)
{
    c->info = info;
    c->ok = true;
    c->count = 0;
}

static void calc_end(Calc *c)
{
    for (int i = 0; i < c->count; i++)
        value_release(c->info, c->all[i]);
}

static Value keep(Calc *c, Value value)
{
    c->all[c->count++] = value;
    return value;
}

static Value op1(Calc *c, JitOp op, Value a)
{
    Value result = 0;
    c->ok = c->ok && value_op(c->info, op, &a, &result);
    return c->ok ? keep(c, result) : 0;
}

static Value op2(Calc *c, JitOp op, Value a, Value b)
{
    Value result = 0;
    c->ok = c->ok && value_op2(c->info, op, a, b, &result);
    return c->ok ? keep(c, result) : 0;
}

static Value add(Calc *c, Value a, Value b)
{
    return op2(c, JitOpAdd, a, b);
}

static Value mul(Calc *c, Value a, Value b)
{
    return op2(c, JitOpMul, a, b);
}

static Value neg(Calc *c, Value a)
{
    return op1(c, JitOpNeg, a);
}

static Value fma3(Calc *c, Value a, Value b, Value d)
{
    Value result = 0;
    c->ok = c->ok && value_op3(c->info, JitOpFma, a, b, d, &result);
    return c->ok ? keep(c, result) : 0;
}

/* a * b - d * e */
static Value det2(Calc *c, Value a, Value b, Value d, Value e)
{
    return fma3(c, a, b, neg(c, mul(c, d, e)));
}

static Value constant(Calc *c, double number)
{
    uint64_t bits = 0;
    Value wide = 0, result = 0;
    /* Convert from f64 on the host: any float type. */
    memcpy(&wide, &number, sizeof(wide));
    c->ok =
        c->ok &&
        jit_host_cast(VarTypeFloat64, (VarType) c->info->entry, 0, 1, &wide, &bits) &&
        value_constant(c->info, bits, &result);
    return c->ok ? keep(c, result) : 0;
}

/* test == 0 ? 0 : a */
static Value choose_zero(Calc *c, Value test, Value a)
{
    Value zero = constant(c, 0);
    Value mask = op2(c, JitOpEq, test, zero), result = 0;
    c->ok = c->ok && value_op3(c->info, JitOpSelect, mask, zero, a, &result);
    return c->ok ? keep(c, result) : 0;
}

/* ---------------------------------------------------------------- complex */

static Value squared_norm(Calc *c, int n, const Value *a)
{
    Value sum = mul(c, a[0], a[0]);
    for (int i = 1; i < n; i++)
        sum = fma3(c, a[i], a[i], sum);
    return sum;
}

static Value norm(Calc *c, int n, const Value *a)
{
    return op1(c, JitOpSqrt, squared_norm(c, n, a));
}

static void complex_mul(Calc *c, const Value *a, const Value *b, Value *out)
{
    out[0] = det2(c, a[0], b[0], a[1], b[1]);
    out[1] = fma3(c, a[0], b[1], mul(c, a[1], b[0]));
}

static void complex_fma(Calc *c, const Value *a, const Value *b, const Value *d,
                        Value *out)
{
    out[0] = fma3(c, a[0], b[0], fma3(c, neg(c, a[1]), b[1], d[0]));
    out[1] = fma3(c, a[0], b[1], fma3(c, a[1], b[0], d[1]));
}

/* The principal root: half the angle, so the real part is not negative. */
static void complex_sqrt(Calc *c, const Value *a, Value *out)
{
    Value half = constant(c, 0.5);
    Value n = norm(c, 2, a);
    Value larger = op1(c, JitOpSqrt, mul(c, half, add(c, n, op1(c, JitOpAbs, a[0]))));
    Value other = mul(c, mul(c, half, a[1]), op1(c, JitOpRcp, larger));
    other = choose_zero(c, larger, other);
    Value mask = op2(c, JitOpLt, a[0], constant(c, 0));
    Value size = op1(c, JitOpAbs, other);
    Value turned = op2(c, JitOpCopysign, larger, a[1]);
    for (int i = 0; i < 2; i++) {
        Value result = 0;
        c->ok = c->ok && value_op3(c->info, JitOpSelect, mask, i ? turned : size,
                                   i ? other : larger, &result);
        out[i] = c->ok ? keep(c, result) : 0;
    }
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
        negated[i] = neg(c, b[i]);
    for (int k = 0; k < 4; k++) {
        Value sum = d ? d[k] : 0;
        for (int j = 0; j < 4; j++) {
            Value left = a[partner[k][j]];
            Value right = sign[k][j] < 0 ? negated[j] : b[j];
            sum = j == 0 && !d ? mul(c, left, right) : fma3(c, left, right, sum);
        }
        out[k] = sum;
    }
}

static void quaternion_sqrt(Calc *c, const Value *a, Value *out)
{
    Value half = constant(c, 0.5);
    Value n = norm(c, 4, a);
    Value w = op1(c, JitOpSqrt, mul(c, half, add(c, n, a[3])));
    Value scale = choose_zero(c, w, mul(c, half, op1(c, JitOpRcp, w)));
    for (int i = 0; i < 3; i++)
        out[i] = mul(c, a[i], scale);
    out[3] = w;
}

/* Conjugate over squared norm, for both; 'real' is the position of the real part. */
static void reciprocal(Calc *c, int n, int real, const Value *a, Value *out)
{
    Value scale = op1(c, JitOpRcp, squared_norm(c, n, a));
    Value negated = neg(c, scale);
    for (int i = 0; i < n; i++)
        out[i] = mul(c, a[i], i == real ? scale : negated);
}

/* ---------------------------------------------------------------- matrices */

static void matrix_inverse_2(Calc *c, const Value *m, Value *out)
{
    Value scale = op1(c, JitOpRcp, det2(c, m[0], m[3], m[1], m[2]));
    Value negated = neg(c, scale);
    out[0] = mul(c, m[3], scale);
    out[1] = mul(c, m[1], negated);
    out[2] = mul(c, m[2], negated);
    out[3] = mul(c, m[0], scale);
}

static void matrix_inverse_3(Calc *c, const Value *m, Value *out)
{
    Value cofactors[9];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int r = (i + 1) % 3, s = (i + 2) % 3, u = (j + 1) % 3, v = (j + 2) % 3;
            cofactors[3 * j + i] =
                det2(c, m[3 * r + u], m[3 * s + v], m[3 * r + v], m[3 * s + u]);
        }
    Value det = mul(c, m[0], cofactors[0]);
    det = fma3(c, m[1], cofactors[3], det);
    det = fma3(c, m[2], cofactors[6], det);
    Value scale = op1(c, JitOpRcp, det);
    for (int i = 0; i < 9; i++)
        out[i] = mul(c, cofactors[i], scale);
}

/* x * a - y * b + z * d */
static Value expand3(Calc *c, Value x, Value a, Value y, Value b, Value z, Value d)
{
    return fma3(c, x, a, fma3(c, z, d, neg(c, mul(c, y, b))));
}

/* By the 2x2 minors of the upper (s) and of the lower two rows (t). */
static void matrix_inverse_4(Calc *c, const Value *m, Value *out)
{
    static const uint8_t columns[6][2] = { { 0, 1 }, { 0, 2 }, { 0, 3 },
                                           { 1, 2 }, { 1, 3 }, { 2, 3 } };
    Value s[6], t[6];
    for (int i = 0; i < 6; i++) {
        int p = columns[i][0], q = columns[i][1];
        s[i] = det2(c, m[p], m[4 + q], m[q], m[4 + p]);
        t[i] = det2(c, m[8 + p], m[12 + q], m[8 + q], m[12 + p]);
    }
    Value det = fma3(c, s[0], t[5], neg(c, mul(c, s[1], t[4])));
    det = fma3(c, s[2], t[3], det);
    det = fma3(c, s[3], t[2], det);
    det = fma3(c, s[5], t[0], fma3(c, neg(c, s[4]), t[1], det));
    Value scale = op1(c, JitOpRcp, det), negated = neg(c, scale);

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
            out[4 * j + i] = mul(c, x, (i + j) & 1 ? negated : scale);
        }
}

static void matrix_fma(Calc *c, int n, const Value *a, const Value *b, const Value *d,
                       Value *out)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            Value sum = d[n * i + j];
            for (int k = 0; k < n; k++)
                sum = fma3(c, a[n * i + k], b[n * k + j], sum);
            out[n * i + j] = sum;
        }
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
    switch (which) {
    case APPLY_RCP:
    case APPLY_FMA:
        return true;
    case APPLY_MUL:
    case APPLY_TRUEDIV:
    case APPLY_ABS:
    case APPLY_SQRT:
    case APPLY_RSQRT:
        return kind != KIND_MATRIX;
    default:
        return false;
    }
}

/* Complex numbers and quaternions; a real result is out[0] and gives 1. */
static int number_step(Calc *c, Kind kind, Apply which, const Value in[3][16],
                       Value *out)
{
    int n = kind == KIND_COMPLEX ? 2 : 4, real = kind == KIND_COMPLEX ? 0 : 3;
    const Value *a = in[0], *b = in[1];
    Value inverse[4], root[4];
    switch (which) {
    case APPLY_ABS:
        out[0] = norm(c, n, a);
        return 1;
    case APPLY_RCP:
        reciprocal(c, n, real, a, out);
        break;
    case APPLY_SQRT:
    case APPLY_RSQRT:
        if (n == 2)
            complex_sqrt(c, a, root);
        else
            quaternion_sqrt(c, a, root);
        if (which == APPLY_RSQRT)
            reciprocal(c, n, real, root, out);
        else
            memcpy(out, root, (size_t) n * sizeof(*out));
        break;
    case APPLY_FMA:
        if (n == 2)
            complex_fma(c, a, b, in[2], out);
        else
            quaternion_fma(c, a, b, in[2], out);
        break;
    default: /* MUL, TRUEDIV */
        if (which == APPLY_TRUEDIV) {
            reciprocal(c, n, real, b, inverse);
            b = inverse;
        }
        if (n == 2)
            complex_mul(c, a, b, out);
        else
            quaternion_fma(c, a, b, NULL, out);
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
    int arity = which == APPLY_FMA                             ? 3
                : which == APPLY_MUL || which == APPLY_TRUEDIV ? 2
                                                               : 1;
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
                in[k][e] = keep(&c, value_of(args[k], (size_t) (e * inner + s)));
        if (matrix)
            matrix_step(&c, which, info->dims[0], in, result);
        else
            count = number_step(&c, (Kind) info->kind, which, in, result);
        PyObject *real = NULL;
        if (c.ok && count == 1) {
            if (info->jit)
                jit_var_inc_ref((uint32_t) result[0]);
            real = value_wrap(info, result[0]);
        }
        for (int e = 0; c.ok && count > 1 && e < count; e++) {
            if (info->jit)
                jit_var_inc_ref((uint32_t) result[e]);
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
