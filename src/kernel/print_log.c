/*
 * print_log.c -- see print_log.h
 *
 * A lane runs in one thread, so for records of one lane the order in which they took
 * their room is that of execution. Sorting by (print, lane, order) restores it.
 */
#include "kernel/print_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* ------------------------------------------------------------------- layout */

static void count_values(const Program *p, uint32_t *counts)
{
    for (uint32_t i = 0; i < p->inst_count; ++i)
        if (p->insts[i].op == OP_PRINT)
            counts[p->insts[i].aux] = p->insts[i].count - 1u;
}

static void note_types(const Program *p, PrintArea *area)
{
    for (uint32_t i = 0; i < p->inst_count; ++i) {
        const Inst *inst = &p->insts[i];
        if (inst->op != OP_PRINT)
            continue;
        const uint32_t *args = program_args(p, inst);
        uint8_t *types = print_area_types(area) + print_area_begins(area)[inst->aux];
        for (uint32_t k = 0; k < inst->count - 1u; ++k)
            types[k] = p->insts[args[k + 1]].type;
    }
}

PrintArea *print_log_area(const Program *program, size_t bytes, size_t *size)
{
    const uint32_t prints = program->print_count;
    uint32_t *counts = alloc_zero((size_t) prints + 1, sizeof(uint32_t)), values = 0;
    TRY(counts, NULL);
    count_values(program, counts);
    for (uint32_t i = 0; i < program->callable_count; ++i)
        count_values(program->callables[i], counts);
    for (uint32_t i = 0; i < prints; ++i)
        values += counts[i];
    *size = print_area_head(prints, values);
    PrintArea *area = alloc_zero(1, *size);
    if (area) {
        area->words = (uint32_t) (bytes / sizeof(uint64_t));
        area->prints = prints;
        uint32_t *begins = print_area_begins(area);
        for (uint32_t i = 0; i < prints; ++i)
            begins[i + 1] = begins[i] + counts[i];
        note_types(program, area);
        for (uint32_t i = 0; i < program->callable_count; ++i)
            note_types(program->callables[i], area);
    }
    alloc_free(counts);
    return area;
}

/* ------------------------------------------------------------------- reading */

static int compare(const void *a, const void *b)
{
    const PrintRecord *x = a, *y = b;
    if (x->print != y->print)
        return x->print < y->print ? -1 : 1;
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* What a device has written is taken as it is if it makes sense. */
static bool makes_sense(const PrintArea *area, const PrintRecord *records,
                        uint32_t count, uint32_t first_value)
{
    const uint32_t *begins = print_area_begins((PrintArea *) area);
    for (uint32_t i = 0; i < count; ++i) {
        const PrintRecord *r = &records[i];
        TRY(r->print < area->prints && r->first >= first_value, false);
        TRY(begins[r->print + 1] - begins[r->print] <= area->words - r->first, false);
    }
    return true;
}

/* The records, with their values behind them, in one piece of memory. */
static bool read_records(const PrintArea *area, size_t size, const Buffer *buffer,
                         PrintRecords *out)
{
    PrintArea found;
    TRY(buffer_read(buffer, 0, &found, sizeof found), false);
    const uint64_t used = atomic_load(&found.used), values = used >> 32;
    const uint64_t records = (uint32_t) used;
    const size_t words = (size_t) (records * PRINT_RECORD_WORDS + values);
    TRY(found.words == area->words && found.prints == area->prints &&
        words <= area->words, true);
    uint64_t *copy = alloc_get((words + 1) * sizeof(uint64_t));
    TRY(copy, false);
    uint64_t *tail = copy + records * PRINT_RECORD_WORDS;
    PrintRecord *list = (PrintRecord *) (void *) copy;
    const uint32_t first = area->words - (uint32_t) values;
    out->records = list;
    TRY(buffer_read(buffer, sizeof(PrintArea), (void *) out->lost_of,
                    area->prints * sizeof(uint64_t)) &&
        (!records || buffer_read(buffer, size, list, records * sizeof *list)) &&
        (!values || buffer_read(buffer, size + first * sizeof(uint64_t), tail,
                                (size_t) values * sizeof(uint64_t))), false);
    if (!makes_sense(area, list, (uint32_t) records, first)) {
        memset((void *) out->lost_of, 0, area->prints * sizeof(uint64_t));
        return true;
    }
    qsort(list, records, sizeof *list, compare);
    out->count = (uint32_t) records;
    out->values = tail;
    out->first_value = first;
    for (uint32_t i = 0; i < area->prints; ++i)
        out->lost += out->lost_of[i];
    return true;
}

PrintRecords *print_log_read(const PrintArea *area, size_t size, const Buffer *buffer)
{
    PrintRecords *out = alloc_zero(1, sizeof *out + size);
    TRY(out, NULL);
    PrintArea *copy = (PrintArea *) (void *) (out + 1);
    memcpy(copy, area, size);
    out->print_count = area->prints;
    out->lost_of = (const uint64_t *) (const void *) print_area_lost(copy);
    out->begins = print_area_begins(copy);
    out->types = print_area_types(copy);
    if (!buffer || read_records(area, size, buffer, out))
        return out;
    print_log_free(out);
    return NULL;
}

void print_log_free(PrintRecords *records)
{
    if (!records)
        return;
    alloc_free((void *) records->records);
    alloc_free(records);
}
