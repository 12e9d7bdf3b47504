/*
 * type.h -- descriptors of the array types, generated from types.def
 *
 * A descriptor says all that is known about a type. Ids are dense, so relations between
 * types (promotion, mask type, value type, ...) are table look-ups. The Python classes
 * of a family are made when its module is first touched (type_touch_family), or the
 * first array of it is made (type_class); until then the descriptors exist with 'py'
 * NULL. The FLAT rows of drjit.scalar never have a class: they stand for Python's bool,
 * int and float with a given entry type.
 */
#ifndef PYTHON_TYPE_H
#define PYTHON_TYPE_H

#include "drjit-core/jit.h"
#include "python/base/compat.h"
#include "python/type/family.h"

typedef struct State State;

typedef enum Kind {
    KIND_FLAT,       /* Float: one variable; of drjit.scalar: a Python number */
    KIND_ARRAY,      /* Array3f, ArrayXf, Array33f */
    KIND_MATRIX,     /* Matrix3f: row major */
    KIND_COMPLEX,    /* (real, imag) */
    KIND_QUATERNION, /* (x, y, z, w), w is the real part */
    KIND_TENSOR,
    KIND_COUNT
} Kind;

enum { TYPES_PER_FAMILY = 146, TYPE_COUNT = FAMILY_COUNT * TYPES_PER_FAMILY,
       TYPE_NONE = 0xffff, DYNAMIC = -1,
#ifdef Py_REF_DEBUG /* such builds of Python count objects where they are made */
       FREE_LIST_LIMIT = 0
#else
       FREE_LIST_LIMIT = 64
#endif
};

/* Traced arrays whose leaves stand side by side and mean nothing but themselves: the
 * bit of their entry type, a Float's as it is, an Array3f's moved up. */
enum { SHORT_ARRAY_SHIFT = 16 };

typedef struct TypeInfo {
    State *state;
    PyTypeObject *py;       /* NULL: family not touched yet, or FLAT of drjit.scalar */
    const char *name;       /* "drjit.llvm.Array3f"; static storage of the state */
    uint16_t id;
    uint8_t family;         /* Family */
    uint8_t kind;           /* Kind */
    uint8_t backend;        /* JitBackend; JitBackendNone for drjit.scalar */
    uint8_t place;          /* where its memory is, as in backends.def */
    uint8_t entry;          /* VarType of the entries */
    uint8_t entry_size;     /* of an entry in memory, in bytes */
    uint8_t var_size; /* bytes a leaf takes in an Array: 8 if jit, else entry_size */
    bool jit;
    bool diff;              /* has derivatives: each type of such a family */
    bool dynamic;           /* ArrayX...: the first extent is given by each array */
    int8_t ndim;            /* extents over leaves (0 for FLAT and TENSOR) */
    int8_t dims[3];
    uint16_t leaves; /* number of leaves; 0 for dynamic types; 1 for a jit TENSOR */
    uint16_t leaf;          /* id of the FLAT with the same entry type, same family */
    uint16_t value; /* id of self[i]; for a TENSOR its own id; for a FLAT itself */
    uint16_t mask;          /* id of the mask type: comparison results */
    uint32_t shortcut; /* see SHORT_ARRAY_SHIFT; 0: all operators take the slow path */
    uint16_t array; /* id of array_t: plain array of the same shape; for a TENSOR
                               its 1D storage (jit: FLAT, scalar: ArrayX) */
    /* Dead objects of exactly this class, chained through Array.data. They keep their
       references to it. */
    void *free_list;
    uint32_t free_count;
} TypeInfo;

/** Fill state->types. False with an exception if out of memory. */
bool type_init(State *state);

/** Release the classes and names. */
void type_clear(State *state);
int type_traverse(State *state, visitproc visit, void *arg);

/** Make the classes of a family (once) and bind them, under name and alias, in the
 *  dictionary of its module. Initialises the backend. */
bool type_touch_family(State *state, Family family, PyObject *module_dict);

/** The class, which is made with all others of its family if it does not exist yet
 *  (borrowed). NULL: exception. */
PyTypeObject *type_class(const TypeInfo *info);

/** A place of memory, as DLPack numbers the kinds of devices. */
enum { PLACE_HOST = 1 };
/** The backend whose memory is there, JitBackendNone if there is none. */
JitBackend type_backend_at(int place);

/** Id of the type with this shape and entry type, TYPE_NONE if there is none. 'dims'
 *  has ndim extents over leaves. */
uint16_t type_find(Family family, Kind kind, int ndim, const int8_t *dims,
                   VarType entry);

/** The type without derivatives of a backend's variables, a leaf or a tensor; NULL:
 *  there is none. */
const TypeInfo *type_of_backend(const State *state, JitBackend backend, Kind kind,
                                VarType entry);

/** The same shape (and kind, where such a type exists; else KIND_ARRAY) with another
 *  entry type; TYPE_NONE if there is none. */
uint16_t type_with_entry(const TypeInfo *info, VarType entry);

/** The same type in another family. */
static inline uint16_t type_in_family(const TypeInfo *info, Family family)
{
    return (uint16_t) (family * TYPES_PER_FAMILY + info->id % TYPES_PER_FAMILY);
}

/** The same type with derivatives, and without; the type itself if it is that, or there
 *  is no other. */
const TypeInfo *type_diff(const TypeInfo *info);
const TypeInfo *type_detached(const TypeInfo *info);

/** Descriptor of a class or of a subclass of one; NULL (no exception): it has none. */
const TypeInfo *type_of_class(State *state, PyTypeObject *cls);

/** The state, given any class derived from ArrayBase; NULL (no exception) otherwise. */
State *type_state(PyTypeObject *cls);

/** Size of an entry in bytes; "float32", "bool", ...: the name used by __meta__. */
size_t type_entry_size(VarType type);
const char *type_entry_name(VarType type);

/** What kind of number an entry is, in the letters of NumPy: 'b' (bool), 'i', 'u' or
 *  'f'; the type of this kind and size, VarTypeVoid if there is none. */
char type_entry_nature(VarType type);
VarType type_entry_find(char nature, size_t size);

static inline bool type_is_float(const TypeInfo *info)
{
    return info->entry >= VarTypeFloat16;
}

static inline bool type_is_mask(const TypeInfo *info)
{
    return info->entry == VarTypeBool;
}

static inline bool type_is_signed(VarType type)
{
    return type >= VarTypeFloat16 || type == VarTypeInt8 || type == VarTypeInt16 ||
           type == VarTypeInt32 || type == VarTypeInt64;
}

/** Complex numbers, quaternions and matrices have arithmetic of their own. */
static inline bool type_is_special(const TypeInfo *info)
{
    return info->kind >= KIND_MATRIX && info->kind <= KIND_QUATERNION;
}

/** A class of drjit._core, "drjit._core.<name>", with these flags beside the default
 *  ones; type_add(): under its name in the module. A new reference; NULL: exception. */
PyTypeObject *type_make(PyObject *module, const char *name, size_t size,
                        unsigned long flags, PyType_Slot *slots);
PyTypeObject *type_add(PyObject *module, const char *name, size_t size,
                       unsigned long flags, PyType_Slot *slots);

#endif
