"""drjit.wrap(): our functions in other frameworks; see test_ad_wrap.py."""

import importlib
import types

import drjit as dr
import numpy as np
import pytest
from drjit.llvm import ad
from drjit.llvm.ad import (
    Array3f,
    Complex2f,
    Float,
    Float64,
    Int,
    Matrix2f,
    TensorXf,
    TensorXf64,
    UInt,
)
from wrap_util import PACKAGES, close, functions, into, out_of, tracked

# PyTorch compiles some of its forward derivatives with what it deprecates.
pytestmark = [
    pytest.mark.usefixtures("nothing_left"),
    pytest.mark.filterwarnings("ignore:.*torch.jit.script"),
]


# ---------------------------------------------------------------- out of a framework


def gradients_of(lib, function, arrays, by):
    """Of the sum of the entries of a result, by the framework's own means."""
    if lib.name == "torch":
        for k in by:
            arrays[k].requires_grad_()
        result = function(*arrays)
        result.sum().backward()
        return [arrays[k].grad for k in by]
    if lib.name == "jax":
        return lib.m.grad(lambda *a: function(*a).sum(), argnums=by)(*arrays)
    with lib.m.GradientTape() as tape:
        tape.watch([arrays[k] for k in by])
        result = lib.sum(function(*arrays))
    return tape.gradient(result, [arrays[k] for k in by])


def tangent_of(lib, function, arrays, tangents):
    """The directional derivative."""
    if lib.name == "torch":
        forward = lib.m.autograd.forward_ad
        with forward.dual_level():
            duals = [
                forward.make_dual(a, t) for a, t in zip(arrays, tangents, strict=True)
            ]
            return forward.unpack_dual(function(*duals)).tangent
    if lib.name == "jax":
        return lib.m.jvp(function, tuple(arrays), tuple(tangents))[1]
    with lib.m.autodiff.ForwardAccumulator(list(arrays), list(tangents)) as forward:
        result = function(*arrays)
    return forward.jvp(result)


def test_ours_in_theirs(lib):
    @out_of(lib)
    def function(x, y):
        assert isinstance(x, TensorXf) and isinstance(y, TensorXf)
        return dr.sin(x) * y

    x, y = lib.array([0.5, 1]), lib.array([2, 3])
    v, w = np.array([0.5, 1]), np.array([2, 3])
    result = function(x, y)
    assert type(result) is type(x)
    close(result, np.sin(v) * w)
    gx, gy = gradients_of(lib, function, [x, y], (0, 1))
    close(gx, np.cos(v) * w)
    close(gy, np.sin(v))
    tangents = [lib.array([1, 10]), lib.array([100, 1000])]
    x, y = lib.array([0.5, 1]), lib.array([2, 3])
    found = tangent_of(lib, function, [x, y], tangents)
    close(found, np.cos(v) * w * [1, 10] + np.sin(v) * [100, 1000], 1e-3)


def test_ours_in_theirs_by_one_argument(lib):
    @out_of(lib)
    def function(x, y):
        return x * y

    for k, expected in ((0, [5, 7]), (1, [2, 3])):
        arrays = [lib.array([2, 3]), lib.array([5, 7])]
        (found,) = gradients_of(lib, function, arrays, (k,))
        close(found, expected)


def test_same_derivatives_as_theirs(lib):
    rng = np.random.default_rng(1)
    values = rng.uniform(0.5, 1.5, (2, 3, 4))

    def theirs(x, y):
        return lib.sin(x) * lib.exp(y) * x

    @out_of(lib)
    def ours(x, y):
        return dr.sin(x) * dr.exp(y) * x

    def given():
        return [lib.array(v, "float64") for v in values]

    for a, b in zip(
        gradients_of(lib, theirs, given(), (0, 1)),
        gradients_of(lib, ours, given(), (0, 1)),
        strict=True,
    ):
        assert tuple(a.shape) == (3, 4)
        close(a, b, 1e-12)
    tangents = [lib.array(v, "float64") for v in rng.uniform(-1, 1, (2, 3, 4))]
    a = tangent_of(lib, theirs, given(), tangents)
    close(a, tangent_of(lib, ours, given(), tangents), 1e-12)


def test_kinds_of_results(lib):
    thing = object()

    @out_of(lib)
    def function(x, k):
        v = Array3f(x.array, 1, 2)
        return v, Matrix2f(1), Complex2f(1, 2), 3.0, thing, {"n": [Int(1), k]}, x > 1

    v, m, c, f, t, n, b = function(lib.array([1, 2]), k="text")
    shapes = [tuple(a.shape) for a in (v, m, c, n["n"][0], b)]
    assert shapes == [(3, 2), (2, 2, 1), (2, 1), (1,), (2,)]
    assert f == 3.0 and t is thing and n["n"][1] == "text"
    assert "bool" in str(b.dtype) and "int32" in str(n["n"][0].dtype)
    close(v, [[1, 2], [1, 1], [2, 2]])


def test_trees_of_theirs(lib):
    @out_of(lib)
    def function(tree, *, scale, number=2):
        assert tree["n"].__class__ is ad.TensorXi and number == 2
        a, b = tree["ab"]
        return [a * b * scale, {"b": b, "n": tree["n"]}]

    def total(a, b):
        n = lib.array([1, 2], "int32")
        first, rest = function({"ab": (a, b), "n": n}, scale=3.0)
        return first + rest["b"]

    ga, gb = gradients_of(lib, total, [lib.array([1, 2]), lib.array([5, 7])], (0, 1))
    close(ga, [15, 21])
    close(gb, [4, 7])


def test_integer_results_of_ours(lib):
    @out_of(lib)
    def function(x, n):
        return TensorXf(dr.gather(Float, x.array, UInt(n.array))), n + 1

    def first(x):
        a, b = function(x, lib.array([1, 1, 0], "int32"))
        assert "int32" in str(b.dtype)
        return a

    (found,) = gradients_of(lib, first, [lib.array([3, 5])], (0,))
    close(found, [1, 2])


def test_nested_calls(lib):
    @out_of(lib)
    def inner(x):
        return dr.exp(x)

    @into(lib)
    def middle(x):
        return lib.sin(inner(x))

    @out_of(lib)
    def outer(x):
        return middle(x * 2) * 3

    v = np.array([0.1, 0.2])
    (found,) = gradients_of(lib, outer, [lib.array(v, "float64")], (0,))
    expected = 3 * np.cos(np.exp(2 * v)) * np.exp(2 * v) * 2
    close(found, expected, 1e-10)
    x = tracked(Float64(v))
    dr.backward(middle(x))
    close(x.grad, np.cos(np.exp(v)) * np.exp(v), 1e-10)
    x = tracked(Float64(v))
    result = middle(x)
    dr.set_grad(x, 1)
    close(dr.forward_to(result), np.cos(np.exp(v)) * np.exp(v), 1e-10)


def test_exceptions_of_ours(lib):
    @out_of(lib)
    def function(x):
        raise LookupError("of the user's")

    with pytest.raises(LookupError, match="of the user's"):
        function(lib.array([1, 2]))
    good = out_of(lib)(lambda x: x * 2)
    (found,) = gradients_of(lib, good, [lib.array([1, 2])], (0,))
    close(found, [2, 2])


def test_suspended_derivatives_of_ours_are_not_theirs(lib):
    function = out_of(lib)(lambda x: x * x)
    with dr.suspend_grad():
        (found,) = gradients_of(lib, function, [lib.array([1, 2])], (0,))
    close(found, [2, 4])


def test_functions_without_tensors(lib):
    assert out_of(lib)(lambda k: k + 1)(2) == 3
    close(out_of(lib)(lambda: Float(1, 2))(), [1, 2])
    assert out_of(lib)(lambda x: 5)(lib.array([1])) == 5
    assert into(lib)(lambda k: k + 1)(2) == 3
    close(into(lib)(lambda: lib.array([1, 2]))(), [1, 2])
    assert into(lib)(lambda x: 5)(tracked(Float(1))) == 5


def test_second_order_of_torch():
    lib = functions("torch")
    torch = lib.m

    @out_of(lib)
    def function(x, y):
        return dr.sin(x) * y * y

    x = lib.array([0.3, 0.7], "float64").requires_grad_()
    y = lib.array([1.5, -0.4], "float64").requires_grad_()
    assert torch.autograd.gradcheck(function, (x, y))
    assert torch.autograd.gradcheck(function, (x, y), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function, (x, y))

    def scalar_of(x):
        return (function(x, y.detach()) * x).sum()

    v, w = x.detach().numpy(), y.detach().numpy()
    expected = np.diag((2 * np.cos(v) - v * np.sin(v)) * w * w)
    close(torch.autograd.functional.hessian(scalar_of, x.detach()), expected, 1e-10)


def test_transforms_of_torch():
    lib = functions("torch")
    torch = lib.m
    function = out_of(lib)(lambda x: dr.sin(x) * x)
    x = lib.array([0.3, 0.7], "float64")
    v = x.numpy()
    first = np.sin(v) + v * np.cos(v)
    close(torch.func.grad(lambda x: function(x).sum())(x), first, 1e-10)
    value, tangent = torch.func.jvp(function, (x,), (torch.ones_like(x),))
    close(value, np.sin(v) * v, 1e-10)
    close(tangent, first, 1e-10)
    twice = torch.func.grad(
        lambda x: torch.func.grad(lambda x: function(x).sum())(x).sum()
    )
    second = 2 * np.cos(v) - v * np.sin(v)
    close(twice(x), second, 1e-10)
    for outer in (torch.func.jacfwd, torch.func.jacrev):
        close(outer(function)(x), np.diag(first), 1e-10)
        for inner in (torch.func.jacfwd, torch.func.jacrev):
            found = outer(inner(lambda x: function(x).sum()))(x)
            close(found, np.diag(second), 1e-10)
    rows = torch.stack([x, 2 * x, 3 * x], 1)
    found = torch.func.vmap(function, in_dims=1)(rows)
    close(found, np.sin(rows.T.numpy()) * rows.T.numpy(), 1e-10)


def test_torch_may_change_its_tensors():
    lib = functions("torch")
    function = out_of(lib)(lambda x: dr.exp(x) * x)
    x = lib.array([0.5, 1.0]).requires_grad_()
    y = function(x)
    with lib.m.no_grad():
        x += 100  # as an optimiser does
        y += 100
    y.sum().backward()
    v = np.array([0.5, 1])
    close(x.grad, np.exp(v) * (v + 1))
    function = out_of(lib)(lambda x: x)
    x = lib.array([0.5, 1.0])
    y = function(x)
    y += 1
    close(x, [0.5, 1])


def test_torch_without_gradients():
    lib = functions("torch")
    seen = []

    @out_of(lib)
    def function(x):
        seen.append(dr.grad_enabled(x))
        return x * 2

    x = lib.array([1, 2]).requires_grad_()
    assert function(x).requires_grad
    with lib.m.no_grad():
        assert not function(x).requires_grad
    assert not function(lib.array([1, 2])).requires_grad
    assert seen == [True, False, False]


def test_torch_tensors_of_all_kinds():
    lib = functions("torch")
    torch = lib.m
    function = out_of(lib)(lambda x: x)
    for x in (
        torch.arange(6.0).reshape(2, 3).T,
        torch.arange(6.0)[::2],
        torch.tensor(5.0),
        torch.zeros(0, 3),
        torch.ones(2, 3).expand(4, 2, 3),
        torch.nn.Parameter(torch.ones(2)),
    ):
        found = function(x)
        assert found.shape == x.shape and torch.equal(found, x.detach())
    for dtype in ("float16", "float64", "int32", "int64", "uint8", "int8", "bool"):
        x = torch.ones(3, dtype=getattr(torch, dtype))
        assert function(x).dtype == x.dtype
    with pytest.raises(TypeError, match="entries of type complex64"):
        function(torch.ones(3, dtype=torch.complex64))


def test_torch_retains_graphs():
    lib = functions("torch")
    function = out_of(lib)(lambda x: x * x)
    x = lib.array([3.0]).requires_grad_()
    y = function(x)
    for count in (1, 2, 3):
        y.backward(retain_graph=True)
        close(x.grad, [6 * count])


def test_torch_trains():
    # A Dr.Jit function in a loop of PyTorch's: y = a x + b, found by descent.
    lib = functions("torch")
    torch = lib.m
    points = torch.linspace(0, 1, 32)
    target = 3 * points + 0.5
    model = out_of(lib)(lambda a, b, x: a * x + b)
    a = torch.zeros(1, requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.Adam([a, b], lr=0.1)
    for _ in range(300):
        optimizer.zero_grad()
        loss = ((model(a, b, points) - target) ** 2).mean()
        loss.backward()
        optimizer.step()
    close(a.detach(), [3], 0.02)
    close(b.detach(), [0.5], 0.02)


def test_jax_transforms():
    lib = functions("jax")
    jax = lib.m
    function = out_of(lib)(lambda x: dr.sin(x) * x)
    x = lib.array([0.3, 0.7])
    v = np.array([0.3, 0.7])
    first = np.sin(v) + v * np.cos(v)
    close(jax.jit(function)(x), np.sin(v) * v)
    gradient = jax.grad(lambda x: function(x).sum())
    close(gradient(x), first)
    close(jax.jit(gradient)(x), first)
    close(jax.jit(lambda x: jax.jvp(function, (x,), (x,))[1])(x), first * v)
    close(
        jax.vmap(function)(lib.array([[1, 2], [3, 4]])),
        np.sin([[1, 2], [3, 4]]) * [[1, 2], [3, 4]],
    )
    second = 2 * np.cos(v) - v * np.sin(v)
    close(jax.grad(lambda x: gradient(x).sum())(x), second)
    close(jax.jit(jax.grad(lambda x: gradient(x).sum()))(x), second)
    close(jax.hessian(lambda x: function(x).sum())(x), np.diag(second))
    close(jax.jacfwd(jax.jacfwd(lambda x: function(x).sum()))(x), np.diag(second))
    close(jax.jacrev(jax.jacfwd(lambda x: function(x).sum()))(x), np.diag(second))
    close(jax.vmap(jax.grad(lambda x: function(x).sum()))(x[:, None])[:, 0], first)


def test_large_arrays_in_jax():
    lib = functions("jax")
    jax = lib.m
    function = out_of(lib)(lambda x: x * x)
    x = lib.m.numpy.arange(1 << 20, dtype="float32")
    found = jax.jit(jax.grad(lambda x: function(x).sum()))(x)
    close(found, 2 * np.arange(1 << 20), 1e-6)


def test_tensorflow_transforms():
    lib = functions("tf")
    tf = lib.m
    function = out_of(lib)(lambda x: dr.sin(x) * x)
    v = np.array([0.3, 0.7])
    x = tf.Variable(v)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = tf.reduce_sum(function(x))
        first = inner.gradient(y, x)
    close(first, np.sin(v) + v * np.cos(v), 1e-10)
    close(outer.gradient(first, x), 2 * np.cos(v) - v * np.sin(v), 1e-10)

    @tf.function
    def compiled(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return y, tape.gradient(y, x)

    y, found = compiled(tf.constant(v))
    close(y, np.sin(v) * v, 1e-10)
    close(found, np.sin(v) + v * np.cos(v), 1e-10)


def test_modules_as_names(lib):
    assert isinstance(lib.m, types.ModuleType)
    x = tracked(Float(2))
    dr.backward(dr.wrap(dr, lib.m)(lambda x: x * x)(x))
    close(x.grad, [4])
    assert importlib.import_module(PACKAGES[lib.name]) is lib.m


def test_double_precision(lib):
    function = into(lib)(lambda x: x * 1)
    value = 1 + 2.0**-40
    assert function(Float64(value)).array[0] == value
    assert type(function(TensorXf64([value], (1, 1)))) is TensorXf64
