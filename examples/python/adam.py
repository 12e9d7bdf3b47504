"""Adam, the method of gradient descent that most people use.

Each entry of each parameter has a step of its own: the mean of its gradients, divided
by the root of the mean of their squares. So a step is about as long as the rate says,
whatever the unit of the parameter, and shorter where gradients disagree.

    Kingma and Ba, Adam: A Method for Stochastic Optimization, 2015
"""

from __future__ import annotations

from typing import Any

import drjit as dr

MEAN, SQUARES, EPSILON = 0.9, 0.99, 1e-8


class Adam:
    """Parameters by name, each an array or tensor with a rate of its own."""

    def __init__(self, parameters: dict[str, Any], rates: dict[str, float]) -> None:
        self.rates = rates
        self.parameters = dr.detach(parameters)
        self.mean = {name: value * 0 for name, value in self.parameters.items()}
        self.squares = {name: value * 0 for name, value in self.parameters.items()}
        self.turn = 0

    def begin(self) -> dict[str, Any]:
        """The parameters as fresh arrays, by which derivatives are wanted."""
        own: dict[str, Any] = dr.detach(self.parameters)
        dr.enable_grad(own)
        return own

    def step(self, gradients: dict[str, Any], speed: float = 1) -> None:
        """Change the parameters against these gradients."""
        self.turn += 1
        for name, gradient in gradients.items():
            m = MEAN * self.mean[name] + (1 - MEAN) * gradient
            v = SQUARES * self.squares[name] + (1 - SQUARES) * gradient * gradient
            self.mean[name], self.squares[name] = m, v
            # Both means begin with zeros, which have less weight with each turn.
            m, v = m / (1 - MEAN**self.turn), v / (1 - SQUARES**self.turn)
            self.parameters[name] -= (
                speed * self.rates[name] * m / (dr.sqrt(v) + EPSILON)
            )
        # All of it is one kernel for each size, and the next turn begins with memory.
        dr.eval(self.parameters, self.mean, self.squares)
