"""Rays through regular grids, cell by cell: a digital differential analyzer (DDA).

J. Amanatides and A. Woo, A Fast Voxel Traversal Algorithm for Ray Tracing. Eurographics
1987. Here the distances to the planes of a cell are not added up along the way, but
computed from the number of the cell: nothing drifts, and all that a loop carries is
integers, so that the reverse derivative of a sum along a ray needs no tape.

Positions and directions have their components in the order x, y, z; the shape of a grid
and the numbers of its cells are in the order z, y, x, as those of tensors are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import drjit

from ._errors import ShapeError

dr: Any = drjit

__all__ = ["dda", "integrate", "integrate_ref"]

StateT = TypeVar("StateT")

# Entries that the private copies of a volume's gradient may have together (256 MB).
_COPIES = 1 << 26

# The two nodes of Gauss and Legendre in [0, 1], with which cubic polynomials, as
# trilinear interpolants along a line are, have an exact integral.
_NODES = (0.5 - math.sqrt(1 / 12), 0.5 + math.sqrt(1 / 12))


class _Ray(NamedTuple):
    """The part of a ray within a grid, in cells, from where it enters (t = 0); t is a
    length in space."""

    o: Any
    d: Any
    length: Any  # the t where it leaves the grid, or ends
    res: Any  # integers, in the order x, y, z
    active: Any  # is there such a part?


class _Cell(NamedTuple):
    """What a ray has in common with a cell."""

    index: Any  # in the order x, y, z
    t_in: Any
    t_out: Any
    p_in: Any  # from the cell's lower corner
    p_out: Any


# ------------------------------------------------------------------ arguments


def _vector_type(where: str, name: str, value: Any) -> Any:
    cls = type(value)
    if (
        not dr.is_array_v(value)
        or not dr.is_vector_v(cls)
        or not dr.is_float_v(cls)
        or dr.size_v(cls) == dr.Dynamic
        or dr.depth_v(cls) != (2 if dr.is_jit_v(cls) else 1)
    ):
        raise TypeError(
            f"drjit.dda.{where}(): {name!r} is of type {cls.__name__}, expected an "
            "array of floats with a component for each dimension, as Array3f"
        )
    return cls


def _check_entries(where: str, name: str, value: Any, cls: Any) -> None:
    """Refuse arrays of another precision, which would be rounded silently."""
    if not isinstance(value, float | int) and dr.is_array_v(value):
        found, expected = dr.type_v(value), dr.type_v(cls)
        if found != expected:
            raise TypeError(
                f"drjit.dda.{where}(): {name!r} has entries of type {found.name}, "
                f"expected {expected.name} as those of 'ray_o'"
            )


def _common_type(where: str, ray_o: Any, ray_d: Any, others: dict[str, Any]) -> Any:
    """The type of positions: with derivatives if any of the arguments has them."""
    cls = _vector_type(where, "ray_o", ray_o)
    size, found = dr.size_v(cls), dr.size_v(_vector_type(where, "ray_d", ray_d))
    if found != size:
        raise ShapeError(
            f"drjit.dda.{where}(): 'ray_d' has {found} components, expected {size} as "
            "'ray_o'"
        )
    for name, value in {"ray_d": ray_d, **others}.items():
        _check_entries(where, name, value, cls)
        if dr.is_jit_v(value):
            cls = dr.expr_t(cls, dr.leaf_t(type(value)))
    return cls


def _convert(where: str, name: str, cls: Any, value: Any) -> Any:
    """A vector, from one, a number for all dimensions or a sequence."""
    size = dr.size_v(cls)
    vector = dr.is_array_v(value) and dr.depth_v(value) == dr.depth_v(cls)
    if (vector or isinstance(value, list | tuple)) and len(value) != size:
        raise ShapeError(
            f"drjit.dda.{where}(): {name!r} has {len(value)} components, expected "
            f"{size} as 'ray_o'"
        )
    return cls(value)


def _mask(where: str, leaf: Any, active: Any) -> Any:
    if not isinstance(active, bool) and not (
        dr.is_mask_v(active) and dr.depth_v(active) <= 1
    ):
        raise TypeError(
            f"drjit.dda.{where}(): 'active' is of type {type(active).__name__}, "
            "expected a mask"
        )
    return dr.mask_t(leaf)(active)


# ------------------------------------------------------------------ rays


def _reciprocal(d: Any) -> Any:
    """1 / d, or 0 where that is infinite: along an axis where a ray stays in place."""
    parallel = dr.abs(d) < dr.smallest(type(d))
    return dr.select(parallel, 0, dr.rcp(dr.select(parallel, 1, d)))


def _span(o: Any, d: Any, ray_max: Any, res: Any) -> tuple[Any, Any]:
    """Where a ray enters the box of the grid and where it leaves it, or ends."""
    inv = _reciprocal(d)
    lower, upper = -o * inv, (res - o) * inv
    parallel = inv == 0
    near = dr.max(dr.select(parallel, -dr.inf, dr.minimum(lower, upper)))
    far = dr.min(dr.select(parallel, dr.inf, dr.maximum(lower, upper)))
    return dr.maximum(near, 0), dr.minimum(far, ray_max)


def _hits(o: Any, d: Any, ray_max: Any, res: Any) -> Any:
    """Does a ray touch the box of the grid?"""
    near, far = _span(o, d, ray_max, res)
    parallel = _reciprocal(d) == 0
    inside = ~parallel | ((o >= 0) & (o <= res))
    finite = dr.isfinite(o) & dr.isfinite(d) & (res > 0)
    # The second comparison is for NaN, which a minimum passes over.
    return dr.all(finite & inside) & (near <= far) & (near < ray_max)


def _unit(d: Any) -> tuple[Any, Any]:
    """Direction and length of a vector, NaN and 0 if it is 0; no overflow."""
    largest = dr.detach(dr.max(dr.abs(d)))
    d = d / largest
    norm = dr.norm(d)
    return d / norm, norm * largest


def _in_cells(
    ray: tuple[Any, Any, Any], low: Any, high: Any, res: Any
) -> tuple[Any, Any, Any]:
    """Origin and direction in cells, which takes unit steps in space; the end."""
    o, d, ray_max = ray
    scale = res / (high - low)
    d, norm = _unit(d)
    return (o - low) * scale, d * scale, ray_max * norm


def _enter(
    where: str,
    cls: Any,
    ray: tuple[Any, Any, Any],
    grid: tuple[Any, Any, Any],
    active: Any,
) -> _Ray:
    """Cut a ray (origin, direction, end) to a grid: extents (in the order x, y, z),
    lower and upper bound."""
    leaf = dr.value_t(cls)
    ints, low, high = grid
    low = _convert(where, "grid_min", cls, low)
    high = _convert(where, "grid_max", cls, high)
    ray = cls(ray[0]), cls(ray[1]), leaf(ray[2])
    res = dr.detach(cls(ints))
    extent = dr.detach(high - low)
    solid = dr.isfinite(extent) & (extent != 0)
    bounds = dr.select(solid, dr.detach(low), 0), dr.select(solid, dr.detach(high), 1)
    active = _mask(where, leaf, active) & dr.all(solid)
    active &= _hits(*_in_cells(dr.detach(ray), *bounds, res), res)
    # Where there is nothing to do, harmless numbers: derivatives of infinities are NaN.
    ray_o, ray_d, ray_max, low, high = (
        dr.select(active, value, instead)
        for value, instead in zip((*ray, low, high), (0, 1, 0, 0, 1), strict=True)
    )
    o, d, end = _in_cells((ray_o, ray_d, ray_max), low, high, res)
    near, _ = _span(o, d, end, res)
    start = o + d * near
    o = dr.replace_grad(dr.clip(dr.detach(start), 0, res), start)
    # From there on: the rest of a ray from afar is not a difference of large numbers.
    inv = _reciprocal(d)
    ways = dr.select(inv == 0, dr.inf, (dr.select(d > 0, res, 0) - o) * inv)
    length = dr.minimum(dr.min(ways), end - near)
    return _Ray(o, d, length, ints, active & (length > 0))


def _walk(
    ray: _Ray,
    visit: Callable[[Any, _Cell, Any], tuple[Any, Any]],
    state: Any,
    label: str,
    mode: Any,
    max_iterations: int | None,
) -> Any:
    """Call a function for each cell on the way: state, cell, mask -> state, go on?"""
    o, d, length, res = ray[:4]
    forward, backward = d > 0, d < 0
    ints: Any = type(res)
    cls = type(o)
    inv = _reciprocal(d)
    # Planes are at their distance, or at infinity (a term that is 0 otherwise).
    away = dr.select(inv == 0, cls(dr.inf), 0)
    ahead, behind = dr.select(forward, cls(1), 0), dr.select(backward, cls(1), 0)
    step = dr.select(forward, ints(1), dr.select(backward, ints(-1), 0))
    stop = dr.select(forward, res, ints(-1))
    position = dr.detach(o)
    first = dr.select(backward, dr.ceil(position) - 1, dr.floor(position))

    def body(state: Any, index: Any, active: Any) -> tuple[Any, Any, Any]:
        corner = cls(index)
        t_in = dr.maximum(dr.max(dr.fma(corner + behind - o, inv, -away)), 0)
        planes = dr.fma(corner + ahead - o, inv, away)
        t_out = dr.minimum(dr.min(planes), length)
        p_in, p_out = dr.fma(d, t_in, o) - corner, dr.fma(d, t_out, o) - corner
        cell = _Cell(index, t_in, t_out, p_in, p_out)
        state, go_on = visit(state, cell, active)
        index = dr.select(planes <= t_out, index + step, index)
        active = active & go_on & (t_out < length) & dr.all(index != stop)
        return state, index, active

    start = state, dr.clip(ints(first), 0, res - 1), ray.active
    return dr.while_loop(
        start,
        lambda state, index, active: active,
        body,
        labels=("state", "index", "active"),
        label=label,
        mode=mode,
        max_iterations=max_iterations,
    )[0]


def dda(
    ray_o: Any,
    ray_d: Any,
    ray_max: Any,
    grid_res: Any,
    grid_min: Any,
    grid_max: Any,
    func: Callable[[StateT, Any, Any, Any, Any], tuple[StateT, Any]],
    state: StateT,
    active: Any,
    mode: str | None = None,
    max_iterations: int | None = None,
) -> StateT:
    """Call a function for each cell of a grid that a ray goes through, in order.

    All rays are followed at once, in a :func:`drjit.while_loop`, in any number of
    dimensions. Where a ray goes through an edge or a corner, it takes the step along
    all of these axes at once; a ray in the plane between two cells is in the upper one;
    what lies in a face of the grid is inside. [Rays through grids](../dda.md) has all
    rules.

    Args:
        ray_o (array): origins, ``ArrayNf`` of any precision and number of components.
        ray_d (array): directions, likewise.
        ray_max (float | array): where rays end, as a multiple of ``ray_d``; may be
            infinite.
        grid_res (integer array | sequence | int): cells along each axis, **in the order
            z, y, x**.
        grid_min (float | array | sequence): lower bounds of the grid (x, y, z).
        grid_max (float | array | sequence): upper bounds. Where one is below the lower
            one, cells are counted from above.
        func (Callable): ``func(state, index, p_in, p_out, active)``: ``index`` is that
            of the cell, ``ArrayNu`` **in the order z, y, x**; ``p_in`` and ``p_out``
            are where the ray enters and leaves it, ``ArrayNf`` from 0 to 1 within the
            cell (x, y, z). It returns the next state and a mask: where that is false,
            the ray ends.
        state (PyTree): the state at first; in ``drjit.scalar`` any object.
        active (mask | bool): rays to follow.
        mode (str | None): how the loop is run, see :func:`drjit.while_loop`.
        max_iterations (int | None): bound for reverse derivatives, likewise. A ray
            visits at most as many cells as the extents of the grid add up to.

    Returns:
        PyTree: the last state. Of rays that have no part of positive length in the grid
        it is ``state``: those that miss it, that are empty (``ray_max <= 0``, a
        direction of zeros), that have NaN or infinity in their coordinates or bounds;
        all rays, if the grid has no cells or no volume.

    Raises:
        TypeError: an input is of another type, or floats have different precisions.
        ValueError: another number of components.

    Derivative:
        Through ``p_in`` and ``p_out`` to all inputs that are floats, and through
        ``func``. A state that is only added to needs no bound in reverse mode.

    Source:
        J. Amanatides and A. Woo, "A Fast Voxel Traversal Algorithm for Ray Tracing",
        1987.

    Example:
        >>> from drjit.dda import dda
        >>> def count(cells, index, p_in, p_out, active):
        ...     return cells + 1, True
        >>> dda(ray_o=Array2f(-1, [0.1, 0.6, 2]), ray_d=Array2f(1, [0, 0.1, 0]),
        ...     ray_max=dr.inf, grid_res=Array2u(4, 5), grid_min=0, grid_max=1,
        ...     func=count, state=UInt(0), active=True)
        [5, 6, 0]

    See also:
        :func:`drjit.dda.integrate`
    """
    bounds = {"ray_max": ray_max, "grid_min": grid_min, "grid_max": grid_max}
    cls = _common_type("dda", ray_o, ray_d, bounds)
    res = _resolution(cls, grid_res)
    grid = res, grid_min, grid_max
    ray = _enter("dda", cls, (ray_o, ray_d, ray_max), grid, active)
    numbers = dr.uint32_array_t(cls)

    def visit(state: Any, cell: _Cell, active: Any) -> tuple[Any, Any]:
        index = numbers([*cell.index][::-1])
        return func(state, index, _within(cell.p_in), _within(cell.p_out), active)

    result: StateT = _walk(ray, visit, state, "dda", mode, max_iterations)
    return result


def _within(p: Any) -> Any:
    """A position in a cell, without rounding errors beyond; derivatives go through."""
    return dr.replace_grad(dr.clip(dr.detach(p), 0, 1), p)


def _resolution(cls: Any, grid_res: Any) -> Any:
    """The extents of a grid, in the order x, y, z."""
    number = isinstance(grid_res, int) and not isinstance(grid_res, bool)
    sequence = isinstance(grid_res, list | tuple)
    if not (
        number or sequence or (dr.is_array_v(grid_res) and dr.is_integral_v(grid_res))
    ):
        raise TypeError(
            f"drjit.dda.dda(): 'grid_res' is of type {type(grid_res).__name__}, "
            "expected an array of integers with a component for each dimension"
        )
    res = _convert("dda", "grid_res", dr.int32_array_t(cls), grid_res)
    return type(res)([*res][::-1])


# ------------------------------------------------------------------ integrals


class _Volume:
    """Samples on a grid, interpolated in the cells between them."""

    def __init__(self, where: str, cls: Any, vol: Any) -> None:
        size = dr.size_v(cls)
        if not dr.is_tensor_v(vol) or isinstance(vol, type):
            raise TypeError(
                f"drjit.dda.{where}(): 'vol' is of type {type(vol).__name__}, expected "
                "a tensor"
            )
        if size > 3:
            raise ShapeError(
                f"drjit.dda.{where}(): 'ray_o' has {size} components, expected up to 3"
            )
        if len(vol.shape) != size or min(vol.shape) < 2:
            raise ShapeError(
                f"drjit.dda.{where}(): 'vol' has the shape {tuple(vol.shape)}, "
                f"expected {size} extents, one for each component of 'ray_o', of at "
                "least 2"
            )
        self._leaf = dr.value_t(cls)
        self._values = self._leaf(vol.array) if dr.is_jit_v(cls) else vol.array
        # The distances of neighbours along x, y, z.
        self._strides = [math.prod(vol.shape[k:]) for k in range(size, 0, -1)]
        self.res = dr.int32_array_t(cls)([extent - 1 for extent in vol.shape[::-1]])
        self._longest = max(vol.shape)
        self._mode = dr.ReduceMode.Auto

    def choose_mode(self, rays: int) -> None:
        """How the gradient of this many rays is added up: cell by cell, and so often
        that a copy for each thread, which is filled and folded, pays in the end."""
        entries = dr.width(self._values) * dr.thread_count()
        writes = rays * self._longest << len(self._strides)
        if entries <= min(writes, _COPIES):
            self._mode = dr.ReduceMode.Expand

    def corners(self, index: Any, active: Any) -> list[Any]:
        """The samples at the corners of a cell; the first number is that of x."""
        base = sum(i * s for i, s in zip(index, self._strides, strict=True))
        base = dr.uint32_array_t(self._leaf)(base)
        offsets = [0]
        for stride in self._strides:
            offsets += [offset + stride for offset in offsets]
        return [
            dr.gather(self._leaf, self._values, base + offset, active, mode=self._mode)
            for offset in offsets
        ]


def _interpolate(corners: list[Any], p: Any) -> Any:
    for x in p:
        pairs = zip(corners[::2], corners[1::2], strict=True)
        corners = [dr.fma(b - a, x, a) for a, b in pairs]
    return corners[0]


def integrate(
    ray_o: Any,
    ray_d: Any,
    ray_max: Any,
    grid_min: Any,
    grid_max: Any,
    vol: Any,
    active: Any = None,
    mode: str | None = None,
) -> Any:
    """Integrate an interpolated volume along rays, exactly but for rounding.

    Linear interpolation makes of the samples a function in space, which is zero
    outside. The integral is over length, whatever that of ``ray_d`` is.

    Args:
        ray_o (array): origins, ``Array1f`` to ``Array3f`` of any precision.
        ray_d (array): directions, likewise.
        ray_max (float | array): where rays end, as a multiple of ``ray_d``; may be
            infinite.
        grid_min (float | array | sequence): where the first samples lie (x, y, z).
        grid_max (float | array | sequence): where the last samples lie. (Textures have
            both half a texel inside of their bounds.)
        vol (tensor): samples, with an extent for each component of ``ray_o`` **in the
            order z, y, x**, at least 2 each, and entries of the same type.
        active (mask | None): rays to follow, ``None`` for all; others get 0.
        mode (str | None): how the loop is run, see :func:`drjit.while_loop`.

    Returns:
        array: an entry for each ray; 0 where :func:`drjit.dda.dda` visits no cell.

    Raises:
        TypeError: an input is of another type or precision.
        ValueError: another number of components or extents, or an extent below 2.

    Derivative:
        With respect to all inputs that are floats, of any order, forward and reverse.
        Reverse mode is one loop, without a tape.

    Example:
        >>> from drjit.dda import integrate
        >>> vol = TensorXf([[0, 1, 2], [3, 4, 5]])  # rows at y = 0 and y = 1
        >>> integrate(Array2f(-1, [0, 0.5, 1, 2]), Array2f(1, 0), dr.inf, 0, 1, vol)
        [1, 2.5, 4, 0]

    See also:
        :func:`drjit.dda.dda`
    """
    ray, volume, total = _prepare(
        "integrate", ray_o, ray_d, ray_max, (grid_min, grid_max), vol, active
    )

    def visit(total: Any, cell: _Cell, active: Any) -> tuple[Any, Any]:
        corners = volume.corners(cell.index, active)
        way = cell.p_out - cell.p_in
        a, b = (_interpolate(corners, dr.fma(way, node, cell.p_in)) for node in _NODES)
        return dr.fma(cell.t_out - cell.t_in, a + b, total), True

    total = _walk(ray, visit, total, "integrate", mode, -1)
    return total * 0.5


def integrate_ref(
    ray_o: Any,
    ray_d: Any,
    ray_max: Any,
    grid_min: Any,
    grid_max: Any,
    vol: Any,
    n_samples: int,
) -> Any:
    """Integrate by the trapezoidal rule: a reference for :func:`drjit.dda.integrate`.

    The samples are at equal distances on the part of each ray that lies within the
    grid. The error is of the order ``1 / n_samples**2``.

    Args:
        ray_o, ray_d, ray_max: rays, as for :func:`drjit.dda.integrate`.
        grid_min, grid_max: bounds, likewise.
        vol (tensor): samples of the volume, likewise.
        n_samples (int): how many samples for each ray, 2 or more.

    Returns:
        array: an entry for each ray.

    Raises:
        TypeError: an input is of another type or precision.
        ValueError: another number of components or extents, or ``n_samples`` is not an
            integer of 2 or more.

    Derivative:
        With respect to all inputs that are floats.

    Example:
        >>> from drjit.dda import integrate, integrate_ref
        >>> vol = TensorXf(dr.square(dr.arange(Float, 24)), (2, 3, 4))
        >>> ray = Array3f(-0.1, -0.2, 0.3), Array3f(1, 1.5, 0.3), dr.inf, 0, 1
        >>> integrate(*ray, vol)
        [192.982]
        >>> integrate_ref(*ray, vol, 3), integrate_ref(*ray, vol, 300)
        ([197.153], [192.982])
    """
    if isinstance(n_samples, bool) or not isinstance(n_samples, int) or n_samples < 2:
        raise ValueError(
            f"drjit.dda.integrate_ref(): 'n_samples' is {n_samples!r}, expected an "
            "integer that is 2 or more"
        )
    ray, volume, total = _prepare(
        "integrate_ref", ray_o, ray_d, ray_max, (grid_min, grid_max), vol, None
    )
    leaf = dr.value_t(type(ray.o))
    numbers = dr.uint32_array_t(leaf)
    last = n_samples - 1

    def sample(k: Any, total: Any) -> tuple[Any, Any]:
        p = ray.o + ray.d * (ray.length * (leaf(k) * (1 / last)))
        index = dr.clip(type(ray.res)(dr.detach(p)), 0, ray.res - 1)
        value = _interpolate(volume.corners(index, ray.active), p - type(p)(index))
        weight = dr.select((k == 0) | (k == last), leaf(0.5), 1)
        return k + 1, total + value * weight

    _, total = dr.while_loop(
        (numbers(0), total),
        lambda k, total: k <= last,
        sample,
        labels=("k", "total"),
        label="integrate_ref",
        max_iterations=-1,
    )
    return dr.select(ray.active, total * ray.length * (1 / last), 0)


def _prepare(
    where: str,
    ray_o: Any,
    ray_d: Any,
    ray_max: Any,
    bounds: tuple[Any, Any],
    vol: Any,
    active: Any,
) -> tuple[_Ray, _Volume, Any]:
    """The rays in a volume, the volume, and a sum to begin with."""
    names = {"ray_max": ray_max, "grid_min": bounds[0], "grid_max": bounds[1]}
    cls = _common_type(where, ray_o, ray_d, {**names, "vol": vol})
    volume = _Volume(where, cls, vol)
    active = True if active is None else active
    grid = (volume.res, *bounds)
    ray = _enter(where, cls, (ray_o, ray_d, ray_max), grid, active)
    rays = dr.width(ray.active)
    volume.choose_mode(rays)
    return ray, volume, dr.zeros(dr.value_t(cls), rays)
