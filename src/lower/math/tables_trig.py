"""Write math_trig_tables.h: polynomials for sin, cos, tan; bits of 2/pi.

Powers are those of z = r^2, where r is the reduced argument.
"""

from __future__ import annotations

from minimax import DIGITS, Table, fit, mp, mpf, split, truncate_to, write_tables

WORD = 32
WORDS = 38
BEFORE = 48  # zeros before the first bit of 2/pi


def sine(z: mpf) -> mpf:
    """Give sin(r) / r."""
    r = mp.sqrt(z)
    return mp.sin(r) / r if r else mpf(1)


def cosine(z: mpf) -> mpf:
    """Give cos(r)."""
    return mp.cos(mp.sqrt(z))


def cotangent(z: mpf) -> mpf:
    """Give (1 / r - cot(r)) / r."""
    r = mp.sqrt(z)
    return (1 / r - mp.cot(r)) / r if r else mpf(1) / 3


def cotangent_weight(z: mpf) -> mpf:
    """Give what an error of ``cotangent`` does to r cot(r) = 1 - z cotangent(z)."""
    return z / (1 - z * cotangent(z))


def quarter_turn(kind: str, name: str, bits: int) -> Table:
    """Give pi/2 in three positive parts, the second of which leaves bits free."""
    high = truncate_to(mp.pi / 2, DIGITS[kind])
    middle = truncate_to(mp.pi / 2 - high, DIGITS[kind] - bits)
    parts = [high, middle, *split(mp.pi / 2 - high - middle, kind, 1)]
    comment = f"pi/2 in parts, the second of which leaves {bits} bits free."
    return Table(f"quarter_{name}", parts, comment)


def words() -> Table:
    """Give the bits of 2/pi behind BEFORE zeros, as integers below 2^WORD."""
    with mp.workprec(WORD * (WORDS + 4)):
        whole = int(mp.floor(mp.ldexp(2 / mp.pi, WORD * WORDS - BEFORE)))
    values = [whole >> WORD * i & (1 << WORD) - 1 for i in reversed(range(WORDS))]
    comment = f"{BEFORE} zeros and the first bits of 2/pi, in words of {WORD} bits."
    return Table("turn_words", [mpf(v) for v in values], comment)


def main() -> None:
    """Write the header."""
    end = mpf("0.79") ** 2
    tables = []
    for kind, name, terms, bits in ("f32", "single", 3, 9), ("f64", "double", 6, 20):
        few = 4 if kind == "f32" else 9
        p = fit(lambda z: -sine(z), 0, end, range(terms + 1), fixed={0: -1}, kind=kind)
        q = fit(cosine, 0, end, range(terms + 2), fixed={0: 1, 1: -0.5}, kind=kind)
        r = fit(cotangent, 0, end, range(few), weight=cotangent_weight, kind=kind)
        tables.append(p.table(f"sine_{name}", "-sin(r) / r", 1))
        tables.append(q.table(f"cosine_{name}", "cos(r)", 2))
        tables.append(r.table(f"cotangent_{name}", "(1 / r - cot(r)) / r"))
        tables.append(quarter_turn(kind, name, bits))
        tables.append(Table(f"pi_{name}", split(mp.pi, kind, 3), "pi in parts."))
    write_tables("math_trig_tables.h", [*tables, words()], __file__)


if __name__ == "__main__":
    main()
