/*
 * lanes_ops.h -- what each arithmetic operation computes in one lane
 *
 * The C meaning of the rows of ops.def, as one inline function per operation and type:
 * <operation>_<type>(operands). The reference for every engine and for constant
 * folding.
 *
 * Everything here is free of branches where that is possible, so that the loops of
 * lanes.c turn into vector code: both sides are computed and one is selected,
 * and operands that would trap (division by zero, conversion out of range) are replaced
 * first. Where one side is a float operation, choose_*() keeps the compiler from
 * computing it only on demand, because it would not take such a branch back. Integer
 * arithmetic is done on unsigned types, wide enough that C's promotion to int cannot
 * overflow. Entries of type f16 are bits in a uint16_t; they are computed in f32, whose
 * 24 bits make the second rounding harmless for + - * / and sqrt.
 */
#ifndef LANES_LANES_OPS_H
#define LANES_LANES_OPS_H

#include <stdint.h>
#include <string.h>

typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef uint16_t f16;
typedef float f32;
typedef double f64;
__extension__ typedef __int128 i128;
__extension__ typedef unsigned __int128 u128;

/* ---- bits of floats */

#define DEFINE_PUN(F, U)                \
    static inline U bits_##F(F a)       \
    {                                   \
        U bits;                         \
        memcpy(&bits, &a, sizeof bits); \
        return bits;                    \
    }                                   \
    static inline F make_##F(U bits)    \
    {                                   \
        F a;                            \
        memcpy(&a, &bits, sizeof a);    \
        return a;                       \
    }
DEFINE_PUN(f32, u32)
DEFINE_PUN(f64, u64)

static inline u16 bits_f16(f16 a)
{
    return a;
}

static inline f16 make_f16(u16 bits)
{
    return bits;
}

/* 'a' where the condition (0 or 1) holds, else 'b', by masks. */
static inline u32 choose_u32(u32 condition, u32 a, u32 b)
{
    return b ^ ((a ^ b) & (0 - condition));
}

/* Move the exponent by an exact multiplication, which also normalises subnormals. */
static inline f32 widen_f16(f16 a)
{
    u32 magnitude = (u32) (a & 0x7fff) << 13;
    u32 special = (a & 0x7c00) == 0x7c00;
    u32 finite = bits_f32(make_f32(magnitude) * 0x1p112f);
    u32 result = choose_u32(special, magnitude | 0x7f800000, finite);
    return make_f32(result | (u32) (a & 0x8000) << 16);
}

/* Round to nearest even. Subnormal results are rounded by adding 0.5, in whose format
 * the last bit has the weight of the smallest f16; others by integer arithmetic, where
 * a carry moves on into the exponent, up to infinity. */
static inline f16 narrow_f32(f32 a)
{
    u32 bits = bits_f32(a), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    u32 small = bits_f32(make_f32(magnitude) + 0.5f) - 0x3f000000u;
    u32 normal = (magnitude + 0xc8000fffu + (magnitude >> 13 & 1)) >> 13;
    u32 large = 0x7c00 | (u32) (magnitude > 0x7f800000u) << 9;
    u32 finite = choose_u32(magnitude < 0x38800000u, small, normal);
    return (f16) (sign | choose_u32(magnitude >= 0x47800000u, large, finite));
}

/* Cut to 24 bits first, noting in the last one that something was cut (round to odd):
 * the second rounding then sees on which side of a tie the number lies. */
static inline f16 narrow_f64(f64 a)
{
    u64 bits = bits_f64(a), low = bits & 0x1fffffff;
    bits = (bits ^ low) | (low ? (u64) 1 << 29 : 0);
    return narrow_f32((f32) make_f64(bits));
}

static inline f32 widen_f32(f32 a)
{
    return a;
}

static inline f64 widen_f64(f64 a)
{
    return a;
}

/* ---- integers: operations that depend on the width only */

/* Work is done in P: 32 bits for the narrow types. */
#define DEFINE_BITS(W, U, P)                                                \
    static inline U neg_##U(U a)                                            \
    {                                                                       \
        return (U) (0 - (P) a);                                             \
    }                                                                       \
    static inline U not_##U(U a)                                            \
    {                                                                       \
        return (U) ~(P) a;                                                  \
    }                                                                       \
    static inline U popc_##U(U a)                                           \
    {                                                                       \
        const U m1 = (U) ((U) ~(U) 0 / 3), m2 = (U) ((U) ~(U) 0 / 5);       \
        const U m4 = (U) ((U) ~(U) 0 / 17);                                 \
        a = (U) (a - ((a >> 1) & m1));                                      \
        a = (U) ((a & m2) + ((a >> 2) & m2));                               \
        a = (U) ((a + (a >> 4)) & m4);                                      \
        if (W > 8)                                                          \
            a = (U) (a + (a >> (W > 8 ? 8 : 0)));                           \
        if (W > 16)                                                         \
            a = (U) (a + (a >> (W > 16 ? 16 : 0)));                         \
        if (W > 32)                                                         \
            a = (U) (a + (a >> (W > 32 ? 32 : 0)));                         \
        return (U) (a & 0x7f);                                              \
    }                                                                       \
    static inline U clz_##U(U a)                                            \
    {                                                                       \
        a = (U) (a | a >> 1);                                               \
        a = (U) (a | a >> 2);                                               \
        a = (U) (a | a >> 4);                                               \
        if (W > 8)                                                          \
            a = (U) (a | a >> (W > 8 ? 8 : 0));                             \
        if (W > 16)                                                         \
            a = (U) (a | a >> (W > 16 ? 16 : 0));                           \
        if (W > 32)                                                         \
            a = (U) (a | a >> (W > 32 ? 32 : 0));                           \
        return popc_##U((U) ~(P) a);                                        \
    }                                                                       \
    static inline U ctz_##U(U a)                                            \
    {                                                                       \
        return popc_##U((U) (~(P) a & ((P) a - 1)));                        \
    }                                                                       \
    static inline U swap_##U(U a, int shift, U mask)                        \
    {                                                                       \
        return (U) (((a >> shift) & mask) | (U) ((P) (a & mask) << shift)); \
    }                                                                       \
    static inline U brev_##U(U a)                                           \
    {                                                                       \
        const U all = (U) ~(U) 0;                                           \
        a = swap_##U(a, 1, (U) (all / 3));                                  \
        a = swap_##U(a, 2, (U) (all / 5));                                  \
        a = swap_##U(a, 4, (U) (all / 17));                                 \
        if (W > 8)                                                          \
            a = swap_##U(a, W > 8 ? 8 : 0, (U) (all / (P) 257));            \
        if (W > 16)                                                         \
            a = swap_##U(a, W > 16 ? 16 : 0, (U) (all / (P) 65537));        \
        if (W > 32)                                                         \
            a = swap_##U(a, W > 32 ? 32 : 0, (U) (all / (P) 4294967297));   \
        return a;                                                           \
    }                                                                       \
    static inline U add_##U(U a, U b)                                       \
    {                                                                       \
        return (U) ((P) a + (P) b);                                         \
    }                                                                       \
    static inline U sub_##U(U a, U b)                                       \
    {                                                                       \
        return (U) ((P) a - (P) b);                                         \
    }                                                                       \
    static inline U mul_##U(U a, U b)                                       \
    {                                                                       \
        return (U) ((P) a * (P) b);                                         \
    }                                                                       \
    static inline U fma_##U(U a, U b, U c)                                  \
    {                                                                       \
        return (U) ((P) a * (P) b + (P) c);                                 \
    }                                                                       \
    static inline u8 eq_##U(U a, U b)                                       \
    {                                                                       \
        return a == b;                                                      \
    }                                                                       \
    static inline u8 neq_##U(U a, U b)                                      \
    {                                                                       \
        return a != b;                                                      \
    }                                                                       \
    static inline U and_##U(U a, U b)                                       \
    {                                                                       \
        return a & b;                                                       \
    }                                                                       \
    static inline U or_##U(U a, U b)                                        \
    {                                                                       \
        return a | b;                                                       \
    }                                                                       \
    static inline U xor_##U(U a, U b)                                       \
    {                                                                       \
        return a ^ b;                                                       \
    }                                                                       \
    static inline U shl_##U(U a, U b)                                       \
    {                                                                       \
        U shifted = (U) ((P) a << (b & (W - 1)));                           \
        return b < W ? shifted : 0;                                         \
    }
DEFINE_BITS(8, u8, u32)
DEFINE_BITS(16, u16, u32)
DEFINE_BITS(32, u32, u32)
DEFINE_BITS(64, u64, u64)

/* ---- integers: operations that depend on the sign */

#define DEFINE_ORDER(T)               \
    static inline u8 lt_##T(T a, T b) \
    {                                 \
        return a < b;                 \
    }                                 \
    static inline u8 le_##T(T a, T b) \
    {                                 \
        return a <= b;                \
    }                                 \
    static inline u8 gt_##T(T a, T b) \
    {                                 \
        return a > b;                 \
    }                                 \
    static inline u8 ge_##T(T a, T b) \
    {                                 \
        return a >= b;                \
    }

#define DEFINE_CHOICE(T)              \
    DEFINE_ORDER(T)                   \
    static inline T min_##T(T a, T b) \
    {                                 \
        return b < a ? b : a;         \
    }                                 \
    static inline T max_##T(T a, T b) \
    {                                 \
        return a > b ? a : b;         \
    }

/* quotient(a, b) is only asked for where it is defined. */
#define DEFINE_SIGNED(W, T, U, P)                                       \
    DEFINE_CHOICE(T)                                                    \
    static inline T abs_##T(T a)                                        \
    {                                                                   \
        return a < 0 ? (T) neg_##U((U) a) : a;                          \
    }                                                                   \
    static inline T shr_##T(T a, T b)                                   \
    {                                                                   \
        U shift = (U) b < W ? (U) b : (U) (W - 1);                      \
        return (T) (a >> shift);                                        \
    }                                                                   \
    static inline T div_##T(T a, T b)                                   \
    {                                                                   \
        T safe = ((b == 0) | (b == -1)) ? 1 : b;                        \
        P sign = 0 - (P) (b == -1);                                     \
        P result = (P) quotient_##T(a, safe);                           \
        return (T) (U) (((result ^ sign) - sign) & (0 - (P) (b != 0))); \
    }                                                                   \
    static inline T mod_##T(T a, T b)                                   \
    {                                                                   \
        return (T) (U) ((P) a - (P) div_##T(a, b) * (P) b);             \
    }

#define DEFINE_UNSIGNED(W, T, P)                        \
    DEFINE_CHOICE(T)                                    \
    static inline T shr_##T(T a, T b)                   \
    {                                                   \
        T shifted = (T) (a >> (b & (W - 1)));           \
        return b < W ? shifted : 0;                     \
    }                                                   \
    static inline T div_##T(T a, T b)                   \
    {                                                   \
        P result = quotient_##T(a, b == 0 ? 1 : b);     \
        return (T) (result & (0 - (P) (b != 0)));       \
    }                                                   \
    static inline T mod_##T(T a, T b)                   \
    {                                                   \
        return (T) ((P) a - (P) div_##T(a, b) * (P) b); \
    }

/* Vector units divide floats only. The rounded quotient cannot reach the next integer:
 * that would take an error of 1 / |a| or more, relative to the quotient. */
static inline i8 quotient_i8(i8 a, i8 b)
{
    return (i8) (i32) ((f32) a / (f32) b);
}

static inline u8 quotient_u8(u8 a, u8 b)
{
    return (u8) (i32) ((f32) a / (f32) b);
}

static inline i16 quotient_i16(i16 a, i16 b)
{
    return (i16) (i32) ((f32) a / (f32) b);
}

static inline u16 quotient_u16(u16 a, u16 b)
{
    return (u16) (i32) ((f32) a / (f32) b);
}

static inline i32 quotient_i32(i32 a, i32 b)
{
    return (i32) ((f64) a / (f64) b);
}

/* Adding 2^52 rounds to an integer, and puts an integer below it into the low bits. */
static inline u32 quotient_u32(u32 a, u32 b)
{
    f64 x = make_f64(bits_f64(0x1p52) | a) - 0x1p52;
    f64 y = make_f64(bits_f64(0x1p52) | b) - 0x1p52;
    f64 whole = (x / y + 0x1p52) - 0x1p52;
    u32 above = whole * y > x;
    return (u32) bits_f64(whole + 0x1p52) - above;
}

static inline i64 quotient_i64(i64 a, i64 b)
{
    return a / b;
}

static inline u64 quotient_u64(u64 a, u64 b)
{
    return a / b;
}

DEFINE_SIGNED(8, i8, u8, u32)
DEFINE_SIGNED(16, i16, u16, u32)
DEFINE_SIGNED(32, i32, u32, u32)
DEFINE_SIGNED(64, i64, u64, u64)
DEFINE_UNSIGNED(8, u8, u32)
DEFINE_UNSIGNED(16, u16, u32)
DEFINE_UNSIGNED(32, u32, u32)
DEFINE_UNSIGNED(64, u64, u64)

#define DEFINE_PRODUCT(W, T, X)          \
    static inline T mul_hi_##T(T a, T b) \
    {                                    \
        return (T) ((X) a * (X) b >> W); \
    }
DEFINE_PRODUCT(8, i8, i32)
DEFINE_PRODUCT(8, u8, u32)
DEFINE_PRODUCT(16, i16, i32)
DEFINE_PRODUCT(16, u16, u32)
DEFINE_PRODUCT(32, i32, i64)
DEFINE_PRODUCT(32, u32, u64)
DEFINE_PRODUCT(64, i64, i128)
DEFINE_PRODUCT(64, u64, u128)

#define DEFINE_WIDE(T, X, P)               \
    static inline X mul_wide_##T(T a, T b) \
    {                                      \
        return (X) ((P) a * (P) b);        \
    }
DEFINE_WIDE(i8, i16, i32)
DEFINE_WIDE(u8, u16, u32)
DEFINE_WIDE(i16, i32, i32)
DEFINE_WIDE(u16, u32, u32)
DEFINE_WIDE(i32, i64, i64)
DEFINE_WIDE(u32, u64, u64)

/* ---- floats */

/* One rounding each for f32 and f64. The functions to integers start from the nearest
 * one, which is a vector instruction; the sign is put back because -0.7 goes up to -0.
 * */
#define DEFINE_FLOAT(F, suffix)                                                 \
    static inline F neg_##F(F a)                                                \
    {                                                                           \
        return -a;                                                              \
    }                                                                           \
    static inline F abs_##F(F a)                                                \
    {                                                                           \
        return __builtin_fabs##suffix(a);                                       \
    }                                                                           \
    static inline F sqrt_##F(F a)                                               \
    {                                                                           \
        return __builtin_sqrt##suffix(a);                                       \
    }                                                                           \
    static inline F rcp_##F(F a)                                                \
    {                                                                           \
        return 1 / a;                                                           \
    }                                                                           \
    static inline F round_##F(F a)                                              \
    {                                                                           \
        return __builtin_rint##suffix(a);                                       \
    }                                                                           \
    static inline F ceil_##F(F a)                                               \
    {                                                                           \
        F near = round_##F(a);                                                  \
        return __builtin_copysign##suffix(near + (F) (near < a ? 1 : 0), a);    \
    }                                                                           \
    static inline F floor_##F(F a)                                              \
    {                                                                           \
        F near = round_##F(a);                                                  \
        return __builtin_copysign##suffix(near - (F) (near > a ? 1 : 0), a);    \
    }                                                                           \
    static inline F trunc_##F(F a)                                              \
    {                                                                           \
        F size = abs_##F(a), near = round_##F(size);                            \
        return __builtin_copysign##suffix(near - (F) (near > size ? 1 : 0), a); \
    }                                                                           \
    static inline F add_##F(F a, F b)                                           \
    {                                                                           \
        return a + b;                                                           \
    }                                                                           \
    static inline F sub_##F(F a, F b)                                           \
    {                                                                           \
        return a - b;                                                           \
    }                                                                           \
    static inline F mul_##F(F a, F b)                                           \
    {                                                                           \
        return a * b;                                                           \
    }                                                                           \
    static inline F div_##F(F a, F b)                                           \
    {                                                                           \
        return a / b;                                                           \
    }                                                                           \
    static inline F copysign_##F(F a, F b)                                      \
    {                                                                           \
        return __builtin_copysign##suffix(a, b);                                \
    }                                                                           \
    static inline F fma_##F(F a, F b, F c)                                      \
    {                                                                           \
        return __builtin_fma##suffix(a, b, c);                                  \
    }                                                                           \
    DEFINE_ORDER(F)                                                             \
    static inline u8 eq_##F(F a, F b)                                           \
    {                                                                           \
        return a == b;                                                          \
    }                                                                           \
    static inline u8 neq_##F(F a, F b)                                          \
    {                                                                           \
        return a != b;                                                          \
    }
DEFINE_FLOAT(f32, f)
DEFINE_FLOAT(f64, )

#define DEFINE_HALF_1(op)                          \
    static inline f16 op##_f16(f16 a)              \
    {                                              \
        return narrow_f32(op##_f32(widen_f16(a))); \
    }
#define DEFINE_HALF_2(op)                                        \
    static inline f16 op##_f16(f16 a, f16 b)                     \
    {                                                            \
        return narrow_f32(op##_f32(widen_f16(a), widen_f16(b))); \
    }
#define DEFINE_HALF_COMPARE(op)                      \
    static inline u8 op##_f16(f16 a, f16 b)          \
    {                                                \
        return op##_f32(widen_f16(a), widen_f16(b)); \
    }
DEFINE_HALF_1(sqrt)
DEFINE_HALF_1(rcp)
DEFINE_HALF_1(ceil)
DEFINE_HALF_1(floor)
DEFINE_HALF_1(round)
DEFINE_HALF_1(trunc)
DEFINE_HALF_2(add)
DEFINE_HALF_2(sub)
DEFINE_HALF_2(mul)
DEFINE_HALF_2(div)
DEFINE_HALF_COMPARE(eq)
DEFINE_HALF_COMPARE(neq)
DEFINE_HALF_COMPARE(lt)
DEFINE_HALF_COMPARE(le)
DEFINE_HALF_COMPARE(gt)
DEFINE_HALF_COMPARE(ge)

static inline f16 neg_f16(f16 a)
{
    return a ^ 0x8000;
}

static inline f16 abs_f16(f16 a)
{
    return a & 0x7fff;
}

static inline f16 copysign_f16(f16 a, f16 b)
{
    return (a & 0x7fff) | (b & 0x8000);
}

/* The product is exact, and so is every sum near a tie of f16: f64 rounds nothing that
 * the second rounding could get wrong. */
static inline f16 fma_f16(f16 a, f16 b, f16 c)
{
    return narrow_f64((f64) widen_f16(a) * (f64) widen_f16(b) + (f64) widen_f16(c));
}

/* Equal numbers differ in the sign of zero at most, which 'or' and 'and' choose. */
#define DEFINE_FLOAT_CHOICE(F, X, U)                                       \
    static inline F min_##F(F a, F b)                                      \
    {                                                                      \
        X x = widen_##F(a), y = widen_##F(b);                              \
        return ((y < x) | (x != x)) ? b : a;                               \
    }                                                                      \
    static inline F max_##F(F a, F b)                                      \
    {                                                                      \
        X x = widen_##F(a), y = widen_##F(b);                              \
        return ((x > y) | (y != y)) ? a : b;                               \
    }                                                                      \
    static inline F fmin_##F(F a, F b)                                     \
    {                                                                      \
        X x = widen_##F(a), y = widen_##F(b);                              \
        U other = ((x < y) | (y != y)) ? bits_##F(a) : bits_##F(b);        \
        return make_##F(x == y ? (U) (bits_##F(a) | bits_##F(b)) : other); \
    }                                                                      \
    static inline F fmax_##F(F a, F b)                                     \
    {                                                                      \
        X x = widen_##F(a), y = widen_##F(b);                              \
        U other = ((x > y) | (y != y)) ? bits_##F(a) : bits_##F(b);        \
        return make_##F(x == y ? (U) (bits_##F(a) & bits_##F(b)) : other); \
    }
DEFINE_FLOAT_CHOICE(f16, f32, u16)
DEFINE_FLOAT_CHOICE(f32, f32, u32)
DEFINE_FLOAT_CHOICE(f64, f64, u64)

/* ---- conversions: <to>_from_<from> */

/* What does not fit saturates, NaN gives 0. LOW and HIGH are powers of two: the range
 * is LOW <= a < HIGH. X holds the conversion of everything in it. */
#define DEFINE_TO_INTEGER(T, X, F, LOW, HIGH, LEAST, MOST)    \
    static inline T T##_from_##F(F a)                         \
    {                                                         \
        F inside = ((a >= (F) LOW) & (a < (F) HIGH)) ? a : 0; \
        T result = (T) (X) inside;                            \
        result = a >= (F) HIGH ? MOST : result;               \
        return a < (F) LOW ? LEAST : result;                  \
    }
#define DEFINE_TO_INTEGERS(F)                                             \
    DEFINE_TO_INTEGER(i8, i32, F, -0x1p7, 0x1p7, INT8_MIN, INT8_MAX)      \
    DEFINE_TO_INTEGER(u8, i32, F, 0, 0x1p8, 0, UINT8_MAX)                 \
    DEFINE_TO_INTEGER(i16, i32, F, -0x1p15, 0x1p15, INT16_MIN, INT16_MAX) \
    DEFINE_TO_INTEGER(u16, i32, F, 0, 0x1p16, 0, UINT16_MAX)              \
    DEFINE_TO_INTEGER(i32, i32, F, -0x1p31, 0x1p31, INT32_MIN, INT32_MAX) \
    DEFINE_TO_INTEGER(u32, u32, F, 0, 0x1p32, 0, UINT32_MAX)              \
    DEFINE_TO_INTEGER(i64, i64, F, -0x1p63, 0x1p63, INT64_MIN, INT64_MAX) \
    DEFINE_TO_INTEGER(u64, u64, F, 0, 0x1p64, 0, UINT64_MAX)              \
    static inline u8 bool_from_##F(F a)                                   \
    {                                                                     \
        return a != 0;                                                    \
    }
DEFINE_TO_INTEGERS(f32)
DEFINE_TO_INTEGERS(f64)

#define DEFINE_HALF_TO_INTEGER(T)          \
    static inline T T##_from_f16(f16 a)    \
    {                                      \
        return T##_from_f32(widen_f16(a)); \
    }
DEFINE_HALF_TO_INTEGER(i8)
DEFINE_HALF_TO_INTEGER(u8)
DEFINE_HALF_TO_INTEGER(i16)
DEFINE_HALF_TO_INTEGER(u16)
DEFINE_HALF_TO_INTEGER(i32)
DEFINE_HALF_TO_INTEGER(u32)
DEFINE_HALF_TO_INTEGER(i64)
DEFINE_HALF_TO_INTEGER(u64)

static inline u8 bool_from_f16(f16 a)
{
    return (a & 0x7fff) != 0;
}

#define DEFINE_FROM_INTEGER(T)          \
    static inline f32 f32_from_##T(T a) \
    {                                   \
        return (f32) a;                 \
    }                                   \
    static inline f64 f64_from_##T(T a) \
    {                                   \
        return (f64) a;                 \
    }                                   \
    static inline u8 bool_from_##T(T a) \
    {                                   \
        return a != 0;                  \
    }                                   \
    static inline u8 u8_from_##T(T a)   \
    {                                   \
        return (u8) a;                  \
    }                                   \
    static inline u16 u16_from_##T(T a) \
    {                                   \
        return (u16) a;                 \
    }                                   \
    static inline u32 u32_from_##T(T a) \
    {                                   \
        return (u32) a;                 \
    }                                   \
    static inline u64 u64_from_##T(T a) \
    {                                   \
        return (u64) a;                 \
    }
DEFINE_FROM_INTEGER(i8)
DEFINE_FROM_INTEGER(u8)
DEFINE_FROM_INTEGER(i16)
DEFINE_FROM_INTEGER(u16)
DEFINE_FROM_INTEGER(i32)
DEFINE_FROM_INTEGER(u32)
DEFINE_FROM_INTEGER(i64)
DEFINE_FROM_INTEGER(u64)

/* Integers beyond 2^20 are infinite in f16 in any case; the others are exact in f32. */
#define DEFINE_HALF_FROM_INTEGER(T, inside)      \
    static inline f16 f16_from_##T(T a)          \
    {                                            \
        return narrow_f32((f32) (i32) (inside)); \
    }
DEFINE_HALF_FROM_INTEGER(i8, a)
DEFINE_HALF_FROM_INTEGER(u8, a)
DEFINE_HALF_FROM_INTEGER(i16, a)
DEFINE_HALF_FROM_INTEGER(u16, a)
DEFINE_HALF_FROM_INTEGER(i32, max_i32(min_i32(a, 1 << 20), -(1 << 20)))
DEFINE_HALF_FROM_INTEGER(u32, min_u32(a, 1 << 20))
DEFINE_HALF_FROM_INTEGER(i64, max_i64(min_i64(a, 1 << 20), -(1 << 20)))
DEFINE_HALF_FROM_INTEGER(u64, min_u64(a, 1 << 20))

static inline f32 f32_from_f16(f16 a)
{
    return widen_f16(a);
}

static inline f64 f64_from_f16(f16 a)
{
    return (f64) widen_f16(a);
}

static inline f16 f16_from_f32(f32 a)
{
    return narrow_f32(a);
}

static inline f64 f64_from_f32(f32 a)
{
    return (f64) a;
}

static inline f16 f16_from_f64(f64 a)
{
    return narrow_f64(a);
}

static inline f32 f32_from_f64(f64 a)
{
    return (f32) a;
}

#endif
