/*
 * interp_scalar.h -- what each operation does to one lane
 *
 * The reference for all engines and for constant folding. Signed arithmetic is done on
 * unsigned types, so that it wraps; half precision is computed in float (or double for fma)
 * and rounded once.
 */
#ifndef ENGINE_INTERP_SCALAR_H
#define ENGINE_INTERP_SCALAR_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define SCALAR static inline __attribute__((always_inline, unused))

/* ---------------------------------------------------------------- integers */

/* T: type, U: unsigned type of the same width, C: unsigned type to compute in (at least 32
 * bits), W: type of twice the width, S: is T signed? */
#define INTEGER_OPS(name, T, U, C, W, S) \
    SCALAR T neg_##name(T a) { return (T) (C) (0 - (C) a); } \
    SCALAR T not_##name(T a) { return (T) ~(C) a; } \
    SCALAR T abs_##name(T a) { return S && a >> (sizeof(T) * 8 - 1) ? (T) (C) (0 - (C) a) : a; } \
    SCALAR T add_##name(T a, T b) { return (T) ((C) a + (C) b); } \
    SCALAR T sub_##name(T a, T b) { return (T) ((C) a - (C) b); } \
    SCALAR T mul_##name(T a, T b) { return (T) ((C) a * (C) b); } \
    SCALAR T div_##name(T a, T b) { \
        if (b == 0) \
            return 0; \
        return S && b == (T) -1 ? neg_##name(a) : (T) (a / b); \
    } \
    SCALAR T mod_##name(T a, T b) { \
        if (b == 0) \
            return a; \
        return S && b == (T) -1 ? 0 : (T) (a % b); \
    } \
    SCALAR T mul_hi_##name(T a, T b) { \
        return (T) ((W) a * (W) b >> (sizeof(T) * 8)); \
    } \
    SCALAR T min_##name(T a, T b) { return b < a ? b : a; } \
    SCALAR T max_##name(T a, T b) { return a > b ? a : b; } \
    SCALAR T and_##name(T a, T b) { return (T) (a & b); } \
    SCALAR T or_##name(T a, T b) { return (T) (a | b); } \
    SCALAR T xor_##name(T a, T b) { return (T) (a ^ b); } \
    SCALAR T shl_##name(T a, T b) { \
        return (U) b >= sizeof(T) * 8 ? 0 : (T) ((C) (U) a << (U) b); \
    } \
    SCALAR T shr_##name(T a, T b) { \
        U n = (U) b, last = (U) (sizeof(T) * 8 - 1); \
        if (S) \
            return (T) (a >> (n > last ? last : n)); \
        return n > last ? 0 : (T) (a >> n); \
    } \
    SCALAR T fma_##name(T a, T b, T c) { return (T) ((C) a * (C) b + (C) c); } \
    SCALAR T popc_##name(T a) { return (T) __builtin_popcountll((U) a); } \
    SCALAR T clz_##name(T a) { \
        return (T) (a ? __builtin_clzll((U) a) - (64 - (int) sizeof(T) * 8) \
                      : (int) sizeof(T) * 8); \
    } \
    SCALAR T ctz_##name(T a) { \
        return (T) (a ? __builtin_ctzll((U) a) : (int) sizeof(T) * 8); \
    } \
    SCALAR T brev_##name(T a) { \
        uint64_t x = (U) a; \
        x = (x >> 1 & 0x5555555555555555ull) | (x & 0x5555555555555555ull) << 1; \
        x = (x >> 2 & 0x3333333333333333ull) | (x & 0x3333333333333333ull) << 2; \
        x = (x >> 4 & 0x0f0f0f0f0f0f0f0full) | (x & 0x0f0f0f0f0f0f0f0full) << 4; \
        return (T) (U) (__builtin_bswap64(x) >> (64 - sizeof(T) * 8)); \
    }

INTEGER_OPS(i8, int8_t, uint8_t, uint32_t, int32_t, 1)
INTEGER_OPS(u8, uint8_t, uint8_t, uint32_t, uint32_t, 0)
INTEGER_OPS(i16, int16_t, uint16_t, uint32_t, int32_t, 1)
INTEGER_OPS(u16, uint16_t, uint16_t, uint32_t, uint32_t, 0)
INTEGER_OPS(i32, int32_t, uint32_t, uint32_t, int64_t, 1)
INTEGER_OPS(u32, uint32_t, uint32_t, uint32_t, uint64_t, 0)
INTEGER_OPS(i64, int64_t, uint64_t, uint64_t, __int128, 1)
INTEGER_OPS(u64, uint64_t, uint64_t, uint64_t, unsigned __int128, 0)

/* ------------------------------------------------------------------ floats */

/* T: type, U: unsigned type of the same width, C: type to compute in, F: suffix of its
 * functions, SIGN: its sign bit. */
#define FLOAT_OPS(name, T, U, C, F, SIGN) \
    SCALAR U bits_##name(T a) { \
        U bits; \
        memcpy(&bits, &a, sizeof bits); \
        return bits; \
    } \
    SCALAR T from_bits_##name(U bits) { \
        T a; \
        memcpy(&a, &bits, sizeof a); \
        return a; \
    } \
    SCALAR T neg_##name(T a) { return from_bits_##name(bits_##name(a) ^ (U) SIGN); } \
    SCALAR T abs_##name(T a) { return from_bits_##name(bits_##name(a) & (U) ~(U) SIGN); } \
    SCALAR T sqrt_##name(T a) { return (T) __builtin_sqrt##F((C) a); } \
    SCALAR T rcp_##name(T a) { return (T) ((C) 1 / (C) a); } \
    SCALAR T rsqrt_##name(T a) { return (T) ((C) 1 / (C) (T) __builtin_sqrt##F((C) a)); } \
    SCALAR T ceil_##name(T a) { return (T) __builtin_ceil##F((C) a); } \
    SCALAR T floor_##name(T a) { return (T) __builtin_floor##F((C) a); } \
    SCALAR T round_##name(T a) { return (T) __builtin_nearbyint##F((C) a); } \
    SCALAR T trunc_##name(T a) { return (T) __builtin_trunc##F((C) a); } \
    SCALAR T add_##name(T a, T b) { return (T) ((C) a + (C) b); } \
    SCALAR T sub_##name(T a, T b) { return (T) ((C) a - (C) b); } \
    SCALAR T mul_##name(T a, T b) { return (T) ((C) a * (C) b); } \
    SCALAR T div_##name(T a, T b) { return (T) ((C) a / (C) b); } \
    SCALAR T min_##name(T a, T b) { return (C) b < (C) a || (C) a != (C) a ? b : a; } \
    SCALAR T max_##name(T a, T b) { return (C) a > (C) b || (C) b != (C) b ? a : b; } \
    SCALAR T fmin_##name(T a, T b) { \
        if ((C) a == (C) b) \
            return from_bits_##name(bits_##name(a) | bits_##name(b)); \
        return (C) b < (C) a || (C) a != (C) a ? b : a; \
    } \
    SCALAR T fmax_##name(T a, T b) { \
        if ((C) a == (C) b) \
            return from_bits_##name(bits_##name(a) & bits_##name(b)); \
        return (C) a > (C) b || (C) b != (C) b ? a : b; \
    } \
    SCALAR T copysign_##name(T a, T b) { \
        return from_bits_##name((U) ((bits_##name(a) & (U) ~(U) SIGN) | \
                                     (bits_##name(b) & (U) SIGN))); \
    }

FLOAT_OPS(f16, _Float16, uint16_t, float, f, 0x8000)
FLOAT_OPS(f32, float, uint32_t, float, f, 0x80000000u)
FLOAT_OPS(f64, double, uint64_t, double, , 0x8000000000000000ull)

/* The product of two halves is exact in double, and so is every sum that is close enough to a
 * rounding boundary of half precision to matter. */
SCALAR _Float16 fma_f16(_Float16 a, _Float16 b, _Float16 c) {
    return (_Float16) ((double) a * (double) b + (double) c);
}
SCALAR float fma_f32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
SCALAR double fma_f64(double a, double b, double c) { return __builtin_fma(a, b, c); }

/* --------------------------------------------------------------- saturation */

/* Float to integer: truncated, limited to [MIN, MAX], 0 for NaN. C: type to compute in. */
#define SATURATE(name, from, C, to, T, MIN, MAX, LIMIT) \
    SCALAR T cast_##from##_##to(name v) { \
        C x = (C) v; \
        if (x != x) \
            return 0; \
        if (x >= (C) (LIMIT)) \
            return MAX; \
        if (x < (C) (MIN)) \
            return MIN; \
        return (T) x; \
    }

#define SATURATE_ALL(name, from, C) \
    SATURATE(name, from, C, i8, int8_t, INT8_MIN, INT8_MAX, 128.) \
    SATURATE(name, from, C, u8, uint8_t, 0, UINT8_MAX, 256.) \
    SATURATE(name, from, C, i16, int16_t, INT16_MIN, INT16_MAX, 32768.) \
    SATURATE(name, from, C, u16, uint16_t, 0, UINT16_MAX, 65536.) \
    SATURATE(name, from, C, i32, int32_t, INT32_MIN, INT32_MAX, 2147483648.) \
    SATURATE(name, from, C, u32, uint32_t, 0, UINT32_MAX, 4294967296.) \
    SATURATE(name, from, C, i64, int64_t, INT64_MIN, INT64_MAX, 9223372036854775808.) \
    SATURATE(name, from, C, u64, uint64_t, 0, UINT64_MAX, 18446744073709551616.)

SATURATE_ALL(_Float16, f16, float)
SATURATE_ALL(float, f32, float)
SATURATE_ALL(double, f64, double)

#endif
