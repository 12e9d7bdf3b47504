/*
 * program_verify.c -- is a Program well-formed?
 *
 * One pass over the instructions, checking each against its row in ops.def and its
 * operands against the instructions before it. The first fault is recorded with its
 * position.
 *
 * Control flow: each body (a loop's, each side of a conditional) is a part with a
 * number; part 0 is what stands outside. A stack holds the regions that are open. A
 * value can be used while its part is open.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "ir/program.h"
#include "ir/reduce_rule.h"

typedef struct Verifier {
    const Program *p, *root;
    uint32_t self; /* position of 'p' in the root's callables[], else their number */
    uint32_t *part;        /* of each instruction; NULL without regions */
    uint8_t *open;         /* by part */
    uint32_t *stack;       /* open regions, and ... */
    uint32_t *stack_part;  /* ... which of their parts is open */
    uint32_t depth, parts; /* parts so far, part 0 included */
    uint32_t regions;      /* begun so far */
} Verifier;

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

static bool check_operands(const Verifier *v, uint32_t at, const Inst *inst)
{
    const Program *p = v->p;
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
        if (v->part && !v->open[v->part[args[i]]])
            return fault(at, inst, "operand %u is %%%u, in a body that has ended",
                         i + 1, args[i]);
        if (program_item_count(&p->insts[args[i]]) && inst->op != OP_PACKET_ITEM)
            return fault(at, inst, "operand %u is all of a packet", i + 1);
        bool local = op_role((Op) inst->op, i) == ROLE_LOCAL;
        if ((p->insts[args[i]].op == OP_LOCAL) != local)
            return fault(at, inst, "operand %u is %sa local array", i + 1,
                         local ? "not " : "");
    }
    return true;
}

/* A parameter of the right kind; that of a STORE with the type of the value. */
static bool check_param(const Verifier *v, uint32_t at, const Inst *inst)
{
    const Program *root = v->root;
    if (inst->aux >= root->param_count)
        return fault(at, inst, "parameter %u of %u", inst->aux, root->param_count);
    ParamKind kind = (ParamKind) root->params[inst->aux].kind;
    bool fits = inst->op == OP_LOAD    ? kind == PARAM_INPUT
                : inst->op == OP_STORE ? kind == PARAM_OUTPUT
                                       : kind == PARAM_POINTER || kind == PARAM_VALUE;
    return fits || fault(at, inst, "parameter %u is of kind %d", inst->aux, (int) kind);
}

static bool check_aux(const Verifier *v, uint32_t at, const Inst *inst)
{
    const Program *p = v->p, *root = v->root;
    uint32_t aux = inst->aux;
    switch ((AuxKind) op_info[inst->op].aux) {
    case AUX_LITERAL:
        return aux < p->literal_count ||
               fault(at, inst, "literal %u of %u", aux, p->literal_count);
    case AUX_PARAM:
        return check_param(v, at, inst);
    case AUX_PACKET:
        return (aux >= 2 && op_is_packet(aux)) ||
               fault(at, inst, "packet of %u", aux);
    case AUX_ITEM: {
        const Inst *packet = &p->insts[inst->arg[0]];
        return aux < program_item_count(packet) ||
               fault(at, inst, "item %u of %%%u", aux, inst->arg[0]);
    }
    case AUX_MATVEC:
        return aux < MATVEC_ADDS << 1 ||
               fault(at, inst, "matrix 0x%x", aux);
    case AUX_OUTER:
        return ((aux & 0xff) == ReduceOpAdd && (aux >> 8 & 0x3ff) < ReduceModeCount) ||
               fault(at, inst, "reduction 0x%x", aux);
    case AUX_REDUCTION:
        return ((aux & 0xff) < ReduceOpCount && aux >> 8 < ReduceModeCount) ||
               fault(at, inst, "reduction 0x%x", aux);
    case AUX_CHECK:
        return (aux < root->check_count && root->param_count &&
                root->params[root->param_count - 1].kind == PARAM_REPORT) ||
               fault(at, inst, "check %u of %u without report", aux,
                     root->check_count);
    case AUX_PRINT:
        return (aux < root->print_count &&
                program_find_param(root, PARAM_PRINT) != PROGRAM_NONE) ||
               fault(at, inst, "print %u of %u without log", aux, root->print_count);
    case AUX_ENTRIES:
        return aux > 0 || fault(at, inst, "no entries");
    case AUX_STMT:
        return aux < p->stmt_count ||
               fault(at, inst, "statement %u of %u", aux, p->stmt_count);
    case AUX_NONE:
    case AUX_REGION: /* check_structure() */
    case AUX_WHICH:
        break;
    }
    return true;
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

/* Operand k is the address of an array that the launch has, to be written if it is. */
static bool check_pointer(const Verifier *v, uint32_t at, const Inst *inst, uint32_t k)
{
    const Inst *operand = &v->p->insts[program_args(v->p, inst)[k]];
    const Param *param =
        operand->op == OP_PARAM ? &v->root->params[operand->aux] : NULL;
    if (!param || param->kind != PARAM_POINTER || !(operand->flags & INST_UNIFORM))
        return fault(at, inst, "operand %u is not the address of an array", k + 1);
    return param->written || !(op_info[inst->op].memory & MEMORY_WRITES) ||
           fault(at, inst, "parameter %u is not to be written", operand->aux);
}

/* Operand k is what its role says; 'type' is that of the operation. */
static bool check_role(const Verifier *v, uint32_t at, const Inst *inst, uint32_t k,
                       VarType type)
{
    const Program *p = v->p;
    const Inst *operand = &p->insts[program_args(p, inst)[k]];
    switch (op_role((Op) inst->op, k)) {
    case ROLE_VALUE:
    case ROLE_LOCAL:
        return expect(p, at, inst, k, type);
    case ROLE_MASK:
        return expect(p, at, inst, k, VarTypeBool);
    case ROLE_INDEX:
        return expect_index(p, at, inst, k);
    case ROLE_POINTER:
        return expect(p, at, inst, k, VarTypePointer) && check_pointer(v, at, inst, k);
    case ROLE_TABLE:
        return expect(p, at, inst, k, type) &&
               (operand->op == OP_LITERAL ||
                fault(at, inst, "operand %u is not a literal", k + 1));
    case ROLE_NUMBER:
        return expect(p, at, inst, k,
                      type_info[type].size == 4 ? VarTypeUInt32 : VarTypeUInt64);
    default:
        return true;
    }
}

/* How many operands an operation of any number of them may have. */
static bool check_count(uint32_t at, const Inst *inst)
{
    uint32_t n = inst->count;
    switch (inst->op) {
    case OP_LOOKUP:
        if (n >= 3 && n - 1 <= INST_LOOKUP_MOST && !((n - 1) & (n - 2)))
            return true;
        break;
    case OP_SCATTER_PACKET:
        if (n >= 5)
            return true;
        break;
    case OP_SCATTER_CAS:
        if (n == 5)
            return true;
        break;
    case OP_MATVEC: {
        const uint32_t m = inst->aux & MATVEC_RESULTS;
        const uint32_t added = inst->aux & MATVEC_ADDS ? m : 0;
        if (n > 2 + added && m && m <= MATRIX_MOST && n - 2 - added <= MATRIX_MOST)
            return true;
        break;
    }
    case OP_OUTER: {
        const uint32_t m = inst->aux >> OUTER_ROWS;
        if (n > 3 + m && m && m <= MATRIX_MOST && n - 3 - m <= MATRIX_MOST)
            return true;
        break;
    }
    case OP_PRINT:
        return n || fault(at, inst, "no mask");
    default:
        return true;
    }
    return fault(at, inst, "%u operands", n);
}

static bool check_types(const Verifier *v, uint32_t at, const Inst *inst)
{
    const Program *p = v->p;
    const OpInfo *info = &op_info[inst->op];
    if (!check_count(at, inst))
        return false;
    if (info->group & (GROUP_MARK | GROUP_FRAME))
        return true; /* see check_structure() */
    bool by_result = info->group & (GROUP_LOCAL | GROUP_TABLE) &&
                     info->result == RESULT_SAME;
    VarType type = by_result ? (VarType) inst->type : program_operation_type(p, inst);
    if (info->lead < inst->count || info->result == RESULT_GIVEN)
        if (!(info->operands >> type & 1))
            return fault(at, inst, "not defined for %s", type_info[type].name);
    for (uint32_t k = 0; k < inst->count; ++k)
        if (!check_role(v, at, inst, k, type))
            return false;
    /* That of OUTER may be an input of a callable, which is never marked. */
    if (inst->op == OP_MATVEC &&
        !(p->insts[program_args(p, inst)[1]].flags & INST_UNIFORM))
        return fault(at, inst, "the index is not uniform");
    if (inst->op == OP_STORE)
        return expect(p, at, inst, 0, (VarType) v->root->params[inst->aux].type);
    if (inst->op == OP_LOAD && inst->type != v->root->params[inst->aux].type)
        return fault(at, inst, "parameter %u is %s", inst->aux,
                     type_info[v->root->params[inst->aux].type].name);
    if (inst->op == OP_LOCAL_MOVE &&
        p->insts[inst->arg[0]].aux != p->insts[inst->arg[1]].aux)
        return fault(at, inst, "arrays of %u and %u entries",
                     p->insts[inst->arg[0]].aux, p->insts[inst->arg[1]].aux);
    VarType result = op_result((Op) inst->op, type);
    return info->result == RESULT_GIVEN || inst->type == result ||
           fault(at, inst, "the result is %s, expected %s", type_info[inst->type].name,
                 type_info[result].name);
}

static bool check_flags(const Program *p, uint32_t at, const Inst *inst)
{
    if (inst->flags & ~(unsigned) INST_UNIFORM)
        return fault(at, inst, "there is no flag %u", inst->flags);
    if (!(inst->flags & INST_UNIFORM) || inst->op == OP_LOAD)
        return true;
    if (!op_may_be_uniform((Op) inst->op))
        return fault(at, inst, "cannot be uniform");
    const uint32_t *args = program_args(p, inst);
    for (uint32_t i = 0; i < inst->count; ++i)
        if (!(p->insts[args[i]].flags & INST_UNIFORM))
            return fault(at, inst, "marked uniform, but operand %u is not", i + 1);
    return true;
}

/* ---- structure */

static const Program *callable(const Verifier *v, const Region *region, uint32_t target)
{
    return v->root->callables[v->p->extra[region->targets + target]];
}

static bool check_target(const Verifier *v, uint32_t at, const Inst *inst,
                         const Region *region, uint32_t target)
{
    uint32_t number = v->p->extra[region->targets + target];
    if (number >= v->self)
        return fault(at, inst, "callable %u cannot be called here", number);
    const Program *to = v->root->callables[number], *first = callable(v, region, 0);
    if (!to->inst_count || to->insts[to->inst_count - 1].op != OP_RETURN)
        return fault(at, inst, "callable %u does not end with a return", number);
    for (uint32_t i = 0; i < to->inst_count; ++i) {
        const Inst *arg = &to->insts[i];
        if (arg->op != OP_ARG || arg->aux == 0)
            continue;
        if (arg->aux + 1 >= inst->count ||
            arg->type != arg_type(v->p, inst, arg->aux + 1))
            return fault(at, inst, "input %u of callable %u is %s", arg->aux, number,
                         type_info[arg->type].name);
    }
    const Inst *own = &to->insts[to->inst_count - 1];
    const Inst *others = &first->insts[first->inst_count - 1];
    if (own->count != others->count)
        return fault(at, inst, "callables with %u and %u outputs", others->count,
                     own->count);
    for (uint32_t i = 0; i < own->count; ++i)
        if (arg_type(to, own, i) != arg_type(first, others, i))
            return fault(at, inst, "output %u of callable %u is %s", i, number,
                         type_info[arg_type(to, own, i)].name);
    return true;
}

static bool check_call(const Verifier *v, uint32_t at, const Inst *inst,
                       const Region *region)
{
    if (inst->count < 2 || !expect(v->p, at, inst, 1, VarTypeUInt32))
        return fault(at, inst, "a call needs a mask and a number of type uint32");
    if (region->middle != at + 1 || region->end != at + 1)
        return fault(at, inst, "a call ends at once");
    if (region->targets > v->p->extra_count ||
        v->p->extra_count - region->targets < region->target_count)
        return fault(at, inst, "target list lies outside of extra[]");
    for (uint32_t i = 0; i < region->target_count; ++i)
        if (!check_target(v, at, inst, region, i))
            return false;
    return true;
}

/* The part that instructions belong to now. */
static uint32_t current_part(const Verifier *v)
{
    return v->depth ? v->stack_part[v->depth - 1] : 0;
}

static void open_part(Verifier *v)
{
    v->stack_part[v->depth - 1] = v->parts;
    v->open[v->parts++] = true;
}

static bool begin_region(Verifier *v, uint32_t at, const Inst *inst)
{
    const Program *p = v->p;
    if (inst->aux != v->regions || inst->aux >= p->region_count)
        return fault(at, inst, "region %u, expected %u of %u", inst->aux, v->regions,
                     p->region_count);
    const Region *region = &p->regions[v->regions++];
    if (region->begin != at || region->middle <= at || region->end < region->middle ||
        region->end >= p->inst_count || region->kind > REGION_CALL)
        return fault(at, inst, "kind %u, positions %u, %u, %u", region->kind,
                     region->begin, region->middle, region->end);
    if (!inst->count || !expect(p, at, inst, 0, VarTypeBool))
        return fault(at, inst, "no mask");
    if (region->kind == REGION_IF &&
        (inst->count != 2 || !expect(p, at, inst, 1, VarTypeBool)))
        return fault(at, inst, "a conditional has a mask and a condition");
    if (region->kind != REGION_CALL && region->target_count)
        return fault(at, inst, "%u targets, and it is not a call",
                     region->target_count);
    if (region->kind == REGION_CALL && !check_call(v, at, inst, region))
        return false;
    v->stack[v->depth++] = inst->aux;
    open_part(v);
    return true;
}

/* TEST, ELSE and END stand where their region, the innermost one, says. */
static bool check_mark(Verifier *v, uint32_t at, const Inst *inst)
{
    if (!v->depth || v->stack[v->depth - 1] != inst->aux)
        return fault(at, inst, "region %u is not the innermost one", inst->aux);
    const Program *p = v->p;
    const Region *region = &p->regions[inst->aux];
    RegionKind expected = inst->op == OP_TEST   ? REGION_LOOP
                          : inst->op == OP_ELSE ? REGION_IF
                                                : (RegionKind) region->kind;
    if (at != (inst->op == OP_END ? region->end : region->middle) ||
        region->kind != expected)
        return fault(at, inst, "is not where region %u has it", inst->aux);
    const Inst *begin = &p->insts[region->begin], *middle = &p->insts[region->middle];
    if (inst->op == OP_TEST)
        return expect(p, at, inst, 0, VarTypeBool);
    if (inst->op == OP_END && region->kind == REGION_LOOP) {
        if (middle->op != OP_TEST || inst->count + 1u != begin->count)
            return fault(at, inst, "%u states, expected %u", inst->count,
                         begin->count - 1u);
        for (uint32_t i = 0; i < inst->count; ++i)
            if (!expect(p, at, inst, i, arg_type(p, begin, i + 1)))
                return false;
    }
    if (inst->op == OP_END && region->kind == REGION_IF) {
        if (middle->op != OP_ELSE || inst->count != middle->count)
            return fault(at, inst, "%u outputs, the other side has %u", inst->count,
                         middle->count);
        for (uint32_t i = 0; i < inst->count; ++i)
            if (!expect(p, at, inst, i, arg_type(p, middle, i)))
                return false;
    }
    v->open[current_part(v)] = false;
    if (inst->op == OP_ELSE)
        open_part(v);
    v->depth -= inst->op == OP_END;
    return true;
}

static bool check_state(const Verifier *v, uint32_t at, const Inst *inst)
{
    const Region *region = v->depth ? &v->p->regions[v->stack[v->depth - 1]] : NULL;
    if (!region || region->kind != REGION_LOOP || at != region->begin + 1 + inst->aux)
        return fault(at, inst, "state %u stands after the loop's begin", inst->aux);
    const Inst *begin = &v->p->insts[region->begin];
    if (inst->aux + 1 >= begin->count)
        return fault(at, inst, "state %u of %u", inst->aux, begin->count - 1u);
    VarType type = arg_type(v->p, begin, inst->aux + 1);
    if (inst->type != type)
        return fault(at, inst, "state %u is %s", inst->aux, type_info[type].name);
    return true;
}

static bool check_result(const Verifier *v, uint32_t at, const Inst *inst)
{
    const Program *p = v->p;
    uint32_t end = at;
    while (end > 0 && p->insts[end].op == OP_RESULT)
        end--;
    if (p->insts[end].op != OP_END || inst->count)
        return fault(at, inst, "stands past the end of a region");
    const Region *region = &p->regions[p->insts[end].aux];
    if (inst->aux >= program_result_count(p, v->root, region))
        return fault(at, inst, "result %u of %u", inst->aux,
                     program_result_count(p, v->root, region));
    if (at > end + 1 && p->insts[at - 1].aux >= inst->aux)
        return fault(at, inst, "results are not in order");
    VarType type = region->kind == REGION_CALL
                       ? arg_type(callable(v, region, 0),
                                  &callable(v, region, 0)
                                       ->insts[callable(v, region, 0)->inst_count - 1],
                                  inst->aux)
                       : arg_type(p, &p->insts[region->end], inst->aux);
    if (inst->type != type)
        return fault(at, inst, "result %u is %s", inst->aux, type_info[type].name);
    return true;
}

static bool check_active(const Verifier *v, uint32_t at, const Inst *inst)
{
    if (!v->depth || v->stack[v->depth - 1] != inst->aux)
        return fault(at, inst, "region %u is not the innermost one", inst->aux);
    if (inst->type != VarTypeBool)
        return fault(at, inst, "the result is %s", type_info[inst->type].name);
    return true;
}

/* What only callables have, and what they lack. */
static bool check_place(const Verifier *v, uint32_t at, const Inst *inst)
{
    bool inside = v->p != v->root;
    switch (inst->op) {
    case OP_ARG:
        if (inst->aux == 0 && inst->type != VarTypeBool)
            return fault(at, inst, "argument 0 is the mask");
        return inside || fault(at, inst, "stands outside of a callable");
    case OP_RETURN:
        return (inside && at + 1 == v->p->inst_count && !v->depth) ||
               fault(at, inst, "does not end a callable");
    case OP_LOAD:
    case OP_STORE:
    case OP_COUNTER:
    case OP_WORKER:
        return !inside || fault(at, inst, "stands in a callable");
    default:
        return true;
    }
}

static bool check_structure(Verifier *v, uint32_t at, const Inst *inst)
{
    switch (inst->op) {
    case OP_REGION:
        return begin_region(v, at, inst);
    case OP_TEST:
    case OP_ELSE:
    case OP_END:
        return check_mark(v, at, inst);
    case OP_STATE:
        return check_state(v, at, inst);
    case OP_RESULT:
        return check_result(v, at, inst);
    case OP_ACTIVE:
        return check_active(v, at, inst);
    default:
        return check_place(v, at, inst);
    }
}

static bool check_inst(Verifier *v, uint32_t at)
{
    const Program *p = v->p;
    const Inst *inst = &p->insts[at];
    if (inst->op == OP_NONE || inst->op >= OP_COUNT ||
        op_info[inst->op].flags & F_TRACE)
        return fault(at, inst, "operation %u does not occur in Programs", inst->op);
    bool has_value = op_info[inst->op].result != RESULT_VOID;
    if (has_value ? !type_valid((VarType) inst->type) : inst->type != VarTypeVoid)
        return fault(at, inst, "result of type %u", inst->type);
    if (!check_operands(v, at, inst) || !check_aux(v, at, inst) ||
        !check_types(v, at, inst) || !check_flags(p, at, inst) ||
        !check_structure(v, at, inst))
        return false;
    if (v->part)
        v->part[at] = current_part(v);
    return true;
}

static bool verify(const Program *p, const Program *root, uint32_t self)
{
    Verifier v = { .p = p, .root = root, .self = self, .parts = 1 };
    bool ok = true;
    if (p->region_count) {
        v.part = alloc_zero(p->inst_count, sizeof(uint32_t));
        v.open = alloc_zero(2 * (size_t) p->region_count + 1, 1);
        v.stack = alloc_zero(p->region_count, sizeof(uint32_t));
        v.stack_part = alloc_zero(p->region_count, sizeof(uint32_t));
        ok = v.part && v.open && v.stack && v.stack_part;
        if (ok)
            v.open[0] = true;
    }
    for (uint32_t at = 0; ok && at < p->inst_count; ++at)
        ok = check_inst(&v, at);
    if (ok && v.regions != p->region_count)
        ok = error_set(JIT_ERROR_ARGUMENT, "program_verify(): %u of %u regions occur",
                       v.regions, p->region_count);
    if (ok && v.depth)
        ok = error_set(JIT_ERROR_ARGUMENT, "program_verify(): region %u has no end",
                       v.stack[v.depth - 1]);
    alloc_free(v.part);
    alloc_free(v.open);
    alloc_free(v.stack);
    alloc_free(v.stack_part);
    return ok;
}

/* Is there such a reduction of what is stored there, if any? */
static bool check_reduced(const Param *param)
{
    TRY(param->reduced, true);
    return param->kind == PARAM_OUTPUT && param->reduced < REDUCE_COUNT &&
           (param->reduced >= ReduceOpCount ||
            reduce_rule_defined((ReduceOp) param->reduced, (VarType) param->type));
}

static bool check_params(const Program *p)
{
    for (uint32_t i = 0; i < p->param_count; ++i) {
        const Param *param = &p->params[i];
        bool typed = param->kind < PARAM_PRINT;
        if (param->kind > PARAM_REPORT ||
            (typed ? !type_valid((VarType) param->type) : param->type != VarTypeVoid))
            return error_set(JIT_ERROR_ARGUMENT, "program_verify(): parameter %u is of "
                             "kind %u and type %u", i, param->kind, param->type);
        if (!check_reduced(param))
            return error_set(JIT_ERROR_ARGUMENT, "program_verify(): parameter %u: "
                             "reduction %u is not defined for %s", i, param->reduced,
                             type_info[param->type].name);
    }
    return true;
}

/* Bytes of the local arrays of a lane, callables not counted. */
static uint64_t local_bytes(const Program *p)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < p->inst_count; ++i)
        if (p->insts[i].op == OP_LOCAL)
            bytes += (uint64_t) p->insts[i].aux * type_info[p->insts[i].type].size;
    return bytes;
}

static bool check_locals(const Program *p)
{
    uint64_t bytes = local_bytes(p);
    for (uint32_t i = 0; i < p->callable_count; ++i)
        bytes += local_bytes(p->callables[i]);
    return bytes <= LOCAL_MOST_BYTES ||
           error_set(JIT_ERROR_ARGUMENT, "program_verify(): local arrays of %llu bytes",
                     (unsigned long long) bytes);
}

bool program_verify(const Program *p)
{
    if (!check_params(p))
        return false;
    for (uint32_t i = 0; i < p->callable_count; ++i) {
        const Program *c = p->callables[i];
        if (c->param_count || c->callable_count || c->check_count || c->print_count)
            return error_set(JIT_ERROR_ARGUMENT, "program_verify(): callable %u has "
                             "parameters, callables, checks or prints of its own", i);
        if (!verify(c, p, i))
            return false;
    }
    return verify(p, p, p->callable_count) && check_locals(p);
}
