/*
 * primitives_reference.h -- reference values of reductions and scans, and a second,
 * plain implementation of the documented orders (heads of reduce.c and scan.c)
 */
#ifndef PRIMITIVES_REFERENCE_H
#define PRIMITIVES_REFERENCE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device/cpu/loops/reduce_lanes.h"
#include "device/cpu/primitives/reduce.h"
#include "device/cpu/primitives/scan.h"
#include "half_reference.h"
#include "ir/reduce_rule.h"

typedef struct Type {
    VarType type;
    size_t size;
    char kind; /* b, u, i, f */
} Type;

static const Type types[] = {
    { VarTypeBool, 1, 'b' },    { VarTypeInt8, 1, 'i' },    { VarTypeUInt8, 1, 'u' },
    { VarTypeInt16, 2, 'i' },   { VarTypeUInt16, 2, 'u' },  { VarTypeInt32, 4, 'i' },
    { VarTypeUInt32, 4, 'u' },  { VarTypeInt64, 8, 'i' },   { VarTypeUInt64, 8, 'u' },
    { VarTypeFloat16, 2, 'f' }, { VarTypeFloat32, 4, 'f' }, { VarTypeFloat64, 8, 'f' },
};
enum { TYPES = sizeof types / sizeof types[0] };

static uint64_t random_state = 1;

static uint64_t random_bits(void)
{
    random_state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = random_state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* ------------------------------------------------------- reference values */

/* A reference value: integers as 64 bits (sign-extended), floats as a double. */
typedef union Value {
    uint64_t u;
    int64_t i;
    double f;
} Value;

static Value value_get(const Type *t, const void *array, size_t i)
{
    Value v = { .u = 0 };
    float single;
    const char *at = (const char *) array + i * t->size;
    memcpy(&v, at, t->size);
    if (t->type == VarTypeFloat16) {
        v.f = half_value((uint16_t) v.u);
    } else if (t->type == VarTypeFloat32) {
        memcpy(&single, at, sizeof single);
        v.f = (double) single;
    } else if (t->kind == 'i') {
        unsigned shift = 64 - 8 * (unsigned) t->size;
        v.i = (int64_t) (v.u << shift) >> shift;
    }
    return v;
}

static uint64_t value_bits(const Type *t, Value v)
{
    uint64_t bits = 0;
    if (t->type == VarTypeFloat16) {
        bits = half_bits(v.f);
    } else if (t->type == VarTypeFloat32) {
        float single = (float) v.f;
        memcpy(&bits, &single, sizeof single);
    } else {
        memcpy(&bits, &v, t->size);
    }
    return bits;
}

static bool is_nan(const Type *t, uint64_t bits)
{
    return t->kind == 'f' && isnan(value_get(t, &bits, 0).f);
}

/* Smaller in the sense of Min: no NaN, -0 before +0. */
static bool before(double a, double b)
{
    return isnan(b) ? !isnan(a) : a < b || (a == b && signbit(a) && !signbit(b));
}

static bool after(double a, double b)
{
    return isnan(b) ? !isnan(a) : a > b || (a == b && !signbit(a) && signbit(b));
}

static Value combine_floats(const Type *t, ReduceOp op, Value a, Value b)
{
    bool is_double = t->type == VarTypeFloat64;
    switch (op) {
    case ReduceOpAdd:
        return (Value){ .f = is_double ? a.f + b.f
                                       : (double) ((float) a.f + (float) b.f) };
    case ReduceOpMul:
        return (Value){ .f = is_double ? a.f * b.f
                                       : (double) ((float) a.f * (float) b.f) };
    case ReduceOpMin:
        return before(b.f, a.f) ? b : a;
    default:
        return after(b.f, a.f) ? b : a;
    }
}

static Value combine(const Type *t, ReduceOp op, Value a, Value b)
{
    if (t->kind == 'f')
        return combine_floats(t, op, a, b);
    bool is_signed = t->kind == 'i';
    Value v = { .u = 0 };
    switch (op) {
    case ReduceOpAdd:
        v.u = a.u + b.u;
        break;
    case ReduceOpMul:
        v.u = a.u * b.u;
        break;
    case ReduceOpMin:
        v = (is_signed ? b.i < a.i : b.u < a.u) ? b : a;
        break;
    case ReduceOpMax:
        v = (is_signed ? b.i > a.i : b.u > a.u) ? b : a;
        break;
    case ReduceOpAnd:
        v.u = a.u & b.u;
        break;
    default:
        v.u = a.u | b.u;
        break;
    }
    return value_get(t, &v, 0); /* cut to the width */
}

/* -------------------------------------------- the documented orders, plainly */

/* Reduce at most 65536 values by steps 2-4 of the rule. Elements that have not been
 * reached yet are absent. */
static Value reference_chunk(const Type *t, ReduceOp op, const Value *x, size_t count)
{
    size_t width = t->type == VarTypeFloat64 ? 32 : 64;
    Value total[64];
    bool total_set[64] = { false };
    for (size_t first = 0; first < count; first += 64 * width) {
        Value part[64];
        bool part_set[64] = { false };
        size_t end = first + 64 * width < count ? first + 64 * width : count;
        for (size_t i = first; i < end; ++i) {
            size_t j = (i - first) % width;
            part[j] = part_set[j] ? combine(t, op, part[j], x[i]) : x[i];
            part_set[j] = true;
        }
        for (size_t j = 0; j < width; ++j)
            if (part_set[j]) {
                total[j] = total_set[j] ? combine(t, op, total[j], part[j]) : part[j];
                total_set[j] = true;
            }
    }
    for (size_t h = width / 2; h > 0; h /= 2)
        for (size_t j = 0; j < h; ++j)
            if (total_set[j + h])
                total[j] = combine(t, op, total[j], total[j + h]);
    return total[0];
}

static Value reference_reduce(const Type *t, ReduceOp op, const Value *x, size_t count)
{
    size_t chunks = (count + 65535) / 65536;
    if (chunks == 1)
        return reference_chunk(t, op, x, count);
    Value *partials = malloc(chunks * sizeof(Value));
    assert_non_null(partials);
    for (size_t i = 0; i < chunks; ++i)
        partials[i] = reference_chunk(t, op, x + i * 65536,
                                      i + 1 < chunks ? 65536 : count - i * 65536);
    Value result = reference_reduce(t, op, partials, chunks);
    free(partials);
    return result;
}

/* Scan a group of 'width' entries, of which 'count' exist. */
static void reference_group(const Type *t, ReduceOp op, const Value *x, size_t width,
                            size_t count, Value *out)
{
    if (count == 0)
        return;
    if (width == 1) {
        out[0] = x[0];
        return;
    }
    size_t half = width / 2;
    reference_group(t, op, x, half, count < half ? count : half, out);
    if (count <= half)
        return;
    reference_group(t, op, x + half, half, count - half, out + half);
    for (size_t i = half; i < count; ++i)
        out[i] = combine(t, op, out[half - 1], out[i]);
}

static void reference_scan(const Type *t, ReduceOp op, const Value *x, size_t count,
                           Value *out)
{
    for (size_t chunk = 0; chunk < count; chunk += 4096) {
        size_t chunk_end = chunk + 4096 < count ? chunk + 4096 : count;
        for (size_t group = chunk; group < chunk_end; group += 16) {
            size_t n = chunk_end - group < 16 ? chunk_end - group : 16;
            reference_group(t, op, x + group, 16, n, out + group);
            for (size_t i = group; group > chunk && i < group + n; ++i)
                out[i] = combine(t, op, out[group - 1], out[i]);
        }
        for (size_t i = chunk; chunk > 0 && i < chunk_end; ++i)
            out[i] = combine(t, op, out[chunk - 1], out[i]);
    }
}

#endif
