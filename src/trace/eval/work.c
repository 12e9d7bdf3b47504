/*
 * work.c -- see work.h
 */
#include "trace/eval/work.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/uses.h"
#include "trace/eval/evaluate.h"
#include "trace/eval/finite.h"
#include "trace/eval/history.h"
#include "trace/graph/node.h"
#include "trace/graph/watch.h"

bool work_is_congested(const ThreadState *ts, Device *device, uint64_t bytes)
{
    const Stream *stream = stream_self(device);
    return stream && stream_is_congested(stream, bytes) &&
           !state_flag(ts, JitFlagForbidSynchronization);
}

void work_relieve(ThreadState *ts, Device *device, uint64_t bytes)
{
    if (!work_is_congested(ts, device, bytes))
        return;
    state_pause(ts);
    stream_relieve(stream_self(device), bytes);
    state_resume(ts);
}

bool work_buffers(ThreadState *ts, uint8_t index, uint32_t count, const size_t *bytes,
                  Buffer **buffers)
{
    Device *device = device_at(index);
    size_t sum = 0;
    for (uint32_t i = 0; i < count; ++i)
        sum += bytes[i];
    ErrorRecord before;
    error_save(&before);
    work_relieve(ts, device, sum);
    return buffer_get_all(device, count, bytes, buffers) ||
           (work_recover(ts, &before) &&
            buffer_get_all(device, count, bytes, buffers));
}

Buffer *work_buffer(ThreadState *ts, uint8_t index, size_t bytes)
{
    Buffer *buffer;
    return work_buffers(ts, index, 1, &bytes, &buffer) ? buffer : NULL;
}

bool work_recover(ThreadState *ts, const ErrorRecord *before)
{
    if (error_code() != JIT_ERROR_MEMORY ||
        state_flag(ts, JitFlagForbidSynchronization))
        return false;
    state_pause(ts);
    stream_sync_all();
    buffer_trim();
    state_resume(ts);
    error_restore(before);
    return true;
}

Command *work_command(ThreadState *ts, CommandKind kind, uint64_t size,
                      const VarId *inputs, uint32_t input_count, const size_t *outputs,
                      uint32_t output_count, size_t data)
{
    uint8_t device = var_get(inputs[0])->device;
    Buffer *out[WORK_OUTPUTS] = { NULL };
    Command *c = NULL;
    bool ok = true;
    for (uint32_t i = 0; ok && i < input_count; ++i) /* one kernel if possible */
        ok = evaluate_schedule(ts, inputs[i], NULL);
    for (uint32_t i = 0; ok && i < output_count; ++i)
        ok = (out[i] = work_buffer(ts, device, outputs[i])) != NULL;
    for (uint32_t i = 0; ok && i < input_count; ++i)
        ok = evaluate_var(ts, inputs[i]);
    if (ok)
        c = command_create(device_at(device), kind, size, input_count + output_count,
                           data);
    for (uint32_t i = 0; c && i < input_count; ++i) {
        Buffer *in = var_get(inputs[i])->value.buffer;
        command_set_slot(c, i, in, 0, in->size, SLOT_READ);
    }
    for (uint32_t i = 0; c && i < output_count; ++i)
        command_set_slot(c, input_count + i, out[i], 0, outputs[i], SLOT_WRITE);
    for (uint32_t i = 0; i < output_count; ++i)
        buffer_release(out[i]);
    return c;
}

/* Does nothing in the streams come before a command that uses the buffer now? */
static bool nothing_before(const Buffer *buffer, const Stream *own)
{
    return own && stream_is_idle(own) && !(buffer && uses_by_others(buffer, own));
}

bool work_is_at_hand(VarId id)
{
    const Var *v = var_get(id);
    const Buffer *buffer = v->op == OP_EVALUATED ? v->value.buffer : NULL;
    return evaluate_is_done(v) &&
           var_lanes(v) <= DEVICE_AT_ONCE / type_info[v->type].size &&
           nothing_before(buffer, stream_self(var_device(v)));
}

/* The bytes of a buffer, if a command can be spared: few, in host memory, with nothing
 * before it, and nobody listens to commands. */
static void *without_command(const ThreadState *ts, const Buffer *buffer)
{
    const Stream *own = stream_self(buffer->device);
    if (buffer->size > DEVICE_AT_ONCE || state_flag(ts, JitFlagKernelHistory) ||
        !nothing_before(buffer, own) || stream_is_tapped(own))
        return NULL;
    /* Asked last: a command marks what it was to write before it ends. */
    return buffer_failure(buffer) ? NULL : buffer_host(buffer);
}

const void *work_entries(const ThreadState *ts, VarId id)
{
    const Var *v = var_get(id);
    return v->op == OP_EVALUATED && evaluate_is_done(v)
               ? without_command(ts, v->value.buffer)
               : NULL;
}

Buffer *work_buffer_now(VarId like, size_t bytes)
{
    ErrorRecord before;
    error_save(&before);
    Buffer *buffer = buffer_get(var_device(var_get(like)), bytes);
    if (!buffer)
        error_restore(&before);
    return buffer;
}

bool work_memory(Command *command, uint32_t slot, void *address, size_t bytes,
                 SlotAccess access)
{
    Buffer *buffer = buffer_map(command->device, address, bytes, NULL, NULL);
    TRY(buffer, false);
    command_set_slot(command, slot, buffer, 0, bytes, access);
    buffer_release(buffer);
    return true;
}

static bool reads_guest(const Command *command)
{
    for (uint32_t i = 0; i < command->slot_count; ++i)
        if (command->slots[i].buffer && command->slots[i].buffer->guest)
            return true;
    return false;
}

bool work_submit(ThreadState *ts, Command *command)
{
    if (buffer_guests() && reads_guest(command))
        ts->guests = true;
    if (state_flag(ts, JitFlagKernelHistory))
        history_note(ts, command, watcher.mode(ts));
    Stream *stream = stream_self(command->device);
    if (stream)
        return stream_submit(stream, command);
    command_free(command);
    return false;
}

bool work_perform(ThreadState *ts, Command *command)
{
    ErrorRecord before;
    error_save(&before);
    if (!stream_prepare(command))
        (void) work_recover(ts, &before);
    return work_submit(ts, command);
}

VarId work_result(ThreadState *ts, Command *command, VarType type, uint32_t size)
{
    TRY(command, 0);
    Buffer *out = command->slots[command->slot_count - 1].buffer;
    uint8_t device = command->device->index;
    buffer_retain(out);
    VarId id = 0;
    FiniteInputs inputs;
    const bool watched = finite_wants(ts, type);
    if (watched)
        finite_hold(&inputs, command);
    if (work_perform(ts, command))
        id = node_buffer(ts, device, type, size, out);
    if (!id)
        buffer_release(out);
    if (watched)
        finite_check_result(ts, id, &inputs);
    return id;
}

bool work_fill_rest(ThreadState *ts, Buffer *buffer, size_t offset, uint64_t bits,
                    uint32_t item_size)
{
    size_t size = buffer->size - offset;
    unsigned char *now = without_command(ts, buffer);
    if (now) {
        buffer->device->fill(now + offset, size, bits, item_size);
        buffer_count_write(buffer);
        return true;
    }
    Command *c = command_create(buffer->device, COMMAND_FILL, size / item_size, 1, 0);
    TRY(c, false);
    command_set_slot(c, 0, buffer, offset, size, SLOT_WRITE);
    c->fill.bits = bits;
    c->fill.item_size = item_size;
    return work_submit(ts, c);
}

bool work_fill(ThreadState *ts, Buffer *buffer, uint64_t bits, uint32_t item_size)
{
    return work_fill_rest(ts, buffer, 0, bits, item_size);
}

bool work_copy(ThreadState *ts, Buffer *from, size_t from_offset, Buffer *to,
               size_t to_offset, size_t bytes)
{
    const unsigned char *source = without_command(ts, from);
    unsigned char *target = source ? without_command(ts, to) : NULL;
    if (target) {
        memmove(target + to_offset, source + from_offset, bytes);
        buffer_count_write(to);
        return true;
    }
    Command *c = command_create(to->device, COMMAND_COPY, bytes, 2, 0);
    TRY(c, false);
    command_set_slot(c, 0, from, from_offset, bytes, SLOT_READ);
    command_set_slot(c, 1, to, to_offset, bytes, SLOT_WRITE);
    return work_submit(ts, c);
}

VarId work_duplicate(ThreadState *ts, VarId id)
{
    const Var *v = var_get(id);
    const VarType type = (VarType) v->type;
    const uint8_t device = v->device;
    const uint32_t size = var_lanes(v);
    const size_t bytes = var_bytes(v);
    var_inc(id);
    Buffer *buffer = work_buffer(ts, device, bytes);
    bool ok = buffer && work_copy(ts, var_get(id)->value.buffer, 0, buffer, 0, bytes);
    var_dec(id);
    VarId copy = ok ? node_buffer(ts, device, type, size, buffer) : 0;
    if (!copy)
        buffer_release(buffer);
    return copy;
}

/* From device to device, by way of the host, without the lock. Nobody else knows 'to'
 * yet, and nobody writes to 'from' in place as long as the caller holds its array. */
static bool carry(const Buffer *from, Buffer *to, size_t bytes)
{
    enum { PART = 1 << 20 };
    void *part = alloc_get(PART);
    bool ok = part != NULL;
    for (size_t at = 0; ok && at < bytes; at += PART) {
        size_t count = bytes - at < PART ? bytes - at : PART;
        ok = buffer_read(from, at, part, count) && buffer_write(to, at, part, count);
    }
    alloc_free(part);
    return ok;
}

bool work_transfer(ThreadState *ts, Buffer *from, Buffer *to, size_t bytes)
{
    if (from->device == to->device)
        return work_copy(ts, from, 0, to, 0, bytes);
    buffer_retain(from);
    bool ok = work_wait(ts, from, "jit_var_migrate()");
    if (ok) {
        state_pause(ts); /* the devices may take their time */
        ok = carry(from, to, bytes);
        state_resume(ts);
    }
    buffer_release(from);
    return ok;
}

bool work_wait(ThreadState *ts, Buffer *buffer, const char *function)
{
    if (state_flag(ts, JitFlagForbidSynchronization))
        return error_set(JIT_ERROR_STATE, "%s: has to wait for queued work, which "
                         "JitFlagForbidSynchronization forbids", function);
    buffer_retain(buffer);
    state_pause(ts);
    bool ok = stream_sync_buffer(buffer);
    state_resume(ts);
    buffer_release(buffer);
    return ok;
}
