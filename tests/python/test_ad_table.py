"""Each row of ad_rules.def and math.def: derivatives of two orders, in all precisions.

References are difference quotients that mpmath takes in 50 digits, of the function at
the numbers that the type really holds. First derivatives are compared in units of the
last place, and have to be the same forward and in reverse. Second ones are computed in
the four ways in which two traversals can follow each other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import drjit as dr
import drjit.ad
import numpy as np
import pytest
from drjit.llvm.ad import Float, Float16, Float64

mp: Any = pytest.importorskip("mpmath").mp

ROOT = Path(__file__).resolve().parent.parent.parent
TYPES = {"half": Float16, "single": Float, "double": Float64}
DIGITS = {"half": 11, "single": 24, "double": 53}
SMALLEST = {"half": 2.0**-14, "single": 2.0**-126, "double": 2.0**-1022}


@pytest.fixture(autouse=True)
def no_nodes_are_left() -> Any:
    before = dr._core._ad_node_count()  # type: ignore[attr-defined]
    yield
    assert dr._core._ad_node_count() == before  # type: ignore[attr-defined]


@dataclass
class Row:
    """An operation, the same with mpmath, and where they are compared."""

    function: Callable[..., Any]
    reference: Callable[..., Any]
    points: tuple[float, ...]
    others: tuple[float, ...] | None = None  # of the second operand
    ulps: float = 6  # how far first derivatives may be off, beside those of rounding
    ulps_2: float = 40  # second ones, relative to the largest of their terms
    skip: tuple[str, ...] = field(default=())  # of these types


AROUND = (-3.7, -1.2, -0.6, -0.01, 0.03, 0.4, 1.1, 2.6, 5.3)
OTHERS = (0.7, -1.9, 2.3, 0.2, -0.4, 1.6, 3.1, -2.2, -5.5)
WITHIN = (-0.999, -0.99, -0.6, -0.02, 0.1, 0.55, 0.97, 0.9995)
ABOVE = (0.001, 0.2, 0.9, 1.3, 2.2, 40.0, 300.0)
FAR = (-300.0, -20.0, -8.0, *AROUND, 9.0, 250.0)


def cube_root(a: Any) -> Any:
    return mp.sign(a) * mp.cbrt(abs(a))


def clamped(a: Any, b: Any) -> Any:
    return a if a > 1 else b


TABLE: dict[str, Row] = {
    "NEG": Row(lambda a: -a, lambda a: -a, AROUND),
    "ADD": Row(lambda a, b: a + b, lambda a, b: a + b, AROUND, OTHERS),
    "SUB": Row(lambda a, b: a - b, lambda a, b: a - b, AROUND, OTHERS),
    "MUL": Row(lambda a, b: a * b, lambda a, b: a * b, AROUND, OTHERS),
    "DIV": Row(lambda a, b: a / b, lambda a, b: a / b, AROUND, OTHERS),
    "FMA": Row(
        lambda a, b: dr.fma(a, b, b), lambda a, b: a * b + b, AROUND, OTHERS
    ),
    "SQRT": Row(dr.sqrt, mp.sqrt, ABOVE),
    "RCP": Row(dr.rcp, lambda a: 1 / a, AROUND, skip=("half",)),
    "ABS": Row(dr.abs, abs, AROUND),
    "MIN": Row(dr.minimum, lambda a, b: min(a, b), AROUND, OTHERS),
    "MAX": Row(dr.maximum, lambda a, b: max(a, b), AROUND, OTHERS),
    "COPYSIGN": Row(
        dr.copysign, lambda a, b: abs(a) if b > 0 else -abs(a), AROUND, OTHERS
    ),
    "SELECT": Row(lambda a, b: dr.select(a > 1, a, b), clamped, AROUND, OTHERS),
    "AND": Row(lambda a: (a * a) & (a > 1), lambda a: a * a if a > 1 else 0, AROUND),
    "CAST": Row(
        lambda a: type(a)(Float64(a) * Float64(a)), lambda a: a * a, AROUND
    ),
    "HYPOT": Row(dr.hypot, mp.hypot, AROUND, OTHERS),
    "ASIN": Row(dr.asin, mp.asin, WITHIN),
    "ACOS": Row(dr.acos, mp.acos, WITHIN),
    "ATAN": Row(dr.atan, mp.atan, FAR),
    "ATAN2": Row(dr.atan2, mp.atan2, AROUND, OTHERS),
    "SIN": Row(dr.sin, mp.sin, AROUND),
    "COS": Row(dr.cos, mp.cos, AROUND),
    "TAN": Row(dr.tan, mp.tan, AROUND),
    "EXP": Row(dr.exp, mp.exp, AROUND),
    "EXP2": Row(dr.exp2, lambda a: mp.mpf(2) ** a, AROUND),
    "SINH": Row(dr.sinh, mp.sinh, AROUND),
    "COSH": Row(dr.cosh, mp.cosh, AROUND),
    "TANH": Row(dr.tanh, mp.tanh, (-30.0, -8.0, *AROUND, 20.0)),
    "ASINH": Row(dr.asinh, mp.asinh, FAR),
    "ACOSH": Row(dr.acosh, mp.acosh, (1.001, 1.3, 2.0, 50.0, 300.0)),
    "ATANH": Row(dr.atanh, mp.atanh, WITHIN),
    "LOG": Row(dr.log, mp.log, ABOVE),
    "LOG2": Row(dr.log2, lambda a: mp.log(a) / mp.log(2), ABOVE),
    "POWER": Row(
        dr.power, mp.power, (0.001, 0.2, 0.9, 1.3, 2.2, 7.0, 3.0), OTHERS[:7]
    ),
    "RSQRT": Row(dr.rsqrt, lambda a: 1 / mp.sqrt(a), ABOVE),
    "CBRT": Row(dr.cbrt, cube_root, AROUND),
    "ERF": Row(dr.erf, mp.erf, AROUND, ulps=30, ulps_2=80),
    "ERFINV": Row(dr.erfinv, mp.erfinv, WITHIN, ulps=20),
    "LGAMMA": Row(dr.lgamma, lambda a: mp.log(abs(mp.gamma(a))), AROUND),
    "DIGAMMA": Row(dr.digamma, mp.digamma, AROUND, ulps=1, ulps_2=200),
}  # fmt: skip

# Rows that Python has no function for: test_ad.c has these, and the derivatives of
# digamma are trigamma and the derivative of that.
C_ONLY = {"FMIN", "FMAX", "TRIGAMMA"}

PLAIN: dict[str, Callable[[Any], Any]] = {
    "CEIL": dr.ceil, "FLOOR": dr.floor, "ROUND": dr.round, "TRUNC": dr.trunc,
    "EQ": lambda a: a == 1, "NEQ": lambda a: a != 1, "LT": lambda a: a < 1,
    "LE": lambda a: a <= 1, "GT": lambda a: a > 1, "GE": lambda a: a >= 1,
    "BITCAST": lambda a: dr.reinterpret_array(
        Float64, dr.reinterpret_array(dr.llvm.ad.Int64, a)
    ),
}  # fmt: skip
# Of integers and masks.
NO_FLOATS = {
    "NOT", "OR", "XOR", "SHL", "SHR", "MOD", "MUL_HI", "MUL_WIDE", "POPC", "CLZ",
    "CTZ", "BREV",
}  # fmt: skip


def rows_of(path: str, macro: str) -> set[str]:
    text = (ROOT / path).read_text(encoding="utf-8")
    return set(re.findall(rf"^{macro}\((\w+),", text, re.MULTILINE))


def test_every_row_has_a_test() -> None:
    rules = rows_of("src/ad/rule/ad_rules.def", "RULE")
    functions = rows_of("src/lower/math/math.def", "MATH")
    assert len(rules) > 10 and len(functions) > 20
    assert rules | functions == set(TABLE) | C_ONLY
    assert rows_of("src/ad/rule/ad_rules.def", "PLAIN") == set(PLAIN) | NO_FLOATS


@pytest.mark.parametrize("name", PLAIN)
def test_plain(name: str) -> None:
    a = Float64(0.5, 1.5)
    dr.enable_grad(a)
    assert not dr.grad_enabled(PLAIN[name](a))


# ---------------------------------------------------------------- the derivatives


def inputs_of(row: Row, kind: Any) -> list[Any]:
    columns = [row.points] if row.others is None else [row.points, row.others]
    return [kind(np.array(c).astype(kind(0).numpy().dtype)) for c in columns]


def entries(array: Any) -> list[float]:
    return [float(x) for x in array.numpy()]


def reference(row: Row, inputs: list[Any], order: tuple[int, ...]) -> list[Any]:
    lanes = zip(*([mp.mpf(e) for e in entries(x)] for x in inputs), strict=True)
    with mp.workdps(50):
        if len(inputs) == 1:
            return [mp.diff(row.reference, x, *order) for (x,) in lanes]
        return [mp.diff(row.reference, x, order) for x in lanes]


def check(
    found: list[float], expected: list[Any], scale: list[Any], precision: str,
    ulps: float, what: str,
) -> None:  # fmt: skip
    # Beneath the normal numbers there are fewer digits.
    for k, (a, b, s) in enumerate(zip(found, expected, scale, strict=True)):
        size = max(abs(float(b)), abs(float(s)), SMALLEST[precision])
        if precision == "half" and abs(b) > 65504:
            assert math.isinf(a)
            continue
        error = abs(mp.mpf(a) - b) / (size * 2.0 ** (1 - DIGITS[precision]))
        assert error <= ulps, (what, k, a, float(b), float(error))


@pytest.mark.parametrize("precision", TYPES)
@pytest.mark.parametrize("name", TABLE)
def test_first_order(name: str, precision: str) -> None:
    row = TABLE[name]
    if precision in row.skip:
        return
    inputs = inputs_of(row, TYPES[precision])
    n = len(inputs)
    dr.enable_grad(*inputs)
    result = row.function(*inputs)
    assert type(result) is type(inputs[0])
    dr.set_grad(result, 1)
    dr.enqueue(dr.ADMode.Backward, result)
    dr.traverse(dr.ADMode.Backward, dr.ADFlag.ClearVertices)
    reverse = [entries(x.grad) for x in inputs]
    dr.clear_grad(inputs)
    for i, x in enumerate(inputs):
        dr.set_grad(x, 1)
        dr.enqueue(dr.ADMode.Backward, result)
        dr.traverse(dr.ADMode.Forward, dr.ADFlag.ClearVertices)
        forward = entries(result.grad)
        dr.clear_grad((inputs, result))
        np.testing.assert_array_equal(forward, reverse[i])
        expected = reference(row, inputs, tuple(int(k == i) for k in range(n)))
        # The rounding of values that the derivative is made of is amplified by it.
        check(forward, expected, expected, precision, row.ulps, name)


DIRECTION = (1.0, -0.75)


def second(row: Row, inputs: list[Any], how: str) -> list[float]:
    """v H v of each lane, v the direction."""
    own = dr.detach(inputs)
    dr.enable_grad(*own)
    result = row.function(*own)
    kind = type(own[0])
    if how[0] == "f":
        for x, v in zip(own, DIRECTION, strict=False):
            dr.set_grad(x, v)
        dr.enqueue(dr.ADMode.Backward, result)
        mode = dr.ADMode.Forward
    else:
        dr.set_grad(result, 1)
        dr.enqueue(dr.ADMode.Backward, result)
        mode = dr.ADMode.Backward
    dr.traverse(mode, dr.ADFlag.CreateGraph | dr.ADFlag.ClearVertices)
    if how[0] == "f":
        first = dr.grad(result)
    else:
        first = kind(0)
        for x, v in zip(own, DIRECTION, strict=False):
            first = first + v * dr.grad(x)
    dr.clear_grad((own, result))
    if not dr.grad_enabled(first):  # constant
        return [0.0] * len(row.points)
    if how[1] == "f":
        for x, v in zip(own, DIRECTION, strict=False):
            dr.set_grad(x, v)
        dr.enqueue(dr.ADMode.Backward, first)
        dr.traverse(dr.ADMode.Forward)
        total = dr.grad(first)
    else:
        dr.set_grad(first, 1)
        dr.enqueue(dr.ADMode.Backward, first)
        dr.traverse(dr.ADMode.Backward)
        total = kind(0)
        for x, v in zip(own, DIRECTION, strict=False):
            total = total + v * dr.grad(x)
    found = entries(total)
    return found * len(row.points) if len(found) == 1 else found


@pytest.mark.parametrize("how", ["ff", "fr", "rf", "rr"])
@pytest.mark.parametrize("precision", TYPES)
@pytest.mark.parametrize("name", TABLE)
def test_second_order(name: str, precision: str, how: str) -> None:
    """'fr': forward first, then that in reverse."""
    row = TABLE[name]
    if precision in row.skip:
        return
    inputs = inputs_of(row, TYPES[precision])
    found = second(row, inputs, how)
    if len(inputs) == 1:
        expected = reference(row, inputs, (2,))
        scale = expected
    else:
        v, w = DIRECTION
        parts = [
            [c * x for x in reference(row, inputs, order)]
            for c, order in ((v * v, (2, 0)), (2 * v * w, (1, 1)), (w * w, (0, 2)))
        ]
        expected = [mp.fsum(lane) for lane in zip(*parts, strict=True)]
        scale = [sum(abs(x) for x in lane) for lane in zip(*parts, strict=True)]
    check(found, expected, scale, precision, row.ulps_2, name)
