/*
 * pending.c -- see pending.h
 */
#include "trace/graph/pending.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "trace/graph/marks.h"

PendingTable pending_table;

static uint64_t operand_bytes(const Var *v)
{
    uint32_t count;
    (void) var_operands(v, &count);
    return (uint64_t) count * pending_lanes(v) * type_info[v->type].size;
}

static bool is_waiting(const PendingReduction *w)
{
    return var_exists(w->id) && pending_is(var_get(w->id));
}

/* -------------------------------------------------------------- their operands */

static uint32_t *readers_of(const PendingTable *t, VarId operand)
{
    return &t->readers[operand & (t->reader_count - 1)];
}

static void link_operands(PendingTable *t, uint32_t place)
{
    PendingReduction *w = &t->list[place];
    const Var *v = var_get(w->id);
    for (uint32_t k = 0; k < 2 && v->dep[k]; ++k) {
        uint32_t *first = readers_of(t, v->dep[k]);
        w->next[k] = *first;
        *first = 1 + 2 * place + k;
    }
}

/* What is no longer a reduction is nobody's reader. */
static void link_all(PendingTable *t)
{
    memset(t->readers, 0, t->reader_count * sizeof *t->readers);
    for (uint32_t i = 0; i < t->count; ++i)
        if (is_waiting(&t->list[i]))
            link_operands(t, i);
}

/* Room for another one among the readers. */
static bool reserve_readers(PendingTable *t)
{
    enum { LEAST = 64 };
    if (t->count < t->reader_count)
        return true;
    uint32_t count = t->reader_count ? 2 * t->reader_count : LEAST;
    uint32_t *readers = alloc_get(count * sizeof *readers);
    TRY(readers, false);
    alloc_free(t->readers);
    t->readers = readers;
    t->reader_count = count;
    link_all(t);
    return true;
}

/* ------------------------------------------------------------------- the list */

/* Leave out what is no longer a reduction. Indices are given again and again, so that
 * one may stand in the list often: the last time counts. Without memory all stay. */
static void tidy(PendingTable *t)
{
    ErrorRecord before;
    error_save(&before);
    Marks *met = marks_take();
    uint32_t first = t->count;
    for (uint32_t i = t->count; met && i-- > 0;)
        if (is_waiting(&t->list[i]) && !marks_has(met, t->list[i].id)) {
            marks_set(met, t->list[i].id, 0);
            t->list[--first] = t->list[i];
        }
    if (!met) {
        error_restore(&before);
        return;
    }
    marks_return(met);
    t->count -= first;
    memmove(t->list, t->list + first, t->count * sizeof(PendingReduction));
    link_all(t);
}

/* None of them waits any more. */
static void forget_all(PendingTable *t)
{
    if (t->count)
        memset(t->readers, 0, t->reader_count * sizeof *t->readers);
    t->count = 0;
}

bool pending_note(VarId id, uint64_t owner)
{
    enum { FEW = 64 };
    PendingTable *t = &pending_table;
    if (!t->live)
        forget_all(t);
    if (t->count >= FEW && t->count >= 2 * t->live)
        tidy(t);
    t->live++;
    t->bytes += operand_bytes(var_get(id));
    TRY(reserve_readers(t) &&
            vec_reserve(&t->list, &t->capacity, t->count + 1, sizeof(PendingReduction)),
        false);
    t->list[t->count] = (PendingReduction) { .id = id, .owner = owner };
    link_operands(t, t->count++);
    return true;
}

VarId pending_next(uint64_t owner, uint32_t *at)
{
    const PendingTable *t = &pending_table;
    while (t->live && *at < t->count) {
        const PendingReduction *w = &t->list[(*at)++];
        if (w->owner == owner && is_waiting(w))
            return w->id;
    }
    return 0;
}

void pending_forget(const Var *v)
{
    pending_table.live--;
    pending_table.bytes -= operand_bytes(v);
}

bool pending_readers(VarId array, VarIds *out)
{
    const PendingTable *t = &pending_table;
    uint32_t next = t->live && t->count ? *readers_of(t, array) : 0;
    while (next) {
        uint32_t operand = (next - 1) & 1;
        const PendingReduction *w = &t->list[(next - 1) >> 1];
        next = w->next[operand];
        if (!is_waiting(w) || var_get(w->id)->dep[operand] != array)
            continue;
        var_inc(w->id);
        TRY(var_ids_take(out, w->id), false);
    }
    return true;
}

bool pending_note_array(VarId id)
{
    VarIds *list = &pending_table.arrays;
    if (pending_is(var_get(id)) || (list->count && list->ids[list->count - 1] == id))
        return true; /* it is in a list */
    return var_ids_add(list, id);
}

/* Those after one that waits have been evaluated, or are gone, and leave. */
bool pending_arrays_wait(void)
{
    VarIds *list = &pending_table.arrays;
    while (list->count) {
        VarId last = list->ids[list->count - 1];
        if (var_exists(last) && var_get(last)->op != OP_EVALUATED)
            return true;
        list->count--;
    }
    return false;
}

void pending_free(void)
{
    alloc_free(pending_table.list);
    alloc_free(pending_table.readers);
    alloc_free(pending_table.arrays.ids);
    pending_table = (PendingTable){ 0 };
}
