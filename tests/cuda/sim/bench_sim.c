/*
 * bench_sim.c -- how fast kernels are simulated
 *
 * One line for each kind of kernel and memory: millions of lane instructions a second.
 */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HEAD                                                                        \
    ".version 8.2\n.target sm_80\n.address_size 64\n"                               \
    ".visible .entry k(.param .u64 pa, .param .u64 pb) {\n"                         \
    ".reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %f<20>; .reg .pred %p<9>;\n"    \
    "ld.param.u64 %rd1, [pa]; ld.param.u64 %rd2, [pb]; mov.u32 %r1, %tid.x;\n"      \
    "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1;\n" \
    "mul.wide.u32 %rd3, %r4, 4; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;\n"

static const struct {
    const char *name, *text;
} kernels[] = {
    { "arithmetic", HEAD
      "ld.global.f32 %f1, [%rd4]; mov.u32 %r5, 0; mov.f32 %f2, 0f3f800000;\n"
      "L: fma.rn.f32 %f2, %f2, %f1, %f1; add.rn.f32 %f3, %f2, %f1;\n"
      "mul.rn.f32 %f2, %f3, 0f3f000000; xor.b32 %r6, %r5, %r4; and.b32 %r7, %r6, 255;\n"
      "cvt.rn.f32.u32 %f4, %r7; add.rn.f32 %f2, %f2, %f4; add.u32 %r5, %r5, 1;\n"
      "setp.lt.u32 %p2, %r5, 32; @%p2 bra L; st.global.f32 [%rd5], %f2; ret; }" },
    { "streaming",
      HEAD "ld.global.f32 %f1, [%rd4]; ld.global.f32 %f2, [%rd5];\n"
           "fma.rn.f32 %f1, %f1, 0f40000000, %f2; st.global.f32 [%rd5], %f1; ret; }" },
    { "shared memory", HEAD
      ".shared .align 4 .b8 s[1024]; mov.u32 %r5, s; mad.lo.u32 %r5, %r1, 4, %r5;\n"
      "ld.global.u32 %r6, [%rd4]; mov.u32 %r7, 16;\n"
      "L: st.shared.u32 [%r5], %r6; bar.sync 0; ld.shared.u32 %r8, [%r5];\n"
      "add.u32 %r6, %r6, %r8; sub.u32 %r7, %r7, 1; setp.ne.u32 %p1, %r7, 0;\n"
      "@%p1 bra L; st.global.u32 [%rd5], %r6; ret; }" },
    { "divergence",
      HEAD "ld.global.u32 %r5, [%rd4]; and.b32 %r5, %r4, 31; mov.u32 %r6, 0;\n"
           "L: setp.eq.u32 %p1, %r5, 0; @%p1 bra DONE; add.u32 %r6, %r6, %r5;\n"
           "sub.u32 %r5, %r5, 1; bra L; DONE: st.global.u32 [%rd5], %r6; ret; }" },
    { "atomics",
      HEAD "mov.u32 %r5, 8; L: red.global.add.u32 [%rd4], 1; sub.u32 %r5, %r5, 1;\n"
           "setp.ne.u32 %p1, %r5, 0; @%p1 bra L; ret; }" },
};

enum { COUNT = 1 << 18 };

static void run(const char *name, const SimKernel *kernel, SimMemory *memory,
                uint32_t *a, uint32_t *b)
{
    const void *params[] = { a, b };
    struct timespec begin, end;
    SimResult result;
    SimLaunch launch = { .kernel = kernel,
                         .grid = { COUNT / 256 },
                         .block = { 256 },
                         .params = params,
                         .param_bytes = sizeof(params),
                         .memory = memory,
                         .seed = 1 };
    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (!sim_run(&launch, &result)) {
        fprintf(stderr, "%s\n", result.message);
        exit(1);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double) (end.tv_sec - begin.tv_sec) +
                     (double) (end.tv_nsec - begin.tv_nsec) * 1e-9;
    printf("%-14s %-8s %7.1f million lane instructions a second\n", name,
           memory ? "checked" : "host", (double) result.lane_steps / seconds * 1e-6);
}

int main(void)
{
    SimMemory *memory = sim_memory_new();
    const size_t bytes = COUNT * sizeof(uint32_t);
    uint32_t *arrays[2][2] = { { calloc(1, bytes), calloc(1, bytes) },
                               { sim_memory_get(memory, bytes),
                                 sim_memory_get(memory, bytes) } };
    for (uint32_t k = 0; k < 2; k++) {
        memset(arrays[1][k], 0, bytes);
        sim_memory_written(memory, arrays[1][k], bytes);
    }
    for (uint32_t k = 0; k < sizeof(kernels) / sizeof(*kernels); k++) {
        char error[SIM_MESSAGE];
        SimModule *m = sim_parse(kernels[k].text, SIM_STRICT, error);
        if (!m) {
            fprintf(stderr, "%s\n", error);
            return 1;
        }
        for (uint32_t c = 0; c < 2; c++)
            run(kernels[k].name, sim_find(m, "k"), c ? memory : NULL, arrays[c][0],
                arrays[c][1]);
        sim_free(m);
    }
    free(arrays[0][0]);
    free(arrays[0][1]);
    sim_memory_delete(memory);
    return 0;
}
