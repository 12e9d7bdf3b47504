/*
 * file.h -- file-system steps that the disk cache and exports need
 *
 * Each function records JIT_ERROR_SYSTEM with the path and the reason on failure. Every
 * system call is a fallible step of the hostile build (alloc_fault).
 */
#ifndef OS_FILE_H
#define OS_FILE_H

#include <stdbool.h>
#include <stddef.h>

/** Create a directory (and its parents) with mode 0700 if it is not there, and check
 *  that it is a real directory owned by this user without access for others. */
bool file_private_dir(const char *path);
/** Read a regular file of at most 'limit' bytes, opened with O_NOFOLLOW, owned by this
 *  user and not writable by others. The content is owned by the caller (alloc_free).
 *  Absent files fail like others; '*absent' tells them apart. */
bool file_read_private(const char *path, size_t limit, void **data, size_t *size,
                       bool *absent);
/** Write a new file atomically: an O_EXCL temporary in the same directory, mode 0600,
 *  renamed to 'path'. */
bool file_publish(const char *path, const void *data, size_t size);
/** The same, but what is at 'path' already stays. Of several processes, one succeeds in
 *  writing. */
bool file_publish_first(const char *path, const void *data, size_t size);
/** Rename what is at 'path' to an unused name beside it, "<path>.<...>.aside". */
bool file_move_aside(const char *path);
/** Create a directory (and its parents) for everybody, if it is not there. */
bool file_make_folder(const char *path);
/** Write a file for everybody, in the place of what is there. */
bool file_write(const char *path, const void *data, size_t size);
/** Delete a file; absent files are fine. */
bool file_remove(const char *path);
/** Note in the file's time of modification that it was used now, if the system lets. */
void file_touch(const char *path);
/** Is nothing there? */
bool file_is_absent(const char *path);
/** Is this a directory, and no link to one? */
bool file_is_dir(const char *path);
/** Is this something that only its owner has access to, and no link to it? */
bool file_is_secret(const char *path);
/** The path of the current directory, owned by the caller (alloc_free). NULL (error
 *  recorded) if it cannot be found out. */
char *file_current_dir(void);

#endif
