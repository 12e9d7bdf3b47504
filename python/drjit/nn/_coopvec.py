"""Cooperative vectors: the inputs and outputs of the layers of a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import drjit

from .._components import common_type, flatten, is_leaf, is_number
from .._errors import ShapeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

dr: Any = drjit

_NAME = "drjit.nn.CoopVec"


class CoopVec:
    """A vector that goes through a network: arrays of one type, an entry for each lane.

    ``list(vec)``, ``Array3f(*vec)`` and ``x, y = vec`` give the components back.
    Vectors are added, subtracted and multiplied component by component, also with
    arrays and numbers, which stand for each component and are converted to its type.
    Elementwise functions (:func:`drjit.tanh`, :func:`drjit.fma`, ...) take vectors.
    They are PyTrees: states of loops, arguments of calls and of frozen functions.

    Args:
        arg (array | float | PyTree): the first components. A nested array has those of
            its first axis, a matrix its entries row by row, a tensor of shape (C,) or
            (C, N) C of them; structures have those of their members.
        *args: further ones, in order. At least one is an array of a just-in-time
            backend; its type becomes that of all, numbers included.

    Raises:
        TypeError: there is no array, there are arrays of different types
            (:func:`drjit.nn.cast` converts vectors), or other objects.
        ValueError: there are no components.

    Derivative:
        Derivatives go through vectors as through their components.

    Example:
        >>> from drjit import nn
        >>> vec = nn.CoopVec(Array2f([1, 2], 3), 0.5)
        >>> vec
        drjit.nn.CoopVec[drjit.llvm.ad.Float, shape=(3, 2)]
        >>> Array3f(*(2 * vec + 1))
        [[3, 7, 2],
         [5, 7, 2]]

    See also:
        :func:`drjit.nn.matvec`, :class:`drjit.nn.Module`
    """

    __module__ = "drjit.nn"
    DRJIT_STRUCT: ClassVar[dict[str, Any]] = {"_components": list}

    # NumPy leaves operations with vectors to these.
    __array_ufunc__ = None

    _components: list[Any]

    # One argument is required, so that PyTrees make vectors without the constructor.
    def __init__(self, arg: Any, /, *args: Any) -> None:
        if not args and type(arg) is CoopVec:
            self._components = list(arg._components)
            return
        found: list[Any] = []
        flatten(_NAME, (arg, *args), found)
        if not found:
            raise ShapeError(
                "drjit.nn.CoopVec(): found no components, expected at least one"
            )
        leaf = common_type(_NAME, found)
        self._components = [leaf(component) for component in found]

    def __class_getitem__(cls, leaf: Any) -> Any:
        from types import GenericAlias

        return GenericAlias(cls, leaf)

    @property
    def type(self) -> Any:
        """The type of the components, such as ``drjit.llvm.ad.Float16``."""
        return type(self._components[0])

    @property
    def index(self) -> int:
        """The index of the first component's variable."""
        return int(self._components[0].index)

    def __len__(self) -> int:
        """The number of components."""
        return len(self._components)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._components))

    def __repr__(self) -> str:
        leaf = self.type
        shape = len(self), dr.width(self._components)
        return f"drjit.nn.CoopVec[{leaf.__module__}.{leaf.__name__}, shape={shape}]"

    # ------------------------------------------------------ operations

    def _operand(self, name: str, value: Any) -> list[Any] | None:
        """Another operand's components, those of this vector's type; None: it has none,
        as it is something else."""
        count = len(self)
        if isinstance(value, CoopVec):
            if len(value) != count:
                raise ShapeError(
                    f"drjit.nn.CoopVec.{name}(): found vectors of {count} and "
                    f"{len(value)} components, expected equal numbers"
                )
            if dr.type_v(value.type) != dr.type_v(self.type):
                raise TypeError(
                    f"drjit.nn.CoopVec.{name}(): found vectors of the types "
                    f"{self.type.__name__} and {value.type.__name__}, expected equal "
                    "types; drjit.nn.cast() converts vectors"
                )
            return value._components
        if is_number(value):
            return [value] * count
        if not is_leaf(value):
            return None
        leaf = self.type
        diff = dr.is_diff_v(type(value)) and not dr.is_diff_v(leaf)
        like = dr.diff_array_t(leaf) if diff else leaf
        return [like(value)] * count

    def _combine(
        self, name: str, other: Any, operation: Callable[[Any, Any], Any]
    ) -> Any:
        operand = self._operand(name, other)
        if operand is None:
            return NotImplemented
        pairs = zip(self._components, operand, strict=True)
        return from_components([operation(a, b) for a, b in pairs])

    def __add__(self, other: Any, /) -> Any:
        return self._combine("__add__", other, lambda a, b: a + b)

    def __radd__(self, other: Any, /) -> Any:
        return self._combine("__radd__", other, lambda a, b: b + a)

    def __sub__(self, other: Any, /) -> Any:
        return self._combine("__sub__", other, lambda a, b: a - b)

    def __rsub__(self, other: Any, /) -> Any:
        return self._combine("__rsub__", other, lambda a, b: b - a)

    def __mul__(self, other: Any, /) -> Any:
        return self._combine("__mul__", other, lambda a, b: a * b)

    def __rmul__(self, other: Any, /) -> Any:
        return self._combine("__rmul__", other, lambda a, b: b * a)

    def __neg__(self) -> CoopVec:
        return from_components([-component for component in self._components])

    def __abs__(self) -> CoopVec:
        return from_components([abs(component) for component in self._components])

    def __drjit_function__(self, name: str, args: tuple[Any, ...]) -> Any:
        """What an elementwise function gives, component by component."""
        operands = [self._operand(f"__drjit_function__[{name}]", arg) for arg in args]
        if any(operand is None for operand in operands):
            return NotImplemented
        function = getattr(dr, name)
        rows: Any = zip(*operands, strict=True)
        return from_components([function(*row) for row in rows])


def from_components(components: list[Any]) -> CoopVec:
    """A vector of arrays: of one type, but for their having derivatives."""
    leaf = type(components[0])
    for component in components:
        if type(component) is not leaf:
            components = [common_type(_NAME, components)(value) for value in components]
            break
    made = CoopVec.__new__(CoopVec)
    made._components = components
    return made


def cast(vector: CoopVec, dtype: Any, /) -> CoopVec:
    """Convert the components of a vector to another type of entries.

    Args:
        vector (CoopVec): the vector.
        dtype (type): an array type of numbers, of which only the type of the entries
            counts. Floats become integers by truncation.

    Returns:
        CoopVec: as many components.

    Raises:
        TypeError: the vector is not a ``CoopVec``, or ``dtype`` not such a type.

    Derivative:
        Gradients are converted back; integers have none.

    Example:
        >>> from drjit import nn
        >>> nn.cast(nn.CoopVec(Float(1), 2), Float16).type
        <class 'drjit.llvm.ad.Float16'>

    See also:
        :class:`drjit.nn.Cast`
    """
    if not isinstance(vector, CoopVec):
        raise TypeError(
            f"drjit.nn.cast(): the vector is of type {type(vector).__name__}, "
            "expected a drjit.nn.CoopVec"
        )
    leaf = dr.replace_type_t(vector.type, entry_type("cast", dtype))
    return from_components([leaf(component) for component in vector])


def entry_type(where: str, dtype: Any) -> Any:
    """The type of the entries of an array type of numbers."""
    if not isinstance(dtype, type) or not dr.is_array_v(dtype) or dr.is_mask_v(dtype):
        name = dtype.__name__ if isinstance(dtype, type) else repr(dtype)
        raise TypeError(
            f"drjit.nn.{where}(): the target type is {name}, expected an array type "
            "of numbers"
        )
    return dr.type_v(dtype)
