/*
 * interp_flow.h -- steps of control flow, local arrays and prints
 */
#ifndef ENGINE_INTERP_INTERP_FLOW_H
#define ENGINE_INTERP_INTERP_FLOW_H

#include "engine/interp/interp_plan.h"

/** Emit the instruction at this position if it is one of these; false if it is not. */
bool interp_flow_emit(Builder *b, uint32_t at);

#endif
