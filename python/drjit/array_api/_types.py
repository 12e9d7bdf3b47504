"""Types of entries of the array API: names, limits, promotion, conversion.

A type of entries is a :class:`drjit.VarType`, so that ``x.dtype == xp.float32``
compares two of its members. There are no int16, uint16 and complex types.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NoReturn

import drjit as dr

from .._enums import VarType

bool = VarType.Bool
int8 = VarType.Int8
int32 = VarType.Int32
int64 = VarType.Int64
uint8 = VarType.UInt8
uint32 = VarType.UInt32
uint64 = VarType.UInt64
float32 = VarType.Float32
float64 = VarType.Float64

DEFAULT_FLOAT = float32
DEFAULT_INT = int64

# Name in the standard -> type; then what kinds there are, in the words of isdtype().
NAMES = {
    "bool": bool,
    "int8": int8,
    "int32": int32,
    "int64": int64,
    "uint8": uint8,
    "uint32": uint32,
    "uint64": uint64,
    "float32": float32,
    "float64": float64,
}
SIGNED = (int8, int32, int64)
UNSIGNED = (uint8, uint32, uint64)
FLOATS = (VarType.Float16, float32, float64)
KINDS = {
    "bool": (bool,),
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": SIGNED + UNSIGNED,
    "real floating": FLOATS,
    "complex floating": (),
    "numeric": SIGNED + UNSIGNED + FLOATS,
}

TENSORS = {
    bool: "TensorXb",
    int8: "TensorXi8",
    int32: "TensorXi",
    int64: "TensorXi64",
    uint8: "TensorXu8",
    uint32: "TensorXu",
    uint64: "TensorXu64",
    VarType.Float16: "TensorXf16",
    float32: "TensorXf",
    float64: "TensorXf64",
}
BITS = {t: int("".join(c for c in t.name if c.isdigit()) or 8) for t in TENSORS}

# Digits of a significand, with the leading one; exponents of the largest and of the
# smallest normal number.
FORMATS = {VarType.Float16: (11, 15, -14), float32: (24, 127, -126)}
FORMATS[float64] = (53, 1023, -1022)


def fail(function: str, message: str, error: type[Exception] = TypeError) -> NoReturn:
    """Raise an error of the form that all of the package have."""
    raise error(f"drjit.array_api.{function}(): {message}")


def is_tensor(x: Any) -> Any:
    """Is it an array in the sense of the standard?"""
    return isinstance(x, dr.ArrayBase) and dr.is_tensor_v(x)


def check(function: str, x: Any) -> Any:
    """The argument, which has to be a tensor."""
    if not is_tensor(x):
        fail(function, f"the argument is of type {type(x).__name__}, expected a tensor")
    return x


def check_kind(function: str, x: Any, kind: str) -> Any:
    """The argument, which has to be a tensor with entries of a kind."""
    if check(function, x).dtype not in KINDS[kind]:
        fail(function, f"the entries are {x.dtype.name.lower()}, expected {kind} ones")
    return x


def check_type(function: str, dtype: Any) -> Any:
    """The argument, which has to be a type of entries."""
    if dtype not in TENSORS:
        fail(function, f"{dtype!r} is not a type of entries of this namespace")
    return dtype


def tensor_type(dtype: Any, like: Any = None) -> Any:
    """The tensor type with such entries: of the backend of an array, or the default."""
    if like is not None:
        return dr.replace_type_t(type(like), dtype)
    return getattr(dr.auto.ad, TENSORS[dtype])


def cast(x: Any, dtype: Any) -> Any:
    """The array itself if it has such entries, else one with converted entries."""
    if x.dtype == dtype:
        return x
    if dtype == bool:
        return x != 0
    return tensor_type(dtype, x)(x)


def _join(function: str, a: Any, b: Any) -> Any:
    """The type that two types of entries have in common."""
    if a == b or b == bool:
        return a
    if a == bool:
        return b
    if (a in FLOATS) != (b in FLOATS):  # as by operators; the standard leaves it open
        return a if a in FLOATS else b
    if a in FLOATS or (a in SIGNED) == (b in SIGNED):
        return a if BITS[a] > BITS[b] else b
    signed, unsigned = (a, b) if a in SIGNED else (b, a)
    if BITS[signed] > BITS[unsigned]:
        return signed
    if BITS[unsigned] == 32:
        return int64
    fail(function, f"{a.name.lower()} and {b.name.lower()} have no type in common here")


def _of_number(function: str, value: Any, others: Any) -> Any:
    """The type of a Python number beside arrays of a type (None: there are none)."""
    if value is True or value is False:
        return bool if others is None else others
    if isinstance(value, int):
        return DEFAULT_INT if others in (None, bool) else others
    if isinstance(value, float):
        return others if others in FLOATS else DEFAULT_FLOAT
    fail(function, f"an argument is of type {type(value).__name__}, expected a number")


def common_type(function: str, values: Any) -> Any:
    """The type of entries that arrays, types and Python's numbers promote to."""
    result: Any = None
    for value in values:
        dtype = value.dtype if is_tensor(value) else value
        if isinstance(dtype, VarType):
            check_type(function, dtype)
            result = dtype if result is None else _join(function, result, dtype)
    for value in values:
        if not is_tensor(value) and not isinstance(value, VarType):
            result = _of_number(function, value, result)
    if result is None:
        fail(function, "no arguments, expected at least one")
    return result


def together(function: str, *values: Any) -> list[Any]:
    """Arrays and numbers as arrays of one type; at least one has to be an array."""
    tensors = [value for value in values if is_tensor(value)]
    if not tensors:
        types = ", ".join(type(v).__name__ for v in values)
        fail(function, f"arguments of types {types}, expected at least one tensor")
    dtype = common_type(function, values)
    if dtype in KINDS["integral"]:
        for value in values:
            if not is_tensor(value):
                check_range(function, value, dtype)
    target = tensor_type(dtype, dr.expr_t(*tensors)())
    return [
        target(v) if not is_tensor(v) else v if type(v) is target else _into(target, v)
        for v in values
    ]


def check_range(function: str, value: Any, dtype: Any) -> int:
    """A number as an integer, which has to be one that entries of a type can be."""
    if value != value or value in (float("inf"), -float("inf")):
        fail(function, f"{value} is no integer", ValueError)
    limits, number = iinfo(dtype), int(value)
    if not limits.min <= number <= limits.max:
        name = dtype.name.lower()
        fail(function, f"{number} is out of range for {name}", OverflowError)
    return number


def _into(target: Any, x: Any) -> Any:
    return x != 0 if dr.type_v(target) == bool and x.dtype != bool else target(x)


def astype(x: Any, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Any:
    """Convert the entries of an array; NaN to an integer is 0, and ranges saturate."""
    check_device("astype", device)
    check_type("astype", dtype)
    return type(x)(x) if check("astype", x).dtype == dtype and copy else cast(x, dtype)


def can_cast(from_: Any, to: Any, /) -> Any:
    """Can entries be converted under the rules of promotion?"""
    source = from_.dtype if is_tensor(from_) else check_type("can_cast", from_)
    check_type("can_cast", to)
    if (source in FLOATS) != (to in FLOATS) or (source == bool) != (to == bool):
        return False
    try:
        return _join("can_cast", source, to) == to
    except TypeError:
        return False


def check_device(function: str, device: Any) -> None:
    """Arrays are where the backend of their type computes: one device."""
    here = dr.auto.ad.TensorXf().device
    if device is not None and device != here:
        fail(function, f"device {device!r}, expected {here!r} or None", ValueError)


def finfo(type: Any, /) -> Any:
    """Limits of a type of floats: bits, eps, max, min, smallest_normal, dtype."""
    dtype = type.dtype if is_tensor(type) else type
    if dtype not in FLOATS:
        fail("finfo", f"{dtype!r} is not a type of floats")
    digits, largest, smallest = FORMATS[dtype]
    top = (2.0 - 2.0 ** (1 - digits)) * 2.0**largest
    return SimpleNamespace(
        bits=BITS[dtype],
        eps=2.0 ** (1 - digits),
        max=top,
        min=-top,
        smallest_normal=2.0**smallest,
        dtype=dtype,
    )


def iinfo(type: Any, /) -> Any:
    """Limits of a type of integers: bits, max, min, dtype."""
    dtype = type.dtype if is_tensor(type) else type
    if dtype not in KINDS["integral"]:
        fail("iinfo", f"{dtype!r} is not a type of integers")
    bits, signed = BITS[dtype], dtype in SIGNED
    return SimpleNamespace(
        bits=bits,
        max=2 ** (bits - signed) - 1,
        min=-(2 ** (bits - 1)) if signed else 0,
        dtype=dtype,
    )


def isdtype(dtype: Any, kind: Any) -> Any:
    """Is a type of entries of a kind, or one of several kinds?"""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, part) for part in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            fail("isdtype", f"kind {kind!r}, expected one of {list(KINDS)}", ValueError)
        return dtype in KINDS[kind]
    return dtype == check_type("isdtype", kind)


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The type that arrays, types of entries and Python's numbers promote to."""
    return common_type("result_type", arrays_and_dtypes)
