/*
 * access.c -- indices and masks of gathers and scatters
 */
#include "python/memory/access.h"

#include "python/array/evaluate.h"
#include "python/base/error.h"
#include "python/convert/convert.h"
#include "python/type/enums.h"

void access_start(Access *access, State *state, const char *operation, PyObject *index,
                  PyObject *active)
{
    *access = (Access){
        .state = state,
        .operation = operation,
        .index = index,
        .active = active == Py_True ? NULL : active,
    };
}

bool access_sort_mode(State *state, PyObject **active, PyObject **mode)
{
    PyObject *object = *active;
    if (!object || *mode || PyBool_Check(object) || array_check(state, object))
        return true;
    const int is_mode = enum_has(state, "ReduceMode", object);
    if (is_mode > 0) {
        *mode = object;
        *active = NULL;
    }
    return is_mode >= 0;
}

void access_end(Access *access)
{
    for (int i = 0; i < FAMILY_COUNT; i++) {
        Py_CLEAR(access->indices[i]);
        Py_CLEAR(access->masks[i]);
    }
}

const TypeInfo *access_flat(State *state, const TypeInfo *info, VarType entry)
{
    const int8_t dims[] = { DYNAMIC };
    Family family = (Family) info->family;
    uint16_t id = info->jit ? type_find(family, KIND_FLAT, 0, NULL, entry)
                            : type_find(family, KIND_ARRAY, 1, dims, entry);
    return id == TYPE_NONE ? NULL : &state->types[id];
}

static Array *convert_operand(const Access *a, const TypeInfo *like, PyObject *object,
                              const char *name, VarType entry)
{
    const TypeInfo *wanted = access_flat(a->state, like, entry);
    if (object == Py_None) {
        error_raise(PyExc_TypeError, a->operation, NULL, 0,
                    "'%s' is None, expected something that can be converted to %s",
                    name, wanted->name);
        return NULL;
    }
    Array *converted = convert_to(wanted, object, a->operation);
    if (!converted && !PyErr_ExceptionMatches(PyExc_RuntimeError) &&
        !PyErr_ExceptionMatches(PyExc_MemoryError))
        error_raise(PyExc_TypeError, a->operation, NULL, 0,
                    "'%s' is of type %s, expected something that can be converted to "
                    "%s",
                    name, Py_TYPE(object)->tp_name, wanted->name);
    return converted;
}

bool access_use(Access *a, const TypeInfo *like, Array **index, Array **mask)
{
    int family = like->family;
    if (!a->indices[family])
        a->indices[family] = convert_operand(a, like, a->index, "index", VarTypeUInt32);
    if (!a->indices[family])
        return false;
    if (a->active && !a->masks[family]) {
        a->masks[family] = convert_operand(a, like, a->active, "active", VarTypeBool);
        if (!a->masks[family])
            return false;
    }
    *index = a->indices[family];
    *mask = a->masks[family];
    return true;
}

Array *access_make(PyTypeObject *cls, const TypeInfo *info, const Array *like)
{
    if (cls != info->py)
        return array_new_subclass(cls, info, like);
    return like ? array_new_like(info, like) : array_new(info);
}

size_t access_size(const Array *flat)
{
    if (!flat->info->jit)
        return array_count(flat);
    VarIndex index = array_var(flat);
    return index ? var_peek_size(index) : 0;
}

Extent access_extent(const Array *flat)
{
    const size_t size = access_size(flat);
    return flat->info->jit ? extent_of_leaf(array_var(flat), size) : extent_of(size);
}

bool access_lanes(const char *operation, const size_t *sizes, const VarIndex *vars,
                  int n, size_t *lanes)
{
    size_t size = 1;
    VarIndex wide = 0;
    for (int i = 0; i < n; i++) {
        if (sizes[i] == 1 || sizes[i] == size)
            continue;
        if (size != 1) {
            char places[VAR_PLACES];
            var_places(wide, vars ? vars[i] : 0, places);
            return error_raise(
                PyExc_RuntimeError, operation, NULL, 0,
                "operands have incompatible sizes %zu and %zu, expected equal "
                "sizes or 1%s",
                size, sizes[i], places);
        }
        size = sizes[i];
        wide = vars ? vars[i] : 0;
    }
    *lanes = size;
    return true;
}

VarIndex access_peek(const Array *flat)
{
    return flat && flat->info->jit ? array_var((Array *) flat) : 0;
}

static VarIndex read_any(VarIndex mask, void *argument)
{
    const VarIndex any = var_any(mask);
    bool *inactive = argument, active = true;
    if (any && var_read(any, 0, &active))
        *inactive = !active;
    else /* a body is being recorded, say: that is not known now */
        jit_error_clear();
    var_unref(any);
    return 0;
}

bool access_is_inactive(const Array *mask)
{
    const VarIndex var = access_variable(mask);
    bool inactive = false;
    if (var)
        evaluate_call(read_any, var, &inactive);
    var_unref(var);
    return inactive;
}

VarIndex access_variable(const Array *flat)
{
    VarIndex index = flat ? array_var(flat) : 0;
    return index ? var_ref(index) : 0;
}

bool access_waits(VarIndex index)
{
    VarState state = var_state(index);
    return state != VarStateLiteral && state != VarStateEvaluated;
}

void *access_no_tensors(const char *operation, const char *instead)
{
    return error_raise(PyExc_RuntimeError, operation, NULL, 0,
                       "tensors are not supported; use %s", instead);
}
