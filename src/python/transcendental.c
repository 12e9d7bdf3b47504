/*
 * transcendental.c -- sin, exp and their kin
 *
 * One row each: the table makes both the functions and their entries in the module.
 * Results are within 1 ulp, of Python numbers in double precision; complex numbers and
 * quaternions are seen to by special_functions.c.
 */
#include "python/functions.h"
#include "python/module.h"

#define TRANSCENDENTAL(X) \
    X(sin, APPLY_SIN, "Sine.") \
    X(cos, APPLY_COS, "Cosine.") \
    X(tan, APPLY_TAN, "Tangent.") \
    X(asin, APPLY_ASIN, "Arc sine.") \
    X(acos, APPLY_ACOS, "Arc cosine.") \
    X(atan, APPLY_ATAN, "Arc tangent.") \
    X(sinh, APPLY_SINH, "Hyperbolic sine.") \
    X(cosh, APPLY_COSH, "Hyperbolic cosine.") \
    X(tanh, APPLY_TANH, "Hyperbolic tangent.") \
    X(asinh, APPLY_ASINH, "Inverse hyperbolic sine.") \
    X(acosh, APPLY_ACOSH, "Inverse hyperbolic cosine.") \
    X(atanh, APPLY_ATANH, "Inverse hyperbolic tangent.") \
    X(exp, APPLY_EXP, "Exponential function.") \
    X(exp2, APPLY_EXP2, "2 to the power of the argument.") \
    X(log, APPLY_LOG, "Natural logarithm.") \
    X(log2, APPLY_LOG2, "Logarithm to the base 2.") \
    X(cbrt, APPLY_CBRT, "Cube root.") \
    X(erf, APPLY_ERF, "Error function.") \
    X(erfinv, APPLY_ERFINV, "Inverse of the error function.") \
    X(lgamma, APPLY_LGAMMA, "Logarithm of the absolute value of the gamma function.") \
    X(digamma, APPLY_DIGAMMA, "Derivative of the logarithm of the gamma function.")

#define DEFINE(name, which, text)                             \
    static PyObject *name##_(PyObject *module, PyObject *arg) \
    {                                                         \
        return functions_float(module, which, arg);           \
    }
TRANSCENDENTAL(DEFINE)
#undef DEFINE

static PyObject *pair(PyObject *module, Apply first, Apply second, PyObject *arg)
{
    PyObject *a = functions_float(module, first, arg);
    PyObject *b = a ? functions_float(module, second, arg) : NULL;
    PyObject *result = b ? PyTuple_Pack(2, a, b) : NULL;
    Py_XDECREF(a);
    Py_XDECREF(b);
    return result;
}

static PyObject *sincos_(PyObject *module, PyObject *arg)
{
    return pair(module, APPLY_SIN, APPLY_COS, arg);
}

static PyObject *sincosh_(PyObject *module, PyObject *arg)
{
    return pair(module, APPLY_SINH, APPLY_COSH, arg);
}

PyMethodDef transcendental_functions[] = {
#define ENTRY(name, which, text) \
    { #name, name##_, METH_O, #name "(arg, /)\n--\n\n" text },
    TRANSCENDENTAL(ENTRY)
#undef ENTRY
    { "sincos", sincos_, METH_O, "sincos(arg, /)\n--\n\nSine and cosine." },
    { "sincosh", sincosh_, METH_O,
      "sincosh(arg, /)\n--\n\nHyperbolic sine and cosine." },
    { NULL, NULL, 0, NULL }
};
