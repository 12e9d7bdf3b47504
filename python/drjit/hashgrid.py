"""Encodings of positions by tables of features: hash grids, permutohedral lattices.

A level is a lattice, a grid of cells or of simplices. The features of the vertices
around a position are interpolated, and those of all levels are the result. A level
whose vertices fit has one entry of its table for each; otherwise they share entries,
which a hash of their coordinates selects.

T. Müller et al., "Instant Neural Graphics Primitives with a Multiresolution Hash
Encoding", 2022. R. A. Rosu and S. Behnke, "PermutoSDF: Fast Multi-View Reconstruction
with Implicit Surfaces using Permutohedral Lattices", 2023.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any, ClassVar

import drjit

from ._components import common_type, flatten
from ._errors import ShapeError
from ._matvec import wide_gradient

if TYPE_CHECKING:
    from drjit.random import Generator

dr: Any = drjit

__all__ = ["HashEncoding", "HashGridEncoding", "PermutoEncoding"]

# Factors of the coordinates in the hash of a grid's vertex. Those of T. Müller et al.
# for the first three, of their program for the first seven.
_FACTORS = (
    1,
    2654435761,
    805459861,
    3674653429,
    2097192037,
    1434869437,
    2165219737,
)
# The factor in the hash of a lattice's vertex, as in R. A. Rosu's program.
_LINEAR = 2531011
_MODULUS = 1 << 32
# The finest resolution of a level, as a power of two.
_MOST_BITS = 31


def div_round_up(num: int, divisor: int) -> int:
    """num / divisor, rounded up, for integers."""
    return -(-num // divisor)


def next_multiple(num: int, multiple: int) -> int:
    """The least multiple that is not less than ``num``."""
    return div_round_up(num, multiple) * multiple


def cosine_ramp(x: Any) -> Any:
    """(1 - cos(π x)) / 2: from 0 to 1 with x, and flat at both ends."""
    return 0.5 - 0.5 * dr.cos(math.pi * x)


def _check_number(where: str, name: str, value: Any, least: Any, whole: bool) -> None:
    """Check a number of a constructor."""
    kind = int if whole else int | float
    if isinstance(value, bool) or not isinstance(value, kind):
        raise TypeError(
            f"drjit.hashgrid.{where}(): {name!r} is of type {type(value).__name__}, "
            f"expected {'an int' if whole else 'a number'}"
        )
    largest = sys.float_info.max
    if not least <= value <= largest:
        found = f"more than {largest:.1e}" if largest < value < math.inf else value
        raise ShapeError(
            f"drjit.hashgrid.{where}(): {name!r} is {found}, expected a number of at "
            f"least {least} within the range of floats"
        )


def _check_finest(where: str, base: int, scale: float, levels: int) -> None:
    """Coordinates of vertices are integers of 32 bits: more are all the last vertex."""
    bits = math.log2(base) + (levels - 1) * math.log2(scale)
    if bits > _MOST_BITS:
        raise ShapeError(
            f"drjit.hashgrid.{where}(): the finest level has the resolution "
            f"2^{bits:.1f}, expected at most 2^{_MOST_BITS}: 'base_resolution' is "
            f"2^{math.log2(base):.1f}, 'per_level_scale' {scale:g}, 'n_levels' {levels}"
        )


def _storage(where: str, dtype: Any) -> Any:
    """The type of the parameters."""
    if (
        not isinstance(dtype, type)
        or not dr.is_jit_v(dtype)
        or not dr.is_float_v(dtype)
    ):
        name = dtype.__name__ if isinstance(dtype, type) else repr(dtype)
        raise TypeError(
            f"drjit.hashgrid.{where}(): 'dtype' is {name}, expected a type of arrays "
            "of floats of a just-in-time backend"
        )
    return dr.leaf_t(dtype)


class HashEncoding:
    """Base class of encodings of positions by tables of features.

    Each level of an encoding is a lattice, a grid of cells or of simplices. The
    features of the vertices around a position are interpolated; those of all levels,
    coarse ones first, are the result. A level whose vertices fit in its table has one
    entry for each; otherwise they share entries, which a hash of their coordinates
    selects. So the detail is in a table that can be learnt, and a small network that
    takes the features is enough. Use a subclass: this class has no lattice.

    Level l has the scale s = base_resolution * per_level_scale^l - 1, and r = ceil(s) +
    1 vertices along an axis. Its table has min(r^dimension, hashmap_size) entries (the
    former rounded up to a multiple of ``n_features_per_level``) of
    ``n_features_per_level`` parameters each. All are in one flat array, level after
    level, in the order of the published package, so that parameters can be exchanged
    (unless s is an integer up to rounding, as for powers of 3, which decides on r).

    ``encoding(p, active=True)`` gives the features of positions in [0, 1], an
    ``ArrayXf`` of ``n_output_features`` components. Positions are a nested array of
    ``dimension`` components, a tensor of shape (dimension, N), a
    :class:`drjit.nn.CoopVec` or a sequence; lanes that the mask switches off get 0.
    Beyond the domain, entries of a level repeat in some order; infinite positions and
    NaN give NaN.

    Encodings are PyTrees. An optimiser has ``params`` as one parameter, and
    ``set_params()`` takes it back.

    Args:
        dtype (type): type of the parameters, an array type of floats of a just-in-time
            backend.
        dimension (int): components of a position.
        n_levels (int): how many lattices.
        n_features_per_level (int): features of a vertex. Up to four are read at a time,
            eight by two reads and so on; other odd numbers take one read for each.
        hashmap_size (int): most entries that the table of a level has, a multiple of
            ``n_features_per_level``. Powers of two are reduced fastest.
        base_resolution (int): resolution of the first level.
        per_level_scale (float): how much finer each level is than the one before, 1 or
            more. The finest has a resolution of at most 2^31.
        align_corners (bool): the corners of the domain [0, 1] are vertices. Otherwise
            all vertices lie half a cell lower, and positions in the last half cell use
            entries of other vertices, too.
        torchngp_compat (bool): place vertices as tiny-cuda-nn does: half a cell lower,
            whatever ``align_corners`` is.
        smooth_weight_gradients (bool): the derivative of the weight w of a vertex with
            respect to positions is that of w + smooth_weight_lambda (1 - cos(π w)) / 2,
            which changes less from cell to cell. Values stay as they are.
        smooth_weight_lambda (float): how much so, 0 or more.
        init_scale (float): parameters are drawn from [-init_scale, init_scale) at
            first; at most half of the largest number of their type.
        rng (Generator | None): what they are drawn from, ``dr.rng()`` if it is not
            given.

    Raises:
        TypeError: an argument is of another type.
        ValueError: a number is out of range, or there are 2^32 parameters or more.

    Derivative:
        Features have derivatives of all orders with respect to positions and
        parameters. Gradients of parameters of half precision add up in single
        precision.

    Evaluation:
        The constructor computes the parameters. Calls are traced.

    Example:
        >>> from drjit.hashgrid import HashEncoding, HashGridEncoding
        >>> grid = HashGridEncoding(Float, 2, n_levels=3, hashmap_size=64,
        ...                         base_resolution=4)
        >>> isinstance(grid, HashEncoding), grid.n_output_features
        (True, 6)
        >>> [grid.level_offset(level) for level in range(4)]
        [0, 16, 80, 144]

    See also:
        :class:`drjit.hashgrid.HashGridEncoding`,
        :class:`drjit.hashgrid.PermutoEncoding`
    """

    __module__ = "drjit.hashgrid"

    # The settings decide what is recorded, so they are fields as well.
    DRJIT_STRUCT: ClassVar[dict[str, Any]] = {
        "data": object,
        "_dimension": int,
        "_n_levels": int,
        "_n_features_per_level": int,
        "_hashmap_size": int,
        "_base_resolution": int,
        "_per_level_scale": float,
        "_align_corners": bool,
        "_torchngp_compat": bool,
        "_smooth_weight_gradients": bool,
        "_smooth_weight_lambda": float,
    }
    _title: ClassVar[str] = "HashEncoding"

    data: Any  #: The parameters.

    def __init__(
        self,
        dtype: Any,
        dimension: int,
        *,
        n_levels: int = 16,
        n_features_per_level: int = 2,
        hashmap_size: int = 2**19,
        base_resolution: int = 16,
        per_level_scale: float = 2,
        align_corners: bool = False,
        torchngp_compat: bool = False,
        smooth_weight_gradients: bool = False,
        smooth_weight_lambda: float = 1.0,
        init_scale: float = 1e-4,
        rng: Generator | None = None,
    ) -> None:
        where = type(self).__name__
        storage = _storage(where, dtype)
        for name, value, least, whole in (
            ("dimension", dimension, 1, True),
            ("n_levels", n_levels, 1, True),
            ("n_features_per_level", n_features_per_level, 1, True),
            ("hashmap_size", hashmap_size, 1, True),
            ("base_resolution", base_resolution, 1, True),
            ("per_level_scale", per_level_scale, 1, False),
            ("smooth_weight_lambda", smooth_weight_lambda, 0, False),
            ("init_scale", init_scale, 0, False),
        ):
            _check_number(where, name, value, least, whole)
        _check_finest(where, base_resolution, per_level_scale, n_levels)
        if 2 * init_scale > dr.largest(storage):
            raise ShapeError(
                f"drjit.hashgrid.{where}(): 'init_scale' is {init_scale}, expected at "
                f"most half of {dr.largest(storage)}, the largest {storage.__name__}"
            )
        if hashmap_size % n_features_per_level:
            raise ShapeError(
                f"drjit.hashgrid.{where}(): 'hashmap_size' is {hashmap_size}, expected "
                f"a multiple of 'n_features_per_level', {n_features_per_level}"
            )
        if rng is not None and not isinstance(rng, dr.random.Generator):
            raise TypeError(
                f"drjit.hashgrid.{where}(): 'rng' is of type {type(rng).__name__}, "
                "expected a generator as dr.rng() makes them"
            )
        self._dimension = dimension
        self._n_levels = n_levels
        self._n_features_per_level = n_features_per_level
        self._hashmap_size = hashmap_size
        self._base_resolution = base_resolution
        self._per_level_scale = float(per_level_scale)
        self._align_corners = bool(align_corners)
        self._torchngp_compat = bool(torchngp_compat)
        self._smooth_weight_gradients = bool(smooth_weight_gradients)
        self._smooth_weight_lambda = float(smooth_weight_lambda)
        self._init_scale = init_scale
        if self.n_params >= _MODULUS:
            raise ShapeError(
                f"drjit.hashgrid.{where}(): there are {self.n_params} parameters, "
                "expected less than 2^32"
            )
        rng = dr.rng() if rng is None else rng
        numbers = rng.random(storage, self.n_params)
        self.data = storage(numbers * (2 * init_scale) - init_scale)
        dr.make_opaque(self.data)

    # ------------------------------------------------------ settings

    @property
    def dtype(self) -> Any:
        """The type of the parameters, a flat array type."""
        return type(self.data)

    @property
    def dimension(self) -> int:
        """The number of components of a position."""
        return self._dimension

    @property
    def n_levels(self) -> int:
        """The number of levels."""
        return self._n_levels

    @property
    def n_features_per_level(self) -> int:
        """The number of features of a vertex."""
        return self._n_features_per_level

    @property
    def n_output_features(self) -> int:
        """The number of features of a position, of all levels together."""
        return self._n_levels * self._n_features_per_level

    @property
    def hashmap_size(self) -> int:
        """How many entries the table of a level has at most."""
        return self._hashmap_size

    @property
    def base_resolution(self) -> int:
        """The resolution of the first level."""
        return self._base_resolution

    @property
    def per_level_scale(self) -> float:
        """How much finer each level is than the one before."""
        return self._per_level_scale

    @property
    def align_corners(self) -> bool:
        """Are the corners of [0, 1] vertices?"""
        return self._align_corners

    @property
    def torchngp_compat(self) -> bool:
        """Are vertices placed as tiny-cuda-nn does?"""
        return self._torchngp_compat

    @property
    def smooth_weight_gradients(self) -> bool:
        """Do derivatives of weights have a smooth part?"""
        return self._smooth_weight_gradients

    @property
    def smooth_weight_lambda(self) -> float:
        """The factor of that smooth part."""
        return self._smooth_weight_lambda

    @property
    def init_scale(self) -> float:
        """The bound of the absolute value of parameters at first."""
        return self._init_scale

    # ------------------------------------------------------ parameters

    @property
    def n_params(self) -> int:
        """The number of parameters, of all levels together."""
        return self.level_offset(self._n_levels) * self._n_features_per_level

    @property
    def params(self) -> Any:
        """The parameters, a flat array; assigning to it is ``set_params()``."""
        return self.data

    @params.setter
    def params(self, values: Any) -> None:
        self.set_params(values)

    def set_params(self, values: Any) -> None:
        """Replace the parameters.

        Args:
            values (array): a flat array of ``n_params`` entries, as precise as before.
                It is taken as it is: gradients reach it.

        Raises:
            TypeError: an array of another type.
            ValueError: another number of entries.
        """
        where = f"drjit.hashgrid.{type(self).__name__}.set_params()"
        cls = type(values)
        if (
            not dr.is_jit_v(cls)
            or dr.is_tensor_v(cls)
            or dr.depth_v(cls) != 1
            or dr.type_v(cls) != dr.type_v(self.data)
        ):
            raise TypeError(
                f"{where}: the parameters are of type {cls.__name__}, expected "
                f"{type(self.data).__name__}"
            )
        if len(values) != self.n_params:
            raise ShapeError(
                f"{where}: there are {len(values)} parameters, expected {self.n_params}"
            )
        self.data = values

    # ------------------------------------------------------ levels

    def _level_scale(self, level: int) -> float:
        exponent = level * math.log2(self._per_level_scale)
        return float(self._base_resolution * 2.0**exponent - 1)

    def _resolution(self, level: int) -> int:
        return math.ceil(self._level_scale(level)) + 1

    def _is_dense(self, level: int) -> bool:
        """Has each vertex of [0, 1] an entry of its own?"""
        vertices: int = self._resolution(level) ** self._dimension
        return vertices <= self._hashmap_size

    def _level_size(self, level: int) -> int:
        """The number of entries of a level's table."""
        if not self._is_dense(level):
            return self._hashmap_size
        vertices = self._resolution(level) ** self._dimension
        size = next_multiple(vertices, self._n_features_per_level)
        return min(size, self._hashmap_size)

    def level_offset(self, level_i: int) -> int:
        """Return the number of table entries of the levels before a given one.

        The first parameter of the level has that index times ``n_features_per_level``.

        Args:
            level_i (int): a level, or ``n_levels`` for the number of all entries.
        """
        return sum(map(self._level_size, range(level_i)))

    def _factors(self) -> list[int]:
        """Factors of the coordinates in the hash."""
        raise NotImplementedError(
            f"drjit.hashgrid.{type(self).__name__}: the class has no hash, expected "
            "HashGridEncoding or PermutoEncoding"
        )

    @staticmethod
    def _join(a: Any, b: Any) -> Any:
        """The hash of two products of coordinates and factors."""
        return a + b

    def _steps(self, level: int) -> list[int]:
        """By how much an index changes along each axis, before it is reduced."""
        if not self._is_dense(level):
            return self._factors()
        resolution = self._resolution(level)
        return [resolution**axis for axis in range(self._dimension)]

    def _combined(self, level: int, a: Any, b: Any) -> Any:
        return a + b if self._is_dense(level) else self._join(a, b)

    def _entry(self, level: int, index: Any) -> Any:
        """The entry of an index before it is reduced: one of that level, always."""
        size = self._level_size(level)
        own = index & (size - 1) if size & (size - 1) == 0 else index % size
        return own + self.level_offset(level)

    def _products(self, key: Any, steps: list[int]) -> list[Any]:
        return [k * step for k, step in zip(key, steps, strict=True)]

    def _checked_key(self, where: str, key: Any) -> list[Any]:
        found = list(key)
        if len(found) < self._dimension:
            raise ShapeError(
                f"drjit.hashgrid.{type(self).__name__}.{where}(): the key has "
                f"{len(found)} components, expected {self._dimension}"
            )
        index = dr.uint32_array_t(type(self.data))
        return [index(k) for k in found[: self._dimension]]

    def hash(self, key: Any) -> Any:
        """Return the hash of a vertex, a ``UInt``.

        Args:
            key (array | sequence): the coordinates of the vertex, integers; further
                ones are ignored.

        Raises:
            ValueError: there are fewer than ``dimension``.
        """
        products = self._products(self._checked_key("hash", key), self._factors())
        found = products[0]
        for product in products[1:]:
            found = self._join(found, product)
        return found

    def indexing_function(self, key: Any, level_i: int) -> Any:
        """Return the table entry that a vertex of a level has, a ``UInt``.

        Its parameters begin at ``n_features_per_level`` times that.

        Args:
            key (array | sequence): the coordinates of the vertex, as for ``hash()``.
            level_i (int): the level.

        Raises:
            ValueError: there are fewer than ``dimension`` coordinates.
        """
        key = self._checked_key("indexing_function", key)
        products = self._products(key, self._steps(level_i))
        index = products[0]
        for product in products[1:]:
            index = self._combined(level_i, index, product)
        return self._entry(level_i, index)

    # ------------------------------------------------------ evaluation

    def _position(self, where: str, p: Any) -> list[Any]:
        """The components of a position, in the type in which to compute."""
        found: list[Any] = []
        flatten(where, p, found)
        if len(found) != self._dimension:
            raise ShapeError(
                f"{where}(): the position has {len(found)} components, expected "
                f"{self._dimension}"
            )
        storage = type(self.data)
        leaf = common_type(where, [*found, storage()] if _all_numbers(found) else found)
        if not dr.is_float_v(leaf):
            raise TypeError(
                f"{where}(): the position has components of type {leaf.__name__}, "
                "expected floats"
            )
        double = dr.VarType.Float64
        kinds = dr.type_v(leaf), dr.type_v(storage)
        leaf = dr.diff_array_t(leaf) if dr.is_diff_v(storage) else leaf
        wide = dr.float64_array_t if double in kinds else dr.float32_array_t
        return [wide(leaf)(component) for component in found]

    def __call__(self, p: Any, active: Any = True) -> Any:
        """Return the features of positions.

        Beyond the domain [0, 1], entries of a level repeat in some order; infinite
        positions and NaN give NaN. Only parameters of the level are ever read.

        Args:
            p (array | tensor | CoopVec | sequence): ``dimension`` components: a nested
                array, a tensor of shape (dimension, N), a :class:`drjit.nn.CoopVec`, or
                a sequence of arrays and numbers.
            active (mask | bool): lanes that read; the others get 0.

        Returns:
            array: an ``ArrayXf`` of ``n_output_features`` components, level after
            level, with entries of the type of the parameters. Weights and sums are of
            single precision, or double if positions or parameters are.

        Raises:
            TypeError: positions are not floats, or ``active`` is not a mask.
            ValueError: another number of components.
        """
        where = f"drjit.hashgrid.{type(self).__name__}.__call__"
        position = self._position(where, p)
        leaf = type(position[0])
        if active is not True:
            if not isinstance(active, bool) and not (
                dr.is_mask_v(active) and dr.depth_v(active) <= 1
            ):
                raise TypeError(
                    f"{where}(): 'active' is of type {type(active).__name__}, expected "
                    "a mask"
                )
            active = dr.mask_t(leaf)(active)
            position = [dr.select(active, x, 0) for x in position]
        found = []
        shadow = wide_gradient(self.data)
        for level in range(self._n_levels):
            features = [leaf(0)] * self._n_features_per_level
            for index, own in self._vertices(level, position):
                weight = self._smooth(own)
                values = self._features(shadow, self._entry(level, index), active)
                features = [
                    dr.fma(weight, leaf(value), total)
                    for value, total in zip(values, features, strict=True)
                ]
            found.extend(features)
        storage = dr.replace_type_t(leaf, dr.type_v(self.data))
        return _array_type(storage, 0)(*[storage(feature) for feature in found])

    def _features(self, shadow: Any, entry: Any, active: Any) -> list[Any]:
        """The parameters of an entry."""
        if shadow is None:
            return self._read(self.data, entry, active)
        values = self._read(dr.detach(self.data), entry, active)
        pairs = zip(values, self._read(shadow, entry, active), strict=True)
        return [dr.replace_grad(type(own)(value), own) for value, own in pairs]

    def _read(self, source: Any, entry: Any, active: Any) -> list[Any]:
        """The parameters of an entry, from an array that has all of them."""
        count = self._n_features_per_level
        width = next(w for w in (4, 3, 2, 1) if count % w == 0)
        cls = _array_type(type(source), width)
        found: list[Any] = []
        for i in range(count // width):
            index = entry if width == count else entry * (count // width) + i
            value = dr.gather(cls, source, index, active)
            found.extend(value if width > 1 else (value,))
        return found

    def _vertices(self, level: int, position: list[Any]) -> Any:
        """The vertices around a position: pairs of index (before it is reduced) and
        weight."""
        self._factors()
        raise NotImplementedError

    def _located(
        self, level: int, position: list[Any], centred: bool
    ) -> tuple[list[Any], list[Any]]:
        """The lower corner of the cell of a grid with a position, as products of
        coordinates and steps, and where it is there, from 0 to 1."""
        scale, shift = self._level_scale(level), 0.5 if centred else 0.0
        index = dr.uint32_array_t(type(position[0]))
        signed = dr.int32_array_t(type(position[0]))
        keys, fractions = [], []
        for x in position:
            at = dr.fma(x, scale, shift)
            cell = dr.floor(at)
            keys.append(index(signed(dr.detach(cell))))
            fractions.append(at - cell)
        return self._products(keys, self._steps(level)), fractions

    def _smooth(self, weight: Any) -> Any:
        if not self._smooth_weight_gradients:
            return weight
        ramp = self._smooth_weight_lambda * cosine_ramp(weight)
        return dr.replace_grad(weight, weight + ramp)

    def _rows(self) -> list[tuple[str, Any]]:
        names = (
            "dimension hashmap_size n_levels n_features_per_level base_resolution "
            "per_level_scale align_corners torchngp_compat smooth_weight_gradients "
            "smooth_weight_lambda"
        )
        rows = [(name, getattr(self, name)) for name in names.split()]
        return [("dtype", self.dtype), *rows]

    def __repr__(self) -> str:
        text = ",\n".join(f"    {name}={value}" for name, value in self._rows())
        return f"{self._title}(\n{text}\n)"


def _all_numbers(found: list[Any]) -> bool:
    return not any(map(dr.is_array_v, found))


def _array_type(leaf: Any, width: int) -> Any:
    """Arrays of ``width`` components, 0 for any number, of one type."""
    if width == 1:
        return leaf
    suffix = {"Float16": "f16", "Float": "f", "Float64": "f64"}[leaf.__name__]
    return getattr(sys.modules[leaf.__module__], f"Array{width or 'X'}{suffix}")


class HashGridEncoding(HashEncoding):
    """A hash grid: features of the 2^dimension corners of a cell, weighted linearly.

    The hash of a corner is the exclusive or of its coordinates, each times a large
    number. :class:`drjit.hashgrid.HashEncoding` describes levels, methods, properties
    and errors, and the arguments in more detail.

    Args:
        dtype (type): type of the parameters, such as ``Float16``.
        dimension (int): components of a position.
        n_levels (int): how many grids.
        n_features_per_level (int): features of a vertex.
        hashmap_size (int): most entries of the table of a level.
        base_resolution (int): resolution of the first grid.
        per_level_scale (float): how much finer each grid is than the one before.
        align_corners, torchngp_compat (bool): where vertices lie.
        smooth_weight_gradients (bool): smoother derivatives with respect to positions.
        smooth_weight_lambda (float): how much so.
        init_scale (float): bound of the parameters at first.
        rng (Generator | None): what they are drawn from.

    Derivative:
        With respect to positions and parameters, of all orders.

    Source:
        T. Müller et al., "Instant Neural Graphics Primitives with a Multiresolution
        Hash Encoding", 2022.

    Example:
        >>> from drjit.hashgrid import HashGridEncoding
        >>> line = HashGridEncoding(Float, 1, n_levels=1, n_features_per_level=1,
        ...                         base_resolution=4, align_corners=True)
        >>> line.params = Float(0, 10, 20, 40)  # at 0, 1/3, 2/3 and 1
        >>> line([Float(0, 0.5, 1)])
        [[0],
         [15],
         [40]]

    See also:
        :class:`drjit.hashgrid.PermutoEncoding`, :class:`drjit.nn.HashEncodingLayer`
    """

    __module__ = "drjit.hashgrid"
    _title = "HashGrid"

    def _factors(self) -> list[int]:
        found = list(_FACTORS[: self._dimension])
        while len(found) < self._dimension:
            found.append(found[-1] * _FACTORS[1] % _MODULUS)
        return found

    @staticmethod
    def _join(a: Any, b: Any) -> Any:
        return a ^ b

    def _vertices(self, level: int, position: list[Any]) -> Any:
        centred = self._torchngp_compat or not self._align_corners
        lower, fractions = self._located(level, position, centred)
        steps = self._steps(level)
        found: list[tuple[Any, Any]] = []
        for axis, (low, f) in enumerate(zip(lower, fractions, strict=True)):
            ends = ((low, 1 - f), (low + steps[axis], f))
            found = [
                (self._combined(level, index, end), weight * own)
                for end, own in ends
                for index, weight in found
            ] or list(ends)
        return found


class PermutoEncoding(HashEncoding):
    """A permutohedral lattice: features of the dimension + 1 corners of a simplex.

    The weights are barycentric. The simplices are those of cells of a grid, cut along
    their diagonals: the one with a position is found by sorting its coordinates in the
    cell. So fewer vertices are read than by a hash grid: from four dimensions on it is
    much faster. :class:`drjit.hashgrid.HashEncoding` describes levels, methods,
    properties and errors, and the arguments in more detail.

    Args:
        dtype (type): type of the parameters, such as ``Float16``.
        dimension (int): components of a position.
        n_levels (int): how many lattices.
        n_features_per_level (int): features of a vertex.
        hashmap_size (int): most entries of the table of a level.
        base_resolution (int): resolution of the first lattice.
        per_level_scale (float): how much finer each lattice is than the one before.
        align_corners (bool): where vertices lie.
        torchngp_compat (bool): without effect.
        smooth_weight_gradients (bool): smoother derivatives with respect to positions.
        smooth_weight_lambda (float): how much so.
        init_scale (float): bound of the parameters at first.
        rng (Generator | None): what they are drawn from.

    Derivative:
        With respect to positions and parameters, of all orders.

    Source:
        R. A. Rosu and S. Behnke, "PermutoSDF: Fast Multi-View Reconstruction with
        Implicit Surfaces using Permutohedral Lattices", 2023, which has the same
        lattice in a hyperplane of a space with one more dimension.

    Example:
        >>> from drjit.hashgrid import PermutoEncoding
        >>> encoding = PermutoEncoding(Float16, 4, n_levels=2, hashmap_size=2**8)
        >>> features = encoding(dr.rng(seed=1).random(Array4f, 100))
        >>> features.shape, encoding.n_params
        ((4, 100), 1024)

    See also:
        :class:`drjit.hashgrid.HashGridEncoding`, :class:`drjit.nn.HashEncodingLayer`
    """

    __module__ = "drjit.hashgrid"
    _title = "PermutoEncoding"

    def _factors(self) -> list[int]:
        count = self._dimension
        return [pow(_LINEAR, count - axis, _MODULUS) for axis in range(count)]

    def _vertices(self, level: int, position: list[Any]) -> Any:
        lower, found = self._located(level, position, not self._align_corners)
        index = type(lower[0])
        order = [index(step) for step in self._steps(level)]
        # The largest fraction first: the order in which a path along edges of the cell,
        # from its lower corner to the opposite one, takes the axes.
        for last in range(len(found) - 1, 0, -1):
            for i in range(last):
                swap = found[i] < found[i + 1]
                for values in (found, order):
                    a, b = values[i : i + 2]
                    values[i] = dr.select(swap, b, a)
                    values[i + 1] = dr.select(swap, a, b)
        corner = lower[0]
        for product in lower[1:]:
            corner = corner + product
        weights = [1 - found[0]]
        weights += [a - b for a, b in zip(found, found[1:], strict=False)]
        weights.append(found[-1])
        corners = [corner]
        for step in order:
            corners.append(corners[-1] + step)
        return zip(corners, weights, strict=True)

    def _rows(self) -> list[tuple[str, Any]]:
        return [row for row in super()._rows() if row[0] != "torchngp_compat"]
