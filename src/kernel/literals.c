/*
 * literals.c -- turning literals into parameters after a near miss
 *
 * Positions of literals stay what they are: a literal that has become a parameter keeps
 * its place in literals[], as 0, so that the generalised Program does not depend on the
 * value and the other LITERAL instructions need no change.
 */
#include "kernel/literals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* Index of 'value' in the ascending list, or 'count'. */
static uint32_t find(const uint32_t *list, uint32_t count, uint32_t value)
{
    uint32_t begin = 0, end = count;
    while (begin < end) {
        uint32_t middle = begin + (end - begin) / 2;
        if (list[middle] < value)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin < count && list[begin] == value ? begin : count;
}

/* Types of the literals at these positions. */
static void list_types(const Program *program, const uint32_t *positions,
                       uint32_t count, uint8_t *types)
{
    memset(types, VarTypeVoid, count);
    for (uint32_t i = 0; i < program->inst_count; ++i) {
        const Inst *inst = &program->insts[i];
        uint32_t k = inst->op == OP_LITERAL ? find(positions, count, inst->aux) : count;
        if (k < count)
            types[k] = inst->type;
    }
}

static bool append_params(Program *program, const uint8_t *types, uint32_t count,
                          uint32_t *first_value)
{
    bool report = program->param_count &&
                  program->params[program->param_count - 1].kind == PARAM_REPORT;
    program->param_count -= report;
    *first_value = program->param_count;
    for (uint32_t k = 0; k < count; ++k)
        TRY(program_add_param(program, PARAM_VALUE, (VarType) types[k]) != PROGRAM_NONE,
            false);
    return !report ||
           program_add_param(program, PARAM_REPORT, VarTypeVoid) != PROGRAM_NONE;
}

Program *literals_generalise(const Program *program, const uint32_t *positions,
                             uint32_t count, uint32_t *first_value)
{
    uint8_t *types = alloc_get(count);
    TRY(types, NULL);
    list_types(program, positions, count, types);
    Program *result = program_copy(program);
    if (!result || !append_params(result, types, count, first_value)) {
        alloc_free(types);
        program_free(result);
        return NULL;
    }
    alloc_free(types);
    for (uint32_t i = 0; i < result->inst_count; ++i) {
        Inst *inst = &result->insts[i];
        uint32_t k = inst->op == OP_LITERAL ? find(positions, count, inst->aux) : count;
        if (k < count) {
            inst->op = OP_PARAM;
            inst->aux = *first_value + k;
        }
    }
    for (uint32_t k = 0; k < count; ++k)
        result->literals[positions[k]] = 0;
    return result;
}

uint32_t *literals_differences(const Program *a, const Program *b,
                               const uint32_t *known, uint32_t known_count,
                               uint32_t *count)
{
    uint32_t *list = alloc_get(a->literal_count * sizeof(uint32_t));
    TRY(list, NULL);
    uint32_t n = 0, k = 0;
    for (uint32_t i = 0; i < a->literal_count; ++i) {
        bool is_known = k < known_count && known[k] == i;
        k += is_known;
        if (is_known || a->literals[i] != b->literals[i])
            list[n++] = i;
    }
    *count = n;
    return list;
}

bool literals_agree(const Program *a, const Program *b, const uint32_t *except,
                    uint32_t count)
{
    uint32_t begin = 0;
    for (uint32_t k = 0; k <= count; ++k) {
        uint32_t end = k < count ? except[k] : a->literal_count;
        if (end > begin && memcmp(a->literals + begin, b->literals + begin,
                                  (end - begin) * sizeof(uint64_t)) != 0)
            return false;
        begin = end + 1;
    }
    return true;
}

VarType literals_type(const Program *program, uint32_t position)
{
    for (uint32_t i = 0; i < program->inst_count; ++i)
        if (program->insts[i].op == OP_LITERAL && program->insts[i].aux == position)
            return (VarType) program->insts[i].type;
    return VarTypeVoid;
}

static double half_value(uint64_t bits)
{
    int exponent = (int) (bits >> 10 & 31);
    double fraction = (double) (bits & 1023);
    double value = exponent == 31 ? (fraction != 0 ? NAN : INFINITY)
                   : exponent     ? ldexp(fraction + 1024, exponent - 25)
                                  : ldexp(fraction, -24);
    return bits >> 15 & 1 ? -value : value;
}

/* The shortest decimal number that reads back as the same value. */
static void write_single(Text *out, uint32_t bits)
{
    float value;
    char text[32];
    memcpy(&value, &bits, sizeof(value));
    for (int digits = 6; digits <= 9; ++digits) {
        snprintf(text, sizeof(text), "%.*g", digits, (double) value);
        if (strtof(text, NULL) == value)
            break;
    }
    text_put(out, text);
}

static void write_double(Text *out, uint64_t bits)
{
    double value;
    char text[32];
    memcpy(&value, &bits, sizeof(value));
    for (int digits = 15; digits <= 17; ++digits) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    text_put(out, text);
}

void literals_write(Text *out, VarType type, uint64_t bits)
{
    switch (type) {
    case VarTypeBool:
        text_put(out, bits & 1 ? "true" : "false");
        break;
    case VarTypeInt8:
        text_put_i64(out, (int8_t) bits);
        break;
    case VarTypeInt16:
        text_put_i64(out, (int16_t) bits);
        break;
    case VarTypeInt32:
        text_put_i64(out, (int32_t) bits);
        break;
    case VarTypeInt64:
        text_put_i64(out, (int64_t) bits);
        break;
    case VarTypeFloat16:
        text_putf(out, "%.5g", half_value(bits));
        break;
    case VarTypeFloat32:
        write_single(out, (uint32_t) bits);
        break;
    case VarTypeFloat64:
        write_double(out, bits);
        break;
    case VarTypePointer:
        text_put(out, "0x");
        text_put_hex64(out, bits);
        break;
    default:
        text_put_u64(out, bits);
        break;
    }
}
