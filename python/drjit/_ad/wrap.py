"""Functions of other frameworks in Dr.Jit, and the other way round, with derivatives.

A function of PyTrees becomes one of a list of tensors here, whatever the framework.
From Dr.Jit into another one it is a custom operation, whose derivatives the framework
computes (``_Bridge``); the other way round it is an operation of the framework, whose
derivatives Dr.Jit computes (``exchange.Program``). What a framework has to provide
stands in :class:`drjit._ad.exchange.Framework`; ``with_torch.py``, ``with_jax.py`` and
``with_tf.py`` do.
"""

from __future__ import annotations

import functools
import types
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

import drjit

from .custom import CustomOp, custom
from .exchange import Framework, Program, Structure, family_of, read, to_tensor

dr: Any = drjit

T = TypeVar("T")

# Name: the package, and ours that connects it.
_FRAMEWORKS = {
    "torch": ("torch", "with_torch"),
    "tf": ("tensorflow", "with_tf"),
    "jax": ("jax", "with_jax"),
}


def _name(role: str, value: Any) -> str:
    """The short name of a framework that was given by name or as its module."""
    if isinstance(value, types.ModuleType):
        value = value.__name__
    if not isinstance(value, str):
        raise TypeError(
            f"drjit.wrap(): {role!r} is of type {type(value).__name__}, expected "
            "'drjit', 'torch', 'tf', 'jax', or one of these modules"
        )
    name = "tf" if value == "tensorflow" else value
    if name != "drjit" and name not in _FRAMEWORKS:
        raise ValueError(
            f"drjit.wrap(): {role!r} is {value!r}, expected 'drjit', 'torch', 'tf', "
            "'jax', or one of these modules"
        )
    return name


@functools.cache
def _framework(name: str) -> Framework:
    """Import a framework, and what connects it."""
    package, module = _FRAMEWORKS[name]
    try:
        import_module(package)
    except ImportError as error:
        raise ImportError(
            f"drjit.wrap(): the package '{package}' cannot be imported ({error}); with "
            f"source or target '{name}' it has to be installed",
            name=package,
        ) from error
    found: Framework = import_module(f"drjit._ad.{module}").FRAMEWORK
    return found


# ------------------------------------------------------- another framework in Dr.Jit


class _Call:
    """A function of the framework's tensors, and the inputs to be differentiated."""

    def __init__(
        self, framework: Framework, function: Callable[..., Any], wanted: list[bool]
    ) -> None:
        self.framework = framework
        self.function = function
        self.wanted = wanted


class _Bridge(CustomOp):
    """A function of another framework, applied to tensors with derivatives."""

    keeps_constants = True  # tensors of the framework: it differentiates these itself

    def eval(self, call: _Call, *tensors: Any) -> Any:
        self.call, self.tensors = call, tensors
        framework = call.framework
        given = [framework.give(t) for t in tensors]
        outputs, self.pull = framework.record(call.function, given, call.wanted)
        self.floats = [framework.is_float(t) for t in outputs]
        module = family_of(tensors)
        return [read(framework, module, t) for t in outputs]

    def name(self) -> str:
        return f"wrap: {self.call.framework.name}"

    def _inputs(self) -> list[int]:
        return [i for i, wanted in enumerate(self.call.wanted) if wanted]

    def backward(self) -> None:
        gradients = [g for g, f in zip(self.grad_out(), self.floats, strict=True) if f]
        framework, wanted = self.call.framework, self.call.wanted
        found: list[Any]
        if dr.grad_enabled(self.tensors, gradients):
            function = framework.pullback(self.call.function, wanted)
            found = _apply(framework, function, [*self.tensors, *gradients])
        else:
            module = family_of(self.tensors)
            given = iter([framework.give(g) for g in gradients])
            pulled = self.pull([next(given) if f else None for f in self.floats])
            found = [None if t is None else read(framework, module, t) for t in pulled]
        for i, gradient in zip(self._inputs(), found, strict=True):
            if gradient is not None:
                self.set_grad_in(i, gradient)

    def forward(self) -> None:
        tangents = [self.grad_in(i) for i in self._inputs()]
        framework = self.call.framework
        function = framework.pushforward(self.call.function, self.call.wanted)
        found = iter(_apply(framework, function, [*self.tensors, *tangents]))
        zero = [dr.zeros(type(t), dr.shape(t)) for t in self.grad_out()]
        self.set_grad_out(
            [next(found) if f else z for f, z in zip(self.floats, zero, strict=True)]
        )


def _apply(
    framework: Framework, function: Callable[..., Any], tensors: list[Any]
) -> list[Any]:
    """Apply a function of a framework's tensors to ours, tracked if one of them is."""
    wanted = [dr.grad_enabled(t) for t in tensors]
    if any(wanted):
        return list(custom(_Bridge, _Call(framework, function, wanted), *tensors))
    outputs = function(*[framework.give(t) for t in tensors])
    module = family_of(tensors)
    return [read(framework, module, t) for t in outputs]


def _into(target: str, function: Any) -> Any:
    """A function of another framework for callers with our arrays."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        framework = _framework(target)
        given = Structure("wrap", (args, kwargs), dr.is_array_v)
        module = family_of(given.leaves)
        made: list[Structure] = []

        def flat(*tensors: Any) -> list[Any]:
            own_args, own_kwargs = given.fill(tensors)
            result = function(*own_args, **own_kwargs)
            made[:] = [Structure("wrap", result, framework.is_tensor)]
            return made[0].take()

        tensors = [to_tensor(module, leaf) for leaf in given.take()]
        outputs = _apply(framework, flat, tensors)
        return made[0].fill(outputs)

    return wrapper


# ------------------------------------------------------- Dr.Jit in another framework


def _out_of(source: str, function: Any) -> Any:
    """A function with our arrays for callers with another framework's."""
    framework = _framework(source)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        given = Structure("wrap", (args, kwargs), framework.is_tensor)
        made: list[Structure] = []

        def flat(*tensors: Any) -> list[Any]:
            own_args, own_kwargs = given.fill(tensors)
            result = function(*own_args, **own_kwargs)
            made[:] = [Structure("wrap", result, dr.is_array_v)]
            module = family_of([*tensors, *made[0].leaves])
            return [to_tensor(module, leaf) for leaf in made[0].take()]

        outputs = framework.apply(Program(flat), given.take())
        return made[0].fill(outputs)

    return wrapper


# ------------------------------------------------------- the decorators


def wrap(
    source: str | types.ModuleType, target: str | types.ModuleType
) -> Callable[[T], T]:
    """Let a function of PyTorch, JAX or TensorFlow be called with Dr.Jit's arrays, or
    vice
    versa.

    A decorator. Arrays in arguments and results are converted between the frameworks;
    everything else is passed on as it is. The function should be pure.

    Flat arrays become tensors with one axis. Nested ones have their components first:
    an ``Array3f`` of 10 lanes has the shape (3, 10). In the other direction, tensors
    become tensors with derivatives (``TensorXf``, ...). Memory is not shared, except
    with JAX. [Exchange](../exchange.md) has complete examples.

    Args:
        source (str | module): the framework of the callers: ``"drjit"``, ``"torch"``,
            ``"jax"``, ``"tf"``, or one of these modules.
        target (str | module): the framework of the function. One of the two is Dr.Jit.

    Returns:
        callable: a decorator. If both are Dr.Jit, it returns the function as it is.

    Raises:
        TypeError: a framework is neither a string nor a module.
        ValueError: a name is unknown, or neither framework is Dr.Jit.
        ImportError: the framework is not installed; with it as target, when the
            function is called.

    Derivative:
        In forward and reverse mode, through the derivatives of both frameworks.

    Evaluation:
        Evaluates the arguments, and the gradients that pass through.

    Example:
        >>> import torch  # doctest: +SKIP
        >>> @dr.wrap(source="drjit", target="torch")  # doctest: +SKIP
        ... def cosine(x):
        ...     return torch.cos(x)
        >>> cosine(Float(0, 1))  # doctest: +SKIP
        [1, 0.540302]

    See also:
        :func:`drjit.custom`
    """
    outside, inside = _name("source", source), _name("target", target)
    if outside == inside == "drjit":
        return lambda function: function
    if "drjit" not in (outside, inside):
        raise ValueError(
            f"drjit.wrap(): 'source' is {outside!r} and 'target' is {inside!r}, "
            "expected 'drjit' for one of them"
        )
    if outside == "drjit":
        return functools.partial(_into, inside)
    _framework(outside)
    return functools.partial(_out_of, outside)


def wrap_ad(
    source: str | types.ModuleType, target: str | types.ModuleType
) -> Callable[[T], T]:
    """Deprecated name of :func:`drjit.wrap`; each call is a ``DeprecationWarning``.

    Args:
        source (str | module): the framework of the callers.
        target (str | module): the framework of the function.

    Returns:
        callable: a decorator.

    Example:
        >>> dr.wrap_ad("drjit", "torch")  # doctest: +SKIP

    See also:
        :func:`drjit.wrap`
    """
    warnings.warn(
        "drjit.wrap_ad() is deprecated, drjit.wrap() is its name now",
        DeprecationWarning,
        stacklevel=2,
    )
    return wrap(source, target)
