/*
 * record.c -- see record.h
 */
#include "trace/graph/record.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "trace/graph/hooks.h"
#include "trace/graph/mask.h"

/* ------------------------------------------------------------------ scopes */

uint32_t record_new_scope(void)
{
    if (state.scopes == UINT32_MAX)
        return (uint32_t) error_set(JIT_ERROR_STATE,
                                    "jit_new_scope(): all %u scopes have been used",
                                    UINT32_MAX);
    return ++state.scopes;
}

uint32_t record_place(const ThreadState *ts, uint32_t deepest)
{
    const Body *body = ts->body;
    uint32_t scope = ts->scope;
    /* A scope that the caller has set keeps what is traced in it. */
    while (body && body->kind == BODY_LOOP && scope == body->scope &&
           deepest < body->scope) {
        scope = body->outer_scope;
        body = body->outer;
    }
    return scope;
}

uint32_t *record_outermost_scope(ThreadState *ts)
{
    Body *body = ts->body;
    while (body && body->outer)
        body = body->outer;
    return body ? &body->outer_scope : &ts->scope;
}

bool record_set_scope(ThreadState *ts, uint32_t scope)
{
    uint32_t least = ts->body ? ts->body->scope : ts->recording;
    if (scope < least || scope > state.scopes)
        return error_set(JIT_ERROR_ARGUMENT,
                         "jit_set_scope(): scope is %u, expected %u to %u", scope,
                         least, state.scopes);
    ts->scope = scope;
    return true;
}

/* ------------------------------------------------------------------ bodies */

bool record_open(ThreadState *ts, Body *body, BodyKind kind, uint8_t device,
                 VarId active)
{
    uint32_t scope = record_new_scope();
    TRY(scope, false);
    TRY(mask_open(ts, active, &body->mask_mark), false);
    body->kind = kind;
    body->device = device;
    body->scope = scope;
    if (!body->handle)
        body->handle = scope;
    body->outer_scope = ts->scope;
    body->outer = ts->body;
    ts->scope = scope;
    ts->body = body;
    return true;
}

/* Take the innermost body off the stack. */
static void leave(ThreadState *ts, Body *body)
{
    ts->body = body->outer;
    ts->scope = body->outer_scope;
}

bool record_set_active(ThreadState *ts, Body *body, VarId active, const char *function)
{
    bool ok = mask_close(ts, body->mask_mark, function);
    if (ok && mask_open(ts, active, &body->mask_mark))
        return true;
    mask_open(ts, 0, &body->mask_mark); /* cannot fail */
    return false;
}

bool record_close(ThreadState *ts, Body *body, const char *function)
{
    leave(ts, body);
    return mask_close(ts, body->mask_mark, function);
}

void record_abandon(ThreadState *ts, Body *body)
{
    Body *inner;
    do {
        inner = ts->body;
        leave(ts, inner);
        mask_drop(ts, inner->mask_mark);
        var_ids_drop(&inner->effects);
        record_settle(ts, inner, false);
        inner->abandon(ts, inner);
    } while (inner != body);
}

Body *record_find(ThreadState *ts, uint32_t handle, BodyKind kind, const char *function)
{
    Body *body = ts->body;
    if (body && body->handle == handle && body->kind == kind)
        return body;
    error_set(JIT_ERROR_ARGUMENT,
              "%s: %u is not the recording that was begun last and is still open",
              function, handle);
    return NULL;
}

/* ----------------------------------------------------------------- effects */

Body *record_keeper(const ThreadState *ts)
{
    Body *body = ts->body;
    while (body && body->kind == BODY_EVALUATED)
        body = body->outer;
    return body;
}

bool record_keeps(const ThreadState *ts) { return record_keeper(ts) != NULL; }

bool record_is_symbolic(const ThreadState *ts)
{
    const Body *body = ts->body;
    while (body && (body->kind == BODY_EVALUATED || body->has_values))
        body = body->outer;
    return body != NULL;
}

bool record_effect(ThreadState *ts, VarId effect)
{
    Body *body = record_keeper(ts);
    if (!body)
        return state_queue(ts, effect);
    return var_ids_add(&body->effects, effect);
}

bool record_hand_over(ThreadState *ts, const VarId *effects, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i) {
        TRY(record_effect(ts, effects[i]), false);
        var_inc(effects[i]);
    }
    return true;
}

/* --------------------------------------------------- effects that ran early */

static bool has_backup(const Body *body, VarId array)
{
    for (uint32_t i = 0; i < body->backups.count; i += 2)
        if (body->backups.ids[i] == array)
            return true;
    return false;
}

/* Should the body around be given up, what was written in this one is taken back, too.
 * Without memory it is not. */
static void pass_on(Body *outer, const VarIds *backups)
{
    for (uint32_t i = 0; i < backups->count; i += 2) {
        VarIds *all = &outer->backups;
        if (has_backup(outer, backups->ids[i]) || !var_ids_add(all, backups->ids[i]))
            continue;
        if (!var_ids_add(all, backups->ids[i + 1])) {
            all->count--;
            continue;
        }
        var_inc(backups->ids[i]);
        var_inc(backups->ids[i + 1]);
    }
}

void record_settle(ThreadState *ts, Body *body, bool ok)
{
    if (!body->backups.count)
        return;
    Body *outer = record_keeper(ts);
    if (!ok)
        hooks.take_back(ts, &body->backups);
    else if (outer && outer->has_values)
        pass_on(outer, &body->backups);
    var_ids_drop(&body->backups);
}

/* ------------------------------------------------- arrays that sides write to */

static bool has_pair(const VarIds *pairs, uint32_t begin, uint32_t end, VarId from,
                     VarId to)
{
    for (uint32_t i = begin; i < end; i += 2)
        if (pairs->ids[i] == from && pairs->ids[i + 1] == to)
            return true;
    return false;
}

static bool note_pair(Body *body, VarId from, VarId to)
{
    VarIds *pairs = &body->written;
    if (has_pair(pairs, body->written_before, pairs->count, from, to))
        return true;
    TRY(var_ids_add(pairs, from), false);
    if (!var_ids_add(pairs, to)) {
        pairs->count--;
        return false;
    }
    var_inc(from);
    var_inc(to);
    return true;
}

bool record_note_written(ThreadState *ts, VarId from, VarId to)
{
    for (Body *body = ts->body; body; body = body->outer)
        TRY(!body->notes_written || note_pair(body, from, to), false);
    return true;
}

uint32_t record_written_holders(const ThreadState *ts, VarId id)
{
    uint32_t holders = 0;
    for (const Body *body = ts->body; body; body = body->outer) {
        for (uint32_t i = 0; i < body->written.count; ++i)
            holders += body->written.ids[i] == id;
        for (uint32_t i = 0; i < body->backups.count; i += 2)
            holders += body->backups.ids[i] == id;
    }
    return holders;
}

bool record_written_before(const ThreadState *ts, VarId from, VarId to)
{
    for (const Body *body = ts->body; body; body = body->outer) {
        const VarIds *pairs = &body->written;
        if (has_pair(pairs, body->written_before, pairs->count, from, to))
            return false;
        if (has_pair(pairs, 0, body->written_before, from, to))
            return true;
    }
    return false;
}

/* ---------------------------------------------------------- complete bodies */

bool record_close_into(ThreadState *ts, Body *body, RecordedBody *out,
                       const char *function)
{
    bool ok = record_close(ts, body, function);
    out->effects = body->effects;
    out->scope = body->scope;
    body->effects = (VarIds){ 0 };
    return ok;
}

bool record_next(ThreadState *ts, Body *body, RecordedBody *out, const char *function)
{
    out->effects = body->effects;
    out->scope = body->scope;
    body->effects = (VarIds){ 0 };
    TRY(mask_check(ts, function), false);
    uint32_t scope = record_new_scope();
    TRY(scope, false);
    body->scope = ts->scope = scope;
    return true;
}

bool record_outputs(RecordedBody *out, size_t count, const VarId *ids)
{
    for (size_t i = 0; i < count; ++i) {
        var_inc(ids[i]);
        TRY(var_ids_take(&out->outputs, ids[i]), false);
    }
    return true;
}

/* What a message calls a part of a region. */
static void name_part(char *out, size_t size, const RecordPart *part)
{
    const Var *v = var_get(part->id);
    if (part->role)
        snprintf(out, size, part->role, part->number);
    else
        snprintf(out, size, "%sr%u", v->op == OP_PRINT           ? "print "
                                     : v->type == VarTypeVoid ? "write "
                                                              : "", part->id);
}

bool record_join_size(RecordSize *s, VarId id, const char *role, uint32_t number)
{
    const RecordPart part = { id, role, number };
    const Var *v = var_get(id);
    uint32_t n = var_lanes(v);
    TRY(v->device == s->device ||
        node_same_device(s->device, v->device, "%s '%s': operands", s->what, s->name),
        false);
    if (n == 1 || n == s->size)
        return true;
    if (s->size != 1) {
        char first[64], name[64];
        name_part(first, sizeof first, &s->first);
        name_part(name, sizeof name, &part);
        char places[NODE_PLACES];
        node_places(places, s->first.id, id);
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s '%s': %s has %u entries and %s has %u entries, expected "
                         "equal sizes or 1%s", s->what, s->name, first, s->size, name,
                         n, places);
    }
    s->size = n;
    s->first = part;
    return true;
}

bool record_join_sizes(RecordSize *s, const VarId *ids, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
        TRY(record_join_size(s, ids[i], NULL, 0), false);
    return true;
}

bool record_join_body(RecordSize *s, const RecordedBody *body)
{
    return record_join_sizes(s, body->outputs.ids, body->outputs.count) &&
           record_join_sizes(s, body->effects.ids, body->effects.count);
}

void record_release(RecordedBody *body)
{
    var_ids_drop(&body->outputs);
    var_ids_drop(&body->effects);
}

/* -------------------------------------------------- recording by the caller */

static void abandon_record(ThreadState *ts, Body *body)
{
    (void) ts;
    alloc_free(body->name);
    alloc_free(body);
}

uint32_t record_begin(ThreadState *ts, uint8_t device, const char *name,
                      bool has_values)
{
    Body *body = alloc_zero(1, sizeof(Body));
    TRY(body, 0);
    body->abandon = abandon_record;
    body->has_values = has_values;
    body->name = alloc_string(name ? name : "");
    if (body->name && record_open(ts, body, BODY_RECORD, device, 0))
        return body->handle;
    abandon_record(ts, body);
    return 0;
}

uint32_t record_checkpoint(const ThreadState *ts)
{
    const Body *body = record_keeper(ts);
    return body ? body->effects.count : ts->effect_count;
}

bool record_rollback(ThreadState *ts, uint32_t checkpoint)
{
    uint32_t count = record_checkpoint(ts);
    if (!record_keeper(ts))
        return error_set(JIT_ERROR_STATE,
                         "jit_record_rollback(): nothing is being recorded");
    if (checkpoint > count)
        return error_set(JIT_ERROR_ARGUMENT,
                         "jit_record_rollback(): checkpoint is %u, expected at most %u",
                         checkpoint, count);
    VarIds *effects = &record_keeper(ts)->effects;
    while (effects->count > checkpoint)
        var_dec(effects->ids[--effects->count]);
    return true;
}

bool record_end(ThreadState *ts, uint32_t handle, bool cleanup)
{
    static const char *const function = "jit_record_end()";
    Body *body = ts->body;
    while (body && body->handle != handle)
        body = body->outer;
    if (!body)
        return error_set(JIT_ERROR_ARGUMENT, "%s: %u is not an open recording",
                         function, handle);
    if (cleanup) {
        record_abandon(ts, body);
        return true;
    }
    if (body->kind != BODY_RECORD || body != ts->body)
        return error_set(JIT_ERROR_STATE, "%s: recording %u %s", function, handle,
                         body == ts->body ? "is a loop, conditional or call, which can "
                                            "only be given up here"
                                          : "has others inside of it that are open");
    bool ok = record_close(ts, body, function) &&
              record_hand_over(ts, body->effects.ids, body->effects.count);
    var_ids_drop(&body->effects);
    record_settle(ts, body, ok);
    body->abandon(ts, body);
    return ok;
}

void record_free(ThreadState *ts)
{
    Body *outermost = ts->body;
    while (outermost && outermost->outer)
        outermost = outermost->outer;
    if (outermost)
        record_abandon(ts, outermost);
}
