"""Which variables each statement of a function reads and assigns.

``Scope(function)`` looks at a ``def`` once and puts an ``Effect`` on each statement
(``statement.effect``). All answers err on the safe side: what is said to be assigned
for certain is, and what may be read or assigned is named.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Iterable

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


_NONE: frozenset[str] = frozenset()


class Effect:
    """What running a piece of a program does to variables."""

    __slots__ = (
        "binds", "changes", "ends", "reads", "unbinds", "uses", "values", "writes",
    )  # fmt: skip

    def __init__(self) -> None:
        self.uses: set[str] = set()  # all that are named
        self.values: set[str] = set()  # not only as arrays that are scattered to
        self.reads: set[str] = set()  # may be read before it assigns them
        self.writes: set[str] = set()  # may be assigned
        self.changes: set[str] | frozenset[str] = _NONE  # attributes, entries are
        self.binds: set[str] = set()  # are assigned when it is through
        self.unbinds: set[str] | frozenset[str] = _NONE  # may be deleted
        self.ends = False  # what comes after it is never reached

    def scatter_to(self, name: str) -> None:
        self.uses.add(name)
        if name not in self.binds:
            self.reads.add(name)

    def read(self, name: str) -> None:
        self.uses.add(name)
        self.values.add(name)
        if name not in self.binds:
            self.reads.add(name)

    def bind(self, name: str) -> None:
        self.uses.add(name)
        self.values.add(name)
        self.writes.add(name)
        self.binds.add(name)

    def change(self, name: str) -> None:
        self.changes |= {name}

    def unbind(self, name: str) -> None:
        self.read(name)
        self.writes.add(name)
        self.unbinds |= {name}
        self.binds.discard(name)

    def maybe(self, other: Effect) -> None:
        """Then the other happens, or part of it."""
        self.uses |= other.uses
        self.values |= other.values
        self.reads |= other.reads - self.binds
        self.writes |= other.writes
        if other.changes:
            self.changes |= other.changes
        if other.unbinds:
            self.unbinds |= other.unbinds
            self.binds -= other.unbinds

    def then(self, other: Effect) -> None:
        """Then the other happens."""
        self.maybe(other)
        self.binds |= other.binds
        self.ends = self.ends or other.ends

    def one_of(self, others: list[Effect]) -> None:
        """Then one of the others happens."""
        for other in others:
            self.maybe(other)
        through = [other.binds for other in others if not other.ends]
        if through:
            self.binds |= set.intersection(*through)
        else:
            self.ends = True


# Which arguments functions of drjit scatter to, by place and by name.
TARGETS: dict[str, set[int | str | None]] = {
    "scatter": {0, "target"},
    "scatter_add": {0, "target"},
    "scatter_add_kahan": {0, 1, "target_1", "target_2"},
    "scatter_cas": {0, "target"},
    "scatter_exch": {0, "target"},
    "scatter_inc": {0, "target"},
    "scatter_reduce": {1, "target"},
}

# What to visit of a node, in the order in which it is evaluated.
_ORDER: dict[type, tuple[str, ...]] = {
    ast.NamedExpr: ("value", "target"),
    ast.UnaryOp: ("operand",),
    ast.Expr: ("value",),
    ast.Starred: ("value",),
    ast.Tuple: ("elts",),
    ast.List: ("elts",),
}


class Scope:
    """The variables of a function."""

    def __init__(
        self, function: Function, function_name: Callable[[Any], str | None]
    ) -> None:
        self.function = function
        self.function_name = function_name  # of drjit, that an expression stands for
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.definitions: set[str] = set()  # by def, class, import
        self.assigned: set[str] = set()  # in any other way
        self.captured: set[str] = set()  # used by functions defined in this one
        self.captured_values: set[str] = set()  # and not only scattered to
        self.captures: dict[str, set[str]] = {}  # by such a function: what it uses
        self.value_captures: dict[str, set[str]] = {}  # and does not only scatter to
        self.inner: list[Scope] = []
        self.effect = Effect()
        self._statements: list[Any] = []
        arguments = function.args
        self.parameters = [
            *arguments.posonlyargs,
            *arguments.args,
            *arguments.kwonlyargs,
            *(a for a in (arguments.vararg, arguments.kwarg) if a),
        ]
        self.assigned.update(a.arg for a in self.parameters)
        if isinstance(function, ast.Lambda):
            self._visit(function.body, self.effect)
        else:
            self.effect = self._block(function.body)
        self._finish()

    def _finish(self) -> None:
        outer = self.globals | self.nonlocals
        self.locals = (self.assigned | self.definitions) - outer
        self.free = (self.effect.uses | self.captured) - self.locals - self.globals
        self.free_values = self.free & (self.effect.values | self.captured_values)
        self.captured -= self.globals
        #: those that can be part of a state
        self.variables = self.assigned | self.nonlocals
        #: those of them that others see
        self.outer = self.nonlocals | (self.globals & self.assigned)
        if self.captures:
            self._follow_calls()

    def _follow_calls(self) -> None:
        """A function that names an inner one may call it: it uses what that uses."""
        for captures in (self.captures, self.value_captures):
            changed = True
            while changed:
                changed = False
                for names in captures.values():
                    for name in captures.keys() & names:
                        changed = changed or not captures[name] <= names
                        names |= captures[name]
        for statement in self._statements:
            for name in self.captures.keys() & statement.effect.uses:
                statement.effect.uses |= self.captures[name]
                statement.effect.values |= self.value_captures[name]
                statement.effect.reads |= self.captures[name]

    # ------------------------------------------------------------ expressions

    def _visit(self, node: Any, effect: Effect) -> None:
        kind = node.__class__
        rule = _EXPRESSIONS.get(kind)
        if rule:
            rule(self, node, effect)
            return
        for field in _ORDER.get(kind, node._fields):
            value = getattr(node, field)
            if value.__class__ is list:
                for item in value:
                    if isinstance(item, ast.AST):
                        self._visit(item, effect)
            elif isinstance(value, ast.AST):
                self._visit(value, effect)

    def _part(self, node: ast.Attribute | ast.Subscript, effect: Effect) -> None:
        """An attribute or entry, perhaps as a target."""
        self._visit(node.value, effect)
        if isinstance(node, ast.Subscript):
            self._visit(node.slice, effect)
        base: Any = node
        while isinstance(base, ast.Attribute | ast.Subscript):
            base = base.value
        if not isinstance(node.ctx, ast.Load) and isinstance(base, ast.Name):
            effect.change(base.id)

    def _each(self, nodes: Iterable[ast.AST | None], effect: Effect) -> None:
        for node in nodes:
            if node is not None:
                self._visit(node, effect)

    def _name(self, node: ast.Name, effect: Effect) -> None:
        kind = node.ctx.__class__
        if kind is ast.Load:
            effect.read(node.id)
        elif kind is ast.Store:
            self._store(node.id, effect)
        else:
            self._delete(node.id, effect)

    def _call(self, node: ast.Call, effect: Effect) -> None:
        """An array that is scattered to stays the caller's."""
        targets = TARGETS.get(self.function_name(node.func) or "", set())
        self._visit(node.func, effect)
        named = [(keyword.arg, keyword.value) for keyword in node.keywords]
        for place, argument in [*enumerate(node.args), *named]:
            if place in targets and isinstance(argument, ast.Name):
                effect.scatter_to(argument.id)
            else:
                self._visit(argument, effect)

    def _store(self, name: str, effect: Effect) -> None:
        self.assigned.add(name)
        effect.bind(name)

    def _delete(self, name: str, effect: Effect) -> None:
        self.assigned.add(name)
        effect.unbind(name)

    def _perhaps(self, nodes: list[Any], effect: Effect) -> None:
        if not nodes:
            return
        part = Effect()
        self._each(nodes, part)
        effect.maybe(part)

    def _constant(self, node: ast.Constant, effect: Effect) -> None:
        """Nothing happens."""

    def _bin_op(self, node: ast.BinOp, effect: Effect) -> None:
        self._visit(node.left, effect)
        self._visit(node.right, effect)

    def _bool_op(self, node: ast.BoolOp, effect: Effect) -> None:
        self._visit(node.values[0], effect)
        self._perhaps(node.values[1:], effect)

    def _if_exp(self, node: ast.IfExp, effect: Effect) -> None:
        self._visit(node.test, effect)
        self._perhaps([node.body, node.orelse], effect)

    def _compare(self, node: ast.Compare, effect: Effect) -> None:
        self._visit(node.left, effect)
        self._visit(node.comparators[0], effect)
        self._perhaps(node.comparators[1:], effect)

    def _comprehension(self, node: Any, effect: Effect) -> None:
        """Its targets are variables of its own, but ``:=`` assigns to ours."""
        self._visit(node.generators[0].iter, effect)
        own = {
            name.id
            for generator in node.generators
            for name in ast.walk(generator.target)
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
        }
        assigned = own - self.assigned
        part = Effect()
        self._each((generator.target for generator in node.generators), part)
        for field in ("elt", "key", "value"):
            self._each([getattr(node, field, None)], part)
        for place, generator in enumerate(node.generators):
            self._each([generator.iter] if place else [], part)
            self._each(generator.ifs, part)
        self.assigned -= assigned
        for names in (part.uses, part.values, part.reads, part.writes):
            names -= own
        if isinstance(node, ast.GeneratorExp):
            self.captured |= part.uses
            self.captured_values |= part.values
        effect.maybe(part)

    def _enter(self, node: Function, effect: Effect) -> Scope:
        """A function in this one."""
        arguments = node.args
        self._each(arguments.defaults, effect)
        self._each(arguments.kw_defaults, effect)
        scope = Scope(node, self.function_name)
        self.inner.append(scope)
        self.captured |= scope.free
        self.captured_values |= scope.free_values
        return scope

    def _lambda(self, node: ast.Lambda, effect: Effect) -> None:
        scope = self._enter(node, effect)
        for name in scope.free - scope.free_values:
            effect.scatter_to(name)
        for name in scope.free_values:
            effect.read(name)

    # ------------------------------------------------------------ statements

    def _block(self, statements: list[Any]) -> Effect:
        total = Effect()
        for statement in statements:
            effect = statement.effect = Effect()
            special = _STATEMENTS.get(statement.__class__)
            if special:
                special(self, statement, effect)
            else:
                self._visit(statement, effect)
            self._statements.append(statement)
            total.then(effect)
        return total

    def _assign(self, node: ast.Assign, effect: Effect) -> None:
        self._visit(node.value, effect)
        for target in node.targets:
            self._visit(target, effect)

    def _aug_assign(self, node: ast.AugAssign, effect: Effect) -> None:
        if isinstance(node.target, ast.Name):
            effect.read(node.target.id)
        self._visit(node.value, effect)
        self._visit(node.target, effect)

    def _ann_assign(self, node: ast.AnnAssign, effect: Effect) -> None:
        if node.value:
            self._visit(node.value, effect)
            self._visit(node.target, effect)
        elif isinstance(node.target, ast.Name):
            self.assigned.add(node.target.id)

    def _test(self, node: Any, effect: Effect) -> None:
        """The condition of a statement, whose effect is kept apart, too."""
        node.tested = Effect()
        self._visit(node.test, node.tested)
        effect.then(node.tested)

    def _if(self, node: ast.If, effect: Effect) -> None:
        self._test(node, effect)
        effect.one_of([self._block(node.body), self._block(node.orelse)])

    def _while(self, node: ast.While, effect: Effect) -> None:
        self._test(node, effect)
        effect.maybe(self._block(node.body))
        if node.orelse:
            effect.maybe(self._block(node.orelse))

    def _for(self, node: ast.For, effect: Effect) -> None:
        self._visit(node.iter, effect)
        part = Effect()
        self._visit(node.target, part)
        part.then(self._block(node.body))
        effect.maybe(part)
        effect.maybe(self._block(node.orelse))

    def _with(self, node: ast.With, effect: Effect) -> None:
        self._each(node.items, effect)
        effect.maybe(self._block(node.body))  # it may swallow an exception

    def _try(self, node: ast.Try, effect: Effect) -> None:
        through = self._block(node.body)
        effect.maybe(through)
        ways = [through]
        for handler in node.handlers:
            way = Effect()
            self._each([handler.type], way)
            if handler.name:
                self._store(handler.name, way)
            way.then(self._block(handler.body))
            if handler.name:
                self._delete(handler.name, way)
                way.reads.discard(handler.name)
            ways.append(way)
        otherwise = self._block(node.orelse)
        effect.maybe(otherwise)
        through.binds |= otherwise.binds
        through.ends = through.ends or otherwise.ends
        effect.one_of(ways)
        effect.then(self._block(node.finalbody))

    def _match(self, node: ast.Match, effect: Effect) -> None:
        self._visit(node.subject, effect)
        for case in node.cases:
            part = Effect()
            for pattern in ast.walk(case.pattern):
                for field in ("name", "rest"):
                    if name := getattr(pattern, field, None):
                        self._store(name, part)
            self._each([case.pattern, case.guard], part)
            part.then(self._block(case.body))
            effect.maybe(part)

    def _jump(self, node: Any, effect: Effect) -> None:
        for field in ("exc", "cause", "value"):
            self._each([getattr(node, field, None)], effect)
        effect.ends = True

    def _function(self, node: ast.FunctionDef, effect: Effect) -> None:
        self._each(node.decorator_list, effect)
        scope = self._enter(node, effect)
        self.captures.setdefault(node.name, set()).update(scope.free)
        self.value_captures.setdefault(node.name, set()).update(scope.free_values)
        self._define(node.name, effect)

    def _class(self, node: ast.ClassDef, effect: Effect) -> None:
        for part in (node.decorator_list, node.bases, node.keywords):
            self._each(part, effect)
        before = self.assigned.copy(), self.definitions.copy()
        body = self._block(node.body)
        self.assigned, self.definitions = before
        for name in body.uses:
            effect.read(name)
        self.captured |= body.uses
        self.captured_values |= body.uses
        self._define(node.name, effect)

    def _define(self, name: str, effect: Effect) -> None:
        effect.bind(name)
        self.definitions.add(name)

    def _import(self, node: ast.Import | ast.ImportFrom, effect: Effect) -> None:
        for alias in node.names:
            self._define(alias.asname or alias.name.split(".")[0], effect)

    def _global(self, node: ast.Global, effect: Effect) -> None:
        self.globals.update(node.names)

    def _nonlocal(self, node: ast.Nonlocal, effect: Effect) -> None:
        self.nonlocals.update(node.names)


_Rule = Callable[[Scope, Any, Effect], None]

_EXPRESSIONS: dict[type, _Rule] = {
    ast.Name: Scope._name,
    ast.Call: Scope._call,
    ast.BoolOp: Scope._bool_op,
    ast.IfExp: Scope._if_exp,
    ast.BinOp: Scope._bin_op,
    ast.Compare: Scope._compare,
    ast.Attribute: Scope._part,
    ast.Subscript: Scope._part,
    ast.Constant: Scope._constant,
    ast.ListComp: Scope._comprehension,
    ast.SetComp: Scope._comprehension,
    ast.DictComp: Scope._comprehension,
    ast.GeneratorExp: Scope._comprehension,
    ast.Lambda: Scope._lambda,
}
_STATEMENTS: dict[type, _Rule] = {
    ast.Assign: Scope._assign,
    ast.AugAssign: Scope._aug_assign,
    ast.AnnAssign: Scope._ann_assign,
    ast.If: Scope._if,
    ast.While: Scope._while,
    ast.For: Scope._for,
    ast.AsyncFor: Scope._for,
    ast.With: Scope._with,
    ast.AsyncWith: Scope._with,
    ast.Try: Scope._try,
    ast.Match: Scope._match,
    ast.Return: Scope._jump,
    ast.Raise: Scope._jump,
    ast.Break: Scope._jump,
    ast.Continue: Scope._jump,
    ast.FunctionDef: Scope._function,
    ast.AsyncFunctionDef: Scope._function,
    ast.ClassDef: Scope._class,
    ast.Import: Scope._import,
    ast.ImportFrom: Scope._import,
    ast.Global: Scope._global,
    ast.Nonlocal: Scope._nonlocal,
}
if hasattr(ast, "TryStar"):  # Python 3.11
    _STATEMENTS[ast.TryStar] = Scope._try
