"""What calls functions in workers, for the programs beside this one.

A program has the line

    from executors import processes as executor

and runs with another executor when it imports another name of this module. With `mpi`,
it is started by `mpirun -n 4 python -m mpi4py.futures PROGRAM`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from drjit import dist

# The programs there have a lens, and pictures by matplotlib.
sys.path.append(str(Path(__file__).resolve().parent.parent / "python"))

Workers = AbstractContextManager[Executor]


def processes() -> Workers:
    """Processes of this machine, one for each core."""
    return dist.Pool()


@contextmanager
def dask() -> Iterator[Executor]:
    """A cluster of this machine; Client("tcp://host:8786") is one of others."""
    from dask.distributed import Client

    with Client() as client:
        yield client.get_executor()


def ray() -> Workers:
    """A cluster of this machine, or that of RAY_ADDRESS."""
    return dist.RayExecutor()


def mpi() -> Workers:
    """The processes that mpirun has started beside this one. They sleep for 'backoff'
    seconds at most between looks at what has arrived, which large results need often.
    """
    from mpi4py.futures import MPIPoolExecutor

    executor: Executor = MPIPoolExecutor(backoff=1e-4)
    return executor
