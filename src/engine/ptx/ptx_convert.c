/*
 * ptx_convert.c -- PTX of casts
 *
 * The table has a pattern for each pair of kinds: $0 = $1, $2 and $3 stand for the
 * types of result and operand as in cvt. Conversions to integers saturate, and give 0
 * for NaN where they are to 32 bits and from less than 64; elsewhere PTX leaves NaN
 * open, so that is selected.
 */
#include "engine/ptx/ptx_writer.h"

/* Names in cvt: of narrow integers, what they are converted to and from. */
static const char *const cvt_types[VarTypeCount] = {
    [VarTypeInt8] = "s8",     [VarTypeUInt8] = "u8",    [VarTypeInt16] = "s16",
    [VarTypeUInt16] = "u16",  [VarTypeInt32] = "s32",   [VarTypeUInt32] = "u32",
    [VarTypeInt64] = "s64",   [VarTypeUInt64] = "u64",  [VarTypePointer] = "u64",
    [VarTypeFloat16] = "f16", [VarTypeFloat32] = "f32", [VarTypeFloat64] = "f64"
};

/* Type of the register that holds an integer. */
static const char *held_as(VarType type)
{
    return ptx_is_narrow(type) ? ptx_types[type].name : cvt_types[type];
}

void ptx_convert_extend(PtxWriter *writer, VarType type, PtxArg to, PtxArg from)
{
    char pattern[PTX_PATTERN_SIZE];
    PTX_JOIN(pattern, "cvt.", held_as(type), ".", cvt_types[type], " $0, $1");
    ptx_text_put(&writer->text, type, pattern, to, from);
}

static void to_mask(char pattern[PTX_PATTERN_SIZE], VarType from)
{
    if (from == VarTypeFloat16)
        PTX_JOIN(pattern, "cvt.f32.f16 $x, $1; setp.neu.f32 $0, $x, 0f00000000");
    else if (type_info[from].is_float)
        PTX_JOIN(pattern, "setp.neu.", cvt_types[from], " $0, $1, ",
                 type_info[from].size == 8 ? "0d0000000000000000" : "0f00000000");
    else
        PTX_JOIN(pattern, "setp.ne.$t $0, $1, 0");
}

static void from_mask(char pattern[PTX_PATTERN_SIZE], VarType to)
{
    PTX_JOIN(pattern, "selp.$b $0, ",
             to == VarTypeFloat16   ? "0x3c00"
             : to == VarTypeFloat32 ? "0x3f800000"
             : to == VarTypeFloat64 ? "0x3ff0000000000000"
                                    : "1",
             ", 0, $1");
}

static void float_to_integer(char pattern[PTX_PATTERN_SIZE], VarType to, VarType from)
{
    const char *name = cvt_types[from];
    if (type_info[to].size < 8 && type_info[from].size < 8)
        PTX_JOIN(pattern, "cvt.rzi.", cvt_types[to], ".", name, " $0, $1");
    else if (from == VarTypeFloat16)
        PTX_JOIN(pattern, "cvt.f32.f16 $x, $1; cvt.rzi.", cvt_types[to],
                 ".f32 $k, $x; "
                 "setp.num.f32 $p, $x, $x; selp.$b $0, $k, 0, $p");
    else
        PTX_JOIN(pattern, "cvt.rzi.", cvt_types[to], ".", name, " $k, $1; setp.num.",
                 name, " $p, $1, $1; selp.$b $0, $k, 0, $p");
}

static void float_to_float(char pattern[PTX_PATTERN_SIZE], VarType to, VarType from)
{
    const bool rounds = type_info[to].size < type_info[from].size;
    PTX_JOIN(pattern, "cvt.", rounds ? "rn." : "", cvt_types[to], ".", cvt_types[from],
             " $0, $1");
}

/* What is left of it is extended as the result's type says. */
static void integer_to_integer(char pattern[PTX_PATTERN_SIZE], VarType to, VarType from)
{
    if (type_info[to].size == 8 && type_info[from].size == 8)
        PTX_JOIN(pattern, "mov.b64 $0, $1");
    else if (type_info[to].size == 8)
        PTX_JOIN(pattern, "cvt.", cvt_types[to][0] == 's' ? "s64." : "u64.",
                 held_as(from), " $0, $1");
    else if (type_info[from].size == 8 && ptx_is_narrow(to))
        PTX_JOIN(pattern, "cvt.u32.u64 $x, $1; cvt.", held_as(to), ".", cvt_types[to],
                 " $0, $x");
    else if (type_info[from].size == 8)
        PTX_JOIN(pattern, "cvt.u32.u64 $0, $1");
    else if (ptx_is_narrow(to))
        PTX_JOIN(pattern, "cvt.", held_as(to), ".", cvt_types[to], " $0, $1");
    else
        PTX_JOIN(pattern, "mov.b32 $0, $1");
}

static void cast_pattern(char pattern[PTX_PATTERN_SIZE], VarType to, VarType from)
{
    const bool from_float = type_info[from].is_float;
    if (to == VarTypeBool)
        to_mask(pattern, from);
    else if (from == VarTypeBool)
        from_mask(pattern, to);
    else if (type_info[to].is_float && from_float)
        float_to_float(pattern, to, from);
    else if (from_float)
        float_to_integer(pattern, to, from);
    else if (type_info[to].is_float)
        PTX_JOIN(pattern, "cvt.rn.", cvt_types[to], ".", held_as(from), " $0, $1");
    else
        integer_to_integer(pattern, to, from);
}

/* The same bits are the same register, unless they are kept in different ways. */
static void write_bitcast(PtxWriter *writer, uint32_t position, VarType to,
                          VarType from, PtxArg value)
{
    PtxText *text = &writer->text;
    const bool same = ptx_types[to].in == ptx_types[from].in;
    if (same && (!ptx_is_narrow(to) || to == from)) {
        ptx_writer_set(writer, position, value);
        return;
    }
    PtxArg result = ptx_writer_result(writer, position);
    if (same)
        ptx_convert_extend(writer, to, result, value);
    else if (to == VarTypeFloat16)
        ptx_text_put(text, to, "cvt.u16.u32 $0, $1", result, value);
    else if (from == VarTypeFloat16)
        ptx_convert_extend(writer, to, result, value);
    else
        ptx_text_put(text, to == VarTypeBool ? from : to,
                     to == VarTypeBool ? "setp.ne.$t $0, $1, 0"
                                       : "selp.$b $0, 1, 0, $1",
                     result, value);
}

void ptx_convert_write(PtxWriter *writer, uint32_t position)
{
    const Inst *inst = &writer->frame->program->insts[position];
    const VarType to = (VarType) inst->type;
    const VarType from = ptx_writer_type(writer, inst->arg[0]);
    PtxArg value = ptx_writer_value(writer, inst->arg[0]);
    char pattern[PTX_PATTERN_SIZE];
    if (inst->op == OP_BITCAST || to == from) {
        write_bitcast(writer, position, to, from, value);
        return;
    }
    cast_pattern(pattern, to, from);
    ptx_text_put(&writer->text, to == VarTypeBool ? from : to, pattern,
                 ptx_writer_result(writer, position), value);
}
