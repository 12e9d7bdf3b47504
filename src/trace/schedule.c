/*
 * schedule.c -- see schedule.h
 */
#include "trace/schedule.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"

static Group *add_group(Schedule *s, uint32_t size)
{
    TRY(vec_reserve(&s->groups, &s->group_capacity, s->group_count + 1, sizeof(Group)),
        NULL);
    Group *group = &s->groups[s->group_count++];
    memset(group, 0, sizeof(*group));
    group->size = size;
    return group;
}

/* The last group of this size, at or behind 'from'. */
static Group *find_group(Schedule *s, uint32_t size, uint32_t from)
{
    for (uint32_t i = s->group_count; i > from; --i)
        if (s->groups[i - 1].size == size)
            return &s->groups[i - 1];
    return add_group(s, size);
}

static bool add_root(Group *group, VarId id)
{
    TRY(group, false);
    TRY(vec_reserve(&group->roots, &group->root_capacity, group->root_count + 1,
                    sizeof(VarId)), false);
    group->roots[group->root_count++] = id;
    return true;
}

/* The array an effect writes to. */
static Var *target_of(const Var *effect)
{
    uint32_t count;
    const Var *pointer = var_get(var_operands(effect, &count)[0]);
    return var_get(pointer->dep[0]);
}

bool schedule_make(Schedule *schedule, const VarId *vars, uint32_t var_count,
                   const VarId *effects, uint32_t effect_count)
{
    memset(schedule, 0, sizeof(*schedule));
    bool ok = true;
    for (uint32_t i = 0; ok && i < var_count; ++i)
        ok = add_root(find_group(schedule, var_get(vars[i])->size, 0), vars[i]);
    /* 'position' of a target: the last group that writes it. */
    uint32_t stamp = var_new_stamp();
    for (uint32_t i = 0; ok && i < effect_count; ++i) {
        const Var *effect = var_get(effects[i]);
        Var *target = target_of(effect);
        uint32_t last = var_position(target, stamp);
        Group *group =
            find_group(schedule, effect->size, last == UINT32_MAX ? 0 : last);
        ok = add_root(group, effects[i]);
        if (ok) {
            group->effect_count++;
            target->stamp = stamp;
            target->position = (uint32_t) (group - schedule->groups);
        }
    }
    if (!ok) {
        for (uint32_t i = 0; i < schedule->group_count; ++i)
            alloc_free(schedule->groups[i].roots);
        alloc_free(schedule->groups);
        memset(schedule, 0, sizeof(*schedule));
    }
    return ok;
}

void schedule_free(Schedule *schedule)
{
    for (uint32_t i = 0; i < schedule->group_count; ++i) {
        Group *group = &schedule->groups[i];
        for (uint32_t k = 0; k < group->root_count; ++k)
            var_dec(group->roots[k]);
        alloc_free(group->roots);
    }
    alloc_free(schedule->groups);
    memset(schedule, 0, sizeof(*schedule));
}
