/*
 * uses.h -- which streams use a buffer: what a command has to wait for
 *
 * A part of stream.c, whose lock has to be held where nothing else is said.
 */
#ifndef DEVICE_USES_H
#define DEVICE_USES_H

#include "device/command.h"

/** Let a command that is about to be submitted wait for other streams' uses of its
 *  buffers (Command.points has room for one of each stream). */
void uses_find_points(Command *command);
/** Enter the command, which has its number now, in its buffers. */
void uses_mark(const Command *command);
/** Without the lock: does the command's stream own all of its buffers? Then the
 *  command, whose number was announced, is entered in them. */
bool uses_own(const Command *command);
/** Without the lock: a buffer that nobody has used is going to be used by this stream,
 *  and nobody else knows it yet. */
static inline void uses_begin(Buffer *buffer, struct Stream *stream)
{
    atomic_store_explicit(&buffer->owner, stream, memory_order_relaxed);
}
/** Without the lock: may other streams be using a buffer, or have used it? */
bool uses_by_others(const Buffer *buffer, const struct Stream *stream);
/** The last command that writes to a buffer, if it has not ended. */
StreamPoint uses_last_write(const Buffer *buffer);

#endif
