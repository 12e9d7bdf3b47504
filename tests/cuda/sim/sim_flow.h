/*
 * sim_flow.h -- groups of lanes: how they part and meet
 */
#ifndef CUDA_SIM_SIM_FLOW_H
#define CUDA_SIM_SIM_FLOW_H

#include "sim_warp.h"

/** Choose a group of lanes to go on with. False: all wait or have exited. */
bool flow_choose(Warp *w);
/** Keep the pc of the group's lanes, which may part from now on. */
void flow_part(Warp *w);
/** Registers of a function at a depth. */
Frame *flow_frame(Warp *w, const Function *function, uint32_t depth);
/** The frame of a lane that waits. */
void flow_enter_frame(Warp *w, uint32_t pc, uint32_t depth);
/** Execute an instruction with .sync: for each member mask (of 'members') among the
 *  lanes, once all its lanes that have not exited are there. Others wait. */
typedef void Together(Warp *w, const Insn *i, uint32_t lanes);
void flow_together(Warp *w, const Insn *i, uint32_t mask, const Ref *members,
                   Together *run);
/** Lanes of 'mask', which leave the group to wait at this instruction. */
void flow_wait(Warp *w, uint32_t mask, LaneState state);
/** They go on behind the instruction at which they waited. */
void flow_release(Warp *w, uint32_t lanes);
/** Threads have exited: barriers that wait for all others may be complete. */
void barrier_recheck(Block *block);
/** Why no thread of a block goes on, as a fault. */
void barrier_explain(Block *block);
const Function *flow_function(const SimModule *m, uint32_t pc);

#endif
