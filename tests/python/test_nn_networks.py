"""Networks of drjit.nn: as mappings, trained by optimisers, as parts of programs."""

from __future__ import annotations

import gc
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit import nn, opt
from drjit.llvm.ad import (
    Float,
    Float16,
    Float64,
    TensorXf,
    TensorXf16,
    TensorXf64,
    TensorXu,
    UInt,
)
from engine_util import printed
from nn_util import KINDS, rng, values


def vec(n: int, leaf: Any = Float) -> Any:
    return nn.CoopVec(leaf(1), *range(1, n))


# ---------------------------------------------------------------- networks


def mlp(dtype: Any = TensorXf, **kwargs: Any) -> Any:
    net = nn.Sequential(
        nn.Linear(-1, 8, bias=False), nn.ReLU(), nn.Linear(-1, 3), **kwargs
    )
    return net.alloc(dtype, 2)


def test_allocation() -> None:
    net = nn.Sequential(
        nn.TriEncode(4), nn.Linear(-1, 8), nn.Tanh(), nn.Linear(), nn.Linear(-1, 3)
    )
    assert len(net) == 0 and list(net) == []
    made = net.alloc(TensorXf16, 2)
    assert len(net) == 0 and made is not net
    assert [v.shape for v in made.values()] == [
        (8, 16),
        (8,),
        (8, 8),
        (8,),
        (3, 8),
        (3,),
    ]
    assert all(type(v) is TensorXf16 for v in made.values())
    assert repr(made) == (
        "Sequential(\n  TriEncode(octaves=4, shift=0, in_channels=2, out_features=16),"
        "\n  Linear(in_features=16, out_features=8),\n  Tanh(),"
        "\n  Linear(in_features=8, out_features=8),"
        "\n  Linear(in_features=8, out_features=3)\n)"
    )
    assert nn.Linear(4).alloc(TensorXf).config == (4, 4, True)
    for value in made.values():
        assert value.array.state == dr.VarState.Evaluated


def test_initial_weights() -> None:
    """As the published package has them: numbers that it has printed."""
    right = [
        [-0.15072733163833618, -0.37873345613479614],
        [-0.37843021750450134, 0.37355709075927734],
        [-0.18847453594207764, 0.3885735869407654],
    ]
    for _, tensor, dtype, _ in KINDS.values():
        net = nn.Linear(2, 3).alloc(tensor)
        assert np.array_equal(net["weights"].numpy(), np.array(right, dtype))
        assert net["bias"].numpy().tolist() == [0, 0, 0]
    first, second = (nn.Linear(50, 400).alloc(TensorXf, rng=dr.rng(7)) for _ in "ab")
    w = first["weights"].numpy()
    assert np.array_equal(w, second["weights"].numpy())
    assert 0.0499 < w.max() < 0.05 and -0.05 < w.min() < -0.0499  # 1 / sqrt(400)
    assert abs(w.std() - 0.05 / np.sqrt(3)) < 3e-4


def evaluated(net: Any, x: Any) -> Any:
    """A network of linear layers and ReLUs in double precision."""
    for i, layer in enumerate(net.layers):
        if isinstance(layer, nn.Linear):
            x = net[f"layers.{i}.weights"].numpy().astype(np.float64) @ x
            if f"layers.{i}.bias" in net:
                x = x + net[f"layers.{i}.bias"].numpy().astype(np.float64)[:, None]
        else:
            x = np.maximum(x, 0)
    return x


@pytest.mark.parametrize("layout", ["inference", "training"])
@pytest.mark.parametrize("kind", KINDS)
def test_evaluation(kind: str, layout: str) -> None:
    leaf, tensor, dtype, tolerance = KINDS[kind]
    net, x = mlp(tensor), rng().normal(size=(2, 50)).astype(dtype)
    net["layers.2.bias"] = tensor([1, 2, 3])
    right = evaluated(net, x.astype(np.float64))
    packed = nn.pack(net, layout=layout)
    assert type(packed) is nn.Sequential and list(packed) == ["weights"]
    found = packed(nn.CoopVec(tensor(x)))
    assert found.type is leaf
    assert np.allclose(values(found), right, rtol=tolerance, atol=4 * tolerance)
    assert np.allclose(net(tensor(x)).numpy(), right, rtol=9 * tolerance, atol=5e-3)


def test_mapping() -> None:
    net = mlp()
    names = ["layers.0.weights", "layers.2.weights", "layers.2.bias"]
    assert list(net) == names == list(mlp()) and len(net) == 3
    assert "layers.2.bias" in net and "x" not in net and 3 not in net
    assert net.get("x") is None and net["layers.2.bias"].shape == (3,)
    net["layers.2.bias"] = TensorXf([1, 2, 3])
    assert net.layers[2].bias.numpy().tolist() == [1, 2, 3]
    net.update({"layers.2.bias": TensorXf([3, 2, 1])})
    assert net["layers.2.bias"].numpy().tolist() == [3, 2, 1]
    outer = nn.Sequential(mlp(prefix="inner"), nn.Linear(3, 1), prefix="outer")
    assert list(outer.alloc(TensorXf)) == [
        "outer.layers.0.layers.0.weights",
        "outer.layers.0.layers.2.weights",
        "outer.layers.0.layers.2.bias",
        "outer.layers.1.weights",
        "outer.layers.1.bias",
    ]
    assert list(nn.pack(outer.alloc(TensorXf))) == ["outer.weights"]
    assert net != mlp() and net == net and hash(net) == hash(net)


def test_packed_mapping() -> None:
    packed = nn.pack(mlp(), layout="training")
    buffer = packed["weights"]
    assert type(buffer) is Float and len(buffer) == 16 + 24 + 3
    new = dr.arange(Float, 43)
    packed["weights"] = new
    assert packed.layers[0].weights.buffer is packed.layers[2].bias.buffer
    assert packed["weights"] is packed.layers[0].weights.buffer
    y = packed(nn.CoopVec(Float(1), 0))
    hidden = np.arange(0, 16, 2)
    right = np.arange(16, 40).reshape(3, 8) @ hidden + np.arange(40, 43)
    assert np.array_equal(values(y)[:, 0], right)
    first, second = nn.pack(mlp(), mlp())  # parts of one buffer are not parameters
    assert list(first) == list(second) == []
    assert first.layers[0].weights.buffer is second.layers[0].weights.buffer
    both = nn.Sequential(nn.pack(mlp()), nn.pack(nn.Linear(3, 1).alloc(TensorXf)))
    assert list(both) == []  # two buffers
    assert list(nn.pack(both)) == ["weights"]


class Residual(nn.Module):
    """A user's module."""

    DRJIT_STRUCT = {"inner": nn.Module, "gain": TensorXf, "more": list}

    def __init__(self) -> None:
        self.inner = nn.Linear()
        self.gain = None
        self.more = [nn.ReLU(), {"last": nn.Linear()}]

    def _alloc(self, dtype: Any, size: int, rng: Any) -> Any:
        made = Residual()
        made.inner, size = self.inner._alloc(dtype, size, rng)
        made.gain = dtype([2] * size)
        last, size = self.more[1]["last"]._alloc(dtype, size, rng)
        made.more = [self.more[0], {"last": last}]
        return made, size

    def __call__(self, x: Any) -> Any:
        return self.more[1]["last"](self.more[0](self.inner(x))) + x


def test_users_modules() -> None:
    net = nn.Sequential(Residual(), nn.Linear(-1, 1)).alloc(TensorXf, 2)
    assert list(net) == [
        "layers.0.inner.weights",
        "layers.0.inner.bias",
        "layers.0.gain",
        "layers.0.more.1.last.weights",
        "layers.0.more.1.last.bias",
        "layers.1.weights",
        "layers.1.bias",
    ]
    packed = nn.pack(net)
    assert list(packed) == ["weights"] and len(packed["weights"]) == 6 + 2 + 6 + 3
    x = np.array([[0.5], [-0.25]], np.float32)
    h = net["layers.0.inner.weights"].numpy() @ x
    h = net["layers.0.more.1.last.weights"].numpy() @ np.maximum(h, 0) + x
    right = net["layers.1.weights"].numpy() @ h
    assert np.allclose(values(packed(nn.CoopVec(TensorXf(x)))), right, atol=1e-6)
    assert np.allclose(net(TensorXf(x)).numpy(), right, atol=1e-6)
    with pytest.raises(NotImplementedError, match=r"nn.Module.__call__\(\)"):
        nn.Module()(vec(1))
    assert repr(Residual()) == "Residual()"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.Linear(0, 3), "'in_features' is 0, expected a number of at least"),
        (lambda: nn.Linear(2, -3), "'out_features' is -3"),
        (lambda: nn.Linear("a"), "'in_features' is of type str"),
        (lambda: nn.Linear().alloc(TensorXf), "the number of inputs of a layer is not"),
        (lambda: nn.Linear(2).alloc(Float), "the type of weights is Float, expected"),
        (lambda: nn.Linear(2).alloc(TensorXu), "the type of weights is TensorXu"),
        (lambda: nn.Linear(2).alloc(3), "the type of weights is 3"),
        (lambda: nn.Linear(2).alloc(dr.scalar.TensorXf), "of a just-in-time backend"),
        (lambda: nn.Linear(2).alloc(TensorXf, "a"), "'size' is of type str"),
        (lambda: nn.Linear(2).alloc(TensorXf, 0), "'size' is 0"),
        (lambda: nn.Linear(2).alloc(TensorXf, rng=5), "'rng' is of type int"),
        (lambda: nn.Sequential(nn.ReLU(), 3), "layer 1 is of type int"),
        (lambda: nn.Sequential(prefix=3), "'prefix' is of type int"),
        (lambda: nn.Linear(2, 3)(vec(2)), "the network has no weights, expected one"),
        (lambda: mlp()(vec(2)), "the network is not packed"),
        (lambda: nn.pack(mlp())(TensorXf([[1], [2]])), "the network is packed"),
        (lambda: nn.pack(mlp())(vec(3)), "'x' has 3 components, expected 2"),
        (lambda: nn.pack(mlp())(vec(2, Float16)), "A: Float32, x: Float16"),
        (lambda: mlp()(TensorXf([[1]])), r"of shape \(1, 1\), expected \(2, N\)"),
        (lambda: mlp()(TensorXf16([[1], [2]])), "the input is of type TensorXf16"),
        (lambda: mlp()([1, 2]), "the input is of type list"),
        (lambda: nn.ReLU()("x"), r"drjit.maximum\(<str>"),
        (lambda: nn.LeakyReLU("x"), "'negative_slope' is of type str"),
        (lambda: nn.ScaleAdd("x"), "'scale' is of type str"),
        (lambda: nn.ScaleAdd(2)(vec(1)), "'offset' is None, expected a number"),
        (lambda: nn.Cast(int), r"nn.Cast\(\): the target type is int"),
        (lambda: nn.Cast()(vec(1)), "'dtype' is None"),
        (lambda: nn.Cast(Float16)(3), "the input is of type int"),
        (lambda: nn.SinEncode(-1), "'octaves' is -1"),
        (lambda: nn.SinEncode(1, "x"), "'shift' is of type str"),
        (lambda: nn.SinEncode(0)(vec(1)), "'octaves' is 0"),
        (lambda: nn.TriEncode(2)(TensorXf([1])), r"of shape \(1,\), expected \(C, N\)"),
        (lambda: nn.TriEncode(2)(Float(1)), "the input is of type Float"),
        (lambda: set_entry(mlp(), "x", 1), "^'x'$"),
        (lambda: mlp().update({"x": 1}), "^'x'$"),
        (lambda: mlp().update(opt.SGD(1, {"x": Float(1)})), "^'x'$"),
        (lambda: set_entry(mlp(), "layers.2.bias", 1), "is of type int, expected a te"),
        (lambda: set_entry(mlp(), "layers.2.bias", Float(1)), "is of type Float, exp"),
        (
            lambda: set_entry(mlp(), "layers.2.bias", TensorXf16([1, 2, 3])),
            "expected a tensor of entries of type Float32",
        ),
        (
            lambda: set_entry(mlp(), "layers.2.bias", TensorXf([1])),
            r"has the shape \(1,\), expected \(3,\)",
        ),
        (
            lambda: set_entry(nn.pack(mlp()), "weights", Float(1)),
            r"has the shape \(1,\), expected \(43,\)",
        ),
        (lambda: mlp().clear(), "cannot be deleted"),
    ],
)
def test_bad_networks(make: Callable[[], Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError, RuntimeError, KeyError), match=message):
        make()


def set_entry(net: Any, key: str, value: Any) -> None:
    net[key] = value


# ---------------------------------------------------------------- optimisers


def test_optimisers() -> None:
    net = mlp()
    adam = opt.Adam(lr=1e-3)
    adam.update(net)
    assert list(adam) == list(net)
    net.update(adam)
    assert net["layers.2.bias"].index == adam["layers.2.bias"].index
    assert dr.grad_enabled(net["layers.2.bias"])
    muon = opt.Muon(lr=0.02)
    muon.update(net)
    assert list(muon) == ["layers.0.weights", "layers.2.weights"]
    muon.update(nn.pack(net))
    assert list(muon) == ["layers.0.weights", "layers.2.weights"]
    packed = nn.pack(mlp(TensorXf16), layout="training")
    adam = opt.Adam(lr=1e-3, params=packed)
    assert list(adam) == ["weights"] and type(adam["weights"]) is Float16
    packed.update(adam)
    assert dr.grad_enabled(packed["weights"])


def test_one_optimiser_of_two_networks() -> None:
    first, second = mlp(prefix="a"), mlp(prefix="b")
    sgd = opt.SGD(lr=1)
    sgd.update(first)
    sgd.update(second)
    first.update(sgd)
    second.update(sgd)
    y = nn.pack(first)(nn.CoopVec(Float(1), 2)) + nn.pack(second)(vec(2))
    dr.backward(dr.sum(list(y)[0]))
    for key in ("a.layers.2.bias", "b.layers.2.bias"):
        assert dr.grad(sgd[key]).numpy().tolist() == [1, 0, 0]


def target(x: Any, y: Any) -> Any:
    return dr.sin(6 * x) * y + x * x


def test_training() -> None:
    """A function of two variables, in half precision, with a packed buffer."""
    net = nn.Sequential(
        nn.Cast(Float16),
        nn.TriEncode(4, 0.2),
        nn.Linear(-1, 16),
        nn.LeakyReLU(),
        nn.Linear(-1, 16),
        nn.LeakyReLU(),
        nn.Linear(-1, 1),
    )
    net = nn.pack(net.alloc(TensorXf16, 2), layout="training")
    adam = opt.Adam(lr=2e-2, params=net)
    scaler = opt.GradScaler()

    @dr.freeze
    def turn(net: Any, adam: Any, scaler: Any, x: Any, y: Any) -> Any:
        net.update(adam)
        (found,) = net(nn.CoopVec(x, y))
        loss = dr.mean(dr.square(Float(found) - target(x, y)))
        dr.backward(scaler.scale(loss))
        scaler.step(adam)
        return loss

    random = dr.rng(3)
    losses = []
    for _ in range(300):
        x, y = (random.random(Float, 1024) for _ in "xy")
        losses.append(turn(net, adam, scaler, x, y))
    losses = [loss[0] for loss in losses]
    assert losses[0] > 0.1 and np.mean(losses[-50:]) < 4e-3  # over values of -1 to 2
    assert turn.n_recordings == 2  # the second one with gradients of former steps


def test_training_of_tensors() -> None:
    """Muon for matrices, AdamW for the rest, as the reference has it."""
    net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(-1, 1)).alloc(TensorXf)
    muon, adamw = opt.Muon(lr=0.02), opt.AdamW(lr=1e-2)
    muon.update(net)
    adamw.update({k: net[k] for k in net if len(net[k].shape) == 1})
    x = rng().random((2, 256)).astype(np.float32)
    right = TensorXf(np.sin(3 * x[:1]) * x[1:])
    losses = []
    for _ in range(150):
        net.update(muon)
        net.update(adamw)
        loss = dr.mean(dr.square(net(TensorXf(x)) - right), axis=None)
        dr.backward(loss)
        muon.step()
        adamw.step()
        losses.append(loss.array[0])
    assert losses[-1] < losses[0] / 20


# ---------------------------------------------------------------- programs


def test_loops(mode: str) -> None:
    packed = nn.pack(nn.Sequential(nn.Linear(2, 2), nn.Tanh()).alloc(TensorXf))

    @dr.syntax
    def run(v: Any, count: Any) -> Any:
        i = UInt(0)
        while i < count:
            v = packed(v)
            i += 1
        return v

    x = rng().normal(size=(2, 4)).astype(np.float32)
    found = run(nn.CoopVec(TensorXf(x)), UInt(0, 1, 2, 3))
    assert type(found) is nn.CoopVec
    A, right = TensorXf(nn.unpack(packed).layers[0].weights).numpy(), x.copy()
    for i in range(3):
        step = np.tanh(A @ right)
        right = np.where(np.arange(4) > i, step, right)
    assert np.allclose(values(found), right, atol=1e-6)


def test_conditionals_and_calls(mode: str) -> None:
    nets = [nn.pack(nn.Linear(2, 2).alloc(TensorXf, rng=dr.rng(i))) for i in (1, 2)]
    x = rng().normal(size=(2, 5)).astype(np.float32)
    v = nn.CoopVec(TensorXf(x))
    which = np.array([0, 1, 1, 0, 1])
    both = [values(net(v)) for net in nets]
    right = np.where(which, both[1], both[0])
    found = dr.switch(UInt(which), nets, v)
    assert np.allclose(values(found), right)
    found = dr.if_stmt((v,), UInt(which) == 1, nets[1], nets[0])
    assert np.allclose(values(found), right)


def test_gradients_through_control_flow(mode: str) -> None:
    net = nn.Linear(2, 2).alloc(TensorXf64)
    v = Float64(0.3, -0.2, 0.1)

    def function(weights: Any, x: Any) -> Any:
        made = nn.Linear(2, 2)
        made.weights, made.bias = weights, None
        packed = nn.pack(made, layout="training")

        def body(i: Any, v: Any) -> Any:
            return i + 1, dr.tanh(packed(v))

        state: Any = UInt(0), nn.CoopVec(x, 1)
        _, v = dr.while_loop(state, lambda i, v: i < 3, body, max_iterations=3)
        return list(v)

    dr.check_grad(function, net["weights"], v)


def test_frozen_functions() -> None:
    @dr.freeze
    def run(net: Any, v: Any) -> Any:
        return net(v) * 2

    for seed in range(4):
        net = nn.pack(mlp_from(seed))
        x = rng(seed).normal(size=(2, 5 + seed)).astype(np.float32)
        right = 2 * evaluated(mlp_from(seed), x.astype(np.float64))
        found = run(net, nn.CoopVec(TensorXf(x)))
        assert type(found) is nn.CoopVec
        assert np.allclose(values(found), right, atol=1e-5)
    assert run.n_recordings == 1


def mlp_from(seed: int) -> Any:
    net = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3))
    return net.alloc(TensorXf, rng=dr.rng(seed))


def evaluate(net: Any, v: Any) -> Any:
    return list(net(v))


def test_recordings_in_files(tmp_path: Path) -> None:
    frozen = dr.freeze(evaluate)
    net = nn.pack(nn.Sequential(mlp(), nn.HashEncodingLayer(hash_grid())))
    v = nn.CoopVec(Float(0.1, 0.3), 0.7)
    right = values(frozen(net, v))
    frozen.save(tmp_path / "recording")
    loaded = dr.load_frozen(tmp_path / "recording", evaluate)
    assert np.array_equal(values(loaded(net, v)), right)
    assert loaded.n_recordings == 0  # all were in the file


def hash_grid() -> Any:
    return nn.HashGridEncoding(Float, 3, n_levels=3, hashmap_size=256)


def test_saving() -> None:
    net = mlp(TensorXf16)
    file = io.BytesIO()
    np.savez(file, **{key: value.numpy() for key, value in net.items()})
    file.seek(0)
    other = nn.Sequential(
        nn.Linear(-1, 8, bias=False), nn.ReLU(), nn.Linear(-1, 3)
    ).alloc(TensorXf16, 2, rng=dr.rng(9))
    stored = np.load(file)
    other.update({key: TensorXf16(stored[key]) for key in stored})
    x = nn.CoopVec(Float16(1, 2), 3)
    assert np.array_equal(values(nn.pack(net)(x)), values(nn.pack(other)(x)))


def test_pytrees() -> None:
    packed = nn.pack(mlp())
    again = dr.copy(packed)
    assert list(again) == ["weights"] and type(again) is nn.Sequential
    assert type(again.layers[0].weights) is nn.MatrixView
    assert again.layers[0].weights.layout == "inference"
    v = dr.copy(nn.CoopVec(Float(1, 2), 3))
    assert values(v).tolist() == [[1, 2], [3, 3]]
    assert dr.width(v) == 2
    dr.eval(v)
    dr.enable_grad(v)
    dr.backward(list(v * v)[0])
    assert dr.grad(list(v)[0]).numpy().tolist() == [2, 4]


PROGRAM = """
import numpy as np, drjit as dr
from drjit import nn
from drjit.llvm.ad import *
rng = np.random.default_rng(1)
for leaf, tensor in ((Float16, TensorXf16), (Float, TensorXf), (Float64, TensorXf64)):
    net = nn.Sequential(
        nn.SinEncode(3, .2), nn.Linear(-1, 12), nn.LeakyReLU(), nn.Linear(-1, 7),
        nn.TriEncode(2), nn.Linear(-1, 5), nn.Tanh(), nn.Exp2(), nn.ScaleAdd(2, 1))
    net = nn.pack(net.alloc(tensor, 2), layout="training")
    start = [rng.normal(size=50) for _ in range(2)]
    for fixed in (False, True):
        dr.set_flag(dr.JitFlag.Deterministic, fixed)
        x = [leaf(value) for value in start]
        net["weights"] = leaf(dr.detach(net["weights"]))
        dr.enable_grad(x, net["weights"])
        y = list(net(nn.CoopVec(x)))
        dr.backward(dr.sum([dr.sum(value * (i + 1)) for i, value in enumerate(y)]))
        sums = [dr.grad(net["weights"])] if fixed else []
        for value in (*y, *dr.grad(x), *sums):
            print(value.numpy().tobytes().hex())
"""


def test_engines_agree() -> None:
    """Gradients of weights are sums over lanes, in one order if that is asked for."""
    texts = printed(PROGRAM)
    assert len(texts[0]) > 5_000 and all(text == texts[0] for text in texts)


def test_nothing_leaks() -> None:
    def turn() -> None:
        net = mlp()
        dr.enable_grad(net["layers.0.weights"])
        packed = nn.pack(net, layout="training")
        y = packed(nn.CoopVec(Float(1, 2), 3))
        dr.backward(dr.sum(list(y)[0]))
        with pytest.raises(ValueError, match="components"):
            packed(vec(3))

    def alive() -> int:
        gc.collect()
        return dr.whos(as_string=True).count("\n")

    turn()
    before = alive()
    for _ in range(5):
        turn()
    assert alive() == before
