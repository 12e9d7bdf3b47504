"""``drjit.profile``: lines, their time, and the launches that belong to them."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import drjit as dr
import pytest
from drjit.llvm import Float

HERE = Path(__file__).name


def line_of(profile: dr.profile, text: str) -> Any:
    """The line that contains a piece of text."""
    (line,) = (line for line in profile.lines if text in line.text)
    return line


def slow() -> None:
    """Takes its time."""
    time.sleep(0.02)


def test_lines_and_launches() -> None:
    """Time goes to the line that runs, launches to the line that enqueued them."""
    with dr.profile() as p:
        x = dr.arange(Float, 1000)
        for _ in range(3):
            x = dr.sin(x) + 1
            dr.eval(x)
        slow()
    evaluation = line_of(p, "dr.eval(x)")
    assert evaluation.name.startswith(HERE)
    assert (evaluation.hits, evaluation.launches) == (3, 3)
    assert evaluation.kernel_time > 0 and evaluation.bytes >= 3 * 4000
    assert evaluation.compile_time > 0
    assert line_of(p, "dr.sin(x) + 1").launches == 0
    sleeping = line_of(p, "time.sleep(0.02)")
    assert sleeping.host_time >= 20 and sleeping.launches == 0
    # The callee's time is its own.
    assert line_of(p, "slow()").host_time < 20
    assert p.lines[0] is sleeping
    assert sum(line.launches for line in p.lines) == len(p.launches) == 3


def test_lines_of_packages_belong_to_their_caller() -> None:
    """Only the program's own files are listed."""
    with dr.profile() as p:
        json.dumps([dr.mean(Float(1, 2))[0]])
    assert {Path(line.file).name for line in p.lines} == {HERE}


def test_table() -> None:
    """Printed, and in notebooks; 'limit' cuts it."""
    with dr.profile(limit=1) as p:
        dr.eval(dr.arange(Float, 10) + 1)
        slow()
    head, line, total = str(p).split("\n")
    assert head.split()[:3] == ["line", "hits", "host"]
    assert line.startswith(HERE) and line.endswith("time.sleep(0.02)")
    assert total.endswith("in 1 launches")
    assert p._repr_html_().count("<tr>") == 2


def test_trace_file(tmp_path: Path) -> None:
    """Lines and launches on one clock: a launch is within the block."""
    begin = time.clock_gettime(time.CLOCK_MONOTONIC) * 1e6
    with dr.profile() as p:
        dr.eval(dr.sqrt(dr.arange(Float, 100000)))
    end = time.clock_gettime(time.CLOCK_MONOTONIC) * 1e6
    p.save(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    launches = [event for event in spans if event["tid"] == 1]
    assert len(launches) == 1
    assert launches[0]["args"]["source"].startswith(HERE)
    for event in spans:
        assert begin <= event["ts"] <= event["ts"] + event["dur"] <= end + 1


def test_errors_leave_everything_as_it_was() -> None:
    """An exception ends the block; what was found until then is there."""
    p = dr.profile()
    with pytest.raises(ZeroDivisionError), p:
        dr.eval(dr.arange(Float, 10) * 3)
        1 / 0  # noqa: B018
    assert sys.gettrace() is None
    assert not dr.flag(dr.JitFlag.KernelHistory)
    assert line_of(p, "dr.arange(Float, 10) * 3").launches == 1
    assert (Float(1) + 1).label is None


def test_a_tracer_that_is_there_already() -> None:
    """Debuggers and coverage tools are not disturbed."""
    sys.settrace(lambda *_: None)
    try:
        with pytest.raises(RuntimeError, match="nothing follows this thread"):
            dr.profile().__enter__()
    finally:
        sys.settrace(None)


def test_source_in_the_kernel_history() -> None:
    """Debug mode has it, too."""
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        dr.kernel_history_clear()
        dr.eval(dr.arange(Float, 10) + 2)
        assert dr.kernel_history()[0]["source"] is None
        with dr.scoped_set_flag(dr.JitFlag.Debug):
            dr.eval(dr.arange(Float, 10) + 3)
        entry = dr.kernel_history()[0]
    assert entry["source"].startswith(HERE + ":")
    now = time.clock_gettime(time.CLOCK_MONOTONIC) * 1e3
    assert now - 60000 < entry["end_time"] <= now
