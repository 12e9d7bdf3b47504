/*
 * native_inline.h -- what every row calls, as inline functions
 *
 * native_emit.h says what these functions promise. A step has about fifteen such calls,
 * most of which read a field or find an operand in its register: as calls they were a
 * fifth of the time of code generation. What is rare is behind them, in
 * native_operand.c and native_alloc.c.
 */
#ifndef ENGINE_NATIVE_NATIVE_INLINE_H
#define ENGINE_NATIVE_NATIVE_INLINE_H

#include "engine/native/native.h"

/* ---- the instruction */

static inline X86 *native_x86(Native *n)
{
    return &n->x;
}

static inline const Inst *native_inst(const Native *n)
{
    return n->inst;
}

static inline VarType native_result_type(const Native *n)
{
    return (VarType) n->inst->type;
}

static inline VarType native_type(const Native *n, uint32_t k)
{
    return (VarType) n->insts[n->args[k]].type;
}

static inline uint32_t native_lanes(const Native *n)
{
    return n->lanes;
}

static inline uint32_t native_bytes(const Native *n, VarType type)
{
    return type_info[type].size == 8 ? 8 * n->lanes : 4 * n->lanes;
}

/* ---- operands */

static inline uint32_t native_operand_value(const Native *n, uint32_t k)
{
    return k < NATIVE_OPERANDS ? n->operand[k] : n->f->root[n->args[k]];
}

static inline NativeValue *native_operand(const Native *n, uint32_t k)
{
    return &n->values[native_operand_value(n, k)];
}

/** Does nobody need what is in the value's register after this step? */
static inline bool native_operand_ends(const Native *n, const NativeValue *v)
{
    return (v->next == NATIVE_NEVER) &
           !(((v->flags & NATIVE_UNIFORM) != 0) & n->keep_uniform);
}

static inline NativeReg native_use(Native *n, uint32_t k)
{
    NativeValue *v = native_operand(n, k);
    if (v->reg == NATIVE_NO_REG)
        return native_alloc_load(n, native_operand_value(n, k));
    native_file(n, v)->pinned |= 1u << v->reg;
    return v->reg;
}

static inline NativeOperand native_use_rm(Native *n, uint32_t k)
{
    const NativeValue *v = native_operand(n, k);
    if (v->reg == NATIVE_NO_REG)
        return native_operand_fetch(n, native_operand_value(n, k));
    return (NativeOperand){ .kind = NATIVE_IN_REG, .reg = native_use(n, k) };
}

static inline bool native_in_register(const Native *n, uint32_t k)
{
    return native_operand(n, k)->reg != NATIVE_NO_REG;
}

static inline bool native_is_literal(const Native *n, uint32_t k, uint64_t *bits)
{
    uint32_t value = native_operand_value(n, k);
    if (n->values[value].source != NATIVE_LITERAL)
        return false;
    const Inst *inst = &n->insts[value];
    *bits = inst->op == OP_LITERAL ? n->f->program->literals[inst->aux] : 0;
    return true;
}

static inline bool native_dies(const Native *n, uint32_t k)
{
    return native_operand_ends(n, native_operand(n, k));
}

/* ---- results */

static inline NativeReg native_result(Native *n)
{
    NativeClass class = (NativeClass) n->values[n->result].class;
    return n->result_reg = native_operand_reuse(n, class);
}

static inline NativeReg native_result_mask(Native *n, uint32_t bits)
{
    n->result_bits = (uint8_t) bits;
    return native_result(n);
}

#endif
