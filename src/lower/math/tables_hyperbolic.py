"""Write math_hyperbolic_tables.h, for the hyperbolic functions.

The arguments of most polynomials are squares: of what is left of x after the reduction
by multiples of log 2 (rest_cosh, rest_sinh), and of x itself (tanh).
"""

from __future__ import annotations

from collections.abc import Callable

from minimax import Table, fit, mp, mpf, truncate_to, write_tables

REST = mp.log(2) / 2 * (1 + mpf(2) ** -12)  # the reduction rounds
KINDS = {"single": "f32", "double": "f64"}
Function = Callable[[mpf], mpf]


def square(f: Function, at_0: float) -> Function:
    """Give f(sqrt(z)) for an even function."""
    return lambda z: f(mp.sqrt(z)) if z else mpf(at_0)


def over(f: Function) -> Function:
    """Give f(x) / x."""
    return lambda x: f(x) / x


# name, formula, function of z, its value at 0, largest z, terms in single and double
SPECS: list[tuple[str, str, Function, float, mpf, tuple[int, int]]] = [
    ("rest_cosh", "cosh(sqrt(x)) - 1", mp.cosh, 1, REST**2, (3, 5)),
    ("rest_sinh", "sinh(sqrt(x)) / sqrt(x) - 1", over(mp.sinh), 1, REST**2, (3, 5)),
    ("tanh", "tanh(sqrt(x)) / sqrt(x) - 1", over(mp.tanh), 1, mpf("0.31"), (5, 11)),
]


def logarithm(name: str, digits: int) -> Table:
    """Give log 2 as a number with this many digits and the rest."""
    high = truncate_to(mp.log(2), digits)
    kind = "f32" if digits < 24 else "f64"
    low = fit(lambda _: mp.log(2) - high, 0, 1, [0], kind=kind).coefficients[0]
    return Table(f"ln2_{name}", [high, low], f"log 2, {digits} digits and the rest.")


def main() -> None:
    """Write the header."""
    tables = [logarithm("single", 16), logarithm("double", 42)]
    for name, formula, f, at_0, hi, terms in SPECS:
        for (suffix, kind), count in zip(KINDS.items(), terms, strict=True):
            p = fit(
                square(f, at_0),
                0,
                hi,
                range(count + 1),
                fixed={0: at_0},
                kind=kind,
            )
            tables.append(p.table(f"{name}_{suffix}", formula, 1))
    for (suffix, kind), count in zip(KINDS.items(), (5, 10), strict=True):
        p = fit(
            lambda x: mp.expm1(2 * x) / (2 * x) if x else mpf(1),
            -REST / 2,
            REST / 2,
            range(count + 1),
            fixed={0: 1},
            kind=kind,
        )
        tables.append(p.table(f"twice_exp_{suffix}", "(exp(2 x) - 1) / (2 x)", 1))
    write_tables("math_hyperbolic_tables.h", tables, __file__)


if __name__ == "__main__":
    main()
