"""Networks: the base class of their parts, a mapping of names to parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, ClassVar

import drjit
from drjit import _core

from .._errors import ShapeError
from ._matrix import MatrixLayout, MatrixView, repacked

if TYPE_CHECKING:
    from drjit.random import Generator

dr: Any = drjit

# The seed of initial weights: another sequence than that of dr.rng(), so that they do
# not depend on numbers that a network is evaluated for.
_SEED = 0x100000000


class Module(MutableMapping[str, Any]):
    """Base class of networks and their layers.

    A network is constructed from layers; ``alloc()`` makes a copy of it with weights,
    and :func:`drjit.nn.pack` one for the evaluation of vectors, ``net(CoopVec(...))``.

    It is a mapping of dotted paths (``"layers.0.weights"``) to parameters, as
    optimisers are: ``opt.update(net)`` takes all of them at first, ``net.update(opt)``
    takes their values back. The matrices of a packed network are one entry,
    ``"weights"``: the buffer that all its views refer to.

    Modules are PyTrees. A subclass lists its attributes in ``DRJIT_STRUCT``, calls
    layers in ``__call__()``, and overrides ``_alloc()`` if it has some;
    [Networks](../networks.md) has an example.

    Example:
        >>> from drjit import nn
        >>> net = nn.Sequential(nn.Linear(-1, 8), nn.ReLU(), nn.Linear(-1, 1))
        >>> net = net.alloc(TensorXf, 2)
        >>> net["layers.0.weights"].shape
        (8, 2)
        >>> packed = nn.pack(net)
        >>> len(packed(nn.CoopVec(Float(0.1, 0.2), Float(0.3, 0.4)))), list(packed)
        (1, ['weights'])

    See also:
        :class:`drjit.nn.Sequential`, :class:`drjit.opt.Optimizer`
    """

    __module__ = "drjit.nn"

    # Attributes that pack() leaves as they are.
    _not_packed: ClassVar[frozenset[str]] = frozenset()
    # Attributes with arrays that are not parameters.
    _constant: ClassVar[frozenset[str]] = frozenset()

    prefix: str

    def __call__(self, arg: Any, /) -> Any:
        """Evaluate for a :class:`drjit.nn.CoopVec`, or a tensor where the class says
        so.

        Args:
            arg (CoopVec | tensor): the input.
        """
        raise NotImplementedError(
            f"drjit.nn.{type(self).__name__}.__call__(): the class has none, expected "
            "a layer or a class that defines it"
        )

    # ------------------------------------------------------ weights

    def alloc(self, dtype: Any, size: int = -1, rng: Generator | None = None) -> Module:
        """Return a copy of the network with weights.

        Args:
            dtype (type): a type of tensors of floats, for all weights (``TensorXf16``).
            size (int): number of components of the input. Needed if the first layers
                take theirs from what is before.
            rng (Generator | None): what random weights come from, without it
                ``dr.rng(seed=0x100000000)``. A generator with the same seed gives the
                same weights.

        Returns:
            Module: a network that is not packed.

        Raises:
            TypeError: an argument is of another type.
            ValueError: ``size`` is neither positive nor -1.
            RuntimeError: ``size`` is needed.

        Evaluation:
            Weights are computed at once.
        """
        where = f"drjit.nn.{type(self).__name__}.alloc()"
        if not isinstance(dtype, type) or not (
            dr.is_tensor_v(dtype) and dr.is_float_v(dtype) and dr.is_jit_v(dtype)
        ):
            name = dtype.__name__ if isinstance(dtype, type) else repr(dtype)
            raise TypeError(
                f"{where}: the type of weights is {name}, expected a type of tensors "
                "of floats of a just-in-time backend, as drjit.llvm.ad.TensorXf16"
            )
        if isinstance(size, bool) or not isinstance(size, int):
            raise TypeError(
                f"{where}: 'size' is of type {type(size).__name__}, expected an int"
            )
        if size == 0 or size < -1:
            raise ShapeError(
                f"{where}: 'size' is {size}, expected a positive number, or -1"
            )
        if rng is None:
            rng = dr.rng(seed=_SEED)
        elif not isinstance(rng, dr.random.Generator):
            raise TypeError(
                f"{where}: 'rng' is of type {type(rng).__name__}, expected a generator "
                "as dr.rng() makes them"
            )
        made, _ = self._alloc(dtype, size, rng)
        return made

    def _alloc(self, dtype: Any, size: int, rng: Any, /) -> tuple[Module, int]:
        """A copy with weights, for inputs of ``size`` components (-1: not known), and
        the number of components of its output."""
        return self, size

    # ------------------------------------------------------ a mapping

    def _entries(self) -> dict[str, tuple[Any, Any]]:
        """The parameters: path -> (object that has it, name or key there). That of a
        packed network is in none of them, but in all."""
        found: dict[str, tuple[Any, Any]] = {}
        views: list[MatrixView] = []
        prefix = getattr(self, "prefix", "")
        path = prefix + "." if prefix else ""
        _note_entries(self, path, found, views)
        if len({view.buffer.index for view in views}) == 1:
            # Parts of a buffer that others have parts of, too, are not parameters.
            if sum(view.size for view in views) == len(views[0].buffer):
                found[path + "weights"] = views, None
        return found

    def __getitem__(self, key: str) -> Any:
        return _entry(*self._entries()[key])

    def __setitem__(self, key: str, value: Any) -> None:
        owner, name = self._entries()[key]
        where = f"drjit.nn.{type(self).__name__}.__setitem__()"
        _check_like(where, key, _entry(owner, name), value)
        if name is None:
            value = type(value)(value)
            for view in owner:
                view.buffer = value
        elif isinstance(owner, Module):
            setattr(owner, name, value)
        else:
            owner[name] = value

    def __delitem__(self, key: str) -> None:
        raise TypeError(
            f"drjit.nn.{type(self).__name__}.__delitem__(): parameters of a network "
            "cannot be deleted"
        )

    def __contains__(self, key: object) -> bool:
        return key in self._entries()

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries())

    def __len__(self) -> int:
        return len(self._entries())

    # Arrays have no truth value by which mappings could be compared.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def update(self, other: Any = (), /, **kwds: Any) -> None:
        """Set parameters from an optimiser, another mapping, or by name.

        Optimisers may have parameters of other networks, too, and need not have all of
        this one.

        Args:
            other (Mapping | iterable of pairs): paths and values.
            **kwds: more of them, by keyword.

        Raises:
            KeyError: an unknown path in anything but an optimiser, or an optimiser that
                has parameters, but none of this network. Nothing has changed then.
            TypeError: a value is of another type than the parameter.
            ValueError: a value has another shape.
        """
        values = dict(other.items() if isinstance(other, Mapping) else other)
        if isinstance(other, dr.opt.Optimizer):
            own = self._entries()
            known = {key: value for key, value in values.items() if key in own}
            values = known or values
        values.update(kwds)
        for key in values:
            if key not in self._entries():
                raise KeyError(key)
        for key, value in values.items():
            self[key] = value

    # ------------------------------------------------------ text

    def _settings(self) -> str:
        return ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings()})"


def _fields(value: Any) -> Any:
    return () if isinstance(value, type) else _core._fields_of(type(value)) or ()


def _children(value: Any) -> Any:
    """What a part of a network consists of: names in paths, and keys."""
    if isinstance(value, Module):
        return [(name, name, getattr(value, name, None)) for name in _fields(value)]
    if type(value) in (list, tuple):
        return [(str(i), i, item) for i, item in enumerate(value)]
    if type(value) is dict:
        return [(str(key), key, item) for key, item in value.items()]
    return []


def _entry(owner: Any, name: Any) -> Any:
    if name is None:
        return owner[0].buffer
    return getattr(owner, name) if isinstance(owner, Module) else owner[name]


def _note_entries(
    owner: Any, path: str, found: dict[str, tuple[Any, Any]], views: list[MatrixView]
) -> None:
    """Collect parameters, and the views of a packed network."""
    for name, key, value in _children(owner):
        if name in getattr(owner, "_constant", ()):
            continue
        if type(value) is MatrixView:
            views.append(value)
        elif isinstance(value, type) or not dr.is_array_v(value):
            _note_entries(value, f"{path}{name}.", found, views)
        elif dr.is_float_v(value):
            found[path + name] = owner, key


def _check_like(where: str, key: str, former: Any, value: Any) -> None:
    cls = type(value)
    kind = "tensor" if dr.is_tensor_v(former) else "array"
    if (
        not dr.is_array_v(cls)
        or dr.is_tensor_v(cls) != dr.is_tensor_v(former)
        or dr.type_v(cls) != dr.type_v(former)
        or dr.depth_v(cls) != dr.depth_v(former)
    ):
        raise TypeError(
            f"{where}: the parameter {key!r} is of type {cls.__name__}, expected a "
            f"{kind} of entries of type {dr.type_v(former).name}"
        )
    if tuple(value.shape) != tuple(former.shape):
        raise ShapeError(
            f"{where}: the parameter {key!r} has the shape {tuple(value.shape)}, "
            f"expected {tuple(former.shape)}"
        )


# -------------------------------------------------------------------- packing


def _transformed(where: str, args: tuple[Any, ...], layout: MatrixLayout) -> Any:
    made = repacked(where, args, layout)
    return made[0] if len(made) == 1 else made


def pack(*args: Any, layout: str = "inference") -> Any:
    """Copy matrices and vectors into one buffer, for :func:`drjit.nn.matvec`.

    A network is a mapping with one parameter for all of these afterwards,
    ``"weights"``. What is not an array is left as it is, hash encodings included. To
    pack parts of a matrix, pass slices of its :func:`drjit.nn.view`.

    Args:
        *args: tensors, flat arrays and views, PyTrees of them, and networks.
        layout (str): ``"inference"``, or ``"training"`` where derivatives with respect
            to the matrices are computed. On CPUs both are the same.

    Returns:
        PyTree: the argument, or a tuple of all, with a :class:`drjit.nn.MatrixView` of
        the buffer in the place of each array. Matrices have the layout; vectors are
        always ``"row_major"``.

    Raises:
        TypeError: entries of different types, or nested arrays.
        ValueError: a tensor has more than two axes, an array is empty, or there is no
            such layout.

    Derivative:
        Derivatives go through the copy.

    Example:
        >>> from drjit import nn
        >>> A, b = nn.pack(TensorXf([[1, 2], [3, 4]]), Float(5, 6))
        >>> A.buffer
        [1, 2, 3, 4, 5, 6]
        >>> A.layout, b.layout, b.offset
        ('inference', 'row_major', 4)

    See also:
        :func:`drjit.nn.unpack`
    """
    names = [str(name) for name in MatrixLayout if name != MatrixLayout.RowMajor]
    if not isinstance(layout, str):
        raise TypeError(
            f"drjit.nn.pack(): 'layout' is of type {type(layout).__name__}, expected "
            f"one of {names}"
        )
    if layout not in names:
        raise ShapeError(
            f"drjit.nn.pack(): 'layout' is {layout!r}, expected one of {names}"
        )
    return _transformed("pack", args, MatrixLayout(layout))


def unpack(*args: Any) -> Any:
    """Copy packed matrices and vectors into one buffer, row after row.

    Args:
        *args: views and PyTrees of them, networks among them.

    Returns:
        PyTree: the argument, or a tuple of all, with views of the buffer that have
        parts and can be read as tensors. All else is left as it is.

    Raises:
        TypeError: entries of different types.

    Derivative:
        Derivatives go through the copy.

    Example:
        >>> from drjit import nn
        >>> packed = nn.pack(TensorXf([[1, 2], [3, 4]]))
        >>> TensorXf(nn.unpack(packed))
        [[1, 2],
         [3, 4]]

    See also:
        :func:`drjit.nn.pack`
    """
    return _transformed("unpack", args, MatrixLayout.RowMajor)
