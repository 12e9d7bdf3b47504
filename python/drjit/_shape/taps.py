"""Which entries of an axis a filter combines, and how: the tables behind resample().

A pass of resampling is a product with a sparse matrix. Each of its rows, one for an
entry of the result, has its nonzero entries next to each other::

    row i:   0 ... 0  w[0] w[1] ... w[count - 1]  0 ... 0
                      ^ column start               wraps around if the axis is periodic

Weights come from few sorts of rows: those whose taps are all within the axis have a
period, and those near its ends have weights of their own. So a table has the weights of
each sort once, and is made from a short axis of the same ratio, in whose middle periods
are inserted. The transposed matrix, which derivatives need, is a table as well.

Numbers here are those of Python; nothing depends on array types.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

Window = tuple[int, tuple[float, ...]]  # the first column, and the weights


class Windows(tuple[Window, ...]):
    """Windows of several rows, as a key of caches: hashed once."""

    _hash: int | None = None

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = super().__hash__()
        return self._hash


BOUNDARIES = ("zero", "nearest", "wrap", "reflect", "mirror")


def _box(x: float) -> float:
    return 1.0 if -0.5 < x <= 0.5 else 0.0


def _linear(x: float) -> float:
    return max(1.0 - abs(x), 0.0)


def _sinc(x: float) -> float:
    return math.sin(math.pi * x) / (math.pi * x) if x else 1.0


def _hamming(x: float) -> float:
    return _sinc(x) * (0.54 + 0.46 * math.cos(math.pi * x)) if abs(x) < 1 else 0.0


def _cubic(x: float) -> float:
    """Keys' interpolation with a = -1/2."""
    x = abs(x)
    if x < 1:
        return (1.5 * x - 2.5) * x * x + 1
    return ((-0.5 * x + 2.5) * x - 4) * x + 2 if x < 2 else 0.0


def _lanczos(x: float) -> float:
    return _sinc(x) * _sinc(x / 3) if abs(x) < 3 else 0.0


def _gaussian(x: float) -> float:
    """Standard deviation 1/2, lowered so that it is 0 where it ends."""
    return max(math.exp(-2 * x * x) - math.exp(-8), 0.0)


# The filters by name, and their radius: they are 0 farther from the origin.
FILTERS: dict[str, tuple[Callable[[float], float], float]] = {
    "box": (_box, 0.5),
    "linear": (_linear, 1.0),
    "hamming": (_hamming, 1.0),
    "cubic": (_cubic, 2.0),
    "lanczos": (_lanczos, 3.0),
    "gaussian": (_gaussian, 2.0),
}


class Table(NamedTuple):
    """A sparse matrix as above: ``rows`` is len(start)."""

    columns: int
    start: list[int]  # of each row: its first column
    sort: list[int]  # of each row: its weights are weights[sort]
    weights: list[tuple[float, ...]]
    wraps: bool  # is column 'columns' column 0?

    @property
    def taps(self) -> int:
        """The length of the longest row."""
        return max(map(len, self.weights), default=0)


# -------------------------------------------------------------------------- windows


def resample_windows(
    filter: Callable[[float], float], radius: float, columns: int, rows: int
) -> Windows:
    """The windows of the rows of one period, as if the axis had no ends.

    Entries have size 1 along the axis that is the finer of the two. The filter is
    stretched to entries of the result when these are larger. Centers are computed
    exactly, so that equal phases have equal weights.
    """
    period = rows // math.gcd(columns, rows)
    over, under = Fraction(radius).as_integer_ratio()
    finer = max(columns, rows)
    result = []
    for i in range(period):
        # Twice the position of the center, and of the ends, in units of 1 / rows.
        center = (2 * i + 1) * columns
        middle, reach = (center + rows) * under, 2 * over * finer
        unit = 2 * rows * under
        first, end = (middle - reach) // unit, (middle + reach) // unit
        weights = [
            filter(((2 * j + 1) * rows - center) / (2 * finer))
            for j in range(first, end)
        ]
        result.append((first, tuple(weights)))
    return Windows(result)


@functools.lru_cache(maxsize=64)
def half_windows(columns: int) -> Windows:
    """The windows of ``columns // 2`` rows that are the means of what they cover.

    Of an odd number, each row covers two columns and a part of a third one: the last
    row ends where the last column does.
    """
    rows = columns // 2
    if columns % 2 == 0:
        return Windows(((0, (0.5, 0.5)),))
    return Windows(
        (2 * i, tuple(part / columns for part in (rows - i, rows, i + 1)))
        for i in range(rows)
    )


def scaled_window(
    filter: Callable[[float], float], radius: float, scale: float
) -> Window:
    """The window of row 0 of a convolution with a filter that is stretched."""
    reach = Fraction(radius) * Fraction(scale)
    first, end = math.floor(1 - reach), math.floor(1 + reach)
    return first, tuple(filter(j / scale) for j in range(first, end))


def sampled_window(filter: Callable[[float], float], radius: float) -> Window:
    """The window of row 0 of a convolution with samples of a filter."""
    reach = math.floor(radius)
    return -reach, tuple(filter(float(-j)) for j in range(-reach, reach + 1))


def kernel_window(kernel: tuple[float, ...]) -> Window:
    """The window of row 0 of a convolution with numbers, as NumPy centers it."""
    return (len(kernel) - 1) // 2 - len(kernel) + 1, kernel[::-1]


# --------------------------------------------------------------------------- tables


def _inside(boundary: str, column: int, columns: int) -> int:
    """The column that stands for one beyond the ends; -1: none does."""
    if 0 <= column < columns:
        return column
    if boundary == "nearest":
        return 0 if column < 0 else columns - 1
    if boundary == "wrap":
        return column % columns
    if boundary == "reflect":
        column %= 2 * columns
        return min(column, 2 * columns - 1 - column)
    if boundary == "mirror":
        period = max(2 * columns - 2, 1)
        column %= period
        return min(column, period - column)
    return -1


def _row(entries: dict[int, float], columns: int, wraps: bool) -> Window:
    """The shortest window of what a row has in its columns."""
    used = sorted(column for column, weight in entries.items() if weight != 0)
    if not used:
        return 0, ()
    start = used[0]
    if wraps:
        # It begins after the largest gap.
        gaps = [(used[k] - used[k - 1]) % columns for k in range(len(used))]
        start = used[gaps.index(max(gaps))]
    count = 1 + max((column - start) % columns for column in used)
    columns_of = ((start + k) % columns for k in range(count))
    return start, tuple(entries.get(column, 0.0) for column in columns_of)


def _normalized(
    fn: str, row: int, columns: int, entries: dict[int, float]
) -> dict[int, float]:
    total = math.fsum(entries.values())
    size = math.fsum(map(abs, entries.values()))
    if not abs(total) > 1e-9 * size:
        raise ValueError(
            f"drjit.{fn}(): the weights of entry {row} of an axis add up to {total:g}, "
            f"expected a filter that can be normalized: of the {columns} entries of "
            f"the input, it uses {sum(w != 0 for w in entries.values())}"
        )
    return {column: weight / total for column, weight in entries.items()}


def _assemble(rows: list[Window], columns: int, wraps: bool) -> Table:
    known: dict[tuple[float, ...], int] = {}
    sort = [known.setdefault(weights, len(known)) for _, weights in rows]
    return Table(columns, [start for start, _ in rows], sort, list(known), wraps)


def _transposed(table: Table) -> Table:
    entries: list[dict[int, float]] = [{} for _ in range(table.columns)]
    for row, (start, sort) in enumerate(zip(table.start, table.sort, strict=True)):
        for k, weight in enumerate(table.weights[sort]):
            entries[(start + k) % table.columns][row] = weight
    count = len(table.start)
    rows = [_row(own, count, table.wraps) for own in entries]
    return _assemble(rows, count, table.wraps)


def _stretched(table: Table, period: tuple[int, int], half: int, more: int) -> Table:
    """Insert ``more`` periods of (rows, columns) after the first ``half`` ones."""
    high, wide = period
    count, offset = len(table.start), more * wide
    start = []
    for row, first in enumerate(table.start):
        # A row in one half whose window wraps around begins in the other.
        lag = first - row * wide // high
        later = (row >= half * high) + (2 * lag > table.columns)
        later -= -2 * lag > table.columns
        start.append(first + offset * (later > 0))
    cut = half * high
    middle = table.start[cut : cut + high]
    new = [first + k * wide for k in range(more) for first in middle]
    sort = table.sort[:cut] + table.sort[cut : cut + high] * more + table.sort[cut:]
    start = start[:cut] + new + start[cut:]
    assert len(start) == count + more * high
    return Table(table.columns + offset, start, sort, table.weights, table.wraps)


@functools.lru_cache(maxsize=64)
def make_table(
    fn: str,
    columns: int,
    rows: int,
    windows: Windows,
    boundary: str,
    normalize: bool,
    transposed: bool = False,
) -> Table:
    """The table of an axis of ``columns`` entries whose result has ``rows``.

    ``windows`` are those of the first rows, which repeat themselves. Errors:
    ValueError, naming the function ``fn``, if weights that add up to 0 are to be
    normalized.
    """
    high = len(windows)
    periods = rows // high
    wide = columns // periods
    wraps = boundary == "wrap"
    # Both ends, and as much in between, of an axis that has enough.
    reach = max(abs(first) + len(weights) for first, weights in windows)
    few = min(periods, 8 * (reach // wide + 2))
    short = few * wide
    result = []
    for row in range(few * high):
        period, phase = divmod(row, high)
        first = windows[phase][0] + period * wide
        entries: dict[int, float] = {}
        for k, weight in enumerate(windows[phase][1]):
            column = _inside(boundary, first + k, short)
            if column >= 0:
                entries[column] = entries.get(column, 0.0) + weight
        if normalize:
            entries = _normalized(fn, row, short, entries)
        result.append(_row(entries, short, wraps))
    table = _assemble(result, short, wraps)
    shape = (high, wide)
    if transposed:
        table = _transposed(table)
        shape = (wide, high)
    return _stretched(table, shape, few // 2, periods - few)
