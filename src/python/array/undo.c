/*
 * undo.c -- see undo.h
 */
#include "python/array/undo.h"

#include <drjit-core/freeze.h>

#include "python/base/error.h"
#include "python/base/gil.h"

struct UndoEntry {
    Array *root; /* strong, never a view */
    size_t leaf;
    VarIndex before; /* a reference */
};

unsigned undo_open;
static _Thread_local Undo *innermost;

static bool has(const Undo *undo, const Array *root, size_t leaf)
{
    for (size_t i = 0; i < undo->count; i++)
        if (undo->entries[i].root == root && undo->entries[i].leaf == leaf)
            return true;
    return false;
}

static bool add(Undo *undo, Array *root, size_t leaf, VarIndex before)
{
    if (has(undo, root, leaf))
        return true;
    if (undo->count == undo->capacity) {
        const size_t capacity = undo->capacity ? 2 * undo->capacity : 8;
        UndoEntry *entries = PyMem_Realloc(undo->entries, capacity * sizeof(*entries));
        if (!entries)
            return PyErr_NoMemory();
        undo->entries = entries;
        undo->capacity = capacity;
    }
    Py_INCREF((PyObject *) root);
    undo->entries[undo->count++] = (UndoEntry){ root, leaf, var_ref(before) };
    return true;
}

void undo_begin(Undo *undo)
{
    *undo = (Undo){ .outer = innermost };
    innermost = undo;
    undo_open++;
}

void undo_end(Undo *undo, bool ok)
{
    innermost = undo->outer;
    undo_open--;
    while (undo->count) {
        const UndoEntry e = undo->entries[--undo->count];
        if (!ok)
            array_set_leaf(e.root, e.leaf, var_ref(e.before));
        else if (innermost && !add(innermost, e.root, e.leaf, e.before))
            PyErr_Clear(); /* then the loop around cannot give it back */
        var_unref(e.before);
        Py_DECREF((PyObject *) e.root);
    }
    PyMem_Free(undo->entries);
    undo->entries = NULL;
}

/* What is given back. A recorded function gets a copy that is not part of the
 * recording: else the write would go to an array of this iteration. 0: exception. */
static VarIndex saved(VarIndex before)
{
    const uint32_t id = var_number(before);
    JitFreezeInput is;
    if (!jit_flag(JitFlagFreezingScope) || var_node(before) ||
        !jit_freeze_describe(1, &id, &is) || !is.stored || !is.size)
        return var_ref(before);
    const VarIndex held = var_ref(before);
    uint32_t copy;
    GIL_RELEASE_BEGIN
    copy = jit_freeze_copy(id);
    GIL_RELEASE_END
    var_unref(held);
    if (!copy)
        error_from_core("ArrayBase", NULL, 0);
    return var_of(copy);
}

static bool note_leaf(Array *root, size_t leaf, VarIndex now)
{
    if (has(innermost, root, leaf))
        return true;
    const VarIndex before = saved(now);
    const bool ok = before && add(innermost, root, leaf, before);
    var_unref(before);
    return ok;
}

bool undo_note(const Array *target)
{
    Array *root = target->root ? target->root : (Array *) target;
    if (!innermost || root->inner || !target->info->jit)
        return true;
    bool ok = true;
    for (size_t i = 0; ok && i < array_count(target); i++)
        if (!var_is_empty(array_leaves(target)[i]))
            ok = note_leaf(root, target->offset + i, array_leaves(target)[i]);
    return ok;
}
