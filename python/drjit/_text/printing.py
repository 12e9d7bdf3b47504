"""Formatted output of arrays, tensors and PyTrees: print() and format().

An array is shown through a tree of lists that has one level per dimension, the lanes of
a just-in-time compiled array first. Where a dimension is long, only the entries at its
two ends are fetched from the device; a Skipped entry stands for the others.
"""

from __future__ import annotations

import importlib
import math
import sys
from typing import Any, NamedTuple

import drjit as dr

from .._shape.axes import gather_whole
from .nodes import events

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import TypeAlias

_core: Any = importlib.import_module("drjit._core")

_DEFAULT_LIMIT = 20
_EDGE = 3  # entries shown at either end of a shortened dimension
_MODES = ("auto", "evaluated", "evaluate", "symbolic")


class _Missing:
    """The value of an argument that was not given."""

    def __repr__(self) -> str:  # in signatures
        return "..."


_MISSING = _Missing()


class _Skipped(NamedTuple):
    """Stands for a number of entries that are not shown."""

    number: int


class _Number(str):
    """Text of a number; several of them share a line."""


# Text, _Skipped, or a list with one element per entry of a dimension.
_Node: TypeAlias = str | _Skipped | list[Any]


class _Selection(NamedTuple):
    """The lanes that an 'active' mask of more than one entry leaves."""

    size: int
    lanes: Any  # the numbers of these lanes: a Dr.Jit integer array or a list
    strict: bool  # Is an array of another size an error? (Else it is shown in full.)


class _Style(NamedTuple):
    """What applies to all arrays of one statement."""

    operation: str
    limit: int
    selection: _Selection | None = None
    lanes: Any = None  # numbers of the lanes in arrays that kernels have reported


# Dimensions


def _shown(size: int, limit: int) -> tuple[list[int], int]:
    """Positions to show of a dimension, and the number of those left out."""
    if limit < 0 or size <= max(limit, 2 * _EDGE):
        return list(range(size)), 0
    tail = size - _EDGE
    return [*range(_EDGE), *range(tail, size)], size - 2 * _EDGE


def _with_gap(entries: list[Any], skipped: int) -> list[Any]:
    if skipped:
        entries.insert(_EDGE, _Skipped(skipped))
    return entries


def _join(node: _Node, indent: int = 0) -> str:
    """Text of a tree whose opening bracket stands in column 'indent'."""
    if isinstance(node, str):
        return node
    if isinstance(node, _Skipped):
        return f".. {node.number} skipped .."
    one_line = all(isinstance(entry, (_Number, _Skipped)) for entry in node)
    separator = ", " if one_line else ",\n" + " " * (indent + 1)
    return "[" + separator.join(_join(entry, indent + 1) for entry in node) + "]"


# Numbers


def _general(value: float) -> str:
    """Six significant digits, with the sign of a NaN, as in C."""
    text = f"{value:g}"
    return "-" + text if text == "nan" and math.copysign(1, value) < 0 else text


def _number(value: Any) -> _Number:
    return _Number(_general(value) if isinstance(value, float) else value)


def _composite(parts: list[Any], units: str) -> str:
    """A complex number or quaternion: its nonzero parts with their units."""
    text = ""
    for value, unit in zip(parts, units, strict=True):
        if value != 0:
            term = _general(value) + unit.strip()
            text += term if not text or term[0] == "-" else "+" + term
    return text or "0"


def _parts_of(array: Any) -> str | None:
    if dr.is_complex_v(array):
        return " j"
    return "ijk " if dr.is_quaternion_v(array) else None


# Arrays


def _leaves(array: Any, limit: int, index: Any) -> Any:
    """Nested components of a just-in-time array, each leaf as a list of its entries.

    Leaves of more than one entry are reduced to the lanes in 'index', unless that is
    None. Components in the middle of a long (dynamic) dimension are left out.
    """
    if dr.depth_v(array) == 1:
        if index is not None and len(array) > 1:
            array = gather_whole(type(array), array, index)
        return list(array)
    positions, skipped = _shown(len(array), limit)
    components = [_leaves(array[i], limit, index) for i in positions]
    return _with_gap(components, skipped)


def _leaf_sizes(array: Any, depth: int) -> set[int]:
    if depth == 1:
        return {len(array)}
    return set().union(*[_leaf_sizes(array[i], depth - 1) for i in range(len(array))])


def _lane(leaves: Any, depth: int, lane: int, units: str | None) -> _Node:
    """The node of one lane, out of the components of all lanes."""
    if isinstance(leaves, _Skipped):
        return leaves
    if depth == 1:
        return _number(leaves[lane if len(leaves) > 1 else 0])
    if units is not None:
        values = [leaf[lane if len(leaf) > 1 else 0] for leaf in leaves]
        # The real part of a quaternion is stored, and shown, last.
        return _composite(values, units)
    return [_lane(entry, depth - 1, lane, units) for entry in leaves]


def _jit_node(array: Any, style: _Style) -> _Node:
    """Tree of a just-in-time compiled array that is not a tensor."""
    sizes = _leaf_sizes(array, dr.depth_v(array)) - {1}
    if len(sizes) > 1:
        return "[ragged array]"
    size = sizes.pop() if sizes else int(len(array) > 0)
    selection = style.selection
    if selection is not None and size not in (0, 1, selection.size):
        if selection.strict:
            raise RuntimeError(
                f"drjit.{style.operation}(): an array has {size} entries, expected "
                f"{selection.size} as the 'active' mask"
            )
        selection = None
    if selection is not None and size > 0:
        count = len(selection.lanes)
        positions, skipped = _shown(count, style.limit)
        lanes = [int(selection.lanes[i]) if size > 1 else 0 for i in positions]
    else:
        lanes, skipped = _shown(size, style.limit)
        selection = None
    gather = skipped > 0 or selection is not None
    index = _index_type(array)(lanes) if gather else None
    depth, units = dr.depth_v(array), _parts_of(array)
    leaves = _leaves(array, style.limit, index)
    nodes = [_lane(leaves, depth, i, units) for i in range(len(lanes))]
    return _with_gap(nodes, skipped)


def _index_type(array: Any) -> Any:
    """The class of 32 bit indices into an array."""
    cls = type(array)
    for base in cls.__mro__:
        module = sys.modules.get(base.__module__)
        if module is not None and base.__module__.startswith("drjit."):
            return module.UInt
    raise TypeError(f"drjit: {cls.__name__} is not derived from an array type")


def _scalar_node(array: Any, style: _Style) -> _Node:
    """Tree of a drjit.scalar array that is not a tensor."""
    units = _parts_of(array)
    if units is not None:
        return _composite(list(array), units)
    candidates: Any = range(len(array))
    selection = style.selection
    if selection is not None and dr.depth_v(array) == 1:
        if len(array) == selection.size:
            candidates = selection.lanes
    positions, skipped = _shown(len(candidates), style.limit)
    nodes: list[Any] = []
    for position in positions:
        entry = array[int(candidates[position])]
        nested = dr.is_array_v(entry)
        nodes.append(_scalar_node(entry, style) if nested else _number(entry))
    return _with_gap(nodes, skipped)


def _tensor_node(tensor: Any, style: _Style) -> _Node:
    """Tree of a tensor. Masks select lanes, which tensors do not have."""
    shape = tensor.shape
    choice = [_shown(size, style.limit) for size in shape]
    offsets = [0]
    for size, (positions, _) in zip(shape, choice, strict=True):
        offsets = [offset * size + i for offset in offsets for i in positions]

    storage = tensor.array
    if any(skipped for _, skipped in choice) and dr.is_jit_v(tensor):
        storage = gather_whole(type(storage), storage, _index_type(storage)(offsets))
        offsets = list(range(len(offsets)))
    values = list(storage) if offsets else []
    nodes: list[Any] = [_number(values[offset]) for offset in offsets]

    for axis in range(len(shape) - 1, -1, -1):
        positions, skipped = choice[axis]
        step = len(positions)
        outer = 1
        for inner_positions, _ in choice[:axis]:
            outer *= len(inner_positions)
        nodes = [
            _with_gap(nodes[i * step : (i + 1) * step], skipped) for i in range(outer)
        ]
    result: _Node = nodes[0]
    return result


def _array_text(array: Any, style: _Style) -> str:
    if style.limit == _DEFAULT_LIMIT and style.selection is None:
        return repr(array)
    if dr.is_tensor_v(array):
        return _join(_tensor_node(array, style))
    node = _jit_node(array, style) if dr.is_jit_v(array) else _scalar_node(array, style)
    return _join(node)


# PyTrees


def _leaf_text(value: Any, style: _Style) -> str:
    if isinstance(value, type):
        return repr(value)
    if dr.is_array_v(value):
        return _array_text(value, style)
    return _general(value) if type(value) is float else repr(value)


_BRACKETS: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    dict: ("{", "}"),
}


def _brackets(value: Any) -> tuple[str, str]:
    name = type(value).__name__
    return _BRACKETS.get(type(value), (f"{name}[", "]"))


def _key_text(container: Any, key: Any) -> str:
    if type(container) in (list, tuple):
        return ""
    return f"{key!r}: " if type(container) is dict else f"{key}="


def _text(value: Any, style: _Style) -> str:
    """Text of a PyTree, each entry of a container in lines of its own."""
    text = previous = ""
    depth = 0
    for kind, item, container, key in events(style.operation, value):
        if kind == "close":
            depth -= 1
        line = "\n" + "  " * depth
        if kind == "close":
            text += ("" if previous == "open" else line) + _brackets(item)[1]
        elif depth:
            text += ("" if previous == "open" else ",") + line
            text += _key_text(container, key)
        if kind == "leaf":
            text += _leaf_text(item, style).replace("\n", line)
        elif kind == "open":
            text += _brackets(item)[0]
            depth += 1
        previous = kind
    return text


# Format strings


class _Field(NamedTuple):
    """A replacement field: what it refers to, and the text before its value."""

    key: int | str
    prefix: str
    position: int


def _parse(operation: str, fmt: str) -> list[str | _Field]:
    """Split a format string into literal text and replacement fields."""
    parts: list[str | _Field] = []
    implicit, explicit = 0, False
    i = 0
    while i < len(fmt):
        char = fmt[i]
        if char not in "{}":
            end = i
            while end < len(fmt) and fmt[end] not in "{}":
                end += 1
            parts.append(fmt[i:end])
            i = end
            continue
        if fmt[i : i + 2] == char * 2:
            parts.append(char)
            i += 2
            continue
        if char == "}":
            raise RuntimeError(
                f"drjit.{operation}(): single "
                f"'}}' in the format string (at position {i})"
            )
        end = fmt.find("}", i)
        if end < 0:
            raise RuntimeError(
                f"drjit.{operation}(): unmatched brace in the format string (at "
                f"position {i})"
            )
        name = fmt[i + 1 : end]
        prefix = ""
        if name.endswith("="):
            prefix, name = name, name[:-1]
        key: int | str = name
        if not name:
            if explicit:
                raise _numbering_error(operation, "explicit", "implicit")
            key = implicit
            implicit += 1
        elif name.isdecimal() and name.isascii():
            if implicit:
                raise _numbering_error(operation, "implicit", "explicit")
            key, explicit = int(name), True
        parts.append(_Field(key, prefix, i))
        i = end + 1
    return parts


def _numbering_error(operation: str, before: str, after: str) -> RuntimeError:
    return RuntimeError(
        f"drjit.{operation}(): cannot switch from {before} to {after} field numbering"
    )


def _look_up(
    operation: str, field: _Field, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    key = field.key
    if isinstance(key, int):
        if key < len(args):
            return args[key]
        kind, name = "positional argument", str(key)
    else:
        if key in kwargs:
            return kwargs[key]
        kind, name = "keyword argument", f'"{key}"'
    raise RuntimeError(
        f"drjit.{operation}(): missing {kind} {name} referenced by format string (at "
        f"position {field.position})"
    )


def _select(operation: str, active: Any, strict: bool) -> bool | _Selection:
    """Interpret an 'active' argument. A bool means everything or nothing."""
    if isinstance(active, bool):
        return active
    ok = not isinstance(active, type) and dr.is_array_v(active)
    if ok:
        ok = dr.is_mask_v(active) and dr.depth_v(active) == 1
    if not ok or dr.is_tensor_v(active):
        raise TypeError(
            f"drjit.{operation}(): 'active' is of type {type(active).__name__}, "
            "expected a bool or a 1D mask array"
        )
    size = len(active)
    if size <= 1:
        return all(active) if size else True
    lanes: Any
    if dr.is_jit_v(active):
        lanes = dr.compress(_core._masked(active))
    else:
        lanes = [i for i, entry in enumerate(active) if entry]
    return _Selection(size, lanes, strict) if len(lanes) > 0 else False


def render(
    operation: str,
    fmt: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    limit: int,
    active: Any = True,
    strict: bool = True,
) -> str | None:
    """Format on behalf of the function named 'operation' (for error messages).

    'strict' says whether arrays that do not fit 'active' are an error, or shown in
    full. Returns None if 'active' leaves nothing.
    """
    if not isinstance(limit, int):
        raise TypeError(
            f"drjit.{operation}(): 'limit' is of type {type(limit).__name__}, expected "
            "an integer"
        )
    if "thread_id" in kwargs:
        raise RuntimeError(
            f"drjit.{operation}(): found the keyword argument 'thread_id', which is "
            "reserved"
        )
    selection = _select(operation, active, strict)
    if selection is False:
        return None
    style = _Style(operation, limit, None if selection is True else selection)

    return _compose(fmt, values_of(operation, fmt, args, kwargs), style)


def is_recorded(*values: Any) -> bool:
    """Are there no values yet, or no lanes that print, because code is recorded?"""
    return bool(_core._is_recording() or _core._any_symbolic(values))


def values_of(
    operation: str, fmt: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[int | str, Any]:
    """What the fields of a format string refer to."""
    return {
        part.key: _look_up(operation, part, args, kwargs)
        for part in _parse(operation, fmt)
        if isinstance(part, _Field) and part.key != "thread_id"
    }


def compose(
    operation: str, fmt: str, values: dict[int | str, Any], limit: int, lanes: Any
) -> str:
    """Format values that kernels have reported for these lanes."""
    return _compose(fmt, values, _Style(operation, limit, lanes=lanes))


def _compose(fmt: str, values: dict[int | str, Any], style: _Style) -> str:
    parts = _parse(style.operation, fmt)
    arrays = [value for value in values.values() if not isinstance(value, str)]
    try:
        if arrays:
            dr.eval(arrays)  # all at once, rather than one by one
        texts = {
            key: value if isinstance(value, str) else _text(value, style)
            for key, value in values.items()
        }
    except RecursionError as error:
        raise RecursionError(
            f"drjit.{style.operation}(): a PyTree is nested too deeply or contains "
            "itself"
        ) from error
    if any(isinstance(part, _Field) and part.key == "thread_id" for part in parts):
        texts["thread_id"] = _thread_id(style, arrays)
    return "".join(
        part if isinstance(part, str) else part.prefix + texts[part.key]
        for part in parts
    )


def _thread_id(style: _Style, arrays: list[Any]) -> str:
    """The numbers of the lanes that are shown."""
    lanes: Any = range(dr.width(arrays) if arrays else 1)
    if style.lanes is not None:
        lanes = style.lanes
    elif style.selection is not None:
        lanes = style.selection.lanes
    positions, skipped = _shown(len(lanes), style.limit)
    nodes: list[Any] = [_number(int(lanes[i])) for i in positions]
    return _join(_with_gap(nodes, skipped))


def _arguments(
    operation: str, fmt: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[str, tuple[Any, ...]]:
    """Tell the two forms apart: a format string with arguments, or a single value."""
    if fmt is _MISSING:
        if "value" not in kwargs:
            raise TypeError(f"drjit.{operation}(): the argument 'value' is missing")
        fmt = kwargs.pop("value")
    if isinstance(fmt, str):
        return fmt, args
    if args:
        raise TypeError(
            f"drjit.{operation}(): the first of several positional arguments is of "
            f"type {type(fmt).__name__}, expected a format string"
        )
    return "{}", (fmt,)


def format(fmt: Any = _MISSING, *args: Any, limit: int = 20, **kwargs: Any) -> str:
    """Fill the fields of a format string with arrays and other values, and return the
    text.

    Fields are ``{}`` (the next positional argument), ``{0}`` (that of a number) and
    ``{name}`` (a keyword argument); numbers are given in all fields or in none. A
    trailing ``=`` puts what is in the braces in front: ``{x=}`` gives ``x=5``. ``{{``
    and ``}}`` are braces. There are no format specifications such as ``:.2f``.
    ``{thread_id}`` gives the indices of the entries that are shown. Arguments that no
    field names are ignored.

    Arrays are laid out with one line for each lane, PyTrees with the names of their
    fields.

    Args:
        fmt (str | object): the format string. A single argument that is not a string is
            formatted as it is.
        *args: values of ``{}`` and ``{0}``.
        limit (int): of dimensions with more entries, the first and last three are
            shown. Negative: all are; so are six or fewer.
        **kwargs: values of ``{name}``.

    Returns:
        str: the text.

    Raises:
        RuntimeError: the format string is malformed, or an argument is missing.
        TypeError: there is no argument, or one of the wrong type.
        RecursionError: a PyTree contains itself.

    Evaluation:
        Evaluates the arrays.

    Example:
        >>> dr.format("{} is {x=}", "here", x=Float(1, 2))
        'here is x=[1, 2]'
        >>> dr.format(dr.arange(UInt, 100), limit=6)
        '[0, 1, 2, .. 94 skipped .., 97, 98, 99]'

    See also:
        :func:`drjit.print`
    """
    fmt, args = _arguments("format", fmt, args, kwargs)
    text = render("format", fmt, args, kwargs, limit)
    assert text is not None
    return text


def print(
    fmt: Any = _MISSING,
    *args: Any,
    active: Any = True,
    end: str = "\n",
    file: Any = None,
    limit: int = 20,
    mode: str = "auto",
    **kwargs: Any,
) -> None:
    """Print arrays and other values, also those of code that is being recorded.

    Fields of the format string are those of :func:`drjit.format`. In a loop,
    conditional or call that is being recorded, values do not exist yet: each launch
    prints those of all lanes that got there, the ones of a lane in the order in which
    it did. Kernels report ``limit`` of them at most, and a ``RuntimeWarning`` says if
    there were more.

    A [frozen function](../freezing.md#printing-and-checks) prints each time that it is
    repeated.

    Args:
        fmt (str | object): the format string, or a single value of another type.
        *args: values of ``{}`` and ``{0}``.
        active (mask | bool): entries to print. Traced arrays of its size are reduced to
            these; tensors are shown in full. If it is false everywhere, nothing is
            printed.
        end (str): what follows the text.
        file (object | None): what the text is passed to by ``write()``; ``sys.stdout``
            if ``None``.
        limit (int): of dimensions with more entries, the first and last three are
            shown. Negative: all are; so are six or fewer.
        mode (str): ``"evaluated"`` evaluates the arguments and prints at once;
            ``"symbolic"`` prints when the next evaluation has computed them. ``"auto"``
            is the latter where an argument is being recorded, else the former.
        **kwargs: values of ``{name}``.

    Raises:
        RuntimeError: the format string is malformed, an argument is missing, or an
            array has another size than ``active``.
        ValueError: there is no such ``mode``.
        TypeError: there is no argument, or one of the wrong type.

    Evaluation:
        See ``mode``. In symbolic mode nothing is evaluated.

    Example:
        >>> x = Float(3, -1, 4, -2)
        >>> dr.print("negative: {} at {thread_id}", x, active=x < 0)
        negative: [-1, -2] at [1, 3]

    See also:
        :func:`drjit.format`, :func:`drjit.assert_true`
    """
    if mode not in _MODES:
        raise ValueError(
            f"drjit.print(): 'mode' is {mode!r}, expected 'auto', 'evaluated' or "
            "'symbolic'"
        )
    if not isinstance(end, str):
        raise TypeError(
            f"drjit.print(): 'end' is of type {type(end).__name__}, expected a str"
        )
    fmt, args = _arguments("print", fmt, args, kwargs)
    output = sys.stdout if file is None else file
    if not hasattr(output, "write"):
        raise TypeError(
            f"drjit.print(): 'file' is of type {type(output).__name__}, expected an "
            "object with a method 'write'"
        )
    frozen = dr.flag(dr.JitFlag.FreezingScope)
    if mode in ("auto", "symbolic") and is_recorded(args, kwargs, active):
        from . import recorded as _recorded

        write = _write_out if frozen and file is None else output.write
        _recorded.report("print", fmt + end, args, kwargs, limit, active, write)
        return
    if frozen:
        _print_each_time(fmt + end, args, kwargs, limit, active, file)
        return
    if mode == "symbolic" and _prints_later(
        fmt + end, args, kwargs, limit, active, output
    ):
        return
    text = render("print", fmt + end, args, kwargs, limit, active)
    if text is not None:
        output.write(text)


def _write_out(text: str) -> None:
    """Write to what ``sys.stdout`` is by then."""
    sys.stdout.write(text)


def _print_each_time(
    fmt: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    limit: int,
    active: Any,
    file: Any,
) -> None:
    """Print now, and whenever the function is repeated that is being recorded."""
    from .._freeze.ad import is_again
    from .._freeze.call import note_print

    if is_again():
        return
    note_print(_print_again, (fmt, limit, file), (args, kwargs, active))


def _print_again(settings: Any, values: Any) -> None:
    fmt, limit, file = settings
    args, kwargs, active = values
    text = render("print", fmt, args, kwargs, limit, active)
    if text is not None:
        (_write_out if file is None else file.write)(text)


def _prints_later(
    fmt: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    limit: int,
    active: Any,
    output: Any,
) -> bool:
    """Have the next evaluation print, if any argument may have to be computed."""
    from .. import _family
    from .._flow import regions as _regions

    at_once = str, int, float, complex, type(None)
    values = [
        value
        for value in values_of("print", fmt, args, kwargs).values()
        if not isinstance(value, at_once)
    ]
    if all(dr.is_array_v(value) and not dr.is_jit_v(value) for value in values):
        return False
    if active is False:
        return True
    if dr.is_mask_v(active) and dr.is_jit_v(active):
        active = _core._masked(active)
    else:
        _select("print", active, True)  # refuses what is not a mask
    args, kwargs, active = dr.copy((args, kwargs, active))
    dr.schedule(args, kwargs, active)

    def show(records: Any, lost: int) -> None:
        text = render("print", fmt, args, kwargs, limit, active)
        if text is not None:
            output.write(text)

    module = _family.traced_in("print", (args, kwargs, active)) or _family.best()
    _regions.report(show, module.UInt(0))
    return True
