/*
 * interp_plan.h -- what is known of a Program before its steps are made
 *
 * A unit is the Program or one of its callables. Each is planned on its own; units
 * stand in the order in which their steps are made: callables as the Program has them
 * (what a callable calls comes first), the Program itself last.
 */
#ifndef ENGINE_INTERP_INTERP_PLAN_H
#define ENGINE_INTERP_INTERP_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/interp/interp_build.h"

enum {
    PACKET_CLASSES = 14, /* free lists for 1, 2, 4 ... MATRIX_MOST registers in a row */
    NEVER = INT32_MAX,   /* as a last use: keep the register */

    MARK_CROSSES = 1, /* hoisted, and used by an instruction that is not */
    MARK_WIDE = 2,    /* used in another way than as the pointer of a memory access */
    MARK_HOISTED = 4,
    MARK_BORROWED = 8 /* its register is not its own: a state, an argument ... */
};

/** What is known about one position of a unit. */
typedef struct Place {
    uint32_t root; /* instruction that computes the value */
    uint32_t last; /* roots: position of the last use, 0 = none */
    uint32_t reg;  /* roots: where the value is */
    uint32_t next; /* in the list that Flow.release or Unit.args begins */
    uint16_t item; /* distance from the root's register */
    uint8_t marks; /* MARK_... */
} Place;

/** What is known about one region. */
typedef struct Flow {
    uint32_t enclosing; /* the region around it, PROGRAM_NONE if there is none */
    uint32_t loop;      /* innermost loop, this region included, or PROGRAM_NONE */
    uint32_t release; /* LOOP: values from outside that die with it, or PROGRAM_NONE */
    uint32_t states;  /* LOOP: place of its first state in Unit.states[] */
    uint32_t mask[2]; /* registers. LOOP: active lanes; IF: lanes of each side */
    uint32_t again;   /* LOOP: step that begins an iteration */
    uint32_t exit;    /* step that jumps to what is not known yet */
} Flow;

typedef struct Unit {
    const Program *program;
    Place *places;
    Flow *flows;
    uint32_t *states;  /* registers of the states of all loops */
    uint32_t *outputs; /* registers of a callable's outputs, in the same memory */
    uint32_t args;     /* list of its ARGs, PROGRAM_NONE at the end */
    uint32_t start;    /* its first step */
    uint32_t top;      /* end of the registers that it and those it calls use */
} Unit;

/** State of a build: fields of the unit at hand first. */
typedef struct Builder {
    Unit *unit;
    const Program *program;
    Place *places;
    Unit *units;
    uint32_t unit_count;
    const LaneTable *lanes;
    InterpCode *code;
    uint32_t *in;           /* registers of an instruction's operands */
    uint32_t most_operands; /* room in 'in' */
    uint32_t *homes;        /* memory of each LOAD's view: register */
    uint32_t *next;         /* free lists, by register */
    uint32_t next_capacity;
    uint32_t free_regs[PACKET_CLASSES]; /* first one + 1 of each list, 0 = empty */
    uint32_t top;                       /* registers from here on have not been used */
    uint32_t view;                      /* views given out so far */
    bool hoisting;                      /* emitting the steps that run once */
    bool failed;
} Builder;

/** Plan a Program and its callables: fills units[] of a Builder that has program, lanes
 *  and code, and counts locals and views of the code. False: out of memory. */
bool interp_plan(Builder *b);
/** Release what interp_plan() made. */
void interp_plan_free(Builder *b);
/** Make this unit the one at hand. */
void interp_plan_select(Builder *b, Unit *unit);

/** Can this be written into a register at any place, without operands? */
static inline bool interp_plan_is_constant(const Inst *inst)
{
    return inst->op == OP_LITERAL || inst->op == OP_UNDEFINED || inst->op == OP_PARAM ||
           inst->op == OP_WORKER || (inst->op == OP_LOAD && inst->flags & INST_UNIFORM);
}

/** Is it a constant that is written into a register right before each use? */
static inline bool interp_plan_is_temporary(const Builder *b, uint32_t root)
{
    return interp_plan_is_constant(&b->program->insts[root]) &&
           !(b->places[root].marks & MARK_HOISTED);
}

#endif
