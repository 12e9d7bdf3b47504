/*
 * api_call.c -- calls
 */
#include "trace/flow/call.h"

#include "api/api.h"
#include "base/alloc.h"
#include "base/error.h"
#include "trace/graph/current.h"

uint32_t jit_var_call_start(JitBackend backend, const char *name, uint32_t mask)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    const Device *device = current_device(ts, backend, "jit_var_call_start()");
    uint32_t result = device ? call_start(ts, device->index, name, mask) : 0;
    api_leave();
    return result;
}

uint32_t jit_var_call_input(uint32_t call, uint32_t value)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = call_input(ts, call, value);
    api_leave();
    return result;
}

uint32_t jit_var_call_mask(uint32_t call)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = call_mask(ts, call);
    api_leave();
    return result;
}

bool jit_var_call_append(uint32_t call, size_t n, const uint32_t *outputs)
{
    if (n && !outputs)
        return api_null("jit_var_call_append()", "outputs");
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = call_append(ts, call, n, outputs);
    api_leave();
    return ok;
}

bool jit_var_call(uint32_t call, uint32_t self, uint32_t n_instances,
                  const uint32_t *ids, const uint32_t *callable_of, uint32_t *results)
{
    ThreadState *ts = api_enter();
    TRY(ts, false);
    CallTargets targets = { .self = self, .count = n_instances, .ids = ids,
                            .callable_of = callable_of };
    bool ok = call_end(ts, call, &targets, results);
    api_leave();
    return ok;
}

bool jit_var_call_reduce(const char *variant, const char *domain, uint32_t bound,
                         uint32_t self, uint32_t mask, JitCallBucket **buckets,
                         uint32_t *count)
{
    if (!buckets || !count)
        return api_null("jit_var_call_reduce()", buckets ? "count" : "buckets");
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = call_reduce(ts, variant, domain, bound, self, mask, buckets, count);
    api_leave();
    return ok;
}

void jit_var_call_release(JitCallBucket *buckets, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
        jit_var_dec_ref(buckets[i].index);
    alloc_free(buckets);
}
