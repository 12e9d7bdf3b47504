/*
 * marks.h -- numbers that a walk over the graph keeps for variables
 *
 * A walk takes marks of its own and returns them, so walks nest, may create
 * variables on the way, and need not know of each other. Marks are an array with an
 * entry for each index; what carries another stamp than the current one is not marked,
 * which makes fresh marks a matter of counting up. A variable that is marked has to
 * live as long as the marks are in use (what a walk meets is held by where it began).
 *
 * The arrays are kept for the next walks. Requires the graph lock.
 */
#ifndef TRACE_GRAPH_MARKS_H
#define TRACE_GRAPH_MARKS_H

#include "trace/graph/var.h"

typedef struct Mark {
    uint32_t stamp, value;
} Mark;

typedef struct Marks Marks;
struct Marks {
    Mark *of;          /* by variable */
    uint32_t capacity; /* at least that of the table when they were taken */
    uint32_t stamp;    /* of what is marked */
    Marks *next;       /* free ones, or NULL */
    void *stack;       /* memory that region_walk.h keeps with them */
    uint32_t stack_capacity;
};

#define MARKS_NONE UINT32_MAX

/** Marks that no variable has yet. NULL: out of memory. */
Marks *marks_take(void);
/** NULL is fine. */
void marks_return(Marks *marks);
bool marks_grow(Marks *marks, VarId id);
/** Release those that are free. */
void marks_free(void);

static inline bool marks_has(const Marks *m, VarId id)
{
    return id < m->capacity && m->of[id].stamp == m->stamp;
}
/** The number that was set, MARKS_NONE if the variable is not marked. */
static inline uint32_t marks_get(const Marks *m, VarId id)
{
    return marks_has(m, id) ? m->of[id].value : MARKS_NONE;
}
/** False: out of memory, which only happens with variables that were created since the
 *  marks were taken. */
static inline bool marks_set(Marks *m, VarId id, uint32_t value)
{
    if (id >= m->capacity && !marks_grow(m, id))
        return false;
    m->of[id] = (Mark) { m->stamp, value };
    return true;
}
static inline void marks_drop(Marks *m, VarId id)
{
    if (id < m->capacity)
        m->of[id].stamp = 0;
}

#endif
