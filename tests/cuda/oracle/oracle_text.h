/*
 * oracle_text.h -- what the library would hand to the driver for a Program
 */
#ifndef CUDA_ORACLE_ORACLE_TEXT_H
#define CUDA_ORACLE_ORACLE_TEXT_H

#include <stdbool.h>

#include "base/text.h"
#include "engine/ptx/ptx_kernel.h"
#include "ir/program.h"

/** Legalise a Program for PTX, and write it for a compute capability (ten times the
 *  major number and the minor one). 'out' is cleared before. False: error recorded. */
bool oracle_text(const Program *program, uint32_t sm, Text *out, PtxKernel *kernel);

/** The legalised form alone: 'program' itself or a new one. NULL: error recorded. */
const Program *oracle_legalise(const Program *program);

/** Write text to FOLDER/NAME.ptx. False: a message was printed. */
bool oracle_file(const char *folder, const char *name, Text *text);

#endif
