/*
 * extra.c -- see extra.h
 */
#include "trace/graph/extra.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/table.h"
#include "base/vec.h"
#include "trace/graph/state.h"

static Extra *records;        /* records[0] is never used */
static uint32_t record_count, record_capacity;
static uint32_t first_free;
static Table names;           /* interned file names, and what was seen: text -> owned
                                 copy */

Extra *extra_find(const Var *v)
{
    return v->extra ? &records[v->extra] : NULL;
}

Extra *extra_make(Var *v)
{
    if (v->extra)
        return &records[v->extra];
    uint32_t slot = first_free;
    if (slot) {
        first_free = records[slot].next_free;
    } else {
        uint32_t next = record_count ? record_count : 1;
        TRY(vec_reserve(&records, &record_capacity, next + 1, sizeof(Extra)), NULL);
        slot = next;
        record_count = next + 1;
    }
    memset(&records[slot], 0, sizeof(Extra));
    v->extra = slot;
    return &records[slot];
}

bool extra_set_callback(Var *v, VarCallback callback, void *payload)
{
    Extra *e = extra_make(v);
    TRY(e, false);
    if (callback && !e->call)
        TRY(e->call = alloc_get(sizeof(Deferred)), false);
    e->callback = callback;
    e->payload = payload;
    return true;
}

/* ---------------------------------------------------------------- losses */

static void drop_losses(Losses *losses)
{
    if (losses && --losses->refs == 0)
        alloc_free(losses);
}

/* One place in the program is one loss, of which the latest counts; the first one makes
 * room for a new one. */
static void add_loss(Losses *to, const Loss *loss)
{
    uint32_t limit = sizeof(to->list) / sizeof(to->list[0]), i = 0;
    while (i < to->count &&
           (to->list[i].what != loss->what || to->list[i].file != loss->file ||
            to->list[i].line != loss->line))
        i++;
    if (i == limit)
        i = 0;
    if (i < to->count)
        memmove(&to->list[i], &to->list[i + 1], (--to->count - i) * sizeof(Loss));
    to->list[to->count++] = *loss;
}

/* A list that nobody else has; NULL: out of memory. */
static Losses *own_losses(Extra *e)
{
    if (e->losses && e->losses->refs == 1)
        return e->losses;
    Losses *own = alloc_zero(1, sizeof(Losses));
    TRY(own, NULL);
    if (e->losses)
        *own = *e->losses;
    own->refs = 1;
    drop_losses(e->losses);
    return e->losses = own;
}

void extra_add_loss(Var *v, const Loss *loss)
{
    Extra *e = extra_make(v);
    Losses *own = e ? own_losses(e) : NULL;
    if (own)
        add_loss(own, loss);
    else
        error_clear();
}

void extra_inherit_losses(Var *v)
{
    uint32_t count;
    const VarId *ids = var_operands(v, &count);
    for (uint32_t i = 0; i < count; i++) {
        const Extra *from = ids[i] ? extra_find(var_get(ids[i])) : NULL;
        Losses *losses = from ? from->losses : NULL;
        if (!losses)
            continue;
        Extra *e = extra_make(v);
        if (!e) {
            error_clear();
        } else if (!e->losses) {
            losses->refs++;
            e->losses = losses;
        } else if (e->losses != losses) {
            for (uint32_t k = 0; k < losses->count; k++)
                extra_add_loss(v, &losses->list[k]);
        }
    }
}

/* ---------------------------------------------------------------- the end */

void extra_drop(VarId id, Var *v)
{
    Extra *e = &records[v->extra];
    if (e->callback)
        state_defer(e->call, e->callback, id, 1, e->payload);
    else
        alloc_free(e->call);
    VarId expanded = e->expanded;
    VarIds values = e->values; /* which are not tables themselves */
    alloc_free(e->label);
    drop_losses(e->losses);
    memset(e, 0, sizeof(*e));
    e->next_free = first_free;
    first_free = v->extra;
    v->extra = 0;
    if (expanded) {
        extra_find(var_get(expanded))->expanded_of = 0;
        var_dec(expanded);
    }
    var_ids_drop(&values);
}

const char *extra_intern(const char *text)
{
    size_t size = strlen(text) + 1;
    char *known = table_get(&names, text, size);
    if (known)
        return known;
    char *copy = alloc_string(text);
    TRY(copy, NULL);
    if (!table_put(&names, text, size, copy)) {
        alloc_free(copy);
        return NULL;
    }
    return copy;
}

bool extra_seen(const char *text)
{
    if (table_get(&names, text, strlen(text) + 1))
        return true;
    (void) extra_intern(text);
    return false;
}

const char *extra_label(const Var *v)
{
    const Extra *e = extra_find(v);
    return e && e->label ? e->label : "";
}

void extra_describe(VarId id, char *out, size_t size)
{
    const Extra *e = extra_find(var_get(id));
    if (e && e->label && e->file)
        snprintf(out, size, "%s, %s:%u", e->label, e->file, e->line);
    else if (e && e->label)
        snprintf(out, size, "%s", e->label);
    else if (e && e->file)
        snprintf(out, size, "%s:%u", e->file, e->line);
    else
        snprintf(out, size, "r%u", id);
}

void extra_free_all(void)
{
    if (var_table.live)
        return;
    for (uint32_t i = 0; i < names.capacity; ++i)
        if (names.entries[i].size)
            alloc_free(names.entries[i].value);
    table_free(&names);
    alloc_free(records);
    records = NULL;
    record_count = record_capacity = first_free = 0;
}
