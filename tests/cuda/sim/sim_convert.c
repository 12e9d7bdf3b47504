/*
 * sim_convert.c -- cvt
 *
 * In two steps, each a loop for each type: into a 64-bit integer or a double, which
 * hold any source exactly; from there into the result, rounded once.
 */
#include "sim_exec.h"

#include "sim_float.h"
#include "sim_half.h"

#include <math.h>

typedef union Lanes {
    uint64_t bits[SIM_WARP];
    int64_t integer[SIM_WARP]; /* signed ones and those of up to 32 bits; u64: bits */
    double number[SIM_WARP];
} Lanes;

static bool is_float(PtxType type)
{
    return sim_types[type].class == CLASS_FLOAT;
}

#define LOAD(type, field, expression)             \
    case type:                                    \
        for (uint32_t l = 0; l < SIM_WARP; l++) { \
            const uint64_t x = bits[l];           \
            from->field[l] = expression;          \
        }                                         \
        break

/* The source, exactly. */
static void load(Warp *w, const Insn *i, Lanes *from)
{
    uint64_t bits[SIM_WARP];
    const void *data = sim_data(w, &i->s[0]);
    for (uint32_t l = 0; l < SIM_WARP; l++)
        bits[l] = i->s[0].bytes == 4   ? ((const uint32_t *) data)[l]
                  : i->s[0].bytes == 8 ? ((const uint64_t *) data)[l]
                                       : ((const uint16_t *) data)[l];
    switch (i->from) {
        LOAD(PTX_U8, integer, (uint8_t) x);
        LOAD(PTX_S8, integer, (int8_t) x);
        LOAD(PTX_U16, integer, (uint16_t) x);
        LOAD(PTX_S16, integer, (int16_t) x);
        LOAD(PTX_U32, integer, (uint32_t) x);
        LOAD(PTX_S32, integer, (int32_t) x);
        LOAD(PTX_U64, bits, x);
        LOAD(PTX_S64, bits, x);
        LOAD(PTX_F16, number, (double) half_value((uint16_t) x));
        LOAD(PTX_F32, number, (double) float_of_bits((uint32_t) x));
        LOAD(PTX_F64, number, double_of_bits(x));
    }
}

/* ---- to integers */

static int64_t least_of(PtxType type)
{
    return sim_types[type].class == CLASS_SIGNED
               ? -(INT64_C(1) << (sim_types[type].bits - 2)) * 2
               : 0;
}

static uint64_t most_of(PtxType type)
{
    uint32_t bits = sim_types[type].bits;
    bool is_signed = sim_types[type].class == CLASS_SIGNED;
    return UINT64_MAX >> (64 - bits + is_signed);
}

static double to_integral(double x, Round round)
{
    return round == ROUND_ZERO   ? trunc(x)
           : round == ROUND_DOWN ? floor(x)
           : round == ROUND_UP   ? ceil(x)
                                 : rint(x);
}

/* Out of range: the nearest integer. Not a number: 0, but 2^(width - 1) where the
 * source or the result has 64 bits (PTX ISA 9.0, cvt). */
static uint64_t integer_of(double x, PtxType to, PtxType from)
{
    uint32_t bits = sim_types[to].bits;
    if (x != x)
        return bits == 64 || from == PTX_F64 ? UINT64_C(1) << (bits - 1) : 0;
    if (sim_types[to].class == CLASS_SIGNED)
        return x >= ldexp(1, (int) bits - 1)   ? most_of(to)
               : x < -ldexp(1, (int) bits - 1) ? (uint64_t) least_of(to)
                                               : (uint64_t) (int64_t) x;
    return x >= ldexp(1, (int) bits) ? most_of(to) : x <= 0 ? 0 : (uint64_t) x;
}

/* An integer in the range of another type: only with .sat, else it is cut off. */
static uint64_t clamp(uint64_t value, PtxType to, PtxType from)
{
    bool negative = sim_types[from].class == CLASS_SIGNED && (int64_t) value < 0;
    if (negative)
        return (int64_t) value < least_of(to) ? (uint64_t) least_of(to) : value;
    return value > most_of(to) ? most_of(to) : value;
}

static uint64_t extend(uint64_t value, PtxType type)
{
    uint32_t unused = 64 - sim_types[type].bits;
    return sim_types[type].class == CLASS_SIGNED
               ? (uint64_t) ((int64_t) (value << unused) >> unused)
               : value << unused >> unused;
}

static void store_integers(Warp *w, const Insn *i, uint32_t mask, const Lanes *from)
{
    PtxType to = i->type;
    bool sat = i->flags & FLAG_SAT;
    SIM_LANES(mask, l)
    {
        uint64_t value;
        if (is_float(i->from))
            value = integer_of(to_integral(from->number[l], i->op), to, i->from);
        else
            value = sat ? clamp(from->bits[l], to, i->from) : from->bits[l];
        sim_set_lane(w, &i->d, l, extend(value, to));
    }
}

/* ---- to floats */

static uint64_t float_result(double x, PtxType to, Round round)
{
    if (to == PTX_F16)
        return half_from(x, round);
    if (to == PTX_F32)
        return bits_of_float(canon_f32((float) x));
    return bits_of_double(canon_f64(x));
}

/* Integers of 64 bits are not exact as doubles: those of f32 are rounded from them as
 * they are. Those that a half does not take as infinite are. */
static uint64_t float_of_integer(uint64_t value, PtxType to, PtxType from, Round round)
{
    bool is_signed = sim_types[from].class == CLASS_SIGNED;
    if (to == PTX_F32)
        return bits_of_float(is_signed ? (float) (int64_t) value : (float) value);
    double x = is_signed ? (double) (int64_t) value : (double) value;
    return float_result(x, to, round);
}

static double saturate(double x)
{
    return x > 0 ? x < 1 ? x : 1 : 0;
}

static void store_floats(Warp *w, const Insn *i, uint32_t mask, const Lanes *from)
{
    PtxType to = i->type, source = i->from;
    SIM_LANES(mask, l)
    {
        uint64_t value;
        if (is_float(source)) {
            double x = from->number[l];
            x = i->op ? to_integral(x, i->op) : x;
            x = i->flags & FLAG_SAT ? saturate(x) : x;
            value = float_result(x, to, i->round);
        } else {
            value = float_of_integer(from->bits[l], to, source, i->round);
        }
        sim_set_lane(w, &i->d, l, value);
    }
}

static double flushed(double x)
{
    return fabs(x) < 0x1p-126 ? copysign(0, x) : x;
}

/* .ftz: subnormal f32 are zero, on both sides. */
static void flush_source(const Insn *i, Lanes *from)
{
    for (uint32_t l = 0; i->from == PTX_F32 && l < SIM_WARP; l++)
        from->number[l] = flushed(from->number[l]);
}

static void flush_result(Warp *w, const Insn *i, uint32_t mask)
{
    SIM_LANES(i->type == PTX_F32 ? mask : 0, l)
    {
        uint32_t bits = (uint32_t) sim_lane(w, &i->d, l);
        sim_set_lane(w, &i->d, l, bits & 0x7f800000 ? bits : bits & 0x80000000);
    }
}

void convert_any(Warp *w, const Insn *i, uint32_t mask)
{
    Lanes from;
    uint32_t known = sim_defined(w, &i->s[0]);
    load(w, i, &from);
    if (i->flags & FLAG_FTZ)
        flush_source(i, &from);
    if (is_float(i->type)) {
        bool directed = i->round > ROUND_NEAREST;
        int before = directed ? sim_set_rounding(i->round) : 0;
        store_floats(w, i, mask, &from);
        if (directed)
            sim_restore_rounding(before);
        if (i->flags & FLAG_FTZ)
            flush_result(w, i, mask);
    } else {
        store_integers(w, i, mask, &from);
    }
    sim_define(w, &i->d, mask, known);
}

/* cvt.rn.f16x2.f32 d, a, b: a is the upper half. */
void convert_pair(Warp *w, const Insn *i, uint32_t mask)
{
    const float *a = sim_data(w, &i->s[0]), *b = sim_data(w, &i->s[1]);
    uint32_t *d = sim_data(w, &i->d);
    uint32_t known = sim_defined(w, &i->s[0]) & sim_defined(w, &i->s[1]);
    SIM_LANES(mask, l)
    {
        uint32_t top = half_from(a[l], i->round), low = half_from(b[l], i->round);
        d[l] = top << 16 | low;
    }
    sim_define(w, &i->d, mask, known);
}
