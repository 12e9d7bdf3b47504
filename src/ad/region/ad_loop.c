/*
 * ad_loop.c -- loops, tracked: the functions of ad.h
 *
 * A loop that runs at once is as many operations as it has iterations: in lanes that
 * are done, a state is what it was before the iteration. Lanes are not taken out of a
 * loop with tracked states, since derivatives need their values. A tracked state has a
 * node of its own in the body, as a placeholder has, so that scopes there (ad_scope.h)
 * tell it from what it was before. The border is after these nodes: traversals in the
 * body stop at them.
 *
 * Of a loop that is recorded the results are those of one operation (ad_region.h). Each
 * state that can have a derivative is tracked in the body, whether it is before or
 * not: the first iteration may make it depend on what is.
 */
#include "ad/graph/ad_plain.h"
#include "ad/graph/ad_scope.h"
#include "ad/region/ad_placeholder.h"
#include "ad/region/ad_region.h"
#include "ad/traverse/ad_wait.h"
#include "base/alloc.h"
#include "base/error.h"
#include "trace/graph/loop_array.h"
#include "trace/graph/mask.h"

/* The first state that begins as state 'k' does. */
static size_t first_like(const AdLoop *loop, size_t k)
{
    size_t first = 0;
    while (loop->initial[first] != loop->initial[k])
        ++first;
    return first;
}

/* Copies of the states, of those that begin as one a single one: the body may exchange
 * them. What is suspended stays so. */
static bool make_own(AdLoop *loop)
{
    TRY(loop->own = ad_region_retain_list(loop->n, loop->initial), false);
    for (size_t k = 0; k < loop->n; k++) {
        uint64_t *leaf = &loop->own[k];
        const size_t first = ad_graph_is_plain(*leaf) ? k : first_like(loop, k);
        if (first < k) {
            ad_graph_release(*leaf);
            *leaf = loop->own[first];
            ad_graph_retain(*leaf);
        } else if (!ad_graph_is_plain(*leaf)) {
            const bool tracks = ad_scope_tracks(*leaf);
            TRY(ad_placeholder_own_node(leaf), false);
            NodeId own = ad_var_node(*leaf);
            TRY(tracks ? ad_scope_admit(own) : ad_scope_suspend(own), false);
        } else if (ad_var_node(*leaf)) {
            ad_graph_unref(ad_var_node(*leaf));
            *leaf = ad_var_index(*leaf);
        }
    }
    return true;
}

static AdLoop *make_loop(JitBackend backend, size_t n, const uint64_t *states)
{
    AdLoop *loop = alloc_zero(1, sizeof(AdLoop));
    TRY(loop, NULL);
    loop->backend = backend;
    loop->evaluated = !jit_flag(JitFlagSymbolicLoops);
    loop->n = n;
    loop->initial = ad_region_retain_list(n, states);
    if (loop->initial && (!loop->evaluated || make_own(loop)))
        return loop;
    ad_region_free_loop(loop);
    return NULL;
}

/* The states of a loop that runs at once begin as they are. */
static void begin_evaluated(const AdLoop *loop, const uint32_t *given, uint64_t *states)
{
    for (size_t k = 0; k < loop->n; k++) {
        states[k] = loop->own[k] >> 32 << 32 | given[k];
        if (ad_var_node(states[k]))
            ad_graph_ref(ad_var_node(states[k]));
    }
}

/* Can a state that begins so be tracked in the body? */
static bool may_track(uint64_t initial)
{
    return ad_graph_count() && (!ad_scope_refuses() || ad_scope_gives(initial));
}

/* The placeholders of a loop that is recorded, whose references move. */
static bool begin_recorded(AdTemplate *t, const AdLoop *loop, const uint32_t *given,
                           const bool *differentiated, uint64_t *states)
{
    for (size_t k = 0; k < loop->n; k++) {
        const Var *v = var_get(given[k]);
        bool own = v->type >= VarTypeFloat16 &&
                   (!differentiated || differentiated[k]) &&
                   may_track(loop->initial[k]);
        uint64_t leaf = ad_placeholder_state(t, loop->initial[k], given[k], own);
        TRY(leaf, false);
        states[k] = leaf;
    }
    return true;
}

/* 'given' are the plain variables that the body begins with, whose references move. */
static bool begin_states(AdOpen *open, const uint32_t *given,
                         const bool *differentiated, uint64_t *states)
{
    AdLoop *loop = open->loop;
    if (loop->evaluated)
        begin_evaluated(loop, given, states);
    else
        TRY(begin_recorded(open->t, loop, given, differentiated, states), false);
    return (loop->before = ad_region_retain_list(loop->n, states)) != NULL;
}

/* References to nodes of states whose variables the core has taken over. */
static void drop_nodes(size_t n, const uint64_t *states)
{
    for (size_t i = 0; i < n; i++)
        if (ad_var_node(states[i]))
            ad_graph_unref(ad_var_node(states[i]));
}

/* The mask of the condition is on top now, that of the body when it is there. */
static AdOpen *open_loop(AdLoop *loop, uint32_t handle, const char *name,
                         int64_t max_iterations, VarId around)
{
    uint8_t device = state_thread()->body->device;
    AdOpen *open = ad_region_open(handle, REGION_LOOP, device, around, name);
    TRY(open, NULL);
    open->loop = loop;
    open->straight = loop->evaluated;
    open->t->max_iterations = max_iterations;
    if (!loop->evaluated && (open->t->testing = mask_top(state_thread())))
        var_inc(open->t->testing);
    return open;
}

/* The same for one that is not followed. */
static uint32_t start_plain(JitBackend backend, const char *name, size_t n,
                            uint64_t *states)
{
    AdPlain plain;
    uint32_t handle = ad_plain_of(&plain, n, states)
                          ? jit_var_loop_start(backend, name, n, plain.ids)
                          : 0;
    for (size_t k = 0; handle && k < n; k++)
        states[k] = plain.ids[k];
    ad_plain_free(&plain);
    return handle;
}

uint32_t ad_var_loop_start(JitBackend backend, const char *name, int64_t max_iterations,
                           size_t n, uint64_t *states, const bool *differentiated)
{
    if ((!states && n) || max_iterations < ADLoopUnbounded)
        return (uint32_t) error_set(JIT_ERROR_ARGUMENT,
                                    "ad_var_loop_start(): max_iterations is %lld%s, "
                                    "expected at least %d, or an "
                                    "ADLoopIterations",
                                    (long long) max_iterations,
                                    !states && n ? ", and 'states' is NULL" : "", 0);
    TRY(state_thread(), 0);
    state_lock();
    bool follows = !jit_flag(JitFlagSymbolicLoops) || ad_open_follows();
    AdLoop *loop = follows ? make_loop(backend, n, states) : NULL;
    state_unlock();
    if (!follows)
        return start_plain(backend, name, n, states);
    AdPlain plain;
    bool room = ad_plain_of(&plain, n, states);
    VarId around = jit_var_mask_peek(backend);
    uint32_t handle =
        loop && room ? jit_var_loop_start(backend, name, n, plain.ids) : 0;
    state_lock();
    AdOpen *open =
        handle ? open_loop(loop, handle, name, max_iterations, around) : NULL;
    var_drop(around);
    if (!open)
        ad_region_free_loop(loop);
    if (handle)
        drop_nodes(n, states);
    for (size_t k = 0; handle && k < n; k++)
        states[k] = plain.ids[k];
    bool ok = open && begin_states(open, plain.ids, differentiated, states);
    if (handle && !ok)
        drop_nodes(n, states);
    for (size_t k = 0; handle && k < n && !ok; k++)
        states[k] = plain.ids[k];
    state_unlock();
    ad_plain_free(&plain);
    if (handle && !ok)
        ad_record_end(backend, handle, 1);
    return ok ? handle : 0;
}

int ad_var_loop_cond(uint32_t handle, uint32_t condition)
{
    int again = jit_var_loop_cond(handle, condition);
    AdOpen *open = ad_open_find(handle);
    state_lock();
    if (again < 0)
        ad_region_give_up(handle);
    if (again > 0 && open && !open->loop->evaluated) {
        var_inc(open->t->condition = condition);
        if ((open->loop->active = mask_top(state_thread())))
            var_inc(open->loop->active);
    }
    state_unlock();
    return again;
}

bool ad_var_loop_compress(uint32_t handle, uint64_t *states)
{
    AdOpen *open = ad_open_find(handle);
    size_t n = open ? open->loop->n : 0;
    for (size_t k = 0; k < n; k++)
        if (ad_var_node(states[k]))
            return true;
    AdPlain plain;
    bool ok =
        ad_plain_of(&plain, n, states) && jit_var_loop_compress(handle, plain.ids);
    for (size_t k = 0; k < n && ok; k++)
        states[k] = plain.ids[k];
    ad_plain_free(&plain);
    return ad_region_check(handle, ok);
}

/* Is it an array that the iteration has written to, in lanes that are not done only? */
static bool is_written(size_t k, uint64_t next)
{
    state_lock();
    const Loop *loop = (const Loop *) state_thread()->body;
    const LoopState *s = &loop->states[k];
    const VarId id = ad_var_index(next);
    bool written = loop->body.kind == BODY_EVALUATED && s->whole &&
                   (s->array == id || loop_array_is_copy(s, id));
    state_unlock();
    return written;
}

/* In lanes that are done, states are what they were. */
static bool select_states(const AdLoop *loop, uint64_t *states)
{
    uint32_t active = jit_var_mask_peek(loop->backend);
    bool ok = true;
    for (size_t k = 0; k < loop->n && ok; k++) {
        uint64_t before = loop->before[k];
        if (states[k] == before || !(ad_var_node(states[k]) | ad_var_node(before)) ||
            !active || is_written(k, states[k]))
            continue;
        uint64_t next = ad_var_select(active, states[k], before);
        ok = next != 0;
        if (ok) {
            ad_var_dec_ref(states[k]);
            states[k] = next;
        }
    }
    jit_var_dec_ref(active);
    return ok;
}

/* The loop is over: a state that it has left alone is what it was before. */
static void restore_unchanged(const AdLoop *loop, uint64_t *states)
{
    for (size_t k = 0; k < loop->n; k++) {
        NodeId node = ad_var_node(states[k]);
        if (!node || node != ad_var_node(loop->own[k]))
            continue;
        states[k] = loop->initial[k] >> 32 << 32 | ad_var_index(states[k]);
        ad_graph_ref(ad_var_node(states[k]));
        ad_graph_unref(node);
    }
}

/* An iteration of a loop that runs at once is over: variables are the core's, nodes
 * stay. Traversals of the next one stop at its states: the edges after are those of
 * the results, too. */
static int end_evaluated(AdOpen *open, uint64_t *states)
{
    AdLoop *loop = open->loop;
    size_t n = loop->n;
    uint32_t handle = open->handle;
    TRY(select_states(loop, states), -1);
    AdPlain plain;
    TRY(ad_plain_of(&plain, n, states), -1);
    int status = jit_var_loop_end(handle, plain.ids);
    for (size_t k = 0; k < n && status >= 0; k++)
        states[k] = (states[k] >> 32 << 32) | plain.ids[k];
    ad_plain_free(&plain);
    state_lock();
    if (status == 0) {
        ad_region_drop_list(n, loop->before);
        loop->before = ad_region_retain_list(n, states);
        status = loop->before ? 0 : -1;
        open->border = ad_graph_serial();
    } else if (status > 0) {
        restore_unchanged(loop, states);
        status = ad_region_dissolve(handle) ? 1 : -1;
    }
    state_unlock();
    return status;
}

/* Does the body return state 'k' as it was given, with the node? */
static bool is_left_alone(const AdLoop *loop, const uint64_t *states, size_t k)
{
    return ad_var_node(states[k]) && states[k] == loop->before[k];
}

/* Has the core found that no lane ever enters the loop? Then each result is what there
 * was before. */
static bool is_never_entered(const AdTemplate *t, const uint32_t *results)
{
    for (uint32_t k = 0; k < t->state_count; k++)
        if (results[k] != t->states[k].initial)
            return false;
    return true;
}

/* The result is what the state was before: has the core found that the body passes it
 * on as it is? A literal may be the same in each iteration, with derivatives that are
 * others each time. */
static bool is_kept(VarId result, bool unentered)
{
    return unentered || var_get(result)->op != OP_LITERAL;
}

/* Results are there: what does the body do with the states? One that it leaves alone is
 * no output, and the result is what there was before the loop, also if the core has
 * made a variable of it. False: error recorded. */
static bool note_changes(const AdOpen *open, const AdLoop *loop, const uint64_t *states,
                         bool unentered, uint32_t *results)
{
    AdTemplate *t = open->t;
    for (uint32_t k = 0; k < t->state_count; k++) {
        AdState *s = &t->states[k];
        VarId next = ad_var_index(states[k]);
        bool written = s->array = ad_open_last_write(open, next) != NULL;
        const bool kept = next != s->placeholder && results[k] == s->initial &&
                          is_kept(results[k], unentered);
        s->changes = next != s->placeholder && !written && !kept;
        const bool alone =
            !s->changes && !written && (kept || is_left_alone(loop, states, k));
        TRY(ad_placeholder_settle(t, k, alone, loop->initial[k]), false);
        uint64_t *output = &t->bodies[0].outputs[k];
        if (!alone)
            continue;
        if (ad_var_node(*output))
            ad_graph_unref(ad_var_node(*output));
        *output = ad_var_index(*output);
        var_inc(s->initial);
        var_dec(results[k]);
        results[k] = s->initial;
    }
    return true;
}

/* The loop is complete, and these are its results. */
static bool close_recorded(AdOpen *open, const uint64_t *outputs, uint32_t *results,
                           uint64_t *states)
{
    AdLoop *loop = open->loop;
    open->loop = NULL;
    const bool unentered = is_never_entered(open->t, results);
    bool ok = note_changes(open, loop, outputs, unentered, results);
    for (size_t k = 0; k < loop->n; k++)
        states[k] = results[k];
    if (ok) {
        ok = ad_region_close(open->handle, states);
    } else {
        AdOpen failed = ad_open_pop();
        ad_region_drop(&failed);
    }
    for (size_t k = 0; ok && k < loop->n; k++)
        if (states[k] == ad_var_index(loop->initial[k]) &&
            ad_var_node(loop->initial[k]) &&
            (is_left_alone(loop, outputs, k) ||
             (is_kept(results[k], unentered) &&
              ad_var_index(outputs[k]) != ad_var_index(loop->before[k]))))
            ad_graph_ref(ad_var_node(states[k] = loop->initial[k]));
    ad_region_free_loop(loop);
    return ok;
}

static int end_recorded(AdOpen *open, uint64_t *states)
{
    size_t n = open->loop->n;
    uint32_t handle = open->handle;
    uint64_t *outputs = ad_region_retain_list(n, states);
    AdPlain plain;
    int status = -1;
    bool ok = ad_plain_of(&plain, n, states) && outputs;
    state_lock();
    ok = ok && ad_region_add_body(open, open->loop->active, n, outputs);
    state_unlock();
    if (ok)
        status = jit_var_loop_end(handle, plain.ids);
    state_lock();
    open = ad_open_find(handle);
    if (status > 0) {
        drop_nodes(n, states);
        if (!close_recorded(open, outputs, plain.ids, states))
            status = -1;
    }
    ad_region_drop_list(n, outputs);
    state_unlock();
    ad_plain_free(&plain);
    return status;
}

/* A loop that is not followed. What its body has tracked ends here. */
static int end_plain(uint32_t handle, size_t n, uint64_t *states)
{
    AdPlain plain;
    int status =
        ad_plain_of(&plain, n, states) ? jit_var_loop_end(handle, plain.ids) : -1;
    if (status > 0) {
        state_lock();
        drop_nodes(n, states);
        state_unlock();
    }
    for (size_t k = 0; status > 0 && k < n; k++)
        states[k] = plain.ids[k];
    ad_plain_free(&plain);
    return status;
}

int ad_var_loop_end(uint32_t handle, uint64_t *states)
{
    AdOpen *open = ad_open_find(handle);
    size_t n;
    if (ad_open_is_plain(handle, &n))
        return end_plain(handle, n, states);
    if (!open)
        return error_set(
                   JIT_ERROR_STATE,
                   "ad_var_loop_end(): there is no loop with the handle %u, or it "
                   "is not the innermost recording",
                   handle) -
               1;
    int status = open->loop->evaluated ? end_evaluated(open, states)
                                       : end_recorded(open, states);
    if (status > 0 && !ad_wait_go_on())
        status = -1;
    ad_region_check(handle, status >= 0);
    return status;
}
