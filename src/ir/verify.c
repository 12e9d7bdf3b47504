/*
 * verify.c -- is a Program well-formed?
 *
 * One pass over the instructions, checking each against its row in ops.def and its
 * operands against the instructions before it. The first fault is recorded with its
 * position.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "ir/program.h"

static bool fault(uint32_t position, const Inst *inst, const char *format, ...)
{
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(JIT_ERROR_ARGUMENT, "program_verify(): %%%u = %s: %s", position,
                     inst->op < OP_COUNT ? op_info[inst->op].name : "?", text);
}

static VarType arg_type(const Program *p, const Inst *inst, uint32_t k)
{
    return (VarType) p->insts[program_args(p, inst)[k]].type;
}

static bool check_operands(const Program *p, uint32_t at, const Inst *inst)
{
    const OpInfo *info = &op_info[inst->op];
    if (info->arity != OP_VARIADIC && inst->count != info->arity)
        return fault(at, inst, "%u operands, expected %u", inst->count, info->arity);
    if (inst->count > INST_ARGS &&
        (inst->arg[0] > p->extra_count || p->extra_count - inst->arg[0] < inst->count))
        return fault(at, inst, "operand list lies outside of extra[]");
    const uint32_t *args = program_args(p, inst);
    for (uint32_t i = 0; i < inst->count; ++i) {
        if (args[i] >= at)
            return fault(at, inst, "operand %u is %%%u, which is not computed yet",
                         i + 1, args[i]);
        if (p->insts[args[i]].type == VarTypeVoid)
            return fault(at, inst, "operand %u has no value", i + 1);
    }
    return true;
}

/* Which aux values exist depends on the operation. */
static bool check_aux(const Program *p, uint32_t at, const Inst *inst)
{
    switch (inst->op)
{
    case OP_LITERAL:
        if (inst->aux >= p->literal_count)
            return fault(at, inst, "literal %u of %u", inst->aux, p->literal_count);
        return true;
    case OP_LOAD:
    case OP_STORE:
    case OP_PARAM: {
        if (inst->aux >= p->param_count)
            return fault(at, inst, "slot %u of %u", inst->aux, p->param_count);
        ParamKind kind = (ParamKind) p->params[inst->aux].kind;
        bool fits = inst->op == OP_LOAD ? kind == PARAM_INPUT
                    : inst->op == OP_STORE
                        ? kind == PARAM_OUTPUT
                        : kind == PARAM_POINTER || kind == PARAM_VALUE;
        if (!fits)
            return fault(at, inst, "slot %u is of kind %d", inst->aux, (int) kind);
        return true;
    }
    case OP_GATHER_PACKET:
        if (inst->aux < 2 || inst->aux > 64 || (inst->aux & (inst->aux - 1)))
            return fault(at, inst, "packet of %u", inst->aux);
        return true;
    case OP_PACKET_ITEM: {
        const Inst *packet = &p->insts[inst->arg[0]];
        if (packet->op != OP_GATHER_PACKET || inst->aux >= packet->aux)
            return fault(at, inst, "item %u of %%%u", inst->aux, inst->arg[0]);
        return true;
    }
    case OP_SCATTER:
    case OP_SCATTER_PACKET:
        if ((inst->aux & 0xff) >= ReduceOpCount || inst->aux >> 8 >= ReduceModeCount)
            return fault(at, inst, "reduction 0x%x", inst->aux);
        return true;
    case OP_CHECK:
        if (inst->aux >= p->check_count || !p->param_count ||
            p->params[p->param_count - 1].kind != PARAM_REPORT)
            return fault(at, inst, "check %u of %u without report", inst->aux,
                         p->check_count);
        return true;
    case OP_STMT:
        if (inst->aux >= p->stmt_count)
            return fault(at, inst, "statement %u of %u", inst->aux, p->stmt_count);
        return true;
    default:
        return true;
    }
}

static bool expect(const Program *p, uint32_t at, const Inst *inst, uint32_t k,
                   VarType type)
{
    VarType found = arg_type(p, inst, k);
    if (found == type)
        return true;
    return fault(at, inst, "operand %u is %s, expected %s", k + 1,
                 type_info[found].name, type_info[type].name);
}

static bool expect_index(const Program *p, uint32_t at, const Inst *inst, uint32_t k)
{
    VarType found = arg_type(p, inst, k);
    if (found == VarTypeUInt32 || found == VarTypeInt32)
        return true;
    return fault(at, inst, "the index is %s", type_info[found].name);
}

/* Pointer, values, index, mask in the places that each operation has them. */
static bool check_memory(const Program *p, uint32_t at, const Inst *inst)
{
    uint32_t n = inst->count, index = n - 2, mask = n - 1, value = 1, values = 0;
    switch (inst->op) {
    case OP_SCATTER:
    case OP_SCATTER_ADD:
    case OP_SCATTER_EXCH:
        values = 1;
        break;
    case OP_SCATTER_CAS:
        values = 2;
        break;
    case OP_SCATTER_PACKET:
        index = 1;
        mask = 2;
        value = 3;
        values = n - 3;
        break;
    default:
        break;
    }
    if (n < 3 || (inst->op == OP_SCATTER_PACKET && n < 5) ||
        (inst->op == OP_SCATTER_CAS && n != 5))
        return fault(at, inst, "%u operands", n);
    if (!expect(p, at, inst, 0, VarTypePointer) || !expect_index(p, at, inst, index) ||
        !expect(p, at, inst, mask, VarTypeBool))
        return false;
    if (!(p->insts[program_args(p, inst)[0]].flags & INST_UNIFORM))
        return fault(at, inst, "the pointer is not uniform");
    VarType type = op_info[inst->op].result == RESULT_VOID ? arg_type(p, inst, value)
                                                           : (VarType) inst->type;
    if (!(op_info[inst->op].operands >> type & 1))
        return fault(at, inst, "not defined for %s", type_info[type].name);
    for (uint32_t i = 0; i < values; ++i)
        if (!expect(p, at, inst, value + i, type))
            return false;
    return true;
}

static bool check_types(const Program *p, uint32_t at, const Inst *inst)
{
    const OpInfo *info = &op_info[inst->op];
    if (inst->op >= OP_GATHER && inst->op <= OP_SCATTER_CAS &&
        inst->op != OP_PACKET_ITEM)
        return check_memory(p, at, inst);
    if (inst->op == OP_CHECK)
        return expect(p, at, inst, 0, VarTypeBool) && expect_index(p, at, inst, 1);
    if (inst->op == OP_STORE)
        return expect(p, at, inst, 0, (VarType) p->params[inst->aux].type);
    if (inst->op < OP_NEG || inst->op > OP_SELECT)
        return true;
    uint32_t first = inst->op == OP_SELECT ? 1 : 0;
    if (first && !expect(p, at, inst, 0, VarTypeBool))
        return false;
    VarType operand = arg_type(p, inst, first);
    if (!(info->operands >> operand & 1))
        return fault(at, inst, "not defined for %s", type_info[operand].name);
    for (uint32_t i = first + 1; i < inst->count; ++i)
        if (!expect(p, at, inst, i, operand))
            return false;
    VarType result = info->result == RESULT_MASK   ? VarTypeBool
                     : info->result == RESULT_WIDE ? type_wide(operand)
                                                   : operand;
    if (inst->type != result)
        return fault(at, inst, "the result is %s, expected %s",
                     type_info[inst->type].name, type_info[result].name);
    return true;
}

static bool check_uniform(const Program *p, uint32_t at, const Inst *inst)
{
    if (!(inst->flags & INST_UNIFORM) || inst->op == OP_LOAD)
        return true;
    if (inst->op == OP_COUNTER || op_info[inst->op].flags & F_EFFECT)
        return fault(at, inst, "cannot be uniform");
    const uint32_t *args = program_args(p, inst);
    for (uint32_t i = 0; i < inst->count; ++i)
        if (!(p->insts[args[i]].flags & INST_UNIFORM))
            return fault(at, inst, "marked uniform, but operand %u is not", i + 1);
    return true;
}

bool program_verify(const Program *p)
{
    for (uint32_t at = 0; at < p->inst_count; ++at)
{
        const Inst *inst = &p->insts[at];
        if (inst->op == OP_NONE || inst->op >= OP_COUNT ||
            op_info[inst->op].flags & F_TRACE)
            return fault(at, inst, "operation %u does not occur in Programs", inst->op);
        bool has_value = op_info[inst->op].result != RESULT_VOID;
        if (has_value ? !type_valid((VarType) inst->type) : inst->type != VarTypeVoid)
            return fault(at, inst, "result of type %u", inst->type);
        if (!check_operands(p, at, inst) || !check_aux(p, at, inst) ||
            !check_types(p, at, inst) || !check_uniform(p, at, inst))
            return false;
    }
    return true;
}
