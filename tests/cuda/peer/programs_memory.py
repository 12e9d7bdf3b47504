"""Programs that read and write memory, and control flow."""

from __future__ import annotations

from typing import Any

from programs import (
    FLOATS,
    INTEGERS,
    WIDE,
    N,
    Results,
    bits,
    exact,
    floats,
    integers,
    made,
)

# ---- memory


@exact
def gathers(dr: Any, m: Any, ad: Any) -> Results:
    out: Results = {}
    i = bits(dr, m, 500, 5) % N
    active = (bits(dr, m, 500, 6) & 3) != 0
    for name in INTEGERS + FLOATS:
        source = (floats if name in FLOATS else integers)(dr, m, name)
        t = getattr(m, name)
        out[name] = dr.gather(t, source, i)
        out[name + " masked"] = dr.gather(t, source, i, active)
    mask = made(dr, (bits(dr, m) & 1) == 0)
    return out | {"Bool": dr.gather(m.Bool, mask, i, active)}


@exact
def packets(dr: Any, m: Any, ad: Any) -> Results:
    """Gathers and scatters of rows."""
    out: Results = {}
    i = bits(dr, m, 200, 5) % 64
    for t in ("f", "f16", "f64", "u", "u64"):
        for size in (2, 3, 4):
            array = getattr(m, f"Array{size}{t}")
            scalar = dr.value_t(array)
            source = made(dr, scalar(dr.arange(m.UInt, 64 * size) * 3))
            rows = dr.gather(array, source, i)
            out[f"gather {size}{t}"] = dr.ravel(rows)
            target = dr.zeros(scalar, 200 * size)
            dr.scatter(target, rows, dr.reverse(dr.arange(m.UInt, 200)))
            out[f"scatter {size}{t}"] = target
    return out


@exact
def scatters(dr: Any, m: Any, ad: Any) -> Results:
    out: Results = {}
    order = dr.reverse(dr.arange(m.UInt, N))
    active = (bits(dr, m, N, 6) & 3) != 0
    for name in INTEGERS + FLOATS:
        value = (floats if name in FLOATS else integers)(dr, m, name)
        target = dr.zeros(getattr(m, name), N)
        dr.scatter(target, value, order, active)
        out[name] = target
    target = dr.zeros(m.Bool, N)
    dr.scatter(target, active, order)
    return out | {"Bool": target}


def reduced(dr: Any, m: Any, names: Any, ops: Any, mode: Any) -> Results:
    """Scatter-reductions into few bins, of values whose sums are exact."""
    out: Results = {}
    i = bits(dr, m, N, 9) % 7
    active = (bits(dr, m, N, 6) & 7) != 0
    for name in names:
        t = getattr(m, name)
        value = (floats if name in FLOATS else integers)(dr, m, name)
        if name == "Float16":
            value = dr.round(value * 0.5)
        for op in ops:
            if not hasattr(dr.ReduceOp, op):
                continue
            target = made(dr, t(dr.arange(m.UInt, 9) + 3))
            dr.scatter_reduce(getattr(dr.ReduceOp, op), target, value, i, active, mode)
            out[f"{name} {op}"] = target
    return out


@exact
def scatter_reduce_direct(dr: Any, m: Any, ad: Any) -> Results:
    mode = dr.ReduceMode.Direct
    out = reduced(dr, m, WIDE, ("Add", "Min", "Max", "And", "Or"), mode)
    return out | reduced(dr, m, ("Float32", "Float64"), ("Add",), mode)


@exact
def scatter_reduce_local(dr: Any, m: Any, ad: Any) -> Results:
    mode = dr.ReduceMode.Local
    out = reduced(dr, m, WIDE, ("Add", "Min", "Max", "And", "Or"), mode)
    return out | reduced(dr, m, ("Float32", "Float64"), ("Add",), mode)


@exact
def scatter_reduce_f16(dr: Any, m: Any, ad: Any) -> Results:
    return reduced(dr, m, ("Float16",), ("Add",), dr.ReduceMode.Auto)


@exact
def scatter_reduce_float_order(dr: Any, m: Any, ad: Any) -> Results:
    """Least and greatest floats."""
    return reduced(dr, m, ("Float32", "Float64"), ("Min", "Max"), dr.ReduceMode.Auto)


@exact
def scatter_inc(dr: Any, m: Any, ad: Any) -> Results:
    """Each target hands out 0, 1, ...: as a set."""
    counter = dr.zeros(m.UInt, 3)
    i = bits(dr, m, N, 9) % 3
    ticket = dr.scatter_inc(counter, i)
    seen = dr.zeros(m.UInt, 3 * N)
    dr.scatter_reduce(dr.ReduceOp.Add, seen, m.UInt(1), ticket * 3 + i)
    return {"counter": counter, "seen": seen}


@exact
def scatter_exchange(dr: Any, m: Any, ad: Any) -> Results:
    """Exchanges and comparisons of entries that no two lanes share."""
    i = dr.reverse(dr.arange(m.UInt, 50))
    target = made(dr, dr.arange(m.UInt, 50) * 10)
    old = dr.scatter_exch(target, m.UInt(i + 1000), i)
    dr.eval(old, target)
    compared = made(dr, dr.arange(m.UInt, 50) & 1)
    found, swapped = dr.scatter_cas(compared, m.UInt(1), m.UInt(i + 5), i)
    dr.eval(found, swapped, compared)
    return {"old": old, "target": target, "found": found, "swapped": swapped,
            "compared": compared}  # fmt: skip


@exact
def local_arrays(dr: Any, m: Any, ad: Any) -> Results:
    i = dr.arange(m.UInt, 100)
    local = dr.alloc_local(m.UInt, 10, value=m.UInt(7))

    def body(k: Any, local: Any) -> Any:
        local[(k * 3 + i) % 10] = local[k] + k * i
        return k + 1, local

    k, local = dr.while_loop((m.UInt(0), local), lambda k, local: k < 10, body)
    out = {f"entry {n}": local[m.UInt(n)] for n in range(10)}
    dr.eval(out)
    return out



# ---- control flow


def collatz(dr: Any, m: Any, mode: str) -> Results:
    """Steps to 1, by loops."""
    x = dr.arange(m.UInt, 80) + 1

    def body(x: Any, steps: Any) -> Any:
        return dr.select((x & 1) == 0, x // 2, 3 * x + 1), steps + 1

    _, steps = dr.while_loop(
        (x, dr.zeros(m.UInt, 80)), lambda x, steps: x != 1, body, mode=mode
    )
    return {"steps": steps}


@exact
def loop_symbolic(dr: Any, m: Any, ad: Any) -> Results:
    return collatz(dr, m, "symbolic")


@exact
def loop_evaluated(dr: Any, m: Any, ad: Any) -> Results:
    return collatz(dr, m, "evaluated")


@exact
def loop_nested(dr: Any, m: Any, ad: Any) -> Results:
    n = dr.arange(m.UInt, 40)

    def inner(j: Any, s: Any, i: Any) -> Any:
        return j + 1, s + i * j, i

    def outer(i: Any, s: Any) -> Any:
        _, s, _ = dr.while_loop((m.UInt(0), s, i), lambda j, s, i: j < i, inner)
        return i + 1, s

    _, s = dr.while_loop((m.UInt(0), dr.zeros(m.UInt, 40)), lambda i, s: i < n, outer)
    return {"s": s}


@exact
def loop_effects(dr: Any, m: Any, ad: Any) -> Results:
    """A loop that scatters."""
    target = dr.zeros(m.UInt, 64)
    n = dr.arange(m.UInt, 30)

    def body(i: Any, target: Any) -> Any:
        dr.scatter_add(target, m.UInt(i + 1), (n * 3 + i) % 64)
        return i + 1, target

    _, target = dr.while_loop((dr.zeros(m.UInt, 30), target), lambda i, t: i < n, body)
    return {"target": target}


@exact
def loop_compressed(dr: Any, m: Any, ad: Any) -> Results:
    """An evaluated loop that keeps only the lanes that go on."""
    x = dr.arange(m.UInt, 200)
    _, y = dr.while_loop(
        (x, m.UInt(x)), lambda x, y: x > 3, lambda x, y: (x // 2, y + x),
        mode="evaluated", compress=True,
    )  # fmt: skip
    return {"y": y}


def branches(dr: Any, m: Any, mode: str) -> Results:
    """A conditional with effects in one branch."""
    x = dr.arange(m.Int, 100)
    count = dr.zeros(m.UInt, 1)

    def then(x: Any) -> Any:
        dr.scatter_add(count, m.UInt(1), m.UInt(0))
        return x * 3, m.Float(x) + 0.5

    def other(x: Any) -> Any:
        return -x, m.Float(0)

    a, b = dr.if_stmt((x,), x % 3 == 0, then, other, mode=mode)
    return {"a": a, "b": b, "count": count}


@exact
def conditional_symbolic(dr: Any, m: Any, ad: Any) -> Results:
    return branches(dr, m, "symbolic")


@exact
def conditional_evaluated(dr: Any, m: Any, ad: Any) -> Results:
    return branches(dr, m, "evaluated")


def switched(dr: Any, m: Any, mode: str) -> Results:
    """Calls through a table of functions."""
    x = dr.arange(m.Float, 120)
    i = made(dr, bits(dr, m, 120, 3) % 4)
    active = made(dr, (bits(dr, m, 120, 4) & 7) != 0)
    functions = [
        lambda x, active: (x + 1, m.UInt(x) * 2),
        lambda x, active: (x * 2, m.UInt(7)),
        lambda x, active: (x * x, m.UInt(x) ^ 5),
        lambda x, active: (-x, m.UInt(x) // 3),
    ]
    a, b = dr.switch(i, functions, x, active=active, mode=mode)
    return {"a": a, "b": b}


@exact
def switch_symbolic(dr: Any, m: Any, ad: Any) -> Results:
    return switched(dr, m, "symbolic")


@exact
def switch_evaluated(dr: Any, m: Any, ad: Any) -> Results:
    return switched(dr, m, "evaluated")


@exact
def switch_data(dr: Any, m: Any, ad: Any) -> Results:
    """Functions that read arrays from outside, and scatter."""
    table = made(dr, dr.arange(m.UInt, 16) * 11)
    target = dr.zeros(m.UInt, 16)
    i = made(dr, bits(dr, m, 90, 3) % 2)
    x = made(dr, bits(dr, m, 90, 4) % 16)

    def first(x: Any) -> Any:
        return dr.gather(m.UInt, table, x)

    def second(x: Any) -> Any:
        dr.scatter_add(target, x, x)
        return x + 1

    y = dr.switch(i, [first, second], x)
    dr.eval(y, target)
    return {"y": y, "target": target}


@exact
def switch_instances(dr: Any, m: Any, ad: Any) -> Results:
    """Functions with data of instances."""

    class Base:
        def __init__(self, factor: float) -> None:
            self.factor = m.Float(factor)
            dr.make_opaque(self.factor)

    a, b = Base(3), Base(5)
    index = made(dr, bits(dr, m, 60, 3) & 1)
    x = dr.arange(m.Float, 60)
    y = dr.switch(index, [lambda x: x * a.factor, lambda x: x * b.factor - 1], x)
    return {"y": y}


@exact
def switch_nested(dr: Any, m: Any, ad: Any) -> Results:
    """Calls within a call, and a call within a loop."""
    x = dr.arange(m.UInt, 80)
    i, j = made(dr, bits(dr, m, 80, 3) % 2), made(dr, bits(dr, m, 80, 4) % 3)
    inner = [lambda x: x + 1, lambda x: x * 2, lambda x: x ^ 3]

    def first(x: Any, j: Any) -> Any:
        return dr.switch(j, inner, x) + 10

    def second(x: Any, j: Any) -> Any:
        return dr.switch(j, inner[::-1], x) * 3

    def body(k: Any, x: Any, i: Any, j: Any) -> Any:
        return k + 1, dr.switch(i, [first, second], x, j), i, j

    out = {"once": dr.switch(i, [first, second], x, j)}
    state = (m.UInt(0), x, i, j)
    _, y, _, _ = dr.while_loop(state, lambda k, x, i, j: k < 5, body)
    return out | {"in a loop": y}


@exact
def loop_with_branches(dr: Any, m: Any, ad: Any) -> Results:
    """A loop in which lanes part ways and some leave early."""
    x = made(dr, bits(dr, m, 150, 3))

    def body(k: Any, x: Any, s: Any) -> Any:
        s = dr.if_stmt((x, s), (x & 1) == 1, lambda x, s: s + x, lambda x, s: s ^ k)
        return k + 1, x >> 1, s

    state = (m.UInt(0), x, m.UInt(x * 0))
    _, _, s = dr.while_loop(state, lambda k, x, s: (x != 0) & (s < 1 << 30), body)
    return {"s": s}


@exact
def scatter_add_packets(dr: Any, m: Any, ad: Any) -> Results:
    """Rows that are added: atomics of vectors where the device has them."""
    out: Results = {}
    i = bits(dr, m, 200, 5) % 8
    for t in ("f", "f64", "u", "f16"):
        for size in (2, 4):
            array = getattr(m, f"Array{size}{t}")
            scalar = dr.value_t(array)
            rows = array(*[scalar(bits(dr, m, 200, k) & 3) for k in range(size)])
            target = dr.zeros(scalar, 8 * size)
            dr.scatter_add(target, rows, i)
            out[f"{size}{t}"] = target
    return out


@exact
def searches(dr: Any, m: Any, ad: Any) -> Results:
    table = made(dr, dr.cumsum(bits(dr, m, 100, 3) & 7))
    x = made(dr, bits(dr, m, 200, 4) % 400)
    found = dr.binary_search(0, 100, lambda i: dr.gather(m.UInt, table, i) < x)
    return {"found": found}
