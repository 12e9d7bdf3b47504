/*
 * sim_group.c -- what the lanes of a warp do together
 *
 * A value that is not defined makes the results that depend on it undefined; so does a
 * shuffle from a lane that does not take part.
 */
#include "sim_exec.h"
#include "sim_flow.h"

/* Without a member mask, in old PTX, they are of the lanes that come together. */
static void run_together(Warp *w, const Insn *i, uint32_t mask, Together *run)
{
    if (i->count)
        flow_together(w, i, mask, &i->s[3], run);
    else
        run(w, i, mask);
}

/* ---- vote */

static void vote(Warp *w, const Insn *i, uint32_t lanes)
{
    uint32_t yes = sim_word(w, &i->s[0]) & lanes;
    bool known = (sim_defined(w, &i->s[0]) & lanes) == lanes;
    if (i->op == VOTE_BALLOT) {
        uint32_t *d = sim_data(w, &i->d);
        SIM_LANES(lanes, l)
        {
            d[l] = yes;
        }
    } else {
        bool result = i->op == VOTE_ALL   ? yes == lanes
                      : i->op == VOTE_ANY ? yes != 0
                                          : yes == lanes || yes == 0;
        sim_set_mask(w, &i->d, lanes, result ? SIM_ALL : 0);
    }
    sim_define(w, &i->d, lanes, known ? SIM_ALL : 0);
}

void group_vote(Warp *w, const Insn *i, uint32_t mask)
{
    run_together(w, i, mask, vote);
}

/* ---- match */

static void match_any(Warp *w, const Insn *i, uint32_t lanes)
{
    uint32_t *d = sim_data(w, &i->d), result[SIM_WARP] = { 0 };
    bool known = (sim_defined(w, &i->s[0]) & lanes) == lanes;
    SIM_LANES(lanes, l)
    {
        uint64_t value = sim_lane(w, &i->s[0], l);
        SIM_LANES(lanes, other)
        {
            result[l] |= (uint32_t) (sim_lane(w, &i->s[0], other) == value) << other;
        }
    }
    SIM_LANES(lanes, l)
    {
        d[l] = result[l];
    }
    sim_define(w, &i->d, lanes, known ? SIM_ALL : 0);
}

static void match_all(Warp *w, const Insn *i, uint32_t lanes)
{
    uint32_t *d = sim_data(w, &i->d);
    bool known = (sim_defined(w, &i->s[0]) & lanes) == lanes, same = true;
    uint64_t value = sim_lane(w, &i->s[0], (uint32_t) __builtin_ctz(lanes));
    SIM_LANES(lanes, l)
    {
        same &= sim_lane(w, &i->s[0], l) == value;
    }
    SIM_LANES(lanes, l)
    {
        d[l] = same ? lanes : 0;
    }
    sim_define(w, &i->d, lanes, known ? SIM_ALL : 0);
    if (i->flags & FLAG_SECOND) {
        sim_set_mask(w, &i->e, lanes, same ? SIM_ALL : 0);
        sim_define(w, &i->e, lanes, known ? SIM_ALL : 0);
    }
}

void group_match_any(Warp *w, const Insn *i, uint32_t mask)
{
    flow_together(w, i, mask, &i->s[3], match_any);
}

void group_match_all(Warp *w, const Insn *i, uint32_t mask)
{
    flow_together(w, i, mask, &i->s[3], match_all);
}

/* ---- shfl */

/* The lane to read from; its own, and false, if that is out of its segment. */
static bool source_lane(ShuffleMode mode, uint32_t lane, uint32_t b, uint32_t c,
                        uint32_t *source)
{
    uint32_t segment = c >> 8 & 31, bound = c & 31, distance = b & 31;
    int32_t most = (int32_t) ((lane & segment) | (bound & ~segment));
    int32_t least = (int32_t) (lane & segment);
    int32_t j = mode == SHUFFLE_UP     ? (int32_t) lane - (int32_t) distance
                : mode == SHUFFLE_DOWN ? (int32_t) (lane + distance)
                : mode == SHUFFLE_BFLY
                    ? (int32_t) (lane ^ distance)
                    : (int32_t) ((uint32_t) least | (distance & ~segment));
    bool inside = mode == SHUFFLE_UP ? j >= most : j <= most;
    *source = inside ? (uint32_t) j : lane;
    return inside;
}

static void shuffle(Warp *w, const Insn *i, uint32_t lanes)
{
    const uint32_t *a = sim_data(w, &i->s[0]), *b = sim_data(w, &i->s[1]);
    const uint32_t *c = sim_data(w, &i->s[2]);
    uint32_t *d = sim_data(w, &i->d), result[SIM_WARP], inside = 0, known = 0;
    if (!sim_need(w, &i->s[1], lanes, "the lane of a shuffle") ||
        !sim_need(w, &i->s[2], lanes, "the bounds of a shuffle"))
        return;
    uint32_t defined = sim_defined(w, &i->s[0]) & lanes;
    SIM_LANES(lanes, l)
    {
        uint32_t source;
        inside |= (uint32_t) source_lane(i->op, l, b[l], c[l], &source) << l;
        result[l] = a[source];
        known |= (defined >> source & 1) << l;
    }
    SIM_LANES(lanes, l)
    {
        d[l] = result[l];
    }
    sim_define(w, &i->d, lanes, known);
    if (i->flags & FLAG_SECOND) {
        sim_set_mask(w, &i->e, lanes, inside);
        sim_define(w, &i->e, lanes, SIM_ALL);
    }
}

void group_shfl(Warp *w, const Insn *i, uint32_t mask)
{
    run_together(w, i, mask, shuffle);
}

/* ---- redux */

static uint32_t reduce_two(const Insn *i, uint32_t a, uint32_t b)
{
    bool less = i->type == PTX_S32 ? (int32_t) a < (int32_t) b : a < b;
    switch (i->op) {
    case ATOMIC_ADD:
        return a + b;
    case ATOMIC_MIN:
        return less ? a : b;
    case ATOMIC_MAX:
        return less ? b : a;
    case ATOMIC_AND:
        return a & b;
    case ATOMIC_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

static void reduce(Warp *w, const Insn *i, uint32_t lanes)
{
    const uint32_t *a = sim_data(w, &i->s[0]);
    uint32_t *d = sim_data(w, &i->d), first = (uint32_t) __builtin_ctz(lanes);
    bool known = (sim_defined(w, &i->s[0]) & lanes) == lanes;
    uint32_t result = a[first];
    SIM_LANES(lanes & ~(1u << first), l)
    {
        result = reduce_two(i, result, a[l]);
    }
    SIM_LANES(lanes, l)
    {
        d[l] = result;
    }
    sim_define(w, &i->d, lanes, known ? SIM_ALL : 0);
}

void group_redux(Warp *w, const Insn *i, uint32_t mask)
{
    flow_together(w, i, mask, &i->s[3], reduce);
}

/* ---- who is there */

void group_activemask(Warp *w, const Insn *i, uint32_t mask)
{
    uint32_t *d = sim_data(w, &i->d);
    SIM_LANES(mask, l)
    {
        d[l] = mask;
    }
    sim_define(w, &i->d, mask, SIM_ALL);
}

static void elect(Warp *w, const Insn *i, uint32_t lanes)
{
    uint32_t *d = sim_data(w, &i->d), first = (uint32_t) __builtin_ctz(lanes);
    SIM_LANES(lanes, l)
    {
        d[l] = first;
    }
    sim_define(w, &i->d, lanes, SIM_ALL);
    if (i->flags & FLAG_SECOND) {
        sim_set_mask(w, &i->e, lanes, 1u << first);
        sim_define(w, &i->e, lanes, SIM_ALL);
    }
}

void group_elect(Warp *w, const Insn *i, uint32_t mask)
{
    flow_together(w, i, mask, &i->s[3], elect);
}
