/*
 * api_region.c -- recordings, scopes, loops and conditionals
 */
#include "api/api.h"
#include "base/error.h"
#include "trace/flow/cond.h"
#include "trace/flow/loop.h"
#include "trace/graph/current.h"
#include "trace/graph/record.h"

/* -------------------------------------------------------------- recordings */

static uint32_t begin(JitBackend backend, const char *name, bool has_values)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    const Device *device = current_device(ts, backend, "jit_record_begin()");
    uint32_t result = device ? record_begin(ts, device->index, name, has_values) : 0;
    api_leave();
    return result;
}

uint32_t jit_record_begin(JitBackend backend, const char *name)
{
    return begin(backend, name, false);
}

uint32_t jit_record_begin_evaluated(JitBackend backend, const char *name)
{
    return begin(backend, name, true);
}

uint32_t jit_record_checkpoint(JitBackend backend)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = 0;
    if (current_device(ts, backend, "jit_record_checkpoint()"))
        result = record_checkpoint(ts);
    api_leave();
    return result;
}

bool jit_record_rollback(JitBackend backend, uint32_t checkpoint)
{
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = current_device(ts, backend, "jit_record_rollback()") &&
              record_rollback(ts, checkpoint);
    api_leave();
    return ok;
}

bool jit_record_end(JitBackend backend, uint32_t record, int cleanup)
{
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = current_device(ts, backend, "jit_record_end()") &&
              record_end(ts, record, cleanup != 0);
    api_leave();
    return ok;
}

/* ------------------------------------------------------------------ scopes */

uint32_t jit_scope(JitBackend backend)
{
    ThreadState *ts = state_thread();
    return ts && current_device(ts, backend, "jit_scope()") ? ts->scope : 0;
}

uint32_t jit_new_scope(JitBackend backend)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t scope = 0;
    if (current_device(ts, backend, "jit_new_scope()"))
        scope = record_new_scope();
    if (scope)
        ts->scope = scope;
    api_leave();
    return scope;
}

bool jit_set_scope(JitBackend backend, uint32_t scope)
{
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = current_device(ts, backend, "jit_set_scope()") &&
              record_set_scope(ts, scope);
    api_leave();
    return ok;
}

/* ------------------------------------------------------------------- loops */

uint32_t jit_var_loop_start(JitBackend backend, const char *name, size_t n,
                            uint32_t *states)
{
    if (!states && n)
        return (uint32_t) api_null("jit_var_loop_start()", "state");
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    const Device *device = current_device(ts, backend, "jit_var_loop_start()");
    uint32_t result = device ? loop_start(ts, device->index, name, n, states) : 0;
    api_leave();
    return result;
}

int jit_var_loop_cond(uint32_t loop, uint32_t condition)
{
    ThreadState *ts = api_enter();
    TRY(ts, -1);
    int result = loop_condition(ts, loop, condition);
    api_leave();
    return result;
}

bool jit_var_loop_compress(uint32_t loop, uint32_t *states)
{
    if (!states)
        return api_null("jit_var_loop_compress()", "state");
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = loop_compress(ts, loop, states);
    api_leave();
    return ok;
}

int jit_var_loop_end(uint32_t loop, uint32_t *states)
{
    ThreadState *ts = api_enter();
    TRY(ts, -1);
    int result = loop_end(ts, loop, states);
    api_leave();
    return result;
}

bool jit_in_loop(void)
{
    ThreadState *ts = api_enter();
    TRY(ts, false);
    const Body *body = ts->body;
    while (body && body->kind != BODY_LOOP)
        body = body->outer;
    api_leave();
    return body != NULL;
}

/* ------------------------------------------------------------ conditionals */

uint32_t jit_var_cond_start(const char *name, uint32_t condition)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = cond_start(ts, name, condition);
    api_leave();
    return result;
}

bool jit_var_cond_append(uint32_t cond, size_t n, const uint32_t *outputs)
{
    if (!outputs && n)
        return api_null("jit_var_cond_append()", "outputs");
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = cond_append(ts, cond, n, outputs);
    api_leave();
    return ok;
}

bool jit_var_cond_end(uint32_t cond, uint32_t *results)
{
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = cond_end(ts, cond, results);
    api_leave();
    return ok;
}
