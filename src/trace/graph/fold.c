/*
 * fold.c -- see fold.h
 */
#include "trace/graph/fold.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"

FoldTable fold_table;

static uint64_t operand_bytes(const Var *v)
{
    uint32_t count;
    (void) var_operands(v, &count);
    return (uint64_t) count * fold_lanes(v) * type_info[v->type].size;
}

static bool is_waiting(const WaitingFold *w)
{
    return var_exists(w->id) && fold_is(var_get(w->id));
}

/* Leave out what is no reduction any more. An index that was given to another one may
 * stand in the list twice, which does no harm. */
static void tidy(FoldTable *t)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < t->count; ++i)
        if (is_waiting(&t->list[i]))
            t->list[kept++] = t->list[i];
    t->count = kept;
}

bool fold_note(VarId id, uint64_t owner)
{
    enum { FEW = 64 };
    FoldTable *t = &fold_table;
    if (t->count >= FEW && t->count >= 2 * t->live)
        tidy(t);
    t->live++;
    t->bytes += operand_bytes(var_get(id));
    TRY(vec_reserve(&t->list, &t->capacity, t->count + 1, sizeof(WaitingFold)), false);
    t->list[t->count++] = (WaitingFold) { id, owner };
    return true;
}

VarId fold_next(uint64_t owner, uint32_t *at)
{
    const FoldTable *t = &fold_table;
    while (t->live && *at < t->count) {
        const WaitingFold *w = &t->list[(*at)++];
        if (w->owner == owner && is_waiting(w))
            return w->id;
    }
    return 0;
}

void fold_forget(const Var *v)
{
    fold_table.live--;
    fold_table.bytes -= operand_bytes(v);
}

bool fold_readers(VarId array, VarIds *out)
{
    const FoldTable *t = &fold_table;
    for (uint32_t i = 0; t->live && i < t->count; ++i) {
        if (!is_waiting(&t->list[i]))
            continue;
        VarId id = t->list[i].id;
        const Var *v = var_get(id);
        if (v->dep[0] != array && v->dep[1] != array)
            continue;
        var_inc(id);
        TRY(var_ids_take(out, id), false);
    }
    return true;
}

void fold_free(void)
{
    alloc_free(fold_table.list);
    fold_table = (FoldTable){ 0 };
}
