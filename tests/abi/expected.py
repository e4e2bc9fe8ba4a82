"""What each rank of the fixed program (fixed.c, fixed.F90) calls: functions, calls, bytes out, bytes in.

Written by hand from the program's text and the rules of docs/mpi.md; nothing here comes from the library.
"""

from __future__ import annotations

from collections.abc import Iterator

Call = tuple[str, int, int]  # function, elements that leave this rank, elements that come to it
Counts = dict[str, tuple[int, int, int]]  # function: calls, bytes out, bytes in

ELEMENT = 8


def expected(rank: int, ranks: int) -> Counts:
    """The functions that `rank` of `ranks` calls: calls, bytes out, bytes in."""
    total: Counts = {}
    for function, elements_out, elements_in in _program(rank, ranks):
        calls, bytes_out, bytes_in = total.get(function, (0, 0, 0))
        total[function] = (calls + 1, bytes_out + ELEMENT * elements_out, bytes_in + ELEMENT * elements_in)
    return total


def _program(rank: int, ranks: int) -> Iterator[Call]:
    yield "MPI_Init", 0, 0
    yield "MPI_Comm_rank", 0, 0
    yield "MPI_Comm_size", 0, 0
    yield from _communicators(rank)
    yield from _point_to_point()
    yield from _persistent()
    yield from _derived_type()
    yield from _rooted_collectives(rank, ranks)
    yield from _all_to_all_collectives(rank, ranks)
    yield from _one_sided()
    yield from _file()
    yield "MPI_Reduce", 1, 1 if rank == 0 else 0
    yield "MPI_Finalize", 0, 0


def _communicators(rank: int) -> Iterator[Call]:
    root = rank in (0, 1)  # the first of the even ranks, the first of the odd ones
    yield "MPI_Comm_dup", 0, 0
    yield "MPI_Comm_split", 0, 0
    yield "MPI_Comm_rank", 0, 0
    yield "MPI_Bcast", 3 if root else 0, 0 if root else 3
    yield "MPI_Comm_free", 0, 0
    yield "MPI_Comm_free", 0, 0


def _point_to_point() -> Iterator[Call]:
    yield "MPI_Send", 10, 0
    yield "MPI_Recv", 0, 10  # what came, not the 20 that there was room for
    yield "MPI_Send", 0, 0  # to nobody
    yield "MPI_Sendrecv", 5, 5

    yield "MPI_Irecv", 0, 8  # what was posted: 4 came
    yield "MPI_Isend", 4, 0
    yield "MPI_Waitall", 0, 0
    yield "MPI_Test", 0, 0

    yield "MPI_Isend", 7, 0
    yield "MPI_Probe", 0, 0
    yield "MPI_Get_count", 0, 0
    yield "MPI_Recv", 0, 7
    yield "MPI_Wait", 0, 0

    yield "MPI_Isend", 3, 0
    yield "MPI_Mprobe", 0, 0
    yield "MPI_Mrecv", 0, 3
    yield "MPI_Wait", 0, 0
    yield "MPI_Iprobe", 0, 0


def _persistent() -> Iterator[Call]:
    yield "MPI_Recv_init", 0, 9  # counted here, once, and not at each start
    yield "MPI_Send_init", 9, 0
    for _ in range(3):
        yield "MPI_Start", 0, 0
        yield "MPI_Start", 0, 0
        yield "MPI_Waitall", 0, 0
    yield "MPI_Request_free", 0, 0
    yield "MPI_Request_free", 0, 0


def _derived_type() -> Iterator[Call]:
    yield "MPI_Type_contiguous", 0, 0
    yield "MPI_Type_commit", 0, 0
    yield "MPI_Sendrecv", 2 * 3, 2 * 3
    yield "MPI_Type_free", 0, 0


def _rooted_collectives(rank: int, ranks: int) -> Iterator[Call]:
    first, last = rank == 0, rank == ranks - 1
    all_counts = sum(r + 1 for r in range(ranks))
    yield "MPI_Barrier", 0, 0
    yield "MPI_Bcast", 11 if first else 0, 0 if first else 11
    yield "MPI_Scatter", ranks * 2 if first else 0, 2
    yield "MPI_Scatterv", all_counts if last else 0, rank + 1
    yield "MPI_Gather", 3, ranks * 3 if last else 0
    yield "MPI_Gather", 0 if first else 2, ranks * 2 if first else 0  # the root's part is in place
    yield "MPI_Gatherv", rank + 1, all_counts if first else 0
    yield "MPI_Reduce", 4, 4 if last else 0
    yield "MPI_Allgatherv", rank + 1, all_counts


def _all_to_all_collectives(rank: int, ranks: int) -> Iterator[Call]:
    first = rank == 0
    yield "MPI_Allreduce", 5, 5
    yield "MPI_Allreduce", 6, 6  # in place
    yield "MPI_Allgather", 2, ranks * 2
    yield "MPI_Alltoall", ranks * 3, ranks * 3
    yield "MPI_Reduce_scatter_block", ranks * 2, 2
    yield "MPI_Scan", 3, 3
    yield "MPI_Iallreduce", 6, 6
    yield "MPI_Ibcast", 7 if first else 0, 0 if first else 7
    yield "MPI_Waitall", 0, 0


def _one_sided() -> Iterator[Call]:
    yield "MPI_Win_create", 0, 0
    yield "MPI_Win_fence", 0, 0
    yield "MPI_Put", 4, 0
    yield "MPI_Win_fence", 0, 0
    yield "MPI_Get", 0, 3
    yield "MPI_Win_fence", 0, 0
    yield "MPI_Accumulate", 2, 0
    yield "MPI_Win_fence", 0, 0
    yield "MPI_Win_free", 0, 0


def _file() -> Iterator[Call]:
    yield "MPI_File_open", 0, 0
    yield "MPI_File_write_at", 5, 0
    yield "MPI_File_write_at_all", 5, 0
    yield "MPI_File_read_at", 0, 5
    yield "MPI_File_close", 0, 0
