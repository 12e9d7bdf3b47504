"""Small programs, one or two for each area of the package, that disturb.py disturbs.

Each returns plain Python data; what is right stands in PROGRAMS beside the function.
They are short, as every allocation that they make is one run of each.
"""

import copy
import operator
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import drjit as dr
import numpy as np
from drjit import llvm, scalar
from drjit._flow import regions
from drjit._flow.unbound import Unbound


@dataclass
class Program:
    run: Callable[[], Any]
    expected: Any
    # It calls functions that are written in Python. CPython itself loses a few blocks,
    # or says SystemError, where it has no memory for such a call.
    interpreted: bool


PROGRAMS: dict[str, Program] = {}


def gives(
    expected: Any, interpreted: bool = False
) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Enter a program and its right result in the table."""

    def enter(function: Callable[[], Any]) -> Callable[[], Any]:
        PROGRAMS[function.__name__] = Program(function, expected, interpreted)
        return function

    return enter


@gives([[1, 2, 3], [4, 5, 6], [0, 1, 2], [7, 7], 4, [1.5, 2], [[1, 2], [3, 4]]])
def construction() -> Any:
    return [
        list(llvm.Float([1, 2, 3])),
        [x[0] for x in llvm.Array3f(4, 5, 6)],
        list(dr.arange(llvm.UInt, 3)),
        list(dr.full(scalar.ArrayXi, 7, 2)),
        scalar.Array2i((3, 4)).y,
        list(scalar.ArrayXf64([1.5, 2])),
        [list(row) for row in scalar.Matrix2f([[1, 2], [3, 4]])],
    ]


@gives([[1, 2], [1, 0], [2.5, 3], [True, False], [3, 3]])
def conversion() -> Any:
    return [
        list(llvm.Int(llvm.Float(1.5, 2.5))),
        list(llvm.Float64(llvm.Bool(True, False))),
        [x[0] for x in llvm.Array2f(scalar.Array2f64(2.5, 3))],
        list(scalar.ArrayXb(scalar.ArrayXi([3, 0]))),
        list(dr.reinterpret_array(llvm.UInt, llvm.Int(3, 3))),
    ]


@gives([[9, 16], [-3, -4], [True, False], [6, 7], [3, 2], [11, 13], [4, 6], 25])
def operators() -> Any:
    x, v = llvm.Float(3, 4), scalar.Array2f(3, 4)
    y = llvm.Float(x)
    y += 3
    w = scalar.Array2f(v)
    w *= 2
    return [
        list(x * x),
        list(-x),
        list(x < 4),
        list(y),
        list(scalar.Array2i(7, 5) // 2),
        list(dr.fma(x, 2, 5)),
        [w.x - 2, w.y - 2],
        v @ v,
    ]


@gives([[0, 3], 2, [4, 4], [1, 1], [2, 8]])
def functions() -> Any:
    s, c = dr.sincos(llvm.Float(0, 0))
    return [
        list(dr.select(llvm.Bool(True, False), llvm.Int(0), 3)),
        dr.sqrt(scalar.Array1f(4))[0],
        [x[0] for x in dr.maximum(llvm.Array2f(1, 4), 4)],
        list(c + s),
        list(dr.power(llvm.Float64(1, 2), 3) + llvm.Float64(1, 0)),
    ]


@gives([3, [5, 3], 9, [3, 2], [1, 8], "no such member"])
def indexing() -> Any:
    x, v = llvm.Float(1, 2, 3), llvm.Array3f(1, 2, 3)
    third = x[2]
    x[0] = 5
    v[1] = 8
    v.xz = v.zx
    w = scalar.Array3f(9, 2, 3)
    try:
        text = repr(v.nothing)
    except AttributeError:
        text = "no such member"
    return [
        third,
        [x[0], x[-1]],
        w[0],
        [w.zy.x, w.zy.y],
        [v.z[0], v.y[0]],
        text,
    ]


@gives([[4, 5], [1, 4], [[0, 7], [3, 7]], [[0, 1, 2], [9, 9, 9]], 9, (2, 1, 3)])
def tensor_indexing() -> Any:
    t = llvm.TensorXi([[0, 1, 2], [3, 4, 5]])
    s = scalar.TensorXf([[1, 2], [3, 4]])
    s[0] = 9
    u = llvm.TensorXi(t)
    u[:, 1] = 7
    masked = llvm.TensorXi(t)
    masked[masked > 2] = 9
    return [
        t[1, 1:].numpy().tolist(),
        t[:, 1].numpy().tolist(),
        u[:, :2].numpy().tolist(),
        masked.numpy().tolist(),
        s[0, 1].array[0],
        t[:, None].shape,
    ]


@gives([15, [4, 6], 5, True, [0, 0, 1], [6, 4], 14, [1, 2], 4])
def reductions() -> Any:
    x = dr.arange(llvm.Float, 6)
    v = llvm.Array2f(llvm.Float(1, 2), llvm.Float(3, 4))
    return [
        dr.sum(x)[0],
        list(dr.sum(v)),
        dr.max(x)[0],
        dr.all(x >= 0)[0],
        list(dr.prefix_sum(llvm.Int(0, 1, 2))),
        list(dr.block_sum(llvm.Int(1, 5, 2, 2), 2)),
        dr.dot(llvm.Float(1, 2, 3), llvm.Float(1, 2, 3))[0],
        list(dr.compress(llvm.Bool(False, True, True))),
        dr.min(scalar.TensorXi([5, 4])).array[0],
    ]


@gives([[3, 12], (2, 1), 10, 4])
def tensors() -> Any:
    t = llvm.TensorXf([[0, 1, 2], [3, 4, 5]])
    s = scalar.TensorXf([[1, 2], [3, 4]])
    return [
        dr.sum(t, axis=1).numpy().tolist(),
        dr.max(t, axis=1, keepdims=True).shape,
        dr.sum(s, axis=None).array[0],
        (s @ s)[0, 1].array[0] - 6,
    ]


@gives([[4, 5], [-5, 10], [[1, 0], [0, 0.5]]])
def matrices() -> Any:
    a = llvm.Matrix2f(1, 2, 3, llvm.Float(4, 5))
    product = scalar.Complex2f(1, 2) * scalar.Complex2f(3, 4)
    return [
        list((a @ llvm.Array2f(0, 1))[1]),
        list(product),
        [list(row) for row in dr.rcp(scalar.Matrix2f([[1, 0], [0, 2]]))],
    ]


@gives(
    [2, 2, [[1, 3], [2, 4]], [3, 2, 1], 29, [1, 2, 3], 1, [1, 2, 3, 4]],
    interpreted=True,
)
def written_in_python() -> Any:
    s, x = scalar.TensorXf([[1, 2], [3, 4]]), llvm.Float(1, 2, 5)
    turned = dr.quat_apply(scalar.Quaternion4f(0, 0, 0, 1), scalar.Array3f(1, 2, 3))
    return [
        dr.argmax(x)[0],
        dr.count(x < 3)[0],
        dr.moveaxis(s, 0, 1).numpy().tolist(),
        list(dr.reverse(llvm.Int(1, 2, 3))),
        dr.trace(llvm.Matrix2f(7, 10, 15, 22))[0],
        list(turned),
        round(dr.norm(scalar.Array3f(0, 0.6, 0.8)), 5),
        dr.reshape(s, (4,)).numpy().tolist(),
    ]


class Pair(NamedTuple):
    a: Any
    b: Any


class Struct:
    DRJIT_STRUCT = {"a": llvm.Float, "b": scalar.Array2f}

    def __init__(self) -> None:
        self.a = llvm.Float(1, 2)
        self.b = scalar.Array2f(3)


@dataclass
class Data:
    x: llvm.Float
    y: llvm.Array2f


@gives([[2, 2], [1, 2, 3.0], 3, [0, 0], [5, 6], [7, 7], 2], interpreted=True)
def trees() -> Any:
    tree: dict[str, Any] = {"p": Pair(llvm.Float(1, 2), [llvm.Int(3)]), "s": Struct()}
    copied = dr.copy(tree)
    copied["p"].a[0] = 2
    dr.eval(copied, tree)
    data = Data(llvm.Float(5, 6), llvm.Array2f(0))
    chosen = dr.select(llvm.Bool(True, False), data, dr.zeros(Data))
    return [
        list(copied["p"].a),
        [*tree["p"].a, copied["s"].b.x],
        len(dr.zeros(Struct, 3).a),
        list(dr.zeros_like(data).x),
        list(data.x),
        [chosen.x[0] + 2, chosen.x[1] + 7],
        dr.width(tree),
    ]


@gives([[3, 1], [0, 5, 0, 6], [0, 2, 1], [1, 2, 3, 4], [[1, 3], [2, 4]], [9, 8]])
def memory() -> Any:
    target, sums = dr.zeros(llvm.Float, 4), dr.zeros(llvm.UInt, 3)
    dr.scatter(target, llvm.Float(5, 6), llvm.UInt(1, 3))
    dr.scatter_add(sums, llvm.UInt(1), llvm.UInt(1, 1, 2))
    flat = dr.ravel(llvm.Array2f(llvm.Float(1, 3), llvm.Float(2, 4)))
    return [
        list(dr.gather(llvm.Float, llvm.Float(1, 2, 3), llvm.UInt(2, 0))),
        list(target),
        list(sums),
        list(flat),
        [list(x) for x in dr.unravel(llvm.Array2f, flat)],
        list(dr.gather(scalar.ArrayXf, scalar.ArrayXf([8, 9]), scalar.ArrayXu([1, 0]))),
    ]


@gives(
    ["[1, 2]", "[[1, 2, 3]]", "[[1, 2],\n [3, 4]]", "2 of 3", "x=[0.5]"],
    interpreted=True,
)
def printing() -> Any:
    return [
        repr(llvm.Float(1, 2)),
        str(llvm.Array3f(1, 2, 3)),
        str(scalar.TensorXf([[1, 2], [3, 4]])),
        dr.format("{} of {}", scalar.Array1i(2)[0], 3),
        dr.format("{x=}", x=llvm.Float(0.5)).strip(),
    ]


@gives([[1, 2], [3, 4], [1, 5], [[0, 1], [2, 3]], [1, 2], [[1], [2]]])
def exchange() -> Any:
    x = llvm.Float(1, 2)
    changed = scalar.ArrayXf([1, 2])
    changed.numpy()[1] = 5
    array = np.arange(4, dtype=np.float32).reshape(2, 2)
    return [
        x.numpy().tolist(),
        list(llvm.Int(np.array([3, 4]))),
        list(changed),
        llvm.TensorXf(array).numpy().tolist(),
        np.from_dlpack(x).tolist(),
        memoryview(llvm.TensorXi([[1], [2]])).tolist(),
    ]


@gives([[1, 2], [[1, 2, 3]], [4, 5]], interpreted=True)
def copies() -> Any:
    try:
        pickled = pickle.dumps(llvm.Float(1, 2))
    except pickle.PicklingError as error:  # what it makes of any error on the way
        raise MemoryError from error
    v = copy.deepcopy(llvm.Array3f(1, 2, 3))
    return [
        list(pickle.loads(pickled)),
        [[x[0] for x in v]],
        list(copy.copy(scalar.ArrayXf([4, 5]))),
    ]


@gives([True, 3, [7]], interpreted=True)
def random_numbers() -> Any:
    rng = dr.rng(seed=1)
    x = rng.random(llvm.Float, 3)
    return [
        dr.all((x >= 0) & (x < 1))[0],
        len(x),
        list(rng.integers(llvm.UInt, 1, 7, 8)),
    ]


@gives([[45, 45], [0, 16]], interpreted=True)
def loops() -> Any:
    i, total = dr.while_loop(
        (llvm.UInt(0, 0), llvm.UInt(0)),
        lambda i, total: i < 10,
        lambda i, total: (i + 1, total + i),
    )
    chosen = dr.if_stmt(
        (llvm.Float(4),),
        llvm.Bool(False, True),
        lambda x: x * x,
        lambda x: x - 4,
    )
    return [list(total), list(chosen)]


class Plain:
    def __init__(self) -> None:
        self.one = llvm.UInt(1)
        self.memory = llvm.UInt(0, 0, 0)


@gives([[2, 3, 4], [3, 3, 4], [0, 1, 1]], interpreted=True)
def conditionals() -> Any:
    """Objects, arrays that both sides write to, a container that one side makes."""
    unbound, i = Unbound("x"), llvm.UInt(0, 1, 2)

    def yes(o: Any, a: Any) -> Any:
        dr.scatter_add(a, i, i)
        dr.scatter_add(o.memory, o.one, i)
        return a, [i, {"i": i}], i + 2

    def no(o: Any, a: Any) -> Any:
        dr.scatter_add(a, 1, i)
        return a, unbound, i + 2

    o = Plain()
    a, left, x = dr.if_stmt((o, llvm.UInt(2, 2, 2)), i > 0, yes, no)
    if left is not unbound:
        raise AssertionError("there is a value")
    return [list(x), list(a), list(o.memory)]


@gives([[2, 4, 0], [6, 6], [[(0, 1), (1, 2)], 0]], interpreted=True)
def calls() -> Any:
    called = dr.switch(
        llvm.UInt(0, 1, 7), [lambda x: x + 1, lambda x: x * 2], llvm.Float(1, 2, 3)
    )
    local = dr.alloc_local(llvm.UInt, 4)
    local.write(llvm.UInt(6, 6), llvm.UInt(1))
    seen: list[Any] = []
    regions.report(lambda *records: seen.append(records), llvm.UInt(1, 2))
    read = list(local.read(llvm.UInt(1)))
    dr.eval()
    dr.sync_thread()
    return [list(called), read, list(seen.pop()) if seen else [[(0, 1), (1, 2)], 0]]


class Shape(dr.Instance):
    def __init__(self, size: int) -> None:
        self.size = size
        self.tone = llvm.UInt(size)

    def area(self, x: Any) -> Any:
        return x * self.tone


@gives(
    [[2, 6, 0], [2, 3, 0], [True, False, False], [3, 5, 0], [4, 9]], interpreted=True
)
def objects() -> Any:
    two, three = Shape(2), Shape(3)
    shapes: Any = dr.array_t(Shape)(two, three, None)
    x = llvm.UInt(1, 2, 3)
    results = [
        list(shapes.area(x)),
        list(shapes.size),
        list(shapes == two),
        list(dr.dispatch(shapes, lambda shape, x: x + shape.size, x)),
        list(dr.func(lambda x: x * x)(llvm.UInt(2, 3))),
    ]
    dr.detail.clear_registry()
    return results


@dr.freeze(warn_after=1000)
def doubled(x: Any, table: dict[str, Any]) -> Any:
    dr.scatter(table["t"], llvm.Float(100), llvm.UInt(0))
    return [x * 2 + 1, dr.sum(x * 2)]


@gives(([[3, 5, 7], 12], [[1, 3, 5, 7], 12], [100, 1, 2, 3]), interpreted=True)
def frozen_functions() -> Any:
    doubled.clear()
    first, table = dr.arange(llvm.Float, 3) + 1, {"t": dr.arange(llvm.Float, 4)}
    dr.eval(first, table)
    out = doubled(first, table)
    second = dr.arange(llvm.Float, 4)
    dr.eval(second)
    again = doubled(second, table)
    return (
        [list(out[0]), out[1][0]],
        [list(again[0]), again[1][0]],
        list(table["t"]),
    )


@gives([True, False, 8, "ReduceOp.Add", "VarType.Float32", True, "name", [0, 1]])
def enums_and_flags() -> Any:
    before = dr.flag(dr.JitFlag.SymbolicLoops)
    with dr.scoped_set_flag(dr.JitFlag.SymbolicLoops, False):
        inside = dr.flag(dr.JitFlag.SymbolicLoops)
    x = llvm.Float(1, 2)
    x.label = "name"
    return [
        before,
        inside,
        dr.itemsize_v(llvm.Float64),
        str(dr.ReduceOp.Add),
        str(dr.type_v(llvm.Float)),
        dr.mask_t(llvm.Array3f) is llvm.Array3b,
        x.label,
        [dr.ReduceOp(0).value, dr.ReduceOp.Add.value],
    ]


class Wrong:
    def __float__(self) -> float:
        raise ValueError("cause")


@gives(["TypeError", "TypeError", "RuntimeError", "TypeError", "IndexError", "cause"])
def errors() -> Any:
    # Called without a function of Python in between, since CPython 3.11 raises a
    # SystemError where one fails and there is no memory to say where.
    attempts: list[tuple[Callable[..., Any], Any]] = [
        (operator.add, (llvm.Float(1), "x")),
        (llvm.Array3f, (1, 2)),
        (operator.add, (llvm.Float(1, 2), llvm.Float(1, 2, 3))),
        (dr.gather, (llvm.Float, "x", 1)),
        (operator.getitem, (scalar.TensorXf([1]), 7)),
        (scalar.Array3f, (1, 2, Wrong())),
    ]
    found = []
    for function, arguments in attempts:
        try:
            function(*arguments)
            found.append("nothing")
        except MemoryError:
            raise
        except Exception as error:
            cause = error.__cause__
            found.append(str(cause) if cause else type(error).__name__)
    return found
