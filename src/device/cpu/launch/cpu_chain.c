/*
 * cpu_chain.c -- see cpu_chain.h
 *
 * Commands can be run in this way if a lane of one needs from the others what the same
 * lane, or its row, has computed, and nothing else. Whatever two of them have in common
 * and one of them writes has to be used by both in the same way: entry l / n by lane l
 * (CpuSpan), where units begin at multiples of n. A command with a lane for each row,
 * which makes a mean of a sum, is one whose lanes stand for n lanes of the others.
 *
 *     softmax, rows of n    max            reads x: 1, writes m: n
 *                           sum of exp     reads x: 1, m: n, writes e: 1, s: n
 *                           quotient       reads e: 1, s: n, writes y: 1
 *
 * The bits are the same, as a row is computed from the same numbers in the same order.
 *
 * An array that the commands alone hold references to is gone when they have ended (e
 * above, if the program has let go of it). Each worker has a *tile* for it, memory for
 * a unit, and arguments with addresses that move along with the lanes.
 */
#include "device/cpu/launch/cpu_chain.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/launch/cpu_code.h"
#include "device/cpu/launch/cpu_launch.h"
#include "ir/reduce_rule.h"
#include "os/clock.h"

enum {
    UNIT = 32768, /* lanes, or one row if that has more: in the second-level cache with
                     all that the commands use */
    MOST_UNIT = 8 * UNIT,
    UNITS_PER_WORKER = 4,
    TILES = 8,
    USES = 32, /* of tiles */
    PAD = 64   /* bytes behind a tile */
};

/* A tile as an argument of a command. */
typedef struct Use {
    uint32_t command, word, entry; /* the number of the command; bytes */
    size_t offset;                 /* of the tile, in a worker's memory */
} Use;

typedef struct CpuChain {
    CpuGroup group;
    CpuJob *jobs[CPU_CHAIN];
    _Atomic uint64_t ns[CPU_CHAIN]; /* that each took, in all threads */
    size_t args[CPU_CHAIN];         /* offset of its arguments in a worker's memory */
    uint32_t scale[CPU_CHAIN];      /* lanes of the first one for each of its lanes */
    Use uses[USES];
    uint32_t count, use_count;
    uint32_t unit;  /* lanes of the first one */
    bool timed;     /* somebody wants to know how long one of them takes */
    Buffer *memory; /* of each worker: tiles, arguments; NULL: there are no tiles */
    size_t stride;
    CommandResult results[CPU_CHAIN];
    ErrorRecord wrong;
} CpuChain;

static CpuChain *chain_of(CpuGroup *group)
{
    return (CpuChain *) (void *) group;
}

/* --------------------------------------------------------------------- slots */

/* n, if lane l uses entry l / n of a slot and no other, else 0. */
static uint64_t find_span(const Command *c, uint32_t slot)
{
    if (c->kind == COMMAND_REDUCE)
        return c->reduce.stride > 1 ? 0 : slot == 0 ? 1 : c->reduce.block;
    const FusedReduction *fused = command_fused(c);
    for (uint32_t i = 0; i < c->launch.fused; ++i)
        if (fused[i].target == slot)
            return fused[i].op == REDUCE_PREFIX || fused[i].stride > 1 ? 0
                                                                     : fused[i].block;
    uint32_t word = c->slots[slot].word;
    if (word == SLOT_NO_WORD) /* what is reduced without being loaded */
        return 1;
    const CpuSpans *spans = &((const CpuCode *) (const void *) c->launch.code)->spans;
    const uint64_t *args = c->data;
    for (uint32_t i = 0; i < spans->count; ++i)
        if (spans->list[i].word == word) {
            uint32_t by = spans->list[i].by;
            return by == CPU_NO_WORD ? spans->list[i].lanes : (uint32_t) args[by];
        }
    return 0;
}

static bool overlap(const Command *a, uint32_t i, const Command *b, uint32_t k)
{
    const char *x = command_address(a, i), *y = command_address(b, k);
    return x < y + b->slots[k].bytes && y < x + a->slots[i].bytes;
}

/* Do lanes use the same entries of what overlaps, where one of them writes? */
static bool fit_slots(const Command *a, uint32_t i, const Command *b, uint32_t k)
{
    if (!((a->slots[i].access | b->slots[k].access) & SLOT_WRITE))
        return true;
    uint64_t span = find_span(a, i) * b->size; /* in lanes of both */
    return span && span == find_span(b, k) * a->size &&
           command_address(a, i) == command_address(b, k);
}

/* '*related': have they something in common, so that there is something to be won? */
static bool fit(const Command *a, const Command *b, bool *related)
{
    for (uint32_t i = 0; i < a->slot_count; ++i)
        for (uint32_t k = 0; k < b->slot_count; ++k) {
            if (!overlap(a, i, b, k))
                continue;
            TRY(fit_slots(a, i, b, k), false);
            *related = true;
        }
    return true;
}

/* --------------------------------------------------------------------- units */

static uint64_t common_multiple(uint64_t a, uint64_t b)
{
    uint64_t x = a, y = b;
    while (y) {
        uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* What the jobs of a chain want of it. */
typedef struct Wish {
    uint64_t granule; /* units begin at multiples of it */
    uint32_t most;    /* lanes of a unit */
    uint32_t workers; /* 0: all are small */
} Wish;

/* 'scale' lanes of the first one are a lane of this one. A small one has memory for one
 * worker, but need not stay like that. */
static Wish join_wishes(Wish wish, const CpuJob *job, uint32_t scale)
{
    uint64_t most = (uint64_t) job->most * scale;
    wish.granule = common_multiple(wish.granule, (uint64_t) job->granule * scale);
    wish.most = most < wish.most ? (uint32_t) most : wish.most;
    if (!job->small && (!wish.workers || job->workers < wish.workers))
        wish.workers = job->workers;
    return wish;
}

static uint32_t count_workers(const Wish *wish)
{
    return wish->workers ? wish->workers : 1;
}

/* 0: there is none. */
static uint32_t choose_unit(const Wish *wish, uint64_t size)
{
    uint64_t share = size / ((uint64_t) count_workers(wish) * UNITS_PER_WORKER);
    uint64_t unit = wish->granule > UNIT ? wish->granule : UNIT;
    unit = unit < wish->most ? unit : wish->most;
    unit = (unit < share ? unit : share) / wish->granule * wish->granule;
    return unit <= MOST_UNIT ? (uint32_t) unit : 0;
}

/* --------------------------------------------------------------------- tiles */

/* Can slot k of a command be a place in a tile, of an array that is written by command
 * 'first' and read by those behind it? */
static bool fits_tile(const CpuChain *chain, uint32_t number, uint32_t k,
                      uint32_t first)
{
    const Command *c = chain->jobs[number]->command;
    const Slot *slot = &c->slots[k];
    SlotAccess access = number == first ? SLOT_WRITE : SLOT_READ;
    return number >= first && slot->access == access && !slot->offset &&
           slot->word != SLOT_NO_WORD && chain->scale[number] == 1 &&
           find_span(c, k) == 1;
}

/* Add the uses of the array that slot 's' of command 'first' writes, if that can be a
 * tile: if all that hold it use it so. */
static void add_tile(CpuChain *chain, uint32_t first, uint32_t s, size_t *bytes)
{
    const Command *c = chain->jobs[first]->command;
    const Buffer *buffer = c->slots[s].buffer;
    uint32_t before = chain->use_count;
    uint32_t entry = (uint32_t) (c->slots[s].bytes / c->size);
    uint32_t refs = atomic_load_explicit(&buffer->refs, memory_order_acquire);
    bool ok = entry * c->size == c->slots[s].bytes;
    for (uint32_t i = 0; i < chain->count; ++i) {
        const Command *d = chain->jobs[i]->command;
        for (uint32_t k = 0; k < d->slot_count; ++k) {
            if (d->slots[k].buffer != buffer)
                continue;
            ok = ok && chain->use_count < USES && fits_tile(chain, i, k, first);
            if (!ok)
                break;
            chain->uses[chain->use_count++] =
                (Use) { i, d->slots[k].word, entry, *bytes };
        }
    }
    if (ok && refs == chain->use_count - before)
        *bytes += ((size_t) chain->unit * entry + 2 * PAD - 1) / PAD * PAD;
    else
        chain->use_count = before;
}

/* Memory of workers, with arguments in it. */
static bool get_memory(CpuChain *chain, size_t bytes, uint32_t workers)
{
    for (uint32_t i = 0; i < chain->count; ++i) {
        chain->args[i] = bytes;
        bytes += (chain->jobs[i]->command->data_size + PAD - 1) / PAD * PAD;
    }
    chain->stride = bytes;
    chain->memory = buffer_get(cpu_device(), bytes * workers);
    TRY(chain->memory, false);
    for (uint32_t w = 0; w < workers; ++w)
        for (uint32_t i = 0; i < chain->count; ++i) {
            const Command *c = chain->jobs[i]->command;
            if (c->data_size)
                memcpy((char *) chain->memory->address + w * chain->stride +
                           chain->args[i],
                       c->data, c->data_size);
        }
    return true;
}

static bool make_tiles(CpuChain *chain, uint32_t workers)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < chain->count; ++i) {
        const Command *c = chain->jobs[i]->command;
        for (uint32_t k = 0; k < c->slot_count; ++k)
            if (c->slots[k].access == SLOT_WRITE && c->slots[k].word != SLOT_NO_WORD)
                add_tile(chain, i, k, &bytes);
    }
    return !bytes || get_memory(chain, bytes, workers);
}

/* ------------------------------------------------------------------- running */

/* The arguments of a command, with the addresses of its tiles for lanes from 'begin'
 * on. */
static const uint64_t *find_args(const CpuChain *chain, uint32_t number, uint32_t begin,
                                 uint32_t worker)
{
    if (!chain->memory)
        return chain->jobs[number]->command->data;
    char *memory = (char *) chain->memory->address + worker * chain->stride;
    uint64_t *args = (uint64_t *) (void *) (memory + chain->args[number]);
    for (uint32_t i = 0; i < chain->use_count; ++i) {
        const Use *use = &chain->uses[i];
        if (use->command == number)
            args[use->word] =
                (uintptr_t) (memory + use->offset) - (uintptr_t) begin * use->entry;
    }
    return args;
}

static void run(CpuJob *job, uint32_t number, uint32_t worker)
{
    CpuChain *chain = chain_of(job->group);
    uint32_t size = (uint32_t) job->command->size, begin = number * chain->unit;
    uint32_t end = size - begin < chain->unit ? size : begin + chain->unit;
    uint64_t since = chain->timed ? clock_ns() : 0;
    for (uint32_t i = 0; i < chain->count; ++i) {
        CpuJob *j = chain->jobs[i];
        uint32_t scale = chain->scale[i];
        j->range(j, find_args(chain, i, begin, worker), begin / scale, end / scale,
                 worker);
        if (!chain->timed)
            continue;
        uint64_t now = clock_ns();
        atomic_fetch_add_explicit(&chain->ns[i], now - since, memory_order_relaxed);
        since = now;
    }
}

/* Who waits for the commands finds their memory free. */
static const CommandResult *find_results(CpuGroup *group)
{
    CpuChain *chain = chain_of(group);
    const ErrorRecord *error = NULL;
    for (uint32_t i = 0; i < chain->count && !error; ++i)
        error = atomic_load(&chain->jobs[i]->error);
    if (error)
        chain->wrong = *error;
    uint64_t end = chain->timed ? clock_ns() : 0;
    uint32_t entered = chain->jobs[0]->entered, threads = entered ? entered : 1;
    for (uint32_t i = 0; i < chain->count; ++i)
        chain->results[i] =
            (CommandResult) { .error = error ? &chain->wrong : NULL, .end = end,
                              .ns = atomic_load(&chain->ns[i]) / threads };
    buffer_release(chain->memory);
    return chain->results;
}

static void release(CpuGroup *group)
{
    alloc_free(chain_of(group));
}

/* Can it be the next one of the chain? */
static bool can_join(const CpuChain *chain, const Command *c)
{
    const Command *head = chain->jobs[0]->command;
    const CpuJob *job = c->job;
    bool related = false;
    if (!job->range || !c->size || head->size % c->size ||
        c->interrupts != head->interrupts)
        return false;
    for (uint32_t i = 0; i < chain->count; ++i)
        TRY(fit(chain->jobs[i]->command, c, &related), false);
    return related;
}

/* Those that can be; the wishes of all. */
static Wish collect(CpuChain *chain, CpuJob *job, uint32_t ready)
{
    const Command *head = job->command, *c = head;
    Wish wish = join_wishes((Wish) { 1, UINT32_MAX, 0 }, job, 1);
    chain->jobs[0] = job;
    chain->scale[0] = chain->count = 1;
    chain->timed = head->timed;
    while (chain->count <= ready && chain->count < CPU_CHAIN) {
        c = c->next;
        if (!can_join(chain, c))
            break;
        uint32_t scale = (uint32_t) (head->size / c->size);
        Wish all = join_wishes(wish, c->job, scale);
        uint32_t unit = choose_unit(&all, head->size);
        if (!unit)
            break;
        wish = all;
        chain->unit = unit;
        chain->timed |= c->timed;
        chain->scale[chain->count] = scale;
        chain->jobs[chain->count++] = c->job;
    }
    return wish;
}

/* Have small launches serve all workers; the chain ends before one that cannot. */
static void widen(CpuChain *chain, uint32_t workers)
{
    for (uint32_t i = 0; i < chain->count; ++i) {
        CpuJob *job = chain->jobs[i];
        bool narrow = job->command->kind == COMMAND_LAUNCH && job->workers < workers;
        if (job->small && narrow && !cpu_launch_widen(job, workers))
            chain->count = i;
    }
}

bool cpu_chain_pays(uint64_t lanes, uint64_t next)
{
    enum { LONG = 1 << 16 };
    uint64_t most = lanes > next ? lanes : next, least = lanes > next ? next : lanes;
    return most >= LONG && least && most % least == 0;
}

void cpu_chain_begin(CpuJob *job, uint32_t ready)
{
    Command *head = job->command;
    if (!job->range || !ready)
        return;
    ErrorRecord before;
    error_save(&before);
    CpuChain *chain = alloc_zero(1, sizeof *chain);
    uint32_t workers = 1;
    if (chain) {
        Wish wish = collect(chain, job, ready);
        workers = count_workers(&wish);
        widen(chain, workers);
    }
    if (!chain || chain->count <= 1 || !make_tiles(chain, workers)) {
        alloc_free(chain);
        error_restore(&before);
        return;
    }
    head->joined = chain->count - 1;
    chain->group = (CpuGroup) { find_results, release };
    job->group = &chain->group;
    job->workers = workers;
    job->run = run;
    job->finish = NULL;
    job->blocks = (uint32_t) ((head->size - 1) / chain->unit + 1);
}
