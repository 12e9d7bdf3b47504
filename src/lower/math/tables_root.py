#!/usr/bin/env python3
"""Write math_root_tables.h: estimates of inverse roots, corrections."""

from minimax import Table, fit, mp, mpf, round_to, write_tables

DROPPED = {"f32": 8, "f64": 12}  # bits of a float that the estimate does without
EXPONENT = {"f32": (23, 127), "f64": (52, 1023)}  # place and bias
SAMPLES = 1024  # of an octave


def decode(bits: mpf) -> mpf:
    """Give the float with these bits, divided by 2^fraction and without the bias."""
    octave = mp.floor(bits)
    return mp.ldexp(1 + (bits - octave), int(octave))


def errors(n: int, shift: mpf) -> tuple[mpf, mpf]:
    """Give the ends of 1 - x t^n, x = decode(bits), t = decode(shift - bits / n)."""
    values = []
    for i in range(n * SAMPLES):
        bits = mpf(i) / SAMPLES
        values.append(1 - decode(bits) * decode(shift - bits / n) ** n)
    return min(values), max(values)


def balance(n: int) -> tuple[mpf, mpf]:
    """Find the shift with errors of equal size below and above 0, and that size."""
    low, high = mpf(-0.2), mpf(0.2)
    for _ in range(24):
        shift = (low + high) / 2
        least, most = errors(n, shift)
        if -least > most:  # t is too large
            high = shift
        else:
            low = shift
    return shift, max(-least, most)


def correction(name: str, n: int, most: mpf, terms: int, kind: str) -> Table:
    """Fit what leads from an estimate to the n-th root's inverse."""
    p = fit(
        lambda e: ((1 - e) ** (-mpf(1) / n) - 1) / e,
        -most * 1.01,
        most * 1.01,
        range(terms),
        kind=kind,
        weight=lambda e: abs(e),
    )
    return p.table(name, f"(1 - x)^(-1/{n}) = 1 + x times this polynomial;")


def make_cbrt(kind: str, name: str, shift: mpf, most: mpf) -> list[Table]:
    """Fit the cubic root in one precision."""
    place, bias = EXPONENT[kind]
    unit = mpf(2) ** (place - DROPPED[kind])
    # The bits come after those of 2^place, a third of which is taken off too.
    constant = mpf(2) ** place * 4 / 3 + (mpf(4) / 3 * bias + shift) * unit
    text = "2^n 4 / 3 + the upper bits of 1, times 4 / 3, + the best shift."
    third = round_to(mpf(-1) / 3, 24 if kind == "f32" else 53)
    return [
        Table(f"cbrt_estimate_{name}", [mp.nint(constant)], text),
        Table(f"cbrt_third_{name}", [third, -third], "-1 / 3, 1 / 3."),
        correction(f"cbrt_correction_{name}", 3, most, 3, kind),
    ]


def make_rsqrt(kind: str, name: str, shift: mpf, most: mpf) -> list[Table]:
    """Fit the inverse of the square root in one precision."""
    place, bias = EXPONENT[kind]
    constant = round_to((mpf(3) / 2 * bias + shift) * mpf(2) ** place, 31)
    text = "The bits of 1, times 3 / 2, + the best shift."
    first = correction(f"rsqrt_correction_{name}", 2, most, 3, kind)
    left = mpf(2) ** -18  # of 1 - x t^2 after the first correction: 2^-18.8
    return [
        Table(f"rsqrt_estimate_{name}", [constant], text),
        first,
        correction(f"rsqrt_last_{name}", 2, left, 1 if kind == "f32" else 3, kind),
    ]


def make() -> list[Table]:
    """Fit everything."""
    cubic, square = balance(3), balance(2)
    tables = []
    for kind, name in ("f32", "single"), ("f64", "double"):
        tables += make_cbrt(kind, name, *cubic)
        tables += make_rsqrt(kind, name, *square)
    return tables


if __name__ == "__main__":
    write_tables("math_root_tables.h", make(), __file__)
