"""Neural networks: layers, vectors that go through them, matrices that are packed.

A network is made of layers, gets weights, is packed, and evaluated for vectors
(:py:class:`CoopVec`) as part of any program, loops and calls included. ::

    net = nn.Sequential(nn.Linear(-1, 32), nn.ReLU(), nn.Linear(-1, 3))
    net = net.alloc(TensorXf16, 2)
    opt = Adam(lr=1e-3, params=net)
    for _ in range(100):
        net.update(opt)
        packed = nn.pack(net, layout="training")
        rgb = Array3f(*packed(nn.CoopVec(Float16(x), Float16(y))))
        dr.backward(loss(rgb))
        opt.step()
"""

from ..hashgrid import HashGridEncoding, PermutoEncoding
from ._coopvec import CoopVec, cast
from ._layers import (
    Cast,
    Exp,
    Exp2,
    HashEncodingLayer,
    LeakyReLU,
    Linear,
    ReLU,
    ScaleAdd,
    Sequential,
    SinEncode,
    Tanh,
    TriEncode,
)
from ._matrix import MatrixLayout, MatrixView, matvec, view
from ._module import Module, pack, unpack

__all__ = [
    "Cast",
    "CoopVec",
    "Exp",
    "Exp2",
    "HashEncodingLayer",
    "HashGridEncoding",
    "LeakyReLU",
    "Linear",
    "MatrixLayout",
    "MatrixView",
    "Module",
    "PermutoEncoding",
    "ReLU",
    "ScaleAdd",
    "Sequential",
    "SinEncode",
    "Tanh",
    "TriEncode",
    "cast",
    "matvec",
    "pack",
    "unpack",
    "view",
]
