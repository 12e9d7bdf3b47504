"""Networks, and classes that answer functions."""

from typing import Any

import drjit as dr
from drjit import hashgrid, nn
from drjit.llvm.ad import Array3f, Float, Float16, TensorXf16


class Answers:
    def __drjit_function__(self, name: str, args: tuple[Any, ...]) -> Any:
        return len(args)

    def __drjit_array__(self) -> Float:
        return Float(1, 2)


answer = dr.tanh(Answers()) + dr.abs(Answers()) + dr.maximum(Answers(), 2)
array: Float = Float(Answers()) * 2

plan = nn.Sequential(nn.Linear(-1, 8), nn.ReLU(), nn.Linear(-1, 3), prefix="a")
net = plan.alloc(TensorXf16, 2, rng=dr.rng(1))
names: list[str] = list(net)
net = nn.pack(net, layout="training")
v: nn.CoopVec = nn.CoopVec(Float16(1), 2.5)
w: nn.CoopVec = dr.tanh(nn.cast(v, Float)) * 2 + 1
color = Array3f(*net(v))
A: nn.MatrixView = nn.view(TensorXf16([[1, 2], [3, 4]]))
y: nn.CoopVec = A[1:].T @ nn.CoopVec(Float16(1))
rows, columns = A.shape
tensor = TensorXf16(A)

grid = hashgrid.HashGridEncoding(Float16, 2, n_levels=2, rng=dr.rng(1))
features = grid([Float(0.5), Float(0.25)])
layer = nn.HashEncodingLayer(grid)
count: int = grid.n_params
