/* One file of a rank, by POSIX or MPI-IO calls. Every call made and every byte moved is counted. */
#ifndef LOAD_ACCESS_H
#define LOAD_ACCESS_H

#include <mpi.h>
#include <stdint.h>

/* ACCESS_COLLECTIVE: one file of all ranks, on the world's communicator; all of them make each call. */
enum access_api { ACCESS_POSIX, ACCESS_MPIIO, ACCESS_COLLECTIVE };

enum access_count {
    ACCESS_OPEN,
    ACCESS_SEEK,
    ACCESS_WRITE,
    ACCESS_READ,
    ACCESS_FLUSH,
    ACCESS_CLOSE,
    ACCESS_UNLINK,
    ACCESS_BYTES_OUT,
    ACCESS_BYTES_IN
};
/* In that order, ends with NULL. */
extern const char *const access_count_names[];

struct access_file {
    enum access_api api;
    uint64_t *counts; /* by enum access_count */
    int fd;
    MPI_File file;
    int is_open;
    uint64_t position; /* of the next byte */
};

/* All return 0, or -1 with errno. */
int access_open(struct access_file *it, const char *path, int writes);
/* Nothing if the next byte is there already. */
int access_seek(struct access_file *it, uint64_t position);
int access_write(struct access_file *it, const void *data, uint64_t size);
int access_read(struct access_file *it, void *data, uint64_t size);
/* To the device. */
int access_flush(struct access_file *it);
/* Let the kernel forget what it keeps of the file, so that reads reach the device. POSIX only. */
int access_forget(struct access_file *it);
/* Nothing if it is not open. */
int access_close(struct access_file *it);
/* It may be gone already: other ranks remove it, too. */
int access_remove(struct access_file *it, const char *path);

#endif
