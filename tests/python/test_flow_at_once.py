"""Bodies of conditionals and loops that run at once: what they do with whole arrays is
not about their lanes, whose mask is on the mask stack, and may have another size."""

import io
from collections.abc import Callable
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm import Array3f as PlainArray3f
from drjit.llvm import Float as PlainFloat
from drjit.llvm.ad import Array2f, Array3f, Bool, Float, TensorXf, UInt

LANES = 6


def within(work: Callable[[], Any], construct: str = "if_stmt") -> Any:
    """What ``work`` returns in a body of which two lanes of six take part."""
    found = []

    def body(x: Any) -> Any:
        found.append(work())
        return x + 10

    x = dr.arange(Float, LANES)
    if construct == "if_stmt":
        dr.if_stmt((x,), x < 2, body, lambda x: x, mode="evaluated")
    else:
        dr.while_loop((x,), lambda x: x < 2, lambda x: (body(x),), mode="evaluated")
    assert len(found) == 1
    return found[0]


def numbers(size: int) -> Any:
    return dr.arange(Float, size) * 1.5 + 1


def grid(rows: int, columns: int) -> Any:
    return TensorXf(numbers(rows * columns), (rows, columns))


def assigned() -> Any:
    tensor = grid(2, 5)
    tensor[:, 1:3] = 0
    return tensor


def scattered() -> Any:
    target = dr.zeros(Float, 8)
    dr.scatter(target, Float(1, 2, 3), UInt(7, 0, 4))
    dr.scatter_add(target, Float(5, 6, 7), UInt(0, 0, 4))
    return target


def entry_written() -> Any:
    array = numbers(4)
    array[2] = 9
    return array


# What is computed, and how NumPy computes it, with as many entries as lanes or others.
N = lambda size: np.arange(size, dtype=np.float32) * np.float32(1.5) + 1  # noqa: E731
G = lambda rows, columns: N(rows * columns).reshape(rows, columns)  # noqa: E731
WHOLE: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "reverse": (lambda: dr.reverse(numbers(6)), lambda: N(6)[::-1]),
    "reverse, 4": (lambda: dr.reverse(numbers(4)), lambda: N(4)[::-1]),
    "reverse, axis": (lambda: dr.reverse(grid(3, 2), 0), lambda: G(3, 2)[::-1]),
    "tile": (lambda: dr.tile(numbers(3), 2), lambda: np.tile(N(3), 2)),
    "tile, 8": (lambda: dr.tile(numbers(4), 2), lambda: np.tile(N(4), 2)),
    "repeat": (lambda: dr.repeat(numbers(3), 2), lambda: np.repeat(N(3), 2)),
    "repeat, each": (
        lambda: dr.repeat(numbers(3), UInt(1, 2, 3)),
        lambda: np.repeat(N(3), [1, 2, 3]),
    ),
    "concat": (
        lambda: dr.concat((numbers(4), numbers(2))),
        lambda: np.concatenate((N(4), N(2))),
    ),
    "concat, axis": (
        lambda: dr.concat((grid(2, 3), grid(2, 1)), axis=1),
        lambda: np.concatenate((G(2, 3), G(2, 1)), axis=1),
    ),
    "ravel": (lambda: dr.ravel(Array3f(numbers(2))), lambda: np.repeat(N(2), 3)),
    "ravel, 6": (
        lambda: dr.ravel(Array2f(numbers(6), 0), order="C"),
        lambda: np.concatenate((N(6), 0 * N(6))),
    ),
    "unravel": (
        lambda: dr.unravel(Array2f, numbers(12)),
        lambda: N(12).reshape(6, 2).T,
    ),
    "tensor": (lambda: TensorXf(Array2f(numbers(3))), lambda: np.stack([N(3)] * 2)),
    "rows": (lambda: grid(4, 3)[1:3], lambda: G(4, 3)[1:3]),
    "columns": (lambda: grid(3, 4)[:, ::2], lambda: G(3, 4)[:, ::2]),
    "columns, 8": (lambda: grid(4, 4)[:, ::2], lambda: G(4, 4)[:, ::2]),
    "index": (lambda: grid(4, 3)[UInt(3, 0)], lambda: G(4, 3)[[3, 0]]),
    "slice": (lambda: numbers(12)[::2], lambda: N(12)[::2]),
    "broadcast": (
        lambda: grid(1, 3) + grid(2, 1),
        lambda: G(1, 3) + G(2, 1),
    ),
    "sum, axis 0": (lambda: dr.sum(grid(2, 6), axis=0), lambda: G(2, 6).sum(0)),
    "sum, axis 0 of 3": (lambda: dr.sum(grid(2, 3), axis=0), lambda: G(2, 3).sum(0)),
    "sum, axis 1": (lambda: dr.sum(grid(6, 2), axis=1), lambda: G(6, 2).sum(1)),
    "sum": (lambda: dr.sum(numbers(6)), lambda: N(6).sum(keepdims=True)),
    "maximum": (lambda: dr.max(grid(6, 2), axis=0), lambda: G(6, 2).max(0)),
    "cumsum": (lambda: dr.cumsum(numbers(6)), lambda: N(6).cumsum()),
    "cumsum, axis": (
        lambda: dr.cumsum(grid(3, 2), axis=0),
        lambda: G(3, 2).cumsum(0),
    ),
    "sort": (lambda: dr.sort(-numbers(6)), lambda: np.sort(-N(6))),
    "sort, axis": (lambda: dr.sort(-grid(2, 3), axis=0), lambda: np.sort(-G(2, 3), 0)),
    "argsort": (lambda: dr.argsort(-numbers(6)), lambda: np.arange(6)[::-1]),
    "moveaxis": (lambda: dr.moveaxis(grid(3, 2), 0, 1), lambda: G(3, 2).T),
    "take": (
        lambda: dr.take(grid(3, 2), UInt(2, 0), axis=0),
        lambda: G(3, 2)[[2, 0]],
    ),
    "meshgrid": (
        lambda: dr.meshgrid(numbers(3), numbers(2))[1],
        lambda: np.meshgrid(N(3), N(2))[1].ravel(),
    ),
    "compress": (lambda: dr.compress(numbers(6) > 3), lambda: np.arange(2, 6)),
    "matmul": (lambda: grid(3, 2) @ grid(2, 2), lambda: G(3, 2) @ G(2, 2)),
    "numpy": (lambda: numbers(6).numpy(), lambda: N(6)),
    "entries": (lambda: Float(list(numbers(6))), lambda: N(6)),
    "gather": (lambda: dr.gather(Float, numbers(9), UInt(8, 2)), lambda: N(9)[[8, 2]]),
    "scatter": (scattered, lambda: [13, 0, 0, 0, 10, 0, 0, 1]),
    "entry": (entry_written, lambda: [1, 2.5, 9, 5.5]),
    "assignment": (
        assigned,
        lambda: np.where([False, True, True, False, False], 0, G(2, 5)),
    ),
}


@pytest.mark.parametrize("construct", ["if_stmt", "while_loop"])
@pytest.mark.parametrize("name", WHOLE)
def test_whole_arrays(name: str, construct: str) -> None:
    work, expected = WHOLE[name]
    result, right = within(work, construct), np.asarray(expected())
    assert np.array_equal(np.asarray(result), right)
    assert np.array_equal(np.asarray(work()), right)  # as outside


@pytest.mark.parametrize("name", ["reverse", "tile", "ravel", "columns", "sum, axis 0"])
def test_derivatives_of_whole_arrays(name: str) -> None:
    """Each gradient is that of the same operation outside."""
    shapes: dict[str, tuple[int, Callable[[Any], Any]]] = {
        "reverse": (6, dr.reverse),
        "tile": (3, lambda x: dr.tile(x, 2)),
        "ravel": (2, lambda x: dr.ravel(Array3f(x))),
        "columns": (12, lambda x: TensorXf(x, (3, 4))[:, ::2].array),
        "sum, axis 0": (12, lambda x: dr.sum(TensorXf(x, (2, 6)), axis=0).array),
    }
    size, function = shapes[name]

    def gradient(inside: bool) -> Any:
        x = numbers(size)
        dr.enable_grad(x)
        y = within(lambda: function(x)) if inside else function(x)
        dr.backward(y * dr.arange(Float, dr.width(y)) * y)
        return dr.grad(x).numpy()

    right = gradient(False)
    assert right.any() and np.array_equal(gradient(True), right)


def test_lanes_are_masked() -> None:
    """Accesses with as many lanes as the body has are those of lanes that take part."""
    table, target = numbers(9), dr.zeros(Float, 9)
    far = dr.select(dr.arange(UInt, LANES) < 2, 3, 1 << 30)  # of lanes that do not

    def work() -> Any:
        dr.scatter_add(target, Float(1), far)
        return dr.gather(Float, table, far)

    assert np.array_equal(within(work), [5.5, 5.5, 0, 0, 0, 0])
    assert np.array_equal(target, [0, 0, 0, 2, 0, 0, 0, 0, 0])


def test_constructs_of_other_sizes_within() -> None:
    """Recorded ones in a body that runs at once."""
    x = numbers(3)

    def work() -> Any:
        y = dr.if_stmt(
            (x,), x > 2, lambda x: dr.gather(Float, x, UInt(2, 1, 0)), dr.abs
        )
        z = dr.while_loop((x,), lambda x: x < 9, lambda x: (x * 2,))[0]
        w = dr.switch(UInt(0, 1, 0), [lambda x: x + 1, lambda x: x * 2], x)
        return np.stack([y.numpy(), z.numpy(), w.numpy()])

    right = [[1, 2.5, 1], [16, 10, 16], [2, 5, 5]]
    assert np.array_equal(within(work), right)
    assert np.array_equal(within(work, "while_loop"), right)
    assert np.array_equal(work(), right)


def test_frozen_functions_keep_sizes_apart() -> None:
    """A recording with another size than that of the lanes does not serve theirs."""

    @dr.freeze
    def function(x: Any, table: Any) -> Any:
        out = []

        def side(x: Any) -> Any:
            lane = dr.arange(UInt, dr.width(table))
            out.append(dr.gather(Float, table, lane) + 1)
            return x

        dr.if_stmt((x,), x < 2, side, lambda x: x, mode="evaluated")
        return out[0]

    x = dr.arange(Float, LANES)
    for size in (4, 5, 6, 7, 6, 4):
        result, right = function(x, numbers(size)), N(size) + 1
        if size == LANES:
            right[2:] = 1
        assert np.array_equal(result, right), size


# ---------------------------------------------------------------- print


def printed(work: Callable[[Any], Any]) -> str:
    file = io.StringIO()
    within(lambda: work(file))
    dr.eval()
    return file.getvalue()


@pytest.mark.parametrize("mode", ["auto", "evaluated", "symbolic"])
def test_print_selects_among_lanes_that_take_part(mode: str) -> None:
    lanes = dr.arange(UInt, LANES)

    def work(file: Any) -> None:
        kwargs: dict[str, Any] = {"mode": mode, "file": file}
        dr.print("{}", lanes, **kwargs)
        dr.print("{}", lanes, active=lanes > 0, **kwargs)
        dr.print("{}", lanes, active=lanes > 3, **kwargs)
        dr.print("{}", UInt(7, 8, 9), active=Bool(True, False, True), **kwargs)
        dr.print("{} {}", numbers(2), PlainFloat(1, 2, 3), **kwargs)

    assert printed(work) == "[0, 1, 2, 3, 4, 5]\n[1]\n[7, 9]\n[1, 2.5] [1, 2, 3]\n"


def test_print_of_long_arrays() -> None:
    text = printed(lambda file: dr.print("{}", dr.arange(UInt, 40), file=file))
    assert text == "[0, 1, 2, .. 34 skipped .., 37, 38, 39]\n"
    text = printed(
        lambda file: dr.print(
            "{}", PlainArray3f(1, 2, dr.arange(PlainFloat, 30)), file=file, limit=6
        )
    )
    assert text.startswith("[[1, 2, 0],\n [1, 2, 1],") and text.endswith(
        "[1, 2, 29]]\n"
    )
