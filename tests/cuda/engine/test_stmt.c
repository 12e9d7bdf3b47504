/*
 * test_stmt.c -- statements in PTX, on a device of the backend CUDA
 *
 * The device is the far one of c/far_device.h, whose memory the host cannot touch; its
 * kernels are PTX, which the simulator runs (ptx_sim_engine.h). Results are compared
 * with C expressions.
 */
#define TEST_FAR_DEVICE 0
#include "c/test_util.h"

#include <math.h>

#include "drjit-core/region.h"

/* What the core library's document shows, line by line. */
static void test_document(void **unused)
{
    (void) unused;
    uint32_t v0 = jit_var_new_stmt_0(/* backend = */ JitBackendCUDA,
                                     /* type    = */ VarTypeFloat32,
                                     /* stmt    = */ "mov.$t0 $r0, 0.5");
    uint32_t v1 = jit_var_new_counter(/* backend = */ JitBackendCUDA,
                                      /* size    = */ 10);
    uint32_t v2 = jit_var_new_cast(/* index       = */ v1,
                                   /* target_type = */ VarTypeFloat32,
                                   /* reinterpret = */ 0);
    uint32_t v3 = jit_var_new_op_2(JitOpAdd, v0, v2);
    uint32_t same = jit_var_new_stmt_2(/* backend = */ JitBackendCUDA,
                                       /* type    = */ VarTypeFloat32,
                                       /* stmt    = */ "add.$t0 $r0, $r1, $r2",
                                       /* op0     = */ v0,
                                       /* op1     = */ v2);
    OK(v0 && v1 && v2 && v3 && same);
    jit_var_dec_ref_ext(v0);
    jit_var_dec_ref_ext(v1);
    jit_var_dec_ref_ext(v2);
    CHECK_STR(v3, "[0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5]");
    CHECK_STR(same, "[0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5]");
    jit_var_dec_ref_ext(v3);
    jit_var_dec_ref_ext(same);
}

static void test_short_names(void **unused)
{
    (void) unused;
    uint32_t v0 = jit_var_new_0(CPU, VarTypeFloat32, "mov.$t0 $r0, 0.5");
    uint32_t a = u32_array(3, (uint32_t[]){ 1, 2, 3 }), b = jit_var_u32(CPU, 10);
    uint32_t v1 = jit_var_new_1(CPU, VarTypeUInt32, "mul.lo.$t0 $r0, $r1, $r1", a);
    uint32_t v2 = jit_var_new_2(CPU, VarTypeUInt32, "add.$t0 $r0, $r1, $r2", a, b);
    uint32_t v3 = jit_var_new_3(CPU, VarTypeUInt32, "mad.lo.$t0 $r0, $r1, $r2, $r3", a,
                                b, v1);
    uint32_t v4 = jit_var_new_4(CPU, VarTypeUInt32,
                                ".reg .$t0 x, y;$nsub.$t0 x, $r1, $r2;$n"
                                "sub.$t0 y, $r3, $r4;$nadd.$t0 $r0, x, y;",
                                b, a, v2, v1);
    OK(v0 && v1 && v2 && v3 && v4);
    CHECK_STR(v0, "[0.5]");
    CHECK_U32(v1, 1, 4, 9);
    CHECK_U32(v2, 11, 12, 13);
    CHECK_U32(v3, 11, 24, 39);
    CHECK_U32(v4, 9 + 10, 8 + 8, 7 + 4);
    DROP(v0, a, b, v1, v2, v3, v4);
}

/* ---------------------------------------------------------------------- escapes */

enum { ENTRIES = 70 };

/* $a, $b, $i, $s: a way through memory gives the same bits. */
static void check_memory(const TestType *t)
{
    static const char text[] =
        ".local .align 8 .b8 room_$i0_$i1[16];$n"
        "st.local.$a1 [room_$i0_$i1], $r1;$n"
        "st.local.$b1 [room_$i0_$i1+$s1], $r1;$n"
        "ld.local.$a0 $r0, [room_$i0_$i1+$s0];";
    static const char through_b[] = ".local .align 8 .b8 room[8];$n"
                                    "st.local.$a1 [room], $r1;$n"
                                    "ld.local.$b0 $r0, [room]";
    void *data = random_array(t->type, ENTRIES);
    uint32_t a = array_of(t->type, data, ENTRIES);
    uint32_t b = jit_var_new_stmt_1(CPU, t->type, text, a);
    uint32_t c = jit_var_new_stmt_1(CPU, t->type, through_b, b);
    uint32_t size = jit_var_new_stmt_1(CPU, VarTypeUInt32, "mov.u32 $r0, $s1", a);
    OK(a && b && c && size);
    OK(jit_var_schedule(b) && jit_var_schedule(c) && jit_eval()); /* one kernel */
    CHECK_BYTES(b, data, ENTRIES);
    CHECK_BYTES(c, data, ENTRIES);
    uint32_t sizes[ENTRIES];
    for (uint32_t i = 0; i < ENTRIES; ++i)
        sizes[i] = t->size;
    CHECK_BYTES(size, sizes, ENTRIES);
    DROP(a, b, c, size);
    free(data);
}

/* $b: bits of values that are registers of 16 bits and more, or predicates. */
static void check_bits(const TestType *t)
{
    char *x = random_array(t->type, ENTRIES), *y = random_array(t->type, ENTRIES);
    uint32_t a = array_of(t->type, x, ENTRIES), b = array_of(t->type, y, ENTRIES);
    uint32_t c = jit_var_new_stmt_2(CPU, t->type, "xor.$b0 $r0, $r1, $r2", a, b);
    for (size_t i = 0; i < (size_t) ENTRIES * t->size; ++i)
        x[i] ^= y[i];
    CHECK_BYTES(c, x, ENTRIES);
    DROP(a, b, c);
    free(x);
    free(y);
}

/* $t: types of arithmetic. */
static void check_sums(const TestType *t)
{
    char *x = random_array(t->type, ENTRIES), *y = random_array(t->type, ENTRIES);
    uint32_t a = array_of(t->type, x, ENTRIES), b = array_of(t->type, y, ENTRIES);
    uint32_t c = jit_var_new_stmt_2(CPU, t->type, "sub.$t0 $r0, $r1, $r2", a, b);
    for (uint32_t i = 0; i < ENTRIES; ++i)
        put_bits(x, t->size, i, get_bits(x, t->size, i) - get_bits(y, t->size, i));
    CHECK_BYTES(c, x, ENTRIES);
    DROP(a, b, c);
    free(x);
    free(y);
}

static void test_all_types(void **unused)
{
    (void) unused;
    for (size_t i = 0; i < COUNT_OF(test_types); ++i) {
        const TestType *t = &test_types[i];
        if (t->kind != 'b')
            check_memory(t);
        if (t->size > 1 || t->kind == 'b')
            check_bits(t);
        if ((t->kind == 'i' || t->kind == 'u') && t->size > 1)
            check_sums(t);
    }
}

/* 8 bits are sign- or zero-extended in registers of 16. */
static void test_narrow(void **unused)
{
    (void) unused;
    const int8_t s[] = { -128, -1, 0, 1, 127 };
    const uint8_t u[] = { 0, 1, 127, 128, 255 };
    uint32_t a = array_of(VarTypeInt8, s, 5), b = array_of(VarTypeUInt8, u, 5);
    uint32_t c = jit_var_new_2(CPU, VarTypeInt32, "mul.wide.s16 $r0, $r1, $r2", a, b);
    uint32_t d = jit_var_new_1(CPU, VarTypeUInt8, "add.u16 $r0, $r1, 200", b);
    uint32_t e = jit_var_new_1(CPU, VarTypeInt8, "cvt.$t0.$t1 $r0, $r1", b);
    CHECK_BYTES(c, ((int32_t[]){ 0, -1, 0, 128, 127 * 255 }), 5);
    CHECK_BYTES(d, ((uint8_t[]){ 200, 201, 71, 72, 199 }), 5);
    CHECK_BYTES(e, ((int8_t[]){ 0, 1, 127, -128, -1 }), 5);
    uint32_t wide = jit_var_cast(d, VarTypeUInt32, 0); /* in the same kernel */
    CHECK_U32(wide, 200, 201, 71, 72, 199);
    DROP(a, b, c, d, e, wide);
}

static void test_floats(void **unused)
{
    (void) unused;
    const float x[] = { 1.5f, -0.1f, 3e38f, 1e-40f, 0.f };
    const double y[] = { 0.1, -1e300, 5e-324, 3, -0.0 };
    uint32_t a = array_of(VarTypeFloat32, x, 5), b = array_of(VarTypeFloat64, y, 5);
    uint32_t c = jit_var_new_1(CPU, VarTypeFloat32, "mul.$t0 $r0, $r1, 0f3f400000", a);
    uint32_t d = jit_var_new_1(CPU, VarTypeFloat64, "fma.rn.$t0 $r0, $r1, $r1, $r1", b);
    uint32_t e = jit_var_new_1(CPU, VarTypeBool, "setp.lt.$t1 $r0, $r1, 0f00000000", a);
    uint32_t f = jit_var_new_3(CPU, VarTypeFloat32, "selp.$t0 $r0, $r2, $r3, $r1", e, c,
                               a);
    float cs[5], fs[5];
    double ds[5];
    uint8_t es[5];
    for (uint32_t i = 0; i < 5; ++i) {
        cs[i] = x[i] * 0.75f;
        ds[i] = fma(y[i], y[i], y[i]);
        es[i] = x[i] < 0;
        fs[i] = es[i] ? cs[i] : x[i];
    }
    CHECK_BYTES(f, fs, 5);
    CHECK_BYTES(c, cs, 5);
    CHECK_BYTES(d, ds, 5);
    CHECK_BYTES(e, es, 5);
    const uint16_t h[] = { 0x3c00, 0x4000, 0xc200 }; /* 1, 2, -3 */
    uint32_t g = array_of(VarTypeFloat16, h, 3);
    uint32_t k = jit_var_new_2(CPU, VarTypeFloat16, "add.$t0 $r0, $r1, $r2", g, g);
    CHECK_BYTES(k, ((uint16_t[]){ 0x4000, 0x4400, 0xc600 }), 3);
    DROP(a, b, c, d, e, f, g, k);
}

/* $o: the literal's bits, in every kernel. $$ and $n. */
static void test_constants(void **unused)
{
    (void) unused;
    for (uint32_t i = 0; i < 6; ++i) {
        uint32_t a = jit_var_u32(CPU, 7 * i), b = jit_var_counter(CPU, 3);
        uint32_t c = jit_var_new_2(CPU, VarTypeUInt32,
                                   ".reg .u32 a$$b; // $$r0$n"
                                   "mov.u32 a$$b, $o1; add.u32 $r0, a$$b, $r2",
                                   a, b);
        CHECK_U32(c, 7 * i, 7 * i + 1, 7 * i + 2);
        DROP(a, b, c);
    }
}

static void test_pointer(void **unused)
{
    (void) unused;
    const uint32_t values[] = { 10, 20, 30, 40 }, indices[] = { 3, 0, 2, 3, 1 };
    uint32_t a = u32_array(4, values), b = u32_array(5, indices);
    void *data;
    uint32_t stored = jit_var_data(a, &data);
    OK(stored);
    uint32_t p = jit_var_pointer(CPU, data, stored, 0);
    uint32_t c = jit_var_new_2(CPU, VarTypeUInt32,
                               ".reg .u64 at; mad.wide.u32 at, $r2, $s0, $r1;$n"
                               "ld.global.$a0 $r0, [at]",
                               p, b);
    CHECK_U32(c, 40, 10, 30, 40, 20);
    DROP(a, b, stored, p, c);
}

/* ----------------------------------------------------------------- control flow */

static const char collatz[] = /* steps from $r1 to 1 */
    ".reg .pred p; .reg .u32 x, odd;$n"
    "mov.u32 x, $r1; mov.u32 $r0, 0;$n"
    "again: setp.le.u32 p, x, 1;$n@p bra done;$n"
    "and.b32 odd, x, 1; setp.eq.u32 p, odd, 0;$n@p bra half;$n"
    "mad.lo.u32 x, x, 3, 1; bra next;$n"
    "half: shr.u32 x, x, 1;$n"
    "next: add.u32 $r0, $r0, 1; bra again;$n"
    "done:";

static uint32_t steps_of(uint32_t x)
{
    uint32_t steps = 0;
    for (; x > 1; ++steps)
        x = x % 2 ? 3 * x + 1 : x / 2;
    return steps;
}

/* Labels, twice in a kernel, by lanes that part. */
static void test_labels(void **unused)
{
    (void) unused;
    enum { SIZE = 300 };
    uint32_t expected[SIZE];
    for (uint32_t i = 0; i < SIZE; ++i)
        expected[i] = steps_of(i) + 1000 * steps_of(steps_of(i));
    uint32_t a = jit_var_counter(CPU, SIZE), scale = jit_var_u32(CPU, 1000);
    uint32_t b = jit_var_new_1(CPU, VarTypeUInt32, collatz, a);
    uint32_t c = jit_var_new_1(CPU, VarTypeUInt32, collatz, b);
    uint32_t d = jit_var_fma(c, scale, b);
    CHECK_BYTES(d, expected, SIZE);
    DROP(a, scale, b, c, d);
}

/* In a conditional it is for those who are there. */
static void test_region(void **unused)
{
    (void) unused;
    enum { SIZE = 100 };
    uint32_t expected[SIZE], results[1];
    for (uint32_t i = 0; i < SIZE; ++i)
        expected[i] = i < 50 ? steps_of(i) : i;
    uint32_t a = jit_var_counter(CPU, SIZE), bound = jit_var_u32(CPU, 50);
    uint32_t mask = jit_var_lt(a, bound);
    uint32_t cond = jit_var_cond_start("statement", mask);
    OK(cond);
    uint32_t yes = jit_var_new_1(CPU, VarTypeUInt32, collatz, a);
    OK(jit_var_cond_append(cond, 1, &yes));
    OK(jit_var_cond_append(cond, 1, &a));
    OK(jit_var_cond_end(cond, results));
    CHECK_BYTES(results[0], expected, SIZE);
    DROP(a, bound, mask, yes, results[0]);
}

static void test_copy(void **unused)
{
    (void) unused;
    char text[] = "not.b32 $r0, $r1";
    uint32_t a = u32_array(2, (uint32_t[]){ 0, 5 });
    uint32_t b = jit_var_stmt(CPU, VarTypeUInt32, text, 1, 1, &a);
    memset(text, 'x', sizeof text - 1);
    CHECK_U32(b, ~0u, ~5u);
    DROP(a, b);
}

/* ------------------------------------------------------------------------ errors */

typedef struct Broken {
    const char *text;
    const char *parts[2]; /* of the message */
} Broken;

static void test_broken(void **unused)
{
    (void) unused;
    static const Broken list[] = {
        { "add.u32 $r0, $r1, $q1", { "unknown escape or operand", "\"$q1\"" } },
        { "add.u32 $r0, $r1, $r2", { "unknown escape or operand", "\"$r2\"" } },
        { "add.u32 $r0, $r1, $r", { "unknown escape or operand", "\"$r\"" } },
        { "add.u32 $r0, $r1, $", { "unknown escape or operand", "\"$\"" } },
        { "add.u32 $r0, $r1, $t9", { "unknown escape or operand", "(1 operands)" } },
        { "$r0 = add <$w x $t0> $r1, $r1", { "LLVM IR, not in PTX", "\"$w" } },
        { "$r0 = add $T0 $r1, $r1", { "LLVM IR, not in PTX", "\"$T0\"" } },
        { "nonsense.u32 $r0, $r1", { "nonsense", "line " } },
        { "mov.u32 $r0, nowhere", { "nowhere", "line " } },
        { "bra nowhere", { "nowhere", "line " } },
        { "mov.u64 $r0, $r1", { "mov.u64", "line " } },
        { "mov.u32 $r0 $r1", { "mov.u32", "line " } },
        { "mov.u32 $r0, $r1; }", { "", "line " } },
        { "{ mov.u32 $r0, $r1", { "", "line " } },
    };
    uint32_t a = u32_array(3, (uint32_t[]){ 1, 2, 3 }), b = jit_var_u32(CPU, 10);
    for (size_t i = 0; i < COUNT_OF(list); ++i) {
        uint32_t bad = jit_var_new_1(CPU, VarTypeUInt32, list[i].text, a);
        OK(bad);
        if (jit_var_eval(bad))
            fail_msg("accepted: %s", list[i].text);
        CHECK_ERROR(JIT_ERROR_COMPILE, list[i].parts[0], list[i].parts[1]);
        uint32_t fine = jit_var_add(a, b);
        CHECK_U32(fine, 11, 12, 13);
        DROP(bad, fine);
    }
    DROP(a, b);
}

/* An engine that has none says so, without naming those of other devices. */
static void test_unsupported(void **unused)
{
    (void) unused;
    uint32_t a = jit_var_new_0(CPU, VarTypeFloat32, "mov.$t0 $r0, 0.25");
    setenv("DRJIT_CPU_ENGINE", "interp", 1);
    assert_false(jit_var_eval(a));
    setenv("DRJIT_CPU_ENGINE", "ptx-sim", 1);
    CHECK_ERROR(JIT_ERROR_UNSUPPORTED, "statements, for which this build has no engine "
                                       "that serves the device");
    DROP(a);
    assert_int_equal(jit_var_new_1(JitBackendLLVM, VarTypeUInt32, "$r0", 12345), 0);
    jit_error_clear();
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_document), TEST(test_short_names), TEST(test_all_types),
        TEST(test_narrow),   TEST(test_floats),      TEST(test_constants),
        TEST(test_pointer),  TEST(test_labels),      TEST(test_region),
        TEST(test_copy),     TEST(test_broken),      TEST(test_unsupported),
    };
    return cmocka_run_group_tests_name("statements", tests, NULL, NULL);
}

int main(void)
{
    setenv("DRJIT_TEST_ENGINE", "ptx-sim", 1);
    return run_engines(run);
}
