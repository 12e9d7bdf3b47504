/*
 * history.c -- see history.h
 */
#include "trace/eval/history.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/error.h"
#include "trace/eval/traffic.h"

struct HistoryEntry {
    KernelHistoryEntry data;
    bool running;         /* the work has not reported its time yet */
    bool abandoned;       /* cleared meanwhile: release when it reports */
    HistoryEntry *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static HistoryEntry *first, **last = &first;

static void release(HistoryEntry *entry)
{
    alloc_free((char *) entry->data.ir);
    alloc_free(entry);
}

HistoryEntry *history_add(const ThreadState *ts, const KernelHistoryEntry *data)
{
    HistoryEntry *entry = alloc_zero(1, sizeof(HistoryEntry));
    TRY(entry, NULL);
    entry->data = *data;
    entry->data.source_file = ts->file;
    entry->data.source_line = ts->line;
    entry->running = true;
    if (data->ir)
        entry->data.ir = alloc_string(data->ir);
    pthread_mutex_lock(&lock);
    *last = entry;
    last = &entry->next;
    pthread_mutex_unlock(&lock);
    return entry;
}

void history_finish(HistoryEntry *entry, uint64_t ns, uint64_t end)
{
    if (!entry)
        return;
    pthread_mutex_lock(&lock);
    entry->data.execution_time = (double) ns * 1e-6;
    entry->data.end_time = (double) end * 1e-6;
    entry->running = false;
    bool abandoned = entry->abandoned;
    pthread_mutex_unlock(&lock);
    if (abandoned)
        release(entry);
}

static void note_end(void *payload, const Command *command, const CommandResult *result)
{
    (void) command;
    history_finish(payload, result->ns, result->end);
}

static void note_failure(void *payload)
{
    history_finish(payload, 0, 0);
}

void history_note(const ThreadState *ts, Command *command, KernelRecordingMode mode)
{
    const CommandInfo *info = &command_info[command->kind];
    if (info->history == COMMAND_NO_HISTORY || command->done)
        return;
    Traffic traffic;
    if (!traffic_find(command, NULL, &traffic))
        return;
    KernelHistoryEntry entry = {
        .backend = command->device->backend, .type = (KernelType) info->history,
        .size = (size_t) command->size, .input_count = info->inputs,
        .output_count = command->kind != COMMAND_HOST, .bytes_read = traffic.read,
        .bytes_written = traffic.written, .flops = traffic.flops,
        .recording_mode = mode
    };
    if (command->kind == COMMAND_AGGREGATE)
        entry.input_count = (uint32_t) command->size;
    command->payload = history_add(ts, &entry);
    if (!command->payload)
        return;
    command->timed = true;
    command->done = note_end;
    command->drop = note_failure;
}

size_t history_take(KernelHistoryEntry **entries)
{
    pthread_mutex_lock(&lock);
    size_t count = 0;
    for (HistoryEntry *e = first; e; e = e->next)
        count++;
    KernelHistoryEntry *out = alloc_zero(count ? count : 1, sizeof(KernelHistoryEntry));
    if (!out) {
        pthread_mutex_unlock(&lock);
        return 0;
    }
    size_t i = 0;
    while (first) {
        HistoryEntry *entry = first;
        first = entry->next;
        out[i++] = entry->data;
        entry->data.ir = NULL;
        if (entry->running)
            entry->abandoned = true;
        else
            release(entry);
    }
    last = &first;
    pthread_mutex_unlock(&lock);
    *entries = out;
    return count;
}

void history_release(KernelHistoryEntry *entries, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        alloc_free((char *) entries[i].ir);
    alloc_free(entries);
}

void history_clear(void)
{
    KernelHistoryEntry *entries = NULL;
    size_t count = history_take(&entries);
    history_release(entries, count);
}
