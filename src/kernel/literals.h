/*
 * literals.h -- turning literals into parameters after a near miss
 */
#ifndef KERNEL_LITERALS_H
#define KERNEL_LITERALS_H

#include "ir/program.h"

/** A copy of 'program' in which the literals at the given positions (ascending) have
 *  become PARAM instructions on PARAM_VALUE parameters appended after the existing
 *  ones; a PARAM_REPORT stays last, all others stay where they are. Literals of
 *  callables, which are part of the skeleton, stay literals. '*first_value' is the
 *  first new parameter. NULL if out of memory. */
Program *literals_generalise(const Program *program, const uint32_t *positions,
                             uint32_t count, uint32_t *first_value);

/** Positions, ascending, that are in 'known' (ascending) or where the literals of two
 *  Programs of one skeleton differ. '*count' of them, owned by the caller (alloc_free);
 *  NULL if out of memory. */
uint32_t *literals_differences(const Program *a, const Program *b,
                               const uint32_t *known, uint32_t known_count,
                               uint32_t *count);
/** Do the literals of two Programs of one skeleton agree except at these positions? */
bool literals_agree(const Program *a, const Program *b, const uint32_t *except,
                    uint32_t count);
/** Type of the literal at a position; Void if no instruction uses it. */
VarType literals_type(const Program *program, uint32_t position);
/** A value as a reader would write it: "3", "0.1", "true". */
void literals_write(Text *out, VarType type, uint64_t bits);

#endif
