"""What functions that nobody looks into may give another time: those in C, and those of
the standard library, of NumPy and of this package."""

from __future__ import annotations

import builtins
import types
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from drjit import _core
from drjit._freeze.reads import is_iterator

_SAFE_MODULES = frozenset(
    {"math", "cmath", "operator", "_operator", "_functools", "_collections", "_bisect"}
    | {"_heapq", "_struct", "itertools", "_statistics", "_abc", "_json", "_contextvars"}
)
_UNSAFE_BUILTINS = frozenset(
    {"getattr", "setattr", "hasattr", "delattr", "vars", "dir", "globals", "locals"}
    | {"eval", "exec", "__import__", "input", "open", "id", "next", "anext"}
)

# Functions of this package that tell what others may set, but for flags.
_SETTINGS = frozenset(
    {"expand_threshold", "kernel_history", "log_level", "thread_count"}
)

# Modules with code in Python that gives the same each time.
_PURE = frozenset(
    "abc argparse ast asyncio base64 bisect calendar codecs collections colorsys "
    "contextlib copy copyreg dataclasses datetime difflib drjit encodings enum fnmatch "
    "fractions functools graphlib hashlib heapq html json keyword numbers operator "
    "pprint re reprlib statistics struct textwrap token tokenize types typing unittest "
    "warnings weakref _collections_abc _py_abc _pydatetime _weakrefset".split()
)

# Others of which functions of such names do not, or read what nobody sees. The rest of
# the standard library is not known.
_UNSAFE_CODE: dict[str, frozenset[str]] = {
    "concurrent": frozenset({"done", "exception", "map", "result", "running"}),
    "inspect": frozenset({"currentframe", "getattr_static", "stack", "trace"}),
    "logging": frozenset({"getEffectiveLevel", "getLevelName", "isEnabledFor"}),
    "threading": frozenset(
        {"active_count", "current_thread", "enumerate", "is_alive", "start"}
    ),
    "traceback": frozenset({"extract_stack", "format_stack"}),
    "os": frozenset({"getcwd", "walk", "popen", "listdir", "scandir", "path"}),
    "pathlib": frozenset(
        {"open", "read_text", "read_bytes", "exists", "is_file", "is_dir", "stat"}
        | {"iterdir", "glob", "cwd", "home", "resolve", "absolute", "expanduser"}
    ),
    "posixpath": frozenset({"abspath", "expanduser", "expandvars", "realpath"}),
    "string": frozenset({"format", "vformat"}),
    "numpy": frozenset(
        {"load", "loadtxt", "genfromtxt", "fromregex", "get_printoptions"}
        | {"geterr", "geterrcall", "getbufsize"}
        | {"array2string", "_array_str_implementation", "_array_repr_implementation"}
    ),
}

# Names of what finds something by a name that may be computed: no call of these is
# seen, as they are classes, methods of such, or attributes.
_FINDERS = frozenset(
    {"attrgetter", "__dict__", "__globals__"}
    | {"__getattribute__", "__setattr__", "__delattr__"}
)

# Names of what calls functions in C for code, which is not seen, either.
_CALLERS = frozenset(
    {"accumulate", "defaultdict", "dropwhile", "filter", "filterfalse", "groupby"}
    | {"iter", "map", "partial", "reduce", "starmap", "submit", "takewhile"}
)


def sets(called: tuple[Any, str, str | None]) -> str | None:
    """Does a function in C set what others ask for, which no repetition would?"""
    _, name, module = called
    setting = name.startswith("set_") and name[4:] in _SETTINGS
    return f"it calls drjit.{name}()" if setting and module == "drjit" else None


def _unsure_of_code(name: str, module: str) -> str | None:
    """The same of a function in Python that does not count."""
    top = module.partition(".")[0]
    names = _UNSAFE_CODE.get(top)
    if module == "importlib._bootstrap":
        safe = True  # an import: the next time, the module is there
    elif names is None:
        safe = top in _PURE or top.startswith("namedtuple_")
    else:
        safe = name not in names
    return None if safe else f"it calls {module}.{name}()"


def unsure_of_names(
    ran: Iterable[tuple[types.CodeType, dict[str, Any]]],
) -> Iterator[str]:
    """The same of code that has run, by what it names."""
    for code, space in ran:
        names = frozenset(code.co_names)
        for name in sorted(names & _FINDERS):
            yield f"its code names {name}"
        if names & _CALLERS:
            for name in sorted(names):
                value = space.get(name, getattr(builtins, name, None))
                if isinstance(value, types.BuiltinFunctionType):
                    reason = unsure_of((None, value.__name__, value.__module__))
                    if reason:
                        yield reason


def unsure_of(called: tuple[Any, str, str | None]) -> str | None:
    """Why a function in C may give another result the next time; None: it does not.
    ``called``: the class that it belongs to, its name, and that of its module; False
    instead of the class: it is in Python, and nobody looks into it."""
    owner, name, module = called
    if owner is False:
        return _unsure_of_code(name, str(module))
    if owner is None:
        module = str(module)
        if module == "builtins":
            safe = name not in _UNSAFE_BUILTINS
        else:
            top = module.partition(".")[0]
            safe = top in ("drjit", "numpy") or module in _SAFE_MODULES
            safe = safe and not (top == "drjit" and name in _SETTINGS)
            safe = safe and not module.startswith("numpy.random")
        return None if safe else f"it calls {module}.{name}()"
    module = str(owner.__module__)
    top = module.partition(".")[0]
    safe = top in ("builtins", "drjit", "collections", "numpy", "functools", "enum")
    safe = safe or issubclass(owner, (_core.ArrayBase, dict, list, deque, set))
    if not safe or module.startswith("numpy.random"):
        return f"it calls {name}() of a {module}.{owner.__name__}"
    return f"it calls {name}() of an iterator" if is_iterator(owner) else None
