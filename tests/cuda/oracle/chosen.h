/*
 * chosen.h -- Programs whose machine code is looked at: what is typical, one of each
 */
#ifndef CUDA_ORACLE_CHOSEN_H
#define CUDA_ORACLE_CHOSEN_H

#include "ir/program.h"

/** Name of number 'i', NULL behind the last. */
const char *chosen_name(uint32_t i);
/** The Program, to be released with program_free(). NULL: error recorded. */
Program *chosen_program(uint32_t i);

#endif
