/*
 * loop_array.c -- see loop_array.h
 */
#include "trace/graph/loop_array.h"

static void drop(VarId *id)
{
    if (*id)
        var_dec(*id);
    *id = 0;
}

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

VarId loop_array(ThreadState *ts, VarId id)
{
    while (var_exists(id) && var_get(id)->op == OP_STATE && var_get(id)->size != 1) {
        LoopState *s = state_of(ts, id);
        if (!s || s->local)
            break;
        s->whole = true;
        id = s->array;
    }
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

void loop_array_written(ThreadState *ts, VarId id, VarId written)
{
    for (Body *body = ts->body; body; body = body->outer) {
        Loop *loop = (Loop *) body;
        for (uint32_t i = 0; is_loop(body) && i < loop->count; ++i) {
            LoopState *s = &loop->states[i];
            bool candidate = body->kind == BODY_EVALUATED && s->initial == id;
            if (!candidate && (s->array != id || !s->whole))
                continue;
            /* From now on writes hold it, and a reference of ours would make it look
             * shared. */
            s->whole = true;
            s->array = written;
            if (body->kind == BODY_LOOP) {
                drop(&s->initial);
            } else if (s->initial && s->initial != written) {
                var_inc(written);
                drop(&s->written);
                s->written = written;
            }
        }
    }
}

/* Is there one reference beside those of loops that are run at once, and of writes? */
static bool has_one_holder(const ThreadState *ts, VarId id)
{
    uint32_t holders = var_get(id)->refs - var_pending(var_get(id));
    for (const Body *body = ts->body; body; body = body->outer) {
        const Loop *loop = (const Loop *) body;
        for (uint32_t i = 0; body->kind == BODY_EVALUATED && i < loop->count; ++i)
            holders -= loop->states[i].initial == id;
    }
    return holders == 1;
}

/* Our references are not to make the array look shared, or else each write would copy
 * it. What a write means does not depend on who holds what: a variable may be a state
 * and the array that is written to, which the caller keeps elsewhere (equal literals
 * even are one variable). The write goes to a copy then, the initial state is still
 * there, and the next state tells which of both was meant. */
void loop_array_writes(ThreadState *ts, VarId id)
{
    for (Body *body = ts->body; body; body = body->outer) {
        Loop *loop = (Loop *) body;
        for (uint32_t i = 0; body->kind == BODY_EVALUATED && i < loop->count; ++i)
            if (loop->states[i].written == id)
                drop(&loop->states[i].written);
    }
    bool only_caller = var_get(id)->op != OP_LITERAL && has_one_holder(ts, id);
    for (Body *body = ts->body; body; body = body->outer) {
        Loop *loop = (Loop *) body;
        for (uint32_t i = 0; body->kind == BODY_EVALUATED && i < loop->count; ++i) {
            LoopState *s = &loop->states[i];
            if (s->initial != id || !only_caller)
                continue;
            s->whole = true;
            drop(&s->initial);
        }
    }
}
