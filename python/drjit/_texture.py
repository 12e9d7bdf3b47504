"""Textures: the classes `Texture1f` to `Texture3f64`, and those of 8 bits.

Each backend module has classes of its own, made by :py:func:`make`. A lookup is a sum
over the texels around a position, of products of one weight for each axis; all kinds of
lookups are that sum for other weights (``_texture_taps.py``).
"""

from __future__ import annotations

import math
import operator
from itertools import accumulate, product

import drjit as dr

from . import _mipmap
from ._mipmap import Grid
from ._shape.axes import gather_whole, run_whole
from ._texture_taps import b_spline, folded, near, wrapped

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import ModuleType
    from typing import Any, ClassVar

    # The texels of one axis that a lookup reads: positions, and for each order of
    # derivatives their weights.
    Taps = tuple[list[Any], list[list[Any]]]

# Suffixes of array types, by the type of their entries.
_SUFFIX = {
    dr.VarType.Float16: "f16",
    dr.VarType.Float32: "f",
    dr.VarType.Float64: "f64",
}
_LEAF = {"f16": "Float16", "f": "Float", "f64": "Float64", "u8": "UInt8"}


class Texture:
    """Content on a grid and its interpolation: a picture, a volume, a table.

    Modules of arrays have the classes ``Texture1f``, ``Texture2f`` and ``Texture3f``,
    the same with other entries (``Texture2f16``, ``Texture2f64``), and ``Texture2f8u``
    and so on for bytes, which stand for numbers from 0 to 1. The content is a tensor
    whose last axis are the channels; the others are the grid in the order z, y, x,
    while positions have x, y, z. The grid covers the positions from 0 to 1, and texel
    ``i`` of ``n`` along an axis has its centre at ``(i + 0.5) / n``.

    Lookups (``eval...()``) take positions: arrays with a component for each axis (in
    one dimension a flat array), lists, or a number for all axes. They take a mask, too;
    lanes that are switched off get 0. The result has a component for each channel
    (``ArrayXf`` for more than four), and is as precise as the positions. Infinite
    positions and NaN read no memory beyond the grid, but what they give is unspecified.

    [Textures](../textures.md) shows more. A texture is a PyTree: part of the state of
    loops, argument of frozen functions.

    Args:
        *args: ``(tensor, ...)`` copies the content of a tensor;
            ``(shape, channels, ...)`` makes a texture of unspecified content, where
            ``shape`` has the extents of the grid (z, y, x). Further ones may be given
            by position in the order ``use_accel``, ``migrate`` (only with a tensor),
            ``filter_mode``, ``wrap_mode``, ``writable`` (only with a shape), ``srgb``,
            ``mip_filter``.
        **kwargs: ``filter_mode`` is a :class:`drjit.FilterMode` (``Linear``),
            ``wrap_mode`` a :class:`drjit.WrapMode` (``Clamp``). With ``writable=True``,
            ``write()`` may be called. With ``srgb=True`` bytes are sRGB, and lookups
            are linear; of each four channels the fourth is always linear.
            ``mip_filter``, a ``FilterMode``, keeps the content at coarser resolutions,
            too, for ``eval_lod()`` and ``eval_grad()``, and says how to interpolate
            between two of them; ``None`` does not. ``use_accel`` and ``migrate`` are
            without effect on CPUs.

    Raises:
        TypeError: an argument is missing, unknown, or of the wrong type.
        RuntimeError: a shape does not fit the class, or ``srgb`` is set and the content
            is not of bytes.

    Derivative:
        Lookups have derivatives of all orders with respect to content and positions.
        ``write()`` has none.

    Evaluation:
        Lookups are traced. With ``mip_filter``, the constructor and the functions that
        set content compute the coarser levels at once.

    Example:
        >>> from drjit.llvm.ad import Texture2f
        >>> picture = TensorXf([[[0, 10], [1, 20], [2, 30]],
        ...                     [[3, 40], [4, 50], [5, 60]]])
        >>> texture = Texture2f(picture, wrap_mode=dr.WrapMode.Repeat)
        >>> texture.eval(Array2f([0.5, 0.5, 1.5], [0.25, 0.5, 0.25]))
        [[1, 20],
         [2.5, 35],
         [1, 20]]
        >>> height, gradients = texture.eval_cubic_grad([0.5, 0.5])
        >>> gradients[0]
        [[3, 3]]

    See also:
        :func:`drjit.resample`, :func:`drjit.upsample`
    """

    IsTexture = True

    _module: ClassVar[ModuleType]
    _suffix: ClassVar[str]  # of the texels' type
    _dim: ClassVar[int]
    DRJIT_STRUCT: ClassVar[dict[str, Any]]
    _texels: Any  # of all levels, what lookups gather from; None if it is to be made
    _starts: Any  # of each level, its first texel; None without mip_filter

    # ---------------------------------------------------------------- making

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not args and not kwargs:  # as PyTrees are made
            args = [1] * self._dim, 1
        arguments = self._arguments(args, kwargs)
        self._use_accel = bool(arguments["use_accel"])
        self._filter_mode = arguments["filter_mode"]
        self._wrap_mode = arguments["wrap_mode"]
        self._mip_filter = arguments["mip_filter"]
        self._srgb = bool(arguments["srgb"])
        self._writable = bool(arguments.get("writable", False))
        for name, kind in (
            ("filter_mode", dr.FilterMode),
            ("wrap_mode", dr.WrapMode),
            ("mip_filter", dr.FilterMode),
        ):
            none = " or None" if name == "mip_filter" else ""
            if not isinstance(arguments[name], kind) and not (
                none and arguments[name] is None
            ):
                found = type(arguments[name]).__name__
                self._fail(
                    TypeError,
                    "",
                    f"{name!r} is of type {found}, expected {kind.__name__}{none}",
                )
        if self._srgb and self._suffix != "u8":
            self._fail(RuntimeError, "", "'srgb' is set, which is for 8-bit textures")
        if "tensor" in arguments:
            self._tensor = self._checked("", arguments["tensor"])
        else:
            shape = self._shape_of(arguments["shape"], arguments["channels"])
            self._tensor = dr.empty(self._tensor_class(), shape)
        self._update("tensor" in arguments)

    @classmethod
    def _arguments(cls, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments of one of the two forms of the constructor."""
        first = args[0] if args else None
        is_tensor = "tensor" in kwargs or (
            first is not None and not isinstance(first, list | tuple)
        )
        form = _WITH_TENSOR if is_tensor else _WITH_SHAPE
        found = dict(zip(form, args, strict=False))
        again = found.keys() & kwargs.keys()
        found = {**form, **found, **kwargs}
        missing = [name for name, value in found.items() if value is _MISSING]
        unknown = kwargs.keys() - form.keys()
        if again or unknown or missing or len(args) > len(form):
            names = ", ".join(form)
            cls._fail(TypeError, "", f"the arguments do not fit, expected ({names})")
        return found

    @classmethod
    def _fail(cls, kind: type[Exception], method: str, text: str) -> Any:
        where = f"{cls.__module__}.{cls.__name__}{method and '.' + method}"
        raise kind(f"{where}(): {text}")

    @classmethod
    def _tensor_class(cls) -> Any:
        return getattr(cls._module, "TensorX" + cls._suffix)

    @classmethod
    def _shape_of(cls, shape: Any, channels: Any) -> tuple[int, ...]:
        try:
            found = (*map(operator.index, shape), operator.index(channels))
        except TypeError:
            cls._fail(
                TypeError,
                "",
                f"'shape' is {shape!r} and 'channels' {channels!r}, expected integers",
            )
        cls._check_shape("", found)
        return found

    @classmethod
    def _check_shape(cls, method: str, shape: tuple[int, ...]) -> None:
        if len(shape) != cls._dim + 1 or min(shape) < 1:
            axes = ", ".join("zyx"[3 - cls._dim :])
            cls._fail(
                RuntimeError,
                method,
                f"the shape with channels is {tuple(shape)}, expected ({axes}, "
                "channels) of 1 or more each",
            )

    @classmethod
    def _checked(cls, method: str, tensor: Any) -> Any:
        """A copy of a tensor, of the type and rank of this texture."""
        own = cls._tensor_class()
        try:
            made = own(tensor)
        except (TypeError, RuntimeError) as error:
            found = type(tensor).__name__
            raise TypeError(
                f"{cls.__module__}.{cls.__name__}{method and '.' + method}(): the "
                f"tensor is of type {found}, expected {own.__name__}"
            ) from error
        cls._check_shape(method, made.shape)
        return made

    # ---------------------------------------------------------------- content

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the content: extents of the grid (z, y, x), and the channels."""
        return tuple(self._tensor.shape)

    def channel_count(self) -> int:
        """Return the number of channels."""
        return int(self._tensor.shape[-1])

    def tensor(self) -> Any:
        """Return the content, a tensor. After changes in place call
        ``update_inplace()``."""
        return self._tensor

    def value(self) -> Any:
        """Return the content as a flat array, row after row, the channels of a texel
        together."""
        return self._tensor.array

    def set_tensor(self, tensor: Any, migrate: bool = False) -> None:
        """Replace the content by a copy of a tensor, whose shape may differ.

        Args:
            tensor (tensor): of any entries, which are converted, with as many axes as
                ``shape``. Its derivatives become those of the content.
            migrate (bool): without effect on CPUs.

        Raises:
            TypeError: it is not a tensor, nor can it be made one.
            RuntimeError: it has another number of axes, or an extent of 0.
        """
        self._tensor = self._checked("set_tensor", tensor)
        self.update_inplace()

    def set_value(self, value: Any, migrate: bool = False) -> None:
        """Replace the content by a copy of a flat array in the order of ``value()``.

        Args:
            value (array): as many entries as the texture has.
            migrate (bool): without effect on CPUs.

        Raises:
            RuntimeError: another number of entries.
        """
        wanted = math.prod(self.shape)
        found = len(value) if hasattr(value, "__len__") else 1
        if found != wanted:
            self._fail(
                RuntimeError,
                "set_value",
                f"the array has {found} entries, expected {wanted}",
            )
        cls = self._tensor_class()
        self._tensor = cls(dr.array_t(cls)(value), self.shape)
        self.update_inplace()

    def set_value_with_event(
        self, value: Any, event: Any, migrate: bool = False
    ) -> None:
        """Replace the content as ``set_value()`` does, then record an event.

        Args:
            value (array): see ``set_value()``.
            event (Event): its ``record()`` is called.
            migrate (bool): without effect on CPUs.
        """
        self.set_value(value, migrate)
        event.record()

    def update_inplace(self, migrate: bool = False) -> None:
        """Make lookups see changes of ``tensor()`` in place, its shape included.

        Args:
            migrate (bool): without effect on CPUs.

        Raises:
            RuntimeError: the shape does not fit the class any more.
        """
        self._check_shape("update_inplace", self.shape)
        self._update()

    def _update(self, specified: bool = True) -> None:
        """Prepare lookups, when the content is another one.

        At once, and not when the first one is made: that may be in recorded code, where
        whole arrays cannot be computed, and states of loops have to stay what they are.
        """
        self._starts = None
        if self._mip_filter is not None:
            counts = [math.prod(level) for level in self._levels()[:-1]]
            starts = [0, *accumulate(counts)]
            if dr.is_jit_v(self._tensor):
                starts = dr.uint32_array_t(dr.detached_t(self._tensor.array))(starts)
            self._starts = starts
        self._texels = None
        if specified or self._mip_filter is None:
            self._content()
        else:
            counts = [math.prod(level) for level in self._levels()]
            self._texels = dr.empty(
                type(self._tensor.array), sum(counts) * self._entries()
            )

    def write(self, pos: Any, value: Any, active: Any = True) -> None:
        """Set texels at integer positions. It has no derivative.

        Levels of coarser resolution are computed anew by the next lookup (in recorded
        code they cannot be: call ``update_inplace()`` before).

        Args:
            pos (integer array | list): x, y, z of texels that exist.
            value (list): a value for each channel, of the type of the entries.
            active (mask | bool): lanes that write.

        Raises:
            RuntimeError: the texture was made without ``writable``, or there is another
                number of values.
        """
        if not self._writable:
            self._fail(RuntimeError, "write", "the texture was made without 'writable'")
        channels = self.channel_count()
        if len(value) != channels:
            self._fail(
                RuntimeError,
                "write",
                f"there are {len(value)} values, expected one for each of {channels} "
                "channels",
            )
        parts = [self._unsigned(p) for p in self._parts("write", pos)]
        index = self._index(parts, self._grid())
        for k in range(channels):
            part = dr.detach(value[k])
            dr.scatter(self._tensor.array, part, index * channels + k, active)
        self._texels = None

    def use_accel(self) -> bool:
        """Return what the constructor was given. CPUs have no units for lookups."""
        return self._use_accel

    def migrated(self) -> bool:
        """Return whether the content is in texture memory only: ``False`` on CPUs."""
        return False

    def filter_mode(self) -> Any:
        """Return how ``eval()`` interpolates, a :class:`drjit.FilterMode`."""
        return self._filter_mode

    def wrap_mode(self) -> Any:
        """Return what is beyond the grid, a :class:`drjit.WrapMode`."""
        return self._wrap_mode

    def mip_filter(self) -> Any:
        """Return how to interpolate between levels, ``None`` if the content is the only
        one."""
        return self._mip_filter

    def n_levels(self) -> int:
        """Return the number of levels, the content included; 1 without ``mip_filter``.

        Each level has ``max(n // 2, 1)`` texels along an axis where the one before has
        ``n``; the last one has a single texel.
        """
        return len(self._levels())

    def writable(self) -> bool:
        """Return whether ``write()`` may be called."""
        return self._writable

    def srgb(self) -> bool:
        """Return whether the content is sRGB."""
        return self._srgb

    def map(self) -> None:
        """Do nothing: there for programs that share textures with graphics
        interfaces."""

    def unmap(self) -> None:
        """Do nothing: there for programs that share textures with graphics
        interfaces."""

    def native_handle(self, sub_index: int = 0) -> int:
        """Return 0: textures on CPUs have no handles.

        Args:
            sub_index (int): without effect on CPUs.
        """
        return 0

    @classmethod
    def from_native_handle(cls, handle: int, *args: Any, **kwargs: Any) -> Any:
        """Raise a ``RuntimeError``: there are no native textures on CPUs.

        Args:
            handle (int): without effect on CPUs.
            *args: likewise.
            **kwargs: likewise.
        """
        cls._fail(RuntimeError, "from_native_handle", "this needs a backend for GPUs")

    def __repr__(self) -> str:
        levels = self._mip_filter and f",\n  mip_filter = {self._mip_filter.name}"
        return (
            f"{type(self).__name__}[\n  shape = {self.shape},\n"
            f"  filter_mode = {self._filter_mode.name},\n"
            f"  wrap_mode = {self._wrap_mode.name}{levels or ''}\n]"
        )

    # ---------------------------------------------------------------- texels

    def _content(self) -> Any:
        """What lookups gather from: texels of as many entries as packets have."""
        if self._texels is None:
            self._texels = self._packed()
        # Its derivatives have been asked for after it was set.
        tracked = dr.grad_enabled(self._tensor) and not dr.grad_enabled(self._texels)
        return self._packed() if tracked else self._texels

    def _packed(self) -> Any:
        array = self._padded()
        if self._mip_filter is None:
            return array
        return _mipmap.pyramid(array, self._levels(), self._entries(), self._srgb)

    def _entries(self) -> int:
        """How many entries a texel has in what lookups gather from."""
        channels = self.channel_count()
        return _packet(channels) if dr.is_jit_v(self._tensor) else channels

    def _padded(self) -> Any:
        array, channels = self._tensor.array, self.channel_count()
        packet = _packet(channels)
        if packet == channels or not dr.is_jit_v(array):
            return array
        if dr.grad_enabled(array) and not dr.flag(dr.JitFlag.SymbolicScope):
            return dr.custom(_Rows, array, channels, packet)
        return _resized(array, channels, packet)

    # ---------------------------------------------------------------- positions

    def _extents(self) -> list[int]:
        """Of the grid, along x, y, z."""
        return [int(n) for n in self._tensor.shape[-2::-1]]

    def _levels(self) -> list[list[int]]:
        """The extents of each level."""
        extents = self._extents()
        return [extents] if self._mip_filter is None else _mipmap.levels(extents)

    def _parts(self, method: str, pos: Any, name: str = "pos") -> list[Any]:
        """The components of a position, along x, y, z."""
        n = self._dim
        if not dr.is_array_v(pos) or isinstance(pos, type):
            if isinstance(pos, list | tuple) and len(pos) == n:
                pos = getattr(self._module, f"Array{n}{_suffix_of(pos)}")(*pos)
            elif isinstance(pos, int | float) and not isinstance(pos, bool):
                return [pos] * n
        if dr.is_array_v(pos) and not isinstance(pos, type) and not dr.is_tensor_v(pos):
            if (
                dr.depth_v(pos) == 1
                and (n == 1 or dr.size_v(pos) != n)
                and dr.is_jit_v(pos)
            ):
                return [pos] * n
            if len(pos) == n and not dr.is_special_v(pos):
                return [pos[k] for k in range(n)]
        what = type(pos).__name__
        sized = hasattr(pos, "__len__") and not isinstance(pos, type)
        size = f" and length {len(pos)}" if sized else ""
        return self._fail(  # type: ignore[no-any-return]
            TypeError,
            method,
            f"{name!r} is of type {what}{size}, expected {n} component{'s'[: n != 1]}",
        )

    def _floats(self, method: str, pos: Any, *others: Any) -> list[Any]:
        """The same, as floats; those of other types in single precision. Behind them
        other numbers, which become of that type."""
        parts = self._parts(method, pos)
        if not dr.is_jit_v(self._tensor):
            return [float(part) for part in (*parts, *others)]
        kinds = [
            dr.type_v(part)
            for part in parts
            if dr.is_float_v(part) and dr.is_array_v(part)
        ]
        kind = max(kinds, key=lambda kind: kind.value) if kinds else dr.VarType.Float32
        parts += others
        tracked = any(dr.is_array_v(part) and dr.is_diff_v(part) for part in parts)
        leaf = self._class(_LEAF[_SUFFIX[kind]], tracked)
        return [leaf(part) for part in parts]

    def _class(self, name: str, tracked: bool) -> Any:
        """An array type of the module, or of that with derivatives."""
        module = self._module
        if tracked and not dr.is_diff_v(self._tensor_class()):
            module = module.ad
        return getattr(module, name)

    def _unsigned(self, x: Any) -> Any:
        return dr.uint32_array_t(type(x))(x) if dr.is_array_v(x) else int(x)

    def wrap(self, pos: Any) -> Any:
        """Return the texels that integer positions beyond the grid stand for
        (``wrap_mode``).

        Args:
            pos (integer array | list): x, y, z of texels.

        Returns:
            array: positions in the grid, in the form of ``pos``.

        Example:
            >>> from drjit.llvm.ad import Texture1f
            >>> line = Texture1f([4], 1, wrap_mode=dr.WrapMode.Mirror)
            >>> line.wrap(Int(-1, 0, 3, 5))
            [0, 0, 3, 2]
        """
        parts = self._parts("wrap", pos)
        made = []
        for part, n in zip(parts, self._extents(), strict=True):
            signed = (
                dr.int32_array_t(type(part))(part) if dr.is_array_v(part) else int(part)
            )
            made.append(wrapped(self._wrap_mode, signed, n))
        if not dr.is_array_v(pos):
            return type(pos)(made) if isinstance(pos, list | tuple) else made[0]
        cls = type(pos)
        return cls(made[0]) if dr.depth_v(cls) == 1 and dr.is_jit_v(cls) else cls(*made)

    def _grid(self, level: Any = None) -> Grid:
        """That of the content, or for each lane that of a level, which is a float."""
        extents = self._extents()
        if level is None:
            return Grid(extents, extents, None)
        if not dr.is_array_v(level):
            counts = self._levels()[int(level)]
            return Grid(counts, counts, self._starts[int(level)])
        leaf = type(level)
        unsigned = dr.uint32_array_t(leaf)
        level = unsigned(level)
        counts = [dr.maximum(unsigned(n) >> level, 1) for n in extents]
        start = dr.gather(unsigned, unsigned(self._starts), level)
        return Grid(counts, [leaf(n) for n in counts], start)

    def _index(self, parts: Sequence[Any], grid: Grid) -> Any:
        """The number of a texel."""
        index, stride = grid.start, None
        for part, n in zip(parts, grid.counts, strict=True):
            term = part if stride is None else part * stride
            index = term if index is None else index + term
            stride = n if stride is None else stride * n
        return index

    # ---------------------------------------------------------------- sums

    def _texel(self, index: Any, leaf: Any, active: Any) -> Any:
        """The channels of a texel, as precise as positions of this type."""
        channels = self.channel_count()
        tracked = leaf is not float and dr.is_diff_v(leaf)
        texel = self._packet_at(index, tracked, active)
        texel = self._array_class(channels, leaf)([texel[k] for k in range(channels)])
        return self._decoded(texel) if self._suffix == "u8" else texel

    def _array_class(self, components: int, leaf: Any) -> Any:
        """The type of arrays of arrays of a type."""
        suffix = _SUFFIX[dr.type_v(leaf)] if leaf is not float else "f"
        tracked = leaf is not float and dr.is_diff_v(leaf)
        return self._class(f"Array{_components(components)}{suffix}", tracked)

    def _packet_at(self, index: Any, tracked: bool, active: Any) -> Any:
        array, channels = self._content(), self.channel_count()
        if not dr.is_jit_v(array):
            first = index * channels
            return [array[first + k] if active else 0 for k in range(channels)]
        if tracked and not dr.is_diff_v(type(array)):
            array = dr.diff_array_t(type(array))(array)
        packet = _packet(channels)
        cls = self._class(f"Array{_components(packet)}{self._suffix}", tracked)
        shape = None if packet <= 4 else (packet, dr.width(index))
        mode = self._sum_mode(array, index)
        return dr.gather(cls, array, index, active, mode=mode, shape=shape)

    def _sum_mode(self, array: Any, index: Any) -> Any:
        """How derivatives with respect to the content add up: each thread in a copy
        of its own, where the copies are not much larger than what is added."""
        auto = dr.ReduceMode.Auto
        flags = dr.JitFlag.SymbolicScope, dr.JitFlag.FreezingScope
        if not dr.grad_enabled(array) or any(map(dr.flag, flags)):
            return auto
        added = dr.width(index) * self.channel_count() << self._dim
        copies = dr.width(array) * dr.thread_count()
        fits = copies <= 2 * added and not dr.flag(dr.JitFlag.Deterministic)
        return dr.ReduceMode.Expand if fits else auto

    def _decoded(self, texel: Any) -> Any:
        texel = texel * (1 / 255)
        for k in range(self.channel_count() if self._srgb else 0):
            if k % 4 != 3:
                texel[k] = dr.srgb_to_linear(texel[k])
        return texel

    def _sum(
        self, taps: Sequence[Taps], order: int, leaf: Any, active: Any, grid: Grid
    ) -> Any:
        """Sums of texels, by how often the weights of each axis are differentiated."""
        strides = [1]
        for n in grid.counts:
            strides.append(n * strides[-1])

        def along(axis: int, base: Any) -> dict[tuple[int, ...], Any]:
            if axis < 0:
                return {(): self._texel(base, leaf, active)}
            positions, weights = taps[axis]
            found: dict[tuple[int, ...], Any] = {}
            for k, position in enumerate(positions):
                index = position * strides[axis] if axis else position
                inner = along(axis - 1, index if base is None else base + index)
                for orders, value in inner.items():
                    for d in range(order - sum(orders) + 1):
                        key = (*orders, d)
                        weight = weights[d][k]
                        term = found.get(key)
                        found[key] = (
                            value * weight
                            if term is None
                            else dr.fma(value, weight, term)
                        )
            return found

        return along(self._dim - 1, grid.start)

    # ---------------------------------------------------------------- lookups

    def _taps(self, parts: Iterable[Any], grid: Grid, *offsets: int) -> Iterator[Any]:
        """For each axis the texels around a position, and the fraction of it."""
        mode, most = self._wrap_mode, max(self._extents())
        for x, n, scale in zip(parts, grid.counts, grid.scales, strict=True):
            at = dr.fma(folded(mode, x), scale, -0.5)
            first = dr.floor(at)
            yield near(mode, first, n, scale, most, offsets), at - first

    def _sample(self, parts: Sequence[Any], active: Any, grid: Grid) -> Any:
        """Content as ``filter_mode`` says."""
        leaf = type(parts[0])
        if self._filter_mode == dr.FilterMode.Nearest:
            mode, most = self._wrap_mode, max(self._extents())
            texels = [
                near(mode, dr.floor(folded(mode, x) * scale), n, scale, most, (0,))[0]
                for x, n, scale in zip(parts, grid.counts, grid.scales, strict=True)
            ]
            return self._texel(self._index(texels, grid), leaf, active)
        taps = [(at, [[1 - f, f]]) for at, f in self._taps(parts, grid, 0, 1)]
        return self._sum(taps, 0, leaf, active, grid)[(0,) * self._dim]

    def eval(self, pos: Any, active: Any = True) -> Any:
        """Return the content at a position, interpolated as ``filter_mode`` says.

        Args:
            pos (array | list | float): x, y, z from 0 to 1; what is beyond is up to
                ``wrap_mode``. Integers become single precision.
            active (mask | bool): lanes that read; the others get 0.

        Returns:
            array: a component for each channel.

        Raises:
            TypeError: ``pos`` has another number of components.
        """
        return self._sample(self._floats("eval", pos), active, self._grid())

    def _need_levels(self, method: str) -> None:
        if self._mip_filter is None:
            self._fail(
                RuntimeError,
                method,
                "the texture was made without 'mip_filter', expected one with "
                "FilterMode.Linear or FilterMode.Nearest",
            )

    def _lod(self, lod: Any) -> Any:
        """The number of a level, if it is one."""
        flat = dr.is_array_v(lod) and not isinstance(lod, type) and dr.depth_v(lod) == 1
        if isinstance(lod, bool) or not (
            isinstance(lod, int | float)
            or (flat and dr.is_arithmetic_v(lod) and not dr.is_tensor_v(lod))
        ):
            found = type(lod).__name__
            self._fail(
                TypeError,
                "eval_lod",
                f"'lod' is of type {found}, expected a number or an array of numbers",
            )
        return lod

    def _at_level(self, parts: Sequence[Any], lod: Any, active: Any) -> Any:
        """Content at a level that is a float."""
        last = self.n_levels() - 1
        lod = dr.clip(lod, 0, last)
        if self._mip_filter == dr.FilterMode.Nearest:
            level = dr.floor(lod + 0.5)
            return self._sample(parts, active, self._grid(level))
        level = dr.floor(lod)
        fine = self._sample(parts, active, self._grid(level))
        level_above = dr.minimum(level + 1, last)
        coarse = self._sample(parts, active, self._grid(level_above))
        return dr.fma(coarse - fine, lod - level, fine)

    def eval_lod(self, pos: Any, lod: Any, active: Any = True) -> Any:
        """Return the content at a resolution with ``2 ** lod`` times larger texels.

        Within a level, lookups are as ``filter_mode`` says, and between two of them as
        ``mip_filter`` does: with ``Nearest``, the coarser one of two that are equally
        near.

        Args:
            pos (array | list | float): as for ``eval()``.
            lod (float | array): clamped to the levels that there are; NaN is the last
                one.
            active (mask | bool): likewise.

        Raises:
            RuntimeError: the texture was made without ``mip_filter``.
            TypeError: ``lod`` is not a number or array of numbers, or ``pos`` is of
                another type.

        Derivative:
            With respect to ``lod``, too.

        Example:
            >>> from drjit.llvm.ad import Texture1f
            >>> marks = TensorXf([[0.0], [8], [0], [0], [4], [0]])
            >>> texture = Texture1f(marks, mip_filter=dr.FilterMode.Linear)
            >>> texture.eval_lod(Float(0.25), Float(0, 0.5, 1, 2, 99)).x
            [8, 5.5, 3, 2, 2]
        """
        self._need_levels("eval_lod")
        *parts, lod = self._floats("eval_lod", pos, self._lod(lod))
        return self._at_level(parts, lod, active)

    def eval_grad(self, pos: Any, dpdx: Any, dpdy: Any, active: Any = True) -> Any:
        """Return the mean of the content in a footprint, such as that of a pixel.

        The shorter of ``dpdx`` and ``dpdy``, in texels, says which level is looked up.
        As many lookups as it fits into the longer one are averaged along that: 16 at
        most, for which the level may be a coarser one. In one dimension the longer one
        says which level, and there is one lookup. What is shorter than a texel counts
        as one. Components of more than 32768, infinity and NaN count as 32768.

        Args:
            pos (array | list | float): as for ``eval()``, the centre of the footprint.
            dpdx (array | list | float): derivative of the position with respect to the
                pixel's x coordinate.
            dpdy (array | list | float): the same for y.
            active (mask | bool): lanes that read; the others get 0.

        Raises:
            RuntimeError: the texture was made without ``mip_filter``.
            TypeError: arguments have another number of components.

        Derivative:
            With respect to ``dpdx`` and ``dpdy``, too; the number of lookups is
            constant.

        Source:
            L. Williams, "Pyramidal Parametrics", 1983; the OpenGL extension
            EXT_texture_filter_anisotropic, 2000.
        """
        self._need_levels("eval_grad")
        n = self._dim
        numbers = self._floats(
            "eval_grad",
            pos,
            *self._parts("eval_grad", dpdx, "dpdx"),
            *self._parts("eval_grad", dpdy, "dpdy"),
        )
        parts, dx, dy = numbers[:n], numbers[n : 2 * n], numbers[2 * n :]
        count, lod, line = _mipmap.footprint(dx, dy, self._extents())
        if n == 1:
            return self._at_level(parts, lod, active)

        def probe(k: Any) -> Any:
            at = (k + 0.5) / count - 0.5
            there = [dr.fma(a, at, p) for a, p in zip(line, parts, strict=True)]
            return self._at_level(there, lod, active)

        leaf = type(lod)
        if leaf is float:
            return sum((probe(k) for k in range(1, int(count))), probe(0)) * (1 / count)
        channels = self.channel_count()
        width = dr.width((numbers, active))
        total = dr.zeros(
            self._array_class(channels, leaf),
            width if channels <= 4 else (channels, width),
        )
        _, total = dr.while_loop(
            (dr.uint32_array_t(leaf)(0), total),
            lambda k, total: (leaf(k) < count) & active,
            lambda k, total: (k + 1, total + probe(leaf(k))),
            labels=("k", "total"),
            label="eval_grad",
            max_iterations=-1,
        )
        return total * (1 / count)

    def _upsampled(self, shape: Sequence[int]) -> Any:
        """A texture like this one, of lookups in the middle of its texels."""
        array = self._tensor.array
        if dr.is_jit_v(array):
            flat = run_whole(array, self._at_centers, shape)
        else:
            own = range(self.channel_count())
            flat = []
            for places in product(*map(range, shape[:-1])):
                sides = zip(places, shape[:-1], strict=True)
                texel = self.eval([(i + 0.5) / n for i, n in sides][::-1])
                flat += [self._stored(texel[k], k) for k in own]
        made = type(self)(
            self._tensor_class()(dr.array_t(self._tensor)(flat), tuple(shape)),
            use_accel=self._use_accel,
            filter_mode=self._filter_mode,
            wrap_mode=self._wrap_mode,
            srgb=self._srgb,
            mip_filter=self._mip_filter,
        )
        made._writable = self._writable
        return made

    def _at_centers(self, shape: Sequence[int]) -> Any:
        """The content of a grid of another shape, as a flat array."""
        own = type(self._tensor.array)
        double = dr.type_v(own) == dr.VarType.Float64
        leaf = own if double else dr.float32_array_t(own)
        rest = dr.arange(dr.uint32_array_t(leaf), math.prod(shape[:-1]))
        parts = []
        for n in shape[-2::-1]:
            line = rest // n
            parts.append((leaf(rest - line * n) + 0.5) / n)
            rest = line
        texel = self._sample(parts, True, self._grid())
        for k in range(self.channel_count()):
            texel[k] = self._stored(texel[k], k)
        return own(dr.ravel(texel))

    def _stored(self, value: Any, channel: int) -> Any:
        """What content is to be for lookups to give this value of a channel."""
        if self._suffix != "u8":
            return value
        if self._srgb and channel % 4 != 3:
            value = dr.linear_to_srgb(value)
        return dr.round(value * 255)

    def eval_fetch(self, pos: Any, active: Any = True) -> tuple[Any, ...]:
        """Return the texels that a linear lookup reads, without interpolation.

        Args:
            pos (array | list | float): as for ``eval()``.
            active (mask | bool): likewise.

        Returns:
            tuple: 2, 4 or 8 arrays as ``eval()`` gives them. The first two are
            neighbours along x, then comes y.

        Example:
            >>> from drjit.llvm.ad import Texture2f
            >>> Texture2f(TensorXf([[[1], [2]], [[3], [4]]])).eval_fetch([0.5, 0.5])
            ([[1]], [[2]], [[3]], [[4]])
        """
        parts, grid = self._floats("eval_fetch", pos), self._grid()
        axes = [at for at, _ in self._taps(parts, grid, 0, 1)]
        return tuple(
            self._texel(self._index(places[::-1], grid), type(parts[0]), active)
            for places in product(*axes[::-1])
        )

    def _cubic(self, method: str, pos: Any, active: Any, order: int) -> Any:
        parts = self._floats(method, pos)
        grid = self._grid()
        taps = [
            (at, b_spline(f, order)) for at, f in self._taps(parts, grid, -1, 0, 1, 2)
        ]
        return self._sum(taps, order, type(parts[0]), active, grid)

    def eval_cubic(
        self, pos: Any, active: Any = True, force_nonaccel: bool = False
    ) -> Any:
        """Return the cubic B-spline of the content at a position.

        It has continuous second derivatives, and does not go through the content: a
        texel of a picture is blurred by its neighbours. ``filter_mode`` has no effect.

        Args:
            pos (array | list | float): as for ``eval()``.
            active (mask | bool): likewise.
            force_nonaccel (bool): without effect on CPUs.
        """
        return self._cubic("eval_cubic", pos, active, 0)[(0,) * self._dim]

    def eval_cubic_helper(self, pos: Any, active: Any = True) -> Any:
        """Return the same as ``eval_cubic()``.

        Args:
            pos (array | list | float): as for ``eval()``.
            active (mask | bool): likewise.
        """
        return self._cubic("eval_cubic_helper", pos, active, 0)[(0,) * self._dim]

    def eval_cubic_grad(self, pos: Any, active: Any = True) -> tuple[Any, list[Any]]:
        """Return the cubic B-spline and its gradients with respect to the position.

        Args:
            pos (array | list | float): as for ``eval()``.
            active (mask | bool): likewise.

        Returns:
            tuple: what ``eval_cubic()`` gives, and a list with the gradient of each
            channel, an array with a component for each axis. Positions from 0 to 1 are
            the unit.
        """
        sums = self._cubic("eval_cubic_grad", pos, active, 1)
        return sums[(0,) * self._dim], self._gradients(sums)

    def eval_cubic_hessian(
        self, pos: Any, active: Any = True
    ) -> tuple[Any, list[Any], list[Any]]:
        """Return the cubic B-spline, its gradients and its Hessian matrices.

        Args:
            pos (array | list | float): as for ``eval()``.
            active (mask | bool): likewise.

        Returns:
            tuple: what ``eval_cubic_grad()`` gives, and a list with the matrix of
            second derivatives of each channel (``Matrix2f``; in one dimension
            ``Array1f``).
        """
        sums = self._cubic("eval_cubic_hessian", pos, active, 2)
        value, n, extents = sums[(0,) * self._dim], self._dim, self._extents()
        hessians = []
        for c in range(self.channel_count()):
            rows = [
                [
                    sums[_orders(n, i, j)][c] * (extents[i] * extents[j])
                    for j in range(n)
                ]
                for i in range(n)
            ]
            kind = "Array1" if n == 1 else f"Matrix{n}"
            cls = self._class_like(kind, value)
            hessians.append(cls(rows[0][0]) if n == 1 else cls(rows))
        return value, self._gradients(sums), hessians

    def _gradients(self, sums: dict[tuple[int, ...], Any]) -> list[Any]:
        n, extents = self._dim, self._extents()
        cls = self._class_like(f"Array{n}", sums[(0,) * n])
        return [
            cls(*[sums[_orders(n, i)][c] * extents[i] for i in range(n)])
            for c in range(self.channel_count())
        ]

    def _class_like(self, kind: str, value: Any) -> Any:
        """An array type with the entries of a result."""
        suffix = _SUFFIX[dr.type_v(value)]
        return self._class(kind + suffix, dr.is_diff_v(value))


_MISSING: Any = object()
_COMMON = {"filter_mode": dr.FilterMode.Linear, "wrap_mode": dr.WrapMode.Clamp}
_WITH_SHAPE = {
    "shape": _MISSING,
    "channels": _MISSING,
    "use_accel": True,
    **_COMMON,
    "writable": False,
    "srgb": False,
    "mip_filter": None,
}
_WITH_TENSOR = {
    "tensor": _MISSING,
    "use_accel": True,
    "migrate": True,
    **_COMMON,
    "srgb": False,
    "mip_filter": None,
}


def _packet(channels: int) -> int:
    """How many entries a texel has in memory: a power of two."""
    return 1 << (channels - 1).bit_length()


def _components(n: int) -> str:
    """The number of components in the name of an array type."""
    return str(n) if n <= 4 else "X"


def _suffix_of(parts: Iterable[Any]) -> str:
    """Of the type for components of a list: that of the most precise array."""
    kinds = [
        dr.type_v(part) for part in parts if dr.is_array_v(part) and dr.is_float_v(part)
    ]
    return _SUFFIX[max(kinds, key=lambda kind: kind.value)] if kinds else "f"


def _resized(array: Any, before: int, after: int) -> Any:
    """Rows of ``before`` entries, cut or filled with zeros to ``after``. One of the
    numbers is the next power of two of the other."""
    unsigned = dr.uint32_array_t(type(array))
    lane = dr.arange(unsigned, dr.width(array) // before * after)
    row = lane // after
    column = lane - row * after
    active = column < before if before < after else True
    return gather_whole(type(array), array, dr.fma(row, before, column), active)


class _Rows(dr.CustomOp):
    """``_resized()``, whose derivatives are gathers, too, instead of additions."""

    keeps_constants = True

    def eval(self, array: Any, before: int, after: int) -> Any:
        self.sizes = before, after
        return _resized(array, before, after)

    def forward(self) -> None:
        self.set_grad_out(dr.custom(_Rows, self.grad_in("array"), *self.sizes))

    def backward(self) -> None:
        before, after = self.sizes
        gradient = dr.custom(_Rows, self.grad_out(), after, before)
        self.set_grad_in("array", gradient)

    def name(self) -> str:
        return "padding of texels"


def _orders(n: int, *axes: int) -> tuple[int, ...]:
    """How often each of n axes is there."""
    return tuple(axes.count(axis) for axis in range(n))


def make(module: ModuleType) -> dict[str, type[Any]]:
    """The classes of a backend module, by name."""
    made: dict[str, type[Any]] = {}
    for dim, suffix in product((1, 2, 3), _LEAF):
        name = f"Texture{dim}{'f8u' if suffix == 'u8' else suffix}"
        fields = {
            "_module": module,
            "_suffix": suffix,
            "_dim": dim,
            "__module__": module.__name__,
            "__doc__": Texture.__doc__,
            "DRJIT_STRUCT": {
                "_tensor": getattr(module, "TensorX" + suffix),
                "_texels": object,
                "_starts": object,
                "_use_accel": bool,
                "_filter_mode": dr.FilterMode,
                "_wrap_mode": dr.WrapMode,
                "_mip_filter": object,
                "_srgb": bool,
                "_writable": bool,
            },
        }
        made[name] = type(name, (Texture,), fields)
    return made
