/*
 * few_rows_target.h -- targets of the native engine whose tables are mostly empty
 *
 * They are the targets of x86-64 but for their tables, so what they show is whether
 * the plan gets along with a CPU for which nobody has written the rest: what has no row
 * is a call of the interpreter's loop. DRJIT_NATIVE_ISA chooses one after
 * few_rows_offer():
 *
 *     few-avx2, few-avx512         sums and products of floats, sums of u32, gathers
 *                                  and scatters of f32
 *     sparse-avx2, sparse-avx512   half of all rows, drawn at random
 *
 * Rows of local arrays are always there, as no call knows local arrays.
 */
#ifndef TESTS_FEW_ROWS_TARGET_H
#define TESTS_FEW_ROWS_TARGET_H

#include <stdint.h>

#include "engine/native/plan/native_target.h"

enum { FEW_ROWS_TARGETS = 4 };
/** All of them, after few_rows_offer(). Not all may be available here. */
extern const NativeTarget *few_rows_targets[FEW_ROWS_TARGETS];

/** Make them known, before anybody asks the native engine for anything. */
void few_rows_offer(void);
/** Draw the rows of the sparse ones anew, for code that is made from now on. */
void few_rows_draw(uint64_t seed);

#endif
