/*
 * Names of files: the class of the directory that a name lies in, remembered by a hash of the directory's name.
 * Private to file_class.c, which sees to it that none of this runs in a sealed process.
 */
#ifndef XW_PATH_CLASS_H
#define XW_PATH_CLASS_H

#include "file_class.h"

/* XW_CLASS_OTHER for a pointer that can't be read, a directory that is not there, or one whose name is too long. */
enum xw_class xw_path_class(const char *path) XW_HIDDEN;
/* Whether `path` can be read and begins with a slash. */
int xw_path_is_absolute(const char *path) XW_HIDDEN;

/* Ask the kernel (file_class.c). */
enum xw_class xw_class_of_directory(const char *directory) XW_HIDDEN;

#endif
