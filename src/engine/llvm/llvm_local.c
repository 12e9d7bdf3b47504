/*
 * llvm_local.c -- LLVM IR of local arrays and prints
 *
 * A local array lies in scratch memory, entry by entry with the lanes of a packet side
 * by side, so that lanes that access the same entry share cache lines. Behind its
 * entries it has one more that nobody looks at: accesses that are masked or out of
 * range go there, where no branch or masked instruction keeps them off. An index that
 * is the same in all lanes makes the access a load or a store of one packet.
 *
 *     [entry 0: lane 0, lane 1, ...] [entry 1] ... [spare entry]
 */
#include "engine/llvm/llvm_writer.h"

#include <inttypes.h>
#include <stdio.h>

enum { FILL_INLINE = 8 /* entries that are filled and copied without a loop */ };

/* The address of an entry, and the lanes that access it (NULL: all). */
typedef struct Place {
    char address[LLVM_NAME_SIZE];
    char mask[LLVM_NAME_SIZE];
    bool all;
} Place;

static uint32_t stride_of(const LlvmWriter *writer, VarType type)
{
    return writer->shape.width * type_info[type].size;
}

/* ---- whole arrays */

/* Begin a loop over the entries: %vN.o is the offset of one. */
static void begin_entries(LlvmWriter *writer, uint32_t position, uint32_t stride)
{
    char before[LLVM_NAME_SIZE], label[LLVM_NAME_SIZE];
    snprintf(before, sizeof before, "%s", writer->label);
    snprintf(label, sizeof label, "entries%u", position);
    text_putf(&writer->body, "  br label %%%s\n", label);
    llvm_writer_block(writer, label);
    text_putf(&writer->body, "  %%v%u.o = phi i64 [ 0, %%%s ], [ %%v%u.on, %%%s ]\n",
              position, before, position, label);
    text_putf(&writer->body, "  %%v%u.on = add i64 %%v%u.o, %u\n", position, position,
              stride);
}

static void end_entries(LlvmWriter *writer, uint32_t position, uint64_t bytes)
{
    char next[LLVM_NAME_SIZE];
    snprintf(next, sizeof next, "filled%u", position);
    text_putf(&writer->body,
              "  %%v%u.om = icmp ult i64 %%v%u.on, %" PRIu64 "\n"
              "  br i1 %%v%u.om, label %%entries%u, label %%%s\n",
              position, position, bytes, position, position, next);
    llvm_writer_block(writer, next);
}

static void write_local(LlvmWriter *writer, uint32_t position, const Inst *inst)
{
    uint32_t stride = stride_of(writer, inst->type), align = llvm_writer_align(stride);
    uint64_t entries = inst->aux, bytes = (entries + 1) * stride;
    char value[LLVM_NAME_SIZE], name[LLVM_NAME_SIZE], address[LLVM_NAME_SIZE];
    text_putf(&writer->entry,
              "  %%v%u = getelementptr i8, ptr %%scratch, i64 %" PRIu64 "\n", position,
              writer->scratch);
    writer->scratch += (bytes + 63) / 64 * 64;
    llvm_writer_operand(writer, inst->arg[0], value);
    if (entries <= FILL_INLINE) {
        for (uint32_t k = 0; k < entries; k++) {
            snprintf(address, sizeof address, "%%v%u.p%u", position, k);
            snprintf(name, sizeof name, "v%u.p%u", position, k);
            text_putf(&writer->body, "  %s = getelementptr i8, ptr %%v%u, i64 %u\n",
                      address, position, k * stride);
            llvm_writer_store(writer, inst->type, value, address, align, name);
        }
        return;
    }
    begin_entries(writer, position, stride);
    text_putf(&writer->body, "  %%v%u.p = getelementptr i8, ptr %%v%u, i64 %%v%u.o\n",
              position, position, position);
    snprintf(address, sizeof address, "%%v%u.p", position);
    snprintf(name, sizeof name, "v%u.p", position);
    llvm_writer_store(writer, inst->type, value, address, align, name);
    end_entries(writer, position, entries * stride);
}

static void write_move(LlvmWriter *writer, uint32_t position, const Inst *inst)
{
    const Inst *array = &writer->program->insts[inst->arg[0]];
    uint32_t stride = stride_of(writer, array->type);
    uint32_t align = llvm_writer_align(stride), width = writer->shape.width;
    const char *memory = llvm_writer_memory_type(array->type);
    char mask[LLVM_NAME_SIZE];
    llvm_writer_operand(writer, inst->arg[2], mask);
    begin_entries(writer, position, stride);
    for (uint32_t k = 0; k < 2; k++) {
        text_putf(&writer->body,
                  "  %%v%u.p%u = getelementptr i8, ptr %%v%u, i64 %%v%u.o\n"
                  "  %%v%u.l%u = load <%u x %s>, ptr %%v%u.p%u, align %u\n",
                  position, k, inst->arg[k], position, position, k, width, memory,
                  position, k, align);
    }
    text_putf(&writer->body,
              "  %%v%u.r = select <%u x i1> %s, <%u x %s> %%v%u.l1, <%u x %s> "
              "%%v%u.l0\n"
              "  store <%u x %s> %%v%u.r, ptr %%v%u.p0, align %u\n",
              position, width, mask, width, memory, position, width, memory, position,
              width, memory, position, position, align);
    end_entries(writer, position, (uint64_t) array->aux * stride);
}

/* ---- one entry, with an index that is the same in all lanes */

/* Lanes of the mask operand. */
static void find_lanes(LlvmWriter *writer, uint32_t mask, Place *place)
{
    place->all = llvm_writer_is_literal(writer, mask, 1);
    llvm_writer_operand(writer, mask, place->mask);
}

static void find_entry(LlvmWriter *writer, uint32_t position, uint32_t array,
                       uint32_t index, uint32_t mask, Place *place)
{
    const Program *program = writer->program;
    const Inst *local = &program->insts[array], *number = &program->insts[index];
    uint32_t stride = stride_of(writer, local->type), width = writer->shape.width;
    find_lanes(writer, mask, place);
    snprintf(place->address, sizeof place->address, "%%v%u.g", position);
    if (number->op == OP_LITERAL) {
        uint64_t k = (uint32_t) program->literals[number->aux];
        bool inside = k < local->aux;
        text_putf(&writer->body,
                  "  %%v%u.g = getelementptr i8, ptr %%v%u, i64 %" PRIu64 "\n",
                  position, array, (inside ? k : local->aux) * stride);
        if (!inside) {
            place->all = false;
            snprintf(place->mask, sizeof place->mask, "zeroinitializer");
        }
        return;
    }
    text_putf(&writer->body,
              "  %%v%u.k = zext i32 %%v%u to i64\n"
              "  %%v%u.c = icmp ult i64 %%v%u.k, %u\n"
              "  %%v%u.j = select i1 %%v%u.c, i64 %%v%u.k, i64 %u\n"
              "  %%v%u.o = mul i64 %%v%u.j, %u\n"
              "  %%v%u.g = getelementptr i8, ptr %%v%u, i64 %%v%u.o\n",
              position, index, position, position, local->aux, position, position,
              position, local->aux, position, position, stride, position, array,
              position);
    text_putf(
        &writer->body,
        "  %%v%u.m = select i1 %%v%u.c, <%u x i1> %s, <%u x i1> zeroinitializer\n",
        position, position, width, place->mask, width);
    place->all = false;
    snprintf(place->mask, sizeof place->mask, "%%v%u.m", position);
}

/* %vN = mask ? value : other. */
static void write_blend(LlvmWriter *writer, VarType type, const Place *place,
                        const char *value, const char *other, const char *name)
{
    const char *vector = writer->types[1][type];
    text_putf(&writer->body, "  %%%s = select %s %s, %s %s, %s %s\n", name,
              writer->types[1][VarTypeBool], place->mask, vector, value, vector, other);
}

static void read_entry(LlvmWriter *writer, uint32_t position, const Inst *inst)
{
    Place place;
    char name[LLVM_NAME_SIZE], value[LLVM_NAME_SIZE + 1];
    uint32_t align = llvm_writer_align(stride_of(writer, inst->type));
    find_entry(writer, position, inst->arg[0], inst->arg[1], inst->arg[2], &place);
    snprintf(name, sizeof name, place.all ? "v%u" : "v%u.r", position);
    llvm_writer_load(writer, inst->type, place.address, align, name);
    if (!place.all) {
        snprintf(value, sizeof value, "%%%s", name);
        snprintf(name, sizeof name, "v%u", position);
        write_blend(writer, inst->type, &place, value, "zeroinitializer", name);
    }
}

static void write_entry(LlvmWriter *writer, uint32_t position, const Inst *inst)
{
    Place place;
    const uint32_t *args = program_args(writer->program, inst);
    VarType type = writer->program->insts[args[0]].type;
    char name[LLVM_NAME_SIZE], value[LLVM_NAME_SIZE + 1], old[LLVM_NAME_SIZE + 1];
    uint32_t align = llvm_writer_align(stride_of(writer, type));
    llvm_writer_operand(writer, args[1], value);
    find_entry(writer, position, args[0], args[2], args[3], &place);
    if (!place.all) {
        snprintf(name, sizeof name, "v%u.r", position);
        llvm_writer_load(writer, type, place.address, align, name);
        snprintf(old, sizeof old, "%%%s", name);
        snprintf(name, sizeof name, "v%u.w", position);
        write_blend(writer, type, &place, value, old, name);
        snprintf(value, sizeof value, "%%%s", name);
    }
    snprintf(name, sizeof name, "v%u.s", position);
    llvm_writer_store(writer, type, value, place.address, align, name);
}

/* ---- one entry for each lane */

static void write_lane_numbers(LlvmWriter *writer)
{
    for (uint32_t i = 0; i < writer->shape.width; i++) {
        text_putf(&writer->body, "%si32 %u", i ? ", " : "<", i);
    }
    text_put(&writer->body, ">\n");
}

/* %vN.m: the lanes with an access; %vN.e: numbers of elements in the array, others have
 * the spare entry. */
static void find_elements(LlvmWriter *writer, uint32_t position, uint32_t array,
                          uint32_t index, uint32_t mask, Place *place)
{
    uint32_t width = writer->shape.width, entries = writer->program->insts[array].aux;
    char name[LLVM_NAME_SIZE];
    Text *body = &writer->body;
    unsigned shift = 0;
    while (UINT32_C(1) << shift < width) {
        shift++;
    }
    find_lanes(writer, mask, place);
    llvm_writer_operand(writer, index, name);
    text_putf(body, "  %%v%u.c = icmp ult <%u x i32> %s, ", position, width, name);
    llvm_writer_splat(writer, body, VarTypeUInt32, entries);
    text_putf(body,
              "\n  %%v%u.m = and <%u x i1> %%v%u.c, %s\n"
              "  %%v%u.k = select <%u x i1> %%v%u.m, <%u x i32> %s, <%u x i32> ",
              position, width, position, place->mask, position, width, position, width,
              name, width);
    llvm_writer_splat(writer, body, VarTypeUInt32, entries);
    text_putf(body, "\n  %%v%u.o = shl <%u x i32> %%v%u.k, ", position, width,
              position);
    llvm_writer_splat(writer, body, VarTypeUInt32, shift);
    text_putf(body, "\n  %%v%u.e = or <%u x i32> %%v%u.o, ", position, width, position);
    write_lane_numbers(writer);
    snprintf(place->mask, sizeof place->mask, "%%v%u.m", position);
}

/* %vN.g: addresses of the elements. */
static void write_addresses(LlvmWriter *writer, uint32_t position, uint32_t array)
{
    text_putf(&writer->body,
              "  %%v%u.g = getelementptr %s, ptr %%v%u, <%u x i32> "
              "%%v%u.e\n",
              position, llvm_writer_memory_type(writer->program->insts[array].type),
              array, writer->shape.width, position);
}

/* %vN.gK: the address of lane K's element. */
static void write_address(LlvmWriter *writer, uint32_t position, uint32_t array,
                          uint32_t lane)
{
    text_putf(&writer->body,
              "  %%v%u.e%u = extractelement <%u x i32> %%v%u.e, i32 %u\n"
              "  %%v%u.x%u = zext i32 %%v%u.e%u to i64\n"
              "  %%v%u.g%u = getelementptr %s, ptr %%v%u, i64 %%v%u.x%u\n",
              position, lane, writer->shape.width, position, lane, position, lane,
              position, lane, position, lane,
              llvm_writer_memory_type(writer->program->insts[array].type), array,
              position, lane);
}

static void read_elements(LlvmWriter *writer, uint32_t position, const Inst *inst)
{
    Place place;
    uint32_t width = writer->shape.width, size = type_info[inst->type].size;
    const char *memory = llvm_writer_memory_type(inst->type);
    const char *type = writer->types[1][inst->type];
    char value[LLVM_NAME_SIZE], name[LLVM_NAME_SIZE];
    find_elements(writer, position, inst->arg[0], inst->arg[1], inst->arg[2], &place);
    if (llvm_writer_has_masked(writer, inst->type)) {
        const char *suffix = writer->suffixes[1][inst->type];
        char declare[200];
        snprintf(declare, sizeof declare,
                 "%s @llvm.masked.gather.%s.v%up0(<%u x ptr>, i32, <%u x i1>, %s)",
                 type, suffix, width, width, width, type);
        llvm_writer_declare_text(writer, declare);
        write_addresses(writer, position, inst->arg[0]);
        text_putf(&writer->body,
                  "  %%v%u = call %s @llvm.masked.gather.%s.v%up0(<%u x ptr> %%v%u.g, "
                  "i32 %u, <%u x i1> %%v%u.m, %s zeroinitializer)\n",
                  position, type, suffix, width, width, position, size, width, position,
                  type);
        return;
    }
    snprintf(value, sizeof value, "poison");
    for (uint32_t i = 0; i < width; i++) {
        write_address(writer, position, inst->arg[0], i);
        text_putf(&writer->body,
                  "  %%v%u.l%u = load %s, ptr %%v%u.g%u, align %u\n"
                  "  %%v%u.i%u = insertelement <%u x %s> %s, %s %%v%u.l%u, i32 %u\n",
                  position, i, memory, position, i, size, position, i, width, memory,
                  value, memory, position, i, i);
        snprintf(value, sizeof value, "%%v%u.i%u", position, i);
    }
    if (inst->type == VarTypeBool) {
        text_putf(&writer->body, "  %%v%u.t = icmp ne <%u x i8> %s, zeroinitializer\n",
                  position, width, value);
        snprintf(value, sizeof value, "%%v%u.t", position);
    }
    snprintf(name, sizeof name, "v%u", position);
    write_blend(writer, inst->type, &place, value, "zeroinitializer", name);
}

static void write_elements(LlvmWriter *writer, uint32_t position, const Inst *inst)
{
    Place place;
    const uint32_t *args = program_args(writer->program, inst);
    VarType type = writer->program->insts[args[0]].type;
    uint32_t width = writer->shape.width, size = type_info[type].size;
    const char *memory = llvm_writer_memory_type(type);
    char value[LLVM_NAME_SIZE];
    llvm_writer_operand(writer, args[1], value);
    find_elements(writer, position, args[0], args[2], args[3], &place);
    if (llvm_writer_has_masked(writer, type)) {
        const char *vector = writer->types[1][type];
        const char *suffix = writer->suffixes[1][type];
        char declare[200];
        snprintf(declare, sizeof declare,
                 "void @llvm.masked.scatter.%s.v%up0(%s, <%u x ptr>, i32, <%u x i1>)",
                 suffix, width, vector, width, width);
        llvm_writer_declare_text(writer, declare);
        write_addresses(writer, position, args[0]);
        text_putf(&writer->body,
                  "  call void @llvm.masked.scatter.%s.v%up0(%s %s, <%u x ptr> "
                  "%%v%u.g, i32 %u, <%u x i1> %%v%u.m)\n",
                  suffix, width, vector, value, width, position, size, width, position);
        return;
    }
    if (type == VarTypeBool) {
        text_putf(&writer->body, "  %%v%u.z = zext <%u x i1> %s to <%u x i8>\n",
                  position, width, value, width);
        snprintf(value, sizeof value, "%%v%u.z", position);
    }
    for (uint32_t i = 0; i < width; i++) {
        write_address(writer, position, args[0], i);
        text_putf(&writer->body,
                  "  %%v%u.s%u = extractelement <%u x %s> %s, i32 %u\n"
                  "  store %s %%v%u.s%u, ptr %%v%u.g%u, align %u\n",
                  position, i, width, memory, value, i, memory, position, i, position,
                  i, size);
    }
}

void llvm_local_write(LlvmWriter *writer, uint32_t position)
{
    const Inst *inst = &writer->program->insts[position];
    const uint32_t *args = program_args(writer->program, inst);
    switch (inst->op) {
    case OP_LOCAL:
        write_local(writer, position, inst);
        break;
    case OP_LOCAL_READ:
        (writer->uniform[args[1]] ? read_entry : read_elements)(writer, position, inst);
        break;
    case OP_LOCAL_WRITE:
        (writer->uniform[args[2]] ? write_entry : write_elements)(writer, position,
                                                                  inst);
        break;
    default:
        write_move(writer, position, inst);
        break;
    }
}

/* ---- prints */

/* The log's function is found through the parameter, so the code has no address. */
void llvm_local_print(LlvmWriter *writer, uint32_t position)
{
    const Program *program = writer->program;
    const Inst *inst = &program->insts[position];
    const uint32_t *args = program_args(program, inst);
    uint32_t param = program_find_param(writer->root, PARAM_PRINT);
    uint32_t width = writer->shape.width, values = inst->count - 1u;
    char name[LLVM_NAME_SIZE], other[LLVM_NAME_SIZE], value[LLVM_NAME_SIZE];
    Text *body = &writer->body;
    llvm_writer_operand(writer, args[0], value);
    text_putf(body, "  %%v%u.m = and <%u x i1> %s, %%active\n", position, width, value);
    writer->active = writer->prints = true;
    writer->print_values =
        values > writer->print_values ? values : writer->print_values;
    snprintf(value, sizeof value, "v%u.m", position);
    snprintf(name, sizeof name, "print%u", position);
    snprintf(other, sizeof other, "printed%u", position);
    llvm_writer_branch(writer, value, name, other);
    llvm_writer_block(writer, name);
    snprintf(name, sizeof name, "%%v%u.m", position);
    llvm_writer_store(writer, VarTypeBool, name, "%print.mask", width < 64 ? width : 64,
                      value);
    for (uint32_t k = 0; k < values; k++) {
        uint32_t stride = llvm_writer_stride(writer);
        snprintf(name, sizeof name, "%%v%u.p%u", position, k);
        llvm_writer_operand(writer, args[k + 1], value);
        text_putf(body,
                  "  %s = getelementptr i8, ptr %%print.values, i64 %u\n"
                  "  %%v%u.l%u = getelementptr ptr, ptr %%print.list, i64 %u\n"
                  "  store ptr %s, ptr %%v%u.l%u, align 8\n",
                  name, k * stride, position, k, k, name, position, k);
        llvm_writer_store(writer, program->insts[args[k + 1]].type, value, name,
                          llvm_writer_align(stride), name + 1);
    }
    text_putf(body,
              "  %%v%u.a = getelementptr i64, ptr %%args, i64 %u\n"
              "  %%v%u.g = load ptr, ptr %%v%u.a, align 8\n"
              "  %%v%u.f = load ptr, ptr %%v%u.g, align 8\n"
              "  %%v%u.x = trunc i64 %%index to i32\n"
              "  call void %%v%u.f(ptr %%v%u.g, i32 %u, i32 %%v%u.x, i32 %u, "
              "ptr %%print.mask, ptr %%print.list)\n"
              "  br label %%%s\n",
              position, param, position, position, position, position, position,
              position, position, inst->aux, position, width, other);
    llvm_writer_block(writer, other);
}
