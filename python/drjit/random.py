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

_FLOATS = {"Float16": "float16x4", "Float32": "float32x4", "Float64": "float64x2"}


def rng(seed: Any = 0, method: str = "philox4x32", symbolic: bool = False) -> Generator:
    """Return a seeded generator of random arrays.

    ``seed`` is an integer (of NumPy, too) or an array of integers (with an entry for
    each entry of the results, or one; made ``UInt64``). Generators with different seeds
    give independent numbers. Only the method ``"philox4x32"`` exists, others raise
    ``ValueError``. A ``symbolic`` generator never evaluates its counter, which becomes
    part of the programs that use it.

    A generator is a PyTree. In recorded loops, conditionals and calls it has to have an
    array as seed, whose counter is an array, too, and in loops it has to be a part of
    the state; anything else is a ``RuntimeError``.
    """
    if method != "philox4x32":
        raise ValueError(f"drjit.rng(): 'method' is {method!r}, expected 'philox4x32'")
    return Generator(seed, symbolic)


class Generator:
    """A sequence of random arrays.

    Entry i of an array comes from a :py:class:`Philox4x32` with the generator's seed,
    the number of the call as first and i as second counter.
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
        """Return a generator that gives what this one is going to give."""
        return copy.copy(self)

    def random(self, dtype: Any, shape: Any) -> Any:
        """Return an array or tensor of uniformly distributed numbers in [0, 1).

        ``dtype`` is an array class with floating point entries, or ``float`` (one
        number in double precision), ``shape`` an integer or tuple. Raises ``TypeError``
        for other types, ``RuntimeError`` for a shape that the class cannot have.
        """
        return self._fill("random", dtype, shape, "")

    def uniform(self, dtype: Any, shape: Any, low: Any = 0.0, high: Any = 1.0) -> Any:
        """Return numbers in [low, high); otherwise as `random`."""
        return dr.fma(self._fill("uniform", dtype, shape, ""), high - low, low)

    def normal(self, dtype: Any, shape: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
        """Return numbers of a normal distribution with this mean and standard
        deviation; otherwise as `random`."""
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

        They are in [0, low) if ``high`` is not given, else in [low, high), or in [low,
        high] with ``endpoint``. ``dtype`` is an array class with Int32 or UInt32
        entries. Raises ``TypeError`` for other types, ``ValueError`` if there is no
        integer in the interval or its bounds are out of the type's range.

        The products of 64 random bits and the number of integers, divided by 2**64:
        each is taken with the same probability up to a factor 1 +- 2**-32.
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
        """Return the numbers 0 ... n-1, or the entries of an array, in random order.

        ``permutation(dtype, n)``: a ``UInt`` array of the backend of ``dtype``.
        ``permutation(x, axis=0)``: a copy of the one-dimensional array, or of the
        tensor with its slices along ``axis`` shuffled.
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
