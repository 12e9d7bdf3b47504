/*
 * device.c -- see device.h
 */
#include "device/device.h"

#include <pthread.h>
#include <stdatomic.h>

#include "device/collector.h"
#include "device/cpu/cpu_device.h"

/* The devices of this build. */
static Device *(*const built_in[])(void) = { cpu_device };

static _Atomic(Device *) devices[DEVICE_MOST];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

Device *device_at(uint32_t index)
{
    return index < DEVICE_MOST
               ? atomic_load_explicit(&devices[index], memory_order_acquire)
               : NULL;
}

void device_register(Device *device)
{
    uint32_t index = 0;
    pthread_mutex_lock(&lock);
    while (index < DEVICE_MOST && device_at(index) && device_at(index) != device)
        ++index;
    if (index < DEVICE_MOST && !device_at(index)) {
        device->index = (uint8_t) index;
        atomic_store_explicit(&devices[index], device, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
}

Device *device_find(JitBackend backend, uint32_t number)
{
    for (uint32_t i = 0; device_at(i); ++i)
        if (device_at(i)->backend == backend && device_at(i)->number == number)
            return device_at(i);
    return NULL;
}

void device_stop(void)
{
    collector_stop();
    for (uint32_t i = 0; device_at(i); ++i)
        if (device_at(i)->stop)
            device_at(i)->stop(device_at(i));
}

void device_init(void)
{
    for (uint32_t i = 0; i < sizeof built_in / sizeof *built_in; ++i)
        (void) built_in[i](); /* the first call registers */
}
