"""The programs of examples/python with control flow, on small pictures."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm import Float64

FOLDER = Path(__file__).resolve().parent.parent.parent / "examples/python"
LOOPS = dr.JitFlag.SymbolicLoops | dr.JitFlag.SymbolicConditionals
LOOPS |= dr.JitFlag.SymbolicCalls


@pytest.fixture(autouse=True)
def folder() -> Iterator[None]:
    sys.path.insert(0, str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))


def test_mandelbrot() -> None:
    program: Any = importlib.import_module("mandelbrot")
    x, y = dr.meshgrid(dr.linspace(Float64, -2, 1, 24), dr.linspace(Float64, -1, 1, 16))
    turns = program.escape(x, y).numpy()
    with dr.scoped_set_flag(LOOPS, False):
        assert np.array_equal(turns, program.escape(x, y).numpy())
    for cx, cy, found in zip(x.numpy(), y.numpy(), turns, strict=True):
        z, c, turn = 0j, complex(cx, cy), 0
        while turn < program.TURNS:
            z = z * z + c
            turn += 1
            if abs(z) ** 2 > 100:
                smooth = turn + 1 - np.log2(np.log2(abs(z) ** 2) / 2)
                assert found == pytest.approx(smooth, rel=1e-5)
                break
        else:
            assert found == 0


def test_nbody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program: Any = importlib.import_module("nbody")
    monkeypatch.setattr(program, "STARS", 64)
    monkeypatch.setattr(program, "STEPS", 5)
    stars = program.start()
    x = stars.x.numpy().T.astype(float)
    d = x[None] - x[:, None]
    weight = ((d * d).sum(axis=2) + program.SOFTENING**2) ** -1.5
    expected = (d * weight[:, :, None]).sum(axis=1) / 64
    found = program.acceleration(stars.x, stars.x).numpy().T
    assert np.allclose(found, expected, rtol=1e-4, atol=1e-6)
    monkeypatch.setattr(sys, "argv", ["nbody.py", str(tmp_path / "nbody.png")])
    assert program.main() == 0
    assert (tmp_path / "nbody.png").read_bytes().startswith(b"\x89PNG")


def test_path_tracer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Symbolic and evaluated mode give the same bits."""
    program: Any = importlib.import_module("path_tracer")
    monkeypatch.setattr(program, "WIDTH", 24)
    monkeypatch.setattr(program, "HEIGHT", 16)
    scene = program.make_scene()
    symbolic = program.render(scene, 5).numpy()
    with dr.scoped_set_flag(LOOPS, False):
        assert np.array_equal(symbolic, program.render(scene, 5).numpy())
    mean = np.mean([program.render(scene, seed).numpy() for seed in range(8)], axis=0)
    picture = mean.mean(axis=0).reshape(16, 24)
    assert np.isfinite(picture).all() and picture.min() >= 0
    assert picture[:3].mean() > 0.7  # the sky
    assert 0.2 < picture[-3:].mean() < 0.8  # the ground
