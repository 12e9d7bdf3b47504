"""The derivatives that src/lower/math/math.def names are those of the functions.

Each expression is evaluated with mpmath and compared with the difference quotients that
mpmath takes, in 40 digits. The words of src/lower/math/derivative.h are calls and names
in Python, too, so the text of a row is an expression here as it is in C.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm import ad as llvm

mp: Any = pytest.importorskip("mpmath").mp

ROOT = Path(__file__).resolve().parent.parent.parent
ROW = re.compile(r"^MATH\((\w+),\s*\w+,\s*(.*?)\)$(?=\n(?:MATH|/\*|\Z))", re.M | re.S)
ROWS: dict[str, str] = {
    name.lower(): " ".join(derivatives.split())
    for name, derivatives in ROW.findall(
        (ROOT / "src/lower/math/math.def").read_text(encoding="utf-8")
    )
}

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sin": mp.sin,
    "cos": mp.cos,
    "tan": mp.tan,
    "asin": mp.asin,
    "acos": mp.acos,
    "atan": mp.atan,
    "sinh": mp.sinh,
    "cosh": mp.cosh,
    "tanh": mp.tanh,
    "asinh": mp.asinh,
    "acosh": mp.acosh,
    "atanh": mp.atanh,
    "exp": mp.exp,
    "exp2": lambda a: mp.mpf(2) ** a,
    "log": mp.log,
    "log2": lambda a: mp.log(a) / mp.log(2),
    "rsqrt": lambda a: 1 / mp.sqrt(a),
    "cbrt": lambda a: mp.sign(a) * mp.cbrt(abs(a)),
    "erf": mp.erf,
    "erfinv": mp.erfinv,
    "lgamma": lambda a: mp.log(abs(mp.gamma(a))),
    "digamma": mp.digamma,
    "trigamma": lambda a: mp.polygamma(1, a),
    "atan2": mp.atan2,
    "power": lambda a, b: mp.power(a, b),
    "hypot": mp.hypot,
}
WORDS: dict[str, Any] = {"D_" + name.upper(): FUNCTIONS[name] for name in FUNCTIONS} | {
    "D_NEG": lambda a: -a,
    "D_RCP": lambda a: 1 / a,
    "D_ADD": lambda a, b: a + b,
    "D_SUB": lambda a, b: a - b,
    "D_MUL": lambda a, b: a * b,
    "D_DIV": lambda a, b: a / b,
    "D_UNLESS_ZERO": lambda a, b: mp.mpf(0) if a == 0 else b,
    "D_REPLACE_GRAD": lambda a, b: a,
    "D_TETRAGAMMA": lambda a: mp.polygamma(2, a),
    "D_NUMBER": mp.mpf,
    "D_ONE": mp.mpf(1),
    "D_LN2": mp.ln2,
    "D_TWO_BY_SQRT_PI": 2 / mp.sqrt(mp.pi),
}

# Where the functions are looked at: inside of their domains, on both sides of 0.
AROUND = ["-3.7", "-1.2", "-0.6", "-0.01", "0.03", "0.4", "1.1", "2.6", "5.3"]
WITHIN = ["-0.99", "-0.6", "-0.02", "0.1", "0.55", "0.97"]
ABOVE = ["0.001", "0.2", "0.9", "1.3", "2.2", "40"]
POINTS: dict[str, list[str]] = {
    "asin": WITHIN,
    "acos": WITHIN,
    "atanh": WITHIN,
    "erfinv": WITHIN,
    "log": ABOVE,
    "log2": ABOVE,
    "rsqrt": ABOVE,
    "power": ABOVE,
    "acosh": ["1.001", "1.3", "2", "50"],
}


def arguments(expression: str) -> set[str]:
    """The names that an expression uses."""
    tree = ast.parse(expression, mode="eval")
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def test_rows_are_found() -> None:
    """Each row of math.def is read, and is of a function that is known here."""
    text = (ROOT / "src/lower/math/math.def").read_text(encoding="utf-8")
    assert len(ROWS) == len(re.findall(r"^MATH\(", text, re.MULTILINE)) > 0
    assert set(ROWS) <= set(FUNCTIONS)


@pytest.mark.parametrize("name", ROWS)
def test_derivative(name: str) -> None:
    """The expression equals the difference quotient."""
    function = FUNCTIONS[name]
    parsed = ast.parse(f"({ROWS[name]},)", mode="eval").body
    assert isinstance(parsed, ast.Tuple)
    parts = [ast.unparse(part) for part in parsed.elts]
    two = name in ("atan2", "power", "hypot")
    assert len(parts) == 1 + two
    for part in parts:
        assert arguments(part) <= set(WORDS) | ({"a", "b", "y"} if two else {"a", "y"})
    points = POINTS.get(name, AROUND)
    with mp.workdps(40):
        for first in points:
            for second in AROUND if two else ["0"]:
                x = [mp.mpf(first), mp.mpf(second)][: 1 + two]
                # Constants of the expressions need no more than double precision.
                words = WORDS | {"a": x[0], "b": x[-1], "y": function(*x)}
                for k, part in enumerate(parts):
                    order = tuple(int(i == k) for i in range(len(x)))
                    expected = mp.diff(function, tuple(x), order)
                    found = eval(part, {"__builtins__": {}}, words)
                    error = abs(found - expected)
                    assert error <= 1e-14 * max(abs(expected), 1e-3), (part, x)


# In all parts of its definition, at the limits between them, and as 1 / x^2 overflows.
FOR_TRIGAMMA = [
    *np.geomspace(1e-200, 1e-3, 40), *np.linspace(0.001, 2.499, 150),
    *np.linspace(2.5, 40, 100), *np.geomspace(40, 1e300, 60), np.nextafter(1, 0), 1.0,
    np.nextafter(2.5, 0), *-np.linspace(1e-9, 13.99, 250), -1e-100, -1000.3, 1e-153,
]  # fmt: skip


@pytest.mark.parametrize("array", [llvm.Float32, llvm.Float64])
def test_trigamma(array: Any) -> None:
    """The derivative of digamma is within 1 ulp of mpmath's trigamma."""
    single = array is llvm.Float32
    kind: Any = np.float32 if single else np.float64
    with np.errstate(over="ignore"):
        points = np.array(FOR_TRIGAMMA).astype(kind)
    points = points[np.isfinite(points) & (points != 0)]
    x = array(points)
    dr.enable_grad(x)
    y = dr.digamma(x)
    dr.forward(x)
    with mp.workdps(40):
        for a, found in zip(points, dr.grad(y).numpy(), strict=True):
            expected = mp.polygamma(1, mp.mpf(float(a)))
            if float(expected) > float(np.finfo(kind).max):
                assert found == np.inf
            else:
                ulp = mp.mpf(float(np.spacing(kind(float(expected)))))
                assert abs(mp.mpf(float(found)) - expected) <= ulp, a


def test_trigamma_at_poles() -> None:
    """It is infinite there, and 0 at infinity."""
    x = llvm.Float64([0.0, -0.0, -1.0, -2.0, -1e16, math.inf, -math.inf, math.nan])
    dr.enable_grad(x)
    y = dr.digamma(x)
    dr.forward(x)
    expected = [math.inf] * 5 + [0, math.nan, math.nan]
    np.testing.assert_array_equal(dr.grad(y).numpy(), expected)
