/*
 * cycle.c -- see cycle.h
 *
 * Trial deletion on a small scale. What an operation refers to, directly or not, is
 * listed with the number of references from within the list. An object that has more
 * than these, and what it refers to, is kept by others. Of what is left the arrays
 * would go with the operation; the core says which operations their nodes keep. Those
 * join the list until nothing is new. Operations may keep objects of each other, none
 * of which is listed yet: so a few may join that would go if nobody kept what refers to
 * their arrays. In the end those leave again that the graph would not let go of.
 *
 * The list ends at classes, modules, frames and the globals of functions, through which
 * everything is reached: what they refer to counts as kept by others. So the answer
 * errs towards keeping.
 */
#include "python/ad/cycle.h"

#include <frameobject.h> /* Python 3.10 has PyFrame_Check() here */

enum {
    LIMIT = 4096, /* objects: a few hundred microseconds */
    GUESSES = 8   /* how often operations join that share objects */
};

typedef struct Entry {
    PyObject *object;
    Py_ssize_t inside; /* references from within */
    bool operation;    /* one of them is that of the graph */
    bool released;     /* the graph would let go of it */
    bool kept;         /* by others */
} Entry;

typedef struct Search {
    const Operation *wanted;
    Entry *entries;
    uint32_t count;
    uint32_t *slots; /* open addressing: number of the entry + 1 */
    uint32_t *stack; /* entries that are kept, whose referents are yet to be marked */
    uint32_t depth;
    bool failed, grown;
} Search;

enum { SLOTS = 2 * LIMIT };

static uint32_t *slot_of(const Search *s, const PyObject *object)
{
    uint32_t i = (uint32_t) (((uintptr_t) object >> 4) * 0x9E3779B97F4A7C15ull >> 40);
    for (i %= SLOTS; s->slots[i]; i = (i + 1) % SLOTS)
        if (s->entries[s->slots[i] - 1].object == object)
            break;
    return &s->slots[i];
}

/* NULL: it is new and there is no room. */
static Entry *entry_of(Search *s, PyObject *object)
{
    uint32_t *slot = slot_of(s, object);
    if (!*slot) {
        if (s->count == LIMIT) {
            s->failed = true;
            return NULL;
        }
        s->entries[s->count++] = (Entry){ .object = object };
        *slot = s->count;
    }
    return &s->entries[*slot - 1];
}

/* What has references to others, as far as we are concerned. */
static bool matters(PyObject *object)
{
    return array_of(object) || PyObject_IS_GC(object);
}

/* Globals have an entry for builtins. */
static bool is_border(const Search *s, PyObject *object)
{
    return PyType_Check(object) || PyModule_Check(object) || PyFrame_Check(object) ||
           (PyDict_CheckExact(object) &&
            PyDict_Contains(object, s->wanted->state->str_builtins) == 1);
}

/* Visit what an object refers to, but for the globals of a function. */
static void referents(PyObject *object, visitproc visit, Search *s)
{
    if (is_border(s, object))
        return;
    if (array_of(object) && !PyObject_IS_GC(object)) {
        array_traverse(object, visit, s);
    } else if (Py_IS_TYPE(object, Py_TYPE(s->wanted))) {
        if (((Operation *) object)->op)
            visit(((Operation *) object)->op, s);
    } else if (PyFunction_Check(object)) {
        PyObject *parts[] = { PyFunction_GET_CLOSURE(object),
                              PyFunction_GET_DEFAULTS(object),
                              PyFunction_GET_KW_DEFAULTS(object),
                              ((PyFunctionObject *) object)->func_dict };
        for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
            if (parts[i])
                visit(parts[i], s);
    } else if (Py_TYPE(object)->tp_traverse) {
        Py_TYPE(object)->tp_traverse(object, visit, s);
    }
}

static int count_reference(PyObject *object, void *context)
{
    Search *s = context;
    Entry *e = !s->failed && matters(object) ? entry_of(s, object) : NULL;
    if (e)
        e->inside++;
    return s->failed;
}

static void mark(Search *s, Entry *e)
{
    if (e->kept)
        return;
    e->kept = true;
    s->stack[s->depth++] = (uint32_t) (e - s->entries);
}

static int mark_reference(PyObject *object, void *context)
{
    Search *s = context;
    const uint32_t *slot = matters(object) ? slot_of(s, object) : NULL;
    if (slot && *slot)
        mark(s, &s->entries[*slot - 1]);
    return 0;
}

static void list_all(Search *s, uint32_t first)
{
    for (uint32_t i = first; i < s->count && !s->failed; i++)
        referents(s->entries[i].object, count_reference, s);
}

/* Mark what those refer to that were marked. */
static void mark_referents(Search *s)
{
    while (s->depth)
        referents(s->entries[s->stack[--s->depth]].object, mark_reference, s);
}

/* Has it references from elsewhere? */
static bool is_held(const Search *s, const Entry *e)
{
    return Py_REFCNT(e->object) > e->inside && !is_border(s, e->object);
}

/* An operation that would go with arrays in the list: the graph's reference is one from
 * within. With the lock of the graph. */
static void add_operation(void *context, void *payload)
{
    Search *s = context;
    Entry *e = entry_of(s, payload);
    if (!e || e->operation)
        return;
    e->operation = true;
    e->inside++;
    s->grown = true;
}

/* One that would go with the arrays that are not kept, likewise: it was added. */
static void note_released(void *context, void *payload)
{
    Search *s = context;
    const uint32_t *slot = slot_of(s, payload);
    if (*slot)
        s->entries[*slot - 1].released = true;
}

/* The nodes that would go: of arrays that are not kept. */
static size_t list_leaves(const Search *s, VarIndex *leaves)
{
    size_t n = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        Array *a = s->entries[i].kept ? NULL : array_of(s->entries[i].object);
        if (!a || a->root || !a->info->diff)
            continue;
        for (size_t k = 0; k < array_count(a); k++)
            if (var_node(array_leaves(a)[k])) {
                if (leaves)
                    leaves[n] = array_leaves(a)[k];
                n++;
            }
    }
    return n;
}

/* What goes with the arrays that are listed and not kept. False: nothing. */
static bool ask_core(Search *s, void (*note)(void *context, void *payload))
{
    const size_t n = list_leaves(s, NULL);
    VarIndex *leaves = n ? PyMem_RawMalloc(n * sizeof(*leaves)) : NULL;
    if (!leaves)
        return false;
    list_leaves(s, leaves);
    const bool ok = ad_custom_released_with(n, leaves, custom_release, note, s);
    PyMem_RawFree(leaves);
    return ok;
}

/* Mark what others keep; if need be, what refers to it does not count. */
static void mark_held(Search *s, bool directly)
{
    for (uint32_t i = 0; i < s->count; i++)
        s->entries[i].kept = directly && is_held(s, &s->entries[i]);
    for (uint32_t i = 0; i < s->count && !directly; i++)
        if (is_held(s, &s->entries[i]))
            mark(s, &s->entries[i]);
    mark_referents(s);
}

/* List all that may go with the operation. */
static bool grow(Search *s)
{
    add_operation(s, (void *) s->wanted);
    for (uint32_t first = 0, guesses = 0; s->grown;) {
        list_all(s, first);
        first = s->count;
        s->grown = false;
        mark_held(s, false);
        if (!s->failed)
            ask_core(s, add_operation);
        if (!s->failed && !s->grown && guesses++ < GUESSES) {
            mark_held(s, true);
            ask_core(s, add_operation);
        }
    }
    return !s->failed;
}

/* Mark operations that the graph would not let go of. Were there any? */
static bool mark_operations(Search *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        s->entries[i].released = false;
    ask_core(s, note_released);
    for (uint32_t i = 0; i < s->count; i++)
        if (s->entries[i].operation && !s->entries[i].released)
            mark(s, &s->entries[i]);
    return s->depth;
}

/* Mark what is kept by others. Is the operation? */
static bool shrink(Search *s)
{
    mark_held(s, false);
    while (!s->entries[0].kept && mark_operations(s))
        mark_referents(s);
    return s->entries[0].kept;
}

bool cycle_is_closed(const Operation *operation)
{
    Search s = { .wanted = operation,
                 .entries = PyMem_RawMalloc(LIMIT * sizeof(Entry)),
                 .slots = PyMem_RawCalloc(SLOTS, sizeof(uint32_t)),
                 .stack = PyMem_RawMalloc(LIMIT * sizeof(uint32_t)) };
    const bool closed = s.entries && s.slots && s.stack && grow(&s) && !shrink(&s);
    PyMem_RawFree(s.entries);
    PyMem_RawFree(s.slots);
    PyMem_RawFree(s.stack);
    return closed;
}
