"""Arrays used from several threads, after fork(), and until the interpreter ends."""

import os
import subprocess
import sys
import threading
import time

import drjit as dr
import pytest
from region_util import while_loop


def run_threads(work, count=4):
    """Run work(number) in threads; exceptions are passed on."""
    errors = []
    start = threading.Barrier(count)

    def run(number):
        try:
            start.wait()
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
        assert not thread.is_alive()
    if errors:
        raise errors[0]


@pytest.fixture(autouse=True)
def switch_often():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def test_independent_work(m):
    def work(number):
        flat = m.Float if m is not dr.scalar else m.ArrayXf
        for step in range(1, 40):
            x = dr.arange(flat, 100 + step) * number
            y = dr.select(x > number * 50, x - 1, x + 1)
            expected = sum(
                i * number + (-1 if i * number > number * 50 else 1)
                for i in range(100 + step)
            )
            total = dr.sum(y)
            assert (total[0] if m is not dr.scalar else total) == expected

    run_threads(work)


def test_evaluating_one_array():
    x = dr.arange(dr.llvm.Float, 1000)
    shared = x * x + 1
    expected = [i * i + 1 for i in range(1000)]

    def work(number):
        for _ in range(20):
            dr.eval(shared)
            assert shared[number * 7] == expected[number * 7]
            assert shared.numpy().tolist() == expected
            assert (shared + number)[3] == 10 + number

    run_threads(work)


def test_changing_one_array(m):
    """Nobody knows what stands in it in the end, but its entries are valid."""
    shared = m.Array3f(1, 2, 3)
    flat = m.Float(range(16)) if m is not dr.scalar else m.ArrayXf(range(16))
    tensor = m.TensorXf(range(12))

    def change(number, step):
        shared[number % 3] = step
        shared.x += 1
        shared.yz = shared.zy
        flat[step % 16] = number
        if number == 0:
            tensor.__init__(m.TensorXf(range(12 + step % 2)))
        elif number == 1:
            dr.eval(flat, shared, tensor)
            repr(tensor), repr(shared), flat.numpy()
        elif number == 2:
            tensor[step % 12] = -1
            tensor[::2]
        else:
            dr.sum(tensor), dr.sum(flat), shared @ shared, memoryview(tensor).tobytes()

    def work(number):
        for step in range(60):
            try:
                change(number, step)
            except RuntimeError as error:  # another thread was faster
                assert "changed" in str(error)

    run_threads(work)
    assert len(shared) == 3 and len(flat) == 16
    assert tensor.shape in [(12,), (13,)]
    repr(shared), repr(flat), repr(tensor)


def test_growing_while_in_use(m):
    shared = m.ArrayXf([1, 2])

    def work(number):
        for step in range(60):
            if number == 0:
                count = len(shared)
                if count < 200:
                    shared.__init__([step] * (count + 1))
            elif number == 1:
                shared + 1, dr.sum(shared), list(shared)
            elif number == 2:
                repr(shared), shared.numpy(), shared[-1]
            else:
                dr.eval(shared)
                shared[0] = step

    run_threads(work)
    assert len(shared) == 62


def test_scatters():
    target = dr.zeros(dr.llvm.UInt, 8)
    dr.eval(target)
    lock = threading.Lock()

    def work(number):
        for _ in range(25):
            with lock:  # an update is read, change, write
                dr.scatter_add(target, dr.llvm.UInt(1), dr.llvm.UInt(number))
            dr.eval(target)

    run_threads(work)
    assert target.numpy().tolist() == [25, 25, 25, 25, 0, 0, 0, 0]


def test_log_messages_arrive():
    messages = []
    dr.set_log_callback(lambda level, text: messages.append(text), dr.LogLevel.Trace)
    try:
        run_threads(lambda number: dr.eval(dr.arange(dr.llvm.Int, 50) * number))
        dr.llvm.Float(1)
    finally:
        dr.set_log_callback(None)
    assert messages and all(isinstance(text, str) for text in messages)


# ------------------------------------------------------------------ processes


def run_program(code, **environment):
    """Run it; the exit status must be 0 and nothing must be printed to stderr."""
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )
    assert result.stderr == ""
    assert result.returncode == 0
    return result.stdout


FORK = """
import os, sys, drjit as dr
x = dr.arange(dr.llvm.Float, 1000)
dr.eval(x)
pending = x * 2
exported = dr.llvm.Float([1, 2, 3]).numpy()
child = os.fork()
y = pending + 1
assert y[999] == 1999 and dr.sum(x)[0] == 499500
assert exported.tolist() == [1, 2, 3]
if child == 0:
    dr.set_thread_count(2)
    assert dr.sum(dr.arange(dr.llvm.UInt64, 100000))[0] == 4999950000
    sys.stdout.write("child ")
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
sys.stdout.write("parent")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork()")
@pytest.mark.parametrize("engine", ["interp", ""])
def test_fork(engine):
    assert run_program(FORK, DRJIT_CPU_ENGINE=engine) == "child parent"


ENDS = {
    "live arrays": "a = dr.llvm.Array3f(1, 2, 3); b = a.x; "
    "t = dr.llvm.TensorXf([1, 2])",
    "pending work": "a = dr.arange(dr.llvm.Float, 100000) * 3; dr.schedule(a)",
    "started work": "a = dr.arange(dr.llvm.Float, 10000000) * 3; dr.eval(a)",
    "exported memory": "a = dr.llvm.Float([1, 2]); n = a.numpy(); v = memoryview(a)",
    "exported from scalar": "a = dr.scalar.ArrayXf([1, 2]); n = a.numpy(); "
    "v = memoryview(a)",
    "foreign memory": "import array; a = dr.llvm.Float(array.array('f', [1, 2]))",
    "capsule": "c = dr.llvm.Float([1, 2]).__dlpack__()",
    "log callback": "dr.set_log_callback(lambda *a: None, dr.LogLevel.Trace); "
    "a = dr.arange(dr.llvm.Float, 10); dr.eval(a)",
    "log callback that fails": "f = lambda *a: None\n"
    "dr.set_log_callback(f, dr.LogLevel.Trace)\n"
    "class Last:\n    def __del__(self):\n        dr.eval(dr.llvm.Float(1) + 2)\n"
    "last = Last()",
    "cycle": "class A(dr.llvm.Float): pass\na = A(1); a.me = a",
    "cycle of views": "class A(dr.scalar.Array3f): pass\na = A(1); a.me = [a, a.x]",
    "event": "e = dr.llvm.Event(); e.record()",
    "iterator": "i = iter(dr.llvm.Array3f(1, 2, 3)); next(i)",
    "kernel history": "dr.set_flag(dr.JitFlag.KernelHistory, True); "
    "dr.eval(dr.arange(dr.llvm.Float, 10) + 1)",
    "thread": "import threading\n"
    "def work():\n    while True: dr.eval(dr.arange(dr.llvm.Float, 1000) + 1)\n"
    "t = threading.Thread(target=work, daemon=True); t.start()\n"
    "import time; time.sleep(0.05)",
    "hidden in builtins": "import builtins; builtins.kept = dr.llvm.Float(1, 2) * 3",
    "in an exception": "try: dr.llvm.Float(1)['x']\nexcept TypeError as e: kept = e",
    "atexit": "import atexit; "
    "atexit.register(lambda: dr.eval(dr.llvm.Float(1, 2) + 1))",
}


COMPILING = """
import drjit as dr, drjit.llvm, random, threading, time
def work(seed):
    choice = random.Random(seed)
    while True:
        x = dr.arange(dr.llvm.Float, 1000)
        for _ in range(20):
            x = x * choice.random() + 1 if choice.random() < .5 else dr.sin(x)
        dr.eval(x)
for number in range(2):
    threading.Thread(target=work, args=(number,), daemon=True).start()
time.sleep(.2 * random.random())
"""


@pytest.mark.parametrize("engine", ["native", "llvm"])
def test_interpreter_ends_while_others_compile(engine):
    for _ in range(10):
        run_program(COMPILING, DRJIT_CPU_ENGINE=engine)


IN_SUBINTERPRETER = """
import sys
sys.path[:] = {}
try:
    import drjit.llvm
except ImportError as error:
    assert {!r} in str(error), error
else:
    assert False
"""


def test_import_without_gil_is_refused():
    """As a free-threaded interpreter with PYTHON_GIL=0 would answer; others import."""
    for enabled in (False, True):
        program = (
            f"import sys; sys._is_gil_enabled = lambda: {enabled}\n"
            "try: import drjit\n"
            "except ImportError as error: print(error)\n"
            "else: print(drjit.llvm.Float(1, 2) + 1)\n"
        )
        result = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
        expected = "[2, 3]" if enabled else "drjit: the interpreter runs without its"
        assert result.stdout.startswith(expected)


@pytest.mark.parametrize("isolated", [True, False])
def test_subinterpreters_are_refused(isolated):
    """By Python 3.12 and newer where they have a GIL of their own, else by us."""
    try:
        import _interpreters as interpreters  # from Python 3.13 on
    except ImportError:
        interpreters = pytest.importorskip("_xxsubinterpreters")
        other = interpreters.create(isolated=isolated)
    else:
        other = interpreters.create("isolated" if isolated else "legacy")
    theirs = isolated and sys.version_info >= (3, 12)
    text = "not support loading in sub" if theirs else "expected the main interpreter"
    try:
        program = IN_SUBINTERPRETER.format(sys.path, text)
        assert interpreters.run_string(other, program) is None
    finally:
        interpreters.destroy(other)
    assert dr.llvm.Float(1)[0] == 1


@pytest.mark.parametrize("name", ENDS)
def test_interpreter_ends(name):
    assert (
        run_program("import drjit as dr, drjit.llvm, drjit.scalar\n" + ENDS[name]) == ""
    )


# ------------------------------------------------------------------ pending writes


def pending_write(size, steps):
    """An array into which a kernel is to write that takes long to make."""
    target = dr.zeros(dr.llvm.Float, size)
    dr.eval(target)
    value = dr.arange(dr.llvm.Float, size)
    for step in range(steps):
        value = dr.fma(dr.sin(value), value, float(step))
    dr.scatter(target, value, dr.arange(dr.llvm.UInt, size))
    return target


READS = [
    lambda t: t + 1,
    lambda t: t < t,
    lambda t: dr.sqrt(t),
    lambda t: dr.select(t > 0, t, 1),
    lambda t: dr.fma(t, t, t),
    lambda t: dr.gather(dr.llvm.Float, t, dr.llvm.UInt(3)),
    lambda t: dr.llvm.Float64(t),
    lambda t: dr.llvm.Array3f(1) * t,
    lambda t: dr.sum(t),
    lambda t: dr.isnan(t),
    lambda t: dr.ravel(dr.llvm.Array2f(t, 1)),
    lambda t: dr.llvm.Matrix2f(t) @ dr.llvm.Matrix2f(1),
]


@pytest.mark.parametrize("read", range(len(READS)))
def test_other_threads_run_while_a_pending_write_is_evaluated(read):
    """A thread that is never asked for the GIL gives it away only where it waits."""
    target = pending_write(1 << 14, 300 + read)
    assert target.state == dr.VarState.Dirty
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(None)
            time.sleep(0.0005)

    thread = threading.Thread(target=tick)
    interval = sys.getswitchinterval()
    try:
        sys.setswitchinterval(1000)
        thread.start()
        while len(ticks) < 2:
            time.sleep(0.001)
        before = len(ticks)
        result = READS[read](target)
        assert len(ticks) > before
    finally:
        stop.set()
        sys.setswitchinterval(interval)
        thread.join()
    assert target.state == dr.VarState.Evaluated
    same = (result == READS[read](target)) | (result != result)
    assert dr.all(same, axis=None)


def test_writes_that_cannot_be_evaluated_now_are_an_error_of_the_operation():
    Float, UInt = dr.llvm.Float, dr.llvm.UInt
    target, messages = dr.zeros(Float, 3), []
    dr.eval(target)

    def body(i):
        dr.scatter(target, Float(1), UInt(0))
        with pytest.raises(RuntimeError) as error:
            target + 1
        messages.append(str(error.value))
        return (i + 1,)

    with dr.scoped_set_flag(dr.JitFlag.SymbolicLoops, True):
        while_loop((UInt(0, 0),), lambda i: i < 2, body)
    assert messages[0].startswith("drjit.add(<drjit.llvm.Float>, <int>): r")
    assert dr.all((target + 1) == Float(2, 1, 1))


def test_wrapping_an_array_does_not_evaluate_writes_to_it():
    """Only a conversion reads: many scatters and what refers to them are one kernel."""
    target = pending_write(64, 2)
    v = dr.llvm.Array3f(target, target, 1)
    assert v.x.state == dr.VarState.Dirty
    w = dr.llvm.Array3f64(target, target, 1)
    assert target.state == dr.VarState.Evaluated
    assert dr.all(v.x == dr.llvm.Float(w.x))
