#include "file_class.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

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

enum xw_class xw_class_of_magic(uint64_t f_type)
{
    for (unsigned i = 0; i < sizeof file_systems / sizeof *file_systems; i++)
        if (file_systems[i].magic == (uint32_t)f_type)
            return (enum xw_class)file_systems[i].class;
    return XW_CLASS_DISK;
}

/*
 * Classes of devices (st_dev), so that statfs, which asks the server of a network file system, runs once per
 * mount and not once per file. One word an entry: device << 8 | 1 + class. A newcomer takes the place of another.
 */
enum { DEVICES = 64 };
static uint64_t device_class[DEVICES];

static enum xw_class class_of_device(uint64_t device, int fd, const char *path)
{
    uint64_t *entry = &device_class[(device ^ device >> 8 ^ device >> 20) % DEVICES];
    uint64_t known = __atomic_load_n(entry, __ATOMIC_RELAXED);
    if (known && known >> 8 == device)
        return (enum xw_class)((known & 0xff) - 1);
    struct statfs fs;
    long result = path ? xw_syscall(SYS_statfs, path, &fs) : xw_syscall(SYS_fstatfs, fd, &fs);
    if (xw_failed(result))
        return XW_CLASS_OTHER;
    enum xw_class class = xw_class_of_magic((uint64_t)fs.f_type);
    __atomic_store_n(entry, device << 8 | (1u + class), __ATOMIC_RELAXED);
    return class;
}

/* Mode and device of a descriptor (path "") or a name. AT_STATX_DONT_SYNC: what the client knows, no word to a server.
 */
static int look_at(int fd, const char *path, uint32_t *mode, uint64_t *device)
{
    struct statx x;
    if (!xw_failed(xw_syscall(SYS_statx, fd, path, AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &x))) {
        *mode = x.stx_mode;
        *device = (uint64_t)x.stx_dev_major << 32 | x.stx_dev_minor;
        return 1;
    }
    struct stat old; /* before Linux 4.11, and under filters that do not know statx */
    if (xw_failed(*path ? xw_syscall(SYS_stat, path, &old) : xw_syscall(SYS_fstat, fd, &old)))
        return 0;
    *mode = old.st_mode;
    *device = (uint64_t)major(old.st_dev) << 32 | minor(old.st_dev);
    return 1;
}

/* --- descriptors --- */

static int is_sealed(void) { return xw_process && __atomic_load_n(&xw_process->sealed, __ATOMIC_RELAXED); }

enum xw_class xw_class_look(int fd)
{
    uint32_t mode;
    uint64_t device;
    if (fd < 0 || is_sealed() || !look_at(fd, "", &mode, &device))
        return XW_CLASS_OTHER;
    enum xw_class class = XW_CLASS_OTHER;
    if (S_ISREG(mode) || S_ISDIR(mode))
        class = class_of_device(device, fd, NULL);
    else if (S_ISFIFO(mode))
        class = XW_CLASS_PIPE;
    else if (S_ISSOCK(mode))
        class = XW_CLASS_SOCK;
    else if (S_ISBLK(mode))
        class = XW_CLASS_DISK;
    if ((unsigned)fd < XW_CLASS_FDS)
        __atomic_store_n(&xw_fd_class[fd], (uint8_t)(1 + class), __ATOMIC_RELAXED);
    return class;
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

enum xw_class xw_class_of_path(const char *path) { return is_sealed() ? XW_CLASS_OTHER : xw_path_class(path); }

enum xw_class xw_class_of_path_at(int dirfd, const char *path)
{
    if (dirfd == AT_FDCWD)
        return xw_class_of_path(path);
    if (is_sealed())
        return XW_CLASS_OTHER;
    return xw_path_is_absolute(path) ? xw_path_class(path) : xw_class_of_fd(dirfd);
}

enum xw_class xw_class_of_directory(const char *directory)
{
    uint32_t mode;
    uint64_t device;
    return look_at(AT_FDCWD, directory, &mode, &device) ? class_of_device(device, -1, directory) : XW_CLASS_OTHER;
}
