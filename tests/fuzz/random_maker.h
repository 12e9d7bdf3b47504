/*
 * random_maker.h -- what random_program.c and random_regions.c make Programs with
 *
 * A Maker writes into one Program at a time: the root, or a callable while one is being
 * made. Values that have been computed wait in a pool by type; a body of a region has
 * pools of its own, that start as copies of those around it.
 */
#ifndef FUZZ_RANDOM_MAKER_H
#define FUZZ_RANDOM_MAKER_H

#include "random_program.h"

enum {
    POOL = 64,      /* values of a type that are remembered */
    MAX_LOCALS = 6, /* local arrays that are remembered */
    MAX_TABLES = 4  /* the same for arrays that are read or reduced onto by index */
};

/* What makes one Program unlike another. Chances are in percent. */
typedef struct Style {
    uint32_t types;      /* no others occur, but for indices and their masks */
    uint32_t favourites; /* most values have one of these */
    uint32_t regions;    /* chance that a step is a region */
    uint32_t depth;      /* most regions within regions */
    uint32_t length;     /* most steps of an outermost body */
    uint32_t fresh;      /* chance that an operand is a new leaf */
    uint32_t old;        /* chance that it is any value, not one of the last */
    bool literals;       /* no other leaves */
    bool pure;           /* only arithmetic, loops and conditionals */
} Style;

typedef struct Pool {
    uint32_t at[POOL];
    uint32_t count; /* ever added; the last POOL of them are there */
} Pool;

/* An array in memory that may be accessed again. */
typedef struct Table {
    uint32_t slot;
    uint32_t at;     /* its PARAM, PROGRAM_NONE: there is none here yet */
    uint32_t reduce; /* ReduceOp, if lanes meet there */
    uint32_t index;  /* else each lane has this entry for itself */
} Table;

/* The last ones of this kind. */
typedef struct Tables {
    Table table[MAX_TABLES];
    uint32_t count; /* ever added */
} Tables;

/** What can be used at a place of the Program. */
typedef struct Scope {
    Pool pools[VarTypeCount];
    uint32_t locals[MAX_LOCALS]; /* LOCAL instructions, the last ones */
    uint32_t local_count;        /* ever made here */
    Tables read, reduced, own;
    uint32_t active;  /* mask of the lanes that execute, PROGRAM_NONE: all of them */
    uint32_t counter; /* number of the lane in a callable, else PROGRAM_NONE */
    uint32_t depth;   /* of regions */
} Scope;

typedef struct Maker {
    RandomProgram *random;
    Program *program; /* that is being written */
    Scope scope;
    Style style;
    uint64_t state;
    uint32_t steps;       /* that may still be made */
    uint32_t local_bytes; /* of all LOCALs so far */
    bool failed;          /* memory ran out */
} Maker;

uint64_t maker_draw(Maker *m);
uint32_t maker_below(Maker *m, uint32_t bound);
bool maker_chance(Maker *m, uint32_t percent);
VarType maker_type(Maker *m, uint32_t types);
uint64_t maker_bits(Maker *m, VarType type);

/** Append an instruction; guards keep the Program well-defined and are not dropped when
 *  it is reduced. */
uint32_t maker_emit(Maker *m, Op op, VarType type, uint32_t aux, uint32_t count,
                    const uint32_t *args);
uint32_t maker_guard(Maker *m, Op op, VarType type, uint32_t aux, uint32_t count,
                     const uint32_t *args);
uint32_t maker_guard_2(Maker *m, Op op, VarType type, uint32_t a, uint32_t b);
uint32_t maker_guard_literal(Maker *m, VarType type, uint64_t bits);
/** The instruction at this position of the Program was appended otherwise. */
void maker_note(Maker *m, uint32_t at, bool fixed);
/** Put a value into its pool; take a value of this type; one that is not a NaN. */
void maker_remember(Maker *m, uint32_t at);
uint32_t maker_pick(Maker *m, VarType type);
uint32_t maker_pick_number(Maker *m, VarType type);
/** The mask without the lanes that do not execute here. */
uint32_t maker_masked(Maker *m, uint32_t mask);
/** A mask for an effect: executing lanes, all or some. */
uint32_t maker_pick_mask(Maker *m);
/** The number of the lane. */
uint32_t maker_counter(Maker *m);

/** One more step of the Program: whatever there is. */
void maker_step(Maker *m);

/** Loops, conditionals, calls; local arrays; prints. */
void maker_region(Maker *m);
void maker_local(Maker *m);
void maker_print(Maker *m);

#endif
