#!/usr/bin/env python3
"""Write src/kernel/math_root_tables.h: an estimate of 1 / cbrt(x), its correction."""

from minimax import Table, fit, mp, mpf, round_to, write_tables

DROPPED = {"f32": 8, "f64": 12}  # bits of a float that the estimate does without
EXPONENT = {"f32": (23, 127), "f64": (52, 1023)}  # place and bias
SAMPLES = 3 * 1024


def decode(bits: mpf) -> mpf:
    """Give the float with these bits, divided by 2^fraction and without the bias."""
    octave = mp.floor(bits)
    return mp.ldexp(1 + (bits - octave), int(octave))


def errors(shift: mpf) -> tuple[mpf, mpf]:
    """Give the ends of 1 - x t^3, x = decode(bits), t = decode(shift - bits / 3)."""
    values = []
    for i in range(SAMPLES):
        bits = mpf(3 * i) / SAMPLES
        values.append(1 - decode(bits) * decode(shift - bits / 3) ** 3)
    return min(values), max(values)


def balance() -> tuple[mpf, mpf]:
    """Find the shift with errors of equal size below and above 0, and that size."""
    low, high = mpf(-0.2), mpf(0.2)
    for _ in range(24):
        shift = (low + high) / 2
        least, most = errors(shift)
        if -least > most:  # t is too large
            high = shift
        else:
            low = shift
    return shift, max(-least, most)


def make() -> list[Table]:
    """Fit everything."""
    shift, most = balance()
    tables = []
    for kind, name in ("f32", "single"), ("f64", "double"):
        place, bias = EXPONENT[kind]
        unit = mpf(2) ** (place - DROPPED[kind])
        # The bits stand behind those of 2^place, a third of which is taken off too.
        constant = mpf(2) ** place * 4 / 3 + (mpf(4) / 3 * bias + shift) * unit
        text = "2^n 4 / 3 + the upper bits of 1, times 4 / 3, + the best shift."
        tables.append(Table(f"cbrt_estimate_{name}", [mp.nint(constant)], text))
        third = round_to(mpf(-1) / 3, 24 if kind == "f32" else 53)
        tables.append(Table(f"cbrt_third_{name}", [third, -third], "-1 / 3, 1 / 3."))
        p = fit(
            lambda e: ((1 - e) ** (-mpf(1) / 3) - 1) / e,
            -most * 1.01,
            most * 1.01,
            range(3),
            kind=kind,
            weight=lambda e: abs(e),
        )
        text = "(1 - x)^(-1/3) = 1 + x times this polynomial;"
        tables.append(p.table(f"cbrt_correction_{name}", text))
    return tables


if __name__ == "__main__":
    write_tables("math_root_tables.h", make(), __file__)
