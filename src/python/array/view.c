/*
 * view.c -- the table of view.h: open addressing with linear probing
 *
 * At most half of the places are taken. No place on the way from where a view belongs
 * to where it stands is empty; striking one out moves those after it up.
 */
#include "python/array/view.h"

static size_t home_of(const State *state, const Array *root, const TypeInfo *info,
                      size_t offset)
{
    uint64_t key = ((uintptr_t) root >> 4) * 0x9e3779b97f4a7c15u;
    key = (key ^ (offset << 16 ^ info->id)) * 0xff51afd7ed558ccdu;
    return key >> 32 & (state->view_capacity - 1);
}

static size_t home_of_view(const State *state, const Array *view)
{
    return home_of(state, view->root, view->info, view->offset);
}

static size_t next_place(const State *state, size_t i)
{
    return (i + 1) & (state->view_capacity - 1);
}

Array *view_find(const Array *root, const TypeInfo *info, size_t offset)
{
    const State *state = info->state;
    if (!state->view_count)
        return NULL;
    for (size_t i = home_of(state, root, info, offset); state->views[i];
         i = next_place(state, i)) {
        Array *view = state->views[i];
        if (view->root == root && view->offset == offset && view->info == info)
            return view;
    }
    return NULL;
}

static void enter(State *state, Array *view)
{
    size_t i = home_of_view(state, view);
    while (state->views[i])
        i = next_place(state, i);
    state->views[i] = view;
}

static bool grow(State *state)
{
    Array **before = state->views;
    size_t count = state->view_capacity, capacity = count ? 2 * count : 64;
    Array **views = PyMem_Calloc(capacity, sizeof(*views));
    if (!views)
        return PyErr_NoMemory();
    state->views = views;
    state->view_capacity = capacity;
    for (size_t i = 0; i < count; i++)
        if (before[i])
            enter(state, before[i]);
    PyMem_Free(before);
    return true;
}

bool view_add(Array *view)
{
    State *state = view->info->state;
    if (2 * (state->view_count + 1) > state->view_capacity && !grow(state))
        return false;
    enter(state, view);
    state->view_count++;
    return true;
}

void view_remove(const Array *view)
{
    State *state = view->info->state;
    if (!state->view_count)
        return;
    size_t gap = home_of_view(state, view);
    while (state->views[gap] != view) {
        if (!state->views[gap])
            return;
        gap = next_place(state, gap);
    }
    state->view_count--;
    for (size_t i = next_place(state, gap); state->views[i]; i = next_place(state, i)) {
        /* May it move up? Yes, unless it belongs after the gap. */
        size_t home = home_of_view(state, state->views[i]);
        size_t distance = (i - home) & (state->view_capacity - 1);
        if (distance >= ((i - gap) & (state->view_capacity - 1))) {
            state->views[gap] = state->views[i];
            gap = i;
        }
    }
    state->views[gap] = NULL;
}
