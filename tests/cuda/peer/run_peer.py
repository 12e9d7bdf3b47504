"""Runs programs on the published package's CUDA backend, without a GPU, beside ours.

    python tests/cuda/peer/run_peer.py [--peer PYTHON] [--list] [PROGRAM ...]

The peer is an interpreter with the published package: `--peer`, the variable
DRJIT_PEER, or that of the benchmarks, `.venv-peer`. It loads the look-alike of the CUDA
driver of the build folder (`tests/cuda/peer/libcuda_sim.so`), which executes its PTX.
Ours is this interpreter with the package of the build folder; `--engine` names its
engine.

For each program (programs.py) the table says whether the values agree, and what each
side has asked of its device: launches and kernels of ours, and of the peer's, with
bytes of PTX, copies and synchronisations. known.py has what is known to differ or to
fail, and why. The status is 1 if something else does, or if something known no longer
does, and 77 if there is no peer.

The look-alike: cu.h and driver.h (what it is made of), driver.c (device, context),
memory.c, stream.c, module.c, launch.c, texture.c (what it refuses), counts.c. Its
environment variables are in driver.c and launch.c.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import queue
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import programs
from known import Known, known_of

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SECONDS = 120.0  # a program that takes longer has failed

Row = dict[str, Any]


# ---- one side


@dataclass
class Side:
    """How a package is run, and what came of it."""

    command: list[str]
    env: dict[str, str]
    start: Row = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)

    def run(self, names: list[str]) -> None:
        """Run all programs, in as few processes as do it."""
        left = list(names)
        while left:
            done = self.process(left)
            if not done:
                sys.exit(f"run_peer.py: nothing runs: {self.start.get('error')}")
            left = left[done:]

    def process(self, names: list[str]) -> int:
        """Run programs until the process ends or dies; how many have been begun."""
        with tempfile.TemporaryFile("w+") as errors:
            child = subprocess.Popen(
                [*self.command, *names],
                env=self.env, stdout=subprocess.PIPE, stderr=errors, text=True,
            )  # fmt: skip
            current, begun, why = self.listen(child)
            child.kill()
            status = child.wait()
            if current or not begun:
                errors.seek(0)
                error = f"{why or f'status {status}'}: {last_words(errors.read())}"
                if current:
                    self.rows[current] = {"error": error}
                else:
                    self.start["error"] = error
        return begun

    def listen(self, child: subprocess.Popen[str]) -> tuple[str, int, str]:
        """Collect rows; the program in which the process died, how many were begun."""
        lines: queue.Queue[str] = queue.Queue()

        def read() -> None:
            assert child.stdout
            for line in child.stdout:
                lines.put(line)
            lines.put("")

        threading.Thread(target=read, daemon=True).start()
        current, begun = "", 0
        while True:
            try:
                line = lines.get(timeout=SECONDS)
            except queue.Empty:
                return current, begun, f"no result in {SECONDS:.0f} s"
            if not line:
                return current, begun, ""
            row = json.loads(line)
            if "begin" in row:
                current, begun = row["begin"], begun + 1
            elif "end" in row:
                current = ""
                self.rows[row["end"]] = row
            else:
                self.start = row


def last_words(text: str) -> str:
    """What a process has printed that died: what the look-alike said, or the end."""
    lines = text.strip().splitlines()
    said = [line for line in lines if line.startswith("cuda-sim: ")]
    return " / ".join(said or lines[-6:])[-600:]


# ---- values


def apart(a: float, b: float) -> float:
    """How far two numbers are apart, relative to the larger one or to 1."""
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.inf
    return abs(a - b) / max(abs(a), abs(b), 1.0)


def same_bits(a: float, b: float) -> bool:
    """The same number; -0.0 is not 0.0, all NaNs are one."""
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return a == b and math.copysign(1, a) == math.copysign(1, b)


def difference(ours: Any, peer: Any, tolerance: float) -> str:
    """What differs in one result; "": nothing."""
    kind, mine = ours
    other_kind, other = peer
    if kind != other_kind or len(mine) != len(other):
        return f"{len(mine)} {kind} entries, the peer's are {len(other)} {other_kind}"
    pairs = enumerate(zip(mine, other, strict=True))
    if kind == "exact":
        wrong = [i for i, (a, b) in pairs if a != b]
    elif tolerance == 0.0:
        wrong = [i for i, (a, b) in pairs if not same_bits(a, b)]
    else:
        wrong = [i for i, (a, b) in pairs if not apart(a, b) <= tolerance]
    if not wrong:
        return ""
    at = wrong[0]
    return f"{len(wrong)} of {len(mine)}: [{at}] {mine[at]!r}, the peer's {other[at]!r}"


@dataclass
class Verdict:
    """What came of a program: "agree", "differ" or "fail"; the results that differ."""

    kind: str
    why: str = ""
    results: list[str] = field(default_factory=list)


def judge(program: programs.Program, ours: Row, peer: Row) -> Verdict:
    """Compare both sides of a program."""
    for side, row in (("ours", ours), ("the peer", peer)):
        if "error" in row:
            return Verdict("fail", f"{side}: {row['error']}")
    mine, other = ours["values"], peer["values"]
    wrong = {}
    for name in mine:
        if name not in other:
            wrong[name] = "the peer has no such result"
        elif text := difference(mine[name], other[name], program.tolerance):
            wrong[name] = text
    if not wrong:
        return Verdict("agree")
    why = "; ".join(f"{name}: {text}" for name, text in list(wrong.items())[:4])
    return Verdict("differ", why, sorted(wrong))


# ---- what is known


def unexpected(verdict: Verdict, known: Known | None) -> str:
    """What is new about a verdict; "": nothing."""
    if known is None:
        return "" if verdict.kind == "agree" else f"new: {verdict.why}"
    if verdict.kind != known.kind:
        return f"not {known.kind}, as known.py says: {verdict.why or 'they agree'}"
    if known.text not in verdict.why:
        return f"not as known.py says ({known.text}): {verdict.why}"
    if known.results:
        beyond = sorted(set(verdict.results) - set(known.results))
        gone = sorted(set(known.results) - set(verdict.results))
        if beyond or gone:
            return f"new: {beyond}, no longer: {gone}: {verdict.why}"
    return ""


# ---- the table


COLUMNS = (
    ("launches", "launches"), ("modules", "kernels"), ("ptx_bytes", "PTX"),
    ("copies_h2d", "h2d"), ("copies_d2h", "d2h"), ("copies_d2d", "d2d"),
    ("memsets", "sets"), ("stream_syncs", "syncs"),
)  # fmt: skip


def heading() -> str:
    """Names of the columns."""
    columns = "".join(f"{name:>9}" for _, name in COLUMNS)
    return f"{'program':28}{'':7}{'ours':>9}{'kernels':>9} |{columns}"


def table_line(name: str, verdict: Verdict, ours: Row, peer: Row) -> str:
    """Counts of both sides."""
    mine, other = ours.get("counts", {}), peer.get("counts", {})
    own = "".join(f"{mine.get(key, '-'):>9}" for key in ("launches", "modules"))
    columns = "".join(f"{other.get(key, '-'):>9}" for key, _ in COLUMNS)
    return f"{name:28}{verdict.kind:7}{own} |{columns}"


def total(rows: dict[str, Row], key: str) -> int:
    """Sum of a count."""
    return sum(row.get("counts", {}).get(key, 0) for row in rows.values())


# ---- main


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("programs", nargs="*", help="default: all")
    parser.add_argument("--peer", default=os.environ.get("DRJIT_PEER"))
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--engine", default="native", help="DRJIT_CPU_ENGINE of ours")
    parser.add_argument("--backend", default="cuda", help="of the peer: cuda, llvm")
    parser.add_argument("--json", help="write everything to this file")
    parser.add_argument("--list", action="store_true", help="names of the programs")
    return parser.parse_args()


def peer_python(given: str | None) -> str:
    """The interpreter with the published package; ends the process if there is none."""
    python = given or str(ROOT / ".venv-peer" / "bin" / "python")
    probe = [python, "-c", "import drjit"]
    found = Path(python).exists()
    if not found or subprocess.run(probe, capture_output=True).returncode:
        print(f"run_peer.py: skipped, {python} has no published package (--peer)")
        sys.exit(77)
    return python


def sides(options: argparse.Namespace, home: str) -> tuple[Side, Side]:
    """Ours and the peer."""
    foreign = ("DRJIT_", "PYTHON")
    env = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
    env |= {"HOME": home, "DRJIT_CACHE_DIR": home, "PYTHONDONTWRITEBYTECODE": "1"}
    build = Path(options.build).resolve()
    library = build / "tests" / "cuda" / "peer" / "libcuda_sim.so"
    child = str(HERE / "child.py")
    peer = [peer_python(options.peer), child]
    if options.backend == "cuda":
        if not library.exists():
            sys.exit(f"run_peer.py: there is no {library}; build it first (make)")
        peer += ["--counts", str(library)]
    peer.append(options.backend)
    return (
        Side(
            [sys.executable, child, "llvm"],
            env | {"PYTHONPATH": str(build / "py"), "DRJIT_LOG_LEVEL": "warn",
                   "DRJIT_CPU_ENGINE": options.engine},
        ),
        Side(peer, env | {"DRJIT_LIBCUDA_PATH": str(library)}),
    )  # fmt: skip


def compare(
    everything: dict[str, programs.Program], names: list[str], ours: Side, peer: Side
) -> tuple[dict[str, Verdict], int]:
    """Print the table; the verdicts, and how many are new."""
    verdicts, news = {}, 0
    print(heading())
    for name in names:
        mine, other = ours.rows[name], peer.rows[name]
        verdict = verdicts[name] = judge(everything[name], mine, other)
        print(table_line(name, verdict, mine, other))
        known = known_of(name, str(peer.start.get("start", "")))
        text = unexpected(verdict, known)
        if text:
            news += 1
            print(f"    {text[:700]}")
        elif known:
            print(f"    known: {known.why}")
    return verdicts, news


def report(verdicts: dict[str, Verdict], ours: Side, peer: Side) -> None:
    """Print the sums."""
    kinds = [verdict.kind for verdict in verdicts.values()]
    print(", ".join(f"{kinds.count(k)} {k}" for k in ("agree", "differ", "fail")))
    sums = [
        f"{key} {total(ours.rows, key)} ours, {total(peer.rows, key)} the peer's"
        for key in ("launches", "modules")
    ]
    print(f"{'; '.join(sums)} of {total(peer.rows, 'ptx_bytes')} bytes")
    start = peer.start.get("counts", {})
    print(
        f"start of the peer: {peer.start.get('seconds', 0):.2f} s, "
        f"{start.get('modules', 0)} modules of {start.get('ptx_bytes', 0)} bytes, "
        f"parsed in {start.get('parse_us', 0) / 1e3:.1f} ms"
    )


def main() -> int:
    """Run, compare, report."""
    options = arguments()
    everything = programs.load()
    names = options.programs or list(everything)
    for name in names:
        if name not in everything:
            sys.exit(f"run_peer.py: no program {name!r}; --list has them")
    if options.list:
        print("\n".join(everything))
        return 0
    with tempfile.TemporaryDirectory() as home:
        ours, peer = sides(options, home)
        peer.run(names)
        ours.run(names)
    verdicts, news = compare(everything, names, ours, peer)
    report(verdicts, ours, peer)
    if options.json:
        rows = {"ours": ours.rows, "peer": peer.rows, "start": peer.start}
        Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if news else 0


if __name__ == "__main__":
    sys.exit(main())
