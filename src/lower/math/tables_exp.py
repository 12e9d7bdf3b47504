#!/usr/bin/env python3
"""Write math_exp_tables.h: tables and polynomials of exp and exp2."""

import struct

from minimax import DIGITS, Table, fit, mp, mpf, round_to, split, write_tables

LN2 = mp.log(2)
# Half of ln 2 and a little more, as multiples of ln 2 are rounded.
HALF = LN2 / 2 + mpf(2) ** -10
# Roots of two in the tables, and what second parts of arguments may add to half of
# their distance.
COUNT = {"f32": 8, "f64": 16}
SECOND = mpf("0.01")


def power_of_two(x: mpf) -> mpf:
    """2^x."""
    return mpf(2) ** x


def lessened(kind: str, i: int, x: mpf) -> mpf:
    """Give the float whose bits are those of x less i of n parts of an octave."""
    one, whole = (">f", ">I") if kind == "f32" else (">d", ">Q")
    (bits,) = struct.unpack(whole, struct.pack(one, float(x)))
    bits -= i * 2 ** (DIGITS[kind] - 1) // COUNT[kind]
    return mpf(struct.unpack(one, struct.pack(whole, bits))[0])


def roots(kind: str, name: str) -> list[Table]:
    """Tables of 2^(i / n), and of what these lack, relative to them."""
    n = COUNT[kind]
    exact = [mpf(2) ** (mpf(i) / n) for i in range(n)]
    high = [round_to(x, DIGITS[kind]) for x in exact]
    lack = [split(x / h - 1, kind, 1)[0] for x, h in zip(exact, high, strict=True)]
    bits = [lessened(kind, i, h) for i, h in enumerate(high)]
    place = DIGITS[kind] - n.bit_length()
    return [
        Table(f"exp_root_{name}", bits, f"2^(i / {n}), bits less i times 2^{place}."),
        Table(f"exp_root_{name}_low", lack, "What these lack, relative to them."),
    ]


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
    for kind, name, degree in ("f32", "single", 4), ("f64", "double", 7):
        tables += roots(kind, name)
        step = LN2 / COUNT[kind]
        text = f"ln 2 / {COUNT[kind]}, high and low."
        tables.append(Table(f"exp_step_{name}", split(step, kind), text))
        half = step / 2 + SECOND
        p = fit(mp.exp, -half, half, range(degree + 1), kind=kind, fixed={0: 1, 1: 1})
        tables.append(p.table(f"exp_short_{name}", "From x^2 on, e^x", 2))
    return tables


if __name__ == "__main__":
    write_tables("math_exp_tables.h", make(), __file__)
