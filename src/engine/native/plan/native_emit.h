/*
 * native_emit.h -- what the tables of emission rows are written against
 *
 * The native engine walks a legalised Program once, from its first instruction to its
 * last. For each it looks up a NativeRow in the table of its target and calls the row's
 * emit function, which asks for operands and results with the functions below and
 * writes machine instructions with the target's assembler. Registers, spilling,
 * rematerialisation and control flow are the plan's affair (native_alloc.c,
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
 * With registers of 64 bytes W is 16, or 8 if the kernel has 64-bit values; of 32
 * bytes, 8 or 4. Every row must work for both: native_bytes() is the vector length of a
 * type, also as an operand of the assembler. A result must be canonical in all W lanes:
 * a row for narrow types extends again what it computed, unless native_takes_form().
 * Operands are canonical, but for operations that native_merge.c knows to do without.
 *
 * Masks. Where the target has mask registers, a mask is in one, with W bits that count;
 * all bits above are 0, and results must keep that so. Else a mask is a vector whose
 * lanes are all ones or all zeros, of 32 or 64 bits, whatever the comparison that made
 * it had: native_mask_bits() tells, and native_use_mask() converts.
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
 * when out of memory, the context remembers and the functions go on with register 0.
 *
 * A step has about fifteen such calls, most of which read a field or find an operand in
 * its register, so these are inline: as calls they were a fifth of the time of code
 * generation. What is rare is behind them, in native_operand.c and native_alloc.c.
 *
 * Example, the sum of two vectors; write() is of the CPU:
 *
 *     bool binary(Native *n, const NativeRow *row)
 *     {
 *         NativeReg a = native_use(n, 0);
 *         NativeOperand b = native_use_rm(n, 1);
 *         NativeReg to = native_result(n);
 *         write(n, row->inst, native_bytes(n, native_type(n, 0)), to, a, b);
 *         return true;
 *     }
 */
#ifndef ENGINE_NATIVE_PLAN_NATIVE_EMIT_H
#define ENGINE_NATIVE_PLAN_NATIVE_EMIT_H

#include "engine/native/plan/native.h"

/* ---- the current instruction */

/** The instruction that is being emitted. */
static inline const Inst *native_inst(const Native *n)
{
    return n->inst;
}

/** Its result type. */
static inline VarType native_result_type(const Native *n)
{
    return (VarType) n->inst->type;
}

/** Type of operand k. */
static inline VarType native_type(const Native *n, uint32_t k)
{
    return (VarType) n->insts[n->args[k]].type;
}

/** Type of the operation: see ops.def. */
static inline VarType native_operation_type(const Native *n)
{
    uint32_t lead = op_info[n->inst->op].lead;
    return lead < n->inst->count ? native_type(n, lead) : (VarType) n->inst->type;
}

/** Lanes of a packet: 16, 8 or 4. */
static inline uint32_t native_lanes(const Native *n)
{
    return n->lanes;
}

/** Bytes of the register that holds a value of this type (bool: of a vector of 32-bit
 *  lanes): 64, 32 or 16. */
static inline uint32_t native_bytes(const Native *n, VarType type)
{
    return type_info[type].size == 8 ? 8 * n->lanes : 4 * n->lanes;
}

/* ---- operands. 'k' is the number of the operand. */

/** A value that is not a mask, in a vector register, which must not be written. */
static inline NativeReg native_use_value(Native *n, uint32_t value)
{
    NativeValue *v = &n->values[value];
    if (v->reg == NATIVE_NO_REG)
        return native_alloc_load(n, value);
    native_file(n, v)->pinned |= 1u << v->reg;
    return v->reg;
}

/** The same or, if it is there, as a place in memory. */
static inline NativeOperand native_use_value_rm(Native *n, uint32_t value)
{
    if (n->values[value].reg == NATIVE_NO_REG)
        return native_operand_fetch(n, value);
    return (NativeOperand){ .kind = NATIVE_IN_REG, .reg = native_use_value(n, value) };
}

/** Operand k, not a mask, in a vector register, which must not be written. */
static inline NativeReg native_use(Native *n, uint32_t k)
{
    return native_use_value(n, native_operand_value(n, k));
}

/** The same, or where it is in memory: a spill slot, the input array, or a literal. On
 *  targets that broadcast it is NATIVE_IN_BROADCAST with the entry size of its
 *  register's lanes: only for instructions that can broadcast. At most one memory
 *  operand an instruction: use native_use() for the others. */
static inline NativeOperand native_use_rm(Native *n, uint32_t k)
{
    return native_use_value_rm(n, native_operand_value(n, k));
}

/** Is operand k in a vector register already (so that another one should be the memory
 *  operand)? */
static inline bool native_in_register(const Native *n, uint32_t k)
{
    return native_operand(n, k)->reg != NATIVE_NO_REG;
}

/** Is operand k a literal? Its bits, as in Program.literals, are stored. */
static inline bool native_is_literal(const Native *n, uint32_t k, uint64_t *bits)
{
    uint32_t value = native_operand_value(n, k);
    if (n->values[value].source != NATIVE_LITERAL)
        return false;
    const Inst *inst = &n->insts[value];
    *bits = inst->op == OP_LITERAL ? n->f->program->literals[inst->aux] : 0;
    return true;
}

/** Is operand k of this instruction the literal 2 of a product of floats? */
bool native_doubles(const Native *n, const Inst *inst, uint32_t k);
/** Operands of FMA, of type Float32 or Float64: shall the value that native_use() gives
 *  be negated? */
bool native_is_negated(const Native *n, uint32_t k);
/** Are the entries of operand k, which is in no register, in an array, one behind the
 *  other? Where. */
bool native_input(Native *n, uint32_t k, NativeOperand *array);
/** Is this the last use of operand k? */
static inline bool native_dies(const Native *n, uint32_t k)
{
    return native_operand_ends(n, native_operand(n, k));
}

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
static inline NativeReg native_result(Native *n)
{
    NativeClass class = (NativeClass) n->values[n->result].class;
    return n->result_reg = native_operand_reuse(n, class);
}

/** One that is not the register of any operand. */
NativeReg native_result_fresh(Native *n);
/** One that holds the value of operand k now (moved there unless that dies here), for
 *  instructions that overwrite an operand. Call native_use() for the other operands
 *  before; the result is different from all of them. 'k' needs no native_use(). Not for
 *  masks. */
NativeReg native_result_over(Native *n, uint32_t k);
/** Is the result chosen by a select? */
static inline bool native_is_selected(const Native *n)
{
    return n->values[n->result].flags & NATIVE_SELECTED;
}

/** The operand that is best for native_merge_result_over(), which is k if there is no
 *  select. */
static inline uint32_t native_merged_over(const Native *n, uint32_t k)
{
    return native_is_selected(n) ? native_merge_over(n, k) : k;
}

/** For rows of AND, OR and XOR of integers: is the only user of the result such an
 *  operation, 'op', of it and a value that is there by now, 'third'? Then the row does
 *  both, and the user has nothing to do. */
bool native_merge_logic(Native *n, uint32_t *third, Op *op);
/** Can all users of the result, of a narrow type, do with this form? Then it has it. */
bool native_takes_form(Native *n, NativeForm form);
/** Has operand k that form? */
static inline bool native_has_form(const Native *n, uint32_t k, NativeForm form)
{
    return native_operand(n, k)->form == form;
}

/** Is operand k all that the current instruction gives? */
static inline bool native_is_merged(const Native *n, uint32_t k)
{
    return native_operand(n, k)->flags & NATIVE_MERGED;
}

/** Comparisons on targets with mask registers: shall the result have the other lanes,
 *  which selects have more use for? native_is_inverted() tells them. */
bool native_inverts(Native *n);
/** Operand 0 of SELECT. */
static inline bool native_is_inverted(const Native *n)
{
    return native_operand(n, 0)->flags & NATIVE_INVERTED;
}

/** Register for a mask result. 'bits': width of its lanes, 32 or 64, where masks are
 *  vectors. */
static inline NativeReg native_result_mask(Native *n, uint32_t bits)
{
    n->result_bits = (uint8_t) bits;
    return native_result(n);
}

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
NativeReg native_temp_mask(Native *n);    /* mask register, if there are any */
NativeReg native_temp_general(Native *n); /* integer register; there are at least 4 */

/* ---- constants */

/** A constant in all lanes as a memory operand: NATIVE_IN_BROADCAST on targets that do
 *  so, else a whole vector in memory. 'bits' is the width of the lanes, 32 or 64. */
NativeOperand native_const(Native *n, uint32_t bits, uint64_t value);
/** The same in a temporary register. Kept there for later instructions if the register
 *  is not needed, so it must not be written. */
NativeReg native_const_reg(Native *n, uint32_t bits, uint64_t value);
/** A whole vector of 'size' bytes (a power of two), e.g. a shuffle, as memory operand,
 *  aligned to its size or 64. */
NativeOperand native_const_vector(Native *n, const void *data, uint32_t size);
/** A memory operand inside the worker's scratch memory, 256 bytes aligned to 64, for
 *  the duration of the instruction. */
NativeOperand native_stash(Native *n);

#endif
