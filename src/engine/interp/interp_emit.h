/*
 * interp_emit.h -- registers and steps while a Program is built
 */
#ifndef ENGINE_INTERP_INTERP_EMIT_H
#define ENGINE_INTERP_INTERP_EMIT_H

#include "engine/interp/interp_plan.h"

/** Binary logarithm of an entry's size. */
uint32_t interp_emit_size(VarType type);

/** Take 2^log_count consecutive registers, give them back. */
uint32_t interp_emit_take(Builder *b, uint32_t log_count);
void interp_emit_give(Builder *b, uint32_t reg, uint32_t log_count);
/** Take a register for values of a type. */
uint32_t interp_emit_take_typed(Builder *b, VarType type);
/** Take the register or registers for the value at this position. */
uint32_t interp_emit_take_value(Builder *b, uint32_t at);
/** Give back those of a value, unless they are not its own. */
void interp_emit_give_value(Builder *b, uint32_t root);

/** Append a step; its position. */
uint32_t interp_emit(Builder *b, LaneFn fn, uint32_t out, uint32_t arg0, uint32_t arg1,
                     uint32_t arg2);
/** Append operands of a step to its code's extra[]; the place of the first. */
uint32_t interp_emit_extra(Builder *b, const uint32_t *regs, uint32_t count);
/** Append the step that writes a constant. */
void interp_emit_constant(Builder *b, uint32_t at, uint32_t out);

/** The register that holds an operand, written now if it is a temporary. */
uint32_t interp_emit_use(Builder *b, uint32_t arg);
/** What interp_emit_use() gave is not needed any more by the instruction at this
 *  position. */
void interp_emit_drop(Builder *b, uint32_t at, uint32_t arg, uint32_t reg);
/** The same for all operands of an instruction: uses go to in[]. */
void interp_emit_use_all(Builder *b, const Inst *inst);
void interp_emit_drop_all(Builder *b, uint32_t at);
/** Drop all operands of an instruction but temporaries, which were dropped before. */
void interp_emit_drop_values(Builder *b, uint32_t at);

#endif
