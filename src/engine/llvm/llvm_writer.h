/*
 * llvm_writer.h -- state and text tools shared by the files that write LLVM IR
 *
 * The value of instruction N is %vN: a scalar in the entry block if it is uniform, else
 * a vector of one packet in the loop body. Uniform values are broadcast at their first
 * use by a vector operation, in the entry block (%sN); literals are broadcast once in
 * each basic block (%lN.B) so that instruction selection sees them as constants.
 *
 * A callable becomes a function of its own, with entry block and body, in which values
 * are named in the same way.
 *
 * In registers masks are i1, half precision values i16 and pointers i64; in memory a
 * mask is a byte.
 */
#ifndef ENGINE_LLVM_LLVM_WRITER_H
#define ENGINE_LLVM_LLVM_WRITER_H

#include "engine/llvm/llvm_ir.h"

enum { LLVM_NAME_SIZE = 48, LLVM_TYPE_SIZE = 20 };

/* Which helper functions the module needs: bits of LlvmWriter.helpers. */
enum {
    LLVM_HELPER_STORE = 1,
    LLVM_HELPER_CHECK = 2,
    LLVM_HELPER_INC = 4,
    LLVM_HELPER_ZERO = 8
};

typedef struct LlvmLoop LlvmLoop;

typedef struct LlvmWriter {
    const Program *root;
    const Program *program; /* the root or the callable that is written now */
    LlvmShape shape;
    Text declares;  /* external declarations, one a line */
    Text helpers;   /* internal functions */
    Text functions; /* callables and tables of them */
    uint64_t scratch; /* bytes of the Interrupt and of all local arrays so far */
    bool may_last;    /* are there loops? Then there is an Interrupt */

    /* The function that is written now. */
    uint32_t function; /* position of the callable, else the number of them */
    Text entry;        /* entry block: uniform values and broadcasts */
    Text body;         /* the loop; all of a callable */
    Text *line;    /* where the current instruction goes: entry or body */
    bool scalar;   /* the current instruction is uniform */
    bool active;   /* the mask of lanes before 'end' is used */
    bool slots;    /* the stack slots for helper calls are used */
    uint32_t helper_bits;
    uint32_t block;             /* number of the current basic block */
    uint32_t block_size;        /* instructions in it */
    char label[LLVM_NAME_SIZE]; /* its name */
    bool calls;                 /* buffers for calls are used ... */
    uint32_t call_inputs, call_outputs; /* ... by as many values as this */
    bool prints;                        /* the same for prints */
    uint32_t print_values;
    uint32_t ended; /* the region whose results can follow */
    LlvmLoop *loops; /* for each region, see llvm_region.c */
    uint8_t *uniform;    /* for each instruction: is its value a scalar? */
    uint32_t *broadcast; /* for each instruction: block of its last broadcast plus 1 */
    /* "i32", "<16 x i32>" and "i32", "v16i32" for each type */
    char types[2][VarTypeCount][LLVM_TYPE_SIZE];
    char suffixes[2][VarTypeCount][LLVM_TYPE_SIZE];
} LlvmWriter;

/** Type name in the current mode (scalar or vector). */
static inline const char *llvm_writer_type(const LlvmWriter *writer, VarType type)
{
    return writer->types[!writer->scalar][type];
}
/** Are there masked gather, scatter and store instructions for this type? */
static inline bool llvm_writer_has_masked(const LlvmWriter *writer, VarType type)
{
    return writer->shape.vector_memory && type_info[type].size >= 4;
}
/** Name of an entry type in memory. */
const char *llvm_writer_memory_type(VarType type);
/** "half" for f16, else the register type. */
const char *llvm_writer_number_type(VarType type);

/** Name of the value of instruction 'position' in the current mode; may first write the
 *  line that defines it. */
void llvm_writer_operand(LlvmWriter *writer, uint32_t position,
                         char name[LLVM_NAME_SIZE]);
/** Is instruction 'position' a literal with these bits? */
bool llvm_writer_is_literal(const LlvmWriter *writer, uint32_t position, uint64_t bits);
/** Append a constant of a type, for use as scalar or element. */
void llvm_writer_constant(Text *out, VarType type, uint64_t bits);
/** Append a vector constant (in scalar mode: a scalar) with one integer in all lanes.
 */
void llvm_writer_splat(const LlvmWriter *writer, Text *out, VarType type,
                       int64_t value);

/** Append a template for instruction 'position', a newline included. Escapes:
 *    $r  result register            $a ... $h  temporaries of this instruction
 *    $0 ... $4  operand registers   $T, $t     type and intrinsic suffix of the result
 *    $U, $u  the same of operand 0  $V, $v     the same of operand 1
 *    $M  mask type                  $N         number of the instruction
 *    $(n)  integer constant of type U; $[n]  of type T; in all lanes
 *    $w  packet width */
void llvm_writer_emit(LlvmWriter *writer, uint32_t position, const char *pattern);
/** Expand a pattern of "declare ..." in the same way, once for equal texts. */
void llvm_writer_declare(LlvmWriter *writer, uint32_t position, const char *pattern);
/** The same for finished text without "declare" and newline. */
void llvm_writer_declare_text(LlvmWriter *writer, const char *text);

/** Begin a basic block, which the text so far has branched to. */
void llvm_writer_block(LlvmWriter *writer, const char *label);
/** The same with a name of its own, going on from the current block. */
void llvm_writer_next_block(LlvmWriter *writer);
/** Write %<name>.b: the lanes of a mask as bits of an i64. */
void llvm_writer_bits(LlvmWriter *writer, const char *mask, const char *name);
/** Write a branch on whether any lane is in the mask %<name> (not a constant). */
void llvm_writer_branch(LlvmWriter *writer, const char *name, const char *yes,
                        const char *no);
/** Write a store of a packet of values to memory, where masks are bytes. %<name> and
 *  what starts so must be free. */
void llvm_writer_store(LlvmWriter *writer, VarType type, const char *value,
                       const char *address, uint32_t align, const char *name);
/** Write a load of a packet of values, %<name>. */
void llvm_writer_load(LlvmWriter *writer, VarType type, const char *address,
                      uint32_t align, const char *name);
/** Bytes that a packet of values of any type fits in, and the alignment of arrays of
 *  these. */
static inline uint32_t llvm_writer_stride(const LlvmWriter *writer)
{
    return writer->shape.width * 8;
}
static inline uint32_t llvm_writer_align(uint32_t stride)
{
    return stride < 64 ? stride : 64;
}

/* ---- llvm_ops.c: arithmetic and conversions */

/** Write one arithmetic instruction; false (error recorded) if it is not one. */
bool llvm_ops_write(LlvmWriter *writer, uint32_t position);
bool llvm_ops_supports(Op op, VarType type, VarType operand);

/* ---- llvm_memory.c: gathers, scatters, checks */

/** Write one memory instruction. */
void llvm_memory_write(LlvmWriter *writer, uint32_t position);

/* ---- llvm_stmt.c: statements */

/** Write a statement; false: error recorded. */
bool llvm_stmt_write(LlvmWriter *writer, uint32_t position);

/* ---- llvm_region.c: loops, conditionals, calls */

/** Prepare for the regions of a Program and its callables; false: out of memory. */
bool llvm_region_prepare(LlvmWriter *writer);
void llvm_region_release(LlvmWriter *writer);
/** Write a mark of a region, an ARG or a RETURN. */
void llvm_region_write(LlvmWriter *writer, uint32_t position);

/* ---- llvm_local.c: local arrays and prints */

/** Write an instruction with a local array. */
void llvm_local_write(LlvmWriter *writer, uint32_t position);
void llvm_local_print(LlvmWriter *writer, uint32_t position);

/* ---- llvm_atomic.c: helper functions for scatters that read and write */

/** Write the helper function of a read-modify-write scatter unless it is there; its
 * name goes to 'name'. */
void llvm_atomic_reduce(LlvmWriter *writer, VarType type, ReduceOp op, ReduceMode mode,
                        char name[LLVM_NAME_SIZE]);
/** The same for exchange (SCATTER_EXCH), compare and swap (SCATTER_CAS). */
void llvm_atomic_swap(LlvmWriter *writer, VarType type, Op op,
                      char name[LLVM_NAME_SIZE]);
/** The same for additions that give previous values (SCATTER_ADD). */
void llvm_atomic_fetch_add(LlvmWriter *writer, VarType type, char name[LLVM_NAME_SIZE]);
/** Counting (SCATTER_INC), failed checks, partial stores: fixed names, see
 * llvm_memory.c. */
void llvm_atomic_fixed(LlvmWriter *writer);

#endif
