/*
 * print_log.h -- what the PRINT instructions of a launch report
 *
 * A launch whose Program prints has a slot for a PrintArea, whose address is the word
 * of PARAM_PRINT. Kernels append to it; when the run is over, print_log_read() puts the
 * records in an order that depends neither on threads nor on the engine: by print, then
 * by lane; what one lane printed in turn (in a loop) stays in this order.
 *
 * Each number belongs to one PRINT instruction, of the Program or of a callable, which
 * gives the types of its values. The area is bounded: a record that does not fit any
 * more is counted as lost. Memory is taken once, when the launch is made, so appending
 * cannot fail otherwise.
 */
#ifndef KERNEL_PRINT_LOG_H
#define KERNEL_PRINT_LOG_H

#include "device/buffer.h"
#include "ir/print_area.h"
#include "ir/program.h"

enum {
    PRINT_LOG_BYTES = 1 << 20 /* for the records of a launch, values included */
};

typedef struct PrintRecords {
    const PrintRecord *records; /* in order */
    uint32_t count;
    uint64_t lost;           /* records that did not fit, */
    const uint64_t *lost_of; /* ... and how many of each print */
    uint32_t print_count;    /* as in the Program */
    const uint64_t *values;  /* the words of the area from this one on: */
    uint32_t first_value;
    const uint32_t *begins; /* print_count + 1 positions in types[] */
    const uint8_t *types;   /* VarType of the values of all prints */
    void *copy;             /* of records and values; NULL: they are in the buffer */
} PrintRecords;

/** Values of a record, the bits of each in the low bytes of a word. */
static inline const uint64_t *print_log_values(const PrintRecords *records,
                                               const PrintRecord *record)
{
    return records->values + (record->first - records->first_value);
}

/** Types of the values of a print, '*count' of them. */
static inline const uint8_t *print_log_types(const PrintRecords *records,
                                             uint32_t print, uint32_t *count)
{
    *count = records->begins[print + 1] - records->begins[print];
    return records->types + records->begins[print];
}

/** What an area for launches of this Program begins with, for 'bytes' of records after
 *  it; '*size' is that of the beginning. It is freed with alloc_free(). NULL: out of
 *  memory. */
PrintArea *print_log_area(const Program *program, size_t bytes, size_t *size);
/** Nobody appends any more to the area that a buffer begins with (NULL: nothing was
 *  printed): the records. 'area' is what it began with, and has to stay, as the buffer
 *  has. Takes memory only if the host cannot see that of the device; what is lost for
 *  want of it, or as the device cannot be read, the log says. */
void print_log_read(PrintArea *area, size_t size, const Buffer *buffer,
                    PrintRecords *out);
/** Give back what the records hold. */
void print_log_free(PrintRecords *records);

#endif
