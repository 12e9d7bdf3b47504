/*
 * api_host.c -- arithmetic, reductions and scans of values in the caller's memory
 *
 * What folding is for one literal, this is for any number of values: the interpreter's
 * own loops and those of the block primitives run in the calling thread at once. So the
 * bits are those of kernels, because the code is the same. Nothing here touches the
 * graph: there is no lock, no thread state and no stream.
 */
#include <string.h>

#include "api/api.h"
#include "base/error.h"
#include "device/cpu/primitives/reduce.h"
#include "device/cpu/primitives/scan.h"
#include "ir/reduce_rule.h"
#include "kernel/host.h"
#include "trace/graph/arith.h"

static_assert(sizeof(JitHostOperand) == sizeof(InterpOperand) &&
                  offsetof(JitHostOperand, step) == offsetof(InterpOperand, step),
              "operands are passed on as they are");

static bool check_operands(Op op, size_t n, const JitHostOperand *operands,
                           const void *result)
{
    static const char function[] = "jit_host_op()";
    if (!operands)
        return api_null(function, "operands");
    if (n && !result)
        return api_null(function, "result");
    for (uint32_t i = 0; i < op_info[op].arity; ++i) {
        if (n && !operands[i].data)
            return error_set(JIT_ERROR_ARGUMENT, "%s: operand %u is NULL", function,
                             i + 1);
        if (operands[i].step > 1)
            return error_set(JIT_ERROR_ARGUMENT,
                             "%s: the step of operand %u is %u, expected 0 or 1",
                             function, i + 1, operands[i].step);
    }
    return true;
}

/* As jit_var_step(), in blocks: each is compared before it is overwritten. */
static bool step(VarType type, size_t n, const JitHostOperand *operands, void *result)
{
    enum { BLOCK = 512 };
    const size_t size = type_info[type].size;
    bool below[BLOCK];
    TRY(jit_host_op(JitOpLt, type, 0, operands, result), false);
    for (size_t done = 0; done < n; done += BLOCK) {
        const size_t count = n - done < BLOCK ? n - done : BLOCK;
        JitHostOperand block[2];
        for (size_t i = 0; i < 2; ++i)
            block[i] = (JitHostOperand){ (const char *) operands[i].data +
                                             done * operands[i].step * size,
                                         operands[i].step };
        const JitHostOperand mask = { below, 1 };
        TRY(jit_host_op(JitOpLt, type, count, block, below) &&
                jit_host_op(JitOpNot, VarTypeBool, count, &mask, below) &&
                jit_host_cast(VarTypeBool, type, 0, count, below,
                              (char *) result + done * size),
            false);
    }
    return true;
}

bool jit_host_op(JitOp op, VarType type, size_t n, const JitHostOperand *operands,
                 void *result)
{
    if (op == JitOpStep)
        return step(type, n, operands, result);
    if ((unsigned) op >= JitOpCount)
        return error_set(JIT_ERROR_ARGUMENT,
                         "jit_host_op(): op is %d, expected a JitOp", (int) op);
    const Op row = op_of(op);
    TRY(check_operands(row, n, operands, result), false);
    TRY(node_type_valid(type, "jit_host_op()"), false);
    /* Rounding an integer changes nothing. */
    bool copies = op_info[row].flags & F_ROUNDS && type_info[type].is_integer;
    if (!copies && !(op_info[row].operands >> type & 1))
        return error_set(JIT_ERROR_ARGUMENT,
                         "jit_host_op(): %s is not defined for type %s",
                         op_info[row].name, type_info[type].name);
    VarType to = op_result(row, type);
    return n == 0 || host_apply(copies ? OP_BITCAST : row, to, type, n,
                                  (const InterpOperand *) operands, result);
}

bool jit_host_cast(VarType from, VarType to, int reinterpret, size_t n, const void *src,
                   void *dst)
{
    static const char function[] = "jit_host_cast()";
    if (n && (!src || !dst))
        return api_null(function, src ? "dst" : "src");
    TRY(node_type_valid(from, function), false);
    TRY(node_type_valid(to, function), false);
    Op op = OP_BITCAST;
    if (from != to) {
        TRY(arith_check_cast(from, to, reinterpret != 0, function), false);
        op = reinterpret ? OP_BITCAST : OP_CAST;
    }
    const InterpOperand operand = { src, 1 };
    return n == 0 || host_apply(op, to, from, n, &operand, dst);
}

static bool check_reduction(const char *function, ReduceOp op, VarType type, size_t n,
                            const void *src, const void *dst)
{
    if (n && (!src || !dst))
        return api_null(function, src ? "dst" : "src");
    TRY(node_type_valid(type, function), false);
    if (op == ReduceOpIdentity || !reduce_rule_defined(op, type))
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: reduction %d is not defined for type %s", function,
                         (int) op, type_info[type].name);
    return true;
}

bool jit_host_reduce(ReduceOp op, VarType type, size_t n, const void *src, void *dst)
{
    static const char function[] = "jit_host_reduce()";
    TRY(check_reduction(function, op, type, n, src, dst), false);
    if (n == 0)
        return error_set(JIT_ERROR_ARGUMENT, "%s: n is 0, expected a positive number",
                         function);
    return reduce_now(op, type, src, n, dst);
}

bool jit_host_prefix_reduce(ReduceOp op, VarType type, size_t n, size_t block_size,
                            int exclusive, int reverse, const void *src, void *dst)
{
    static const char function[] = "jit_host_prefix_reduce()";
    TRY(check_reduction(function, op, type, n, src, dst), false);
    if (n == 0)
        return true;
    if (block_size == 0 || n % block_size)
        return error_set(
            JIT_ERROR_ARGUMENT,
            "%s: the block size is %zu, expected a divisor of the size %zu", function,
            block_size, n);
    if (block_size == 1 && !exclusive) {
        memmove(dst, src, n * type_info[type].size);
        return true;
    }
    const ScanSpec spec = { op, type, n, block_size, exclusive != 0, reverse != 0 };
    return scan_now(&spec, src, dst);
}
