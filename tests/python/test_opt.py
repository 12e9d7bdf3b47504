"""drjit.opt against the papers' formulas in NumPy, and as part of programs."""

from __future__ import annotations

import io
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit import opt as do
from drjit.llvm import Float as PlainFloat
from drjit.llvm.ad import (
    Array3f,
    Bool,
    Complex2f,
    Float,
    Float16,
    Float64,
    Matrix2f,
    Quaternion4f,
    TensorXf,
    TensorXf16,
    TensorXf64,
    UInt,
)
from engine_util import printed

# ---------------------------------------------------------------- models in NumPy


def sgd(momentum: float = 0, nesterov: bool = False) -> Any:
    def rule(p: Any, g: Any, lr: float, t: int, s: dict[str, Any]) -> Any:
        v = s["v"] = momentum * s.get("v", 0 * p) + g
        return p - lr * (g + momentum * v if nesterov else v)

    return rule


def rmsprop(alpha: float = 0.99, epsilon: float = 1e-8) -> Any:
    def rule(p: Any, g: Any, lr: float, t: int, s: dict[str, Any]) -> Any:
        m = s["m"] = alpha * s.get("m", 0 * p) + (1 - alpha) * g**2
        return p - lr * g / (np.sqrt(m) + epsilon)

    return rule


def adam(
    beta_1: float = 0.9,
    beta_2: float = 0.999,
    epsilon: float = 1e-8,
    uniform: bool = False,
    amsgrad: bool = False,
    weight_decay: float = 0,
) -> Any:
    def rule(p: Any, g: Any, lr: float, t: int, s: dict[str, Any]) -> Any:
        m = s["m"] = beta_1 * s.get("m", 0 * p) + (1 - beta_1) * g
        v = s["v"] = beta_2 * s.get("v", 0 * p) + (1 - beta_2) * g**2
        if amsgrad:
            v = s["w"] = np.maximum(s.get("w", 0 * p), v)
        if uniform:
            v = v.max()
        scale = lr * np.sqrt(1 - beta_2**t) / (1 - beta_1**t)
        return p - scale * m / (np.sqrt(v) + epsilon) - lr * weight_decay * p

    return rule


def muon(
    momentum: float = 0.95,
    nesterov: bool = True,
    ns_steps: int = 5,
    weight_decay: float = 0,
) -> Any:
    def rule(p: Any, g: Any, lr: float, t: int, s: dict[str, Any]) -> Any:
        m = s["m"] = momentum * s.get("m", 0 * p) + (1 - momentum) * g
        x = momentum * m + (1 - momentum) * g if nesterov else m
        tall = p.shape[0] > p.shape[1]
        x = x.T if tall else x
        x = x / (np.linalg.norm(x) + 1e-7)
        for _ in range(ns_steps):
            a = x @ x.T
            x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
        x = x.T if tall else x
        return (
            p - lr * max(1, p.shape[0] / p.shape[1]) ** 0.5 * x - lr * weight_decay * p
        )

    return rule


def gradients(shape: tuple[int, ...], count: int) -> list[Any]:
    rng = np.random.default_rng(7)
    found = [rng.normal(size=shape) for _ in range(count)]
    for g in found:
        g[rng.random(shape) < 0.3] = 0  # for mask_updates
    return found


def expected(
    rule: Any, start: Any, all_gradients: list[Any], lr: float, masked: bool
) -> Any:
    p, state = start.astype(np.float64), {}
    for t, g in enumerate(all_gradients, 1):
        before, old = p, dict(state)
        p = rule(p, g, lr, t, state)
        if masked:
            p = np.where(g != 0, p, before)
            for name in state:
                state[name] = np.where(g != 0, state[name], old.get(name, 0 * p))
    return p


METHODS: dict[str, tuple[type[Any], Any, dict[str, Any]]] = {
    "SGD": (do.SGD, sgd, {}),
    "SGD, momentum": (do.SGD, sgd, {"momentum": 0.9}),
    "SGD, Nesterov": (do.SGD, sgd, {"momentum": 0.8, "nesterov": True}),
    "RMSProp": (do.RMSProp, rmsprop, {"alpha": 0.9, "epsilon": 0.01}),
    "Adam": (do.Adam, adam, {}),
    "Adam, numbers": (do.Adam, adam, {"beta_1": 0.8, "beta_2": 0.9, "epsilon": 0.1}),
    "Adam, uniform": (do.Adam, adam, {"uniform": True}),
    "Adam, AMSGrad": (do.Adam, adam, {"amsgrad": True, "beta_2": 0.5}),
    "Adam, both": (do.Adam, adam, {"amsgrad": True, "uniform": True, "beta_2": 0.5}),
    "AdamW": (do.AdamW, adam, {"weight_decay": 0.3}),
    "AdamW, all": (
        do.AdamW,
        adam,
        {"weight_decay": 0.1, "amsgrad": True, "uniform": True, "beta_1": 0.7},
    ),
}


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", METHODS)
def test_formulas(name: str, masked: bool) -> None:
    cls, model, arguments = METHODS[name]
    start, steps = np.linspace(-1, 1, 40), gradients((40,), 6)
    right = expected(model(**arguments), start, steps, 0.1, masked)
    for array, tolerance in ((Float64, 1e-12), (Float, 2e-5)):
        opt = cls(0.1, {"x": array(start)}, mask_updates=masked, **arguments)
        for g in steps:
            dr.set_grad(opt["x"], array(g))
            opt.step()
        assert np.allclose(opt["x"].numpy(), right, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(
    "arguments",
    [{}, {"nesterov": False}, {"momentum": 0.5, "ns_steps": 2}, {"weight_decay": 0.2}],
)
@pytest.mark.parametrize("shape", [(3, 5), (6, 2), (4, 4), (1, 3)])
def test_muon(shape: tuple[int, int], arguments: dict[str, Any], masked: bool) -> None:
    start, steps = (
        np.linspace(-1, 1, shape[0] * shape[1]).reshape(shape),
        gradients(shape, 4),
    )
    right = expected(muon(**arguments), start, steps, 0.1, masked)
    opt = do.Muon(0.1, {"w": TensorXf64(start)}, mask_updates=masked, **arguments)
    for g in steps:
        dr.set_grad(opt["w"], TensorXf64(g))
        opt.step()
    assert opt["w"].shape == shape
    assert np.allclose(opt["w"].numpy(), right, rtol=1e-9, atol=1e-9)


def test_the_published_package_agrees() -> None:
    """Results of its version 1.5.0 after four steps, in single precision."""
    steps = ((0.5, -1, 0), (2, 0, 0), (-1, 0.25, 0), (0, 1, 1e-3))
    for made, right in (
        (do.SGD(0.1, momentum=0.9), [0.47604996, -1.8036, 2.9999]),
        (do.SGD(0.1, momentum=0.9, nesterov=True), [0.37844497, -1.8482399, 2.99981]),
        (do.RMSProp(0.1, epsilon=0.1), [0.31801692, -2.0359752, 2.999001]),
        (do.Adam(0.1, epsilon=0.1), [0.9257679, -1.9576185, 2.9999816]),
        (do.Adam(0.1, uniform=True), [0.80041987, -1.8644838, 2.9999747]),
        (do.Adam(0.1, mask_updates=True), [0.7779509, -1.8764983, 2.9418867]),
        (do.AdamW(0.1, weight_decay=0.2), [0.68284285, -1.6723056, 2.708991]),
    ):
        made["x"] = Float(1, -2, 3)
        for g in steps:
            dr.set_grad(made["x"], Float(g))
            made.step()
        assert np.allclose(made["x"].numpy(), right, rtol=0, atol=2.5e-5)


# ---------------------------------------------------------------- parameters


KINDS: dict[str, Any] = {
    "Float": Float(1, 2, 3),
    "Float64": Float64(1, 2),
    "Array3f": Array3f(Float(1, 2), Float(3, 4), Float(5, 6)),
    "Complex2f": Complex2f(Float(1, 2), Float(3, 4)),
    "Quaternion4f": Quaternion4f(*[Float(k, 2 - k) for k in range(4)]),
    "Matrix2f": Matrix2f([[Float(1, 2), Float(2, 1)], [Float(3, 4), Float(4, 5)]]),
    "TensorXf": TensorXf(np.arange(6.0).reshape(2, 3)),
    "TensorXf, ()": TensorXf(3.0),
}


@pytest.mark.parametrize("eval", [True, False])
@pytest.mark.parametrize("name", KINDS)
def test_kinds_of_parameters(name: str, eval: bool) -> None:
    """Special types go component by component."""
    value = KINDS[name]
    opt = do.Adam(0.1, {"x": value})
    start = _entries(value)
    rule, state, right = adam(), {}, start
    for t in range(1, 4):
        x = opt["x"]
        assert type(x) is type(value) and dr.grad_enabled(x) and x.shape == value.shape
        g = np.cos(start + t)
        assert type(opt.state["x"][3][1]) is _flat(type(value))
        dr.set_grad(x, type(value)(g) if dr.is_tensor_v(value) else _array(value, g))
        opt.step(eval=eval)
        right = rule(right, g, 0.1, t, state)
    assert np.allclose(_entries(opt["x"]), right, rtol=1e-5)


def _flat(cls: Any) -> Any:
    """The type whose operations go entry by entry."""
    return dr.array_t(cls)


def _entries(value: Any) -> Any:
    plain = value if dr.is_tensor_v(value) else _flat(type(value))(value)
    return np.array(plain, dtype=np.float64)


def _array(like: Any, values: Any) -> Any:
    """An array of a type, of its components' entries."""
    if dr.depth_v(like) == 1:
        return type(like)(values)
    made = type(like)()
    for i in range(len(like)):
        made[i] = _array(like[i], values[i])
    return made


def test_the_optimiser_owns_its_parameters() -> None:
    x = Float(1, 2)
    dr.enable_grad(x)
    y = x * 2
    opt = do.SGD(0.5, {"y": y})
    dr.backward(opt["y"] * 3)
    assert not dr.grad(x).numpy().any() and list(dr.grad(opt["y"])) == [3, 3]
    opt.step()
    assert list(opt["y"]) == [0.5, 2.5] and list(y) == [2, 4]
    assert not dr.grad(opt["y"]).numpy().any()
    assert opt["y"].state == dr.VarState.Evaluated


def test_what_remains_of_state() -> None:
    opt = do.SGD(1, {"x": Float(0, 0)}, momentum=0.5)

    def step(x: Any) -> Any:
        dr.set_grad(opt["x"], x)
        opt.step()
        return list(opt["x"])

    assert step(Float(1, 2)) == [-1, -2]
    opt["x"] = Float(10, 20)  # keeps the velocity
    assert step(Float(0, 0)) == [9.5, 19]
    opt.reset("x")
    assert step(Float(0, 0)) == [9.5, 19]
    opt["x"] = Float(1, 2, 3)  # another shape
    assert step(Float(0, 0, 0)) == [1, 2, 3]
    step(Float(1, 1, 1))
    opt["x"] = Float64(5, 5, 5)  # another type
    assert step(Float64(0, 0, 0)) == [5, 5, 5]
    step(Float64(1, 1, 1))
    opt.reset()
    assert step(Float64(0, 0, 0)) == [4, 4, 4]


def test_a_mapping() -> None:
    opt = do.Adam(lr=1e-3, params={"x": Float(1, 2, 3)})
    opt.update({"y": TensorXf([[1, 2], [3, 4]])}, z=Array3f(0))
    assert list(opt) == list(opt.keys()) == ["x", "y", "z"] and len(opt) == 3
    assert [type(v) for v in opt.values()] == [Float, TensorXf, Array3f]
    assert "x" in opt and "w" not in opt and 3 not in opt
    assert [k for k, _ in opt.items()] == list(opt)
    text = repr(opt)
    assert text.startswith(
        "Adam[\n  parameters = ['x', 'y', 'z'],\n  total_count = 10,"
    )
    assert "lr = {'default': 0.001}" in text and "beta = (0.9, 0.999)" in text
    del opt["y"]
    assert opt.pop("z") is not None and list(opt) == ["x"]
    for wrong in (
        lambda: opt["q"],
        lambda: opt.reset("q"),
        lambda: opt.learning_rate("q"),
    ):
        with pytest.raises(KeyError):
            wrong()
    assert opt == opt and opt != do.Adam(1) and not do.Adam(1)
    do.Adam(1).step()  # nothing to do


def test_learning_rates() -> None:
    opt = do.SGD(lr=1, params={"x": Float(0), "y": Float(0)})

    def step() -> Any:
        for x in opt.values():
            dr.set_grad(x, Float(1))
        opt.step()
        return opt["x"][0], opt["y"][0]

    assert step() == (-1, -1)
    opt.set_learning_rate({"y": 2})
    assert opt.learning_rate() == 1 and opt.learning_rate("y") == 2
    assert opt.learning_rate("x") is None and "'y': 2.0" in repr(opt)
    assert step() == (-2, -3)
    opt.set_learning_rate(3, y=None)
    assert step() == (-5, -6)
    opt.set_learning_rate(PlainFloat(4), x=Float(0.5))
    assert step() == (-5.5, -10)
    with pytest.raises(KeyError):
        opt.set_learning_rate(x=7, q=1)
    with pytest.raises(TypeError, match="the learning rate is of type str"):
        opt.set_learning_rate({"x": "fast"})
    assert opt.learning_rate("x")[0] == 0.5


def test_assigned_learning_rate() -> None:
    """'lr' can be set as in the published package; rates of parameters stay."""
    opt = do.SGD(lr=1, params={"x": Float(1, 2), "y": Float(3)})
    opt.set_learning_rate(y=0.25)

    def turn() -> Any:
        dr.backward(dr.sum(opt["x"]) + dr.sum(opt["y"]))
        opt.step()
        return [*opt["x"], *opt["y"]]

    opt.lr = 0.5
    assert (opt.lr, opt.learning_rate(), opt.learning_rate("y")) == (0.5, 0.5, 0.25)
    assert turn() == [0.5, 1.5, 2.75]
    opt.lr = Float(0.125)
    assert turn() == [0.375, 1.375, 2.5]
    for wrong in (None, "fast", True, {"x": 1}):
        with pytest.raises(TypeError, match=r"drjit\.opt\.SGD\.lr: the learning rate"):
            opt.lr = wrong
    assert turn() == [0.25, 1.25, 2.25]


def test_assigned_learning_rate_in_a_frozen_loop() -> None:
    @dr.freeze
    def turn(opt: do.SGD) -> None:
        dr.backward(dr.sum(dr.square(opt["x"])))
        opt.step()

    opt, x = do.SGD(lr=1, params={"x": Float(1, 2)}), np.array([1, 2], np.float32)
    for k in range(5):
        opt.lr = 0.25 / (k + 1)
        turn(opt)
        x -= np.float32(opt.lr) * 2 * x
        assert np.allclose(opt["x"].numpy(), x, rtol=1e-6)
    assert turn.n_recordings == 1


def test_learning_rates_are_no_other_kernels() -> None:
    opt = do.Adam(1e-3, {"x": Float(1, 2, 3)})
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory, True):
        for k in range(6):
            opt.set_learning_rate(1e-3 * 0.9**k)
            dr.set_grad(opt["x"], dr.opaque(Float, k, 3))
            if k == 3:
                dr.kernel_history_clear()
            opt.step()
        assert all(
            entry["cache_hit"] for entry in dr.kernel_history([dr.KernelType.JIT])
        )


@pytest.mark.parametrize("count", [3, 7])
def test_launches(count: int) -> None:
    """Few parameters: one kernel. Many: the same kernel for each, none compiled."""
    opt = do.SGD(0.5)
    for k in range(count):
        opt[str(k)] = dr.full(Float, k, 5000 + 1000 * (count > 4) * k)
    for _ in range(2):
        for x in opt.values():
            dr.set_grad(x, dr.opaque(Float, 1, dr.width(x)))
        dr.eval()
        with dr.scoped_set_flag(dr.JitFlag.KernelHistory, True):
            dr.kernel_history_clear()
            opt.step()
            history = dr.kernel_history([dr.KernelType.JIT])
    history = [entry for entry in history if entry["size"] > 1]  # without the rate's
    assert len({entry["hash"] for entry in history}) == 1
    assert len(history) == (1 if count <= 4 else count)
    for k in range(count):
        assert (opt[str(k)].numpy() == k - 1).all()


# Few entries and many, with sizes that occur once and more often.
SIZES = (3, 4096, 4097, 5000, 5000, 20_000, 7, 70_001, 1, 12_345, 4096, 300, 300) + (
    *range(100, 120),
)


def start_of(k: int) -> Any:
    return np.random.default_rng(k).normal(size=SIZES[k]).astype(np.float32)


def many(cls: Any, **arguments: Any) -> Any:
    params = {f"p{k}": Float(start_of(k)) for k in range(len(SIZES))}
    return cls(0.1, params, **arguments)


def give_gradients(opt: Any, turn: int) -> None:
    for k in range(len(SIZES)):
        dr.set_grad(opt[f"p{k}"], Float(start_of(k) * (turn + 1) + 0.5))


def test_many_sizes() -> None:
    """Any number of parameters of any sizes; one that is registered later, reset or
    loaded counts its own iterations."""
    opt = many(do.Adam)
    for turn in range(3):
        give_gradients(opt, turn)
        opt.step()
    for k, x in enumerate(opt.values()):
        steps = [(start_of(k) * (t + 1) + 0.5).astype(np.float64) for t in range(3)]
        right = expected(adam(), start_of(k), steps, 0.1, False)
        assert np.allclose(x.numpy(), right, rtol=1e-5, atol=1e-6), k
    opt["later"] = Float(1, 2)
    opt.reset("p3")
    counts = {name: state[3][0] for name, state in opt.state.items()}
    assert [counts[name][0] for name in ("p0", "p3", "later")] == [3, 0, 0]
    assert len({count.index for count in counts.values()}) == 2
    other = many(do.Adam)
    other["later"] = Float(0, 0)
    other.load_state_dict(opt.state_dict())
    for one in (opt, other):
        give_gradients(one, 3)
        one.step()
        found = [state[3][0][0] for state in one.state.values()]
        assert found[0] == 4 and found[3] == found[-1] == 1
        counts = {state[3][0].index for state in one.state.values()}
        assert len(counts) == 2  # equal ones are one array
    for name in opt:
        assert np.array_equal(opt[name], other[name])


def test_many_sizes_in_frozen_functions() -> None:
    @dr.freeze
    def turn(opt: Any) -> None:
        loss = Float(0)
        for x in opt.values():
            loss += dr.sum(dr.square(x - 0.25))
        dr.backward(loss)
        opt.step()

    frozen, plain = many(do.Adam), many(do.Adam)
    for _ in range(5):
        turn(frozen)
        turn.__wrapped__(plain)
        for name in plain:
            assert np.array_equal(frozen[name], plain[name]), name
    assert turn.n_recordings == 1


def test_reset_in_frozen_functions() -> None:
    @dr.freeze
    def turn(opt: Any, x: Float) -> None:
        opt["x"] = x
        opt.reset()
        dr.backward(dr.sum(opt["x"] * opt["y"]))
        opt.step()

    frozen, plain = (
        do.Adam(0.1, {"x": Float(1, 2), "y": Float(3, 4)}) for _ in range(2)
    )
    for k in range(4):
        x = Float(k, 5)
        turn(frozen, x)
        turn.__wrapped__(plain, x)
        for name in plain:
            assert np.array_equal(frozen[name], plain[name])
        assert frozen.state["x"][3][0][0] == 1
    # Numbers of iterations that were set outside are one array, those set inside two.
    assert turn.n_recordings == 2


ENGINES = """
import hashlib, numpy as np, drjit as dr, test_opt as t
for cls in (t.do.Adam, t.do.SGD, t.do.RMSProp):
    opt = t.many(cls)
    for turn in range(3):
        t.give_gradients(opt, turn)
        opt.step()
    found = hashlib.sha256()
    for x in opt.values():
        found.update(np.array(dr.detach(x)).tobytes())
    print(cls.__name__, found.hexdigest())
"""


def test_many_sizes_on_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path])
    )
    texts = printed(ENGINES)
    assert len(set(texts)) == 1 and "RMSProp" in texts[0]


def test_a_step_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing has changed then, and launches are not held back any more."""
    opt = many(do.SGD)
    give_gradients(opt, 0)
    before = {name: x.numpy().copy() for name, x in opt.items()}
    evaluate, calls = dr.eval, [0]

    def fail(*args: Any) -> Any:
        calls[0] += 1
        if calls[0] == 8:
            raise MemoryError("no more")
        return evaluate(*args)

    monkeypatch.setattr(dr, "eval", fail)
    with pytest.raises(MemoryError, match="no more"):
        opt.step()
    monkeypatch.undo()
    assert calls[0] == 8
    for name, x in opt.items():
        assert np.array_equal(x, before[name])
    opt.step()
    for k, (name, x) in enumerate(opt.items()):
        right = before[name] - np.float32(0.1) * (start_of(k) + np.float32(0.5))
        assert np.allclose(x.numpy(), right, rtol=1e-6, atol=1e-6)


def test_half_precision() -> None:
    opt = do.Adam(0.01, {"x": Float16(1, 2), "t": TensorXf16([[1, 2]])})
    for _ in range(3):
        x, t = opt["x"], opt["t"]
        assert type(x) is Float16 and type(t) is TensorXf16
        dr.backward(dr.sum(x * x) + dr.sum(t.array * t.array))
        opt.step()
    assert type(opt.state["x"][0]) is Float and type(opt.state["t"][0]) is TensorXf
    assert np.allclose(opt["x"].numpy(), [0.97, 1.97], atol=2e-3)
    plain = do.SGD(0.25, {"x": Float16(1, 2)}, promote_fp16=False)
    assert type(plain.state["x"][0]) is Float16
    dr.set_grad(plain["x"], Float16(1, 2))
    plain.step()
    assert list(plain["x"]) == [0.75, 1.5]
    # Steps that half precision would lose.
    many = do.SGD(1e-4, {"x": Float16(1)})
    for _ in range(10):
        dr.backward(many["x"] * Float16(1))
        many.step()
    assert abs(many.state["x"][0][0] - 0.999) < 1e-6


def test_scale_and_active() -> None:
    opt = do.SGD(1, {"x": Float(1, 2), "t": TensorXf([1.0, 2.0])}, momentum=0.5)

    def step(**kwargs: Any) -> Any:
        for x in opt.values():
            dr.set_grad(x, type(x)(1))
        opt.step(**kwargs)
        assert all(not dr.grad(x).numpy().any() for x in opt.values())
        assert np.array_equal(opt["x"], opt["t"])
        return list(opt["x"])

    assert step(active=Bool(False)) == [1, 2] and step(active=False) == [1, 2]
    assert step(active=True, grad_scale=0.5) == [0.5, 1.5]
    assert step(active=Bool(True), grad_scale=PlainFloat(2)) == [-1.75, -0.75]
    for wrong, error in (
        ({"active": Bool(True, False)}, "'active' has 2 entries, expected 1"),
        ({"active": UInt(1)}, "'active' is of type UInt"),
        ({"grad_scale": Float(1, 2)}, "'grad_scale' has 2 entries"),
        ({"grad_scale": "x"}, "'grad_scale' is of type str"),
        ({"grad_scale": True}, "'grad_scale' is of type bool"),
        ({"active": 1}, "'active' is of type int"),
    ):
        with pytest.raises((TypeError, ValueError), match=error):
            opt.step(**wrong)
    counted = do.Adam(0.1, {"x": Float(1)})
    for active in (True, False, True):  # counts steps that were taken
        dr.set_grad(counted["x"], Float(1))
        counted.step(active=Bool(active))
    assert list(counted.state["x"][3][0]) == [2]


def test_without_evaluation() -> None:
    opt = do.Adam(0.1, {"x": Float(1, 2)})
    for _ in range(2):
        dr.backward(opt["x"] * 2)
        opt.step(eval=False)
    assert opt["x"].state == dr.VarState.Unevaluated
    assert np.allclose(opt["x"].numpy(), [0.8, 1.8])


# ---------------------------------------------------------------- programs


@pytest.mark.parametrize("cls", [do.SGD, do.RMSProp, do.Adam, do.AdamW])
def test_minimum(cls: Any) -> None:
    """All of them find the minimum of a quadratic function."""
    target = Float(3, -1, 0.5)
    opt = cls(0.05, {"x": dr.zeros(Float, 3)})
    for _ in range(400):
        dr.backward(dr.squared_norm(opt["x"] - target) + dr.sum(opt["x"] * 0))
        opt.step()
    assert np.allclose(opt["x"].numpy(), target.numpy(), atol=0.15)


@pytest.mark.parametrize("cls", [do.SGD, do.RMSProp, do.Adam, do.AdamW])
def test_frozen_functions(cls: Any) -> None:
    def train(opt: Any, target: Any) -> Any:
        loss = dr.mean(dr.square(opt["x"] - target))
        dr.backward(loss)
        opt.step()
        return loss

    frozen, plain = cls(0.1, {"x": Float(1, 2, 3)}), cls(0.1, {"x": Float(1, 2, 3)})
    function = dr.freeze(train)
    for k in range(6):
        target = Float(k, 1, 2)
        for opt in (frozen, plain):
            opt.set_learning_rate(0.1 / (k + 1))  # no other recording
        a, b = function(frozen, target), train(plain, target)
        assert np.array_equal(a, b)
        assert np.array_equal(frozen["x"], plain["x"])
        assert dr.grad_enabled(frozen["x"])
    assert function.n_recordings <= 2
    if cls is not do.SGD:  # what the class was made with is part of the recording
        name = "alpha" if cls is do.RMSProp else "beta_2"
        frozen, plain = (
            cls(0.1, {"x": Float(1, 2, 3)}, **{name: 0.5}) for _ in range(2)
        )
        assert np.array_equal(function(frozen, target), train(plain, target))
        assert np.array_equal(frozen["x"], plain["x"])


def test_saving(tmp_path: Path) -> None:
    def trained(opt: Any, steps: int) -> Any:
        for k in range(steps):
            for x in opt.values():
                dr.set_grad(x, type(x)(1.0 + k))
            opt.step()
        return opt

    def make() -> Any:
        return do.Adam(
            0.1, {"x": Float(1, 2), "h": Float16(3), "t": TensorXf([[1, 2.0]])}
        )

    first = trained(make(), 3)
    np.savez(tmp_path / "state.npz", **first.state_dict())
    second = make()
    with np.load(tmp_path / "state.npz") as state:
        second.load_state_dict(state)
    trained(first, 2), trained(second, 2)
    for key in first:
        assert np.array_equal(first[key], second[key])
        assert type(first[key]) is type(second[key]) and dr.grad_enabled(second[key])
    state = first.state_dict()
    with pytest.raises(KeyError, match="missing"):
        second.load_state_dict({})
    with pytest.raises(KeyError, match="unknown"):
        second.load_state_dict({**state, "value/q": np.zeros(1)})
    with pytest.raises(ValueError, match=r"'value/x' has the shape \(3,\)"):
        second.load_state_dict({**state, "value/x": np.zeros(3)})
    assert np.array_equal(first["x"], second["x"])


# ---------------------------------------------------------------- mixed precision


def test_gradient_scaling() -> None:
    scaler = do.GradScaler(init_scale=8, growth_interval=3)
    opt = do.SGD(0.5, {"x": Float(10)}, momentum=0.5)
    plain = do.SGD(0.5, {"x": Float(10)}, momentum=0.5)
    scales = []
    for k in range(10):
        bad = k in (5, 6, 8)
        x = opt["x"]
        dr.backward(scaler.scale(x * (dr.inf if bad else 2)))
        scaler.step(opt)
        if not bad:
            dr.backward(plain["x"] * 2)
            plain.step()
        assert list(opt["x"]) == list(plain["x"])
        scales.append(scaler.scale_factor[0])
    assert scales == [8, 8, 8, 16, 32, 16, 8, 8, 4, 4]


def test_scaling_of_types() -> None:
    scaler = do.GradScaler(init_scale=4)
    opt = do.SGD(0.5, {"x": Float16(1, 2), "t": TensorXf([[1.0]])})
    assert scaler.scale(3) == 12 and scaler.unscale(2.0) == 0.5
    half = do.GradScaler().scale(Float16(2))  # 2^17, which half precision has not
    assert type(half) is Float and half[0] == 2**17
    for _ in range(2):
        loss = dr.sum(opt["x"]) + Float16(opt["t"].array)
        dr.backward(scaler.scale(loss))
        scaler.step(opt, eval=False)
    assert type(scaler.scale(Float16(2))) is Float and scaler.scale(Float16(2))[0] == 8
    assert scaler.scale(TensorXf([2.0])).numpy() == [8]
    assert scaler.unscale(Float64(2))[0] == 0.5
    assert list(opt["x"]) == [0, 1]


def test_scaler_messages(capsys: pytest.CaptureFixture[str]) -> None:
    scaler = do.GradScaler(init_scale=8, debug=True)
    opt = do.SGD(0.5, {"x": Float(1)})
    dr.backward(scaler.scale(opt["x"] * dr.nan))
    scaler.step(opt)
    assert capsys.readouterr().out == ("drjit.opt.GradScaler: the scale is 4, was 8\n")
    with pytest.raises(TypeError, match="'opt' is of type int"):
        scaler.step(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'active' was given"):
        scaler.step(opt, active=Bool(True))
    scaler.step(do.Adam(1))


def test_a_scaler_in_a_frozen_function() -> None:
    @dr.freeze
    def train(opt: Any, scaler: Any, factor: Any) -> None:
        dr.backward(scaler.scale(dr.sum(opt["x"] * factor)))
        scaler.step(opt)

    opt, scaler = do.SGD(0.5, {"x": Float(1, 2)}), do.GradScaler(8, growth_interval=1)
    for factor in (1, 1, dr.inf, 1, 1, 1):
        train(opt, scaler, dr.opaque(Float, factor))
    assert list(opt["x"]) == [-1.5, -0.5] and scaler.scale_factor[0] == 32


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: do.SGD("x"), "the learning rate is of type str"),
        (lambda: do.SGD(None), "the learning rate is of type NoneType"),
        (lambda: do.SGD(True), "the learning rate is of type bool"),
        (lambda: do.SGD(UInt(1)), "the learning rate is of type UInt"),
        (lambda: do.SGD(1, momentum=-1), "'momentum' is -1, expected"),
        (lambda: do.SGD(1, nesterov=True), "'nesterov' is set"),
        (
            lambda: do.RMSProp(1, alpha=1),
            r"'alpha' is 1, expected a number in \[0, 1\)",
        ),
        (lambda: do.Adam(1, beta_1=1.5), "'beta_1' is 1.5"),
        (lambda: do.Adam(1, beta_2=dr.nan), "'beta_2' is nan"),
        (lambda: do.Adam(1, epsilon=-1e-3), "'epsilon' is -0.001"),
        (lambda: do.Adam(1, epsilon="x"), "'epsilon' is of type str"),
        (lambda: do.AdamW(1, weight_decay=-1), r"opt.AdamW\(\): 'weight_decay' is -1"),
        (lambda: do.Muon(1, momentum=1), "'momentum' is 1"),
        (lambda: do.Muon(1, ns_steps=-1), "'ns_steps' is -1"),
        (lambda: do.Adam(1, params=3), "'params' is of type int, expected a mapping"),
        (lambda: do.GradScaler(init_scale=0), "'init_scale' is 0"),
        (lambda: do.GradScaler(growth_factor=0.5), "'growth_factor' is 0.5"),
        (lambda: do.GradScaler(backoff_factor=1), "'backoff_factor' is 1"),
        (lambda: do.GradScaler(growth_interval=-1), "'growth_interval' is -1"),
    ],
)
def test_constructors(make: Callable[[], Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_parameters_that_are_none() -> None:
    opt = do.Adam(0.1, {"x": Float(1)})
    for wrong in (3, UInt(1), PlainFloat(1), (Float(1), Float(2)), "x", None, Float):
        with pytest.raises(TypeError, match="the parameter 'y' is of type"):
            opt["y"] = wrong
    with pytest.raises(TypeError, match="the name is of type int"):
        opt[3] = Float(1)  # type: ignore[index]
    with pytest.raises(TypeError):  # all or nothing
        opt.update({"x": Float(9), "z": 3})
    assert list(opt) == ["x"] and list(opt["x"]) == [1]
    muon = do.Muon(0.1)
    for value in (Float(1, 2), TensorXf([1.0, 2]), TensorXf([[[1.0]]])):
        with pytest.raises(RuntimeError, match="expected a tensor with two axes"):
            muon["x"] = value
    muon.update({"a": Float(1), "b": TensorXf([[1.0, 2]]), "c": TensorXf([1.0])})
    assert list(muon) == ["b"]
    with pytest.raises(NotImplementedError, match="has no update rule"):
        do.Optimizer(1, {"x": Float(1)}).step()


def test_a_failure_changes_nothing() -> None:
    class Broken(do.SGD):
        def _advance(self, step: Any, p: Any) -> Any:
            if dr.width(p.value) == 2:
                raise ArithmeticError("broken")
            return super()._advance(step, p)

    opt = Broken(0.5, {"x": Float(1), "y": Float(1, 2)})
    dr.set_grad(opt["x"], Float(1))
    with pytest.raises(ArithmeticError):
        opt.step()
    assert list(opt["x"]) == [1] and list(dr.grad(opt["x"])) == [1]


def test_printing_of_a_loss_does_not_wait() -> None:
    file = io.StringIO()
    opt = do.SGD(0.5, {"x": Float(4)})
    for _ in range(2):
        loss = dr.square(opt["x"])
        dr.backward(loss)
        dr.print("{}", loss, mode="symbolic", file=file)
        opt.step()
    dr.sync_thread()
    assert file.getvalue() == "[16]\n[0]\n"


@pytest.mark.parametrize("cls", [do.SGD, do.RMSProp, do.Adam, do.AdamW])
def test_pickles_go_on(cls: Any) -> None:
    """An optimiser that was pickled takes the same steps."""

    def step(optimizer: Any) -> list[float]:
        x, y = optimizer["x"], optimizer["y"]
        dr.backward(dr.sum((x - 3) ** 2) + dr.sum(y.array * y.array))
        optimizer.step()
        return [*optimizer["x"], *optimizer["y"].array]

    first = cls(lr=0.1, params={"x": Float(1, 2), "y": TensorXf([[1, 5]])})
    step(first)
    others = [pickle.loads(pickle.dumps(first, protocol)) for protocol in (2, 5)]
    for _ in range(3):
        expected = step(first)
        assert [step(other) for other in others] == [expected] * 2
