"""Bad input to functions of differentiation, and gradients that would be lost.

A message names the function, what was found and what was expected; nothing has changed
after it.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit import llvm
from drjit.llvm.ad import Array3f, Float, Float64, Matrix2f, TensorXf, UInt
from test_messages import check_style

Backward, Forward, Primal = dr.ADMode.Backward, dr.ADMode.Forward, dr.ADMode.Primal


@pytest.fixture(autouse=True)
def no_nodes_are_left() -> Iterator[None]:
    yield
    gc.collect()
    assert dr._core._ad_node_count() == 0  # type: ignore[attr-defined]


def tracked(*values: float, type: Any = Float) -> Any:
    x = type(*values)
    dr.enable_grad(x)
    return x


def values(array: Any) -> list[float]:
    return [float(entry) for entry in array.numpy().ravel()]


def fails(error: type[Exception], match: str, call: Callable[[], Any]) -> None:
    """The call fails so, and a second one just as well."""
    for _ in range(2):
        with pytest.raises(error, match=match) as caught:
            call()
        check_style(caught.value)
        # Frames of the traceback hold what the test is about.
        caught.value.__traceback__ = None


def silent(call: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call()


# ------------------------------------------------------------------- types, sizes


X = Float(1, 2, 3)
BAD_INPUT: list[tuple[type[Exception], str, Callable[[Any], Any]]] = [
    (TypeError, r"set_grad\(\): .* of type str", lambda x: dr.set_grad(x, "text")),
    (TypeError, r"set_grad\(\): .* of type NoneType", lambda x: dr.set_grad(x, None)),
    (
        RuntimeError,
        r"gradient has 2 entries, .* 3 or 1",
        lambda x: dr.set_grad(x, [1, 2]),
    ),
    (TypeError, r"accum_grad\(\): .*Array3f", lambda x: dr.accum_grad(x, Array3f(1))),
    (ValueError, r"set_grad\(\): .*structure", lambda x: dr.set_grad((x, x), (1,))),
    (ValueError, r"set_grad\(\): .*tuple.*list", lambda x: dr.set_grad((x, x), [1, 2])),
    (
        ValueError,
        r"accum_grad\(\): .*keys \['a'\].*\['b'\]",
        lambda x: dr.accum_grad({"a": x}, {"b": 1}),
    ),
    (TypeError, r"the argument 'source' is missing", lambda x: dr.set_grad(x)),
    (TypeError, r"'arg' is of type tuple", lambda x: dr.backward((x,))),
    (TypeError, r"'arg' is of type str", lambda x: dr.backward("x")),
    (TypeError, r"forward\(\): 'arg' is of type type", lambda x: dr.forward(Float)),
    (RuntimeError, r"backward\(<drjit.llvm.ad.UInt>\)", lambda x: dr.backward(UInt(1))),
    (
        RuntimeError,
        r"backward\(<drjit.llvm.Float>",
        lambda x: dr.backward(llvm.Float(1)),
    ),
    (RuntimeError, r"not tracked.*explain_grad", lambda x: dr.backward(dr.detach(x))),
    (RuntimeError, r"forward_from\(.*not tracked", lambda x: dr.forward_from(Float(1))),
    (RuntimeError, r"forward_to\(\): .*not tracked", lambda x: dr.forward_to(Float(1))),
    (RuntimeError, r"backward_to\(\): .*not tracked", lambda x: dr.backward_to(3, [])),
    (TypeError, r"'flags' is of type str", lambda x: dr.backward(x, flags="all")),
    (TypeError, r"'flags' is of type bool", lambda x: dr.backward_to(x, flags=True)),
    (ValueError, r"'flags' is 4096", lambda x: dr.forward(x, flags=4096)),
    (TypeError, r"traverse\(\): 'mode' is .*Primal", lambda x: dr.traverse(Primal)),
    (TypeError, r"traverse\(\): 'mode' is 'up'", lambda x: dr.traverse("up")),
    (RuntimeError, r"'mode' is ADMode.Primal", lambda x: dr.enqueue(Primal, x)),
    (TypeError, r"enqueue\(.*expected a drjit.ADMode", lambda x: dr.enqueue("up", x)),
    (TypeError, r"enqueue\(\): expected a drjit.ADMode and", lambda x: dr.enqueue()),
    (TypeError, r"'when' is of type int", lambda x: dr.suspend_grad(x, when=1)),
    (TypeError, r"isolate_grad\(\): 'when' is of type", lambda x: dr.isolate_grad(x)),
    (TypeError, r"expected a PyTree and a bool", lambda x: dr.set_grad_enabled(x, 1)),
    (TypeError, r"'preserve_type' is of type int", lambda x: dr.detach(x, 1)),
    (TypeError, r"'preserve_type' is of type str", lambda x: dr.grad(x, "yes")),
    (TypeError, r"custom\(\): the first argument is", lambda x: dr.custom(int, x)),
    (
        TypeError,
        r"replace_grad\(\): types are Float and str",
        lambda x: dr.replace_grad(x, "a"),
    ),
    (
        RuntimeError,
        r"replace_grad\(.*sizes are 3 and 2",
        lambda x: dr.replace_grad(x, Float(1, 2)),
    ),
    (
        RuntimeError,
        r"replace_grad\(\): shapes are \(2, 3\) and \(3, 2\)",
        lambda x: dr.replace_grad(
            dr.zeros(TensorXf, (2, 3)), dr.zeros(TensorXf, (3, 2))
        ),
    ),
    (AttributeError, r"Float.grad: cannot be deleted", lambda x: delattr(x, "grad")),
    (RuntimeError, r"set_grad\(\): .*2 entries", lambda x: setattr(x, "grad", [1, 2])),
    (TypeError, r"set_grad\(\): ", lambda x: setattr(x, "grad", "text")),
    (
        TypeError,
        r"explain_grad\(\): 'y' is of type str",
        lambda x: dr.explain_grad("y", x),
    ),
    (TypeError, r"set_label\(", lambda x: setattr(x, "label", 3)),
    (
        RuntimeError,
        r"isolate_grad\(\): there is no",
        lambda x: dr.isolate_grad().__exit__(None),
    ),
    (
        RuntimeError,
        r"suspend_grad\(\): there is no",
        lambda x: dr.suspend_grad().__exit__(None),
    ),
    (
        RuntimeError,
        r"resume_grad\(\): there is no",
        lambda x: dr.resume_grad().__exit__(None),
    ),
]


@pytest.mark.parametrize(("error", "match", "call"), BAD_INPUT)
def test_bad_input(
    error: type[Exception], match: str, call: Callable[[Any], Any]
) -> None:
    x = tracked(1, 2, 3)
    y = x * x
    dr.set_grad(x, 7)
    before = dr.whos_ad(as_string=True)
    fails(error, match, lambda: call(x))
    gc.collect()
    assert dr.whos_ad(as_string=True) == before
    assert values(x.grad) == [7, 7, 7] and dr.grad_enabled(x)
    dr.clear_grad(x)
    dr.backward(y)
    assert values(x.grad) == [2, 4, 6]


@dataclass
class Pair:
    a: Float
    b: Array3f


def test_nothing_is_stored_unless_all_fits() -> None:
    x, v = tracked(1, 2, 3), tracked(1, [2, 2], [3, 4], type=Array3f)
    tree = {"p": [Pair(x, v)]}
    good = {"p": [Pair(Float(4), Array3f(5))]}
    dr.set_grad(tree, good)
    for function in (dr.set_grad, dr.accum_grad):
        bad = {"p": [Pair(Float(1), Array3f(1, [1, 2, 3], 1))]}
        name = function.__name__
        match = rf"^drjit.{name}\(\): the gradient of \[p\]\[0\]\.b has 3 entries, "
        fails(
            RuntimeError,
            match + "expected 2 or 1",
            lambda f=function, b=bad: f(tree, b),
        )
        bad = {"p": [Pair("text", Array3f(1))]}
        fails(TypeError, rf"^drjit.{name}\(\): ", lambda f=function, b=bad: f(tree, b))
    assert values(x.grad) == [4, 4, 4] and values(v.grad) == [5] * 6


def test_an_operation_that_gives_gradients_of_another_size() -> None:
    class Bad(dr.CustomOp):
        def eval(self, x: Any) -> Any:
            return x * 1

        def backward(self) -> None:
            self.set_grad_in("x", Float(1, 2))

    x = tracked(1, 2, 3)
    y = dr.custom(Bad, x)
    with pytest.raises(
        RuntimeError, match=r"^drjit\..*2 entries.*expected 3"
    ) as caught:
        dr.backward(y)
    caught.value.__traceback__ = None
    assert values(x.grad) == [0, 0, 0]


# ------------------------------------------------------------------- lost gradients


@pytest.mark.parametrize("function", [dr.set_grad, dr.accum_grad])
def test_gradients_of_what_is_not_tracked(function: Any) -> None:
    x = Float(1, 2)
    match = rf"^drjit.{function.__name__}\(\): the gradient is lost, since"
    for target, source in ((x, 5), ((x, UInt(1)), (1, 2)), (Array3f(1), Float(1, 2))):
        with pytest.warns(RuntimeWarning, match=match) as caught:
            function(target, source)
        assert len(caught) == 1 and caught[0].filename == __file__
    assert values(x.grad) == [0, 0]
    with pytest.warns(RuntimeWarning, match="the gradient is lost"):
        x.grad = 5
    y = tracked(1, 2)
    with dr.suspend_grad(), pytest.warns(RuntimeWarning, match="or suspended"):
        function(y, 5)
    assert values(y.grad) == [0, 0]


def test_what_is_no_loss() -> None:
    x, y = Float(1, 2), tracked(3)
    silent(lambda: dr.set_grad(x, 0))  # zeros
    silent(lambda: dr.accum_grad((x, y), (1, 2)))  # a part of a structure
    silent(lambda: dr.set_grad(UInt(1), 5))  # nothing that could have a gradient
    silent(lambda: dr.set_grad((1.0, "text", llvm.Float(1)), (2.0, "t", 5)))
    silent(lambda: dr.clear_grad(x))
    silent(lambda: dr.enqueue(Backward, x))
    assert values(y.grad) == [2]
    silent(lambda: dr.backward(x, flags=dr.ADFlag.Default | dr.ADFlag.AllowNoGrad))


def test_a_warning_is_shown_once_for_a_line() -> None:
    program = """import drjit as dr
from drjit.llvm.ad import Float
x = Float(1)
for _ in range(3):
    dr.set_grad(x, 2)
dr.enable_grad(x)
y = x * 2
for _ in range(3):
    dr.backward(y)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stderr.count("RuntimeWarning") == 2
    assert "<string>:5: RuntimeWarning: drjit.set_grad()" in done.stderr
    assert "<string>:9: RuntimeWarning: drjit.backward()" in done.stderr


def test_warnings_can_be_errors() -> None:
    x = Float(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fails(RuntimeWarning, "the gradient is lost", lambda: dr.set_grad(x, 1))


def test_atomics_without_a_derivative() -> None:
    x, lanes = tracked(1, 2, 3), UInt(0, 1, 2)
    plain = dr.zeros(Float, 3)
    message = r"scatter_exch\(\): '(value|target)' is tracked"
    fails(RuntimeError, message, lambda: dr.scatter_exch(plain, x, lanes))
    fails(RuntimeError, message, lambda: dr.scatter_exch(Float(x), 5, lanes))
    message = r"scatter_cas\(\): '(compare|value|target)' is tracked"
    fails(RuntimeError, message, lambda: dr.scatter_cas(plain, x, 1, lanes))
    fails(RuntimeError, message, lambda: dr.scatter_cas(plain, 1, x, lanes))
    assert values(dr.scatter_exch(plain, dr.detach(x), lanes)) == [0, 0, 0]
    assert values(plain) == [1, 2, 3]


def test_edges_that_are_gone() -> None:
    x = tracked(1, 2)
    y = x * x
    silent(lambda: dr.backward(y))
    for go, name in (
        (lambda: dr.backward(y), "backward"),
        (lambda: dr.backward_from(y), "backward_from"),
        (lambda: dr.backward_to(x), "backward_to"),
        (lambda: dr.forward(x), "forward"),
        (lambda: dr.enqueue(Backward, [1, y]), "enqueue"),
    ):
        with pytest.warns(
            RuntimeWarning, match=rf"^drjit.{name}\(\): no gradient goes"
        ):
            go()
    z = silent(lambda: x * 3)  # goes on with new edges
    dr.clear_grad((x, y))
    silent(lambda: dr.forward(x))
    assert values(z.grad) == [3, 3]
    y = x * x
    for _ in range(2):
        silent(lambda: dr.backward(y, flags=dr.ADFlag.ClearVertices))
    assert values(x.grad)[0] == 4


# ------------------------------------------------------------------- bodies


def leak(label: str) -> tuple[Any, Any, Any, list[Any]]:
    """Variables of the body of a loop that is complete."""
    x = tracked(1, 2, 3)
    leaked: list[Any] = []

    def body(i: Any, y: Any) -> tuple[Any, Any]:
        z = y * x
        leaked.extend((y, z, dr.sin(z)))  # a state, a result, what is used by nobody
        return i + 1, z

    _, y = dr.while_loop(
        (UInt(0), Float(x)), lambda i, y: i < 3, body, label=label, mode="symbolic"
    )
    return x, y, tracked(1, 2, 3), leaked


def test_values_of_a_body_from_outside() -> None:
    x, y, _, leaked = leak("loop")
    match = r"^drjit\.\w+\(\): (r\d+ is symbolic|a\d+ belongs to the body of a loop)"
    for value in (*leaked, leaked[0] * 2 + x):
        fails(RuntimeError, match, lambda v=value: dr.backward(v))
        fails(RuntimeError, match, lambda v=value: dr.enqueue(Backward, v))
        fails(RuntimeError, match, lambda v=value: dr.enqueue(Forward, v))
    # Nothing is noted of a list if one of it is refused.
    good = x * 1
    dr.set_grad(good, 1)
    fails(RuntimeError, match, lambda: dr.enqueue(Backward, good, *leaked))
    dr.traverse(Backward)
    assert values(x.grad) == [0, 0, 0]
    dr.clear_grad(good)
    for value in leaked[:2]:
        fails(RuntimeError, match, lambda v=value: dr.set_grad(v, 1))
    del value
    leaked.clear()
    dr.clear_grad(x)
    dr.backward(y)
    assert np.allclose(values(x.grad), 4 * np.array([1, 2, 3]) ** 3)


def test_gradients_that_would_be_values_of_a_body() -> None:
    x = tracked(1, 2, 3)
    y = x * x

    def body(i: Any) -> tuple[Any]:
        dr.forward(x)
        return (i + 1,)

    match = r"^drjit.while_loop\(\): the gradient of a\d+, which lies outside"
    fails(
        RuntimeError,
        match,
        lambda: dr.while_loop((UInt(0),), lambda i: i < 3, body, mode="symbolic"),
    )
    assert values(x.grad) == values(y.grad) == [0, 0, 0]


def test_gradients_within_a_body() -> None:
    """Of what begins within the body, nothing is lost."""

    def body(i: Any, y: Any, total: Any) -> tuple[Any, Any, Any]:
        own = Float(y)
        dr.disable_grad(own)
        dr.enable_grad(own)
        z = own * own
        dr.backward(z)
        return i + 1, y + 1, total + own.grad

    state = (UInt(0), Float(1, 2), Float(0, 0))
    found = dr.while_loop(state, lambda i, y, t: i < 2, body, mode="symbolic")
    assert values(found[2]) == [2 * 1 + 2 * 2, 2 * 2 + 2 * 3]


# ------------------------------------------------------------------- writes in place


@pytest.mark.parametrize(
    ("write", "weight"),
    [
        (lambda t: dr.scatter(t, Float64(0), UInt(1)), [1, 0, 1]),
        (lambda t: dr.scatter_add(t, Float64(7), UInt(1)), [1, 1, 1]),
        (lambda t: t.__setitem__(1, 0), [1, 0, 1]),
        (lambda t: t.__iadd__(5), [1, 1, 1]),
    ],
)
@pytest.mark.parametrize("evaluated", [False, True])
def test_derivatives_need_old_values(
    write: Callable[[Any], Any], weight: list[float], evaluated: bool
) -> None:
    """What is written to an array does not change the derivatives of what was computed
    from it before."""
    start = np.array([1.0, 2, 3])
    x = Float64(start)
    dr.enable_grad(x)
    t = dr.sqrt(4 * x)  # its rule holds the result, ...
    if evaluated:
        dr.eval(t)
    z = dr.exp(t) + t * t  # ... these hold operand and result
    write(t)
    dr.backward(dr.sum(z) + 3 * dr.sum(t))
    old = np.sqrt(4 * start)
    slope = 2 / old
    expected = (np.exp(old) + 2 * old) * slope + 3 * np.array(weight) * slope
    assert np.allclose(values(x.grad), expected, rtol=1e-12)


# ------------------------------------------------------------------- check_grad


def test_check_grad_names_leaf_and_entry() -> None:
    tree = {"p": [1, Pair(Float(2), Array3f([1, 2], 3, [4, 5]))]}

    def function(tree: Any, k: Any) -> Any:
        b = tree["p"][1].b
        return b.y * dr.detach(b.z) * k

    match = (
        r"the backward derivative by entry [01] of args\[0\]\[p\]\[1\]\.b\[2\] is 0, "
    )
    fails(AssertionError, match, lambda: dr.check_grad(function, tree, UInt(2)))

    def other(x: Any, m: Any) -> Any:
        return dr.detach(m[1, 0]) * 2 + m[0, 0] + x

    match = r"forward derivative by entry 0 of args\[1\]\[1\]\[0\] .* 1 of 5 entries"
    matrix = Matrix2f(1, 2, 3, 4)
    fails(
        AssertionError,
        match,
        lambda: dr.check_grad(other, Float(1), matrix, mode=Forward),
    )


@pytest.mark.parametrize(
    ("error", "match", "call"),
    [
        (TypeError, "'fn' is of type int", lambda: dr.check_grad(3, X)),
        (TypeError, "'mode' is 2", lambda: dr.check_grad(dr.sin, X, mode=2)),
        (
            TypeError,
            "'mode' is .*Primal",
            lambda: dr.check_grad(dr.sin, X, mode=Primal),
        ),
        (TypeError, "'eps' is of type str", lambda: dr.check_grad(dr.sin, X, eps="")),
        (
            TypeError,
            "'tol' is of type bool",
            lambda: dr.check_grad(dr.sin, X, tol=True),
        ),
        (ValueError, "'eps' is 0,", lambda: dr.check_grad(dr.sin, X, eps=0)),
        (ValueError, "'tol' is nan,", lambda: dr.check_grad(dr.sin, X, tol=dr.nan)),
        (
            TypeError,
            "no argument has a float array",
            lambda: dr.check_grad(dr.sin, 1.0),
        ),
        (TypeError, "no argument", lambda: dr.check_grad(dr.sin, llvm.Float(1))),
        (TypeError, "no argument", lambda: dr.check_grad(dr.sin)),
        (TypeError, "returned int without", lambda: dr.check_grad(lambda x: 1, X)),
        (
            AssertionError,
            "entry 0 of args.0. is inf, the difference quotient nan; 1 of 2",
            lambda: dr.check_grad(dr.sqrt, Float(0, 1)),
        ),
    ],
)
def test_check_grad_of_bad_input(
    error: type[Exception], match: str, call: Callable[[], Any]
) -> None:
    fails(error, r"^drjit.check_grad\(\): .*" + match, call)


def test_check_grad_of_what_does_not_depend() -> None:
    silent(lambda: dr.check_grad(lambda x: Float(3), X))
    silent(lambda: dr.check_grad(lambda x, i: dr.gather(Float64, x, i), X, UInt(0, 2)))
    silent(lambda: dr.check_grad(lambda t: dr.sum(t * t), TensorXf([1.0, 2.0])))
