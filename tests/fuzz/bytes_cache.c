/*
 * bytes_cache.c -- any bytes as an entry of the disk cache, with the right seal
 *
 * A target for libFuzzer and for bytes_replay.c. The bytes are a file without its
 * authentication code, which is computed here. What the reader takes for the code of a
 * kernel has to be the end of the file, and goes to what maps object code; that is not
 * run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "bytes_cache.h"
#include "bytes_target.h"
#include "engine/llvm/llvm_object.h"
#include "kernel/disk.h"
#include "kernel/disk_folder.h"

enum { MAC = 56, HEADER = MAC + SEAL_CODE_SIZE }; /* docs/dev/cache-format.md */

BytesOutcome bytes_outcome;

static char folder[] = "/tmp/drjit-fuzz-XXXXXX", path[200];

static void clean(void)
{
    char key[200];
    snprintf(key, sizeof key, "%s/key", folder);
    unlink(path);
    unlink(key);
    rmdir(folder);
}

static void begin(void)
{
    if (!mkdtemp(folder) || setenv("DRJIT_CACHE_DIR", folder, 1) != 0)
        abort();
    bytes_cache_path(path, sizeof path, folder);
    atexit(clean);
}

/* The file, with its code. */
static uint8_t *seal(const uint8_t *data, size_t size)
{
    DiskFolder key;
    uint8_t *file = malloc(size + SEAL_CODE_SIZE);
    memcpy(file, data, MAC);
    memcpy(file + HEADER, data + MAC, size - MAC);
    if (!disk_folder_take(&key)) {
        fprintf(stderr, "%s\n", error_message());
        abort();
    }
    seal_compute(key.key, file, MAC, file + HEADER, size - MAC, file + MAC);
    disk_folder_drop(&key);
    return file;
}

static void store(const uint8_t *file, size_t size)
{
    FILE *to = fopen(path, "wb");
    if (!to || fwrite(file, 1, size, to) != size || fclose(to) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    void *code = NULL;
    size_t code_size = 0;
    LlvmObject object;
    if (!*path)
        begin();
    bytes_outcome = BYTES_REFUSED;
    if (size < MAC)
        return 0;
    uint8_t *file = seal(data, size);
    store(file, size + SEAL_CODE_SIZE);
    if (disk_load(bytes_cache_key, bytes_cache_engine, bytes_cache_identity,
                  sizeof bytes_cache_identity, &code, &code_size)) {
        if (code_size > size - MAC ||
            memcmp(code, file + size + SEAL_CODE_SIZE - code_size, code_size) != 0)
            abort();
        bytes_outcome = BYTES_ACCEPTED;
        if (llvm_object_map(code, code_size, "drjit_", &object)) {
            bytes_outcome = BYTES_RUN; /* that is, it could be */
            llvm_object_unmap(&object);
        }
        alloc_free(code);
    }
    free(file);
    error_clear();
    return 0;
}
