"""Operations whose derivatives the user writes: drjit.CustomOp, drjit.custom().

What must hold beyond the examples of the reference: PyTrees, names and positions,
variables that are not arguments, exceptions, traversals within callbacks, regions.
test_ad_custom_graph.py has derivatives of derivatives, and cycles with the graph.
"""

import gc
from dataclasses import dataclass
from typing import Any

import drjit as dr
import numpy as np
import pytest
from custom_util import Double, Exp, Globals, Product, close, tracked
from drjit import _core
from drjit.llvm.ad import Array3f, Bool, Float, Float64, Int, TensorXf, UInt


@pytest.fixture(autouse=True)
def nothing_left():
    yield
    gc.collect()
    gc.collect()
    assert _core._ad_node_count() == 0


# ---------------------------------------------------------------- arguments


TEN, TWENTY = Float(10), Float(20)


class Everything(dr.CustomOp):
    def eval(self, a, b=TEN, *rest, c, d=TWENTY, **named):
        self.count = len(rest), sorted(named)
        total = a + 2 * b + 5 * c + 7 * d
        for k, value in enumerate(rest):
            total += (11 + k) * value
        return total + 100 * named.get("e", 0)

    def forward(self):
        total = self.grad_in("a") + 2 * self.grad_in("b")
        total += 5 * self.grad_in("c") + 7 * self.grad_in("d")
        for k in range(self.count[0]):
            total += (11 + k) * self.grad_in(k)
        if self.count[1]:
            total += 100 * self.grad_in("e")
        self.set_grad_out(total)

    def backward(self):
        grad = self.grad_out()
        for name, factor in (("a", 1), ("b", 2), ("c", 5), ("d", 7)):
            self.set_grad_in(name, factor * grad)
        for k in range(self.count[0]):
            self.set_grad_in(k, (11 + k) * grad)
        if self.count[1]:
            self.set_grad_in("e", 100 * grad)


def test_parameters_of_all_kinds():
    def call(a, b, r, s, c, d, e):
        return dr.custom(Everything, a, b, r, s, c=c, d=d, e=e)

    arguments = [tracked(Float(k + 1)) for k in range(7)]
    y = call(*arguments)
    factors = [1, 2, 11, 12, 5, 7, 100]
    assert y[0] == sum(f * (k + 1) for k, f in enumerate(factors))
    dr.backward(y)
    assert [a.grad[0] for a in arguments] == factors
    for k, factor in enumerate(factors):
        arguments = [Float(i + 1) for i in range(7)]
        dr.enable_grad(arguments[k])
        y = call(*arguments)
        dr.forward(arguments[k])
        assert dr.grad(y)[0] == factor
    x = tracked(Float(1))
    dr.backward(dr.custom(Everything, x, c=x))  # defaults
    assert x.grad[0] == 6
    x, z = tracked(Float(1)), tracked(Float(2))
    y = dr.custom(Everything, a=x, b=Float(0), c=z)
    dr.backward(y)
    assert (x.grad[0], z.grad[0]) == (1, 5)


def test_names_of_variable_parameters():
    class Sum(dr.CustomOp):
        def eval(self, *values, **named):
            return values[0] * 2 + values[1] * 3 + named["k"] * 5

        def forward(self):
            values, named = self.grad_in("values"), self.grad_in("named")
            assert isinstance(values, tuple) and list(named) == ["k"]
            self.set_grad_out(values[0] * 2 + values[-1] * 3 + named["k"] * 5)

        def backward(self):
            grad = self.grad_out()
            self.set_grad_in("values", (2 * grad, 3 * grad))
            self.set_grad_in("named", {"k": 5 * grad})

    dr.check_grad(
        lambda a, b, c: dr.custom(Sum, a, b, k=c), Float64(1), Float64(2), Float64(3)
    )


@pytest.mark.parametrize(
    ("key", "kind", "message"),
    [
        ("z", KeyError, "no parameter 'z'"),
        (2, IndexError, "index 2 is out of bounds"),
        (1.5, TypeError, "expected a name or an index"),
        (True, TypeError, "expected a name or an index"),
    ],
)
def test_wrong_names(key, kind, message):
    class Wrong(Product):
        def eval(self, x, y, *rest):
            return super().eval(x, y)

        def backward(self):
            with pytest.raises(kind, match=message):
                self.grad_in(key)
            self.set_grad_in(key, 1)

    x = tracked(Float(1))
    y = dr.custom(Wrong, x, x, 1, 2)
    with pytest.raises(kind, match=message):
        dr.backward(y)


def test_wrong_arguments():
    x = tracked(Float(1))
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        dr.custom(Product, x)
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        dr.custom(Product, x, x, z=3)
    for wrong in (3, Product(), dict, None):
        with pytest.raises(TypeError, match=r"expected a subclass of drjit\.CustomOp"):
            dr.custom(wrong, x)


def test_own_constructors():
    class Counted(Double):
        def __init__(self, factor=3):
            super().__init__()
            self.factor = factor

        def eval(self, x):
            return x * self.factor

        def backward(self):
            self.set_grad_in("x", self.grad_out() * self.factor)

    class WithoutSuper(Double):
        def __init__(self):
            self.z = 5

    class Demanding(Double):
        def __init__(self, factor):
            raise AssertionError

    class Slotted(Double):
        __slots__ = ("kept",)

        def eval(self, x):
            self.kept = x
            return x * 2

    for kind, factor in ((Counted, 3), (WithoutSuper, 2), (Slotted, 2)):
        x = tracked(Float(1))
        dr.backward(dr.custom(kind, x))
        assert x.grad[0] == factor
    with pytest.raises(TypeError, match="factor"):
        dr.custom(Demanding, x)


@dataclass
class Pair:
    first: Any
    second: Any


class Struct:
    DRJIT_STRUCT = {"value": Float}

    def __init__(self):
        self.value = Float(0)


def test_trees():
    class Trees(dr.CustomOp):
        def eval(self, tree, struct):
            a, (b, n) = tree["a"], tree["rest"]
            self.n = n
            out = Struct()
            out.value = a * n + struct.value
            return {"first": Pair(out, [b.first.x, n]), "k": 3, "text": "t"}

        def forward(self):
            tree, struct = self.grad_in("tree"), self.grad_in("struct")
            assert isinstance(struct, Struct) and isinstance(tree["rest"], tuple)
            out = Struct()
            out.value = tree["a"] * self.n + struct.value
            first = Pair(out, [tree["rest"][0].first.x, 0])
            self.set_grad_out({"first": first, "k": 0, "text": "t"})

        def backward(self):
            grad = self.grad_out()
            pair = grad["first"]
            assert isinstance(pair, Pair) and isinstance(pair.first, Struct)
            assert type(pair.second[1]) is Int and grad["k"] == 0
            own = Struct()
            own.value = pair.first.value
            zero = Float(0)
            v = Pair(Array3f(pair.second[0], 0, 0), zero)
            self.set_grad_in("struct", own)
            tree = {"a": pair.first.value * self.n, "rest": (v, 0)}
            self.set_grad_in("tree", tree)

    def call(a, v, w):
        struct = Struct()
        struct.value = w
        tree = {"a": a, "rest": (Pair(v, Float(9)), Int(4))}
        found = dr.custom(Trees, tree, struct)
        assert found["k"] == 3 and found["text"] == "t"
        second = found["first"].second
        assert type(second[1]) is Int and not dr.grad_enabled(second[1])
        return found["first"].first.value * 10 + second[0]

    a, v, w = tracked(Float(1, 2)), tracked(Array3f(1, 2, 3)), tracked(Float(5))
    y = call(a, v, w)
    dr.backward(y)
    close(a.grad, [40, 40])
    close(v.grad, [[2], [0], [0]])
    close(w.grad, [20])
    y = call(a, v, w)
    for array in (a, v, w):
        dr.clear_grad(array)
    dr.set_grad(v, Array3f(1, 10, 100))
    dr.set_grad(a, Float(1, 2))
    close(dr.forward_to(y), [41, 81])


def test_tensors():
    class Scale(dr.CustomOp):
        def eval(self, t):
            return t * 3

        def backward(self):
            assert dr.shape(self.grad_out()) == (2, 3)
            self.set_grad_in("t", 3 * self.grad_out())

    class Fixed(Scale):
        gradient: Any = None

        def backward(self):
            self.set_grad_in("t", Fixed.gradient)

    t = tracked(TensorXf([1, 2, 3, 4, 5, 6], (2, 3)))
    dr.backward(dr.custom(Scale, t))
    close(t.grad, np.full((2, 3), 3))
    for gradient, expected in ((5, 5), (TensorXf([7], (1,)), 7)):
        Fixed.gradient = gradient
        dr.clear_grad(t)
        dr.backward(dr.custom(Fixed, t))
        close(t.grad, np.full((2, 3), expected))
    Fixed.gradient = TensorXf([1, 2, 3, 4, 5, 6], (3, 2))
    with pytest.raises(ValueError, match=r"shape \(3, 2\), expected \(2, 3\)"):
        dr.backward(dr.custom(Fixed, t))


def test_gradients_of_wrong_sizes():
    class Wrong(Double):
        gradient: Any = None

        def backward(self):
            self.set_grad_in("x", Wrong.gradient)

    for gradient, kind in ((Float(1, 2, 3), RuntimeError), (Array3f(1), TypeError)):
        Wrong.gradient = gradient
        x = tracked(Float(1, 2))
        with pytest.raises(kind):
            dr.backward(dr.custom(Wrong, x))
        dr.clear_grad(x)
        dr.backward(x * 2)
        close(x.grad, [2, 2])


def test_gradients_add_up():
    class Twice(Double):
        def forward(self):
            self.set_grad_out(self.grad_in("x"))
            self.set_grad_out(self.grad_in("x"))

        def backward(self):
            self.set_grad_in("x", self.grad_out())
            self.set_grad_in("x", self.grad_out())

    dr.check_grad(lambda x: dr.custom(Twice, x), Float64(1, 2))


def test_a_gradient_that_is_not_set_is_zero():
    class None_(Product):
        def backward(self):
            self.set_grad_in("x", self.y * self.grad_out())

        def forward(self):
            pass

    x, y = tracked(Float(2)), tracked(Float(3))
    dr.backward(dr.custom(None_, x, y))
    assert (x.grad[0], y.grad[0]) == (3, 0)
    z = dr.custom(None_, x, y)
    dr.forward(x)
    assert dr.grad(z)[0] == 0


def test_sizes_of_one_entry():
    # The gradient of an argument with one entry is the sum.
    x, y = tracked(Float(3)), tracked(Float(1, 2, 4))
    dr.backward(dr.custom(Product, x, y))
    close(x.grad, [7])
    close(y.grad, [3, 3, 3])


def test_nothing_tracked():
    z = dr.custom(Product, Float(2), Float(3))
    assert z[0] == 6 and not dr.grad_enabled(z)
    with dr.suspend_grad():
        x = tracked(Float(2))
        assert not dr.grad_enabled(dr.custom(Product, x, x))
    assert dr.custom(Product, 2, 3) == 6
    from drjit.llvm import Float as Plain

    assert type(dr.custom(Product, Plain(2), Plain(3))) is Plain


def test_results_depend_on_nothing_but_the_operation():
    other = Globals.source = tracked(Float(4))

    class Leaky(Double):
        def eval(self, x):
            return x * Globals.source  # not said with add_input()

    x = tracked(Float(1))
    dr.backward(dr.custom(Leaky, x))
    assert (x.grad[0], other.grad[0]) == (2, 0)
    assert not dr.grad_enabled(dr.custom(Leaky, Float(1)))
    Globals.source = None


def test_results_that_are_arguments():
    class Same(dr.CustomOp):
        def eval(self, x, y):
            return x, [y, x]

        def backward(self):
            first, (second, third) = self.grad_out()
            self.set_grad_in("x", first * 7 + third)
            self.set_grad_in("y", second)

    x, y = tracked(Float(1)), tracked(Float(2))
    a, (b, c) = dr.custom(Same, x, y)
    assert a is not x and a is not c
    dr.backward(a + 10 * b + 100 * c)
    assert (x.grad[0], y.grad[0]) == (107, 10)
    a += 5
    assert x[0] == 1


def test_changed_in_place():
    class Changes(dr.CustomOp):
        def eval(self, x):
            x += 5
            return x * 2

        def backward(self):
            self.set_grad_in("x", self.grad_out() * 2)

    x = tracked(Float(1))
    y = dr.custom(Changes, x)
    assert (x[0], y[0]) == (1, 12)
    dr.backward(y)
    assert x.grad[0] == 2


def test_masks_and_integers():
    class Choose(dr.CustomOp):
        def eval(self, mask, index, x):
            self.mask = mask
            return dr.select(mask, x, 0), index + 1, ~mask

        def backward(self):
            grad, index, mask = self.grad_out()
            assert type(index) is UInt and type(mask) is Bool
            self.set_grad_in("x", dr.select(self.mask, grad, 0))

        def forward(self):
            grad = dr.select(self.mask, self.grad_in("x"), 0)
            self.set_grad_out((grad, UInt(0), Bool(False)))

    x = tracked(Float(1, 2))
    a, b, c = dr.custom(Choose, Bool(True, False), UInt(3, 4), x)
    assert not dr.grad_enabled(b, c)
    dr.backward(a)
    close(x.grad, [1, 0])
    a, b, c = dr.custom(Choose, Bool(True, False), UInt(3, 4), x)
    dr.set_grad(x, 5)
    close(dr.forward_to(a), [5, 0])


# ---------------------------------------------------------------- implicit variables


class Hidden(dr.CustomOp):
    """x -> 2 x, and target = source x."""

    def eval(self, x):
        self.x = x
        self.add_input(Globals.source)
        Globals.target = dr.detach(Globals.source) * x
        self.add_output(Globals.target)
        return x * 2

    def forward(self):
        x = self.grad_in("x")
        tangent = x * dr.detach(Globals.source) + dr.grad(Globals.source) * self.x
        self.set_grad_out(2 * x)
        dr.accum_grad(Globals.target, tangent)

    def backward(self):
        grad = dr.grad(Globals.target)
        self.set_grad_in("x", 2 * self.grad_out() + grad * dr.detach(Globals.source))
        dr.accum_grad(Globals.source, grad * self.x)


class HiddenTracked(Hidden):
    """The way of programs that track the output themselves."""

    def eval(self, x):
        self.x = x
        self.add_input(Globals.source)
        Globals.target = dr.detach(Globals.source) * x
        dr.enable_grad(Globals.target)
        self.add_output(Globals.target)
        return x * 2


@pytest.mark.parametrize("kind", [Hidden, HiddenTracked])
@pytest.mark.parametrize("flags", [dr.ADFlag.Default, dr.ADFlag.ClearNone])
def test_implicit_variables(kind, flags):
    def begin():
        q, x = tracked(Float(5)), tracked(Float(3))
        Globals.source = q * 1
        y = dr.custom(kind, x)
        assert dr.grad_enabled(y, Globals.target)
        return q, x, y + Globals.target * 10

    q, x, z = begin()
    assert z[0] == 6 + 150
    dr.backward(z, flags)
    assert (x.grad[0], q.grad[0]) == (52, 30)
    q, x, z = begin()
    dr.set_grad((q, x), (1, 100))
    assert dr.forward_to(z, flags=flags)[0] == 30 + 5200
    q, x, z = begin()
    dr.forward(q, flags)
    assert dr.grad(z)[0] == 30
    del q, x, z
    Globals.source = Globals.target = None


def test_implicit_input_only():
    class Scaled(dr.CustomOp):
        def eval(self):
            self.add_input(Globals.source)
            return dr.detach(Globals.source) * 3

        def backward(self):
            dr.accum_grad(Globals.source, self.grad_out() * 3)

        def forward(self):
            self.set_grad_out(dr.grad(Globals.source) * 3)

    Globals.source = tracked(Float(5))
    dr.backward(dr.custom(Scaled))
    assert Globals.source.grad[0] == 3
    dr.set_grad(Globals.source, 7)
    assert dr.forward_to(dr.custom(Scaled))[0] == 21
    Globals.source = Float(5)
    assert not dr.grad_enabled(dr.custom(Scaled))
    Globals.source = None


# ---------------------------------------------------------------- exceptions


def test_exceptions_in_eval():
    class Fails(Product):
        def eval(self, x, y):
            raise LookupError("of the user's")

    x = tracked(Float(1))
    with pytest.raises(LookupError, match="of the user's"):
        dr.custom(Fails, x, x)
    assert _core._ad_node_count() == 1
    dr.backward(x * 3)
    assert x.grad[0] == 3


@pytest.mark.parametrize("mode", ["forward", "backward"])
def test_exceptions_in_the_middle(mode):
    # x -> a -> (fails) -> b -> c, and x -> d: what was not reached keeps nothing.
    fail = [True]

    class Fails(Double):
        def forward(self):
            if fail[0]:
                raise LookupError("of the user's")
            super().forward()

        def backward(self):
            if fail[0]:
                raise LookupError("of the user's")
            super().backward()

    def begin():
        x = tracked(Float(1, 2))
        a = x * 3
        b = dr.custom(Fails, a)
        return x, a, b, b * 5 + x

    x, a, b, c = begin()
    with pytest.raises(LookupError, match="of the user's"):
        if mode == "backward":
            dr.backward(c)
        else:
            dr.forward(x)
    # Nothing is enqueued any more, and no gradient waits on the way.
    dr.traverse(dr.ADMode.Backward)
    assert not _core._has_grad(a, b)
    fail[0] = False
    # The graph that failed, as far as its edges were not passed; and a new one.
    x2, a2, b2, c2 = begin()
    if mode == "backward":
        dr.backward(c2)
        close(x2.grad, [31, 31])
    else:
        dr.forward(x2)
        close(dr.grad(c2), [31, 31])
    del a, b, c, a2, b2, c2


def test_a_traversal_after_one_that_failed():
    # With edges that stay, the same graph works once the reason is gone.
    fail = [True]

    class Fails(Double):
        def backward(self):
            if fail[0]:
                raise LookupError
            super().backward()

    x = tracked(Float(1))
    y = dr.custom(Fails, x * 3) * 5
    for _ in range(3):
        dr.set_grad(y, 1)
        dr.enqueue(dr.ADMode.Backward, y)
        with pytest.raises(LookupError):
            dr.traverse(dr.ADMode.Backward, dr.ADFlag.ClearVertices)
        assert x.grad[0] == 0
    fail[0] = False
    dr.backward(y)
    assert x.grad[0] == 30


def test_missing_functions():
    class Neither(dr.CustomOp):
        def eval(self, x):
            return x * 2

    x = tracked(Float(1))
    y = dr.custom(Neither, x)
    with pytest.raises(NotImplementedError, match=r"Neither\.backward\(\)"):
        dr.backward(y)
    y = dr.custom(Neither, x)
    with pytest.raises(NotImplementedError, match=r"Neither\.forward\(\)"):
        dr.forward(x)
    with pytest.raises(NotImplementedError, match=r"CustomOp\.eval\(\)"):
        dr.custom(dr.CustomOp, x)
    assert isinstance(NotImplementedError(), RuntimeError)  # what programs may catch


# ---------------------------------------------------------------- within callbacks


def test_traversals_within_callbacks():
    class Inner(dr.CustomOp):
        """sin(x^2), with derivatives by AD."""

        def eval(self, x):
            self.x = x
            return dr.sin(x * x)

        def _derivative(self):
            x = dr.detach(self.x)
            dr.enable_grad(x)
            dr.backward(dr.sin(x * x))
            return x.grad

        def forward(self):
            self.set_grad_out(self.grad_in("x") * self._derivative())

        def backward(self):
            self.set_grad_in("x", self.grad_out() * self._derivative())

    x = Float64(0.3, 0.8)
    dr.check_grad(lambda x: dr.custom(Inner, x * 2) + x, x)
    dr.check_grad(lambda x: dr.custom(Inner, dr.custom(Inner, x)), x)


def test_callbacks_evaluate():
    class Evaluates(Product):
        def backward(self):
            grad = self.grad_out()
            dr.eval(grad)
            assert grad.numpy().shape == (2,)
            self.set_grad_in("x", Float64(grad.numpy() * self.y.numpy()))
            self.set_grad_in("y", Float64(grad.numpy() * self.x.numpy()))

        def forward(self):
            tangent = self.grad_in("x").numpy() * self.y.numpy()
            self.set_grad_out(
                Float64(tangent + self.grad_in("y").numpy() * self.x.numpy())
            )

    x, y = Float64(1, 2), Float64(3, 4)
    dr.check_grad(lambda x, y: dr.custom(Evaluates, x, y) * x, x, y)


def test_operations_within_operations():
    class Outer(dr.CustomOp):
        def eval(self, x):
            self.x = x
            return dr.custom(Product, x, x)

        def backward(self):
            x = tracked(dr.detach(self.x))
            dr.set_grad(y := dr.custom(Product, x, x), self.grad_out())
            dr.enqueue(dr.ADMode.Backward, y)
            dr.traverse(dr.ADMode.Backward)
            self.set_grad_in("x", x.grad)

    x = tracked(Float(3))
    dr.backward(dr.custom(Outer, x))
    assert x.grad[0] == 6


def test_gradients_are_plain():
    # What an operation multiplies a gradient with may be tracked by others.
    weight = Globals.source = tracked(Float(5))

    class Weighted(Double):
        def backward(self):
            self.set_grad_in("x", self.grad_out() * Globals.source)

    x = tracked(Float(1))
    dr.backward(dr.custom(Weighted, x))
    assert x.grad[0] == 5 and not dr.grad_enabled(x.grad)
    dr.backward(dr.custom(Weighted, weight))
    assert weight.grad[0] == 5
    Globals.source = None


# ---------------------------------------------------------------- regions


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
def test_in_loops(mode):
    def function(x, y):
        def body(i, z):
            return i + 1, dr.custom(Product, z, y) + dr.custom(Exp, z * 0.1)

        i = dr.zeros(UInt, dr.width(x))
        _, z = dr.while_loop(
            (i, x), lambda i, z: i < 3, body, mode=mode, max_iterations=4
        )
        return z

    dr.check_grad(function, Float64(0.3, 0.6), Float64(0.8, 1.1))


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
def test_in_conditionals(mode):
    def function(x, y):
        return dr.if_stmt(
            (x, y),
            x > 0.5,
            lambda x, y: dr.custom(Product, x, y),
            lambda x, y: dr.custom(Exp, x) * y,
            mode=mode,
        )

    dr.check_grad(function, Float64(0.3, 0.6), Float64(0.8, 1.1))


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
def test_in_calls(mode):
    def function(x, y):
        targets = [
            lambda x, y: dr.custom(Product, x, y),
            lambda x, y: dr.custom(Exp, x) * y,
        ]
        return dr.switch(UInt(0, 1, 1), targets, x, y, mode=mode)

    x, y = Float64(0.3, 0.6, 0.2), Float64(0.8, 1.1, 0.4)
    dr.check_grad(function, x, y)


def test_loops_within_operations():
    class Power(dr.CustomOp):
        """x^4 by a recorded loop; the derivative by one, too."""

        def eval(self, x):
            self.x = x
            return self._power(x, 4)

        def _power(self, x, n):
            return dr.while_loop(
                (dr.zeros(UInt, dr.width(x)), dr.full(Float64, 1, dr.width(x)), x),
                lambda i, p, x: i < n,
                lambda i, p, x: (i + 1, p * x, x),
            )[1]

        def forward(self):
            self.set_grad_out(self.grad_in("x") * 4 * self._power(self.x, 3))

        def backward(self):
            self.set_grad_in("x", self.grad_out() * 4 * self._power(self.x, 3))

    dr.check_grad(lambda x: dr.custom(Power, x * 2), Float64(0.5, 1.5))
