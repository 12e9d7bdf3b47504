"""Custom operations and the graph: derivatives of their derivatives, and cycles."""

import gc
import weakref
from typing import Any

import drjit as dr
import numpy as np
import pytest
from custom_util import Double, Exp, Globals, Product, close, tracked
from drjit import _core
from drjit.llvm.ad import Array3f, Float, Float64, UInt


@pytest.fixture(autouse=True)
def nothing_left():
    yield
    gc.collect()
    gc.collect()
    assert _core._ad_node_count() == 0


# ---------------------------------------------------------------- higher order


def second_derivatives(function, arguments, directions):
    """Hessian times vector, by difference quotients of gradients."""
    step = 1e-5

    def gradient(sign):
        own = [
            tracked(dr.detach(a) + sign * step * d)
            for a, d in zip(arguments, directions, strict=True)
        ]
        dr.backward(dr.sum(function(*own)))
        return [a.grad.numpy() for a in own]

    up, down = gradient(1), gradient(-1)
    return [(u - d) / (2 * step) for u, d in zip(up, down, strict=True)]


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: dr.custom(Product, x, y) * x,
        lambda x, y: dr.custom(Exp, x * y) * y,
        lambda x, y: dr.custom(Product, dr.custom(Exp, x), dr.custom(Exp, y)),
        lambda x, y: dr.custom(Exp, dr.custom(Product, x, y)),
        lambda x, y: dr.custom(Double, dr.sin(x)) * y,
    ],
)
def test_second_order(function):
    arguments = (Float64(0.3, 0.7), Float64(1.2, -0.4))
    directions = (Float64(1, 0.5), Float64(-0.3, 2))
    expected = second_derivatives(function, arguments, directions)
    found = dr.ad.hvp(lambda *a: dr.sum(function(*a)), arguments, directions)[1]
    close(found[0], expected[0], 1e-7)
    close(found[1], expected[1], 1e-7)


def derivative(function):
    """The derivative as a function that is tracked."""

    def call(x):
        y = function(x)
        dr.set_grad(y, 1)
        dr.enqueue(dr.ADMode.Backward, y)
        flags = dr.ADFlag.ClearVertices | dr.ADFlag.CreateGraph
        dr.traverse(dr.ADMode.Backward, flags)
        found = dr.grad(x)
        dr.clear_grad(x)
        return found

    return call


def test_orders_in_reverse():
    x = tracked(Float64(2))
    for kind, expected in (
        (lambda x: dr.custom(Exp, x * 3), [3**n * np.exp(6) for n in range(5)]),
        (lambda x: dr.custom(Product, x, dr.custom(Product, x, x)), [8, 12, 12, 6, 0]),
    ):
        f = kind
        for value in expected[:4]:
            close(f(x)[0], value, 1e-10)
            f = derivative(f)
    del f


def test_kept_values_of_unknown_derivatives():
    class Keeps(dr.CustomOp):
        make: Any = None

        def eval(self, x):
            self.kept = Keeps.make(x)
            return x * x

        def backward(self):
            self.set_grad_in("x", 2 * self.x_of(self.kept) * self.grad_out())

        def x_of(self, kept):
            return 1

    class Constants(Keeps):
        keeps_constants = True

    def hessian(kind):
        return dr.ad.hvp(
            lambda x: dr.sum(dr.custom(kind, x)), (Float64(3),), (Float64(1),)
        )

    class Forward(Keeps):
        def forward(self):
            self.set_grad_out(self.grad_in("x"))

    class ForwardConstants(Constants, Forward):
        pass

    fine = [
        lambda x: x,
        lambda x: [x, {"k": 3, "t": "text", "n": None, "f": 2.5}],
        lambda x: UInt(1, 2),
        lambda x: x > 1,
        lambda x: np.sin,
    ]
    wrong = [
        lambda x: dr.sin(x),
        lambda x: Float64(5),  # x may be a literal, too
        lambda x: [x, dr.opaque(Float64, 5)],
        lambda x: np.array([1.0]),
        lambda x: object(),
    ]
    for make in fine:
        Keeps.make = make
        hessian(Forward)
    for make in wrong:
        Keeps.make = make
        with pytest.raises(RuntimeError, match="attribute 'kept'.*is unknown"):
            hessian(Forward)
        hessian(ForwardConstants)
        x = tracked(Float64(3))
        dr.backward(dr.custom(Keeps, x))  # of first order nobody asks


def test_second_order_with_implicit_inputs():
    class Scaled(dr.CustomOp):
        def eval(self, x):
            self.add_input(Globals.source)
            self.x = x
            return dr.detach(Globals.source) * x * x

        def forward(self):
            tangent = dr.grad(Globals.source) * self.x * self.x
            self.set_grad_out(tangent + 2 * Globals.source * self.x * self.grad_in("x"))

        def backward(self):
            grad = self.grad_out()
            dr.accum_grad(Globals.source, grad * self.x * self.x)
            self.set_grad_in("x", 2 * Globals.source * self.x * grad)

    Globals.source = tracked(Float64(5))
    x = tracked(Float64(3))
    y = derivative(lambda x: dr.custom(Scaled, x))(x)
    assert y[0] == 30
    dr.clear_grad((x, Globals.source))
    dr.backward(y)
    assert x.grad[0] == 10 and Globals.source.grad[0] == 6
    del y
    Globals.source = None


# ---------------------------------------------------------------- cycles


class Watched(Double):
    made: list[Any] = []

    def eval(self, x):
        Watched.made.append(self)
        return x * 2


def run_and_collect(build):
    """Build a cycle; give what is left of its operations after collecting."""
    Watched.made.clear()
    x = tracked(Float(1, 2))
    result = build(x, lambda x: (dr.custom(Watched, x), Watched.made[-1]))
    references = [weakref.ref(op) for op in Watched.made]
    Watched.made.clear()
    del x
    gc.collect()
    before = [r() is not None for r in references]
    if result is not None:  # what it returns keeps the operation
        assert all(before)
        if dr.is_array_v(result):
            dr.backward(result, dr.ADFlag.ClearNone)
    else:
        assert not any(before)
    del result
    gc.collect()
    gc.collect()
    assert [r() for r in references] == [None] * len(references)
    assert _core._ad_node_count() == 0


class Holder:
    pass


class Derived(Float):
    pass


def test_cycles():
    def own_result(x, call):
        y, op = call(x)
        op.y = y

    def further_result(x, call):
        y, op = call(x)
        z = dr.sin(y) * 3
        op.z = [z, {"a": (z, z)}]

    def attribute_of_another(x, call):
        y, op = call(x)
        holder = Holder()
        holder.y, holder.op, op.holder = y, op, holder

    def closure(x, call):
        y, op = call(x)
        op.function = lambda: y

    def default(x, call):
        y, op = call(x)

        def function(y=y, *, z=y):
            pass

        op.function = function

    def view(x, call):
        y, op = call(x)
        v = Array3f(y, 1, 2)
        op.view = v.x

    def derived(x, call):
        y, op = call(x)
        own = Derived(y)
        own.op, op.own = op, own

    def view_of_derived(x, call):
        y, op = call(x)
        own = Derived(y)
        own.op = op

    def gradient(x, call):
        # A tracked gradient depends on what it is the gradient of.
        y, op = call(x)
        z = y * y
        dr.set_grad(z, 1)
        dr.enqueue(dr.ADMode.Backward, z)
        dr.traverse(dr.ADMode.Backward, dr.ADFlag.ClearVertices | dr.ADFlag.CreateGraph)
        op.gradient = dr.grad(x)
        dr.clear_grad((x, y, z))

    def two(x, call):
        (y, op), (z, other) = call(x), call(x)
        op.z, other.y = z, y

    def chain(x, call):
        y, op = call(x)
        z, other = call(y)
        op.z = z * y

    def one_object_of_a_chain(x, call):
        holder = Holder()
        for _ in range(3):
            x, op = call(x)
            op.holder = holder
        holder.x = x

    def one_object_of_two(x, call):
        holder = Holder()
        (y, op), (z, other) = call(x), call(x)
        op.holder = other.holder = holder
        holder.z = [y, z]

    def through_itself(x, call):
        y, op = call(x)
        op.me, op.y = op, [y]

    def loop(x, call):
        y, op = call(x)
        op.z = dr.while_loop(
            (dr.zeros(UInt, 2), y), lambda i, y: i < 3, lambda i, y: (i + 1, y * 2)
        )[1]

    for build in (
        own_result,
        further_result,
        attribute_of_another,
        closure,
        default,
        view,
        derived,
        view_of_derived,
        gradient,
        two,
        chain,
        one_object_of_a_chain,
        one_object_of_two,
        through_itself,
    ):
        run_and_collect(build)


def test_cycles_that_are_kept():
    def by_result(x, call):
        y, op = call(x)
        op.y = y
        return y

    def by_further_result(x, call):
        y, op = call(x)
        op.y = y
        return y * 2

    def by_list(x, call):
        y, op = call(x)
        op.y = [y]
        return op.y  # others have what the operation refers to

    def by_operation(x, call):
        y, op = call(x)
        op.y = y
        return op

    def by_another_operation(x, call):
        y, op = call(x)
        z, other = call(x)
        op.y, other.op = y, op
        return z

    def by_the_object_of_a_chain(x, call):
        holder = Holder()
        for _ in range(3):
            x, op = call(x)
            op.holder = holder
        holder.x = x
        return holder

    for build in (
        by_result,
        by_the_object_of_a_chain,
        by_further_result,
        by_list,
        by_operation,
        by_another_operation,
    ):
        run_and_collect(build)


def test_implicit_outputs_that_an_operation_keeps():
    class Keeps(Watched):
        def eval(self, x):
            self.also = x * 3
            self.add_output(self.also)
            return super().eval(x)

        def backward(self):
            self.set_grad_in("x", 2 * self.grad_out() + 3 * dr.grad(self.also))

    x = tracked(Float(1))
    y = dr.custom(Keeps, x)
    op = weakref.ref(Watched.made[-1])
    dr.backward(y + 10 * op().also)
    assert x.grad[0] == 32
    Watched.made.clear()
    del y
    gc.collect()
    assert op() is None


def test_finalizers_of_cycles():
    saved = []

    class Saves(Watched):
        def __del__(self):
            saved.append(self.y)

    x = tracked(Float(1))
    y = dr.custom(Saves, x)
    Watched.made.pop().y = y
    del y
    gc.collect()
    (y,) = saved
    dr.backward(y)  # it was saved with all that it depends on
    assert x.grad[0] == 2
    saved.clear()
    del y
    gc.collect()
    assert _core._ad_node_count() == 1


def test_operations_are_released():
    for work in (
        lambda y, x: None,
        lambda y, x: dr.backward(y),
        lambda y, x: dr.forward(x),
        lambda y, x: dr.backward(y, dr.ADFlag.ClearNone),
    ):
        x = tracked(Float(1))
        y = dr.custom(Watched, x)
        op = weakref.ref(Watched.made.pop())
        assert op() is not None
        work(y, x)
        del y
        assert op() is None  # without the collector
    gc.disable()
    try:
        x = tracked(Float(1))
        y = dr.custom(Watched, x)
        op = weakref.ref(Watched.made.pop())
        del x, y
        assert op() is None
    finally:
        gc.enable()


def test_collecting_while_operations_run():
    class Collects(Watched):
        def backward(self):
            gc.collect()
            super().backward()
            gc.collect()

    x = tracked(Float(1, 2))
    y = x
    for _ in range(5):
        y = dr.custom(Collects, y)
        Watched.made[-1].y = y
    Watched.made.clear()
    dr.backward(y)
    close(x.grad, [32, 32])


def test_large_operations_are_left_to_others():
    # More objects than the collector looks at: not collected, and no harm.
    x = tracked(Float(1))
    y = dr.custom(Watched, x)
    op = Watched.made.pop()
    op.many = [[] for _ in range(10000)]
    op.y = y
    reference = weakref.ref(op)
    del op, y
    gc.collect()
    assert reference() is not None
    reference().many = None
    gc.collect()
    assert reference() is None
