/*
 * ptx_writer.h -- state and tools shared by the files that write PTX kernels
 *
 * The value of an instruction is a register. A thread executes what its lane executes:
 * regions are branches, so nothing is blended, and who is not active is elsewhere.
 * Registers of loop states and of results are written more than once; all others once
 * for each time their instruction is reached.
 *
 * Callables are written in place of each call that reaches them. A PtxFrame is one such
 * copy, or the Program itself, which is at the bottom of the stack.
 *
 * With several lanes in a thread, instructions whose results differ between lanes are
 * written once for each ('copy').
 */
#ifndef ENGINE_PTX_PTX_WRITER_H
#define ENGINE_PTX_PTX_WRITER_H

#include "engine/ptx/ptx_kernel.h"
#include "ptx/ptx_text.h"

enum { PTX_LANES_MOST = 4 };

/** A region of the body that is being written. */
typedef struct PtxRegion {
    PtxArg head;     /* labels: of a loop's condition, */
    PtxArg other;    /* ... of the false side, */
    PtxArg exit;     /* ... of what is behind its END */
    PtxArg *results; /* registers of states or results */
    uint32_t count;
    PtxArg low[PTX_CLASSES], high[PTX_CLASSES]; /* these are at least, and less than */
} PtxRegion;

typedef struct PtxFrame PtxFrame;
struct PtxFrame {
    PtxFrame *caller;
    const Program *program;
    uint32_t number; /* callable, or callable_count for the Program */
    uint32_t at;     /* next instruction; of a caller, the one behind its REGION */
    PtxArg *values;  /* of instructions, 'copies' each; of packets the first one */
    PtxRegion *regions;
    uint32_t target; /* of a caller: which one of the call is written */
    PtxArg targets;  /* ... and the first one's label; those of the others follow */
};

/** A LOOKUP whose entries are a variable of the module. */
typedef struct PtxTable {
    const Program *program;
    uint32_t position;
} PtxTable;
enum { PTX_TABLES_KNOWN = 64 };

typedef struct PtxWriter {
    const Program *root;
    const PtxTarget *target;
    PtxText text;
    Text locals; /* declarations of local arrays */
    PtxFrame *frame;
    uint32_t copies, copy; /* lanes of a thread; the one that is written */
    PtxArg lane[PTX_LANES_MOST];
    PtxArg exists[PTX_LANES_MOST]; /* is lane k before the end? with several copies */
    PtxArg *params;                /* words of the launch, or values */
    uint32_t print_values;         /* of all prints of the Program and its callables */
    PtxTable tables[PTX_TABLES_KNOWN]; /* the first ones */
    uint32_t table_count;              /* variables of the module so far */
    uint32_t calls;                    /* tables of labels so far */
    uint32_t written;                  /* instructions so far, those of callables as
                                        * often as they are written */
} PtxWriter;

/** Register of the value of an instruction of the frame, in the current copy. */
static inline PtxArg ptx_writer_value(const PtxWriter *writer, uint32_t position)
{
    return writer->frame->values[position * writer->copies + writer->copy];
}
static inline VarType ptx_writer_type(const PtxWriter *writer, uint32_t position)
{
    return (VarType) writer->frame->program->insts[position].type;
}
/** A register for the value of an instruction, which is to be written. */
PtxArg ptx_writer_result(PtxWriter *writer, uint32_t position);
/** The value of an instruction is in this register, which is not written again while
 *  the value is needed. */
void ptx_writer_set(PtxWriter *writer, uint32_t position, PtxArg reg);
/** Is it true in all lanes that are here? */
bool ptx_writer_is_true(const PtxWriter *writer, uint32_t position);
/** Is the instruction a literal? Its bits. */
bool ptx_writer_literal(const PtxWriter *writer, uint32_t position, uint64_t *bits);

/* ---- ptx_ops.c, ptx_convert.c: arithmetic, conversions, tables */

bool ptx_ops_supports(Op op, VarType operand);
/** An instruction of GROUP_ARITH or GROUP_TABLE. */
void ptx_ops_write(PtxWriter *writer, uint32_t position);
/** The pattern for $0 = op($1, $2, $3), for combinations of values in memory: integers
 *  of up to 32 bits in 32-bit registers. */
const char *ptx_ops_pattern(Op op, VarType type);

void ptx_convert_write(PtxWriter *writer, uint32_t position);
/** Make of the low bits of a 32-bit register what the register of a value of this type
 *  of 8 or 16 bits has. */
void ptx_convert_extend(PtxWriter *writer, VarType type, PtxArg to, PtxArg from);

/* ---- ptx_memory.c: inputs and outputs, gathers, scatters that are no atomics */

void ptx_memory_load(PtxWriter *writer, uint32_t position);
void ptx_memory_store(PtxWriter *writer, uint32_t position);
void ptx_memory_gather(PtxWriter *writer, uint32_t position);
void ptx_memory_gather_packet(PtxWriter *writer, uint32_t position);
void ptx_memory_packet_item(PtxWriter *writer, uint32_t position);
void ptx_memory_scatter(PtxWriter *writer, uint32_t position);
/** Register of the address of entry 'index' times 'stride' of an array. */
PtxArg ptx_memory_address(PtxWriter *writer, PtxArg base, PtxArg index,
                          uint32_t stride);
/** Register of a mask operand; PTX_NONE: it is true in all lanes that are here. */
PtxArg ptx_memory_mask(const PtxWriter *writer, uint32_t position);
/** Load into a register, or store one, of a type; 'space' is "global", "local" or
 *  "global.nc". 'mask': PTX_NONE: all lanes; others get 0. */
void ptx_memory_get(PtxWriter *writer, VarType type, const char *space, PtxArg to,
                    PtxArg address, uint32_t offset, PtxArg mask);
void ptx_memory_put(PtxWriter *writer, VarType type, const char *space, PtxArg from,
                    PtxArg address, uint32_t offset, PtxArg mask);

/* ---- ptx_atomic.c */

/** Combine a value with what is at an address + offset. 'mask': PTX_NONE: all lanes. */
void ptx_atomic_reduce(PtxWriter *writer, VarType type, ReduceOp op, PtxArg value,
                       PtxArg address, uint32_t offset, PtxArg mask);
/** The same, of lanes that are likely to have one address: if all lanes of a warp have,
 *  one of them adds for all. */
void ptx_atomic_reduce_local(PtxWriter *writer, VarType type, ReduceOp op, PtxArg value,
                             PtxArg address, uint32_t offset, PtxArg mask);
/** The same without atomic operations: no other lane uses the entry. */
void ptx_atomic_update(PtxWriter *writer, VarType type, ReduceOp op, PtxArg value,
                       PtxArg address, uint32_t offset, PtxArg mask);
/** SCATTER_INC, SCATTER_ADD, SCATTER_EXCH, SCATTER_CAS */
void ptx_atomic_exchange(PtxWriter *writer, uint32_t position);

/* ---- ptx_region.c: loops, conditionals, calls */

/** Push the frame of a body; false: out of memory. */
bool ptx_region_enter(PtxWriter *writer, const Program *program, uint32_t number);
void ptx_region_leave(PtxWriter *writer);
/** A mark, ARG, RETURN, STATE, RESULT or ACTIVE. Goes on in another frame where a call
 *  begins or ends. False: error recorded. */
bool ptx_region_write(PtxWriter *writer, uint32_t position);

/* ---- ptx_local.c */

/** Declare the local arrays of a body. */
void ptx_local_declare(PtxWriter *writer, const Program *program, uint32_t number);
void ptx_local_write(PtxWriter *writer, uint32_t position);

/* ---- ptx_report.c */

/** Count the prints of a body. */
void ptx_report_count(PtxWriter *writer, const Program *program);
void ptx_report_check(PtxWriter *writer, uint32_t position);
void ptx_report_print(PtxWriter *writer, uint32_t position);

/* ---- ptx_stmt.c */

/** False: error recorded. */
bool ptx_stmt_write(PtxWriter *writer, uint32_t position);

#endif
