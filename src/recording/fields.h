/*
 * fields.h -- the fields of structs in files, as tables
 *
 * A table has a row for each field that is kept, in the order in which they are
 * written. A number in a file may be anything, so the row says what it is: one of the
 * terms, of the arrays, of the kinds of something. Reading one that does not exist
 * fails, and so no reference has to be checked again.
 */
#ifndef RECORDING_FIELDS_H
#define RECORDING_FIELDS_H

#include <stddef.h>

#include "base/bytes.h"

/** What a number is one of. */
typedef enum FieldSpace {
    OF_NUMBERS,  /* any number */
    OF_POSITIVE, /* any but 0 */
    OF_FOUND,    /* in no file: it follows from the rest */
    OF_TYPES,    /* VarType, of arrays; */
    OF_FACTORS,  /* that can be multiplied; */
    OF_FLOATS,   /* of floats */
    OF_OPS,      /* ReduceOp */
    OF_SUMS,     /* Add or Mul */
    OF_BYTES,    /* 1, 2, 4, 8 */
    OF_SIZES,    /* a term: 1, 2, ... */
    OF_SIZES_OR_0,
    OF_ARRAYS,   /* of the recording, as all that follow: 0, 1, ... */
    OF_INPUTS,
    OF_CLASSES,  /* of sizes of inputs */
    OF_OUTPUTS,
    OF_REPORTS,  /* 1, 2, ...; 0: none */
    OF_ENUM      /* OF_ENUM + n: numbers below n */
} FieldSpace;
enum { OF_BOOLS = OF_ENUM + 2 };

typedef struct Field {
    uint16_t offset, size;
    uint16_t space;   /* FieldSpace */
    const char *name; /* as a designator of C */
} Field;

#define FIELD(type, member, space) \
    { offsetof(type, member), sizeof(((type *) 0)->member), space, #member }
/** A table as two arguments. */
#define FIELDS(table) table, sizeof(table) / sizeof(*(table))

/** How many there are of everything that is counted; of terms, with number 0. */
typedef struct FieldCounts {
    uint64_t of[OF_ENUM];
} FieldCounts;

/** Bytes of a row of the file. */
size_t fields_size(const Field *fields, size_t count);
/** The value of a field, without sign. */
uint64_t fields_value(const void *object, const Field *field);
bool fields_equal(const void *a, const void *b, const Field *fields, size_t count);
void fields_put(Text *out, const void *object, const Field *fields, size_t count);
/** False: the reader has failed, or a number is not one of what it should be. */
bool fields_take(ByteReader *in, void *object, const FieldCounts *counts,
                 const Field *fields, size_t count);

#endif
