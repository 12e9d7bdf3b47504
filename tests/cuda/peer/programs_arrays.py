"""Programs on whole arrays: reductions, tensors, derivatives, and the rest."""

from __future__ import annotations

from typing import Any

from programs import (
    FLOATS,
    WIDE,
    N,
    Results,
    bits,
    exact,
    floats,
    integers,
    made,
    near,
    positive,
)

# ---- reductions


@exact
def sums_of_integers(dr: Any, m: Any, ad: Any) -> Results:
    out: Results = {}
    for n in (1, 31, 1000, 5000):
        for name in WIDE:
            a = integers(dr, m, name, n)
            out |= {f"{name} {n} sum": dr.sum(a), f"{name} {n} min": dr.min(a)}
            out |= {f"{name} {n} max": dr.max(a), f"{name} {n} prod": dr.prod(a | 1)}
    return out


@exact
def sums_of_floats(dr: Any, m: Any, ad: Any) -> Results:
    """Of multiples of 1/64: any order gives the same sum."""
    out: Results = {}
    for n in (1, 100, 5000):
        for name in ("Float32", "Float64"):
            a = floats(dr, m, name, n)
            out |= {f"{name} {n} sum": dr.sum(a), f"{name} {n} min": dr.min(a)}
            out |= {f"{name} {n} max": dr.max(a)}
        b = floats(dr, m, "Float16", n)
        out |= {f"Float16 {n} min": dr.min(b), f"Float16 {n} max": dr.max(b)}
    return out


@near(1e-6)
def means(dr: Any, m: Any, ad: Any) -> Results:
    a, b = positive(dr, m, "Float32", 3000), floats(dr, m, "Float32", 3000, 2)
    out = {"mean": dr.mean(a), "dot": dr.dot(a, b) * (1 / 3000), "std": dr.std(a)}
    return out | {"norm": dr.norm(m.Array3f(a, b, a))}


@exact
def block_reductions(dr: Any, m: Any, ad: Any) -> Results:
    out: Results = {}
    for block in (2, 3, 32, 100, 1200):
        for name in ("UInt", "Int64", "Float32"):
            a = (floats if name in FLOATS else integers)(dr, m, name, 2400)
            out[f"{name} sum {block}"] = dr.block_sum(a, block)
            op = dr.ReduceOp.Max
            out[f"{name} max {block}"] = dr.block_reduce(op, a, block)
    return out


@exact
def scans(dr: Any, m: Any, ad: Any) -> Results:
    out: Results = {}
    for n in (1, 33, 1000, 5000):
        for name in ("UInt", "UInt64", "Float32"):
            a = (floats if name in FLOATS else integers)(dr, m, name, n)
            out |= {f"{name} {n} exclusive": dr.prefix_reduce(dr.ReduceOp.Add, a)}
            out |= {f"{name} {n} cumsum": dr.cumsum(a)}
    return out


@exact
def scans_of_blocks(dr: Any, m: Any, ad: Any) -> Results:
    out: Results = {}
    a = integers(dr, m, "UInt", 2400)
    for block in (3, 32, 100, 1200):
        out[f"sum {block}"] = dr.block_prefix_sum(a, block)
        for op in (dr.ReduceOp.Min, dr.ReduceOp.Max):
            name = f"{op} {block}"
            out[name] = dr.block_prefix_reduce(op, a, block, exclusive=False)
    return out


@exact
def compress(dr: Any, m: Any, ad: Any) -> Results:
    out: Results = {}
    for n in (1, 100, 3000, 9000):
        mask = made(dr, (bits(dr, m, n, 8) & 3) == 0)
        out[f"{n}"] = dr.compress(mask)
    return out


@exact
def sorting(dr: Any, m: Any, ad: Any) -> Results:
    out: Results = {}
    for name in ("UInt", "Int", "Float32"):
        a = (floats if name in FLOATS else integers)(dr, m, name, 200)
        out |= {f"{name} sort": dr.sort(a), f"{name} argsort": dr.argsort(a)}
    return out



# ---- tensors, matrices, random numbers


@exact
def pcg32(dr: Any, m: Any, ad: Any) -> Results:
    rng = m.PCG32(100)
    a, b = rng.next_uint32(), rng.next_float32()
    c, d = rng.next_uint64(), rng.next_float64()
    rng += 5
    return {"u32": a, "f32": b, "u64": c, "f64": d, "later": rng.next_uint32()}


@exact
def philox(dr: Any, m: Any, ad: Any) -> Results:
    rng = dr.rng(seed=3)
    return {"f32": rng.random(m.Float32, 100), "f64": rng.random(m.Float64, 100)}


@exact
def tensors(dr: Any, m: Any, ad: Any) -> Results:
    x = m.TensorXu(dr.arange(m.UInt, 60), (3, 4, 5))
    y = m.TensorXu(dr.arange(m.UInt, 5))
    return {
        "broadcast": x * y,
        "slice": x[1:, ::2, -1],
        "sum 0": dr.sum(x, axis=0),
        "sum 1": dr.sum(x, axis=1),
        "sum 2": dr.sum(x, axis=2),
        "max": dr.max(x, axis=(0, 2)),
        "moved": dr.moveaxis(x, 0, 2) + 1,
        "cumsum": dr.cumsum(x, axis=1),
    }


@near(1e-5)
def matrices(dr: Any, m: Any, ad: Any) -> Results:
    """Small matrices, unrolled."""
    rows = [floats(dr, m, "Float32", 40, k) for k in range(9)]
    a = m.Matrix3f(*rows)
    b = m.Matrix3f(*reversed(rows))
    v = m.Array3f(*rows[:3])
    out = {"@": a @ b, "@ v": a @ v, "det": dr.det(a * 0.125), "T": a.T}
    return {k: dr.ravel(x) for k, x in out.items()}


@exact
def matrix_products(dr: Any, m: Any, ad: Any) -> Results:
    """Tensors of small integers: every order of the sums is exact."""
    out: Results = {}
    for n, k, p in ((1, 1, 1), (5, 7, 3), (33, 17, 40)):
        for name in ("Float32", "Float64"):
            t = getattr(m, "TensorX" + ("f" if name == "Float32" else "f64"))
            a = t(dr.round(floats(dr, m, name, n * k)), (n, k))
            b = t(dr.round(floats(dr, m, name, k * p, 2)), (k, p))
            out[f"{name} {n} {k} {p}"] = a @ b
    return out


@near(1e-5)
def quaternions(dr: Any, m: Any, ad: Any) -> Results:
    z = m.Complex2f(floats(dr, m, "Float32"), positive(dr, m, "Float32"))
    q = m.Quaternion4f(*[floats(dr, m, "Float32", 50, k) for k in range(4)])
    out = {"z * z": z * z * 0.01, "1 / z": 1 / z, "q * q": q * q * 0.01}
    return {k: dr.ravel(x) for k, x in out.items()}



# ---- derivatives


@exact
def backward_exact(dr: Any, m: Any, ad: Any) -> Results:
    """Gradients that are sums and products of small numbers."""
    x = ad.Float32(floats(dr, m, "Float32"))
    y = ad.Float32(floats(dr, m, "Float32", salt=2))
    dr.enable_grad(x, y)
    z = x * y + x * x - 3 * y
    dr.backward(z)
    return {"x": dr.grad(x), "y": dr.grad(y), "z": dr.detach(z)}


@near(1e-5)
def backward_functions(dr: Any, m: Any, ad: Any) -> Results:
    x = ad.Float32(positive(dr, m, "Float32"))
    dr.enable_grad(x)
    y = dr.sin(x) * dr.exp(-x * 0.25) + dr.sqrt(x) / (1 + x) + dr.log(x) * dr.tanh(x)
    dr.backward(y)
    return {"y": dr.detach(y), "x": dr.grad(x)}


@near(1e-5)
def forward_functions(dr: Any, m: Any, ad: Any) -> Results:
    x = ad.Float32(positive(dr, m, "Float32"))
    dr.enable_grad(x)
    y = dr.atan2(x, x + 1) + dr.erf(x * 0.1) + dr.cbrt(x)
    y += dr.rsqrt(x) * dr.asin(x / 17)
    dr.forward(x)
    return {"y": dr.detach(y), "dy": dr.grad(y)}


@exact
def backward_gather(dr: Any, m: Any, ad: Any) -> Results:
    """The adjoint of a gather adds into memory."""
    x = ad.Float32(floats(dr, m, "Float32", 20))
    dr.enable_grad(x)
    i = ad.UInt(bits(dr, m, N, 5) % 20)
    w = ad.Float32(floats(dr, m, "Float32", N, 2))
    dr.backward(dr.gather(ad.Float32, x, i) * w)
    return {"x": dr.grad(x)}


@exact
def backward_scatter(dr: Any, m: Any, ad: Any) -> Results:
    x = ad.Float32(floats(dr, m, "Float32", 50))
    dr.enable_grad(x)
    target = dr.zeros(ad.Float32, 20)
    dr.scatter_add(target, x * x, ad.UInt(bits(dr, m, 50, 5) % 20))
    dr.backward(target * ad.Float32(dr.arange(ad.UInt, 20)))
    return {"x": dr.grad(x)}


@exact
def backward_loop(dr: Any, m: Any, ad: Any) -> Results:
    """A sum in a loop, whose derivative is one, too."""
    x = ad.Float32(floats(dr, m, "Float32", 30))
    dr.enable_grad(x)

    def body(i: Any, s: Any, x: Any) -> Any:
        return i + 1, s + x * ad.Float32(i), x

    _, s, _ = dr.while_loop(
        (ad.UInt(0), dr.zeros(ad.Float32, 30), x), lambda i, s, x: i < 5, body,
        max_iterations=-1,
    )  # fmt: skip
    dr.backward(s)
    return {"x": dr.grad(x), "s": dr.detach(s)}


@near(1e-5)
def forward_loop(dr: Any, m: Any, ad: Any) -> Results:
    x = ad.Float32(dr.linspace(m.Float32, 0.5, 1, 30))
    dr.enable_grad(x)
    _, y = dr.while_loop(
        (ad.UInt(0), ad.Float32(x)),
        lambda i, y: i < 4,
        lambda i, y: (i + 1, y * y + 0.1),
    )
    dr.forward(x)
    return {"y": dr.detach(y), "dy": dr.grad(y)}


@exact
def backward_switch(dr: Any, m: Any, ad: Any) -> Results:
    x = ad.Float32(floats(dr, m, "Float32", 60))
    dr.enable_grad(x)
    i = ad.UInt(bits(dr, m, 60, 3) % 2)
    y = dr.switch(i, [lambda x: x * x, lambda x: 3 * x], x)
    dr.backward(y)
    return {"x": dr.grad(x), "y": dr.detach(y)}


@exact
def backward_sum(dr: Any, m: Any, ad: Any) -> Results:
    x = ad.Float32(floats(dr, m, "Float32", 200))
    dr.enable_grad(x)
    y = dr.sum(x * x)
    dr.backward(y)
    return {"x": dr.grad(x), "y": dr.detach(y)}


@near(1e-4)
def optimisation(dr: Any, m: Any, ad: Any) -> Results:
    """Ten steps downhill."""
    target = floats(dr, m, "Float32", 50)
    x = dr.zeros(ad.Float32, 50)
    for _ in range(10):
        dr.enable_grad(x)
        dr.backward(dr.mean(dr.square(x - target)))
        x = ad.Float32(dr.detach(x) - 5 * dr.grad(x))
        dr.eval(x)
    return {"x": dr.detach(x)}



# ---- the rest


@exact
def frozen(dr: Any, m: Any, ad: Any) -> Results:
    """A frozen function, recorded once and replayed with other sizes and values."""

    @dr.freeze  # type: ignore[untyped-decorator]
    def step(x: Any, y: Any) -> Any:
        return x * 2 + y, dr.sum(y)

    out: Results = {}
    for turn, n in enumerate((10, 10, 17)):
        x = made(dr, dr.arange(m.Float, n) + turn)
        y = made(dr, dr.arange(m.Float, n) * (turn + 1))
        a, b = step(x, y)
        out |= {f"a {turn}": a, f"b {turn}": b}
    return out


@exact
def printing(dr: Any, m: Any, ad: Any) -> Results:
    """Text of arrays, and printing from within a kernel."""
    import io

    x = dr.arange(m.UInt, 6)
    stream = io.StringIO()
    with dr.scoped_set_flag(dr.JitFlag.SymbolicConditionals, True):

        def then(x: Any) -> Any:
            dr.print("x={x}", x=x, file=stream)
            return x + 1

        y = dr.if_stmt((x,), x > 3, then, lambda x: x)
        dr.eval(y)
        dr.sync_thread()
    text = stream.getvalue()
    words = sorted(text.replace("[", " ").replace("]", " ").replace(",", " ").split())
    return {"str": str(dr.arange(m.Float, 5)), "y": y, "words": " ".join(words)}


@exact
def many_kernels(dr: Any, m: Any, ad: Any) -> Results:
    """One kernel launched often with other literals."""
    x = made(dr, dr.arange(m.UInt, 64))
    for i in range(20):
        x = x * 3 + i
        dr.eval(x)
    return {"x": x}


@exact
def large_expression(dr: Any, m: Any, ad: Any) -> Results:
    """Two thousand operations in a kernel."""
    x, y = dr.arange(m.UInt, 64), bits(dr, m, 64, 2)
    for i in range(500):
        x = (x ^ y) * 3 + i
        y = (y >> 1) | (x << 31)
    return {"x": x, "y": y}


@exact
def empty_and_single(dr: Any, m: Any, ad: Any) -> Results:
    out = {"empty": m.Float(), "one": made(dr, m.Float(2)) * 3}
    return out | {"zeros": dr.zeros(m.Float, 0), "sum": dr.sum(m.UInt([5]))}


@exact
def copies(dr: Any, m: Any, ad: Any) -> Results:
    """Entries written one by one, slices, reversal, repetition."""
    x = dr.arange(m.UInt, 20)
    x[3] = 100
    x[7] = 200
    out = {"x": m.UInt(x), "reverse": dr.reverse(x), "tile": dr.tile(x, 2)}
    out |= {"repeat": dr.repeat(x, 3), "concat": dr.concat([x, x + 1])}
    return out | {"x[3]": x[3] + 0}


@near(1e-5)
def texture(dr: Any, m: Any, ad: Any) -> Results:
    """Linear interpolation by arithmetic, not by textures of the device."""
    data = m.TensorXf(dr.arange(m.Float, 16), (4, 4, 1))
    tex = m.Texture2f(data, use_accel=False)
    points = m.Array2f(dr.linspace(m.Float, 0, 1, 20), 0.4)
    return {"eval": tex.eval(points)[0]}


@near(1e-6)
def texture_hardware(dr: Any, m: Any, ad: Any) -> Results:
    """The same by textures of the device."""
    data = m.TensorXf(dr.arange(m.Float, 16), (4, 4, 1))
    tex = m.Texture2f(data, use_accel=True)
    return {"eval": tex.eval(m.Array2f(0.125, 0.375))[0]}


@exact
def frozen_loop(dr: Any, m: Any, ad: Any) -> Results:
    """A frozen function with a loop, a scatter and a reduction."""

    @dr.freeze  # type: ignore[untyped-decorator]
    def work(x: Any, target: Any) -> Any:
        _, y = dr.while_loop((m.UInt(0), m.UInt(x)), lambda i, y: i < 4,
                             lambda i, y: (i + 1, y * 3 + i))  # fmt: skip
        dr.scatter_add(target, y, x % 8)
        return y, dr.max(y)

    out: Results = {}
    for turn in range(3):
        target = dr.zeros(m.UInt, 8)
        y, most = work(made(dr, dr.arange(m.UInt, 20) + turn), target)
        out |= {f"y {turn}": y, f"max {turn}": most, f"target {turn}": target}
    return out


@exact
def products_and_least(dr: Any, m: Any, ad: Any) -> Results:
    """Block reductions and scans by other operations."""
    out: Results = {}
    ops = [getattr(dr.ReduceOp, name) for name in ("Mul", "Min", "Max", "And", "Or")]
    for name in ("UInt", "Int", "UInt64"):
        a = integers(dr, m, name, 960)
        for op in ops:
            out[f"{name} {op} blocks"] = dr.block_reduce(op, a, 96)
            scan = dr.block_prefix_reduce(op, a, 96, exclusive=False)
            out[f"{name} {op} scan"] = scan
            out[f"{name} {op} all"] = dr.prefix_reduce(op, a, exclusive=False)
    return out


@exact
def sums_of_halves(dr: Any, m: Any, ad: Any) -> Results:
    """Of integers below 2,048."""
    a = dr.round(floats(dr, m, "Float16", 600))
    return {
        "sum": dr.sum(a),
        "blocks": dr.block_sum(a, 30),
        "scan": dr.cumsum(a),
        "max": dr.max(a),
    }


@exact
def derivative_of_calls(dr: Any, m: Any, ad: Any) -> Results:
    """Functions that read a parameter with a derivative, forward and backward."""
    table = ad.Float32(floats(dr, m, "Float32", 8))
    x = ad.Float32(floats(dr, m, "Float32", 60))
    dr.enable_grad(table, x)
    i = ad.UInt(bits(dr, m, 60, 3) % 2)

    def first(x: Any) -> Any:
        return x * dr.gather(ad.Float32, table, ad.UInt(3))

    y = dr.switch(i, [first, lambda x: x * x], x)
    dr.backward(y)
    return {"x": dr.grad(x), "table": dr.grad(table), "y": dr.detach(y)}


@near(1e-5)
def harmonics(dr: Any, m: Any, ad: Any) -> Results:
    """Polynomials in three variables."""
    parts = [floats(dr, m, "Float32", 40, k) for k in range(3)]
    d = dr.normalize(m.Array3f(*parts) + 0.01)
    return {f"{k}": y for k, y in enumerate(dr.sh_eval(d, 3))}


@exact
def bitwise_reductions(dr: Any, m: Any, ad: Any) -> Results:
    """The last one: after it, `dr.cumsum()` of a tensor ends the published package's
    process with a segmentation fault.
    """
    a = integers(dr, m, "UInt", 3000)
    return {
        "and": dr.reduce(dr.ReduceOp.And, a | 0x10101),
        "or": dr.reduce(dr.ReduceOp.Or, a & 0x10101),
    }
