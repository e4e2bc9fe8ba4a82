#include "preload_list.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char separators[] = ": \t\n";

static const char *file_name(const char *path, size_t length, size_t *name_length)
{
    const char *end = path + length, *name = path;
    for (const char *at = path; at < end; at++)
        if (*at == '/')
            name = at + 1;
    *name_length = (size_t)(end - name);
    return name;
}

static int same_file_name(const char *entry, size_t length, const char *library)
{
    size_t a_length, b_length;
    const char *a = file_name(entry, length, &a_length), *b = file_name(library, strlen(library), &b_length);
    return a_length == b_length && !memcmp(a, b, a_length);
}

/* The next entry at or behind *at, and its length; NULL at the end. *at moves behind it. */
static const char *next_entry(const char **at, size_t *length)
{
    const char *entry = *at + strspn(*at, separators);
    *length = strcspn(entry, separators);
    *at = entry + *length;
    return *length ? entry : NULL;
}

int cw_preload_add(char *result, size_t size, const char *list, const char *library)
{
    const char *at = list, *entry;
    size_t length;
    int there = 0;
    while ((entry = next_entry(&at, &length)))
        there |= same_file_name(entry, length, library);
    int wanted = there   ? snprintf(result, size, "%s", list)
                 : *list ? snprintf(result, size, "%s:%s", library, list)
                         : snprintf(result, size, "%s", library);
    return wanted >= 0 && (size_t)wanted < size;
}

int cw_preload_remove(char *result, size_t size, const char *list, const char *library)
{
    const char *at = list, *entry;
    size_t length, used = 0;
    result[0] = 0;
    while ((entry = next_entry(&at, &length))) {
        if (same_file_name(entry, length, library))
            continue;
        if (used + length + 2 > size)
            return 0;
        if (used)
            result[used++] = ':';
        memcpy(result + used, entry, length);
        result[used += length] = 0;
    }
    return 1;
}

static int is_elf(const char *path)
{
    char magic[4];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return 0;
    int is = read(fd, magic, sizeof magic) == sizeof magic && !memcmp(magic, "\177ELF", 4);
    close(fd);
    return is;
}

int cw_preload_is_there(const char *path)
{
    static const char *const meanings[] = {"lib64", "lib", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"};
    const char *token = strstr(path, "$LIB");
    if (!token)
        return is_elf(path);
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        char expanded[2048];
        int length = snprintf(expanded, sizeof expanded, "%.*s%s%s", (int)(token - path), path, meanings[i], token + 4);
        if (length > 0 && (size_t)length < sizeof expanded && is_elf(expanded))
            return 1;
    }
    return 0;
}
