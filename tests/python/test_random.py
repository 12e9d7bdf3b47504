"""Random numbers, against implementations of the papers in a few lines of Python.

Expected sequences: the PCG paper's demonstration program (state 42, stream 54) and the
known-answer tests of Philox4x32 (Salmon et al., Random123: kat_vectors, 7 and 10
rounds).
"""

from __future__ import annotations

import copy
import math
import pickle
from types import ModuleType
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit import llvm, scalar

WORD, HALF = 2**64, 2**32
MULTIPLIER = 6364136223846793005


class Pcg:
    """PCG-XSH-RR 64/32 as the paper writes it."""

    def __init__(self, state: int = 0x853C49E6748FEA9B, seq: int = 0xDA3E39CB94B95BDB):
        self.state, self.inc = 0, (seq << 1 | 1) % WORD
        self.draw()
        self.state = (self.state + state) % WORD
        self.draw()

    def draw(self) -> int:
        old = self.state
        self.state = (old * MULTIPLIER + self.inc) % WORD
        word = ((old >> 18 ^ old) >> 27) % HALF
        turn = old >> 59
        return (word >> turn | word << (-turn & 31)) % HALF


def philox(counter: list[int], key: list[int], rounds: int = 7) -> list[int]:
    a, b, c, d = counter
    k0, k1 = key
    for _ in range(rounds):
        first, second = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = (
            second >> 32 ^ b ^ k0,
            second % HALF,
            first >> 32 ^ d ^ k1,
            first % HALF,
        )
        k0, k1 = (k0 + 0x9E3779B9) % HALF, (k1 + 0xBB67AE85) % HALF
    return [a, b, c, d]


def numbers(value: Any) -> list[Any]:
    return list(value) if dr.is_array_v(value) else [value]


# ------------------------------------------------------------------ PCG32


def test_pcg_demo(m: ModuleType) -> None:
    rng = m.PCG32(1, 42, 54)
    expected = [0xA15C02B7, 0x7B47F409, 0xBA1D3330, 0x83D2F293, 0xBFA4784B, 0xCBED606E]
    assert [numbers(rng.next_uint32())[0] for _ in expected] == expected


def test_pcg_sizes() -> None:
    rng = llvm.PCG32(5, 7, 9)
    expected = [Pcg(7 + i, 9 + i) for i in range(5)]
    for _ in range(3):
        assert list(rng.next_uint32()) == [e.draw() for e in expected]
    assert list(rng.inc) == [e.inc for e in expected]
    assert list(rng.state) == [e.state for e in expected]


def test_pcg_numbers(m: ModuleType) -> None:
    rng, e = m.PCG32(), Pcg()
    low, high = e.draw(), e.draw()
    assert numbers(rng.next_uint64()) == [high << 32 | low]
    u = e.draw()
    assert numbers(rng.next_float32()) == [(u >> 9) / 2**23]
    u = e.draw()
    assert numbers(rng.next_float64()) == [u / 2**32]
    u = e.draw()
    assert numbers(rng.next_float16()) == [float(np.float16((u >> 9) / 2**23))]


def test_pcg_normal(m: ModuleType) -> None:
    from statistics import NormalDist

    rng, e = m.PCG32(), Pcg()
    for name, bits, tolerance in (
        ("16", 23, 2e-3),
        ("32", 23, 3e-7),
        ("64", 32, 1e-14),
    ):
        for _ in range(4):
            value = numbers(getattr(rng, f"next_float{name}_normal")())[0]
            u = (e.draw() >> (32 - bits) or 0.5) / 2**bits
            expected = NormalDist().inv_cdf(u)
            assert value == pytest.approx(expected, rel=tolerance, abs=tolerance)


@pytest.mark.parametrize(
    "name",
    "uint32 uint64 float16 float32 float64 float16_normal float32_normal "
    "float64_normal".split(),
)
def test_pcg_backwards(m: ModuleType, name: str) -> None:
    rng, start = m.PCG32(1, 3, 4), m.PCG32(1, 3, 4)
    forward = [numbers(getattr(rng, "next_" + name)()) for _ in range(3)]
    back = [numbers(getattr(rng, "prev_" + name)()) for _ in range(3)]
    assert back == forward[::-1]
    assert numbers(rng - start) == [0]


def test_pcg_normal_variates_are_finite(m: ModuleType) -> None:
    """Also for words whose bits are all 0, as the output of the state 0 is."""
    from statistics import NormalDist

    kinds = (("16", 23, 1e-3), ("32", 23, 3e-7), ("64", 32, 1e-14))
    for name, bits, tolerance in kinds:
        for ahead in (False, True):
            rng = m.PCG32()
            rng.state = type(rng.state)(0)
            assert numbers(m.PCG32(rng).next_uint32()) == [0]
            if ahead:
                rng += 1
            draw = f"{'prev' if ahead else 'next'}_float{name}_normal"
            expected = NormalDist().inv_cdf(0.5 / 2**bits)
            assert numbers(getattr(rng, draw)()) == pytest.approx([expected], tolerance)


@pytest.mark.parametrize("offset", [0, 1, 5, 1000003, 2**63 - 1, -1, -77])
def test_pcg_jump(m: ModuleType, offset: int) -> None:
    start = m.PCG32(1, 8, 9)
    rng = start + offset
    assert numbers(rng - start) == [offset]
    assert numbers((rng - offset) - start) == [0]
    if 0 <= offset < 10:
        e = Pcg(8, 9)
        for _ in range(offset):
            e.draw()
        assert numbers(rng.next_uint32()) == [e.draw()]


def test_pcg_jump_in_place(m: ModuleType) -> None:
    rng, start = m.PCG32(), m.PCG32()
    rng += 12
    rng -= 4
    assert numbers(rng - start) == [8]


def test_pcg_jump_by_array() -> None:
    start = llvm.PCG32(3)
    assert list((start + llvm.Int64(1, -2, 3)) - start) == [1, -2, 3]


def test_pcg_copy(m: ModuleType) -> None:
    rng = m.PCG32(1, 1, 1)
    other = m.PCG32(rng)
    assert numbers(rng.next_uint32()) == numbers(other.next_uint32())
    rng.next_uint32()
    assert numbers(rng - other) == [1]


def test_pcg_mask() -> None:
    rng, start = llvm.PCG32(3), llvm.PCG32(3)
    rng.next_uint64(llvm.Bool(True, False, True))
    assert list(rng - start) == [2, 0, 2]
    rng.next_float32(False)
    assert list(rng - start) == [2, 0, 2]


def test_pcg_mask_of_the_other_direction(m: ModuleType) -> None:
    rng, e = m.PCG32(), Pcg()
    first = e.draw()
    rng.next_uint32()
    state = numbers(rng.state)
    assert numbers(rng.prev_uint32(False)) == numbers(m.PCG32(rng).next_uint32())
    assert numbers(rng.state) == state
    assert numbers(rng.prev_uint32(True)) == [first]


def test_pcg_size() -> None:
    expected = list(llvm.PCG32(3).next_uint32())
    assert list(llvm.PCG32(size=np.int64(3)).next_uint32()) == expected
    assert scalar.PCG32(size=3).next_uint32() == expected[0]


@pytest.mark.parametrize("bound", [1, 10, 3000000000, 2**31 + 1, 2**32 - 1])
def test_pcg_bounded(m: ModuleType, bound: int) -> None:
    rng, e = m.PCG32(), Pcg()
    threshold = (HALF - bound) % bound
    for _ in range(5):
        u = e.draw()
        while u < threshold:
            u = e.draw()
        assert numbers(rng.next_uint32_bounded(bound)) == [u % bound]


@pytest.mark.parametrize("bound", [1, 10, 2**63 + 1])
def test_pcg_bounded_64(m: ModuleType, bound: int) -> None:
    rng, e = m.PCG32(), Pcg()
    threshold = (WORD - bound) % bound
    for _ in range(4):
        u = e.draw() | e.draw() << 32
        while u < threshold:
            u = e.draw() | e.draw() << 32
        assert numbers(rng.next_uint64_bounded(bound)) == [u % bound]


def test_pcg_bounded_mask() -> None:
    rng, start = llvm.PCG32(3), llvm.PCG32(3)
    rng.next_uint32_bounded(2**31 + 1, llvm.Bool(True, False, True))
    assert (rng - start)[1] == 0
    assert (rng - start)[0] >= 1


def test_pcg_typed() -> None:
    assert type(llvm.PCG32(2).next_float(llvm.Float64)) is llvm.Float64
    assert type(llvm.PCG32(2).next_float_normal(llvm.TensorXf16)) is llvm.Float16
    assert isinstance(scalar.PCG32().next_float(scalar.Array3f64), float)
    with pytest.raises(TypeError, match=r"drjit\.PCG32\.next_float\(\): 'dtype'"):
        llvm.PCG32(2).next_float(llvm.UInt)


def test_pcg_is_a_tree() -> None:
    rng = llvm.PCG32(4)
    rng.next_uint32()
    dr.eval(rng)
    assert rng.state.state == dr.VarState.Evaluated
    assert dr.width(rng) == 4


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: llvm.PCG32(0), ValueError),
        (lambda: llvm.PCG32(-1), ValueError),
        (lambda: llvm.PCG32("3"), TypeError),
        (lambda: scalar.PCG32(0), ValueError),
        (lambda: llvm.PCG32(True), TypeError),
        (lambda: llvm.PCG32(1.0), TypeError),
        (lambda: llvm.PCG32().next_uint32_bounded(0), ValueError),
        (lambda: llvm.PCG32().next_uint32_bounded(2**32), ValueError),
        (lambda: llvm.PCG32().next_uint64_bounded(2**64), ValueError),
        (lambda: llvm.PCG32().next_uint32_bounded(1.5), TypeError),
        (lambda: llvm.PCG32() + 1.5, TypeError),
    ],
)
def test_pcg_errors(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


# ------------------------------------------------------------------ Philox4x32


def test_philox_reference() -> None:
    """The function above, which the others are compared with."""
    ones = [0xFFFFFFFF] * 4
    assert philox([0] * 4, [0, 0], 7) == [
        0x5F6FB709,
        0x0D893F64,
        0x4F121F81,
        0x4F730A48,
    ]
    assert philox(ones, ones[:2], 7) == [0x5207DDC2, 0x45165E59, 0x4D8EE751, 0x8C52F662]
    assert philox([0] * 4, [0, 0], 10) == [
        0x6627E8D5,
        0xE169C58D,
        0xBC57AC4C,
        0x9B00DBD8,
    ]


def test_philox_words(m: ModuleType) -> None:
    rng = m.Philox4x32(3 + (9 << 32), 5, 6, 7)
    for last in range(3):
        expected = philox([5, 6, 7, last], [9, 3])
        assert [numbers(x)[0] for x in rng.next_uint32x4()] == expected
    assert [numbers(x)[0] for x in rng.counter] == [5, 6, 7, 3]
    assert [numbers(x)[0] for x in rng.seed] == [9, 3]


def test_philox_rounds(m: ModuleType) -> None:
    rng = m.Philox4x32(0, 1, iterations=10)
    words = [numbers(x)[0] for x in rng.next_uint32x4()]
    assert words == philox([1, 0, 0, 0], [0, 0], 10)


def test_philox_numbers(m: ModuleType) -> None:
    rng = m.Philox4x32(1, 2)
    draw = [philox([2, 0, 0, k], [0, 1]) for k in range(4)]

    def get(name: str) -> list[Any]:
        return [numbers(x)[0] for x in getattr(rng, "next_" + name)()]

    assert get("uint64x2") == [
        draw[0][0] | draw[0][1] << 32,
        draw[0][2] | draw[0][3] << 32,
    ]
    units = [(u >> 9) / 2**23 for u in draw[1]]
    assert get("float32x4") == units
    words = [draw[2][0] | draw[2][1] << 32, draw[2][2] | draw[2][3] << 32]
    assert get("float64x2") == [(w >> 12) / 2**52 for w in words]
    assert get("float16x4") == [float(np.float16((u >> 9) / 2**23)) for u in draw[3]]


def test_philox_normal(m: ModuleType) -> None:
    for name, kind, tolerance in (
        ("float32x4", np.float32, 1e-6),
        ("float16x4", np.float16, 3e-3),
    ):
        f = [(u >> 9) / 2**23 for u in philox([5, 6, 7, 0], [0, 3])]
        expected = []
        for radius, angle in ((f[2], f[0]), (f[3], f[1])):
            r = math.sqrt(-2 * math.log(1 - radius))
            expected += [
                r * math.cos(2 * math.pi * angle),
                r * math.sin(2 * math.pi * angle),
            ]
        rng = m.Philox4x32(3, 5, 6, 7)
        found = [numbers(x)[0] for x in getattr(rng, f"next_{name}_normal")()]
        assert found == pytest.approx([float(kind(x)) for x in expected], abs=tolerance)


def test_philox_mask() -> None:
    rng = llvm.Philox4x32(0, llvm.UInt(1, 2))
    rng.next_uint32x4(llvm.Bool(True, False))
    assert list(rng.counter[3]) == [1, 0]


def test_philox_errors() -> None:
    with pytest.raises(ValueError, match="iterations"):
        llvm.Philox4x32(0, 0, iterations=-1)
    with pytest.raises(TypeError, match="iterations"):
        llvm.Philox4x32(0, 0, iterations=2.5)


# ------------------------------------------------------------------ rng


def expected_units(seed: int, n: int, number: int = 0) -> list[list[float]]:
    """For each lane, the numbers of draw 'number' in the order in which they are
    used."""
    key = [seed >> 32, seed % HALF]
    lanes = [philox([number, i, 0, 0], key) for i in range(n)]
    return [[(u >> 9) / 2**23 for u in reversed(lane)] for lane in lanes]


@pytest.mark.parametrize("seed", [0, 1, 2**40 + 3])
def test_rng_sequence(seed: int) -> None:
    rng = dr.rng(seed)
    assert list(rng.random(llvm.Float, 9)) == [u[0] for u in expected_units(seed, 9)]
    second = [u[0] for u in expected_units(seed, 9, 1)]
    assert list(rng.random(llvm.Float, 9)) == second


def test_rng_shapes() -> None:
    units = expected_units(0, 6)
    result = dr.rng(0).random(llvm.Array3f, (3, 6))
    for k in range(3):
        assert list(result[k]) == [u[k] for u in units]
    tensor = dr.rng(0).random(llvm.TensorXf, (2, 3))
    assert tensor.shape == (2, 3)
    assert list(tensor.array) == [u[0] for u in units]
    matrix = dr.rng(0).random(llvm.Matrix3f, (3, 3, 2))
    calls = [expected_units(0, 2, number) for number in range(3)]
    entries = [[lane[k] for lane in call] for call in calls for k in range(4)]
    assert [list(matrix[i][j]) for i in range(3) for j in range(3)] == entries[:9]


def test_rng_scalar() -> None:
    assert list(dr.rng(0).random(scalar.Array3f, 3)) == expected_units(0, 1)[0][:3]
    assert dr.rng(1).random(scalar.TensorXf, (2, 3)).shape == (2, 3)


def test_rng_empty() -> None:
    assert len(dr.rng(0).random(llvm.Float, 0)) == 0
    assert dr.rng(0).random(llvm.TensorXf, (0, 3)).shape == (0, 3)


def test_rng_seed_by_lane() -> None:
    result = dr.rng(llvm.UInt64(4, 5)).random(llvm.Float, 2)
    key = [[0, 4], [0, 5]]
    words = [philox([0, i, 0, 0], key[i])[3] for i in range(2)]
    assert list(result) == [(u >> 9) / 2**23 for u in words]


def test_rng_seeds() -> None:
    arrays = llvm.UInt(5), llvm.Int(5), llvm.UInt64(5)
    for seed in (5, np.int64(5), np.uint8(5), *arrays):
        assert list(dr.rng(seed).random(llvm.Float, 4)) == [
            unit[0] for unit in expected_units(5, 4)
        ]
    assert list(dr.rng(True).random(llvm.Float, 4)) == [
        unit[0] for unit in expected_units(1, 4)
    ]
    wrong: list[Any] = [1.0, "5", None, llvm.Float(1), llvm.Array2u(1, 2)]
    for seed in wrong:
        with pytest.raises(TypeError, match=r"drjit.rng\(\): 'seed' is of type"):
            dr.rng(seed)


def test_rng_clone() -> None:
    rng = dr.rng(7)
    rng.random(llvm.Float, 3)
    other = rng.clone()
    assert list(rng.random(llvm.Float, 3)) == list(other.random(llvm.Float, 3))


def test_rng_reuses_kernels() -> None:
    """The counter is data: a second array needs no second kernel."""
    rng = dr.rng(3)
    dr.eval(rng.random(llvm.Float, 50))
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        dr.kernel_history_clear()
        dr.eval(rng.random(llvm.Float, 50))
        history = dr.kernel_history([dr.KernelType.JIT])
    assert history
    assert all(entry["cache_hit"] for entry in history)


def sum_in_loop(generator: Any, mode: str) -> Any:
    """The sum of three draws for each of three lanes."""

    def body(i: Any, total: Any, generator: Any) -> Any:
        return i + 1, total + generator.random(llvm.Float, 3), generator

    state = dr.zeros(llvm.UInt, 3), dr.zeros(llvm.Float, 3), generator
    _, total, after = dr.while_loop(state, lambda i, *_: i < 3, body, mode=mode)
    return total, after.random(llvm.Float, 3)


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
@pytest.mark.parametrize("symbolic", [False, True])
def test_rng_in_loops(mode: str, symbolic: bool) -> None:
    plain = dr.rng(7)
    draws = [plain.random(llvm.Float, 3) for _ in range(4)]
    generator = dr.rng(llvm.UInt64(7), symbolic=symbolic)
    total, after = sum_in_loop(generator, mode)
    assert dr.allclose(total, draws[0] + draws[1] + draws[2])
    assert dr.all(after == draws[3])


def test_rng_in_loops_errors() -> None:
    with pytest.raises(RuntimeError, match="a seed of type int, expected an array"):
        sum_in_loop(dr.rng(7), "symbolic")
    generator = dr.rng(llvm.UInt64(7))
    with pytest.raises(RuntimeError, match="part of the loop's state"):
        dr.while_loop(
            (llvm.UInt(0), llvm.Float(0)),
            lambda i, x: i < 3,
            lambda i, x: (i + 1, x + generator.random(llvm.Float, 1)),
            mode="symbolic",
        )
    expected = dr.rng(7).random(llvm.Float, 3)
    assert dr.all(generator.random(llvm.Float, 3) == expected)  # as before
    total, after = sum_in_loop(dr.rng(llvm.UInt64(7, 7, 7)), "symbolic")
    with pytest.raises(RuntimeError, match="a counter for each of 3 lanes"):
        lanes = dr.rng(llvm.UInt64(7, 7, 7))
        lanes._counter = llvm.UInt(1, 2, 3)
        lanes.random(float, 1)


def test_rng_made_in_a_loop() -> None:
    def body(i: Any, x: Any) -> Any:
        return i + 1, x + dr.rng(llvm.UInt64(i)).random(llvm.Float, 1)

    state = llvm.UInt(0), llvm.Float(0)
    _, x = dr.while_loop(state, lambda i, _: i < 3, body, mode="symbolic")
    parts = [dr.rng(k).random(llvm.Float, 1) for k in range(3)]
    assert dr.allclose(x, parts[0] + parts[1] + parts[2])


def test_rng_in_conditionals() -> None:
    generator = dr.rng(llvm.UInt64(7))
    x = dr.if_stmt(
        (llvm.Float(1, 2, 3),),
        llvm.Bool(True, False, True),
        lambda x: x * generator.random(llvm.Float, 3),
        lambda x: x,
        mode="symbolic",
    )
    first = dr.rng(7).random(llvm.Float, 3)
    assert dr.all(x == dr.select(llvm.Bool(True, False, True), first, 1) * [1, 2, 3])


@pytest.mark.parametrize("seed", [7, llvm.UInt64(7), llvm.UInt64(7, 8, 9)], ids=str)
@pytest.mark.parametrize("symbolic", [False, True])
def test_rng_in_frozen_functions(seed: Any, symbolic: bool) -> None:
    given, shared, plain = (dr.rng(seed, symbolic=symbolic) for _ in range(3))

    @dr.freeze
    def f(generator: Any, x: Any) -> Any:
        return generator.random(llvm.Float, 3) * x + generator.normal(llvm.Float, 3)

    @dr.freeze
    def g(x: Any) -> Any:
        return shared.random(llvm.Float, 3) * x + shared.normal(llvm.Float, 3)

    x = dr.opaque(llvm.Float, 2, 3)
    for k in range(6):
        expected = plain.random(llvm.Float, 3) * x + plain.normal(llvm.Float, 3)
        assert dr.all(f(given, x) == expected), k
        assert dr.all(g(x) == expected), k
    assert max(f.n_recordings, g.n_recordings) <= 3
    assert dr.all(given.random(llvm.Float, 3) == plain.random(llvm.Float, 3))


def test_rng_symbolic() -> None:
    symbolic = dr.rng(3, symbolic=True).random(llvm.Float, 5)
    assert list(symbolic) == list(dr.rng(3).random(llvm.Float, 5))


def check_moments(values: np.ndarray, mean: float, deviation: float) -> None:
    """Within six standard errors."""
    n = len(values)
    assert abs(values.mean() - mean) < 6 * deviation / math.sqrt(n)
    assert abs(values.std() - deviation) < 6 * deviation / math.sqrt(n)


@pytest.mark.parametrize("name", ["Float16", "Float", "Float64"])
def test_rng_uniform(name: str) -> None:
    kind = getattr(llvm, name)
    values = dr.rng(5).uniform(kind, 100000, 2, 6).numpy().astype(np.float64)
    assert values.min() >= 2
    assert values.max() <= 6
    check_moments(values, 4, 4 / math.sqrt(12))
    counts = np.histogram(values, 16, (2, 6))[0]
    expected = len(values) / 16
    assert ((counts - expected) ** 2 / expected).sum() < 60  # 15 degrees of freedom


@pytest.mark.parametrize("name", ["Float16", "Float", "Float64"])
def test_rng_normal(name: str) -> None:
    kind = getattr(llvm, name)
    values = dr.rng(6).normal(kind, 100000, loc=1, scale=3).numpy().astype(np.float64)
    check_moments(values, 1, 3)
    kurtosis = (((values - 1) / 3) ** 4).mean()
    assert abs(kurtosis - 3) < 0.2


@pytest.mark.parametrize("name", ["Int", "UInt"])
def test_rng_integers(name: str) -> None:
    kind = getattr(llvm, name)
    low = -3 if name == "Int" else 2
    values = dr.rng(2).integers(kind, 60000, low, low + 6).numpy().astype(np.int64)
    counts = np.bincount(values - low, minlength=6)
    assert len(counts) == 6
    assert ((counts - 10000) ** 2 / 10000).sum() < 35  # 5 degrees of freedom
    values = dr.rng(2).integers(kind, 1000, low, low + 6, endpoint=True).numpy()
    assert set(values.tolist()) == set(range(low, low + 7))


def test_rng_integers_forms() -> None:
    rng = dr.rng(0)
    words = [philox([0, i, 0, 0], [0, 0])[3] for i in range(5)]
    assert list(rng.integers(llvm.UInt, 5, 10)) == [w * 10 >> 32 for w in words]
    full = dr.rng(0).integers(llvm.Int, 5, -(2**31), 2**31 - 1, True)
    assert list(full) == [w - 2**31 for w in words]
    tensor = rng.integers(llvm.TensorXi, (2, 2), 5)
    assert tensor.shape == (2, 2)
    by_lane = rng.integers(llvm.UInt, 3, llvm.UInt(1, 2, 3))
    assert all(x < b for x, b in zip(by_lane, (1, 2, 3), strict=True))
    assert all(x < 5 for x in rng.integers(scalar.Array3u, 3, 5))


def test_rng_permutation() -> None:
    rng = dr.rng(1)
    order = rng.permutation(llvm.UInt, 100)
    assert type(order) is llvm.UInt
    assert sorted(order) == list(range(100))
    assert list(order) != list(range(100))
    values = llvm.Float(3, 1, 2)
    assert sorted(rng.permutation(values)) == [1, 2, 3]
    tensor = llvm.TensorXf(range(6), (3, 2))
    rows = rng.permutation(tensor).numpy().tolist()
    assert sorted(rows) == [[0, 1], [2, 3], [4, 5]]
    columns = rng.permutation(tensor, axis=-1).numpy().T.tolist()
    assert sorted(columns) == [[0, 2, 4], [1, 3, 5]]
    assert len(rng.permutation(llvm.UInt, 0)) == 0


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: dr.rng(0, "mt19937"), ValueError),
        (lambda: dr.rng(1.5), TypeError),
        (lambda: dr.rng(0).random(llvm.Int, 3), TypeError),
        (lambda: dr.rng(0).random(float, 3), TypeError),
        (lambda: dr.rng(0).random(llvm.Array3f, (2, 3)), RuntimeError),
        (lambda: dr.rng(0).integers(llvm.Float, 3, 4), TypeError),
        (lambda: dr.rng(0).integers(llvm.UInt64, 3, 4), TypeError),
        (lambda: dr.rng(0).integers(llvm.UInt, 3, 0), ValueError),
        (lambda: dr.rng(0).integers(llvm.UInt, 3, 5, 2), ValueError),
        (lambda: dr.rng(0).integers(llvm.UInt, 3, -1, 2), ValueError),
        (lambda: dr.rng(0).integers(llvm.UInt, 3, 0, 2**32 + 1), ValueError),
        (lambda: dr.rng(0).integers(llvm.UInt, 3, 2.5), TypeError),
        (lambda: dr.rng(0).permutation(llvm.UInt, -1), ValueError),
        (lambda: dr.rng(0).permutation(3), TypeError),
        (lambda: dr.rng(0).permutation(llvm.Float(1, 2), 3), TypeError),
    ],
)
def test_rng_errors(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


def test_python_floats() -> None:
    # The number is that of the published package.
    assert dr.rng().random(float, 1) == 0.31034912362435585
    for shape in ((), (1,), np.int64(1)):
        assert dr.rng().random(float, shape) == 0.31034912362435585
    generator, other = dr.rng(3), dr.rng(3)
    for _ in range(3):
        number = generator.random(float, 1)
        assert type(number) is float
        assert number == other.random(scalar.ArrayXf64, 1)[0]
    assert -6 < dr.rng().normal(float, 1) < 6
    assert 2 <= dr.rng().uniform(float, 1, 2, 3) < 3
    for shape in (0, 2, (2,), (1, 2)):
        with pytest.raises(RuntimeError, match="one number"):
            dr.rng().random(float, shape)


def test_shapes_of_fixed_size() -> None:
    assert len(dr.rng().random(scalar.Array3f, 3)) == 3
    assert len(dr.rng().random(scalar.Array3f, np.int64(3))) == 3
    for shape in (4, 1, (4,), (3, 1), np.int64(2)):
        with pytest.raises(RuntimeError, match="incompatible"):
            dr.rng().random(scalar.Array3f, shape)
    assert len(dr.rng().random(scalar.ArrayXf, 5)) == 5
    assert dr.rng().random(scalar.Matrix2f, (2, 2)).shape == (2, 2)


@pytest.mark.parametrize("module", [llvm, llvm.ad, scalar])
def test_sizes_of_numpy(module: ModuleType) -> None:
    size = 3 if module is not scalar else 1
    expected = module.PCG32(size=3).next_uint32()
    for number in (np.int64(3), np.uint8(3), np.array(3)):
        drawn = module.PCG32(size=number).next_uint32()
        assert np.array_equal(np.ravel(drawn), np.ravel(expected))
        assert np.size(drawn) == size


def test_pickles_go_on() -> None:
    """Generators that were pickled give what the originals give next."""
    pcg, rng = llvm.PCG32(4), dr.rng(3)
    philox = llvm.Philox4x32(4, dr.arange(llvm.UInt, 3), 0)
    rng.random(llvm.Float, 3)
    pcg.next_float32()
    for protocol in (2, 5):
        a, b, c = pickle.loads(pickle.dumps((pcg, philox, rng), protocol))
        assert list(a.next_float32()) == list(copy.copy(pcg).next_float32())
        expected = copy.copy(philox).next_float32x4()
        for found, own in zip(b.next_float32x4(), expected, strict=True):
            assert list(found) == list(own)
        assert list(c.random(llvm.Float, 5)) == list(rng.clone().random(llvm.Float, 5))
