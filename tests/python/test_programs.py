"""Programs of the kind that users write, each a small piece of work from end to end.

They use documented functions only and compare with NumPy, with Python's integers or
with numbers worked out by hand.
"""

from __future__ import annotations

import io
import pickle
import sys
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm import (
    Array2f,
    Array2i,
    Array2u,
    Array3f,
    Array4f,
    Bool,
    Complex2f,
    Float,
    Float16,
    Float64,
    Int,
    Matrix3f,
    Matrix4f,
    Quaternion4f,
    TensorXb,
    TensorXf,
    TensorXi,
    TensorXu,
    UInt,
    UInt8,
    UInt32,
    UInt64,
)

M32 = 0xFFFFFFFF
M64 = 0xFFFFFFFFFFFFFFFF


def random(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).random(shape, dtype=np.float32)


# --- Rendering ---------------------------------------------------------------------


def pixels(width: int, height: int) -> Array2f:
    """Centres of the pixels of a film, row after row."""
    index = dr.arange(UInt, width * height)
    return Array2f(Float(index % width) + 0.5, Float(index // width) + 0.5)


def test_camera_and_sphere() -> None:
    """Rays of a pinhole camera meet a sphere; normals become an image."""
    width, height = 9, 7
    film = pixels(width, height) / Array2f(width, height) * 2 - 1
    direction = dr.normalize(Array3f(film.x, film.y, 1))
    origin = Array3f(0, 0, -3)

    b = 2 * dr.dot(origin, direction)
    c = dr.squared_norm(origin) - 1
    discriminant = dr.fma(b, b, -4 * c)
    hit = discriminant > 0
    t = dr.select(hit, (-b - dr.sqrt(dr.maximum(discriminant, 0))) * 0.5, dr.inf)
    point = dr.fma(direction, dr.select(hit, t, 0), origin)
    normal = dr.select(hit, dr.normalize(point), 0)
    image = TensorXf(dr.ravel(0.5 * normal + 0.5), (height, width, 3))

    x = (np.arange(width) + 0.5) / width * 2 - 1
    y = (np.arange(height) + 0.5) / height * 2 - 1
    d = np.stack([*np.meshgrid(x, y), np.ones((height, width))], -1)
    d /= np.linalg.norm(d, axis=-1, keepdims=True)
    o = np.array([0, 0, -3.0])
    half = d @ o
    disc = half**2 - 8
    with np.errstate(invalid="ignore"):
        p = o + d * (-half - np.sqrt(disc))[..., None]
    expected = np.where(disc[..., None] > 0, p, 0) * 0.5 + 0.5
    assert 0 < np.count_nonzero(disc > 0) < width * height
    assert dr.count(hit)[0] == np.count_nonzero(disc > 0)
    assert dr.all(dr.isfinite(t) == hit)
    assert image.shape == (height, width, 3)
    np.testing.assert_allclose(image.numpy(), expected, atol=2e-5)


def test_nearest_of_many_spheres() -> None:
    """A loop of Python over objects keeps the nearest hit and its index."""
    origin = dr.zeros(Array3f, 16)
    origin.x = dr.linspace(Float, -2, 2, 16)
    nearest, which = dr.full(Float, dr.inf, 16), dr.full(Int, -1, 16)
    spheres = [((-1.0, 0, 5), 0.7), ((-0.5, 0, 4), 0.4), ((1.2, 0, 3), 0.5)]
    for i, (center, radius) in enumerate(spheres):
        offset = origin - Array3f(center)
        discriminant = radius**2 - offset.x**2 - offset.y**2
        t = -offset.z - dr.sqrt(discriminant)
        closer = (discriminant >= 0) & (t < nearest)
        nearest[closer] = t
        which[closer] = i

    expected_t, expected_i = [], []
    for x in np.linspace(-2, 2, 16):
        hits = [(dr.inf, -1)]
        for i, (center, radius) in enumerate(spheres):
            square = radius**2 - (x - center[0]) ** 2
            if square >= 0:
                hits.append((center[2] - square**0.5, i))
        expected_t.append(min(hits)[0])
        expected_i.append(min(hits)[1])
    assert list(which) == expected_i and {-1, 0, 1, 2} == set(expected_i)
    np.testing.assert_allclose(nearest.numpy(), expected_t, atol=1e-5)


def test_slabs_of_a_box() -> None:
    """Intersection with an axis-aligned box through reciprocals, infinite ones too."""
    direction = Array3f([1, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1])
    inverse = dr.rcp(direction)
    origin = Array3f([-5, 0.5, -5, 3], 0.5, 0.5)
    low, high = (Array3f(0) - origin) * inverse, (Array3f(1) - origin) * inverse
    enter = dr.max(dr.minimum(low, high))
    leave = dr.min(dr.maximum(low, high))
    hit = (enter <= leave) & (leave >= 0)
    assert list(hit) == [True, True, False, False]
    assert list(enter)[:2] == [5, -0.5] and list(leave)[:2] == [6, 0.5]


def test_transforms() -> None:
    """Translation, scaling and rotation by matrices and by a quaternion agree."""
    # A turn by atan2(4, 3) around z; half of it for the quaternion.
    c, s = 3 / 5, 4 / 5
    rotation = Matrix3f([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    half = Quaternion4f(0, 0, ((1 - c) / 2) ** 0.5, ((1 + c) / 2) ** 0.5)
    to_world = dr.identity(Matrix4f)
    to_world[0, 3], to_world[1, 3], to_world[2, 3] = 1, 2, 3
    to_world = to_world @ Matrix4f(rotation) @ dr.diag(Array4f(2, 2, 2, 1))

    p = random(1, 3, 10)
    points = Array3f(p)
    homogeneous = to_world @ Array4f(points.x, points.y, points.z, 1)
    expected = 2 * np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ p + [[1], [2], [3]]
    np.testing.assert_allclose(homogeneous.xyz.numpy(), expected, rtol=1e-5, atol=1e-6)
    by_quaternion = dr.quat_apply(half, points) * 2 + Array3f(1, 2, 3)
    np.testing.assert_allclose(by_quaternion.numpy(), expected, rtol=1e-5, atol=1e-6)
    assert dr.allclose(dr.quat_to_matrix(Matrix3f, half), rotation)
    assert dr.allclose(to_world @ dr.rcp(to_world), dr.identity(Matrix4f))
    assert dr.allclose(dr.det(to_world), 8)
    assert dr.allclose(dr.rcp(to_world) @ homogeneous, Array4f(*points, 1))


def test_orthonormal_frames() -> None:
    """Frames around many normals without branches (Duff et al. 2017)."""
    v = random(2, 3, 200) - 0.5
    v[:, 0] = [0, 0, -1]
    n = dr.normalize(Array3f(v))
    sign = dr.copysign(1.0, n.z)
    a = -dr.rcp(sign + n.z)
    b = n.x * n.y * a
    s = Array3f(dr.fma(n.x * n.x * a, sign, 1), b * sign, -n.x * sign)
    t = Array3f(b, dr.fma(n.y, n.y * a, sign), -n.y)
    assert dr.allclose(dr.cross(s, t), n, atol=1e-5)
    for left in (s, t, n):
        for right in (s, t, n):
            expected = 1 if left is right else 0
            assert dr.allclose(dr.dot(left, right), expected, atol=1e-5)


def test_bilinear_lookup() -> None:
    """A texture read by hand: four gathers of RGB texels and two interpolations."""
    height, width = 4, 5
    texels = random(3, height, width, 3)
    data = Float(texels.ravel())
    uv = Array2f(dr.linspace(Float, 0, 1, 11), dr.linspace(Float, 1, 0, 11))
    pos = uv * Array2f(width - 1, height - 1)
    lower = dr.clip(Array2i(dr.floor(pos)), 0, Array2i(width - 2, height - 2))
    weight = pos - lower

    def fetch(dx: int, dy: int) -> Array3f:
        index = (lower.y + dy) * width + lower.x + dx
        return dr.gather(Array3f, data, UInt(index))

    top = dr.lerp(fetch(0, 0), fetch(1, 0), weight.x)
    bottom = dr.lerp(fetch(0, 1), fetch(1, 1), weight.x)
    result = dr.lerp(top, bottom, weight.y)

    u, v = np.linspace(0, 1, 11) * (width - 1), np.linspace(1, 0, 11) * (height - 1)
    i, j = np.minimum(u.astype(int), width - 2), np.minimum(v.astype(int), height - 2)
    f, g = (u - i)[:, None], (v - j)[:, None]
    expected = (
        texels[j, i] * (1 - f) * (1 - g)
        + texels[j, i + 1] * f * (1 - g)
        + texels[j + 1, i] * (1 - f) * g
        + texels[j + 1, i + 1] * f * g
    )
    np.testing.assert_allclose(result.numpy().T, expected, atol=2e-5)


def test_vertex_normals() -> None:
    """Faces gather their corners and add their normals to the vertices."""
    points = np.array(
        [[0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0], [1, 1, 1]], dtype=np.float32
    )
    faces = np.array([[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]], dtype=np.uint32)
    vertices = Float(points.ravel())
    corner = dr.unravel(dr.llvm.Array3u, UInt(faces.ravel()))
    p0, p1, p2 = (dr.gather(Array3f, vertices, corner[i]) for i in range(3))
    normal = dr.cross(p1 - p0, p2 - p0)
    total = dr.zeros(Array3f, len(points))
    for i in range(3):
        dr.scatter_add(total, normal, corner[i])
    total = dr.normalize(total)

    assert dr.allclose(0.5 * dr.norm(normal), 2**0.5)
    expected = np.zeros((5, 3))
    for a, b, c in faces:
        n = np.cross(points[b] - points[a], points[c] - points[a])
        for k in (a, b, c):
            expected[k] += n
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(total.numpy().T, expected, atol=1e-6)
    low, high = dr.min(dr.unravel(Array3f, vertices), axis=1), dr.max(vertices)
    assert list(low) == [0, 0, 0] and high[0] == 2


# --- Counting, compacting, sorting -------------------------------------------------


def test_histogram() -> None:
    """Weights and counts of bins by scatter-additions, one masked."""
    values = random(4, 5000) * 1.2
    x = Float(values)
    index = UInt(x * 16)
    valid = x < 1
    counts, weights = dr.zeros(UInt, 16), dr.zeros(Float64, 16)
    dr.scatter_add(counts, 1, index, valid)
    dr.scatter_add(weights, Float64(x), index, valid)
    top = dr.full(Float, -dr.inf, 16)
    dr.scatter_reduce(dr.ReduceOp.Max, top, x, index, valid)

    kept = values[values < 1]
    bins = (kept * 16).astype(int)
    assert np.array_equal(counts.numpy(), np.bincount(bins, minlength=16))
    np.testing.assert_allclose(weights.numpy(), np.bincount(bins, kept, 16))
    assert list(top) == [kept[bins == i].max() for i in range(16)]
    assert dr.sum(counts)[0] == len(kept)


def test_stream_compaction() -> None:
    """compress() keeps order; scatter_inc() does not, but finds the same entries."""
    x = dr.arange(UInt, 1000)
    active = (x * 2654435761 >> 28) < 4
    indices = dr.compress(active)
    points = dr.gather(Array2u, Array2u(x, x * x), indices)
    i = np.arange(1000, dtype=np.uint32)
    kept = i[(i * np.uint32(2654435761) >> 28) < 4]
    assert np.array_equal(points.numpy(), [kept, kept * kept])

    counter, out = UInt(0), dr.empty(UInt, 1000)
    slot = dr.scatter_inc(counter, UInt(0), active)
    dr.scatter(out, x, slot, active)
    out = dr.reshape(out, counter[0], shrink=True)
    assert len(out) == len(kept) and sorted(out) == list(kept)


def test_counting_sort() -> None:
    """Particles into cells: histogram, prefix sum, places by atomic increments."""
    p = random(5, 2, 400)
    cell2 = Array2u(Array2f(p) * 8)
    cell = cell2.x + 8 * cell2.y
    counts = dr.zeros(UInt, 64)
    dr.scatter_add(counts, 1, cell)
    start = dr.prefix_sum(counts)
    place = dr.copy(start)
    slot = dr.scatter_inc(place, cell)
    order = dr.zeros(UInt, 400)
    dr.scatter(order, dr.arange(UInt, 400), slot)
    dr.eval(order, place)

    reference = ((p * 8).astype(np.uint32) * [[1], [8]]).sum(0)
    sorted_cells = dr.gather(UInt, cell, order)
    assert np.array_equal(sorted_cells.numpy(), np.sort(reference))
    assert sorted(order) == list(range(400))
    size = np.bincount(reference, minlength=64)
    assert np.array_equal(start.numpy(), np.cumsum(size) - size)
    assert np.array_equal(place.numpy(), np.cumsum(size))


def test_sorting_and_searching() -> None:
    """Keys, the permutation that sorts them, and lower bounds in the sorted array."""
    keys = (random(6, 300) * 100).astype(np.int32)
    order = dr.argsort(Int(keys))
    ordered = dr.gather(Int, Int(keys), order)
    assert np.array_equal(ordered.numpy(), np.sort(keys))
    assert np.array_equal(order.numpy(), np.argsort(keys, kind="stable"))

    queries = Int(-5, 0, 17, 50, 99, 200)
    found = dr.binary_search(
        0, 300, lambda i: dr.gather(Int, ordered, UInt(i), i < 300) < queries
    )
    assert list(found) == list(np.searchsorted(np.sort(keys), list(queries)))


def test_run_lengths() -> None:
    """Run-length coding: neighbours, compress(), differences, and back."""
    data = np.repeat([3, 1, 1, 4, 9, 2, 6], [2, 1, 5, 3, 1, 1, 4]).astype(np.uint32)
    x = UInt(data)
    i = dr.arange(UInt, len(x))
    first = (i == 0) | (x != dr.gather(UInt, x, i - 1, i > 0))
    start = dr.compress(first)
    end = dr.concat([dr.gather(UInt, start, dr.arange(UInt, 1, 6)), UInt(len(x))])
    assert list(dr.gather(UInt, x, start)) == [3, 1, 4, 9, 2, 6]
    assert list(end - start) == [2, 6, 3, 1, 1, 4]
    run = dr.cumsum(dr.select(first, UInt(1), 0)) - 1
    assert np.array_equal(dr.gather(UInt, dr.gather(UInt, x, start), run), data)


# --- Integers ----------------------------------------------------------------------


def test_pcg32() -> None:
    """The generator of the PCG paper: 64 bits of state, one stream for each lane."""
    n, multiplier = 8, 0x5851F42D4C957F2D
    stream = UInt64(dr.arange(UInt, n)) + 54
    inc = (stream << 1) | 1
    state = dr.zeros(UInt64, n)

    def following(state: UInt64) -> tuple[UInt32, UInt64]:
        shifted = UInt32(((state >> 18) ^ state) >> 27)
        rot = UInt32(state >> 59)
        output = (shifted >> rot) | (shifted << ((~rot + 1) & 31))
        return output, dr.fma(state, UInt64(multiplier), inc)

    _, state = following(state)
    state += 42
    _, state = following(state)
    outputs = []
    for _ in range(6):
        value, state = following(state)
        outputs.append(value)

    # Lane 0: seed 42, stream 54, as in the demonstration program of the PCG library.
    first = [0xA15C02B7, 0x7B47F409, 0xBA1D3330, 0x83D2F293, 0xBFA4784B, 0xCBED606E]
    assert [int(value[0]) for value in outputs] == first
    for lane in range(n):
        s, add = 0, (54 + lane) << 1 | 1
        s = (s * multiplier + add + 42) & M64
        s = (s * multiplier + add) & M64
        for value in outputs:
            shifted, rot = ((s >> 18 ^ s) >> 27) & M32, s >> 59
            assert value[lane] == (shifted >> rot | shifted << (-rot & 31)) & M32
            s = (s * multiplier + add) & M64


def test_hashes() -> None:
    """Mixing functions of 32 and 64 bits, and the product of 64 by 64 bits."""

    def murmur(h: Any) -> Any:
        h = h ^ (h >> 16)
        h = h * 0x85EBCA6B & M32
        h = h ^ (h >> 13)
        h = h * 0xC2B2AE35 & M32
        return h ^ (h >> 16)

    def split_mix(z: Any) -> Any:
        z = z + 0x9E3779B97F4A7C15 & M64
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & M64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & M64
        return z ^ (z >> 31)

    i = dr.arange(UInt, 100)
    assert list(murmur(i)) == [murmur(k) for k in range(100)]
    assert list(split_mix(UInt64(i))) == [split_mix(k) for k in range(100)]
    a = split_mix(UInt64(i))
    high = [split_mix(k) ** 2 >> 64 for k in range(100)]
    assert list(dr.mul_hi(a, a)) == high
    assert list(dr.popcnt(a)) == [bin(split_mix(k)).count("1") for k in range(100)]
    assert list(dr.lzcnt(a)) == [64 - split_mix(k).bit_length() for k in range(100)]


def test_morton_order() -> None:
    """Interleaving the bits of two 16-bit coordinates, and undoing it."""

    def spread(x: UInt) -> UInt:
        for shift, mask in ((8, 0xFF00FF), (4, 0xF0F0F0F), (2, 0x33333333)):
            x = (x | (x << shift)) & mask
        return (x | (x << 1)) & 0x55555555

    def squeeze(x: UInt) -> UInt:
        x = x & 0x55555555
        for shift, mask in ((1, 0x33333333), (2, 0xF0F0F0F), (4, 0xFF00FF)):
            x = (x | (x >> shift)) & mask
        return (x | (x >> 8)) & 0xFFFF

    x, y = dr.meshgrid(dr.arange(UInt, 4), UInt(0, 1, 1000, 65535))
    code = spread(x) | (spread(y) << 1)
    assert list(code)[:8] == [0, 1, 4, 5, 2, 3, 6, 7]
    assert code[15] == 0xAAAAAAAF
    assert dr.all((squeeze(code) == x) & (squeeze(code >> 1) == y))


def test_colors_in_bytes() -> None:
    """RGBA as bytes, packed into words, averaged without leaving the words."""
    rgba = np.array([[255, 128, 3, 255], [1, 2, 200, 0]], dtype=np.uint8)
    flat = UInt8(rgba.ravel())
    word = dr.zeros(UInt, 2)
    for channel in range(4):
        byte = dr.gather(UInt8, flat, dr.arange(UInt, 2) * 4 + channel)
        word |= UInt(byte) << (8 * channel)
    assert np.array_equal(word.numpy(), rgba.view(np.uint32).ravel())
    a, b = word[0], word[1]
    mean = (UInt(a) & UInt(b)) + (((UInt(a) ^ UInt(b)) & 0xFEFEFEFE) >> 1)
    expected = ((rgba[0].astype(int) + rgba[1]) // 2).astype(np.uint8)
    assert mean[0] == expected.view(np.uint32)[0]
    assert list(UInt8(250) + UInt8(10)) == [4]


# --- Tensors -----------------------------------------------------------------------


def test_image_filter() -> None:
    """A box filter and a Sobel filter on a tensor, through slices."""
    ref = random(7, 8, 10)
    image = TensorXf(ref)
    shifted = [image[dy : dy + 6, dx : dx + 8] for dy in range(3) for dx in range(3)]
    box = sum(shifted, TensorXf(0)) / 9
    windows = np.lib.stride_tricks.sliding_window_view(ref, (3, 3))
    np.testing.assert_allclose(box.numpy(), windows.mean((2, 3)), rtol=1e-5)

    dx = image[:, 2:] - image[:, :-2]
    sobel = dx[:-2] + 2 * dx[1:-1] + dx[2:]
    kernel = np.outer([1, 2, 1], [-1, 0, 1])
    expected = (windows * kernel).sum((2, 3))
    np.testing.assert_allclose(sobel.numpy(), expected, atol=1e-5)

    image[1:-1, 1:-1] = box
    image[0] = 0
    image[:, -1] = 1
    ref[1:-1, 1:-1] = windows.mean((2, 3)).copy()
    ref[0], ref[:, -1] = 0, 1
    np.testing.assert_allclose(image.numpy(), ref, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:drjit.*deprecated:DeprecationWarning")
def test_pyramid() -> None:
    """Halving an image by reshaping and summing, doubling it by upsample()."""
    ref = random(8, 8, 12)
    small = dr.sum(dr.reshape(TensorXf(ref), (4, 2, 6, 2)), axis=(1, 3)) / 4
    np.testing.assert_allclose(
        small.numpy(), ref.reshape(4, 2, 6, 2).mean((1, 3)), rtol=1e-5
    )
    large = dr.upsample(small, scale_factor=(2, 2))
    assert np.array_equal(large, small.numpy().repeat(2, 0).repeat(2, 1))


def test_normalised_rows() -> None:
    """Statistics along an axis, broadcast back, and a masked assignment."""
    ref = random(9, 5, 40)
    x = TensorXf(ref)
    centred = x - dr.mean(x, axis=1, keepdims=True)
    scaled = centred / dr.sqrt(dr.mean(centred**2, axis=1, keepdims=True))
    expected = (ref - ref.mean(1, keepdims=True)) / ref.std(1, keepdims=True)
    np.testing.assert_allclose(scaled.numpy(), expected, atol=1e-4)
    clipped = dr.select(dr.abs(scaled) > 1, dr.sign(scaled), scaled)
    np.testing.assert_allclose(clipped.numpy(), np.clip(expected, -1, 1), atol=1e-4)
    mask: TensorXb = scaled > 0
    assert dr.count(mask.array)[0] == np.count_nonzero(expected > 0)
    assert dr.max(x, axis=None).array[0] == ref.max()
    assert dr.shape(dr.min(x, axis=0)) == (40,)


def test_dense_layer() -> None:
    """Matrix products of tensors, a bias, a rectifier, batches."""
    x, w, b = random(10, 6, 5), random(11, 5, 3) - 0.5, random(12, 3)
    y = dr.maximum(TensorXf(x) @ TensorXf(w) + TensorXf(b), 0)
    np.testing.assert_allclose(y.numpy(), np.maximum(x @ w + b, 0), atol=1e-5)
    batch = random(13, 4, 6, 5)
    z = dr.matmul(TensorXf(batch), TensorXf(w))
    assert z.shape == (4, 6, 3)
    np.testing.assert_allclose(z.numpy(), batch @ w, atol=1e-5)
    integers = TensorXi([[1, 2], [3, 4]]) @ TensorXi([[5, 6], [7, 8]])
    assert integers.numpy().tolist() == [[19, 22], [43, 50]]


def test_k_means_step() -> None:
    """Distances by broadcasting, the nearest centre, new centres by scatter_add."""
    p, c = random(14, 200, 2), random(15, 4, 2)
    points, centers = TensorXf(p), TensorXf(c)
    distance = dr.sum(dr.square(points[:, None, :] - centers[None, :, :]), axis=2)
    label = dr.argmin(distance, axis=1)
    reference = ((p[:, None] - c[None]) ** 2).sum(2).argmin(1)
    assert np.array_equal(label.numpy(), reference)

    total, count = dr.zeros(Array2f, 4), dr.zeros(Float, 4)
    dr.scatter_add(total, dr.unravel(Array2f, points.array), label.array)
    dr.scatter_add(count, 1, label.array)
    new = total / dr.maximum(count, 1)
    expected = [p[reference == k].mean(0) for k in range(4)]
    np.testing.assert_allclose(new.numpy().T, expected, rtol=1e-4)


def test_game_of_life() -> None:
    """A glider on a torus moves by one cell in four generations."""
    start = np.zeros((6, 7), dtype=np.int32)
    start[[0, 1, 2, 2, 2], [1, 2, 0, 1, 2]] = 1

    def roll(t: TensorXi, dy: int, dx: int) -> TensorXi:
        height, width = t.shape
        rows = (dr.arange(UInt, height) + (dy % height)) % height
        columns = (dr.arange(UInt, width) + (dx % width)) % width
        return dr.take(dr.take(t, rows, axis=0), columns, axis=1)

    cells = TensorXi(start)
    around = [(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1) if y or x]
    for _ in range(4):
        neighbours = sum((roll(cells, y, x) for y, x in around), TensorXi(0))
        alive = (neighbours == 3) | ((cells == 1) & (neighbours == 2))
        cells = dr.select(alive, TensorXi(1), 0)
        dr.eval(cells)
    assert np.array_equal(cells.numpy(), np.roll(start, (1, 1), (0, 1)))


# --- Containers --------------------------------------------------------------------


@dataclass
class Ray:
    """A bundle of rays."""

    o: Array3f = field(default_factory=Array3f)
    d: Array3f = field(default_factory=Array3f)
    active: Bool = field(default_factory=Bool)

    def __call__(self, t: Any) -> Array3f:
        return dr.fma(self.d, t, self.o)


class Particles:
    """Particles with a name that traversals leave alone."""

    DRJIT_STRUCT = {"pos": Array2f, "mass": Float}  # noqa: RUF012

    def __init__(self, pos: Any = None, mass: Any = None) -> None:
        self.pos = Array2f() if pos is None else pos
        self.mass = Float() if mass is None else mass
        self.name = "swarm"


def test_dataclass() -> None:
    """Zeros, gathers, scatters and selections of whole rays."""
    rays = dr.zeros(Ray, 4)
    assert type(rays) is Ray and dr.width(rays) == 4
    rays.d = Array3f(0, [1, 2, 3, 4], 1)
    rays.active = Bool(True, False, True, False)
    alive = dr.gather(Ray, rays, dr.compress(rays.active))
    assert alive(2).numpy().T.tolist() == [[0, 2, 2], [0, 6, 2]]
    dr.scatter(rays, alive, UInt(3, 1))
    assert list(rays.d.y) == [1, 3, 3, 1] and list(rays.active) == [True] * 4
    chosen = dr.select(rays.d.y > 2, rays, dr.zeros(Ray, 4))
    assert list(chosen.d.y) == [0, 3, 3, 0]
    assert list(chosen.active) == [False, True, True, False]
    both = dr.concat((alive.d, rays.d), axis=1)
    assert list(both.y) == [1, 3, 1, 3, 3, 1]


def test_struct() -> None:
    """A class with DRJIT_STRUCT moves through a step of Euler's method."""
    swarm = Particles(Array2f([0, 1, 2], 0), Float(1, 2, 3))
    velocity = {"v": Array2f(0, [1, 2, 3])}
    for _ in range(3):
        velocity["v"] += Array2f(0, -0.5)
        swarm.pos += velocity["v"] * 0.5
        dr.eval(swarm, velocity)
    assert swarm.pos.state == dr.VarState.Evaluated
    # After n steps: 0.5 * (n * v - 0.5 * n (n + 1) / 2)
    assert list(swarm.pos.y) == [0.5 * (3 * v - 3.0) for v in (1, 2, 3)]
    copy = dr.copy(swarm)
    copy.mass += 1
    assert list(swarm.mass) == [1, 2, 3] and list(copy.mass) == [2, 3, 4]
    taken = dr.gather(Particles, swarm, UInt(2, 0))
    assert list(taken.mass) == [3, 1] and list(taken.pos.x) == [2, 0]
    assert dr.width(dr.zeros(Particles, 7)) == 7


def test_nested_containers() -> None:
    """Dictionaries, lists and tuples go through as they are."""
    state = {"a": [Float(1, 2), Array2f(3, 4)], "b": (Int(5, 6),)}
    picked = dr.gather(dict, state, UInt(1))
    assert picked["a"][0][0] == 2 and picked["b"][0][0] == 6
    assert list(picked["a"][1].y) == [4] and type(picked["b"]) is tuple
    assert dr.width(state) == 2
    assert dr.allclose([Float(1, 2), 3], [Float(1, 2), 3])
    assert list(dr.all([Bool(True, False), Bool(True, True)])) == [True, False]


class Spectrum(Array3f):
    """A subclass with a method of its own."""

    def luminance(self) -> Float:
        return dr.dot(self, Array3f(0.25, 0.5, 0.25))


def test_subclass() -> None:
    """Arithmetic keeps a subclass."""
    s = Spectrum(1, 2, [3, 7])
    for result in (s * 2, s + s, 2 * s, -s):
        assert type(result) is Spectrum
    assert list((s * 2).luminance()) == [4, 6]
    s *= 0.5
    assert type(s) is Spectrum and list(s.luminance()) == [1, 1.5]
    assert type(s > 1) is dr.mask_t(s)


# --- Generic code ------------------------------------------------------------------


def newton_sqrt(x: Any) -> Any:
    """Square roots by Newton's method, for arrays of any kind and entry type."""
    y = dr.full(type(x), 1, dr.shape(x)[-1] if dr.is_dynamic_v(x) else 1)
    for _ in range(12):
        y = 0.5 * (y + x / y)
    return y


@pytest.mark.parametrize("name", ["Array3f", "Array2f64", "ArrayXf", "Array4f"])
def test_generic_function(m: ModuleType, name: str) -> None:
    """One function for scalar and traced types."""
    kind = getattr(m, name)
    x = kind(*range(1, (dr.size_v(kind) if dr.size_v(kind) > 0 else 4) + 1))
    tolerance = 4 * dr.epsilon(x)
    assert dr.allclose(newton_sqrt(x), dr.sqrt(x), rtol=tolerance)
    assert dr.is_float_v(x) and not dr.is_mask_v(x)
    double = dr.float64_array_t(kind)
    assert dr.type_v(double) == dr.VarType.Float64
    assert dr.allclose(double(x) * 2, x + x)


@pytest.mark.parametrize("backend", ["scalar", "llvm"])
def test_backend_of_auto(backend: str) -> None:
    """The same program on the types of drjit.auto."""
    try:
        dr.set_backend(backend)  # type: ignore[arg-type]
        from drjit import auto

        x = auto.Array3f(1, 2, 2)
        assert type(x).__module__ == "drjit." + backend
        length = dr.norm(x)
        assert isinstance(length, auto.Float)
        assert (length if backend == "scalar" else length[0]) == 3
        matrix = auto.Matrix3f(2)
        assert dr.allclose(matrix @ x, auto.Array3f(2, 4, 4))
        table = auto.TensorXf([[1, 2], [3, 4]])
        assert dr.allclose(dr.sum(table, axis=1), [3, 7])
    finally:
        dr.set_backend("llvm")


# --- Numbers -----------------------------------------------------------------------


def test_half_precision() -> None:
    """Storage in 16 bits, arithmetic in 32 bits, against NumPy's rounding."""
    ref = (random(16, 500) * 100).astype(np.float16)
    x = Float16(ref)
    assert np.array_equal((x * x + 1).numpy(), ref * ref + np.float16(1))
    wide, wide_ref = Float(x) * Float(x), ref.astype(np.float32) ** 2
    assert np.array_equal(wide.numpy(), wide_ref)
    assert np.array_equal(Float16(wide).numpy(), wide_ref.astype(np.float16))
    assert type(x + Float(1)) is Float and type(x * 2.5) is Float16
    total = dr.sum(Float(x))[0]
    assert total == pytest.approx(ref.astype(np.float64).sum(), rel=1e-6)


def test_mandelbrot() -> None:
    """Complex arithmetic, iterated a fixed number of times under a mask."""
    re, im = dr.meshgrid(dr.linspace(Float, -2, 1, 13), dr.linspace(Float, -1, 1, 9))
    c = Complex2f(re, im)
    z, steps = dr.zeros(Complex2f, 117), dr.zeros(Int, 117)
    for _ in range(20):
        inside = dr.squared_norm(z) < 4
        z = dr.select(inside, z * z + c, z)
        steps[inside] += 1

    x, y = np.meshgrid(np.linspace(-2, 1, 13), np.linspace(-1, 1, 9))
    ref, w, count = (x + 1j * y).ravel(), np.zeros(117, complex), np.zeros(117, int)
    for _ in range(20):
        inside_ref = w.real**2 + w.imag**2 < 4 - 1e-9
        w = np.where(inside_ref, w * w + ref, w)
        count += inside_ref
    assert np.array_equal(steps.numpy(), count)
    assert 0 < np.count_nonzero(count == 20) < 117


def test_polynomial_fit() -> None:
    """Normal equations of a least-squares parabola in a 3x3 matrix."""
    t = dr.linspace(Float64, -1, 1, 50)
    y = 2 - 3 * t + 0.5 * t * t
    from drjit.llvm import Array3f64, Matrix3f64

    powers = [dr.ones(Float64, 50), t, t * t]
    normal = Matrix3f64([[dr.sum(a * b) for b in powers] for a in powers])
    right = Array3f64([dr.sum(a * y) for a in powers])
    solution = dr.rcp(normal) @ right
    assert dr.allclose(solution, Array3f64(2, -3, 0.5), rtol=1e-10)


def test_stable_sums() -> None:
    """Mean and variance against NumPy; Kahan's summation over a loop of Python."""
    ref = random(17, 1000) + 1000
    x = Float(ref)
    assert dr.mean(x)[0] == pytest.approx(ref.astype(float).mean(), rel=1e-6)
    centred = Float64(x) - dr.mean(Float64(x))
    assert dr.mean(centred**2)[0] == pytest.approx(ref.astype(float).var(), rel=1e-9)
    total, lost = Float(0), Float(0)
    for value in ref[:100]:
        y = Float(float(value)) - lost
        t = total + y
        lost, total = (t - total) - y, t
    exact = ref[:100].astype(float).sum()
    assert abs(total[0] - exact) <= np.spacing(np.float32(exact))


# --- Text, files, exchange ---------------------------------------------------------


def test_printing() -> None:
    """str(), dr.print() and dr.format() of what programs print."""
    assert str(Array3f([1, 2], [3, 4], 5)) == "[[1, 3, 5],\n [2, 4, 5]]"
    assert str(dr.arange(Int, 100)) == "[0, 1, 2, .. 94 skipped .., 97, 98, 99]"
    assert str(Float(0.5, 1e-20, dr.inf, -0.0)) == "[0.5, 1e-20, inf, -0]"
    assert f"{Bool(True, False)}" == "[True, False]"
    assert str(Complex2f(1, 2)) == "[1+2j]"
    assert str(dr.identity(dr.llvm.Matrix2f)) == "[[[1, 0],\n  [0, 1]]]"
    assert str(TensorXu([[1, 2], [3, 4]])) == "[[1, 2],\n [3, 4]]"
    out = io.StringIO()
    dr.print("{x=}, sum {}", dr.sum(Int(1, 2)), x=Int(1, 2), file=out, end=".")
    assert out.getvalue() == "x=[1, 2], sum [3]."
    text = dr.format({"a": Int(1), "b": [2]})
    assert text == "{\n  'a': [1],\n  'b': [\n    2\n  ]\n}"


def test_numpy_round_trip() -> None:
    """All the ways between NumPy and arrays."""
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert np.array_equal(TensorXf(x), x)
    assert np.array_equal(Array3f(x), x)
    assert np.array_equal(np.asarray(Array3f(x) * 2), x * 2)
    assert Array3f(x).numpy().dtype == np.float32
    assert Bool(x[0] > 1).numpy().dtype == np.bool_
    assert np.array_equal(TensorXf(x[:, ::2]), x[:, ::2])
    assert np.array_equal(TensorXf(x).numpy().T, x.T)
    assert list(Float(x[1])) == [4, 5, 6, 7]
    assert list(Float(x[0]) + x[1]) == [4, 6, 8, 10]
    z = np.array([1 + 2j, 3 - 1j], dtype=np.complex64)
    assert np.array_equal(Complex2f(z).numpy(), z)
    image = (x * 20).astype(np.uint8)
    assert np.array_equal(dr.llvm.TensorXu8(image).numpy(), image)


def test_pickling() -> None:
    """Arrays, containers and enumerations survive pickle."""
    tree = {"v": Array3f(1, [2, 3], 4), "t": TensorXf([[1, 2]]), "m": Bool(True)}
    back = pickle.loads(pickle.dumps(tree))
    assert dr.all(back["v"] == tree["v"], axis=None)
    assert back["t"].shape == (1, 2) and type(back["m"]) is Bool
    data = pickle.dumps((dr.ReduceOp.Add, dr.JitFlag.Debug, dr.VarType.Int8))
    assert b"_enums" not in data
    restored = pickle.loads(data)
    assert restored == (dr.ReduceOp.Add, dr.JitFlag.Debug, dr.VarType.Int8)


def test_kernel_history() -> None:
    """Two arrays scheduled together are one kernel; the second time it is cached."""
    for expected_hit in (None, True):
        with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
            dr.kernel_history_clear()
            x = dr.arange(Float, 777) + 1
            a, b = x * x, dr.sqrt(x)
            dr.schedule(a, b)
            dr.eval()
            assert a[10] == 121 and b[8] == 3
            history = dr.kernel_history((dr.KernelType.JIT,))
        assert len(history) == 1
        assert history[0]["backend"] == dr.JitBackend.LLVM
        assert history[0]["size"] == 777
        assert history[0]["execution_time"] >= 0
        if expected_hit:
            assert history[0]["cache_hit"]
    assert dr.kernel_history() == []


def test_debug_mode_names_lines() -> None:
    """In debug mode, a label is the line that made the variable."""

    def double(value: Float) -> Float:
        return value * 2.5

    first = double.__code__.co_firstlineno + 1
    tracer = sys.gettrace()
    sys.settrace(None)  # a debugger's or a coverage tool's would be left in place
    try:
        with dr.scoped_set_flag(dr.JitFlag.Debug):
            here = sys._getframe().f_lineno
            x = dr.arange(Float, 3)
            y = double(x)
            z = dr.linspace(Float, 0, 1, 3) + double(y)
            labels = [x.label, y.label, z.label]
            y.label = "named"
            dr.eval(x, y, z)
            assert sys.gettrace() is not None
        assert sys.gettrace() is None
    finally:
        sys.settrace(tracer)
    lines = [here + 1, first, here + 3]
    assert labels == [f"test_programs.py:{line}" for line in lines]
    assert y.label == "named"
    assert (x + 7).label is None
