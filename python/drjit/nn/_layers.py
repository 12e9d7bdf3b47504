"""The layers of networks."""

from __future__ import annotations

import math
from copy import copy
from typing import Any, ClassVar

import drjit

from .._errors import ShapeError
from .._matvec import one_network
from ..hashgrid import HashEncoding
from ._coopvec import CoopVec, cast, entry_type, from_components
from ._matrix import MatrixView, matvec
from ._module import Module

dr: Any = drjit


def _check_count(where: str, name: str, value: Any, least: int, free: bool) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(
            f"drjit.nn.{where}(): {name!r} is of type {type(value).__name__}, "
            "expected an int"
        )
    if value < least and not (free and value == -1):
        raise ShapeError(
            f"drjit.nn.{where}(): {name!r} is {value}, expected a number of at least "
            f"{least}{', or -1' if free else ''}"
        )


class Sequential(Module):
    """Layers, one after the other.

    Args:
        *args: modules, in order.
        prefix (str): put before the names of all parameters, as in
            ``"mlp.layers.0.weights"``, so that one optimiser can have several networks.

    Raises:
        TypeError: a layer is not a :class:`drjit.nn.Module`, or ``prefix`` not a
            ``str``.

    Example:
        >>> from drjit import nn
        >>> net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), prefix="mlp")
        >>> net
        Sequential(
          Linear(in_features=2, out_features=3),
          ReLU()
        )
        >>> list(net.alloc(TensorXf))
        ['mlp.layers.0.weights', 'mlp.layers.0.bias']
    """

    __module__ = "drjit.nn"
    DRJIT_STRUCT: ClassVar[dict[str, Any]] = {"layers": tuple, "prefix": str}

    layers: tuple[Module, ...]

    def __init__(self, *args: Module, prefix: str = "") -> None:
        for i, layer in enumerate(args):
            if not isinstance(layer, Module):
                raise TypeError(
                    f"drjit.nn.Sequential(): layer {i} is of type "
                    f"{type(layer).__name__}, expected a drjit.nn.Module"
                )
        if not isinstance(prefix, str):
            raise TypeError(
                f"drjit.nn.Sequential(): 'prefix' is of type {type(prefix).__name__}, "
                "expected a str"
            )
        self.layers = args
        self.prefix = prefix

    def __call__(self, arg: Any, /) -> Any:
        with one_network():
            for layer in self.layers:
                arg = layer(arg)
        return arg

    def _alloc(self, dtype: Any, size: int, rng: Any, /) -> tuple[Module, int]:
        made = copy(self)
        layers = []
        for layer in self.layers:
            own, size = layer._alloc(dtype, size, rng)
            layers.append(own)
        made.layers = tuple(layers)
        return made, size

    def __repr__(self) -> str:
        rows = [repr(layer).replace("\n", "\n  ") for layer in self.layers]
        text = "".join(f"\n  {row}," for row in rows)[:-1]
        return f"Sequential({text}\n)"


class Linear(Module):
    """An affine map with learnt coefficients: y = A x + b.

    ``alloc()`` draws the entries of A from the uniform distribution on [-k, k] with k =
    1 / sqrt(out_features), in single precision whatever the type; b is 0. They are the
    parameters ``weights`` and ``bias``.

    A :class:`drjit.nn.CoopVec` needs a packed network, and is computed as
    :func:`drjit.nn.matvec` says. A tensor of shape (in_features, N) or (in_features,)
    needs one that is not packed, and is computed by a matrix product.

    Args:
        in_features (int): components of x; -1: as many as the layer before gives.
        out_features (int): components of y; -1: as many as x has.
        bias (bool): is there a b?

    Raises:
        TypeError: a number is not an ``int``.
        ValueError: a number is neither positive nor -1.

    Example:
        >>> from drjit import nn
        >>> layer = nn.Linear(2, 3).alloc(TensorXf)
        >>> layer["weights"] = TensorXf([[1, 0], [0, 1], [1, 1]])
        >>> layer(TensorXf([10, 20]))
        [10, 20, 30]
        >>> list(nn.pack(layer)(nn.CoopVec(Float(10), 20)))
        [[10], [20], [30]]
    """

    __module__ = "drjit.nn"
    DRJIT_STRUCT: ClassVar[dict[str, Any]] = {
        "config": tuple,
        "weights": object,
        "bias": object,
    }

    config: tuple[int, int, bool]
    weights: Any
    bias: Any

    def __init__(
        self, in_features: int = -1, out_features: int = -1, bias: bool = True
    ) -> None:
        _check_count("Linear", "in_features", in_features, 1, True)
        _check_count("Linear", "out_features", out_features, 1, True)
        self.config = in_features, out_features, bool(bias)
        self.weights = self.bias = None

    def _alloc(self, dtype: Any, size: int, rng: Any, /) -> tuple[Module, int]:
        inputs, outputs, bias = self.config
        inputs = size if inputs < 0 else inputs
        if inputs < 0:
            raise RuntimeError(
                "drjit.nn.Linear.alloc(): the number of inputs of a layer is not "
                "known, expected 'in_features' or the argument 'size'"
            )
        outputs = inputs if outputs < 0 else outputs
        made = copy(self)
        made.config = inputs, outputs, bias
        k = 1 / math.sqrt(outputs)
        single = dr.float32_array_t(dtype)
        made.weights = dtype(rng.uniform(single, (outputs, inputs), low=-k, high=k))
        made.bias = dr.zeros(dtype, (outputs,)) if bias else None
        dr.make_opaque(made.weights, made.bias)
        return made, outputs

    def __call__(self, arg: Any, /) -> Any:
        weights, where = self.weights, "drjit.nn.Linear.__call__()"
        if weights is None:
            raise RuntimeError(
                f"{where}: the network has no weights, expected one that "
                "'net = net.alloc(<type of tensors>)' gives"
            )
        if isinstance(arg, CoopVec):
            if not isinstance(weights, MatrixView):
                raise RuntimeError(
                    f"{where}: the network is not packed, expected one that "
                    "'net = drjit.nn.pack(net)' gives for a CoopVec"
                )
            return matvec(weights, arg, self.bias)
        if not dr.is_tensor_v(arg):
            raise TypeError(
                f"{where}: the input is of type {type(arg).__name__}, expected a "
                "drjit.nn.CoopVec or a tensor"
            )
        if isinstance(weights, MatrixView):
            raise RuntimeError(
                f"{where}: the network is packed, expected a drjit.nn.CoopVec, or the "
                "network before drjit.nn.pack() for a tensor"
            )
        if dr.type_v(arg) != dr.type_v(weights):
            raise TypeError(
                f"{where}: the input is of type {type(arg).__name__}, expected entries "
                f"of type {dr.type_v(weights).name} as those of the weights"
            )
        if arg.ndim == 0 or arg.shape[max(arg.ndim - 2, 0)] != weights.shape[1]:
            raise ShapeError(
                f"{where}: the input is of shape {tuple(arg.shape)}, expected "
                f"({weights.shape[1]}, N)"
            )
        result = weights @ arg
        if self.bias is None:
            return result
        return result + (self.bias if arg.ndim == 1 else self.bias[:, None])

    def _settings(self) -> str:
        inputs, outputs, bias = self.config
        text = f"in_features={inputs}, out_features={outputs}"
        return text if bias else text + ", bias=False"


# -------------------------------------------------------------------- activations


class ReLU(Module):
    """max(x, 0), of vectors and tensors.

    Derivative:
        That of :func:`drjit.maximum`.

    Example:
        >>> from drjit import nn
        >>> nn.ReLU()(TensorXf([-1, 2]))
        [0, 2]
    """

    __module__ = "drjit.nn"
    DRJIT_STRUCT: ClassVar[dict[str, Any]] = {}

    def __call__(self, arg: Any, /) -> Any:
        return dr.maximum(arg, 0)


class LeakyReLU(Module):
    """x where x >= 0, else ``negative_slope`` times x, of vectors and tensors.

    Args:
        negative_slope (float | array): slope below 0. An array of floats is a parameter
            of the network, which :func:`drjit.nn.pack` leaves where it is.

    Raises:
        TypeError: it is neither a number nor an array.

    Derivative:
        With respect to the slope, too.

    Example:
        >>> from drjit import nn
        >>> nn.LeakyReLU(0.25)(TensorXf([-1, 2]))
        [-0.25, 2]
    """

    __module__ = "drjit.nn"
    DRJIT_STRUCT: ClassVar[dict[str, Any]] = {"negative_slope": object}
    _not_packed = frozenset({"negative_slope"})

    def __init__(self, negative_slope: Any = 0.01) -> None:
        _check_factor("LeakyReLU", "negative_slope", negative_slope)
        self.negative_slope = negative_slope

    def __call__(self, arg: Any, /) -> Any:
        below = dr.minimum(arg, 0)
        return dr.fma(below, self.negative_slope, dr.maximum(arg, 0))


def _check_factor(where: str, name: str, value: Any) -> None:
    if isinstance(value, type) or not (
        isinstance(value, int | float) or dr.is_array_v(value)
    ):
        kind = value.__name__ if isinstance(value, type) else type(value).__name__
        raise TypeError(
            f"drjit.nn.{where}(): {name!r} is of type {kind}, expected a number or an "
            "array"
        )


class Exp(Module):
    """e^x, of vectors and tensors.

    Example:
        >>> from drjit import nn
        >>> nn.Exp()(TensorXf([0, 1]))
        [1, 2.71828]
    """

    __module__ = "drjit.nn"
    DRJIT_STRUCT: ClassVar[dict[str, Any]] = {}

    def __call__(self, arg: Any, /) -> Any:
        return dr.exp(arg)


class Exp2(Module):
    """2^x, of vectors and tensors.

    Example:
        >>> from drjit import nn
        >>> nn.Exp2()(TensorXf([-1, 3]))
        [0.5, 8]
    """

    __module__ = "drjit.nn"
    DRJIT_STRUCT: ClassVar[dict[str, Any]] = {}

    def __call__(self, arg: Any, /) -> Any:
        return dr.exp2(arg)


class Tanh(Module):
    """The hyperbolic tangent, of vectors and tensors.

    Example:
        >>> from drjit import nn
        >>> nn.Tanh()(TensorXf([0, 100]))
        [0, 1]
    """

    __module__ = "drjit.nn"
    DRJIT_STRUCT: ClassVar[dict[str, Any]] = {}

    def __call__(self, arg: Any, /) -> Any:
        return dr.tanh(arg)


class Cast(Module):
    """Convert vectors and tensors to another type of entries.

    Args:
        dtype (type): an array type of numbers, of which only the type of the entries
            counts. It has to be given; the default is there for PyTrees.

    Raises:
        TypeError: ``dtype`` is not such a type.

    Example:
        >>> from drjit import nn
        >>> net = nn.Sequential(nn.Cast(Float16), nn.Tanh(), nn.Cast(Float))
        >>> net(nn.CoopVec(Float(0.5))).type
        <class 'drjit.llvm.ad.Float'>

    See also:
        :func:`drjit.nn.cast`
    """

    __module__ = "drjit.nn"
    DRJIT_STRUCT: ClassVar[dict[str, Any]] = {"dtype": object}

    def __init__(self, dtype: Any = None) -> None:
        if dtype is not None:
            entry_type("Cast", dtype)
        self.dtype = dtype

    def __call__(self, arg: Any, /) -> Any:
        if self.dtype is None:
            raise RuntimeError(
                "drjit.nn.Cast.__call__(): 'dtype' is None, expected an array type"
            )
        if isinstance(arg, CoopVec):
            return cast(arg, self.dtype)
        if not dr.is_array_v(arg):
            raise TypeError(
                f"drjit.nn.Cast.__call__(): the input is of type {type(arg).__name__}, "
                "expected a drjit.nn.CoopVec or a tensor"
            )
        return dr.replace_type_t(type(arg), entry_type("Cast", self.dtype))(arg)

    def _settings(self) -> str:
        return f"dtype={getattr(self.dtype, '__name__', None)}"


class ScaleAdd(Module):
    """x times ``scale`` plus ``offset``, of vectors and tensors, with one rounding.

    Both are constants of the network: no parameters. They have to be given; the
    defaults are there for PyTrees.

    Args:
        scale (float | array): the factor.
        offset (float | array): the summand.

    Raises:
        TypeError: one of them is neither a number nor an array.

    Example:
        >>> from drjit import nn
        >>> nn.ScaleAdd(2, -1)(TensorXf([0, 1]))  # from [0, 1] to [-1, 1]
        [-1, 1]
    """

    __module__ = "drjit.nn"
    DRJIT_STRUCT: ClassVar[dict[str, Any]] = {"scale": object, "offset": object}
    _not_packed = _constant = frozenset({"scale", "offset"})

    def __init__(self, scale: Any = None, offset: Any = None) -> None:
        for name, value in (("scale", scale), ("offset", offset)):
            if value is not None:
                _check_factor("ScaleAdd", name, value)
        self.scale, self.offset = scale, offset

    def __call__(self, arg: Any, /) -> Any:
        for name in ("scale", "offset"):
            if getattr(self, name) is None:
                raise RuntimeError(
                    f"drjit.nn.ScaleAdd.__call__(): {name!r} is None, expected a "
                    "number or an array"
                )
        return dr.fma(arg, self.scale, self.offset)


# -------------------------------------------------------------------- encodings


class _Encode(Module):
    """Two periodic functions of x, 2 x, 4 x, ..., of each component."""

    DRJIT_STRUCT: ClassVar[dict[str, Any]] = {
        "octaves": int,
        "shift": float,
        "channels": int,
    }

    def __init__(self, octaves: int = 0, shift: float = 0) -> None:
        name = type(self).__name__
        _check_count(name, "octaves", octaves, 0, False)
        if isinstance(shift, bool) or not isinstance(shift, int | float):
            raise TypeError(
                f"drjit.nn.{name}(): 'shift' is of type {type(shift).__name__}, "
                "expected a number"
            )
        self.octaves, self.shift, self.channels = octaves, shift, -1

    @staticmethod
    def _pair(phase: Any) -> tuple[Any, Any]:
        """The two functions, of a phase in periods."""
        raise NotImplementedError

    def _of(self, x: Any) -> list[Any]:
        found: list[Any] = []
        for i in range(self.octaves):
            phase = x * float(2**i)
            if self.shift and i:
                phase = phase + i * self.shift
            found.extend(self._pair(phase))
        return found

    def __call__(self, arg: Any, /) -> Any:
        where = f"drjit.nn.{type(self).__name__}.__call__()"
        if isinstance(arg, CoopVec):
            found = [value for x in arg for value in self._of(x)]
            if not found:
                raise ShapeError(
                    f"{where}: 'octaves' is 0, expected a positive number for a CoopVec"
                )
            return from_components(found)
        if not dr.is_tensor_v(arg):
            raise TypeError(
                f"{where}: the input is of type {type(arg).__name__}, expected a "
                "drjit.nn.CoopVec or a tensor"
            )
        if arg.ndim != 2:
            raise ShapeError(
                f"{where}: the input is of shape {tuple(arg.shape)}, expected (C, N)"
            )
        channels, width = arg.shape
        if not self.octaves:
            return dr.zeros(type(arg), (0, width))
        rows = dr.stack(self._of(arg), axis=1)  # (C, 2 octaves, N)
        return dr.reshape(rows, (2 * self.octaves * channels, width))

    def _alloc(self, dtype: Any, size: int, rng: Any, /) -> tuple[Module, int]:
        made = copy(self)
        made.channels = size
        return made, made._outputs()

    def _outputs(self) -> int:
        return 2 * self.octaves * self.channels if self.channels >= 0 else -1

    def _settings(self) -> str:
        return (
            f"octaves={self.octaves}, shift={self.shift}, "
            f"in_channels={self.channels}, out_features={self._outputs()}"
        )


class SinEncode(_Encode):
    """Sines and cosines of each component, in octaves: a positional encoding.

    A component x gives sin(2π (2^i x + i s)) and cos(2π (2^i x + i s)) for i from 0 to
    ``octaves`` - 1, so that a network sees fine detail. The functions have the period
    1. The phase is reduced to half a period before it is multiplied by 2π, so high
    octaves are as precise as x is.

    It takes vectors, and tensors of shape (C, N), which give (2 ``octaves`` C, N).

    Args:
        octaves (int): how many frequencies, 0 or more. Vectors need at least one.
        shift (float): s, in periods: moves each octave against the one before, so that
            their extrema do not coincide.

    Raises:
        TypeError: an argument is of another type.
        ValueError: ``octaves`` is negative.

    Source:
        B. Mildenhall et al., "NeRF: Representing Scenes as Neural Radiance Fields for
        View Synthesis", 2020.

    Example:
        >>> from drjit import nn
        >>> encode = nn.SinEncode(octaves=2)
        >>> list(encode(nn.CoopVec(Float(0, 0.125))))
        [[0, 0.707107], [1, 0.707107], [0, 1], [1, -4.37114e-08]]

    See also:
        :class:`drjit.nn.TriEncode`
    """

    __module__ = "drjit.nn"

    @staticmethod
    def _pair(phase: Any) -> tuple[Any, Any]:
        found: tuple[Any, Any] = dr.sincos((phase - dr.round(phase)) * (2 * math.pi))
        return found


class TriEncode(_Encode):
    """Triangle waves of each component, in octaves: a cheaper
    :class:`drjit.nn.SinEncode`.

    The cosine of a phase p in periods is replaced by 1 - 4 abs(p - round(p)), the sine
    by that of p - 1/4. Everything else is the same.

    Args:
        octaves (int): how many frequencies, 0 or more.
        shift (float): in periods, see :class:`drjit.nn.SinEncode`.

    Raises:
        TypeError: an argument is of another type.
        ValueError: ``octaves`` is negative.

    Source:
        T. Müller et al., "Real-time Neural Radiance Caching for Path Tracing", 2021.

    Example:
        >>> from drjit import nn
        >>> list(nn.TriEncode(octaves=2)(nn.CoopVec(Float(0, 0.125, 0.25))))
        [[0, 0.5, 1], [1, 0.5, 0], [0, 1, 0], [1, 0, -1]]
    """

    __module__ = "drjit.nn"

    @staticmethod
    def _pair(phase: Any) -> tuple[Any, Any]:
        return _triangle(phase - 0.25), _triangle(phase)


def _triangle(x: Any) -> Any:
    return dr.fma(dr.abs(x - dr.round(x)), -4, 1)


class HashEncodingLayer(Module):
    """A hash encoding as a layer: the features of a vector.

    The parameters of the encoding are not parameters of the network, and
    :func:`drjit.nn.pack` leaves them as they are. An optimiser has them separately
    (``opt["hash"] = encoding.params``), and ``encoding.set_params(opt["hash"])`` takes
    them back.

    Args:
        encoding (HashEncoding): what to look features up in.

    Raises:
        TypeError: it is not a :class:`drjit.hashgrid.HashEncoding`.

    Example:
        >>> from drjit import nn
        >>> grid = nn.HashGridEncoding(Float16, 2, n_levels=4, hashmap_size=2**10)
        >>> net = nn.Sequential(nn.HashEncodingLayer(grid), nn.Linear(-1, 1))
        >>> net = nn.pack(net.alloc(TensorXf16, 2))
        >>> len(net(nn.CoopVec(Float16(0.1, 0.2), 0.5)))
        1
    """

    __module__ = "drjit.nn"
    DRJIT_STRUCT: ClassVar[dict[str, Any]] = {"encoding": HashEncoding}
    _not_packed = _constant = frozenset({"encoding"})

    def __init__(self, encoding: HashEncoding) -> None:
        if not isinstance(encoding, HashEncoding):
            raise TypeError(
                "drjit.nn.HashEncodingLayer(): the encoding is of type "
                f"{type(encoding).__name__}, expected a drjit.hashgrid.HashEncoding"
            )
        self.encoding = encoding

    @property
    def data(self) -> Any:
        """The parameters of the encoding."""
        return self.encoding.data

    def __call__(self, arg: Any, /) -> Any:
        return from_components(list(self.encoding(arg)))

    def _alloc(self, dtype: Any, size: int, rng: Any, /) -> tuple[Module, int]:
        return self, self.encoding.n_output_features

    def __repr__(self) -> str:
        return repr(self.encoding)
