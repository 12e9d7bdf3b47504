#!/usr/bin/env python3
"""Write the type stubs of the package 'drjit'.

    make_stubs.py FOLDER            write them into the folder of a package
    make_stubs.py --names           print their names
    make_stubs.py --print NAME      print one
    make_stubs.py --check           compare with the installed package: each public name
                                    has a declaration, and each declaration a name
    make_stubs.py --mypy            check the Python files of the package, which see the
                                    compiled part through the stubs

``drjit/__init__.pyi`` is tools/stubs.pyi.in (the base class and its operators),
followed by the enumerations and functions of the API reference as far as they exist
(tools/api_reference.txt and api_baseline.txt). Elementwise functions are declared as
src/python/ops/apply.def says; other functions whose result depends on their arguments
have templates below. ``drjit/scalar.pyi``, ``drjit/llvm/__init__.pyi`` and
``drjit/llvm/ad.pyi`` have one class for each line and suffix of
src/python/type/types.def. The build runs this, so the stubs are never out of date.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import importlib
import itertools
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import api_coverage
import make_docstrings

ROOT = Path(__file__).resolve().parent.parent
BASE = ROOT / "tools/stubs.pyi.in"
TEXTURE = ROOT / "tools/texture.pyi.in"
CLASSES = ROOT / "tools/classes.pyi.in"
TYPES = ROOT / "src/python/type/types.def"
OPERATIONS = ROOT / "src/python/ops/apply.def"

BACKENDS = re.findall(
    r'^BACKEND\(\w+, "(\w+)"',
    (ROOT / "src/python/type/backends.def").read_text(encoding="utf-8"),
    re.MULTILINE,
)

# Modules of array types, those of a backend in the order of promotion.
FAMILIES = {"scalar": "scalar.pyi"}
for _name in BACKENDS:
    FAMILIES |= {_name: f"{_name}/__init__.pyi", f"{_name}.ad": f"{_name}/ad.pyi"}

# Entry types from the lowest to the highest in promotion, as suffixes of class names.
ORDER = ["b", "i8", "u8", "i", "u", "i64", "u64", "f16", "f", "f64"]
FLOATS = {"f16", "f", "f64"}
SUFFIXES = {
    "ALL": ORDER,
    "MASKS": ["b", "f16", "f", "f64"],
    "FLOATS": ["f16", "f", "f64"],
    "WIDE": ["f", "f64"],
}

SHAPE = re.compile(r'SHAPE\("(\w*)",\s*(\w+),\s*(\d), (-?\d), (-?\d), (-?\d), (\w+)\)')
ENTRY = re.compile(r'ENTRY\((\w+),\s*"(\w+)",\s*(?:"(\w+)"|NULL),')

# Rows of the table of operations that are functions; the form that some imply.
FUNCTIONS = "FUNCTION|FLOATING|COUNTING|NAMED|COMPOSED"
ROW = re.compile(rf"^({FUNCTIONS})\((.*?)\)$", re.M | re.S)
IMPLIED = {"FLOATING": "FLOAT", "COUNTING": "INT"}

# Functions by the form of their signature. A stands for the array, with its parameters.
GROUPS = {
    "PROMOTED": ["mulsign", "hypot", "lerp", "fmin", "fmax"],
    # The reduction of the leading axis unless an axis is given.
    "reduction": "sum prod min max mean median squared_norm norm".split(),
    "mask reduction": "all any none".split(),
    "dot": "dot abs_dot".split(),
    "creation": "zeros ones empty".split(),
    "filling": ["full"],
    "opaque": ["opaque"],
    "like": ["full_like"],
    "flush": ["flush_thread"],
    "log": ["set_log_callback"],
    "reshape": ["reshape"],
    "tile": ["tile"],
    "repeat": ["repeat"],
    "clip": ["clip", "clamp"],
    # Same type as the argument, although the reference names no type.
    "same": "sign conj normalize square sqr relative_grad".split(),
    "common type": ["expr_t"],
    "hint": ["hint"],
    "func": ["func"],
    "freeze": ["freeze"],
    "loaded": ["load_frozen"],
    "gradient": ["set_grad", "accum_grad"],
    "replaced": ["replace_grad"],
    "check": ["check_grad"],
    "explanation": ["explain_grad"],
    "scope": ["suspend_grad", "resume_grad"],
    "isolation": ["isolate_grad"],
    "trait": """array_t mask_t scalar_t value_t leaf_t tensor_t matrix_t detached_t
        diff_array_t int_array_t uint_array_t float_array_t int8_array_t
        uint8_array_t int32_array_t uint32_array_t int64_array_t uint64_array_t
        float16_array_t float32_array_t float64_array_t""".split(),
}

TEMPLATES = {
    "gradient": "def NAME(target: Any, source: Any) -> None: ...\n",
    "replaced": "def NAME(arg0: T, arg1: Any, /) -> T: ...\n",
    "explanation": """\
def NAME(y: Any, x: Any, as_string: bool = False) -> str | None: ...
""",
    "check": """\
def NAME(fn: Callable[..., Any], *args: Any, mode: ADMode | None = None, \
eps: float = ..., tol: float = ...) -> None: ...
""",
    "freeze": """\
@overload
def NAME(f: None = None, *, state_fn: Callable[..., Any] | None = None, \
limit: int | None = None, warn_after: int = 10, backend: JitBackend | None = None, \
auto_opaque: bool = True, enabled: bool = True, \
allow_reads: bool = False, strict: bool = False) -> Callable[[T], T]: ...
@overload
def NAME(f: T, *, state_fn: Callable[..., Any] | None = None, \
limit: int | None = None, warn_after: int = 10, backend: JitBackend | None = None, \
auto_opaque: bool = True, enabled: bool = True, allow_reads: bool = False, \
strict: bool = False) -> T: ...
""",
    "loaded": """\
def NAME(path: Any, f: Callable[..., Any] | None = None, *, \
state_fn: Callable[..., Any] | None = None, limit: int | None = None, \
warn_after: int = 10, backend: JitBackend | None = None, auto_opaque: bool = True, \
enabled: bool = True, allow_reads: bool = False, strict: bool = False) -> Any: ...
""",
    "scope": """\
class NAME:
    def __init__(self, *args: Any, when: bool = True) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *args: object) -> None: ...
""",
    "isolation": """\
class NAME:
    def __init__(self, when: bool = True) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *args: object) -> None: ...
""",
    "reduction": """\
@overload
def NAME(value: A, axis: types.EllipsisType = ..., mode: str | None = None, \
keepdims: Literal[False] = False) -> RedT: ...
@overload
def NAME(value: object, axis: int | tuple[int, ...] | types.EllipsisType | None = ..., \
mode: str | None = None, keepdims: bool = False) -> Any: ...
""",
    "mask reduction": """\
@overload
def NAME(value: A, axis: types.EllipsisType = ..., \
keepdims: Literal[False] = False) -> RedT: ...
@overload
def NAME(value: object, axis: int | tuple[int, ...] | types.EllipsisType | None = ..., \
keepdims: bool = False) -> Any: ...
""",
    "dot": """\
@overload
def NAME(a: A, b: SelfCpT, /) -> RedT: ...
@overload
def NAME(a: SelfCpT, b: A, /) -> RedT: ...
@overload
def NAME(a: Sequence[float] | float, b: Sequence[float] | float, /) -> Any: ...
""",
    "hint": """\
def NAME(arg: T, /, *, mode: Literal["scalar", "symbolic", "evaluated"] | None = None, \
label: str | None = None, max_iterations: int | None = None, strict: bool = True, \
compress: bool | None = None, include: Sequence[object] | None = None, \
exclude: Sequence[object] | None = None) -> T: ...
""",
    "func": """\
@overload
def NAME(f: None = None, *, backend: JitBackend | None = None) \
-> Callable[[T], T]: ...
@overload
def NAME(f: T, *, backend: JitBackend | None = None) -> T: ...
""",
    # Forms of elementwise functions.
    "FLOAT": """\
@overload
def NAME(arg: ArrayT, /) -> ArrayT: ...
@overload
def NAME(arg: float, /) -> float: ...
@overload
def NAME(arg: _HasFunctions, /) -> Any: ...
""",
    "INT": """\
@overload
def NAME(arg: ArrayT, /) -> ArrayT: ...
@overload
def NAME(arg: int, /) -> int: ...
@overload
def NAME(arg: _HasFunctions, /) -> Any: ...
""",
    "NUMBER": """\
@overload
def NAME(arg: ArrayT, /) -> ArrayT: ...
@overload
def NAME(arg: int, /) -> int: ...
@overload
def NAME(arg: float, /) -> float: ...
@overload
def NAME(arg: _HasFunctions, /) -> Any: ...
""",
    "INTS": """\
@overload
def NAME(a: int, b: int, /) -> int: ...
@overload
def NAME(a: Any, b: Any, /) -> Any: ...
""",
    "POWER": """\
@overload
def NAME(a: float, b: float, /) -> float: ...
@overload
def NAME(a: Any, b: Any, /) -> Any: ...
""",
    "PAIR": """\
@overload
def NAME(arg: ArrayT, /) -> tuple[ArrayT, ArrayT]: ...
@overload
def NAME(arg: float, /) -> tuple[float, float]: ...
@overload
def NAME(arg: _HasFunctions, /) -> Any: ...
""",
    "TEST": """\
@overload
def NAME(arg: A, /) -> MaskT: ...
@overload
def NAME(arg: float, /) -> bool: ...
""",
    "REINTERPRET": """\
def NAME(dtype: type[T], value: AnyArray, /) -> T: ...
""",
    "creation": """\
def NAME(dtype: type[T], shape: int | Sequence[int] = 1) -> T: ...
""",
    "filling": """\
def NAME(dtype: type[T], value: object, shape: int | Sequence[int] = 1) -> T: ...
""",
    "reshape": """\
@overload
def NAME(dtype: type[T], value: object, shape: int | Sequence[int], \
order: str = 'A', shrink: bool = False) -> T: ...
@overload
def NAME(value: T, shape: int | Sequence[int], \
order: str = 'A', shrink: bool = False) -> T: ...
""",
    "tile": """\
@overload
def NAME(value: T, count: int) -> T: ...
@overload
def NAME(value: object, count: Sequence[int]) -> Any: ...
@overload
def NAME(value: T, *, reps: int) -> T: ...
@overload
def NAME(value: object, *, reps: Sequence[int]) -> Any: ...
""",
    "repeat": """\
@overload
def NAME(value: T, count: int | Sequence[int] | AnyArray, \
axis: int | None = None) -> T: ...
@overload
def NAME(value: T, *, repeats: int | Sequence[int] | AnyArray, \
axis: int | None = None) -> T: ...
""",
    "opaque": """\
@overload
def NAME(dtype: type[T], value: object, shape: int | Sequence[int] = 1) -> T: ...
@overload
def NAME(value: T, /) -> T: ...
""",
    "like": "def NAME(arg: T, value: object, /) -> T: ...\n",
    "flush": "def NAME() -> None: ...\n",
    "log": "def NAME(callback: Any, level: LogLevel = ...) -> None: ...\n",
    "SELECT": """\
@overload
def NAME(mask: AnyArray | bool, a: A, b: SelfCpT, /) -> SelfT: ...
@overload
def NAME(mask: AnyArray | bool, a: SelfCpT, b: A, /) -> SelfT: ...
@overload
def NAME(mask: bool, a: T, b: T, /) -> T: ...
@overload
def NAME(mask: AnyArray | bool, a: object = None, b: object = None, /) -> Any: ...
""",
    "clip": """\
@overload
def NAME(value: A, min: SelfCpT, max: SelfCpT) -> SelfT: ...
@overload
def NAME(value: T, min: T, max: T) -> T: ...
""",
    "same": "def NAME(arg: T, /) -> T: ...\n",
    "common type": "def NAME(*args: object) -> Any: ...\n",
    "trait": "def NAME(arg: object, /) -> Any: ...\n",
}
ARRAY = "ArrayBase[SelfT, SelfCpT, ValT, ValCpT, RedT, MaskT]"

# Declared in stubs.pyi.in.
DECLARED = {"ArrayT", "MaskT", "AnyArray", "ArrayBase", "Instance", "scalar"}
DECLARED |= {"auto", "convolve", "resample", *BACKENDS}

# What a module of traced arrays has beside them.
EVENT = """\
class Event:
    def __init__(self, enable_timing: bool = True) -> None: ...
    @property
    def handle(self) -> int: ...
    def record(self) -> None: ...
    def query(self) -> bool: ...
    def wait(self) -> None: ...
    def elapsed_time(self, end: Event) -> float: ...
"""

# The random number generators of a module, up to the methods below.
PCG32 = """\
class PCG32:
    state: UInt64
    inc: UInt64
    @overload
    def __init__(self, size: int = 1, initstate: UInt64 | int = ..., \
initseq: UInt64 | int = ...) -> None: ...
    @overload
    def __init__(self, arg: PCG32, /) -> None: ...
    def seed(self, initstate: UInt64 | int = ..., \
initseq: UInt64 | int = ...) -> None: ...
    def next_uint32_bounded(self, bound: int, mask: Bool | bool = True) -> UInt: ...
    def next_uint64_bounded(self, bound: int, mask: Bool | bool = True) -> UInt64: ...
    def __add__(self, arg: Int64 | int, /) -> PCG32: ...
    def __iadd__(self, arg: Int64 | int, /) -> PCG32: ...
    @overload
    def __sub__(self, arg: PCG32, /) -> Int64: ...
    @overload
    def __sub__(self, arg: Int64 | int, /) -> PCG32: ...
    def __isub__(self, arg: Int64 | int, /) -> PCG32: ...
"""
PHILOX = """\
class Philox4x32:
    seed: Array2u
    counter: Array4u
    iterations: int
    @overload
    def __init__(self, seed: UInt64 | int = 0, counter_0: UInt | int = 0, \
counter_1: UInt | int = 0, counter_2: UInt | int = 0, iterations: int = 7) -> None: ...
    @overload
    def __init__(self, arg: Philox4x32, /) -> None: ...
"""

# Their methods: name, class of the result.
DRAWS = {
    PCG32: {
        "uint32": "UInt",
        "uint64": "UInt64",
        "float16": "Float16",
        "float32": "Float",
        "float64": "Float64",
        "float16_normal": "Float16",
        "float32_normal": "Float",
        "float64_normal": "Float64",
    },
    PHILOX: {
        "uint32x4": "Array4u",
        "uint64x2": "Array2u64",
        "float16x4": "Array4f16",
        "float32x4": "Array4f",
        "float64x2": "Array2f64",
        "float16x4_normal": "Array4f16",
        "float32x4_normal": "Array4f",
        "float64x2_normal": "Array2f64",
    },
}


@dataclass(frozen=True)
class Shape:
    """A line of the type table."""

    prefix: str
    kind: str
    dims: tuple[int, ...]
    suffixes: tuple[str, ...]


@dataclass
class Table:
    """src/python/type/types.def."""

    shapes: list[Shape]
    leaves: dict[str, str]  # by suffix
    aliases: dict[str, str]  # further name of a leaf, by suffix

    def name(self, shape: Shape, suffix: str) -> str:
        """Name of the class of a shape and an entry type."""
        return shape.prefix + suffix if shape.prefix else self.leaves[suffix]

    def plain(self, dims: tuple[int, ...]) -> Shape:
        """The ordinary array (or leaf) with these extents."""
        for shape in self.shapes:
            if shape.dims == dims and shape.kind in ("ARRAY", "FLAT"):
                return shape
        raise KeyError(dims)

    def value(self, shape: Shape) -> Shape:
        """The shape of an entry of an array."""
        if shape.kind in ("FLAT", "TENSOR"):
            return shape
        # The rows of a matrix and the entries of a matrix of arrays are plain arrays.
        return self.plain(shape.dims[1:])

    def mask(self, shape: Shape) -> Shape:
        """The shape of the result of a comparison."""
        return shape if shape.kind == "TENSOR" else self.plain(shape.dims)


def read_types() -> Table:
    """Read the type table."""
    text = TYPES.read_text(encoding="utf-8")
    text = text[text.index("#ifdef") :]
    shapes = []
    for prefix, kind, ndim, d0, d1, d2, suffixes in SHAPE.findall(text):
        dims = tuple(int(extent) for extent in (d0, d1, d2))[: int(ndim)]
        shapes.append(Shape(prefix, kind, dims, tuple(SUFFIXES[suffixes])))
    leaves = {suffix: leaf for suffix, leaf, _ in ENTRY.findall(text)}
    aliases = {suffix: alias for suffix, _, alias in ENTRY.findall(text) if alias}
    if not shapes or list(leaves) != ORDER:
        raise SystemExit(f"make_stubs.py: {TYPES.name} has another form than expected")
    return Table(shapes, leaves, aliases)


def python_leaf(suffix: str) -> str:
    """The Python type that stands for a leaf of drjit.scalar."""
    return "float" if suffix in FLOATS else "bool" if suffix == "b" else "int"


def base_classes(table: Table, shape: Shape, suffix: str) -> list[str]:
    """The bases of an array class."""
    name = table.name(shape, suffix)
    value_shape = table.value(shape)
    value = table.name(value_shape, suffix)
    value_compatible = f"_{value}Cp"
    if shape.kind == "FLAT":
        value = "_" + python_leaf(suffix)
    reduced = name if shape.kind in ("FLAT", "TENSOR") else value
    mask = table.name(table.mask(shape), "b")
    quoted = [f"'{text}'" for text in (name, f"_{name}Cp", value, value_compatible)]
    quoted += [f"'{reduced}'", f"'{mask}'"]
    bases = []
    if shape.kind in ("MATRIX", "COMPLEX", "QUATERNION"):
        bases.append("drjit._Unordered")
    if suffix in FLOATS:
        bases.append("drjit._Floating")
    elif suffix != "b":
        wide = table.name(shape, "f")
        parts = [quoted[0], quoted[1], quoted[5], f"'{wide}'"]
        bases.append(f"drjit._Integral[{', '.join(parts)}]")
    if shape.kind == "ARRAY" and len(shape.dims) == 1 and 2 <= shape.dims[0] <= 4:
        arrays = ", ".join(f"'Array{size}{suffix}'" for size in (2, 3, 4))
        bases.append(f"drjit._Swizzle{shape.dims[0]}[{arrays}]")
    return [*bases, f"drjit.ArrayBase[{', '.join(quoted)}]"]


def matrix_members(table: Table, shape: Shape, suffix: str) -> str:
    """The products that only matrices have."""
    if shape.kind != "MATRIX":
        return ""
    name = table.name(shape, suffix)
    row = table.name(table.value(shape), suffix)
    return (
        "    @overload\n"
        f"    def __matmul__(self, value: {name}, /) -> {name}: ...\n"
        "    @overload\n"
        f"    def __matmul__(self, value: _{row}Cp, /) -> {row}: ...\n"
    )


def compatible(table: Table, family: str, shape: Shape, suffix: str) -> list[str]:
    """What combines with a type without changing it, without duplicates.

    That is the type itself, what is compatible with its entries, the same type of the
    family before, and what is compatible with the next lower type in promotion. Written
    out: unions of unions would grow exponentially in a type checker.
    """
    name = table.name(shape, suffix)
    if family == "scalar" and shape.kind == "FLAT":
        return [f"_{python_leaf(suffix)}"]
    union = [name]
    parts = []
    if shape.kind != "FLAT":
        parts.append((family, table.plain(()), suffix))
    if shape.kind == "ARRAY" and len(shape.dims) > 1:
        parts.append((family, table.value(shape), suffix))
    if shape.kind in ("COMPLEX", "QUATERNION"):
        union.append(table.name(table.plain(shape.dims), suffix))
    if family != "scalar":
        before = family.removesuffix(".ad") if ".ad" in family else "scalar"
        parts.append((before, shape, suffix))
    lower = shape.suffixes.index(suffix)
    if lower > 0:
        parts.append((family, shape, shape.suffixes[lower - 1]))
    for part in parts:
        prefix = f"drjit.{part[0]}." if part[0] != family else ""
        for text in compatible(table, *part):
            union.append(text if text[0] == "_" or "." in text else prefix + text)
    union = list(dict.fromkeys(union))
    # A float annotation admits int and bool, one of int admits bool.
    for wide, narrow in (("_float", "_int"), ("_int", "_bool"), ("_float", "_bool")):
        if wide in union and narrow in union:
            union.remove(narrow)
    return union


def family_stub(table: Table, family: str) -> str:
    """The stub of one module of array types."""
    out = [
        # The bases disagree about operators on purpose: the first one has the say.
        '# mypy: disable-error-code="misc,override"',
        f'"""Array types of drjit.{family}, written by tools/make_stubs.py."""\n',
        "from collections.abc import Sequence",
        "from typing import Any, Literal, TypeAlias, Union, overload\n",
        "import drjit",
        *(f"import drjit.{other}" for other in FAMILIES if other != family),
        "",
        "_float: TypeAlias = float",
        "_int: TypeAlias = int",
        "_bool: TypeAlias = bool",
    ]
    unions = []
    for shape in table.shapes:
        for suffix in shape.suffixes:
            name = table.name(shape, suffix)
            if family == "scalar" and shape.kind == "FLAT":
                out.append(f"{name}: TypeAlias = _{python_leaf(suffix)}")
            else:
                bases = ", ".join(base_classes(table, shape, suffix))
                members = matrix_members(table, shape, suffix)
                out.append(f"class {name}({bases}):\n{members or '    ...'}")
            if shape.kind == "FLAT" and suffix in table.aliases:
                out.append(f"{table.aliases[suffix]}: TypeAlias = {name}")
            names = compatible(table, family, shape, suffix)
            union = ", ".join(f"'{text}'" for text in names)
            unions.append(f"_{name}Cp: TypeAlias = Union[{union}]")
    if family != "scalar":
        inside = f"{family}.ad" in FAMILIES
        outer = family.removesuffix(".ad")
        out.append(EVENT if inside else f"from drjit.{outer} import Event as Event")
        out += ["from . import ad as ad"] if inside else []
    else:
        out += [f"{name}: TypeAlias = _int" for name in ("Int16", "UInt16")]
    for text, draws in DRAWS.items():
        out.append(text + "".join(draw_methods(draws, backwards=text is PCG32)))
    out += textures()
    return "\n".join([*out, *unions, ""])


def textures() -> Iterator[str]:
    """The texture classes of a module."""
    template = TEXTURE.read_text(encoding="utf-8")
    for dim, suffix in itertools.product("123", ("f", "f16", "f64", "f8u")):
        text = template.replace("NAME", f"Texture{dim}{suffix}")
        yield text.replace("TENSOR", "TensorX" + suffix.replace("f8u", "u8"))


def draw_methods(draws: dict[str, str], backwards: bool) -> Iterator[str]:
    """The methods that take numbers from a generator."""
    directions = ["next", "prev"] if backwards else ["next"]
    for direction in directions:
        for name, result in draws.items():
            yield (
                f"    def {direction}_{name}(self, mask: Bool | bool = True, /) "
                f"-> {result}: ...\n"
            )
        for suffix in ("", "_normal") if backwards else ():
            yield (
                f"    def {direction}_float{suffix}(self, dtype: type[drjit.T], "
                "mask: Bool | bool = True) -> drjit.T: ...\n"
            )


def swizzles() -> Iterator[str]:
    """The classes for swizzles of two to four components."""
    for size in (2, 3, 4):
        yield f"class _Swizzle{size}(Generic[_Array2T, _Array3T, _Array4T]):"
        for count in (2, 3, 4):
            for letters in itertools.product("xyzw"[:size], repeat=count):
                yield f"    {''.join(letters)}: _Array{count}T"


@dataclass(frozen=True)
class Elementwise:
    """A function in the table of operations."""

    name: str
    parameters: str
    form: str

    def stub(self) -> str:
        """Its declarations."""
        if self.form in ("PROMOTED", "FLOATS"):
            plain = "float" if self.form == "FLOATS" else "T"
            return promoted(self.name, self.parameters, plain)
        return TEMPLATES[self.form].replace("NAME", self.name)


def read_operations() -> dict[str, Elementwise]:
    """Read the functions in the table of operations."""
    functions = {}
    documented = make_docstrings.sources()
    for row in ROW.finditer(OPERATIONS.read_text(encoding="utf-8")):
        columns = [column.strip() for column in " ".join(row[2].split()).split(",")]
        name = columns[0 if row[1] == "COMPOSED" else 1]
        node = documented[name]
        assert isinstance(node, ast.FunctionDef)
        parameters = ast.unparse(node.args).removesuffix(", /")
        form = IMPLIED.get(row[1], columns[-1])
        functions[name] = Elementwise(name, parameters, form)
    return functions


def promoted(name: str, parameters: str = "a, b", plain: str = "T") -> str:
    """The overloads of a function whose operands are promoted."""
    names = ["a", "b", "t"] if name == "lerp" else parameters.split(", ")
    out = ""
    for place in range(len(names)):
        types = [
            f"{operand}: {ARRAY if place == k else 'SelfCpT'}"
            for k, operand in enumerate(names)
        ]
        slash = "" if name == "lerp" else ", /"
        out += f"@overload\ndef {name}({', '.join(types)}{slash}) -> SelfT: ...\n"
    numbers = ", ".join(f"{operand}: {plain}" for operand in names)
    return out + f"@overload\ndef {name}({numbers}{slash}) -> {plain}: ...\n"


# How the reference writes types, and how a stub has to.
REWRITES = [
    (r"drjit\.scalar\.(\w+)", r"scalar.\1"),
    (rf"drjit\.({'|'.join(BACKENDS)})\.(\w+)", r"\1.\2"),
    (r"\b(?:drjit|dr)\.ArrayBase\b(?!\[)|\bArrayBase\b(?!\[)", "AnyArray"),
    (r"\bdrjit\.", ""),
    (r"\b(?:collections\.abc|typing)\.", ""),
    (r"\bType\[", "type["),
    (r"\bList\[", "list["),
    (r"\bTuple\[", "tuple["),
    (r"\b(Sequence|Callable)\b(?!\[)", r"\1[..., Any]"),
    (r"Sequence\[\.\.\., Any\]", "Sequence[Any]"),
    (r"\btuple\b(?!\[)", "tuple[Any, ...]"),
    (r"\blist\b(?!\[)", "list[Any]"),
    (r"\btype\b(?!\[)", "type[Any]"),
    (r"\| \.\.\. ", "| types.EllipsisType "),
    (r"-> AnyArray\b", "-> Any"),
]


def annotate(signature: str) -> str:
    """Turn a signature of the reference into one for a stub."""
    parameters = api_coverage.split_parameters(inside(signature))
    result = signature[len(inside(signature)) + 2 :].strip()
    parts = []
    for part in parameters:
        head, equals, default = part.partition("=")
        name, colon, annotation = head.partition(":")
        name = name.strip()
        if name not in ("*", "/"):
            annotation = rewrite(annotation.strip()) if colon else "Any"
            if annotation == "object":
                annotation = "Any"
            if equals and default.strip() == "None" and "None" not in annotation:
                annotation += " | None"
            part = f"{name}: {annotation}" + (" = ..." if equals else "")
        parts.append(part)
    result = rewrite(result.removeprefix("->").strip()) if result else "Any"
    if result in ("object", "AnyArray"):
        result = "Any"
    return f"({', '.join(parts)}) -> {result}"


def inside(signature: str) -> str:
    """The text between the outer parentheses of a signature."""
    depth = 0
    for position, character in enumerate(signature):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0:
            return signature[1:position]
    raise ValueError(signature)


def rewrite(text: str) -> str:
    """A type as a stub has to write it."""
    for pattern, replacement in REWRITES:
        text = re.sub(pattern, replacement, text)
    return text


def function_stub(name: str, overloads: list[api_coverage.Entry]) -> str:
    """The declaration of one function."""
    for group, names in GROUPS.items():
        if name in names:
            template = TEMPLATES.get(group)
            text = promoted(name) if template is None else template
            return text.replace("NAME", name).replace("value: A,", f"value: {ARRAY},")
    forms = [annotate(entry.signature) for entry in overloads if entry.signature]
    forms = [form for form in dict.fromkeys(forms) if not unknown_names(form)]
    forms.sort(key=lambda form: form.count(": Any"))  # the widest last
    if not forms:
        return f"def {name}(*args: Any, **kwargs: Any) -> Any: ...\n"
    decorator = "@overload\n" if len(forms) > 1 else ""
    return "".join(f"{decorator}def {name}{form}: ...\n" for form in forms)


def unknown_names(form: str) -> set[str]:
    """Names in a signature that the stub does not declare, like those of drjit.cuda."""
    form = form.replace("*Ts", "Ts")  # Python 3.10 cannot parse either use of it
    function = ast.parse(f"def f{form}: ...")
    names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    names |= {
        node.attr
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and node.attr in ("cuda", "ad", "nn")
    }
    known = {*dir(builtins), "Any", "Literal", "Sequence", "Callable", "types"}
    known |= {"scalar", "T", "ArrayT", "AnyArray", *BACKENDS}
    known |= {"ADFlag", "ADMode", "ReduceOp", "ReduceMode", "JitFlag"}
    known |= {"JitBackend", "VarType", "VarState", "LogLevel", "KernelType"}
    return names - known


def with_arrays(text: str) -> str:
    """A declaration with the array type and its parameters for A."""
    return re.sub(r"\bA\b(?=[,)])", ARRAY, text)


def main_stub() -> str:
    """The stub of drjit itself."""
    present = set(api_coverage.read_baseline())
    entries = [e for e in api_coverage.read_entries() if e.name in present]
    docs = make_docstrings.read_docstrings()
    base = make_docstrings.with_members(
        BASE.read_text(encoding="utf-8"), "ArrayBase", docs
    )
    out = [base, *swizzles()]
    operations = read_operations()
    for name, function in operations.items():
        out.append(
            make_docstrings.with_docstring(with_arrays(function.stub()), docs[name])
        )
    for name, overloads in api_coverage.group(entries).items():
        first = overloads[0]
        short = name.removeprefix("drjit.")
        if "." in short or short in DECLARED or short in operations:
            continue
        if first.kind == "enum" or short in ("KernelType", "KernelRecordingMode"):
            out.append(f"from ._enums import {short} as {short}")
        elif first.kind == "constant" or short == "inv_sqrt_four_pi":
            kind = {"Dynamic": "int", "newaxis": "None"}.get(short, "float")
            out.append(f"{short}: {kind}")
        elif first.kind in ("function", "name"):
            text = with_arrays(function_stub(short, overloads))
            out.append(make_docstrings.with_docstring(text, docs.get(short, "")))
    for text in CLASSES.read_text(encoding="utf-8").split("class ")[1:]:
        name = re.split("[:(]", text)[0]
        if f"drjit.{name}" in present:
            out.append(
                make_docstrings.with_docstring(f"class {text}", docs.get(name, ""))
            )
    return "\n".join(out) + "\n"


def open_stub() -> str:
    """The stub of a module whose functions take and return all kinds of things."""
    return "from typing import Any\n\ndef __getattr__(name: str) -> Any: ...\n"


def auto_stub() -> str:
    """The stub of drjit.auto, whose types are those of the best backend there is."""
    return f"from drjit.{BACKENDS[0]} import *\n"


def auto_ad_stub() -> str:
    """The same of drjit.auto.ad."""
    return f"from drjit.{BACKENDS[0]}.ad import *\n"


def file_names() -> list[str]:
    """Names of the generated files, relative to the package."""
    own = ["__init__.pyi", "_core.pyi", "detail.pyi", "py.typed"]
    own += ["auto/__init__.pyi", "auto/ad.pyi"]
    return [*own, *FAMILIES.values()]


def stub(name: str) -> str:
    """The text of one file."""
    for family, path in FAMILIES.items():
        if path == name:
            return family_stub(read_types(), family)
    if name == "py.typed":
        return ""
    makers = {
        "__init__.pyi": main_stub,
        "auto/__init__.pyi": auto_stub,
        "auto/ad.pyi": auto_ad_stub,
    }
    return makers.get(name, open_stub)()


def write(package: Path) -> None:
    """Write the stubs into the folder of a package."""
    for name in file_names():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = stub(name)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def declared(text: str) -> set[str]:
    """Public names that a stub declares."""
    names: set[str] = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.ImportFrom) and node.module != "collections.abc":
            names |= {alias.name for alias in node.names if alias.asname}
    return {name for name in names if not name.startswith("_")}


def check() -> Iterator[str]:
    """Say where the stubs and the installed package differ."""
    table = read_types()
    stubs = {"drjit": main_stub()}
    stubs |= {f"drjit.{family}": family_stub(table, family) for family in FAMILIES}
    for name, text in stubs.items():
        module = importlib.import_module(name)
        for public in sorted(declared(text)):
            if not hasattr(module, public):
                yield f"{name}.{public} is declared but does not exist"
    for family in FAMILIES:
        module = importlib.import_module(f"drjit.{family}")
        names = declared(stubs[f"drjit.{family}"])
        for public, value in vars(module).items():
            if isinstance(value, type) and public[0] != "_" and public not in names:
                yield f"drjit.{family}.{public} exists but is not declared"


def run_mypy() -> int:
    """Check the package in a folder where it has its stubs; mypy's exit status."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder, "drjit")
        shutil.copytree(ROOT / "python/drjit", package)
        write(package)
        config = ["--config-file", str(ROOT / "pyproject.toml")]
        command = [sys.executable, "-m", "mypy", "--no-error-summary", *config, "drjit"]
        return subprocess.run(command, cwd=folder, check=False).returncode


def main() -> int:
    """Do what the head of this file says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--names", action="store_true")
    parser.add_argument("--print", metavar="NAME", choices=file_names())
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--mypy", action="store_true")
    options = parser.parse_args()
    if options.folder:
        write(options.folder)
    if options.names:
        print("\n".join(file_names()))
    if options.print:
        print(end=stub(options.print))
    if options.mypy:
        return run_mypy()
    problems = list(check()) if options.check else []
    for problem in problems:
        print(f"make_stubs.py: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
