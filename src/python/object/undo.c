/*
 * undo.c -- see undo.h
 */
#include "python/object/undo.h"

#include <drjit-core/freeze.h>

#include "python/object/error.h"
#include "python/object/wait.h"

struct UndoEntry {
    Array *root; /* strong, never a view */
    size_t leaf;
    Leaf before; /* a reference */
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

static bool add(Undo *undo, Array *root, size_t leaf, Leaf before)
{
    if (has(undo, root, leaf))
        return true;
    if (undo->count == undo->capacity) {
        const size_t capacity = undo->capacity ? 2 * undo->capacity : 8;
        UndoEntry *entries = PyMem_Realloc(undo->entries, capacity * sizeof(*entries));
        if (!entries) {
            PyErr_NoMemory();
            return false;
        }
        undo->entries = entries;
        undo->capacity = capacity;
    }
    Py_INCREF((PyObject *) root);
    undo->entries[undo->count++] = (UndoEntry){ root, leaf, leaf_ref(before) };
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
            array_set_leaf(e.root, e.leaf, leaf_ref(e.before));
        else if (innermost && !add(innermost, e.root, e.leaf, e.before))
            PyErr_Clear(); /* then the loop around cannot give it back */
        leaf_unref(e.before);
        Py_DECREF((PyObject *) e.root);
    }
    PyMem_Free(undo->entries);
    undo->entries = NULL;
}

/* What is given back. A recorded function gets a copy that is not part of the
 * recording: else the write would go to an array of this iteration. 0: exception. */
static Leaf saved(Leaf before)
{
    const uint32_t id = leaf_name(before);
    JitFreezeInput is;
    if (!jit_flag(JitFlagFreezingScope) || leaf_node(before) ||
        !jit_freeze_describe(1, &id, &is) || !is.stored || !is.size)
        return leaf_ref(before);
    const Leaf held = leaf_ref(before);
    uint32_t copy;
    WAIT_BEGIN
    copy = jit_freeze_copy(id);
    WAIT_END
    leaf_unref(held);
    if (!copy)
        error_from_core("ArrayBase", NULL, 0);
    return leaf_of(copy);
}

static bool note_leaf(Array *root, size_t leaf, Leaf now)
{
    if (has(innermost, root, leaf))
        return true;
    const Leaf before = saved(now);
    const bool ok = before && add(innermost, root, leaf, before);
    leaf_unref(before);
    return ok;
}

bool undo_note(const Array *target)
{
    Array *root = target->root ? target->root : (Array *) target;
    if (!innermost || root->inner || !target->info->jit)
        return true;
    bool ok = true;
    for (size_t i = 0; ok && i < array_count(target); i++)
        if (!leaf_is_empty(array_leaves(target)[i]))
            ok = note_leaf(root, target->offset + i, array_leaves(target)[i]);
    return ok;
}
