"""drjit.wrap(): functions of other frameworks in Dr.Jit, ours in theirs.

Derivatives are compared with closed forms and with those of the framework. Tests of a
framework that is not installed are skipped.
"""

import gc
import subprocess
import sys
import weakref
from dataclasses import dataclass
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit import _core, scalar
from drjit.llvm import ad
from drjit.llvm.ad import (
    Array3f,
    Bool,
    Complex2f,
    Float,
    Float16,
    Float64,
    Int,
    Int64,
    Matrix2f,
    Quaternion4f,
    TensorXf,
    UInt,
)
from wrap_util import PACKAGES, close, functions, into, out_of, tracked

# PyTorch compiles some of its forward derivatives with what it deprecates.
pytestmark = [
    pytest.mark.usefixtures("nothing_left"),
    pytest.mark.filterwarnings("ignore:.*torch.jit.script"),
]


# ---------------------------------------------------------------- the decorator


def test_names():
    def function(x):
        return x

    assert dr.wrap("drjit", "drjit")(function) is function
    assert dr.wrap(dr, dr)(function) is function
    for source, target in [("torch", "torch"), ("jax", "tf")]:
        with pytest.raises(ValueError, match="expected 'drjit' for one of them"):
            dr.wrap(source, target)
    with pytest.raises(ValueError, match=r"drjit\.wrap\(\): 'source' is 'numpy'"):
        dr.wrap("numpy", "drjit")
    with pytest.raises(ValueError, match=r"drjit\.wrap\(\): 'target' is 'numpy'"):
        dr.wrap("drjit", np)
    with pytest.raises(TypeError, match="'target' is of type int"):
        dr.wrap("drjit", 3)
    with pytest.raises(TypeError):
        dr.wrap("drjit")


def test_older_name():
    with pytest.warns(DeprecationWarning, match="wrap_ad"):
        dr.wrap_ad(source="drjit", target="drjit")


def test_missing_packages(monkeypatch):
    # None in sys.modules is what Python takes as "not installed".
    from drjit._ad import wrap

    wrap._framework.cache_clear()
    for name, package in PACKAGES.items():
        monkeypatch.setitem(sys.modules, package, None)
        message = rf"drjit\.wrap\(\): the package '{package}' cannot be imported"
        with pytest.raises(ImportError, match=message) as found:
            dr.wrap(name, "drjit")
        assert found.value.name == package
        function = dr.wrap("drjit", name)(lambda x: x)  # may be defined, not called
        with pytest.raises(ImportError, match=message):
            function(Float(1))
    wrap._framework.cache_clear()


def test_importing_drjit_imports_no_framework():
    text = (
        "import sys, drjit as dr\n"
        "dr.wrap('drjit', 'jax'); dr.wrap('drjit', 'torch')\n"
        "assert not {'jax', 'torch', 'tensorflow', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", text], check=True, timeout=120)


def test_decorated_functions_keep_their_names(lib):
    def function(x):
        """Text."""

    for decorator in (into(lib), out_of(lib), dr.wrap("drjit", lib.m)):
        assert decorator(function).__name__ == "function"
        assert decorator(function).__doc__ == "Text."


# ---------------------------------------------------------------- into a framework


def kinds():
    return [
        (Float(1, 2), (2,), "TensorXf"),
        (Float(3), (1,), "TensorXf"),
        (Array3f([1, 2], 3, 4), (3, 2), "TensorXf"),
        (Matrix2f(1, 2, 3, 4), (2, 2, 1), "TensorXf"),
        (Complex2f([1, 2], 3), (2, 2), "TensorXf"),
        (Quaternion4f(1, 2, 3, 4), (4, 1), "TensorXf"),
        (ad.ArrayXf([1, 2], [3, 4], [5, 6]), (3, 2), "TensorXf"),
        (TensorXf([1, 2, 3, 4, 5, 6], (2, 3)), (2, 3), "TensorXf"),
        (TensorXf([7], ()), (), "TensorXf"),
        (TensorXf([], (0, 3)), (0, 3), "TensorXf"),
        (Float(), (0,), "TensorXf"),
        (Float64(1, 2), (2,), "TensorXf64"),
        (Float16(1, 2), (2,), "TensorXf16"),
        (Int(1, -2), (2,), "TensorXi"),
        (Int64(1, -2), (2,), "TensorXi64"),
        (UInt(1, 2), (2,), "TensorXu"),
        (ad.Int8(1, -2), (2,), "TensorXi8"),
        (ad.UInt8(1, 2), (2,), "TensorXu8"),
        (Bool(True, False), (2,), "TensorXb"),
        (dr.detach(Float(1, 2), preserve_type=False), (2,), "TensorXf"),
        (scalar.Array3f(1, 2, 3), (3,), "TensorXf"),
        (scalar.TensorXf([1, 2], (1, 2)), (1, 2), "TensorXf"),
    ]


def test_kinds_of_arrays(lib):
    shapes = []

    @into(lib)
    def function(x):
        shapes.append(tuple(x.shape))
        assert lib.name in type(x).__module__ or lib.name == "tf"
        return x

    for array, shape, kind in kinds():
        result = function(array)
        assert shapes.pop() == shape
        assert type(result) is getattr(ad, kind), array
        assert dr.shape(result) == shape
        if 0 not in shape:
            close(result.numpy(), getattr(ad, kind)(array).numpy())
        assert not dr.grad_enabled(result)


def test_what_is_no_array_is_passed_on(lib):
    thing = object()

    @into(lib)
    def function(a, *rest, k=None, **named):
        assert k is thing and named == {"text": "t"}
        return a, rest, {"k": k}

    assert function(None, 1, 2.5, True, "s", k=thing, text="t") == (
        None,
        (1, 2.5, True, "s"),
        {"k": thing},
    )


@pytest.mark.parametrize("kind", [Float, Float64, Float16])
def test_gradients(lib, kind):
    @into(lib)
    def function(x, y):
        return lib.sin(x) * y, lib.exp(y)

    def call(values):
        return tracked(kind(values)), tracked(kind(2, 3))

    tolerance = {Float: 1e-5, Float64: 1e-12, Float16: 4e-3}[kind]
    x, y = call([0.5, 1])
    a, b = function(x, y)
    assert type(a) is dr.tensor_t(kind)
    dr.backward(a * 3 + b)
    v, w = np.array([0.5, 1]), np.array([2, 3])
    close(x.grad, 3 * np.cos(v) * w, tolerance * 10)
    close(y.grad, 3 * np.sin(v) + np.exp(w), tolerance * 10)

    x, y = call([0.5, 1])
    result = function(x, y)
    dr.set_grad((x, y), (kind(1, 10), kind(100, 1000)))
    tangents = dr.forward_to(*result)
    close(
        tangents[0], np.cos(v) * w * [1, 10] + np.sin(v) * [100, 1000], tolerance * 100
    )
    close(tangents[1] / kind(np.exp(w)), [100, 1000], tolerance * 1e3)


def test_gradients_of_nested_arrays(lib):
    @into(lib)
    def function(v, m):
        return lib.sum(v * v) * v, m * m

    v, m = tracked(Array3f([1, 2], 3, 4)), tracked(Matrix2f(1, 2, 3, 4))
    a, b = function(v, m)
    assert dr.shape(a) == (3, 2) and dr.shape(b) == (2, 2, 1)
    dr.backward(dr.sum(a.array) + dr.sum(b.array))
    # s v, s = sum of squares of all six entries, of which 3 and 4 occur twice
    s, total = 1 + 4 + 2 * 9 + 2 * 16, 1 + 2 + 6 + 8
    close(v.grad.x, [s + 2 * total, s + 4 * total])
    close(v.grad.y, 2 * (s + 6 * total))
    close(v.grad.z, 2 * (s + 8 * total))
    close(m.grad.numpy()[..., 0], [[2, 4], [6, 8]])


@pytest.mark.parametrize("which", ["x", "y", "both"])
def test_finite_differences(lib, which):
    @into(lib)
    def function(x, y):
        return lib.sin(x * y) + lib.exp(x) * y

    x, y = Float64(0.3, 0.7, 1.1), Float64(1.2, -0.4, 0.9)
    if which == "x":
        dr.check_grad(lambda x: function(x, y), x)
    elif which == "y":
        dr.check_grad(lambda y: function(x, y), y)
    else:
        dr.check_grad(function, x, y)


@dataclass
class Pair:
    first: Any
    second: Any


class Struct:
    DRJIT_STRUCT = {"value": Float, "name": str}

    def __init__(self):
        self.value = Float(0)
        self.name = ""


def test_trees(lib):
    @into(lib)
    def function(tree, *, pair, struct):
        a, (b, k) = tree["a"], tree["rest"]
        assert struct.name == "s" and k == 4
        total = a * b * k + pair.first + struct.value
        return {"sum": [total, (pair.second, None)], "same": struct, "n": k}

    struct = Struct()
    struct.value, struct.name = tracked(Float(7, 8)), "s"
    a, b, c = tracked(Float(1, 2)), tracked(Float(3)), tracked(Float(5, 6))
    found = function({"a": a, "rest": [b, 4]}, pair=Pair(c, Int(1, 2)), struct=struct)
    close(found["sum"][0], [1 * 3 * 4 + 5 + 7, 2 * 3 * 4 + 6 + 8])
    assert type(found["sum"][1][0]) is ad.TensorXi and found["sum"][1][1] is None
    assert type(found["same"]) is Struct and found["n"] == 4
    dr.backward(found["sum"][0] + 10 * found["same"].value)
    close(a.grad, [12, 12])
    close(b.grad, [4 * (1 + 2)])
    close(c.grad, [1, 1])
    close(struct.value.grad, [11, 11])


def test_integers_and_masks(lib):
    @into(lib)
    def function(x, n, mask):
        return lib.where(mask, x, x * 0 + 5), n + n, mask, lib.long(n)

    x = tracked(Float(1, 2, 3))
    a, b, c, d = function(x, Int(1, 2, 3), Bool(True, False, True))
    close(a, [1, 5, 3])
    assert type(b) is ad.TensorXi and type(c) is ad.TensorXb
    assert type(d) is ad.TensorXi64 and not dr.grad_enabled(b, c, d)
    dr.backward(a)
    close(x.grad, [1, 0, 1])
    x = tracked(Float(1, 2, 3))
    a = function(x, Int(1, 2, 3), Bool(True, False, True))[0]
    dr.set_grad(x, Float(1, 10, 100))
    close(dr.forward_to(a), [1, 0, 100])


def test_some_inputs_are_tracked(lib):
    @into(lib)
    def function(x, y):
        return x * y, y * 1, 3 * x

    x, y = tracked(Float(2, 3)), Float(5, 7)
    a, b, c = function(x, y)
    dr.backward(a + b + c)
    close(x.grad, [8, 10])
    x, y = Float(2, 3), tracked(Float(5, 7))
    a, b, c = function(x, y)
    dr.backward(a)
    close(y.grad, [2, 3])
    assert not dr.grad_enabled(function(Float(1), Float(2)))
    with dr.suspend_grad():
        assert not dr.grad_enabled(function(x, y))


def test_unused_inputs_have_no_gradient(lib):
    @into(lib)
    def function(x, y):
        return x * 2, y * 1

    x, y = tracked(Float(1)), tracked(Float(2))
    dr.backward(function(x, y)[0])
    close(x.grad, [2])
    close(y.grad, [0])


def test_results_that_are_inputs(lib):
    @into(lib)
    def function(x, y):
        return x, y, x

    x, y = tracked(Float(1, 2)), tracked(Float(3))
    a, b, c = function(x, y)
    assert a is not c
    dr.backward(a + 10 * c + b)
    close(x.grad, [11, 11])
    close(y.grad, [2])


def test_calls_and_traversals_repeat(lib):
    @into(lib)
    def function(x):
        return x * x

    x = tracked(Float(2))
    y = function(function(x))
    for count in range(1, 4):
        dr.set_grad(y, 1)
        dr.enqueue(dr.ADMode.Backward, y)
        dr.traverse(dr.ADMode.Backward, dr.ADFlag.ClearVertices)
        close(x.grad, [32 * count])
    dr.clear_grad(x)
    dr.set_grad(x, 1)
    dr.enqueue(dr.ADMode.Forward, x)
    dr.traverse(dr.ADMode.Forward)
    close(dr.grad(y), [32])


def test_within_a_graph(lib):
    @into(lib)
    def function(x):
        return lib.sin(x)

    x = tracked(Float64(0.1, 0.2))
    dr.backward(dr.sum(dr.exp(function(x * 2).array)))
    v = np.array([0.1, 0.2])
    close(x.grad, np.exp(np.sin(2 * v)) * np.cos(2 * v) * 2, 1e-12)


def test_second_order(lib):
    @into(lib)
    def function(x, y):
        return lib.sin(x) * y * y

    def loss(x, y):
        return dr.sum(function(x, y).array * x)

    x, y = Float64(0.3, 0.7), Float64(1.5, -0.4)
    dx, dy = Float64(1, 0), Float64(0.5, 2)
    _, (hx, hy) = dr.ad.hvp(loss, (x, y), (dx, dy))
    v, w, p, q = (np.array(t) for t in (x, y, dx, dy))
    close(
        hx,
        (2 * np.cos(v) - v * np.sin(v)) * w * w * p
        + (np.sin(v) + v * np.cos(v)) * 2 * w * q,
        1e-10,
    )
    close(hy, (np.sin(v) + v * np.cos(v)) * 2 * w * p + 2 * v * np.sin(v) * q, 1e-10)


def test_third_order(lib):
    @into(lib)
    def function(x):
        return x * x * x * x

    def derivative(f):
        def g(x):
            result = f(x)
            dr.set_grad(result, 1)
            dr.enqueue(dr.ADMode.Backward, result)
            flags = dr.ADFlag.ClearVertices | dr.ADFlag.CreateGraph
            dr.traverse(dr.ADMode.Backward, flags)
            found = dr.grad(x)
            dr.clear_grad(x)
            return found

        return g

    x = tracked(Float64(2))
    f = function
    for expected in (32, 48, 48):
        f = derivative(f)
        close(f(x), [expected], 1e-10)
    del f


def test_exceptions(lib):
    class Own(Exception):
        pass

    @into(lib)
    def function(x):
        raise Own("of the user's")

    x = tracked(Float(1, 2))
    with pytest.raises(Own, match="of the user's"):
        function(x)
    with pytest.raises(Own, match="of the user's"):
        function(Float(1))
    good = into(lib)(lambda x: x * 3)
    dr.backward(good(x))
    close(x.grad, [3, 3])


def test_exceptions_in_traversals(lib, caplog):
    fail = [True]

    @out_of(lib)
    def inner(x):
        class Sometimes(dr.CustomOp):
            def eval(self, x):
                return x * 2

            def backward(self):
                if fail[0]:
                    raise LookupError("of the user's")
                self.set_grad_in("x", self.grad_out() * 2)

        return dr.custom(Sometimes, x)

    @into(lib)
    def function(x):
        return inner(x) * 3

    x = tracked(Float(1, 2))
    if lib.name != "jax":  # in which an exception of a callback gets another type
        with pytest.raises(LookupError, match="of the user's"):
            dr.backward(function(x))
    else:
        with pytest.raises(Exception, match="of the user's"):
            dr.backward(function(x))
    caplog.clear()  # JAX logs the exception
    dr.clear_grad(x)
    fail[0] = False
    dr.backward(function(x))
    close(x.grad, [6, 6])


def test_nothing_stays(lib):
    alive = []

    @into(lib)
    def function(x):
        y = lib.sin(x) * x
        if lib.name == "torch":
            alive.extend((weakref.ref(x), weakref.ref(y)))
        return y

    x = tracked(Float(1, 2))
    y = function(x)
    z = function(y)
    dr.backward(z)
    del y, z
    gc.collect()
    assert [a() for a in alive] == [None] * len(alive)
    z = function(function(x))  # never differentiated
    del z, x
    gc.collect()
    assert [a() for a in alive] == [None] * len(alive)
    assert _core._ad_node_count() == 0


def test_memory_is_not_shared():
    lib = functions("torch")
    seen = []

    @into(lib)
    def function(n, x):
        n += 1  # a function that is not pure
        seen.append(x)
        return n

    n, x = Int(1, 2), Float(1, 2)
    result = function(n, x)
    seen[0][:] = 100
    assert dr.all(n == Int(1, 2)) and dr.all(x == Float(1, 2))
    assert dr.all(result == ad.TensorXi([2, 3]))


def test_parameters_of_torch_get_gradients():
    lib = functions("torch")
    weight = lib.array([2.0, 3.0]).requires_grad_()

    @into(lib)
    def function(x):
        return x * weight

    x = tracked(Float(5, 7))
    dr.backward(function(x))
    close(x.grad, [2, 3])
    close(weight.grad, [5, 7])
    with lib.m.no_grad():  # of PyTorch's, not of ours
        dr.backward(function(x))
    close(x.grad, [4, 6])


def test_named_results_of_torch():
    lib = functions("torch")
    largest = into(lib)(lambda x: lib.m.max(x, 0))
    x = tracked(TensorXf([1, 5, 7, 3], (2, 2)))
    values, places = largest(x)
    assert type(places) is ad.TensorXi64
    dr.backward(values)
    close(x.grad, [[0, 1], [1, 0]])


def test_compiled_functions():
    lib = functions("jax")
    function = into(lib)(lib.m.jit(lambda x, y: {"a": lib.sin(x) * y["k"], "b": x}))
    x, y = tracked(Float(0.5, 1)), tracked(Float(2, 3))
    result = function(x, {"k": y})
    dr.backward(result["a"] + result["b"])
    close(x.grad, np.cos([0.5, 1]) * [2, 3] + 1)
    close(y.grad, np.sin([0.5, 1]))


def test_graph_functions():
    lib = functions("tf")
    function = into(lib)(lib.m.function(lambda x, y: (lib.sin(x) * y, x)))
    x, y = tracked(Float(0.5, 1)), tracked(Float(2, 3))
    a, b = function(x, y)
    dr.backward(a + b)
    close(x.grad, np.cos([0.5, 1]) * [2, 3] + 1)
    dr.clear_grad(y)
    dr.set_grad(x, 1)
    close(dr.forward_to(function(x, y)[0]), np.cos([0.5, 1]) * [2, 3])


def test_gathers_of_tensorflow():
    lib = functions("tf")  # gradients of tf.gather() are tf.IndexedSlices
    function = into(lib)(lambda x: lib.m.gather(x, [1, 1, 0]))
    x = tracked(Float(1, 2, 3))
    dr.backward(function(x))
    close(x.grad, [1, 2, 0])


def test_jax_in_single_precision():
    lib = functions("jax")
    function = into(lib)(lambda x: x * 2)
    with pytest.warns(UserWarning, match="rounds the entries of a TensorXf64"):
        assert type(function(Float64(1, 2))) is TensorXf
    assert type(function(Int64(1, -2))) is ad.TensorXi
    with pytest.raises(OverflowError, match="cut the entries of a TensorXi64"):
        function(Int64(1 << 40))


def test_entries_without_a_type_of_ours():
    lib = functions("torch")
    function = into(lib)(lambda x: x.to(lib.m.bfloat16))
    with pytest.raises(TypeError, match="of torch has entries of type bfloat16"):
        function(Float(1))
    with pytest.raises(TypeError, match="of torch has entries of type bfloat16"):
        function(tracked(Float(1)))
