/*
 * ad_region.c -- see ad_region.h
 */
#include "ad/region/ad_region.h"

#include "ad/graph/ad_hooks.h"
#include "ad/graph/ad_scope.h"
#include "ad/graph/ad_set.h"
#include "ad/region/ad_active.h"
#include "ad/region/ad_cut.h"
#include "ad/region/ad_placeholder.h"
#include "ad/region/ad_region_depends.h"
#include "ad/region/ad_settle.h"
#include "ad/rule/ad_rule.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "trace/array/array.h"

uint64_t *ad_region_retain_list(size_t n, const uint64_t *list)
{
    uint64_t *copy = alloc_get((n + 1) * sizeof(uint64_t));
    for (size_t i = 0; copy && i < n; i++) {
        copy[i] = list[i];
        ad_graph_retain(list[i]);
    }
    return copy;
}

void ad_region_drop_list(size_t n, uint64_t *list)
{
    for (size_t i = 0; list && i < n; i++)
        ad_graph_release(list[i]);
    alloc_free(list);
}

void ad_region_free_loop(AdLoop *loop)
{
    if (!loop)
        return;
    ad_region_drop_list(loop->n, loop->initial);
    ad_region_drop_list(loop->n, loop->own);
    ad_region_drop_list(loop->n, loop->before);
    var_drop(loop->active);
    alloc_free(loop);
}

void ad_region_drop(AdOpen *open)
{
    for (uint32_t i = 0; i < open->write_count; i++)
        ad_graph_unref(open->writes[i].node);
    alloc_free(open->writes);
    alloc_free(open->untracked);
    ad_border_drop(open->waiting, open->waiting_count);
    ad_border_take_back(open);
    alloc_free(open->lent);
    for (uint32_t i = 0; i < open->plain_count; i++)
        ad_graph_unref(open->plain[i]);
    alloc_free(open->plain);
    ad_region_free_loop(open->loop);
    if (open->t)
        ad_template_free(open->t);
}

static VarId hold(VarId id)
{
    if (id)
        var_inc(id);
    return id;
}

AdOpen *ad_region_open(uint32_t handle, RegionKind kind, uint8_t device, VarId around,
                       const char *name)
{
    AdTemplate *t = alloc_zero(1, sizeof(AdTemplate));
    TRY(t, NULL);
    t->name = alloc_string(name ? name : "unnamed");
    if (!t->name) {
        alloc_free(t);
        return NULL;
    }
    static uint32_t families;
    t->family = ++families;
    t->kind = kind;
    t->device = device;
    t->size.count = 1;
    t->scope = state_thread()->scope;
    t->around = hold(around);
    const AdOpen open = {
        .handle = handle, .border = ad_graph_serial(), .t = t, .name = t->name
    };
    if (ad_open_push(&open))
        return ad_open_find(handle);
    ad_template_free(t);
    return NULL;
}

void ad_region_abandon(uint32_t handle)
{
    AdThread *own = thread_self.ad;
    uint32_t i = own ? own->open_count : 0;
    while (i && own->open[i - 1].handle != handle)
        i--;
    while (i && own->open_count >= i)
        ad_region_drop(&own->open[--own->open_count]);
}

void ad_region_give_up(uint32_t handle)
{
    ThreadState *ts = state_thread();
    ad_region_abandon(handle);
    for (Body *body = ts ? ts->body : NULL; body; body = body->outer)
        if (body->handle == handle) {
            record_abandon(ts, body);
            break;
        }
}

bool ad_region_check(uint32_t handle, bool ok)
{
    if (!ok) {
        state_lock();
        ad_region_give_up(handle);
        state_unlock();
    }
    return ok;
}

static void join_size(AdTemplate *t, VarId id)
{
    const uint32_t size = id ? var_lanes_of(id) : 1;
    if (size > t->size.count || (size == t->size.count && size > 1 && !t->size.origin))
        t->size = ad_size_of_array(id);
}

/* Effects of the body, if the core is recording it. */
static VarIds effects_of(const AdOpen *open)
{
    const Body *body = state_thread()->body;
    return body && body->handle == open->handle ? body->effects : (VarIds){ 0 };
}

/* Atomic exchanges are not part of the graph. */
static bool note_exchanges(const AdOpen *open)
{
    const VarIds effects = effects_of(open);
    for (uint32_t i = 0; i < effects.count && ad_open_in_loop(); i++) {
        uint32_t count, op = var_get(effects.ids[i])->op;
        if (op != OP_SCATTER_EXCH && op != OP_SCATTER_CAS)
            continue;
        const VarId *targets = region_targets(effects.ids[i], &count);
        if (count)
            TRY(ad_open_note_untracked(targets[0]), false);
    }
    return true;
}

/* Room for one more body. */
static bool reserve_body(const AdOpen *open)
{
    AdTemplate *t = open->t;
    return ad_border_check_lent(open) &&
           vec_reserve(&t->bodies, &t->body_capacity, t->body_count + 1,
                       sizeof(AdBodyTemplate)) &&
           note_exchanges(open);
}

static void add_body(AdOpen *open, VarId active, size_t n, uint64_t *outputs)
{
    AdTemplate *t = open->t;
    ad_border_take_back(open);
    const VarIds effects = effects_of(open);
    for (uint32_t i = 0; i < effects.count; i++)
        join_size(t, effects.ids[i]);
    if (active)
        var_inc(active);
    t->n_out = (uint32_t) n;
    t->bodies[t->body_count++] = (AdBodyTemplate){ active, outputs };
    open->body = t->body_count;
}

/* What is suspended is not an output. If all sides return it, it is what they were
 * given. */
static bool note_passed(AdTemplate *t, const uint64_t *outputs)
{
    for (size_t k = 0; k < t->n_out; k++) {
        bool suspended = !ad_graph_is_plain(outputs[k]) && !ad_scope_tracks(outputs[k]);
        if (t->body_count == 1 && suspended) {
            if (!t->passed)
                TRY(t->passed = alloc_zero(t->n_out, sizeof(uint64_t)), false);
            ad_graph_retain(t->passed[k] = outputs[k]);
        } else if (t->passed && t->passed[k] && t->passed[k] != outputs[k]) {
            ad_graph_release(t->passed[k]);
            t->passed[k] = 0;
        }
    }
    return true;
}

void ad_region_give_passed(const AdTemplate *t, uint64_t *results)
{
    for (size_t k = 0; t->passed && k < t->n_out; k++)
        if (t->passed[k] && results[k] == ad_var_index(t->passed[k]))
            ad_graph_ref(ad_var_node(results[k] = t->passed[k]));
}

bool ad_region_add_body(AdOpen *open, VarId active, size_t n, const uint64_t *outputs)
{
    TRY(reserve_body(open), false);
    uint64_t *own = alloc_get((n + 1) * sizeof(uint64_t));
    TRY(own, false);
    for (size_t k = 0; k < n; k++) {
        own[k] = ad_scope_tracks(outputs[k]) ? outputs[k] : ad_var_index(outputs[k]);
        ad_graph_retain(own[k]);
    }
    add_body(open, active, n, own);
    return note_passed(open->t, outputs);
}

bool ad_region_add_callable(AdOpen *open, VarId active, size_t n,
                            const uint64_t *outputs)
{
    AdTemplate *t = open->t;
    size_t k = 0;
    TRY(reserve_body(open), false);
    while (k < n && !ad_scope_tracks(outputs[k]))
        ++k;
    if (!t->untracked)
        TRY(t->untracked = alloc_zero(n + 1, sizeof(uint64_t)), false);
    uint64_t *own = t->untracked;
    if (k < n)
        TRY(own = alloc_zero(n + 1, sizeof(uint64_t)), false);
    for (; k < n; k++)
        if (ad_scope_tracks(outputs[k]))
            ad_graph_retain(own[k] = outputs[k]);
    add_body(open, active, n, own);
    return true;
}

/* ---------------------------------------------------------------- closing */

/* An output whose node is from outside, an entry, or that of another output gets a node
 * of its own in the bodies. */
static bool own_outputs(AdOpen *open)
{
    AdTemplate *t = open->t;
    AdSet taken = ad_set_begin();
    bool ok = true;
    for (uint32_t i = 0; i < t->body_count && ok; i++)
        for (uint32_t k = 0; k < t->n_out && ok; k++) {
            uint64_t *leaf = &t->bodies[i].outputs[k];
            NodeId id = ad_var_node(*leaf);
            if (!id)
                continue;
            if (!ad_cut_is_inside(open, id) || ad_cut_is_whole(id) ||
                ad_set_has(&taken, id))
                ok = ad_placeholder_own_node(leaf);
            else
                ok = ad_set_put(&taken, id);
        }
    alloc_free(taken.nodes);
    return ok;
}

/* The same tracked variable on all sides, from outside: the region has no part in
 * it. */
static bool passes_through(const AdOpen *open, uint32_t k, uint64_t result)
{
    const AdTemplate *t = open->t;
    uint64_t leaf = t->bodies[0].outputs[k];
    for (uint32_t i = 1; i < t->body_count; i++)
        if (t->bodies[i].outputs[k] != leaf)
            return false;
    NodeId node = ad_var_node(leaf);
    return node && ad_var_index(leaf) == result &&
           ad_graph_node(node)->serial < open->border && !ad_cut_is_inside(open, node);
}

/* Results that are arrays which were written to are not values of lanes. */
static void take_arrays(const AdOpen *open, uint64_t *results)
{
    const AdTemplate *t = open->t;
    for (uint32_t k = 0; open->write_count && k < t->n_out; k++) {
        const AdArray *write = ad_open_last_write(open, (VarId) results[k]);
        if (!write)
            continue;
        for (uint32_t i = 0; i < t->body_count; i++) {
            uint64_t *output = &t->bodies[i].outputs[k];
            if (ad_var_node(*output))
                ad_graph_unref(ad_var_node(*output));
            *output = ad_var_index(*output);
        }
        ad_graph_ref(ad_var_node(results[k] = ad_open_leaf(write)));
    }
}

static bool find_tracked(AdOpen *open, uint64_t *results)
{
    AdTemplate *t = open->t;
    t->tracked = alloc_get((t->n_out + 1) * sizeof(uint32_t));
    TRY(t->tracked, false);
    const bool refuses = ad_scope_refuses();
    for (uint32_t k = 0; k < t->n_out; k++) {
        /* In lanes that never enter a loop, a state is what it was before. */
        bool any = t->kind == REGION_LOOP && t->states[k].changes && !refuses &&
                   t->states[k].entry && t->entries[t->states[k].entry - 1].outer;
        for (uint32_t i = 0; i < t->body_count; i++)
            any |= ad_var_node(t->bodies[i].outputs[k]) != 0;
        if (!any || var_get((VarId) results[k])->type < VarTypeFloat16)
            continue;
        if (t->kind != REGION_LOOP && passes_through(open, k, results[k])) {
            results[k] = t->bodies[0].outputs[k];
            ad_graph_ref(ad_var_node(results[k]));
        } else {
            t->tracked[t->tracked_count++] = k;
        }
    }
    return true;
}

/* Does anything outside depend on the template? */
static bool has_outputs(const AdTemplate *t)
{
    bool any = t->tracked_count;
    for (uint32_t i = 0; i < t->array_count; i++)
        any |= t->arrays[i].visible;
    return any;
}

/* Which results of a loop, and arrays, depend on what is tracked? Others are plain. */
static bool keep_active(const AdOpen *open, uint64_t *results)
{
    AdTemplate *t = open->t;
    TRY(ad_active_keep(t), false);
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->tracked_count; i++)
        if (t->states[t->tracked[i]].active)
            t->tracked[n++] = t->tracked[i];
    t->tracked_count = n;
    for (uint32_t i = 0; i < t->array_count; i++) {
        if (ad_graph_node(t->arrays[i].node)->in)
            continue;
        t->arrays[i].visible = false;
        ad_graph_node(open->writes[i].node)->flags |= NODE_PLAIN;
        for (uint32_t k = 0; k < t->n_out; k++)
            if (ad_var_node(results[k]) == open->writes[i].node) {
                results[k] = ad_var_index(results[k]);
                ad_graph_unref(open->writes[i].node);
            }
    }
    return true;
}

/* Arrays that something else writes to without being part of the graph. */
static void find_hidden(const AdOpen *open)
{
    const AdTemplate *t = open->t;
    for (uint32_t k = 0; k < open->untracked_count; k++)
        for (uint32_t i = 0; i < t->array_count; i++)
            t->arrays[i].hidden |= open->writes[i].variable == open->untracked[k];
}

/* Arrays that were written to: outside, their nodes are outputs of the operation; in
 * the bodies others take their place. */
static bool split_arrays(AdOpen *open)
{
    AdTemplate *t = open->t;
    t->arrays = alloc_get((open->write_count + 1) * sizeof(AdArray));
    TRY(t->arrays, false);
    for (uint32_t i = 0; i < open->write_count; i++) {
        NodeId outer = open->writes[i].node;
        NodeId inner = ad_graph_new_like(outer);
        TRY(inner, false);
        t->arrays[t->array_count++] =
            (AdArray){ inner, 0, open->writes[i].body, true, false };
        uint64_t serial = ad_graph_node(inner)->serial;
        ad_graph_node(inner)->serial = ad_graph_node(outer)->serial;
        ad_graph_node(outer)->serial = serial;
        ad_graph_move_edges(outer, inner);
        t->arrays[i].visible = ad_open_is_visible(open, i);
    }
    return true;
}

static bool go_forward(void *payload, uint64_t *in, uint64_t *out, const bool *wanted)
{
    return ad_hooks.derive(payload, ADModeForward, in, out, wanted);
}

/* The list is that of ad_operation_run(), which lets regions take references. */
static bool go_backward(void *payload, uint64_t *in, const uint64_t *out)
{
    return ad_hooks.derive(payload, ADModeBackward, (uint64_t *) out, in, NULL);
}

static const char *kind_of(const AdTemplate *t)
{
    switch (t->kind) {
    case REGION_LOOP:
        return "Loop";
    case REGION_IF:
        return "If";
    default:
        return "Call";
    }
}

static void release_template(void *payload)
{
    state_lock();
    ad_template_free(payload);
    state_unlock();
}

/* A result that has turned out to be the same in all lanes has a gradient in each of
 * them all the same, if it is tracked as something else in some. */
static bool widen_result(const AdTemplate *t, uint64_t *result)
{
    const Var *v = var_get((VarId) *result);
    if (t->size.count == 1 || var_lanes(v) != 1 || v->flags & VAR_LOCAL)
        return true;
    ad_size_announce(t->size);
    VarId wide = array_resize(state_thread(), (VarId) *result, t->size.count);
    TRY(wide, false);
    var_dec((VarId) *result);
    *result = wide;
    return true;
}

static void forget_outer(AdEntry *entry)
{
    if (entry->held)
        ad_graph_unref(entry->outer_node);
    entry->held = false;
    entry->outer = 0;
    entry->outer_node = 0;
}

/* What iterations before have written is not tracked before this region either, but may
 * be in a loop around. That of a state is a node of the bodies. */
static bool connect_before(AdEntry *entry, AdOperation *op, NodeId node, uint32_t which)
{
    if (ad_graph_node(entry->outer_node)->flags & NODE_ENTRY) {
        const uint64_t serial = ad_graph_node(entry->outer_node)->serial;
        NodeId own = ad_graph_new_like(entry->outer_node);
        TRY(own, false);
        ad_graph_node(own)->serial = serial;
        forget_outer(entry);
        entry->outer = serial;
        entry->outer_node = own;
        entry->held = true;
    }
    return ad_operation_add_input(op, node, entry->outer_node, which);
}

/* The result depends on what an entry stands for, if it depends on the entry. That of
 * a loop is a state as it was before in lanes that never enter the loop. */
static bool connect_entry(const AdTemplate *t, AdEntry *entry, AdOperation *op,
                          NodeId node, uint32_t which)
{
    bool passes =
        t->kind == REGION_LOOP && entry->state && t->states[entry->state - 1].changes;
    if (entry->used && entry->forgotten)
        return error_set(JIT_ERROR_STATE,
                         "ad_traverse(): region '%s': input %u is not tracked any more",
                         t->name, which);
    if (!entry->outer)
        return true;
    /* What is read is the content from before the outermost loop. */
    bool reads = entry->access == ACCESS_READ;
    if (entry->used && entry->before && (reads || !ad_open_in_order())) {
        forget_outer(entry);
        return true;
    }
    if (entry->used && entry->before)
        return connect_before(entry, op, node, which);
    if (entry->used || passes)
        return ad_operation_add_input(op, node, entry->outer_node, which);
    forget_outer(entry);
    entry->forgotten = true;
    return true;
}

/* A scope that tracks nothing goes on to do so. */
static bool admit(NodeId result)
{
    return ad_scope_refuses() || ad_scope_admit(result);
}

/* The operation between the outer nodes and those of the results. */
static bool connect(AdOpen *open, uint64_t *results)
{
    AdTemplate *t = open->t;
    const ADCustom custom = { t->name, NULL, go_backward, release_template, NULL };
    NodeId node;
    AdOperation *op = ad_operation_make(&custom, NULL, t->entry_count,
                                        t->tracked_count + t->array_count, &node);
    TRY(op, false);
    bool ok;
    op->depends = ad_region_depends(t, &ok);
    for (uint32_t i = 0; i < t->entry_count && ok; i++) {
        AdEntry *entry = &t->entries[i];
        entry->written =
            entry->array && ad_cut_is_written(t, entry->node, AD_CUT_ANY_BODY);
        ad_graph_node(entry->node)->flags |= NODE_CLOSED;
        ok = connect_entry(t, entry, op, node, i) && ad_placeholder_pass(t, i, node);
    }
    for (uint32_t i = 0; i < t->tracked_count && ok; i++) {
        uint64_t *result = &results[t->tracked[i]];
        if (!(ok = widen_result(t, result)))
            break;
        NodeId out = ad_graph_new_for((VarId) *result);
        if (out)
            ad_size_note_always(out, (VarId) *result);
        ok = out && admit(out) && ad_operation_add_output(op, node, out, i);
        if (ok)
            *result |= (uint64_t) out << 32;
        else if (out)
            ad_graph_unref(out);
    }
    for (uint32_t i = 0; i < t->array_count && ok; i++) {
        NodeId outer = open->writes[i].node;
        if (!t->arrays[i].visible)
            continue;
        ad_graph_renumber(outer);
        ok = admit(outer) &&
             ad_operation_add_output(op, node, outer, t->tracked_count + i);
    }
    while (!ok && ad_graph_node(node)->out)
        ad_graph_drop_edge(ad_graph_node(node)->out);
    while (!ok && ad_graph_node(node)->in)
        ad_graph_drop_edge(ad_graph_node(node)->in);
    if (ok) {
        ad_template_drop_outer(t);
        op->payload = t;
        t->operation = node;
        op->kind = kind_of(t);
        op->arrival = ad_cut_arrival;
        op->forward = go_forward;
        open->t = NULL;
    }
    ad_graph_unref(node);
    ad_graph_drop_held(&op->held);
    return ok;
}

/* Does result 'k' have an entry for each lane, or is it something from outside that has
 * gone through the region? */
static bool is_made(const AdTemplate *t, uint32_t k, VarId result)
{
    if (t->kind == REGION_LOOP)
        return t->states[k].changes && t->states[k].initial != result;
    for (uint32_t i = 0; i < t->body_count; i++)
        if (ad_var_index(t->bodies[i].outputs[k]) == result)
            return false;
    return true;
}

/* The widest of effects (which are counted by now), results and what the region was
 * given. A block has the lanes of the loop that it is in. */
static void find_size(AdTemplate *t, const uint64_t *results)
{
    if (t->block)
        return;
    for (uint32_t k = 0; k < t->n_out; k++)
        if (is_made(t, k, (VarId) results[k]))
            join_size(t, (VarId) results[k]);
    join_size(t, t->condition);
    join_size(t, t->around);
    for (uint32_t k = 0; k < t->inputs.count; k++)
        join_size(t, t->inputs.ids[k]);
}

bool ad_region_dissolve(uint32_t handle)
{
    if (!ad_open_find(handle))
        return true;
    AdOpen open = ad_open_pop();
    bool ok = ad_settle(&open) && ad_open_pass_writes(&open);
    if (!ok)
        ad_settle_forget();
    ad_region_drop(&open);
    return ok;
}

bool ad_region_close(uint32_t handle, uint64_t *results)
{
    if (!ad_open_find(handle))
        return true;
    AdOpen open = ad_open_pop();
    for (uint32_t i = 0; i < open.t->n_out; i++)
        results[i] = ad_var_index(results[i]);
    bool ok = ad_settle_plain(&open);
    find_size(open.t, results);
    if (!open.t->end)
        open.t->end = record_new_scope();
    take_arrays(&open, results);
    ok = ok && open.t->end && find_tracked(&open, results);
    bool any = open.t->tracked_count || open.write_count;
    if (ok && any)
        ok = split_arrays(&open) && own_outputs(&open) && ad_cut(&open);
    if (ok && any && open.t->kind == REGION_LOOP) {
        ok = keep_active(&open, results);
        if (!ad_open_in_loop())
            find_hidden(&open);
        any = has_outputs(open.t);
    }
    ok = ok && ad_settle(&open);
    if (ok)
        ad_region_give_passed(open.t, results);
    if (ok && any && open.t->entry_count)
        ok = connect(&open, results);
    ok = ok && ad_open_pass_writes(&open);
    if (!ok)
        ad_settle_forget();
    ad_region_drop(&open);
    return ok;
}
