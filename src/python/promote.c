/*
 * promote.c -- which type an operation on several operands computes in
 *
 * An operand is described by a Meta: family, kind, entry type and extents. Metas of all
 * operands are merged one after the other:
 *
 *   family   scalar combines with all, jit wins
 *   entry    the larger one; VarType lists the entry types in promotion order, Python's
 *            int and float included (VarTypeBaseInt, VarTypeBaseFloat)
 *   extents  aligned at the front; 1 broadcasts, dynamic wins, others must agree
 *   kind     complex with a 2-vector stays complex, quaternion with a 4-vector stays
 *            quaternion, matrices combine with matrices, single values and sequences;
 *            tensors with tensors and flat arrays
 *
 * A list of numbers or a NumPy array has no family of its own. Beside a jit array its
 * last axis runs over lanes, which are no extent of a type; beside scalar arrays it is
 * one. What numbers become if nothing else decides (Int32, Float32) is settled at the
 * end.
 */
#include "python/promote.h"

#include "python/error.h"

enum { META_DIMS = 8, NO_FAMILY = -1, PROMOTE_NEVER = 0xffff };

typedef struct Meta {
    int family; /* Family or NO_FAMILY */
    Kind kind;
    VarType entry; /* VarTypeBaseInt, VarTypeBaseFloat: a Python number */
    bool loose;    /* a sequence or foreign array, which fits any kind */
    int ndim;
    Py_ssize_t dims[META_DIMS];
} Meta;

/* ---------------------------------------------------------------- describing */

static void describe_type(const TypeInfo *info, Meta *m)
{
    m->family = info->family;
    m->kind = (Kind) info->kind;
    m->entry = (VarType) info->entry;
    m->loose = false;
    m->ndim = info->ndim;
    for (int i = 0; i < info->ndim; i++)
        m->dims[i] = info->dims[i];
}

static void describe_number(int class, Meta *m)
{
    m->family = NO_FAMILY;
    m->kind = KIND_LEAF;
    m->entry = class == OPERAND_BOOL  ? VarTypeBool
               : class == OPERAND_INT ? VarTypeBaseInt
                                      : VarTypeBaseFloat;
    m->loose = false;
    m->ndim = 0;
}

/* Attribute lookup that treats "there is none" as an answer. */
static PyObject *attribute(PyObject *object, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(object, name);
    if (!value && PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Clear();
    return value;
}

typedef struct TypeCode {
    const char *name;
    VarType type;
} TypeCode;

/* Codes of __array_interface__ without the byte order, and names as torch has them. */
static const TypeCode type_codes[] = {
    { "b1", VarTypeBool },         { "i1", VarTypeInt8 },
    { "u1", VarTypeUInt8 },        { "i2", VarTypeInt16 },
    { "u2", VarTypeUInt16 },       { "i4", VarTypeInt32 },
    { "u4", VarTypeUInt32 },       { "i8", VarTypeInt64 },
    { "u8", VarTypeUInt64 },       { "f2", VarTypeFloat16 },
    { "f4", VarTypeFloat32 },      { "f8", VarTypeFloat64 },
    { "bool", VarTypeBool },       { "int8", VarTypeInt8 },
    { "uint8", VarTypeUInt8 },     { "int16", VarTypeInt16 },
    { "uint16", VarTypeUInt16 },   { "int32", VarTypeInt32 },
    { "uint32", VarTypeUInt32 },   { "int64", VarTypeInt64 },
    { "uint64", VarTypeUInt64 },   { "float16", VarTypeFloat16 },
    { "float32", VarTypeFloat32 }, { "float64", VarTypeFloat64 },
};

static VarType type_of_code(const char *code)
{
    for (size_t i = 0; i < sizeof(type_codes) / sizeof(*type_codes); i++)
        if (strcmp(type_codes[i].name, code) == 0)
            return type_codes[i].type;
    return VarTypeVoid;
}

static bool take_shape(PyObject *shape, Meta *m)
{
    if (!PyTuple_Check(shape) || PyTuple_GET_SIZE(shape) > META_DIMS)
        return false;
    m->ndim = (int) PyTuple_GET_SIZE(shape);
    for (int i = 0; i < m->ndim; i++) {
        m->dims[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
        if (m->dims[i] < 0) {
            PyErr_Clear();
            return false;
        }
    }
    return true;
}

/* NumPy arrays and scalars, through their interface dictionary. */
static bool describe_interface(PyObject *interface, Meta *m)
{
    PyObject *shape =
        PyDict_Check(interface) ? PyDict_GetItemString(interface, "shape") : NULL;
    Py_XINCREF(shape); /* the next look-up may run a key's __eq__ */
    PyObject *code = shape ? PyDict_GetItemString(interface, "typestr") : NULL;
    const char *text = code && PyUnicode_Check(code) ? PyUnicode_AsUTF8(code) : NULL;
    PyErr_Clear(); /* no valid text */
    m->entry = text && text[0] ? type_of_code(text + 1) : VarTypeVoid;
    bool ok = m->entry != VarTypeVoid && take_shape(shape, m);
    Py_XDECREF(shape);
    return ok;
}

/* Other array libraries: 'shape' is a tuple, the name of 'dtype' ends in ".float32". */
static bool describe_attributes(PyObject *object, Meta *m)
{
    PyObject *shape = PyObject_GetAttrString(object, "shape");
    PyObject *dtype = shape ? PyObject_GetAttrString(object, "dtype") : NULL;
    PyObject *name = dtype ? PyObject_Str(dtype) : NULL;
    PyObject *tuple = name ? PySequence_Tuple(shape) : NULL;
    const char *text = tuple ? PyUnicode_AsUTF8(name) : NULL;
    const char *dot = text ? strrchr(text, '.') : NULL;
    m->entry = text ? type_of_code(dot ? dot + 1 : text) : VarTypeVoid;
    bool ok = m->entry != VarTypeVoid && take_shape(tuple, m);
    PyErr_Clear();
    Py_XDECREF(shape);
    Py_XDECREF(dtype);
    Py_XDECREF(name);
    Py_XDECREF(tuple);
    return ok;
}

static bool describe_buffer(PyObject *object, Meta *m)
{
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_FORMAT | PyBUF_STRIDES) < 0) {
        PyErr_Clear();
        return false;
    }
    static const char integers[] = "bBhHiIlLqQ";
    const char *format = view.format ? view.format : "B";
    if (*format == '@' || *format == '=' || *format == '<')
        format++;
    char code[3] = { 0, (char) ('0' + view.itemsize), 0 };
    if (strchr(integers, *format))
        code[0] = *format >= 'a' ? 'i' : 'u';
    else if (strchr("efd", *format))
        code[0] = 'f';
    else if (*format == '?')
        code[0] = 'b';
    m->entry = type_of_code(code);
    bool ok = m->entry != VarTypeVoid && view.ndim <= META_DIMS;
    m->ndim = ok ? view.ndim : 0;
    for (int i = 0; i < m->ndim; i++)
        m->dims[i] = view.shape[i];
    PyBuffer_Release(&view);
    return ok;
}

/* An array of no axes is a number like Python's own. */
static void weaken(Meta *m)
{
    if (m->ndim == 0 && m->entry != VarTypeBool)
        m->entry = m->entry >= VarTypeFloat16 ? VarTypeBaseFloat : VarTypeBaseInt;
}

static Promotion describe_foreign(const State *state, PyObject *object, Meta *m)
{
    m->family = NO_FAMILY;
    m->kind = KIND_LEAF;
    m->loose = true;
    bool ok = false;
    PyObject *interface = attribute(object, state->str_array_interface);
    if (!interface && PyErr_Occurred())
        return PROMOTION_ERROR;
    if (interface) {
        ok = describe_interface(interface, m);
        Py_DECREF(interface);
    } else {
        PyObject *dlpack = attribute(object, state->str_dlpack);
        if (dlpack)
            ok = describe_attributes(object, m);
        else if (PyErr_Occurred())
            return PROMOTION_ERROR;
        else if (PyObject_CheckBuffer(object) && !PyBytes_Check(object) &&
                 !PyByteArray_Check(object))
            ok = describe_buffer(object, m);
        Py_XDECREF(dlpack);
    }
    if (ok)
        weaken(m);
    return ok ? PROMOTION_FOUND : PROMOTION_NONE;
}

static Promotion describe(State *state, PyObject *object, Meta *m);

/* Entries of a sequence must have one shape; their entry types and families merge. */
static Promotion describe_items(State *state, PyObject *items, Meta *m)
{
    Meta all = { .family = NO_FAMILY, .kind = KIND_LEAF, .entry = VarTypeBaseInt };
    Py_ssize_t n = 0;
    /* Looking at an entry may run code that changes the list. */
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items); i++, n++) {
        Meta item;
        PyObject *object = Py_NewRef(PySequence_Fast_GET_ITEM(items, i));
        Promotion found = describe(state, object, &item);
        Py_DECREF(object);
        if (found != PROMOTION_FOUND || item.kind == KIND_TENSOR)
            return found == PROMOTION_FOUND ? PROMOTION_NONE : found;
        if (i == 0) {
            all = item;
            continue;
        }
        if (item.family > all.family)
            all.family = item.family;
        if (item.entry > all.entry)
            all.entry = item.entry;
        if (item.ndim == 0)
            continue; /* a number beside arrays */
        bool same = item.ndim == all.ndim;
        for (int d = 0; same && d < item.ndim; d++)
            same = item.dims[d] == all.dims[d];
        if (all.ndim && !same)
            return PROMOTION_NONE;
        all.ndim = item.ndim;
        memcpy(all.dims, item.dims, sizeof(all.dims));
    }
    if (all.ndim == META_DIMS)
        return PROMOTION_NONE;
    *m = all;
    m->kind = KIND_ARRAY;
    m->loose = true;
    m->ndim = all.ndim + 1;
    m->dims[0] = n;
    for (int d = 0; d < all.ndim; d++)
        m->dims[d + 1] = all.dims[d];
    return PROMOTION_FOUND;
}

/* The entries of any sequence as a list or tuple. Its length counts, since an object
 * that only has __getitem__() may never end. NULL without exception: it has none. */
static PyObject *sequence_items(PyObject *object)
{
    if (PyList_Check(object) || PyTuple_Check(object))
        return Py_NewRef(object);
    Py_ssize_t n = PySequence_Size(object);
    if (n < 0) {
        PyErr_Clear();
        return NULL;
    }
    PyObject *items = PyTuple_New(n);
    for (Py_ssize_t i = 0; items && i < n; i++) {
        PyObject *item = PySequence_GetItem(object, i);
        if (item)
            PyTuple_SET_ITEM(items, i, item);
        else
            Py_CLEAR(items);
    }
    return items;
}

static Promotion describe_sequence(State *state, PyObject *object, Meta *m)
{
    PyObject *items = sequence_items(object);
    if (!items)
        return PyErr_Occurred() ? PROMOTION_ERROR : PROMOTION_NONE;
    Promotion found = PROMOTION_ERROR;
    if (!Py_EnterRecursiveCall(" while inspecting a sequence")) {
        found = describe_items(state, items, m);
        Py_LeaveRecursiveCall();
    }
    Py_DECREF(items);
    return found;
}

static int number_class(PyObject *object)
{
    if (PyFloat_Check(object))
        return OPERAND_FLOAT;
    if (PyBool_Check(object))
        return OPERAND_BOOL;
    return PyLong_Check(object) ? OPERAND_INT : -1;
}

/* Objects with __index__ or __float__ that are neither arrays nor sequences. */
static int number_like_class(PyObject *object)
{
    PyTypeObject *cls = Py_TYPE(object);
    const PyNumberMethods *number = cls->tp_as_number;
    if (!number || (cls->tp_as_sequence && cls->tp_as_sequence->sq_item))
        return -1;
    return number->nb_index ? OPERAND_INT : number->nb_float ? OPERAND_FLOAT : -1;
}

static Promotion describe(State *state, PyObject *object, Meta *m)
{
    const Array *a = promote_array(object);
    if (a) {
        describe_type(a->info, m);
        return PROMOTION_FOUND;
    }
    int class = number_class(object);
    if (class < 0 && !PyList_Check(object) && !PyTuple_Check(object)) {
        Promotion found = describe_foreign(state, object, m);
        if (found != PROMOTION_NONE)
            return found;
        class = number_like_class(object);
        if (class < 0 && (PyUnicode_Check(object) || PyBytes_Check(object) ||
                          PyByteArray_Check(object) || PyType_Check(object) ||
                          !PySequence_Check(object) || PyDict_Check(object)))
            return PROMOTION_NONE;
    }
    if (class < 0)
        return describe_sequence(state, object, m);
    describe_number(class, m);
    return PROMOTION_FOUND;
}

/* ---------------------------------------------------------------- merging */

/* Beside a jit array, the last axis of what has no family runs over lanes. */
static void drop_lanes(Meta *m, int family)
{
    if (m->family == NO_FAMILY && m->ndim && family > FAMILY_SCALAR)
        m->ndim--;
    if (m->ndim == 0 && m->kind == KIND_ARRAY)
        m->kind = KIND_LEAF;
    else if (m->ndim && m->kind == KIND_LEAF)
        m->kind = KIND_ARRAY;
}

static bool merge_dims(Meta *a, const Meta *b)
{
    int common = a->ndim < b->ndim ? a->ndim : b->ndim;
    for (int i = 0; i < common; i++) {
        Py_ssize_t x = a->dims[i], y = b->dims[i];
        if (x == y || y == 1)
            continue;
        if (x != 1 && x != DYNAMIC && y != DYNAMIC)
            return false;
        a->dims[i] = x == 1 ? y : DYNAMIC;
    }
    for (int i = common; i < b->ndim; i++)
        a->dims[i] = b->dims[i];
    if (b->ndim > a->ndim)
        a->ndim = b->ndim;
    return true;
}

static bool is_special(Kind kind)
{
    return kind >= KIND_MATRIX && kind <= KIND_QUATERNION;
}

static bool same_dims(const Meta *a, const Meta *b)
{
    bool same = a->ndim == b->ndim;
    for (int i = 0; same && i < a->ndim; i++)
        same = a->dims[i] == b->dims[i];
    return same;
}

static bool merge_kind(const Meta *a, const Meta *b, const Meta *merged, Kind *kind)
{
    if (a->kind == KIND_LEAF || b->kind == KIND_LEAF || a->kind == b->kind) {
        *kind = a->kind > b->kind ? a->kind : b->kind;
        return true;
    }
    if (is_special(a->kind) && is_special(b->kind))
        return false;
    const Meta *special = is_special(a->kind) ? a : b; /* the other is an ARRAY */
    const Meta *other = special == a ? b : a;
    *kind = special->kind;
    return (special->kind != KIND_MATRIX || other->loose) && same_dims(special, merged);
}

/* a = the common description of a and b; false if there is none. */
static bool merge(Meta *a, const Meta *b)
{
    Meta before = *a;
    if (b->family > a->family)
        a->family = b->family;
    if (b->entry > a->entry)
        a->entry = b->entry;
    a->loose = a->loose && b->loose;
    if (a->kind == KIND_TENSOR || b->kind == KIND_TENSOR) {
        const Meta *other = a->kind == KIND_TENSOR ? b : a;
        bool ok = other->kind == KIND_TENSOR || other->ndim == 0 ||
                  other->family == NO_FAMILY;
        a->kind = KIND_TENSOR;
        a->ndim = 0;
        return ok;
    }
    return merge_dims(a, b) && merge_kind(&before, b, a, &a->kind);
}

/* TYPE_NONE if no such type is offered. */
static uint16_t settle(const Meta *m)
{
    VarType entry = m->entry == VarTypeBaseInt     ? VarTypeInt32
                    : m->entry == VarTypeBaseFloat ? VarTypeFloat32
                                                   : m->entry;
    int8_t dims[META_DIMS];
    for (int i = 0; i < m->ndim; i++) {
        if (m->dims[i] > INT8_MAX)
            return TYPE_NONE;
        dims[i] = (int8_t) m->dims[i];
    }
    if (m->ndim > 3 || entry == VarTypeInt16 || entry == VarTypeUInt16 ||
        entry == VarTypePointer)
        return TYPE_NONE;
    return type_find((Family) m->family, m->kind, m->ndim, dims, entry);
}

/* ---------------------------------------------------------------- asking */

int promote_number(const State *state, PyObject *object)
{
    int class = number_class(object);
    if (class >= 0 || promote_array(object) || PyList_Check(object) ||
        PyTuple_Check(object))
        return class;
    Meta m;
    Promotion found = describe_foreign(state, object, &m);
    if (found == PROMOTION_ERROR)
        PyErr_Clear();
    if (found != PROMOTION_FOUND)
        return number_like_class(object);
    if (m.ndim)
        return -1;
    return m.entry == VarTypeBool      ? OPERAND_BOOL
           : m.entry == VarTypeBaseInt ? OPERAND_INT
                                       : OPERAND_FLOAT;
}

int promote_class(State *state, PyObject *object)
{
    const Array *a = promote_array(object);
    if (a)
        return a->info->id;
    int class = promote_number(state, object);
    if (class >= 0)
        return class;
    Meta m;
    Promotion found = describe(state, object, &m);
    if (found != PROMOTION_FOUND)
        return found == PROMOTION_ERROR ? -2 : -1;
    if (m.family == NO_FAMILY) {
        m.family = FAMILY_SCALAR;
        m.kind = KIND_ARRAY;
        if (m.ndim == 1)
            m.dims[0] = DYNAMIC;
    }
    uint16_t id = settle(&m);
    return id == TYPE_NONE ? -1 : id;
}

static void describe_class(State *state, int class, Meta *m)
{
    if (class < TYPE_COUNT)
        describe_type(&state->types[class], m);
    else
        describe_number(class, m);
}

const TypeInfo *promote_pair(State *state, int a, int b)
{
    uint16_t *known = &state->promotion[a][b];
    if (*known == 0) {
        Meta x, y;
        describe_class(state, a, &x);
        describe_class(state, b, &y);
        uint16_t id = TYPE_NONE;
        if ((x.family != NO_FAMILY || y.family != NO_FAMILY) && merge(&x, &y))
            id = settle(&x);
        *known = id == TYPE_NONE ? PROMOTE_NEVER : (uint16_t) (id + 1);
    }
    return *known == PROMOTE_NEVER ? NULL : &state->types[*known - 1];
}

enum { OPERAND_LIMIT = 8 };

static void incompatible(const char *operation, PyObject *const *args, Py_ssize_t n)
{
    error_raise(PyExc_RuntimeError, operation, args, n,
                "Incompatible arguments. Their shapes or kinds do not combine.");
}

/* The merged description of args, with the family that 'family' or they have. */
static Promotion merge_all(State *state, const char *operation, PyObject *const *args,
                           Py_ssize_t n, int family, Meta *all)
{
    Meta metas[OPERAND_LIMIT];
    if (n > OPERAND_LIMIT) {
        PyErr_SetString(PyExc_SystemError, "promote(): too many operands");
        return PROMOTION_ERROR;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        Promotion found = describe(state, args[i], &metas[i]);
        if (found != PROMOTION_FOUND)
            return found;
        if (metas[i].family > family)
            family = metas[i].family;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        drop_lanes(&metas[i], family);
        if (i == 0)
            *all = metas[0];
        else if (!merge(all, &metas[i])) {
            incompatible(operation, args, n);
            return PROMOTION_ERROR;
        }
    }
    all->family = family;
    return PROMOTION_FOUND;
}

static Promotion finish(State *state, const char *operation, PyObject *const *args,
                        Py_ssize_t n, const Meta *m, const TypeInfo **info)
{
    if (m->family == NO_FAMILY)
        return PROMOTION_NONE;
    uint16_t id = settle(m);
    if (id == TYPE_NONE) {
        error_raise(
            PyExc_RuntimeError, operation, args, n,
            "Incompatible arguments. No array type has the %d-dimensional shape "
            "and the entries that their combination needs.",
            m->ndim);
        return PROMOTION_ERROR;
    }
    *info = &state->types[id];
    return PROMOTION_FOUND;
}

Promotion promote_operands(State *state, const char *operation, PyObject *const *args,
                           Py_ssize_t n, const TypeInfo **info)
{
    *info = NULL;
    if (n == 2) { /* the common case needs no Meta */
        int class[2];
        for (int i = 0; i < 2; i++) {
            const Array *a = promote_array(args[i]);
            class[i] = a ? a->info->id : number_class(args[i]);
        }
        if (class[0] >= 0 && class[1] >= 0)
            *info = promote_pair(state, class[0], class[1]);
        if (*info)
            return PROMOTION_FOUND;
    }
    Meta all;
    Promotion found = merge_all(state, operation, args, n, NO_FAMILY, &all);
    return found == PROMOTION_FOUND ? finish(state, operation, args, n, &all, info)
                                    : found;
}

Promotion promote_select(State *state, const char *operation, PyObject *const *args,
                         const TypeInfo **info)
{
    *info = NULL;
    Meta mask, values, whole;
    int family = NO_FAMILY;
    for (int i = 0; i < 3; i++) {
        Promotion found = describe(state, args[i], &mask);
        if (found != PROMOTION_FOUND)
            return found;
        if (mask.family > family)
            family = mask.family;
    }
    Promotion found = merge_all(state, operation, args + 1, 2, family, &values);
    if (found == PROMOTION_FOUND)
        found = merge_all(state, operation, args, 1, family, &mask);
    if (found != PROMOTION_FOUND)
        return found;
    /* A mask has no kind of its own: one for a matrix is a plain array of its shape. */
    mask.entry = VarTypeBool;
    if (is_special(mask.kind))
        mask.kind = KIND_ARRAY;
    whole = values;
    bool ok;
    if (is_special(values.kind)) { /* one mask for all, or one for each component */
        ok = mask.kind == KIND_LEAF ||
             (mask.kind == KIND_ARRAY && same_dims(&mask, &values));
        whole.family = mask.family > values.family ? mask.family : values.family;
    } else {
        ok = merge(&whole, &mask);
    }
    if (!ok) {
        incompatible(operation, args, 3);
        return PROMOTION_ERROR;
    }
    return finish(state, operation, args, 3, &whole, info);
}

const TypeInfo *promote(State *state, const char *operation, PyObject *const *args,
                        Py_ssize_t n)
{
    const TypeInfo *info;
    Promotion found = promote_operands(state, operation, args, n, &info);
    if (found != PROMOTION_NONE)
        return found == PROMOTION_FOUND ? info : NULL;
    bool any = false;
    for (Py_ssize_t i = 0; i < n; i++) {
        Meta m;
        any |= promote_array(args[i]) != NULL;
        found = describe(state, args[i], &m);
        if (found == PROMOTION_NONE)
            error_raise(
                PyExc_TypeError, operation, args, n,
                "argument %zd has the type '%s', expected a Dr.Jit array or what "
                "can be converted into one",
                i + 1, Py_TYPE(args[i])->tp_name);
        if (found != PROMOTION_FOUND)
            return NULL;
    }
    if (any) /* so an operand was none when it was first asked */
        error_raise(PyExc_TypeError, operation, args, n,
                    "an argument changed its type while it was inspected");
    return NULL;
}
