/*
 * ptx_report.c -- PTX of checks and prints
 *
 * A check counts the lanes that fail and keeps the largest of their indices. A print
 * appends a record to the PrintArea (ir/print_area.h), as cpu_prints.c does: a loop of
 * compare and swap takes room for it.
 */
#include "engine/ptx/ptx_writer.h"

#include "ir/print_area.h"

void ptx_report_check(PtxWriter *writer, uint32_t position)
{
    const Inst *inst = &writer->frame->program->insts[position];
    PtxText *text = &writer->text;
    const uint32_t at = inst->aux * (uint32_t) sizeof(CheckReport);
    PtxArg report = writer->params[writer->root->param_count - 1];
    PtxArg mask = ptx_memory_mask(writer, inst->arg[0]);
    PtxArg index = ptx_writer_value(writer, inst->arg[1]);
    PtxArg result = ptx_writer_result(writer, position);
    PtxArg fails = ptx_text_new(text, PTX_PRED);
    ptx_text_put(text, VarTypeUInt64,
                 mask == PTX_NONE ? "ld.global.u64 $v, [$2+$3]; cvt.u64.u32 $w, $4; "
                                    "setp.lt.u64 $0, $w, $v; not.pred $1, $0"
                                  : "ld.global.u64 $v, [$2+$3]; cvt.u64.u32 $w, $4; "
                                    "setp.lt.u64 $p, $w, $v; not.pred $q, $p; "
                                    "and.pred $0, $p, $5; and.pred $1, $q, $5",
                 result, fails, report,
                 ptx_number(at + (uint32_t) offsetof(CheckReport, bound)), index, mask);
    ptx_text_put(
        text, VarTypeUInt32,
        "@$0 red.global.add.u32 [$1+$2], 1; @$0 red.global.max.u32 [$1+$3], $4", fails,
        report, ptx_number(at + (uint32_t) offsetof(CheckReport, count)),
        ptx_number(at + (uint32_t) offsetof(CheckReport, index)), index);
}

void ptx_report_count(PtxWriter *writer, const Program *program)
{
    for (uint32_t i = 0; i < program->inst_count; ++i)
        if (program->insts[i].op == OP_PRINT)
            writer->print_values += program->insts[i].count - 1u;
}

/* The bits of a value in a register of 64 bits, above them zeros. */
static PtxArg as_word(PtxWriter *writer, uint32_t position)
{
    const VarType type = ptx_writer_type(writer, position);
    PtxArg value = ptx_writer_value(writer, position);
    PtxArg word = ptx_text_new(&writer->text, PTX_B64);
    const uint32_t size = type_info[type].size;
    const char *pattern = type == VarTypeBool      ? "selp.b64 $0, 1, 0, $1"
                          : type == VarTypeFloat16 ? "cvt.u64.u16 $0, $1"
                          : size == 8              ? "mov.b64 $0, $1"
                          : size == 4              ? "cvt.u64.u32 $0, $1"
                          : size == 2              ? "cvt.u64.u16 $0, $1"
                                                   : "cvt.u64.u8 $0, $1";
    ptx_text_put(&writer->text, type, pattern, word, value);
    return word;
}

/* Take room for a record with 'count' values: registers of its number, of its first
 * word. Lanes that find none go to 'full'. */
static void take_room(PtxWriter *writer, PtxArg area, uint32_t count, PtxArg full,
                      PtxArg record, PtxArg first)
{
    PtxText *text = &writer->text;
    PtxArg used = ptx_text_new(text, PTX_B64), words = ptx_text_new(text, PTX_B32);
    PtxArg step = ptx_text_new(text, PTX_B64), retry = ptx_text_label(text);
    ptx_text_put(text, VarTypeUInt64,
                 "ld.volatile.global.u64 $0, [$2]; ld.global.u32 $1, [$2+$3]", used,
                 words, area, ptx_number((uint32_t) offsetof(PrintArea, words)));
    ptx_text_literal(text, VarTypeUInt64, step, (uint64_t) count << 32 | 1);
    ptx_text_bind(text, retry);
    /* (record + 1) * 2 words of records, and those of values, in 64 bits */
    ptx_text_put(text, VarTypeUInt64,
                 "cvt.u32.u64 $0, $1; shr.u64 $v, $1, 32; add.u64 $v, $v, $2; "
                 "mad.wide.u32 $w, $0, $3, $v; add.u64 $w, $w, $3; "
                 "cvt.u64.u32 $k, $4; setp.gt.u64 $p, $w, $k; @$p bra $5; "
                 "cvt.u32.u64 $x, $v; sub.u32 $6, $4, $x",
                 record, used, ptx_number(count), ptx_number(PRINT_RECORD_WORDS), words,
                 full, first);
    ptx_text_put(text, VarTypeUInt64,
                 "add.u64 $v, $0, $1; atom.global.cas.b64 $w, [$2], $0, $v; "
                 "setp.ne.u64 $p, $w, $0; mov.b64 $0, $w; @$p bra $3",
                 used, step, area, retry);
}

static void write_record(PtxWriter *writer, const Inst *inst, const uint32_t *args,
                         PtxArg area, PtxArg record, PtxArg first)
{
    PtxText *text = &writer->text;
    const uint32_t head =
        (uint32_t) print_area_head(writer->root->print_count, writer->print_values);
    PtxArg at = ptx_text_new(text, PTX_B64), value = ptx_text_new(text, PTX_B64);
    PtxArg print = ptx_text_new(text, PTX_B32);
    ptx_text_put(text, VarTypeUInt32,
                 "mov.u32 $5, $0; mad.wide.u32 $1, $2, $6, $3; "
                 "st.global.v2.u32 [$1+$7], {$5, $4}",
                 ptx_number(inst->aux), at, record, area, writer->lane[0], print,
                 ptx_number(sizeof(PrintRecord)), ptx_number(head));
    ptx_text_put(text, VarTypeUInt32,
                 "st.global.v2.u32 [$0+$1], {$2, $3}; mad.wide.u32 $4, $3, 8, $5", at,
                 ptx_number(head + (uint32_t) offsetof(PrintRecord, order)), record,
                 first, value, area);
    for (uint32_t k = 1; k < inst->count; ++k)
        ptx_text_put(text, VarTypeUInt64, "st.global.u64 [$0+$1], $2", value,
                     ptx_number(head + (k - 1) * 8), as_word(writer, args[k]));
}

void ptx_report_print(PtxWriter *writer, uint32_t position)
{
    const Program *p = writer->frame->program;
    const Inst *inst = &p->insts[position];
    const uint32_t *args = program_args(p, inst);
    PtxText *text = &writer->text;
    PtxArg area = writer->params[program_find_param(writer->root, PARAM_PRINT)];
    PtxArg mask = ptx_memory_mask(writer, args[0]);
    PtxArg full = ptx_text_label(text), behind = ptx_text_label(text);
    PtxArg record = ptx_text_new(text, PTX_B32), first = ptx_text_new(text, PTX_B32);
    if (mask != PTX_NONE)
        ptx_text_put(text, VarTypeBool, "@!$0 bra $1", mask, behind);
    take_room(writer, area, inst->count - 1u, full, record, first);
    write_record(writer, inst, args, area, record, first);
    ptx_text_put(text, VarTypeBool, "bra $0", behind);
    ptx_text_bind(text, full);
    ptx_text_put(
        text, VarTypeUInt64, "mov.u64 $v, 1; red.global.add.u64 [$0+$1], $v", area,
        ptx_number((uint32_t) (sizeof(PrintArea) + inst->aux * sizeof(uint64_t))));
    ptx_text_bind(text, behind);
}
