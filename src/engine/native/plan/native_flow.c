/*
 * native_flow.c -- the walk over the steps of a function
 *
 *     root:      enter, uniform steps, top: steps of a packet, next packet? top, leave
 *     callable:  enter, steps (the last one is RETURN)
 *
 * Uniform values are stored before the first packet, so that they can leave their
 * registers at any time. Where all values of a packet fit into registers, they stay
 * there from packet to packet.
 */
#include "base/vec.h"
#include "engine/native/plan/native_emit.h"

/* ---- begin and end of a step. While one is emitted, its operands keep their registers
 * (Native.keeps_operands; long lists are pinned), so that making room for one does not
 * drive out another. ---- */

/* Long lists are looked at when the row asks. */
static void begin_long(Native *n, const Inst *inst)
{
    const NativeFunction *f = n->f;
    n->args = f->program->extra + inst->arg[0];
    n->args_next = f->extra_next + inst->arg[0];
    n->keeps_operands = false;
    uint32_t all = program_computed_args(inst);
    uint32_t count = all < NATIVE_OPERANDS ? all : NATIVE_OPERANDS;
    for (uint32_t k = 0; k < count; ++k)
        n->operand[k] = f->root[n->args[k]];
    if (all > NATIVE_OPERANDS)
        return;
    for (uint32_t k = 0; k < count; ++k) {
        NativeValue *v = &n->values[n->operand[k]];
        v->next = n->args_next[k];
        if (v->reg != NATIVE_NO_REG)
            native_file(n, v)->pinned |= 1u << v->reg;
    }
}

static inline void begin_operand(Native *n, const NativeStep *s, uint32_t k)
{
    uint32_t value = native_short_operand(n->f, n->inst, k);
    n->operand[k] = value;
    n->values[value].next = s->next[k];
}

static inline void begin_step(Native *n, uint32_t step)
{
    const NativeStep *s = &n->f->steps[step];
    const Inst *inst = n->inst = &n->insts[s->at];
    n->step = step;
    n->result = s->at;
    n->result_reg = NATIVE_NO_REG;
    n->args = inst->arg;
    n->args_next = s->next;
    n->keeps_operands = true;
    if (inst->count > INST_ARGS) {
        begin_long(n, inst);
        return;
    }
    begin_operand(n, s, 0);
    begin_operand(n, s, 1);
    begin_operand(n, s, 2);
}

static void end_long(Native *n)
{
    for (uint32_t k = 0; k < program_computed_args(n->inst); ++k) {
        uint32_t value = native_operand_value(n, k);
        n->values[value].next = n->args_next[k];
        native_alloc_release(n, value);
    }
}

/* Who needs an operand no more leaves its register, where it is in one: numbers, as
 * nobody could predict branches. 'kept' is the flag of those that stay nevertheless. */
static inline void end_operand(Native *n, NativeValue *v, uint32_t kept)
{
    NativeFile *file = native_file(n, v);
    uint32_t flags = v->flags, reg = v->reg;
    uint32_t ends = (v->next == NATIVE_NEVER) & !(flags & kept);
    uint32_t differ = (reg ^ NATIVE_NO_REG) & -ends, left = NATIVE_NO_REG ^ differ;
    file->free |= (uint32_t) (UINT64_C(1) << left);
    file->owner[left] = NATIVE_NO_VALUE;
    v->reg = (NativeReg) (reg ^ differ);
    if (flags & -ends & NATIVE_SPILLED)
        native_alloc_free_slot(n, v);
}

static inline void end_operands(Native *n, uint32_t kept)
{
    if (n->inst->count > INST_ARGS) {
        end_long(n);
        return;
    }
    end_operand(n, &n->values[n->operand[0]], kept);
    end_operand(n, &n->values[n->operand[1]], kept);
    end_operand(n, &n->values[n->operand[2]], kept);
}

static inline void end_step(Native *n)
{
    NativeValue *values = n->values, *result = &values[n->result];
    uint32_t kept = n->step >= n->f->packet ? NATIVE_UNIFORM : 0;
    bool has_result = n->result_reg != NATIVE_NO_REG;
    if (has_result) {
        if (result->type == VarTypeBool && result->class == NATIVE_VECTOR)
            result->bits = n->result_bits;
        native_alloc_bind(n, n->result, n->result_reg);
    }
    end_operands(n, kept);
    native_alloc_unpin(n);
    if (has_result)
        native_alloc_release(n, n->result);
}

/* ---- one step */

static VarType as_integer(VarType type)
{
    return type == VarTypeFloat16 ? VarTypeUInt16 : type;
}

/* Of arithmetic: of an instruction with a short list. */
static inline const NativeRow *find_arithmetic(const Native *n, const Inst *inst)
{
    uint32_t type = n->insts[inst->arg[inst->op == OP_SELECT]].type;
    return &(*n->target->rows)[inst->op][type];
}

const NativeRow *native_row(const Native *n, const Program *p, const Inst *inst)
{
    const NativeTarget *t = n->target;
    VarType type = program_operation_type(p, inst), result = (VarType) inst->type;
    switch (inst->op) {
    case OP_CAST:
        return &(*t->casts)[result][type];
    case OP_BITCAST: /* of 8 or 16 bits */
        return &(*t->casts)[as_integer(result)][as_integer(type)];
    default:
        return &(*t->rows)[inst->op][type];
    }
}

/* A value that is one entry in memory. */
static void emit_first(Native *n, NativeOperand from)
{
    n->result_bits = 32;
    n->target->load_first(n, native_result_type(n), native_result_fresh(n), from);
}

static inline void emit_row(Native *n, const NativeRow *row)
{
    if (row->emit && row->emit(n, row))
        return;
    if (n->copies > 1)
        n->refused = true;
    else
        native_call_helper(n);
}

/* All but arithmetic. */
static void emit_other(Native *n)
{
    const Inst *inst = n->inst;
    switch (inst->op) {
    case OP_STORE:
        n->cpu->store_output(n);
        break;
    case OP_PARAM:
        emit_first(n, native_memory_argument(n, inst->aux));
        break;
    case OP_LOAD: /* of one entry */
        emit_first(n, native_at(native_memory_address(n, inst->aux), 0));
        break;
    case OP_WORKER:
        emit_first(n, native_memory_frame(n, offsetof(NativeFrame, lanes) +
                                                 offsetof(LaneFrame, worker)));
        break;
    case OP_REGION:
        native_region_begin(n);
        break;
    case OP_TEST:
        native_region_test(n);
        break;
    case OP_ELSE:
        native_region_else(n);
        break;
    case OP_END:
        native_region_end(n);
        break;
    case OP_RETURN:
        native_dispatch_return(n);
        break;
    case OP_PRINT:
        native_call_helper(n);
        break;
    case OP_MATVEC:
    case OP_OUTER:
        native_call_matrix(n);
        break;
    default:
        emit_row(n, native_row(n, n->f->program, inst));
    }
}

static void note(Native *n, uint32_t at)
{
    if (!vec_reserve(&n->notes, &n->note_capacity, n->note_count + 1,
                     sizeof(NativeNote))) {
        n->failed = true;
        return;
    }
    n->notes[n->note_count++] = (NativeNote){ n->cpu->position(n), at, n->f->self };
}

/* ---- steps of one instruction with two operands that are in registers, or one is a
 * literal: most of what most Programs have. All that begin_step(), the row and
 * end_step() would do, in a third of the time. ---- */

/* A register for the result while these operands keep theirs. */
static NativeReg take_beside(Native *n, uint32_t step, uint32_t a, uint32_t b)
{
    n->step = step;
    n->operand[0] = a;
    n->operand[1] = n->operand[2] = b;
    n->keeps_operands = true;
    NativeReg reg = native_alloc_take(n, NATIVE_VECTOR);
    native_alloc_unpin(n);
    return reg;
}

static inline bool emit_direct(Native *n, const NativeRow *row, const Inst *inst,
                               uint32_t step)
{
    const NativeStep *s = &n->f->steps[step];
    const NativeCpu *cpu = n->cpu;
    bool commutes = (row->emit == cpu->commute) | (row->emit == cpu->multiply);
    if (!(commutes | (row->emit == cpu->binary)) ||
        n->values[s->at].flags & NATIVE_SELECTED)
        return false;
    uint32_t first = n->f->root[inst->arg[0]], second = n->f->root[inst->arg[1]];
    NativeValue *a = &n->values[first], *b = &n->values[second];
    bool swap = commutes & (a->reg == NATIVE_NO_REG);
    NativeValue *left = swap ? b : a, *right = swap ? a : b;
    NativeOperand last = { .kind = NATIVE_IN_REG, .reg = right->reg };
    if (left->reg == NATIVE_NO_REG ||
        (last.reg == NATIVE_NO_REG && right->source != NATIVE_LITERAL))
        return false;
    if (last.reg == NATIVE_NO_REG) {
        if (native_doubles(n, inst, !swap))
            return false;
        native_alloc_place(n, swap ? first : second, &last);
    }
    NativeReg from = left->reg, to;
    uint32_t kept = step >= n->f->packet ? NATIVE_UNIFORM : 0;
    a->next = s->next[0];
    b->next = s->next[1];
    if (a->reg != NATIVE_NO_REG && native_operand_ends(n, a))
        to = a->reg;
    else if (b->reg != NATIVE_NO_REG && native_operand_ends(n, b))
        to = b->reg;
    else
        to = take_beside(n, step, first, second);
    cpu->direct(n, row, (VarType) n->insts[inst->arg[0]].type, to, from, last);
    native_alloc_bind(n, s->at, to);
    end_operand(n, a, kept);
    end_operand(n, b, kept);
    n->step = step;
    native_alloc_release(n, s->at);
    return true;
}

static inline void emit_step(Native *n, const Inst *inst, uint32_t step)
{
    if (op_info[inst->op].group != GROUP_ARITH) {
        begin_step(n, step);
        emit_other(n);
        end_step(n);
        return;
    }
    const NativeRow *row = find_arithmetic(n, inst);
    if (emit_direct(n, row, inst, step))
        return;
    begin_step(n, step);
    emit_row(n, row);
    end_step(n);
}

static void walk(Native *n, uint32_t first, uint32_t end)
{
    for (uint32_t step = first; step < end && !n->failed && !n->refused; ++step) {
        const Inst *inst = &n->insts[n->f->steps[step].at];
        if (n->lists)
            note(n, n->f->steps[step].at);
        emit_step(n, inst, step);
        if (n->values[n->f->steps[step].at].role & NATIVE_SETTLER)
            native_region_settle(n, n->f->steps[step].at);
    }
}

/* ---- functions */

static void store_uniform(Native *n)
{
    NativeFile *files = n->files;
    for (uint32_t class = 0; class < NATIVE_FILES; ++class)
        for (uint32_t set = files[class].all & ~files[class].free; set; set &= set - 1)
            native_alloc_clean(n, files[class].owner[__builtin_ctz(set)]);
    if (!n->keep_uniform)
        native_alloc_flush(n);
}

static uint32_t count_registers(const Native *n)
{
    return (uint32_t) __builtin_popcount(native_alloc_share(n, NATIVE_VECTOR));
}

/* Does a row want operand k in a register if it is a literal? Not the counts of shifts,
 * which are parts of instructions, nor a table. */
static bool is_held(const Native *n, const Inst *inst, uint32_t k)
{
    const NativeValue *v = &n->values[n->f->root[inst->arg[k]]];
    bool count = k == 1 && (inst->op == OP_SHL || inst->op == OP_SHR);
    return v->source == NATIVE_LITERAL && v->class == NATIVE_VECTOR &&
           v->type != VarTypeBool && v->reg == NATIVE_NO_REG && !count &&
           !native_doubles(n, inst, k) && k < program_computed_args(inst);
}

/* Literals stay in the registers that a packet leaves over, as uniform values do: two
 * operands from memory in a cycle are fewer than operations. Those of rare paths do
 * not. */
static void hold_literals(Native *n, uint32_t most)
{
    const NativeFunction *f = n->f;
    uint32_t end = 0;
    for (uint32_t s = f->packet; s < f->step_end && most; ++s) {
        uint32_t at = f->steps[s].at;
        const Inst *inst = &n->insts[at];
        if (at < end || inst->count > INST_ARGS)
            continue;
        if (inst->op == OP_REGION && native_region_is_one_sided(n, inst->aux))
            end = f->program->regions[inst->aux].end;
        for (uint32_t k = 0; k < inst->count && most; ++k)
            if (is_held(n, inst, k)) {
                uint32_t value = f->root[inst->arg[k]];
                n->values[value].flags |= NATIVE_UNIFORM;
                n->values[value].next = s;
                (void) native_alloc_load(n, value);
                native_alloc_unpin(n);
                --most;
            }
    }
}

static void emit_root(Native *n)
{
    enum { SPARE = 4, BESIDE_LITERALS = 2 };
    NativeFunction *f = n->f;
    uint32_t registers = count_registers(n);
    n->cpu->choose(n);
    n->cpu->enter(n);
    walk(n, f->step_begin, f->packet);
    n->step = f->packet;
    n->keep_uniform = f->pressure + SPARE <= registers;
    store_uniform(n);
    if (n->keep_uniform && !f->single && !program_has_loops(f->program))
        hold_literals(n, registers - f->pressure - BESIDE_LITERALS);
    uint32_t snapshot = native_snapshot_take(n);
    NativeLabel top = n->cpu->label(n);
    n->cpu->bind(n, top);
    walk(n, f->packet, f->step_end);
    native_snapshot_restore(n, snapshot, true);
    n->cpu->next_packet(n, top);
    n->cpu->leave(n);
}

void native_flow_function(Native *n, NativeFunction *f)
{
    n->f = f;
    n->insts = f->program->insts;
    n->values = f->values;
    n->copies = native_copies_choose(n);
    native_alloc_begin(n);
    if (f->self == PROGRAM_NONE) {
        emit_root(n);
    } else {
        native_dispatch_enter(n);
        walk(n, f->step_begin, f->step_end);
    }
}
