/*
 * cases.h -- Programs with the arrays they work on, by name
 *
 *     seed:N         a random Program (tests/fuzz/random_program.h)
 *     form:add.f32   one operation (forms.h) on arrays of special and random values
 *     chosen:axpy    one of chosen.h, on arrays
 */
#ifndef CUDA_ORACLE_CASES_H
#define CUDA_ORACLE_CASES_H

#include "random_program.h"

/** To be released with random_program_free(). NULL: there is none of this name, or out
 *  of memory. */
RandomProgram *cases_new(const char *name);

#endif
