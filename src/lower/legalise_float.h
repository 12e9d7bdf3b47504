/*
 * legalise_float.h -- rules for floating point and for conversions
 *
 * All of them give the bits that one correctly rounded operation gives (NaN payloads
 * aside).
 */
#ifndef LOWER_LEGALISE_FLOAT_H
#define LOWER_LEGALISE_FLOAT_H

#include "lower/build.h"

/** Half precision: operands to single precision, the operation, the result rounded. */
uint32_t legalise_float_half(Build *build, const BuildInst *inst);
/** Half precision, where only bits move: the same on UInt16. */
uint32_t legalise_float_half_bits(Build *build, const BuildInst *inst);
uint32_t legalise_float_neg(Build *build, const BuildInst *inst);
uint32_t legalise_float_abs(Build *build, const BuildInst *inst);
uint32_t legalise_float_copysign(Build *build, const BuildInst *inst);
uint32_t legalise_float_rcp(Build *build, const BuildInst *inst);
uint32_t legalise_float_fmin(Build *build, const BuildInst *inst);
uint32_t legalise_float_fmax(Build *build, const BuildInst *inst);
/** Half and single precision, through the next wider type. */
uint32_t legalise_float_fma(Build *build, const BuildInst *inst);
/** Conversions between all types. */
uint32_t legalise_float_cast(Build *build, const BuildInst *inst);

#endif
