/*
 * redo.c -- see redo.h
 *
 * Of a kept command, 'seq' counts all that were ever kept: a command that needs another
 * one's results has failed after it. 'holders' is the number of its results that
 * somebody holds; their slots name the buffers without a reference.
 */
#include "device/redo.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/error.h"
#include "base/interrupt.h"
#include "device/stream.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t kept_so_far; /* guarded by 'lock' */

/* Commands that nobody needs any more, while the first of them is released: that may
 * be the end of further ones. */
static _Thread_local Command *unneeded;
static _Thread_local bool releasing;

void redo_fork_lock(void)
{
    pthread_mutex_lock(&lock);
}

void redo_fork_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

/* ------------------------------------------------------------------ keeping */

static bool is_written(const Command *c, const Buffer *buffer)
{
    for (uint32_t i = 0; i < c->slot_count; i++) {
        if (c->slots[i].buffer == buffer && c->slots[i].access & SLOT_WRITE)
            return true;
    }
    return false;
}

static bool can_be_kept(const Command *c)
{
    uint32_t results = 0;
    for (uint32_t i = 0; i < c->slot_count; i++) {
        const Slot *s = &c->slots[i];
        if (s->access & SLOT_READ && is_written(c, s->buffer))
            return false;
        if (s->access & SLOT_WRITE && buffer_writes(s->buffer) != 1)
            return false;
        results += (s->access & SLOT_WRITE) != 0;
    }
    return results && !c->once;
}

/* A copy, with the error of this thread as it was. */
static Command *copy(const Command *c)
{
    ErrorRecord before;
    error_save(&before);
    Command *result = command_copy(c);
    error_restore(&before);
    return result;
}

bool redo_keep(const Command *c)
{
    TRY(can_be_kept(c), false);
    Command *kept = copy(c);
    TRY(kept, false);
    pthread_mutex_lock(&lock);
    atomic_store(&buffer_kept_ever, true);
    kept->seq = ++kept_so_far;
    for (uint32_t i = 0; i < kept->slot_count; i++) {
        Buffer *buffer = kept->slots[i].buffer;
        if (!(kept->slots[i].access & SLOT_WRITE))
            continue;
        kept->holders += buffer->redo != kept;
        buffer->redo = kept;
        buffer_release(buffer); /* 'c' still holds it */
    }
    pthread_mutex_unlock(&lock);
    return true;
}

void redo_forget(Buffer *buffer)
{
    pthread_mutex_lock(&lock);
    Command *kept = buffer->redo;
    buffer->redo = NULL;
    if (kept) {
        for (uint32_t i = 0; i < kept->slot_count; i++) {
            if (kept->slots[i].buffer == buffer)
                kept->slots[i].buffer = NULL;
        }
        if (--kept->holders == 0) {
            kept->next = unneeded;
            unneeded = kept;
        }
    }
    pthread_mutex_unlock(&lock);
    if (releasing)
        return;
    releasing = true;
    for (Command *c; (c = unneeded);) {
        unneeded = c->next;
        command_free(c);
    }
    releasing = false;
}

/* ------------------------------------------------------------------- taking */

static bool retain_held(Buffer *buffer)
{
    uint32_t refs = atomic_load(&buffer->refs);
    while (refs && !atomic_compare_exchange_weak(&buffer->refs, &refs, refs + 1))
        ;
    return refs != 0;
}

/* The command holds its results again; with the lock held. Those that were written by
 * others since it does not get. Once 'redo' is cleared, a buffer may vanish. */
static void claim(Command *kept)
{
    for (uint32_t i = 0; i < kept->slot_count; i++) {
        Buffer *buffer = kept->slots[i].buffer;
        if (!(kept->slots[i].access & SLOT_WRITE) || !buffer)
            continue;
        if (buffer_writes(buffer) != 1 || !retain_held(buffer))
            kept->slots[i].buffer = NULL;
        buffer->redo = NULL;
    }
    kept->again = true;
}

static void insert(Command **list, Command *kept)
{
    while (*list && (*list)->seq < kept->seq)
        list = &(*list)->next;
    kept->next = *list;
    *list = kept;
}

/* What has to be performed, in this order, to have this buffer's contents; it is not
 * kept from then on. */
static Command *take(Buffer *buffer)
{
    Command *list = NULL, *stack = NULL;
    pthread_mutex_lock(&lock);
    if (buffer->redo) {
        stack = buffer->redo;
        stack->next = NULL;
        claim(stack);
    }
    while (stack) {
        Command *kept = stack;
        stack = stack->next;
        for (uint32_t i = 0; i < kept->slot_count; i++) {
            const Slot *s = &kept->slots[i];
            Command *source = s->access & SLOT_WRITE ? NULL : s->buffer->redo;
            if (!source)
                continue;
            claim(source);
            source->next = stack;
            stack = source;
        }
        insert(&list, kept);
    }
    pthread_mutex_unlock(&lock);
    return list;
}

/* Memory for results that nobody wants any more: the command writes them all the same.
 */
static bool fill_in_results(Command *c)
{
    for (uint32_t i = 0; i < c->slot_count; i++) {
        Slot *s = &c->slots[i];
        if (s->buffer)
            continue;
        TRY(s->buffer = buffer_get(c->device, s->offset + s->bytes), false);
        atomic_store(&s->buffer->writes, 1);
    }
    return true;
}

static bool submit(Command *c)
{
    Stream *stream = stream_self(c->device);
    c->interrupts = interrupt_requests();
    if (stream && fill_in_results(c) && stream_prepare(c))
        return stream_submit(stream, c);
    for (uint32_t i = 0; i < c->slot_count; i++) {
        if (c->slots[i].access & SLOT_WRITE && c->slots[i].buffer)
            buffer_fail(c->slots[i].buffer, &buffer_lost);
    }
    command_free(c);
    return false;
}

bool redo_submit(Buffer *buffer)
{
    if (buffer_failure(buffer) != &buffer_interrupted)
        return false;
    Command *c = take(buffer);
    bool any = c != NULL;
    for (Command *next; c; c = next) {
        next = c->next;
        any = submit(c) && any;
    }
    return any;
}

bool redo_is_fresh(const Command *c)
{
    for (uint32_t i = 0; i < c->slot_count; i++) {
        const Slot *s = &c->slots[i];
        if (!(s->access & SLOT_WRITE) && s->writes != buffer_writes(s->buffer))
            return false;
    }
    return true;
}
