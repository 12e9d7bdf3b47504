"""Arrays of other frameworks that are filled by the next evaluation."""

from __future__ import annotations

import drjit as dr
from drjit import _core

from ._shape.axes import run_whole

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_DTYPES = {
    dr.VarType.Bool: "bool",
    dr.VarType.Float16: "float16",
    dr.VarType.Float32: "float32",
    dr.VarType.Float64: "float64",
}


class _Memory:
    """The memory of an array of NumPy, and the array of ours that is written there: if
    nobody had it, what is queued for it would not be computed."""

    def __init__(self, memory: Any, target: Any) -> None:
        self.target = target
        self.memory = memory
        self.__array_interface__ = memory.__array_interface__


def _parts(array: Any) -> Iterator[Any]:
    """The flat arrays of an array, in the order of NumPy."""
    if dr.depth_v(array) == 1:
        yield array
    else:
        for k in range(len(array)):
            yield from _parts(array[k])


def numpy(array: Any) -> Any:
    """A NumPy array that has the entries from the next evaluation on.

    Where nothing is to be computed, in recorded code, and of complex numbers and
    quaternions, it is that of ``array.numpy()``.
    """
    there = dr.VarState.Evaluated, dr.VarState.Literal
    recorded = dr.flag(dr.JitFlag.SymbolicScope) or dr.flag(dr.JitFlag.FreezingScope)
    if (
        recorded
        or not dr.is_jit_v(array)
        or array.state in there
        or dr.is_complex_v(array)
        or dr.is_quaternion_v(array)
        or not dr.width(array)
    ):
        return array.numpy()
    import numpy as np

    array = dr.detach(array, preserve_type=False)
    parts = [array.array] if dr.is_tensor_v(array) else [*_parts(array)]
    kind, lanes = dr.type_v(array), max(map(dr.width, parts))
    memory = np.empty(dr.shape(array), _DTYPES.get(kind, kind.name.lower()))
    target = _core._map_memory(type(parts[0]), memory)
    lane = dr.arange(dr.uint32_array_t(type(target)), lanes)
    for k, part in enumerate(parts):
        run_whole(target, dr.scatter, target, part, lane + k * lanes)
    return np.asarray(_Memory(memory, target))


def torch(array: Any) -> Any:
    """The same as a tensor of PyTorch, on the CPU."""
    import torch as module

    return module.from_numpy(numpy(array))
