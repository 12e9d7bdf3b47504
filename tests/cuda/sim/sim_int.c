/*
 * sim_int.c -- arithmetic of integers: the rows FORM_INT of ptx_forms.def
 */
#include "sim_alu.h"

#define HIGH(a, b) ((P) ((W) (a) * (W) (b) >> WIDTH))
#define SHIFT_RIGHT(a, b) \
    (IS_SIGNED ? (D) (a >> (b < WIDTH ? b : WIDTH - 1)) : b < WIDTH ? (D) (a >> b) : 0)
/* Of a negative number, the first bit that differs from its sign. */
#define TO_FIND(a) \
    ((U) ((uint64_t) (a) ^ (IS_SIGNED ? (uint64_t) ((int64_t) (a) >> 63) : 0)))
#define CARRY(a, b, subtract, in, out)                                              \
    carry_step(w, l, (U) (a), (U) (b),                                              \
               (WIDTH == 32 ? CARRY_NARROW : 0) | (subtract ? CARRY_SUBTRACT : 0) | \
                   (in ? CARRY_IN : 0) | (out ? CARRY_OUT : 0))
#define DIVIDE(a, b)                                                                 \
    (IS_SIGNED ? (U) divide_signed(w, l, known, (int64_t) (a), (int64_t) (b), WIDTH) \
               : (U) divide_unsigned(w, l, known, (U) (a), (U) (b)))
#define REMAINDER(a, b)                                                           \
    (IS_SIGNED                                                                    \
         ? (U) remainder_signed(w, l, known, (int64_t) (a), (int64_t) (b), WIDTH) \
         : (U) remainder_unsigned(w, l, known, (U) (a), (U) (b)))
#define bits_24(a)                                                \
    (IS_SIGNED ? (int64_t) ((int32_t) ((uint32_t) (a) << 8) >> 8) \
               : (int64_t) ((a) &0xffffff))

static inline int32_t clamp_s32(int64_t value)
{
    return value > INT32_MAX   ? INT32_MAX
           : value < INT32_MIN ? INT32_MIN
                               : (int32_t) value;
}

/* ---- with the carry. These are calls: the loop has an order here. */

enum { CARRY_NARROW = 1, CARRY_SUBTRACT = 2, CARRY_IN = 4, CARRY_OUT = 8 };

__attribute__((noinline)) static uint64_t carry_step(Warp *w, uint32_t l, uint64_t a,
                                                     uint64_t b, int how)
{
    uint64_t in = how & CARRY_IN ? w->carry >> l & 1 : 0;
    uint64_t result, out;
    if (how & CARRY_SUBTRACT) {
        result = a - b - in;
        out = a < b || (in && a == b); /* a borrow */
    } else {
        result = a + b + in;
        out = how & CARRY_NARROW ? result >> 32 : result < a || (in && result == a);
    }
    if (how & CARRY_OUT)
        w->carry = (w->carry & ~(1u << l)) | (uint32_t) (out & 1) << l;
    return result;
}

/* ---- divisions. What PTX leaves open is a fault, or what hardware is known to do. */

static bool may_divide(Warp *w, uint32_t l, uint32_t known, bool fine, const char *what)
{
    if (!(known >> l & 1))
        return false; /* of what nobody has written: neither is the result */
    if (!fine && !w->run->foreign)
        sim_fault(w, l, "integer division %s", what);
    return fine;
}

__attribute__((noinline)) static uint64_t divide_unsigned(Warp *w, uint32_t l,
                                                          uint32_t known, uint64_t a,
                                                          uint64_t b)
{
    return may_divide(w, l, known, b != 0, "by zero") ? a / b : UINT64_MAX;
}

__attribute__((noinline)) static uint64_t remainder_unsigned(Warp *w, uint32_t l,
                                                             uint32_t known, uint64_t a,
                                                             uint64_t b)
{
    return may_divide(w, l, known, b != 0, "by zero") ? a % b : a;
}

static bool overflows(int64_t a, int64_t b, uint32_t width)
{
    return b == -1 && a == (int64_t) (UINT64_MAX << (width - 1));
}

__attribute__((noinline)) static int64_t divide_signed(Warp *w, uint32_t l,
                                                       uint32_t known, int64_t a,
                                                       int64_t b, uint32_t width)
{
    if (overflows(a, b, width)) {
        may_divide(w, l, known, false, "of the least integer by -1");
        return a;
    }
    return may_divide(w, l, known, b != 0, "by zero") ? a / b : -1;
}

__attribute__((noinline)) static int64_t remainder_signed(Warp *w, uint32_t l,
                                                          uint32_t known, int64_t a,
                                                          int64_t b, uint32_t width)
{
    if (overflows(a, b, width)) {
        may_divide(w, l, known, false, "of the least integer by -1");
        return 0;
    }
    return may_divide(w, l, known, b != 0, "by zero") ? a % b : a;
}

/* ---- bits */

static inline uint32_t lookup_3(uint32_t a, uint32_t b, uint32_t c, uint32_t table)
{
    uint32_t d = 0;
    for (uint32_t k = 0; k < 8; k++)
        d |=
            table >> k & 1 ? (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c) : 0;
    return d;
}

static inline uint32_t funnel_left(uint32_t a, uint32_t b, uint32_t n)
{
    return (uint32_t) (((uint64_t) b << 32 | a) << n >> 32);
}

static inline uint32_t funnel_right(uint32_t a, uint32_t b, uint32_t n)
{
    return (uint32_t) (((uint64_t) b << 32 | a) >> n);
}

static inline uint32_t find_bit(uint64_t a)
{
    return a ? 63 - (uint32_t) __builtin_clzll(a) : UINT32_MAX;
}

static inline uint64_t reverse_bits(uint64_t a)
{
    a = (a >> 1 & UINT64_C(0x5555555555555555)) | (a & UINT64_C(0x5555555555555555))
                                                      << 1;
    a = (a >> 2 & UINT64_C(0x3333333333333333)) | (a & UINT64_C(0x3333333333333333))
                                                      << 2;
    a = (a >> 4 & UINT64_C(0x0f0f0f0f0f0f0f0f)) | (a & UINT64_C(0x0f0f0f0f0f0f0f0f))
                                                      << 4;
    return __builtin_bswap64(a);
}

static uint64_t low_bits(uint32_t count)
{
    return count < 64 ? (UINT64_C(1) << count) - 1 : UINT64_MAX;
}

/* What lies beyond the field, or beyond the operand, is its sign. */
static uint64_t extract_field(uint64_t a, uint32_t begin, uint32_t count,
                              uint32_t width, bool is_signed)
{
    if (!count)
        return 0;
    uint32_t last = begin + count - 1 < width ? begin + count - 1 : width - 1;
    bool sign = is_signed && (a >> last & 1);
    uint64_t field = begin < width ? a >> begin & low_bits(last - begin + 1) : 0;
    uint32_t got = begin < width ? last - begin + 1 : 0;
    return sign ? field | ~low_bits(got) : field;
}

static uint64_t insert_field(uint64_t a, uint64_t b, uint32_t begin, uint32_t count,
                             uint32_t width)
{
    if (begin >= width)
        return b;
    uint64_t field = low_bits(count) << begin;
    return (b & ~field) | (a << begin & field);
}

/* ---- bytes: eight of them, b above a */

static inline uint32_t permute(uint32_t a, uint32_t b, uint32_t c)
{
    uint64_t bytes = (uint64_t) b << 32 | a;
    uint32_t d = 0;
    for (uint32_t k = 0; k < 4; k++) {
        uint32_t select = c >> k * 4 & 15;
        uint32_t byte = (uint32_t) (bytes >> (select & 7) * 8) & 255;
        if (select & 8)
            byte = byte & 128 ? 255 : 0;
        d |= byte << k * 8;
    }
    return d;
}

static inline uint32_t permute_forward(uint32_t a, uint32_t b, uint32_t c)
{
    return (uint32_t) (((uint64_t) b << 32 | a) >> (c & 3) * 8);
}

static inline uint32_t permute_backward(uint32_t a, uint32_t b, uint32_t c)
{
    static const uint16_t selectors[] = { 0x5670, 0x6701, 0x7012, 0x0123 };
    return permute(a, b, selectors[c & 3]);
}

static inline uint32_t permute_byte(uint32_t a, uint32_t c)
{
    return (a >> (c & 3) * 8 & 255) * 0x01010101u;
}

static inline uint32_t permute_left(uint32_t a, uint32_t c)
{
    static const uint16_t selectors[] = { 0x3210, 0x3211, 0x3222, 0x3333 };
    return permute(a, 0, selectors[c & 3]);
}

static inline uint32_t permute_right(uint32_t a, uint32_t c)
{
    static const uint16_t selectors[] = { 0x0000, 0x1110, 0x2210, 0x3210 };
    return permute(a, 0, selectors[c & 3]);
}

static inline uint32_t permute_half(uint32_t a, uint32_t c)
{
    return (a >> (c & 1) * 16 & 0xffff) * 0x00010001u;
}

static uint32_t dot_bytes(uint32_t a, uint32_t b, uint32_t c, bool sign_a, bool sign_b)
{
    for (uint32_t k = 0; k < 32; k += 8) {
        uint32_t x = a >> k & 255, y = b >> k & 255;
        x = sign_a ? (uint32_t) (int8_t) x : x;
        y = sign_b ? (uint32_t) (int8_t) y : y;
        c += x * y;
    }
    return c;
}

/* ---- the rows */

#define FORM_INT(id, opcode, types, signature, ...) \
    types(FORM_FUNCTION, id, opcode, signature, __VA_ARGS__)
#include "ptx_forms.def"
#undef FORM_INT

const Form sim_int_forms[] = {
#define FORM_INT(id, opcode, types, signature, ...) \
    types(FORM_ENTRY, id, opcode, signature, __VA_ARGS__)
#include "ptx_forms.def"
#undef FORM_INT
};
const uint32_t sim_int_form_count = sizeof(sim_int_forms) / sizeof(*sim_int_forms);
