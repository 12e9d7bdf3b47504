"""How stateful programs are run and compared.

A program is a script that calls ``freeze`` on functions, and makes its calls by
``call(lambda: f(x))``. It runs in several worlds, modules in which ``freeze`` means
different things, and all that can be observed after each call is compared: the result
or exception, and everything that the globals of the script lead to, with types, order,
bits, derivatives, and which objects are the same.

``python state_worlds.py FILE ...`` does that for scripts in files.
"""

from __future__ import annotations

import collections
import contextlib
import contextvars
import functools
import inspect
import itertools
import linecache
import os
import random
import sys
import tempfile
import threading
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import drjit as dr
import numpy as np
from state_exports import Exports

WAYS = ("frozen", "kept")

# Is it compared which arrays are the same object?
IDENTITY = "identity" not in os.environ.get("STATE_WITHOUT", "").split(",")

# Attributes of functions that programs use; frozen functions have others.
FUNCTION_ATTRIBUTES = ("calls", "k", "last", "table")

_OWN = ("freeze", "call")  # what a world gives its module
_KEYS = (bool, int, float, str, bytes, tuple, type(None))
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))
_numbers = itertools.count()


# ---------------------------------------------------------------- what is observed


class View:
    """Lines of text by path, which say all of some objects, each of them once."""

    def __init__(self) -> None:
        self.lines: dict[str, str] = {}
        self._places: dict[int, str] = {}
        self._held: list[Any] = []  # what has a number must not go

    def see(self, path: str, value: Any) -> None:
        kind = type(value)
        if kind in _PLAIN or isinstance(value, (np.generic, types.BuiltinFunctionType)):
            self.lines[path] = f"{kind.__name__} {_text(value)}"
            return
        if kind in (tuple, frozenset) or isinstance(value, dr.ArrayBase):
            self._see_value(path, value)
            return
        if self._known(path, value):
            return
        for cls in kind.__mro__:
            if cls in _SEERS:
                _SEERS[cls](self, path, value)
                return
        raise TypeError(f"state_worlds: a {kind} at {path} cannot be observed")

    def _known(self, path: str, value: Any) -> bool:
        """Was this object seen elsewhere?"""
        place = self._places.setdefault(id(value), path)
        self._held.append(value)
        if place == path or (not IDENTITY and isinstance(value, dr.ArrayBase)):
            return False
        self.lines[path] = f"the same as {place}"
        return True

    def _see_value(self, path: str, value: Any) -> None:
        if isinstance(value, dr.ArrayBase):
            if not self._known(path, value):
                self._see_array(path, value)
            return
        self.lines[path] = f"{type(value).__name__} of {len(value)}"
        self.entries(path, value)

    def _see_array(self, path: str, array: Any) -> None:
        kind = f"{type(array).__module__}.{type(array).__qualname__}"
        try:
            text = f"{dr.shape(array)} {_bits(array)}"
            if dr.is_diff_v(array) and dr.grad_enabled(array):
                gradient = _bits(dr.grad(array)).replace("-0x0.0p+0", "0x0.0p+0")
                text += f", tracked, gradient {gradient}"
        except Exception as error:
            text = f"that cannot be read: {error}"
        self.lines[path] = f"{kind} {text}"

    def entries(self, path: str, values: Any) -> None:
        for k, value in enumerate(values):
            self.see(f"{path}[{k}]", value)

    def items(self, path: str, mapping: Any) -> None:
        keys = list(mapping)
        names = [
            repr(key) if type(key) in _KEYS else f"<{k}>" for k, key in enumerate(keys)
        ]
        self.lines[path] += f", keys [{', '.join(names)}]"
        for key, name in zip(keys, names, strict=True):
            if type(key) not in _KEYS:
                self.see(f"{path}{name}", key)
            self.see(f"{path}[{name}]", dict.__getitem__(mapping, key))

    def members(self, path: str, mapping: Any) -> None:
        """Attributes, of which no one knows an order."""
        for key in sorted(mapping):
            if not (key.startswith("__") and key.endswith("__")):
                self.see(f"{path}.{key}", mapping[key])


def _text(value: Any) -> str:
    return value.hex() if type(value) is float else repr(value)


def _bits(array: Any) -> str:
    """The content, read such that a literal stays one."""
    flat = array.array if dr.is_tensor_v(array) else array
    if dr.depth_v(flat) > 1:
        return ", ".join(_bits(flat[k]) for k in range(len(flat)))
    if dr.is_jit_v(flat) and flat.state == dr.VarState.Literal:
        return " ".join([_text(flat[0])] * len(flat))
    return " ".join(map(_text, flat.numpy().tolist()))  # all NaN are the same


def _see_list(view: View, path: str, value: Any) -> None:
    view.lines[path] = f"{type(value).__name__} of {len(value)}"
    if isinstance(value, collections.deque):
        view.lines[path] += f", at most {value.maxlen}"
    view.entries(path, value)
    _see_attributes(view, path, value)


def _see_dict(view: View, path: str, value: Any) -> None:
    view.lines[path] = type(value).__name__
    if isinstance(value, collections.defaultdict):
        view.lines[path] += f" with {getattr(value.default_factory, '__name__', None)}"
    view.items(path, value)
    _see_attributes(view, path, value)


def _see_buffer(view: View, path: str, value: Any) -> None:
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        view.lines[path] = f"objects {value.shape}"
        view.entries(path, value.ravel())
    elif isinstance(value, np.ndarray):
        view.lines[path] = f"{value.dtype} {value.shape} {value.tolist()}"
    else:
        view.lines[path] = f"{type(value).__name__} {bytes(value).hex()}"


def _see_function(view: View, path: str, value: Any) -> None:
    view.lines[path] = f"function {value.__qualname__}"
    view.see(f"{path}.__defaults__", value.__defaults__)
    view.see(f"{path}.__kwdefaults__", value.__kwdefaults__)
    _see_function_attributes(view, path, value)
    names = value.__code__.co_freevars
    for name, cell in zip(names, value.__closure__ or (), strict=True):
        try:
            content = cell.cell_contents
        except ValueError:
            view.lines[f"{path}.{name}"] = "empty"
        else:
            view.see(f"{path}.{name}", content)


def _see_function_attributes(view: View, path: str, value: Any) -> None:
    attributes = vars(value)
    view.members(
        path, {key: attributes[key] for key in FUNCTION_ATTRIBUTES if key in attributes}
    )


def _see_wrapped(view: View, path: str, value: Any) -> None:
    """A frozen function, or what stands for one."""
    view.lines[path] = "a frozen function"
    if value.__wrapped__ is not None:
        _see_function_attributes(view, path, value)
        view.see(f"{path}.__wrapped__", value.__wrapped__)


def _see_class(view: View, path: str, value: Any) -> None:
    view.lines[path] = f"class {value.__qualname__}"
    if value.__module__ in ("builtins", "collections", "random") or issubclass(
        value, dr.ArrayBase
    ):
        return
    ignored = (types.MemberDescriptorType, types.GetSetDescriptorType)
    view.members(
        path, {k: v for k, v in vars(value).items() if not isinstance(v, ignored)}
    )


def _see_module(view: View, path: str, value: Any) -> None:
    view.lines[path] = f"module {value.__name__}"
    if value.__name__ not in sys.modules:
        view.members(path, vars(value))


def _see_method(view: View, path: str, value: Any) -> None:
    view.lines[path] = "method"
    view.see(f"{path}.__func__", value.__func__)
    view.see(f"{path}.__self__", getattr(value, "__self__", None))


def _see_property(view: View, path: str, value: Any) -> None:
    view.lines[path] = type(value).__name__
    function = value.fget if isinstance(value, property) else value.func
    view.see(f"{path}.fget", function)


def _see_partial(view: View, path: str, value: Any) -> None:
    view.lines[path] = "partial"
    view.see(f"{path}.func", value.func)
    view.see(f"{path}.args", value.args)
    view.see(f"{path}.keywords", value.keywords)


def _see_cached(view: View, path: str, value: Any) -> None:
    info = value.cache_info()
    view.lines[path] = f"cached, {info.misses} misses, {info.currsize} entries"
    view.see(f"{path}.__wrapped__", value.__wrapped__)


def _see_error(view: View, path: str, value: Any) -> None:
    view.lines[path] = f"{type(value).__qualname__}: {value}"
    view.see(f"{path}.args", value.args)
    for name in ("__cause__", "__context__"):
        view.see(f"{path}.{name}", getattr(value, name))
    _see_attributes(view, path, value)


def _see_generator(view: View, path: str, value: Any) -> None:
    # Its variables are seen by what it yields: looking at the frame would keep them.
    view.lines[path] = f"generator, {inspect.getgeneratorstate(value)}"


def _see_iterator(view: View, path: str, value: Any) -> None:
    view.lines[path] = f"{type(value).__name__}, {value.__length_hint__()}"


def _see_mapping(view: View, path: str, value: Any) -> None:
    """A view or proxy of a dictionary."""
    view.lines[path] = type(value).__name__
    view.entries(path, value)


def _see_weak(view: View, path: str, value: Any) -> None:
    view.lines[path] = "weak reference"
    view.see(f"{path}()", value())


def _see_count(view: View, path: str, value: Any) -> None:
    view.lines[path] = repr(value)


def _see_random(view: View, path: str, value: Any) -> None:
    state = value.getstate() if isinstance(value, random.Random) else ()
    view.lines[path] = f"{type(value).__name__} {hash(state)}"


def _see_rng(view: View, path: str, value: Any) -> None:
    """What it gives next: its counter may be a number or an array."""
    given = value.clone().integers(dr.llvm.UInt, 3, 1 << 20)
    view.lines[path] = f"{type(value).__name__}, next {_bits(given)}"


def _see_attributes(view: View, path: str, value: Any) -> None:
    members = dict(getattr(value, "__dict__", {}))
    for cls in type(value).__mro__:
        slots = vars(cls).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name) and name not in ("__dict__", "__weakref__"):
                members[name] = getattr(value, name)
    view.members(path, members)


def _see_object(view: View, path: str, value: Any) -> None:
    view.lines[path] = f"{type(value).__module__}.{type(value).__qualname__}"
    _see_attributes(view, path, value)
    if type(value).__module__.startswith("world"):
        view.see(f"{path}.__class__", type(value))


def _see_identity(view: View, path: str, value: Any) -> None:
    view.lines[path] = type(value).__name__


_local = threading.local()  # 'inside': this thread is in a function that was frozen


class _Frozen:
    """What stands for a frozen function: one called within ``dr.isolate_grad()``, or,
    if another one calls it, as it is."""

    def __init__(self, function: Any) -> None:
        functools.update_wrapper(self, function)
        self.__wrapped__ = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if getattr(_local, "inside", False):
            return self.__wrapped__(*args, **kwargs)
        _local.inside = True
        try:
            with dr.isolate_grad():
                return self.__wrapped__(*args, **kwargs)
        finally:
            _local.inside = False

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)


class _Kept(_Frozen):
    """A frozen function that is saved and loaded after each call."""

    def __init__(self, function: Any, options: dict[str, Any], path: str) -> None:
        super().__init__(function)
        self._options = options
        self._path = path
        self.frozen = dr.freeze(function, **options)
        self.loaded = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self.frozen(*args, **kwargs)
        try:
            self.frozen.save(self._path)
        except (TypeError, RuntimeError):  # there is none, or one of this process
            return result
        options = {k: v for k, v in self._options.items() if k != "enabled"}
        self.frozen = dr.load_frozen(self._path, self.__wrapped__, **options)
        self.loaded += 1
        return result


_SEERS: dict[type, Callable[[View, str, Any], None]] = {
    list: _see_list,
    collections.deque: _see_list,
    tuple: _see_list,
    set: _see_list,
    frozenset: _see_list,
    dict: _see_dict,
    bytearray: _see_buffer,
    np.ndarray: _see_buffer,
    types.FunctionType: _see_function,
    type(dr.freeze(lambda: None)): _see_wrapped,
    _Frozen: _see_wrapped,
    type: _see_class,
    types.ModuleType: _see_module,
    types.MethodType: _see_method,
    staticmethod: _see_method,
    classmethod: _see_method,
    property: _see_property,
    functools.cached_property: _see_property,
    functools.partial: _see_partial,
    type(functools.lru_cache(lambda: None)): _see_cached,
    BaseException: _see_error,
    types.GeneratorType: _see_generator,
    type(iter([])): _see_iterator,
    itertools.count: _see_count,
    types.MappingProxyType: _see_mapping,
    type({}.values()): _see_mapping,
    weakref.ref: _see_weak,
    contextvars.ContextVar: _see_identity,
    weakref.WeakKeyDictionary: _see_identity,
    random.Random: _see_random,
    dr.random.Generator: _see_rng,
    threading.local: _see_attributes,
    type(threading.Lock()): _see_identity,
    object: _see_object,
}


# ---------------------------------------------------------------- worlds


class World:
    """A run of a program: what was observed after each of its calls."""

    exports: Exports | None = None  # of the way 'exported'

    def __init__(self, way: str, folder: str = "", eager: bool = True) -> None:
        self.way = way
        self.eager = eager
        self.views: list[dict[str, str]] = []
        self.functions: list[Any] = []
        self.calls = 0
        self.explains = False  # is it noted what frozen functions say after each call?
        self.explanations: list[str] = []
        self._folder = folder
        self._results: collections.deque[Any] = collections.deque(maxlen=3)
        self.module = types.ModuleType(f"world{next(_numbers)}")
        vars(self.module).update(freeze=self.freeze, call=self.call)

    def freeze(self, function: Any = None, **options: Any) -> Any:
        if function is None:
            return functools.partial(self.freeze, **options)
        if isinstance(function, (staticmethod, classmethod)):
            return type(function)(self.freeze(function.__func__, **options))
        options.setdefault("warn_after", 1000)
        made: Any
        if self.way == "plain":
            made = _Frozen(function)
        elif self.way == "kept":
            number = len(self.functions)
            made = _Kept(function, options, f"{self._folder}/{number}")
        else:
            made = dr.freeze(function, **options)
        if self.exports is not None:
            self.exports.watch(made)
        self.functions.append(made)
        return made

    def call(self, function: Callable[[], Any]) -> Any:
        """The result of a call, or None: then there was an exception."""
        self.calls += 1
        result = error = None
        try:
            result = function()
        except Exception as exception:
            error = exception
        if error is not None:
            self._results.append((type(error).__qualname__, str(error)))
        else:
            self._results.append(result)
        del error, function
        if self.explains:
            self.explanations += [frozen.explain() for frozen in self.functions]
        if self.eager:
            self.look()
        return result

    def look(self) -> None:
        view = View()
        for k, result in enumerate(reversed(self._results)):
            view.see(f"result{-k if k else ''}", result)
        for name, value in sorted(vars(self.module).items()):
            imported = isinstance(value, types.ModuleType) and name in sys.modules
            if name not in _OWN and not name.startswith("__") and not imported:
                view.see(name, value)
        self.views.append(view.lines)

    def run(self, text: str) -> None:
        module, file = self.module, f"<program {self.module.__name__}>"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        sys.modules[module.__name__] = module
        state = random.getstate()
        random.seed(1)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # gradients that are lost
                exec(compile(text, file, "exec"), vars(module))
        except Exception as error:  # of a statement between calls: it ends here
            self._results.append((type(error).__qualname__, str(error)))
        finally:
            self.look()
            random.setstate(state)
            del sys.modules[module.__name__], linecache.cache[file]

    def close(self) -> None:
        self._results.clear()
        self.functions.clear()
        vars(self.module).clear()


class Difference(Exception):
    """A program does something else when its functions are frozen."""

    def __init__(self, way: str, call: int, path: str, plain: str, found: str) -> None:
        self.way, self.call, self.path = way, call, path
        super().__init__(
            f"{way}, after call {call}: {path} is\n    {found}\nexpected\n    {plain}"
        )


class Invalid(Exception):
    """A program with a name that is not defined, or the like."""


# What no call of a program means to raise.
_FAULTS = ("NameError", "UnboundLocalError", "SyntaxError")


# Errors that programs do not have if they are not frozen: a derivative that is not
# recorded yet, of what was something else then; a size where an int has to be.
_REFUSED = ("has changed since the call", "use int(n)")


def compare(
    text: str,
    ways: tuple[str, ...] = ("frozen",),
    eager: bool = True,
    exports: Exports | None = None,
) -> dict[str, int]:
    """Run a program in all ways; raises Difference. Returns what was counted.
    ``exports`` looks at recordings of the way 'exported'.

    FastMath is off: with it, ``x * 0`` has another sign where x is a literal, and
    frozen functions put literals that change into memory.
    """
    with dr.scoped_set_flag(dr.JitFlag.FastMath, False):
        return _compare(text, ways, eager, exports)


def _compare(
    text: str, ways: tuple[str, ...], eager: bool, exports: Exports | None
) -> dict[str, int]:
    plain = World("plain", eager=eager)
    counts = {"calls": 0, "repeated": 0, "loaded": 0}
    try:
        plain.run(text)
        for view in plain.views:
            error = view.get("result[0]", "")
            if any(fault in error for fault in _FAULTS):
                raise Invalid(f"{error}: {view['result[1]']}")
        for way in ways:
            with _folder(way) as folder:
                world = World(way, folder, eager)
                if way == "exported" and exports is not None:
                    exports.begin()
                    world.exports = exports
                _compare_way(text, plain, world, counts)
    finally:
        plain.close()
    return counts


def _folder(way: str) -> contextlib.AbstractContextManager[str]:
    """Where functions are saved."""
    if way == "kept":
        return tempfile.TemporaryDirectory()
    return contextlib.nullcontext("")


def _compare_way(text: str, plain: World, world: World, counts: dict[str, int]) -> None:
    try:
        world.run(text)
        for k, (a, b) in enumerate(zip(plain.views, world.views, strict=True)):
            said = [b.get(f"result{k}[1]", "") for k in ("", "-1", "-2")]
            if any(text in line for text in _REFUSED for line in said):
                break
            for path, expected, found in _differences(a, b):
                call = min(k + 1, plain.calls) if world.eager else plain.calls
                raise Difference(world.way, call, path, expected, found)
        if world.exports is not None and world.exports.failures:
            what = "what the frozen function has computed"
            raise Difference("exported", 0, "", what, world.exports.failures[0])
        counts["calls"] += world.calls
        for function in world.functions:
            if isinstance(function, _Kept):
                counts["loaded"] += function.loaded
            elif function.n_recordings:
                counts["repeated"] += max(world.calls - function.n_recordings, 0)
    finally:
        world.close()


def _differences(
    plain: dict[str, str], found: dict[str, str]
) -> Iterator[tuple[str, str, str]]:
    # Names of modules differ, and so do those of their classes.
    for path in {**plain, **found}:
        a, b = plain.get(path, "not there"), found.get(path, "not there")
        if a != b and _anonymous(a) != _anonymous(b):
            if path == "result":  # of two words, if there was an exception
                a, b = (
                    _with_entries(text, view) for text, view in ((a, plain), (b, found))
                )
            yield path, a, b


def _with_entries(text: str, view: dict[str, str]) -> str:
    entries = [view[f"result[{k}]"] for k in range(2) if f"result[{k}]" in view]
    return ": ".join([text, *entries])


def _anonymous(text: str) -> str:
    head, mark, rest = text.partition("world")
    return head + mark + rest.lstrip("0123456789") if mark else text


def check(
    text: str, ways: tuple[str, ...], eager: bool, exports: Exports | None = None
) -> Difference | None:
    """The difference that a program shows, if any."""
    try:
        compare(text, ways, eager, exports)
    except Difference as difference:
        return difference
    except Invalid:
        pass
    return None


def explanations(text: str, eager: bool) -> list[str]:
    """What the frozen functions of a program say after each call."""
    world = World("frozen", eager=eager)
    world.explains = True
    try:
        with dr.scoped_set_flag(dr.JitFlag.FastMath, False):
            world.run(text)
        return world.explanations
    finally:
        world.close()


_ALONE = """\
# Run alone, it prints what calls give, plain ('python FILE') or frozen ('python FILE
# frozen'). 'python tests/python/state_worlds.py FILE' compares the two.
if "call" not in globals():
    import functools as _functools, sys as _sys, drjit as _dr

    def freeze(function=None, **options):
        if function is None:
            return lambda f: freeze(f, **options)
        if "frozen" in _sys.argv:
            return _dr.freeze(function, **options)
        if isinstance(function, (staticmethod, classmethod)):
            return type(function)(freeze(function.__func__))

        @_functools.wraps(function)
        def plain(*args, **kwargs):
            with _dr.isolate_grad():
                return function(*args, **kwargs)

        return plain

    def call(function):
        result = None
        try:
            result = function()
            print("result:", result)
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
        print({k: v for k, v in globals().items() if k not in _before})
        return result

    _before = {*globals(), "_before"}
"""


def alone(text: str) -> str:
    """A program that runs by itself."""
    return f"{_ALONE}\n{text}"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(name, compare(Path(name).read_text(), WAYS))
