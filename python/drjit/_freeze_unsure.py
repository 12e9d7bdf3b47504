"""What functions that nobody looks into may give another time: those in C, and those of
the standard library, of NumPy and of this package."""

from __future__ import annotations

from collections import deque
from typing import Any

from drjit import _core
from drjit._freeze_reads import is_iterator

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

# Code of modules that gives other results each time, or reads what nobody sees: all of
# it, or functions of such names.
_UNSAFE_CODE: dict[str, frozenset[str]] = dict.fromkeys(
    ("random", "secrets", "uuid", "tempfile", "configparser", "subprocess", "socket")
    + ("locale", "platform", "shelve", "urllib", "glob", "queue", "multiprocessing"),
    frozenset(),
) | {
    "concurrent": frozenset({"done", "exception", "result", "running"}),
    "inspect": frozenset({"currentframe", "stack", "trace"}),
    "logging": frozenset({"getEffectiveLevel", "getLevelName", "isEnabledFor"}),
    "threading": frozenset({"active_count", "current_thread", "enumerate", "is_alive"}),
    "traceback": frozenset({"extract_stack", "format_stack"}),
    "os": frozenset({"getcwd", "walk", "popen", "listdir", "scandir", "path"}),
    "pathlib": frozenset(
        {"open", "read_text", "read_bytes", "exists", "is_file", "is_dir", "stat"}
        | {"iterdir", "glob", "cwd", "home"}
    ),
    "numpy": frozenset({"load", "loadtxt", "genfromtxt", "fromregex"}),
}


def sets(called: tuple[Any, str, str | None]) -> str | None:
    """Does a function in C set what others ask for, which no repetition would?"""
    _, name, module = called
    setting = name.startswith("set_") and name[4:] in _SETTINGS
    return f"it calls drjit.{name}()" if setting and module == "drjit" else None


def _unsure_of_code(name: str, module: str) -> str | None:
    """The same of a function in Python that does not count."""
    names = _UNSAFE_CODE.get(module.partition(".")[0])
    if names is None or (names and name.rpartition(".")[2] not in names):
        return None
    return f"it calls {module}.{name}()"


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
