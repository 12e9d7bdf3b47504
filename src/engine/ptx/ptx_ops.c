/*
 * ptx_ops.c -- PTX of arithmetic, comparisons and tables
 *
 * A table gives the pattern (ptx_text.h) of each operation and kind of operand: $0 is
 * the result, $1 ... $3 are operands, $t is the operands' type. An empty cell is what
 * the legaliser has to expand: all of half precision, and the arithmetic of 8- and
 * 16-bit integers.
 *
 * Why the bits are those of the interpreter: every operation on floats says how it
 * rounds, so the assembler contracts nothing, and none flushes subnormal numbers. Where
 * PTX and ops.def differ, the pattern makes up for it:
 *
 *   - MIN, MAX of floats: those of PTX never give a NaN if there is a number, and order
 *     zeros; they are FMIN and FMAX.
 *   - Integer division by 0, and of the least integer by -1: not defined in PTX.
 *   - Counts of shifts have 32 bits; counts of bits have, too.
 *   - neg, abs and copysign of PTX make another NaN of a NaN; here they are logic on
 *     bits.
 */
#include "engine/ptx/ptx_writer.h"

typedef enum Kind {
    KIND_MASK,
    KIND_SIGNED,
    KIND_UNSIGNED,
    KIND_SIGNED_LONG,
    KIND_UNSIGNED_LONG,
    KIND_SINGLE,
    KIND_DOUBLE,
    KIND_COUNT
} Kind;

typedef struct Row {
    const char *text[KIND_COUNT]; /* NULL: no primitive */
    bool narrow; /* 8- and 16-bit integers stay extended: as in 32 bits */
} Row;

#define SHORT(pattern) [KIND_SIGNED] = pattern, [KIND_UNSIGNED] = pattern
#define LONG(pattern) [KIND_SIGNED_LONG] = pattern, [KIND_UNSIGNED_LONG] = pattern
#define INTEGER(pattern) SHORT(pattern), LONG(pattern)
#define SIGNED(pattern) [KIND_SIGNED] = pattern, [KIND_SIGNED_LONG] = pattern
#define UNSIGNED(pattern) [KIND_UNSIGNED] = pattern, [KIND_UNSIGNED_LONG] = pattern
#define MASK(pattern) [KIND_MASK] = pattern
#define SINGLE(pattern) [KIND_SINGLE] = pattern
#define DOUBLE(pattern) [KIND_DOUBLE] = pattern
#define FLOAT(pattern) SINGLE(pattern), DOUBLE(pattern)
#define SIGN "0x80000000"
#define SIGN_LONG "0x8000000000000000"
#define MAGNITUDE "0x7fffffff"
#define MAGNITUDE_LONG "0x7fffffffffffffff"
#define COMPARE(name)                                     \
    {                                                     \
        .text = { INTEGER("setp." name ".$t $0, $1, $2"), \
                  FLOAT("setp." name ".$t $0, $1, $2") }, \
        .narrow = true                                    \
    }
#define BITWISE(name)                                                              \
    {                                                                              \
        .text = { INTEGER(name ".$b $0, $1, $2"), MASK(name ".pred $0, $1, $2") }, \
        .narrow = true                                                             \
    }

/* $q: the divisor is 0; $p: it is -1, and the quotient is the negated dividend. $k: the
 * divisor, 1 in these cases. */
#define GUARD_UNSIGNED "setp.eq.$t $q, $2, 0; selp.$b $k, 1, $2, $q; "
#define GUARD_SIGNED                         \
    GUARD_UNSIGNED "setp.eq.$t $p, $2, -1; " \
                   "selp.$b $k, 1, $k, $p; "
#define REMAINDER "div.$t $l, $1, $k; mul.lo.$t $l, $l, $k; sub.$t $l, $1, $l; "
#define COUNT_LONG "min.u64 $v, $2, 64; cvt.u32.u64 $x, $v; "

static const Row rows[OP_COUNT] = {
    [OP_NEG] = { .text = { SHORT("neg.s32 $0, $1"), LONG("neg.s64 $0, $1"),
                           SINGLE("xor.b32 $0, $1, " SIGN),
                           DOUBLE("xor.b64 $0, $1, " SIGN_LONG) } },
    [OP_NOT] = { .text = { INTEGER("not.$b $0, $1"), MASK("not.pred $0, $1") } },
    [OP_SQRT] = { .text = { FLOAT("sqrt.rn.$t $0, $1") } },
    [OP_RCP] = { .text = { FLOAT("rcp.rn.$t $0, $1") } },
    [OP_ABS] = { .text = { SIGNED("abs.$t $0, $1"), UNSIGNED("mov.$b $0, $1"),
                           SINGLE("and.b32 $0, $1, " MAGNITUDE),
                           DOUBLE("and.b64 $0, $1, " MAGNITUDE_LONG) } },
    [OP_CEIL] = { .text = { FLOAT("cvt.rpi.$t.$t $0, $1") } },
    [OP_FLOOR] = { .text = { FLOAT("cvt.rmi.$t.$t $0, $1") } },
    [OP_ROUND] = { .text = { FLOAT("cvt.rni.$t.$t $0, $1") } },
    [OP_TRUNC] = { .text = { FLOAT("cvt.rzi.$t.$t $0, $1") } },
    [OP_POPC] = { .text = { SHORT("popc.b32 $0, $1"),
                            LONG("popc.b64 $x, $1; cvt.u64.u32 $0, $x") } },
    [OP_CLZ] = { .text = { SHORT("clz.b32 $0, $1"),
                           LONG("clz.b64 $x, $1; cvt.u64.u32 $0, $x") } },
    [OP_CTZ] = { .text = { SHORT("brev.b32 $x, $1; clz.b32 $0, $x"),
                           LONG("brev.b64 $v, $1; clz.b64 $x, $v; "
                                "cvt.u64.u32 $0, $x") } },
    [OP_BREV] = { .text = { INTEGER("brev.$b $0, $1") } },
    [OP_ADD] = { .text = { INTEGER("add.$t $0, $1, $2"),
                           FLOAT("add.rn.$t $0, $1, $2") } },
    [OP_SUB] = { .text = { INTEGER("sub.$t $0, $1, $2"),
                           FLOAT("sub.rn.$t $0, $1, $2") } },
    [OP_MUL] = { .text = { INTEGER("mul.lo.$t $0, $1, $2"),
                           FLOAT("mul.rn.$t $0, $1, $2") } },
    [OP_DIV] = { .text = { UNSIGNED(GUARD_UNSIGNED "div.$t $l, $1, $k; "
                                                   "selp.$b $0, 0, $l, $q"),
                           SIGNED(GUARD_SIGNED "div.$t $l, $1, $k; neg.$t $k, $1; "
                                               "selp.$b $l, $k, $l, $p; "
                                               "selp.$b $0, 0, $l, $q"),
                           FLOAT("div.rn.$t $0, $1, $2") } },
    [OP_MOD] = { .text = { UNSIGNED(GUARD_UNSIGNED REMAINDER "selp.$b $0, $1, $l, $q"),
                           SIGNED(GUARD_SIGNED REMAINDER "selp.$b $0, $1, $l, $q") } },
    [OP_MUL_HI] = { .text = { INTEGER("mul.hi.$t $0, $1, $2") } },
    [OP_MUL_WIDE] = { .text = { SHORT("mul.wide.$t $0, $1, $2") } },
    [OP_MIN] = { .text = { INTEGER("min.$t $0, $1, $2"),
                           FLOAT(
                               "setp.lt.$t $p, $2, $1; setp.nan.or.$t $p, $1, $1, $p; "
                               "selp.$b $0, $2, $1, $p") },
                 .narrow = true },
    [OP_MAX] = { .text = { INTEGER("max.$t $0, $1, $2"),
                           FLOAT(
                               "setp.gt.$t $p, $1, $2; setp.nan.or.$t $p, $2, $2, $p; "
                               "selp.$b $0, $1, $2, $p") },
                 .narrow = true },
    [OP_FMIN] = { .text = { FLOAT("min.$t $0, $1, $2") } },
    [OP_FMAX] = { .text = { FLOAT("max.$t $0, $1, $2") } },
    [OP_COPYSIGN] = { .text = { SINGLE("and.b32 $k, $1, " MAGNITUDE "; "
                                       "and.b32 $l, $2, " SIGN "; or.b32 $0, $k, $l"),
                                DOUBLE("and.b64 $k, $1, " MAGNITUDE_LONG "; "
                                       "and.b64 $l, $2, " SIGN_LONG "; "
                                       "or.b64 $0, $k, $l") } },
    [OP_EQ] = { .text = { INTEGER("setp.eq.$t $0, $1, $2"),
                          FLOAT("setp.eq.$t $0, $1, $2"),
                          MASK("xor.pred $p, $1, $2; not.pred $0, $p") },
                .narrow = true },
    [OP_NEQ] = { .text = { INTEGER("setp.ne.$t $0, $1, $2"),
                           FLOAT("setp.neu.$t $0, $1, $2"),
                           MASK("xor.pred $0, $1, $2") },
                 .narrow = true },
    [OP_LT] = COMPARE("lt"),
    [OP_LE] = COMPARE("le"),
    [OP_GT] = COMPARE("gt"),
    [OP_GE] = COMPARE("ge"),
    [OP_AND] = BITWISE("and"),
    [OP_OR] = BITWISE("or"),
    [OP_XOR] = BITWISE("xor"),
    [OP_SHL] = { .text = { SHORT("shl.b32 $0, $1, $2"),
                           LONG(COUNT_LONG "shl.b64 $0, $1, $x") } },
    [OP_SHR] = { .text = { SHORT("shr.$t $0, $1, $2"),
                           LONG(COUNT_LONG "shr.$t $0, $1, $x") } },
    [OP_FMA] = { .text = { INTEGER("mad.lo.$t $0, $1, $2, $3"),
                           FLOAT("fma.rn.$t $0, $1, $2, $3") } },
};

/* Of literals other than 0 and -1 the quotient is defined. */
static const char divide_literal[] = "div.$t $0, $1, $2";
static const char modulo_literal[] =
    "div.$t $l, $1, $2; mul.lo.$t $l, $l, $2; sub.$t $0, $1, $l";

static const char select_mask[] = "and.pred $p, $1, $2; not.pred $q, $1; "
                                  "and.pred $q, $q, $3; or.pred $0, $p, $q";
static const char select_value[] = "selp.$b $0, $2, $3, $1";

static Kind kind_of(VarType type)
{
    const TypeInfo *info = &type_info[type];
    return type == VarTypeBool ? KIND_MASK
           : info->is_float    ? (info->size < 8 ? KIND_SINGLE : KIND_DOUBLE)
           : info->size < 8    ? (info->is_signed ? KIND_SIGNED : KIND_UNSIGNED)
           : info->is_signed   ? KIND_SIGNED_LONG
                               : KIND_UNSIGNED_LONG;
}

bool ptx_ops_supports(Op op, VarType operand)
{
    const Row *row = &rows[op];
    switch (op) {
    case OP_SELECT:
    case OP_LOOKUP:
    case OP_CAST:
    case OP_BITCAST:
        return true;
    case OP_EQ:
    case OP_NEQ:
        if (operand == VarTypePointer)
            return true;
        break;
    default:
        break;
    }
    if (operand == VarTypePointer || operand == VarTypeFloat16)
        return false;
    if (ptx_is_narrow(operand) && !row->narrow)
        return false;
    return row->text[kind_of(operand)] != NULL;
}

const char *ptx_ops_pattern(Op op, VarType type)
{
    return rows[op].text[kind_of(type)];
}

/* ---- tables */

/* Bits of entry k. */
static uint64_t table_entry(const PtxTable *table, uint32_t k)
{
    const Program *p = table->program;
    const Inst *inst = &p->insts[table->position];
    return p->literals[p->insts[program_args(p, inst)[k + 1]].aux] &
           type_mask((VarType) inst->type);
}

static bool same_tables(const PtxTable *a, const PtxTable *b)
{
    const Inst *x = &a->program->insts[a->position];
    const Inst *y = &b->program->insts[b->position];
    if (x->count != y->count || type_info[x->type].size != type_info[y->type].size)
        return false;
    for (uint32_t k = 0; k + 1u < x->count; ++k)
        if (table_entry(a, k) != table_entry(b, k))
            return false;
    return true;
}

/* A variable of the module, which lanes read at different places. */
static void declare_table(PtxWriter *writer, const PtxTable *table, uint32_t number)
{
    const Inst *inst = &table->program->insts[table->position];
    Text *module = &writer->text.module;
    text_put(module, ".global .align 8 .");
    text_put(module, ptx_types[inst->type].bits);
    text_put(module, " table");
    text_put_u64(module, number);
    text_put_char(module, '[');
    text_put_u64(module, inst->count - 1u);
    text_put(module, "] = {");
    for (uint32_t k = 0; k + 1u < inst->count; ++k) {
        text_put(module, k ? ", 0x" : "0x");
        text_put_hex64(module, table_entry(table, k));
    }
    text_put(module, "};\n");
}

/* Number of the table of a LOOKUP: calls of one function have the same. Few are kept
 * in mind; others are declared once more. */
static uint32_t find_table(PtxWriter *writer, uint32_t position)
{
    const PtxTable table = { writer->frame->program, position };
    const uint32_t known =
        writer->table_count < PTX_TABLES_KNOWN ? writer->table_count : PTX_TABLES_KNOWN;
    for (uint32_t i = 0; i < known; ++i)
        if (same_tables(&writer->tables[i], &table))
            return i;
    if (known < PTX_TABLES_KNOWN)
        writer->tables[known] = table;
    declare_table(writer, &table, writer->table_count);
    return writer->table_count++;
}

static void write_lookup(PtxWriter *writer, uint32_t position)
{
    const Program *p = writer->frame->program;
    const Inst *inst = &p->insts[position];
    const uint32_t *args = program_args(p, inst);
    const VarType type = (VarType) inst->type;
    const uint32_t count = inst->count - 1u, size = type_info[type].size;
    const uint32_t number = find_table(writer, position);
    PtxArg index = ptx_writer_value(writer, args[0]);
    ptx_text_put(&writer->text, type,
                 size == 8 ? "cvt.u32.u64 $x, $1; and.b32 $x, $x, $2; "
                             "mov.u64 $v, table$3; mad.wide.u32 $v, $x, $4, $v; "
                             "ld.global.nc.$b $0, [$v]"
                           : "and.b32 $x, $1, $2; "
                             "mov.u64 $v, table$3; mad.wide.u32 $v, $x, $4, $v; "
                             "ld.global.nc.$b $0, [$v]",
                 ptx_writer_result(writer, position), index, ptx_number(count - 1),
                 ptx_number(number), ptx_number(size));
}

/* ---- arithmetic */

static const char *pattern_of(const PtxWriter *writer, const Inst *inst, VarType type)
{
    uint64_t bits;
    if (inst->op == OP_SELECT)
        return inst->type == VarTypeBool ? select_mask : select_value;
    if ((inst->op == OP_DIV || inst->op == OP_MOD) && type_info[type].is_integer &&
        ptx_writer_literal(writer, inst->arg[1], &bits) && bits & type_mask(type) &&
        (~bits & type_mask(type) || !type_info[type].is_signed))
        return inst->op == OP_DIV ? divide_literal : modulo_literal;
    return ptx_ops_pattern((Op) inst->op, type);
}

void ptx_ops_write(PtxWriter *writer, uint32_t position)
{
    const Program *p = writer->frame->program;
    const Inst *inst = &p->insts[position];
    if (inst->op == OP_LOOKUP) {
        write_lookup(writer, position);
        return;
    }
    const VarType type = program_operation_type(p, inst);
    PtxArg args[1 + INST_ARGS] = { 0 };
    for (uint32_t k = 0; k < inst->count; ++k)
        args[1 + k] = ptx_writer_value(writer, inst->arg[k]);
    args[0] = ptx_writer_result(writer, position);
    ptx_text_write(&writer->text, type, pattern_of(writer, inst, type), args);
}
