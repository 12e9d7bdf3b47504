/*
 * type.c -- descriptors and classes from types.def
 *
 * The descriptors of all families are filled at import, a few microseconds of
 * arithmetic. Classes cost about ten microseconds each and are made family by family,
 * when the module of a family is first imported.
 *
 * Finding the descriptor of a class: exact classes are looked up by address in an open
 * hash table; a class derived by a user is not in it, so its bases are tried in turn.
 */
#include "python/type/type.h"

#include <stdio.h>

#include "python/array/array.h"
#include "python/base/error.h"
#include "python/base/tables.h"
#include "python/convert/convert.h"
#include "python/type/event.h"

typedef struct ClassEntry {
    PyTypeObject *cls;
    TypeInfo *info;
} ClassEntry;

typedef struct Entry {
    const char *suffix, *leaf, *alias;
    VarType type;
} Entry;

static const Entry entries[] = {
#define ENTRY(suffix, leaf, alias, type) {#suffix, leaf, alias, type},
#include "python/type/types.def"
#undef ENTRY
};

enum { ENTRY_COUNT = sizeof(entries) / sizeof(*entries) };

/* Sets of entry types, as bits of indices into entries[]. */
enum { ALL = 0x3ff, FLOATS = 0x380, WIDE = 0x300, MASKS = 0x381 };

typedef struct Shape {
    const char *prefix;
    Kind kind;
    int8_t ndim, dims[3];
    uint16_t entries;
} Shape;

static const Shape shapes[] = {
#define SHAPE(prefix, kind, ndim, d0, d1, d2, suffixes) \
    {prefix, KIND_##kind, ndim, {d0, d1, d2}, suffixes},
#include "python/type/types.def"
#undef SHAPE
};

enum { SHAPE_COUNT = sizeof(shapes) / sizeof(*shapes) };

typedef struct Backend {
    JitBackend backend;
    const char *name, *modules[2], *event; /* of types without and with derivatives;
                                              the class of events */
    int place;
} Backend;

static const Backend backends[TRACED_COUNT + 1] = { /* as family_row() counts */
    { JitBackendNone, "scalar", {"drjit.scalar", NULL}, NULL, PLACE_HOST },
#define BACKEND(id, name, place)                                                \
    {JitBackend##id, name, {"drjit." name, "drjit." name ".ad"}, \
     "drjit." name ".Event", place},
#include "python/type/backends.def"
#undef BACKEND
};

static const char *module_of(int family)
{
    return backends[family_row(family)].modules[family_is_diff(family)];
}

JitBackend type_backend_at(int place)
{
    for (int i = 1; i <= TRACED_COUNT; i++)
        if (backends[i].place == place)
            return backends[i].backend;
    return JitBackendNone;
}

/* ---------------------------------------------------------------- entry types */

/* Names, and what other libraries know a type by: its nature and its size. */
typedef struct EntryText {
    const char *name;
    char nature;
    uint8_t size;
} EntryText;

static const EntryText entry_texts[VarTypeCount] = {
    [VarTypeBool] = { "bool", 'b', 1 },       [VarTypeInt8] = { "int8", 'i', 1 },
    [VarTypeUInt8] = { "uint8", 'u', 1 },     [VarTypeInt16] = { "int16", 'i', 2 },
    [VarTypeUInt16] = { "uint16", 'u', 2 },   [VarTypeInt32] = { "int32", 'i', 4 },
    [VarTypeUInt32] = { "uint32", 'u', 4 },   [VarTypeInt64] = { "int64", 'i', 8 },
    [VarTypeUInt64] = { "uint64", 'u', 8 },   [VarTypePointer] = { "pointer", 0, 8 },
    [VarTypeFloat16] = { "float16", 'f', 2 }, [VarTypeFloat32] = { "float32", 'f', 4 },
    [VarTypeFloat64] = { "float64", 'f', 8 },
};

char type_entry_nature(VarType type)
{
    return entry_texts[type].nature;
}

VarType type_entry_find(char nature, size_t size)
{
    for (int type = 0; nature && type < VarTypeCount; type++)
        if (entry_texts[type].nature == nature && entry_texts[type].size == size)
            return (VarType) type;
    return VarTypeVoid;
}

size_t type_entry_size(VarType type)
{
    return entry_texts[type].size;
}

const char *type_entry_name(VarType type)
{
    const char *name = entry_texts[type].name;
    return name ? name : "void"; /* no array has such entries */
}

/* ---------------------------------------------------------------- finding types */

static int position_of_entry(VarType type)
{
    for (int i = 0; i < ENTRY_COUNT; i++)
        if (entries[i].type == type)
            return i;
    return -1;
}

/* Id of the type with shape number 'shape' and entry number 'entry'. */
static uint16_t id_of(Family family, int shape, int entry)
{
    if (entry < 0 || !(shapes[shape].entries >> entry & 1))
        return TYPE_NONE;
    unsigned id = family * TYPES_PER_FAMILY;
    if (2 * shape < SHAPE_COUNT) {
        for (int i = 0; i < shape; i++)
            id += (unsigned) __builtin_popcount(shapes[i].entries);
    } else {
        id += TYPES_PER_FAMILY;
        for (int i = shape; i < SHAPE_COUNT; i++)
            id -= (unsigned) __builtin_popcount(shapes[i].entries);
    }
    unsigned before = shapes[shape].entries & ((1u << entry) - 1);
    return (uint16_t) (id + (unsigned) __builtin_popcount(before));
}

static bool same_shape(const Shape *s, Kind kind, int ndim, const int8_t *dims)
{
    return s->kind == kind && s->ndim == ndim &&
           (ndim == 0 || memcmp(s->dims, dims, (size_t) ndim) == 0);
}

uint16_t type_find(Family family, Kind kind, int ndim, const int8_t *dims,
                   VarType entry)
{
    for (int i = 0; i < SHAPE_COUNT; i++)
        if (same_shape(&shapes[i], kind, ndim, dims))
            return id_of(family, i, position_of_entry(entry));
    return TYPE_NONE;
}

const TypeInfo *type_of_backend(const State *state, JitBackend backend, Kind kind,
                                VarType entry)
{
    int family = family_with(FAMILY_COUNT - 1, false);
    while (family > FAMILY_SCALAR && backends[family_row(family)].backend != backend)
        family -= 2;
    const uint16_t id = type_find((Family) family, kind, 0, NULL, entry);
    return family > FAMILY_SCALAR && id != TYPE_NONE ? &state->types[id] : NULL;
}

uint16_t type_with_entry(const TypeInfo *info, VarType entry)
{
    uint16_t id = type_find(info->family, info->kind, info->ndim, info->dims, entry);
    if (id == TYPE_NONE)
        id = type_find(info->family, KIND_ARRAY, info->ndim, info->dims, entry);
    return id;
}

const TypeInfo *type_diff(const TypeInfo *info)
{
    return &info->state->types[type_in_family(info, family_with(info->family, true))];
}

const TypeInfo *type_detached(const TypeInfo *info)
{
    return &info->state->types[type_in_family(info, family_with(info->family, false))];
}

/* ---------------------------------------------------------------- descriptors */

static uint16_t leaf_count(const TypeInfo *info)
{
    if (info->kind == KIND_TENSOR)
        return info->jit;
    uint16_t count = 1;
    for (int i = 0; i < info->ndim; i++)
        count = (uint16_t) (info->dims[i] < 0 ? 0 : count * info->dims[i]);
    return count;
}

static uint16_t value_type(const TypeInfo *info)
{
    if (info->ndim == 0)
        return info->id; /* a FLAT or a TENSOR */
    if (info->ndim == 1)
        return info->leaf;
    return type_find(info->family, KIND_ARRAY, info->ndim - 1, info->dims + 1,
                     info->entry);
}

static uint16_t plain_array_type(const TypeInfo *info)
{
    static const int8_t dynamic_dims[] = {DYNAMIC};
    if (info->kind == KIND_TENSOR)
        return info->jit ? info->leaf
                         : type_find(info->family, KIND_ARRAY, 1, dynamic_dims,
                                     info->entry);
    return info->ndim == 0 ? info->id
                           : type_find(info->family, KIND_ARRAY, info->ndim, info->dims,
                                       info->entry);
}

static bool fill(State *state, Family family, int shape, int entry)
{
    uint16_t id = id_of(family, shape, entry);
    TypeInfo *t = &state->types[id];
    const Shape *s = &shapes[shape];
    VarType type = entries[entry].type;
    t->state = state;
    t->id = id;
    t->family = (uint8_t) family;
    t->kind = (uint8_t) s->kind;
    t->backend = (uint8_t) backends[family_row(family)].backend;
    t->place = (uint8_t) backends[family_row(family)].place;
    t->entry = (uint8_t) type;
    t->entry_size = (uint8_t) type_entry_size(type);
    t->jit = family_row(family);
    t->diff = family_is_diff(family);
    t->var_size = t->jit ? sizeof(VarIndex) : t->entry_size;
    t->ndim = s->ndim;
    memcpy(t->dims, s->dims, sizeof(t->dims));
    t->dynamic = s->ndim && s->dims[0] == DYNAMIC;
    t->leaves = leaf_count(t);
    if (t->jit && !t->dynamic && t->kind <= KIND_ARRAY)
        t->shortcut = 1u << t->entry << (t->kind == KIND_FLAT ? 0 : SHORT_ARRAY_SHIFT);
    t->leaf = type_find(family, KIND_FLAT, 0, NULL, type);
    t->value = value_type(t);
    t->array = plain_array_type(t);
    Kind mask_kind =
        s->kind == KIND_TENSOR || s->kind == KIND_FLAT ? s->kind : KIND_ARRAY;
    t->mask = type_find(family, mask_kind, s->ndim, s->dims, VarTypeBool);

    const char *module = module_of(family);
    const char *suffix =
        s->kind == KIND_FLAT ? entries[entry].leaf : entries[entry].suffix;
    size_t size = strlen(module) + strlen(s->prefix) + strlen(suffix) + 2;
    char *name = PyMem_Malloc(size);
    if (!name)
        return PyErr_NoMemory();
    snprintf(name, size, "%s.%s%s", module, s->prefix, suffix);
    t->name = name;
    return true;
}

bool type_init(State *state)
{
    for (int family = 0; family < FAMILY_COUNT; family++)
        for (int shape = 0; shape < SHAPE_COUNT; shape++)
            for (int entry = 0; entry < ENTRY_COUNT; entry++)
                if (shapes[shape].entries >> entry & 1 &&
                    !fill(state, family, shape, entry))
                    return false;
    state->class_capacity = 1;
    while (state->class_capacity < 2 * TYPE_COUNT)
        state->class_capacity *= 2;
    state->classes = PyMem_Calloc(state->class_capacity, sizeof(ClassEntry));
    if (!state->classes)
        PyErr_NoMemory();
    return state->classes;
}

static void drop_free_list(TypeInfo *t)
{
    while (t->free_list) {
        Array *dead = t->free_list;
        t->free_list = dead->data;
        PyObject_Free(dead);
        Py_DECREF(t->py);
    }
    t->free_count = 0;
}

void type_clear(State *state)
{
    for (int i = 0; i < TYPE_COUNT; i++) {
        TypeInfo *t = &state->types[i];
        drop_free_list(t);
        Py_CLEAR(t->py);
    }
    for (int i = 0; i < TRACED_COUNT; i++)
        Py_CLEAR(state->events[i]);
    for (size_t i = 0; state->classes && i < state->class_capacity; i++)
        state->classes[i].cls = NULL;
}

int type_traverse(State *state, visitproc visit, void *arg)
{
    for (int i = 0; i < TYPE_COUNT; i++) {
        const TypeInfo *t = &state->types[i];
        Py_VISIT(t->py);
        for (uint32_t k = 0; k < t->free_count; k++)
            Py_VISIT(t->py);
    }
    for (int i = 0; i < TRACED_COUNT; i++)
        Py_VISIT(state->events[i]);
    return 0;
}

/* ---------------------------------------------------------------- class ->
 * descriptor */

static ClassEntry *slot_of(const State *state, PyTypeObject *cls)
{
    size_t mask = state->class_capacity - 1;
    size_t i = ((uintptr_t) cls >> 4) * 0x9e3779b97f4a7c15u >> 32 & mask;
    while (state->classes[i].cls && state->classes[i].cls != cls)
        i = (i + 1) & mask;
    return &state->classes[i];
}

const TypeInfo *type_of_class(State *state, PyTypeObject *cls)
{
    for (; cls; cls = cls->tp_base) {
        const ClassEntry *entry = slot_of(state, cls);
        if (entry->cls)
            return entry->info;
    }
    return NULL;
}

State *type_state(PyTypeObject *cls)
{
    for (; cls; cls = cls->tp_base)
        if (cls->tp_dealloc == array_dealloc) {
            PyObject *module = PyType_GetModule(cls);
            return module ? state_of_module(module) : NULL;
        }
    return NULL;
}

/* ---------------------------------------------------------------- classes */

enum { SHAPE_TEXT = 32 };

/* "3, *": the extents, with * for one that each array has for itself. */
static void write_shape(const TypeInfo *t, char text[SHAPE_TEXT])
{
    size_t length = 0;
    int extents = t->kind == KIND_TENSOR || (t->ndim && t->dims[0] == 0)
                      ? 0 : t->ndim + t->jit;
    text[0] = 0;
    for (int i = 0; i < extents; i++) {
        const char *comma = i ? ", " : "";
        int extent = i < t->ndim ? t->dims[i] : DYNAMIC;
        length += (size_t) (extent == DYNAMIC
                                ? snprintf(text + length, SHAPE_TEXT - length, "%s*",
                                           comma)
                                : snprintf(text + length, SHAPE_TEXT - length, "%s%d",
                                           comma, extent));
    }
}

/* The text of __meta__: one trait in a line. */
static PyObject *meta_text(const TypeInfo *t)
{
    static const char *const traits[KIND_COUNT] = {
        [KIND_ARRAY] = "  is_vector=1,\n",
        [KIND_MATRIX] = "  is_matrix=1,\n",
        [KIND_COMPLEX] = "  is_complex=1,\n",
        [KIND_QUATERNION] = "  is_quaternion=1,\n",
        [KIND_TENSOR] = "  is_tensor=1,\n",
    };
    char dims[SHAPE_TEXT], backend[SHAPE_TEXT] = "";
    write_shape(t, dims);
    if (t->jit)
        PyOS_snprintf(backend, sizeof(backend), "  backend=%s,\n",
                      backends[family_row(t->family)].name);
    return PyUnicode_FromFormat("ArrayMeta[\n  type=%s,\n%s%s%s%s  shape=(%s)\n]",
                                type_entry_name(t->entry),
                                backend, t->jit ? "  is_jit=1,\n" : "",
                                traits[t->kind] ? traits[t->kind] : "",
                                t->diff ? "  is_diff=1,\n" : "", dims);
}

/* The docstring of a class. */
static void write_doc(const TypeInfo *t, char *text, size_t size)
{
    static const char *const kinds[KIND_COUNT] = {
        [KIND_FLAT] = "An array of %s entries, of any length%s.",
        [KIND_ARRAY] = "A nested array of %s entries with the shape (%s).",
        [KIND_MATRIX] = "A matrix of %s entries with the shape (%s), row by row.",
        [KIND_COMPLEX] = "Complex numbers of %s parts with the shape (%s): real part, "
                         "imaginary part.",
        [KIND_QUATERNION] = "Quaternions of %s parts with the shape (%s): x, y, z, and "
                            "the real part w.",
        [KIND_TENSOR] = "A tensor of %s entries, of any shape%s.",
    };
    char shape[SHAPE_TEXT], what[128];
    write_shape(t, shape);
    if (t->kind == KIND_FLAT)
        shape[0] = 0;
    snprintf(what, sizeof(what), kinds[t->kind], type_entry_name(t->entry), shape);
    snprintf(text, size,
             "%s(*args, **kwargs)\n--\n\n%s\n\nOperations are %s.\nMade of numbers, "
             "sequences, other arrays, and foreign memory, which is\ncopied (NumPy, "
             "DLPack, buffers).",
             strrchr(t->name, '.') + 1, what,
             t->jit ? "traced, and computed when values are needed"
                    : "computed at once");
}

static int basic_size(const TypeInfo *t)
{
    if (t->kind == KIND_TENSOR)
        return (int) sizeof(Tensor);
    size_t bytes = (size_t) t->leaves * t->var_size;
    return (int) (sizeof(Array) + (bytes + 7) / 8 * 8);
}

static bool make_class(State *state, TypeInfo *t)
{
    char doc[512];
    write_doc(t, doc, sizeof(doc));
    PyType_Slot slots[] = {
        {Py_tp_doc, doc},
        SLOT(Py_tp_dealloc, array_dealloc),
        SLOT(Py_tp_new, convert_tp_new),
        SLOT(Py_tp_init, convert_tp_init),
        SLOT(Py_tp_free, array_free),
        SLOT(Py_tp_traverse, array_traverse),
        SLOT(Py_tp_is_gc, array_is_collected),
        {0, NULL},
    };
    PyType_Spec spec = {
        .name = t->name,
        .basicsize = basic_size(t),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
        .slots = slots,
    };
    t->py = (PyTypeObject *) PyType_FromModuleAndSpec(state->module, &spec,
                                                      (PyObject *) state->array_base);
    if (!t->py) {
        if (!PyErr_Occurred()) /* CPython 3.11 has no memory for the name */
            PyErr_NoMemory();
        return false;
    }
    t->py->tp_vectorcall = convert_vectorcall;
    PyObject *meta = meta_text(t);
    if (!meta || PyObject_SetAttrString((PyObject *) t->py, "__meta__", meta) < 0) {
        Py_XDECREF(meta);
        Py_CLEAR(t->py);
        return false;
    }
    Py_DECREF(meta);
    *slot_of(state, t->py) = (ClassEntry) {t->py, t};
    return true;
}

static bool is_leaf_of_scalar(const TypeInfo *t)
{
    return !t->jit && t->kind == KIND_FLAT;
}

static bool make_classes(State *state, Family family)
{
    if (state->family_ready[family])
        return true;
    JitBackend backend = backends[family_row(family)].backend;
    if (backend != JitBackendNone && !jit_init(backend))
        return error_from_core(strchr(module_of(family), '.') + 1, NULL, 0);
    for (int i = 0; i < TYPES_PER_FAMILY; i++) {
        TypeInfo *t = &state->types[family * TYPES_PER_FAMILY + i];
        if (!t->py && !is_leaf_of_scalar(t) && !make_class(state, t))
            return false;
    }
    state->family_ready[family] = true;
    return true;
}

PyTypeObject *type_class(const TypeInfo *info)
{
    if (is_leaf_of_scalar(info))
        return (PyTypeObject *) PyErr_Format(PyExc_SystemError,
                                             "%s: there is no such class", info->name);
    return info->py || make_classes(info->state, (Family) info->family) ? info->py
                                                                        : NULL;
}

static PyObject *class_or_number(const TypeInfo *t)
{
    if (t->py)
        return (PyObject *) t->py;
    return (PyObject *) (type_is_float(t)  ? &PyFloat_Type
                         : type_is_mask(t) ? &PyBool_Type
                                           : &PyLong_Type);
}

/* Families with one backend have one class of events. */
static bool bind_event_class(State *state, Family family, PyObject *module_dict)
{
    const Backend *row = &backends[family_row(family)];
    if (!row->event)
        return true;
    PyObject **cls = &state->events[family_row(family) - 1];
    if (!*cls)
        *cls = event_make_class(state, row->event, row->backend);
    return *cls && PyDict_SetItemString(module_dict, "Event", *cls) == 0;
}

bool type_touch_family(State *state, Family family, PyObject *module_dict)
{
    if (!make_classes(state, family) || !bind_event_class(state, family, module_dict))
        return false;
    for (int i = 0; i < TYPES_PER_FAMILY; i++) {
        const TypeInfo *t = &state->types[family * TYPES_PER_FAMILY + i];
        if (t->py && PyDict_SetItemString(module_dict, strrchr(t->name, '.') + 1,
                                          (PyObject *) t->py) < 0)
            return false;
    }
    /* The leaves' other names; in drjit.scalar all names of leaves are Python's
     * types. */
    for (int i = 0; i < ENTRY_COUNT; i++) {
        const TypeInfo *t = &state->types[id_of(family, 0, i)];
        PyObject *cls = class_or_number(t);
        if ((!t->py &&
             PyDict_SetItemString(module_dict, entries[i].leaf, cls) < 0) ||
            (entries[i].alias &&
             PyDict_SetItemString(module_dict, entries[i].alias, cls) < 0))
            return false;
    }
    return true;
}

/* _publish(name, dict): make the classes of drjit.<name>, put them into its
 * dictionary. */
static PyObject *publish(PyObject *module, PyObject *args)
{
    const char *name;
    PyObject *dict;
    if (!PyArg_ParseTuple(args, "sO!", &name, &PyDict_Type, &dict))
        return NULL;
    for (int i = 0; i < FAMILY_COUNT; i++)
        if (strcmp(module_of(i), name) == 0) {
            if (!type_touch_family(state_of_module(module), i, dict))
                return NULL;
            Py_RETURN_NONE;
        }
    return PyErr_Format(PyExc_ValueError, "drjit._publish(): no module '%s'", name);
}

/* _families(): the modules of array types with their backends (numbers), those of the
 * best one first. */
static PyObject *list_families(PyObject *module, PyObject *unused)
{
    (void) module, (void) unused;
    PyObject *found = PyDict_New();
    for (int i = 1; found && i <= FAMILY_COUNT; i++) { /* drjit.scalar last */
        const int family = i % FAMILY_COUNT;
        PyObject *number = PyLong_FromLong(backends[family_row(family)].backend);
        if (!number || PyDict_SetItemString(found, module_of(family), number) < 0)
            Py_CLEAR(found);
        Py_XDECREF(number);
    }
    return found;
}

PyMethodDef type_functions[] = {
    {"_families", list_families, METH_NOARGS, NULL},
    {"_publish", publish, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* ---------------------------------------------------------------- other classes */

PyTypeObject *type_make(PyObject *module, const char *name, size_t size,
                        unsigned long flags, PyType_Slot *slots)
{
    PyType_Spec spec = { .name = name,
                         .basicsize = (int) size,
                         .flags = (unsigned) (Py_TPFLAGS_DEFAULT | flags),
                         .slots = slots };
    return (PyTypeObject *) PyType_FromModuleAndSpec(module, &spec, NULL);
}

PyTypeObject *type_add(PyObject *module, const char *name, size_t size,
                       unsigned long flags, PyType_Slot *slots)
{
    PyTypeObject *cls = type_make(module, name, size, flags, slots);
    if (cls && PyModule_AddObjectRef(module, strrchr(name, '.') + 1, (PyObject *) cls))
        Py_CLEAR(cls);
    return cls;
}
