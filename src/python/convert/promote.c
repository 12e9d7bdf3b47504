/*
 * promote.c -- which type an operation on several operands computes in
 *
 * An operand is described by a Meta: family, kind, entry type and extents. Metas of all
 * operands are merged one after the other:
 *
 *   family   scalar combines with all; one backend and derivatives if one has them; two
 *            backends are an error
 *   entry    the larger one; VarType lists the entry types in promotion order, Python's
 *            int and float included (VarTypeBaseInt, VarTypeBaseFloat)
 *   extents  aligned at the front; 1 broadcasts, dynamic wins, others must agree
 *   kind     complex with a 2-vector stays complex, quaternion with a 4-vector stays
 *            quaternion, matrices combine with matrices, single values and sequences;
 *            tensors with tensors and flat arrays
 *
 * A list of numbers or a NumPy array has no family of its own. Beside a jit array its
 * last axis runs over lanes, which are not an extent of a type; beside scalar arrays it
 * is one. What numbers become if nothing else decides (Int32, Float32) is settled at
 * the end.
 */
#include "python/convert/promote.h"

#include "python/base/error.h"
#include "python/convert/operand.h"
#include "python/shape/size.h"

enum { META_DIMS = 8, PROMOTE_NEVER = 0xffff };

typedef struct Meta {
    int family; /* Family or FAMILY_NONE */
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
    m->family = FAMILY_NONE;
    m->kind = KIND_FLAT;
    m->entry = class == OPERAND_BOOL  ? VarTypeBool
               : class == OPERAND_INT ? VarTypeBaseInt
                                      : VarTypeBaseFloat;
    m->loose = false;
    m->ndim = 0;
}

/* The entries of a foreign array adapt to the arrays beside it if they are complex: a
 * complex type is one of pairs. */
static bool describe_memory(const Memory *memory, Meta *m)
{
    if (memory->ndim > META_DIMS)
        return false;
    m->family = FAMILY_NONE;
    m->kind = KIND_FLAT;
    m->entry = memory->complex ? VarTypeBaseFloat : memory->type;
    m->loose = true;
    m->ndim = memory->ndim;
    for (int i = 0; i < memory->ndim; i++)
        m->dims[i] = memory->shape[i];
    return true;
}

static bool describe(PyObject *operand, Meta *m);

/* Entries of a sequence must have one shape; their entry types and families merge. */
static bool describe_items(PyObject *items, Meta *m)
{
    Meta all = { .family = FAMILY_NONE, .kind = KIND_FLAT, .entry = VarTypeBaseInt };
    Py_ssize_t n = PySequence_Fast_GET_SIZE(items);
    for (Py_ssize_t i = 0; i < n; i++) {
        Meta item;
        if (!describe(PySequence_Fast_GET_ITEM(items, i), &item) ||
            item.kind == KIND_TENSOR)
            return false;
        if (i == 0) {
            all = item;
            continue;
        }
        all.family = family_merge(all.family, item.family);
        if (item.entry > all.entry)
            all.entry = item.entry;
        if (item.ndim == 0)
            continue; /* a number beside arrays */
        bool same = item.ndim == all.ndim;
        for (int d = 0; same && d < item.ndim; d++)
            same = item.dims[d] == all.dims[d];
        if (all.ndim && !same)
            return false;
        all.ndim = item.ndim;
        memcpy(all.dims, item.dims, sizeof(all.dims));
    }
    if (all.ndim == META_DIMS)
        return false;
    *m = all;
    m->kind = KIND_ARRAY;
    m->loose = true;
    m->ndim = all.ndim + 1;
    m->dims[0] = n;
    for (int d = 0; d < all.ndim; d++)
        m->dims[d + 1] = all.dims[d];
    return true;
}

int promote_number(PyObject *operand)
{
    if (PyFloat_Check(operand))
        return OPERAND_FLOAT;
    if (PyBool_Check(operand))
        return OPERAND_BOOL;
    return size_is_int(operand) ? OPERAND_INT : -1;
}

bool promote_is_single(PyObject *operand)
{
    const Array *a = array_of(operand);
    return a ? a->info->kind == KIND_FLAT : promote_number(operand) >= 0;
}

/* False: it is not an operand. Runs no code of others. */
static bool describe(PyObject *operand, Meta *m)
{
    const Array *a = array_of(operand);
    int class = a ? -1 : promote_number(operand);
    const Borrowed *source = operand_memory(operand);
    if (a)
        describe_type(a->info, m);
    else if (class >= 0)
        describe_number(class, m);
    else if (source)
        return describe_memory(&source->memory, m);
    else
        return (PyList_Check(operand) || PyTuple_Check(operand)) &&
               describe_items(operand, m);
    return true;
}

/* ---------------------------------------------------------------- merging */

/* Beside a jit array, the last axis of what has no family runs over lanes. */
static void drop_lanes(Meta *m, int family)
{
    if (m->family == FAMILY_NONE && m->ndim && family > FAMILY_SCALAR)
        m->ndim--;
    if (m->ndim == 0 && m->kind == KIND_ARRAY)
        m->kind = KIND_FLAT;
    else if (m->ndim && m->kind == KIND_FLAT)
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
    if (a->kind == KIND_FLAT || b->kind == KIND_FLAT || a->kind == b->kind) {
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
    a->family = family_merge(a->family, b->family);
    if (b->entry > a->entry)
        a->entry = b->entry;
    a->loose = a->loose && b->loose;
    if (a->kind == KIND_TENSOR || b->kind == KIND_TENSOR) {
        const Meta *other = before.kind == KIND_TENSOR ? b : &before;
        bool ok = other->kind == KIND_TENSOR || other->ndim == 0 ||
                  other->family == FAMILY_NONE;
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
    if (m->family == FAMILY_MIXED || m->ndim > 3 || entry == VarTypeInt16 ||
        entry == VarTypeUInt16 || entry == VarTypePointer)
        return TYPE_NONE;
    return type_find((Family) m->family, m->kind, m->ndim, dims, entry);
}

/* ---------------------------------------------------------------- asking */

int promote_class(PyObject *operand)
{
    const Array *a = array_of(operand);
    int class = a ? a->info->id : promote_number(operand);
    Meta m;
    if (class >= 0)
        return class;
    if (!describe(operand, &m))
        return -1;
    if (m.family == FAMILY_NONE) {
        m.family = FAMILY_SCALAR;
        m.kind = m.ndim ? KIND_ARRAY : KIND_FLAT;
        if (m.ndim == 1)
            m.dims[0] = DYNAMIC;
    }
    uint16_t id = settle(&m);
    if (id == TYPE_NONE && operand_memory(operand)) { /* of any shape */
        m.family = FAMILY_SCALAR;
        m.kind = KIND_TENSOR;
        m.ndim = 0;
        id = settle(&m);
    }
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
        if (family_merge(x.family, y.family) != FAMILY_NONE && merge(&x, &y))
            id = settle(&x);
        *known = id == TYPE_NONE ? PROMOTE_NEVER : (uint16_t) (id + 1);
    }
    return *known == PROMOTE_NEVER ? NULL : &state->types[*known - 1];
}

bool promote_fits(const char *operation, PyObject *const *args, Py_ssize_t n,
                  int family)
{
    return family != FAMILY_MIXED ||
           error_raise(PyExc_TypeError, operation, args, n,
                       "the operands are arrays of different backends, expected one; "
                       "the constructor of a type moves them to its backend");
}

enum { OPERAND_LIMIT = 8 };

static void incompatible(const char *operation, PyObject *const *args, Py_ssize_t n)
{
    error_raise(PyExc_RuntimeError, operation, args, n,
                "incompatible arguments, their shapes or kinds do not combine");
}

/* The merged description of args, with the family that 'family' or they have. */
static Promotion merge_all(const char *operation, PyObject *const *args,
                           Py_ssize_t n, int family, Meta *all)
{
    Meta metas[OPERAND_LIMIT];
    if (n > OPERAND_LIMIT) {
        PyErr_SetString(PyExc_SystemError, "drjit: promote() was given too many "
                                           "operands");
        return PROMOTION_ERROR;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        if (!describe(args[i], &metas[i]))
            return PROMOTION_NONE;
        family = family_merge(family, metas[i].family);
    }
    if (!promote_fits(operation, args, n, family))
        return PROMOTION_ERROR;
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
    if (m->family == FAMILY_NONE)
        return PROMOTION_NONE;
    uint16_t id = settle(m);
    if (id == TYPE_NONE) {
        error_raise(
            PyExc_RuntimeError, operation, args, n,
            "incompatible arguments, no array type has the %d-dimensional shape and "
            "the entries that their combination needs",
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
            const Array *a = array_of(args[i]);
            class[i] = a ? a->info->id : promote_number(args[i]);
        }
        if (class[0] >= 0 && class[1] >= 0)
            *info = promote_pair(state, class[0], class[1]);
        if (*info)
            return PROMOTION_FOUND;
    }
    Meta all;
    Promotion found = merge_all(operation, args, n, FAMILY_NONE, &all);
    return found == PROMOTION_FOUND ? finish(state, operation, args, n, &all, info)
                                    : found;
}

Promotion promote_select(State *state, const char *operation, PyObject *const *args,
                         const TypeInfo **info)
{
    *info = NULL;
    Meta mask, values, whole;
    int family = FAMILY_NONE, families[3];
    for (int i = 0; i < 3; i++) {
        if (!describe(args[i], &mask))
            return PROMOTION_NONE;
        families[i] = mask.family;
        family = family_merge(family, mask.family);
    }
    if (!promote_fits(operation, args, 3, family))
        return PROMOTION_ERROR;
    Promotion found = merge_all(operation, args + 1, 2, family, &values);
    if (found == PROMOTION_FOUND)
        found = merge_all(operation, args, 1, family, &mask);
    if (found != PROMOTION_FOUND)
        return found;
    /* A mask has no kind of its own: one for a matrix is a plain array of its shape. */
    mask.entry = VarTypeBool;
    if (is_special(mask.kind))
        mask.kind = KIND_ARRAY;
    whole = values;
    if (mask.kind == KIND_TENSOR || values.kind == KIND_TENSOR) {
        /* Tensors take any shape of what belongs to no family, see merge(). */
        if (families[0] == FAMILY_NONE)
            mask.family = FAMILY_NONE;
        if (families[1] == FAMILY_NONE && families[2] == FAMILY_NONE)
            whole.family = FAMILY_NONE;
    }
    bool ok;
    if (is_special(values.kind)) { /* one mask for all, or one for each component */
        ok = mask.kind == KIND_FLAT ||
             (mask.kind == KIND_ARRAY && same_dims(&mask, &values));
        whole.family = family_merge(mask.family, values.family);
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
    for (Py_ssize_t i = 0; i < n; i++) {
        Meta m;
        if (describe(args[i], &m))
            continue;
        error_raise(PyExc_TypeError, operation, args, n,
                    "argument %zd is of type %s, expected a Dr.Jit array or what can "
                    "be converted into one",
                    i + 1, operand_class(args[i])->tp_name);
        return NULL;
    }
    return NULL;
}
