"""``@dr.syntax``: texts before and after, and samples against plain Python."""

from __future__ import annotations

import ast
import linecache
import textwrap
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import drjit as dr
import pytest
from drjit.llvm import Bool, Float, Int

_count = 0


def define(text: str, name: str = "f", **names: Any) -> Any:
    """What 'name' is after running a text that Python can find again."""
    global _count
    _count += 1
    file = f"<text {_count}>"
    text = textwrap.dedent(text)
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {"dr": dr, "Float": Float, "Int": Int, "Bool": Bool, **names}
    exec(compile(text, file, "exec"), space)
    return space[name]


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
    i, x = _drjit_while_loop(state=(i, x), cond=_loop_cond, body=_loop_body,
                             labels=('i', 'x'))
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
        x, y = _drjit_if_stmt(cond=x < 0, args=(x,), true_fn=_if_stmt_true,
                              false_fn=_if_stmt_false, arg_labels=('x',),
                              rv_labels=('x', 'y'))
        return (x, y)
    x, y = _drjit_if_stmt(cond=x > 0, args=(x,), true_fn=_if_stmt_true,
                          false_fn=_if_stmt_false, arg_labels=('x',),
                          rv_labels=('x', 'y'))
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
    x, y = _drjit_if_stmt(cond=x > 0, args=(x,), true_fn=_if_stmt_true,
                          false_fn=_if_stmt_false, arg_labels=('x',),
                          rv_labels=('x', 'y'))
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
    x, = _drjit_while_loop(state=(x,), cond=_loop_cond, body=_loop_body,
                           labels=('x',))
    return x
"""

HINT = """
def f(i, a, b):
    while dr.hint(i < 3, label='up', mode='symbolic', include=[b], exclude=[a]):
        i += a
    if dr.hint(i < 3, strict=False):
        a = 2
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
    b, i = _drjit_while_loop(state=(b, i), cond=_loop_cond, body=_loop_body,
                             labels=('b', 'i'), label='up', mode='symbolic')
    def _if_stmt_true(a, i):
        a = 2
        return (a, i)
    def _if_stmt_false(a, i):
        return (a, i)
    a, i = _drjit_if_stmt(cond=i < 3, args=(a, i), true_fn=_if_stmt_true,
                          false_fn=_if_stmt_false, arg_labels=('a', 'i'),
                          rv_labels=('a', 'i'), strict=False)
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
        state=(_condition_1, x, y), cond=_loop_cond, body=_loop_body,
        labels=('_condition_1', 'x', 'y'))
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
    x, = _drjit_while_loop(state=(x,), cond=_loop_cond, body=_loop_body,
                           labels=('x',))
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

TABLE = {
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


def collatz(n):
    steps = n * 0
    while n > 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def elif_chain(n):
    r = n * 0
    if n < 2:
        r += 1
    elif n < 4:
        r += 10
    elif n < 6:
        r += 100
    else:
        r -= 5
    return r, n


def nested_loops(n):
    i = n * 0
    total = n * 0
    while i < n:
        j = n * 0
        while j < i:
            if (i + j) % 3 == 0:
                total += j
            j += 1
        i += 1
    return total


def for_inside(n):
    total = n * 0
    while total < n:
        for k in range(1, 3):
            if n > k:
                total += k
        total += 1
    return total


def for_around(n):
    total = n * 0
    for k in range(5):
        if k == 3:
            step = n
        elif k == 4:
            continue_ = n
            step = continue_ + 1
        else:
            step = n * k
        if n > k:
            total += step
        while total % 7 != 0:
            total += 1
    return total


def targets(n):
    a, (b, *c) = n, (n + 1, n + 2, n + 3)
    while a < 12:
        a, (b, *c) = b + 1, (a, *c)
        [a, b] = a + 1, b + c[0] * 0
    if b > 5:
        c[0] += 100
        c[1], first = b, c[1]
    else:
        first = a
    return a, b, c[0], c[1], first


def attributes(n):
    p = SimpleNamespace(x=n)
    q = {"k": n * 2, "l": [n, n]}
    if n > 2:
        q["k"] += 1
        q["l"][0] = q["k"] + 3
    i = n * 0
    while i < n:
        q["l"][1] += i
        i += 1
    return q["k"], q["l"][0], q["l"][1], p.x


def walrus(n):
    total = n * 0
    while (twice := n * 2) < 20:
        n += 3
        total += twice
    if (m := n - 5) > 4:
        total += m
    return total, twice, m


def comprehension(n):
    i = n * 0
    while i < n:
        parts = [i * k for k in range(3) if k]
        i += sum(p * 0 for p in parts) + 1 + sum(q - q for q in [parts[0]])
    if n > 3:
        n = sum([n + k for k in (1, 2)])
    return n, i


def deleted(n):
    x = n
    while n < 10:
        t = n + 1
        n = t
        del t
    if n > 3:
        y = n
        del x
        x = y
    return n, x


def reused(n):
    """A name that means something else in each part."""
    if n > 2:
        t = n + 1
        n = t
    while n < 5:
        t = [n, n]
        n = t[0] + 1
    if n > 4:
        t = {"a": n}
        n += t["a"]
    else:
        t = (n,)
    return n


def assert_inside(n):
    i = n * 0
    while i < n:
        with dr.scoped_set_flag(dr.JitFlag.Debug, False):
            i += 1
            j = i * 2
            i = j - i
        try:
            i += 0
            k = i
        finally:
            i += 0
        i = k
    return i


def try_around(n):
    try:
        if n > 2:
            n += 1
        a = n + 0
    except ValueError:
        a = None
    with dr.scoped_set_flag(dr.JitFlag.Debug, False):
        while a < 9:
            a += 2
    return a, n


def match_around(n):
    r = n
    for command in ("go", ("add", 3), "no"):
        match command:
            case "go":
                if n > 3:
                    r = r + n
            case ("add", k):
                while r < 10:
                    r += k
            case _:
                r = r - 1
    return r


def captured(n):
    total = n * 0

    def add(k):
        nonlocal total
        total += k

    i = n * 0
    while i < n:
        add(i)
        i += 1
    if n > 3:
        add(n)
    late = lambda: total + i  # noqa: E731
    if n > 2:
        i += 5
    return late()


def defined_inside(n):
    if n > 3:

        def g(x):
            return x + n

        n = g(n)
    while n < 20:
        double = lambda x: x * 2 + 1  # noqa: E731
        n = double(n)
    return n


def keyword_only(n, /, a=3, *rest, b=4, **more):
    if n > 3:
        n += a + b
        for r in rest:
            n += r
    while n < 50:
        n += more.get("c", 7)
    return n


def else_of_while(n):
    while n < 10:
        n += 3
    else:
        n += 100
    return n


def annotated(n: Any) -> Any:
    y: Any
    z: Any = n
    if n > 2:
        y = n + 1
    else:
        y = z
    return y


def docstring_only(n):
    """Nothing to do."""
    pass
    return n


SAMPLES: list[Callable[..., Any]] = [
    collatz,
    elif_chain,
    nested_loops,
    for_inside,
    for_around,
    targets,
    attributes,
    walrus,
    comprehension,
    deleted,
    reused,
    assert_inside,
    try_around,
    match_around,
    captured,
    defined_inside,
    keyword_only,
    else_of_while,
    annotated,
    docstring_only,
]
each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=lambda f: f.__name__)
LANES = [0, 1, 2, 3, 4, 5, 6, 7, 9]


@each_sample
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
