"""resample() and convolve(): filters along axes, one axis after the other.

What a pass computes is a product with a sparse matrix (``taps.py``), so its derivatives
are products with the same matrix and with its transpose: gathers, which add in the same
order each time, and no atomic operations. Lanes run along the last axis, which is
contiguous, whatever axis is filtered; other axes come first, and those that shrink most
before the others. Passes read their input from memory. Within loops and calls that are
recorded there is no memory for it, so there each tap of a pass computes the taps of the
pass before.

Half precision is computed in single precision, and rounded once.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import drjit

from .axes import (
    ShapeError,
    axis_tuple,
    check_entries,
    counter,
    gather_whole,
    integer,
    is_array,
    is_dynamic_1d,
    is_tensor,
    run_whole,
    type_name,
)
from .taps import (
    BOUNDARIES,
    FILTERS,
    Table,
    Window,
    Windows,
    half_windows,
    kernel_window,
    make_table,
    resample_windows,
    sampled_window,
    scaled_window,
)

dr: Any = drjit

Name: TypeAlias = Literal["box", "linear", "hamming", "cubic", "lanczos", "gaussian"]
Boundary: TypeAlias = Literal["zero", "nearest", "wrap", "reflect", "mirror"]
Mode: TypeAlias = Literal["evaluated", "symbolic"]
Filter: TypeAlias = Name | Callable[[float], float]

# Up to this many taps are written one by one, others are a loop: of lanes that differ
# in where they read and in their weights, and of those that do not.
_UNROLLED = 64
_UNROLLED_NEAR = 256

# Within recorded code, the largest product of the taps of all axes.
_NESTED = 1024


class _Pass(NamedTuple):
    """Filtering one axis: what make_table() takes, and the place of the axis."""

    outer: int  # entries before the axis
    inner: int  # and after it
    key: tuple[Any, ...]

    def table(self, transposed: bool) -> Table:
        return make_table(*self.key, transposed)

    def result(self, transposed: bool) -> int:
        """The number of its entries."""
        return self.outer * len(self.table(transposed).start) * self.inner


# --------------------------------------------------------------------- what is computed


class _Near(NamedTuple):
    """Rows ``first`` to ``end`` of one sort. The window of row i begins at column
    ``i + shift`` and ends within the axis."""

    first: int
    end: int
    shift: int
    sort: int
    taps: int


def _near(table: Table) -> _Near | None:
    """Such rows around the middle, if they are most: those of a convolution."""
    rows = len(table.start)
    if rows != table.columns or not rows:
        return None
    sort, shift = table.sort[rows // 2], table.start[rows // 2] - rows // 2
    taps = len(table.weights[sort])

    def fits(row: int) -> bool:
        own = table.sort[row] == sort and table.start[row] == row + shift
        return own and row + shift + taps <= table.columns

    first = next(row for row in range(rows) if fits(row))
    end = 1 + next(row for row in range(rows - 1, -1, -1) if fits(row))
    count = end - first
    regular = table.sort[first:end].count(sort) == count and table.start[
        first:end
    ] == list(
        range(first + shift, end + shift)
    )  # so the last window, which fits, is the one that ends last
    if not regular or not taps or 2 * count <= rows:
        return None
    return _Near(first, end, shift, sort, taps)


class _Arrays(NamedTuple):
    """A table in the memory of a backend."""

    start: Any
    sort: Any  # None if there is one sort of rows, or one for each row
    weights: Any  # tap by tap, those of all sorts
    sorts: int
    taps: int
    always: int  # each row has at least this many taps
    counts: Any  # of the taps of each sort; None if all are equal
    usual: int | None  # the sort of most rows, if there are others
    usual_taps: int
    near: _Near | None  # rows next to each other whose windows are, too


def _arrays(key: tuple[Any, ...], transposed: bool, dtype: Any) -> _Arrays:
    """The table in arrays whose numbers are of the type ``dtype``.

    Frozen functions that are being recorded get their own, which they keep.
    """
    if dr.is_jit_v(dtype) and dr.flag(dr.JitFlag.FreezingScope):
        return _make_arrays(key, transposed, dtype)
    return _kept_arrays(key, transposed, dtype)


def _make_arrays(key: tuple[Any, ...], transposed: bool, dtype: Any) -> _Arrays:
    table = make_table(*key, transposed)
    positions = dr.uint32_array_t(dtype)
    taps = table.taps
    padded = [own + (0.0,) * (taps - len(own)) for own in table.weights]
    counts = [len(own) for own in table.weights]
    own_sort = table.sort == list(range(len(table.sort)))
    usual, rows = Counter(table.sort).most_common(1)[0]
    most = len(counts) > 1 and 2 * rows > len(table.sort)
    result = _Arrays(
        positions(table.start),
        None if own_sort or len(padded) == 1 else positions(table.sort),
        dtype([own[k] for k in range(taps) for own in padded]),
        len(padded),
        taps,
        min(counts, default=0),
        None if len(set(counts)) == 1 else positions(counts),
        usual if most else None,
        counts[usual] if most else 0,
        _near(table),
    )
    dr.eval(result)
    return result


_kept_arrays = functools.lru_cache(maxsize=64)(_make_arrays)


def _entries(source: Any, index: Any, active: Any) -> Any:
    if active is None:
        return gather_whole(type(source), source, index)
    return dr.gather(type(source), source, index, active)


def _plus(weight: Any, value: Any, total: Any) -> Any:
    return weight * value if total is None else dr.fma(weight, value, total)


class _Sums:
    """The sums of some lanes of the result of a pass.

    The input is ``read(index, mask)``; a mask ``None`` is that of all lanes.
    """

    def __init__(
        self,
        p: _Pass,
        transposed: bool,
        dtype: Any,
        lane: Any,
        active: Any,
        read: Callable[[Any, Any], Any],
    ) -> None:
        table, self.arrays = p.table(transposed), _arrays(p.key, transposed, dtype)
        self.dtype, self.active, self.read = dtype, active, read
        self.columns, self.inner, self.wraps = table.columns, p.inner, table.wraps
        self.unsigned, self.lane = type(lane), lane
        rows = len(table.start)
        line = lane // p.inner if p.inner > 1 else lane
        self.place = lane - line * p.inner if p.inner > 1 else None
        self.slab = line // rows if p.outer > 1 else None
        self.row = line if self.slab is None else line - self.slab * rows

    def locate(self) -> None:
        """Look up the row of each lane."""
        # Lanes that are masked may be of no row.
        a, row, active = self.arrays, self.row, self.active
        self.start = _entries(a.start, row, active)
        self.sort = row if a.sorts > 1 else self.unsigned(0)
        if a.sort is not None:
            self.sort = _entries(a.sort, row, active)
        elif active is not None:
            self.sort = dr.select(active, self.sort, 0)
        self.count = None
        if a.counts is not None:
            self.count = gather_whole(self.unsigned, a.counts, self.sort)

    def position(self, column: Any) -> Any:
        """The entry of the input in a column of the lane's line."""
        if self.slab is not None:
            column = column + self.slab * self.columns
        return column if self.place is None else column * self.inner + self.place

    def walk(self, start: Any) -> Callable[[Any], Any]:
        """The entries of the input from a column on, by the number of the tap."""
        if not self.wraps:
            base = self.position(start)
            return lambda k: base + k * self.inner

        def wrapped(k: Any) -> Any:
            column = start + k
            beyond = column >= self.columns
            return self.position(dr.select(beyond, column - self.columns, column))

        return wrapped

    def weight(self, k: Any, sort: Any) -> Any:
        a = self.arrays
        return gather_whole(self.dtype, a.weights, sort + k * a.sorts)

    def add(self, k: Any, total: Any, sort: Any, index: Any, ragged: bool) -> Any:
        used = self.active
        if ragged:
            used = k < self.count if used is None else (k < self.count) & used
        return _plus(self.weight(k, sort), self.read(index, used), total)

    def written_out(self) -> Any:
        """Tap by tap, with the weights of each lane."""
        self.locate()
        index, total = self.walk(self.start), None
        for k in range(self.arrays.taps):
            ragged = k >= self.arrays.always
            total = self.add(k, total, self.sort, index(k), ragged)
        return total

    def shifted(self, near: _Near) -> Any:
        """Likewise, where windows lie next to each other as the lanes do.

        What a tap reads is the number of the lane and a distance: a load, if there is a
        lane for each entry. Lanes of other rows are computed on their own.
        """
        inside = self.row - near.first < near.end - near.first  # unsigned: it wraps
        weights = [self.weight(k, self.unsigned(near.sort)) for k in range(near.taps)]

        def add_up() -> Any:
            # In a branch: loads from beyond the array are slow, though masked.
            total = None
            for k, weight in enumerate(weights):
                index = self.lane + (near.shift + k) * self.inner % 2**32
                total = _plus(weight, self.read(index, self.active), total)
            return total

        return self.choose(inside, add_up, self.own_weights)

    def choose(self, condition: Any, a: Callable[[], Any], b: Callable[[], Any]) -> Any:
        """Sums, made in one way or the other."""
        return dr.if_stmt((), condition, a, b, mode="symbolic")

    def usual(self) -> Any:
        """Likewise, with the weights that most rows have.

        These are the same for all lanes, and no lane is masked. So first all lanes are
        computed as if they had them, from entries within the axis, and then those of
        other rows again.
        """
        self.locate()
        a, start, total = self.arrays, self.start, None
        if not self.wraps:
            start = dr.minimum(start, self.columns - a.usual_taps)
        index, sort = self.walk(start), self.unsigned(a.usual)
        for k in range(a.usual_taps):
            total = self.add(k, total, sort, index(k), False)
        return self.choose(self.sort == a.usual, lambda: total, self.own_weights)

    def own_weights(self) -> Any:
        """Of few lanes."""
        return self.looped() if self.arrays.taps > _UNROLLED else self.written_out()

    def looped(self) -> Any:
        """In a loop over the taps."""
        self.locate()
        index, ragged = self.walk(self.start), self.count is not None
        return dr.while_loop(
            (self.unsigned(0), dr.zeros(self.dtype, dr.width(self.lane))),
            lambda k, total: k < self.arrays.taps,
            lambda k, total: (
                k + 1,
                self.add(k, total, self.sort, index(k), ragged),
            ),
            mode="symbolic",
            labels=("tap", "total"),
        )[1]


def _tap_sum(
    p: _Pass,
    transposed: bool,
    dtype: Any,
    lane: Any,
    active: Any,
    mode: Mode | None,
    read: Callable[[Any, Any], Any],
) -> Any:
    """Entries ``lane`` of the result of a pass whose input is ``read(index, mask)``."""
    sums = _Sums(p, transposed, dtype, lane, active, read)
    taps = sums.arrays.taps
    if taps == 0:
        return dr.zeros(dtype, dr.width(lane))
    if not dr.is_jit_v(dtype):
        return sums.written_out()
    near, usual = sums.arrays.near, sums.arrays.usual
    if near is not None and mode != "symbolic" and taps <= _UNROLLED_NEAR:
        return sums.shifted(near)
    if taps > _UNROLLED if mode is None else mode == "symbolic":
        return sums.looped()
    return sums.written_out() if usual is None else sums.usual()


def _reader(source: Any, working: Any) -> Callable[[Any, Any], Any]:
    """Read entries of an array in memory as numbers of the type ``working``."""
    return lambda index, active: working(_entries(source, index, active))


def _in_memory(
    passes: Sequence[_Pass], transposed: bool, flat: Any, working: Any, mode: Any
) -> Any:
    """Each pass reads what the one before has written."""
    unsigned = dr.uint32_array_t(type(flat))
    for p in passes:
        lane = counter(unsigned, p.result(transposed))
        read = _reader(flat, working)
        flat = _tap_sum(p, transposed, working, lane, None, mode, read)
    return flat


def _nested(
    fn: str, passes: Sequence[_Pass], transposed: bool, flat: Any, working: Any
) -> Any:
    """Each pass has the one before compute what it reads."""
    taps = math.prod(p.table(transposed).taps for p in passes)
    if taps > _NESTED:
        raise RuntimeError(
            f"drjit.{fn}(): a result has {taps} taps on all axes together, expected at "
            f"most {_NESTED} within a loop, conditional or call that is being "
            "recorded, as there is no memory for the passes in between"
        )

    def sums(p: _Pass, read: Any) -> Callable[[Any, Any], Any]:
        return lambda lane, active: _tap_sum(
            p, transposed, working, lane, active, None, read
        )

    read = _reader(flat, working)
    for p in passes:
        read = sums(p, read)
    unsigned = dr.uint32_array_t(type(flat))
    return read(counter(unsigned, passes[-1].result(transposed)), None)


def _run(
    fn: str, passes: Sequence[_Pass], transposed: bool, flat: Any, mode: Mode | None
) -> Any:
    """The passes one after the other; transposed, from the last to the first."""
    dtype = type(flat)
    working = dr.float32_array_t(dtype) if dr.is_half_v(dtype) else dtype
    order = passes[::-1] if transposed else passes
    jit = dr.is_jit_v(dtype)
    if jit and dr.detail.any_symbolic(flat):
        raise RuntimeError(
            f"drjit.{fn}(): the input is a variable of a loop, conditional or call "
            "that is being recorded, expected one that is in memory"
        )
    if not jit:
        result = _in_memory(order, transposed, flat, working, mode)
    elif not dr.flag(dr.JitFlag.SymbolicScope):
        # The mask of a conditional or loop that runs at once is about its lanes.
        result = run_whole(flat, _in_memory, order, transposed, flat, working, mode)
    elif len(order) == 1:
        result = _in_memory(order, transposed, flat, working, mode)
    else:
        result = _nested(fn, order, transposed, flat, working)
    return result if type(result) is dtype else dtype(result)


class _Filter(drjit.CustomOp):
    """Passes as an operation: its derivatives are the passes, and the transposed."""

    keeps_constants = True

    def eval(self, flat: Any, fn: str, passes: Any, transposed: bool, mode: Any) -> Any:
        self.how = fn, passes, transposed, mode
        return _run(fn, passes, transposed, flat, mode)

    def _apply(self, flat: Any, transposed: bool) -> Any:
        fn, passes, own, mode = self.how
        return drjit.custom(_Filter, flat, fn, passes, own != transposed, mode)

    def forward(self) -> None:
        self.set_grad_out(self._apply(self.grad_in("flat"), False))

    def backward(self) -> None:
        self.set_grad_in("flat", self._apply(self.grad_out(), True))

    def name(self) -> str:
        return self.how[0]


def _filtered(
    fn: str,
    source: Any,
    shape: Sequence[int],
    passes: Sequence[_Pass],
    mode: Mode | None,
) -> Any:
    flat = source.array if is_tensor(source) else source
    check_entries(fn, math.prod(dr.shape(source)))
    check_entries(fn, math.prod(shape))
    if not passes:
        result = flat
    elif math.prod(shape) == 0:
        result = dr.zeros(type(flat), 0)
    elif dr.is_diff_v(flat) and not dr.flag(dr.JitFlag.SymbolicScope):
        # In recorded code there is no lane for each entry of the input, which the
        # transposed passes would need: its gathers have derivatives of their own.
        result = drjit.custom(_Filter, flat, fn, tuple(passes), False, mode)
    else:
        result = _run(fn, passes, False, flat, mode)
    if mode == "evaluated" and dr.is_jit_v(flat) and not dr.detail.any_symbolic(result):
        dr.eval(result)
    return type(source)(result, tuple(shape)) if is_tensor(source) else result


# ------------------------------------------------------------------- what is asked for


def _check_source(fn: str, source: Any) -> None:
    if not (is_tensor(source) or is_dynamic_1d(source)) or not dr.is_float_v(source):
        raise TypeError(
            f"drjit.{fn}(): the input is of type {type_name(source)}, expected a "
            "tensor or a 1D array of floats"
        )


def _one_of(fn: str, name: str, value: Any, choices: Sequence[Any]) -> None:
    if value not in choices:
        raise ValueError(
            f"drjit.{fn}(): {name!r} is {value!r}, expected one of "
            + ", ".join(map(repr, choices))
        )


def _check_options(fn: str, boundary: Any, mode: Any) -> None:
    _one_of(fn, "boundary", boundary, BOUNDARIES)
    _one_of(fn, "mode", mode, (None, "evaluated", "symbolic"))


def _radius(fn: str, value: Any) -> float:
    if isinstance(value, bool) or not hasattr(value, "__float__") or is_array(value):
        raise TypeError(
            f"drjit.{fn}(): 'filter_radius' is of type {type_name(value)}, expected a "
            "number"
        )
    radius = float(value)
    if not 0 < radius < math.inf:
        raise ValueError(
            f"drjit.{fn}(): 'filter_radius' is {radius:g}, expected a positive number"
        )
    return radius


def _finite(fn: str, what: str, value: Any) -> float:
    if isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
        raise TypeError(
            f"drjit.{fn}(): {what} is of type {type_name(value)}, expected a number"
        )
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(
            f"drjit.{fn}(): {what} is {number:g}, expected a finite number"
        )
    return number


def _checked(fn: str, filter: Callable[[float], float]) -> Callable[[float], float]:
    """The filter, with an error for what is not a finite number."""

    def checked(x: float) -> float:
        return _finite(fn, f"the filter's value at {x:g}", filter(x))

    return checked


def _filter(fn: str, filter: Any) -> tuple[Callable[[float], float], float | None]:
    """A filter's function, and the radius of those that have a name."""
    if isinstance(filter, str):
        _one_of(fn, "filter", filter, tuple(FILTERS))
        return FILTERS[filter]
    if not callable(filter):
        raise TypeError(
            f"drjit.{fn}(): 'filter' is of type {type_name(filter)}, expected a "
            "name, a function"
            + (" or a sequence of numbers" if fn == "convolve" else "")
        )
    return _checked(fn, filter), None


@functools.lru_cache(maxsize=256)
def _named_windows(name: str, columns: int, rows: int) -> Windows:
    return resample_windows(*FILTERS[name], columns, rows)


def _new_shape(source: Any, shape: Any) -> list[int]:
    if isinstance(shape, (str, bytes)) or not isinstance(shape, Sequence):
        raise TypeError(
            f"drjit.resample(): 'shape' is of type {type_name(shape)}, expected a "
            "sequence of integers"
        )
    old = dr.shape(source)
    new = [integer("resample", "shape", size) for size in shape]
    if len(new) != len(old):
        raise ShapeError(
            f"drjit.resample(): 'shape' has {len(new)} elements, expected {len(old)}: "
            "one for each axis of the input"
        )
    for axis, (before, after) in enumerate(zip(old, new, strict=True)):
        if after < 0 or (after == 0) != (before == 0):
            raise ShapeError(
                f"drjit.resample(): 'shape' has the size {after} on axis {axis}, where "
                f"the input has {before} entries, expected "
                + ("a positive number" if before else "0")
            )
    return new


def resample(
    source: Any,
    shape: Sequence[int],
    filter: Filter = "cubic",
    filter_radius: float | None = None,
    boundary: Boundary = "zero",
    mode: Mode | None = None,
) -> Any:
    """Change the resolution of an array or tensor along its axes.

    The weights of each entry of the result add up to 1. Axes are filtered one after the
    other. [Resampling](../resampling.md) compares the filters and boundaries.

    Args:
        source (float array | float tensor): flat array or tensor. Half precision is
            computed in single precision, and rounded once.
        shape (sequence of ints): size of each axis of the result. Axes whose size stays
            are not filtered.
        filter (str | callable): ``"box"``, ``"linear"``, ``"hamming"``, ``"cubic"``,
            ``"lanczos"``, ``"gaussian"``, with the radii 0.5, 1, 1, 2, 3 and 2; or a
            function of the distance that returns a weight, called with Python numbers.
            Distances are in entries of the coarser of the two resolutions. Cubic,
            Hamming and Lanczos filters exceed the range of the input.
        filter_radius (float | None): the distance beyond which a function is not
            called. Only functions have one.
        boundary (str): what is beyond the ends of an axis. ``"zero"``: nothing, and
            without weight; ``"nearest"``: the entry at the end; ``"wrap"``: the axis
            again; ``"reflect"``: the axis reversed; ``"mirror"``: likewise, without the
            entry at the end.
        mode (str | None): ``"symbolic"`` adds up in a recorded loop, ``"evaluated"``
            without one, and evaluates the result. ``None`` makes a loop of more than 64
            taps.

    Returns:
        array | tensor: of the type of ``source``.

    Raises:
        TypeError: ``source`` or another argument has another type.
        ValueError: ``shape`` does not fit, a name or radius is unknown, or the weights
            of a function are not finite or add up to 0.
        RuntimeError: in recorded code, ``source`` is a variable of that, or a result
            needs more than 1,024 taps.

    Derivative:
        The same weights, transposed, in a fixed order and without atomic operations.

    Evaluation:
        ``source`` is evaluated, and so is what comes between axes. The last axis is
        traced.

    Example:
        >>> x = Float(1, 2, 4, 8)
        >>> dr.resample(x, (2,), "box"), dr.resample(x, (8,), "linear")
        ([1.5, 6], [1, 1.25, 1.75, 2.5, 3.5, 5, 7, 8])

    See also:
        :func:`drjit.convolve`, :func:`drjit.take_interp`
    """
    _check_source("resample", source)
    _check_options("resample", boundary, mode)
    new = _new_shape(source, shape)
    function, radius = _filter("resample", filter)
    if radius is not None and filter_radius is not None:
        raise ValueError(
            f"drjit.resample(): 'filter_radius' is {filter_radius!r}, expected None as "
            f"the filter {filter!r} has a radius"
        )
    if radius is None:
        radius = _radius("resample", filter_radius)
    old = list(dr.shape(source))
    changed = [k for k in range(len(old)) if old[k] != new[k]]
    changed.sort(key=lambda k: new[k] / old[k])
    passes = []
    sizes = list(old)
    for k in changed:
        if isinstance(filter, str):
            windows = _named_windows(filter, old[k], new[k])
        else:
            windows = resample_windows(function, radius, old[k], new[k])
        key = ("resample", old[k], new[k], windows, boundary, True)
        passes.append(_Pass(math.prod(sizes[:k]), math.prod(sizes[k + 1 :]), key))
        sizes[k] = new[k]
    return _filtered("resample", source, new, passes, mode)


def halved(fn: str, flat: Any, shape: Sequence[int]) -> Any:
    """The means of what each entry covers that is twice as large, along all axes but
    the last one: ``max(n // 2, 1)`` entries of n. Array and result are flat."""
    passes, sizes = [], list(shape)
    for k, n in enumerate(shape[:-1]):
        if n > 1:
            key = (fn, n, n // 2, half_windows(n), "zero", False)
            passes.append(_Pass(math.prod(sizes[:k]), math.prod(sizes[k + 1 :]), key))
            sizes[k] = n // 2
    return _filtered(fn, flat, sizes, passes, None)


def _convolution(filter: Any, filter_radius: Any) -> tuple[Window, bool]:
    """The window of a convolution, and whether it is normalized unless asked not to."""
    if callable(filter) or isinstance(filter, str):
        function, radius = _filter("convolve", filter)
        if radius is None:
            reach = _radius("convolve", filter_radius)
            return sampled_window(function, reach), True
        scale = 1.0 if filter_radius is None else _radius("convolve", filter_radius)
        return scaled_window(function, radius, scale), True
    try:
        entries = list(filter)
    except TypeError:
        _filter("convolve", filter)
        raise
    if filter_radius is not None:
        raise ValueError(
            f"drjit.convolve(): 'filter_radius' is {filter_radius!r}, expected None as "
            "the filter is a sequence of numbers"
        )
    if not entries:
        raise ValueError(
            "drjit.convolve(): 'filter' is an empty sequence, expected at least one "
            "number"
        )
    numbers = [
        _finite("convolve", f"entry {k} of 'filter'", entry)
        for k, entry in enumerate(entries)
    ]
    return kernel_window(tuple(numbers)), False


def convolve(
    source: Any,
    filter: Filter | Sequence[float],
    filter_radius: float | None = None,
    axis: int | tuple[int, ...] | None = None,
    boundary: Boundary = "zero",
    normalize: bool | None = None,
    mode: Mode | None = None,
) -> Any:
    """Convolve an array or tensor with a filter along axes.

    Args:
        source (float array | float tensor): flat array or tensor. Half precision is
            computed in single precision, and rounded once.
        filter (str | callable | sequence of floats): the name of a filter of
            :func:`drjit.resample`; a function of the distance in entries, sampled at
            whole ones; or weights, centered as by ``numpy.convolve(..., mode="same")``.
        filter_radius (float | None): with a name, a factor that stretches the filter:
            the standard deviation of ``"gaussian"`` is half of it. With a function, the
            largest distance. Weights have none.
        axis (int | tuple[int, ...] | None): axes, counted from the end if negative;
            ``None``: all.
        boundary (str): what is beyond the ends of an axis: ``"zero"``, ``"nearest"``,
            ``"wrap"``, ``"reflect"`` or ``"mirror"``; see :func:`drjit.resample`.
        normalize (bool | None): divide the weights of each entry of the result by their
            sum, so that constants stay what they are, also near the ends. ``None``:
            weights that are given are not normalized, others are.
        mode (str | None): see :func:`drjit.resample`.

    Returns:
        array | tensor: of the type and shape of ``source``.

    Raises:
        TypeError: ``source`` or another argument has another type.
        ValueError: a name or radius is unknown, an axis is out of bounds, or the filter
            is empty, not finite or cannot be normalized.
        RuntimeError: in recorded code, ``source`` is a variable of that, or a result
            needs more than 1,024 taps.

    Derivative:
        The same weights, transposed, in a fixed order and without atomic operations.

    Evaluation:
        ``source`` is evaluated, and so is what comes between axes. The last axis is
        traced.

    Example:
        >>> x = Float(1, 2, 4, 8)
        >>> dr.convolve(x, [0.25, 0.5, 0.25])
        [1, 2.25, 4.5, 5]
        >>> dr.convolve(x, "gaussian", 2, boundary="nearest")
        [1.43402, 2.53326, 4.54248, 6.67783]

    See also:
        :func:`drjit.resample`
    """
    _check_source("convolve", source)
    _check_options("convolve", boundary, mode)
    window, normalized = _convolution(filter, filter_radius)
    if normalize is not None:
        normalized = bool(normalize)
    shape = list(dr.shape(source))
    axes = tuple(range(len(shape)))
    if axis is not None:
        axes = axis_tuple("convolve", axis, len(shape))
    passes = []
    for k in sorted(axes) if 0 not in shape else ():
        key = ("convolve", shape[k], shape[k], Windows((window,)), boundary, normalized)
        passes.append(_Pass(math.prod(shape[:k]), math.prod(shape[k + 1 :]), key))
    return _filtered("convolve", source, shape, tuple(passes), mode)
