/*
 * sim_operand.c -- operands of instructions
 */
#include "sim_parse.h"

#include "sim_exec.h"
#include "sim_half.h"

#include <string.h>

/* ---- special registers: their place in AREA_SPECIAL is in sim_warp.h */

#include "sim_special.h"

static const struct {
    const char *name;
    uint8_t slot, bytes;
} specials[] = {
#define SPECIAL_ROW(id, text, size) { text, SPECIAL_##id, size },
    SPECIAL_REGISTERS(SPECIAL_ROW)
#undef SPECIAL_ROW
};

static bool find_special(Parser *p, Ref *ref)
{
    for (uint32_t i = 0; i < sizeof(specials) / sizeof(*specials); i++) {
        if (lex_is(&p->token, specials[i].name)) {
            *ref = (Ref){ .area = AREA_SPECIAL,
                          .bytes = specials[i].bytes,
                          .at = specials[i].slot * SPECIAL_BYTES };
            if (specials[i].slot >= SPECIAL_CLOCK)
                p->reads_clock = true;
            return true;
        }
    }
    return false;
}

/* ---- registers */

static void wrong_operand(Parser *p, const char *expected)
{
    if (p->token.kind == TOKEN_END)
        parse_fail(p, p->token.line, "%s expected, found the end", expected);
    else
        parse_fail(p, p->token.line, "%s expected, found '%.*s'", expected,
                   p->token.size > 80 ? 80 : (int) p->token.size, p->token.text);
}

/* Bits are anything; a float is not an integer. */
static void check_class(Parser *p, PtxType have, PtxType want)
{
    bool a = sim_types[have].class == CLASS_FLOAT,
         b = sim_types[want].class == CLASS_FLOAT;
    if (a != b && sim_types[have].class > CLASS_BITS &&
        sim_types[want].class > CLASS_BITS)
        parse_fail(p, p->token.line, "%.*s is a .%s, found where .%s is expected",
                   p->token.size > 80 ? 80 : (int) p->token.size, p->token.text,
                   sim_types[have].name, sim_types[want].name);
}

static void check_width(Parser *p, const Ref *ref, PtxType type, bool wider)
{
    uint8_t want = sim_types[type].register_bytes;
    if (ref->bytes != want && !(wider && want && ref->bytes > want))
        parse_fail(p, p->token.line, "%.*s has %u bits, .%s needs %u",
                   p->token.size > 80 ? 80 : (int) p->token.size, p->token.text,
                   ref->bytes ? ref->bytes * 8u : 1u, sim_types[type].name,
                   want ? want * 8u : 1u);
}

Ref operand_dest(Parser *p, PtxType type, bool wider)
{
    Ref ref = { .bytes = sim_types[type].register_bytes };
    if (lex_is(&p->token, "_")) {
        ref = scope_sink(p, ref.bytes);
    } else {
        Symbol *s = p->token.kind == TOKEN_NAME
                        ? scope_find(p, p->token.text, p->token.size)
                        : NULL;
        if (!s || s->kind != SYMBOL_REGISTER) {
            wrong_operand(p, "a register");
            return ref;
        }
        ref = s->ref;
        check_class(p, s->type, type);
        check_width(p, &ref, type, wider);
    }
    parse_next(p);
    return ref;
}

/* ---- constants */

static int64_t signed_number(Parser *p)
{
    bool negative = false, inverted = false;
    while (parse_sign(p, '-') || parse_sign(p, '~') || parse_sign(p, '+')) {
        negative ^= p->token.sign == '-';
        inverted ^= p->token.sign == '~';
        parse_next(p);
    }
    uint64_t value = p->token.value;
    if (lex_is(&p->token, "WARP_SZ"))
        value = SIM_WARP;
    else if (p->token.kind != TOKEN_INT)
        wrong_operand(p, "an integer");
    parse_next(p);
    value = inverted ? ~value : value;
    return (int64_t) (negative ? -value : value);
}

int64_t operand_constant(Parser *p)
{
    uint64_t value = (uint64_t) signed_number(p);
    while (!p->failed && (parse_sign(p, '+') || parse_sign(p, '-')))
        value += (uint64_t) signed_number(p);
    return (int64_t) value;
}

/* The bits of a float constant as a type has them. */
static uint64_t float_bits(Parser *p, const Token *t, PtxType type)
{
    double value;
    float narrow;
    uint32_t bits = (uint32_t) t->value;
    if (sim_types[type].class != CLASS_FLOAT) {
        /* Where the type is untyped it is the bits. */
        if (t->kind == TOKEN_REAL || sim_types[type].class != CLASS_BITS)
            parse_fail(p, t->line, "an integer expected");
        return t->value;
    }
    if (t->kind == TOKEN_F32) {
        memcpy(&narrow, &bits, sizeof(narrow));
        if (type == PTX_F32)
            return bits;
        value = narrow;
    } else {
        memcpy(&value, &t->value, sizeof(value));
    }
    if (type == PTX_F16 || type == PTX_F16X2)
        return half_from(value, ROUND_NEAREST);
    if (type == PTX_F64) {
        uint64_t wide;
        memcpy(&wide, &value, sizeof(wide));
        return wide;
    }
    narrow = (float) value;
    memcpy(&bits, &narrow, sizeof(bits));
    return bits;
}

static Ref immediate(Parser *p, PtxType type)
{
    uint8_t bytes = sim_types[type].register_bytes;
    const Lexer at = p->lexer;
    const Token begin = p->token;
    bool negative = parse_accept(p, '-');
    if (p->token.kind >= TOKEN_F32 && p->token.kind <= TOKEN_REAL) {
        Token t = p->token;
        uint64_t value = float_bits(p, &t, type);
        if (negative)
            value ^= UINT64_C(1) << (sim_types[type].bits - 1);
        parse_next(p);
        return scope_const(p, value, bytes);
    }
    if (!p->failed) {
        p->lexer = at;
        p->token = begin;
    }
    if (sim_types[type].class == CLASS_FLOAT && type != PTX_F16X2)
        wrong_operand(p, "a float");
    int64_t value = operand_constant(p);
    return scope_const(p, bytes ? (uint64_t) value : value != 0, bytes);
}

/* ---- symbols */

bool operand_symbol(Parser *p, const Symbol *s, bool generic, uint64_t *value,
                    bool *frame)
{
    (void) p;
    if (s->kind == SYMBOL_FUNCTION) {
        *value = WINDOW_CODE + s->function->index * UINT64_C(16);
        return true;
    }
    if (s->kind != SYMBOL_VARIABLE)
        return false;
    *value = s->address;
    *frame = s->space == SPACE_LOCAL;
    if (generic && s->space == SPACE_SHARED)
        *value += WINDOW_SHARED;
    else if (generic && s->space == SPACE_LOCAL)
        *value += WINDOW_LOCAL;
    else if (generic && s->space == SPACE_PARAM)
        *value += WINDOW_PARAM;
    return true;
}

Ref operand_source(Parser *p, PtxType type, bool wider)
{
    Ref ref = { .bytes = sim_types[type].register_bytes };
    if (type == PTX_PRED && parse_accept(p, '!')) {
        if (parse_sign(p, '!'))
            wrong_operand(p, "a predicate");
        ref = operand_source(p, type, wider);
        ref.flipped = !ref.flipped;
        return ref;
    }
    if (p->token.kind != TOKEN_NAME || lex_is(&p->token, "WARP_SZ")) {
        if (p->token.kind == TOKEN_END || parse_sign(p, '{') || parse_sign(p, '[')) {
            wrong_operand(p, "an operand");
            return ref;
        }
        return immediate(p, type);
    }
    Symbol *s = scope_find(p, p->token.text, p->token.size);
    if (s && s->kind == SYMBOL_REGISTER) {
        ref = s->ref;
        check_class(p, s->type, type);
        check_width(p, &ref, type, wider);
    } else if (!s && p->special && find_special(p, &ref)) {
        check_width(p, &ref, type, wider || ref.bytes == 8);
    } else {
        wrong_operand(p, "a register or a constant");
        return ref;
    }
    parse_next(p);
    return ref;
}

/* ---- addresses and vectors */

static void address_symbol(Parser *p, Insn *i, const Symbol *s)
{
    uint64_t value = 0;
    bool frame = false;
    if (!operand_symbol(p, s, i->space == SPACE_GENERIC, &value, &frame)) {
        wrong_operand(p, "an address");
        return;
    }
    if (i->space == SPACE_PARAM)
        i->space = s->space;
    i->offset = (int64_t) value;
    i->flags |= FLAG_UNIFORM | (frame ? FLAG_FRAME : 0);
    i->s[0] = scope_const(p, 0, 8);
    parse_next(p);
}

/* name[index]: an entry of a variable, as nvcc does not write it. */
static void address_entry(Parser *p, Insn *i)
{
    const Symbol *s = scope_find(p, p->token.text, p->token.size);
    if (!s || s->kind != SYMBOL_VARIABLE || s->space != i->space) {
        wrong_operand(p, "'[' or a variable of the space");
        return;
    }
    const uint8_t scale = sim_types[s->type].bytes;
    address_symbol(p, i, s);
    parse_expect(p, '[');
    if (p->token.kind == TOKEN_NAME) {
        i->s[0] = operand_source(p, PTX_U32, true);
        i->flags &= (uint16_t) ~FLAG_UNIFORM;
        i->scale = scale;
    } else {
        i->offset += operand_constant(p) * scale;
    }
    parse_expect(p, ']');
}

void operand_address(Parser *p, Insn *i)
{
    bool entry = i->exec == access_ld || i->exec == access_st;
    if (entry && p->token.kind == TOKEN_NAME) {
        address_entry(p, i);
        return;
    }
    if (!parse_expect(p, '['))
        return;
    Symbol *s = p->token.kind == TOKEN_NAME
                    ? scope_find(p, p->token.text, p->token.size)
                    : NULL;
    if (s && s->kind == SYMBOL_REGISTER) {
        i->s[0] = s->ref;
        if (s->ref.bytes < 4)
            wrong_operand(p, "an address of 32 or 64 bits");
        parse_next(p);
    } else if (s) {
        address_symbol(p, i, s);
    } else {
        if (i->space != SPACE_LOCAL && i->space != SPACE_SHARED)
            wrong_operand(p, "a register or a variable");
        i->s[0] = scope_const(p, 0, 8);
        i->flags |= FLAG_UNIFORM;
        i->offset = operand_constant(p);
    }
    if (i->space == SPACE_PARAM && p->function && !p->function->entry)
        i->space = SPACE_LOCAL;
    while (parse_sign(p, '+') || parse_sign(p, '-')) {
        parse_accept(p, '+');
        i->offset = (int64_t) ((uint64_t) i->offset + (uint64_t) signed_number(p));
    }
    parse_expect(p, ']');
}

void operand_vector(Parser *p, Insn *i, PtxType type, uint32_t count, bool written)
{
    Ref *list = sim_module_get(p->module, count * sizeof(Ref));
    bool braces = parse_accept(p, '{');
    if (count > 1 && !braces) {
        wrong_operand(p, "a vector in braces");
        return;
    }
    for (uint32_t k = 0; k < count && !p->failed; k++) {
        if (k)
            parse_expect(p, ',');
        list[k] = written ? operand_dest(p, type, true) : operand_source(p, type, true);
    }
    if (braces)
        parse_expect(p, '}');
    i->vector = list;
    i->count = (uint8_t) count;
}
