/*
 * replay_region.h -- a region that is recorded again and whose bodies are complete
 */
#ifndef TRACE_FLOW_REPLAY_REGION_H
#define TRACE_FLOW_REPLAY_REGION_H

#include "trace/flow/region_replay.h"

struct ReplayFrame {
    Body body;             /* that is open, if any is */
    ReplayFrame *outer;
    VarId region;          /* the old one */
    uint32_t which;        /* body that is being recorded */
    uint32_t scope;        /* of the new region */
    bool is_open;
    VarId *states;         /* the new placeholders; owned */
    VarId active[2];
    uint32_t state_count;
    RecordedBody *bodies;  /* as far as they are complete */
};

/** The new region, owned. 0: error recorded, or ('*never') it is a loop that never
 *  runs, so that its results are its inputs. */
VarId replay_region_make(RegionReplay *r, const ReplayFrame *f, bool *never);

#endif
