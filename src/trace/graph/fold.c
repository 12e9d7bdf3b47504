/*
 * fold.c -- see fold.h
 */
#include "trace/graph/fold.h"

#include "base/alloc.h"
#include "base/error.h"

FoldTable fold_table;

static uint64_t operand_bytes(const Var *v)
{
    uint32_t count;
    (void) var_operands(v, &count);
    return (uint64_t) count * fold_lanes(v) * type_info[v->type].size;
}

/* Leave out what is no reduction any more. An index that was given to another one may
 * stand in the list twice, which does no harm. */
static void tidy(VarIds *list)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; ++i)
        if (var_exists(list->ids[i]) && fold_is(var_get(list->ids[i])))
            list->ids[kept++] = list->ids[i];
    list->count = kept;
}

bool fold_note(VarId id)
{
    enum { FEW = 64 };
    FoldTable *t = &fold_table;
    if (t->list.count >= FEW && t->list.count >= 2 * t->live)
        tidy(&t->list);
    const Var *v = var_get(id);
    t->live++;
    t->bytes += operand_bytes(v);
    return var_ids_add(&t->list, id);
}

void fold_forget(const Var *v)
{
    fold_table.live--;
    fold_table.bytes -= operand_bytes(v);
}

bool fold_readers(VarId array, VarIds *out)
{
    const VarIds *list = &fold_table.list;
    for (uint32_t i = 0; fold_table.live && i < list->count; ++i) {
        VarId id = list->ids[i];
        const Var *v = var_exists(id) ? var_get(id) : NULL;
        if (!v || !fold_is(v) || (v->dep[0] != array && v->dep[1] != array))
            continue;
        var_inc(id);
        TRY(var_ids_take(out, id), false);
    }
    return true;
}

void fold_free(void)
{
    alloc_free(fold_table.list.ids);
    fold_table = (FoldTable){ 0 };
}
