"""Do the examples learn as they do with the published package?

    python bench/loss_curves.py OURS PEER [--turns N] [--epsilon E] [EXAMPLE ...]

OURS and PEER are interpreters that import this package and the published one. Each runs
the examples that go downhill (a texture fitted to photographs, a field of a hash grid
and a network, a volume behind shadows, a blurred photograph, a lens) from the same
start. Printed are both losses in some of the turns, and how far they are apart at most,
as a part of the loss: over the first turns, where only rounding differs, and over all,
where gradient descent has amplified it.

Adam divides by sqrt(v) + epsilon here, as the reference says. The published one divides
by sqrt(v + epsilon^2), which is another number where gradients are as small as epsilon:
the means over many pixels have such. So both get one that no gradient is near, 1e-18;
--epsilon sets another one (the default of both packages is 1e-8).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parent.parent / "examples/python"
FIRST = 10  # turns in which little is amplified
SHOWN = 8  # turns of each curve


def poster(turns: int | None) -> Any:
    import drjit as dr
    import poster as program

    seen = program.photograph(program.Texture2f(program.poster()), *program.places())
    dr.eval(seen)
    return program.fit(seen, turns or program.TURNS)[1]


def field(turns: int | None) -> Any:
    import field as program

    program.TURNS = turns or program.TURNS
    golden = program.math.pi * (3 - program.math.sqrt(5))
    views = [
        (k * golden, 0.8 * program.math.sin(2.4 * k)) for k in range(program.VIEWS)
    ]
    pictures = [program.photograph(program.scene, v, program.FINE) for v in views]
    return program.learn(views, pictures)[1]


def volume(turns: int | None) -> Any:
    import volume as program

    seen = program.shadows(program.hidden_volume(), *program.rays())
    return program.reconstruct(seen, turns or program.TURNS)[1]


def photograph(turns: int | None) -> Any:
    import photograph as program

    truth = program.paint()
    seen = [program.dr.detach(program.camera(truth, s)) for s in program.SHIFTS]
    program.dr.eval(seen)
    return program.recover(seen, turns or program.TURNS)[1]


def lens(turns: int | None) -> Any:
    import lens as program

    return program.design(turns or program.TURNS)[1]


# Each gives the loss of each turn.
PROGRAMS: dict[str, Callable[[int | None], Any]] = {
    function.__name__: function
    for function in (poster, field, volume, photograph, lens)
}


def set_epsilon(value: float) -> None:
    """Have Adam use this one, whatever its programs say."""
    from drjit.opt import Adam

    init = Adam.__init__

    def changed(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **{**kwargs, "epsilon": value})

    Adam.__init__ = changed


def curve(
    interpreter: str, name: str, turns: int | None, epsilon: float
) -> list[float]:
    """The loss of each turn of an example, run by an interpreter."""
    command = [interpreter, __file__, interpreter, interpreter, "--run", name]
    command += ["--epsilon", str(epsilon)]
    if turns is not None:
        command += ["--turns", str(turns)]
    environment = os.environ | {"DRJIT_LOG_LEVEL": "error"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{interpreter} fails with {name}:\n{done.stderr}")
    losses: list[float] = json.loads(done.stdout.splitlines()[-1])
    return losses


def apart(ours: list[float], peer: list[float]) -> float:
    """The largest difference, as a part of the larger one."""
    return max(
        abs(a - b) / max(abs(a), abs(b), sys.float_info.min)
        for a, b in zip(ours, peer, strict=True)
    )


def compare(name: str, ours: list[float], peer: list[float]) -> None:
    """Print both curves, and how far they are apart."""
    count = len(ours)
    shown = sorted({round(k * (count - 1) / (SHOWN - 1)) for k in range(SHOWN)})
    print(f"{name}, {count} turns")
    for title, values in (
        ("turn", [f"{k:>9}" for k in shown]),
        ("ours", [f"{ours[k]:9.3e}" for k in shown]),
        ("published", [f"{peer[k]:9.3e}" for k in shown]),
    ):
        print(f"    {title:10}" + " ".join(values))
    first = apart(ours[:FIRST], peer[:FIRST])
    print(f"    apart by {first:.1e} in {FIRST} turns, {apart(ours, peer):.1e} in all")


def main() -> int:
    """Run the examples by both interpreters, or one of them by this one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("ours")
    parser.add_argument("peer")
    parser.add_argument("examples", nargs="*", metavar="EXAMPLE")
    parser.add_argument("--turns", type=int)
    parser.add_argument("--epsilon", type=float, default=1e-18)
    parser.add_argument("--run", metavar="EXAMPLE", help=argparse.SUPPRESS)
    options: Any = parser.parse_args()
    if options.run:
        sys.path.insert(0, str(EXAMPLES))
        set_epsilon(options.epsilon)
        print(json.dumps(PROGRAMS[options.run](options.turns)))
        return 0
    for name in options.examples or PROGRAMS:
        if name not in PROGRAMS:
            parser.error(f"{name!r} is not an example, expected {', '.join(PROGRAMS)}")
        ours, peer = (
            curve(interpreter, name, options.turns, options.epsilon)
            for interpreter in (options.ours, options.peer)
        )
        compare(name, ours, peer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
