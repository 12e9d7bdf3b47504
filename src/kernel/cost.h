/*
 * cost.h -- what running a Program is expected to cost
 */
#ifndef KERNEL_COST_H
#define KERNEL_COST_H

#include "device/cpu/cpu_code.h"
#include "engine/engine.h"

/** The expected cost of a Program's code by this engine. Bodies of loops and callables
 *  count once each. */
CpuCost cost_find(const Program *program, const Engine *engine);

#endif
