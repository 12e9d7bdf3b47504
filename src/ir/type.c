/*
 * type.c -- see type.h
 */
#include "ir/type.h"

const TypeInfo type_info[VarTypeCount] = {
    [VarTypeVoid] = { "void", "void", 0, false, false, false, 0 },
    [VarTypeBool] = { "bool", "bool", 1, false, false, false, 1 },
    [VarTypeBaseInt] = { "int", "int", 0, true, true, false, 0 },
    [VarTypeInt8] = { "int8", "i8", 1, true, true, false, 1 },
    [VarTypeUInt8] = { "uint8", "u8", 1, true, false, false, 1 },
    [VarTypeInt16] = { "int16", "i16", 2, true, true, false, 1 },
    [VarTypeUInt16] = { "uint16", "u16", 2, true, false, false, 1 },
    [VarTypeInt32] = { "int32", "i32", 4, true, true, false, 1 },
    [VarTypeUInt32] = { "uint32", "u32", 4, true, false, false, 1 },
    [VarTypeInt64] = { "int64", "i64", 8, true, true, false, 1 },
    [VarTypeUInt64] = { "uint64", "u64", 8, true, false, false, 1 },
    [VarTypePointer] = { "pointer", "ptr", 8, false, false, false, 0 },
    [VarTypeBaseFloat] = { "float", "float", 0, false, true, true, 0 },
    [VarTypeFloat16] = { "float16", "f16", 2, false, true, true, 0x3c00 },
    [VarTypeFloat32] = { "float32", "f32", 4, false, true, true, 0x3f800000 },
    [VarTypeFloat64] = { "float64", "f64", 8, false, true, true, 0x3ff0000000000000 }
};

VarType type_wide(VarType type)
{
    static const uint8_t wide[VarTypeCount] = {
        [VarTypeInt8] = VarTypeInt16,  [VarTypeUInt8] = VarTypeUInt16,
        [VarTypeInt16] = VarTypeInt32, [VarTypeUInt16] = VarTypeUInt32,
        [VarTypeInt32] = VarTypeInt64, [VarTypeUInt32] = VarTypeUInt64
    };
    return (VarType) wide[type];
}

VarType type_bits(VarType type)
{
    switch (type_info[type].size)
{
    case 1:
        return VarTypeUInt8;
    case 2:
        return VarTypeUInt16;
    case 4:
        return VarTypeUInt32;
    case 8:
        return VarTypeUInt64;
    default:
        return VarTypeVoid;
    }
}
