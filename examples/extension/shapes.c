/*
 * shapes.c -- an extension module in C: objects in arrays, methods that are traced
 *
 *     from shapes import Box, Circle, ShapePtr
 *
 *     scene = ShapePtr(Circle(0, 0, 1), Box(2, 0, .5), None)
 *     scene.distance(Float(3, 3, 3), Float(0, 0, 0))      [2, 0.5, 0]
 *     scene.size                                          [1, 0.5, 0]
 *
 * Objects are registered as long as they live. Python calls distance() of each of them
 * once, with arrays for all lanes; what the function traces becomes a part of the
 * kernel.
 */
#include "drjit-core/python.h"

static const JitPython *drjit; /* set once, by the import */

/* A shape with a centre and half a diameter. */
typedef struct Shape {
    PyObject_HEAD
    double x, y, size;
} Shape;

/* ---------------------------------------------------------------- tracing */

/* Variables that are released together. 0 stands for what could not be made. */
typedef struct Values {
    uint32_t ids[16];
    int count;
} Values;

static uint32_t keep(Values *values, uint32_t id)
{
    return values->ids[values->count++] = id;
}

static void release(const Values *values)
{
    for (int i = 0; i < values->count; ++i)
        jit_var_dec_ref(values->ids[i]);
}

/* The absolute difference of a coordinate and that of the centre. */
static uint32_t offset(Values *v, uint32_t coordinate, double centre)
{
    uint32_t c = keep(v, jit_var_f32(JitBackendLLVM, (float) centre));
    uint32_t difference = c ? keep(v, jit_var_sub(coordinate, c)) : 0;
    return difference ? keep(v, jit_var_abs(difference)) : 0;
}

static uint32_t circle_radius(Values *v, uint32_t dx, uint32_t dy)
{
    uint32_t square = keep(v, jit_var_mul(dx, dx));
    uint32_t sum = square ? keep(v, jit_var_fma(dy, dy, square)) : 0;
    return sum ? keep(v, jit_var_sqrt(sum)) : 0;
}

static uint32_t box_radius(Values *v, uint32_t dx, uint32_t dy)
{
    return keep(v, jit_var_max(dx, dy));
}

/* How far points are outside of a shape; negative inside. */
static PyObject *distance(PyObject *self, PyObject *args,
                          uint32_t (*radius)(Values *, uint32_t, uint32_t))
{
    const Shape *shape = (const Shape *) self;
    PyObject *x, *y;
    if (!PyArg_ParseTuple(args, "OO:distance", &x, &y))
        return NULL;
    uint32_t px = drjit->index(x), py = px ? drjit->index(y) : 0;
    if (!py)
        return NULL;
    Values v = { .count = 0 };
    uint32_t dx = offset(&v, px, shape->x), dy = dx ? offset(&v, py, shape->y) : 0;
    uint32_t r = dy ? radius(&v, dx, dy) : 0;
    uint32_t size = r ? keep(&v, jit_var_f32(JitBackendLLVM, (float) shape->size)) : 0;
    PyObject *result = drjit->array(Py_TYPE(x), size ? jit_var_sub(r, size) : 0);
    release(&v);
    return result;
}

static PyObject *circle_distance(PyObject *self, PyObject *args)
{
    return distance(self, args, circle_radius);
}

static PyObject *box_distance(PyObject *self, PyObject *args)
{
    return distance(self, args, box_radius);
}

/* ---------------------------------------------------------------- classes */

static PyObject *shape_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    static char *names[] = { "x", "y", "size", NULL };
    double x, y, size;
    if (!PyArg_ParseTupleAndKeywords(args, named, "ddd", names, &x, &y, &size))
        return NULL;
    Shape *shape = (Shape *) type->tp_alloc(type, 0);
    if (!shape)
        return NULL;
    shape->x = x;
    shape->y = y;
    shape->size = size;
    if (!jit_registry_put("", "Shape", shape)) {
        PyErr_SetString(PyExc_RuntimeError, jit_error_message());
        Py_CLEAR(shape);
    }
    return (PyObject *) shape;
}

/* Entries of arrays that are left are None from now on. */
static void shape_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    if (jit_registry_id(self))
        jit_registry_remove(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *get_number(PyObject *self, void *offset_in_shape)
{
    const char *shape = (const char *) self;
    return PyFloat_FromDouble(*(const double *) (shape + (size_t) offset_in_shape));
}

static PyGetSetDef getters[] = {
    { "x", get_number, NULL, "first coordinate of the centre",
      (void *) offsetof(Shape, x) },
    { "y", get_number, NULL, "second coordinate of the centre",
      (void *) offsetof(Shape, y) },
    { "size", get_number, NULL, "half of the diameter",
      (void *) offsetof(Shape, size) },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyMethodDef circle_methods[] = {
    { "distance", circle_distance, METH_VARARGS, "distance of points from the edge" },
    { NULL, NULL, 0, NULL },
};

static PyMethodDef box_methods[] = {
    { "distance", box_distance, METH_VARARGS,
      "distance of points from the edge, along the farther axis" },
    { NULL, NULL, 0, NULL },
};

/* 'base' NULL: the class of all shapes, of which there are no objects. */
static PyObject *add_class(PyObject *module, const char *name, PyMethodDef *methods,
                           PyObject *base)
{
    PyType_Slot of_shape[] = { { Py_tp_getset, getters }, { 0, NULL } };
    PyType_Slot of_other[] = { { Py_tp_methods, methods },
                               { Py_tp_new, (void *) shape_new },
                               { Py_tp_dealloc, (void *) shape_dealloc },
                               { 0, NULL } };
    PyType_Spec spec = { .name = name,
                         .basicsize = sizeof(Shape),
                         .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                         .slots = base ? of_other : of_shape };
    if (!base)
        spec.flags |= Py_TPFLAGS_DISALLOW_INSTANTIATION;
    PyObject *cls = PyType_FromModuleAndSpec(module, &spec, base);
    if (cls && PyModule_AddObjectRef(module, strchr(name, '.') + 1, cls) < 0)
        Py_CLEAR(cls);
    return cls;
}

/* ---------------------------------------------------------------- arrays */

static PyObject *wrap(void *shape)
{
    Py_INCREF((PyObject *) shape);
    return shape;
}

static void *unwrap(PyObject *object) { return object; }

static bool add_array(PyObject *module, PyObject *shape)
{
    const JitInstanceClass spec = { .name = "ShapePtr",
                                    .type = (PyTypeObject *) shape,
                                    .variant = "",
                                    .domain = "Shape",
                                    .wrap = wrap,
                                    .unwrap = unwrap };
    PyObject *type = drjit->instance_array(&spec);
    bool ok = type && PyModule_AddObjectRef(module, "ShapePtr", type) == 0;
    Py_XDECREF(type);
    return ok;
}

static int fill(PyObject *module)
{
    if (!(drjit = jit_python_import()))
        return -1;
    PyObject *shape = add_class(module, "shapes.Shape", NULL, NULL);
    PyObject *circle =
        shape ? add_class(module, "shapes.Circle", circle_methods, shape) : NULL;
    PyObject *box = circle ? add_class(module, "shapes.Box", box_methods, shape) : NULL;
    bool ok = box && add_array(module, shape);
    Py_XDECREF(shape);
    Py_XDECREF(circle);
    Py_XDECREF(box);
    return ok ? 0 : -1;
}

PyMODINIT_FUNC PyInit_shapes(void)
{
    static PyModuleDef_Slot slots[] = { { Py_mod_exec, (void *) fill }, { 0, NULL } };
    static PyModuleDef definition = { PyModuleDef_HEAD_INIT,
                                      .m_name = "shapes",
                                      .m_doc = "Shapes in the plane.",
                                      .m_slots = slots };
    return PyModuleDef_Init(&definition);
}
