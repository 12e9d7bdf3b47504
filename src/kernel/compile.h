/*
 * compile.h -- one Program and one engine -> code, through the disk cache
 */
#ifndef KERNEL_COMPILE_H
#define KERNEL_COMPILE_H

#include "kernel/cache.h"

/** Is the Program well-formed (program_verify())? Asked if it has control flow, and
 *  always with DRJIT_VERIFY=1 in the environment; else true. */
bool compile_verify(const Program *program);
/** Code for a Program and the target of its key, as 'code' says but for the code
 *  itself: from disk ('*from_disk') or compiled and then stored there. The engine must
 *  be available(). False: error recorded. No locks needed, none may be held. */
bool compile_code(const Program *program, const ProgramKey *key, KernelCode *code,
                  bool *from_disk);

#endif
