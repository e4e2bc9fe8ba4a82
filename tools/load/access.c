#include "access.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

const char *const access_count_names[] = {"open",  "seek",   "write",     "read",     "flush",
                                          "close", "unlink", "bytes_out", "bytes_in", NULL};

/* The result of an MPI call as those of POSIX. */
static int of_mpi(int error)
{
    int class = MPI_SUCCESS;
    if (error == MPI_SUCCESS)
        return 0;
    MPI_Error_class(error, &class);
    errno = class == MPI_ERR_NO_SPACE ? ENOSPC
            : class == MPI_ERR_ACCESS ? EACCES
            : class == MPI_ERR_QUOTA  ? EDQUOT
                                      : EIO;
    return -1;
}

int access_open(struct access_file *it, const char *path, int writes)
{
    int result;
    it->counts[ACCESS_OPEN]++;
    if (it->api == ACCESS_POSIX)
        result = it->fd = open(path, (writes ? O_WRONLY | O_CREAT : O_RDONLY) | O_CLOEXEC, 0600);
    else
        result = of_mpi(MPI_File_open(it->api == ACCESS_COLLECTIVE ? MPI_COMM_WORLD : MPI_COMM_SELF, path,
                                      writes ? MPI_MODE_WRONLY | MPI_MODE_CREATE : MPI_MODE_RDONLY, MPI_INFO_NULL,
                                      &it->file));
    it->is_open = result >= 0;
    it->position = 0;
    return result < 0 ? -1 : 0;
}

int access_seek(struct access_file *it, uint64_t position)
{
    if (position == it->position)
        return 0;
    it->counts[ACCESS_SEEK]++;
    it->position = position;
    if (it->api == ACCESS_POSIX)
        return lseek(it->fd, (off_t)position, SEEK_SET) < 0 ? -1 : 0;
    return of_mpi(MPI_File_seek(it->file, (MPI_Offset)position, MPI_SEEK_SET));
}

/* By as many calls as it takes. */
static int move_posix(struct access_file *it, char *data, uint64_t size, int writes)
{
    for (uint64_t at = 0; at < size;) {
        const ssize_t moved = writes ? write(it->fd, data + at, size - at) : read(it->fd, data + at, size - at);
        it->counts[writes ? ACCESS_WRITE : ACCESS_READ]++;
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved <= 0) {
            errno = moved ? errno : ENODATA;
            return -1;
        }
        at += (uint64_t)moved;
        it->counts[writes ? ACCESS_BYTES_OUT : ACCESS_BYTES_IN] += (uint64_t)moved;
    }
    return 0;
}

static int move_mpi(struct access_file *it, void *data, uint64_t size, int writes)
{
    const int together = it->api == ACCESS_COLLECTIVE;
    MPI_Status status;
    int moved = 0;
    it->counts[writes ? ACCESS_WRITE : ACCESS_READ]++;
    const int error = writes && together ? MPI_File_write_all(it->file, data, (int)size, MPI_BYTE, &status)
                      : writes           ? MPI_File_write(it->file, data, (int)size, MPI_BYTE, &status)
                      : together         ? MPI_File_read_all(it->file, data, (int)size, MPI_BYTE, &status)
                                         : MPI_File_read(it->file, data, (int)size, MPI_BYTE, &status);
    if (of_mpi(error))
        return -1;
    MPI_Get_count(&status, MPI_BYTE, &moved);
    it->counts[writes ? ACCESS_BYTES_OUT : ACCESS_BYTES_IN] += moved > 0 ? (uint64_t)moved : 0;
    errno = ENODATA;
    return (uint64_t)moved == size ? 0 : -1;
}

static int move(struct access_file *it, void *data, uint64_t size, int writes)
{
    if (it->api == ACCESS_POSIX ? move_posix(it, data, size, writes) : move_mpi(it, data, size, writes))
        return -1;
    it->position += size;
    return 0;
}

int access_write(struct access_file *it, const void *data, uint64_t size) { return move(it, (void *)data, size, 1); }

int access_read(struct access_file *it, void *data, uint64_t size) { return move(it, data, size, 0); }

int access_flush(struct access_file *it)
{
    it->counts[ACCESS_FLUSH]++;
    return it->api == ACCESS_POSIX ? fsync(it->fd) : of_mpi(MPI_File_sync(it->file));
}

int access_forget(struct access_file *it)
{
    errno = posix_fadvise(it->fd, 0, 0, POSIX_FADV_DONTNEED);
    return errno ? -1 : 0;
}

int access_close(struct access_file *it)
{
    if (!it->is_open)
        return 0;
    it->is_open = 0;
    it->counts[ACCESS_CLOSE]++;
    return it->api == ACCESS_POSIX ? close(it->fd) : of_mpi(MPI_File_close(&it->file));
}

int access_remove(struct access_file *it, const char *path)
{
    it->counts[ACCESS_UNLINK]++;
    return unlink(path) && errno != ENOENT ? -1 : 0;
}
