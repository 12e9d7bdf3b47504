"""The exchange of derivatives with PyTorch: see exchange.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch  # type: ignore[import-not-found,unused-ignore]

import drjit

from .exchange import Function, Program, Recorded, choose, merge, read

dr: Any = drjit


def _grad(outputs: list[Any], inputs: list[Any], weights: list[Any]) -> list[Any]:
    """Gradients by the inputs that can be differentiated themselves."""
    pairs = [(t, w) for t, w in zip(outputs, weights, strict=True) if t.requires_grad]
    if not pairs:
        return [torch.zeros_like(t) for t in inputs]
    found = torch.autograd.grad(
        [t for t, _ in pairs],
        inputs,
        [w for _, w in pairs],
        create_graph=True,
        allow_unused=True,
    )
    return [
        torch.zeros_like(t) if g is None else g
        for t, g in zip(inputs, found, strict=True)
    ]


class _Torch:
    name = "torch"

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, torch.Tensor)

    def is_float(self, tensor: Any) -> bool:
        return bool(tensor.is_floating_point())

    def entries(self, tensor: Any) -> str:
        return str(tensor.dtype).partition(".")[2]

    def give(self, own: Any) -> Any:
        # PyTorch changes tensors in place, our graph of derivatives holds the memory.
        return own.torch().clone()

    def take(self, tensor: Any) -> Any:
        own = tensor.detach().resolve_conj().resolve_neg().cpu()
        return own.clone(memory_format=torch.contiguous_format)

    def record(
        self, function: Function, tensors: list[Any], wanted: list[bool]
    ) -> tuple[list[Any], Callable[[list[Any]], list[Any]]]:
        inputs = choose(wanted, tensors)
        with torch.enable_grad():
            for tensor in inputs:
                tensor.requires_grad_()
            outputs = function(*tensors)

        def pull(gradients: list[Any]) -> list[Any]:
            pairs = [
                (t, g)
                for t, g in zip(outputs, gradients, strict=True)
                if g is not None and t.requires_grad
            ]
            try:
                # Not torch.autograd.grad(): parameters that the function uses get
                # their gradients as well.
                if pairs:
                    torch.autograd.backward(
                        [t for t, _ in pairs],
                        [g for _, g in pairs],
                        retain_graph=True,
                    )
                return [t.grad for t in inputs]
            finally:
                for tensor in inputs:
                    tensor.grad = None

        return outputs, pull

    def pullback(self, function: Function, wanted: list[bool]) -> Function:
        def pull(*tensors: Any) -> list[Any]:
            n = len(wanted)
            with torch.enable_grad():
                inputs = [
                    t if t.requires_grad else t.detach().requires_grad_()
                    for t in choose(wanted, tensors[:n])
                ]
                outputs = function(*merge(wanted, inputs, tensors[:n]))
                floats = [t for t in outputs if t.is_floating_point()]
                return _grad(floats, inputs, list(tensors[n:]))

        return pull

    def pushforward(self, function: Function, wanted: list[bool]) -> Function:
        def push(*tensors: Any) -> list[Any]:
            n = len(wanted)

            def floats(*inputs: Any) -> tuple[Any, ...]:
                outputs = function(*merge(wanted, inputs, tensors[:n]))
                return tuple(t for t in outputs if t.is_floating_point())

            primals = tuple(choose(wanted, tensors[:n]))
            return list(torch.func.jvp(floats, primals, tuple(tensors[n:]))[1])

        return push

    def apply(self, program: Program, tensors: list[Any]) -> list[Any]:
        call = _Call(program)
        tracked = torch.is_grad_enabled()
        call.wanted = [
            t.is_floating_point() and tracked and t.requires_grad for t in tensors
        ]
        if not tensors:
            return [FRAMEWORK.give(t) for t in program.run([])]
        return list(_Operation.apply(call, *tensors))


class _Call:
    """One application of a function of ours, and what was recorded of it."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.wanted: list[bool] = []
        self.recorded: Recorded | None = None
        self.floats: list[bool] = []  # of the results

    def ours(self, tensors: Sequence[Any]) -> list[Any]:
        return [read(FRAMEWORK, dr.auto.ad, t) for t in tensors]

    def run(self, tensors: Sequence[Any]) -> list[Any]:
        """The results, recorded if derivatives are known to be wanted."""
        own = self.ours(tensors)
        if any(self.wanted):
            self.recorded = self.program.record(own, self.wanted)
            results = self.recorded.outputs
        else:
            results = self.program.run(own)
        self.floats = [dr.is_float_v(t) for t in results]
        return [FRAMEWORK.give(t) for t in results]

    def record(self, tensors: Callable[[], Any], wanted: list[bool]) -> Recorded:
        """What was recorded; if nothing was, or not by all inputs, it is done now."""
        if self.recorded is None or self.wanted != wanted:
            self.recorded = self.program.record(self.ours(tensors()), wanted)
            self.wanted = wanted
        return self.recorded


class _Operation(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
    """A function of ours: its arguments are a call and tensors."""

    @staticmethod
    def forward(call: _Call, *tensors: Any) -> Any:
        return tuple(call.run(tensors))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        call, *tensors = inputs
        ctx.call = call
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        ctx.like = [torch.empty_like(t, device="meta") for t in output]
        ctx.mark_non_differentiable(
            *[t for t, f in zip(output, call.floats, strict=True) if not f]
        )

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        call = ctx.call
        wanted = [bool(n) for n in ctx.needs_input_grad[1:]]
        weights = [
            torch.zeros_like(like, device="cpu") if g is None else g
            for g, like, f in zip(gradients, ctx.like, call.floats, strict=True)
            if f
        ]
        if torch.is_grad_enabled():  # its derivative may be wanted
            program = call.program.pullback(wanted)
            found = FRAMEWORK.apply(program, [*ctx.saved_tensors, *weights])
        else:
            recorded = call.record(lambda: ctx.saved_tensors, wanted)
            found = [FRAMEWORK.give(g) for g in recorded.pull(call.ours(weights))]
        return None, *merge(wanted, found, [None] * len(wanted))

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
        call, tensors = ctx.call, ctx.saved_tensors
        wanted = [t is not None for t in tangents]
        # Through apply(): the tensors of torch.func have no entries at this level.
        program = call.program.pushforward(wanted)
        found = iter(FRAMEWORK.apply(program, [*tensors, *choose(wanted, tangents)]))
        return tuple(next(found) if f else None for f in call.floats)

    @staticmethod
    def vmap(info: Any, axes: Any, call: _Call, *tensors: Any) -> Any:
        """One after the other."""
        results = [
            FRAMEWORK.apply(
                call.program,
                [
                    t if axis is None else t.select(axis, i)
                    for t, axis in zip(tensors, axes[1:], strict=True)
                ],
            )
            for i in range(info.batch_size)
        ]
        call.floats = [t.is_floating_point() for t in results[0]]
        stacked = tuple(torch.stack(parts) for parts in zip(*results, strict=True))
        return stacked, (0,) * len(stacked)


FRAMEWORK = _Torch()
