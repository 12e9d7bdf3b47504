"""What functions do to derivatives while they are recorded, and when they are repeated.

The reference is the function, called as it is within ``isolate_grad()``: values, what
is tracked, gradients of all that is outside. All of that is compared for the call that
is recorded and for repetitions, and with derivatives through the results.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from unittest.mock import Mock

import drjit as dr
import numpy as np
import pytest
from drjit.llvm.ad import Array3f64, Float64, TensorXf64, UInt

Program = Callable[[Any, Any], Any]


@pytest.fixture(scope="module", autouse=True)
def no_nodes_are_left() -> Iterator[None]:
    gc.collect()
    before = dr._core._ad_node_count()
    yield
    NAMED.clear()
    gc.collect()
    assert dr._core._ad_node_count() <= before


IGNORE = dr.ADFlag.Default | dr.ADFlag.AllowNoGrad


# ---------------------------------------------------------------- operations


def disables(x: Any, y: Any) -> Any:
    dr.disable_grad(x)
    return x * y


def enables(x: Any, y: Any) -> Any:
    dr.enable_grad(x)
    return x * y


def enables_late(x: Any, y: Any) -> Any:
    before = x * 3
    dr.enable_grad(x)
    return before * x


def enables_anew(x: Any, y: Any) -> Any:
    x *= 2
    dr.disable_grad(x)
    dr.enable_grad(x)
    return x * y


def changes_suspended(x: Any, y: Any) -> Any:
    with dr.suspend_grad():
        x *= 2
    return x * y


def keeps_value_suspended(x: Any, y: Any) -> Any:
    with dr.suspend_grad():
        x *= 1
    return x * y


def suspends_one(x: Any, y: Any) -> Any:
    with dr.suspend_grad(x):
        return x * y


def resumes(x: Any, y: Any) -> Any:
    with dr.resume_grad():
        return x * y


def resumes_late(x: Any, y: Any) -> Any:
    constant = x * x
    with dr.resume_grad():
        return constant * x


def resumes_one(x: Any, y: Any) -> Any:
    with dr.suspend_grad(), dr.resume_grad(y):
        return x * y


def enables_resumed(x: Any, y: Any) -> Any:
    with dr.resume_grad():
        dr.enable_grad(x)
        return x * y


def goes_back(x: Any, y: Any) -> Any:
    dr.backward(dr.sum(x * y), IGNORE)


def goes_back_twice(x: Any, y: Any) -> Any:
    dr.backward(dr.sum(x * y), IGNORE)
    dr.backward(dr.sum(x * x), IGNORE)
    return x * x * y


def goes_back_isolated(x: Any, y: Any) -> Any:
    with dr.isolate_grad():
        dr.backward(dr.sum(x * y), IGNORE)
    return dr.grad(x) + 1


def goes_back_resumed(x: Any, y: Any) -> Any:
    with dr.resume_grad():
        loss = dr.sum(x * y)
        dr.backward(loss, IGNORE)
        return loss


def goes_back_from_result(x: Any, y: Any) -> Any:
    z = x * y
    dr.backward(z, IGNORE)
    return z


def goes_back_to(x: Any, y: Any) -> Any:
    z = x * y
    dr.set_grad(z, 2)
    return dr.backward_to(x, flags=IGNORE)


def goes_forward(x: Any, y: Any) -> Any:
    z = x * y
    dr.forward(x, IGNORE)
    return dr.grad(z) * 2


def goes_forward_to(x: Any, y: Any) -> Any:
    dr.set_grad(x, 3)
    return dr.forward_to(x * y, flags=IGNORE)


def sets_gradient(x: Any, y: Any) -> Any:
    dr.set_grad(x, dr.detach(y) * 2)
    return x * y


def adds_gradient(x: Any, y: Any) -> Any:
    dr.accum_grad(x, dr.detach(y) * 2)


def clears_gradient(x: Any, y: Any) -> Any:
    dr.clear_grad(x)
    return x + y


def reads_gradient(x: Any, y: Any) -> Any:
    return dr.grad(x) * 2 + y


def replaces(x: Any, y: Any) -> Any:
    return dr.replace_grad(x, y * y)


def tracks(x: Any, y: Any) -> Any:
    w = dr.detach(x) * 2
    dr.enable_grad(w)
    return w * w


def tracks_and_returns(x: Any, y: Any) -> Any:
    w = dr.detach(x) * 2
    dr.enable_grad(w)
    return w, w * w * y, w


def tracks_and_goes_back(x: Any, y: Any) -> Any:
    w = dr.detach(x) * 2
    dr.enable_grad(w)
    dr.backward(w * w, IGNORE)
    return w, dr.grad(w)


def leaves_gradient(x: Any, y: Any) -> Any:
    z = x * y
    dr.set_grad(z, 5)
    return z


def returns_them(x: Any, y: Any) -> Any:
    return x, [y, x]


def copies(x: Any, y: Any) -> Any:
    return type(x)(x), x + 0


def changes(x: Any, y: Any) -> Any:
    x *= y
    y += 1
    return x * y


def scatters(x: Any, y: Any) -> Any:
    dr.scatter_add(x, y * y, dr.arange(UInt, dr.width(y)))
    return x * 2


def evaluates(x: Any, y: Any) -> Any:
    dr.make_opaque(x)
    return x * y


OPERATIONS: dict[str, Program] = {
    "product": lambda x, y: x * y,
    "square": lambda x, y: x * x,
    "nothing": lambda x, y: None,
    "detaches": lambda x, y: dr.detach(x) * y,
    "assigns": lambda x, y: x.__init__(y),
    **{
        function.__name__: function
        for function in (
            disables, enables, enables_late, enables_anew, changes_suspended,
            keeps_value_suspended, suspends_one, resumes, resumes_late, resumes_one,
            enables_resumed, goes_back, goes_back_twice, goes_back_isolated,
            goes_back_resumed, goes_back_from_result, goes_back_to, goes_forward,
            goes_forward_to, sets_gradient, adds_gradient, clears_gradient,
            reads_gradient, replaces, tracks, tracks_and_returns, tracks_and_goes_back,
            leaves_gradient, returns_them, copies, changes, scatters, evaluates,
        )
    },
}  # fmt: skip


# ---------------------------------------------------------------- what is observed


def isolated(function: Program) -> Program:
    def call(*args: Any) -> Any:
        with dr.isolate_grad():
            return function(*args)

    return call


def floats(tree: Any) -> list[Any]:
    nodes = dr._core._tree_nodes("test", tree)
    return [leaf for leaf, keys in nodes if keys is None and dr.is_float_v(leaf)]


def seen(tree: Any) -> list[Any]:
    """Values, what is tracked, gradients."""
    return [
        (list(dr.detach(leaf)), dr.grad_enabled(leaf), list(dr.grad(leaf)))
        for leaf in floats(tree)
    ]


def enter(stack: ExitStack, scope: str, x: Any) -> None:
    if "suspend" in scope:
        stack.enter_context(dr.suspend_grad(*([x] if "one" in scope else [])))
    if "resume" in scope:
        stack.enter_context(dr.resume_grad(x))


def outcome(function: Program, tracked: str, scope: str) -> list[Any]:
    """All that is to be observed, over some calls: with new inputs, and the same."""
    found: list[Any] = []
    for k, n in enumerate((3, 5, 3)):
        starts = dr.arange(Float64, n) + 1 + k, 2 - dr.arange(Float64, n) / 4
        dr.eval(starts)
        if "x" in tracked:
            dr.enable_grad(starts[0])
        if "y" in tracked:
            dr.enable_grad(starts[1])
        x, y = starts if "leaf" in tracked else tuple(start * 1.5 for start in starts)
        copies = Float64(x), Float64(y)
        if "grad" in tracked:
            dr.set_grad(x, 7)
        for again in range(2):
            with ExitStack() as stack:
                enter(stack, scope, x)
                result = function(x, y)
                found.append((n, again, seen((result, x, y, copies, starts))))
            found.append(seen((result, x, y, copies, starts)))
            losses = [
                dr.sum(leaf * leaf * (m + 1))
                for m, leaf in enumerate(floats((result, x)))
                if dr.grad_enabled(leaf)
            ]
            if losses:
                flags = IGNORE & ~dr.ADFlag.ClearEdges
                dr.backward(sum(losses[1:], losses[0]), flags)
            found.append(seen((result, x, y, copies, starts)))
    return found


def about(value: Any) -> Any:
    """Products of derivatives are rounded in another order."""
    if isinstance(value, float):
        return pytest.approx(value, rel=1e-12, abs=1e-12)
    if isinstance(value, (list, tuple)):
        return type(value)(map(about, value))
    return value


TRACKED = ["", "x leaf", "y leaf", "x y leaf", "x y", "x y leaf grad", "x y grad"]
SCOPES = ["", "suspend", "suspend one", "suspend resume"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("tracked", TRACKED)
def test_operations(name: str, tracked: str, scope: str) -> None:
    function = OPERATIONS[name]
    frozen = dr.freeze(function, warn_after=1000)
    expected = outcome(isolated(function), tracked, scope)
    found = outcome(frozen, tracked, scope)
    for k, (a, b) in enumerate(zip(found, expected, strict=True)):
        assert a == about(b), k
    assert frozen.n_recordings <= 6


# ---------------------------------------------------------------- aliases


def opaque(*values: float) -> Float64:
    x = Float64(*values)
    dr.make_opaque(x)
    return x


def twice(x: Any, y: Any) -> Any:
    y *= 3
    return y * x


NAMED: dict[str, Any] = {}


def by_name(x: Any, y: Any) -> Any:
    x += 1
    x *= 3
    return NAMED["w"] * y


def in_list(x: Any, y: Any) -> Any:
    x[0] *= 2
    x[0] += 1
    return x[1] * y


def both_named(x: Any, y: Any) -> Any:
    w = NAMED["w"]
    w *= y
    return NAMED["same"] * x


def given(x: Any, y: Any) -> Any:
    return x, x


def given_named(x: Any, y: Any) -> Any:
    NAMED["w"] = NAMED["same"] = x
    return x, y


def part_and_whole(x: Any, y: Any) -> Any:
    part, whole = x
    part *= y
    return whole.x * whole.z


def part_by_name(x: Any, y: Any) -> Any:
    w = NAMED["w"]
    w *= y
    return NAMED["same"].x * NAMED["same"].z * x


def give_part(x: Any, y: Any) -> Any:
    v = Array3f64(x, 2, y)
    return (v.x, v), y


def name_part(x: Any, y: Any) -> Any:
    v = Array3f64(x, 2, y)
    NAMED["w"], NAMED["same"] = v.x, v
    return x, y


ALIASES: dict[str, tuple[Program, Program]] = {
    "twice": (twice, given),
    "by_name": (by_name, given_named),
    "in_list": (in_list, lambda x, y: ([x, x], y)),
    "part_and_whole": (part_and_whole, give_part),
    "part_by_name": (part_by_name, name_part),
    "both_named": (both_named, lambda x, y: (given_named(x, y), (1.0 * y, y))[1]),
}


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("name", ALIASES)
def test_aliases(name: str, mode: str) -> None:
    """Arrays that are one among the inputs are one where derivatives are recorded."""
    function, arrange = ALIASES[name]

    def run(function: Program) -> list[Any]:
        found = []
        for k in range(3):
            x, y = opaque(1 + k, 2, 3), opaque(4, 5, 6 + k)
            dr.enable_grad(x, y)
            copies = Float64(x), Float64(y)
            z = function(*arrange(x, y))
            if mode == "forward":
                dr.set_grad(copies, (opaque(1, 2, 3), opaque(1, 1, 2)))
                dr.enqueue(dr.ADMode.Forward, copies)
                dr.traverse(dr.ADMode.Forward, dr.ADFlag.ClearNone)
                found.append(seen((z, x, y, NAMED.get("w"))))
            else:
                dr.backward(dr.sum(z * z) + dr.sum(x))
                found.append(seen((x, y, copies, NAMED.get("w"))))
        return found

    frozen = dr.freeze(function)
    assert run(frozen) == about(run(function))
    assert frozen.n_recordings <= 2


def test_aliases_of_states() -> None:
    @dataclass
    class Layer:
        w: Float64

    class Holder:  # no PyTree
        def __init__(self, w: Float64) -> None:
            self.layer = Layer(w)

    def f(holder: Holder, x: Float64) -> Float64:
        x += 1
        holder.layer.w *= 2
        return holder.layer.w * x

    frozen = dr.freeze(f, state_fn=lambda holder, x: holder.layer.w)
    holder = Holder(opaque(1))
    for _ in range(3):
        found = []
        for call in (f, frozen):
            x = opaque(1, 2, 3)
            dr.enable_grad(x)
            leaf = Float64(x)
            holder.layer = Layer(x)
            dr.backward(dr.sum(call(holder, x)))
            found.append(list(leaf.grad))
        assert found[0] == found[1] == [8 * (v + 1) for v in (1, 2, 3)]
    assert "depends on an input that it changes" in frozen.explain()


# ---------------------------------------------------------------- what is read by name


factor = 2.0


def test_a_number_has_changed() -> None:
    """The derivative is that of the call, and later calls are not affected."""
    global factor

    @dr.freeze
    def f(x: Any) -> Any:
        calls()
        return x * factor

    calls = Mock()
    for k, after in enumerate((5.0, 2.0, 7.0, 2.0)):
        factor = 2.0
        x = opaque(1 + k, 2, 3)
        dr.enable_grad(x)
        y = f(x)
        factor = after
        dr.backward(y)
        assert list(x.grad) == [2, 2, 2]
    assert calls.call_count == 2 and f.n_recordings == 1
    factor = 2.0


def test_a_derivative_that_cannot_be_recorded() -> None:
    scale = 2.0

    @dr.freeze
    def f(x: Any) -> Any:
        return dr.sin(x) * scale

    def tangent(y: Any) -> Any:
        dr.set_grad(x, 1)
        return dr.forward_to(y, flags=dr.ADFlag.ClearVertices)

    x = opaque(1, 2, 3)
    dr.enable_grad(x)
    y = f(x)
    scale = 5.0
    with pytest.raises(RuntimeError, match="'scale', 2.0 then, has changed since"):
        tangent(y)
    scale = 2.0
    dr.clear_grad((x, y))
    assert dr.allclose(tangent(y), 2 * dr.cos(dr.detach(x)))
    scale = 5.0  # from now on there is a recording of it
    dr.clear_grad((x, y))
    assert dr.allclose(tangent(y), 2 * dr.cos(dr.detach(x)))


def test_contents_of_numpy_have_changed() -> None:
    weights, chosen = np.array([1.0, 2.0]), {0}

    @dr.freeze
    def f(x: Any) -> Any:
        return dr.sin(x) * Float64(weights) * (1 + len(chosen))

    for _ in range(2):
        weights[:], x = (1, 2), opaque(3, 4)
        chosen.discard(1)
        dr.enable_grad(x)
        y = f(x)
        weights[:] = 5
        chosen.add(1)
        dr.backward(y, dr.ADFlag.ClearVertices)
        assert dr.allclose(x.grad, dr.cos(dr.detach(x)) * Float64(2, 4))
    dr.set_grad(x, 1)
    with pytest.raises(RuntimeError, match="has changed since"):
        dr.forward_to(y)


def test_recordings_that_were_dropped() -> None:
    scale = 2.0

    @dr.freeze(limit=1)
    def f(x: Any, n: int) -> Any:
        return x * (scale * n)

    x = opaque(1, 2, 3)
    dr.enable_grad(x)
    first, second = f(x, 1), f(x, 10)
    scale = 3.0
    dr.backward(second)
    assert list(x.grad) == [20] * 3
    with pytest.raises(RuntimeError, match="'scale', 2.0 then, has changed since"):
        dr.backward(first)


def test_no_recordings() -> None:
    """Without any, each call is the function's."""
    calls = Mock()

    @dr.freeze(limit=0)
    def f(x: Any) -> Any:
        calls()
        return x * x

    for k in range(3):
        x = opaque(1 + k, 2)
        dr.enable_grad(x)
        dr.backward(f(x))
        assert list(x.grad) == [2 + 2 * k, 4]
    assert calls.call_count == 3


@pytest.mark.parametrize("kind", [Float64, Array3f64, TensorXf64])
def test_arrays_have_changed(kind: Any) -> None:
    """Arrays that are read by name are seen as they were, also by derivatives that are
    recorded later, and stay what they are."""

    def filled(value: float) -> Any:
        if kind is TensorXf64:
            return TensorXf64(opaque(*[value + i for i in range(6)]), (2, 3))
        return kind(opaque(value, value + 1))

    weight = filled(2)
    part = kind(weight).x if kind is Array3f64 else weight
    frozen = dr.freeze(lambda x: x * weight * weight + part)
    for k in range(3):
        x = filled(1)
        dr.enable_grad(x, weight)
        y = frozen(x)
        then = kind(dr.detach(weight))
        dr.set_grad(x, filled(k))
        with dr.suspend_grad():
            weight *= 0
            weight += filled(3 + k)
        before = dr.ravel(dr.detach(weight)).numpy().tolist()
        slope = dr.forward_to(y, flags=dr.ADFlag.ClearVertices)
        expected = filled(k) * then * then
        assert dr.allclose(slope, expected)
        dr.clear_grad((x, y))
        dr.backward(y, dr.ADFlag.ClearVertices)
        assert dr.allclose(dr.grad(x), then * then)
        assert dr.ravel(dr.detach(weight)).numpy().tolist() == before
        assert not dr.grad_enabled(weight)


def test_named_arrays_that_are_changed() -> None:
    """A function that changes what it reads by name does so once for each call."""

    def run(make: Callable[[Any], Any], mode: str) -> list[Any]:
        total = opaque(1, 1)
        total_of = {"total": total}

        def f(x: Any) -> Any:
            total_of["total"] *= x
            return total_of["total"] * x

        call, found = make(f), []
        for k in range(4):
            x = opaque(1 + k, 2)
            dr.enable_grad(x)
            y = call(x)
            found.append(seen((y, total)))
            if mode == "forward":
                dr.set_grad(x, 1)
                found.append(list(dr.forward_to(y, flags=dr.ADFlag.ClearVertices)))
                dr.clear_grad((x, y))
            dr.backward(y, dr.ADFlag.ClearVertices)
            found.append(seen((x, total)))
            dr.disable_grad(total)
        return found

    for mode in ("reverse", "forward"):
        assert run(dr.freeze, mode) == about(run(lambda f: f, mode))


def test_named_arrays_that_are_replaced() -> None:
    """To record a derivative would replace them once more: it is called each time."""
    state = {"w": opaque(1, 2)}

    @dr.freeze
    def f(x: Any) -> Any:
        state["w"] = state["w"] * x
        return state["w"] * x

    expected = [1.0, 2.0]
    for k in range(3):
        x = opaque(2 + k, 1)
        dr.enable_grad(x)
        dr.backward(dr.sum(f(x)))
        slopes = [2 * w * v for w, v in zip(expected, (2 + k, 1), strict=True)]
        assert list(x.grad) == slopes
        expected[0] *= 2 + k
        assert list(dr.detach(state["w"])) == expected
        state["w"] = dr.detach(state["w"])
    assert f.n_recordings == 0 and "cannot be repeated" in f.explain()


def test_other_threads() -> None:
    """They see arrays as they are, while a function that reads these is recorded."""
    weight = opaque(2, 3)
    dr.enable_grad(weight)
    wrong: list[Any] = []
    stop = threading.Event()

    def watch() -> None:
        while not stop.is_set():
            own = Float64(weight)
            if not dr.grad_enabled(own) or list(dr.detach(own)) != [2, 3]:
                wrong.append(own)
            node = weight.index_ad
            if node != expected:
                wrong.append(node)

    expected = weight.index_ad
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        for k in range(12):
            frozen = dr.freeze(lambda x, k=k: dr.sin(x * weight) * weight + k)
            for n in (1, 2):
                x = opaque(n, k)
                dr.enable_grad(x)
                y = frozen(x)
                dr.set_grad(x, 1)
                dr.forward_to(y, flags=dr.ADFlag.ClearVertices)
                dr.clear_grad((x, y))
                dr.backward(y)
    finally:
        stop.set()
        watcher.join()
    assert not wrong


# ---------------------------------------------------------------- the rest


def test_parts_have_nodes_of_their_own() -> None:
    def f(v: Any) -> Any:
        v.y *= v.x
        return v * v

    found = []
    frozen = dr.freeze(f)
    for call in (f, frozen, frozen, frozen):
        v = Array3f64(opaque(1, 2), opaque(3, 4), opaque(5, 6))
        dr.enable_grad(v.x)
        x = Float64(v.x)
        w = call(v)
        tracked = [dr.grad_enabled(part) for part in (*v, *w)]
        dr.backward(dr.sum(w.x + w.y))
        found.append((tracked, list(x.grad)))
    assert found[0][0] == [True, True, False, True, True, False]
    assert found == [found[0]] * 4
    assert "depends on an input that it changes" in frozen.explain()


def test_one_node_or_two() -> None:
    """Arrays of one variable may have one node, or nodes of their own."""

    def f(x: Any, y: Any) -> None:
        dr.backward(dr.sum(x * x * y))

    frozen = dr.freeze(f)
    for k in range(6):
        x = opaque(1, 2)
        dr.enable_grad(x)
        y = Float64(dr.detach(x) if k % 2 else x)
        dr.enable_grad(y)
        frozen(x, y)
        assert list(x.grad) == ([2, 8] if k % 2 else [3, 12])
        assert list(y.grad) == ([1, 4] if k % 2 else [3, 12])
    assert frozen.n_recordings == 2


def test_forward_to_the_outside() -> None:
    """What depends on an input outside gets its derivative, each time."""
    calls = Mock()

    @dr.freeze
    def f(x: Any) -> Any:
        calls()
        y = x * x
        dr.forward(x)
        return dr.grad(y)

    for k in range(3):
        x = opaque(1 + k, 2)
        dr.enable_grad(x)
        z = x * 3
        assert list(f(x)) == [2 + 2 * k, 4]
        assert list(dr.grad(z)) == [3, 3]
    assert calls.call_count == 3 and "depends on its inputs" in f.explain()


def test_gradients_that_have_derivatives() -> None:
    """They are not part of a recording."""

    @dr.freeze
    def f(x: Any) -> None:
        y = dr.sum(x * x * x)
        dr.set_grad(y, 1)
        dr.enqueue(dr.ADMode.Backward, y)
        dr.traverse(dr.ADMode.Backward, dr.ADFlag.CreateGraph | dr.ADFlag.ClearEdges)

    for k in range(3):
        x = opaque(1 + k, 2)
        dr.enable_grad(x)
        f(x)
        assert list(dr.detach(dr.grad(x))) == [3 * (1 + k) ** 2, 12]
        dr.clear_grad(x)  # which would keep itself alive
    assert "has a derivative" in f.explain()


def test_derivatives_do_not_print(capsys: pytest.CaptureFixture[str]) -> None:
    @dr.freeze
    def f(x: Any) -> Any:
        dr.print("{}", x)
        return x * x

    for k in range(3):
        x = opaque(1 + k)
        dr.enable_grad(x)
        y = f(x)
        dr.backward(y)
        assert capsys.readouterr().out == f"[{1 + k}]\n"
        assert list(x.grad) == [2 + 2 * k]


def test_reverse_mode_that_is_not_possible() -> None:
    """Then the call is recorded all the same, and forward mode works."""

    class Doubled(dr.CustomOp):
        def eval(self, x: Any) -> Any:
            return x * 2

        def forward(self) -> None:
            self.set_grad_out(self.grad_in("x") * 2)

    frozen = dr.freeze(lambda x: dr.custom(Doubled, x))
    for k in range(3):
        x = opaque(1 + k, 2)
        dr.enable_grad(x)
        y = frozen(x)
        dr.set_grad(x, 3)
        assert list(dr.forward_to(y, flags=dr.ADFlag.ClearVertices)) == [6, 6]
        dr.clear_grad((x, y))
        with pytest.raises(NotImplementedError):
            dr.backward(y)
    assert frozen.n_recordings == 1


def enables_and_squares(x: Any) -> Any:
    dr.enable_grad(x)
    return x * x


def test_files(tmp_path: Any) -> None:
    """What a function tracks by itself is part of a recording that is loaded."""
    frozen = dr.freeze(enables_and_squares)
    for _ in range(2):
        frozen(opaque(1, 2))
    assert frozen.n_recordings == 1
    frozen.save(tmp_path / "f")
    for loaded in (
        dr.load_frozen(tmp_path / "f"),
        dr.load_frozen(tmp_path / "f", enables_and_squares),
    ):
        for k in range(3):
            x = opaque(1 + k, 2)
            y = loaded(x)
            assert dr.grad_enabled(x) and dr.grad_enabled(y)
            assert list(dr.detach(y)) == [(1 + k) ** 2, 4]
        assert loaded.n_recordings == 0
    dr.backward(y)
    assert list(x.grad) == [6, 4]


def test_nothing_is_left_behind() -> None:
    frozen = dr.freeze(lambda x: (dr.enable_grad(x), x * x)[1])
    counts = []
    for k in range(6):
        for _ in range(20):
            x = opaque(1 + k, 2)
            dr.backward(frozen(x))
        del x
        gc.collect()
        counts.append(dr._core._ad_node_count())
    assert len(set(counts[1:])) == 1
