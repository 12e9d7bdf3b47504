/*
 * sim_value.c -- moves, comparisons, selections, logic of predicates
 */
#include "sim_exec.h"

#include "sim_float.h"
#include "sim_half.h"

/* ---- moves */

static void copy_lanes(Warp *w, const Ref *to, const Ref *source, uint32_t mask)
{
    void *data = sim_data(w, to);
    const void *from = sim_data(w, source);
    if (!to->bytes) {
        sim_set_mask(w, to, mask, sim_word(w, source));
    } else if (mask == SIM_ALL) {
        memmove(data, from, (size_t) to->bytes * SIM_WARP);
    } else {
        SIM_LANES(mask, l)
        {
            memmove((uint8_t *) data + (size_t) l * to->bytes,
                    (const uint8_t *) from + (size_t) l * to->bytes, to->bytes);
        }
    }
}

/* Special registers may be wider than what they are moved to. */
void value_mov(Warp *w, const Insn *i, uint32_t mask)
{
    if (i->d.bytes == i->s[0].bytes) {
        copy_lanes(w, &i->d, &i->s[0], mask);
    } else {
        SIM_LANES(mask, l)
        {
            sim_set_lane(w, &i->d, l, sim_lane(w, &i->s[0], l));
        }
    }
    sim_define(w, &i->d, mask, sim_defined(w, &i->s[0]));
}

void value_mov_frame(Warp *w, const Insn *i, uint32_t mask)
{
    SIM_LANES(mask, l)
    {
        sim_set_lane(w, &i->d, l, sim_lane(w, &i->s[0], l) + w->local);
    }
    sim_define(w, &i->d, mask, SIM_ALL);
}

void value_pack(Warp *w, const Insn *i, uint32_t mask)
{
    uint32_t bits = sim_types[i->from].bits, known = SIM_ALL;
    uint64_t ones = (UINT64_C(1) << bits) - 1;
    for (uint32_t k = 0; k < i->count; k++)
        known &= sim_defined(w, &i->vector[k]);
    SIM_LANES(mask, l)
    {
        uint64_t value = 0;
        for (uint32_t k = 0; k < i->count; k++)
            value |= (sim_lane(w, &i->vector[k], l) & ones) << k * bits;
        sim_set_lane(w, &i->d, l, value);
    }
    sim_define(w, &i->d, mask, known);
}

void value_unpack(Warp *w, const Insn *i, uint32_t mask)
{
    uint32_t bits = sim_types[i->from].bits, known = sim_defined(w, &i->s[0]);
    uint64_t ones = (UINT64_C(1) << bits) - 1;
    SIM_LANES(mask, l)
    {
        uint64_t value = sim_lane(w, &i->s[0], l);
        for (uint32_t k = 0; k < i->count; k++)
            sim_set_lane(w, &i->vector[k], l, value >> k * bits & ones);
    }
    for (uint32_t k = 0; k < i->count; k++)
        sim_define(w, &i->vector[k], mask, known);
}

/* Only the side that is chosen has to be defined. */
void value_selp(Warp *w, const Insn *i, uint32_t mask)
{
    uint32_t choice = sim_word(w, &i->s[2]);
    uint32_t known =
        (choice & sim_defined(w, &i->s[0])) | (~choice & sim_defined(w, &i->s[1]));
    known &= sim_defined(w, &i->s[2]);
    if (i->d.bytes == 4 && mask == SIM_ALL) {
        const uint32_t *a = sim_data(w, &i->s[0]), *b = sim_data(w, &i->s[1]);
        uint32_t *d = sim_data(w, &i->d);
        SIM_IVDEP
        for (uint32_t l = 0; l < SIM_WARP; l++)
            d[l] = choice >> l & 1 ? a[l] : b[l];
    } else {
        SIM_LANES(mask, l)
        {
            sim_set_lane(w, &i->d, l, sim_lane(w, &i->s[choice >> l & 1 ? 0 : 1], l));
        }
    }
    sim_define(w, &i->d, mask, known);
}

void value_testp(Warp *w, const Insn *i, uint32_t mask)
{
    static const uint8_t classes[][5] = {
        /* those of fpclassify() that make it true */
        [TEST_FINITE] = { FP_ZERO, FP_SUBNORMAL, FP_NORMAL, FP_NORMAL, FP_NORMAL },
        [TEST_INFINITE] = { FP_INFINITE, FP_INFINITE, FP_INFINITE, FP_INFINITE,
                            FP_INFINITE },
        [TEST_NUMBER] = { FP_ZERO, FP_SUBNORMAL, FP_NORMAL, FP_INFINITE, FP_INFINITE },
        [TEST_NOTANUMBER] = { FP_NAN, FP_NAN, FP_NAN, FP_NAN, FP_NAN },
        [TEST_NORMAL] = { FP_NORMAL, FP_NORMAL, FP_NORMAL, FP_NORMAL, FP_NORMAL },
        [TEST_SUBNORMAL] = { FP_SUBNORMAL, FP_SUBNORMAL, FP_SUBNORMAL, FP_SUBNORMAL,
                             FP_SUBNORMAL },
    };
    uint32_t result = 0;
    SIM_LANES(mask, l)
    {
        uint64_t bits = sim_lane(w, &i->s[0], l);
        int class = i->from == PTX_F32 ? fpclassify(float_of_bits((uint32_t) bits))
                                       : fpclassify(double_of_bits(bits));
        for (uint32_t k = 0; k < 5; k++)
            result |= (uint32_t) (class == classes[i->op][k]) << l;
    }
    sim_set_mask(w, &i->d, mask, result);
    sim_define(w, &i->d, mask, sim_defined(w, &i->s[0]));
}

/* ---- logic of predicates: a defined false decides 'and', a defined true 'or' */

static uint32_t known_and(uint32_t a, uint32_t b, uint32_t da, uint32_t db)
{
    return (da & db) | (da & ~a) | (db & ~b);
}

static uint32_t known_or(uint32_t a, uint32_t b, uint32_t da, uint32_t db)
{
    return (da & db) | (da & a) | (db & b);
}

void value_and(Warp *w, const Insn *i, uint32_t mask)
{
    uint32_t a = sim_word(w, &i->s[0]), b = sim_word(w, &i->s[1]);
    uint32_t known =
        known_and(a, b, sim_defined(w, &i->s[0]), sim_defined(w, &i->s[1]));
    sim_set_mask(w, &i->d, mask, a & b);
    sim_define(w, &i->d, mask, known);
}

void value_or(Warp *w, const Insn *i, uint32_t mask)
{
    uint32_t a = sim_word(w, &i->s[0]), b = sim_word(w, &i->s[1]);
    uint32_t known = known_or(a, b, sim_defined(w, &i->s[0]), sim_defined(w, &i->s[1]));
    sim_set_mask(w, &i->d, mask, a | b);
    sim_define(w, &i->d, mask, known);
}

void value_xor(Warp *w, const Insn *i, uint32_t mask)
{
    uint32_t known = sim_defined(w, &i->s[0]) & sim_defined(w, &i->s[1]);
    sim_set_mask(w, &i->d, mask, sim_word(w, &i->s[0]) ^ sim_word(w, &i->s[1]));
    sim_define(w, &i->d, mask, known);
}

void value_not(Warp *w, const Insn *i, uint32_t mask)
{
    sim_set_mask(w, &i->d, mask, ~sim_word(w, &i->s[0]));
    sim_define(w, &i->d, mask, sim_defined(w, &i->s[0]));
}

/* ---- comparisons */

#define COMPARE_FUNCTION(name, ctype, expression)                  \
    static uint32_t compare_##name(const void *pa, const void *pb) \
    {                                                              \
        const ctype *va = pa, *vb = pb;                            \
        uint32_t mask = 0;                                         \
        for (uint32_t l = 0; l < SIM_WARP; l++) {                  \
            const ctype a = va[l], b = vb[l];                      \
            mask |= (uint32_t) (expression) << l;                  \
        }                                                          \
        return mask;                                               \
    }

#define COMPARE_EQUAL(t, ctype)             \
    COMPARE_FUNCTION(t##_eq, ctype, a == b) \
    COMPARE_FUNCTION(t##_ne, ctype, a != b)
#define COMPARE_ORDER(t, ctype)             \
    COMPARE_EQUAL(t, ctype)                 \
    COMPARE_FUNCTION(t##_lt, ctype, a < b)  \
    COMPARE_FUNCTION(t##_le, ctype, a <= b) \
    COMPARE_FUNCTION(t##_gt, ctype, a > b)  \
    COMPARE_FUNCTION(t##_ge, ctype, a >= b)
/* 'v' makes a number of a lane. 'ne' is false for what is not a number, 'neu' true. */
#define COMPARE_FLOAT(t, ctype, v)                                  \
    COMPARE_FUNCTION(t##_eq, ctype, v(a) == v(b))                   \
    COMPARE_FUNCTION(t##_ne, ctype, v(a) < v(b) || v(a) > v(b))     \
    COMPARE_FUNCTION(t##_lt, ctype, v(a) < v(b))                    \
    COMPARE_FUNCTION(t##_le, ctype, v(a) <= v(b))                   \
    COMPARE_FUNCTION(t##_gt, ctype, v(a) > v(b))                    \
    COMPARE_FUNCTION(t##_ge, ctype, v(a) >= v(b))                   \
    COMPARE_FUNCTION(t##_equ, ctype, !(v(a) < v(b) || v(a) > v(b))) \
    COMPARE_FUNCTION(t##_neu, ctype, v(a) != v(b))                  \
    COMPARE_FUNCTION(t##_ltu, ctype, !(v(a) >= v(b)))               \
    COMPARE_FUNCTION(t##_leu, ctype, !(v(a) > v(b)))                \
    COMPARE_FUNCTION(t##_gtu, ctype, !(v(a) <= v(b)))               \
    COMPARE_FUNCTION(t##_geu, ctype, !(v(a) < v(b)))                \
    COMPARE_FUNCTION(t##_num, ctype, v(a) == v(a) && v(b) == v(b))  \
    COMPARE_FUNCTION(t##_nan, ctype, v(a) != v(a) || v(b) != v(b))
#define PLAIN(x) (x)

COMPARE_ORDER(u16, uint16_t)
COMPARE_ORDER(s16, int16_t)
COMPARE_ORDER(u32, uint32_t)
COMPARE_ORDER(s32, int32_t)
COMPARE_ORDER(u64, uint64_t)
COMPARE_ORDER(s64, int64_t)
COMPARE_FLOAT(f16, uint16_t, half_value)
COMPARE_FLOAT(f32, float, PLAIN)
COMPARE_FLOAT(f64, double, PLAIN)

#define EQUAL_ROW(t) [COMPARE_EQ] = compare_##t##_eq, [COMPARE_NE] = compare_##t##_ne
#define ORDER_ROW(t)                                                                \
    EQUAL_ROW(t), [COMPARE_LT] = compare_##t##_lt, [COMPARE_LE] = compare_##t##_le, \
                  [COMPARE_GT] = compare_##t##_gt, [COMPARE_GE] = compare_##t##_ge
#define FLOAT_ROW(t)                                                          \
    ORDER_ROW(t),                                                             \
        [COMPARE_EQU] = compare_##t##_equ, [COMPARE_NEU] = compare_##t##_neu, \
        [COMPARE_LTU] = compare_##t##_ltu, [COMPARE_LEU] = compare_##t##_leu, \
        [COMPARE_GTU] = compare_##t##_gtu, [COMPARE_GEU] = compare_##t##_geu, \
        [COMPARE_NUM] = compare_##t##_num, [COMPARE_NAN] = compare_##t##_nan

static Compare *const compare_table[PTX_TYPE_COUNT][COMPARE_COUNT] = {
    [PTX_B16] = { EQUAL_ROW(u16) }, [PTX_B32] = { EQUAL_ROW(u32) },
    [PTX_B64] = { EQUAL_ROW(u64) }, [PTX_U16] = { ORDER_ROW(u16) },
    [PTX_S16] = { ORDER_ROW(s16) }, [PTX_U32] = { ORDER_ROW(u32) },
    [PTX_S32] = { ORDER_ROW(s32) }, [PTX_U64] = { ORDER_ROW(u64) },
    [PTX_S64] = { ORDER_ROW(s64) }, [PTX_F16] = { FLOAT_ROW(f16) },
    [PTX_F32] = { FLOAT_ROW(f32) }, [PTX_F64] = { FLOAT_ROW(f64) },
};

Compare *value_compare(PtxType type, uint32_t comparison)
{
    return compare_table[type][comparison];
}

static uint32_t compare_lanes(Warp *w, const Insn *i)
{
    const void *a = sim_data(w, &i->s[0]), *b = sim_data(w, &i->s[1]);
    if (i->flags & FLAG_FTZ) {
        size_t bytes = (size_t) i->s[0].bytes * SIM_WARP;
        a = memcpy(w->scratch, a, bytes);
        b = memcpy(w->scratch + SPECIAL_BYTES, b, bytes);
        sim_flush(i->from, w->scratch);
        sim_flush(i->from, w->scratch + SPECIAL_BYTES);
    }
    return i->compare(a, b);
}

/* A comparison combined with the third operand. */
static uint32_t combine(Warp *w, const Insn *i, uint32_t t, uint32_t *known)
{
    uint32_t c = sim_word(w, &i->s[2]), dc = sim_defined(w, &i->s[2]), dt = *known;
    switch (i->op) {
    case COMBINE_AND:
        *known = known_and(t, c, dt, dc);
        return t & c;
    case COMBINE_OR:
        *known = known_or(t, c, dt, dc);
        return t | c;
    case COMBINE_XOR:
        *known = dt & dc;
        return t ^ c;
    default:
        return t;
    }
}

void value_setp(Warp *w, const Insn *i, uint32_t mask)
{
    uint32_t known = sim_defined(w, &i->s[0]) & sim_defined(w, &i->s[1]);
    uint32_t t = compare_lanes(w, i), second_known = known;
    uint32_t p = combine(w, i, t, &known), q = combine(w, i, ~t, &second_known);
    sim_set_mask(w, &i->d, mask, p);
    sim_define(w, &i->d, mask, known);
    if (i->flags & FLAG_SECOND) {
        sim_set_mask(w, &i->e, mask, q);
        sim_define(w, &i->e, mask, second_known);
    }
}

void value_set(Warp *w, const Insn *i, uint32_t mask)
{
    uint32_t known = sim_defined(w, &i->s[0]) & sim_defined(w, &i->s[1]);
    uint32_t p = combine(w, i, compare_lanes(w, i), &known);
    uint32_t yes = i->type == PTX_F32 ? 0x3f800000 : UINT32_MAX;
    uint32_t *d = sim_data(w, &i->d);
    SIM_LANES(mask, l)
    {
        d[l] = p >> l & 1 ? yes : 0;
    }
    sim_define(w, &i->d, mask, known);
}
