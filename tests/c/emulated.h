/*
 * emulated.h -- does an emulator of another CPU run this process?
 *
 * tools/aarch64_tests.py says so. qemu-user 7.2 ends in an assertion of its own where a
 * child of a process with several threads starts a thread (qemu_plugin_vcpu_init_hook),
 * and does not apply RLIMIT_AS.
 */
#ifndef TESTS_C_EMULATED_H
#define TESTS_C_EMULATED_H

#include <stdbool.h>
#include <stdlib.h>

static inline bool is_emulated(void)
{
    return getenv("DRJIT_TEST_EMULATED") != NULL;
}

#endif
