#!/usr/bin/env python3
"""Write src/kernel/math_exp_tables.h: polynomials of exp and exp2."""

from minimax import Table, fit, mp, mpf, split, write_tables

LN2 = mp.log(2)
# Half of ln 2 and a little more, as multiples of ln 2 are rounded.
HALF = LN2 / 2 + mpf(2) ** -10


def power_of_two(x: mpf) -> mpf:
    """2^x."""
    return mpf(2) ** x


def make() -> list[Table]:
    """Fit everything."""
    tables = []
    for kind, name, degree in ("f32", "single", 6), ("f64", "double", 11):
        p = fit(mp.exp, -HALF, HALF, range(degree + 1), kind=kind, fixed={0: 1, 1: 1})
        tables.append(p.table(f"exp_{name}", "e^x"))
        half = mpf(0.5) + mpf(2) ** -10
        p = fit(power_of_two, -half, half, range(degree + 1), kind=kind, fixed={0: 1})
        tables.append(p.table(f"exp2_{name}", "2^x"))
        tables.append(Table(f"exp_ln2_{name}", split(LN2, kind), "ln 2, high and low."))
    return tables


if __name__ == "__main__":
    write_tables("math_exp_tables.h", make(), __file__)
