"""What the exchange of derivatives with all frameworks has in common: see wrap.py."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any, Protocol

import drjit
from drjit import _core

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

dr: Any = drjit

Function = Callable[..., list[Any]]  # of tensors, a list of tensors

# Entry types by their usual names, and the endings of our types.
_ENDINGS = {
    "bool": "b",
    "int8": "i8",
    "uint8": "u8",
    "int32": "i",
    "uint32": "u",
    "int64": "i64",
    "uint64": "u64",
    "float16": "f16",
    "float32": "f",
    "float64": "f64",
}


class Framework(Protocol):
    """What wrap() asks of a framework. Tensors are its own unless they are called ours.

    Functions take tensors and return a list of tensors. ``wanted`` says of each of
    their arguments whether derivatives by it are wanted; such arguments are floats.
    """

    name: str

    def is_tensor(self, value: Any) -> bool:
        """Is it a tensor?"""

    def is_float(self, tensor: Any) -> bool:
        """Can it be differentiated?"""

    def entries(self, tensor: Any) -> str:
        """The type of its entries: 'float32', ..."""

    def give(self, own: Any) -> Any:
        """A tensor with the entries of one of ours."""

    def take(self, tensor: Any) -> Any:
        """The entries, in memory that nothing else writes to."""

    def record(
        self, function: Function, tensors: list[Any], wanted: list[bool]
    ) -> tuple[list[Any], Callable[[list[Any]], list[Any]]]:
        """The results, and a function that can be called repeatedly.

        It turns gradients of the results, None for those that are not floats, into
        those of the wanted arguments, None for those that no result depends on.
        """

    def pullback(self, function: Function, wanted: list[bool]) -> Function:
        """The function that does so, to be differentiated itself.

        Of the arguments and, after these, gradients of all results that are floats.
        """

    def pushforward(self, function: Function, wanted: list[bool]) -> Function:
        """The function of forward derivatives, to be differentiated itself.

        Of the arguments and, after these, tangents of those that are wanted; gives
        tangents of all results that are floats.
        """

    def apply(self, program: Program, tensors: list[Any]) -> list[Any]:
        """Apply a function of our tensors, with derivatives."""


# ------------------------------------------------------- PyTrees


class _Place:
    """Stands for a leaf in the skeleton of a PyTree."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class Structure:
    """A PyTree taken apart: certain leaves, and the rest without them."""

    def __init__(
        self, operation: str, tree: Any, chosen: Callable[[Any], bool]
    ) -> None:
        self.leaves: list[Any] = []
        self._operation = operation

        def part(leaf: Any) -> Any:
            if isinstance(leaf, type):
                return leaf
            if chosen(leaf):
                self.leaves.append(leaf)
                return _Place(len(self.leaves) - 1)
            if isinstance(leaf, tuple):  # torch.return_types and the like
                return _core._tree_map(operation, part, tuple(leaf))
            return leaf

        self._skeleton = _core._tree_map(operation, part, tree)
        self.count = len(self.leaves)

    def take(self) -> list[Any]:
        """The leaves, which it does not keep."""
        leaves, self.leaves = self.leaves, []
        return leaves

    def fill(self, leaves: Iterable[Any]) -> Any:
        """The PyTree with other leaves in their place."""
        own = list(leaves)
        return _core._tree_map(
            self._operation,
            lambda leaf: own[leaf.number] if isinstance(leaf, _Place) else leaf,
            self._skeleton,
        )


# ------------------------------------------------------- our tensors


def family_of(arrays: Iterable[Any]) -> types.ModuleType:
    """The module, with derivatives, of the first compiled array, else the default."""
    for array in arrays:
        if dr.is_jit_v(array):
            return sys.modules[dr.diff_array_t(type(array)).__module__]
    default: types.ModuleType = dr.auto.ad
    return default


def to_tensor(module: types.ModuleType, array: Any) -> Any:
    """An array as a tensor of a module with derivatives; tracked if the array is."""
    kind = dr.tensor_t(type(array))
    return getattr(module, kind.__name__)(array)


def read(framework: Framework, module: types.ModuleType, tensor: Any) -> Any:
    """A tensor of another framework as one of ours."""
    entries = framework.entries(tensor)
    if entries not in _ENDINGS:
        raise TypeError(
            f"drjit.wrap(): a tensor of {framework.name} has entries of type "
            f"{entries}, expected one of {', '.join(_ENDINGS)}"
        )
    return getattr(module, "TensorX" + _ENDINGS[entries])(framework.take(tensor))


def merge(wanted: Sequence[bool], chosen: Sequence[Any], rest: Sequence[Any]) -> Any:
    """The arguments of a function, of which some are given separately."""
    own = iter(chosen)
    return [next(own) if w else r for w, r in zip(wanted, rest, strict=True)]


def choose(wanted: Sequence[bool], tensors: Sequence[Any]) -> list[Any]:
    """Those of the tensors that are wanted."""
    return [t for t, w in zip(tensors, wanted, strict=True) if w]


# ------------------------------------------------------- functions of our tensors


def _tracked(tensor: Any) -> Any:
    """The tensor if it is tracked, or one of its own that is."""
    if not dr.grad_enabled(tensor):
        tensor = dr.detach(tensor)
        dr.enable_grad(tensor)
    return tensor


def _weighted_sum(tensors: Sequence[Any], weights: Sequence[Any]) -> Any:
    """Of those that are tracked; None if none is."""
    total = None
    for tensor, weight in zip(tensors, weights, strict=True):
        if dr.grad_enabled(tensor):
            # In double precision, so that sums over tensors of several types have one.
            part = dr.sum((tensor * weight).array)
            part = dr.float64_array_t(type(part))(part)
            total = part if total is None else total + part
    return total


def _gradients(loss: Any, inputs: list[Any]) -> list[Any]:
    """Of a scalar by the inputs, tracked."""
    if loss is None or not dr.grad_enabled(loss):
        return [dr.zeros(type(t), dr.shape(t)) for t in inputs]
    try:
        dr.set_grad(loss, 1)
        dr.enqueue(dr.ADMode.Forward, inputs)
        flags = dr.ADFlag.ClearVertices | dr.ADFlag.CreateGraph
        dr.traverse(dr.ADMode.Backward, flags)
        return [dr.grad(t) for t in inputs]
    finally:
        dr.clear_grad((inputs, loss))


class Recorded:
    """What a function of our tensors has computed, and its derivatives.

    Traversals pass what depends on the inputs only: other arrays that the function uses
    may be tracked, too, and have gradients of their own.
    """

    def __init__(
        self, function: Function, tensors: Sequence[Any], wanted: Sequence[bool]
    ) -> None:
        # What the caller does with derivatives of ours has nothing to do with it.
        with dr.resume_grad():
            own = [dr.detach(t) for t in tensors]
            self.inputs = choose(wanted, own)
            dr.enable_grad(self.inputs)
            # Outputs get nodes at which forward traversals end.
            self.outputs = [
                dr.replace_grad(dr.detach(t), t) if dr.grad_enabled(t) else t
                for t in function(*own)
            ]

    def pull(self, gradients: Sequence[Any]) -> list[Any]:
        """Gradients of the inputs, given those of all outputs that are floats."""
        outputs = [t for t in self.outputs if dr.is_float_v(t)]
        both = zip(outputs, gradients, strict=True)
        try:
            with dr.resume_grad():
                pairs = [(t, g) for t, g in both if dr.grad_enabled(t)]
                dr.set_grad([t for t, _ in pairs], [g for _, g in pairs])
                dr.enqueue(dr.ADMode.Forward, self.inputs)
                dr.traverse(dr.ADMode.Backward, dr.ADFlag.ClearVertices)
                return [dr.grad(t) for t in self.inputs]
        finally:
            dr.clear_grad((self.inputs, outputs))

    def push(self, tangents: Sequence[Any]) -> list[Any]:
        """Tangents of all outputs that are floats, given those of the inputs."""
        outputs = [t for t in self.outputs if dr.is_float_v(t)]
        try:
            with dr.resume_grad():
                dr.set_grad(self.inputs, list(tangents))
                dr.enqueue(dr.ADMode.Forward, self.inputs)
                dr.traverse(dr.ADMode.Forward, dr.ADFlag.ClearVertices)
                return [dr.grad(t) for t in outputs]
        finally:
            dr.clear_grad((self.inputs, outputs))


class Program:
    """A function of our tensors, to be applied in another framework."""

    def __init__(self, function: Function) -> None:
        self.function = function

    def run(self, tensors: Sequence[Any]) -> list[Any]:
        """The results."""
        return self.function(*tensors)

    def record(self, tensors: Sequence[Any], wanted: Sequence[bool]) -> Recorded:
        """The results, and what their derivatives need."""
        return Recorded(self.function, tensors, wanted)

    def pullback(self, wanted: Sequence[bool]) -> Program:
        """The function of reverse derivatives, to be differentiated itself.

        Of the arguments and, after these, gradients of all results that are floats.
        """

        def pull(*tensors: Any) -> list[Any]:
            n = len(wanted)
            inputs, weights = list(tensors[:n]), tensors[n:]
            if not dr.grad_enabled(tensors):
                return self.record(inputs, wanted).pull(weights)
            chosen = [_tracked(t) for t in choose(wanted, inputs)]
            outputs = self.function(*merge(wanted, chosen, inputs))
            floats = [t for t in outputs if dr.is_float_v(t)]
            loss = _weighted_sum(floats, weights)
            return _gradients(loss, chosen)

        return Program(pull)

    def pushforward(self, wanted: Sequence[bool]) -> Program:
        """The function of forward derivatives, to be differentiated itself.

        Of the arguments and, after these, tangents of those that are wanted. The
        reverse derivative is linear in the gradients of the results: its derivative by
        these is the forward one.
        """

        def push(*tensors: Any) -> list[Any]:
            n = len(wanted)
            inputs, tangents = list(tensors[:n]), tensors[n:]
            if not dr.grad_enabled(tensors):
                return self.record(inputs, wanted).push(tangents)
            chosen = [_tracked(t) for t in choose(wanted, inputs)]
            outputs = self.function(*merge(wanted, chosen, inputs))
            floats = [t for t in outputs if dr.is_float_v(t)]
            weights = [_tracked(dr.zeros(type(t), dr.shape(t))) for t in floats]
            loss = _weighted_sum(floats, weights)
            gradients = _gradients(loss, chosen)
            loss = _weighted_sum(gradients, tangents)
            return _gradients(loss, weights)

        return Program(push)
