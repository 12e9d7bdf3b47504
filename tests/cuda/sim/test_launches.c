/*
 * test_launches.c -- whole kernels: flow, calls, warps, blocks, weak memory, threads
 *
 * Each runs under both orders of lanes and some seeds. What it must compute is written
 * down in C.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sim.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define HEAD ".version 8.2\n.target sm_80\n.address_size 64\n"
/* Thread t has the address of word t in %rd1, its number in %r1, its block's in %r2. */
#define KERNEL                                                                         \
    ".visible .entry k(.param .u64 pa) {\n"                                            \
    ".reg .b32 %r<30>; .reg .b64 %rd<20>; .reg .pred %p<10>; .reg .b16 %h<9>;\n"       \
    "ld.param.u64 %rd9, [pa]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n"           \
    "mov.u32 %r3, %ntid.x; mad.lo.u32 %r3, %r2, %r3, %r1; mad.wide.u32 %rd1, %r3, 4, " \
    "%rd9;\n"
#define STORE(value) "st.global.u32 [%rd1], " value "; ret; }"

enum { WORDS = 2048 };
static uint32_t words[WORDS];

static SimModule *parse(const char *text)
{
    char error[SIM_MESSAGE];
    SimModule *m = sim_parse(text, SIM_STRICT, error);
    if (!m)
        fail_msg("%s", error);
    return m;
}

static void launch(const SimModule *m, uint32_t grid, uint32_t block, uint64_t seed)
{
    const void *params[] = { words };
    SimResult result;
    SimLaunch launch = { .kernel = sim_find(m, "k"),
                         .grid = { grid },
                         .block = { block },
                         .params = params,
                         .param_bytes = sizeof(params),
                         .shared_bytes = 1024,
                         .seed = seed,
                         .step_limit = 10000000,
                         .order = seed % 2 ? SIM_RANDOM_PC : SIM_LOWEST_PC };
    if (!sim_run(&launch, &result))
        fail_msg("%s", result.message);
}

/* 'want' is what word t must be, for each seed. */
static void expect(const char *text, uint32_t grid, uint32_t block,
                   uint32_t (*want)(uint32_t t))
{
    SimModule *m = parse(text);
    for (uint64_t seed = 0; seed < 8; seed++) {
        memset(words, 0, sizeof(words));
        launch(m, grid, block, seed);
        for (uint32_t t = 0; t < grid * block; t++) {
            if (words[t] != want(t))
                fail_msg("%s: seed %llu, thread %u: %u expected, found %u", text,
                         (unsigned long long) seed, t, want(t), words[t]);
        }
    }
    sim_free(m);
}

/* ---- flow */

static uint32_t collatz(uint32_t t)
{
    uint32_t steps = 0;
    for (uint32_t n = t + 1; n != 1; steps++)
        n = n % 2 ? 3 * n + 1 : n / 2;
    return steps;
}

static void test_loop(void **state)
{
    (void) state;
    expect(HEAD KERNEL "add.u32 %r4, %r3, 1; mov.u32 %r5, 0;\n"
                       "L: setp.eq.u32 %p1, %r4, 1; @%p1 bra DONE;\n"
                       "and.b32 %r6, %r4, 1; setp.eq.u32 %p2, %r6, 0; @%p2 bra EVEN;\n"
                       "mad.lo.u32 %r4, %r4, 3, 1; bra.uni NEXT;\n"
                       "EVEN: shr.u32 %r4, %r4, 1;\n"
                       "NEXT: add.u32 %r5, %r5, 1; bra L;\n"
                       "DONE: " STORE("%r5"),
           3, 100, collatz);
}

static uint32_t branched(uint32_t t)
{
    const uint32_t results[] = { t + 10, t * 3, t ^ 5, 77 };
    return results[t % 4];
}

static void test_branch_index(void **state)
{
    (void) state;
    expect(HEAD KERNEL "and.b32 %r4, %r3, 3; T: .branchtargets A, B, C, D;\n"
                       "brx.idx %r4, T;\n"
                       "A: add.u32 %r5, %r3, 10; bra E;\n"
                       "B: mul.lo.u32 %r5, %r3, 3; bra E;\n"
                       "C: xor.b32 %r5, %r3, 5; bra E;\n"
                       "D: mov.u32 %r5, 77; E: " STORE("%r5"),
           2, 70, branched);
}

/* A lane waits for one that is behind it, or ahead, of the same warp. */
static uint32_t five(uint32_t t)
{
    return t ? 0 : 5;
}

static void test_spin_in_warp(void **state)
{
    (void) state;
    expect(HEAD KERNEL
           "setp.eq.u32 %p1, %r1, 0; @%p1 bra WAIT;\n"
           "setp.ne.u32 %p2, %r1, 1; @%p2 ret; bra POST;\n"
           "WAIT: ld.volatile.global.u32 %r4, [%rd9+4000];\n"
           "setp.eq.u32 %p3, %r4, 0; @%p3 bra WAIT; st.global.u32 [%rd9], 5;"
           "st.volatile.global.u32 [%rd9+4000], 0;"
           "ret; POST: st.volatile.global.u32 [%rd9+4000], 1; ret; }",
           1, 32, five);
}

static uint32_t factorial(uint32_t t)
{
    uint32_t result = 1;
    for (uint32_t k = 2; k <= t % 12; k++)
        result *= k;
    return result;
}

static void test_recursion(void **state)
{
    (void) state;
    expect(HEAD ".func (.param .b32 result) fact(.param .b32 n) {\n"
                ".reg .b32 %r<9>; .reg .pred %p<3>;\n"
                "ld.param.b32 %r1, [n]; setp.gt.u32 %p1, %r1, 1; @%p1 bra MORE;\n"
                "st.param.b32 [result], 1; ret;\n"
                "MORE: sub.u32 %r2, %r1, 1; { .param .b32 a; .param .b32 r;\n"
                "st.param.b32 [a], %r2; call (r), fact, (a); ld.param.b32 %r3, [r]; }\n"
                "mul.lo.u32 %r4, %r3, %r1; st.param.b32 [result], %r4; ret; }\n" KERNEL
                "rem.u32 %r4, %r3, 12; { .param .b32 a; .param .b32 r;\n"
                "st.param.b32 [a], %r4; call.uni (r), fact, (a); ld.param.b32 %r5, "
                "[r]; }\n" STORE("%r5"),
           2, 64, factorial);
}

static uint32_t called(uint32_t t)
{
    return t % 3 == 0 ? t + 1 : t % 3 == 1 ? t * 3 : t - 7;
}

static void test_indirect_calls(void **state)
{
    (void) state;
    expect(
        HEAD
        ".func (.reg .b32 y) f(.reg .b32 x) { add.u32 y, x, 1; ret; }\n"
        ".func (.reg .b32 y) g(.reg .b32 x) { mul.lo.u32 y, x, 3; }\n"
        ".func (.reg .b32 y) h(.reg .b32 x) { sub.u32 y, x, 7; ret; }\n"
        ".global .align 8 .u64 table[3] = {f, g, h};\n" KERNEL
        "rem.u32 %r4, %r3, 3; mov.u64 %rd2, table; mad.wide.u32 %rd3, %r4, 8, %rd2;\n"
        "ld.global.u64 %rd4, [%rd3];\n"
        "proto: .callprototype (.reg .b32 _) _ (.reg .b32 _);\n"
        "call (%r5), %rd4, (%r3), proto; " STORE("%r5"),
        2, 64, called);
}

/* ---- memory */

static uint32_t widened(uint32_t t)
{
    return (uint32_t) (int8_t) (t * 37) + (uint16_t) (t * 37) + 40 + 7;
}

static void test_spaces(void **state)
{
    (void) state;
    /* Local arrays, generic addresses, constants, extension. */
    expect(
        HEAD
        ".const .align 4 .b32 c[3] = {7, 0x28, -3};\n"
        ".global .align 8 .u64 at = generic(c)+4;\n" KERNEL
        ".local .align 8 .b8 v[32]; mul.lo.u32 %r4, %r3, 37;\n"
        "st.local.u32 [v+8], %r4; mov.u64 %rd2, v; cvta.local.u64 %rd3, %rd2;\n"
        "ld.s8 %r5, [%rd3+8]; ld.u16 %h1, [%rd3+8]; cvt.u32.u16 %r6, %h1;\n"
        "ld.global.u64 %rd4, [at]; ld.u32 %r7, [%rd4]; ld.const.u32 %r8, [c];\n"
        "isspacep.local %p1, %rd3; @!%p1 trap;\n"
        "isspacep.global %p1, %rd9; @!%p1 trap;\n"
        "add.u32 %r5, %r5, %r6; add.u32 %r5, %r5, %r7; add.u32 %r5, %r5, %r8;\n" STORE(
            "%r5"),
        1, 64, widened);
}

static uint32_t swapped(uint32_t t)
{
    return t / 2 * 2 + 1 - t % 2;
}

static void test_vectors(void **state)
{
    (void) state;
    expect(HEAD ".extern .shared .align 16 .b8 e[];\n" KERNEL "mov.u32 %r9, e;\n"
                "and.b32 %r4, %r1, 1; setp.ne.u32 %p1, %r4, 0; @%p1 ret;\n"
                "add.u32 %r5, %r3, 1; mad.lo.u32 %r9, %r1, 4, %r9;\n"
                "st.shared.v2.u32 [%r9], {%r3, %r5};\n"
                "ld.shared.v2.b32 {%r6, %r7}, [%r9];\n"
                "st.global.v2.u32 [%rd1], {%r7, %r6}; ret; }",
           1, 64, swapped);
}

/* ---- warps */

static uint32_t grouped(uint32_t t)
{
    uint32_t l = t % 32, group = l % 5, members = 0, sum = 0;
    for (uint32_t k = 0; k < 32; k++)
        members |= (uint32_t) (k % 5 == group) << k;
    for (uint32_t k = 0; k < 32; k++)
        sum += members >> k & 1 ? k * k : 0;
    return members ^ (sum << 8) ^ (uint32_t) (31 - __builtin_clz(members));
}

/* Groups by match.any, each of which then does something of its own. */
static void test_match(void **state)
{
    (void) state;
    expect(HEAD KERNEL
           "mov.u32 %r4, %laneid; rem.u32 %r5, %r4, 5;\n"
           "match.any.sync.b32 %r6, %r5, -1;\n"
           "mul.lo.u32 %r7, %r4, %r4; redux.sync.add.u32 %r8, %r7, %r6;\n"
           "bfind.u32 %r9, %r6; shfl.sync.idx.b32 %r10, %r4, %r9, 31, %r6;\n"
           "shl.b32 %r8, %r8, 8; xor.b32 %r6, %r6, %r8;\n"
           "xor.b32 %r6, %r6, %r10; " STORE("%r6"),
           2, 64, grouped);
}

static uint32_t shuffled(uint32_t t)
{
    uint32_t l = t % 32, up = l >= 3 ? t - 3 : t, down = l % 8 < 6 ? t + 2 : t;
    return up * 3 + down * 5 + (t ^ 9) * 7 + (l >= 3) + (t / 32 * 32 + l / 8 * 8 + 2);
}

static void test_shuffle(void **state)
{
    (void) state;
    expect(HEAD KERNEL "shfl.sync.up.b32 %r4|%p1, %r3, 3, 0, -1;\n"
                       "shfl.sync.down.b32 %r5, %r3, 2, 0x181f, -1;\n"
                       "shfl.sync.bfly.b32 %r6, %r3, 9, 31, -1;\n"
                       "shfl.sync.idx.b32 %r7, %r3, 2, 0x181f, -1;\n"
                       "mul.lo.u32 %r8, %r4, 3; mad.lo.u32 %r8, %r5, 5, %r8;\n"
                       "mad.lo.u32 %r8, %r6, 7, %r8; selp.u32 %r9, 1, 0, %p1;\n"
                       "add.u32 %r8, %r8, %r9; add.u32 %r8, %r8, %r7; " STORE("%r8"),
           2, 64, shuffled);
}

static uint32_t voted(uint32_t t)
{
    (void) t;
    return 0x0000000f + 2 + 8;
}

static void test_vote(void **state)
{
    (void) state;
    expect(HEAD KERNEL "setp.lt.u32 %p1, %r1, 4; vote.sync.ballot.b32 %r4, %p1, -1;\n"
                       "vote.sync.all.pred %p2, %p1, -1;\n"
                       "vote.sync.any.pred %p3, %p1, -1;\n"
                       "vote.sync.uni.pred %p4, %p1, -1; vote.sync.all.pred %p5, !%p1, "
                       "-1;\n"
                       "selp.u32 %r5, 1, 0, %p2; selp.u32 %r6, 2, 0, %p3;\n"
                       "selp.u32 %r7, 4, 0, %p4; selp.u32 %r8, 0, 8, %p5;\n"
                       "add.u32 %r4, %r4, %r5; add.u32 %r4, %r4, %r6;\n"
                       "add.u32 %r4, %r4, %r7; add.u32 %r4, %r4, %r8; " STORE("%r4"),
           1, 32, voted);
}

/* ---- blocks */

static uint32_t summed(uint32_t t)
{
    return (t / 128 * 128) * 128 + 127 * 64;
}

/* A tree in shared memory, with a block of 128. */
static void test_barrier(void **state)
{
    (void) state;
    expect(HEAD KERNEL ".shared .align 4 .b32 s[128]; mov.u32 %r4, s;\n"
                       "mad.lo.u32 %r5, %r1, 4, %r4; st.shared.u32 [%r5], %r3;\n"
                       "mov.u32 %r6, 64; bar.sync 0;\n"
                       "L: setp.lt.u32 %p1, %r1, %r6; @!%p1 bra NEXT;\n"
                       "mad.lo.u32 %r7, %r6, 4, %r5; ld.shared.u32 %r8, [%r7];\n"
                       "ld.shared.u32 %r9, [%r5]; add.u32 %r9, %r9, %r8;\n"
                       "st.shared.u32 [%r5], %r9;\n"
                       "NEXT: bar.sync 0; shr.u32 %r6, %r6, 1;\n"
                       "setp.ne.u32 %p2, %r6, 0; @%p2 bra L;\n"
                       "ld.shared.u32 %r10, [s]; " STORE("%r10"),
           5, 128, summed);
}

static uint32_t reduced(uint32_t t)
{
    (void) t;
    return 33 + 100;
}

static void test_barrier_red(void **state)
{
    (void) state;
    expect(HEAD KERNEL
           "rem.u32 %r4, %r1, 3; setp.eq.u32 %p1, %r4, 0;\n"
           "bar.red.popc.u32 %r5, 0, %p1; bar.red.and.pred %p2, 1, 96, %p1;\n"
           "bar.red.or.pred %p3, 0, !%p1; @%p2 trap; @!%p3 trap;\n"
           "setp.eq.u32 %p4, %r1, 5; bar.red.or.pred %p5, 0, %p4;\n"
           "selp.u32 %r6, 101, 0, %p5; add.u32 %r5, %r5, %r6;" STORE("%r5"),
           2, 96, reduced);
}

/* All blocks but the last wait for a counter: those that have not begun must come. */
static uint32_t one(uint32_t t)
{
    (void) t;
    return 1;
}

static void test_blocks_wait(void **state)
{
    (void) state;
    expect(HEAD ".global .b32 count;\n" KERNEL "atom.global.add.u32 %r4, [count], 1;\n"
                "L: ld.relaxed.gpu.global.u32 %r5, [count]; rem.u32 %r6, %r5, 40;\n"
                "setp.ne.u32 %p1, %r6, 0; div.u32 %r7, %r4, 40; div.u32 %r8, %r5, 40;\n"
                "setp.eq.and.u32 %p1, %r7, %r8, %p1; @%p1 bra L; " STORE("1"),
           40, 1, one);
}

/* ---- weak memory */

#define POST(fence)                                             \
    KERNEL "setp.ne.u32 %p1, %r2, 0; @%p1 bra WAIT;\n"          \
           "st.global.u32 [%rd9+64], 7; " fence "\n"            \
           "st.relaxed.gpu.global.u32 [%rd9+512], 1; ret;\n"    \
           "WAIT: ld.acquire.gpu.global.u32 %r4, [%rd9+512];\n" \
           "setp.eq.u32 %p2, %r4, 0; @%p2 bra WAIT;\n"          \
           "ld.global.u32 %r5, [%rd9+64]; st.global.u32 [%rd9+1024], %r5; ret; }"

static uint32_t stale(const char *text)
{
    SimModule *m = parse(text);
    uint32_t count = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        memset(words, 0, sizeof(words));
        launch(m, 2, 1, seed);
        assert_true(words[256] == 0 || words[256] == 7);
        assert_int_equal(words[16], 7);
        count += words[256] == 0;
    }
    sim_free(m);
    return count;
}

static void test_weak_memory(void **state)
{
    (void) state;
    assert_int_equal(stale(HEAD POST("membar.gl;")), 0);
    assert_int_equal(stale(HEAD POST("fence.acq_rel.gpu;")), 0);
    assert_int_equal(stale(HEAD POST("st.release.gpu.global.u32 [%rd9+512], 0;")), 0);
    assert_true(stale(HEAD POST("")) > 0);
    assert_true(stale(HEAD POST("membar.cta;")) > 0);
    assert_true(stale(HEAD POST("red.relaxed.gpu.global.add.u32 [%rd9+80], 1;")) > 0);
}

/* ---- atomic operations */

static void test_atomics(void **state)
{
    (void) state;
    SimModule *m = parse(
        HEAD KERNEL
        "red.global.add.u32 [%rd9], 1; atom.global.max.s32 %r4, [%rd9+4], %r3;\n"
        "atom.global.inc.u32 %r4, [%rd9+8], 9; red.global.xor.b32 [%rd9+12], %r3;\n"
        "cvt.rn.f16.u32 %h1, 1; red.global.add.noftz.f16 [%rd9+16], %h1;\n"
        "L: ld.relaxed.gpu.global.u32 %r5, [%rd9+20]; add.u32 %r6, %r5, %r3;\n"
        "atom.global.cas.b32 %r7, [%rd9+20], %r5, %r6; setp.ne.u32 %p1, %r7, %r5;\n"
        "@%p1 bra L; red.global.add.f32 [%rd9+24], 0f00400000;\n"
        "atom.global.dec.u32 %r4, [%rd9+28], 6; red.global.add.f64 [%rd9+32], "
        "0d3ff0000000000000; red.global.min.s32 [%rd9+40], -9; ret; }");
    for (uint64_t seed = 0; seed < 8; seed++) {
        memset(words, 0, sizeof(words));
        launch(m, 4, 100, seed);
        double sum;
        memcpy(&sum, words + 8, sizeof(sum));
        assert_int_equal(words[0], 400);
        assert_int_equal(words[1], 399);
        assert_int_equal(words[2], 0);      /* 400 steps round 10 */
        assert_int_equal(words[3], 0);      /* of 0 ... 399 */
        assert_int_equal(words[4], 0x5e40); /* 400 */
        assert_int_equal(words[5], 399 * 200);
        assert_int_equal(words[6], 0); /* subnormal: flushed */
        assert_int_equal(words[7], 6 - 399 % 7);
        assert_true(sum == 400);
        assert_int_equal((int32_t) words[10], -9);
    }
    sim_free(m);
}

/* Additions to shared memory keep subnormal numbers. */
static uint32_t subnormal(uint32_t t)
{
    (void) t;
    return 0x00040000;
}

static void test_shared_atomics(void **state)
{
    (void) state;
    expect(HEAD KERNEL ".shared .align 4 .b32 s; setp.eq.u32 %p1, %r1, 0;\n"
                       "@%p1 st.shared.u32 [s], 0; bar.sync 0;\n"
                       "red.shared.add.f32 [s], 0f00001000; bar.sync 0;\n"
                       "ld.shared.u32 %r4, [s]; " STORE("%r4"),
           2, 64, subnormal);
}

/* ---- threads of the host */

static void *run_in_thread(void *module)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        const void *params[] = { words };
        SimResult result;
        SimLaunch launch = { .kernel = sim_find(module, "k"),
                             .grid = { 8 },
                             .block = { 64 },
                             .params = params,
                             .param_bytes = sizeof(params),
                             .seed = seed };
        if (!sim_run(&launch, &result))
            return NULL;
    }
    return module;
}

static void test_threads(void **state)
{
    (void) state;
    SimModule *m =
        parse(HEAD ".global .b32 total;\n" KERNEL
                   "red.global.add.u32 [%rd9], 1; atom.add.u32 %r4, [%rd9+4], %r1;"
                   "red.global.add.u32 [total], 2; ret; }");
    pthread_t threads[4];
    memset(words, 0, sizeof(words));
    for (uint32_t k = 0; k < 4; k++)
        assert_int_equal(pthread_create(&threads[k], NULL, run_in_thread, m), 0);
    for (uint32_t k = 0; k < 4; k++) {
        void *fine;
        pthread_join(threads[k], &fine);
        assert_non_null(fine);
    }
    size_t bytes;
    assert_int_equal(words[0], 4 * 20 * 512);
    assert_int_equal(words[1], 4 * 20 * 8 * 2016);
    assert_int_equal(*(uint32_t *) sim_find_variable(m, "total", &bytes),
                     2 * 4 * 20 * 512);
    assert_int_equal(bytes, 4);
    sim_free(m);
}

static bool stop_third(void *data)
{
    return ++*(uint32_t *) data == 3;
}

static void test_stop(void **state)
{
    (void) state;
    SimModule *m = parse(HEAD KERNEL "L: bra L; }");
    uint32_t asked = 0;
    const void *params[] = { words };
    SimResult result;
    SimLaunch launch = { .kernel = sim_find(m, "k"),
                         .block = { 64 },
                         .params = params,
                         .param_bytes = sizeof(params),
                         .stop = stop_third,
                         .stop_data = &asked };
    assert_true(sim_run(&launch, &result));
    assert_true(result.stopped);
    assert_int_equal(asked, 3);
    assert_string_equal(result.message, "");
    assert_true(result.warp_steps < 10000);
    sim_free(m);
}

/* The same seed gives the same launch; others give others. */
static void test_seeds(void **state)
{
    (void) state;
    SimModule *m =
        parse(HEAD KERNEL "atom.global.add.u32 %r4, [%rd9+8000], 1; " STORE("%r4"));
    static uint32_t first[512], again[512];
    uint32_t different = 0;
    for (uint64_t seed = 0; seed < 10; seed++) {
        for (uint32_t round = 0; round < 2; round++) {
            memset(words, 0, sizeof(words));
            launch(m, 16, 32, seed);
            memcpy(again, words, sizeof(again));
            if (round)
                assert_memory_equal(first, again, sizeof(first));
            different += seed && !round && memcmp(first, again, sizeof(first)) != 0;
            memcpy(first, again, sizeof(first));
        }
    }
    assert_true(different > 5);
    sim_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loop),           cmocka_unit_test(test_branch_index),
        cmocka_unit_test(test_spin_in_warp),   cmocka_unit_test(test_recursion),
        cmocka_unit_test(test_indirect_calls), cmocka_unit_test(test_spaces),
        cmocka_unit_test(test_vectors),        cmocka_unit_test(test_match),
        cmocka_unit_test(test_shuffle),        cmocka_unit_test(test_vote),
        cmocka_unit_test(test_barrier),        cmocka_unit_test(test_barrier_red),
        cmocka_unit_test(test_blocks_wait),    cmocka_unit_test(test_weak_memory),
        cmocka_unit_test(test_atomics),        cmocka_unit_test(test_shared_atomics),
        cmocka_unit_test(test_threads),        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_seeds),
    };
    return cmocka_run_group_tests_name("sim_launches", tests, NULL, NULL);
}
