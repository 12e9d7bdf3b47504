/*
 * assemble.h -- one group of scheduled variables -> Program and launch arguments
 */
#ifndef TRACE_EVAL_ASSEMBLE_H
#define TRACE_EVAL_ASSEMBLE_H

#include "base/table.h"
#include "kernel/launch.h"
#include "trace/eval/local_plan.h"
#include "trace/eval/schedule.h"
#include "trace/graph/marks.h"
#include "trace/graph/state.h"

/** A variable whose operands are being visited. */
typedef struct Visit {
    VarId id;
    uint32_t next; /* operands before this one have been emitted */
} Visit;

/** A region that the group needs. */
typedef struct NeededRegion {
    uint32_t flags;  /* place of its NEEDED_... in Assembly.flags: by state, result */
    uint32_t number; /* in Program.regions */
    uint32_t phase;  /* marks of structure that have been emitted */
} NeededRegion;

#define ASSEMBLE_OUTPUT 0x40000000u

enum { NEEDED_STATE = 1, NEEDED_RESULT = 2, NEEDED_STORED = 4 };

/** A call whose callables are being emitted (assemble_call.c). */
typedef struct CallFrame {
    VarId region;
    Program *outer;       /* the Program around the call, ... */
    Marks *outer_places;  /* ... positions in it, ... */
    LocalPlan outer_locals; /* ... and its arrays */
    Marks *numbers;       /* of the ARGs of what the callables take from outside */
    uint32_t *operands;   /* of the call: mask, number of the callable, inputs */
    uint32_t operand_count, operand_capacity;
    uint32_t inside;      /* Assembly.inside as it was */
    uint32_t *targets;    /* the callables as far as they are complete */
} CallFrame;

/** What a launch of the built Program needs. All arrays are owned and reused;
 *  zero-initialise once, assemble_free() at the end. */
typedef struct Assembly {
    Program *program;
    Device *device;           /* that the launch is for (set by the caller) */
    uint32_t size;
    uint32_t interrupts; /* when its evaluation began (likewise) */
    bool retained;       /* assemble_retain() was called (likewise) */
    bool sources;        /* note where instructions come from (likewise) */
    uint32_t workers;         /* that may take part, 0: all (see expand.h) */
    uint64_t *args;           /* one word a parameter; evaluate.c fills in outputs */
    LaunchArray *operands;    /* borrowed from variables, see assemble_retain() */
    VarId *arrays;            /* arrays that are read, and those behind pointers */
    VarId *outputs;           /* variable of each output parameter, in this order */
    uint32_t *output_params;  /* SLOT_NO_WORD: the result of a reduction */
    VarId *literal_vars;      /* variable behind each literal, for messages */
    uint64_t *check_bounds;
    VarId *check_vars;
    VarId *print_vars;        /* PRINT after each print */
    VarId *consumed;          /* atomics whose result is not stored */
    uint32_t arg_capacity, operand_count, operand_capacity;
    uint32_t output_count, output_capacity, output_param_capacity;
    uint32_t array_count, array_capacity;
    uint32_t literal_capacity, bound_capacity, check_capacity, print_capacity;
    uint32_t consumed_count, consumed_capacity;
    uint32_t input_count;
    /** Sources: as in FusedReduction, slots are places in 'operands'; or a place in
     *  'outputs' with ASSEMBLE_OUTPUT, which 'target' is always. */
    FusedReduction fused[LAUNCH_FUSED];
    VarId fused_values[2 * LAUNCH_FUSED]; /* operands that have a tile, and which */
    uint32_t fused_params[2 * LAUNCH_FUSED];
    uint32_t fused_count, tile_count;
    Marks *spent;             /* spent.h; NULL: nobody has asked yet */
    Visit *stack;             /* of the depth-first walk */
    uint32_t stack_capacity;
    Marks *places;            /* positions of variables in 'program' */
    LocalPlan locals;         /* of 'program' */
    uint64_t local_bytes;     /* of local arrays so far, in all Programs */
    /* Regions (assemble_region.h): */
    Marks *needed;            /* what the group needs; of regions, which of 'regions' it
                                 is. NULL: no regions exist */
    NeededRegion *regions;
    uint8_t *flags;           /* NEEDED_... of states and results */
    bool preview;             /* for reading only: effects need not be due */
    uint32_t bodies;          /* that have begun and not ended */
    uint32_t *open;           /* where they begin in 'inside', innermost last */
    VarId *inside;            /* what has been emitted in bodies */
    uint32_t *words;          /* operands of a mark */
    uint32_t region_count, region_capacity, flag_count, flag_capacity;
    uint32_t open_count, open_capacity, inside_count, inside_capacity, word_capacity;
    /* Calls (assemble_call.h): */
    Program *root;            /* 'program' is it, or a callable for the time being */
    CallFrame *calls;         /* innermost last */
    Table pointers;           /* array -> parameter */
    Table callables;          /* hash -> position in root->callables */
    uint32_t call_count, call_capacity;
} Assembly;

/** Fill the assembly from a group. False: error recorded, nothing was changed in the
 *  graph. */
bool assemble_group(Assembly *assembly, Program *program, const Group *group);
/** The same for one variable, for reading only. */
bool assemble_preview(Assembly *assembly, Program *program, VarId id);
/** Emit a variable without operands to be visited, if it has not been. */
bool assemble_leaf(Assembly *assembly, VarId id);
/** Position of a variable in the Program that is being built; PROGRAM_NONE if it has
 *  not been emitted there. */
static inline uint32_t assemble_position(const Assembly *assembly, VarId id)
{
    return marks_get(assembly->places, id);
}
/** It is there now, until the body ends that is being emitted, if any. */
bool assemble_place(Assembly *assembly, VarId id, uint32_t position);
/** Emit a literal that is not a variable; its position or PROGRAM_NONE. */
uint32_t assemble_constant(Assembly *assembly, VarType type, uint64_t bits);
/** Make a parameter of the root for the array behind a pointer; PROGRAM_NONE on
 *  errors. */
uint32_t assemble_pointer(Assembly *assembly, const Var *pointer);
/** Hold all that the assembly names, so that the lock can be released: others may
 *  evaluate variables of the group, which then drop their operands. Then let go. */
void assemble_retain(const Assembly *assembly);
void assemble_drop(const Assembly *assembly);
void assemble_free(Assembly *assembly);

#endif
