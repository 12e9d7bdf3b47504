/*
 * print_log.c -- see print_log.h
 *
 * One buffer holds everything: records grow from its start, their values from its end
 * towards them.
 *
 *     | record 0 | record 1 | ... -->      <-- ... | values of 1 | values of 0 |
 *
 * A lane runs in one thread, so the order of appending under the lock is, for records
 * of one lane, that of execution. Sorting by (print, lane, order) restores it.
 */
#include "kernel/print_log.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

typedef struct Log {
    PrintLog face; /* first: a PrintLog * points to the whole */
    pthread_mutex_t lock;
    PrintRecords out; /* 'count' and 'lost' as of now */
    uint32_t room;    /* words of 'values' that are free, counted from the start */
    PrintRecord *records;
    uint64_t *values; /* the same memory */
} Log;

enum { RECORD_WORDS = sizeof(PrintRecord) / sizeof(uint64_t) };

/* ------------------------------------------------------------------- layout */

typedef struct Layout {
    uint32_t *begins; /* at first: number of values of print k at k + 1 */
    uint8_t *types;   /* NULL: count them only */
} Layout;

static void note_prints(const Program *p, Layout *layout)
{
    for (uint32_t i = 0; i < p->inst_count; ++i) {
        const Inst *inst = &p->insts[i];
        if (inst->op != OP_PRINT)
            continue;
        const uint32_t *args = program_args(p, inst);
        uint32_t *begin = &layout->begins[inst->aux];
        if (!layout->types)
            begin[1] = inst->count - 1u;
        else
            for (uint32_t k = 0; k < begin[1] - begin[0]; ++k)
                layout->types[begin[0] + k] = p->insts[args[k + 1]].type;
    }
}

static void note_all_prints(const Program *root, Layout *layout)
{
    note_prints(root, layout);
    for (uint32_t i = 0; i < root->callable_count; ++i)
        note_prints(root->callables[i], layout);
}

static bool make_layout(const Program *root, Layout *layout)
{
    layout->types = NULL;
    layout->begins = alloc_zero((size_t) root->print_count + 1, sizeof(uint32_t));
    TRY(layout->begins, false);
    note_all_prints(root, layout);
    for (uint32_t i = 0; i < root->print_count; ++i)
        layout->begins[i + 1] += layout->begins[i];
    layout->types = alloc_get(layout->begins[root->print_count]);
    TRY(layout->types, false);
    note_all_prints(root, layout);
    return true;
}

/* ------------------------------------------------------------------- append */

static void append(PrintLog *face, uint32_t print, uint32_t begin, uint32_t lanes,
                   const uint8_t *mask, const void *const *values)
{
    Log *log = (Log *) (void *) face;
    uint32_t count;
    const uint8_t *types = print_log_types(&log->out, print, &count);
    pthread_mutex_lock(&log->lock);
    for (uint32_t i = 0; i < lanes; ++i) {
        if (!mask[i])
            continue;
        uint64_t used = ((uint64_t) log->out.count + 1) * RECORD_WORDS;
        if (used + count > log->room) {
            log->out.lost++;
            log->out.lost_of[print]++;
            continue;
        }
        log->room -= count;
        log->records[log->out.count] = (PrintRecord){
            .print = print, .lane = begin + i, .order = log->out.count,
            .first = log->room
        };
        log->out.count++;
        for (uint32_t k = 0; k < count; ++k) {
            size_t size = type_info[types[k]].size;
            uint64_t word = 0;
            memcpy(&word, (const char *) values[k] + i * size, size);
            log->values[log->room + k] = word;
        }
    }
    pthread_mutex_unlock(&log->lock);
}

/* -------------------------------------------------------------------- whole */

PrintLog *print_log_make(const Program *program, size_t bytes)
{
    Log *log = alloc_zero(1, sizeof(Log));
    TRY(log, NULL);
    Layout layout;
    bool ok = make_layout(program, &layout);
    log->values = alloc_aligned(bytes);
    uint64_t *lost = alloc_zero(program->print_count, sizeof(uint64_t));
    if (!ok || !log->values || !lost) {
        alloc_free(lost);
        alloc_free(layout.begins);
        alloc_free(layout.types);
        alloc_free(log->values);
        alloc_free(log);
        return NULL;
    }
    log->face.append = append;
    pthread_mutex_init(&log->lock, NULL);
    log->records = (PrintRecord *) (void *) log->values;
    log->room = (uint32_t) (bytes / sizeof(uint64_t));
    log->out = (PrintRecords){ .records = log->records,
                               .values = log->values,
                               .lost_of = lost,
                               .print_count = program->print_count,
                               .begins = layout.begins,
                               .types = layout.types };
    return &log->face;
}

static int compare(const void *a, const void *b)
{
    const PrintRecord *x = a, *y = b;
    if (x->print != y->print)
        return x->print < y->print ? -1 : 1;
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

const PrintRecords *print_log_finish(PrintLog *face)
{
    Log *log = (Log *) (void *) face;
    qsort(log->records, log->out.count, sizeof(PrintRecord), compare);
    return &log->out;
}

void print_log_free(PrintLog *face)
{
    if (!face)
        return;
    Log *log = (Log *) (void *) face;
    pthread_mutex_destroy(&log->lock);
    alloc_free((void *) log->out.begins);
    alloc_free((void *) log->out.types);
    alloc_free(log->out.lost_of);
    alloc_free(log->values);
    alloc_free(log);
}
