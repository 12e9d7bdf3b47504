/*
 * local_plan.h -- local arrays of a trace, which are values, as storage of a Program
 *
 * A version of an array is a LOCAL of its own or shares the storage of the version that
 * it was made from by a write, a loop or a conditional. A write happens in place if,
 * after it, nobody needs what it overwrites, and if the storage belongs to the body in
 * which the write stands; else it goes to a copy. To make copies rare, what uses the
 * version and was traced before the write is emitted before it.
 *
 *     region        storage of array k
 *     loop          that of the initial version, if nobody else needs this one (else a
 *                   copy made before the loop), changed in place by the body
 *     conditional   the same, if what both sides have as output k was made from one
 *                   version outside; else an array of its own
 *
 * There are no STATEs for arrays. Where an output does not end up in its place (arrays
 * that are exchanged), LOCAL_MOVEs at the end of the body put it there.
 *
 * The plan counts uses by body. It is made when the first array of a Program is
 * emitted, so other Programs pay nothing. The position of a version that was emitted is
 * that of the storage.
 */
#ifndef TRACE_EVAL_LOCAL_PLAN_H
#define TRACE_EVAL_LOCAL_PLAN_H

#include "trace/graph/var.h"

struct Assembly;

/** What uses a version. */
typedef struct LocalUse {
    VarId user, version;
    uint32_t body;   /* in which the user stands */
    uint64_t serial; /* when it was traced; UINT64_MAX: behind everything else */
    bool done;       /* it was emitted */
} LocalUse;

/** A version in one body. */
typedef struct LocalRecord {
    VarId version;
    uint32_t body;
    uint32_t left;       /* uses that were not emitted yet */
    uint32_t first, end; /* of its uses */
} LocalRecord;

/** A body that uses of arrays are looked for in. */
typedef struct LocalBody {
    VarId region;    /* 0: what stands outside of all */
    bool other;      /* the false side */
} LocalBody;

/** Storage that the body of an open region may change. */
typedef struct LocalClaim {
    uint32_t storage;
    uint32_t result;
    VarId version;     /* what stands for it inside of a conditional, 0 = nothing */
    uint32_t position; /* of that outside */
} LocalClaim;

typedef struct LocalFrame {
    VarId region;
    bool other;
    uint32_t begin; /* storage from this position on belongs to the body */
    uint32_t first_claim;
} LocalFrame;

/** All arrays are owned and reused; zero-initialise once. */
typedef struct LocalPlan {
    const VarId *roots; /* borrowed */
    uint32_t root_count;
    bool ready;
    LocalUse *uses;     /* by version, body and serial */
    uint32_t *by_user;  /* positions in uses[] */
    LocalRecord *records;
    LocalBody *bodies;
    LocalClaim *claims;
    LocalFrame *frames; /* open regions */
    uint32_t *sources; /* of the moves at the end of a body */
    uint32_t use_count, use_capacity, by_user_capacity;
    uint32_t record_count, record_capacity, body_count, body_capacity;
    uint32_t claim_count, claim_capacity, frame_count, frame_capacity;
    uint32_t source_capacity;
} LocalPlan;

/** Begin a Program with these roots, which stay the caller's. */
void local_plan_reset(LocalPlan *plan, const VarId *roots, uint32_t count);
/** What has to be emitted before this write or region, whose operands have been:
 *  '*first' is 0 if there is nothing (more). */
bool local_plan_before(struct Assembly *b, VarId user, VarId *first);
/** Emit a LOCAL, LOCAL_READ or LOCAL_WRITE whose operands have been. Its position or
 *  PROGRAM_NONE. */
uint32_t local_plan_emit(struct Assembly *b, VarId id);

/** For every loop and conditional: directly before its REGION is added. Gives STATEs
 *  that are arrays their positions. */
bool local_plan_enter(struct Assembly *b, VarId region);
/** Directly before its ELSE and its END are. 'active' is the position of the ACTIVE of
 *  the body that ends; it need not exist unless local_plan_moves() says so. */
bool local_plan_settle(struct Assembly *b, uint32_t active);
/** Does the body that ends have to move arrays to their places? */
bool local_plan_moves(const struct Assembly *b);
/** The false side begins. */
void local_plan_else(struct Assembly *b);
/** The bodies are complete, and what was emitted in them has no position any more.
 *  Gives RESULTs that are arrays theirs. */
bool local_plan_leave(struct Assembly *b);

void local_plan_free(LocalPlan *plan);

#endif
