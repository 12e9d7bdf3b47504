"""The objectives of ADBench: Gaussian mixtures, bundle adjustment, hand tracking.

From the formulas in F. Srajer, Z. Kukelova, A. Fitzgibbon, "A Benchmark of Selected
Algorithmic Differentiation Tools on Some Problems in Computer Vision and Machine
Learning", Optimization Methods and Software 33 (2018). Each is written twice, with
Dr.Jit and with NumPy, and the data is made up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import drjit as dr
import numpy as np
import numpy.typing as npt
from drjit.llvm.ad import (
    Array3f64,
    Array4f64,
    Bool,
    Float64,
    Matrix4f64,
    Quaternion4f64,
    TensorXf64,
)
from drjit.llvm.ad import UInt as Index

Numbers = npt.NDArray[np.float64]

# ---------------------------------------------------------------- Gaussian mixtures


@dataclass
class Mixture:
    """K Gaussians in D dimensions, N points.

    ``factors`` has for each Gaussian the logarithms of the diagonal of a lower
    triangular matrix, whose square is the inverse covariance, then its rows beneath.
    """

    alphas: Any  # K
    means: Any  # K, D
    factors: Any  # K, D (D + 1) / 2
    points: Numbers  # N, D
    gamma: float = 1.3
    excess: int = 2


def make_mixture(n: int, d: int, k: int, seed: int = 1) -> Mixture:
    rng = np.random.default_rng(seed)
    return Mixture(
        rng.normal(size=k),
        rng.uniform(size=(k, d)),
        rng.normal(size=(k, d * (d + 1) // 2)) * 0.6,
        rng.normal(size=(n, d)),
    )


def mixture_constant(m: Mixture) -> float:
    """What does not depend on parameters: of the densities and of the Wishart prior."""
    (n, d), k = m.points.shape, m.means.shape[0]
    freedom = d + m.excess + 1
    log_gamma = d * (d - 1) / 4 * math.log(math.pi) + sum(
        math.lgamma(0.5 * (freedom - j)) for j in range(d)
    )
    prior = freedom * d * (math.log(m.gamma) - 0.5 * math.log(2)) - log_gamma
    return -n * d * 0.5 * math.log(2 * math.pi) - k * prior


def beneath(d: int) -> npt.NDArray[np.int64]:
    """Where in a row of 'factors' an entry of the triangle is; -1: nowhere."""
    where = np.full((d, d), -1)
    where[np.tril_indices(d, -1)] = np.arange(d * (d - 1) // 2)
    return where


def mixture_numpy(m: Mixture) -> tuple[float, tuple[Numbers, Numbers, Numbers]]:
    """The objective, and its gradient from the formulas."""
    (n, d), k = m.points.shape, m.means.shape[0]
    logs, rows = m.factors[:, :d], m.factors[:, d:]
    triangle = np.zeros((k, d, d))
    low = np.tril_indices(d, -1)
    triangle[:, low[0], low[1]] = rows
    triangle[:, np.arange(d), np.arange(d)] = np.exp(logs)
    delta = m.points[:, None, :] - m.means[None]
    y = np.einsum("kij,nkj->nki", triangle, delta)
    terms = m.alphas + logs.sum(axis=1) - 0.5 * (y**2).sum(axis=2)
    most = terms.max(axis=1, keepdims=True)
    sums = np.exp(terms - most).sum(axis=1, keepdims=True)
    weights = np.exp(terms - most) / sums  # N, K
    total = np.log(np.exp(m.alphas - m.alphas.max()).sum()) + m.alphas.max()
    penalty = 0.5 * m.gamma**2 * (np.exp(2 * logs).sum() + (rows**2).sum())
    value = (
        (most + np.log(sums)).sum() - n * total + penalty
        - m.excess * logs.sum() + mixture_constant(m)
    )  # fmt: skip
    by_alphas = weights.sum(axis=0) - n * np.exp(m.alphas - total)
    by_means = np.einsum("nk,kij,nki->kj", weights, triangle, y)
    outer = np.einsum("nk,nki,nkj->kij", weights, y, delta)
    diagonal = np.einsum("kii->ki", outer) * np.exp(logs)
    by_logs = weights.sum(axis=0)[:, None] - diagonal
    by_logs += m.gamma**2 * np.exp(2 * logs) - m.excess
    by_rows = m.gamma**2 * rows - outer[:, low[0], low[1]]
    return float(value), (by_alphas, by_means, np.hstack([by_logs, by_rows]))


def log_sum_exp(terms: Any, axis: int) -> Any:
    most = dr.detach(dr.max(terms, axis=axis))
    wide = dr.expand_dims(most, axis)
    return dr.log(dr.sum(dr.exp(terms - wide), axis=axis)) + most


def mixture_drjit(m: Mixture) -> Any:
    (n, d), k = m.points.shape, m.means.shape[0]
    logs = m.factors[:, :d]
    # The triangle: each entry from where it is, the others are 0.
    where = np.broadcast_to(beneath(d), (k, d, d))
    place = np.where(where < 0, 0, where + d + np.arange(k)[:, None, None] *
                     (d * (d + 1) // 2))  # fmt: skip
    flat = dr.gather(
        Float64, m.factors.array, Index(place.ravel().astype(np.uint32)),
        active=Bool((where >= 0).ravel()),
    )  # fmt: skip
    delta = TensorXf64(m.points)[None] - m.means[:, None, :]  # K, N, D
    y = delta @ dr.swapaxes(TensorXf64(flat, (k, d, d)), 1, 2)
    y += delta * dr.exp(logs)[:, None, :]
    inner = m.alphas + dr.sum(logs, axis=1)
    terms = inner[:, None] - 0.5 * dr.sum(y * y, axis=2)  # K, N
    rows = m.factors[:, d:]
    penalty = dr.sum(dr.square(dr.exp(logs)), axis=None)
    penalty += dr.sum(dr.square(rows), axis=None)
    value = dr.sum(log_sum_exp(terms, 0), axis=None) - n * log_sum_exp(m.alphas, 0)
    value += 0.5 * m.gamma**2 * penalty - m.excess * dr.sum(logs, axis=None)
    return value + mixture_constant(m)


# ---------------------------------------------------------------- bundle adjustment


@dataclass
class Bundle:
    """Cameras: rotation (3), centre (3), focal length, principal point (2),
    radial distortion (2). An observation is of a point by a camera."""

    cameras: Any  # n, 11
    points: Any  # m, 3
    weights: Any  # p
    camera_of: npt.NDArray[np.uint32]
    point_of: npt.NDArray[np.uint32]
    seen: Numbers  # p, 2


def make_bundle(n: int, m: int, p: int, seed: int = 2) -> Bundle:
    rng = np.random.default_rng(seed)
    cameras = rng.normal(size=(n, 11)) * 0.2
    cameras[:, 5] -= 4  # in front of the points
    cameras[:, 6] += 2
    return Bundle(
        cameras,
        rng.normal(size=(m, 3)) * 0.5,
        rng.uniform(0.5, 1.5, size=p),
        rng.integers(n, size=p, dtype=np.uint32),
        rng.integers(m, size=p, dtype=np.uint32),
        rng.normal(size=(p, 2)),
    )


def bundle_numpy(b: Bundle) -> Numbers:
    """For each observation two reprojection errors, and one of its weight: (3, p)."""
    c, x = b.cameras[b.camera_of], b.points[b.point_of]
    angle = np.linalg.norm(c[:, :3], axis=1, keepdims=True)
    axis = c[:, :3] / angle
    moved = x - c[:, 3:6]
    turned = (
        moved * np.cos(angle) + np.cross(axis, moved) * np.sin(angle)
        + axis * (axis * moved).sum(axis=1, keepdims=True) * (1 - np.cos(angle))
    )  # fmt: skip
    flat = turned[:, :2] / turned[:, 2:]
    square = (flat**2).sum(axis=1, keepdims=True)
    bent = flat * (1 + c[:, 9:10] * square + c[:, 10:11] * square**2)
    error = bent * c[:, 6:7] + c[:, 7:9] - b.seen
    return np.vstack([(b.weights[:, None] * error).T, 1 - b.weights**2])


def bundle_drjit(b: Bundle) -> tuple[Any, Any, Any]:
    camera, point = Index(b.camera_of), Index(b.point_of)
    c = [dr.gather(Float64, b.cameras.array, camera * 11 + k) for k in range(11)]
    x = dr.gather(Array3f64, b.points.array, point)
    turn = Array3f64(c[0], c[1], c[2])
    angle = dr.norm(turn)
    axis = turn / angle
    moved = x - Array3f64(c[3], c[4], c[5])
    sine, cosine = dr.sincos(angle)
    turned = dr.fma(moved, cosine, dr.cross(axis, moved) * sine)
    turned += axis * (dr.dot(axis, moved) * (1 - cosine))
    flat = turned.xy / turned.z
    square = dr.squared_norm(flat)
    bent = flat * (1 + square * (c[9] + c[10] * square))
    u = b.weights.array * (bent.x * c[6] + c[7] - Float64(b.seen[:, 0]))
    v = b.weights.array * (bent.y * c[6] + c[8] - Float64(b.seen[:, 1]))
    return u, v, 1 - dr.square(b.weights.array)


# ---------------------------------------------------------------- hand tracking

FINGERS, JOINTS = 5, 4
BONES = 1 + FINGERS * JOINTS
PARENTS = [-1] + [0 if k % JOINTS == 0 else k for k in range(FINGERS * JOINTS)]
FREEDOMS = 6 + FINGERS * (JOINTS + 1)  # the first joint of a finger has two angles


@dataclass
class Hand:
    """Pose: a rotation (3), a translation (3), and for each finger spread and bends."""

    pose: Any
    relatives: Numbers  # BONES, 4, 4: from a bone to its parent, at rest
    inverses: Numbers  # BONES, 4, 4: from the model to the bone, at rest
    rest: Numbers  # vertices, 4
    skin: Numbers  # BONES, vertices
    vertex_of: npt.NDArray[np.uint32]  # of the points
    points: Numbers  # points, 3


def rigid(rng: np.random.Generator) -> Numbers:
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    result = np.eye(4)
    result[:3, :3] = q * np.sign(np.linalg.det(q))
    result[:3, 3] = rng.normal(size=3) * 0.3
    return result


def make_hand(vertices: int, points: int, seed: int = 3) -> Hand:
    rng = np.random.default_rng(seed)
    relatives = np.array([rigid(rng) for _ in range(BONES)])
    absolutes: list[Numbers] = []
    for bone, parent in enumerate(PARENTS):
        base = absolutes[parent] if parent >= 0 else np.eye(4)
        absolutes.append(base @ relatives[bone])
    skin = rng.uniform(size=(BONES, vertices)) ** 8
    return Hand(
        rng.normal(size=FREEDOMS) * 0.4,
        relatives,
        np.linalg.inv(np.array(absolutes)),
        np.hstack([rng.normal(size=(vertices, 3)), np.ones((vertices, 1))]),
        skin / skin.sum(axis=0),
        rng.integers(vertices, size=points, dtype=np.uint32),
        rng.normal(size=(points, 3)),
    )


def angles_of(pose: Any, bone: int) -> tuple[Any, Any]:
    """Bend and spread of a bone; None where it has none."""
    if bone == 0:
        return None, None
    finger, joint = divmod(bone - 1, JOINTS)
    first = 6 + finger * (JOINTS + 1)
    return pose[first + (joint and joint + 1)], pose[first + 1] if not joint else None


def hand_numpy(h: Hand) -> Numbers:
    """Differences of points and their vertices: (3, points)."""
    absolutes: list[Numbers] = []
    posed = np.zeros((3, len(h.rest)))
    for bone, parent in enumerate(PARENTS):
        local = np.eye(4)
        bend, spread = angles_of(h.pose, bone)
        if bend is not None:
            c, s = math.cos(bend), math.sin(bend)
            local[1:3, 1:3] = [[c, -s], [s, c]]
        if spread is not None:
            c, s = math.cos(spread), math.sin(spread)
            about_y = np.eye(4)
            about_y[np.ix_([0, 2], [0, 2])] = [[c, s], [-s, c]]
            local = about_y @ local
        base = absolutes[parent] if parent >= 0 else np.eye(4)
        absolutes.append(base @ h.relatives[bone] @ local)
        moved = absolutes[bone] @ h.inverses[bone] @ h.rest.T
        posed += h.skin[bone] * moved[:3]
    angle = np.linalg.norm(h.pose[:3])
    x, y, z = h.pose[:3] / angle
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    turn = np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross
    posed = turn @ posed + h.pose[3:6, None]
    return np.asarray(h.points.T - posed[:, h.vertex_of])


def rotation(axis: Any, angle: Any) -> Any:
    about = dr.rotate(Quaternion4f64, axis, angle)
    return dr.quat_to_matrix(Matrix4f64, about)


def hand_drjit(h: Hand) -> Any:
    pose = [dr.gather(Float64, h.pose, k) for k in range(FREEDOMS)]
    rest = Array4f64(*(Float64(column) for column in h.rest.T))
    posed = dr.zeros(Array4f64)
    absolutes: list[Any] = []
    for bone, parent in enumerate(PARENTS):
        matrix = Matrix4f64(h.relatives[bone])
        bend, spread = angles_of(pose, bone)
        if spread is not None:
            matrix @= rotation(Array3f64(0, 1, 0), spread)
        if bend is not None:
            matrix @= rotation(Array3f64(1, 0, 0), bend)
        absolutes.append(absolutes[parent] @ matrix if parent >= 0 else matrix)
        whole = absolutes[bone] @ Matrix4f64(h.inverses[bone])
        posed += Float64(h.skin[bone]) * (whole @ rest)
    turn = Array3f64(*pose[:3])
    angle = dr.norm(turn)
    whole = dr.rotate(Quaternion4f64, turn / angle, angle)
    placed = dr.quat_apply(whole, posed.xyz) + Array3f64(*pose[3:6])
    found = dr.gather(Array3f64, placed, Index(h.vertex_of))
    return Array3f64(*(Float64(column) for column in h.points.T)) - found
