/*
 * ad_room.c -- see ad_room.h
 */
#include "ad/derive/ad_room.h"

#include "ad/graph/ad_thread.h"
#include "base/error.h"
#include "ir/program.h"
#include "trace/graph/record.h"

/* The outermost body that is recorded, NULL: there is none. */
static const Body *outermost(void)
{
    const Body *found = NULL;
    for (const Body *b = state_thread()->body; b; b = b->outer)
        if (b->kind != BODY_EVALUATED)
            found = b;
    return found;
}

bool ad_room_is_recorded(void)
{
    return outermost() != NULL;
}

size_t ad_room_left(void)
{
    AdThread *own = ad_thread();
    TRY(own, 0);
    const Body *body = outermost();
    uint32_t scope = body ? body->scope : 0;
    state_lock();
    uint64_t launches = state.launches;
    state_unlock();
    if (own->room_launches != launches && (!scope || own->room_scope != scope)) {
        own->room_taken = 0;
        own->room_launches = launches;
        own->room_scope = scope;
    }
    return LOCAL_MOST_BYTES / 2 - own->room_taken;
}

bool ad_room_take(size_t bytes)
{
    if (bytes > ad_room_left())
        return false;
    ad_thread()->room_taken += bytes;
    return true;
}
