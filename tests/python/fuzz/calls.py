"""Random calls of everything that the package offers, with random arguments.

    python tests/python/fuzz/calls.py --seed 1 --calls 1000 [--first 0] [--only TEXT]

Each call depends on the seed and its number only: ``--seed S --first N --calls 1 -v``
repeats call N. The file named by ``--log`` holds the call under way: what to repeat
after a crash. A finding is a crash, a SystemError, an exception of a kind that a wrong
argument should not give, or text that does not say which operation it comes from. The
exit status is 1 if there are findings.
"""

from __future__ import annotations

import argparse
import copy
import faulthandler
import functools
import gc
import inspect
import io
import operator
import os
import pickle
import random
import re
import resource
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import drjit as dr
import numpy as np
import values
from values import Context, HookError

EXPECTED = (
    TypeError,
    ValueError,
    IndexError,
    RuntimeError,
    OverflowError,
    AttributeError,
    RecursionError,
    MemoryError,
    KeyError,
    BufferError,
    ZeroDivisionError,
    HookError,
    StopIteration,
    AssertionError,
    pickle.PicklingError,
    NotImplementedError,
)

# They change the process for good, or write where tests do not look.
LEFT_OUT = {
    "set_backend",
    "set_thread_count",
    "set_log_callback",
    "set_log_level",
    "graphviz",
    "graphviz_ad",
    "whos",
    "whos_ad",
    "profile_enable",
}
OPERATORS = [
    getattr(operator, name)
    for name in """add sub mul truediv floordiv mod matmul pow and_ or_ xor lshift
    rshift lt le gt ge eq ne iadd isub imul itruediv ifloordiv imod imatmul ipow iand
    ior ixor ilshift irshift divmod contains concat indexOf countOf""".split()
    if hasattr(operator, name)
] + [divmod]


def functions() -> dict[str, Callable[..., Any]]:
    found = {}
    for place, module in (("", dr), ("detail.", dr.detail)):
        for name in dir(module):
            function = getattr(module, name)
            if name in LEFT_OUT or name.startswith("_") or not callable(function):
                continue
            if isinstance(function, type):
                continue
            if getattr(function, "__module__", "").split(".")[0] != "drjit":
                continue
            found[place + name] = function
    found["detail._sort"] = dr.detail._sort
    found["detail._argsort"] = dr.detail._argsort
    return found


FUNCTIONS = functions()
KEYWORDS = sorted(
    {
        word
        for function in FUNCTIONS.values()
        for word in re.findall(r"(\w+)\s*[:=]", function.__doc__ or "")
        if word.islower() and len(word) < 20
    }
    | {
        "axis",
        "mode",
        "dtype",
        "shape",
        "active",
        "index",
        "op",
        "keepdims",
        "order",
        "size",
        "fill_value",
        "source",
        "value",
        "count",
        "exclusive",
        "reverse",
        "symbolic",
        "start",
        "stop",
        "step",
        "out",
        "copy",
        "descending",
        "permute",
        "file",
        "end",
        "limit",
        "fmt",
        "endpoint",
        "labels",
    }
)


@functools.cache  # inspect leaves memory behind, which leaks.py would see
def parameters(function: Callable[..., Any]) -> tuple[int, list[str]]:
    try:
        names = list(inspect.signature(function).parameters)
        return len(names), names
    except (ValueError, TypeError):
        pass
    head = re.match(r"\w+\(([^\n]*?)\)", function.__doc__ or "")  # the short form
    if not head:
        return 4, KEYWORDS
    names = re.findall(r"([a-z]\w*)(?:=[^,]*)?(?:,|$|\s)", head[1].replace("]", ""))
    return len(names), names


def by_name(rng: random.Random, name: str) -> Any:
    """An argument that fits the parameter's name, most of the time."""
    if rng.random() < 0.25:
        return values.value(rng)
    if name == "axis":
        return rng.choice([0, 1, -1, 2, None, ..., (0, 1), (), (0, 0), -5, 2**70, "x"])
    if name in ("active", "mask", "keepdims", "symbolic", "copy", "exclusive"):
        mask = rng.choice([dr.llvm.Bool, dr.scalar.ArrayXb, dr.llvm.Array3b])
        return rng.choice([True, False, None, values.array(rng, mask)])
    if name == "mode":
        return rng.choice([*dr.ReduceMode, None, "evaluated", "symbolic", "x"])
    if name == "op":
        return rng.choice(list(dr.ReduceOp))
    if name in ("dtype", "type", "cls", "arg0"):
        return values.type_(rng)
    if name in ("shape", "size", "count", "block_size", "n"):
        return rng.choice(
            [values.size(rng), (2, 3), (), (-1,), [3], (2, -1), 0, 1, 2, 3]
        )
    if name in ("index", "indices"):
        uint = rng.choice([dr.llvm.UInt, dr.scalar.ArrayXu, dr.llvm.Array3u])
        return values.array(rng, uint) % 3 if rng.random() < 0.9 else 1
    if name == "order":
        return rng.choice(["A", "C", "F", "x"])
    return values.value(rng)


FLAGS = {
    "keepdims",
    "exclusive",
    "reverse",
    "symbolic",
    "descending",
    "permute",
    "copy",
    "shrink",
    "endpoint",
    "strict",
}

# Which functions want which types.
HOMES = {
    "moveaxis|stack|concat|split|upsample|take|transpose|swapaxes": "Tensor",
    "squeeze|expand_dims": "Tensor",
    "scatter|sort|compress|mkperm|prefix_|block_|tile|repeat|binary|unravel|gather": (
        "Float$|UInt$|Int$|UInt64$|Float64$|ArrayXf$|ArrayXu$|Float16$|TensorXf$"
    ),
    "det|inverse|polar|trace|diag|frob|transform|quat|identity": "Matrix|Quaternion",
    "all|any|none|count|mask": "b$|Bool",
    "zcnt|popcnt|brev|mul_hi|mul_wide|log2i": "[iu]$|Int$|[iu](8|64)$",
    "cross|dot|norm|sh_eval|lerp|hypot": "Array3f|Array3f64|Float",
    "real|imag|conj": "Complex|Quaternion",
}
HOME_TYPES = {
    functions: [c for c in values.ALL_TYPES if re.search(types, c.__name__)]
    for functions, types in HOMES.items()
}


def home_type(rng: random.Random, name: str) -> type:
    if rng.random() < 0.8:
        for functions, types in HOME_TYPES.items():
            if re.search(functions, name):
                return rng.choice(types)
    return rng.choice(rng.choice([values.COMMON, values.ALL_TYPES]))


def fitting(rng: random.Random, name: str, home: type) -> Any:
    """An argument that fits the parameter's name and the other arguments."""
    module = sys.modules[home.__module__]
    if rng.random() < 0.04:
        return values.value(rng)
    if name in ("index", "indices"):
        scalar = module is dr.scalar
        index = values.array(rng, module.ArrayXu if scalar else module.UInt)
        return index % 3 if len(index) and rng.random() < 0.95 else index
    if name == "active":
        mask = module.Bool if module is not dr.scalar else module.ArrayXb
        return rng.choice([True, False, mask(True), mask(True, False), mask(False)])
    if name == "axis":
        return rng.choice([0, 0, 1, -1, None, ..., (0, 1), ()])
    if name in ("block_size", "count", "size", "n", "bucket_count"):
        return rng.choice([1, 1, 2, 3, 4, 5, 0])
    if name == "shape":
        return rng.choice([(3,), (-1,), (1, 3), (2, 2), (3, -1), 3, ()])
    if name in ("dtype", "type", "cls"):
        return rng.choice(
            [home, home, dr.value_t(home), dr.array_t(home), type_of(home)]
        )
    if name in FLAGS:
        return rng.choice([True, False])
    if name in ("arrays", "inputs", "args"):
        return [values.array(rng, home) for _ in range(rng.randint(1, 3))]
    if name == "op":
        return rng.choice(list(dr.ReduceOp))
    if name == "mode":
        return rng.choice([None, *dr.ReduceMode])
    if name == "order":
        return by_name(rng, name)
    other = rng.random()
    if other < 0.8:
        return values.array(rng, home)
    if other < 0.9:
        return values.small(rng)
    if other < 0.95:
        return values.array(rng, type_of(home))
    return {"a": values.array(rng, home), "b": [values.array(rng, home)]}


def type_of(home: type) -> type:
    """A type of the same family."""
    return random.choice(values.TYPES[home.__module__])


def fitting_call(rng: random.Random) -> Call:
    name = rng.choice(list(FUNCTIONS))
    function = FUNCTIONS[name]
    random.seed(rng.random())
    home = home_type(rng, name)
    limit, words = parameters(function)
    arguments = [fitting(rng, word, home) for word in words[:limit]]
    if words is KEYWORDS:
        arguments = arguments[: rng.randint(0, 3)]
    keywords = {}
    while arguments and rng.random() < 0.3:
        word = words[len(arguments) - 1]
        last = arguments.pop()
        if rng.random() < 0.3:
            keywords[word] = last
    if name.endswith("print"):
        keywords["file"] = io.StringIO()
    return name, function, tuple(arguments), keywords


def related(rng: random.Random, arguments: list[Any]) -> list[Any]:
    """Often let arguments be of one family, or even the same object."""
    r = rng.random()
    arrays = [a for a in arguments if isinstance(a, dr.ArrayBase)]
    if r < 0.15 and arrays:
        one = rng.choice(arrays)
        return [one if isinstance(a, dr.ArrayBase) else a for a in arguments]
    if r < 0.5 and arrays:
        cls = type(arrays[0])
        return [
            values.array(rng, cls)
            if isinstance(a, dr.ArrayBase) and a is not arrays[0] and rng.random() < 0.7
            else a
            for a in arguments
        ]
    return arguments


Call = tuple[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]]


def function_call(rng: random.Random) -> Call:
    name = rng.choice(list(FUNCTIONS))
    function = FUNCTIONS[name]
    limit, words = parameters(function)
    count = rng.choice([limit, limit, min(limit, 2), rng.randint(0, limit + 1)])
    if words is KEYWORDS:
        count = rng.choice([1, 1, 2, 2, 2, 3, 3, 4, 5, 0])
    arguments = [
        by_name(rng, words[i] if words is not KEYWORDS and i < limit else "")
        for i in range(min(count, 9))
    ]
    if arguments and re.search("_v$|_t$|zeros|ones|full|empty|arange|opaque", name):
        if rng.random() < 0.7:
            arguments[0] = values.type_(rng)
    elif arguments and words is KEYWORDS and name.startswith(("gather", "scatter")):
        if rng.random() < 0.4:
            arguments[0] = values.type_(rng)
        if len(arguments) > 2:
            arguments[2] = by_name(rng, "index")
    keywords = {}
    for _ in range(rng.choice([0, 0, 0, 0, 0, 1, 1, 2])):
        word = (
            rng.choice(words) if words and rng.random() < 0.9 else rng.choice(KEYWORDS)
        )
        keywords[word] = by_name(rng, word)
    if rng.random() < 0.01:
        keywords[rng.choice(values.WORDS)] = 1
    if name.endswith("print"):
        keywords["file"] = rng.choice([io.StringIO(), values.hostile(rng)])
    return name, function, tuple(related(rng, arguments)), keywords


def operator_call(rng: random.Random) -> Call:
    function = rng.choice(OPERATORS)
    a, b = values.array(rng), values.value(rng)
    if rng.random() < 0.2:
        a, b = b, a
    return "operator." + function.__name__, function, tuple(related(rng, [a, b])), {}


def setitem(a: Any, key: Any, value: Any) -> Any:
    a[key] = value
    return a


def buffer(a: Any) -> Any:
    view = memoryview(a)
    return bytes(view), view.format, view.shape, view.strides


def change_class(a: Any, cls: Any) -> Any:
    try:
        a.__class__ = cls
    finally:
        assert isinstance(a, dr.ArrayBase)
    return a


def iterate(a: Any, n: int) -> Any:
    out = []
    for item in a:
        out.append(item)
        if n % 3 == 0:
            Context.arguments = (a,)
            values.tamper()
        if len(out) > 50:
            break
    return out


def derive(*bases: Any) -> Any:
    cls = type("Derived", bases, {})
    return cls(1)


def numpy_call(name: str, *arguments: Any) -> Any:
    return getattr(np, name)(*arguments)


def unpickle(a: Any, protocol: int) -> Any:
    return pickle.loads(pickle.dumps(a, protocol))


def hold_buffer(a: Any, value: Any) -> Any:
    """An array changed while its memory is exported."""
    view = memoryview(a)
    try:
        a += value
        a.__init__(*range(20))
    finally:
        text = bytes(view)
    del a
    return text, bytes(view)


def member_call(rng: random.Random) -> Call:
    a = values.array(rng)
    kind = rng.randrange(22)
    if kind <= 3:
        return "getitem", operator.getitem, (a, values.index(rng)), {}
    if kind <= 6:
        return "setitem", setitem, (a, values.index(rng), values.value(rng)), {}
    if kind == 7:
        return "delitem", operator.delitem, (a, values.index(rng)), {}
    if kind <= 12:
        names = [n for n in dir(a) if n not in ("torch", "tf", "jax")] or ["x"]
        name = rng.choice(names)
        if rng.random() < 0.1:
            name = "".join(rng.choice("xyzwT") for _ in range(rng.randint(1, 5)))
        count = rng.choice([0, 0, 1, 1, 1, 2, 3])
        arguments = [values.value(rng) for _ in range(count)]
        if name in ("__setattr__", "__delattr__", "__getattribute__") and arguments:
            arguments[0] = rng.choice(names)
        keywords = {}
        if rng.random() < 0.1:
            keywords[rng.choice(KEYWORDS)] = values.value(rng)

        def member(a: Any, *arguments: Any, **keywords: Any) -> Any:
            found = getattr(rng2.choice([a, a, a, type(a)]), name)
            if callable(found) and name != "__class__":
                return found(*arguments, **keywords)
            return found

        rng2 = random.Random(rng.random())
        return "member." + name, member, (a, *arguments), keywords
    if kind == 13:
        names = dir(a) or ["x"]
        name = rng.choice(names + ["xy", "new"])
        if rng.random() < 0.2:
            return "delattr." + name, delattr, (a, name), {}
        return "setattr." + name, setattr, (a, name, values.value(rng)), {}
    if kind == 14:
        cls = values.type_(rng)
        cls = (
            cls if isinstance(cls, type) and issubclass(cls, dr.ArrayBase) else type(a)
        )
        count = rng.choice([0, 1, 1, 1, 2, 3, 4, 9])
        arguments = [values.value(rng) for _ in range(count)]
        keywords = {rng.choice(KEYWORDS): 1} if rng.random() < 0.1 else {}
        return "construct." + cls.__name__, cls, tuple(arguments), keywords
    if kind == 15:
        return "buffer", buffer, (a,), {}
    if kind == 16:
        return "class", change_class, (a, values.type_(rng)), {}
    if kind == 17:
        return "iterate", iterate, (a, rng.randrange(9)), {}
    if kind == 18 and values.USE_NUMPY:
        names = [
            "array",
            "asarray",
            "add",
            "multiply",
            "sum",
            "concatenate",
            "from_dlpack",
            "sin",
            "matmul",
            "where",
            "stack",
            "array_equal",
            "full_like",
        ]
        arguments = [a, *([values.value(rng)] if rng.random() < 0.6 else [])]
        name = rng.choice(names)
        return "numpy." + name, numpy_call, (name, *arguments), {}
    if kind == 19:
        return rng.choice(
            [
                ("pickle", unpickle, (a, rng.randint(0, 5)), {}),
                ("copy", copy.copy, (a,), {}),
                ("deepcopy", copy.deepcopy, (a,), {}),
                ("hold_buffer", hold_buffer, (a, values.value(rng)), {}),
                ("hash", hash, (a,), {}),
                ("float", float, (a,), {}),
                ("int", int, (a,), {}),
                ("complex", complex, (a,), {}),
                ("round", round, (a,), {}),
                ("list", list, (a,), {}),
                ("format", format, (a, rng.choice(values.WORDS)), {}),
                ("reversed", lambda x: list(reversed(x)), (a,), {}),
                ("range", range, (a,), {}),
                ("sizeof", sys.getsizeof, (a,), {}),
                ("isinstance", isinstance, (a, values.value(rng)), {}),
            ]
        )
    if kind == 20:
        bases = [rng.choice(values.ALL_TYPES) for _ in range(rng.randint(1, 3))]
        if rng.random() < 0.3:
            bases.append(rng.choice([int, list, object, dict, dr.ArrayBase, type]))
        return "derive", derive, tuple(bases), {}
    cls = type(a)
    return (
        "new",
        cls.__new__,
        (values.type_(rng), *([a] if rng.random() < 0.3 else [])),
        {},
    )


def make_call(rng: random.Random) -> Call:
    kind = rng.random()
    if kind < 0.3:
        return function_call(rng)
    if kind < 0.6:
        return fitting_call(rng)
    return operator_call(rng) if kind < 0.72 else member_call(rng)


# ------------------------------------------------------------------ judging


def describe(call: Call, index: int, seed: str) -> str:
    def text(value: Any) -> str:
        cls = type(value)
        place = "llvm." if "llvm" in cls.__module__ else ""
        if isinstance(value, (int, float, str, bytes, slice, type(None), enum_type)):
            return repr(value)[:80]
        if isinstance(value, type):
            return f"<class {value.__name__}>"
        return f"{place}{cls.__name__}"

    name, _, arguments, keywords = call
    parts = [text(a) for a in arguments]
    parts += [f"{k!r:.40}={text(v)}" for k, v in keywords.items()]
    return f"--seed {seed} --first {index} --calls 1 -v    {name}({', '.join(parts)})"


enum_type = type(dr.ReduceOp)
FOREIGN_TEXTS = """
    drjit; hook; numpy; unsupported operand; object is not; has no attribute
    concatenated; not supported between; argument must; must be type; takes; missing
    expected; cannot be; cannot pickle; has no len; can't delete; not writable
    __class__; unexpected keyword; positional-only; multiple values; by name
    multiple bases; metaclass; consistent method; bad operand type; unhashable
    must be str; object does not support; is not a type; not an acceptable base
    doesn't support; required; readonly; read-only; too large; has no setter
    duplicate base; recursion; isinstance; issubclass; descriptor; object.__
    do not match; inhomogeneous; dlpack; negative dimensions; got an unexpected
    is not in; must be real number; should return; not iterable; bytes-like
    surrogates; too many; Unable to allocate; object arrays; need at least one
    is not reversible; returned non; not a sequence; broadcast; unsupported format
    unpack; Array conversion; too big; only 0; only size; setting an array
    slice step; slice indices; invalid keyword; ArrayType; index-sized; x not in
    could not convert; Invalid format; type 'type'; unbound method; __new__
    subtype of; as a data type; ReduceOp; tolerance; cannot assign to field
    can't multiply sequence; only integer scalar; truth value; either both
    Field elements; 3rd argument; division; state of such an array; format string
    Can't pickle; Unknown format; surrogates; zero-dimensional; to be an array
    bit_count; is not callable; an array is not a number
"""
# What Python itself (or NumPy) says, before the package is asked or when it declines.
FOREIGN = re.compile(
    "|".join(
        re.escape(text.strip())
        for line in FOREIGN_TEXTS.strip().splitlines()
        for text in line.split(";")
    )
)


class Judge:
    """Collects findings, one of each kind."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.first: dict[str, str] = {}
        self.outcomes: Counter[str] = Counter()

    def add(self, kind: str, where: str) -> None:
        self.kinds[kind] += 1
        self.first.setdefault(kind, where)

    def error(self, error: BaseException, where: str, numpy: bool) -> None:
        self.outcomes[type(error).__name__] += 1
        name = where.split("-v    ")[1].split("(")[0]
        try:
            text = str(error)
        except Exception:
            text = "(no text)"
        text = re.sub(r"\d+|0x[0-9a-f]+", "N", text)[:150]
        if isinstance(error, SystemError) or not isinstance(error, EXPECTED):
            if not isinstance(error, (np.exceptions.AxisError, copy.Error)) and not (
                numpy and "NoLoop" in type(error).__name__
            ):
                self.add(f"{type(error).__name__} from {name}: {text}", where)
        elif not (numpy or FOREIGN.search(text)) and not isinstance(
            error, (HookError, MemoryError, RecursionError, StopIteration, KeyError)
        ):
            self.add(
                f"text without origin: {type(error).__name__} {name}: {text}", where
            )

    def report(self) -> int:
        for kind, count in sorted(self.kinds.items()):
            sys.stdout.write(f"{count:5}  {kind}\n       {self.first[kind]}\n")
        outcomes = ", ".join(f"{k} {n}" for k, n in self.outcomes.most_common())
        sys.stdout.write(f"{len(self.kinds)} kinds of findings; {outcomes}\n")
        return 1 if self.kinds else 0


def use(result: Any) -> None:
    """Results have to work, too."""
    if isinstance(result, (list, tuple)):
        for item in result[:5]:
            if isinstance(item, dr.ArrayBase):
                use(item)
    elif isinstance(result, dict):
        use(list(result.values()))
    elif isinstance(result, dr.ArrayBase):
        repr(result)
        dr.eval(result)
        copy.copy(result)
        if dr.is_tensor_v(result):
            _ = result.array
        elif len(result):
            _ = result[0]


def note(log: int, text: str) -> None:
    data = text.encode("utf-8", "replace") + b"\n"
    os.pwrite(log, data.ljust(400), 0)


def run(arguments: argparse.Namespace, judge: Judge) -> None:
    flags = [(flag, dr.flag(flag)) for flag in dr.JitFlag]
    log = os.open(arguments.log, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
    sink = open(os.devnull, "w")
    for i in range(arguments.first, arguments.first + arguments.calls):
        rng = random.Random(f"{arguments.seed}:{i}")
        note(log, f"{arguments.seed}:{i} preparing")
        faulthandler.dump_traceback_later(arguments.patience, exit=True)
        sys.stdout = sink
        where = f"--seed {arguments.seed} --first {i} --calls 1 -v    preparing("
        name, positional = "", ()
        try:
            call = make_call(rng)
            if arguments.only and arguments.only not in call[0]:
                continue
            where = describe(call, i, arguments.seed)
            note(log, where)
            name, function, positional, keywords = call
            Context.arguments = positional
            result = function(*positional, **keywords)
            if arguments.verbose:
                sys.stderr.write(f"{where}\n -> {type(result)}\n")
            use(result)
            for a in positional:
                use(a)
            judge.outcomes["result"] += 1
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:
            foreign = (np.ndarray, np.generic)  # may answer themselves
            numpy = any(issubclass(type(a), foreign) for a in positional)
            ours = any(issubclass(type(a), dr.ArrayBase) for a in positional)
            ours = ours or name in FUNCTIONS or name.startswith("construct")
            judge.error(error, where, numpy or "numpy." in where or not ours)
            if arguments.verbose:
                sys.stderr.write(f"{where}\n")
                traceback.print_exception(error)
        finally:
            sys.stdout = sys.__stdout__
            Context.arguments = positional = ()
            call = result = keywords = function = None  # type: ignore
            try:
                for flag, on in flags:
                    if dr.flag(flag) != on:
                        dr.set_flag(flag, on)
            except Exception:
                pass
        if rng.random() < 0.05:
            gc.collect()
    faulthandler.cancel_dump_traceback_later()
    note(log, "")


def address_space() -> int:
    """Bytes that are reserved by now: with the address sanitizer, many TiB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--only", help="calls with this in their name")
    parser.add_argument("--log", default=os.devnull, help="file for the call under way")
    parser.add_argument(
        "--memory", type=int, default=4, help="GiB of further address space; 0: any"
    )
    parser.add_argument(
        "--leave-out", default="", help="names of functions, separated by commas"
    )
    parser.add_argument("--patience", type=int, default=60, help="seconds for a call")
    parser.add_argument("-v", "--verbose", action="store_true")
    arguments = parser.parse_args()
    if arguments.memory:
        limit = address_space() + (arguments.memory << 30)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    faulthandler.enable()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    dr.set_log_level(dr.LogLevel.Disable)
    for name in arguments.leave_out.split(","):
        FUNCTIONS.pop(name, None)
    judge = Judge()
    run(arguments, judge)
    return judge.report()


if __name__ == "__main__":
    sys.exit(main())
