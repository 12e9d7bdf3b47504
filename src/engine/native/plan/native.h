/*
 * native.h -- the context of one compile, and what the parts of the plan share
 *
 *     native_build.c    Program -> Plan: its values, and what regions use
 *     native_count.c    loops that end after a known number of iterations
 *     native_steps.c    which instruction is a step, in which order, and where each
 *                       value is needed next
 *     native_alloc.c    registers and spill slots
 *     native_operand.c  operands, results, temporaries, constants (native_emit.h)
 *     native_merge.c    instructions that do what their only user is for
 *     native_flow.c     the walk over the steps
 *     native_copies.c   how many packets side by side
 *     native_region.c   loops and conditionals
 *     native_snapshot.c registers where two paths meet
 *     native_dispatch.c calls of callables
 *     native_call.c     calls of the interpreter's loops
 *     native_memory.c   places in memory
 *     native_frame.h    memory of a worker while a kernel runs
 *
 * A Program (the root, and each of its callables) is compiled into one function. Its
 * values have numbers: the position of the instruction, and behind those some that no
 * instruction has (masks of regions, NativeFunction.valid). Instructions that only
 * rename a value have the number of that value (root[]).
 *
 * The steps of the root are its uniform instructions, which run once, and then those of
 * a packet, a loop around all others. What costs nothing to compute again is not a
 * step: literals, the lane counter, entries of input arrays and parameters that can be
 * broadcast are made when an instruction uses them (NativeSource).
 */
#ifndef ENGINE_NATIVE_PLAN_NATIVE_H
#define ENGINE_NATIVE_PLAN_NATIVE_H

#include <string.h>

#include "engine/native/plan/native_target.h"
#include "engine/native/run/native_frame.h"
#include "ir/program.h"
#include "lanes/lanes.h"

enum {
    NATIVE_NEVER = UINT32_MAX, /* as a next use */
    NATIVE_NO_VALUE = UINT32_MAX,
    NATIVE_NO_SLOT = UINT32_MAX
};

/** Where a value comes from when it is not in a register. */
typedef enum NativeSource {
    NATIVE_COMPUTED, /* by its step; then from its spill slot */
    NATIVE_LITERAL,
    NATIVE_PARAM, /* broadcast from the launch's arguments */
    NATIVE_INPUT, /* the packet's entries of an input array */
    NATIVE_COUNTER,
    NATIVE_ARG,  /* a callable's input, as a vector in memory */
    NATIVE_VALID /* lanes that are not behind the end */
} NativeSource;

enum {
    NATIVE_CLEAN = 1,    /* the spill slot holds the value */
    NATIVE_LIVE = 2,     /* somebody needs it */
    NATIVE_KEPT = 4,     /* STATE: the result of the loop is needed */
    NATIVE_STEP = 8,     /* computed by an instruction of its own, if needed */
    NATIVE_EFFECT = 16,  /* needed in any case */
    NATIVE_RENAMES = 32, /* CAST or BITCAST that changes nothing, PACKET_ITEM; NEG or
                            AND that is part of its users */
    NATIVE_UNIFORM = 64, /* computed before the loop over packets; kept in it */
    NATIVE_HOME = 128,   /* a loop expects the value in its slot, which is kept */
    NATIVE_WANTED = 256, /* mark of native_region.c and native_snapshot.c */
    NATIVE_ODD = 512,    /* more to it than operands and a result (native_build.c) */
    NATIVE_SPILLED = 1024,  /* has a spill slot */
    NATIVE_FILTERED = 2048, /* mask: has only lanes of the other operand of its user, */
    NATIVE_INSIDE = 4096,   /* ... of the loop that it is the test of */
    NATIVE_INVERTED = 8192, /* mask: has the lanes where the comparison is false */
    NATIVE_SELECTED = 16384, /* a select chooses it */
    NATIVE_MERGED = 32768    /* its only user has nothing to do (native_merge.c) */
};

/** How lanes of 32 bits hold narrow values, where all users can do with it. */
typedef enum NativeForm {
    NATIVE_CANONICAL, /* extended */
    NATIVE_LOOSE,     /* integers: anything above their bits */
    NATIVE_PACKED     /* Float16: as in memory, one entry behind the other */
} NativeForm;

typedef struct NativeValue {
    uint32_t next; /* step that needs it next, NATIVE_NEVER if none does */
    uint32_t
        slot;    /* spill slot, NATIVE_NO_SLOT; LITERAL: place in the pool; LOCAL: bytes
                      to the array */
    uint8_t reg;    /* NATIVE_NO_REG */
    uint8_t bits;   /* of its lanes: 32 or 64 (masks that are vectors: as computed) */
    uint8_t class;  /* NativeClass; NATIVE_CLASSES if never in a register */
    uint8_t source; /* NativeSource */
    uint8_t type : 6; /* VarType */
    uint8_t form : 2; /* NativeForm, of what its step computes */
    uint8_t role;   /* in loops: NATIVE_DIRECT, ... */
    uint16_t flags;
} NativeValue;

/** What a value is in the loop around it. */
enum {
    NATIVE_DIRECT = 1,  /* computed behind the loop's test, in no region inside */
    NATIVE_NEXT = 2,    /* the next value of a state, */
    NATIVE_TWICE = 4,   /* ... of several ones */
    NATIVE_BECOMES = 8, /* ... of the one in NativeFunction.becomes, */
    NATIVE_SETTLES = 16, /* ... whose place it takes before the end of the loop */
    NATIVE_SETTLER = 32, /* instruction behind which values do so */
    NATIVE_BLENDED = 64, /* has the state's value in lanes that are not active */
    NATIVE_HOMED = 128   /* state: the top of the loop expects it in its slot */
};

/** By position. Of a value that becomes the state of a loop: which one, of which loop,
 *  and the next one that does so behind the same instruction, 0 for none. Of an
 *  instruction: the first one. Of a STATE: its loop, and in 'next' its last user. */
typedef struct NativeNext {
    uint32_t state, region, next, first;
} NativeNext;

/** A step: the instruction, and for each of its first INST_ARGS operands the step that
 *  needs the same value next. (Longer lists: NativeFunction.extra_next.) */
typedef struct NativeStep {
    uint32_t at;
    uint32_t next[INST_ARGS];
} NativeStep;

/** What is known about a region beside Region. */
typedef struct NativeRegion {
    /* Values that its marks use without having them as operands, in
     * NativeFunction.uses[]: [0] of TEST or ELSE, [1] of END. */
    uint32_t uses[2], use_count[2];
    uint32_t state_uses; /* loops: how many of [1] are its mask and its states */
    /* Numbers of the values of its states or results, in NativeFunction.carried[]. */
    uint32_t carried, carried_count;
    uint32_t pressure; /* most vectors alive at once inside */
    uint32_t end_step; /* its END */
    uint32_t most; /* loops: iterations that there are at most, which native_count()
                      found out; 0: that is not known */
    bool joint;        /* loops: all lanes enter, and leave together */
    bool one_sided;    /* conditionals: see begin_one_sided() in native_region.c */
    /* While code is generated: labels and snapshots (native_snapshot.c) of [0] the top
     * of a loop or the begin of the other side, [1] what is behind the region. */
    NativeLabel label[2];
    uint32_t snapshot[2];
} NativeRegion;

/** What the analysis of a Program finds out. */
typedef struct NativeFunction {
    const Program *program;
    uint32_t self;  /* position in callables[], PROGRAM_NONE for the root */
    /* By position: number of the value. Behind the last one, of that which stands for
     * operands that are missing, the last of values[]. */
    uint32_t *root;
    NativeValue *values;
    uint32_t value_count;
    uint32_t valid; /* number of the value VALID; that of instructions */
    NativeStep *steps;
    uint32_t step_begin, step_end; /* those that there are */
    uint32_t packet;               /* first step of the loop over packets */
    uint32_t *extra_next;          /* parallel to program->extra */
    NativeRegion *regions;
    uint32_t *uses, *use_next; /* see NativeRegion; and the next use behind the mark */
    uint32_t use_count, use_capacity;
    uint32_t *carried;
    uint32_t carried_count;
    NativeNext *becomes;
    /* Of each packet, the numbers of its items (NATIVE_NO_VALUE: nobody names
     * it), from NativeValue.slot on. They are values that its step computes. */
    uint32_t *items;
    uint32_t item_count, item_capacity;
    uint32_t pressure; /* most vectors alive at once in a packet */
    uint32_t height;   /* of the packet: steps of the longest path of dependencies */
    uint32_t masks;    /* most mask registers that a step needs, if there are any */
    bool single;       /* has steps that cannot be copied (native_flow.c) */
    uint32_t local_rows; /* of all local arrays, a vector each */
} NativeFunction;

/** Number of the value that is operand k of an instruction with a short list, or of the
 *  one that stands for operands that are missing: nobody could predict a branch. */
static inline uint32_t native_short_operand(const NativeFunction *f, const Inst *inst,
                                            uint32_t k)
{
    uint32_t arg = inst->arg[k], missing = k >= inst->count;
    return f->root[arg ^ ((arg ^ f->valid) & -missing)];
}

/** Masks of a region: lanes of the iteration or of the true side; lanes of the body or
 *  the false side. */
static inline uint32_t native_region_mask(const NativeFunction *f, uint32_t region,
                                          bool second)
{
    return f->valid + 1 + 2 * region + second;
}

/** The next state of a loop, or the like, on its way to where that is expected. */
static inline uint32_t native_region_incoming(const NativeFunction *f,
                                              const NativeRegion *own, uint32_t k)
{
    return f->valid + 1 + 2 * f->program->region_count + own->carried + k;
}

enum { NATIVE_FILES = 2 /* vectors, masks */ };

typedef struct NativeFile {
    uint32_t all, free, pinned; /* sets of registers */
    uint32_t owner[NATIVE_NO_REG + 1]; /* values, NATIVE_NO_VALUE */
} NativeFile;

/** What was in the registers at some point of the code. */
typedef struct NativeSnapshot {
    uint32_t owner[NATIVE_FILES][NATIVE_REGISTERS];
    uint32_t clean[NATIVE_FILES]; /* sets of registers */
} NativeSnapshot;

/** What is done with an array that has an entry a lane. */
enum { NATIVE_STORED = 1, NATIVE_LOADED = 2 };

enum { NATIVE_CONSTANT_BITS = 8 };

/** A constant in the pool: a value for all lanes of 32 or 64 bits. */
typedef struct NativeConstant {
    uint64_t value;
    uint32_t place, bits; /* bits 0: none */
} NativeConstant;

enum { NATIVE_OPERANDS = 5 }; /* most operands of a row */
enum { NATIVE_HOISTED = 16 /* most array addresses in registers, of any CPU */ };

struct Native {
    const NativeTarget *target;
    const NativeCpu *cpu;
    void *plan; /* arrays of the NativeFunction */
    size_t plan_size;
    const LaneTable *lanes_table;
    const Program *root_program;
    NativeFunction *f; /* the one being compiled, */
    const Inst *insts; /* ... what is in its Program */
    NativeValue *values; /* ... and its values */
    uint32_t lanes;    /* W */
    uint32_t copies;   /* packets that the code computes at a time */
    uint32_t most_copies; /* to try */
    uint32_t set_copies;  /* somebody has set that; else 0 */
    bool failed;
    bool refused; /* several packets cannot be computed in this way */
    bool lists;   /* a listing is wanted */

    /* The current step. */
    const Inst *inst;
    const uint32_t *args;              /* positions of its operands */
    const uint32_t *args_next;         /* where they are needed next */
    uint32_t operand[NATIVE_OPERANDS]; /* numbers of the values of the first ones */
    bool keeps_operands; /* those, of which there are INST_ARGS, stay in registers */
    uint32_t step;
    uint32_t result; /* number of its value */
    NativeReg result_reg;
    uint8_t result_bits;

    NativeFile
        files[NATIVE_CLASSES + 1];  /* by class; those behind NATIVE_FILES are empty */
    uint32_t temps[NATIVE_CLASSES]; /* registers to free after the step */
    uint32_t general_free;          /* set of integer registers */
    uint32_t hoisted[NATIVE_HOISTED]; /* slots whose addresses are kept in registers */
    uint8_t addresses[NATIVE_HOISTED]; /* the registers */
    uint32_t hoisted_count;
    bool hoisted_all; /* there are no other slots with addresses */
    bool many_lanes;  /* as CodeSpec has it */
    uint8_t *streams; /* by slot: NATIVE_STORED, _LOADED with an entry a lane */

    /* Spill slots. */
    uint32_t *free_slots;
    uint32_t free_slot_count, free_slot_capacity;
    uint32_t slot_count;

    /* Constants. */
    uint8_t *pool;
    uint32_t pool_size, pool_capacity;
    NativeConstant constants[1 << NATIVE_CONSTANT_BITS]; /* recent, by hash */
    uint32_t *vectors; /* places of whole vectors in the pool, and their sizes */
    uint32_t vector_count, vector_capacity;

    /* Steps of the interpreter that the code calls. */
    LaneStep *helpers;
    uint32_t helper_count, helper_capacity;

    NativeSnapshot *snapshots;
    uint32_t snapshot_count, snapshot_capacity;

    uint32_t local_bytes; /* of the local arrays so far */
    uint32_t most_rows;   /* most that a step has in the area of rows */
    uint32_t area_first;  /* bytes to the area of the current function's calls, */
    uint32_t area_most;   /* ... and the size that it needs */
    uint32_t outputs; /* vector registers in which callables keep their first outputs */
    NativeLabel *entries; /* of callables */
    NativeLabel left;     /* the end of the kernel, for a loop that is left early */
    uint32_t extensions; /* of the CPU beyond the target's, that the code uses: isa.h */
    bool may_last;     /* are there loops? */
    bool counts;       /* is this in a loop of which NativeRegion.most is known? */
    bool keep_uniform; /* uniform values stay in registers for all packets */

    struct NativeNote *notes; /* if there is a listing */
    uint32_t note_count, note_capacity;
};

/** Where the code of an instruction begins. */
typedef struct NativeNote {
    uint32_t code; /* position in the code */
    uint32_t at;   /* instruction */
    uint32_t self; /* callable or PROGRAM_NONE */
} NativeNote;

/* ---- native_engine.c */

/** Memory for the arrays of a NativeFunction, of which there is one at a time. NULL:
 *  out of memory. */
void *native_take_plan(Native *n, size_t size);

/* ---- native_build.c */

/** Analyse a Program into a zeroed NativeFunction. False: out of memory.
 *  native_build_free() in any case. */
bool native_build(Native *n, NativeFunction *f, const Program *program, uint32_t self);
void native_build_free(NativeFunction *f);
/** Does any function have values of 64 bits? */
bool native_build_is_wide(const Program *program);

/* ---- native_alloc.c */

/** Register file of a value. */
static inline NativeFile *native_file(Native *n, const NativeValue *v)
{
    return &n->files[v->class];
}

/** Bytes of a value's register. */
static inline uint32_t native_value_bytes(const Native *n, const NativeValue *v)
{
    return v->bits / 8 * n->lanes;
}

/** Can the value be had again without storing it? */
static inline bool native_is_clean(const NativeValue *v)
{
    return v->source != NATIVE_COMPUTED || v->flags & NATIVE_CLEAN;
}

/** The spill slot holds the value, or does not. */
static inline void native_value_set_clean(NativeValue *v, bool clean)
{
    if (v->source == NATIVE_COMPUTED)
        v->flags =
            (uint16_t) (clean ? v->flags | NATIVE_CLEAN : v->flags & ~NATIVE_CLEAN);
}

/** The first copy's part of the registers of a class; the other copies have their part
 *  behind it. */
uint32_t native_alloc_share(const Native *n, NativeClass class);
/** No registers are in use, no slots taken. */
void native_alloc_begin(Native *n);
/** The register of the value that is needed furthest ahead, which leaves it. */
NativeReg native_alloc_evict(Native *n, NativeClass class);
/** A register, taken from the value needed last if none is free. Pinned; belongs to no
 *  value. */
static inline NativeReg native_alloc_take(Native *n, NativeClass class)
{
    NativeFile *file = &n->files[class];
    NativeReg reg = file->free ? (NativeReg) __builtin_ctz(file->free)
                               : native_alloc_evict(n, class);
    file->free &= ~(1u << reg);
    file->pinned |= 1u << reg;
    return reg;
}

/** Give back what native_alloc_take() gave. */
static inline void native_alloc_give(Native *n, NativeClass class, NativeReg reg)
{
    n->files[class].free |= 1u << reg;
    n->files[class].pinned &= ~(1u << reg);
}

/** The value leaves its register; it was clean, or is not needed. */
static inline void native_alloc_drop(Native *n, uint32_t value)
{
    NativeValue *v = &n->values[value];
    if (v->reg == NATIVE_NO_REG)
        return;
    native_file(n, v)->owner[v->reg] = NATIVE_NO_VALUE;
    native_alloc_give(n, (NativeClass) v->class, v->reg);
    v->reg = NATIVE_NO_REG;
}

/** The register (taken before, or of a value that is done with it) holds this value
 *  now, and nothing else does. */
static inline void native_alloc_bind(Native *n, uint32_t value, NativeReg reg)
{
    NativeValue *v = &n->values[value];
    NativeFile *file = native_file(n, v);
    uint32_t before = file->owner[reg];
    if (before == value)
        return;
    /* No branch: nobody could predict it. */
    before = before == NATIVE_NO_VALUE ? n->f->value_count : before;
    n->values[before].reg = NATIVE_NO_REG;
    native_alloc_drop(n, value);
    file->owner[reg] = value;
    file->free &= ~(1u << reg);
    v->reg = reg;
}

/** Bring a value into a register and pin it. */
NativeReg native_alloc_load(Native *n, uint32_t value);
/** Fill a register with a value that is not in one. */
void native_alloc_fill(Native *n, uint32_t value, NativeReg reg);
/** Where in memory the value is in the form of its register; false if nowhere. May need
 *  a general register until the end of the step. */
bool native_alloc_place(Native *n, uint32_t value, NativeOperand *place);
/** Make sure that the value could leave its register. */
void native_alloc_clean(Native *n, uint32_t value);
/** The slot of a NATIVE_SPILLED value that is needed no more. */
void native_alloc_free_slot(Native *n, NativeValue *v);
/** Release register and slot of a value that no step needs any more. */
void native_alloc_forget(Native *n, uint32_t value);
/** The same if so. */
static inline void native_alloc_release(Native *n, uint32_t value)
{
    if (n->values[value].next == NATIVE_NEVER)
        native_alloc_forget(n, value);
}
/** All values leave their registers. What is needed later is stored. */
void native_alloc_flush(Native *n);
/** Place of a value's spill slot, which it gets now if it has none. */
NativeOperand native_alloc_slot(Native *n, uint32_t value);
/** End of a step: nothing is pinned, temporaries are free. */
static inline void native_alloc_unpin(Native *n)
{
    for (uint32_t class = 0; class < NATIVE_FILES; ++class) {
        n->files[class].free |= n->temps[class];
        n->files[class].pinned = 0;
        n->temps[class] = 0;
    }
    n->keeps_operands = false;
    n->general_free |= n->temps[NATIVE_GENERAL];
    n->temps[NATIVE_GENERAL] = 0;
}

/** Bits of a literal, extended to its lanes; masks: 0 or 1. */
uint64_t native_alloc_literal(const Native *n, uint32_t value);

/* ---- native_operand.c */

/** A value that is in no register, as an operand. */
NativeOperand native_operand_fetch(Native *n, uint32_t value);
/** Register for the result: that of an operand that ends here, or another one. */
NativeReg native_operand_reuse(Native *n, NativeClass class);
static inline uint32_t native_operand_value(const Native *n, uint32_t k)
{
    return k < NATIVE_OPERANDS ? n->operand[k] : n->f->root[n->args[k]];
}

static inline NativeValue *native_operand(const Native *n, uint32_t k)
{
    return &n->values[native_operand_value(n, k)];
}

/** Does nobody need what is in the value's register after this step? */
static inline bool native_operand_ends(const Native *n, const NativeValue *v)
{
    return (v->next == NATIVE_NEVER) &
           !(((v->flags & NATIVE_UNIFORM) != 0) & n->keep_uniform);
}

/** Is this operand of a product of 64 bits, by its position, known to be less than
 *  2^32? If it is the lower half of a number, the number itself may be in the register:
 *  the product has to ignore its upper half. */
bool native_is_half(const NativeFunction *f, uint32_t at);
/** Does a GATHER, in a kernel with packets of this many lanes, read entry 'lane / d' in
 *  all lanes, where entries have 32 or 64 bits and d is a literal, and not less than a
 *  packet? Then d, else 0. Its row needs no index. */
uint32_t native_repeats(const Program *p, const Inst *inst, uint32_t lanes);
/** Does a GATHER read entry 'lane + *distance' in all lanes that take part, where that
 *  is a literal? */
bool native_distance(const Program *p, const Inst *inst, int32_t *distance);
/** The t of (x << (-t & 31)), written (~t + 1) & 31, of UInt32, where t is known to be
 *  less than 32; PROGRAM_NONE if 'shift' is something else. */
uint32_t native_turn(const Program *p, const Inst *shift);
/** Is this (x >> t) | (x << (-t & 31))? On targets with an instruction for that, both
 *  shifts are part of the OR, whose operands are x and t then, if nobody else uses
 *  them: they rename values. */
bool native_rotates(const Program *p, const Inst *inst);
static inline bool native_is_rotation(const NativeFunction *f, const Inst *inst)
{
    return native_rotates(f->program, inst) &&
           f->values[inst->arg[1]].flags & NATIVE_RENAMES;
}

/** The value in a register of its own ('only': which may be its own one), which becomes
 *  that of the result. */
void native_operand_take_over(Native *n, uint32_t value, bool only);
/** Place in the pool of a constant for all lanes of 32 or 64 bits. */
uint32_t native_operand_constant(Native *n, uint32_t bits, uint64_t value);

/* ---- native_runs.c */

enum { NATIVE_RUN_LEVELS = 3, NATIVE_NO_OPERAND = UINT32_MAX };

/** An index: start + lane + factor[0] * (lane / length[0])
 *                         + factor[1] * (lane / length[0] / length[1]) + ... */
typedef struct NativeRuns {
    uint32_t start, levels, length[NATIVE_RUN_LEVELS], factor[NATIVE_RUN_LEVELS];
} NativeRuns;

/** Does a GATHER, or a SCATTER that does not reduce, of 32 or 64 bits have such an
 *  index in all lanes, with rows that are not shorter than a packet? */
bool native_runs_find(const Program *p, const Inst *inst, uint32_t lanes,
                      NativeRuns *out);
/** The operand that the row of such an instruction does not need; NATIVE_NO_OPERAND of
 *  others, and where there is no row. */
uint32_t native_runs_index(const Native *n, const Program *p, const Inst *inst);

/* ---- native_merge.c */

/** In which lanes an instruction is to be done. */
typedef struct NativeLanes {
    NativeReg mask; /* 0: all */
    bool zero;      /* others give 0; else they stay as they are */
} NativeLanes;

/** native_result(), native_result_over(), native_merged_over() for NATIVE_SELECTED
 *  results, and the lanes. */
NativeReg native_merge_result(Native *n, NativeLanes *lanes);
NativeReg native_merge_result_over(Native *n, uint32_t k, NativeLanes *lanes);
uint32_t native_merge_over(const Native *n, uint32_t k);

/* ---- native_flow.c */

/** Generate the function of 'f'. */
void native_flow_function(Native *n, NativeFunction *f);
/** The cell of the target's table for an instruction. */
const NativeRow *native_row(const Native *n, const Program *p, const Inst *inst);
/** Is it filled? Only then may other instructions be a part of this one, or leave it
 *  operands in a form that not all can take: the interpreter's loop knows nothing of
 *  either. */
static inline bool native_has_row(const Native *n, const Program *p, const Inst *inst)
{
    return native_row(n, p, inst)->emit;
}

/* ---- native_copies.c */

/** How many packets the code of n->f computes at a time: a power of two. */
uint32_t native_copies_choose(const Native *n);
/** Can that depend on how many lanes there are? Engine.heeds_lanes. */
bool native_copies_heed_lanes(const Program *program);

/* ---- native_call.c */

/** Can the operation be computed by a loop of the interpreter? */
bool native_call_supports(Op op, VarType type, VarType operand);
/** MATVEC and OUTER, by loops of the interpreter. */
void native_call_matrix(Native *n);
/** Compute the current step by calling the interpreter's loop, or one for prints. */
void native_call_helper(Native *n);
/** SCATTER_PACKET in this way, value by value. */
void native_call_scatter_packet(Native *n);

/* ---- native_region.c: loops, conditionals and calls */

/** Do all lanes enter this conditional, and is there no step between its ELSE and its
 *  END? */
bool native_region_is_one_sided(const Native *n, uint32_t region);
/** The current step is REGION, TEST, ELSE, END or RETURN. */
void native_region_begin(Native *n);
void native_region_test(Native *n);
void native_region_else(Native *n);
void native_region_end(Native *n);
/** Behind an instruction with NATIVE_SETTLER: values take the place of states. */
void native_region_settle(Native *n, uint32_t at);
/* ---- native_snapshot.c */

/** Note what is in the registers; the number of the snapshot. */
uint32_t native_snapshot_take(Native *n);
/** Make the registers as they were: all of them ('exact'), or without the values that
 *  are elsewhere by now and can be had from memory. */
void native_snapshot_restore(Native *n, uint32_t snapshot, bool exact);
/** The same, for values that the caller may have put in the place of others. */
void native_snapshot_place(Native *n, const NativeSnapshot *wanted);
/** The registers are as they were, without doing anything for that. */
void native_snapshot_resume(Native *n, uint32_t snapshot);
/** Does a step that is to come need the value? */
static inline bool native_snapshot_needs(const Native *n, const NativeValue *v)
{
    return v->next != NATIVE_NEVER ||
           (v->flags & NATIVE_UNIFORM && n->step >= n->f->packet);
}

/* ---- native_dispatch.c: calls of callables */

/** Decide how outputs are handed over. */
void native_dispatch_choose(Native *n);
void native_dispatch_call(Native *n);
/** Outputs that are in registers go to memory before a call of other code, and back. */
void native_dispatch_save(Native *n);
void native_dispatch_restore(Native *n);
/** Entry of a callable, and its RETURN. */
void native_dispatch_enter(Native *n);
void native_dispatch_return(Native *n);
/** Place of a callable's input, or of its mask (0). */
NativeOperand native_dispatch_arg(const Native *n, uint32_t number);

/* ---- native_memory.c */

/** A place in memory. Built in a register: compilers would set field after field in
 *  memory, and wait for all of them. */
static inline NativeOperand native_place(NativeReg base, NativeReg index,
                                         uint32_t shift, NativeOperandKind kind,
                                         int32_t disp)
{
    const uint64_t bits = (uint32_t) disp | (uint64_t) base << 32 |
                          (uint64_t) index << 40 | (uint64_t) shift << 48 |
                          (uint64_t) kind << 56;
    NativeOperand place = { .reg = 0 };
    memcpy(&place, &bits, sizeof bits);
    return place;
}

/** One relative to a base register. */
static inline NativeOperand native_at(NativeReg base, int32_t disp)
{
    return native_place(base, NATIVE_NO_INDEX, 0, NATIVE_IN_MEMORY, disp);
}

/** Spill slot by number; member of NativeFrame by offset; constant by place; word of
 *  the launch's arguments by slot. */
NativeOperand native_memory_slot(const Native *n, uint32_t slot);
NativeOperand native_memory_frame(const Native *n, size_t offset);
NativeOperand native_memory_pool(const Native *n, uint32_t place);
/** A constant for all lanes, as instructions of the target want it. */
NativeOperand native_memory_constant(const Native *n, uint32_t place);
NativeOperand native_memory_argument(const Native *n, uint32_t slot);
/** The packet's entries of an array of the launch. */
NativeOperand native_memory_array(Native *n, uint32_t slot, VarType type);
/** Address in a slot of the launch's arguments, in a register. */
NativeReg native_memory_address(Native *n, uint32_t slot);

#endif
