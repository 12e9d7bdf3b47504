/*
 * build.c -- emission of legal instructions
 *
 * Rules tend to need the same literals and conversions over and over (one
 * half-precision value that five operations use is widened five times), so pure
 * instructions are remembered in a small direct-mapped table and reused when they are
 * asked for again. A slot that is taken by another instruction costs a duplicate,
 * nothing else. What a body of a region computes is forgotten where it ends; values of
 * the bodies around it stay.
 *
 * A rule that fails within a conditional leaves it open. That harms nobody, as its
 * PROGRAM_NONE ends the whole translation.
 */
#include "lower/build.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "lower/legalise_rules.h"

enum { REMEMBERED_ARGS = 3 };

/* Is this instruction what is wanted? */
static bool same(const Program *out, const Inst *inst, const BuildInst *wanted,
                 uint64_t bits)
{
    if (inst->op != wanted->op || inst->type != wanted->type ||
        inst->count != wanted->count)
        return false;
    if (wanted->op == OP_LITERAL)
        return out->literals[inst->aux] == bits;
    if (inst->aux != wanted->aux)
        return false;
    for (uint32_t i = 0; i < wanted->count; ++i)
        if (inst->arg[i] != wanted->args[i])
            return false;
    return true;
}

/* Slot of the table of recent instructions; 'bits' is the value of a literal. */
static uint32_t *recent_slot(Build *build, const BuildInst *inst, uint64_t bits)
{
    uint64_t key[3 + REMEMBERED_ARGS] = { inst->op, inst->type, inst->aux };
    if (inst->op == OP_LITERAL)
        key[2] = bits;
    for (uint32_t i = 0; i < inst->count; ++i)
        key[3 + i] = inst->args[i];
    return &build->recent[hash_64(key, sizeof key, 0) & (BUILD_RECENT - 1)];
}

/* Append an instruction of the engine, or find it among the recent ones. */
static uint32_t append(Build *build, const BuildInst *inst, uint64_t bits)
{
    bool literal = inst->op == OP_LITERAL;
    uint32_t *slot = NULL;
    if (inst->count <= REMEMBERED_ARGS && op_info[inst->op].flags & F_SHARES) {
        slot = recent_slot(build, inst, bits);
        if (*slot && same(build->out, &build->out->insts[*slot - 1], inst, bits))
            return *slot - 1;
    }
    uint32_t position = literal
        ? program_add_literal(build->out, inst->type, bits)
        : program_add(build->out, inst->op, inst->type, inst->aux, inst->count,
                      inst->args);
    if (slot && position != PROGRAM_NONE)
        *slot = position + 1;
    return position;
}

void build_forget(Build *build, uint32_t first)
{
    for (uint32_t i = 0; i < BUILD_RECENT; ++i)
        if (build->recent[i] > first + 1)
            build->recent[i] = 0;
    for (uint32_t i = 0; i < BUILD_SHARED; ++i)
        for (uint32_t k = 0; k < BUILD_PARTS; ++k)
            if (build->shared[i].part[k] > first)
                build->shared[i].maker = NULL;
}

BuildShared *build_shared(Build *build, const void *maker, uint32_t arg)
{
    uint64_t key[] = { (uintptr_t) maker, arg };
    BuildShared *s = &build->shared[hash_64(key, sizeof key, 0) & (BUILD_SHARED - 1)];
    if (s->maker != maker || s->arg != arg)
        *s = (BuildShared){ .arg = arg };
    return s;
}

VarType build_signed(VarType type)
{
    switch (type) {
    case VarTypeUInt8: return VarTypeInt8;
    case VarTypeUInt16: return VarTypeInt16;
    case VarTypeUInt32: return VarTypeInt32;
    default: return VarTypeInt64;
    }
}

uint32_t build_unsupported(const Build *build, const BuildInst *inst)
{
    error_set(JIT_ERROR_UNSUPPORTED,
              "the %s engine has no operation '%s' with result type %s and operand "
              "type %s, and it cannot be expanded", build->engine->name,
              op_info[inst->op].name,
              type_info[inst->type].name, type_info[inst->operand].name);
    return PROGRAM_NONE;
}

uint32_t build_emit(Build *build, const BuildInst *inst)
{
    for (uint32_t i = 0; i < inst->count; ++i)
        if (inst->args[i] == PROGRAM_NONE)
            return PROGRAM_NONE;
    if (build->engine->supports(inst->op, inst->type, inst->operand))
        return append(build, inst, 0);

    Rule rule = legalise_rules_find(inst);
    if (!rule || build->depth == BUILD_DEPTH)
        return build_unsupported(build, inst);
    ++build->depth;
    uint32_t result = rule(build, inst);
    --build->depth;
    return result;
}

static uint32_t arithmetic(Build *build, Op op, uint32_t count, const uint32_t *args)
{
    VarType operand = build_type(build, args[op_info[op].lead]);
    return build_emit(build, &(BuildInst) { .op = op, .type = op_result(op, operand),
                                            .operand = operand, .count = count,
                                            .args = args });
}

uint32_t build_1(Build *build, Op op, uint32_t a)
{
    return arithmetic(build, op, 1, (uint32_t[]) { a });
}

uint32_t build_2(Build *build, Op op, uint32_t a, uint32_t b)
{
    return arithmetic(build, op, 2, (uint32_t[]) { a, b });
}

uint32_t build_select(Build *build, uint32_t mask, uint32_t a, uint32_t b)
{
    return arithmetic(build, OP_SELECT, 3, (uint32_t[]) { mask, a, b });
}

static uint32_t convert(Build *build, Op op, VarType type, uint32_t a)
{
    VarType from = build_type(build, a);
    if (a == PROGRAM_NONE || from == type)
        return a;
    return build_emit(build,
                      &(BuildInst) { .op = op, .type = type, .operand = from,
                                     .count = 1, .args = (uint32_t[]) { a } });
}

uint32_t build_cast(Build *build, VarType type, uint32_t a)
{
    return convert(build, OP_CAST, type, a);
}

uint32_t build_bitcast(Build *build, VarType type, uint32_t a)
{
    return convert(build, OP_BITCAST, type, a);
}

uint32_t build_if(Build *build, uint32_t condition)
{
    if (condition == PROGRAM_NONE)
        return PROGRAM_NONE;
    if (!build->engine->supports(OP_REGION, VarTypeVoid, VarTypeVoid))
        return build_unsupported(build, &(BuildInst){ .op = OP_REGION });
    uint32_t all = build_bits(build, VarTypeBool, 1);
    return all == PROGRAM_NONE
               ? PROGRAM_NONE
               : program_add_region(build->out, REGION_IF, 2,
                                    (uint32_t[]){ all, condition }, 0, NULL);
}

/* ELSE or END; false if that or an output failed. */
static bool end_side(Build *build, Op mark, uint32_t region, uint32_t count,
                     const uint32_t *outputs)
{
    TRY(region != PROGRAM_NONE, false);
    for (uint32_t k = 0; k < count; ++k)
        TRY(outputs[k] != PROGRAM_NONE, false);
    build_forget(build, build->out->regions[region].begin);
    return program_add(build->out, mark, VarTypeVoid, region, count, outputs) !=
           PROGRAM_NONE;
}

void build_else(Build *build, uint32_t region, uint32_t count, const uint32_t *outputs)
{
    (void) end_side(build, OP_ELSE, region, count, outputs);
}

void build_end(Build *build, uint32_t region, uint32_t count, uint32_t *outputs)
{
    /* Without an ELSE, an output of the first side had failed. */
    bool ok = region != PROGRAM_NONE &&
              build->out->regions[region].middle > build->out->regions[region].begin &&
              end_side(build, OP_END, region, count, outputs);
    for (uint32_t k = 0; k < count; ++k)
        outputs[k] = !ok ? PROGRAM_NONE
                         : program_add(build->out, OP_RESULT,
                                       build_type(build, outputs[k]), k, 0, NULL);
}

uint32_t build_bits(Build *build, VarType type, uint64_t bits)
{
    uint32_t width = build_width(type);
    if (width < 64)
        bits &= (1ull << width) - 1;
    BuildInst inst = { .op = OP_LITERAL, .type = type, .operand = type };
    if (!build->engine->supports(OP_LITERAL, type, type))
        return build_unsupported(build, &inst);
    return append(build, &inst, bits);
}

/* Bits of a number that half precision holds exactly. */
static uint64_t half_bits(double value)
{
    if (value == 0)
        return 0;
    int exponent;
    double mantissa = frexp(fabs(value), &exponent); /* 0.5 ... 1 */
    uint64_t bits = ((uint64_t) (exponent + 14) << 10) +
        ((uint64_t) (mantissa * 2048) & 0x3ff);
    return bits | (value < 0 ? 0x8000 : 0);
}

uint32_t build_number(Build *build, VarType type, double value)
{
    if (type == VarTypeFloat16)
        return build_bits(build, type, half_bits(value));
    if (type == VarTypeFloat32) {
        float single = (float) value;
        uint32_t bits;
        memcpy(&bits, &single, sizeof bits);
        return build_bits(build, type, bits);
    }
    uint64_t bits;
    if (type == VarTypeFloat64)
        memcpy(&bits, &value, sizeof bits);
    else
        bits = (uint64_t) (int64_t) value;
    return build_bits(build, type, bits);
}
