/*
 * text.c -- Programs as text
 *
 *     %4:f32 = add %2, %3
 *
 * One instruction a line; uniform results are marked with '!'. Parameters come first.
 */
#include <string.h>

#include "ir/program.h"

static const char *const param_name[] = { "input", "output", "pointer", "value",
                                          "report" };
static const char *const reduce_name[] = { "write", "add", "mul", "min",
                                           "max",   "and", "or" };
static const char *const mode_name[] = { "auto",         "direct", "local",
                                         "no_conflicts", "expand", "permute" };

static void put_literal(const Program *p, const Inst *inst, Text *out)
{
    uint64_t bits = p->literals[inst->aux];
    float f32;
    double f64;
    switch (inst->type) {
    case VarTypeFloat32:
        memcpy(&f32, &bits, sizeof f32);
        text_putf(out, " %.9g", (double) f32);
        break;
    case VarTypeFloat64:
        memcpy(&f64, &bits, sizeof f64);
        text_putf(out, " %.17g", f64);
        break;
    case VarTypeInt8:
        text_putf(out, " %d", (int8_t) bits);
        break;
    case VarTypeInt16:
        text_putf(out, " %d", (int16_t) bits);
        break;
    case VarTypeInt32:
        text_putf(out, " %d", (int32_t) bits);
        break;
    case VarTypeInt64:
        text_putf(out, " %lld", (long long) bits);
        break;
    case VarTypeFloat16:
        text_putf(out, " 0x%04x", (unsigned) bits);
        break;
    default:
        text_putf(out, " %llu", (unsigned long long) bits);
        break;
    }
}

static void put_aux(const Program *p, const Inst *inst, Text *out)
{
    switch (inst->op)
{
    case OP_LITERAL:
        put_literal(p, inst, out);
        break;
    case OP_LOAD:
    case OP_PARAM:
    case OP_STORE:
        text_putf(out, " @%u", inst->aux);
        break;
    case OP_SCATTER:
    case OP_SCATTER_PACKET:
        text_putf(out, ".%s.%s", reduce_name[inst->aux & 0xff],
                  mode_name[inst->aux >> 8]);
        break;
    case OP_GATHER_PACKET:
    case OP_PACKET_ITEM:
    case OP_CHECK:
        text_putf(out, ".%u", inst->aux);
        break;
    case OP_STMT:
        text_putf(out, " \"%s\"", p->stmts[inst->aux]);
        break;
    default:
        break;
    }
}

void program_write(const Program *p, Text *out)
{
    for (uint32_t i = 0; i < p->param_count; ++i)
        text_putf(out, "@%u: %s %s%s\n", i, param_name[p->params[i].kind],
                  type_info[p->params[i].type].short_name,
                  p->params[i].written ? " written" : "");
    for (uint32_t at = 0; at < p->inst_count; ++at) {
        const Inst *inst = &p->insts[at];
        if (inst->type == VarTypeVoid)
            text_put(out, "    ");
        else
            text_putf(out, "    %%%u:%s%s = ", at, type_info[inst->type].short_name,
                      inst->flags & INST_UNIFORM ? "!" : "");
        text_put(out, op_info[inst->op].name);
        put_aux(p, inst, out);
        const uint32_t *args = program_args(p, inst);
        bool after_aux = inst->op == OP_STORE || inst->op == OP_STMT;
        for (uint32_t k = 0; k < inst->count; ++k)
            text_putf(out, "%s%%%u", k || after_aux ? ", " : " ", args[k]);
        text_put_char(out, '\n');
    }
}
