/*
 * native_copies.c -- how many packets code computes side by side
 *
 * While code waits for a result, it could work on another packet. The processor does
 * so by itself as far as it looks ahead, which is not far enough for
 *
 *   long chains   the next packet begins behind the end of this one
 *   loops         ... and behind a jump that nobody can predict; and an iteration that
 *                 waits for the one before takes as long for two packets as for one
 *
 * With conditionals, two packets do what either of them needs, so only those count as
 * harmless that are a rare path beside the usual one.
 */
#include "engine/native/plan/native.h"

/* ---- loops */

enum { MOST_STATES = 8, LONGEST = 256 /* body, in instructions */ };

/* Cycles until the result of an operation is there, as far as they do not follow from
 * its type. */
enum { QUICK = 1, USUAL = 4, QUICK_WHOLE = 255 /* with integers */ };
static const uint8_t op_latency[OP_COUNT] = {
    [OP_ADD] = QUICK_WHOLE,  [OP_SUB] = QUICK_WHOLE,   [OP_POPC] = QUICK_WHOLE,
    [OP_CLZ] = QUICK_WHOLE,  [OP_CTZ] = QUICK_WHOLE,   [OP_BREV] = QUICK_WHOLE,
    [OP_LOAD] = QUICK_WHOLE, [OP_PARAM] = QUICK_WHOLE, [OP_WORKER] = QUICK_WHOLE,
    [OP_DIV] = 16, [OP_MOD] = 24,  [OP_SQRT] = 16, [OP_RCP] = 16,
    [OP_NEG] = 1,  [OP_ABS] = 1,   [OP_AND] = 1,   [OP_OR] = 1,   [OP_XOR] = 1,
    [OP_NOT] = 1,  [OP_SHL] = 1,   [OP_SHR] = 1,   [OP_SELECT] = 1
};

static bool is_step(const NativeFunction *f, uint32_t at)
{
    const NativeValue *v = &f->values[at];
    return v->flags & NATIVE_STEP && v->flags & NATIVE_LIVE &&
           v->source == NATIVE_COMPUTED;
}

static uint32_t latency(const NativeFunction *f, uint32_t at)
{
    const Inst *inst = &f->program->insts[at];
    if (!is_step(f, at))
        return 0;
    uint8_t cycles = op_latency[inst->op];
    if (cycles == QUICK_WHOLE)
        cycles = type_info[inst->type].is_integer ? QUICK : USUAL;
    return cycles ? cycles : USUAL;
}

/* to[k] = cycles on the longest path from a state to the next value of state k, 0 if
 * there is none. */
static void measure_paths(const NativeFunction *f, const Region *r, uint32_t state,
                          uint32_t *to)
{
    const Program *p = f->program;
    uint16_t path[LONGEST] = { 0 }; /* by place in the body; 1 more than cycles */
    for (uint32_t at = r->begin + 1; at <= r->end; ++at) {
        const Inst *inst = &p->insts[at];
        const uint32_t *args = program_args(p, inst);
        uint16_t longest = inst->op == OP_STATE && inst->aux == state;
        for (uint32_t k = 0; k < inst->count; ++k) {
            uint16_t before = args[k] > r->begin ? path[args[k] - r->begin] : 0;
            longest = before > longest ? before : longest;
            if (at == r->end)
                to[k] = before ? before - 1u : 0;
        }
        if (longest && at != r->end)
            path[at - r->begin] = (uint16_t) (longest + latency(f, at));
    }
}

/* Cycles for which an iteration waits for the one before. */
static uint32_t recurrence(const NativeFunction *f, const Region *r)
{
    uint32_t to[MOST_STATES][MOST_STATES], most = 0;
    uint32_t count = f->program->insts[r->end].count;
    for (uint32_t k = 0; k < count; ++k)
        measure_paths(f, r, k, to[k]);
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t k = 0; k <= i; ++k) {
            uint32_t cycles = (to[i][k] + to[k][i]) / 2;
            if (to[i][k] && to[k][i] && cycles > most)
                most = cycles;
        }
    return most;
}

/* Has the processor time for a second packet while it waits? It takes two steps in a
 * cycle. Where packets go round unequally often, the second one is in vain at times, so
 * there has to be some profit. */
static bool waits(const NativeFunction *f, const Region *r)
{
    bool joint = f->regions[r - f->program->regions].joint;
    uint32_t steps = 0, least = joint ? 1 : 3;
    if (r->end - r->begin >= LONGEST || f->program->insts[r->end].count > MOST_STATES)
        return false;
    for (uint32_t at = r->begin + 1; at < r->end; ++at)
        steps += is_step(f, at);
    return 4 * recurrence(f, r) >= least * steps;
}

/* Of loops, the innermost ones decide. */
static bool do_regions_fit(const Native *n)
{
    const Program *p = n->f->program;
    uint32_t loop_end = 0;
    for (uint32_t i = 0; i < p->region_count; ++i) {
        const Region *r = &p->regions[i];
        bool innermost = i + 1 == p->region_count || p->regions[i + 1].begin > r->end;
        if (r->kind == REGION_LOOP) {
            loop_end = r->end > loop_end ? r->end : loop_end;
            if (innermost && !waits(n->f, r))
                return false;
        } else if (r->begin < loop_end || !native_region_is_one_sided(n, i)) {
            return false;
        }
    }
    return true;
}

/* ---- all kernels */

static uint32_t count_registers(const Native *n, NativeClass class)
{
    return (uint32_t) __builtin_popcount(n->target->registers[class]);
}

/* Steps without those of rare paths, which hardly a packet takes. */
typedef struct Usual {
    uint32_t count;
    bool divides; /* is there a division or a root of floats? */
} Usual;

/* If there are more than 'most', who divides is not asked. */
static Usual count_usual(const Native *n, uint32_t most)
{
    const NativeFunction *f = n->f;
    Usual usual = { f->step_end - f->packet, false };
    uint32_t end = 0;
    if (!f->program->region_count && usual.count > most)
        return usual;
    usual.count = 0;
    for (uint32_t s = f->packet; s < f->step_end; ++s) {
        uint32_t at = f->steps[s].at;
        const Inst *inst = &f->program->insts[at];
        if (at < end)
            continue;
        bool divides = inst->op == OP_DIV || inst->op == OP_RCP || inst->op == OP_SQRT;
        ++usual.count;
        usual.divides |= divides && !type_info[inst->type].is_integer;
        if (inst->op == OP_REGION && native_region_is_one_sided(n, inst->aux))
            end = f->program->regions[inst->aux].end;
    }
    return usual;
}

/* There are few packets at a time beside gathers, effects and in loops, however many
 * lanes there are. */
bool native_copies_heed_lanes(const Program *p)
{
    return !p->region_count && program_find_param(p, PARAM_POINTER) == PROGRAM_NONE;
}

/* Is one packet better than 'copies'? Straight lines: they pay if a packet is so long
 * that the processor does not meet the next one by itself, and mostly one chain. Fewer
 * registers do little harm there, as values in memory are operands, too, as long as
 * they stay in a near cache: reverse derivatives, which have all values of the primal
 * alive at once, take half of the time. In a loop that goes for values from outside,
 * but others would be stored again and again. Local arrays are looked at packet by
 * packet, with jumps; in loops that costs less than waiting, as all lanes of a packet
 * mostly have one index there. There is one divider: it would be idle
 * while all packets go on with its results, and each of them wait until it is done with
 * the others. */
static bool is_too_many(const Native *n, uint32_t copies)
{
    enum {
        SHORT = 24,
        SHORT_WITH_DIVISION = 48,
        CHAINS = 6,
        MOST_CHAINS = 10,
        MOST_ALIVE = 2048, /* of 64 bytes 128 KiB */
        MOST_LOCAL = 128 << 10
    };
    const NativeFunction *f = n->f;
    uint32_t steps = f->step_end - f->packet;
    uint32_t vectors = count_registers(n, NATIVE_VECTOR);
    if (!do_regions_fit(n))
        return true;
    if (copies * f->local_rows * n->target->vector_bytes > MOST_LOCAL)
        return true;
    if (program_has_loops(f->program))
        return 2 * copies * f->pressure > 3 * vectors;
    if (f->local_rows)
        return true;
    Usual usual = count_usual(n, SHORT_WITH_DIVISION);
    uint32_t chains = n->many_lanes ? MOST_CHAINS : CHAINS;
    return steps < SHORT || (usual.divides && usual.count <= SHORT_WITH_DIVISION) ||
           copies * usual.count > chains * f->height ||
           copies * f->pressure > MOST_ALIVE;
}

/* Are there registers for them? */
static bool has_room(const Native *n, uint32_t copies)
{
    enum { FEWEST = 8 };
    uint32_t masks = count_registers(n, NATIVE_MASK);
    return copies * FEWEST <= count_registers(n, NATIVE_VECTOR) &&
           (!masks || copies * n->f->masks <= masks);
}

uint32_t native_copies_choose(const Native *n)
{
    enum { LANES = 32, MOST_LANES = 64 };
    uint32_t wanted = n->set_copies;
    uint32_t lanes = n->many_lanes ? MOST_LANES : LANES;
    uint32_t copies = wanted ? wanted : lanes / n->lanes;
    if (n->root_program->callable_count || n->f->single)
        return 1;
    if (copies > n->most_copies)
        copies = n->most_copies;
    while (copies > 1 &&
           (!has_room(n, copies) || (!wanted && is_too_many(n, copies))))
        copies /= 2;
    return copies;
}
