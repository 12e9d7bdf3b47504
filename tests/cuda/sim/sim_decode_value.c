/*
 * sim_decode_value.c -- moves, conversions, comparisons and selections
 */
#include "sim_parse.h"

#include "sim_exec.h"

#include <string.h>

/* The type of a part of a vector operand. */
static PtxType part_type(PtxType type, uint32_t count)
{
    uint32_t bytes = sim_types[type].bytes / count;
    return bytes == 4 ? PTX_B32 : bytes == 2 ? PTX_B16 : bytes == 1 ? PTX_B8 : PTX_NONE;
}

/* How many operands stand between these braces? */
static uint32_t count_parts(const Parser *p)
{
    Lexer ahead = p->lexer;
    uint32_t count = 1;
    for (Token t = p->token; t.kind != TOKEN_END; t = lex_next(&ahead)) {
        if (t.kind == TOKEN_SIGN && t.sign == ',')
            count++;
        if (t.kind == TOKEN_SIGN && (t.sign == '}' || t.sign == ';'))
            break;
    }
    return count;
}

static void mov_vector(Parser *p, Insn *i, PtxType type, bool written)
{
    uint32_t count = count_parts(p);
    PtxType part = count == 2 || count == 4 ? part_type(type, count) : PTX_NONE;
    if (part == PTX_NONE) {
        parse_fail(p, i->line, "a .%s is not %u registers", sim_types[type].name,
                   count);
        return;
    }
    i->from = (uint8_t) part;
    operand_vector(p, i, part, count, written);
}

static void mov_symbol(Parser *p, Insn *i, PtxType type, const Symbol *s)
{
    uint64_t value = 0;
    bool frame = false;
    if (!operand_symbol(p, s, false, &value, &frame) || sim_types[type].bytes < 4) {
        parse_fail(p, i->line,
                   "the address of a variable or function expected, and a "
                   "register of 32 or 64 bits");
        return;
    }
    parse_next(p);
    if (parse_sign(p, '+') || parse_sign(p, '-'))
        value += (uint64_t) operand_constant(p);
    i->s[0] = scope_const(p, value, sim_types[type].register_bytes);
    i->exec = frame ? value_mov_frame : value_mov;
}

void decode_mov(Parser *p, Mnemonic *m, Insn *i)
{
    PtxType type = decode_type(m);
    if (type == PTX_NONE) {
        parse_fail(p, m->line, "mov without a type");
        return;
    }
    i->type = (uint8_t) type;
    i->exec = value_mov;
    p->special = true;
    if (parse_sign(p, '{')) {
        mov_vector(p, i, type, true);
        parse_expect(p, ',');
        i->s[0] = operand_source(p, type, false);
        i->exec = value_unpack;
        return;
    }
    i->d = operand_dest(p, type, false);
    parse_expect(p, ',');
    if (parse_sign(p, '{')) {
        mov_vector(p, i, type, false);
        i->exec = value_pack;
        return;
    }
    Symbol *s = p->token.kind == TOKEN_NAME
                    ? scope_find(p, p->token.text, p->token.size)
                    : NULL;
    if (s && (s->kind == SYMBOL_VARIABLE || s->kind == SYMBOL_FUNCTION))
        mov_symbol(p, i, type, s);
    else
        i->s[0] = operand_source(p, type, false);
}

/* ---- conversions */

static bool is_float(PtxType type)
{
    return sim_types[type].class == CLASS_FLOAT;
}

static void check_rounding(Parser *p, const Mnemonic *m, const Insn *i)
{
    PtxType to = i->type, from = i->from;
    bool narrows =
        is_float(to) && is_float(from) && sim_types[to].bits < sim_types[from].bits;
    if ((narrows || (is_float(to) && !is_float(from))) && i->round == ROUND_NONE)
        parse_fail(p, m->line, "cvt.%s.%s needs .rn, .rz, .rm or .rp",
                   sim_types[to].name, sim_types[from].name);
    if (!is_float(to) && is_float(from) && !i->op)
        parse_fail(p, m->line, "cvt.%s.%s needs .rni, .rzi, .rmi or .rpi",
                   sim_types[to].name, sim_types[from].name);
}

void decode_cvt(Parser *p, Mnemonic *m, Insn *i)
{
    static const char *const rounds[] = { "", "rn", "rz", "rm", "rp", NULL };
    static const char *const integral[] = { "", "rni", "rzi", "rmi", "rpi", NULL };
    int round = decode_one_of(m, rounds), to_integer = decode_one_of(m, integral);
    i->round = (uint8_t) (round < 0 ? 0 : round);
    i->op = (uint8_t) (to_integer < 0 ? 0 : to_integer);
    if (decode_take(m, "ftz") && decode_foreign(p, m, "ftz"))
        i->flags |= FLAG_FTZ;
    if (decode_take(m, "sat"))
        i->flags |= FLAG_SAT;
    PtxType to = decode_type(m), from = decode_type(m);
    bool pair = to == PTX_F16X2 && from == PTX_F32;
    if (to == PTX_NONE || from == PTX_NONE || sim_types[to].class <= CLASS_BITS ||
        sim_types[from].class <= CLASS_BITS || from == PTX_F16X2 ||
        (to == PTX_F16X2 && !pair)) {
        parse_fail(p, m->line, "cvt between these types is not there");
        return;
    }
    i->type = (uint8_t) to;
    i->from = (uint8_t) from;
    check_rounding(p, m, i);
    i->exec = pair ? convert_pair : convert_any;
    p->special = true;
    i->d = operand_dest(p, to, true);
    for (uint32_t k = 0; k < (pair ? 2u : 1u); k++) {
        parse_expect(p, ',');
        i->s[k] = operand_source(p, from, true);
    }
}

/* ---- comparisons */

static const char *const comparisons[] = { "eq",  "ne",  "lt",  "le",  "gt",
                                           "ge",  "equ", "neu", "ltu", "leu",
                                           "gtu", "geu", "num", "nan", NULL };
static const char *const unsigned_comparisons[] = { "lo", "ls", "hi", "hs", NULL };
static const char *const combinations[] = { "", "and", "or", "xor", NULL };

/* The comparison and how it is combined, but not the types. */
static int take_comparison(Parser *p, Mnemonic *m, Insn *i)
{
    int comparison = decode_one_of(m, comparisons);
    if (comparison < 0) {
        int other = decode_one_of(m, unsigned_comparisons);
        if (other >= 0)
            comparison = COMPARE_LT + other;
    }
    if (comparison < 0)
        parse_fail(p, m->line, "%s without a comparison", m->base);
    int combine = decode_one_of(m, combinations);
    i->op = (uint8_t) (combine < 0 ? 0 : combine);
    if (decode_take(m, "ftz") && decode_foreign(p, m, "ftz"))
        i->flags |= FLAG_FTZ;
    return comparison;
}

static void compare_sources(Parser *p, Mnemonic *m, Insn *i, int comparison)
{
    i->compare = i->from < PTX_TYPE_COUNT && comparison >= 0
                     ? value_compare(i->from, (uint32_t) comparison)
                     : NULL;
    if (!i->compare) {
        parse_fail(p, m->line, "%s: there is no such comparison of this type", m->base);
        return;
    }
    for (uint32_t k = 0; k < 2; k++) {
        parse_expect(p, ',');
        i->s[k] = operand_source(p, i->from, false);
    }
    if (!i->op)
        return;
    parse_expect(p, ',');
    i->s[2] = operand_source(p, PTX_PRED, false);
}

void decode_setp(Parser *p, Mnemonic *m, Insn *i)
{
    int comparison = take_comparison(p, m, i);
    i->from = (uint8_t) decode_type(m);
    i->exec = value_setp;
    i->d = operand_dest(p, PTX_PRED, false);
    if (parse_accept(p, '|')) {
        i->e = operand_dest(p, PTX_PRED, false);
        i->flags |= FLAG_SECOND;
    }
    compare_sources(p, m, i, comparison);
}

void decode_set(Parser *p, Mnemonic *m, Insn *i)
{
    int comparison = take_comparison(p, m, i);
    PtxType type = decode_type(m);
    i->from = (uint8_t) decode_type(m);
    if (type != PTX_U32 && type != PTX_S32 && type != PTX_F32) {
        parse_fail(p, m->line, "set gives .u32, .s32 or .f32");
        return;
    }
    i->type = (uint8_t) type;
    i->exec = value_set;
    i->d = operand_dest(p, type, false);
    compare_sources(p, m, i, comparison);
}

void decode_selp(Parser *p, Mnemonic *m, Insn *i)
{
    PtxType type = decode_type(m);
    if (type == PTX_NONE || sim_types[type].bits < 16) {
        parse_fail(p, m->line, "selp without a type of 16 to 64 bits");
        return;
    }
    i->type = (uint8_t) type;
    i->exec = value_selp;
    i->d = operand_dest(p, type, false);
    for (uint32_t k = 0; k < 2; k++) {
        parse_expect(p, ',');
        i->s[k] = operand_source(p, type, false);
    }
    parse_expect(p, ',');
    i->s[2] = operand_source(p, PTX_PRED, false);
}

void decode_testp(Parser *p, Mnemonic *m, Insn *i)
{
    static const char *const kinds[] = { "finite", "infinite",  "number", "notanumber",
                                         "normal", "subnormal", NULL };
    int kind = decode_one_of(m, kinds);
    i->from = (uint8_t) decode_type(m);
    if (kind < 0 || (i->from != PTX_F32 && i->from != PTX_F64)) {
        parse_fail(p, m->line, "testp without a test or a float type");
        return;
    }
    i->op = (uint8_t) kind;
    i->exec = value_testp;
    i->d = operand_dest(p, PTX_PRED, false);
    parse_expect(p, ',');
    i->s[0] = operand_source(p, i->from, false);
}
