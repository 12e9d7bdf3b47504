"""``@dr.syntax``: loops and conditionals of Python that work on arrays.

The decorator parses the text of a function, replaces ``while`` and ``if`` by calls of
``drjit.while_loop()`` and ``drjit.if_stmt()``, and compiles the result in the place of
the original. ::

    while i < 10:            def _loop_cond(i, x): return i < 10
        x *= x               def _loop_body(i, x):
        i += 1                   x *= x
                                 i += 1
                                 return (i, x)
                             i, x = while_loop((i, x), _loop_cond, _loop_body, ...)

What is generated has the line numbers of what it stands for. Which variables belong to
a state is found by ``drjit._flow.names``.

- A variable that is not assigned yet is passed as an ``Unbound``, and deleted again
  where user code could see that.
- A variable that inner functions use lives in one cell: generated functions assign to
  that cell what they are given (``nonlocal``).
"""

from __future__ import annotations

import ast
import gc
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, NoReturn, TypeVar, overload

import drjit as dr
from drjit import _core

from ._flow.compiled import make
from ._flow.jumps import remove_jumps
from ._flow.names import TARGETS, Effect, Scope
from ._flow.nodes import ERROR, FLAG_IF, FLAG_LOOP, IF, LOOP, At

_T = TypeVar("_T")

_HINTS_IF = ("mode", "label", "strict")
_HINTS_LOOP = (*_HINTS_IF, "max_iterations", "compress")
_HINTS = (*_HINTS_LOOP, "include", "exclude")
_SCALAR = (
    "If all that is computed there is scalar, write dr.hint(condition, mode='scalar') "
    "around conditions"
)
# Of code objects. The module inspect, which has these names, takes long to import.
_CO_GENERATOR, _CO_COROUTINE, _CO_ASYNC_GENERATOR = 0x20, 0x80, 0x200


def hint(
    arg: _T,
    /,
    *,
    mode: str | None = None,
    label: str | None = None,
    max_iterations: int | None = None,
    strict: bool = True,
    compress: bool | None = None,
    include: list[object] | None = None,
    exclude: list[object] | None = None,
) -> _T:
    """Tell :func:`drjit.syntax` how to treat a statement, by a call around its
    condition.

    In ``while dr.hint(i < 10, mode="evaluated"):`` or ``if dr.hint(x > 0, ...):``, the
    parameters reach :func:`drjit.while_loop` or :func:`drjit.if_stmt`, which explain
    them. Anywhere else the function just returns ``arg``.

    Args:
        arg (mask | bool): the condition.
        mode (str | None): ``"symbolic"``, ``"evaluated"``, or ``"scalar"``, written out
            as a literal, which leaves the statement to Python.
        label (str | None): a name for listings and messages.
        max_iterations (int | None): a bound for derivatives in reverse mode; for loops
            only.
        strict (bool): ``False`` permits that Python numbers in the state differ between
            sides or iterations.
        compress (bool | None): remove lanes that are done from an evaluated loop; for
            loops only.
        include (list | None): variables that are part of the state although the
            statement does not seem to use them.
        exclude (list | None): local variables that are not part of the state.

    Returns:
        mask | bool: ``arg``.

    Raises:
        SyntaxError: when the function is decorated: an unknown parameter, or one for
            loops around the condition of an ``if``.

    Example:
        >>> @dr.syntax
        ... def count(n):
        ...     i = UInt(0)
        ...     while dr.hint(i < n, mode="evaluated", label="count up"):
        ...         i += 1
        ...     return i
        >>> count(UInt(3, 5))
        [3, 5]

    See also:
        :func:`drjit.syntax`, :func:`drjit.while_loop`, :func:`drjit.if_stmt`
    """
    return arg


# ---------------------------------------------------------------- rewriting


class _Flow:
    """What is known about variables at a point of a function."""

    def __init__(self, definite: set[str], maybe: set[str]) -> None:
        self.definite = definite  # assigned for certain
        self.maybe = maybe  # perhaps assigned

    def copy(self) -> _Flow:
        return _Flow(self.definite.copy(), self.maybe.copy())

    def step(self, effect: Effect) -> None:
        self.definite |= effect.binds
        if effect.unbinds:
            self.definite -= effect.unbinds - effect.binds
        self.maybe |= effect.writes


class _Hints:
    """What ``drjit.hint()`` says about a condition."""

    def __init__(self) -> None:
        self.keywords: dict[str, Any] = {}
        self.include: set[str] = set()
        self.exclude: set[str] = set()

    @property
    def scalar(self) -> bool:
        mode = self.keywords.get("mode")
        return isinstance(mode, ast.Constant) and mode.value == "scalar"


class _Rewriter:
    """Rewrites one function, in place."""

    def __init__(
        self, scope: Scope, source: _Source, recursive: bool, around: set[str]
    ) -> None:
        self.scope = scope
        self.source = source
        self.recursive = recursive
        self.around = around  # variables of functions that this one is in
        self.changed = self.changed_outside()
        self.shared = scope.outer | (scope.captured & scope.locals) | self.changed
        self.construct = ""  # what the statement is in: 'while' loop, 'if' statement
        self.jumps: tuple[type, ...] = (ast.Return, ast.Break, ast.Continue)
        self.count = 0  # of conditions with a name
        self.declarations: list[Any] = []  # that were inside of constructs

    def run(self) -> None:
        function = self.scope.function
        assert isinstance(function, ast.FunctionDef)
        bound = {a.arg for a in self.scope.parameters}
        outer = self.scope.outer | self.changed
        flow = _Flow(bound.copy(), bound | outer)
        body = self.block(function.body, flow, outer.copy(), set())
        first = isinstance(body[0], ast.Expr)  # perhaps the docstring
        at = At(function)
        declared = self.declare(at, self.changed - self.scope.globals)
        function.body = [*body[:first], *declared, *self.declarations, *body[first:]]

    def changed_outside(self) -> set[str]:
        """Variables from outside, of which loops and conditionals change attributes or
        entries: these are part of the state as if they were local."""
        scope, found = self.scope, set()
        for node in ast.walk(scope.function):
            if isinstance(node, ast.If | ast.While) and hasattr(node, "effect"):
                found |= node.effect.changes
        return found - scope.locals

    def is_global(self, name: str) -> bool:
        scope = self.scope
        return name in scope.globals or not (
            name in scope.nonlocals or name in scope.locals or name in self.around
        )

    def declare(self, at: At, names: set[str]) -> list[Any]:
        """That a function assigns variables from outside of it. A variable of this
        function is one in the functions that are made of its statements."""
        made: list[Any] = []
        outer = sorted(name for name in names if self.is_global(name))
        if outer:
            made.append(at.put(ast.Global(outer)))
        if names.difference(outer):
            made.append(at.put(ast.Nonlocal(sorted(names.difference(outer)))))
        return made

    # ------------------------------------------------------------ blocks

    def block(
        self, statements: list[Any], flow: _Flow, live: set[str], always: set[str]
    ) -> list[Any]:
        """Rewrite statements. 'live': what may be read after them; 'always': what may
        be read after any of them, since it can be left in the middle."""
        if not statements:
            return []
        after: list[set[str]] = []  # of statements that have a rule
        live = live | always
        for statement in reversed(statements):
            if statement.__class__ in _RULES:
                after.append(live.copy())
            live -= statement.effect.binds
            live |= statement.effect.reads
            live |= always
        result = []
        for statement in statements:
            rule = _RULES.get(statement.__class__)
            if rule:
                result += rule(self, statement, flow, after.pop(), always)
            else:
                result.append(statement)
                flow.step(statement.effect)
        return result

    def loop(
        self, node: Any, flow: _Flow, live: set[str], always: set[str]
    ) -> list[Any]:
        """A loop that stays a loop of Python."""
        effect = node.effect
        jumps = self.jumps
        self.jumps = (*jumps, ast.Break, ast.Continue)
        around = live | effect.reads | always
        inside = flow.copy()
        inside.definite -= effect.unbinds
        inside.maybe |= effect.writes
        rest = inside.copy()
        if not isinstance(node, ast.While):
            target = Effect()
            Scope._visit(self.scope, node.target, target)
            inside.definite |= target.binds
            if hasattr(node, "stopped") and target.binds & (live | always):
                name = min(target.binds & (live | always))
                self.source.refuse(
                    node,
                    f"'{name}' is used after a 'for' loop that is left by 'break' "
                    f"inside an 'if' statement. {_SCALAR}",
                )
        node.body = self.block(node.body, inside, around, around)
        self.jumps = jumps
        node.orelse = self.block(node.orelse, rest, live, always)
        flow.step(effect)
        return [node]

    def with_(
        self, node: Any, flow: _Flow, live: set[str], always: set[str]
    ) -> list[Any]:
        items = Effect()
        Scope._each(self.scope, node.items, items)
        inside = flow.copy()
        inside.step(items)
        node.body = self.block(node.body, inside, live, always | live)
        flow.step(node.effect)
        return [node]

    def try_(
        self, node: Any, flow: _Flow, live: set[str], always: set[str]
    ) -> list[Any]:
        effect = node.effect
        around = live | always | effect.reads
        rest = flow.copy()
        rest.definite -= effect.unbinds
        rest.maybe |= effect.writes
        node.body = self.block(node.body, flow.copy(), around, around)
        for handler in node.handlers:
            inside = rest.copy()
            if handler.name:
                inside.definite.add(handler.name)
            handler.body = self.block(handler.body, inside, around, around)
        node.orelse = self.block(node.orelse, rest.copy(), around, around)
        node.finalbody = self.block(node.finalbody, rest, live, always)
        flow.step(effect)
        return [node]

    def match(
        self, node: Any, flow: _Flow, live: set[str], always: set[str]
    ) -> list[Any]:
        for case in node.cases:
            inside = flow.copy()
            inside.maybe |= node.effect.writes
            inside.definite -= node.effect.unbinds
            case.body = self.block(case.body, inside, live, always)
        flow.step(node.effect)
        return [node]

    def function(
        self, node: Any, flow: _Flow, live: set[str], always: set[str]
    ) -> list[Any]:
        if self.recursive:
            for scope in self.scope.inner:
                if scope.function is node:
                    around = (self.around | self.scope.locals) - self.scope.globals
                    _Rewriter(scope, self.source, True, around).run()
        flow.step(node.effect)
        return [node]

    def declaration(
        self, node: Any, flow: _Flow, live: set[str], always: set[str]
    ) -> list[Any]:
        """``global`` and ``nonlocal`` hold for all of the function."""
        if not self.construct:
            return [node]
        self.declarations.append(node)
        return []

    def annotated(
        self, node: Any, flow: _Flow, live: set[str], always: set[str]
    ) -> list[Any]:
        """What is ``nonlocal`` cannot be annotated."""
        flow.step(node.effect)
        if getattr(node.target, "id", None) not in self.shared or not self.construct:
            return [node]
        return [At(node).assign(node.target, node.value)] if node.value else []

    def jump(
        self, node: Any, flow: _Flow, live: set[str], always: set[str]
    ) -> list[Any]:
        if type(node) not in self.jumps:
            name = type(node).__name__.lower()
            self.source.refuse(
                node,
                f"'{name}' inside {self.construct} that it leaves is not supported. "
                + _SCALAR,
            )
        flow.step(node.effect)
        return [node]

    # ------------------------------------------------------------ constructs

    def hints(self, node: Any) -> _Hints:
        hints = self.source.hints(node)
        if hints.include or hints.exclude:
            for name in sorted((hints.include | hints.exclude) - self.scope.variables):
                text = f"drjit.hint(): the function has no variable '{name}'"
                self.source.refuse(node.test, text)
        return hints

    def used_elsewhere(self, node: Any) -> set[str]:
        """Variables that functions use which are not defined in this statement. They
        may be called at any time."""
        found: set[str] = set()
        for inner in self.scope.inner if self.shared else ():
            place: Any = inner.function
            if not node.lineno <= place.lineno <= place.end_lineno <= node.end_lineno:
                found |= inner.free
        return found & self.shared

    def new_name(self) -> str:
        self.count += 1
        return f"_condition_{self.count}"

    def state(
        self, node: Any, hints: _Hints, known: set[str], needed: set[str]
    ) -> set[str]:
        """The variables of 'known' that belong to the state. 'needed': what may be read
        in the statement before it is assigned there, or after the statement."""
        effect: Effect = node.effect
        state = effect.values.intersection(known, needed)
        state &= self.scope.variables | effect.writes | (effect.changes & self.changed)
        # A global that is defined, or imported, here is not a variable.
        state -= self.scope.globals - self.scope.variables - self.changed
        return (state | hints.include) - hints.exclude

    def new(
        self, effect: Effect, hints: _Hints, flow: _Flow, later: set[str]
    ) -> set[str]:
        """The variables that a statement assigns first, and that are used later."""
        written = effect.writes & later
        return written.difference(flow.maybe, self.scope.globals, hints.exclude)

    def enter(self, names: list[str], at: At) -> tuple[list[str], list[Any]]:
        """Parameters of a generated function, and how it begins."""
        shared = [name for name in names if name in self.shared]
        if not shared:
            return names, []
        head = self.declare(at, set(shared))
        head += [at.assign(at.store(n), at.load("_new_" + n)) for n in shared]
        return ["_new_" + n if n in shared else n for n in names], head

    def part(
        self,
        name: str,
        statements: list[Any],
        at: At,
        given: list[str],
        returned: list[str],
        flow: _Flow,
        live: set[str],
        writes: set[str],
    ) -> Any:
        """A generated function that runs statements and returns variables."""
        parameters, head = self.enter(given, at)
        rebound = self.shared.intersection(returned) | (writes & self.scope.globals)
        head += self.declare(at, rebound.difference(given))
        head += [at.unmark(n) for n in given if n not in flow.definite]
        body = self.block(statements, flow, live, set())
        values: list[Any] = []
        for variable in returned:
            if variable not in flow.maybe:
                values.append(at.marker(variable))
                continue
            if variable not in flow.definite:
                body.append(at.mark(variable))
            values.append(at.load(variable))
        end = at.put(ast.Return(at.tuple(values)))
        return at.function(name, parameters, [*head, *body, end])

    def result(self, names: list[str], call: Any, at: At, flow: _Flow) -> list[Any]:
        """Assign what a construct returns."""
        if not names:
            return [at.put(ast.Expr(call))]
        target = at.tuple([at.store(name) for name in names], ast.Store())
        assign: Any = at.assign(target, call)
        unmark = [at.unmark(n) for n in names if n not in flow.definite]
        outer = self.scope.outer | self.changed
        shared = [name for name in names if name in outer]
        if not shared:
            return [assign, *unmark]
        # Generated functions assign these. After an error they are what they were.
        keep = [at.assign(at.store("_was_" + n), at.load(n)) for n in shared]
        back: list[Any] = [at.assign(at.store(n), at.load("_was_" + n)) for n in shared]
        back += [at.unmark(n) for n in shared if n not in flow.definite]
        back.append(at.put(ast.Raise(None, None)))
        handler = at.put(ast.ExceptHandler(at.load(ERROR), None, back))
        return [*keep, at.put(ast.Try([assign], [handler], [], [])), *unmark]

    def inside(self, construct: str) -> Callable[[], None]:
        """Go into a construct; the result goes back."""
        former = self.construct, self.jumps
        self.construct, self.jumps = construct, ()

        def back() -> None:
            self.construct, self.jumps = former

        return back

    def if_(
        self, node: Any, flow: _Flow, live: set[str], always: set[str]
    ) -> list[Any]:
        hints = self.hints(node)
        test: Effect = node.tested
        if hints.scalar or hasattr(node, "plain"):
            inside = flow.copy()
            inside.step(test)
            node.body = self.block(node.body, inside.copy(), live, always)
            node.orelse = self.block(node.orelse, inside, live, always)
            flow.step(node.effect)
            return [node]
        self.explicit_super(node)
        at = At(node.test)
        flow.step(test)
        before = flow.definite.copy()
        effect = node.effect
        later = live | self.used_elsewhere(node)
        needed = effect.reads | test.writes | later
        given = self.state(node, hints, flow.maybe, needed)
        new = self.new(effect, hints, flow, later)
        args, returned = sorted(given), sorted(given | new)
        back = self.inside("an 'if' statement")
        sides = []
        ends = []
        for name, body in (("true", node.body), ("false", node.orelse)):
            inside = _Flow(flow.definite & given, given.copy())
            sides.append(
                self.part(
                    f"_if_stmt_{name}", body, at, args, returned, inside, later,
                    effect.writes,
                )
            )  # fmt: skip
            ends.append(inside)
        back()
        unsure = {name for name in args if name not in before}
        marks: list[Any] = [at.mark(name) for name in sorted(unsure)]
        condition = node.test
        if test.writes or given & self.shared or unsure & test.uses:
            # It may assign variables, or must see that they have no value.
            name = self.new_name()
            marks = [at.assign(at.store(name), condition), *marks]
            condition = at.load(name)
        raised = sorted(getattr(node, "flags", ()))
        labels = at.labels(args)
        call = at.call(
            FLAG_IF if raised else IF,
            [
                at.tuple([at.load(name) for name in args]),
                condition,
                at.load("_if_stmt_true"),
                at.load("_if_stmt_false"),
                labels,
                labels if returned == args else at.labels(returned),
            ],
            {
                **({"flags": at.labels(raised)} if raised else {}),
                **({"swap": at.text(True)} if raised and hasattr(node, "swap") else {}),
                **hints.keywords,
            },
        )
        flow.definite -= effect.unbinds
        through = (ends[0].definite & ends[1].definite).intersection(returned)
        flow.definite.difference_update(returned)
        flow.definite |= through
        flow.maybe.update(returned)
        return [*marks, *sides, *self.result(returned, call, at, flow)]

    def while_(
        self, node: Any, flow: _Flow, live: set[str], always: set[str]
    ) -> list[Any]:
        hints = self.hints(node)
        if hints.scalar:
            return self.loop(node, flow, live, always)
        test: Effect = node.tested
        self.explicit_super(node)
        at = At(node.test)
        effect = node.effect
        before: list[Any] = []
        statements = node.body
        condition = node.test
        named: set[str] = set()
        if test.writes:
            # A condition that assigns is computed before the loop and after each
            # iteration. Its value is a variable of the state.
            name = self.new_name()
            named = {name}
            compute: Any = at.assign(at.store(name), node.test)
            again = compute.effect = Effect()
            again.then(test)
            again.bind(name)
            before = [compute]
            statements = [*statements, compute]
            condition = at.load(name)
            flow.step(again)
        later = live | effect.reads | self.used_elsewhere(node)
        carried = self.state(node, hints, flow.maybe, later | test.writes)
        new = self.new(effect, hints, flow, later)
        carried |= new | named
        names = sorted(carried)
        definite = (flow.definite & carried) - effect.unbinds | named
        back = self.inside("a 'while' loop")
        inside = _Flow(definite.copy(), carried.copy())
        body = self.part(
            "_loop_body", statements, at, names, names, inside, later | named,
            effect.writes,
        )  # fmt: skip
        back()
        raised = sorted(getattr(node, "flags", ()))
        parameters, head = self.enter(names, at)
        seen = (test.uses | self.shared) - definite
        head += [at.unmark(name) for name in names if name in seen]
        head.append(at.put(ast.Return(condition)))
        call = at.call(
            FLAG_LOOP if raised else LOOP,
            [
                at.tuple([at.load(name) for name in names]),
                at.load("_loop_cond"),
                at.load("_loop_body"),
                at.labels(names),
            ],
            ({"flags": at.labels(raised)} if raised else {}) | hints.keywords,
        )
        cond = at.function("_loop_cond", parameters, head)
        marks: list[Any] = []
        for name in names:
            if name not in flow.maybe:
                marks.append(at.assign(at.store(name), at.marker(name)))
            elif name not in flow.definite:
                marks.append(at.mark(name))
        flow.definite -= carried - definite
        flow.definite -= carried - inside.definite
        flow.maybe |= carried
        result = [*before, *marks, cond, body, *self.result(names, call, at, flow)]
        return result + self.block(node.orelse, flow, live, always)

    def explicit_super(self, node: Any) -> None:
        """``super()`` looks at the frame that it is called in: say what it finds."""
        if "super" not in node.effect.uses:
            return
        at = At(node.test)
        for call in ast.walk(node):
            if (
                isinstance(call, ast.Call)
                and isinstance(call.func, ast.Name)
                and call.func.id == "super"
                and not call.args
                and self.scope.parameters
            ):
                first = self.scope.parameters[0].arg
                call.args = [at.load("__class__"), at.load(first)]


_RULES: dict[type, Callable[..., list[Any]]] = {
    ast.If: _Rewriter.if_,
    ast.While: _Rewriter.while_,
    ast.For: _Rewriter.loop,
    ast.With: _Rewriter.with_,
    ast.Try: _Rewriter.try_,
    ast.Match: _Rewriter.match,
    ast.FunctionDef: _Rewriter.function,
    ast.Global: _Rewriter.declaration,
    ast.Nonlocal: _Rewriter.declaration,
    ast.AnnAssign: _Rewriter.annotated,
    ast.Return: _Rewriter.jump,
    ast.Break: _Rewriter.jump,
    ast.Continue: _Rewriter.jump,
}
if sys.version_info >= (3, 11):
    _RULES[ast.TryStar] = _Rewriter.try_


# ---------------------------------------------------------------- source and code


# The functions of drjit that matter in a text.
_KNOWN: dict[str, object] = {"hint": hint} | {
    name: getattr(dr, name) for name in TARGETS
}


class _Source:
    """The text of a function, and what its names mean."""

    def __init__(self, function: FunctionType) -> None:
        import linecache

        self.function = function
        self.code = function.__code__
        self.file = self.code.co_filename
        linecache.checkcache(self.file)
        self.lines = linecache.getlines(self.file, function.__globals__)
        if self.file == "<string>":  # from Python 3.13 on the text of 'python -c'
            self.lines = []
        if len(self.lines) < self.code.co_firstlineno:
            raise OSError(
                f"drjit.syntax(): the text of the function '{function.__qualname__}' "
                f"cannot be found ('{self.file}', line {self.code.co_firstlineno}). "
                "Functions made by exec() or typed at a prompt that keeps no text "
                "have to be put into a file"
            )

    def refuse(self, node: Any, text: str) -> NoReturn:
        self.fail(node.lineno, text, node.col_offset)

    def fail(self, line: int, text: str, column: int = 0) -> NoReturn:
        source = self.lines[line - 1] if line <= len(self.lines) else None
        place = (self.file, line, column + 1, source)
        raise SyntaxError(f"@drjit.syntax: {text}", place)

    def hints(self, node: Any) -> _Hints:
        """Take a hint around the condition of a statement apart, once."""
        if hasattr(node, "hints"):
            found: _Hints = node.hints
            return found
        test = node.test
        node.hints = hints = _Hints()
        if not isinstance(test, ast.Call) or self.function_name(test.func) != "hint":
            return hints
        if len(test.args) != 1 or isinstance(test.args[0], ast.Starred):
            self.refuse(test, "drjit.hint() takes exactly one positional argument")
        node.test = test.args[0]
        allowed = _HINTS_LOOP if isinstance(node, ast.While) else _HINTS_IF
        for keyword in test.keywords:
            name = keyword.arg or ""
            if name in ("include", "exclude"):
                setattr(hints, name, self.hinted_names(name, keyword.value))
            elif name in allowed:
                hints.keywords[name] = keyword.value
            elif name in _HINTS:
                self.refuse(test, f"drjit.hint(): '{name}' is for 'while' loops only")
            else:
                what = f"the keyword argument '{name}'" if name else "'**'"
                self.refuse(test, f"drjit.hint() does not support {what}")
        return hints

    def hinted_names(self, what: str, node: Any) -> set[str]:
        if isinstance(node, ast.Constant) and node.value is None:
            return set()
        entries = getattr(node, "elts", [None])
        if not all(isinstance(entry, ast.Name) for entry in entries):
            self.refuse(node, f"drjit.hint(): '{what}' must be a list of variables")
        return {entry.id for entry in entries}

    def function_name(self, node: Any) -> str | None:
        """The name of the function of drjit, of those that matter here, that an
        expression stands for, under whatever name."""
        if isinstance(node, ast.Attribute):
            name = node.attr
            if name not in _KNOWN or not isinstance(node.value, ast.Name):
                return None
            module = self.value(node.value.id)
            if module is None:  # imported by the function itself
                return name if node.value.id in ("dr", "drjit") else None
            value = _core._lazy_target(getattr(module, name, None))
            return name if value is _KNOWN[name] else None
        if isinstance(node, ast.Name) and (value := self.value(node.id)) is not None:
            value = _core._lazy_target(value)
            return next((name for name, f in _KNOWN.items() if value is f), None)
        return None

    def value(self, name: str) -> object:
        """What a name from outside of the function stands for; None: not known."""
        if name in self.code.co_freevars:
            assert self.function.__closure__
            cell = self.function.__closure__[self.code.co_freevars.index(name)]
            try:
                return cell.cell_contents
            except ValueError:
                return None
        return self.function.__globals__.get(name)

    def parse(self) -> ast.FunctionDef:
        first = self.code.co_firstlineno - 1
        lines = self.lines[first:]
        indent = len(lines[0]) - len(lines[0].lstrip())
        # Look for the end from somewhere in the body on.
        *_, (_, _, last) = self.code.co_lines()
        end = max((last or 0) - first, 1)
        while end < len(lines):
            text = lines[end].lstrip()
            if text and text[0] != "#" and len(lines[end]) - len(text) <= indent:
                break
            end += 1
        try:
            found = self.parse_lines(lines[:end], first, indent)
        except SyntaxError:  # it has lines that stand further left than 'def'
            from inspect import getblock

            found = self.parse_lines(getblock(lines), first, indent)
        if not isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef):
            self.fail(first + 1, "only functions made by 'def' can be decorated")
        if found.name != self.code.co_name:
            self.fail(first + 1, f"this is not '{self.code.co_name}' any more")
        assert isinstance(found, ast.FunctionDef)
        return found

    def parse_lines(self, lines: list[str], first: int, indent: int) -> Any:
        """Parse a statement so that its nodes have the line numbers of the file."""
        above = "\n" * (first - 1) + "if 1:\n" if indent else "\n" * first
        found: Any = ast.parse(above + "".join(lines), self.file).body[0]
        return found.body[0] if indent else found


# ---------------------------------------------------------------- the decorator


def _print(which: str, what: str, text: str) -> None:
    title = f"{which} {what}"
    print(f"{title}\n{'-' * len(title)}\n{text}\n")


def _print_tree(which: str, node: ast.AST, print_ast: bool, print_code: bool) -> None:
    if print_ast:
        _print(which, "AST", ast.dump(node, indent=4))
    if print_code:
        _print(which, "code", ast.unparse(node))


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SUSPENDED = (ast.Yield, ast.YieldFrom, ast.Await)


def _refuse_inner(function: Any, source: _Source) -> None:
    suspended = any(isinstance(n, _SUSPENDED) for n in ast.walk(function))
    if suspended or isinstance(function, ast.AsyncFunctionDef):
        source.refuse(
            function,
            f"'{function.name}' is a generator or 'async' function, which cannot be "
            "rewritten: leave out 'recursive=True'",
        )


def _rewrite_function(node: Any, source: _Source, recursive: bool) -> None:
    functions = [node]
    if recursive:
        functions += [n for n in ast.walk(node) if isinstance(n, _DEFINITIONS)][1:]
    for function in functions:
        if function is not node:
            _refuse_inner(function, source)
        remove_jumps(function, lambda s: source.hints(s).scalar, At, source.refuse)
    around = set(source.code.co_freevars)
    _Rewriter(Scope(node, source.function_name), source, recursive, around).run()


def _rewrite(
    function: FunctionType, recursive: bool, print_ast: bool, print_code: bool
) -> FunctionType:
    source = _Source(function)
    kinds = function.__code__.co_flags
    if kinds & (_CO_GENERATOR | _CO_COROUTINE | _CO_ASYNC_GENERATOR):
        kind = "a generator" if kinds & _CO_GENERATOR else "an 'async' function"
        source.fail(
            source.code.co_firstlineno,
            f"'{function.__name__}' is {kind}, which cannot be decorated",
        )
    deepest = source.code.co_firstlineno
    try:
        node = source.parse()
        deepest = _deepest_line(node)
        _print_tree("Input", node, print_ast, print_code)
        _rewrite_function(node, source, recursive)
        _print_tree("Output", node, print_ast, print_code)
        return make(function, node)
    except RecursionError as error:
        found = error
    # Here there is room on the stack again.
    try:
        source.fail(
            deepest,
            f"the function '{function.__name__}' is nested too deeply (an 'elif' is an "
            "'if' in an 'else') for the recursion limit of Python, which is "
            f"{sys.getrecursionlimit()}: have less in one statement, or see "
            "sys.setrecursionlimit()",
        )
    except SyntaxError as error:
        raise error from found


def _deepest_line(node: ast.AST) -> int:
    """The line of the node with the most nodes around it."""
    level: list[ast.AST] = [node]
    line = 0
    while level:
        line = getattr(level[-1], "lineno", line)
        level = [child for parent in level for child in ast.iter_child_nodes(parent)]
    return line


@overload
def syntax(
    f: None = None,
    *,
    recursive: bool = False,
    print_ast: bool = False,
    print_code: bool = False,
) -> Callable[[_T], _T]: ...
@overload
def syntax(
    f: _T,
    *,
    recursive: bool = False,
    print_ast: bool = False,
    print_code: bool = False,
) -> _T: ...
def syntax(
    f: Any = None,
    *,
    recursive: bool = False,
    print_ast: bool = False,
    print_code: bool = False,
) -> Any:
    """Let ``while`` and ``if`` statements of a function work on arrays.

    They become calls of :func:`drjit.while_loop` and :func:`drjit.if_stmt`, in which
    each lane goes its own way. The state consists of the local variables that the
    statement reads or assigns. ``break``, ``continue``, ``return`` and ``else`` of
    loops work in lanes, too. Where a condition is a ``bool``, the statement does what
    it does without the decorator, so one function serves numbers and arrays.

    ``for`` loops and expressions (``a if b else c``, ``and``, ``or``, ``not``) stay as
    they are and take no arrays as conditions: use :func:`drjit.select`, ``&``, ``|``
    and ``~``. [Syntax](../syntax.md) has the rules.

    Args:
        f (function | None): a function written in Python whose source can be found.
            Other decorators go above this one. With ``None``, which is
            ``@dr.syntax(...)`` with parameters, a decorator is returned.
        recursive (bool): also rewrite the functions that are defined inside.
        print_ast (bool): print the syntax trees before and after.
        print_code (bool): print the source before and after.

    Returns:
        function: the rewritten function, a ``staticmethod`` or ``classmethod`` if ``f``
        is one.

    Raises:
        TypeError: ``f`` is not a function written in Python, or is decorated already.
        OSError: its source is not available, as after ``exec()``.
        SyntaxError: it is a generator or ``async``, or has a statement that cannot be
            rewritten; the error shows the line.

    Derivative:
        That of :func:`drjit.while_loop` and :func:`drjit.if_stmt`.

    Example:
        >>> @dr.syntax
        ... def collatz(n):
        ...     steps = UInt(0)
        ...     while n > 1:
        ...         if n % 2 == 0:
        ...             n = n // 2
        ...         else:
        ...             n = 3 * n + 1
        ...         steps += 1
        ...     return steps
        >>> collatz(UInt(1, 6, 27))
        [0, 8, 111]

    See also:
        :func:`drjit.hint`, :func:`drjit.while_loop`, :func:`drjit.if_stmt`
    """
    if f is None:
        return lambda g: syntax(
            g, recursive=recursive, print_ast=print_ast, print_code=print_code
        )
    if isinstance(f, staticmethod | classmethod):
        inner: Any = syntax(
            f.__func__, recursive=recursive, print_ast=print_ast, print_code=print_code
        )
        return type(f)(inner)
    if not isinstance(f, FunctionType):
        raise TypeError(
            "drjit.syntax(): expected a function written in Python, got "
            f"'{type(f).__name__}'"
        )
    if hasattr(f, "__wrapped__"):
        raise TypeError(
            f"drjit.syntax(): '{f.__name__}' has been decorated already. Put "
            "@drjit.syntax next to 'def', below other decorators"
        )
    # Syntax trees are thousands of objects, and no cycles: looking for some among them
    # would take a tenth of the time.
    collects = gc.isenabled()
    gc.disable()
    try:
        return _rewrite(f, recursive, print_ast, print_code)
    finally:
        if collects:
            gc.enable()
