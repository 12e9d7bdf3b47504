/*
 * llvm_stmt.c -- statements: LLVM IR that the user of the library wrote
 *
 * The text has escapes for registers, types and constants (jit_var_stmt() in jit.h).
 * Authors of statements expect half precision values as 'half', which are
 * integers elsewhere in this engine.
 */
#include "engine/llvm/llvm_writer.h"

#include <string.h>

#include "base/error.h"

/* Type of operand 'k' of a statement, 0 being the result. */
static VarType stmt_type(const LlvmWriter *writer, const Inst *inst, uint32_t k)
{
    const uint32_t *args = program_args(writer->program, inst);
    return k == 0 ? inst->type : writer->program->insts[args[k - 1]].type;
}

static void write_stmt_escape(LlvmWriter *writer, uint32_t position, char kind,
                              uint32_t k)
{
    const Inst *inst = &writer->program->insts[position];
    const uint32_t *args = program_args(writer->program, inst);
    VarType type = stmt_type(writer, inst, k);
    Text *line = writer->line;
    char name[LLVM_NAME_SIZE];
    switch (kind) {
    case 'r':
        if (k == 0 || type == VarTypeFloat16) {
            text_putf(line, type == VarTypeFloat16 ? "%%v%u.h%u" : "%%v%u", position,
                      k);
        } else {
            llvm_writer_operand(writer, args[k - 1], name);
            text_put(line, name);
        }
        break;
    case 't':
        text_put(line, llvm_writer_number_type(type));
        break;
    case 'T':
        text_putf(line, "<%u x %s>", writer->shape.width,
                  llvm_writer_number_type(type));
        break;
    case 'b':
        text_putf(line, "i%u", type == VarTypeBool ? 1 : type_info[type].size * 8u);
        break;
    case 'a':
        text_put(line, type == VarTypeBool ? "i8" : llvm_writer_number_type(type));
        break;
    case 's':
        text_put_u64(line, type_info[type].size);
        break;
    case 'i':
        text_put_u64(line, k == 0 ? position : args[k - 1]);
        break;
    default: {
        const Inst *source = k == 0 ? inst : &writer->program->insts[args[k - 1]];
        text_put_u64(line, source->op == OP_LITERAL
                               ? writer->program->literals[source->aux]
                               : 0);
    }
    }
}

/* Operands in registers of another type than in this file: half precision. */
static void write_stmt_halves(LlvmWriter *writer, uint32_t position, const Inst *inst)
{
    const uint32_t *args = program_args(writer->program, inst);
    for (uint32_t k = 0; k < inst->count; k++) {
        char name[LLVM_NAME_SIZE];
        llvm_writer_operand(writer, args[k], name);
        if (writer->program->insts[args[k]].type == VarTypeFloat16) {
            unsigned width = writer->shape.width;
            text_putf(writer->line,
                      "  %%v%u.h%u = bitcast <%u x i16> %s to <%u x half>\n", position,
                      k + 1, width, name, width);
        }
    }
}

bool llvm_stmt_write(LlvmWriter *writer, uint32_t position)
{
    const Inst *inst = &writer->program->insts[position];
    const char *text = writer->program->stmts[inst->aux];
    Text *line = writer->line;
    write_stmt_halves(writer, position, inst);
    text_put(line, "  ");
    for (const char *p = text; *p; p++) {
        if (*p != '$') {
            text_put_char(line, *p);
            continue;
        }
        char kind = *++p;
        if (kind == 'n') {
            text_put(line, "\n  ");
        } else if (kind == 'w') {
            text_put_u64(line, writer->shape.width);
        } else if (kind == '$') {
            text_put_char(line, '$');
        } else if (kind && strchr("rtTbasio", kind) && p[1] >= '0' &&
                   (uint32_t) (p[1] - '0') <= inst->count) {
            write_stmt_escape(writer, position, kind, (uint32_t) (*++p - '0'));
        } else {
            return error_set(JIT_ERROR_COMPILE,
                             "statement \"%.200s\": unknown escape or "
                             "operand at \"$%.2s\" (%u operands)",
                             text, kind ? p : "", inst->count);
        }
    }
    text_put_char(line, '\n');
    if (inst->type == VarTypeFloat16) {
        unsigned width = writer->shape.width;
        text_putf(line, "  %%v%u = bitcast <%u x half> %%v%u.h0 to <%u x i16>\n",
                  position, width, position, width);
    }
    return true;
}
