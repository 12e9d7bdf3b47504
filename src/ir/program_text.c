/*
 * program_text.c -- Programs as text
 *
 *     %4:f32 = add %2, %3
 *
 * One instruction a line; uniform results are marked with '!'. Parameters come first,
 * then the instructions, bodies of regions indented, then the callables. Behind a '#'
 * is the line of the traced program, where it is known.
 */
#include <string.h>

#include "ir/program.h"

static const char *const param_name[] = { "input", "output", "pointer", "value",
                                          "print", "report" };
static const char *const region_name[] = { "loop", "if", "call" };
static const char *const reduce_name[] = { "write", "add", "mul", "min",
                                           "max",   "and", "or",  "dot",
                                           "compress", "prefix", "squares" };
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
    switch ((AuxKind) op_info[inst->op].aux) {
    case AUX_NONE:
        break;
    case AUX_LITERAL:
        put_literal(p, inst, out);
        break;
    case AUX_PARAM:
        text_putf(out, " @%u", inst->aux);
        break;
    case AUX_REDUCTION:
        text_putf(out, ".%s.%s", reduce_name[inst->aux & 0xff],
                  mode_name[inst->aux >> 8]);
        break;
    case AUX_PACKET:
    case AUX_ITEM:
    case AUX_CHECK:
    case AUX_PRINT:
    case AUX_WHICH:
    case AUX_ENTRIES:
        text_putf(out, ".%u", inst->aux);
        break;
    case AUX_MATVEC:
        text_putf(out, ".%u%s", inst->aux & MATVEC_RESULTS,
                  inst->aux & MATVEC_TRANSPOSED ? ".transposed" : "");
        break;
    case AUX_OUTER:
        text_putf(out, ".%s.%u", mode_name[inst->aux >> 8 & 0xff],
                  inst->aux >> OUTER_ROWS);
        break;
    case AUX_REGION:
        if (inst->op == OP_REGION)
            text_putf(out, " %s", region_name[p->regions[inst->aux].kind]);
        text_putf(out, " #%u", inst->aux);
        break;
    case AUX_STMT:
        text_putf(out, " \"%s\"", p->stmts[inst->aux]);
        break;
    }
}

/* The callables that a call can reach: number 1 is the first. */
static void put_targets(const Program *p, const Region *region, Text *out)
{
    text_put(out, " -> ");
    for (uint32_t i = 0; i < region->target_count; ++i)
        text_putf(out, "%s$%u", i ? ", " : "", p->extra[region->targets + i]);
}

static void put_inst(const Program *p, uint32_t at, uint32_t depth, Text *out)
{
    const Inst *inst = &p->insts[at];
    for (uint32_t i = 0; i <= depth; ++i)
        text_put(out, "    ");
    if (inst->type != VarTypeVoid)
        text_putf(out, "%%%u:%s%s = ", at, type_info[inst->type].short_name,
                  inst->flags & INST_UNIFORM ? "!" : "");
    text_put(out, op_info[inst->op].name);
    put_aux(p, inst, out);
    const uint32_t *args = program_args(p, inst);
    bool after_aux = inst->op == OP_STORE || inst->op == OP_STMT;
    for (uint32_t k = 0; k < inst->count; ++k)
        text_putf(out, "%s%%%u", k || after_aux ? ", " : " ", args[k]);
    if (inst->op == OP_REGION && p->regions[inst->aux].kind == REGION_CALL)
        put_targets(p, &p->regions[inst->aux], out);
    const SourceLine *source = program_source(p, at);
    if (source)
        text_putf(out, "    # %s:%u", source->file, source->line);
    text_put_char(out, '\n');
}

void program_write_inst(const Program *p, uint32_t at, Text *out)
{
    put_inst(p, at, 0, out);
}

static void put_insts(const Program *p, Text *out)
{
    uint32_t depth = 0;
    for (uint32_t at = 0; at < p->inst_count; ++at) {
        const Inst *inst = &p->insts[at];
        bool mark = op_info[inst->op].group == GROUP_MARK;
        bool begins = mark && inst->op != OP_END, ends = mark && inst->op != OP_REGION;
        if (mark && p->regions[inst->aux].kind == REGION_CALL) {
            if (ends)
                continue; /* a call is one line */
            begins = false;
        }
        depth -= ends;
        put_inst(p, at, depth, out);
        depth += begins;
    }
}

void program_write(const Program *p, Text *out)
{
    for (uint32_t i = 0; i < p->param_count; ++i) {
        const Param *param = &p->params[i];
        text_putf(out, "@%u: %s %s%s", i, param_name[param->kind],
                  type_info[param->type].short_name, param->written ? " written" : "");
        if (param->reduced)
            text_putf(out, " reduced by %s", reduce_name[param->reduced]);
        text_put_char(out, '\n');
    }
    put_insts(p, out);
    for (uint32_t i = 0; i < p->callable_count; ++i) {
        text_putf(out, "$%u:\n", i);
        put_insts(p->callables[i], out);
    }
}
