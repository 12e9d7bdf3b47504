"""Second derivatives of loops whose states are computed again, from checkpoints: those
in other recordings, with local arrays in the state, and too long for the tape limit."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from typing import Any

import drjit as dr
import pytest
from ad_util import check_second_order, gradients
from drjit.llvm.ad import Float64, UInt
from test_ad_loops import P, X
from test_ad_loops_within import KINDS, powers_within


@pytest.fixture(autouse=True)
def no_nodes_are_left() -> Iterator[None]:
    limit = dr.ad.tape_limit()
    yield
    dr.ad.set_tape_limit(limit)
    gc.collect()
    assert dr._core._ad_node_count() == 0  # type: ignore[attr-defined]


def alone(count: Any) -> Callable[..., Any]:
    def program(x: Any, p: Any) -> Any:
        return dr.while_loop(
            (x, Float64(1), UInt(0)),
            lambda y, z, i: i < count,
            lambda y, z, i: (dr.sin(y * p) + x * z, z * 0.5 - y * 0.2, i + 1),
            mode="symbolic",
        )[0]

    return program


def with_local_array(count: Any, length: int) -> Callable[..., Any]:
    def turn(x: Any, p: Any, a: Any, y: Any, i: Any) -> Any:
        entry = a[i % length]
        a[i % length] = dr.sin(entry + y * p)
        return a, y * 0.5 + entry * x, i + 1

    def program(x: Any, p: Any) -> Any:
        a, y, _ = dr.while_loop(
            (dr.alloc_local(Float64, length, value=x), x, UInt(0)),
            lambda a, y, i: i < count,
            lambda a, y, i: turn(x, p, a, y, i),
            mode="symbolic",
        )
        return y + a[0] * a[length - 1]

    return program


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bound", [None, 13, 3000])
@pytest.mark.parametrize("count", [0, 1, 2, 5, 13])
def test_within_a_recording(kind: str, bound: int | None, count: int) -> None:
    for n in (UInt(count), UInt(count, 1, 0, count // 2)):
        check_second_order(powers_within(kind, n, bound), X, P)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 20])
def test_beyond_the_tape_limit(count: int) -> None:
    dr.ad.set_tape_limit(0)
    for n in (UInt(count), UInt(count, 1, 0, count // 2)):
        check_second_order(alone(n), X, P)


@pytest.mark.parametrize("length", [1, 3, 60, 70, 400])
@pytest.mark.parametrize("count", [1, 12])
def test_local_arrays_in_the_state(length: int, count: int) -> None:
    """Of 60 entries they are copied without a loop, of 400 from the beginning."""
    check_second_order(with_local_array(UInt(count, 1, 0, count // 2), length), X, P)


@pytest.mark.parametrize("kind", ["alone", "local array", *KINDS])
def test_the_time_is_not_quadratic(kind: str) -> None:
    """4,000 iterations would be computed 8 million times, and that for the derivative,
    as often again for each of them."""
    dr.ad.set_tape_limit(0)
    count = UInt(4000)
    if kind == "alone":
        program = alone(count)
    elif kind == "local array":
        program = with_local_array(count, 4)
    else:
        program = powers_within(kind, count, None)
    start = time.perf_counter()
    x, p = Float64(X), Float64(P)
    found = gradients(program, x, p, True)
    dr.eval(found)
    dr.backward(found[0])
    dr.eval(x.grad, p.grad)
    dr.sync_thread()
    assert time.perf_counter() - start < 20


def test_a_lower_limit_takes_less_memory() -> None:
    """Also where parts are so short that the thread could be ahead of many."""
    lanes, turns = 10_000, 1500

    def memory_of(limit: int) -> tuple[float, Any]:
        dr.ad.set_tape_limit(limit)
        x = dr.linspace(Float64, 1, 2, lanes)
        dr.enable_grad(x)
        dr.eval(x)
        dr.sync_thread()
        dr.flush_malloc_cache()
        dr.detail.malloc_clear_statistics()
        y, _ = dr.while_loop(
            (x, UInt(0)),
            lambda y, i: i < turns,
            lambda y, i: (dr.fma(y * y, -0.01, y), i + 1),
            mode="symbolic",
            max_iterations=turns,
        )
        dr.backward(y)
        dr.eval(x.grad)
        dr.sync_thread()
        return dr.detail.malloc_watermark(dr.JitBackend.LLVM) / 2**20, x.grad.numpy()

    whole = turns * lanes * 8 / 2**20  # a tape of all turns, in MiB
    expected = memory_of(1 << 40)[1]
    before = whole
    for limit in (32 << 20, 8 << 20, 1 << 20, 0):
        taken, found = memory_of(limit)
        # A limit holds, but for some arrays that any loop needs, and log n checkpoints.
        assert taken < min(limit / 2**20 + whole / 20, before + 1)
        assert (found == expected).all()
        before = taken
