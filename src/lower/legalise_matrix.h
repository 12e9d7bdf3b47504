/*
 * legalise_matrix.h -- products with matrices, for engines that have none
 */
#ifndef LOWER_LEGALISE_MATRIX_H
#define LOWER_LEGALISE_MATRIX_H

#include "lower/build.h"

/** MATVEC -> a gather and a fused operation for each entry of the matrix. In 'items',
 *  those that are not PROGRAM_NONE become the positions of results. False: error
 *  recorded; the same below. */
bool legalise_matvec(Build *build, const BuildInst *inst, uint32_t *items);
/** OUTER -> a scatter for each entry of the matrix. */
bool legalise_outer(Build *build, const BuildInst *inst);

#endif
