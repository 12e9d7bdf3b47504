/*
 * target.h -- what code is generated for
 *
 * A target is a value that never changes: choosing another one makes another value. A
 * kernel's key holds the target it was looked for with, and its code is made for
 * that one, whatever is chosen meanwhile. Each device has its own. The host is NULL.
 */
#ifndef ENGINE_TARGET_H
#define ENGINE_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "device/device.h"

enum { TARGET_WIDTH_MAX = 64 };

/** Valid until the process ends. NULL and 0 stand for what the host has. */
typedef struct Target {
    const char *cpu, *features;
    uint32_t width;      /* lanes of a packet: a power of two up to TARGET_WIDTH_MAX */
    uint64_t name;       /* hash of the above */
    struct Target *next; /* list of all */
} Target;

/** Have keys for a device name this target from now on; NULL, NULL, 0: the host. False:
 *  error recorded, nothing has changed. */
bool target_set(const Device *device, const char *cpu, const char *features,
                uint32_t width);
/** The target chosen last for a device. */
const Target *target_get(const Device *device);

#endif
