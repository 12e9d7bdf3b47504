/*
 * loop_array.c -- see loop_array.h
 */
#include "trace/graph/loop_array.h"

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

/* The array behind 'id', and the state that has it, NULL: none. */
static VarId find_array(ThreadState *ts, VarId id, LoopState **last)
{
    *last = NULL;
    while (var_exists(id) && var_get(id)->op == OP_STATE && var_get(id)->size != 1) {
        LoopState *s = state_of(ts, id);
        if (!s || s->local)
            break;
        s->whole = true;
        *last = s;
        id = s->array;
    }
    return id;
}

VarId loop_array(ThreadState *ts, VarId id)
{
    LoopState *last;
    id = find_array(ts, id, &last);
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

/* The write goes to a copy: which of both arrays the state is from now on, the next
 * state tells. */
static void note_copy(LoopState *s, VarId written)
{
    var_inc(written);
    var_clear(&s->written);
    s->written = written;
}

/* Several states may begin as one variable. A write to one of them is none to the
 * others. */
void loop_array_written(ThreadState *ts, VarId target, VarId id, VarId written)
{
    LoopState *named;
    find_array(ts, target, &named);
    for (Body *body = ts->body; body; body = body->outer) {
        Loop *loop = (Loop *) body;
        for (uint32_t i = 0; is_loop(body) && i < loop->count; ++i) {
            LoopState *s = &loop->states[i];
            bool candidate = body->kind == BODY_EVALUATED && s->initial == id;
            if (!candidate && (s->array != id || !s->whole || (named && s != named)))
                continue;
            s->whole = true;
            s->array = written;
            if (body->kind == BODY_LOOP || s->initial == written)
                var_clear(&s->initial); /* from now on writes hold it */
            else if (s->initial && s->written != written)
                note_copy(s, written);
        }
    }
}

uint32_t loop_array_holders(const ThreadState *ts, VarId id)
{
    uint32_t holders = 0;
    for (const Body *body = ts->body; body; body = body->outer) {
        const Loop *loop = (const Loop *) body;
        for (uint32_t i = 0; body->kind == BODY_EVALUATED && i < loop->count; ++i) {
            const LoopState *s = &loop->states[i];
            holders += (s->initial == id) + (s->written == id);
        }
    }
    return var_get(id)->op == OP_LITERAL ? 0 : holders;
}
