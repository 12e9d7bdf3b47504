"""Random expressions and shapes: eager and traced mode agree, and so does NumPy."""

import os

import drjit as dr
import drjit.llvm as llvm
import drjit.scalar as scalar
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

LEAVES = {
    "i8": "Int8", "u8": "UInt8", "i": "Int", "u": "UInt", "i64": "Int64",
    "u64": "UInt64", "f16": "Float16", "f": "Float", "f64": "Float64",
}  # fmt: skip
DTYPES = {
    "i8": np.int8, "u8": np.uint8, "i": np.int32, "u": np.uint32, "i64": np.int64,
    "u64": np.uint64, "f16": np.float16, "f": np.float32, "f64": np.float64,
}  # fmt: skip
BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}

COMMON = ["add", "sub", "mul", "min", "max", "fma", "select", "neg", "abs"]
INTEGER = ["div", "mod", "and", "or", "xor", "shl", "shr", "popcnt", "lzcnt", "brev"]
FLOAT = ["div", "sqrt", "rcp", "floor", "ceil", "round", "trunc", "copysign"]
if os.environ.get("DRJIT_CPU_ENGINE") == "ptx-sim":
    FLOAT.remove("copysign")  # the NaN of 0 / 0 has another sign than on this CPU


def apply(op, a, b, c, integer):
    unary = {
        "neg": lambda: -a, "abs": lambda: abs(a), "sqrt": lambda: dr.sqrt(a),
        "rcp": lambda: dr.rcp(a), "floor": lambda: dr.floor(a),
        "ceil": lambda: dr.ceil(a), "round": lambda: dr.round(a),
        "trunc": lambda: dr.trunc(a), "popcnt": lambda: dr.popcnt(a),
        "lzcnt": lambda: dr.lzcnt(a), "brev": lambda: dr.brev(a),
    }  # fmt: skip
    other = {
        "add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b,
        "min": lambda: dr.minimum(a, b), "max": lambda: dr.maximum(a, b),
        "fma": lambda: dr.fma(a, b, c), "select": lambda: dr.select(a < b, b, c),
        "div": lambda: a // b if integer else a / b, "mod": lambda: a % b,
        "and": lambda: a & b, "or": lambda: a | b, "xor": lambda: a ^ b,
        "shl": lambda: a << b, "shr": lambda: a >> b,
        "copysign": lambda: dr.copysign(a, b),
    }  # fmt: skip
    return (unary.get(op) or other[op])()


def evaluate(cls, inputs, program, integer):
    pool = [cls(x) for x in inputs]
    for op, i, j, k in program:
        n = len(pool)
        pool.append(apply(op, pool[i % n], pool[j % n], pool[k % n], integer))
    return pool[-1].numpy()


def same(a, b):
    """The same bits; NaNs of any payload are equal."""
    bits = BITS[a.dtype.itemsize]
    equal = a.view(bits) == b.view(bits)
    if a.dtype.kind == "f":
        equal |= np.isnan(a) & np.isnan(b)
    return equal.all()


@pytest.mark.parametrize("suffix", LEAVES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_eager_and_traced_mode_agree(suffix, data):
    dtype = np.dtype(DTYPES[suffix])
    integer = dtype.kind != "f"
    size = dtype.itemsize
    entries = st.binary(min_size=6 * size, max_size=6 * size)
    raw = [data.draw(entries) for _ in range(3)]
    inputs = [np.frombuffer(r, dtype=dtype) for r in raw]
    ops = st.sampled_from(COMMON + (INTEGER if integer else FLOAT))
    step = st.tuples(ops, *[st.integers(0, 20)] * 3)
    program = data.draw(st.lists(step, min_size=1, max_size=12))
    eager = evaluate(getattr(scalar, "ArrayX" + suffix), inputs, program, integer)
    traced = evaluate(getattr(llvm, LEAVES[suffix]), inputs, program, integer)
    assert eager.dtype == traced.dtype == dtype
    assert same(eager, traced), program


@st.composite
def tensor_and_axes(draw):
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    axes = draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))
    signed = tuple(a - len(shape) * draw(st.booleans()) for a in sorted(axes))
    return tuple(shape), signed


@pytest.mark.parametrize("module", [scalar, llvm, llvm.ad])
@settings(max_examples=40, deadline=None)
@given(case=tensor_and_axes(), keepdims=st.booleans(), seed=st.integers(0, 99))
def test_tensor_reductions_agree_with_numpy(module, case, keepdims, seed):
    shape, axes = case
    a = np.random.default_rng(seed).integers(-9, 9, shape).astype(np.int32)
    t = module.TensorXi(a)
    for ours, theirs in (
        (dr.sum, np.sum),
        (dr.min, np.min),
        (dr.max, np.max),
        (dr.prod, lambda x, **kw: np.prod(x, dtype=np.int32, **kw)),
    ):
        expected = theirs(a, axis=axes, keepdims=keepdims)
        found = ours(t, axis=axes, keepdims=keepdims)
        assert found.shape == expected.shape and (found.numpy() == expected).all()
    for ours, theirs in ((dr.all, np.all), (dr.any, np.any)):
        expected = theirs(a > 0, axis=axes, keepdims=keepdims)
        found = ours(t > 0, axis=axes, keepdims=keepdims)
        assert found.shape == expected.shape and (found.numpy() == expected).all()


@pytest.mark.parametrize("module", [scalar, llvm, llvm.ad])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_tensor_broadcasting_agrees_with_numpy(module, data):
    shape = data.draw(st.lists(st.integers(0, 4), min_size=0, max_size=4))
    shapes = []
    for _ in range(2):
        drop = data.draw(st.integers(0, len(shape)))
        ones = data.draw(st.lists(st.booleans(), min_size=4, max_size=4))
        kept = shape[drop:]
        shapes.append(
            tuple(1 if one else n for n, one in zip(kept, ones, strict=False))
        )
    a, b = (np.arange(int(np.prod(s)), dtype=np.int32).reshape(s) for s in shapes)
    found = module.TensorXi(a) * 3 - module.TensorXi(b)
    expected = a * 3 - b
    assert found.shape == expected.shape and (found.numpy() == expected).all()
