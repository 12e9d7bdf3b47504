"""``drjit.dist``: the same bits on any number of workers, and what goes wrong there."""

from __future__ import annotations

import concurrent.futures
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit import dist
from drjit.dist import _tree, _worker
from drjit.llvm import ad
from drjit.llvm.ad import Float, TensorXf, UInt


class Inline(Executor):
    """Performs tasks when they are given out, as another process would get them."""

    def __init__(self) -> None:
        self.bytes: list[int] = []  # of messages

    def submit(self, f: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        data = pickle.dumps((f, args, kwargs))
        self.bytes.append(len(data))
        future: Future[Any] = Future()
        f, args, kwargs = pickle.loads(data)
        try:
            future.set_result(pickle.loads(pickle.dumps(f(*args, **kwargs))))
        except Exception as error:
            future.set_exception(error)
        return future


@pytest.fixture(scope="module")
def pool() -> Iterator[dist.Pool]:
    with dist.Pool(2) as pool:
        yield pool


def waves(index: UInt) -> Float:
    return dr.sum(dr.sin(Float(index)) * 1e3)


def bits(value: Any) -> bytes:
    data: bytes = np.asarray(value.numpy()).tobytes()
    return data


def tree_sum(parts: list[Any]) -> Any:
    """The sum of a list by halves of powers of two, which is what the tree is."""
    if len(parts) == 1:
        return parts[0]
    half = 1
    while 2 * half < len(parts):
        half *= 2
    return tree_sum(parts[:half]) + tree_sum(parts[half:])


# ---------------------------------------------------------------- order


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13, 64, 100])
def test_tree(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever order blocks arrive in, the additions are those of one tree."""
    monkeypatch.setattr(_tree, "add", lambda a, b: f"({a}+{b})")

    class Text(str):
        def __add__(self, other: str) -> Text:
            return Text(f"({self!s}+{other!s})")

    expected = tree_sum([Text(i) for i in range(count)])
    draw = np.random.default_rng(count)
    for _ in range(10):
        tree = _tree.TreeSum({})
        for number in draw.permutation(count):
            tree.put(int(number), str(number))
        assert tree.total() == expected
        assert sorted(tree.blocks()) == list(range(count))


def test_one_hash(pool: dist.Pool) -> None:
    """The bits of blocks that are computed here, and added by NumPy."""
    count, block = 100_000, 7001
    parts = [
        waves(dr.arange(UInt, min(block, count - start)) + start).numpy()
        for start in range(0, count, block)
    ]
    expected = tree_sum(parts).astype(np.float32).tobytes()
    for executor in (Inline(), ThreadPoolExecutor(3), pool):
        for ahead in (None, 1, 5):
            found = dist.sum(executor, waves, count, block=block, ahead=ahead)
            assert bits(found) == expected
    for workers in (1, 3, 8):
        with dist.Pool(workers) as others:
            assert bits(dist.sum(others, waves, count, block=block)) == expected


ENGINE = """
from tests.python.test_dist import *
if __name__ == "__main__":
    with dist.Pool(2) as pool:
        total = dist.sum(pool, waves, 50_000, block=5000)
        p = {"a": Float(1.5), "b": TensorXf([1, 2, 3])}
        value, grad = dist.value_and_grad(pool, misfit, p, 20_000, block=3000)
        print(b"".join(map(bits, (total, value, grad["a"], grad["b"]))).hex())
"""


def run(program: str, tmp_path: Path, **environment: str) -> str:
    path = tmp_path / "program.py"
    path.write_text(program)
    root = str(Path(__file__).parents[2])
    search = os.pathsep.join((os.environ.get("PYTHONPATH", ""), root))
    done = subprocess.run(
        [sys.executable, str(path)],
        env={**os.environ, "PYTHONPATH": search, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


PROBE = "from drjit.llvm import Float; print(Float(2, 3) + 1)"


@pytest.fixture(scope="module")
def usual(tmp_path_factory: Any) -> str:
    return run(ENGINE, tmp_path_factory.mktemp("usual"))


@pytest.mark.parametrize(
    "environment",
    [
        {"DRJIT_CPU_ENGINE": "interp"},
        {"DRJIT_CPU_ENGINE": "native", "DRJIT_NATIVE_ISA": "avx2"},
        {"DRJIT_CPU_ENGINE": "llvm"},
    ],
    ids=lambda environment: "-".join(environment.values()),
)
def test_engines(tmp_path: Path, usual: str, environment: dict[str, str]) -> None:
    there = subprocess.run(
        [sys.executable, "-c", PROBE],
        env={**os.environ, **environment},
        capture_output=True,
    )
    if there.returncode != 0:
        pytest.skip("the engine is not there")
    assert run(ENGINE, tmp_path, **environment) == usual


def test_frozen_functions_of_users() -> None:
    """Their settings for calls here, such as to keep no recording, do not matter."""
    frozen = dr.freeze(waves, limit=0)
    expected = dist.sum(Inline(), waves, 1000, block=100)
    assert bits(dist.sum(Inline(), frozen, 1000, block=100)) == bits(expected)
    assert frozen._kept.limit == 0


# ---------------------------------------------------------------- what can be computed


def misfit(p: dict[str, Any], index: UInt) -> Float:
    x = Float(index) * 1e-4
    return (p["a"] * x + dr.sum(p["b"].array) * x * x - 1) ** 2


def test_value_and_grad(pool: dist.Pool) -> None:
    """Against NumPy in double precision."""
    p = {"a": Float(1.5), "b": TensorXf([1, 2, 3]), "name": "p"}
    dr.enable_grad(p["a"])
    count = 10_000
    value, grad = dist.value_and_grad(pool, misfit, p, count, block=3000)
    x = np.arange(count) * 1e-4
    rest = 1.5 * x + 6 * x * x - 1
    assert np.allclose(value.numpy(), (rest**2).sum(), rtol=1e-5)
    assert np.allclose(grad["a"].numpy(), (2 * rest * x).sum(), rtol=1e-5)
    assert grad["b"].shape == (3,)
    assert np.allclose(grad["b"].numpy(), (2 * rest * x * x).sum(), rtol=1e-5)
    assert dr.grad_enabled(p["a"]) and dr.grad(p["a"]) == 0
    again = dist.value_and_grad(Inline(), misfit, p, count, block=3000)
    assert bits(again[0]) == bits(value)


def test_images(pool: dist.Pool) -> None:
    """Contributions of any shape: a histogram, and how many there are."""

    def histogram(index: UInt) -> dict[str, Any]:
        bins = dr.zeros(UInt, 10)
        dr.scatter_add(bins, 1, index * 7919 % 10)
        return {"bins": TensorXf(Float(bins), (2, 5)), "n": (dr.width(index),)}

    found = dist.sum(pool, histogram, 10_001, block=1000)
    expected = np.bincount(np.arange(10_001) * 7919 % 10, minlength=10)
    assert np.array_equal(found["bins"].numpy(), expected.reshape(2, 5))
    assert found["n"] == (10_001,)


def test_random_numbers(pool: dist.Pool) -> None:
    """Numbers that belong to indices do not depend on the blocks."""

    def draws(index: UInt) -> Float:
        sample = ad.Philox4x32(7, index, 0).next_float32x4()[0]
        return dr.sum(dr.select(sample < 0.25, UInt(1), 0))

    numbers = [
        int(dist.sum(pool, draws, 40_000, block=block)[0])
        for block in (40_000, 4096, 1000)
    ]
    assert len(set(numbers)) == 1
    assert abs(numbers[0] - 10_000) < 5 * 87  # 5 standard deviations


def test_map(pool: dist.Pool) -> None:
    items = [Float(i, i + 1) for i in range(30)]
    found = list(
        dist.map(pool, lambda x, k: (x * k, dr.sum(x)), items, args=(Float(3),))
    )
    assert len(found) == 30
    for i, (scaled, total) in enumerate(found):
        assert list(scaled) == [3 * i, 3 * i + 3]
        assert list(total) == [2 * i + 1]
    assert list(dist.map(pool, lambda x: x, [])) == []


def test_map_of_literals_is_recorded_once(pool: dist.Pool) -> None:
    calls = []

    def f(x: Float) -> Float:
        calls.append(1)
        return dr.exp(x)

    with pytest.raises(RuntimeError, match="cannot repeat 'f'.*inputs has changed"):
        list(dist.map(pool, f, [Float(1)]))

    frozen = dr.freeze(lambda x: dr.exp(x))
    found = list(dist.map(pool, frozen, [Float(i) for i in range(20)]))
    assert np.allclose([x[0] for x in found], np.exp(np.arange(20)))


def test_items_of_other_kinds(pool: dist.Pool) -> None:
    """What fits no recording is recorded here."""
    items = [Float(1, 2), Float(1, 2, 3), ad.Float64(1, 2), (Float(1), 2), Float(5)]

    def f(x: Any) -> Any:
        return x[0] * x[1] if isinstance(x, tuple) else x * 2

    found = list(dist.map(pool, f, items))
    assert [list(x) for x in found] == [[2, 4], [2, 4, 6], [2, 4], [2], [10]]
    assert type(found[2]) is ad.Float64


def test_arrays_of_numpy(pool: dist.Pool, tmp_path: Path) -> None:
    """A memory map in pieces; few of them are there at a time."""
    path = tmp_path / "data"
    data = np.random.default_rng(1).random((1000, 16)).astype(np.float32)
    data.tofile(path)
    mapped = np.memmap(path, dtype=np.float32, mode="r", shape=(1000, 16))
    pulled = taken = most = 0

    def pieces() -> Iterator[Any]:
        nonlocal pulled, most
        for start in range(0, 1000, 20):
            pulled += 1
            most = max(most, pulled - taken)
            yield mapped[start : start + 20]

    def f(x: TensorXf, scale: TensorXf) -> TensorXf:
        return dr.sum(x * scale, axis=0)

    total = dist.sum(pool, f, pieces(), args=(np.float32(2) * np.ones(16, "f4"),))
    assert np.allclose(total.numpy(), 2 * data.sum(0), rtol=1e-5)
    assert pulled == 50
    pulled = most = 0
    for number, x in enumerate(dist.map(pool, lambda x: x + 1, pieces(), ahead=3)):
        taken = number + 1
        assert np.array_equal(x.numpy(), data[number * 20 : number * 20 + 20] + 1)
    assert most <= 8


def test_flags_go_along(pool: dist.Pool) -> None:
    executor = Inline()
    with dr.scoped_set_flag(dr.JitFlag.Debug, True):
        dist.sum(executor, waves, 1000, block=100)
    assert len(executor.bytes) <= 10  # nine tasks, perhaps one of them twice
    assert not dr.flag(dr.JitFlag.Debug)


def test_bytes_that_are_sent() -> None:
    """A recording goes to a worker once; then a task is less than 1 kB."""
    _worker._functions._known.clear()
    executor = Inline()
    large = dr.opaque(Float, 1, 100_000)

    def f(index: UInt, table: Float) -> Float:
        return dr.sum(dr.gather(Float, table, index % 1000) * dr.sin(Float(index)))

    dist.sum(executor, f, 10_000, block=1000, args=(large,))
    assert sum(size > 1000 for size in executor.bytes) == 1
    assert len(executor.bytes) == 10
    assert max(executor.bytes) > 400_000


SCALE = 2


def test_names_that_change(pool: dist.Pool) -> None:
    """What the function reads by name is what it is when it is recorded; recordings of
    before do not serve others."""
    global SCALE

    def f(x: Float) -> Float:
        return x * SCALE

    for executor in (Inline(), pool):
        found = []
        for scale in (2, 3, 2):
            SCALE = scale
            found += list(dist.map(executor, f, [Float(1, i) for i in range(4)]))
        assert [list(x) for x in found] == [
            [scale, scale * i] for scale in (2, 3, 2) for i in range(4)
        ]
    SCALE = 2
    items = [Float(1, 2), Float(1, 2, 3), UInt(1, 2), Float(1), Float(1, 2)]
    results = dist.map(Inline(), f, items, ahead=1)
    assert list(next(results)) == [2, 4]
    SCALE = 5  # items of other types are recorded with this one
    for result, item in zip(results, items[1:], strict=True):
        assert list(result) in ([2 * x for x in item], [5 * x for x in item])
    SCALE = 2


# ---------------------------------------------------------------- what goes wrong


class Bad:
    """Arrives with an error."""

    def __reduce__(self) -> Any:
        return _raise, ("broken on the way",)


def _raise(text: str) -> None:
    raise ValueError(text)


def _end(path: str, always: bool) -> Any:
    """End the process of a worker, if it is the first one that comes here."""
    if always or not os.path.exists(path):
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return Float(2)


class Deadly:
    """A number whose arrival kills the first worker."""

    def __init__(self, path: Path, always: bool = False) -> None:
        self.path, self.always = path, always

    def __reduce__(self) -> Any:
        return _end, (str(self.path), self.always)


def deadly_items(path: Path) -> list[Any]:
    return [Float(1), *(Deadly(path) if i == 5 else Float(2) for i in range(20))]


def test_dead_worker(pool: dist.Pool, tmp_path: Path) -> None:
    """It costs its own tasks only, which are given out again."""
    found = list(dist.map(pool, lambda x: x * 2, deadly_items(tmp_path / "dead")))
    assert [x[0] for x in found] == [2] + [4] * 20
    assert (tmp_path / "dead").exists()


def test_deadly_task(pool: dist.Pool, tmp_path: Path) -> None:
    items = [Float(1), Deadly(tmp_path / "dead", True)]
    with pytest.raises(dist.TaskError, match="3 workers have died") as caught:
        list(dist.map(pool, lambda x: x * 2, items))
    assert caught.value.number == 1
    assert bits(dist.sum(pool, waves, 1000)) == bits(waves(dr.arange(UInt, 1000)))


def test_broken_executor(tmp_path: Path) -> None:
    """That of the user is not replaced; what was done is there for another one."""
    finished: dict[int, Any] = {}
    items = deadly_items(tmp_path / "dead")
    with ProcessPoolExecutor(1) as executor:
        with pytest.raises(dist.BrokenExecutorError, match="the executor broke"):
            list(dist.map(executor, lambda x: x * 2, items, finished=finished, ahead=2))
    assert 1 <= len(finished) < 21
    again = Inline()
    items[6] = Float(2)
    found = list(dist.map(again, lambda x: x * 2, items, finished=finished))
    assert [x[0] for x in found] == [2] + [4] * 20
    assert len(finished) == 21


def test_sums_go_on(tmp_path: Path) -> None:
    class Fragile(Inline):
        def submit(self, f: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            if len(self.bytes) == 7:
                raise concurrent.futures.BrokenExecutor("gone")
            return super().submit(f, *args, **kwargs)

    finished: dict[Any, Any] = {}
    with pytest.raises(dist.BrokenExecutorError, match="gone"):
        dist.sum(Fragile(), waves, 10_000, block=500, finished=finished, ahead=1)
    assert finished
    again = Inline()
    found = dist.sum(again, waves, 10_000, block=500, finished=finished)
    whole = dist.sum(Inline(), waves, np.int64(10_000), block=np.int32(500))
    assert bits(found) == bits(whole)
    assert len(again.bytes) < 16


def test_errors_of_workers(pool: dist.Pool) -> None:
    with pytest.raises(
        dist.TaskError, match="item 1, in process .*ValueError: bro"
    ) as e:
        list(dist.map(pool, lambda x: x * 2, [Float(1), Bad(), Float(2)]))
    assert e.value.number == 1
    assert "_raise" in e.value.traceback
    assert isinstance(e.value.__cause__, ValueError)
    copied = pickle.loads(pickle.dumps(e.value))
    assert (copied.number, copied.traceback) == (1, e.value.traceback)


def test_other_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drjit.dist._work.VERSION", "99.0")
    with pytest.raises(RuntimeError, match=r"has version .* of drjit-c, the caller 99"):
        dist.sum(Inline(), waves, 1000, block=100)


def test_recordings_that_were_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    _worker._functions._known.clear()
    good = _worker.Blob

    def changed(digest: bytes, data: bytes | None) -> Any:
        if data and data.startswith(b"djc-froz"):
            data = data[:300] + bytes([data[300] ^ 1]) + data[301:]
        return good(digest, data)

    monkeypatch.setattr(_worker, "Blob", changed)
    with pytest.raises(dist.TaskError, match="the recording of a task is damaged"):
        dist.sum(Inline(), waves, 1000, block=100)


COUNT = 0
ARRAY = dr.arange(Float, 4)


def counts(index: UInt) -> Float:
    global COUNT
    COUNT += 1
    return dr.sum(Float(index))


def test_functions_that_cannot_be_repeated() -> None:
    def prints(index: UInt) -> Float:
        dr.print("{}", Float(1, 2))
        return dr.sum(Float(index))

    def reads(index: UInt) -> Float:
        return dr.sum(Float(index)) + dr.sum(ARRAY)

    for function, message in (
        (counts, "workers cannot repeat 'counts': .*COUNT"),
        (prints, "it prints"),
        (reads, "cannot repeat 'reads': it reads arrays from its closure"),
    ):
        with pytest.raises(RuntimeError, match=message) as caught:
            dist.sum(Inline(), function, 1000, block=100)
        assert not isinstance(caught.value, dist.TaskError)  # it is known here
    stated = dr.freeze(lambda index: dr.sum(Float(index)), state_fn=lambda index: 1)
    with pytest.raises(
        TypeError, match="has a state_fn: give the state as an argument"
    ):
        dist.sum(Inline(), stated, 1000)
    with dr.scoped_set_flag(dr.JitFlag.KernelFreezing, False):
        with pytest.raises(RuntimeError, match="KernelFreezing is off"):
            dist.sum(Inline(), waves, 1000)
    outer = dr.freeze(lambda x: dist.sum(Inline(), waves, 1000) + x)
    with pytest.raises(RuntimeError, match="cannot be called in a frozen function"):
        outer(Float(1, 2))


SCALE = 1


def test_names(pool: dist.Pool) -> None:
    """Workers need nothing that the function reads by name, not even classes that they
    cannot find; its values are those of now."""
    global SCALE

    class Local:
        factor = 3

    local = Local()

    def f(index: UInt) -> Float:
        return dr.sum(Float(index)) * SCALE * Local.factor * local.factor

    for SCALE in (1, 2, 5, 2):
        for executor in (pool, Inline()):
            found = dist.sum(executor, f, 1000, block=100)
            assert found[0] == 999 * 500 * 9 * SCALE


def test_arguments(pool: dist.Pool) -> None:
    for call, error, message in (
        (lambda: dist.sum(3, waves, 10), TypeError, "'executor' is of type int"),
        (lambda: dist.sum(pool, 3, 10), TypeError, "'f' is of type int"),
        (lambda: dist.sum(pool, waves, 0), ValueError, "'count' is 0"),
        (lambda: dist.sum(pool, waves, 1.5), TypeError, "'count' is of type float"),
        (lambda: dist.sum(pool, waves, 9, block=0), ValueError, "'block' is 0"),
        (lambda: dist.sum(pool, waves, 9, block=True), TypeError, "'block' is of"),
        (lambda: dist.sum(pool, waves, 9, ahead=0), ValueError, "'ahead' is 0"),
        (lambda: dist.sum(pool, waves, 9, args=[1]), TypeError, "'args' is of type li"),
        (lambda: dist.sum(pool, waves, []), ValueError, "there are no blocks"),
        (lambda: dist.value_and_grad(pool, 3, Float(1), 9), TypeError, "'loss' is of"),
        (
            lambda: dist.value_and_grad(pool, waves, 3, 9),
            TypeError,
            "no arrays with der",
        ),
        (lambda: dist.Pool(0), ValueError, "'workers' is 0, expected at least 1"),
        (lambda: dist.Pool("2"), TypeError, "'workers' is of type str"),
    ):
        with pytest.raises(error, match=message):
            call()
    closed = dist.Pool(1)
    closed.shutdown()
    with pytest.raises(RuntimeError, match="the pool was shut down"):
        dist.sum(closed, waves, 1000, block=100)


INTERRUPTED = """
import os, signal, threading, time
import multiprocessing as mp
from tests.python.test_dist import *

def spin(index):
    x = Float(index)
    for _ in range(3):
        x = dr.while_loop((x, UInt(0)), lambda x, i: i < 3_000_000,
                          lambda x, i: (dr.sin(x), i + 1))[0]
    return dr.sum(x)

if __name__ == "__main__":
    pool = dist.Pool(2)
    dist.sum(pool, waves, 1000, block=100)
    children = [p.pid for p in mp.active_children()]
    threading.Timer(2.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    begun = time.time()
    try:
        dist.sum(pool, spin, 4000, block=16)
    except KeyboardInterrupt:
        print("interrupted")
    assert time.time() - begun < 20
    for pid in children:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            print("gone")
    print(bits(dist.sum(pool, waves, 1000, block=100)).hex())
"""


def test_interrupt(tmp_path: Path) -> None:
    expected = bits(dist.sum(Inline(), waves, 1000, block=100)).hex()
    assert run(INTERRUPTED, tmp_path).split() == [
        "interrupted",
        "gone",
        "gone",
        expected,
    ]


def test_progress(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    pytest.importorskip("tqdm")
    dist.sum(Inline(), waves, 1000, block=100, progress=True)
    assert "10/10" in capsys.readouterr().err
    dist.sum(Inline(), waves, 1000, block=100)  # not a terminal
    assert capsys.readouterr().err == ""
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(ImportError, match="'progress' takes tqdm"):
        dist.sum(Inline(), waves, 1000, block=100, progress=True)


def test_many_tasks(pool: dist.Pool) -> None:
    """Neither the caller nor workers grow."""

    def size(pid: int) -> int:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096

    def sizes() -> list[int]:
        processes = pool._executor()._processes
        return [size(pid) for pid in (os.getpid(), *processes)]

    items = [dr.opaque(Float, i, 100) for i in range(10)]

    def perform(count: int) -> None:
        for x in dist.map(pool, lambda x: x * 2, (items[i % 10] for i in range(count))):
            assert x[5] == x[0]

    perform(2000)
    before = sizes()
    perform(10_000)
    for a, b in zip(before, sizes(), strict=True):
        assert b - a < 4 << 20
