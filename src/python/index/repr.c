/*
 * repr.c -- arrays as text
 *
 * A traced nested array prints lane by lane, so its axes are (lanes, extents of the
 * type...); a tensor has its own axes; complex numbers and quaternions print as one
 * entry. Of an axis with more than 'limit' entries only the first and last three
 * appear.
 */
#include "python/array/array.h"
#include "python/array/evaluate.h"
#include "python/base/error.h"
#include "python/base/tables.h"
#include "python/shape/shape.h"

#include <stdarg.h>
#include <stdio.h>

enum { SHOWN_AT_ENDS = 3, DEFAULT_LIMIT = 20, AXES_MAX = TENSOR_MAX_DIMS + 1 };

/* Text that grows. 'failed' stays set once memory ran out. */
typedef struct Text {
    char *data;
    size_t size, capacity;
    bool failed;
} Text;

static void put(Text *t, const char *format, ...)
{
    for (;;) {
        va_list ap;
        va_start(ap, format);
        size_t room = t->capacity - t->size;
        int n = t->failed ? 0 : vsnprintf(t->data + t->size, room, format, ap);
        va_end(ap);
        if (t->failed || (size_t) n < room) {
            t->size += (size_t) n;
            return;
        }
        size_t capacity = 2 * t->capacity + (size_t) n;
        char *data = PyMem_Realloc(t->data, capacity);
        t->failed = !data;
        if (data) {
            t->data = data;
            t->capacity = capacity;
        }
    }
}

/* Where the entries of one leaf are. */
typedef struct Column {
    const char *entries;
    size_t step;       /* 0: the same entry in all lanes */
    VarIndex variable;     /* keeps the memory (jit); owned */
} Column;

typedef struct Printer {
    Text text;
    const TypeInfo *info;
    Column *columns;
    size_t column_count, limit;
    size_t ndim, shape[AXES_MAX];
    size_t at[AXES_MAX]; /* position of the entry being printed */
    size_t group; /* leaves that make one printed entry: 2 complex, 4 quaternion */
    bool lanes_first;    /* axis 0 are the lanes of the columns */
} Printer;

/* ---------------------------------------------------------------- entries */

static double as_double(VarType type, const void *entry)
{
    double value = 0;
    jit_host_cast(type, VarTypeFloat64, 0, 1, entry, &value);
    return value;
}

static void put_entry(Printer *p, const void *entry)
{
    VarType type = p->info->entry;
    int64_t value;
    uint64_t positive;
    switch (type) {
    case VarTypeBool:
        put(&p->text, *(const uint8_t *) entry ? "True" : "False");
        break;
    case VarTypeFloat16:
    case VarTypeFloat32:
    case VarTypeFloat64:
        put(&p->text, "%g", as_double(type, entry));
        break;
    case VarTypeUInt64:
        memcpy(&positive, entry, sizeof(positive));
        put(&p->text, "%llu", (unsigned long long) positive);
        break;
    default:
        value = 0;
        jit_host_cast(type, VarTypeInt64, 0, 1, entry, &value);
        put(&p->text, "%lld", (long long) value);
    }
}

static const void *entry_at(const Printer *p, size_t lane, size_t leaf)
{
    const Column *c = &p->columns[leaf];
    return c->entries + lane * c->step * p->info->entry_size;
}

/* "1+2j", "1i+2j+3k+4": parts that are zero are left out, unless all are. */
static void put_hypercomplex(Printer *p, size_t lane)
{
    static const char *const complex_units[] = {"", "j"};
    static const char *const quaternion_units[] = {"i", "j", "k", ""};
    const char *const *units =
        p->info->kind == KIND_COMPLEX ? complex_units : quaternion_units;
    bool any = false;
    for (size_t i = 0; i < p->group; i++) {
        double value = as_double(p->info->entry, entry_at(p, lane, i));
        if (value == 0)
            continue;
        bool one = value == 1 && *units[i]; /* a lone unit: "1j" prints its factor */
        put(&p->text, any ? "%+g%s" : "%g%s", one ? 1.0 : value, units[i]);
        any = true;
    }
    if (!any)
        put(&p->text, "0");
}

static void put_current(Printer *p)
{
    size_t lane = p->lanes_first ? p->at[0] : 0, leaf = 0;
    for (size_t axis = p->lanes_first; axis < p->ndim; axis++)
        leaf = leaf * p->shape[axis] + p->at[axis];
    if (p->group > 1)
        put_hypercomplex(p, lane);
    else if (p->column_count == 1 && !p->lanes_first)
        put_entry(p, p->columns[0].entries + leaf * p->info->entry_size);
    else
        put_entry(p, entry_at(p, lane, leaf));
}

static void put_axis(Printer *p, size_t axis)
{
    if (axis == p->ndim) {
        put_current(p);
        return;
    }
    size_t extent = p->shape[axis];
    bool one_line = axis + 1 == p->ndim && p->group == 1;
    put(&p->text, "[");
    for (size_t i = 0; i < extent; i++) {
        if (i && one_line)
            put(&p->text, ", ");
        else if (i)
            put(&p->text, ",\n%*s", (int) axis + 1, "");
        if (extent > p->limit && extent > 2 * SHOWN_AT_ENDS && i == SHOWN_AT_ENDS) {
            put(&p->text, ".. %zu skipped ..", extent - 2 * SHOWN_AT_ENDS);
            i = extent - SHOWN_AT_ENDS - 1;
            continue;
        }
        p->at[axis] = i;
        put_axis(p, axis + 1);
    }
    put(&p->text, "]");
}

/* ---------------------------------------------------------------- preparation */

/* One kernel for all leaves of a nested array. */
static bool evaluate_all(Array *a)
{
    bool any = false;
    for (size_t i = 0; i < array_count(a); i++)
        any |= var_schedule(array_leaves(a)[i]);
    return !any || evaluate_scheduled();
}

/* Lanes of a nested array, entries of a tensor. */
static size_t expected_size(const Printer *p)
{
    size_t size = 1, axes = p->lanes_first ? 1 : p->ndim;
    for (size_t i = 0; i < axes; i++)
        size *= p->shape[i];
    return size;
}

static bool load_columns(Printer *p, Array *a)
{
    size_t count = array_count(a);
    bool in_memory = !a->info->jit; /* one column: entries follow each other */
    p->columns = PyMem_Calloc(count ? count : 1, sizeof(Column));
    if (!p->columns)
        return PyErr_NoMemory();
    if (in_memory) {
        p->column_count = count;
        for (size_t i = 0; i < count; i++)
            p->columns[i].entries =
                (const char *) array_data(a) + i * a->info->entry_size;
        return true;
    }
    if (count > 1 && !evaluate_all(a))
        return error_from_core(".__repr__", (PyObject **) &a, 1);
    for (size_t i = 0; i < count && i < array_count(a); i++) {
        Column *c = &p->columns[i];
        VarIndex var = array_leaves(a)[i];
        size_t size = var ? var_size(var) : 0;
        void *data;
        if (!evaluate_data(a->info, var, &c->variable, &data))
            return error_from_core(".__repr__", (PyObject **) &a, 1);
        p->column_count++;
        c->entries = data;
        c->step = size > 1;
        bool single = p->lanes_first && size == 1;
        if (!single && size != expected_size(p)) { /* by another thread, meanwhile */
            PyErr_Format(PyExc_RuntimeError,
                         "%s: the array changed while it was printed", p->info->name);
            return false;
        }
    }
    return true;
}

static void release_columns(Printer *p)
{
    for (size_t i = 0; i < p->column_count; i++)
        var_unref(p->columns[i].variable);
    PyMem_Free(p->columns);
}

/* The axes as printed. False: exception. */
static bool set_axes(Printer *p, Array *a)
{
    const TypeInfo *info = a->info;
    if (info->kind == KIND_TENSOR) {
        p->ndim = array_tensor(a)->ndim;
        memcpy(p->shape, extents_bind(a), p->ndim * sizeof(size_t));
        return true;
    }
    p->group = info->kind == KIND_COMPLEX || info->kind == KIND_QUATERNION
                   ? array_count(a) : 1;
    if (info->jit) {
        p->lanes_first = true;
        if (!shape_width(a, &p->shape[p->ndim++], ".__repr__"))
            return false;
    }
    if (p->group == 1)
        for (int i = 0; i < info->ndim; i++)
            p->shape[p->ndim++] = i == 0 && info->dynamic ? array_count(a)
                                                          : (size_t) info->dims[i];
    return true;
}

static bool has_entries(const Printer *p)
{
    for (size_t i = 0; i < p->ndim; i++)
        if (p->shape[i] == 0)
            return false;
    return true;
}

/* The tensors of drjit.scalar keep all entries after each other, like one column. */
static bool prepare(Printer *p, Array *a)
{
    if (a->info->kind == KIND_TENSOR && !a->info->jit) {
        p->columns = PyMem_Calloc(1, sizeof(Column));
        if (!p->columns)
            return PyErr_NoMemory();
        p->columns->entries = array_data(a);
        p->column_count = 1;
        return true;
    }
    return load_columns(p, a);
}

static PyObject *text_of(Array *a, size_t limit)
{
    Printer p = {.info = a->info, .limit = limit, .group = 1};
    if (!set_axes(&p, a)) {
        if (!PyErr_ExceptionMatches(PyExc_RuntimeError))
            return NULL;
        PyErr_Clear();
        return PyUnicode_FromString("[ragged array]");
    }
    bool empty = !has_entries(&p);
    if (empty && a->info->kind != KIND_TENSOR)
        return PyUnicode_FromString("[]");
    PyObject *result = NULL;
    p.text.capacity = 256;
    p.text.data = PyMem_Malloc(p.text.capacity);
    if (!p.text.data)
        return PyErr_NoMemory();
    if (empty || prepare(&p, a)) {
        put_axis(&p, 0);
        result = p.text.failed ? PyErr_NoMemory()
                               : PyUnicode_FromStringAndSize(p.text.data,
                                                             (Py_ssize_t) p.text.size);
    }
    release_columns(&p);
    PyMem_Free(p.text.data);
    return result;
}

static PyObject *array_repr(PyObject *self)
{
    return text_of((Array *) self, DEFAULT_LIMIT);
}

PyType_Slot repr_slots[] = {
    SLOT(Py_tp_repr, array_repr),
    {0, NULL},
};
