"""Control of the just-in-time compiler: flags, history, caches, log, events, whos."""

import contextlib
import io
import os
import re
import subprocess
import sys

import drjit as dr
import drjit.llvm as llvm
import pytest


def test_flags():
    assert not dr.flag(dr.JitFlag.Debug)
    with dr.scoped_set_flag(dr.JitFlag.ValueNumbering, False):
        a = llvm.Float([1, 2])
        assert (a + 1).index != (a + 1).index
    b, c = a + 1, a + 1
    assert b.index == c.index
    dr.set_flag(dr.JitFlag.KernelHistory, True)
    assert dr.flag(dr.JitFlag.KernelHistory)
    dr.set_flag(dr.JitFlag.KernelHistory, False)
    combined = dr.JitFlag.Debug | dr.JitFlag.PrintIR
    assert int(combined) == 1 + (1 << 14)
    # Beside those of the published package, ours is on.
    assert int(dr.JitFlag.Default) == 26484606 + int(dr.JitFlag.FuseReductions)
    for bad in ("Debug", None, 1.5):
        with pytest.raises(TypeError):
            dr.flag(bad)
    with pytest.raises(TypeError):
        dr.set_flag(dr.JitFlag.Debug, 1)
    with pytest.raises(ValueError):
        dr.flag(-1)


def test_constant_propagation():
    a, b = llvm.Int(4), llvm.Int(5)
    assert (a + b).index == llvm.Int(9).index
    assert (a + b).state == dr.VarState.Literal


def test_kernel_history():
    dr.kernel_history_clear()
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        a = dr.arange(llvm.Float, 1234) * 3.5
        dr.eval(a)
        b = dr.sum(a)
        dr.eval(b)
    history = dr.kernel_history()
    assert dr.kernel_history() == []
    kernels = [h for h in history if h["type"] == dr.KernelType.JIT]
    assert kernels and all(h["backend"] == dr.JitBackend.LLVM for h in history)
    k = kernels[0]
    assert k["size"] == 1234 and k["operation_count"] > 0 and len(k["hash"]) == 32
    assert "mul" in k["ir"].read() and k["execution_time"] >= 0
    assert k["recording_mode"] == dr.KernelRecordingMode.Inactive
    assert any(h["type"] == dr.KernelType.BlockReduce for h in history)
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        dr.eval(dr.arange(llvm.Float, 99) * 2.5, dr.sum(llvm.Float([1, 2, 3])))
    reduces = dr.kernel_history(types=[dr.KernelType.BlockReduce])
    assert {h["type"] for h in reduces} == {dr.KernelType.BlockReduce}
    with pytest.raises(TypeError):
        dr.kernel_history(5)


def test_threads_and_thresholds():
    before, threshold = dr.thread_count(), dr.expand_threshold()
    assert threshold == 1 << 20  # arrays of a million entries, in either sense
    try:
        dr.set_thread_count(1)
        assert dr.thread_count() == 1
        dr.set_thread_count(3)
        assert dr.thread_count() == 3
        assert dr.sum(dr.arange(llvm.UInt, 100000))[0] == (99999 * 50000) % 2**32
        dr.set_expand_threshold(10)
        assert dr.expand_threshold() == 10
    finally:
        dr.set_thread_count(before)
        dr.set_expand_threshold(threshold)
    for bad in (-1, 1.5, "2", None):
        with pytest.raises((TypeError, ValueError)):
            dr.set_thread_count(bad)


def test_caches_and_sync():
    dr.eval(dr.arange(llvm.Float, 10) + 1)
    dr.sync_thread()
    dr.flush_kernel_cache()
    dr.flush_malloc_cache()
    assert list(dr.arange(llvm.Int, 3) + 1) == [1, 2, 3]


def test_backends():
    assert dr.has_backend(dr.JitBackend.LLVM) == 1
    assert dr.has_backend(dr.JitBackend.CUDA) == 0
    with pytest.raises(AttributeError):
        dr.cuda  # noqa: B018
    import drjit.auto as auto

    dr.set_backend("scalar")
    assert auto.Float is float
    dr.set_backend(dr.JitBackend.LLVM)
    assert auto.Float is llvm.Float and auto.Array3f is llvm.Array3f
    with pytest.raises(ValueError):
        dr.set_backend("foo")
    with pytest.raises(RuntimeError):
        dr.set_backend("cuda")
    with pytest.raises(AttributeError):
        auto.Nonsense  # noqa: B018


def test_labels_whos_and_graphviz(capsys):
    a = llvm.Float([1, 2, 3])
    a.label = "first"
    dr.set_label(second=a + 1)
    b = a * 2
    dr.set_label(b, "product")
    text = dr.whos(as_string=True)
    assert "first" in text and "product" in text
    assert dr.whos() is None
    assert "first" in capsys.readouterr().out
    graph = dr.graphviz(as_string=True)
    assert graph.startswith("digraph") and "product" in graph
    tree = {"x": llvm.Float([1, 2]), "y": [llvm.Float([3, 4])]}
    dr.set_label(tree, "tree")
    assert tree["x"].label == "tree_x" and tree["y"][0].label == "tree_y_0"


def test_reorder_threads():
    value = {"a": llvm.Float([1, 2])}
    assert dr.reorder_threads(llvm.UInt([1, 0]), 2, value) is value
    for key, bits in ((llvm.Float([1, 2]), 2), (llvm.UInt(1), 1.5), (3, 2)):
        with pytest.raises(TypeError, match="drjit.reorder_threads"):
            dr.reorder_threads(key, bits, value)
    for bits in (0, 17):
        with pytest.raises(ValueError, match="drjit.reorder_threads"):
            dr.reorder_threads(llvm.UInt(1), bits, value)


def test_events():
    start, end = llvm.Event(), llvm.Event(enable_timing=True)
    assert start.query() and start.wait() is None  # there is nothing to wait for
    with pytest.raises(RuntimeError, match="not recorded"):
        end.elapsed_time(end)
    start.record()
    dr.eval(dr.arange(llvm.Float, 100000) * 2)
    end.record()
    end.wait()
    assert start.query() and end.query()
    assert 0 <= start.elapsed_time(end) < 60000
    assert isinstance(end.handle, int)
    with pytest.raises(RuntimeError):
        llvm.Event(enable_timing=False).elapsed_time(end)
    with pytest.raises(TypeError):
        start.elapsed_time(5)


def test_log_level_and_callback():
    before = dr.log_level()
    dr.set_log_level(dr.LogLevel.Error)
    assert dr.log_level() == dr.LogLevel.Error
    dr.set_log_level(2)
    assert dr.log_level() == dr.LogLevel.Warn
    dr.set_log_level(before)
    with pytest.raises((TypeError, ValueError)):
        dr.set_log_level("loud")
    lines = []
    dr.set_log_callback(
        lambda level, text: lines.append((level, text)), dr.LogLevel.Debug
    )
    try:
        dr.eval(dr.arange(llvm.Float, 77) * 1.25)
        dr.sync_thread()
    finally:
        dr.set_log_callback(None)
    count = len(lines)
    assert count and all(isinstance(text, str) for _, text in lines)
    dr.eval(dr.arange(llvm.Float, 78) * 1.25)
    assert len(lines) == count
    with pytest.raises(TypeError):
        dr.set_log_callback(5)


def logged(level, *flags):
    """What a new kernel writes to sys.stdout and sys.stderr at this level."""
    before = dr.log_level()
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        dr.set_log_level(level)
        try:
            with contextlib.ExitStack() as scopes:
                for flag in flags:
                    scopes.enter_context(dr.scoped_set_flag(flag))
                values = dr.gather(llvm.UInt, llvm.UInt(7, 8, 9), llvm.UInt(0, 100))
                assert values.numpy()[0] == 7
                dr.sync_thread()
                llvm.UInt()  # what was logged by threads of the core is delivered
        finally:
            dr.set_log_level(before)
    return out.getvalue(), err.getvalue()


def test_log_goes_to_the_streams_of_python(capfd):
    debug, ir = dr.JitFlag.Debug, dr.JitFlag.PrintIR
    out, err = logged(dr.LogLevel.Info, debug)
    assert "launching" in out and "launching" not in err
    report = r"drjit\.gather\(\): out-of-bounds read from position 100 in an array of "
    report += r"size 3\. \(.*test_jit\.py:\d+\)\n"
    assert re.fullmatch(report, err)
    out, err = logged(dr.LogLevel.Warn, debug)
    assert out == "" and re.fullmatch(report, err)
    assert logged(dr.LogLevel.Error, debug) == ("", "")
    # What a flag asks for is printed at each level.
    out, err = logged(dr.LogLevel.Error, debug, ir)
    assert "= gather %" in out and err == ""
    assert logged(dr.LogLevel.Disable, debug, ir) == ("", "")
    assert capfd.readouterr() == ("", "")


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=120,
    )


def test_a_callback_that_raises_is_reported_and_ignored():
    out = run("""
import drjit as dr
from drjit.llvm import Float
def fail(level, text):
    raise ValueError("from the callback")
dr.set_log_callback(fail, dr.LogLevel.Debug)
dr.eval(dr.arange(Float, 10) + 1)
dr.sync_thread()
print("went on")
dr.set_log_callback(None)
""")
    assert out.returncode == 0 and "went on" in out.stdout
    assert "from the callback" in out.stderr


def test_import_is_quiet_and_loads_no_engine():
    out = run("""
import sys
import drjit
assert "numpy" not in sys.modules
assert not any("LLVM" in line for line in open("/proc/self/maps"))
from drjit.llvm import Float
print(drjit.sum(drjit.arange(Float, 4))[0])
""")
    assert out.returncode == 0, out.stderr
    assert out.stdout == "6.0\n" and out.stderr == ""


@pytest.mark.parametrize("engine", ["interp", "llvm"])
def test_engines_agree(engine):
    code = """
import drjit as dr
from drjit.llvm import Float
x = dr.arange(Float, 1000) * 0.37
y = dr.fma(x, x, 1.5) / (x + 3)
print([v.hex() for v in y])
"""
    out = run(code, DRJIT_CPU_ENGINE=engine)
    assert out.returncode == 0, out.stderr
    assert out.stdout == run(code, DRJIT_CPU_ENGINE="interp").stdout


def test_members_of_an_enumeration_are_remembered_as_themselves():
    """More of them than have a place; the second time as the first."""
    flags = list(dr.JitFlag)
    for _ in range(2):
        for flag in flags:
            before = dr.flag(flag)
            # Whether a body is being traced cannot be set.
            now = False if flag is dr.JitFlag.SymbolicScope else not before
            with dr.scoped_set_flag(flag, now):
                assert dr.flag(flag) is now
                assert dr.flag(flag.value) is now
                assert all(dr.flag(f) is dr.flag(f.value) for f in flags)
            assert dr.flag(flag) is before
