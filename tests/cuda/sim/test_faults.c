/*
 * test_faults.c -- what the simulator reports, and what it lets pass
 *
 * Each case is a kernel of a few lines, and a part of the message that it must give, or
 * none. Kernels get the address of 64 words that are written, and of 64 that are not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 64, SEEDS = 4 };

#define HEAD ".version 8.2\n.target sm_80\n.address_size 64\n"
#define KERNEL                                                                    \
    ".visible .entry k(.param .u64 pa, .param .u64 pb) {\n"                       \
    ".reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<10>; .reg .f32 %f<10>;\n" \
    ".shared .align 4 .b8 s[512];\n"                                              \
    "ld.param.u64 %rd1, [pa]; ld.param.u64 %rd2, [pb];\n"                         \
    "mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd1, %rd3;\n" \
    "add.u64 %rd5, %rd2, %rd3; shl.b32 %r2, %r1, 2;\n"                            \
    "mov.u32 %r3, s; add.u32 %r3, %r3, %r2;\n"

typedef struct Case {
    const char *body, *wrong; /* NULL: nothing */
} Case;

/* Run a case with 64 threads. */
static bool run_case(const char *body, uint32_t grid, SimOrder order, uint64_t seed,
                     char message[SIM_MESSAGE])
{
    char text[4096], error[SIM_MESSAGE];
    snprintf(text, sizeof(text), "%s%s\nret; }", HEAD KERNEL, body);
    SimModule *m = sim_parse(text, SIM_STRICT, error);
    if (!m)
        fail_msg("%s: %s", body, error);
    SimMemory *memory = sim_memory_new();
    uint32_t *written = sim_memory_get(memory, WORDS * sizeof(uint32_t));
    uint32_t *fresh = sim_memory_get(memory, WORDS * sizeof(uint32_t));
    for (uint32_t k = 0; k < WORDS; k++)
        written[k] = k;
    sim_memory_written(memory, written, WORDS * sizeof(uint32_t));
    const void *params[] = { written, fresh };
    SimResult result;
    SimLaunch launch = { .kernel = sim_find(m, "k"),
                         .grid = { grid },
                         .block = { 64 },
                         .params = params,
                         .param_bytes = sizeof(params),
                         .memory = memory,
                         .order = order,
                         .seed = seed,
                         .step_limit = 100000 };
    bool fine = sim_run(&launch, &result);
    assert_int_equal(fine, result.message[0] == 0);
    strcpy(message, result.message);
    sim_memory_delete(memory);
    sim_free(m);
    return fine;
}

static void run_cases(const Case *cases, uint32_t count)
{
    char message[SIM_MESSAGE];
    for (uint32_t k = 0; k < count; k++) {
        for (uint32_t seed = 0; seed < SEEDS * 2; seed++) {
            SimOrder order = seed % 2 ? SIM_RANDOM_PC : SIM_LOWEST_PC;
            bool fine = run_case(cases[k].body, 1, order, seed, message);
            if (fine != !cases[k].wrong || (!fine && !strstr(message, cases[k].wrong)))
                fail_msg("%s: '%s' expected, found '%s'", cases[k].body,
                         cases[k].wrong ? cases[k].wrong : "", message);
        }
    }
}

#define RUN_CASES(cases) run_cases(cases, sizeof(cases) / sizeof(*(cases)))

/* ---- global memory */

static void test_memory(void **state)
{
    (void) state;
    static const Case cases[] = {
        { "ld.global.u32 %r4, [%rd4]; st.global.u32 [%rd4], %r4;", NULL },
        { "st.global.u32 [%rd5], %r1; ld.global.u32 %r4, [%rd5];"
          "st.global.u32 [%rd4], %r4;",
          NULL },
        { "ld.global.u32 %r4, [%rd4+4];", "outside of all allocations" },
        { "ld.global.u32 %r4, [%rd4+256];", "outside of all allocations" },
        { "ld.global.u32 %r4, [%rd4-4];", "outside of all allocations" },
        { "mov.u64 %rd7, 4096; st.global.u32 [%rd7], %r1;",
          "outside of all allocations" },
        { "ld.u32 %r4, [%rd4+-4];", "outside of all allocations" },
        { "st.global.v2.u32 [%rd4], {%r1, %r1};", "misaligned" },
        { "ld.global.u32 %r4, [%rd4+2];", "misaligned" },
        { "ld.shared.u32 %r4, [%r3+1];", "misaligned" },
        { "st.shared.u32 [%r3+512], %r1;", "outside of shared memory" },
        { "atom.global.add.u32 %r4, [%rd4+256], 1;", "outside of all allocations" },
        /* What was not written may be read and passed on, but not used. */
        { "ld.global.u32 %r4, [%rd5]; add.u32 %r5, %r4, 1; st.shared.u32 [%r3], %r5;",
          NULL },
        { "ld.global.u32 %r4, [%rd5]; add.u32 %r5, %r4, 1; st.global.u32 [%rd4], %r5;",
          "what is stored to global memory was never written" },
        { "atom.global.add.u32 %r4, [%rd5], 1;", "memory that was never written" },
        { "atom.global.exch.b32 %r4, [%rd5], 1;", NULL },
        { "st.global.u8 [%rd5], %r1; ld.global.u8 %r4, [%rd5];"
          "st.global.u32 [%rd4], %r4;",
          NULL },
        { "st.global.u8 [%rd5], %r1; ld.global.u16 %r4, [%rd5];"
          "st.global.u32 [%rd4], %r4;",
          "was never written" },
        /* .nc */
        { "ld.global.nc.u32 %r4, [%rd4]; st.global.u32 [%rd5], %r4;", NULL },
        { "ld.global.nc.u32 %r4, [%rd4]; st.global.u32 [%rd4], %r4;",
          "which ld.global.nc has read" },
        { "st.global.u32 [%rd4], %r1; ld.global.nc.u32 %r4, [%rd4];",
          "ld.global.nc of" },
        { "red.global.add.u32 [%rd4], 1; ld.global.nc.u32 %r4, [%rd4];",
          "ld.global.nc of" },
    };
    RUN_CASES(cases);
}

/* ---- registers */

static void test_unwritten(void **state)
{
    (void) state;
    static const Case cases[] = {
        { "ld.global.u32 %r4, [%rd9];", "the address was never written" },
        { "@%p1 mov.u32 %r4, 1;", "predicate of the instruction was never written" },
        { "setp.eq.u32 %p1, %r9, 0; @%p1 bra L; L:", "was never written" },
        { "red.global.add.u32 [%rd4], %r9;", "the operand was never written" },
        { "mov.u32 %r4, %r9; add.u32 %r5, %r4, %r1; xor.b32 %r6, %r5, %r5;", NULL },
        { "add.u32 %r5, %r9, %r1; st.global.u32 [%rd4], %r5;", "was never written" },
        /* One side of a selection only. */
        { "setp.lt.u32 %p1, %r1, 64; selp.u32 %r4, %r1, %r9, %p1;"
          "st.global.u32 [%rd4], %r4;",
          NULL },
        { "setp.lt.u32 %p1, %r1, 63; selp.u32 %r4, %r1, %r9, %p1;"
          "st.global.u32 [%rd4], %r4;",
          "thread (63, 0, 0)" },
        { "selp.u32 %r4, 1, 2, %p3; st.global.u32 [%rd4], %r4;", "was never written" },
        /* A defined false decides and, a defined true decides or. */
        { "setp.gt.u32 %p1, %r1, 64; setp.eq.and.u32 %p2, %r9, 1, %p1; @%p2 trap;",
          NULL },
        { "setp.gt.u32 %p1, %r1, 64; and.pred %p2, %p3, %p1; @%p2 trap;", NULL },
        { "setp.lt.u32 %p1, %r1, 64; or.pred %p2, %p3, %p1; @!%p2 trap;", NULL },
        { "setp.lt.u32 %p1, %r1, 64; and.pred %p2, %p3, %p1; @%p2 trap;",
          "was never written" },
        { "setp.lt.u32 %p1, %r1, 32; @%p1 mov.u32 %r4, 5; st.global.u32 [%rd4], %r4;",
          "was never written" },
        /* Local and shared memory keep it. */
        { ".local .b32 v[4]; st.local.u32 [v+4], %r1; ld.local.u32 %r4, [v+4];"
          "st.global.u32 [%rd4], %r4;",
          NULL },
        { ".local .b32 v[4]; st.local.u32 [v+4], %r1; ld.local.u32 %r4, [v];"
          "st.global.u32 [%rd4], %r4;",
          "was never written" },
        { ".local .b32 v[4]; ld.local.u32 %r4, [v+16];", "outside of local memory" },
        { "st.shared.u32 [%r3], %r9; ld.shared.u32 %r4, [%r3];"
          "st.global.u32 [%rd4], %r4;",
          "was never written" },
        { "ld.shared.u32 %r4, [%r3]; st.global.u32 [%rd4], %r4;", "was never written" },
        /* A shuffle from a lane that is not there. */
        { "setp.lt.u32 %p1, %r1, 16; @!%p1 bra L;"
          "shfl.sync.down.b32 %r4, %r1, 8, 31, 65535; setp.lt.u32 %p2, %r1, 8;"
          "selp.b32 %r4, %r4, 0, %p2; st.global.u32 [%rd4], %r4; L:",
          NULL },
        { "setp.lt.u32 %p1, %r1, 16; @!%p1 bra L;"
          "shfl.sync.down.b32 %r4, %r1, 8, 31, 65535;"
          "st.global.u32 [%rd4], %r4; L:",
          "thread (8, 0, 0)" },
    };
    RUN_CASES(cases);
}

/* A call begins with registers and parameters that nobody has written. */
static void test_calls(void **state)
{
    (void) state;
    static const struct {
        const char *calls, *wrong;
    } cases[] = {
        { "call (x), f, (0); call (x), f, (0);", NULL },
        { "call (x), f, (0); call (x), f, (1);", "was never written" },
        { "call (x), g, (0); call (x), g, (1);", "was never written" },
        { "call (x), h, (0);", "a call of h, which has no body" },
    };
    for (uint32_t k = 0; k < sizeof(cases) / sizeof(*cases); k++) {
        char text[2048], error[SIM_MESSAGE];
        snprintf(text, sizeof(text), "%s%s%s%s",
                 HEAD
                 ".func (.reg .b32 y) f(.reg .b32 c) { .reg .b32 x; .reg .pred p;\n"
                 "setp.eq.u32 p, c, 0; @p mov.u32 x, 5; mov.u32 y, x; ret; }\n"
                 ".func (.reg .b32 y) g(.reg .b32 c) { .local .b32 x; .reg .pred p;\n"
                 "setp.eq.u32 p, c, 0; @p st.local.u32 [x], 5; ld.local.u32 y, [x]; }\n"
                 ".func (.reg .b32 y) h(.reg .b32 c);\n",
                 ".visible .entry k(.param .u64 pa) { .reg .b32 x; .reg .b64 a;\n",
                 cases[k].calls, "ld.param.u64 a, [pa]; st.global.u32 [a], x; ret; }");
        SimModule *m = sim_parse(text, SIM_STRICT, error);
        if (!m)
            fail_msg("%s: %s", cases[k].calls, error);
        uint32_t word = 0;
        const void *params[] = { &word };
        SimResult result;
        SimLaunch launch = { .kernel = sim_find(m, "k"),
                             .params = params,
                             .param_bytes = sizeof(params) };
        bool fine = sim_run(&launch, &result);
        if (fine != !cases[k].wrong ||
            (!fine && !strstr(result.message, cases[k].wrong)))
            fail_msg("%s: found '%s'", cases[k].calls, result.message);
        assert_int_equal(word, fine ? 5 : 0);
        sim_free(m);
    }
}

/* Without a SimMemory: where blocks of the host end is known to the sanitizer only. */
static void test_host_memory(void **state)
{
    (void) state;
    char error[SIM_MESSAGE];
    SimModule *m = sim_parse(HEAD KERNEL "ld.global.u32 %r4, [%rd4];"
                                         "st.global.u32 [%rd5], %r4; ret; }",
                             SIM_STRICT, error);
    assert_non_null(m);
    uint32_t *a = calloc(64, sizeof(*a)), *b = calloc(64, sizeof(*b));
    const void *params[] = { a, b };
    SimResult result;
    SimLaunch launch = { .kernel = sim_find(m, "k"),
                         .block = { 64 },
                         .params = params,
                         .param_bytes = sizeof(params) };
    a[63] = 5;
    assert_true(sim_run(&launch, &result));
    assert_int_equal(b[63], 5);
    params[0] = NULL;
    assert_false(sim_run(&launch, &result));
    assert_non_null(strstr(result.message, "where no memory is"));
    params[0] = (char *) a + 2;
    assert_false(sim_run(&launch, &result));
    assert_non_null(strstr(result.message, "misaligned"));
#if defined(__SANITIZE_ADDRESS__)
    params[0] = a + 1;
    assert_false(sim_run(&launch, &result));
    assert_non_null(strstr(result.message, "thread (63, 0, 0): a load of 4 bytes"));
    assert_non_null(strstr(result.message, "outside of any block of memory"));
#endif
    free(a);
    free(b);
    sim_free(m);
}

/* ---- shared memory */

#define STORE "st.shared.u32 [%r3], %r1;"
/* The word of the thread 32 behind, that of the next one. */
#define OTHER_WARP "xor.b32 %r4, %r2, 128; mov.u32 %r5, s; add.u32 %r5, %r5, %r4;"
#define OTHER_LANE "xor.b32 %r4, %r2, 4; mov.u32 %r5, s; add.u32 %r5, %r5, %r4;"

static void test_races(void **state)
{
    (void) state;
    static const Case cases[] = {
        { STORE OTHER_WARP "bar.sync 0; ld.shared.u32 %r6, [%r5];", NULL },
        { STORE OTHER_WARP "ld.shared.u32 %r6, [%r5];", "no barrier between" },
        { STORE OTHER_WARP "bar.warp.sync -1; ld.shared.u32 %r6, [%r5];",
          "no barrier between" },
        { STORE OTHER_LANE "bar.warp.sync -1; ld.shared.u32 %r6, [%r5];", NULL },
        { STORE OTHER_LANE "bar.sync 0; ld.shared.u32 %r6, [%r5];", NULL },
        { STORE OTHER_LANE "ld.shared.u32 %r6, [%r5];", "no barrier between" },
        { STORE "bar.sync 0;" OTHER_WARP "ld.shared.u32 %r6, [%r5];"
                "st.shared.u32 [%r3], %r6;",
          "no barrier between" },
        { STORE "bar.sync 0;" OTHER_WARP "ld.shared.u32 %r6, [%r5]; bar.sync 0;"
                "st.shared.u32 [%r3], %r6;",
          NULL },
        { STORE OTHER_WARP "st.shared.u32 [%r5], %r1;", "no barrier between" },
        { "st.shared.u32 [s], 1;", "no barrier between" },
        { "@%p1 bra L; L:", "never written" },
        { "setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [s], 0; bar.sync 0;"
          "atom.shared.add.u32 %r4, [s], 1; bar.sync 0; ld.shared.u32 %r5, [s];"
          "st.global.u32 [%rd4], %r5;",
          NULL },
        { "setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [s], 0; bar.sync 0;"
          "atom.shared.add.u32 %r4, [s], 1; ld.shared.u32 %r5, [s];",
          "no barrier between" },
        /* Bytes of a word are not the same. */
        { "mov.u32 %r4, s; add.u32 %r4, %r4, %r1; st.shared.u8 [%r4], %r1;", NULL },
        { "mov.u32 %r4, s; add.u32 %r4, %r4, %r1; st.shared.u8 [%r4], %r1;"
          "ld.shared.u32 %r5, [s];",
          "no barrier between" },
        { "st.volatile.shared.u32 [s], 1; ld.volatile.shared.u32 %r5, [s];", NULL },
    };
    RUN_CASES(cases);
}

static void test_barriers(void **state)
{
    (void) state;
    static const Case cases[] = {
        { "bar.sync 0; bar.sync 1; barrier.sync 0;", NULL },
        { "setp.lt.u32 %p1, %r1, 32; @%p1 bar.sync 0;",
          "32 of 64 threads have come to barrier 0; 32 threads of the block have "
          "exited" },
        { "setp.lt.u32 %p1, %r1, 32; @%p1 bra L; bar.sync 0; bra M; L: bar.sync 1; M:",
          "32 wait elsewhere" },
        { "setp.lt.u32 %p1, %r1, 32; @%p1 bra L; bar.sync 0; bra M; L: bar.sync 0; M:",
          NULL },
        { "setp.lt.u32 %p1, %r1, 32; @%p1 bar.sync 0, 32;", NULL },
        { "bar.sync 0, 33;", "not a number of warps" },
        { "setp.lt.u32 %p1, %r1, 32; @%p1 bra L; bar.sync 0, 32; bra M; L: bar.sync 0;"
          "M:",
          "barrier 0" },
        { "setp.lt.u32 %p1, %r1, 7; @%p1 bar.warp.sync 255;",
          NULL }, /* lane 7 exits: nobody waits for it */
        { "setp.lt.u32 %p1, %r1, 7; @%p1 bra L; bar.sync 0; bra M; L:"
          "bar.warp.sync 255; bar.sync 0; M:",
          "member mask 0xff" },
        { "bar.warp.sync 1;", "the member mask 0x1 is without the thread" },
        { "setp.lt.u32 %p1, %r1, 5; @%p1 bra L; bar.warp.sync -1; bra M; L:"
          "bar.warp.sync -1; M:",
          NULL },
        { "setp.lt.u32 %p1, %r1, 32; @%p1 bra L; bar.sync 1, 64; bra M; L:"
          "bar.arrive 1, 64; M:",
          NULL },
        { "bar.sync 16;", "there is no barrier 16" },
    };
    RUN_CASES(cases);
}

/* ---- the rest */

static void test_others(void **state)
{
    (void) state;
    static const Case cases[] = {
        { "div.u32 %r4, %r1, %r1;", "thread (0, 0, 0): integer division by zero" },
        { "mov.u32 %r4, 0x80000000; div.s32 %r5, %r4, -1;",
          "of the least integer by -1" },
        { "rem.s64 %rd7, %rd1, 0;", "integer division by zero" },
        { "setp.eq.u32 %p1, %r1, 40; @%p1 trap;", "thread (40, 0, 0): trap" },
        { "L: bra L;", "takes more than 100000 steps" },
        { "Lt: .branchtargets A, B; brx.idx %r1, Lt; A: B:", "index" },
        { "Lt: .branchtargets A, B; and.b32 %r4, %r1, 1; brx.idx %r4, Lt; A: B:",
          NULL },
    };
    RUN_CASES(cases);
}

static void test_message(void **state)
{
    (void) state;
    char message[SIM_MESSAGE];
    run_case("setp.eq.u32 %p1, %r1, 40;\n  @%p1 trap; // here", 3, SIM_LOWEST_PC, 0,
             message);
    assert_non_null(strstr(message, "kernel k, line 12 '@%p1 trap; // here': block ("));
    assert_non_null(strstr(message, ", 0, 0), thread (40, 0, 0): trap"));
}

static void test_released(void **state)
{
    (void) state;
    char error[SIM_MESSAGE];
    SimModule *m =
        sim_parse(HEAD KERNEL "ld.global.u32 %r4, [%rd4]; ret; }", SIM_STRICT, error);
    assert_non_null(m);
    SimMemory *memory = sim_memory_new();
    uint32_t *words = sim_memory_get(memory, 256);
    size_t bytes = 0;
    assert_int_equal((uintptr_t) words % 256, 0);
    assert_ptr_equal(sim_memory_find(memory, words + 3, &bytes), words);
    assert_int_equal(bytes, 256);
    assert_null(sim_memory_find(memory, words + 64, &bytes));
    assert_false(sim_memory_put(memory, words + 1));
    assert_true(sim_memory_put(memory, words));
    assert_false(sim_memory_put(memory, words));
    assert_null(sim_memory_find(memory, words, &bytes));
    const void *params[] = { words, words };
    SimResult result;
    SimLaunch launch = { .kernel = sim_find(m, "k"),
                         .params = params,
                         .param_bytes = sizeof(params),
                         .memory = memory };
    assert_false(sim_run(&launch, &result));
    assert_non_null(strstr(result.message, "in an allocation that was released"));
    launch.param_bytes = 8;
    assert_false(sim_run(&launch, &result));
    assert_non_null(strstr(result.message, "16 bytes of parameters, found 8"));
    launch.param_bytes = 16;
    launch.block[0] = 2000;
    assert_false(sim_run(&launch, &result));
    assert_non_null(strstr(result.message, "more than 1024 threads"));
    sim_memory_delete(memory);
    sim_free(m);
}

/* ---- texts with errors */

static void test_texts(void **state)
{
    (void) state;
    static const struct {
        const char *text, *wrong;
    } cases[] = {
        { "add.u32 %r4, %r1;", "line 11: ',' expected, found ';'" },
        { "add.u32 %r4, %r1, %rd1;", "%rd1 has 64 bits, .u32 needs 32" },
        { "add.u32 %r4, %r1, %nothing;", "found '%nothing'" },
        { "add.u32 %r4, %r1, %r20;", "found '%r20'" },
        { "add.u33 %r4, %r1, 1;", "there is no instruction add.u33" },
        { "frob.u32 %r4, %r1, 1;", "there is no instruction frob.u32" },
        { "ld.global.frob.u32 %r4, [%rd1];", "a modifier .frob" },
        { "add.f32 %f1, %f2, %f3;", "add of floats needs a rounding" },
        { "fma.f32 %f1, %f2, %f3, %f4;", "fma of floats needs a rounding" },
        { "add.rn.ftz.f32 %f1, %f2, %f3;", ".ftz is not for our kernels" },
        { "sqrt.approx.f32 %f1, %f2;", ".approx is not for our kernels" },
        { "add.u32 %r4, %tid.x, 1;", "found '%tid.x'" },
        { "add.u32 %r4, %f1, 1;", "%f1 is a .f32, found where .u32 is expected" },
        { "add.rn.f32 %f1, %f2, 1;", "a float expected" },
        { "add.u32 %r4, %r1, 0f3f800000;", "an integer expected" },
        { "ld.global.u32 %r4, [4];", "a register or a variable expected" },
        { "cvt.f32.s32 %f1, %r1;", "cvt.f32.s32 needs .rn" },
        { "cvt.s32.f32 %r1, %f1;", "cvt.s32.f32 needs .rni" },
        { "bra NOWHERE;", "there is no label NOWHERE" },
        { "L: L: bra L;", "L is declared twice" },
        { ".reg .b32 %r1;", "%r1 is declared twice" },
        { ".reg .b32 x; .reg .b32 x;", "x is declared twice" },
        { "{ .reg .b64 %r1; mov.u64 %r1, 1; } mov.u32 %r1, 1;", NULL },
        { "{ .reg .b64 y; } mov.u64 y, 1;", "found 'y'" },
        { "{ L: } bra L;", "there is no label L" },
        { "mov.u32 %r1, 0x1ffffffffffffffff;", "a number is not one" },
        { "/* ", "a comment has no end" },
        { "{", "has no end" },
        { "st.param.u32 [pa], %r1;", "constant" },
        { "setp.lt.b32 %p1, %r1, %r2;", "no such comparison" },
        { "atom.global.add.f16 %f1, [%rd1], 1;", "no such atomic operation" },
    };
    for (uint32_t k = 0; k < sizeof(cases) / sizeof(*cases); k++) {
        char text[4096], error[SIM_MESSAGE];
        snprintf(text, sizeof(text), "%s%s\nret; }", HEAD KERNEL, cases[k].text);
        SimModule *m = sim_parse(text, SIM_STRICT, error);
        if (!m != !!cases[k].wrong || (!m && !strstr(error, cases[k].wrong)))
            fail_msg("%s: '%s' expected, found '%s'", cases[k].text,
                     cases[k].wrong ? cases[k].wrong : "", error);
        sim_free(m);
    }
}

/* A text cut off anywhere, and with any character replaced: an error or a module. */
static void test_damaged_texts(void **state)
{
    (void) state;
    static const char whole[] =
        HEAD ".const .align 4 .b32 c[4] = {1, 2, -3, 0x4};\n"
             ".global .align 8 .b64 g[2] = {c, generic(c)+4};\n"
             ".extern .shared .align 16 .b8 e[];\n"
             ".func (.param .b32 r) f(.param .b32 a, .reg .b32 b) { .reg .b32 x;"
             "ld.param.b32 x, [a]; st.param.b32 [r+0], x; ret; }\n" KERNEL
             "@!%p1 bra L; { .param .b32 q; .param .b32 t; st.param.b32 [q], 1;"
             "call.uni (t), f, (q, %r1); } L: T: .branchtargets L, M;\n"
             "brx.idx %r1, T; M: mov.b64 {%r1, _}, %rd1; bar.red.and.pred %p1, 0, !%p2;"
             "fma.rn.f32 %f1, 0f3f800000, 0d3ff0000000000000, 1.5; ret; }";
    static const char others[] = "{}[]()<>,;:@!|-+~\"/*#%.0fx$a \n\1";
    char error[SIM_MESSAGE], text[sizeof(whole)];
    SimModule *m = sim_parse(whole, SIM_STRICT, error);
    if (!m)
        fail_msg("%s", error);
    sim_free(m);
    for (size_t k = 0; k < sizeof(whole) - 1; k++) {
        memcpy(text, whole, sizeof(whole));
        text[k] = 0;
        m = sim_parse(text, SIM_STRICT, error);
        assert_true(m || error[0]);
        sim_free(m);
        for (uint32_t o = 0; o < sizeof(others) - 1; o++) {
            memcpy(text, whole, sizeof(whole));
            text[k] = others[o];
            m = sim_parse(text, SIM_STRICT, error);
            assert_true(m || error[0]);
            sim_free(m);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),        cmocka_unit_test(test_host_memory),
        cmocka_unit_test(test_calls),         cmocka_unit_test(test_unwritten),
        cmocka_unit_test(test_races),         cmocka_unit_test(test_barriers),
        cmocka_unit_test(test_others),        cmocka_unit_test(test_message),
        cmocka_unit_test(test_released),      cmocka_unit_test(test_texts),
        cmocka_unit_test(test_damaged_texts),
    };
    return cmocka_run_group_tests_name("sim_faults", tests, NULL, NULL);
}
