"""A fault planted in the text of a kernel is caught.

    mutate.py RUN_PTX [--count N] [--seed S] [--seeds N] [--report]

For each mutant, one line of the generator's text for some Program is changed as
faults.py says. The program run_ptx compares what the simulator makes of it with the
interpreter; the assembler has a look, too. Every mutant has to be refused, to end with
a fault of the simulator, or to give another result.

A change can only matter if the line does. So that is tried first: the result of the
line is spoiled (a bit flipped), or what has no result left out, or replaced by an
access that faults where it is a branch. Lines where nobody notices that (a mask that
nobody uses, a path that these arrays do not take) are not used. What is left may still
be a change that has no effect on the values at hand; the choice is by a seed, so such a
mutant is seen once, when a fault or the generator is changed.

There are no barriers in these kernels to drop: shuffles and votes are what lanes do
together. Barriers are for the simulator's own tests.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import toolkit
from faults import FAULTS, Fault, Line

SPOIL = {
    "p": "not.pred {0}, {0};",
    "h": "xor.b16 {0}, {0}, 1;",
    "r": "xor.b32 {0}, {0}, 1;",
    "d": "xor.b64 {0}, {0}, 1;",
}
TRAP = "mov.b64 %trap0, 0; {0}st.global.b64 [%trap0], %trap0;"
TRIES = 12
MANY, FEW = 100, 25


@dataclass(frozen=True)
class Site:
    """A fault, the case and number of its line, and the line that stands instead."""

    fault: Fault
    case: str
    number: int
    changed: str


@dataclass(frozen=True)
class Answer:
    """What became of a text: a word of run_ptx, and its details."""

    word: str
    details: str

    def caught(self) -> bool:
        """Was there anything wrong?"""
        return self.word != "same"


class Bench:
    """The cases with their texts, and what runs changed ones."""

    def __init__(self, run_ptx: Path, folder: Path, seeds: int) -> None:
        """Have the texts written into a folder, where changed ones will be, too."""
        self.run_ptx, self.folder = run_ptx, folder
        subprocess.run([run_ptx, "--write", folder, str(seeds)], check=True)
        self.lines = {
            path.stem: path.read_text().split("\n")
            for path in sorted(folder.glob("*.ptx"))
        }
        # Instructions by how they begin: case, number of the line.
        self.heads: dict[str, list[tuple[str, int]]] = {}
        for case, lines in self.lines.items():
            for number, text in enumerate(lines):
                if line := Line.of(text):
                    self.heads.setdefault(line.head(), []).append((case, number))

    def sites(self, fault: Fault) -> Iterator[Site]:
        """All places where a fault can be planted."""
        for head, places in self.heads.items():
            for case, number in places if fault.fits(head) else []:
                line = Line.of(self.lines[case][number])
                if not line or not re.search(fault.cases, case):
                    continue
                changed = fault.apply(line)
                if changed is not None:
                    yield Site(fault, case, number, changed)

    def replaced(self, site: Site, line: str) -> str:
        """The text of the site's case with another line there."""
        lines = self.lines[site.case]
        return "\n".join([*lines[: site.number], line, *lines[site.number + 1 :]])

    def probe(self, site: Site) -> str:
        """The text with the line's effect spoiled."""
        line = Line.of(self.lines[site.case][site.number])
        assert line
        text = self.lines[site.case][site.number]
        if line.op.startswith(("st.", "red.")):
            return self.replaced(site, "")
        result = re.search(r"%([phrd])\d+", line.args[0]) if line.args else None
        if not result:
            trapped = self.replaced(site, "\t" + TRAP.format(line.guard) + "\n" + text)
            return trapped.replace("{\n", "{\n\t.reg .b64 %trap<1>;\n", 1)
        spoiled = SPOIL[result[1]].format(result[0])
        return self.replaced(site, f"{text}\n\t{line.guard}{spoiled}")

    def run(self, texts: dict[Site, str]) -> dict[Site, Answer]:
        """Run changed texts, those of a case together."""
        paths: dict[str, dict[str, Site]] = {}
        for number, (site, text) in enumerate(texts.items()):
            path = self.folder / f"{number}.mutant"
            path.write_text(text)
            paths.setdefault(site.case, {})[str(path)] = site

        def run_case(case: str) -> dict[Site, Answer]:
            done = toolkit.run([self.run_ptx, case, *paths[case]])
            lines = [line.partition(": ") for line in done.splitlines()]
            answers = {
                name: Answer(*rest.partition(": ")[::2]) for name, _, rest in lines
            }
            if answers.pop("original").caught():
                sys.exit(f"mutate.py: {case}: the generator's own text fails:\n{done}")
            return {paths[case][name]: answer for name, answer in answers.items()}

        found: dict[Site, Answer] = {}
        for answers in toolkit.side_by_side(run_case, paths):
            found |= answers
        return found


def rank(bench: Bench, site: Site, seed: int) -> bytes:
    """What sites are sorted by: at random, and unchanged by changes of other lines."""
    line = re.sub(r"%([phrd])\d+", r"%\1", bench.lines[site.case][site.number])
    what = f"{seed} {site.fault.name} {site.case} {line}"
    return hashlib.blake2b(what.encode(), digest_size=8).digest()


def choose(bench: Bench, count: int, seed: int) -> list[Site]:
    """As many places where a line matters, of all faults in turn."""
    waiting: list[list[Site]] = []
    for fault in FAULTS:
        sites = sorted(bench.sites(fault), key=lambda site: rank(bench, site, seed))
        if not sites:
            sys.exit(f"mutate.py: there is no place for '{fault.name}'")
        # First one of each case, so that large texts do not have all.
        seen: Counter[str] = Counter()
        turns = []
        for site in sites:
            turns.append((seen[site.case], site))
            seen[site.case] += 1
        waiting.append([site for _, site in sorted(turns, key=lambda turn: turn[0])])
    chosen: list[Site] = []
    turn = 0
    while len(chosen) < count and any(waiting):
        wanted = min(count - len(chosen), len(FAULTS))
        lists = [waiting[(turn + k) % len(waiting)] for k in range(wanted)]
        turn += wanted
        chosen += next_sites(bench, [sites for sites in lists if sites])
    return chosen[:count]


def next_sites(bench: Bench, lists: list[list[Site]]) -> list[Site]:
    """The next place of each list where the line matters, if it has one."""
    found: list[Site] = []
    for _ in range(TRIES):
        tried = {sites[0]: sites for sites in lists if sites}
        answers = bench.run({site: bench.probe(site) for site in tried})
        lists = []
        for site, sites in tried.items():
            del sites[0]
            if answers[site].caught():
                found.append(site)
            else:
                lists.append(sites)
        if not lists:
            break
    return found


def refused_by_assembler(texts: Iterable[str]) -> list[bool]:
    """What NVIDIA's assembler says of texts, if there is one."""
    assembler = toolkit.assembler_for(80)

    def refused(text: str) -> bool:
        if not assembler:
            return False
        with tempfile.TemporaryDirectory() as folder:
            try:
                assembler.assemble(text, 80, Path(folder) / "code.cubin")
            except toolkit.Refused:
                return True
        return False

    return toolkit.side_by_side(refused, texts)


def show(bench: Bench, site: Site, words: list[str], details: str) -> None:
    """Print a mutant and by whom it was caught."""
    before = bench.lines[site.case][site.number].strip()
    after = site.changed.strip().replace("\n\t", " ") or "(nothing)"
    print(f"{site.fault.name}: {site.case}:{site.number + 1}: {before} -> {after}")
    print(f"    {', '.join(words) or 'NOT CAUGHT'} {details}")


def main() -> int:
    """Plant faults; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("run_ptx", type=Path)
    parser.add_argument(
        "--count", type=int, default=MANY if toolkit.takes_all() else FEW
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=20, help="random Programs")
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(options.run_ptx, Path(name), options.seeds)
        chosen = choose(bench, options.count, options.seed)
        texts = {site: bench.replaced(site, site.changed) for site in chosen}
        answers = bench.run(texts)
        refused = dict(zip(chosen, refused_by_assembler(texts.values()), strict=True))
        by: Counter[str] = Counter()
        for site in chosen:
            answer = answers[site]
            words = [answer.word] if answer.caught() else []
            words += ["assembler"] if refused[site] else []
            by.update(words or ["nobody"])
            if options.report or not words:
                show(bench, site, words, answer.details)
    print(f"{len(chosen)} mutants: " + ", ".join(f"{n} {w}" for w, n in by.items()))
    return 1 if by["nobody"] or len(chosen) < options.count else 0


if __name__ == "__main__":
    sys.exit(main())
