/*
 * assembler.h -- NVIDIA's assembler, where there is one
 *
 * With DRJIT_PTXAS=<path> the engine ptx-sim has each of its texts assembled before it
 * is parsed, as a driver would: what it refuses is an error with its words, what it
 * says of registers and local memory is logged.
 */
#ifndef CUDA_ENGINE_ASSEMBLER_H
#define CUDA_ENGINE_ASSEMBLER_H

#include <stdbool.h>
#include <stdint.h>

/** Assemble a text, unless the variable is not set. False: error recorded, with the
 *  line that the assembler names. */
bool assembler_check(const char *text, uint32_t sm, const char *kernel);

#endif
