"""Sums over the processes of an MPI program."""

from __future__ import annotations

from typing import Any

from drjit.dist._tree import add


def allreduce(tree: Any, comm: Any = None) -> Any:
    """Add a PyTree over all processes of an MPI communicator.

    All processes call this and get the same sum, added in the order of a binary tree
    over their ranks: the bits depend on the number of processes, but not on what
    arrives first, nor on the network.

    Args:
        tree (PyTree): arrays and numbers, of the same structure and sizes everywhere.
        comm (mpi4py.MPI.Comm | None): the communicator, by default ``COMM_WORLD``.

    Returns:
        PyTree: the sum.

    Raises:
        ImportError: ``mpi4py`` is not installed.

    Evaluation:
        Evaluates the arrays.

    Example:
        >>> import importlib.util
        >>> if importlib.util.find_spec("mpi4py"):     # run by mpirun -n 4
        ...     total = dr.dist.allreduce(Float(1, 2))

    See also:
        :func:`drjit.dist.sum`
    """
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise ImportError(
            "drjit.dist.allreduce(): mpi4py is not installed: pip install "
            "'drjit-c[mpi]'"
        ) from error
    comm = MPI.COMM_WORLD if comm is None else comm
    rank, size = comm.Get_rank(), comm.Get_size()
    step = 1
    while step < size:
        if rank % (2 * step):
            comm.send(tree, rank - step)
            break
        if rank + step < size:
            tree = add(tree, comm.recv(source=rank + step))
        step *= 2
    return comm.bcast(tree, 0)
