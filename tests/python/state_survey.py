"""What fails in stateful programs, feature by feature, with one minimal program each:
``python tests/python/state_survey.py [FEATURE ...]`` prints Markdown. Without names,
all features are tried. STATE_TRIES programs are made for each (40).
"""

from __future__ import annotations

import os
import random
import sys
import warnings
from collections.abc import Iterable

import state_programs
from state_places import (
    ARRAY_ACTIONS,
    FLOAT_ACTIONS,
    GRAD_ACTIONS,
    NONE_ACTIONS,
    NUMBER_ACTIONS,
    PLACES,
)
from state_programs import CALLS, FORMS, OPTIONS, OWNERS, RETURNS, Program
from state_specials import SPECIALS
from state_worlds import Difference, check

TRIES = int(os.environ.get("STATE_TRIES", "40"))
SHRUNK = 3  # of those that fail
GROUPS: dict[str, Iterable[str]] = {
    "Places": PLACES,
    "Numbers": NUMBER_ACTIONS,
    "Arrays": ARRAY_ACTIONS | FLOAT_ACTIONS | NONE_ACTIONS,
    "Derivatives": GRAD_ACTIONS,
    "Specials": SPECIALS,
    "Forms": [form for forms in FORMS.values() for form in forms],
    "Others": [*OWNERS, *OPTIONS, *RETURNS, *CALLS],
}


def ways_of(program: Program) -> tuple[str, ...]:
    return ("frozen", "kept") if program.only_arguments else ("frozen",)


def smallest(feature: str) -> tuple[int, int, str, list[str], str]:
    """Programs with a feature, how many of these fail, and the smallest that does and
    needs the feature: what it shows, its features and its text."""
    state_programs._ONLY = {feature}
    tried = failed = 0
    found: list[tuple[int, str, list[str], str]] = []
    for number in range(TRIES * 4):
        program = Program(random.Random(number))
        if feature not in program.features or tried == TRIES:
            continue
        tried += 1
        difference = check(program.text(), ways_of(program), program.eager)
        if difference is None:
            continue
        failed += 1
        if len(found) < SHRUNK:
            text, latest = shrunk(program, difference)
            if feature in program.needed() or feature in (program.form, program.owner):
                found.append((len(text), str(latest), program.needed(), text))
    if not found:
        return tried, failed, "", [], ""
    return tried, failed, *min(found)[1:]


def shrunk(program: Program, difference: Difference) -> tuple[str, Difference]:
    latest = difference

    def fails(text: str) -> bool:
        nonlocal latest
        new = check(text, ways_of(program), program.eager)
        latest = new or latest
        return new is not None

    return program.shrink(fails), latest


def main(wanted: list[str]) -> None:
    warnings.simplefilter("ignore")
    for group, features in GROUPS.items():
        chosen = [name for name in features if not wanted or name in wanted]
        chosen = [n for n in chosen if n not in SPECIALS or not SPECIALS[n].unknown]
        if chosen:
            print(f"\n# {group}")
        for name in chosen:
            tried, failed, shows, needed, text = smallest(name)
            print(f"\n## {name}: {failed} of {tried} fail")
            if text:
                body = "\n".join(line for line in text.split("\n") if line)
                print(f"\n{', '.join(needed)}\n\n```python\n{body}\n```\n")
                print("\n".join(f"    {line}" for line in shows.split("\n")))
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
