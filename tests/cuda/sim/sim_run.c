/*
 * sim_run.c -- a launch: which block and which warp goes on
 *
 * A few blocks are resident at a time; they begin in random order. One warp after the
 * other runs for a random number of instructions. After each turn, a part of what its
 * block has stored may reach the others. If no block ends for long, one more begins:
 * the others may wait for it.
 */
#include "sim_warp.h"

#include "sim_flow.h"
#include "sim_space.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RESIDENT_MOST = 8,
    RESIDENT_BYTES = 64 << 20, /* of registers; two blocks are always resident */
    PATIENCE = 128,            /* turns in which no block ends */
    STOP_STEPS = 1000
};

/** Blocks of a launch. */
typedef struct Grid {
    uint64_t count, begun;         /* blocks */
    uint64_t mask, factor, offset; /* of their order */
    Block **resident;
    uint32_t resident_count, resident_most, capacity;
    Block *spare;   /* that has ended */
    uint64_t turns; /* since the last one ended */
} Grid;

uint64_t sim_random(Run *run)
{
    uint64_t x = run->random += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* ---- faults */

/* The text of a line, without what surrounds it. */
static int line_text(const SimModule *m, uint32_t line, const char **text)
{
    const char *at = m->text;
    for (uint32_t k = 1; k < line && at; k++) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    if (!at)
        at = "";
    at += strspn(at, " \t");
    *text = at;
    size_t size = strcspn(at, "\r\n");
    return size > 100 ? 100 : (int) size;
}

void sim_fault(Warp *w, uint32_t lane, const char *format, ...)
{
    Run *run = w->run;
    SimResult *r = run->result;
    if (run->faulted)
        return;
    run->faulted = true;
    const char *text;
    int size = line_text(run->module, w->insn->line, &text);
    r->line = w->insn->line;
    const uint32_t *id = w->block->id, *block = run->block;
    int at = snprintf(r->message, SIM_MESSAGE,
                      "kernel %.80s, line %u '%.*s': block (%u, %u, %u), ",
                      run->function->name, r->line, size, text, id[0], id[1], id[2]);
    uint32_t thread = w->index * SIM_WARP + lane;
    if (lane < SIM_WARP)
        at += snprintf(r->message + at, SIM_MESSAGE - (size_t) at,
                       "thread (%u, %u, %u): ", thread % block[0],
                       thread / block[0] % block[1], thread / block[0] / block[1]);
    else
        at +=
            snprintf(r->message + at, SIM_MESSAGE - (size_t) at, "warp %u: ", w->index);
    va_list args;
    va_start(args, format);
    vsnprintf(r->message + at, SIM_MESSAGE - (size_t) at, format, args);
    va_end(args);
}

/* ---- warps */

static void fill_clock(Warp *w)
{
    uint64_t now = w->run->warp_steps * 8;
    const struct {
        uint32_t slot, bytes;
        uint64_t value;
    } clocks[] = {
        { SPECIAL_CLOCK, 4, now },    { SPECIAL_CLOCK_HI, 4, now >> 32 },
        { SPECIAL_CLOCK64, 8, now },  { SPECIAL_TIMER, 8, now },
        { SPECIAL_TIMER_LO, 4, now },
    };
    for (uint32_t k = 0; k < sizeof(clocks) / sizeof(*clocks); k++) {
        uint8_t *data = w->special + clocks[k].slot * SPECIAL_BYTES;
        for (uint32_t l = 0; l < SIM_WARP; l++)
            memcpy(data + (size_t) l * clocks[k].bytes, &clocks[k].value,
                   clocks[k].bytes);
    }
}

static uint32_t guarded(Warp *w, const Insn *i)
{
    uint32_t value = sim_word(w, &i->guard);
    if (!sim_need(w, &i->guard, w->group, "the predicate of the instruction"))
        return 0;
    return w->group & value;
}

/* At most 'quantum' instructions. */
static void run_warp(Warp *w, uint64_t quantum)
{
    Run *run = w->run;
    const Insn *code = run->module->code;
    for (uint64_t step = 0; step < quantum; step++) {
        if (w->regroup && !flow_choose(w))
            return;
        const Insn *i = &code[w->pc];
        w->insn = i;
        w->next = w->pc + 1;
        if (i->flags & FLAG_CLOCK)
            fill_clock(w);
        run->warp_steps++;
        run->lane_steps +=
            w->group == SIM_ALL ? SIM_WARP : (uint32_t) __builtin_popcount(w->group);
        uint32_t mask = i->guarded ? guarded(w, i) : w->group;
        if (mask)
            i->exec(w, i, mask);
        if (run->faulted)
            return;
        if (w->regroup)
            continue;
        w->pc = w->next;
        if (w->pc >= w->merge || !--w->patience)
            flow_part(w);
    }
}

static void set_special(Warp *w, uint32_t slot, uint32_t lane, uint32_t value)
{
    memcpy(w->special + slot * SPECIAL_BYTES + lane * sizeof(value), &value,
           sizeof(value));
}

/* Those that all blocks share. */
static void fill_special(Warp *w, const Run *run, const Block *b)
{
    for (uint32_t l = 0; l < SIM_WARP; l++) {
        const uint32_t t = w->index * SIM_WARP + l, *n = run->block;
        const uint32_t tid[3] = { t % n[0], t / n[0] % n[1], t / n[0] / n[1] };
        for (uint32_t k = 0; k < 3; k++) {
            set_special(w, SPECIAL_TID_X + k, l, tid[k]);
            set_special(w, SPECIAL_NTID_X + k, l, n[k]);
            set_special(w, SPECIAL_NCTAID_X + k, l, run->grid[k]);
        }
        set_special(w, SPECIAL_LANEID, l, l);
        set_special(w, SPECIAL_WARPID, l, w->index);
        set_special(w, SPECIAL_NWARPID, l, b->warp_count);
        set_special(w, SPECIAL_NSMID, l, 4);
        set_special(w, SPECIAL_LANEMASK_EQ, l, 1u << l);
        set_special(w, SPECIAL_LANEMASK_LT, l, (1u << l) - 1);
        set_special(w, SPECIAL_LANEMASK_LE, l, (2u << l) - 1);
        set_special(w, SPECIAL_LANEMASK_GE, l, ~((1u << l) - 1));
        set_special(w, SPECIAL_LANEMASK_GT, l, ~((2u << l) - 1));
        set_special(w, SPECIAL_DYNAMIC_SMEM, l, run->launch->shared_bytes);
        set_special(w, SPECIAL_TOTAL_SMEM, l, run->shared_bytes);
    }
}

static void fill_block_special(Warp *w, const Block *b)
{
    for (uint32_t l = 0; l < SIM_WARP; l++) {
        for (uint32_t k = 0; k < 3; k++)
            set_special(w, SPECIAL_CTAID_X + k, l, b->id[k]);
        set_special(w, SPECIAL_SMID, l, b->number % 4);
    }
}

static void new_warp(Warp *w, Run *run, Block *b, uint32_t index)
{
    w->run = run;
    w->block = b;
    w->index = index;
    w->insn = run->module->code;
    uint32_t left = b->threads - index * SIM_WARP;
    w->threads = left >= SIM_WARP ? SIM_ALL : (1u << left) - 1;
    w->special = sim_alloc_aligned((size_t) SPECIAL_COUNT * SPECIAL_BYTES);
    w->scratch = sim_alloc_aligned((size_t) SCRATCH_REFS * SPECIAL_BYTES);
    w->area[AREA_CONST] = run->module->consts;
    w->area[AREA_SPECIAL] = w->special;
    w->area[AREA_SCRATCH] = w->scratch;
    w->defined[AREA_CONST] = w->defined[AREA_SPECIAL] = &run->all_defined;
    w->defined[AREA_SCRATCH] = w->scratch_defined;
    flow_frame(w, run->function, 0);
    fill_special(w, run, b);
}

static void begin_warp(Warp *w)
{
    for (uint32_t k = 0; k < w->frame_count; k++) {
        Frame *f = &w->frames[k];
        memset(f->defined, 0, f->function->register_count * sizeof(uint32_t));
    }
    if (w->local_room)
        memset(w->locals_defined, 0, (size_t) w->local_room * SIM_WARP);
    for (uint32_t l = 0; l < SIM_WARP; l++) {
        w->state[l] = w->threads >> l & 1 ? LANE_RUNS : LANE_EXITED;
        w->pcs[l] = w->run->function->first;
        w->depths[l] = 0;
    }
    w->runs = w->threads;
    w->exited = 0;
    w->regroup = true;
    w->carry = 0;
    w->turns = 0;
    w->epoch = 1;
}

/* ---- blocks */

static Block *new_block(Run *run)
{
    Block *b = sim_alloc(sizeof(*b));
    b->threads = run->block[0] * run->block[1] * run->block[2];
    b->warp_count = (b->threads + SIM_WARP - 1) / SIM_WARP;
    b->warps = sim_alloc(b->warp_count * sizeof(Warp));
    b->shared = sim_alloc_aligned(run->shared_bytes);
    b->shared_defined = sim_alloc(run->shared_bytes);
    b->races = race_new((run->shared_bytes >> run->granule_shift) + 1);
    b->buffer = run->buffered ? sim_buffer_new() : NULL;
    for (uint32_t k = 0; k < b->warp_count; k++)
        new_warp(&b->warps[k], run, b, k);
    return b;
}

static void free_block(Block *b)
{
    for (uint32_t k = 0; b && k < b->warp_count; k++) {
        Warp *w = &b->warps[k];
        for (uint32_t f = 0; f < w->frame_count; f++) {
            free(w->frames[f].data);
            free(w->frames[f].defined);
        }
        free(w->frames);
        free(w->locals);
        free(w->locals_defined);
        free(w->special);
        free(w->scratch);
    }
    if (!b)
        return;
    free(b->warps);
    free(b->shared);
    free(b->shared_defined);
    free(b->races);
    free(b->buffer);
    free(b);
}

static void begin_block(Run *run, Block *b, uint64_t number)
{
    b->number = (uint32_t) number;
    b->id[0] = (uint32_t) (number % run->grid[0]);
    b->id[1] = (uint32_t) (number / run->grid[0] % run->grid[1]);
    b->id[2] = (uint32_t) (number / run->grid[0] / run->grid[1]);
    b->live = b->threads;
    b->epoch++; /* goes on, so that what the last block did is long ago */
    memset(b->shared_defined, 0, run->shared_bytes);
    memset(b->barriers, 0, sizeof(b->barriers));
    for (uint32_t k = 0; k < b->warp_count; k++) {
        begin_warp(&b->warps[k]);
        fill_block_special(&b->warps[k], b);
    }
}

/* A warp of the block that can go on, beginning anywhere; NULL. */
static Warp *find_warp(Run *run, Block *b)
{
    uint32_t first = (uint32_t) (sim_random(run) % b->warp_count);
    for (uint32_t k = 0; k < b->warp_count; k++) {
        Warp *w = &b->warps[(first + k) % b->warp_count];
        if (w->runs)
            return w;
    }
    return NULL;
}

/* ---- the grid */

/* Numbers below the next power of two are permuted; those beyond the last block are
 * passed over. */
static uint64_t permuted(const Grid *g, uint64_t i)
{
    uint32_t shift = ((uint32_t) __builtin_popcountll(g->mask) + 1) / 2;
    do {
        i = (i * g->factor + g->offset) & g->mask;
        i ^= i >> shift;
        i = (i * g->factor) & g->mask;
    } while (i >= g->count);
    return i;
}

static void new_grid(Run *run, Grid *g)
{
    g->count = (uint64_t) run->grid[0] * run->grid[1] * run->grid[2];
    for (g->mask = 1; g->mask < g->count - 1; g->mask = g->mask * 2 + 1)
        ;
    g->factor = sim_random(run) | 1;
    g->offset = sim_random(run);
    uint64_t threads = (uint64_t) run->block[0] * run->block[1] * run->block[2];
    uint64_t bytes = run->function->frame_bytes * (threads / SIM_WARP + 1) + 1;
    uint64_t fit = RESIDENT_BYTES / bytes < 2 ? 2 : RESIDENT_BYTES / bytes;
    fit = fit < RESIDENT_MOST ? fit : RESIDENT_MOST;
    g->resident_most = 1 + (uint32_t) (sim_random(run) % fit);
}

static void admit(Run *run, Grid *g)
{
    while (g->begun < g->count && g->resident_count < g->resident_most) {
        sim_grow(&g->resident, &g->capacity, g->resident_count, sizeof(Block *));
        Block *b = g->spare ? g->spare : new_block(run);
        g->spare = NULL;
        begin_block(run, b, permuted(g, g->begun++));
        g->resident[g->resident_count++] = b;
    }
}

static void retire(Grid *g, uint32_t k)
{
    Block *b = g->resident[k];
    if (b->buffer)
        sim_buffer_flush(b->buffer);
    g->resident[k] = g->resident[--g->resident_count];
    if (g->spare)
        free_block(b);
    else
        g->spare = b;
    g->turns = 0;
}

/* Short turns mostly, long ones now and then. */
static uint64_t quantum_of(Run *run)
{
    uint64_t bits = sim_random(run);
    uint64_t quantum = 1 + (bits >> 8) % (UINT64_C(1) << (bits % 11));
    uint64_t limit = run->launch->step_limit;
    uint64_t left = limit - run->warp_steps;
    return limit && left < quantum ? left : quantum;
}

static void check_limits(Run *run, Block *b)
{
    const SimLaunch *launch = run->launch;
    if (launch->step_limit && run->warp_steps >= launch->step_limit)
        sim_fault(&b->warps[0], UINT32_MAX, "the launch takes more than %llu steps",
                  (unsigned long long) launch->step_limit);
    if (launch->stop && run->warp_steps >= run->next_stop) {
        run->next_stop = run->warp_steps + STOP_STEPS;
        run->stopped = launch->stop(launch->stop_data);
    }
}

static void run_grid(Run *run, Grid *g)
{
    for (admit(run, g); g->resident_count && !run->faulted && !run->stopped;
         admit(run, g)) {
        uint32_t k = (uint32_t) (sim_random(run) % g->resident_count);
        Block *b = g->resident[k];
        Warp *w = find_warp(run, b);
        if (!w && b->live) {
            barrier_explain(b);
            return;
        }
        if (w)
            run_warp(w, quantum_of(run));
        if (run->faulted)
            return;
        if (!b->live) {
            retire(g, k);
            continue;
        }
        if (b->buffer && sim_random(run) % 8 == 0)
            sim_buffer_leak(b->buffer, run);
        check_limits(run, b);
        if (++g->turns > PATIENCE) {
            g->turns = 0;
            g->resident_most++;
        }
    }
}

/* ---- launches */

static bool refuse(SimResult *r, const SimLaunch *launch, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool refuse(SimResult *r, const SimLaunch *launch, const char *format, ...)
{
    int at = snprintf(r->message, SIM_MESSAGE,
                      "kernel %.80s: ", launch->kernel->function->name);
    va_list args;
    va_start(args, format);
    vsnprintf(r->message + at, SIM_MESSAGE - (size_t) at, format, args);
    va_end(args);
    return false;
}

static bool check_launch(const SimLaunch *launch, Run *run)
{
    const uint64_t most_grid[3] = { INT32_MAX, 65535, 65535 };
    uint64_t threads = 1;
    for (uint32_t k = 0; k < 3; k++) {
        run->grid[k] = launch->grid[k] ? launch->grid[k] : 1;
        run->block[k] = launch->block[k] ? launch->block[k] : 1;
        threads *= run->block[k] <= BLOCK_THREADS ? run->block[k] : BLOCK_THREADS + 1;
        if (run->grid[k] > most_grid[k])
            return refuse(run->result, launch, "a grid of %u blocks in a direction",
                          run->grid[k]);
    }
    if (threads > BLOCK_THREADS)
        return refuse(run->result, launch, "a block has more than %d threads",
                      BLOCK_THREADS);
    if (launch->param_bytes < run->function->param_bytes)
        return refuse(run->result, launch, "it has %u bytes of parameters, found %zu",
                      run->function->param_bytes, launch->param_bytes);
    if (launch->shared_bytes > BLOCK_SHARED ||
        run->module->shared_bytes > BLOCK_SHARED - launch->shared_bytes)
        return refuse(run->result, launch, "%u and %u bytes of shared memory",
                      run->module->shared_bytes, launch->shared_bytes);
    return true;
}

static void set_up(Run *run)
{
    const SimModule *m = run->module;
    bool has_nc = run->function->has_nc, writes = run->function->writes_global;
    for (uint32_t k = 0; run->function->has_calls && k < m->function_count; k++) {
        has_nc |= !m->functions[k]->entry && m->functions[k]->has_nc;
        writes |= !m->functions[k]->entry && m->functions[k]->writes_global;
    }
    bool watched = has_nc && writes && m->dialect == SIM_STRICT;
    run->lines = watched ? lines_new() : NULL;
    run->shared_static = (m->shared_bytes + 15) & ~15u;
    run->shared_bytes = run->shared_static + run->launch->shared_bytes;
    run->granule_shift = m->shared_granule >= 4 ? 2 : m->shared_granule / 2;
    run->buffered = (uint64_t) run->grid[0] * run->grid[1] * run->grid[2] > 1;
    run->all_defined = SIM_ALL;
    run->foreign = m->dialect == SIM_FOREIGN;
}

bool sim_run(const SimLaunch *launch, SimResult *result)
{
    memset(result, 0, sizeof(*result));
    Run run = { .launch = launch,
                .module = launch->kernel->module,
                .function = launch->kernel->function,
                .result = result,
                .random = launch->seed };
    if (!check_launch(launch, &run))
        return false;
    set_up(&run);
    if (launch->memory)
        memory_enter(launch->memory);
    Grid grid = { 0 };
    new_grid(&run, &grid);
    run_grid(&run, &grid);
    for (uint32_t k = 0; k < grid.resident_count; k++) {
        if (grid.resident[k]->buffer)
            sim_buffer_flush(grid.resident[k]->buffer);
        free_block(grid.resident[k]);
    }
    free_block(grid.spare);
    free(grid.resident);
    lines_delete(run.lines);
    if (launch->memory)
        memory_leave(launch->memory);
    result->lane_steps = run.lane_steps;
    result->warp_steps = run.warp_steps;
    result->stopped = run.stopped;
    return !run.faulted;
}
