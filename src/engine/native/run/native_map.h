/*
 * native_map.h -- executable memory
 *
 * Small kernels share pages: a chunk is a window (os/code_pages.h), executable here and
 * written elsewhere. Memory of a chunk is used once: it goes back to the system when
 * its last kernel is gone, so a forked process, which has the chunks in common with its
 * parent, never sees code change. Where the system has no windows, and for large
 * kernels, a kernel has pages of its own that are writable first and executable then.
 *
 * Thread-safe.
 */
#ifndef ENGINE_NATIVE_RUN_NATIVE_MAP_H
#define ENGINE_NATIVE_RUN_NATIVE_MAP_H

#include <stdbool.h>
#include <stddef.h>

typedef struct NativeChunk NativeChunk;

/** Where the code of a kernel is. */
typedef struct NativeMapping {
    const void *code; /* aligned to 64 bytes */
    size_t size;
    NativeChunk *chunk;
} NativeMapping;

/** Make a copy of these bytes executable. False: JIT_ERROR_SYSTEM if the system refuses
 *  executable memory, JIT_ERROR_MEMORY if there is no memory. */
bool native_map_add(NativeMapping *mapping, const void *bytes, size_t size);
/** Give it back; nothing runs it any more. */
void native_map_remove(const NativeMapping *mapping);

#endif
