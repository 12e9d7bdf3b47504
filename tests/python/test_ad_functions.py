"""Tracking, gradients, traversals, scopes, custom operations, helpers."""

from __future__ import annotations

import gc
import pickle
import threading
import weakref
from typing import Any

import drjit as dr
import drjit.ad
import numpy as np
import pytest
from drjit.llvm.ad import Array3f, Float, Float64, Int, Matrix2f, TensorXf, UInt


@pytest.fixture(autouse=True)
def no_nodes_are_left() -> Any:
    yield
    gc.collect()
    assert dr._core._ad_node_count() == 0  # type: ignore[attr-defined]


def tracked(*entries: float) -> Any:
    x = Float(*entries)
    dr.enable_grad(x)
    return x


def values(array: Any) -> list[float]:
    return [float(entry) for entry in array.numpy().ravel()]


# ---------------------------------------------------------------- tracking


def test_enable_and_disable() -> None:
    x, i = Float(1, 2), Int(3)
    assert not dr.grad_enabled(x) and x.index_ad == 0
    dr.enable_grad({"a": [x, 1.5, None]}, i, "text")
    assert dr.grad_enabled(x) and not dr.grad_enabled(i)
    node = x.index_ad
    dr.enable_grad(x)
    assert x.index_ad == node != 0
    y = x * 2
    assert dr.grad_enabled(3, [y])
    dr.disable_grad(x)
    assert not dr.grad_enabled(x) and dr.grad_enabled(y)
    dr.set_grad_enabled(x, True)
    assert dr.grad_enabled(x)
    dr.set_grad_enabled([x], False)
    assert not dr.grad_enabled(x)
    with pytest.raises(TypeError, match="expected a PyTree and a bool"):
        dr.set_grad_enabled(x, 1)  # type: ignore[arg-type]


def test_copies_keep_nodes() -> None:
    x = tracked(1, 2)
    assert Float(x).index_ad == (+x).index_ad == dr.copy(x).index_ad == x.index_ad
    assert dr.detach(x).index_ad == 0 and type(dr.detach(x)) is Float
    assert type(dr.detach(x, preserve_type=False)) is dr.llvm.Float
    assert type(dr.detach({"x": (x, 3)}, False)["x"][0]) is dr.llvm.Float
    assert pickle.loads(pickle.dumps(x)).index_ad == 0
    with dr.suspend_grad():
        assert not dr.grad_enabled(Float(x))


def test_types_of_gradients() -> None:
    x = tracked(1, 2)
    assert type(dr.grad(x)) is Float and type(dr.grad(x, False)) is dr.llvm.Float
    assert values(dr.grad(Int(3, 4))) == [0, 0]
    assert dr.grad([3, 2.5, "text"]) == [0, 0.0, "text"]
    t = TensorXf([1, 2, 3, 4], (2, 2))
    dr.enable_grad(t)
    dr.set_grad(t, 2)
    assert dr.grad(t).shape == (2, 2) and values(t.grad) == [2, 2, 2, 2]


# ---------------------------------------------------------------- gradients


def test_set_and_accumulate() -> None:
    x = tracked(1, 2)
    dr.set_grad(x, 3)
    dr.accum_grad(x, Float(1, 2))
    assert values(x.grad) == [4, 5]
    x.grad = dr.llvm.Float(7, 8)
    x.grad += 1
    assert values(x.grad) == [8, 9]
    dr.set_grad({"a": x}, {"a": 1})
    assert values(x.grad) == [1, 1]
    dr.clear_grad(x)
    assert values(x.grad) == [0, 0]
    one = tracked(5)
    dr.set_grad(one, Float(1, 2, 3))
    assert values(one.grad) == [6]
    v = Array3f(1, 2, 3)
    dr.enable_grad(v)
    dr.set_grad(v.x, 9)
    assert values(v.grad) == [9, 0, 0]
    plain = Float(1)
    with pytest.warns(RuntimeWarning, match="the gradient is lost"):
        dr.set_grad(plain, 4)
    assert values(plain.grad) == [0]


def test_gradients_of_dynamic_arrays() -> None:
    a = dr.llvm.ad.ArrayXf([1, 2], [3, 4], [5, 6])
    dr.enable_grad(a)
    dr.backward(a * a)
    assert a.grad.numpy().tolist() == [[2, 4], [6, 8], [10, 12]]
    dr.set_grad(a, Float(7, 8))
    assert a.grad.numpy().tolist() == [[7, 8]] * 3
    with pytest.raises(RuntimeError, match="2 components, expected 3"):
        dr.set_grad(a, dr.llvm.ad.ArrayXf([1, 2], [3, 4]))
    assert a.grad.numpy().tolist() == [[7, 8]] * 3


def test_variables_that_occur_twice() -> None:
    """They are cleared once, and get the sum."""
    x = tracked(1, 2)
    dr.set_grad(x, 100)
    dr.set_grad([x, x], [Float(1, 2), Float(10, 20)])
    assert values(x.grad) == [11, 22]
    v = Array3f(x, 5, x)
    v.grad = Array3f([1, 2], 7, 3)
    assert values(x.grad) == [4, 5]
    dr.clear_grad(x)
    dr.backward(Array3f(x * x, x, x))
    assert values(x.grad) == [2 + 2, 4 + 2]


@pytest.mark.parametrize("source", ["text", Float(1, 2, 3), Array3f(1), None, [1, "a"]])
def test_bad_gradients(source: Any) -> None:
    x = tracked(1, 2)
    dr.set_grad(x, 5)
    for function in (dr.set_grad, dr.accum_grad):
        with pytest.raises((TypeError, RuntimeError, ValueError), match=r"^drjit\."):
            function(x, source)
    assert values(x.grad) == [5, 5]
    with pytest.raises(ValueError, match="differ in structure"):
        dr.set_grad([x, x], [1, 2, 3])


def test_replace_grad() -> None:
    a, b = Float(1, 2, 3), tracked(4)
    c: Any = dr.replace_grad(a, b * b)
    assert values(c) == [1, 2, 3]
    dr.backward(c)
    assert values(b.grad) == [24]
    d: Any = dr.replace_grad(1.0, b)
    assert type(d) is Float and dr.grad_enabled(d)
    e: Any = dr.replace_grad((a, 2.0), (b, b))
    assert dr.grad_enabled(e[0]) and dr.grad_enabled(e[1])
    with pytest.raises(RuntimeError, match="sizes are 3 and 2"):
        dr.replace_grad(a, Float(1, 2))


# ---------------------------------------------------------------- traversals

FLAGS = ["Default", "ClearNone", "ClearEdges", "ClearInput", "ClearInterior",
         "ClearVertices"]  # fmt: skip
# What the published package leaves behind: gradients of x, y = x * x, z = 2 * y.
BACKWARD = {
    "Default": (4, 0, 0), "ClearNone": (4, 2, 1), "ClearEdges": (4, 2, 1),
    "ClearInput": (4, 2, 0), "ClearInterior": (4, 0, 1), "ClearVertices": (4, 0, 0),
}  # fmt: skip
FORWARD = {
    "Default": (0, 0, 4), "ClearNone": (1, 2, 4), "ClearEdges": (1, 2, 4),
    "ClearInput": (0, 2, 4), "ClearInterior": (1, 0, 4), "ClearVertices": (0, 0, 4),
}  # fmt: skip


@pytest.mark.parametrize("name", FLAGS)
def test_flags(name: str) -> None:
    for forward, expected in ((False, BACKWARD[name]), (True, FORWARD[name])):
        x = tracked(1)
        y = x * x
        z = y * 2
        if forward:
            dr.forward(x, dr.ADFlag[name])
        else:
            dr.backward(z, flags=dr.ADFlag[name])
        assert tuple(values(a.grad)[0] for a in (x, y, z)) == expected


def test_from_and_to() -> None:
    x, p = tracked(1, 2), tracked(3)
    y = x * x * p
    dr.set_grad(x, 1)
    assert values(dr.forward_to(y)) == [6, 12]
    x = tracked(1, 2)
    y = x * x
    dr.set_grad(y, Float(1, 10))
    assert values(dr.backward_to(x)) == [2, 40]
    x = tracked(1, 2)
    y, z = x * 2, x * 3
    dr.set_grad(x, 1)
    first, second = dr.forward_to(y, z)
    assert values(first) == [2, 2] and values(second) == [3, 3]
    dr.backward_from(tracked(1) * 2)
    dr.forward_from(tracked(1))


def test_enqueue_and_traverse() -> None:
    x = tracked(2)
    y = x * x
    dr.set_grad(y, 1)
    dr.enqueue(dr.ADMode.Backward, [y])
    dr.traverse(dr.ADMode.Backward, dr.ADFlag.ClearVertices)
    assert values(x.grad) == [4]
    dr.traverse(dr.ADMode.Backward)  # nothing is enqueued any more
    assert values(x.grad) == [4]
    for mode in (dr.ADMode.Primal, 1, None):
        with pytest.raises(TypeError, match=r"drjit\.traverse\(\)"):
            dr.traverse(mode)  # type: ignore[arg-type]
    with pytest.raises((TypeError, ValueError, RuntimeError), match=r"drjit\.enqueue"):
        dr.enqueue(dr.ADMode.Primal, x)
    with pytest.raises(ValueError, match="'flags' is 64"):
        dr.traverse(dr.ADMode.Forward, 64)
    with pytest.raises(TypeError, match="'flags' is of type str"):
        dr.backward(y, "Default")  # type: ignore[arg-type]


def test_untracked() -> None:
    for function in (dr.backward, dr.forward, dr.backward_from, dr.forward_from):
        with pytest.raises(RuntimeError, match="the array is not tracked"):
            function(Float(1))
        function(Float(1), dr.ADFlag.Default | dr.ADFlag.AllowNoGrad)
        with pytest.raises(TypeError, match="expected an array"):
            function((tracked(1),))  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="not tracked"):
        dr.backward_to(Float(1))


def test_wide_and_narrow() -> None:
    p = tracked(2)
    dr.backward(p + Float(1, 2, 3))
    assert values(p.grad) == [3]
    p = tracked(2)
    dr.backward(dr.sum(p * Float(1, 2, 3) + p))
    assert values(p.grad) == [9]


def test_a_long_chain() -> None:
    x = tracked(1)
    y = x
    for _ in range(20000):
        y = y + x
    dr.backward(y)
    assert values(x.grad) == [20001]


# ---------------------------------------------------------------- scopes


def test_suspend_and_resume() -> None:
    x, y = tracked(1), tracked(2)
    with dr.suspend_grad():
        assert not dr.grad_enabled(x, x * y, tracked(3))
        with dr.resume_grad(x):
            z = x * y
            assert dr.grad_enabled(z) and not dr.grad_enabled(y)
        with dr.resume_grad():
            assert dr.grad_enabled(y)
    with dr.suspend_grad(x):
        assert not dr.grad_enabled(x) and dr.grad_enabled(x * y, tracked(3))
    with dr.suspend_grad(3), dr.suspend_grad(when=False), dr.resume_grad(when=False):
        assert dr.grad_enabled(x)
    dr.backward(z)
    assert values(x.grad) == [2] and values(y.grad) == [0]
    with pytest.raises(TypeError, match="'when' is of type int"):
        dr.suspend_grad(when=1)  # type: ignore[arg-type]
    scope = dr.suspend_grad()
    with pytest.raises(ZeroDivisionError), scope:
        raise ZeroDivisionError
    assert dr.grad_enabled(x)
    with scope:
        assert not dr.grad_enabled(x)


def test_isolate() -> None:
    x = tracked(3)
    y = x * x
    with dr.isolate_grad():
        z = y * 2
        dr.backward(z)
        assert values(y.grad) == [2] and values(x.grad) == [0]
    assert values(y.grad) == [0] and values(x.grad) == [12]
    x = tracked(3)
    y = x * x
    with pytest.raises(KeyError), dr.isolate_grad():
        dr.backward(y * 2)
        raise KeyError
    assert values(x.grad) == [0]
    with dr.isolate_grad(when=False):
        dr.backward(x * 2)
        assert values(x.grad) == [2]


def test_threads() -> None:
    shared, results = tracked(2), {}

    def work(number: int) -> None:
        x = tracked(*range(1, 5))
        for _ in range(20):
            dr.clear_grad(x)
            dr.backward(dr.sum(x * x * number) * dr.detach(shared))
        results[number] = values(x.grad)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {k: [4 * k * i for i in range(1, 5)] for k in range(1, 5)}


# ---------------------------------------------------------------- custom operations


class Product(dr.CustomOp):
    def eval(self, x: Any, y: Any) -> Any:
        assert not dr.grad_enabled(x, y)
        self.x, self.y = x, y
        return x * y

    def forward(self) -> None:
        self.set_grad_out(self.y * self.grad_in("x") + self.x * self.grad_in("y"))

    def backward(self) -> None:
        self.set_grad_in("x", self.y * self.grad_out())
        self.set_grad_in("y", self.x * self.grad_out())


def test_custom() -> None:
    dr.check_grad(lambda x, y: dr.custom(Product, x, y=y) * x, Float(1, 2), Float(3))
    dr.check_grad(lambda v: dr.custom(Product, v, v), Array3f(1, 2, 3))
    x = tracked(1, 2)
    z = dr.custom(Product, x, 2)
    assert dr.grad_enabled(z) and "Product" in dr.graphviz_ad(as_string=True)
    dr.backward(z)
    assert values(x.grad) == [2, 2]
    assert not dr.grad_enabled(dr.custom(Product, Float(1), Float(2)))
    with pytest.raises(TypeError, match=r"expected a subclass of drjit\.CustomOp"):
        dr.custom(3, x)


class Trees(dr.CustomOp):
    def eval(self, *args: Any, **kwargs: Any) -> Any:
        self.scale = kwargs["scale"]
        return {"sum": args[0] + args[1]["b"], "scaled": [args[0] * self.scale, 5]}

    def forward(self) -> None:
        first, second = self.grad_in(0), self.grad_in(1)["b"]
        self.set_grad_out({"sum": first + second, "scaled": [first * self.scale, 0]})

    def backward(self) -> None:
        grad = self.grad_out()
        assert grad["scaled"][1] == 0
        self.set_grad_in(0, grad["sum"] + grad["scaled"][0] * self.scale)
        self.set_grad_in(1, {"b": grad["sum"]})

    def name(self) -> str:
        return "of trees"


def test_custom_trees() -> None:
    def function(x: Any, y: Any) -> Any:
        result = dr.custom(Trees, x, {"b": y}, scale=3)
        return result["sum"] * result["scaled"][0]

    dr.check_grad(function, Float(1, 2), Float(3, 4))


class Hidden(dr.CustomOp):
    source: Any = None
    target: Any = None

    def eval(self, x: Any) -> Any:
        self.add_input(Hidden.source)
        Hidden.target = dr.detach(x) * 3
        self.add_output(Hidden.target)
        return x + dr.detach(Hidden.source)

    def forward(self) -> None:
        self.set_grad_out(self.grad_in("x"))

    def backward(self) -> None:
        self.set_grad_in("x", self.grad_out())


def test_custom_implicit() -> None:
    Hidden.source = tracked(5)
    y = dr.custom(Hidden, Float(1))
    assert dr.grad_enabled(y, Hidden.target)
    dr.backward(y)
    Hidden.source = Hidden.target = None


class Failing(Product):
    def backward(self) -> None:
        raise LookupError("of the user's")


def test_custom_failures() -> None:
    x = tracked(1, 2)
    y = dr.custom(Failing, x, x)
    with pytest.raises(LookupError, match="of the user's"):
        dr.backward(y * 2)
    dr.clear_grad((x, y))
    dr.backward(x * 3)
    assert values(x.grad) == [3, 3]
    with pytest.raises(NotImplementedError, match=r"CustomOp\.eval"):
        dr.custom(dr.CustomOp, x)
    op = Product()
    with pytest.raises(KeyError, match="no parameter 'z'"):
        op.grad_in("z")
    with pytest.raises(IndexError, match="out of bounds"):
        op.grad_in(3)
    with pytest.raises(TypeError, match="expected a name or an index"):
        op.grad_in(1.5)  # type: ignore[arg-type]


def test_custom_operations_are_released() -> None:
    references = []

    class Watched(Product):
        def eval(self, x: Any, y: Any) -> Any:
            references.append(weakref.ref(self))
            return super().eval(x, y)

    x = tracked(1)
    y = dr.custom(Watched, x, x)
    gc.collect()
    assert references[0]()
    del y
    gc.collect()
    assert references[0]() is None


class Inner(Product):
    def backward(self) -> None:
        x = dr.detach(self.x)
        dr.enable_grad(x)
        y = x * dr.detach(self.y)
        dr.set_grad(y, self.grad_out())
        dr.enqueue(dr.ADMode.Backward, y)
        dr.traverse(dr.ADMode.Backward)
        self.set_grad_in("x", dr.grad(x))


def test_callbacks_may_differentiate() -> None:
    x = tracked(1, 2)
    dr.backward(dr.custom(Inner, x, Float(3)) * 2)
    assert values(x.grad) == [6, 6]


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
def test_custom_in_a_conditional(mode: str) -> None:
    def function(x: Any) -> Any:
        return dr.if_stmt(
            (x,), x > 1.5, lambda x: dr.custom(Product, x, x), lambda x: x, mode=mode
        )

    dr.check_grad(function, Float(1, 2, 3))


# ---------------------------------------------------------------- helpers, inspection


def test_functional_helpers() -> None:
    x, v = Float64(1, 2, 3), Float64(1, 0, -1)
    value, gradient = drjit.ad.value_and_grad(lambda x: dr.sum(x * x * x))(x)
    assert values(value) == [36] and values(gradient) == [3, 12, 27]
    (gradient,), (product,) = drjit.ad.hvp(lambda x: dr.sum(x * x * x), (x,), (v,))
    assert values(gradient) == [3, 12, 27] and values(product) == [6, 0, -18]
    value, tangent = drjit.ad.jvp(lambda x: x * x, (x,), (v,))
    assert values(value) == [1, 4, 9] and values(tangent) == [2, 0, -6]
    value, pull = drjit.ad.vjp(lambda x: x * x, x)
    assert values(pull(v)[0]) == [2, 0, -6] and values(pull(2)[0]) == [4, 8, 12]
    (gradient,), (product,) = drjit.ad.hvp(lambda x: dr.sum(2 * x), (x,), (v,))
    assert values(product) == [0, 0, 0]
    assert values(drjit.ad.gradient(lambda x: x * 2)(x)) == [2, 2, 2]
    assert not dr.grad_enabled(x)


def test_functional_helpers_nest() -> None:
    ad, x, one = drjit.ad, Float64(1, 2, 3), Float64(1)

    def cube(x: Any) -> Any:
        return dr.sum(x * x * x)

    first = ad.gradient(cube)
    second = ad.gradient(lambda x: dr.sum(first(x)))
    third = ad.gradient(lambda x: dr.sum(second(x)))
    assert [values(f(x)) for f in (first, second, third)] == [
        [3, 12, 27], [6, 12, 18], [6, 6, 6]
    ]  # fmt: skip

    def pushed(x: Any) -> Any:
        return ad.jvp(cube, (x,), (one,))[1]

    def pulled(x: Any) -> Any:
        return ad.vjp(cube, x)[1](one)[0]

    for inner in (pushed, pulled):
        assert values(ad.gradient(inner)(x)) == [6, 12, 18]
        assert values(dr.sum(ad.jvp(inner, (x,), (one,))[1])) == [36]
    product = ad.gradient(lambda x: dr.sum(ad.hvp(cube, (x,), (one,))[1]))
    assert values(product(x)) == [6, 6, 6]


def test_functional_helpers_see_what_is_tracked_around() -> None:
    ad, x = drjit.ad, Float64(1, 2, 3)

    def scaled(a: Any) -> Any:  # the sum of 2 a x
        return dr.sum(ad.gradient(lambda x: dr.sum(a * x * x))(x))

    assert values(ad.gradient(scaled)(Float64(5))) == [12]
    a = Float64(2)
    dr.enable_grad(a)
    value, tangent = ad.jvp(lambda x: x * x, (x,), (Float64(a),))
    assert not dr.grad_enabled(value)
    dr.backward(dr.sum(tangent))
    assert values(a.grad) == [12]
    a = tracked(2)
    _, pull = ad.vjp(lambda x: x * x, x)
    dr.backward(dr.sum(pull(Float64(a))[0]))
    assert values(a.grad) == [12]
    a = tracked(2)
    value, grad = ad.value_and_grad(lambda x: a * x * x)(x)
    dr.backward(dr.sum(value) + dr.sum(grad))
    assert values(a.grad) == [14 + 12]


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
def test_second_order_through_control_flow(mode: str) -> None:
    def function(x: Any) -> Any:
        y = dr.if_stmt(
            (x,), x > 1.5, lambda x: dr.exp(x) * x, lambda x: x * x * x, mode=mode
        )
        z = dr.switch(
            UInt(0, 1, 1), [lambda y: y * y, lambda y: dr.sin(y)], y, mode=mode
        )
        return dr.sum(z)

    x, v = Float64(0.3, 1.7, 0.9), Float64(1, -0.5, 2)
    _, (product,) = drjit.ad.hvp(function, (x,), (v,))
    gradient = drjit.ad.gradient(function)
    step = 1e-5
    quotient = (gradient(x + v * step) - gradient(x - v * step)) / (2 * step)
    assert np.allclose(product.numpy(), quotient.numpy(), rtol=1e-6)


def test_check_grad_of_a_gradient() -> None:
    """Difference quotients of what is a derivative itself."""
    slope = dr.ad.gradient(lambda x: dr.sum(dr.sin(x) * x))
    dr.check_grad(slope, Float(1, 2, 3))
    dr.check_grad(dr.ad.gradient(lambda x: dr.sum(slope(x) * x)), Float(1, 2, 3))


def test_check_grad_finds_what_is_wrong() -> None:
    with pytest.raises(AssertionError, match=r"backward .* by entry 1 of args\[0\] "):
        dr.check_grad(lambda x: dr.detach(x) * x, Float(0, 2))
    mode = dr.ADMode.Forward
    with pytest.raises(AssertionError, match="forward derivative"):
        dr.check_grad(lambda m: dr.detach(m) @ m, Matrix2f(1, 2, 3, 4), mode=mode)


def test_inspection(capsys: pytest.CaptureFixture[str]) -> None:
    x = tracked(1, 2)
    dr.set_label(x, "parameter")
    y = x * x
    text = dr.whos_ad(as_string=True)
    assert text and "parameter" in text and "f32" in text
    dr.whos_ad()
    assert "parameter" in capsys.readouterr().out
    diagram = dr.graphviz_ad(as_string=True)
    assert diagram.startswith("digraph") and "mul" in diagram
    assert f"{y.index_ad} -> {x.index_ad}" in diagram


def launches(function: Any) -> int:
    """How many kernels of many lanes a function launches."""
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        dr.kernel_history_clear()
        function()
        history = dr.kernel_history()
    return sum(k["type"] == dr.KernelType.JIT and k["size"] > 1 for k in history)


def test_sums_share_a_kernel() -> None:
    """A sum evaluates its operand, and what has much in common with that."""
    wide, other = dr.linspace(Float, 0, 1, 1000), dr.linspace(Float, 1, 2, 1000)
    table = Float([0.1, 0.2, 0.3, 0.4])
    dr.eval(wide, other)

    def straight() -> None:
        p = [dr.opaque(Float, k) for k in range(6)]
        x = Float(wide)
        dr.enable_grad(p, x)
        y = x
        for q in p:
            y = dr.sin(y * q + other)
        dr.backward(y)
        dr.eval(dr.grad([*p, x]))

    assert launches(straight) == 1

    def loop() -> None:
        x, q = Float(wide), Float(table)
        dr.enable_grad(q, x)
        p = [dr.gather(Float, q, UInt(k)) for k in range(4)]
        y, _ = dr.while_loop(
            (x, UInt(0)),
            lambda y, k: k < 5,
            lambda y, k: (dr.sin(y * p[0] + p[1]) * p[2] + p[3], k + 1),
            max_iterations=5,
        )
        dr.backward(y)
        dr.eval(dr.grad([x, q]))

    # The tape is short, so one kernel writes it and reads it.
    assert launches(loop) == 1


# ---------------------------------------------------------------- drjit.ad


def test_other_arrays_keep_their_gradients() -> None:
    # What the function uses besides its arguments may be tracked, with a gradient.
    weight = tracked(5)
    dr.set_grad(weight, 100)

    def function(x: Any) -> Any:
        return x * x * weight

    x, one = Float(2), Float(1)
    assert [values(v) for v in dr.ad.jvp(function, (x,), (one,))] == [[20], [20]]
    value, pull = dr.ad.vjp(function, x)
    assert values(pull(one)[0]) == [20] and values(pull(Float(2))[0]) == [40]
    value, grad = dr.ad.value_and_grad(function)(x)
    assert values(value) == [20] and values(grad) == [20]
    (grad,), (product,) = dr.ad.hvp(function, (x,), (one,))
    assert values(grad) == [20] and values(product) == [10]
    assert values(weight.grad) == [100]


def test_results_that_depend_on_each_other() -> None:
    def function(x: Any) -> Any:
        y = x * 3
        return x, {"y": y, "n": 5}, y * y

    (a, b, c), (ta, tb, tc) = dr.ad.jvp(function, (Float(2),), (Float(1),))
    assert [values(v) for v in (a, b["y"], c)] == [[2], [6], [36]]
    assert [values(v) for v in (ta, tb["y"], tc)] == [[1], [3], [36]]
    _, pull = dr.ad.vjp(function, Float(2))
    for _ in range(2):
        (g,) = pull((Float(1), {"y": Float(10), "n": 0}, Float(100)))
        assert values(g) == [1 + 30 + 3600]


def test_fmin_fmax_and_median() -> None:
    a, b = Float64(1, 5, 2, 7), Float64(3, 4, 6, -1)
    for function in (dr.fmin, dr.fmax, dr.median):
        inputs = (a,) if function is dr.median else (a, b)
        dr.check_grad(lambda *x, f=function: f(*x) * 3, *inputs)
    x = Float64(1, dr.nan)
    dr.enable_grad(x)
    dr.backward(dr.fmin(x, Float64(2, 2)) * 5)
    assert values(x.grad) == [5, 0]
