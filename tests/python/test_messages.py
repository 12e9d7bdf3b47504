"""Messages of exceptions: one style, which docs/dev/python.md describes.

A message names the function as the user has called it, then says what was found and
what was expected. It names nothing of the inside of the package.
"""

import copy
import inspect
import pickle
import re
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import drjit as dr
import pytest
from drjit import llvm, scalar

Float, UInt, Bool, Array3f, TensorXf = (
    llvm.Float,
    llvm.UInt,
    llvm.Bool,
    llvm.Array3f,
    llvm.TensorXf,
)

# What the interpreter itself says; {} is the name of a function or class.
OF_PYTHON = re.compile(
    r"unsupported operand type\(s\) for |bad operand type for |"
    r"module '[\w.]+' has no attribute |'[\w.]+' object has no attribute |"
    r"'[\w.]+' object |can't multiply sequence by non-int |int\(\) argument must be |"
    r"[\w.]+(\(\))? (got|takes|missing|argument) |must be real number, not |"
    r"descriptor '|maximum recursion depth |"
    r"(Python int|int) too (large|big) to convert |slice step cannot be zero|"
    r"slice indices must be integers|invalid literal for int|'>=' not supported "
)

# Operators are named as their functions are.
OPERATORS = set(
    "add sub mul truediv floordiv mod matmul power lshift rshift and_ or_ xor neg "
    "invert lt le gt ge eq ne not_".split()
)

NAME = re.compile(r"(drjit(?:\.\w+)*)(\(|: )")


def chain(error: BaseException) -> Iterator[BaseException]:
    while error:
        yield error
        error = error.__cause__  # type: ignore[assignment]


def exists(path: str) -> bool:
    """Is this the name of something that users can call, or look at?"""
    found: Any = dr
    for name in path.split(".")[1:]:
        if found is dr and name in ("PCG32", "Philox4x32"):
            found = llvm  # one for each family
        if not hasattr(found, name):
            # Attributes that arrays of some types do not have, and operators.
            return name in "x y z w T mT real imag".split() or name in OPERATORS
        found = getattr(found, name)
    return True


def check_style(error: BaseException) -> None:
    """Fail unless the message, and those of its causes, are in our style."""
    for one in chain(error):
        text = str(one)
        assert "jit_" not in re.sub(r"is_jit_v|drjit_", "", text), text
        assert "_errors" not in text and "null" not in text.lower(), text
        assert not text.endswith((".", " ", "\n")) or text.endswith("..."), text
        assert type(one).__module__ == "builtins", type(one)
    text = str(error)
    if not OF_PYTHON.match(text):
        found = NAME.match(text)
        assert found and exists(found[1]), f"{type(error).__name__}: {text}"
        assert found[2] == ": " or "): " in text, text


def ragged() -> Any:
    return Array3f(1, [1, 2], [1, 2, 3])


def assign(target: Any, key: Any, value: Any) -> None:
    target[key] = value


# The name that the message must begin with, and a wrong call.
CALLS: list[tuple[str, Callable[[], Any]]] = [
    # Functions on what is ragged name themselves.
    ("width(", lambda: dr.width(ragged())),
    ("shape(", lambda: dr.shape(ragged())),
    ("shape(", lambda: ragged().shape),
    ("ravel(", lambda: dr.ravel(ragged())),
    ("repeat(", lambda: dr.repeat(ragged(), 2)),
    ("tile(", lambda: dr.tile(ragged(), 2)),
    ("opaque_width(", lambda: dr.opaque_width(ragged())),
    ("reshape(", lambda: dr.reshape(ragged(), (3, 3))),
    ("llvm.Array3f.numpy(", lambda: ragged().numpy()),
    ("llvm.TensorXf.__init__(", lambda: TensorXf(ragged())),
    # Bounds are told in one way.
    ("llvm.Float.__getitem__(", lambda: Float(1, 2)[5]),
    ("llvm.Array3f.__getitem__(", lambda: Array3f(1)[3]),
    ("llvm.TensorXf.__getitem__(", lambda: TensorXf([1, 2])[5]),
    ("llvm.Float.__setitem__(", lambda: assign(Float(1, 2), 5, 1)),
    ("slice(", lambda: dr.slice(Float(1, 2), 5)),
    ("take(", lambda: dr.take(TensorXf([1, 2]), 5)),
    # Methods and attributes.
    ("llvm.Float.item(", lambda: Float(1, 2).item()),
    ("llvm.Float.__int__(", lambda: int(Float(1, 2))),
    ("llvm.Float.__bool__(", lambda: bool(Float(1, 2))),
    ("llvm.Bool.__bool__(", lambda: bool(Bool(True, False))),
    ("llvm.Array2f.z: ", lambda: llvm.Array2f(1).z),
    ("llvm.Float.T: ", lambda: Float(1).T),
    ("llvm.TensorXf.mT: ", lambda: TensorXf([1]).mT),
    ("llvm.Float.imag: ", lambda: setattr(Float(1), "imag", 1)),
    ("llvm.Float.__setstate__(", lambda: Float(1).__setstate__(5)),
    ("ArrayBase(", lambda: dr.ArrayBase()),
    # Constructors.
    ("llvm.Float.__init__(", lambda: Float("a")),
    ("llvm.UInt.__init__(", lambda: UInt(-1)),
    ("llvm.Array3f.__init__(", lambda: Array3f(1, 2)),
    ("scalar.ArrayXu.__init__(", lambda: scalar.ArrayXu([2**40])),
    ("llvm.TensorXf.__init__(", lambda: TensorXf([[1], [1, 2]])),
    # The interpreter's own messages name the public module.
    ("sin(", lambda: dr.sin()),
    ("sin(", lambda: dr.sin("a")),
    ("fma(", lambda: dr.fma(1)),
    ("dot(", lambda: dr.dot(1)),
    # Causes are kept.
    ("sum(", lambda: dr.sum([Float(1, 2), Float(1, 2, 3)])),
    ("dot(", lambda: dr.dot([Float(1, 2)] * 2, [Float(1, 2, 3)] * 2)),
    ("dot(", lambda: dr.dot(Array3f(Float(1, 2)), Array3f(Float(1, 2, 3)))),
    ("matmul(", lambda: llvm.Matrix2f(Float(1, 2)) @ llvm.Matrix2f(Float(1, 2, 3))),
    ("fma(", lambda: dr.fma(Array3f(1), Float(1, 2), Float(1, 2, 3))),
    # Others.
    ("gather(", lambda: dr.gather(Float, Float(), UInt(0))),
    ("scatter(", lambda: dr.scatter(Float(1), "a", UInt(0))),
    ("zeros(", lambda: dr.zeros(Float, -1)),
    ("arange(", lambda: dr.arange(UInt, 5, 2)),
    ("linspace(", lambda: dr.linspace(Float, 0, 1, -1)),
    ("squeeze(", lambda: dr.squeeze(TensorXf([1, 2]), axis=0)),
    ("squeeze(", lambda: dr.squeeze(TensorXf([1, 2]), axis=7)),
    ("reorder_threads(", lambda: dr.reorder_threads("a", 3, 1)),
    ("PCG32(", lambda: llvm.PCG32(0)),
    ("rng(", lambda: dr.rng(1.5)),
    ("format(", lambda: dr.format("{")),
    ("set_label(", lambda: setattr(Float(1), "label", 5)),
    ("cross(", lambda: dr.cross(Float(1), Float(1))),
    ("upsample(", lambda: dr.upsample(5)),
    ("trace(", lambda: dr.trace(Float(1))),
]


@pytest.mark.parametrize("name, call", CALLS, ids=[name for name, _ in CALLS])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_messages_name_the_function(name: str, call: Callable[[], Any]) -> None:
    with pytest.raises(Exception) as info:
        call()
    assert str(info.value).startswith("drjit." + name)
    check_style(info.value)


def test_bounds_are_told_in_one_way() -> None:
    for array in (Float(1, 2), TensorXf([1, 2]), llvm.Array2f(1), scalar.ArrayXf(1, 2)):
        for use in (lambda a: a[5], lambda a: assign(a, 5, 1)):
            with pytest.raises(IndexError) as info:
                use(array)
            where = "index 5 is out of bounds for axis 0 with size 2"
            assert str(info.value).endswith(where)


# ------------------------------------------------------- all functions, wrong arguments

# What changes the process, writes to the terminal, or takes an argument for code.
SPARED = set(
    "print whos whos_ad graphviz graphviz_ad set_backend set_flag set_log_callback "
    "set_log_level set_thread_count set_expand_threshold profile_enable profile_mark "
    "profile_range scoped_set_flag flush_kernel_cache flush_malloc_cache "
    "reorder_threads assert_true assert_false assert_equal assert_allclose "
    "thread_count kernel_history kernel_history_clear".split()
)


def functions() -> list[str]:
    return [
        name
        for name in sorted(dr.__all__)
        if callable(getattr(dr, name))
        and not inspect.isclass(getattr(dr, name))
        and name not in SPARED
        and type(getattr(dr, name)).__module__ != "typing"
    ]


def wrong_arguments() -> list[tuple[Any, ...]]:
    things = ("a", object(), 2**70, Float(1, 2), TensorXf([[1, 2]]), llvm.Matrix2f(1))
    others = (None, -3, "b", Float(1, 2, 3), UInt(1), [Float(1), "a"], {"k": ragged()})
    calls: list[tuple[Any, ...]] = [(), (ragged(),)]
    calls += [(a,) for a in (*things, *others)]
    calls += [(a, b) for a in things for b in others]
    calls += [(a, b, c) for a in (*things[3:], Float) for b in others for c in others]
    return calls


@pytest.mark.parametrize("name", functions())
@pytest.mark.filterwarnings("ignore")
def test_style_of_all_functions(name: str) -> None:
    function, failures = getattr(dr, name), 0
    for arguments in wrong_arguments():
        try:
            function(*arguments)
        except Exception as error:
            failures += 1
            check_style(error)
    accepting = ("eval", "make_opaque", "schedule")
    accepting += ("enable_grad", "disable_grad", "grad_enabled")
    assert bool(failures) == (name not in accepting)


def test_warnings_name_the_function() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        dr.sqr(Float(1))
        dr.inverse(llvm.Matrix2f(1))
        dr.clamp(Float(1), 0, 1)
        dr.sum_nested(Float(1))
    assert len(seen) == 4
    for one in seen:
        assert one.filename == __file__
        assert re.fullmatch(
            r"drjit\.\w+\(\) is deprecated, use drjit\.\w+\(.*\)", str(one.message)
        )


# ------------------------------------------------------- exceptions of several classes

SEVERAL: list[tuple[type[Exception], list[type[Exception]], Callable[[], Any]]] = [
    (IndexError, [RuntimeError, TypeError], lambda: TensorXf([1])[4]),
    (AttributeError, [RuntimeError, TypeError], lambda: llvm.Array2f(1).z),
    (OverflowError, [RuntimeError], lambda: UInt(1) + 2**40),
    (ValueError, [IndexError, RuntimeError], lambda: dr.moveaxis(TensorXf([1]), 4, 0)),
    (ValueError, [TypeError, RuntimeError], lambda: dr.squeeze(TensorXf([1, 2]), 0)),
]


@pytest.mark.parametrize(
    "cls, others, call", SEVERAL, ids=[entry[0].__name__ for entry in SEVERAL]
)
def test_exceptions_of_several_classes(
    cls: type[Exception], others: list[type[Exception]], call: Callable[[], Any]
) -> None:
    for base in (cls, *others):
        with pytest.raises(base) as info:
            call()
    error = info.value
    assert type(error) is not cls
    # They are shown as the built-in class.
    assert repr(error) == f"{cls.__name__}({str(error)!r})"
    last = traceback.format_exception_only(type(error), error)[-1]
    assert last == f"{cls.__name__}: {error}\n"
    # They survive pickles and copies, with all that they hold.
    error.more = [1]  # type: ignore[attr-defined]
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        for same in (
            pickle.loads(pickle.dumps(error, protocol)),
            copy.copy(error),
            copy.deepcopy(error),
        ):
            assert type(same) is type(error)
            assert same.args == error.args and same.more == [1]
            assert all(isinstance(same, base) for base in (cls, *others))


def test_exceptions_from_another_process() -> None:
    """One that has not imported the package yet finds the class."""
    with pytest.raises(IndexError) as info:
        TensorXf([1])[4]
    program = (
        "import pickle, sys\n"
        "error = pickle.loads(sys.stdin.buffer.read())\n"
        "assert isinstance(error, IndexError) and isinstance(error, RuntimeError)\n"
        "raise error\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        input=pickle.dumps(info.value),
        capture_output=True,
        check=False,
    )
    assert result.stderr.decode().splitlines()[-1] == f"IndexError: {info.value}"


def test_causes_of_components() -> None:
    """What fails inside of a sequence is the cause; arrays need none."""
    short, long = [Float(1, 2)] * 2, [Float(1, 2, 3)] * 2
    for call, inner in (
        (lambda: dr.sum([short[0], long[0]]), "drjit.add("),
        (lambda: dr.dot(short, long), "drjit.mul("),
    ):
        with pytest.raises(RuntimeError) as info:
            call()
        assert str(info.value.__cause__).startswith(inner)
    with pytest.raises(RuntimeError, match=r"drjit\.sum\(.*sizes 2 and 3") as info:
        dr.sum(Array3f(1, [1, 2], [1, 2, 3]))
    assert info.value.__cause__ is None


def test_functions_belong_to_the_public_module() -> None:
    for name in ("sin", "gather", "sum", "ravel"):
        function = getattr(dr, name)
        assert function.__module__ == "drjit"
        assert pickle.loads(pickle.dumps(function)) is function
