"""format() and print(): the text, written out by hand from the reference's rules."""

from __future__ import annotations

import io
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import drjit as dr
import pytest


def printed(*args: Any, **kwargs: Any) -> str:
    stream = io.StringIO()
    dr.print(*args, file=stream, **kwargs)
    return stream.getvalue()


class Pair:
    """A data structure in the style of Dr.Jit."""

    DRJIT_STRUCT = {"a": int, "b": int}

    def __init__(self, a: Any = 0, b: Any = 0) -> None:
        self.a = a
        self.b = b


@dataclass
class Point:
    x: Any
    y: Any


class Empty:
    DRJIT_STRUCT: dict[str, type] = {}


class Named:
    def __repr__(self) -> str:
        return "Named()"


Plain = namedtuple("Plain", "a b")


# Format strings


@pytest.mark.parametrize(
    "expected, fmt, args, kwargs",
    [
        ("1", "{}", (1,), {}),
        ("1 2", "{} {}", (1, 2, 3), {}),
        ("2 1 2", "{1} {0} {1}", (1, 2), {}),
        ("1 x", "{foo} {bar}", (), {"foo": 1, "bar": "x", "unused": 3}),
        ("foo=1", "{foo=}", (), {"foo": 1}),
        ("0=5", "{0=}", (5,), {}),
        ("=5", "{=}", (5,), {}),
        ("{} {1} 1", "{{}} {{{}}} {}", (1, 1), {}),
        ("{", "{{", (), {}),
        ("}", "}}", (), {}),
        ("", "", (), {}),
        ("plain", "plain", (7,), {}),
        ("text and 3", "{} and {n}", ("text",), {"n": 3}),
        ("5", "{value}", (), {"value": 5}),
        ("a\nb", "{}", ("a\nb",), {}),
        ("αβ 1", "αβ {}", (1,), {}),
    ],
)
def test_fields(
    expected: str, fmt: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    assert dr.format(fmt, *args, **kwargs) == expected
    assert printed(fmt, *args, **kwargs) == expected + "\n"


@pytest.mark.parametrize(
    "message, fmt",
    [
        (r"missing positional argument 1 .*position 3", "{} {}"),
        (r"missing positional argument 5 ", "{5}"),
        (r'missing keyword argument "foo" .*position 2', "a {foo}"),
        (r'missing keyword argument "x:.3f"', "{x:.3f}"),
        (r'missing keyword argument "x!r"', "{x!r}"),
        (r'missing keyword argument " x "', "{ x }"),
        (r'missing keyword argument "-1"', "{-1}"),
        (r"from implicit to explicit", "{} {0}"),
        (r"from explicit to implicit", "{0} {}"),
        (r"single '}'", "{} }"),
        (r"unmatched brace.*position 2", "a {foo"),
        (r"unmatched brace", "{"),
    ],
)
def test_malformed(message: str, fmt: str) -> None:
    for function in (dr.format, printed):
        with pytest.raises(RuntimeError, match=message):
            function(fmt, 1, x=2)
    name = r"drjit\.format\(\): "
    with pytest.raises(RuntimeError, match=name):
        dr.format(fmt, 1, x=2)


def test_single_value(m: ModuleType) -> None:
    assert dr.format(5) == "5"
    assert dr.format(m.Array3f(1, 2, 3)) == repr(m.Array3f(1, 2, 3))
    assert dr.format(value=3) == "3"
    assert dr.format(fmt="{x}", x=3) == "3"
    # Several need a format string.
    with pytest.raises(TypeError):
        dr.format(1, 2)
    with pytest.raises(TypeError):
        dr.format()
    with pytest.raises(TypeError):
        dr.print()


def test_thread_id_is_reserved() -> None:
    with pytest.raises(RuntimeError, match="thread_id"):
        dr.format("{thread_id}", thread_id=4)


# Python objects and PyTrees


@pytest.mark.parametrize(
    "value, expected",
    [
        (1.0, "1"),
        (1 / 3, "0.333333"),
        (1e-9, "1e-09"),
        (float("inf"), "inf"),
        (True, "True"),
        (1j, "1j"),
        ({1}, "{1}"),
        (Named(), "Named()"),
        ([], "[]"),
        ((), "()"),
        ({}, "{}"),
        ([1], "[\n  1\n]"),
        ((1, "a", None), "(\n  1,\n  'a',\n  None\n)"),
        ([[]], "[\n  []\n]"),
        ({1: 1, "b": 0.5, None: ()}, "{\n  1: 1,\n  'b': 0.5,\n  None: ()\n}"),
        ([1, [2, [3]]], "[\n  1,\n  [\n    2,\n    [\n      3\n    ]\n  ]\n]"),
        (Pair(1, 2), "Pair[\n  a=1,\n  b=2\n]"),
        ([Pair(1, [2])], "[\n  Pair[\n    a=1,\n    b=[\n      2\n    ]\n  ]\n]"),
        (Plain(1, 2), "Plain[\n  a=1,\n  b=2\n]"),
    ],
)
def test_python_values(value: Any, expected: str) -> None:
    assert dr.format("{}", value) == expected
    assert dr.format(value) == expected


def test_none() -> None:
    assert dr.format("{}", None) == "None"


def test_dataclass(m: ModuleType) -> None:
    """A PyTree like any other, shown with the names of its fields."""
    point = Point(m.Array2f(1, 2), [3])
    expected = f"Point[\n  x={m.Array2f(1, 2)},\n  y=[\n    3\n  ]\n]"
    assert dr.format(point) == expected


def test_empty_structure() -> None:
    assert dr.format(Empty()).split() in (["Empty[]"], ["Empty[", "]"])


def test_strings_in_trees() -> None:
    assert dr.format(["it's", "a\nb"]) == "[\n  \"it's\",\n  'a\\nb'\n]"


def test_cycle() -> None:
    tree: list[Any] = []
    tree.append(tree)
    with pytest.raises((RecursionError, RuntimeError)):
        dr.format(tree)


def test_missing_field() -> None:
    value = Pair()
    del value.b
    with pytest.raises((AttributeError, RuntimeError)):
        dr.format(value)


def test_arrays_in_trees() -> None:
    m = dr.llvm
    value = m.Array3f(1, [2, 3], 4)
    assert dr.format({"a": value}) == "{\n  'a': [[1, 2, 4],\n   [1, 3, 4]]\n}"
    expected = "{\n  'q': [\n    Pair[\n      a=[1, 2],\n      b=[[1, 2, 4],\n"
    expected += "       [1, 3, 4]]\n    ]\n  ]\n}"
    assert dr.format({"q": [Pair(m.Float(1, 2), value)]}) == expected
    text = "A PyTree containing an array:\n{\n  'a': [[1, 2, 3]]\n}"
    title = "A PyTree containing an array"
    assert dr.format("{}:\n{foo}", title, foo={"a": m.Array3f(1, 2, 3)}) == text


# Arrays. A limit other than the default takes the path that shortens.


def llvm_arrays() -> list[tuple[Any, str]]:
    m = dr.llvm
    nan, inf = float("nan"), float("inf")
    return [
        (m.Float(1, 2, 3), "[1, 2, 3]"),
        (m.Float(1 / 3, 1e20, 1e-9), "[0.333333, 1e+20, 1e-09]"),
        (m.Float(nan, -nan, inf, -inf, -0.0), "[nan, -nan, inf, -inf, -0]"),
        (m.Float64(1 / 3, 314159.2), "[0.333333, 314159]"),
        (m.Float16(0.5), "[0.5]"),
        (m.Bool(True, False), "[True, False]"),
        (m.UInt64(2**64 - 1), "[18446744073709551615]"),
        (m.Int64(-(2**63)), "[-9223372036854775808]"),
        (m.Int8(-128, 127), "[-128, 127]"),
        (m.Float(), "[]"),
        (m.Array3f(), "[]"),
        (m.Array1f(3), "[[3]]"),
        (m.Array3f(1, 2, 3), "[[1, 2, 3]]"),
        (m.Array3f(1, [2, 3], 4), "[[1, 2, 4],\n [1, 3, 4]]"),
        (m.Array2b([True, False], True), "[[True, True],\n [False, True]]"),
        (m.ArrayXf([[1, 2, 3], [4, 5, 6]]), "[[1, 4],\n [2, 5],\n [3, 6]]"),
        (m.Matrix2f(1, 2, 3, [4, 5]), "[[[1, 2],\n  [3, 4]],\n [[1, 2],\n  [3, 5]]]"),
        (m.Complex2f(1.5, [-2.25, 0, 1]), "[1.5-2.25j,\n 1.5,\n 1.5+1j]"),
        (m.Complex2f([0, 0, nan], [1, 0, -inf]), "[1j,\n 0,\n nan-infj]"),
        (m.Quaternion4f(1, [0, -1], [2, 0], [-3, 0]), "[1i+2k-3,\n 1i-1j]"),
        (m.Quaternion4f(0, 0, 0, [0, 5]), "[0,\n 5]"),
        (m.TensorXf([1, 2, 3, 4, 5, 6], (3, 2)), "[[1, 2],\n [3, 4],\n [5, 6]]"),
        (m.TensorXi([1, 2, 3, 4], (2, 1, 2)), "[[[1, 2]],\n [[3, 4]]]"),
        (m.TensorXf([1, 2], (2,)), "[1, 2]"),
        (dr.zeros(m.TensorXf, (3, 0)), "[[],\n [],\n []]"),
        (dr.zeros(m.TensorXf, (0, 3)), "[]"),
        (m.Array3f([1, 2], [1, 2, 3], 1), "[ragged array]"),
    ]


@pytest.mark.parametrize("limit", [20, 19, 100, 0, -1])
@pytest.mark.parametrize("number", range(len(llvm_arrays())))
def test_llvm_arrays(number: int, limit: int) -> None:
    value, expected = llvm_arrays()[number]
    assert dr.format(value, limit=limit) == expected
    assert dr.format("{a=}", a=value, limit=limit) == "a=" + expected


def scalar_arrays() -> list[tuple[Any, str]]:
    m = dr.scalar
    return [
        (m.Array3f(1, 2.5, -3), "[1, 2.5, -3]"),
        (m.Array2b(True, False), "[True, False]"),
        (m.Array2u64(0, 2**64 - 1), "[0, 18446744073709551615]"),
        (m.ArrayXi([1, 2, 3]), "[1, 2, 3]"),
        (m.Array22f([1, 2], [3, 4]), "[[1, 2],\n [3, 4]]"),
        (m.Matrix2f(1, 2, 3, 4), "[[1, 2],\n [3, 4]]"),
        (m.Complex2f(1, -2), "1-2j"),
        (m.Complex2f(0, 0), "0"),
        (m.Quaternion4f(1, -1, 0, 0.5), "1i-1j+0.5"),
        (m.TensorXf([1, 2, 3, 4], (2, 2)), "[[1, 2],\n [3, 4]]"),
    ]


@pytest.mark.parametrize("limit", [20, 19, 100, 0, -1])
@pytest.mark.parametrize("number", range(len(scalar_arrays())))
def test_scalar_arrays(number: int, limit: int) -> None:
    value, expected = scalar_arrays()[number]
    assert dr.format(value, limit=limit) == expected


def test_tensor_of_rank_zero(m: ModuleType) -> None:
    for limit in (20, 5):
        assert dr.format(m.TensorXf(5), limit=limit) == "5"


SKIP_24 = "[0, 1, 2, .. 24 skipped .., 27, 28, 29]"
ALL_30 = str(list(range(30)))


@pytest.mark.parametrize(
    "count, limit, expected",
    [
        (30, 20, SKIP_24),
        (20, 20, str(list(range(20)))),
        (21, 20, "[0, 1, 2, .. 15 skipped .., 18, 19, 20]"),
        (30, 30, ALL_30),
        (30, 29, SKIP_24),
        (30, 3, SKIP_24),
        (30, 0, SKIP_24),
        (30, -1, ALL_30),
        (6, 0, "[0, 1, 2, 3, 4, 5]"),
        (7, 2, "[0, 1, 2, .. 1 skipped .., 4, 5, 6]"),
    ],
)
def test_limit(m: ModuleType, count: int, limit: int, expected: str) -> None:
    name = "Int" if m is not dr.scalar else "ArrayXi"
    value = dr.arange(getattr(m, name), count)
    assert dr.format(value, limit=limit) == expected
    assert printed(value, limit=limit) == expected + "\n"
    tensor = dr.arange(m.TensorXi, count)
    assert dr.format(tensor, limit=limit) == expected


def test_limit_of_dimensions(m: ModuleType) -> None:
    tensor = dr.reshape(m.TensorXi, dr.arange(m.TensorXi, 200), (2, 100))
    expected = "[[0, 1, 2, .. 94 skipped .., 97, 98, 99],\n"
    expected += " [100, 101, 102, .. 94 skipped .., 197, 198, 199]]"
    assert dr.format(tensor) == expected
    assert dr.format(tensor, limit=50) == expected

    tensor = dr.reshape(m.TensorXi, dr.arange(m.TensorXi, 60), (30, 2, 1))
    lines = [f" [[{2 * i}],\n  [{2 * i + 1}]]" for i in (0, 1, 2, 27, 28, 29)]
    lines.insert(3, " .. 24 skipped ..")
    assert dr.format(tensor, limit=6) == "[" + ",\n".join(lines)[1:] + "]"


def test_limit_of_nested_arrays() -> None:
    m = dr.llvm
    index = dr.arange(m.Float, 30)
    lines = [f" [{i}, 0, 1]" for i in (0, 1, 2, 27, 28, 29)]
    lines.insert(3, " .. 24 skipped ..")
    expected = "[" + ",\n".join(lines)[1:] + "]"
    for limit in (20, 10):
        assert dr.format(m.Array3f(index, 0, 1), limit=limit) == expected

    lines = [f" [[{i}, 0],\n  [0, {i}]]" for i in (0, 1, 2, 27, 28, 29)]
    lines.insert(3, " .. 24 skipped ..")
    expected = "[" + ",\n".join(lines)[1:] + "]"
    for limit in (20, 10):
        assert dr.format(m.Matrix2f(index), limit=limit) == expected


def test_limit_must_be_a_number(m: ModuleType) -> None:
    for limit in ("a", None, 2.5):
        with pytest.raises((TypeError, RuntimeError)):
            dr.format(m.Array3f(1), limit=limit)


# Arguments of print()


def test_end_and_file(capsys: pytest.CaptureFixture[str]) -> None:
    dr.print("hello")
    dr.print(5, end="!")
    assert capsys.readouterr().out == "hello\n5!"
    assert printed("x", end="") == "x"
    # The end is part of the format string.
    assert printed("{0}", 7, end=" {0}") == "7 7"
    with pytest.raises(RuntimeError):
        dr.print(5, end="{}")
    with pytest.raises((TypeError, RuntimeError)):
        dr.print(5, end=3)


def test_file_none(capsys: pytest.CaptureFixture[str]) -> None:
    """The default of the reference's signature."""
    dr.print("hello", file=None)
    assert capsys.readouterr().out == "hello\n"


def test_file_gets_one_piece() -> None:
    class Writer:
        def __init__(self) -> None:
            self.pieces: list[str] = []

        def write(self, text: str) -> None:
            self.pieces.append(text)

    writer = Writer()
    dr.print("{} {}", [1], 2, file=writer)
    assert writer.pieces == ["[\n  1\n] 2\n"]


def test_errors_of_file() -> None:
    class Full:
        def write(self, text: str) -> None:
            raise OSError("disk full")

    with pytest.raises((OSError, RuntimeError)) as info:
        dr.print("x", file=Full())
    assert isinstance(info.value, OSError) or isinstance(info.value.__cause__, OSError)


def test_mode(m: ModuleType) -> None:
    value = m.Array3f(1, 2, 3)
    assert printed(value, mode="auto") == repr(value) + "\n"
    with pytest.raises((ValueError, RuntimeError), match="mode"):
        dr.print(value, mode="bad")


def test_mode_evaluated(m: ModuleType) -> None:
    value = m.Array3f(1, 2, 3)
    assert printed(value, mode="evaluated") == repr(value) + "\n"


def printed_symbolically(act: Callable[[Any], object]) -> list[str]:
    """What is written before the next evaluation, and what then."""
    file = io.StringIO()
    act(file)
    before = file.getvalue()
    dr.eval()
    dr.sync_thread()
    return [before, file.getvalue()[len(before) :]]


def test_mode_symbolic_prints_at_the_next_evaluation() -> None:
    llvm = dr.llvm

    def act(file: Any) -> None:
        x, a = llvm.Float(1, 2, 3), llvm.Array3f(1, 2, dr.arange(llvm.Float, 2))
        dr.print("{x=} {}", [x * 2], x=x, file=file, mode="symbolic")
        dr.print(a, file=file, mode="symbolic", end="!")
        x += 1  # too late to be seen
        a.x = 9

    assert printed_symbolically(act) == [
        "",
        "x=[1, 2, 3] [\n  [2, 4, 6]\n]\n[[1, 2, 0],\n [1, 2, 1]]!",
    ]


def test_mode_symbolic_with_any_evaluation() -> None:
    def act(file: Any) -> None:
        dr.print(dr.llvm.Float(1, 2) + 1, file=file, mode="symbolic")
        assert file.getvalue() == ""
        dr.eval(dr.llvm.Float(5, 6, 7) + 1)
        dr.sync_thread()
        dr.llvm.Float(1)
        assert file.getvalue() == "[2, 3]\n"

    assert printed_symbolically(act)[1] == ""


def test_mode_symbolic_of_what_has_its_value() -> None:
    def act(file: Any) -> None:
        dr.print("hello {}", 3, file=file, mode="symbolic")
        dr.print(dr.scalar.Array3f(1, 2, 3), file=file, mode="symbolic")

    assert printed_symbolically(act) == ["hello 3\n[1, 2, 3]\n", ""]


def test_mode_symbolic_with_active() -> None:
    x = dr.llvm.Float(1, 2, 3)

    def act(file: Any) -> None:
        for active in (False, x > 5, x > 1, True):
            dr.print(x, file=file, active=active, mode="symbolic")

    assert printed_symbolically(act) == ["", "[2, 3]\n[1, 2, 3]\n"]
    with pytest.raises(TypeError, match="active"):
        dr.print(x, active="x", mode="symbolic")


def test_mode_symbolic_finds_faults_at_once() -> None:
    x = dr.llvm.Float(1, 2, 3)
    for fmt in ("{", "{1}", "{name}"):
        with pytest.raises(RuntimeError, match="position"):
            dr.print(fmt, x, mode="symbolic")


def test_active_bool() -> None:
    assert printed("x", active=True) == "x\n"
    assert printed("x", active=False) == ""


def test_active_mask() -> None:
    m = dr.llvm
    x, mask = m.Float(1, 2, 3), m.Bool(True, False, True)
    assert printed(x, active=mask) == "[1, 3]\n"
    assert printed("{} {}", x, 7, active=mask) == "[1, 3] 7\n"
    value = m.Array3f(1, [2, 3, 5], 4)
    assert printed(value, active=mask) == "[[1, 2, 4],\n [1, 5, 4]]\n"
    # Arrays of size one are repeated, others and tensors shown in full.
    assert printed([x, m.Float(4)], active=mask) == "[\n  [1, 3],\n  [4, 4]\n]\n"
    assert printed(m.TensorXf([1, 2, 3]), active=mask) == "[1, 2, 3]\n"
    assert printed("hi", active=mask) == "hi\n"
    pair = Pair(x, m.Array2f(7, x))
    expected = "Pair[\n  a=[1, 3],\n  b=[[7, 1],\n   [7, 3]]\n]\n"
    assert printed(pair, active=mask) == expected


def test_active_of_one_entry() -> None:
    m = dr.llvm
    x = m.Float(1, 2, 3)
    assert printed(x, active=m.Bool(True)) == "[1, 2, 3]\n"
    assert printed(x, active=m.Bool(False)) == ""
    assert printed("hi", active=m.Bool(False, False)) == ""


def test_active_and_limit() -> None:
    index = dr.arange(dr.llvm.Int, 30)
    expected = "[10, 11, 12, .. 14 skipped .., 27, 28, 29]\n"
    assert printed(index, active=index > 9, limit=8) == expected
    every = ", ".join(str(i) for i in range(10, 30))
    assert printed(index, active=index > 9) == f"[{every}]\n"
    expected = "[4, 5, 6, .. 20 skipped .., 27, 28, 29]\n"
    assert printed(index, active=index > 3) == expected


def test_active_scalar() -> None:
    m = dr.scalar
    x = m.ArrayXf([1, 2, 3])
    assert printed(x, active=m.ArrayXb([True, False, True])) == "[1, 3]\n"
    assert printed(m.Array2f(5, 6), active=m.Array2b(False, True)) == "[6]\n"
    assert printed(x, active=m.ArrayXb([False, False, False])) == ""


def test_active_of_another_size() -> None:
    m = dr.llvm
    with pytest.raises(RuntimeError, match="active"):
        dr.print(m.Float(1, 2, 3), active=m.Bool(True, False))


def test_active_of_another_type(m: ModuleType) -> None:
    for active in (1, "a", None, [True], m.Array2f(1), m.TensorXb([True, False])):
        with pytest.raises((TypeError, RuntimeError), match="active|incompatible"):
            dr.print("x", active=active)


def test_thread_id() -> None:
    m = dr.llvm
    x, mask = m.Float(1, 2, 3), m.Bool(True, False, True)
    assert dr.format("{thread_id=} {x=}", x=x) == "thread_id=[0, 1, 2] x=[1, 2, 3]"
    assert printed("{thread_id} {}", x, active=mask) == "[0, 2] [1, 3]\n"
    assert dr.format("{thread_id}") == "[0]"
    many = dr.arange(m.Int, 30)
    assert printed("{thread_id} {}", many) == f"{SKIP_24} {SKIP_24}\n"


def test_nothing_is_printed_on_error() -> None:
    stream = io.StringIO()
    with pytest.raises(RuntimeError):
        dr.print("a {} {}", 1, file=stream)
    assert stream.getvalue() == ""
