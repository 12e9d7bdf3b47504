/*
 * sim_decode_flow.c -- branches, calls, barriers, and what a warp does together
 */
#include "sim_parse.h"

#include "sim_exec.h"

#include <stdlib.h>
#include <string.h>

/* ---- branches */

static void need_label(Parser *p)
{
    if (p->token.kind != TOKEN_NAME) {
        parse_fail(p, p->token.line, "a label expected");
        return;
    }
    sim_grow(&p->fixups, &p->fixup_capacity, p->fixup_count, sizeof(Fixup));
    p->fixups[p->fixup_count++] = (Fixup){ .text = p->token.text,
                                           .size = p->token.size,
                                           .line = p->token.line,
                                           .depth = p->depth,
                                           .pc = p->module->code_count };
    parse_next(p);
}

void decode_bra(Parser *p, Mnemonic *m, Insn *i)
{
    decode_take(m, "uni");
    i->exec = flow_bra;
    need_label(p);
}

void decode_brx(Parser *p, Mnemonic *m, Insn *i)
{
    decode_take(m, "idx");
    decode_take(m, "uni");
    i->exec = flow_brx;
    i->s[0] = operand_source(p, PTX_U32, false);
    parse_expect(p, ',');
    Symbol *s = p->token.kind == TOKEN_NAME
                    ? scope_find(p, p->token.text, p->token.size)
                    : NULL;
    if (!s || s->kind != SYMBOL_TARGETS) {
        parse_fail(p, p->token.line, "a list of .branchtargets expected");
        return;
    }
    i->table = s->table;
    i->table_size = s->table_size;
    parse_next(p);
}

void decode_leave(Parser *p, Mnemonic *m, Insn *i)
{
    decode_take(m, "uni");
    bool entry = p->function->entry;
    i->exec = !strcmp(m->base, "trap")            ? flow_trap
              : !strcmp(m->base, "exit") || entry ? flow_exit
                                                  : flow_ret;
}

/* nanosleep, brkpt, pmevent: whatever their operands are. */
void decode_nothing(Parser *p, Mnemonic *m, Insn *i)
{
    i->exec = flow_nothing;
    for (uint32_t k = 0; k < m->count; k++)
        m->used[k] = true;
    while (p->token.kind != TOKEN_END && !parse_sign(p, ';'))
        parse_next(p);
}

/* ---- calls */

static void actual(Parser *p, Formal *f, bool written)
{
    Symbol *s = p->token.kind == TOKEN_NAME
                    ? scope_find(p, p->token.text, p->token.size)
                    : NULL;
    if (s && s->kind == SYMBOL_VARIABLE && s->space == SPACE_LOCAL) {
        *f = (Formal){ .offset = (uint32_t) s->address, .bytes = (uint32_t) s->bytes };
        parse_next(p);
        return;
    }
    f->in_register = true;
    if (lex_is(&p->token, "_")) {
        f->ref = scope_sink(p, 8);
        parse_next(p);
    } else if (s && s->kind == SYMBOL_REGISTER) {
        f->ref = s->ref;
        parse_next(p);
    } else if (written) {
        parse_fail(p, p->token.line, "a register or .param variable expected");
    } else {
        f->ref = operand_source(p, PTX_B64, true);
    }
    f->bytes = f->ref.bytes;
}

/* (a, b, ...) */
static void actuals(Parser *p, Formal **list, uint32_t *count, bool written)
{
    Formal found[64];
    parse_expect(p, '(');
    while (!p->failed && !parse_sign(p, ')')) {
        if (*count == 64) {
            parse_fail(p, p->token.line, "a call with more than 64 arguments");
            return;
        }
        memset(&found[*count], 0, sizeof(Formal));
        actual(p, &found[(*count)++], written);
        if (!parse_accept(p, ','))
            break;
    }
    parse_expect(p, ')');
    if (!*count)
        return;
    *list = sim_module_get(p->module, *count * sizeof(Formal));
    memcpy(*list, found, *count * sizeof(Formal));
}

static void callee(Parser *p, CallSite *call)
{
    Symbol *s = p->token.kind == TOKEN_NAME
                    ? scope_find(p, p->token.text, p->token.size)
                    : NULL;
    if (s && s->kind == SYMBOL_FUNCTION) {
        call->function = s->function->index;
        parse_next(p);
    } else {
        call->indirect = true;
        call->target = operand_source(p, PTX_B64, false);
    }
}

/* call (result), function, (arguments), prototype: only the function must be there */
void decode_call(Parser *p, Mnemonic *m, Insn *i)
{
    decode_take(m, "uni");
    CallSite *call = sim_module_get(p->module, sizeof(*call));
    i->exec = flow_call;
    i->call = call;
    p->function->has_calls = true;
    if (parse_sign(p, '(')) {
        actuals(p, &call->results, &call->result_count, true);
        parse_expect(p, ',');
    }
    callee(p, call);
    if (parse_accept(p, ',')) {
        if (parse_sign(p, '(')) {
            actuals(p, &call->args, &call->arg_count, false);
            if (!parse_accept(p, ','))
                return;
        }
        if (p->token.kind != TOKEN_NAME)
            parse_fail(p, p->token.line, "a prototype expected");
        parse_next(p);
    }
}

/* ---- barriers */

static bool is_predicate(Parser *p)
{
    Symbol *s = p->token.kind == TOKEN_NAME
                    ? scope_find(p, p->token.text, p->token.size)
                    : NULL;
    return parse_sign(p, '!') || (s && s->kind == SYMBOL_REGISTER && !s->ref.bytes);
}

static void barrier_red_kind(Parser *p, Mnemonic *m, Insn *i)
{
    static const char *const kinds[] = { "popc", "and", "or", NULL };
    int kind = decode_one_of(m, kinds);
    PtxType type = decode_type(m);
    if (kind < 0 || type != (kind == BARRIER_POPC ? PTX_U32 : PTX_PRED)) {
        parse_fail(p, m->line, "%s.red is .popc.u32, .and.pred or .or.pred", m->base);
        return;
    }
    i->op = (uint8_t) kind;
    i->exec = barrier_red;
    i->d = operand_dest(p, type, false);
    parse_expect(p, ',');
}

/* s[0]: which one; s[1]: how many threads, if 'count'; s[2]: the predicate */
void decode_bar(Parser *p, Mnemonic *m, Insn *i)
{
    if (decode_take(m, "warp")) {
        decode_take(m, "sync");
        i->exec = barrier_warp;
        i->s[0] = operand_source(p, PTX_B32, false);
        return;
    }
    decode_take(m, "cta");
    decode_take(m, "aligned");
    if (decode_take(m, "sync"))
        i->exec = barrier_sync;
    else if (decode_take(m, "arrive"))
        i->exec = barrier_arrive;
    else if (decode_take(m, "red"))
        barrier_red_kind(p, m, i);
    else
        parse_fail(p, m->line, "%s without .sync, .arrive or .red", m->base);
    i->s[0] = operand_source(p, PTX_B32, false);
    while (parse_accept(p, ',')) {
        if (is_predicate(p)) {
            i->s[2] = operand_source(p, PTX_PRED, false);
        } else {
            i->s[1] = operand_source(p, PTX_B32, false);
            i->count = 1;
        }
    }
}

/* ---- what lanes do together: s[3] is the member mask, if there is .sync */

static void members(Parser *p, Insn *i, bool sync)
{
    if (!sync)
        return;
    parse_expect(p, ',');
    i->s[3] = operand_source(p, PTX_B32, false);
    i->count = 1;
}

void decode_vote(Parser *p, Mnemonic *m, Insn *i)
{
    static const char *const kinds[] = { "all", "any", "uni", "ballot", NULL };
    bool sync = decode_take(m, "sync");
    int kind = decode_one_of(m, kinds);
    PtxType type = decode_type(m);
    if (kind < 0 || type != (kind == VOTE_BALLOT ? PTX_B32 : PTX_PRED)) {
        parse_fail(p, m->line, "vote is .all, .any or .uni, .pred, or .ballot.b32");
        return;
    }
    i->op = (uint8_t) kind;
    i->exec = group_vote;
    i->d = operand_dest(p, type, false);
    parse_expect(p, ',');
    i->s[0] = operand_source(p, PTX_PRED, false);
    members(p, i, sync);
}

static void second_predicate(Parser *p, Insn *i)
{
    if (parse_accept(p, '|')) {
        i->e = operand_dest(p, PTX_PRED, false);
        i->flags |= FLAG_SECOND;
    }
}

void decode_match(Parser *p, Mnemonic *m, Insn *i)
{
    bool all = decode_take(m, "all"), any = decode_take(m, "any");
    bool sync = decode_take(m, "sync");
    PtxType type = decode_type(m);
    if (all == any || !sync || (type != PTX_B32 && type != PTX_B64)) {
        parse_fail(p, m->line, "match is .any or .all, .sync, .b32 or .b64");
        return;
    }
    i->exec = all ? group_match_all : group_match_any;
    i->d = operand_dest(p, PTX_B32, false);
    if (all)
        second_predicate(p, i);
    parse_expect(p, ',');
    i->s[0] = operand_source(p, type, false);
    members(p, i, true);
}

void decode_shfl(Parser *p, Mnemonic *m, Insn *i)
{
    static const char *const modes[] = { "up", "down", "bfly", "idx", NULL };
    bool sync = decode_take(m, "sync");
    int mode = decode_one_of(m, modes);
    if (mode < 0 || decode_type(m) != PTX_B32) {
        parse_fail(p, m->line, "shfl is .up, .down, .bfly or .idx, .b32");
        return;
    }
    i->op = (uint8_t) mode;
    i->exec = group_shfl;
    i->d = operand_dest(p, PTX_B32, false);
    second_predicate(p, i);
    for (uint32_t k = 0; k < 3; k++) {
        parse_expect(p, ',');
        i->s[k] = operand_source(p, PTX_B32, false);
    }
    members(p, i, sync);
}

void decode_redux(Parser *p, Mnemonic *m, Insn *i)
{
    static const struct {
        const char *name;
        AtomicOp op;
    } ops[] = { { "add", ATOMIC_ADD }, { "min", ATOMIC_MIN }, { "max", ATOMIC_MAX },
                { "and", ATOMIC_AND }, { "or", ATOMIC_OR },   { "xor", ATOMIC_XOR } };
    bool sync = decode_take(m, "sync"), found = false;
    for (uint32_t k = 0; k < sizeof(ops) / sizeof(*ops); k++) {
        if (!found && decode_take(m, ops[k].name)) {
            found = true;
            i->op = (uint8_t) ops[k].op;
        }
    }
    PtxType type = decode_type(m);
    bool bits = i->op >= ATOMIC_AND;
    if (!found || !sync ||
        (bits ? type != PTX_B32 : type != PTX_U32 && type != PTX_S32)) {
        parse_fail(p, m->line,
                   "redux.sync is .add, .min or .max of .u32 or .s32, or "
                   ".and, .or, .xor of .b32");
        return;
    }
    i->type = (uint8_t) type;
    i->exec = group_redux;
    i->d = operand_dest(p, PTX_B32, false);
    parse_expect(p, ',');
    i->s[0] = operand_source(p, PTX_B32, false);
    members(p, i, true);
}

void decode_activemask(Parser *p, Mnemonic *m, Insn *i)
{
    decode_type(m);
    i->exec = group_activemask;
    i->d = operand_dest(p, PTX_B32, false);
}

void decode_elect(Parser *p, Mnemonic *m, Insn *i)
{
    decode_take(m, "sync");
    i->exec = group_elect;
    i->d = operand_dest(p, PTX_B32, false);
    second_predicate(p, i);
    members(p, i, true);
}
