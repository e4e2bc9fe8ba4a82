/*
 * Every function of the system-call layer that opens, closes, names, inspects or flushes files, under every name.
 *
 *     posix_names DIRECTORY
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "posix_expect.h"

/* Names that no header declares. */
int __open(const char *, int, ...);
int __open64(const char *, int, ...);
int __open_2(const char *, int);
int __open64_2(const char *, int);
int __openat_2(int, const char *, int);
int __openat64_2(int, const char *, int);
int __close(int);
int __dup2(int, int);
off_t __lseek(int, off_t, int);
int __xstat(int, const char *, struct stat *);
int __xstat64(int, const char *, struct stat64 *);
int __lxstat(int, const char *, struct stat *);
int __lxstat64(int, const char *, struct stat64 *);
int __fxstat(int, int, struct stat *);
int __fxstat64(int, int, struct stat64 *);
int __fxstatat(int, int, const char *, struct stat *, int);
int __fxstatat64(int, int, const char *, struct stat64 *, int);
ssize_t __readlink_chk(const char *, char *, size_t, size_t);
ssize_t __readlinkat_chk(int, const char *, char *, size_t, size_t);

enum { STAT_VERSION = 1 };

static const char *const volatile no_name = NULL;

static void close_it(long fd) { DO(close, 0, 0, close((int)fd), 0); }

static void open_forms(void)
{
    struct stat s;
    close_it(GET(creat, open("made", O_CREAT | O_WRONLY, 0640)));
    DO(stat, 0, 0, stat("made", &s), 0);
    MUST((s.st_mode & 07777) == 0640); /* the mode reaches the real function */
    close_it(GET(creat, open64("made64", O_CREAT | O_WRONLY, 0604)));
    DO(stat, 0, 0, stat("made64", &s), 0);
    MUST((s.st_mode & 07777) == 0604);
    close_it(GET(open, __open("made", O_RDONLY)));
    close_it(GET(open, __open64("made", O_RDONLY)));
    close_it(GET(open, __open_2("made", O_RDONLY)));
    close_it(GET(open, __open64_2("made", O_RDONLY)));
    close_it(GET(creat, openat(AT_FDCWD, "at", O_CREAT | O_WRONLY, 0600)));
    close_it(GET(openat, openat(AT_FDCWD, "at", O_WRONLY)));
    close_it(GET(openat, openat64(AT_FDCWD, "at", O_RDONLY)));
    close_it(GET(openat, __openat_2(AT_FDCWD, "at", O_RDONLY)));
    DO(close, 0, 0, __close((int)GET(openat, __openat64_2(AT_FDCWD, "at", O_RDONLY))), 0);
    close_it(GET(creat, creat("made", 0600)));
    close_it(GET(creat, creat64("made", 0600)));
    DO(open, 0, 0, open("missing/file", O_RDONLY), -1);
    DO(open, 0, 0, open(no_name, O_RDONLY), -1);         /* EFAULT, not a crash */
    DO(open, 0, 0, open((const char *)8, O_RDONLY), -1); /* the same */
}

static void temporary_files(void)
{
    char a[] = "tmpXXXXXX", b[] = "tmpXXXXXX", c[] = "tmpXXXXXX", d[] = "tmpXXXXXX";
    char e[] = "tmpXXXXXX.x", f[] = "tmpXXXXXX.x", g[] = "tmpXXXXXX.x", h[] = "tmpXXXXXX.x";
    close_it(GET(mkstemp, mkstemp(a)));
    close_it(GET(mkstemp, mkstemp64(b)));
    close_it(GET(mkostemp, mkostemp(c, O_APPEND)));
    close_it(GET(mkostemp, mkostemp64(d, O_APPEND)));
    close_it(GET(mkstemps, mkstemps(e, 2)));
    close_it(GET(mkstemps, mkstemps64(f, 2)));
    close_it(GET(mkostemps, mkostemps(g, 2, O_APPEND)));
    close_it(GET(mkostemps, mkostemps64(h, 2, O_APPEND)));
}

static void descriptors(int fd)
{
    int ends[2];
    int copy = (int)GET(dup, dup(fd));
    DO(dup2, 0, 0, dup2(fd, copy), copy);
    DO(dup2, 0, 0, __dup2(fd, copy), copy);
    DO(dup3, 0, 0, dup3(fd, copy, O_CLOEXEC), copy);
    close_it(copy);
    GET(pipe, pipe(ends));
    close_it(ends[0]);
    close_it(ends[1]);
    DO(lseek, 0, 0, lseek(fd, 5, SEEK_SET), 5);
    DO(lseek, 0, 0, lseek64(fd, 6, SEEK_SET), 6);
    DO(lseek, 0, 0, __lseek(fd, 7, SEEK_SET), 7);
    DO(ftruncate, 0, 0, ftruncate(fd, 10), 0);
    DO(ftruncate, 0, 0, ftruncate64(fd, 20), 0);
    GET(fallocate, fallocate(fd, 0, 0, 100) & 0); /* not every file system can */
    GET(fallocate, fallocate64(fd, 0, 0, 100) & 0);
    DO(posix_fallocate, 0, 0, posix_fallocate(fd, 0, 100), 0);
    DO(posix_fallocate, 0, 0, posix_fallocate64(fd, 0, 100), 0);
    DO(fchmod, 0, 0, fchmod(fd, 0600), 0);
    DO(flock, 0, 0, flock(fd, LOCK_EX), 0);
    DO(fsync, 0, 0, fsync(fd), 0);
    DO(fdatasync, 0, 0, fdatasync(fd), 0);
    DO(posix_fadvise, 0, 0, posix_fadvise(fd, 0, 10, POSIX_FADV_NORMAL), 0);
    DO(posix_fadvise, 0, 0, posix_fadvise64(fd, 0, 10, POSIX_FADV_NORMAL), 0);
    GET(readahead, readahead(fd, 0, 10) & 0);
    DO(lockf, 0, 0, lockf(fd, F_TLOCK, 1), 0);
    DO(lockf, 0, 0, lockf64(fd, F_ULOCK, 1), 0);
    GET(sync_file_range, sync_file_range(fd, 0, 10, SYNC_FILE_RANGE_WRITE) & 0);
    DO(syncfs, 0, 0, syncfs(fd), 0);
    sync();
    CALLED(sync, 0, 0);
}

static void status(int fd)
{
    struct stat s;
    struct stat64 s64;
    struct statx x;
    DO(stat, 0, 0, stat("made", &s), 0);
    DO(stat, 0, 0, stat64("made", &s64), 0);
    DO(stat, 0, 0, __xstat(STAT_VERSION, "made", &s), 0);
    DO(stat, 0, 0, __xstat64(STAT_VERSION, "made", &s64), 0);
    DO(lstat, 0, 0, lstat("made", &s), 0);
    DO(lstat, 0, 0, lstat64("made", &s64), 0);
    DO(lstat, 0, 0, __lxstat(STAT_VERSION, "made", &s), 0);
    DO(lstat, 0, 0, __lxstat64(STAT_VERSION, "made", &s64), 0);
    DO(fstat, 0, 0, fstat(fd, &s), 0);
    DO(fstat, 0, 0, fstat64(fd, &s64), 0);
    DO(fstat, 0, 0, __fxstat(STAT_VERSION, fd, &s), 0);
    DO(fstat, 0, 0, __fxstat64(STAT_VERSION, fd, &s64), 0);
    DO(fstatat, 0, 0, fstatat(AT_FDCWD, "made", &s, 0), 0);
    DO(fstatat, 0, 0, fstatat64(AT_FDCWD, "made", &s64, 0), 0);
    DO(fstatat, 0, 0, __fxstatat(STAT_VERSION, AT_FDCWD, "made", &s, 0), 0);
    DO(fstatat, 0, 0, __fxstatat64(STAT_VERSION, AT_FDCWD, "made", &s64, 0), 0);
    MUST(s.st_size == s64.st_size && S_ISREG(s.st_mode));
    DO(statx, 0, 0, statx(fd, "", AT_EMPTY_PATH, STATX_SIZE, &x), 0);
    DO(stat, 0, 0, stat("missing", &s), -1);
    DO(access, 0, 0, access("made", R_OK), 0);
    DO(faccessat, 0, 0, faccessat(AT_FDCWD, "made", R_OK, 0), 0);
}

static void names(void)
{
    char target[64];
    struct timespec times[2] = {{1, 0}, {2, 0}};
    DO(mkdir, 0, 0, mkdir("dir", 0700), 0);
    DO(mkdirat, 0, 0, mkdirat(AT_FDCWD, "dir2", 0700), 0);
    DO(rmdir, 0, 0, rmdir("dir2"), 0);
    DO(link, 0, 0, link("made", "hard"), 0);
    DO(linkat, 0, 0, linkat(AT_FDCWD, "made", AT_FDCWD, "hard2", 0), 0);
    DO(symlink, 0, 0, symlink("made", "soft"), 0);
    DO(symlinkat, 0, 0, symlinkat("made", AT_FDCWD, "soft2"), 0);
    DO(readlink, 0, 0, readlink("soft", target, sizeof target), 4);
    DO(readlink, 0, 0, __readlink_chk("soft", target, 10, sizeof target), 4);
    DO(readlinkat, 0, 0, readlinkat(AT_FDCWD, "soft", target, sizeof target), 4);
    DO(readlinkat, 0, 0, __readlinkat_chk(AT_FDCWD, "soft", target, 10, sizeof target), 4);
    DO(rename, 0, 0, rename("hard", "moved"), 0);
    DO(renameat, 0, 0, renameat(AT_FDCWD, "hard2", AT_FDCWD, "moved2"), 0);
    DO(renameat2, 0, 0, renameat2(AT_FDCWD, "moved2", AT_FDCWD, "moved3", 0), 0);
    DO(unlink, 0, 0, unlink("moved"), 0);
    DO(unlinkat, 0, 0, unlinkat(AT_FDCWD, "moved3", 0), 0);
    DO(remove, 0, 0, remove("soft"), 0);
    DO(truncate, 0, 0, truncate("made", 3), 0);
    DO(truncate, 0, 0, truncate64("made", 4), 0);
    DO(chmod, 0, 0, chmod("made", 0644), 0);
    DO(fchmodat, 0, 0, fchmodat(AT_FDCWD, "made", 0600, 0), 0);
    DO(utimensat, 0, 0, utimensat(AT_FDCWD, "made", times, 0), 0);
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* readdir_r */
static void directories(void)
{
    DIR *dir = (DIR *)GET(opendir, opendir("dir"));
    for (int i = 0; i < 2; i++) { /* "." and ".." */
        MUST(readdir(dir) != NULL);
        CALLED(readdir, 0, 0);
    }
    MUST(readdir64(dir) == NULL);
    CALLED(readdir, 0, 0);
    struct dirent entry, *found;
    struct dirent64 entry64, *found64;
    DO(readdir, 0, 0, readdir_r(dir, &entry, &found), 0);
    DO(readdir, 0, 0, readdir64_r(dir, &entry64, &found64), 0);
    DO(closedir, 0, 0, closedir(dir), 0);
    int here = (int)GET(open, open(".", O_RDONLY | O_DIRECTORY));
    DO(fchdir, 0, 0, fchdir(here), 0);
    char entries[4096];
    MUST(getdents64(here, entries, sizeof entries) > 0);
    CALLED(getdents64, 0, 0);
    dir = (DIR *)GET(fdopendir, fdopendir((int)GET(open, open("dir", O_RDONLY | O_DIRECTORY))));
    DO(closedir, 0, 0, closedir(dir), 0);
    close_it(here);
}

static void close_many(void)
{
    for (int i = 0; i < 5; i++)
        GET(open, open("made", O_RDONLY));
    DO(close_range, 0, 0, close_range(100, 200, 0), 0);
    closefrom(3);
    CALLED(closefrom, 0, 0);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    umask(0);
    DO(chdir, 0, 0, chdir(argv[1]), 0);
    open_forms();
    temporary_files();
    int fd = (int)GET(open, open("made", O_RDWR));
    descriptors(fd);
    status(fd);
    close_it(fd);
    names();
    directories();
    close_many();
    expect_report();
    return 0;
}
