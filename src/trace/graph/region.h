/*
 * region.h -- loops, conditionals and calls in the trace
 *
 * A region is one wide variable of OP_REGION and a record of what its operands are. Its
 * results are RESULT variables that have the region as their operand; an unused region
 * goes away with the last of them. A region that has side effects is an effect itself
 * and is queued like one: it runs exactly once, and all of its results that somebody
 * holds are stored then. A region without is pure and is computed wherever its results
 * are needed. So is what is left of the former if somebody holds a local array that is
 * a result.
 *
 * The operands are lists, one after the other: what the region takes from outside, then
 * its bodies, each of which is a range of operands (region_body()), then the
 * placeholders:
 *
 *     loop   MASK INPUTS READS            CONDITION EFFECTS OUTPUTS    STATES ACTIVE
 *     if     MASK CONDITION INPUTS READS  EFFECTS OUTPUTS (each side)  STATES ACTIVE
 *     call   MASK CONDITION INPUTS READS  EFFECTS OUTPUTS (each one)   STATES ACTIVE
 *
 * That is the order in which a Program needs them. The condition of a call is the
 * number of the target.
 *
 * READS are the implicit reads: all variables from outside that the body uses beside
 * its inputs: literals, arrays, pointers and computed values. Those of an inner region
 * contain what it takes from the outer body.
 *
 * STATE and ACTIVE variables stand for values that exist while the body runs. They name
 * their region without holding it: it holds them.
 *
 * Requires the graph lock.
 */
#ifndef TRACE_GRAPH_REGION_H
#define TRACE_GRAPH_REGION_H

#include "trace/graph/record.h"

typedef enum RegionPart {
    PART_MASK,      /* lanes that enter */
    PART_INPUTS,    /* initial states; inputs of a call */
    PART_READS,     /* values from outside */
    PART_CONDITION, /* of the loop; the conditional's; the target's number + 1 */
    PART_STATES,    /* the STATE variables */
    PART_ACTIVE,    /* ACTIVE variables: before and after TEST; true, false side; of
                       all callables */
    PART_COUNT
} RegionPart;

typedef struct RegionList {
    uint32_t first, count; /* operands of the region's variable */
} RegionList;

/** A loop has one, a conditional two, a call one for each callable. */
typedef struct RegionBody {
    RegionList effects; /* in order */
    RegionList outputs; /* of a loop the next states */
    uint32_t scope;     /* in which it was recorded */
} RegionBody;

typedef struct TraceRegion {
    RegionKind kind;
    char *name;            /* NULL = none */
    uint32_t scope;        /* variables of the bodies have this or a greater one */
    uint32_t count;        /* results: states of a loop, outputs */
    RegionList parts[PART_COUNT];
    uint32_t outside;      /* operands before the bodies */
    RegionBody *bodies;    /* 'results', 'fixed' and 'name' follow in the same memory */
    uint32_t body_count;
    uint32_t effects;      /* of all bodies */
    VarId *results;        /* the RESULT variables; weak: 0 where none is */
    VarId *targets;        /* arrays that it writes, one entry for each queued write, */
    uint32_t target_count; /* ... inner regions included; held by these */
    bool essential;        /* has effects that are not writes to arrays: prints */
    bool draws;            /* a body uses the result of an atomic operation */
    uint64_t serial;       /* when it was complete (local.h) */
    bool *fixed;           /* LOOP: the state never changes: it is its input */
} TraceRegion;

/** What a region is made of; lists are borrowed, the region takes references. All
 *  bodies have as many outputs. */
typedef struct RegionSpec {
    RegionKind kind;
    uint8_t device;
    const char *name;
    uint32_t size, scope;
    struct {
        const VarId *ids;
        uint32_t count;
    } parts[PART_COUNT]; /* READS is found by region_make() */
    const RecordedBody *bodies;
    uint32_t body_count;
    const bool *fixed;   /* LOOP: one for each input, or NULL */
} RegionSpec;

/** Make a region; its variable, owned by the caller, 0 on errors. It is not queued. */
VarId region_make(ThreadState *ts, const RegionSpec *spec);
/** Result 'which' of a region. */
VarId region_result(ThreadState *ts, VarId region, uint32_t which);
/** Have a region (0: error recorded, false), whose reference is taken over, run if it
 *  has effects, and put its results, in order, where 'results' are 0. */
bool region_add(ThreadState *ts, VarId region, uint32_t count, VarId *results);
/** Is this a region that has to run exactly once? */
static inline bool region_is_effect(const Var *v)
{
    return v->op == OP_REGION && v->region->effects != 0;
}
static inline bool region_is_essential(const Var *v)
{
    return v->op == OP_REGION && v->region->essential;
}
/** Is this an atomic operation, an effect that has a value? */
bool region_is_atomic(const Var *v);
/** One list of operands. */
const VarId *region_part(const Var *v, RegionPart part, uint32_t *count);
/** Effects or outputs of a body. */
static inline const VarId *region_list(const Var *v, RegionList list)
{
    return var_operands(v, &(uint32_t){ 0 }) + list.first;
}
/** Output number k of a body. */
static inline VarId region_output(const Var *v, uint32_t body, uint32_t k)
{
    return region_list(v, v->region->bodies[body].outputs)[k];
}
/** The operands that are a body: its effects and outputs, before which a loop has its
 *  condition. */
RegionList region_body(const Var *v, uint32_t body);

/** A placeholder: STATE, ACTIVE or ARG number 'which' of a body that is recorded.
 *  'like' gives type and size of a STATE (and the entries of a local array). */
VarId region_placeholder(ThreadState *ts, Op op, uint32_t which, uint8_t device,
                         VarType type, uint32_t size, VarId like);
/** Does a body of this scope have it from outside? Literals, arrays and the like belong
 *  to no body. */
static inline bool region_is_outside(const Var *v, uint32_t scope)
{
    return v->scope < scope ||
           (op_info[v->op].group == GROUP_LEAF && v->op != OP_UNDEFINED);
}
/** The region of a STATE, ACTIVE or RESULT; 0 while it is being recorded, or gone. */
VarId region_of(VarId id);

/** The arrays an effect writes to, one entry for each pending write it stands for. */
const VarId *region_targets(VarId effect, uint32_t *count);

/** The effects of this region have been performed and its results stored. Local arrays
 *  among these cannot be: for them the region goes on as one without effects (or they
 *  are gone if they depend on atomic operations). */
void region_has_run(VarId region);
/** Another region has taken the place of this one, or nothing has: it will never run.
 *  Those who still hold its results have values, without effects. */
void region_replaced(VarId region);
/** The same for all regions among the effects of a body. */
void region_replaced_all(const VarIds *effects);

/* For var.c: a RESULT or a region is about to lose its operands. */
void region_forget_result(VarId id, const Var *v);
void region_release(const Var *v);
/** Number of regions that exist. */
extern uint32_t region_live;

#endif
