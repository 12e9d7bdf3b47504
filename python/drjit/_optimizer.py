"""The base class of optimisers, and what their methods need of it.

A method is a subclass in ``opt.py``, with the state that it begins with
(``_initial()``) and an update rule (``_advance()``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, ClassVar, NamedTuple

import drjit
from drjit import _core

dr: Any = drjit

# A step of up to this many parameters is one kernel, with the gradients' computation. A
# kernel for more would read and write more arrays at a time than a processor's caches
# follow (seven for each parameter of Adam, a seventh of the speed for 100 of them). So
# each has a launch of the same kernel, which the device runs as one job. Those of few
# entries, where launches cost more than that, share a kernel with some others.
_TOGETHER = 4
_FEW_ENTRIES = 4096
_FEW_PARAMETERS = 16


def checked_number(
    owner: str, name: str, value: Any, valid: bool, expected: str
) -> float:
    """Check a number that a constructor is given."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(
            f"drjit.opt.{owner}(): {name!r} is of type {type(value).__name__}, "
            "expected a number"
        )
    if not valid:
        raise ValueError(
            f"drjit.opt.{owner}(): {name!r} is {value!r}, expected {expected}"
        )
    return float(value)


def fraction(owner: str, name: str, value: Any) -> float:
    valid = isinstance(value, int | float) and 0 <= value < 1
    return checked_number(owner, name, value, valid, "a number in [0, 1)")


def not_negative(owner: str, name: str, value: Any) -> float:
    valid = isinstance(value, int | float) and 0 <= value < float("inf")
    return checked_number(owner, name, value, valid, "a number that is not negative")


def _is_special(cls: Any) -> bool:
    return bool(dr.is_matrix_v(cls) or dr.is_quaternion_v(cls) or dr.is_complex_v(cls))


def _flat(value: Any) -> Any:
    """The entries of a parameter, or a gradient, as operations go entry by entry."""
    if dr.is_tensor_v(value):
        return value.array
    return dr.array_t(type(value))(value) if _is_special(type(value)) else value


def gradient_of(value: Any) -> Any:
    return _flat(dr.detach(dr.grad(value)))


def _like(value: Any, entries: Any) -> Any:
    """What has these entries, and the shape of a parameter."""
    if dr.is_tensor_v(value):
        return type(value)(entries, value.shape)
    return type(value)(entries) if _is_special(type(value)) else entries


def _mask(like: Any, active: Any) -> Any:
    """A mask of one entry as one for arrays of another type."""
    return dr.mask_t(dr.leaf_t(like))(active)


class Parameter(NamedTuple):
    """A parameter in a step."""

    value: Any
    entries: Any  # of the value, flat
    gradient: Any  # likewise
    lr: Any
    state: Any


class Step:
    """What the parameters of one step have in common: a value is computed once.

    Numbers become entries of memory, so a new learning rate needs no new kernel.
    """

    def __init__(self) -> None:
        self._found: dict[Any, Any] = {}

    @staticmethod
    def _key(x: Any) -> Any:
        return x if isinstance(x, type | float) else ("variable", x.index)

    def once(self, compute: Callable[..., Any], *args: Any) -> Any:
        key = (compute, *map(self._key, args))
        if key not in self._found:
            self._found[key] = compute(*args), args  # which keeps their indices taken
        return self._found[key][0]

    def rate(self, p: Parameter) -> Any:
        """A parameter's learning rate, in its precision."""
        return self.once(converted, dr.leaf_t(p.entries), p.lr)

    def number(self, leaf: Any, x: Any) -> Any:
        return self.once(_opaque, leaf, x) if isinstance(x, float) else leaf(x)

    def values(self) -> list[Any]:
        return [value for value, _ in self._found.values()]


def _opaque(leaf: Any, number: float) -> Any:
    return dr.opaque(leaf, number)


def converted(leaf: Any, array: Any) -> Any:
    return leaf(array)


def _select(
    mask: Any, p: Parameter, entries: Any, state: Any, all: bool = False
) -> Any:
    """What is new where the mask is set; counters only if it is about all entries."""

    def choose(old: Any, new: Any) -> Any:
        if old is None:
            return None
        if dr.is_integral_v(old):
            return dr.select(_mask(old, mask), new, old) if all else new
        return dr.select(mask, new, old)

    pairs = zip(p.state, state, strict=True)
    return choose(p.entries, entries), tuple(choose(*pair) for pair in pairs)


class Optimizer(MutableMapping[str, Any]):
    """Base class of gradient-based optimisers: a mapping of names to parameters.

    An optimiser owns its parameters. ``opt[name] = value`` registers one, or replaces
    it, by a copy that is tracked and independent of what ``value`` was computed from;
    ``opt[name]`` is its current value, a ``KeyError`` if there is none. ``step()``
    replaces parameters and changes nothing elsewhere.

    Parameters are arrays, nested arrays and tensors of floats that have derivatives,
    matrices, quaternions and complex numbers among them, which go entry by entry. A
    parameter that is replaced keeps the state of the method (momentum, say) unless its
    type or shape changes. [Optimisers](../optimizers.md) has examples.

    Optimisers are PyTrees, so frozen functions can take steps of those that are
    arguments. An optimiser is used by one thread at a time. This class has no update
    rule: use a subclass.

    Args:
        lr (float | array): learning rate, a number or an array of floats of one entry,
            or as many as the parameters have.
        params (Mapping[str, array] | None): initial parameters; a network of
            :class:`drjit.nn.Module` is such a mapping.
        mask_updates (bool): leave entries whose gradient is exactly 0 as they are,
            state of the method included.
        promote_fp16 (bool): keep and update parameters of half precision in single
            precision; ``opt[name]`` is rounded.

    Raises:
        TypeError: a parameter is not an array of floats with derivatives, its name not
            a ``str``, or the learning rate of another type.

    Example:
        >>> opt = dr.opt.SGD(lr=0.25, params={"x": Float(1, 2)})
        >>> opt["y"] = TensorXf([[1.0, 5.0]])
        >>> dr.backward(dr.sum(opt["x"] * opt["x"]))
        >>> opt.step()
        >>> opt["x"], list(opt)
        ([0.5, 1], ['x', 'y'])

    See also:
        :class:`drjit.opt.SGD`, :class:`drjit.opt.RMSProp`, :class:`drjit.opt.Adam`,
        :class:`drjit.opt.AdamW`, :class:`drjit.opt.Muon`
    """

    __module__ = "drjit.opt"

    # The state: name -> (value, is it promoted?, learning rate, state of the method).
    # Rates are arrays, so that frozen functions serve any number. Settings decide what
    # is recorded, so they are fields as well.
    DRJIT_STRUCT: ClassVar[dict[str, Any]] = {
        "state": dict,
        "mask_updates": bool,
        "promote_fp16": bool,
    }

    state: dict[str, tuple[Any, bool, Any, Any]]

    def __init__(
        self,
        lr: Any,
        params: Mapping[str, Any] | None = None,
        *,
        mask_updates: bool = False,
        promote_fp16: bool = True,
    ) -> None:
        self._lr = self._rate(f"{type(self).__name__}()", lr)
        self._own: dict[str, Any] = {}  # rates of parameters
        self._counts: dict[Any, Any] = {}  # see _count()
        self.mask_updates = bool(mask_updates)
        self.promote_fp16 = bool(promote_fp16)
        self.state = {}
        if params is not None:
            self.update(params)

    # ------------------------------------------------------ what a method consists of

    def _initial(self, entries: Any) -> Any:
        """The method's state for a parameter with these entries: a tuple of arrays."""
        return ()

    def _count(self, leaf: Any, count: int = 0) -> Any:
        """A number of iterations. Those that are equal are one array, since a step
        computes what follows from it once for all parameters that have it."""
        kind = dr.uint32_array_t(leaf)
        if dr.flag(dr.JitFlag.FreezingScope):  # that one would be no input
            return kind(count)
        if (kind, count) not in self._counts:
            self._counts[kind, count] = dr.opaque(kind, count)
        return self._counts[kind, count]

    def _advance(self, step: Step, p: Parameter) -> Any:
        """The parameter's next entries and state."""
        raise NotImplementedError(
            f"drjit.opt.{type(self).__name__}.step(): the class has no update rule, "
            "expected SGD, RMSProp, Adam, AdamW or Muon"
        )

    def _check(self, key: str, value: Any) -> None:
        """Is this a parameter for this method?"""

    # ------------------------------------------------------ a mapping

    def _error(self, method: str, text: str) -> str:
        return f"drjit.opt.{type(self).__name__}.{method}: {text}"

    def __getitem__(self, key: str, /) -> Any:
        value, promoted, _, _ = self.state[key]
        return dr.float16_array_t(type(value))(value) if promoted else value

    def __setitem__(self, key: str, value: Any, /) -> None:
        where = f"{type(self).__name__}.__setitem__()"
        if not isinstance(key, str):
            raise TypeError(
                f"drjit.opt.{where}: the name is of type {type(key).__name__}, "
                "expected a str"
            )
        cls = type(value)
        if not (dr.is_diff_v(cls) and dr.is_float_v(cls) and dr.is_array_v(cls)):
            raise TypeError(
                f"drjit.opt.{where}: the parameter {key!r} is of type {cls.__name__}, "
                "expected an array or tensor of floats with derivatives (as those of "
                "'drjit.auto.ad'); each array of a structure is a parameter by itself"
            )
        self._check(key, value)
        promoted = self.promote_fp16 and dr.type_v(cls) == dr.VarType.Float16
        own = dr.detach(value)
        own = dr.float32_array_t(cls)(own) if promoted else dr.copy(own)
        dr.make_opaque(own)
        dr.enable_grad(own)
        former, _, _, state = self.state.get(key, (None, False, None, None))
        if type(former) is not type(own) or former.shape != own.shape:
            state = self._initial(_flat(dr.detach(own)))
            dr.make_opaque(state)
        rate = self._rate_of(key, own, self.state)
        self.state[key] = own, promoted, rate, state

    def __delitem__(self, key: str, /) -> None:
        del self.state[key]
        self._own.pop(key, None)

    def __contains__(self, key: object, /) -> bool:
        return key in self.state

    def __iter__(self) -> Iterator[str]:
        return iter(self.state)

    def __len__(self) -> int:
        return len(self.state)

    # Arrays have no truth value by which mappings could be compared.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def update(  # type: ignore[override]
        self, params: Any = None, **args: Any
    ) -> None:
        """Set several parameters. All are checked before the first one is set.

        Args:
            params (Mapping[str, array] | None): names and values.
            **args: more of them, by keyword.

        Raises:
            TypeError: as for ``opt[name] = value``, or ``params`` is not a mapping.
                Nothing has changed then.
        """
        if params is not None and not hasattr(params, "items"):
            what = f"'params' is of type {type(params).__name__}, expected a mapping"
            raise TypeError(self._error("update()", what))
        entries = {} if params is None else self._chosen(dict(params.items()))
        entries.update(args)
        former = dict(self.state)
        try:
            for key, value in entries.items():
                self[key] = value
        except BaseException:
            self.state = former
            raise

    def _chosen(self, params: dict[str, Any]) -> dict[str, Any]:
        """Which of the parameters of a mapping this method is for."""
        return params

    def reset(self, key: str | None = None) -> None:
        """Forget the method's state of one parameter, or of all; values stay.

        Args:
            key (str | None): name of the parameter, ``None`` for all.

        Raises:
            KeyError: there is no such parameter.
        """
        for name in self.state if key is None else (key,):
            value, promoted, lr, _ = self.state[name]
            state = self._initial(_flat(dr.detach(value)))
            dr.make_opaque(state)
            self.state[name] = value, promoted, lr, state

    # ------------------------------------------------------ learning rates

    @staticmethod
    def _rate(where: str, lr: Any) -> Any:
        if isinstance(lr, int | float) and not isinstance(lr, bool):
            return float(lr)
        if dr.is_array_v(lr) and not isinstance(lr, type) and dr.is_float_v(lr):
            return dr.detach(lr)
        raise TypeError(
            f"drjit.opt.{where}: the learning rate is of type {type(lr).__name__}, "
            "expected a number or an array of floats"
        )

    def _rate_of(self, key: str, value: Any, others: Mapping[str, Any]) -> Any:
        """The learning rate of a parameter as an array. Others may have it already."""
        lr = self._own.get(key, self._lr)
        if not isinstance(lr, float):
            return lr
        wide = dr.float64_array_t(dr.leaf_t(value))
        for name, (_, _, rate, _) in others.items():
            if type(rate) is wide and name not in self._own and key not in self._own:
                return rate
        return dr.opaque(wide, lr)

    @property
    def lr(self) -> Any:
        """The learning rate of parameters without one of their own; it can be assigned
        to."""
        return self._lr

    @lr.setter
    def lr(self, value: Any) -> None:
        self._set_rates(self._rate(f"{type(self).__name__}.lr", value), {})

    def learning_rate(self, key: str | None = None) -> Any:
        """Return the learning rate, or that of one parameter.

        Args:
            key (str | None): name of a parameter.

        Returns:
            float | array | None: ``None`` if the parameter has no rate of its own.

        Raises:
            KeyError: there is no such parameter.
        """
        if key is None:
            return self._lr
        if key not in self.state:
            raise KeyError(key)
        return self._own.get(key)

    def set_learning_rate(self, value: Any = None, /, **kwargs: Any) -> None:
        """Set the learning rate, or those of parameters, which take precedence.

        A new rate needs no new kernel, and no new recording of a frozen function.

        Args:
            value (float | array | Mapping | None): the learning rate, or a mapping of
                names to rates. ``None`` for a name removes its rate.
            **kwargs: rates of parameters by keyword.

        Raises:
            KeyError: there is no such parameter.
            TypeError: a rate is neither a number nor an array of floats.

        Example:
            >>> opt = dr.opt.SGD(0.1, {"x": Float(0), "y": Float(0)})
            >>> opt.set_learning_rate(0.2, x=0.01)
            >>> opt.lr, opt.learning_rate("x"), opt.learning_rate("y")
            (0.2, 0.01, None)
        """
        where = f"{type(self).__name__}.set_learning_rate()"
        rates: dict[str, Any] = dict(kwargs)
        default = self._lr
        if isinstance(value, Mapping):
            rates = {**value, **rates}
        elif value is not None:
            default = self._rate(where, value)
        found = {
            key: None if lr is None else self._rate(where, lr)
            for key, lr in rates.items()
        }
        for key in found:
            if key not in self.state:
                raise KeyError(key)
        self._set_rates(default, found)

    def _set_rates(self, default: Any, found: dict[str, Any]) -> None:
        """Take another rate, and those of some parameters; the arrays that steps use
        are made anew."""
        former = self._lr, self._own
        self._lr, self._own = default, {**self._own, **found}
        self._own = {key: lr for key, lr in self._own.items() if lr is not None}
        made: dict[str, tuple[Any, bool, Any, Any]] = {}
        try:
            for key, (own, promoted, _, state) in self.state.items():
                made[key] = own, promoted, self._rate_of(key, own, made), state
        except BaseException:
            self._lr, self._own = former
            raise
        self.state = made

    # ------------------------------------------------------ steps

    def step(
        self, *, eval: bool = True, grad_scale: Any = None, active: Any = None
    ) -> None:
        """Take a gradient step: replace each parameter by what the method makes of its
        gradient.

        Parameters without a gradient have the gradient 0. After the step all gradients
        are 0. If it fails, everything is as before.

        Args:
            eval (bool): evaluate parameters and state. Without it the step is a part of
                what is computed next.
            grad_scale (float | array | None): factor of all gradients, one number.
            active (bool | mask | None): one truth value, without which nothing changes
                but that gradients are 0 afterwards.

        Raises:
            TypeError: ``grad_scale`` or ``active`` is of another type.
            ValueError: one of them has several entries.

        Evaluation:
            Starts kernels, and does not wait for them. Up to four parameters are one
            kernel, which also computes their gradients.
        """
        if type(grad_scale) is int:
            grad_scale = float(grad_scale)
        self._check_arguments(grad_scale, active)
        if isinstance(active, bool):
            active = None if active else dr.auto.Bool(False)
        step = Step()
        made: dict[str, Any] = {}
        gradients = []
        for key, (value, promoted, lr, state) in self.state.items():
            entries, gradient = _flat(dr.detach(value)), gradient_of(value)
            gradients.append(gradient)
            if grad_scale is not None:
                scale = step.number(dr.leaf_t(entries), grad_scale)
                gradient = gradient * scale
            p = Parameter(value, entries, gradient, lr, state)
            after, new = self._advance(step, p)
            if self.mask_updates:
                after, new = _select(gradient != 0, p, after, new)
            if active is not None:
                chosen = _mask(entries, active)
                after, new = _select(chosen, p, after, new, True)
            made[key] = _like(value, after), promoted, lr, new
        if eval:
            self._evaluate(step, gradients, list(made.values()))
        for value, *_ in made.values():
            dr.enable_grad(value)
        self.state.update(made)

    def _check_arguments(self, grad_scale: Any, active: Any) -> None:
        for name, found, right in (
            ("grad_scale", grad_scale, dr.is_float_v),
            ("active", active, dr.is_mask_v),
        ):
            numbers = bool if right is dr.is_mask_v else float
            if found is None or isinstance(found, numbers):
                continue
            if not (dr.is_array_v(found) and right(found) and dr.depth_v(found) == 1):
                raise TypeError(
                    self._error(
                        "step()",
                        f"{name!r} is of type {type(found).__name__}, expected a "
                        f"{'number' if right is dr.is_float_v else 'bool'} or an array "
                        "of one",
                    )
                )
            if len(found) != 1:
                raise ValueError(
                    self._error(
                        "step()", f"{name!r} has {len(found)} entries, expected 1"
                    )
                )

    def _evaluate(self, step: Step, gradients: list[Any], made: list[Any]) -> None:
        parts = [(value, state) for value, _, _, state in made]
        dr.eval(step.values())
        if len(parts) <= _TOGETHER:
            dr.eval(parts)
            return
        dr.eval(gradients)
        few = [dr.width(value) <= _FEW_ENTRIES for value, _ in parts]
        small = [part for part, is_small in zip(parts, few, strict=True) if is_small]
        large = [
            part for part, is_small in zip(parts, few, strict=True) if not is_small
        ]
        _core._launch_hold(True)
        try:
            for k in range(0, len(small), _FEW_PARAMETERS):
                dr.eval(small[k : k + _FEW_PARAMETERS])
            for part in large:
                dr.eval(part)
        finally:
            _core._launch_hold(False)

    # ------------------------------------------------------ saving

    def state_dict(self) -> dict[str, Any]:
        """Return parameters and the method's state as NumPy arrays by name, for
        ``np.savez()``.

        Returns:
            dict[str, numpy.ndarray]: ``value/NAME`` and ``state/NAME/INDEX``. Learning
            rates are not part of it. Parameters of half precision are there in single
            precision.

        Example:
            >>> opt = dr.opt.SGD(0.1, {"x": Float(1, 2)}, momentum=0.9)
            >>> list(opt.state_dict())
            ['value/x', 'state/x/0']
        """
        found = {}
        for key, (value, _, _, state) in self.state.items():
            found[f"value/{key}"] = dr.detach(value).numpy()
            for k, entry in enumerate(state):
                if entry is not None:
                    found[f"state/{key}/{k}"] = entry.numpy()
        return found

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take what ``state_dict()`` of an optimiser with the same parameters gave.

        Args:
            state (Mapping[str, numpy.ndarray]): the arrays, ``np.load(file)`` for
                instance.

        Raises:
            KeyError: a name is missing or unknown; nothing is changed.
            ValueError: a shape is another one; nothing is changed.
        """
        where = "load_state_dict()"
        own = self.state_dict()
        missing, unknown = own.keys() - state.keys(), state.keys() - own.keys()
        if missing or unknown:
            what = f"missing {sorted(missing)}, unknown {sorted(unknown)}"
            raise KeyError(self._error(where, what))
        for name, array in own.items():
            if tuple(state[name].shape) != array.shape:
                raise ValueError(
                    self._error(
                        where,
                        f"{name!r} has the shape {tuple(state[name].shape)}, expected "
                        f"{array.shape}",
                    )
                )
        made = {}
        for key, (value, promoted, lr, entries) in self.state.items():
            new = type(value)(state[f"value/{key}"])
            dr.enable_grad(new)
            kept = tuple(
                self._loaded(entry, state.get(f"state/{key}/{k}"))
                for k, entry in enumerate(entries)
            )
            made[key] = new, promoted, lr, kept
        self.state.update(made)

    def _loaded(self, like: Any, array: Any) -> Any:
        """An entry of the state."""
        if like is None:
            return None
        if dr.is_integral_v(like):
            return self._count(like, int(array.item()))
        return type(like)(array)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """For pickle: parameters are tracked, without gradients."""
        self.__dict__.update(state)
        for value, *_ in self.state.values():
            dr.enable_grad(value)

    # ------------------------------------------------------ text

    def _settings(self) -> list[tuple[str, Any]]:
        return []

    def __repr__(self) -> str:
        rates = {"default": self._lr, **self._own}
        shapes = [value.shape for value, *_ in self.state.values()]
        total = sum(drjit.prod(shape) if shape else 1 for shape in shapes)
        rows = [
            ("parameters", list(self.state)),
            ("total_count", int(total)),
            ("lr", rates),
            *self._settings(),
        ]
        text = ",\n".join(f"  {name} = {value}" for name, value in rows)
        return f"{type(self).__name__}[\n{text}\n]"
