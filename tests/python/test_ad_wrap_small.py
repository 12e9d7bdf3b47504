"""What drjit.wrap() does for all frameworks, with a small one that is always there.

A tensor of it is a NumPy array that remembers what it was computed from, with products
with Jacobians. The frameworks themselves are tested in test_ad_wrap.py.
"""

import gc
import sys
import types

import drjit as dr
import numpy as np
import pytest
from drjit import _core
from drjit.llvm.ad import Array3f, Float, Float64, Int, TensorXf64
from drjit.llvm.ad import TensorXi as Ints
from wrap_util import close, tracked


class Tensor:
    def __init__(self, value, parents=()):
        self.value = np.asarray(value)
        self.shape = self.value.shape
        self.parents = parents  # pairs of a tensor and a function of gradients

    def __mul__(self, other):
        return Tensor(
            self.value * other.value,
            ((self, lambda g: g * other), (other, lambda g: g * self)),
        )

    def __add__(self, other):
        same = lambda g: g  # noqa: E731
        return Tensor(self.value + other.value, ((self, same), (other, same)))


def sin(x):
    return Tensor(np.sin(x.value), ((x, lambda g: g * cos(x)),))


def cos(x):
    return Tensor(np.cos(x.value), ((x, lambda g: g * sin(x) * Tensor(-1.0)),))


def gradients(outputs, weights, inputs):
    """By reverse mode, of any order: gradients are computed with tensors."""
    order, seen = [], set()

    def visit(tensor):
        if id(tensor) not in seen:
            seen.add(id(tensor))
            for parent, _ in tensor.parents:
                visit(parent)
            order.append(tensor)

    sums = {}

    def add(tensor, g):
        sums[id(tensor)] = sums[id(tensor)] + g if id(tensor) in sums else g

    for output, weight in zip(outputs, weights, strict=True):
        visit(output)
        add(output, weight)
    for tensor in reversed(order):
        if id(tensor) in sums:
            for parent, pull in tensor.parents:
                add(parent, pull(sums[id(tensor)]))
    return [sums.get(id(t)) for t in inputs]


class Small:
    name = "small"

    def is_tensor(self, value):
        return isinstance(value, Tensor)

    def is_float(self, tensor):
        return tensor.value.dtype.kind == "f"

    def entries(self, tensor):
        return str(tensor.value.dtype)

    def give(self, own):
        return Tensor(own.numpy().copy())

    def take(self, tensor):
        return tensor.value

    def _wanted(self, tensors, wanted):
        return [t for t, w in zip(tensors, wanted, strict=True) if w]

    def _floats(self, outputs):
        return [t for t in outputs if self.is_float(t)]

    def record(self, function, tensors, wanted):
        outputs = function(*tensors)

        def pull(weights):
            given = [w for w in weights if w is not None]
            chosen = self._wanted(tensors, wanted)
            return gradients(self._floats(outputs), given, chosen)

        return outputs, pull

    def pullback(self, function, wanted):
        def pull(*tensors):
            n = len(wanted)
            chosen = self._wanted(tensors[:n], wanted)
            floats = self._floats(function(*tensors[:n]))
            found = gradients(floats, tensors[n:], chosen)
            return [
                Tensor(np.zeros(t.shape)) if g is None else g
                for g, t in zip(found, chosen, strict=True)
            ]

        return pull

    def pushforward(self, function, wanted):
        def push(*tensors):
            n = len(wanted)
            chosen = self._wanted(tensors[:n], wanted)
            floats = self._floats(function(*tensors[:n]))
            result = []
            for output in floats:
                weight = Tensor(np.zeros(output.shape))
                total = None
                found = gradients([output], [weight], chosen)
                for g, t in zip(found, tensors[n:], strict=True):
                    if g is not None:
                        total = g * t if total is None else total + g * t
                (tangent,) = gradients([total], [Tensor(1.0)], [weight])
                result.append(tangent)
            return result

        return push

    def apply(self, program, tensors):
        ours = [dr.llvm.ad.TensorXf64(t.value) for t in tensors]
        outputs = program.run(ours)

        def one(i, k):
            def pull(g):
                # The gradient of output i by input k.
                weights = [Tensor(np.zeros(dr.shape(t))) for t in outputs]
                weights[i] = g
                pullback = program.pullback([True] * len(tensors))
                return self.apply(pullback, [*tensors, *weights])[k]

            return pull

        return [
            Tensor(t.numpy().copy(), [(x, one(i, k)) for k, x in enumerate(tensors)])
            for i, t in enumerate(outputs)
        ]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    from drjit._ad import wrap

    module = types.ModuleType("drjit._ad.with_small")
    module.FRAMEWORK = Small()
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(wrap._FRAMEWORKS, "small", ("types", "with_small"))
    wrap._framework.cache_clear()
    yield
    wrap._framework.cache_clear()
    gc.collect()
    assert _core._ad_node_count() == 0


@dr.wrap("drjit", "drjit")
def nothing(x):
    return x


def formula(x, y):
    return sin(x * y) * x


def values():
    return np.array([0.3, 0.7]), np.array([1.2, -0.4])


def test_first_order():
    function = dr.wrap("drjit", "small")(formula)
    v, w = values()
    x, y = tracked(Float64(v)), tracked(Float64(w))
    dr.backward(function(x, y))
    close(x.grad, np.sin(v * w) + v * w * np.cos(v * w), 1e-12)
    close(y.grad, v * v * np.cos(v * w), 1e-12)
    dr.check_grad(function, Float64(v), Float64(w))
    dr.check_grad(lambda x: function(x, Float64(w)), Float64(v))


def test_second_order():
    function = dr.wrap("drjit", "small")(formula)
    v, w = values()
    found = dr.ad.hvp(
        lambda x, y: dr.sum(function(x, y).array),
        (Float64(v), Float64(w)),
        (Float64(1, 1), Float64(0, 0)),
    )[1]
    s, c = np.sin(v * w), np.cos(v * w)
    close(found[0], 2 * w * c - v * w * w * s, 1e-10)
    close(found[1], 2 * v * c - v * v * w * s, 1e-10)


def test_trees_and_what_is_no_float():
    @dr.wrap("drjit", "small")
    def function(tree, *, k, n):
        assert n.value.dtype.kind == "i" and tree["a"].shape == (3, 2)
        return [tree["a"] * tree["a"], {"n": n + n, "k": k, "none": None}]

    v = tracked(Array3f([1, 2], 3, 4))
    first, rest = function({"a": v}, k="text", n=Int(1, 2))
    assert rest["k"] == "text" and rest["none"] is None
    assert type(rest["n"]) is Ints and not dr.grad_enabled(rest["n"])
    dr.backward(first)
    close(v.grad.x, [2, 4])
    close(v.grad.y, [12])


def test_ours_in_theirs():
    @dr.wrap("small", "drjit")
    def function(x, y):
        assert type(x) is TensorXf64
        return dr.sin(x * y) * x

    v, w = values()
    x, y = Tensor(v), Tensor(w)
    z = function(x, y)
    ones = Tensor(np.ones(2))
    gx, gy = gradients([z], [ones], [x, y])
    s, c = np.sin(v * w), np.cos(v * w)
    close(gx.value, s + v * w * c, 1e-12)
    close(gy.value, v * v * c, 1e-12)
    hx, hy = gradients([gx], [ones], [x, y])
    close(hx.value, 2 * w * c - v * w * w * s, 1e-10)
    close(hy.value, 2 * v * c - v * v * w * s, 1e-10)


def test_there_and_back():
    inner = dr.wrap("small", "drjit")(lambda x: dr.exp(x) * x)
    outer = dr.wrap("drjit", "small")(lambda x: inner(sin(x)))
    dr.check_grad(outer, Float64(0.3, 0.8))
    x = Float64(0.4)
    value, found = dr.ad.hvp(lambda x: dr.sum(outer(x).array), (x,), (Float64(1),))
    s, c = np.sin(0.4), np.cos(0.4)
    close(value[0], [np.exp(s) * (s + 1) * c], 1e-10)
    close(found[0], [np.exp(s) * ((s + 2) * c * c - (s + 1) * s)], 1e-10)


def test_forward_derivatives_of_programs():
    from drjit._ad.exchange import Program

    v, w = values()
    x, y = TensorXf64(v), TensorXf64(w)
    t, u = TensorXf64([1, 2]), TensorXf64([-1, 0.5])
    program = Program(lambda x, y: [dr.sin(x * y) * x, Ints([1]), x * 2])
    s, c = np.sin(v * w), np.cos(v * w)
    expected = (s + v * w * c) * t.numpy() + v * v * c * u.numpy()
    push = program.pushforward([True, True])
    first, second = push.run([x, y, t, u])
    close(first, expected, 1e-12)
    close(second, 2 * t.numpy(), 1e-12)
    recorded = push.record([x, y, t, u], [True, False, True, False])
    close(recorded.outputs[0], expected, 1e-12)  # the way that can be differentiated
    one, zero = TensorXf64([1, 1]), TensorXf64([0, 0])
    gx, gt = recorded.pull([one, zero])
    close(gt, s + v * w * c, 1e-10)
    close(
        gx,
        (2 * w * c - v * w * w * s) * t.numpy()
        + (2 * v * c - v * v * w * s) * u.numpy(),
        1e-10,
    )
    tangent = recorded.push([one, zero])[0]
    close(tangent, gx, 1e-10)


def test_programs_whose_results_depend_on_nothing():
    from drjit._ad.exchange import Program

    x = TensorXf64([1, 2])
    program = Program(lambda x: [TensorXf64([5, 6, 7])])
    close(program.pullback([True]).run([x, TensorXf64([1, 1, 1])])[0], [0, 0])
    close(program.pushforward([True]).run([x, x])[0], [0, 0, 0])
    recorded = program.pullback([True]).record([x, TensorXf64([1, 1, 1])], [True, True])
    close(recorded.outputs[0], [0, 0])


def test_arrays_that_functions_use_keep_their_gradients():
    weight = tracked(Float64(5))
    dr.set_grad(weight, 100)
    function = dr.wrap("small", "drjit")(lambda x: x * weight)
    x = Tensor(np.array([2.0]))
    (found,) = gradients([function(x)], [Tensor(np.ones(1))], [x])
    close(found.value, [5])
    assert weight.grad[0] == 100

    from drjit._ad.exchange import Program

    recorded = Program(lambda x: [x * weight]).record([TensorXf64([2])], [True])
    close(recorded.push([TensorXf64([1])])[0], [5])
    close(recorded.pull([TensorXf64([1])])[0], [5])
    assert weight.grad[0] == 100


def test_suspended_derivatives_of_ours_are_not_theirs():
    from drjit._ad.exchange import Program

    program = Program(lambda x: [x * x, TensorXf64([7])])
    one = TensorXf64([1])
    with dr.suspend_grad():
        recorded = program.record([TensorXf64([3])], [True])
        close(recorded.pull([one, one])[0], [6])
        close(recorded.push([one])[0], [6])
        close(program.pullback([True]).run([TensorXf64([3]), one, one])[0], [6])
    close(recorded.pull([one, one])[0], [6])


def test_exceptions():
    def fails(*args):
        raise LookupError("of the user's")

    for decorator in (dr.wrap("drjit", "small"), dr.wrap("small", "drjit")):
        with pytest.raises(LookupError):
            decorator(fails)(tracked(Float(1)), Tensor(np.ones(1)))


def test_dr_jit_in_itself():
    x = tracked(Float(1))
    assert nothing(x) is x


def test_interop():
    tree = [1, {"a": Float(1, 2), "b": (None, "text")}, Tensor(np.ones(1))]
    desc, *flat = dr.interop.flatten(tree)
    assert len(flat) == 5 and flat[0] == 1 and flat[4] is tree[2]
    again = dr.interop.unflatten(desc, *flat)
    assert again[1]["a"] is tree[1]["a"] and again[1]["b"] == (None, "text")
    assert dr.interop.unflatten(desc, 0, 1, 2, 3, 4) == [0, {"a": 1, "b": (2, 3)}, 4]
    with pytest.raises(ValueError, match="4 leaves, expected 5"):
        dr.interop.unflatten(desc, 0, 1, 2, 3)
    with pytest.raises(TypeError, match="'desc' is of type list"):
        dr.interop.unflatten([], 0)
    assert dr.interop.wrap is dr.wrap
