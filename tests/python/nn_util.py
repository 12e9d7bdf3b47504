"""What tests of vectors and of networks share."""

from __future__ import annotations

from typing import Any

import numpy as np
from drjit.llvm.ad import Float, Float16, Float64, TensorXf, TensorXf16, TensorXf64

KINDS = {
    "f16": (Float16, TensorXf16, np.float16, 2e-3),
    "f32": (Float, TensorXf, np.float32, 2e-6),
    "f64": (Float64, TensorXf64, np.float64, 1e-14),
}


def rng(seed: int = 1) -> Any:
    return np.random.default_rng(seed)


def values(vector: Any) -> Any:
    """Components as rows."""
    found = np.broadcast_arrays(*[np.atleast_1d(c.numpy()) for c in vector])
    return np.array(found, dtype=np.float64)
