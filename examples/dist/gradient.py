"""A gradient of 10^8 samples: an option and its sensitivities by Monte Carlo.

    python examples/dist/gradient.py

A call option pays max(S - strike, 0) at its end, where S = spot exp((rate - v^2/2) t +
v sqrt(t) z) with a volatility v and a normal number z. Its price is the discounted
mean, and the derivatives of the price are what traders hedge by. Black and Scholes
(1973) have all of them in closed form, which the program compares with.
"""

from __future__ import annotations

import sys
from math import erf, exp, log, pi, sqrt

import drjit as dr
from drjit import dist
from drjit.llvm.ad import Float, Philox4x32, UInt
from executors import processes as executor  # or: dask, ray, mpi
from picture import clock

COUNT, BLOCK, SEED = 10**8, 10**6, 1
STRIKE, TIME = 105.0, 1.0
MARKET = {"spot": 100.0, "volatility": 0.2, "rate": 0.03}
TOLERANCE = 5e-4  # relative: three standard errors of 10^8 samples

Params = dict[str, Float]


def payoff(p: Params, index: UInt) -> Float:
    """The share of each sample in the price. Random numbers belong to the index."""
    u = Philox4x32(SEED, index, 0).next_float32x4()
    z = dr.sqrt(-2 * dr.log(1 - u[0])) * dr.cos(2 * dr.pi * u[1])
    v, rate = p["volatility"], p["rate"]
    end = p["spot"] * dr.exp((rate - v * v / 2) * TIME + v * sqrt(TIME) * z)
    return dr.exp(-rate * TIME) * dr.maximum(end - STRIKE, 0) / COUNT


def closed_form() -> tuple[float, dict[str, float]]:
    """Price and sensitivities by Black and Scholes."""
    spot, v, rate = MARKET["spot"], MARKET["volatility"], MARKET["rate"]
    d1 = (log(spot / STRIKE) + (rate + v * v / 2) * TIME) / (v * sqrt(TIME))
    d2 = d1 - v * sqrt(TIME)
    n1, n2 = ((1 + erf(d / sqrt(2))) / 2 for d in (d1, d2))
    paid = STRIKE * exp(-rate * TIME) * n2
    vega = spot * exp(-d1 * d1 / 2) / sqrt(2 * pi) * sqrt(TIME)
    return spot * n1 - paid, {"spot": n1, "volatility": vega, "rate": TIME * paid}


def main() -> int:
    params = {name: Float(value) for name, value in MARKET.items()}
    with executor() as workers:
        (price, gradient), took = clock(
            lambda: dist.value_and_grad(workers, payoff, params, COUNT, block=BLOCK)
        )
    print(f"{COUNT:,} samples and their gradient in {took / 1e3:.1f} s")
    expected, sensitivities = closed_form()
    rows = [("price", price[0], expected)]
    rows += [(name, gradient[name][0], sensitivities[name]) for name in MARKET]
    for name, found, right in rows:
        print(f"{name:10} {found:10.5f}, in closed form {right:10.5f}")
    ok = all(abs(found / right - 1) < TOLERANCE for _, found, right in rows)
    print(f"{'as expected' if ok else 'NOT as expected'}: within {TOLERANCE:g}")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
