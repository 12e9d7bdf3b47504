/*
 * interp_build.c -- from a Program to steps and registers
 *
 *   plan   interp_plan.c   what is hoisted, where values are used last
 *   emit   here            a step or a few for each instruction: hoisted ones first,
 *                          then the callables, then what runs for each block
 *          interp_flow.c   those of regions, local arrays and prints
 *          interp_emit.c   registers and steps
 *
 * A result never shares a register with an operand of its step, because the loops
 * promise the compiler that they do not overlap. A gather_packet takes consecutive
 * registers.
 */
#include "engine/interp/interp_build.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "engine/interp/interp_emit.h"
#include "engine/interp/interp_flow.h"

LaneFn interp_build_find(const LaneTable *lanes, Op op, VarType type, VarType operand)
{
    if (!type_valid(type) || !type_valid(operand))
        return NULL;
    if (op == OP_CAST)
        return lanes->cast[type][operand];
    if (op == OP_BITCAST)
        return type_info[type].size == type_info[operand].size
                   ? lanes->move[interp_emit_size(type)]
                   : NULL;
    return op < OP_COUNT ? lanes->op[op][operand] : NULL;
}

const LaneStep *interp_build_stop(const LaneStep *step, const LaneFrame *frame)
{
    (void) step;
    (void) frame;
    return NULL;
}

LaneScatter interp_build_scatter(uint32_t aux)
{
    switch (aux >> 8) {
    case ReduceModeNoConflicts:
    case ReduceModeExpand:
    case ReduceModePermute:
        return LANE_SCATTER_PLAIN;
    case ReduceModeDirect:
        return LANE_SCATTER_ATOMIC;
    default:
        return LANE_SCATTER_RUNS;
    }
}

/* Fails if the Program asks for what does not exist. */
static LaneFn require(Builder *b, LaneFn fn, uint32_t at)
{
    if (!fn && !b->failed) {
        error_set(JIT_ERROR_UNSUPPORTED, "interp: no code for %%%u = %s of type %s", at,
                  op_info[b->program->insts[at].op].name,
                  type_info[b->program->insts[at].type].name);
        b->failed = true;
    }
    return fn;
}

static LaneFn find_scatter(Builder *b, const Inst *inst, uint32_t at, uint32_t value)
{
    uint32_t op = inst->aux & 0xff;
    VarType type = (VarType) b->program->insts[value].type;
    return require(b,
                   op < ReduceOpCount
                       ? b->lanes->scatter[interp_build_scatter(inst->aux)][op][type]
                       : NULL,
                   at);
}

static bool is_true(const Builder *b, uint32_t arg)
{
    const Inst *inst = &b->program->insts[b->places[arg].root];
    return inst->op == OP_LITERAL && b->program->literals[inst->aux] & 1;
}

/* Entry k of n of a packet is an ordinary access with the index i * n + k. */
static void emit_packet(Builder *b, uint32_t at, const Inst *inst, uint32_t out)
{
    const uint32_t *args = program_args(b->program, inst);
    const LaneTable *lanes = b->lanes;
    bool gathers = inst->op == OP_GATHER_PACKET;
    uint32_t n = gathers ? inst->aux : inst->count - 3u, in[3];
    for (uint32_t i = 0; i < 3; ++i)
        in[i] = interp_emit_use(b, args[i]);
    uint32_t place = interp_emit_take(b, 0);
    for (uint32_t k = 0; k < n; ++k) {
        interp_emit(b, lanes->packet_index, place, in[1], n, k);
        if (gathers) {
            interp_emit(b, lanes->gather[interp_emit_size((VarType) inst->type)],
                        out + k, in[0], place, in[2]);
        } else {
            uint32_t value = interp_emit_use(b, args[3 + k]);
            interp_emit(b, find_scatter(b, inst, at, args[3 + k]), in[0], value, place,
                        in[2]);
            interp_emit_drop(b, UINT32_MAX, args[3 + k], value);
        }
    }
    interp_emit_give(b, place, 0);
    for (uint32_t i = 0; i < inst->count; ++i)
        if (i < 3 || !interp_plan_is_temporary(b, b->places[args[i]].root))
            interp_emit_drop(b, at, args[i], i < 3 ? in[i] : 0);
}

/* A product with a matrix: the rows of both vectors and of the result, then itself. */
static void emit_matrix(Builder *b, uint32_t at, const Inst *inst, uint32_t out)
{
    const bool outer = inst->op == OP_OUTER;
    const uint32_t m = outer ? inst->aux >> OUTER_ROWS : inst->aux & MATVEC_RESULTS;
    const uint32_t added = outer || inst->aux & MATVEC_ADDS ? m : 0;
    const uint32_t rows = inst->count - 2u, n = rows - added - outer;
    VarType type = program_operation_type(b->program, inst);
    interp_emit_use_all(b, inst);
    uint32_t first = interp_emit_extra(b, b->in + 2, rows);
    for (uint32_t k = 0; !outer && k < m; ++k) {
        uint32_t reg = out + k;
        interp_emit_extra(b, &reg, 1);
    }
    interp_emit(b, b->lanes->rows, 0, first, rows + (outer ? 0 : m), 0);
    LaneFn fn = outer ? b->lanes->outer[interp_build_scatter(inst->aux & 0xffff)][type]
                      : b->lanes->matvec[type];
    interp_emit(b, require(b, fn, at), outer ? m : inst->aux, b->in[0], b->in[1], n);
    interp_emit_drop_all(b, at);
}

static void emit_memory(Builder *b, uint32_t at, const Inst *inst, uint32_t out)
{
    const LaneTable *lanes = b->lanes;
    const uint32_t *args = program_args(b->program, inst), *in = b->in;
    uint32_t size = interp_emit_size((VarType) inst->type);
    switch (inst->op) {
    case OP_GATHER:
        interp_emit(b,
                    is_true(b, args[2]) ? lanes->gather_all[size] : lanes->gather[size],
                    out, in[0], in[1], in[2]);
        break;
    case OP_SCATTER:
        interp_emit(b, find_scatter(b, inst, at, args[1]), in[0], in[1], in[2], in[3]);
        break;
    case OP_SCATTER_INC:
        interp_emit(b, lanes->increment, out, in[0], in[1], in[2]);
        break;
    case OP_SCATTER_ADD:
        interp_emit(b, require(b, lanes->fetch_add[inst->type], at), out, in[0], in[1],
                    interp_emit_extra(b, in + 2, 2));
        break;
    case OP_SCATTER_EXCH:
        interp_emit(b, lanes->exchange[size], out, in[0], in[1],
                    interp_emit_extra(b, in + 2, 2));
        break;
    default: { /* OP_SCATTER_CAS */
        const uint32_t more[] = { in[3], in[4], in[1] };
        interp_emit(b, lanes->compare_exchange[size], out, in[0], in[2],
                    interp_emit_extra(b, more, 3));
    }
    }
}

static void emit_load(Builder *b, uint32_t at, const Inst *inst)
{
    uint32_t home = b->places[at].reg, view = b->code->locals + b->view;
    b->homes[b->view++] = home;
    b->places[at].reg = view;
    interp_emit(b, b->lanes->load[interp_emit_size((VarType) inst->type)], view,
                inst->aux, home, 0);
}

static void emit_arithmetic(Builder *b, uint32_t at, const Inst *inst, uint32_t out)
{
    const uint32_t *in = b->in;
    VarType operand = program_operation_type(b->program, inst);
    LaneFn fn =
        interp_build_find(b->lanes, (Op) inst->op, (VarType) inst->type, operand);
    interp_emit(b, require(b, fn, at), out, in[0], in[1], in[2]);
}

/* The table stands in extra[], as the bits of its entries. */
static void emit_lookup(Builder *b, const Inst *inst, uint32_t out)
{
    const Program *p = b->program;
    const uint32_t *args = program_args(p, inst), n = inst->count - 1u;
    uint32_t words[2 * INST_LOOKUP_MOST], size = type_info[inst->type].size;
    for (uint32_t i = 0; i < n; ++i)
        memcpy((char *) words + i * size, &p->literals[p->insts[args[1 + i]].aux],
               size);
    uint32_t table = interp_emit_extra(b, words, n * size / sizeof *words);
    interp_emit(b, b->lanes->op[OP_LOOKUP][inst->type], out, b->in[0], table, n);
}

static void emit_simple(Builder *b, uint32_t at, const Inst *inst, uint32_t out)
{
    const Program *p = b->program;
    interp_emit_use_all(b, inst);
    if (op_has_pointer((Op) inst->op)) {
        emit_memory(b, at, inst, out);
    } else if (inst->op == OP_COUNTER) {
        interp_emit(b, b->lanes->counter, out, 0, 0, 0);
    } else if (inst->op == OP_CHECK) {
        interp_emit(b, b->lanes->check, out, b->in[0], b->in[1], inst->aux);
    } else if (inst->op == OP_LOAD) {
        emit_load(b, at, inst);
    } else if (inst->op == OP_STORE) {
        VarType type = (VarType) p->insts[inst->arg[0]].type;
        interp_emit(b, b->lanes->store[interp_emit_size(type)], 0, inst->aux, b->in[0],
                    0);
    } else if (inst->op == OP_LOOKUP) {
        emit_lookup(b, inst, out);
    } else {
        emit_arithmetic(b, at, inst, out);
    }
    interp_emit_drop_all(b, at);
}

static void emit_inst(Builder *b, uint32_t at)
{
    const Inst *inst = &b->program->insts[at];
    const Place *place = &b->places[at];
    bool has_value = op_info[inst->op].result != RESULT_VOID;
    if (place->root != at ||
        (place->last == 0 && op_may_drop((Op) inst->op)) ||
        ((place->marks & MARK_HOISTED) != 0) != b->hoisting ||
        interp_plan_is_temporary(b, at) || interp_flow_emit(b, at))
        return;
    uint32_t out = has_value ? interp_emit_take_value(b, at) : 0;
    if (interp_plan_is_constant(inst))
        interp_emit_constant(b, at, out);
    else if (inst->op == OP_GATHER_PACKET || inst->op == OP_SCATTER_PACKET)
        emit_packet(b, at, inst, out);
    else if (inst->op == OP_MATVEC || inst->op == OP_OUTER)
        emit_matrix(b, at, inst, out);
    else
        emit_simple(b, at, inst, out);
    if (has_value && place->last == 0)
        interp_emit_give_value(b, at);
}

static void emit_all(Builder *b, Unit *unit)
{
    interp_plan_select(b, unit);
    unit->start = b->code->step_count;
    for (uint32_t at = 0; at < b->program->inst_count && !b->failed; ++at)
        emit_inst(b, at);
    unit->top = b->top;
}

/* The end of the registers of all that this unit calls, which are busy meanwhile. */
static uint32_t find_base(const Builder *b, const Program *p, uint32_t least)
{
    for (uint32_t i = 0; i < p->region_count; ++i) {
        const uint32_t *targets = p->extra + p->regions[i].targets;
        for (uint32_t k = 0; k < p->regions[i].target_count; ++k)
            if (b->units[targets[k]].top > least)
                least = b->units[targets[k]].top;
    }
    return least;
}

static void emit_units(Builder *b)
{
    InterpCode *code = b->code;
    uint32_t left[PACKET_CLASSES];
    b->hoisting = true;
    for (uint32_t i = 0; i < b->unit_count; ++i)
        emit_all(b, &b->units[i]);
    interp_emit(b, interp_build_stop, 0, 0, 0, 0);
    b->hoisting = false;
    /* The Program itself takes the registers that hoisted steps left. */
    const uint32_t hoisted = b->top;
    memcpy(left, b->free_regs, sizeof left);
    for (uint32_t i = 0; i < b->unit_count && !b->failed; ++i) {
        Unit *unit = &b->units[i];
        bool last = i + 1 == b->unit_count;
        if (last)
            memcpy(b->free_regs, left, sizeof left);
        else
            memset(b->free_regs, 0, sizeof b->free_regs);
        b->top = find_base(b, unit->program, hoisted);
        emit_all(b, unit);
        if (unit->top > code->regs)
            code->regs = unit->top;
    }
    code->block = b->units[b->unit_count - 1].start;
    interp_emit(b, interp_build_stop, 0, 0, 0, 0);
}

bool interp_build(InterpCode *code, const Program *p, const LaneTable *lanes)
{
    Builder b = { .program = p, .lanes = lanes, .code = code, .most_operands = 5 };
    code->entry = sizeof(uint32_t); /* indices of packets */
    code->report = p->check_count ? p->param_count - 1 : PROGRAM_NONE;
    code->log = program_find_param(p, PARAM_PRINT);
    code->callables = p->callable_count;
    b.failed = !interp_plan(&b) ||
               !vec_reserve(&code->steps, &code->step_capacity,
                            p->inst_count + p->inst_count / 512 + 2, sizeof(LaneStep));
    if (!b.failed)
        emit_units(&b);
    alloc_free(b.next);
    interp_plan_free(&b);
    return !b.failed;
}

void interp_build_free(InterpCode *code)
{
    alloc_free(code->steps);
    alloc_free(code->extra);
    alloc_free(code->local_offsets);
}
