/*
 * build.h -- what the rules of the legaliser write with
 *
 * A rule reads a BuildInst (an operation the engine lacks, its operands already
 * positions of the new Program) and emits operations that together compute the same.
 * What it emits goes through build_emit(), which legalises again, so a rule may use
 * whatever reads best; the rules are written so that this ends (BUILD_DEPTH guards it
 * all the same).
 *
 * Every function returns the position of its result, or PROGRAM_NONE after an error;
 * given a PROGRAM_NONE, it returns PROGRAM_NONE. So a rule need not check anything in
 * between.
 */
#ifndef LOWER_BUILD_H
#define LOWER_BUILD_H

#include "engine/engine.h"

enum {
    BUILD_DEPTH = 24,   /* rules within rules */
    BUILD_RECENT = 512, /* slots of the table of recent instructions, a power of two */
    BUILD_SHARED = 32,  /* results of BuildShared that are remembered, a power of two */
    BUILD_PARTS = 4     /* most results of one, and most outputs of a conditional */
};

/** Several results that more than one rule wants: what sin and cos of one argument have
 *  in common. The table of recent instructions does not see through conditionals. */
typedef struct BuildShared {
    const void *maker; /* who computed it; NULL: nothing */
    uint32_t arg;      /* of what */
    uint32_t part[BUILD_PARTS];
} BuildShared;

typedef struct Build {
    const Engine *engine;
    Program *out;
    uint32_t depth; /* rules being applied now */
    uint32_t recent[BUILD_RECENT]; /* position + 1 of a pure instruction, or 0 */
    BuildShared shared[BUILD_SHARED];
} Build;

/** One operation that is to be emitted. */
typedef struct BuildInst {
    Op op;
    VarType type;    /* of the result */
    VarType operand; /* of the operation, as in Engine.supports */
    uint32_t aux;
    uint32_t count;
    const uint32_t *args;
} BuildInst;

/** Emit one operation as it is, or through a rule if the engine lacks it. */
uint32_t build_emit(Build *build, const BuildInst *inst);
/** A body ends: nothing behind position 'first' is to be reused any more. */
void build_forget(Build *build, uint32_t first);

/** Arithmetic, with the result type of the operation's row in ops.def. */
uint32_t build_1(Build *build, Op op, uint32_t a);
uint32_t build_2(Build *build, Op op, uint32_t a, uint32_t b);
uint32_t build_select(Build *build, uint32_t mask, uint32_t a, uint32_t b);
/** Conversions; nothing is emitted if 'a' has the type already. */
uint32_t build_cast(Build *build, VarType type, uint32_t a);
uint32_t build_bitcast(Build *build, VarType type, uint32_t a);
/** The literal with these bits (those above the width of 'type' are dropped). */
uint32_t build_bits(Build *build, VarType type, uint64_t bits);
/** The number 'value' as a literal of any type; it must be exact in 'type'. */
uint32_t build_number(Build *build, VarType type, double value);

/** Type of a result. */
static inline VarType build_type(const Build *build, uint32_t a) {
    return a == PROGRAM_NONE ? VarTypeVoid : (VarType) build->out->insts[a].type;
}
/** Width of a type in bits. */
static inline uint32_t build_width(VarType type) {
    return 8u * type_info[type].size;
}

/** Signed integer type of the same size as an unsigned one. */
VarType build_signed(VarType type);

/** A conditional: build_if(), the side for lanes with the condition, build_else() with
 *  its outputs, the side for the others, build_end() with its outputs, in place of
 *  which come the results. A packet of lanes enters a side only if one of them needs
 *  it. The number of the region, or PROGRAM_NONE, which the others accept. */
uint32_t build_if(Build *build, uint32_t condition);
void build_else(Build *build, uint32_t region, uint32_t count, const uint32_t *outputs);
void build_end(Build *build, uint32_t region, uint32_t count, uint32_t *outputs);

/** What 'maker' (any address) has computed of 'arg'; if it is new, 'maker' is NULL: set
 *  it and the parts. */
BuildShared *build_shared(Build *build, const void *maker, uint32_t arg);

/** Record that this operation cannot be expanded; PROGRAM_NONE. */
uint32_t build_unsupported(const Build *build, const BuildInst *inst);

#endif
