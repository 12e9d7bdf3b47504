/*
 * sim_parse.c -- a module: its directives, functions, and the statements of a body
 */
#include "sim_parse.h"

#include "sim_exec.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool parse_fail(Parser *p, uint32_t line, const char *format, ...)
{
    if (!p->failed) {
        int begin = snprintf(p->error, SIM_MESSAGE, "line %u: ", line);
        va_list args;
        va_start(args, format);
        vsnprintf(p->error + begin, SIM_MESSAGE - (size_t) begin, format, args);
        va_end(args);
        p->failed = true;
    }
    p->token.kind = TOKEN_END;
    return false;
}

void parse_next(Parser *p)
{
    if (p->failed)
        return;
    p->token = lex_next(&p->lexer);
    if (p->lexer.wrong)
        parse_fail(p, p->lexer.line, "%s", p->lexer.wrong);
}

bool parse_sign(const Parser *p, char sign)
{
    return p->token.kind == TOKEN_SIGN && p->token.sign == sign;
}

bool parse_accept(Parser *p, char sign)
{
    if (!parse_sign(p, sign))
        return false;
    parse_next(p);
    return true;
}

bool parse_expect(Parser *p, char sign)
{
    if (parse_accept(p, sign))
        return true;
    if (p->token.kind == TOKEN_END)
        return parse_fail(p, p->token.line, "'%c' expected, found the end", sign);
    return parse_fail(p, p->token.line, "'%c' expected, found '%.*s'", sign,
                      p->token.size > 80 ? 80 : (int) p->token.size, p->token.text);
}

PtxType parse_type(const char *text, uint32_t size)
{
    for (uint32_t t = 0; t < PTX_TYPE_COUNT; t++) {
        if (size == strlen(sim_types[t].name) + 1 && text[0] == '.' &&
            !memcmp(text + 1, sim_types[t].name, size - 1))
            return t;
    }
    return PTX_NONE;
}

/* Everything up to a semicolon, or a block in braces. */
static void skip_statement(Parser *p)
{
    uint32_t depth = 0;
    while (p->token.kind != TOKEN_END) {
        bool end = depth == 0 && parse_sign(p, ';');
        if (parse_sign(p, '{'))
            depth++;
        else if (parse_sign(p, '}') && depth)
            end = --depth == 0;
        parse_next(p);
        if (end)
            return;
    }
    parse_fail(p, p->token.line, "a directive has no end");
}

/* What stands on the rest of this line: .loc and .file have no semicolon. */
static void skip_line(Parser *p)
{
    uint32_t line = p->token.line;
    while (p->token.kind != TOKEN_END && p->token.line == line)
        parse_next(p);
}

/* ---- bodies */

/* .branchtargets A, B; */
static void branch_targets(Parser *p, Symbol *label)
{
    label->kind = SYMBOL_TARGETS;
    const Lexer begin = p->lexer;
    uint32_t count = 0;
    parse_next(p);
    while (p->token.kind == TOKEN_NAME) {
        count++;
        parse_next(p);
        if (!parse_accept(p, ','))
            break;
    }
    if (p->failed || !parse_sign(p, ';')) {
        parse_expect(p, ';');
        return;
    }
    label->table = sim_module_get(p->module, count * sizeof(uint32_t));
    label->table_size = count;
    p->lexer = begin;
    for (uint32_t i = 0; i < count; i++) {
        parse_next(p);
        sim_grow(&p->fixups, &p->fixup_capacity, p->fixup_count, sizeof(Fixup));
        p->fixups[p->fixup_count++] = (Fixup){ .text = p->token.text,
                                               .size = p->token.size,
                                               .line = p->token.line,
                                               .depth = p->depth,
                                               .entry = &label->table[i] };
        parse_next(p);
    }
    parse_expect(p, ';');
}

static void label_statement(Parser *p, const Token *name)
{
    parse_next(p); /* the colon */
    Symbol *s = scope_add(p, name->text, name->size, SYMBOL_LABEL, p->depth);
    if (!s)
        return;
    s->pc = p->module->code_count;
    if (lex_is(&p->token, ".branchtargets")) {
        branch_targets(p, s);
    } else if (lex_is(&p->token, ".callprototype") ||
               lex_is(&p->token, ".calltargets")) {
        s->kind = SYMBOL_PROTOTYPE;
        skip_statement(p);
    }
}

static bool space_directive(const Token *t, Space *space)
{
    static const struct {
        const char *name;
        Space space;
    } spaces[] = {
        { ".shared", SPACE_SHARED }, { ".local", SPACE_LOCAL },
        { ".param", SPACE_PARAM },   { ".global", SPACE_GLOBAL },
        { ".const", SPACE_CONST },
    };
    for (uint32_t i = 0; i < sizeof(spaces) / sizeof(*spaces); i++) {
        if (lex_is(t, spaces[i].name)) {
            *space = spaces[i].space;
            return true;
        }
    }
    return false;
}

static void body_directive(Parser *p)
{
    Space space;
    if (lex_is(&p->token, ".reg")) {
        parse_next(p);
        declare_registers(p);
    } else if (space_directive(&p->token, &space)) {
        parse_next(p);
        declare_variables(p, space, false);
    } else if (lex_is(&p->token, ".loc") || lex_is(&p->token, ".file")) {
        skip_line(p);
    } else if (lex_is(&p->token, ".pragma")) {
        skip_statement(p);
    } else {
        parse_fail(p, p->token.line, "a directive of a function expected, found '%.*s'",
                   p->token.size > 80 ? 80 : (int) p->token.size, p->token.text);
    }
}

static void body(Parser *p)
{
    uint32_t outer = p->depth;
    scope_open(p);
    parse_next(p);
    while (p->token.kind != TOKEN_END) {
        if (parse_sign(p, '{')) {
            scope_open(p);
            parse_next(p);
        } else if (parse_sign(p, '}')) {
            scope_close(p);
            parse_next(p);
            if (p->depth == outer)
                return;
        } else if (parse_sign(p, ';')) {
            parse_next(p);
        } else if (p->token.kind == TOKEN_NAME && p->token.text[0] == '.') {
            body_directive(p);
        } else {
            Token name = p->token;
            Lexer behind = p->lexer;
            Token colon = lex_next(&behind);
            if (name.kind == TOKEN_NAME && colon.kind == TOKEN_SIGN &&
                colon.sign == ':') {
                parse_next(p);
                label_statement(p, &name);
            } else {
                decode_instruction(p);
            }
        }
    }
    parse_fail(p, p->token.line, "the body of a function has no end");
}

/* ---- functions */

static Function *find_function(Parser *p, const Token *name, bool entry)
{
    SimModule *m = p->module;
    Symbol *s = scope_find(p, name->text, name->size);
    if (s && (s->kind != SYMBOL_FUNCTION || s->function->body)) {
        parse_fail(p, name->line, "%.*s is declared twice", (int) name->size,
                   name->text);
        return NULL;
    }
    if (s) {
        s->function->entry = entry;
        s->function->param_count = s->function->result_count = 0;
        return s->function;
    }
    s = scope_add(p, name->text, name->size, SYMBOL_FUNCTION, 0);
    if (!s)
        return NULL;
    Function *f = sim_alloc(sizeof(*f));
    s->function = f;
    f->name = sim_string(name->text, name->size);
    f->entry = entry;
    f->line = name->line;
    f->index = m->function_count;
    sim_grow(&m->functions, &m->function_capacity, m->function_count, sizeof(f));
    m->functions[m->function_count++] = f;
    return f;
}

/* Between the parameters and the body: .maxntid 256, 1, 1 and the like. */
static void skip_attributes(Parser *p)
{
    while (p->token.kind != TOKEN_END && !parse_sign(p, '{') && !parse_sign(p, ';'))
        parse_next(p);
}

static void function_body(Parser *p, Function *f)
{
    f->first = p->module->code_count;
    f->body = true;
    body(p);
    /* Running past the end is to leave. */
    const Ref zero = scope_const(p, 0, 8);
    Insn leave = { .line = p->token.line,
                   .d = zero,
                   .e = zero,
                   .s = { zero, zero, zero, zero },
                   .exec = f->entry ? flow_exit : flow_ret };
    decode_emit(p, &leave);
    f->end = p->module->code_count;
}

/* .entry name (...) {...}, .func (...) name (...) {...}, or only the head of one. The
 * results stand before the name, so they are read again once it is known. */
static void function_directive(Parser *p, bool entry)
{
    parse_next(p);
    const Lexer at_results = p->lexer;
    const Token results = p->token;
    bool has_results = parse_sign(p, '(');
    while (has_results && p->token.kind != TOKEN_END && !parse_sign(p, ')'))
        parse_next(p);
    if (has_results)
        parse_expect(p, ')');
    if (p->token.kind != TOKEN_NAME) {
        parse_fail(p, p->token.line, "the name of a function expected");
        return;
    }
    const Token name = p->token;
    Function *f = find_function(p, &name, entry);
    if (!f)
        return;
    const Lexer behind = p->lexer;
    p->function = f;
    f->register_count = f->frame_bytes = f->local_bytes = f->param_bytes = 0;
    memset(p->sink_there, 0, sizeof(p->sink_there));
    scope_open(p);
    if (has_results) {
        p->lexer = at_results;
        p->token = results;
        declare_formals(p, f, true);
    }
    p->lexer = p->failed ? p->lexer : behind;
    parse_next(p);
    if (parse_sign(p, '('))
        declare_formals(p, f, false);
    skip_attributes(p);
    if (parse_sign(p, '{'))
        function_body(p, f);
    else
        parse_expect(p, ';');
    scope_close(p);
    p->function = NULL;
}

/* ---- the module */

static bool linking(const Token *t)
{
    return lex_is(t, ".visible") || lex_is(t, ".weak") || lex_is(t, ".common") ||
           lex_is(t, ".extern");
}

static void module_statement(Parser *p)
{
    bool is_extern = false;
    while (linking(&p->token)) {
        is_extern |= lex_is(&p->token, ".extern");
        parse_next(p);
    }
    Space space;
    if (lex_is(&p->token, ".entry") || lex_is(&p->token, ".func")) {
        function_directive(p, lex_is(&p->token, ".entry"));
    } else if (space_directive(&p->token, &space)) {
        parse_next(p);
        declare_variables(p, space, is_extern);
    } else if (lex_is(&p->token, ".version") || lex_is(&p->token, ".target") ||
               lex_is(&p->token, ".address_size") || lex_is(&p->token, ".file")) {
        skip_line(p);
    } else if (lex_is(&p->token, ".section") || lex_is(&p->token, ".pragma") ||
               lex_is(&p->token, ".alias")) {
        skip_statement(p);
    } else if (!parse_accept(p, ';')) {
        parse_fail(p, p->token.line, "a directive of a module expected, found '%.*s'",
                   p->token.size > 80 ? 80 : (int) p->token.size, p->token.text);
    }
}

static void finish_kernels(SimModule *m)
{
    m->kernels = sim_alloc(m->function_count * sizeof(SimKernel));
    for (uint32_t i = 0; i < m->function_count; i++) {
        if (m->functions[i]->entry && m->functions[i]->body)
            m->kernels[m->kernel_count++] = (SimKernel){ m, m->functions[i] };
    }
}

SimModule *sim_parse(const char *text, SimDialect dialect, char error[SIM_MESSAGE])
{
    SimModule *m = sim_alloc(sizeof(*m));
    m->text = sim_string(text, strlen(text));
    m->dialect = dialect;
    m->shared_granule = 4;
    Parser parser = { .module = m,
                      .lexer = { .at = m->text, .line = 1 },
                      .error = error };
    Parser *p = &parser;
    error[0] = 0;
    scope_const(p, 0, 8); /* the one that unused operands refer to */
    decode_begin(p);
    parse_next(p);
    while (p->token.kind != TOKEN_END)
        module_statement(p);
    scope_free(p);
    decode_end(p);
    if (p->failed) {
        sim_free(m);
        return NULL;
    }
    finish_kernels(m);
    return m;
}
