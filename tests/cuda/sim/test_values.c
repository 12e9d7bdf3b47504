/*
 * test_values.c -- what instructions of the simulator compute
 *
 * A few instructions at a time, for a list of operands, against C, integers of 128
 * bits, and tests/c/half_reference.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "half_reference.h"
#include "sim.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 4096 };

/* Operands and results of a launch, one of each for a thread. */
static uint64_t as[COUNT], bs[COUNT], cs[COUNT], ds[COUNT];

/* Run instructions that compute d16, d32, d64, or dp from a16 ... c64, for all threads;
 * 'width' says which, 1 for dp. */
static void compute(uint32_t width, const char *body)
{
    static const char *const before =
        ".version 8.2\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, "
        ".param .u64 pd) {\n"
        ".reg .b16 a16, b16, c16, d16, t16, u16; .reg .b32 a32, b32, c32, d32, t32, "
        "i;\n"
        ".reg .b64 a64, b64, c64, d64, t64, u64, at; .reg .pred dp, p, q;\n"
        "mov.u32 i, %ctaid.x; mov.u32 t32, %tid.x; mad.lo.u32 i, i, 256, t32;\n"
        "ld.param.u64 t64, [pa]; mad.wide.u32 at, i, 8, t64; ld.global.u64 a64, [at];\n"
        "ld.param.u64 t64, [pb]; mad.wide.u32 at, i, 8, t64; ld.global.u64 b64, [at];\n"
        "ld.param.u64 t64, [pc]; mad.wide.u32 at, i, 8, t64; ld.global.u64 c64, [at];\n"
        "ld.param.u64 t64, [pd]; mad.wide.u32 at, i, 8, t64;\n"
        "cvt.u32.u64 a32, a64; cvt.u32.u64 b32, b64; cvt.u32.u64 c32, c64;\n"
        "cvt.u16.u64 a16, a64; cvt.u16.u64 b16, b64; cvt.u16.u64 c16, c64;\n";
    const char *after = width == 1    ? "selp.b64 d64, 1, 0, dp;\n"
                        : width == 16 ? "cvt.u64.u16 d64, d16;\n"
                        : width == 32 ? "cvt.u64.u32 d64, d32;\n"
                                      : "";
    char text[4096], error[SIM_MESSAGE];
    snprintf(text, sizeof(text), "%s%s\n%sst.global.u64 [at], d64; ret; }", before,
             body, after);
    SimModule *m = sim_parse(text, SIM_FOREIGN, error);
    if (!m)
        fail_msg("%s: %s", body, error);
    const uint64_t *params[] = { as, bs, cs, ds };
    SimResult result;
    SimLaunch launch = { .kernel = sim_find(m, "k"),
                         .grid = { COUNT / 256 },
                         .block = { 256 },
                         .params = params,
                         .param_bytes = sizeof(params),
                         .seed = 1 };
    if (!sim_run(&launch, &result))
        fail_msg("%s: %s", body, result.message);
    sim_free(m);
}

static uint64_t random_state = 1;

static uint64_t random_bits(void)
{
    uint64_t x = random_state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Bits of all kinds: special ones, small ones, any. */
static uint64_t any_bits(const uint64_t *special, uint32_t count)
{
    uint64_t r = random_bits();
    switch (r % 4) {
    case 0:
        return special[r / 4 % count];
    case 1:
        return (uint64_t) ((int64_t) (r << 8) >> 56);
    default:
        return random_bits() >> (r / 4 % 40);
    }
}

static void fill_integers(void)
{
    static const uint64_t special[] = { 0,           1,          2,
                                        31,          32,         33,
                                        63,          64,         65,
                                        0x7f,        0x80,       0xff,
                                        0x7fff,      0x8000,     0xffff,
                                        0x7fffffff,  0x80000000, 0xffffffff,
                                        0x100000000, INT64_MAX,  (uint64_t) INT64_MIN,
                                        UINT64_MAX };
    for (uint32_t k = 0; k < COUNT; k++) {
        as[k] = any_bits(special, 22);
        bs[k] = k % 8 ? any_bits(special, 22) : as[k];
        cs[k] = k % 9 ? any_bits(special, 22) : bs[k];
    }
}

#define ALL(width, body, expression)                                                  \
    do {                                                                              \
        compute(width, body);                                                         \
        for (uint32_t k = 0; k < COUNT; k++) {                                        \
            const uint64_t a = as[k], b = bs[k], c = cs[k];                           \
            (void) a, (void) b, (void) c;                                             \
            const uint64_t want = (expression), got = ds[k];                          \
            if (want != got)                                                          \
                fail_msg("%s: a %llx b %llx c %llx: %llx expected, found %llx", body, \
                         (unsigned long long) a, (unsigned long long) b,              \
                         (unsigned long long) c, (unsigned long long) want,           \
                         (unsigned long long) got);                                   \
        }                                                                             \
    } while (0)

#define U16(x) ((uint16_t) (x))
#define U32(x) ((uint32_t) (x))
#define S16(x) ((int16_t) (x))
#define S32(x) ((int32_t) (x))
#define S64(x) ((int64_t) (x))
__extension__ typedef unsigned __int128 Wide;
__extension__ typedef __int128 SignedWide;

/* ---- integers */

static void test_sums(void **state)
{
    (void) state;
    fill_integers();
    ALL(16, "add.u16 d16, a16, b16;", U16(a + b));
    ALL(32, "add.s32 d32, a32, b32;", U32(a + b));
    ALL(64, "sub.s64 d64, a64, b64;", a - b);
    ALL(16, "mul.lo.s16 d16, a16, b16;", U16(a * b));
    ALL(32, "mad.lo.u32 d32, a32, b32, c32;", U32(a * b + c));
    ALL(64, "mad.lo.s64 d64, a64, b64, c64;", a * b + c);
    ALL(16, "mul.hi.s16 d16, a16, b16;", U16((S16(a) * S16(b)) >> 16));
    ALL(32, "mul.hi.u32 d32, a32, b32;", (uint64_t) U32(a) * U32(b) >> 32);
    ALL(32, "mul.hi.s32 d32, a32, b32;", U32(((int64_t) S32(a) * S32(b)) >> 32));
    ALL(64, "mul.hi.u64 d64, a64, b64;", (uint64_t) (((Wide) a * b) >> 64));
    ALL(64, "mul.hi.s64 d64, a64, b64;",
        (uint64_t) (((SignedWide) S64(a) * S64(b)) >> 64));
    ALL(64, "mad.hi.s64 d64, a64, b64, c64;",
        (uint64_t) (((SignedWide) S64(a) * S64(b)) >> 64) + c);
    ALL(32, "mul.wide.s16 d32, a16, b16;", U32(S16(a) * S16(b)));
    ALL(64, "mul.wide.u32 d64, a32, b32;", (uint64_t) U32(a) * U32(b));
    ALL(64, "mad.wide.s32 d64, a32, b32, c64;",
        (uint64_t) ((int64_t) S32(a) * S32(b)) + c);
    ALL(32, "sad.s32 d32, a32, b32, c32;", U32(c + (S32(a) < S32(b) ? b - a : a - b)));
    ALL(32, "mul24.hi.u32 d32, a32, b32;", U32((a & 0xffffff) * (b & 0xffffff) >> 16));
    ALL(32, "add.sat.s32 d32, a32, b32;",
        U32((int64_t) S32(a) + S32(b) > INT32_MAX   ? INT32_MAX
            : (int64_t) S32(a) + S32(b) < INT32_MIN ? INT32_MIN
                                                    : (int64_t) S32(a) + S32(b)));
    ALL(32, "div.u32 d32, a32, b32;", U32(b) ? U32(a) / U32(b) : UINT32_MAX);
    ALL(32, "rem.u32 d32, a32, b32;", U32(b) ? U32(a) % U32(b) : U32(a));
    ALL(64, "div.s64 d64, a64, b64;",
        !b                                     ? UINT64_MAX
        : a == (uint64_t) INT64_MIN && ~b == 0 ? a
                                               : (uint64_t) (S64(a) / S64(b)));
    ALL(16, "rem.s16 d16, a16, b16;", U16(S16(b) ? S16(a) % S16(b) : S16(a)));
    ALL(32, "abs.s32 d32, a32;", U32(S32(a) < 0 ? 0 - a : a));
    ALL(64, "neg.s64 d64, a64;", 0 - a);
    ALL(16, "min.s16 d16, a16, b16;", U16(S16(a) < S16(b) ? a : b));
    ALL(64, "max.u64 d64, a64, b64;", a > b ? a : b);
    ALL(32, "dp4a.s32.u32 d32, a32, b32, c32;",
        U32(c + (uint64_t) ((int8_t) a * (int) (uint8_t) b +
                            (int8_t) (a >> 8) * (int) (uint8_t) (b >> 8) +
                            (int8_t) (a >> 16) * (int) (uint8_t) (b >> 16) +
                            (int8_t) (a >> 24) * (int) (uint8_t) (b >> 24))));
}

static void test_carry(void **state)
{
    (void) state;
    fill_integers();
    /* Upper halves of 128-bit sums, differences and products. */
    ALL(64, "add.cc.u64 t64, a64, b64; addc.u64 d64, b64, c64;",
        (uint64_t) ((((Wide) b << 64 | a) + ((Wide) c << 64 | b)) >> 64));
    ALL(64, "sub.cc.u64 t64, a64, b64; subc.u64 d64, b64, c64;",
        (uint64_t) ((((Wide) b << 64 | a) - ((Wide) c << 64 | b)) >> 64));
    ALL(32, "add.cc.u32 t32, a32, b32; addc.cc.u32 t32, b32, c32; addc.u32 d32, 0, 0;",
        ((uint64_t) U32(a) + (uint64_t) U32(b)) >> 32
            ? ((uint64_t) U32(b) + U32(c) + 1) >> 32
            : ((uint64_t) U32(b) + U32(c)) >> 32);
    ALL(64, "sub.cc.u64 t64, a64, b64; subc.cc.u64 t64, c64, c64; subc.u64 d64, 0, 0;",
        a < b ? UINT64_MAX : 0);
    ALL(64, "add.cc.u64 t64, a64, b64; addc.cc.u64 t64, c64, -1; addc.u64 d64, 0, 0;",
        a + b < a || c);
    ALL(32, "mad.lo.cc.u32 t32, a32, b32, c32; madc.hi.u32 d32, a32, b32, 0;",
        ((uint64_t) U32(a) * U32(b) + U32(c)) >> 32);
    ALL(64, "mad.lo.cc.u64 t64, a64, b64, c64; madc.hi.u64 d64, a64, b64, 0;",
        (uint64_t) (((Wide) a * b + c) >> 64));
}

static uint64_t reversed(uint64_t a, uint32_t width)
{
    uint64_t r = 0;
    for (uint32_t k = 0; k < width; k++)
        r |= (a >> k & 1) << (width - 1 - k);
    return r;
}

/* bfe and bfi, bit by bit as the PTX document has them. */
static uint64_t field(uint64_t a, uint32_t b, uint32_t c, uint32_t width, bool sign)
{
    uint32_t position = b & 255, length = c & 255, last = width - 1;
    uint32_t edge = position + length - 1 < last ? position + length - 1 : last;
    uint64_t fill = sign && length ? a >> edge & 1 : 0, d = 0;
    for (uint32_t k = 0; k <= last; k++)
        d |= (k < length && position + k <= last ? a >> (position + k) & 1 : fill) << k;
    return d;
}

static uint64_t inserted(uint64_t a, uint64_t b, uint32_t c, uint32_t d, uint32_t width)
{
    uint32_t position = c & 255, length = d & 255;
    for (uint32_t k = 0; k < length && position + k < width; k++) {
        b &= ~(UINT64_C(1) << (position + k));
        b |= (a >> k & 1) << (position + k);
    }
    return b;
}

static uint32_t permuted(uint32_t a, uint32_t b, uint32_t c)
{
    uint64_t bytes = (uint64_t) b << 32 | a;
    uint32_t d = 0;
    for (uint32_t k = 0; k < 4; k++) {
        uint32_t s = c >> 4 * k & 15, byte = bytes >> 8 * (s & 7) & 255;
        d |= (s & 8 ? (byte >> 7) * 255 : byte) << 8 * k;
    }
    return d;
}

static void test_bits(void **state)
{
    (void) state;
    fill_integers();
    ALL(16, "and.b16 d16, a16, b16;", U16(a & b));
    ALL(64, "xor.b64 d64, a64, 0xff00ff00ff00ff00;", a ^ UINT64_C(0xff00ff00ff00ff00));
    ALL(16, "not.b16 d16, a16;", U16(~a));
    ALL(32, "cnot.b32 d32, a32;", U32(a) == 0);
    ALL(32, "lop3.b32 d32, a32, b32, c32, 0xca;", U32((a & b) | (~a & c)));
    ALL(16, "shl.b16 d16, a16, b32;", U32(b) < 16 ? U16(a << U32(b)) : 0);
    ALL(64, "shl.b64 d64, a64, b32;", U32(b) < 64 ? a << U32(b) : 0);
    ALL(32, "shr.u32 d32, a32, b32;", U32(b) < 32 ? U32(a) >> U32(b) : 0);
    ALL(32, "shr.s32 d32, a32, b32;", U32(S32(a) >> (U32(b) < 32 ? U32(b) : 31)));
    ALL(64, "shr.s64 d64, a64, b32;",
        (uint64_t) (S64(a) >> (U32(b) < 64 ? U32(b) : 63)));
    ALL(16, "shr.s16 d16, a16, b32;", U16(S16(a) >> (U32(b) < 16 ? U32(b) : 15)));
    ALL(32, "shf.l.wrap.b32 d32, a32, b32, c32;",
        c & 31 ? U32(U32(b) << (c & 31) | U32(a) >> (32 - (c & 31))) : U32(b));
    ALL(32, "shf.r.clamp.b32 d32, a32, b32, c32;",
        U32(c) >= 32 ? U32(b)
        : U32(c)     ? U32(U32(a) >> U32(c) | U32(b) << (32 - U32(c)))
                     : U32(a));
    ALL(32, "popc.b64 d32, a64;", (uint64_t) __builtin_popcountll(a));
    ALL(32, "clz.b32 d32, a32;", U32(a) ? (uint64_t) __builtin_clz(U32(a)) : 32);
    ALL(32, "clz.b64 d32, a64;", a ? (uint64_t) __builtin_clzll(a) : 64);
    ALL(32, "bfind.u32 d32, a32;",
        U32(a) ? 31 - (uint32_t) __builtin_clz(U32(a)) : UINT32_MAX);
    ALL(32, "bfind.s64 d32, a64;",
        S64(a) == 0 || ~a == 0 ? UINT32_MAX
                               : 63 - (uint32_t) __builtin_clzll(S64(a) < 0 ? ~a : a));
    ALL(32, "bfind.shiftamt.u64 d32, a64;",
        a ? (uint64_t) __builtin_clzll(a) : UINT32_MAX);
    ALL(32, "brev.b32 d32, a32;", reversed(a, 32));
    ALL(64, "brev.b64 d64, a64;", reversed(a, 64));
    ALL(32, "bfe.u32 d32, a32, b32, c32;", field(U32(a), U32(b), U32(c), 32, false));
    ALL(32, "bfe.s32 d32, a32, b32, c32;", field(U32(a), U32(b), U32(c), 32, true));
    ALL(64, "bfe.s64 d64, a64, b32, c32;", field(a, U32(b), U32(c), 64, true));
    ALL(32, "bfi.b32 d32, a32, b32, c32, 7;", inserted(U32(a), U32(b), U32(c), 7, 32));
    ALL(64, "bfi.b64 d64, a64, b64, c32, 33;", inserted(a, b, U32(c), 33, 64));
    ALL(32, "prmt.b32 d32, a32, b32, c32;", permuted(U32(a), U32(b), U32(c)));
    ALL(32, "prmt.b32.f4e d32, a32, b32, c32;",
        U32(((uint64_t) U32(b) << 32 | U32(a)) >> (c & 3) * 8));
    ALL(64, "mov.b64 d64, {a32, b32};", U32(a) | (uint64_t) U32(b) << 32);
    ALL(32, "mov.b64 {t32, d32}, a64;", a >> 32);
    ALL(32, "mov.b32 d32, {a16, b16};", U16(a) | (uint32_t) U16(b) << 16);
}

static void test_choices(void **state)
{
    (void) state;
    fill_integers();
    ALL(1, "setp.lt.s32 dp, a32, b32;", S32(a) < S32(b));
    ALL(1, "setp.lo.u32 dp, a32, b32;", U32(a) < U32(b));
    ALL(1, "setp.hs.u64 dp, a64, b64;", a >= b);
    ALL(1, "setp.ne.b16 dp, a16, b16;", U16(a) != U16(b));
    ALL(1, "setp.ge.s16 dp, a16, -5;", S16(a) >= -5);
    ALL(1, "setp.eq.u32 p, a32, c32; setp.gt.and.s64 dp|q, a64, b64, !p;",
        S64(a) > S64(b) && U32(a) != U32(c));
    ALL(1, "setp.eq.u32 p, a32, c32; setp.gt.or.s64 q|dp, a64, b64, p;",
        S64(a) <= S64(b) || U32(a) == U32(c));
    ALL(32, "set.le.u32.s32 d32, a32, b32;", S32(a) <= S32(b) ? UINT32_MAX : 0);
    ALL(64, "setp.lt.u64 p, a64, b64; selp.b64 d64, a64, b64, p;", a < b ? a : b);
    ALL(32, "slct.b32.s32 d32, a32, b32, c32;", S32(c) >= 0 ? U32(a) : U32(b));
    ALL(1, "setp.lt.u64 p, a64, b64; setp.lt.u64 q, b64, c64; xor.pred dp, p, q;",
        (a < b) != (b < c));
    ALL(1, "setp.lt.u64 p, a64, b64; not.pred dp, p;", a >= b);
}

/* ---- floats */

static float f32_of(uint64_t bits)
{
    float value;
    uint32_t word = (uint32_t) bits;
    memcpy(&value, &word, sizeof(value));
    return value;
}

static double f64_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static uint64_t bits_f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return isnan(value) ? 0x7fffffff : bits;
}

static uint64_t bits_f64(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return isnan(value) ? INT64_MAX : bits;
}

static uint64_t bits_f16(double value)
{
    return isnan(value) ? 0x7fff : half_bits(value);
}

static void fill_f32(void)
{
    static const uint64_t special[] = { 0,          0x80000000, 0x3f800000, 0xbf800000,
                                        0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345,
                                        1,          0x80000001, 0x007fffff, 0x00800000,
                                        0x7f7fffff, 0x4f000000, 0xcf000000, 0x4f800000,
                                        0x5f000000, 0x5f800000, 0x3f000000, 0x3fc00000,
                                        0x40200000, 0x477fe000, 0x477ff000, 0x33800000,
                                        0x33000000 };
    for (uint32_t k = 0; k < COUNT; k++) {
        as[k] = U32(k % 2 ? random_bits() : any_bits(special, 25));
        bs[k] = U32(k % 3 ? random_bits() : any_bits(special, 25));
        cs[k] = U32(k % 5 ? random_bits() : any_bits(special, 25));
    }
    /* All pairs of special ones. */
    for (uint32_t k = 0; k < 25 * 25; k++) {
        as[k] = special[k / 25];
        bs[k] = special[k % 25];
    }
}

static void fill_f64(void)
{
    static const uint64_t special[] = { 0,
                                        UINT64_C(1) << 63,
                                        0x3ff0000000000000,
                                        0x7ff0000000000000,
                                        0xfff0000000000000,
                                        0x7ff8000000000000,
                                        0xfff8000000001234,
                                        1,
                                        0x000fffffffffffff,
                                        0x0010000000000000,
                                        0x7fefffffffffffff,
                                        0x41e0000000000000,
                                        0xc1e0000000000000,
                                        0x43e0000000000000,
                                        0xc3e0000000000000,
                                        0x43f0000000000000,
                                        0x3fe0000000000000,
                                        0x3ff8000000000000,
                                        0x4004000000000000,
                                        0x40effe0000000000,
                                        0x40effc0000000000,
                                        0x3e70000000000000,
                                        0x36a0000000000000 };
    for (uint32_t k = 0; k < COUNT; k++) {
        as[k] = k % 2 ? random_bits() : any_bits(special, 23);
        bs[k] = k % 3 ? random_bits() : any_bits(special, 23);
        cs[k] = k % 5 ? random_bits() : any_bits(special, 23);
    }
    /* All pairs of special ones. */
    for (uint32_t k = 0; k < 23 * 23; k++) {
        as[k] = special[k / 23];
        bs[k] = special[k % 23];
    }
}

static float least_f32(float a, float b)
{
    return isnan(a) ? b : isnan(b) ? a : a == b ? (signbit(a) ? a : b) : a < b ? a : b;
}

static double most_f64(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : a == b ? (signbit(a) ? b : a) : a > b ? a : b;
}

#define FA f32_of(a)
#define FB f32_of(b)
#define FC f32_of(c)
#define DA f64_of(a)
#define DB f64_of(b)
#define DC f64_of(c)

static void test_floats(void **state)
{
    (void) state;
    fill_f32();
    ALL(32, "add.rn.f32 d32, a32, b32;", bits_f32(FA + FB));
    ALL(32, "sub.rn.f32 d32, a32, b32;", bits_f32(FA - FB));
    ALL(32, "mul.rn.f32 d32, a32, b32;", bits_f32(FA * FB));
    ALL(32, "fma.rn.f32 d32, a32, b32, c32;", bits_f32(fmaf(FA, FB, FC)));
    ALL(32, "div.rn.f32 d32, a32, b32;", bits_f32(FA / FB));
    ALL(32, "rcp.rn.f32 d32, a32;", bits_f32(1 / FA));
    ALL(32, "sqrt.rn.f32 d32, a32;", bits_f32(sqrtf(FA)));
    ALL(32, "min.f32 d32, a32, b32;", bits_f32(least_f32(FA, FB)));
    ALL(32, "max.f32 d32, a32, b32;", bits_f32(-least_f32(-FA, -FB)));
    ALL(32, "min.NaN.f32 d32, a32, b32;",
        bits_f32(isnan(FA) || isnan(FB) ? NAN : least_f32(FA, FB)));
    ALL(32, "abs.f32 d32, a32;", bits_f32(fabsf(FA)));
    ALL(32, "neg.f32 d32, a32;", bits_f32(-FA));
    ALL(32, "copysign.f32 d32, a32, b32;",
        (U32(b) & 0x7fffffff) | (U32(a) & 0x80000000));
    ALL(1, "setp.lt.f32 dp, a32, b32;", FA < FB);
    ALL(1, "setp.ne.f32 dp, a32, b32;", FA < FB || FA > FB);
    ALL(1, "setp.neu.f32 dp, a32, b32;", FA != FB);
    ALL(1, "setp.geu.f32 dp, a32, b32;", !(FA < FB));
    ALL(1, "setp.nan.f32 dp, a32, b32;", isnan(FA) || isnan(FB));
    ALL(1, "setp.num.f32 dp, a32, b32;", !isnan(FA) && !isnan(FB));
    ALL(1, "testp.subnormal.f32 dp, a32;", fpclassify(FA) == FP_SUBNORMAL);
    ALL(1, "testp.finite.f32 dp, a32;", isfinite(FA) != 0);
    ALL(32, "slct.f32.f32 d32, a32, b32, c32;", FC >= 0 ? U32(a) : U32(b));
    fill_f64();
    ALL(64, "add.rn.f64 d64, a64, b64;", bits_f64(DA + DB));
    ALL(64, "mul.rn.f64 d64, a64, b64;", bits_f64(DA * DB));
    ALL(64, "fma.rn.f64 d64, a64, b64, c64;", bits_f64(fma(DA, DB, DC)));
    ALL(64, "div.rn.f64 d64, a64, b64;", bits_f64(DA / DB));
    ALL(64, "sqrt.rn.f64 d64, a64;", bits_f64(sqrt(DA)));
    ALL(64, "max.f64 d64, a64, b64;", bits_f64(most_f64(DA, DB)));
    ALL(1, "setp.leu.f64 dp, a64, b64;", !(DA > DB));
}

static float flushed(float x)
{
    return fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x;
}

static float unit(float x)
{
    return x > 0 ? x < 1 ? x : 1 : 0;
}

static float toward(int mode, float a, float b)
{
    volatile float x = a, y = b;
    fesetround(mode);
    volatile float sum = x + y;
    fesetround(FE_TONEAREST);
    return sum;
}

static void test_modifiers(void **state)
{
    (void) state;
    fill_f32();
    ALL(32, "add.ftz.f32 d32, a32, b32;", bits_f32(flushed(flushed(FA) + flushed(FB))));
    ALL(32, "mul.rn.ftz.sat.f32 d32, a32, b32;",
        bits_f32(unit(flushed(flushed(FA) * flushed(FB)))));
    ALL(32, "add.rz.f32 d32, a32, b32;", bits_f32(toward(FE_TOWARDZERO, FA, FB)));
    ALL(32, "add.rp.f32 d32, a32, b32;", bits_f32(toward(FE_UPWARD, FA, FB)));
    ALL(32, "add.rm.f32 d32, a32, b32;", bits_f32(toward(FE_DOWNWARD, FA, FB)));
    ALL(1, "setp.eq.ftz.f32 dp, a32, b32;", flushed(FA) == flushed(FB));
}

static void fill_f16(void)
{
    for (uint32_t k = 0; k < COUNT; k++) {
        as[k] = U16(random_bits());
        bs[k] = U16(k % 4 ? random_bits() : as[k] + k % 32);
        cs[k] = U16(random_bits());
    }
}

/* a * b + c of halves, which are multiples of 2^-24, exactly; then rounded. */
static uint64_t exact_fma(uint16_t a, uint16_t b, uint16_t c)
{
    double x = half_value(a), y = half_value(b), z = half_value(c);
    if (!isfinite(x) || !isfinite(y) || !isfinite(z) || x * y + z == 0)
        return bits_f16(x * y + z);
    SignedWide sum = (SignedWide) (int64_t) ldexp(x, 24) * (int64_t) ldexp(y, 24) +
                     (SignedWide) (int64_t) ldexp(z, 24) * (1 << 24);
    bool negative = sum < 0;
    Wide size = negative ? -(Wide) sum : (Wide) sum;
    if (!size)
        return bits_f16(x * y + z);
    /* To 50 bits, with all that is lost as a last bit: half_bits() rounds it. */
    int shift = 0;
    for (; size >> 50; shift++)
        size = size >> 1 | (size & 1);
    double value = ldexp((double) (uint64_t) size, shift - 48);
    return bits_f16(negative ? -value : value);
}

#define HA half_value((uint16_t) a)
#define HB half_value((uint16_t) b)

static void test_halves(void **state)
{
    (void) state;
    for (uint32_t round = 0; round < 8; round++) {
        fill_f16();
        ALL(16, "add.rn.f16 d16, a16, b16;", bits_f16(HA + HB));
        ALL(16, "sub.rn.f16 d16, a16, b16;", bits_f16(HA - HB));
        ALL(16, "mul.rn.f16 d16, a16, b16;", bits_f16(HA * HB));
        ALL(16, "fma.rn.f16 d16, a16, b16, c16;",
            exact_fma((uint16_t) a, (uint16_t) b, (uint16_t) c));
        ALL(32,
            "mov.b32 a32, {a16, b16}; mov.b32 b32, {b16, c16};"
            "fma.rn.f16x2 d32, a32, b32, a32;",
            exact_fma((uint16_t) a, (uint16_t) b, (uint16_t) a) |
                exact_fma((uint16_t) b, (uint16_t) c, (uint16_t) b) << 16);
    }
    ALL(1, "setp.lt.f16 dp, a16, b16;", HA < HB);
    ALL(16, "min.f16 d16, a16, b16;", bits_f16(least_f32((float) HA, (float) HB)));
    ALL(16, "neg.f16 d16, a16;", bits_f16(-HA));
    ALL(32, "cvt.f32.f16 d32, a16;", bits_f32((float) HA));
}

/* ---- conversions */

static uint64_t saturated(double x, int bits, bool sign, bool wide)
{
    double low = sign ? -ldexp(1, bits - 1) : 0,
           high = ldexp(1, sign ? bits - 1 : bits);
    uint64_t ones = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    if (isnan(x))
        return wide || bits == 64 ? UINT64_C(1) << (bits - 1) : 0;
    if (x < low)
        return (uint64_t) (sign ? INT64_MIN >> (64 - bits) : 0) & ones;
    if (x >= high)
        return ones >> sign;
    return (sign ? (uint64_t) (int64_t) x : (uint64_t) x) & ones;
}

static void test_to_integers(void **state)
{
    (void) state;
    fill_f32();
    for (uint32_t k = 0; k < COUNT; k += 2)
        as[k] = bits_f32((float) (int32_t) random_bits() / (1 << k % 31));
    ALL(32, "cvt.rzi.s32.f32 d32, a32;", saturated(trunc(FA), 32, true, false));
    ALL(32, "cvt.rni.u32.f32 d32, a32;", saturated(rint(FA), 32, false, false));
    ALL(32, "cvt.rpi.s8.f32 d32, a32;",
        U32((int8_t) saturated(ceil(FA), 8, true, false)));
    ALL(32, "cvt.rmi.u16.f32 d32, a32;", saturated(floor(FA), 16, false, false));
    ALL(64, "cvt.rzi.s64.f32 d64, a32;", saturated(trunc(FA), 64, true, false));
    ALL(64, "cvt.rzi.u64.f32 d64, a32;", saturated(trunc(FA), 64, false, false));
    ALL(32, "cvt.rni.f32.f32 d32, a32;", bits_f32(rintf(FA)));
    ALL(32, "cvt.rpi.f32.f32 d32, a32;", bits_f32(ceilf(FA)));
    ALL(32, "cvt.sat.f32.f32 d32, a32;", bits_f32(FA > 0 ? FA < 1 ? FA : 1 : 0));
    fill_f64();
    ALL(32, "cvt.rzi.s32.f64 d32, a64;", saturated(trunc(DA), 32, true, true));
    ALL(64, "cvt.rmi.s64.f64 d64, a64;", saturated(floor(DA), 64, true, true));
    ALL(32, "cvt.rzi.u8.f64 d32, a64;", saturated(trunc(DA), 8, false, true));
    fill_f16();
    ALL(32, "cvt.rni.s32.f16 d32, a16;", saturated(rint(HA), 32, true, false));
    ALL(64, "cvt.rzi.u64.f16 d64, a16;", saturated(trunc(HA), 64, false, false));
}

static float directed(int mode, double x)
{
    volatile double wide = x;
    fesetround(mode);
    volatile float narrow = (float) wide;
    fesetround(FE_TONEAREST);
    return narrow;
}

static void test_to_floats(void **state)
{
    (void) state;
    fill_integers();
    ALL(32, "cvt.rn.f32.s32 d32, a32;", bits_f32((float) S32(a)));
    ALL(32, "cvt.rn.f32.u64 d32, a64;", bits_f32((float) a));
    ALL(32, "cvt.rn.f32.s64 d32, a64;", bits_f32((float) S64(a)));
    ALL(64, "cvt.rn.f64.u64 d64, a64;", bits_f64((double) a));
    ALL(16, "cvt.rn.f16.s32 d16, a32;", bits_f16(S32(a)));
    ALL(16, "cvt.rn.f16.u64 d16, a64;", bits_f16((double) a));
    ALL(32, "cvt.rn.f32.s8 d32, a32;", bits_f32((int8_t) a));
    ALL(32, "cvt.rn.f32.u8 d32, a32;", bits_f32((uint8_t) a));
    fill_f64();
    for (uint32_t k = 0; k < COUNT; k += 2)
        as[k] = bits_f64(ldexp((double) random_bits(), -64 - (int) (k % 60)));
    ALL(32, "cvt.rn.f32.f64 d32, a64;", bits_f32((float) DA));
    ALL(32, "cvt.rz.f32.f64 d32, a64;", bits_f32(directed(FE_TOWARDZERO, DA)));
    ALL(32, "cvt.rp.f32.f64 d32, a64;", bits_f32(directed(FE_UPWARD, DA)));
    ALL(16, "cvt.rn.f16.f64 d16, a64;", bits_f16(DA));
    fill_f32();
    for (uint32_t k = 0; k < COUNT; k += 2)
        as[k] = bits_f32(ldexpf((float) (int32_t) random_bits(), -31 - (int) (k % 20)));
    ALL(16, "cvt.rn.f16.f32 d16, a32;", bits_f16(FA));
    ALL(64, "cvt.f64.f32 d64, a32;", bits_f64(FA));
    ALL(32, "cvt.rn.f16x2.f32 d32, a32, b32;", bits_f16(FA) << 16 | bits_f16(FB));
}

static void test_between_integers(void **state)
{
    (void) state;
    fill_integers();
    ALL(32, "cvt.s32.s8 d32, a32;", U32((int8_t) a));
    ALL(64, "cvt.u64.u16 d64, a16;", U16(a));
    ALL(64, "cvt.s64.s32 d64, a32;", (uint64_t) (int64_t) S32(a));
    ALL(32, "cvt.s8.s32 d32, a32;", U32((int8_t) a));
    ALL(32, "cvt.sat.s8.s32 d32, a32;",
        U32(S32(a) > 127    ? 127
            : S32(a) < -128 ? -128
                            : S32(a)));
    ALL(32, "cvt.sat.u8.s64 d32, a64;", S64(a) < 0 ? 0 : a > 255 ? 255 : a);
    ALL(32, "cvt.sat.s32.u32 d32, a32;", U32(a) > INT32_MAX ? INT32_MAX : U32(a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),      cmocka_unit_test(test_carry),
        cmocka_unit_test(test_bits),      cmocka_unit_test(test_choices),
        cmocka_unit_test(test_floats),    cmocka_unit_test(test_modifiers),
        cmocka_unit_test(test_halves),    cmocka_unit_test(test_to_integers),
        cmocka_unit_test(test_to_floats), cmocka_unit_test(test_between_integers),
    };
    return cmocka_run_group_tests_name("sim_values", tests, NULL, NULL);
}
