#include "skip.h"

static int ends(const char *pattern) { return !*pattern || *pattern == ','; }

/* Match up to the comma or the end. After a mismatch the last star takes one character more: that is all there is to
 * remember, so the time is at most length of the pattern times length of the name. */
static int matches(const char *pattern, const char *name)
{
    const char *star = NULL, *star_name = NULL;
    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            star_name = name;
        } else if (!ends(pattern) && (*pattern == '?' || *pattern == *name)) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star + 1;
            name = ++star_name;
        } else {
            return 0;
        }
    }
    while (*pattern == '*')
        pattern++;
    return ends(pattern);
}

int xw_is_listed(const char *list, const char *name)
{
    while (*list) {
        if (!ends(list) && matches(list, name))
            return 1;
        while (!ends(list))
            list++;
        list += *list == ',';
    }
    return 0;
}
