"""Instance arrays: arrays of Python objects whose methods are called in each lane.

A class derived from :py:class:`Instance` has a domain: the objects that arrays of it
have been made of, each with a number. An instance array is an array of these numbers,
a subclass of ``UInt``, so it is gathered, selected, or carried through loops like other
arrays. 0 is not an object. A number belongs to one object for good.
"""

from __future__ import annotations

import importlib
import itertools
import operator
import threading
import weakref

import drjit as dr

from .. import _family
from .._shape.axes import gather_whole

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, ClassVar

_core: Any = importlib.import_module("drjit._core")


class Domain:
    """The objects that instance arrays of a class refer to, by number from 1 on.

    They stay alive until they are removed; a removed object leaves None behind. Tables
    begin with the first one that is left, so they do not grow where old objects go and
    new ones come. Any thread may use a domain.
    """

    def __init__(self, cls: type) -> None:
        self.cls = cls
        self.arrays: dict[Any, Any] = {}  # modules, and the types of arrays there
        self.lock = threading.Lock()
        self._numbers: dict[int, int] = {}  # by id(): the object is alive
        self._base = 0  # up to this number, all have been removed
        self._objects: list[Any] = []  # with the numbers that follow
        self._snapshot: tuple[int, tuple[Any, ...]] | None = None
        _domains.add(self)

    def number(self, instance: Any) -> int:
        """Return the number of an object, which gets one if it has none."""
        with self.lock:
            number = self._numbers.get(id(instance))
            if number is None:
                self._objects.append(instance)
                self._snapshot = None
                number = self._base + len(self._objects)
                self._numbers[id(instance)] = number
        return number

    def find(self, instance: Any) -> int:
        """Return the number of an object, 0 if it has none."""
        return self._numbers.get(id(instance), 0)

    def objects(self) -> tuple[int, tuple[Any, ...]]:
        """Return ``base`` and a tuple of objects, None for those that are removed.

        The object of number ``base + i`` is at position ``i - 1``.
        """
        with self.lock:
            if self._snapshot is None:
                self._snapshot = self._base, tuple(self._objects)
            objects = self._snapshot
        if _core.flag(dr.JitFlag.FreezingScope):
            from drjit._freeze.call import note_domain

            note_domain(self, objects)
        return objects

    def remove(self, instance: Any) -> bool:
        """Forget an object: its number refers to no object from now on."""
        with self.lock:
            number = self._numbers.pop(id(instance), None)
            if number is None:
                return False
            self._objects[number - self._base - 1] = None
            self._snapshot = None
            if self._objects[0] is None:
                rest = itertools.dropwhile(lambda each: each is None, self._objects)
                left = list(rest)
                self._base += len(self._objects) - len(left)
                self._objects = left
        return True

    def clear(self) -> None:
        """Forget all objects."""
        with self.lock:
            gone = self._objects  # released below, without the lock
            self._base += len(gone)
            self._objects, self._numbers, self._snapshot = [], {}, None
        del gone


_domains: weakref.WeakSet[Domain] = weakref.WeakSet()
_families: weakref.WeakSet[type] = weakref.WeakSet()  # classes of objects in arrays


class Instance:
    """Base of classes whose objects can be the entries of arrays.

    A class that derives from ``Instance`` directly begins a family of classes, and
    :func:`drjit.array_t` of it is the type of arrays of their objects and ``None``, in
    the backend that ``drjit.auto`` stands for. Methods and attributes of the objects
    are also those of the array: each object's method is called once, with arrays for
    the lanes that have it, as :func:`drjit.dispatch` does.

    Lanes with ``None`` call nothing and get zeros. Members that every array has
    (``shape``, ``index``, ``state``, ...) hide those of the objects. An object that has
    been put into an array stays alive until ``drjit.detail.remove_instance(object)``
    takes it out; from then on its entries are ``None``.

    Derivative:
        Calls have derivatives in both directions, also with respect to tracked
        attributes of the objects.

    Example:
        >>> class Shape(dr.Instance):
        ...     def __init__(self, size):
        ...         self.size = size
        ...     def area(self, scale):
        ...         return scale * self.size**2
        >>> ShapePtr = dr.array_t(Shape)
        >>> shapes = ShapePtr(Shape(2.0), Shape(3.0), None)
        >>> shapes.area(Float(1, 10, 100))
        [4, 90, 0]
        >>> shapes.size
        [2, 3, 0]

    See also:
        :func:`drjit.dispatch`, :func:`drjit.switch`
    """

    _drjit_domain: ClassVar[Domain]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if Instance in cls.__bases__:
            cls._drjit_domain = Domain(cls)
            _families.add(cls)

    @classmethod
    def _drjit_array_t(cls) -> Any:
        """What array_t() returns: the same type each time."""
        if cls is Instance:
            raise TypeError(
                "drjit.array_t(): the argument is drjit.Instance, expected a class "
                "derived from it"
            )
        domain, module = cls._drjit_domain, _family.best()
        if module not in domain.arrays:
            made = make_array_type(f"{domain.cls.__name__}Ptr", domain.cls, domain)
            domain.arrays.setdefault(module, made)
        return domain.arrays[module]


def dispatch(
    inst: Any,
    target: Callable[..., Any],
    *args: Any,
    mode: str | None = None,
    label: str | None = None,
    **kwargs: Any,
) -> Any:
    """Call a function with the object of each lane: ``target(inst, *args, **kwargs)``.

    ``target`` is called once for each object that exists, whatever the number of lanes,
    and returns PyTrees of one structure with arrays of the same types. Lanes without an
    object (``None``) call nothing and get zeros. Arguments, masks and results are
    treated as in :func:`drjit.switch`.

    Args:
        inst (instance array | Instance): an array of objects, see
            :class:`drjit.Instance`. A single object is passed to ``target`` as it is.
        target (callable): a function whose first argument is one of the objects.
        *args: further positional arguments, any PyTrees. A mask as the last one
            switches lanes off.
        mode (str | None): ``"symbolic"``, ``"evaluated"``, or ``None``, which follows
            ``JitFlag.SymbolicCalls``; see :func:`drjit.switch`.
        label (str | None): a name for listings and messages.
        **kwargs: keyword arguments; a mask that is named ``active`` switches lanes off.

    Returns:
        PyTree: the results, zero in lanes that are switched off or have no object.

    Raises:
        TypeError: ``inst`` is not an object of an ``Instance`` class, or ``target`` not
            callable.
        RuntimeError: ``inst`` is another array, or the results do not fit together.

    Derivative:
        In both directions, also with respect to tracked attributes of the objects.

    Evaluation:
        Symbolic calls are traced; evaluated ones read ``inst`` and the arguments.

    Example:
        >>> class Lens(dr.Instance):
        ...     def __init__(self, ior):
        ...         self.ior = ior
        >>> lenses = dr.array_t(Lens)(Lens(1.5), Lens(1.8), None)
        >>> dr.dispatch(lenses, lambda lens, x: x * lens.ior, Float(2, 2, 2))
        [3, 3.6, 0]

    See also:
        :class:`drjit.Instance`, :func:`drjit.switch`
    """
    if isinstance(inst, InstanceArray):
        if isinstance(target, str):
            raise TypeError(
                f"drjit.dispatch(): 'target' is {target!r}, expected a callable"
            )
        return inst._call(target, args, kwargs, mode, label)
    if isinstance(inst, tuple(_families)):
        return target(inst, *args, **kwargs)
    if isinstance(inst, dr.ArrayBase):
        raise RuntimeError(
            f"drjit.dispatch(): 'inst' is of type {type(inst).__name__}, expected an "
            "instance array"
        )
    raise TypeError(
        f"drjit.dispatch(): 'inst' is of type {type(inst).__name__}, expected an "
        "instance array or an object of which there are instance arrays"
    )


def remove_instance(arg: Instance, /) -> None:
    """Take an object out of the registry: it is no longer an entry of arrays.

    Where it was an entry, there is ``None`` from now on. Arrays that were computed from
    it before do not change.

    Args:
        arg (Instance): an object that was put into an array.

    Raises:
        TypeError: its class does not derive from :class:`drjit.Instance`.
        ValueError: it is not in an array.
    """
    if not isinstance(arg, Instance):
        raise TypeError(
            f"drjit.detail.remove_instance(): found an object of type "
            f"{type(arg).__name__}, expected a drjit.Instance"
        )
    if not arg._drjit_domain.remove(arg):
        raise ValueError(
            "drjit.detail.remove_instance(): the object has not been put into an array"
        )


def clear_registry() -> None:
    """Take all objects of all classes out of the registry.

    Instance arrays that are left have ``None`` in all entries.

    Source: published package, ``drjit.detail.clear_registry``.
    """
    for domain in list(_domains):
        domain.clear()
    _core._clear_registry()


# ---------------------------------------------------------------- the type of arrays

# The types of attributes that are numbers, 0 of each, and the types of their arrays:
# the first that has room for all of them.
_NUMBERS: tuple[tuple[Any, Any, tuple[str, ...]], ...] = (
    (bool, False, ("Bool",)),
    (int, 0, ("Int", "UInt", "Int64", "UInt64")),
    ((int, float), 0.0, ("Float",)),
)


def _table(module: Any, name: str, leaves: tuple[str, ...], entries: list[Any]) -> Any:
    for leaf in leaves:
        try:
            return getattr(module, leaf)(entries)
        except (OverflowError, TypeError) as error:
            failure = error
    raise OverflowError(
        f"drjit.Instance: the attribute {name!r} has the values {min(entries)} to "
        f"{max(entries)}, expected integers of up to 64 bits"
    ) from failure


_MISSING = object()


def make_array_type(name: str, family: Any, domain: Any) -> Any:
    """Make the type of arrays of a domain's objects, which are of class ``family``.

    A domain has ``cls`` and the methods ``number``, ``find`` and ``objects``, as above.
    """
    _families.add(family)
    module = _family.best()
    members = {
        "__slots__": (),
        "__module__": family.__module__,
        "__doc__": f"An array of {family.__name__} objects: see drjit.Instance.",
        "_domain": domain,
        "_module": module,
    }
    return type(name, (InstanceArray, module.UInt), members)


class InstanceArray:
    """What the types of instance arrays have beyond ``UInt``, their other base."""

    __slots__ = ()

    _domain: ClassVar[Any]
    _module: ClassVar[Any]  # of array types, of the numbers

    def __init__(self, *args: Any) -> None:
        """Take objects and ``None``, a sequence of them, or an array of this type."""
        if len(args) == 1 and isinstance(args[0], (list, tuple)):
            args = tuple(args[0])
        if len(args) != 1 or not isinstance(args[0], type(self)):
            args = tuple(self._number(arg) for arg in args)
        super().__init__(*args)

    @classmethod
    def _number(cls, instance: Any) -> int:
        if instance is None:
            return 0
        cls._check(instance)
        number: int = cls._domain.number(instance)
        return number

    @classmethod
    def _check(cls, instance: Any) -> None:
        if not isinstance(instance, cls._domain.cls):
            raise TypeError(
                f"{cls.__name__}: found an object of type {type(instance).__name__}, "
                f"expected {cls._domain.cls.__name__} or None"
            )

    @classmethod
    def _of_numbers(cls, numbers: Any) -> Any:
        result = cls.__new__(cls)
        super(InstanceArray, result).__init__(numbers)  # type: ignore[call-arg]
        return result

    def _numbers(self, base: int) -> Any:
        """The numbers of the objects as positions in a table that begins at a base."""
        numbers = self._module.UInt(self)
        if not base or not len(numbers):
            return numbers
        return dr.select(numbers > base, numbers - base, 0)

    def _existing(self, base: int, objects: tuple[Any, ...]) -> Any:
        """The positions of the objects; 0 for those that have been removed."""
        numbers = self._numbers(base)
        if None not in objects:
            return numbers
        there = self._module.Bool([False, *(each is not None for each in objects)])
        return dr.select(gather_whole(type(there), there, numbers), numbers, 0)

    # ---------------------------------------------------------- the objects' members

    def __getattr__(self, name: str) -> Any:
        cls = self._domain.cls
        found = _MISSING
        if not name.startswith("__"):
            classes = (vars(c) for c in cls.__mro__)
            found = next((c[name] for c in classes if name in c), _MISSING)
            if found is _MISSING:
                found = getattr(self._any_object(), name, _MISSING)
        if found is _MISSING:
            raise AttributeError(
                f"'{type(self).__name__}' object has no attribute '{name}', nor have "
                f"objects of type '{cls.__name__}'"
            )
        if callable(found) or isinstance(found, (staticmethod, classmethod)):
            return self._method(name)
        return self._attribute(name)

    def _any_object(self) -> Any:
        _, objects = self._domain.objects()
        return next((each for each in objects if each is not None), None)

    def _call(self, target: Any, args: Any, kwargs: Any, mode: Any, label: Any) -> Any:
        """Call a function, or the objects' method of this name, in each lane."""
        base, objects = self._domain.objects()
        numbers = self._numbers(base)
        return _core._dispatch(numbers, objects, target, [*args], kwargs, mode, label)

    def _label(self, name: str) -> str:
        return f"{self._domain.cls.__name__}.{name}"

    def _method(self, name: str) -> Callable[..., Any]:
        def method(*args: Any, **kwargs: Any) -> Any:
            return self._call(name, args, kwargs, None, self._label(name))

        method.__name__ = name
        return method

    def _attribute(self, name: str) -> Any:
        """Values of an attribute: from a table if they are numbers, else by a call."""
        base, objects = self._domain.objects()
        values = [getattr(each, name) for each in objects if each is not None]
        for numbers, zero, leaves in _NUMBERS:
            if values and all(isinstance(value, numbers) for value in values):
                found = iter(values)
                entries = [zero if each is None else next(found) for each in objects]
                table = _table(self._module, name, leaves, [zero, *entries])
                return gather_whole(type(table), table, self._numbers(base))
        get = operator.attrgetter(name)
        return self._call(get, (), {}, None, self._label(name))

    # ---------------------------------------------------------- entries

    def _object(self, number: int) -> Any:
        base, objects = self._domain.objects()
        place = number - base
        return objects[place - 1] if 0 < place <= len(objects) else None

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)  # type: ignore[misc]
        if isinstance(found, int):
            return self._object(found)
        return self._of_numbers(found)

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(value, type(self)):
            value = self._number(value)
        super().__setitem__(key, value)  # type: ignore[misc]

    def __iter__(self) -> Iterator[Any]:
        return map(self._object, super().__iter__())  # type: ignore[misc]

    def __eq__(self, other: Any) -> Any:
        return self._compare("__eq__", other)

    def __ne__(self, other: Any) -> Any:
        return self._compare("__ne__", other)

    def _compare(self, name: str, other: Any) -> Any:
        base, objects = self._domain.objects()
        if isinstance(other, type(self)):
            value = other._existing(base, objects)
        elif other is None:
            value = 0
        else:  # in no array, it has no number: none that occurs is the largest one
            self._check(other)
            number = self._domain.find(other)
            value = number - base if number else 0xFFFFFFFF
        return getattr(self._existing(base, objects), name)(value)

    def __hash__(self) -> int:
        return super().__hash__()

    def __repr__(self) -> str:
        text = super().__repr__()
        if not text.startswith("["):  # nothing that could be evaluated
            return text
        import re

        return re.sub(r"\d+(?=[,\]])", lambda m: repr(self._object(int(m[0]))), text)

    def __reduce__(self) -> Any:
        raise TypeError(f"{type(self).__name__}: instance arrays cannot be pickled")


def _refuse(name: str) -> None:
    def refuse(self: Any, *args: Any) -> Any:
        raise TypeError(
            f"{type(self).__name__}.{name}(): instance arrays can be compared for "
            "equality, but not calculated with"
        )

    setattr(InstanceArray, name, refuse)


for _name in (
    "add sub mul truediv floordiv mod pow divmod matmul and or xor lshift rshift"
).split():
    for _prefix in ("", "r", "i"):
        _refuse(f"__{_prefix}{_name}__")
for _name in "lt le gt ge neg pos abs invert".split():
    _refuse(f"__{_name}__")
