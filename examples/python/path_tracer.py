"""A path tracer: loops in a loop, conditionals, and objects as materials.

    python examples/python/path_tracer.py [PICTURE.png]

Each lane follows one path of light backwards through a scene of spheres. All of it is
one kernel: the loop over the bounces, in it the loop over the spheres, and the call of
the material that was hit. Materials are objects of Python classes, and entries of an
array: each object's method is called once, while the kernel is recorded.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from math import pi

import drjit as dr
from drjit.llvm import PCG32, Array3f, Bool, Float, UInt
from picture import clock, save

WIDTH, HEIGHT, PATHS, BOUNCES = 384, 256, 64, 8
NEAR = 1e-3


@dataclass
class Hit:
    """Where a ray meets a surface: its direction, the normal on its side, chance."""

    d: Array3f
    n: Array3f
    outside: Bool
    random: Array3f
    u: Float


class Material(dr.Instance):
    """A surface: scatter() is where light comes from that goes on as the ray came."""

    def __init__(self, color: tuple[float, float, float], blur: float = 0.03) -> None:
        self.color, self.blur = Array3f(color), blur

    def scatter(self, hit: Hit) -> Array3f:
        raise NotImplementedError


class Matte(Material):
    """Light goes everywhere, as the cosine says."""

    def scatter(self, hit: Hit) -> Array3f:
        return dr.normalize(hit.n + hit.random * 0.999)


class Mirror(Material):
    """Light is reflected, nearly."""

    def scatter(self, hit: Hit) -> Array3f:
        away = 2 * dr.dot(hit.d, hit.n)
        return dr.normalize(hit.d - hit.n * away + hit.random * self.blur)


class Glass(Material):
    """Light is refracted, or reflected with the probability that Schlick gives."""

    @dr.syntax
    def scatter(self, hit: Hit) -> Array3f:
        ratio = dr.select(hit.outside, Float(1 / 1.5), Float(1.5))
        cosine = -dr.dot(hit.d, hit.n)
        k = 1 - ratio * ratio * (1 - cosine * cosine)
        reflected = 0.04 + 0.96 * (1 - dr.abs(cosine)) ** 5
        if (k < 0) | (hit.u < reflected):
            result = hit.d + hit.n * (2 * cosine)
        else:
            across = ratio * cosine - dr.sqrt(dr.maximum(k, 0))
            result = hit.d * ratio + hit.n * across
        return dr.normalize(result)


MaterialPtr = dr.array_t(Material)


@dataclass
class Spheres:
    """The scene: one entry for each sphere."""

    center: Array3f
    radius: Float
    material: MaterialPtr


def make_scene() -> Spheres:
    """A large sphere to stand on, and others on it."""
    rows = [
        ((0, -1000, 0), 1000.0, Matte((0.55, 0.55, 0.5))),
        ((-2.2, 1, 0), 1.0, Matte((0.85, 0.3, 0.25))),
        ((0, 1, 0), 1.0, Glass((1, 1, 1))),
        ((2.2, 1, 0), 1.0, Mirror((0.95, 0.85, 0.6))),
        ((-1.1, 0.4, 1.6), 0.4, Matte((0.3, 0.7, 0.4))),
        ((1.1, 0.4, 1.6), 0.4, Mirror((0.9, 0.9, 0.95), blur=0.1)),
        ((0.1, 0.3, 2.2), 0.3, Matte((0.3, 0.4, 0.9))),
        ((0.4, 3.4, -2.5), 1.2, Mirror((0.9, 0.7, 0.95))),
    ]
    center, radius, material = zip(*rows, strict=True)
    x, y, z = zip(*center, strict=True)
    return Spheres(Array3f(x, y, z), Float(radius), MaterialPtr(material))


@dr.syntax
def intersect(scene: Spheres, o: Array3f, d: Array3f) -> tuple[Float, UInt]:
    """Distance and number of the sphere that a ray hits first."""
    count = dr.width(scene.radius)
    distance, number, k = Float(dr.inf), UInt(count), UInt(0)
    while k < count:
        to = dr.gather(Array3f, scene.center, k) - o
        b = dr.dot(to, d)
        r = dr.gather(Float, scene.radius, k)
        h = b * b - dr.squared_norm(to) + r * r
        if h > 0:
            root = dr.sqrt(h)
            t = dr.select(b - root > NEAR, b - root, b + root)
            if (t > NEAR) & (t < distance):
                distance, number = t, UInt(k)
        k += 1
    return distance, number


def on_sphere(rng: PCG32) -> Array3f:
    """A random unit vector."""
    z = rng.next_float32() * 2 - 1
    s, c = dr.sincos(rng.next_float32() * (2 * pi))
    r = dr.sqrt(dr.maximum(1 - z * z, 0))
    return Array3f(r * c, r * s, z)


def sky(d: Array3f) -> Array3f:
    """Light from above, and a sun."""
    up = 0.5 + 0.5 * d.y
    sun = dr.normalize(Array3f(0.6, 0.7, 0.5))
    glow = dr.maximum(dr.dot(d, sun), 0) ** 64
    return dr.lerp(Array3f(1, 0.95, 0.9), Array3f(0.45, 0.65, 1), up) + glow * 6


@dr.syntax
def radiance(scene: Spheres, o: Array3f, d: Array3f, rng: PCG32) -> Array3f:
    """The light that comes along a ray."""
    light, weight, bounce = Array3f(0), Array3f(1), UInt(0)
    while bounce < BOUNCES:
        distance, number = intersect(scene, o, d)
        if distance == dr.inf:
            light += weight * sky(d)
            break
        o += d * distance
        n = dr.normalize(o - dr.gather(Array3f, scene.center, number))
        outside = dr.dot(d, n) < 0
        n = dr.select(outside, n, -n)
        material = dr.gather(MaterialPtr, scene.material, number)
        hit = Hit(d, n, outside, on_sphere(rng), rng.next_float32())
        d = material.scatter(hit)
        weight *= material.color
        bounce += 1
    return light


def render(scene: Spheres, seed: int) -> Array3f:
    """One picture of one path a pixel."""
    count = WIDTH * HEIGHT
    pixel = dr.arange(UInt, count)
    rng = PCG32(count, initstate=seed)
    x = (Float(pixel % WIDTH) + rng.next_float32()) / WIDTH * 2 - 1
    y = 1 - (Float(pixel // WIDTH) + rng.next_float32()) / HEIGHT * 2
    d = dr.normalize(Array3f(x * 0.6, y * (0.6 * HEIGHT / WIDTH) - 0.12, -1))
    return radiance(scene, Array3f(0, 1.7, 7) + d * 0, d, rng)


def main() -> int:
    """Draw the picture."""
    path = sys.argv[1] if len(sys.argv) > 1 else "path_tracer.png"
    scene = make_scene()
    dr.eval(scene)

    def sample(seeds: range) -> Array3f:
        total = dr.zeros(Array3f, WIDTH * HEIGHT)
        for seed in seeds:
            total += render(scene, seed)
            dr.eval(total)
        dr.sync_thread()
        return total

    total, first = clock(lambda: sample(range(1)))
    others, rest = clock(lambda: sample(range(1, PATHS)))
    print(f"{WIDTH} x {HEIGHT}: first path a pixel {first:.0f} ms, ", end="")
    print(f"the next ones {rest / (PATHS - 1):.1f} ms each")
    mean = (total + others) / PATHS
    save(path, dr.linear_to_srgb(dr.minimum(mean * 0.8, 1)), WIDTH)
    return 0


if __name__ == "__main__":
    sys.exit(main())
