/*
 * native_merge.c -- instructions that do what their only user is for
 *
 * An instruction with a mask leaves the other lanes of its result as they were, so of
 *
 *     %3 = add %0, %1
 *     %4 = select %2, %3, %0
 *
 * the sum can be all there is to do: in the lanes of %2, over %0. A row for one
 * instruction looks ahead: if all that becomes of its result is an operand of a select,
 * and both the mask and the other operand are there by now, then that one is brought
 * into the register of the result before (which is a move at most, and less than a
 * blend), and the value of the select is the same register.
 *
 * It is the later one of the two operands that can do this. If that is what a select
 * takes where its mask is not set, the comparison gives the other lanes; nothing but
 * selects may use it then, which swap their operands (NATIVE_INVERTED).
 *
 * The next value of a state of a loop is a select, too, of the value before, in the
 * lanes that are active: so sums and counters are added to where they are, if nobody
 * needs the value before any more.
 *
 * In the same way the first of two logical operations does both, which is one
 * instruction with three operands.
 *
 * Narrow values are not extended if no user looks at what is above them: sums and
 * products do not, nor do stores that cut. Halves which are only widened or stored
 * stay next to each other.
 */
#include "engine/native/plan/native_emit.h"

/* Is the value there, or to be had at any time? */
static bool is_there(const Native *n, uint32_t value)
{
    const NativeValue *v = &n->values[value];
    return v->reg != NATIVE_NO_REG || native_is_clean(v);
}

static bool is_zero(const Native *n, uint32_t value)
{
    return n->values[value].source == NATIVE_LITERAL &&
           native_alloc_literal(n, value) == 0;
}

/* ---- comparisons */

enum { ANY = 1, OVER = 2 /* over an operand or 0 */ };

/* Operations that are mostly one instruction, which can have a mask. */
static const uint8_t op_merges[OP_COUNT] = {
    [OP_NEG] = ANY,   [OP_NOT] = ANY,  [OP_SQRT] = ANY,  [OP_RCP] = ANY,
    [OP_ABS] = ANY,   [OP_ROUND] = ANY, [OP_FLOOR] = ANY, [OP_CEIL] = ANY,
    [OP_TRUNC] = ANY, [OP_ADD] = ANY,  [OP_SUB] = ANY,   [OP_MUL] = ANY,
    [OP_DIV] = ANY,   [OP_MIN] = ANY,  [OP_MAX] = ANY,   [OP_AND] = ANY,
    [OP_OR] = ANY,    [OP_XOR] = ANY,  [OP_SHL] = ANY,   [OP_SHR] = ANY,
    [OP_FMA] = OVER,  [OP_COPYSIGN] = OVER
};

/* Will operand k of this select be computed later than the other one, in a way that
 * could be all there is to do? */
static bool will_merge(const Native *n, uint32_t step, uint32_t k)
{
    const NativeFunction *f = n->f;
    const NativeStep *s = &f->steps[step];
    const uint32_t *args = n->insts[s->at].arg;
    uint32_t value = f->root[args[k]], other = f->root[args[3 - k]];
    if (value >= f->valid || is_there(n, value) || n->values[value].next != step ||
        s->next[k] != NATIVE_NEVER || !(is_there(n, other) || other < value))
        return false;
    const Inst *inst = &n->insts[value];
    bool over = is_zero(n, other);
    for (uint32_t i = 0; i < inst->count && op_merges[inst->op] == OVER; ++i)
        over |= f->root[inst->arg[i]] == other;
    return over || op_merges[inst->op] == ANY;
}

bool native_inverts(Native *n)
{
    enum { MOST = 4 };
    const NativeFunction *f = n->f;
    uint32_t step = n->values[n->result].next;
    int votes = 0;
    for (uint32_t i = 0; i < MOST && step != NATIVE_NEVER; ++i) {
        const NativeStep *s = &f->steps[step];
        const Inst *select = &n->insts[s->at];
        if (select->op != OP_SELECT || select->type == VarTypeBool ||
            !native_has_row(n, f->program, select))
            return false;
        votes += will_merge(n, step, 2) - will_merge(n, step, 1);
        step = s->next[0];
    }
    if (step != NATIVE_NEVER || votes <= 0)
        return false;
    n->values[n->result].flags |= NATIVE_INVERTED;
    return true;
}

/* ---- arithmetic */

/* The select that is the only user of the result, as a step; and for lanes without its
 * mask, a value and where that is needed next behind the select. Or the state of a loop
 * that the result becomes, as the other value. */
typedef struct Merge {
    uint32_t step, mask, other, other_next;
    bool state;
} Merge;

enum { FAR = 64 /* steps */ };

/* Is that step near, with no mark of a region before it, as registers have to be as
 * they were where paths meet; nor the begin of the packet, which makes values that look
 * as if they were there before? */
static bool is_straight(const Native *n, uint32_t end)
{
    if (end - n->step > FAR || (n->step < n->f->packet && end >= n->f->packet))
        return false;
    for (uint32_t step = n->step + 1; step < end; ++step) {
        uint8_t op = n->insts[n->f->steps[step].at].op;
        if (op_info[op].group == GROUP_MARK)
            return false;
    }
    return true;
}

static bool find_select(const Native *n, uint32_t step, Merge *merge)
{
    const NativeFunction *f = n->f;
    const NativeStep *s = &f->steps[step];
    const uint32_t *args = n->insts[s->at].arg;
    uint32_t mask = f->root[args[0]];
    uint32_t k = n->values[mask].flags & NATIVE_INVERTED ? 2 : 1;
    *merge = (Merge){ .step = step, .mask = mask };
    merge->other = f->root[args[3 - k]];
    merge->other_next = s->next[3 - k];
    return f->root[args[k]] == n->result && s->next[k] == NATIVE_NEVER &&
           native_has_row(n, f->program, &n->insts[s->at]);
}

static bool find_state(const Native *n, uint32_t step, Merge *merge)
{
    const NativeFunction *f = n->f;
    NativeNext next = f->becomes[n->result];
    *merge = (Merge){ .step = step,
                      .mask = native_region_mask(f, next.region, true),
                      .other = next.state,
                      .state = true };
    return n->values[next.state].flags & NATIVE_KEPT && !f->regions[next.region].joint;
}

static bool find_merge(const Native *n, Merge *merge)
{
    const NativeValue *v = &n->values[n->result];
    if (!n->target->registers[NATIVE_MASK] || v->next == NATIVE_NEVER)
        return false;
    bool selects = n->insts[n->f->steps[v->next].at].op == OP_SELECT;
    bool found = v->role & NATIVE_BECOMES ? find_state(n, v->next, merge)
                                          : selects && find_select(n, v->next, merge);
    return found && merge->other != n->result && is_there(n, merge->mask) &&
           is_there(n, merge->other) && (merge->state || is_straight(n, v->next));
}

/* Over the state, or a copy if that is needed further on. */
static bool take_state(Native *n, const Merge *merge)
{
    const NativeValue *v = &n->values[merge->other];
    if (v->reg == NATIVE_NO_REG || v->next != n->step)
        native_operand_take_over(n, merge->other, false);
    else
        n->result_reg = v->reg;
    n->values[n->result].role |= NATIVE_BLENDED;
    return true;
}

/* The instruction has the mask; its result is over the other value, which the select
 * needs no more. Returns false for 0, which takes no register. */
static bool take_lanes(Native *n, const Merge *merge, NativeLanes *lanes)
{
    lanes->mask = native_alloc_load(n, merge->mask);
    if (merge->state)
        return take_state(n, merge);
    n->values[n->result].flags |= NATIVE_MERGED;
    if (is_zero(n, merge->other)) {
        lanes->zero = true;
        return false;
    }
    NativeValue *v = &n->values[merge->other];
    if (v->next == merge->step)
        v->next = merge->other_next;
    native_operand_take_over(n, merge->other, true);
    return true;
}

NativeReg native_merge_result(Native *n, NativeLanes *lanes)
{
    Merge merge;
    bool over = find_merge(n, &merge) && take_lanes(n, &merge, lanes);
    return over ? n->result_reg : native_result(n);
}

NativeReg native_merge_result_over(Native *n, uint32_t k, NativeLanes *lanes)
{
    Merge merge;
    bool over =
        find_merge(n, &merge) &&
        (is_zero(n, merge.other) || merge.other == native_operand_value(n, k)) &&
        take_lanes(n, &merge, lanes);
    return over ? n->result_reg : native_result_over(n, k);
}

uint32_t native_merge_over(const Native *n, uint32_t k)
{
    Merge merge;
    if (find_merge(n, &merge))
        for (uint32_t i = 0; i < n->inst->count; ++i)
            if (merge.other == native_operand_value(n, i))
                return i;
    return k;
}

/* ---- logic */

bool native_merge_logic(Native *n, uint32_t *third, Op *op)
{
    const NativeFunction *f = n->f;
    uint32_t step = n->values[n->result].next;
    if (step == NATIVE_NEVER)
        return false;
    const NativeStep *s = &f->steps[step];
    const Inst *user = &n->insts[s->at];
    if ((user->op != OP_AND && user->op != OP_OR && user->op != OP_XOR) ||
        native_is_rotation(f, user) || !native_has_row(n, f->program, user))
        return false;
    uint32_t k = f->root[user->arg[0]] != n->result;
    *third = f->root[user->arg[1 - k]];
    *op = (Op) user->op;
    if (*third == n->result || s->next[k] != NATIVE_NEVER || !is_there(n, *third) ||
        !is_straight(n, step))
        return false;
    n->values[n->result].flags |= NATIVE_MERGED;
    return true;
}

/* ---- narrow values */

/* Operations whose lower bits depend on lower bits only. */
static bool is_modular(Op op, uint32_t k)
{
    return op == OP_NEG || op == OP_ADD || op == OP_SUB || op == OP_MUL ||
           op == OP_FMA || (op == OP_SHL && k == 0);
}

/* Can this instruction do with operand k, of type 'type', in that form? */
static bool accepts(const Native *n, const Inst *inst, uint32_t k, VarType type,
                    NativeForm form)
{
    const TypeInfo *from = &type_info[n->insts[inst->arg[k]].type];
    const TypeInfo *to = &type_info[inst->type];
    if (inst->op == OP_STORE)
        return from->size == type_info[type].size &&
               (form == NATIVE_PACKED ? from->is_float : n->target->cuts);
    if (!native_has_row(n, n->f->program, inst))
        return false;
    if (form == NATIVE_PACKED)
        return from->is_float && inst->op == OP_CAST && to->is_float && to->size >= 4;
    if (from->size > type_info[type].size || !from->is_integer || !to->is_integer)
        return false;
    return is_modular((Op) inst->op, k) ||
           (inst->op == OP_CAST && to->size <= type_info[type].size);
}

bool native_takes_form(Native *n, NativeForm form)
{
    enum { MOST = 8 };
    const NativeFunction *f = n->f;
    NativeValue *v = &n->values[n->result];
    uint32_t step = v->next;
    v->form = NATIVE_CANONICAL;
    for (uint32_t i = 0; i < MOST && step != NATIVE_NEVER; ++i) {
        const NativeStep *s = &f->steps[step];
        const Inst *inst = &n->insts[s->at];
        uint32_t next = step;
        if (op_info[inst->op].group == GROUP_MARK || inst->count > INST_ARGS)
            return false;
        for (uint32_t k = 0; k < inst->count; ++k) {
            if (f->root[inst->arg[k]] != n->result)
                continue;
            if (!accepts(n, inst, k, (VarType) v->type, form))
                return false;
            next = s->next[k] != step ? s->next[k] : next;
        }
        if (next == step) /* it is not among the operands */
            return false;
        step = next;
    }
    if (step == NATIVE_NEVER)
        v->form = (uint8_t) form;
    return step == NATIVE_NEVER;
}
