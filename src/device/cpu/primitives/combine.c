/*
 * combine.c -- entrywise folding of several arrays into one
 *
 * One plain loop for each operation and type, which the compiler vectorises. Integers
 * wrap and share the loops of the unsigned type where the sign does not matter. Minimum
 * and maximum are those of FMIN and FMAX in src/ir/ops.def, which do not depend on the
 * order: NaN is missing data and -0 < +0.
 */
#include "device/cpu/primitives/combine.h"

#include <string.h>

#include "base/error.h"
#include "device/cpu/cpu_job.h"

/* Entries folded at a time, so that the accumulator stays in the first-level cache. */
enum { CHUNK = 1024 };

#define LOOP(name, T, expression) \
    static void name(void *acc, const void *in, size_t count) \
    { \
        T *x = acc; \
        const T *y = in; \
        for (size_t i = 0; i < count; i++) { \
            const T a = x[i], b = y[i]; \
            x[i] = (T) (expression); \
        } \
    }

/* '1u *' keeps the product of two 16-bit numbers out of the signed type int. */
#define LOOPS_BITS(S, T) \
    LOOP(add_##S, T, a + b) \
    LOOP(mul_##S, T, 1u * a * b) \
    LOOP(and_##S, T, a & b) \
    LOOP(or_##S, T, a | b)

#define LOOPS_ORDER(S, T) \
    LOOP(min_##S, T, b < a ? b : a) \
    LOOP(max_##S, T, a > b ? a : b)

/* Equal operands have equal bits, or they are zeros, of which the sign decides. */
#define ORDER_FLOAT(S, T, U) \
    static inline T smaller_##S(T a, T b) \
    { \
        U x, y; \
        memcpy(&x, &a, sizeof x); \
        memcpy(&y, &b, sizeof y); \
        x |= y; \
        T equal; \
        memcpy(&equal, &x, sizeof x); \
        return a == b ? equal : b < a || a != a ? b : a; \
    } \
    static inline T larger_##S(T a, T b) { return -smaller_##S(-a, -b); }

ORDER_FLOAT(f32, float, uint32_t)
ORDER_FLOAT(f64, double, uint64_t)

#define LOOPS_FLOAT(S, T) \
    LOOP(add_##S, T, a + b) \
    LOOP(mul_##S, T, a * b) \
    LOOP(min_##S, T, smaller_##S(a, b)) \
    LOOP(max_##S, T, larger_##S(a, b))

LOOPS_BITS(u8, uint8_t)
LOOPS_BITS(u16, uint16_t)
LOOPS_BITS(u32, uint32_t)
LOOPS_BITS(u64, uint64_t)
LOOPS_ORDER(i8, int8_t)
LOOPS_ORDER(u8, uint8_t)
LOOPS_ORDER(i16, int16_t)
LOOPS_ORDER(u16, uint16_t)
LOOPS_ORDER(i32, int32_t)
LOOPS_ORDER(u32, uint32_t)
LOOPS_ORDER(i64, int64_t)
LOOPS_ORDER(u64, uint64_t)
LOOPS_FLOAT(f32, float)
LOOPS_FLOAT(f64, double)

/* ---------------------------------------------------------------------- f16 */

static float bits_to_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float widen(uint16_t half)
{
    const uint32_t sign = (uint32_t) (half & 0x8000) << 16, rest = half & 0x7fff;
    if (rest >= 0x7c00) /* infinity, NaN */
        return bits_to_float(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    if (rest >= 0x400)
        return bits_to_float(sign | ((rest << 13) + (112u << 23)));
    const float magnitude = (float) rest * 0x1p-24f;
    return sign ? -magnitude : magnitude;
}

/* To nearest, ties to even. */
static uint16_t narrow(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint16_t sign = (uint16_t) (bits >> 16 & 0x8000);
    bits &= 0x7fffffff;
    if (bits > 0x7f800000)
        return sign | 0x7e00 | (uint16_t) (bits >> 13 & 0x3ff);
    if (bits >= 0x47800000) /* 2^16 and above */
        return sign | 0x7c00;
    if (bits < 0x38800000) { /* below 2^-14: the sum's last bit is worth 2^-24 */
        const float sum = bits_to_float(bits) + 0.5f;
        memcpy(&bits, &sum, sizeof bits);
        return sign | (uint16_t) (bits - 0x3f000000);
    }
    /* A carry out of the mantissa goes to the exponent, and on to infinity. */
    bits += 0xfff + (bits >> 13 & 1);
    return sign | (uint16_t) ((bits - (112u << 23)) >> 13);
}

#define LOOP_F16(name, wide) \
    static void name(void *acc, const void *in, size_t count) \
    { \
        const uint16_t *y = in; \
        float b[CHUNK]; \
        for (size_t i = 0; i < count; i++) \
            b[i] = widen(y[i]); \
        wide(acc, b, count); \
    }

LOOP_F16(add_f16, add_f32)
LOOP_F16(mul_f16, mul_f32)
LOOP_F16(min_f16, min_f32)
LOOP_F16(max_f16, max_f32)

/* -------------------------------------------------------------------- table */

/* Integers: the bits decide, but for the order. */
#define ROW(op, i8, u8, i16, u16, i32, u32, i64, u64) \
    [VarTypeInt8] = {op##_##i8, 1}, [VarTypeUInt8] = {op##_##u8, 1}, \
    [VarTypeInt16] = {op##_##i16, 2}, [VarTypeUInt16] = {op##_##u16, 2}, \
    [VarTypeInt32] = {op##_##i32, 4}, [VarTypeUInt32] = {op##_##u32, 4}, \
    [VarTypeInt64] = {op##_##i64, 8}, [VarTypeUInt64] = {op##_##u64, 8}
#define ROW_BITS(op) ROW(op, u8, u8, u16, u16, u32, u32, u64, u64)
#define ROW_ORDER(op) ROW(op, i8, u8, i16, u16, i32, u32, i64, u64)
#define ROW_FLOAT(op) \
    [VarTypeFloat16] = {op##_f16, 2}, [VarTypeFloat32] = {op##_f32, 4}, \
    [VarTypeFloat64] = {op##_f64, 8}

static const CombineOp table[ReduceOpCount][VarTypeCount] = {
    [ReduceOpAdd] = {ROW_BITS(add), ROW_FLOAT(add)},
    [ReduceOpMul] = {ROW_BITS(mul), ROW_FLOAT(mul)},
    [ReduceOpMin] = {ROW_ORDER(min), ROW_FLOAT(min)},
    [ReduceOpMax] = {ROW_ORDER(max), ROW_FLOAT(max)},
    [ReduceOpAnd] = {ROW_BITS(and), [VarTypeBool] = {and_u8, 1}},
    [ReduceOpOr] = {ROW_BITS(or), [VarTypeBool] = {or_u8, 1}},
};

const CombineOp *combine_find(ReduceOp op, VarType type)
{
    if ((unsigned) op >= ReduceOpCount || (unsigned) type >= VarTypeCount)
        return NULL;
    const CombineOp *found = &table[op][type];
    return found->fold ? found : NULL;
}

static bool is_f16(const CombineOp *op)
{
    return op->fold == add_f16 || op->fold == mul_f16 || op->fold == min_f16 ||
           op->fold == max_f16;
}

static void run_f16(const CombineOp *op, uint16_t *out, const uint16_t *in,
                    size_t count, size_t stride, uint32_t copies)
{
    float acc[CHUNK];
    for (size_t i = 0; i < count; i++)
        acc[i] = widen(in[i]);
    for (uint32_t k = 1; k < copies; k++)
        op->fold(acc, in + k * stride, count);
    for (size_t i = 0; i < count; i++)
        out[i] = narrow(acc[i]);
}

void combine_run(const CombineOp *op, void *out, const void *in, size_t count,
                 size_t stride, uint32_t copies)
{
    for (size_t begin = 0; begin < count; begin += CHUNK) {
        size_t n = count - begin < CHUNK ? count - begin : CHUNK;
        unsigned char *to = (unsigned char *) out + begin * op->size;
        const unsigned char *from = (const unsigned char *) in + begin * op->size;
        if (is_f16(op)) {
            run_f16(op, (uint16_t *) (void *) to,
                    (const uint16_t *) (const void *) from, n, stride, copies);
            continue;
        }
        if (to != from)
            memcpy(to, from, n * op->size);
        for (uint32_t k = 1; k < copies; k++)
            op->fold(to, from + k * stride * op->size, n);
    }
}

/* ------------------------------------------------------------------ command */

enum { GRAIN = 256 << 10, SMALL = 64 << 10, LEAST = 64 }; /* bytes; entries */

static size_t grain_of(const Command *c, const CombineOp *op)
{
    size_t grain = GRAIN / op->size / c->combine.copies;
    return grain < LEAST ? LEAST : grain;
}

static void run_part(CpuJob *job, uint32_t block, uint32_t worker)
{
    const Command *c = job->command;
    const CombineOp *op = combine_find(c->combine.op, c->combine.type);
    size_t grain = grain_of(c, op), begin = block * grain, count = c->size - begin;
    (void) worker;
    combine_run(op, (char *) command_address(c, 1) + begin * op->size,
                (const char *) command_address(c, 0) + begin * op->size,
                count < grain ? count : grain, c->combine.stride, c->combine.copies);
}

bool combine_prepare(CpuJob *job)
{
    const Command *c = job->command;
    const CombineOp *op = combine_find(c->combine.op, c->combine.type);
    if (!op)
        return error_set(JIT_ERROR_UNSUPPORTED, "jit_var_scatter(): reduction %d is not"
                         " defined for type %d", (int) c->combine.op,
                         (int) c->combine.type);
    size_t grain = grain_of(c, op);
    job->run = run_part;
    job->blocks = (uint32_t) ((c->size + grain - 1) / grain);
    job->small = c->size * op->size * c->combine.copies <= SMALL;
    return true;
}
