/*
 * test_interp.c -- the block interpreter
 *
 * Each operation runs on each type for pairs of special values and for random bits, and is
 * compared with a reference that computes in wider types: integers in 128 bits, floats in
 * 'long double' or '__float128', f16 by rounding to multiples of a power of two. All
 * instruction sets of this CPU are compared with each other.
 *
 * Arrays are allocated with their exact size, so that the address sanitizer sees any access
 * beyond the last lane.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/error.h"
#include "engine/interp/interp.h"
#include "engine/interp/interp_build.h"

__extension__ typedef __int128 Wide;
typedef long double Real;

enum { LANES = 2000, LIST = 18 };

/* ---- values */

static uint64_t random_state = 88172645463325252u;

static uint64_t random_bits(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * 0x2545f4914f6cdd1du;
}

static uint32_t width_of(VarType type) {
    return type == VarTypeBool ? 1 : type_info[type].size * 8u;
}

static uint64_t cut(VarType type, uint64_t bits) {
    uint32_t width = width_of(type);
    return width == 64 ? bits : bits & ((UINT64_C(1) << width) - 1);
}

static Wide integer(VarType type, uint64_t bits) {
    uint32_t width = width_of(type);
    bits = cut(type, bits);
    if (type_info[type].is_signed && bits >> (width - 1))
        return (Wide) bits - ((Wide) 1 << width);
    return (Wide) bits;
}

static uint64_t bits_of_double(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t bits_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static Real real(VarType type, uint64_t bits) {
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
static uint64_t half_of(Real value) {
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
    return sign | (count < 1024 ? count : (uint64_t) (last + 25) << 10 | (count - 1024));
}

static uint64_t rounded(VarType type, Real value) {
    return type == VarTypeFloat16 ? half_of(value)
        : type == VarTypeFloat32 ? bits_of_float((float) value)
        : bits_of_double((double) value);
}

static bool is_nan(VarType type, uint64_t bits) {
    return type_info[type].is_float && isnan(real(type, bits));
}

static bool same(VarType type, uint64_t a, uint64_t b) {
    return a == b || (is_nan(type, a) && is_nan(type, b));
}

static uint64_t special(VarType type, uint32_t i) {
    static const double list[LIST] = {
        0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 0.5, -1.5, 2.5, 1e-7, -6e-8, 65504, 65519.9,
        -65520, 3.5, 2147483648.0, -1e300
    };
    static const int64_t whole[LIST] = {
        0, 1, -1, 2, -2, 127, 128, -128, 255, 3, 7, 32767, -32768, INT32_MAX, INT32_MIN,
        INT64_MAX, INT64_MIN, 63
    };
    if (type_info[type].is_float)
        return rounded(type, list[i]);
    return cut(type, (uint64_t) whole[i]);
}

/* Random bits; floats mostly of moderate size, some subnormal or huge. */
static uint64_t random_value(VarType type) {
    uint64_t bits = random_bits();
    if (!type_info[type].is_float || bits % 4 == 0)
        return cut(type, type_info[type].is_float ? random_bits() : bits >> (bits % 3 * 20));
    return rounded(type, ldexpl((Real) (int64_t) random_bits(), -63 - (int) (bits >> 8) % 12));
}

static void put(void *array, VarType type, uint32_t i, uint64_t bits) {
    memcpy((char *) array + (size_t) i * type_info[type].size, &bits, type_info[type].size);
}

static uint64_t get(const void *array, VarType type, uint32_t i) {
    uint64_t bits = 0;
    memcpy(&bits, (const char *) array + (size_t) i * type_info[type].size,
           type_info[type].size);
    return bits;
}

static void *array_of(VarType type, uint32_t count) {
    void *array = malloc((size_t) count * type_info[type].size + !count);
    assert_non_null(array);
    memset(array, 0xa5, (size_t) count * type_info[type].size);
    return array;
}

/* All pairs and many triples of special values, then random ones. */
static void *operand(VarType type, uint32_t which, uint32_t count) {
    void *array = array_of(type, count);
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t place = which == 0 ? i % LIST : which == 1 ? i / LIST : i / 7;
        put(array, type, i, i < LIST * LIST ? special(type, place % LIST)
                                            : random_value(type));
    }
    return array;
}

/* ---- running */

static Program *new_program(void) {
    Program *program = alloc_zero(1, sizeof(Program));
    assert_non_null(program);
    return program;
}

static uint32_t add(Program *p, Op op, VarType type, uint32_t aux, uint32_t count, ...) {
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

static uint32_t add_input(Program *p, VarType type) {
    return add(p, OP_LOAD, type, program_add_param(p, PARAM_INPUT, type), 0);
}

static void add_output(Program *p, VarType type, uint32_t value) {
    add(p, OP_STORE, VarTypeVoid, program_add_param(p, PARAM_OUTPUT, type), 1, value);
}

static uint32_t add_pointer(Program *p, VarType type) {
    return add(p, OP_PARAM, VarTypePointer, program_add_param(p, PARAM_POINTER, type), 0);
}

static void run_range(const Program *p, const uint64_t *args, uint32_t begin, uint32_t end,
                      uint32_t worker) {
    if (!program_verify(p))
        fail_msg("%s", error_message());
    EngineCode *code = interp_engine.compile(p, (Hash128) { 1, 2 });
    if (!code)
        fail_msg("%s", error_message());
    void *scratch = alloc_aligned(interp_engine.scratch(code));
    assert_non_null(scratch);
    interp_engine.launch(code, args, begin, end, worker, scratch);
    alloc_free(scratch);
    interp_engine.free(code);
}

static void run(const Program *p, const uint64_t *args, uint32_t count) {
    run_range(p, args, 0, count, 0);
}

static uint64_t address(const void *array) {
    return (uint64_t) (uintptr_t) array;
}

/* ---- reference */

static uint64_t count_bits(VarType type, uint64_t a, Op op) {
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

static uint64_t integer_reference(Op op, VarType type, uint64_t a, uint64_t b, uint64_t c) {
    const Wide x = integer(type, a), y = integer(type, b), z = integer(type, c);
    const uint32_t width = width_of(type);
    switch (op) {
        case OP_NEG: return cut(type, (uint64_t) -x);
        case OP_NOT: return cut(type, ~a);
        case OP_ABS: return cut(type, (uint64_t) (x < 0 ? -x : x));
        case OP_POPC: case OP_CLZ: case OP_CTZ: case OP_BREV: return count_bits(type, a, op);
        case OP_ADD: return cut(type, (uint64_t) (x + y));
        case OP_SUB: return cut(type, (uint64_t) (x - y));
        case OP_MUL: return cut(type, (uint64_t) x * (uint64_t) y);
        case OP_DIV: return y ? cut(type, (uint64_t) (x / y)) : 0;
        case OP_MOD: return y ? cut(type, (uint64_t) (x % y)) : a;
        case OP_MUL_HI:
            if (type == VarTypeUInt64) {
                unsigned long long low = (unsigned long long) a & UINT32_MAX, high = a >> 32;
                unsigned long long p = low * (b & UINT32_MAX), q = high * (b & UINT32_MAX);
                unsigned long long r = low * (b >> 32), s = high * (b >> 32);
                return s + (q >> 32) + (r >> 32) +
                    (((p >> 32) + (q & UINT32_MAX) + (r & UINT32_MAX)) >> 32);
            }
            return cut(type, (uint64_t) (x * y >> width));
        case OP_MUL_WIDE: return cut(type_wide(type), (uint64_t) (x * y));
        case OP_MIN: return y < x ? b : a;
        case OP_MAX: return x > y ? a : b;
        case OP_AND: return a & b;
        case OP_OR: return a | b;
        case OP_XOR: return a ^ b;
        case OP_SHL: return b < width ? cut(type, a << b) : 0;
        case OP_SHR: return b < width ? cut(type, (uint64_t) (x >> b))
                                      : cut(type, x < 0 ? UINT64_MAX : 0);
        case OP_FMA: return cut(type, (uint64_t) x * (uint64_t) y + (uint64_t) z);
        default: break;
    }
    fail_msg("no reference for %s", op_info[op].name);
    return 0;
}

/* Twice the width and two bits more make the second rounding harmless. */
static uint64_t arithmetic_f64(Op op, double a, double b) {
#if defined(__SIZEOF_FLOAT128__)
    __extension__ typedef __float128 Quad;
    Quad x = (Quad) a, y = (Quad) b;
    if (op == OP_SQRT && a > 0 && a < INFINITY) {
        /* The nearest one is where the square of the middle passes 'a'. */
        double root = (double) sqrtl((Real) a);
        while ((((Quad) root + nextafter(root, INFINITY)) / 2) *
               (((Quad) root + nextafter(root, INFINITY)) / 2) < x)
            root = nextafter(root, INFINITY);
        while ((((Quad) root + nextafter(root, 0)) / 2) *
               (((Quad) root + nextafter(root, 0)) / 2) > x)
            root = nextafter(root, 0);
        return bits_of_double(root);
    }
    if (op != OP_SQRT)
        return bits_of_double((double) (op == OP_ADD ? x + y : op == OP_SUB ? x - y
                                        : op == OP_MUL ? x * y : x / y));
#endif
    return bits_of_double(op == OP_ADD ? a + b : op == OP_SUB ? a - b : op == OP_MUL ? a * b
                          : op == OP_DIV ? a / b : sqrt(a));
}

static uint64_t arithmetic(Op op, VarType type, uint64_t a, uint64_t b) {
    const Real x = real(type, a), y = real(type, b);
    if (type == VarTypeFloat64)
        return arithmetic_f64(op, (double) x, (double) y);
    return rounded(type, op == OP_ADD ? x + y : op == OP_SUB ? x - y : op == OP_MUL ? x * y
                   : op == OP_DIV ? x / y : sqrtl(x));
}

static uint64_t float_reference(Op op, VarType type, uint64_t a, uint64_t b, uint64_t c) {
    const Real x = real(type, a), y = real(type, b), z = real(type, c);
    const uint64_t sign = UINT64_C(1) << (width_of(type) - 1), one = rounded(type, 1);
    switch (op) {
        case OP_NEG: return a ^ sign;
        case OP_ABS: return a & ~sign;
        case OP_COPYSIGN: return (a & ~sign) | (b & sign);
        case OP_ADD: case OP_SUB: case OP_MUL: case OP_DIV: case OP_SQRT:
            return arithmetic(op, type, a, b);
        case OP_RCP: return arithmetic(OP_DIV, type, one, a);
        case OP_RSQRT: return arithmetic(OP_DIV, type, one, arithmetic(OP_SQRT, type, a, 0));
        case OP_CEIL: return rounded(type, ceill(x));
        case OP_FLOOR: return rounded(type, floorl(x));
        case OP_ROUND: return rounded(type, rintl(x));
        case OP_TRUNC: return rounded(type, truncl(x));
        case OP_MIN: return y < x || isnan(x) ? b : a;
        case OP_MAX: return x > y || isnan(y) ? a : b;
        case OP_FMIN:
            if (isnan(x) || isnan(y))
                return isnan(x) ? b : a;
            return x < y || (x == y && (a & sign)) ? a : b;
        case OP_FMAX:
            if (isnan(x) || isnan(y))
                return isnan(x) ? b : a;
            return x > y || (x == y && !(a & sign)) ? a : b;
        case OP_FMA:
            return type == VarTypeFloat64 ? bits_of_double(fma((double) x, (double) y,
                                                               (double) z))
                : type == VarTypeFloat32 ? bits_of_float(fmaf((float) x, (float) y, (float) z))
                : half_of(x * y + z);
        default: break;
    }
    fail_msg("no reference for %s", op_info[op].name);
    return 0;
}

/* 'm': mask of SELECT */
static uint64_t reference(Op op, VarType type, uint64_t m, uint64_t a, uint64_t b,
                          uint64_t c) {
    const Real x = real(type, a), y = real(type, b);
    switch (op) {
        case OP_EQ: return x == y;
        case OP_NEQ: return !(x == y);
        case OP_LT: return x < y;
        case OP_LE: return x <= y;
        case OP_GT: return x > y;
        case OP_GE: return x >= y;
        case OP_SELECT: return m ? a : b;
        default: break;
    }
    return type_info[type].is_float ? float_reference(op, type, a, b, c)
                                    : integer_reference(op, type, a, b, c);
}

static uint64_t cast_reference(VarType to, VarType from, uint64_t a) {
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
    Wide most = ((Wide) 1 << (width - is_signed)) - 1, least = is_signed ? -most - 1 : 0;
    Real whole = truncl(x);
    return cut(to, (uint64_t) (whole >= (Real) most ? most : whole <= (Real) least ? least
                               : (Wide) whole));
}

/* ---- arithmetic */

static VarType result_type(Op op, VarType type) {
    return op_info[op].result == RESULT_MASK ? VarTypeBool
        : op_info[op].result == RESULT_WIDE ? type_wide(type) : type;
}

static void check_cell(Op op, VarType type) {
    const uint32_t arity = op_info[op].arity, first = op == OP_SELECT;
    const VarType result = result_type(op, type);
    assert_true(interp_engine.supports(op, result, type));
    Program *p = new_program();
    void *in[3];
    uint32_t loads[3];
    for (uint32_t i = 0; i < arity; ++i) {
        VarType in_type = i < first ? VarTypeBool : type;
        in[i] = operand(in_type, i, LANES);
        loads[i] = add_input(p, in_type);
    }
    uint32_t value = program_add(p, op, result, 0, arity, loads);
    add_output(p, result, value);
    void *out = array_of(result, LANES);
    uint64_t args[4];
    for (uint32_t i = 0; i < arity; ++i)
        args[i] = address(in[i]);
    args[arity] = address(out);
    run(p, args, LANES);
    for (uint32_t i = 0; i < LANES; ++i) {
        uint64_t v[3] = { 0 }, folded;
        for (uint32_t k = 0; k < arity; ++k)
            v[k] = get(in[k], k < first ? VarTypeBool : type, i);
        uint64_t expected = first ? reference(op, type, v[0], v[1], v[2], 0)
                                  : reference(op, type, 0, v[0], v[1], v[2]);
        uint64_t found = get(out, result, i);
        if (!same(result, found, expected))
            fail_msg("%s.%s(0x%llx, 0x%llx, 0x%llx) = 0x%llx, expected 0x%llx",
                     op_info[op].name, type_info[type].short_name, (unsigned long long) v[0],
                     (unsigned long long) v[1], (unsigned long long) v[2],
                     (unsigned long long) found, (unsigned long long) expected);
        if (i < 600) {
            assert_true(interp_fold(op, result, type, v, &folded));
            assert_true(same(result, folded, expected));
        }
    }
    for (uint32_t i = 0; i < arity; ++i)
        free(in[i]);
    free(out);
    program_free(p);
}

static void test_arithmetic(void **state) {
    (void) state;
    for (uint32_t op = OP_NEG; op <= OP_SELECT; ++op)
        for (uint32_t type = 0; type < VarTypeCount; ++type) {
            if (op_info[op].operands >> type & 1 && type_valid((VarType) type))
                check_cell((Op) op, (VarType) type);
            else
                assert_false(interp_engine.supports((Op) op, (VarType) type, (VarType) type));
        }
}

static void check_cast(VarType to, VarType from) {
    Program *p = new_program();
    uint32_t value = add_input(p, from);
    add_output(p, to, add(p, OP_CAST, to, 0, 1, value));
    void *in = operand(from, 0, LANES), *out = array_of(to, LANES);
    const uint64_t args[] = { address(in), address(out) };
    run(p, args, LANES);
    for (uint32_t i = 0; i < LANES; ++i) {
        uint64_t a = get(in, from, i), expected = cast_reference(to, from, a), folded;
        if (!same(to, get(out, to, i), expected))
            fail_msg("cast %s -> %s of 0x%llx: 0x%llx, expected 0x%llx",
                     type_info[from].name, type_info[to].name, (unsigned long long) a,
                     (unsigned long long) get(out, to, i), (unsigned long long) expected);
        assert_true(interp_fold(OP_CAST, to, from, &a, &folded));
        assert_true(same(to, folded, expected));
    }
    free(in);
    free(out);
    program_free(p);
}

static void test_casts(void **state) {
    (void) state;
    for (uint32_t to = 0; to < VarTypeCount; ++to)
        for (uint32_t from = 0; from < VarTypeCount; ++from) {
            bool exists = type_valid((VarType) to) && type_valid((VarType) from);
            bool pointers = to == VarTypePointer || from == VarTypePointer;
            assert_int_equal(interp_engine.supports(OP_CAST, (VarType) to, (VarType) from),
                             exists && !pointers);
            if (exists && !pointers)
                check_cast((VarType) to, (VarType) from);
            assert_int_equal(interp_engine.supports(OP_BITCAST, (VarType) to, (VarType) from),
                             exists && type_info[to].size == type_info[from].size);
        }
}

/* Every f16 there is, and every place in between. */
static void test_half(void **state) {
    (void) state;
    for (uint64_t bits = 0; bits < 65536; ++bits) {
        uint64_t wide, back;
        assert_true(interp_fold(OP_CAST, VarTypeFloat32, VarTypeFloat16, &bits, &wide));
        assert_true(same(VarTypeFloat32, wide, rounded(VarTypeFloat32,
                                                       real(VarTypeFloat16, bits))));
        for (uint64_t k = 0; k < 4; ++k) {
            uint64_t near = wide + (k == 1 ? 0x1000 : k == 2 ? 0x0fff : k == 3 ? 0x1001 : 0);
            assert_true(interp_fold(OP_CAST, VarTypeFloat16, VarTypeFloat32, &near, &back));
            assert_true(same(VarTypeFloat16, back, half_of(real(VarTypeFloat32, near))));
        }
        /* An f64 next to a tie that f32 cannot tell from it. */
        uint64_t close = bits_of_double((double) real(VarTypeFloat32, wide + 0x1000)) +
            random_bits() % 3 - 1;
        assert_true(interp_fold(OP_CAST, VarTypeFloat16, VarTypeFloat64, &close, &back));
        assert_true(same(VarTypeFloat16, back, half_of(real(VarTypeFloat64, close))));
    }
}

/* ---- instruction sets */

static void compare_tables(const LaneTable *table, LaneFn fn, LaneFn base, VarType result,
                           const VarType *types, uint32_t arity) {
    enum { COUNT = 256 };
    static _Alignas(64) uint64_t memory[5][COUNT];
    void *slot[] = { memory[0], memory[1], memory[2], memory[3] };
    assert_int_equal(fn != NULL, base != NULL);
    if (!fn)
        return;
    for (uint32_t k = 0; k < arity; ++k)
        for (uint32_t i = 0; i < COUNT; ++i)
            put(memory[k + 1], types[k], i, i < 128 ? special(types[k], (i * (k + 1)) % LIST)
                                                    : random_value(types[k]));
    const LaneStep step = { NULL, 0, { 1, 2, 3 } };
    LaneFrame frame = { .slot = slot, .lanes = COUNT, .count = COUNT };
    base(&step, &frame);
    memcpy(memory[4], memory[0], sizeof memory[0]);
    for (uint32_t lanes = LANE_GROUP; lanes <= COUNT; lanes += LANE_GROUP) {
        frame.lanes = frame.count = lanes;
        memset(memory[0], 0, sizeof memory[0]);
        fn(&step, &frame);
        for (uint32_t i = 0; i < lanes; ++i)
            if (!same(result, get(memory[0], result, i), get(memory[4], result, i)))
                fail_msg("%s differs from baseline: type %s, lane %u of %u", table->isa,
                         type_info[types[arity - 1]].name, i, lanes);
    }
}

static void test_instruction_sets(void **state) {
    (void) state;
#if defined(__x86_64__)
    const LaneTable *const list[] = {
        __builtin_cpu_supports("avx2") ? &interp_lanes_avx2 : NULL,
        __builtin_cpu_supports("avx512bw") ? &interp_lanes_avx512 : NULL
    };
    for (uint32_t t = 0; t < 2; ++t) {
        if (!list[t])
            continue;
        for (uint32_t op = OP_NEG; op <= OP_SELECT; ++op)
            for (uint32_t type = 0; type < VarTypeCount; ++type) {
                VarType types[3] = { (VarType) type, (VarType) type, (VarType) type };
                if (op == OP_SELECT)
                    types[0] = VarTypeBool;
                compare_tables(list[t], list[t]->op[op][type],
                               interp_lanes_baseline.op[op][type],
                               result_type((Op) op, (VarType) type), types,
                               op_info[op].arity);
            }
        for (uint32_t to = 0; to < VarTypeCount; ++to)
            for (uint32_t from = 0; from < VarTypeCount; ++from)
                compare_tables(list[t], list[t]->cast[to][from],
                               interp_lanes_baseline.cast[to][from], (VarType) to,
                               &(VarType) { (VarType) from }, 1);
    }
#endif
}

/* The choice is made once a process, so another process makes it. */
static void test_choice(void **state) {
    (void) state;
    pid_t child = fork();
    if (child == 0) {
        setenv("DRJIT_INTERP_ISA", "baseline", 1);
        uint64_t chosen = interp_engine.fingerprint();
        _exit(chosen == hash_64("baseline", 8, 1) ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(interp_engine.available());
    assert_ptr_equal(engine_find("interp"), &interp_engine);
    assert_null(engine_find("none"));
}

/* ---- blocks and lanes */

static const uint32_t counts[] = { 1, 15, 16, 17, 511, 512, 513, 2000 };
enum { COUNTS = sizeof counts / sizeof *counts };

static void test_lane_counts(void **state) {
    (void) state;
    for (uint32_t c = 0; c < COUNTS; ++c) {
        uint32_t n = counts[c];
        Program *p = new_program();
        uint32_t a = add_input(p, VarTypeUInt8), b = add_input(p, VarTypeFloat64);
        uint32_t counter = add(p, OP_COUNTER, VarTypeUInt32, 0, 0);
        uint32_t wide = add(p, OP_CAST, VarTypeFloat64, 0, 1, a);
        uint32_t sum = add(p, OP_ADD, VarTypeFloat64, 0, 2, wide, b);
        uint32_t small = add(p, OP_CAST, VarTypeUInt8, 0, 1, counter);
        add_output(p, VarTypeFloat64, sum);
        add_output(p, VarTypeUInt8, add(p, OP_ADD, VarTypeUInt8, 0, 2, a, small));
        add_output(p, VarTypeUInt32, counter);
        uint8_t *u8 = array_of(VarTypeUInt8, n), *u8_out = array_of(VarTypeUInt8, n);
        double *f64 = array_of(VarTypeFloat64, n), *f64_out = array_of(VarTypeFloat64, n);
        uint32_t *number = array_of(VarTypeUInt32, n);
        for (uint32_t i = 0; i < n; ++i) {
            u8[i] = (uint8_t) (i * 7);
            f64[i] = i * 0.25;
        }
        const uint64_t args[] = { address(u8), address(f64), address(f64_out),
                                  address(u8_out), address(number) };
        run(p, args, n);
        for (uint32_t i = 0; i < n; ++i) {
            assert_true(f64_out[i] == u8[i] + i * 0.25);
            assert_int_equal(u8_out[i], (uint8_t) (i * 8));
            assert_int_equal(number[i], i);
        }
        if (n > 64) { /* a part of a launch touches its own lanes only */
            memset(number, 0xff, n * sizeof *number);
            run_range(p, args, 64, n - 1, 0);
            assert_int_equal(number[63], UINT32_MAX);
            assert_int_equal(number[64], 64);
            assert_int_equal(number[n - 2], n - 2);
            assert_int_equal(number[n - 1], UINT32_MAX);
        }
        free(u8);
        free(u8_out);
        free(f64);
        free(f64_out);
        free(number);
        program_free(p);
    }
}

static void test_uniform(void **state) {
    (void) state;
    Program *p = new_program();
    uint32_t slot = program_add_param(p, PARAM_INPUT, VarTypeInt64);
    uint32_t entry = add(p, OP_LOAD, VarTypeInt64, slot, 0);
    p->insts[entry].flags |= INST_UNIFORM;
    uint32_t param = add(p, OP_PARAM, VarTypeInt64,
                         program_add_param(p, PARAM_VALUE, VarTypeInt64), 0);
    uint32_t worker = add(p, OP_WORKER, VarTypeUInt32, 0, 0);
    uint32_t sum = add(p, OP_ADD, VarTypeInt64, 0, 2, entry, param);
    assert_true(p->insts[sum].flags & INST_UNIFORM);
    uint32_t literal = program_add_literal(p, VarTypeInt64, 1000);
    uint32_t index = add(p, OP_COUNTER, VarTypeUInt32, 0, 0);
    uint32_t lane = add(p, OP_CAST, VarTypeInt64, 0, 1, index);
    uint32_t number = add(p, OP_CAST, VarTypeInt64, 0, 1, worker);
    lane = add(p, OP_FMA, VarTypeInt64, 0, 3, lane, literal, sum);
    lane = add(p, OP_ADD, VarTypeInt64, 0, 2, lane, number);
    uint32_t nothing = add(p, OP_UNDEFINED, VarTypeInt64, 0, 0);
    add_output(p, VarTypeInt64, add(p, OP_OR, VarTypeInt64, 0, 2, lane, nothing));
    int64_t one = 5, *out = array_of(VarTypeInt64, LANES);
    const uint64_t args[] = { address(&one), (uint64_t) -7, address(out) };
    run_range(p, args, 0, LANES, 3);
    for (int64_t i = 0; i < LANES; ++i)
        assert_int_equal(out[i], i * 1000 + 5 - 7 + 3);
    free(out);
    program_free(p);
}

/* More literals than are kept, and a Program whose memory must not grow with its length. */
static void test_long_program(void **state) {
    (void) state;
    enum { LENGTH = 300000, SHORT = 600 };
    size_t scratch[2];
    for (uint32_t round = 0; round < 2; ++round) {
        uint32_t length = round ? LENGTH : SHORT;
        Program *p = new_program();
        uint32_t x = add_input(p, VarTypeUInt32), expected = 9;
        for (uint32_t i = 0; i < length; ++i) {
            uint32_t literal = program_add_literal(p, VarTypeUInt32, i * 77 + 1);
            uint32_t twice = add(p, OP_BITCAST, VarTypeInt32, 0, 1, x);
            twice = add(p, OP_MUL, VarTypeInt32, 0, 2, twice, twice);
            x = add(p, OP_XOR, VarTypeUInt32, 0, 2,
                    add(p, OP_CAST, VarTypeUInt32, 0, 1, twice), literal);
            expected = (expected * expected) ^ (i * 77 + 1);
        }
        add_output(p, VarTypeUInt32, x);
        EngineCode *code = interp_engine.compile(p, (Hash128) { 0, 0 });
        assert_non_null(code);
        scratch[round] = interp_engine.scratch(code);
        assert_true(interp_engine.code_size(code) <= 48u * p->inst_count);
        interp_engine.free(code);
        uint32_t in[600], out[600];
        for (uint32_t i = 0; i < 600; ++i)
            in[i] = 9;
        const uint64_t args[] = { address(in), address(out) };
        run(p, args, 600);
        assert_int_equal(out[0], expected);
        assert_int_equal(out[599], expected);
        program_free(p);
    }
    assert_int_equal(scratch[0], scratch[1]);
}

/* ---- memory */

/* Index and mask of test lane i: masked lanes point far outside. */
static bool lane_active(uint32_t i) {
    return i % 5 != 2;
}

static void fill_indices(uint32_t *index, uint8_t *mask, uint32_t n, uint32_t size) {
    for (uint32_t i = 0; i < n; ++i) {
        mask[i] = lane_active(i);
        index[i] = lane_active(i) ? i * 7919u % size : 0xfffffff0u - i;
    }
}

static void check_gather(VarType type, uint32_t n) {
    enum { SIZE = 1009 };
    static const uint32_t packet = 4;
    Program *p = new_program();
    uint32_t from = add_pointer(p, type), index = add_input(p, VarTypeInt32);
    uint32_t mask = add_input(p, VarTypeBool);
    add_output(p, type, add(p, OP_GATHER, type, 0, 3, from, index, mask));
    uint32_t all = program_add_literal(p, VarTypeBool, 1);
    uint32_t zero = program_add_literal(p, VarTypeInt32, 0);
    uint32_t inside = add(p, OP_SELECT, VarTypeInt32, 0, 3, mask, index, zero);
    add_output(p, type, add(p, OP_GATHER, type, 0, 3, from, inside, all));
    uint32_t many = add(p, OP_GATHER_PACKET, type, packet, 3, from, index, mask);
    add_output(p, type, add(p, OP_PACKET_ITEM, type, 3, 1, many));
    add_output(p, type, add(p, OP_PACKET_ITEM, type, 0, 1, many));
    void *source = array_of(type, SIZE * packet), *out[4];
    for (uint32_t i = 0; i < SIZE * packet; ++i)
        put(source, type, i, random_value(type));
    uint32_t *where = array_of(VarTypeUInt32, n);
    uint8_t *set = array_of(VarTypeBool, n);
    fill_indices(where, set, n, SIZE);
    uint64_t args[7] = { address(source), address(where), address(set) };
    for (uint32_t k = 0; k < 4; ++k)
        args[3 + k] = address(out[k] = array_of(type, n));
    run(p, args, n);
    for (uint32_t i = 0; i < n; ++i) {
        uint32_t at = set[i] ? where[i] : 0;
        assert_int_equal(get(out[0], type, i), set[i] ? get(source, type, at) : 0);
        assert_int_equal(get(out[1], type, i), get(source, type, at));
        assert_int_equal(get(out[2], type, i), set[i] ? get(source, type, at * 4 + 3) : 0);
        assert_int_equal(get(out[3], type, i), set[i] ? get(source, type, at * 4) : 0);
    }
    for (uint32_t k = 0; k < 4; ++k)
        free(out[k]);
    free(source);
    free(where);
    free(set);
    program_free(p);
}

static void test_gather(void **state) {
    (void) state;
    for (uint32_t type = 0; type < VarTypeCount; ++type)
        for (uint32_t c = 0; c < COUNTS && type_valid((VarType) type); ++c)
            check_gather((VarType) type, counts[c]);
}

static uint64_t combine(ReduceOp op, VarType type, uint64_t old, uint64_t value) {
    static const Op ops[] = { OP_NONE, OP_ADD, OP_MUL, OP_MIN, OP_MAX, OP_AND, OP_OR };
    Op which = ops[op];
    if (op == ReduceOpIdentity)
        return value;
    if (type_info[type].is_float && (op == ReduceOpMin || op == ReduceOpMax))
        which = op == ReduceOpMin ? OP_FMIN : OP_FMAX;
    return reference(which, type, 0, old, value, 0);
}

static bool reduces(ReduceOp op, VarType type) {
    bool bits = op == ReduceOpAnd || op == ReduceOpOr;
    return op == ReduceOpIdentity ||
        (CLASS_INTEGER >> type & 1) || (bits ? type == VarTypeBool : CLASS_FLOAT >> type & 1);
}

/* Small whole numbers make every order of float additions give the same sum; products stay
 * small because the factors are 1 and 2. Modes without conflicts get distinct targets. */
static void check_scatter(ReduceOp op, ReduceMode mode, VarType type, uint32_t n,
                          bool packet) {
    const bool conflicts = mode == ReduceModeAuto || mode == ReduceModeDirect ||
        mode == ReduceModeLocal;
    const uint32_t size = conflicts && op != ReduceOpIdentity ? 37 : 2003;
    const uint32_t items = packet ? 2 : 1;
    Program *p = new_program();
    uint32_t to = add_pointer(p, type), index = add_input(p, VarTypeUInt32);
    uint32_t mask = add_input(p, VarTypeBool), value = add_input(p, type);
    uint32_t aux = (uint32_t) op | (uint32_t) mode << 8;
    p->params[0].written = 1;
    if (packet)
        add(p, OP_SCATTER_PACKET, VarTypeVoid, aux, 5, to, index, mask, value, value);
    else
        add(p, OP_SCATTER, VarTypeVoid, aux, 4, to, value, index, mask);
    void *target = array_of(type, size * items), *values = array_of(type, n);
    uint64_t *expected = calloc(size * items, sizeof *expected);
    uint32_t *where = array_of(VarTypeUInt32, n);
    uint8_t *set = array_of(VarTypeBool, n);
    assert_non_null(expected);
    fill_indices(where, set, n, size);
    for (uint32_t i = 0; i < size * items; ++i) {
        Real start = op == ReduceOpMul ? 1 : i % 3;
        expected[i] = type_info[type].is_float ? rounded(type, start)
                                               : cut(type, (uint64_t) start);
        put(target, type, i, expected[i]);
    }
    for (uint32_t i = 0; i < n; ++i) {
        int64_t v = op == ReduceOpMul ? 1 + (i % 19 == 0) : (int64_t) (i % 5);
        put(values, type, i, type_info[type].is_float ? rounded(type, v)
                                                      : cut(type, (uint64_t) v));
        if (conflicts && set[i] && i % 3 && set[i - 1] && op != ReduceOpIdentity)
            where[i] = where[i - 1]; /* runs of one target */
        for (uint32_t k = 0; k < items && set[i]; ++k)
            expected[where[i] * items + k] = combine(op, type, expected[where[i] * items + k],
                                                     get(values, type, i));
    }
    const uint64_t args[] = { address(target), address(where), address(set),
                              address(values) };
    run(p, args, n);
    for (uint32_t i = 0; i < size * items; ++i)
        if (!same(type, get(target, type, i), expected[i]))
            fail_msg("scatter op %d mode %d type %s: entry %u", (int) op, (int) mode,
                     type_info[type].name, i);
    free(target);
    free(values);
    free(expected);
    free(where);
    free(set);
    program_free(p);
}

static void test_scatter(void **state) {
    (void) state;
    for (uint32_t op = 0; op < ReduceOpCount; ++op)
        for (uint32_t type = 0; type < VarTypeCount; ++type)
            for (uint32_t mode = 0; mode < ReduceModeCount; ++mode) {
                if (!type_valid((VarType) type) || !reduces((ReduceOp) op, (VarType) type))
                    continue;
                for (uint32_t c = 0; c < COUNTS; ++c)
                    check_scatter((ReduceOp) op, (ReduceMode) mode, (VarType) type, counts[c],
                                  c % 2);
            }
}

static void test_undefined_reduction(void **state) {
    (void) state;
    Program *p = new_program();
    uint32_t to = add_pointer(p, VarTypeFloat32), value = add_input(p, VarTypeFloat32);
    uint32_t index = add_input(p, VarTypeUInt32), mask = add_input(p, VarTypeBool);
    add(p, OP_SCATTER, VarTypeVoid, ReduceOpAnd, 4, to, value, index, mask);
    assert_null(interp_engine.compile(p, (Hash128) { 0, 0 }));
    assert_int_equal(error_code(), JIT_ERROR_UNSUPPORTED);
    program_free(p);
}

static void check_exchange(VarType type) {
    enum { N = 529, SIZE = 2003 };
    Program *p = new_program();
    uint32_t to = add_pointer(p, type), other = add_pointer(p, type);
    uint32_t index = add_input(p, VarTypeUInt32), mask = add_input(p, VarTypeBool);
    uint32_t value = add_input(p, type), compare = add_input(p, type);
    add_output(p, type, add(p, OP_SCATTER_EXCH, type, 0, 4, to, value, index, mask));
    add_output(p, type, add(p, OP_SCATTER_CAS, type, 0, 5, other, compare, value, index,
                            mask));
    void *exchanged = array_of(type, SIZE), *swapped = array_of(type, SIZE);
    void *values = array_of(type, N), *compares = array_of(type, N);
    void *out_a = array_of(type, N), *out_b = array_of(type, N);
    uint32_t where[N];
    uint8_t set[N];
    fill_indices(where, set, N, SIZE);
    for (uint32_t i = 0; i < SIZE; ++i) {
        put(exchanged, type, i, cut(type, i));
        put(swapped, type, i, cut(type, i));
    }
    for (uint32_t i = 0; i < N; ++i) {
        put(values, type, i, cut(type, i + 100));
        put(compares, type, i, cut(type, where[i] + i % 2));
    }
    const uint64_t args[] = { address(exchanged), address(swapped), address(where),
                              address(set), address(values), address(compares),
                              address(out_a), address(out_b) };
    run(p, args, N);
    for (uint32_t i = 0; i < N; ++i) {
        uint64_t before = set[i] ? cut(type, where[i]) : 0;
        assert_int_equal(get(out_a, type, i), before);
        assert_int_equal(get(out_b, type, i), before);
        if (!set[i])
            continue;
        assert_int_equal(get(exchanged, type, where[i]), cut(type, i + 100));
        assert_int_equal(get(swapped, type, where[i]), i % 2 ? before : cut(type, i + 100));
    }
    free(exchanged);
    free(swapped);
    free(values);
    free(compares);
    free(out_a);
    free(out_b);
    program_free(p);
}

static void test_exchange(void **state) {
    (void) state;
    for (uint32_t type = 0; type < VarTypeCount; ++type)
        if (type_valid((VarType) type))
            check_exchange((VarType) type);
}

static void test_increment(void **state) {
    (void) state;
    for (uint32_t c = 0; c < COUNTS; ++c) {
        uint32_t n = counts[c], total[3] = { 10, 20, 30 }, next[3] = { 10, 20, 30 };
        Program *p = new_program();
        uint32_t to = add_pointer(p, VarTypeUInt32), index = add_input(p, VarTypeUInt32);
        uint32_t mask = add_input(p, VarTypeBool);
        add_output(p, VarTypeUInt32, add(p, OP_SCATTER_INC, VarTypeUInt32, 0, 3, to, index,
                                         mask));
        uint32_t *where = array_of(VarTypeUInt32, n), *out = array_of(VarTypeUInt32, n);
        uint8_t *set = array_of(VarTypeBool, n);
        for (uint32_t i = 0; i < n; ++i) {
            set[i] = lane_active(i);
            where[i] = set[i] ? i / 7 % 3 : 999999;
        }
        const uint64_t args[] = { address(total), address(where), address(set), address(out) };
        run(p, args, n);
        for (uint32_t i = 0; i < n; ++i)
            assert_int_equal(out[i], set[i] ? next[where[i]]++ : 0);
        assert_memory_equal(total, next, sizeof total);
        free(where);
        free(out);
        free(set);
        program_free(p);
    }
}

static void test_check(void **state) {
    (void) state;
    enum { N = 1000 };
    Program *p = new_program();
    uint32_t index = add_input(p, VarTypeUInt32), mask = add_input(p, VarTypeBool);
    p->check_count = 2;
    uint32_t slots[2];
    slots[0] = program_add_param(p, PARAM_OUTPUT, VarTypeBool);
    slots[1] = program_add_param(p, PARAM_OUTPUT, VarTypeBool);
    program_add_param(p, PARAM_REPORT, VarTypeVoid);
    for (uint32_t k = 0; k < 2; ++k) {
        uint32_t inside = add(p, OP_CHECK, VarTypeBool, k, 2, mask, index);
        add(p, OP_STORE, VarTypeVoid, slots[k], 1, inside);
    }
    uint32_t where[N], failed = 0;
    uint8_t set[N], out[2][N];
    for (uint32_t i = 0; i < N; ++i) {
        where[i] = i * 3;
        set[i] = lane_active(i);
        failed += set[i] && where[i] >= 600;
    }
    where[N - 2] = UINT32_MAX;
    CheckReport reports[2] = { { 0, 0, 600 }, { 0, 0, UINT64_C(1) << 32 } };
    const uint64_t args[] = { address(where), address(set), address(out[0]), address(out[1]),
                              address(reports) };
    run(p, args, N);
    for (uint32_t i = 0; i < N; ++i) {
        assert_int_equal(out[0][i], set[i] && where[i] < 600);
        assert_int_equal(out[1][i], set[i]);
    }
    assert_int_equal(reports[0].count, failed);
    assert_true(reports[0].index >= 600);
    assert_int_equal(reports[1].count, 0);
    program_free(p);
}

/* ---- the Program itself */

static void test_verify(void **state) {
    (void) state;
    for (uint32_t fault = 0; fault < 14; ++fault) {
        Program *p = new_program();
        uint32_t a = add_input(p, VarTypeFloat32), pointer = add_pointer(p, VarTypeInt32);
        uint32_t b = program_add_literal(p, VarTypeFloat32, 0);
        uint32_t sum = add(p, OP_ADD, VarTypeFloat32, 0, 2, a, b);
        uint32_t mask = add(p, OP_LT, VarTypeBool, 0, 2, a, b);
        uint32_t index = add(p, OP_CAST, VarTypeUInt32, 0, 1, a);
        uint32_t got = add(p, OP_GATHER, VarTypeInt32, 0, 3, pointer, index, mask);
        add_output(p, VarTypeInt32, got);
        assert_true(program_verify(p));
        Inst *insts = p->insts;
        switch (fault) {
            case 0: insts[sum].op = OP_EVALUATED; break;
            case 1: insts[sum].op = OP_COUNT; break;
            case 2: insts[sum].arg[1] = sum; break;
            case 3: insts[sum].arg[1] = mask + 100; break;
            case 4: insts[sum].arg[1] = pointer; break;
            case 5: insts[sum].type = VarTypeFloat64; break;
            case 6: insts[mask].type = VarTypeVoid; break;
            case 7: insts[sum].flags = INST_UNIFORM; break;
            case 8: insts[got].arg[1] = a; break;
            case 9: insts[got].arg[2] = index; break;
            case 10: insts[got].count = 2; break;
            case 11: insts[a].aux = 77; break;
            case 12: insts[b].aux = 77; break;
            default: insts[p->inst_count - 1].aux = insts[a].aux; break;
        }
        error_clear();
        assert_false(program_verify(p));
        assert_int_equal(error_code(), JIT_ERROR_ARGUMENT);
        assert_non_null(strstr(error_message(), "program_verify()"));
        program_free(p);
    }
}

static void test_program(void **state) {
    (void) state;
    Program *p = new_program();
    uint32_t a = add_input(p, VarTypeFloat32);
    uint32_t b = program_add_literal(p, VarTypeFloat32, bits_of_float(1.5f));
    add_output(p, VarTypeFloat32, add(p, OP_FMA, VarTypeFloat32, 0, 3, a, b, b));
    Program *copy = program_copy(p);
    assert_non_null(copy);
    assert_true(program_equal(p, copy));
    Text text = { 0 };
    program_write(copy, &text);
    assert_string_equal(text_get(&text),
                        "@0: input f32\n@1: output f32\n"
                        "    %0:f32 = load @0\n    %1:f32! = literal 1.5\n"
                        "    %2:f32 = fma %0, %1, %1\n    store @1, %2\n");
    text_free(&text);
    copy->literals[0] ^= 1;
    assert_false(program_equal(p, copy));
    program_clear(copy);
    assert_int_equal(copy->inst_count, 0);
    assert_false(program_equal(p, copy));
    program_free(copy);
    program_free(p);
    program_free(NULL);
}

static void test_fold_refuses(void **state) {
    (void) state;
    uint64_t args[3] = { 0 }, result;
    assert_false(interp_fold(OP_SCATTER, VarTypeVoid, VarTypeFloat32, args, &result));
    assert_false(interp_fold(OP_AND, VarTypeFloat32, VarTypeFloat32, args, &result));
    assert_false(interp_fold(OP_CAST, VarTypePointer, VarTypeUInt64, args, &result));
    assert_false(interp_fold(OP_BITCAST, VarTypeFloat32, VarTypeFloat64, args, &result));
    assert_false(interp_fold(OP_COUNT, VarTypeFloat32, VarTypeFloat32, args, &result));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice), /* first: the choice must not have been made */
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_casts),
        cmocka_unit_test(test_half),
        cmocka_unit_test(test_instruction_sets),
        cmocka_unit_test(test_lane_counts),
        cmocka_unit_test(test_uniform),
        cmocka_unit_test(test_long_program),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_scatter),
        cmocka_unit_test(test_undefined_reduction),
        cmocka_unit_test(test_exchange),
        cmocka_unit_test(test_increment),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_verify),
        cmocka_unit_test(test_program),
        cmocka_unit_test(test_fold_refuses)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
