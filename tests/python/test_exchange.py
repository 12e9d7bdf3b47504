"""Memory shared with NumPy, DLPack consumers and producers, and buffer users."""

import gc
import sys
import weakref

import drjit as dr
import drjit.llvm as llvm
import drjit.scalar as scalar
import numpy as np
import pytest

ENTRIES = {
    "Bool": np.bool_, "Int8": np.int8, "UInt8": np.uint8, "Int": np.int32,
    "UInt": np.uint32, "Int64": np.int64, "UInt64": np.uint64, "Float16": np.float16,
    "Float": np.float32, "Float64": np.float64,
}  # fmt: skip
SUFFIX = {
    "Bool": "b", "Int8": "i8", "UInt8": "u8", "Int": "i", "UInt": "u", "Int64": "i64",
    "UInt64": "u64", "Float16": "f16", "Float": "f", "Float64": "f64",
}  # fmt: skip


def sample(dtype, shape):
    size = int(np.prod(shape))
    return (
        (np.arange(size) % 2 if dtype == np.bool_ else np.arange(size))
        .astype(dtype)
        .reshape(shape)
    )


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.parametrize("source", [*ENTRIES.values(), np.int16, np.uint16])
def test_every_dtype_to_every_leaf(name, source):
    a = sample(source, 5)
    b = getattr(llvm, name)(a).numpy()
    assert b.dtype == ENTRIES[name]
    assert (b == a.astype(ENTRIES[name])).all()


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.parametrize("module", [llvm, llvm.ad, scalar])
def test_round_trip(name, module):
    s, dtype = SUFFIX[name], ENTRIES[name]
    last = (4,) if module is not scalar else ()
    for prefix, shape in (("Array1", (1,)), ("Array3", (3,)), ("ArrayX", (6,))):
        a = sample(dtype, shape + last)
        b = getattr(module, prefix + s)(a)
        assert (b.numpy() == a).all() and b.numpy().dtype == dtype
    for shape in ((), (3,), (2, 3), (2, 1, 3), (0, 3)):
        a = sample(dtype, shape)
        b = getattr(module, "TensorX" + s)(a)
        assert b.shape == shape and (b.numpy() == a).all()
        assert b.numpy().shape == shape


@pytest.mark.parametrize("module", [llvm, llvm.ad, scalar])
def test_matrices_and_special_types(module):
    last = (5,) if module is not scalar else ()
    m = sample(np.float32, (3, 3, *last))
    assert (module.Matrix3f(m).numpy() == m).all()
    q = sample(np.float64, (4, *last))
    assert (module.Quaternion4f64(q).numpy() == q).all()
    c = sample(np.float32, last) + 2j
    c = np.asarray(c, dtype=np.complex64)
    r = module.Complex2f(c).numpy()
    assert r.dtype == np.complex64 and r.shape == last and (r == c).all()
    assert (module.Complex2f64(c.astype(complex)).numpy() == c).all()
    real = sample(np.float32, last)
    assert (module.Complex2f(real).numpy() == real).all()


def test_matrix_without_lanes():
    m = llvm.Matrix2f(np.array([[1.0, 2], [3, 4]]))
    assert m.numpy().tolist() == [[[1], [2]], [[3], [4]]]


def test_strides_and_orders():
    a = np.arange(24, dtype=np.float32).reshape(4, 6)
    for view in (a[::2], a[:, ::-1], a.T, np.asfortranarray(a), a[1:3, 2:5]):
        assert (llvm.TensorXf(view).numpy() == view).all()
        assert (scalar.TensorXi(view).numpy() == view).all()
    assert (llvm.Float(a[1, ::-2]).numpy() == a[1, ::-2]).all()
    assert (llvm.ArrayXf(a[:, 1:3]).numpy() == a[:, 1:3]).all()


def test_constructors_share():
    """Later writes of the owner show, ours make a copy."""

    class Producer:
        def __dlpack__(self, **kwargs):
            return source.__dlpack__()

    source = np.arange(6, dtype=np.float32)
    for dtype in (llvm.Float, llvm.TensorXf, scalar.ArrayXf):
        for given in (source, source[::-1], memoryview(source), Producer()):
            a = dtype(given)
            copied = dtype is scalar.ArrayXf or a.numpy()[0] == 5
            source += 1
            expected = dtype(given).numpy() - copied
            assert a.numpy().tolist() == expected.tolist()
            source -= 1
            a[0] = 77
            assert a[0] == 77 and source.tolist() == [0, 1, 2, 3, 4, 5]


def test_work_in_flight_does_not_see_writes():
    n = np.zeros(1 << 20, dtype=np.uint32)
    for i in range(1, 20):
        n[:] = i
        b = llvm.UInt(n) * 2
        dr.eval(b)
        n[:] = 50
        assert (b.numpy() == 2 * i).all()


def test_exported_memory_is_shared():
    b = llvm.Float([1, 2, 3])
    n = b.numpy()
    assert n.flags.writeable
    n[0] = 9
    assert b[0] == 9
    t = llvm.TensorXf([[1, 2], [3, 4]])
    t.numpy()[1, 0] = 8
    assert t[1, 0].array[0] == 8
    s = scalar.ArrayXi(1, 2)
    s.numpy()[1] = 5
    assert s[1] == 5
    v = scalar.Array3f(1, 2, 3)
    np.asarray(v)[2] = 6
    assert v.z == 6


def test_literal_becomes_shared_memory():
    a = dr.full(llvm.Int, 3, 4)
    n = a.numpy()
    n[2] = 1
    assert n.tolist() == [3, 3, 1, 3] and a.numpy().tolist() == [3, 3, 1, 3]


def test_read_only_memory():
    a = np.arange(3, dtype=np.float32)
    a.flags.writeable = False
    f = llvm.Float(a)
    dr.scatter(f, 5, 0)
    assert f[0] == 5 and a[0] == 0
    assert llvm.UInt8(b"abc").numpy().tolist() == [97, 98, 99]


def test_source_object_is_released():
    class Owner(np.ndarray):
        pass

    a = np.arange(1000, dtype=np.float32).view(Owner)
    alive = weakref.ref(a)
    f = llvm.Float(a)
    del a
    gc.collect()
    assert alive() is not None
    assert dr.sum(f)[0] == 499500
    del f
    for _ in range(3):
        llvm.Float(1)
    gc.collect()
    assert alive() is None


def test_exported_memory_outlives_the_array():
    n = llvm.Float([1, 2, 3]).numpy()
    s = scalar.ArrayXf(1, 2, 3).numpy()
    v = memoryview(scalar.Array2f(4, 5))
    gc.collect()
    for _ in range(50):
        llvm.Float([9, 9, 9]), scalar.ArrayXf(9, 9, 9), scalar.Array2f(9, 9)
    assert n.tolist() == [1, 2, 3] and s.tolist() == [1, 2, 3] and v.tolist() == [4, 5]


def test_export_survives_replacement():
    a = scalar.ArrayXf(1)
    n = a.numpy()
    a += scalar.ArrayXf(1, 2, 3)
    assert n.tolist() == [1] and list(a) == [2, 3, 4]


def test_array_protocol():
    a = llvm.Float([1, 2])
    assert np.asarray(a).dtype == np.float32
    assert np.asarray(a, dtype=np.float64).dtype == np.float64
    assert np.array(a) is not None and np.array([a, a]).shape == (2, 2)
    assert a.__array__(np.int32).dtype == np.int32
    copy = a.__array__(copy=True)
    copy[0] = 5
    assert a[0] == 1
    assert a.to_numpy().tolist() == [1, 2]


def test_buffer_protocol():
    m = memoryview(llvm.TensorXi([[1, 2], [3, 4]]))
    assert m.format == "i" and m.shape == (2, 2) and m.tolist() == [[1, 2], [3, 4]]
    assert llvm.Float([1, 2]).memview().tolist() == [1, 2]
    assert memoryview(llvm.Array2f([1, 2], [3, 4])).tolist() == [[1, 2], [3, 4]]
    assert memoryview(llvm.Float()).tolist() == []
    assert memoryview(llvm.Float16(1.5)).format == "e"


def test_entries_are_not_text():
    for convert in (int, float, complex):
        with pytest.raises(TypeError):
            convert(llvm.UInt8(53))
        with pytest.raises(TypeError):
            convert(llvm.Float(1))
        with pytest.raises(TypeError):
            convert(scalar.ArrayXi(1))
    assert bytes(llvm.UInt8([1, 2])) == b"\x01\x02"


def test_dlpack():
    a = llvm.Float([1, 2, 3])
    assert a.__dlpack_device__() == (1, 0)
    n = np.from_dlpack(a)
    assert n.tolist() == [1, 2, 3]
    assert np.from_dlpack(llvm.TensorXf16([[1, 2]])).tolist() == [[1, 2]]
    assert "dltensor" in repr(a.__dlpack__())
    assert "dltensor_versioned" in repr(a.__dlpack__(max_version=(1, 0)))
    assert np.from_dlpack(llvm.Bool([True, False])).tolist() == [True, False]
    with pytest.raises(BufferError):
        a.__dlpack__(dl_device=(2, 0))

    class Producer:
        """Neither a buffer nor an ndarray."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **kwargs):
            return self.array.__dlpack__(**kwargs)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    p = np.arange(6, dtype=np.float64).reshape(2, 3)
    assert (llvm.TensorXf64(Producer(p)).numpy() == p).all()
    assert (llvm.TensorXf(Producer(p[:, ::2])).numpy() == p[:, ::2]).all()
    f = llvm.Float64(Producer(p.reshape(-1)))
    p[0, 0] = 9
    assert f[0] == 9
    capsule = p.__dlpack__()
    assert llvm.TensorXf64(capsule).shape == (2, 3)
    with pytest.raises(TypeError):
        llvm.TensorXf64(capsule)  # used already


def test_dlpack_copy():
    a = llvm.Float([1, 2])
    a_copy = np.from_dlpack(Wrapper(a.__dlpack__(copy=True)))
    a.numpy()[0] = 7
    assert a_copy[0] == 1


class Wrapper:
    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **kwargs):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: llvm.Float(np.zeros((2, 3))),
        lambda: llvm.Float(np.array(["a"])),
        lambda: llvm.Float(np.array([1, 2], dtype=object)),
        lambda: llvm.Float(np.array([1j])),
        lambda: llvm.Int(np.array([1, 2], dtype=">i4")),
        lambda: llvm.Array3f(np.zeros((2, 3))),
        lambda: llvm.Array3f(np.zeros(1)),
        lambda: llvm.Matrix3f(np.zeros((2, 3))),
        lambda: llvm.Complex2f(np.zeros((2, 3))),
        lambda: scalar.Array3f(np.zeros(6)),
        lambda: scalar.Array3f(np.zeros((3, 2))),
        lambda: llvm.TensorXf(np.array([1j])),
        lambda: llvm.Float(np.array(["2020-01-01"], dtype="datetime64[D]")),
    ],
)
def test_what_cannot_be_converted(make):
    with pytest.raises(TypeError) as e:
        make()
    assert "drjit." in str(e.value)


def test_number_from_array_without_axes():
    assert llvm.Array3f(np.array(3.0)).numpy().tolist() == [[3], [3], [3]]
    assert llvm.Float(np.array(2, dtype=np.int16)).numpy().tolist() == [2]
    assert llvm.Array3f(np.float64(1), 2, 3).numpy().tolist() == [[1], [2], [3]]


def test_references_return_to_where_they_were():
    a = np.arange(100, dtype=np.float32)
    before = sys.getrefcount(a)
    for _ in range(20):
        f = llvm.Float(a)
        np.asarray(f), memoryview(f), f.__dlpack__()
    del f
    dr.sync_thread()
    llvm.Float(1)
    gc.collect()
    assert sys.getrefcount(a) == before


@pytest.mark.parametrize("package", ["torch", "jax"])
def test_frameworks(package):
    framework = pytest.importorskip(package, reason=f"{package} is not installed")
    a = llvm.TensorXf([[1, 2], [3, 4]])
    t = getattr(a, package)()
    assert np.asarray(t).tolist() == [[1, 2], [3, 4]]
    back = llvm.TensorXf(t)
    assert back.numpy().tolist() == [[1, 2], [3, 4]]
    if package == "torch":
        flat = framework.arange(3, dtype=framework.float32)
        f = llvm.Float(flat)
        flat[0] = 5
        assert f[0] == 0  # constructors copy


# ------------------------------------------------------------ before they are computed


def test_numpy_of_what_is_computed_later() -> None:
    """Nothing is computed before the next evaluation."""
    x = llvm.Float([1, 2, 3])
    dr.make_opaque(x)
    arrays = [
        x * 2,
        llvm.TensorXf(x + 1, (1, 3)),
        llvm.Array3f(x, 2, x - 1),
        llvm.Matrix2f(x, 2, 3, 4) + 1,
        x > 1.5,
        llvm.Float16(x) + 1,
        llvm.Int64(x) * 7,
        llvm.ad.Float(x) * x,
    ]
    dr.enable_grad(arrays[-1])
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        later = [array.numpy(eval=False) for array in arrays]
        assert not dr.kernel_history()
        dr.eval()
        dr.sync_thread()
    for array, found in zip(arrays, later, strict=True):
        expected = array.numpy()
        assert found.dtype == expected.dtype and found.shape == expected.shape
        np.testing.assert_array_equal(found, expected)
        found[...] = 0  # the memory is NumPy's alone
        np.testing.assert_array_equal(array.numpy(), expected)


def test_numpy_of_what_is_there_already() -> None:
    for array in (llvm.Float(1, 2), llvm.Complex2f(1, 2), scalar.ArrayXf([1, 2])):
        dr.eval(array)
        np.testing.assert_array_equal(array.numpy(eval=False), array.numpy())
    assert llvm.Float().numpy(eval=False).shape == (0,)


def test_memory_of_what_is_computed_later() -> None:
    """It stays as long as one of both needs it, and no longer."""
    x = llvm.Float([1, 2, 3])
    dr.make_opaque(x)
    kept = (x * 3).numpy(False)  # the array itself is gone
    dropped = (x * 4).numpy(False)
    memory = weakref.ref(dropped.base)
    del dropped
    gc.collect()
    assert memory() is None
    dr.eval()
    dr.sync_thread()
    assert list(kept) == [3, 6, 9]


def test_arguments_of_numpy() -> None:
    with pytest.raises(TypeError, match="'eval' is of type int, expected a bool"):
        llvm.Float(1).numpy(eval=1)
    with pytest.raises(TypeError, match="no argument named 'other'"):
        llvm.Float(1).numpy(other=True)
    with pytest.raises(RuntimeError, match="symbolic"):
        dr.while_loop(
            (llvm.UInt(0, 1),),
            lambda i: i < 3,
            lambda i: ((i + 1).numpy(eval=False), (i + 1,))[1],
            mode="symbolic",
        )
