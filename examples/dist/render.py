"""A picture whose samples are spread over workers.

    python examples/dist/render.py [PICTURE.png]

Block n of the indices is the sample n of all pixels, so the sum over the blocks is the
picture. Random numbers belong to indices: the picture has the same bits for any number
of workers, and the program prints a hash of them.
"""

from __future__ import annotations

import hashlib
import sys

import drjit as dr
from drjit import dist
from drjit.llvm.ad import Array2f, Array3f, Float, Philox4x32, UInt
from executors import processes as executor  # or: dask, ray, mpi
from picture import clock, save

WIDTH, HEIGHT, SAMPLES = 480, 320, 128
SEED, FAR = 1, 1e4
LIGHT, SIZE = (-4.0, 7.0, 5.0), 1.5  # a ball: center, radius
SPHERES = (  # center, radius, color
    ((0.0, -1000.0, 0.0), 1000.0, (0.7, 0.7, 0.65)),
    ((-2.1, 1.0, 0.0), 1.0, (0.85, 0.3, 0.2)),
    ((0.0, 1.0, -0.6), 1.0, (0.9, 0.8, 0.4)),
    ((2.1, 1.0, 0.0), 1.0, (0.25, 0.5, 0.85)),
    ((-0.9, 0.4, 1.5), 0.4, (0.4, 0.75, 0.4)),
    ((0.9, 0.4, 1.5), 0.4, (0.7, 0.4, 0.75)),
)


def on_sphere(u: Float, v: Float) -> Array3f:
    """A unit vector of two random numbers."""
    s, c = dr.sincos(2 * dr.pi * v)
    z = 1 - 2 * u
    r = dr.sqrt(dr.maximum(1 - z * z, 0))
    return Array3f(r * c, r * s, z)


def intersect(o: Array3f, d: Array3f) -> tuple[Float, Array3f, Array3f]:
    """The distance of what a ray hits first, with its normal and color."""
    distance, normal, color = Float(FAR), Array3f(0, 1, 0), Array3f(0)
    for center, radius, own in SPHERES:
        to = Array3f(center) - o
        b = dr.dot(to, d)
        # The square of how far the ray passes from the center, which is precise.
        h = dr.square(radius) - dr.squared_norm(to - b * d)
        t = b - dr.sqrt(dr.maximum(h, 0))
        nearer = (h > 0) & (t > 1e-3) & (t < distance)
        distance = dr.select(nearer, t, distance)
        normal = dr.select(nearer, (o + t * d - Array3f(center)) / radius, normal)
        color = dr.select(nearer, Array3f(own), color)
    return distance, normal, color


def sky(d: Array3f) -> Array3f:
    """Light from where nothing is."""
    return dr.lerp(Array3f(0.9, 0.9, 0.95), Array3f(0.35, 0.55, 0.9), 0.5 + 0.5 * d.y)


def sample(index: UInt) -> Array3f:
    """What one path of each pixel contributes to the picture."""
    pixel = index % (WIDTH * HEIGHT)
    rng = Philox4x32(SEED, index, 0)
    jitter, chance = rng.next_float32x4(), rng.next_float32x4()
    at = Array2f(pixel % WIDTH, pixel // WIDTH) + Array2f(jitter[0], jitter[1])
    o = Array3f(0, 2.2, 8)
    d = dr.normalize(
        Array3f((at.x - WIDTH / 2) / HEIGHT, (HEIGHT / 2 - at.y) / HEIGHT - 0.16, -1.15)
    )
    distance, n, color = intersect(o, d)
    p = o + distance * d + 1e-3 * n
    to_light = Array3f(LIGHT) + SIZE * on_sphere(chance[0], chance[1]) - p
    away = dr.norm(to_light)
    free = intersect(p, to_light / away)[0] > away
    sun = dr.select(free, dr.maximum(dr.dot(n, to_light / away), 0), 0)
    up = dr.normalize(n + 0.999 * on_sphere(chance[2], chance[3]))
    shade = dr.select(intersect(p, up)[0] >= FAR, sky(up), 0)
    lit = color * (0.9 * sun + 0.6 * shade)
    return dr.select(distance < FAR, lit, sky(d)) / SAMPLES


def main() -> int:
    path = sys.argv[1] if len(sys.argv) > 1 else "render.png"
    pixels = WIDTH * HEIGHT
    with executor() as workers:
        light, took = clock(
            lambda: dist.sum(workers, sample, pixels * SAMPLES, block=pixels)
        )
    digest = hashlib.blake2b(light.numpy().tobytes(), digest_size=8).hexdigest()
    print(f"{pixels * SAMPLES:,} samples in {took / 1e3:.1f} s; the hash is {digest}")
    save(path, dr.linear_to_srgb(light), WIDTH)
    return 0


if __name__ == "__main__":
    sys.exit(main())
