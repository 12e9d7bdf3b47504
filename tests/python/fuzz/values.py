"""Random values for the fuzzer: arrays of every type, and objects that misbehave."""

from __future__ import annotations

import ctypes
import dataclasses
import enum
import math
import random
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import drjit as dr
import numpy as np

USE_NUMPY = True

LARGE = [2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40]


class HookError(Exception):
    """Raised by hooks; it has to arrive as it is, or as a cause."""


class Context:
    """What hooks may tamper with: the arguments of the call under way."""

    arguments: tuple[Any, ...] = ()
    busy = False


def tamper() -> None:
    """Change the arguments of the call under way."""
    if Context.busy:
        return
    Context.busy = True
    try:
        for target in Context.arguments:
            try:
                if isinstance(target, dr.ArrayBase):
                    if dr.is_tensor_v(target):
                        target.__init__(type(target)([1, 2, 3]))
                    else:
                        target.__init__(*([0] * (len(target) + 5)))
                elif isinstance(target, list):
                    target.clear()
                elif isinstance(target, dict):
                    target.clear()
            except Exception:
                pass
    finally:
        Context.busy = False


def modules() -> list[ModuleType]:
    return [dr.scalar, dr.llvm, dr.llvm.ad]


def array_types(module: ModuleType) -> list[type]:
    return [
        cls
        for name, cls in sorted(vars(module).items())
        if isinstance(cls, type) and issubclass(cls, dr.ArrayBase)
    ]


TYPES = {module.__name__: array_types(module) for module in modules()}
ALL_TYPES = [cls for types in TYPES.values() for cls in types]
# Few types make it more likely that two arguments fit together.
COMMON = [
    cls
    for cls in ALL_TYPES
    if cls.__name__
    in """Bool Float Int UInt UInt8 Int64 UInt64 Float16 Float64 Array0f Array1f Array2f
    Array3f Array3i Array3u Array3b Array4f ArrayXf ArrayXu ArrayXb ArrayXi ArrayXf64
    Array33f Matrix2f Matrix3f Matrix4f Matrix44f Complex2f Quaternion4f TensorXf
    TensorXu TensorXb TensorXi TensorXf16""".split()
]


def _subclass(cls: type) -> type:
    def nothing(self: Any) -> None:
        pass

    kind = hash(cls.__name__) % 1 + random.Random(cls.__name__).randrange(5)
    body: dict[str, Any] = {}
    if kind == 1:
        body["__init__"] = lambda self, *args: None  # never constructs
    elif kind == 2:
        body["__len__"] = lambda self: 1000
        body["__getitem__"] = lambda self, i: 1
    elif kind == 3:

        def init(self: Any, *args: Any) -> None:
            raise HookError("hook: __init__")

        body["__init__"] = init
    elif kind == 4:
        body["__slots__"] = ("extra",)
    return type("User" + cls.__name__, (cls,), body)


SUBCLASSES = [_subclass(cls) for cls in COMMON]


# ------------------------------------------------------------------ hostile objects


def reaction(rng: random.Random) -> Callable[[], Any]:
    """What a hook does: raise, lie, or change the arguments."""
    kind = rng.randrange(12)
    calls = 0

    def action() -> Any:
        nonlocal calls
        calls += 1
        if calls > 200:  # do not iterate forever
            raise IndexError("hook")
        if kind == 0:
            raise HookError("hook")
        if kind == 1:
            raise StopIteration("hook")
        if kind == 2:
            raise ZeroDivisionError("hook")
        if kind == 3:
            raise KeyError("hook")
        if kind == 4:
            return -1
        if kind == 5:
            return "text"
        if kind == 6:
            return 10**30
        if kind == 7:
            return None
        if kind == 8:
            tamper()
            return 1
        if kind == 9:
            return 3
        if kind == 10:
            return float("nan")
        return object()

    return action


HOOKS = [
    "__len__",
    "__getitem__",
    "__iter__",
    "__index__",
    "__int__",
    "__float__",
    "__bool__",
    "__array__",
    "__array_interface__",
    "__dlpack__",
    "__dlpack_device__",
    "__eq__",
    "__hash__",
    "__add__",
    "__radd__",
    "__rmul__",
    "__fspath__",
    "__complex__",
    "__torch_function__",
    "__cuda_array_interface__",
    "shape",
    "numpy",
    "__str__",
    "__getattr__",
    "__getattribute__",
    "__class__",
    "write",
    "__call__",
    "__repr__",
    "dtype",
    "ndim",
    "__get__",
    "__enter__",
    "__instancecheck__",
    "__next__",
]


def hostile(rng: random.Random, base: type = object) -> Any:
    """An object with some random hooks."""
    body: dict[str, Any] = {}
    for name in rng.sample(HOOKS, rng.randint(1, 4)):
        action = reaction(rng)
        if name in ("__array_interface__", "shape", "__class__", "dtype", "ndim"):
            body[name] = property(lambda self, action=action: action())
        else:
            body[name] = lambda self, *args, action=action, **kw: action()
    if base is object and rng.random() < 0.3 and "__getitem__" not in body:
        item_reaction = reaction(rng)
        body["__getitem__"] = lambda self, i, action=item_reaction: action()
        body["__len__"] = lambda self: 3
    cls = type("Hostile", (base,), body)
    try:
        return cls()
    except Exception:
        return cls


def interface(rng: random.Random) -> Any:
    """An object with a wrong __array_interface__, __dlpack__ or __array__."""
    if not USE_NUMPY:
        return hostile(rng)
    data = np.arange(12, dtype=rng.choice(["f4", "i4", "u1", "f8"]))
    good: dict[str, Any] = dict(data.__array_interface__)
    key = rng.choice([*good, "nothing"])
    wrong = [
        None,
        1,
        -1,
        "x",
        (1 << 62,),
        (-1,),
        (2, 2.5),
        [3],
        "|V7",
        ">f4",
        (0,),
        "<f3",
        "<c8",
        (0, False),
        (-1, True),
        ((1, 2), 3),
        "",
        b"",
        (2**63, 2**63),
        ("x", 1),
        ({},),
        (1,) * 100,
        float("nan"),
    ]
    choice = rng.choice(wrong)
    if key == "data" and isinstance(choice, tuple) and choice not in ((0, False),):
        choice = "x"  # a wrong address is the caller's fault
    if key in ("shape", "strides") and isinstance(choice, tuple):
        # more entries than there are in memory would be the caller's fault, too
        choice = rng.choice([(-1,), (2, 2.5), ("x", 1), ({},), (0,), (2**63, 2**63)])
    if key == "typestr" and choice in ("<c8", "|V7"):
        good["shape"] = (1,)
    good[key] = choice
    kind = rng.randrange(4)
    if kind == 0:
        return type("Interface", (), {"__array_interface__": good, "data": data})()
    if kind == 1:
        capsule = data.astype("f4").__dlpack__()
        return type(
            "Capsule",
            (),
            {
                "__dlpack__": lambda self, **kw: rng.choice([capsule, None, 3, data]),
                "__dlpack_device__": lambda self: rng.choice(
                    [(1, 0), (2, 0), None, 1, (1,), ("a", "b"), (10**30, 0)]
                ),
            },
        )()
    if kind == 2:
        return type("Array", (), {"__array__": lambda self, *a, **k: choice})()
    return data.astype("f4").__dlpack__()


def numpy_array(rng: random.Random) -> Any:
    if not USE_NUMPY:
        return [1, 2, 3]
    dtypes = [
        "f2",
        "f4",
        "f8",
        "i1",
        "u1",
        "i2",
        "u2",
        "i4",
        "u4",
        "i8",
        "u8",
        "?",
        "c8",
        "c16",
        "O",
        "S3",
        "U2",
        ">f4",
        ">i4",
        "M8[s]",
        "m8[s]",
        "V5",
        [("a", "f4"), ("b", "i4")],
    ]
    if rng.random() < 0.6:
        dtypes = dtypes[:12]
    dtype = np.dtype(rng.choice(dtypes))
    shape = tuple(rng.choice([0, 1, 2, 3, 3, 4, 5]) for _ in range(rng.randint(0, 4)))
    a: Any = np.zeros(shape, dtype)
    if dtype.kind in "fiu" and rng.random() < 0.7:
        a = np.arange(a.size).astype(dtype).reshape(shape)
    kind = rng.randrange(7)
    if kind == 0 and a.ndim:
        a = a[::-1]
    elif kind == 1 and a.ndim:
        a = a[..., ::2]
    elif kind == 2:
        a = a.T
    elif kind == 3:
        a = np.asfortranarray(a)
    elif kind == 4:
        a = np.broadcast_to(a, (2, *a.shape))
    elif kind == 5 and a.size and a.ndim == 0:
        a = a[()]
    if isinstance(a, np.ndarray) and rng.random() < 0.2:
        a.flags.writeable = False
    return a


@dataclasses.dataclass
class Point:
    x: dr.llvm.Float = dataclasses.field(default_factory=lambda: dr.llvm.Float(1, 2))
    y: dr.scalar.Array3f = dataclasses.field(
        default_factory=lambda: dr.scalar.Array3f(1)
    )


@dataclasses.dataclass
class Recursive:
    me: Recursive | None = None


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: int = 3
    y: Any = None


class Struct:
    DRJIT_STRUCT = {"a": dr.llvm.Array3f, "b": dr.scalar.TensorXf}

    def __init__(self) -> None:
        self.a = dr.llvm.Array3f(1, 2, 3)
        self.b = dr.scalar.TensorXf([1, 2, 3])


class BadStruct:
    DRJIT_STRUCT: Any = {"a": int, 3: float}


def struct(rng: random.Random) -> Any:
    kind = rng.randrange(9)
    if kind == 0:
        return Point()
    if kind == 1:
        return Struct()
    if kind == 2:
        r = Recursive()
        r.me = r
        return r
    if kind == 3:
        return Frozen(3, dr.llvm.Float(1))
    if kind == 4:
        s = Struct()
        del s.a
        return s
    if kind == 5:
        declared = rng.choice(
            [
                None,
                3,
                [],
                {"a": 3},
                {3: int},
                {"a": "x"},
                {"a": None},
                "text",
                {"a": dr.llvm.Float, "b": int, "c": list},
            ]
        )
        return type("Odd", (), {"DRJIT_STRUCT": declared, "a": 1})()
    if kind == 6:
        body: dict[str, Any] = {"DRJIT_STRUCT": {"a": dr.llvm.Float}}
        action = reaction(rng)
        body["a"] = property(lambda self: action(), lambda self, value: action())
        return type("Properties", (), body)()
    if kind == 7:

        class Needs:
            DRJIT_STRUCT = {"a": dr.llvm.Float}

            def __init__(self, argument: Any) -> None:
                self.a = dr.llvm.Float(1)

        return Needs(1)
    action2 = reaction(rng)

    class Meta(type):
        @property
        def DRJIT_STRUCT(cls) -> Any:  # noqa: N802
            return action2()

    return Meta("WithMeta", (), {"a": 1})()


# ------------------------------------------------------------------ arrays


def number(rng: random.Random) -> Any:
    return rng.choice(
        [
            0,
            1,
            2,
            3,
            -1,
            -2,
            5,
            7,
            31,
            32,
            63,
            64,
            100,
            255,
            256,
            2**31 - 1,
            2**31,
            2**32 - 1,
            2**32,
            -(2**31),
            2**63 - 1,
            2**63,
            2**64 - 1,
            2**64,
            -(2**63),
            10**30,
            -(10**30),
            0.0,
            -0.0,
            1.0,
            0.5,
            -1.5,
            3.25,
            1e10,
            1e300,
            -1e300,
            1e-320,
            float("inf"),
            float("-inf"),
            float("nan"),
            True,
            False,
            1j,
            65504,
            65520,
        ]
    )


def small(rng: random.Random) -> Any:
    return rng.choice([0, 1, 1, 2, 3, 3, 4, -1, 0.5, 2.5, True, False])


def size(rng: random.Random) -> int:
    r = rng.random()
    if r < 0.01:
        return rng.choice(LARGE)
    return rng.choice([0, 1, 1, 2, 3, 3, 3, 4, 4, 5, 6, 7, 8, 12, 16, 17, 100, 1000])


def array(rng: random.Random, cls: type | None = None) -> Any:
    """An array of a random type, made in a random way; or whatever came out."""
    given = cls
    if cls is None:
        r = rng.random()
        pool = COMMON if r < 0.7 else SUBCLASSES if r < 0.78 else ALL_TYPES
        cls = rng.choice(pool)
    make = rng.randrange(10)
    n = size(rng)
    try:
        if dr.is_tensor_v(cls):
            shape = tuple(
                rng.choice([0, 1, 1, 2, 3, 3, 4, 5]) for _ in range(rng.randint(0, 4))
            )
            if rng.random() < 0.01:
                shape = rng.choice([(2**20, 2**20), (2**31,), (2, 2**31), (2**63, 2)])
            if make < 3:
                return dr.zeros(cls, shape)
            if make < 6:
                return dr.full(cls, small(rng), shape)
            if make < 7:
                return cls(numpy_array(rng))
            if make < 8:
                return cls()
            return dr.reshape(dr.arange(cls, math.prod(shape)), shape)
        if make == 0:
            return cls()
        if make == 1:
            return dr.zeros(cls, n)
        if make == 2:
            return dr.full(cls, small(rng), n)
        if make == 3:
            return cls(*(small(rng) for _ in range(rng.randint(0, 5))))
        if make == 4:
            return dr.arange(cls, n)
        if make == 5:
            value = array(rng)
            return value[rng.randint(-1, 2)]  # a view
        if make == 6:
            return dr.empty(cls, min(n, 1000)) * 0 + 1
        if make == 7:
            value = dr.opaque(cls, small(rng), n)
            return value
        if make == 8 and given is None:
            value = array(rng)
            return value.array if rng.random() < 0.5 else value.mT
        return cls([small(rng) for _ in range(rng.randint(0, 5))])
    except RecursionError:
        return 0
    except Exception:
        try:
            return cls(1)
        except Exception:
            return 1


def type_(rng: random.Random) -> Any:
    r = rng.random()
    if r < 0.6:
        return rng.choice(COMMON)
    if r < 0.75:
        return rng.choice(ALL_TYPES)
    if r < 0.8:
        return rng.choice(SUBCLASSES)
    return rng.choice(
        [
            int,
            float,
            bool,
            str,
            list,
            type,
            object,
            None,
            Point,
            Struct,
            Recursive,
            BadStruct,
            Frozen,
            dr.ArrayBase,
            dr.ReduceOp,
            type(None),
            np.float32,
            complex,
        ]
    )


def sequence(rng: random.Random, depth: int) -> Any:
    kind = rng.randrange(12)
    n = rng.randint(0, 4)
    if kind == 0:
        recursive: list[Any] = [1, 2]
        recursive.append(recursive)
        return recursive
    if kind == 1:
        loop: dict[str, Any] = {"a": 1}
        loop["b"] = [loop]
        return loop
    if kind == 2:
        deep: list[Any] = []
        for _ in range(rng.choice([5, 900, 1100, 5000])):
            deep = [deep]
        return deep
    if kind == 3:
        return {
            rng.choice(["a", "b", 1, None, (1, 2)]): value(rng, depth + 1)
            for _ in range(n)
        }
    if kind == 4:
        return (small(rng) for _ in range(n))
    if kind == 5:

        def stumble() -> Iterator[int]:
            yield 1
            tamper()
            raise HookError("hook: generator")

        return stumble()
    if kind == 6:
        cls = rng.choice([list, tuple, dict, str, int, float, bytes])
        return hostile(rng, cls)
    if kind == 7:
        return range(rng.choice([0, 3, 5, 10**5]))
    if kind == 8:
        return {1, 2, 3}
    items = [
        small(rng) if rng.random() < 0.5 else value(rng, depth + 1) for _ in range(n)
    ]
    return tuple(items) if kind == 9 else items


def index(rng: random.Random, depth: int = 0) -> Any:
    """A key for a[...]."""
    kind = rng.randrange(11)
    if kind <= 2:
        return rng.choice([0, 1, 2, -1, -2, 3, 10, -10, 2**31, 2**63, -(2**70)])
    if kind <= 4:

        def part() -> Any:
            return rng.choice(
                [None, None, 0, 1, 2, -1, -2, 5, 2**62, -(2**70), 1.5, "x"]
            )

        return slice(part(), part(), part())
    if kind == 5:
        return rng.choice([Ellipsis, None, True, False, "x", 1.5])
    if kind == 6 and depth == 0:
        return tuple(index(rng, 1) for _ in range(rng.choice([0, 1, 2, 3, 4, 40])))
    if kind == 7:
        return array(rng, rng.choice([dr.llvm.UInt, dr.llvm.Int, dr.scalar.ArrayXu]))
    if kind == 8:
        return array(
            rng, rng.choice([dr.llvm.Bool, dr.scalar.ArrayXb, dr.llvm.TensorXb])
        )
    return value(rng, 2)


ENUMS = [
    dr.ReduceOp,
    dr.ReduceMode,
    dr.JitFlag,
    dr.JitBackend,
    dr.LogLevel,
    dr.VarType,
    dr.VarState,
    dr.KernelType,
    dr.KernelRecordingMode,
]
WORDS = [
    "A",
    "C",
    "F",
    "evaluated",
    "auto",
    "direct",
    "uint8",
    "float32",
    "xy",
    "wrap",
    "clamp",
    "edge",
    "x",
    "y",
    "",
    "\0",
    "\udc80",
    "a" * 10000,
    "é",
    "constant",
    "backward",
    "ij",
    "linear",
    "nearest",
    "llvm",
    "scalar",
    "%s%n",
    "{}",
    "symbolic",
]


class Color(enum.Enum):
    RED = 1


def value(rng: random.Random, depth: int = 0) -> Any:
    """Anything."""
    r = rng.random()
    if r < 0.45:
        return array(rng)
    if r < 0.55:
        return number(rng) if rng.random() < 0.6 else small(rng)
    if r < 0.60:
        return numpy_array(rng)
    if r < 0.66 and depth < 3:
        return sequence(rng, depth)
    if r < 0.70:
        return hostile(rng)
    if r < 0.73:
        return struct(rng)
    if r < 0.75:
        return interface(rng)
    if r < 0.82:
        return type_(rng)
    if r < 0.85:
        return rng.choice(WORDS)
    if r < 0.89:
        return rng.choice(list(rng.choice(ENUMS)))
    if r < 0.92:
        return None
    if r < 0.94:
        return index(rng, 1)
    if r < 0.96:
        return size(rng)
    if not USE_NUMPY:
        return object()
    return rng.choice(
        [
            object(),
            Color.RED,
            b"bytes",
            bytearray(8),
            memoryview(b"12345678"),
            (ctypes.c_int * 3)(),
            len,
            sys,
            lambda *a: 1,
            lambda *a: tamper(),
            Exception,
            NotImplemented,
            Ellipsis,
            3j,
            slice(None),
            np.float32(2),
            np.int64(3),
            np.bool_(True),
            np.float16(1),
            np.datetime64(3, "s"),
            hostile,
            print,
            np,
        ]
    )
