"""Known calls through mpi4py: writes "function calls out in" lines to PREFIX.RANK, as mpi_expect.h does.

Only functions that mpi4py does not call for itself.
"""

import sys
from array import array

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
left, right = (rank - 1) % size, (rank + 1) % size
data, room = array("d", range(64)), array("d", [0.0] * 64)
counts = {}


def expect(name, out=0, into=0):
    calls, before_out, before_in = counts.get(name, (0, 0, 0))
    counts[name] = (calls + 1, before_out + out, before_in + into)


def double(buffer, n):
    return [buffer, n, MPI.DOUBLE]


expect("MPI_Init_thread")  # made by the import
request = world.Isend(double(data, 10), right, 1)
expect("MPI_Isend", 80, 0)
world.Recv(double(room, 20), left, 1)
expect("MPI_Recv", 0, 80)
request.Wait()
expect("MPI_Wait")
world.Sendrecv(double(data, 5), right, 2, double(room, 20), left, 2)
expect("MPI_Sendrecv", 40, 40)
requests = [world.Irecv(double(room, 8), left, 3), world.Isend(double(data, 4), right, 3)]
expect("MPI_Irecv", 0, 64)
expect("MPI_Isend", 32, 0)
MPI.Request.Waitall(requests)
expect("MPI_Waitall")
world.Barrier()
expect("MPI_Barrier")
world.Bcast(double(room, 11), 0)
expect("MPI_Bcast", 88 if rank == 0 else 0, 0 if rank == 0 else 88)
world.Allreduce(double(data, 5), double(room, 5), MPI.SUM)
expect("MPI_Allreduce", 40, 40)
world.Allreduce(MPI.IN_PLACE, double(room, 6), MPI.MAX)
expect("MPI_Allreduce", 48, 48)
world.Reduce(double(data, 4), double(room, 4), MPI.SUM, 0)
expect("MPI_Reduce", 32, 32 if rank == 0 else 0)
world.Gather(double(data, 3), double(room, 3), 0)
expect("MPI_Gather", 24, size * 24 if rank == 0 else 0)
world.Allgather(double(data, 2), double(room, 2))
expect("MPI_Allgather", 16, size * 16)
world.Alltoall(double(data, 3), double(room, 3))
expect("MPI_Alltoall", size * 24, size * 24)
world.Scan(double(data, 3), double(room, 3), MPI.SUM)
expect("MPI_Scan", 24, 24)
window = MPI.Win.Create(room, 8, comm=world)
expect("MPI_Win_create")
window.Fence()
expect("MPI_Win_fence")
window.Put(double(data, 4), right)
expect("MPI_Put", 32, 0)
window.Fence()
expect("MPI_Win_fence")
window.Free()
expect("MPI_Win_free")
expect("MPI_Finalize")  # made at the end

with open(f"{sys.argv[1]}.{rank}", "w") as file:
    file.writelines(f"{name} {calls} {out} {into}\n" for name, (calls, out, into) in counts.items())
