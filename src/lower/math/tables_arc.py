"""Write math_arc_tables.h, the polynomials of asin and atan.

Both are odd, x + x * (c[0] z + c[1] z^2 + ...) with z = x^2.
"""

from __future__ import annotations

from collections.abc import Callable

from minimax import Polynomial, fit, mp, mpf, write_tables

ATAN_MOST = mpf("0.546875")  # the largest quotient


def odd(f: Callable[[mpf], mpf]) -> Callable[[mpf], mpf]:
    """Give f(sqrt(z)) / sqrt(z) for an odd function with derivative 1 at 0."""

    def quotient(z: mpf) -> mpf:
        x = mp.sqrt(z)
        return f(x) / x if x else mpf(1)

    return quotient


def correction(
    f: Callable[[mpf], mpf], hi: float | mpf, terms: int, kind: str
) -> Polynomial:
    """Fit f(x) / x - 1 for x = 0 ... sqrt(hi), with the relative error of f(x)."""
    g = odd(f)
    return fit(
        g,
        0,
        hi,
        range(terms + 1),
        weight=lambda z: 1 / g(z),
        fixed={0: 1},
        kind=kind,
    )


def main() -> None:
    """Write the header."""
    sine = "asin(sqrt(x)) / sqrt(x) - 1"
    tangent = "atan(sqrt(x)) / sqrt(x) - 1"
    tables = [
        correction(mp.asin, 0.25, 5, "f32").table("asin_single", sine, 1),
        correction(mp.asin, 0.25, 13, "f64").table("asin_double", sine, 1),
        correction(mp.atan, ATAN_MOST**2, 6, "f32").table("atan_single", tangent, 1),
        correction(mp.atan, ATAN_MOST**2, 13, "f64").table("atan_double", tangent, 1),
    ]
    write_tables("math_arc_tables.h", tables, __file__)


if __name__ == "__main__":
    main()
