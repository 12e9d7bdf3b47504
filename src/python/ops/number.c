/*
 * number.c -- the operators of arrays
 *
 * Each slot begins with the commonest case, two arrays of exactly one class with one
 * variable each: a direct call of the core and one new object. shortcut.c takes nested
 * arrays and Python numbers: one core call for each leaf. All else goes to apply().
 */
#include <math.h>
#include <string.h>

#include "python/array/evaluate.h"
#include "python/array/reads.h"
#include "python/base/error.h"
#include "python/base/tables.h"
#include "python/convert/convert.h"
#include "python/convert/operand.h"
#include "python/convert/promote.h"
#include "python/convert/value.h"
#include "python/ops/apply.h"
#include "python/ops/product.h"
#include "python/ops/shortcut.h"

/* ---------------------------------------------------------------- binary */

static State *state_of(PyObject *a, PyObject *b)
{
    const Array *array = array_of(a);
    return (array ? array : (const Array *) b)->info->state;
}

static bool is_numpy(const PyObject *object)
{
    for (const PyTypeObject *t = Py_TYPE(object); t; t = t->tp_base)
        if (!strcmp(t->tp_name, "numpy.ndarray") ||
            !strcmp(t->tp_name, "numpy.generic"))
            return true;
    return false;
}

/* Python asks the operand on the right where ours has no answer, and NumPy would then
 * compute with what is in the array: what was traced and is tracked would be lost. */
static PyObject *answer(PyObject *result, const char *operation, PyObject *a,
                        PyObject *b)
{
    if (result != Py_NotImplemented || !array_of(a) || !is_numpy(b))
        return result;
    Py_DECREF(result);
    PyObject *const args[] = { a, b };
    return error_raise(PyExc_TypeError, operation, args, 2,
                       "unsupported operand types '%s' and '%s'", Py_TYPE(a)->tp_name,
                       Py_TYPE(b)->tp_name);
}

static PyObject *slow_path(const ShortcutPair *p, PyObject *a, PyObject *b)
{
    if (PyErr_Occurred())
        return NULL;
    PyObject *result =
        apply(state_of(a, b), p->which, (PyObject *const[]){ a, b }, true);
    return apply_rows[p->which].result == RESULT_MASK
               ? result
               : answer(result, apply_rows[p->which].name, a, b);
}

/* The descriptor of two arrays of exactly one class with one variable of one of these
 * entry types each, else NULL. One of the two belongs to a class with our slots, so if
 * their classes agree, both are arrays. */
static inline const TypeInfo *single_info(PyObject *a, PyObject *b, uint32_t entries)
{
    if (Py_TYPE(a) != Py_TYPE(b))
        return NULL;
    const TypeInfo *info = ((const Array *) a)->info;
    return Py_TYPE(a) == info->py && info->shortcut & entries ? info : NULL;
}

/* ---------------------------------------------------------------- in place */

/* a op= b: 'result' moves into 'a' if the type stays. */
static PyObject *in_place(PyObject *a, PyObject *result)
{
    if (!result || result == Py_NotImplemented || result == a ||
        Py_TYPE(result) != Py_TYPE(a))
        return result;
    bool ok = array_replace((Array *) a, (Array *) result);
    Py_DECREF(result);
    return ok ? Py_NewRef(a) : NULL;
}

#define SLOT2(id, name, entries, compares, core)                               \
    static PyObject *number_##name(PyObject *a, PyObject *b)                   \
    {                                                                          \
        const TypeInfo *info = single_info(a, b, entries);                     \
        if (info && !jit_pending_writes() && !reads_open) {                    \
            const VarIndex *x = array_plain_leaves((Array *) a),               \
                           *y = array_plain_leaves((Array *) b);               \
            VarIndex index = x && y && *x && *y ? var_##core(*x, *y) : 0;      \
            if (index)                                                         \
                return (PyObject *) array_new_leaf(                            \
                    compares ? &info->state->types[info->mask] : info, index); \
        }                                                                      \
        static const ShortcutPair pair = { APPLY_##id, var_##core, slow_path }; \
        return shortcut_pair(&pair, a, b);                                     \
    }

#define COMPARISON(id, name, op, core, special) SLOT2(id, name, ENTRIES_ALL, true, core)
#define OPERATOR(id, name, op, core, entries, special, derivative, slot) \
    SLOT2(id, name, ENTRIES_##entries, false, core)                      \
    static PyObject *inplace_##name(PyObject *a, PyObject *b)            \
    {                                                                    \
        return in_place(a, number_##name(a, b));                         \
    }
#include "python/ops/apply.def"

/* What floor divisions leave. */
static PyObject *number_divmod(PyObject *a, PyObject *b)
{
    PyObject *quotient = number_floordiv(a, b);
    if (!quotient || quotient == Py_NotImplemented)
        return quotient;
    PyObject *rest = number_mod(a, b);
    PyObject *both = rest ? PyTuple_Pack(2, quotient, rest) : NULL;
    Py_DECREF(quotient);
    Py_XDECREF(rest);
    return both;
}

static PyObject *number_matmul(PyObject *a, PyObject *b)
{
    PyObject *const args[] = { a, b };
    return answer(product_apply(state_of(a, b), args, false, false), "matmul", a, b);
}

static PyObject *inplace_matmul(PyObject *a, PyObject *b)
{
    return in_place(a, number_matmul(a, b));
}

/* ---------------------------------------------------------------- unary */

static PyObject *unary(PyObject *a, Apply which, const char *symbol)
{
    PyObject *result = shortcut_apply(which, 1, &a);
    if (!result && !PyErr_Occurred())
        result = apply(((Array *) a)->info->state, which, &a, true);
    if (result != Py_NotImplemented)
        return result;
    Py_DECREF(result);
    return PyErr_Format(PyExc_TypeError, "bad operand type for %s: '%s'", symbol,
                        Py_TYPE(a)->tp_name);
}

#define PREFIX(id, name, op, entries, special, derivative, slot, symbol) \
    static PyObject *number_##name(PyObject *a)                          \
    {                                                                    \
        return unary(a, APPLY_##id, symbol);                             \
    }
#include "python/ops/apply.def"

static PyObject *number_abs(PyObject *a)
{
    return unary(a, APPLY_ABS, "abs()");
}

/* A copy: changing the result in place must not change the operand. */
static PyObject *copy(PyObject *a)
{
    return array_finish(array_duplicate((const Array *) a), &a, 1);
}

/* ---------------------------------------------------------------- truth */

static bool read_entry(const Array *a, bool *truth)
{
    uint8_t byte = 0;
    if (a->info->jit) {
        reads_note_whole(a);
        if (!evaluate_read(array_var(a), 0, &byte)) {
            PyObject *self = (PyObject *) a;
            error_from_core(".__bool__", &self, 1);
            return false;
        }
    } else {
        byte = *(const uint8_t *) array_data(a);
    }
    *truth = byte;
    return true;
}

/* Is it one variable, which has no value yet? */
static bool is_symbolic(const Array *a)
{
    const bool one = a->info->kind == KIND_FLAT || a->info->kind == KIND_TENSOR;
    return one && a->info->jit && array_var(a) &&
           var_state(array_var(a)) == VarStateSymbolic;
}

/* A mask with one element. */
static int truth_value(PyObject *self)
{
    const Array *a = (const Array *) self;
    const TypeInfo *info = a->info;
    if (!type_is_mask(info)) {
        error_raise(
            PyExc_TypeError, ".__bool__", &self, 1,
            "the array holds numbers, expected a mask; compare first, as in 'x > 0'");
        return -1;
    }
    int ndim = info->ndim + (info->jit && info->kind != KIND_TENSOR);
    if (ndim > 1) {
        error_raise(PyExc_RuntimeError, ".__bool__", &self, 1,
                    "the array has %d dimensions, expected at most 1", ndim);
        return -1;
    }
    size_t size = array_count(a);
    if (info->jit)
        size = array_var(a) ? var_size(array_var(a)) : 0;
    if (size != 1 && !is_symbolic(a)) { /* of those there is more to say */
        error_raise(PyExc_RuntimeError, ".__bool__", &self, 1,
                    "the array has %zu entries, expected 1", size);
        return -1;
    }
    bool truth;
    return read_entry(a, &truth) ? truth : -1;
}

/* What to write instead, from the line that runs. An interrupt takes the place of the
 * error, nothing else does. */
static void add_remedy(PyObject *self)
{
    const Array *a = (const Array *) self;
    if (!PyErr_ExceptionMatches(PyExc_RuntimeError) &&
        !PyErr_ExceptionMatches(PyExc_TypeError))
        return;
    PyObject *error = error_fetch();
    PyObject *module = PyImport_ImportModule("drjit._bool_hint");
    PyObject *done = module ? PyObject_CallMethod(module, "explain", "Oii", error,
                                                  type_is_mask(a->info), is_symbolic(a))
                            : NULL;
    if (!done && PyErr_ExceptionMatches(PyExc_Exception))
        PyErr_WriteUnraisable(self);
    if (PyErr_Occurred())
        Py_DECREF(error);
    else
        error_restore(error);
    Py_XDECREF(done);
    Py_XDECREF(module);
}

static int number_bool(PyObject *self)
{
    const int truth = truth_value(self);
    if (truth < 0)
        add_remedy(self);
    return truth;
}

/* ---------------------------------------------------------------- powers */

/* Is the exponent a whole number known now? False: exception. */
static bool whole_exponent(PyObject *exponent, long long *value, bool *known)
{
    *known = false;
    int class = promote_number(exponent), overflow;
    if (class < 0)
        return true;
    if (class == OPERAND_FLOAT) {
        double number = PyFloat_AsDouble(exponent);
        *known = number == floor(number) && fabs(number) < 9e18;
        if (*known)
            *value = (long long) number;
        return true;
    }
    *value = PyLong_AsLongLongAndOverflow(exponent, &overflow);
    *known = !overflow;
    if (overflow)
        error_raise_both("OverflowError", "power", NULL, 0,
                         "%R is out of range, expected an exponent of 64 bits",
                         exponent);
    return *known;
}

/* Is leaf i of the multiplicative identity of this kind 1 (and not 0)? */
static bool is_one(const TypeInfo *info, size_t i)
{
    size_t n = (size_t) info->dims[0];
    switch ((Kind) info->kind) {
    case KIND_COMPLEX:
        return i == 0;
    case KIND_QUATERNION:
        return i == 3;
    case KIND_MATRIX:
        i /= info->leaves / (n * n);
        return i / n == i % n;
    default:
        return true;
    }
}

/* The identity with the type and the sizes of 'base'. */
static Array *one_like(const Array *base)
{
    const TypeInfo *info = base->info;
    Array *out = array_new_like(info, base);
    size_t count = out ? array_count(base) : 0;
    PyObject *number = out ? PyLong_FromLong(1) : NULL;
    uint64_t one;
    bool ok = number && apply_number(info, number, &one);
    Py_XDECREF(number);
    for (size_t i = 0; ok && i < count; i++) {
        uint64_t bits = is_one(info, i) ? one : 0;
        VarIndex var = info->jit ? array_leaves(base)[i] : 0;
        if (!info->jit) {
            value_store(out, i, bits);
        } else if (var) {
            VarIndex index = var_literal_like(info, &bits, var);
            array_leaves(out)[i] = index;
            if (!index)
                error_from_core("power", NULL, 0);
            ok = index;
        }
    }
    if (!ok)
        Py_CLEAR(out);
    return out;
}

/* Repeated squaring, from the lowest bit. */
static PyObject *integer_power(State *state, PyObject *base, long long exponent)
{
    unsigned long long n = exponent < 0 ? 0 - (unsigned long long) exponent
                                        : (unsigned long long) exponent;
    PyObject *square = Py_NewRef(base), *result = NULL;
    while (n && square) {
        if (n & 1) {
            PyObject *next = result ? number_mul(result, square) : copy(square);
            Py_XDECREF(result);
            result = next;
            if (!result)
                break;
        }
        n >>= 1;
        if (n) {
            PyObject *next = number_mul(square, square);
            Py_DECREF(square);
            square = next;
        }
    }
    if (exponent == 0)
        result = array_finish(one_like((const Array *) base), &base, 1);
    else if (!square)
        Py_CLEAR(result);
    Py_XDECREF(square);
    if (result && exponent < 0) {
        PyObject *inverse = apply(state, APPLY_RCP, &result, false);
        Py_DECREF(result);
        result = inverse;
    }
    return result;
}

/* A number to the power of integers: 2 ** (log2(number) * exponent), in floats. */
static PyObject *power_of_number(State *state, PyObject *number, Array *exponent)
{
    const TypeInfo *info =
        &state->types[type_with_entry(exponent->info, VarTypeFloat32)];
    Array *floats = convert_array(info, exponent, "power");
    if (!floats)
        return NULL;
    PyObject *const args[] = { number, (PyObject *) floats };
    PyObject *result = apply(state, APPLY_POWER, args, true);
    Py_DECREF((PyObject *) floats);
    return result;
}

/* Not of masks. */
static bool is_integers(const Array *a)
{
    return a && !type_is_float(a->info) && !type_is_mask(a->info);
}

/* Two arrays of integers: drjit._math.powers answers. */
static PyObject *power_of_integers(PyObject *const *args)
{
    PyObject *module = PyImport_ImportModule("drjit._math.powers");
    PyObject *result = module ? PyObject_CallMethod(module, "integer_power", "OO",
                                                    args[0], args[1])
                              : NULL;
    Py_XDECREF(module);
    return result;
}

static PyObject *power(State *state, PyObject *const *args)
{
    PyObject *a = args[0], *b = args[1];
    const Array *base = array_of(a);
    long long exponent = 0;
    bool known = false;
    if (base && !whole_exponent(b, &exponent, &known))
        return NULL;
    if (base && type_is_mask(base->info))
        return error_raise(PyExc_RuntimeError, "power", args, 2,
                           "operation not supported for masks");
    if (known && exponent < 0 && !type_is_float(base->info))
        return error_raise(PyExc_RuntimeError, "power", args, 2,
                           "a negative exponent is not supported for integers, "
                           "expected floats");
    if (known)
        return integer_power(state, a, exponent);
    Array *exponents = array_of(b);
    if (is_integers(base) && is_integers(exponents))
        return power_of_integers(args);
    if (!base && promote_number(a) >= 0 && is_integers(exponents))
        return power_of_number(state, a, exponents);
    return apply(state, APPLY_POWER, args, true);
}

static PyObject *number_power(PyObject *a, PyObject *b, PyObject *modulus)
{
    if (modulus != Py_None || (!array_of(a) && !array_of(b)))
        Py_RETURN_NOTIMPLEMENTED;
    State *state = state_of(a, b);
    PyObject *const args[] = { a, b };
    PyObject *operands[2];
    if (!operand_open(state, args, 2, operands))
        return NULL;
    PyObject *result = power(state, operands);
    operand_close(operands, 2);
    return answer(result, "power", a, b);
}

static PyObject *inplace_power(PyObject *a, PyObject *b, PyObject *modulus)
{
    return in_place(a, number_power(a, b, modulus));
}

/* ---------------------------------------------------------------- comparisons */

/* A comparison with something foreign is an error, not False for all entries. */
static PyObject *richcompare(PyObject *a, PyObject *b, int op)
{
    static const struct {
        binaryfunc function;
        const char *name;
    } rows[] = {
#define COMPARISON(id, name, op, core, special) [Py_##id] = { number_##name, #name },
#include "python/ops/apply.def"
    };
    PyObject *result = rows[op].function(a, b);
    if (result != Py_NotImplemented)
        return result;
    Py_DECREF(result);
    PyObject *const args[] = { a, b };
    return error_raise(PyExc_RuntimeError, rows[op].name, args, 2,
                       "incompatible arguments, a value of type %s cannot be compared "
                       "with an array",
                       Py_TYPE(b)->tp_name);
}

static Py_hash_t hash(PyObject *self)
{
    size_t address = (size_t) self; /* objects are aligned to 16 bytes */
    Py_hash_t value = (Py_hash_t) (address >> 4 | address << (8 * sizeof(address) - 4));
    return value == -1 ? -2 : value;
}

/* Without these, int(a) and float(a) would read the array's memory as digits. */
static PyObject *fail_number(PyObject *self, const char *name)
{
    return error_raise(PyExc_TypeError, name, &self, 1,
                       "an array is not a number; a.item() gives its only entry");
}

static PyObject *number_int(PyObject *self)
{
    return fail_number(self, ".__int__");
}

static PyObject *number_float(PyObject *self)
{
    return fail_number(self, ".__float__");
}

PyType_Slot number_slots[] = {
#define OPERATOR(id, name, op, core, entries, special, derivative, slot) \
    SLOT(Py_nb_##slot, number_##name), SLOT(Py_nb_inplace_##slot, inplace_##name),
#define PREFIX(id, name, op, entries, special, derivative, slot, symbol) \
    SLOT(Py_nb_##slot, number_##name),
#include "python/ops/apply.def"
    SLOT(Py_nb_matrix_multiply, number_matmul),
    SLOT(Py_nb_inplace_matrix_multiply, inplace_matmul),
    SLOT(Py_nb_divmod, number_divmod),
    SLOT(Py_nb_power, number_power),
    SLOT(Py_nb_inplace_power, inplace_power),
    SLOT(Py_nb_absolute, number_abs),
    SLOT(Py_nb_positive, copy),
    SLOT(Py_nb_bool, number_bool),
    SLOT(Py_nb_int, number_int),
    SLOT(Py_nb_float, number_float),
    SLOT(Py_tp_richcompare, richcompare),
    SLOT(Py_tp_hash, hash),
    { 0, NULL },
};
