"""``@dr.syntax``: texts before and after, and samples against plain Python."""

from __future__ import annotations

import ast
import functools
import gc
import inspect
import subprocess
import sys
import textwrap
import traceback
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import drjit as dr
import pytest
import region_util
from drjit.llvm import Bool, Float, Int
from syntax_samples import SAMPLES, UNASSIGNED


def define(text: str, name: str = "f", **names: Any) -> Any:
    """What 'name' is after running an indented text."""
    names = {"dr": dr, "Float": Float, "Int": Int, "Bool": Bool, **names}
    return region_util.define(textwrap.dedent(text), name, **names)


# ---------------------------------------------------------------- texts

WHILE = """
def f(i, x):
    while i < 10:
        x *= x
        i += 1
    return i, x
---
def f(i, x):
    def _loop_cond(i, x):
        return i < 10
    def _loop_body(i, x):
        x *= x
        i += 1
        return (i, x)
    i, x = _drjit_while_loop((i, x), _loop_cond, _loop_body, ('i', 'x'))
    return (i, x)
"""

IF = """
def f(x):
    if x > 0:
        y = 1
    elif x < 0:
        y = -1
    else:
        y = 0
    return y
---
def f(x):
    def _if_stmt_true(x):
        y = 1
        return (x, y)
    def _if_stmt_false(x):
        def _if_stmt_true(x):
            y = -1
            return (x, y)
        def _if_stmt_false(x):
            y = 0
            return (x, y)
        x, y = _drjit_if_stmt(
            (x,), x < 0, _if_stmt_true, _if_stmt_false, ('x',), ('x', 'y')
        )
        return (x, y)
    x, y = _drjit_if_stmt(
        (x,), x > 0, _if_stmt_true, _if_stmt_false, ('x',), ('x', 'y')
    )
    return y
"""

# What is assigned on one side is not assigned on the other.
HALF = """
def f(x):
    if x > 0:
        y = 1
    return y
---
def f(x):
    def _if_stmt_true(x):
        y = 1
        return (x, y)
    def _if_stmt_false(x):
        return (x, _drjit_unbound('y'))
    x, y = _drjit_if_stmt(
        (x,), x > 0, _if_stmt_true, _if_stmt_false, ('x',), ('x', 'y')
    )
    if y.__class__ is _drjit_unbound:
        del y
    return y
"""

# A variable of the body is none of the state; globals and imports neither.
LOCAL = """
def f(x):
    import math
    while x < limit:
        t = math.floor(x)
        x += t
    return x
---
def f(x):
    import math
    def _loop_cond(x):
        return x < limit
    def _loop_body(x):
        t = math.floor(x)
        x += t
        return (x,)
    x, = _drjit_while_loop((x,), _loop_cond, _loop_body, ('x',))
    return x
"""

HINT = """
def f(i, a, b):
    while dr.hint(i < 3, label='up', mode='symbolic', include=[b], exclude=[a]):
        i += a
    if dr.hint(i < 3, strict=False):
        a = 2
    i += a
    while dr.hint(i < 9, mode='scalar'):
        i += 1
    return i
---
def f(i, a, b):
    def _loop_cond(b, i):
        return i < 3
    def _loop_body(b, i):
        i += a
        return (b, i)
    b, i = _drjit_while_loop(
        (b, i), _loop_cond, _loop_body, ('b', 'i'), label='up', mode='symbolic'
    )
    def _if_stmt_true(a, i):
        a = 2
        return (a, i)
    def _if_stmt_false(a, i):
        return (a, i)
    a, i = _drjit_if_stmt(
        (a, i), i < 3, _if_stmt_true, _if_stmt_false, ('a', 'i'), ('a', 'i'),
        strict=False
    )
    i += a
    while i < 9:
        i += 1
    return i
"""

# A condition that assigns is part of the body.
WALRUS = """
def f(x):
    while (y := x + 1) < 3:
        x = y
    return x
---
def f(x):
    _condition_1 = (y := (x + 1)) < 3
    def _loop_cond(_condition_1, x, y):
        return _condition_1
    def _loop_body(_condition_1, x, y):
        x = y
        _condition_1 = (y := (x + 1)) < 3
        return (_condition_1, x, y)
    _condition_1, x, y = _drjit_while_loop(
        (_condition_1, x, y), _loop_cond, _loop_body, ('_condition_1', 'x', 'y')
    )
    return x
"""

# Variables that inner functions use have one cell.
SHARED = """
def f(x):
    def add():
        nonlocal x
        x += 1
    while x < 3:
        add()
    return x
---
def f(x):
    def add():
        nonlocal x
        x += 1
    def _loop_cond(_new_x):
        nonlocal x
        x = _new_x
        return x < 3
    def _loop_body(_new_x):
        nonlocal x
        x = _new_x
        add()
        return (x,)
    x, = _drjit_while_loop((x,), _loop_cond, _loop_body, ('x',))
    return x
"""

NONE = """
def f(x):
    for i in range(3):
        x += i if i else 2
    return [y for y in x if y]
---
def f(x):
    for i in range(3):
        x += i if i else 2
    return [y for y in x if y]
"""

# Where a branch is always left, the rest belongs to the other one.
RETURN = """
def f(x):
    if x < 0:
        return 1
    x += 1
    return x
---
def f(x):
    def _if_stmt_true(x):
        _return_value = 1
        return (_return_value, x)
    def _if_stmt_false(x):
        x += 1
        _return_value = x
        return (_return_value, x)
    _return_value, x = _drjit_if_stmt(
        (x,), x < 0, _if_stmt_true, _if_stmt_false, ('x',), ('return value', 'x')
    )
    return _return_value
"""

BREAK = """
def f(x):
    while x < 9:
        if x == 5:
            break
        x += 1
    else:
        x = 0
    return x
---
def f(x):
    _stop_1 = False
    def _loop_cond(_stop_1, x):
        return _stop_1 is not True and _drjit_unless(_stop_1, x < 9)
    def _loop_body(_stop_1, x):
        def _if_stmt_true(_stop_1, x):
            _stop_1 = _stop_1 | True
            return (_stop_1, x)
        def _if_stmt_false(_stop_1, x):
            x += 1
            return (_stop_1, x)
        _stop_1, x = _drjit_if_stmt_flags(
            (_stop_1, x), x == 5, _if_stmt_true, _if_stmt_false, ('_stop_1', 'x'),
            ('_stop_1', 'x'), flags=('_stop_1',)
        )
        return (_stop_1, x)
    _stop_1, x = _drjit_while_loop_flags(
        (_stop_1, x), _loop_cond, _loop_body, ('_stop_1', 'x'), flags=('_stop_1',)
    )
    def _if_stmt_true(_stop_1, x):
        x = 0
        return (_stop_1, x)
    def _if_stmt_false(_stop_1, x):
        return (_stop_1, x)
    _stop_1, x = _drjit_if_stmt(
        (_stop_1, x), _drjit_unless(_stop_1, True), _if_stmt_true, _if_stmt_false,
        ('_stop_1', 'x'), ('_stop_1', 'x')
    )
    return x
"""

CONTINUE = """
def f(x):
    for i in range(3):
        if x > 2:
            if x > 3:
                continue
            x += 1
        x += i
    return x
---
def f(x):
    for i in range(3):
        _skip_1 = False
        def _if_stmt_true(_skip_1, x):
            def _if_stmt_true(_skip_1, x):
                _skip_1 = _skip_1 | True
                return (_skip_1, x)
            def _if_stmt_false(_skip_1, x):
                x += 1
                return (_skip_1, x)
            _skip_1, x = _drjit_if_stmt_flags(
                (_skip_1, x), x > 3, _if_stmt_true, _if_stmt_false, ('_skip_1', 'x'),
                ('_skip_1', 'x'), flags=('_skip_1',)
            )
            return (_skip_1, x)
        def _if_stmt_false(_skip_1, x):
            return (_skip_1, x)
        _skip_1, x = _drjit_if_stmt_flags(
            (_skip_1, x), x > 2, _if_stmt_true, _if_stmt_false, ('_skip_1', 'x'),
            ('_skip_1', 'x'), flags=('_skip_1',)
        )
        def _if_stmt_true(_skip_1, i, x):
            x += i
            return (_skip_1, i, x)
        def _if_stmt_false(_skip_1, i, x):
            return (_skip_1, i, x)
        _skip_1, i, x = _drjit_if_stmt(
            (_skip_1, i, x), _drjit_unless(_skip_1, True), _if_stmt_true,
            _if_stmt_false, ('_skip_1', 'i', 'x'), ('_skip_1', 'i', 'x')
        )
    return x
"""

TABLE = {
    "return": RETURN,
    "break": BREAK,
    "continue": CONTINUE,
    "while": WHILE,
    "if": IF,
    "half": HALF,
    "local": LOCAL,
    "hint": HINT,
    "walrus": WALRUS,
    "shared": SHARED,
    "none": NONE,
}


@pytest.mark.parametrize("text", TABLE.values(), ids=TABLE)
def test_table(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = text.split("---\n")
    define("@dr.syntax(print_code=True)" + before, limit=3)
    made = capsys.readouterr().out.split("Output code\n-----------\n")[1]
    tree = ast.parse(made)
    tree.body[0].decorator_list = []  # type: ignore[attr-defined]
    assert ast.unparse(tree) == ast.unparse(ast.parse(after))


# ---------------------------------------------------------------- samples

each_scalar = pytest.mark.parametrize(
    "sample", SAMPLES + UNASSIGNED, ids=lambda f: f.__name__
)
each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=lambda f: f.__name__)
LANES = [0, 1, 2, 3, 4, 5, 6, 7, 9]


@each_scalar
def test_scalar(sample: Callable[..., Any]) -> None:
    """Plain numbers: what the function does without the decorator."""
    decorated = dr.syntax(sample)
    for n in LANES:
        assert decorated(n) == sample(n)


@each_sample
@pytest.mark.parametrize("symbolic", [True, False])
def test_arrays(sample: Callable[..., Any], symbolic: bool) -> None:
    """Arrays: in each lane what plain Python computes."""
    flags = dr.JitFlag.SymbolicLoops | dr.JitFlag.SymbolicConditionals
    with dr.scoped_set_flag(flags, symbolic):
        results = dr.syntax(sample)(Int(LANES))
        dr.eval(results)
    expected = [sample(n) for n in LANES]
    if not isinstance(results, tuple):
        results, expected = (results,), [(e,) for e in expected]
    for place, result in enumerate(results):
        whole = dr.zeros(Int, len(LANES)) + result
        assert list(whole) == [e[place] for e in expected]


def test_lanes_without_a_value() -> None:
    """What some lanes do not assign has no value after the statement."""
    for sample in UNASSIGNED:
        with pytest.raises(UnboundLocalError, match="'y'"):
            dr.syntax(sample)(Int(LANES))
    with pytest.raises(UnboundLocalError, match="'y'"):
        half_assigned(Int(0, 3))


def test_values_of_one_type() -> None:
    @dr.syntax
    def nothing(n: Any) -> Any:
        if n > 3:
            return n

    @dr.syntax
    def mixed(n: Any) -> Any:
        while n > 3:
            if n > 5:
                return Float(1)
            n -= 1
        return n

    @dr.syntax
    def other_side(n: Any) -> Any:
        if n < 3:
            n += 1
        else:
            if n > 5:
                return n * 100
        return n

    assert [nothing(3), nothing(4)] == [None, 4]
    assert list(other_side(Int(1, 4, 7))) == [2, 4, 700]
    for f, kind in (nothing, "NoneType"), (mixed, "Float"):
        message = f"'return value' changed from .*{kind}|{kind}.*"
        with pytest.raises(RuntimeError, match=message):
            f(Int(2, 7))


# ---------------------------------------------------------------- functions


def test_what_is_kept() -> None:
    def f(x: int, y: Float = 3, *, z: str = "z") -> Int:  # type: ignore[assignment]
        """What it does."""
        if x > 0:
            x += y
        return x, z

    f.mark = 1  # type: ignore[attr-defined]
    g: Any = dr.syntax(f)
    assert g is not f
    assert g.__wrapped__ is f
    assert g(1) == (4, "z")
    assert g(1, z=2, y=4) == (5, 2)
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__defaults__"):
        assert getattr(g, name) == getattr(f, name)
    for name in ("__kwdefaults__", "__annotations__", "mark"):
        assert getattr(g, name) == getattr(f, name)
    assert inspect.signature(g) == inspect.signature(f)
    assert inspect.getsource(g) == inspect.getsource(f)


def twice(f: Any) -> Any:
    @functools.wraps(f)
    def run(x: Any) -> Any:
        return f(f(x))

    return run


@twice
@dr.syntax
def decorated(
    x: Any,
) -> Any:
    if x > 3:
        x += 1
    return x


def test_other_decorators() -> None:
    assert decorated(3) == 3
    assert decorated(4) == 6
    assert list(decorated(Int(3, 4))) == [3, 6]
    with pytest.raises(TypeError, match="below other decorators"):
        dr.syntax(decorated)


class Base:
    def __init__(self, x: Any) -> None:
        self.x = x
        self.__private = 1

    def add(self, n: Any) -> Any:
        self.x = self.x + n
        return self


class Derived(Base):
    DRJIT_STRUCT = {"x": Int}
    __secret = 5

    def __init__(self) -> None:
        self.x = Int()

    @dr.syntax
    def add(self, n: Any) -> Any:
        if self.x < 10:
            super().add(n)
            self.x += self.__secret
        while self.x < 20:
            __step = Derived.__secret
            super().add(__step)
        return self

    @dr.syntax
    @staticmethod
    def static(n: Any) -> Any:
        if n > 2:
            n = n + Derived.__secret
        return n

    @classmethod
    @dr.syntax
    def of_class(cls, n: Any) -> Any:
        if n > 2:
            n = n + cls.__secret
        return n

    @dr.syntax
    @classmethod
    def of_class_too(cls, n: Any) -> Any:
        if n > 2:
            n = n + cls.__secret
        return n


def test_methods() -> None:
    d = Derived()
    d.x = Int(0, 7, 30)
    d.add(Int(1, 2, 3))
    assert list(d.x) == [21, 24, 30]
    d.x = 4
    assert d.add(3).x == 22
    for f in (d.static, Derived.static, d.of_class, d.of_class_too):
        assert list(f(Int(1, 3))) == [1, 8]
        assert f(3) == 8
    assert Derived.add.__qualname__ == "Derived.add"


def test_closure_is_shared() -> None:
    count, factor = 0, 2

    @dr.syntax
    def f(x: Any) -> Any:
        nonlocal count
        while x < 10:
            x += factor
            count += 1
        return x

    assert f(0) == 10
    assert count == 5
    factor = 5
    count = 0
    assert f(0) == 10
    assert count == 2
    count = Int(0)
    assert list(f(Int(0, 7))) == [10, 12]
    assert list(count) == [2, 1]


def test_globals() -> None:
    f = define(
        """
        total = 0
        @dr.syntax
        def f(x):
            global total
            if x > 1:
                total += x
            return total
        """
    )
    assert f(3) == 3
    assert f(0) == 3
    assert f(2) == 5


def test_declarations_inside() -> None:
    f = define(
        """
        total = 0
        def outer():
            count = 0
            @dr.syntax
            def f(x):
                "Text."
                if x > 1:
                    global total
                    total += x
                    nonlocal count
                    count += 1
                    y: int = 2
                    z: int
                    z = y + 1
                    x += (lambda: y + z)()
                return total, count, x
            return f
        f = outer()
        """
    )
    assert f(3) == (3, 1, 8)
    assert f(0) == (3, 1, 0)
    assert f.__doc__ == "Text."


def test_recursive_function() -> None:
    @dr.syntax
    def power(x: Any, n: int) -> Any:
        if n > 0:
            x = x * power(x, n - 1)
        return x

    assert power(2, 3) == 16


def test_inner_functions() -> None:
    def outer(recursive: bool) -> Any:
        @dr.syntax(recursive=recursive)
        def f(x: Any) -> Any:
            def g(y: Any) -> Any:
                if y > 1:
                    y = y + 10
                return y

            class C:
                pass

            assert g.__qualname__.endswith("f.<locals>.g")
            assert C.__qualname__.endswith("f.<locals>.C")
            return g(x)

        return f

    assert outer(False)(2) == 12
    assert list(outer(True)(Int(1, 2))) == [1, 12]
    with pytest.raises(Exception, match="truth value|bool"):
        outer(False)(Int(1, 2))


def test_objects_are_changed_in_place() -> None:
    @dr.syntax
    def f(d: Any, x: Any) -> None:
        if x > 1:
            d["a"] += x
        while d["b"] < 5:
            d["b"] += x

    a, b = Int(1, 2, 3), Int(0, 1, 9)
    d = {"a": a, "b": b}
    f(d, Int(1, 2, 3))
    assert d["a"] is a
    assert d["b"] is b
    assert list(a) == [1, 4, 6]
    assert list(b) == [5, 5, 9]


# ---------------------------------------------------------------- unassigned variables


@dr.syntax
def half_assigned(x: Any) -> Any:
    if x > 1:
        y = x
    return y


@dr.syntax
def carried(n: int) -> Any:
    i = 0
    while i < n:
        if i > 0:
            last = last + i  # noqa: F821
        else:
            last = 10
        i += 1
    return last


@dr.syntax
def removed(n: int) -> Any:
    value = n
    if n > 1:
        del value
    if n > 2:
        value = 3
    while n < 0:
        del value
        n += 1
    return value


def test_unassigned() -> None:
    assert half_assigned(2) == 2
    assert carried(4) == 16
    assert [removed(n) for n in (0, 1, 3, -1 + 1)] == [0, 1, 3, 0]
    for f, n in (half_assigned, 1), (carried, 0), (removed, 2), (removed, -1):
        with pytest.raises(UnboundLocalError, match="'(y|last|value)'"):
            f(n)


# ---------------------------------------------------------------- places


def test_lines() -> None:
    f = define(
        '''

        class A:
            @dr.syntax
            def f(self, x):
                """Text."""
                while x < 3:
                    x += 1
                    if x > 2:
                        raise KeyError(x)
                return x

        def g():
            A().f(0)
        ''',
        "g",
    )
    with pytest.raises(KeyError) as caught:
        f()
    frames = traceback.extract_tb(caught.tb)[2:]
    assert [(frame.name, frame.lineno, frame.line) for frame in frames] == [
        ("f", 7, "while x < 3:"),
        ("_loop_body", 9, "if x > 2:"),
        ("_if_stmt_true", 10, "raise KeyError(x)"),
    ]


def test_strings_are_kept() -> None:
    f = define(
        '''
        if True:
            @dr.syntax
            def f(x):
                a = """one
        two
                three"""
                # A comment
            # and another
        # and one more
                b = (x,
        2)
                if x > 0:
                    a += "\\
        four"
                return a, b
        '''
    )
    assert f(1) == ("one\ntwo\n        three" + "four", (1, 2))


def test_no_text() -> None:
    space = {"dr": dr}
    with pytest.raises(OSError, match="text of the function 'f' cannot be found"):
        exec("@dr.syntax\ndef f(x):\n    if x: pass", space)


def test_no_text_of_another_program() -> None:
    """Python 3.13 has that of 'python -c', whose code has the name of exec()'s."""
    inner = "@dr.syntax\ndef f(x):\n    while x < 2: x += 1\n    return x"
    program = f"""
import drjit as dr
try:
    exec({inner!r})
except OSError as error:
    print(error)
"""
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "text of the function 'f' cannot be found" in result.stdout


@pytest.mark.parametrize("enabled", [True, False])
def test_collector_stays_as_it_was(enabled: bool) -> None:
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        define("@dr.syntax\ndef f(x):\n    if x: x = 1\n    return x")
        assert gc.isenabled() == enabled
        with pytest.raises(SyntaxError):
            define("@dr.syntax\nasync def f(x):\n    return x")
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()


# ---------------------------------------------------------------- hints and errors


def test_hint_is_its_argument() -> None:
    x = Int(1)
    assert dr.hint(x) is x
    hints: Any = {"mode": "scalar", "label": "l", "max_iterations": 3, "strict": False}
    assert dr.hint(x, **hints, compress=True, include=[x], exclude=[]) is x
    with pytest.raises(TypeError, match="positional"):
        dr.hint(arg=x)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'name'"):
        dr.hint(x, name="l")  # type: ignore[call-arg]


def test_hint_goes_by_any_name() -> None:
    f = define(
        """
        @dr.syntax(print_code=True)
        def f(x):
            while say(x < 3, mode="scalar"):
                x += 1
                if say(x == 2, mode="scalar"):
                    return x
            if mine.hint(x < 3):
                x = 9
            return x
        """,
        say=dr.hint,
        mine=SimpleNamespace(hint=lambda x: not x),
    )
    assert f(0) == 2
    assert f(5) == 9


def test_hint_strict() -> None:
    @dr.syntax
    def f(x: Any, strict: bool) -> Any:
        if dr.hint(x < 4, strict=strict):
            y = 3
        else:
            y = 5
        return y

    assert f(1, True) == 3
    f(Int(1), False)
    with pytest.raises(RuntimeError, match="'y' of type 'int' changed from '[35]'"):
        f(Int(1), True)


REFUSED = {
    "'i' is used after a 'for' loop": (
        "for i in range(3):\n        if x == i:\n            break\n    return i"
    ),
    "out of 'finally'": (
        "while x:\n        try:\n            x += 1\n        finally:\n"
        "            if x: break"
    ),
    "one positional": "if dr.hint(x, x):\n        x += 1",
    "one positional argument": "if dr.hint():\n        x += 1",
    "keyword argument 'name'": "while dr.hint(x, name='l'):\n        x += 1",
    r"'\*\*'": "while dr.hint(x, **y):\n        x += 1",
    "for 'while' loops": "if dr.hint(x, compress=True):\n        x += 1",
    "list of variables": "if dr.hint(x, include=[x + 1]):\n        x += 1",
    "no variable 'y'": "if dr.hint(x, exclude=[y]):\n        x += 1",
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message: str) -> None:
    with pytest.raises(SyntaxError, match=message) as caught:
        define(f"@dr.syntax\ndef f(x):\n    {REFUSED[message]}\n    return x")
    assert caught.value.filename.startswith("<text")
    assert caught.value.lineno
    assert caught.value.lineno >= 3
    assert caught.value.text


@pytest.mark.parametrize("kind", ["def f(x): yield x", "async def f(x): return x"])
def test_refused_functions(kind: str) -> None:
    with pytest.raises(
        SyntaxError, match=r"'f' is (an 'async' function|a generator), which"
    ):
        define(f"@dr.syntax\n{kind}")


def test_not_a_function() -> None:
    for thing in (3, Base, len, functools.partial(len)):
        with pytest.raises(TypeError, match="expected a function"):
            dr.syntax(thing)  # type: ignore[call-overload]
    with pytest.raises(SyntaxError, match="made by 'def'"):
        dr.syntax(lambda x: x)


def test_print_ast(capsys: pytest.CaptureFixture[str]) -> None:
    define("@dr.syntax(print_ast=True)\ndef f(x):\n    if x: x += 1")
    printed = capsys.readouterr().out
    assert printed.startswith("Input AST\n---------\nFunctionDef(")
    assert "\nOutput AST\n----------\nFunctionDef(" in printed


def test_too_deep_nesting_says_where(tmp_path: Any) -> None:
    lines = ["def f(x):", "    if x < 0: r = x"]
    lines += [f"    elif x == {i}: r = x + {i}" for i in range(1000)]
    path = tmp_path / "deep.py"
    path.write_text("\n".join([*lines, "    else: r = x", "    return r", ""]))
    names: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    with pytest.raises(SyntaxError, match="nested too deeply") as found:
        dr.syntax(names["f"])
    assert found.value.filename == str(path) and found.value.lineno
    assert isinstance(found.value.__cause__, RecursionError)
