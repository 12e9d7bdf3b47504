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
#include "base/error.h"
#include "base/log.h"
#include "device/buffer.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/launch/cpu_code.h"
#include "device/cpu/launch/cpu_launch.h"
#include "device/cpu/pool.h"
#include "device/event.h"
#include "device/stream.h"
#include "os/clock.h"

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

/* The entries of a buffer of the CPU. */
static inline uint32_t *entries(const Buffer *buffer)
{
    return buffer_host(buffer);
}

static inline Buffer *get_buffer(size_t bytes)
{
    Buffer *buffer = buffer_get(cpu_device(), bytes);
    assert_non_null(buffer);
    return buffer;
}

static inline Stream *own_stream(void)
{
    Stream *stream = stream_self(cpu_device());
    assert_non_null(stream);
    return stream;
}

/* Every test starts with four threads and ends with nothing left over. */
static inline int set_up(void **state)
{
    (void) state;
    pool_set_size(4);
    cpu_launch_set_block_size(CPU_GRANULE);
    buffer_trim();
    return 0;
}

static inline int tear_down(void **state)
{
    (void) state;
    stream_shutdown();
    buffer_trim();
    const BufferStats stats = buffer_stats(cpu_device());
    return stats.live == 0 && stats.used == 0 && stats.cached == 0 && stats.mapped == 0
        ? 0 : -1;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* --------------------------------------------------------- commands of all kinds */

/* A function of the test that is called for blocks, as a launch. */
typedef struct Job {
    void (*run)(void *payload, uint32_t block, uint32_t worker); /* NULL: no blocks */
    void (*finish)(void *payload); /* called when all is over, or NULL */
    void *payload;
    uint32_t blocks;
    uint32_t workers; /* numbers stay below it, 0: any */
    bool small, patient;
    Buffer *from, *to; /* what it reads and writes, or NULL */
} Job;

/* The arguments of the launch are the Job. */
static inline void run_blocks(const CpuCode *code, const uint64_t *args, uint32_t begin,
                              uint32_t end, uint32_t worker, uint32_t requests,
                              void *scratch)
{
    const Job *job = (const Job *) (const void *) args;
    (void) code;
    (void) requests;
    (void) scratch;
    for (uint32_t block = begin / CPU_GRANULE; block < end / CPU_GRANULE; block++)
        job->run(job->payload, block, worker);
}

static inline void finish_job(void *payload, const Command *command,
                              const CommandResult *result)
{
    const Job *job = command->data;
    (void) payload;
    (void) result;
    job->finish(job->payload);
}

/* NULL: out of memory. */
static inline Command *job_command(const Job *job)
{
    static CpuCode codes[3] = {
        {.code = {1, NULL}, .run = run_blocks, .cost = {.lane = 1u << 30}},
        {.code = {1, NULL}, .run = run_blocks},
        {.code = {1, NULL}, .run = run_blocks, .cost = {.loops = true}}};
    uint32_t slots = 0;
    Command *c = command_create(cpu_device(), job->run ? COMMAND_LAUNCH : COMMAND_EVENT,
                                (uint64_t) CPU_GRANULE * job->blocks,
                                (job->from != NULL) + (job->to != NULL), sizeof *job);
    if (!c)
        return NULL;
    if (job->run) {
        c->launch.code = code_retain(&codes[job->patient ? 2 : job->small].code);
        c->launch.workers = job->workers;
    }
    memcpy(c->data, job, sizeof *job);
    if (job->from)
        command_set_slot(c, slots++, job->from, 0, job->from->size, SLOT_READ);
    if (job->to)
        command_set_slot(c, slots++, job->to, 0, job->to->size, SLOT_READ_WRITE);
    if (job->finish)
        c->done = finish_job;
    return c;
}

/* Submit a command, NULL if there was no memory for it. */
static inline bool submit_command(Command *c)
{
    Stream *stream = c ? stream_self(c->device) : NULL;
    if (!stream)
        command_free(c);
    return stream && stream_submit(stream, c);
}

static inline void submit_job(const Job *job)
{
    assert_true(submit_command(job_command(job)));
}

/* The same, and what is kept for the thread is run. */
static inline void run_job(const Job *job)
{
    submit_job(job);
    stream_run();
}

static inline Command *host_command(void (*call)(void *payload), void *payload)
{
    Command *c = command_create(cpu_device(), COMMAND_HOST, 0, 0, 0);
    if (c) {
        c->host.call = call;
        c->host.payload = payload;
    }
    return c;
}

static inline Command *copy_command(Buffer *to, size_t to_offset, Buffer *from,
                                    size_t from_offset, size_t bytes)
{
    Command *c = command_create(to->device, COMMAND_COPY, bytes, 2, 0);
    if (c) {
        command_set_slot(c, 0, from, from_offset, bytes, SLOT_READ);
        command_set_slot(c, 1, to, to_offset, bytes, SLOT_WRITE);
    }
    return c;
}

static inline Command *fill_command(Buffer *to, uint64_t bits, uint32_t item_size,
                                    size_t count)
{
    Command *c = command_create(to->device, COMMAND_FILL, count, 1, 0);
    if (c) {
        command_set_slot(c, 0, to, 0, item_size * count, SLOT_WRITE);
        c->fill.bits = bits;
        c->fill.item_size = item_size;
    }
    return c;
}

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
    *link = (Link) {from ? entries(from) : NULL, entries(to), slow};
    submit_job(&(Job) {.run = run_link, .finish = alloc_free, .payload = link,
                       .blocks = 4, .small = small, .from = from, .to = to});
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
        Buffer *to = get_buffer(CHAIN * sizeof(uint32_t));
        pthread_mutex_lock(&relay->lock);
        Buffer *from = relay->last;
        submit_link(from, to, i % 50 == 0, relay->small && i % 4);
        relay->last = to;
        relay->links++;
        pthread_mutex_unlock(&relay->lock);
        stream_run();
        buffer_release(from);
    }
    return NULL;
}

#endif
