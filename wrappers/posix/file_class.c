#include "file_class.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include "access.h"
#include "config.h"
#include "path_class.h"
#include "process.h"

uint8_t xw_fd_class[XW_CLASS_FDS];

/* --- file systems --- */

/*
 * File systems that are not on a local disk, by f_type. From linux/magic.h and the documentation of the vendors.
 * FUSE counts as network, since that is what mounts on compute nodes are (sshfs, GlusterFS, s3fs); so does a FUSE
 * driver of a local disk (ntfs-3g). Layers that do not tell what lies below (overlayfs, eCryptfs) count as disk.
 */
static const struct {
    uint32_t magic;
    uint8_t class;
} file_systems[] = {
    {0x0BD00BD0, XW_CLASS_NET}, /* Lustre */
    {0x47504653, XW_CLASS_NET}, /* GPFS, Spectrum Scale */
    {0x00006969, XW_CLASS_NET}, /* NFS */
    {0x65735546, XW_CLASS_NET}, /* FUSE */
    {0x19830326, XW_CLASS_NET}, /* BeeGFS */
    {0x00C36400, XW_CLASS_NET}, /* Ceph */
    {0xFF534D42, XW_CLASS_NET}, /* CIFS */
    {0xFE534D42, XW_CLASS_NET}, /* SMB 2 and 3 */
    {0x0000517B, XW_CLASS_NET}, /* SMB 1 */
    {0x20030528, XW_CLASS_NET}, /* PVFS2, OrangeFS */
    {0xAAD7AAEA, XW_CLASS_NET}, /* Panasas PanFS */
    {0x01021997, XW_CLASS_NET}, /* 9p */
    {0x5346414F, XW_CLASS_NET}, /* OpenAFS */
    {0x6B414653, XW_CLASS_NET}, /* AFS of the kernel */
    {0x73757245, XW_CLASS_NET}, /* Coda */
    {0x0000564C, XW_CLASS_NET}, /* NCP */
    {0x01161970, XW_CLASS_NET}, /* GFS2 */
    {0x7461636F, XW_CLASS_NET}, /* OCFS2 */
    {0xBEEFDEAD, XW_CLASS_NET}, /* StorNext */
    {0x013111A8, XW_CLASS_NET}, /* IBRIX */
    {0x786F4256, XW_CLASS_NET}, /* VirtualBox shared folder */
    {0xBACBACBC, XW_CLASS_NET}, /* VMware shared folder */
    {0x01021994, XW_CLASS_MEM}, /* tmpfs, devtmpfs */
    {0x858458F6, XW_CLASS_MEM}, /* ramfs */
    {0x958458F6, XW_CLASS_MEM}, /* hugetlbfs */
    {0x00009FA0, XW_CLASS_MEM}, /* proc */
    {0x62656572, XW_CLASS_MEM}, /* sysfs */
    {0x0027E0EB, XW_CLASS_MEM}, /* cgroup */
    {0x63677270, XW_CLASS_MEM}, /* cgroup 2 */
    {0x00001CD1, XW_CLASS_MEM}, /* devpts */
    {0x64626720, XW_CLASS_MEM}, /* debugfs */
    {0x74726163, XW_CLASS_MEM}, /* tracefs */
    {0x73636673, XW_CLASS_MEM}, /* securityfs */
    {0x62656570, XW_CLASS_MEM}, /* configfs */
    {0x6165676C, XW_CLASS_MEM}, /* pstore */
    {0xDE5E81E4, XW_CLASS_MEM}, /* efivarfs */
    {0xCAFE4A11, XW_CLASS_MEM}, /* bpf */
    {0x19800202, XW_CLASS_MEM}, /* mqueue */
    {0xF97CFF8C, XW_CLASS_MEM}, /* selinux */
    {0x42494E4D, XW_CLASS_MEM}, /* binfmt_misc */
    {0x65735543, XW_CLASS_MEM}, /* fusectl */
    {0x07655821, XW_CLASS_MEM}, /* resctrl */
    {0x6E736673, XW_CLASS_MEM}, /* nsfs */
};

enum { FILE_SYSTEMS = sizeof file_systems / sizeof *file_systems, NO_FILE_SYSTEM = -1 };

/* Its row; FILE_SYSTEMS: a local disk. */
static int row_of_magic(uint64_t f_type)
{
    int row = 0;
    while (row < FILE_SYSTEMS && file_systems[row].magic != (uint32_t)f_type)
        row++;
    return row;
}

static enum xw_class class_of_row(int row)
{
    if (row == NO_FILE_SYSTEM)
        return XW_CLASS_OTHER;
    return row < FILE_SYSTEMS ? (enum xw_class)file_systems[row].class : XW_CLASS_DISK;
}

enum xw_class xw_class_of_magic(uint64_t f_type) { return class_of_row(row_of_magic(f_type)); }

/*
 * File systems of devices (st_dev), so that statfs, which asks the server of a network file system, runs once per
 * mount and not once per file. One word an entry: device << 8 | 1 + row. A newcomer takes the place of another.
 */
enum { DEVICES = 64 };
static uint64_t device_row[DEVICES];
_Static_assert(FILE_SYSTEMS + 1 < 256, "a row fits in a byte");

static int row_of_device(uint64_t device, int fd, const char *path)
{
    uint64_t *entry = &device_row[(device ^ device >> 8 ^ device >> 20) % DEVICES];
    uint64_t known = __atomic_load_n(entry, __ATOMIC_RELAXED);
    if (known && known >> 8 == device)
        return (int)(known & 0xff) - 1;
    struct statfs fs;
    long result = path ? xw_syscall(SYS_statfs, path, &fs) : xw_syscall(SYS_fstatfs, fd, &fs);
    if (xw_failed(result))
        return NO_FILE_SYSTEM;
    int row = row_of_magic((uint64_t)fs.f_type);
    __atomic_store_n(entry, device << 8 | (1u + (unsigned)row), __ATOMIC_RELAXED);
    return row;
}

struct sight {
    uint32_t mode;
    uint64_t device, inode;
};

/* A descriptor (path "") or a name. AT_STATX_DONT_SYNC: what the client knows, no word to a server. */
static int look_at(int fd, const char *path, struct sight *seen)
{
    struct statx x;
    if (!xw_failed(xw_syscall(SYS_statx, fd, path, AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &x))) {
        *seen = (struct sight){x.stx_mode, (uint64_t)x.stx_dev_major << 32 | x.stx_dev_minor, x.stx_ino};
        return 1;
    }
    struct stat old; /* before Linux 4.11, and under filters that do not know statx */
    if (xw_failed(*path ? xw_syscall(SYS_stat, path, &old) : xw_syscall(SYS_fstat, fd, &old)))
        return 0;
    *seen = (struct sight){old.st_mode, (uint64_t)major(old.st_dev) << 32 | minor(old.st_dev), old.st_ino};
    return 1;
}

/* --- descriptors --- */

/*
 * The file word of a regular file (file_table.h). Nodes number the devices of a network file system each in their own
 * way, so there its type stands for it. The job's id makes the hash differ from job to job.
 */
static uint64_t regular_file(const struct sight *seen, int row)
{
    const enum xw_class class = class_of_row(row);
    const int local = class != XW_CLASS_NET;
    uint64_t words[2 + sizeof xw_config.job_id / sizeof(uint64_t)];
    for (unsigned i = 0; i < sizeof xw_config.job_id; i++)
        ((char *)words)[i] = xw_config.job_id[i];
    words[sizeof words / sizeof *words - 2] = local ? seen->device : file_systems[row].magic;
    words[sizeof words / sizeof *words - 1] = seen->inode;
    return xw_file_identity(words, sizeof words / sizeof *words) | (local ? XW_FILE_LOCAL : 0u) |
           XW_FILE_CLASS * (unsigned)class;
}

/* Whether it can be told; `file` is 0 for all but regular files. */
static int ask_about(int fd, enum xw_class *class, uint64_t *file)
{
    struct sight seen;
    if (fd < 0 || xw_is_sealed() || !look_at(fd, "", &seen))
        return 0;
    *class = XW_CLASS_OTHER;
    *file = 0;
    if (S_ISREG(seen.mode) || S_ISDIR(seen.mode)) {
        const int row = row_of_device(seen.device, fd, NULL);
        *class = class_of_row(row);
        if (S_ISREG(seen.mode) && row != NO_FILE_SYSTEM)
            *file = regular_file(&seen, row);
    } else if (S_ISFIFO(seen.mode))
        *class = XW_CLASS_PIPE;
    else if (S_ISSOCK(seen.mode))
        *class = XW_CLASS_SOCK;
    else if (S_ISBLK(seen.mode))
        *class = XW_CLASS_DISK;
    return 1;
}

enum xw_class xw_class_look(int fd)
{
    enum xw_class class;
    uint64_t file;
    if (!ask_about(fd, &class, &file))
        return XW_CLASS_OTHER;
    if ((unsigned)fd < XW_CLASS_FDS)
        __atomic_store_n(&xw_fd_class[fd], (uint8_t)(1 + class), __ATOMIC_RELAXED);
    xw_access_file_is(fd, file);
    return class;
}

uint64_t xw_file_of_fd(int fd)
{
    enum xw_class class;
    uint64_t file;
    return ask_about(fd, &class, &file) ? file : 0;
}

void xw_class_forget_range(unsigned first, unsigned last)
{
    for (unsigned fd = first; fd < XW_CLASS_FDS && fd <= last; fd++)
        if (xw_fd_class[fd]) /* untouched pages of the table stay untouched */
            xw_class_forget((int)fd);
}

void xw_class_forget_pair(const int fds[2], int result)
{
    if (result != 0)
        return;
    xw_class_forget(fds[0]);
    xw_class_forget(fds[1]);
}

/* --- names --- */

enum xw_class xw_class_of_path(const char *path) { return xw_is_sealed() ? XW_CLASS_OTHER : xw_path_class(path); }

enum xw_class xw_class_of_path_at(int dirfd, const char *path)
{
    if (dirfd == AT_FDCWD)
        return xw_class_of_path(path);
    if (xw_is_sealed())
        return XW_CLASS_OTHER;
    return xw_path_is_absolute(path) ? xw_path_class(path) : xw_class_of_fd(dirfd);
}

enum xw_class xw_class_of_directory(const char *directory)
{
    struct sight seen;
    return look_at(AT_FDCWD, directory, &seen) ? class_of_row(row_of_device(seen.device, -1, directory))
                                               : XW_CLASS_OTHER;
}
