/*
 * runtime_util.h -- what the tests of streams and of the rest of the runtime share
 */
#ifndef TESTS_RUNTIME_UTIL_H
#define TESTS_RUNTIME_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "device/buffer.h"
#include "device/cpu/pool.h"
#include "device/cpu/transfer.h"
#include "device/event.h"
#include "device/stream.h"

/* TSan cannot follow a fork of several threads. */
#if defined(__SANITIZE_THREAD__)
enum { CAN_FORK = 0 };
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
enum { CAN_FORK = 0 };
#else
enum { CAN_FORK = 1 };
#endif
#else
enum { CAN_FORK = 1 };
#endif

static inline void sleep_us(uint32_t us)
{
    nanosleep(&(struct timespec) {.tv_nsec = us * 1000L}, NULL);
}

/* Every test starts with four threads and ends with nothing left over. */
static inline int set_up(void **state)
{
    (void) state;
    pool_set_size(4);
    buffer_trim();
    return 0;
}

static inline int tear_down(void **state)
{
    (void) state;
    stream_shutdown();
    buffer_trim();
    const BufferStats stats = buffer_stats();
    return stats.live == 0 && stats.used == 0 && stats.cached == 0 && stats.mapped == 0
        ? 0 : -1;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* ------------------------------------------------------------- jobs of all kinds */

static inline void run_slowly(void *payload, uint32_t block, uint32_t worker)
{
    (void) payload;
    (void) block;
    (void) worker;
    sleep_us(2000);
}

static inline void set_slowly(void *payload, uint32_t block, uint32_t worker)
{
    (void) worker;
    if (block == 0)
        sleep_us(20000);
    ((uint32_t *) payload)[block] = 42;
}

/* One step of a chain across threads: to[i] = from[i] + 1 for a block of entries. */
enum { CHAIN = 64 };
typedef struct Link {
    const uint32_t *from;
    uint32_t *to;
    bool slow;
} Link;

static inline void run_link(void *payload, uint32_t block, uint32_t worker)
{
    const Link *link = payload;
    (void) worker;
    if (link->slow)
        sleep_us(500);
    for (uint32_t i = block * (CHAIN / 4); i < (block + 1) * (CHAIN / 4); i++)
        link->to[i] = (link->from ? link->from[i] : 0) + 1;
}

static inline void submit_link(Buffer *from, Buffer *to, bool slow, bool small)
{
    Link *link = alloc_get(sizeof *link);
    assert_non_null(link);
    *link = (Link) {from ? from->data : NULL, to->data, slow};
    stream_submit(stream_self(), &(JobSpec) {.run = run_link, .finish = alloc_free,
                                             .payload = link, .blocks = 4,
                                             .small = small, .reads = &from,
                                             .read_count = from ? 1 : 0,
                                             .writes = &to, .write_count = 1});
}

/* Threads that take turns: each appends a link to one chain, without waiting for
 * results. */
typedef struct Relay {
    pthread_mutex_t lock;
    Buffer *last;
    uint32_t links;
    bool small;
} Relay;

static inline void *run_relay(void *pointer)
{
    Relay *relay = pointer;
    for (uint32_t i = 0; i < 200; i++) {
        Buffer *to = buffer_get(CHAIN * sizeof(uint32_t));
        assert_non_null(to);
        pthread_mutex_lock(&relay->lock);
        Buffer *from = relay->last;
        submit_link(from, to, i % 50 == 0, relay->small && i % 4);
        relay->last = to;
        relay->links++;
        pthread_mutex_unlock(&relay->lock);
        buffer_release(from);
    }
    return NULL;
}

#endif
