/*
 * collector.c -- see collector.h
 */
#include "device/collector.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "device/device.h"
#include "device/queue.h"

enum { BATCH = 64 };

/* Of each device; guarded by the lock of the streams. */
typedef struct Collector {
    pthread_t thread;
    pthread_cond_t work;  /* there is some, or the thread is to stop */
    _Atomic bool running; /* also read without the lock */
    bool stop;
    uint32_t open;        /* commands that the device has started and not reported */
} Collector;

static Collector collectors[DEVICE_MOST];
static _Thread_local Device *collecting; /* whose thread this is, NULL: another one */

static Collector *collector_of(const Device *device)
{
    return &collectors[device->index];
}

/* Ask the device, without the lock. */
static void collect(Device *device)
{
    Ended ended[BATCH];
    pthread_mutex_unlock(&queues.lock);
    uint32_t count = device->collect(device, ended, BATCH);
    pthread_mutex_lock(&queues.lock);
    for (uint32_t i = 0; i < count; i++) {
        ended[i].command->result = ended[i].result;
        ended[i].command->ended = true;
    }
    collector_of(device)->open -= count;
}

/* End one command, or ask the device; false: there is nothing to do. */
static bool step(Device *device)
{
    for (Stream *s = queues.streams; s; s = s->next) {
        if (s->device == device && queue_may_end_head(s)) {
            queue_end_head(s);
            return true;
        }
    }
    if (!collector_of(device)->open)
        return false;
    collect(device);
    return true;
}

static void *run(void *device)
{
    Collector *c = collector_of(device);
    collecting = device;
    pthread_mutex_lock(&queues.lock);
    while (!c->stop)
        if (!step(device))
            pthread_cond_wait(&c->work, &queues.lock);
    pthread_mutex_unlock(&queues.lock);
    return NULL;
}

bool collector_help(const Device *device)
{
    return device == collecting && step(collecting);
}

bool collector_start(Device *device)
{
    Collector *c = collector_of(device);
    if (atomic_load_explicit(&c->running, memory_order_acquire))
        return true;
    int fault = 0;
    pthread_mutex_lock(&queues.lock);
    if (!c->running) {
        c->stop = false;
        pthread_cond_init(&c->work, NULL);
        fault = pthread_create(&c->thread, NULL, run, device);
        atomic_store_explicit(&c->running, fault == 0, memory_order_release);
    }
    pthread_mutex_unlock(&queues.lock);
    return !fault || error_set(JIT_ERROR_SYSTEM, "%s: cannot create a thread: %s",
                               device->name, strerror(fault));
}

void collector_expect(const Device *device, bool started)
{
    Collector *c = collector_of(device);
    c->open += started;
    pthread_cond_signal(&c->work);
}

void collector_stop(void)
{
    for (Collector *c = collectors; c < collectors + DEVICE_MOST; c++) {
        if (!c->running)
            continue;
        pthread_mutex_lock(&queues.lock);
        c->stop = true;
        pthread_cond_signal(&c->work);
        pthread_mutex_unlock(&queues.lock);
        pthread_join(c->thread, NULL);
        pthread_cond_destroy(&c->work);
        c->running = false;
    }
}

void collector_fork_child(void)
{
    for (Collector *c = collectors; c < collectors + DEVICE_MOST; c++) {
        c->running = false;
        c->open = 0;
    }
}
