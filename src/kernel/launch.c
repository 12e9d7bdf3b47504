/*
 * launch.c -- run a kernel as stream work
 *
 * One allocation holds all of a launch: this record, its copy of the arguments (the
 * traced ones, then the values of generalised literals, then the address of the
 * reports) and the reports. Scratch memory comes from the buffer cache. The stream runs
 * the blocks; the last one out calls finish(), which reports and releases everything.
 *
 * Small launches run in the calling thread at once, with a single block and scratch
 * memory for a single worker. Whether a launch is small, and into how many blocks
 * others are cut, follows from the kernel's expected cost for a lane (launch_costs),
 * which need not be precise. With loops it cannot be: the time that such a kernel
 * spends in its base code is measured, and accounted after each block.
 *
 * Each block asks tier_code() for the best code there is by then. Scratch memory was
 * sized for what there was at submission: if better code needs more, this launch stays
 * with the base code. Clocks are read only for launches that somebody wants timed, and
 * for larger ones of kernels that could be upgraded; small ones account what they were
 * expected to take.
 */
#include "kernel/launch.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "device/buffer.h"
#include "device/cpu/pool.h"
#include "kernel/tier.h"

enum {
    DEFAULT_BLOCK = 16384, /* lanes */
    GRANULE = 64,          /* blocks start at multiples of it */
    BLOCKS_PER_WORKER = 4, /* so that they finish at about the same time */
    MIN_BLOCK_BASE = 256,  /* interpreting fewer lanes at a time costs more for each */
    MIN_BLOCK_BETTER = 64,
    STEP_LANES = 512,      /* lanes that the interpreter treats in one step */

    LOOP_TIMES = 16,       /* how often loops run is not known: each so many times, */
    MOST_TIMES = 4096,     /* but no instruction more often than this */

    /* Expected costs, in picoseconds (measured on Zen 4, in cache). */
    COST_BASE = 50,         /* a lane of an operation, interpreted */
    COST_BETTER = 20,       /* the same, compiled */
    COST_STREAM = 40,       /* a lane of a load or store, on top of that */
    COST_RANDOM = 500,      /* a lane of a gather or scatter, on top of that */
    COST_STEP = 4000,       /* an operation, once a step of the interpreter */
    COST_BLOCK = 5000000,   /* a block should take this long */
    COST_SMALL = 20000000,  /* waking up somebody costs about this */
    COST_SINGLE = 100000000, /* the same, where sharing is impossible anyway */
    MOST_COST = 1 << 30      /* of a lane: times lanes, there is no overflow */
};

typedef struct Launch {
    Kernel *kernel; /* one reference */
    uint64_t *args;
    CheckReport *reports;  /* NULL if there are no checks */
    PrintLog *prints;      /* NULL if nothing is printed */
    Buffer *scratch;       /* NULL if none is needed */
    size_t scratch_stride; /* bytes for each worker */
    uint32_t size, block, check_count;
    bool account, timed;
    uint64_t announced;       /* ns that were accounted at submission */
    _Atomic uint64_t first;   /* time at which the first block began, if timed */
    _Atomic uint64_t base_ns; /* spent in base code, if accounted */
    void (*done)(void *payload, uint64_t ns, const CheckReport *reports,
                 uint32_t count, const PrintRecords *prints);
    void *payload;
    uint64_t words[]; /* args */
} Launch;

static _Atomic uint32_t block_size = DEFAULT_BLOCK;

/* -------------------------------------------------------------------- costs */

/* What memory accesses of an operation cost, beyond the operation as such. */
static const uint16_t access_cost[OP_COUNT] = {
    [OP_LOAD] = COST_STREAM,           [OP_STORE] = COST_STREAM,
    [OP_GATHER] = COST_RANDOM,         [OP_GATHER_PACKET] = COST_RANDOM,
    [OP_SCATTER] = COST_RANDOM,        [OP_SCATTER_PACKET] = COST_RANDOM,
    [OP_SCATTER_INC] = COST_RANDOM,    [OP_SCATTER_ADD] = COST_RANDOM,
    [OP_SCATTER_EXCH] = COST_RANDOM,   [OP_SCATTER_CAS] = COST_RANDOM
};

/* Sums over all instructions of a Program and its callables. */
typedef struct Sums {
    uint64_t memory;     /* picoseconds for each lane */
    uint64_t operations; /* of lanes */
    uint64_t insts;      /* once a step of the interpreter */
    bool loops;
} Sums;

static uint64_t at_most(uint64_t value, uint64_t most)
{
    return value < most ? value : most;
}

/* How often something within 'depth' loops runs. */
static uint64_t loop_times(uint64_t times, uint32_t depth)
{
    for (; depth && times < MOST_TIMES; --depth)
        times *= LOOP_TIMES;
    return at_most(times, MOST_TIMES);
}

static void add_calls(const Program *p, const Region *region, uint64_t times,
                      uint64_t *calls)
{
    for (uint32_t i = 0; i < region->target_count; ++i) {
        uint64_t *count = &calls[p->extra[region->targets + i]];
        *count = at_most(*count + times, MOST_TIMES);
    }
}

/* What a body without control flow costs that is expected to run 'times' times. */
static void add_straight(Sums *sums, const Program *p, uint64_t times)
{
    uint64_t memory = 0, operations = 0, now = loop_times(times, 0);
    for (uint32_t i = 0; i < p->inst_count; ++i) {
        /* Nobody could predict a branch. */
        uint64_t each = !(p->insts[i].flags & INST_UNIFORM);
        memory += -each & access_cost[p->insts[i].op];
        operations += each;
    }
    sums->memory += now * memory;
    sums->operations += now * operations;
    sums->insts += now * p->inst_count;
}

/* The same of any body; 'calls' counts how often each callable then runs. */
static void add_body(Sums *sums, const Program *p, uint64_t times, uint64_t *calls)
{
    uint64_t now = loop_times(times, 0);
    uint32_t depth = 0;
    if (!p->region_count) {
        add_straight(sums, p, times);
        return;
    }
    for (uint32_t i = 0; i < p->inst_count; ++i) {
        const Inst *inst = &p->insts[i];
        if (inst->op == OP_REGION || inst->op == OP_END) {
            const Region *region = &p->regions[inst->aux];
            if (inst->op == OP_REGION)
                add_calls(p, region, now, calls);
            if (region->kind == REGION_LOOP) {
                now = loop_times(times, inst->op == OP_REGION ? ++depth : --depth);
                sums->loops = true;
            }
        }
        uint64_t each = inst->flags & INST_UNIFORM ? 0 : now;
        sums->memory += each * access_cost[inst->op];
        sums->operations += each;
        sums->insts += now;
    }
}

bool launch_costs(const Program *program, KernelCosts *out)
{
    Sums sums = { 0 };
    uint64_t *calls = NULL;
    if (program->callable_count) {
        calls = alloc_zero(program->callable_count, sizeof(uint64_t));
        TRY(calls, false);
    }
    add_body(&sums, program, 1, calls);
    /* Callables call earlier ones only. */
    for (uint32_t i = program->callable_count; i-- > 0;)
        add_body(&sums, program->callables[i], calls[i], calls);
    alloc_free(calls);
    out->base = at_most(sums.memory + sums.operations * COST_BASE, MOST_COST);
    out->better = at_most(sums.memory + sums.operations * COST_BETTER, MOST_COST);
    out->step = at_most(sums.insts * COST_STEP, MOST_COST);
    out->loops = sums.loops;
    return true;
}

/* Picoseconds a launch is expected to take in one thread. */
static uint64_t predict(const Kernel *kernel, bool upgraded, uint32_t size)
{
    const KernelCosts *costs = &kernel->costs;
    if (upgraded || !kernel->interpreted)
        return costs->better * size;
    uint64_t steps = (size + (uint64_t) STEP_LANES - 1) / STEP_LANES;
    return costs->base * size + steps * costs->step;
}

/* Lanes of a block: several for each worker, none that is over in no time. */
static uint32_t choose_block(const Kernel *kernel, bool upgraded, uint32_t size,
                             uint64_t cost, uint32_t workers)
{
    uint32_t largest = launch_block_size();
    if (workers <= 1)
        return largest;
    uint64_t lane_cost = cost / size + 1;
    uint64_t least = COST_BLOCK / lane_cost;
    uint32_t floor =
        upgraded || !kernel->interpreted ? MIN_BLOCK_BETTER : MIN_BLOCK_BASE;
    if (least < floor)
        least = floor;
    uint64_t block = size / ((uint64_t) workers * BLOCKS_PER_WORKER) + 1;
    if (block < least)
        block = least;
    if (block > largest)
        block = largest;
    return (uint32_t) ((block + GRANULE - 1) / GRANULE * GRANULE);
}

void launch_set_block_size(uint32_t lanes)
{
    uint64_t rounded = ((uint64_t) lanes + GRANULE - 1) / GRANULE * GRANULE;
    if (rounded == 0)
        rounded = GRANULE;
    if (rounded > 1u << 30)
        rounded = 1u << 30;
    atomic_store_explicit(&block_size, (uint32_t) rounded, memory_order_relaxed);
}

uint32_t launch_block_size(void)
{
    return atomic_load_explicit(&block_size, memory_order_relaxed);
}

/* ---------------------------------------------------------------------- run */

static void run(void *payload, uint32_t number, uint32_t worker)
{
    Launch *launch = payload;
    const KernelCode *code = tier_code(launch->kernel);
    if (code->scratch > launch->scratch_stride)
        code = &launch->kernel->base;
    uint32_t begin = number * launch->block, left = launch->size - begin;
    uint32_t end = begin + (left < launch->block ? left : launch->block);
    bool clocked = launch->timed || launch->account;
    uint64_t start = clocked ? clock_ns() : 0;
    if (launch->timed && !atomic_load_explicit(&launch->first, memory_order_relaxed)) {
        uint64_t none = 0;
        atomic_compare_exchange_strong_explicit(
            &launch->first, &none, start, memory_order_relaxed, memory_order_relaxed);
    }
    char *scratch = launch->scratch ? launch->scratch->data : NULL;
    if (scratch)
        scratch += worker * launch->scratch_stride;
    code->engine->launch(code->code, launch->args, begin, end, worker, scratch);
    if (!launch->account || code != &launch->kernel->base)
        return;
    uint64_t ns = clock_ns() - start;
    if (!launch->kernel->costs.loops)
        atomic_fetch_add_explicit(&launch->base_ns, ns, memory_order_relaxed);
    else if (tier_wants_account(launch->kernel))
        tier_account(launch->kernel, ns);
}

static void finish(void *payload)
{
    Launch *launch = payload;
    if (launch->account) {
        uint64_t ns = atomic_load_explicit(&launch->base_ns, memory_order_relaxed);
        if (ns > launch->announced && tier_wants_account(launch->kernel))
            tier_account(launch->kernel, ns - launch->announced);
    }
    if (launch->done) {
        uint64_t first = atomic_load_explicit(&launch->first, memory_order_relaxed);
        launch->done(launch->payload, first ? clock_ns() - first : 0, launch->reports,
                     launch->check_count,
                     launch->prints ? print_log_finish(launch->prints) : NULL);
    }
    print_log_free(launch->prints);
    buffer_release(launch->scratch);
    cache_release(launch->kernel);
    alloc_free(launch);
}

/* ------------------------------------------------------------------- submit */

static void fill_args(Launch *launch, const LaunchSpec *spec)
{
    const Kernel *kernel = spec->kernel;
    const Program *traced = spec->program;
    uint32_t count = traced->param_count - (traced->check_count != 0);
    uint64_t *args = launch->args;
    if (count)
        memcpy(args, spec->args, count * sizeof(uint64_t));
    for (uint32_t i = 0; i < kernel->value_count; ++i)
        args[kernel->first_value + i] = traced->literals[kernel->value_literals[i]];
    if (launch->prints)
        args[program_find_param(kernel->program, PARAM_PRINT)] =
            (uint64_t) (uintptr_t) launch->prints;
    if (!launch->reports)
        return;
    args[kernel->program->param_count - 1] = (uint64_t) (uintptr_t) launch->reports;
    memset(launch->reports, 0, launch->check_count * sizeof(CheckReport));
    for (uint32_t i = 0; i < launch->check_count; ++i)
        launch->reports[i].bound = spec->check_bounds[i];
}

static Launch *create(const LaunchSpec *spec)
{
    uint32_t params = spec->kernel->program->param_count;
    uint32_t checks = spec->program->check_count;
    Launch *launch = alloc_get(sizeof(Launch) + params * sizeof(uint64_t) +
                               checks * sizeof(CheckReport));
    TRY(launch, NULL);
    launch->prints = NULL;
    if (spec->program->print_count) {
        launch->prints = print_log_make(spec->program, PRINT_LOG_BYTES);
        if (!launch->prints) {
            alloc_free(launch);
            return NULL;
        }
    }
    launch->kernel = spec->kernel;
    launch->args = launch->words;
    launch->reports = checks ? (CheckReport *) (launch->words + params) : NULL;
    launch->check_count = checks;
    launch->scratch = NULL;
    launch->scratch_stride = 0;
    launch->size = spec->size;
    launch->account = false;
    launch->timed = spec->done != NULL;
    launch->announced = 0;
    atomic_init(&launch->first, 0);
    atomic_init(&launch->base_ns, 0);
    launch->done = spec->done;
    launch->payload = spec->payload;
    fill_args(launch, spec);
    return launch;
}

static bool get_scratch(Launch *launch, size_t bytes, uint32_t workers)
{
    if (!bytes)
        return true;
    size_t stride = (bytes + GRANULE - 1) / GRANULE * GRANULE;
    if (stride < bytes || stride > SIZE_MAX / workers) {
        error_set(JIT_ERROR_MEMORY,
                  "jit_eval(): the kernel needs too much scratch memory");
        return false;
    }
    launch->scratch = buffer_get(stride * workers);
    TRY(launch->scratch, false);
    launch->scratch_stride = stride;
    return true;
}

/* A kernel that may be upgraded is about to be interpreted. */
static void announce(Launch *launch, uint64_t cost, bool small)
{
    if (launch->kernel->costs.loops) {
        launch->account = true;
        return;
    }
    launch->announced = cost / 1000;
    launch->account = !small;
    tier_account(launch->kernel, launch->announced);
}

bool launch_submit(Stream *stream, const LaunchSpec *spec)
{
    Kernel *kernel = spec->kernel;
    const KernelCode *code = tier_code(kernel);
    bool upgraded = code == &kernel->better;
    uint64_t cost = predict(kernel, upgraded, spec->size);
    bool small =
        cost < COST_SMALL || (cost < COST_SINGLE && spec->size <= MIN_BLOCK_BETTER);
    uint32_t workers = small ? 1 : pool_worker_bound();
    if (spec->workers && spec->workers < workers)
        workers = spec->workers;
    Launch *launch = create(spec);
    TRY(launch, false);
    if (!get_scratch(launch, code->scratch, workers)) {
        print_log_free(launch->prints);
        alloc_free(launch);
        return false;
    }
    cache_retain(kernel);
    launch->block = small || !spec->size
                        ? spec->size
                        : choose_block(kernel, upgraded, spec->size, cost, workers);
    if (!upgraded && tier_wants_account(kernel))
        announce(launch, cost, small);
    JobSpec job = { .run = run,
                    .finish = finish,
                    .payload = launch,
                    .blocks = spec->size ? (spec->size - 1) / launch->block + 1 : 0,
                    .workers = workers,
                    .small = small,
                    .reads = spec->reads,
                    .writes = spec->writes,
                    .read_count = spec->read_count,
                    .write_count = spec->write_count };
    stream_submit(stream, &job);
    return true;
}
