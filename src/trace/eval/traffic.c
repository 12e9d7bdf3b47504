/*
 * traffic.c -- see traffic.h
 *
 * A launch is one walk over its Program and the callables, which counts entries for
 * each parameter; the slots of the command say which arrays these are, as several may
 * be one, and how large. Slots that are not a parameter (of reductions, and of all
 * other commands) are read or written as a whole.
 */
#include "trace/eval/traffic.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/table.h"
#include "engine/engine.h"
#include "ir/reduce_rule.h"
#include "lower/legalise.h"

/* Of the operations that count, on floats. */
static const uint8_t flops_of[OP_COUNT] = {
    [OP_ADD] = 1,  [OP_SUB] = 1, [OP_MUL] = 1, [OP_DIV] = 1,  [OP_SQRT] = 1,
    [OP_RCP] = 1,  [OP_MIN] = 1, [OP_MAX] = 1, [OP_FMIN] = 1, [OP_FMAX] = 1,
    [OP_FMA] = 2
};

static bool is_float(uint32_t type)
{
    return CLASS_FLOAT >> type & 1;
}

/* ---------------------------------------------------------------- functions */

/* x -> op(x, x): a kernel of this function alone. */
static bool add_function(Program *p, Op op, VarType type)
{
    uint32_t in = program_add_param(p, PARAM_INPUT, type);
    uint32_t out = program_add_param(p, PARAM_OUTPUT, type);
    TRY(in != PROGRAM_NONE && out != PROGRAM_NONE, false);
    uint32_t x = program_add(p, OP_LOAD, type, in, 0, NULL);
    TRY(x != PROGRAM_NONE, false);
    uint32_t y = program_add(p, op, type, 0, op_info[op].arity, (uint32_t[]) { x, x });
    TRY(y != PROGRAM_NONE, false);
    return program_add(p, OP_STORE, VarTypeVoid, out, 1, &y) != PROGRAM_NONE;
}

/* Bodies are there for few lanes only: they do not count. */
static uint32_t count_outside_bodies(const Program *p)
{
    uint32_t sum = 0, depth = 0;
    for (uint32_t i = 0; i < p->inst_count; ++i) {
        const Inst *inst = &p->insts[i];
        depth += inst->op == OP_REGION;
        depth -= inst->op == OP_END;
        if (!depth && !(inst->flags & INST_UNIFORM) && is_float(inst->type))
            sum += flops_of[inst->op];
    }
    return sum;
}

/* Operations of a function, found when first asked for; 0: out of memory. */
static uint32_t count_function(Op op, VarType type)
{
    static _Atomic uint32_t known[OP_COUNT][VarTypeCount];
    uint32_t count = atomic_load_explicit(&known[op][type], memory_order_relaxed);
    if (count)
        return count;
    Program *p = alloc_zero(1, sizeof(Program));
    TRY(p, 0);
    const Program *legal =
        add_function(p, op, type) ? legalise(p, engine_find("interp")) : NULL;
    if (legal) {
        count = count_outside_bodies(legal);
        count += !count; /* one that takes bits apart only */
        atomic_store_explicit(&known[op][type], count, memory_order_relaxed);
    }
    if (legal != p)
        program_free((Program *) legal);
    program_free(p);
    return count;
}

/* ----------------------------------------------------------------- Programs */

/* Of a parameter: entries, in all lanes together. Of an array: bytes. */
typedef struct Uses {
    uint64_t read, written;
} Uses;

typedef struct Count {
    const Program *root;
    uint64_t size; /* lanes */
    Uses *uses;    /* of each parameter */
    uint64_t flops;
} Count;

/* Scatters that only write do not look at what was there. */
static bool overwrites(const Inst *inst)
{
    return op_info[inst->op].aux == AUX_REDUCTION &&
           (inst->aux & 0xff) == ReduceOpIdentity;
}

static void count_access(Count *c, const Program *p, const Inst *inst)
{
    const uint32_t *args = program_args(p, inst);
    const Inst *pointer = &p->insts[args[0]];
    if (pointer->op != OP_PARAM)
        return;
    uint64_t entries = inst->flags & INST_UNIFORM ? 1 : c->size;
    if (inst->op == OP_MATVEC || inst->op == OP_OUTER)
        entries = program_matrix_size(inst); /* once for all lanes */
    else if (inst->op == OP_GATHER_PACKET)
        entries *= inst->aux;
    else if (inst->op == OP_SCATTER_PACKET)
        entries *= inst->count - op_find_role(OP_SCATTER_PACKET, ROLE_VALUE);
    Uses *uses = &c->uses[pointer->aux];
    if (op_info[inst->op].memory & MEMORY_READS && !overwrites(inst))
        uses->read += entries;
    if (op_info[inst->op].memory & MEMORY_WRITES)
        uses->written += entries;
}

static bool count_inst(Count *c, const Program *p, const Inst *inst)
{
    bool uniform = inst->flags & INST_UNIFORM;
    if (op_has_pointer((Op) inst->op)) {
        count_access(c, p, inst);
    } else if (inst->op == OP_LOAD) {
        uint64_t entries = uniform ? 1 : c->size;
        Uses *uses = &c->uses[inst->aux];
        if (uses->read < entries)
            uses->read = entries;
    } else if (inst->op == OP_STORE) {
        c->uses[inst->aux].written = c->size;
    }
    if (inst->op == OP_MATVEC || inst->op == OP_OUTER)
        c->flops += 2 * (uint64_t) program_matrix_size(inst) * c->size;
    if (uniform || !is_float(program_operation_type(p, inst)))
        return true;
    uint32_t flops = flops_of[inst->op];
    if (op_info[inst->op].group == GROUP_FUNCTION)
        TRY(flops = count_function((Op) inst->op, (VarType) inst->type), false);
    c->flops += flops * c->size;
    return true;
}

static bool count_program(Count *c, const Program *p)
{
    for (uint32_t i = 0; i < p->inst_count; ++i)
        TRY(count_inst(c, p, &p->insts[i]), false);
    return true;
}

/* ------------------------------------------------------------------- arrays */

/* Of a slot. Launches of a known Program have a Count, and slots whose address is an
 * argument: of arrays, or of the reports of checks, which do not count. */
static Uses uses_of(const Count *c, const Slot *slot)
{
    if (!c || slot->word == SLOT_NO_WORD)
        return (Uses) { .read = slot->access & SLOT_READ ? slot->bytes : 0,
                        .written = slot->access & SLOT_WRITE ? slot->bytes : 0 };
    if (slot->word >= c->root->param_count)
        return (Uses) { 0 };
    const Param *param = &c->root->params[slot->word];
    const Uses *uses = &c->uses[slot->word];
    uint64_t entry = param->kind == PARAM_REPORT ? 0 : type_info[param->type].size;
    return (Uses) { uses->read * entry, uses->written * entry };
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Each byte of an array once, in however many slots it is. */
static bool add_arrays(const Count *c, const Command *command, Traffic *out)
{
    Table numbers = { 0 };
    Uses *arrays = alloc_zero(command->slot_count + 1u, sizeof(Uses));
    uint32_t count = 0;
    bool ok = arrays != NULL;
    for (uint32_t i = 0; ok && i < command->slot_count; ++i) {
        const Slot *slot = &command->slots[i];
        uint32_t at = table_number(&numbers, &slot->buffer, sizeof(Buffer *), count);
        ok = at != UINT32_MAX;
        if (!ok)
            break;
        count += at == count;
        Uses uses = uses_of(c, slot), *array = &arrays[at];
        array->read = lesser(array->read + uses.read, slot->buffer->size);
        array->written = lesser(array->written + uses.written, slot->buffer->size);
    }
    for (uint32_t i = 0; i < count; ++i) {
        out->read += arrays[i].read;
        out->written += arrays[i].written;
    }
    table_free(&numbers);
    alloc_free(arrays);
    return ok;
}

/* ----------------------------------------------------------------- commands */

/* Of a reduction, for each entry. */
static uint32_t fused_flops(uint32_t op, uint32_t type)
{
    return !is_float(type) ? 0 : op == REDUCE_DOT ? 2 : op == REDUCE_COMPRESS ? 0 : 1;
}

static bool add_launch(const Command *command, const Program *program, Traffic *out)
{
    Count c = { .root = program, .size = command->size };
    c.uses = alloc_zero(program->param_count + 1u, sizeof(Uses));
    TRY(c.uses, false);
    bool ok = count_program(&c, program);
    for (uint32_t i = 0; ok && i < program->callable_count; ++i)
        ok = count_program(&c, program->callables[i]);
    ok = ok && add_arrays(&c, command, out);
    const FusedReduction *fused = command_fused(command);
    for (uint32_t i = 0; i < command->launch.fused; ++i)
        c.flops += fused_flops(fused[i].op, fused[i].type) * command->size;
    out->flops = c.flops;
    out->loops = program_may_last(program);
    alloc_free(c.uses);
    return ok;
}

static uint64_t other_flops(const Command *c)
{
    const uint64_t each = command_info[c->kind].flops;
    if (!each || !is_float(command_type(c)))
        return 0;
    return each * c->size *
           (c->kind == COMMAND_GEMM ? ((const GemmShape *) c->data)->k : 1);
}

bool traffic_find(const Command *command, const Program *program, Traffic *out)
{
    *out = (Traffic) { 0 };
    if (program)
        return add_launch(command, program, out);
    out->flops = other_flops(command);
    return add_arrays(NULL, command, out);
}
