/*
 * sim_flow.c -- branches, calls, and the choice of the lanes that go on
 */
#include "sim_flow.h"

#include "sim_exec.h"
#include "sim_space.h"

#include <stdlib.h>
#include <string.h>

enum {
    TURNS_MOST = 1024, /* jumps back of one group while others wait */
    LOCAL_MOST = 512 << 10
};

/* ---- groups */

void flow_part(Warp *w)
{
    if (w->regroup)
        return;
    SIM_LANES(w->group, l)
    {
        w->pcs[l] = w->pc;
    }
    w->regroup = true;
}

/* The deepest and, among them, the farthest behind; or whichever chance says. */
static uint32_t leader(Warp *w, bool random)
{
    uint32_t best = (uint32_t) __builtin_ctz(w->runs);
    if (random) {
        uint32_t skip =
            (uint32_t) (sim_random(w->run) % (uint32_t) __builtin_popcount(w->runs));
        uint32_t left = w->runs;
        while (skip--)
            left &= left - 1;
        return (uint32_t) __builtin_ctz(left);
    }
    SIM_LANES(w->runs, l)
    {
        if (w->depths[l] > w->depths[best] ||
            (w->depths[l] == w->depths[best] && w->pcs[l] < w->pcs[best]))
            best = l;
    }
    return best;
}

const Function *flow_function(const SimModule *m, uint32_t pc)
{
    for (uint32_t k = 0; k < m->function_count; k++) {
        const Function *f = m->functions[k];
        if (f->body && pc >= f->first && pc < f->end)
            return f;
    }
    return m->functions[0];
}

Frame *flow_frame(Warp *w, const Function *f, uint32_t depth)
{
    uint32_t local = 0;
    for (uint32_t k = 0; k < w->frame_count; k++) {
        Frame *known = &w->frames[k];
        if (known->function == f && known->depth == depth)
            return known;
        /* Local memory of deeper frames lies behind that of all others so far. */
        uint32_t end = known->local + known->function->local_bytes;
        local = end > local ? end : local;
    }
    sim_grow(&w->frames, &w->frame_capacity, w->frame_count, sizeof(Frame));
    Frame *frame = &w->frames[w->frame_count++];
    frame->function = f;
    frame->depth = depth;
    frame->local = (local + 255) & ~255u;
    frame->data = sim_alloc_aligned(f->frame_bytes);
    frame->defined = sim_alloc((f->register_count + 1) * sizeof(uint32_t));
    space_grow_local(w, frame->local + f->local_bytes);
    return frame;
}

void flow_enter_frame(Warp *w, uint32_t pc, uint32_t depth)
{
    /* The kernel's own is the first one. */
    const Frame *frame =
        depth ? flow_frame(w, flow_function(w->run->module, pc), depth) : &w->frames[0];
    w->area[AREA_FRAME] = frame->data;
    w->defined[AREA_FRAME] = frame->defined;
    w->local = frame->local;
}

bool flow_choose(Warp *w)
{
    if (!w->runs)
        return false;
    bool random = w->run->launch->order == SIM_RANDOM_PC || w->turns > TURNS_MOST;
    w->turns = 0;
    uint32_t first = leader(w, random);
    w->pc = w->pcs[first];
    w->depth = w->depths[first];
    w->group = 0;
    w->merge = UINT32_MAX;
    SIM_LANES(w->runs, l)
    {
        if (w->depths[l] != w->depth)
            continue;
        if (w->pcs[l] == w->pc)
            w->group |= 1u << l;
        else if (!random && w->pcs[l] > w->pc && w->pcs[l] < w->merge)
            w->merge = w->pcs[l];
    }
    w->patience = random && w->group != w->runs
                      ? 1 + (uint32_t) (sim_random(w->run) % 24)
                      : UINT32_MAX;
    w->regroup = false;
    flow_enter_frame(w, w->pc, w->depth);
    return true;
}

/* ---- branches */

static void jump(Warp *w, uint32_t taken, uint32_t target)
{
    if (taken == w->group) {
        if (target <= w->pc)
            w->turns += w->group != w->runs;
        w->next = target;
        if (w->turns > TURNS_MOST)
            w->patience = 1;
        return;
    }
    uint32_t behind = w->next;
    flow_part(w);
    SIM_LANES(w->group, l)
    {
        w->pcs[l] = taken >> l & 1 ? target : behind;
    }
    w->turns = 0;
}

void flow_bra(Warp *w, const Insn *i, uint32_t mask)
{
    jump(w, mask, i->target);
}

void flow_brx(Warp *w, const Insn *i, uint32_t mask)
{
    if (!sim_need(w, &i->s[0], mask, "the index of a branch"))
        return;
    const uint32_t *index = sim_data(w, &i->s[0]);
    uint32_t first = index[__builtin_ctz(mask)], same = 0;
    SIM_LANES(mask, l)
    {
        if (index[l] >= i->table_size) {
            sim_fault(w, l, "index %u of a branch to one of %u targets", index[l],
                      i->table_size);
            return;
        }
        same |= (uint32_t) (index[l] == first) << l;
    }
    if (same == w->group) {
        jump(w, same, i->table[first]);
        return;
    }
    uint32_t behind = w->next;
    flow_part(w);
    SIM_LANES(w->group, l)
    {
        w->pcs[l] = mask >> l & 1 ? i->table[index[l]] : behind;
    }
}

/* ---- ends */

/* Lanes have left: those who wait for them may go on without. */
static void wake(Warp *w)
{
    for (uint32_t l = 0; l < SIM_WARP; l++) {
        if (w->state[l] == LANE_WARP) {
            w->state[l] = LANE_RUNS;
            w->runs |= 1u << l;
        }
    }
}

void flow_exit(Warp *w, const Insn *i, uint32_t mask)
{
    (void) i;
    uint32_t behind = w->next;
    flow_part(w);
    SIM_LANES(w->group, l)
    {
        w->pcs[l] = behind;
    }
    SIM_LANES(mask, l)
    {
        w->state[l] = LANE_EXITED;
    }
    w->runs &= ~mask;
    w->exited |= mask;
    w->block->live -= (uint32_t) __builtin_popcount(mask);
    wake(w);
    if (w->run->foreign)
        barrier_recheck(w->block);
}

void flow_trap(Warp *w, const Insn *i, uint32_t mask)
{
    (void) i;
    sim_fault(w, (uint32_t) __builtin_ctz(mask), "trap");
}

void flow_nothing(Warp *w, const Insn *i, uint32_t mask)
{
    (void) w, (void) i, (void) mask;
}

/* ---- waiting */

void flow_wait(Warp *w, uint32_t mask, LaneState state)
{
    uint32_t pc = w->pc, behind = w->next;
    flow_part(w);
    SIM_LANES(w->group, l)
    {
        w->pcs[l] = mask >> l & 1 ? pc : behind;
    }
    SIM_LANES(mask, l)
    {
        w->state[l] = (uint8_t) state;
    }
    w->runs &= ~mask;
}

/* The group of another warp may be one that the lanes can join. */
void flow_release(Warp *w, uint32_t lanes)
{
    if (lanes)
        flow_part(w);
    SIM_LANES(lanes, l)
    {
        w->state[l] = LANE_RUNS;
        w->pcs[l]++;
    }
    w->runs |= lanes;
}

/* Lanes that wait for the same others as this one. Barriers of a warp may be different
 * instructions. */
static uint32_t companions(const Warp *w, uint32_t of)
{
    const Insn *code = w->run->module->code;
    uint32_t lanes = 0;
    for (uint32_t l = 0; l < SIM_WARP; l++) {
        bool same = w->pcs[l] == w->pcs[of] && w->depths[l] == w->depths[of];
        if (w->state[l] != LANE_WARP || w->members[l] != w->members[of])
            continue;
        same |= code[w->pcs[of]].exec == barrier_warp &&
                code[w->pcs[l]].exec == barrier_warp;
        lanes |= (uint32_t) same << l;
    }
    return lanes;
}

void flow_together(Warp *w, const Insn *i, uint32_t mask, const Ref *members,
                   Together *run)
{
    if (!sim_need(w, members, mask, "the member mask"))
        return;
    const uint32_t *list = sim_data(w, members);
    uint32_t there = w->threads & ~w->exited, first = list[__builtin_ctz(mask)];
    bool same = true;
    SIM_LANES(mask, l)
    {
        if (!(list[l] >> l & 1)) {
            sim_fault(w, l, "the member mask 0x%x is without the thread", list[l]);
            return;
        }
        same &= list[l] == first;
        w->members[l] = list[l];
    }
    if (same && (first & there) == mask) {
        run(w, i, mask);
        return;
    }
    flow_wait(w, mask, LANE_WARP);
    while (mask && !w->run->faulted) {
        uint32_t l = (uint32_t) __builtin_ctz(mask), lanes = companions(w, l);
        mask &= ~(lanes | 1u << l);
        if (lanes == (w->members[l] & there)) {
            run(w, i, lanes);
            flow_release(w, lanes);
        }
    }
}

/* ---- calls */

/* An argument: from the caller's frame to the callee's, for some lanes. */
static void pass(Warp *w, const Formal *from, const Frame *source, const Formal *to,
                 const Frame *dest, uint32_t mask)
{
    uint32_t bytes = to->bytes < from->bytes ? to->bytes : from->bytes;
    SIM_LANES(mask, l)
    {
        if (!from->in_register && !to->in_register) {
            space_copy_local(w, l, dest->local + to->offset,
                             source->local + from->offset, bytes);
            continue;
        }
        uint64_t value;
        bool known = true;
        w->area[AREA_FRAME] = source->data;
        w->defined[AREA_FRAME] = source->defined;
        if (from->in_register) {
            value = sim_lane(w, &from->ref, l);
            known = sim_defined(w, &from->ref) >> l & 1;
        } else {
            value = space_get_local(w, l, source->local + from->offset,
                                    bytes < 8 ? bytes : 8, &known);
        }
        w->area[AREA_FRAME] = dest->data;
        w->defined[AREA_FRAME] = dest->defined;
        if (to->in_register) {
            sim_set_lane(w, &to->ref, l, value);
            sim_define(w, &to->ref, 1u << l, known ? SIM_ALL : 0);
        } else {
            space_put_local(w, l, dest->local + to->offset, bytes < 8 ? bytes : 8,
                            value, known);
        }
    }
}

static bool may_call(Warp *w, uint32_t l, const Function *f, const CallSite *call)
{
    if (!f->body || f->entry)
        sim_fault(w, l, "a call of %s, which has no body", f->name);
    else if (w->depth + 1 >= WARP_DEPTH)
        sim_fault(w, l, "calls are nested deeper than %d", WARP_DEPTH);
    else if (f->param_count != call->arg_count || f->result_count < call->result_count)
        sim_fault(w, l, "%s has %u parameters and %u results, the call %u and %u",
                  f->name, f->param_count, f->result_count, call->arg_count,
                  call->result_count);
    else
        return true;
    return false;
}

/* Some lanes, all of which call the same function. */
static void call_function(Warp *w, const Insn *i, uint32_t lanes, const Function *f)
{
    const CallSite *call = i->call;
    uint32_t first = (uint32_t) __builtin_ctz(lanes);
    if (!may_call(w, first, f, call))
        return;
    const SimModule *m = w->run->module;
    const Function *caller = flow_function(m, (uint32_t) (i - m->code));
    Frame callee = *flow_frame(w, f, w->depth + 1);
    Frame own = *flow_frame(w, caller, w->depth);
    if (callee.local + f->local_bytes > LOCAL_MOST) {
        sim_fault(w, first, "calls need more than %u bytes of local memory",
                  LOCAL_MOST);
        return;
    }
    for (uint32_t r = 0; r < f->register_count; r++)
        callee.defined[r] &= ~lanes;
    SIM_LANES(lanes, l)
    {
        for (uint32_t k = 0; k < f->local_bytes; k++)
            space_put_local(w, l, callee.local + k, 1, 0, false);
    }
    for (uint32_t k = 0; k < call->arg_count; k++)
        pass(w, &call->args[k], &own, &f->params[k], &callee, lanes);
    SIM_LANES(lanes, l)
    {
        w->returns[w->depth][l] = w->pcs[l];
        w->pcs[l] = f->first;
        w->depths[l] = w->depth + 1;
    }
}

static const Function *target_of(Warp *w, const Insn *i, uint32_t l)
{
    const SimModule *m = w->run->module;
    if (!i->call->indirect)
        return m->functions[i->call->function];
    uint64_t at = sim_lane(w, &i->call->target, l) - WINDOW_CODE;
    if (at % 16 || at / 16 >= m->function_count) {
        sim_fault(w, l, "a call of 0x%llx, which is no function",
                  (unsigned long long) (at + WINDOW_CODE));
        return NULL;
    }
    return m->functions[at / 16];
}

void flow_call(Warp *w, const Insn *i, uint32_t mask)
{
    if (i->call->indirect && !sim_need(w, &i->call->target, mask, "the function"))
        return;
    const Function *targets[SIM_WARP];
    SIM_LANES(mask, l)
    {
        targets[l] = target_of(w, i, l);
        if (!targets[l])
            return;
    }
    flow_part(w);
    SIM_LANES(w->group, l)
    {
        w->pcs[l] = w->next;
    }
    while (mask && !w->run->faulted) {
        const Function *f = targets[__builtin_ctz(mask)];
        uint32_t same = 0;
        SIM_LANES(mask, l)
        {
            same |= (uint32_t) (targets[l] == f) << l;
        }
        call_function(w, i, same, f);
        mask &= ~same;
    }
}

/* Back to where each lane came from, which may be several places. */
void flow_ret(Warp *w, const Insn *i, uint32_t mask)
{
    const SimModule *m = w->run->module;
    const Function *f = flow_function(m, (uint32_t) (i - m->code));
    flow_part(w);
    SIM_LANES(w->group, l)
    {
        w->pcs[l] = w->next;
    }
    SIM_LANES(mask, l)
    {
        uint32_t back = w->returns[w->depth - 1][l];
        const CallSite *call = m->code[back - 1].call;
        Frame own = *flow_frame(w, f, w->depth);
        Frame caller = *flow_frame(w, flow_function(m, back - 1), w->depth - 1);
        for (uint32_t k = 0; k < call->result_count; k++)
            pass(w, &f->results[k], &own, &call->results[k], &caller, 1u << l);
        w->pcs[l] = back;
        w->depths[l] = w->depth - 1;
    }
}
