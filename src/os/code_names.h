/*
 * code_names.h -- tell profilers and debuggers about generated code
 *
 * Asked for by the environment, read once:
 *
 *     DRJIT_PERF=map    a line in /tmp/perf-PID.map for each kernel: `perf report`
 *     names it DRJIT_PERF=dump   jit-PID.dump in the working directory, with the code,
 *     for
 *                       `perf inject --jit`: `perf annotate` shows it as well
 *     DRJIT_GDB=1       gdb's JIT interface: kernels have names in backtraces
 *
 * Names are drjit_<hash>. Thread-safe. Failures to write are ignored after one warning:
 * nobody's results depend on them.
 */
#ifndef OS_CODE_NAMES_H
#define OS_CODE_NAMES_H

#include <stddef.h>

#include "base/hash.h"

/** New code. The result is for code_names_remove(); NULL if there is nothing to do
 *  then. */
void *code_names_add(const void *code, size_t size, Hash128 hash);
/** The code is about to go. */
void code_names_remove(void *entry);

#endif
