/*
 * cache.c -- find a kernel, or make it once
 *
 *     cache_find()   table look-up under the lock, also of generalised kernels
 *     cache_get()    the same; near miss? -> generalise; somebody at it? -> wait
 *                    ->  compile without locks  ->  enter, wake up who waited
 *
 * A compile in progress is a Pending in a short list. Who finds one for an equal
 * Program waits for it and gets its kernel, or its error. Each Pending is counted,
 * because those who wait read it after the maker has left.
 *
 * Kernels are counted too: one reference of the table, one of each finder and launch.
 * What leaves the table is released after the lock, since freeing code calls an engine.
 *
 * fork() waits until no compile runs, and with the lock held, so that in the child
 * neither a Pending without a maker nor a lock within an engine is left. For that a
 * compile must end whatever lock the forking thread holds: its log lines are held back
 * until it has ended, and the origins of literals, which need the graph lock, are asked
 * for outside of it.
 */
#include "kernel/cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "kernel/cache_table.h"
#include "kernel/compile.h"
#include "kernel/literals.h"
#include "kernel/tier.h"
#include "os/clock.h"

enum {
    DEFAULT_BOUND = 65536, /* kernels */
    LOGGED_LITERALS = 8
};

/* A compile in progress. */
typedef struct Pending {
    struct Pending *next;
    ProgramKey key;
    const Program *program; /* of the maker, valid until 'done' */
    uint32_t refs;
    bool done;
    Kernel *kernel; /* one reference, given up with the Pending; NULL: it failed */
    ErrorRecord error;
} Pending;

/* What is to be compiled. */
typedef struct Order {
    ProgramKey key;
    uint32_t lanes; /* of the launch that wants it */
    const Program *program;
    Hash128 traced_skeleton;
    Program *general; /* 'program' of a generalised kernel, handed over; else NULL */
    const Program *traced;
    uint32_t *positions; /* of generalised literals, handed over */
    uint32_t position_count, first_value;
} Order;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t made = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Guarded by 'lock'. */
static CacheTable table;
static Pending *pending_list;
static CacheStats stats;
static uint32_t bound;     /* 0: not read yet */
static uint32_t upgrading; /* threads that are in tier_upgrade() */
static bool closed;        /* see cache_close() */

static _Atomic uint64_t engine_choice; /* a hash, 0: not computed yet */

/* --------------------------------------------------------------------- fork */

static void fork_prepare(void)
{
    pthread_mutex_lock(&lock);
    while (pending_list || upgrading)
        pthread_cond_wait(&made, &lock);
    tier_fork_lock();
}

static void fork_parent(void)
{
    tier_fork_unlock();
    pthread_mutex_unlock(&lock);
}

static void fork_child(void)
{
    pthread_cond_init(&made, NULL);
    fork_parent();
}

static void initialise(void)
{
    (void) pthread_atfork(fork_prepare, fork_parent, fork_child);
}

void cache_init(void)
{
    pthread_once(&once, initialise);
}

/* -------------------------------------------------------------- environment */

const Engine *cache_forced_engine(void)
{
    const Engine *forced;
    if (tier_forced_engine(&forced))
        return forced;
    error_clear();
    return NULL;
}

uint64_t cache_environment(const Device *device, const Target *target)
{
    uint64_t known = atomic_load_explicit(&engine_choice, memory_order_relaxed);
    if (!known) {
        const Engine *forced = cache_forced_engine();
        const char *name = forced ? forced->name : "";
        known = hash_64(name, strlen(name), 0) | 1;
        atomic_store(&engine_choice, known);
    }
    uint64_t named = target ? hash_64(&known, sizeof(known), target->name) : known;
    return named + 2 * (uint64_t) device->index;
}

ProgramKey cache_key(const Program *program, Device *device, const Target *target)
{
    ProgramHash hash = program_hash(program, cache_environment(device, target));
    return (ProgramKey) { hash.skeleton, hash.full, device, target };
}

static uint32_t read_bound(void)
{
    const char *text = getenv("DRJIT_KERNEL_CACHE_SIZE");
    char *end;
    unsigned long value = text ? strtoul(text, &end, 10) : 0;
    bool valid = value > 0 && value <= UINT32_MAX / 4 && *end == 0;
    return valid ? (uint32_t) value : DEFAULT_BOUND;
}

/* ---------------------------------------------------------------- references */

void cache_retain(Kernel *kernel)
{
    atomic_fetch_add_explicit(&kernel->refs, 1, memory_order_relaxed);
}

static void free_kernel(Kernel *kernel)
{
    code_release(kernel->base.code);
    code_release(kernel->better.code);
    program_free(kernel->program);
    program_free(kernel->traced);
    alloc_free(kernel->value_literals);
    alloc_free(kernel);
}

void cache_release(Kernel *kernel)
{
    if (kernel &&
        atomic_fetch_sub_explicit(&kernel->refs, 1, memory_order_acq_rel) == 1)
        free_kernel(kernel);
}

/* Kernels that left the table, linked by 'older'. */
static void release_list(Kernel *list)
{
    while (list) {
        Kernel *next = list->older;
        list->older = NULL;
        cache_release(list);
        list = next;
    }
}

/* ---------------------------------------------------------------------- find */

/* With the lock held; retained. */
static Kernel *look_up(const Program *program, const ProgramKey *key)
{
    Kernel *kernel = cache_table_find(&table, program, key->full);
    if (!kernel)
        kernel = cache_table_find_general(&table, program, key->skeleton);
    if (!kernel)
        return NULL;
    cache_table_touch(&table, kernel);
    cache_retain(kernel);
    stats.hits++;
    return kernel;
}

Kernel *cache_find(const Program *program, const ProgramKey *key)
{
    pthread_mutex_lock(&lock);
    Kernel *kernel = look_up(program, key);
    pthread_mutex_unlock(&lock);
    return kernel;
}

/* ---------------------------------------------------------------------- make */

static bool take_programs(Kernel *kernel, Order *order)
{
    if (!order->general) {
        kernel->program = program_share(order->program);
        return kernel->program != NULL;
    }
    kernel->program = order->general;
    kernel->value_literals = order->positions;
    kernel->value_count = order->position_count;
    kernel->first_value = order->first_value;
    order->general = NULL;
    order->positions = NULL;
    kernel->traced = program_share(order->traced);
    return kernel->traced != NULL;
}

/* A kernel's first code, from another engine if the system refuses what one needs. */
static bool compile_base(Kernel *kernel, const Order *order, const Engine **better)
{
    const Engine *base;
    do {
        TRY(tier_engines(order->program, order->key.device->code, &base, better),
            false);
        kernel->base = tier_plan(base, order->program, order->lanes);
        if (compile_code(order->program, &order->key, &kernel->base,
                         &kernel->from_disk))
            return true;
    } while (error_code() == JIT_ERROR_SYSTEM && tier_refuse(base));
    return false;
}

static Kernel *make(Order *order)
{
    uint64_t start = clock_ns();
    Kernel *kernel = alloc_zero(1, sizeof(Kernel));
    TRY(kernel, NULL);
    kernel->key = order->key;
    kernel->traced_skeleton = order->traced_skeleton;
    atomic_init(&kernel->refs, 1);
    const Engine *better;
    if (!compile_verify(order->program) || !compile_base(kernel, order, &better) ||
        !take_programs(kernel, order)) {
        cache_release(kernel);
        return NULL;
    }
    tier_begin(kernel, better);
    kernel->build_ns = clock_ns() - start;
    return kernel;
}

/* ------------------------------------------------------------------- pending */

/* With the lock held. */
static Pending *find_pending(const Order *order)
{
    for (Pending *p = pending_list; p; p = p->next)
        if (hash_equal(p->key.full, order->key.full) &&
            program_equal(p->program, order->program))
            return p;
    return NULL;
}

/* With the lock held. Returns the kernel whose reference is to be given up. */
static Kernel *drop_pending(Pending *pending)
{
    if (--pending->refs)
        return NULL;
    Kernel *kernel = pending->kernel;
    alloc_free(pending);
    return kernel;
}

/* With the lock held, which it releases. */
static Kernel *wait_for(Pending *pending)
{
    pending->refs++;
    while (!pending->done)
        pthread_cond_wait(&made, &lock);
    Kernel *kernel = pending->kernel;
    ErrorRecord error = pending->error;
    if (kernel) {
        cache_retain(kernel);
        stats.hits++;
    }
    Kernel *last = drop_pending(pending);
    pthread_mutex_unlock(&lock);
    cache_release(last);
    if (!kernel)
        error_restore(&error);
    return kernel;
}

/* Enter a new kernel; returns those that had to leave. With the lock held. */
static Kernel *enter(Kernel *kernel)
{
    Kernel *evicted = NULL;
    if (!cache_table_insert(&table, kernel)) {
        error_clear(); /* it works all the same, but only this time */
        return NULL;
    }
    cache_retain(kernel);
    if (!bound)
        bound = read_bound();
    while (table.count > bound) {
        Kernel *oldest = table.oldest;
        cache_table_remove(&table, oldest);
        oldest->older = evicted;
        evicted = oldest;
    }
    return evicted;
}

static void finish(Pending *pending, Kernel *kernel)
{
    Kernel *evicted = NULL;
    Pending **link = &pending_list;
    if (!kernel)
        error_save(&pending->error);
    pthread_mutex_lock(&lock);
    while (*link != pending)
        link = &(*link)->next;
    *link = pending->next;
    if (kernel) {
        evicted = enter(kernel);
        if (kernel->from_disk)
            stats.soft_misses++;
        else
            stats.hard_misses++;
        cache_retain(kernel);
    }
    pending->kernel = kernel;
    pending->done = true;
    Kernel *last = drop_pending(pending);
    pthread_cond_broadcast(&made);
    pthread_mutex_unlock(&lock);
    cache_release(last);
    release_list(evicted);
}

/* Find or make what is ordered; '*fresh': it was made by this call. */
static Kernel *deliver(Order *order, bool *fresh)
{
    *fresh = false;
    Pending *mine = alloc_zero(1, sizeof(Pending));
    TRY(mine, NULL);
    pthread_mutex_lock(&lock);
    Kernel *kernel = cache_table_find(&table, order->program, order->key.full);
    Pending *theirs = kernel ? NULL : find_pending(order);
    if (kernel) {
        cache_table_touch(&table, kernel);
        cache_retain(kernel);
        stats.hits++;
        pthread_mutex_unlock(&lock);
    } else if (theirs) {
        kernel = wait_for(theirs);
    }
    if (kernel || theirs) {
        alloc_free(mine);
        return kernel;
    }
    if (closed) {
        pthread_mutex_unlock(&lock);
        alloc_free(mine);
        error_set(JIT_ERROR_STATE, "jit_eval(): no more kernels are made: the process "
                                   "is ending");
        return NULL;
    }
    mine->key = order->key;
    mine->program = order->program;
    mine->refs = 1;
    mine->next = pending_list;
    pending_list = mine;
    pthread_mutex_unlock(&lock);
    log_defer();
    kernel = make(order);
    finish(mine, kernel);
    log_release();
    *fresh = kernel != NULL;
    return kernel;
}

/* ---------------------------------------------------------------- near misses */

static void log_literal(const Program *program, const Program *before,
                        uint32_t position, const ProgramKey *key, LiteralOrigin origin,
                        void *context)
{
    Text text = { 0 };
    VarType type = literals_type(program, position);
    text_put(&text, "jit_eval(): kernel ");
    text_put_hex64(&text, key->full.high);
    text_put(&text, ": literal ");
    literals_write(&text, type, program->literals[position]);
    const char *name = origin ? origin(context, position) : NULL;
    if (name)
        text_putf(&text, " (%s)", name);
    text_put(&text, " differs from ");
    literals_write(&text, type, before->literals[position]);
    text_put(&text, ": turned into a parameter.");
    const char *line = text_get(&text);
    if (line)
        log_text(LogLevelInfo, line);
    text_free(&text);
}

static void log_literals(const Program *program, const Kernel *sibling,
                         const ProgramKey *key, LiteralOrigin origin, void *context)
{
    if (!log_enabled(LogLevelInfo))
        return;
    const Program *before = sibling->traced ? sibling->traced : sibling->program;
    uint32_t k = 0, seen = 0;
    for (uint32_t i = 0; i < program->literal_count; ++i) {
        if (k < sibling->value_count && sibling->value_literals[k] == i)
            ++k;
        else if (program->literals[i] != before->literals[i] &&
                 seen++ < LOGGED_LITERALS)
            log_literal(program, before, i, key, origin, context);
    }
    if (seen > LOGGED_LITERALS)
        log_write(LogLevelInfo, "jit_eval(): and %u more.", seen - LOGGED_LITERALS);
}

/* The order for a kernel that serves the Program, and all that differ from it in the
 * literals at the order's positions. */
static bool order_general(Order *order, const Program *program, const ProgramKey *key)
{
    order->general = literals_generalise(program, order->positions,
                                         order->position_count, &order->first_value);
    TRY(order->general, false);
    order->program = order->general;
    order->traced = program;
    order->traced_skeleton = key->skeleton;
    order->key = cache_key(order->general, key->device, key->target);
    return true;
}

/* A kernel for what the sibling has served, too. */
static Kernel *get_general(const Program *program, const ProgramKey *key,
                           uint32_t lanes, const Kernel *sibling, LiteralOrigin origin,
                           void *context)
{
    const Program *before = sibling->traced ? sibling->traced : sibling->program;
    Order order = { .lanes = lanes };
    Kernel *kernel = NULL;
    bool fresh = false;
    order.positions =
        literals_differences(program, before, sibling->value_literals,
                             sibling->value_count, &order.position_count);
    if (order.positions && order_general(&order, program, key))
        kernel = deliver(&order, &fresh);
    program_free(order.general);
    alloc_free(order.positions);
    if (fresh)
        log_literals(program, sibling, key, origin, context);
    return kernel;
}

/* The Program as it is, found or made. */
static Kernel *get_exact(const Program *program, const ProgramKey *key, uint32_t lanes)
{
    bool fresh;
    Order order = { .key = *key,
                    .lanes = lanes,
                    .program = program,
                    .traced_skeleton = key->skeleton };
    return deliver(&order, &fresh);
}

Kernel *cache_get_fixed(const Program *program, const ProgramKey *key,
                        const uint32_t *positions, uint32_t count, uint32_t lanes)
{
    Order order = { .lanes = lanes, .position_count = count };
    Kernel *kernel = NULL;
    bool fresh;
    cache_init();
    if (count == 0)
        return get_exact(program, key, lanes);
    order.positions = alloc_get(count * sizeof(uint32_t));
    TRY(order.positions, NULL);
    memcpy(order.positions, positions, count * sizeof(uint32_t));
    if (order_general(&order, program, key) && program_verify(order.general))
        kernel = deliver(&order, &fresh);
    program_free(order.general);
    alloc_free(order.positions);
    return kernel;
}

Kernel *cache_get(const Program *program, const ProgramKey *key, uint32_t lanes,
                  LiteralOrigin origin, void *context)
{
    cache_init();
    pthread_mutex_lock(&lock);
    Kernel *kernel = look_up(program, key);
    Kernel *sibling = NULL;
    if (!kernel) {
        sibling = cache_table_find_sibling(&table, program, key->skeleton);
        if (sibling)
            cache_retain(sibling);
    }
    pthread_mutex_unlock(&lock);
    if (sibling) {
        kernel = get_general(program, key, lanes, sibling, origin, context);
        cache_release(sibling);
    } else if (!kernel) {
        kernel = get_exact(program, key, lanes);
    }
    return kernel;
}

/* -------------------------------------------------------------- whole cache */

uint32_t cache_flush(void)
{
    pthread_mutex_lock(&lock);
    Kernel *list = table.newest; /* linked by 'older' already */
    uint32_t count = table.count;
    cache_table_free(&table);
    pthread_mutex_unlock(&lock);
    release_list(list);
    return count;
}

uint32_t cache_size(void)
{
    pthread_mutex_lock(&lock);
    uint32_t count = table.count;
    pthread_mutex_unlock(&lock);
    return count;
}

CacheStats cache_stats(void)
{
    pthread_mutex_lock(&lock);
    CacheStats result = stats;
    pthread_mutex_unlock(&lock);
    return result;
}

void cache_upgrade(Kernel *kernel)
{
    pthread_mutex_lock(&lock);
    bool ok = !closed;
    upgrading += ok;
    pthread_mutex_unlock(&lock);
    if (!ok)
        return;
    log_defer();
    tier_upgrade(kernel);
    pthread_mutex_lock(&lock);
    upgrading--;
    pthread_cond_broadcast(&made);
    pthread_mutex_unlock(&lock);
    log_release();
}

void cache_close(void)
{
    pthread_mutex_lock(&lock);
    closed = true;
    while (pending_list || upgrading)
        pthread_cond_wait(&made, &lock);
    pthread_mutex_unlock(&lock);
}

void cache_shutdown(void)
{
    cache_flush();
    tier_reset();
    pthread_mutex_lock(&lock);
    memset(&stats, 0, sizeof(stats));
    bound = 0;
    pthread_mutex_unlock(&lock);
    atomic_store(&engine_choice, 0);
}
