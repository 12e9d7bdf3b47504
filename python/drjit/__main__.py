"""``python -m drjit``: tools of the package for the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Run the tool that the arguments name; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m drjit")
    tools = parser.add_subparsers(dest="tool", required=True)
    bench = tools.add_parser("bench", help="measure this machine")
    measures = bench.add_subparsers(dest="measure", required=True)
    roofline = measures.add_parser(
        "roofline",
        help="copy bandwidth, peak of multiply-adds, and typical kernels",
    )
    roofline.add_argument(
        "-o",
        "--output",
        default="roofline.svg",
        help="the picture, in the format of its suffix (roofline.svg)",
    )
    roofline.add_argument(
        "--quick", action="store_true", help="small arrays: a trial, not a measurement"
    )
    options = parser.parse_args(arguments)

    from . import _bench

    return _bench.roofline(options.output, options.quick)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
