"""The page docs/complaints.md: the tests it names exist, and some of what it says."""

from __future__ import annotations

import math
import os
import re
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator

import documents
import drjit as dr
import numpy as np
import pytest
from drjit.llvm import Float, Float64, UInt
from engine_util import printed

PAGE = documents.ROOT / "docs" / "complaints.md"
MENTION = re.compile(r"`(tests/[\w/]+\.(?:py|c))(?:::(\w+))?`")


def points() -> dict[int, str]:
    """The text of each complaint by its number."""
    parts = re.split(r"^### (\d+)\. ", PAGE.read_text(encoding="utf-8"), flags=re.M)
    return dict(zip(map(int, parts[1::2]), parts[2::2], strict=True))


def defines(text: str, suffix: str, name: str) -> bool:
    """Does a file have this test, as a function that its runner calls?"""
    if suffix == ".py":
        return re.search(rf"^def {name}\(", text, re.M) is not None
    called = re.search(rf"\b(?:[A-Z_]+|cmocka_unit_test\w*)\({name}\b", text)
    return called is not None and re.search(rf"\bvoid {name}\(", text) is not None


def test_each_complaint_has_an_answer_and_tests() -> None:
    assert list(points()) == list(range(1, 26))
    for number, text in points().items():
        assert "*Tests*: " in text, number
        assert MENTION.search(text.partition("*Tests*: ")[2]), number


def test_tests_that_are_named_exist() -> None:
    text = PAGE.read_text(encoding="utf-8")
    mentions = set(MENTION.findall(text))
    assert len(mentions) > 50
    # Nothing else looks like the name of a test, so that none escapes.
    assert text.count("::") == len(re.findall(r"`tests/[\w/.]+::\w+`", text)) + 1
    for file, name in mentions:
        path = documents.ROOT / file
        assert path.is_file(), file
        content = path.read_text(encoding="utf-8")
        assert not name or defines(content, path.suffix, name), f"{file}::{name}"


def test_a_name_that_does_not_exist_is_found() -> None:
    text = (documents.ROOT / "tests" / "c" / "test_log.c").read_text(encoding="utf-8")
    assert defines(text, ".c", "test_log_reentrant")
    assert not defines(text, ".c", "test_log")
    own = "def test_one() -> None:\n"
    assert defines(own, ".py", "test_one") and not defines(own, ".py", "test_on")


def output(program: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


def test_no_library_is_needed() -> None:
    """Complaint 1: without libLLVM, and with nothing of it in the process."""
    program = """
import drjit as dr
from drjit.llvm import Float
x = (dr.arange(Float, 1000) + 0.5) / 1000
print(round(dr.sum(4 / (1 + x * x))[0] / 1000, 5))
print(any("LLVM" in line for line in open("/proc/self/maps")))
"""
    environment = {"DRJIT_LIBLLVM_PATH": "/nowhere/libLLVM.so", "DRJIT_CPU_ENGINE": ""}
    environment |= {"DRJIT_LOG_LEVEL": "error"}  # where another engine is the default
    lines = output(program, **environment).split()
    assert lines == [str(round(math.pi, 5)), "False"]


def test_instruction_sets_give_the_same_bits() -> None:
    """Complaint 2: on each engine, with each instruction set that it can use."""
    program = """
import drjit as dr, hashlib
from drjit.llvm import Float
x = dr.linspace(Float, 0.1, 5, 1001)
y = dr.sum(dr.sin(x) * dr.exp(-x)) + dr.log(x)
print(hashlib.sha256(y.numpy().tobytes()).hexdigest(), round(y[0], 3))
"""
    texts = printed(program, isas=True)
    x = np.linspace(0.1, 5, 1001)
    expected = (np.sin(x) * np.exp(-x)).sum() + math.log(0.1)
    assert len(set(texts)) == 1
    assert abs(float(texts[0].split()[1]) - expected) < 2e-3


@pytest.fixture
def kernels() -> Iterator[Callable[[], list[bool]]]:
    """A function: for each kernel since the last call, whether it was known."""

    def known() -> list[bool]:
        history = dr.kernel_history((dr.KernelType.JIT,))
        return [bool(entry["cache_hit"]) for entry in history]

    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        dr.kernel_history_clear()
        yield known


def test_a_number_that_changes_becomes_a_parameter(
    kernels: Callable[[], list[bool]],
) -> None:
    """Complaint 7."""
    x = Float(0.25, 0.5, 1)
    dr.eval(x)
    for k in range(20):
        factor = 1.75 + k / 16
        found = dr.cosh(x) * factor + 0.123
        assert np.allclose(found, np.cosh([0.25, 0.5, 1]) * factor + 0.123)
    known = kernels()
    assert len(known) == 20 and known.count(False) <= 2 and all(known[2:])


def test_a_state_that_is_never_evaluated(kernels: Callable[[], list[bool]]) -> None:
    """Complaint 8: compiled anew in each iteration, and not if it is evaluated."""
    for evaluates in (False, True):
        dr.flush_kernel_cache()
        x, expected = Float64(0.1, 0.2, 0.3), np.array([0.1, 0.2, 0.3])
        dr.eval(x)
        for _ in range(6):
            x, expected = x * (1.9375 - x), expected * (1.9375 - expected)
            if evaluates:
                dr.eval(x)
            assert np.allclose(x + 1, expected + 1, rtol=1e-14)
            unevaluated = x.state == dr.VarState.Unevaluated
            assert unevaluated is not evaluates
        misses = kernels().count(False)
        assert misses <= 4 if evaluates else misses >= 6


def resident() -> int:
    """Bytes of this process that are in memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.skipif("DRJIT_TEST_FEW" in os.environ, reason="a sanitizer keeps memory")
def test_memory_goes_back_to_the_system() -> None:
    """Complaint 10."""
    size = 64 << 20
    dr.flush_malloc_cache()
    before = resident()
    x = dr.arange(Float, size // 4) * 2
    dr.eval(x)
    dr.sync_thread()
    assert resident() > before + size * 3 // 4
    del x
    dr.flush_malloc_cache()
    assert resident() < before + size // 4


def test_more_entries_than_indices() -> None:
    """Complaint 11: the ceiling is an error that says so, and the next call works."""
    most = r"is 8589934592, expected .*(4294967295|2\^32 - 1)"
    for make in (dr.zeros, dr.empty, dr.arange):
        with pytest.raises((RuntimeError, OverflowError), match=most):
            make(Float, 2**33)
    assert dr.sum(Float(1, 2)) == 3


def test_the_message_names_the_line() -> None:
    """Complaint 12: where the value became symbolic, and what to do."""

    def body(i: UInt) -> tuple[UInt]:
        print(i)
        return (i + 1,)

    line = sys._getframe().f_lineno + 2
    with pytest.raises(RuntimeError) as caught:
        dr.while_loop((UInt(0, 1),), lambda i: i < 3, body)
    message = str(caught.value)
    assert f"drjit.while_loop() at {__file__}:{line}" in message
    assert "drjit.print()" in message and 'mode="evaluated"' in message


def test_sums_with_any_number_of_threads() -> None:
    """Complaint 22."""
    numbers = np.random.default_rng(1).normal(size=1_000_003).astype(np.float32)
    x, count = Float(numbers), dr.thread_count()
    found = set()
    try:
        for threads in (1, 2, 3, 8):
            dr.set_thread_count(threads)
            found.add(struct.pack("f", dr.sum(x * x)[0]))
    finally:
        dr.set_thread_count(count)
    assert len(found) == 1
    exact = math.fsum(float(v) ** 2 for v in numbers)
    assert abs(struct.unpack("f", found.pop())[0] / exact - 1) < 1e-5


def test_what_is_missing() -> None:
    """Complaints 3, 20, 24: the page says that these are not there."""
    for name in ("fft", "einsum", "cuda", "metal"):
        assert not hasattr(dr, name), name
    assert not dr.has_backend(dr.JitBackend.CUDA)
    for name in ("sort", "argsort", "argmin", "argmax", "median", "convolve"):
        assert callable(getattr(dr, name)), name
