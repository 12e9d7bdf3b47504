/*
 * ptx_local.c -- PTX of local arrays
 *
 * Each has a place of its own in the local memory of a thread, named by its body and
 * its LOCAL. Copies of a callable share it, as only one of them runs at a time.
 */
#include "engine/ptx/ptx_writer.h"

enum { UNROLLED = 16 /* entries: set by as many instructions */ };

static uint32_t entry_size(VarType type)
{
    return type_info[type].size;
}

void ptx_local_declare(PtxWriter *writer, const Program *program, uint32_t number)
{
    Text *out = &writer->locals;
    for (uint32_t i = 0; i < program->inst_count; ++i) {
        const Inst *inst = &program->insts[i];
        if (inst->op != OP_LOCAL)
            continue;
        text_put(out, "\t.local .align 8 .b8 local");
        text_put_u64(out, number);
        text_put_char(out, '_');
        text_put_u64(out, i);
        text_put_char(out, '[');
        text_put_u64(out, (uint64_t) inst->aux * entry_size((VarType) inst->type));
        text_put(out, "];\n");
    }
}

/* Register of an array's address. */
static PtxArg array_address(PtxWriter *writer, uint32_t position)
{
    PtxArg address = ptx_text_new(&writer->text, PTX_B64);
    ptx_text_put(&writer->text, VarTypeUInt64, "mov.u64 $0, local$1_$2", address,
                 ptx_number(writer->frame->number), ptx_number(position));
    return address;
}

/* Go through the entries of one array, or of two side by side. */
static void copy_entries(PtxWriter *writer, VarType type, PtxArg to, PtxArg from,
                         PtxArg value, uint32_t entries)
{
    PtxText *text = &writer->text;
    const uint32_t size = entry_size(type);
    if (entries <= UNROLLED) {
        for (uint32_t k = 0; k < entries; ++k) {
            if (from != PTX_NONE)
                ptx_memory_get(writer, type, "local", value, from, k * size, PTX_NONE);
            ptx_memory_put(writer, type, "local", value, to, k * size, PTX_NONE);
        }
        return;
    }
    PtxArg head = ptx_text_label(text), left = ptx_text_new(text, PTX_B32);
    ptx_text_put(text, type, "mov.u32 $0, $1", left, ptx_number(entries));
    ptx_text_bind(text, head);
    if (from != PTX_NONE) {
        ptx_memory_get(writer, type, "local", value, from, 0, PTX_NONE);
        ptx_text_put(text, type, "add.u64 $0, $0, $1", from, ptx_number(size));
    }
    ptx_memory_put(writer, type, "local", value, to, 0, PTX_NONE);
    ptx_text_put(text, type,
                 "add.u64 $0, $0, $1; sub.u32 $2, $2, 1; setp.ne.u32 $p, $2, 0; "
                 "@$p bra $3",
                 to, ptx_number(size), left, head);
}

/* Predicate: lanes of a mask whose index is one of the array. */
static PtxArg in_bounds(PtxWriter *writer, uint32_t index, uint32_t entries,
                        uint32_t mask)
{
    PtxArg inside = ptx_text_new(&writer->text, PTX_PRED);
    PtxArg lanes = ptx_memory_mask(writer, mask);
    ptx_text_put(&writer->text, VarTypeUInt32,
                 lanes == PTX_NONE ? "setp.lt.u32 $0, $1, $2"
                                   : "setp.lt.and.u32 $0, $1, $2, $3",
                 inside, ptx_writer_value(writer, index), ptx_number(entries), lanes);
    return inside;
}

static PtxArg entry_address(PtxWriter *writer, VarType type, uint32_t array,
                            uint32_t index)
{
    return ptx_memory_address(writer, array_address(writer, array),
                              ptx_writer_value(writer, index), entry_size(type));
}

/* All entries of the second array, in the lanes of the mask. */
static void write_move(PtxWriter *writer, const Inst *inst, uint32_t entries)
{
    PtxText *text = &writer->text;
    const VarType type = ptx_writer_type(writer, inst->arg[0]);
    PtxArg mask = ptx_memory_mask(writer, inst->arg[2]), behind = ptx_text_label(text);
    if (mask != PTX_NONE)
        ptx_text_put(text, type, "@!$0 bra $1", mask, behind);
    copy_entries(writer, type, array_address(writer, inst->arg[0]),
                 array_address(writer, inst->arg[1]), ptx_text_new_value(text, type),
                 entries);
    ptx_text_bind(text, behind);
}

void ptx_local_write(PtxWriter *writer, uint32_t position)
{
    const Program *p = writer->frame->program;
    const Inst *inst = &p->insts[position];
    const uint32_t *args = program_args(p, inst);
    const Inst *array = inst->op == OP_LOCAL ? inst : &p->insts[args[0]];
    const VarType type = (VarType) array->type;
    switch (inst->op) {
    case OP_LOCAL:
        if (p->insts[args[0]].op != OP_UNDEFINED)
            copy_entries(writer, type, array_address(writer, position), PTX_NONE,
                         ptx_writer_value(writer, args[0]), inst->aux);
        break;
    case OP_LOCAL_READ:
        ptx_memory_get(writer, type, "local", ptx_writer_result(writer, position),
                       entry_address(writer, type, args[0], args[1]), 0,
                       in_bounds(writer, args[1], array->aux, args[2]));
        break;
    case OP_LOCAL_WRITE:
        ptx_memory_put(writer, type, "local", ptx_writer_value(writer, args[1]),
                       entry_address(writer, type, args[0], args[2]), 0,
                       in_bounds(writer, args[2], array->aux, args[3]));
        break;
    default: /* OP_LOCAL_MOVE */
        write_move(writer, inst, array->aux);
        break;
    }
}
