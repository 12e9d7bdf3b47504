/*
 * forms.h -- emission rows that both x86-64 targets share
 *
 * The bridge from native_emit.h to the assembler (forms_...() with inline bodies), and
 * emit functions for the common shapes of instructions. A row's 'inst' is a row of
 * x86.def (X86_VADDPS), to which the vector length is added here.
 */
#ifndef ENGINE_NATIVE_CORE_FORMS_H
#define ENGINE_NATIVE_CORE_FORMS_H

#include "engine/native/core/native_emit.h"
#include "engine/native/x86/x86.h"

_Static_assert((int) NATIVE_NO_INDEX == (int) X86_NO_INDEX, "the same number");

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
        x86_rr(native_x86(n), form, to, a.reg);
    else
        x86_rm(native_x86(n), form | forms_broadcast(a), to, forms_mem(a));
}

static inline void forms_rxi(Native *n, X86Form form, NativeReg to, NativeOperand a,
                             int32_t imm)
{
    if (a.kind == NATIVE_IN_REG)
        x86_rri(native_x86(n), form, to, a.reg, imm);
    else
        x86_rmi(native_x86(n), form | forms_broadcast(a), to, forms_mem(a), imm);
}

static inline void forms_rrx(Native *n, X86Form form, NativeReg to, NativeReg a,
                             NativeOperand b)
{
    if (b.kind == NATIVE_IN_REG)
        x86_rrr(native_x86(n), form, to, a, b.reg);
    else
        x86_rrm(native_x86(n), form | forms_broadcast(b), to, a, forms_mem(b));
}

static inline void forms_rrxi(Native *n, X86Form form, NativeReg to, NativeReg a,
                              NativeOperand b, int32_t imm)
{
    if (b.kind == NATIVE_IN_REG)
        x86_rrri(native_x86(n), form, to, a, b.reg, imm);
    else
        x86_rrmi(native_x86(n), form | forms_broadcast(b), to, a, forms_mem(b), imm);
}

/** Shift by an immediate. */
static inline void forms_shift(Native *n, X86Form form, NativeReg to, NativeReg a,
                               uint32_t count)
{
    x86_rri(native_x86(n), form, to, a, (int32_t) count);
}

/** Operand k for instructions that cannot broadcast. */
NativeOperand forms_use_whole(Native *n, uint32_t k);
/** Of the table of a LOOKUP, a vector of 'size' bytes from entry 'first' on; what is
 *  behind the end is its begin again. */
NativeOperand forms_table(Native *n, uint32_t first, uint32_t size);
/** A number of type Float32 or Float64 as an operand. */
NativeOperand forms_number(Native *n, VarType type, double value);
/** to = the low bits of the 32-bit lanes of 'from', extended as this type wants. */
void forms_extend(Native *n, VarType type, NativeReg to, NativeReg from);

/** Is operand k, of a number's type, a literal? Its bits, those above its width 0. */
bool forms_is_literal(const Native *n, uint32_t k, uint64_t *bits);
/** Is operand k, of type Float32 or Float64, a literal that is no NaN? Its bits without
 *  the sign. */
bool forms_is_number(const Native *n, uint32_t k, uint64_t *magnitude);

/** to = high halves of a * b + addend, in 64 bits; 'multiply' is VPMULDQ or VPMULUDQ,
 *  'b_odd' has the odd lanes of 'b' in the even ones. */
typedef void FormsHighProduct(Native *n, X86Form multiply, NativeReg to, NativeReg a,
                              NativeOperand b, NativeOperand b_odd, uint64_t addend);
/** DIV or MOD of 32-bit integers if operand 1 is a literal that allows for it; else
 *  false, and nothing is emitted. */
bool forms_divide_literal(Native *n, FormsHighProduct *high_product);

/** Entries of memory of 32 or 64 bits, one for each lane (forms_entries.c). Registers
 *  behind 'index' are destroyed. */
typedef struct FormsEntries {
    VarType type;
    NativeReg base;  /* a general register, */
    int32_t disp;    /* ... and the distance to entry 0 */
    NativeReg index; /* of 32 bits, all of which are inside */
    NativeReg places, part, even, odd; /* two vectors, two general registers; up to 8
                                          lanes, 'places' may be 'index' */
} FormsEntries;

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
    NativeReg inside, inside_mask; /* lanes with an index inside; see 'prepare' */
} FormsLocalLanes;

/** How a target accesses local arrays. Masks as values are vectors there, all ones or
 *  zeros in lanes of 32 bits. */
typedef struct FormsLocal {
    /** Operand k in the form that memory has. */
    NativeReg (*use_value)(Native *n, uint32_t k);
    /** A register for the result in this form; in the end it becomes the result. */
    NativeReg (*result)(Native *n);
    void (*finish)(Native *n, NativeReg to);
    /** A row, in these lanes (NATIVE_NO_REG: all), others 0; and back. 'spare' is
     *  destroyed. */
    void (*load)(Native *n, VarType type, NativeReg to, NativeReg lanes, X86Mem from);
    void (*store)(Native *n, VarType type, X86Mem to, NativeReg lanes, NativeReg value,
                  NativeReg spare);
    /** Take registers for 'inside' or 'inside_mask'. */
    void (*prepare)(Native *n, FormsLocalLanes *a);
    /** Set flags such that 'equal' means: all lanes have the same index. */
    void (*agree)(Native *n, const FormsLocalLanes *a);
    /** Entries of lanes that take part and have an index inside; others give 0. */
    void (*gather)(Native *n, const FormsLocalLanes *a, NativeReg to);
    void (*scatter)(Native *n, const FormsLocalLanes *a, NativeReg value);
} FormsLocal;

/** LOCAL, LOCAL_READ, LOCAL_WRITE, LOCAL_MOVE. */
bool forms_local(Native *n, const FormsLocal *target);
bool forms_local_read(Native *n, const FormsLocal *target);
bool forms_local_write(Native *n, const FormsLocal *target);
bool forms_local_move(Native *n, const FormsLocal *target);

/** Registers of FormsRank. */
typedef struct FormsRanks {
    NativeReg to, lanes, first; /* vector, mask, vector */
    NativeReg spare, general[2];
} FormsRanks;

/** In these lanes, to = first + how many of them come before; 'first' is the same in
 *  all. Destroys 'spare', 'general'. */
typedef void FormsRank(Native *n, const FormsRanks *r);
/** lanes = those of 'lanes' whose index is not below the 32 bits at 'bound'. */
typedef void FormsOutside(Native *n, NativeReg lanes, NativeReg index, X86Mem bound,
                          NativeReg spare);
/** SCATTER_INC and CHECK (forms_atomic.c). */
bool forms_increment(Native *n, FormsRank *add_ranks);
bool forms_check(Native *n, FormsOutside *find_outside);

/** to = from in the lanes of a mask as wide as these, 0 in others. */
typedef void FormsKeep(Native *n, VarType type, NativeReg to, NativeReg from,
                       NativeReg lanes);
/** GATHER_PACKET of 32 and 64 bits (forms_packet.c). */
bool forms_gather_packet(Native *n, FormsKeep *keep);

/* ---- emit functions. The vector length is that of operand 0. */

/** to = inst(a) */
bool forms_unary(Native *n, const NativeRow *row);
/** to = inst(a, immediate param) */
bool forms_unary_imm(Native *n, const NativeRow *row);
/** to = inst(a, b); b may be in memory */
bool forms_binary(Native *n, const NativeRow *row);
/** The same where the operands may be swapped: the one in memory comes last. */
bool forms_commute(Native *n, const NativeRow *row);
/** to = a * b for 64-bit lanes, if their upper halves are known to be zero. */
bool forms_multiply_halves(Native *n);
/** to = inst(a, c) with c the 32-bit (inst for 32-bit lanes) or 64-bit lanes constant
 *  'param', extended with its sign to 64 bits; 'extra' is the width. For sign flips and
 *  the like. */
bool forms_unary_const(Native *n, const NativeRow *row);
/** to = a * b + c; 'inst' is the 231 form, 'extra' the 213 form. */
bool forms_fma(Native *n, const NativeRow *row);
/** SCATTER lane by lane: of all types, of sums and the like those that one scalar
 *  instruction can do. */
bool forms_scatter(Native *n, const NativeRow *row);
/** SCATTER_PACKET of 32 and 64 bits (forms_packet.c). */
bool forms_scatter_packet(Native *n, const NativeRow *row);
/** The same, value by value and lane by lane. False: not for this reduction. */
bool forms_scatter_each(Native *n);
/* The same for integers; 'param' has these flags. */
enum {
    FORMS_WHOLE = 1, /* the instruction cannot broadcast an entry */
    FORMS_EXTEND = 2 /* the result must be extended from its width again */
};
bool forms_integer_unary(Native *n, const NativeRow *row);
bool forms_integer_binary(Native *n, const NativeRow *row);
bool forms_integer_neg(Native *n, const NativeRow *row);
/** to = a * b + c: 'inst' multiplies, 'extra' adds. */
bool forms_integer_fma(Native *n, const NativeRow *row);
/** MUL_HI of 8 and 16 bits: 'inst' multiplies 32 bits, 'extra' shifts by 'param'. */
bool forms_integer_mul_shift(Native *n, const NativeRow *row);
/** MUL_WIDE of 32 bits: 'inst' multiplies, 'extra' makes lanes of 64 bits. */
bool forms_integer_mul_wide(Native *n, const NativeRow *row);

/** Combine a float with its sign bit, or ('param') with all others. */
bool forms_sign(Native *n, const NativeRow *row);
/** 1 / a: 'inst' divides. */
bool forms_rcp(Native *n, const NativeRow *row);
/** The value as it is. */
bool forms_same(Native *n, const NativeRow *row);

#endif
