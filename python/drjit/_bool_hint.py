"""What to write instead, where a program asks an array for a single truth value.

``and``, ``or``, ``not``, chained comparisons, ``if``, ``while``, ``assert`` and
``a if m else b`` all call ``bool()``. The error of an array with several entries shows
the expression at fault, and what does the same by entry. Called only once the error
is there, so that nothing here costs a program that is right.
"""

from __future__ import annotations

import ast
import functools
import itertools
import linecache
import sys

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from types import FrameType

# Where the interpreter does not say which expression runs (before CPython 3.11), or the
# source is not at hand.
ANYWHERE = (
    "for a decision by entry write '&', '|' and '~' instead of 'and', 'or' and 'not', "
    "drjit.select(m, a, b) instead of 'a if m else b', and decorate a function that "
    "has 'if' or 'while' with @drjit.syntax"
)
REDUCE = "reduce it with drjit.all() or drjit.any()"
LONGEST = 60  # a program's expression of more columns is not written out again
OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    ast.And: ("and", "&"),
    ast.Or: ("or", "|"),
}
COMPARED: dict[type[ast.AST], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
STATEMENTS: dict[type[ast.AST], str] = {ast.If: "an 'if'", ast.While: "a 'while'"}
CALLS = {
    "max": "write drjit.maximum() instead of max(), or drjit.max() for the largest "
    "entry of one array",
    "min": "write drjit.minimum() instead of min(), or drjit.min() for the smallest "
    "entry of one array",
    "any": "write drjit.any() instead of any()",
    "all": "write drjit.all() instead of all()",
}
ATOMS = (ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.Constant)

Span = tuple[int, int, int, int]  # first and last line, first column and the one behind


@functools.lru_cache(maxsize=4)
def _parse(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # the file has changed since it was imported


def _position(frame: FrameType) -> Span | None:
    """Where the instruction that runs stands, in bytes as in syntax trees."""
    if sys.version_info < (3, 11):
        return None
    rows = frame.f_code.co_positions()
    found = next(itertools.islice(rows, frame.f_lasti // 2, None), None)
    if found is None or None in found:
        return None
    line, last, column, end = found
    return line, last, column, end  # type: ignore[return-value]


def _span(node: ast.AST) -> Span | None:
    line = getattr(node, "lineno", None)
    if line is None:
        return None
    return line, node.end_lineno, node.col_offset, node.end_col_offset  # type: ignore


def _contains(own: Span, at: Span) -> bool:
    begins = (own[0], own[2]) <= (at[0], at[2])
    return begins and (at[1], at[3]) <= (own[1], own[3])


def _path(tree: ast.AST, at: Span) -> list[ast.AST]:
    """The nodes around a position, outermost first."""
    path = [tree]
    below = list(ast.iter_child_nodes(tree))
    while below:
        node = below.pop()
        span = _span(node)
        if span and _contains(span, at):
            path.append(node)
            below.clear()
        if not span or path[-1] is node:  # 'for x in y if z' has no place itself
            below.extend(ast.iter_child_nodes(node))
    # Some instructions have the place of the statement.
    while isinstance(path[-1], ast.If | ast.While | ast.Assert):
        path.append(path[-1].test)
    return path


def _text(source: str, node: ast.AST) -> str:
    """An expression as the program has it; '...' if it goes over several lines."""
    found = ast.get_source_segment(source, node) if source else None
    return found if found and "\n" not in found else "..."


def _short(text: str, instead: str) -> str:
    return text if len(text) <= LONGEST and "..." not in text else instead


def _is_chain(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) and len(node.ops) > 1


def _operand(source: str, node: ast.AST) -> str:
    """An expression by entry, in parentheses unless it needs none."""
    text = _by_entry(source, node)
    atom = isinstance(node, ATOMS) or text.startswith("~")
    return text if atom else f"({text})"


def _by_entry(source: str, node: ast.AST) -> str:
    """The expression with the operators that work by entry."""
    if isinstance(node, ast.BoolOp):
        sign = OPERATORS[type(node.op)][1]
        return f" {sign} ".join(_operand(source, value) for value in node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return "~" + _operand(source, node.operand)
    if isinstance(node, ast.Compare) and _is_chain(node):
        names = [_text(source, value) for value in (node.left, *node.comparators)]
        signs = [COMPARED.get(type(op), "...") for op in node.ops]
        links = zip(names, signs, names[1:], strict=False)
        return " & ".join(f"({a} {sign} {b})" for a, sign, b in links)
    return _text(source, node)


def _operator(source: str, node: ast.AST) -> str | None:
    """The remedy where this expression takes truth values itself."""
    wanted = _by_entry(source, node)
    if isinstance(node, ast.BoolOp):
        word, sign = OPERATORS[type(node.op)]
        return f"write '{_short(wanted, sign)}' instead of '{word}'"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return f"write '{_short(wanted, '~')}' instead of 'not'"
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
        return "write drjit.any(array == value) instead of 'in'"
    if _is_chain(node):
        wanted = _short(wanted, "(a < b) & (b < c)")
        return f"write '{wanted}' instead of the chained comparison"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return CALLS.get(node.func.id)
    return None


def _use(
    source: str, parent: ast.AST, node: ast.AST, traced: bool, symbolic: bool
) -> str | None:
    """The remedy where 'parent', which is no operator, takes the value of 'node'."""
    loops = getattr(parent, "generators", [])  # of a comprehension
    if any(node in loop.ifs for loop in loops) and not symbolic:
        return REDUCE
    if getattr(parent, "test", None) is not node:
        return None
    if isinstance(parent, ast.IfExp):
        parts = [_text(source, part) for part in (parent.body, parent.orelse)]
        wanted = ", ".join([_by_entry(source, node), *parts])
        wanted = f"drjit.select({_short(wanted, 'm, a, b')})"
        return f"write '{wanted}' instead of 'a if m else b'"
    if isinstance(parent, ast.Assert):
        if symbolic:
            return "write drjit.assert_true() instead of 'assert'"
        return "write 'assert drjit.all(...)'"
    word = STATEMENTS.get(type(parent))
    if not word or traced:
        return None
    text = f"for {word} by entry decorate the function with @drjit.syntax"
    return text if symbolic else f"{text}, for one decision {REDUCE}"


def _traced(path: list[ast.AST]) -> bool:
    """Is this within a function that @dr.syntax has transformed?"""
    return any(
        "syntax" in ast.unparse(decorator)
        for node in path
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
    )


def _marked(source: str, node: ast.AST) -> str:
    """The line of an expression, and a line with carets under it."""
    line = source.splitlines()[node.lineno - 1]  # type: ignore[attr-defined]
    raw = line.encode()
    start = len(raw[: node.col_offset].decode())  # type: ignore[attr-defined]
    end = len(line.rstrip())
    if node.end_lineno == node.lineno:  # type: ignore[attr-defined]
        end = len(raw[: node.end_col_offset].decode())  # type: ignore[attr-defined]
    indent = len(line) - len(line.lstrip())
    carets = " " * (start - indent) + "^" * max(end - start, 1)
    return f"\n    {line.strip()}\n    {carets}"


def _climb(
    path: list[ast.AST], source: str, symbolic: bool
) -> tuple[list[str], ast.AST | None]:
    """The remedies, and the expression to mark; None if none takes a truth value."""
    traced = _traced(path)
    node = path.pop()
    while path and isinstance(path[-1], ast.BoolOp | ast.UnaryOp):
        node = path.pop()  # all of 'x and not y'
    operator = _operator(source, node)
    use = _use(source, path[-1], node, traced, symbolic) if path else None
    remedies = [found for found in (operator, use) if found]
    return remedies, node if remedies else None


def _remedy(frame: FrameType, mask: bool, symbolic: bool) -> str:
    """What follows the message."""
    file = frame.f_code.co_filename
    at = _position(frame)
    source = "".join(linecache.getlines(file, frame.f_globals)) if at else ""
    tree = _parse(source) if source else None
    if not at or not tree:
        return f"; {ANYWHERE}" if symbolic else f"; {REDUCE}; {ANYWHERE}"
    # Numbers have to be compared first: their expressions are not written out.
    remedies, marked = _climb(_path(tree, at), source if mask else "", symbolic)
    if marked:
        return "; " + "; ".join(remedies) + _marked(source, marked)
    return "" if symbolic else f"; {REDUCE}"


def explain(error: Exception, mask: bool, symbolic: bool) -> None:
    """Add to the message of an exception what the calling program should write.

    The array is a ``mask``, or holds numbers. A ``symbolic`` one has no value that
    could be reduced.
    """
    frame = sys._getframe(1)
    home = str(frame.f_globals.get("__name__", ""))
    if home.partition(".")[0] != "drjit":
        error.args = (str(error) + _remedy(frame, mask, symbolic),)
    elif not symbolic:
        error.args = (f"{error}; {REDUCE}",)
