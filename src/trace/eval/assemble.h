/*
 * assemble.h -- one group of scheduled variables -> Program and launch arguments
 */
#ifndef TRACE_EVAL_ASSEMBLE_H
#define TRACE_EVAL_ASSEMBLE_H

#include "base/table.h"
#include "kernel/launch.h"
#include "trace/eval/local_plan.h"
#include "trace/eval/schedule.h"
#include "trace/graph/state.h"

/** A variable whose operands are being visited. */
typedef struct Visit {
    VarId id;
    uint32_t next; /* operands before this one have been emitted */
} Visit;

/** A region that is being emitted. */
typedef struct OpenRegion {
    uint32_t inside; /* its body's part of Assembly.inside begins here */
} OpenRegion;

/** A value that a callable takes from outside. */
typedef struct CallInput {
    VarId id;
    uint32_t position; /* in the Program around the call */
} CallInput;

/** A position outside of a callable, of a variable that has one inside, too. */
typedef struct HiddenPosition {
    VarId id;
    uint32_t stamp, position;
} HiddenPosition;

/** A call whose callables are being emitted (assemble_call.c). */
typedef struct CallFrame {
    VarId region;
    uint32_t callable;       /* which one now */
    Program *outer;          /* the Program around the call, ... */
    uint32_t outer_stamp;    /* ... of variables that have a position there */
    uint32_t capture_stamp;  /* of variables that are inputs: 'position' is which */
    uint32_t inside;         /* Assembly.inside as it was */
    uint32_t first_input;    /* in Assembly.inputs */
    uint32_t first_hidden;   /* in Assembly.hidden */
    LocalPlan locals;        /* of the outer Program */
    VarId *roots;            /* effects and outputs of this callable */
    uint32_t root_count, effect_count, next_root, root_capacity;
    uint32_t *targets;       /* the callables as far as they are complete */
    VarId *slots;            /* variables behind literals, in a preview */
    uint32_t target_capacity, slot_capacity;
} CallFrame;

/** What a launch of the built Program needs. All arrays are owned and reused;
 *  zero-initialise once, assemble_free() at the end. */
typedef struct Assembly {
    Program *program;
    Device *device;           /* that the launch is for (set by the caller) */
    uint32_t size;
    uint32_t interrupts; /* when its evaluation began (likewise) */
    bool held;           /* assemble_hold() was called (likewise) */
    bool sources;        /* note where instructions come from (likewise) */
    uint32_t workers;         /* that may take part, 0: all (see expand.h) */
    uint64_t *args;           /* one word a slot; outputs are filled in by evaluate.c */
    LaunchArray *operands;    /* borrowed from variables, see assemble_hold() */
    VarId *arrays;            /* arrays that are read, and those behind pointers */
    VarId *outputs;           /* variable of each output slot, in slot order */
    uint32_t *output_slots;
    VarId *literal_vars;      /* variable behind each literal, for messages */
    uint64_t *check_bounds;
    VarId *check_vars;
    VarId *print_vars;        /* PRINT behind each print */
    VarId *consumed;          /* atomics whose result is not stored */
    uint32_t arg_capacity, operand_count, operand_capacity;
    uint32_t output_count, output_capacity, output_slot_capacity;
    uint32_t array_count, array_capacity;
    uint32_t literal_capacity, bound_capacity, check_capacity, print_capacity;
    uint32_t consumed_count, consumed_capacity;
    uint32_t input_count;
    Visit *stack;             /* of the depth-first walk */
    uint32_t stack_capacity;
    LocalPlan locals;
    /* Regions (assemble_region.h): */
    uint32_t stamp;           /* of variables that have a position ... */
    uint32_t mark_stamp;      /* ... that are needed; 0: no regions exist */
    bool preview;             /* for reading only: effects need not be due */
    uint32_t bodies;          /* that have begun and not ended */
    OpenRegion *open;         /* regions that are being visited, innermost last */
    VarId *inside;            /* what has been emitted in bodies */
    VarId *work;              /* of assemble_region_mark(): yet to be looked at */
    uint32_t *words;          /* operands of a mark */
    uint32_t open_count, open_capacity, inside_count, inside_capacity;
    uint32_t work_count, work_capacity, word_capacity;
    /* Calls (assemble_call.h): */
    Program *root;            /* 'program' is it, or a callable for the time being */
    CallFrame *calls;         /* innermost last */
    CallInput *inputs;        /* of these calls */
    HiddenPosition *hidden;   /* by their callables */
    Table pointers;           /* array -> 1 + slot */
    Table callables;          /* hash -> 1 + position in root->callables */
    struct CallPreview *call_preview; /* not NULL: what a preview is for */
    uint32_t call_count, call_capacity, call_input_count, input_capacity;
    uint32_t hidden_count, hidden_capacity;
} Assembly;

/** Fill the assembly from a group. False: error recorded, nothing was changed in the
 *  graph. */
bool assemble_group(Assembly *assembly, Program *program, const Group *group);
/** The same for one variable, for reading only. */
bool assemble_preview(Assembly *assembly, Program *program, VarId id);
/** The callables of a region of kind CALL as they are, for comparing them. 'program' is
 *  for scratch. */
bool assemble_call_preview(Assembly *assembly, Program *program,
                           struct CallPreview *preview);
/** Emit a variable without operands to be visited, if it has not been. */
bool assemble_leaf(Assembly *assembly, VarId id);
/** Emit a literal that is no variable; its position or PROGRAM_NONE. */
uint32_t assemble_constant(Assembly *assembly, VarType type, uint64_t bits);
/** Hold all that the assembly names, so that the lock can be released: others may
 *  evaluate variables of the group, which then drop their operands. Then let go. */
void assemble_hold(const Assembly *assembly);
void assemble_drop(const Assembly *assembly);
void assemble_free(Assembly *assembly);

#endif
