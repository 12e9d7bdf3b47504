"""Nodes of syntax trees for what ``@dr.syntax`` generates."""

from __future__ import annotations

import ast
import sys
from typing import TypeVar

from .flags import VALUE as VALUE_LABEL
from .jumps import VALUE

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

# How the generated code calls what it needs.
LOOP, IF, UNBOUND = "_drjit_while_loop", "_drjit_if_stmt", "_drjit_unbound"
FLAG_LOOP, FLAG_IF = "_drjit_while_loop_flags", "_drjit_if_stmt_flags"
UNLESS = "_drjit_unless"
ERROR = "_drjit_error"

_Node = TypeVar("_Node", bound=ast.AST)

_LOAD, _STORE = ast.Load(), ast.Store()
_LABELS = {VALUE: VALUE_LABEL}


class At:
    """Makes nodes that stand at the place of a node in the user's text."""

    def __init__(self, node: Any) -> None:
        self.line, self.column = node.lineno, node.col_offset
        self.end_line, self.end_column = node.end_lineno, node.end_col_offset
        # One node for each name and use, and for each list of parameters.
        self.loads: dict[str, Any] = {}
        self.stores: dict[str, Any] = {}
        self.parameters: dict[tuple[str, ...], Any] = {}

    def put(self, node: _Node) -> _Node:
        """Give a node the place. As arguments of its constructor, the four numbers
        would take longer than the node."""
        placed: Any = node
        placed.lineno = self.line
        placed.col_offset = self.column
        placed.end_lineno = self.end_line
        placed.end_col_offset = self.end_column
        return node

    def load(self, name: str) -> Any:
        made = self.loads.get(name)
        if not made:
            made = self.loads[name] = self.put(ast.Name(name, _LOAD))
        return made

    def store(self, name: str) -> Any:
        made = self.stores.get(name)
        if not made:
            made = self.stores[name] = self.put(ast.Name(name, _STORE))
        return made

    def arguments(self, names: list[str]) -> Any:
        key = tuple(names)
        made = self.parameters.get(key)
        if not made:
            args = [self.put(ast.arg(name, None)) for name in names]
            made = ast.arguments([], args, None, [], [], None, [])
            self.parameters[key] = made
        return made

    def text(self, value: str | bool | None) -> ast.Constant:
        return self.put(ast.Constant(value))

    def tuple(self, entries: list[Any], context: Any = None) -> ast.Tuple:
        return self.put(ast.Tuple(entries, context or _LOAD))

    def labels(self, names: list[str]) -> ast.Constant:
        value: Any = tuple(_LABELS.get(name, name) for name in names)
        return self.put(ast.Constant(value))

    def assign(self, target: Any, value: Any) -> ast.Assign:
        return self.put(ast.Assign([target], value))

    def call(
        self, function: str, arguments: list[Any], keywords: dict[str, Any]
    ) -> ast.Call:
        """A call, with few keywords: each takes as long as two arguments."""
        entries = [self.put(ast.keyword(k, v)) for k, v in keywords.items()]
        return self.put(ast.Call(self.load(function), arguments, entries))

    def marker(self, name: str) -> ast.Call:
        return self.put(ast.Call(self.load(UNBOUND), [self.text(name)], []))

    def flag(self, name: str, value: Any) -> Any:
        made: Any = self.assign(self.store(name), value)
        made.flag = name
        return made

    def unless(self, flag: str, condition: Any) -> ast.Call:
        arguments = [self.load(flag), condition]
        return self.put(ast.Call(self.load(UNLESS), arguments, []))

    def is_flag(self, flag: str, how: Any) -> ast.Compare:
        return self.put(ast.Compare(self.load(flag), [how], [self.text(True)]))

    def mark(self, name: str) -> ast.Try:
        """If a variable is not assigned, assign the marker."""
        assign = self.assign(self.store(name), self.marker(name))
        handler = self.put(ast.ExceptHandler(self.load("NameError"), None, [assign]))
        look = self.put(ast.Expr(self.load(name)))
        return self.put(ast.Try([look], [handler], [], []))

    def unmark(self, name: str) -> ast.If:
        """If a variable is the marker, delete it."""
        kind = self.put(ast.Attribute(self.load(name), "__class__", ast.Load()))
        test = self.put(ast.Compare(kind, [ast.Is()], [self.load(UNBOUND)]))
        delete = self.put(ast.Delete([self.put(ast.Name(name, ast.Del()))]))
        return self.put(ast.If(test, [delete], []))

    def function(self, name: str, parameters: list[str], body: list[Any]) -> Any:
        made = self.put(
            ast.FunctionDef(name, self.arguments(parameters), body, [], None)
        )
        if sys.version_info >= (3, 12):
            made.type_params = []
        return made
