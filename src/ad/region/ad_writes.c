/*
 * ad_writes.c -- see ad_writes.h
 *
 * For each region, the outermost first: its arrays are gone through from the last one
 * back, so that each chain is met at its end, which says which array it is; that of a
 * region in the body goes on in its template, whose turn comes later. Then, forwards,
 * sites are listed.
 */
#include "ad/region/ad_writes.h"

#include "ad/region/ad_cut.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"

/* A region, while this is found out. */
typedef struct Place {
    uint32_t *target_of; /* by array of the template, 1 + its number; 0: nobody looks at
                            it; owned */
    bool in_loop;        /* or it is one */
} Place;

typedef struct Search {
    AdLast *last;
    AdTarget *targets; /* by array */
    Place *places;     /* by region */
    uint32_t target_capacity, place_capacity;
} Search;

/* ---------------------------------------------------------------- chains */

/* From the end: what was written to is mostly the one before. */
static uint32_t find_array(const AdTemplate *t, NodeId node, uint32_t end)
{
    for (uint32_t k = end; k-- > 0;)
        if (t->arrays[k].node == node)
            return k;
    return end;
}

static uint32_t find_entry(const AdTemplate *t, NodeId node)
{
    for (uint32_t i = 0; i < t->entry_count; i++)
        if (t->entries[i].node == node)
            return 1 + i;
    return 0;
}

/* The edge to the node of an operation for this entry; 0: it is not tracked. */
static EdgeId edge_to(NodeId operation, uint32_t entry)
{
    EdgeId e = ad_graph_node(operation)->in;
    while (e && ad_graph_edge(e)->port != entry)
        e = ad_graph_edge(e)->next_in;
    return e;
}

/* The region whose output an edge is; NULL: it is not an output. */
static AdTemplate *region_behind(const AdEdge *edge)
{
    return edge->rule == RULE_OUT_OF ? ad_cut_region(edge) : NULL;
}

/* What was written to; 0: it is not tracked. */
static NodeId node_before(const AdWrite *w)
{
    return w->before ? ad_graph_edge(w->before)->source : 0;
}

/* The entry that a region's array begins with, and the edge to that. */
static void find_beginning(AdWrite *w)
{
    NodeId node = w->t->arrays[w->array].node;
    while (node && !(ad_graph_node(node)->flags & NODE_ENTRY)) {
        AdWrite inner = ad_writes_behind(node);
        node = node_before(&inner);
    }
    w->entry = node ? find_entry(w->t, node) : 0;
    w->before = w->entry ? edge_to(w->operation, w->entry - 1) : 0;
}

AdWrite ad_writes_behind(NodeId array)
{
    AdWrite w = { 0 };
    for (EdgeId e = ad_graph_node(array)->in; e; e = ad_graph_edge(e)->next_in) {
        const AdEdge *edge = ad_graph_edge(e);
        const AdMoves *m = (const AdMoves *) (uintptr_t) edge->held;
        AdTemplate *t = region_behind(edge);
        if (t && edge->port >= t->tracked_count)
            w = (AdWrite){ .t = t,
                           .operation = edge->source,
                           .array = edge->port - t->tracked_count };
        else if (edge->rule == RULE_MOVES && ad_moves_is_plain_scatter(m))
            w.m = m;
        if (!t && (edge->port == 0 || edge->rule == RULE_OUT_OF))
            w.before = e;
    }
    if (w.t)
        find_beginning(&w);
    return w;
}

bool ad_writes_are_plain(const AdWrite *w)
{
    NodeId node = w->t ? w->t->arrays[w->array].node : 0;
    while (node && !(ad_graph_node(node)->flags & NODE_ENTRY)) {
        AdWrite inner = ad_writes_behind(node);
        TRY(ad_writes_are_plain(&inner), false);
        node = node_before(&inner);
    }
    return w->m || w->t;
}

/* ---------------------------------------------------------------- arrays */

static uint32_t new_target(Search *s)
{
    AdLast *last = s->last;
    TRY(vec_reserve(&last->arrays, &last->array_capacity, last->array_count + 1,
                    sizeof(AdLastArray)) &&
            vec_reserve(&s->targets, &s->target_capacity, last->array_count + 1,
                        sizeof(AdTarget)),
        0);
    last->arrays[last->array_count] = (AdLastArray){ 0 };
    s->targets[last->array_count] = (AdTarget){ 0 };
    return ++last->array_count;
}

/* The number of a region, a new one if it is met for the first time. False: out of
 * memory. */
static bool find_region(Search *s, AdTemplate *t, bool in_loop, uint32_t *number)
{
    AdLast *last = s->last;
    for (*number = 0; *number < last->region_count; ++*number)
        if (last->regions[*number].t == t)
            return true;
    TRY(vec_reserve(&last->regions, &last->region_capacity, last->region_count + 1,
                    sizeof(AdLastRegion)) &&
            vec_reserve(&s->places, &s->place_capacity, last->region_count + 1,
                        sizeof(Place)),
        false);
    uint32_t *target_of = alloc_zero(t->array_count + 1, sizeof(uint32_t));
    TRY(target_of, false);
    last->regions[last->region_count] = (AdLastRegion){ .t = t };
    s->places[last->region_count++] =
        (Place){ target_of, in_loop || t->kind == REGION_LOOP };
    return true;
}

/* Array k of a region is this one. */
static void set_target(Search *s, uint32_t region, uint32_t k, uint32_t target)
{
    uint32_t *own = &s->places[region].target_of[k];
    if (*own && *own != target)
        s->targets[*own - 1].divided = s->targets[target - 1].divided = true;
    *own = target;
}

/* What was written to is the same array. */
static bool follow(Search *s, uint32_t region, uint32_t k)
{
    AdTemplate *t = s->last->regions[region].t;
    const uint32_t target = s->places[region].target_of[k];
    AdWrite w = ad_writes_behind(t->arrays[k].node);
    NodeId before = node_before(&w);
    if (w.t) {
        uint32_t inner;
        TRY(find_region(s, w.t, s->places[region].in_loop, &inner), false);
        set_target(s, inner, w.array, target);
    }
    uint32_t earlier = before ? find_array(t, before, k) : k;
    if (earlier < k)
        set_target(s, region, earlier, target);
    else if (region == 0 && before)
        s->last->arrays[target - 1].entry = find_entry(t, before);
    return true;
}

static bool follow_all(Search *s, uint32_t region)
{
    for (uint32_t k = s->last->regions[region].t->array_count; k-- > 0;) {
        uint32_t *own = &s->places[region].target_of[k];
        if (region == 0 && !*own)
            TRY(*own = new_target(s), false);
        if (*own)
            TRY(follow(s, region, k), false);
    }
    return true;
}

/* ---------------------------------------------------------------- sites */

static bool add_site(AdLast *last, AdLastSite site)
{
    TRY(vec_reserve(&last->sites, &last->site_capacity, last->site_count + 1,
                    sizeof(AdLastSite)),
        false);
    last->sites[last->site_count++] = site;
    return true;
}

static void note_write(AdTarget *target, const AdMoves *m, bool in_loop)
{
    target->unknown |= !m;
    if (!m)
        return;
    target->size = m->size[0];
    target->writes++;
    target->overwrites |= ad_moves_overwrites(m);
    target->in_loop |= in_loop && ad_moves_overwrites(m);
}

/* A region that writes to several arrays is one site. */
static bool is_listed(const AdLast *last, uint32_t region)
{
    for (uint32_t i = 0; i < last->site_count; i++)
        if (!last->sites[i].m && last->sites[i].which == region)
            return true;
    return false;
}

static bool list_sites(Search *s, uint32_t region)
{
    AdLast *last = s->last;
    const AdTemplate *t = last->regions[region].t;
    for (uint32_t k = 0; k < t->array_count; k++) {
        uint32_t target = s->places[region].target_of[k];
        if (!target)
            continue;
        AdWrite w = ad_writes_behind(t->arrays[k].node);
        AdLastSite site = { .around = region, .body = t->arrays[k].body };
        if (w.t) {
            TRY(find_region(s, w.t, false, &site.which), false);
            if (!is_listed(last, site.which))
                TRY(add_site(last, site), false);
            continue;
        }
        note_write(&s->targets[target - 1], w.m, s->places[region].in_loop);
        site.m = w.m;
        site.which = target - 1;
        if (w.m)
            TRY(add_site(last, site), false);
    }
    return true;
}

/* ---------------------------------------------------------------- what is needed */

/* Two that are one array outside have one gradient there. */
static void find_divided(Search *s)
{
    const AdLast *last = s->last;
    for (uint32_t i = 0; i < last->array_count; i++)
        for (uint32_t k = 0; k < i; k++)
            if (last->arrays[i].entry && last->arrays[i].entry == last->arrays[k].entry)
                s->targets[i].divided = s->targets[k].divided = true;
}

static bool is_needed(const AdTarget *target)
{
    return !target->unknown && target->overwrites &&
           (target->in_loop || target->writes > 1);
}

/* Is there a write in the region, or in one in it, that is listed? */
static bool has_sites(const AdLast *last, const bool *kept, uint32_t region)
{
    for (uint32_t i = 0; i < last->site_count; i++)
        if (kept[i] && last->sites[i].around == region)
            return true;
    return false;
}

/* Sites of what is needed. Those of a region stand after that which it is. */
static bool keep_sites(Search *s)
{
    AdLast *last = s->last;
    bool *kept = alloc_zero(last->site_count + 1, sizeof(bool));
    TRY(kept, false);
    for (uint32_t i = last->site_count; i-- > 0;) {
        const AdLastSite *site = &last->sites[i];
        kept[i] = site->m ? s->targets[site->which].needed
                          : has_sites(last, kept, site->which);
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < last->site_count; i++) {
        if (!kept[i])
            continue;
        last->sites[n] = last->sites[i];
        if (!last->sites[n].m)
            last->regions[last->sites[n].which].site = n;
        n++;
    }
    last->site_count = n;
    alloc_free(kept);
    return true;
}

static bool search(Search *s, AdTemplate *t)
{
    AdLast *last = s->last;
    uint32_t first;
    TRY(find_region(s, t, false, &first), false);
    for (uint32_t r = 0; r < last->region_count; r++)
        TRY(follow_all(s, r) && list_sites(s, r), false);
    find_divided(s);
    for (uint32_t i = 0; i < last->array_count; i++)
        s->targets[i].needed = is_needed(&s->targets[i]);
    return keep_sites(s);
}

bool ad_writes_find(AdTemplate *t, AdLast *last, AdTarget **targets)
{
    Search s = { .last = last };
    bool ok = search(&s, t);
    for (uint32_t r = 0; r < last->region_count; r++)
        alloc_free(s.places ? s.places[r].target_of : NULL);
    alloc_free(s.places);
    *targets = s.targets;
    return ok;
}
