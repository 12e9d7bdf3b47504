/*
 * sim_barrier.c -- barriers of a block and of a warp
 *
 * They count threads. Without a number of them, a barrier waits for all of the block;
 * those that have exited never come, unless the dialect says that hardware's habit,
 * which is not to wait for them, is to be followed.
 */
#include "sim_exec.h"
#include "sim_flow.h"

static void finish_red(Warp *w, uint32_t l, uint32_t sum, uint32_t count)
{
    const Insn *i = &w->run->module->code[w->pcs[l]];
    if (i->exec != barrier_red)
        return;
    uint8_t *area = w->area[AREA_FRAME];
    uint32_t *defined = w->defined[AREA_FRAME], local = w->local;
    flow_enter_frame(w, w->pcs[l], w->depths[l]);
    uint64_t value = i->op == BARRIER_POPC  ? sum
                     : i->op == BARRIER_AND ? sum == count
                                            : sum > 0;
    sim_set_lane(w, &i->d, l, value);
    sim_define(w, &i->d, 1u << l, SIM_ALL);
    w->area[AREA_FRAME] = area;
    w->defined[AREA_FRAME] = defined;
    w->local = local;
}

static uint32_t waiting(const Warp *w, uint32_t id)
{
    uint32_t lanes = 0;
    for (uint32_t l = 0; l < SIM_WARP; l++)
        lanes |= (uint32_t) (w->state[l] == LANE_BARRIER && w->barrier[l] == id) << l;
    return lanes;
}

/* All have come. */
static void complete(Block *b, uint32_t id)
{
    uint32_t sum = 0, count = 0;
    for (uint32_t k = 0; k < b->warp_count; k++) {
        Warp *w = &b->warps[k];
        SIM_LANES(waiting(w, id), l)
        {
            sum += w->vote[l];
            count++;
        }
    }
    for (uint32_t k = 0; k < b->warp_count; k++) {
        Warp *w = &b->warps[k];
        uint32_t lanes = waiting(w, id);
        SIM_LANES(lanes, l)
        {
            finish_red(w, l, sum, count);
        }
        flow_release(w, lanes);
        w->epoch++;
    }
    b->epoch++;
    b->barriers[id] = (Barrier){ 0 };
}

static uint32_t all_threads(const Block *b)
{
    return b->warps[0].run->foreign ? b->live : b->threads;
}

void barrier_recheck(Block *b)
{
    for (uint32_t id = 0; id < BLOCK_BARRIERS; id++) {
        Barrier *barrier = &b->barriers[id];
        if (barrier->arrived && !barrier->expected && barrier->arrived == b->live)
            complete(b, id);
    }
}

static bool same_for_all(Warp *w, const Ref *ref, uint32_t mask, const char *what)
{
    if (!sim_need(w, ref, mask, what))
        return false;
    const uint32_t *list = sim_data(w, ref);
    uint32_t first = list[__builtin_ctz(mask)];
    SIM_LANES(mask, l)
    {
        if (list[l] != first) {
            sim_fault(w, l, "%s differs between threads of a warp", what);
            return false;
        }
    }
    return true;
}

/* Count lanes that arrive. */
static bool arrive(Warp *w, const Insn *i, uint32_t mask, uint32_t *id)
{
    if (!same_for_all(w, &i->s[0], mask, "the number of the barrier") ||
        (i->count && !same_for_all(w, &i->s[1], mask, "the number of threads")))
        return false;
    uint32_t lane = (uint32_t) __builtin_ctz(mask);
    uint32_t expected = i->count ? (uint32_t) sim_lane(w, &i->s[1], lane) : 0;
    *id = (uint32_t) sim_lane(w, &i->s[0], lane);
    if (*id >= BLOCK_BARRIERS) {
        sim_fault(w, lane, "there is no barrier %u", *id);
        return false;
    }
    if (i->count && (!expected || expected % SIM_WARP)) {
        sim_fault(w, lane, "a barrier of %u threads, which is not a number of warps",
                  expected);
        return false;
    }
    Barrier *b = &w->block->barriers[*id];
    if (b->arrived && b->expected != expected) {
        sim_fault(w, lane, "barrier %u is of %u threads for this one, of %u for others",
                  *id, expected ? expected : w->block->threads,
                  b->expected ? b->expected : w->block->threads);
        return false;
    }
    b->expected = expected;
    b->arrived += (uint32_t) __builtin_popcount(mask);
    return true;
}

static void finish(Warp *w, uint32_t id)
{
    Barrier *b = &w->block->barriers[id];
    uint32_t expected = b->expected ? b->expected : all_threads(w->block);
    if (b->arrived > expected)
        sim_fault(w, UINT32_MAX, "%u threads have come to barrier %u, which is of %u",
                  b->arrived, id, expected);
    else if (b->arrived == expected)
        complete(w->block, id);
}

void barrier_sync(Warp *w, const Insn *i, uint32_t mask)
{
    uint32_t id;
    if (!arrive(w, i, mask, &id))
        return;
    SIM_LANES(mask, l)
    {
        w->barrier[l] = (uint8_t) id;
        w->vote[l] = false;
    }
    flow_wait(w, mask, LANE_BARRIER);
    finish(w, id);
}

void barrier_arrive(Warp *w, const Insn *i, uint32_t mask)
{
    uint32_t id;
    if (!i->count) {
        sim_fault(w, UINT32_MAX, "bar.arrive without a number of threads");
    } else if (arrive(w, i, mask, &id)) {
        flow_wait(w, 0, LANE_BARRIER); /* all go on, but other lanes may, too */
        finish(w, id);
    }
}

void barrier_red(Warp *w, const Insn *i, uint32_t mask)
{
    uint32_t id;
    if (!sim_need(w, &i->s[2], mask, "the predicate") || !arrive(w, i, mask, &id))
        return;
    uint32_t votes = sim_word(w, &i->s[2]);
    SIM_LANES(mask, l)
    {
        w->barrier[l] = (uint8_t) id;
        w->vote[l] = votes >> l & 1;
    }
    flow_wait(w, mask, LANE_BARRIER);
    finish(w, id);
}

static void meet(Warp *w, const Insn *i, uint32_t lanes)
{
    (void) i, (void) lanes;
    w->epoch++;
}

void barrier_warp(Warp *w, const Insn *i, uint32_t mask)
{
    flow_together(w, i, mask, &i->s[0], meet);
}

/* ---- when nothing goes on */

static uint32_t count_state(const Block *b, LaneState state)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < b->warp_count; k++) {
        for (uint32_t l = 0; l < SIM_WARP; l++)
            count += (b->warps[k].threads >> l & 1) && b->warps[k].state[l] == state;
    }
    return count;
}

static void explain_lane(Block *b, Warp *w, uint32_t l)
{
    w->insn = &w->run->module->code[w->pcs[l]];
    if (w->state[l] == LANE_WARP) {
        sim_fault(w, l,
                  "the thread waits for others of its member mask 0x%x, which do "
                  "not come",
                  w->members[l]);
        return;
    }
    const Barrier *barrier = &b->barriers[w->barrier[l]];
    uint32_t expected = barrier->expected ? barrier->expected : b->threads;
    sim_fault(w, l,
              "%u of %u threads have come to barrier %u; %u threads of the block "
              "have exited, %u wait elsewhere",
              barrier->arrived, expected, w->barrier[l], b->threads - b->live,
              count_state(b, LANE_WARP) + count_state(b, LANE_BARRIER) -
                  barrier->arrived);
}

void barrier_explain(Block *b)
{
    for (uint32_t k = 0; k < b->warp_count; k++) {
        for (uint32_t l = 0; l < SIM_WARP; l++) {
            LaneState state = b->warps[k].state[l];
            if (b->warps[k].threads >> l & 1 &&
                (state == LANE_WARP || state == LANE_BARRIER)) {
                explain_lane(b, &b->warps[k], l);
                return;
            }
        }
    }
}
