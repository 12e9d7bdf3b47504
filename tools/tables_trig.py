"""Write src/kernel/math_trig_tables.h: polynomials for sin, cos, tan; bits of 2/pi.

Powers are those of z = r^2, where r is the reduced argument.
"""

from __future__ import annotations

from minimax import Table, fit, mp, mpf, round_to, split, write_tables

WORD = 32
WORDS = 38
BEFORE = 14  # zeros before the first bit of 2/pi


def sine(z: mpf) -> mpf:
    """Give sin(r) / r."""
    r = mp.sqrt(z)
    return mp.sin(r) / r if r else mpf(1)


def cosine(z: mpf) -> mpf:
    """Give cos(r)."""
    return mp.cos(mp.sqrt(z))


def denominator(z: mpf) -> mpf:
    """Give that of the Pade approximant [5/4] of tan(r): zero near r = pi/2, 3 pi/2."""
    return (945 - 420 * z + 15 * z * z) / 945


def numerator(z: mpf) -> mpf:
    """Give what belongs above the denominator: tan(r) / r times it."""
    r = mp.sqrt(z)
    return mp.tan(r) / r * denominator(z) if r else mpf(1)


def words() -> Table:
    """Give the bits of 2/pi behind BEFORE zeros, as integers below 2^WORD."""
    with mp.workprec(WORD * (WORDS + 4)):
        whole = int(mp.floor(mp.ldexp(2 / mp.pi, WORD * WORDS - BEFORE)))
    values = [whole >> WORD * i & (1 << WORD) - 1 for i in reversed(range(WORDS))]
    comment = f"{BEFORE} zeros and the first bits of 2/pi, in words of {WORD} bits."
    return Table("turn_words", [mpf(v) for v in values], comment)


def main() -> None:
    """Write the header."""
    half, quarter = mpf("1.58") ** 2, mpf("0.79") ** 2
    sine_rest = fit(sine, 0, quarter, range(7), fixed={0: 1})
    cosine_rest = fit(cosine, 0, quarter, range(8), fixed={0: 1, 1: -0.5})
    over = [round_to(c, 53) for c in (-420 / mpf(945), 15 / mpf(945))]
    write_tables(
        "math_trig_tables.h",
        [
            fit(sine, 0, half, range(6)).table("sine_half_turn", "sin(r) / r"),
            fit(numerator, 0, quarter, range(3)).table(
                "tangent_above", "tan(r) / r (1 + x tangent_below)"
            ),
            Table("tangent_below", over, "Denominator of Pade's approximant [5/4]."),
            sine_rest.table("sine_rest", "sin(r) / r", 1),
            cosine_rest.table("cosine_rest", "cos(r)", 2),
            Table("pi_double", split(mp.pi, "f64", 3), "pi in parts."),
            words(),
        ],
        __file__,
    )


if __name__ == "__main__":
    main()
