/*
 * What files are besides their content: owners, times, extended attributes, file systems, special files; under every
 * name.
 *
 *     posix_attributes DIRECTORY
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <utime.h>

#include "posix_expect.h"

/* Names that no header declares. */
char *__realpath_chk(const char *, char *, size_t);
int __xmknod(int, const char *, mode_t, dev_t *);
int __xmknodat(int, int, const char *, mode_t, dev_t *);

static char buf[4096];

/* Not every file system has them, not everybody may: what counts is the call. */
#define TRY(name, call) GET(name, (call)&0)

static void owners(int fd)
{
    const uid_t user = getuid();
    const gid_t group = getgid();
    DO(chown, 0, 0, chown("made", user, group), 0);
    DO(lchown, 0, 0, lchown("made", user, group), 0);
    DO(fchown, 0, 0, fchown(fd, user, group), 0);
    DO(fchownat, 0, 0, fchownat(AT_FDCWD, "made", user, group, 0), 0);
}

static void times(int fd)
{
    struct timespec ns[2] = {{1, 0}, {2, 0}};
    struct timeval us[2] = {{3, 0}, {4, 0}};
    struct utimbuf s = {5, 6};
    struct stat status;
    DO(futimens, 0, 0, futimens(fd, ns), 0);
    DO(futimes, 0, 0, futimes(fd, us), 0);
    DO(futimesat, 0, 0, futimesat(AT_FDCWD, "made", us), 0);
    DO(lutimes, 0, 0, lutimes("made", us), 0);
    DO(utimes, 0, 0, utimes("made", us), 0);
    DO(utime, 0, 0, utime("made", &s), 0);
    DO(fstat, 0, 0, fstat(fd, &status), 0);
    MUST(status.st_mtime == 6);
}

static void extended(int fd)
{
    TRY(setxattr, setxattr("made", "user.a", "1", 1, 0));
    TRY(lsetxattr, lsetxattr("made", "user.b", "1", 1, 0));
    TRY(fsetxattr, fsetxattr(fd, "user.c", "1", 1, 0));
    TRY(getxattr, getxattr("made", "user.a", buf, sizeof buf));
    TRY(lgetxattr, lgetxattr("made", "user.a", buf, sizeof buf));
    TRY(fgetxattr, fgetxattr(fd, "user.a", buf, sizeof buf));
    TRY(listxattr, listxattr("made", buf, sizeof buf));
    TRY(llistxattr, llistxattr("made", buf, sizeof buf));
    TRY(flistxattr, flistxattr(fd, buf, sizeof buf));
    TRY(removexattr, removexattr("made", "user.a"));
    TRY(lremovexattr, lremovexattr("made", "user.b"));
    TRY(fremovexattr, fremovexattr(fd, "user.c"));
}

static void file_systems(int fd)
{
    struct statfs a;
    struct statfs64 a64;
    struct statvfs b;
    struct statvfs64 b64;
    DO(statfs, 0, 0, statfs(".", &a), 0);
    DO(statfs, 0, 0, statfs64(".", &a64), 0);
    DO(fstatfs, 0, 0, fstatfs(fd, &a), 0);
    DO(fstatfs, 0, 0, fstatfs64(fd, &a64), 0);
    DO(statvfs, 0, 0, statvfs(".", &b), 0);
    DO(statvfs, 0, 0, statvfs64(".", &b64), 0);
    DO(fstatvfs, 0, 0, fstatvfs(fd, &b), 0);
    DO(fstatvfs, 0, 0, fstatvfs64(fd, &b64), 0);
}

static void special_files(void)
{
    dev_t none = 0;
    DO(mkfifo, 0, 0, mkfifo("fifo1", 0600), 0);
    DO(mkfifoat, 0, 0, mkfifoat(AT_FDCWD, "fifo2", 0600), 0);
    DO(mknod, 0, 0, mknod("fifo3", S_IFIFO | 0600, 0), 0);
    DO(mknod, 0, 0, __xmknod(0, "fifo4", S_IFIFO | 0600, &none), 0);
    DO(mknodat, 0, 0, mknodat(AT_FDCWD, "fifo5", S_IFIFO | 0600, 0), 0);
    DO(mknodat, 0, 0, __xmknodat(0, AT_FDCWD, "fifo6", S_IFIFO | 0600, &none), 0);
}

static void names(int fd)
{
    char directory[] = "dirXXXXXX", *name;
    struct {
        struct file_handle head;
        char room[128];
    } handle = {.head.handle_bytes = 128};
    int mount;
    MUST(mkdtemp(directory) == directory);
    CALLED(mkdtemp, 0, 0);
    DO(euidaccess, 0, 0, euidaccess("made", R_OK), 0);
    DO(euidaccess, 0, 0, eaccess("made", R_OK), 0);
    MUST(realpath("made", buf) == buf && buf[0] == '/');
    CALLED(realpath, 0, 0);
    MUST(__realpath_chk("made", buf, sizeof buf) == buf);
    CALLED(realpath, 0, 0);
    MUST((name = canonicalize_file_name("made")) != NULL && strcmp(name, buf) == 0);
    CALLED(realpath, 0, 0);
    free(name);
    TRY(name_to_handle_at, name_to_handle_at(AT_FDCWD, "made", &handle.head, &mount, 0));
    int again = open_by_handle_at(fd, &handle.head, O_RDONLY);
    CALLED(open_by_handle_at, 0, 0);
    if (again >= 0)
        DO(close, 0, 0, close(again), 0);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    DO(chdir, 0, 0, chdir(argv[1]), 0);
    int fd = (int)GET(creat, open("made", O_CREAT | O_RDWR, 0600));
    owners(fd);
    times(fd);
    extended(fd);
    file_systems(fd);
    special_files();
    names(fd);
    DO(close, 0, 0, close(fd), 0);
    expect_report();
    return 0;
}
