/*
 * test_disk.c -- the disk cache: what it stores, and damaged files
 *
 * Whatever happens to a file, a load gives exactly what was stored or nothing. The
 * layout and the authentication code are checked against docs/dev/cache-format.md, with
 * offsets written out and libsodium's one-shot hash.
 */
#include <dlfcn.h>

#include "disk_util.h"

/* -------------------------------------------------------------- round trip, layout */

static void test_round_trip(void **state)
{
    (void) state;
    start();
    assert_string_equal(disk_dir(), dir);
    assert_null(load_text(key_a, "program"));
    store_text(key_a, "program", "machine code");
    assert_string_equal(load_text(key_a, "program"), "machine code");

    /* Other keys, engines and identities do not see it, nor do they destroy it. */
    Hash128 near = { key_a.low, key_a.high ^ 1 };
    void *data;
    size_t size;
    assert_null(load_text(near, "program"));
    assert_false(disk_load(key_a, "llvm", "program", 7, &data, &size));
    assert_null(load_text(key_a, "prograM"));
    assert_null(load_text(key_a, "program "));
    assert_null(load_text(key_a, ""));
    assert_string_equal(load_text(key_a, "program"), "machine code");

    /* It is there for the next process, and a store replaces it. */
    restart();
    assert_string_equal(load_text(key_a, "program"), "machine code");
    store_text(key_a, "program", "other");
    assert_string_equal(load_text(key_a, "program"), "other");
    store_text(key_a, "", "");
    assert_string_equal(load_text(key_a, ""), "");
    assert_null(load_text(key_a, "program"));

    /* Names that could lead out of the directory are refused. */
    disk_store(key_a, "../x", "p", 1, "c", 1);
    disk_store(key_a, "", "p", 1, "c", 1);
    assert_false(disk_load(key_a, "../x", "p", 1, &data, &size));
    assert_int_equal(error_code(), JIT_OK);
}

static void test_large(void **state)
{
    (void) state;
    start();
    size_t size = 3000000, found;
    uint8_t *code = malloc(size), *identity = malloc(size);
    for (size_t i = 0; i < size; ++i) {
        code[i] = (uint8_t) (i * 37 >> 3);
        identity[i] = (uint8_t) (i * 91 >> 5);
    }
    void *data;
    disk_store(key_a, "llvm", identity, size, code, size);
    assert_true(disk_load(key_a, "llvm", identity, size, &data, &found));
    assert_int_equal(found, size);
    assert_memory_equal(data, code, size);
    alloc_free(data);
    identity[size - 1] ^= 1;
    assert_false(disk_load(key_a, "llvm", identity, size, &data, &found));
    free(code);
    free(identity);
}

static uint64_t little_endian(const uint8_t *p, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; --i)
        value = value << 8 | p[i];
    return value;
}

/* libsodium's own, which the library has loaded by now. */
static int one_shot_hash(uint8_t *out, size_t out_size, const uint8_t *data,
                         unsigned long long size, const uint8_t *key, size_t key_size)
{
    static const char *const names[] = { "libsodium.so.23", "libsodium.so.26",
                                         "libsodium.so" };
    void *handle = NULL, *symbol;
    const char *chosen = getenv("DRJIT_LIBSODIUM_PATH");
    if (chosen && *chosen)
        handle = dlopen(chosen, RTLD_LAZY);
    for (size_t i = 0; !handle && i < sizeof names / sizeof *names; ++i)
        handle = dlopen(names[i], RTLD_LAZY);
    assert_non_null(handle);
    int (*hash)(uint8_t *, size_t, const uint8_t *, unsigned long long, const uint8_t *,
                size_t);
    symbol = dlsym(handle, "crypto_generichash");
    assert_non_null(symbol);
    memcpy(&hash, &symbol, sizeof hash);
    int result = hash(out, out_size, data, size, key, key_size);
    dlclose(handle);
    return result;
}

static void test_layout(void **state)
{
    (void) state;
    start();
    store_text(key_a, "program", "machine code");
    uint8_t file[300], key[40], body[300], mac[32];
    size_t size = read_file(in_dir(name_a), file, sizeof file);
    assert_int_equal(size, 88 + 6 + 7 + 12);
    assert_memory_equal(file, "djc-code", 8);
    assert_int_equal(little_endian(file + 8, 4), 1);
    assert_int_equal(little_endian(file + 16, 4), 6);
    assert_int_equal(little_endian(file + 20, 4), 0);
    assert_true(little_endian(file + 24, 8) == key_a.low);
    assert_true(little_endian(file + 32, 8) == key_a.high);
    assert_int_equal(little_endian(file + 40, 8), 7);
    assert_int_equal(little_endian(file + 48, 8), 12);
    assert_memory_equal(file + 88, "interpprogrammachine code", 25);

    assert_int_equal(read_file(in_dir("key"), key, sizeof key), 32);
    memcpy(body, file, 56);
    memcpy(body + 56, file + 88, size - 88);
    assert_int_equal(one_shot_hash(mac, 32, body, size - 32, key, 32), 0);
    assert_memory_equal(file + 56, mac, 32);

    struct stat info;
    assert_int_equal(stat(dir, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0700);
    assert_int_equal(stat(in_dir("key"), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    assert_int_equal(stat(in_dir(name_a), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
}

/* ------------------------------------------------------------------------- damage */

static void test_truncated(void **state)
{
    (void) state;
    start();
    store_text(key_a, "program", "machine code");
    uint8_t file[300];
    size_t size = read_file(in_dir(name_a), file, sizeof file - 1);
    for (size_t n = 0; n <= size + 1; ++n) {
        file[size] = 0;
        write_file(in_dir(name_a), file, n, 0600);
        const char *code = load_text(key_a, "program");
        if (n == size)
            assert_string_equal(code, "machine code");
        else
            assert_null(code);
        assert_int_equal(exists(in_dir(name_a)), n == size);
    }
}

static void test_flipped(void **state)
{
    (void) state;
    start();
    store_text(key_a, "program", "machine code");
    uint8_t file[300];
    size_t size = read_file(in_dir(name_a), file, sizeof file);
    for (size_t i = 0; i < size; ++i) {
        for (int bit = 0; bit <= 8; ++bit) {
            uint8_t change = bit == 8 ? 0xff : (uint8_t) (1 << bit);
            file[i] ^= change;
            write_file(in_dir(name_a), file, size, 0600);
            assert_null(load_text(key_a, "program"));
            assert_false(exists(in_dir(name_a)));
            file[i] ^= change;
        }
    }
    write_file(in_dir(name_a), file, size, 0600);
    assert_string_equal(load_text(key_a, "program"), "machine code");

    /* A genuine entry under the name of another one. */
    Hash128 other = { 1, 2 };
    const char *name = in_dir("00000000000000020000000000000001.interp.bin");
    write_file(name, file, size, 0600);
    assert_null(load_text(other, "program"));
    name = in_dir("00000000000000020000000000000001.interp.bin");
    assert_false(exists(name));
}

/* A signed header whose lengths do not fit is refused too: the sizes are not believed
 * just because somebody with the key wrote them. */
static void test_lengths(void **state)
{
    (void) state;
    start();
    store_text(key_a, "program", "machine code");
    uint8_t file[300], key[40], body[300];
    size_t size = read_file(in_dir(name_a), file, sizeof file);
    read_file(in_dir("key"), key, sizeof key);
    static const struct { size_t at; uint64_t value; int bytes; } cases[] = {
        { 8, 2, 4 }, { 12, 77, 4 }, { 16, 0, 4 }, { 16, UINT32_MAX, 4 }, { 16, 5, 4 },
        { 20, 1, 4 }, { 40, UINT64_MAX, 8 }, { 40, 8, 8 }, { 40, UINT64_MAX - 6, 8 },
        { 48, 0, 8 }, { 48, UINT64_MAX, 8 }, { 48, 13, 8 }, { 0, 0, 8 }, { 24, 0, 8 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        uint8_t forged[300];
        memcpy(forged, file, size);
        for (int k = 0; k < cases[i].bytes; ++k)
            forged[cases[i].at + k] = (uint8_t) (cases[i].value >> 8 * k);
        memcpy(body, forged, 56);
        memcpy(body + 56, forged + 88, size - 88);
        one_shot_hash(forged + 56, 32, body, size - 32, key, 32);
        write_file(in_dir(name_a), forged, size, 0600);
        assert_null(load_text(key_a, "program"));
        assert_false(exists(in_dir(name_a)));
    }
}

/* ---------------------------------------------------------------------------- key */

static void test_foreign_key(void **state)
{
    (void) state;
    start();
    store_text(key_a, "program", "machine code");
    uint8_t foreign[32];
    memset(foreign, 5, sizeof foreign);
    write_file(in_dir("key"), foreign, sizeof foreign, 0600);
    restart();
    assert_null(load_text(key_a, "program"));
    assert_false(exists(in_dir(name_a)));
    store_text(key_a, "program", "machine code");
    assert_string_equal(load_text(key_a, "program"), "machine code");
}

/* A damaged key is replaced, with a log line; what it protected is dropped. */
static void test_damaged_key(void **state)
{
    (void) state;
    uint8_t bytes[64], key[64];
    memset(bytes, 9, sizeof bytes);
    for (int i = 0; i < 5; ++i) {
        start();
        store_text(key_a, "program", "machine code");
        disk_shutdown();
        char other[300];
        snprintf(other, sizeof other, "%s/other", root);
        if (i == 0)
            write_file(in_dir("key"), bytes, 31, 0600);
        else if (i == 1)
            write_file(in_dir("key"), bytes, 33, 0600);
        else if (i == 2)
            write_file(in_dir("key"), bytes, 32, 0644);
        else if (i == 3)
            write_file(in_dir("key"), bytes, 0, 0600);
        else {
            write_file(other, bytes, 32, 0600);
            unlink(in_dir("key"));
            assert_int_equal(symlink(other, in_dir("key")), 0);
        }
        start();
        assert_string_equal(disk_dir(), dir);
        assert_non_null(strstr(logged, "replacing the key"));
        assert_null(load_text(key_a, "program"));
        struct stat info;
        assert_int_equal(lstat(in_dir("key"), &info), 0);
        assert_true(S_ISREG(info.st_mode));
        assert_int_equal(info.st_mode & 07777, 0600);
        assert_int_equal(read_file(in_dir("key"), key, sizeof key), 32);
        assert_memory_not_equal(key, bytes, 32);
        if (i == 4) {
            assert_int_equal(read_file(other, key, sizeof key), 32);
            assert_memory_equal(key, bytes, 32);
        }
        disk_shutdown();
    }
    /* A folder cannot be replaced: off. */
    unlink(in_dir("key"));
    assert_int_equal(mkdir(in_dir("key"), 0700), 0);
    start();
    assert_string_equal(disk_dir(), "");
    assert_non_null(strstr(logged, "disk cache: off"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_round_trip), TEST(test_large), TEST(test_layout),
        TEST(test_truncated), TEST(test_flipped), TEST(test_lengths),
        TEST(test_foreign_key), TEST(test_damaged_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
