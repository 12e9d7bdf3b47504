"""while_loop, if_stmt and switch: what arrives where, in all modes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import drjit as dr
import numpy as np
import pytest
from drjit.llvm import (
    Array3f,
    ArrayXf,
    Bool,
    Float,
    Int,
    Matrix2f,
    Quaternion4f,
    TensorXb,
    TensorXf,
    UInt,
)
from region_util import Boom, check_that_all_is_well

TRACED = ["symbolic", "evaluated"]


@pytest.fixture(params=TRACED)
def mode(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@dataclass
class Ray:
    o: Array3f
    t: Float


@dataclass(frozen=True)
class Frozen:
    x: Float


class Struct:
    DRJIT_STRUCT = {"a": Float, "b": UInt}  # noqa: RUF012

    def __init__(self) -> None:
        self.a, self.b = Float(1, 2), UInt(3)


class Pair(NamedTuple):
    x: Float
    y: Any


def three_times(i: Any, *_: Any) -> Any:
    return i < 3


def values(array: Any) -> Any:
    return array.numpy().tolist()


# ----------------------------------------------------------------------- loops


def test_the_example_of_the_reference(mode: str) -> None:
    i, x = dr.while_loop(
        state=(Int(1, 8), Float(2, 3)),
        cond=lambda i, x: i < 10,
        body=lambda i, x: (i + 1, x + i),
        mode=mode,
    )
    assert values(i) == [10, 10] and values(x) == [2 + 45, 3 + 17]


def test_scalar_loops() -> None:
    calls: list[int] = []

    def body(i: Any, x: Any) -> Any:
        calls.append(i)
        return i + 1, x * 2

    x = Float(1, 2)
    i, y = dr.while_loop((0, x), lambda i, x: i < 3, body)
    assert (i, values(y), calls) == (3, [8, 16], [0, 1, 2])
    i, y = dr.while_loop((0, x), lambda i, x: np.int64(i) != 3, body, mode="scalar")
    assert (i, values(y)) == (3, [8, 16])
    # One entry is enough to be a bool.
    (i,) = dr.while_loop((UInt(0),), three_times, lambda i: (i + 1,), mode="scalar")
    assert values(i) == [3]
    assert dr.while_loop((), lambda: False, lambda: ()) == ()


def test_objects_that_stay(mode: str) -> None:
    x, y, o, names = Float(1, 2), Array3f(1), object(), ["a"]
    ray = Ray(y, x)

    def body(i: Any, *rest: Any) -> Any:
        return i + 1, *rest

    state = (UInt(0), x, y, o, ray, names, None, "text")
    result = dr.while_loop(state, three_times, body, mode=mode)
    assert all(a is b for a, b in zip(result[1:], state[1:], strict=True))
    assert ray.o is y and ray.t is x and values(state[0]) == [0]


def test_changes_in_place_reach_the_caller(mode: str) -> None:
    i, x = UInt(0), Float(1, 2)
    ray, struct, entries = Ray(Array3f(1, 2, 3), x), Struct(), {"a": [Float(5), 7]}

    def body(i: Any, ray: Any, struct: Any, entries: Any) -> Any:
        i += 1
        ray.o += 1  # the same object
        ray.t = ray.t * 2  # another one
        struct.a += struct.b
        entries["a"][0] = entries["a"][0] + 1
        return i, ray, struct, entries

    origin, a = ray.o, struct.a
    result = dr.while_loop((i, ray, struct, entries), three_times, body, mode=mode)
    assert result[0] is i and result[1] is ray and result[2] is struct
    assert result[3] is entries and set(values(i)) == {3}
    assert ray.o is origin and set(values(origin.x)) == {4}
    assert values(ray.t) == [8, 16] and values(x) == [1, 2]
    assert struct.a is a and values(a) == [10, 11]
    assert set(values(entries["a"][0])) == {8} and entries["a"][1] == 7


def test_arrays_in_several_places(mode: str) -> None:
    x = Float(1, 2)

    def both(i: Any, a: Any, b: Any) -> Any:
        a += b
        return i + 1, a, b

    def one(i: Any, a: Any, b: Any) -> Any:
        return i + 1, a + 1, b

    if mode == "evaluated":
        _, a, b = dr.while_loop((UInt(0), x, x), three_times, both, mode=mode)
        assert a is x and b is x and values(x) == [8, 16]
    else:
        both_names = r"'state\[1\]' and 'state\[2\]' are one"
        with pytest.raises(RuntimeError, match=both_names):
            dr.while_loop((UInt(0), x, x), three_times, both, mode=mode)
        assert values(x) == [1, 2]
    x = Float(1, 2)
    _, a, b = dr.while_loop((UInt(0), x, x), three_times, one, mode=mode)
    assert b is x and values(a) == [4, 5] and values(b) == [1, 2]
    x = Float(1, 2)
    _, a, b = dr.while_loop(
        (UInt(0), x, x), three_times, lambda i, a, b: (i + 1, a, b), mode=mode
    )
    assert a is x and b is x
    y = Float(3, 4)
    _, a, b = dr.while_loop(
        (UInt(0), x, y), three_times, lambda i, a, b: (i + 1, b, a), mode=mode
    )
    assert values(a) == [3, 4] and values(b) == [1, 2]
    assert values(x) == [1, 2] and values(y) == [3, 4]
    outside = Float(7, 8)
    _, a = dr.while_loop(
        (UInt(0), x), three_times, lambda i, a: (i + 1, outside), mode=mode
    )
    assert values(a) == [7, 8] and values(outside) == [7, 8] and a is not x


@pytest.mark.parametrize(
    "value",
    [
        lambda: Array3f(1, [2, 3], 4),
        lambda: Matrix2f([[1, 2], [3, 4]]),
        lambda: Quaternion4f(1, 2, 3, 4),
        lambda: TensorXf([1, 2, 3, 4], (2, 2)),
        lambda: ArrayXf([[1, 2], [3, 4], [5, 6]]),
        lambda: Frozen(Float(1, 2)).x,
        lambda: Pair(Float(1, 2), UInt(3)).x,
        lambda: dr.llvm.Float16(1, 2),
        lambda: dr.llvm.Int64(1, 2),
    ],
)
def test_types_of_states(mode: str, value: Callable[[], Any]) -> None:
    """Doubled three times; each type is what it was."""
    x = value()
    size = dr.width(x)
    _, y = dr.while_loop(
        (dr.zeros(UInt, size), x), three_times, lambda i, x: (i + 1, x + x), mode=mode
    )
    assert type(y) is type(x) and np.array_equal(y.numpy(), 8 * x.numpy())


def test_containers_that_cannot_be_changed(mode: str) -> None:
    frozen, pair = Frozen(Float(1, 2)), Pair(Float(1, 2), [UInt(3)])

    def body(i: Any, frozen: Any, pair: Any) -> Any:
        pair.y[0] += 1
        return i + 1, Frozen(frozen.x + 1), Pair(pair.x * 2, pair.y)

    _, f, p = dr.while_loop((UInt(0), frozen, pair), three_times, body, mode=mode)
    assert type(f) is Frozen and values(f.x) == [4, 5]
    assert type(p) is Pair and values(p.x) == [8, 16] and set(values(p.y[0])) == {6}
    assert values(frozen.x) == [1, 2] and values(pair.x) == [1, 2]
    assert p.y is pair.y and set(values(pair.y[0])) == {6}


def test_sizes_adapt(mode: str) -> None:
    _, x = dr.while_loop(
        (UInt(0), Float(1)),
        three_times,
        lambda i, x: (i + 1, x + Float(1, 2, 3)),
        mode=mode,
    )
    assert values(x) == [4, 7, 10]
    (i,) = dr.while_loop(
        (dr.llvm.TensorXu([0, 5], (1, 2)),),
        lambda i: TensorXb(i < 3),
        lambda i: (i + 1,),
        mode=mode,
    )
    assert i.shape == (1, 2) and values(i) == [[3, 5]]


def test_effects_of_lanes_that_are_in_the_loop(mode: str) -> None:
    target = dr.zeros(UInt, 4)

    def body(i: Any, k: Any) -> Any:
        dr.scatter_add(target, 1, k)
        return i + 1, k

    dr.while_loop((UInt(0, 1, 2, 3), dr.arange(UInt, 4)), three_times, body, mode=mode)
    assert values(target) == [3, 2, 1, 0]


def test_strictness(mode: str) -> None:
    def loop(state: Any, body: Any, **kwargs: Any) -> Any:
        return dr.while_loop(state, three_times, body, mode=mode, **kwargs)

    def count(i: Any, n: Any) -> Any:
        return i + 1, n + 1

    with pytest.raises(RuntimeError, match="'n' of type 'int' changed from '1' to '2'"):
        loop((UInt(0), 1), count, labels=("i", "n"))
    # Symbolic mode calls the body once.
    n = loop((UInt(0), 1), count, strict=False)[1]
    assert n == (4 if mode == "evaluated" else 2)
    with pytest.raises(RuntimeError, match="from 'int' to 'float'"):
        loop((UInt(0), 1), lambda i, n: (i + 1, 2.5), strict=False)
    check_that_all_is_well()


def test_paths_in_messages(mode: str) -> None:
    state = (UInt(0), {"rays": [Ray(Array3f(1), Float(1))]})

    def body(i: Any, s: Any) -> Any:
        s["rays"][0].t = UInt(1)
        return i + 1, s

    for labels, name in ((), r"state\[1\]"), (("i", "scene"), "scene"):
        with pytest.raises(RuntimeError, match=rf"'{name}\[rays\]\[0\].t' changed"):
            dr.while_loop(state, three_times, body, mode=mode, labels=labels)
        assert values(state[1]["rays"][0].t) == [1]


def test_exceptions_leave_everything_as_it_was(mode: str) -> None:
    x, i = Float(1, 2), UInt(0, 1)
    ray, struct, entries = Ray(Array3f(1), x), Struct(), {"a": [x, 1]}
    a, o = struct.a, ray.o

    def body(i: Any, ray: Any, struct: Any, entries: Any) -> Any:
        i += 1
        ray.o += 1
        ray.t = ray.t + 1
        struct.a += 1
        entries["a"].append(Float(1))
        entries["b"] = 3
        raise Boom

    with pytest.raises(Boom):
        dr.while_loop((i, ray, struct, entries), three_times, body, mode=mode)
    assert ray.o is o and ray.t is x and struct.a is a
    assert list(entries) == ["a"] and len(entries["a"]) == 2 and entries["a"][0] is x
    assert values(x) == [1, 2] and values(i) == [0, 1] and values(a) == [1, 2]

    def nested(i: Any, ray: Any, struct: Any, entries: Any) -> Any:
        ray.t += 1
        return dr.while_loop((i, ray, struct, entries), three_times, body, mode=mode)

    with pytest.raises(Boom):
        dr.while_loop((i, ray, struct, entries), three_times, nested, mode=mode)
    assert ray.o is o and ray.t is x and values(x) == [1, 2]
    check_that_all_is_well()


def test_wrong_calls_of_while_loop() -> None:
    def loop(**kwargs: Any) -> Any:
        arguments = {
            "state": (UInt(0),),
            "cond": three_times,
            "body": lambda i: (i + 1,),
        }
        return dr.while_loop(**{**arguments, **kwargs})

    for wrong, error in [
        ({"state": [UInt(0)]}, "'state' is of type list"),
        ({"cond": 3}, "'cond' is 3"),
        ({"body": None}, "'body' is None"),
        ({"labels": "i"}, "'labels' is 'i'"),
        ({"labels": ("i", 3)}, "'labels' is"),
        ({"label": 3}, "'label' is of type int"),
        ({"strict": 1}, "'strict' is of type int"),
        ({"compress": 1}, "'compress' is of type int"),
        ({"max_iterations": 1.5}, "'max_iterations' is 1.5"),
    ]:
        with pytest.raises(TypeError, match=error):
            loop(**wrong)
    with pytest.raises(ValueError, match="'max_iterations' is -2"):
        loop(max_iterations=-2)
    with pytest.raises(RuntimeError, match="'labels' has 2 entries, expected 1"):
        loop(labels=("a", "b"))
    with pytest.raises(RuntimeError, match="'mode' is 'other'"):
        loop(mode="other")
    with pytest.raises(RuntimeError, match="loop condition is a Python 'bool'"):
        loop(mode="symbolic", cond=lambda i: True)
    assert values(loop(max_iterations=-1, compress=None, label="name")[0]) == [3]


def test_lanes_that_are_taken_out() -> None:
    n = dr.arange(UInt, 1000)
    i, x = dr.while_loop(
        (dr.zeros(UInt, 1000), n),
        lambda i, x: i < (x & 15),
        lambda i, x: (i + 1, x),
        mode="evaluated",
        compress=True,
    )
    assert np.array_equal(i.numpy(), n.numpy() & 15) and x is n


# ---------------------------------------------------------------- conditionals

COND = [True, False, True]


def test_if(mode: str) -> None:
    x, y = Float(1, 2, 3), UInt(4, 5, 6)
    a, b = dr.if_stmt(
        args=(x, y),
        cond=Bool(COND),
        true_fn=lambda x, y: (x + 1, y),
        false_fn=lambda x, y: (x, y + 1),
        mode=mode,
    )
    assert values(a) == [2, 2, 4] and values(b) == [4, 6, 6]
    assert values(x) == [1, 2, 3] and values(y) == [4, 5, 6]
    tensor = dr.if_stmt((x,), TensorXb(COND), lambda x: x, lambda x: -x, mode=mode)
    assert values(tensor) == [1, -2, 3]


def test_scalar_if() -> None:
    x = object()
    assert dr.if_stmt((x,), True, lambda x: x, lambda x: None) is x
    assert dr.if_stmt((x,), False, lambda x: x, lambda x: None) is None
    assert dr.if_stmt((1,), Bool(True), lambda x: x, lambda x: 2, mode="scalar") == 1
    with pytest.raises(RuntimeError, match="3 entries, expected 1"):
        dr.if_stmt((1,), Bool(COND), lambda x: x, lambda x: 2, mode="scalar")


def test_objects_of_conditionals(mode: str) -> None:
    x, o, names = Float(1, 2, 3), object(), []
    ray = Ray(Array3f(1), x)
    entries = [x]
    args = (x, o, names, ray, entries)

    def identity(*args: Any) -> Any:
        return args

    result = dr.if_stmt(args, Bool(COND), identity, identity, mode=mode)
    assert all(a is b for a, b in zip(result, args, strict=True))

    def change(x: Any, o: Any, names: Any, ray: Any, entries: Any) -> Any:
        x += 1
        ray.o *= 2
        entries[0] *= 3  # the same object as x, and ray.t
        return x, o, names, ray, entries

    origin = ray.o
    result = dr.if_stmt(args, Bool(COND), change, identity, mode=mode)
    assert result[0] is x and result[3] is ray and ray.t is x and result[4] is entries
    assert entries[0] is x and values(x) == [6, 2, 12] and ray.o is origin
    assert values(origin.x) == [2, 1, 2]


@pytest.mark.parametrize("count", [1, 2, 6, 7, 40])
def test_one_array_among_many(count: int, mode: str) -> None:
    """The array that stands at both ends is one, however many are in between."""
    between = [Float(k, k, k) for k in range(count)]
    twice = Float(1, 2, 3)
    state = [twice, *between, twice]

    def change(state: Any) -> Any:
        state[0] += 1
        assert state[-1] is state[0]
        state[1:-1] = [x + 1 for x in state[-2:0:-1]]
        return (state,)

    args = (state,)
    (result,) = dr.if_stmt(args, Bool(COND), change, lambda s: (s,), mode=mode)
    assert result is state and state[0] is state[-1] is twice
    assert values(twice) == [b + c for b, c in zip((1, 2, 3), COND, strict=True)]
    assert [values(x) for x in state[1:-1]] == [
        [count - k if c else k for c in COND] for k in range(count)
    ]
    assert [values(x) for x in between] == [[k] * 3 for k in range(count)]


def test_results_that_are_made(mode: str) -> None:
    x = Float(1, 2, 3)
    result = dr.if_stmt(
        (x,),
        Bool(COND),
        lambda x: {"ray": Ray(Array3f(x), x), "pair": Pair(x, None), "n": 1},
        lambda x: {"ray": Ray(Array3f(0), x * 2), "pair": Pair(-x, None), "n": 1},
        mode=mode,
    )
    assert values(result["ray"].t) == [1, 4, 3] and result["n"] == 1
    assert values(result["ray"].o.y) == [1, 0, 3] and result["pair"].y is None
    assert values(result["pair"].x) == [1, -2, 3]


def test_values_that_differ(mode: str) -> None:
    x = Float(1, 2, 3)

    def branch(true: Any, false: Any, **kwargs: Any) -> Any:
        sides = (lambda x: true), (lambda x: false)
        return dr.if_stmt((x,), Bool(COND), *sides, mode=mode, **kwargs)

    with pytest.raises(
        RuntimeError, match="'y' of type 'int' changed from '5' to '10'"
    ):
        branch((5, x), (10, x), rv_labels=("y", "x"))
    assert branch(5, 10, strict=False) == 10
    for true, false, error in [
        (x, UInt(1), "'rv' changed from 'drjit.llvm.Float' to 'drjit.llvm.UInt'"),
        (1, x, "'rv' changed from 'int' to 'drjit.llvm.Float'"),
        ((x,), (x, x), "size of state variable 'rv' of type 'tuple'"),
        ({"a": x}, {"b": x}, r"keys of state variable 'rv' .*\['a'\] to \['b'\]"),
        (x, Float(1, 2), "changed from 3 to 2"),
        (x, Float(), "'rv' of type 'drjit.llvm.Float' is uninitialized"),
        ([x, Ray(x, x)], [x, Ray(x, UInt(1))], r"'rv\[1\].t' changed"),
    ]:
        with pytest.raises(RuntimeError, match=error):
            branch(true, false, strict=False)
    with pytest.raises(RuntimeError, match="'rv_labels' has 2 entries"):
        branch(x, x, rv_labels=("a", "b"))
    check_that_all_is_well()


def test_containers_that_are_lengthened(mode: str) -> None:
    entries = [Float(1, 2, 3)]

    def append(entries: Any) -> Any:
        entries.append(1)

    with pytest.raises(
        RuntimeError, match=r"'args\[0\]' of type 'list' .* from 1 to 2"
    ):
        dr.if_stmt((entries,), Bool(COND), append, lambda e: None, mode=mode)
    assert len(entries) == 1


def test_exceptions_in_sides(mode: str) -> None:
    ray = Ray(Array3f(1), Float(1, 2, 3))
    o, t = ray.o, ray.t

    def change(ray: Any) -> Any:
        ray.t = ray.t + 1
        ray.o += 1
        return ray

    def fail(ray: Any) -> Any:
        change(ray)
        raise Boom

    for sides in ((fail, change), (change, fail)):
        with pytest.raises(Boom):
            dr.if_stmt((ray,), Bool(COND), *sides, mode=mode)
        assert ray.o is o and ray.t is t and values(t) == [1, 2, 3]
    check_that_all_is_well()


def test_effects_of_sides(mode: str) -> None:
    target = dr.zeros(UInt, 3)
    dr.if_stmt(
        (dr.arange(UInt, 3),),
        Bool(COND),
        lambda i: dr.scatter(target, 1, i),
        lambda i: dr.scatter(target, 2, i),
        mode=mode,
    )
    assert values(target) == [1, 2, 1]


# ----------------------------------------------------------------------- calls


def test_switch(mode: str) -> None:
    index, x = UInt(0, 0, 1, 1), UInt(1, 2, 3, 4)
    targets: list[Any] = [lambda x, k=1: x * k, lambda x, k=1: x * 10 + k]
    assert values(dr.switch(index, targets, x, mode=mode)) == [1, 2, 31, 41]
    assert values(dr.switch(index, targets, x, k=x, mode=mode)) == [1, 4, 33, 44]
    assert values(dr.switch(index, targets, x, k=3, mode=mode)) == [3, 6, 33, 43]
    named = {"index": index, "targets": tuple(targets), "x": x, "label": "n"}
    assert values(dr.switch(**named, mode=mode)) == [1, 2, 31, 41]
    assert values(dr.switch(index, targets, UInt(7), mode=mode)) == [7, 7, 71, 71]
    assert values(dr.switch(UInt(1), targets, x, mode=mode)) == [11, 21, 31, 41]
    targets = [lambda: UInt(1), lambda: UInt(2)]
    assert values(dr.switch(index, targets, mode=mode)) == [1, 1, 2, 2]


def test_switch_of_a_number() -> None:
    targets = [lambda x: x, lambda x: -x]
    assert dr.switch(1, targets, 3) == -3 and dr.switch(np.int64(0), targets, 3) == 3
    with pytest.raises(IndexError, match="'index' is 2, which is out of bounds for 2"):
        dr.switch(2, targets, 3)


def test_masks_of_switch(mode: str) -> None:
    index, x = UInt(0, 0, 1, 1), UInt(1, 2, 3, 4)
    seen: list[Any] = []

    def target(x: Any, active: Any) -> Any:
        seen.append(active)
        dr.scatter_add(count, 1, 0)
        return x

    mask = Bool(True, False, True, False)
    for args, kwargs, expected in [
        ((x, mask), {}, [1, 0, 3, 0]),
        ((x,), {"active": mask}, [1, 0, 3, 0]),
        ((x, False), {}, [0, 0, 0, 0]),
        ((x,), {"active": True}, [1, 2, 3, 4]),
    ]:
        count = dr.zeros(UInt, 1)
        result = dr.switch(index, [target, target], *args, mode=mode, **kwargs)
        assert values(result) == expected
        assert values(count) == [sum(value > 0 for value in expected)]
        given = seen.pop()
        assert given is True or (type(given) is Bool and values(given) == [True])


def test_trees_of_switch(mode: str) -> None:
    index = UInt(0, 1, 0)
    ray = Ray(Array3f(1, [2, 3, 4], 5), Float(1, 2, 3))

    def target(k: int) -> Any:
        def function(ray: Any, tensor: Any, rest: Any) -> Any:
            assert type(ray) is Ray and tensor.ndim == 1
            ray.t += k
            return {"ray": ray, "t": tensor * k, "n": rest["n"]}

        return function

    result = dr.switch(
        index, [target(1), target(2)], ray, TensorXf([1, 2, 3]), {"n": 5}, mode=mode
    )
    assert values(result["ray"].t) == [2, 4, 4] and values(ray.t) == [1, 2, 3]
    assert values(result["ray"].o.y) == [2, 3, 4] and result["ray"] is not ray
    assert values(result["t"]) == [1, 4, 3] and result["n"] == 5


def test_indices_out_of_range(mode: str, capfd: pytest.CaptureFixture[str]) -> None:
    index, x = UInt(0, 100), UInt(1)
    assert values(dr.switch(index, [lambda x: x], x, mode=mode)) == [1, 0]
    with dr.scoped_set_flag(dr.JitFlag.Debug, True):
        if mode == "evaluated":
            with pytest.raises(RuntimeError, match="lane 1"):
                dr.switch(index, [lambda x: x], x, mode=mode)
            return
        assert values(dr.switch(index, [lambda x: x], x, mode=mode)) == [1, 0]
        dr.sync_thread()
        Float(0)
    expected = "callable with index 100, but this value must be smaller than 1. ("
    assert expected in capfd.readouterr().err


def test_wrong_calls_of_switch(mode: str) -> None:
    index, x = UInt(0, 1), UInt(1, 2)
    one = [lambda x: x, lambda x: x]
    for wrong, error in [
        ((index,), "'targets' is missing"),
        ((index, {}, x), "'targets' is of type dict"),
        ((index, [1, 2], x), r"'targets\[0\]' is 1"),
    ]:
        with pytest.raises(TypeError, match=error):
            dr.switch(*wrong, mode=mode)
    for wrong, error in [
        ((Float(1), one, x), "'index' is of type drjit.llvm.Float"),
        ((index, [], x), "'targets' is empty"),
        ((index, one, UInt(1, 2, 3)), r"'args\[0\]' has an incompatible size 3"),
        (
            (index, one, x, Bool(True, False, True)),
            "the mask has 3 entries, expected 2",
        ),
        ((index, [lambda x: x, lambda x: Float(x)], x), "'result' changed from"),
        ((index, [lambda x: 1, lambda x: 2], x), "'int' changed from '1' to '2'"),
    ]:
        with pytest.raises(RuntimeError, match=error):
            dr.switch(*wrong, mode=mode)
    with pytest.raises(RuntimeError, match="'mode' is 'scalar'"):
        dr.switch(index, one, x, mode="scalar")
    with pytest.raises(Boom):
        dr.switch(index, [lambda x: x, broken], x, mode=mode)
    check_that_all_is_well()


def broken(x: Any) -> Any:
    raise Boom


# ------------------------------------------------------------------ everything


@pytest.mark.parametrize("outer", TRACED)
@pytest.mark.parametrize("inner", TRACED)
def test_nesting(outer: str, inner: str) -> None:
    """A loop with a conditional and a call in it, against Python."""
    n = dr.arange(UInt, 40)

    def side(x: Any) -> Any:
        return dr.while_loop(
            (x, UInt(0)),
            lambda x, k: k < (x & 3),
            lambda x, k: (x + 3, k + 1),
            mode=inner,
        )[0]

    def body(i: Any, x: Any) -> Any:
        x = dr.if_stmt((x,), (x & 1) == 0, side, lambda x: x * 3 + 1, mode=inner)
        x = dr.switch(x % 3, [lambda x: x + 1, lambda x: x ^ 5, side], x, mode=inner)
        return i + 1, x

    if (outer, inner) == ("symbolic", "evaluated"):
        with pytest.raises(RuntimeError, match="symbolic|evaluate"):
            dr.while_loop((UInt(0), n), three_times, body, mode=outer)
        check_that_all_is_well()
        return
    _, x = dr.while_loop((UInt(0), n), three_times, body, mode=outer)

    def python_side(x: int) -> int:
        k = 0
        while k < (x & 3):
            x, k = x + 3, k + 1
        return x

    for start, found in zip(n.numpy().tolist(), values(x), strict=True):
        value = start
        for _ in range(3):
            value = python_side(value) if value % 2 == 0 else value * 3 + 1
            value = [lambda v: v + 1, lambda v: v ^ 5, python_side][value % 3](value)
        assert found == value


def test_symbolic_values_have_no_entries() -> None:
    """The message names the lines of all that is being recorded, innermost first."""
    questions: list[Callable[[Any], Any]] = [
        repr,
        lambda x: x[0],
        list,
        np.array,
        lambda x: 1 if x > 1 else 2,
        dr.eval,
        dr.sum,
    ]
    for ask in questions:

        def body(i: Any, x: Any, ask: Any = ask) -> Any:
            x = dr.if_stmt((x,), x > 1, lambda x: (ask(x), x)[1], lambda x: x)
            return i + 1, x

        with pytest.raises(RuntimeError) as caught:
            dr.while_loop((UInt(0), Float(1, 2)), lambda i, x: i < 3, body)
        first = body.__code__.co_firstlineno + 1
        text = str(caught.value)
        assert f"drjit.if_stmt() at {__file__}:{first}, drjit.while_loop() at" in text
        assert f"{__file__}:{first + 4}; drjit.print() prints" in text
    check_that_all_is_well()


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
def test_results_are_nobody_elses(mode: str) -> None:
    """A body that gives an array which somebody else has: changing the result in place
    does not change that array."""
    x, y = Float(1, 2, 3), Float(0, 0, 0)
    _, a = dr.while_loop(
        (UInt(0), y), lambda i, a: i < 2, lambda i, a: (i + 1, x), mode=mode
    )
    b = dr.if_stmt((y,), dr.full(Bool, True, 3), lambda y: x, lambda y: y, mode=mode)
    c = dr.switch(UInt(0, 0, 0), [lambda y: x, lambda y: y], y, mode=mode)
    a += 1
    b += 2
    c += 3
    assert str([a, b, c]) == "[[2, 3, 4], [3, 4, 5], [4, 5, 6]]"
    assert str([x, y]) == "[[1, 2, 3], [0, 0, 0]]"
    check_that_all_is_well()
