/*
 * interp_reference.h -- what the tests of the block interpreter share
 *
 * Special and random values of each type, building and running Programs, and the
 * reference: operations computed in wider types. Integers take 128 bits, floats 'long
 * double' or '__float128', f16 is rounded to multiples of a power of two.
 */
#ifndef TESTS_INTERP_REFERENCE_H
#define TESTS_INTERP_REFERENCE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/cpu/launch/cpu_code.h"
#include "engine/interp/interp.h"

__extension__ typedef __int128 Wide;
typedef long double Real;

enum { LANES = 2000, LIST = 18 };

/* Lane counts around the edges of groups and blocks. */
static const uint32_t counts[] = { 1, 15, 16, 17, 511, 512, 513, 2000 };
enum { COUNTS = sizeof counts / sizeof *counts };

/* ---- values */

static uint64_t random_state = 88172645463325252u;

static inline uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * 0x2545f4914f6cdd1du;
}

static inline uint32_t width_of(VarType type)
{
    return type == VarTypeBool ? 1 : type_info[type].size * 8u;
}

static inline uint64_t cut(VarType type, uint64_t bits)
{
    uint32_t width = width_of(type);
    return width == 64 ? bits : bits & ((UINT64_C(1) << width) - 1);
}

static inline Wide integer(VarType type, uint64_t bits)
{
    uint32_t width = width_of(type);
    bits = cut(type, bits);
    if (type_info[type].is_signed && bits >> (width - 1))
        return (Wide) bits - ((Wide) 1 << width);
    return (Wide) bits;
}

static inline uint64_t bits_of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline uint64_t bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline Real real(VarType type, uint64_t bits)
{
    uint32_t low = (uint32_t) bits;
    float f32;
    double f64;
    if (type == VarTypeFloat16) {
        Real sign = bits & 0x8000 ? -1 : 1;
        int exponent = bits >> 10 & 31, fraction = bits & 1023;
        if (exponent == 31)
            return fraction ? (Real) NAN : sign * (Real) INFINITY;
        return sign * (exponent ? ldexpl(1024 + fraction, exponent - 25)
                                : ldexpl(fraction, -24));
    }
    if (type == VarTypeFloat32) {
        memcpy(&f32, &low, sizeof f32);
        return f32;
    }
    if (type == VarTypeFloat64) {
        memcpy(&f64, &bits, sizeof f64);
        return f64;
    }
    return (Real) integer(type, bits);
}

/* Nearest f16, found as a multiple of its last place. */
static inline uint64_t half_of(Real value)
{
    uint64_t sign = signbit(value) ? 0x8000 : 0;
    int exponent;
    if (isnan(value))
        return 0x7e00;
    value = fabsl(value);
    if (value >= 65520)
        return sign | 0x7c00;
    frexpl(value, &exponent);
    int last = exponent - 11 < -24 || value == 0 ? -24 : exponent - 11;
    uint64_t count = (uint64_t) rintl(ldexpl(value, -last));
    if (count == 2048) {
        count = 1024;
        ++last;
    }
    return sign |
           (count < 1024 ? count : (uint64_t) (last + 25) << 10 | (count - 1024));
}

static inline uint64_t rounded(VarType type, Real value)
{
    return type == VarTypeFloat16   ? half_of(value)
           : type == VarTypeFloat32 ? bits_of_float((float) value)
                                    : bits_of_double((double) value);
}

static inline bool is_nan(VarType type, uint64_t bits)
{
    return type_info[type].is_float && isnan(real(type, bits));
}

static inline bool same(VarType type, uint64_t a, uint64_t b)
{
    return a == b || (is_nan(type, a) && is_nan(type, b));
}

static inline uint64_t special(VarType type, uint32_t i)
{
    static const double list[LIST] = {
        0,   -0.0, 1,     -1,    INFINITY, -INFINITY, NAN, 0.5,          -1.5,
        2.5, 1e-7, -6e-8, 65504, 65519.9,  -65520,    3.5, 2147483648.0, -1e300
    };
    static const int64_t whole[LIST] = {
        0, 1, -1,    2,      -2,        127,       128,       -128,      255,
        3, 7, 32767, -32768, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 63
    };
    if (type_info[type].is_float)
        return rounded(type, list[i]);
    return cut(type, (uint64_t) whole[i]);
}

/* Random bits; floats mostly of moderate size, some subnormal or huge. */
static inline uint64_t random_value(VarType type)
{
    uint64_t bits = random_bits();
    if (!type_info[type].is_float || bits % 4 == 0)
        return cut(type,
                   type_info[type].is_float ? random_bits() : bits >> (bits % 3 * 20));
    return rounded(
        type, ldexpl((Real) (int64_t) random_bits(), -63 - (int) (bits >> 8) % 12));
}

static inline void put(void *array, VarType type, uint32_t i, uint64_t bits)
{
    memcpy((char *) array + (size_t) i * type_info[type].size, &bits,
           type_info[type].size);
}

static inline uint64_t get(const void *array, VarType type, uint32_t i)
{
    uint64_t bits = 0;
    memcpy(&bits, (const char *) array + (size_t) i * type_info[type].size,
           type_info[type].size);
    return bits;
}

static inline void *array_of(VarType type, uint32_t count)
{
    void *array = malloc((size_t) count * type_info[type].size + !count);
    assert_non_null(array);
    memset(array, 0xa5, (size_t) count * type_info[type].size);
    return array;
}

/* All pairs and many triples of special values, then random ones. */
static inline void *operand(VarType type, uint32_t which, uint32_t count)
{
    void *array = array_of(type, count);
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t place = which == 0 ? i % LIST : which == 1 ? i / LIST : i / 7;
        put(array, type, i,
            i < LIST * LIST ? special(type, place % LIST) : random_value(type));
    }
    return array;
}

/* ---- running */

static inline Program *new_program(void)
{
    Program *program = alloc_zero(1, sizeof(Program));
    assert_non_null(program);
    return program;
}

static inline uint32_t add(Program *p, Op op, VarType type, uint32_t aux,
                           uint32_t count, ...)
{
    uint32_t args[8];
    va_list list;
    va_start(list, count);
    for (uint32_t i = 0; i < count; ++i)
        args[i] = va_arg(list, uint32_t);
    va_end(list);
    uint32_t at = program_add(p, op, type, aux, count, args);
    assert_int_not_equal(at, PROGRAM_NONE);
    return at;
}

static inline uint32_t add_input(Program *p, VarType type)
{
    return add(p, OP_LOAD, type, program_add_param(p, PARAM_INPUT, type), 0);
}

static inline void add_output(Program *p, VarType type, uint32_t value)
{
    add(p, OP_STORE, VarTypeVoid, program_add_param(p, PARAM_OUTPUT, type), 1, value);
}

static inline uint32_t add_pointer(Program *p, VarType type)
{
    uint32_t slot = program_add_param(p, PARAM_POINTER, type);
    p->params[slot].written = 1; /* if somebody does */
    return add(p, OP_PARAM, VarTypePointer, slot, 0);
}

static inline void run_range(const Program *p, const uint64_t *args, uint32_t begin,
                      uint32_t end, uint32_t worker)
{
    if (!program_verify(p))
        fail_msg("%s", error_message());
    Code *code = interp_engine.compile(p, &(CodeSpec){ .hash = { 1, 2 } });
    if (!code)
        fail_msg("%s", error_message());
    void *scratch = alloc_aligned(cpu_code_scratch(code));
    assert_non_null(scratch);
    cpu_code_run(code, args, begin, end, worker, scratch);
    alloc_free(scratch);
    code_release(code);
}

static inline void run(const Program *p, const uint64_t *args, uint32_t count)
{
    run_range(p, args, 0, count, 0);
}

static inline uint64_t address(const void *array)
{
    return (uint64_t) (uintptr_t) array;
}

/* ---- reference */

static inline uint64_t count_bits(VarType type, uint64_t a, Op op)
{
    uint32_t width = width_of(type), count = 0;
    uint64_t reversed = 0;
    if (op == OP_CLZ) {
        while (count < width && !(a >> (width - 1 - count) & 1))
            ++count;
        return count;
    }
    if (op == OP_CTZ) {
        while (count < width && !(a >> count & 1))
            ++count;
        return count;
    }
    for (uint32_t i = 0; i < width; ++i) {
        count += a >> i & 1;
        reversed |= (a >> i & 1) << (width - 1 - i);
    }
    return op == OP_POPC ? count : reversed;
}

static inline uint64_t integer_reference(Op op, VarType type, uint64_t a, uint64_t b,
                                  uint64_t c)
{
    const Wide x = integer(type, a), y = integer(type, b), z = integer(type, c);
    const uint32_t width = width_of(type);
    switch (op) {
    case OP_NEG:
        return cut(type, (uint64_t) -x);
    case OP_NOT:
        return cut(type, ~a);
    case OP_ABS:
        return cut(type, (uint64_t) (x < 0 ? -x : x));
    case OP_POPC:
    case OP_CLZ:
    case OP_CTZ:
    case OP_BREV:
        return count_bits(type, a, op);
    case OP_ADD:
        return cut(type, (uint64_t) (x + y));
    case OP_SUB:
        return cut(type, (uint64_t) (x - y));
    case OP_MUL:
        return cut(type, (uint64_t) x * (uint64_t) y);
    case OP_DIV:
        return y ? cut(type, (uint64_t) (x / y)) : 0;
    case OP_MOD:
        return y ? cut(type, (uint64_t) (x % y)) : a;
    case OP_MUL_HI:
        if (type == VarTypeUInt64) {
            unsigned long long low = (unsigned long long) a & UINT32_MAX,
                               high = a >> 32;
            unsigned long long p = low * (b & UINT32_MAX), q = high * (b & UINT32_MAX);
            unsigned long long r = low * (b >> 32), s = high * (b >> 32);
            return s + (q >> 32) + (r >> 32) +
                   (((p >> 32) + (q & UINT32_MAX) + (r & UINT32_MAX)) >> 32);
        }
        return cut(type, (uint64_t) (x * y >> width));
    case OP_MUL_WIDE:
        return cut(type_wide(type), (uint64_t) (x * y));
    case OP_MIN:
        return y < x ? b : a;
    case OP_MAX:
        return x > y ? a : b;
    case OP_AND:
        return a & b;
    case OP_OR:
        return a | b;
    case OP_XOR:
        return a ^ b;
    case OP_SHL:
        return b < width ? cut(type, a << b) : 0;
    case OP_SHR:
        return b < width ? cut(type, (uint64_t) (x >> b))
                         : cut(type, x < 0 ? UINT64_MAX : 0);
    case OP_FMA:
        return cut(type, (uint64_t) x * (uint64_t) y + (uint64_t) z);
    default:
        break;
    }
    fail_msg("no reference for %s", op_info[op].name);
    return 0;
}

/* Twice the width and two bits more make the second rounding harmless. */
static inline uint64_t arithmetic_f64(Op op, double a, double b)
{
#if defined(__SIZEOF_FLOAT128__)
    __extension__ typedef __float128 Quad;
    Quad x = (Quad) a, y = (Quad) b;
    if (op == OP_SQRT && a > 0 && a < INFINITY) {
        /* The nearest one is where the square of the middle passes 'a'. */
        double root = (double) sqrtl((Real) a);
        while ((((Quad) root + nextafter(root, INFINITY)) / 2) *
                   (((Quad) root + nextafter(root, INFINITY)) / 2) <
               x)
            root = nextafter(root, INFINITY);
        while ((((Quad) root + nextafter(root, 0)) / 2) *
                   (((Quad) root + nextafter(root, 0)) / 2) >
               x)
            root = nextafter(root, 0);
        return bits_of_double(root);
    }
    if (op != OP_SQRT)
        return bits_of_double((double) (op == OP_ADD   ? x + y
                                        : op == OP_SUB ? x - y
                                        : op == OP_MUL ? x * y
                                                       : x / y));
#endif
    return bits_of_double(op == OP_ADD   ? a + b
                          : op == OP_SUB ? a - b
                          : op == OP_MUL ? a * b
                          : op == OP_DIV ? a / b
                                         : sqrt(a));
}

static inline uint64_t arithmetic(Op op, VarType type, uint64_t a, uint64_t b)
{
    const Real x = real(type, a), y = real(type, b);
    if (type == VarTypeFloat64)
        return arithmetic_f64(op, (double) x, (double) y);
    return rounded(type, op == OP_ADD   ? x + y
                         : op == OP_SUB ? x - y
                         : op == OP_MUL ? x * y
                         : op == OP_DIV ? x / y
                                        : sqrtl(x));
}

static inline uint64_t float_reference(Op op, VarType type, uint64_t a, uint64_t b,
                                       uint64_t c)
{
    const Real x = real(type, a), y = real(type, b), z = real(type, c);
    const uint64_t sign = UINT64_C(1) << (width_of(type) - 1), one = rounded(type, 1);
    switch (op) {
    case OP_NEG:
        return a ^ sign;
    case OP_ABS:
        return a & ~sign;
    case OP_COPYSIGN:
        return (a & ~sign) | (b & sign);
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_DIV:
    case OP_SQRT:
        return arithmetic(op, type, a, b);
    case OP_RCP:
        return arithmetic(OP_DIV, type, one, a);
    case OP_CEIL:
        return rounded(type, ceill(x));
    case OP_FLOOR:
        return rounded(type, floorl(x));
    case OP_ROUND:
        return rounded(type, rintl(x));
    case OP_TRUNC:
        return rounded(type, truncl(x));
    case OP_MIN:
        return y < x || isnan(x) ? b : a;
    case OP_MAX:
        return x > y || isnan(y) ? a : b;
    case OP_FMIN:
        if (isnan(x) || isnan(y))
            return isnan(x) ? b : a;
        return x < y || (x == y && (a & sign)) ? a : b;
    case OP_FMAX:
        if (isnan(x) || isnan(y))
            return isnan(x) ? b : a;
        return x > y || (x == y && !(a & sign)) ? a : b;
    case OP_FMA:
        return type == VarTypeFloat64
                   ? bits_of_double(fma((double) x, (double) y, (double) z))
               : type == VarTypeFloat32
                   ? bits_of_float(fmaf((float) x, (float) y, (float) z))
                   : half_of(x * y + z);
    default:
        break;
    }
    fail_msg("no reference for %s", op_info[op].name);
    return 0;
}

/* 'm': mask of SELECT */
static inline uint64_t reference(Op op, VarType type, uint64_t m, uint64_t a,
                                 uint64_t b, uint64_t c)
{
    const Real x = real(type, a), y = real(type, b);
    switch (op) {
    case OP_EQ:
        return x == y;
    case OP_NEQ:
        return !(x == y);
    case OP_LT:
        return x < y;
    case OP_LE:
        return x <= y;
    case OP_GT:
        return x > y;
    case OP_GE:
        return x >= y;
    case OP_SELECT:
        return m ? a : b;
    default:
        break;
    }
    return type_info[type].is_float ? float_reference(op, type, a, b, c)
                                    : integer_reference(op, type, a, b, c);
}

static inline uint64_t cast_reference(VarType to, VarType from, uint64_t a)
{
    const Real x = real(from, a);
    if (to == VarTypeBool)
        return x != 0;
    if (type_info[to].is_float)
        return rounded(to, x);
    if (!type_info[from].is_float)
        return cut(to, (uint64_t) integer(from, a));
    if (isnan(x))
        return 0;
    uint32_t width = width_of(to);
    bool is_signed = type_info[to].is_signed;
    Wide most = ((Wide) 1 << (width - is_signed)) - 1,
         least = is_signed ? -most - 1 : 0;
    Real whole = truncl(x);
    return cut(to, (uint64_t) (whole >= (Real) most    ? most
                               : whole <= (Real) least ? least
                                                       : (Wide) whole));
}

#endif
