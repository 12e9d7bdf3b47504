"""Functions that compute the same with and without ``@dr.syntax``.

With numbers of Python they run without it, too. They take one argument and return one
or several numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import drjit as dr


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
    q = {"k": n * 2, "l": [n + 0, n + 0]}
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


def changing_conditions(n):
    """The condition changes what the state consists of."""
    calls = n * 0

    def count(k):
        nonlocal calls
        calls = calls + 1
        return k

    if count(n) > 3:
        calls += 10
    if (n := n + 2) > 6:
        n -= 1
    if (count(n) > 4) & ((n := n * 3) > 30):
        calls -= n
    return calls, n


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


def breaks(n):
    i = n * 0
    while i < 10:
        if i * i > n:
            break
        i += 1
    return i


def breaks_forever(n):
    i = n * 0
    k = n * 0
    while True:
        if i > n:
            i += 100
            break
        k += 1
        i += k
    return i


def continues(n):
    i = n * 0
    total = n * 0
    while i < n:
        i += 1
        if i % 2 == 0:
            if i % 3 == 0:
                total += 100
                continue
            total += 10
        elif i == 5:
            continue
        else:
            total += 3
        total += 1
    return total


def break_and_else(n):
    i = n * 0
    while i < 5:
        if i == n:
            break
        i += 1
    else:
        i += 1000
    return i


def nested_breaks(n):
    i = n * 0
    total = n * 0
    while i < 6:
        j = n * 0
        i += 1
        while j < i:
            j += 1
            if j > n:
                break
            if (i + j) % 4 == 0:
                continue
            total += j
        if total > 9:
            total += 100
            break
    return total, i


def for_with_jumps(n):
    total = n * 0
    for k in range(6):
        if n == k:
            continue
        total += k
        if total > n:
            total += 50
            break
    else:
        total -= 7
    return total


def for_in_while(n):
    i = n * 0
    while i < 20:
        for k in range(4):
            if i == n * 2:
                break
            i += k
        i += 1
        if i > 15:
            continue
        i += 1
    return i


def returns(n):
    if n < 3:
        return n + 100
    m = n * 2
    if m > 12:
        m += 1
        return m
    else:
        m += 5
    return m


def returns_in_all(n):
    if n < 3:
        if n == 2:
            return n * 0
        else:
            return n * 0 + 1
    elif n > 5:
        return n * 0 + 2
    return n


def jumps_in_with(n):
    i = n * 0
    while i < 10:
        with dr.scoped_set_flag(dr.JitFlag.Debug, False):
            if i > n:
                break
            i += 1
        i += 1
        try:
            if i == 4:
                continue
        finally:
            i += 1
        i += 1
    return i


def finds(n):
    i = n * 0
    while i < 10:
        if i * i > n:
            return i
        i += 1
    return n * 0 - 1


def returns_late(n):
    if n > 3:
        if n > 5:
            return n * 100
        n += 1
    return n


def returns_from_two_loops(n):
    i = n * 0
    while True:
        i += 1
        j = n * 0
        while j < i:
            j += 1
            if i + j > n:
                return i * 100 + j
        if i > 2:
            break
    return i


def returns_from_for(n):
    for k in range(5):
        m = n + k
        if m > 4:
            if m == 6:
                continue
            return m
        while m < 3:
            m += 2
            if m == n:
                return m + 1000
    else:
        return n * 0


def assigned_in_loop(n):
    i = n * 0
    while i < n:
        y = i * 2
        i += 1
    if n > 0:
        n += y
    return n


def returns_from_try(n):
    i = n * 0
    while True:
        try:
            with dr.scoped_set_flag(dr.JitFlag.Debug, False):
                if i > n:
                    return i
                i += 2
        finally:
            i += 1


SAMPLES: list[Callable[..., Any]] = [
    finds,
    returns_late,
    returns_from_two_loops,
    returns_from_for,
    returns_from_try,
    breaks,
    breaks_forever,
    continues,
    break_and_else,
    nested_breaks,
    for_with_jumps,
    for_in_while,
    returns,
    returns_in_all,
    jumps_in_with,
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
    changing_conditions,
    defined_inside,
    keyword_only,
    else_of_while,
    annotated,
    docstring_only,
]

# Those with variables that lanes without an iteration do not have.
UNASSIGNED: list[Callable[..., Any]] = [assigned_in_loop]
