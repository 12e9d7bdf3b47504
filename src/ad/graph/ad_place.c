/*
 * ad_place.c -- see ad_place.h
 */
#include "ad/graph/ad_place.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"

/* By number of the node; that of another node, which had the number before, has another
 * serial number. */
typedef struct Place {
    uint64_t serial;
    const char *file; /* interned */
    uint32_t line;
} Place;

static struct {
    Place *list;
    uint32_t count, capacity;
} places;

void ad_place_note(NodeId id)
{
    const ThreadState *ts = thread_self.state;
    if (!ts || !ts->file)
        return;
    if (!vec_reserve(&places.list, &places.capacity, id + 1, sizeof(Place))) {
        error_clear();
        return;
    }
    while (places.count <= id)
        places.list[places.count++] = (Place){ 0 };
    places.list[id] = (Place){ ad_graph_node(id)->serial, ts->file, ts->line };
}

const char *ad_place_of(NodeId id, uint32_t *line)
{
    if (id >= places.count || places.list[id].serial != ad_graph_node(id)->serial)
        return NULL;
    *line = places.list[id].line;
    return places.list[id].file;
}

void ad_place_forget(void)
{
    alloc_free(places.list);
    places.list = NULL;
    places.count = places.capacity = 0;
}
