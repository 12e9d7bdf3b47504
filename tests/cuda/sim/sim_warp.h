/*
 * sim_warp.h -- a launch while it runs: blocks, warps, lanes
 *
 * A warp runs one group of lanes at a time: lanes at the same pc and depth of calls.
 * While a group runs, its pc is Warp.pc; those of lanes that wait are in Warp.pcs. What
 * an instruction does to the flow it says by Warp.next and Warp.regroup.
 *
 * Registers of a function at a depth are a Frame, shared by all lanes: no lane is in
 * two functions at one depth.
 */
#ifndef CUDA_SIM_SIM_WARP_H
#define CUDA_SIM_SIM_WARP_H

#include "sim_module.h"
#include "sim_special.h"

#define SIM_ALL UINT32_MAX
enum {
    WARP_DEPTH = 32,  /* calls within calls */
    SCRATCH_REFS = 8, /* of 256 bytes */
    BLOCK_BARRIERS = 16,
    BLOCK_THREADS = 1024,
    BLOCK_SHARED = 228 << 10,
    RUN_FOUND = 64
};

typedef struct Run Run;
typedef struct Block Block;

typedef struct Frame {
    const Function *function;
    uint32_t depth;
    uint8_t *data;
    uint32_t *defined;
    uint32_t local; /* where its local memory begins in that of a thread */
} Frame;

typedef enum LaneState {
    LANE_RUNS,
    LANE_WARP,    /* waits for others of a member mask */
    LANE_BARRIER, /* waits at a barrier of the block */
    LANE_EXITED
} LaneState;

struct Warp {
    Run *run;
    Block *block;
    const Insn *insn; /* that is executed */
    uint8_t *area[AREA_COUNT];
    uint32_t *defined[AREA_COUNT];
    uint32_t pc, next, merge; /* 'merge': where lanes that are ahead wait */
    uint32_t group, depth;
    bool regroup;
    uint32_t carry;        /* of add.cc: a bit for each lane */
    uint32_t local;        /* of the frame that runs */
    uint32_t runs, exited; /* lanes by state; 'runs' has those of the group too */
    uint32_t index;        /* in its block */
    uint32_t threads;      /* lanes that there are */
    uint32_t turns;        /* jumps back while others wait */
    uint32_t patience;     /* instructions until another group may go on */
    uint8_t state[SIM_WARP];
    uint32_t pcs[SIM_WARP], depths[SIM_WARP];
    uint32_t members[SIM_WARP]; /* LANE_WARP: whom it waits for */
    uint8_t barrier[SIM_WARP];  /* LANE_BARRIER: at which one */
    bool vote[SIM_WARP];        /* what it brings to bar.red */
    uint32_t returns[WARP_DEPTH][SIM_WARP];
    Frame *frames;
    uint32_t frame_count, frame_capacity;
    uint8_t *locals, *locals_defined; /* see space_local() */
    uint32_t local_bytes, local_room; /* of a thread: that there are, and room for */
    uint32_t epoch;                   /* of barriers of the warp */
    uint32_t scratch_defined[SCRATCH_REFS];
    uint8_t *special, *scratch;
};

typedef struct Barrier {
    uint32_t arrived, expected; /* threads */
} Barrier;

typedef struct Race Race;
typedef struct Buffer Buffer;

struct Block {
    uint32_t id[3], number;
    uint32_t warp_count, threads;
    Warp *warps;
    uint32_t live; /* threads that have not exited */
    uint8_t *shared, *shared_defined;
    Race *races;    /* one for each granule of shared memory */
    uint32_t epoch; /* of its barriers */
    Barrier barriers[BLOCK_BARRIERS];
    Buffer *buffer; /* of its stores to global memory */
};

struct Run {
    const SimLaunch *launch;
    const SimModule *module;
    const Function *function;
    SimResult *result;
    uint64_t random;
    uint64_t lane_steps, warp_steps;
    bool faulted, stopped, foreign;
    uint32_t grid[3], block[3];
    uint32_t shared_static, shared_bytes, granule_shift;
    bool buffered;           /* are plain stores to global memory kept back? */
    struct LineTable *lines; /* what .nc loads and stores have touched; NULL */
    struct SimAllocation *found[RUN_FOUND]; /* last, by instruction */
    const Variable *variable;               /* last found */
    uint32_t all_defined; /* the mask of constants and special registers */
    uint64_t next_stop;   /* steps at which stop() is asked again */
};

/* ---- sim_run.c */

/** End the launch: the first fault is kept. 'lane' UINT32_MAX: of the warp. */
void sim_fault(Warp *w, uint32_t lane, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
uint64_t sim_random(Run *run);

/* ---- lanes */

#define SIM_LANES(mask, l)                                        \
    for (uint32_t left_##l = (mask), l = 0;                       \
         left_##l && (l = (uint32_t) __builtin_ctz(left_##l), 1); \
         left_##l &= left_##l - 1)

/* Lanes do not depend on each other, even where the result is one of the operands. */
#if defined(__clang__)
#define SIM_IVDEP /* it insists on vectors, and warns where it finds none */
#else
#define SIM_IVDEP _Pragma("GCC ivdep")
#endif

static inline void *sim_data(const Warp *w, const Ref *ref)
{
    return w->area[ref->area] + ref->at;
}

static inline uint32_t sim_defined(const Warp *w, const Ref *ref)
{
    return w->defined[ref->area][ref->reg];
}

/** Lanes of a mask hold something defined, or not. */
static inline void sim_define(Warp *w, const Ref *ref, uint32_t mask, uint32_t defined)
{
    uint32_t *word = &w->defined[ref->area][ref->reg];
    *word = (*word & ~mask) | (mask & defined);
}

/** A predicate of all lanes. */
static inline uint32_t sim_word(const Warp *w, const Ref *ref)
{
    uint32_t word = *(const uint32_t *) sim_data(w, ref);
    return ref->flipped ? ~word : word;
}

/** Set a predicate in some lanes. */
static inline void sim_set_mask(Warp *w, const Ref *ref, uint32_t mask, uint32_t value)
{
    uint32_t *word = sim_data(w, ref);
    *word = (*word & ~mask) | (value & mask);
}

/** A lane of a register of any width, zero-extended. */
static inline uint64_t sim_lane(const Warp *w, const Ref *ref, uint32_t l)
{
    const void *data = sim_data(w, ref);
    switch (ref->bytes) {
    case 2:
        return ((const uint16_t *) data)[l];
    case 4:
        return ((const uint32_t *) data)[l];
    case 8:
        return ((const uint64_t *) data)[l];
    default:
        return sim_word(w, ref) >> l & 1;
    }
}

static inline void sim_set_lane(Warp *w, const Ref *ref, uint32_t l, uint64_t value)
{
    void *data = sim_data(w, ref);
    switch (ref->bytes) {
    case 2:
        ((uint16_t *) data)[l] = (uint16_t) value;
        break;
    case 4:
        ((uint32_t *) data)[l] = (uint32_t) value;
        break;
    case 8:
        ((uint64_t *) data)[l] = value;
        break;
    default:
        *(uint32_t *) data = (*(uint32_t *) data & ~(1u << l)) | ((uint32_t) value & 1)
                                                                     << l;
    }
}

/** Whether all lanes of a mask are defined; else a fault that says what is not. */
static inline bool sim_need(Warp *w, const Ref *ref, uint32_t mask, const char *what)
{
    uint32_t missing = mask & ~sim_defined(w, ref);
    if (__builtin_expect(missing != 0, 0)) {
        sim_fault(w, (uint32_t) __builtin_ctz(missing), "%s was never written", what);
        return false;
    }
    return true;
}

#endif
