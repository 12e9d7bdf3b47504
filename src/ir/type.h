/*
 * type.h -- entry types: names and sizes
 */
#ifndef IR_TYPE_H
#define IR_TYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "drjit-core/jit.h"

typedef struct TypeInfo {
    const char *name;       /* "float32" */
    const char *short_name; /* "f32", as in Program text */
    uint8_t size; /* bytes of an entry in memory, 0 if there are no such variables */
    bool is_integer, is_signed, is_float; /* Bool and Pointer are none of these */
    uint64_t one;           /* bits of the number 1 */
} TypeInfo;

extern const TypeInfo type_info[VarTypeCount];

/** Can a variable have this type? False for values outside of the enum too. */
static inline bool type_valid(VarType type)
{
    return (unsigned) type < VarTypeCount && type_info[type].size != 0;
}
/** The bits that values of this type can have: one of a mask, those of its size of any
 *  other. */
static inline uint64_t type_mask(VarType type)
{
    uint32_t bits = type == VarTypeBool ? 1 : type_info[type].size * 8u;
    return bits == 64 ? ~(uint64_t) 0 : ((uint64_t) 1 << bits) - 1;
}
/** Integer type of twice the width and the same signedness; Void for 64-bit types. */
VarType type_wide(VarType type);
/** Unsigned integer type of the same size (Bool: UInt8, Pointer: UInt64). */
VarType type_bits(VarType type);

#endif
