/*
 * ad_flow.c -- conditionals and calls, tracked: the functions of ad.h
 *
 * They record with the functions of region.h and keep the tracked outputs beside, for
 * ad_region.h. Where nothing is recorded as a region (a literal condition, modes that
 * run at once) the graph has nothing to cut: results are tracked as selections.
 */
#include "ad/graph/ad_plain.h"
#include "ad/graph/ad_scope.h"
#include "ad/region/ad_cut.h"
#include "ad/region/ad_placeholder.h"
#include "ad/region/ad_region.h"
#include "ad/region/ad_sides.h"
#include "ad/traverse/ad_wait.h"
#include "base/error.h"

/* ---------------------------------------------------------------- lists */

static void drop_all(size_t n, uint64_t *indices)
{
    for (size_t i = 0; i < n; i++) {
        ad_var_dec_ref(indices[i]);
        indices[i] = 0;
    }
}

/* Those that begin now. */
static bool follows(void)
{
    state_lock();
    bool found = ad_open_follows();
    state_unlock();
    return found;
}

/* Plain results of a region that is complete. */
static bool give_plain(bool ok, size_t n, AdPlain *plain, uint64_t *results)
{
    for (size_t k = 0; ok && k < n; k++)
        results[k] = plain->ids[k];
    ad_plain_free(plain);
    return ok;
}

static bool close_region(uint32_t handle, size_t n, uint64_t *results)
{
    state_lock();
    bool ok = ad_region_close(handle, results);
    state_unlock();
    ok = ok && ad_wait_go_on();
    if (!ok)
        drop_all(n, results);
    return ok;
}

/* ---------------------------------------------------------------- conditionals */

/* Are the sides of a conditional bodies? Else there is a selection in the end. */
static bool has_bodies(uint32_t condition)
{
    return jit_flag(JitFlagSymbolicConditionals) &&
           jit_var_state(condition) != VarStateLiteral;
}

uint32_t ad_var_cond_start(const char *name, uint32_t condition)
{
    const bool bodies = has_bodies(condition);
    if (bodies && !follows())
        return jit_var_cond_start(name, condition);
    VarInfo info = { 0 };
    bool ok = jit_var_peek_info(condition, &info);
    VarId around = jit_var_mask_peek(info.backend);
    uint32_t handle = jit_var_cond_start(name, condition);
    if (!handle) {
        jit_var_dec_ref(around);
        return 0;
    }
    state_lock();
    AdOpen *open =
        ad_region_open(handle, REGION_IF, var_get(condition)->device, around, name);
    var_drop(around);
    ok = ok && open;
    if (ok) {
        open->t->condition = condition;
        var_inc(condition);
        open->straight = !bodies;
        open->sides = bodies;
    }
    state_unlock();
    if (!ok)
        jit_record_end(info.backend, handle, 1);
    return ok ? handle : 0;
}

bool ad_var_cond_append(uint32_t cond, size_t n, const uint64_t *outputs)
{
    if (!outputs && n)
        return error_set(JIT_ERROR_ARGUMENT, "ad_var_cond_append(): 'outputs' is NULL");
    AdOpen *open = ad_open_find(cond);
    AdPlain plain;
    bool ok = ad_plain_of(&plain, n, outputs);
    bool fits = open && (!open->t->body_count || open->t->n_out == n);
    if (ok && fits) {
        state_lock();
        ThreadState *ts = state_thread();
        VarId active = ts->mask_count ? ts->masks[ts->mask_count - 1] : 0;
        ok = ad_region_add_body(open, active, n, outputs);
        state_unlock();
    }
    ok = ok && jit_var_cond_append(cond, n, plain.ids);
    ad_plain_free(&plain);
    return ad_region_check(cond, ok);
}

static bool is_pending(uint64_t leaf)
{
    state_lock();
    bool pending = var_pending(var_get(ad_var_index(leaf)));
    state_unlock();
    return pending;
}

/* Before the end. */
static bool join_copies(AdOpen *open, size_t n)
{
    const AdTemplate *t = open->t;
    bool ok = true;
    for (size_t k = 0; t->body_count == 2 && k < n && ok; k++) {
        uint64_t a = t->bodies[0].outputs[k], b = t->bodies[1].outputs[k];
        if ((ad_var_node(a) | ad_var_node(b)) && ad_var_index(a) != ad_var_index(b) &&
            is_pending(a) && is_pending(b)) {
            state_lock();
            ok = ad_sides_join(open, k);
            state_unlock();
        }
    }
    return ok;
}

/* Result 'k', if it is an array that one side has written to, or both have, with all
 * writes: a borrowed leaf. 0: it is not such an array. */
static uint64_t written_array(const AdOpen *open, size_t k, uint32_t result)
{
    const AdTemplate *t = open->t;
    uint64_t a = t->bodies[0].outputs[k], b = t->bodies[1].outputs[k];
    if (a == b || !is_pending(result))
        return 0;
    if (ad_var_index(a) == ad_var_index(b))
        return ad_var_index(b) != result ? 0 : ad_var_node(b) ? b : a;
    return ad_var_index(a) == result ? a : ad_var_index(b) == result ? b : 0;
}

/* Writes that were not tracked hide what the array depends on. */
static bool check_arrays(const AdOpen *open, size_t n, const uint64_t *results)
{
    const AdTemplate *t = open->t;
    for (size_t k = 0; k < n; k++) {
        uint32_t result = ad_var_index(results[k]);
        uint64_t a = t->bodies[0].outputs[k], b = t->bodies[1].outputs[k];
        if ((ad_var_node(a) | ad_var_node(b)) && written_array(open, k, result) &&
            !ad_open_last_write(open, result))
            return error_set(JIT_ERROR_UNSUPPORTED,
                             "ad_var_cond_end(): conditional '%s': output %zu is an "
                             "array with a derivative, to which a side has written "
                             "without one: its derivative is not available",
                             t->name, k);
    }
    return true;
}

/* The results of a conditional whose sides are not bodies: a selection. */
static bool select_results(AdOpen *open, size_t n, uint64_t *results)
{
    const AdTemplate *t = open->t;
    VarInfo info;
    TRY(jit_var_peek_info(t->condition, &info), false);
    for (size_t k = 0; k < n; k++) {
        uint64_t a = t->bodies[0].outputs[k], b = t->bodies[1].outputs[k], result;
        if (!(ad_var_node(a) | ad_var_node(b)))
            continue;
        if (info.state == VarStateLiteral)
            result = ad_var_inc_ref(info.literal ? a : b);
        else if (a == b)
            result = ad_var_inc_ref(a);
        else if (written_array(open, k, ad_var_index(results[k])))
            result = ad_var_inc_ref(written_array(open, k, ad_var_index(results[k])));
        else
            result = ad_var_select(t->condition, a, b);
        TRY(result, false);
        ad_var_dec_ref(results[k]);
        results[k] = result;
    }
    return true;
}

bool ad_var_cond_end(uint32_t cond, uint64_t *results)
{
    AdOpen *open = ad_open_find(cond);
    size_t n = open ? open->t->n_out : 0;
    bool followed = !ad_open_is_plain(cond, &n);
    AdPlain plain;
    bool ok = ad_plain_make(&plain, n) && (!open || join_copies(open, n)) &&
              jit_var_cond_end(cond, plain.ids);
    ok = give_plain(ok, n, &plain, results);
    if (!followed)
        return ok;
    if (ok && open && !open->straight && !check_arrays(open, n, results)) {
        drop_all(n, results);
        ok = false;
    }
    if (ok && open && !open->straight)
        return close_region(cond, n, results);
    bool ended = ok;
    ok = ok && (!open || select_results(open, n, results));
    state_lock();
    if (ok && open)
        ad_region_give_passed(open->t, results);
    ok = ok && ad_region_dissolve(cond);
    if (!ok)
        ad_region_give_up(cond);
    state_unlock();
    ok = ok && ad_wait_go_on();
    if (ended && !ok)
        drop_all(n, results);
    return ok;
}

/* ---------------------------------------------------------------- calls */

uint32_t ad_var_call_start(JitBackend backend, const char *name, uint32_t mask)
{
    if (!follows())
        return jit_var_call_start(backend, name, mask);
    VarId around = jit_var_mask_peek(backend);
    uint32_t handle = jit_var_call_start(backend, name, mask);
    uint32_t active = handle ? jit_var_call_mask(handle) : 0;
    state_lock();
    AdOpen *open = active ? ad_region_open(handle, REGION_CALL, var_get(active)->device,
                                           around, name)
                          : NULL;
    var_drop(around);
    if (open) {
        /* Placeholders have a scope below that of the first callable. */
        open->t->scope = var_get(active)->scope;
        open->t->mask = mask;
        if (mask)
            var_inc(mask);
    }
    state_unlock();
    jit_var_dec_ref(active);
    if (handle && !open)
        jit_record_end(backend, handle, 1);
    return open ? handle : 0;
}

uint64_t ad_var_call_input(uint32_t call, uint64_t value)
{
    uint32_t index = ad_var_index(value);
    uint32_t placeholder = jit_var_call_input(call, index);
    TRY(placeholder, 0);
    AdOpen *open = ad_open_find(call);
    uint64_t result = placeholder;
    state_lock();
    bool ok = true;
    if (open && placeholder != index)
        ok = ad_template_add_input(open->t, index, placeholder);
    if (ok && open && !ad_graph_is_plain(value)) {
        if (placeholder == index)
            ad_graph_ref(ad_var_node(result = value));
        else
            result = ad_placeholder_input(open->t, value, placeholder);
    }
    state_unlock();
    if (!ok || !result)
        jit_var_dec_ref(placeholder);
    return ok ? result : 0;
}

/* The callable that has been recorded, for the graph. All have the same mask. */
static bool add_callable(AdOpen *open, uint32_t call, size_t n, const uint64_t *outputs)
{
    const AdTemplate *t = open->t;
    if (t->body_count && t->n_out != n)
        return true; /* an error that the recording itself finds */
    uint32_t asked = t->body_count ? 0 : jit_var_call_mask(call);
    VarId active = t->body_count ? t->bodies[0].active : asked;
    state_lock();
    bool ok = active && ad_region_add_callable(open, active, n, outputs);
    state_unlock();
    jit_var_dec_ref(asked);
    return ok;
}

bool ad_var_call_append(uint32_t call, size_t n, const uint64_t *outputs)
{
    if (!outputs && n)
        return error_set(JIT_ERROR_ARGUMENT, "ad_var_call_append(): 'outputs' is NULL");
    AdOpen *open = ad_open_find(call);
    AdPlain plain;
    bool ok = ad_plain_of(&plain, n, outputs) &&
              (!open || add_callable(open, call, n, outputs)) &&
              jit_var_call_append(call, n, plain.ids);
    ad_plain_free(&plain);
    return ad_region_check(call, ok);
}

bool ad_var_call(uint32_t call, uint32_t self, uint32_t n_instances,
                 const uint32_t *ids, const uint32_t *callable_of, uint64_t *results)
{
    AdOpen *open = ad_open_find(call);
    size_t n = open ? open->t->n_out : 0;
    bool followed = !ad_open_is_plain(call, &n);
    AdPlain plain;
    bool ok = ad_plain_make(&plain, n) &&
              jit_var_call(call, self, n_instances, ids, callable_of, plain.ids);
    ok = give_plain(ok, n, &plain, results);
    if (!followed)
        return ok;
    if (ok && open) {
        state_lock();
        open->t->condition = self;
        var_inc(self);
        ok = ad_template_set_targets(open->t, n_instances, ids, callable_of);
        state_unlock();
        if (ok)
            return close_region(call, n, results);
        drop_all(n, results);
    }
    ad_region_check(call, false);
    return ok;
}

/* ---------------------------------------------------------------- giving up */

bool ad_record_end(JitBackend backend, uint32_t record, int cleanup)
{
    bool ok = jit_record_end(backend, record, cleanup);
    if (state_thread()) {
        state_lock();
        ad_region_abandon(record);
        state_unlock();
    }
    return ok;
}
