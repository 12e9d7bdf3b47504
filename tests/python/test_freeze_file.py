"""``FrozenFunction.save`` and ``drjit.load_frozen``.

The reference is the function itself: what another process has loaded gives the same
bits for the same inputs, of other sizes, too, with any engine.
"""

from __future__ import annotations

import copy
import enum
import hashlib
import io
import json
import os
import pickle
import random
import subprocess
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import drjit as dr
import numpy as np
import pytest
from drjit import nn, scalar
from drjit.llvm import (
    Array2f,
    Array3f,
    Float,
    Float16,
    TensorXf,
    TensorXf16,
    Texture2f,
    UInt,
)
from drjit.llvm.ad import Float as Tracked

SIZES = (64, 5, 1000, 40000)


class Kind(enum.Enum):
    SUM = 1
    MAX = 2


class Options(enum.Flag):
    LEFT = 1
    RIGHT = 2


@dataclass
class Pair:
    x: Float
    y: Float


class Named(NamedTuple):
    x: Float
    y: Float


class Scene:
    DRJIT_STRUCT = {"points": Array3f, "scale": Float}

    def __init__(self) -> None:
        self.points = Array3f()
        self.scale = Float()


def ramp(size: int) -> Float:
    x = dr.arange(Float, size) * 0.5 + 1
    dr.eval(x)
    return x


def normalized(x: Float) -> Float:
    return x / dr.sqrt(dr.sum(dr.square(x)))


def selected(x: Float, i: UInt) -> tuple[Float, Float]:
    chosen = dr.gather(Float, x, dr.compress(x > 1.2))
    return chosen, dr.sum(chosen)


def scattered(x: Float, i: UInt) -> None:
    dr.scatter(x, dr.gather(Float, x, i) * 2, i)


def structured(scene: Scene, pair: Pair, kind: Kind, cls: type, more: dict) -> Any:
    factor = 2 if kind is Kind.SUM else 3
    table = cls([5, 6, 7, 8])
    scaled = scene.points * scene.scale * factor
    more["seen"] = scaled.x + pair.x * pair.y
    return {"p": Pair(scaled.x, scaled.y), "t": (table, "text", 1.5)}


def descended(x: Tracked, target: Tracked) -> Tracked:
    loss = dr.sum(dr.square(x - target))
    dr.backward(loss)
    return loss


def shaped(x: TensorXf, y: TensorXf) -> Any:
    """Extents are sizes: of the input, of results, and numbers among these."""
    rows = dr.sum(x, axis=1)
    return x * 2 + 1, rows, x.shape[0] * 2, dr.reshape(x, (-1, 1)), y + x.shape[1]


def halved(x: Float, i: UInt) -> tuple[Float, UInt, Float]:
    y, n = dr.while_loop(
        state=(x, UInt(0)),
        cond=lambda y, n: y > 2,
        body=lambda y, n: (y * 0.5, n + 1),
        mode="evaluated",
    )
    return y, n, dr.gather(Float, y, i)


def printed(x: Float, scale: int) -> Float:
    y = x * scale
    dr.print("{}: {y=}", "scaled", y=dr.sum(y), limit=7)
    return y


def careful(x: Float, i: UInt) -> Float:
    y = dr.gather(Float, x * 2, dr.compress(i > 2)) if x[0] == 1 else x
    return y + 1 if (dr.min(x) * 2)[0] > 1 else -x


def mixed(x: Float, y: scalar.Array3f, z: scalar.ArrayXu, t: Float) -> Any:
    """Arrays of drjit.scalar are values."""
    return x * y.x + z[1], y, t


def encoded(grid: Any, x: Float) -> Any:
    return [grid([x * 0.01, x * 0.02]), grid.level_offset(1)]


def inferred(net: Any, x: Float) -> Any:
    return list(net(nn.CoopVec(x * 0.01, 0.5)))


def looked_up(texture: Any, x: Float) -> Any:
    return texture.eval(Array2f(x * 0.013, 0.3)), texture.eval_cubic(Array2f(0.7, x))


STEPS = (1, 2.5)


def stepped(x: Float) -> Float:
    return x * STEPS[0] + STEPS[1]


def helped(x: Float, which: set[str], negative: float) -> Float:
    """It reads a module, classes, a function and by way of that a tuple."""
    y = stepped(x) + len(which)
    return dr.select(x > 2, y, Float(negative)) if "a" in which else y


def named(t: Named) -> Named:
    return t._replace(y=t.x + t.y)


def first(n: int) -> tuple[Any, ...]:
    return (ramp(n),)


def two(n: int) -> tuple[Any, ...]:
    i = UInt(n - 1) - dr.arange(UInt, n)
    dr.eval(i)
    return ramp(n), i


def scene(n: int) -> tuple[Any, ...]:
    s = Scene()
    s.points, s.scale = Array3f(ramp(n), ramp(n) + 1, ramp(n) + 2), Float(3)
    pair = Pair(ramp(n) * 3, ramp(n) + 4)
    both = Options.LEFT | Options.RIGHT
    more = {"seen": Float(0), "other": (1, None, b"x", 2j, True, both)}
    dr.make_opaque(s, pair, more)
    return s, pair, Kind.SUM, Float, more


def tensor(n: int) -> tuple[Any, ...]:
    x = TensorXf(dr.arange(Float, 4 * n), (n, 4))
    y = TensorXf(dr.arange(Float, n + 6), (1, n + 6))
    dr.eval(x, y)
    return x, y


def printing(n: int) -> tuple[Any, ...]:
    return ramp(n), 3


def scalars(n: int) -> tuple[Any, ...]:
    return ramp(n), scalar.Array3f(1.5, 2, 3), scalar.ArrayXu(4, 5), ramp(n) + 1


def helping(n: int) -> tuple[Any, ...]:
    return ramp(n), {"a", "b"}, -0.0


def pair(n: int) -> tuple[Any, ...]:
    t = Named(ramp(n), ramp(n) + 1)
    dr.eval(t)
    return (t,)


def of_encoding(kind: type, dtype: type) -> Any:
    def make(n: int) -> tuple[Any, ...]:
        return kind(dtype, 2, n_levels=3, hashmap_size=256, rng=dr.rng(1)), ramp(n)

    return make


def of_network(dtype: type, layout: str) -> Any:
    def make(n: int) -> tuple[Any, ...]:
        layers = nn.Cast(dr.leaf_t(dtype)), nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 3)
        net = nn.Sequential(*layers).alloc(dtype, rng=dr.rng(2))
        return nn.pack(net, layout=layout), ramp(n)

    return make


def of_texture(n: int) -> tuple[Any, ...]:
    texels = TensorXf(dr.rng(3).random(Float, 5 * 6 * 3), (5, 6, 3))
    return Texture2f(texels, wrap_mode=dr.WrapMode.Mirror), ramp(n)


CASES = {
    "grid": (encoded, of_encoding(nn.HashGridEncoding, Float)),
    "lattice": (encoded, of_encoding(nn.PermutoEncoding, Float16)),
    "network": (inferred, of_network(TensorXf, "inference")),
    "half_network": (inferred, of_network(TensorXf16, "training")),
    "texture": (looked_up, of_texture),
    "normalized": (normalized, first),
    "selected": (selected, two),
    "scattered": (scattered, two),
    "structured": (structured, scene),
    "shaped": (shaped, tensor),
    "halved": (halved, two),
    "printed": (printed, printing),
    "careful": (careful, two),
    "mixed": (mixed, scalars),
    "helped": (helped, helping),
    "named": (named, pair),
}
OPTIONS = {"careful": {"allow_reads": True}}


def listed(value: Any) -> Any:
    if isinstance(value, dr.ArrayBase):
        if dr.is_tensor_v(value):
            return [list(value.shape), list(value.array)]
        if dr.depth_v(value) > 1:
            return [listed(entry) for entry in value]
        return list(value)
    if isinstance(value, nn.MatrixView):
        return [value.offset, value.shape, list(value.buffer)]
    if isinstance(value, dict):
        return {key: listed(entry) for key, entry in value.items()}
    if isinstance(value, (tuple, list)):
        return [listed(entry) for entry in value]
    if hasattr(value, "__dict__") and not isinstance(value, (enum.Enum, type)):
        return {key: listed(entry) for key, entry in vars(value).items()}
    return value


def check(name: str, frozen: Any) -> None:
    """The loaded function, and the function, do the same for all sizes."""
    function, make = CASES[name]
    for size in SIZES:
        one, other = make(size), make(size)
        assert listed((frozen(*one), one)) == listed((function(*other), other))
    assert frozen.n_recordings == 0


def save_all(folder: Path) -> None:
    for name, (function, make) in CASES.items():
        frozen = dr.freeze(function, **OPTIONS.get(name, {}))
        frozen(*make(64))
        frozen(*make(64))
        assert frozen.n_recordings == 1
        frozen.save(folder / name)


def run(code: str, folder: Path, **environment: str) -> None:
    here = str(Path(__file__).parent)
    paths = [here, *sys.path]
    subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment},
    )


PROBE = "from drjit.llvm import Float; print(Float(2, 3) + 1)"

SAVE = """
import pathlib, sys, test_freeze_file as t
t.save_all(pathlib.Path(sys.argv[1]))
"""

OTHER = """
import sys, drjit as dr, test_freeze_file as t
for name in t.CASES:
    t.check(name, dr.load_frozen(f"{sys.argv[1]}/{name}"))
"""


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"DRJIT_CPU_ENGINE": "interp"},
        {"DRJIT_CPU_ENGINE": "native", "DRJIT_NATIVE_ISA": "avx2"},
        {"DRJIT_CPU_ENGINE": "llvm"},
    ],
    ids=lambda environment: "-".join(environment.values()) or "same",
)
def test_other_process(tmp_path: Path, environment: dict[str, str]) -> None:
    try:
        run(PROBE, tmp_path, **environment)
    except subprocess.CalledProcessError:
        pytest.skip("the engine is not there")
    run(SAVE, tmp_path)
    run(OTHER, tmp_path, **environment)


@pytest.mark.parametrize("name", CASES)
def test_same_process(tmp_path: Path, name: str) -> None:
    function, make = CASES[name]
    frozen = dr.freeze(function, **OPTIONS.get(name, {}))
    frozen(*make(64))
    frozen.save(tmp_path / "f")
    loaded = dr.load_frozen(tmp_path / "f")
    assert loaded.n_cached_recordings == 1
    assert loaded.__name__ == function.__name__
    check(name, loaded)
    loaded.save(tmp_path / "g")
    check(name, dr.load_frozen(tmp_path / "g"))
    given = dr.load_frozen(tmp_path / "f", function)
    check(name, given)
    assert "loaded from" in given.explain()


def test_derivatives(tmp_path: Path) -> None:
    def step(function: Any) -> Any:
        x, target = Tracked(1, 2, 3), Tracked(3, 3, 4)
        dr.make_opaque(x, target)
        dr.enable_grad(x)
        loss = function(x, target)
        return list(loss), list(dr.grad(x))

    frozen = dr.freeze(descended)
    expected = step(frozen)
    assert expected == ([6], [-4, -2, -2])
    frozen.save(tmp_path / "f")
    assert step(dr.load_frozen(tmp_path / "f")) == expected


def test_derivatives_through(tmp_path: Path) -> None:
    """They are recorded on demand, which takes the function."""

    def gradient(function: Any, size: int) -> list[float]:
        x = Tracked(ramp(size))
        dr.enable_grad(x)
        y = function(x)
        dr.backward(y)
        return list(dr.grad(x))

    def cubed(x: Tracked) -> Tracked:
        return x * x * x

    frozen = dr.freeze(cubed)
    gradient(frozen, 4)
    frozen.save(tmp_path / "f")
    given = dr.load_frozen(tmp_path / "f", cubed)
    for size in (5, 3):
        assert gradient(given, size) == gradient(cubed, size)
    assert given.n_recordings == 0
    loaded = dr.load_frozen(tmp_path / "f")
    x = Tracked(ramp(3))
    dr.enable_grad(x)
    y = loaded(x)
    assert list(y) == list(cubed(ramp(3)))
    with pytest.raises(RuntimeError, match="derivatives of 'cubed' need the function"):
        dr.backward(y)


def test_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frozen = dr.freeze(printed)
    frozen(*printing(4))
    frozen.save(tmp_path / "f")
    capsys.readouterr()
    loaded = dr.load_frozen(tmp_path / "f")
    for size in (4, 6):
        loaded(*printing(size))
        out = capsys.readouterr().out
        printed(*printing(size))
        assert out == capsys.readouterr().out != ""


class Sink:
    def write(self, text: str) -> None:
        pass


def test_what_prints_is_of_this_process(tmp_path: Path) -> None:
    frozen = dr.freeze(lambda x: dr.print("{}", x, file=Sink()))
    frozen(ramp(4))
    with pytest.raises(TypeError, match=r"'result.prints\[0\].settings\[2\]'.*Sink"):
        frozen.save(tmp_path / "f")

    def reports(x: Float) -> Float:
        def body(i: UInt) -> tuple[UInt]:
            dr.print("{}", i)
            return (i + 1,)

        return x + dr.while_loop((UInt(0),), lambda i: i < 2, body)[0]

    frozen = dr.freeze(reports)
    frozen(ramp(4))
    with pytest.raises(RuntimeError, match="a kernel prints"):
        frozen.save(tmp_path / "f")


class Shape(dr.Instance):
    def __init__(self, size: float) -> None:
        self.size = size


def test_instances_are_of_this_process(tmp_path: Path) -> None:
    shapes = dr.array_t(Shape)(Shape(2), Shape(3))
    frozen = dr.freeze(lambda x: shapes.size + x)
    frozen(ramp(2))
    with pytest.raises(RuntimeError, match="'<lambda>' depend on instances"):
        frozen.save(tmp_path / "f")


def test_checks(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Those of debug mode have the bounds of the day."""
    with dr.scoped_set_flag(dr.JitFlag.Debug):
        frozen = dr.freeze(lambda x, i: dr.gather(Float, x, i))
        frozen(*two(4))
        frozen.save(tmp_path / "f")
        loaded = dr.load_frozen(tmp_path / "f")
        x, i = two(8)
        assert list(loaded(x, i)) == list(x)[::-1]
        assert capfd.readouterr().err == ""
        loaded(x, i + 1)
        dr.sync_thread()
    assert "position 8 in an array of size 8" in capfd.readouterr().err


def test_literals(tmp_path: Path) -> None:
    """A literal that had changed is in memory, and may be another one."""
    frozen = dr.freeze(lambda x, y: x * y)
    for value in (2, 3):
        frozen(ramp(4), Float(value))
    frozen.save(tmp_path / "f")
    loaded = dr.load_frozen(tmp_path / "f")
    for value in (2, 3, 4):
        assert list(loaded(ramp(3), Float(value))) == list(ramp(3) * value)


SCALE = 3.0
SHARED = Float(1, 2, 3)


def test_closures(tmp_path: Path) -> None:
    frozen = dr.freeze(lambda x: x * SCALE)
    frozen(ramp(4))
    frozen.save(tmp_path / "f")
    assert list(dr.load_frozen(tmp_path / "f")(ramp(3))) == list(ramp(3) * SCALE)

    def shared(x: Float) -> Float:
        return x * SHARED

    dr.eval(SHARED)
    frozen = dr.freeze(shared)
    frozen(ramp(3))
    frozen.save(tmp_path / "f")
    with pytest.raises(ValueError, match="reads arrays from its closure"):
        dr.load_frozen(tmp_path / "f")
    loaded = dr.load_frozen(tmp_path / "f", shared)
    assert list(loaded(ramp(3))) == list(ramp(3) * SHARED)
    assert loaded.n_recordings == 0


def test_state(tmp_path: Path) -> None:
    weights = [ramp(4) + 7]
    dr.eval(weights)

    def weighted(x: Float) -> Float:
        return x * weights[0]

    frozen = dr.freeze(weighted, state_fn=lambda x: weights)
    expected = list(frozen(ramp(4)))
    frozen.save(tmp_path / "f")
    with pytest.raises(ValueError, match="recorded with a state_fn"):
        dr.load_frozen(tmp_path / "f")
    loaded = dr.load_frozen(tmp_path / "f", weighted, state_fn=lambda x: weights)
    assert list(loaded(ramp(4))) == expected
    assert loaded.n_recordings == 0


def test_no_fit(tmp_path: Path) -> None:
    frozen = dr.freeze(lambda x, n: x * n if dr.width(x) == 4 else x + n)
    with pytest.raises(RuntimeError, match="there is no recording of '<lambda>'"):
        frozen.save(tmp_path / "f")
    frozen(ramp(4), 2)
    frozen.save(tmp_path / "f")
    loaded = dr.load_frozen(tmp_path / "f")
    for arguments, message in (
        ((ramp(4), 3), r"'args\[1\]' is 3, and 2 in the recording"),
        ((UInt(1, 2), 2), r"'args\[0\]' is a drjit.llvm.UInt.*drjit.llvm.Float"),
        ((ramp(1), 2), r"'args\[0\]' has 1 entries, and 4"),
        ((ramp(5), 2), "(?s)sizes, contents or flags do not fit.*w2 == 4"),
        ((Float(2), 2), r"'args\[0\]'"),
        (([ramp(4)], 2), r"'args\[0\]' is a list of 1 entries"),
    ):
        with pytest.raises(RuntimeError, match=message):
            loaded(*arguments)
    with dr.scoped_set_flag(dr.JitFlag.KernelFreezing, False):
        with pytest.raises(RuntimeError, match="can only be repeated"):
            loaded(ramp(4), 2)
    assert list(loaded(ramp(4), 2)) == list(ramp(4) * 2)


def test_flags_and_scopes(tmp_path: Path) -> None:
    """What a recording depends on beside its inputs goes along."""
    frozen = dr.freeze(lambda x: dr.grad_enabled(x * 2))
    x = Tracked(1, 2)
    dr.enable_grad(x)
    dr.eval(x)
    with dr.suspend_grad():
        assert frozen(x) is False
    frozen.save(tmp_path / "f")
    loaded = dr.load_frozen(tmp_path / "f")
    with dr.suspend_grad():
        assert loaded(x) is False
    with pytest.raises(RuntimeError, match="fits"):
        loaded(dr.detach(x))
    with dr.suspend_grad(), dr.scoped_set_flag(dr.JitFlag.Debug):
        with pytest.raises(RuntimeError, match="flags do not fit"):
            loaded(x)


def test_one_object_twice(tmp_path: Path) -> None:
    def write(x: Float, y: Float) -> Float:
        dr.scatter(x, Float(9), UInt(0))
        return x + y

    def calls(function: Any) -> list[str]:
        found = []
        for same in (True, False):
            x = dr.opaque(Float, 1, 3)
            y = x if same else Float(x)
            found.append(str((function(x, y), x, y)))
        return found

    frozen = dr.freeze(write)
    assert calls(frozen) == calls(write)
    frozen.save(tmp_path / "file")
    loaded = dr.load_frozen(tmp_path / "file")
    assert calls(loaded) == calls(write)
    assert frozen.n_recordings == 2


def test_export_of_what_was_loaded(tmp_path: Path) -> None:
    frozen = dr.freeze(lambda x: x + 1)
    frozen(dr.opaque(Float, 1, 3))
    frozen.save(tmp_path / "file")
    loaded = dr.load_frozen(tmp_path / "file", frozen._function)
    assert "launch" in loaded.explain()
    with pytest.raises(RuntimeError, match="there is no recording of this process"):
        loaded.export(tmp_path / "folder", "name")


def test_content(tmp_path: Path) -> None:
    frozen = dr.freeze(lambda x, table: x + len(table))
    frozen(ramp(4), {1, 2})
    frozen.save(tmp_path / "f")
    loaded = dr.load_frozen(tmp_path / "f")
    assert list(loaded(ramp(3), {2, 1})) == list(ramp(3) + 2)
    with pytest.raises(RuntimeError, match=r"'args\[1\]' is a set.*: \{1, 3\}"):
        loaded(ramp(3), {1, 3})
    frozen = dr.freeze(lambda x, table: x + len(table))
    frozen(ramp(4), np.zeros(3))
    with pytest.raises(TypeError, match=r"'args\[1\]'.*content of a ndarray"):
        frozen.save(tmp_path / "f")


class Opaque:
    """It is compared by identity."""


def test_not_saved(tmp_path: Path) -> None:
    frozen = dr.freeze(lambda x, options: x + 1)
    thing = Opaque()
    frozen(ramp(4), {"a": [thing]})
    with pytest.raises(TypeError, match=r"input 'args\[1\]\['a'\]\[0\]'.*Opaque"):
        frozen.save(tmp_path / "f")

    @dataclass
    class Local:
        x: Float

    frozen = dr.freeze(lambda pair: pair.x + 1)
    frozen(Local(ramp(4)))
    with pytest.raises(TypeError, match=r"input 'args\[0\]'.*Local.*is not found"):
        frozen.save(tmp_path / "f")
    assert not list(tmp_path.iterdir())


def mutated(value: Any, draw: random.Random) -> Any:
    """The same with an entry, somewhere, that is another one."""
    if isinstance(value, dict) and value:
        key = draw.choice(list(value))
        return {**value, key: mutated(value[key], draw)}
    if isinstance(value, list) and value and draw.random() < 0.9:
        at = draw.randrange(len(value))
        return value[:at] + [mutated(value[at], draw)] + value[at + 1 :]
    return draw.choice(
        (0, 1, 2, 3, 7, 2**32, -1, None, True, "", "array", "drjit.llvm:UInt", [], [1])
    )


@pytest.mark.parametrize("name", CASES)
def test_damaged_notes(tmp_path: Path, name: str) -> None:
    """A file with the right hash whose notes do not fit is an error, or can be
    called."""
    function, make = CASES[name]
    frozen = dr.freeze(function, **OPTIONS.get(name, {}))
    frozen(*make(64))
    frozen.save(tmp_path / "f")
    recordings = list(frozen._recordings.values())[0]
    _, note = dr._core._freeze_inspect((tmp_path / "f").read_bytes()[:-32])
    draw = random.Random(1)
    for _ in range(300):
        damaged = json.loads(note)
        entry = damaged["recordings"][0]
        part = draw.choice(list(entry))
        entry[part] = mutated(entry[part], draw)
        block = dr._core._freeze_save(recordings, json.dumps(damaged).encode())
        signature = hashlib.blake2b(block, digest_size=32).digest()
        (tmp_path / "f").write_bytes(block + signature)
        try:
            dr.load_frozen(tmp_path / "f")(*make(8))
        except Exception as error:
            assert not isinstance(error, (SystemError, MemoryError)), error


def test_damage(tmp_path: Path) -> None:
    frozen = dr.freeze(normalized)
    frozen(ramp(4))
    path = tmp_path / "f"
    frozen.save(path)
    good = path.read_bytes()
    for place in range(0, len(good), 7):
        path.write_bytes(good[:place] + bytes([good[place] ^ 4]) + good[place + 1 :])
        with pytest.raises(RuntimeError, match="load_frozen"):
            dr.load_frozen(path)
    for size in (0, 8, 71, 72, len(good) - 1):
        path.write_bytes(good[:size])
        with pytest.raises(RuntimeError, match="load_frozen"):
            dr.load_frozen(path)
    with pytest.raises(FileNotFoundError, match=r"load_frozen\(\): cannot read"):
        dr.load_frozen(tmp_path / "absent")
    with pytest.raises(FileNotFoundError, match=r"save\(\): cannot write"):
        frozen.save(tmp_path / "absent" / "f")
    with pytest.raises(TypeError, match=r"load_frozen\(\): 'path' is of type int"):
        dr.load_frozen(3)
    with pytest.raises(TypeError, match=r"save\(\): 'path' is of type NoneType"):
        frozen.save(None)
    with pytest.raises(TypeError, match=r"whose read\(\) gives str, expected bytes"):
        dr.load_frozen(io.StringIO("text"))


def test_open_files() -> None:
    frozen = dr.freeze(normalized)
    frozen(ramp(4))
    file = io.BytesIO()
    frozen.save(file)
    loaded = dr.load_frozen(io.BytesIO(file.getvalue()))
    assert list(loaded(ramp(6))) == list(normalized(ramp(6)))
    assert "loaded from the file" in loaded.explain()


@pytest.mark.parametrize("known", ["nothing", "others", "another", "the same"])
def test_what_the_cache_knows(known: str) -> None:
    """Kernels with literals as parameters, and without, serve their own recordings."""

    def function(n: int) -> Any:
        return lambda x: dr.exp(x) * n

    dr.flush_kernel_cache()
    files = []
    for n in range(2, 6):  # from the second one on, the number is a parameter
        frozen = dr.freeze(function(n))
        frozen(ramp(4))
        files.append(io.BytesIO())
        frozen.save(files[-1])
    dr.flush_kernel_cache()
    for n in {"nothing": (), "others": (7, 8, 9), "another": (7,)}.get(known, (2,)):
        dr.eval(function(n)(ramp(4)))
    for k in (0, 3, 1, 2):
        files[k].seek(0)
        loaded = dr.load_frozen(files[k])
        assert list(loaded(ramp(6))) == list(function(k + 2)(ramp(6)))


def test_keys(tmp_path: Path) -> None:
    frozen = dr.freeze(normalized)
    frozen(ramp(4))
    signed, plain = tmp_path / "signed", tmp_path / "plain"
    frozen.save(signed, key=b"a key")
    frozen.save(plain)
    assert signed.read_bytes()[:-32] == plain.read_bytes()[:-32]
    loaded = dr.load_frozen(signed, key=b"a key")
    assert list(loaded(ramp(6))) == list(normalized(ramp(6)))
    for path, key, message in (
        (signed, None, "signed with a key, which has to be given"),
        (signed, b"another key", "damaged, or was signed with another key"),
        (plain, b"a key", "was not signed with a key"),
    ):
        with pytest.raises(RuntimeError, match=message):
            dr.load_frozen(path, key=key)
    for wrong, error, message in (
        ("text", TypeError, "'key' is of type str, expected bytes"),
        (b"", ValueError, "'key' has 0 bytes, expected 1 to 64"),
        (bytes(65), ValueError, "'key' has 65 bytes"),
    ):
        with pytest.raises(error, match=message):
            frozen.save(plain, key=wrong)
        with pytest.raises(error, match=message):
            dr.load_frozen(plain, key=wrong)
    dr.load_frozen(plain)  # it was not written to


# ---------------------------------------------------------------- pickles and copies


@dr.freeze
def doubled(x: Float) -> Float:
    return x * 2


@dr.freeze(state_fn=lambda x: SETTINGS["state"], warn_after=3)
def stated(x: Float) -> Float:
    return x * SETTINGS["state"]


SETTINGS = {"state": 3}


def test_pickle_by_name() -> None:
    """The function comes along by its name, with its recordings and parameters."""
    doubled.clear()
    for calls in (0, 1):
        arrived = pickle.loads(pickle.dumps(doubled))
        assert arrived is not doubled
        assert arrived.n_cached_recordings == calls
        assert list(arrived(ramp(8))) == list(ramp(8) * 2)
        assert arrived.n_recordings == 1 - calls
        assert list(arrived(UInt(1, 2))) == [2, 4]  # recorded there
        doubled(ramp(4))
    doubled.enabled = False
    assert not pickle.loads(pickle.dumps(doubled)).enabled
    doubled.enabled = True
    stated.clear()
    stated(ramp(4))
    arrived = pickle.loads(pickle.dumps(stated))
    assert arrived._warn_after == 3
    assert list(arrived(ramp(5))) == list(ramp(5) * 3)
    assert arrived.n_recordings == 0


@pytest.mark.parametrize("name", CASES)
def test_pickle_without_name(name: str) -> None:
    """Recordings of a function that only this process has."""
    function, make = CASES[name]
    inner = types.FunctionType(
        function.__code__, function.__globals__, function.__name__,
        function.__defaults__, function.__closure__,
    )  # fmt: skip
    frozen = dr.freeze(inner, **OPTIONS.get(name, {}))
    frozen.__wrapped__.__qualname__ = "nowhere"
    frozen(*make(64))
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        check(name, pickle.loads(pickle.dumps(frozen, protocol)))


def test_pickle_in_another_process(tmp_path: Path) -> None:
    doubled.clear()
    doubled(ramp(4))
    offset = 5
    closed = dr.freeze(lambda x: x + offset)
    closed(ramp(4))
    (tmp_path / "f").write_bytes(pickle.dumps([doubled, closed, doubled]))
    run(
        "import pickle, sys, drjit as dr, test_freeze_file as t\n"
        "first, closed, again = pickle.load(open(sys.argv[1] + '/f', 'rb'))\n"
        "assert first is again and first.n_cached_recordings == 1\n"
        "assert list(first(t.ramp(6))) == list(t.ramp(6) * 2)\n"
        "assert first.n_recordings == 0\n"
        "assert list(closed(t.ramp(6))) == list(t.ramp(6) + 5)\n",
        tmp_path,
    )


def test_pickle_of_other_code() -> None:
    """Where the function has other code, only the recordings are used."""
    doubled.clear()
    doubled(ramp(4))
    data = pickle.dumps(doubled)
    before = doubled._function.__code__
    try:
        doubled._function.__code__ = (lambda x: x * 3).__code__
        arrived = pickle.loads(data)
        assert list(arrived(ramp(8))) == list(ramp(8) * 2)
        with pytest.raises(RuntimeError, match="no recording of 'doubled' fits"):
            arrived(UInt(1, 2))
    finally:
        doubled._function.__code__ = before


def test_pickles_that_are_refused() -> None:
    with pytest.raises(TypeError, match="'<lambda>' cannot be pickled.*no recording"):
        pickle.dumps(dr.freeze(lambda x: x))
    array = dr.opaque(Float, 1, 4)
    closed = dr.freeze(lambda x: x + array)
    closed(ramp(4))
    with pytest.raises(TypeError, match="reads arrays from its closure"):
        pickle.dumps(closed)
    frozen = dr.freeze(lambda x: x + 1)
    frozen(ramp(4))
    data = pickle.dumps(frozen)
    start = data.index(b"djc-froz")
    end = start + int.from_bytes(data[start + 24 : start + 32], "little") + 32
    for place in range(start, end, 97):
        changed = data[:place] + bytes([data[place] ^ 16]) + data[place + 1 :]
        try:
            pickle.loads(changed)
        except Exception as error:
            assert not isinstance(error, (SystemError, MemoryError)), error
        else:
            raise AssertionError(f"byte {place} was not missed")
    doubled.clear()
    gone = pickle.dumps(doubled).replace(b"doubled", b"trebled")
    with pytest.raises(RuntimeError, match="needs the function '.*:trebled'"):
        pickle.loads(gone)


def test_copies() -> None:
    def function(x: Float) -> Float:
        return x + 1

    frozen = dr.freeze(function, warn_after=5)
    assert copy.copy(frozen).n_cached_recordings == 0
    frozen(ramp(4))
    for made in (copy.copy(frozen), copy.deepcopy([frozen])[0]):
        assert made is not frozen
        assert made._warn_after == 5
        assert made.n_cached_recordings == 1
        assert list(made(ramp(8))) == list(ramp(8) + 1)
        assert made.n_recordings == 0
        made(UInt(1, 2))
        made.clear()
        assert frozen.n_cached_recordings == 1
    file = io.BytesIO()
    frozen.save(file)
    loaded = copy.copy(dr.load_frozen(io.BytesIO(file.getvalue())))
    assert list(loaded(ramp(8))) == list(ramp(8) + 1)
    local = dr.freeze(lambda things: things.x + 1)
    local(Unnamed(ramp(4)))
    assert copy.copy(local).n_cached_recordings == 0  # that one cannot be saved


Unnamed = dataclass(type("Elsewhere", (), {"__annotations__": {"x": Float}}))
