/*
 * test_ops.c -- every arithmetic operation and cast on every type, by every engine
 *
 * The list of operations comes from ops.def, what a cell means from ops_reference.h. A
 * cell that is neither defined there and computed here nor rejected with a message
 * fails. Each cell is computed from folded literals, from arrays of several sizes, and
 * from arrays mixed with literals and opaque scalars, and all of these must give the
 * same bits (NaN payloads aside).
 */
#include "ops_reference.h"

enum {
#define OP(name, ...) ROW_##name,
#include "ir/ops.def"
#undef OP
};

/* The rows from NEG to HYPOT are the first JitOps; those after SELECT are functions,
 * which test_math.c looks at. */
static const char *const all_rows[] = {
#define OP(name, text, ...) text,
#include "ir/ops.def"
#undef OP
};
static const char *const *const names = all_rows + ROW_NEG;
#define OPS (ROW_SELECT - ROW_NEG + 1)
_Static_assert(ROW_HYPOT - ROW_NEG == (int) JitOpHypot,
               "ops.def and JitOp list the same arithmetic");

static void compare(const char *what, VarType operand, VarType type, bool exact, Args x,
                    uint64_t found, uint64_t expected)
{
    if (found == expected || (!exact && is_nan(type, found) && is_nan(type, expected)))
        return;
    fail_msg("%s of %s (0x%llx, 0x%llx, 0x%llx, %d) is %s 0x%llx, expected 0x%llx",
             what, type_of(operand)->name, (unsigned long long) x.a,
             (unsigned long long) x.b, (unsigned long long) x.c, x.m,
             type_of(type)->name, (unsigned long long) found,
             (unsigned long long) expected);
}

/* Operations that move bits keep NaN payloads, too. */
static bool moves_bits(JitOp op)
{
    return op == JitOpNeg || op == JitOpAbs || op == JitOpCopysign || op == JitOpSelect;
}

/* ------------------------------------------------------------------ values */

/* Ends, zeros, ones, powers of two and their neighbours; for floats also denormals,
 * infinities, NaNs with payloads, and values halfway between two integers or halves. */
static uint32_t special_values(VarType type, uint64_t *out)
{
    const TestType *t = type_of(type);
    unsigned width = t->size * 8;
    uint64_t mask = ones_of(width), top = UINT64_C(1) << (width - 1);
    uint32_t n = 0;
    if (t->kind == 'b') {
        out[n++] = 0;
        out[n++] = 1;
        return n;
    }
    if (t->kind != 'f') {
        uint64_t list[] = { 0,
                            1,
                            mask,
                            2,
                            mask - 1,
                            top,
                            top - 1,
                            top + 1,
                            3,
                            5,
                            7,
                            width,
                            width - 1,
                            width + 1,
                            10,
                            mask - 9,
                            UINT64_C(0x5555555555555555),
                            UINT64_C(0xaaaaaaaaaaaaaaaa),
                            UINT64_C(0x123456789abcdef1) };
        for (size_t i = 0; i < COUNT_OF(list); ++i)
            out[n++] = list[i] & mask;
        for (unsigned i = 2; i < width - 1; i += width / 8)
            out[n++] = UINT64_C(1) << i;
        return n;
    }
    unsigned mantissa = width == 16 ? 10 : width == 32 ? 23 : 52;
    uint64_t infinity = ones_of(width - 1) & ~ones_of(mantissa),
             one = float_bits(type, 1);
    double list[] = { 0.5,
                      1.5,
                      2.5,
                      2,
                      3,
                      10,
                      0.1,
                      127.5,
                      255.5,
                      256,
                      2048,
                      2049,
                      32767.5,
                      65504,
                      65519,
                      1e-7,
                      0.33333333333333331 };
    uint64_t raw[] = { 0,
                       1,
                       2,
                       ones_of(mantissa),
                       ones_of(mantissa) + 1,
                       infinity - 1,
                       infinity,
                       infinity | 1,
                       infinity | UINT64_C(1) << (mantissa - 1),
                       one,
                       one + 1,
                       one - 1 };
    for (size_t i = 0; i < COUNT_OF(raw); ++i) {
        out[n++] = raw[i];
        out[n++] = raw[i] | top;
    }
    for (size_t i = 0; i < COUNT_OF(list); ++i)
        out[n++] = float_bits(type, i & 1 ? -list[i] : list[i]);
    return n;
}

static uint64_t random_value(VarType type)
{
    const TestType *t = type_of(type);
    uint64_t bits = random_bits();
    if (t->kind == 'b')
        return bits & 1;
    if (t->kind == 'f' && (bits >> 32 & 1)) /* of ordinary magnitude */
        return float_bits(type, ((double) (int32_t) bits) / 65536.0);
    return bits & ones_of(t->size * 8);
}

/* All pairs of special values, then random ones. */
typedef struct Data {
    VarType type;
    uint32_t entry, count;
    Args *args;
    void *a, *b, *c;
    uint8_t *m;
} Data;

static void make_data(Data *d, VarType type)
{
    uint64_t special[64];
    uint32_t n = special_values(type, special), i = 0;
    d->type = type;
    d->entry = type_of(type)->size;
    d->count = n * n + 1000;
    d->args = calloc(d->count, sizeof(Args));
    d->a = calloc(d->count, 8);
    d->b = calloc(d->count, 8);
    d->c = calloc(d->count, 8);
    d->m = calloc(d->count, 1);
    for (; i < d->count; ++i) {
        bool pair = i < n * n;
        Args x = { pair ? special[i / n] : random_value(type),
                   pair ? special[i % n] : random_value(type),
                   i & 1 ? special[random_bits() % n] : random_value(type),
                   random_bits() & 1 };
        d->args[i] = x;
        put_bits(d->a, d->entry, i, x.a);
        put_bits(d->b, d->entry, i, x.b);
        put_bits(d->c, d->entry, i, x.c);
        d->m[i] = x.m;
    }
}

static void free_data(Data *d)
{
    free(d->args);
    free(d->a);
    free(d->b);
    free(d->c);
    free(d->m);
}

/* ---------------------------------------------------------------- applying */

static uint32_t apply(JitOp op, uint32_t a, uint32_t b, uint32_t c, uint32_t m)
{
    uint32_t args[3] = { a, b, c };
    if (op == JitOpSelect) {
        args[0] = m;
        args[1] = a;
        args[2] = b;
    }
    return jit_var_op(op, args);
}

static bool is_defined(JitOp op, VarType type)
{
    uint64_t ignored;
    return reference(op, type, (Args){ 1, 1, 1, true }, &ignored);
}

/* Results of all operations on these operands, in one kernel, compared with the
 * reference. 'args' gives the operands of a lane. */
static void check_all(const Data *d, const char *how, uint32_t a, uint32_t b,
                      uint32_t c, uint32_t m, uint32_t size,
                      Args (*args)(const Data *, uint32_t))
{
    uint32_t results[OPS] = { 0 };
    for (JitOp op = 0; (int) op < OPS; ++op) {
        if (!is_defined(op, d->type))
            continue;
        results[op] = apply(op, a, b, c, m);
        OK(results[op]);
        assert_int_equal(jit_var_type(results[op]), result_type(op, d->type));
        jit_var_schedule(results[op]);
    }
    OK(jit_eval());
    for (JitOp op = 0; (int) op < OPS; ++op) {
        if (!results[op])
            continue;
        VarType type = result_type(op, d->type);
        uint32_t entry = type_of(type)->size;
        /* The size of an identity like x & x or a constant may be that of its operand.
         */
        bool uniform = jit_var_size(results[op]) == 1;
        void *data;
        uint32_t stored = data_of(results[op], &data);
        OK(stored);
        char what[100];
        snprintf(what, sizeof(what), "%s (%s, %u lanes)", names[op], how, size);
        for (uint32_t i = 0; i < size; ++i) {
            uint64_t expected;
            Args x = args(d, i);
            reference(op, d->type, x, &expected);
            compare(what, d->type, type, moves_bits(op), x,
                    get_bits(data, entry, uniform ? 0 : i), expected);
        }
        DROP(stored, results[op]);
    }
}

static Args plain_args(const Data *d, uint32_t i)
{
    return d->args[i];
}

/* One of the operands is the same in all lanes: that of lane 'fixed'. */
static uint32_t fixed;
static Args fixed_a(const Data *d, uint32_t i)
{
    Args x = d->args[i];
    x.a = d->args[fixed].a;
    return x;
}
static Args fixed_b(const Data *d, uint32_t i)
{
    Args x = d->args[i];
    x.b = d->args[fixed].b;
    return x;
}
static Args fixed_cm(const Data *d, uint32_t i)
{
    Args x = d->args[i];
    x.c = d->args[fixed].c;
    x.m = d->args[fixed].m;
    return x;
}

/* ------------------------------------------------------------------- tests */

static void test_arrays(void **unused)
{
    (void) unused;
    jit_set_flag(JitFlagFastMath, 0);
    for (size_t t = 0; t < COUNT_OF(test_types); ++t) {
        Data d;
        make_data(&d, test_types[t].type);
        const uint32_t sizes[] = { 1, 17, d.count < 1000 ? d.count : 1000, d.count };
        for (size_t s = 0; s < COUNT_OF(sizes); ++s) {
            uint32_t n = sizes[s];
            uint32_t a = array_of(d.type, d.a, n), b = array_of(d.type, d.b, n);
            uint32_t c = array_of(d.type, d.c, n), m = array_of(VarTypeBool, d.m, n);
            check_all(&d, "arrays", a, b, c, m, n, plain_args);
            DROP(a, b, c, m);
        }
        free_data(&d);
    }
}

static void test_mixed(void **unused)
{
    (void) unused;
    jit_set_flag(JitFlagFastMath, 0);
    for (size_t t = 0; t < COUNT_OF(test_types); ++t) {
        Data d;
        make_data(&d, test_types[t].type);
        uint32_t n = d.count;
        uint32_t a = array_of(d.type, d.a, n), b = array_of(d.type, d.b, n);
        uint32_t c = array_of(d.type, d.c, n), m = array_of(VarTypeBool, d.m, n);
        for (uint32_t round = 0; round < 14; ++round) {
            /* The first pairs have the most special second operands. */
            fixed = round < 9 ? round * 2 : (uint32_t) (random_bits() % n);
            Args x = d.args[fixed];
            bool opaque = round % 3 == 2;
            uint32_t u[4];
            if (opaque) {
                u[0] = jit_var_literal(CPU, d.type, &x.a, 1, 1);
                u[1] = jit_var_literal(CPU, d.type, &x.b, 1, 1);
                u[2] = jit_var_literal(CPU, d.type, &x.c, 1, 1);
                u[3] = jit_var_literal(CPU, VarTypeBool, &x.m, 1, 1);
            } else {
                u[0] = literal_of(d.type, x.a, 1);
                u[1] = literal_of(d.type, x.b, 1);
                u[2] = literal_of(d.type, x.c, 1);
                u[3] = literal_of(VarTypeBool, x.m, 1);
            }
            const char *how = opaque ? "opaque scalar" : "literal";
            check_all(&d, how, u[0], b, c, m, n, fixed_a);
            check_all(&d, how, a, u[1], c, m, n, fixed_b);
            check_all(&d, how, a, b, u[2], u[3], n, fixed_cm);
            drop_all(u, 4);
        }
        DROP(a, b, c, m);
        free_data(&d);
    }
}

static void test_folding(void **unused)
{
    (void) unused;
    jit_set_flag(JitFlagFastMath, 0);
    for (size_t t = 0; t < COUNT_OF(test_types); ++t) {
        Data d;
        make_data(&d, test_types[t].type);
        for (uint32_t i = 0; i < d.count; ++i) {
            Args x = d.args[i];
            uint32_t a = literal_of(d.type, x.a, 1), b = literal_of(d.type, x.b, 1);
            uint32_t c = literal_of(d.type, x.c, 1),
                     m = literal_of(VarTypeBool, x.m, 1);
            for (JitOp op = 0; (int) op < OPS; ++op) {
                uint64_t expected;
                if (!reference(op, d.type, x, &expected))
                    continue;
                VarInfo info;
                uint32_t r = apply(op, a, b, c, m);
                OK(r && jit_var_info(r, &info));
                assert_int_equal(info.state, VarStateLiteral);
                assert_int_equal(info.type, result_type(op, d.type));
                compare(names[op], d.type, info.type, moves_bits(op), x, info.literal,
                        expected);
                jit_var_dec_ref(r);
            }
            DROP(a, b, c, m);
        }
        free_data(&d);
    }
}

/* A cell that is not defined is rejected, and the message says so. */
static void test_undefined_cells(void **unused)
{
    (void) unused;
    uint32_t defined = 0, rejected = 0;
    for (size_t t = 0; t < COUNT_OF(test_types); ++t) {
        const TestType *type = &test_types[t];
        uint8_t memory[16 * 3] = { 0 };
        uint32_t a = array_of(type->type, memory, 3), m = literal_of(VarTypeBool, 1, 1);
        for (JitOp op = 0; (int) op < OPS; ++op) {
            uint32_t r = apply(op, a, a, a, m);
            if (is_defined(op, type->type)) {
                OK(r);
                assert_int_equal(jit_var_type(r), result_type(op, type->type));
                jit_var_dec_ref(r);
                defined++;
            } else {
                if (r)
                    fail_msg("%s takes type %s", names[op], type->name);
                char function[40];
                snprintf(function, sizeof(function), "jit_var_%s()", names[op]);
                CHECK_ERROR(JIT_ERROR_ARGUMENT, function, "not defined", type->name);
                rejected++;
            }
        }
        DROP(a, m);
    }
    assert_int_equal(defined + rejected, OPS * COUNT_OF(test_types));
}

static void test_operand_mismatch(void **unused)
{
    (void) unused;
    for (size_t t = 0; t < COUNT_OF(test_types); ++t) {
        for (size_t s = 0; s < COUNT_OF(test_types); ++s) {
            const TestType *x = &test_types[t], *y = &test_types[s];
            uint8_t memory[16 * 4] = { 0 };
            uint32_t a = array_of(x->type, memory, 3), b = array_of(y->type, memory, 3);
            uint32_t m = literal_of(VarTypeBool, 1, 1);
            for (JitOp op = JitOpAdd; s != t && (int) op < OPS; ++op) {
                bool mask_form = (op == JitOpAnd || op == JitOpOr) && y->kind == 'b' &&
                                 x->kind != 'p';
                if (!is_defined(op, x->type) || mask_form)
                    continue;
                assert_int_equal(apply(op, a, b, a, m), 0);
                CHECK_ERROR(JIT_ERROR_ARGUMENT, names[op], x->name, y->name,
                            "expected");
            }
            DROP(a, b, m);
        }
        uint8_t memory[16 * 4] = { 0 };
        uint32_t a = array_of(test_types[t].type, memory, 3);
        uint32_t b = array_of(test_types[t].type, memory, 4);
        assert_int_equal(jit_var_eq(a, b), 0);
        CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_eq()", "sizes 3 and 4");
        assert_int_equal(jit_var_select(a, a, a) != 0, test_types[t].kind == 'b');
        if (test_types[t].kind == 'b')
            jit_var_dec_ref(a); /* select(a, a, a) is a */
        else
            CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_select()", "operand 1",
                        "expected bool");
        DROP(a, b);
    }
}

/* a & mask, a | mask */
static void test_mask_forms(void **unused)
{
    (void) unused;
    for (size_t t = 0; t < COUNT_OF(test_types); ++t) {
        const TestType *type = &test_types[t];
        if (type->kind == 'p')
            continue;
        Data d;
        make_data(&d, type->type);
        uint32_t n = 300;
        uint32_t a = array_of(d.type, d.a, n), m = array_of(VarTypeBool, d.m, n);
        uint32_t both = jit_var_and(a, m), either = jit_var_or(a, m);
        uint64_t ones = type->kind == 'b' ? 1 : ones_of(type->size * 8);
        uint8_t expected[2][300 * 8];
        for (uint32_t i = 0; i < n; ++i) {
            put_bits(expected[0], d.entry, i, d.m[i] ? d.args[i].a : 0);
            put_bits(expected[1], d.entry, i, d.m[i] ? ones : d.args[i].a);
        }
        CHECK_BYTES(both, expected[0], n);
        CHECK_BYTES(either, expected[1], n);
        DROP(a, m, both, either);
        free_data(&d);
    }
}

/* ------------------------------------------------------------------- casts */

/* What is wrong with this cast, NULL if it is defined. */
static const char *cast_fault(const TestType *from, const TestType *to,
                              bool reinterpret)
{
    if (from->type == to->type)
        return NULL;
    if (reinterpret && from->size != to->size)
        return "cannot reinterpret";
    if (reinterpret && (from->kind == 'b' || to->kind == 'b'))
        return "masks";
    if (!reinterpret && (from->kind == 'p' || to->kind == 'p'))
        return "cannot convert";
    return NULL;
}

static void check_cast(const Data *d, const TestType *to, bool reinterpret)
{
    enum { FOLDED = 40 };
    uint32_t a = array_of(d->type, d->a, d->count);
    uint32_t r = jit_var_cast(a, to->type, reinterpret);
    const char *fault = cast_fault(type_of(d->type), to, reinterpret);
    if (fault) {
        assert_int_equal(r, 0);
        CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_cast()", fault, type_of(d->type)->name,
                    to->name);
        jit_var_dec_ref(a);
        return;
    }
    OK(r);
    assert_int_equal(jit_var_type(r), to->type);
    void *data;
    uint32_t stored = data_of(r, &data);
    OK(stored);
    for (uint32_t i = 0; i < d->count; ++i) {
        Args x = d->args[i];
        bool keeps = reinterpret || d->type == to->type;
        uint64_t expected = keeps ? x.a : cast_reference(d->type, to->type, x.a);
        compare(reinterpret ? "bitcast" : "cast", d->type, to->type, keeps, x,
                get_bits(data, to->size, i), expected);
        if (i % (d->count / FOLDED + 1) && i > 100)
            continue;
        VarInfo info;
        uint32_t l = literal_of(d->type, x.a, 1);
        uint32_t folded = jit_var_cast(l, to->type, reinterpret);
        OK(folded && jit_var_info(folded, &info));
        assert_int_equal(info.state, VarStateLiteral);
        compare("folded cast", d->type, to->type, keeps, x, info.literal, expected);
        DROP(l, folded);
    }
    DROP(a, r, stored);
}

/* More values where rounding and saturation of casts change. */
static void add_borders(Data *d)
{
    const TestType *t = type_of(d->type);
    if (t->kind != 'f' && t->kind != 'i' && t->kind != 'u')
        return;
    for (uint32_t i = 0; i < 400; ++i) {
        uint32_t at = d->count - 1 - i;
        int exponent = (int) (i / 6);
        uint64_t bits;
        if (t->kind == 'f') {
            double edge = ldexp(1, exponent) * (i % 2 ? -1 : 1);
            bits = float_bits(d->type, edge) + (uint64_t) (int64_t) ((int) (i % 3) - 1);
        } else { /* halfway between two floats, and next to it */
            bits = (UINT64_C(3) << (exponent % 62)) + (i % 6) - 2;
        }
        bits &= ones_of(t->size * 8);
        d->args[at].a = bits;
        put_bits(d->a, d->entry, at, bits);
    }
}

static void test_casts(void **unused)
{
    (void) unused;
    for (size_t f = 0; f < COUNT_OF(test_types); ++f) {
        Data d;
        make_data(&d, test_types[f].type);
        add_borders(&d);
        for (size_t t = 0; t < COUNT_OF(test_types); ++t) {
            check_cast(&d, &test_types[t], false);
            check_cast(&d, &test_types[t], true);
        }
        free_data(&d);
    }
}

/* ------------------------------------------------------- names and spellings */

/* Every JitOp has its own function, with the same result. */
static void test_functions(void **unused)
{
    (void) unused;
    uint32_t (*const unary[])(uint32_t) = { jit_var_neg,   jit_var_not,   jit_var_sqrt,
                                            jit_var_rcp,   jit_var_abs,   jit_var_ceil,
                                            jit_var_floor, jit_var_round, jit_var_trunc,
                                            jit_var_popc,  jit_var_clz,   jit_var_ctz,
                                            jit_var_brev };
    uint32_t (*const binary[])(uint32_t, uint32_t) = {
        jit_var_add,    jit_var_sub,      jit_var_mul, jit_var_div, jit_var_mod,
        jit_var_mul_hi, jit_var_mul_wide, jit_var_min, jit_var_max, jit_var_fmin,
        jit_var_fmax,   jit_var_copysign, jit_var_eq,  jit_var_neq, jit_var_lt,
        jit_var_le,     jit_var_gt,       jit_var_ge,  jit_var_and, jit_var_or,
        jit_var_xor,    jit_var_shl,      jit_var_shr
    };
    uint32_t data[] = { 12, 5, 9 };
    uint32_t i = u32_array(3, data), f = jit_var_cast(i, VarTypeFloat32, 0);
    uint32_t j = jit_var_not(i), g = jit_var_neg(f), m = jit_var_lt(i, j);
    for (uint32_t op = 0; op < OPS; ++op) {
        bool integer = is_defined((JitOp) op, VarTypeUInt32);
        uint32_t a = integer ? i : f, b = integer ? j : g, direct, named, numbered;
        uint32_t args[] = { a, b, b };
        if (op < COUNT_OF(unary)) {
            direct = unary[op](a);
            numbered = jit_var_new_op_1((JitOp) op, a);
        } else if (op < COUNT_OF(unary) + COUNT_OF(binary)) {
            direct = binary[op - COUNT_OF(unary)](a, b);
            numbered = jit_var_new_op_2((JitOp) op, a, b);
        } else if (op == JitOpFma) {
            direct = jit_var_fma(a, b, b);
            numbered = jit_var_new_op_3(JitOpFma, a, b, b);
        } else {
            args[0] = m;
            args[1] = a;
            direct = jit_var_select(m, a, b);
            numbered = jit_var_new_op_3(JitOpSelect, m, a, b);
        }
        named = jit_var_op((JitOp) op, args);
        OK(direct && named && numbered);
        assert_int_equal(direct, named); /* value numbering: the same operation */
        assert_int_equal(direct, numbered);
        DROP(direct, named, numbered);
    }
    DROP(i, f, j, g, m);
}

/* jit_var_op_number() is jit_var_op() with a literal: the same variable, or an error
 * where that is one. Numbers are those that identities look for, and others. */
static void compare_number(JitOp op, uint32_t a, uint64_t bits, bool first)
{
    const VarType type = jit_var_type(a);
    uint32_t literal = jit_var_literal(CPU, type, &bits, 1, 0);
    uint32_t args[] = { first ? literal : a, first ? a : literal };
    uint32_t expected = jit_var_op(op, args);
    uint32_t found = jit_var_op_number(op, a, bits, first);
    if (found != expected)
        fail_msg("operation %d of %s and 0x%llx%s: r%u, expected r%u", (int) op,
                 type_of(type)->name, (unsigned long long) bits,
                 first ? ", in this order" : "", found, expected);
    DROP(literal, expected, found);
}

static void test_numbers(void **unused)
{
    (void) unused;
    static const VarType types[] = { VarTypeBool, VarTypeUInt8, VarTypeInt32,
                                     VarTypeUInt64, VarTypeFloat16, VarTypeFloat32,
                                     VarTypeFloat64 };
    static const JitOp ops[] = { JitOpAdd, JitOpSub, JitOpMul, JitOpDiv, JitOpMod,
                                 JitOpMin, JitOpMax, JitOpEq,  JitOpNeq, JitOpLt,
                                 JitOpLe,  JitOpAnd, JitOpOr,  JitOpXor, JitOpShl,
                                 JitOpStep };
    for (size_t t = 0; t < COUNT_OF(types); ++t) {
        uint64_t values[64];
        uint32_t count = special_values(types[t], values);
        uint32_t index = jit_var_counter(CPU, 3), a = jit_var_cast(index, types[t], 0);
        for (size_t k = 0; k < COUNT_OF(ops); ++k)
            for (uint32_t v = 0; v < 2 * count; ++v)
                compare_number(ops[k], a, values[v / 2], v % 2);
        DROP(index, a);
    }
    /* Bits beyond the type are none of the number's. */
    uint32_t x = jit_var_counter(CPU, 3);
    uint32_t one = jit_var_op_number(JitOpAdd, x, 1, 0);
    uint32_t wide = jit_var_op_number(JitOpAdd, x, UINT64_C(7) << 32 | 1, 0);
    OK(one);
    assert_int_equal(one, wide);
    DROP(x, one, wide);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_undefined_cells), TEST(test_operand_mismatch),
        TEST(test_functions),       TEST(test_mask_forms),
        TEST(test_folding),         TEST(test_arrays),
        TEST(test_mixed),           TEST(test_casts),
        TEST(test_numbers),
    };
    return cmocka_run_group_tests_name("ops", tests, NULL, NULL);
}

int main(void)
{
    return run_engines(run);
}
