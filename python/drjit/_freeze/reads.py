"""What a function reads besides its arguments: known paths.

A path begins at the function, at its arguments or at what ``state_fn`` returns. It goes
through globals and cells, attributes of modules, classes and objects, and entries of
containers. Names are those in code that ran while the function was recorded, and in
code that it refers to: whatever has one of these names may be read. Nothing looks at
instructions.

A look along all known paths is a :class:`Walk`. It gives rows for ``_core._Reads``
(``src/python/freeze/reads.h``), by which each call finds out whether the same stands
there, and which arrays.
"""

from __future__ import annotations

import abc
import functools
import gc
import operator
import os
import sys
import threading
import types
import weakref
from collections import OrderedDict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from drjit import _core
from drjit._freeze.names import Names, is_installed, is_quiet, is_quiet_module

# Values that do not change, of which nothing more is to be known.
_ATOMS = frozenset(
    {bool, int, float, complex, str, bytes, range, slice, type(None), type(...)}
    | {type(NotImplemented)}
)

_SEQUENCES = (list, tuple, dict)

# What iterators have, coroutines and asynchronous generators.
_ADVANCES = ("__next__", "__await__", "__anext__")

# Modules with classes that hold a state which nobody sees.
_STORES = frozenset(
    {"queue", "_queue", "random", "_random", "configparser", "weakref", "_weakrefset"}
    | {"decimal", "_ctypes"}
)
_STATES = (threading.Event, threading.Semaphore, threading.Barrier)

# Mappings, and the object behind each that has the entries.
_VIEWS: tuple[type, ...] = (
    types.MappingProxyType,
    type({}.keys()),
    type({}.values()),
    type({}.items()),
)

# Code with one of these names may read all that an object has.
_READS_ALL = frozenset({"__dict__", "__getattribute__", "vars", "dir", "getmembers"})

# Attributes of classes that say nothing unless code names them.
_SILENT = frozenset(
    {"__dict__", "__weakref__", "__module__", "__doc__", "__qualname__", "__slots__"}
    | {"__annotations__", "__annotate__", "__annotate_func__", "__firstlineno__"}
    | {"__static_attributes__", "__annotations_cache__"}
)

# Attributes of classes and functions that are in no dictionary.
_OWN_NAMES = frozenset({"__doc__", "__name__", "__qualname__"})
_OF_FUNCTIONS = _OWN_NAMES | {"__annotations__", "__module__"}

# Code with one of these names may read what a class has of its bases.
_BASES = frozenset({"super", "__base__", "__bases__", "__mro__", "mro"})

# What modules of the standard library hold that programs change.
_DATA = frozenset({list, dict, type(os.environ)})

# Methods that are called by no name: classes may get them.
_OPERATORS = (
    "add and divmod floordiv lshift matmul mod mul or pow rshift sub truediv xor"
)
_SPECIAL = frozenset(
    f"__{name}__"
    for name in (
        *(side + name for name in _OPERATORS.split() for side in ("", "r", "i")),
        *"abs aenter aexit aiter anext await bool bytes call ceil complex".split(),
        *"class_getitem contains copy deepcopy del delattr delete delitem".split(),
        *"dir enter eq exit float floor format fspath ge get getattr".split(),
        *"getattribute getitem gt hash index init_subclass instancecheck".split(),
        *"int invert iter le len length_hint lt missing mro_entries ne neg".split(),
        *"next pos prepare reduce reduce_ex repr reversed round set array".split(),
        *"array_function array_interface array_priority array_ufunc dlpack".split(),
        *"set_name setattr setitem str subclasscheck subclasshook trunc".split(),
    )
)

# The same, but those of most classes are not called.
_CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__"})
_CALLED = _SPECIAL | _CONSTRUCTORS
_OF_EACH = _SILENT | _CALLED

_METHODS = (types.FunctionType, property, staticmethod, classmethod)
_PLAIN_MEMBERS = (*_METHODS, int, float, str, bytes, type(None))

_NOTHING = object()
_BUILTINS = frozenset(dir(sys.modules["builtins"]))


class Found(NamedTuple):
    """What a walk has found."""

    rows: list[tuple[int, bool, Any, Any, Any]]
    labels: list[str]  # of the rows, for people
    inputs: list[Any]  # arrays, and what may contain them, in the order of the rows
    values: tuple[Any, ...]  # all else that recordings are chosen by
    unsure: list[str]  # what cannot be looked into
    objects: tuple[Any, ...] | None  # of the inputs, if rows are about these

    def reads(self) -> Any:
        """What finds out whether the same stands there."""
        if self.objects is None:
            return _core._Reads(self.rows)
        return _core._Reads(self.rows, self.objects)


def walk(names: Names, roots: Iterable[tuple[str, Any]]) -> Found:
    """Look along all known paths, until there are no more names. The first of the roots
    is the function, the others are inputs."""
    roots = list(roots)
    while True:
        before = names.version
        found = _Walk(names).run(roots)
        if names.version == before:
            return found


class _Walk:
    def __init__(self, names: Names) -> None:
        self._names = names
        self._attributes = frozenset(names.attributes)
        self._of_classes = self._attributes | _CALLED
        self._reads_all = not _READS_ALL.isdisjoint(names.attributes)
        self._found = Found([], [], [], (), [], None)
        self._is_about_inputs = False  # rows are
        self._values: list[Any] = []
        self._met: dict[int, Any] = {}  # kept alive: numbers of objects are used again

    def run(self, roots: list[tuple[str, Any]]) -> Found:
        (label, function), *inputs = roots
        self._follow_whole(function, label)
        for label, root in inputs:
            self._follow(root, label)
        for space, names in self._names.spaces():
            self._look_into_globals(space, names)
        rows = zip(self._found.rows, self._found.labels, strict=True)
        places = "\n".join(
            f"{label} {int(row[1])}"
            for row, label in rows
            if row[0] != _core._READ_ABSENT
        )
        found = self._found._replace(values=(places, *self._values))
        if not self._is_about_inputs:
            return found
        args, kwargs, state = (root for _, root in inputs)
        return found._replace(objects=_objects_in((args, kwargs, found.inputs, state)))

    # ------------------------------------------------------------------ places

    def _add(self, kind: int, space: Any, key: Any, value: Any, label: str) -> None:
        """Add a place and what stands there, and go on from it."""
        if self._is_input(value):
            self._row(kind, True, space, key, None, label)
            self._found.inputs.append(value)
            self._follow(value, label)
        else:
            self._compare(kind, space, key, value, label)
            if value is _NOTHING or _is_plain_tuple(value):
                return
            if type(value) is str and "{" in value:  # a format
                self._names.add_fields((value,))
            elif type(value) not in _SEQUENCES:
                self._follow(value, label)
            elif id(value) not in self._met:
                self._met[id(value)] = value
                self._look_into_object(value, label)

    def _compare(self, kind: int, space: Any, key: Any, value: Any, label: str) -> None:
        """The same has to stand there, wherever it leads."""
        known = ... if value is _NOTHING else _reference(value)
        self._row(kind, False, space, key, known, label)
        self._values.append(... if value is _NOTHING else _outside(value))

    def _row(
        self, kind: int, is_input: bool, space: Any, key: Any, value: Any, label: str
    ) -> None:
        self._found.rows.append((kind, is_input, _reference(space), key, value))
        self._found.labels.append(label)

    def _is_input(self, value: Any) -> bool:
        """Is it to be compared by what it contains?"""
        cls = type(value)
        if cls in _ATOMS or value is _NOTHING:
            return False
        if isinstance(value, (type, types.ModuleType)):
            return False
        if cls in _SEQUENCES:
            return not (cls is tuple and _is_plain(value)) and _is_data(value)
        return (
            isinstance(value, (_core.ArrayBase, set, frozenset))
            or _core._is_container(value)
            or (_core._has_content(value) and not isinstance(value, bytes))
        )

    # ------------------------------------------------------------------ following

    def _follow(self, value: Any, label: str) -> None:
        """Look at what a value leads to, once."""
        value = _core._lazy_target(value)
        cls = type(value)
        if cls in _ATOMS or isinstance(value, _core.ArrayBase):
            return
        if id(value) in self._met:
            return
        self._met[id(value)] = value
        if _core._is_container(value):
            self._look_into_tree(value, label)
        elif isinstance(value, types.ModuleType):
            self._look_into_module(value, label)
        elif isinstance(value, type):
            self._look_into_class(value, label)
        elif isinstance(value, types.FunctionType):
            self._look_into_function(value, label)
        else:
            self._look_into_object(value, label)

    def _follow_whole(self, value: Any, label: str) -> None:
        """Look at what a value leads to that is not part of an input."""
        if id(value) not in self._met and _core._is_container(value):
            self._met[id(value)] = value
            self._look_into_object(value, label)
        else:
            self._follow(value, label)

    def _look_into_tree(self, tree: Any, label: str) -> None:
        """Objects in it, and classes; its arrays and values are part of it."""
        leaf = 0
        paths: list[tuple[str, Any]] | None = None
        for item, keys in _core._tree_nodes("freeze", tree):
            cls = type(item)
            if keys is not None:
                self._follow_all(keys if isinstance(item, dict) else (), label)
                if cls not in _SEQUENCES and id(item) not in self._met:
                    self._met[id(item)] = item
                    self._look_at_instance(item, label, set(keys))
                elif item is tree and cls not in _SEQUENCES:
                    self._look_at_instance(item, label, set(keys))
                continue
            if not (
                cls in _ATOMS
                or isinstance(item, _core.ArrayBase)
                or _core._is_container(item)
            ):
                if paths is None:
                    paths = _core._tree_paths("freeze", tree)
                self._follow(item, label + paths[leaf][0])
            leaf += 1

    def _follow_all(self, values: Iterable[Any], label: str) -> None:
        """Those of some keys, or of the elements of a set, that lead to anything."""
        for value in values:
            if type(value) not in _ATOMS:
                self._follow_whole(value, f"a key of {label}")

    def _look_into_module(self, module: types.ModuleType, label: str) -> None:
        space = module.__dict__
        if is_quiet_module(module.__name__):
            self._look_into_quiet_module(space, label)
            return
        wanted = self._attributes | {"__getattr__"}
        for name in sorted(wanted.intersection(space)):
            self._add(_core._READ_ENTRY, space, name, space[name], f"{label}.{name}")
        self._look_for_absent(space, wanted, space, label)
        cls = type(module)
        self._row(_core._READ_MEMBER, False, module, "__class__", cls, label)
        self._follow(cls, cls.__name__)

    def _look_into_quiet_module(self, space: dict[str, Any], label: str) -> None:
        """Data in it, which anyone may change, and what gives random numbers."""
        name = space["__name__"]
        if name.partition(".")[0] == "drjit":
            return
        if name == "numpy.random" or (name == "numpy" and "random" in self._attributes):
            self._found.unsure.append("it reads numpy.random")
        if name == "decimal":
            self._found.unsure.append("it reads decimal.getcontext()")
        wanted = self._attributes
        if name == "os" and "getenv" in wanted:
            wanted |= {"environ"}
        for name in sorted(wanted.intersection(space)):
            value = space[name]
            if type(value) in _ATOMS or type(value) in _DATA:
                self._add(_core._READ_ENTRY, space, name, value, f"{label}.{name}")

    def _look_into_globals(self, space: dict[str, Any], names: set[str]) -> None:
        for name in sorted(names.intersection(space)):
            self._add(_core._READ_ENTRY, space, name, space[name], name)
        self._look_for_absent(space, names, space, "globals")
        built_in = space.get("__builtins__")
        if isinstance(built_in, types.ModuleType):
            built_in = built_in.__dict__
        if isinstance(built_in, dict):
            for name in sorted(names.difference(space, _BUILTINS)):
                if name in built_in:
                    self._add(_core._READ_ENTRY, built_in, name, built_in[name], name)
        package = space.get("__package__")
        for name in sorted(names):
            for full in (name, f"{package}.{name}") if package else (name,):
                module = sys.modules.get(full)
                if module is not None and not is_quiet_module(full):
                    self._add(_core._READ_ENTRY, sys.modules, full, module, full)

    def _look_for_absent(
        self, space: Any, names: Iterable[str], keys: Iterable[str], label: str
    ) -> None:
        """No other of these names comes to those that a dictionary or class has."""
        wanted = frozenset(names)
        if wanted:
            self._row(_core._READ_ABSENT, False, space, wanted, tuple(keys), label)

    def _look_into_class(self, cls: type, label: str) -> None:
        own = [base for base in cls.__mro__ if not is_quiet_module(base.__module__)]
        if cls.__module__ == "decimal":
            self._found.unsure.append("it reads decimal.getcontext()")
        if isinstance(cls, abc.ABCMeta):  # others may be registered with it
            self._look_at_state(abc.get_cache_token, abc.get_cache_token(), label)
        if not own:
            return
        if type(cls) is not type:
            self._follow(type(cls), type(cls).__name__)
        self._names.add_fields(getattr(cls, "__match_args__", None))
        if vars(cls).get("_is_protocol"):  # isinstance() looks for what it has
            annotated = vars(cls).get("__annotations__", ())
            self._names.add_fields((*vars(cls), *annotated))
        others = set(cls.__mro__).difference(own)
        inherited = frozenset().union(*map(_members_of, others))
        present = {
            name
            for base in own
            for name, value in vars(base).items()
            if name in self._of_classes
            or name == "__match_args__"
            or (name in inherited and isinstance(value, _PLAIN_MEMBERS))
            or (name not in _SILENT and _is_special(name, value))
            or self._has_run(value)
        }
        self._look_at_names(cls, label)
        for name in sorted(present):
            bases = [base for base in cls.__mro__ if name in vars(base)]
            if _BASES.isdisjoint(self._attributes):  # what is shadowed is not read
                bases = bases[:1]
            for base in bases:
                value = vars(base)[name]
                if (type(value) in _DESCRIPTORS and name not in _CALLED) or (
                    base not in own and base != bases[0]
                ):
                    continue
                where = f"{base.__name__}.{name}"
                if name in _CONSTRUCTORS and self._has_run(value) is False:
                    self._compare(_core._READ_CLASS, base, name, value, where)
                    self._look_at_parts(_function_of(value), where, self._compare)
                else:
                    self._add(_core._READ_CLASS, base, name, value, where)
        for base in own:
            wanted = self._of_classes | inherited
            self._look_for_absent(base, wanted, vars(base), base.__name__)
        where = f"{cls.__name__}.__mro__"
        self._row(_core._READ_MEMBER, False, cls, "__mro__", cls.__mro__, where)

    def _has_run(self, method: Any) -> bool | None:
        """Has it, perhaps called by a library that finds it by its name? None: it is
        no function."""
        function = _function_of(method)
        if not isinstance(function, types.FunctionType):
            return None
        return self._names.knows(function.__code__)

    def _look_into_function(self, function: types.FunctionType, label: str) -> None:
        if is_quiet(function.__globals__):  # a decorator's, around one of the user's
            for name, cell in _cells_of(function):
                held = _content_of(cell)
                if not self._is_quiet_value(held):
                    self._add(_core._READ_CELL, cell, None, held, name)
            self._follow(function.__dict__.get("__wrapped__"), label)
            return
        if not self._is_own(function):
            return
        self._names.add(function.__code__, function.__globals__)
        self._look_at_parts(function, label, self._add)
        if function.__dict__:
            space = function.__dict__
            for name in sorted(self._attributes.intersection(space)):
                self._add(
                    _core._READ_ENTRY, space, name, space[name], f"{label}.{name}"
                )
        space = function.__dict__
        self._look_for_absent(space, self._attributes, space, label)
        self._follow(function.__dict__.get("__wrapped__"), label)

    def _look_at_names(self, value: Any, label: str) -> None:
        """What a class or function is called, if code asks."""
        own = _OWN_NAMES if isinstance(value, type) else _OF_FUNCTIONS
        for name in sorted(self._attributes.intersection(own)):
            try:
                part = getattr(value, name)
            except NameError:  # of annotations, which are evaluated when they are read
                continue
            self._add(_core._READ_MEMBER, value, name, part, f"{label}.{name}")

    def _look_at_parts(
        self, function: types.FunctionType, label: str, add: Callable[..., None]
    ) -> None:
        for kind, part in (
            (_core._READ_CODE, "__code__"),
            (_core._READ_DEFAULTS, "__defaults__"),
            (_core._READ_KEYWORDS, "__kwdefaults__"),
        ):
            value = getattr(function, part)
            known = _NOTHING if value is None else value
            add(kind, function, None, known, f"{label}.{part}")
        for name, cell in _cells_of(function):
            add(_core._READ_CELL, cell, None, _content_of(cell), name)
        self._look_at_names(function, label)

    def _is_quiet_value(self, value: Any) -> bool:
        """Does a value say nothing about a user's program?"""
        if isinstance(value, types.FunctionType):
            return is_quiet(value.__globals__) and not value.__closure__
        followed = isinstance(value, (dict, types.MappingProxyType, types.MethodType))
        return not followed and is_quiet_module(type(value).__module__)

    def _is_own(self, function: types.FunctionType) -> bool:
        """Is it the user's, so that it is followed before it has run?"""
        if self._names.knows(function.__code__):
            return True
        return not is_installed(function.__code__)

    def _look_into_object(self, value: Any, label: str) -> None:
        parts = next((cls for cls in type(value).__mro__ if cls in _PARTS), None)
        if parts is not None:
            for name in _PARTS[parts]:
                part = getattr(value, name, None)
                self._add(_core._READ_MEMBER, value, name, part, f"{label}.{name}")
            self._look_at_fields(value, label, set())
        elif isinstance(value, types.CellType):
            self._add(_core._READ_CELL, value, None, _content_of(value), label)
        elif isinstance(value, weakref.ref):
            if value() is not None:
                self._add(_core._READ_REFERENT, value, None, value(), label)
        elif isinstance(value, _VIEWS):
            for mapping in gc.get_referents(value):
                self._follow_whole(mapping, label)
        elif isinstance(value, (set, frozenset)):
            self._follow_all(value, label)
            self._look_at_instance(value, label)
        elif isinstance(value, threading.local):
            self._look_into_local(value, label)
        elif isinstance(value, _GETTERS):
            self._look_into_getter(value, label)
        elif _has_hidden_state(value):
            self._found.unsure.append(f"'{label}' is a {_full_name(type(value))}")
            self._look_at_instance(value, label)
        elif is_iterator(type(value)):
            self._found.unsure.append(f"'{label}' is an iterator")
        elif isinstance(value, functools._lru_cache_wrapper):
            self._found.unsure.append(f"'{label}' keeps results")
            self._look_at_state(value, _cached(value), label)
            self._follow(value.__wrapped__, label)
        elif isinstance(value, BaseException):
            self._add(_core._READ_MEMBER, value, "args", value.args, f"{label}.args")
            self._look_at_instance(value, label)
        elif isinstance(value, (list, tuple, deque)) or _is_array_of_objects(value):
            entries = _entries(value)
            self._row(_core._READ_LENGTH, False, value, None, len(entries), label)
            self._values.append(len(entries))
            for k, entry in enumerate(entries):
                self._add(_core._READ_ITEM, value, k, entry, f"{label}[{k}]")
            self._look_at_instance(value, label)
        elif isinstance(value, dict):
            self._look_into_dictionary(value, label)
        else:
            self._look_at_instance(value, label)

    def _wanted(self, keys: tuple[str, ...]) -> frozenset[str]:
        """Those fields of an object that may be read."""
        return (
            frozenset(keys) if self._reads_all else self._attributes.intersection(keys)
        )

    def _look_at_state(self, value: Any, state: Any, label: str) -> None:
        """What a function in C says of what others have."""
        self._row(_core._READ_STATE, False, value, None, state, label)
        self._values.append(state)

    def _look_into_getter(self, value: Any, label: str) -> None:
        made, given, *_ = value.__reduce__()
        if isinstance(made, functools.partial):  # of a class, with more arguments
            given = *made.args, *made.keywords.values(), *given
        self._names.add_fields(given)
        self._follow_all(given, label)

    def _look_into_local(self, value: threading.local, label: str) -> None:
        """Attributes as this thread sees them."""
        space = value.__dict__
        keys = tuple(space)
        self._row(_core._READ_LOCALS, False, value, None, keys, label)
        for name in sorted(self._wanted(keys)):
            self._add(_core._READ_LOCAL, value, name, space[name], f"{label}.{name}")
        self._follow(type(value), label)

    def _look_into_dictionary(self, value: Any, label: str) -> None:
        self._follow_all(list(dict.keys(value)), label)
        keys = tuple(dict.keys(value))
        if isinstance(value, OrderedDict):  # its order is not that of the dictionary
            keys = tuple(OrderedDict.keys(value))
        self._row(_core._READ_KEYS, False, value, None, keys, label)
        self._values.append(keys)
        for key in keys:
            if type(key) is str and key == "__builtins__":
                continue
            entry = dict.__getitem__(value, key)
            self._add(_core._READ_ENTRY, value, key, entry, f"{label}[{key!r}]")
        factory = getattr(value, "default_factory", None)
        if factory is not None:
            self._add(_core._READ_MEMBER, value, "default_factory", factory, f"{label}")
        self._look_at_instance(value, label)

    def _look_at_instance(
        self, value: Any, label: str, known: set[str] | None = None
    ) -> None:
        cls = type(value)
        if cls.__module__ == "builtins":
            return
        before = len(self._found.rows)
        if known is None and not is_quiet_module(cls.__module__):
            where = f"{label}.__class__"
            self._row(_core._READ_MEMBER, False, value, "__class__", cls, where)
        self._look_at_fields(value, label, known or set())
        self._is_about_inputs |= known is not None and len(self._found.rows) != before
        self._follow(cls, cls.__name__)
        if isinstance(value, _core._FrozenFunctionBase):  # a frozen function
            self._follow_whole(value._function, label)
        else:
            self._follow_whole((_fields(value) or {}).get("__wrapped__"), label)

    def _look_at_fields(self, value: Any, label: str, known: set[str]) -> None:
        """Attributes that an object has itself, but for those that are known."""
        cls = type(value)
        quiet = is_quiet_module(cls.__module__) and not _is_holder(cls)
        if quiet and _top(cls) == "drjit":
            return
        holds_all = any(map(_holds_all, cls.__mro__))
        space = _fields(value)
        if space is not None:
            keys = tuple(space)
            if not quiet and (not known or known.symmetric_difference(keys)):
                self._row(_core._READ_FIELDS, False, value, None, keys, label)
            names = self._attributes.intersection(keys) if quiet else self._wanted(keys)
            libraries = {_top(base) for base in cls.__mro__ if _is_of_library(base)}
            if libraries:  # its own objects, too
                names |= {
                    name
                    for name, part in space.items()
                    if type(part) in _ATOMS or _top(type(part)) in libraries
                }
            names = frozenset(keys) if holds_all else names
            for name in sorted(names - known):
                self._add(
                    _core._READ_FIELD, value, name, space[name], f"{label}.{name}"
                )
        for base in cls.__mro__:
            for name, member in vars(base).items():
                if type(member) is types.MemberDescriptorType and (
                    (holds_all or name in self._attributes) and name not in known
                ):
                    part = _member(member, value)
                    self._add(_core._READ_MEMBER, value, name, part, f"{label}.{name}")


# Objects of the interpreter's, and the attributes in which they hold others.
_PARTS: dict[type, tuple[str, ...]] = {
    types.MethodType: ("__self__", "__func__"),
    functools.partial: ("func", "args", "keywords"),
    property: ("fget", "fset"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    types.BuiltinMethodType: ("__self__",),
    types.MethodWrapperType: ("__self__",),
    super: ("__self__", "__self_class__", "__thisclass__"),
}

# What they read is told by the names that they were made of.
_GETTERS = (operator.attrgetter, operator.itemgetter, operator.methodcaller)

# Attributes of classes that are read through an object.
_DESCRIPTORS = frozenset(
    {types.MemberDescriptorType, types.GetSetDescriptorType}
    | {types.WrapperDescriptorType, types.MethodDescriptorType}
    | {type(vars(namedtuple("_Pair", "x"))["x"])}  # noqa: PYI024
)


@functools.lru_cache(maxsize=1024)
def _members_of(cls: type) -> frozenset[str]:
    """What a library's class has, which its code finds by name: others replace it."""
    return frozenset(() if cls.__module__ == "builtins" else vars(cls)) - _OF_EACH


def _function_of(method: Any) -> Any:
    return getattr(method, "__func__", method)


def _cells_of(function: types.FunctionType) -> Iterator[tuple[str, types.CellType]]:
    names = function.__code__.co_freevars
    return zip(names, function.__closure__ or (), strict=True)


def _content_of(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return _NOTHING


def _entries(value: Any) -> list[Any]:
    """Those of an array, or of a list, tuple or deque, whatever its class says."""
    base = next((cls for cls in (list, tuple, deque) if isinstance(value, cls)), None)
    return list(value if base is None else base.__iter__(value))


def _member(member: Any, value: Any) -> Any:
    try:
        return member.__get__(value)
    except AttributeError:
        return _NOTHING


def _fields(value: Any) -> Any:
    """The dictionary of an object; None: it has none."""
    try:
        space = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return space if type(space) is dict else None


def _is_special(name: str, value: Any) -> bool:
    """Is it a method with a name as those have that operators call?"""
    return name[:2] == "__" and isinstance(value, _METHODS)


# Classes of the standard library that are there to hold things: their methods, which
# nobody looks into, read all that they have.
_HOLDERS = frozenset(
    {"collections.UserDict", "collections.UserList", "collections.UserString"}
    | {"collections.ChainMap", "contextlib.closing", "contextlib.nullcontext"}
    | {"enum.Enum", "fractions.Fraction", "functools.cached_property", "os._Environ"}
    | {"functools.partialmethod", "functools.singledispatchmethod"}
    | {"statistics.NormalDist", "string.Template"}
)

# Modules of classes that have none, or are known, or count calls.
_WITHOUT_FIELDS = frozenset({"abc", "builtins", "drjit", "typing", "unittest"})

# The same, and those that only have attributes.
_RECORDS = _HOLDERS | {"types.SimpleNamespace", "argparse.Namespace"}


def _full_name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _top(cls: type) -> str:
    return cls.__module__.partition(".")[0]


def _is_of_library(cls: type) -> bool:
    """Has it methods, which nobody looks into, that may read the values of fields?"""
    return is_quiet_module(cls.__module__) and _top(cls) not in _WITHOUT_FIELDS


def _is_holder(cls: type) -> bool:
    return cls.__module__ == "collections" or _full_name(cls) in _RECORDS


def _holds_all(cls: type) -> bool:
    """May any attribute of an object be read by no name, since it is one of this?"""
    own = vars(cls)
    return _full_name(cls) in _HOLDERS or (
        ("__getattr__" in own or "__getattribute__" in own)
        and not is_quiet_module(cls.__module__)
    )


def is_iterator(cls: type) -> bool:
    """Does code in C go on there, from a state that nobody sees?"""
    steps = (getattr(cls, name, None) for name in _ADVANCES)
    return any(type(step) is types.WrapperDescriptorType for step in steps)


def _has_hidden_state(value: Any) -> bool:
    """Is it of a class of the standard library, or NumPy's, whose state nobody sees?"""
    classes = type(value).__mro__
    of_numpy = any(base.__module__.partition(".")[0] == "numpy" for base in classes)
    return (
        isinstance(value, _STATES)
        or any(base.__module__ in _STORES for base in classes)
        or (of_numpy and _fields(value) is not None)
        or any(base.__module__.startswith("numpy.random") for base in classes)
    )


def _is_array_of_objects(value: Any) -> Any:
    """Is it one of NumPy, with entries?"""
    if type(value).__module__ != "numpy" or not getattr(value, "ndim", 0):
        return False
    return getattr(getattr(value, "dtype", None), "hasobject", False)


def _cached(function: Any) -> tuple[int, int]:
    """How many results were computed, and how many are kept."""
    _, computed, _, kept = function.cache_info()
    return computed, kept


def _is_plain(value: tuple[Any, ...]) -> bool:
    """Has a tuple, and each within it, nothing but values that do not change?"""
    return all(
        type(entry) in _ATOMS or (type(entry) is tuple and _is_plain(entry))
        for entry in value
    )


def _is_plain_tuple(value: Any) -> bool:
    return type(value) is tuple and _is_plain(value)


def _is_data(value: Any) -> bool:
    """Has a container arrays, or nothing but plain values? Those with functions and
    other objects are looked into instead, and so are those that code runs in."""
    if type(value) is dict and "__builtins__" in value:
        return False
    try:
        nodes = _core._tree_nodes("freeze", value)
    except RecursionError:
        return True
    found = [leaf for leaf, keys in nodes if keys is None]
    return any(map(_core.is_jit_v, found)) or all(type(x) in _ATOMS for x in found)


def _objects_in(tree: Any) -> tuple[Any, ...]:
    """Objects with fields in a PyTree, in the order of a walk through it."""
    return tuple(
        _reference(item)
        for item, keys in _core._tree_nodes("freeze", tree)
        if keys is not None and type(item) not in _SEQUENCES
    )


class _Weak(weakref.ref[Any]):
    """A reference of a row, while those of users are values."""

    __slots__ = ()


def _reference(value: Any) -> Any:
    """What a row refers to a value by: it keeps no object of the user's alive."""
    cls = type(value)
    if cls in _ATOMS or cls.__module__ == "builtins" or cls is types.CodeType:
        return value
    try:
        return _Weak(value)
    except TypeError:
        return value


def _outside(value: Any) -> Any:
    """What recordings are chosen by: a value, or an object that is itself."""
    if type(value) in _SEQUENCES and not _is_plain_tuple(value):
        return type(value).__name__
    if isinstance(value, types.FunctionType):
        value = value.__code__
    if isinstance(value, types.CodeType):
        from drjit._freeze.digest import code_digest  # imports what takes a while

        return code_digest(value)
    if isinstance(value, (types.MethodType, functools.partial)):
        return type(value).__name__
    if isinstance(value, (property, staticmethod, classmethod)):
        return type(value).__name__
    return value
