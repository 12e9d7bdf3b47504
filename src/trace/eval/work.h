/*
 * work.h -- the trace's way to its devices: memory, commands, results
 *
 * Everything that the trace has done by a device goes through here: memory is asked for
 * in one place, which waits and tries again before it gives up, and commands are
 * submitted in one place, which is where the kernel history is written.
 *
 *     Command *c = work_command(ts, COMMAND_REDUCE, ...);   inputs in memory, output
 *     c->reduce = ...;                                      parameters
 *     VarId id = work_result(ts, c, ...);                   submit; the output as a
 *                                                           variable
 *
 * Nothing runs here: what the calling thread is to run itself, it runs in
 * state_unlock(). Requires the graph lock.
 */
#ifndef TRACE_EVAL_WORK_H
#define TRACE_EVAL_WORK_H

#include "device/device.h"
#include "device/stream.h"
#include "trace/graph/state.h"

/** Is so much on its way to a device that who writes 'bytes' more has to wait? */
bool work_is_congested(const ThreadState *ts, Device *device, uint64_t bytes);
/** If so, wait until enough has been written; the lock is released meanwhile. */
void work_relieve(ThreadState *ts, Device *device, uint64_t bytes);
/** Memory of a device for this many bytes. It waits (the graph lock is released
 *  meanwhile) where too much is on its way, or if there is none left, before it tries
 *  again. NULL: error recorded. */
Buffer *work_buffer(ThreadState *ts, uint8_t device, size_t bytes);
/** The same for up to BUFFER_BATCH arrays at once, all or none. False: error
 *  recorded. */
bool work_buffers(ThreadState *ts, uint8_t device, uint32_t count, const size_t *bytes,
                  Buffer **buffers);
/** After a failure: if out of memory, wait for what is on its way and give cached
 *  memory back (the lock is released meanwhile); the thread's error is then the one
 *  from before. False: trying again is of no use. */
bool work_recover(ThreadState *ts, const ErrorRecord *before);
enum { WORK_OUTPUTS = 3 };
/** A command that reads variables, which come into memory, and writes outputs of
 *  these sizes (up to WORK_OUTPUTS): slots in this order, the variables' whole arrays.
 *  'data' as in command_create(). All of one device. The lock may be released on the
 *  way. NULL: error recorded. */
Command *work_command(ThreadState *ts, CommandKind kind, uint64_t size,
                      const VarId *inputs, uint32_t input_count, const size_t *outputs,
                      uint32_t output_count, size_t data);
/** Would a command that reads this variable end at once: is it small and in memory, or
 *  a literal, and does nothing come before? */
bool work_is_at_hand(VarId id);
/** The entries of a variable that is at hand, if the caller may do what it wants with
 *  them without a command: in host memory, and nobody listens to commands. NULL: it may
 *  not. */
const void *work_entries(const ThreadState *ts, VarId id);
/** Memory for the result. NULL, no error: the caller is to give a command, after
 *  all. */
Buffer *work_buffer_now(VarId like, size_t bytes);
/** Let a slot be memory that the caller of the library names by its address, and sees
 *  to that it stays and that nothing else uses it. False: out of memory. */
bool work_memory(Command *command, uint32_t slot, void *address, size_t bytes,
                 SlotAccess access);
/** Submit a command, which is taken over. False: error recorded. */
bool work_submit(ThreadState *ts, Command *command);
/** The same, for a command that may need much memory to run: if there is none, it waits
 *  as work_buffer() does. */
bool work_perform(ThreadState *ts, Command *command);
/** The same; what it writes to its last slot becomes a variable. */
VarId work_result(ThreadState *ts, Command *command, VarType type, uint32_t size);
/** Write all bytes of a buffer with one item: by a command, or at once where the bytes
 *  are few and nothing comes before. */
bool work_fill(ThreadState *ts, Buffer *buffer, uint64_t bits, uint32_t item_size);
/** The same for the bytes from 'offset' on. */
bool work_fill_rest(ThreadState *ts, Buffer *buffer, size_t offset, uint64_t bits,
                    uint32_t item_size);
/** Copy bytes between offsets of buffers, in the same way. */
bool work_copy(ThreadState *ts, Buffer *from, size_t from_offset, Buffer *to,
               size_t to_offset, size_t bytes);
/** The same from the start of both, also from one device to another, which waits; the
 *  lock is released meanwhile. */
bool work_transfer(ThreadState *ts, Buffer *from, Buffer *to, size_t bytes);
/** A copy of an array in memory, in memory of its own. The lock may be released. 0:
 *  error recorded. */
VarId work_duplicate(ThreadState *ts, VarId id);
/** Wait until a buffer has been written; the lock is released meanwhile. False: that
 *  failed, or it is not allowed to wait; error recorded. */
bool work_wait(ThreadState *ts, Buffer *buffer, const char *function);

#endif
