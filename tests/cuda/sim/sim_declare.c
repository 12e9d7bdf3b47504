/*
 * sim_declare.c -- declarations of registers, variables and parameters
 */
#include "sim_parse.h"

#include <string.h>

enum {
    LOCAL_MOST = 512 << 10,    /* bytes of a thread */
    VARIABLES_MOST = 256 << 20 /* of a module */
};

/** What stands before and behind the name of a variable. */
typedef struct Declaration {
    PtxType type;
    uint32_t align;
    bool array, in_register;
    uint64_t elements;
    Token name;
} Declaration;

static uint64_t read_integer(Parser *p)
{
    int64_t value = operand_constant(p);
    if (value < 0)
        parse_fail(p, p->token.line, "a number is negative");
    return value < 0 ? 0 : (uint64_t) value;
}

/* .align 8 .v4 .f32 and, of parameters, .ptr .global .align 4 */
static void read_attributes(Parser *p, Declaration *d)
{
    uint32_t vector = 1;
    bool pointer = false;
    for (; p->token.kind == TOKEN_NAME && p->token.text[0] == '.';) {
        PtxType type = parse_type(p->token.text, p->token.size);
        bool align = lex_is(&p->token, ".align");
        bool attribute = lex_is(&p->token, ".attribute");
        if (type != PTX_NONE)
            d->type = type;
        else if (lex_is(&p->token, ".v2") || lex_is(&p->token, ".v4"))
            vector = (uint32_t) (p->token.text[2] - '0');
        else if (lex_is(&p->token, ".ptr"))
            pointer = true;
        parse_next(p);
        if (align) {
            uint64_t bytes = read_integer(p);
            if (!bytes || bytes > 256 || (bytes & (bytes - 1)))
                parse_fail(p, p->token.line,
                           "an alignment must be a power of two, at "
                           "most 256");
            else if (!pointer)
                d->align = (uint32_t) bytes;
        }
        while (attribute && p->token.kind != TOKEN_END) {
            bool end = parse_sign(p, ')');
            parse_next(p);
            if (end)
                break;
        }
    }
    d->elements = vector;
    if (d->type == PTX_NONE || (d->type == PTX_PRED && !d->in_register))
        parse_fail(p, p->token.line, "a type expected");
    else if (d->align < sim_types[d->type].bytes * vector)
        d->align = sim_types[d->type].bytes * vector;
}

static void read_name(Parser *p, Declaration *d)
{
    d->name = p->token;
    if (p->token.kind != TOKEN_NAME) {
        parse_fail(p, p->token.line, "the name of a variable expected");
        return;
    }
    parse_next(p);
    while (parse_accept(p, '[')) {
        uint64_t size = parse_sign(p, ']') ? 0 : read_integer(p);
        d->array = true;
        if (size > VARIABLES_MOST || d->elements > VARIABLES_MOST)
            parse_fail(p, p->token.line, "an array is too large");
        else
            d->elements *= size;
        parse_expect(p, ']');
    }
    if (d->elements > VARIABLES_MOST / 8)
        parse_fail(p, p->token.line, "an array is too large");
}

/* ---- registers */

void declare_registers(Parser *p)
{
    Declaration d = { .type = PTX_NONE, .in_register = true };
    read_attributes(p, &d);
    if (d.elements != 1)
        parse_fail(p, p->token.line, "registers that are vectors are not supported");
    while (p->token.kind == TOKEN_NAME) {
        Token name = p->token;
        parse_next(p);
        if (parse_accept(p, '<')) {
            char text[64];
            uint64_t limit = read_integer(p);
            parse_expect(p, '>');
            if (name.size >= sizeof(text) - 4) {
                parse_fail(p, name.line, "the name of a register is too long");
                return;
            }
            memcpy(text, name.text, name.size);
            text[name.size] = '<';
            Symbol *s = scope_add(p, text, name.size + 1, SYMBOL_RANGE, p->depth);
            if (!s)
                return;
            s->type = d.type;
            s->limit = limit > UINT32_MAX ? UINT32_MAX : (uint32_t) limit;
        } else {
            Symbol *s = scope_add(p, name.text, name.size, SYMBOL_REGISTER, p->depth);
            if (!s)
                return;
            s->type = d.type;
            s->ref = scope_register(p, d.type);
        }
        if (!parse_accept(p, ','))
            break;
    }
    parse_expect(p, ';');
}

/* ---- variables */

static bool align_up(Parser *p, uint32_t *end, const Declaration *d, uint64_t limit,
                     uint32_t *offset)
{
    uint64_t bytes = d->elements * sim_types[d->type].bytes;
    uint64_t begin = (*end + (uint64_t) d->align - 1) & ~((uint64_t) d->align - 1);
    if (begin + bytes > limit)
        return parse_fail(p, d->name.line,
                          "%.*s does not fit: there is room for %llu "
                          "bytes",
                          d->name.size > 80 ? 80 : (int) d->name.size, d->name.text,
                          (unsigned long long) limit);
    *offset = (uint32_t) begin;
    *end = (uint32_t) (begin + bytes);
    return true;
}

/* One entry of an initialiser. */
static void initial_value(Parser *p, Variable *v, size_t at, PtxType type)
{
    uint32_t bytes = sim_types[type].bytes;
    uint64_t value = 0;
    if (at + bytes > v->bytes) {
        parse_fail(p, p->token.line, "%s has more values than entries", v->name);
        return;
    }
    bool generic = lex_is(&p->token, "generic");
    if (p->token.kind == TOKEN_NAME) {
        if (generic) {
            parse_next(p);
            parse_expect(p, '(');
        }
        bool frame = false;
        Symbol *s = p->token.kind == TOKEN_NAME
                        ? scope_find(p, p->token.text, p->token.size)
                        : NULL;
        if (!s || !operand_symbol(p, s, generic, &value, &frame) || frame) {
            parse_fail(p, p->token.line,
                       "the address of a variable or function "
                       "expected");
            return;
        }
        parse_next(p);
        if (generic)
            parse_expect(p, ')');
        if (parse_sign(p, '+') || parse_sign(p, '-'))
            value += (uint64_t) operand_constant(p);
    } else {
        Ref ref = operand_source(p, type, false);
        if (!p->failed)
            memcpy(&value, p->module->consts + ref.at, bytes);
    }
    memcpy(v->data + at, &value, bytes);
}

static void initialise(Parser *p, Variable *v, PtxType type)
{
    if (!parse_sign(p, '{')) {
        initial_value(p, v, 0, type);
        return;
    }
    size_t at = 0;
    uint32_t depth = 0;
    do {
        if (parse_accept(p, '{')) {
            depth++;
        } else if (parse_accept(p, '}')) {
            depth--;
            if (depth)
                parse_accept(p, ',');
        } else {
            initial_value(p, v, at, type);
            at += sim_types[type].bytes;
            if (!parse_sign(p, '}'))
                parse_expect(p, ',');
        }
    } while (depth && !p->failed);
}

static void add_variable(Parser *p, Symbol *s, const Declaration *d)
{
    SimModule *m = p->module;
    size_t total = s->bytes;
    for (uint32_t i = 0; i < m->variable_count; i++)
        total += m->variables[i]->bytes;
    if (total > VARIABLES_MOST) {
        parse_fail(p, d->name.line, "the variables of a module are too large");
        return;
    }
    Variable *v = sim_alloc(sizeof(*v));
    sim_grow(&m->variables, &m->variable_capacity, m->variable_count, sizeof(v));
    m->variables[m->variable_count++] = v;
    v->name = sim_string(d->name.text, d->name.size);
    v->space = s->space;
    v->bytes = s->bytes;
    v->data = sim_alloc_aligned(s->bytes);
    s->address = (uintptr_t) v->data;
    if (parse_accept(p, '='))
        initialise(p, v, d->type);
}

static void place(Parser *p, Symbol *s, const Declaration *d, bool is_extern)
{
    SimModule *m = p->module;
    uint32_t offset = 0;
    if (s->space == SPACE_SHARED && (is_extern || (d->array && !s->bytes))) {
        s->address = DYNAMIC_SHARED;
    } else if (s->space == SPACE_SHARED) {
        align_up(p, &m->shared_bytes, d, DYNAMIC_SHARED, &offset);
        s->address = offset;
    } else if (s->space == SPACE_LOCAL) {
        if (!p->function)
            parse_fail(p, d->name.line, ".local outside of functions");
        else
            align_up(p, &p->function->local_bytes, d, LOCAL_MOST, &offset);
        s->address = offset;
    } else if (!is_extern || s->bytes) {
        add_variable(p, s, d);
    } else {
        parse_fail(p, d->name.line, "variables of other modules are not supported");
    }
}

/* The variable that '.extern' has declared, of the same size; NULL. */
static Symbol *find_extern(Parser *p, const Declaration *d, Space space)
{
    Symbol *s = p->function ? NULL : scope_find(p, d->name.text, d->name.size);
    bool same = s && s->is_extern && s->space == space &&
                s->bytes == d->elements * sim_types[d->type].bytes;
    return same ? s : NULL;
}

/* Its definition: it has its memory already. */
static void define(Parser *p, Symbol *s, PtxType type)
{
    s->is_extern = false;
    for (uint32_t i = 0; i < p->module->variable_count; i++) {
        Variable *v = p->module->variables[i];
        if ((uintptr_t) v->data == s->address && parse_accept(p, '='))
            initialise(p, v, type);
    }
}

/* .param variables of a body, arguments of calls, are a part of local memory. */
void declare_variables(Parser *p, Space space, bool is_extern)
{
    Declaration d = { .type = PTX_NONE };
    read_attributes(p, &d);
    uint64_t vector = d.elements;
    do {
        d.elements = vector;
        d.array = false;
        read_name(p, &d);
        if (p->failed)
            return;
        /* The size of an array may be left to its values, which nobody needs. */
        Symbol *declared = find_extern(p, &d, space);
        if (declared) {
            define(p, declared, d.type);
            continue;
        }
        Symbol *s = scope_add(p, d.name.text, d.name.size, SYMBOL_VARIABLE, p->depth);
        if (!s)
            return;
        s->type = d.type;
        s->is_extern = is_extern && space == SPACE_GLOBAL;
        s->space = space == SPACE_PARAM ? SPACE_LOCAL : space;
        s->bytes = d.elements * sim_types[d.type].bytes;
        place(p, s, &d, is_extern);
    } while (parse_accept(p, ','));
    parse_expect(p, ';');
}

/* ---- formal parameters */

static void declare_formal(Parser *p, Function *f, bool results)
{
    Declaration d = { .type = PTX_NONE, .in_register = lex_is(&p->token, ".reg") };
    if (!d.in_register && !lex_is(&p->token, ".param")) {
        parse_fail(p, p->token.line, ".param or .reg expected");
        return;
    }
    parse_next(p);
    read_attributes(p, &d);
    read_name(p, &d);
    if (p->failed)
        return;
    Formal formal = { .in_register = d.in_register };
    SymbolKind kind = d.in_register ? SYMBOL_REGISTER : SYMBOL_VARIABLE;
    Symbol *s = lex_is(&d.name, "_")
                    ? NULL
                    : scope_add(p, d.name.text, d.name.size, kind, p->depth);
    if (d.in_register) {
        formal.ref = scope_register(p, d.type);
        formal.bytes = formal.ref.bytes;
    } else {
        formal.bytes = (uint32_t) (d.elements * sim_types[d.type].bytes);
        align_up(p, f->entry ? &f->param_bytes : &f->local_bytes, &d,
                 f->entry ? 32764 : LOCAL_MOST, &formal.offset);
    }
    if (s) {
        s->type = d.type;
        s->ref = formal.ref;
        s->space = f->entry ? SPACE_PARAM : SPACE_LOCAL;
        s->address = formal.offset;
        s->bytes = formal.bytes;
    }
    if (results) {
        sim_grow(&f->results, &f->result_capacity, f->result_count, sizeof(Formal));
        f->results[f->result_count++] = formal;
    } else {
        sim_grow(&f->params, &f->param_capacity, f->param_count, sizeof(Formal));
        f->params[f->param_count++] = formal;
    }
}

void declare_formals(Parser *p, Function *f, bool results)
{
    parse_expect(p, '(');
    while (!p->failed && !parse_sign(p, ')')) {
        declare_formal(p, f, results);
        if (!parse_accept(p, ','))
            break;
    }
    parse_expect(p, ')');
}
