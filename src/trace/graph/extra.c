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
static Table names;           /* interned file names: text -> owned copy */

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

void extra_drop(VarId id, Var *v)
{
    Extra *e = &records[v->extra];
    if (e->callback)
        state_defer(e->call, e->callback, id, 1, e->payload);
    else
        alloc_free(e->call);
    VarId expanded = e->expanded;
    VarIds values = e->values; /* which are no tables themselves */
    alloc_free(e->label);
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
        if (names.entries[i].key)
            alloc_free(names.entries[i].value);
    table_free(&names);
    alloc_free(records);
    records = NULL;
    record_count = record_capacity = first_free = 0;
}
