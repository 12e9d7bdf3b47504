"""Custom operations, and what tests of them share."""

from typing import Any

import drjit as dr
import numpy as np


def tracked(array):
    dr.enable_grad(array)
    return array


def close(found, expected, tolerance=1e-6):
    np.testing.assert_allclose(
        np.asarray(found), np.asarray(expected), rtol=tolerance, atol=tolerance
    )


class Product(dr.CustomOp):
    def eval(self, x, y):
        assert not dr.grad_enabled(x, y)
        self.x, self.y = x, y
        return x * y

    def forward(self):
        self.set_grad_out(self.y * self.grad_in("x") + self.x * self.grad_in("y"))

    def backward(self):
        self.set_grad_in("x", self.y * self.grad_out())
        self.set_grad_in("y", self.x * self.grad_out())


class Exp(dr.CustomOp):
    """Keeps its result."""

    def eval(self, x):
        self.y = dr.exp(x)
        return self.y

    def forward(self):
        self.set_grad_out(self.y * self.grad_in("x"))

    def backward(self):
        self.set_grad_in("x", self.y * self.grad_out())


class Double(dr.CustomOp):
    def eval(self, x):
        return x * 2

    def forward(self):
        self.set_grad_out(self.grad_in("x") * 2)

    def backward(self):
        self.set_grad_in("x", self.grad_out() * 2)


class Globals:
    source: Any = None
    target: Any = None
