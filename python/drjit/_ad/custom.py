"""Operations whose derivatives the user writes."""

from __future__ import annotations

import functools
from contextlib import contextmanager

import drjit
from drjit import _core

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

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


def _shaped(like: Any, value: Any) -> Any:
    """A gradient with the type and shape of the array that it belongs to."""
    if type(value) is not type(like):
        value = type(like)(value)
    if dr.is_tensor_v(like) and dr.shape(value) != dr.shape(like):
        if dr.width(value) != 1:
            raise ValueError(
                f"drjit.custom(): the gradient has shape {dr.shape(value)}, expected "
                f"{dr.shape(like)}"
            )
        value = dr.reshape(value, (1,) * len(dr.shape(like)))
        value = value + dr.zeros(type(like), dr.shape(like))
    return value


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

    def has(self, leaf: Any) -> bool:
        """Has any gradient come to a detached array?"""
        first = self.first.get(id(leaf))
        if first is None:
            return False
        own = self.gradients[first : first + len(_core._leaves(leaf))]
        return any(gradient is not None for gradient in own)

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
                parts = _core._leaves(_shaped(leaf, own))
                for k, part in enumerate(parts):
                    before = self.gradients[first + k]
                    self.gradients[first + k] = (
                        part if before is None else before + part
                    )
            return leaf

        _core._tree_map("custom", store, tree, value)


class CustomOp:
    """Base of operations whose derivatives you write yourself; see
    :func:`drjit.custom`.

    A subclass defines ``eval()``, and ``forward()`` or ``backward()`` or both. It can
    keep in its attributes what it needs for derivatives. Arguments of ``eval()`` are
    detached, and so is what it returns. The graph keeps the operation as long as its
    results exist: store no more than necessary. [Derivatives](../derivatives.md) has
    examples, such as checkpointing.

    In traversals with ``ADFlag.CreateGraph``, the arguments and results of ``eval()``
    that the operation has kept are tracked while ``forward()`` and ``backward()`` run.
    How other floats that it has kept depend on the arguments is unknown, which is an
    error; ``keeps_constants = True`` in the class promises that they do not.

    Example:
        >>> class Product(dr.CustomOp):
        ...     def eval(self, x, y):
        ...         self.x, self.y = x, y
        ...         return x * y
        ...     def forward(self):
        ...         dx, dy = self.grad_in("x"), self.grad_in("y")
        ...         self.set_grad_out(self.y * dx + self.x * dy)
        ...     def backward(self):
        ...         self.set_grad_in("x", self.y * self.grad_out())
        ...         self.set_grad_in("y", self.x * self.grad_out())
        >>> x, y = Float(2), Float(5)
        >>> dr.enable_grad(x, y)
        >>> dr.backward(dr.custom(Product, x, y))
        >>> x.grad, y.grad
        ([5], [2])

    See also:
        :func:`drjit.custom`, :func:`drjit.replace_grad`
    """

    keeps_constants = False

    def __init__(self) -> None:
        self._in, self._out = _Slots(), _Slots()
        self._arguments: dict[str, Any] = {}
        self._rest: tuple[Any, ...] = ()
        self._result: Any = None
        self._implicit_in: list[Any] = []
        self._implicit_out: list[Any] = []
        # For traversals with CreateGraph: what eval() got and made, and the nodes of
        # all inputs, in arrays of our own.
        self._depends: Any = None  # see _core._custom()
        self._got: list[Any] = []
        self._made: list[Any] = []
        self._nodes: list[Any] = []

    def _lacks(self, method: str) -> NotImplementedError:
        return NotImplementedError(
            f"{type(self).__name__}.{method}(): the class does not define it, which a "
            "subclass of drjit.CustomOp has to"
        )

    def eval(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the operation itself, on detached arguments.

        Args:
            *args: the arguments of :func:`drjit.custom`. A subclass names its own
                parameters.
            **kwargs: its keyword arguments.

        Returns:
            PyTree: the result, on whose arrays derivatives are tracked if an input is
            tracked.
        """
        raise self._lacks("eval")

    def forward(self) -> None:
        """Set the gradient of the result, given those of the arguments.

        Called by forward traversals. The default raises ``NotImplementedError``.
        """
        raise self._lacks("forward")

    def backward(self) -> None:
        """Set the gradients of the arguments, given that of the result.

        Called by reverse traversals. The default raises ``NotImplementedError``.
        """
        raise self._lacks("backward")

    def name(self) -> str:
        """The name of the operation in listings and graphs, by default that of the
        class.
        """
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
        """The gradient of an argument of ``eval()``, to be asked for in ``forward()``.

        Args:
            arg (str | int): the name of a parameter, or a position among ``*args``. The
                name of ``*args`` itself stands for a tuple, that of ``**kwargs`` for a
                dictionary.

        Returns:
            PyTree: of the structure of the argument; zeros where there is no gradient.

        Raises:
            KeyError: there is no such parameter.
            IndexError: there is no such position.
        """
        return self._in.read(self._argument("grad_in", arg))

    def set_grad_in(self, arg: Any, value: Any, /) -> None:
        """Add to the gradient of an argument of ``eval()``, in ``backward()``.

        Args:
            arg (str | int): the argument, as in ``grad_in()``.
            value (PyTree): gradients, in the structure of the argument.
        """
        self._in.write(self._argument("set_grad_in", arg), value)

    def grad_out(self) -> Any:
        """The gradient of the result, to be asked for in ``backward()``.

        Returns:
            PyTree: of the structure of the result; zeros where there is no gradient.
        """
        return self._out.read(self._result)

    def set_grad_out(self, value: Any, /) -> None:
        """Add to the gradient of the result, in ``forward()``.

        Args:
            value (PyTree): gradients, in the structure of the result.
        """
        self._out.write(self._result, value)

    def add_input(self, arg: Any, /) -> None:
        """Declare in ``eval()`` that the operation also depends on other tracked
        arrays.

        They are neither arguments nor results: global parameters, for example.
        :func:`drjit.grad` has their gradient in ``forward()``, :func:`drjit.accum_grad`
        adds to it in ``backward()``.

        Args:
            arg (PyTree): the arrays.
        """
        self._implicit_in.append(arg)

    def add_output(self, arg: Any, /) -> None:
        """Declare in ``eval()`` that other arrays also depend on the operation.

        Args:
            arg (PyTree): arrays that are changed by ``eval()`` and are not part of its
                result.
        """
        self._implicit_out.append(arg)

    def _propagate(
        self, forward: bool, gradients: list[Any], tracked: bool
    ) -> list[Any]:
        """Turn gradients of inputs into those of outputs, or the other way round."""
        given, made = (self._in, self._out) if forward else (self._out, self._in)
        given.gradients[: len(gradients)] = gradients
        made.gradients = [None] * len(made.gradients)
        run = self.forward if forward else self.backward
        try:
            if tracked:
                with self._attached():
                    run()
            else:
                run()
            return made.gradients
        finally:
            given.gradients = [None] * len(given.gradients)
            made.gradients = [None] * len(made.gradients)

    @contextmanager
    def _attached(self) -> Iterator[None]:
        """Have the arguments and results that eval() has seen tracked meanwhile.

        Arguments get the nodes of what they were detached from. Results become those of
        the same operation on these.
        """
        _check_kept(self)
        results = dr.detach(self._out.like)
        _core._custom(self.name(), self, self._nodes, results, self._depends)
        # What eval() returns as it has got it is an argument.
        pairs = [*zip(self._made, results, strict=False)]
        pairs += zip(self._got, self._nodes, strict=False)
        plain = [_core._leaves(array) for array, _ in pairs]
        try:
            for array, tracked in pairs:
                _core._set_leaves(array, _core._leaves(tracked))
            yield
        finally:
            for (array, _), before in zip(pairs, plain, strict=True):
                _core._set_leaves(array, before)


def _kept(op: CustomOp) -> Iterator[tuple[str, Any]]:
    """The attributes of the user's class."""
    for name, value in vars(op).items():
        if name not in _PRIVATE:
            yield name, value
    for cls in type(op).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(op, name):
                yield name, getattr(op, name)


_PRIVATE = frozenset(vars(CustomOp()))
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type, type(dr))


def _check_kept(op: CustomOp) -> None:
    """RuntimeError if it keeps what may depend on the arguments in unknown ways."""
    if type(op).keeps_constants:
        return
    known = {id(array) for array in (*op._got, *op._made)}

    def check(name: str, leaf: Any) -> Any:
        if dr.is_array_v(leaf):
            fine = id(leaf) in known or not dr.is_float_v(leaf) or dr.grad_enabled(leaf)
        else:
            fine = isinstance(leaf, _PLAIN) or callable(leaf)
        if not fine:
            raise RuntimeError(
                f"drjit.traverse(): the operation {type(op).__name__} keeps in its "
                f"attribute {name!r} a {type(leaf).__name__} that is neither an "
                "argument nor a result of eval(), so the derivative of its derivative "
                "is unknown; 'keeps_constants = True' in the class says that it "
                "depends on no argument"
            )
        return leaf

    for name, value in _kept(op):
        _core._tree_map("custom", functools.partial(check, name), value)


def _bind(op: CustomOp, args: Any, kwargs: Any) -> None:
    """Find the parameters of eval() that the arguments belong to."""
    # It takes longer to import than all other modules that this one needs.
    from drjit._signature import signature

    bound = signature(op.eval).bind(*args, **kwargs)
    bound.apply_defaults()
    for name, parameter in bound.signature.parameters.items():
        value = bound.arguments[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            op._rest = value
        elif parameter.kind is parameter.VAR_KEYWORD:
            op._arguments = {**value, **op._arguments}
        op._arguments[name] = value


def custom(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Apply an operation whose derivatives are written by hand.

    An object of the class is made; its ``eval()`` gets the arguments, detached. If one
    of them is tracked, so is the result, and traversals call ``forward()`` and
    ``backward()`` of the object. These may trace, evaluate and differentiate; an
    exception in them ends the traversal.

    Args:
        cls (type): a subclass of :class:`drjit.CustomOp`.
        *args: arguments of ``eval()``, any PyTrees.
        **kwargs: its keyword arguments.

    Returns:
        PyTree: what ``eval()`` returns.

    Raises:
        TypeError: ``cls`` is not such a class.
        NotImplementedError: the class does not define ``eval()``; in a traversal, it
            does not define the method for its direction.

    Derivative:
        What the methods of the class compute. Each result counts as depending on all
        inputs.

    Example:
        >>> class Clipped(dr.CustomOp):
        ...     def eval(self, x):
        ...         return x
        ...     def backward(self):  # the identity, with small gradients
        ...         self.set_grad_in("x", dr.clip(self.grad_out(), -1, 1))
        >>> x = Float(1, 2)
        >>> dr.enable_grad(x)
        >>> dr.backward(dr.custom(Clipped, x) * Float(0.5, 100))
        >>> x.grad
        [0.5, 1]

    See also:
        :class:`drjit.CustomOp`, :func:`drjit.replace_grad`
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
    outputs = dr.detach(result)  # arrays of its own, which become tracked
    if not dr.grad_enabled(*inputs):
        return outputs
    _bind(op, plain_args, plain_kwargs)
    op._in.add((args, kwargs), (plain_args, plain_kwargs))
    op._got = _arrays((plain_args, plain_kwargs))
    for tree in op._implicit_in:
        op._in.add(tree, dr.detach(tree))
    op._nodes = [_core._from_leaves(a, _core._leaves(a)) for a in _arrays(inputs)]
    op._result = dr.detach(outputs)
    op._out.add(outputs, op._result)
    op._made = _arrays(result)
    for tree in op._implicit_out:
        op._out.add(tree, dr.detach(tree))
    outputs_too, op._implicit_in, op._implicit_out = op._implicit_out, [], []
    # From here on they refer to the operation, which must not refer to them.
    _core._custom(op.name(), op, inputs, (outputs, *outputs_too), op._depends)
    return outputs
