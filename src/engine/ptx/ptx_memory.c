/*
 * ptx_memory.c -- PTX of inputs, outputs, gathers and scatters
 *
 * Packets, and the entries of four lanes that one thread computes, are accesses of up
 * to 16 bytes where the address allows: an array that the library was given may be
 * aligned to its entries only, so that both forms are written, and a predicate, the
 * same in all lanes, chooses one. Arrays can be read for 64 bytes behind their end, so
 * that loads need not care which lanes exist.
 *
 * What is read by index does not change while a kernel runs unless it is written to
 * through the same parameter: the others take the path of ld.global.nc. Inputs do not:
 * an output may take the place of one.
 */
#include <string.h>

#include "engine/ptx/ptx_writer.h"

enum { VECTOR_BYTES = 16 };

/* ---- single entries */

PtxArg ptx_memory_address(PtxWriter *writer, PtxArg base, PtxArg index, uint32_t stride)
{
    PtxArg address = ptx_text_new(&writer->text, PTX_B64);
    ptx_text_put(&writer->text, VarTypePointer, "mad.wide.u32 $0, $1, $2, $3", address,
                 index, ptx_number(stride), base);
    return address;
}

void ptx_memory_get(PtxWriter *writer, VarType type, const char *space, PtxArg to,
                    PtxArg address, uint32_t offset, PtxArg mask)
{
    const bool is_mask = type == VarTypeBool;
    char pattern[PTX_PATTERN_SIZE];
    PTX_JOIN(pattern,
             mask == PTX_NONE ? ""
             : is_mask        ? "mov.b32 $x, 0; @$3 "
                              : "mov.$b $0, 0; @$3 ",
             "ld.", space,
             is_mask ? ".$m $x, [$1+$2]; setp.ne.u32 $0, $x, 0" : ".$m $0, [$1+$2]");
    ptx_text_put(&writer->text, type, pattern, to, address, ptx_number(offset), mask);
}

void ptx_memory_put(PtxWriter *writer, VarType type, const char *space, PtxArg from,
                    PtxArg address, uint32_t offset, PtxArg mask)
{
    const bool is_mask = type == VarTypeBool;
    char pattern[PTX_PATTERN_SIZE];
    PTX_JOIN(pattern, is_mask ? "selp.b32 $x, 1, 0, $0; " : "",
             mask == PTX_NONE ? "" : "@$3 ", "st.", space,
             is_mask ? ".$m [$1+$2], $x" : ".$m [$1+$2], $0");
    ptx_text_put(&writer->text, type, pattern, from, address, ptx_number(offset), mask);
}

PtxArg ptx_memory_mask(const PtxWriter *writer, uint32_t position)
{
    return ptx_writer_is_true(writer, position) ? PTX_NONE
                                                : ptx_writer_value(writer, position);
}

/* ---- entries side by side */

/* The most entries of a vector that packets of 'count' consist of. */
static uint32_t vector_entries(VarType type, uint32_t count)
{
    uint32_t entries = VECTOR_BYTES / type_info[type].size;
    if (entries > 4)
        entries = 4;
    while (count % entries)
        entries /= 2;
    return entries;
}

/* Predicates: the lanes of 'mask' (PTX_NONE: all), if the address is a multiple of
 * 'bytes'; and if it is not. */
static void split_mask(PtxWriter *writer, PtxArg address, uint32_t bytes, PtxArg mask,
                       PtxArg *whole, PtxArg *single)
{
    PtxText *text = &writer->text;
    *whole = ptx_text_new(text, PTX_PRED);
    *single = ptx_text_new(text, PTX_PRED);
    ptx_text_put(text, VarTypeBool,
                 mask == PTX_NONE
                     ? "and.b64 $v, $2, $3; setp.eq.u64 $0, $v, 0; not.pred $1, $0"
                     : "and.b64 $v, $2, $3; setp.eq.u64 $p, $v, 0; "
                       "and.pred $0, $p, $4; not.pred $p, $p; and.pred $1, $p, $4",
                 *whole, *single, address, ptx_number(bytes - 1), mask);
}

/* What follows the access of a vector: arguments from $4 on. */
static const char *vector_type(uint32_t entries)
{
    return entries == 4 ? ".v4.$m " : ".v2.$m ";
}
static const char *vector_names(uint32_t entries)
{
    return entries == 4 ? "{$4, $5, $6, $7}" : "{$4, $5}";
}

/* Load 'count' entries from an address on into consecutive registers, those of masks
 * into registers of 32 bits. */
static void load_entries(PtxWriter *writer, VarType type, const char *access,
                         PtxArg first, PtxArg address, uint32_t count, PtxArg mask)
{
    PtxText *text = &writer->text;
    const uint32_t size = type_info[type].size;
    const uint32_t entries = vector_entries(type, count);
    PtxArg whole = mask, single = mask;
    char pattern[PTX_PATTERN_SIZE];
    if (mask != PTX_NONE)
        for (uint32_t k = 0; k < count; ++k)
            ptx_text_put(text, type,
                         type == VarTypeBool ? "mov.b32 $0, 0" : "mov.$b $0, 0",
                         ptx_nth(first, k));
    if (entries > 1)
        split_mask(writer, address, entries * size, mask, &whole, &single);
    for (uint32_t k = 0; entries > 1 && k < count; k += entries) {
        PTX_JOIN(pattern, "@$0 ", access, vector_type(entries), vector_names(entries),
                 ", [$1+$2]");
        ptx_text_put(text, type, pattern, whole, address, ptx_number(k * size), 0,
                     ptx_nth(first, k), ptx_nth(first, k + 1), ptx_nth(first, k + 2),
                     ptx_nth(first, k + 3));
    }
    for (uint32_t k = 0; k < count; ++k) {
        PTX_JOIN(pattern, single == PTX_NONE ? "" : "@$3 ", access, ".$m $0, [$1+$2]");
        ptx_text_put(text, type, pattern, ptx_nth(first, k), address,
                     ptx_number(k * size), single);
    }
}

/* Registers as load_entries() fills them; these as values, predicates if masks. */
static PtxArg new_entries(PtxWriter *writer, VarType type, uint32_t count)
{
    return ptx_text_new_many(&writer->text,
                             type == VarTypeBool ? PTX_B32 : ptx_types[type].in, count);
}

static PtxArg entries_to_values(PtxWriter *writer, VarType type, PtxArg first,
                                uint32_t count)
{
    if (type != VarTypeBool)
        return first;
    PtxArg values = ptx_text_new_many(&writer->text, PTX_PRED, count);
    for (uint32_t k = 0; k < count; ++k)
        ptx_text_put(&writer->text, type, "setp.ne.u32 $0, $1, 0", ptx_nth(values, k),
                     ptx_nth(first, k));
    return values;
}

/* Registers that can be stored: bytes of masks. */
static void values_to_entries(PtxWriter *writer, VarType type, PtxArg *values,
                              uint32_t count)
{
    for (uint32_t k = 0; type == VarTypeBool && k < count; ++k) {
        PtxArg byte = ptx_text_new(&writer->text, PTX_B32);
        ptx_text_put(&writer->text, type, "selp.b32 $0, 1, 0, $1", byte, values[k]);
        values[k] = byte;
    }
}

/* Store consecutive entries as vectors, in the lanes of a predicate. */
static void store_vectors(PtxWriter *writer, VarType type, const PtxArg *values,
                          PtxArg address, uint32_t count, PtxArg whole)
{
    const uint32_t entries = vector_entries(type, count);
    for (uint32_t k = 0; entries > 1 && k < count; k += entries) {
        char pattern[PTX_PATTERN_SIZE];
        PTX_JOIN(pattern, "@$0 st.global", vector_type(entries), "[$1+$2], ",
                 vector_names(entries));
        ptx_text_put(&writer->text, type, pattern, whole, address,
                     ptx_number(k * type_info[type].size), 0, values[k], values[k + 1],
                     values[entries > 2 ? k + 2 : k], values[entries > 2 ? k + 3 : k]);
    }
}

/* One entry, from a register that values_to_entries() gave. */
static void store_entry(PtxWriter *writer, VarType type, PtxArg value, PtxArg address,
                        uint32_t offset, PtxArg mask)
{
    ptx_text_put(&writer->text, type,
                 mask == PTX_NONE ? "st.global.$m [$1+$2], $0"
                                  : "@$3 st.global.$m [$1+$2], $0",
                 value, address, ptx_number(offset), mask);
}

/* ---- inputs and outputs */

/* Of all lanes of the thread at once, when the first one's turn is. */
static void load_copies(PtxWriter *writer, uint32_t position)
{
    const Inst *inst = &writer->frame->program->insts[position];
    const VarType type = (VarType) inst->type;
    const uint32_t copies = writer->copies;
    PtxArg address = ptx_memory_address(writer, writer->params[inst->aux],
                                        writer->lane[0], type_info[type].size);
    PtxArg first = new_entries(writer, type, copies);
    load_entries(writer, type, "ld.global", first, address, copies, PTX_NONE);
    first = entries_to_values(writer, type, first, copies);
    for (uint32_t k = 0; k < copies; ++k)
        writer->frame->values[position * copies + k] = ptx_nth(first, k);
}

void ptx_memory_load(PtxWriter *writer, uint32_t position)
{
    const Inst *inst = &writer->frame->program->insts[position];
    const VarType type = (VarType) inst->type;
    PtxArg address = writer->params[inst->aux];
    if (!(inst->flags & INST_UNIFORM)) {
        if (writer->copies > 1) {
            if (writer->copy == 0)
                load_copies(writer, position);
            return;
        }
        address =
            ptx_memory_address(writer, address, writer->lane[0], type_info[type].size);
    }
    ptx_memory_get(writer, type, "global", ptx_writer_result(writer, position), address,
                   0, PTX_NONE);
}

/* As vectors if all lanes exist; the last thread stores those that do. */
static void store_copies(PtxWriter *writer, VarType type, const PtxArg *operands,
                         PtxArg base)
{
    PtxText *text = &writer->text;
    const uint32_t copies = writer->copies, size = type_info[type].size;
    PtxArg values[PTX_LANES_MOST], whole, single;
    PtxArg address = ptx_memory_address(writer, base, writer->lane[0], size);
    memcpy(values, operands, copies * sizeof *values);
    values_to_entries(writer, type, values, copies);
    split_mask(writer, address, vector_entries(type, copies) * size,
               writer->exists[copies - 1], &whole, &single);
    store_vectors(writer, type, values, address, copies, whole);
    for (uint32_t k = 0; k < copies; ++k) {
        PtxArg alone = ptx_text_new(text, PTX_PRED);
        ptx_text_put(text, type, "not.pred $0, $1; and.pred $0, $0, $2", alone, whole,
                     writer->exists[k]);
        store_entry(writer, type, values[k], address, k * size, alone);
    }
}

void ptx_memory_store(PtxWriter *writer, uint32_t position)
{
    const Inst *inst = &writer->frame->program->insts[position];
    const VarType type = ptx_writer_type(writer, inst->arg[0]);
    const PtxArg *values = &writer->frame->values[inst->arg[0] * writer->copies];
    PtxArg base = writer->params[inst->aux];
    if (writer->copies > 1) {
        if (writer->copy == 0)
            store_copies(writer, type, values, base);
        return;
    }
    PtxArg address =
        ptx_memory_address(writer, base, writer->lane[0], type_info[type].size);
    ptx_memory_put(writer, type, "global", values[0], address, 0, PTX_NONE);
}

/* ---- gathers */

/* Is there a write through the parameter that a pointer is? */
static bool is_written(const PtxWriter *writer, uint32_t position)
{
    const Inst *inst = &writer->frame->program->insts[position];
    return inst->op != OP_PARAM || writer->root->params[inst->aux].written;
}

void ptx_memory_gather(PtxWriter *writer, uint32_t position)
{
    const Inst *inst = &writer->frame->program->insts[position];
    const VarType type = (VarType) inst->type;
    const uint32_t *args = inst->arg;
    PtxArg address =
        ptx_memory_address(writer, ptx_writer_value(writer, args[0]),
                           ptx_writer_value(writer, args[1]), type_info[type].size);
    ptx_memory_get(writer, type, is_written(writer, args[0]) ? "global" : "global.nc",
                   ptx_writer_result(writer, position), address, 0,
                   ptx_memory_mask(writer, args[2]));
}

void ptx_memory_gather_packet(PtxWriter *writer, uint32_t position)
{
    const Inst *inst = &writer->frame->program->insts[position];
    const VarType type = (VarType) inst->type;
    const uint32_t *args = inst->arg, count = inst->aux;
    PtxArg address = ptx_memory_address(writer, ptx_writer_value(writer, args[0]),
                                        ptx_writer_value(writer, args[1]),
                                        count * type_info[type].size);
    PtxArg first = new_entries(writer, type, count);
    load_entries(writer, type,
                 is_written(writer, args[0]) ? "ld.global" : "ld.global.nc", first,
                 address, count, ptx_memory_mask(writer, args[2]));
    ptx_writer_set(writer, position, entries_to_values(writer, type, first, count));
}

void ptx_memory_packet_item(PtxWriter *writer, uint32_t position)
{
    const Inst *inst = &writer->frame->program->insts[position];
    PtxArg first = ptx_writer_value(writer, inst->arg[0]);
    ptx_writer_set(writer, position, ptx_nth(first, inst->aux));
}

/* ---- scatters */

static void scatter_entry(PtxWriter *writer, VarType type, uint32_t aux, PtxArg value,
                          PtxArg address, uint32_t offset, PtxArg mask)
{
    const ReduceOp op = (ReduceOp) (aux & 255);
    const ReduceMode mode = (ReduceMode) (aux >> 8 & 255);
    if (op == ReduceOpIdentity)
        ptx_memory_put(writer, type, "global", value, address, offset, mask);
    else if (mode == ReduceModeNoConflicts || mode == ReduceModePermute)
        ptx_atomic_update(writer, type, op, value, address, offset, mask);
    else if (mode == ReduceModeLocal || mode == ReduceModeExpand)
        ptx_atomic_reduce_local(writer, type, op, value, address, offset, mask);
    else
        ptx_atomic_reduce(writer, type, op, value, address, offset, mask);
}

static void scatter_packet(PtxWriter *writer, const Inst *inst, const uint32_t *args)
{
    const VarType type = ptx_writer_type(writer, args[3]);
    const uint32_t count = inst->count - 3u, size = type_info[type].size;
    const uint32_t entries = vector_entries(type, count);
    PtxArg mask = ptx_memory_mask(writer, args[2]), whole, single = mask, values[64];
    PtxArg address =
        ptx_memory_address(writer, ptx_writer_value(writer, args[0]),
                           ptx_writer_value(writer, args[1]), count * size);
    for (uint32_t k = 0; k < count; ++k)
        values[k] = ptx_writer_value(writer, args[3 + k]);
    if ((inst->aux & 255) != ReduceOpIdentity) {
        for (uint32_t k = 0; k < count; ++k)
            scatter_entry(writer, type, inst->aux, values[k], address, k * size, mask);
        return;
    }
    values_to_entries(writer, type, values, count);
    if (entries > 1) {
        split_mask(writer, address, entries * size, mask, &whole, &single);
        store_vectors(writer, type, values, address, count, whole);
    }
    for (uint32_t k = 0; k < count; ++k)
        store_entry(writer, type, values[k], address, k * size, single);
}

void ptx_memory_scatter(PtxWriter *writer, uint32_t position)
{
    const Program *p = writer->frame->program;
    const Inst *inst = &p->insts[position];
    const uint32_t *args = program_args(p, inst);
    if (inst->op == OP_SCATTER_PACKET) {
        scatter_packet(writer, inst, args);
        return;
    }
    const VarType type = ptx_writer_type(writer, args[1]);
    PtxArg address =
        ptx_memory_address(writer, ptx_writer_value(writer, args[0]),
                           ptx_writer_value(writer, args[2]), type_info[type].size);
    scatter_entry(writer, type, inst->aux, ptx_writer_value(writer, args[1]), address,
                  0, ptx_memory_mask(writer, args[3]));
}
