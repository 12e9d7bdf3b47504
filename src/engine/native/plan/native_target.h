/*
 * native_target.h -- what core and targets have in common: registers and operands, the
 * rows of the tables, the hooks
 */
#ifndef ENGINE_NATIVE_PLAN_NATIVE_TARGET_H
#define ENGINE_NATIVE_PLAN_NATIVE_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/native/x86/asm/x86.h"
#include "ir/program.h"

/** The context of one compile. */
typedef struct Native Native;
typedef struct NativeRow NativeRow;
typedef struct FormsLocal FormsLocal; /* forms.h */

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
typedef bool NativeEmit(Native *n, const NativeRow *row);

/** One cell of a target's table. What 'inst', 'param' and 'extra' mean is up to the
 *  emit function. A row without a function is an empty cell. */
struct NativeRow {
    NativeEmit *emit;
    uint16_t inst;  /* X86_..., the main instruction */
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
    /** to[i] = from[i - count] of vectors with lanes of 32 or 64 bits; 'count' is a
     *  power of two below W. What the first lanes have is of no use. 'to' is not
     *  'from'. */
    void (*move_up)(Native *n, uint32_t bits, NativeReg to, NativeReg from,
                    uint32_t count);
    /** The same of masks (32-bit lanes), the first lanes 0; to be combined with a mask
     *  by and_mask(). */
    void (*move_mask_up)(Native *n, NativeReg to, NativeReg from, uint32_t count);

    /* What rows for both targets (forms.h) are made of. Temporary registers and
     * constants allowed. */

    /** to = the 32 bits of a general register, in all lanes. */
    void (*spread)(Native *n, NativeReg to, NativeReg general);
    /** to = low halves of the lanes of 32 bits of 'a', next to each other. */
    void (*take_words)(Native *n, NativeReg to, NativeReg a);
    /** to = entries of 32 bits in the lanes of a mask, which is destroyed; 'at' has a
     *  vector as index. */
    void (*gather_words)(Native *n, NativeReg to, X86Mem at, NativeReg mask);
    /** to = mask of the lanes of 32 bits that have any of these bits, which is not the
     *  highest one. Destroys 'a'. */
    void (*test_bits)(Native *n, NativeReg to, NativeReg a, uint32_t bits);
    /** to = from in the lanes of a mask as wide as these, 0 in others. */
    void (*keep)(Native *n, VarType type, NativeReg to, NativeReg from,
                 NativeReg lanes);
    /** to -= b in the lanes of 64 bits where 'a' is negative, and a where 'b' is. */
    void (*subtract_negative)(Native *n, NativeReg to, NativeReg a, NativeReg b);
    /** to = high halves of a * b + addend, in 64 bits; 'multiply' is VPMULDQ or
     *  VPMULUDQ, 'b_odd' has the odd lanes of 'b' in the even ones. */
    void (*high_product)(Native *n, X86Form multiply, NativeReg to, NativeReg a,
                         NativeOperand b, NativeOperand b_odd, uint64_t addend);
    /** In the lanes of this mask, to = first + how many of them come before; 'first' is
     *  the same in all. Destroys 'spare' and two general registers. */
    void (*add_ranks)(Native *n, NativeReg to, NativeReg lanes, NativeReg first,
                      NativeReg spare, const NativeReg general[2]);
    /** lanes = those of 'lanes' whose index is not below the 32 bits at 'bound'. */
    void (*find_outside)(Native *n, NativeReg lanes, NativeReg index, X86Mem bound,
                         NativeReg spare);
    const FormsLocal *local;
} NativeTarget;

/* The tables, in avx512.c and avx2.c (forms_rows.h); the hooks and the targets are in
 * avx512_moves.c and avx2_moves.c. */
extern const NativeRows avx512_rows, avx2_rows;
extern const NativeCasts avx512_casts, avx2_casts;

extern const NativeTarget native_avx512;
extern const NativeTarget native_avx2;

/** The target in use, NULL if this CPU has none. */
const NativeTarget *native_target(void);
/** Packets at a time if somebody has set that, else 0. */
uint32_t native_target_packets(void);

#endif
