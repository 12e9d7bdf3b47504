/*
 * marks.c -- see marks.h
 */
#include "trace/graph/marks.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

static Marks *free_marks;

bool marks_grow(Marks *m, VarId id)
{
    uint32_t capacity = var_table.chunk_count * VAR_CHUNK;
    assert(id < capacity);
    if (capacity < m->capacity + m->capacity / 2)
        capacity = m->capacity + m->capacity / 2;
    Mark *of = alloc_resize(m->of, (size_t) capacity * sizeof(Mark));
    TRY(of, false);
    memset(of + m->capacity, 0, (size_t) (capacity - m->capacity) * sizeof(Mark));
    m->of = of;
    m->capacity = capacity;
    return true;
}

/* Room for all variables there are; nothing that the array holds is needed. */
static bool make_room(Marks *m)
{
    uint32_t capacity = var_table.chunk_count * VAR_CHUNK;
    if (capacity <= m->capacity)
        return true;
    Mark *of = alloc_zero(capacity, sizeof(Mark)); /* no page is touched yet */
    TRY(of, false);
    alloc_free(m->of);
    m->of = of;
    m->capacity = capacity;
    m->stamp = 0;
    return true;
}

Marks *marks_take(void)
{
    Marks *m = free_marks;
    if (m)
        free_marks = m->next;
    else
        m = alloc_zero(1, sizeof(Marks));
    TRY(m, NULL);
    m->next = NULL;
    if (!make_room(m)) {
        marks_return(m);
        return NULL;
    }
    if (++m->stamp == 0) { /* wrapped: forget all old stamps */
        memset(m->of, 0, m->capacity * sizeof(Mark));
        m->stamp = 1;
    }
    return m;
}

void marks_return(Marks *m)
{
    if (!m)
        return;
    m->next = free_marks;
    free_marks = m;
}

void marks_free(void)
{
    while (free_marks) {
        Marks *m = free_marks;
        free_marks = m->next;
        alloc_free(m->of);
        alloc_free(m->stack);
        alloc_free(m);
    }
}
