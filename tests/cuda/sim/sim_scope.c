/*
 * sim_scope.c -- names, registers and constants while a module is parsed
 *
 * The table of names holds, for each, the innermost symbol; a symbol knows the one that
 * it hides. When a scope is closed, its labels are known, and what names them is filled
 * in; what is not found there is looked for in the scope around it.
 */
#include "sim_parse.h"

#include <stdlib.h>
#include <string.h>

static uint32_t hash_of(const char *text, uint32_t size)
{
    uint32_t h = 2166136261u;
    for (uint32_t i = 0; i < size; i++)
        h = (h ^ (uint8_t) text[i]) * 16777619u;
    return h ^ h >> 15;
}

/* The slot of a name, or the free one where it belongs. Names are never taken out: a
 * slot without a symbol keeps its name. */
static NameSlot *slot_of(Parser *p, const char *text, uint32_t size)
{
    if (p->name_count * 2 >= p->name_capacity) {
        NameSlot *old = p->names;
        uint32_t old_capacity = p->name_capacity;
        p->name_capacity = old_capacity ? old_capacity * 2 : 256;
        p->names = sim_alloc(p->name_capacity * sizeof(NameSlot));
        for (uint32_t i = 0; i < old_capacity; i++) {
            if (old[i].name)
                *slot_of(p, old[i].name, (uint32_t) strlen(old[i].name)) = old[i];
        }
        free(old);
    }
    uint32_t at = hash_of(text, size) & (p->name_capacity - 1);
    while (p->names[at].name && (strncmp(p->names[at].name, text, size) != 0 ||
                                 p->names[at].name[size] != 0))
        at = (at + 1) & (p->name_capacity - 1);
    return &p->names[at];
}

void scope_open(Parser *p)
{
    if (p->depth + 1 >= PARSE_DEPTH) {
        parse_fail(p, p->token.line, "blocks are nested deeper than %d", PARSE_DEPTH);
        return;
    }
    p->scopes[++p->depth] = NULL;
}

/* Labels of the innermost scope, to what names them there. */
static void fill_in(Parser *p)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->fixup_count; i++) {
        Fixup *f = &p->fixups[i];
        if (f->depth >= p->depth) {
            Symbol *s = slot_of(p, f->text, f->size)->symbol;
            if (s && s->kind == SYMBOL_LABEL && s->depth == p->depth) {
                if (f->entry)
                    *f->entry = s->pc;
                else
                    p->module->code[f->pc].target = s->pc;
                continue;
            }
            f->depth = p->depth - 1;
            if (!f->depth)
                parse_fail(p, f->line, "there is no label %.*s", (int) f->size,
                           f->text);
        }
        p->fixups[kept++] = *f;
    }
    p->fixup_count = kept;
}

void scope_close(Parser *p)
{
    if (p->depth && !p->failed)
        fill_in(p);
    for (Symbol *s = p->scopes[p->depth], *next; s; s = next) {
        next = s->next;
        slot_of(p, s->name, (uint32_t) strlen(s->name))->symbol = s->shadowed;
        free(s->name);
        free(s);
    }
    p->scopes[p->depth] = NULL;
    if (p->depth)
        p->depth--;
}

void scope_free(Parser *p)
{
    while (p->depth)
        scope_close(p);
    scope_close(p);
    for (uint32_t i = 0; i < p->name_capacity; i++)
        free(p->names[i].name);
    free(p->names);
    free(p->fixups);
    free(p->const_index);
}

Symbol *scope_add(Parser *p, const char *text, uint32_t size, SymbolKind kind,
                  uint32_t depth)
{
    NameSlot *slot = slot_of(p, text, size);
    if (slot->symbol && slot->symbol->depth >= depth) {
        parse_fail(p, p->token.line, "%.*s is declared twice", (int) size, text);
        return NULL;
    }
    if (!slot->name) {
        slot->name = sim_string(text, size);
        p->name_count++;
    }
    Symbol *s = sim_alloc(sizeof(*s));
    s->name = sim_string(text, size);
    s->kind = kind;
    s->depth = depth;
    s->shadowed = slot->symbol;
    s->next = p->scopes[depth];
    p->scopes[depth] = s;
    slot->symbol = s;
    return s;
}

/* A register of a range, which becomes a symbol of its own. */
static Symbol *find_in_range(Parser *p, const char *text, uint32_t size,
                             const Symbol *hidden)
{
    uint32_t stem = size;
    while (stem && text[stem - 1] >= '0' && text[stem - 1] <= '9')
        stem--;
    if (stem == size || !stem || stem >= 60 || size - stem > 8)
        return NULL;
    if (text[stem] == '0' && size - stem > 1)
        return NULL;
    char range[64];
    memcpy(range, text, stem);
    range[stem] = '<';
    Symbol *r = slot_of(p, range, stem + 1)->symbol;
    if (!r || (hidden && hidden->depth >= r->depth))
        return NULL;
    uint32_t number = (uint32_t) strtoul(text + stem, NULL, 10);
    if (number >= r->limit)
        return NULL;
    Symbol *s = scope_add(p, text, size, SYMBOL_REGISTER, r->depth);
    if (s) {
        s->type = r->type;
        s->ref = scope_register(p, r->type);
    }
    return s;
}

Symbol *scope_find(Parser *p, const char *text, uint32_t size)
{
    Symbol *s = slot_of(p, text, size)->symbol;
    Symbol *member = find_in_range(p, text, size, s);
    return member ? member : s;
}

/* ---- registers and constants */

static uint32_t lanes_bytes(uint8_t bytes)
{
    return bytes ? (uint32_t) bytes * SIM_WARP : 64;
}

Ref scope_register(Parser *p, PtxType type)
{
    Function *f = p->function;
    Ref ref = { .area = AREA_FRAME, .bytes = sim_types[type].register_bytes };
    if (!f || f->register_count >= 1u << 20) {
        parse_fail(p, p->token.line,
                   f ? "a function has too many registers"
                     : "a register outside of functions");
        return ref;
    }
    ref.at = f->frame_bytes;
    ref.reg = f->register_count++;
    f->frame_bytes += lanes_bytes(ref.bytes);
    return ref;
}

Ref scope_sink(Parser *p, uint8_t bytes)
{
    PtxType type = bytes == 8   ? PTX_B64
                   : bytes == 4 ? PTX_B32
                   : bytes == 2 ? PTX_B16
                                : PTX_PRED;
    if (!p->sink_there[bytes]) {
        p->sinks[bytes] = scope_register(p, type);
        p->sink_there[bytes] = true;
    }
    return p->sinks[bytes];
}

static bool const_is(const SimModule *m, uint32_t at, uint64_t value, uint8_t bytes)
{
    uint64_t found[2]; /* size and value precede the lanes */
    memcpy(found, m->consts + at - sizeof(found), sizeof(found));
    return found[0] == bytes && found[1] == value;
}

static uint32_t const_slot(Parser *p, uint64_t value, uint8_t bytes)
{
    uint64_t h = (value + bytes) * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t slot = (uint32_t) (h >> 32) & (p->const_slots - 1);
    while (p->const_index[slot] &&
           !const_is(p->module, p->const_index[slot], value, bytes))
        slot = (slot + 1) & (p->const_slots - 1);
    return slot;
}

static void grow_consts(Parser *p)
{
    uint32_t *old = p->const_index, old_slots = p->const_slots;
    p->const_slots = old_slots ? old_slots * 2 : 64;
    p->const_index = sim_alloc(p->const_slots * sizeof(uint32_t));
    for (uint32_t i = 0; i < old_slots; i++) {
        if (!old[i])
            continue;
        uint64_t key[2];
        memcpy(key, p->module->consts + old[i] - sizeof(key), sizeof(key));
        p->const_index[const_slot(p, key[1], (uint8_t) key[0])] = old[i];
    }
    free(old);
}

/* A constant occupies 64 bytes, the last 16 of which are its size and its value, and
 * then its lanes. */
Ref scope_const(Parser *p, uint64_t value, uint8_t bytes)
{
    SimModule *m = p->module;
    if (bytes && bytes < 8)
        value &= (UINT64_C(1) << bytes * 8) - 1;
    if (p->const_count * 2 >= p->const_slots)
        grow_consts(p);
    uint32_t slot = const_slot(p, value, bytes);
    Ref ref = { .area = AREA_CONST, .bytes = bytes, .at = p->const_index[slot] };
    if (ref.at)
        return ref;
    uint32_t need = 64 + lanes_bytes(bytes);
    if (m->const_bytes + need > m->const_capacity) {
        m->const_capacity = (m->const_bytes + need) * 2;
        uint8_t *grown = sim_alloc_aligned(m->const_capacity);
        if (m->consts)
            memcpy(grown, m->consts, m->const_bytes);
        free(m->consts);
        m->consts = grown;
    }
    ref.at = m->const_bytes + 64;
    m->const_bytes += need;
    uint8_t *data = m->consts + ref.at;
    uint64_t key[2] = { bytes, value };
    memcpy(data - sizeof(key), key, sizeof(key));
    uint32_t all = value ? UINT32_MAX : 0;
    if (!bytes)
        memcpy(data, &all, sizeof(all));
    for (uint32_t l = 0; bytes && l < SIM_WARP; l++)
        memcpy(data + (size_t) l * bytes, &value, bytes);
    p->const_index[slot] = ref.at;
    p->const_count++;
    return ref;
}
