/*
 * legalise_engines.h -- engines that lack much, and running what is made for them
 *
 * The engines of the tests of the legaliser have a supports() and nothing else. What is
 * legalised for them runs in `interp`.
 */
#ifndef TESTS_LEGALISE_ENGINES_H
#define TESTS_LEGALISE_ENGINES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/cpu/launch/cpu_code.h"
#include "engine/interp/interp.h"
#include "lower/legalise.h"

/* ------------------------------------------------------------------------ engines */

static inline bool is_long(VarType type)
{
    return type == VarTypeInt64 || type == VarTypeUInt64;
}

static inline bool is_narrow(VarType type)
{
    return type_info[type].is_integer && type_info[type].size < 4;
}

/* Memory, leaves, control flow and reinterpretation, which every engine has; no
 * packets. */
static inline bool is_basic(Op op)
{
    switch (op) {
    case OP_LITERAL: case OP_UNDEFINED: case OP_COUNTER: case OP_WORKER: case OP_LOAD:
    case OP_PARAM: case OP_BITCAST: case OP_GATHER: case OP_SCATTER:
    case OP_SCATTER_INC: case OP_SCATTER_ADD: case OP_SCATTER_EXCH: case OP_SCATTER_CAS:
    case OP_CHECK: case OP_STORE: case OP_STMT: case OP_REGION: case OP_TEST:
    case OP_ELSE: case OP_END: case OP_RETURN: case OP_STATE: case OP_RESULT:
    case OP_ARG: case OP_ACTIVE: case OP_LOCAL: case OP_LOCAL_READ:
    case OP_LOCAL_WRITE: case OP_LOCAL_MOVE: case OP_PRINT:
        return true;
    default:
        return false;
    }
}

static inline bool poor_cast(VarType to, VarType from)
{
    VarType f64 = VarTypeFloat64, f32 = VarTypeFloat32, i32 = VarTypeInt32;
    if (type_info[to].is_integer && type_info[from].is_integer)
        return type_info[to].is_signed == type_info[from].is_signed &&
            (type_info[to].size == 4) != (type_info[from].size == 4);
    return (to == f64 && (from == f32 || from == i32)) ||
        (from == f64 && (to == f32 || to == i32));
}

/* What no rule can do without. */
static inline bool poor_supports(Op op, VarType type, VarType operand)
{
    bool real = operand == VarTypeFloat32 || operand == VarTypeFloat64;
    bool wide = type_info[operand].is_integer && !is_narrow(operand);
    bool is_signed = type_info[operand].is_signed;
    if (is_basic(op))
        return true;
    switch (op) {
    case OP_CAST:
        return poor_cast(type, operand);
    case OP_SQRT: case OP_CEIL: case OP_FLOOR: case OP_ROUND: case OP_TRUNC:
    case OP_DIV: case OP_LE:
        return real;
    case OP_FMA:
        return operand == VarTypeFloat64;
    case OP_ADD: case OP_SUB:
        return real || wide;
    case OP_MUL: case OP_EQ:
        return real || (wide && !is_long(operand));
    case OP_MUL_WIDE:
        return operand == VarTypeUInt32;
    case OP_LT:
        return real || operand == VarTypeInt32;
    case OP_AND: case OP_OR: case OP_XOR:
        return wide || operand == VarTypeBool;
    case OP_SHL:
        return wide;
    case OP_SHR:
        return wide && !is_signed;
    case OP_SELECT:
        return real || wide;
    default:
        return false;
    }
}

/* A CPU with F16C and AVX2, roughly. */
static inline bool avx2_supports(Op op, VarType type, VarType operand)
{
    bool half = operand == VarTypeFloat16;
    if (is_basic(op) || op == OP_SELECT)
        return true;
    switch (op) {
    case OP_CAST:
        if (type == VarTypeFloat16 || half)
            return type == VarTypeFloat32 || operand == VarTypeFloat32;
        if (is_long(type) || is_long(operand))
            return !type_info[type].is_float && !type_info[operand].is_float;
        return true;
    case OP_POPC: case OP_CLZ: case OP_CTZ: case OP_BREV: case OP_MUL_HI: case OP_MOD:
    case OP_FMIN: case OP_FMAX: case OP_RCP:
    case OP_GATHER_PACKET: case OP_SCATTER_PACKET: case OP_PACKET_ITEM:
        return false;
    case OP_DIV:
        return operand == VarTypeFloat32 || operand == VarTypeFloat64;
    case OP_MUL: case OP_MIN: case OP_MAX: case OP_ABS:
        return !half && !is_long(operand);
    case OP_SHR:
        return operand != VarTypeInt64;
    case OP_FMA:
        return operand == VarTypeFloat32 || operand == VarTypeFloat64;
    default:
        return !half;
    }
}

/* Has 32-bit integers for narrow ones. */
static inline bool no_bytes_supports(Op op, VarType type, VarType operand)
{
    if (is_basic(op))
        return true;
    if (op == OP_CAST && (is_narrow(type) || is_narrow(operand)))
        return type_info[type].size == 4 || type_info[operand].size == 4;
    return !is_narrow(type) && !is_narrow(operand);
}

/* Lacks packets only. */
static inline bool no_packets_supports(Op op, VarType type, VarType operand)
{
    return op != OP_GATHER_PACKET && op != OP_SCATTER_PACKET && op != OP_PACKET_ITEM &&
        interp_engine.supports(op, type, operand);
}

static inline bool all_supports(Op op, VarType type, VarType operand)
{
    (void) op, (void) type, (void) operand;
    return true;
}

static const Engine poor = { .name = "poor", .supports = poor_supports };
static const Engine avx2 = { .name = "avx2-like", .supports = avx2_supports };
static const Engine no_packets =
    { .name = "no packets", .supports = no_packets_supports };
static const Engine all = { .name = "all", .supports = all_supports };
static const Engine no_bytes = { .name = "no bytes", .supports = no_bytes_supports };

/* ------------------------------------------------------------------------ running */

static inline Program *new_program(void)
{
    Program *program = alloc_zero(1, sizeof *program);
    assert_non_null(program);
    return program;
}

static inline void run(const Program *program, const uint64_t *slots, uint32_t size)
{
    if (!program_verify(program))
        fail_msg("%s", error_message());
    Code *code = interp_engine.compile(program, &(CodeSpec){ .hash = { 1, 2 } });
    if (!code)
        fail_msg("%s", error_message());
    size_t bytes = cpu_code_scratch(code);
    void *scratch = alloc_aligned(bytes + 64);
    cpu_code_run(code, slots, 0, size, 0, scratch);
    alloc_free(scratch);
    code_release(code);
}

static inline void check_supported(const Program *p, const Engine *engine)
{
    for (uint32_t i = 0; i < p->inst_count; ++i) {
        const Inst *inst = &p->insts[i];
        if (!engine->supports((Op) inst->op, (VarType) inst->type,
                              program_operation_type(p, inst)))
            fail_msg("%s is left over for %s", op_info[inst->op].name, engine->name);
    }
}

static inline const Program *legalised(const Program *program, const Engine *engine)
{
    const Program *legal = legalise(program, engine);
    if (!legal)
        fail_msg("%s", error_message());
    check_supported(legal, engine);
    for (uint32_t i = 0; i < legal->callable_count; ++i)
        check_supported(legal->callables[i], engine);
    return legal;
}

static inline void release(const Program *legal, Program *program)
{
    if (legal != program)
        program_free((Program *) legal);
}

#endif
