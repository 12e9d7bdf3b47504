"""Write math_special_tables.h: polynomials for erf and erfinv."""

from __future__ import annotations

from minimax import (
    DIGITS,
    Polynomial,
    Table,
    fit,
    mp,
    mpf,
    round_to,
    split,
    write_tables,
)

# Where erf begins to be computed as 1 - erfc:
ERF_LIMIT_SINGLE, ERF_LIMIT_DOUBLE = mpf(1), mpf("1.125")
HALF = mpf(1) / 2


def erf_factor(z: mpf) -> mpf:
    """Give erf(x) / x for z = x^2."""
    x = mp.sqrt(z)
    return mp.erf(x) / x if x else 2 / mp.sqrt(mp.pi)


def erfc_direct(u: mpf) -> mpf:
    """Give erfc(x) for u = x - 2.5."""
    return mp.erfc(u + 2.5)


def erfc_argument(u: mpf) -> mpf:
    """Give x for u = 1 / (x + 3) - 3/16."""
    return 1 / (u + mpf(3) / 16) - 3


def erfc_scaled(u: mpf) -> mpf:
    """Give exp(x^2) erfc(x)."""
    x = erfc_argument(u)
    return mp.exp(x * x) * mp.erfc(x)


def erfc_weight(u: mpf) -> mpf:
    """Give exp(-x^2): what counts is the error of erfc(x)."""
    return mp.exp(-(erfc_argument(u) ** 2))


def erfinv_factor(w: mpf) -> mpf:
    """Give y = erfinv(x) divided by x, for w = -log(1 - x^2), by Halley's method."""
    if not w:
        return mp.sqrt(mp.pi) / 2
    with mp.workprec(300):
        x = mp.sqrt(-mp.expm1(-w))
        target = mp.exp(-w) / (1 + x)
        y = mp.sqrt(w) * 0.9
        for _ in range(60):
            slope = 2 / mp.sqrt(mp.pi) * mp.exp(-y * y)
            step = (mp.erfc(y) - target) / slope
            step = step / (1 - y * step) if abs(y * step) < HALF else step
            y += step
            if abs(step) < mpf(2) ** -260:
                break
        return y / x


def erfinv_middle(start: float, kind: str) -> mpf:
    """Give a number near ``start`` where erfinv_factor() is nearly a float."""
    w, digits = mpf(start), DIGITS[kind]
    while True:
        value = erfinv_factor(w)
        if abs(round_to(value, digits) - value) < mpf(2) ** -(digits + 6):
            return w
        w += mpf(2) ** -10


def erfinv_near(middle: mpf, end: float, terms: int, kind: str) -> Polynomial:
    """Fit it for w below ``end``, as function of ``middle`` - w."""

    def factor(s: mpf) -> mpf:
        return erfinv_factor(middle - s)

    first = {0: round_to(factor(mpf(0)), DIGITS[kind])}
    return fit(factor, middle - mpf(end), middle, range(terms), kind=kind, fixed=first)


def erfinv_far(
    start: float, center: float, end: float, terms: int, kind: str
) -> Polynomial:
    """Fit it beyond, as function of sqrt(w) - center."""
    lo, hi = mpf(start) - mpf(center), mpf(end) - mpf(center)

    def factor(s: mpf) -> mpf:
        return erfinv_factor((s + center) ** 2)

    return fit(factor, lo, hi, range(terms), kind=kind, pairs=(0, 1))


def erf_tables() -> list[Table]:
    """Make the tables of erf."""
    near = "erf(sqrt(x)) / sqrt(x)"
    single = fit(erf_factor, 0, ERF_LIMIT_SINGLE, range(7))
    double = fit(erf_factor, 0, ERF_LIMIT_DOUBLE**2, range(14), pairs=(0, 1))
    center, end = mpf("2.5"), mpf("3.95")
    direct = fit(
        erfc_direct,
        ERF_LIMIT_SINGLE - center,
        end - center,
        range(17),
        weight="absolute",
    )
    lo, hi = (1 / (x + 3) - mpf(3) / 16 for x in (mpf(6), ERF_LIMIT_DOUBLE))
    scaled = fit(erfc_scaled, lo, hi, range(12), weight=erfc_weight)
    return [
        single.table("erf_near_single", near),
        *double.tables("erf_near_double", near),
        direct.table("erfc_single", "erfc(x + 2.5)"),
        scaled.table("erfc_double", "exp(y^2) erfc(y), y = 1 / (x + 3/16) - 3"),
    ]


def erfinv_tables() -> list[Table]:
    """Make the tables of erfinv."""
    tables = []
    near, far = "erfinv(t) / t, t^2 = 1 - exp(x - {})", "erfinv(t) / t beyond"
    for kind, name, start, limit, center, end, terms in (
        ("f32", "single", 1.25, 4, 3, 4.1, (10, 13)),
        ("f64", "double", 1.5, 6.25, 4.25, 6.02, (26, 30)),
    ):
        middle = erfinv_middle(start, kind)
        p = erfinv_near(middle, limit, terms[0], kind)
        text = near.format(mp.nstr(middle, 12))
        tables.append(Table(f"erfinv_middle_{name}", [middle], "The number below."))
        tables.append(p.table(f"erfinv_near_{name}", text))
        slope = split(mp.sqrt(mp.pi) / 2, kind)
        tables.append(Table(f"erfinv_slope_{name}", slope, "erfinv'(0) in parts."))
        p = erfinv_far(limit**0.5, center, end, terms[1], kind)
        tables += p.tables(f"erfinv_far_{name}", far)
    return tables


def main() -> None:
    """Write the header."""
    tables = [*erf_tables(), *erfinv_tables()]
    write_tables("math_special_tables.h", tables, __file__)


if __name__ == "__main__":
    main()
