/*
 * print_area.h -- memory that the PRINT instructions of a launch report to
 *
 *   | PrintArea | lost | begins | types | record 0 | record 1 | ... --> <-- ... values
 *     fixed       u64    u32      u8      in 'words' 64-bit words
 *
 * The launch writes what is in front of the records; kernels append from any number of
 * lanes at once: one compare-and-swap of 'used' takes room for a record and its values,
 * which grow from the end. So the number of a record says in which order those of one
 * lane were made. What does not fit is counted as lost.
 */
#ifndef IR_PRINT_AREA_H
#define IR_PRINT_AREA_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/** What one lane printed once. */
typedef struct PrintRecord {
    uint32_t print; /* number of the PRINT, of the Program or of a callable */
    uint32_t lane;
    uint32_t order; /* its number */
    uint32_t first; /* the word that has its first value */
} PrintRecord;
enum { PRINT_RECORD_WORDS = sizeof(PrintRecord) / sizeof(uint64_t) };

typedef struct PrintArea {
    _Atomic uint64_t used; /* records; from bit 32 on, words of values */
    uint32_t words;        /* for both */
    uint32_t prints;       /* PRINT instructions */
} PrintArea;

/** Records of each print that did not fit. */
static inline _Atomic uint64_t *print_area_lost(PrintArea *area)
{
    return (_Atomic uint64_t *) (void *) (area + 1);
}

/** prints + 1 positions in print_area_types(): where those of a print begin. */
static inline uint32_t *print_area_begins(PrintArea *area)
{
    return (uint32_t *) (void *) (print_area_lost(area) + area->prints);
}

/** VarType of the values of all prints. */
static inline uint8_t *print_area_types(PrintArea *area)
{
    return (uint8_t *) (print_area_begins(area) + area->prints + 1);
}

/** Bytes in front of the records, where all prints together have this many
 *  values. */
static inline size_t print_area_head(uint32_t prints, uint32_t values)
{
    size_t bytes = sizeof(PrintArea) + prints * sizeof(uint64_t) +
                   (prints + (size_t) 1) * sizeof(uint32_t) + values;
    return (bytes + 7) / 8 * 8;
}

/** The words for records and values. */
static inline uint64_t *print_area_words(PrintArea *area)
{
    uint32_t values = print_area_begins(area)[area->prints];
    char *begin = (char *) area;
    return (uint64_t *) (void *) (begin + print_area_head(area->prints, values));
}

#endif
