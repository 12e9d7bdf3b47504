/*
 * ad_set.c -- see ad_set.h
 */
#include "ad/graph/ad_set.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"

uint32_t *ad_set_places, ad_set_capacity;
uint64_t ad_set_turn;

/* What was never written is no secret, but checkers would ask. */
static bool grow(NodeId id)
{
    uint32_t before = ad_set_capacity;
    TRY(vec_reserve(&ad_set_places, &ad_set_capacity, id + 1, sizeof(uint32_t)), false);
    memset(ad_set_places + before, 0, (ad_set_capacity - before) * sizeof(uint32_t));
    return true;
}

bool ad_set_resume(AdSet *s)
{
    if (s->turn == ad_set_turn)
        return true;
    s->turn = ++ad_set_turn;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->nodes[i] >= ad_set_capacity)
            TRY(grow(s->nodes[i]), false);
        ad_set_places[s->nodes[i]] = i;
    }
    return true;
}

uint32_t ad_set_add(AdSet *s, NodeId id)
{
    assert(s->turn == ad_set_turn);
    uint32_t place = ad_set_find(s, id);
    if (place != AD_SET_NONE)
        return place;
    if (id >= ad_set_capacity)
        TRY(grow(id), AD_SET_NONE);
    TRY(vec_reserve(&s->nodes, &s->capacity, s->count + 1, sizeof(NodeId)),
        AD_SET_NONE);
    s->nodes[s->count] = id;
    return ad_set_places[id] = s->count++;
}

void ad_set_forget(void)
{
    alloc_free(ad_set_places);
    ad_set_places = NULL;
    ad_set_capacity = 0;
    ad_set_turn++;
}
