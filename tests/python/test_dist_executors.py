"""``drjit.dist`` with the executors of others: Dask, Ray, MPI.

Dask is there for all tests. ``make test SUITE=dist`` installs the others.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit import dist
from drjit.llvm.ad import Float, TensorXf, UInt
from test_dist import Bad, Deadly, Inline, bits, misfit, tree_sum, waves

FOLDER = Path(__file__).parent


def need(module: str) -> Any:
    if find_spec(module) is None:
        pytest.skip(f"{module} is missing: 'make test SUITE=dist' installs it")
    return import_module(module)


def everything(executor: Executor) -> str:
    """The bits of all operations."""
    p = {"a": Float(1.5), "b": TensorXf([1, 2, 3])}
    value, grad = dist.value_and_grad(executor, misfit, p, 20_000, block=1500)
    parts = [
        dist.sum(executor, waves, 100_000, block=7001),
        value,
        grad["a"],
        grad["b"],
        *dist.map(executor, lambda x: dr.exp(x), [Float(i, 1) for i in range(9)]),
    ]
    return b"".join(bits(part) for part in parts).hex()


@pytest.fixture(scope="module")
def expected() -> str:
    return everything(Inline())


def blocks(kill: Callable[[], None]) -> Iterator[UInt]:
    """Those of 60,000 indices; when half of them are given out, a worker dies."""
    for number in range(60):
        if number == 30:
            kill()
        yield dr.arange(UInt, 1000) + number * 1000


def check_errors(executor: Executor) -> None:
    """An exception of a worker arrives with its block and its traceback."""
    items = [Float(1), Float(2), Bad(), Float(3)]
    with pytest.raises(dist.TaskError, match="item 2, in process .*: broken") as caught:
        list(dist.map(executor, lambda x: x * 2, items))
    assert caught.value.number == 2
    assert "_raise" in caught.value.traceback
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize("name", ["_worker", "_errors", "_tree"])
def test_modules(name: str) -> None:
    """What pickles name can be the first that a process imports."""
    program = f"import drjit.dist.{name} as m; print(m.__doc__ is not None)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True)
    assert (done.stdout, done.stderr) == (b"True\n", b"")


def test_allreduce_without_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(ImportError, match=r"mpi4py is not installed: .*drjit-c\[mpi\]"):
        dist.allreduce(Float(1))


def test_ray_executor_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"Ray is not installed: .*drjit-c\[ray\]"):
        dist.RayExecutor()


def test_workers_import_little() -> None:
    """What workers call needs nothing of the caller's part."""
    program = (
        "import sys, drjit.dist._worker;"
        "print([m for m in ('drjit.dist._pool', 'drjit.dist._work', 'numpy',"
        " 'concurrent.futures') if m in sys.modules]);"
        "import drjit as dr; print(dr.dist._worker is dr.dist.Pool.__init__"
        ".__globals__['_worker'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True)
    assert (done.stdout, done.stderr) == (b"[]\nTrue\n", b"")


# ---------------------------------------------------------------- Dask


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    distributed = import_module("dask.distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    with cluster.get_client() as client:
        yield client


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_dask(cluster: Any, client: Any, expected: str, workers: int) -> None:
    """How many tasks are given out depends on the cluster, not on this machine."""
    cluster.scale(workers)
    client.wait_for_workers(workers)
    executor = client.get_executor()
    assert dist._pool.count(executor) == workers
    assert everything(executor) == expected


def test_dask_dead_worker(client: Any) -> None:
    """Dask gives its tasks out again; another process takes its place."""
    processes = client.run(os.getpid)
    dead = next(iter(processes.values()))

    def kill() -> None:
        os.kill(dead, signal.SIGKILL)

    executor = client.get_executor()
    found = dist.sum(executor, waves, blocks(kill), ahead=2 * len(processes))
    assert bits(found) == bits(dist.sum(Inline(), waves, 60_000, block=1000))
    client.wait_for_workers(len(processes))
    assert dead not in client.run(os.getpid).values()


def test_dask_errors(client: Any, tmp_path: Path) -> None:
    executor = client.get_executor()
    check_errors(executor)
    items = [Float(1), Deadly(tmp_path / "dead", True)]
    with pytest.raises(dist.TaskError, match="item 1: the executor .*: KilledWorker"):
        list(dist.map(executor, lambda x: x * 2, items))


# ---------------------------------------------------------------- Ray


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    ray = need("ray")
    search = os.pathsep.join((os.environ.get("PYTHONPATH", ""), str(FOLDER)))
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": search}},
    )
    yield ray
    ray.shutdown()


@pytest.mark.parametrize("cores", [2, 1])
def test_ray(ray: Any, expected: str, cores: int) -> None:
    executor = dist.RayExecutor(num_cpus=cores)
    assert executor.workers == 2 // cores
    assert everything(executor) == expected


def test_ray_dead_worker(ray: Any) -> None:
    executor = dist.RayExecutor()

    def kill() -> None:
        for process in {executor.submit(os.getpid).result() for _ in range(4)}:
            os.kill(process, signal.SIGKILL)

    found = dist.sum(executor, waves, blocks(kill), ahead=4)
    assert bits(found) == bits(dist.sum(Inline(), waves, 60_000, block=1000))


def test_ray_errors(ray: Any) -> None:
    check_errors(dist.RayExecutor())


# ---------------------------------------------------------------- MPI

POOL = """
from mpi4py.futures import MPIPoolExecutor
from test_dist_executors import everything

if __name__ == "__main__":
    with MPIPoolExecutor() as executor:
        print(everything(executor))
"""

ALL = """
import sys
from mpi4py import MPI
from test_dist_executors import *

rank = MPI.COMM_WORLD.Get_rank()
tree = contribution(rank), rank + 1
total, count = dist.allreduce(tree)
MPI.COMM_WORLD.Barrier()
sys.stdout.write(f"{bits(total).hex()} {count}\\n")
"""


def contribution(rank: int) -> Float:
    """What a process has; the order of additions decides about its last bits."""
    return dr.sin(dr.arange(Float, 1000) + 7 * rank) * 3.0**rank


def mpirun() -> str:
    """The one beside the interpreter, if there is one: that of the package mpich."""
    need("mpi4py")
    beside = str(Path(sys.executable).parent)
    path = os.pathsep.join((beside, os.environ.get("PATH", "")))
    found = shutil.which("mpirun", path=path)
    if found is None:
        pytest.skip("mpirun is missing: 'make test SUITE=dist' installs it")
    return found


def run(program: str, workers: int, tmp_path: Path, *options: str) -> list[str]:
    path = tmp_path / "program.py"
    path.write_text(program)
    search = (os.environ.get("PYTHONPATH", ""), str(FOLDER))
    command = [mpirun(), "-n", str(workers), sys.executable, *options, str(path)]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(search)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize("processes", [1, 2, 3, 4])
def test_mpi(processes: int, expected: str, tmp_path: Path) -> None:
    """One process is the caller; alone, it has MPI start others, or threads."""
    found = run(POOL, processes, tmp_path, "-m", "mpi4py.futures")
    assert found == [expected]


@pytest.mark.parametrize("processes", [1, 2, 3, 4])
def test_allreduce(processes: int, tmp_path: Path) -> None:
    """Everywhere the same bits, which are those of a tree that NumPy adds."""
    parts = [contribution(rank).numpy() for rank in range(processes)]
    total = tree_sum(parts).astype(np.float32).tobytes().hex()
    count = processes * (processes + 1) // 2
    assert run(ALL, processes, tmp_path) == [f"{total} {count}"] * processes
