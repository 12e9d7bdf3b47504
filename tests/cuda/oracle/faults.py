"""Faults that a generator of PTX may have, as changes of one line of its text.

A fault has a name, a pattern for the names of cases it is planted in, one for the
instruction, and a function that gives the line instead (or none: it does not apply).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

LINE = re.compile(r"^\t(?P<guard>@!?%p\d+ )?(?P<op>[a-z][\w.]*)(?: (?P<args>.*))?;$")
ANY, FORMS, CHOSEN = r"", r"^form:", r"^chosen:"
# Cases where a fault shows for their values: results that do not fit, or are rounded;
# narrow operands whose extension is used; branches that some lanes take.
NARROWING = r"^form:cast\.[iu](32|64)\.[iu](8|16)"
EXTENDED = r"^form:(?!bitcast|cast\.\w+\.([iu](8|16)|bool)$)"
LOOPS = r"^chosen:(mandelbrot|calls|local|atomics|reductions)"
INEXACT = r"^form:cast\.[iuf](32|64)\.f(16|32)"
GUARD = r"(@!?%p\d+ )?"


@dataclass(frozen=True)
class Line:
    """An instruction: "@%p1 ", "add.rn.f32", ("%r1", "%r2", "%r3")."""

    guard: str
    op: str
    args: tuple[str, ...]

    @staticmethod
    def of(text: str) -> Line | None:
        """Take a line of text apart; None if it is not an instruction."""
        match = LINE.match(text)
        if not match:
            return None
        args = re.split(r", (?![^{]*\})", match["args"] or "")
        return Line(match["guard"] or "", match["op"], tuple(a for a in args if a))

    def head(self) -> str:
        """How it begins, whatever the predicate's number is."""
        return re.sub(r"\d+", "0", self.guard) + self.op

    def text(self) -> str:
        """Put it together again."""
        args = " " + ", ".join(self.args) if self.args else ""
        return f"\t{self.guard}{self.op}{args};"

    def with_op(self, op: str) -> Line:
        """Another instruction with the same operands."""
        return Line(self.guard, op, self.args)

    def with_arg(self, k: int, arg: str) -> Line:
        """Another operand k."""
        return Line(self.guard, self.op, self.args[:k] + (arg,) + self.args[k + 1 :])


Change = Callable[[Line], "Line | str | None"]


@dataclass(frozen=True)
class Fault:
    """A kind of mistake: `change` gives the line, or text, that stands instead."""

    name: str
    cases: str
    op: str
    change: Change

    def fits(self, head: str) -> bool:
        """Can it be planted in instructions that begin like this?"""
        return re.fullmatch(self.op, head) is not None

    def apply(self, line: Line) -> str | None:
        """The text instead of a line that it fits, None where it does not apply."""
        changed = self.change(line)
        if changed is None or changed == line:
            return None
        return changed.text() if isinstance(changed, Line) else changed


def rename(pattern: str, to: str) -> Change:
    """Change a part of the instruction's name."""
    return lambda line: line.with_op(re.sub(pattern, to, line.op, count=1))


def table(names: dict[str, str], at: int = 0) -> Change:
    """Change the part of the instruction's name between points by a table."""

    def change(line: Line) -> Line | None:
        parts = line.op.split(".")
        if parts[at] not in names or len({*line.args[1:3]}) < len(line.args[1:3]):
            return None  # of equal operands the maximum is the minimum
        return line.with_op(".".join([*parts[:at], names[parts[at]], *parts[at + 1 :]]))

    return change


def swap(a: int, b: int) -> Change:
    """Exchange two operands."""

    def change(line: Line) -> Line | None:
        if max(a, b) >= len(line.args):
            return None
        return line.with_arg(a, line.args[b]).with_arg(b, line.args[a])

    return change


def drop(line: Line) -> str:
    """Leave the line out."""
    return ""


def unguarded(line: Line) -> Line | None:
    """Drop the predicate."""
    return Line("", line.op, line.args) if line.guard else None


def negated(line: Line) -> Line | None:
    """Take the other lanes."""
    if not line.guard:
        return None
    other = line.guard.replace("@!", "@")
    other = other if other != line.guard else line.guard.replace("@", "@!")
    return Line(other, line.op, line.args)


def other_guard(line: Line) -> Line | None:
    """Take another predicate."""
    if not line.guard:
        return None
    number = int(re.findall(r"\d+", line.guard)[0])
    guard = line.guard.replace(f"%p{number} ", f"%p{max(number - 1, 0)} ")
    return Line(guard, line.op, line.args)


def entry_bytes(op: str) -> int:
    """Bytes that an access of this name reads or writes for each entry."""
    return int(re.findall(r"\.[bsuf](\d+)$", op)[0]) // 8


def next_entry(line: Line) -> Line | None:
    """Access the entry behind."""
    for k, arg in enumerate(line.args):
        match = re.match(r"\[(%d\d+)\+(\d+)\]$", arg)
        if match:
            offset = int(match[2]) + entry_bytes(line.op)
            return line.with_arg(k, f"[{match[1]}+{offset}]")
    return None


def number(k: int, new: Callable[[int], int]) -> Change:
    """Change the number that operand k is."""

    def change(line: Line) -> Line | None:
        if k >= len(line.args) or not re.match(r"-?(0x[0-9a-f]+|\d+)$", line.args[k]):
            return None
        return line.with_arg(k, str(new(int(line.args[k], 0))))

    return change


def reordered(line: Line) -> Line | None:
    """Exchange the first two entries of a vector."""
    for k, arg in enumerate(line.args):
        match = re.match(r"\{(%\w+), (%\w+)(.*)\}$", arg)
        if match:
            return line.with_arg(k, f"{{{match[2]}, {match[1]}{match[3]}}}")
    return None


def other_label(line: Line) -> Line:
    """Branch to the first label, which is far from most."""
    return line.with_arg(0, "L1" if line.args[0] == "L0" else "L0")


def one_by_one(line: Line) -> str:
    """A product, and then the sum: rounded twice."""
    result, a, b, c = line.args
    kind = line.op[-3:]
    return (
        f"\tmul.rn.{kind} {result}, {a}, {b};\n\tadd.rn.{kind} {result}, {result}, {c};"
    )


def copied(k: int) -> Change:
    """Copy operand k instead of choosing."""

    def change(line: Line) -> Line | None:
        if line.args[k].startswith("%"):
            return Line(
                line.guard,
                "mov." + line.op.split(".")[-1],
                (line.args[0], line.args[k]),
            )
        return None

    return change


def division_unguarded(line: Line) -> Line | str | None:
    """Divide by what is there, be it 0."""
    return copied(2)(line) if line.args[1] == "1" else None


def from_register(line: Line) -> str | None:
    """Drop a move from one register to another."""
    return "" if line.args[1].startswith("%r") else None


def other_width(line: Line) -> Line:
    """Extend from 16 bits instead of 8, and the other way round."""
    wide = line.op.endswith("8")
    return line.with_op(re.sub(r"\d+$", "16" if wide else "8", line.op))


def other_sign(line: Line) -> Line:
    """Extend as if it were signed, or as if it were not."""
    head, kind, bits = re.split(r"\.([su])(?=\d+$)", line.op)
    return line.with_op(f"{head}.{'u' if kind == 's' else 's'}{bits}")


def narrower(line: Line) -> Line:
    """Store the low half."""
    return line.with_op(line.op.replace("b32", "b16").replace("b64", "b32"))


def special(old: str, new: str) -> Change:
    """Take another special register."""
    return lambda line: line.with_arg(1, new) if old in line.args else None


def next_parameter(line: Line) -> Line:
    """Take the parameter behind."""
    offset = int(re.findall(r"\d+", line.args[1])[0]) + 8
    return line.with_arg(1, f"[params+{offset}]")


def last_operand(to: str) -> Change:
    """Change the last operand."""
    return lambda line: line.with_arg(len(line.args) - 1, to)


def other_mask(line: Line) -> Line | None:
    """Take the sign of a float for its magnitude, and the other way round."""
    mask = MASKS.get(line.args[-1])
    return line.with_arg(len(line.args) - 1, mask) if mask else None


FLOAT = r"(add|sub|mul|fma|div|sqrt|rcp)\.rn\."
MASKS = {
    "0x80000000": "0x7fffffff",
    "0x7fffffff": "0x80000000",
    "0x8000000000000000": "0x7fffffffffffffff",
    "0x7fffffffffffffff": "0x8000000000000000",
}
COMPARISONS = {
    "lt": "le",
    "le": "lt",
    "gt": "ge",
    "ge": "gt",
    "eq": "ne",
    "ne": "eq",
    "neu": "ne",
    "nan": "num",
    "num": "nan",
}
OPERATIONS = {
    "abs": "neg",
    "add": "sub",
    "and": "or",
    "brev": "not",
    "clz": "popc",
    "max": "min",
    "min": "max",
    "neg": "not",
    "not": "neg",
    "or": "xor",
    "popc": "clz",
    "shl": "shr",
    "sub": "add",
    "xor": "or",
}


def other_operation(line: Line) -> Line | str | None:
    """Do something else, but not with what tells that the first lane is there."""
    if line.op.endswith(".pred") and "%p1" in line.args:
        return None
    return table(OPERATIONS)(line)


def other_comparison(line: Line) -> Line | str | None:
    """Compare otherwise, but not where nothing depends on it.

    The thread behind the last stores nothing, and the first lane of a thread is there.
    """
    if line.op == "setp.ge.u64" or (line.op, line.args[2]) == ("setp.gt.u32", "0"):
        return None
    return table(COMPARISONS, 1)(line)


ROUNDINGS = {"rni": "rmi", "rmi": "rpi", "rpi": "rzi", "rzi": "rni"}
ATOMICS = {"add": "max", "max": "min", "min": "max", "and": "or", "or": "and"}
ACCESS = GUARD + r"(ld|st)\.(global|local)(\.nc)?(\.v\d)?\.\w+"

FAULTS = (
    Fault("no rounding", ANY, FLOAT + r"f\d\d", rename(r"\.rn", "")),
    Fault("flushes", ANY, FLOAT + "f32", rename(r"\.rn", ".rn.ftz")),
    Fault("rounds to zero", FORMS, FLOAT + r"f\d\d", rename(r"\.rn", ".rz")),
    Fault("approximates", ANY, r"(div|sqrt|rcp)\.rn\.f32", rename("rn", "approx")),
    Fault("rounds twice", FORMS, r"fma\.rn\.f\d\d", one_by_one),
    Fault(
        "swaps operands", r"^(form|chosen)", r"(sub|div|setp\.[lg][te])\..*", swap(1, 2)
    ),
    Fault("swaps choices", FORMS, r"selp\..*", swap(1, 2)),
    Fault("sign for magnitude", FORMS, r"(and|xor)\.b\d\d", other_mask),
    Fault("other operation", FORMS, r".*", other_operation),
    Fault("other comparison", FORMS, r"setp\..*", other_comparison),
    Fault("low half for high", FORMS, r"mul\.hi\..*", rename("hi", "lo")),
    Fault(
        "sign forgotten",
        FORMS,
        r"(div|shr|min|max|mul\.hi|setp\.[lg][te])\.s.*",
        rename(r"\.s(32|64)$", r".u\1"),
    ),
    Fault("other width", NARROWING, r"cvt\.[su]32\.[su](8|16)", other_width),
    Fault("other sign", NARROWING, r"cvt\.[su]32\.[su](8|16)", other_sign),
    Fault("other rounding", FORMS, r"cvt\.r[nmpz]i\..*", table(ROUNDINGS, 1)),
    Fault("rounds conversions to zero", INEXACT, r"cvt\.rn\..*", rename("rn", "rz")),
    Fault(
        "saturates elsewhere",
        FORMS,
        r"cvt\.rzi\.[su](8|16)\..*",
        rename(r"\.(.)(8|16)\.", r".\g<1>32."),
    ),
    Fault("NaN forgotten", FORMS, r"setp\.(num|nan\.or)\..*", drop),
    Fault("predicate dropped", CHOSEN, r"@!?%p\d+ (st|red|atom|ret).*", unguarded),
    Fault("predicate negated", CHOSEN, r"@!?%p\d+ .*", negated),
    Fault("wrong predicate", CHOSEN, r"@!?%p\d+ (st|red|atom).*", other_guard),
    Fault("next entry", ANY, ACCESS, next_entry),
    Fault(
        "wrong stride", r"^(form|chosen)", r"mad\.wide\.u32", number(2, lambda n: n * 2)
    ),
    Fault("wrong constant", ANY, r"mov\.b(32|64)", number(1, lambda n: n ^ 1)),
    Fault(
        "wrong bits",
        r"^(form|chosen)",
        r"(and|or|shl|shr)\.\w+",
        number(2, lambda n: n >> 1),
    ),
    Fault(
        "counts unclamped",
        r"^form:(shl|shr\.u)",
        r"min\.u64",
        number(2, lambda n: n - 1),
    ),
    Fault(
        "sign of a load",
        EXTENDED,
        r".*ld\.global.*\.[su](8|16)",
        rename(r"\.[su](8|16)$", r".u\1"),
    ),
    Fault(
        "load too narrow",
        FORMS,
        GUARD + r"ld\.global\.(nc\.)?b32",
        rename("b32", "b16"),
    ),
    Fault(
        "load too wide",
        FORMS,
        GUARD + r"ld\.global\.(nc\.)?[us]8",
        rename(r"[us]8$", "u16"),
    ),
    Fault("store too narrow", ANY, GUARD + r"st\.global\.b(32|64)", narrower),
    Fault(
        "store too wide", ANY, GUARD + r"st\.global\.[us]8", rename(r"[us]8$", "u16")
    ),
    Fault("store dropped", ANY, GUARD + r"st\..*", drop),
    Fault("vector reordered", ANY, ACCESS, reordered),
    Fault("wrong label", ANY, GUARD + r"bra", other_label),
    Fault("branch dropped", LOOPS, GUARD + r"bra", drop),
    Fault("lanes beyond the end", ANY, r"@%p\d+ ret", drop),
    Fault("state not moved", r"^chosen:(mandelbrot|calls)", r"mov\.b32", from_register),
    Fault(
        "other atomic", ANY, GUARD + r"(red|atom)\.global\.\w+\..*", table(ATOMICS, 2)
    ),
    Fault("exchange swapped", CHOSEN, GUARD + r"atom\.global\.cas\..*", swap(2, 3)),
    Fault(
        "not coherent",
        r"^chosen:(atomics|reductions)",
        r"(ld\.volatile|@%p0 ld)\.global\.\w+",
        rename(r"^ld\.(volatile\.)?global", "ld.global.nc"),
    ),
    Fault("division unguarded", FORMS, r"selp\.b(32|64)", division_unguarded),
    Fault("half a warp", CHOSEN, r"(shfl|vote)\.sync\..*", last_operand("0xffff")),
    Fault("other lane", CHOSEN, r"shfl\.sync\..*", number(2, lambda n: n // 2)),
    Fault("lane number", CHOSEN, r"mov\.u32", special("%laneid", "%tid.x")),
    Fault("wrong parameter", ANY, r"ld\.param\.b64", next_parameter),
    # Others are one block.
    Fault("wrong block", FORMS, r"mov\.u32", special("%ctaid.x", "%ctaid.y")),
    Fault("wrong block size", FORMS, r"mov\.u32", special("%ntid.x", "%nctaid.x")),
    Fault(
        "instruction dropped", ANY, r"(cvt|mad|sub|and\.b|selp|setp|mul|neg).*", drop
    ),
    Fault(
        "array index unchecked",
        r"^chosen:local",
        r"setp\.lt\.u32",
        number(2, lambda n: n + 1),
    ),
)
