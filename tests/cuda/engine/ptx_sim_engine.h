/*
 * ptx_sim_engine.h -- the simulator of PTX as an engine: DRJIT_CPU_ENGINE=ptx-sim
 *
 * For tests only: what links this has one more engine, which is chosen by name. Kernels
 * are what the generator of PTX makes (engine/ptx/ptx_kernel.h), run by the simulator
 * (cuda/sim/sim.h), in the memory of the host. A fault that the simulator finds is a
 * bug of the generator: its message and the PTX are written to stderr, and the process
 * is aborted.
 *
 *     DRJIT_PTX_SM=80        compute capability that kernels are written for, times ten
 *     DRJIT_PTX_SEED=1       of all that is random: size of blocks, order of warps and
 *                            lanes. A launch depends on it, the kernel and the lanes
 *     DRJIT_PTX_DUMP=folder  keep each text as <folder>/<hash>.ptx, also if it cannot
 *                            be parsed
 */
#ifndef CUDA_ENGINE_PTX_SIM_ENGINE_H
#define CUDA_ENGINE_PTX_SIM_ENGINE_H

#include "engine/engine.h"

extern const Engine ptx_sim_engine;

#endif
