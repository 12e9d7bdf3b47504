#!/usr/bin/env python3
"""Write math_log_tables.h: tables and polynomials of log and log2."""

from dataclasses import dataclass
from fractions import Fraction

from minimax import DIGITS, Polynomial, Table, fit, mp, mpf, split, write_tables

LN2 = mp.log(2)
NAMES = {"f32": "single", "f64": "double"}
# Intervals of each octave, and how many of these are whole and below 1.
COUNT = {"f32": 8, "f64": 16}
BELOW = {"f32": 4, "f64": 9}
# Sums of multiples of ln 2 and the first parts of the tables are exact if their last
# bits have these values: logarithms are less than 2^7 and 2^10 (to base 2, 2^8 and
# 2^11).
LAST = {"f32": 2.0**-17, "f64": 2.0**-43}


@dataclass
class Interval:
    """From low to high; 'inverse' times its numbers is near 1."""

    low: Fraction
    high: Fraction
    inverse: Fraction

    def rests(self) -> list[Fraction]:
        """Ends of r = inverse z - 1."""
        return [self.inverse * z - 1 for z in (self.low, self.high)]

    def most(self) -> Fraction:
        """Largest |r|."""
        return max(map(abs, self.rests()))


def choose_inverse(kind: str, low: Fraction, high: Fraction) -> Interval:
    """Give the interval the short number with which |r| is small, and r exact."""
    if low < 1 < high:
        return Interval(low, high, Fraction(1))
    last = Fraction(1 if low < 1 else 2, 2 ** DIGITS[kind])
    choices = []
    for parts in (2**i for i in range(9)):
        for number in range(int(parts / high), int(parts / low) + 2):
            choice = Interval(low, high, Fraction(number, parts))
            bits = choice.most() / last * choice.inverse.denominator
            if bits <= 2 ** DIGITS[kind]:
                choices.append(choice)
    return min(choices, key=Interval.most)


def place(kind: str, i: Fraction) -> Fraction:
    """Number i intervals above 1: they are half as long below."""
    return 1 + i / COUNT[kind] / (2 if i < 0 else 1)


def make_intervals(kind: str) -> list[Interval]:
    """Intervals of an octave; 1 is in the middle of one, counted in intervals."""
    first = -BELOW[kind] - Fraction(1, 2)
    ends = [place(kind, first + i) for i in range(COUNT[kind] + 1)]
    return [choose_inverse(kind, *e) for e in zip(ends, ends[1:], strict=False)]


def as_mpf(x: Fraction) -> mpf:
    """Convert exactly."""
    return mpf(x.numerator) / x.denominator


def fit_rest(kind: str, terms: int, count: int, base: mpf) -> Polynomial:
    """Fit what log(1 + r) is beyond 'terms' terms of its series, for all intervals.

    The weight is such that the error is one relative to the result.
    """
    intervals = make_intervals(kind)
    ends = [[as_mpf(r) for r in i.rests()] for i in intervals]
    logs = [-mp.log(as_mpf(i.inverse)) for i in intervals]

    def weight(r: mpf) -> mpf:
        inside = [
            log
            for log, (low, high) in zip(logs, ends, strict=True)
            if low <= r <= high
        ]
        return abs(r**terms) / min(abs(log + mp.log1p(r)) for log in inside) * base

    def rest(r: mpf) -> mpf:
        known = mp.fsum(-((-r) ** i) / i for i in range(1, terms))
        return (mp.log1p(r) - known) / r**terms / base

    low, high = (f(e[k] for e in ends) for k, f in ((0, min), (1, max)))
    return fit(rest, low, high, range(count), kind=kind, weight=weight)


def rounded(x: mpf, last: float) -> mpf:
    """Give the nearest multiple of 'last'."""
    return mp.nint(x / last) * last


def three_parts(name: str, values: list[mpf], last: float, text: str) -> list[Table]:
    """Tables of the values' first parts, multiples of 'last', and of what is left."""
    high = [rounded(x, last) for x in values]
    kind = "f32" if last > 2.0**-20 else "f64"
    low = [split(x - h, kind) for x, h in zip(values, high, strict=True)]
    first, second = zip(*low, strict=True)
    return [
        Table(name, high, f"{text}, multiples of 2^{int(mp.log(last, 2))}."),
        Table(f"{name}_low", first, "What these lack."),
        Table(f"{name}_rest", second, "What both lack."),
    ]


def second(r: mpf) -> mpf:
    """Give (log(1 + r) - r) / r^2."""
    with mp.workprec(400):
        return (mp.log1p(r) - r) / (r * r) if r else -mpf(1) / 2


def make() -> list[Table]:
    """Fit everything."""
    tables = []
    for kind, name in NAMES.items():
        intervals = make_intervals(kind)
        inverses = [as_mpf(i.inverse) for i in intervals]
        logs = [-mp.log(x) for x in inverses]
        text = f"Near the inverses of the numbers in {COUNT[kind]} intervals."
        tables.append(Table(f"log_inverse_{name}", inverses, text))
        least = [as_mpf(intervals[0].low)]
        tables.append(Table(f"log_least_{name}", least, "Where these begin."))
        last = LAST[kind]
        text = "-log of these inverses"
        parts = three_parts(f"log_center_{name}", logs, last, text)
        tables += parts if kind == "f64" else parts[:2]
        text = "-log2 of them"
        logs = [x / LN2 for x in logs]
        tables += three_parts(f"log2_center_{name}", logs, 2 * last, text)[:2]
        scale = mpf(2) ** (1 - DIGITS[kind])
        high = rounded(LN2, last)
        rests = split((LN2 - high) * scale, kind, 2 if kind == "f64" else 1)
        ln2 = [high * scale, *rests]
        text = f"2^-{DIGITS[kind] - 1} ln 2; the first part is as short."
        tables.append(Table(f"log_octave_{name}", ln2, text))
        tables.append(Table(f"log2_e_{name}", split(1 / LN2, kind), "1 / ln 2."))
        single = kind == "f32"
        p = fit_rest(kind, 2, 6 if single else 9, mpf(1))
        text = "log(1 + x) = x + x^2 times this polynomial;"
        tables.append(p.table(f"log_tail_{name}", text))
        p = fit_rest(kind, 2, 6 if single else 9, LN2)
        text = "log2(1 + x) = x / ln 2 + x^2 times this polynomial;"
        tables.append(p.table(f"log2_tail_{name}", text))
        p = fit_rest(kind, 3, 6 if single else 10, mpf(1))
        text = "log(1 + x) = x - x^2 / 2 + x^3 times this polynomial;"
        tables.append(p.table(f"log_exact_{name}", text))
    p = fit(second, -0.034, 0.034, range(18), weight="absolute", pairs=range(9))
    return [*tables, *p.tables("log_second", "(log(1 + x) - x) / x^2")]


if __name__ == "__main__":
    write_tables("math_log_tables.h", make(), __file__)
