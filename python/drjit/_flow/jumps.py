"""``break``, ``continue`` and ``return`` as assignments to flags.

A loop or conditional that becomes a function cannot be left in the middle: what follows
is skipped instead. ::

    while i < n:                  _stop_1 = False
        if x[i] > 3:              while not _stop_1 and i < n:
            break                     if x[i] > 3:
        i += 1                            _stop_1 = True
                                      else:
                                          i += 1

Where a branch is always left by a jump, the rest of the block belongs to the other
branch, as here. Elsewhere it becomes a conditional with the flag of the innermost
loop, ``_skip_N``, or of the function, ``_returned``. A value that is returned is kept
in a variable until the end.

This works on the text as it was written, before ``drjit._flow.names`` looks at it. It
changes nothing where no jump leaves a statement that is rewritten.
"""

from __future__ import annotations

import ast

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

VALUE = "_return_value"
RETURNED = "_returned"
_LOOPS = (ast.While, ast.For)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class _Loop:
    """A loop around the statements that are looked at."""

    def __init__(self, node: Any, outer: _Loop | None, constructs: int) -> None:
        self.node = node
        self.outer = outer
        self.constructs = constructs  # how many there are inside of which jumps start
        self.flagged = False
        self.number = 0

    @property
    def stop(self) -> str:
        return f"_stop_{self.number}"

    @property
    def skip(self) -> str:
        return f"_skip_{self.number}"


def ends(statements: list[Any]) -> bool:
    """Is what follows these statements never reached?"""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, ast.If):
        return ends(last.body) and ends(last.orelse)
    if isinstance(last, _LOOPS):
        test = getattr(last, "test", None)
        forever = isinstance(test, ast.Constant) and bool(test.value)
        left = any(_contains(s, ast.Break) for s in last.body)
        return not left and (forever or ends(last.orelse))
    return isinstance(last, ast.Return | ast.Break | ast.Continue | ast.Raise)


def _contains(node: Any, kind: type) -> bool:
    """Does a statement contain a jump of this kind that leaves it?"""
    if isinstance(node, kind):
        return True
    if isinstance(node, _FUNCTIONS):
        return False
    if isinstance(node, _LOOPS) and kind is not ast.Return:
        return any(_contains(s, kind) for s in node.orelse)
    return any(
        _contains(s, kind)
        for s in ast.iter_child_nodes(node)
        if isinstance(s, ast.stmt | ast.ExceptHandler | ast.match_case)
    )


class _Finder:
    """Which loops need flags, and does the function?"""

    def __init__(self, is_scalar: Callable[[Any], bool]) -> None:
        self.is_scalar = is_scalar
        self.loops: dict[int, _Loop] = {}
        self.returns = False  # from inside a construct
        self.returning: set[_Loop] = set()  # loops with a 'return'
        self.constructs = 0  # around the current statement

    def look(self, statements: list[Any], loop: _Loop | None) -> None:
        for node in statements:
            kind = node.__class__
            rule = _FINDERS.get(kind)
            if rule:
                rule(self, node, loop)

    def construct(self, node: Any, loop: _Loop | None) -> None:
        counts = not self.is_scalar(node)
        self.constructs += counts
        self.look(node.body, loop)
        self.look(node.orelse, loop)
        self.constructs -= counts

    def loop(self, node: Any, outer: _Loop | None) -> None:
        loop = self.loops[id(node)] = _Loop(node, outer, self.constructs)
        construct = isinstance(node, ast.While) and not self.is_scalar(node)
        self.constructs += construct
        self.look(node.body, loop)
        self.constructs -= construct
        self.constructs += 1  # perhaps it becomes a conditional
        self.look(node.orelse, outer)
        self.constructs -= 1

    def others(self, node: Any, loop: _Loop | None) -> None:
        for part in (
            getattr(node, "body", []),
            *(p.body for p in getattr(node, "handlers", [])),
            *(p.body for p in getattr(node, "cases", [])),
            getattr(node, "orelse", []),
            getattr(node, "finalbody", []),
        ):
            self.look(part, loop)

    def jump(self, node: Any, loop: _Loop | None) -> None:
        if loop and self.constructs > loop.constructs:
            loop.flagged = True

    def return_(self, node: Any, loop: _Loop | None) -> None:
        self.returns = self.returns or self.constructs > 0
        while loop:
            self.returning.add(loop)
            loop = loop.outer


_FINDERS: dict[type, Callable[[_Finder, Any, _Loop | None], None]] = {
    ast.If: _Finder.construct,
    ast.While: _Finder.loop,
    ast.For: _Finder.loop,
    ast.With: _Finder.others,
    ast.Try: _Finder.others,
    ast.Match: _Finder.others,
    ast.Break: _Finder.jump,
    ast.Continue: _Finder.jump,
    ast.Return: _Finder.return_,
}


class _Remover:
    """Replaces jumps. Each method returns statements, and which flags they may set."""

    def __init__(
        self, found: _Finder, at: Callable[[Any], Any], fail: Callable[..., NoReturn]
    ) -> None:
        self.found = found
        self.at = at
        self.fail = fail
        self.used: set[str] = set()  # flags that are asked for
        self.count = 0

    # ------------------------------------------------------------ flags

    def raise_flags(self, node: Any, flags: list[str]) -> tuple[list[Any], set[str]]:
        at = self.at(node)
        true = at.text(True)
        return [
            at.flag(flag, at.put(ast.BinOp(at.load(flag), ast.BitOr(), true)))
            for flag in flags
        ], set(flags)

    def guard(self, node: Any, flag: str, body: list[Any], sets: set[str]) -> Any:
        """The statements, where the flag is not set."""
        self.used.add(flag)
        at = self.at(node)
        made = at.put(ast.If(at.unless(flag, at.text(True)), body, []))
        made.flags = sets
        return made

    def flag_of(self, loop: _Loop | None) -> str:
        """What says that the rest of a block is to be skipped."""
        return loop.skip if loop else RETURNED

    # ------------------------------------------------------------ statements

    def block(
        self, statements: list[Any], loop: _Loop | None
    ) -> tuple[list[Any], set[str]]:
        made: list[Any] = []
        all_set: set[str] = set()
        flag = self.flag_of(loop)
        for place, node in enumerate(statements):
            rest = statements[place + 1 :]
            if isinstance(node, ast.If) and rest:
                left = [ends(node.body), ends(node.orelse)]
                if left[0] != left[1] and self.jumps(node, loop):
                    (node.orelse if left[0] else node.body).extend(rest)
                    rest = []
            over = not rest or ends([node])
            rule = _REMOVERS.get(node.__class__)
            new, sets = rule(self, node, loop) if rule else ([node], set())
            made += new
            all_set |= sets
            if over:
                break
            if flag in sets:
                body, sets = self.block(rest, loop)
                if body:
                    made.append(self.guard(rest[0], flag, body, sets))
                all_set |= sets
                break
        return made, all_set

    def jumps(self, node: Any, loop: _Loop | None) -> bool:
        """Does a conditional contain jumps that are replaced?"""
        if self.found.returns and _contains(node, ast.Return):
            return True
        kinds = (ast.Break, ast.Continue) if loop and loop.flagged else ()
        return any(_contains(node, kind) for kind in kinds)

    def return_(
        self, node: ast.Return, loop: _Loop | None
    ) -> tuple[list[Any], set[str]]:
        if not self.found.returns:
            return [node], set()
        at = self.at(node)
        value = at.assign(at.store(VALUE), node.value or at.text(None))
        flags = [RETURNED]
        while loop:
            flags += [loop.stop, loop.skip]
            loop = loop.outer
        made, sets = self.raise_flags(node, flags)
        return [value, *made], sets

    def break_(self, node: Any, loop: _Loop | None) -> tuple[list[Any], set[str]]:
        if not loop or not loop.flagged:
            return [node], set()
        return self.raise_flags(node, [loop.stop, loop.skip])

    def continue_(self, node: Any, loop: _Loop | None) -> tuple[list[Any], set[str]]:
        if not loop or not loop.flagged:
            return [node], set()
        return self.raise_flags(node, [loop.skip])

    def if_(self, node: Any, loop: _Loop | None) -> tuple[list[Any], set[str]]:
        node.body, sets = self.block(node.body, loop)
        node.orelse, other = self.block(node.orelse, loop)
        node.body = node.body or [self.at(node.test).put(ast.Pass())]
        node.flags = sets | other
        if RETURNED in other - sets:
            node.swap = True
        return [node], sets | other

    def loop(self, node: Any, outer: _Loop | None) -> tuple[list[Any], set[str]]:
        loop = self.found.loops[id(node)]
        returns = self.found.returns and loop in self.found.returning
        loop.flagged = loop.flagged or returns
        if not loop.flagged:
            node.body, sets = self.block(node.body, loop)
            node.orelse, other = self.block(node.orelse, outer)
            node.flags = sets
            return [node], sets | other
        self.count += 1
        loop.number = self.count
        at = self.at(node)
        breaks = any(_contains(s, ast.Break) for s in node.body)
        body, sets = self.block(node.body, loop)
        if loop.stop not in sets:
            body = [at.flag(loop.skip, at.text(False)), *body]
        elif isinstance(node, ast.While):
            self.used.add(loop.stop)
            going = [
                at.is_flag(loop.stop, ast.IsNot()),
                at.unless(loop.stop, node.test),
            ]
            node.test = at.put(ast.BoolOp(ast.And(), going))
            body = [at.flag(loop.skip, at.text(False)), *body]
        else:
            self.used.add(loop.stop)
            leave: Any = at.put(ast.If(at.is_flag(loop.stop, ast.Is()), [], []))
            leave.body.append(at.put(ast.Break()))
            leave.plain = True
            begin = at.flag(loop.skip, at.load(loop.stop))
            body = [begin, self.guard(node, loop.skip, body, sets), leave]
            node.stopped = breaks
        node.body, node.flags = body, sets
        made = [at.flag(loop.stop, at.text(False)), node]
        outside = sets - {loop.stop, loop.skip}
        if node.orelse:
            orelse, more = self.block(node.orelse, outer)
            node.orelse = []
            made.append(self.guard(node, loop.stop, orelse, more))
            outside |= more
        return made, outside

    def with_(self, node: Any, loop: _Loop | None) -> tuple[list[Any], set[str]]:
        node.body, sets = self.block(node.body, loop)
        return [node], sets

    def try_(self, node: Any, loop: _Loop | None) -> tuple[list[Any], set[str]]:
        node.body, sets = self.block(node.body, loop)
        node.orelse, other = self.block(node.orelse, loop)
        flag = self.flag_of(loop)
        if flag in sets and node.orelse:
            node.orelse = [self.guard(node.orelse[0], flag, node.orelse, other)]
        sets |= other
        for handler in node.handlers:
            handler.body, other = self.block(handler.body, loop)
            sets |= other
        node.finalbody, other = self.block(node.finalbody, loop)
        if other:
            self.fail(node, "a jump out of 'finally' is not supported")
        return [node], sets

    def match(self, node: Any, loop: _Loop | None) -> tuple[list[Any], set[str]]:
        sets: set[str] = set()
        for case in node.cases:
            case.body, other = self.block(case.body, loop)
            sets |= other
        return [node], sets

    # ------------------------------------------------------------ the function

    def run(self, function: Any) -> None:
        body = function.body
        if self.found.returns and not ends(body):
            body = [*body, self.at(body[-1]).put(ast.Return(None))]
        body, _ = self.block(body, None)
        if self.found.returns:
            at = self.at(function.body[-1])
            first = isinstance(body[0], ast.Expr)  # perhaps the docstring
            begin = self.at(function.body[0])
            head = [
                begin.flag(RETURNED, begin.text(False)),
                begin.assign(begin.store(VALUE), begin.marker(VALUE)),
            ]
            if RETURNED not in self.used:
                head = []
            end = at.put(ast.Return(at.load(VALUE)))
            body = [*body[:first], *head, *body[first:], end]
        function.body = self.clean(body)

    def clean(self, statements: list[Any]) -> list[Any]:
        """Without assignments to flags that nothing asks for."""
        kept = []
        for node in statements:
            if getattr(node, "flag", None) not in {None, *self.used}:
                continue
            for part in (
                node,
                *getattr(node, "handlers", []),
                *getattr(node, "cases", []),
            ):
                for field in ("body", "orelse", "finalbody"):
                    inner = getattr(part, field, None)
                    if inner and not isinstance(node, _FUNCTIONS):
                        inner = self.clean(inner)
                        if field == "body" and not inner:
                            inner = [self.at(node).put(ast.Pass())]
                        setattr(part, field, inner)
            if hasattr(node, "flags"):
                node.flags = node.flags & self.used
            kept.append(node)
        return kept


_REMOVERS: dict[type, Callable[[_Remover, Any, _Loop | None], Any]] = {
    ast.If: _Remover.if_,
    ast.While: _Remover.loop,
    ast.For: _Remover.loop,
    ast.With: _Remover.with_,
    ast.Try: _Remover.try_,
    ast.Match: _Remover.match,
    ast.Return: _Remover.return_,
    ast.Break: _Remover.break_,
    ast.Continue: _Remover.continue_,
}
if hasattr(ast, "TryStar"):  # Python 3.11
    _FINDERS[ast.TryStar] = _Finder.others
    _REMOVERS[ast.TryStar] = _Remover.try_


def remove_jumps(
    function: ast.FunctionDef,
    is_scalar: Callable[[Any], bool],
    at: Callable[[Any], Any],
    fail: Callable[..., NoReturn],
) -> None:
    """Replace the jumps of a function that leave a statement that is rewritten.

    ``is_scalar`` tells statements that are not; ``at`` makes nodes in a place.
    """
    found = _Finder(is_scalar)
    found.look(function.body, None)
    if any(loop.flagged for loop in found.returning):
        found.returns = True  # what follows a jump becomes a conditional
    if found.returns or any(loop.flagged for loop in found.loops.values()):
        _Remover(found, at, fail).run(function)
