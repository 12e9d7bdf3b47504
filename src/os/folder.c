/*
 * folder.c -- see folder.h
 */
#include "os/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

bool folder_open(Folder *folder, const char *path)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = alloc_fault() ? -1 : open(path, flags);
    folder->stream = fd >= 0 ? fdopendir(fd) : NULL;
    if (folder->stream)
        return true;
    error_set(JIT_ERROR_SYSTEM, "cannot open the directory '%.300s': %m", path);
    if (fd >= 0)
        close(fd);
    return false;
}

bool folder_next(Folder *folder, const char **name)
{
    errno = alloc_fault() ? EIO : 0;
    const struct dirent *found = errno ? NULL : readdir(folder->stream);
    *name = found ? found->d_name : NULL;
    return found || !errno ||
           error_set(JIT_ERROR_SYSTEM, "cannot read the directory: %m");
}

bool folder_look(const Folder *folder, const char *name, FolderFile *file)
{
    struct stat info;
    if (fstatat(dirfd(folder->stream), name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(info.st_mode))
        return false;
    *file = (FolderFile){ (uint64_t) info.st_size, info.st_mtim };
    return true;
}

bool folder_remove(const Folder *folder, const char *name)
{
    return unlinkat(dirfd(folder->stream), name, 0) == 0 || errno == ENOENT ||
           error_set(JIT_ERROR_SYSTEM, "cannot delete the entry '%s': %m", name);
}

void folder_close(Folder *folder) { closedir(folder->stream); }
