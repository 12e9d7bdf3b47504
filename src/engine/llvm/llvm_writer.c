/*
 * llvm_writer.c -- names, constants and instruction patterns of LLVM IR text
 */
#include "engine/llvm/llvm_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const memory_types[VarTypeCount] = {
    [VarTypeBool] = "i8",       [VarTypeInt8] = "i8",     [VarTypeUInt8] = "i8",
    [VarTypeInt16] = "i16",     [VarTypeUInt16] = "i16",  [VarTypeInt32] = "i32",
    [VarTypeUInt32] = "i32",    [VarTypeInt64] = "i64",   [VarTypeUInt64] = "i64",
    [VarTypePointer] = "i64",   [VarTypeFloat16] = "i16", [VarTypeFloat32] = "float",
    [VarTypeFloat64] = "double"
};

const char *llvm_writer_memory_type(VarType type)
{
    return memory_types[type];
}

const char *llvm_writer_number_type(VarType type)
{
    return type == VarTypeFloat16 ? "half"
           : type == VarTypeBool  ? "i1"
                                  : memory_types[type];
}

/* Bits of a float as the double that LLVM wants to read, also for NaNs, which a
 * conversion in C would quieten. */
static uint64_t widen_float(uint32_t bits)
{
    uint64_t sign = (uint64_t) (bits >> 31) << 63;
    uint32_t exponent = bits >> 23 & 0xff;
    if (exponent == 0xff) {
        return sign | 0x7ffull << 52 | (uint64_t) (bits & 0x7fffff) << 29;
    }
    float narrow;
    memcpy(&narrow, &bits, sizeof narrow);
    double wide = narrow;
    uint64_t result;
    memcpy(&result, &wide, sizeof result);
    return result;
}

static void format_constant(char name[LLVM_NAME_SIZE], VarType type, uint64_t bits)
{
    if (type == VarTypeBool) {
        snprintf(name, LLVM_NAME_SIZE, "%s", bits & 1 ? "true" : "false");
    } else if (type == VarTypeFloat32 || type == VarTypeFloat64) {
        uint64_t wide = type == VarTypeFloat32 ? widen_float((uint32_t) bits) : bits;
        snprintf(name, LLVM_NAME_SIZE, "0x%016" PRIx64, wide);
    } else {
        unsigned width = type_info[type].size * 8u;
        uint64_t mask = width < 64 ? (UINT64_C(1) << width) - 1 : UINT64_MAX;
        snprintf(name, LLVM_NAME_SIZE, "%" PRIu64, bits & mask);
    }
}

void llvm_writer_constant(Text *out, VarType type, uint64_t bits)
{
    char name[LLVM_NAME_SIZE];
    format_constant(name, type, bits);
    text_put(out, name);
}

void llvm_writer_splat(const LlvmWriter *writer, Text *out, VarType type, int64_t value)
{
    if (value == 0) {
        text_put(out, "zeroinitializer");
    } else if (writer->scalar) {
        llvm_writer_constant(out, type, (uint64_t) value);
    } else {
        for (uint32_t i = 0; i < writer->shape.width; i++) {
            text_put(out, i ? ", " : "<");
            text_put(out, writer->types[0][type]);
            text_put_char(out, ' ');
            llvm_writer_constant(out, type, (uint64_t) value);
        }
        text_put_char(out, '>');
    }
}

bool llvm_writer_is_literal(const LlvmWriter *writer, uint32_t position, uint64_t bits)
{
    const Inst *inst = &writer->program->insts[position];
    return inst->op == OP_LITERAL && writer->program->literals[inst->aux] == bits;
}

/* Two instructions that put a scalar into all lanes of %<prefix><position>... . */
static void broadcast(const LlvmWriter *writer, Text *out, VarType type,
                      const char *name, const char *scalar)
{
    const char *vector_type = writer->types[1][type];
    text_putf(out,
              "  %s.e = insertelement %s poison, %s %s, i32 0\n"
              "  %s = shufflevector %s %s.e, %s poison, <%u x i32> zeroinitializer\n",
              name, vector_type, writer->types[0][type], scalar, name, vector_type,
              name, vector_type, writer->shape.width);
}

static void write_scalar(const LlvmWriter *writer, uint32_t position,
                         char name[LLVM_NAME_SIZE])
{
    const Inst *inst = &writer->program->insts[position];
    if (inst->op != OP_LITERAL) {
        snprintf(name, LLVM_NAME_SIZE, "%%v%u", position);
        return;
    }
    format_constant(name, inst->type, writer->program->literals[inst->aux]);
}

void llvm_writer_operand(LlvmWriter *writer, uint32_t position,
                         char name[LLVM_NAME_SIZE])
{
    const Inst *inst = &writer->program->insts[position];
    bool literal = inst->op == OP_LITERAL;
    if (writer->scalar) {
        write_scalar(writer, position, name);
    } else if (!writer->uniform[position]) {
        snprintf(name, LLVM_NAME_SIZE, "%%v%u", position);
    } else if (literal && writer->program->literals[inst->aux] == 0) {
        snprintf(name, LLVM_NAME_SIZE, "zeroinitializer");
    } else {
        uint32_t here = literal ? writer->block + 1 : 1;
        if (literal) {
            snprintf(name, LLVM_NAME_SIZE, "%%l%u.%u", position, writer->block);
        } else {
            snprintf(name, LLVM_NAME_SIZE, "%%s%u", position);
        }
        if (writer->broadcast[position] != here) {
            writer->broadcast[position] = here;
            char scalar[LLVM_NAME_SIZE];
            write_scalar(writer, position, scalar);
            broadcast(writer, literal ? &writer->body : &writer->entry, inst->type,
                      name, scalar);
        }
    }
}

/* One escape; returns how many characters of the pattern it took. */
static size_t expand_escape(const LlvmWriter *writer, Text *out, uint32_t position,
                            const char *escape, char names[5][LLVM_NAME_SIZE])
{
    const Program *program = writer->program;
    const Inst *inst = &program->insts[position];
    const uint32_t *args = program_args(program, inst);
    VarType first = inst->count ? program->insts[args[0]].type : inst->type;
    VarType second = inst->count > 1 ? program->insts[args[1]].type : first;
    bool vector = !writer->scalar;
    char c = *escape;
    switch (c) {
    case 'r':
        text_put(out, "%v");
        text_put_u64(out, position);
        return 1;
    case 'N':
        text_put_u64(out, position);
        return 1;
    case 'T':
        text_put(out, writer->types[vector][inst->type]);
        return 1;
    case 't':
        text_put(out, writer->suffixes[vector][inst->type]);
        return 1;
    case 'U':
        text_put(out, writer->types[vector][first]);
        return 1;
    case 'u':
        text_put(out, writer->suffixes[vector][first]);
        return 1;
    case 'V':
        text_put(out, writer->types[vector][second]);
        return 1;
    case 'v':
        text_put(out, writer->suffixes[vector][second]);
        return 1;
    case 'M':
        text_put(out, writer->types[vector][VarTypeBool]);
        return 1;
    case 'w':
        text_put_u64(out, writer->shape.width);
        return 1;
    case '(':
    case '[': {
        char *end;
        long long value = strtoll(escape + 1, &end, 0);
        llvm_writer_splat(writer, out, c == '(' ? first : inst->type, value);
        return (size_t) (end - escape) + 1;
    }
    default:
        if (c >= '0' && c <= '4') {
            text_put(out, names[c - '0']);
        } else {
            text_put(out, "%v");
            text_put_u64(out, position);
            text_put_char(out, '.');
            text_put_char(out, c);
        }
        return 1;
    }
}

static void expand(LlvmWriter *writer, Text *out, uint32_t position,
                   const char *pattern, char names[5][LLVM_NAME_SIZE])
{
    while (*pattern) {
        size_t plain = strcspn(pattern, "$");
        text_put_n(out, pattern, plain);
        pattern += plain;
        if (*pattern == '$') {
            pattern += 1 + expand_escape(writer, out, position, pattern + 1, names);
        }
    }
}

void llvm_writer_emit(LlvmWriter *writer, uint32_t position, const char *pattern)
{
    const Inst *inst = &writer->program->insts[position];
    const uint32_t *args = program_args(writer->program, inst);
    char names[5][LLVM_NAME_SIZE];
    for (uint32_t i = 0; i < inst->count && i < 5; i++) {
        llvm_writer_operand(writer, args[i], names[i]);
    }
    text_put(writer->line, "  ");
    expand(writer, writer->line, position, pattern, names);
    text_put_char(writer->line, '\n');
}

void llvm_writer_declare_text(LlvmWriter *writer, const char *text)
{
    const char *known = text_get(&writer->declares);
    const char *found = known ? strstr(known, text) : NULL;
    if (!found || found[strlen(text)] != '\n') {
        text_put(&writer->declares, "declare ");
        text_put(&writer->declares, text);
        text_put_char(&writer->declares, '\n');
    }
}

void llvm_writer_declare(LlvmWriter *writer, uint32_t position, const char *pattern)
{
    Text text = { 0 };
    expand(writer, &text, position, pattern, NULL);
    const char *finished = text_get(&text);
    if (finished) {
        llvm_writer_declare_text(writer, finished);
    } else {
        writer->declares.failed = true;
    }
    text_free(&text);
}

/* ---- blocks, masks, memory */

void llvm_writer_block(LlvmWriter *writer, const char *label)
{
    writer->block++;
    writer->block_size = 0;
    snprintf(writer->label, sizeof writer->label, "%s", label);
    text_putf(&writer->body, "%s:\n", label);
}

void llvm_writer_next_block(LlvmWriter *writer)
{
    char label[LLVM_NAME_SIZE];
    snprintf(label, sizeof label, "b%u", writer->block + 1);
    text_putf(&writer->body, "  br label %%%s\n", label);
    llvm_writer_block(writer, label);
}

void llvm_writer_bits(LlvmWriter *writer, const char *mask, const char *name)
{
    unsigned width = writer->shape.width;
    if (width == 64) {
        text_putf(&writer->body, "  %%%s.b = bitcast <64 x i1> %s to i64\n", name,
                  mask);
    } else {
        text_putf(&writer->body,
                  "  %%%s.n = bitcast <%u x i1> %s to i%u\n"
                  "  %%%s.b = zext i%u %%%s.n to i64\n",
                  name, width, mask, width, name, width, name);
    }
}

void llvm_writer_branch(LlvmWriter *writer, const char *name, const char *yes,
                        const char *no)
{
    unsigned width = writer->shape.width;
    text_putf(&writer->body,
              "  %%%s.i = bitcast <%u x i1> %%%s to i%u\n"
              "  %%%s.any = icmp ne i%u %%%s.i, 0\n"
              "  br i1 %%%s.any, label %%%s, label %%%s\n",
              name, width, name, width, name, width, name, name, yes, no);
}

void llvm_writer_store(LlvmWriter *writer, VarType type, const char *value,
                       const char *address, uint32_t align, const char *name)
{
    unsigned width = writer->shape.width;
    const char *memory = llvm_writer_memory_type(type);
    if (type == VarTypeBool) {
        text_putf(&writer->body,
                  "  %%%s.z = zext <%u x i1> %s to <%u x i8>\n"
                  "  store <%u x i8> %%%s.z, ptr %s, align %u\n",
                  name, width, value, width, width, name, address, align);
    } else {
        text_putf(&writer->body, "  store <%u x %s> %s, ptr %s, align %u\n", width,
                  memory, value, address, align);
    }
}

void llvm_writer_load(LlvmWriter *writer, VarType type, const char *address,
                      uint32_t align, const char *name)
{
    unsigned width = writer->shape.width;
    const char *memory = llvm_writer_memory_type(type);
    if (type == VarTypeBool) {
        text_putf(&writer->body,
                  "  %%%s.l = load <%u x i8>, ptr %s, align %u\n"
                  "  %%%s = icmp ne <%u x i8> %%%s.l, zeroinitializer\n",
                  name, width, address, align, name, width, name);
    } else {
        text_putf(&writer->body, "  %%%s = load <%u x %s>, ptr %s, align %u\n", name,
                  width, memory, address, align);
    }
}
