/*
 * program.h -- the Program: a self-contained, position-numbered kernel body
 *
 * A Program is what one kernel computes for each lane, as an array of instructions in
 * execution order. An operand is the position of an earlier instruction. Nothing in it
 * points to variables, memory or literals by address: arrays come in through parameters
 * whose values (args) accompany a launch, so equal computations give equal Programs and
 * the Program is the cache key.
 *
 *     insts[]     op, type, flags, aux, operand positions
 *     extra[]     operands of instructions that have more than three, targets of calls
 *     literals[]  the bits of LITERAL instructions (aux = position here), kept apart
 *                 from insts[] so that the skeleton without literal values can be
 *                 hashed alone
 *     params[]    what each word of the launch's argument array is
 *     stmts[]     texts of STMT instructions
 *     regions[]   where loops, conditionals and calls begin and end
 *     callables[] sub-programs that calls can reach (docs/dev/program.md)
 *
 * Ownership: a Program owns all of its arrays; program_free releases them.
 */
#ifndef IR_PROGRAM_H
#define IR_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "ir/op.h"
#include "ir/type.h"

enum {
    INST_UNIFORM = 1 /* the same in all lanes of a block (LOAD: reads entry 0) */
};

#define INST_ARGS 3

/** One instruction. Its result has the name of its position. */
typedef struct Inst {
    uint8_t op;        /* Op */
    uint8_t type : 5;  /* VarType of the result; VarTypeVoid for RESULT_VOID */
    uint8_t flags : 3; /* INST_... */
    uint16_t
        count; /* of operands; above INST_ARGS: arg[0] = the first's place in extra[] */
    uint32_t aux;            /* see AuxKind; 0 where there is none */
    uint32_t arg[INST_ARGS]; /* positions of operands, unused ones 0 */
} Inst;

#define INST_MOST_OPERANDS UINT16_MAX

/** Most values of a LOOKUP. */
enum { INST_LOOKUP_MOST = 32 };

/** Most bytes that the local arrays of one lane may have, in a Program and its
 *  callables together. */
#define LOCAL_MOST_BYTES 65536

typedef enum ParamKind {
    PARAM_INPUT,   /* address of an array: one entry a lane, or one (uniform LOAD) */
    PARAM_OUTPUT,  /* address of an array with an entry a lane, written by one STORE */
    PARAM_POINTER, /* address for gathers and scatters, 'written' if for these */
    PARAM_VALUE,   /* the bits of a value (a generalised literal), in the low bytes */
    PARAM_PRINT,   /* where prints go: address of a PrintLog for code of the CPU;
                    * if anything is printed; at most one */
    PARAM_REPORT   /* address of CheckReport[check_count]; the last one, if any */
} ParamKind;

typedef struct Param {
    uint8_t kind;    /* ParamKind */
    uint8_t type;    /* VarType of the entries (POINTER: of the array pointed to) */
    uint8_t written;
    uint8_t reduced; /* OUTPUT: what follows reduces the values by this ReduceOp (or
                        REDUCE_...), in the order of commands that do so, and nobody
                        else reads them: on a CPU they are stored in a tile. 0: they
                        are not */
} Param;

/** What the checks of a launch found; zeroed before. Engines write with atomic
 *  operations: 'count' grows by the failing lanes, 'index' keeps any one of their
 *  indices. The bound is set by the launch. */
typedef struct CheckReport {
    uint32_t count;
    uint32_t index;
    uint64_t bound;
} CheckReport;

/** How code of the CPU reports printed values (device/cpu/launch/cpu_prints.h).
 *  'append' is thread-safe: 'lanes' lanes from number 'begin' on, one mask byte for
 *  each, and the printed values as arrays with an entry a lane. */
typedef struct PrintLog PrintLog;
struct PrintLog {
    void (*append)(PrintLog *log, uint32_t print, uint32_t begin, uint32_t lanes,
                   const uint8_t *mask, const void *const *values);
};

typedef enum RegionKind { REGION_LOOP, REGION_IF, REGION_CALL } RegionKind;

/** Structured control flow: positions of the instructions that mark it. In order of
 *  'begin', so a region stands before those inside it. */
typedef struct Region {
    uint32_t kind;    /* RegionKind */
    uint32_t begin;   /* its REGION */
    uint32_t middle;  /* LOOP: its TEST; IF: its ELSE; CALL: as 'end' */
    uint32_t end;     /* its END; CALL: begin + 1 */
    uint32_t targets; /* CALL: first of its positions in callables[], in extra[] */
    uint32_t target_count;
} Region;

/** A line of the program that was traced. The name lives as long as the library. */
typedef struct SourceLine {
    const char *file; /* NULL: unknown */
    uint32_t line;
} SourceLine;

typedef struct Program {
    Inst *insts;
    uint32_t *extra;
    uint64_t *literals;
    Param *params;
    char **stmts;
    Region *regions;
    struct Program **callables;
    uint32_t inst_count, inst_capacity;
    uint32_t extra_count, extra_capacity;
    uint32_t literal_count, literal_capacity;
    uint32_t param_count, param_capacity;
    uint32_t stmt_count, stmt_capacity;
    uint32_t region_count, region_capacity;
    uint32_t callable_count, callable_capacity;
    uint32_t check_count; /* callables: 0, their checks are counted by the root */
    uint32_t print_count; /* the same for PRINT */
    /** For people, and no part of what Programs are compared by: where instructions
     *  come from, see program_source(). 'source' is the line of those that are added
     *  next. */
    SourceLine source;
    SourceLine *sources;
    uint32_t source_count, source_capacity;
    _Atomic uint32_t further_owners; /* see program_share() */
} Program;

#define PROGRAM_NONE UINT32_MAX

/** Append one instruction; its position, or PROGRAM_NONE if out of memory (error
 *  recorded). 'args' has 'count' positions. INST_UNIFORM is set here: for literals,
 *  params, workers and whatever is computed without side effect from uniform operands
 *  only; LOAD: pass it. */
uint32_t program_add(Program *program, Op op, VarType type, uint32_t aux,
                     uint32_t count, const uint32_t *args);
/** Append a LITERAL with these bits. */
uint32_t program_add_literal(Program *program, VarType type, uint64_t bits);
/** Append a parameter; its number or PROGRAM_NONE. */
uint32_t program_add_param(Program *program, ParamKind kind, VarType type);
/** Append the REGION of a loop, a conditional or a call, with its operands (see
 *  ops.def) and, for a call, the 'target_count' callables it can reach. The number of
 *  the region or PROGRAM_NONE. The TEST, ELSE and END that are added later, with this
 *  number as aux, complete it; a call's END is added here. */
uint32_t program_add_region(Program *program, RegionKind kind, uint32_t count,
                            const uint32_t *args, uint32_t target_count,
                            const uint32_t *targets);
/** Append a callable, which is taken over (also when this fails); its position in
 *  callables[] or PROGRAM_NONE. It may call those before it only. */
uint32_t program_add_callable(Program *program, Program *callable);
/** Append a statement text (copied); its position or PROGRAM_NONE. */
uint32_t program_add_stmt(Program *program, const char *text);

/** Line of the traced program that an instruction comes from, NULL if unknown. */
static inline const SourceLine *program_source(const Program *program, uint32_t at)
{
    return at < program->source_count && program->sources[at].file
               ? &program->sources[at]
               : NULL;
}

/** Operands of an instruction. */
static inline const uint32_t *program_args(const Program *program, const Inst *inst) {
    return inst->count > INST_ARGS ? program->extra + inst->arg[0] : inst->arg;
}

/** How many operands of an instruction, the first ones, are values to compute, and no
 *  table of literals. */
static inline uint32_t program_computed_args(const Inst *inst) {
    return op_info[inst->op].group == GROUP_TABLE ? 1 : inst->count;
}

/** Results of an instruction that PACKET_ITEMs name; 0: it has none of this kind. */
static inline uint32_t program_item_count(const Inst *inst) {
    return inst->op == OP_GATHER_PACKET ? inst->aux
           : inst->op == OP_MATVEC      ? inst->aux & MATVEC_RESULTS
                                        : 0;
}

/** Entries of the matrix of a MATVEC or OUTER. */
static inline uint32_t program_matrix_size(const Inst *inst) {
    const bool outer = inst->op == OP_OUTER;
    const uint32_t m =
        outer ? inst->aux >> OUTER_ROWS : inst->aux & MATVEC_RESULTS;
    const uint32_t other = outer                     ? 3 + m
                           : inst->aux & MATVEC_ADDS ? 2 + m
                                                     : 2;
    return m * (inst->count - other);
}

/** Type of an instruction's operation: that of its first VALUE, LOCAL or TABLE (see
 *  ops.def), else of its result, of which marks of control flow have none. */
VarType program_operation_type(const Program *program, const Inst *inst);

/** Number of states of a loop, outputs of a conditional or of a call's targets. 'root'
 *  is the Program with the callables (the Program itself unless it is one of them). */
uint32_t program_result_count(const Program *program, const Program *root,
                              const Region *region);
/** Is there a loop in the Program itself, its callables not counted? */
bool program_has_loops(const Program *program);
/** The same with its callables. */
bool program_may_last(const Program *program);
/** Number of the one parameter of this kind, PROGRAM_NONE if there is none. */
uint32_t program_find_param(const Program *program, ParamKind kind);

/** A copy, NULL if out of memory. */
Program *program_copy(const Program *program);
/** The same for somebody who only reads it. A large Program (from alloc_zero) is not
 *  copied but gets one owner more, each of whom calls program_free(); it must not be
 *  changed from then on. Thread-safe. */
Program *program_share(const Program *program);
bool program_is_shared(const Program *program);
/** Give up a Program: its last owner releases everything, the struct itself included
 *  (it comes from alloc_zero). NULL is fine. */
void program_free(Program *program);
/** Empty it but keep the arrays, for reuse. */
void program_clear(Program *program);

/** Is this Program well-formed (types, positions, parameters, flags, nesting), with all
 *  its callables? Records what is wrong. */
bool program_verify(const Program *program);
/** Readable text, one instruction a line, bodies indented, callables after. */
void program_write(const Program *program, Text *out);
/** The line of one instruction. */
void program_write_inst(const Program *program, uint32_t at, Text *out);

#endif
