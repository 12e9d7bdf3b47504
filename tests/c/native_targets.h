/*
 * native_targets.h -- run the tests of the native engine for each of its targets, with
 * packets one by one and side by side
 */
#ifndef TESTS_NATIVE_TARGETS_H
#define TESTS_NATIVE_TARGETS_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/engine.h"

/* In a process of its own, since the choice is made once. */
static inline bool native_target_passes(int (*group)(void), const char *isa,
    const char *packets)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        setenv("DRJIT_NATIVE_ISA", isa, 1);
        setenv("DRJIT_NATIVE_PACKETS", packets, 1);
        int failed = group();
        fflush(NULL);
        _exit(failed != 0);
    }
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* What main() returns. */
static inline int native_targets_run(int (*group)(void))
{
    if (!engine_find("native")) {
        printf("this build has no native engine\n");
        return 0;
    }
    bool passes = true;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")) {
        passes &= native_target_passes(group, "avx512", "");
        passes &= native_target_passes(group, "avx512", "4");
    }
    if (__builtin_cpu_supports("avx2")) {
        passes &= native_target_passes(group, "avx2", "");
        passes &= native_target_passes(group, "avx2", "2");
    }
#else
    (void) group;
#endif
    return !passes;
}

#endif
