/*
 * arith.c -- see arith.h
 *
 * The way of an operation: check operands, fold it if all are literals, look for an
 * algebraic identity, then node_new() with value numbering.
 */
#include "trace/arith.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "engine/interp/interp.h"
#include "trace/simplify.h"

/* "jit_var_add()" and the like, for messages. */
#define FUNCTION_SIZE 40
static void function_name(Op op, char out[FUNCTION_SIZE])
{
    snprintf(out, FUNCTION_SIZE, "jit_var_%s()", op_info[op].name);
}

/* ----------------------------------------------------------------- folding */

static bool fold(ThreadState *ts, Op op, VarType type, const VarId *args,
                 uint64_t *bits)
{
    if (!state_flag(ts, JitFlagConstantPropagation) || !(op_info[op].flags & F_FOLDS))
        return false;
    uint64_t values[3];
    uint32_t arity = op_info[op].arity;
    for (uint32_t i = 0; i < arity; ++i) {
        const Var *v = var_get(args[i]);
        if (v->op != OP_LITERAL)
            return false;
        values[i] = v->value.literal;
    }
    VarType operand = (VarType) var_get(args[op == OP_SELECT ? 1 : 0])->type;
    return interp_fold(op, type, operand, values, bits);
}

VarId arith_make(ThreadState *ts, Op op, VarType type, uint32_t size, const VarId *args)
{
    const Var *first = var_get(args[0]);
    JitBackend backend = (JitBackend) first->backend;
    if (first->op == OP_LITERAL || op == OP_SELECT) {
        uint64_t bits;
        if (fold(ts, op, type, args, &bits))
            return node_literal(ts, backend, type, bits, size);
    }
    if (state_flag(ts, JitFlagConstantPropagation)) {
        VarId simpler = simplify_op(ts, op, type, size, args);
        if (simpler)
            return simpler;
    }
    VarId id;
    Var *v = node_begin(ts, &id);
    TRY(v, 0);
    uint32_t arity = op_info[op].arity;
    v->size = size;
    v->head = var_head(op, type, backend, 0);
    v->dep_pair[0] = var_pair(args[0], arity > 1 ? args[1] : 0);
    v->dep_pair[1] = arity > 2 ? args[2] : 0;
    return node_finish(ts, id);
}

/* ------------------------------------------------------------------ checks */

static bool same_backend(const Var *a, const Var *b, const char *function)
{
    if (a->backend != b->backend)
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: operands belong to different backends", function);
    return true;
}

/* Operands of one type (the first operand of select is a mask). */
static bool check_types(Op op, const VarId *args, const char *function)
{
    uint32_t arity = op_info[op].arity, first = op == OP_SELECT ? 1 : 0;
    const Var *lead = var_get(args[first]);
    if (op == OP_SELECT && var_get(args[0])->type != VarTypeBool)
        return error_set(JIT_ERROR_ARGUMENT, "%s: operand 1 is %s, expected bool",
                         function, type_info[var_get(args[0])->type].name);
    if (!(op_info[op].operands >> lead->type & 1))
        return error_set(JIT_ERROR_ARGUMENT, "%s: not defined for type %s", function,
                         type_info[lead->type].name);
    for (uint32_t i = first + 1; i < arity; ++i) {
        const Var *v = var_get(args[i]);
        if (v->type != lead->type)
            return error_set(JIT_ERROR_ARGUMENT, "%s: operand %u is %s, expected %s as "
                             "operand %u", function, i + 1, type_info[v->type].name,
                             type_info[lead->type].name, first + 1);
    }
    return true;
}

/* The full story, told only when the quick test of arith_op() found something
 * unusual. */
static bool check_operands(ThreadState *ts, Op op, const VarId *args, uint32_t *size)
{
    char function[FUNCTION_SIZE], what[] = "operand 1";
    function_name(op, function);
    uint32_t arity = op_info[op].arity;
    for (uint32_t i = 0; i < arity; ++i) {
        what[8] = (char) ('1' + i);
        TRY(node_usable(ts, args[i], function, what), false);
    }
    for (uint32_t i = 0; i < arity; ++i) /* evaluation above releases the lock */
        if (!var_exists(args[i]))
            return error_set(JIT_ERROR_ARGUMENT, "%s: operand %u was freed meanwhile",
                             function, i + 1);
    for (uint32_t i = 1; i < arity; ++i)
        TRY(same_backend(var_get(args[0]), var_get(args[i]), function), false);
    TRY(check_types(op, args, function), false);
    return node_common_size(args, arity, function, size);
}

/* Is nothing to be said about these operands? They exist, are of one type the operation
 * takes, of one size or 1, not pending, not consumed, not empty. */
static bool plainly_fine(Op op, const VarId *args, uint32_t *size)
{
    uint32_t arity = op_info[op].arity, first = op == OP_SELECT ? 1 : 0;
    if (!var_exists(args[0]) || !var_exists(args[first]))
        return false;
    uint32_t common = 1, type = var_get(args[first])->type,
             backend = var_get(args[0])->backend;
    for (uint32_t i = 0; i < arity; ++i) {
        if (!var_exists(args[i]))
            return false;
        const Var *v = var_get(args[i]);
        if (v->type != (i < first ? VarTypeBool : type) || v->backend != backend ||
            v->pending || v->size == 0 || (v->flags & VAR_CONSUMED))
            return false;
        if (v->size != common) {
            if (common != 1 && v->size != 1)
                return false;
            if (v->size != 1)
                common = v->size;
        }
    }
    *size = common;
    return op_info[op].operands >> type & 1;
}

static VarType result_type(Op op, const VarId *args)
{
    VarType first = (VarType) var_get(args[0])->type;
    switch ((ResultRule) op_info[op].result) {
        case RESULT_MASK: return VarTypeBool;
        case RESULT_WIDE: return type_wide(first);
        case RESULT_SECOND: return (VarType) var_get(args[1])->type;
        default: return first;
    }
}

/* a & mask, a | mask with a of another type: choose between a and a constant. */
static VarId masked_bits(ThreadState *ts, Op op, const VarId *args)
{
    char function[FUNCTION_SIZE];
    function_name(op, function);
    uint32_t size;
    TRY(node_usable(ts, args[0], function, "operand 1"), 0);
    TRY(node_usable(ts, args[1], function, "operand 2"), 0);
    TRY(node_common_size(args, 2, function, &size), 0);
    const Var *a = var_get(args[0]);
    uint32_t bytes = type_info[a->type].size;
    uint64_t ones = bytes == 8 ? ~(uint64_t) 0 : ((uint64_t) 1 << bytes * 8) - 1;
    VarId other = node_literal(ts, (JitBackend) a->backend, (VarType) a->type,
                               op == OP_AND ? 0 : ones, 1);
    TRY(other, 0);
    VarId choice[] = { args[1], op == OP_AND ? args[0] : other,
                       op == OP_AND ? other : args[0] };
    VarId result = arith_op(ts, OP_SELECT, choice);
    var_dec(other);
    return result;
}

static bool is_mask_form(Op op, const VarId *args)
{
    return (op == OP_AND || op == OP_OR) && var_exists(args[0]) &&
           var_exists(args[1]) && var_get(args[1])->type == VarTypeBool &&
           var_get(args[0])->type != VarTypeBool &&
           var_get(args[0])->type != VarTypePointer;
}

VarId arith_op(ThreadState *ts, Op op, const VarId *args)
{
    uint32_t size;
    if (!plainly_fine(op, args, &size)) {
        if (is_mask_form(op, args))
            return masked_bits(ts, op, args);
        /* Rounding an integer changes nothing. */
        if (op >= OP_CEIL && op <= OP_TRUNC && var_exists(args[0]) &&
            type_info[var_get(args[0])->type].is_integer) {
            var_inc(args[0]);
            return args[0];
        }
        TRY(check_operands(ts, op, args, &size), 0);
    }
    return arith_make(ts, op, result_type(op, args), size, args);
}

/* ------------------------------------------------------------------- casts */

static bool check_cast(const Var *v, VarType type, bool reinterpret)
{
    const TypeInfo *from = &type_info[v->type], *to = &type_info[type];
    bool pointer = v->type == VarTypePointer || type == VarTypePointer;
    if (reinterpret && from->size != to->size)
        return error_set(JIT_ERROR_ARGUMENT,
                         "jit_var_cast(): cannot reinterpret %s as %s: "
                         "%u and %u bytes",
                         from->name, to->name, from->size, to->size);
    if (reinterpret && (v->type == VarTypeBool) != (type == VarTypeBool))
        return error_set(JIT_ERROR_ARGUMENT,
                         "jit_var_cast(): cannot reinterpret %s as %s: "
                         "masks have no bit representation",
                         from->name, to->name);
    if (!reinterpret && pointer)
        return error_set(JIT_ERROR_ARGUMENT, "jit_var_cast(): cannot convert %s to %s; "
                         "pointers and uint64 are reinterpreted", from->name, to->name);
    return true;
}

VarId arith_cast(ThreadState *ts, VarId id, VarType type, bool reinterpret)
{
    TRY(node_type_valid(type, "jit_var_cast()"), 0);
    TRY(node_usable(ts, id, "jit_var_cast()", "operand 1"), 0);
    const Var *v = var_get(id);
    if (v->type == type) {
        var_inc(id);
        return id;
    }
    TRY(check_cast(v, type, reinterpret), 0);
    /* Integers of one size convert by keeping their bits. */
    bool bits = type_info[v->type].is_integer && type_info[type].is_integer &&
                type_info[v->type].size == type_info[type].size;
    return arith_make(ts, reinterpret || bits ? OP_BITCAST : OP_CAST, type, v->size,
                      &id);
}
