"""The exchange of derivatives with TensorFlow: see exchange.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf  # type: ignore[import-not-found,import-untyped,unused-ignore]

import drjit

from .exchange import Function, Program, choose, merge, read

dr: Any = drjit


def _filled(gradients: Sequence[Any], like: Sequence[Any]) -> list[Any]:
    """Zeros where there is no gradient; those of few rows as tensors."""
    return [
        tf.zeros_like(t) if g is None else tf.convert_to_tensor(g)
        for g, t in zip(gradients, like, strict=True)
    ]


class _TensorFlow:
    name = "tf"

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, (tf.Tensor, tf.Variable))

    def is_float(self, tensor: Any) -> bool:
        return bool(tensor.dtype.is_floating)

    def entries(self, tensor: Any) -> str:
        return str(getattr(tensor.dtype, "name", tensor.dtype))

    def give(self, own: Any) -> Any:
        return tf.constant(own.numpy())

    def take(self, tensor: Any) -> Any:
        return np.array(tensor)

    def record(
        self, function: Function, tensors: list[Any], wanted: list[bool]
    ) -> tuple[list[Any], Callable[[list[Any]], list[Any]]]:
        inputs = choose(wanted, tensors)
        with tf.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
            tape.watch(inputs)
            outputs = [tf.convert_to_tensor(t) for t in function(*tensors)]

        def pull(gradients: list[Any]) -> list[Any]:
            pairs = [
                (t, g) for t, g in zip(outputs, gradients, strict=True) if g is not None
            ]
            found = tape.gradient([t for t, _ in pairs], inputs, [g for _, g in pairs])
            return [None if g is None else tf.convert_to_tensor(g) for g in found]

        return outputs, pull

    def pullback(self, function: Function, wanted: list[bool]) -> Function:
        def pull(*tensors: Any) -> list[Any]:
            n = len(wanted)
            inputs = choose(wanted, tensors[:n])
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(inputs)
                outputs = function(*tensors[:n])
                floats = [t for t in outputs if t.dtype.is_floating]
            return _filled(tape.gradient(floats, inputs, list(tensors[n:])), inputs)

        return pull

    def pushforward(self, function: Function, wanted: list[bool]) -> Function:
        def push(*tensors: Any) -> list[Any]:
            n = len(wanted)
            inputs = choose(wanted, tensors[:n])
            with tf.autodiff.ForwardAccumulator(inputs, list(tensors[n:])) as forward:
                outputs = function(*tensors[:n])
                floats = [t for t in outputs if t.dtype.is_floating]
            return _filled([forward.jvp(t) for t in floats], floats)

        return push

    def apply(self, program: Program, tensors: list[Any]) -> list[Any]:
        return list(_apply(program, [tf.convert_to_tensor(t) for t in tensors]))


# ------------------------------------------------------- our functions in TensorFlow


def _ours(tensors: Sequence[Any]) -> list[Any]:
    return [read(FRAMEWORK, dr.auto.ad, t) for t in tensors]


def _compute(program: Program, tensors: Sequence[Any]) -> list[Any]:
    """The results: now, or as a node of the graph that tf.function() makes."""
    if all(hasattr(t, "numpy") for t in tensors):
        return [FRAMEWORK.give(t) for t in program.run(_ours(tensors))]
    if not all(t.shape.is_fully_defined() for t in tensors):
        raise TypeError(
            "drjit.wrap(): tf.function() gives tensors of unknown shapes, expected "
            "tensors whose shapes are known when it traces"
        )
    zeros = [np.zeros(t.shape, t.dtype.as_numpy_dtype) for t in tensors]
    like = [t.numpy() for t in program.run(_ours(zeros))]

    def run(*own: Any) -> Any:
        return [t.numpy().copy() for t in program.run(_ours(own))]

    results = tf.numpy_function(run, tensors, [tf.as_dtype(t.dtype) for t in like])
    return [tf.ensure_shape(t, own.shape) for t, own in zip(results, like, strict=True)]


def _apply(program: Program, tensors: list[Any]) -> Any:
    wanted = [t.dtype.is_floating for t in tensors]

    def operation(*inputs: Any) -> Any:
        outputs = _compute(program, inputs)
        flags = [t.dtype.is_floating for t in outputs]

        def gradient(*weights: Any) -> Any:
            given = [
                tf.convert_to_tensor(w)
                for w, f in zip(weights, flags, strict=True)
                if f
            ]
            found = _apply(program.pullback(wanted), [*inputs, *given])
            return merge(wanted, list(found), [None] * len(wanted))

        return tuple(outputs), gradient

    if not tensors:
        return _compute(program, tensors)
    return tf.custom_gradient(operation)(*tensors)


FRAMEWORK = _TensorFlow()
