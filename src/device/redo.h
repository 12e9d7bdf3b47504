/*
 * redo.h -- interrupted commands, kept so that they can be performed later
 *
 * What an interrupted command was to write is not lost: as long as somebody holds one
 * of its results, the command is kept, with what it reads. Who evaluates a result again
 * has it performed then, with all that it depends on; who just reads it gets the error.
 *
 *     interrupted command ◄── Buffer.redo of each of its results (no reference back)
 *             └─► buffers it reads, possibly results of other kept commands
 *
 * Only commands can be kept that nothing tells apart from ones that were never begun:
 * each of their results was written by them only, and they write nothing that they
 * read. When a buffer that they read was written later, they are not performed any
 * more, and their results stay failed.
 *
 * A lock of its own guards all of this; it is taken inside of the graph lock and that
 * of streams, and nothing but the caches' lock inside of it.
 */
#ifndef DEVICE_REDO_H
#define DEVICE_REDO_H

#include <stdbool.h>

#include "device/buffer.h"
#include "device/command.h"

/** Keep a command that was interrupted, by a copy; its buffers are still held. False:
 *  that cannot be done. */
bool redo_keep(const Command *command);
/** If a buffer's computation was interrupted, submit what is kept to have its contents
 *  after all. Nobody else submits commands with the same buffers meanwhile. True if
 *  that was done. */
bool redo_submit(Buffer *buffer);
/** Was what a command reads left alone since it was submitted first? */
bool redo_is_fresh(const Command *command);
/** The buffer's last reference has gone. */
void redo_forget(Buffer *buffer);

/** Take and give back the lock around fork(), called by stream.c only. */
void redo_fork_lock(void);
void redo_fork_unlock(void);

#endif
