/*
 * effects.c -- see effects.h
 */
#include "trace/eval/effects.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "trace/graph/region.h"

/* ------------------------------------------------------------------- filtering */

/* Count the writes in the list that go to each array and whose results are not held:
 * 'position' of the array. */
static void count_writes(const VarId *ids, uint32_t count)
{
    uint32_t stamp = var_new_stamp(), targets;
    for (uint32_t i = 0; i < count; ++i) {
        const VarId *target = region_targets(ids[i], &targets);
        for (uint32_t k = 0; k < targets; ++k) {
            Var *array = var_get(target[k]);
            if (array->stamp != stamp)
                array->position = 0;
            array->stamp = stamp;
            array->position += var_get(ids[i])->refs == 1;
        }
    }
}

/* Are the arrays that this effect writes to held by writes of the list only, and does
 * nobody hold the result of one of these (of an atomic, or of a region)? */
static bool is_unobservable(VarId effect)
{
    uint32_t targets;
    const VarId *target = region_targets(effect, &targets);
    if (!targets || region_is_essential(var_get(effect)))
        return false;
    for (uint32_t k = 0; k < targets; ++k) {
        const Var *array = var_get(target[k]);
        uint32_t pending = var_pending(array);
        if (array->refs != pending || array->position != pending)
            return false;
    }
    return true;
}

uint32_t effects_filter(VarId *ids, uint32_t count)
{
    uint32_t kept = 0;
    count_writes(ids, count);
    for (uint32_t i = 0; i < count; ++i) {
        if (!is_unobservable(ids[i])) {
            ids[kept++] = ids[i];
            continue;
        }
        uint32_t targets;
        const VarId *target = region_targets(ids[i], &targets);
        for (uint32_t k = 0; k < targets; ++k)
            var_get(target[k])->position--; /* stays equal to what is pending */
        var_dec(ids[i]);
    }
    return kept;
}

/* ------------------------------------------------------------------- ownership */

ThreadState *effects_writer(VarId array)
{
    for (ThreadState *ts = state.threads; ts; ts = ts->next) {
        for (uint32_t i = 0; i < ts->effect_count; ++i) {
            uint32_t targets;
            const VarId *target = region_targets(ts->effects[i], &targets);
            for (uint32_t k = 0; k < targets; ++k)
                if (target[k] == array)
                    return ts;
        }
    }
    return NULL;
}

ThreadState *effects_owner(VarId effect)
{
    for (ThreadState *ts = state.threads; ts; ts = ts->next)
        for (uint32_t i = 0; i < ts->effect_count; ++i)
            if (ts->effects[i] == effect)
                return ts;
    return NULL;
}

bool effects_foreign_exist(const ThreadState *ts)
{
    for (const ThreadState *t = state.threads; t; t = t->next) {
        if (t == ts)
            continue;
        if (t->evaluating && region_live)
            return true;
        for (uint32_t i = 0; i < t->effect_count; ++i) {
            const Var *v = var_get(t->effects[i]);
            if (v->op == OP_REGION && v->refs > 1)
                return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------- searching */

typedef struct Search {
    uint32_t stamp;
    VarId *stack;
    uint32_t count, capacity;
} Search;

static bool push(Search *s, const VarId *ids, uint32_t count)
{
    TRY(vec_reserve(&s->stack, &s->capacity, s->count + count, sizeof(VarId)), false);
    for (uint32_t i = 0; i < count; ++i) {
        Var *v = ids[i] ? var_get(ids[i]) : NULL;
        if (!v || v->stamp == s->stamp || v->op == OP_EVALUATED || v->op == OP_LITERAL)
            continue;
        v->stamp = s->stamp;
        v->position = 0;
        s->stack[s->count++] = ids[i];
    }
    return true;
}

bool effects_find_foreign(const VarId *vars, uint32_t var_count, const VarId *effects,
                          uint32_t effect_count, VarId *region)
{
    Search s = { .stamp = var_new_stamp() };
    *region = 0;
    bool ok = push(&s, effects, effect_count);
    for (uint32_t i = 0; ok && i < effect_count; ++i)
        var_get(effects[i])->position = 1;
    ok = ok && push(&s, vars, var_count);
    while (ok && s.count && !*region) {
        VarId id = s.stack[--s.count];
        const Var *v = var_get(id);
        uint32_t count;
        const VarId *ids = var_operands(v, &count);
        if (region_is_effect(v) && !v->position)
            *region = id;
        else if (v->op != OP_POINTER) /* of a region, what it has from outside */
            ok = push(&s, ids, v->op == OP_REGION ? v->region->outside : count);
    }
    alloc_free(s.stack);
    return ok;
}
