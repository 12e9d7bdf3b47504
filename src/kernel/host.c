/*
 * host.c -- see host.h
 *
 * The kernel of a function has one input a lane for each operand and one output. It
 * runs on blocks of lanes that are copied into and out of a Staging, as kernels may
 * read whole groups of lanes and need aligned memory.
 */
#include "kernel/host.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "ir/program.h"
#include "lower/legalise.h"

enum {
    MOST_OPERANDS = 2,
    BLOCK = 256, /* lanes */
    LINE = 64
};

typedef struct Staging {
    _Alignas(LINE) char operand[MOST_OPERANDS][BLOCK * 8];
    _Alignas(LINE) char result[BLOCK * 8];
} Staging;

static Code *_Atomic kernels[OP_COUNT][VarTypeCount]; /* of functions */
/* Held by those who use kernels; for writing by who releases them. */
static pthread_rwlock_t users = PTHREAD_RWLOCK_INITIALIZER;

static bool is_function(Op op)
{
    return op_info[op].group == GROUP_FUNCTION;
}

static Program *make_program(Op op, VarType type)
{
    Program *p = alloc_zero(1, sizeof *p);
    TRY(p, NULL);
    uint32_t arity = op_info[op].arity, args[MOST_OPERANDS] = { 0 };
    bool ok = true;
    for (uint32_t i = 0; ok && i < arity; ++i) {
        ok = program_add_param(p, PARAM_INPUT, type) != PROGRAM_NONE;
        args[i] = ok ? program_add(p, OP_LOAD, type, i, 0, NULL) : PROGRAM_NONE;
        ok = args[i] != PROGRAM_NONE;
    }
    uint32_t value = ok ? program_add(p, op, type, 0, arity, args) : PROGRAM_NONE;
    if (value == PROGRAM_NONE ||
        program_add_param(p, PARAM_OUTPUT, type) == PROGRAM_NONE ||
        program_add(p, OP_STORE, VarTypeVoid, arity, 1, &value) == PROGRAM_NONE) {
        program_free(p);
        return NULL;
    }
    return p;
}

static Code *make_kernel(Op op, VarType type)
{
    Program *p = make_program(op, type);
    TRY(p, NULL);
    const Program *legal = legalise(p, &interp_engine);
    Code *code =
        legal ? interp_engine.compile(legal, &(CodeSpec){ 0 }) : NULL;
    if (legal != p)
        program_free((Program *) (uintptr_t) legal);
    program_free(p);
    return code;
}

static const Code *find_kernel(Op op, VarType type)
{
    Code *_Atomic *slot = &kernels[op][type];
    Code *code = atomic_load_explicit(slot, memory_order_acquire);
    if (code)
        return code;
    code = make_kernel(op, type);
    TRY(code, NULL);
    Code *other = NULL;
    if (atomic_compare_exchange_strong(slot, &other, code))
        return code;
    code_release(code); /* another thread was faster */
    return other;
}

void host_shutdown(void)
{
    pthread_rwlock_wrlock(&users);
    for (uint32_t i = 0; i < OP_COUNT; ++i)
        for (uint32_t type = 0; type < VarTypeCount; ++type) {
            Code *code = atomic_exchange(&kernels[i][type], NULL);
            if (code)
                code_release(code);
        }
    pthread_rwlock_unlock(&users);
}

/* 'count' entries of an operand from number 'first' on. */
static void stage(char *to, const InterpOperand *from, uint32_t size, size_t first,
                  uint32_t count)
{
    const char *data = from->data;
    if (from->step)
        memcpy(to, data + first * size, (size_t) count * size);
    else
        for (uint32_t i = 0; i < count; ++i)
            memcpy(to + (size_t) i * size, data, size);
}

static bool apply_kernel(Op op, VarType type, size_t count,
                           const InterpOperand *operands, void *result)
{
    const Code *code = find_kernel(op, type);
    TRY(code, false);
    const uint32_t arity = op_info[op].arity, size = type_info[type].size;
    void *scratch = alloc_aligned(interp_scratch(code));
    TRY(scratch, false);
    Staging staging;
    uint64_t args[MOST_OPERANDS + 1];
    for (uint32_t i = 0; i < arity; ++i)
        args[i] = (uintptr_t) staging.operand[i];
    args[arity] = (uintptr_t) staging.result;
    for (size_t first = 0; first < count; first += BLOCK) {
        uint32_t part = count - first < BLOCK ? (uint32_t) (count - first) : BLOCK;
        for (uint32_t i = 0; i < arity; ++i)
            stage(staging.operand[i], &operands[i], size, first, part);
        interp_run(code, args, part, scratch);
        memcpy((char *) result + first * size, staging.result, (size_t) part * size);
    }
    alloc_free(scratch);
    return true;
}

static bool apply_function(Op op, VarType type, size_t count,
                           const InterpOperand *operands, void *result)
{
    pthread_rwlock_rdlock(&users);
    bool ok = apply_kernel(op, type, count, operands, result);
    pthread_rwlock_unlock(&users);
    return ok;
}

bool host_apply(Op op, VarType type, VarType operand, size_t count,
                const InterpOperand *operands, void *result)
{
    if (is_function(op))
        return apply_function(op, type, count, operands, result);
    return interp_apply(op, type, operand, count, operands, result) ||
           error_set(JIT_ERROR_UNSUPPORTED, "%s is not defined for type %s",
                     op_info[op].name, type_info[operand].name);
}

bool host_fold(Op op, VarType type, VarType operand, const uint64_t *args,
               uint64_t *result)
{
    if (!is_function(op))
        return interp_fold(op, type, operand, args, result);
    ErrorRecord before;
    error_save(&before);
    InterpOperand operands[MOST_OPERANDS];
    for (uint32_t i = 0; i < op_info[op].arity; ++i)
        operands[i] = (InterpOperand){ &args[i], 0 };
    *result = 0;
    if (apply_function(op, type, 1, operands, result))
        return true;
    error_restore(&before);
    return false;
}
