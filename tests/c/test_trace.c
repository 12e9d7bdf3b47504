/*
 * test_trace.c -- the tracer: sharing, folding, identities, indices, names, registry
 *
 * Every identity that the tracer applies is checked by its results: the same expression
 * is computed once as the tracer simplifies it and once with JitFlagConstantPropagation
 * off, from special values of every type, and both must have the same bits.
 */
#include "test_util.h"

#include <math.h>

#include "api/api.h"
#include "trace/eval/expand.h"
#include "trace/graph/arith.h"
#include "trace/graph/lvn.h"
#include "trace/graph/var.h"

/* --------------------------------------------------------- value numbering */

static void test_value_numbering(void **unused)
{
    (void) unused;
    uint32_t c = jit_var_counter(CPU, 10), d = jit_var_counter(CPU, 10);
    uint32_t e = jit_var_counter(CPU, 11);
    assert_int_equal(c, d);
    assert_int_not_equal(c, e);
    uint32_t l = jit_var_u32(CPU, 3), m = jit_var_u32(CPU, 3), i = jit_var_i32(CPU, 3);
    assert_int_equal(l, m);
    assert_int_not_equal(l, i); /* types count */
    uint32_t zero = jit_var_f32(CPU, 0.0f), minus = jit_var_f32(CPU, -0.0f);
    assert_int_not_equal(zero, minus);
    uint32_t a = jit_var_add(c, l), b = jit_var_add(l, c); /* commutes */
    assert_int_equal(a, b);
    assert_int_equal(jit_var_ref(a), 2);
    uint32_t s = jit_var_sub(c, l), t = jit_var_sub(l, c); /* does not */
    assert_int_not_equal(s, t);
    uint32_t f = jit_var_cast(c, VarTypeFloat32, 0),
             g = jit_var_cast(c, VarTypeFloat32, 1);
    assert_int_not_equal(f, g);
    uint32_t h = jit_var_cast(c, VarTypeFloat32, 0);
    assert_int_equal(f, h);
    uint32_t data[] = { 1, 2 };
    uint32_t x = u32_array(2, data),
             y = u32_array(2, data); /* arrays are never shared */
    assert_int_not_equal(x, y);
    uint32_t gx = jit_var_gather(x, l, 0), gy = jit_var_gather(x, l, 0);
    assert_int_equal(gx, gy);
    uint32_t u = jit_var_undefined(CPU, VarTypeInt8, 4),
             v = jit_var_undefined(CPU, VarTypeInt8, 4);
    assert_int_not_equal(u, v);

    /* What was evaluated, freed or written to is not found again. */
    assert_true(jit_var_eval(a));
    uint32_t again = jit_var_add(c, l);
    assert_int_not_equal(a, again);
    DROP(c, d, e, l, m, i, zero, minus, a, b, s, t, f, g, h, x, y, gx, gy, u, v, again);

    jit_set_flag(JitFlagValueNumbering, 0);
    uint32_t p = jit_var_counter(CPU, 10), q = jit_var_counter(CPU, 10);
    uint32_t r = jit_var_add(p, q), w = jit_var_add(p, q);
    assert_int_not_equal(p, q);
    assert_int_not_equal(r, w);
    CHECK_U32(r, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18);
    DROP(p, q, r, w);
}

static void test_folding_flag(void **unused)
{
    (void) unused;
    uint32_t a = jit_var_u32(CPU, 3), b = jit_var_u32(CPU, 4),
             c = jit_var_counter(CPU, 4);
    uint32_t zero = jit_var_u32(CPU, 0);
    uint32_t sum = jit_var_add(a, b), same = jit_var_add(c, zero);
    assert_int_equal(jit_var_state(sum), VarStateLiteral);
    assert_int_equal(same, c);
    jit_set_flag(JitFlagConstantPropagation, 0);
    uint32_t plain = jit_var_add(a, b), more = jit_var_add(c, zero);
    assert_int_equal(jit_var_state(plain), VarStateUnevaluated);
    assert_int_not_equal(more, c);
    CHECK_U32(plain, 7);
    CHECK_U32(more, 0, 1, 2, 3);
    DROP(a, b, c, zero, sum, same, plain, more);

    /* Wide literals fold, too. */
    jit_set_flag(JitFlagConstantPropagation, 1);
    uint32_t x = literal_of(VarTypeUInt32, 3, 5), y = literal_of(VarTypeUInt32, 9, 1);
    uint32_t z = jit_var_mul(x, y);
    assert_int_equal(jit_var_state(z), VarStateLiteral);
    assert_int_equal(jit_var_size(z), 5);
    CHECK_U32(z, 27, 27, 27, 27, 27);
    DROP(x, y, z);
}

static void test_fast_math(void **unused)
{
    (void) unused;
    float data[] = { 1, NAN, INFINITY, -0.0f };
    uint32_t x = array_of(VarTypeFloat32, data, 4), zero = jit_var_f32(CPU, 0);
    uint32_t product = jit_var_mul(x, zero), sum = jit_var_add(x, zero);
    assert_int_equal(jit_var_state(product), VarStateLiteral); /* 0 even for NaN */
    assert_int_equal(sum, x);
    DROP(product, sum);
    jit_set_flag(JitFlagFastMath, 0);
    product = jit_var_mul(x, zero);
    sum = jit_var_add(x, zero);
    assert_int_equal(jit_var_state(product), VarStateUnevaluated);
    CHECK_STR(sum, "[1, nan, inf, 0]"); /* -0 + 0 is +0 */
    float *found;
    uint32_t stored = data_of(product, (void **) &found);
    OK(stored);
    assert_true(found[0] == 0 && isnan(found[1]) && isnan(found[2]) &&
                signbit(found[3]));
    DROP(product, sum, stored, x, zero);
}

/* -------------------------------------------------------------- identities */

static uint32_t values_of(const TestType *t, uint64_t *out)
{
    unsigned width = t->size * 8;
    uint64_t mask = ones_of(width), top = UINT64_C(1) << (width - 1);
    uint64_t ints[] = { 0,       1,       2,    3,        4,        8,  top,
                        top - 1, top + 1, mask, mask - 1, top >> 1, 100 };
    uint64_t half[] = { 0,      0x8000, 1,      0x8001, 0x3c00, 0xbc00,
                        0x4000, 0xc000, 0x3800, 0x7bff, 0x7c00, 0xfc00,
                        0x7e00, 0x0400, 0x03ff, 0x2e66, 0x7800, 0x0800 };
    uint64_t single[] = { 0,          0x80000000, 1,          0x80000001, 0x3f800000,
                          0xbf800000, 0x40000000, 0xc0000000, 0x3f000000, 0x7f7fffff,
                          0x7f800000, 0xff800000, 0x7fc00000, 0x00800000, 0x007fffff,
                          0x3dcccccd, 0x7f000000, 0x01000000 };
    uint64_t full[] = { 0,
                        UINT64_C(0x8000000000000000),
                        1,
                        UINT64_C(0x8000000000000001),
                        UINT64_C(0x3ff0000000000000),
                        UINT64_C(0xbff0000000000000),
                        UINT64_C(0x4000000000000000),
                        UINT64_C(0xc000000000000000),
                        UINT64_C(0x3fe0000000000000),
                        UINT64_C(0x7fefffffffffffff),
                        UINT64_C(0x7ff0000000000000),
                        UINT64_C(0xfff0000000000000),
                        UINT64_C(0x7ff8000000000000),
                        UINT64_C(0x0010000000000000),
                        UINT64_C(0x000fffffffffffff),
                        UINT64_C(0x3fb999999999999a),
                        UINT64_C(0x7fe0000000000000),
                        UINT64_C(0x0020000000000000) };
    const uint64_t *list = t->kind != 'f' ? ints
                           : t->size == 2 ? half
                           : t->size == 4 ? single
                                          : full;
    uint32_t n = t->kind == 'b' ? 2 : t->kind != 'f' ? COUNT_OF(ints) : COUNT_OF(half);
    for (uint32_t i = 0; i < n; ++i)
        out[i] = list[i] & (t->kind == 'b' ? 1 : mask);
    return n;
}

static bool is_nan(const TestType *t, uint64_t bits)
{
    if (t->kind != 'f')
        return false;
    unsigned mantissa = t->size == 2 ? 10 : t->size == 4 ? 23 : 52;
    return (bits & ones_of(t->size * 8 - 1)) >
           (ones_of(t->size * 8 - 1) & ~ones_of(mantissa));
}

/* Two variables have the same entries, but for NaN payloads. */
static void check_same(JitOp op, const TestType *operand, int form, uint64_t literal,
                       uint32_t a, uint32_t b)
{
    if (!a || !b)
        fail_msg("operation %d of %s: %s", (int) op, operand->name,
                 jit_error_message());
    assert_int_equal(jit_var_size(a), jit_var_size(b));
    assert_int_equal(jit_var_type(a), jit_var_type(b));
    const TestType *t = type_of(jit_var_type(a));
    void *x, *y;
    uint32_t s = data_of(a, &x), r = data_of(b, &y);
    OK(s && r);
    for (size_t i = 0; i < jit_var_size(a); ++i) {
        uint64_t u = get_bits(x, t->size, i), v = get_bits(y, t->size, i);
        if (u != v && !(is_nan(t, u) && is_nan(t, v)))
            fail_msg(
                "operation %d of %s, form %d, literal 0x%llx, entry %zu: simplified "
                "0x%llx, plain 0x%llx",
                (int) op, operand->name, form, (unsigned long long) literal, i,
                (unsigned long long) u, (unsigned long long) v);
    }
    DROP(s, r);
}

/* op(x, x) and op(x, literal) in all places, for an array x of special values. */
enum { FORM_SELF, FORM_RIGHT, FORM_LEFT, FORM_THIRD, FORM_NESTED, FORMS };

static uint32_t build(JitOp op, int form, uint32_t x, uint32_t y, uint32_t l,
                      uint32_t m)
{
    uint32_t args[3] = { x, x, y };
    if (form == FORM_RIGHT || form == FORM_LEFT)
        args[form == FORM_LEFT ? 0 : 1] = l;
    if (form == FORM_THIRD)
        args[2] = l;
    if (op == JitOpSelect && form != FORM_NESTED) {
        args[2] = args[1];
        args[1] = args[0];
        args[0] = m;
    }
    if (form != FORM_NESTED)
        return jit_var_op(op, args);
    uint32_t inner = jit_var_op(op, args); /* -(-x), ~~x; else (x op x) op x */
    args[0] = inner;
    uint32_t result = inner ? jit_var_op(op, args) : 0;
    jit_var_dec_ref(inner);
    return result;
}

static void test_identities(void **unused)
{
    (void) unused;
    jit_set_flag(JitFlagFastMath, 0);
    for (size_t t = 0; t < COUNT_OF(test_types); ++t) {
        const TestType *type = &test_types[t];
        if (type->kind == 'p')
            continue;
        uint64_t special[20];
        uint32_t n = values_of(type, special);
        char data[20 * 8], other[20 * 8];
        for (uint32_t i = 0; i < n; ++i) {
            put_bits(data, type->size, i, special[i]);
            put_bits(other, type->size, i, special[(i * 7 + 3) % n]);
        }
        uint32_t x = array_of(type->type, data, n), y = array_of(type->type, other, n);
        for (int op = 0; op < JitOpCount; ++op) {
            uint32_t probe[] = { x, x, x };
            uint32_t tried = op == JitOpSelect ? 0 : jit_var_op((JitOp) op, probe);
            jit_error_clear();
            if (!tried && op != JitOpSelect)
                continue; /* not for this type */
            jit_var_dec_ref(tried);
            for (int form = 0; form < FORMS; ++form) {
                bool literal =
                    form == FORM_RIGHT || form == FORM_LEFT || form == FORM_THIRD;
                if (form == FORM_NESTED && (op == JitOpMulWide || op == JitOpSelect ||
                                            (op >= JitOpEq && op <= JitOpGe)))
                    continue;
                uint32_t plain[20], simple[20], count = literal ? n : 1;
                for (uint32_t k = 0; k < count; ++k) {
                    uint32_t l = literal_of(type->type, special[k], 1);
                    uint32_t m = literal_of(VarTypeBool, k & 1, 1);
                    jit_set_flag(JitFlagConstantPropagation, 1);
                    simple[k] = build((JitOp) op, form, x, y, l, m);
                    jit_set_flag(JitFlagConstantPropagation, 0);
                    plain[k] = build((JitOp) op, form, x, y, l, m);
                    jit_var_schedule(simple[k]);
                    jit_var_schedule(plain[k]);
                    DROP(l, m);
                }
                OK(jit_eval());
                for (uint32_t k = 0; k < count; ++k) {
                    check_same((JitOp) op, type, form, special[k], simple[k], plain[k]);
                    DROP(simple[k], plain[k]);
                }
            }
        }
        DROP(x, y);
    }
    jit_set_flag(JitFlagConstantPropagation, 1);
}

/* That the identities are applied at all, and only where the size fits. */
static void test_simplifications(void **unused)
{
    (void) unused;
    uint32_t x = u32_array(3, (uint32_t[]){ 5, 6, 7 }), zero = jit_var_u32(CPU, 0);
    uint32_t one = jit_var_u32(CPU, 1), eight = jit_var_u32(CPU, 8);
    uint32_t ones = jit_var_u32(CPU, UINT32_MAX);
    uint32_t on = jit_var_bool(CPU, true), off = jit_var_bool(CPU, false);
    uint32_t n = jit_var_neg(x), o = jit_var_not(x);
    const struct {
        uint32_t result, expected;
    } same[] = { { jit_var_add(x, zero), x },
                 { jit_var_add(zero, x), x },
                 { jit_var_sub(x, zero), x },
                 { jit_var_mul(x, one), x },
                 { jit_var_mul(one, x), x },
                 { jit_var_div(x, one), x },
                 { jit_var_and(x, x), x },
                 { jit_var_and(x, ones), x },
                 { jit_var_or(x, zero), x },
                 { jit_var_or(x, x), x },
                 { jit_var_xor(zero, x), x },
                 { jit_var_shl(x, zero), x },
                 { jit_var_shr(x, zero), x },
                 { jit_var_min(x, x), x },
                 { jit_var_max(x, x), x },
                 { jit_var_neg(n), x },
                 { jit_var_not(o), x },
                 { jit_var_select(on, x, n), x },
                 { jit_var_select(off, n, x), x },
                 { jit_var_fma(x, zero, o), o },
                 { jit_var_mul(x, zero), 0 },
                 { jit_var_sub(x, x), 0 },
                 { jit_var_xor(x, x), 0 },
                 { jit_var_and(x, zero), 0 },
                 { jit_var_mod(x, one), 0 },
                 { jit_var_eq(x, x), 0 },
                 { jit_var_lt(x, x), 0 },
                 { jit_var_or(x, ones), 0 } };
    for (size_t i = 0; i < COUNT_OF(same); ++i) {
        OK(same[i].result);
        if (same[i].expected)
            assert_int_equal(same[i].result, same[i].expected);
        else
            assert_int_equal(jit_var_state(same[i].result), VarStateLiteral);
        assert_int_equal(jit_var_size(same[i].result), 3);
        jit_var_dec_ref(same[i].result);
    }
    /* Integers of one size keep their bits, and so does what reads these anew. */
    uint32_t c = jit_var_cast(x, VarTypeInt32, 0),
             d = jit_var_cast(c, VarTypeUInt32, 0),
             e = jit_var_cast(c, VarTypeFloat32, 1),
             f = jit_var_cast(x, VarTypeFloat32, 1);
    assert_non_null(strstr(jit_program_str(c), "bitcast"));
    assert_int_equal(d, x);
    assert_int_equal(e, f);
    DROP(c, d, e, f);
    /* Powers of two become shifts and masks. */
    uint32_t p = jit_var_mul(x, eight), q = jit_var_div(x, eight),
             r = jit_var_mod(x, eight);
    assert_non_null(strstr(jit_program_str(p), "shl"));
    assert_non_null(strstr(jit_program_str(q), "shr"));
    assert_non_null(strstr(jit_program_str(r), "and"));
    CHECK_U32(p, 40, 48, 56);
    CHECK_U32(q, 0, 0, 0);
    CHECK_U32(r, 5, 6, 7);
    /* A scalar combined with a wide literal is wide. */
    uint32_t s = u32_array(1, (uint32_t[]){ 4 }),
             wide = literal_of(VarTypeUInt32, 0, 3);
    uint32_t t = jit_var_add(s, wide), u = jit_var_mul(s, wide);
    assert_int_not_equal(t, s);
    CHECK_U32(t, 4, 4, 4);
    CHECK_U32(u, 0, 0, 0);
    DROP(x, zero, one, eight, ones, on, off, n, o, p, q, r, s, wide, t, u);
}

/* The fast path skips identities of which the table says that they do not apply. */
static void check_paths(Op op, JitOp jit_op, VarType type, const uint32_t *args,
                        uint64_t number, bool first)
{
    ThreadState *ts = api_enter();
    uint32_t plain = arith_op(ts, op, args);
    api_leave();
    uint32_t fast = jit_var_op(jit_op, args);
    uint32_t with_number = op_info[op].arity == 2
                               ? jit_var_op_number(jit_op, args[first], number, first)
                               : jit_var_inc_ref(fast);
    OK(plain && fast && with_number);
    if (fast != plain || with_number != plain)
        fail_msg("%s of %s, literal 0x%llx: r%u, on the fast path r%u, with a number "
                 "r%u", op_info[op].name, type_info[type].name,
                 (unsigned long long) number, plain, fast, with_number);
    DROP(plain, fast, with_number);
}

static void test_fast_path(void **unused)
{
    (void) unused;
    for (size_t t = 0; t < COUNT_OF(test_types); ++t) {
        const TestType *type = &test_types[t];
        if (type->kind == 'p')
            continue;
        uint64_t special[20];
        uint32_t n = values_of(type, special);
        uint8_t data[2 * 8] = { 1, 2, 3 };
        uint32_t x = array_of(type->type, data, 2);
        uint32_t m = array_of(VarTypeBool, (bool[]) { true, false }, 2);
        for (int i = 0; i < JitOpCount * 3 * 20; ++i) {
            int which = i / 20 % 3;
            uint64_t number = special[(uint32_t) i % 20 % n];
            Op op = op_of((JitOp) (i / 60));
            bool choice = op == OP_SELECT;
            if (!(op_info[op].operands >> type->type & 1) || op_info[op].arity < 2 ||
                which >= op_info[op].arity || (choice && which == 0))
                continue;
            uint32_t args[] = { choice ? m : x, x, x };
            args[which] = literal_of(type->type, number, 1);
            check_paths(op, (JitOp) (i / 60), type->type, args, number, which == 0);
            jit_var_dec_ref(args[which]);
        }
        DROP(x, m);
    }
}

/* ------------------------------------------------------ indices, references */

static void test_reuse(void **unused)
{
    (void) unused;
    uint32_t ids[200];
    for (uint32_t i = 0; i < 200; ++i)
        ids[i] = jit_var_u32(CPU, 1000 + i);
    for (uint32_t i = 1; i < 200; ++i)
        assert_int_equal(ids[i], ids[i - 1] + 1);
    DROP(ids[150], ids[7], ids[77]);
    uint32_t a = jit_var_u32(CPU, 1), b = jit_var_u32(CPU, 2), c = jit_var_u32(CPU, 3);
    uint32_t d = jit_var_u32(CPU, 4);
    assert_int_equal(a, ids[7]); /* the lowest free one first */
    assert_int_equal(b, ids[77]);
    assert_int_equal(c, ids[150]);
    assert_int_equal(d, ids[199] + 1);
    jit_var_dec_ref(ids[3]);
    jit_set_flag(JitFlagReuseIndices, 0);
    uint32_t e = jit_var_u32(CPU, 5);
    assert_int_equal(e, d + 1);
    jit_set_flag(JitFlagReuseIndices, 1);
    uint32_t f = jit_var_u32(CPU, 6);
    assert_int_equal(f, ids[3]);
    for (uint32_t i = 0; i < 200; ++i)
        if (i != 150 && i != 7 && i != 77 && i != 3)
            jit_var_dec_ref(ids[i]);
    DROP(a, b, c, d, e, f);
    assert_int_equal(var_table.live, 0);
}

static void test_references(void **unused)
{
    (void) unused;
    uint32_t a = jit_var_counter(CPU, 10);
    assert_int_equal(jit_var_ref(a), 1);
    assert_int_equal(jit_var_inc_ref(a), a);
    assert_int_equal(jit_var_inc_ref_ext(a), a);
    assert_int_equal(jit_var_ref(a), 3);
    jit_var_dec_ref(a);
    jit_var_dec_ref_ext(a);
    uint32_t b = jit_var_not(a); /* holds its operand */
    assert_int_equal(jit_var_ref(a), 2);
    jit_var_schedule(b);
    assert_int_equal(jit_var_ref(b), 2);
    OK(jit_eval());
    assert_int_equal(jit_var_ref(b), 1);
    assert_int_equal(jit_var_ref(a), 1); /* let go once it is evaluated */
    uint32_t c = jit_var_neg(b), d = jit_var_abs(c);
    jit_var_dec_ref(c);
    assert_int_equal(jit_var_ref(c), 1); /* by d */
    const uint32_t many[] = { a, 0, b, a };
    OK(jit_var_inc_refs(4, many) && jit_var_inc_refs(0, NULL));
    assert_int_equal(jit_var_ref(a), 3);
    assert_int_equal(jit_var_ref(b), 3); /* by c, too */
    jit_var_dec_refs(4, many);
    jit_var_dec_refs(0, NULL);
    assert_int_equal(jit_var_ref(a), 1);
    assert_int_equal(jit_var_ref(b), 2);
    jit_var_dec_ref(d);
    assert_int_equal(jit_var_ref(c), 0);
    DROP(a, b);
    assert_int_equal(var_table.live, 0);

    /* A wide tree goes in one piece. */
    uint32_t x = u32_array(1, (uint32_t[]){ 3 });
    for (int i = 0; i < 1000; ++i) {
        uint32_t next = jit_var_mul(x, x);
        jit_var_dec_ref(x);
        x = next;
    }
    assert_int_equal(var_table.live, 1001);
    jit_var_dec_ref(x);
    assert_int_equal(var_table.live, 0);
}

/* -------------------------------------------------------------------- names */

static void test_labels(void **unused)
{
    (void) unused;
    uint32_t a = jit_var_counter(CPU, 10);
    assert_null(jit_var_label(a));
    uint32_t b = jit_var_set_label(a, "ray");
    assert_int_equal(a, b); /* nobody shares it */
    assert_string_equal(jit_var_label(a), "ray");
    uint32_t c = jit_var_set_label(a, "other"); /* shared now */
    assert_int_not_equal(a, c);
    assert_string_equal(jit_var_label(a), "ray");
    assert_string_equal(jit_var_label(c), "other");
    CHECK_U32(c, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    OK(jit_prefix_push(CPU, "scene") && jit_prefix_push(CPU, "bsdf"));
    uint32_t x = u32_array(1, (uint32_t[]){ 1 }), y = jit_var_set_label(x, "albedo");
    assert_string_equal(jit_var_label(y), "scene/bsdf/albedo");
    OK(jit_prefix_pop(CPU));
    uint32_t z = jit_var_set_label(y, "again");
    assert_string_equal(jit_var_label(z), "scene/again");
    OK(jit_prefix_pop(CPU));
    uint32_t w = jit_var_set_label(z, NULL);
    assert_null(jit_var_label(w));
    /* Labels travel with evaluation, and the text is a copy. */
    char text[] = "mutable";
    uint32_t p = jit_var_not(x), q = jit_var_set_label(p, text);
    text[0] = 'X';
    OK(jit_var_eval(q));
    assert_string_equal(jit_var_label(q), "mutable");
    DROP(a, b, c, x, y, z, w, p, q);
}

static void test_whos(void **unused)
{
    (void) unused;
    assert_non_null(strstr(jit_var_whos(), "No variables registered"));
    uint32_t a = jit_var_counter(CPU, 1234), l = jit_var_f64(CPU, 2.5);
    uint32_t m = array_of(VarTypeInt16, (int16_t[1000]){ 0 }, 1000);
    uint32_t b = jit_var_set_label(m, "table");
    const char *whos = jit_var_whos();
    const struct {
        uint32_t id;
        const char *parts[4];
    } rows[] = { { a, { "u32", "unevaluated", "1234", "" } },
                 { l, { "f64", "literal", " 1 ", "" } },
                 { m, { "i16", "evaluated", "1000", "table" } } };
    for (size_t i = 0; i < COUNT_OF(rows); ++i) {
        char start[20], row[200];
        snprintf(start, sizeof(start), "\n  %u ", rows[i].id);
        const char *found = strstr(whos, start);
        assert_non_null(found);
        snprintf(row, sizeof(row), "%.*s", (int) strcspn(found + 1, "\n"), found + 1);
        for (int k = 0; k < 4; ++k)
            assert_non_null(strstr(row, rows[i].parts[k]));
    }
    assert_null(strstr(whos, "No variables"));
    DROP(a, l, m, b);
}

/* Braces and quotes are balanced, each edge leads from and to a node. */
static void check_dot(const char *text)
{
    bool quoted = false, nodes[4096] = { false };
    int depth = 0;
    assert_int_equal(strncmp(text, "digraph", 7), 0);
    for (const char *p = text; *p; ++p) {
        if (quoted && *p == '\\') {
            assert_true(p[1] != 0);
            ++p;
        } else if (*p == '"') {
            quoted = !quoted;
        } else if (!quoted && (*p == '{' || *p == '[')) {
            depth++;
        } else if (!quoted && (*p == '}' || *p == ']')) {
            depth--;
        }
        assert_true(depth >= 0);
    }
    assert_false(quoted);
    assert_int_equal(depth, 0);
    for (int pass = 0; pass < 2; ++pass)
        for (const char *p = text; p && *p;
             p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
            unsigned from, to;
            if (sscanf(p, " %u -> %u", &from, &to) == 2) {
                if (pass)
                    assert_true(from < 4096 && to < 4096 && nodes[from] && nodes[to]);
            } else if (sscanf(p, " %u [", &from) == 1 && from < 4096) {
                nodes[from] = true;
            }
        }
}

static void test_graphviz(void **unused)
{
    (void) unused;
    check_dot(jit_var_graphviz());
    uint32_t c = jit_var_counter(CPU, 10), f = jit_var_cast(c, VarTypeFloat32, 0);
    uint32_t x = u32_array(3, (uint32_t[]){ 1, 2, 3 }), g = jit_var_gather(x, c, 0);
    uint32_t s = jit_var_sqrt(f), l = jit_var_set_label(s, "a \"b\" {c|d} <e> \\");
    uint32_t packet[4], y = literal_of(VarTypeUInt32, 1, 8);
    uint32_t z = jit_var_schedule_force(y, NULL);
    OK(jit_eval() && jit_var_gather_packet(4, z, c, 0, packet));
    const char *dot = jit_var_graphviz();
    check_dot(dot);
    char edge[40];
    snprintf(edge, sizeof(edge), " %u -> %u ", c, f);
    assert_non_null(strstr(dot, edge));
    assert_non_null(strstr(dot, "sqrt"));
    DROP(c, f, x, g, s, l, y, z);
    drop_all(packet, 4);
}

/* ---------------------------------------------------------------- registry */

static void test_registry(void **unused)
{
    (void) unused;
    int objects[10];
    void *found[10];
    for (uint32_t i = 0; i < 5; ++i)
        assert_int_equal(jit_registry_put("llvm", "Shape", &objects[i]), i + 1);
    assert_int_equal(jit_registry_put("llvm", "BSDF", &objects[5]),
                     1); /* domains of their own */
    assert_int_equal(jit_registry_put("cuda", "Shape", &objects[6]), 1);
    assert_int_equal(jit_registry_id_bound("llvm", "Shape"), 5);
    assert_int_equal(jit_registry_id_bound("llvm", "BSDF"), 1);
    assert_int_equal(jit_registry_id_bound("llvm", "Nothing"), 0);
    for (uint32_t i = 0; i < 5; ++i) {
        assert_int_equal(jit_registry_id(&objects[i]), i + 1);
        assert_ptr_equal(jit_registry_ptr("llvm", "Shape", i + 1), &objects[i]);
    }
    assert_null(jit_registry_ptr("llvm", "Shape", 0));
    assert_null(jit_registry_ptr("llvm", "Shape", 6));
    OK(jit_registry_remove(&objects[3]));
    OK(jit_registry_remove(&objects[1]));
    assert_int_equal(jit_registry_id(&objects[1]), 0);
    assert_null(jit_registry_ptr("llvm", "Shape", 2));
    assert_int_equal(jit_registry_id_bound("llvm", "Shape"), 5);
    jit_registry_get_pointers("llvm", "Shape", found);
    for (uint32_t i = 0; i < 5; ++i)
        assert_ptr_equal(found[i], i == 1 || i == 3 ? NULL : (void *) &objects[i]);
    assert_int_equal(jit_registry_put("llvm", "Shape", &objects[7]),
                     2); /* lowest first */
    assert_int_equal(jit_registry_put("llvm", "Shape", &objects[8]), 4);
    assert_int_equal(jit_registry_put("llvm", "Shape", &objects[9]), 6);
    assert_non_null(jit_registry_peek("llvm", "Shape"));
    assert_null(jit_registry_peek("llvm", "Nothing"));
    OK(jit_registry_remove(&objects[9]));
    OK(jit_registry_remove(&objects[4]));
    assert_int_equal(jit_registry_id_bound("llvm", "Shape"), 4);
    jit_registry_clear();
    assert_int_equal(jit_registry_id_bound("llvm", "Shape"), 0);
    assert_int_equal(jit_registry_id(&objects[0]), 0);
    assert_null(jit_registry_peek("llvm", "BSDF"));
    assert_int_equal(jit_registry_put("llvm", "Shape", &objects[0]), 1);

    /* Many objects, removed in another order. */
    static char many[3000];
    for (uint32_t i = 0; i < 3000; ++i)
        assert_int_equal(jit_registry_put("v", "d", &many[i]), i + 1);
    for (uint32_t i = 0; i < 3000; ++i)
        OK(jit_registry_remove(&many[i * 7 % 3000]));
    assert_int_equal(jit_registry_id_bound("v", "d"), 0);
    assert_null(jit_registry_peek("v", "d"));
    jit_registry_clear();
}

/* ------------------------------------------------------------------- flags */

static void test_flags(void **unused)
{
    (void) unused;
    assert_int_equal(jit_flags(), JitFlagDefault);
    jit_set_flag(JitFlagDebug, 1);
    assert_true(jit_flag(JitFlagDebug));
    assert_int_equal(jit_flags(), JitFlagDefault | JitFlagDebug);
    jit_set_flag(JitFlagDebug, 0);
    assert_false(jit_flag(JitFlagDebug));
    jit_set_flags(JitFlagPrintIR);
    assert_int_equal(jit_flags(), JitFlagPrintIR);
    jit_set_flags(JitFlagDefault);
    /* Everything off: slower, never different. */
    jit_set_flags(0);
    uint32_t c = jit_var_counter(CPU, 4), two = jit_var_u32(CPU, 2),
             zero = jit_var_u32(CPU, 0);
    uint32_t a = jit_var_mul(c, two), b = jit_var_add(a, zero),
             d = jit_var_gather(b, c, 0);
    CHECK_U32(d, 0, 2, 4, 6);
    DROP(c, two, zero, a, b, d);
}

/* A program text is what an evaluation would run, and asking for it changes nothing. */
static void test_program_text(void **unused)
{
    (void) unused;
    uint32_t c = jit_var_counter(CPU, 10), f = jit_var_cast(c, VarTypeFloat32, 0);
    uint32_t s = jit_var_sqrt(f);
    char *text = strdup(jit_program_str(s));
    const char *const parts[] = { "counter", "cast", "sqrt", "store", "f32", "u32" };
    for (size_t i = 0; i < COUNT_OF(parts); ++i)
        assert_non_null(strstr(text, parts[i]));
    assert_int_equal(jit_var_state(s), VarStateUnevaluated);
    assert_string_equal(jit_program_str(s), text);
    free(text);
    DROP(c, f, s);
}

/* The table of value numbering and that of variables end where their indices do: the
 * former stays as it is, the latter gives an error. */
static void test_most_variables(void **unused)
{
    (void) unused;
    double value = 7.125;
    const LvnTable numbering = lvn_table;
    lvn_table.capacity = 1u << 31;
    lvn_table.count = 1u << 30;
    assert_false(lvn_grow());
    assert_true(lvn_table.heads == numbering.heads);
    assert_true(lvn_table.capacity == 1u << 31);
    lvn_table = numbering;

    const VarTable variables = var_table;
    var_table.chunk_count = UINT32_MAX / VAR_CHUNK;
    var_table.end = var_table.chunk_count * VAR_CHUNK;
    var_table.free_count = 0;
    uint32_t x = jit_var_literal(CPU, VarTypeFloat64, &value, 1, 0);
    var_table = variables;
    assert_int_equal(x, 0);
    CHECK_ERROR(JIT_ERROR_MEMORY, "too many variables");
    x = jit_var_literal(CPU, VarTypeFloat64, &value, 1, 0);
    OK(x);
    DROP(x);
}

/* Copies of the largest targets are further apart than 32 bits can say. */
static void test_distance_of_copies(void **unused)
{
    (void) unused;
    const Var largest = { .own_lanes = UINT32_MAX }, small = { .own_lanes = 65 };
    assert_true(expand_stride(&largest) == UINT64_C(0x100000080));
    assert_true(expand_stride(&small) == 192);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_value_numbering),
        TEST(test_folding_flag),
        TEST(test_fast_math),
        TEST(test_simplifications),
        TEST(test_fast_path),
        TEST(test_identities),
        TEST(test_reuse),
        TEST(test_references),
        TEST(test_labels),
        TEST(test_whos),
        TEST(test_graphviz),
        TEST(test_registry),
        TEST(test_flags),
        TEST(test_program_text),
        TEST(test_most_variables),
        TEST(test_distance_of_copies),
    };
    return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}

int main(void)
{
    return run_engines(run);
}
