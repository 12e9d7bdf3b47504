"""Write math_gamma_tables.h: polynomials for lgamma, digamma and trigamma."""

from __future__ import annotations

from minimax import Table, fit, mp, mpf, round_to, split, write_tables

HALF = mpf(1) / 2
ZEROS, SERIES = 32, 10  # of log |gamma(x)| below -2, and the terms around each
BETWEEN = mpf("2.625")  # between the first two of them
PRECISE = 500  # bits, where differences cancel
# Of digamma: negative zeros that have a series, the terms of one, and the pairs of the
# polynomials for the others.
NEGATIVE_ZEROS, TERMS, PAIRS = 8, 13, range(10)


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
        *p.tables("gamma_between", formula),
        Table("gamma_first_zeros", parts, comment),
    ]


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
        *double.tables("gamma_factor", factor),
        *fit(stirling, 0, end, range(17), pairs=(0, 1)).tables("stirling_rest", rest),
        *parts.tables("sine_factor", "(sin(pi f) / (pi f) - 1) / x, x = f^2"),
        Table("stirling_constant", constant, "(log(2 pi) - 1) / 2."),
        *gamma_minimum(),
        *first_zeros(),
        gamma_zeros(),
    ]


def digamma_factor(u: mpf) -> mpf:
    """Give digamma(y) without its positive zero for u = y - 1.75."""
    with mp.workprec(PRECISE):
        y = u + mpf("1.75")
        d = y - mp.findroot(mp.digamma, 1.46)
        near = abs(d) < mpf(2) ** -200
        return mp.polygamma(1, y) if near else mp.digamma(y) / d


def digamma_rest(s: mpf) -> mpf:
    """Give (digamma(w + 1/2) - log(w)) w^2 for s = 1 / w^2."""
    if not s:
        return mpf(1) / 24
    with mp.workprec(PRECISE):
        w = 1 / mp.sqrt(s)
        return (mp.digamma(w + HALF) - mp.log(w)) / s


def digamma_weight(s: mpf) -> mpf:
    """Give 1 / (w^2 digamma(w + 1/2)): what counts is the error of the sum."""
    return s / mp.digamma(1 / mp.sqrt(s) + HALF) if s else mpf(0)


def cotangent(z: mpf) -> mpf:
    """Give (1 / f - pi cot(pi f)) / f for z = f^2."""
    if not z:
        return mp.pi**2 / 3
    with mp.workprec(PRECISE):
        f = mp.sqrt(z)
        return (1 / f - mp.pi * mp.cot(mp.pi * f)) / f


def second_cotangent(z: mpf) -> mpf:
    """Give what this has beyond its first term, divided by z."""
    with mp.workprec(PRECISE):
        return (cotangent(z) - mp.pi**2 / 3) / z if z else mp.pi**4 / 45


def digamma_zeros() -> list[Table]:
    """Make the first zeros below 0, and the power series around each.

    There is an array of the zeros' first parts, one of their second parts, and so on
    with the terms of the series, of which the first has two parts.
    """
    rows = []
    with mp.workprec(PRECISE):
        for k in range(NEGATIVE_ZEROS):
            z = mp.findroot(mp.digamma, (-k - mpf("0.1"), -k - mpf("0.9")), "illinois")
            series = [mp.polygamma(i, z) / mp.factorial(i) for i in range(1, TERMS)]
            row = [*split(z, "f64"), *split(series[0], "f64")]
            rows.append([*row, *(round_to(c, 53) for c in series[1:])])
    values = [x for column in zip(*rows, strict=True) for x in column]
    comment = (
        "Columns: the first 8 zeros of digamma(x) below 0 (2 numbers), coefficients of"
        " the series around each (the first one: 2 numbers)."
    )
    return [Table("digamma_zeros", values, comment)]


def digamma_exact_tables() -> list[Table]:
    """Make those for the other negative zeros, where twice the precision is needed."""
    least = NEGATIVE_ZEROS - HALF
    rest = fit(digamma_rest, 0, least**-2, range(20), weight="absolute", pairs=PAIRS)
    cot = fit(second_cotangent, 0, 0.1, range(20), weight="absolute", pairs=PAIRS)
    return [
        *rest.tables("digamma_rest_exact", "(digamma(w + 1/2) - log(w)) / x, x = w^-2"),
        *cot.tables(
            "cotangent_exact", "((1/f - pi cot(pi f)) / f - pi^2 / 3) / x, x = f^2"
        ),
        Table("cotangent_first", split(mp.pi**2 / 3, "f64", 3), "pi^2 / 3."),
    ]


def digamma_tables() -> list[Table]:
    """Make the tables of digamma, of single results first."""
    factor = "digamma(y) / (y - zero), y = x + 1.75"
    rest = "(digamma(w + 1/2) - log(w)) / x, x = 1 / w^2"
    single = fit(digamma_factor, -0.75, 0.75, range(15))
    double = fit(digamma_factor, -0.75, 0.75, range(28), pairs=range(4))
    cot = fit(cotangent, 0, 0.25, range(17), pairs=range(5))
    return [
        single.table("digamma_factor_single", factor),
        *(
            fit(digamma_rest, 0, 0.25, range(n), weight=digamma_weight).table(
                f"digamma_rest_{name}", rest
            )
            for name, n in (("single", 6), ("double", 18))
        ),
        *double.tables("digamma_factor", factor),
        *cot.tables("cotangent", "(1/f - pi cot(pi f)) / f, x = f^2"),
        *digamma_zeros(),
        *digamma_exact_tables(),
    ]


def trigamma_low(u: mpf) -> mpf:
    """Give trigamma(y) for u = y - 1.75."""
    return mp.polygamma(1, u + mpf("1.75"))


def trigamma_rest(s: mpf) -> mpf:
    """Give (w trigamma(w + 1/2) - 1) w^2 for s = 1 / w^2."""
    if not s:
        return -mpf(1) / 12
    with mp.workprec(PRECISE):
        w = 1 / mp.sqrt(s)
        return (w * mp.polygamma(1, w + HALF) - 1) / s


def cosecant(z: mpf) -> mpf:
    """Give (pi / sin(pi f))^2 - 1 / f^2 for z = f^2."""
    if not z:
        return mp.pi**2 / 3
    with mp.workprec(PRECISE):
        return (mp.pi / mp.sin(mp.pi * mp.sqrt(z))) ** 2 - 1 / z


def trigamma_tables() -> list[Table]:
    """Make the tables of trigamma, of single results first."""
    low = "trigamma(y), y = x + 1.75"
    rest = "(w trigamma(w + 1/2) - 1) / x, x = 1 / w^2"
    wave = "(pi / sin(pi f))^2 - 1 / x, x = f^2"
    single = fit(trigamma_low, -0.75, 0.75, range(19))
    double = fit(trigamma_low, -0.75, 0.75, range(31), pairs=range(4))
    exact = fit(cosecant, 0, 0.25, range(17), pairs=(0, 1))
    return [
        single.table("trigamma_low_single", low),
        *double.tables("trigamma_low", low),
        *(
            fit(trigamma_rest, 0, 0.25, range(n), weight=lambda s: s).table(
                f"trigamma_rest_{name}", rest
            )
            for name, n in (("single", 8), ("double", 22))
        ),
        fit(cosecant, 0, 0.25, range(11)).table("cosecant_single", wave),
        *exact.tables("cosecant", wave),
    ]


def main() -> None:
    """Write the header."""
    log = fit(short_log, -0.034, 0.034, range(7))
    tables = [log.table("log_short", "log(1 + x) / x")]
    tables += [*gamma_tables(), *digamma_tables(), *trigamma_tables()]
    write_tables("math_gamma_tables.h", tables, __file__)


if __name__ == "__main__":
    main()
