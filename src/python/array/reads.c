/*
 * reads.c -- see reads.h
 *
 * An entry is a leaf of an object, which it holds, or a variable, which it does not: a
 * reference would make the array look shared, and a write would copy it. Such a
 * variable is an array in memory, which what was recorded refers to, or a placeholder,
 * which the loop holds until its end: no other one can have its number meanwhile. What
 * the body computes is neither, may be gone soon, and nobody can write to it.
 */
#include "python/array/reads.h"

#include "python/array/undo.h"
#include "python/base/error.h"

struct Read {
    Array *root;    /* strong, never a view; NULL: of a variable */
    size_t number;  /* of the leaf, or of the variable */
    PyObject *file; /* strong */
    int line;
    bool derived; /* it was a state that was read, which stood for it */
};

unsigned reads_open;
static _Thread_local Reads *innermost;

/* ---------------------------------------------------------------- table */

static size_t slot_of(const Reads *reads, const Array *root, size_t number)
{
    uint64_t key = ((uintptr_t) root >> 4) * UINT64_C(0x9e3779b97f4a7c15);
    key = (key ^ number) * UINT64_C(0xbf58476d1ce4e5b9);
    size_t slot = (size_t) (key >> 32) & (reads->room - 1);
    for (; reads->slots[slot]; slot = (slot + 1) & (reads->room - 1)) {
        const Read *read = &reads->entries[reads->slots[slot] - 1];
        if (read->root == root && read->number == number)
            break;
    }
    return slot;
}

static const Read *find(const Reads *reads, const Array *root, size_t number)
{
    const uint32_t entry =
        reads->count ? reads->slots[slot_of(reads, root, number)] : 0;
    return entry ? &reads->entries[entry - 1] : NULL;
}

static bool grow(Reads *reads)
{
    const size_t capacity = reads->capacity ? 2 * reads->capacity : 32;
    Read *entries = PyMem_Realloc(reads->entries, capacity * sizeof(*entries));
    if (!entries)
        return false;
    reads->entries = entries;
    uint32_t *slots = PyMem_Calloc(2 * capacity, sizeof(*slots));
    if (!slots)
        return false;
    PyMem_Free(reads->slots);
    reads->slots = slots;
    reads->room = 2 * capacity;
    reads->capacity = capacity;
    for (size_t i = 0; i < reads->count; i++)
        slots[slot_of(reads, entries[i].root, entries[i].number)] = (uint32_t) i + 1;
    return true;
}

/* Takes new references. */
static void add(Reads *reads, Read read)
{
    if (find(reads, read.root, read.number) ||
        (reads->count == reads->capacity && !grow(reads)))
        return;
    reads->slots[slot_of(reads, read.root, read.number)] = (uint32_t) reads->count + 1;
    Py_XINCREF((PyObject *) read.root);
    Py_XINCREF(read.file);
    reads->entries[reads->count++] = read;
}

/* ---------------------------------------------------------------- places */

/* The line of the program that runs. A new reference, or NULL without an exception. */
static PyObject *find_place(int *line)
{
    PyFrameObject *frame = PyEval_GetFrame();
    *line = frame ? PyFrame_GetLineNumber(frame) : 0;
    PyCodeObject *code = frame ? PyFrame_GetCode(frame) : NULL;
    PyObject *file = code ? Py_NewRef(code->co_filename) : NULL;
    Py_XDECREF(code);
    return file;
}

static bool fail(const char *operation, const Read *read)
{
    int line;
    PyObject *file = find_place(&line);
    if (file && read->file)
        error_raise(PyExc_RuntimeError, operation, NULL, 0,
                    "the array that is written to (%U:%d) was read (%U:%d) in the same "
                    "recorded loop, whose iterations would all read what it was before "
                    "the loop; an evaluated loop, mode=\"evaluated\", sees the writes",
                    file, line, read->file, read->line);
    else
        error_raise(PyExc_RuntimeError, operation, NULL, 0,
                    "the array that is written to was read in the same recorded loop");
    Py_XDECREF(file);
    return false;
}

/* ---------------------------------------------------------------- notes */

static const Array *root_of(const Array *array)
{
    return array->root ? array->root : array;
}

/* What was made within a loop is known by its variable. */
static Read read_of(const Array *array, size_t i)
{
    const Array *root = root_of(array);
    if (root->inner)
        return (Read){ .number = var_number(array_leaves(array)[i]) };
    return (Read){ .root = (Array *) root, .number = array->offset + i };
}

static bool is_state(const Reads *reads, uint32_t number)
{
    for (size_t i = 0; i < reads->state_count; i++)
        if (var_number(reads->states[i]) == number)
            return true;
    return false;
}

/* Can a variable be an array that is written to later on? */
static bool may_be_target(VarIndex var, bool literals)
{
    const VarState state = var_peek_state(var);
    if (state == VarStateLiteral)
        return literals;
    if (state != VarStateSymbolic && state != VarStateUnevaluated)
        return true;
    const Reads *reads = innermost;
    while (reads && !is_state(reads, var_number(var)))
        reads = reads->outer;
    return reads;
}

static void note_leaf(const Array *array, size_t i)
{
    Read read = read_of(array, i);
    if (find(innermost, read.root, read.number))
        return;
    read.file = find_place(&read.line);
    add(innermost, read);
    Py_XDECREF(read.file);
}

static void note(const Array *array, bool literals)
{
    if (!innermost || !array->info->jit)
        return;
    const bool inner = root_of(array)->inner;
    for (size_t i = 0; i < array_count(array); i++) {
        const VarIndex var = array_leaves(array)[i];
        if (!var_is_empty(var) && (!inner || may_be_target(var, literals)))
            note_leaf(array, i);
    }
}

void reads_note_copied(const Array *array, size_t first, size_t count)
{
    if (!innermost || !array->info->jit || root_of(array)->inner)
        return;
    for (size_t i = first; i < first + count; i++) {
        const VarIndex var = array_leaves(array)[i];
        if (!var_is_empty(var) && !may_be_target(var, false))
            note_leaf(array, i);
    }
}

void reads_note_gather(const Array *array)
{
    if (reads_open)
        note(array, true);
}

void reads_note_operands(PyObject *const *objects, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; innermost && i < n; i++) {
        const Array *array = array_of(objects[i]);
        if (array)
            note(array, false);
    }
}

void reads_note_state(VarIndex state, const Array *array, size_t i)
{
    const Read *found =
        innermost && array->info->jit ? find(innermost, NULL, var_number(state)) : NULL;
    if (!found || i >= array_count(array) || !array_leaves(array)[i])
        return;
    Read read = read_of(array, i);
    read.file = found->file;
    read.line = found->line;
    read.derived = true;
    add(innermost, read);
}

/* Is this the body of a recorded loop, or something within one? */
static bool in_recorded(const Reads *reads)
{
    while (reads && !reads->recorded)
        reads = reads->outer;
    return reads;
}

bool reads_check_write(const char *operation, const Array *target)
{
    if (undo_open && !undo_note(target))
        return false;
    if (!innermost || !target->info->jit)
        return true;
    for (const Reads *reads = innermost; in_recorded(reads); reads = reads->outer)
        for (size_t i = 0; i < array_count(target); i++) {
            const VarIndex var = array_leaves(target)[i];
            const Read *read = find(reads, root_of(target), target->offset + i);
            if (!read && !var_is_empty(var))
                read = find(reads, NULL, var_number(var));
            if (read)
                return fail(operation, read);
        }
    return true;
}

/* ---------------------------------------------------------------- loops */

bool reads_has(const Reads *reads, PyObject *object)
{
    const Array *array = array_of(object);
    for (size_t i = 0; array && i < array_count(array); i++) {
        const Read *read = find(reads, root_of(array), array->offset + i);
        if (read && !read->derived)
            return true;
    }
    return false;
}

void reads_begin(Reads *reads, bool recorded)
{
    *reads = (Reads){ .outer = innermost, .recorded = recorded };
    innermost = reads;
    reads_open++;
}

void reads_end(Reads *reads)
{
    innermost = reads->outer;
    reads_open--;
    for (size_t i = 0; i < reads->count; i++) {
        const Read *read = &reads->entries[i];
        if (innermost && (read->root || !is_state(reads, (uint32_t) read->number)))
            add(innermost, *read);
        Py_XDECREF((PyObject *) read->root);
        Py_XDECREF(read->file);
    }
    PyMem_Free(reads->entries);
    PyMem_Free(reads->slots);
    *reads = (Reads){ 0 };
}
