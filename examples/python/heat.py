"""How well does a plate conduct heat, at each place? Found from temperatures outside.

    python examples/python/heat.py [PICTURE.png]

A plate is heated in patterns, left alone for a while, and photographed with an infrared
camera. Heat has spread faster where the plate conducts well. From the photographs we
want the diffusivity k everywhere in

    dT/dt = div(k grad T)

The equation is solved by small steps in time. Running them backward gives the gradient
of the misfit with respect to all of k at once, for a few times what one solution costs:
what is called the adjoint method, and is usually derived by hand.

Cells of the grid look at their neighbours, so a step can begin only when the one before
is done everywhere: the loop is an evaluated one, a kernel for each step. It keeps what
its derivative needs, here the temperatures of each step.
"""

from __future__ import annotations

import sys
from typing import Any

import drjit as dr
from drjit.llvm.ad import Float, TensorXf, UInt
from picture import clock, draw, pixels, show

SIZE = 48  # cells of a side of the plate; a cell has the length 1
KNOTS = 24  # of the field that is looked for
PLATES, STEPS, DT = 4, 80, 0.2  # experiments, steps of each
TURNS = 200  # of the search
GUESS, TOLERANCE = 0.5, 0.02  # field to begin with; mean error of what is found


def start_temperatures() -> Float:
    """The patterns, one plate after the other: stripes and spots."""
    cell = dr.arange(UInt, SIZE * SIZE)
    x, y = Float(cell % SIZE) / SIZE, Float(cell // SIZE) / SIZE
    waves = 2 * dr.pi * 3
    sx, sy = dr.sin(waves * x), dr.sin(waves * y)
    cx, cy = dr.cos(waves * x), dr.cos(waves * y)
    result: Float = dr.concat([sx, sy, cx * cy, sx * sy][:PLATES])
    return result


def field(knots: TensorXf) -> Float:
    """The diffusivity of each cell: linear between the knots, which are logarithms.

    A logarithm may be any number, so nothing keeps the search from going anywhere.
    """
    place = dr.linspace(Float, 0, KNOTS - 1.001, SIZE)
    fine = dr.take_interp(dr.take_interp(knots, place, axis=0), place, axis=1)
    return dr.exp(fine.array)


def neighbours(lane: UInt) -> list[UInt]:
    """The cells to the right, to the left, below and above.

    At the rim it is the cell itself: no heat gets out.
    """
    x, y = lane % SIZE, lane // SIZE % SIZE
    return [
        dr.select(x < SIZE - 1, lane + 1, lane),
        dr.select(x > 0, lane - 1, lane),
        dr.select(y < SIZE - 1, lane + SIZE, lane),
        dr.select(y > 0, lane - SIZE, lane),
    ]


def simulate(k: Float, temperature: Float) -> Float:
    """The temperatures of all plates after all steps."""
    lane = dr.arange(UInt, SIZE * SIZE * PLATES)
    others = neighbours(lane)
    own = dr.gather(Float, k, lane % (SIZE * SIZE))
    # How much heat passes each side of a cell in a step, for a difference of 1.
    sides = [
        DT * 0.5 * (own + dr.gather(Float, k, other % (SIZE * SIZE)))
        for other in others
    ]
    # Steps share these: without dr.eval() each would compute them anew.
    dr.eval(others, sides)

    def step(n: UInt, now: Float) -> tuple[UInt, Float]:
        flow = sum(
            side * (dr.gather(Float, now, other) - now)
            for side, other in zip(sides, others, strict=True)
        )
        return n + 1, now + flow

    _, temperature = dr.while_loop(
        (UInt(0), temperature), lambda n, now: n < STEPS, step, mode="evaluated"
    )
    return temperature


def hidden_field() -> Float:
    """A plate with two pieces of another material in it."""
    cell = dr.arange(UInt, SIZE * SIZE)
    x, y = Float(cell % SIZE) / SIZE, Float(cell // SIZE) / SIZE
    disk = dr.hypot(x - 0.3, y - 0.35) / 0.16
    bar = dr.maximum(dr.abs(x - 0.65) / 0.12, dr.abs(y - 0.7) / 0.2)
    inside = dr.exp(-(disk**4)) + dr.exp(-(bar**4))
    return 0.4 + 0.6 * dr.minimum(inside, 1)


def reconstruct(photographs: Float, turns: int) -> tuple[Float, list[float]]:
    """Go downhill: the field, and the misfit of each turn."""
    start = start_temperatures()
    knots = dr.full(TensorXf, dr.log(GUESS), (KNOTS, KNOTS))
    opt = dr.opt.Adam(0.1, {"knots": knots}, beta_2=0.99)
    losses = []
    for turn in range(turns):
        found = simulate(field(opt["knots"]), start)
        loss = dr.mean(dr.square(found - photographs))
        dr.backward(loss)
        opt.set_learning_rate(0.1 * min(1, 2 * (1 - turn / turns)))
        opt.step()
        losses.append(loss[0])
    return field(dr.detach(opt["knots"])), losses


def plot(
    figure: Any, fields: list[Float], temperatures: list[Float], losses: list[float]
) -> None:
    """Above the plate as it is, as guessed, as found; below what was photographed."""
    axes = figure.subplots(2, 4).ravel()
    names = ("diffusivity", "first guess", "found")
    for ax, name, k in zip(axes, names, fields, strict=False):
        show(ax, name, pixels(k, SIZE), cmap="hot", vmin=0.3, vmax=1.1)
    axes[3].semilogy(losses)
    axes[3].set(title="misfit", xlabel="turn")
    start, end = (pixels(t, SIZE).reshape(-1, SIZE, SIZE) for t in temperatures)
    for n, image in enumerate((start[1], end[1], start[2], end[2])):
        name = ("heated", "photographed")[n % 2]
        show(axes[4 + n], name, image, cmap="hot", vmin=-1, vmax=1)


def main() -> int:
    """Photograph, reconstruct, compare."""
    path = sys.argv[1] if len(sys.argv) > 1 else "heat.png"
    truth, start = hidden_field(), start_temperatures()
    photographs = simulate(truth, start)
    dr.eval(photographs)
    (found, losses), took = clock(lambda: reconstruct(photographs, TURNS))
    print(f"{TURNS} turns of {STEPS} steps and back, {took / TURNS:.1f} ms each")
    print(f"misfit {losses[0]:.1e} -> {losses[-1]:.1e}")
    error = dr.mean(dr.abs(found / truth - 1))[0]
    ok = error < TOLERANCE
    print(
        f"the diffusivity is off by {100 * error:.2f} % on average, "
        f"{'below' if ok else 'NOT below'} {100 * TOLERANCE:g} %"
    )
    guess = dr.full(Float, GUESS, SIZE * SIZE)
    fields, temperatures = [truth, guess, found], [start, photographs]
    draw(path, lambda figure: plot(figure, fields, temperatures, losses), 10, 5.4)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
