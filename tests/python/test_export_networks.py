"""Hash grids, permutohedral lattices, networks and textures, exported to C and saved.

Functions that evaluate them, with their first derivatives, have the bits of the frozen
function and agree with the plain one, for other sizes than that of the recording.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import drjit as dr
import export_programs
import numpy as np
import pytest
from drjit import nn
from drjit.llvm.ad import (
    Array3f,
    Float,
    Float16,
    TensorXf,
    TensorXf16,
    Texture2f,
    Texture3f,
)
from test_export import Builds, Derivative, Library, bits, needs_tools

SIZES = (50, 1000, 7)

Arrays = dict[str, Any]


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Builds:
    return Builds(tmp_path_factory.mktemp("builds"))


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Sums by index have the order of the entries then."""
    count = dr.thread_count()
    dr.set_thread_count(1)
    yield
    dr.set_thread_count(count)


def encode(encoding: Any, p: Array3f) -> Any:
    return {"features": encoding(p)}


def infer(net: Any, p: Array3f) -> Any:
    """A network as it is trained: packed from its parameters."""
    return {"found": list(nn.pack(net, layout="training")(nn.CoopVec(p)))}


def infer_packed(net: Any, p: Array3f) -> Any:
    return {"found": list(net(nn.CoopVec(p)))}


def look_up(texture: Any, p: Array3f) -> Any:
    return {"linear": texture.eval(p.xy), "cubic": texture.eval_cubic(p.xy)}


def look_up_in(texels: TensorXf, p: Array3f) -> Any:
    return {"linear": Texture3f(texels).eval(p)}


def positions(n: int) -> Array3f:
    p = np.random.default_rng(n).random((3, n), np.float32)
    return Array3f(*(Float(row) for row in p))


def encoding(kind: type, dtype: type) -> Callable[[], Any]:
    return lambda: kind(
        dtype,
        3,
        n_levels=3,
        hashmap_size=512,
        base_resolution=5,
        init_scale=1,
        rng=dr.rng(1),
    )


def network(dtype: type, packed: bool = False) -> Callable[[], Any]:
    def make() -> Any:
        net = nn.Sequential(
            nn.Cast(dr.leaf_t(dtype)),
            nn.Linear(3, 16),
            nn.LeakyReLU(),
            nn.Linear(16, 16, bias=False),
            nn.Tanh(),
            nn.Linear(16, 2),
            nn.Cast(Float),
        ).alloc(dtype, rng=dr.rng(3))
        return nn.pack(net) if packed else net

    return make


def field() -> Any:
    """A network with a hash grid in front of it."""
    layer = nn.HashEncodingLayer(encoding(nn.HashGridEncoding, Float)())
    net = nn.Sequential(layer, nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
    return net.alloc(TensorXf, rng=dr.rng(3))


def texels(*shape: int) -> TensorXf:
    return TensorXf(export_programs.floats(int(np.prod(shape))).reshape(shape))


class Case(NamedTuple):
    function: Callable[..., Any]
    make: Callable[[], Any]  # the first argument; the second one are positions
    tolerance: float = 1e-4


CASES = {
    "grid": Case(encode, encoding(nn.HashGridEncoding, Float)),
    "grid_half": Case(encode, encoding(nn.HashGridEncoding, Float16), 0.02),
    "lattice": Case(encode, encoding(nn.PermutoEncoding, Float)),
    "lattice_half": Case(encode, encoding(nn.PermutoEncoding, Float16), 0.02),
    "network": Case(infer, network(TensorXf)),
    "network_half": Case(infer, network(TensorXf16), 0.02),
    "packed": Case(infer_packed, network(TensorXf, True)),
    "packed_half": Case(infer_packed, network(TensorXf16, True), 0.02),
    "field": Case(infer, field),
    "texture": Case(look_up, lambda: Texture2f(texels(5, 8, 3))),
    "texture_one": Case(look_up, lambda: Texture2f(texels(6, 4, 1))),
    "texels": Case(look_up_in, lambda: texels(3, 4, 5, 2)),
}


def leaves(name: str, value: Any) -> Arrays:
    """Arrays by the names that export gives them, with those of one entry each."""
    found: Arrays = {}
    if dr.is_tensor_v(value):
        found = {f"{name}_shape_{k}": n for k, n in enumerate(value.shape)}
        return {name: value} | found
    if dr.is_array_v(value) and dr.depth_v(value) == 1:
        return {name: value}
    parts: Any = ()
    if isinstance(value, dict):
        parts = value.items()
    elif dr.is_array_v(value) and len(value) == 1:
        return leaves(name, value[0])
    elif isinstance(value, list | tuple) or dr.is_array_v(value):
        parts = enumerate(value)
    elif hasattr(type(value), "DRJIT_STRUCT"):
        parts = ((k, getattr(value, k)) for k in type(value).DRJIT_STRUCT)
    for key, part in parts:
        found |= leaves(f"{name}_{str(key).lstrip('_')}", part)
    return found


def host(value: Any) -> Any:
    """The entries of a leaf, in memory of their own."""
    if isinstance(value, int):
        return np.array(value)
    value = dr.detach(value)
    return np.array(value.array if dr.is_tensor_v(value) else value)


def parameters(function: Any) -> tuple[str, str]:
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    assert len(names) == 2
    return names[0], names[1]


def given(case: Case, n: int, tracked: bool = False) -> tuple[tuple[Any, Any], Arrays]:
    """Arguments, and their leaves by name."""
    inputs = case.make(), positions(n)
    if tracked:
        dr.enable_grad(inputs)
    found: Arrays = {}
    for name, value in zip(parameters(case.function), inputs, strict=True):
        found |= leaves(name, value)
    return inputs, found


def results(value: Any) -> Arrays:
    return leaves("result", value)


def fields(library: Library, which: str) -> list[str]:
    return [name for name, _ in getattr(library, which)._fields_]


def build(folder: Path, name: str, builds: Builds) -> Library:
    isa = re.findall(r"EXPORTED_ISA=(\w+)", (folder / "Makefile").read_text())[0]
    return builds.build(folder, name, isa)


def propagated(
    function: Any, case: Case, n: int, mode: dr.ADMode, seeds: Arrays
) -> Arrays:
    """Gradients that come out, by name, for those that go in."""
    inputs, sources = given(case, n, True)
    made = results(function(*inputs))
    start, end = (made, sources) if mode == dr.ADMode.Backward else (sources, made)
    for name, value in start.items():
        if f"grad_{name}" in seeds:
            dr.set_grad(value, type(value)(seeds[f"grad_{name}"]))
    chosen = [value for name, value in start.items() if f"grad_{name}" in seeds]
    dr.enqueue(mode, chosen)
    dr.traverse(mode, dr.ADFlag.ClearEdges)
    return {
        f"grad_{name}": host(dr.grad(value))
        for name, value in end.items()
        if not isinstance(value, int) and dr.grad_enabled(value)
    }


MODES = {"adjoint": dr.ADMode.Backward, "tangent": dr.ADMode.Forward}


@needs_tools
@pytest.mark.parametrize("name", CASES)
def test_exported(tmp_path: Path, builds: Builds, one_thread: None, name: str) -> None:
    case = CASES[name]
    function, own = case.function, case.function.__name__
    tracked, _ = given(case, SIZES[0], True)
    dr.freeze(function).export(tmp_path, adjoint=tracked, tangent=tracked)
    library = build(tmp_path, own, builds)
    derivatives = {mode: Derivative(tmp_path, own, mode) for mode in MODES}
    frozen = dr.freeze(function)
    for n in SIZES:
        inputs, sources = given(case, n)
        arrays = {key: host(value) for key, value in sources.items()}
        wanted = {k: host(v) for k, v in results(function(*inputs)).items()}
        found = library.call(arrays, {})
        assert {k: bits(v) for k, v in found.items()} == {
            k: bits(v) for k, v in wanted.items()
        }
        like = arrays | wanted
        for mode, derivative in derivatives.items():
            check_derivative(derivative, mode, case, n, arrays, like, frozen)
    library.shutdown()


def called(library: Derivative, case: Case, threads: int, arrays: Arrays) -> Arrays:
    """What a derivative gives with this many threads."""
    set_threads = getattr(library.core, f"{case.function.__name__}_set_threads")
    assert set_threads(threads) == 0
    return library.call(arrays, {})


def check_derivative(
    library: Derivative,
    mode: str,
    case: Case,
    n: int,
    arrays: Arrays,
    like: Arrays,
    frozen: Any,
) -> None:
    seeds = {
        field: export_programs.floats(like[field[5:]].size, k).astype(
            like[field[5:]].dtype
        )
        for k, field in enumerate(fields(library, "inputs"))
        if field.startswith("grad_") and not field.endswith("_size")
    }
    assert seeds
    found = called(library, case, 1, arrays | seeds)
    if mode == "tangent":
        other = called(library, case, 3, arrays | seeds)
        assert {k: bits(v) for k, v in other.items()} == {
            k: bits(v) for k, v in found.items()
        }
    wanted = propagated(frozen, case, n, MODES[mode], seeds)
    plain = propagated(case.function, case, n, MODES[mode], seeds)
    assert any(np.any(value) for value in found.values())
    for name, value in wanted.items():
        if name not in found:
            # It is the gradient of an array that has another name, too, or there is
            # none.
            same = (bits(value) == bits(wanted[other]) for other in found)
            assert any(same) or not np.any(value), name
            continue
        assert bits(found[name]) == bits(value), name
        # And of the plain function.
        exact = plain[name].astype(np.float64)
        error = np.abs(found[name].view(value.dtype) - exact).max(initial=0)
        assert error <= case.tolerance * np.abs(exact).max(initial=1), name
    assert found.keys() <= wanted.keys()


@pytest.mark.parametrize("name", CASES)
def test_saved(tmp_path: Path, one_thread: None, name: str) -> None:
    """Values and gradients of what was loaded; derivatives are recorded on demand."""
    case = CASES[name]
    frozen = dr.freeze(case.function)
    for n in (*SIZES[:2], SIZES[0]):
        frozen(*given(case, n)[0])
    assert frozen.n_recordings == 1
    frozen.save(tmp_path / "values")
    loaded = dr.load_frozen(tmp_path / "values")
    for n in (SIZES[2], 300):
        inputs, _ = given(case, n)
        for function in (frozen, loaded):
            same_bits(function(*inputs), case.function(*inputs))
    assert loaded.n_recordings == 0 and frozen.n_recordings == 1

    tracked = dr.freeze(case.function)
    tracked(*given(case, SIZES[0], True)[0])
    tracked.save(tmp_path / "derivatives")
    loaded = dr.load_frozen(tmp_path / "derivatives", case.function)
    # Recorded for one size, since that decides on the order of sums.
    for n in (SIZES[0], 9):
        made = results(case.function(*given(case, n)[0]))
        seeds = {
            f"grad_{key}": export_programs.floats(dr.width(value), 5)
            for key, value in made.items()
        }
        mode = dr.ADMode.Backward
        found = propagated(loaded, case, n, mode, seeds)
        again = propagated(tracked, case, n, mode, seeds)
        assert {k: bits(v) for k, v in found.items()} == {
            k: bits(v) for k, v in again.items()
        }
    assert loaded.n_recordings == 0


def same_bits(found: Any, wanted: Any) -> None:
    one, other = results(found), results(wanted)
    assert one.keys() == other.keys()
    for key, value in one.items():
        assert bits(host(value)) == bits(host(other[key])), key
