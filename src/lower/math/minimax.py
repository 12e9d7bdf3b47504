"""Polynomials for the functions of src/lower/math/math_*.c.

A library for the scripts ``src/lower/math/tables_<subject>.py``; it needs mpmath only:

>>> p = fit(mp.exp, -0.35, 0.35, range(7), fixed={0: 1, 1: 1}, kind="f32")
>>> p.coefficients, p.error
>>> write_tables("math_exp_tables.h", [p.table("exp_single", "exp(x)")], __file__)

``fit`` finds the polynomial with the smallest maximal error, multiplied by a weight, by
Remez' exchange algorithm (E. Remez 1934; E. W. Cheney, "Introduction to Approximation
Theory", 1966) on a grid that is much denser than the error has bends. Then it rounds
one coefficient after the other to the type, from the lowest power up, and fits the rest
anew each time, so that the later ones make up for what the rounding of the earlier ones
has lost (N. Brisebarre and S. Chevillard, "Efficient polynomial L-infinity
approximations", 2007, do this better, but the difference is small).

All of it is deterministic: running a script again writes the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mpmath import mp, mpf

__all__ = [
    "DIGITS",
    "Polynomial",
    "Table",
    "fit",
    "mp",
    "mpf",
    "round_to",
    "split",
    "truncate_to",
    "write_tables",
]

mp.prec = 200
SCALE = 200  # bits behind the point of values on the grid

DIGITS = {"f32": 24, "f64": 53}
GRID = 32  # points for each bend of the error
ROUNDS = 40  # of the exchange, at most; about 5 are usual
SETTLED = 2.0**-9  # the largest error exceeds the levelled one by less than this

Function = Callable[[mpf], mpf]


def round_to(x: mpf, digits: int) -> mpf:
    """Give the nearest number with this many significant bits (ties to even)."""
    x = mpf(x)
    if not x:
        return x
    exponent = mp.frexp(x)[1] - digits
    return mp.ldexp(mp.nint(mp.ldexp(x, -exponent)), exponent)


def split(x: mpf, kind: str, parts: int = 2) -> list[mpf]:
    """Give numbers of type ``kind``, each the rounded rest of its predecessors."""
    result = []
    for _ in range(parts):
        result.append(round_to(x, DIGITS[kind]))
        x = x - result[-1]
    return result


def truncate_to(x: mpf, digits: int) -> mpf:
    """Give the number with this many significant bits next to x towards zero."""
    x = mpf(x)
    exponent = mp.frexp(x)[1] - digits
    whole = mp.ldexp(x, -exponent)
    return mp.ldexp(mp.floor(whole) if x > 0 else mp.ceil(whole), exponent)


@dataclass
class Table:
    """An array of a header: its name, numbers and the comment above it."""

    name: str
    values: Sequence[mpf]
    comment: str


@dataclass
class Polynomial:
    """What ``fit`` gives: the sum of coefficients[i] * x ** powers[i].

    ``lows`` has, for powers in ``pairs``, what is to be added to the coefficient.
    ``error`` is the maximum of weight(x) * abs(p(x) - f(x)) with the rounded
    coefficients, in exact arithmetic.
    """

    powers: list[int]
    coefficients: list[mpf]
    lows: dict[int, mpf]
    error: mpf
    lo: mpf
    hi: mpf

    def __call__(self, x: mpf) -> mpf:
        """Evaluate it, pairs as their sums."""
        parts = zip(self.powers, self.coefficients, strict=True)
        return mp.fsum((c + self.lows.get(k, 0)) * x**k for k, c in parts)

    def low_values(self) -> list[mpf]:
        """Give the low parts of the pairs, by rising power."""
        return [self.lows[k] for k in sorted(self.lows)]

    def bits(self) -> str:
        """Give the error as text, a power of two."""
        return f"2^{mp.nstr(mp.log(self.error, 2), 4)}" if self.error else "0"

    def table(self, name: str, formula: str, first: int = 0) -> Table:
        """Make the array of the coefficients from number ``first`` on.

        The comment says that the polynomial (all of it) stands for ``formula``.
        """
        ends = f"[{mp.nstr(self.lo, 6)}, {mp.nstr(self.hi, 6)}]"
        powers = ", ".join(f"x^{k}" for k in self.powers[first:])
        comment = f"{formula} for x in {ends}, error {self.bits()}: {powers}."
        return Table(name, self.coefficients[first:], comment)

    def tables(self, name: str, formula: str) -> list[Table]:
        """Make the array of the coefficients and that of the low parts of the pairs."""
        low = Table(f"{name}_low", self.low_values(), "What these lack.")
        return [self.table(name, formula), low]


@dataclass
class _Problem:
    """A grid with the weighted error that is left, and the weighted powers on it.

    Evaluating polynomials on the grid is nearly all of the work, so values on it are
    fixed-point integers with SCALE bits behind the point.
    """

    points: list[mpf]
    weight: list[mpf]
    rest: list[int]  # weight * (f - polynomial)
    columns: dict[int, list[int]] = field(default_factory=dict)  # weight * x ** power

    def prepare(self, powers: Iterable[int]) -> None:
        for k in powers:
            pairs = zip(self.points, self.weight, strict=True)
            self.columns[k] = [_fix(w * x**k) for x, w in pairs]

    def without(self, terms: Mapping[int, mpf]) -> list[int]:
        """Give the error that is left if the polynomial gains these terms."""
        rest = self.rest
        for k, c in terms.items():
            factor = _fix(c)
            pairs = zip(rest, self.columns[k], strict=True)
            rest = [r - (factor * column >> SCALE) for r, column in pairs]
        return rest

    def add(self, terms: Mapping[int, mpf]) -> None:
        self.rest = self.without(terms)


def _fix(x: mpf) -> int:
    return int(mp.nint(mp.ldexp(x, SCALE)))


def _float(x: int) -> mpf:
    return mp.ldexp(mpf(x), -SCALE)


def _make_problem(
    f: Function, lo: mpf, hi: mpf, weight: Function | str, bends: int
) -> _Problem:
    count = GRID * bends
    problem = _Problem([], [], [])
    for i in range(count + 1):
        # Dense at the ends, as the extrema of the error are.
        x = (lo + hi) / 2 - (hi - lo) / 2 * mp.cos(mp.pi * i / count)
        x = lo if i == 0 else hi if i == count else x
        try:
            value = mpf(f(x))
            if weight == "relative":
                w = 1 / abs(value)
            else:
                w = mpf(1) if weight == "absolute" else mpf(weight(x))  # type: ignore
        except ZeroDivisionError:
            continue  # a zero of f, where the relative error is a limit
        problem.points.append(x)
        problem.weight.append(w)
        problem.rest.append(_fix(w * value))
    return problem


def _solve(
    problem: _Problem, powers: list[int], at: list[int], signs: list[int]
) -> tuple[dict[int, mpf], mpf]:
    """Give coefficients with an error that alternates at these points, and its size."""
    n = len(powers)
    matrix, right = mp.matrix(n + 1, n + 1), mp.matrix(n + 1, 1)
    for row, i in enumerate(at):
        for column, power in enumerate(powers):
            matrix[row, column] = _float(problem.columns[power][i])
        matrix[row, n] = (-1) ** row * signs[i]
        right[row] = _float(problem.rest[i])
    solution = mp.lu_solve(matrix, right)
    return {k: solution[i] for i, k in enumerate(powers)}, abs(solution[n])


def _extrema(error: list[int]) -> list[int]:
    """Give the place of the largest error in each run of equal signs."""
    places: list[int] = []
    for i, e in enumerate(error):
        if places and (e == 0 or (error[places[-1]] > 0) == (e > 0)):
            if abs(e) > abs(error[places[-1]]):
                places[-1] = i
        elif e:
            places.append(i)
    return places


def _exchange(error: list[int], at: list[int], worst: int) -> list[int]:
    """Give the points of the next round: the alternating extrema of this error."""
    places = _extrema(error)
    while len(places) > len(at):
        sizes = [abs(error[i]) for i in places]
        k, ends = sizes.index(min(sizes)), (0, len(places) - 1)
        if k in ends or len(places) == len(at) + 1:
            del places[min(ends, key=lambda i: sizes[i])]
        else:  # it goes with its smaller neighbour, so that signs still alternate
            other = min(k - 1, k + 1, key=lambda i: sizes[i])
            del places[min(k, other) : max(k, other) + 1]
    if len(places) == len(at):
        return places
    # Too few, as a zero at an end may hide an extremum: the worst point joins.
    near = min(range(len(at)), key=lambda k: (abs(at[k] - worst), k))
    return sorted({*at[:near], worst, *at[near + 1 :]})


def _remez(problem: _Problem, powers: list[int]) -> dict[int, mpf]:
    """Fit what is left by these powers.

    If the lowest power is not 0, nothing changes at x = 0, so the error there does not
    count; and if it is odd, errors alternate as though they had x as a factor.
    """
    low = min(powers)
    signs = [int(mp.sign(x)) ** low for x in problem.points]
    # The points of the grid are spaced as the extrema of such errors are.
    places = [i for i, s in enumerate(signs) if s]
    n = len(powers)
    at = [places[round((len(places) - 1) * i / n)] for i in range(n + 1)]
    best: dict[int, mpf] = {}
    least = mp.inf
    for _ in range(ROUNDS):
        found, level = _solve(problem, powers, at, signs)
        rest = problem.without(found)
        error = [e * s for e, s in zip(rest, signs, strict=True)]
        worst = max(range(len(error)), key=lambda i: abs(error[i]))
        size = _float(abs(error[worst]))
        if size < least:
            best, least = found, size
        if size <= level * (1 + SETTLED):
            break
        at = _exchange(error, at, worst)
    return best


def fit(
    f: Function,
    lo: float | mpf,
    hi: float | mpf,
    powers: Iterable[int],
    *,
    weight: Function | str = "relative",
    kind: str = "f64",
    fixed: Mapping[int, float | mpf] | None = None,
    digits: Mapping[int, int] | None = None,
    pairs: Iterable[int] = (),
) -> Polynomial:
    """Fit f on [lo, hi] by a polynomial with these powers and rounded coefficients.

    powers  ``range(7)``; ``range(1, 10, 2)`` for an odd form, and so on
    weight  of the error: "relative" (1 / abs(f(x)), zeros of f are left out),
            "absolute" (1), or a function of x
    kind    type of the coefficients, "f32" or "f64"
    fixed   coefficients, by power, that are given; they need not be among ``powers``
    digits  significant bits, by power, where they differ from those of ``kind``
    pairs   powers with coefficients of two numbers of the type
    """
    lo, hi = mpf(lo), mpf(hi)
    chosen = {k: mpf(c) for k, c in (fixed or {}).items()}
    free = sorted(set(powers) - set(chosen))
    problem = _make_problem(f, lo, hi, weight, len(free) + 2)
    problem.prepare([*chosen, *free])
    problem.add(chosen)
    lows = {}
    pairs = set(pairs)
    while free:
        k, best = free[0], _remez(problem, free)[free[0]]
        free.pop(0)
        chosen[k] = round_to(best, (digits or {}).get(k, DIGITS[kind]))
        if k in pairs:
            lows[k] = round_to(best - chosen[k], DIGITS[kind])
        problem.add({k: chosen[k] + lows.get(k, 0)})
    error = _float(max(abs(e) for e in problem.rest))
    order = sorted(chosen)
    return Polynomial(order, [chosen[k] for k in order], lows, error, lo, hi)


def _hex(x: mpf) -> str:
    number = float(x)
    assert mpf(number) == x, "not a double"
    sign, rest = ("-", number.hex()[1:]) if number < 0 else ("", number.hex())
    digits, exponent = rest.split("p")
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    return f"{sign}{digits}p{exponent}".replace("p+", "p")


def _wrap(text: str, width: int) -> list[str]:
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]


def write_tables(path: str | Path, tables: Sequence[Table], script: str) -> None:
    """Write a header with these arrays, as ``static const double``.

    ``path`` is relative to this folder; ``script`` is the script's ``__file__``.
    """
    target = Path(__file__).resolve().parent / path
    guard = "LOWER_MATH_" + target.name.upper().replace(".", "_")
    lines = [
        "/*",
        f" * {target.name} -- written by {Path(script).name}; not to be edited",
        " *",
        " * Exact in the type they are for. Errors are those of the rounded",
        " * coefficients in exact arithmetic.",
        " */",
        f"#ifndef {guard}",
        f"#define {guard}",
    ]
    for table in tables:
        text = _wrap(table.comment, 78)
        lines += ["", "/* " + "\n * ".join(text) + " */"]
        lines.append(f"static const double {table.name}[] = {{")
        values = " ".join(_hex(x) + "," for x in table.values)
        lines += ["    " + line for line in _wrap(values, 84)]
        lines.append("};")
    lines += ["", "#endif", ""]
    target.write_text("\n".join(lines), encoding="utf-8")
