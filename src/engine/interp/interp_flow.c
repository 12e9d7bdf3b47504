/*
 * interp_flow.c -- steps of control flow, local arrays and prints
 *
 * A body runs while any lane of the block needs it, on all lanes. What it changes for
 * good is blended by the mask of its active lanes:
 *
 *   loop                          conditional               call, for each target
 *     active = mask                 lanes[2], by mask         matched = mask & number
 *     states = initial values       results = 0               skip unless any matched
 *   again:                          skip unless any true      views of ARGs = inputs
 *     condition part                  true side               enter ... leave
 *     active &= TEST                  blend into results      blend into results
 *     none active: leave            skip unless any false
 *     body                            false side
 *     blend next into states          blend into results
 *     go to again
 *
 * States and results have registers of their own. A RESULT takes over the register,
 * STATE and ACTIVE borrow it. Jumps return to the loop in interp.c, so the C stack does
 * not grow with iterations.
 */
#include "engine/interp/interp_flow.h"

#include "base/interrupt.h"
#include "engine/interp/interp_emit.h"

static const Inst *inst_at(const Builder *b, uint32_t at)
{
    return &b->program->insts[at];
}

static const uint32_t *args_of(const Builder *b, uint32_t at)
{
    return program_args(b->program, inst_at(b, at));
}

static uint32_t size_of(const Builder *b, uint32_t at)
{
    return interp_emit_size((VarType) inst_at(b, at)->type);
}

static Flow *flow_of(const Builder *b, uint32_t at)
{
    return &b->unit->flows[inst_at(b, at)->aux];
}

static const Region *region_of(const Builder *b, uint32_t at)
{
    return &b->program->regions[inst_at(b, at)->aux];
}

/* ---- jumps */

/* The back edge of a loop. */
static const LaneStep *again(const LaneStep *step, const LaneFrame *frame)
{
    bool stop = interrupt_requests() != frame->requests;
    return stop ? NULL : step + (int32_t) step->arg[1];
}

static const LaneStep *bind(const LaneStep *step, const LaneFrame *frame)
{
    frame->regs[step->out] = frame->regs[step->arg[0]];
    NEXT(step, frame);
}

static const LaneStep *enter(const LaneStep *step, const LaneFrame *frame)
{
    frame->back[step->out] = step + 1;
    return step + (int32_t) step->arg[1];
}

static const LaneStep *leave(const LaneStep *step, const LaneFrame *frame)
{
    return frame->back[step->out];
}

/* Emit a jump to a step that exists. */
static void emit_jump(Builder *b, LaneFn fn, uint32_t out, uint32_t to)
{
    uint32_t at = interp_emit(b, fn, out, 0, 0, 0);
    if (!b->failed)
        b->code->steps[at].arg[1] = to - at;
}

/* The step, which jumps in some cases, does so to the next one to be emitted. */
static void land(Builder *b, uint32_t step)
{
    if (!b->failed)
        b->code->steps[step].arg[1] = b->code->step_count - step;
}

/* ---- values */

/* Write the operand into a register. The operand is not dropped, unless it is a
 * temporary, which is written there at once. */
static void copy_to(Builder *b, uint32_t out, uint32_t arg)
{
    uint32_t root = b->places[arg].root;
    if (interp_plan_is_temporary(b, root))
        interp_emit_constant(b, root, out);
    else
        interp_emit(b, b->lanes->move[size_of(b, arg)], out, interp_emit_use(b, arg), 0,
                    0);
}

/* The same in the lanes of a mask. */
static void blend_to(Builder *b, uint32_t out, uint32_t arg, uint32_t mask)
{
    uint32_t reg = interp_emit_use(b, arg);
    interp_emit(b, b->lanes->blend[size_of(b, arg)], out, reg, mask, 0);
    if (interp_plan_is_temporary(b, b->places[arg].root))
        interp_emit_give(b, reg, 0);
}

/* Is there a RESULT at this position, and is it used? */
static bool is_result(const Builder *b, uint32_t at)
{
    return at < b->program->inst_count && inst_at(b, at)->op == OP_RESULT;
}

static bool is_used(const Builder *b, uint32_t at)
{
    return b->places[at].last != 0;
}

/* Registers for the results after 'end', 0 in all lanes. */
static void clear_results(Builder *b, uint32_t end)
{
    for (uint32_t at = end + 1; is_result(b, at); ++at)
        if (is_used(b, at))
            interp_emit(b, b->lanes->fill[size_of(b, at)],
                        interp_emit_take_value(b, at), 0, 0, 0);
}

/* ---- loops */

static void begin_loop(Builder *b, uint32_t at, Flow *flow)
{
    const uint32_t *args = args_of(b, at), count = inst_at(b, at)->count - 1u;
    uint32_t *states = b->unit->states + flow->states;
    flow->mask[0] = interp_emit_take(b, 0);
    copy_to(b, flow->mask[0], args[0]);
    for (uint32_t k = 0; k < count; ++k) {
        states[k] = interp_emit_take_typed(b, (VarType) inst_at(b, args[k + 1])->type);
        copy_to(b, states[k], args[k + 1]);
    }
    interp_emit_drop_values(b, at);
    for (uint32_t k = 0; k < count && inst_at(b, at + 1 + k)->op == OP_STATE; ++k)
        b->places[at + 1 + k].reg = states[k];
    flow->again = b->code->step_count;
}

static void emit_test(Builder *b, uint32_t at)
{
    Flow *flow = flow_of(b, at);
    interp_emit_use_all(b, inst_at(b, at));
    flow->exit = interp_emit(b, b->lanes->narrow, flow->mask[0], b->in[0], 0, 0);
    interp_emit_drop_all(b, at);
}

/* Which state of this loop a value is, PROGRAM_NONE if it is not one. */
static uint32_t find_state(const Builder *b, const Region *region, uint32_t arg)
{
    uint32_t root = b->places[arg].root;
    bool own = inst_at(b, root)->op == OP_STATE && root > region->begin;
    return own ? inst_at(b, root)->aux : PROGRAM_NONE;
}

/* All states change at once: the old values of those that others take over are saved.
 * in[k] is the register with the copy that state k takes. */
static void save_states(Builder *b, uint32_t end, const Region *region,
                        const uint32_t *states)
{
    const uint32_t *args = args_of(b, end), count = inst_at(b, end)->count;
    for (uint32_t k = 0; k < count; ++k) {
        uint32_t from = find_state(b, region, args[k]);
        b->in[k] = PROGRAM_NONE;
        if (from >= k) /* or none */
            continue;
        b->in[k] = interp_emit_take(b, 0);
        interp_emit(b, b->lanes->move[size_of(b, args[k])], b->in[k], states[from], 0,
                    0);
    }
}

static void release_outside(Builder *b, uint32_t end, const Flow *flow)
{
    for (uint32_t at = flow->release; at != PROGRAM_NONE; at = b->places[at].next) {
        if (b->places[at].last != end)
            continue;
        b->places[at].last = NEVER;
        interp_emit_give_value(b, at);
    }
}

static void end_loop(Builder *b, uint32_t end, const Region *region, Flow *flow)
{
    const uint32_t *args = args_of(b, end), count = inst_at(b, end)->count;
    uint32_t *states = b->unit->states + flow->states, result = end + 1;
    save_states(b, end, region, states);
    for (uint32_t k = 0; k < count; ++k) {
        if (b->in[k] != PROGRAM_NONE) {
            interp_emit(b, b->lanes->blend[size_of(b, args[k])], states[k], b->in[k],
                        flow->mask[0], 0);
            interp_emit_give(b, b->in[k], 0);
        } else if (find_state(b, region, args[k]) != k) {
            blend_to(b, states[k], args[k], flow->mask[0]);
        }
    }
    emit_jump(b, again, 0, flow->again);
    land(b, flow->exit);
    interp_emit_drop_values(b, end);
    release_outside(b, end, flow);
    interp_emit_give(b, flow->mask[0], 0);
    for (uint32_t k = 0; k < count; ++k) {
        bool found = is_result(b, result) && inst_at(b, result)->aux == k;
        if (found && is_used(b, result))
            b->places[result].reg = states[k];
        else
            interp_emit_give(b, states[k], 0);
        result += found;
    }
}

/* ---- conditionals */

static void begin_if(Builder *b, uint32_t at, const Region *region, Flow *flow)
{
    const LaneTable *lanes = b->lanes;
    interp_emit_use_all(b, inst_at(b, at));
    flow->mask[0] = interp_emit_take(b, 0);
    flow->mask[1] = interp_emit_take(b, 0);
    interp_emit(b, lanes->op[OP_AND][VarTypeBool], flow->mask[0], b->in[0], b->in[1],
                0);
    interp_emit(b, lanes->without, flow->mask[1], b->in[0], b->in[1], 0);
    interp_emit_drop_all(b, at);
    clear_results(b, region->end);
    flow->exit = interp_emit(b, lanes->skip, 0, flow->mask[0], 0, 0);
}

/* The ELSE or END of a side. */
static void end_side(Builder *b, uint32_t at, const Region *region, Flow *flow)
{
    const uint32_t *args = args_of(b, at), side = inst_at(b, at)->op == OP_END;
    for (uint32_t i = region->end + 1; is_result(b, i); ++i)
        if (is_used(b, i))
            blend_to(b, b->places[i].reg, args[inst_at(b, i)->aux], flow->mask[side]);
    land(b, flow->exit);
    interp_emit_drop_values(b, at);
    interp_emit_give(b, flow->mask[side], 0);
}

static void emit_else(Builder *b, uint32_t at)
{
    Flow *flow = flow_of(b, at);
    end_side(b, at, region_of(b, at), flow);
    flow->exit = interp_emit(b, b->lanes->skip, 0, flow->mask[1], 0, 0);
}

/* ---- calls */

static void emit_target(Builder *b, uint32_t at, const Region *region, uint32_t number,
                        uint32_t matched)
{
    const uint32_t callable = b->program->extra[region->targets + number];
    const Unit *unit = &b->units[callable];
    interp_emit(b, b->lanes->match, matched, b->in[0], b->in[1], number + 1);
    uint32_t skip = interp_emit(b, b->lanes->skip, 0, matched, 0, 0);
    for (uint32_t i = unit->args; i != PROGRAM_NONE; i = unit->places[i].next) {
        uint32_t which = unit->program->insts[i].aux;
        if (unit->places[i].last)
            interp_emit(b, bind, unit->places[i].reg,
                        which ? b->in[which + 1] : matched, 0, 0);
    }
    emit_jump(b, enter, callable, unit->start);
    for (uint32_t i = at + 2; is_result(b, i); ++i)
        if (is_used(b, i))
            interp_emit(b, b->lanes->blend[size_of(b, i)], b->places[i].reg,
                        unit->outputs[inst_at(b, i)->aux], matched, 0);
    land(b, skip);
}

static void emit_call(Builder *b, uint32_t at, const Region *region)
{
    interp_emit_use_all(b, inst_at(b, at));
    uint32_t matched = interp_emit_take(b, 0);
    clear_results(b, region->end);
    for (uint32_t i = 0; i < region->target_count; ++i)
        emit_target(b, at, region, i, matched);
    interp_emit_give(b, matched, 0);
    interp_emit_drop_all(b, at);
}

static void emit_arg(Builder *b, uint32_t at)
{
    b->places[at].reg = b->code->locals + b->view++;
}

/* The outputs stay where they are until the caller has taken them. */
static void emit_return(Builder *b, uint32_t at)
{
    interp_emit_use_all(b, inst_at(b, at));
    for (uint32_t i = 0; i < inst_at(b, at)->count; ++i)
        b->unit->outputs[i] = b->in[i];
    interp_emit(b, leave, (uint32_t) (b->unit - b->units), 0, 0, 0);
}

/* ---- marks of all regions */

static void begin_region(Builder *b, uint32_t at)
{
    const Region *region = region_of(b, at);
    if (region->kind == REGION_LOOP)
        begin_loop(b, at, flow_of(b, at));
    else if (region->kind == REGION_IF)
        begin_if(b, at, region, flow_of(b, at));
    else
        emit_call(b, at, region);
}

static void end_region(Builder *b, uint32_t at)
{
    const Region *region = region_of(b, at);
    if (region->kind == REGION_LOOP)
        end_loop(b, at, region, flow_of(b, at));
    else if (region->kind == REGION_IF)
        end_side(b, at, region, flow_of(b, at));
}

/* Before a loop's TEST this is a copy, because that changes the mask. */
static void emit_active(Builder *b, uint32_t at)
{
    const Region *region = region_of(b, at);
    const Flow *flow = flow_of(b, at);
    if (region->kind == REGION_LOOP && at < region->middle)
        interp_emit(b, b->lanes->move[0], interp_emit_take_value(b, at), flow->mask[0],
                    0, 0);
    else
        b->places[at].reg =
            flow->mask[region->kind == REGION_IF && at > region->middle];
}

/* ---- local arrays and prints */

static void emit_local(Builder *b, uint32_t at)
{
    interp_emit_use_all(b, inst_at(b, at));
    interp_emit(b, b->lanes->local_fill[size_of(b, at)], b->places[at].reg, b->in[0],
                inst_at(b, at)->aux, 0);
    interp_emit_drop_all(b, at);
}

static void emit_local_read(Builder *b, uint32_t at)
{
    const uint32_t *in = b->in;
    interp_emit_use_all(b, inst_at(b, at));
    const uint32_t more[] = { in[2], inst_at(b, args_of(b, at)[0])->aux };
    uint32_t out = interp_emit_take_value(b, at);
    interp_emit(b, b->lanes->local_read[size_of(b, at)], out, in[0], in[1],
                interp_emit_extra(b, more, 2));
    interp_emit_drop_all(b, at);
}

static void emit_local_write(Builder *b, uint32_t at)
{
    const uint32_t *args = args_of(b, at), *in = b->in;
    interp_emit_use_all(b, inst_at(b, at));
    const uint32_t more[] = { in[3], inst_at(b, args[0])->aux };
    interp_emit(b, b->lanes->local_write[size_of(b, args[0])], in[0], in[1], in[2],
                interp_emit_extra(b, more, 2));
    interp_emit_drop_all(b, at);
}

static void emit_local_move(Builder *b, uint32_t at)
{
    const uint32_t *args = args_of(b, at), *in = b->in;
    interp_emit_use_all(b, inst_at(b, at));
    interp_emit(b, b->lanes->local_move[size_of(b, args[0])], in[0], in[1], in[2],
                inst_at(b, args[0])->aux);
    interp_emit_drop_all(b, at);
}

static void emit_print(Builder *b, uint32_t at)
{
    const Inst *inst = inst_at(b, at);
    const uint32_t values = inst->count - 1u;
    interp_emit_use_all(b, inst);
    interp_emit(b, b->lanes->print, inst->aux, b->in[0],
                interp_emit_extra(b, b->in + 1, values), values);
    interp_emit_drop_all(b, at);
}

/* ---- */

static void emit_nothing(Builder *b, uint32_t at)
{
    (void) b;
    (void) at;
}

static void (*const emitters[OP_COUNT])(Builder *, uint32_t) = {
    [OP_REGION] = begin_region,
    [OP_TEST] = emit_test,
    [OP_ELSE] = emit_else,
    [OP_END] = end_region,
    [OP_RETURN] = emit_return,
    [OP_STATE] = emit_nothing, /* these got their registers from the region's marks */
    [OP_RESULT] = emit_nothing,
    [OP_ARG] = emit_arg,
    [OP_ACTIVE] = emit_active,
    [OP_LOCAL] = emit_local,
    [OP_LOCAL_READ] = emit_local_read,
    [OP_LOCAL_WRITE] = emit_local_write,
    [OP_LOCAL_MOVE] = emit_local_move,
    [OP_PRINT] = emit_print,
};

bool interp_flow_emit(Builder *b, uint32_t at)
{
    if (!emitters[inst_at(b, at)->op])
        return false;
    emitters[inst_at(b, at)->op](b, at);
    return true;
}
