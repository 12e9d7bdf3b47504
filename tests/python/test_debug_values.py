"""Debug mode names the operation that made the first value that is not finite.

Programs run in processes of their own, one for each engine, as an engine is chosen
once, and a line is warned about once. Which entry comes first is asked of NumPy.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from typing import Any

import drjit as dr
import numpy as np
import pytest

X = np.float32([1, 0, 3, 0, -2])
Y = np.float32([1, 2, 0, 0, 0])
HUGE = np.full(3000, 1e36, np.float32)

# Name, the program, which warnings it leads to: what of them matters.
CASES: dict[str, tuple[str, list[str]]] = {
    "divide": ("q = x / y\nz = q * 2\ndr.eval(z)", []),
    "dropped": ("z = dr.select(y == 0, 0, x / y)\ndr.eval(z)", []),
    "literal": (
        "z = dr.minimum(x, dr.inf) + dr.select(x > 0, dr.inf, x)\ndr.eval(z)",
        [],
    ),
    "missing": ("z = dr.select(x > 0, x, dr.nan)\ndr.eval(z)", []),
    "given": ("t = Float(np.float32([np.inf, 1]))\nz = t + 1\ndr.eval(z)", []),
    "made of infinities": (
        "t = Float(np.float32([1, np.inf]))\nz = t - t\ndr.eval(z)",
        [
            "entry 1 of the float32 array made at made of infinities.py:2 is nan: the "
            "first value that is not finite is inf - inf at made of infinities.py:2"
        ],
    ),
    "nan that is given": (
        "t = Float(np.float32([1, 2, np.nan]))\nz = t + 1\ndr.eval(z)",
        ["it comes from entry 2 of the float32 array made at nan that is given.py:1"],
    ),
    "once": (
        "for _ in range(3):\n    z = dr.log(x - 7)\n    dr.eval(z)",
        ["log(-6) at"],
    ),
    "one of two": (
        "a = dr.rcp(y)\nb = dr.sqrt(x)\ndr.eval(a, b)",
        ["rcp(0) at one of two.py:1"],
    ),
    "after many that are meant": (
        "t = Float(np.r_[np.full(1000, np.inf), 1, 2].astype(np.float32))\n"
        "z = dr.select(t == 1, dr.sqrt(-t), t)\ndr.eval(z)",
        ["entry 1000 of", "sqrt(-1) at"],
    ),
    "loop": (
        "i, a = dr.while_loop(\n"
        "    (dr.zeros(UInt, 4), Float(1, 1e30, 1e20, 2)),\n"
        "    lambda i, a: i < 10,\n"
        "    lambda i, a: (i + 1, a * 10))\n"
        "dr.eval(a)",
        ["entry 1 of", "* 10 at loop.py:4"],
    ),
    "branch": (
        "z = dr.if_stmt((x,), x > 0, lambda x: x, lambda x: dr.sqrt(x - 1))\n"
        "dr.eval(z)",
        ["entry 1 of", "sqrt(-1) at branch.py:1"],
    ),
    "call": (
        "z = dr.switch(UInt(0, 1, 1), [lambda v: v, lambda v: 1 / v], Float(0, 2, 0))\n"
        "dr.eval(z)",
        ["entry 2 of", "at call.py:1"],
    ),
    "local": (
        "m = dr.alloc_local(Float, 4, value=dr.zeros(Float, 3))\n"
        "m[UInt(1, 2, 3)] = 1 / Float(1, 2, 0)\nz = m[UInt(1, 2, 3)]\ndr.eval(z)",
        ["entry 2 of", "at local.py:2"],
    ),
    "scatter": (
        "t = dr.zeros(Float, 4)\ndr.scatter_add(t, dr.log(x), UInt(3, 2, 1, 0, 0))\n"
        "dr.eval(t)",
        [
            "what is scattered to entry 2 of a float32 array is -inf",
            "log(0) at scatter.py",
        ],
    ),
    "packet": (
        "t = Float(np.float32([1, 2, 3, np.nan]))\n"
        "z = dr.gather(Array2f, t, UInt(0, 1))\ndr.eval(z)",
        ["it comes from entry 3 of the float32 array made at packet.py:1"],
    ),
    "sum": ("s = dr.sum(dr.log(x))\ndr.eval(s)", []),
    "overflow": ("s = dr.sum(huge)\ndr.eval(s)", ["values has overflowed"]),
    "overflow in a kernel": ("s = dr.sum(huge * 1.5)\ndr.eval(s)", ["has overflowed"]),
    "prefix": ("s = dr.cumsum(huge)\ndr.eval(s)", []),
    "double": (
        "z = dr.exp(Float64(1, 800, 900))\ndr.eval(z)",
        ["entry 1 of", "exp(800)"],
    ),
    "half": ("z = Float16(1, 60000) * 2\ndr.eval(z)", ["float16", "60000 * 2"]),
    "narrow": (
        "z = Float16(Float(1, 1e6))\ndr.eval(z)",
        ["entry 1", "float16(1000000)"],
    ),
    "no waiting": (
        "with dr.scoped_set_flag(dr.JitFlag.ForbidSynchronization):\n"
        "    z = 1 / x\n    dr.eval(z)",
        [],
    ),
}

CHILD = """
import sys
import drjit as dr
import numpy as np
from drjit.llvm import Array2f, Float, Float16, Float64, UInt
from test_debug_values import CASES, HUGE, X, Y

for name, (program, _) in CASES.items():
    x, y, huge = Float(X), Float(Y), Float(HUGE)
    dr.sync_thread()
    print(f"==== {name}", file=sys.stderr)
    code = compile(program, f"{name}.py", "exec")
    with dr.scoped_set_flag(dr.JitFlag.Debug):
        exec(code)
    dr.sync_thread()
"""


@functools.cache
def warnings_of(engine: str) -> dict[str, list[str]]:
    folder = os.path.dirname(os.path.abspath(__file__))
    path = os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])
    env = os.environ | {"DRJIT_CPU_ENGINE": engine, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", CHILD], capture_output=True, text=True, env=env
    )
    assert done.returncode == 0, done.stderr
    parts = [part.split("\n", 1) for part in done.stderr.split("==== ")[1:]]
    return {name: text.splitlines() for name, text in parts}


def engines() -> list[str]:
    return ["interp", "native", "llvm"]


def usable(engine: str) -> bool:
    probe = "import drjit as dr; from drjit.llvm import Float; dr.eval(Float(1, 2) + 1)"
    env = os.environ | {"DRJIT_CPU_ENGINE": engine}
    return (
        subprocess.run(
            [sys.executable, "-c", probe], env=env, capture_output=True
        ).returncode
        == 0
    )


@pytest.fixture(params=engines(), scope="module")
def found(request: pytest.FixtureRequest) -> dict[str, list[str]]:
    if not usable(request.param):
        pytest.skip(f"there is no engine {request.param} here")
    return warnings_of(request.param)


def first_bad(values: Any) -> int:
    return int(np.flatnonzero(~np.isfinite(values))[0])


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[1]])
def test_warning(found: dict[str, list[str]], name: str) -> None:
    assert len(found[name]) == 1, found[name]
    (line,) = found[name]
    assert line.startswith("drjit.eval(): ")
    for part in CASES[name][1]:
        assert part in line


@pytest.mark.parametrize(
    "name", ["dropped", "literal", "missing", "given", "no waiting"]
)
def test_what_is_meant(found: dict[str, list[str]], name: str) -> None:
    assert found[name] == []


def test_entry_and_operands(found: dict[str, list[str]]) -> None:
    with np.errstate(all="ignore"):
        k = first_bad(X / Y)
        value = (X / Y)[k]
    place, value, values = f"entry {k} of", f"{value:g}", f"{X[k]:g} / {Y[k]:g}"
    assert found["divide"] == [
        f"drjit.eval(): {place} the float32 array made at divide.py:2 is {value}: "
        f"the first value that is not finite is {values} at divide.py:1"
    ]


def test_reductions(found: dict[str, list[str]]) -> None:
    with np.errstate(all="ignore"):
        k = first_bad(np.log(X))
        total, end = np.sum(np.log(X)), first_bad(np.cumsum(HUGE))
    assert np.isnan(total)
    (line,) = found["sum"]
    assert (
        f"is nan: the first value that is not finite is log({X[k]:g}) at sum.py:1"
        in line
    )
    (line,) = found["prefix"]
    assert f"entry {end} of" in line and "overflowed" in line


# ------------------------------------------------------------ sizes that do not fit

SIZES = {
    "gather": "dr.gather(Float, a,\n i, on)",
    "gather of vectors": "dr.gather(Array2f, a,\n i, on)",
    "scatter": "dr.scatter(a, v, i)",
    "scatter under a mask": "dr.scatter(a, 1, i, on)",
    "scatter of vectors": "dr.scatter(a, Array2f(v, 1), i)",
    "scatter_add": "dr.scatter_add(a, v, i)",
    "scatter_reduce": "dr.scatter_reduce(dr.ReduceOp.Max, a, v, i)",
    "scatter_inc": "dr.scatter_inc(n, i, on)",
    "scatter_exch": "dr.scatter_exch(a, v, i)",
    "scatter_cas": "dr.scatter_cas(a, v, 1, i)",
    "scatter_add_kahan": "dr.scatter_add_kahan(a, b, v, i)",
    "assignment": "a[i] = v",
    "masked assignment": "w[on] = v",
    "fma": "dr.fma(w, v, 1)",
    "select": "dr.select(on, w, 0)",
    "comparison": "v < w",
    "dot": "dr.dot(v, w)",
    "local array": "m = dr.alloc_local(Float, 2, value=Float(w))\nm.write(v, i)",
}
MADE = {"i": 4, "on": 5, "v": 6, "w": 4}
PAIRS = {
    "gather": "i on", "gather of vectors": "i on", "scatter": "i v",
    "scatter under a mask": "i on", "scatter of vectors": "i v", "scatter_add": "i v",
    "scatter_reduce": "i v", "scatter_inc": "i on", "scatter_exch": "v i",
    "scatter_cas": "v i", "scatter_add_kahan": "v i", "assignment": "v i",
    "masked assignment": "on w", "fma": "w v", "select": "on w", "comparison": "v w",
    "dot": "v w", "local array": "v i",
}  # fmt: skip
LINES = """import drjit as dr
from drjit.llvm import Array2f, Bool, Float, UInt
a, b, n = Float(1, 2, 3, 4), Float(1, 2, 3, 4), UInt(0, 0)
i, w = UInt(0, 1, 2), Float(1, 2, 3)
on = Bool(True, False)
v = Float(1, 2)
"""


@pytest.mark.parametrize("name", SIZES)
def test_where_operands_were_made(name: str) -> None:
    with (
        dr.scoped_set_flag(dr.JitFlag.Debug),
        pytest.raises((RuntimeError, ValueError)) as e,
    ):
        exec(compile(LINES + SIZES[name], "sizes.py", "exec"), {})
    first, second = (f"sizes.py:{MADE[key]}" for key in PAIRS[name].split())
    wanted = f"; the first was made at {first}, the second at {second}"
    assert str(e.value).endswith(wanted)
    with pytest.raises((RuntimeError, ValueError)) as e:
        exec(compile(LINES + SIZES[name], "sizes.py", "exec"), {})
    assert "made at" not in str(e.value)


def test_where_an_argument_was_made() -> None:
    program = "dr.switch(i, [lambda x: x, lambda x: x + 1], v)"
    with dr.scoped_set_flag(dr.JitFlag.Debug), pytest.raises(RuntimeError) as e:
        exec(compile(LINES + program, "sizes.py", "exec"), {})
    assert str(e.value).endswith("an incompatible size 2; it was made at sizes.py:6")
    program = (
        "from drjit.llvm import ad\nx = ad.Float(1, 2, 3)\ndr.enable_grad(x)\n"
        "x.grad = v"
    )
    with dr.scoped_set_flag(dr.JitFlag.Debug), pytest.raises(RuntimeError) as e:
        exec(compile(LINES + program, "sizes.py", "exec"), {})
    assert "the first was made at sizes.py:6, the second at sizes.py:8" in str(e.value)


def test_without_debug_mode(capfd: pytest.CaptureFixture[str]) -> None:
    from drjit.llvm import Float

    z = 1 / Float(X)
    dr.eval(z)
    dr.sync_thread()
    assert "not finite" not in capfd.readouterr().err
    assert first_bad(z.numpy()) == first_bad(1 / np.where(X == 0, np.nan, X))
