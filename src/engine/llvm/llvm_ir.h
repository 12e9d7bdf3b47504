/*
 * llvm_ir.h -- Program -> LLVM IR text
 */
#ifndef ENGINE_LLVM_LLVM_IR_H
#define ENGINE_LLVM_LLVM_IR_H

#include "base/hash.h"
#include "base/text.h"
#include "ir/program.h"

/** What the IR depends on besides the Program. */
typedef struct LlvmShape {
    uint32_t width;     /* lanes of a packet: a power of two up to TARGET_WIDTH_MAX */
    bool vector_memory; /* masked gathers and scatters of 32 and 64 bits are
                           instructions */
    bool select_bits;   /* floats are selected as integers */
} LlvmShape;

/** Append the module of a legalised Program: one function 'drjit_<hash>' with the
 * signature void (i32 begin, i32 end, i32 worker, ptr args, ptr scratch), and internal
 * helpers. False: error recorded. */
bool llvm_ir_write(const Program *program, Hash128 hash, LlvmShape shape, Text *out);
/** Can llvm_ir_write() express this operation? */
bool llvm_ir_supports(Op op, VarType type, VarType operand);

#endif
