"""A function of ``@dr.syntax``, made of the tree that its text was rewritten to.

It is compiled among the scopes of the original, with its cells, defaults and
annotations. The functions that generated code calls have cells, too, so that no name
of the user's stands for them.
"""

from __future__ import annotations
import __future__

import ast
import sys
from types import CellType, CodeType, FunctionType

import drjit as dr

from . import flags
from .nodes import ERROR, FLAG_IF, FLAG_LOOP, IF, LOOP, UNBOUND, UNLESS, At
from .unbound import Unbound

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

_FUTURE = {
    name: getattr(__future__, name).compiler_flag
    for name in __future__.all_feature_names
}
_CELLS = {
    LOOP: CellType(dr.while_loop),
    IF: CellType(dr.if_stmt),
    UNBOUND: CellType(Unbound),
    FLAG_LOOP: CellType(flags.while_loop),
    FLAG_IF: CellType(flags.if_stmt),
    UNLESS: CellType(flags.unless),
    ERROR: CellType(BaseException),
}


def _find_code(code: CodeType, path: list[str]) -> CodeType:
    for name in path:
        code = next(
            constant
            for constant in code.co_consts
            if isinstance(constant, CodeType) and constant.co_name == name
        )
    return code


def _compile(function: FunctionType, node: ast.FunctionDef) -> CodeType:
    """Compile a function among the scopes that it was written in, so that private and
    qualified names, and those of outer functions, are what they were."""
    original = function.__code__
    at = At(node)
    path = function.__qualname__.split(".")
    node.decorator_list = []
    arguments = node.args
    arguments.defaults = [at.text(None) for _ in arguments.defaults]
    arguments.kw_defaults = [d and at.text(None) for d in arguments.kw_defaults]
    for argument in ast.walk(arguments):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    node.returns = None
    if sys.version_info >= (3, 12):
        node.type_params = []
    # 'outer.<locals>.Class.method' is a function in a class in a function.
    names = [n for n in path[:-1] if n.isidentifier()]
    local = {n for n, after in zip(path, path[1:], strict=False) if after == "<locals>"}
    names.append(node.name)
    inner: Any = node
    for name in reversed(names[:-1]):
        if name in local:
            inner = at.function(name, [], [inner])
        else:
            inner = at.put(ast.ClassDef(name, [], [], [inner], []))
            if sys.version_info >= (3, 12):
                inner.type_params = []
    body = [inner]
    free = [n for n in original.co_freevars if n != "__class__"]
    if names[0] not in free:
        body.insert(0, at.put(ast.Global([names[0]])))
    module = at.function("_drjit_scope", [*free, *_CELLS], body)
    flags = 0
    for flag in _FUTURE.values():
        flags |= original.co_flags & flag
    code = compile(
        ast.Module([module], []), original.co_filename, "exec", flags, dont_inherit=True
    )
    return _find_code(code, ["_drjit_scope", *names])


def make(original: FunctionType, node: ast.FunctionDef) -> FunctionType:
    """The function that the tree describes, in the place of the original."""
    code = _compile(original, node)
    names = original.__code__.co_freevars
    cells = dict(zip(names, original.__closure__ or (), strict=True))
    cells.update(_CELLS)
    made = FunctionType(
        code,
        original.__globals__,
        original.__name__,
        original.__defaults__,
        tuple(cells[name] for name in code.co_freevars),
    )
    made.__kwdefaults__ = original.__kwdefaults__
    made.__dict__.update(original.__dict__)
    # From Python 3.14 on, what evaluates the annotations when they are asked for.
    lazy = getattr(original, "__annotate__", None)
    annotations = "__annotate__" if lazy else "__annotations__"
    for name in ("__qualname__", "__module__", "__doc__", annotations):
        setattr(made, name, getattr(original, name))
    if sys.version_info >= (3, 12):
        made.__type_params__ = original.__type_params__
    made.__wrapped__ = original  # type: ignore[attr-defined]
    return made
