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
#include "base/log.h"

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
static bool makes_sense(PrintArea *area, const PrintRecord *records, uint32_t count,
                        uint32_t first_value)
{
    const uint32_t *begins = print_area_begins(area);
    for (uint32_t i = 0; i < count; ++i) {
        const PrintRecord *r = &records[i];
        TRY(r->print < area->prints && r->first >= first_value, false);
        TRY(begins[r->print + 1] - begins[r->print] <= area->words - r->first, false);
    }
    return true;
}

/* The words of records and values: where they are, or as copies. */
static bool find_words(const Buffer *buffer, size_t size, size_t record_words,
                       size_t first, size_t value_words, PrintRecords *out,
                       uint64_t **records)
{
    char *host = buffer_host(buffer);
    if (host) {
        *records = (uint64_t *) (void *) (host + size);
        out->values = *records + first;
        return true;
    }
    uint64_t *copy = alloc_get((record_words + value_words + 1) * sizeof(uint64_t));
    TRY(copy, false);
    out->copy = *records = copy;
    out->values = copy + record_words;
    return (!record_words || buffer_read(buffer, size, copy,
                                         record_words * sizeof(uint64_t))) &&
           (!value_words || buffer_read(buffer, size + first * sizeof(uint64_t),
                                        copy + record_words,
                                        value_words * sizeof(uint64_t)));
}

/* False: error recorded. */
static bool read_records(PrintArea *area, size_t size, const Buffer *buffer,
                         PrintRecords *out)
{
    PrintArea found;
    TRY(buffer_read(buffer, 0, &found, sizeof found), false);
    const uint64_t used = atomic_load(&found.used), values = used >> 32;
    const uint32_t count = (uint32_t) used;
    const uint64_t record_words = (uint64_t) count * PRINT_RECORD_WORDS;
    TRY(found.words == area->words && found.prints == area->prints &&
        record_words + values <= area->words, true);
    const uint32_t first = area->words - (uint32_t) values;
    uint64_t *words;
    TRY(find_words(buffer, size, (size_t) record_words, first, (size_t) values, out,
                   &words), false);
    PrintRecord *list = (PrintRecord *) (void *) words;
    TRY(makes_sense(area, list, count, first), true);
    TRY(buffer_read(buffer, sizeof(PrintArea), (void *) print_area_lost(area),
                    area->prints * sizeof(uint64_t)), false);
    qsort(list, count, sizeof *list, compare);
    out->records = list;
    out->count = count;
    out->first_value = first;
    for (uint32_t i = 0; i < area->prints; ++i)
        out->lost += out->lost_of[i];
    return true;
}

void print_log_read(PrintArea *area, size_t size, const Buffer *buffer,
                    PrintRecords *out)
{
    *out = (PrintRecords) {
        .print_count = area->prints,
        .lost_of = (const uint64_t *) (const void *) print_area_lost(area),
        .begins = print_area_begins(area),
        .types = print_area_types(area)
    };
    if (buffer && !read_records(area, size, buffer, out))
        log_write(LogLevelWarn, "jit_var_print(): what was printed is lost: %s",
                  error_message());
}

void print_log_free(PrintRecords *records)
{
    alloc_free(records->copy);
}
