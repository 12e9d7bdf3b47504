"""What the programs beside this one share: a clock, and pictures by matplotlib.

Without matplotlib the programs compute and print the same, and say how to install it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from typing import Any


def clock(function: Callable[[], Any]) -> tuple[Any, float]:
    """What a function returns, and the milliseconds that it took."""
    start = time.perf_counter()
    result = function()
    return result, (time.perf_counter() - start) * 1e3


def verdict(ok: bool, text: str) -> int:
    """Say whether a result is as expected; the exit status of the program."""
    print(f"{'as' if ok else 'NOT as'} expected: {text}")
    return 0 if ok else 1


def matplotlib(part: str) -> Any:
    """A module of matplotlib; where that is missing, None and a line that says so."""
    try:
        return import_module(f"matplotlib.{part}")
    except ModuleNotFoundError:
        print("no picture without matplotlib: python -m pip install matplotlib")
        return None


def pixels(image: Any, width: int) -> Any:
    """Rows of pixels, as matplotlib wants them: gray of one array, colors of three."""
    values = image.numpy()
    rows = values.T.reshape(-1, width, *values.shape[:-1])
    return rows.clip(0, 1) if values.ndim == 2 else rows


def show(axes: Any, title: str, image: Any, **options: Any) -> None:
    """Show pixels, without the numbers at the sides."""
    axes.imshow(image, **options)
    axes.set(title=title, xticks=[], yticks=[])


def draw(path: str, plot: Callable[[Any], None], width: float, height: float) -> None:
    """Have a function draw on a figure, whose size is in inches, and write it."""
    module = matplotlib("figure")
    if module:
        figure = module.Figure(figsize=(width, height), layout="constrained")
        plot(figure)
        figure.savefig(path)
        print(f"the picture is in {path}")


def save(path: str, image: Any, width: int, **options: Any) -> None:
    """Write one image, pixel by pixel."""
    module = matplotlib("image")
    if module:
        module.imsave(path, pixels(image, width), **options)
        print(f"the picture is in {path}")
