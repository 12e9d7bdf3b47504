/*
 * native_target.h -- what the plan knows of a CPU, and all that it knows: registers and
 * operands, the rows of the tables, the hooks
 */
#ifndef ENGINE_NATIVE_PLAN_NATIVE_TARGET_H
#define ENGINE_NATIVE_PLAN_NATIVE_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/program.h"

/** The context of one compile. */
typedef struct Native Native;
typedef struct NativeRow NativeRow;

/** Number of a register within its class. None is the one behind the last. */
typedef uint8_t NativeReg;
enum { NATIVE_REGISTERS = 32, NATIVE_NO_REG = NATIVE_REGISTERS };

typedef enum NativeClass {
    NATIVE_VECTOR,
    NATIVE_MASK,    /* empty on targets whose masks are vectors */
    NATIVE_GENERAL, /* integer registers: addresses, never values of lanes */
    NATIVE_CLASSES
} NativeClass;

typedef enum NativeOperandKind {
    NATIVE_IN_REG,
    NATIVE_IN_MEMORY,   /* a whole vector; not necessarily aligned to its size */
    NATIVE_IN_BROADCAST /* one entry of the lane's width, for all lanes */
} NativeOperandKind;

/** A register or a place in memory: [base + (index << shift) + disp]. native_place()
 *  knows the order of the first five. */
typedef struct NativeOperand {
    int32_t disp;
    NativeReg base;
    NativeReg index; /* NATIVE_NO_INDEX: none */
    uint8_t shift;   /* 0 to 3 */
    uint8_t kind;    /* NativeOperandKind */
    NativeReg reg;   /* NATIVE_IN_REG */
} NativeOperand;
enum { NATIVE_NO_INDEX = 0x44 };

/** A place in the code that may be bound later. */
typedef uint32_t NativeLabel;

/** A line of the listing: where an instruction begins, and its text. */
typedef struct NativeLine {
    uint32_t code;
    const char *text; /* ends with '\n', */
    size_t length;    /* ... and then here */
} NativeLine;

/** Emit the current instruction. False: not for this instruction (e.g. this mode of
 *  scatter), nothing was emitted or asked for, the plan calls the interpreter's loop
 *  for it instead. */
typedef bool NativeEmit(Native *n, const NativeRow *row);

/** One cell of a target's table. What 'inst', 'param' and 'extra' mean is up to the
 *  emit function. A row without a function is an empty cell. */
struct NativeRow {
    NativeEmit *emit;
    uint16_t inst;  /* the main instruction */
    uint16_t extra; /* another instruction, or any number */
    uint32_t param; /* an immediate, a constant's bits, ... */
};

/* ---- targets */

/** What a table row is found by:
 *     arithmetic (NEG ... SELECT)   [op][type of the first operand that is not a mask;
 *                                    bool if all are]
 *     CAST                          casts[to][from]
 *     LOOKUP                        [op][type of the result]
 *     GATHER, GATHER_PACKET         [op][type of the result]
 *     SCATTER ... SCATTER_CAS       [op][type of the value; SCATTER_INC: u32]
 *     CHECK                         [op][bool]
 *     LOCAL ... LOCAL_MOVE          [op][type of the array]
 *  LITERAL, COUNTER, LOAD, STORE, PARAM, BITCAST and control flow are the plan's,
 *  through the hooks. BITCAST between types of 16 (8) bits is made of casts
 *  between u16 and i16 (u8 and i8). */
typedef NativeRow NativeRows[OP_COUNT][VarTypeCount];
typedef NativeRow NativeCasts[VarTypeCount][VarTypeCount];

/** What all targets of a CPU have in common. Of the registers that have a fixed meaning
 *  here are those that the plan names. Hooks emit the instructions for what they are
 *  called; they may use native_temp_general() where it says so. What packets side by
 *  side have in common (jumps, addresses) is there once. */
typedef struct NativeCpu {
    NativeReg lane;   /* first lane of the packet */
    NativeReg args;   /* arguments of the launch, a word for each slot */
    NativeReg slots;  /* memory of the worker (native_memory.c) */
    NativeReg pool;   /* constants */
    NativeReg inputs; /* in callables: the area of their call */
    NativeReg area;   /* ... as the caller hands it over, and has it afterwards */
    uint32_t general; /* set of those that have no fixed meaning, at least 4 */
    /* Addresses of arrays that may get registers, up to NATIVE_HOISTED. */
    uint32_t most_addresses;

    /** Rows of these functions are one instruction with two operands, of which the
     *  second may be in memory; of the latter ones, either. The third one is that for a
     *  product which native_doubles() does not say to be a sum. The walk calls
     *  'direct' instead of them where operands are there. */
    NativeEmit *binary, *commute, *multiply;
    void (*direct)(Native *n, const NativeRow *row, VarType type, NativeReg to,
                   NativeReg a, NativeOperand b);

    /* ---- the code of a compile */

    /** A zeroed context, with what code is written to (NULL: out of memory); to begin,
     *  in the memory that the compile before had, with a listing if Native.lists says
     *  so; and release all that create() and the code took. */
    Native *(*create)(void);
    void (*reset)(Native *n);
    void (*release)(Native *n);
    size_t (*capacity)(const Native *n);
    /** All is written. False (error recorded) if memory ran out. */
    bool (*finish)(Native *n);
    const void *(*code)(const Native *n);
    /** Bytes written so far. */
    uint32_t (*position)(const Native *n);
    /** Of Native.lists: line k of the listing; false if there are no more. */
    bool (*line)(const Native *n, uint32_t k, NativeLine *line);

    /* ---- jumps */

    NativeLabel (*label)(Native *n);
    void (*bind)(Native *n, NativeLabel label);
    void (*jump)(Native *n, NativeLabel label);
    /** If no lane of a mask is set, in any of the packets. */
    void (*jump_if_none)(Native *n, NativeReg mask, uint32_t bits, NativeLabel label);

    /* ---- moves */

    /** Between two registers of a class ('bytes' of a vector); to a spill slot, and
     *  back. */
    void (*move)(Native *n, NativeClass class, uint32_t bytes, NativeReg to,
                 NativeReg from);
    void (*spill)(Native *n, NativeClass class, uint32_t bytes, NativeOperand to,
                  NativeReg from);
    void (*reload)(Native *n, NativeClass class, uint32_t bytes, NativeReg to,
                   NativeOperand from);
    /** Integer registers, 64 bits: a number; from memory, and back; to += value. */
    void (*set)(Native *n, NativeReg to, uint64_t value);
    void (*load_word)(Native *n, NativeReg to, NativeOperand from);
    void (*store_word)(Native *n, NativeOperand to, NativeReg from);
    void (*add)(Native *n, NativeReg to, uint32_t value);
    /** 32 bits: the packet's first lane. */
    void (*store_lane)(Native *n, NativeOperand to);
    /** The number of the lane: the packet's first lane + 0, 1 ... */
    void (*counter)(Native *n, NativeReg to);
    /** to = index * count + k, in lanes of 32 bits. */
    void (*item_index)(Native *n, NativeReg to, NativeReg index, uint32_t count,
                       uint32_t k);
    /** Zeros in the spill slot of a mask. */
    void (*clear)(Native *n, uint32_t slot);

    /* ---- frame of the kernel, and its loops */

    /** Decide which addresses of arrays are kept in registers, out of those in
     *  Native.hoisted[]. */
    void (*choose)(Native *n);
    /** Write these, at the start and after calls. */
    void (*hoist)(Native *n);
    /** Entry (NativeEntry), and the way out. */
    void (*enter)(Native *n);
    void (*leave)(Native *n);
    /** To the next packet, at 'top', if there is one. */
    void (*next_packet)(Native *n, NativeLabel top);
    /** The back edge of a loop of the Program: to 'top', unless somebody wants the
     *  kernel to stop. From callables, too. */
    void (*loop_back)(Native *n, NativeLabel top);
    /** Around a loop of at most 'most' iterations: before its top; its back edge,
     *  behind which the code goes on when they are over; and behind the loop. */
    void (*count)(Native *n, uint32_t most);
    void (*count_back)(Native *n, NativeLabel top);
    void (*count_end)(Native *n);

    /* ---- STORE, and scatters */

    void (*store_output)(Native *n);
    /** Can such an output be CPU_STREAMED? */
    bool (*streams)(const Native *n, const Param *output);
    /** Before scatters by calls: ask for what SCATTER, or SCATTER_PACKET with 'bytes'
     *  of values, will access. 'indices' is memory where the former one's are, and
     *  the latter's may be written to. */
    void (*prefetch_scatter)(Native *n, NativeOperand indices);
    void (*prefetch_packets)(Native *n, NativeOperand indices, uint32_t bytes);

    /* ---- calls of C: NativeFrame.steps[...], by their distance in bytes */

    /** Arguments (integer registers); the call, before which nothing else happens than
     *  that vector registers are stored. */
    void (*begin_call)(Native *n, uint32_t distance);
    void (*call_step)(Native *n);

    /* ---- calls of callables (native_dispatch.c). Between the first hook and the last
     * one, no other code than theirs changes integer registers. */

    /** Entry of a callable, whose area becomes 'inputs'; and its end. */
    void (*enter_callable)(Native *n, NativeLabel entry);
    void (*leave_callable)(Native *n);
    /** Note the lanes of a mask; to 'done' if there are none. */
    void (*note_lanes)(Native *n, NativeReg mask, NativeLabel done);
    /** Note the number, of those of 32 bits in memory, that the first one of these
     *  lanes has; where it is. */
    NativeOperand (*note_number)(Native *n, NativeOperand numbers);
    /** To 'others' if that is not 1 to 'count'. */
    void (*check_number)(Native *n, uint32_t count, NativeLabel others);
    /** Call the callable that it is the number of, by way of a table that is written
     *  at 'table'. */
    void (*call_number)(Native *n, NativeLabel table);
    void (*call)(Native *n, NativeLabel entry);
    /** Begin of such a table, and an entry of it. */
    void (*begin_table)(Native *n, NativeLabel table);
    void (*add_entry)(Native *n, NativeLabel entry, NativeLabel table);
} NativeCpu;

/** A CPU with certain extensions. The hooks emit single moves; they may use
 *  native_temp...() and constants only where it says so. */
typedef struct NativeTarget {
    const char *name; /* as in DRJIT_NATIVE_ISA */
    const NativeCpu *cpu;
    uint32_t vector_bytes; /* of a whole vector register */
    /* Those to allocate, as sets of bits 1 << n. Number 0 is not for masks. */
    uint32_t registers[NATIVE_CLASSES];
    uint32_t outputs; /* vectors in which callables may keep their first outputs */
    /* Bytes from where NativeCpu.slots and pool point to what is there. */
    int32_t slot_bias, pool_bias;
    bool broadcasts; /* constants are entries that instructions broadcast */
    bool rotates;    /* OR does native_rotates() */
    bool cuts;       /* stores of narrow integers take the lower bits of lanes */
    const NativeRows *rows;
    const NativeCasts *casts;

    /** Can it be used on this machine? */
    bool (*available)(void);

    /** Fill a register with a literal (not a mask: lanes of 32 or 64 bits, extended as
     *  the type wants). */
    void (*literal)(Native *n, uint32_t bits, NativeReg to, uint64_t value);
    /** A mask that is the same in all lanes. */
    void (*literal_mask)(Native *n, NativeReg to, bool value);
    /** W entries from an array into a register, extended; and back. Masks are bytes 0
     *  or 1, in registers as the target has them (32-bit lanes). Temporary registers
     *  allowed. */
    void (*load)(Native *n, VarType type, NativeReg to, NativeOperand from);
    void (*store)(Native *n, VarType type, NativeOperand to, NativeReg from,
                  uint32_t mask_bits);
    /** One entry from memory for all lanes. Temporary registers allowed. */
    void (*load_first)(Native *n, VarType type, NativeReg to, NativeOperand from);
    /** Masks that are vectors: lanes of 64 bits from 32, and back. NULL with mask
     *  registers. */
    void (*convert_mask)(Native *n, NativeReg to, NativeReg from, uint32_t to_bits);
    /** to = a & b of masks; 'b' may be in memory where masks are vectors. */
    void (*and_mask)(Native *n, NativeReg to, NativeReg a, NativeReg b);
    /** to = a & ~b of masks. */
    void (*without_mask)(Native *n, NativeReg to, NativeReg a, NativeReg b);
    /** to = mask ? a : b (vectors; 'mask' of the lanes' width), 'to' may be any of
     *  them. */
    void (*blend)(Native *n, uint32_t bytes, uint32_t bits, NativeReg to,
                  NativeReg mask, NativeReg a, NativeReg b);
    /** The same of masks: to = (mask & a) | (~mask & b). A temporary register
     *  allowed. */
    void (*blend_mask)(Native *n, NativeReg to, NativeReg mask, NativeReg a,
                       NativeReg b);
    /** Mask (32-bit lanes) of the lanes in which two vectors of 32-bit lanes are
     *  equal. */
    void (*match)(Native *n, NativeReg to, NativeReg a, NativeReg b);
} NativeTarget;

#endif
