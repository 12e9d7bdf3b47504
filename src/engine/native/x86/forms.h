/*
 * forms.h -- emission rows that both x86-64 targets share
 *
 * The bridge from native_emit.h to the assembler (forms_...() with inline bodies), and
 * emit functions for the common shapes of instructions. A row's 'inst' is a row of
 * x86.def (X86_VADDPS), to which the vector length is added here.
 */
#ifndef ENGINE_NATIVE_X86_FORMS_H
#define ENGINE_NATIVE_X86_FORMS_H

#include "engine/native/x86/x86_native.h"

_Static_assert((int) NATIVE_NO_INDEX == (int) X86_NO_INDEX, "the same number");

typedef struct FormsLocal FormsLocal;

/** A target of x86-64: what the plan knows of it, and what rows for both (all of this
 *  header) are made of. */
typedef struct FormsTarget {
    NativeTarget native; /* first */
    /** The number of the lane: X86_LANE + 0, 1 ... */
    void (*counter)(Native *n, NativeReg to);
    /** Set flags such that 'equal' means: no lane of these two masks (which may be the
     *  same) is set. */
    void (*test_masks)(Native *n, NativeReg a, NativeReg b, uint32_t mask_bits);
    /** One bit for each lane in an integer register, all bits above 0. */
    void (*mask_to_general)(Native *n, NativeReg to, NativeReg mask,
                            uint32_t mask_bits);
    /** to[i] = from[i - count] of vectors with lanes of 32 or 64 bits; 'count' is a
     *  power of two below W. What the first lanes have is of no use. 'to' is not
     *  'from'. */
    void (*move_up)(Native *n, uint32_t bits, NativeReg to, NativeReg from,
                    uint32_t count);
    /** The same of masks (32-bit lanes), the first lanes 0; to be combined with a mask
     *  by and_mask(). */
    void (*move_mask_up)(Native *n, NativeReg to, NativeReg from, uint32_t count);

    /* Temporary registers and constants allowed. */

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
} FormsTarget;

static inline const FormsTarget *forms_target(const Native *n)
{
    return (const FormsTarget *) (const void *) n->target;
}

/** X86_128, X86_256 or X86_512 for values of this type. */
static inline X86Form forms_length(const Native *n, VarType type)
{
    return X86_LENGTH(native_bytes(n, type) >> 5);
}

/** Width of the lanes that hold a type: 32 or 64. */
static inline uint32_t forms_bits(VarType type)
{
    return type_info[type].size == 8 ? 64 : 32;
}

/** The instruction for lanes of 32 or of 64 bits, with the length of the type's
 *  vector. */
static inline X86Form forms_by_width(const Native *n, VarType type, X86Op d, X86Op q)
{
    return (type_info[type].size == 8 ? q : d) | forms_length(n, type);
}

/** A place in memory for the assembler. */
static inline X86Mem forms_mem(NativeOperand at)
{
    return x86_at_bits((uint32_t) at.disp, at.base, at.index, at.shift, 0);
}

/** X86_B if the operand is one entry to be broadcast. */
static inline X86Form forms_broadcast(NativeOperand at)
{
    return at.kind == NATIVE_IN_BROADCAST ? (X86Form) X86_B : 0;
}

/** Instructions whose last operand is a register or memory (x): 'to' a...; with an
 *  immediate (i). */
static inline void forms_rx(Native *n, X86Form form, NativeReg to, NativeOperand a)
{
    if (a.kind == NATIVE_IN_REG)
        x86_rr(x86_native(n), form, to, a.reg);
    else
        x86_rm(x86_native(n), form | forms_broadcast(a), to, forms_mem(a));
}

static inline void forms_rxi(Native *n, X86Form form, NativeReg to, NativeOperand a,
                             int32_t imm)
{
    if (a.kind == NATIVE_IN_REG)
        x86_rri(x86_native(n), form, to, a.reg, imm);
    else
        x86_rmi(x86_native(n), form | forms_broadcast(a), to, forms_mem(a), imm);
}

static inline void forms_rrx(Native *n, X86Form form, NativeReg to, NativeReg a,
                             NativeOperand b)
{
    if (b.kind == NATIVE_IN_REG)
        x86_rrr(x86_native(n), form, to, a, b.reg);
    else
        x86_rrm(x86_native(n), form | forms_broadcast(b), to, a, forms_mem(b));
}

static inline void forms_rrxi(Native *n, X86Form form, NativeReg to, NativeReg a,
                              NativeOperand b, int32_t imm)
{
    if (b.kind == NATIVE_IN_REG)
        x86_rrri(x86_native(n), form, to, a, b.reg, imm);
    else
        x86_rrmi(x86_native(n), form | forms_broadcast(b), to, a, forms_mem(b), imm);
}

/** Shift by an immediate. */
static inline void forms_shift(Native *n, X86Form form, NativeReg to, NativeReg a,
                               uint32_t count)
{
    x86_rri(x86_native(n), form, to, a, (int32_t) count);
}

/** native_result() for rows of one instruction, 'form', on lanes as wide as those of
 *  the result. If all that becomes of that is a part of a select whose other operands
 *  are there by now, the register has what other lanes get, the instruction the mask,
 *  and the select nothing to do. */
static inline NativeReg forms_result_merged(Native *n, X86Form *form)
{
    if (!native_is_selected(n))
        return native_result(n);
    NativeLanes lanes = { 0, false };
    NativeReg to = native_merge_result(n, &lanes);
    *form |= X86_K(lanes.mask) | (lanes.zero ? X86_Z : 0);
    return to;
}

/** The same for native_result_over(), if operand k is what other lanes get. */
static inline NativeReg forms_result_over_merged(Native *n, uint32_t k, X86Form *form)
{
    if (!native_is_selected(n))
        return native_result_over(n, k);
    NativeLanes lanes = { 0, false };
    NativeReg to = native_merge_result_over(n, k, &lanes);
    *form |= X86_K(lanes.mask) | (lanes.zero ? X86_Z : 0);
    return to;
}

/** Operand k for instructions that cannot broadcast. */
NativeOperand forms_use_whole(Native *n, uint32_t k);
/** Of the table of a LOOKUP, a vector of 'size' bytes from entry 'first' on; what is
 *  behind the end is its begin again. */
NativeOperand forms_table(Native *n, uint32_t first, uint32_t size);
/** A number of type Float32 or Float64 as an operand. */
NativeOperand forms_number(Native *n, VarType type, double value);
/** to = index * n, of 32 bits. */
void forms_scale(Native *n, NativeReg to, NativeReg index, uint32_t factor);
/** to = the low bits of the 32-bit lanes of 'from', extended as this type wants. */
void forms_extend(Native *n, VarType type, NativeReg to, NativeReg from);

/** Is operand k, of a number's type, a literal? Its bits, those above its width 0. */
bool forms_is_literal(const Native *n, uint32_t k, uint64_t *bits);
/** Is operand k, of type Float32 or Float64, a literal that is not a NaN? Its bits
 *  without the sign. */
bool forms_is_number(const Native *n, uint32_t k, uint64_t *magnitude);

/** a / d = ((a + down) * m) >> (32 + p) for all 32-bit a, where d is not a power of
 *  two; 'm' has 32 bits. */
typedef struct FormsFactor {
    uint64_t m;
    uint32_t p;
    bool down;
} FormsFactor;
FormsFactor forms_divide_factor(uint32_t d);
/** DIV or MOD of 32-bit integers if operand 1 is a literal that allows for it; else
 *  false, and nothing is emitted. */
bool forms_divide_literal(Native *n);
/** 'to' holds a quotient of 32-bit lanes; for MOD, make it the rest of a / b. */
void forms_divide_rest(Native *n, NativeReg to, NativeReg a, NativeReg b);

/** The length of the wider side of a CAST. */
X86Form forms_cast_length(const Native *n);
/** to (Float32) = the Float16 in register 'a'; and back, rounded to even whatever MXCSR
 *  says. */
void forms_widen(Native *n, NativeReg to, NativeReg a);
void forms_narrow(Native *n, NativeReg to, NativeReg a);
/** Operand 0 of a CAST as Float32 or Float64. */
NativeReg forms_use_float(Native *n, VarType *type);

/** The numbers 0, 1, 2 ... of 32 bits for a whole vector register. */
NativeOperand forms_lane_numbers(Native *n);
/** Instruction that loads an entry of 8 or 16 bits into a general register, extended;
 *  and one for each lane of a vector. */
X86Form forms_load_scalar(VarType type);
X86Form forms_load_lanes(VarType type);
/** One entry from memory, no mask, for all lanes. */
void forms_load_first(Native *n, VarType type, NativeReg to, NativeOperand from);

/** Entries of memory of 32 or 64 bits, one for each lane (forms_entries.c). Registers
 *  behind 'index' are destroyed. */
typedef struct FormsEntries {
    VarType type;
    NativeReg base;  /* a general register, */
    int32_t disp;    /* ... and the distance to entry 0 */
    NativeReg index; /* of 32 bits, all of which are inside */
    NativeReg places, part, even, odd; /* two vectors, two general registers; up to 8
                                          lanes, 'places' may be 'index' */
    bool halves; /* the index counts halves of entries */
} FormsEntries;

/** even, odd = the indices of lanes 'lane' (an even number) and 'lane' + 1. To be
 *  called for 0, 2, 4, and so on. */
void forms_take_indices(Native *n, const FormsEntries *e, uint32_t lane);
/** to = the entries; 'to' is not the index. */
void forms_load_entries(Native *n, const FormsEntries *e, NativeReg to);
/** The entries = value. */
void forms_store_entries(Native *n, const FormsEntries *e, NativeReg value);

/** Entries of a local array (forms_local.c), one for each lane. */
typedef struct FormsLocalLanes {
    FormsEntries entry;
    uint32_t count;   /* of entries */
    NativeReg lanes;  /* mask of those that take part, as wide as values; NATIVE_NO_REG:
                         all */
    NativeReg narrow; /* the same of 32 bits, where masks are vectors */
    NativeReg inside, inside_mask; /* temporary: a vector, and a mask if there are mask
                                      registers */
} FormsLocalLanes;

/** How a target accesses local arrays. Masks as values are vectors there, all ones or
 *  zeros in lanes of 32 bits. */
struct FormsLocal {
    /** A row, in these lanes (NATIVE_NO_REG: all), others 0; and back. 'spare' is
     *  destroyed. */
    void (*load)(Native *n, VarType type, NativeReg to, NativeReg lanes, X86Mem from);
    void (*store)(Native *n, VarType type, X86Mem to, NativeReg lanes, NativeReg value,
                  NativeReg spare);
    /** Set flags such that 'equal' means: all lanes have the same index. */
    void (*agree)(Native *n, const FormsLocalLanes *a);
    /** Entries of lanes that take part and have an index inside; others give 0. */
    void (*gather)(Native *n, const FormsLocalLanes *a, NativeReg to);
    void (*scatter)(Native *n, const FormsLocalLanes *a, NativeReg value);
};

/* ---- emit functions. The vector length is that of operand 0. */

/** to = inst(a); inst(a, immediate param) */
NativeEmit forms_unary, forms_unary_imm;
/** to = inst(a, b); b may be in memory. The same where the operands may be swapped: the
 *  one in memory comes last. */
NativeEmit forms_binary, forms_commute;
/** The same for products of floats: 'extra' adds, which is done where one is the
 *  literal 2, as a + a takes neither a constant nor a multiplier. */
NativeEmit forms_multiply;
/** to = a * b for 64-bit lanes, if their upper halves are known to be zero. */
bool forms_multiply_halves(Native *n);
/** to = inst(a, c) with c the 32-bit (inst for 32-bit lanes) or 64-bit lanes constant
 *  'param', extended with its sign to 64 bits; 'extra' is the width. For sign flips and
 *  the like. */
NativeEmit forms_unary_const;
/** to = a * b + c; 'inst' is the 231 form, 'extra' the 213 form. */
NativeEmit forms_fma;
/** Combine a float with its sign bit, or ('param') with all others; 1 / a: 'inst'
 *  divides; the value as it is. */
NativeEmit forms_sign, forms_rcp, forms_same;

/** MIN and MAX of floats, 'inst', if an operand is a literal that allows for one
 *  instruction; else false, and nothing is emitted. */
bool forms_choose_literal(Native *n, const NativeRow *row);

/* The same for integers; 'param' has these flags. */
enum {
    FORMS_WHOLE = 1, /* the instruction cannot broadcast an entry */
    FORMS_EXTEND = 2 /* the result must be extended from its width again */
};
NativeEmit forms_integer_unary, forms_integer_binary, forms_integer_neg;
/** to = a * b + c: 'inst' multiplies, 'extra' adds. */
NativeEmit forms_integer_fma;
/** By a literal: 'extra' is the instruction with an immediate. */
NativeEmit forms_integer_shift;
/** MUL_HI of 8 and 16 bits: 'inst' multiplies 32 bits, 'extra' shifts by 'param'. Of 32
 *  bits: 'inst' multiplies. Of 64 bits: 'inst' is AND, 'param' set for signed ones. */
NativeEmit forms_integer_mul_shift, forms_integer_mul_hi, forms_integer_mul_hi_long;
/** MUL_WIDE of 32 bits: 'inst' multiplies, 'extra' makes lanes of 64 bits. */
NativeEmit forms_integer_mul_wide;

/** CAST by one instruction; with FORMS_WHOLE one that cannot broadcast. To 8 or 16
 *  bits. */
NativeEmit forms_convert, forms_convert_cut;
/** Float16 -> Float32, and on with 'inst' if there is one; and back. */
NativeEmit forms_convert_from_half, forms_convert_to_half;

/** STORE (forms_store.c). */
void forms_store(Native *n);
/** Can such an output be CPU_STREAMED? */
bool forms_streams(const Native *n, const Param *output);
/** GATHER if native_repeats(); else false, and nothing is emitted. */
bool forms_repeat_gather(Native *n);
/** GATHER if native_distance(); else false, and nothing is emitted. */
bool forms_near_gather(Native *n);
/** to = a / d of 32 bits in general registers, above which there are zeros. */
void forms_repeat_quotient(Native *n, NativeReg to, NativeReg a, NativeReg spare,
                           uint32_t d);
/** mask = lanes before number 'left', which is in all lanes of a vector; that may be
 *  the mask. */
void forms_repeat_first_lanes(Native *n, VarType type, NativeReg mask, NativeReg left);
/** GATHER, SCATTER if native_runs_find(); else false, and nothing is emitted. */
bool forms_runs_gather(Native *n);
bool forms_runs_scatter(Native *n);
/** GATHER of 8 and 16 bits (forms_memory.c). */
NativeEmit forms_gather_narrow;
/** SCATTER lane by lane: of all types, of sums and the like those that one scalar
 *  instruction can do. */
NativeEmit forms_scatter;
/** GATHER_PACKET and SCATTER_PACKET of 32 and 64 bits (forms_packet.c). */
NativeEmit forms_gather_packet, forms_scatter_packet;
/** GATHER_PACKET of 16 bits. */
NativeEmit forms_gather_halves;
/** The same scatter, value by value and lane by lane. False: not for this reduction. */
bool forms_scatter_each(Native *n);
/** SCATTER_INC and CHECK (forms_atomic.c). */
NativeEmit forms_increment, forms_check;
/** LOCAL, LOCAL_READ, LOCAL_WRITE, LOCAL_MOVE (forms_local.c). */
NativeEmit forms_local, forms_local_read, forms_local_write, forms_local_move;

#endif
