/*
 * seal.c -- the cryptography of the disk cache: random keys, keyed authentication codes
 *
 * All of it is libsodium's, which is loaded when the disk cache is first
 * used: a program whose kernels are never stored does without. The declarations are our
 * own reading of its stable interface; no header is needed to build. It is never
 * unloaded.
 *
 * Order: the file that DRJIT_LIBSODIUM_PATH names (then nothing else is tried), names
 * on the dynamic linker's search path. The cache is off in setuid processes, so these
 * load nothing that the environment names.
 */
#include "kernel/seal.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "os/library.h"

/* F(result, name, parameters) */
#define SODIUM_FUNCTIONS(F)                                               \
    F(int, sodium_init, (void) )                                          \
    F(int, sodium_memcmp, (const void *, const void *, size_t) )          \
    F(void, randombytes_buf, (void *, size_t) )                           \
    F(size_t, crypto_generichash_statebytes, (void) )                     \
    F(int, crypto_generichash_init,                                       \
      (void *, const unsigned char *, size_t, size_t) )                   \
    F(int, crypto_generichash_update,                                     \
      (void *, const unsigned char *, unsigned long long) )               \
    F(int, crypto_generichash_final, (void *, unsigned char *, size_t) )

/* Complete when 'loaded' is; written by one thread at a time, see seal_load(). */
static struct {
    bool loaded;
#define F(result, name, parameters) result(*name) parameters;
    SODIUM_FUNCTIONS(F)
#undef F
} sodium;

/* A hash in the making; the library's size is checked when it is loaded. */
typedef struct HashState {
    _Alignas(64) unsigned char bytes[384];
} HashState;

static bool use(void *handle, const char **reason)
{
#define F(result, name, parameters)                         \
    if (!library_symbol(handle, #name, &sodium.name)) {     \
        *reason = "the function " #name " is missing";      \
        return false;                                       \
    }
    SODIUM_FUNCTIONS(F)
#undef F
    *reason = "its hashes are larger than expected";
    TRY(sodium.crypto_generichash_statebytes() <= sizeof(HashState), false);
    *reason = "it cannot be initialised";
    return sodium.sodium_init() >= 0;
}

/* '*absent': there is no such file, so another name may do. */
static bool try_candidate(const char *path, bool *absent)
{
    const char *reason = NULL;
    void *handle = library_open(path, &reason);
    *absent = !handle && !reason;
    if (handle && use(handle, &reason))
        return true;
    error_set(JIT_ERROR_UNSUPPORTED, "libsodium cannot be used: %.200s: %.200s", path,
              reason ? reason : "there is no such file");
    if (handle)
        library_close(handle);
    return false;
}

static bool search(void)
{
    static const char *const names[] = { "libsodium.so.23", "libsodium.so.26",
                                         "libsodium.so", "libsodium.dylib" };
    const char *chosen = getenv("DRJIT_LIBSODIUM_PATH");
    bool absent = true;
    if (chosen && *chosen)
        return try_candidate(chosen, &absent);
    for (size_t i = 0; absent && i < sizeof names / sizeof *names; ++i)
        TRY(!try_candidate(names[i], &absent), true);
    return false;
}

bool seal_load(void)
{
    if (!sodium.loaded)
        sodium.loaded = search();
    return sodium.loaded;
}

void seal_new_key(uint8_t key[SEAL_KEY_SIZE])
{
    sodium.randombytes_buf(key, SEAL_KEY_SIZE);
}

void seal_compute(const uint8_t key[SEAL_KEY_SIZE], const void *first,
                  size_t first_size, const void *second, size_t second_size,
                  uint8_t code[SEAL_CODE_SIZE])
{
    HashState hash;
    sodium.crypto_generichash_init(&hash, key, SEAL_KEY_SIZE, SEAL_CODE_SIZE);
    sodium.crypto_generichash_update(&hash, first, first_size);
    sodium.crypto_generichash_update(&hash, second, second_size);
    sodium.crypto_generichash_final(&hash, code, SEAL_CODE_SIZE);
    explicit_bzero(&hash, sizeof hash);
}

bool seal_equal(const uint8_t a[SEAL_CODE_SIZE], const uint8_t b[SEAL_CODE_SIZE])
{
    return sodium.sodium_memcmp(a, b, SEAL_CODE_SIZE) == 0;
}
