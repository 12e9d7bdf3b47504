"""Sizes of blocks and matrices in functions that ``drjit.freeze`` records: rows and
columns that are reduced, scanned and sorted, and matrix products. A recording does for
all shapes, in values and derivatives, also once it was saved.

The reference is the function, called with the same inputs. ``n_recordings`` tells
which calls were repeated: one recording does for all shapes, or two if kernels compute
with them; in the second one they read these.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm.ad import Float, TensorXf, UInt

Function = Callable[..., Any]

# They grow and shrink; none has two equal extents, which would stay so.
SHAPES = (
    (6, 4),
    (10, 7),
    (3, 50),
    (300, 256),
    (5, 2),
    (2, 3),
    (1000, 33),
    (7, 30001),
    (6, 4),
)
# An extent of 0 or 1 is another kind of shape.
SMALL = ((1, 5), (5, 1), (1, 1), (0, 3), (3, 0), (1, 2), (2, 1), (4, 4), (1, 4097))


def tensor(shape: tuple[int, ...], seed: int = 0) -> TensorXf:
    numbers = np.random.default_rng(seed + sum(shape)).normal(size=shape)
    return TensorXf(numbers.astype(np.float32))


def bits(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [entry for part in value for entry in bits(part)]
    numbers = np.array(dr.detach(value).numpy())
    return [(numbers.shape, numbers.tobytes())]


def near(found: list[Any], expected: list[Any]) -> bool:
    """Are these the same numbers, but for the order in which they were added up?"""
    return all(
        a == b
        and np.allclose(np.frombuffer(x, "f4"), np.frombuffer(y, "f4"), 1e-5, 1e-6)
        for (a, x), (b, y) in zip(found, expected, strict=True)
    )


def outcome(function: Function, *inputs: Any) -> Any:
    """What a call gives; of an error, its class."""
    try:
        return bits(function(*inputs))
    except (RuntimeError, ValueError) as error:
        return type(error)


# ---------------------------------------------------------------- one tensor


def softmax(t: TensorXf) -> TensorXf:
    e = dr.exp(t - dr.max(t, axis=1, keepdims=True))
    return e / dr.sum(e, axis=1, keepdims=True)


def several(t: TensorXf) -> Any:
    """Of rows and of everything, in one launch where that is small."""
    u = t * 2
    return dr.sum(u, axis=1), dr.max(u, axis=None), dr.cumsum(u, axis=1)


def nested(t: TensorXf) -> Any:
    """Blocks of results of blocks."""
    rows = dr.sum(t * t, axis=1)
    return dr.block_sum(dr.repeat(rows.array, 6), 3), dr.sum(rows)


def cube(t: TensorXf) -> TensorXf:
    return TensorXf(dr.concat([t.array, t.array + 1, -t.array]), (3, *t.shape))


# Functions of a tensor of shape (n, m), and recordings for all shapes, at most.
TENSORS: dict[str, tuple[Function, int]] = {
    "sum": (lambda t: dr.sum(t, axis=1), 1),
    "computed": (lambda t: dr.sum(dr.sin(t), axis=1) + 1, 1),
    "max": (lambda t: dr.max(t, axis=-1, keepdims=True), 1),
    "min": (lambda t: dr.min(dr.abs(t), axis=1), 1),
    "prod": (lambda t: dr.prod(t, axis=1), 1),
    "all": (lambda t: dr.all(t > -1, axis=1), 1),
    "mean": (lambda t: (dr.mean(t, axis=1), dr.mean(t, axis=None)), 2),
    "std": (lambda t: dr.std(t, axis=1), 2),
    "argmax": (lambda t: dr.argmax(t, axis=1), 2),
    "softmax": (softmax, 2),
    "several": (several, 1),
    "nested": (nested, 1),
    "first": (lambda t: dr.sum(t, axis=0), 1),
    "first_std": (lambda t: dr.std(t, axis=0), 2),
    "first_several": (lambda t: (dr.sum(t * t, axis=0), dr.min(t * t, axis=0)), 1),
    "first_computed": (lambda t: dr.max(t * t, axis=0), 1),
    "first_mean": (lambda t: dr.mean(t, axis=0, keepdims=True), 2),
    "middle": (lambda t: dr.sum(cube(t), axis=1), 2),
    "outer": (lambda t: dr.sum(cube(t), axis=(0, 2)), 2),
    "outer_max": (lambda t: dr.max(cube(t), axis=(0, 2)), 2),
    "last_two": (lambda t: dr.sum(cube(t), axis=(1, 2)), 2),
    "symbolic": (lambda t: dr.max(t, axis=1, mode="symbolic"), 2),
    "prefix": (lambda t: dr.cumsum(t, axis=1), 1),
    "prefix_computed": (lambda t: dr.prefix_sum(dr.sin(t), axis=1), 1),
    "prefix_reverse": (lambda t: dr.cumsum(t, axis=1, reverse=True), 1),
    "prefix_first": (lambda t: dr.cumsum(t, axis=0), 1),
    "prefix_middle": (lambda t: dr.prefix_sum(cube(t), axis=1), 2),
    "sort": (lambda t: dr.sort(t, axis=1), 1),
    "argsort": (lambda t: dr.argsort(t, axis=1), 2),
    "sort_first": (lambda t: dr.sort(t, axis=0), 1),
    "argsort_first": (lambda t: dr.argsort(t, axis=0), 2),
    "argmax_first": (lambda t: dr.argmax(t, axis=0), 2),
    "blocks": (lambda t: dr.block_sum(t.array, t.shape[1]), 1),
    "one_block": (lambda t: dr.block_sum(t.array, dr.width(t.array)), 1),
    "prefix_blocks": (lambda t: dr.block_prefix_sum(t.array, t.shape[1]), 1),
    "repeat": (lambda t: dr.repeat(t[:, 0].array, t.shape[1]), 2),
    "tile": (lambda t: dr.tile(t[:, 0].array, t.shape[1]), 2),
}


@pytest.mark.parametrize("name", TENSORS)
def test_tensors(name: str) -> None:
    function, most = TENSORS[name]
    frozen = dr.freeze(function, warn_after=1000)
    for shape in SHAPES:
        expected = bits(function(tensor(shape)))
        assert bits(frozen(tensor(shape))) == expected, (shape, frozen.explain())
    assert frozen.n_recordings <= most, frozen.explain()
    for shape in (*SMALL, *SHAPES[:2]):
        assert outcome(frozen, tensor(shape)) == outcome(function, tensor(shape)), (
            shape,
            frozen.explain(),
        )


# ---------------------------------------------------------------- products


def stacked(a: TensorXf, b: TensorXf) -> TensorXf:
    return cube(a) @ TensorXf(dr.concat([b.array] * 3), (3, *b.shape))


def shared(a: TensorXf, b: TensorXf) -> TensorXf:
    """A batch of shape (3, 1), and one of shape (2)."""
    u = TensorXf(cube(a).array, (3, 1, *a.shape))
    return u @ TensorXf(dr.concat([b.array, -b.array]), (2, *b.shape))


# Functions of tensors of shapes (n, k) and (k, m), recordings of these and of their
# derivatives. None: those of dr.concat are bound to sizes.
PRODUCTS: dict[str, tuple[Function, int, int | None]] = {
    "plain": (lambda a, b: a @ b, 1, 1),
    "computed": (lambda a, b: dr.sin(a) @ (b + 1) * 2, 1, 1),
    "transposed": (lambda a, b: dr.matmul(b, a, At=True, Bt=True), 1, 1),
    "square": (lambda a, b: dr.matmul(a, a + 1, Bt=True), 1, 1),
    "turned": (lambda a, b: a @ dr.transpose(a * 2), 2, 2),
    "chain": (lambda a, b: dr.matmul(a @ b, a @ b, At=True), 1, 1),
    "vector": (lambda a, b: a @ dr.sum(b, axis=1), 1, 2),
    "row": (lambda a, b: dr.sum(a, axis=1) @ (a @ b), 1, 2),
    "stacked": (stacked, 2, None),
    "shared": (shared, 2, None),
}
SIZES = (
    (6, 4, 5),
    (10, 7, 3),
    (3, 50, 8),
    (30, 20, 64),
    (5, 2, 7),
    (2, 3, 9),
    (100, 300, 2),
    (6, 4, 5),
)


def factors(n: int, k: int, m: int) -> tuple[TensorXf, TensorXf]:
    return tensor((n, k)), tensor((k, m), 1)


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str) -> None:
    function, most, _ = PRODUCTS[name]
    frozen = dr.freeze(function, warn_after=1000)
    for sizes in SIZES:
        expected = bits(function(*factors(*sizes)))
        assert bits(frozen(*factors(*sizes))) == expected, (sizes, frozen.explain())
    assert frozen.n_recordings <= most, frozen.explain()
    some = ((1, 4, 5), (4, 1, 5), (4, 5, 1), (1, 1, 1), (3, 0, 4), (0, 3, 4), (3, 4, 0))
    for sizes in (*some, (4, 4, 4), *SIZES[:2]):
        found, expected = (outcome(f, *factors(*sizes)) for f in (frozen, function))
        assert found == expected, (sizes, frozen.explain())


def test_products_that_do_not_fit() -> None:
    """What was equal has to be so; the error is the function's."""
    frozen = dr.freeze(lambda a, b: a @ b)
    frozen(tensor((6, 4)), tensor((4, 5)))
    for a, b in (((6, 4), (3, 5)), ((3, 5), (6, 5)), ((6, 4), (4,))):
        expected = outcome(lambda a, b: a @ b, tensor(a), tensor(b))
        assert outcome(frozen, tensor(a), tensor(b)) == expected
    assert outcome(frozen, tensor((6, 4)), tensor((3, 5))) is ValueError


def test_product_against_numpy() -> None:
    frozen = dr.freeze(lambda a, b: a @ b)
    for sizes in SIZES:
        a, b = factors(*sizes)
        expected = a.numpy() @ b.numpy()
        assert np.allclose(frozen(a, b).numpy(), expected, rtol=1e-4, atol=1e-4)
    assert frozen.n_recordings == 1


# ---------------------------------------------------------------- derivatives


def reverse(function: Function) -> Function:
    def gradients(*inputs: TensorXf) -> Any:
        own = [TensorXf(x) for x in inputs]
        dr.enable_grad(own)
        y = function(*own)
        dr.backward(dr.sum(dr.square(y), axis=None))
        return dr.detach(y), dr.grad(own)

    return gradients


def forward(function: Function) -> Function:
    def derivative(*inputs: TensorXf) -> Any:
        own = [TensorXf(x) for x in inputs]
        dr.enable_grad(own)
        for x in own:
            dr.set_grad(x, dr.detach(x) * 0.5)
        y = function(*own)
        return dr.detach(y), dr.forward_to(y)

    return derivative


ROWS: dict[str, tuple[Function, int]] = {
    "sum": (lambda a, b: dr.sum(a * a, axis=1), 2),
    "max": (lambda a, b: dr.max(a, axis=1), 2),
    "prod": (lambda a, b: dr.prod(a, axis=1), 2),
    "first": (lambda a, b: dr.sum(a * a, axis=0), 2),
    "prefix": (lambda a, b: dr.cumsum(a * a, axis=1), 1),
    "sort": (lambda a, b: dr.sort(a, axis=1), 1),
    "prefix_first": (lambda a, b: dr.cumsum(a * a, axis=0), 1),
    "sort_first": (lambda a, b: dr.sort(a, axis=0), 2),
    "softmax": (lambda a, b: softmax(a), 2),
    "blocks": (lambda a, b: dr.block_sum(a.array, a.shape[1]), 2),
    "repeat": (lambda a, b: dr.repeat(a.array, b.shape[1]), 2),
    "both": (lambda a, b: dr.sum(a, axis=1) * dr.sum(a @ b, axis=1), 2),
}
DIFFERENTIATED: dict[str, tuple[Function, int | None]] = {
    **ROWS,
    **{name: (f, most) for name, (f, _, most) in PRODUCTS.items()},
}


@pytest.mark.parametrize("make", [reverse, forward])
@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_derivatives(name: str, make: Callable[[Function], Function]) -> None:
    function, most = DIFFERENTIATED[name]
    plain, frozen = make(function), dr.freeze(function, warn_after=1000)
    within, through = dr.freeze(plain, warn_after=1000), make(frozen)
    # The reverse of a broadcast adds to rows, in an order that depends on whether there
    # are private copies, which is decided when a function is recorded.
    same = near if name == "softmax" else list.__eq__
    for sizes in SIZES[:-2]:
        expected = bits(plain(*factors(*sizes)))
        found = bits(within(*factors(*sizes)))
        assert same(found, expected), (sizes, within.explain())
        assert same(bits(through(*factors(*sizes))), expected), sizes
    if most is not None:
        derivatives = frozen._derivatives
        pulled = derivatives.pull if make is reverse else derivatives.push
        assert within.n_recordings <= most, within.explain()
        assert frozen.n_recordings <= 2 and pulled.n_recordings <= 2, pulled.explain()


def test_gradient_against_numpy() -> None:
    """d |A B|^2 / dA = 2 A B B^T"""
    frozen = dr.freeze(reverse(lambda a, b: a @ b))
    for sizes in SIZES[:-2]:
        a, b = factors(*sizes)
        _, (found, _) = frozen(a, b)
        x, y = a.numpy(), b.numpy()
        assert np.allclose(found.numpy(), 2 * x @ y @ y.T, rtol=1e-3, atol=1e-3)
    assert frozen.n_recordings == 1


# ---------------------------------------------------------------- recordings


def test_explain() -> None:
    frozen = dr.freeze(
        lambda t: (dr.sum(t, axis=1), dr.sort(t, axis=1), dr.sort(t.array))
    )
    frozen(tensor((6, 4)))
    text = frozen.explain()
    assert re.search(r"reduce w2 \(w4\) \[r i0, w a\d+\]", text), text
    assert re.search(r"sort w2 \(w4\) \[r i0, w a\d+\]", text), text
    assert re.search(r"sort w2 \[r i0, w a\d+\]", text), text
    columns = dr.freeze(lambda t: dr.sum(t, axis=0))
    columns(tensor((6, 4)))
    text = columns.explain()
    assert re.search(r"reduce w2 \(w3, w4\) \[r i0, w a\d+\]", text), text
    product = dr.freeze(lambda a, b: a @ b)
    product(*factors(6, 4, 5))
    text = product.explain()
    assert "w4 * w6 (w4, w6, w5, w5, w6) [r i0, r i1, w a" in text, text


def plain_softmax(t: TensorXf) -> TensorXf:
    return softmax(t)


def plain_product(t: TensorXf) -> Any:
    prefixes = dr.cumsum(t * 2, axis=1), dr.cumsum(t, axis=0)
    return dr.matmul(t, t, At=True), dr.sort(t, axis=1), dr.sort(t, axis=0), prefixes


def plain_columns(t: TensorXf) -> Any:
    return dr.sum(t, axis=0), dr.max(t * 2, axis=0), dr.mean(t, axis=0, keepdims=True)


@pytest.mark.parametrize("function", [plain_softmax, plain_product, plain_columns])
def test_saved(function: Function, tmp_path: Path) -> None:
    frozen = dr.freeze(function)
    for shape in SHAPES[:3]:
        frozen(tensor(shape))
    frozen.save(tmp_path / "kept")
    loaded = dr.load_frozen(tmp_path / "kept", function)
    for shape in SHAPES[:-2]:
        assert bits(loaded(tensor(shape))) == bits(function(tensor(shape))), shape
    assert loaded.n_recordings == 0


def test_numbers_are_no_sizes() -> None:
    """A number that happens to be an extent stays what it is."""
    frozen = dr.freeze(lambda t: dr.block_sum(t.array, 4), warn_after=100)
    for shape in ((6, 4), (10, 8), (8, 7), (5, 12), (3, 7), (1, 4), (6, 2)):
        call = outcome(lambda t: dr.block_sum(t.array, 4), tensor(shape))
        assert outcome(frozen, tensor(shape)) == call, shape


def test_blocks_that_do_not_divide() -> None:
    def function(x: Float, n: UInt) -> Any:
        return dr.block_prefix_sum(x, dr.width(n)), dr.block_sum(x, dr.width(n))

    frozen = dr.freeze(function, warn_after=100)
    for lanes, block in ((12, 3), (20, 5), (14, 7), (12, 5), (4, 4), (2, 3), (30, 15)):
        inputs = tensor((lanes,)).array, dr.zeros(UInt, block)
        assert outcome(frozen, *inputs) == outcome(function, *inputs), (lanes, block)
