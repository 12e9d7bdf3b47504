"""Measures of `@dr.syntax` and of instances, on the package that is imported.

Called by python_bench.py; see there.
"""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from peer_bench import require
from timing import clock, emit, seconds_of

MOST = 256  # iterations of the Mandelbrot set
WIDTH = 512

ESCAPE = """
import drjit as dr

@dr.syntax
def escape(x, y, n, most):
    zx, zy = type(x)(0), type(x)(0)
    while (zx * zx + zy * zy <= 4) & (n < most):
        zx, zy = zx * zx - zy * zy + x, 2 * zx * zy + y
        n += 1
    return n
"""

# Ten lines of the long function: a loop, a conditional and arithmetic.
BLOCK = """
    while n < {turns}:
        x = x * 0.5 + y
        if x > {bound}:
            y = y - 0.25
            n += 2
        else:
            y = y + x * 0.125
            n += 1
    x = x + {bound}
    n = type(n)(0)
"""


def module_of(source: str, folder: str, name: str) -> ModuleType:
    """A module made of source text, in a file, which `@dr.syntax` reads."""
    path = Path(folder) / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def escape_host(x: Any, y: Any) -> Any:
    """The same with NumPy, in single precision."""
    import numpy as np

    zx, zy = np.zeros_like(x), np.zeros_like(x)
    n = np.zeros(x.shape, np.uint32)
    with np.errstate(all="ignore"):
        for _ in range(MOST):
            on = zx * zx + zy * zy <= 4
            new_x, new_y = zx * zx - zy * zy + x, 2 * zx * zy + y
            zx, zy = np.where(on, new_x, zx), np.where(on, new_y, zy)
            n += on
    return n


def measure_mandelbrot(argument: str) -> None:
    """The Mandelbrot set under `@dr.syntax`: ms a frame, with tracing."""
    import drjit as dr
    import numpy as np
    from drjit.llvm import Float, UInt

    i = dr.arange(UInt, WIDTH * WIDTH)
    x = Float(i % WIDTH) * (3 / WIDTH) - 2
    y = Float(i // WIDTH) * (3 / WIDTH) - 1.5
    dr.eval(x, y)
    dr.sync_thread()
    with tempfile.TemporaryDirectory() as folder:
        escape = module_of(ESCAPE, folder, "frames").escape

        def frame() -> Any:
            n = escape(x, y, UInt(0), MOST)
            dr.eval(n)
            dr.sync_thread()
            return n

        start = clock()
        n = frame()
        first = clock() - start
    # A fused multiplication or not decides about single pixels near the border.
    same = np.array(n) == escape_host(np.array(x), np.array(y))
    require(same.mean() > 0.98, f"mandelbrot: {same.mean():.1%} of the pixels agree")
    emit("mandelbrot", "first frame", [first], 1e3, "ms")
    emit("mandelbrot", "another frame", seconds_of(frame), 1e3, "ms")


def measure_decoration(argument: str) -> None:
    """`dr.syntax` of a function of 200 lines: ms."""
    import drjit as dr
    from drjit.llvm import Float, UInt

    blocks = [BLOCK.format(turns=k % 5 + 2, bound=k / 8) for k in range(20)]
    source = "def long(x, y, n):" + "".join(blocks) + "    return x, y\n"
    require(len(source.splitlines()) >= 200, "decoration: too short")
    with tempfile.TemporaryDirectory() as folder:
        long = module_of(source, folder, "long").long
        decorated = dr.syntax(long)
        found = decorated(Float(0.5), Float(0.25), UInt(0))
        expected = long(0.5, 0.25, 0)
        near = all(
            abs(a[0] - b) < 1e-4 * (1 + abs(b))
            for a, b in zip(found, expected, strict=True)
        )
        require(near, f"decoration: {found}, expected {expected}")
        times = seconds_of(lambda: dr.syntax(long))
        emit("decoration", "200 lines", times, 1e3, "ms")


def measure_instances(argument: str) -> None:
    """A call of 10,000 objects, evaluated: ms. The peer has no Python objects in
    arrays: there they are functions of `switch`."""
    import drjit as dr
    import numpy as np
    from drjit.llvm import Float, UInt

    count, lanes = 10000, 1 << 16
    which = dr.arange(UInt, lanes) * 2654435761 % count
    x = dr.arange(Float, lanes) * (1 / lanes)
    dr.eval(which, x)
    call: Callable[[], Any]
    if hasattr(dr, "Instance"):

        class Thing(dr.Instance):  # type: ignore[misc]
            def __init__(self, k: int) -> None:
                self.factor = k / count + 0.5

            def scaled(self, x: Any) -> Any:
                return x * self.factor

        things = [Thing(k) for k in range(count)]
        table = dr.array_t(Thing)(*things)
        chosen = dr.gather(type(table), table, which)
        dr.eval(chosen)

        def call() -> Any:
            return dr.dispatch(chosen, lambda thing, x: thing.scaled(x), x)

    else:
        targets = [lambda x, k=k: x * (k / count + 0.5) for k in range(count)]

        def call() -> Any:
            return dr.switch(which, targets, x)

    def work() -> Any:
        y = call()
        dr.eval(y)
        dr.sync_thread()
        return y

    start = clock()
    y = work()
    first = clock() - start
    host = np.array(x) * (np.array(which) / count + 0.5)
    require(np.allclose(np.array(y), host, rtol=1e-6), "instances: wrong")
    emit("instances", "first call of 10,000", [first], 1e3, "ms")
    emit("instances", "another call", seconds_of(work, total=1), 1e3, "ms")


MEASURES: dict[str, Callable[[str], None]] = {
    "mandelbrot": measure_mandelbrot,
    "decoration": measure_decoration,
    "instances": measure_instances,
}
