/*
 * cpu_batch.c -- see cpu_batch.h
 *
 * Launches have nothing to do with each other if what one of them writes is used by no
 * other one. Large arrays that several read are a reason against it, too: those
 * launches may find them in the cache if they are run on some lanes, one after the
 * other (cpu_chain.c). Numbers that all of them read are none.
 *
 * Whether that is so is found by going through the bytes that the slots stand for, in
 * the order of addresses.
 */
#include "device/cpu/launch/cpu_batch.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/cpu/launch/cpu_launch.h"
#include "device/cpu/pool.h"
#include "os/clock.h"

enum {
    SHARED = 4096, /* bytes that several may read */
    PASSES = 4,    /* to find those that fit */
    NOBODY = UINT32_MAX
};

typedef struct CpuBatch {
    CpuGroup group;
    CpuJob **jobs;
    uint32_t *first; /* blocks before those of each, and all */
    CommandResult *results;
    uint64_t lanes;
    uint32_t count;
    ErrorRecord wrong;
} CpuBatch;

static CpuBatch *batch_of(CpuGroup *group)
{
    return (CpuBatch *) (void *) group;
}

/* ------------------------------------------------------------- what is used */

typedef struct Bytes {
    const char *begin, *end;
    uint32_t owner; /* number of the command */
    bool written;
} Bytes;

/* The two owners, and no more, whose bytes reach furthest. */
typedef struct Reach {
    const char *end[2];
    uint32_t owner[2];
} Reach;

static int compare(const void *a, const void *b)
{
    const Bytes *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static void extend(Reach *r, const Bytes *s)
{
    if (s->owner == r->owner[0]) {
        if (s->end > r->end[0])
            r->end[0] = s->end;
    } else if (s->end > r->end[0]) {
        r->end[1] = r->end[0];
        r->owner[1] = r->owner[0];
        r->end[0] = s->end;
        r->owner[0] = s->owner;
    } else if (r->owner[1] == NOBODY || s->end > r->end[1]) {
        r->end[1] = s->end;
        r->owner[1] = s->owner;
    }
}

/* Who else than its owner uses these bytes? */
static uint32_t other_owner(const Reach *r, const Bytes *s)
{
    for (uint32_t i = 0; i < 2; ++i)
        if (r->owner[i] != NOBODY && r->owner[i] != s->owner && r->end[i] > s->begin)
            return r->owner[i];
    return NOBODY;
}

/* The number of the first commands, of 'count', that have nothing to do with one that
 * was met on the way; 'count' if none was. */
static uint32_t go_through(const Bytes *all, size_t size, uint32_t count)
{
    const Reach none = { { NULL, NULL }, { NOBODY, NOBODY } };
    Reach used = none, written = none, large = none;
    for (size_t i = 0; i < size; ++i) {
        const Bytes *s = &all[i];
        if (s->owner >= count)
            continue;
        bool is_large = s->end - s->begin > SHARED;
        uint32_t other = other_owner(s->written ? &used : &written, s);
        if (other == NOBODY && is_large)
            other = other_owner(&large, s);
        if (other != NOBODY)
            return other > s->owner ? other : s->owner;
        extend(&used, s);
        if (s->written)
            extend(&written, s);
        if (is_large)
            extend(&large, s);
    }
    return count;
}

/* How many of the first commands have nothing to do with each other? 0: unknown. */
static uint32_t count_apart(const Command *head, uint32_t count)
{
    size_t size = 0;
    const Command *c = head;
    for (uint32_t i = 0; i < count; ++i, c = c->next)
        size += c->slot_count;
    Bytes *all = alloc_get((size ? size : 1) * sizeof *all);
    TRY(all, 0);
    size = 0;
    c = head;
    for (uint32_t i = 0; i < count; ++i, c = c->next)
        for (uint32_t k = 0; k < c->slot_count; ++k) {
            const char *begin = command_address(c, k);
            all[size++] = (Bytes) { begin, begin + c->slots[k].bytes, i,
                                    (c->slots[k].access & SLOT_WRITE) != 0 };
        }
    qsort(all, size, sizeof *all, compare);
    bool ok = false;
    for (uint32_t pass = 0; pass < PASSES && !ok; ++pass) {
        uint32_t fit = go_through(all, size, count);
        ok = fit == count;
        count = fit;
    }
    alloc_free(all);
    return ok ? count : 0;
}

/* ------------------------------------------------------------------- running */

static void run(CpuJob *job, uint32_t number, uint32_t worker)
{
    const CpuBatch *batch = batch_of(job->group);
    uint32_t low = 0, high = batch->count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (batch->first[middle] <= number)
            low = middle;
        else
            high = middle;
    }
    cpu_launch_block(batch->jobs[low], number - batch->first[low], worker);
}

static bool is_plain(const CpuJob *job)
{
    const Command *c = job->command;
    return c->kind == COMMAND_LAUNCH && job->run == cpu_launch_block && !job->finish &&
           !job->patient && !c->launch.workers && c->size;
}

static uint32_t count_alike(const CpuJob *job, uint32_t ready)
{
    const Command *head = job->command, *c = head->next;
    uint32_t count = 1;
    if (!is_plain(job))
        return 1;
    for (; count <= ready; ++count, c = c->next)
        if (!is_plain(c->job) || c->launch.code != head->launch.code ||
            c->interrupts != head->interrupts)
            break;
    return count;
}

static const CommandResult *find_results(CpuGroup *group)
{
    CpuBatch *batch = batch_of(group);
    const CpuJob *head = batch->jobs[0];
    const ErrorRecord *error = NULL;
    for (uint32_t i = 0; i < batch->count && !error; ++i)
        error = atomic_load(&batch->jobs[i]->error);
    if (error)
        batch->wrong = *error;
    uint64_t begin = atomic_load_explicit(&head->begin, memory_order_relaxed);
    uint64_t end = head->command->timed ? clock_ns() : 0;
    double share = begin ? (double) (end - begin) / (double) batch->lanes : 0;
    for (uint32_t i = 0; i < batch->count; ++i)
        batch->results[i] = (CommandResult) {
            .error = error ? &batch->wrong : NULL, .end = end,
            .ns = (uint64_t) (share * (double) batch->jobs[i]->command->size) };
    return batch->results;
}

static void release(CpuGroup *group)
{
    CpuBatch *batch = batch_of(group);
    alloc_free(batch->jobs);
    alloc_free(batch->first);
    alloc_free(batch->results);
    alloc_free(batch);
}

static CpuBatch *make(CpuJob *job, uint32_t count)
{
    CpuBatch *batch = alloc_zero(1, sizeof *batch);
    TRY(batch, NULL);
    batch->group = (CpuGroup) { find_results, release };
    batch->jobs = alloc_get(count * sizeof *batch->jobs);
    batch->first = alloc_get((count + 1) * sizeof *batch->first);
    batch->results = alloc_get(count * sizeof *batch->results);
    if (!batch->jobs || !batch->first || !batch->results) {
        release(&batch->group);
        return NULL;
    }
    Command *head = job->command, *c = head;
    batch->count = count;
    for (uint32_t i = 0; i < count; ++i, c = c->next) {
        batch->jobs[i] = c->job;
        batch->lanes += c->size;
        head->timed |= c->timed; /* it is the head's time that is taken */
    }
    return batch;
}

/* Small ones have memory for one worker. */
static bool widen(const CpuBatch *batch, uint32_t workers)
{
    for (uint32_t i = 0; i < batch->count; ++i)
        if (batch->jobs[i]->workers < workers)
            TRY(cpu_launch_widen(batch->jobs[i], workers), false);
    return true;
}

/* Have what they write go past the caches, if all of them together move so much. One
 * that there is no memory for does not. */
static void stream(const CpuBatch *batch)
{
    uint64_t bytes = 0, written = 0;
    for (uint32_t i = 0; i < batch->count; ++i)
        cpu_launch_count(batch->jobs[i], &bytes, &written);
    if (!cpu_launch_is_large(bytes, written))
        return;
    for (uint32_t i = 0; i < batch->count; ++i)
        if (!cpu_launch_stream(batch->jobs[i]))
            return;
}

bool cpu_batch_pays(uint64_t lanes)
{
    enum { LEAST = 4096 };
    return lanes > LEAST;
}

bool cpu_batch_begin(CpuJob *job, uint32_t ready)
{
    uint32_t count = count_alike(job, ready);
    if (count == 1)
        return false;
    ErrorRecord before;
    error_save(&before);
    count = count_apart(job->command, count);
    CpuBatch *batch = count > 1 ? make(job, count) : NULL;
    uint32_t workers = pool_worker_bound(), blocks = 0;
    bool ok = batch && widen(batch, workers);
    if (ok)
        stream(batch);
    else if (batch)
        release(&batch->group);
    error_restore(&before);
    TRY(ok, false);
    for (uint32_t i = 0; i < count; ++i) {
        batch->first[i] = blocks;
        blocks += batch->jobs[i]->blocks;
    }
    batch->first[count] = blocks;
    job->command->joined = count - 1;
    job->group = &batch->group;
    job->workers = workers;
    job->run = run;
    job->blocks = blocks;
    return true;
}
