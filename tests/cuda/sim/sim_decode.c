/*
 * sim_decode.c -- an instruction: its guard, opcode and modifiers
 */
#include "sim_parse.h"

#include "sim_alu.h"
#include "sim_exec.h"
#include "sim_float.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORM_KEY = 32, FORM_SLOTS = 2048 };

typedef struct FormSlot {
    char key[FORM_KEY];
    const Form *form;
} FormSlot;

/* ---- the table of forms */

static FormSlot *form_slot(Parser *p, const char *key)
{
    uint32_t h = 2166136261u;
    for (const char *c = key; *c; c++)
        h = (h ^ (uint8_t) *c) * 16777619u;
    uint32_t at = (h ^ h >> 13) & (FORM_SLOTS - 1);
    while (p->forms[at].form && strcmp(p->forms[at].key, key) != 0)
        at = (at + 1) & (FORM_SLOTS - 1);
    return &p->forms[at];
}

static void enter_forms(Parser *p, const Form *forms, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        char key[FORM_KEY];
        snprintf(key, sizeof(key), "%s.%s%s", forms[i].opcode,
                 sim_types[forms[i].type].name, forms[i].suffix);
        FormSlot *slot = form_slot(p, key);
        memcpy(slot->key, key, sizeof(key));
        slot->form = &forms[i];
    }
}

void decode_begin(Parser *p)
{
    p->forms = sim_alloc(FORM_SLOTS * sizeof(FormSlot));
    enter_forms(p, sim_int_forms, sim_int_form_count);
    enter_forms(p, sim_float_forms, sim_float_form_count);
}

void decode_end(Parser *p)
{
    free(p->forms);
}

/* ---- modifiers */

bool decode_take(Mnemonic *m, const char *part)
{
    for (uint32_t k = 0; k < m->count; k++) {
        if (!m->used[k] && !strcmp(m->parts[k], part))
            return m->used[k] = true;
    }
    return false;
}

PtxType decode_type(Mnemonic *m)
{
    for (uint32_t k = 0; k < m->count; k++) {
        for (uint32_t t = 0; !m->used[k] && t < PTX_TYPE_COUNT; t++) {
            if (!strcmp(m->parts[k], sim_types[t].name)) {
                m->used[k] = true;
                return t;
            }
        }
    }
    return PTX_NONE;
}

int decode_one_of(Mnemonic *m, const char *const *names)
{
    for (int k = 0; names[k]; k++) {
        if (decode_take(m, names[k]))
            return k;
    }
    return -1;
}

bool decode_foreign(Parser *p, const Mnemonic *m, const char *part)
{
    if (p->module->dialect == SIM_FOREIGN)
        return true;
    return parse_fail(p, m->line, ".%s is not for our kernels", part);
}

static void take_modifiers(Parser *p, Mnemonic *m, Insn *i)
{
    static const char *const rounds[] = { "", "rn", "rz", "rm", "rp", NULL };
    int round = decode_one_of(m, rounds);
    i->round = (uint8_t) (round < 0 ? ROUND_NONE : round);
    if (decode_take(m, "ftz") && decode_foreign(p, m, "ftz"))
        i->flags |= FLAG_FTZ;
    if (decode_take(m, "approx") || decode_take(m, "full")) {
        decode_foreign(p, m, "approx");
        i->round = ROUND_NEAREST;
    }
}

/* ---- arithmetic */

static void append_parts(Mnemonic *m, bool types, char key[PARSE_MNEMONIC + 8])
{
    for (uint32_t k = 0; k < m->count; k++) {
        char dotted[PARSE_MNEMONIC + 8];
        snprintf(dotted, sizeof(dotted), ".%s", m->parts[k]);
        bool is_type = parse_type(dotted, (uint32_t) strlen(dotted)) != PTX_NONE;
        if (!m->used[k] && is_type == types) {
            strcat(key, dotted);
            m->used[k] = true;
        }
    }
}

/* Opcode, modifiers, types: "mul.wide.s32"; prmt has its mode behind the type. */
static void form_key(Mnemonic *m, char key[PARSE_MNEMONIC + 8])
{
    strcpy(key, m->base);
    append_parts(m, false, key);
    append_parts(m, true, key);
}

static bool rounds(const char *base)
{
    static const char *const names[] = { "add", "sub", "mul", "fma",
                                         "mad", "div", "rcp", "sqrt" };
    for (uint32_t k = 0; k < sizeof(names) / sizeof(*names); k++) {
        if (!strcmp(names[k], base))
            return true;
    }
    return false;
}

static void decode_form(Parser *p, Mnemonic *m, Insn *i, const Form *form)
{
    i->type = form->dest;
    i->exec = form->exec;
    i->d = operand_dest(p, form->dest, false);
    for (uint32_t k = 0; k < form->sources; k++) {
        parse_expect(p, ',');
        i->s[k] = operand_source(p, form->source[k], false);
    }
    bool is_float = sim_types[form->type].class == CLASS_FLOAT;
    if (is_float && i->round == ROUND_NONE && rounds(m->base) &&
        p->module->dialect == SIM_STRICT)
        parse_fail(p, m->line, "%s of floats needs a rounding", m->base);
    if (i->flags & (FLAG_FTZ | FLAG_SAT) || i->round > ROUND_NEAREST) {
        i->inner = i->exec;
        i->exec = sim_float_modified;
    }
}

static void find_form(Parser *p, Mnemonic *m, Insn *i)
{
    char key[PARSE_MNEMONIC + 8];
    bool has_sat = false;
    for (uint32_t k = 0; k < m->count; k++)
        has_sat |= !strcmp(m->parts[k], "sat");
    take_modifiers(p, m, i);
    if (has_sat && strcmp(m->parts[m->count - 1], "s32") != 0 && decode_take(m, "sat"))
        i->flags |= FLAG_SAT;
    form_key(m, key);
    const Form *form = strlen(key) < FORM_KEY ? form_slot(p, key)->form : NULL;
    if (form)
        decode_form(p, m, i, form);
    else
        parse_fail(p, m->line, "there is no instruction %s", key);
}

/* and.pred and its kin. */
static bool decode_predicates(Parser *p, Mnemonic *m, Insn *i)
{
    static const struct {
        const char *name;
        Exec *exec;
    } rows[] = { { "and", value_and },
                 { "or", value_or },
                 { "xor", value_xor },
                 { "not", value_not } };
    if (m->count != 1 || strcmp(m->parts[0], "pred") != 0)
        return false;
    for (uint32_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
        if (strcmp(rows[k].name, m->base) != 0)
            continue;
        m->used[0] = true;
        i->exec = rows[k].exec;
        i->d = operand_dest(p, PTX_PRED, false);
        for (uint32_t s = 0; s < (rows[k].exec == value_not ? 1u : 2u); s++) {
            parse_expect(p, ',');
            i->s[s] = operand_source(p, PTX_PRED, false);
        }
        return true;
    }
    return false;
}

/* ---- all instructions */

static const struct {
    const char *name;
    Decoder *decoder;
} instructions[] = {
#define INSTRUCTION(name, decoder) { name, decoder },
#include "ptx_forms.def"
#undef INSTRUCTION
};

static void split(Mnemonic *m, char *text)
{
    m->base = text;
    for (char *dot; (dot = strchr(text, '.')) && m->count < PARSE_PARTS;) {
        *dot = 0;
        m->parts[m->count++] = text = dot + 1;
    }
}

static void decode_guard(Parser *p, Insn *i)
{
    if (!parse_accept(p, '@'))
        return;
    i->guard = operand_source(p, PTX_PRED, false);
    i->guarded = true;
}

void decode_emit(Parser *p, const Insn *insn)
{
    SimModule *m = p->module;
    sim_grow(&m->code, &m->code_capacity, m->code_count, sizeof(Insn));
    m->code[m->code_count++] = *insn;
}

static void check_used(Parser *p, const Mnemonic *m)
{
    for (uint32_t k = 0; k < m->count; k++) {
        if (!m->used[k])
            parse_fail(p, m->line, "%s has a modifier .%s that is not known here",
                       m->base, m->parts[k]);
    }
}

void decode_instruction(Parser *p)
{
    const Ref zero = scope_const(p, 0, 8);
    Insn insn = { .d = zero, .e = zero, .s = { zero, zero, zero, zero } }, *i = &insn;
    p->reads_clock = p->special = false;
    i->line = p->token.line;
    decode_guard(p, i);
    char text[PARSE_MNEMONIC];
    if (p->token.kind != TOKEN_NAME || p->token.size >= sizeof(text)) {
        parse_fail(p, p->token.line, "an instruction expected, found '%.*s'",
                   p->token.size > 80 ? 80 : (int) p->token.size, p->token.text);
        return;
    }
    memcpy(text, p->token.text, p->token.size);
    text[p->token.size] = 0;
    Mnemonic mnemonic = { .line = p->token.line }, *m = &mnemonic;
    split(m, text);
    parse_next(p);
    Decoder *decoder = NULL;
    for (uint32_t k = 0; k < sizeof(instructions) / sizeof(*instructions); k++) {
        if (!strcmp(instructions[k].name, m->base))
            decoder = instructions[k].decoder;
    }
    if (decoder)
        decoder(p, m, i);
    else if (!decode_predicates(p, m, i))
        find_form(p, m, i);
    check_used(p, m);
    parse_expect(p, ';');
    if (p->reads_clock)
        i->flags |= FLAG_CLOCK;
    if (!p->failed)
        decode_emit(p, i);
}
