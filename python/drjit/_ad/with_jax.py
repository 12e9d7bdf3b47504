"""The exchange of derivatives with JAX: see exchange.py."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax  # type: ignore[import-not-found,unused-ignore]
import jax.numpy as jnp  # type: ignore[import-not-found,unused-ignore]
import numpy as np
from jax.extend.core import Primitive  # type: ignore[import-not-found,unused-ignore]
from jax.interpreters import (  # type: ignore[import-not-found,unused-ignore]
    ad,
    batching,
    mlir,
)

import drjit

from .exchange import Function, Program, choose, merge, read

dr: Any = drjit


def _is_float(tensor: Any) -> bool:
    return bool(jnp.issubdtype(tensor.dtype, jnp.floating))


class _Jax:
    name = "jax"

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, jax.Array)

    def is_float(self, tensor: Any) -> bool:
        return _is_float(tensor)

    def entries(self, tensor: Any) -> str:
        return str(tensor.dtype)

    def give(self, own: Any) -> Any:
        if dr.itemsize_v(own) == 8 and not jax.config.jax_enable_x64:
            return _narrow(own)
        return own.jax()

    def take(self, tensor: Any) -> Any:
        return np.asarray(tensor)

    def record(
        self, function: Function, tensors: list[Any], wanted: list[bool]
    ) -> tuple[list[Any], Callable[[list[Any]], list[Any]]]:
        flags: list[bool] = []
        found, pull_floats, rest = jax.vjp(
            _floats(function, tensors, wanted, flags),
            *choose(wanted, tensors),
            has_aux=True,
        )
        outputs = merge(flags, found, merge([not f for f in flags], rest, flags))

        def pull(gradients: list[Any]) -> list[Any]:
            return list(pull_floats(tuple(choose(flags, gradients))))

        return outputs, pull

    def pullback(self, function: Function, wanted: list[bool]) -> Function:
        def pull(*tensors: Any) -> list[Any]:
            n = len(wanted)
            floats = _floats(function, tensors[:n], wanted, [])
            back = jax.vjp(floats, *choose(wanted, tensors[:n]), has_aux=True)[1]
            return list(back(tuple(tensors[n:])))

        return pull

    def pushforward(self, function: Function, wanted: list[bool]) -> Function:
        def push(*tensors: Any) -> list[Any]:
            n = len(wanted)
            floats = _floats(function, tensors[:n], wanted, [])
            primals = tuple(choose(wanted, tensors[:n]))
            return list(jax.jvp(floats, primals, tuple(tensors[n:]), has_aux=True)[1])

        return push

    def apply(self, program: Program, tensors: list[Any]) -> list[Any]:
        return list(_operation(program)(*tensors))


def _narrow(own: Any) -> Any:
    """A tensor with entries of 32 bits, as JAX has no others unless told to."""
    remedy = "jax.config.update('jax_enable_x64', True) keeps them"
    entries = own.numpy()
    if dr.is_float_v(own):
        warnings.warn(
            f"drjit.wrap(): JAX rounds the entries of a {type(own).__name__} to single "
            f"precision; {remedy}",
            stacklevel=2,
        )
        return jnp.asarray(entries.astype(np.float32))
    short = entries.astype(np.uint32 if dr.is_unsigned_v(own) else np.int32)
    if not np.array_equal(short, entries):
        raise OverflowError(
            f"drjit.wrap(): JAX would cut the entries of a {type(own).__name__} to 32 "
            f"bits, which changes them; {remedy}"
        )
    return jnp.asarray(short)


def _floats(
    function: Function, tensors: Sequence[Any], wanted: list[bool], flags: list[bool]
) -> Callable[..., Any]:
    """The function by the wanted arguments: results that are floats, and the others.

    'flags' then says which are.
    """

    def floats(*inputs: Any) -> Any:
        outputs = function(*merge(wanted, inputs, tensors))
        flags[:] = [_is_float(t) for t in outputs]
        rest = [t for t, f in zip(outputs, flags, strict=True) if not f]
        return tuple(choose(flags, outputs)), rest

    return floats


# ------------------------------------------------------- our functions in JAX


def _ours(tensors: Sequence[Any]) -> list[Any]:
    return [read(FRAMEWORK, dr.auto.ad, t) for t in tensors]


def _theirs(tensors: Sequence[Any]) -> tuple[Any, ...]:
    # What NumPy shares with us, JAX would share.
    return tuple(t.numpy().copy() for t in tensors)


def _like(tensor: Any) -> Any:
    return jax.ShapeDtypeStruct(tensor.shape, tensor.dtype)


def _compute(program: Program, like: Callable[[], Any], tensors: Sequence[Any]) -> Any:
    """The results: at once or, where JAX traces, in a callback with NumPy arrays."""

    def run(*own: Any) -> Any:
        return _theirs(program.run(_ours(own)))

    if any(isinstance(t, jax.core.Tracer) for t in tensors):
        return jax.pure_callback(run, like(), *tensors, vmap_method="sequential")
    return tuple(jnp.asarray(t) for t in run(*tensors))


def _results_like(program: Program, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """Shapes and types of the results, found by tracing the function on zeros."""
    zeros = [np.zeros(t.shape, t.dtype) for t in tensors]
    return tuple(
        jax.ShapeDtypeStruct(dr.shape(t), dr.zeros(type(t), (0,)).numpy().dtype)
        for t in program.run(_ours(zeros))
    )


def _operation(program: Program) -> Any:
    """A function of ours as one of JAX, with forward and reverse derivatives."""

    def compute(*tensors: Any) -> Any:
        return _compute(program, lambda: _results_like(program, tensors), tensors)

    def derivative(primals: Any, tangents: Any) -> Any:
        outputs = operation(*primals)
        flags = [_is_float(t) for t in outputs]
        found = iter(_tangents(program, choose(flags, outputs), primals, tangents))
        return outputs, tuple(
            next(found) if f else np.zeros(t.shape, jax.dtypes.float0)
            for t, f in zip(outputs, flags, strict=True)
        )

    operation = jax.custom_jvp(compute)
    operation.defjvp(derivative)
    return operation


# The derivative of a function of ours is linear in the tangents. As an operation of its
# own it has a transpose, which is the reverse derivative, and derivatives, which are
# such operations again.
_linear = Primitive("drjit_linear")
_linear.multiple_results = True


def _tangents(
    program: Program,
    outputs: Sequence[Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
) -> Any:
    """Tangents of the outputs, which are all results that are floats."""
    wanted = [_is_float(t) for t in primals]
    return _linear.bind(
        *primals,
        *choose(wanted, tangents),
        count=len(primals),
        program=program.pushforward(wanted),
        transpose=program.pullback(wanted),
        like=tuple(_like(t) for t in outputs),
    )


def _linear_compute(*tensors: Any, program: Program, like: Any, **unused: Any) -> Any:
    return _compute(program, lambda: like, tensors)


def _linear_like(*unused: Any, like: Any, **others: Any) -> Any:
    return [jax.core.ShapedArray(t.shape, t.dtype) for t in like]


def _linear_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, count: int, **parameters: Any
) -> Any:
    outputs = _linear.bind(*primals, count=count, **parameters)
    filled = [
        ad.instantiate_zeros(t) if isinstance(t, ad.Zero) else t for t in tangents
    ]
    if all(isinstance(t, ad.Zero) for t in tangents[:count]):
        moved = _linear.bind(
            *primals[:count], *filled[count:], count=count, **parameters
        )
        return outputs, moved
    return outputs, _tangents(parameters["program"], outputs, primals, filled)


def _linear_transpose(
    gradients: Sequence[Any],
    *tensors: Any,
    count: int,
    program: Program,
    transpose: Program,
    like: Any,
) -> Any:
    moved = tensors[count:]
    unknown = [ad.is_undefined_primal(t) for t in moved]
    shapes = [t.aval if u else t for t, u in zip(moved, unknown, strict=True)]
    found = _linear.bind(
        *tensors[:count],
        *[ad.instantiate_zeros(g) if isinstance(g, ad.Zero) else g for g in gradients],
        count=count,
        program=transpose,
        transpose=program,
        like=tuple(_like(t) for t in shapes),
    )
    return [
        *[None] * count,
        *[g if u else None for g, u in zip(found, unknown, strict=True)],
    ]


def _linear_batch(
    tensors: Sequence[Any], axes: Sequence[Any], **parameters: Any
) -> Any:
    batched = [a is not None for a in axes]

    def one(chosen: Any) -> Any:
        return _linear.bind(*merge(batched, chosen, tensors), **parameters)

    first = [
        jnp.moveaxis(t, a, 0)
        for t, a, b in zip(tensors, axes, batched, strict=True)
        if b
    ]
    found = jax.lax.map(one, first)
    return found, [0] * len(found)


_linear.def_impl(_linear_compute)
_linear.def_abstract_eval(_linear_like)
ad.primitive_jvps[_linear] = _linear_jvp
ad.primitive_transposes[_linear] = _linear_transpose
batching.primitive_batchers[_linear] = _linear_batch
mlir.register_lowering(_linear, mlir.lower_fun(_linear_compute, multiple_results=True))

FRAMEWORK = _Jax()
