"""Pseudorandom number generators: the classes `PCG32` and `Philox4x32`.

Each backend module has classes of its own, made by :py:func:`make`. One text serves
all: in ``drjit.scalar``, whose leaves are Python numbers, it computes with arrays of
one entry, which wrap around as machine words do.

Sources: M. E. O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good
Algorithms for Random Number Generation", 2014 (PCG-XSH-RR 64/32); F. Brown, "Random
Number Generation with Arbitrary Strides", 1994 (jumps); J. K. Salmon et al., "Parallel
Random Numbers: As Easy as 1, 2, 3", 2011 (Philox); G. E. P. Box, M. E. Muller, 1958
(normal variates of Philox).
"""

from __future__ import annotations

import math
import operator

import drjit as dr

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, ClassVar

_WORD = 2**64
_HALF = 2**32 - 1
_MULTIPLIER = 0x5851F42D4C957F2D
_INVERSE = pow(_MULTIPLIER, -1, _WORD)
_STATE = 0x853C49E6748FEA9B
_STREAM = 0xDA3E39CB94B95BDB


def check_integer(value: Any, name: str) -> None:
    """Refuse floats, which a conversion would round."""
    if isinstance(value, float) or (dr.is_array_v(value) and dr.is_float_v(value)):
        raise TypeError(
            f"drjit.{name} is of type {type(value).__name__}, expected an integer or "
            "an array of integers"
        )


class Types:
    """The array types of a backend, and how their values look from outside."""

    def __init__(self, module: ModuleType) -> None:
        self.scalar = module.UInt64 is int
        names = {"u32": "u", "u64": "u64", "i64": "i64", "mask": "b"}
        names |= {"f16": "f16", "f32": "f", "f64": "f64"}
        leaves = {"u32": "UInt", "u64": "UInt64", "i64": "Int64", "mask": "Bool"}
        leaves |= {"f16": "Float16", "f32": "Float", "f64": "Float64"}
        for attribute, suffix in names.items():
            name = "Array1" + suffix if self.scalar else leaves[attribute]
            setattr(self, attribute, getattr(module, name))
        self.module = module

    u32: Any
    u64: Any
    i64: Any
    mask: Any
    f16: Any
    f32: Any
    f64: Any

    def out(self, value: Any) -> Any:
        """A result: a Python number in drjit.scalar."""
        return value[0] if self.scalar else value

    def word(self, value: Any, name: str) -> Any:
        """A UInt64 from an integer of any sign, or an array; ``name`` is for errors."""
        check_integer(value, name)
        if isinstance(value, int) and not isinstance(value, bool):
            return self.u64(value % _WORD)
        if dr.is_array_v(value) and dr.is_signed_v(value):
            return dr.reinterpret_array(self.u64, self.i64(value))
        return self.u64(value)

    def unit32(self, bits: Any) -> Any:
        """The 23 upper bits of a word as a number in [0, 1)."""
        return dr.reinterpret_array(self.f32, (bits >> 9) | 0x3F800000) - 1

    def unit16(self, number: Any) -> Any:
        """A number in [0, 1), rounded; 1 itself is not reached."""
        return dr.minimum(self.f16(number), 1 - 2**-11)

    def unit64(self, bits: Any) -> Any:
        """52 bits as a number in [0, 1)."""
        return dr.reinterpret_array(self.f64, bits | 0x3FF0000000000000) - 1


def _normal(uniform: Any, bits: int) -> Any:
    """The standard normal variate with this probability (inverse transform).

    The probability has that many random bits. Where all are 0 it is the middle of what
    they stand for: the variate is finite.
    """
    uniform = dr.maximum(uniform, 0.5 ** (bits + 1))
    return dr.erfinv(dr.fma(uniform, 2, -1)) * math.sqrt(2)


def _size(size: Any) -> int:
    """How many generators are wanted."""
    if not isinstance(size, bool):
        try:
            count = operator.index(size)
            if count < 1:
                raise ValueError(
                    f"drjit.PCG32(): 'size' is {count}, expected 1 or more"
                )
            return count
        except TypeError:
            pass
    raise TypeError(
        f"drjit.PCG32(): 'size' is of type {type(size).__name__}, expected an integer"
    )


class Pcg32:
    """PCG32, a small and fast generator of random numbers with a state of 64 bits.

    An object holds ``size`` independent generators, one for each lane. Methods
    ``next_...`` return a number for each lane and advance the state; ``prev_...`` step
    back and return the number again. Both take a mask: lanes that are switched off keep
    their state, and what is returned for them has no meaning. ``pcg + n`` and
    ``pcg - n`` jump by ``n`` steps (an ``int`` or an integer array) at the same cost
    for any ``n``; ``pcg - other`` is the number of steps from ``other`` to ``pcg`` if
    both have the same ``inc``, an ``Int64``.

    The class is in each module of arrays; with ``drjit.scalar`` there is one generator,
    whatever the size, and results are Python numbers. ``PCG32(other)`` is a copy. It is
    a PyTree with the fields ``state`` and ``inc`` (``UInt64``), which can be part of
    the state of a loop.

    Args:
        size (int | PCG32): number of generators, or one to copy.
        initstate (int | integer array): first state. If ``size`` is greater than 1,
            lane ``i`` has ``initstate + i``.
        initseq (int | integer array): number of the sequence, likewise. Generators of
            different sequences are independent.

    Raises:
        TypeError: ``size`` is not an integer, or another argument is a float.
        ValueError: ``size`` is less than 1.

    Derivative:
        Random numbers are constants, the types of ``drjit.llvm.ad`` included.

    Evaluation:
        Nothing is evaluated: the state is traced, and grows with each step. Evaluate a
        generator that is used over and over from time to time (``dr.eval(pcg)``).

    Source:
        M. E. O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good
        Algorithms for Random Number Generation", 2014 (PCG-XSH-RR 64/32). Jumps: F.
        Brown, "Random Number Generation with Arbitrary Strides", 1994.

    Example:
        >>> from drjit.llvm.ad import PCG32
        >>> pcg = PCG32(3)
        >>> pcg.next_float32()
        [0.108379, 0.533909, 0.00684452]
        >>> pcg.next_uint32_bounded(6)  # dice from 0 to 5
        [3, 2, 2]
        >>> pcg - PCG32(3)
        [2, 2, 2]

    See also:
        :func:`drjit.random.rng` for whole arrays
    """

    _types: ClassVar[Types]
    DRJIT_STRUCT: ClassVar[dict[str, Any]]
    state: Any
    inc: Any

    def __init__(
        self, size: Any = 1, initstate: Any = _STATE, initseq: Any = _STREAM
    ) -> None:
        if isinstance(size, type(self)):
            self.state, self.inc = size.state, size.inc
            return
        t = self._types
        size = _size(size)
        initstate = t.word(initstate, "PCG32(): 'initstate'")
        initseq = t.word(initseq, "PCG32(): 'initseq'")
        if size > 1 and not t.scalar:
            lane = dr.arange(t.u64, size)
            initstate, initseq = initstate + lane, initseq + lane
        self.seed(initstate, initseq)

    def seed(self, initstate: Any = _STATE, initseq: Any = _STREAM) -> None:
        """Start again, as the constructor does with one generator.

        Args:
            initstate (int | integer array): first state.
            initseq (int | integer array): number of the sequence. Nothing is added to
                the two: give arrays for lanes that differ.
        """
        t = self._types
        initstate = t.word(initstate, "PCG32.seed(): 'initstate'")
        inc = (t.word(initseq, "PCG32.seed(): 'initseq'") << 1) | 1
        self.inc = t.out(inc)
        self.state = t.out(_step(inc + initstate, inc))

    # ---- steps

    def _advance(self, mask: Any) -> Any:
        """Step forward; the state before."""
        t = self._types
        old = t.u64(self.state)
        self._set(mask, _step(old, t.u64(self.inc)), old)
        return old

    def _retreat(self, mask: Any) -> Any:
        """Step back where the mask is set; the state after."""
        t = self._types
        old = t.u64(self.state)
        new = (old - t.u64(self.inc)) * _INVERSE
        self._set(mask, new, old)
        return t.u64(self.state)

    def _set(self, mask: Any, new: Any, old: Any) -> None:
        self.state = self._types.out(dr.select(mask, new, old))

    def next_uint32(self, mask: Any = True, /) -> Any:
        """Return 32 random bits, a ``UInt``; one step."""
        return self._types.out(self._next_bits(mask))

    def prev_uint32(self, mask: Any = True, /) -> Any:
        """Undo ``next_uint32()`` and return its result again."""
        return self._types.out(self._prev_bits(mask))

    def next_uint64(self, mask: Any = True, /) -> Any:
        """Return 64 random bits, a ``UInt64``, made of two steps (the lower half
        first)."""
        return self._types.out(self._next_word(mask))

    def prev_uint64(self, mask: Any = True, /) -> Any:
        """Undo ``next_uint64()`` and return its result again."""
        t = self._types
        high = t.u64(self._prev_bits(mask))
        return t.out(t.u64(self._prev_bits(mask)) | (high << 32))

    def _next_bits(self, mask: Any) -> Any:
        return _permute(self._types, self._advance(mask))

    def _prev_bits(self, mask: Any) -> Any:
        return _permute(self._types, self._retreat(mask))

    def _next_word(self, mask: Any) -> Any:
        t = self._types
        low = t.u64(self._next_bits(mask))
        return low | (t.u64(self._next_bits(mask)) << 32)

    # ---- uniform numbers

    def next_uint32_bounded(self, bound: int, mask: Any = True) -> Any:
        """Return an integer in [0, ``bound``), each with exactly the same probability.

        Lanes whose number would favour small results draw again, in a loop. How many
        steps a lane takes depends on its numbers, so there is no ``prev_...`` of it.

        Args:
            bound (int): how many integers, from 1 to 2^32 - 1.
            mask (mask | bool): lanes that draw.

        Returns:
            UInt: a number for each lane.

        Raises:
            TypeError: ``bound`` is not an ``int``.
            ValueError: ``bound`` is out of range.
        """
        return self._bounded("next_uint32_bounded", bound, mask, 32)

    def next_uint64_bounded(self, bound: int, mask: Any = True) -> Any:
        """Return an integer of 64 bits in [0, ``bound``), each with exactly the same
        probability.

        The same as ``next_uint32_bounded()``, a ``UInt64``, with ``bound`` up to 2^64 -
        1.
        """
        return self._bounded("next_uint64_bounded", bound, mask, 64)

    def _bounded(self, name: str, bound: Any, mask: Any, bits: int) -> Any:
        if isinstance(bound, bool) or not isinstance(bound, int):
            raise TypeError(
                f"drjit.PCG32.{name}(): 'bound' is of type {type(bound).__name__}, "
                "expected an integer"
            )
        if not 0 < bound < 2**bits:
            raise ValueError(
                f"drjit.PCG32.{name}(): 'bound' is {bound}, expected 1 to 2^{bits} - 1"
            )
        t = self._types
        draw = self._next_bits if bits == 32 else self._next_word
        # Numbers below the threshold would make small results more likely.
        threshold = (2**bits - bound) % bound
        if t.scalar:
            number = draw(mask)
            while mask and number[0] < threshold:
                number = draw(mask)
            return t.out(number % bound)
        number = draw(mask)
        if threshold:
            number = self._redraw(draw, number, threshold, t.mask(mask))
        return number % bound

    def _redraw(self, draw: Any, number: Any, threshold: int, mask: Any) -> Any:
        """Draw again, in a loop, where a number is below the threshold."""
        kept = self.state

        def again(number: Any, state: Any, mask: Any) -> Any:
            return mask & (number < threshold)

        def redraw(number: Any, state: Any, mask: Any) -> tuple[Any, Any, Any]:
            self.state = state
            return draw(True), self.state, mask

        try:
            number, state, _ = dr.while_loop((number, kept, mask), again, redraw)
        except BaseException:
            self.state = kept
            raise
        self.state = state
        return number

    def next_float16(self, mask: Any = True, /) -> Any:
        """Return a uniform number in [0, 1), a ``Float16``; one step."""
        t = self._types
        return t.out(t.unit16(t.unit32(self._next_bits(mask))))

    def prev_float16(self, mask: Any = True, /) -> Any:
        """Undo ``next_float16()`` and return its result again."""
        t = self._types
        return t.out(t.unit16(t.unit32(self._prev_bits(mask))))

    def next_float32(self, mask: Any = True, /) -> Any:
        """Return a uniform number in [0, 1), a ``Float``: a multiple of 2^-23; one
        step."""
        t = self._types
        return t.out(t.unit32(self._next_bits(mask)))

    def prev_float32(self, mask: Any = True, /) -> Any:
        """Undo ``next_float32()`` and return its result again."""
        t = self._types
        return t.out(t.unit32(self._prev_bits(mask)))

    def next_float64(self, mask: Any = True, /) -> Any:
        """Return a uniform number in [0, 1), a ``Float64``: a multiple of 2^-32; one
        step."""
        t = self._types
        return t.out(t.unit64(t.u64(self._next_bits(mask)) << 20))

    def prev_float64(self, mask: Any = True, /) -> Any:
        """Undo ``next_float64()`` and return its result again."""
        t = self._types
        return t.out(t.unit64(t.u64(self._prev_bits(mask)) << 20))

    def next_float(self, dtype: Any, mask: Any = True) -> Any:
        """Return a uniform number in [0, 1) of the precision of a type.

        Args:
            dtype (type): an array type of floats, or ``float`` in ``drjit.scalar``.
                Only the precision counts: ``Array3f`` gives a ``Float``.
            mask (mask | bool): lanes that advance.

        Raises:
            TypeError: ``dtype`` is not a type of floats.
        """
        return self._typed("next_float", dtype, "")(mask)

    def prev_float(self, dtype: Any, mask: Any = True) -> Any:
        """Undo ``next_float()`` and return its result again."""
        return self._typed("prev_float", dtype, "")(mask)

    # ---- normal variates

    def next_float16_normal(self, mask: Any = True, /) -> Any:
        """Return a standard normal variate, a ``Float16``; see
        ``next_float32_normal()``."""
        t = self._types
        return t.out(t.f16(_normal(t.unit32(self._next_bits(mask)), 23)))

    def prev_float16_normal(self, mask: Any = True, /) -> Any:
        """Undo ``next_float16_normal()`` and return its result again."""
        t = self._types
        return t.out(t.f16(_normal(t.unit32(self._prev_bits(mask)), 23)))

    def next_float32_normal(self, mask: Any = True, /) -> Any:
        """Return a standard normal variate (mean 0, variance 1), a ``Float``; one step.

        It is the inverse of the distribution function, by :func:`drjit.erfinv`, of a
        uniform number of 23 bits: finite, and from -5.29 to 5.17. In place of 0 the
        number is 2^-24.
        """
        t = self._types
        return t.out(_normal(t.unit32(self._next_bits(mask)), 23))

    def prev_float32_normal(self, mask: Any = True, /) -> Any:
        """Undo ``next_float32_normal()`` and return its result again."""
        t = self._types
        return t.out(_normal(t.unit32(self._prev_bits(mask)), 23))

    def next_float64_normal(self, mask: Any = True, /) -> Any:
        """Return a standard normal variate, a ``Float64``, made of 32 random bits; one
        step.

        It is finite, and from -6.34 to 6.23. In place of 0 the uniform number is 2^-33.
        """
        t = self._types
        return t.out(_normal(t.unit64(t.u64(self._next_bits(mask)) << 20), 32))

    def prev_float64_normal(self, mask: Any = True, /) -> Any:
        """Undo ``next_float64_normal()`` and return its result again."""
        t = self._types
        return t.out(_normal(t.unit64(t.u64(self._prev_bits(mask)) << 20), 32))

    def next_float_normal(self, dtype: Any, mask: Any = True) -> Any:
        """Return a standard normal variate of the precision of a type; as
        ``next_float()``."""
        return self._typed("next_float", dtype, "_normal")(mask)

    def prev_float_normal(self, dtype: Any, mask: Any = True) -> Any:
        """Undo ``next_float_normal()`` and return its result again."""
        return self._typed("prev_float", dtype, "_normal")(mask)

    def _typed(self, name: str, dtype: Any, suffix: str) -> Any:
        bits = {"Float16": "16", "Float32": "32", "Float64": "64"}
        entry = dr.type_v(dtype).name if dr.is_array_v(dtype) else None
        if dtype is float and self._types.scalar:
            entry = "Float64"
        if entry not in bits:
            raise TypeError(
                f"drjit.PCG32.{name}{suffix}(): 'dtype' is {dtype!r}, expected a "
                "floating point type"
            )
        return getattr(self, f"{name}{bits[entry]}{suffix}")

    # ---- jumps

    def __iadd__(self, offset: Any) -> Pcg32:
        if isinstance(offset, float) or isinstance(offset, Pcg32):
            return NotImplemented
        self._jump(self._types.word(offset, "PCG32(): the offset"))
        return self

    def __isub__(self, offset: Any) -> Pcg32:
        if isinstance(offset, float) or isinstance(offset, Pcg32):
            return NotImplemented
        self._jump(self._types.u64(0) - self._types.word(offset, "PCG32(): the offset"))
        return self

    def __add__(self, offset: Any) -> Pcg32:
        return type(self)(self).__iadd__(offset)

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, type(self)):
            return self._distance(other)
        return type(self)(self).__isub__(other)

    def _jump(self, offset: Any) -> None:
        """Apply the step 'offset' times: for each of its bits, the step's power of two,
        which is again of the form ``state * a + inc * b``."""
        t = self._types
        state, inc = t.u64(self.state), t.u64(self.inc)
        for bit, (a, b) in enumerate(_powers()):
            stepped = dr.fma(state, t.u64(a), inc * b)
            state = dr.select((offset & (1 << bit)) != 0, stepped, state)
        self.state = t.out(state)

    def _distance(self, other: Pcg32) -> Any:
        """How often to step 'other' until it is here: bit k of the distance is that
        which makes the lowest k + 1 bits of the states equal."""
        t = self._types
        target, inc = t.u64(self.state), t.u64(self.inc)
        state, distance = t.u64(other.state), t.u64(0)
        for bit, (a, b) in enumerate(_powers()):
            differs = ((state ^ target) & (1 << bit)) != 0
            state = dr.select(differs, dr.fma(state, t.u64(a), inc * b), state)
            distance = dr.select(differs, distance | (1 << bit), distance)
        return t.out(dr.reinterpret_array(t.i64, distance))


def _step(state: Any, inc: Any) -> Any:
    return dr.fma(state, type(state)(_MULTIPLIER), inc)


def _permute(t: Types, state: Any) -> Any:
    """The output function: xorshift of the upper bits, rotated by the uppermost 5."""
    word = t.u32(((state >> 18) ^ state) >> 27)
    turn = t.u32(state >> 59)
    return (word >> turn) | (word << ((~turn + 1) & 31))


def _powers() -> list[tuple[int, int]]:
    """Factors of state and increment in 1, 2, 4, ... 2**63 steps."""
    powers, a, b = [], _MULTIPLIER, 1
    for _ in range(64):
        powers.append((a, b))
        a, b = a * a % _WORD, (a + 1) * b % _WORD
    return powers


class Philox:
    """Philox4x32, a generator that computes its numbers from a key and a counter.

    It has no state that numbers are drawn from one after the other: each lane knows its
    numbers from its own coordinates, say pixel and frame. Lanes with another seed or
    other counters have independent numbers. Each method returns an array of several
    numbers and adds 1 to a fourth counter, in the lanes where the optional mask is set.

    The class is in each module of arrays; in ``drjit.scalar`` entries are Python
    numbers. ``Philox4x32(other)`` is a copy. It is a PyTree with the fields ``seed``
    (two words of 32 bits, the upper one first), ``counter`` (four) and ``iterations``.

    Args:
        seed (int | integer array | Philox4x32): key of 64 bits, or a generator to copy.
        counter_0 (int | integer array): counter of 32 bits, usually the index of the
            lane.
        counter_1, counter_2 (int | integer array): further counters.
        iterations (int): rounds of mixing. Seven pass all usual tests of randomness;
            the authors recommend ten where time does not count.

    Raises:
        TypeError: ``iterations`` is not an ``int``, or a counter does not fit 32 bits.
        ValueError: ``iterations`` is negative.

    Derivative:
        Random numbers are constants.

    Source:
        J. K. Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011. Normal
        variates: G. E. P. Box and M. E. Muller, 1958.

    Example:
        >>> from drjit.llvm.ad import Philox4x32
        >>> philox = Philox4x32(seed=3, counter_0=dr.arange(UInt, 2))
        >>> philox.next_float32x4()
        [[0.751497, 0.506957, 0.988699, 0.214934],
         [0.150415, 0.0766877, 0.816049, 0.311088]]
        >>> philox.next_uint32x4(Bool(True, False)).x
        [105809928, 3217527443]
        >>> philox.counter.w
        [2, 1]

    See also:
        :func:`drjit.random.rng`, which uses this generator for whole arrays
    """

    _types: ClassVar[Types]
    DRJIT_STRUCT: ClassVar[dict[str, Any]]
    seed: Any
    counter: Any
    iterations: int

    def __init__(
        self,
        seed: Any = 0,
        counter_0: Any = 0,
        counter_1: Any = 0,
        counter_2: Any = 0,
        iterations: int = 7,
    ) -> None:
        if isinstance(seed, type(self)):
            self.seed, self.counter = seed.seed, seed.counter
            self.iterations = seed.iterations
            return
        if isinstance(iterations, bool) or not isinstance(iterations, int):
            raise TypeError(
                "drjit.Philox4x32(): 'iterations' is of type "
                f"{type(iterations).__name__}, expected an integer"
            )
        if iterations < 0:
            raise ValueError(
                f"drjit.Philox4x32(): 'iterations' is {iterations}, expected 0 or more"
            )
        t = self._types
        word = t.word(seed, "Philox4x32(): 'seed'")
        for i, counter in enumerate((counter_0, counter_1, counter_2)):
            check_integer(counter, f"Philox4x32(): 'counter_{i}'")
        self.seed = t.module.Array2u(t.out(t.u32(word >> 32)), t.out(t.u32(word)))
        self.counter = t.module.Array4u(counter_0, counter_1, counter_2, 0)
        self.iterations = iterations

    def next_uint32x4(self, mask: Any = True, /) -> Any:
        """Return four words of 32 random bits, an ``Array4u``."""
        t = self._types
        return t.module.Array4u(*[t.out(word) for word in self._draw(t.u32, mask)])

    def next_uint64x2(self, mask: Any = True, /) -> Any:
        """Return two words of 64 random bits, an ``Array2u64``."""
        t = self._types
        return t.module.Array2u64(*[t.out(word) for word in self._words(mask)])

    def next_float16x4(self, mask: Any = True, /) -> Any:
        """Return four uniform numbers in [0, 1), an ``Array4f16``."""
        t = self._types
        units = [t.out(t.unit16(number)) for number in self._units(mask)]
        return t.module.Array4f16(*units)

    def next_float32x4(self, mask: Any = True, /) -> Any:
        """Return four uniform numbers in [0, 1), an ``Array4f``: multiples of 2^-23."""
        t = self._types
        return t.module.Array4f(*[t.out(number) for number in self._units(mask)])

    def next_float64x2(self, mask: Any = True, /) -> Any:
        """Return two uniform numbers in [0, 1), an ``Array2f64``: multiples of
        2^-52."""
        t = self._types
        return t.module.Array2f64(*[t.out(number) for number in self._wide_units(mask)])

    def next_float16x4_normal(self, mask: Any = True, /) -> Any:
        """Return four standard normal variates, an ``Array4f16``."""
        t = self._types
        variates = [t.out(t.f16(number)) for number in self._variates(mask)]
        return t.module.Array4f16(*variates)

    def next_float32x4_normal(self, mask: Any = True, /) -> Any:
        """Return four standard normal variates (mean 0, variance 1), an ``Array4f``.

        They are made in pairs from two uniform numbers each (Box and Muller), and are
        finite.
        """
        t = self._types
        return t.module.Array4f(*[t.out(number) for number in self._variates(mask)])

    def next_float64x2_normal(self, mask: Any = True, /) -> Any:
        """Return two standard normal variates, an ``Array2f64``."""
        t = self._types
        radius, angle = self._wide_units(mask)
        pair = _box_muller(radius, angle)
        return t.module.Array2f64(*[t.out(number) for number in pair])

    def _draw(self, kind: Any, mask: Any) -> list[Any]:
        """Four words in arrays of 32 or 64 bits, whose upper halves are not defined."""
        t = self._types
        key = [kind(t.u32(self.seed[k])) for k in range(2)]
        a, b, c, d = (kind(t.u32(self.counter[k])) for k in range(4))
        for _ in range(self.iterations):
            high_a, low_a = _product(a, 0xD2511F53)
            high_c, low_c = _product(c, 0xCD9E8D57)
            a, b, c, d = high_c ^ b ^ key[0], low_c, high_a ^ d ^ key[1], low_a
            key = [key[0] + 0x9E3779B9, key[1] + 0xBB67AE85]
        counter = self.counter
        last = dr.select(mask, t.u32(counter[3]) + 1, t.u32(counter[3]))
        self.counter = type(counter)(counter[0], counter[1], counter[2], t.out(last))
        return [a, b, c, d]

    def _words(self, mask: Any) -> list[Any]:
        a, b, c, d = self._draw(self._types.u64, mask)
        return [a & _HALF | b << 32, c & _HALF | d << 32]

    def _units(self, mask: Any) -> list[Any]:
        t = self._types
        return [t.unit32(word) for word in self._draw(t.u32, mask)]

    def _wide_units(self, mask: Any) -> list[Any]:
        return [self._types.unit64(word >> 12) for word in self._words(mask)]

    def _variates(self, mask: Any) -> list[Any]:
        angle_0, angle_1, radius_0, radius_1 = self._units(mask)
        return [*_box_muller(radius_0, angle_0), *_box_muller(radius_1, angle_1)]


def _product(x: Any, factor: int) -> tuple[Any, Any]:
    """High and low word of the product with a word. Where arrays of 64 bits are in use
    anyway, they save putting it together and taking it apart."""
    if dr.type_v(x) == dr.VarType.UInt32:
        return dr.mul_hi(x, factor), x * factor
    product = (x & _HALF) * factor
    return product >> 32, product


def _sine(turns: Any) -> Any:
    """sin(2 pi x) for x in [0, 1.25], to some ulps.

    What is left of x without half turns is exact, and the power series around 0 reaches
    over a quarter turn on both sides.
    """
    double = dr.type_v(turns) == dr.VarType.Float64
    halves = dr.round(2 * turns)
    x = dr.fma(halves, -0.5, turns)
    square = dr.square(x)
    series: Any = 0.0
    for power in range(21 if double else 13, 0, -2):
        sign = -1 if power % 4 == 3 else 1
        coefficient = sign * (2 * math.pi) ** power / math.factorial(power)
        series = dr.fma(series, square, coefficient)
    return dr.select(halves == 1, -x, x) * series


def _box_muller(radius: Any, angle: Any) -> tuple[Any, Any]:
    """Two normal variates from two uniform ones."""
    r = dr.sqrt(-2 * dr.log(1 - radius))
    return r * _sine(angle + 0.25), r * _sine(angle)


def make(module: ModuleType) -> dict[str, type[Any]]:
    """The classes of a backend module, by name."""
    t = Types(module)
    word = int if t.scalar else t.u64
    common = {"_types": t, "__module__": module.__name__}
    pcg = type(
        "PCG32",
        (Pcg32,),
        {
            **common,
            "__doc__": Pcg32.__doc__,
            "DRJIT_STRUCT": {"state": word, "inc": word},
        },
    )
    philox = type(
        "Philox4x32",
        (Philox,),
        {
            **common,
            "__doc__": Philox.__doc__,
            "DRJIT_STRUCT": {
                "seed": module.Array2u,
                "counter": module.Array4u,
                "iterations": int,
            },
        },
    )
    return {"PCG32": pcg, "Philox4x32": philox}
