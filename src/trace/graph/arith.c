/*
 * arith.c -- see arith.h
 *
 * The way of an operation: check operands, fold it if all are literals, look for an
 * algebraic identity, then node_new() with value numbering.
 */
#include "trace/graph/arith.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "kernel/host.h"
#include "trace/graph/watch.h"
#include "trace/graph/simplify.h"

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
    VarType operand = (VarType) var_get(args[op_info[op].lead])->type;
    return host_fold(op, type, operand, values, bits);
}

/* The node itself: nothing simpler was found. */
static inline VarId make_node(ThreadState *ts, Op op, VarType type, uint32_t size,
                              const VarId *args)
{
    uint32_t arity = op_info[op].arity;
    return node_operation(ts, var_head(op, type, var_get(args[0])->device, 0), size,
                          var_pair(args[0], arity > 1 ? args[1] : 0),
                          arity > 2 ? args[2] : 0);
}

/* What is used instead of the node. */
static VarId instead(ThreadState *ts, VarId id, Op op, const VarId *args)
{
    return ts->freezing && id ? watcher.keep_size(ts, id, args, op_info[op].arity) : id;
}

VarId arith_make(ThreadState *ts, Op op, VarType type, uint32_t size, const VarId *args)
{
    const Var *first = var_get(args[0]);
    uint8_t device = first->device;
    if (first->op == OP_LITERAL || op == OP_SELECT) {
        uint64_t bits;
        if (fold(ts, op, type, args, &bits))
            return instead(ts, node_literal(ts, device, type, bits, size), op, args);
    }
    if (state_flag(ts, JitFlagConstantPropagation)) {
        VarId simpler = simplify_op(ts, op, type, size, args);
        if (simpler)
            return instead(ts, simpler, op, args);
    }
    return make_node(ts, op, type, size, args);
}

/* ------------------------------------------------------------------ checks */

/* Operands of one type (the first operand of select is a mask). */
static bool check_types(Op op, const VarId *args, const char *function)
{
    uint32_t arity = op_info[op].arity, first = op_info[op].lead;
    const Var *lead = var_get(args[first]);
    if (op_role(op, 0) == ROLE_MASK && var_get(args[0])->type != VarTypeBool)
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
    TRY(check_types(op, args, function), false);
    return node_common_size(args, arity, function, size);
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
    VarId other = node_literal(ts, a->device, (VarType) a->type,
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
    if (is_mask_form(op, args))
        return masked_bits(ts, op, args);
    /* Rounding an integer changes nothing. */
    if (op_info[op].flags & F_ROUNDS && var_exists(args[0]) &&
        type_info[var_get(args[0])->type].is_integer) {
        node_read(ts, args[0]);
        var_inc(args[0]);
        return args[0];
    }
    TRY(check_operands(ts, op, args, &size), 0);
    VarType type = (VarType) var_get(args[op_info[op].lead])->type;
    return arith_make(ts, op, op_result(op, type), size, args);
}

/* --------------------------------------------------------------- fast path */

/* Nothing to be said about this operand: not pending, not consumed, not empty. */
static inline bool is_ordinary(const Var *v)
{
    return var_lanes(v) != 0 && !(v->flags & VAR_UNUSABLE) && !var_pending(v);
}

/* Type and device in one number. */
static inline uint32_t kind_of(const Var *v) { return v->head >> 8 & 0xffff; }

/* Make one size of two, if they agree. */
static inline bool join_sizes(uint32_t *size, uint32_t other)
{
    if (other != *size && other != 1) {
        if (*size != 1)
            return false;
        *size = other;
    }
    return true;
}

static __attribute__((noinline)) void read_all(ThreadState *ts, uint32_t count,
                                               const VarId *ids)
{
    for (uint32_t i = 0; i < count; ++i)
        node_read(ts, ids[i]);
}

/* Most operations: existing, ordinary operands of one type. Where no literal matters
 * and no two operands are the same, neither folding nor an identity can apply. All
 * stays in registers on that way, since arguments written to memory in halves and read
 * back in one piece would stall the CPU. 0: take the slow path. 'arity' is a
 * constant. */
static inline __attribute__((always_inline)) VarId quick(ThreadState *ts, Op op,
                                                         uint32_t arity, VarId a,
                                                         VarId b, VarId c)
{
    if (!var_exists(a) || (arity > 1 && !var_exists(b)) ||
        (arity > 2 && !var_exists(c)))
        return 0;
    if (ts->recording)
        read_all(ts, arity, (VarId[]) { a, b, c });
    const Var *va = var_get(a), *vb = arity > 1 ? var_get(b) : va,
              *vc = arity > 2 ? var_get(c) : vb;
    const OpInfo *info = &op_info[op];
    uint32_t kind = kind_of(vb), first = kind, size = var_lanes(va);
    if (arity > 2 && op == OP_SELECT)
        first = (kind & 0xff00) | VarTypeBool;
    if (kind_of(va) != first || kind_of(vc) != kind ||
        !(info->operands >> vb->type & 1) || !is_ordinary(va) || !is_ordinary(vb) ||
        !is_ordinary(vc) || !join_sizes(&size, var_lanes(vb)) ||
        !join_sizes(&size, var_lanes(vc)))
        return 0;
    VarType type = op_result(op, (VarType) vb->type);
    bool foldable = va->op == OP_LITERAL && vb->op == OP_LITERAL;
    if (arity == 1 || foldable || simplify_kinds(op, va) || simplify_kinds(op, vb) ||
        (arity > 2 && simplify_kinds(op, vc)) || a == b || b == c)
        return arith_make(ts, op, type, size, (VarId[]) { a, b, c });
    return node_operation(ts, var_head(op, type, vb->device, 0), size, var_pair(a, b),
                          c);
}

VarId arith_unary(ThreadState *ts, Op op, VarId a)
{
    VarId id = quick(ts, op, 1, a, 0, 0);
    return id ? id : arith_op(ts, op, &a);
}

VarId arith_binary(ThreadState *ts, Op op, VarId a, VarId b)
{
    VarId id = quick(ts, op, 2, a, b, 0);
    return id ? id : arith_op(ts, op, (VarId[]) { a, b });
}

VarId arith_number(ThreadState *ts, Op op, VarId a, uint64_t bits, bool first)
{
    if (!var_exists(a)) {
        char function[FUNCTION_SIZE];
        function_name(op, function);
        return node_usable(ts, a, function, first ? "operand 2" : "operand 1");
    }
    node_read(ts, a);
    const Var *v = var_get(a);
    VarType type = (VarType) v->type;
    bits &= type_mask(type);
    VarId number = node_literal(ts, v->device, type, bits, 1);
    TRY(number, 0);
    VarId x = first ? number : a, y = first ? a : number, id;
    /* As quick(), of whose questions the number answers half. */
    if (v->op != OP_LITERAL && is_ordinary(v) && op_info[op].operands >> type & 1 &&
        !simplify_number_kinds(op, type, bits))
        id = node_operation(ts, var_head(op, op_result(op, type), v->device, 0),
                            var_lanes(v), var_pair(x, y), 0);
    else
        id = arith_binary(ts, op, x, y);
    var_dec(number);
    return id;
}

VarId arith_ternary(ThreadState *ts, Op op, VarId a, VarId b, VarId c)
{
    VarId id = quick(ts, op, 3, a, b, c);
    return id ? id : arith_op(ts, op, (VarId[]) { a, b, c });
}

/* ------------------------------------------------------------------- casts */

bool arith_check_cast(VarType source, VarType type, bool reinterpret,
                      const char *function)
{
    const TypeInfo *from = &type_info[source], *to = &type_info[type];
    bool pointer = source == VarTypePointer || type == VarTypePointer;
    if (reinterpret && from->size != to->size)
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: cannot reinterpret %s as %s: "
                         "%u and %u bytes",
                         function, from->name, to->name, from->size, to->size);
    if (reinterpret && (source == VarTypeBool) != (type == VarTypeBool))
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: cannot reinterpret %s as %s: "
                         "masks have no bit representation",
                         function, from->name, to->name);
    if (!reinterpret && pointer)
        return error_set(JIT_ERROR_ARGUMENT, "%s: cannot convert %s to %s; "
                         "pointers and uint64 are reinterpreted", function, from->name,
                         to->name);
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
    TRY(arith_check_cast((VarType) v->type, type, reinterpret, "jit_var_cast()"), 0);
    /* Integers of one size convert by keeping their bits. */
    bool bits = type_info[v->type].is_integer && type_info[type].is_integer &&
                type_info[v->type].size == type_info[type].size;
    return arith_make(ts, reinterpret || bits ? OP_BITCAST : OP_CAST, type,
                     var_lanes(v),
                      &id);
}
