/*
 * llvm_ops.c -- LLVM IR of arithmetic, comparisons and conversions
 *
 * A table gives the pattern (llvm_writer.h) of each operation and kind of operand; an
 * empty cell is what the legaliser has to expand. LLVM leaves some results undefined
 * (poison) that ops.def defines: shifts by too much, divisions by zero, conversions out
 * of range. The patterns here replace the offending operand or select around the
 * result. No fast-math flags anywhere: results are those of the interpreter, bit for
 * bit.
 */
#include "engine/llvm/llvm_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

typedef enum Kind {
    KIND_MASK,
    KIND_SIGNED,
    KIND_UNSIGNED,
    KIND_FLOAT,
    KIND_HALF,
    KIND_POINTER,
    KIND_COUNT
} Kind;

typedef struct Row {
    const char *text[KIND_COUNT]; /* by kind of operand; NULL: no primitive */
    const char *declare;          /* intrinsic that texts call, NULL: none */
} Row;

#define SAME_INTEGER(pattern) [KIND_SIGNED] = pattern, [KIND_UNSIGNED] = pattern
#define EACH_INTEGER(before, after) \
    [KIND_SIGNED] = before "s" after, [KIND_UNSIGNED] = before "u" after
#define SAME_BITS(pattern) SAME_INTEGER(pattern), [KIND_MASK] = pattern
#define INTRINSIC_1(name) "$r = call $T @llvm." name ".$t($T $0)"
#define INTRINSIC_2(name) "$r = call $T @llvm." name ".$t($T $0, $T $1)"
#define DECLARE_1(name) "$T @llvm." name ".$t($T)"
#define COMPARE(integer, floating)                                  \
    .text = { [KIND_SIGNED] = "$r = icmp s" integer " $U $0, $1",   \
              [KIND_UNSIGNED] = "$r = icmp u" integer " $U $0, $1", \
              [KIND_FLOAT] = "$r = fcmp " floating " $U $0, $1" }
#define EQUALITY(integer, floating)                               \
    .text = { SAME_BITS("$r = icmp " integer " $U $0, $1"),       \
              [KIND_POINTER] = "$r = icmp " integer " $U $0, $1", \
              [KIND_FLOAT] = "$r = fcmp " floating " $U $0, $1" }

/* Divisions: see write_division(). */
static const Row rows[OP_COUNT] = {
    [OP_NEG] = { .text = { [KIND_FLOAT] = "$r = fneg $T $0" } },
    [OP_NOT] = { .text = { SAME_BITS("$r = xor $T $0, $[-1]") } },
    [OP_SQRT] = { .text = { [KIND_FLOAT] = INTRINSIC_1("sqrt") },
                  .declare = DECLARE_1("sqrt") },
    [OP_ABS] = { .text = { [KIND_FLOAT] = INTRINSIC_1("fabs") },
                 .declare = DECLARE_1("fabs") },
    [OP_CEIL] = { .text = { [KIND_FLOAT] = INTRINSIC_1("ceil") },
                  .declare = DECLARE_1("ceil") },
    [OP_FLOOR] = { .text = { [KIND_FLOAT] = INTRINSIC_1("floor") },
                   .declare = DECLARE_1("floor") },
    [OP_ROUND] = { .text = { [KIND_FLOAT] = INTRINSIC_1("roundeven") },
                   .declare = DECLARE_1("roundeven") },
    [OP_TRUNC] = { .text = { [KIND_FLOAT] = INTRINSIC_1("trunc") },
                   .declare = DECLARE_1("trunc") },
    [OP_POPC] = { .text = { SAME_INTEGER(INTRINSIC_1("ctpop")) },
                  .declare = DECLARE_1("ctpop") },
    [OP_CLZ] = { .text = { SAME_INTEGER(
                     "$r = call $T @llvm.ctlz.$t($T $0, i1 false)") },
                 .declare = "$T @llvm.ctlz.$t($T, i1)" },
    [OP_CTZ] = { .text = { SAME_INTEGER(
                     "$r = call $T @llvm.cttz.$t($T $0, i1 false)") },
                 .declare = "$T @llvm.cttz.$t($T, i1)" },
    [OP_BREV] = { .text = { SAME_INTEGER(INTRINSIC_1("bitreverse")) },
                  .declare = DECLARE_1("bitreverse") },
    [OP_ADD] = { .text = { SAME_INTEGER("$r = add $T $0, $1"),
                           [KIND_FLOAT] = "$r = fadd $T $0, $1" } },
    [OP_SUB] = { .text = { SAME_INTEGER("$r = sub $T $0, $1"),
                           [KIND_FLOAT] = "$r = fsub $T $0, $1" } },
    [OP_MUL] = { .text = { SAME_INTEGER("$r = mul $T $0, $1"),
                           [KIND_FLOAT] = "$r = fmul $T $0, $1" } },
    [OP_DIV] = { .text = { [KIND_FLOAT] = "$r = fdiv $T $0, $1" } },
    [OP_MUL_WIDE] = { .text = { [KIND_SIGNED] =
                                    "$a = sext $U $0 to $T\n  $b = sext $U $1 to $T\n"
                                    "  $r = mul $T $a, $b",
                                [KIND_UNSIGNED] =
                                    "$a = zext $U $0 to $T\n  $b = zext $U $1 to $T\n"
                                    "  $r = mul $T $a, $b" } },
    [OP_COPYSIGN] = { .text = { [KIND_FLOAT] = INTRINSIC_2("copysign") },
                      .declare = "$T @llvm.copysign.$t($T, $T)" },
    [OP_EQ] = { EQUALITY("eq", "oeq") },
    [OP_NEQ] = { EQUALITY("ne", "une") },
    [OP_LT] = { COMPARE("lt", "olt") },
    [OP_LE] = { COMPARE("le", "ole") },
    [OP_GT] = { COMPARE("gt", "ogt") },
    [OP_GE] = { COMPARE("ge", "oge") },
    [OP_AND] = { .text = { SAME_BITS("$r = and $T $0, $1") } },
    [OP_OR] = { .text = { SAME_BITS("$r = or $T $0, $1") } },
    [OP_XOR] = { .text = { SAME_BITS("$r = xor $T $0, $1") } },
    [OP_FMA] = { .text = { [KIND_FLOAT] =
                               "$r = call $T @llvm.fma.$t($T $0, $T $1, $T $2)" },
                 .declare = "$T @llvm.fma.$t($T, $T, $T)" },
};

static Kind kind_of(VarType type)
{
    switch (type) {
    case VarTypeBool:
        return KIND_MASK;
    case VarTypeFloat16:
        return KIND_HALF;
    case VarTypePointer:
        return KIND_POINTER;
    default:
        return type_info[type].is_float    ? KIND_FLOAT
               : type_info[type].is_signed ? KIND_SIGNED
                                           : KIND_UNSIGNED;
    }
}

static unsigned bits_of(VarType type)
{
    return type_info[type].size * 8u;
}

/* Emit a pattern that was put together at run time, and release it. */
static void emit_text(LlvmWriter *writer, uint32_t position, Text *pattern)
{
    const char *finished = text_get(pattern);
    if (finished) {
        llvm_writer_emit(writer, position, finished);
    } else {
        writer->body.failed = true;
    }
    text_free(pattern);
}

/* ---- selection, shifts, division */

static void write_select(LlvmWriter *writer, uint32_t position, const Inst *inst)
{
    Text text = { 0 };
    if (writer->shape.select_bits && type_info[inst->type].is_float) {
        const char *bits = writer->types[!writer->scalar][type_bits(inst->type)];
        text_putf(&text,
                  "$a = bitcast $T $1 to %s\n  $b = bitcast $T $2 to %s\n"
                  "  $c = select $M $0, %s $a, %s $b\n  $r = bitcast %s $c to $T",
                  bits, bits, bits, bits, bits);
    } else {
        text_put(&text, "$r = select $M $0, $T $1, $T $2");
    }
    emit_text(writer, position, &text);
}

static void write_shift(LlvmWriter *writer, uint32_t position, const Inst *inst)
{
    const uint32_t *args = inst->arg;
    const Inst *amount = &writer->program->insts[args[1]];
    unsigned width = bits_of(inst->type);
    bool sign = type_info[inst->type].is_signed && inst->op == OP_SHR;
    const char *name = inst->op == OP_SHL ? "shl" : sign ? "ashr" : "lshr";
    Text text = { 0 };
    bool safe =
        amount->op == OP_LITERAL && writer->program->literals[amount->aux] < width;
    if (safe) {
        text_putf(&text, "$r = %s $T $0, $1", name);
    } else if (sign) {
        text_putf(&text,
                  "$a = icmp ult $T $1, $[%u]\n  $b = select $M $a, $T $1, $T $[%u]\n"
                  "  $r = ashr $T $0, $b",
                  width, width - 1);
    } else {
        text_putf(&text,
                  "$a = icmp ult $T $1, $[%u]\n  $b = %s $T $0, $1\n"
                  "  $r = select $M $a, $T $b, $T zeroinitializer",
                  width, name);
    }
    emit_text(writer, position, &text);
}

/* Integer division. The divisor is replaced by 1 where the quotient is not defined: x /
 * 0 and MIN / -1; the remainder of the replaced division is 0, its quotient x. Vectors
 * of up to 32 bits divide in floating point: the rounded quotient of two integers of p
 * bits, truncated, is exact in a format of more than 2p bits. */
static void write_division(LlvmWriter *writer, uint32_t position, const Inst *inst)
{
    bool sign = type_info[inst->type].is_signed;
    bool remainder = inst->op == OP_MOD;
    const Inst *divisor = &writer->program->insts[inst->arg[1]];
    unsigned width = bits_of(inst->type);
    uint64_t value =
        divisor->op == OP_LITERAL ? writer->program->literals[divisor->aux] : 0;
    uint64_t all = width < 64 ? (UINT64_C(1) << width) - 1 : UINT64_MAX;
    char s = sign ? 's' : 'u';
    Text text = { 0 };
    if ((value & all) != 0 && (!sign || (value & all) != all)) {
        text_putf(&text, "$r = %c%s $T $0, $1", s, remainder ? "rem" : "div");
    } else {
        text_put(&text, "$a = icmp eq $T $1, zeroinitializer\n");
        if (sign) {
            text_putf(&text,
                      "  $b = icmp eq $T $0, $[%" PRIi64 "]\n"
                      "  $c = icmp eq $T $1, $[-1]\n  $d = and $M $b, $c\n"
                      "  $e = or $M $a, $d\n",
                      (int64_t) (UINT64_C(1) << (width - 1)));
        } else {
            text_put(&text, "  $e = or $M $a, $a\n");
        }
        text_put(&text, "  $f = select $M $e, $T $[1], $T $1\n");
        if (width == 64 || writer->scalar) {
            text_putf(&text, "  $g = %cdiv $T $0, $f\n", s);
        } else {
            const char *wide = width == 32 ? "double" : "float";
            unsigned lanes = writer->shape.width;
            text_putf(&text,
                      "  $x = %citofp $T $0 to <%u x %s>\n"
                      "  $y = %citofp $T $f to <%u x %s>\n"
                      "  $z = fdiv <%u x %s> $x, $y\n"
                      "  $g = fpto%ci <%u x %s> $z to $T\n",
                      s, lanes, wide, s, lanes, wide, lanes, wide, s, lanes, wide);
        }
        if (remainder) {
            text_put(&text, "  $m = mul $T $g, $f\n  $n = sub $T $0, $m\n"
                            "  $r = select $M $a, $T $0, $T $n");
        } else {
            text_put(&text, "  $r = select $M $a, $T zeroinitializer, $T $g");
        }
    }
    emit_text(writer, position, &text);
}

/* ---- tables */

/* In memory: a gather takes less time than a tree of selects from 8 or 16 entries on,
 * and LLVM 15 crashes on some trees of scalars. */
static void write_table(LlvmWriter *writer, uint32_t position, const Inst *inst)
{
    const Program *p = writer->program;
    const uint32_t *args = program_args(p, inst);
    const char *type = writer->types[0][inst->type];
    Text *out = &writer->functions;
    text_putf(out, "@table%u.%u = internal constant [%u x %s] [", writer->function,
              position, inst->count - 1u, type);
    for (uint32_t k = 1; k < inst->count; k++) {
        text_putf(out, "%s%s ", k > 1 ? ", " : "", type);
        llvm_writer_constant(out, inst->type, p->literals[p->insts[args[k]].aux]);
    }
    text_put(out, "]\n");
}

static void write_lookup(LlvmWriter *writer, uint32_t position, const Inst *inst)
{
    const char *type = llvm_writer_type(writer, inst->type);
    unsigned width = writer->shape.width;
    char declare[200];
    Text pattern = { 0 };
    write_table(writer, position, inst);
    text_putf(&pattern,
              "$a = and $U $0, $(%u)\n"
              "  $b = getelementptr %s, ptr @table%u.$N, $U $a\n  $r = ",
              inst->count - 2u, writer->types[0][inst->type], writer->function);
    if (writer->scalar) {
        text_put(&pattern, "load $T, ptr $b");
    } else {
        snprintf(declare, sizeof declare,
                 "%s @llvm.masked.gather.%s.v%up0(<%u x ptr>, i32, <%u x i1>, %s)",
                 type, writer->suffixes[1][inst->type], width, width, width, type);
        llvm_writer_declare_text(writer, declare);
        text_putf(&pattern,
                  "call $T @llvm.masked.gather.$t.v%up0(<%u x ptr> $b, i32 %u, $M ",
                  width, width, type_info[inst->type].size);
        llvm_writer_splat(writer, &pattern, VarTypeBool, 1);
        text_put(&pattern, ", $T zeroinitializer)");
    }
    emit_text(writer, position, &pattern);
}

/* ---- conversions */

static void write_half_cast(LlvmWriter *writer, uint32_t position, const Inst *inst)
{
    char half[LLVM_TYPE_SIZE + 8];
    if (writer->scalar) {
        snprintf(half, sizeof half, "half");
    } else {
        snprintf(half, sizeof half, "<%u x half>", writer->shape.width);
    }
    Text text = { 0 };
    text_putf(&text,
              inst->type == VarTypeFloat16
                  ? "$a = fptrunc $U $0 to %s\n  $r = bitcast %s $a to $T"
                  : "$a = bitcast $U $0 to %s\n  $r = fpext %s $a to $T",
              half, half);
    emit_text(writer, position, &text);
}

static const char *integer_cast(VarType to, VarType from)
{
    bool sign = type_info[from].is_signed;
    if (type_info[to].is_float) {
        return sign ? "$r = sitofp $U $0 to $T" : "$r = uitofp $U $0 to $T";
    }
    return type_info[to].size < type_info[from].size ? "$r = trunc $U $0 to $T"
           : sign                                    ? "$r = sext $U $0 to $T"
                                                     : "$r = zext $U $0 to $T";
}

static const char *float_cast(LlvmWriter *writer, uint32_t position, VarType to)
{
    if (type_info[to].is_float) {
        return to == VarTypeFloat64 ? "$r = fpext $U $0 to $T"
                                    : "$r = fptrunc $U $0 to $T";
    }
    bool sign = type_info[to].is_signed;
    llvm_writer_declare(writer, position,
                        sign ? "$T @llvm.fptosi.sat.$t.$u($U)"
                             : "$T @llvm.fptoui.sat.$t.$u($U)");
    return sign ? "$r = call $T @llvm.fptosi.sat.$t.$u($U $0)"
                : "$r = call $T @llvm.fptoui.sat.$t.$u($U $0)";
}

static void write_cast(LlvmWriter *writer, uint32_t position, const Inst *inst)
{
    VarType from = writer->program->insts[inst->arg[0]].type, to = inst->type;
    if (to == VarTypeFloat16 || from == VarTypeFloat16) {
        write_half_cast(writer, position, inst);
    } else {
        llvm_writer_emit(writer, position,
                         type_info[from].is_float
                             ? float_cast(writer, position, to)
                             : integer_cast(to, from));
    }
}

/* Half precision converts from and to f32 only. What keeps bits is a BITCAST. */
static bool supports_cast(VarType to, VarType from)
{
    const TypeInfo *t = &type_info[to], *f = &type_info[from];
    if (to == from || to == VarTypeBool || from == VarTypeBool) {
        return false;
    }
    if (to == VarTypeFloat16 || from == VarTypeFloat16) {
        return to == VarTypeFloat32 || from == VarTypeFloat32;
    }
    return t->is_float || f->is_float || t->size != f->size;
}

bool llvm_ops_supports(Op op, VarType type, VarType operand)
{
    Kind kind = kind_of(operand);
    bool integer = kind == KIND_SIGNED || kind == KIND_UNSIGNED;
    switch (op) {
    case OP_CAST:
        return supports_cast(type, operand);
    case OP_BITCAST:
    case OP_SELECT:
    case OP_LOOKUP:
        return true;
    case OP_SHL:
    case OP_SHR:
    case OP_MOD:
        return integer;
    case OP_DIV:
        return integer || kind == KIND_FLOAT;
    default:
        return rows[op].text[kind] != NULL;
    }
}

bool llvm_ops_write(LlvmWriter *writer, uint32_t position)
{
    const Inst *inst = &writer->program->insts[position];
    const uint32_t *args = program_args(writer->program, inst);
    VarType operand = inst->count ? writer->program->insts[args[0]].type : inst->type;
    if (!llvm_ops_supports(inst->op, inst->type, operand)) {
        return error_set(JIT_ERROR_UNSUPPORTED,
                         "the llvm engine has no primitive '%s' for %s",
                         op_info[inst->op].name, type_info[operand].name);
    }
    Kind kind = kind_of(operand);
    switch (inst->op) {
    case OP_SHL:
    case OP_SHR:
        write_shift(writer, position, inst);
        return true;
    case OP_CAST:
        write_cast(writer, position, inst);
        return true;
    case OP_BITCAST:
        llvm_writer_emit(writer, position, "$r = bitcast $U $0 to $T");
        return true;
    case OP_SELECT:
        write_select(writer, position, inst);
        return true;
    case OP_LOOKUP:
        write_lookup(writer, position, inst);
        return true;
    case OP_DIV:
    case OP_MOD:
        if (kind != KIND_FLOAT) {
            write_division(writer, position, inst);
            return true;
        }
        break;
    default:
        break;
    }
    const Row *row = &rows[inst->op];
    if (row->declare && strstr(row->text[kind], "@llvm.")) {
        llvm_writer_declare(writer, position, row->declare);
    }
    llvm_writer_emit(writer, position, row->text[kind]);
    return true;
}
