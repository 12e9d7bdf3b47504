/*
 * effects.c -- see effects.h
 */
#include "trace/eval/effects.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "trace/eval/work.h"
#include "trace/graph/node.h"
#include "trace/graph/region.h"
#include "trace/graph/region_walk.h"
#include "trace/graph/watch.h"

/* ------------------------------------------------------------------- filtering */

/* Count the writes in the list that go to each array and whose results are not held.
 * Without memory nothing is counted, so nothing is dropped. */
static Marks *count_writes(const VarId *ids, uint32_t count)
{
    Marks *written = marks_take();
    uint32_t targets;
    for (uint32_t i = 0; written && i < count; ++i) {
        const VarId *target = region_targets(ids[i], &targets);
        for (uint32_t k = 0; k < targets; ++k) {
            uint32_t before =
                marks_has(written, target[k]) ? marks_get(written, target[k]) : 0;
            marks_set(written, target[k], before + (var_get(ids[i])->refs == 1));
        }
    }
    return written;
}

/* Are the arrays that this effect writes to held by writes of the list only, and does
 * nobody hold the result of one of these (of an atomic, or of a region)? */
static bool is_unobservable(VarId effect, const Marks *written)
{
    uint32_t targets;
    const VarId *target = region_targets(effect, &targets);
    if (!written || !targets || region_is_essential(var_get(effect)))
        return false;
    for (uint32_t k = 0; k < targets; ++k) {
        const Var *array = var_get(target[k]);
        uint32_t pending = var_pending(array);
        if (array->refs != pending || marks_get(written, target[k]) != pending)
            return false;
    }
    return true;
}

uint32_t effects_filter(VarId *ids, uint32_t count)
{
    uint32_t kept = 0;
    Marks *written = count_writes(ids, count);
    for (uint32_t i = 0; i < count; ++i) {
        if (!is_unobservable(ids[i], written)) {
            ids[kept++] = ids[i];
            continue;
        }
        uint32_t targets;
        const VarId *target = region_targets(ids[i], &targets);
        for (uint32_t k = 0; k < targets; ++k) /* stays equal to what is pending */
            marks_set(written, target[k], marks_get(written, target[k]) - 1);
        var_dec(ids[i]);
    }
    marks_return(written);
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

bool effects_others_write(const ThreadState *ts, VarId array)
{
    for (const ThreadState *t = state.threads; t; t = t->next)
        for (uint32_t i = 0; t != ts && i < t->effect_count; ++i) {
            uint32_t count;
            const VarId *target = region_targets(t->effects[i], &count);
            while (count-- > 0)
                if (target[count] == array)
                    return true;
        }
    return false;
}

ThreadState *effects_owner(VarId effect)
{
    for (ThreadState *ts = state.threads; ts; ts = ts->next)
        for (uint32_t i = 0; i < ts->effect_count; ++i)
            if (ts->effects[i] == effect)
                return ts;
    return NULL;
}

/* The pointer of a recorded write to this array, 0: none; if it can be, of one that
 * knows where it was made. Bodies that are complete, but no part of a region yet, are
 * in no list, hence the search. */
static VarId find_write(VarId array)
{
    VarId found = 0;
    for (VarId id = 1; id < var_table.end; ++id) {
        const Var *v = var_get(id);
        if (!v->refs || v->op != OP_POINTER || !v->aux || v->dep[0] != array)
            continue;
        const Extra *extra = extra_find(v);
        if (extra && extra->file)
            return id;
        found = id;
    }
    return found;
}

static bool keeps_write(const Body *body, VarId array)
{
    for (uint32_t i = 0; i < body->effects.count; ++i) {
        uint32_t count;
        const VarId *targets = region_targets(body->effects.ids[i], &count);
        while (count-- > 0)
            if (targets[count] == array)
                return true;
    }
    return false;
}

/* The open body that has this write, or whose other side has; NULL: not known. */
static const Body *find_body(VarId pointer)
{
    const Var *v = var_get(pointer);
    for (const ThreadState *ts = state.threads; ts; ts = ts->next)
        for (const Body *body = ts->body; body; body = body->outer)
            if (v->scope == body->scope || v->scope == body->handle ||
                keeps_write(body, v->dep[0]))
                return body;
    return NULL;
}

bool effects_refuse_read(const ThreadState *ts, VarId array)
{
    static const char *const kinds[] = {
        [BODY_RECORD] = "recording", [BODY_LOOP] = "loop", [BODY_SIDE] = "conditional",
        [BODY_CALLABLE] = "call", [BODY_EVALUATED] = "loop"
    };
    char read[300] = "", write[300] = "";
    VarId pointer = find_write(array);
    const Extra *extra = pointer ? extra_find(var_get(pointer)) : NULL;
    const Body *body = pointer ? find_body(pointer) : NULL;
    if (ts->file)
        snprintf(read, sizeof(read), " (%s:%u)", ts->file, ts->line);
    if (extra && extra->file)
        snprintf(write, sizeof(write), " (%s:%u)", extra->file, extra->line);
    const char *name = body ? body->name : "", *quote = name[0] ? "'" : "";
    return error_set(JIT_ERROR_STATE,
                     "jit_eval(): r%u cannot be read now%s: %s %s%s%s%sthat is being "
                     "traced writes to it%s; read it when that has ended", array, read,
                     body ? kinds[body->kind] : "a loop, conditional or call", quote,
                     name, quote, name[0] ? " " : "", write);
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

/* ------------------------------------------------------------------- run early */

static bool writes_to(const VarIds *effects, VarId array)
{
    for (uint32_t i = 0; effects && i < effects->count; ++i) {
        uint32_t count;
        const VarId *targets = region_targets(effects->ids[i], &count);
        while (count-- > 0)
            if (targets[count] == array)
                return true;
    }
    return false;
}

bool effects_are_kept(const ThreadState *ts, VarId array)
{
    bool found = false;
    for (const Body *body = ts->body; body; body = body->outer) {
        if (body->kind != BODY_EVALUATED && !body->has_values)
            return false;
        found |= writes_to(&body->effects, array) || writes_to(body->before, array);
    }
    return found;
}

static bool back_up(ThreadState *ts, VarIds *backups, VarId array)
{
    for (uint32_t i = 0; i < backups->count; i += 2)
        if (backups->ids[i] == array)
            return true;
    const Var *v = var_get(array);
    if (v->op != OP_EVALUATED)
        return true;
    watcher.size_of(ts, array);
    VarId copy = work_duplicate(ts, array);
    TRY(copy, false);
    if (!var_ids_take(backups, copy))
        return false;
    if (!var_ids_add(backups, array)) {
        var_dec(backups->ids[--backups->count]);
        return false;
    }
    var_inc(array);
    backups->ids[backups->count - 1] = copy;
    backups->ids[backups->count - 2] = array;
    return true;
}

bool effects_back_up(ThreadState *ts, VarId array)
{
    Body *body = record_keeper(ts);
    return !body || back_up(ts, &body->backups, array);
}

static bool queue_all(ThreadState *ts, Body *body, VarIds *effects)
{
    uint32_t done = 0;
    bool ok = true;
    for (uint32_t i = 0; ok && effects && i < effects->count; ++i) {
        uint32_t count;
        const VarId *targets = region_targets(effects->ids[i], &count);
        for (uint32_t k = 0; ok && k < count; ++k) {
            ok = back_up(ts, &body->backups, targets[k]);
            targets = region_targets(effects->ids[i], &count);
        }
    }
    while (ok && effects && done < effects->count)
        if ((ok = state_queue(ts, effects->ids[done])) != false)
            done++; /* the queue has the reference */
    if (done) {
        memmove(effects->ids, effects->ids + done,
                (effects->count - done) * sizeof(VarId));
        effects->count -= done;
    }
    return ok;
}

static bool queue_body(ThreadState *ts, Body *body)
{
    return !body || (queue_body(ts, body->outer) && queue_all(ts, body, body->before) &&
                     queue_all(ts, body, &body->effects));
}

bool effects_run_kept(ThreadState *ts)
{
    return queue_body(ts, ts->body);
}

void effects_take_back(ThreadState *ts, const VarIds *pairs)
{
    ErrorRecord before;
    error_save(&before);
    for (uint32_t i = 0; i < pairs->count; i += 2) {
        const Var *array = var_get(pairs->ids[i]), *copy = var_get(pairs->ids[i + 1]);
        if (array->op == OP_EVALUATED && copy->op == OP_EVALUATED)
            work_copy(ts, copy->value.buffer, 0, array->value.buffer, 0,
                      var_bytes(array));
    }
    error_restore(&before);
}

/* ------------------------------------------------------------------- searching */

/* The first region that is met and has effects. False: out of memory. */
static bool find_region(RegionWalk *w, VarId *region)
{
    VarId id;
    while (!*region && (id = region_walk_next(w)) != 0)
        if (region_is_effect(var_get(id)))
            *region = id;
        else
            TRY(region_walk_operands(w, id), false);
    return true;
}

bool effects_find_foreign(const VarId *vars, uint32_t var_count, const VarId *effects,
                          uint32_t effect_count, VarId *region)
{
    RegionWalk w;
    *region = 0;
    TRY(region_walk_begin(&w), false);
    bool ok = true;
    for (uint32_t i = 0; i < effect_count; ++i) /* these are not foreign */
        marks_set(w.marks, effects[i], 0);
    for (uint32_t i = 0; ok && i < effect_count; ++i)
        ok = region_walk_operands(&w, effects[i]) && find_region(&w, region);
    for (uint32_t i = 0; ok && i < var_count; ++i) {
        region_walk_from(&w, vars[i]);
        ok = find_region(&w, region);
    }
    region_walk_end(&w);
    return ok;
}
