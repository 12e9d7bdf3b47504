/*
 * ptx_stmt.c -- statements: PTX that the user of the library wrote
 *
 * The text has escapes for registers, types and constants (jit_var_stmt() in jit.h),
 * and stands in a block of its own, so that it may declare registers and labels.
 * Authors of statements expect integers of 8 and 16 bits in registers of 16, which this
 * engine keeps in 32.
 */
#include <string.h>

#include "base/error.h"
#include "engine/ptx/ptx_writer.h"

enum { OPERANDS_MOST = 9 };

/* A statement that is being written. */
typedef struct Stmt {
    PtxWriter *writer;
    const Program *program;
    const Inst *inst;
    const uint32_t *args;
    uint32_t position;
    PtxArg registers[OPERANDS_MOST + 1]; /* 0: of the result */
} Stmt;

/* Type of operand k, 0 being the result. */
static VarType type_of(const Stmt *s, uint32_t k)
{
    return (VarType) (k == 0 ? s->inst->type : s->program->insts[s->args[k - 1]].type);
}

static void write_type(Text *out, VarType type, char kind)
{
    static const char *const narrow[VarTypeCount] = { [VarTypeInt8] = "s8",
                                                      [VarTypeUInt8] = "u8",
                                                      [VarTypeInt16] = "s16",
                                                      [VarTypeUInt16] = "u16" };
    const bool is_mask = type == VarTypeBool;
    if (kind == 'a')
        text_put(out, is_mask                  ? "u8"
                      : ptx_is_narrow(type)    ? narrow[type]
                      : type == VarTypeFloat16 ? "b16"
                                               : ptx_types[type].name);
    else if (kind == 't' || is_mask)
        text_put(out, ptx_is_narrow(type) ? narrow[type] : ptx_types[type].name);
    else
        text_putf(out, "b%u", type_info[type].size * 8u);
}

static void write_escape(const Stmt *s, char kind, uint32_t k)
{
    Text *out = &s->writer->text.body;
    const VarType type = type_of(s, k);
    uint64_t bits = 0;
    switch (kind) {
    case 'r':
        ptx_text_name(out, s->registers[k]);
        break;
    case 's':
        text_put_u64(out, type_info[type].size);
        break;
    case 'i':
        text_put_u64(out, k == 0 ? s->position : s->args[k - 1]);
        break;
    case 'o':
        if (k > 0)
            (void) ptx_writer_literal(s->writer, s->args[k - 1], &bits);
        text_put_u64(out, bits);
        break;
    default:
        write_type(out, type, kind);
        break;
    }
}

static bool refuse(const Stmt *s, const char *text, const char *at, const char *what)
{
    return error_set(JIT_ERROR_COMPILE,
                     "statement \"%.200s\": %s at \"$%.2s\" "
                     "(%u operands)",
                     text, what, at, s->inst->count);
}

/* The text between the braces. */
static bool write_text(const Stmt *s, const char *text)
{
    Text *out = &s->writer->text.body;
    for (const char *p = text; *p; p++) {
        if (*p != '$') {
            text_put_char(out, *p);
            continue;
        }
        const char kind = *++p;
        if (kind == 'n')
            text_put(out, "\n\t");
        else if (kind == '$')
            text_put_char(out, '$');
        else if (kind == 'T' || kind == 'w')
            return refuse(s, text, p,
                          "vectors are of statements in LLVM IR, not in PTX,");
        else if (kind && strchr("rtbasio", kind) && p[1] >= '0' && p[1] <= '9' &&
                 (uint32_t) (p[1] - '0') <= s->inst->count)
            write_escape(s, kind, (uint32_t) (*++p - '0'));
        else
            return refuse(s, text, kind ? p : "", "unknown escape or operand");
    }
    return true;
}

/* Does it need a semicolon at its end? */
static bool is_open(const char *text)
{
    size_t size = strlen(text);
    while (size && strchr(" \t\n", text[size - 1]))
        --size;
    return size && !strchr(";}:", text[size - 1]);
}

bool ptx_stmt_write(PtxWriter *writer, uint32_t position)
{
    PtxText *text = &writer->text;
    Stmt s = { .writer = writer,
               .program = writer->frame->program,
               .position = position };
    s.inst = &s.program->insts[position];
    s.args = program_args(s.program, s.inst);
    const char *source = s.program->stmts[s.inst->aux];
    for (uint32_t k = 1; k <= s.inst->count && k <= OPERANDS_MOST; ++k) {
        s.registers[k] = ptx_writer_value(writer, s.args[k - 1]);
        if (ptx_is_narrow(type_of(&s, k))) {
            PtxArg half = ptx_text_new(text, PTX_B16);
            ptx_text_put(text, type_of(&s, k), "cvt.u16.u32 $0, $1", half,
                         s.registers[k]);
            s.registers[k] = half;
        }
    }
    PtxArg result = ptx_writer_result(writer, position);
    const bool narrow = ptx_is_narrow(type_of(&s, 0));
    s.registers[0] = narrow ? ptx_text_new(text, PTX_B16) : result;
    text_put(&text->body, "\t{ ");
    TRY(write_text(&s, source), false);
    text_put(&text->body, is_open(source) ? "; }\n" : " }\n");
    if (narrow)
        ptx_convert_extend(writer, type_of(&s, 0), result, s.registers[0]);
    return true;
}
