"""Functions that stay functions in kernels."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any, TypeVar

import drjit as dr

from .. import _family

_core: Any = importlib.import_module("drjit._core")

F = TypeVar("F", bound=Callable[..., Any])


def func(f: F | None = None, *, backend: dr.JitBackend | None = None) -> Any:
    """Make a function that kernels contain once and call, instead of a copy for each
    call.

    A decorator. Kernels of programs with many calls of a large function become smaller
    and are compiled faster; each call costs a little at run time.

    Masks are treated as in :func:`drjit.switch`: one that is the last argument, or
    named ``active``, switches lanes off, and their results are zero. The function is
    traced anew for each call and should be pure: as in the body of a recorded loop, it
    cannot read array contents.

    Args:
        f (callable | None): the function. Arguments and results are PyTrees. With
            ``None``, which is ``@dr.func(backend=...)``, a decorator is returned.
        backend (JitBackend | None): the backend of calls without traced arrays among
            their arguments. ``None``: these call ``f`` as it is.

    Returns:
        callable: the decorated function.

    Raises:
        TypeError: ``f`` is not callable.

    Derivative:
        In both directions; the derivative of a call is a call.

    Example:
        >>> @dr.func
        ... def smooth(x):
        ...     return x * x * (3 - 2 * x)
        >>> smooth(smooth(Float(0, 0.25, 1)))
        [0, 0.0656128, 1]

    See also:
        :func:`drjit.switch`
    """
    if f is None:
        return functools.partial(func, backend=backend)
    if not callable(f):
        raise TypeError(
            f"drjit.func(): 'f' is of type {type(f).__name__}, expected a callable"
        )

    @functools.wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        module = _family.traced_in("func", (args, kwargs))
        if module is None:
            if backend is None:
                return f(*args, **kwargs)
            module = _family.of_backend(backend)
        flag = dr.JitFlag.OptimizeCalls
        optimise = dr.flag(flag)

        def call(f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            with dr.scoped_set_flag(flag, optimise):  # for the calls in it
                return f(*args, **kwargs)

        with dr.scoped_set_flag(flag, False):  # it would remove a call of one function
            only = module.UInt(1)
            return _core._dispatch(only, (f,), call, [*args], kwargs, None, f.__name__)

    return wrapper
