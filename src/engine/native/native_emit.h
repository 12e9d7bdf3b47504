/*
 * native_emit.h -- what the tables of emission rows are written against
 *
 * The native engine walks a legalised Program once, from its first instruction to its
 * last. For each it looks up a NativeRow in the table of its target and calls the row's
 * emit function, which asks for operands and results with the functions below and
 * writes machine instructions with the target's assembler (x86.h). Registers, spilling,
 * rematerialisation, control flow and the frame are the core's affair (native_alloc.c,
 * native_flow.c ...); a row knows how one operation is said on one CPU and no more.
 *
 * Values. A packet has W lanes, the same number for the whole kernel, chosen such that
 * every value is exactly one vector register:
 *
 *     type                         in a register                      bytes
 *     i32 u32 f32                  lanes of 32 bits                   4 * W
 *     i64 u64 f64 ptr              lanes of 64 bits                   8 * W
 *     i8 i16                       lanes of 32 bits, sign-extended    4 * W
 *     u8 u16 f16 (its bits)        lanes of 32 bits, zero-extended    4 * W
 *     bool                         mask, see below
 *
 * AVX-512: W is 16, or 8 if the kernel has 64-bit values; AVX2: 8 or 4. Every row must
 * work for both: native_bytes() is the vector length of a type (16, 32 or 64), also as
 * an operand of the assembler. A result must be canonical in all W lanes: a row for
 * narrow types extends again what it computed. Operands are canonical.
 *
 * Masks. Where the target has mask registers (AVX-512), a mask is in one, with W bits
 * that count; all bits above are 0, and results must keep that so (no bare KNOT). Else
 * (AVX2) a mask is a vector whose lanes are all ones or all zeros, of 32 or 64 bits,
 * whatever the comparison that made it had: native_mask_bits() tells, and
 * native_use_mask() converts.
 *
 * A row's emit function, in this order:
 *
 *     1. uses        native_use...(n, k) for its operands. Each use stays valid (and
 *                    its register untouched) until the function returns.
 *     2. result      one native_result...(n)
 *     3. instructions
 *
 * Temporary registers and constants may be asked for at any time before the instruction
 * that needs them; all calls may emit reloads and spills, never change flags' meaning:
 * do not ask for anything between an instruction that sets flags and the one that reads
 * them. native_result() may give the register of an operand that dies here, so the
 * operands must be read by the same instruction that writes the result, or before. A
 * sequence that writes its result early uses native_result_fresh(). Nothing can fail:
 * when memory is out, the context remembers and the functions go on with register 0.
 *
 * Those that are inline are in native_inline.h.
 *
 * Example, the sum of two vectors (forms.c, whose
 * functions serve both tables):
 *
 *     bool forms_binary(Native *n, const NativeRow *row)
 *     {
 *         NativeReg a = native_use(n, 0);
 *         NativeOperand b = native_use_rm(n, 1);
 *         NativeReg to = native_result(n);
 *         forms_rrx(n, row->inst | forms_length(n, native_type(n, 0)), to, a, b);
 *         return true;
 *     }
 */
#ifndef ENGINE_NATIVE_NATIVE_EMIT_H
#define ENGINE_NATIVE_NATIVE_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/program.h"

/** The context of one compile. */
typedef struct Native Native;
typedef struct NativeRow NativeRow;

/** Number of a register within its class. */
typedef uint8_t NativeReg;
enum { NATIVE_NO_REG = 0xff };

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

/** A register or a place in memory: [base + (index << shift) + disp]. */
typedef struct NativeOperand {
    int32_t disp;
    NativeReg base;
    NativeReg index; /* NATIVE_NO_INDEX: none */
    uint8_t shift;   /* 0 to 3 */
    uint8_t kind;    /* NativeOperandKind */
    NativeReg reg;   /* NATIVE_IN_REG */
} NativeOperand;
enum { NATIVE_NO_INDEX = 0x44 /* X86_NO_INDEX */ };

/** Emit the current instruction. False: not for this instruction (e.g. this mode of
 *  scatter), nothing was emitted or asked for, the core shall call the interpreter's
 *  loop for it instead. */
typedef bool (*NativeEmit)(Native *n, const NativeRow *row);

/** One cell of a target's table. What 'inst', 'param' and 'extra' mean is up to the
 *  emit function. A row without a function is an empty cell. */
struct NativeRow {
    NativeEmit emit;
    uint16_t inst;  /* X86_..., the main instruction */
    uint16_t extra; /* another instruction, or any number */
    uint32_t param; /* an immediate, a constant's bits, ... */
};

/* ---- the current instruction */

/** The instruction that is being emitted. */
static inline const Inst *native_inst(const Native *n);
/** Its result type. */
static inline VarType native_result_type(const Native *n);
/** Type of operand k. */
static inline VarType native_type(const Native *n, uint32_t k);
/** Lanes of a packet: 16, 8 or 4. */
static inline uint32_t native_lanes(const Native *n);
/** Bytes of the register that holds a value of this type (bool: of a vector of 32-bit
 *  lanes): 64, 32 or 16. */
static inline uint32_t native_bytes(const Native *n, VarType type);

/* ---- operands. 'k' is the number of the operand. */

/** Operand k, not a mask, in a vector register, which must not be written. */
static inline NativeReg native_use(Native *n, uint32_t k);
/** The same, or where it is in memory: a spill slot, the input array, or a literal. On
 *  AVX-512 a literal comes as NATIVE_IN_BROADCAST with the entry size of its register's
 *  lanes: only for instructions that can broadcast. At most one memory operand an
 *  instruction: use native_use() for the others. */
static inline NativeOperand native_use_rm(Native *n, uint32_t k);
/** Is operand k in a vector register already (so that another one should be the memory
 *  operand)? */
static inline bool native_in_register(const Native *n, uint32_t k);
/** Is operand k a literal? Its bits, as in Program.literals, are stored. */
static inline bool native_is_literal(const Native *n, uint32_t k, uint64_t *bits);
/** Is operand k, of 64 bits, known to be less than 2^32? */
bool native_is_half(const Native *n, uint32_t k);
/** Operands of FMA, of type Float32 or Float64: shall the value that native_use() gives
 *  be negated? */
bool native_is_negated(const Native *n, uint32_t k);
/** Is this the last use of operand k? */
static inline bool native_dies(const Native *n, uint32_t k);

/** Operand k, a mask. Mask registers: 'bits' is ignored. Vectors: a mask with lanes of
 *  32 or 64 bits (converted into a temporary register where needed). Must not be
 *  written. */
NativeReg native_use_mask(Native *n, uint32_t k, uint32_t bits);
/** Width of the lanes that operand k, a mask, has without conversion: 32 or 64. With
 *  mask registers always 32. */
uint32_t native_mask_bits(const Native *n, uint32_t k);
/** Operand k, a mask, without the lanes behind the end of the launch: what gathers,
 *  scatters and everything else that touches memory by index must use. In a temporary
 *  (mask or vector) register that the row may destroy, as VGATHER does. */
NativeReg native_use_active(Native *n, uint32_t k, uint32_t bits);

/** Operand k, a pointer, in a general register: its base address. */
NativeReg native_use_address(Native *n, uint32_t k);

/* ---- results: one of these, after the uses */

/** Register for the vector result; perhaps that of an operand that dies here. */
static inline NativeReg native_result(Native *n);
/** One that is not the register of any operand. */
NativeReg native_result_fresh(Native *n);
/** One that holds the value of operand k now (moved there unless that dies here), for
 *  instructions that overwrite an operand. Call native_use() for the other operands
 *  before; the result is different from all of them. 'k' needs no native_use(). Not for
 *  masks. */
NativeReg native_result_over(Native *n, uint32_t k);
/** Register for a mask result. 'bits': width of its lanes, 32 or 64, where masks are
 *  vectors. */
static inline NativeReg native_result_mask(Native *n, uint32_t bits);
NativeReg native_result_mask_fresh(Native *n, uint32_t bits);
/** The same for comparisons on targets with mask registers, and a mask, 0 if there is
 *  none: the result must have its lanes only. Then the only user of the result, an AND
 *  or the test of a loop, has nothing to do. */
NativeReg native_result_filtered(Native *n, NativeReg *filter);
/** Operands of AND of masks: has operand k only lanes of the other one? */
bool native_is_filtered(const Native *n, uint32_t k);
/** The result is operand k, unchanged in its register (vector or mask): no instruction
 *  needed. The row returns after this, without native_use() of that operand. */
void native_result_same(Native *n, uint32_t k);

/* ---- temporaries, until the emit function returns */

NativeReg native_temp(Native *n);         /* vector */
NativeReg native_temp_mask(Native *n);    /* mask register (AVX-512 only) */
NativeReg native_temp_general(Native *n); /* integer register; there are at least 4 */

/* ---- constants */

/** A constant in all lanes as a memory operand: NATIVE_IN_BROADCAST on AVX-512, a whole
 *  vector in memory on AVX2. 'bits' is the width of the lanes, 32 or 64. */
NativeOperand native_const(Native *n, uint32_t bits, uint64_t value);
/** The same in a temporary register. Kept there for later instructions if the register
 *  is not needed, so it must not be written. */
NativeReg native_const_reg(Native *n, uint32_t bits, uint64_t value);
/** A whole vector of 'size' bytes (a power of two up to 64), e.g. a shuffle, as memory
 *  operand, aligned to its size. */
NativeOperand native_const_vector(Native *n, const void *data, uint32_t size);
/** A memory operand inside the worker's scratch memory, 256 bytes aligned to 64, for
 *  the duration of the instruction. */
NativeOperand native_stash(Native *n);

/* ---- targets */

/** What a table row is found by:
 *     arithmetic (NEG ... SELECT)   [op][type of the first operand that is no mask;
 *                                    bool if all are]
 *     CAST                          casts[to][from]
 *     GATHER, GATHER_PACKET         [op][type of the result]
 *     SCATTER ... SCATTER_CAS       [op][type of the value; SCATTER_INC: u32]
 *     CHECK                         [op][bool]
 *     LOCAL ... LOCAL_MOVE          [op][type of the array]
 *  LITERAL, COUNTER, LOAD, STORE, PARAM, BITCAST and control flow are the core's,
 *  through the hooks. BITCAST between types of 16 (8) bits is made of casts
 *  between u16 and i16 (u8 and i8). */
typedef NativeRow NativeRows[OP_COUNT][VarTypeCount];
typedef NativeRow NativeCasts[VarTypeCount][VarTypeCount];

/** A CPU. The hooks emit single moves; they may use native_temp...() and constants only
 *  where it says so. */
typedef struct NativeTarget {
    const char *name;                   /* as in DRJIT_NATIVE_ISA */
    uint32_t vector_bytes;              /* of a whole vector register: 64, 32 */
    uint32_t registers[NATIVE_CLASSES]; /* those to allocate, as sets of bits 1 << n */
    bool broadcasts; /* constants are entries that instructions broadcast */
    const NativeRows *rows;
    const NativeCasts *casts;

    /** Can it be used on this machine? */
    bool (*available)(void);

    /** Copy between two registers of a class; 'bytes' of a vector. */
    void (*move)(Native *n, NativeClass class, uint32_t bytes, NativeReg to,
                 NativeReg from);
    /** Write a register to a spill slot, read it back. A mask register writes 8
     *  bytes. */
    void (*spill)(Native *n, NativeClass class, uint32_t bytes, NativeOperand to,
                  NativeReg from);
    void (*reload)(Native *n, NativeClass class, uint32_t bytes, NativeReg to,
                   NativeOperand from);
    /** Fill a register with a literal (not a mask: lanes of 32 or 64 bits, extended as
     *  the type wants). */
    void (*literal)(Native *n, uint32_t bits, NativeReg to, uint64_t value);
    /** A mask that is the same in all lanes. */
    void (*literal_mask)(Native *n, NativeReg to, bool value);
    /** The number of the lane: the packet's first lane (in an integer register) + 0, 1
     *  ... */
    void (*counter)(Native *n, NativeReg to, NativeReg first);
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
    /** Set flags such that 'equal' means: no lane of these two masks (which may be the
     *  same) is set. */
    void (*test_masks)(Native *n, NativeReg a, NativeReg b, uint32_t mask_bits);
    /** One bit for each lane in an integer register, all bits above 0. */
    void (*mask_to_general)(Native *n, NativeReg to, NativeReg mask,
                            uint32_t mask_bits);
    /** Mask (32-bit lanes) of the lanes in which two vectors of 32-bit lanes are
     *  equal. */
    void (*match)(Native *n, NativeReg to, NativeReg a, NativeReg b);
} NativeTarget;

/* The tables, in native_avx512.c and native_avx2.c; the hooks and the targets are in
 * native_avx512_moves.c and native_avx2_moves.c. */
extern const NativeRows native_avx512_rows, native_avx2_rows;
extern const NativeCasts native_avx512_casts, native_avx2_casts;

extern const NativeTarget native_avx512;
extern const NativeTarget native_avx2;

#include "engine/native/native.h" /* with the bodies of what is inline */

#endif
