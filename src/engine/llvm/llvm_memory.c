/*
 * llvm_memory.c -- LLVM IR of gathers, scatters and checks
 *
 * Lanes behind 'end' hold garbage, so everything that touches memory by index is masked
 * with %active. Where the CPU has no masked gather instruction, lanes that are masked
 * read from the constant @zero: no branches, and the result is 0 as ops.def wants it.
 *
 * Scatters without an instruction of their own call a helper (llvm_atomic.c) that gets
 * the packet's indices and values in stack slots and the mask as bits. This keeps the
 * body small, which is what compile time depends on.
 */
#include "engine/llvm/llvm_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *vector_type(const LlvmWriter *writer, VarType type, char *name)
{
    snprintf(name, LLVM_NAME_SIZE, "<%u x %s>", writer->shape.width,
             llvm_writer_memory_type(type));
    return name;
}

/* Address that a uniform pointer instruction holds. */
static void pointer_name(const LlvmWriter *writer, uint32_t position,
                         char name[LLVM_NAME_SIZE])
{
    const Inst *inst = &writer->program->insts[position];
    if (inst->op == OP_LITERAL) {
        snprintf(name, LLVM_NAME_SIZE, "inttoptr (i64 %" PRIu64 " to ptr)",
                 writer->program->literals[inst->aux]);
    } else {
        snprintf(name, LLVM_NAME_SIZE, "%%v%u.ptr", position);
    }
}

/* %vN.m: the lanes that take part. */
static void write_mask(LlvmWriter *writer, uint32_t position, uint32_t mask)
{
    char name[LLVM_NAME_SIZE];
    unsigned width = writer->shape.width;
    writer->active = true;
    if (llvm_writer_is_literal(writer, mask, 1)) {
        snprintf(name, sizeof name, "%%active");
    } else {
        llvm_writer_operand(writer, mask, name);
    }
    /* Lanes behind the end enter no region: its mask stays as it is. */
    bool valid = writer->program->insts[mask].op == OP_ACTIVE;
    text_putf(writer->line, "  %%v%u.m = and <%u x i1> %s, %s\n", position, width, name,
              valid ? name : "%active");
}

/* %vN.g: vector of addresses. 32-bit indices are unsigned, but gather instructions
 * extend the sign: flip the top bit and start from the middle of the address range. */
static void write_addresses(LlvmWriter *writer, uint32_t position, uint32_t pointer,
                            uint32_t index, VarType type)
{
    char base[LLVM_NAME_SIZE], name[LLVM_NAME_SIZE];
    unsigned width = writer->shape.width;
    pointer_name(writer, pointer, base);
    llvm_writer_operand(writer, index, name);
    VarType index_type = writer->program->insts[index].type;
    const char *entry = llvm_writer_memory_type(type);
    uint64_t middle = (uint64_t) type_info[type].size << 31;
    Text *line = writer->line;
    if (index_type == VarTypeUInt32) {
        text_putf(line,
                  "  %%v%u.p = getelementptr i8, ptr %s, i64 %" PRIu64 "\n"
                  "  %%v%u.x = xor <%u x i32> %s, ",
                  position, base, middle, position, width, name);
        llvm_writer_splat(writer, line, VarTypeUInt32, INT64_C(0x80000000));
        text_putf(line,
                  "\n  %%v%u.y = sext <%u x i32> %%v%u.x to <%u x i64>\n"
                  "  %%v%u.g = getelementptr %s, ptr %%v%u.p, <%u x i64> %%v%u.y\n",
                  position, width, position, width, position, entry, position, width,
                  position);
    } else {
        text_putf(line,
                  "  %%v%u.y = sext <%u x i32> %s to <%u x i64>\n"
                  "  %%v%u.g = getelementptr %s, ptr %s, <%u x i64> %%v%u.y\n",
                  position, width, name, width, position, entry, base, width, position);
    }
}

/* ---- gather */

static void write_scalar_gather(LlvmWriter *writer, uint32_t position, const Inst *inst)
{
    char base[LLVM_NAME_SIZE], index[LLVM_NAME_SIZE], mask[LLVM_NAME_SIZE];
    const char *entry = llvm_writer_memory_type(inst->type);
    bool sign = type_info[writer->program->insts[inst->arg[1]].type].is_signed;
    pointer_name(writer, inst->arg[0], base);
    llvm_writer_operand(writer, inst->arg[1], index);
    llvm_writer_operand(writer, inst->arg[2], mask);
    writer->helper_bits |= LLVM_HELPER_ZERO;
    text_putf(writer->line,
              "  %%v%u.y = %cext i32 %s to i64\n"
              "  %%v%u.g = getelementptr %s, ptr %s, i64 %%v%u.y\n"
              "  %%v%u.h = select i1 %s, ptr %%v%u.g, ptr @zero\n",
              position, sign ? 's' : 'z', index, position, entry, base, position,
              position, mask, position);
    if (inst->type == VarTypeBool) {
        text_putf(writer->line,
                  "  %%v%u.l = load i8, ptr %%v%u.h, align 1\n"
                  "  %%v%u = icmp ne i8 %%v%u.l, 0\n",
                  position, position, position, position);
    } else {
        text_putf(writer->line, "  %%v%u = load %s, ptr %%v%u.h, align %u\n", position,
                  entry, position, type_info[inst->type].size);
    }
}

/* One load for each lane, from @zero where masked. */
static void write_lane_loads(LlvmWriter *writer, uint32_t position, VarType type)
{
    unsigned width = writer->shape.width;
    const char *entry = llvm_writer_memory_type(type);
    Text *line = writer->line;
    writer->helper_bits |= LLVM_HELPER_ZERO;
    text_putf(line,
              "  %%v%u.h = select <%u x i1> %%v%u.m, <%u x ptr> %%v%u.g, "
              "<%u x ptr> %%zero.ptrs\n",
              position, width, position, width, position, width);
    for (unsigned i = 0; i < width; i++) {
        text_putf(line,
                  "  %%v%u.p%u = extractelement <%u x ptr> %%v%u.h, i32 %u\n"
                  "  %%v%u.l%u = load %s, ptr %%v%u.p%u, align %u\n",
                  position, i, width, position, i, position, i, entry, position, i,
                  type_info[type].size);
        char before[LLVM_NAME_SIZE], after[LLVM_NAME_SIZE];
        snprintf(before, sizeof before, i ? "%%v%u.i%u" : "poison", position, i - 1);
        snprintf(after, sizeof after,
                 i + 1 < width || type == VarTypeBool ? "%%v%u.i%u" : "%%v%u", position,
                 i);
        text_putf(line, "  %s = insertelement <%u x %s> %s, %s %%v%u.l%u, i32 %u\n",
                  after, width, entry, before, entry, position, i, i);
    }
    if (type == VarTypeBool) {
        text_putf(line, "  %%v%u = icmp ne <%u x i8> %%v%u.i%u, zeroinitializer\n",
                  position, width, position, width - 1);
    }
}

static void write_gather(LlvmWriter *writer, uint32_t position, const Inst *inst)
{
    if (writer->scalar) {
        write_scalar_gather(writer, position, inst);
        return;
    }
    write_mask(writer, position, inst->arg[2]);
    write_addresses(writer, position, inst->arg[0], inst->arg[1], inst->type);
    if (!llvm_writer_has_masked(writer, inst->type)) {
        write_lane_loads(writer, position, inst->type);
        return;
    }
    const char *type = writer->types[1][inst->type];
    const char *suffix = writer->suffixes[1][inst->type];
    unsigned width = writer->shape.width;
    char declare[200];
    snprintf(declare, sizeof declare,
             "%s @llvm.masked.gather.%s.v%up0(<%u x ptr>, i32, <%u x i1>, %s)", type,
             suffix, width, width, width, type);
    llvm_writer_declare_text(writer, declare);
    text_putf(writer->line,
              "  %%v%u = call %s @llvm.masked.gather.%s.v%up0(<%u x ptr> "
              "%%v%u.g, i32 %u, <%u x i1> %%v%u.m, %s zeroinitializer)\n",
              position, type, suffix, width, width, position,
              type_info[inst->type].size, width, position, type);
}

/* ---- scatter */

/* Put the packet's values (zero-extended masks) into a stack slot. */
static void write_slot(LlvmWriter *writer, uint32_t position, const char *slot,
                       uint32_t value)
{
    char name[LLVM_NAME_SIZE], memory[LLVM_NAME_SIZE];
    VarType type = writer->program->insts[value].type;
    llvm_writer_operand(writer, value, name);
    vector_type(writer, type, memory);
    writer->slots = true;
    if (type == VarTypeBool) {
        text_putf(writer->line, "  %%v%u.%s = zext <%u x i1> %s to %s\n", position,
                  slot, writer->shape.width, name, memory);
        snprintf(name, sizeof name, "%%v%u.%s", position, slot);
    }
    text_putf(writer->line, "  store %s %s, ptr %%slot.%s, align 64\n", memory, name,
              slot);
}

/* %vN.b: the mask %vN.<which> as bits of an i64. */
static void write_bits(LlvmWriter *writer, uint32_t position, char which)
{
    char mask[LLVM_NAME_SIZE], name[LLVM_NAME_SIZE];
    snprintf(mask, sizeof mask, "%%v%u.%c", position, which);
    snprintf(name, sizeof name, "v%u", position);
    llvm_writer_bits(writer, mask, name);
}

/* Scatter by instruction; reductions without conflicts read the targets first. */
static void write_vector_scatter(LlvmWriter *writer, uint32_t position,
                                 const uint32_t *args, const char *value)
{
    VarType stored = writer->program->insts[args[1]].type;
    const char *type = writer->types[1][stored], *suffix = writer->suffixes[1][stored];
    unsigned width = writer->shape.width;
    char declare[200];
    write_addresses(writer, position, args[0], args[2], stored);
    snprintf(declare, sizeof declare,
             "void @llvm.masked.scatter.%s.v%up0(%s, <%u x ptr>, i32, <%u x i1>)",
             suffix, width, type, width, width);
    llvm_writer_declare_text(writer, declare);
    text_putf(writer->line,
              "  call void @llvm.masked.scatter.%s.v%up0(%s %s, <%u x ptr> "
              "%%v%u.g, i32 %u, <%u x i1> %%v%u.m)\n",
              suffix, width, type, value, width, position, type_info[stored].size,
              width, position);
}

static void write_scatter(LlvmWriter *writer, uint32_t position, const Inst *inst)
{
    ReduceOp op = inst->aux & 0xff;
    ReduceMode mode = inst->aux >> 8 & 0xff;
    const uint32_t *args = program_args(writer->program, inst);
    VarType stored = writer->program->insts[args[1]].type;
    char name[LLVM_NAME_SIZE], base[LLVM_NAME_SIZE];
    write_mask(writer, position, args[3]);
    if (op == ReduceOpIdentity && llvm_writer_has_masked(writer, stored)) {
        llvm_writer_operand(writer, args[1], name);
        write_vector_scatter(writer, position, args, name);
        return;
    }
    write_slot(writer, position, "val", args[1]);
    write_slot(writer, position, "idx", args[2]);
    write_bits(writer, position, 'm');
    llvm_atomic_reduce(writer, stored, op, mode, name);
    pointer_name(writer, args[0], base);
    text_putf(writer->line,
              "  call void @%s(ptr %s, ptr %%slot.idx, ptr %%slot.val, "
              "i64 %%v%u.b)\n",
              name, base, position);
}

/* SCATTER_INC, _ADD, _EXCH, _CAS: previous values come back in a stack slot. */
static void write_fetch(LlvmWriter *writer, uint32_t position, const Inst *inst)
{
    const uint32_t *args = program_args(writer->program, inst);
    uint32_t index = op_find_role(inst->op, ROLE_INDEX);
    VarType type = inst->type;
    char memory[LLVM_NAME_SIZE], name[LLVM_NAME_SIZE], base[LLVM_NAME_SIZE];
    write_mask(writer, position, args[op_find_role(inst->op, ROLE_MASK)]);
    write_slot(writer, position, "idx", args[index]);
    if (inst->op == OP_SCATTER_CAS) {
        write_slot(writer, position, "cmp", args[1]);
        write_slot(writer, position, "val", args[2]);
    } else if (inst->op != OP_SCATTER_INC) {
        write_slot(writer, position, "val", args[1]);
    }
    write_bits(writer, position, 'm');
    vector_type(writer, type, memory);
    pointer_name(writer, args[0], base);
    text_putf(writer->line, "  store %s zeroinitializer, ptr %%slot.out, align 64\n",
              memory);
    if (inst->op == OP_SCATTER_INC) {
        writer->helper_bits |= LLVM_HELPER_INC;
        snprintf(name, sizeof name, "scatter_inc");
    } else if (inst->op == OP_SCATTER_ADD) {
        llvm_atomic_fetch_add(writer, type, name);
    } else {
        llvm_atomic_swap(writer, type, inst->op, name);
    }
    text_putf(writer->line,
              "  call void @%s(ptr %s, ptr %%slot.idx, ptr %%slot.val, "
              "ptr %%slot.cmp, ptr %%slot.out, i64 %%v%u.b)\n",
              name, base, position);
    if (type == VarTypeBool) {
        text_putf(writer->line,
                  "  %%v%u.l = load %s, ptr %%slot.out, align 64\n"
                  "  %%v%u = icmp ne %s %%v%u.l, zeroinitializer\n",
                  position, memory, position, memory, position);
    } else {
        text_putf(writer->line, "  %%v%u = load %s, ptr %%slot.out, align 64\n",
                  position, memory);
    }
}

/* ---- check */

/* The bound is 64 bits wide, indices have 32: compare with the largest valid index. */
static void write_bound(LlvmWriter *writer, uint32_t position, const Inst *inst)
{
    unsigned width = writer->shape.width;
    Text *entry = &writer->entry;
    text_putf(entry,
              "  %%v%u.p = getelementptr i8, ptr %%report, i64 %" PRIu64 "\n"
              "  %%v%u.q = getelementptr i8, ptr %%v%u.p, i64 8\n"
              "  %%v%u.o = load i64, ptr %%v%u.q, align 8\n"
              "  %%v%u.z = icmp ne i64 %%v%u.o, 0\n",
              position, (uint64_t) inst->aux * sizeof(CheckReport), position, position,
              position, position, position, position);
    text_putf(entry,
              "  %%v%u.j = add i64 %%v%u.o, -1\n"
              "  %%v%u.k = icmp ult i64 %%v%u.j, 4294967295\n"
              "  %%v%u.s = select i1 %%v%u.k, i64 %%v%u.j, i64 4294967295\n"
              "  %%v%u.i = trunc i64 %%v%u.s to i32\n",
              position, position, position, position, position, position, position,
              position, position);
    text_putf(entry,
              "  %%v%u.ie = insertelement <%u x i32> poison, i32 %%v%u.i, i32 0\n"
              "  %%v%u.is = shufflevector <%u x i32> %%v%u.ie, <%u x i32> poison, "
              "<%u x i32> zeroinitializer\n"
              "  %%v%u.ze = insertelement <%u x i1> poison, i1 %%v%u.z, i32 0\n"
              "  %%v%u.zs = shufflevector <%u x i1> %%v%u.ze, <%u x i1> poison, "
              "<%u x i32> zeroinitializer\n",
              position, width, position, position, width, position, width, width,
              position, width, position, position, width, position, width, width);
}

static void write_check(LlvmWriter *writer, uint32_t position, const Inst *inst)
{
    unsigned width = writer->shape.width;
    char mask[LLVM_NAME_SIZE], index[LLVM_NAME_SIZE];
    write_bound(writer, position, inst);
    llvm_writer_operand(writer, inst->arg[0], mask);
    llvm_writer_operand(writer, inst->arg[1], index);
    writer->active = true;
    writer->slots = true;
    writer->helper_bits |= LLVM_HELPER_CHECK;
    Text *line = writer->line;
    text_putf(line,
              "  %%v%u.c = icmp ule <%u x i32> %s, %%v%u.is\n"
              "  %%v%u.d = and <%u x i1> %%v%u.c, %%v%u.zs\n"
              "  %%v%u = and <%u x i1> %%v%u.d, %s\n"
              "  %%v%u.e = xor <%u x i1> %%v%u, %s\n"
              "  %%v%u.f = and <%u x i1> %%v%u.e, %%active\n",
              position, width, index, position, position, width, position, position,
              position, width, position, mask, position, width, position, mask,
              position, width, position);
    write_bits(writer, position, 'f');
    char next[LLVM_NAME_SIZE];
    snprintf(next, sizeof next, "b%u", writer->block + 1);
    text_putf(line,
              "  %%v%u.t = icmp ne i64 %%v%u.b, 0\n"
              "  br i1 %%v%u.t, label %%fail%u, label %%%s, !prof !1\n"
              "fail%u:\n"
              "  store <%u x i32> %s, ptr %%slot.idx, align 64\n"
              "  call void @check_failed(ptr %%v%u.p, ptr %%slot.idx, i64 %%v%u.b)\n"
              "  br label %%%s\n",
              position, position, position, position, next, position, width, index,
              position, position, next);
    llvm_writer_block(writer, next);
}

void llvm_memory_write(LlvmWriter *writer, uint32_t position)
{
    const Inst *inst = &writer->program->insts[position];
    switch (inst->op) {
    case OP_GATHER:
        write_gather(writer, position, inst);
        break;
    case OP_SCATTER:
        write_scatter(writer, position, inst);
        break;
    case OP_CHECK:
        write_check(writer, position, inst);
        break;
    default:
        write_fetch(writer, position, inst);
        break;
    }
}
