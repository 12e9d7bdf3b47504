#!/usr/bin/env python3
"""Write src/kernel/math_log_tables.h: polynomials of log and log2."""

from minimax import DIGITS, Table, fit, mp, mpf, split, truncate_to, write_tables

LN2 = mp.log(2)
# Arguments are reduced to between the first of these and twice that.
LEAST = {"f32": mpf(11) / 16, "f64": mp.sqrt(0.5)}


def ratio(z: mpf) -> mpf:
    """atanh(s) / s with s^2 = z."""
    return mp.atanh(mp.sqrt(z)) / mp.sqrt(z)


def most(kind: str) -> mpf:
    """Largest square of f / (2 + f)."""
    ends = LEAST[kind] - 1, 2 * LEAST[kind] - 1
    return max((f / (2 + f)) ** 2 for f in ends) * (1 + mpf(2) ** -10)


def whole_multiple(kind: str, bits: int) -> Table:
    """ln 2 in two parts, products of the first of which with 'bits' bits are exact."""
    high = truncate_to(LN2, DIGITS[kind] - bits)
    name = "single" if kind == "f32" else "double"
    return Table(
        f"log_ln2_{name}",
        [high, *split(LN2 - high, kind, 1)],
        f"ln 2; the first part leaves {bits} bits free.",
    )


def make() -> list[Table]:
    """Fit everything."""
    tables = []
    p = fit(
        lambda f: (f - f**2 / 2 - mp.log1p(f)) * 2 / f**3,
        LEAST["f32"] - 1,
        2 * LEAST["f32"] - 1,
        range(8),
        kind="f32",
        weight=lambda f: abs(f**3 / mp.log1p(f)) / 2,
    )
    text = "log(1 + x) = x - x^2 / 2 - x^3 / 2 times this polynomial;"
    tables.append(p.table("log_plain", text))
    tables.append(Table("log2_e_single", split(1 / LN2, "f32"), "1 / ln 2."))
    tables.append(Table("log2_e_double", split(1 / LN2, "f64"), "1 / ln 2."))
    tables += [whole_multiple("f32", 8), whole_multiple("f64", 11)]
    for kind, name, count in ("f32", "single", 4), ("f64", "double", 7):
        p = fit(
            lambda z: 2 * (ratio(z) - 1) / z,
            0,
            most(kind),
            range(count),
            kind=kind,
            weight=lambda z: z,
        )
        text = "2 atanh(s) = 2 s + s^3 times this polynomial in x = s^2;"
        tables.append(p.table(f"log_tail_{name}", text))
    for kind, name, count in ("f32", "single", 3), ("f64", "double", 8):
        p = fit(
            lambda z: (ratio(z) - 1 - z / 3) / z**2,
            0,
            most(kind),
            range(count),
            kind=kind,
            weight=lambda z: z**2,
        )
        text = "atanh(s) = s + s^3 / 3 + s^5 times this polynomial in x = s^2;"
        tables.append(p.table(f"log_exact_{name}", text))
        tables.append(Table(f"log_third_{name}", split(mpf(1) / 3, kind), "1 / 3."))
    return tables


if __name__ == "__main__":
    write_tables("math_log_tables.h", make(), __file__)
