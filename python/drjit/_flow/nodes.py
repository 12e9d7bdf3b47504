"""Nodes of syntax trees for what ``@dr.syntax`` generates."""

from __future__ import annotations

import ast
import sys
from typing import Any

from .flags import VALUE as VALUE_LABEL
from .jumps import VALUE

# How the generated code calls what it needs.
LOOP, IF, UNBOUND = "_drjit_while_loop", "_drjit_if_stmt", "_drjit_unbound"
FLAG_LOOP, FLAG_IF = "_drjit_while_loop_flags", "_drjit_if_stmt_flags"
UNLESS = "_drjit_unless"

_LOAD, _STORE = ast.Load(), ast.Store()
_LABELS = {VALUE: VALUE_LABEL}


class At:
    """Makes nodes that stand at the place of a node in the user's text."""

    def __init__(self, node: Any) -> None:
        self.place = {
            "lineno": node.lineno,
            "col_offset": node.col_offset,
            "end_lineno": node.end_lineno,
            "end_col_offset": node.end_col_offset,
        }
        self.made: dict[tuple[str, type], Any] = {}  # one node for each name and use

    def load(self, name: str) -> Any:
        made = self.made.get((name, ast.Load))
        if not made:
            made = ast.Name(name, _LOAD, **self.place)
            self.made[name, ast.Load] = made
        return made

    def store(self, name: str) -> Any:
        made = self.made.get((name, ast.Store))
        if not made:
            made = ast.Name(name, _STORE, **self.place)
            self.made[name, ast.Store] = made
        return made

    def parameter(self, name: str) -> Any:
        made = self.made.get((name, ast.arg))
        if not made:
            made = ast.arg(name, None, **self.place)
            self.made[name, ast.arg] = made
        return made

    def text(self, value: str | bool | None) -> ast.Constant:
        return ast.Constant(value, **self.place)

    def tuple(self, entries: list[Any], context: Any = None) -> ast.Tuple:
        return ast.Tuple(entries, context or _LOAD, **self.place)

    def labels(self, names: list[str]) -> ast.Constant:
        value: Any = tuple(_LABELS.get(name, name) for name in names)
        return ast.Constant(value, **self.place)

    def assign(self, target: Any, value: Any) -> ast.Assign:
        return ast.Assign([target], value, **self.place)

    def call(self, function: str, keywords: dict[str, Any]) -> ast.Call:
        entries = [ast.keyword(k, v, **self.place) for k, v in keywords.items()]
        return ast.Call(self.load(function), [], entries, **self.place)

    def marker(self, name: str) -> ast.Call:
        return ast.Call(self.load(UNBOUND), [self.text(name)], [], **self.place)

    def flag(self, name: str, value: Any) -> Any:
        made: Any = self.assign(self.store(name), value)
        made.flag = name
        return made

    def unless(self, flag: str, condition: Any) -> ast.Call:
        arguments = [self.load(flag), condition]
        return ast.Call(self.load(UNLESS), arguments, [], **self.place)

    def is_flag(self, flag: str, how: Any) -> ast.Compare:
        return ast.Compare(self.load(flag), [how], [self.text(True)], **self.place)

    def mark(self, name: str) -> ast.Try:
        """If a variable is not assigned, assign the marker."""
        assign = self.assign(self.store(name), self.marker(name))
        handler = ast.ExceptHandler(
            self.load("NameError"), None, [assign], **self.place
        )
        look = ast.Expr(self.load(name), **self.place)
        return ast.Try([look], [handler], [], [], **self.place)

    def unmark(self, name: str) -> ast.If:
        """If a variable is the marker, delete it."""
        kind = ast.Attribute(self.load(name), "__class__", ast.Load(), **self.place)
        test = ast.Compare(kind, [ast.Is()], [self.load(UNBOUND)], **self.place)
        delete = ast.Delete([ast.Name(name, ast.Del(), **self.place)], **self.place)
        return ast.If(test, [delete], [], **self.place)

    def function(self, name: str, parameters: list[str], body: list[Any]) -> Any:
        arguments = ast.arguments(
            posonlyargs=[],
            args=[self.parameter(name) for name in parameters],
            vararg=None,
            kwonlyargs=[],
            kw_defaults=[],
            kwarg=None,
            defaults=[],
        )
        made = ast.FunctionDef(name, arguments, body, [], None, **self.place)
        if sys.version_info >= (3, 12):
            made.type_params = []
        return made
