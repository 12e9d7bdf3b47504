/*
 * pool.c -- worker threads: start, sleep, wake, stop
 *
 * Which work there is, is cpu_job.c's business: a worker calls cpu_job_work() until it
 * says that nothing is offered, then waits for 'generation' to change.
 *
 *     offer (cpu_job.c)──► generation + 1 ──► spinning workers see it
 *                                        └──► sleeping workers are signalled
 *
 * Launches often follow each other within microseconds, while waking a sleeping thread
 * takes longer than that. So idle workers poll for SPIN_NS first, unless threads have
 * to share CPUs: then polling would take time from the work waited for. Before they go
 * to sleep they touch memory that will be needed next (cpu_pages.h).
 *
 * A change of the size holds nobody's work up: workers are added, or those beyond the
 * new size leave after the job they are in. The numbers that workers have in a job, and
 * memory for them, follow from the size at its submission and are not touched by this.
 *
 * Lock order: 'config' → the lock of stream.c → 'sleep_lock'.
 */
#include "device/cpu/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/cpu_job.h"
#include "device/cpu/cpu_pages.h"
#include "device/stream.h"
#include "os/clock.h"
#include "os/machine.h"
#include "os/threads.h"

enum { SPIN_NS = 30000, SPIN_STEPS = 32, MAX_SIZE = 4096 };

/* 'config' serialises starting, stopping and resizing, and guards 'threads' and
 * 'failed'. */
static pthread_mutex_t config = PTHREAD_MUTEX_INITIALIZER;
static pthread_t *threads;
static bool failed; /* threads could not be created; the size was reduced */

/* Written under 'config' with release order, read anywhere with acquire order. */
static _Atomic uint32_t wanted;  /* pool size; 0 = not decided yet */
static _Atomic uint32_t running; /* workers that run and stay: the first of 'threads' */
static _Atomic bool started;     /* there is nothing to start */
static _Atomic bool spinning;    /* a CPU for each thread */

static pthread_mutex_t sleep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
/* A worker going to sleep raises 'sleepers' and then compares 'generation'; who offers
 * work raises 'generation' and then looks at 'sleepers'. Both sequentially consistent,
 * so one of the two sees the other. */
static _Atomic uint32_t generation;
static _Atomic uint32_t sleepers;
/* Workers from this one on leave. Set before 'generation' is raised, read after it. */
static _Atomic uint32_t limit;

uint32_t pool_size(void)
{
    uint32_t size = atomic_load_explicit(&wanted, memory_order_acquire);
    if (size)
        return size;
    /* The first call decides; a concurrent one may have been faster. */
    uint32_t count = machine_cpus();
    return atomic_compare_exchange_strong(&wanted, &size, count) ? count : size;
}

uint32_t pool_worker_bound(void)
{
    return pool_size();
}

uint32_t pool_workers(void)
{
    return atomic_load_explicit(&running, memory_order_acquire);
}

bool pool_may_spin(void)
{
    return atomic_load_explicit(&spinning, memory_order_relaxed);
}

bool pool_spin(uint64_t since)
{
    for (int i = 0; i < SPIN_STEPS; i++) {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
    return clock_ns() - since < SPIN_NS;
}

void pool_notify(uint32_t count)
{
    atomic_fetch_add(&generation, 1);
    if (count == 0 || atomic_load(&sleepers) == 0)
        return;
    pthread_mutex_lock(&sleep_lock);
    if (count >= pool_workers()) {
        pthread_cond_broadcast(&wake);
    } else {
        while (count--)
            pthread_cond_signal(&wake);
    }
    pthread_mutex_unlock(&sleep_lock);
}

/* Return when 'generation' is no longer 'seen'. */
static void wait_for_work(uint32_t seen)
{
    if (pool_may_spin()) {
        uint64_t since = clock_ns();
        do {
            if (atomic_load_explicit(&generation, memory_order_acquire) != seen)
                return;
        } while (pool_spin(since));
        cpu_pages_prepare();
    }
    pthread_mutex_lock(&sleep_lock);
    atomic_fetch_add(&sleepers, 1);
    while (atomic_load(&generation) == seen)
        pthread_cond_wait(&wake, &sleep_lock);
    atomic_fetch_sub(&sleepers, 1);
    pthread_mutex_unlock(&sleep_lock);
}

static void *work(void *number)
{
    uintptr_t self = (uintptr_t) number;
    for (;;) {
        uint32_t seen = atomic_load(&generation);
        bool stays;
        while ((stays = self < atomic_load(&limit)) && cpu_job_work())
            ;
        if (!stays)
            return NULL;
        wait_for_work(seen);
    }
}

static bool create(uint32_t number)
{
    pthread_t *thread = &threads[number];
    TRY(threads_start(thread, 0, work, (void *) (uintptr_t) number), false);
    threads_name(*thread, "drjit-worker");
    return true;
}

/* The callers of these two hold 'config'. */
static void stop_threads(uint32_t count)
{
    uint32_t before = pool_workers();
    atomic_store_explicit(&running, count, memory_order_release);
    atomic_store(&limit, count);
    pool_notify(UINT32_MAX);
    for (uint32_t i = count; i < before; i++)
        pthread_join(threads[i], NULL);
}

/* Have as many workers as the size asks for. 'failed' is set, and the size reduced, if
 * that many cannot be had. */
static void adapt_threads(uint32_t size)
{
    uint32_t count = size - 1, made = pool_workers();
    atomic_store(&spinning, count < machine_cpus());
    if (count < made) {
        /* Without workers, the thread that submits does the work from here on. */
        atomic_store_explicit(&wanted, size, memory_order_release);
        stop_threads(count);
        made = count;
    }
    ErrorRecord before;
    error_save(&before);
    pthread_t *list = count > made ? alloc_resize(threads, count * sizeof *threads)
                                   : NULL;
    if (list) {
        threads = list;
        atomic_store(&limit, count);
        while (made < count && create(made))
            made++;
    }
    error_restore(&before);
    failed = made < count;
    atomic_store_explicit(&running, made, memory_order_release);
    atomic_store_explicit(&wanted, made + 1, memory_order_release);
    atomic_store_explicit(&started, true, memory_order_release);
}

/* Release 'config', then warn: the log's sinks may call back into the library. */
static void unlock_config(uint32_t asked)
{
    bool warn = failed;
    uint32_t size = pool_size();
    failed = false;
    pthread_mutex_unlock(&config);
    if (warn)
        log_write(LogLevelWarn, "the system refused to create threads: using %u of %u",
                  size, asked);
}

uint32_t pool_start(void)
{
    if (!atomic_load_explicit(&started, memory_order_acquire)) {
        pthread_mutex_lock(&config);
        uint32_t asked = pool_size();
        if (!atomic_load_explicit(&started, memory_order_relaxed))
            adapt_threads(asked);
        unlock_config(asked);
    }
    return pool_workers();
}

bool pool_set_size(uint32_t count)
{
    if (count < 1)
        count = 1;
    if (count > MAX_SIZE)
        count = MAX_SIZE;
    if (stream_in_command())
        return error_set(JIT_ERROR_STATE, "jit_llvm_set_thread_count(): must not be "
                         "called from inside of a job");
    (void) cpu_device(); /* before there are threads: handlers of fork(), in order */
    pthread_mutex_lock(&config);
    if (count != pool_size())
        adapt_threads(count);
    unlock_config(count);
    stream_run_queued();
    return true;
}

void pool_stop(void)
{
    if (stream_in_command())
        return;
    stream_sync_all();
    pthread_mutex_lock(&config);
    stop_threads(0);
    alloc_free(threads);
    threads = NULL;
    atomic_store_explicit(&started, false, memory_order_release);
    pthread_mutex_unlock(&config);
}

/* A fork from inside of a command does not take the lock, whose holder may be waiting
 * for that command. */
void pool_fork_lock(void)
{
    if (!stream_in_command())
        pthread_mutex_lock(&config);
}

void pool_fork_unlock(void)
{
    if (!stream_in_command())
        pthread_mutex_unlock(&config);
}

void pool_fork_child(void)
{
    if (stream_in_command())
        pthread_mutex_init(&config, NULL);
    else
        alloc_free(threads);
    threads = NULL;
    atomic_store(&running, 0);
    atomic_store(&started, false);
    /* Locks and conditions may count threads that are not here. */
    atomic_store(&sleepers, 0);
    pthread_mutex_init(&sleep_lock, NULL);
    pthread_cond_init(&wake, NULL);
    pool_fork_unlock();
}
