/*
 * watch_joined.h -- how many commands have joined another one, as the stream runs them
 */
#ifndef WATCH_JOINED_H
#define WATCH_JOINED_H

#include "test_util.h"

#include "device/device.h"
#include "device/stream.h"

static uint32_t joined; /* commands that have joined others */

static void note_joined(void *unused, const Command *command,
                        const CommandResult *result)
{
    (void) unused;
    (void) result;
    joined += command->joined;
}

static void watch(void *unused, const Command *command)
{
    (void) unused;
    Command *c = (Command *) (uintptr_t) command;
    if (!c->done)
        c->done = note_joined;
}

static void begin_watching(void)
{
    OK(jit_sync_thread()); /* nothing joins what was submitted before */
    joined = 0;
    stream_set_tap(stream_self(device_find(CPU, 0)), watch, NULL);
}

static uint32_t end_watching(void)
{
    OK(jit_sync_thread());
    stream_set_tap(stream_self(device_find(CPU, 0)), NULL, NULL);
    return joined;
}

#endif
