"""Gradient-based optimisers, and the scaling of losses for mixed precision.

An optimiser is a mapping from names to parameters, which it owns: ``step()`` replaces
them, and changes nothing elsewhere. ::

    opt = Adam(lr=1e-2, params={"x": Float(0, 0)})
    for _ in range(100):
        dr.backward(loss(opt["x"]))
        opt.step()

Optimisers are PyTrees, so frozen functions can take steps of those that are arguments.
The methods are pointwise in the entries of all parameters, whatever these are: tensors
are their arrays, quaternions and the like their components.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import drjit

from ._optimizer import (
    Optimizer,
    Parameter,
    Step,
    checked_number,
    converted,
    fraction,
    gradient_of,
    not_negative,
)

dr: Any = drjit

__all__ = [
    "SGD",
    "Adam",
    "AdamW",
    "GradScaler",
    "Muon",
    "Optimizer",
    "RMSProp",
]


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum as an option.

    With gradient g, velocity v (0 at first), momentum µ and learning rate η:

        v <- µ v + g
        p <- p - η v                  (nesterov: p <- p - η (g + µ v))

    as ``torch.optim.SGD`` does. Without momentum v is g, and is not stored. Methods and
    properties are those of :class:`drjit.opt.Optimizer`.

    Args:
        lr (float | array): learning rate η.
        params (Mapping[str, array] | None): initial parameters.
        momentum (float): µ, 0 or more.
        nesterov (bool): look ahead along the velocity.
        mask_updates, promote_fp16 (bool): see :class:`drjit.opt.Optimizer`.

    Raises:
        ValueError: a negative ``momentum``, or ``nesterov`` without momentum.

    Source:
        B. Polyak, "Some methods of speeding up the convergence of iteration methods",
        1964; I. Sutskever et al., "On the importance of initialization and momentum in
        deep learning", 2013 (``nesterov``).

    Example:
        >>> opt = dr.opt.SGD(lr=0.1, params={"x": Float(1, 2)}, momentum=0.5)
        >>> for _ in range(2):
        ...     dr.backward(dr.sum(opt["x"] * opt["x"]))
        ...     opt.step()
        >>> opt["x"]
        [0.54, 1.08]
    """

    DRJIT_STRUCT: ClassVar[dict[str, Any]] = {
        **Optimizer.DRJIT_STRUCT,
        "momentum": float,
        "nesterov": bool,
    }

    def __init__(
        self,
        lr: Any,
        params: Mapping[str, Any] | None = None,
        *,
        momentum: float = 0.0,
        nesterov: bool = False,
        mask_updates: bool = False,
        promote_fp16: bool = True,
    ) -> None:
        self.momentum = not_negative("SGD", "momentum", momentum)
        self.nesterov = bool(nesterov)
        if self.nesterov and not self.momentum:
            raise ValueError(
                "drjit.opt.SGD(): 'nesterov' is set and 'momentum' is 0, expected a "
                "positive momentum"
            )
        super().__init__(
            lr, params, mask_updates=mask_updates, promote_fp16=promote_fp16
        )

    def _initial(self, entries: Any) -> Any:
        return (_zeros(entries),) if self.momentum else ()

    def _advance(self, step: Step, p: Parameter) -> Any:
        rate = step.rate(p)
        if not self.momentum:
            return dr.fma(-rate, p.gradient, p.entries), ()
        velocity = dr.fma(self.momentum, p.state[0], p.gradient)
        towards = velocity
        if self.nesterov:
            towards = dr.fma(self.momentum, velocity, p.gradient)
        return dr.fma(-rate, towards, p.entries), (velocity,)

    def _settings(self) -> list[tuple[str, Any]]:
        return [("momentum", self.momentum), ("nesterov", self.nesterov)]


def _zeros(entries: Any) -> Any:
    return dr.zeros(type(entries), dr.shape(entries))


class RMSProp(Optimizer):
    """RMSProp: gradients relative to their recent magnitude.

    With gradient g, mean square m (0 at first) and learning rate η:

        m <- α m + (1 - α) g^2
        p <- p - η g / (sqrt(m) + ε)

    as ``torch.optim.RMSprop`` does. Methods and properties are those of
    :class:`drjit.opt.Optimizer`.

    Args:
        lr (float | array): learning rate η.
        params (Mapping[str, array] | None): initial parameters.
        alpha (float): weight α of the past, in [0, 1).
        epsilon (float): ε, 0 or more.
        mask_updates, promote_fp16 (bool): see :class:`drjit.opt.Optimizer`.

    Raises:
        ValueError: a number is out of range.

    Source:
        T. Tieleman and G. Hinton, "Lecture 6.5 - RMSProp", COURSERA: Neural Networks
        for Machine Learning, 2012.

    Example:
        >>> opt = dr.opt.RMSProp(lr=0.01, params={"x": Float(1, 1)})
        >>> dr.set_grad(opt["x"], Float(3, -0.5))  # steps of the same size
        >>> opt.step()
        >>> opt["x"]
        [0.9, 1.1]
    """

    DRJIT_STRUCT: ClassVar[dict[str, Any]] = {
        **Optimizer.DRJIT_STRUCT,
        "alpha": float,
        "epsilon": float,
    }

    def __init__(
        self,
        lr: Any,
        params: Mapping[str, Any] | None = None,
        *,
        alpha: float = 0.99,
        epsilon: float = 1e-8,
        mask_updates: bool = False,
        promote_fp16: bool = True,
    ) -> None:
        self.alpha = fraction("RMSProp", "alpha", alpha)
        self.epsilon = not_negative("RMSProp", "epsilon", epsilon)
        super().__init__(
            lr, params, mask_updates=mask_updates, promote_fp16=promote_fp16
        )

    def _initial(self, entries: Any) -> Any:
        return (_zeros(entries),)

    def _advance(self, step: Step, p: Parameter) -> Any:
        square = _average(p.state[0], p.gradient * p.gradient, self.alpha)
        towards = p.gradient / (dr.sqrt(square) + self.epsilon)
        return dr.fma(-step.rate(p), towards, p.entries), (square,)

    def _settings(self) -> list[tuple[str, Any]]:
        return [("alpha", self.alpha), ("epsilon", self.epsilon)]


def _average(mean: Any, value: Any, decay: float) -> Any:
    """The next exponential moving average."""
    return dr.fma(decay, mean, (1 - decay) * value)


def _bias_correction(t: Any, lr: Any, leaf: Any, beta_1: float, beta_2: float) -> Any:
    """The learning rate of iteration t, for moments that were 0 at first.

    In double precision, as 1 - beta_2 is 0.001 or so.
    """
    n = dr.float64_array_t(leaf)(t)
    first, second = 1 - dr.power(beta_1, n), 1 - dr.power(beta_2, n)
    return leaf(lr * dr.sqrt(second) / first)


def _next(t: Any) -> Any:
    return t + 1


class Adam(Optimizer):
    """Adam: momentum, relative to the recent magnitude of gradients.

    With gradient g, moments m and v (0 at first), iteration t and learning rate η:

        m <- β1 m + (1 - β1) g
        v <- β2 v + (1 - β2) g^2
        p <- p - η sqrt(1 - β2^t) / (1 - β1^t) m / (sqrt(v) + ε)

    which is the efficient form of the paper; PyTorch adds ε to a root that is corrected
    already. Each parameter counts its own iterations. Methods and properties are those
    of :class:`drjit.opt.Optimizer`.

    Args:
        lr (float | array): learning rate η.
        params (Mapping[str, array] | None): initial parameters.
        beta_1 (float): weight β1 of the past in the mean gradient, in [0, 1).
        beta_2 (float): weight β2 of the past in the mean square, in [0, 1).
        epsilon (float): ε, 0 or more.
        mask_updates, promote_fp16 (bool): see :class:`drjit.opt.Optimizer`.
        uniform (bool): replace v in the last line by its maximum over all entries of
            the parameter, so that all of them have the same step size (Nicolet et al.).
        amsgrad (bool): replace it by its maximum over all iterations so far (Reddi et
            al.).

    Raises:
        ValueError: a number is out of range.

    Source:
        D. Kingma and J. Ba, "Adam: A Method for Stochastic Optimization", 2015; B.
        Nicolet et al., "Large Steps in Inverse Rendering of Geometry", 2021; S. Reddi
        et al., "On the Convergence of Adam and Beyond", 2018.

    Example:
        >>> angle = dr.linspace(Float, 0, 6, 50)
        >>> measured = 1.5 * dr.sin(angle + 0.4)
        >>> opt = dr.opt.Adam(lr=0.05, params={"size": Float(1), "phase": Float(0)})
        >>> for _ in range(200):
        ...     model = opt["size"] * dr.sin(angle + opt["phase"])
        ...     dr.backward(dr.mean(dr.square(model - measured)))
        ...     opt.step()
        >>> print(f"{opt['size'].item():.3f} {opt['phase'].item():.3f}")
        1.500 0.400
    """

    DRJIT_STRUCT: ClassVar[dict[str, Any]] = {
        **Optimizer.DRJIT_STRUCT,
        "beta_1": float,
        "beta_2": float,
        "epsilon": float,
        "uniform": bool,
        "amsgrad": bool,
    }

    def __init__(
        self,
        lr: Any,
        params: Mapping[str, Any] | None = None,
        *,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        mask_updates: bool = False,
        promote_fp16: bool = True,
        uniform: bool = False,
        amsgrad: bool = False,
    ) -> None:
        name = type(self).__name__
        self.beta_1 = fraction(name, "beta_1", beta_1)
        self.beta_2 = fraction(name, "beta_2", beta_2)
        self.epsilon = not_negative(name, "epsilon", epsilon)
        self.uniform, self.amsgrad = bool(uniform), bool(amsgrad)
        super().__init__(
            lr, params, mask_updates=mask_updates, promote_fp16=promote_fp16
        )

    def _initial(self, entries: Any) -> Any:
        count = self._count(dr.leaf_t(entries))
        largest = _zeros(entries) if self.amsgrad else None
        return count, _zeros(entries), _zeros(entries), largest

    def _advance(self, step: Step, p: Parameter) -> Any:
        count, first, second, largest = p.state
        count = step.once(_next, count)
        leaf = dr.leaf_t(p.entries)
        lr = step.once(converted, dr.float64_array_t(leaf), p.lr)
        rate = step.once(_bias_correction, count, lr, leaf, self.beta_1, self.beta_2)
        first = _average(first, p.gradient, self.beta_1)
        second = _average(second, p.gradient * p.gradient, self.beta_2)
        scale = second
        if largest is not None:
            scale = largest = dr.maximum(largest, second)
        if self.uniform:
            scale = dr.max(scale, axis=None)
        towards = first / (dr.sqrt(scale) + self.epsilon)
        return dr.fma(-rate, towards, p.entries), (count, first, second, largest)

    def _settings(self) -> list[tuple[str, Any]]:
        return [
            ("beta", (self.beta_1, self.beta_2)),
            ("epsilon", self.epsilon),
            *((name, True) for name in ("uniform", "amsgrad") if getattr(self, name)),
        ]


class AdamW(Adam):
    """Adam with decoupled weight decay: a step also subtracts η λ p from each
    parameter.

    The decay does not go through the moments, so it shrinks all entries by the same
    factor. Everything else is as for :class:`drjit.opt.Adam`.

    Args:
        lr (float | array): learning rate η.
        params (Mapping[str, array] | None): initial parameters.
        beta_1, beta_2, epsilon (float): see :class:`drjit.opt.Adam`.
        weight_decay (float): λ, 0 or more.
        mask_updates, promote_fp16 (bool): see :class:`drjit.opt.Optimizer`.
        uniform, amsgrad (bool): see :class:`drjit.opt.Adam`.

    Raises:
        ValueError: a number is out of range.

    Source:
        I. Loshchilov and F. Hutter, "Decoupled Weight Decay Regularization", 2019.

    Example:
        >>> opt = dr.opt.AdamW(lr=0.1, params={"x": Float(1, 10)}, weight_decay=0.5)
        >>> opt.step()  # gradients are 0: only the decay is left
        >>> opt["x"]
        [0.95, 9.5]
    """

    DRJIT_STRUCT: ClassVar[dict[str, Any]] = {
        **Adam.DRJIT_STRUCT,
        "weight_decay": float,
    }

    def __init__(
        self,
        lr: Any,
        params: Mapping[str, Any] | None = None,
        *,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        weight_decay: float = 0.01,
        mask_updates: bool = False,
        promote_fp16: bool = True,
        uniform: bool = False,
        amsgrad: bool = False,
    ) -> None:
        self.weight_decay = not_negative("AdamW", "weight_decay", weight_decay)
        super().__init__(
            lr,
            params,
            beta_1=beta_1,
            beta_2=beta_2,
            epsilon=epsilon,
            mask_updates=mask_updates,
            promote_fp16=promote_fp16,
            uniform=uniform,
            amsgrad=amsgrad,
        )

    def _advance(self, step: Step, p: Parameter) -> Any:
        after, new = super()._advance(step, p)
        return dr.fma(-step.rate(p) * self.weight_decay, p.entries, after), new

    def _settings(self) -> list[tuple[str, Any]]:
        return [*super()._settings(), ("weight_decay", self.weight_decay)]


# Coefficients of the quintic iteration, whose slope at 0 is as large as it gets.
_QUINTIC = 3.4445, -4.7750, 2.0315


def _orthogonalise(matrix: Any, steps: int) -> Any:
    """About U V^T of a matrix U S V^T, by Newton-Schulz iterations."""
    a, b, c = _QUINTIC
    rows, columns = matrix.shape
    x = matrix.T if rows > columns else matrix
    x = x / (dr.sqrt(dr.sum(dr.square(x), axis=None)) + 1e-7)
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return x.T if rows > columns else x


class Muon(Optimizer):
    """Muon: momentum, orthogonalised by a Newton-Schulz iteration, for the matrices of
    networks.

    With gradient g, momentum m (0 at first), learning rate η and decay λ, of a matrix p
    of r rows and c columns:

        m <- µ m + (1 - µ) g
        u <- orthogonalise(nesterov: µ m + (1 - µ) g, else: m)
        p <- p - η max(1, r / c)^(1/2) u - η λ p

    Parameters are tensors with two axes. Other methods suit what else a network has, so
    ``params`` and ``update()`` leave out everything else of a mapping;
    ``opt[name] = value`` refuses it. Methods and properties are those of
    :class:`drjit.opt.Optimizer`.

    Args:
        lr (float | array): learning rate η.
        params (Mapping[str, tensor] | None): initial parameters.
        momentum (float): µ, in [0, 1).
        nesterov (bool): look ahead along the momentum.
        ns_steps (int): iterations, 0 or more. Five bring singular values to about 1
            (0.7 to 1.2).
        weight_decay (float): λ, 0 or more.
        mask_updates, promote_fp16 (bool): see :class:`drjit.opt.Optimizer`.

    Raises:
        RuntimeError: a parameter that is assigned is not a tensor with two axes.
        ValueError: a number is out of range.

    Source:
        K. Jordan et al., "Muon: An optimizer for hidden layers in neural networks",
        2024, https://kellerjordan.github.io/posts/muon

    Example:
        >>> network = {"weights": TensorXf([[1, 0], [0, 1]]), "bias": TensorXf([1, 2])}
        >>> matrices = dr.opt.Muon(lr=0.02, params=network)
        >>> rest = dr.opt.Adam(lr=1e-3, params={"bias": network["bias"]})
        >>> list(matrices), list(rest)
        (['weights'], ['bias'])
    """

    DRJIT_STRUCT: ClassVar[dict[str, Any]] = {
        **Optimizer.DRJIT_STRUCT,
        "momentum": float,
        "nesterov": bool,
        "ns_steps": int,
        "weight_decay": float,
    }

    def __init__(
        self,
        lr: Any,
        params: Mapping[str, Any] | None = None,
        *,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_steps: int = 5,
        weight_decay: float = 0.0,
        mask_updates: bool = False,
        promote_fp16: bool = True,
    ) -> None:
        self.momentum = fraction("Muon", "momentum", momentum)
        self.nesterov = bool(nesterov)
        if isinstance(ns_steps, bool) or not isinstance(ns_steps, int) or ns_steps < 0:
            raise ValueError(
                f"drjit.opt.Muon(): 'ns_steps' is {ns_steps!r}, expected an integer "
                "that is not negative"
            )
        self.ns_steps = ns_steps
        self.weight_decay = not_negative("Muon", "weight_decay", weight_decay)
        super().__init__(
            lr, params, mask_updates=mask_updates, promote_fp16=promote_fp16
        )

    def _check(self, key: str, value: Any) -> None:
        if not dr.is_tensor_v(value) or len(value.shape) != 2:
            raise RuntimeError(
                f"drjit.opt.Muon.__setitem__(): the parameter {key!r} is of type "
                f"{type(value).__name__} and has the shape {tuple(value.shape)}, "
                "expected a tensor with two axes"
            )

    def _chosen(self, params: dict[str, Any]) -> dict[str, Any]:
        return {
            key: value
            for key, value in params.items()
            if dr.is_tensor_v(value) and len(value.shape) == 2
        }

    def _initial(self, entries: Any) -> Any:
        return (_zeros(entries),)

    def _advance(self, step: Step, p: Parameter) -> Any:
        rows, columns = p.value.shape
        mean = _average(p.state[0], p.gradient, self.momentum)
        towards = _average(mean, p.gradient, self.momentum) if self.nesterov else mean
        matrix = type(p.value)(towards, (rows, columns))
        unit = _orthogonalise(matrix, self.ns_steps).array
        rate = step.rate(p)
        after = dr.fma(-rate * max(1, rows / columns) ** 0.5, unit, p.entries)
        if self.weight_decay:
            after = dr.fma(-rate * self.weight_decay, p.entries, after)
        return after, (mean,)

    def _settings(self) -> list[tuple[str, Any]]:
        names = "momentum", "nesterov", "ns_steps", "weight_decay"
        return [(name, getattr(self, name)) for name in names]


def _is_positive(x: float) -> bool:
    return 0 < x < float("inf")


def _is_growth(x: float) -> bool:
    return 1 <= x < float("inf")


def _is_below_one(x: float) -> bool:
    return 0 < x < 1


def _is_count(x: float) -> bool:
    return x >= 0


class GradScaler:
    """Scale of losses in mixed precision, where small gradients would become 0.

    ``dr.backward(scaler.scale(loss))`` multiplies all gradients by the scale, and
    ``scaler.step(opt)`` takes it out again. If a gradient is infinite or NaN, the step
    changes nothing, and the scale becomes smaller; after many good steps in a row it
    becomes larger. Nothing is waited for, but with ``debug``. A scaler is a PyTree; its
    attribute ``scale_factor`` is an array of one entry from the first step on.

    Args:
        init_scale (float): scale at first.
        growth_factor (float): factor of the scale in a good step after the first
            ``growth_interval`` ones in a row, 1 or more.
        backoff_factor (float): factor of the scale in a step that is skipped, in (0,
            1).
        growth_interval (int): good steps in a row before the scale grows, 0 or more.
        debug (bool): print each change of the scale.

    Raises:
        ValueError: a number is out of range, or ``growth_interval`` not an integer.

    Example:
        >>> opt = dr.opt.SGD(lr=0.5, params={"x": Float16(1, 2)})
        >>> scaler = dr.opt.GradScaler()
        >>> dr.backward(scaler.scale(dr.sum(dr.square(Float(opt["x"])))))
        >>> scaler.step(opt)  # 65536 * 4 is beyond half precision
        >>> opt["x"], scaler.scale_factor
        ([1, 2], [32768])
    """

    DRJIT_STRUCT: ClassVar[dict[str, Any]] = {
        "scale_factor": object,
        "it": object,
        "growth_factor": float,
        "backoff_factor": float,
        "growth_interval": int,
        "debug": bool,
    }

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        debug: bool = False,
    ) -> None:
        for name, value, valid, expected in (
            ("init_scale", init_scale, _is_positive, "positive"),
            ("growth_factor", growth_factor, _is_growth, "1 or more"),
            ("backoff_factor", backoff_factor, _is_below_one, "in (0, 1)"),
            ("growth_interval", growth_interval, _is_count, "0 or more"),
        ):
            number = isinstance(value, int | float) and not isinstance(value, bool)
            ok = number and bool(valid(value))
            checked_number(
                "GradScaler", name, value, ok, f"a number that is {expected}"
            )
        whole = float(growth_interval).is_integer()
        checked_number(
            "GradScaler", "growth_interval", growth_interval, whole, "an integer"
        )
        self.scale_factor: Any = float(init_scale)
        self.it: Any = 0  # good steps in a row
        self.growth_factor = float(growth_factor)
        self.backoff_factor = float(backoff_factor)
        self.growth_interval = int(growth_interval)
        self.debug = bool(debug)

    def _factor(self, arg: Any) -> Any:
        """The factor, as precise as an argument, but single precision at least."""
        if isinstance(arg, int | float):
            return self.scale_factor
        leaf = dr.leaf_t(arg)
        half = dr.type_v(leaf) == dr.VarType.Float16
        return (dr.float32_array_t(leaf) if half else leaf)(self.scale_factor)

    def scale(self, arg: Any, /) -> Any:
        """Return a loss times the scale. Half precision becomes single precision.

        Args:
            arg (float | array): the loss.
        """
        return arg * self._factor(arg)

    def unscale(self, arg: Any, /) -> Any:
        """Return an array divided by the scale. ``step()`` does so by itself with
        gradients.

        Args:
            arg (float | array): a gradient, for instance.
        """
        return arg * dr.rcp(self._factor(arg))

    def step(self, opt: Optimizer, **kwargs: Any) -> None:
        """Take a step of an optimiser with gradients divided by the scale, and adapt
        the scale.

        Args:
            opt (Optimizer): the optimiser.
            **kwargs: further arguments of its ``step()``.

        Raises:
            TypeError: ``opt`` is not an optimiser, or ``active`` or ``grad_scale`` is
                given, which the scaler passes on.

        Evaluation:
            Evaluates the gradients, and the parameters unless ``eval=False``.
        """
        if not isinstance(opt, Optimizer):
            raise TypeError(
                f"drjit.opt.GradScaler.step(): 'opt' is of type {type(opt).__name__}, "
                "expected an Optimizer"
            )
        for name in ("active", "grad_scale"):
            if name in kwargs:
                raise TypeError(
                    f"drjit.opt.GradScaler.step(): {name!r} was given, which is what "
                    "the scaler passes on"
                )
        gradients = [gradient_of(value) for value, *_ in opt.state.values()]
        if not gradients:
            return
        leaf = dr.float32_array_t(dr.detached_t(dr.leaf_t(gradients[0])))
        good = self._are_finite(gradients, dr.mask_t(leaf))
        scale, good_steps = leaf(self.scale_factor), dr.uint32_array_t(leaf)(self.it)
        dr.make_opaque(scale, good_steps)
        opt.step(grad_scale=dr.rcp(scale), active=good, **kwargs)
        good_steps = dr.select(good, good_steps + 1, 0)
        growth = dr.select(good_steps > self.growth_interval, self.growth_factor, 1)
        after = scale * dr.select(good, growth, self.backoff_factor)
        if kwargs.get("eval", True):
            dr.eval(after, good_steps)
        if self.debug and after[0] != scale[0]:
            print(f"drjit.opt.GradScaler: the scale is {after[0]:g}, was {scale[0]:g}")
        self.scale_factor, self.it = after, good_steps

    @staticmethod
    def _are_finite(gradients: list[Any], mask: Any) -> Any:
        """Are all gradients numbers? One entry."""
        dr.eval(gradients)
        result = mask(True)
        for gradient in gradients:
            result &= mask(dr.all(dr.isfinite(gradient), axis=None))
        return result
