"""Derivatives and frozen functions: what a call does to them, and those through it.

While it is recorded, a function runs with the arrays that it is given, nodes included,
between ``isolate_grad()``. What it leaves of them is noted (:class:`Ends`), and done
again by repetitions: what is tracked and what not, gradients, traversals that go on
outside. Whatever cannot be noted has it called each time.

A call that was recorded is one operation of the graph. To record its derivative, the
function is called anew, with the inputs of the call that is differentiated: at once in
reverse mode, since what it reads by name may be something else later on. Derivatives
are frozen functions of their own: of these inputs, and of the gradients that come in.

Derivatives are those of *parts*, the components of float arrays: they may have nodes
each of its own. A part is an array with one leaf, and has a number in its tree.
"""

from __future__ import annotations

import copy
import gc
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import drjit
from drjit import _core
from drjit._ad.custom import CustomOp, custom
from drjit._enums import JitFlag

dr: Any = drjit

_SUSPEND, _RESUME, _ISOLATE, _CLOSE = range(4)  # ADScope
_OUT, _LOOK, _IN = 1, 2, 4  # ADCrossing

# What has become of a part, see Row.
PLAIN, LEAF, DEPENDENT, NODE, ROW = range(5)

# Different values that functions read by name: more are forgotten.
_STAMPS = 4096

# 'again': this thread calls a function once more, for its derivative.
_local = threading.local()


def is_again() -> bool:
    """Is a function being called for its derivative? Then it prints nothing: it has."""
    return getattr(_local, "again", False)


def leaves(tree: Any) -> list[Any]:
    """The leaves of a PyTree, in the order in which their positions count."""
    nodes = _core._tree_nodes("freeze", tree)
    return [leaf for leaf, keys in nodes if keys is None]


def _arrays(tree: Any) -> list[Any]:
    """The arrays of a PyTree, each once."""
    found = {id(a): a for a in leaves(tree) if isinstance(a, _core.ArrayBase)}
    return list(found.values())


def replaced(tree: Any, others: dict[int, Any]) -> Any:
    """A PyTree of its own, with other arrays in the place of some, by their ids."""
    return _core._tree_map_alike(
        "freeze", lambda leaf: others.get(id(leaf), leaf), tree
    )


def copied(
    tree: Any, detached: bool, keep: Callable[[Any], Any] = lambda leaf: leaf
) -> Any:
    """A PyTree of its own with copies of the arrays: what is one array, or a part of
    one, is so among the copies. ``keep`` gives what takes the place of other leaves."""
    arrays = _arrays(tree)
    copies = _core._freeze_copies(arrays, detached)
    known = dict(zip(map(id, arrays), copies, strict=True))

    def copy_of(leaf: Any) -> Any:
        return known[id(leaf)] if id(leaf) in known else keep(leaf)

    return _core._tree_map_alike("freeze", copy_of, tree)


# What cannot be changed in place, so that a call can keep it as it is.
_VALUES = (int, float, complex, str, bytes, type(None), type, types.FunctionType)


def _kept(leaf: Any) -> Any:
    """What is not an array, as it is now: sets, arrays of NumPy and other buffers."""
    if isinstance(leaf, (_core.ArrayBase, types.ModuleType, *_VALUES)):
        return leaf
    if isinstance(leaf, set):
        return copy.copy(leaf)
    try:
        return leaf if memoryview(leaf).readonly else copy.copy(leaf)
    except (TypeError, ValueError, BufferError):  # it has no buffer to be compared
        return leaf


def kept_by_operations() -> list[Any]:
    """The arrays that custom operations have, which the graph of derivatives keeps."""
    found: list[Any] = []
    for thing in gc.get_objects():
        if issubclass(type(thing), CustomOp):
            found += _arrays(list(vars(thing).values()))
    return found


@contextmanager
def _scope(kind: int, *args: Any) -> Iterator[None]:
    """Traversals that an isolating one has kept back do not go on."""
    _core._scope_enter(kind, args)
    try:
        yield
    finally:
        _core._scope_leave(kind, False)


def _gradient(part: Any) -> Any:
    """The gradient of a part, None if it has none."""
    return _core.grad(part) if _core._has_grad(part) else None


def _set_gradient(part: Any, gradient: Any) -> None:
    if gradient is None:
        _core.clear_grad(part)
    else:
        _core.set_grad(part, gradient)


class Row(NamedTuple):
    """What has become of a part of the result, or of the inputs."""

    result: bool  # it is one of the result
    part: int
    kind: int  # it is not tracked, tracked without depending on anything (LEAF), has
    # the node of an input (NODE) or of an earlier row (ROW), or another one (DEPENDENT)
    other: int  # number of that node or row
    enabled: bool  # in the scope around the call
    gradient: bool  # it has one


class Ends(NamedTuple):
    """What a call does to derivatives, as plain values."""

    rows: tuple[Row, ...]
    gradients: tuple[tuple[int, bool], ...]  # of inputs, by node: there is one now
    going_on: tuple[int, ...]  # nodes from which traversals go on outside
    sources: tuple[int, ...]  # nodes that outputs depend on
    # Of each output, numbers of sources, or of parts that were tracked within (LEAF),
    # which follow.
    depends: tuple[tuple[int, ...], ...]

    def of_kind(self, kind: int) -> list[Row]:
        return [row for row in self.rows if row.kind == kind]


class Traced(NamedTuple):
    """The result of a recording that has something to do with derivatives."""

    result: Any
    gradients: list[Any]  # of inputs by node, then of rows; None: none, or the same
    ends: Ends


class Nodes(NamedTuple):
    """Which parts of the inputs have nodes, as plain values."""

    parts: tuple[tuple[int, int, bool], ...]  # (part, number of its node, enabled)
    suspended: int  # see _core._scope_suspends()
    behind: bool  # is there a gradient of what they depend on? False: nobody looks


class Call:
    """A call, as it began. No PyTree, so its arrays are not inputs of operations."""

    ends: Ends  # once it is over

    def __init__(self, inputs: Any, looks: bool) -> None:
        """``inputs``: args, kwargs, closure, state. ``looks``: the function looks for
        tangents that come from further back."""
        self.key = key_of(inputs[2:])
        self.inputs: tuple[Any, ...] = copied(inputs, True, _kept)
        numbers: dict[int, int] = {}
        self.nodes: list[Any] = []  # a part for each node
        rows = []
        for k, part in enumerate(_core._freeze_parts(inputs)):
            node = part.index_ad
            if node:
                if node not in numbers:
                    numbers[node] = len(self.nodes)
                    self.nodes.append(part)
                rows.append((k, numbers[node], _core.grad_enabled(part)))
        behind = looks and _core._has_grad_behind(self.nodes)
        suspended = _core._scope_suspends() if rows else 0
        self.where = Nodes(tuple(rows), suspended, behind)
        self.before = [_detached(_gradient(part)) for part in self.nodes]

    def full(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """What recordings of the call are chosen by."""
        return (*inputs, self.before, self.where) if self.nodes else inputs

    def n_sources(self) -> int:
        """How many nodes outputs depend on."""
        return len(self.ends.sources) + len(self.ends.of_kind(LEAF))


def first_parts(where: Nodes) -> list[int]:
    """The first part of each node."""
    first: dict[int, int] = {}
    for part, number, _ in where.parts:
        first.setdefault(number, part)
    return list(first.values())


def part_paths(tree: Any, where: Nodes | None = None) -> list[str]:
    """The paths of the parts of a tree, or of the first ones of these nodes; keys are
    not quoted."""
    from drjit._text.nodes import paths

    found: list[str] = []
    for path, event in paths("freeze", tree):
        if event.kind == "leaf" and isinstance(event.item, _core.ArrayBase):
            count = len(_core._freeze_parts(event.item))
            own = path.replace("'", "")
            found += [own] if count == 1 else [f"{own}[{k}]" for k in range(count)]
    return found if where is None else [found[k] for k in first_parts(where)]


def key_of(named: Any) -> Any:
    """By what is compared what is read by name, but for contents of arrays: these are
    part of the inputs, and can be seen as others meanwhile."""
    if all(part is None for part in named):
        return None
    found = []
    for item, keys in _core._tree_nodes("freeze", named):
        if keys is None:
            found.append(type(item) if _core.is_jit_v(item) else item)
        else:
            found.append((type(item), *keys))
    return _core._freeze_key_of(found)


def _detached(gradient: Any) -> Any:
    return None if gradient is None else _core.detach(gradient)


class Run:
    """A call of the function, while it is recorded: this is called in its place."""

    called = False  # has it run,
    recorded = False  # and is there a recording of that?
    looked = False  # has it looked for tangents from further back than its inputs?
    refused: str | None = None  # why there must not be one

    def __init__(
        self,
        call: Call,
        function: Callable[..., Any],
        inputs: tuple[Any, ...],
        refresh: Callable[[], None],
    ) -> None:
        """``refresh()`` puts into the inputs what stands now where the function reads
        by name."""
        self._call, self._function, self._inputs = call, function, inputs
        self._refresh = refresh
        self.left: list[Any] = []  # its result, once it has run

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call, inputs = self._call, self._inputs
        self.called = True
        # A recording has literals of its own: those of before are not its inputs.
        own = {part.index_ad: part for part in _core._freeze_parts(inputs)}
        call.nodes[:] = [own.get(part.index_ad, part) for part in call.nodes]
        # Literals may have become opaque, and gradients are inputs, too.
        with _scope(_RESUME):
            for part, gradient in zip(call.nodes, call.before, strict=True):
                now = _gradient(part)
                if now is not None and not now.index_ad and now.index != gradient.index:
                    _core.set_grad(part, gradient)
        start = _core._freeze_parts(inputs), leaves(inputs)
        self.left[:] = [self._function(*args, **kwargs)]
        self._refresh()
        crossed = _core._scope_crossed()
        self.looked = bool(crossed & _LOOK)
        if crossed & _OUT:
            self.refused = "it propagates derivatives to what depends on its inputs"
        elif crossed & _IN:
            self.refused = "it propagates derivatives from further back than its inputs"
        traced = self._look(*start)
        return self.left[0] if traced is None else traced

    def _look(self, start: list[Any], objects: list[Any]) -> Traced | None:
        """What it leaves; None: nothing that has derivatives."""
        call, result, inputs = self._call, self.left[0], self._inputs
        end, now = _core._freeze_parts(inputs), leaves(inputs)
        if len(end) != len(start) or len(now) != len(objects):
            self.refused = "the structure of the inputs has changed"
            return None
        look = _Look(call)
        changed = any(
            (new.index, new.index_ad) != (old.index, old.index_ad)
            for new, old in zip(end, start, strict=True)
        )
        if changed or any(a is not b for a, b in zip(now, objects, strict=True)):
            for k, part in enumerate(end):
                look.add(False, k, part, was_tracked=start[k].index_ad != 0)
        for k, part in enumerate(_core._freeze_parts(result)):
            look.add(True, k, part)
        if not (call.nodes or look.rows):
            return None
        gradients, ends = look.gradients(), look.ends()
        if any(g is not None and g.index_ad for g in gradients):
            self.refused = "a gradient that it leaves has a derivative"
        if ends.of_kind(DEPENDENT) and _replaces(objects, now, leaves(inputs[2:])):
            # To record a derivative it would have to do that once more.
            self.refused = (
                "it replaces an array in an object that it reads by name, and has "
                "results with derivatives"
            )
        if look.is_chained():
            # Outputs of one operation, of which none depends on another one.
            self.refused = "a result depends on an input that it changes"
        call.ends = ends
        gradients = [_detached(gradient) for gradient in gradients]
        return Traced(result, gradients, ends)


def _replaces(before: list[Any], now: list[Any], named: list[Any]) -> bool:
    """Has any of what is read by name, which is the end of it all, been replaced?"""
    pairs = list(zip(before, now, strict=True))[len(now) - len(named) :]
    return any(old is not new for old, new in pairs)


class _Look:
    """What has become of parts."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._nodes = {part.index_ad: k for k, part in enumerate(call.nodes)}
        self._known: dict[int, int] = {}
        self.rows: list[Row] = []
        self._parts: list[Any] = []  # of rows

    def add(self, result: bool, k: int, part: Any, was_tracked: bool = False) -> None:
        node, other = part.index_ad, 0
        if not node:
            if not was_tracked:
                return
            kind = PLAIN
        elif node in self._nodes:
            kind, other = NODE, self._nodes[node]
        elif node in self._known:
            kind, other = ROW, self._known[node]
        else:
            kind = LEAF if _core._is_leaf(part) else DEPENDENT
            self._known[node] = len(self.rows)
        own = kind in (LEAF, DEPENDENT)
        enabled = own and _core.grad_enabled(part)
        gradient = own and _core._has_grad(part)
        self.rows.append(Row(result, k, kind, other, enabled, gradient))
        self._parts.append(part)

    def gradients(self) -> list[Any]:
        """Of nodes, then of rows."""
        found = [_gradient(part) for part in self._call.nodes]
        changed = [
            (now is None) != (old is None)
            or (now is not None and now.index != old.index)
            for now, old in zip(found, self._call.before, strict=True)
        ]
        self._changed = [
            (k, found[k] is not None) for k, differs in enumerate(changed) if differs
        ]
        kept = [g if c else None for g, c in zip(found, changed, strict=True)]
        pairs = zip(self.rows, self._parts, strict=True)
        return kept + [_gradient(part) for row, part in pairs if row.gradient]

    def is_chained(self) -> bool:
        """Does an output depend on what an input has become?"""
        pairs = [
            (row, part)
            for row, part in zip(self.rows, self._parts, strict=True)
            if row.kind == DEPENDENT
        ]
        changed = [part for row, part in pairs if not row.result]
        others = [part for row, part in pairs if row.result]
        return bool(changed and others and _core._reached(others, changed))

    def ends(self) -> Ends:
        going_on = [
            k for k, part in enumerate(self._call.nodes) if _core._scope_keeps(part)
        ]
        pairs = list(zip(self.rows, self._parts, strict=True))
        outputs = [part for row, part in pairs if row.kind == DEPENDENT]
        sources = tuple(_core._reached(outputs, self._call.nodes))
        parts = [self._call.nodes[k] for k in sources]
        parts += [part for row, part in pairs if row.kind == LEAF]
        return Ends(
            tuple(self.rows),
            tuple(self._changed),
            tuple(going_on),
            sources,
            tuple(tuple(_core._reached([output], parts)) for output in outputs),
        )


def apply(
    derivatives: Derivatives,
    call: Call,
    traced: Traced,
    inputs: Any,
    repeated: bool,
) -> list[Any]:
    """Do to derivatives what the function has done. ``repeated``: it was not called.

    Returns the outputs, parts that depend on inputs, or on what was tracked within.
    """
    result, gradients, ends = traced
    call.ends = ends
    made: list[Any] = []  # parts of rows
    with _scope(_RESUME):
        for number, _ in ends.gradients:
            _set_gradient(call.nodes[number], gradients[number])
        trees = [_core._freeze_parts(tree) for tree in (inputs, result)]
        made = [_core.detach(trees[row.result][row.part]) for row in ends.rows]
        pairs = list(zip(ends.rows, made, strict=True))
        fresh = [part for row, part in pairs if row.kind == LEAF]
        _core.enable_grad(fresh)
        sources, outputs = [*(call.nodes[k] for k in ends.sources), *fresh], []
        if ends.of_kind(DEPENDENT):
            plain = [part for row, part in pairs if row.kind == DEPENDENT]
            outputs = derivatives.attach(call, sources, plain)
            for part, tracked in zip(plain, outputs, strict=True):
                _core._freeze_set_nodes(part, {0: tracked})
        nodes: tuple[dict[int, Any], dict[int, Any]] = ({}, {})
        for k, (row, part) in enumerate(pairs):
            if row.kind == NODE:
                part = call.nodes[row.other]
            elif row.kind == ROW:
                part = made[row.other]
            nodes[row.result][row.part] = None if row.kind == PLAIN else part
            made[k] = part
        for tree, own in zip((inputs, result), nodes, strict=True):
            if own:
                _core._freeze_set_nodes(tree, own)
        others = iter(gradients[len(call.nodes) :])
        for row, part in zip(ends.rows, made, strict=True):
            if row.gradient:
                _core.set_grad(part, next(others))
    admitted = [p for row, p in zip(ends.rows, made, strict=True) if row.enabled]
    if admitted:
        _core._scope_admit(admitted)
    if repeated and ends.going_on:
        _core._scope_keep([call.nodes[k] for k in ends.going_on])
    return outputs


# ---------------------------------------------------------------- derivatives


class Derivatives:
    """What is recorded of a function to differentiate it.

    ``around(args, kwargs)`` gives what the function reads besides its arguments,
    ``freeze`` makes a frozen function.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        around: Callable[[Any, Any], tuple[Any, Any]],
        freeze: Callable[[Callable[..., Any]], Any],
    ) -> None:
        self._function = function
        self._around = around
        self._stamps: dict[Any, int] = {}  # by key
        self._next = 1
        self._prepared = False
        self.pull = freeze(self._pull)
        self.push = freeze(self._push)

    # ------------------------------------------------------------ what is read by name

    def stamp(self, key: Any) -> int:
        """A number for such a key, by which recordings can be chosen."""
        found = 0 if key is None else self._stamps.get(key)
        if found is None:
            if len(self._stamps) >= _STAMPS:
                self._stamps.pop(next(iter(self._stamps)))
            found = self._stamps[key] = self._next
            self._next += 1
        return found

    def _changed(self, then: Any, now: Any) -> RuntimeError:
        name = getattr(self._function, "__name__", "the function")
        what = "what the function reads by name has"
        for old, new in zip(leaves(then), leaves(now), strict=False):
            arrays = isinstance(old, _core.ArrayBase) + isinstance(new, _core.ArrayBase)
            if old is new or (arrays == 2 and type(old) is type(new)):
                continue
            if type(old) is type(new) is str and old == new:
                continue
            read = _name_of(self._function, new)
            plain = isinstance(old, (bool, int, float, complex, str, bytes, type(None)))
            was = repr(old) if plain else type(old).__name__
            what = f"{read or 'something that it reads by name'}, {was} then, has"
            break
        return RuntimeError(
            f"drjit.freeze(): the derivative of '{name}' has to be recorded, for which "
            f"the function is called once more, and {what} changed since the call, "
            "expected the same"
        )

    # ------------------------------------------------------------ the operation

    def attach(self, call: Call, sources: list[Any], outputs: list[Any]) -> list[Any]:
        """Outputs of a call that depend on its sources, by one operation."""
        if not all(call.ends.depends):
            # What was tracked within is not to be seen any more: this stands for it.
            sources = [*sources, _tracked(type(outputs[0])(0))]
        made: list[Any] = custom(_Operation, self, call, sources, outputs)
        return made

    def prepare(self, call: Call, outputs: list[Any], new: bool) -> None:
        """Record the reverse derivative of a call, or try to. ``new``: the call was."""
        if not outputs or not call.n_sources() or (self._prepared and not new):
            return
        if not new and self.pull.n_cached_recordings:
            return
        self._prepared = True
        gradients = [_whole(array, type(array)(1)) for array in outputs]
        try:
            self.differentiate(self.pull, call, [], gradients)
        except Exception:  # one of traversals in reverse, which says so itself
            pass

    def differentiate(
        self,
        function: Any,
        call: Call,
        sources: list[Any],
        gradients: list[Any],
    ) -> list[Any]:
        """The gradients of sources or outputs, given those of the others."""
        inputs = (*call.inputs, call.before)
        stamp = self.stamp(call.key)
        nodes = dict(zip(call.ends.sources, sources, strict=False))
        with _scope(_RESUME):
            if _core.grad_enabled(list(nodes.values())):
                inputs = copied(inputs, False)
                parts = call.where.parts
                where = {k: nodes[number] for k, number, _ in parts if number in nodes}
                _core._freeze_set_nodes(inputs[:4], where)
            found = function(inputs, call.where, call.ends, stamp, gradients)
        return list(found)

    # ------------------------------------------------------------ recorded functions

    def _pull(
        self, inputs: Any, where: Nodes, ends: Ends, stamp: int, gradients: list[Any]
    ) -> Any:
        """The gradients of the sources, given those of outputs."""
        again = _Again(self, inputs, where, ends, stamp)
        return again.call.pull(again.call.result, gradients, keep=False)

    def _push(
        self, inputs: Any, where: Nodes, ends: Ends, stamp: int, tangents: list[Any]
    ) -> Any:
        """The derivatives of the outputs, given those of sources."""
        again = _Again(self, inputs, where, ends, stamp)
        return again.call.push(tuple(tangents))


class _Again:
    """The function is called once more: ``call`` has its sources and outputs."""

    def __init__(
        self,
        derivatives: Derivatives,
        inputs: Any,
        where: Nodes,
        ends: Ends,
        stamp: int,
    ) -> None:
        self._derivatives = derivatives
        self._inputs, self._where, self._ends, self._stamp = inputs, where, ends, stamp
        self._fresh: list[Any] = []
        parts = _core._freeze_parts(inputs[:4])
        self.call = dr.ad._Call(self._run, tuple(parts[k] for k in first_parts(where)))
        all_nodes = self.call.inputs
        self.call.inputs = (*(all_nodes[k] for k in ends.sources), *self._fresh)

    def _run(self, *sources: Any) -> list[Any]:
        """Call the function with these: its outputs."""
        *rest, before = self._inputs
        own = tuple(copied(tuple(rest), False))
        nodes = {k: sources[number] for k, number, _ in self._where.parts}
        _core._freeze_set_nodes(own, nodes)
        for part, gradient in zip(sources, before, strict=True):
            if gradient is not None:
                _core.set_grad(part, gradient)
        now, pairs = self._bind(own)
        with _seen_as(pairs):
            result = self._call(sources, now)
            trees = [_core._freeze_parts(tree) for tree in (now, result)]
        # Another thread may have changed something meanwhile.
        self._check(own[2:], self._derivatives._around(*now[:2]))
        # Gradients that it leaves were given to the inputs by the call itself.
        _core.clear_grad(trees)
        _core.clear_grad(sources)
        rows = [(row.kind, trees[row.result][row.part]) for row in self._ends.rows]
        self._fresh = [part for kind, part in rows if kind == LEAF]
        return [part for kind, part in rows if kind == DEPENDENT]

    def _bind(self, own: tuple[Any, ...]) -> tuple[Any, list[tuple[Any, Any]]]:
        """The inputs as the function is to find them, and which arrays it is to see as
        which."""
        args, kwargs, *then = own
        around = self._derivatives._around
        now = around(args, kwargs)
        self._check(then, now)
        if not _are_alike(then, now):
            raise self._derivatives._changed(then, now)
        # An array that is an argument and has a name, too, is the one with the name.
        roots = {
            id(_core._freeze_root(old)): _core._freeze_root(new)
            for old, new in _pairs(then, now)
            if old is not new
        }
        shared: dict[int, Any] = {}
        for leaf in _arrays((args, kwargs)):
            root = roots.get(id(_core._freeze_root(leaf)))
            if root is not None:
                shared[id(leaf)] = _core._freeze_part_of(root, leaf)
        pairs = []
        if shared:
            pairs = [
                (shared[id(leaf)], leaf)
                for leaf in _arrays((args, kwargs))
                if id(leaf) in shared
            ]
            args, kwargs = replaced((args, kwargs), shared)
            now = around(args, kwargs)
            self._check(then, now)
        pairs += [(new, old) for old, new in _pairs(then, now) if old is not new]
        return (args, kwargs, *now), pairs

    def _check(self, then: Any, now: Any) -> None:
        """RuntimeError if what the function reads by name is not what it was."""
        if self._derivatives.stamp(key_of(now)) != self._stamp:
            raise self._derivatives._changed(then, now)

    def _call(self, sources: tuple[Any, ...], now: tuple[Any, ...]) -> Any:
        """Call it within what was suspended, and traversals isolated."""
        flags = {number: enabled for _, number, enabled in self._where.parts}
        on = [part for k, part in enumerate(sources) if flags[k]]
        off = [part for k, part in enumerate(sources) if not flags[k]]
        suspended = self._where.suspended
        if suspended == 1 and not on:  # not everything was
            on = [_tracked(sources[0])]
        before, _local.again = is_again(), True
        try:
            with _scope(_SUSPEND, *(() if suspended else (off,))), _scope(_RESUME, on):
                with _scope(_CLOSE):
                    return self._derivatives._function(*now[0], **now[1])
        finally:
            _local.again = before


def _tracked(like: Any) -> Any:
    own = _core.detach(like)
    _core.enable_grad(own)
    return own


def _pairs(then: Any, now: Any) -> Iterable[tuple[Any, Any]]:
    """The arrays of two trees of one structure."""
    for old, new in zip(leaves(then), leaves(now), strict=True):
        if _core.is_jit_v(old):
            yield old, new


def _are_alike(then: Any, now: Any) -> bool:
    """Are the same arrays one array, in two trees of one structure?"""
    forth: dict[int, int] = {}
    back: dict[int, int] = {}
    for old, new in _pairs(then, now):
        if isinstance(old, type):
            continue
        a, b = id(_core._freeze_root(old)), id(_core._freeze_root(new))
        if forth.setdefault(a, b) != b or back.setdefault(b, a) != a:
            return False
    return True


@contextmanager
def _seen_as(pairs: list[tuple[Any, Any]]) -> Iterator[None]:
    """This thread sees arrays as others meanwhile: see overlay.h."""
    _core._freeze_overlay([new for new, _ in pairs], [old for _, old in pairs])
    try:
        yield
    finally:
        _core._freeze_overlay_end()


def _name_of(function: Any, value: Any) -> str | None:
    """The name by which a function reads a value, in quotes."""
    function = getattr(function, "__func__", function)
    if not isinstance(function, types.FunctionType):
        return None
    code = function.__code__
    found = [(name, function.__globals__.get(name, ...)) for name in code.co_names]
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            found.append((name, cell.cell_contents))
        except ValueError:  # not assigned yet
            pass
    return next((f"{name!r}" for name, own in found if own is value), None)


class _Operation(CustomOp):
    """A call of a frozen function."""

    keeps_constants = True  # but for 'sources', which are arguments of eval()

    def eval(
        self,
        derivatives: Derivatives,
        call: Call,
        sources: list[Any],
        outputs: list[Any],
    ) -> list[Any]:
        self.derivatives, self.call, self.sources = derivatives, call, sources
        hidden = (len(sources) - 1,)  # see Derivatives.attach()
        self._depends = tuple(row or hidden for row in call.ends.depends)
        return outputs

    def name(self) -> str:
        return "Frozen function"

    def _propagated(self, function: Any, given: Any, like: Any) -> list[Any]:
        gradients = [
            _whole(array, gradient) for array, gradient in zip(like, given, strict=True)
        ]
        return self.derivatives.differentiate(
            function, self.call, self.sources, gradients
        )

    def backward(self) -> None:
        if not self.call.n_sources():
            return
        found = self._propagated(self.derivatives.pull, self.grad_out(), self._result)
        self.set_grad_in("sources", self._with_hidden(found))

    def forward(self) -> None:
        if not self.call.n_sources():
            return
        count = len(self.sources) - self._has_hidden()
        given = self.grad_in("sources")[:count]
        found = self._propagated(self.derivatives.push, given, self.sources[:count])
        self.set_grad_out(found)

    def _has_hidden(self) -> bool:
        return not all(self.call.ends.depends)

    def _with_hidden(self, found: list[Any]) -> list[Any]:
        if not self._has_hidden():
            return found
        return [*found, dr.zeros_like(dr.detach(self.sources[-1]))]


def _whole(array: Any, gradient: Any) -> Any:
    """A gradient in memory, of all entries, so that one recording serves for all."""
    if dr.width(gradient) != dr.width(array):
        gradient = gradient + dr.zeros(type(gradient), dr.width(array))
    if not (_core.flag(JitFlag.FreezingScope) or _core.flag(JitFlag.SymbolicScope)):
        dr.make_opaque(gradient)
    return gradient
