/*
 * sim_float.h -- roundings and modifiers of float instructions
 */
#ifndef CUDA_SIM_SIM_FLOAT_H
#define CUDA_SIM_SIM_FLOAT_H

#include "sim_warp.h"

/** Round as said from now on; returns what sim_restore_rounding() takes. */
int sim_set_rounding(Round round);
void sim_restore_rounding(int before);
/** Subnormal numbers of 32 lanes become zeros. */
void sim_flush(PtxType type, void *data);
/** All numbers of 32 lanes into 0 ... 1. */
void sim_saturate(PtxType type, void *data);
/** Insn.inner with .ftz, .sat and the rounding of the instruction. */
Exec sim_float_modified;

#endif
