/*
 * x86.h -- assembler for x86-64 with AVX2 or AVX-512
 *
 * An instruction is named by a form: a row of x86.def, OR-ed with modifiers (vector
 * length, operand width, opmask, broadcast, rounding, condition). Operands are given in
 * Intel order, destination first. The function says which of them are registers (r),
 * memory (m) or an immediate (i):
 *
 *     x86_rrm(x, X86_VADDPS | X86_512 | X86_K(1) | X86_Z, 17, 3, x86_at(X86_R13, 64));
 *     x86_rri(x, X86_VPSLLD_I | X86_256, 2, 5, 7);
 *     x86_mr(x, X86_MOV_ST | X86_W, x86_at_index(X86_RAX, X86_RCX, 3, -8), X86_RDX);
 *
 * Registers are plain numbers: 0-15 general, 0-31 vector, 0-7 mask; the row knows the
 * class. VEX is used where it can express an instruction (registers below 16, at most
 * 256 bits, no mask, broadcast or rounding), else EVEX.
 *
 * Nothing is checked here: what the row does not offer gives nonsense (the test holds
 * the table against a disassembler). Running out of memory sets 'failed', after which
 * all calls are harmless; x86_finish() reports it.
 */
#ifndef ENGINE_NATIVE_X86_ASM_X86_H
#define ENGINE_NATIVE_X86_ASM_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"

/** The rows of x86.def. */
typedef enum X86Op {
#define X(name, ...) X86_##name,
#include "engine/native/x86/asm/x86.def"
#undef X
    X86_OP_COUNT
} X86Op;

/** A row and its modifiers. The modifiers of vector instructions are where EVEX has
 *  them, so that encoding one needs no moving of bits. */
typedef uint32_t X86Form;

enum {
    X86_OP_MASK = 0x7FF,
    X86_ROUND_SHIFT = 18,
    X86_W_SHIFT = 23,
    X86_OPMASK_SHIFT = 24,
    X86_COND_SHIFT = 24,
    X86_LENGTH_SHIFT = 29,

    X86_W = 1 << X86_W_SHIFT, /* general registers have 64 bits, not 32 */
    X86_B = 1 << 28,          /* the memory operand is one element, broadcast */
    /* Length of the widest vector operand. Scalar and mask instructions need none. */
    X86_128 = 0,
    X86_256 = 1 << X86_LENGTH_SHIFT,
    X86_512 = 2 << X86_LENGTH_SHIFT,
    /* Register forms: round to nearest, down, up, to zero instead of as MXCSR says, or
     * (comparisons, truncations) only suppress exceptions. 512 bits or scalar. */
    X86_RN = X86_B | 0 << X86_ROUND_SHIFT,
    X86_RD = X86_B | 1 << X86_ROUND_SHIFT,
    X86_RU = X86_B | 2 << X86_ROUND_SHIFT,
    X86_RZ = X86_B | 3 << X86_ROUND_SHIFT,
    X86_SAE = X86_B,
};
/** Opmask k1-k7; 0 is none. */
#define X86_K(k) ((X86Form) (k) << X86_OPMASK_SHIFT)
/** Zeroing instead of merging under the opmask. */
#define X86_Z ((X86Form) 1 << 31)
/** Condition of JCC, SETCC and CMOVCC. */
#define X86_CC(cond) ((X86Form) (cond) << X86_COND_SHIFT)
/** Vector length as a number: 0, 1, 2 for 128, 256, 512 bits. */
#define X86_LENGTH(n) ((X86Form) (n) << X86_LENGTH_SHIFT)

enum {
    X86_RAX, X86_RCX, X86_RDX, X86_RBX, X86_RSP, X86_RBP, X86_RSI, X86_RDI,
    X86_R8, X86_R9, X86_R10, X86_R11, X86_R12, X86_R13, X86_R14, X86_R15,
};

/** Conditions; X ^ 1 is the opposite of X. */
typedef enum X86Cond {
    X86_CC_O, X86_CC_NO, X86_CC_B, X86_CC_AE, X86_CC_E, X86_CC_NE, X86_CC_BE, X86_CC_A,
    X86_CC_S, X86_CC_NS, X86_CC_P, X86_CC_NP, X86_CC_L, X86_CC_GE, X86_CC_LE, X86_CC_G,
} X86Cond;

/** Immediates of VCMPPS/PD/SS/SD (the quiet ones are _UQ, _OQ) and of VPCMP*. */
enum {
    X86_CMP_EQ_OQ = 0x00, X86_CMP_LT_OS = 0x01, X86_CMP_LE_OS = 0x02,
    X86_CMP_UNORD_Q = 0x03, X86_CMP_NEQ_UQ = 0x04, X86_CMP_NLT_US = 0x05,
    X86_CMP_NLE_US = 0x06, X86_CMP_ORD_Q = 0x07, X86_CMP_NEQ_OQ = 0x0C,
    X86_CMP_GE_OS = 0x0D, X86_CMP_GT_OS = 0x0E, X86_CMP_LT_OQ = 0x11,
    X86_CMP_LE_OQ = 0x12, X86_CMP_GE_OQ = 0x1D, X86_CMP_GT_OQ = 0x1E,
    X86_PCMP_EQ = 0, X86_PCMP_LT = 1, X86_PCMP_LE = 2,
    X86_PCMP_NE = 4, X86_PCMP_GE = 5, X86_PCMP_GT = 6,
};

/** A place in the code that may be bound later. 0, 1, 2, ... in order of creation. */
typedef uint32_t X86Label;

enum {
    X86_NO_BASE = 0x40,
    X86_LABEL_BASE = 0x80,
    X86_NO_INDEX = 0x44, /* 4 in SIB: no index */
};

/** A memory operand; made by the functions below and passed by value (one register). */
typedef struct X86Mem {
    int32_t disp;  /* displacement; with X86_LABEL_BASE the label */
    uint8_t base;  /* general register, X86_NO_BASE or X86_LABEL_BASE */
    uint8_t index; /* general or vector register, X86_NO_INDEX */
    uint8_t shift; /* scale of the index, as a power of two: 0-3 */
    int8_t offset; /* with X86_LABEL_BASE: bytes from the label on */
} X86Mem;

/* Built in a register: compilers would set field after field in memory. */
static inline X86Mem x86_at_bits(uint32_t disp, int base, int index, int shift,
    int offset)
{
    const uint64_t bits = disp | (uint64_t) (uint8_t) base << 32
        | (uint64_t) (uint8_t) index << 40 | (uint64_t) (uint8_t) shift << 48
        | (uint64_t) (uint8_t) offset << 56;
    X86Mem mem;
    memcpy(&mem, &bits, sizeof(mem));
    return mem;
}

static inline X86Mem x86_at(int base, int32_t disp)
{
    return x86_at_bits((uint32_t) disp, base, X86_NO_INDEX, 0, 0);
}

/** [base + (index << shift) + disp]. Not RSP as index. For gathers and scatters 'index'
 *  is a vector register. 'base' may be X86_NO_BASE. */
static inline X86Mem x86_at_index(int base, int index, int shift, int32_t disp)
{
    return x86_at_bits((uint32_t) disp, base, index, shift, 0);
}

/** [rip + distance to 'label' + offset], wherever the label is bound. */
static inline X86Mem x86_at_label(X86Label label, int8_t offset)
{
    return x86_at_bits(label, X86_LABEL_BASE, X86_NO_INDEX, 0, offset);
}

/** A line of the listing: where an instruction begins, in the code and in 'text'. */
typedef struct X86Line {
    uint32_t code, text;
} X86Line;

/** Machine code as text, one line an instruction (data are not listed). A zeroed one is
 *  empty; x86_listing_free() releases it. Lines in 'text' end with '\n'. */
typedef struct X86Listing {
    Text text;
    X86Line *lines;
    uint32_t count, capacity;
} X86Listing;

/** Several copies of a computation, written side by side: while 'count' is above 1,
 *  each instruction with vector or mask registers is written 'count' times. Copy c has
 *  its registers c * 'vectors' and c * 'masks' further; where a memory operand has the
 *  general register 'index' as index, its place is c * 'index_step' entries further,
 *  and where it has 'base' as base (and not that index), c * 'base_step' bytes. What
 *  has general registers only is written once. What cannot be copied (jumps, general
 *  registers computed from vectors) sets *refused; the code is then of no use. */
typedef struct X86Copies {
    uint32_t count;
    uint8_t vectors, masks, index, base;
    int32_t index_step, base_step;
    bool *refused;
} X86Copies;

/** Code being written. The owner calls x86_init() and x86_free(). */
typedef struct X86 {
    uint8_t *code, *at, *limit; /* buffer, next byte, no instruction begins past here */
    uint32_t *labels;           /* offset of each label; X86_UNBOUND */
    struct X86Fixup *fixups;    /* fields to patch when all labels are bound */
    X86Listing *listing;        /* set by the owner if it wants a listing, else NULL */
    uint32_t label_count, label_capacity;
    uint32_t fixup_count, fixup_capacity;
    X86Copies copies; /* set by the owner */
    bool failed;
    uint8_t spare[64]; /* takes the bytes after a failure */
} X86;

#define X86_UNBOUND UINT32_MAX

/** Begin with an empty buffer; no allocation happens before the first instruction. */
void x86_init(X86 *x);
void x86_free(X86 *x);
/** Forget code, labels and failure but keep the memory, for the next kernel. */
void x86_reset(X86 *x);
/** Bytes of the buffer. */
size_t x86_capacity(const X86 *x);
void x86_listing_free(X86Listing *listing);

/** Bytes written so far: the offset of the next instruction. */
static inline uint32_t x86_position(const X86 *x)
{
    return x->failed ? 0 : (uint32_t) (x->at - x->code);
}

/** Resolve all references to labels. The code is then code[0 .. x86_position()) and may
 *  be copied anywhere. False (error recorded) if memory ran out, a label that is used
 *  was not bound or a short jump is too far. */
bool x86_finish(X86 *x);

/** A new label, unbound. */
X86Label x86_label(X86 *x);
/** The label is here. */
void x86_bind(X86 *x, X86Label label);

/* ---- Jumps. To labels bound already they take 2 bytes if that reaches; forward ones
 * take 5 or 6 unless the caller promises at most 127 bytes. ---- */
void x86_jmp(X86 *x, X86Label label);
void x86_jcc(X86 *x, X86Cond cond, X86Label label);
void x86_jmp_short(X86 *x, X86Label label);
void x86_jcc_short(X86 *x, X86Cond cond, X86Label label);
void x86_call(X86 *x, X86Label label);

/* ---- Data and padding ---- */

/** Pad with long nops to a multiple of 'alignment' (a power of two up to 64). */
void x86_align(X86 *x, uint32_t alignment);
/** Copy bytes (constants). Pad with x86_align_data() before. */
void x86_bytes(X86 *x, const void *data, size_t size);
void x86_align_data(X86 *x, uint32_t alignment);
/** Entry of a jump table: the 32-bit distance from 'base' (bound already) to
 *  'target'. */
void x86_distance(X86 *x, X86Label target, X86Label base);

/** Load a constant with the shortest mov (flags are kept). */
void x86_mov_imm(X86 *x, int reg, uint64_t value);

/* ---- Instructions. 'regs' holds the operands in Intel order, 8 bits each, with 0 for
 * the memory operand. Use the short forms below. ---- */
void x86_emit(X86 *x, X86Form form, uint32_t regs, int32_t imm);
void x86_emit_mem(X86 *x, X86Form form, uint32_t regs, X86Mem mem, int32_t imm);

static inline uint32_t x86_pack(int a, int b, int c, int d)
{
    return (uint32_t) a | (uint32_t) b << 8 | (uint32_t) c << 16 | (uint32_t) d << 24;
}

static inline void x86_0(X86 *x, X86Form form)
{
    x86_emit(x, form, 0, 0);
}

static inline void x86_r(X86 *x, X86Form form, int a)
{
    x86_emit(x, form, x86_pack(a, 0, 0, 0), 0);
}

static inline void x86_ri(X86 *x, X86Form form, int a, int32_t imm)
{
    x86_emit(x, form, x86_pack(a, 0, 0, 0), imm);
}

static inline void x86_rr(X86 *x, X86Form form, int a, int b)
{
    x86_emit(x, form, x86_pack(a, b, 0, 0), 0);
}

static inline void x86_rri(X86 *x, X86Form form, int a, int b, int32_t imm)
{
    x86_emit(x, form, x86_pack(a, b, 0, 0), imm);
}

static inline void x86_rrr(X86 *x, X86Form form, int a, int b, int c)
{
    x86_emit(x, form, x86_pack(a, b, c, 0), 0);
}

static inline void x86_rrri(X86 *x, X86Form form, int a, int b, int c, int32_t imm)
{
    x86_emit(x, form, x86_pack(a, b, c, 0), imm);
}

static inline void x86_rrrr(X86 *x, X86Form form, int a, int b, int c, int d)
{
    x86_emit(x, form, x86_pack(a, b, c, d), 0);
}

static inline void x86_m(X86 *x, X86Form form, X86Mem mem)
{
    x86_emit_mem(x, form, 0, mem, 0);
}

static inline void x86_mi(X86 *x, X86Form form, X86Mem mem, int32_t imm)
{
    x86_emit_mem(x, form, 0, mem, imm);
}

static inline void x86_mr(X86 *x, X86Form form, X86Mem mem, int b)
{
    x86_emit_mem(x, form, x86_pack(0, b, 0, 0), mem, 0);
}

static inline void x86_mri(X86 *x, X86Form form, X86Mem mem, int b, int32_t imm)
{
    x86_emit_mem(x, form, x86_pack(0, b, 0, 0), mem, imm);
}

static inline void x86_mrr(X86 *x, X86Form form, X86Mem mem, int b, int c)
{
    x86_emit_mem(x, form, x86_pack(0, b, c, 0), mem, 0);
}

static inline void x86_rm(X86 *x, X86Form form, int a, X86Mem mem)
{
    x86_emit_mem(x, form, x86_pack(a, 0, 0, 0), mem, 0);
}

static inline void x86_rmi(X86 *x, X86Form form, int a, X86Mem mem, int32_t imm)
{
    x86_emit_mem(x, form, x86_pack(a, 0, 0, 0), mem, imm);
}

static inline void x86_rmr(X86 *x, X86Form form, int a, X86Mem mem, int c)
{
    x86_emit_mem(x, form, x86_pack(a, 0, c, 0), mem, 0);
}

static inline void x86_rrm(X86 *x, X86Form form, int a, int b, X86Mem mem)
{
    x86_emit_mem(x, form, x86_pack(a, b, 0, 0), mem, 0);
}

static inline void x86_rrmi(X86 *x, X86Form form, int a, int b, X86Mem mem, int32_t imm)
{
    x86_emit_mem(x, form, x86_pack(a, b, 0, 0), mem, imm);
}

static inline void x86_rrmr(X86 *x, X86Form form, int a, int b, X86Mem mem, int d)
{
    x86_emit_mem(x, form, x86_pack(a, b, 0, d), mem, 0);
}

#endif
