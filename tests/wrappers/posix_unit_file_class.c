/*
 * Classes of files without a preloaded library: numbers of file systems against linux/magic.h, descriptors and names
 * against what this test opens itself.
 */
#include "../libprofiler/unit.h"

#include <stdint.h>

#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "posix/file_class.h"
#include "process.h"

uint32_t xw_sealed;

/* What access.c is told. */
static struct {
    int forgotten, fd;
    uint64_t file;
} told;
void xw_access_forget(int fd) { told.forgotten = fd; }
void xw_access_file_is(int fd, uint64_t file)
{
    told.fd = fd;
    told.file = file;
}

static void file_systems(void **state)
{
    (void)state;
    static const uint32_t net[] = {NFS_SUPER_MAGIC,  FUSE_SUPER_MAGIC, CEPH_SUPER_MAGIC, CIFS_SUPER_MAGIC,
                                   SMB2_SUPER_MAGIC, SMB_SUPER_MAGIC,  V9FS_MAGIC,       AFS_SUPER_MAGIC,
                                   AFS_FS_MAGIC,     CODA_SUPER_MAGIC, NCP_SUPER_MAGIC,  OCFS2_SUPER_MAGIC};
    static const uint32_t mem[] = {TMPFS_MAGIC,          RAMFS_MAGIC,        HUGETLBFS_MAGIC,    PROC_SUPER_MAGIC,
                                   SYSFS_MAGIC,          CGROUP_SUPER_MAGIC, DEVPTS_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
                                   DEBUGFS_MAGIC,        TRACEFS_MAGIC,      SECURITYFS_MAGIC,   BPF_FS_MAGIC,
                                   RDTGROUP_SUPER_MAGIC, NSFS_MAGIC,         BINFMTFS_MAGIC,     EFIVARFS_MAGIC};
    static const uint32_t disk[] = {EXT4_SUPER_MAGIC,      XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
                                    OVERLAYFS_SUPER_MAGIC, SQUASHFS_MAGIC,  0x12345678};
    for (unsigned i = 0; i < sizeof net / sizeof *net; i++)
        assert_int_equal(xw_class_of_magic(net[i]), XW_CLASS_NET);
    for (unsigned i = 0; i < sizeof mem / sizeof *mem; i++)
        assert_int_equal(xw_class_of_magic(mem[i]), XW_CLASS_MEM);
    for (unsigned i = 0; i < sizeof disk / sizeof *disk; i++)
        assert_int_equal(xw_class_of_magic(disk[i]), XW_CLASS_DISK);
    /* statfs gives a signed number on some architectures */
    assert_int_equal(xw_class_of_magic((uint64_t)(int64_t)(int32_t)0xFF534D42), XW_CLASS_NET);
}

static void descriptors(void **state)
{
    (void)state;
    int fds[2];
    int proc = open("/proc/self/stat", O_RDONLY), null = open("/dev/null", O_RDONLY), path = open("/sys", O_PATH);
    assert_int_equal(xw_class_of_fd(proc), XW_CLASS_MEM);
    assert_int_equal(xw_class_of_fd(null), XW_CLASS_OTHER);
    assert_int_equal(xw_class_of_fd(path), XW_CLASS_MEM);
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(xw_class_of_fd(fds[0]), XW_CLASS_PIPE);
    assert_int_equal(dup2(proc, fds[0]), fds[0]);
    assert_int_equal(xw_class_of_fd(fds[0]), XW_CLASS_PIPE); /* remembered, until it is told */
    xw_class_forget(fds[0]);
    assert_int_equal(xw_class_of_fd(fds[0]), XW_CLASS_MEM);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    xw_class_forget_pair(fds, 0);
    assert_int_equal(xw_class_of_fd(fds[1]), XW_CLASS_SOCK);
    xw_class_forget_range(0, ~0u);
    assert_int_equal(xw_fd_class[fds[1]], 0);
    assert_int_equal(xw_class_of_fd(-1), XW_CLASS_OTHER);
    assert_int_equal(xw_class_of_fd(12345), XW_CLASS_OTHER); /* not open; must not be remembered */
    assert_int_equal(xw_fd_class[12345], 0);
    assert_int_equal(xw_class_of_fd(INT32_MAX), XW_CLASS_OTHER);
}

static void names(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) { /* looked up, then remembered */
        assert_int_equal(xw_class_of_path("/proc/self/anything"), XW_CLASS_MEM);
        assert_int_equal(xw_class_of_path("/dev/shm/anything"), XW_CLASS_MEM);
        assert_int_equal(xw_class_of_path("/no/such/directory/x"), XW_CLASS_OTHER);
        assert_int_equal(xw_class_of_path(""), xw_class_of_path("x"));
    }
    assert_int_equal(chdir("/proc"), 0);
    xw_class_forget_cwd();
    assert_int_equal(xw_class_of_path("uptime"), XW_CLASS_MEM);
    int root = open("/", O_PATH), sys = open("/sys", O_PATH);
    assert_int_equal(xw_class_of_path_at(sys, "kernel"), XW_CLASS_MEM);
    assert_int_equal(xw_class_of_path_at(root, "/proc/x"), XW_CLASS_MEM);
    assert_int_equal(xw_class_of_path_at(AT_FDCWD, "x"), XW_CLASS_MEM);
    assert_int_equal(xw_class_of_path_at(sys, NULL), XW_CLASS_MEM);
}

static uint64_t file_of(int fd)
{
    const uint64_t file = xw_file_of_fd(fd);
    xw_class_forget(fd);
    assert_int_equal(told.forgotten, fd);
    const enum xw_class class = xw_class_of_fd(fd);
    assert_int_equal(told.fd, fd);
    assert_true(told.file == file);
    assert_true(!file || (file / XW_FILE_CLASS) % 8 == class);
    return file;
}

static void files(void **state)
{
    (void)state;
    char one[] = "/tmp/xw-file-XXXXXX", two[] = "/dev/shm/xw-file-XXXXXX";
    const int a = mkstemp(one), b = mkstemp(two), again = open(one, O_RDONLY);
    const uint64_t file = file_of(a);
    assert_true(xw_file_is_known(file));
    assert_true(file & XW_FILE_LOCAL);
    assert_false(file & (XW_FILE_READ | XW_FILE_WRITTEN | XW_FILE_APPENDS));
    assert_true(file_of(again) == file);
    assert_true(xw_file_is_known(file_of(b)));
    assert_true((file_of(b) ^ file) >= XW_FILE_IDENTITY);
    xw_config.job_id[0] = 'x'; /* another job: another identity */
    assert_true((file_of(a) ^ file) >= XW_FILE_IDENTITY);
    xw_config.job_id[0] = 0;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    xw_class_forget_pair(fds, 0);
    assert_true(file_of(fds[0]) == 0);
    assert_true(file_of(open("/tmp", O_RDONLY)) == 0);
    assert_true(xw_file_of_fd(-1) == 0 && xw_file_of_fd(12345) == 0);
    unlink(one);
    unlink(two);
}

static void bad_pointers(void **state)
{
    (void)state;
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(mprotect(pages + 4096, 4096, PROT_NONE), 0);
    memset(pages, '/', 4096);
    assert_int_equal(xw_class_of_path(NULL), XW_CLASS_OTHER);
    assert_int_equal(xw_class_of_path((const char *)8), XW_CLASS_OTHER);
    assert_int_equal(xw_class_of_path((const char *)-8L), XW_CLASS_OTHER);
    assert_int_equal(xw_class_of_path(pages + 4096), XW_CLASS_OTHER);
    assert_int_equal(xw_class_of_path(pages + 4000), XW_CLASS_OTHER); /* runs into the page that can't be read */
    memcpy(pages + 4096 - 8, "/proc/x", 8);                           /* ends just before it */
    assert_int_equal(xw_class_of_path(pages + 4096 - 8), XW_CLASS_MEM);
    memset(pages, 'x', 4095);
    pages[4095] = 0;
    pages[0] = pages[2000] = '/'; /* a directory whose name is too long to ask for */
    assert_int_equal(xw_class_of_path(pages), XW_CLASS_OTHER);
}

static void a_sealed_process_asks_nothing(void **state)
{
    (void)state;
    int proc = open("/proc/self/stat", O_RDONLY);
    xw_class_forget(proc);
    xw_sealed = 1;
    assert_int_equal(xw_class_of_fd(proc), XW_CLASS_OTHER);
    assert_int_equal(xw_class_of_path("/proc/x"), XW_CLASS_OTHER);
    xw_sealed = 0;
    assert_int_equal(xw_class_of_fd(proc), XW_CLASS_MEM); /* and has not remembered what it did not know */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_systems), cmocka_unit_test(descriptors),  cmocka_unit_test(names),
        cmocka_unit_test(files),        cmocka_unit_test(bad_pointers), cmocka_unit_test(a_sealed_process_asks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
