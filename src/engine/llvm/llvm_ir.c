/*
 * llvm_ir.c -- Program -> LLVM IR text
 *
 * One function for the Program, one for each callable (llvm_region.c). The first:
 *
 *     entry:  parameters, uniform values, broadcasts
 *     loop:   one packet of W lanes at %index
 *             whole packet?  -> full:  vector stores, next packet
 *                            -> part:  masked stores or stores through the stack, end
 *
 * The loop is cut into blocks of BLOCK_SIZE instructions: instruction selection and
 * register allocation work block by block, and are far from linear on long ones.
 *
 * Text instead of the builder interface: the same text is understood by every version
 * from 15 on, while builder calls differ.
 *
 * The last packet may have fewer lanes. Inputs are readable for 64 bytes behind their
 * end, so vector loads are cut into pieces of 64 bytes, and a piece that would start at
 * or behind 'end' reads the packet's first entries instead. Outputs behind 'end' belong
 * to others.
 */
#include "engine/llvm/llvm_ir.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "engine/llvm/llvm_object.h"
#include "engine/llvm/llvm_writer.h"

enum { BLOCK_SIZE = 64, CHUNK = 64, PART_SLOTS = 32 };

/* ---- set-up */

static void name_types(LlvmWriter *writer)
{
    static const char *const suffixes[VarTypeCount] = {
        [VarTypeFloat32] = "f32", [VarTypeFloat64] = "f64", [VarTypeBool] = "i1"
    };
    for (int type = 0; type < VarTypeCount; type++) {
        const char *memory = llvm_writer_memory_type(type);
        if (!memory) {
            continue;
        }
        const char *scalar = type == VarTypeBool ? "i1" : memory;
        const char *suffix = suffixes[type] ? suffixes[type] : scalar;
        snprintf(writer->types[0][type], LLVM_TYPE_SIZE, "%s", scalar);
        snprintf(writer->types[1][type], LLVM_TYPE_SIZE, "<%u x %s>",
                 writer->shape.width, scalar);
        snprintf(writer->suffixes[0][type], LLVM_TYPE_SIZE, "%s", suffix);
        snprintf(writer->suffixes[1][type], LLVM_TYPE_SIZE, "v%u%s",
                 writer->shape.width, suffix);
    }
}

/* An instruction is computed once, in the entry block, if it and all of its operands
 * are uniform. */
static void find_uniform(LlvmWriter *writer)
{
    const Program *program = writer->program;
    for (uint32_t i = 0; i < program->inst_count; i++) {
        const Inst *inst = &program->insts[i];
        bool uniform = inst->flags & INST_UNIFORM;
        const uint32_t *args = program_args(program, inst);
        for (uint32_t k = 0; k < inst->count; k++) {
            uniform = uniform && writer->uniform[args[k]];
        }
        writer->uniform[i] = uniform;
    }
}

/* ---- leaves */

static void write_uniform_load(LlvmWriter *writer, uint32_t position, const Inst *inst)
{
    const char *memory = llvm_writer_memory_type(inst->type);
    char address[LLVM_NAME_SIZE];
    if (inst->op == OP_PARAM) {
        text_putf(writer->line, "  %%v%u.a = getelementptr i64, ptr %%args, i64 %u\n",
                  position, inst->aux);
        snprintf(address, sizeof address, "%%v%u.a", position);
    } else {
        snprintf(address, sizeof address, "%%in%u", inst->aux);
    }
    bool mask = inst->type == VarTypeBool;
    text_putf(writer->line,
              "  %%v%u%s = load %s, ptr %s, align %u, !invariant.load !0\n", position,
              mask ? ".l" : "", memory, address, type_info[inst->type].size);
    if (mask) {
        text_putf(writer->line, "  %%v%u = icmp ne i8 %%v%u.l, 0\n", position,
                  position);
    }
}

/* A vector load in pieces of at most CHUNK bytes, joined pairwise. */
static void write_load(LlvmWriter *writer, uint32_t position, const Inst *inst)
{
    const char *memory = llvm_writer_memory_type(inst->type);
    unsigned size = type_info[inst->type].size, width = writer->shape.width;
    unsigned lanes = CHUNK / size < width ? CHUNK / size : width;
    unsigned pieces = width / lanes;
    bool mask = inst->type == VarTypeBool;
    Text *line = writer->line;
    for (unsigned k = 0; k < pieces; k++) {
        char offset[LLVM_NAME_SIZE], name[LLVM_NAME_SIZE];
        snprintf(offset, sizeof offset, k ? "%%at%u" : "%%index", k * lanes);
        snprintf(name, sizeof name, pieces > 1 || mask ? "%%v%u.%u.%u" : "%%v%u",
                 position, lanes, k);
        text_putf(
            line,
            "  %%v%u.p%u = getelementptr %s, ptr %%in%u, i64 %s\n"
            "  %s = load <%u x %s>, ptr %%v%u.p%u, align %u, !invariant.load !0\n",
            position, k, memory, inst->aux, offset, name, lanes, memory, position, k,
            size);
    }
    for (; pieces > 1; pieces /= 2, lanes *= 2) {
        for (unsigned k = 0; k < pieces; k += 2) {
            char name[LLVM_NAME_SIZE];
            snprintf(name, sizeof name, pieces > 2 || mask ? "%%v%u.%u.%u" : "%%v%u",
                     position, lanes * 2, k / 2);
            text_putf(line,
                      "  %s = shufflevector <%u x %s> %%v%u.%u.%u, <%u x %s> "
                      "%%v%u.%u.%u, <%u x i32> <",
                      name, lanes, memory, position, lanes, k, lanes, memory, position,
                      lanes, k + 1, lanes * 2);
            for (unsigned i = 0; i < lanes * 2; i++) {
                text_putf(line, "%si32 %u", i ? ", " : "", i);
            }
            text_put(line, ">\n");
        }
    }
    if (mask) {
        text_putf(line, "  %%v%u = icmp ne <%u x i8> %%v%u.%u.0, zeroinitializer\n",
                  position, width, position, width);
    }
}

static void write_lane_numbers(const LlvmWriter *writer, Text *out)
{
    for (unsigned i = 0; i < writer->shape.width; i++) {
        text_putf(out, "%si32 %u", i ? ", " : "<", i);
    }
    text_put(out, ">");
}

/* %active: the lanes whose number is below 'count'. */
static void write_active(const LlvmWriter *writer, Text *out, const char *count)
{
    unsigned width = writer->shape.width;
    text_putf(out,
              "  %%active.e = insertelement <%u x i32> poison, i32 %s, i32 0\n"
              "  %%active.s = shufflevector <%u x i32> %%active.e, <%u x i32> poison, "
              "<%u x i32> zeroinitializer\n  %%active = icmp ult <%u x i32> ",
              width, count, width, width, width, width);
    write_lane_numbers(writer, out);
    text_put(out, ", %active.s\n");
}

static void write_counter(LlvmWriter *writer, uint32_t position)
{
    unsigned width = writer->shape.width;
    text_putf(
        writer->line,
        "  %%v%u.a = trunc i64 %%index to i32\n"
        "  %%v%u.b = insertelement <%u x i32> poison, i32 %%v%u.a, i32 0\n"
        "  %%v%u.c = shufflevector <%u x i32> %%v%u.b, <%u x i32> poison, <%u x i32> "
        "zeroinitializer\n  %%v%u = add <%u x i32> %%v%u.c, ",
        position, position, width, position, position, width, position, width, width,
        position, width, position);
    write_lane_numbers(writer, writer->line);
    text_put_char(writer->line, '\n');
}

static void write_leaf(LlvmWriter *writer, uint32_t position, const Inst *inst)
{
    switch (inst->op) {
    case OP_UNDEFINED:
        llvm_writer_emit(writer, position, "$r = bitcast $T zeroinitializer to $T");
        break;
    case OP_COUNTER:
        write_counter(writer, position);
        break;
    case OP_WORKER:
        llvm_writer_emit(writer, position, "$r = add $T %worker, 0");
        break;
    case OP_PARAM:
        write_uniform_load(writer, position, inst);
        break;
    default: /* OP_LOAD */
        if (writer->scalar) {
            write_uniform_load(writer, position, inst);
        } else {
            write_load(writer, position, inst);
        }
        break;
    }
}

/* ---- one instruction */

static bool write_inst(LlvmWriter *writer, uint32_t position)
{
    const Inst *inst = &writer->program->insts[position];
    writer->scalar = writer->uniform[position];
    writer->line = writer->scalar ? &writer->entry : &writer->body;
    if (inst->op == OP_LITERAL || inst->op == OP_STORE) {
        return true; /* these are written where they are used, and at the end */
    }
    switch (op_info[inst->op].group) {
    case GROUP_LEAF:
        write_leaf(writer, position, inst);
        break;
    case GROUP_STMT:
        TRY(llvm_stmt_write(writer, position), false);
        break;
    case GROUP_MEMORY:
        llvm_memory_write(writer, position);
        break;
    case GROUP_MARK:
    case GROUP_FRAME:
        llvm_region_write(writer, position);
        break;
    case GROUP_LOCAL:
        llvm_local_write(writer, position);
        break;
    case GROUP_REPORT:
        if (inst->op == OP_PRINT) {
            llvm_local_print(writer, position);
        } else {
            llvm_memory_write(writer, position);
        }
        break;
    default:
        TRY(llvm_ops_write(writer, position), false);
        break;
    }
    if (writer->scalar && inst->type == VarTypePointer) {
        text_putf(writer->line, "  %%v%u.ptr = inttoptr i64 %%v%u to ptr\n", position,
                  position);
    }
    if (!writer->scalar && ++writer->block_size >= BLOCK_SIZE &&
        inst->op != OP_RETURN) {
        llvm_writer_next_block(writer);
    }
    return true;
}

/* ---- stores */

/* The value of a STORE as it goes to memory. */
static void stored_value(LlvmWriter *writer, uint32_t value, const char *tag,
                         uint32_t position, char name[LLVM_NAME_SIZE])
{
    llvm_writer_operand(writer, value, name);
    if (writer->program->insts[value].type == VarTypeBool) {
        unsigned width = writer->shape.width;
        text_putf(&writer->body, "  %%%s%u.z = zext <%u x i1> %s to <%u x i8>\n", tag,
                  position, width, name, width);
        snprintf(name, LLVM_NAME_SIZE, "%%%s%u.z", tag, position);
    }
}

static void write_full_stores(LlvmWriter *writer)
{
    const Program *program = writer->program;
    for (uint32_t i = 0; i < program->inst_count; i++) {
        const Inst *inst = &program->insts[i];
        if (inst->op != OP_STORE) {
            continue;
        }
        VarType type = program->insts[inst->arg[0]].type;
        const char *memory = llvm_writer_memory_type(type);
        char name[LLVM_NAME_SIZE];
        stored_value(writer, inst->arg[0], "f", i, name);
        text_putf(&writer->body,
                  "  %%f%u.p = getelementptr %s, ptr %%out%u, i64 %%index\n"
                  "  store <%u x %s> %s, ptr %%f%u.p, align %u\n",
                  i, memory, inst->aux, writer->shape.width, memory, name, i,
                  type_info[type].size);
    }
}

/* Stores of the lanes before 'end' by instruction. */
static void write_masked_stores(LlvmWriter *writer)
{
    const Program *program = writer->program;
    unsigned width = writer->shape.width;
    bool first = true;
    for (uint32_t i = 0; i < program->inst_count; i++) {
        const Inst *inst = &program->insts[i];
        if (inst->op != OP_STORE) {
            continue;
        }
        VarType type = program->insts[inst->arg[0]].type;
        if (!llvm_writer_has_masked(writer, type)) {
            continue;
        }
        if (first && !writer->active) {
            text_putf(&writer->body, "  %%left32 = trunc i64 %%left to i32\n");
            write_active(writer, &writer->body, "%left32");
        }
        first = false;
        char name[LLVM_NAME_SIZE], declare[200];
        const char *vector = writer->types[1][type];
        const char *suffix = writer->suffixes[1][type];
        snprintf(declare, sizeof declare,
                 "void @llvm.masked.store.%s.p0(%s, ptr, i32, <%u x i1>)", suffix,
                 vector, width);
        llvm_writer_declare_text(writer, declare);
        llvm_writer_operand(writer, inst->arg[0], name);
        text_putf(&writer->body,
                  "  %%g%u.p = getelementptr %s, ptr %%out%u, i64 %%index\n"
                  "  call void @llvm.masked.store.%s.p0(%s %s, ptr %%g%u.p, i32 %u, "
                  "<%u x i1> %%active)\n",
                  i, writer->types[0][type], inst->aux, suffix, vector, name, i,
                  type_info[type].size, width);
    }
}

/* The other ones: to the stack, then copied. Values are all on the stack before the
 * calls of a batch, so that nothing is kept in registers across them. Returns the
 * number of stores. */
static uint32_t write_copied_stores(LlvmWriter *writer)
{
    const Program *program = writer->program;
    Text calls = { 0 };
    uint32_t stores = 0;
    for (uint32_t i = 0; i < program->inst_count; i++) {
        const Inst *inst = &program->insts[i];
        if (inst->op != OP_STORE) {
            continue;
        }
        VarType type = program->insts[inst->arg[0]].type;
        if (llvm_writer_has_masked(writer, type)) {
            continue;
        }
        const char *memory = llvm_writer_memory_type(type);
        char name[LLVM_NAME_SIZE];
        unsigned slot = stores++ % PART_SLOTS;
        stored_value(writer, inst->arg[0], "g", i, name);
        text_putf(&writer->body, "  store <%u x %s> %s, ptr %%part%u, align 64\n",
                  writer->shape.width, memory, name, slot);
        text_putf(&calls,
                  "  %%g%u.p = getelementptr %s, ptr %%out%u, i64 %%index\n"
                  "  %%g%u.n = mul i64 %%left, %u\n"
                  "  call void @store_part(ptr %%g%u.p, ptr %%part%u, i64 %%g%u.n)\n",
                  i, memory, inst->aux, i, type_info[type].size, i, slot, i);
        if (slot == PART_SLOTS - 1) {
            const char *batch = text_get(&calls);
            text_put(&writer->body, batch ? batch : "");
            text_clear(&calls);
        }
    }
    const char *batch = text_get(&calls);
    text_put(&writer->body, batch ? batch : "");
    writer->body.failed |= !batch;
    text_free(&calls);
    return stores;
}

/* ---- assembly */

static void write_slots(const LlvmWriter *writer, Text *out, uint32_t copied)
{
    static const char *const names[] = { "idx", "val", "cmp", "out" };
    unsigned bytes = llvm_writer_stride(writer);
    for (int i = 0; writer->slots && i < 4; i++) {
        text_putf(out, "  %%slot.%s = alloca [%u x i8], align 64\n", names[i], bytes);
    }
    for (uint32_t i = 0; i < copied && i < PART_SLOTS; i++) {
        text_putf(out, "  %%part%u = alloca [%u x i8], align 64\n", i, bytes);
    }
    if (writer->calls) {
        text_putf(out,
                  "  %%call.in = alloca [%u x i8], align 64\n"
                  "  %%call.out = alloca [%u x i8], align 64\n"
                  "  %%call.num = alloca [%u x i32], align 64\n",
                  bytes * writer->call_inputs, bytes * writer->call_outputs,
                  writer->shape.width);
    }
    if (writer->prints) {
        text_putf(out,
                  "  %%print.mask = alloca [%u x i8], align 64\n"
                  "  %%print.values = alloca [%u x i8], align 64\n"
                  "  %%print.list = alloca [%u x ptr], align 64\n",
                  writer->shape.width, bytes * writer->print_values,
                  writer->print_values);
    }
}

/* Base addresses of inputs, outputs and the report; callables have the report only.
 * Pointers that gathers and scatters use are PARAM instructions. */
static void write_bases(const LlvmWriter *writer, Text *out)
{
    const Program *root = writer->root;
    bool callable = writer->program != root;
    for (uint32_t i = 0; i < root->param_count; i++) {
        char name[LLVM_NAME_SIZE];
        if (callable && root->params[i].kind != PARAM_REPORT) {
            continue;
        }
        switch (root->params[i].kind) {
        case PARAM_INPUT:
            snprintf(name, sizeof name, "%%in%u", i);
            break;
        case PARAM_OUTPUT:
            snprintf(name, sizeof name, "%%out%u", i);
            break;
        case PARAM_REPORT:
            snprintf(name, sizeof name, "%%report");
            break;
        default:
            continue;
        }
        text_putf(out,
                  "  %%slot%u = getelementptr i64, ptr %%args, i64 %u\n"
                  "  %s = load ptr, ptr %%slot%u, align 8, !invariant.load !0\n",
                  i, i, name, i);
    }
}

static void write_loop_head(const LlvmWriter *writer, Text *out)
{
    unsigned width = writer->shape.width;
    text_putf(out,
              "  br label %%loop\nloop:\n"
              "  %%index = phi i64 [ %%begin64, %%entry ], [ %%next, %%full ]\n"
              "  %%left = sub i64 %%end64, %%index\n"
              "  %%whole = icmp uge i64 %%left, %u\n",
              width);
    /* Where the later pieces of a vector load start: %at8, %at16, ... */
    for (unsigned at = CHUNK / 8; at < width; at += CHUNK / 8) {
        text_putf(out,
                  "  %%at%u.a = add i64 %%index, %u\n"
                  "  %%at%u.b = icmp ult i64 %%at%u.a, %%end64\n"
                  "  %%at%u = select i1 %%at%u.b, i64 %%at%u.a, i64 %%index\n",
                  at, at, at, at, at, at, at);
    }
    if (writer->active) {
        text_putf(out,
                  "  %%valid = select i1 %%whole, i64 %u, i64 %%left\n"
                  "  %%valid32 = trunc i64 %%valid to i32\n",
                  width);
        write_active(writer, out, "%valid32");
    }
}

static void put_part(Text *out, Text *part)
{
    const char *text = text_get(part);
    if (text) {
        text_put_n(out, text, part->size);
    } else {
        out->failed = true;
    }
}

/* The entry block up to the uniform values. */
static void write_entry(LlvmWriter *writer, uint32_t copied, Text *out)
{
    unsigned width = writer->shape.width;
    write_slots(writer, out, copied);
    write_bases(writer, out);
    if (writer->helper_bits & LLVM_HELPER_ZERO) {
        text_putf(
            out,
            "  %%zero.e = insertelement <%u x ptr> poison, ptr @zero, i32 0\n"
            "  %%zero.ptrs = shufflevector <%u x ptr> %%zero.e, <%u x ptr> poison, "
            "<%u x i32> zeroinitializer\n",
            width, width, width, width);
    }
    put_part(out, &writer->entry);
}

static void assemble(LlvmWriter *writer, Hash128 hash, uint32_t copied, Text *out)
{
    put_part(out, &writer->declares);
    if (writer->helper_bits & LLVM_HELPER_ZERO) {
        text_put(out, "@zero = internal constant i64 0, align 8\n");
    }
    if (writer->scratch) {
        text_putf(out, "@" LLVM_OBJECT_NUMBER " = constant i64 %" PRIu64 ", align 8\n",
                  writer->scratch);
    }
    put_part(out, &writer->helpers);
    put_part(out, &writer->functions);
    text_put(out, "define void @drjit_");
    text_put_hex64(out, hash.high);
    text_put_hex64(out, hash.low);
    text_put(out,
             "(i32 %begin, i32 %end, i32 %worker, ptr %args, ptr %scratch) #0 {\n"
             "entry:\n"
             "  %begin64 = zext i32 %begin to i64\n  %end64 = zext i32 %end to i64\n");
    write_entry(writer, copied, out);
    write_loop_head(writer, out);
    put_part(out, &writer->body);
    text_put(out, "}\nattributes #0 = { nounwind ");
    if (writer->shape.width >= 16 && writer->shape.vector_memory) {
        text_put(out,
                 "\"prefer-vector-width\"=\"512\" \"min-legal-vector-width\"=\"512\" ");
    }
    text_put(out, "}\n!0 = !{}\n!1 = !{!\"branch_weights\", i32 1, i32 10000}\n"
                  "!2 = !{!\"branch_weights\", i32 10000, i32 1}\n");
}

/* ---- functions */

/* Forget everything that concerns one function only, and begin the next. */
static void begin_function(LlvmWriter *writer, const Program *program)
{
    writer->program = program;
    text_clear(&writer->entry);
    text_clear(&writer->body);
    memset(writer->broadcast, 0, program->inst_count * sizeof *writer->broadcast);
    find_uniform(writer);
    writer->active = writer->slots = writer->calls = writer->prints = false;
    writer->call_inputs = writer->call_outputs = writer->print_values = 0;
    writer->block = writer->block_size = 0;
    snprintf(writer->label, sizeof writer->label, "loop");
}

static bool write_insts(LlvmWriter *writer)
{
    for (uint32_t i = 0; i < writer->program->inst_count; i++) {
        TRY(write_inst(writer, i), false);
    }
    writer->scalar = false;
    writer->line = &writer->body;
    return true;
}

/* A callable: 'mask' has a bit for each lane of the packet; inputs and outputs are
 * packets of values in memory, 'index' is the packet's first lane. */
static bool write_callable(LlvmWriter *writer, uint32_t number)
{
    unsigned width = writer->shape.width;
    writer->function = number;
    begin_function(writer, writer->root->callables[number]);
    TRY(write_insts(writer), false);
    Text *out = &writer->functions;
    text_putf(
        out,
        "define internal void @callable%u(ptr %%args, ptr %%scratch, i64 %%index, "
        "i64 %%mask, ptr %%in, ptr %%out) noinline #0 {\nentry:\n",
        number);
    if (width == 64) {
        text_put(out, "  %active = bitcast i64 %mask to <64 x i1>\n");
    } else {
        text_putf(out,
                  "  %%active.n = trunc i64 %%mask to i%u\n"
                  "  %%active = bitcast i%u %%active.n to <%u x i1>\n",
                  width, width, width);
    }
    write_entry(writer, 0, out);
    text_put(out, "  br label %loop\nloop:\n");
    put_part(out, &writer->body);
    text_put(out, "}\n");
    return true;
}

static bool write_body(LlvmWriter *writer, uint32_t *copied)
{
    writer->function = writer->root->callable_count;
    begin_function(writer, writer->root);
    TRY(write_insts(writer), false);
    text_put(&writer->body, "  br i1 %whole, label %full, label %part, !prof !2\n");
    llvm_writer_block(writer, "full");
    write_full_stores(writer);
    text_putf(&writer->body,
              "  %%next = add i64 %%index, %u\n"
              "  %%more = icmp ult i64 %%next, %%end64\n"
              "  br i1 %%more, label %%loop, label %%exit\n",
              writer->shape.width);
    llvm_writer_block(writer, "part");
    write_masked_stores(writer);
    *copied = write_copied_stores(writer);
    if (*copied) {
        writer->helper_bits |= LLVM_HELPER_STORE;
    }
    text_put(&writer->body, "  br label %exit\nexit:\n  ret void\n");
    return true;
}

static bool write_functions(LlvmWriter *writer, Hash128 hash, Text *out)
{
    uint32_t copied = 0;
    for (uint32_t i = 0; i < writer->root->callable_count; i++) {
        TRY(write_callable(writer, i), false);
    }
    TRY(write_body(writer, &copied), false);
    llvm_atomic_fixed(writer);
    assemble(writer, hash, copied, out);
    return text_get(out) != NULL;
}

bool llvm_ir_write(const Program *program, Hash128 hash, LlvmShape shape, Text *out)
{
    LlvmWriter *writer = alloc_zero(1, sizeof *writer);
    TRY(writer, false);
    writer->root = program;
    writer->shape = shape;
    size_t insts = program->inst_count + 1u;
    for (uint32_t i = 0; i < program->callable_count; i++) {
        if (program->callables[i]->inst_count > insts) {
            insts = program->callables[i]->inst_count;
        }
    }
    writer->uniform = alloc_zero(insts, sizeof *writer->uniform);
    writer->broadcast = alloc_zero(insts, sizeof *writer->broadcast);
    name_types(writer);
    bool ok = writer->uniform && writer->broadcast && llvm_region_prepare(writer) &&
              write_functions(writer, hash, out);
    text_free(&writer->declares);
    text_free(&writer->helpers);
    text_free(&writer->functions);
    text_free(&writer->entry);
    text_free(&writer->body);
    llvm_region_release(writer);
    alloc_free(writer->uniform);
    alloc_free(writer->broadcast);
    alloc_free(writer);
    return ok;
}

bool llvm_ir_supports(Op op, VarType type, VarType operand)
{
    switch (op_info[op].group) {
    case GROUP_ARITH:
    case GROUP_FUNCTION:
    case GROUP_CONVERT:
    case GROUP_TABLE:
        return llvm_ops_supports(op, type, operand);
    case GROUP_MEMORY: /* one entry of a lane at a time */
        return op_has_pointer(op) && op != OP_GATHER_PACKET &&
               op != OP_SCATTER_PACKET && op != OP_MATVEC && op != OP_OUTER &&
               op_is_defined(op, operand);
    case GROUP_STMT:
        return true;
    default:
        return op_is_defined(op, operand);
    }
}
