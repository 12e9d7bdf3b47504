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
    """Decorator: a function that kernels contain once, and call.

    Without it, the operations of a function are part of the kernel each time that it is
    called. With it, kernels of programs with many calls of a large function are smaller
    and compiled faster; calling costs a little at run time.

    >>> @dr.func
    ... def smooth(x):
    ...     return x * x * (3 - 2 * x)
    >>> smooth(smooth(Float(0, 0.5, 1)))
    [0, 0.5, 1]

    Arguments and results are PyTrees, as in :py:func:`switch`, and masks are treated
    alike: the last argument if it is one, or ``active``. The function has to be pure:
    its results depend on its arguments only. Without traced arrays among the arguments
    it is simply called, unless ``backend`` is given.

    Source: published package, ``drjit.func``.
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
