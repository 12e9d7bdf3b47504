"""Random programs with reductions, differentiated: values have the same bits whether
reductions are part of the kernels of their operands or not. Gradients differ in the
last ones, since a product that is in memory by then is not added by fma; and they agree
with differences along a direction.

FOLD_PROGRAMS is the number of programs, FOLD_SEED where they begin.
"""

from __future__ import annotations

import os
import random
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm.ad import Float64

COUNT = int(os.environ.get("FOLD_PROGRAMS", "60"))
SEED = int(os.environ.get("FOLD_SEED", "0"))

NAMES = ["a", "b", "c"]
# All are smooth but for the maximum, and when they are differentiated, few lanes add to
# one entry.
EXPRESSIONS = [
    "dr.sin({v}) + {v}",
    "{v} * {v}",
    "{v} - {v}",
    "dr.fma({v}, {v}, p)",
    "{v} / (1 + dr.square({v}))",
    "dr.exp(-{v} * {v})",
    "{v} * dr.sum({v}) / size",
    "{v} - dr.mean({v})",
    "{v} / (1 + dr.squared_norm({v}) / size)",
    "{v} + dr.dot({v}, {v}) / size",
    "{v} * dr.std({v} + first)",
    "dr.tanh({v} - dr.max({v}))",
    "dr.cumsum({v}) / size",
    "dr.cumsum({v}, reverse=True) / size",
    "dr.prefix_sum({v}) / size + {v}",
    "dr.block_prefix_sum({v} * {v}, 5)",
    "{v} + dr.sum(dr.block_sum({v}, 5)) / size",
    "{v} - dr.gather(Float64, dr.block_sum({v}, 5), lane // 5) / 5",
    "{v} * dr.gather(Float64, dr.tanh(dr.block_sum({v}, 5) / 5), lane // 5)",
    "{v} + dr.gather(Float64, dr.block_sum({v} * {v}, 5), (size - 1 - lane) // 5)",
    "{v} + dr.sum(dr.gather(Float64, {v}, dr.compress(half))) / size",
    "{v} + Float64(dr.count(half)) / size",
    "{v} * dr.select(lane == dr.argmax(first), 2, 1)",
]


def text_of(number: int) -> str:
    """A function of x (an entry for each lane) and p (one) to a loss."""
    choices = random.Random(number)
    lines = [
        "def f(x, p, first):",
        "    size = len(x)",
        "    lane = dr.arange(dr.uint32_array_t(Float64), size)",
        "    half = first > 0",
        "    a, b, c = x, x * p, dr.sin(x)",
    ]
    for _ in range(choices.randint(3, 9)):
        text = choices.choice(EXPRESSIONS)
        while "{v}" in text:
            text = text.replace("{v}", choices.choice([*NAMES, *NAMES, "x"]), 1)
        lines.append(f"    {choices.choice(NAMES)} = {text}")
    lines.append("    return dr.mean(dr.tanh(a) + dr.sin(b) * dr.tanh(c)), a, b")
    return "\n".join(lines)


def run(text: str, x: Any, p: float, fused: bool) -> list[Any]:
    """Two values on the way to the loss, that, and its gradients by x and p."""
    names: dict[str, Any] = {"dr": dr, "Float64": Float64}
    exec(text, names)
    with dr.scoped_set_flag(dr.JitFlag.FuseReductions, fused):
        own, scale = Float64(x), Float64(p)
        first = Float64(x * 3)
        dr.eval(own, first)
        dr.enable_grad(own, scale)
        loss, a, b = names["f"](own, scale, first)
        dr.backward_from(loss)
        results = [a, b, loss, dr.grad(own), dr.grad(scale)]
        dr.eval(results)
        return [np.array(dr.detach(result)) for result in results]


@pytest.mark.parametrize("number", range(SEED, SEED + COUNT))
def test_programs(number: int) -> None:
    """Fused or not, and against differences."""
    text = text_of(number)
    lanes = (5, 1000, 70000)[number % 3]
    x = np.random.default_rng(number).uniform(-1, 1, lanes)
    fused, apart = (run(text, x, 0.8, fused) for fused in (True, False))
    for name, one, two in zip(("a", "b", "loss"), fused, apart, strict=False):
        assert one.tobytes() == two.tobytes(), f"{name} differs:\n{text}"
    for one, two in zip(fused[3:], apart[3:], strict=True):
        assert np.allclose(one, two, rtol=1e-9, atol=1e-9 * np.abs(one).max()), text
    if "dr.max(" in text:
        return  # another of many lanes may be the largest nearby
    along = np.cos(np.arange(lanes))
    slopes = [slope_of(text, x, along, step) for step in (1e-5, 1e-6)]
    if not np.isclose(*slopes, rtol=1e-3, atol=1e-5):
        return  # too steep for difference quotients
    expected = np.sum(fused[3] * along) + fused[4][0]
    assert np.isclose(slopes[0], expected, rtol=1e-3, atol=1e-5), text


def slope_of(text: str, x: Any, along: Any, step: float) -> float:
    """The difference quotient in a direction, in which p changes, too."""
    ends = [run_value(text, x, along * s, 0.8 + s) for s in (step, -step)]
    return (ends[0] - ends[1]) / (2 * step)


def run_value(text: str, x: Any, shift: Any, p: float) -> float:
    """The loss at x + shift, where what is selected is that of x."""
    names: dict[str, Any] = {"dr": dr, "Float64": Float64}
    exec(text, names)
    return float(names["f"](Float64(x + shift), Float64(p), Float64(x * 3))[0][0])
