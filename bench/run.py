"""Runs the benchmarks of the core against the published package, side by side.

    python bench/run.py [--build DIR] [--peer PYTHON] [--rounds N] [MEASURE ...]

Ours is `bench/core_bench` of a build folder; the peer is `peer_bench.py` in a Python
environment with the published package, made in `.venv-peer` unless one is named. The
two run in turn (A B A B ...), each measure in a process of its own with an empty cache
directory; of the rounds the median is kept. Printed are both figures, the ratio (ours
over peer in time or memory, so lower is better), the goal, and whether it is reached.
Results go to bench/results/<date>-<cpu>.md and .json.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import fnmatch
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PEER_REQUIREMENTS = ("drjit==1.4.0", "numpy")
SECONDS = 400  # a measure that takes longer has failed

Row = dict[str, object]


@dataclasses.dataclass(frozen=True)
class Run:
    """One process of a measure: how it is called and with which engine."""

    measure: str
    argument: str = ""
    engine: str = ""  # DRJIT_CPU_ENGINE of our side; "": the library's choice
    peer: bool = True  # does the peer take part?


@dataclasses.dataclass(frozen=True)
class Measure:
    """A named group of runs that share one cache directory."""

    name: str
    runs: tuple[Run, ...]
    parallel: bool = False  # uses all cores, so the machine must really have them


@dataclasses.dataclass(frozen=True)
class Goal:
    """What cases matching `case` must reach.

    The reference is the peer's figure for the same case, or for `peer_case`, or, with
    `own_case`, our program's figure for that case. Without a reference (`absolute`) the
    figure itself is bounded.
    """

    measure: str
    case: str
    bound: float
    peer_measure: str = ""
    peer_case: str = ""
    own_case: str = ""
    absolute: bool = False


GROWTH = ("100", "1000", "10000", "100000", "1000000")

MEASURES = (
    Measure("trace", (Run("trace"),)),
    Measure("launch", (Run("launch"),)),
    Measure("first", (Run("first", "SEED"),)),
    Measure("first llvm", (Run("first", "SEED", engine="llvm", peer=False),)),
    Measure("growth", tuple(Run("growth", n, peer=len(n) < 6) for n in GROWTH)),
    Measure("footprint", (Run("footprint"),)),
    Measure("startup", (Run("startup", "cold cache"), Run("startup", "warm cache"))),
    Measure("codegen", (Run("codegen", "SEED", engine="native", peer=False),)),
    Measure("kernels", (Run("kernels", "SEED", engine="native", peer=False),)),
    Measure("arithmetic", (Run("arithmetic", engine="native"),), parallel=True),
    Measure(
        "arithmetic llvm",
        (Run("arithmetic", engine="llvm", peer=False),),
        parallel=True,
    ),
    Measure("mandelbrot", (Run("mandelbrot"),), parallel=True),
    Measure("march", (Run("march"),), parallel=True),
    Measure("dispatch", (Run("dispatch"),), parallel=True),
    Measure("math", (Run("math"),), parallel=True),
    Measure("math first", (Run("math first", "SEED"),)),
    Measure("axpy", (Run("axpy"),), parallel=True),
    Measure("streams", (Run("streams", peer=False),), parallel=True),
    Measure("scatter", (Run("scatter"),), parallel=True),
    Measure("reduce", (Run("reduce"),), parallel=True),
)

GOALS = (
    Goal("trace", "*", 0.27, peer_case="mul/add chain"),
    Goal("launch", "10 ops", 0.6),
    Goal("launch", "*", 0.3),
    Goal("first", "10 ops", 0.02),
    Goal("first", "100 ops", 0.01),
    Goal("first", "1000 ops", 0.005),
    Goal("first", "10000 ops", 0.002),
    Goal("first llvm", "*", 0.4, peer_measure="first"),
    Goal("growth", "*peak memory", 200, absolute=True),
    Goal("footprint", "*", 110, absolute=True),
    Goal("codegen", "1*00 ops, of tracing", 2, absolute=True),
    Goal("kernels", "*", 10e6, absolute=True),
    Goal("arithmetic", "*", 1.0),
    Goal("arithmetic llvm", "*", 1.0, peer_measure="arithmetic"),
    Goal("mandelbrot", "first", 0.1),
    Goal("mandelbrot", "steady", 0.9),
    Goal("march", "steady", 0.9),
    Goal("dispatch", "tracing*", 0.2),
    Goal("dispatch", "*", 0.9),
    Goal("math", "* f32", 1.0),
    Goal("math", "* f64", 0.8),
    Goal("math first", "*", 0.5),
    Goal("axpy", "f32", 1 / 0.9, own_case="plain C loop"),
    Goal("scatter", "8388608 bins", 0.5),
    Goal("scatter", "*", 1.0),
    Goal("reduce", "dot", 0.5),
    Goal("reduce", "prefix sum", 0.5),
    Goal("reduce", "compress", 0.5),
    Goal("reduce", "*", 1.0),
)


@dataclasses.dataclass
class Figures:
    """The figures of one case from all rounds."""

    unit: str = ""
    ours: list[float] = dataclasses.field(default_factory=list)
    peer: list[float] = dataclasses.field(default_factory=list)
    ours_best: list[float] = dataclasses.field(default_factory=list)
    peer_best: list[float] = dataclasses.field(default_factory=list)
    errors: list[str] = dataclasses.field(default_factory=list)

    def best_ratio(self) -> float | None:
        """The ratio of the best repetitions of all rounds: what noise hides least."""
        if not self.ours_best or not self.peer_best:
            return None
        if self.unit.endswith("/s"):
            return max(self.peer_best) / max(self.ours_best)
        if min(self.ours_best) <= 0 or min(self.peer_best) <= 0:
            return None  # a difference, lost in the noise
        return min(self.ours_best) / min(self.peer_best)


Table = dict[tuple[str, str], Figures]


def peer_python(given: str | None) -> str:
    """The interpreter of the peer's environment, which is made if none is given."""
    if given:
        return given
    python = ROOT / ".venv-peer" / "bin" / "python"
    if not python.exists():
        print(f"run.py: making {python.parent.parent.name}", file=sys.stderr)
        venv = [sys.executable, "-m", "venv", str(python.parent.parent)]
        subprocess.run(venv, check=True)
    probe = [str(python), "-c", "import drjit, numpy"]
    if subprocess.run(probe, capture_output=True).returncode:
        install = [str(python), "-m", "pip", "install", "-q", *PEER_REQUIREMENTS]
        subprocess.run(install, check=True)
    return str(python)


def call(command: list[str], home: str, engine: str = "") -> Iterator[Row]:
    """The rows that a process prints; a failure is a row with an "error"."""
    env = dict(os.environ, HOME=home, DRJIT_CACHE_DIR=os.path.join(home, "cache"))
    for name in ("DRJIT_CPU_ENGINE", "PYTHONDONTWRITEBYTECODE"):
        env.pop(name, None)
    if engine:
        env["DRJIT_CPU_ENGINE"] = engine
    try:
        done = subprocess.run(
            command, env=env, capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        yield {"error": f"no result in {SECONDS} s"}
        return
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            yield json.loads(line)
    if done.returncode:
        text = " / ".join(done.stderr.split("\n")[-4:]).strip(" /")
        yield {"error": f"status {done.returncode}: {text}"[:300]}


class Harness:
    """Runs measures and collects their figures.

    `ours` and `peer` are commands that take a measure; `calibrate` is the program that
    tells how parallel the machine is.
    """

    def __init__(self, ours: list[str], peer: list[str], calibrate: str) -> None:
        self.ours = ours
        self.peer = peer
        self.calibrate = calibrate
        self.table: Table = {}
        self.parallelism: list[float] = []

    def record(self, measure: str, row: Row, ours: bool) -> None:
        """Add one row to the table."""
        figures = self.table.setdefault((measure, str(row.get("case", "-"))), Figures())
        if "error" in row:
            figures.errors.append(f"{'ours' if ours else 'peer'}: {row['error']}")
            return
        figures.unit = str(row["unit"])
        value = float(str(row["value"]))
        best = float(str(row.get("best", value)))
        (figures.ours if ours else figures.peer).append(value)
        (figures.ours_best if ours else figures.peer_best).append(best)

    def settle(self, patience: float) -> float:
        """Wait until all cores really run side by side; what was reached, of 1."""
        deadline = time.monotonic() + patience
        while True:
            with tempfile.TemporaryDirectory() as home:
                rows = list(call([self.calibrate, "calibrate"], home))
            values = [r["value"] for r in rows if "value" in r]
            if len(values) != 2:
                return 0.0
            threads, got = (float(str(value)) for value in values)
            share = got / max(threads, 1)
            if share > 0.9 or time.monotonic() > deadline:
                return share
            time.sleep(2)

    def round(self, measure: Measure, seed: int, patience: float) -> None:
        """One round of a measure: ours, then the peer."""
        for ours in (True, False):
            if measure.parallel:
                self.parallelism.append(self.settle(patience))
            with tempfile.TemporaryDirectory() as home:
                for run in measure.runs:
                    if not ours and not run.peer:
                        continue
                    argument = str(seed) if run.argument == "SEED" else run.argument
                    command = list(self.ours if ours else self.peer)
                    command += [run.measure] + ([argument] if argument else [])
                    for row in call(command, home, run.engine if ours else ""):
                        self.record(measure.name, row, ours)


@dataclasses.dataclass
class Line:
    """One line of the result: a case with its goal."""

    measure: str
    case: str
    ours: float | None
    peer: float | None
    unit: str
    ratio: float | None
    best: float | None  # ratio of the best repetitions, where the peer has the case
    goal: float | None
    verdict: str
    spread: float | None  # (largest - smallest) / median of our rounds
    errors: list[str]


def median(values: list[float]) -> float | None:
    """Median, None of nothing."""
    return statistics.median(values) if values else None


def goal_of(goals: Sequence[Goal], measure: str, case: str) -> Goal | None:
    """The first goal that speaks of this case."""
    for goal in goals:
        if goal.measure == measure and fnmatch.fnmatchcase(case, goal.case):
            return goal
    return None


def reference(table: Table, measure: str, case: str, goal: Goal | None) -> float | None:
    """The figure that a case is compared with."""
    if goal and goal.own_case:
        own = table.get((measure, goal.own_case))
        return median(own.ours) if own else None
    if goal:
        measure = goal.peer_measure or measure
        case = goal.peer_case or case
    figures = table.get((measure, case))
    return median(figures.peer) if figures else None


def judge(table: Table, goals: Sequence[Goal]) -> list[Line]:
    """Compare every case with its goal."""
    lines = []
    for (measure, case), figures in table.items():
        goal = goal_of(goals, measure, case)
        ours, peer = median(figures.ours), reference(table, measure, case, goal)
        ratio = None
        if ours and peer:
            ratio = peer / ours if figures.unit.endswith("/s") else ours / peer
        verdict = ""
        if goal:
            value = ours if goal.absolute else ratio
            if value is None:
                verdict = "no figure"
            else:
                verdict = "pass" if value <= goal.bound else "miss"
        spread = None
        if ours and len(figures.ours) > 1:
            spread = (max(figures.ours) - min(figures.ours)) / ours
        bound = goal.bound if goal else None
        lines.append(
            Line(measure, case, ours, peer, figures.unit, ratio, figures.best_ratio(),
                 bound, verdict, spread, figures.errors)
        )
    return lines


def number(value: float | None) -> str:
    """A figure with four digits, "-" for none."""
    return "-" if value is None else f"{value:.4g}"


def print_line(line: Line) -> None:
    """One row on the terminal."""
    print(
        f"{line.measure:11}{line.case:30}{number(line.ours):>10}"
        f"{number(line.peer):>10} {line.unit:13}{number(line.ratio):>8}"
        f"{number(line.best):>8}{number(line.goal):>8}  {line.verdict}"
    )
    for error in line.errors:
        print(f"{'':11}{error}")
    sys.stdout.flush()


def cpu_name() -> str:
    """Model of the CPU with its widest vector instructions."""
    model, flags = platform.machine(), ""
    try:
        for text in Path("/proc/cpuinfo").read_text().splitlines():
            key, _, value = text.partition(":")
            if key.strip() == "model name":
                model = value.strip()
            if key.strip() == "flags":
                flags = value
    except OSError:
        pass
    vector = next((f for f in ("avx512f", "avx2") if f in flags.split()), "baseline")
    return f"{model}, {vector}"


def describe(harness: Harness, rounds: int) -> dict[str, object]:
    """Machine, versions and how quiet it was."""
    machine: dict[str, object] = {
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "rounds": rounds,
        "load": os.getloadavg()[0],
        "parallelism": harness.parallelism,
    }
    with tempfile.TemporaryDirectory() as home:
        for name, command in (("ours", harness.ours), ("peer", harness.peer)):
            for row in call([*command, "version"], home):
                machine[name] = {k: v for k, v in row.items() if k != "measure"}
    return machine


def write_results(
    folder: Path, lines: list[Line], machine: dict[str, object], suffix: str
) -> Path:
    """Write the table and the raw numbers; the path of the table."""
    folder.mkdir(parents=True, exist_ok=True)
    slug = re.sub(r"[^a-z0-9]+", "-", str(machine["cpu"]).lower()).strip("-")
    stem = f"{datetime.date.today().isoformat()}-{slug}{suffix}"
    rows = [dataclasses.asdict(line) for line in lines]
    raw = json.dumps({"machine": machine, "results": rows}, indent=1)
    (folder / f"{stem}.json").write_text(raw + "\n")
    text = [f"# Benchmarks of {datetime.date.today().isoformat()}", ""]
    for key, value in machine.items():
        text.append(f"- {key}: {value}")
    text += [
        "",
        "The ratio is ours over the reference in time or memory: lower is better.",
        "The column best compares the best repetitions, which noise touches least.",
        "",
        "| measure | case | ours | reference | unit | ratio | best | goal | | spread |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for line in lines:
        spread = "-" if line.spread is None else f"{line.spread:.0%}"
        figures = " | ".join(map(number, (line.ours, line.peer)))
        text.append(
            f"| {line.measure} | {line.case} | {figures} | {line.unit} | "
            f"{number(line.ratio)} | {number(line.best)} | {number(line.goal)} | "
            f"{line.verdict} | {spread} |"
        )
        text += [f"| | {error} | | | | | | | | |" for error in line.errors]
    path = folder / f"{stem}.md"
    path.write_text("\n".join(text) + "\n")
    return path


def options_of(title: str) -> argparse.ArgumentParser:
    """The options that all benchmarks have."""
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("measures", nargs="*", help="default: all")
    parser.add_argument("--build", default=str(ROOT / "build"), help="build folder")
    parser.add_argument("--peer", help="Python with the published package")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--results", default=str(HERE / "results"), help="output folder"
    )
    parser.add_argument(
        "--patience",
        type=float,
        default=60,
        help="seconds to wait for undisturbed cores",
    )
    return parser


def core_bench(options: argparse.Namespace) -> str:
    """The benchmark program of the build folder."""
    program = Path(options.build).resolve() / "bench" / "core_bench"
    if not program.exists():
        sys.exit(f"run.py: there is no {program}; build it first (make)")
    return str(program)


def benchmark(
    options: argparse.Namespace,
    harness: Harness,
    measures: Sequence[Measure],
    goals: Sequence[Goal],
    suffix: str = "",
) -> None:
    """Run the measures that the options name, print and write the results."""
    known = {m.name: m for m in measures}
    wanted = options.measures or list(known)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        sys.exit(f"run.py: no measure {unknown[0]!r}; there are: {', '.join(known)}")
    heads = ("ours", "peer", "ratio", "best", "goal")
    print(f"{'measure':11}{'case':30}{heads[0]:>10}{heads[1]:>10} {'unit':13}"
          f"{heads[2]:>8}{heads[3]:>8}{heads[4]:>8}")
    for name in wanted:
        for turn in range(options.rounds):
            seed = int(time.time()) * 100 + turn
            harness.round(known[name], seed, options.patience)
        for line in judge(harness.table, goals):
            if line.measure == name:
                print_line(line)
    lines = judge(harness.table, goals)
    machine = describe(harness, options.rounds)
    path = write_results(Path(options.results), lines, machine, suffix)
    print(f"\nwritten: {os.path.relpath(path)} (and .json)")
    if harness.parallelism and min(harness.parallelism) < 0.9:
        print("Some rounds ran while the machine's cores were not all ours "
              f"(parallelism down to {min(harness.parallelism):.2f}): "
              "read the parallel measures with care.")


def main() -> int:
    """Measure the core."""
    options = options_of((__doc__ or "").splitlines()[0]).parse_args()
    ours = core_bench(options)
    peer = [peer_python(options.peer), str(HERE / "peer_bench.py")]
    benchmark(options, Harness([ours], peer, ours), MEASURES, GOALS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
