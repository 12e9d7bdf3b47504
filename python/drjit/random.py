"""Random arrays and tensors: `Generator`, which `drjit.rng` makes."""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Sequence

import drjit as dr
from drjit import _core, _family

from ._errors import ShapeError
from ._shape.axes import gather_whole

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, ClassVar

__all__ = ["Generator", "rng"]

_FLOATS = {"Float16": "float16x4", "Float32": "float32x4", "Float64": "float64x2"}


def rng(seed: Any = 0, method: str = "philox4x32", symbolic: bool = False) -> Generator:
    """Return a generator of random arrays and tensors.

    The same seed gives the same numbers, whatever the machine, the engine and the
    number of threads. [Random numbers](../random.md) says which ones, and how
    generators are used in loops and frozen functions.

    Args:
        seed (int | integer array): which sequence: generators with different seeds are
            independent. Taken modulo 2^64. An array has an entry for each entry of the
            results, or one.
        method (str): ``"philox4x32"``; there is no other.
        symbolic (bool): the number of calls becomes part of the kernels. Otherwise it
            is an opaque value, so that a loop that draws numbers compiles its kernel
            once.

    Returns:
        Generator: a generator that has made no calls yet.

    Raises:
        TypeError: ``seed`` is not an integer or a flat array of integers.
        ValueError: another ``method``.

    Example:
        >>> rng = dr.rng(seed=7)
        >>> rng.random(Float, 3)
        [0.0967625, 0.394146, 0.558121]
        >>> rng.integers(UInt, 5, 1, 7)  # dice
        [5, 2, 4, 2, 2]
        >>> rng.normal(TensorXf, (2, 2))
        [[1.26812, -0.716064],
         [-0.878362, -0.554481]]

    See also:
        :class:`drjit.random.Generator`
    """
    if method != "philox4x32":
        raise ValueError(f"drjit.rng(): 'method' is {method!r}, expected 'philox4x32'")
    return Generator(seed, symbolic)


class Generator:
    """A sequence of random arrays, which :func:`drjit.random.rng` makes.

    Each call of a method gives the next numbers. Entry ``i`` of an array comes from a
    ``Philox4x32`` whose key is the seed, and whose counters are the number of the call
    and ``i``: it depends on nothing else.

    A generator is a PyTree. In recorded loops, conditionals and calls its counter has
    to be an array, as it is if the seed is one (``dr.rng(UInt64(0))``), and in a loop
    the generator has to be a part of the state: anything else would repeat numbers, and
    is a ``RuntimeError``. A generator that is an input of a frozen function gives new
    numbers in each call.

    Args:
        seed (int | integer array): see :func:`drjit.random.rng`.
        symbolic (bool): likewise.

    Derivative:
        Random numbers are constants. ``uniform()`` and ``normal()`` have derivatives
        with respect to their parameters (``low``, ``high``, ``loc``, ``scale``).

    Evaluation:
        Numbers are traced: they are computed in the kernel that uses them. The counter
        is scheduled for evaluation unless the generator is ``symbolic``.
        ``permutation()`` evaluates its result.

    Example:
        >>> rng = dr.random.Generator(seed=1)
        >>> x, y = rng.uniform(Float, 100000, -1, 1), rng.uniform(Float, 100000, -1, 1)
        >>> inside = dr.mean(dr.select(x * x + y * y < 1, 4.0, 0.0))
        >>> abs(inside[0] - dr.pi) < 0.02
        True
    """

    # The counter is an array (of one entry, or as many as there are lanes) if the seed
    # is, or after a frozen function.
    DRJIT_STRUCT: ClassVar[dict[str, Any]] = {
        "_seed": object,
        "_counter": object,
        "_symbolic": bool,
    }

    _loops = False  # was it made in the body of a loop?

    def __init__(self, seed: Any = 0, symbolic: bool = False) -> None:
        self._seed = _seed(seed)
        self._counter: Any = 0
        self._symbolic = bool(symbolic)
        if dr.is_jit_v(self._seed):
            self._counter = dr.uint32_array_t(type(self._seed))(0)
        self._loops = _core._in_loop()  # and begins anew in each iteration

    def clone(self) -> Generator:
        """Return a generator that gives what this one is going to give.

        Example:
            >>> rng = dr.rng(seed=3)
            >>> other = rng.clone()
            >>> rng.random(Float, 2) == other.random(Float, 2)
            [True, True]
        """
        return copy.copy(self)

    def random(self, dtype: Any, shape: Any) -> Any:
        """Return an array or tensor of uniformly distributed numbers in [0, 1).

        Args:
            dtype (type): array type with floating point entries, nested types and
                tensors included, or ``float`` for one Python number in double
                precision.
            shape (int | tuple[int, ...]): as for :func:`drjit.zeros`: lanes, or all
                extents.

        Returns:
            array: an instance of ``dtype``. Single and half precision have multiples of
            2^-23 (the latter rounded, but below 1), double precision of 2^-52.

        Raises:
            TypeError: ``dtype`` is not such a type.
            RuntimeError: ``dtype`` cannot have this shape.
        """
        return self._fill("random", dtype, shape, "")

    def uniform(self, dtype: Any, shape: Any, low: Any = 0.0, high: Any = 1.0) -> Any:
        """Return uniformly distributed numbers in [``low``, ``high``).

        Args:
            dtype (type): as for ``random()``.
            shape (int | tuple[int, ...]): likewise.
            low (float | array): lower bound.
            high (float | array): upper bound; may be below ``low``. Rounding can give
                it itself.
        """
        return dr.fma(self._fill("uniform", dtype, shape, ""), high - low, low)

    def normal(self, dtype: Any, shape: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
        """Return normally distributed numbers.

        Args:
            dtype (type): as for ``random()``.
            shape (int | tuple[int, ...]): likewise.
            loc (float | array): mean.
            scale (float | array): standard deviation.
        """
        return dr.fma(self._fill("normal", dtype, shape, "_normal"), scale, loc)

    def integers(
        self,
        dtype: Any,
        shape: Any,
        low: Any = 0,
        high: Any = None,
        endpoint: bool = False,
    ) -> Any:
        """Return uniformly distributed integers of 32 bits.

        They are in [0, ``low``) if ``high`` is not given, else in [``low``, ``high``).
        An integer is the upper half of the product of 64 random bits and the number of
        integers, so all have the same probability up to a factor of 1 ± 2^-32.

        Args:
            dtype (type): array type with ``Int`` or ``UInt`` entries.
            shape (int | tuple[int, ...]): as for ``random()``.
            low (int | integer array): lowest integer, or without ``high`` how many from
                0 on.
            high (int | integer array | None): upper bound, excluded.
            endpoint (bool): include the upper bound.

        Raises:
            TypeError: ``dtype`` or a bound is of another type.
            ValueError: no integer is in the interval, or one is out of the type's
                range. Bounds that are arrays are not checked.
        """
        entry = dr.type_v(dtype).name if _is_array_class(dtype) else ""
        if entry not in ("Int32", "UInt32"):
            raise TypeError(
                f"drjit.random.Generator.integers(): 'dtype' is {dtype!r}, expected an "
                "array class with Int32 or UInt32 entries"
            )
        signed = entry == "Int32"
        low, span = _interval(low, high, endpoint, signed)
        return self._make(dtype, shape, lambda prng: _bounded(prng, low, span, signed))

    def permutation(self, x: Any, n: Any = None, /, axis: int = 0) -> Any:
        """Return the numbers 0 to n - 1, or the entries of an array, in random order.

        Args:
            x (type | array | tensor): ``permutation(dtype, n)`` gives a ``UInt`` array
                of the module of ``dtype``. ``permutation(x)`` gives a copy of a flat
                array or tensor whose entries, or slices along ``axis``, are shuffled.
            n (int | None): how many numbers, if ``x`` is a type.
            axis (int): which slices of a tensor.

        Raises:
            TypeError: ``x`` is neither, or is an array and there is an ``n``.
            ValueError: ``n`` is not an integer of 0 or more.

        Evaluation:
            The numbers come from :func:`drjit.argsort`, which computes at once.

        Example:
            >>> rng = dr.rng(seed=1)
            >>> rng.permutation(UInt, 5)
            [1, 4, 0, 3, 2]
            >>> rng.permutation(TensorXf([[1, 2], [3, 4], [5, 6]]))
            [[1, 2],
             [5, 6],
             [3, 4]]
        """
        if isinstance(x, type):
            return self._order(x, n)
        if n is not None:
            raise TypeError(
                "drjit.random.Generator.permutation(): found an array and a length, "
                "expected one of the two"
            )
        if not dr.is_array_v(x) or (not dr.is_tensor_v(x) and dr.depth_v(x) != 1):
            raise TypeError(
                "drjit.random.Generator.permutation(): the input is of type "
                f"{type(x).__name__}, expected an array class and a length, a "
                "one-dimensional array or a tensor"
            )
        if dr.is_tensor_v(x):
            size = x.shape[axis] if x.shape else 0
            return dr.take(x, self._order(type(x.array), size), axis=axis)
        return gather_whole(type(x), x, self._order(type(x), dr.width(x)))

    def _order(self, dtype: Any, n: Any) -> Any:
        if isinstance(n, bool) or not isinstance(n, int) or n < 0:
            raise ValueError(
                f"drjit.random.Generator.permutation(): the length is {n!r}, expected "
                "an integer that is 0 or more"
            )
        keys = self.random(dr.float32_array_t(dr.leaf_t(dtype)), n)
        return dr.argsort(keys)

    # ---- numbers to arrays

    def _fill(self, name: str, dtype: Any, shape: Any, suffix: str) -> Any:
        if dtype is float:
            extents = shape if isinstance(shape, Sequence) else (shape,)
            if math.prod(extents) != 1:
                raise ShapeError(
                    f"drjit.random.Generator.{name}(): the shape is {shape}, expected "
                    "one number as 'dtype' is float"
                )
            return self._fill(name, dr.scalar.Array1f64, 1, suffix)[0]
        entry = dr.type_v(dtype).name if _is_array_class(dtype) else ""
        if entry not in _FLOATS:
            raise TypeError(
                f"drjit.random.Generator.{name}(): 'dtype' is {dtype!r}, expected an "
                "array class with floating point entries"
            )
        method = f"next_{_FLOATS[entry]}{suffix}"
        return self._make(dtype, shape, lambda prng: list(getattr(prng, method)()))

    def _make(self, dtype: Any, shape: Any, draw: Any) -> Any:
        """Fill an array; 'draw' takes several numbers from a Philox4x32.

        Components take them from the last on; when they are used up there is a new
        draw.
        """
        if not dr.is_jit_v(dtype) and hasattr(shape, "__index__"):
            shape = (operator.index(shape),)  # extents: there are no lanes
        result = dr.empty(dtype, shape)
        size = dr.width(result)
        if size == 0:
            return result
        numbers = self._numbers(result, size, draw)
        if not dr.is_tensor_v(dtype):
            return _build(result, numbers)
        return dtype(_build(result.array, numbers), dr.shape(result))

    def _numbers(self, result: Any, size: int, draw: Any) -> Iterator[Any]:
        traced = dr.is_jit_v(result)
        module = _family.module_of(type(result))
        lane = dr.arange(module.UInt, size) if traced else 0
        while True:
            number = self._count(module, traced)
            yield from reversed(draw(module.Philox4x32(self._seed, number, lane)))

    def _count(self, module: Any, traced: bool) -> Any:
        """The number of this call, and one more for the next."""
        counter = self._counter
        if not traced:
            self._counter = counter + 1
            return self._read(counter) if dr.is_jit_v(counter) else counter
        recorded = dr.flag(dr.JitFlag.SymbolicScope)
        frozen = dr.flag(dr.JitFlag.FreezingScope)
        if recorded:
            self._check_recorded()
        elif not dr.is_jit_v(counter) and not frozen:
            self._counter = counter + 1
            return counter if self._symbolic else dr.opaque(module.UInt, counter)
        if not dr.is_jit_v(counter):  # what counts has to be an array to be repeated
            counter = dr.detached_t(module.UInt)(counter)
        number = module.UInt(counter)
        if not (recorded or self._symbolic) and number.state == dr.VarState.Literal:
            dr.make_opaque(number)
        self._counter = type(counter)(number if frozen else counter) + 1
        if not (recorded or self._symbolic):
            dr.schedule(self._counter)
        return number

    @staticmethod
    def _read(counter: Any) -> int:
        if dr.width(counter) != 1:
            raise RuntimeError(
                "drjit.random.Generator: it has a counter for each of "
                f"{dr.width(counter)} lanes, after a loop, and gives no numbers that "
                "are none of Dr.Jit's traced types"
            )
        return int(counter[0])

    def _check_recorded(self) -> None:
        """Does each lane of a recorded body have numbers of its own each time?"""
        if not dr.is_jit_v(self._counter):
            raise RuntimeError(
                "drjit.random.Generator: used in recorded code with a seed of type "
                f"{type(self._seed).__name__}, expected an array: "
                "dr.rng(dr.llvm.UInt64(0))"
            )
        inner = self._loops or self._counter.state == dr.VarState.Symbolic
        if not inner and _core._in_loop():
            raise RuntimeError(
                "drjit.random.Generator: used in the body of a recorded loop, whose "
                "iterations would have the same numbers, expected that the generator "
                "is a part of the loop's state"
            )


def _seed(seed: Any) -> Any:
    """A Python int, or an array with entries of 64 bits."""
    if _is_int(seed) and dr.depth_v(seed) == 1 and not dr.is_tensor_v(seed):
        return dr.uint64_array_t(type(seed))(seed)
    try:
        return operator.index(seed)
    except TypeError:
        raise TypeError(
            f"drjit.rng(): 'seed' is of type {type(seed).__name__}, expected an "
            "integer or a flat array of integers"
        ) from None


def _build(like: Any, numbers: Iterator[Any]) -> Any:
    """An array of the class of 'like' whose leaves are the next numbers."""
    if not dr.is_array_v(like) or (dr.is_jit_v(like) and dr.depth_v(like) == 1):
        return next(numbers)
    return type(like)([_build(entry, numbers) for entry in like])


def _is_array_class(dtype: Any) -> bool:
    return isinstance(dtype, type) and bool(dr.is_array_v(dtype))


def _interval(low: Any, high: Any, endpoint: bool, signed: bool) -> tuple[Any, Any]:
    """The lowest integer, and how many there are. Arrays are taken as they are."""
    if high is None:
        low, high = 0, low
    for bound in (low, high):
        if isinstance(bound, bool) or not (isinstance(bound, int) or _is_int(bound)):
            raise TypeError(
                "drjit.random.Generator.integers(): a bound is of type "
                f"{type(bound).__name__}, expected integers"
            )
    if isinstance(low, int) and isinstance(high, int):
        span = high - low + bool(endpoint)
        smallest, largest = (-(2**31), 2**31 - 1) if signed else (0, 2**32 - 1)
        if span < 1 or low < smallest or low + span - 1 > largest:
            bracket = "]" if endpoint else ")"
            raise ValueError(
                f"drjit.random.Generator.integers(): there is no integer in [{low}, "
                f"{high}{bracket}, or some are out of range"
            )
        return low, span
    return low, high - low + (1 if endpoint else 0)


def _is_int(bound: Any) -> bool:
    return bool(dr.is_array_v(bound)) and bool(dr.is_integral_v(bound))


def _bounded(prng: Any, low: Any, span: Any, signed: bool) -> list[Any]:
    """Integers from the words of a draw, whose lower bits are those of a neighbour."""
    words = list(prng.next_uint32x4())
    pairs = [(words[k], words[k ^ 1]) for k in range(4)]
    if isinstance(words[0], int):
        return [low + (((a << 32) | b) * span >> 64) for a, b in pairs]
    leaf: Any = type(words[0])
    wide = dr.uint64_array_t(leaf)
    entry = dr.int32_array_t(leaf) if signed else leaf
    products = [dr.mul_hi((wide(a) << 32) | b, wide(span)) for a, b in pairs]
    return [entry(product) + entry(low) for product in products]
