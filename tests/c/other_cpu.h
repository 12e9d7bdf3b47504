/*
 * other_cpu.h -- CPUs, by LLVM's names, whose code any CPU of this kind runs
 */
#ifndef TESTS_C_OTHER_CPU_H
#define TESTS_C_OTHER_CPU_H

/* One with fewer instructions than this one is likely to have, and the least of all. */
#if defined(__x86_64__)
#define OTHER_CPU "haswell"
#define LEAST_CPU "x86-64"
#else
#define OTHER_CPU "cortex-a53"
#define LEAST_CPU "generic"
#endif

#endif
