/*
 * spent.c -- see spent.h
 *
 * Variables are listed with operands before their users, and then looked at from the
 * end: when it is a variable's turn, all that may refer to it have had theirs.
 */
#include "trace/eval/spent.h"

#include "base/alloc.h"
#include "base/error.h"
#include "trace/graph/pending.h"
#include "trace/graph/region_walk.h"

/* All that is reached from the roots; no references. False: out of memory. */
static bool list_all(RegionWalk *w, const Group *group, VarIds *list)
{
    for (uint32_t i = 0; i < group->root_count; ++i) {
        WalkEvent event;
        VarId id;
        region_walk_from(w, group->roots[i]);
        while ((event = region_walk(w, &id)) >= WALK_MET)
            TRY(event == WALK_MET ? region_walk_operands(w, id) : var_ids_add(list, id),
                false);
        TRY(event == WALK_DONE, false);
    }
    return true;
}

static void count_refs(Marks *counts, VarId id, uint32_t refs)
{
    if (marks_has(counts, id))
        marks_set(counts, id, marks_get(counts, id) + refs);
}

/* What a variable that is spent refers to loses these references. */
static void let_go(Marks *counts, const Var *v)
{
    uint32_t count;
    const VarId *ids = var_operands(v, &count);
    for (uint32_t i = 0; i < count && v->op != OP_REGION; ++i)
        count_refs(counts, ids[i], 1);
    if (v->op == OP_COMPRESS)
        count_refs(counts, v->dep[0], pending_spare(v));
}

/* Values are in memory from then on, effects are over. */
static void let_roots_go(Marks *counts, const Group *group)
{
    uint32_t values = group->root_count - group->effect_count;
    for (uint32_t i = 0; i < group->root_count; ++i) {
        const Var *v = var_get(group->roots[i]);
        if (v->op != OP_EVALUATED && (i < values || v->refs == 1))
            let_go(counts, v);
    }
}

static Marks *mark_roots(const Group *group)
{
    Marks *roots = marks_take();
    for (uint32_t i = 0; roots && i < group->root_count; ++i)
        marks_set(roots, group->roots[i], 0);
    return roots;
}

Marks *spent_count(const Group *group)
{
    RegionWalk w;
    VarIds list = { 0 };
    TRY(region_walk_begin(&w), NULL);
    Marks *roots = mark_roots(group);
    bool ok = roots && list_all(&w, group, &list);
    if (ok)
        let_roots_go(w.marks, group);
    for (uint32_t i = list.count; ok && i-- > 0;)
        if (spent_is(w.marks, list.ids[i]) && !marks_has(roots, list.ids[i]))
            let_go(w.marks, var_get(list.ids[i]));
    alloc_free(list.ids);
    marks_return(roots);
    if (ok)
        return region_walk_take(&w);
    region_walk_end(&w);
    return NULL;
}
