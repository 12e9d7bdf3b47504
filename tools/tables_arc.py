"""Write src/kernel/math_arc_tables.h, the polynomials of asin and atan.

Both are odd, x + x * (c[0] z + c[1] z^2 + ...) with z = x^2; the fragments of atan add
-z / 4 themselves.
"""

from __future__ import annotations

from collections.abc import Callable

from minimax import Polynomial, fit, mp, mpf, write_tables


def odd(f: Callable[[mpf], mpf]) -> Callable[[mpf], mpf]:
    """Give f(sqrt(z)) / sqrt(z) for an odd function with derivative 1 at 0."""

    def quotient(z: mpf) -> mpf:
        x = mp.sqrt(z)
        return f(x) / x if x else mpf(1)

    return quotient


def correction(
    f: Callable[[mpf], mpf], hi: float, terms: int, kind: str, slope: float = 0
) -> Polynomial:
    """Fit f(x) / x - 1 for x = 0 ... sqrt(hi), with the relative error of f(x).

    ``slope * z`` is added to the polynomial later.
    """
    g = odd(f)
    return fit(
        lambda z: g(z) - slope * z,
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
    tangent = "atan(sqrt(x)) / sqrt(x) - 1 + x / 4"
    tables = [
        correction(mp.asin, 0.25, 5, "f32").table("asin_single", sine, 1),
        correction(mp.asin, 0.25, 13, "f64").table("asin_double", sine, 1),
        correction(mp.atan, 1, 9, "f32", -0.25).table("atan_single", tangent, 1),
        correction(mp.atan, 0.25, 12, "f64", -0.25).table("atan_double", tangent, 1),
    ]
    write_tables("math_arc_tables.h", tables, __file__)


if __name__ == "__main__":
    main()
