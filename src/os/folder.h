/*
 * folder.h -- what is in a folder, and removing some of it
 *
 * All steps are relative to the folder that was opened, whatever its path names by
 * then, and follow no links. Files may vanish at any time, since other processes do the
 * same.
 */
#ifndef OS_FOLDER_H
#define OS_FOLDER_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/** An open folder. */
typedef struct Folder {
    void *stream;
} Folder;

typedef struct FolderFile {
    uint64_t size;            /* bytes */
    struct timespec modified; /* by the clock of time() */
} FolderFile;

/** Open a folder, which is no link. False: error recorded. A fallible step of the
 *  hostile build. */
bool folder_open(Folder *folder, const char *path);
/** The next name in it, valid until the next call for this folder; NULL at the end.
 *  False: error recorded. A fallible step. */
bool folder_next(Folder *folder, const char **name);
/** Look at a regular file in it; false if there is none of this name. */
bool folder_look(const Folder *folder, const char *name, FolderFile *file);
/** Delete a file in it; absent files are fine. False: error recorded. */
bool folder_remove(const Folder *folder, const char *name);
void folder_close(Folder *folder);

#endif
