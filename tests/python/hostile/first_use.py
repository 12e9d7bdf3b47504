"""An allocation of Python fails while the classes of the array types are made.

    python tests/python/hostile/first_use.py [--stride 31] [--first N]

That happens once in a process, so each attempt is a fork of one in which it has not
happened yet; one in ``--stride`` allocations is tried. MemoryError has to be raised,
and the next attempt has to succeed. Exit status as of disturb.py.
"""

import argparse
import os
import sys
from typing import Any

import drjit as dr
from faults import Missing, PythonFaults

MOST_STEPS = 100000
SKIPPED = 77
FAMILIES = ("drjit.llvm", "drjit.llvm.ad", "drjit.scalar")


def publish() -> Any:
    """What the modules of array types begin with."""
    names: dict[str, Any] = {}
    for family in FAMILIES:
        dr._core._publish(family, names)
    return names


def attempt(source: PythonFaults, n: int) -> str:
    """In a process of its own: how it went."""
    source.begin(n)
    try:
        result = publish()
    except BaseException as error:
        result = error
    reached = source.end()
    if isinstance(result, BaseException) and not isinstance(result, MemoryError):
        return f"n = {n}: {result!r}"
    result = publish()["TensorXf"]([[1, 2], [3, 4]])
    if repr(result + dr.llvm.Float(1)[0]) != "[[2, 3],\n [4, 5]]":
        return f"n = {n}: does not recover, {result!r}"
    return "" if reached else "end"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stride", type=int, default=31)
    parser.add_argument("--first", type=int, default=1)
    arguments = parser.parse_args()
    try:
        source = PythonFaults()
    except Missing as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    for n in range(arguments.first, MOST_STEPS, arguments.stride):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, attempt(source, n).encode())
            os._exit(0)
        os.close(write)
        _, status = os.waitpid(child, 0)
        said = os.read(read, 1000).decode()
        os.close(read)
        if status == 0 and said == "end":
            print(f"{n} steps")
            return 0
        if status or said:
            print(f"n = {n}: status {status:#x} {said}")
            return 1
    print(f"more than {MOST_STEPS} steps")
    return 1


if __name__ == "__main__":
    sys.exit(main())
