/*
 * call_evaluated.c -- see call.h: functions are called for their lanes
 *
 * Those that are needed are, and what they return is gathered. Traversals in them stop
 * at their arguments.
 */
#include "python/array/evaluate.h"
#include "python/base/error.h"
#include "python/base/gil.h"
#include "python/flow/call.h"

bool call_push_mask(Call *call, uint32_t lanes)
{
    static const uint64_t yes = 1, no = 0;
    const size_t none = call->size ? call->size : 1;
    const size_t size = lanes ? jit_var_size(lanes) : none;
    const uint32_t mask =
        jit_var_literal(call->backend, VarTypeBool, lanes ? &yes : &no, size, 0);
    const bool ok = mask && jit_var_mask_push(call->backend, mask);
    jit_var_dec_ref(mask);
    return ok || error_from_core(call->operation, NULL, 0);
}

bool call_pop_mask(Call *call)
{
    return jit_var_mask_pop(call->backend) ||
           (!PyErr_Occurred() && error_from_core(call->operation, NULL, 0));
}

/* What is suspended keeps its derivative, for functions that resume. */
static VarIndex gather_lanes(VarIndex id, uint32_t lanes)
{
    const bool suspended = var_node(id) && !ad_grad_enabled(id);
    if (suspended && !ad_scope_enter(ADScopeResume, 0, NULL))
        return 0;
    const VarIndex entries = ad_var_gather(id, lanes, 0, ReduceModePermute);
    if (!suspended || (ad_scope_leave(true) && ad_scope_suspend_variable(entries)))
        return entries;
    var_unref(entries);
    return 0;
}

/* The entries of some lanes (0: of none) take the place of the arguments' variables. */
static bool select_lanes(Call *call, uint32_t lanes)
{
    Variables own = { 0 };
    bool ok = true;
    for (size_t i = 0; ok && i < call->spread.count; i++) {
        const VarIndex id = call->spread.ids[i];
        const VarIndex entries = !lanes || var_size(id) == 1
                                 ? var_ref(id)
                                 : gather_lanes(id, lanes);
        ok = entries && variables_append(&own, entries);
        if (!entries)
            error_from_core(call->operation, NULL, 0);
        var_unref(entries);
    }
    const size_t size = lanes ? jit_var_size(lanes) : call->size;
    ok = ok && tracker_unite(&call->args, &own, size);
    variables_drop(&own);
    return ok;
}

/* Where the lanes of an instance stand among them: 'mine' is their mask, 'position'
 * their number in ascending order. False: the core's error. */
static bool find_lanes(const Call *call, uint32_t instance, uint32_t *mine,
                       uint32_t *position)
{
    const uint32_t id = jit_var_u32(call->backend, instance);
    const uint32_t same = id ? jit_var_eq(call->ids, id) : 0;
    const uint32_t called =
        same && call->mask ? jit_var_and(same, call->mask) : jit_var_inc_ref(same);
    *mine = called ? jit_var_mask_apply(called, call->size) : 0;
    const uint32_t ones = *mine ? jit_var_cast(*mine, VarTypeUInt32, 0) : 0;
    *position = ones ? jit_var_block_prefix_reduce(ReduceOpAdd, ones,
                                                   (uint32_t) call->size, 1, 0)
                     : 0;
    jit_var_dec_ref(id);
    jit_var_dec_ref(same);
    jit_var_dec_ref(called);
    jit_var_dec_ref(ones);
    return *position;
}

/* 'value' in its lanes, the entries of 'others' (0: zeros) elsewhere; a new reference.
 * What has been scattered could not be read everywhere, so values are gathered. */
static VarIndex merge(VarIndex value, VarIndex others, uint32_t mine, uint32_t position)
{
    static const uint64_t zero;
    const bool one = var_size(value) == 1;
    const VarIndex own =
        one ? var_ref(value) : ad_var_gather(value, position, mine, ReduceModePermute);
    if (!own || (!one && !others))
        return own;
    const VarIndex rest =
        others ? var_ref(others)
               : var_of(jit_var_literal(var_backend(value),
                                        jit_var_type(var_jit(value)), &zero, 1, 0));
    const VarIndex both = rest ? var_select(var_of(mine), own, rest) : 0;
    var_unref(own);
    var_unref(rest);
    return both;
}

/* Put the values that an instance's function has returned into the results. */
static bool merge_lanes(const Call *call, const Tracker *returned,
                        const Variables *values, const JitCallBucket *bucket,
                        Variables *results)
{
    const size_t size = jit_var_size(bucket->index);
    uint32_t mine = 0, position = 0;
    for (size_t i = 0; i < values->count; i++) {
        const size_t own = var_size(values->ids[i]);
        if (own != 1 && own != size)
            return tracker_fail_size(returned, size);
    }
    bool ok = find_lanes(call, bucket->id, &mine, &position);
    for (size_t i = 0; ok && i < values->count; i++) {
        const VarIndex before = i < results->count ? results->ids[i] : 0;
        const VarIndex merged = merge(values->ids[i], before, mine, position);
        ok = merged && (before || variables_append(results, merged));
        if (ok && before) {
            var_unref(before);
            results->ids[i] = merged;
        } else {
            var_unref(merged);
        }
    }
    jit_var_dec_ref(mine);
    jit_var_dec_ref(position);
    return ok || PyErr_Occurred() || error_from_core(call->operation, NULL, 0);
}

static int compare_numbers(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;
    return x < y ? -1 : x > y;
}

/* Which function the instance has: -1 if there is no such instance. */
static int64_t find_function(const Call *call, uint32_t id)
{
    if (!call->numbers)
        return id <= call->instances ? (int64_t) id - 1 : -1;
    const uint32_t *found = bsearch(&id, call->numbers, call->instances, sizeof(id),
                                    compare_numbers);
    return found ? found - call->numbers : -1;
}

/* The same number of entries as the first function's? */
static bool check_lengths(const Call *call, const Variables *values, size_t expected)
{
    return values->count == expected ||
           error_raise(PyExc_RuntimeError, call->operation, NULL, 0,
                       "the functions have returned local arrays of different lengths");
}

/* Reverse traversals within stop at what was there before. */
static bool isolate(const Call *call)
{
    return ad_scope_enter(ADScopeIsolate, 0, NULL) ||
           error_from_core(call->operation, NULL, 0);
}

/* What they have stopped at goes on, unless an exception was raised, which stays. */
static bool end_isolation(const Call *call)
{
    PyObject *raised = error_fetch();
    bool ok;
    GIL_RELEASE_BEGIN
    ok = ad_scope_leave(raised == NULL);
    GIL_RELEASE_END
    if (raised) {
        error_restore(raised);
        return false;
    }
    return !PyErr_Occurred() && (ok || error_from_core(call->operation, NULL, 0));
}

/* Call a function whose arguments have been selected. They are what its traversals stop
 * at, since its results may depend on them as well. */
static Tracker *call_selected(Call *call, uint32_t callable, Variables *values)
{
    if (!isolate(call))
        return NULL;
    PyObject *result = call_function(call, callable);
    Tracker *returned = result ? call_take_returned(call, result) : NULL;
    if (returned && !tracker_spread(returned, values))
        returned = NULL;
    Py_XDECREF(result);
    return end_isolation(call) ? returned : NULL;
}

/* Call a function with the lanes of its instance, or (NULL) with no lanes. 'values'
 * receives what it has returned. */
static Tracker *call_bucket(Call *call, uint32_t callable, const JitCallBucket *bucket,
                            Variables *values)
{
    if (!call_push_mask(call, bucket ? bucket->index : 0))
        return NULL;
    Tracker *returned = select_lanes(call, bucket ? bucket->index : 0)
                            ? call_selected(call, callable, values)
                            : NULL;
    return call_pop_mask(call) ? returned : NULL;
}

static bool run_bucket(Call *call, const JitCallBucket *bucket, Variables *results)
{
    const int64_t callable = find_function(call, bucket->id);
    Variables values = { 0 };
    if (callable < 0)
        return true;
    const Tracker *returned = call_bucket(call, (uint32_t) callable, bucket, &values);
    const bool ok = returned &&
                    check_lengths(call, &values,
                                  results->count ? results->count : values.count) &&
                    merge_lanes(call, returned, &values, bucket, results);
    variables_drop(&values);
    return ok;
}

/* The result of a call that no lane makes: zeros, and no effects. */
static bool run_nobody(Call *call, Variables *results)
{
    static const uint64_t zero;
    Variables values = { 0 };
    bool ok = call_bucket(call, 0, NULL, &values);
    for (size_t i = 0; ok && i < values.count; i++) {
        const VarType type = jit_var_type(var_jit(values.ids[i]));
        const VarIndex none = var_of(
            jit_var_literal(call->backend, type, &zero, call->size, 0));
        ok = none && variables_append(results, none);
        if (!none)
            error_from_core(call->operation, NULL, 0);
        var_unref(none);
    }
    variables_drop(&values);
    return ok;
}

/* The ids with 0 in the place of those that do not exist, in all lanes. */
static uint32_t existing_ids(const Call *call)
{
    const uint32_t bound = jit_var_u32(call->backend, call->bound);
    const uint32_t zero = jit_var_u32(call->backend, 0);
    const uint32_t exists = bound ? jit_var_le(call->ids, bound) : 0;
    const uint32_t ids = exists && zero ? jit_var_select(exists, call->ids, zero) : 0;
    const uint32_t all = ids ? jit_var_resize(ids, call->size) : 0;
    jit_var_dec_ref(bound);
    jit_var_dec_ref(zero);
    jit_var_dec_ref(exists);
    jit_var_dec_ref(ids);
    return all;
}

/* All that is gathered from is evaluated by one kernel. With Debug, ids that do not
 * exist are an error. */
static bool sort_lanes(Call *call, JitCallBucket **buckets, uint32_t *count)
{
    bool ok = true;
    const uint32_t ids = jit_flag(JitFlagDebug) ? jit_var_resize(call->ids, call->size)
                                                : existing_ids(call);
    GIL_RELEASE_BEGIN
    for (size_t i = 0; i < call->spread.count; i++)
        var_schedule(call->spread.ids[i]);
    ok = ids && jit_var_call_reduce(NULL, NULL, call->bound, ids, call->mask,
                                    buckets, count);
    jit_var_dec_ref(ids);
    GIL_RELEASE_END
    return ok || error_from_core(call->operation, NULL, 0);
}

static PyObject *run_buckets(Call *call)
{
    JitCallBucket *buckets;
    uint32_t count;
    Variables results = { 0 };
    if (!tracker_spread(&call->args, &call->spread) ||
        !sort_lanes(call, &buckets, &count))
        return NULL;
    bool ok = true;
    for (uint32_t i = 0; ok && i < count; i++)
        ok = run_bucket(call, &buckets[i], &results);
    jit_var_call_release(buckets, count);
    ok = ok && (call->returned || run_nobody(call, &results)) &&
         tracker_unite(&call->first, &results, call->size);
    variables_drop(&results);
    return ok ? tracker_give(&call->first) : NULL;
}

/* What the functions' traversals have come to goes on after the call, once for all of
 * them. */
static PyObject *run_isolated(Call *call)
{
    if (!isolate(call))
        return NULL;
    PyObject *result = run_buckets(call);
    if (!end_isolation(call))
        Py_CLEAR(result);
    return result;
}

PyObject *call_run_evaluated(Call *call)
{
    const uint32_t record = jit_record_begin_evaluated(call->backend, call->label);
    if (!record)
        return error_from_core(call->operation, NULL, 0), NULL;
    PyObject *result = run_isolated(call), *raised = result ? NULL : error_fetch();
    bool ok;
    GIL_RELEASE_BEGIN
    ok = jit_record_end(call->backend, record, !result);
    GIL_RELEASE_END
    if (!result)
        error_restore(raised);
    if (ok || !result)
        return result;
    Py_DECREF(result);
    return error_from_core(call->operation, NULL, 0);
}
