"""Operations whose derivatives the user writes."""

from __future__ import annotations

import inspect
from typing import Any

import drjit
from drjit import _core

dr: Any = drjit


def _arrays(tree: Any) -> list[Any]:
    """The float arrays with derivatives of a PyTree, in order."""
    found: list[Any] = []

    def note(leaf: Any) -> Any:
        if dr.is_diff_v(leaf) and dr.is_float_v(leaf) and dr.is_array_v(leaf):
            found.append(leaf)
        return leaf

    _core._tree_map("custom", note, tree)
    return found


class _Slots:
    """Gradients of the leaves of arrays, and where each array's begin."""

    def __init__(self) -> None:
        self.first: dict[int, int] = {}
        self.like: list[Any] = []  # detached arrays: types and shapes
        self.gradients: list[Any] = []

    def add(self, tree: Any, like: Any) -> None:
        """Make room for the arrays of a tree; 'like' is the same tree, detached."""
        for array, own in zip(_arrays(tree), _arrays(like), strict=True):
            self.like.append(own)
            self.first[id(own)] = len(self.gradients)
            self.gradients += [None] * len(_core._leaves(array))

    def read(self, tree: Any) -> Any:
        """The gradients of a detached tree."""

        def gradient(leaf: Any) -> Any:
            first = self.first.get(id(leaf)) if dr.is_array_v(leaf) else None
            if first is None:
                return dr.grad(leaf)
            parts = []
            for k, own in enumerate(_core._leaves(leaf)):
                value = self.gradients[first + k]
                zero = dr.zeros(type(own), dr.width(own))
                parts.append(zero if value is None else value)
            return _core._from_leaves(leaf, parts)

        return _core._tree_map("custom", gradient, tree)

    def write(self, tree: Any, value: Any) -> None:
        """Add to the gradients of a detached tree."""

        def store(leaf: Any, own: Any) -> Any:
            first = self.first.get(id(leaf)) if dr.is_array_v(leaf) else None
            if first is not None:
                parts = _core._leaves(
                    own if type(own) is type(leaf) else type(leaf)(own)
                )
                for k, part in enumerate(parts):
                    before = self.gradients[first + k]
                    self.gradients[first + k] = (
                        part if before is None else before + part
                    )
            return leaf

        _core._tree_map("custom", store, tree, value)


class CustomOp:
    """Base of operations with derivatives of their own; see :func:`drjit.custom`.

    A subclass implements ``eval()``, and ``forward()`` or ``backward()`` or both. It
    can keep in its attributes what it needs for derivatives. The arguments of
    ``eval()`` are detached. The graph refers to the operation as long as the results
    do.
    """

    def __init__(self) -> None:
        self._in, self._out = _Slots(), _Slots()
        self._arguments: dict[str, Any] = {}
        self._rest: tuple[Any, ...] = ()
        self._result: Any = None
        self._implicit_in: list[Any] = []
        self._implicit_out: list[Any] = []

    def eval(self, *args: Any, **kwargs: Any) -> Any:
        """The operation itself, on detached arguments."""
        raise NotImplementedError(f"{type(self).__name__}.eval(): not implemented")

    def forward(self) -> None:
        """Set the gradient of the result, given those of the arguments."""
        raise NotImplementedError(f"{type(self).__name__}.forward(): not implemented")

    def backward(self) -> None:
        """Set the gradients of the arguments, given that of the result."""
        raise NotImplementedError(f"{type(self).__name__}.backward(): not implemented")

    def name(self) -> str:
        """The name in diagrams of the graph."""
        return type(self).__name__

    def _argument(self, function: str, key: Any) -> Any:
        if isinstance(key, int) and not isinstance(key, bool):
            if -len(self._rest) <= key < len(self._rest):
                return self._rest[key]
            raise IndexError(
                f"{type(self).__name__}.{function}(): index {key} is out of bounds, "
                f"eval() has {len(self._rest)} variable-length positional arguments"
            )
        if not isinstance(key, str):
            raise TypeError(
                f"{type(self).__name__}.{function}(): the argument is of type "
                f"{type(key).__name__}, expected a name or an index"
            )
        if key not in self._arguments:
            raise KeyError(
                f"{type(self).__name__}.{function}(): eval() has no parameter {key!r}"
            )
        return self._arguments[key]

    def grad_in(self, arg: Any, /) -> Any:
        """The gradient of an argument of ``eval()``, for ``forward()``.

        ``arg`` is the name of the parameter, or a position among ``*args``.
        """
        return self._in.read(self._argument("grad_in", arg))

    def set_grad_in(self, arg: Any, value: Any, /) -> None:
        """Add to the gradient of an argument of ``eval()``, for ``backward()``."""
        self._in.write(self._argument("set_grad_in", arg), value)

    def grad_out(self) -> Any:
        """The gradient of the result, for ``backward()``."""
        return self._out.read(self._result)

    def set_grad_out(self, value: Any, /) -> None:
        """Add to the gradient of the result, for ``forward()``."""
        self._out.write(self._result, value)

    def add_input(self, arg: Any, /) -> None:
        """For ``eval()``: the operation depends on these variables, too."""
        self._implicit_in.append(arg)

    def add_output(self, arg: Any, /) -> None:
        """For ``eval()``: these variables depend on the operation, too."""
        self._implicit_out.append(arg)

    def _propagate(self, forward: bool, gradients: list[Any]) -> list[Any]:
        given, made = (self._in, self._out) if forward else (self._out, self._in)
        given.gradients[: len(gradients)] = gradients
        made.gradients = [None] * len(made.gradients)
        try:
            (self.forward if forward else self.backward)()
            return made.gradients
        finally:
            given.gradients = [None] * len(given.gradients)
            made.gradients = [None] * len(made.gradients)


def _bind(op: CustomOp, args: Any, kwargs: Any) -> None:
    """Find the parameters of eval() that the arguments belong to."""
    bound = inspect.signature(op.eval).bind(*args, **kwargs)
    bound.apply_defaults()
    for name, parameter in bound.signature.parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            op._rest = bound.arguments[name]
        elif parameter.kind is parameter.VAR_KEYWORD:
            op._arguments.update(bound.arguments[name])
        else:
            op._arguments[name] = bound.arguments[name]


def custom(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Apply an operation whose derivatives the user has written.

    ``cls`` is a subclass of :class:`drjit.CustomOp`. Its ``eval()`` gets the other
    arguments, detached, and what it returns depends on all of them. ``forward()`` and
    ``backward()`` are called by traversals. They may trace, evaluate and differentiate;
    an exception ends the traversal. TypeError if ``cls`` is no such class.
    """
    if not (isinstance(cls, type) and issubclass(cls, CustomOp)):
        raise TypeError(
            f"drjit.custom(): the first argument is {cls!r}, expected a subclass of "
            "drjit.CustomOp"
        )
    op = cls.__new__(cls)
    CustomOp.__init__(op)
    if cls.__init__ is not CustomOp.__init__:
        cls.__init__(op)
    plain_args, plain_kwargs = dr.detach((args, kwargs))
    result = op.eval(*plain_args, **plain_kwargs)
    inputs = (args, kwargs, *op._implicit_in)
    if not dr.grad_enabled(*inputs):
        return result
    _bind(op, plain_args, plain_kwargs)
    op._in.add((args, kwargs), (plain_args, plain_kwargs))
    for tree in op._implicit_in:
        op._in.add(tree, dr.detach(tree))
    outputs = dr.detach(result)  # arrays of its own, which become tracked
    op._result = dr.detach(outputs)
    op._out.add(outputs, op._result)
    for tree in op._implicit_out:
        op._out.add(tree, dr.detach(tree))
    outputs_too, op._implicit_in, op._implicit_out = op._implicit_out, [], []
    # From here on they refer to the operation, which must not refer to them.
    _core._custom(op.name(), op._propagate, inputs, (outputs, *outputs_too))
    return outputs
