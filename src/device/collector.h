/*
 * collector.h -- what has ended on devices that keep order themselves
 *
 * Each such device has a thread of the library that asks it what has ended
 * (Device.collect), in batches, and ends those commands in the order of their streams.
 * Host functions and Command.done are called by it, so both may use the device; host
 * functions may also wait for other streams: the thread goes on collecting meanwhile.
 */
#ifndef DEVICE_COLLECTOR_H
#define DEVICE_COLLECTOR_H

#include <stdbool.h>

typedef struct Device Device;

/** Have the device's thread run. False: error recorded. Without locks. */
bool collector_start(Device *device);
/** There is something to end. 'started': by the device, else it need not be asked. With
 *  the lock of the streams held. */
void collector_expect(const Device *device, bool started);
/** If the calling thread is this device's: do what it does, once. False: it is not, or
 *  there is nothing to do. With the lock of the streams held, which is released
 *  meanwhile. */
bool collector_help(const Device *device);
/** Stop all threads; they start again on demand. All streams are idle, and no other
 *  call is under way. */
void collector_stop(void);
/** In the child of a fork, to which the threads do not belong. */
void collector_fork_child(void);

#endif
