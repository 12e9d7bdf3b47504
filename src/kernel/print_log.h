/*
 * print_log.h -- what the PRINT instructions of a launch report
 *
 * A launch whose Program prints makes a PrintLog, whose address is the word of the
 * PARAM_PRINT slot. Engines append from all threads; when the run is over,
 * print_log_finish() puts the records in an order that depends neither on threads nor
 * on the engine: by print, then by lane; what one lane printed in turn (in a loop)
 * stays in this order.
 *
 * Each number belongs to one PRINT instruction, of the Program or of a callable, which
 * gives the types of its values. The log is bounded: a record that does not fit any
 * more is counted as lost. Memory is taken once, when the log is made, so appending
 * cannot fail otherwise.
 */
#ifndef KERNEL_PRINT_LOG_H
#define KERNEL_PRINT_LOG_H

#include "ir/program.h"

enum {
    PRINT_LOG_BYTES = 1 << 20 /* for the records of a launch, values included */
};

/** What one lane printed once. */
typedef struct PrintRecord {
    uint32_t print; /* number of the PRINT */
    uint32_t lane;
    uint32_t order; /* of appending, over all records */
    uint32_t first; /* place of the first value, see print_log_values() */
} PrintRecord;

typedef struct PrintRecords {
    const PrintRecord *records; /* in order */
    uint32_t count;
    uint64_t lost;          /* records that did not fit, */
    uint64_t *lost_of;      /* ... and how many of each print */
    uint32_t print_count;   /* as in the Program */
    const uint64_t *values;
    const uint32_t *begins; /* print_count + 1 positions in types[] */
    const uint8_t *types;   /* VarType of the values of all prints */
} PrintRecords;

/** Values of a record, the bits of each in the low bytes of a word. */
static inline const uint64_t *print_log_values(const PrintRecords *records,
                                               const PrintRecord *record)
{
    return records->values + record->first;
}

/** Types of the values of a print, '*count' of them. */
static inline const uint8_t *print_log_types(const PrintRecords *records,
                                             uint32_t print, uint32_t *count)
{
    *count = records->begins[print + 1] - records->begins[print];
    return records->types + records->begins[print];
}

/** A log for a launch of this Program with room for 'bytes' of records. NULL if out of
 *  memory. */
PrintLog *print_log_make(const Program *program, size_t bytes);
/** Nobody appends any more: the records, which belong to the log. */
const PrintRecords *print_log_finish(PrintLog *log);
/** NULL is fine. */
void print_log_free(PrintLog *log);

#endif
