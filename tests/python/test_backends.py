"""Two backends beside each other: drjit.llvm, and drjit.cuda, which is a far device.

Runs with DRJIT_TEST_FAR (conftest.py) in the package that far/ makes; the files that
run there as well, with drjit.cuda for drjit.llvm, show that nothing assumes the CPU.
"""

from __future__ import annotations

import itertools
import pickle
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import drjit as dr
import drjit.scalar as scalar
import numpy as np
import pytest

MODES = ["symbolic", "evaluated"]
cuda: Any = dr.cuda  # type: ignore[attr-defined]
llvm: Any = dr.host_llvm  # type: ignore[attr-defined]  # see conftest.py

# (backend, derivatives) of each module.
PAIRS: dict[ModuleType, tuple[str, bool]] = {
    scalar: ("", False),
    llvm: ("llvm", False),
    llvm.ad: ("llvm", True),
    cuda: ("cuda", False),
    cuda.ad: ("cuda", True),
}
BOTH = list(itertools.product(PAIRS, repeat=2))


@pytest.fixture(autouse=True)
def own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here, drjit.llvm is what it is called."""
    monkeypatch.setattr(dr, "llvm", llvm)
    monkeypatch.setitem(sys.modules, "drjit.llvm", llvm)
    monkeypatch.setitem(sys.modules, "drjit.llvm.ad", llvm.ad)


def name(value: object) -> str:
    return value.__name__ if isinstance(value, ModuleType) else str(value)


def merged(a: ModuleType, b: ModuleType) -> ModuleType | None:
    """The module of a result: one backend, with derivatives if one has them."""
    (x, p), (y, q) = PAIRS[a], PAIRS[b]
    if x and y and x != y:
        return None
    return next(m for m, pair in PAIRS.items() if pair == (x or y, p or q))


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "lt": lambda a, b: a < b,
    "fma": lambda a, b: dr.fma(a, 2, b),
    "select": lambda a, b: dr.select(a > 1, a, b),
    "dot": lambda a, b: dr.dot(a, b) * type(a)(1),
    "atan2": dr.atan2,
    "maximum": dr.maximum,
    "list": lambda a, b: a * [b[0], 1, 2],
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(("a", "b"), BOTH, ids=name)
def test_operations_on_two(a: ModuleType, b: ModuleType, operation: str) -> None:
    """All pairs of (backend, derivatives), with numbers that say so."""
    x, y, wanted = a.Array3f(1, 2, 3), b.Array3f(3, 2, 1), merged(a, b)
    run = OPERATIONS[operation]
    if wanted is None:
        with pytest.raises(TypeError, match="different backends") as error:
            run(x, y)
        assert operation == "list" or all(
            f"<{m.__name__}.Array3" in str(error.value) for m in (a, b)
        )
        return
    result = run(x, y)
    assert type(result).__module__ == wanted.__name__
    plain = run(scalar.Array3f(1, 2, 3), scalar.Array3f(3, 2, 1))
    assert np.allclose(np.array(result).ravel(), np.array(plain).ravel())


@pytest.mark.parametrize(("a", "b"), BOTH, ids=name)
def test_types_and_products(a: ModuleType, b: ModuleType) -> None:
    wanted = merged(a, b)
    matrices = a.Matrix2f(1, 2, 3, 4), b.Matrix2f(0, 1, 1, 0)
    tensors = a.TensorXf([1, 2], (1, 2)), b.TensorXf([3, 4], (2, 1))
    if wanted is None:
        for operands in (matrices, tensors):
            with pytest.raises(TypeError, match="different backends"):
                operands[0] @ operands[1]
        with pytest.raises(TypeError, match="do not combine"):
            dr.expr_t(a.Array3f, b.Array3f)
        return
    assert dr.expr_t(a.Array3f, b.Array3u) is wanted.Array3f
    product = matrices[0] @ matrices[1]
    assert type(product) is wanted.Matrix2f
    assert np.array(product).ravel().tolist() == [2, 1, 4, 3]
    if type(tensors[0]) is type(tensors[1]):
        assert np.array(tensors[0] @ tensors[1]).tolist() == [[11]]


def test_other_operands() -> None:
    """Positions, masks, values and states belong to the backend of the array."""
    x, y = cuda.Float(1, 2, 3), llvm.Float(4, 5, 6)
    i = cuda.UInt(0, 1, 0)
    for run in (
        lambda: dr.gather(cuda.Float, x, llvm.UInt(0, 1)),
        lambda: dr.gather(cuda.Float, x, i, llvm.Bool(True)),
        lambda: dr.scatter(x, y, cuda.UInt(0, 1, 2)),
        lambda: x.__iadd__(y),
        lambda: x.__setitem__(0, y[:1]),
        lambda: dr.switch(i, [lambda x: x, lambda x: x + 1], y),
        lambda: dr.switch(i, [lambda x: y, lambda x: y + 1], x),
        lambda: dr.while_loop((i, y), lambda i, y: i < 5, lambda i, y: (i + 1, y)),
        lambda: dr.if_stmt((y,), x > 1, lambda y: y, lambda y: -y),
        lambda: dr.if_stmt((), x > 1, lambda: y, lambda: -y),
    ):
        with pytest.raises(TypeError, match=r"drjit\.cuda") as error:
            run()
        assert "drjit.llvm" in str(error.value)
    assert list(x) == [1, 2, 3] and list(y) == [4, 5, 6]


def test_constructors_move() -> None:
    for source, target in ((cuda, llvm), (llvm, cuda), (cuda, llvm.ad)):
        for made in (
            target.Float(source.Float(1, 2)),
            target.Array2f([source.Float(1, 2), source.Float(3)]),
            target.Array2f(source.Array2f(1, source.Float(2, 3))),
            target.Int64(source.Float(1.5, 2.5)),
            target.TensorXf(source.TensorXf([1, 2, 3, 4], (2, 2))),
            target.Array2f(source.TensorXf([1, 2, 3, 4], (2, 2))),
            target.Complex2f(source.Complex2f(1, 2)),
            target.Float(source.Float()),
        ):
            assert type(made).__module__ == target.__name__
            here = np.array(made)
            back = getattr(source, type(made).__name__)(made)
            assert type(back).__module__ == source.__name__
            assert np.array_equal(np.array(back + back), here + here)
    assert list(scalar.ArrayXf(cuda.Float(1, 2))) == [1, 2]


def test_derivatives_stay() -> None:
    """They do not get lost silently."""
    x = cuda.ad.Float(1, 2)
    dr.enable_grad(x)
    with pytest.raises(TypeError, match="is tracked"):
        llvm.ad.Float(x)
    assert list(llvm.Float(x)) == [1, 2]
    assert list(llvm.ad.Float(dr.detach(x))) == [1, 2]
    for y in (x * x, x * cuda.Float(x), cuda.Float(3, 4) * x, scalar.Array2f(1, 2) * x):
        assert dr.grad_enabled(y) and type(y).__module__ == "drjit.cuda.ad"
    dr.backward(x * cuda.Float(3, 4))
    assert list(x.grad) == [3, 4]


@pytest.mark.parametrize("mode", MODES)
def test_flow(mode: str) -> None:
    """The backend is that of the operands, whichever is in use beside it."""
    for t in (cuda, llvm, cuda.ad):
        i, x = t.UInt(0, 1, 0, 1), t.Float(1, 2, 3, 4)
        found = dr.switch(i, [lambda x: x, lambda x: x * 10], x, mode=mode)
        assert type(found) is t.Float and list(found) == [1, 20, 3, 40]
        i, x = dr.while_loop(
            (i, x), lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), mode=mode
        )
        assert type(x) is t.Float and list(x) == [8, 8, 24, 16]
        x = dr.if_stmt((x,), x > 8, lambda x: x, lambda x: -x, mode=mode)
        assert list(x) == [-8, -8, 24, 16]


@pytest.mark.parametrize("mode", MODES)
def test_loop_without_state(mode: str) -> None:
    """Nothing but the condition tells the backend."""
    for t in (cuda, llvm):
        count = t.UInt(0, 0)
        lanes = dr.arange(t.UInt, 2)

        def more(count: Any = count, lanes: Any = lanes, t: Any = t) -> Any:
            return dr.gather(t.UInt, count, lanes) < 0

        assert dr.while_loop((), more, lambda: (), mode=mode) == ()


def test_functions_without_operands() -> None:
    """What nothing tells is what drjit.auto stands for."""

    @dr.freeze
    def numbers() -> Any:
        return dr.arange(dr.auto.Float, 3) * 2

    @dr.func
    def twice(x: Any) -> Any:
        return x * 2

    class Shape(dr.Instance):
        def __init__(self, size: float) -> None:
            self.size = size

        def area(self, x: Any) -> Any:
            return x * self.size**2

    types = []
    for backend, t in (("cuda", cuda), ("llvm", llvm)):
        dr.set_backend(backend)
        assert dr.auto.Float is t.Float and dr.auto.ad.Float is t.ad.Float
        assert type(numbers()) is t.Float
        assert list(numbers()) == [0, 2, 4]
        numbers.clear()  # type: ignore[attr-defined]
        assert list(twice(t.Float(1, 2))) == [2, 4]
        shapes = dr.array_t(Shape)(Shape(2), Shape(3), None)
        types.append(type(shapes))
        assert dr.backend_v(shapes).name == backend.upper()
        assert list(shapes.area(t.Float(1, 10, 100))) == [4, 90, 0]
        assert list(shapes.size) == [2, 3, 0]
        assert dr.array_t(Shape) is types[-1]
    assert types[0] is not types[1]
    dr.set_backend(dr.JitBackend.CUDA)


def test_random_numbers_are_the_same() -> None:
    for draw in ("random", "normal"):
        results = []
        for t in (llvm, llvm.ad, cuda, cuda.ad):
            made = getattr(dr.rng(3), draw)(t.TensorXf, (2, 3))
            assert type(made) is t.TensorXf
            results.append(np.array(made))
        assert all(np.array_equal(result, results[0]) for result in results)


class Foreign:
    """An array of another library, which is where the array of ours is."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def test_memory_of_devices() -> None:
    x, m = cuda.Float(1, 2, 3), cuda.TensorXf([1, 2, 3, 4], (2, 2))
    assert x.__dlpack_device__() == m.__dlpack_device__() == (2, 0)
    assert llvm.Float(1).__dlpack_device__() == (1, 0)
    assert cuda.Array2f(1).__dlpack_device__() == (1, 0)  # leaves are put together
    for t in (cuda, llvm, cuda.ad):
        assert list(t.Float(Foreign(x))) == [1, 2, 3]
        assert np.array(t.TensorXf(Foreign(m))).tolist() == [[1, 2], [3, 4]]
        assert np.array(t.Array2f(Foreign(m))).tolist() == [[1, 2], [3, 4]]
    assert list(x + Foreign(x)) == [2, 4, 6]
    assert list(scalar.ArrayXf(Foreign(x))) == [1, 2, 3]
    # A copy on request, for the host:
    assert np.from_dlpack(Host(x)).tolist() == [1, 2, 3]
    with pytest.raises(BufferError, match="not on"):
        x.__dlpack__(dl_device=(7, 0))
    with pytest.raises(BufferError, match="not on"):
        llvm.Float(1).__dlpack__(dl_device=(2, 0))


class Host(Foreign):
    """The same, which asks for memory of the host."""

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**{**options, "dl_device": (1, 0)})

    def __dlpack_device__(self) -> Any:
        return 1, 0


def test_entries_on_the_host() -> None:
    x = cuda.Float(1, 2, 3)
    v = cuda.Array2f(x, 4)
    assert repr(x) == "[1, 2, 3]" and str(v) == str(llvm.Array2f(v))
    assert list(x) == [1, 2, 3] and x[1] == 2 and [e.x[0] for e in [v]] == [1]
    assert v.numpy().tolist() == [[1, 2, 3], [4, 4, 4]]
    assert cuda.Complex2f(1, x).numpy().tolist() == [1 + 1j, 1 + 2j, 1 + 3j]
    array = x.numpy()
    array[0] = 7  # of the copy
    assert list(x) == [1, 2, 3]
    again = pickle.loads(pickle.dumps(v))
    assert type(again) is cuda.Array2f and dr.all(again == v, axis=None)
    assert memoryview(x).tolist() == [1, 2, 3]
    assert "backend=cuda" in cuda.Array2f.__meta__


def test_events() -> None:
    assert cuda.Event is cuda.ad.Event is not llvm.Event
    event = cuda.Event()
    event.record()
    event.wait()
    with pytest.raises(TypeError, match="the same backend"):
        event.elapsed_time(llvm.Event())
