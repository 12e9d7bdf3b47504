"""Copies, pickles, scopes and traversals: who is tracked, and what is left behind."""

from __future__ import annotations

import contextlib
import copy
import gc
import itertools
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm.ad import Array2f, Array3f, Float, Float64, Int, Matrix2f, TensorXf


@pytest.fixture(autouse=True)
def no_nodes_are_left() -> Any:
    before = dr._core._ad_node_count()  # type: ignore[attr-defined]
    yield
    assert dr._core._ad_node_count() == before  # type: ignore[attr-defined]


def tracked(*entries: float) -> Any:
    x = Float(*entries)
    dr.enable_grad(x)
    return x


def values(array: Any) -> Any:
    found = array.numpy().tolist()
    return found[0] if len(found) == 1 else found


# ---------------------------------------------------------------- copies

COPIES: dict[str, Callable[[Any], Any]] = {
    "constructor": lambda x: type(x)(x),
    "dr.copy": dr.copy,
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "of a list": lambda x: dr.copy([x])[0],
    "plus": lambda x: +x,
    "component": lambda x: Array3f(x if not dr.is_vector_v(x) else x.x, 2, 3).x,
    "tensor": lambda x: TensorXf(x if not dr.is_vector_v(x) else x.x),
    "entry of a matrix": lambda x: Matrix2f(x.x if dr.is_vector_v(x) else x)[0, 0],
    "assigned component": lambda x: assigned(x.x if dr.is_vector_v(x) else x),
    "shuffled": lambda x: (x if dr.is_vector_v(x) else Array2f(x, 1)).yx,
}


def assigned(x: Any) -> Any:
    v = Array2f(1, 2)
    v.x = x
    return v


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("name", COPIES)
def test_copies(name: str, nested: bool) -> None:
    """They keep their derivatives, but for those made in a scope that suspends them."""
    x = tracked(1, 2)
    source = Array2f(x, 3 * x) if nested else x
    make = COPIES[name]
    kept = make(source)
    assert dr.grad_enabled(kept)
    for scope in (dr.suspend_grad(), dr.suspend_grad(source)):
        with scope:
            detached = make(source)
            assert not dr.grad_enabled(detached)
            with dr.resume_grad():
                again = make(source)
        assert not dr.grad_enabled(detached)
        assert dr.grad_enabled(again) and dr.grad_enabled(source)
    with dr.suspend_grad(tracked(5)):
        assert dr.grad_enabled(make(source))
    dr.backward(dr.sum(kept, axis=None) if not dr.is_tensor_v(kept) else kept)
    assert np.all(x.grad.numpy() != 0)


def test_reading_is_no_copy() -> None:
    """Components that are looked at in a scope are those that there are."""
    x = tracked(1, 2)
    v = Array2f(x, 3)
    with dr.suspend_grad():
        first = v.x
        v.y = x
    assert dr.grad_enabled(first, v.x) and not dr.grad_enabled(v.y)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_have_no_derivatives(protocol: int) -> None:
    x = tracked(1, 2)
    dr.set_grad(x, 5)
    tree = {"x": x, "v": Array2f(x, 3), "t": TensorXf(x, (2, 1))}
    found = pickle.loads(pickle.dumps(tree, protocol))
    assert not dr.grad_enabled(found)
    assert type(found["x"]) is Float and values(found["x"]) == [1, 2]
    assert values(dr.grad(found["x"])) == [0, 0]
    assert found["t"].shape == (2, 1) and values(found["v"]) == [[1, 2], [3, 3]]
    dr.enable_grad(found)
    assert dr.grad_enabled(found["x"], found["v"], found["t"])


def test_copies_share_the_gradient() -> None:
    x = tracked(1, 2)
    y = copy.deepcopy({"a": [x]})["a"][0]
    dr.backward(y * x)
    assert values(x.grad) == values(y.grad) == [2, 4]
    y += 1
    assert values(y.grad) == [0, 0] and values(x) == [1, 2]


# ---------------------------------------------------------------- suspend, resume


def test_nested_scopes() -> None:
    a, b = tracked(1), tracked(2)
    states = []

    def note() -> None:
        product = a * b
        states.append(
            (dr.grad_enabled(a), dr.grad_enabled(b), dr.grad_enabled(product))
        )

    with dr.suspend_grad():
        note()
        with dr.resume_grad():
            note()
            with dr.suspend_grad(a):
                note()
            note()
        with dr.resume_grad(a, [b]):
            note()
            with dr.suspend_grad({"b": b}):
                note()
        note()
    note()
    nothing, all_three = (False, False, False), (True, True, True)
    assert states == [
        nothing, all_three, (False, True, True), all_three, all_three,
        (True, False, True), nothing, all_three,
    ]  # fmt: skip


@pytest.mark.parametrize("kind", [dr.suspend_grad, dr.resume_grad])
def test_when(kind: Any) -> None:
    a = tracked(1)
    with dr.suspend_grad(when=kind is dr.resume_grad):
        before = dr.grad_enabled(a)
        with kind(when=False):
            assert dr.grad_enabled(a) == before
        with kind(a, when=False):
            assert dr.grad_enabled(a) == before
        with kind(when=True):
            assert dr.grad_enabled(a) != before
        assert dr.grad_enabled(a) == before
    for wrong in (1, None, "yes", a):
        with pytest.raises(TypeError, match="'when' is of type"):
            kind(when=wrong)


def test_results_of_suspended_operands() -> None:
    """Operations see constants, whatever follows the scope."""
    a, b = tracked(3), tracked(5)
    with dr.suspend_grad(a):
        c = a * b
        d = a * a
    assert dr.grad_enabled(c) and not dr.grad_enabled(d)
    dr.backward(c)
    assert values(a.grad) == 0 and values(b.grad) == 3


def test_nothing_begins_where_all_is_suspended() -> None:
    with dr.suspend_grad():
        a = tracked(1)
        assert a.index_ad == 0
        with dr.resume_grad():
            b = tracked(2)
            assert dr.grad_enabled(b)
        assert not dr.grad_enabled(b)
    assert not dr.grad_enabled(a) and dr.grad_enabled(b)


def test_gradients_are_stored_where_they_are_tracked() -> None:
    a = tracked(1, 2)
    dr.set_grad(a, 7)
    with dr.suspend_grad():
        for store in (dr.set_grad, dr.accum_grad):
            with pytest.warns(RuntimeWarning, match="the gradient is lost"):
                store(a, 3)
        dr.enqueue(dr.ADMode.Backward, a * a)
        with pytest.raises(RuntimeError, match="not tracked"):
            dr.backward(a)
    dr.traverse(dr.ADMode.Backward)
    assert values(a.grad) == [7, 7]


@pytest.mark.parametrize("scope", [dr.suspend_grad, dr.resume_grad, dr.isolate_grad])
def test_exceptions_end_scopes(scope: Any) -> None:
    a = tracked(1)
    with dr.suspend_grad(when=scope is dr.resume_grad):
        before = dr.grad_enabled(a)
        for _ in range(3):
            with pytest.raises(KeyError), scope():  # noqa: PT012
                with dr.suspend_grad(), dr.resume_grad(a):
                    raise KeyError
        assert dr.grad_enabled(a) == before


def test_scopes_can_be_entered_again() -> None:
    a = tracked(1)
    scope = dr.suspend_grad()
    for _ in range(2):
        with scope, scope:
            assert not dr.grad_enabled(a)
        assert dr.grad_enabled(a)


# ---------------------------------------------------------------- isolate


def test_isolation() -> None:
    x = tracked(3)
    y = x * x
    with dr.isolate_grad():
        z = y * y
        dr.backward(z)
        assert values(y.grad) == 18 and values(x.grad) == 0
        dr.backward(y * 2)  # the gradients add up
        assert values(y.grad) == 20
    assert values(y.grad) == 0 and values(x.grad) == 120


def test_several_blocks_come_by_one_variable() -> None:
    """What one has gone along is there for the next."""
    x = Float(1, 2)
    dr.enable_grad(x)
    y = x * x
    for factor in (2, 3):
        with dr.isolate_grad():
            dr.backward(y * factor)
    assert dr.all(x.grad == 10 * x)
    assert dr.all(y.grad == 0)


def test_nested_isolation() -> None:
    x = tracked(3)
    y = x * x
    with dr.isolate_grad():
        z = y * y
        with dr.isolate_grad():
            dr.backward(z * z)
            assert [values(a.grad) for a in (z, y, x)] == [162, 0, 0]
        assert [values(a.grad) for a in (z, y, x)] == [0, 2916, 0]
        with dr.isolate_grad(when=False), dr.suspend_grad():
            pass
        assert values(x.grad) == 0
    assert [values(a.grad) for a in (z, y, x)] == [0, 0, 17496]


def test_isolation_and_exceptions() -> None:
    """Gradients stay where they have arrived."""
    x = tracked(3)
    y = x * x
    with pytest.raises(KeyError), dr.isolate_grad():  # noqa: PT012
        dr.backward(y * y)
        raise KeyError
    assert values(y.grad) == 18 and values(x.grad) == 0
    dr.backward(y)
    assert values(x.grad) == 108


def test_isolation_and_forward_derivatives() -> None:
    x = tracked(3)
    with dr.isolate_grad():
        y = x * x
        dr.forward(x)
        assert values(y.grad) == 6


# ---------------------------------------------------------------- flags

PARTS = ("ClearEdges", "ClearInput", "ClearInterior")


@pytest.mark.parametrize("forward", [False, True])
@pytest.mark.parametrize("on", [*itertools.product([False, True], repeat=3)])
def test_all_flags(on: tuple[bool, bool, bool], forward: bool) -> None:
    """x -> y -> z: what is kept is there, and adds to the next traversal's."""
    flags = sum(
        int(getattr(dr.ADFlag, name))
        for name, bit in zip(PARTS, on, strict=True)
        if bit
    )
    edges, begin, interior = on
    x = tracked(2)
    y = x * x
    z = y * 5
    order = [x, y, z] if forward else [z, y, x]
    weights = [4, 5] if forward else [5, 4]
    go = dr.forward_from if forward else dr.backward_from
    go(order[0], flags)
    found = [values(a.grad) for a in order]
    expected = [1, weights[0], 20]
    kept = [0 if begin else 1, 0 if interior else expected[1], 20]
    assert found == kept
    gone = pytest.warns(RuntimeWarning, match="no gradient goes on")
    with gone if edges else contextlib.nullcontext():
        go(order[0], flags)
    found = [values(a.grad) for a in order]
    if edges:  # nothing is passed
        # The first node is where it ends now, so that its gradient stays.
        assert found[1:] == kept[1:]
        return
    middle = kept[1] + weights[0]
    assert found == [0 if begin else 1, 0 if interior else middle,
                     20 + middle * weights[1]]  # fmt: skip


def test_flags_are_numbers() -> None:
    names = dr.ADFlag
    assert names.ClearVertices == names.ClearInput | names.ClearInterior
    assert names.Default == names.ClearVertices | names.ClearEdges
    x = tracked(1)
    y = x * x
    dr.backward(y, flags=int(names.ClearVertices))
    dr.backward(y)
    assert values(x.grad) == 4
    for wrong in (64, -1):
        with pytest.raises(ValueError, match="expected a combination of"):
            dr.backward(y, wrong)
    for wrong in ("all", None, True, 1.5):
        with pytest.raises(TypeError, match="expected a drjit.ADFlag"):
            dr.backward(y, wrong)  # type: ignore[arg-type]


GO: dict[str, Any] = {
    name: getattr(dr, name)
    for name in ("forward", "forward_from", "forward_to",
                 "backward", "backward_from", "backward_to")
}  # fmt: skip


@pytest.mark.parametrize("name", GO)
def test_allow_no_grad(name: str) -> None:
    x = Float(1, 2)
    with pytest.raises(RuntimeError, match="AllowNoGrad"):
        GO[name](x)
    found = GO[name](x, flags=dr.ADFlag.AllowNoGrad | dr.ADFlag.ClearVertices)
    assert found is None or values(found) == [0, 0]
    y = tracked(1, 2)
    with dr.suspend_grad(), pytest.raises(RuntimeError, match="suspended"):
        GO[name](y)
    z = y * y
    dr.set_grad(z if "backward" in name else y, 1)
    target = y if name in ("forward", "forward_from", "backward_to") else z
    GO[name](target, flags=dr.ADFlag.AllowNoGrad | dr.ADFlag.Default)
    assert values((y if "backward" in name else z).grad) == [2, 4]


# ---------------------------------------------------------------- traversals


def test_several_targets() -> None:
    a, b = tracked(3), tracked(5)
    c, d, unused = a * b, a + b, a * 7
    dr.set_grad(a, 1)
    dr.set_grad(b, 10)
    first, second = dr.forward_to(c, {"d": d})
    assert values(first) == 35 and values(second["d"]) == 11
    assert values(unused.grad) == 0
    c, d = a * b, a + b
    dr.clear_grad((a, b))
    dr.set_grad([c, d], [1, 10])
    tree = dr.backward_to([a, b])
    assert [values(g) for g in tree] == [15, 13]
    c = a * b
    dr.clear_grad((a, b))
    dr.set_grad(c, 1)
    assert values(dr.backward_to(a)) == 5 and values(b.grad) == 0


def test_shared_parts_are_passed_once() -> None:
    x = tracked(2)
    y = x * x
    for k in range(3):
        dr.backward(y * (k + 1), dr.ADFlag.ClearVertices)
    assert values(x.grad) == 4 * (1 + 2 + 3)
    dr.clear_grad(x)
    u, v = y * 2, y * 3
    dr.set_grad([u, v], [1, 1])
    dr.enqueue(dr.ADMode.Backward, u, v, u)
    dr.traverse(dr.ADMode.Backward)
    assert values(x.grad) == 20
    dr.traverse(dr.ADMode.Backward)  # nothing is enqueued
    assert values(x.grad) == 20


def test_a_given_gradient_is_the_start() -> None:
    x = tracked(2)
    y = x * x
    dr.set_grad(y, 10)
    dr.backward(y)
    assert values(x.grad) == 40


def test_many_results_of_one_entry() -> None:
    """The gradient of a size-1 input is the sum, also where 1 stands for all."""
    x = tracked(2)
    y = x + dr.zeros(Float, 1000)
    dr.backward(y)
    assert values(x.grad) == 1000
    z = tracked(2)
    w = Float(1, 2, 3) * z
    dr.set_grad(w, 1)
    dr.backward(w)
    assert values(z.grad) == 6
    dr.set_grad(z, Float(1, 2, 3))
    assert values(z.grad) == 6 and z.grad.shape == (1,)
    u = tracked(2)
    v = u * Float(1, 2, 3)
    dr.forward(u)
    assert values(v.grad) == [1, 2, 3]


@pytest.mark.parametrize("kind", [Float, Array2f, TensorXf])
def test_empty_arrays(kind: Any) -> None:
    shape = {Float: 0, Array2f: (2, 0), TensorXf: (0, 3)}[kind]
    x = dr.zeros(kind, shape)
    dr.enable_grad(x)
    y = dr.sin(x) * x + x
    assert dr.grad(y).shape == y.shape == x.shape
    total = dr.sum(y, axis=None)
    dr.backward(total, dr.ADFlag.AllowNoGrad | dr.ADFlag.Default)
    assert dr.grad(x).shape == x.shape
    dr.set_grad(x, 1)
    dr.accum_grad(x, dr.zeros(kind, shape))
    dr.clear_grad(x)


# ---------------------------------------------------------------- replace_grad


def test_replacing_broadcasts() -> None:
    a, b = tracked(1, 2, 3), tracked(4)
    c: Any = dr.replace_grad(a, b)
    assert values(c) == [1, 2, 3]
    dr.backward(c * Float(1, 10, 100))
    assert values(b.grad) == 111 and values(a.grad) == [0, 0, 0]
    one: Any = dr.replace_grad(Float(7), a * a)
    assert values(one) == [7, 7, 7]
    dr.backward(one)
    assert values(a.grad) == [2, 4, 6]
    v: Any = dr.replace_grad(Array3f(1, 2, 3), b)
    assert type(v) is Array3f and values(v) == [[1], [2], [3]]
    dr.clear_grad(b)
    dr.backward(v)
    assert values(b.grad) == 3
    w: Any = dr.replace_grad(b, Array3f(a, 2, 3))
    assert type(w) is Array3f and dr.grad_enabled(w.x) and not dr.grad_enabled(w.y)


def test_replacing_promotes() -> None:
    b = tracked(4)
    for first, kind in ((1, Float), (1.5, Float), (Int(1, 2), Float)):
        found: Any = dr.replace_grad(first, b)
        assert type(found) is kind and dr.grad_enabled(found)
    wide: Any = dr.replace_grad(Float64(1, 2), b)
    assert type(wide) is Float64
    dr.backward(wide)
    assert values(b.grad) == 2
    t = TensorXf([1, 2, 3, 4], (2, 2))
    dr.enable_grad(t)
    row: Any = dr.replace_grad(TensorXf([5, 6], (1, 2)), t)
    assert row.shape == (2, 2) and values(row) == [[5, 6], [5, 6]]
    dr.backward(row * row)
    assert values(t.grad) == [[10, 12], [10, 12]]


def test_replacing_in_trees() -> None:
    @dataclass
    class Pair:
        a: Any
        b: Any

    x = tracked(1, 2)
    found: Any = dr.replace_grad(
        {"p": Pair(Float(5), 3), "l": (x * x, "text")},
        {"p": Pair(x * 2, 4), "l": (Float(1, 1), "other")},
    )
    assert values(found["p"].a) == [5, 5] and found["p"].b == 3
    assert dr.grad_enabled(found["p"].a) and not dr.grad_enabled(found["l"][0])
    assert found["l"][1] == "text"
    dr.backward(found["p"].a)
    assert values(x.grad) == [2, 2]
    with pytest.raises(ValueError, match="differ in structure"):
        dr.replace_grad([x], [x, x])


def test_replaced_derivatives_have_derivatives() -> None:
    """Of second order they are those of the second argument, too."""
    x = tracked(2)
    y: Any = dr.replace_grad(dr.detach(x) * 10, x * x * x)
    dr.set_grad(y, 1)
    dr.enqueue(dr.ADMode.Backward, y)
    dr.traverse(dr.ADMode.Backward, dr.ADFlag.CreateGraph | dr.ADFlag.ClearVertices)
    first = dr.grad(x)
    dr.clear_grad((x, y))
    dr.backward(first)
    assert values(y) == 20 and values(first) == 12 and values(x.grad) == 12


# ---------------------------------------------------------------- failures


class Refusing(dr.CustomOp):  # type: ignore[type-arg]
    """Has no derivative."""

    def eval(self, x: Any) -> Any:
        return x * 1

    def forward(self) -> None:
        raise ValueError("refused")

    backward = forward


def through_operation(x: Any, y: Any) -> Any:
    return dr.custom(Refusing, y * dr.exp(x))


def through_loop(x: Any, y: Any) -> Any:
    """Runs for longer than its bound."""

    def body(y: Any, i: Any) -> Any:
        return dr.sin(y) * x, i + 1

    return dr.while_loop(
        (y, Int(0)), lambda y, i: i < 3, body, mode="symbolic", max_iterations=1
    )[0]


@pytest.mark.parametrize(
    ("program", "mode"),
    [
        (through_operation, dr.ADMode.Backward),
        (through_operation, dr.ADMode.Forward),
        (through_loop, dr.ADMode.Backward),
    ],
)
@pytest.mark.parametrize("clear", range(0, 8, 2))
def test_failing_traversals_leave_no_nodes(program: Any, mode: Any, clear: int) -> None:
    """Gradients depend on nodes that they are in, until nobody will ask for
    their derivatives."""
    flags = dr.ADFlag(clear) | dr.ADFlag.CreateGraph
    x, z = tracked(1, 2), tracked(3, 4)
    a = dr.sin(x) * z
    b = program(x, a)
    c = b * dr.exp(a) * x
    begin = c * c if mode == dr.ADMode.Backward else x
    dr.set_grad(begin, 1)
    dr.enqueue(mode, begin)
    with pytest.raises(Exception, match="refused|max_iterations"):
        dr.traverse(mode, flags)
    assert not dr.grad_enabled(*map(dr.grad, (x, z, a, b, c)))
    if mode == dr.ADMode.Backward:  # what has come there before
        assert np.allclose(x.grad.numpy(), dr.detach(2 * c * b * dr.exp(a)).numpy())
    del a, b, c, begin
    gc.collect()  # what the exception refers to
