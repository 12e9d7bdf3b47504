/*
 * loop_array.c -- see loop_array.h
 */
#include "trace/graph/loop_array.h"

#include "base/error.h"

static LoopState *state_of(ThreadState *ts, VarId id)
{
    const Var *v = var_get(id);
    for (Body *body = ts->body; body; body = body->outer)
        if (body->kind == BODY_LOOP && v->scope == body->scope) {
            Loop *loop = (Loop *) body;
            return loop->states[v->aux].placeholder == id ? &loop->states[v->aux]
                                                          : NULL;
        }
    return NULL;
}

/* The state of a loop that is accessed by index, if 'id' is one. */
static LoopState *whole_state_of(ThreadState *ts, VarId id)
{
    if (!var_exists(id) || var_get(id)->op != OP_STATE || var_lanes_of(id) == 1)
        return NULL;
    LoopState *s = state_of(ts, id);
    return s && !s->local ? s : NULL;
}

/* The array behind 'id': behind the state of a loop may be that of the one around. */
static VarId find_array(ThreadState *ts, VarId id)
{
    LoopState *s;
    while ((s = whole_state_of(ts, id)) != NULL) {
        s->whole = true;
        id = s->array;
    }
    return id;
}

VarId loop_array_begin(ThreadState *ts, VarId id)
{
    const LoopState *s;
    while ((s = whole_state_of(ts, id)) != NULL)
        id = s->array;
    return id;
}

VarId loop_array(ThreadState *ts, VarId id)
{
    id = find_array(ts, id);
    for (Body *body = ts->body; body; body = body->outer) {
        Loop *loop = (Loop *) body;
        for (uint32_t i = 0; body->kind == BODY_EVALUATED && i < loop->count; ++i)
            loop->states[i].whole |= loop->states[i].initial == id;
    }
    return id;
}

static bool is_loop(const Body *body)
{
    return body->kind == BODY_LOOP || body->kind == BODY_EVALUATED;
}

bool loop_array_is_copy(const LoopState *s, VarId id)
{
    for (uint32_t i = 0; i < s->written.count; ++i)
        if (s->written.ids[i] == id)
            return true;
    return false;
}

/* The write goes to a copy: which of these arrays the state is from now on, the next
 * state tells. */
static bool note_copy(LoopState *s, VarId written)
{
    if (loop_array_is_copy(s, written))
        return true;
    var_inc(written);
    return var_ids_take(&s->written, written);
}

static bool is_written(const LoopState *s)
{
    return !s->initial || s->array != s->initial;
}

bool loop_array_settled(ThreadState *ts, VarId target, VarId id, bool *again)
{
    bool written = false;
    *again = false;
    for (VarId link = target; !written && link != id;) {
        const LoopState *s = whole_state_of(ts, link);
        if (!s)
            break;
        written = is_written(s);
        link = s->array;
    }
    if (!written)
        return true;
    *again = record_written_before(ts, target, id);
    return *again ||
           error_set(JIT_ERROR_UNSUPPORTED,
                     "jit_var_scatter(): r%u is the state of a loop as it was before "
                     "the body wrote to it: within a loop there is no memory for such "
                     "a copy", target);
}

/* The states that 'target' is become arrays that are written to. */
static bool write_states(ThreadState *ts, VarId target, VarId id, VarId written)
{
    LoopState *s;
    while ((s = whole_state_of(ts, target)) != NULL) {
        TRY(record_note_written(ts, target, written), false);
        target = s->array;
        s->whole = true;
        s->array = written;
        if (s->initial && var_get(s->initial)->op != OP_STATE)
            var_clear(&s->initial); /* from now on writes hold it */
    }
    return record_note_written(ts, id, written);
}

/* Several states may begin as one variable. A write to one of them is none to the
 * others. */
bool loop_array_written(ThreadState *ts, VarId target, VarId id, VarId written)
{
    bool named = whole_state_of(ts, target) != NULL;
    TRY(write_states(ts, target, id, written), false);
    for (Body *body = ts->body; body; body = body->outer) {
        Loop *loop = (Loop *) body;
        for (uint32_t i = 0; is_loop(body) && i < loop->count; ++i) {
            LoopState *s = &loop->states[i];
            bool candidate = body->kind == BODY_EVALUATED &&
                             (s->initial == id || loop_array_is_copy(s, id));
            if (!candidate && (s->array != id || !s->whole || named))
                continue;
            s->whole = true;
            s->array = written;
            if (s->initial == written ||
                (body->kind == BODY_LOOP && s->initial &&
                 var_get(s->initial)->op != OP_STATE))
                var_clear(&s->initial); /* from now on writes hold it */
            else if (body->kind == BODY_EVALUATED && s->initial)
                TRY(note_copy(s, written), false);
        }
    }
    return true;
}

void loop_array_replaced(ThreadState *ts, VarId from, VarId to)
{
    for (Body *body = ts->body; body; body = body->outer) {
        Loop *loop = (Loop *) body;
        for (uint32_t i = 0; is_loop(body) && i < loop->count; ++i) {
            LoopState *s = &loop->states[i];
            s->array = s->array == from ? to : s->array;
            for (uint32_t k = 0; k < s->written.count; ++k)
                if (s->written.ids[k] == from) {
                    var_inc(to);
                    var_dec(from);
                    s->written.ids[k] = to;
                }
        }
    }
}

uint32_t loop_array_holders(const ThreadState *ts, VarId id)
{
    uint32_t holders = record_written_holders(ts, id);
    for (const Body *body = ts->body; body; body = body->outer) {
        const Loop *loop = (const Loop *) body;
        for (uint32_t i = 0; body->kind == BODY_EVALUATED && i < loop->count; ++i) {
            const LoopState *s = &loop->states[i];
            holders += (s->initial == id) + loop_array_is_copy(s, id);
        }
    }
    return var_get(id)->op == OP_LITERAL ? 0 : holders;
}
