/*
 * llvm_region.c -- LLVM IR of loops, conditionals and calls
 *
 * Regions become basic blocks that run while any lane of the packet takes part; states
 * and outputs are blended with the mask of those that do. A loop has its condition part
 * at the end, so that an iteration has one branch. The text is written in the order of
 * the Program and then turned round:
 *
 *            br head                       br then, if any lane takes the true side
 *     body:  ...                   then:   ...
 *     latch: blend the states      test:   br else, if any takes the false side
 *     head:  states, condition     else:   ...
 *            br body, if any       join:   outputs
 *     exit:
 *
 * Names in region R: %rR.m the lanes that enter; %rR.a, %rR.t those of an iteration
 * before and behind TEST; %rR.t, %rR.f those of the sides of a conditional; %rR.s0,
 * ... the states (or the STATE instruction's name); %rR.o0, ... the outputs.
 *
 * A callable is a function with the signature that llvm_ir.c writes. All have the same,
 * with inputs and outputs in memory, so a table of their addresses serves calls with
 * many targets. The addresses in it are relative to the table: the code may lie
 * anywhere. A callable blends its results into the outputs, which the caller has set to
 * 0, since masks of different targets have no lane in common.
 *
 * Lanes behind the end of a launch never enter: masks of regions are combined with
 * %active, and in a callable %active is the mask it was called with.
 */
#include "engine/llvm/llvm_writer.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/interrupt.h"

/* Up to this many targets are tried one after the other. */
enum { CALL_TESTS = 8 };

/* Room for an Interrupt at the begin of scratch memory. */
enum { INTERRUPT_BYTES = 64 };

struct LlvmLoop {
    size_t head; /* where the condition part begins in the text, ... */
    size_t body; /* ... and what follows it */
};

bool llvm_region_prepare(LlvmWriter *writer)
{
    const Program *root = writer->root;
    size_t regions = root->region_count;
    for (uint32_t i = 0; i < root->callable_count; i++) {
        if (root->callables[i]->region_count > regions) {
            regions = root->callables[i]->region_count;
        }
    }
    writer->may_last = program_may_last(root);
    writer->scratch = writer->may_last ? INTERRUPT_BYTES : 0;
    writer->loops = alloc_zero(regions + 1, sizeof *writer->loops);
    return writer->loops != NULL;
}

void llvm_region_release(LlvmWriter *writer)
{
    alloc_free(writer->loops);
}

static const char *type_of(const LlvmWriter *writer, uint32_t position)
{
    return writer->types[1][writer->program->insts[position].type];
}

/* A copy of a value under another name, which costs nothing. */
static void write_copy(LlvmWriter *writer, const char *type, const char *value,
                       const char *name)
{
    text_putf(&writer->body, "  %s = bitcast %s %s to %s\n", name, type, value, type);
}

/* %rR.m: the lanes that enter. */
static void write_entering(LlvmWriter *writer, uint32_t number, uint32_t mask)
{
    char name[LLVM_NAME_SIZE];
    writer->active = true;
    llvm_writer_operand(writer, mask, name);
    text_putf(&writer->body, "  %%r%u.m = and %s %s, %%active\n", number,
              writer->types[1][VarTypeBool], name);
}

/* Go on at 'next', unless somebody wants the kernel to stop. Then each function returns
 * to one that asks, too. */
static void write_back_edge(LlvmWriter *writer, uint32_t number, const char *next)
{
    text_putf(&writer->body,
              "  %%r%u.asked = load ptr, ptr %%scratch, align 8, !invariant.load !0\n"
              "  %%r%u.count = load atomic i32, ptr %%r%u.asked monotonic, align 4\n"
              "  %%r%u.seen.p = getelementptr i8, ptr %%scratch, i64 %zu\n"
              "  %%r%u.seen = load i32, ptr %%r%u.seen.p, align 4, !invariant.load !0\n"
              "  %%r%u.go = icmp eq i32 %%r%u.count, %%r%u.seen\n"
              "  br i1 %%r%u.go, label %%%s, label %%stop%u, !prof !2\n"
              "stop%u:\n  ret void\n",
              number, number, number, number, offsetof(Interrupt, requests), number,
              number, number, number, number, number, next, number, number);
}

/* ---- loops */

/* The name of state 'k' at the start of an iteration. */
static void name_state(const LlvmWriter *writer, uint32_t number, uint32_t k,
                       char name[LLVM_NAME_SIZE])
{
    const Program *program = writer->program;
    uint32_t position = program->regions[number].begin + 1 + k;
    const Inst *inst = &program->insts[position];
    if (inst->op == OP_STATE && inst->aux == k) {
        snprintf(name, LLVM_NAME_SIZE, "%%v%u", position);
    } else {
        snprintf(name, LLVM_NAME_SIZE, "%%r%u.s%u", number, k);
    }
}

static void begin_loop(LlvmWriter *writer, uint32_t number, const Inst *inst)
{
    const uint32_t *args = program_args(writer->program, inst);
    const char *mask = writer->types[1][VarTypeBool];
    char name[LLVM_NAME_SIZE], other[LLVM_NAME_SIZE], before[LLVM_NAME_SIZE];
    write_entering(writer, number, args[0]);
    for (uint32_t k = 0; k + 1 < inst->count; k++) {
        llvm_writer_operand(writer, args[k + 1], other);
        snprintf(name, sizeof name, "%%r%u.i%u", number, k);
        write_copy(writer, type_of(writer, args[k + 1]), other, name);
    }
    text_putf(&writer->body, "  br label %%head%u\n", number);
    writer->loops[number].head = writer->body.size;
    snprintf(before, sizeof before, "%s", writer->label);
    snprintf(name, sizeof name, "head%u", number);
    llvm_writer_block(writer, name);
    text_putf(&writer->body,
              "  %%r%u.a = phi %s [ %%r%u.m, %%%s ], [ %%r%u.t, %%latch%u ]\n", number,
              mask, number, before, number, number);
    for (uint32_t k = 0; k + 1 < inst->count; k++) {
        name_state(writer, number, k, name);
        text_putf(&writer->body,
                  "  %s = phi %s [ %%r%u.i%u, %%%s ], [ %%r%u.n%u, %%latch%u ]\n", name,
                  type_of(writer, args[k + 1]), number, k, before, number, k, number);
    }
}

static void write_test(LlvmWriter *writer, uint32_t number, const Inst *inst)
{
    char name[LLVM_NAME_SIZE], body[LLVM_NAME_SIZE], out[LLVM_NAME_SIZE];
    llvm_writer_operand(writer, inst->arg[0], name);
    text_putf(&writer->body, "  %%r%u.t = and %s %%r%u.a, %s\n", number,
              writer->types[1][VarTypeBool], number, name);
    snprintf(name, sizeof name, "r%u.t", number);
    snprintf(body, sizeof body, "body%u", number);
    snprintf(out, sizeof out, "exit%u", number);
    llvm_writer_branch(writer, name, body, out);
    writer->loops[number].body = writer->body.size;
    llvm_writer_block(writer, body);
}

/* Move the condition part behind what follows it. */
static void turn_round(Text *text, const LlvmLoop *loop)
{
    Text part = { 0 };
    if (!text->failed) {
        size_t length = loop->body - loop->head;
        text_put_n(&part, text->data + loop->head, length);
        memmove(text->data + loop->head, text->data + loop->body,
                text->size - loop->body);
        text->size -= length;
        text_put_n(text, part.data, part.size);
        text->failed |= part.failed;
    }
    text_free(&part);
}

static void end_loop(LlvmWriter *writer, uint32_t number, const Inst *inst)
{
    const uint32_t *args = program_args(writer->program, inst);
    char label[LLVM_NAME_SIZE], state[LLVM_NAME_SIZE], next[LLVM_NAME_SIZE];
    snprintf(label, sizeof label, "latch%u", number);
    text_putf(&writer->body, "  br label %%%s\n", label);
    llvm_writer_block(writer, label);
    for (uint32_t k = 0; k < inst->count; k++) {
        const char *type = type_of(writer, args[k]);
        name_state(writer, number, k, state);
        llvm_writer_operand(writer, args[k], next);
        text_putf(&writer->body, "  %%r%u.n%u = select %s %%r%u.t, %s %s, %s %s\n",
                  number, k, writer->types[1][VarTypeBool], number, type, next, type,
                  state);
    }
    snprintf(label, sizeof label, "head%u", number);
    write_back_edge(writer, number, label);
    turn_round(&writer->body, &writer->loops[number]);
    snprintf(label, sizeof label, "exit%u", number);
    llvm_writer_block(writer, label);
}

/* ---- conditionals */

static void begin_if(LlvmWriter *writer, uint32_t number, const Inst *inst)
{
    const char *mask = writer->types[1][VarTypeBool];
    char name[LLVM_NAME_SIZE], side[LLVM_NAME_SIZE], test[LLVM_NAME_SIZE];
    write_entering(writer, number, inst->arg[0]);
    llvm_writer_operand(writer, inst->arg[1], name);
    text_putf(&writer->body,
              "  %%r%u.t = and %s %%r%u.m, %s\n  %%r%u.f = xor %s %%r%u.m, %%r%u.t\n",
              number, mask, number, name, number, mask, number, number);
    snprintf(name, sizeof name, "r%u.t", number);
    snprintf(side, sizeof side, "then%u", number);
    snprintf(test, sizeof test, "test%u", number);
    /* Where the true side is skipped, its outputs are 0: a block that 'test' knows. */
    char skip[LLVM_NAME_SIZE];
    snprintf(skip, sizeof skip, "skip%u", number);
    llvm_writer_branch(writer, name, side, skip);
    text_putf(&writer->body, "%s:\n  br label %%%s\n", skip, test);
    llvm_writer_block(writer, side);
}

/* %rR.<to>K: outputs of the side that ends, blended into those named 'from' (NULL: 0).
 */
static void blend_outputs(LlvmWriter *writer, uint32_t number, const Inst *inst,
                          char side, char to, char from)
{
    const uint32_t *args = program_args(writer->program, inst);
    for (uint32_t k = 0; k < inst->count; k++) {
        const char *type = type_of(writer, args[k]);
        char name[LLVM_NAME_SIZE], other[LLVM_NAME_SIZE];
        llvm_writer_operand(writer, args[k], name);
        snprintf(other, sizeof other, from ? "%%r%u.%c%u" : "zeroinitializer", number,
                 from, k);
        text_putf(&writer->body, "  %%r%u.%c%u = select %s %%r%u.%c, %s %s, %s %s\n",
                  number, to, k, writer->types[1][VarTypeBool], number, side, type,
                  name, type, other);
    }
}

static void write_else(LlvmWriter *writer, uint32_t number, const Inst *inst)
{
    const uint32_t *args = program_args(writer->program, inst);
    char label[LLVM_NAME_SIZE], side[LLVM_NAME_SIZE], join[LLVM_NAME_SIZE];
    char before[LLVM_NAME_SIZE];
    blend_outputs(writer, number, inst, 't', 'x', 0);
    snprintf(before, sizeof before, "%s", writer->label);
    snprintf(label, sizeof label, "test%u", number);
    text_putf(&writer->body, "  br label %%%s\n", label);
    llvm_writer_block(writer, label);
    for (uint32_t k = 0; k < inst->count; k++) {
        text_putf(&writer->body,
                  "  %%r%u.p%u = phi %s [ zeroinitializer, %%skip%u ], "
                  "[ %%r%u.x%u, %%%s ]\n",
                  number, k, type_of(writer, args[k]), number, number, k, before);
    }
    snprintf(label, sizeof label, "r%u.f", number);
    snprintf(side, sizeof side, "else%u", number);
    snprintf(join, sizeof join, "join%u", number);
    llvm_writer_branch(writer, label, side, join);
    llvm_writer_block(writer, side);
}

static void end_if(LlvmWriter *writer, uint32_t number, const Inst *inst)
{
    const uint32_t *args = program_args(writer->program, inst);
    char label[LLVM_NAME_SIZE], before[LLVM_NAME_SIZE];
    blend_outputs(writer, number, inst, 'f', 'y', 'p');
    snprintf(before, sizeof before, "%s", writer->label);
    snprintf(label, sizeof label, "join%u", number);
    text_putf(&writer->body, "  br label %%%s\n", label);
    llvm_writer_block(writer, label);
    for (uint32_t k = 0; k < inst->count; k++) {
        text_putf(&writer->body,
                  "  %%r%u.o%u = phi %s [ %%r%u.p%u, %%test%u ], "
                  "[ %%r%u.y%u, %%%s ]\n",
                  number, k, type_of(writer, args[k]), number, k, number, number, k,
                  before);
    }
}

/* ---- calls: the caller's side */

/* Address of packet 'k' of a buffer, %<name>. */
static void write_place(LlvmWriter *writer, const char *buffer, uint32_t k,
                        const char *name)
{
    text_putf(&writer->body, "  %%%s = getelementptr i8, ptr %s, i64 %u\n", name,
              buffer, k * llvm_writer_stride(writer));
}

static const Inst *outputs_of(const LlvmWriter *writer, const Region *region,
                              const Program **target)
{
    *target = writer->root->callables[writer->program->extra[region->targets]];
    return &(*target)->insts[(*target)->inst_count - 1];
}

/* Inputs to memory; outputs 0. */
static void write_buffers(LlvmWriter *writer, uint32_t number, const Inst *inst)
{
    const Region *region = &writer->program->regions[number];
    const uint32_t *args = program_args(writer->program, inst);
    uint32_t align = llvm_writer_align(llvm_writer_stride(writer));
    char name[LLVM_NAME_SIZE], value[LLVM_NAME_SIZE], address[LLVM_NAME_SIZE + 1];
    uint32_t inputs = inst->count - 2u, outputs = 0;
    for (uint32_t k = 0; k < inputs; k++) {
        snprintf(name, sizeof name, "r%u.in%u", number, k);
        snprintf(address, sizeof address, "%%%s", name);
        llvm_writer_operand(writer, args[k + 2], value);
        write_place(writer, "%call.in", k, name);
        llvm_writer_store(writer, writer->program->insts[args[k + 2]].type, value,
                          address, align, name);
    }
    if (region->target_count) {
        const Program *target;
        const Inst *list = outputs_of(writer, region, &target);
        outputs = list->count;
        for (uint32_t k = 0; k < outputs; k++) {
            VarType type = target->insts[program_args(target, list)[k]].type;
            snprintf(name, sizeof name, "r%u.out%u", number, k);
            write_place(writer, "%call.out", k, name);
            text_putf(&writer->body,
                      "  store <%u x %s> zeroinitializer, ptr %%%s, align %u\n",
                      writer->shape.width, llvm_writer_memory_type(type), name, align);
        }
    }
    writer->calls = true;
    writer->call_inputs = inputs > writer->call_inputs ? inputs : writer->call_inputs;
    writer->call_outputs =
        outputs > writer->call_outputs ? outputs : writer->call_outputs;
}

/* Call 'function' for the lanes whose bits are %<bits>. */
static void write_call(LlvmWriter *writer, const char *function, const char *bits)
{
    text_putf(&writer->body,
              "  call void %s(ptr %%args, ptr %%scratch, i64 %%index, i64 %%%s, "
              "ptr %%call.in, ptr %%call.out)\n",
              function, bits);
}

/* Target 'k' for those of the lanes %<group> that there are. */
static void write_target(LlvmWriter *writer, uint32_t number, uint32_t k,
                         const char *group)
{
    const Program *program = writer->program;
    char name[LLVM_NAME_SIZE], here[LLVM_NAME_SIZE], next[LLVM_NAME_SIZE];
    snprintf(here, sizeof here, "call%u.%u", number, k);
    snprintf(next, sizeof next, "done%u.%u", number, k);
    llvm_writer_branch(writer, group, here, next);
    llvm_writer_block(writer, here);
    snprintf(here, sizeof here, "%%%s", group);
    llvm_writer_bits(writer, here, group);
    snprintf(name, sizeof name, "@callable%u",
             program->extra[program->regions[number].targets + k]);
    snprintf(here, sizeof here, "%s.b", group);
    write_call(writer, name, here);
    text_putf(&writer->body, "  br label %%%s\n", next);
    llvm_writer_block(writer, next);
}

static void write_tests(LlvmWriter *writer, uint32_t number, const char *numbers)
{
    unsigned width = writer->shape.width;
    uint32_t count = writer->program->regions[number].target_count;
    for (uint32_t k = 0; k < count; k++) {
        char group[LLVM_NAME_SIZE];
        snprintf(group, sizeof group, "r%u.g%u", number, k);
        text_putf(&writer->body, "  %%%s.e = icmp eq <%u x i32> %s, ", group, width,
                  numbers);
        llvm_writer_splat(writer, &writer->body, VarTypeUInt32, (int64_t) k + 1);
        text_putf(&writer->body, "\n  %%%s = and <%u x i1> %%%s.e, %%r%u.m\n", group,
                  width, group, number);
        write_target(writer, number, k, group);
    }
}

/* The table of a call's targets. */
static void write_table(LlvmWriter *writer, uint32_t number)
{
    const Region *region = &writer->program->regions[number];
    Text *out = &writer->functions;
    text_putf(out, "@targets%u.%u = internal constant [%u x i32] [", writer->function,
              number, region->target_count);
    for (uint32_t k = 0; k < region->target_count; k++) {
        text_putf(out,
                  "%si32 trunc (i64 sub (i64 ptrtoint (ptr @callable%u to i64), "
                  "i64 ptrtoint (ptr @targets%u.%u to i64)) to i32)",
                  k ? ", " : "", writer->program->extra[region->targets + k],
                  writer->function, number);
    }
    text_put(out, "], align 4\n");
}

/* Many targets: as long as there are lanes left, call the target of the lowest for all
 * that have the same. */
static void write_search(LlvmWriter *writer, uint32_t number, const char *numbers)
{
    unsigned width = writer->shape.width;
    uint32_t count = writer->program->regions[number].target_count;
    char first[LLVM_NAME_SIZE], more[LLVM_NAME_SIZE], done[LLVM_NAME_SIZE];
    char before[LLVM_NAME_SIZE], bits[LLVM_NAME_SIZE];
    Text *body = &writer->body;
    write_table(writer, number);
    llvm_writer_declare_text(writer, "i64 @llvm.cttz.i64(i64, i1)");
    /* %rR.g: lanes with a number from 1 to 'count'. */
    text_putf(body, "  %%r%u.w = sub <%u x i32> %s, ", number, width, numbers);
    llvm_writer_splat(writer, body, VarTypeUInt32, 1);
    text_putf(body, "\n  %%r%u.v = icmp ult <%u x i32> %%r%u.w, ", number, width,
              number);
    llvm_writer_splat(writer, body, VarTypeUInt32, count);
    text_putf(body, "\n  %%r%u.g = and <%u x i1> %%r%u.v, %%r%u.m\n", number, width,
              number, number);
    snprintf(first, sizeof first, "r%u.g", number);
    snprintf(bits, sizeof bits, "%%r%u.g", number);
    llvm_writer_bits(writer, bits, first);
    text_putf(body, "  store <%u x i32> %%r%u.w, ptr %%call.num, align 64\n", width,
              number);
    snprintf(before, sizeof before, "%s", writer->label);
    snprintf(more, sizeof more, "call%u", number);
    snprintf(done, sizeof done, "done%u", number);
    llvm_writer_branch(writer, first, more, done);
    llvm_writer_block(writer, more);
    text_putf(body,
              "  %%r%u.rest = phi i64 [ %%r%u.g.b, %%%s ], [ %%r%u.left, %%%s ]\n"
              "  %%r%u.lane = call i64 @llvm.cttz.i64(i64 %%r%u.rest, i1 true)\n"
              "  %%r%u.np = getelementptr i32, ptr %%call.num, i64 %%r%u.lane\n"
              "  %%r%u.num = load i32, ptr %%r%u.np, align 4\n",
              number, number, before, number, more, number, number, number, number,
              number, number);
    text_putf(body,
              "  %%r%u.ne = insertelement <%u x i32> poison, i32 %%r%u.num, i32 0\n"
              "  %%r%u.ns = shufflevector <%u x i32> %%r%u.ne, <%u x i32> poison, "
              "<%u x i32> zeroinitializer\n"
              "  %%r%u.eq = icmp eq <%u x i32> %%r%u.w, %%r%u.ns\n",
              number, width, number, number, width, number, width, width, number, width,
              number, number);
    snprintf(first, sizeof first, "r%u.eq", number);
    snprintf(bits, sizeof bits, "%%r%u.eq", number);
    llvm_writer_bits(writer, bits, first);
    text_putf(body,
              "  %%r%u.group = and i64 %%r%u.eq.b, %%r%u.rest\n"
              "  %%r%u.left = xor i64 %%r%u.group, %%r%u.rest\n"
              "  %%r%u.wide = zext i32 %%r%u.num to i64\n"
              "  %%r%u.tp = getelementptr i32, ptr @targets%u.%u, i64 %%r%u.wide\n"
              "  %%r%u.ts = load i32, ptr %%r%u.tp, align 4\n"
              "  %%r%u.to = sext i32 %%r%u.ts to i64\n"
              "  %%r%u.fn = getelementptr i8, ptr @targets%u.%u, i64 %%r%u.to\n",
              number, number, number, number, number, number, number, number, number,
              writer->function, number, number, number, number, number, number, number,
              writer->function, number, number);
    snprintf(first, sizeof first, "%%r%u.fn", number);
    snprintf(bits, sizeof bits, "r%u.group", number);
    write_call(writer, first, bits);
    text_putf(body,
              "  %%r%u.end = icmp eq i64 %%r%u.left, 0\n"
              "  br i1 %%r%u.end, label %%%s, label %%%s\n",
              number, number, number, done, more);
    llvm_writer_block(writer, done);
}

static void write_call_region(LlvmWriter *writer, uint32_t number, const Inst *inst)
{
    const Program *program = writer->program;
    const Region *region = &program->regions[number];
    uint32_t position = program_args(program, inst)[1];
    const Inst *chosen = &program->insts[position];
    char name[LLVM_NAME_SIZE];
    write_entering(writer, number, program_args(program, inst)[0]);
    write_buffers(writer, number, inst);
    if (chosen->op == OP_LITERAL) {
        uint64_t k = program->literals[chosen->aux] - 1;
        snprintf(name, sizeof name, "r%u.m", number);
        if (k < region->target_count) {
            write_target(writer, number, (uint32_t) k, name);
        }
    } else {
        llvm_writer_operand(writer, position, name);
        if (region->target_count <= CALL_TESTS) {
            write_tests(writer, number, name);
        } else {
            write_search(writer, number, name);
        }
    }
    if (writer->may_last) {
        snprintf(name, sizeof name, "back%u", number);
        write_back_edge(writer, number, name);
        llvm_writer_block(writer, name);
    }
}

/* ---- calls: the callable's side */

static void write_arg(LlvmWriter *writer, uint32_t position, const Inst *inst)
{
    char name[LLVM_NAME_SIZE], place[LLVM_NAME_SIZE], address[LLVM_NAME_SIZE + 1];
    snprintf(name, sizeof name, "v%u", position);
    if (inst->aux == 0) {
        snprintf(address, sizeof address, "%%%s", name);
        write_copy(writer, writer->types[1][VarTypeBool], "%active", address);
        return;
    }
    snprintf(place, sizeof place, "v%u.p", position);
    snprintf(address, sizeof address, "%%%s", place);
    write_place(writer, "%in", inst->aux - 1, place);
    llvm_writer_load(writer, inst->type, address,
                     llvm_writer_align(llvm_writer_stride(writer)), name);
}

static void write_return(LlvmWriter *writer, const Inst *inst)
{
    const uint32_t *args = program_args(writer->program, inst);
    uint32_t align = llvm_writer_align(llvm_writer_stride(writer));
    for (uint32_t k = 0; k < inst->count; k++) {
        VarType type = writer->program->insts[args[k]].type;
        char value[LLVM_NAME_SIZE], name[LLVM_NAME_SIZE], address[LLVM_NAME_SIZE];
        llvm_writer_operand(writer, args[k], value);
        snprintf(name, sizeof name, "out%u.p", k);
        write_place(writer, "%out", k, name);
        snprintf(address, sizeof address, "%%out%u.p", k);
        snprintf(name, sizeof name, "out%u.a", k);
        llvm_writer_load(writer, type, address, align, name);
        text_putf(&writer->body,
                  "  %%out%u.s = select %s %%active, %s %s, %s %%out%u.a\n", k,
                  writer->types[1][VarTypeBool], writer->types[1][type], value,
                  writer->types[1][type], k);
        snprintf(value, sizeof value, "%%out%u.s", k);
        snprintf(name, sizeof name, "out%u.s", k);
        llvm_writer_store(writer, type, value, address, align, name);
    }
    text_put(&writer->body, "  ret void\n");
}

/* ---- all */

static void write_region(LlvmWriter *writer, const Inst *inst)
{
    switch (writer->program->regions[inst->aux].kind) {
    case REGION_LOOP:
        begin_loop(writer, inst->aux, inst);
        break;
    case REGION_IF:
        begin_if(writer, inst->aux, inst);
        break;
    default:
        write_call_region(writer, inst->aux, inst);
        break;
    }
}

static void write_end(LlvmWriter *writer, const Inst *inst)
{
    writer->ended = inst->aux;
    switch (writer->program->regions[inst->aux].kind) {
    case REGION_LOOP:
        end_loop(writer, inst->aux, inst);
        break;
    case REGION_IF:
        end_if(writer, inst->aux, inst);
        break;
    default:
        break;
    }
}

static void write_active(LlvmWriter *writer, uint32_t position, const Inst *inst)
{
    const Region *region = &writer->program->regions[inst->aux];
    bool first = position < region->middle, loop = region->kind == REGION_LOOP;
    char name[LLVM_NAME_SIZE], mask[LLVM_NAME_SIZE];
    snprintf(name, sizeof name, "%%v%u", position);
    snprintf(mask, sizeof mask, "%%r%u.%c", inst->aux,
             loop ? (first ? 'a' : 't') : (first ? 't' : 'f'));
    write_copy(writer, writer->types[1][VarTypeBool], mask, name);
}

static void write_result(LlvmWriter *writer, uint32_t position, const Inst *inst)
{
    uint32_t number = writer->ended;
    char name[LLVM_NAME_SIZE], value[LLVM_NAME_SIZE], place[LLVM_NAME_SIZE];
    snprintf(name, sizeof name, "%%v%u", position);
    switch (writer->program->regions[number].kind) {
    case REGION_LOOP:
        name_state(writer, number, inst->aux, value);
        write_copy(writer, writer->types[1][inst->type], value, name);
        break;
    case REGION_IF:
        snprintf(value, sizeof value, "%%r%u.o%u", number, inst->aux);
        write_copy(writer, writer->types[1][inst->type], value, name);
        break;
    default:
        snprintf(place, sizeof place, "v%u.p", position);
        snprintf(value, sizeof value, "%%v%u.p", position);
        write_place(writer, "%call.out", inst->aux, place);
        llvm_writer_load(writer, inst->type, value,
                         llvm_writer_align(llvm_writer_stride(writer)), name + 1);
        break;
    }
}

void llvm_region_write(LlvmWriter *writer, uint32_t position)
{
    const Inst *inst = &writer->program->insts[position];
    switch (inst->op) {
    case OP_REGION:
        write_region(writer, inst);
        break;
    case OP_TEST:
        write_test(writer, inst->aux, inst);
        break;
    case OP_ELSE:
        write_else(writer, inst->aux, inst);
        break;
    case OP_END:
        write_end(writer, inst);
        break;
    case OP_RETURN:
        write_return(writer, inst);
        break;
    case OP_RESULT:
        write_result(writer, position, inst);
        break;
    case OP_ARG:
        write_arg(writer, position, inst);
        break;
    case OP_ACTIVE:
        write_active(writer, position, inst);
        break;
    default: /* OP_STATE: what begins the loop has named it */
        break;
    }
}
