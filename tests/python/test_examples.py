"""The programs of examples/python and examples/dist, on small pictures."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm import Float64
from drjit.llvm.ad import Float
from test_dda import integral_of

FOLDER = Path(__file__).resolve().parent.parent.parent / "examples/python"
LOOPS = dr.JitFlag.SymbolicLoops | dr.JitFlag.SymbolicConditionals
LOOPS |= dr.JitFlag.SymbolicCalls


@pytest.fixture(autouse=True)
def folder() -> Iterator[None]:
    sys.path.insert(0, str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))


def drawn(path: Path) -> None:
    """The last step of a test, whose numbers have been checked: there is a picture."""
    if importlib.util.find_spec("matplotlib") is None:
        pytest.skip("the picture of the example: matplotlib is missing")
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["nbody", "lens_design"])  # an image, a figure
def test_without_matplotlib(
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A program computes and prints the same, and says how to get the picture."""
    program: Any = importlib.import_module(name)
    for module in ("matplotlib", "matplotlib.figure", "matplotlib.image"):
        monkeypatch.setitem(sys.modules, module, None)
    path = tmp_path / "picture.png"
    monkeypatch.setattr(sys, "argv", [name, str(path)])
    assert program.main() == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "no picture without matplotlib: python -m pip install matplotlib"
    assert not path.exists()


def test_pixels() -> None:
    """Rows of pixels of one array, and of three."""
    program: Any = importlib.import_module("picture")
    gray = program.pixels(Float([-1, 2, 3, 4, 5, 6]), 3)
    assert gray.tolist() == [[-1, 2, 3], [4, 5, 6]]
    color = program.pixels(dr.llvm.Array3f([-1, 1], [0.5, 0.25], [2, 0]), 2)
    assert color.tolist() == [[[0, 0.5, 1], [1, 0.25, 0]]]


def test_points_and_picture(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The program compares with NumPy, and stops where results differ."""
    program: Any = importlib.import_module("points_and_picture")
    path = tmp_path / "picture.png"
    monkeypatch.setattr(program, "SIZE", 128)
    monkeypatch.setattr(sys, "argv", ["points_and_picture.py", str(path)])
    program.main()
    right = program.tensors_numpy
    monkeypatch.setattr(program, "tensors_numpy", lambda image: right(image) + 0.1)
    with pytest.raises(SystemExit, match="the results differ by 0.1"):
        program.main()
    drawn(path)


def test_mandelbrot() -> None:
    program: Any = importlib.import_module("mandelbrot")
    x, y = dr.meshgrid(dr.linspace(Float64, -2, 1, 24), dr.linspace(Float64, -1, 1, 16))
    turns = program.escape(x, y).numpy()
    with dr.scoped_set_flag(LOOPS, False):
        assert np.array_equal(turns, program.escape(x, y).numpy())
    for cx, cy, found in zip(x.numpy(), y.numpy(), turns, strict=True):
        z, c, turn = 0j, complex(cx, cy), 0
        while turn < program.TURNS:
            z = z * z + c
            turn += 1
            if abs(z) ** 2 > 100:
                smooth = turn + 1 - np.log2(np.log2(abs(z) ** 2) / 2)
                assert found == pytest.approx(smooth, rel=1e-5)
                break
        else:
            assert found == 0


def test_nbody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program: Any = importlib.import_module("nbody")
    monkeypatch.setattr(program, "STARS", 64)
    monkeypatch.setattr(program, "STEPS", 5)
    stars = program.start()
    x = stars.x.numpy().T.astype(float)
    d = x[None] - x[:, None]
    weight = ((d * d).sum(axis=2) + program.SOFTENING**2) ** -1.5
    expected = (d * weight[:, :, None]).sum(axis=1) / 64
    found = program.acceleration(stars.x, stars.x).numpy().T
    assert np.allclose(found, expected, rtol=1e-4, atol=1e-6)
    monkeypatch.setattr(sys, "argv", ["nbody.py", str(tmp_path / "nbody.png")])
    assert program.main() == 0
    drawn(tmp_path / "nbody.png")


def test_path_tracer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Symbolic and evaluated mode give the same bits."""
    program: Any = importlib.import_module("path_tracer")
    monkeypatch.setattr(program, "WIDTH", 24)
    monkeypatch.setattr(program, "HEIGHT", 16)
    scene = program.make_scene()
    symbolic = program.render(scene, 5).numpy()
    with dr.scoped_set_flag(LOOPS, False):
        assert np.array_equal(symbolic, program.render(scene, 5).numpy())
    mean = np.mean([program.render(scene, seed).numpy() for seed in range(8)], axis=0)
    picture = mean.mean(axis=0).reshape(16, 24)
    assert np.isfinite(picture).all() and picture.min() >= 0
    assert picture[:3].mean() > 0.7  # the sky
    assert 0.2 < picture[-3:].mean() < 0.8  # the ground


def test_inverse_rendering(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Gradients in double precision, and the program itself."""
    program: Any = importlib.import_module("inverse_rendering")
    monkeypatch.setattr(program, "SIZE", 16)
    monkeypatch.setattr(program, "Float", dr.llvm.ad.Float64)
    monkeypatch.setattr(program, "Array3f", dr.llvm.ad.Array3f64)
    photographs = program.render(program.hidden_scene())
    dr.eval(photographs)

    def loss(radius: Any) -> Any:
        scene = program.first_guess()
        scene.radius = radius
        return dr.mean(dr.squared_norm(program.render(scene) - photographs))

    _, gradient = dr.ad.value_and_grad(loss)(program.first_guess().radius)
    for k in range(program.BALLS):
        values = []
        for sign in (1, -1):
            radius = program.first_guess().radius
            radius[k] += sign * 1e-6
            values.append(loss(radius)[0])
        quotient = (values[0] - values[1]) / 2e-6
        assert gradient[k] == pytest.approx(quotient, rel=1e-5)
    monkeypatch.undo()
    monkeypatch.setattr(program, "SIZE", 64)
    picture = tmp_path / "picture.png"
    monkeypatch.setattr(sys, "argv", ["inverse_rendering.py", str(picture)])
    assert program.main() == 0
    drawn(picture)


def test_poster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The texture that photographs show is found."""
    program: Any = importlib.import_module("poster")
    picture = tmp_path / "picture.png"
    monkeypatch.setattr(program, "TEXELS", 48)
    monkeypatch.setattr(program, "SIZE", 64)
    monkeypatch.setattr(sys, "argv", ["poster.py", str(picture)])
    assert program.main() == 0
    place, seen = program.places()
    assert 0.3 < seen.numpy().mean() < 1
    inside = place.numpy()[:, seen.numpy()]
    assert inside.min() > 0 and inside.max() < 1
    drawn(picture)


def test_lens_design(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A single thin lens gets the shape that the theory of third order knows."""
    program: Any = importlib.import_module("lens_design")
    picture = tmp_path / "picture.png"
    monkeypatch.setattr(sys, "argv", ["lens_design.py", str(picture)])
    assert program.main() == 0
    n = 1.5
    monkeypatch.setattr(program, "CROWN", (n, n, n))
    monkeypatch.setattr(program, "FLINT", (1.0, 1.0, 1.0))
    monkeypatch.setattr(program, "THICKNESS", (1e-3, 0.0))
    monkeypatch.setattr(program, "ANGLES", (0.0, 0.05))
    monkeypatch.setattr(program, "APERTURE", 4.0)
    rays = program.Rays(program.rings())
    design, solve = program.design, program.solve

    def without_third(matrix: Any, right: Any) -> Any:
        """The third surface, between air and air, does nothing."""
        keep = (0, 1, 3)
        small = solve(
            [[matrix[i][k] for k in keep] for i in keep], [right[i] for i in keep]
        )
        return [small[0], small[1], 0.0, small[2]]

    monkeypatch.setattr(program, "solve", without_third)
    start = (1 / 100, -1 / 100, 0.0, 95.0)
    (c1, c2, _, sensor), _ = design(start, rays)
    assert sensor * (n - 1) * (c1 - c2) == pytest.approx(1, rel=3e-3)
    shape = (c1 + c2) / (c1 - c2)
    assert shape == pytest.approx(2 * (n * n - 1) / (n + 2), rel=0.02)
    drawn(picture)


def test_lens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Rays obey Snell's law, the focal length is that of ray transfer matrices."""
    program: Any = importlib.import_module("lens")
    radii = (22.01359, -435.76044, -22.21328, 20.29192, 79.68360, -18.39533)
    # A triplet of these glasses from the literature, f = 50 mm.
    known = {
        "curvature": [1 / r for r in radii],
        "distance": [3.258956, 6.007551, 0.9999746, 4.750409, 2.952076, 42.20778],
    }
    green = 0.5875618
    crown, flint = (program.index(g, green) for g in (program.CROWN, program.FLINT))
    assert crown == pytest.approx(1.62041, abs=1e-5)  # of the catalog of Schott
    assert flint == pytest.approx(1.62004, abs=1e-5)
    index = [1, crown, 1, flint, 1, crown, 1]
    Float64ad = dr.llvm.ad.Float64
    for lens in (known, program.START):
        arrays = {name: Float64ad(values) for name, values in lens.items()}
        system = np.eye(2)
        for k in range(6):
            c, before, after = lens["curvature"][k], index[k], index[k + 1]
            surface = [[1, 0], [c * (before - after) / after, before / after]]
            travel = [[1, lens["distance"][k] if k < 5 else 0], [0, 1]]
            system = np.array(travel) @ surface @ system
        focus = program.focal_length(arrays)[0]
        assert focus == pytest.approx(-1 / system[1, 0], rel=1e-6)
        if lens is known:
            assert focus == pytest.approx(50, rel=1e-3)
            spots = program.spots(arrays, program.all_rays()).numpy()
            assert np.sqrt(spots.mean()) == pytest.approx(program.GOAL, rel=0.05)

        rays, path = program.make_rays([(3.0, -2.0, 20.0, green)]), []
        program.trace(arrays, rays, path)
        points = np.array([p.numpy()[:, 0] for p in path])
        points[:, 2] += np.cumsum([0, *lens["distance"]])
        way = rays.d.numpy()[:, 0]
        for k, c in enumerate(lens["curvature"]):
            normal = np.array([0.0, 0.0, 1.0])
            if c:
                center = np.array([0, 0, sum(lens["distance"][:k]) + 1 / c])
                assert np.linalg.norm(points[k] - center) == pytest.approx(abs(1 / c))
                normal = (center - points[k]) * c
            towards = points[k + 1] - points[k]
            towards /= np.linalg.norm(towards)
            assert np.allclose(
                index[k] * np.cross(way, normal),
                index[k + 1] * np.cross(towards, normal),
                atol=1e-12,
            )
            assert towards @ normal > 0
            way = towards
    rays = program.all_rays()
    # Thin lenses, too: so that the penalty has a gradient.
    distance = Float64ad([0.9, 6, 0.7, 0.2, 0.9, 42])
    dr.check_grad(
        lambda c, d: program.loss({"curvature": c, "distance": d}, rays),
        Float64ad(program.START["curvature"]),
        distance,
    )
    picture = tmp_path / "picture.png"
    monkeypatch.setattr(sys, "argv", ["lens.py", str(picture)])
    assert program.main() == 0
    drawn(picture)


def test_heat(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No heat is lost, and the program finds its field."""
    program: Any = importlib.import_module("heat")
    picture = tmp_path / "picture.png"
    monkeypatch.setattr(program, "STEPS", 7)
    start = program.start_temperatures()
    end = program.simulate(program.hidden_field(), start).numpy()
    size = program.SIZE
    before = start.numpy().reshape(-1, size, size)
    after = end.reshape(-1, size, size)
    assert np.allclose(before.sum(axis=(1, 2)), after.sum(axis=(1, 2)), atol=1e-2)
    k = program.hidden_field().numpy().reshape(size, size).astype(float)
    now = before.astype(float)
    for _ in range(7):
        change = np.zeros_like(now)
        for axis in (1, 2):
            side = (
                program.DT
                / 2
                * (
                    np.diff(k, axis=axis - 1)
                    + 2 * k[: size - (axis == 1), : size - (axis == 2)]
                )
            )
            flow = side * np.diff(now, axis=axis)
            low: list[Any] = [slice(None)] * 3
            high: list[Any] = [slice(None)] * 3
            low[axis], high[axis] = slice(None, -1), slice(1, None)
            change[tuple(low)] += flow
            change[tuple(high)] -= flow
        now += change
    assert np.allclose(now, after, atol=1e-5)
    monkeypatch.undo()
    monkeypatch.setattr(sys, "argv", ["heat.py", str(picture)])
    assert program.main() == 0
    drawn(picture)


def test_volume(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Shadows are the integrals along their rays, and the program finds its volume."""
    program: Any = importlib.import_module("volume")
    truth = program.hidden_volume()
    o, d = program.rays()
    seen = program.shadows(truth, o, d).numpy()
    lanes = np.random.default_rng(1).choice(len(seen), 40)
    assert (seen[lanes] > 1).sum() > 5
    for lane in lanes:
        ray = o.numpy()[:, lane], d.numpy()[:, lane], np.inf
        upper = np.array(program.SHAPE[::-1]) - 1
        expected = integral_of(*ray, np.zeros(3), upper, truth.numpy())
        assert seen[lane] == pytest.approx(expected, rel=1e-4, abs=1e-4)
    picture = tmp_path / "picture.png"
    monkeypatch.setattr(sys, "argv", ["volume.py", str(picture)])
    assert program.main() == 0
    drawn(picture)


def test_photograph(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The camera against sums in NumPy, its gradient, and the program itself."""
    program: Any = importlib.import_module("photograph")
    size = program.SIZE
    x = program.paint().numpy().astype(np.float64)
    found = program.camera(program.paint(), (1, 0)).numpy()
    moved = np.concatenate([x[1:], x[-1:]])
    reach = int(2 * program.BLUR)
    weights = np.array(
        [np.exp(-2 * (k / program.BLUR) ** 2) for k in range(-reach, reach + 1)]
    ) - np.exp(-8)
    for axis in (0, 1):
        pad = [(reach, reach) if axis == k else (0, 0) for k in (0, 1)]
        wide = np.pad(moved, pad, mode="edge")
        parts = [
            w * np.take(wide, range(k, k + size), axis) for k, w in enumerate(weights)
        ]
        moved = sum(parts) / weights.sum()
    small = moved.reshape(size // 2, 2, size // 2, 2).mean(axis=(1, 3))
    assert np.allclose(found, small, atol=1e-6)
    monkeypatch.setattr(program, "SIZE", 12)
    monkeypatch.setattr(program, "Float", dr.llvm.ad.Float64)
    monkeypatch.setattr(program, "TensorXf", dr.llvm.ad.TensorXf64)
    picture = program.paint()
    dark = [program.camera(picture * 0.5, shift) for shift in program.SHIFTS]
    dr.check_grad(lambda t: program.loss(t, dark), picture)
    monkeypatch.undo()
    path = tmp_path / "photograph.png"
    monkeypatch.setattr(sys, "argv", ["photograph.py", str(path)])
    assert program.main() == 0
    drawn(path)


def test_field(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Light that is followed through a fog, in closed form; the program itself, with
    fewer turns."""
    program: Any = importlib.import_module("field")

    def fog(p: Any) -> Any:
        return Float(2) + 0 * p.x, p * 0 + dr.llvm.ad.Array3f(1, 0.5, 0)

    o, d = program.camera(0.3, 0.2)
    assert dr.width(o) == dr.width(d) == program.SIZE**2
    seen = program.look(fog, o, d, Float(0.5), 16).numpy()
    full = 1 - np.exp(-2 * 1.3)  # of a length of 1.3
    assert np.allclose(seen, np.array([[full], [full / 2], [0]]), atol=1e-5)
    middle = program.SIZE * (program.SIZE + 1) // 2
    ahead = d.numpy()[:, middle]
    assert np.allclose(ahead, -(o.numpy()[:, 0] - 0.5) / np.hypot(1.2, 0.2), atol=0.02)
    for name, value in (("TURNS", 80), ("RAYS", 256), ("VIEWS", 16), ("PSNR", 15.0)):
        monkeypatch.setattr(program, name, value)
    path = tmp_path / "field.png"
    monkeypatch.setattr(sys, "argv", ["field.py", str(path)])
    assert program.main() == 0
    drawn(path)


def test_loss_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    """What bench/loss_curves.py compares: each of the examples goes downhill."""
    monkeypatch.syspath_prepend(str(FOLDER.parent.parent / "bench"))
    curves: Any = importlib.import_module("loss_curves")
    for name, run in curves.PROGRAMS.items():
        module: Any = importlib.import_module(name)
        monkeypatch.setattr(module, "TURNS", module.TURNS)
        losses = run(4)
        assert len(losses) == 4 and losses[3] < losses[0], name
        assert curves.apart(losses, losses) == 0
    assert curves.apart([1.0, 2.0], [1.0, 1.0]) == 0.5


# ---------------------------------------------------------------- examples/dist


@pytest.fixture
def dist_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER.parent / "dist"))


def test_dist_render(
    dist_programs: None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The picture is the mean of samples that are computed here."""
    program: Any = importlib.import_module("render")
    for name, value in (("WIDTH", 30), ("HEIGHT", 20), ("SAMPLES", 8)):
        monkeypatch.setattr(program, name, value)
    path = tmp_path / "render.png"
    monkeypatch.setattr(sys, "argv", ["render.py", str(path)])
    assert program.main() == 0
    found = capsys.readouterr().out.split("the hash is ")[1][:16]
    blocks = [
        program.sample(dr.arange(dr.llvm.ad.UInt, 600) + 600 * k).numpy()
        for k in range(8)
    ]
    while len(blocks) > 1:
        blocks = [a + b for a, b in zip(blocks[::2], blocks[1::2], strict=True)]
    light = blocks[0].astype(np.float32)
    assert hashlib.blake2b(light.tobytes(), digest_size=8).hexdigest() == found
    x, y = np.meshgrid((np.arange(30) - 14.5) / 20, (9.5 - np.arange(20)) / 20 - 0.16)
    up = 0.5 + 0.5 * y / np.sqrt(x * x + y * y + 1.15**2)
    low, high = np.array([0.9, 0.9, 0.95]), np.array([0.35, 0.55, 0.9])
    sky = low[:, None, None] * (1 - up) + high[:, None, None] * up
    assert np.allclose(light.reshape(3, 20, 30)[:, :5], sky[:, :5], atol=0.02)
    red, _, blue = light.reshape(3, 20, 30)[:, 9:12, 14:16].mean(axis=(1, 2))
    assert red > 1.5 * blue  # the ball in the middle
    drawn(path)


def test_dist_sweep(
    dist_programs: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The best place of the sensor is found by trying, in NumPy."""
    program: Any = importlib.import_module("sweep")
    monkeypatch.setattr(program, "STEPS", 3)
    with program.executor() as workers:
        found = program.sweep(workers)
    assert len(found) == 9
    rays = program.all_rays()
    for lens, radius in zip(program.lenses(), found, strict=True):
        hit, d = program.trace(lens, rays)
        at = hit.numpy().reshape(2, 3, -1)
        slope = (d.numpy()[:2] / d.numpy()[2]).reshape(2, 3, -1)
        moved = at + slope * np.linspace(-2, 2, 4001)[:, None, None, None]
        away = ((moved - moved.mean(axis=-1, keepdims=True)) ** 2).sum(axis=1)
        assert radius == pytest.approx(np.sqrt(away.mean(axis=(1, 2)).min()), rel=1e-4)
    assert min(found) == found[4]  # that of the literature
    path = tmp_path / "sweep.png"
    monkeypatch.setattr(sys, "argv", ["sweep.py", str(path)])
    assert program.main() == 0
    drawn(path)


def test_dist_gradient(dist_programs: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the closed form, whose derivatives are finite differences here."""
    program: Any = importlib.import_module("gradient")
    for name, value in (("COUNT", 10**7), ("BLOCK", 10**6), ("TOLERANCE", 3e-3)):
        monkeypatch.setattr(program, name, value)
    price, gradient = program.closed_form()
    assert price == pytest.approx(7.128, abs=1e-3)
    for name, value in program.MARKET.items():
        prices = []
        for sign in (1, -1):
            with monkeypatch.context() as changed:
                changed.setitem(program.MARKET, name, value * (1 + sign * 1e-4))
                prices.append(program.closed_form()[0])
        quotient = (prices[0] - prices[1]) / (2e-4 * value)
        assert gradient[name] == pytest.approx(quotient, rel=1e-5)
    assert program.main() == 0


def test_dist_programs_are_shown() -> None:
    """The page of examples has each of them; another executor is one other name."""
    text = (FOLDER.parent.parent / "docs/examples.md").read_text(encoding="utf-8")
    programs = sorted((FOLDER.parent / "dist").glob("*.py"))
    assert len(programs) == 4
    for path in programs:
        if path.stem != "executors":
            assert f"`examples/dist/{path.name}`" in text
            line = "from executors import processes as executor  # or: dask, ray, mpi"
            assert line in path.read_text(encoding="utf-8")
