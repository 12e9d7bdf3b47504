/*
 * ad_template.c -- see ad_template.h
 */
#include "ad/region/ad_template.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"

void ad_template_drop_outer(AdTemplate *t)
{
    for (uint32_t i = 0; i < t->entry_count; i++)
        if (t->entries[i].held) {
            ad_graph_unref(t->entries[i].outer_node);
            t->entries[i].held = false;
        }
}

void ad_template_free(AdTemplate *t)
{
    for (uint32_t i = 0; i < t->body_count; i++) {
        uint64_t *outputs = t->bodies[i].outputs;
        for (uint32_t k = 0; outputs != t->untracked && k < t->n_out; k++)
            ad_graph_release(outputs[k]);
        var_drop(t->bodies[i].active);
        if (outputs != t->untracked)
            alloc_free(outputs);
    }
    for (uint32_t k = 0; t->passed && k < t->n_out; k++)
        ad_graph_release(t->passed[k]);
    alloc_free(t->passed);
    alloc_free(t->untracked);
    ad_template_drop_outer(t);
    for (uint32_t i = 0; i < t->entry_count; i++)
        ad_graph_unref(t->entries[i].node);
    for (uint32_t i = 0; i < t->array_count; i++)
        ad_graph_unref(t->arrays[i].node);
    for (uint32_t i = 0; i < t->family_array_count; i++)
        ad_graph_unref(t->family_arrays[i].node);
    for (uint32_t k = 0; k < t->state_count; k++) {
        var_drop(t->states[k].placeholder);
        var_drop(t->states[k].initial);
    }
    var_drop(t->condition);
    var_drop(t->mask);
    var_drop(t->around);
    var_drop(t->testing);
    var_ids_drop(&t->inputs);
    var_ids_drop(&t->placeholders);
    alloc_free(t->bodies);
    alloc_free(t->entries);
    alloc_free(t->arrays);
    alloc_free(t->family_arrays);
    alloc_free(t->tracked);
    alloc_free(t->lookup);
    alloc_free(t->ids);
    alloc_free(t->callable_of);
    alloc_free(t->states);
    alloc_free(t->gaps);
    alloc_free(t->name);
    alloc_free(t);
}

JitBackend ad_template_backend(const AdTemplate *t)
{
    VarInfo info;
    return jit_var_peek_info(t->condition, &info) ? info.backend : JitBackendNone;
}

bool ad_template_add_input(AdTemplate *t, VarId input, VarId placeholder)
{
    var_inc(input);
    TRY(var_ids_take(&t->inputs, input), false);
    var_inc(placeholder);
    return var_ids_take(&t->placeholders, placeholder);
}

static uint32_t *copy_numbers(const uint32_t *numbers, uint32_t count)
{
    uint32_t *copy = alloc_get((count + 1) * sizeof(uint32_t));
    if (copy)
        memcpy(copy, numbers, count * sizeof(uint32_t));
    return copy;
}

bool ad_template_set_targets(AdTemplate *t, uint32_t count, const uint32_t *ids,
                             const uint32_t *callable_of)
{
    t->target_count = count;
    if (ids)
        TRY(t->ids = copy_numbers(ids, count), false);
    if (callable_of)
        TRY(t->callable_of = copy_numbers(callable_of, count), false);
    return true;
}

/* ---------------------------------------------------------------- entries */

static uint32_t lookup_place(const AdTemplate *t, uint64_t outer, AdAccess access)
{
    uint32_t mask = t->lookup_capacity - 1;
    uint32_t i = (uint32_t) ((3 * outer + access) * 0x9e3779b97f4a7c15u >> 32) & mask;
    for (; t->lookup[i]; i = (i + 1) & mask) {
        const AdEntry *e = &t->entries[t->lookup[i] - 1];
        if (e->outer == outer && e->access == access)
            break;
    }
    return i;
}

static bool lookup_grow(AdTemplate *t)
{
    uint32_t capacity = t->lookup_capacity ? 2 * t->lookup_capacity : 16;
    uint32_t *lookup = alloc_zero(capacity, sizeof(uint32_t));
    TRY(lookup, false);
    alloc_free(t->lookup);
    t->lookup = lookup;
    t->lookup_capacity = capacity;
    for (uint32_t i = 0; i < t->entry_count; i++)
        if (!t->entries[i].placeholder)
            lookup[lookup_place(t, t->entries[i].outer, t->entries[i].access)] = i + 1;
    return true;
}

AdEntry *ad_template_entry_of(const AdTemplate *t, NodeId node)
{
    for (uint32_t i = 0; i < t->entry_count; i++)
        if (t->entries[i].node == node)
            return &t->entries[i];
    return NULL;
}

AdEntry *ad_template_find_entry(AdTemplate *t, NodeId outer, AdAccess access)
{
    uint64_t serial = ad_graph_node(outer)->serial;
    if (2 * (t->entry_count + 1) > t->lookup_capacity)
        TRY(lookup_grow(t), NULL);
    uint32_t place = lookup_place(t, serial, access);
    if (t->lookup[place])
        return &t->entries[t->lookup[place] - 1];
    TRY(vec_reserve(&t->entries, &t->entry_capacity, t->entry_count + 1,
                    sizeof(AdEntry)),
        NULL);
    NodeId node = ad_graph_new_like(outer);
    TRY(node, NULL);
    ad_graph_node(node)->flags |= NODE_ENTRY;
    const bool array = access != ACCESS_VALUE;
    ad_graph_node(node)->serial = serial + array;
    ad_size_note_same(node, outer);
    ad_graph_ref(outer);
    AdEntry *entry = &t->entries[t->entry_count++];
    *entry = (AdEntry){ .outer = serial,
                        .outer_node = outer,
                        .node = node,
                        .access = access,
                        .array = array,
                        .held = true };
    t->lookup[place] = t->entry_count;
    return entry;
}

/* Another template's entry, whose outer node has to be there. */
static bool share_entry(AdTemplate *t, const AdTemplate *from, AdEntry e)
{
    if (e.outer && (!ad_graph_has_node(e.outer_node) ||
                    ad_graph_node(e.outer_node)->serial != e.outer))
        return error_set(JIT_ERROR_STATE,
                         "ad_traverse(): region '%s': an input is not tracked any "
                         "more",
                         from->name);
    if (2 * (t->entry_count + 1) > t->lookup_capacity)
        TRY(lookup_grow(t), false);
    TRY(vec_reserve(&t->entries, &t->entry_capacity, t->entry_count + 1,
                    sizeof(AdEntry)),
        false);
    if (e.outer)
        ad_graph_ref(e.outer_node);
    ad_graph_ref(e.node);
    e.held = e.outer != 0;
    t->entries[t->entry_count++] = e;
    if (!e.placeholder)
        t->lookup[lookup_place(t, e.outer, e.access)] = t->entry_count;
    return true;
}

bool ad_template_share_entries(AdTemplate *t, const AdTemplate *from, bool inputs)
{
    for (uint32_t i = 0; i < from->entry_count; i++) {
        AdEntry e = from->entries[i];
        if (inputs && e.state && from->states[e.state - 1].changes) {
            e.outer = 0;
            e.outer_node = 0;
            e.forgotten = false;
        }
        TRY(share_entry(t, from, e), false);
    }
    return true;
}

bool ad_template_share_arrays(AdTemplate *t, const AdTemplate *from)
{
    uint32_t count = from->array_count + from->family_array_count;
    TRY(t->family_arrays = alloc_get((count + 1) * sizeof(AdArray)), false);
    for (uint32_t i = 0; i < count; i++) {
        const AdArray *array = i < from->array_count
                                   ? &from->arrays[i]
                                   : &from->family_arrays[i - from->array_count];
        ad_graph_ref(array->node);
        t->family_arrays[t->family_array_count++] = *array;
    }
    return true;
}

void ad_template_find_outer(AdTemplate *t)
{
    for (EdgeId e = ad_graph_node(t->operation)->in; e; e = ad_graph_edge(e)->next_in) {
        const AdEdge *edge = ad_graph_edge(e);
        AdEntry *entry = &t->entries[edge->port];
        entry->outer_node = edge->source;
        entry->outer = ad_graph_node(edge->source)->serial;
    }
}

bool ad_template_set_gaps(AdTemplate *t, const ReplayGap *gaps, uint32_t count)
{
    TRY(t->gaps = alloc_get((count + 1) * sizeof(ReplayGap)), false);
    memcpy(t->gaps, gaps, count * sizeof(ReplayGap));
    t->gap_count = count;
    return true;
}
