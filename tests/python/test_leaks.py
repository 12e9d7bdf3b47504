"""Nothing is left behind: no variables, no memory, no references, also after errors.

fuzz/leaks.py does the same for random calls; it needs a debug build of Python to see
single references, and time.
"""

import copy
import pickle
import sys
from pathlib import Path

import drjit as dr
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent / "fuzz"))

import meter  # noqa: E402


class Boom(Exception):
    pass


class Raises:
    def __float__(self):
        raise Boom

    __index__ = __len__ = __float__

    def __getitem__(self, i):
        raise Boom


class Second:
    """A sequence that fails in the middle."""

    def __len__(self):
        return 3

    def __getitem__(self, i):
        if i == 1:
            raise Boom
        return 1


class Struct:
    DRJIT_STRUCT = {"a": dr.llvm.Array3f, "b": dr.scalar.ArrayXf}

    def __init__(self):
        self.a = dr.llvm.Array3f(1, 2, 3)
        self.b = dr.scalar.ArrayXf([1, 2])


def expect(*kinds):
    class Context:
        def __enter__(self):
            return self

        def __exit__(self, kind, error, traceback):
            assert kind is not None and issubclass(kind, kinds)
            return True

    return Context()


def flat_type(m):
    return m.Float if m is not dr.scalar else m.ArrayXf


def arithmetic(m):
    a = m.Array3f(1, 2, 3)
    b = a * 2 + a.x
    b += 1
    b.yz = b.zy
    b[0] = b[1]
    dr.fma(a, b, 1), dr.select(a > b, a, b), a @ b, -a, abs(a), a == b, 2 / a, a**3
    (
        m.Matrix3f(2) @ a,
        m.Complex2f(1, 2) * m.Complex2f(2, 1),
        dr.rcp(m.Matrix2f(1, 2, 3, 5)),
    )


def wrong_operands(m):
    a = m.Array3f(1, 2, 3)
    for wrong in ("x", None, [1, 2], m.Array4f(1), Raises(), object()):
        with expect(TypeError, RuntimeError, Boom):
            a + wrong
        with expect(TypeError, RuntimeError, Boom):
            a += wrong
        with expect(TypeError, RuntimeError, Boom):
            dr.fma(a, wrong, 1)
    with expect(TypeError, RuntimeError):
        m.Array3f(1) @ m.Array4f(1)


def sizes_that_do_not_fit(m):
    flat = flat_type(m)
    with expect(RuntimeError, TypeError):
        flat([1, 2, 3]) + flat([1, 2])
    with expect(RuntimeError, TypeError):
        dr.select(flat([1, 2, 3]) > 1, flat([1, 2]), 0)


def construction(m):
    m.Array3f([1, 2, 3]), m.ArrayXf(range(5)), m.TensorXf([[1, 2], [3, 4]])
    m.Array3f(m.Array3i(1)), m.Matrix2f([[1, 2], [3, 4]]), flat_type(m)(3)
    m.TensorXf(flat_type(m)([1, 2]), shape=(2, 1))


def wrong_construction(m):
    for cls in (m.Array3f, m.ArrayXf, m.TensorXf, m.Matrix2f, flat_type(m), m.Array3u8):
        for wrong in ("x", [1, "x", 2], Raises(), [1, Raises()], [object()]):
            with expect(Exception):
                cls(wrong)
        with expect(Exception):
            cls(1, 2, 3, 4, 5, 6, "x")
        with expect(TypeError):
            cls(nonsense=1)
    with expect(Exception):
        m.Array3f(Second())


def own(self, *args):
    type(self).__mro__[1].__init__(self, *args)
    self.me = self


MODULES = (dr.scalar, dr.llvm, dr.llvm.ad)
MINE = {m: type("Mine", (m.Array3f,), {"__init__": own}) for m in MODULES}


def subclasses(m):
    Mine = MINE[m]
    a = Mine(1, 2, 3)
    b = a + 1
    copy.deepcopy(a), copy.copy(a), b


def indexing(m):
    t = m.TensorXf(np.arange(24).reshape(2, 3, 4))
    (
        t[0],
        t[:, 1],
        t[..., ::2],
        t[1, None, m.Int([0, 2]) if m is not dr.scalar else m.ArrayXi([0, 2])],
        t[t > 3],
    )
    t[0, 1] = 5
    t[:, 2] = m.TensorXf([1, 2, 3, 4])
    for wrong in (7, (0, 0, 0, 0), "x", 1.5, (..., ...), Raises(), [0, 9]):
        with expect(Exception):
            t[wrong]
        with expect(Exception):
            t[wrong] = 1
    with expect(Exception):
        t[0] = [1, 2]
    a = m.Array3f(1, 2, 3)
    for wrong in (3, -4, "x", Raises()):
        with expect(Exception):
            a[wrong]
        with expect(Exception):
            a[wrong] = 1
    with expect(Exception):
        a[0] = Raises()
    with expect(AttributeError):
        _ = a.nothing
    list(a), list(t), a.x, a.xyz


def memory(m):
    flat, index = flat_type(m), dr.uint32_array_t(flat_type(m))
    source, at = dr.arange(flat, 10), index(1, 2, 3)
    dr.gather(flat, source, at), dr.gather(flat, source, at, at > 1)
    target = dr.zeros(flat, 10)
    dr.scatter(target, flat(1, 2, 3), at)
    dr.scatter_reduce(dr.ReduceOp.Add, target, flat(1), at)
    dr.eval(target)
    for wrong in ("x", Raises(), object()):
        with expect(Exception):
            dr.gather(flat, source, wrong)
        with expect(Exception):
            dr.scatter(target, wrong, at)
        with expect(Exception):
            dr.gather(flat, wrong, at)


def reductions(m):
    t = m.TensorXf(np.arange(24).reshape(2, 3, 4))
    dr.sum(t), dr.sum(t, axis=(0, 2)), dr.max(t, axis=1, keepdims=True), dr.all(t > -1)
    dr.prefix_sum(flat_type(m)(1, 2, 3)), dr.mean(t), dr.sum(m.Array3f(1, 2, 3))
    for wrong in (3, "x", (0, 9), Raises(), 1.5):
        with expect(Exception):
            dr.sum(t, axis=wrong)
    with expect(Exception):
        dr.reduce(dr.ReduceOp.Add, t, mode="nonsense")


def exchange(m):
    flat = flat_type(m)([1, 2, 3])
    array, view = flat.numpy(), memoryview(flat)
    np.from_dlpack(flat), flat.__dlpack__(), np.asarray(m.Array3f(1, 2, 3))
    type(flat)(array), m.TensorXf(array), m.TensorXf(array[::-1]), bytes(view)
    m.TensorXf(np.zeros((2, 2), order="F")), repr(flat), str(m.TensorXf([[1, 2]]))
    pickle.loads(pickle.dumps(m.Array3f(1, 2, 3))), pickle.loads(pickle.dumps(flat))
    for wrong in (
        np.array(["x"]),
        np.array([None]),
        np.zeros(3, "c8"),
        np.zeros((2, 2, 2)),
    ):
        with expect(Exception):
            m.Array3f(wrong)


def trees(m):
    tree = {"a": m.Array3f(1), "b": [m.ArrayXf([1, 2]), (1, Struct())]}
    dr.copy(tree), dr.zeros_like(tree), dr.width([m.Array3f(1)]), dr.eval(tree)
    dr.select(True, tree, tree), dr.zeros(Struct, 3)
    loop = [1]
    loop.append(loop)
    with expect(RecursionError):
        dr.copy(loop)
    broken = Struct()
    del broken.a
    with expect(Exception):
        dr.copy([m.Array3f(1), broken])
    with expect(Exception):
        dr.select(True, tree, {"a": 1})


def shapes(m):
    t = m.TensorXf(np.arange(6).reshape(2, 3))
    dr.reshape(t, (3, 2)), dr.ravel(t), dr.concat([t, t]), dr.moveaxis(t, 0, 1), t.T
    dr.tile(flat_type(m)(1, 2), 2), dr.repeat(flat_type(m)(1, 2), 2)
    with expect(Exception):
        dr.reshape(t, (4, 2))
    with expect(Exception):
        dr.reshape(t, ("x",))
    with expect(Exception):
        dr.concat([t, 1, "x"])
    with expect(Exception):
        dr.ravel(t, order="x")


def traits(m):
    dr.value_t(m.Array3f), dr.mask_t(m.TensorXf), dr.expr_t(m.Array3f, int)
    dr.is_array_v(m.Float), dr.replace_type_t(m.Array3f, dr.VarType.Int32)
    for wrong in ("x", object()):
        with expect(Exception):
            dr.replace_type_t(wrong, wrong)
    with expect(Exception):
        dr.expr_t(m.Array3f, m.Array4f)


def control(m):
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        dr.eval(dr.arange(dr.llvm.Float, 10) + 1)
    dr.kernel_history()
    messages = []
    dr.set_log_callback(lambda *args: messages.append(args), dr.LogLevel.Trace)
    dr.eval(dr.arange(dr.llvm.Float, 5) + 1)
    dr.set_log_callback(None)
    for wrong in (1.5, "x", None):
        with expect(Exception):
            dr.set_flag(wrong, True)
    a = dr.llvm.Float(1, 2)
    a.label = "name"
    with expect(TypeError):
        a.label = 3
    dr.whos(as_string=True)
    dr.llvm.Event().record()


SCENARIOS = [
    arithmetic, wrong_operands, sizes_that_do_not_fit, construction, wrong_construction,
    subclasses, indexing, memory, reductions, exchange, trees, shapes, traits, control,
]  # fmt: skip


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_nothing_is_left(m, scenario):
    watched = [
        m.Array3f, m.ArrayXf, m.TensorXf, m.Matrix2f, dr.ArrayBase, dr.ReduceOp.Add,
        Struct, Struct.DRJIT_STRUCT, Raises, m, type(dr.sum),
    ]  # fmt: skip
    step = meter.growth(lambda: scenario(m), watched)
    assert not meter.leaks(step), step


def test_operands_keep_their_references(m):
    a, b, t = m.Array3f(1, 2, 3), m.Array3f(2), m.TensorXf([1, 2, 3])
    key, operands = (0,), [a, b, t]

    def use():
        a + b, a * 2, t[key], a.x, list(a), dr.sum(t), repr(t), t.numpy(), a == b
        for wrong in ("x", None):
            with expect(TypeError, RuntimeError):
                a - wrong

    step = meter.growth(use, [*operands, key])
    assert not meter.leaks(step) and not any(step[3:])


@pytest.mark.parametrize("frozen", [False, True])
def test_steps_of_optimisers(frozen):
    """Of many parameters, whose launches are one job, plain and repeated."""
    ad = dr.llvm.ad
    params = {str(k): ad.Float([k] * (5000 + k)) for k in range(6)}
    opt = dr.opt.Adam(0.1, {**params, "few": ad.Float(1, 2)})

    def turn(opt):
        for x in opt.values():
            dr.set_grad(x, x * 2)
        opt.step()

    turn = dr.freeze(turn) if frozen else turn

    def use():
        opt.lr = 0.2
        turn(opt)
        dr.sync_thread()

    for _ in range(1000):  # Python's free lists fill up
        use()
    step = meter.growth(use)
    assert not meter.leaks(step), step


def test_the_meter_sees_leaks():
    kept = []
    assert meter.leaks(meter.growth(lambda: kept.append(dr.llvm.Float([1, 2]))))
    watched = object()
    step = meter.growth(lambda: kept.append(watched), [watched])
    assert step[3] == 1
