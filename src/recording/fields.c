/*
 * fields.c -- see fields.h
 */
#include "recording/fields.h"

#include <string.h>

#include "ir/reduce_rule.h"
#include "ir/type.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "fields are written as they stand in memory");

/* Bytes in a file. */
static size_t kept_size(const Field *field)
{
    return field->space == OF_FOUND ? 0 : field->size;
}

size_t fields_size(const Field *fields, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; ++i)
        size += kept_size(&fields[i]);
    return size;
}

uint64_t fields_value(const void *object, const Field *field)
{
    uint64_t value = 0;
    memcpy(&value, (const char *) object + field->offset, field->size);
    return value;
}

void fields_put(Text *out, const void *object, const Field *fields, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        bytes_put(out, fields_value(object, &fields[i]), kept_size(&fields[i]));
}

bool fields_equal(const void *a, const void *b, const Field *fields, size_t count)
{
    bool equal = true;
    for (size_t i = 0; equal && i < count; ++i)
        equal = memcmp((const char *) a + fields[i].offset,
                       (const char *) b + fields[i].offset, kept_size(&fields[i])) == 0;
    return equal;
}

static bool exists(const Field *field, uint64_t value, const FieldCounts *counts)
{
    switch (field->space) {
        case OF_NUMBERS: return true;
        case OF_POSITIVE: return value > 0;
        case OF_TYPES: return value < VarTypeCount && type_valid((VarType) value);
        case OF_FACTORS:
            return value < VarTypeCount &&
                   reduce_rule_defined(ReduceOpMul, (VarType) value);
        case OF_FLOATS: return type_valid((VarType) value) && type_info[value].is_float;
        case OF_OPS: return value < ReduceOpCount;
        case OF_SUMS: return value == ReduceOpAdd || value == ReduceOpMul;
        case OF_BYTES: return value == 1 || value == 2 || value == 4 || value == 8;
        case OF_SIZES: return value > 0 && value < counts->of[OF_SIZES];
        case OF_SIZES_OR_0: return value == 0 || value < counts->of[OF_SIZES];
        default: break;
    }
    return value < (field->space < OF_ENUM ? counts->of[field->space]
                                           : (uint64_t) (field->space - OF_ENUM));
}

bool fields_take(ByteReader *in, void *object, const FieldCounts *counts,
                 const Field *fields, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        const Field *field = &fields[i];
        if (field->space == OF_FOUND)
            continue;
        uint64_t value = bytes_take(in, field->size);
        in->failed = in->failed || !exists(field, value, counts);
        if (in->failed)
            return false;
        memcpy((char *) object + field->offset, &value, field->size);
    }
    return true;
}
