"""``python -m drjit``: a report on the installation, and tools for the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

DESCRIPTION = """\
Without a tool: a report on this machine and the installation, with a self-test of each
engine, and advice for each problem. The exit status is 1 if there is one.
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m drjit", description=DESCRIPTION)
    tools = parser.add_subparsers(dest="tool", metavar="{doctor,bench}")
    tools.add_parser("doctor", help="the report; what happens without a tool")
    bench = tools.add_parser(
        "bench",
        help="measure this machine, in a minute: copies, multiply-adds, kernels",
    )
    measures = bench.add_subparsers(dest="measure")
    roofline = measures.add_parser(
        "roofline",
        help="the same, with a picture",
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
    bench.set_defaults(output=None, quick=False)
    return parser


def main(arguments: Sequence[str]) -> int:
    """Run the tool that the arguments name; the exit status."""
    options = _parser().parse_args(arguments)
    if options.tool == "bench":
        from . import _bench

        return _bench.roofline(options.output, options.quick)

    from . import _doctor

    return _doctor.report()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
