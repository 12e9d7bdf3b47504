/*
 * ad_room.h -- room for local arrays of derivatives of loops
 *
 * What a lane can have in a kernel is limited, and what else will be in the kernel is
 * not known. So derivatives take half of it, for all that they make in a recording, or
 * until a kernel is launched; what does not fit is done in another way.
 */
#ifndef AD_LOOP_AD_ROOM_H
#define AD_LOOP_AD_ROOM_H

#include <stdbool.h>
#include <stddef.h>

/** Is the thread recording a body, so that nothing can be evaluated? */
bool ad_room_is_recorded(void);
/** Bytes of each lane that are left. Without lock. */
size_t ad_room_left(void);
/** Is there room for this many bytes of each lane? They are taken if so. Without
 *  lock. */
bool ad_room_take(size_t bytes);

#endif
