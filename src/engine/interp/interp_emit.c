/*
 * interp_emit.c -- registers and steps while a Program is built
 *
 * A register is taken when a value is computed and given back after its last use, so
 * that there are as many as values alive at once. Registers taken in one side of a
 * conditional serve again in the other. Callables lie below what calls them: none calls
 * itself, so each has registers of its own for as long as it runs, and callables that
 * do not call each other share.
 */
#include "engine/interp/interp_emit.h"

#include "base/vec.h"

enum { CHAIN_MOST = 1024 /* steps between pauses */ };

/* Rounded up. */
static uint32_t log_2(uint32_t n)
{
    uint32_t result = 0;
    while (1u << result < n)
        ++result;
    return result;
}

uint32_t interp_emit_size(VarType type)
{
    return log_2(type_info[type].size);
}

/* ---- registers */

/* The number of the first register: the tables of arrays and views stand before. */
static uint32_t first_reg(const Builder *b)
{
    return b->code->locals + b->code->views;
}

uint32_t interp_emit_take(Builder *b, uint32_t log_count)
{
    uint32_t reg = b->free_regs[log_count];
    if (reg--) {
        b->free_regs[log_count] = b->next[reg];
        return reg + first_reg(b);
    }
    reg = b->top;
    if (!vec_reserve(&b->next, &b->next_capacity, reg + (1u << log_count),
                     sizeof(uint32_t))) {
        b->failed = true;
        return 0;
    }
    b->top += 1u << log_count;
    return reg + first_reg(b);
}

void interp_emit_give(Builder *b, uint32_t reg, uint32_t log_count)
{
    if (b->failed)
        return;
    reg -= first_reg(b);
    b->next[reg] = b->free_regs[log_count];
    b->free_regs[log_count] = reg + 1;
}

static void note_entry(Builder *b, VarType type)
{
    if (type_info[type].size > b->code->entry)
        b->code->entry = type_info[type].size;
}

uint32_t interp_emit_take_typed(Builder *b, VarType type)
{
    note_entry(b, type);
    return interp_emit_take(b, 0);
}

static uint32_t packet_class(const Inst *inst)
{
    return log_2(program_item_count(inst));
}

uint32_t interp_emit_take_value(Builder *b, uint32_t at)
{
    const Inst *inst = &b->program->insts[at];
    if (!interp_plan_is_constant(inst)) /* others note theirs when they are written */
        note_entry(b, (VarType) inst->type);
    return b->places[at].reg = interp_emit_take(b, packet_class(inst));
}

void interp_emit_give_value(Builder *b, uint32_t root)
{
    if (b->places[root].marks & MARK_BORROWED)
        return;
    uint32_t reg = b->places[root].reg;
    if (reg < first_reg(b))
        reg = b->homes[reg - b->code->locals];
    interp_emit_give(b, reg, packet_class(&b->program->insts[root]));
}

/* ---- steps */

/* Returning now and then bounds the stack where a compiler does not turn the calls from
 * step to step into jumps, as in builds for debugging. */
static const LaneStep *pause_chain(const LaneStep *step, const LaneFrame *frame)
{
    (void) frame;
    return step + 1;
}

static uint32_t append(Builder *b, LaneStep step)
{
    InterpCode *code = b->code;
    if (b->failed || !vec_reserve(&code->steps, &code->step_capacity,
                                  code->step_count + 1, sizeof(LaneStep))) {
        b->failed = true;
        return 0;
    }
    code->steps[code->step_count] = step;
    return code->step_count++;
}

uint32_t interp_emit(Builder *b, LaneFn fn, uint32_t out, uint32_t arg0, uint32_t arg1,
                     uint32_t arg2)
{
    if (b->code->step_count % CHAIN_MOST == CHAIN_MOST - 1)
        append(b, (LaneStep){ .fn = pause_chain });
    return append(b, (LaneStep){ fn, out, { arg0, arg1, arg2 } });
}

uint32_t interp_emit_extra(Builder *b, const uint32_t *regs, uint32_t count)
{
    InterpCode *code = b->code;
    uint32_t first = code->extra_count;
    if (b->failed || !vec_reserve(&code->extra, &code->extra_capacity, first + count,
                                  sizeof(uint32_t))) {
        b->failed = true;
        return 0;
    }
    for (uint32_t i = 0; i < count; ++i)
        code->extra[first + i] = regs[i];
    code->extra_count += count;
    return first;
}

void interp_emit_constant(Builder *b, uint32_t at, uint32_t out)
{
    const Inst *inst = &b->program->insts[at];
    uint32_t size = interp_emit_size((VarType) inst->type);
    if (inst->op == OP_PARAM && !(b->places[at].marks & MARK_WIDE)) {
        interp_emit(b, b->lanes->pointer, out, inst->aux, 0, 0);
        return;
    }
    note_entry(b, (VarType) inst->type);
    uint64_t bits = inst->op == OP_LITERAL ? b->program->literals[inst->aux] : 0;
    switch (inst->op) {
    case OP_PARAM:
        interp_emit(b, b->lanes->param[size], out, inst->aux, 0, 0);
        break;
    case OP_LOAD:
        interp_emit(b, b->lanes->load_first[size], out, inst->aux, 0, 0);
        break;
    case OP_WORKER:
        interp_emit(b, b->lanes->worker, out, 0, 0, 0);
        break;
    default:
        interp_emit(b, b->lanes->fill[size], out, (uint32_t) bits,
                    (uint32_t) (bits >> 32), 0);
    }
}

/* ---- operands */

uint32_t interp_emit_use(Builder *b, uint32_t arg)
{
    uint32_t root = b->places[arg].root;
    if (!interp_plan_is_temporary(b, root))
        return b->places[root].reg + b->places[arg].item;
    uint32_t reg = interp_emit_take(b, 0);
    interp_emit_constant(b, root, reg);
    return reg;
}

void interp_emit_drop(Builder *b, uint32_t at, uint32_t arg, uint32_t reg)
{
    uint32_t root = b->places[arg].root;
    if (interp_plan_is_temporary(b, root)) {
        interp_emit_give(b, reg, 0);
    } else if (b->places[root].last == at) {
        b->places[root].last = NEVER; /* an operand may occur twice */
        interp_emit_give_value(b, root);
    }
}

void interp_emit_use_all(Builder *b, const Inst *inst)
{
    const uint32_t *args = program_args(b->program, inst);
    for (uint32_t i = 0; i < program_computed_args(inst); ++i)
        b->in[i] = interp_emit_use(b, args[i]);
}

void interp_emit_drop_all(Builder *b, uint32_t at)
{
    const Inst *inst = &b->program->insts[at];
    const uint32_t *args = program_args(b->program, inst);
    for (uint32_t i = 0; i < program_computed_args(inst); ++i)
        interp_emit_drop(b, at, args[i], b->in[i]);
}

void interp_emit_drop_values(Builder *b, uint32_t at)
{
    const Inst *inst = &b->program->insts[at];
    const uint32_t *args = program_args(b->program, inst);
    for (uint32_t i = 0; i < inst->count; ++i)
        if (!interp_plan_is_temporary(b, b->places[args[i]].root))
            interp_emit_drop(b, at, args[i], 0);
}
