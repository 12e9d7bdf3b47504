"""Write math_special_tables.h: polynomials for erf, erfinv and lgamma."""

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
ZEROS, SERIES = 32, 10  # of log |gamma(x)| below -2, and the terms around each
BETWEEN = mpf("2.625")  # between the first two of them


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


def gamma_factor(u: mpf) -> mpf:
    """Give log(gamma(y)) / ((y - 1) (y - 2)) for u = y - 1.75."""
    y = u + mpf("1.75")
    zeros = (y - 1) * (y - 2)
    if not zeros:
        return mp.euler if y == 1 else 1 - mp.euler
    return mp.loggamma(y) / zeros


def stirling(u: mpf) -> mpf:
    """Give y times what Stirling's formula for log(gamma(y)) lacks, for u = 1 / y^2."""
    if not u:
        return mpf(1) / 12
    with mp.workprec(400):
        y = 1 / mp.sqrt(u)
        formula = (y - HALF) * mp.log(y) - y + mp.log(2 * mp.pi) / 2
        return (mp.loggamma(y) - formula) * y


def stirling_weight(u: mpf) -> mpf:
    """Give 1 / (y log(gamma(y))): what counts is the error of the logarithm."""
    if not u:
        return mpf(0)
    y = 1 / mp.sqrt(u)
    return 1 / (y * mp.loggamma(y))


def short_log(f: mpf) -> mpf:
    """Give log(1 + f) / f."""
    return mp.log1p(f) / f if f else mpf(1)


def sine_of_half_turns(z: mpf) -> mpf:
    """Give (sin(pi f) / (pi f) - 1) / f^2 for z = f^2."""
    if not z:
        return -(mp.pi**2) / 6
    f = mp.pi * mp.sqrt(z)
    return (mp.sin(f) / f - 1) / z


def with_lows(p: Polynomial, name: str, formula: str) -> list[Table]:
    """Give the array of a polynomial and that of the low parts of its first ones."""
    return [
        p.table(name, formula),
        Table(f"{name}_low", p.low_values(), "What these lack."),
    ]


def gamma_zero(number: int) -> mpf:
    """Give a zero of log |gamma(x)| below -2, counted from 0, by bisection."""
    pole = -(number // 2) - 2
    middle = pole - mpf("0.6") if pole == -2 else pole - HALF
    above, below = mpf(pole - number % 2), middle
    for _ in range(450):
        middle = (above + below) / 2
        if mp.re(mp.loggamma(middle)) > 0:
            above = middle
        else:
            below = middle
    return middle


def gamma_zeros() -> Table:
    """Make a row for each zero z below -3, with a series in powers of x - z.

    The first entry is the x above which the zero before it is nearer, then come z and
    the first coefficient with what they lack, and the other coefficients.
    """
    values: list[mpf] = []
    with mp.workprec(500):
        last = gamma_zero(1)
        for number in range(2, ZEROS):
            z = gamma_zero(number)
            series = [mp.re(mp.psi(k, z)) / mp.factorial(k + 1) for k in range(SERIES)]
            values += [round_to((last + z) / 2, 53), *split(z, "f64")]
            values += split(series[0], "f64")
            values += [round_to(c, 53) for c in series[1:]]
            last = z
    comment = "Rows: bound, zero (2 numbers), first coefficient (2 numbers), others."
    return Table("gamma_zeros", values, comment)


def first_zeros() -> list[Table]:
    """Make the factor that the first two zeros leave of log |gamma(x)|."""
    with mp.workprec(500):
        zeros = [gamma_zero(0), gamma_zero(1)]

    def factor(u: mpf) -> mpf:
        with mp.workprec(400):
            x = u - BETWEEN
            return mp.re(mp.loggamma(x)) / ((x - zeros[0]) * (x - zeros[1]))

    lo, hi = BETWEEN - mpf("2.79"), BETWEEN - mpf("2.42")
    p = fit(factor, lo, hi, range(27), pairs=(0, 1))
    formula = "log |gamma(x - 2.625)| without its zeros"
    parts = [part for z in zeros for part in split(z, "f64")]
    comment = "The first two zeros of log |gamma(x)| below -2."
    return [
        *with_lows(p, "gamma_between", formula),
        Table("gamma_first_zeros", parts, comment),
    ]


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
        *with_lows(double, "erf_near_double", near),
        direct.table("erfc_single", "erfc(x + 2.5)"),
        scaled.table("erfc_double", "exp(y^2) erfc(y), y = 1 / (x + 3/16) - 3"),
    ]


def erfinv_tables() -> list[Table]:
    """Make the tables of erfinv, and of a logarithm for lgamma of single results."""
    log = fit(short_log, -0.034, 0.034, range(7))
    tables = [log.table("log_short", "log(1 + x) / x")]
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
        tables += with_lows(p, f"erfinv_far_{name}", far)
    return tables


def gamma_minimum() -> list[Table]:
    """Where lgamma is least for positive arguments, and the power series around."""
    x = mp.findroot(mp.digamma, 1.46)
    parts = [*split(x, "f64"), *split(mp.loggamma(x), "f64")]
    series = [
        float(mp.polygamma(k + 1, x) / mp.factorial(k + 2)) for k in range(8)
    ]
    return [
        Table("gamma_minimum", parts, "Argument and value, of two parts each."),
        Table("gamma_minimum_series", series, "(log(gamma(y)) - value) / x^2."),
    ]


def gamma_tables() -> list[Table]:
    """Make the tables of lgamma, of single results first."""
    factor = "log(gamma(y)) / ((y - 1) (y - 2)), y = x + 1.75"
    rest = "y times what Stirling's formula lacks, x = 1 / y^2"
    end = mpf("0.16")
    parts = fit(sine_of_half_turns, 0, 0.25, range(10), pairs=(0, 1))
    single = fit(gamma_factor, -0.75, 0.75, range(15))
    double = fit(gamma_factor, -0.75, 0.75, range(26), pairs=(0, 1))
    constant = split(mp.log(2 * mp.pi) / 2 - HALF, "f64")
    return [
        single.table("gamma_factor_single", factor),
        fit(stirling, 0, end, range(6)).table("stirling_rest_single", rest),
        fit(stirling, 0, end, range(12), weight=stirling_weight).table(
            "stirling_rest_double", rest
        ),
        *with_lows(double, "gamma_factor", factor),
        *with_lows(
            fit(stirling, 0, end, range(17), pairs=(0, 1)), "stirling_rest", rest
        ),
        *with_lows(parts, "sine_factor", "(sin(pi f) / (pi f) - 1) / x, x = f^2"),
        Table("stirling_constant", constant, "(log(2 pi) - 1) / 2."),
        *gamma_minimum(),
        *first_zeros(),
        gamma_zeros(),
    ]


def main() -> None:
    """Write the header."""
    tables = [*erf_tables(), *erfinv_tables(), *gamma_tables()]
    write_tables("math_special_tables.h", tables, __file__)


if __name__ == "__main__":
    main()
