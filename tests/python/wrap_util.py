"""What the tests of drjit.wrap() share: frameworks under one set of names."""

import gc
from types import SimpleNamespace

import drjit as dr
import numpy as np
import pytest

PACKAGES = {"torch": "torch", "jax": "jax", "tf": "tensorflow"}


def functions(name):
    """The few functions that the tests call, by one set of names."""
    package = PACKAGES[name]
    m = pytest.importorskip(package, reason=f"{package} is not installed")
    if name == "torch":
        return SimpleNamespace(
            name=name,
            m=m,
            sin=m.sin,
            exp=m.exp,
            cos=m.cos,
            sum=m.sum,
            array=lambda a, t="float32": m.tensor(a, dtype=getattr(m, t)),
            long=lambda x: x.to(m.int64),
            where=m.where,
        )
    if name == "jax":
        np_like = m.numpy
        return SimpleNamespace(
            name=name,
            m=m,
            sin=np_like.sin,
            exp=np_like.exp,
            cos=np_like.cos,
            sum=np_like.sum,
            array=lambda a, t="float32": np_like.asarray(a, dtype=t),
            long=lambda x: x.astype("int64"),
            where=np_like.where,
        )
    return SimpleNamespace(
        name=name,
        m=m,
        sin=m.sin,
        exp=m.exp,
        cos=m.cos,
        sum=m.reduce_sum,
        array=lambda a, t="float32": m.constant(a, dtype=t),
        long=lambda x: m.cast(x, m.int64),
        where=m.where,
    )


def into(lib):
    return dr.wrap(source="drjit", target=lib.name)


def out_of(lib):
    return dr.wrap(source=lib.name, target="drjit")


def tracked(array):
    dr.enable_grad(array)
    return array


def close(found, expected, tolerance=1e-5):
    np.testing.assert_allclose(
        np.asarray(found), np.asarray(expected), rtol=tolerance, atol=tolerance
    )


@pytest.fixture
def nothing_left():
    yield
    gc.collect()
    assert dr._core._ad_node_count() == 0


@pytest.fixture(params=list(PACKAGES))
def lib(request):
    """The functions of a framework. JAX has 64 bits meanwhile."""
    found = functions(request.param)
    if found.name != "jax":
        yield found
        return
    before = found.m.config.jax_enable_x64
    found.m.config.update("jax_enable_x64", True)
    yield found
    found.m.config.update("jax_enable_x64", before)
