/*
 * test_freeze_file.c -- recordings that are saved and loaded
 *
 * What is loaded, by the same process, by another one, or with another engine, has to
 * do what the function does, as what was saved has. What is damaged has to be an error:
 * all bits are flipped, and blocks that are damaged but have the right checksum are
 * loaded, too.
 */
#include "freeze_util.h"

#include "base/bytes.h"
#include "device/command.h"
#include "freeze/freezing_file.h"

enum { HEADER = 48, SIZE_PLACE = 24, SUM_PLACE = 40 }; /* docs/dev/freezing.md */

static const uint32_t sizes[] = { 64, 8, 2000, 200000, 1, 64, 16 };

static JitRecording *record_number(size_t f, uint32_t size)
{
    uint32_t in[INPUTS], out[MOST];
    size_t count;
    make_inputs(size, in);
    JitRecording *recording = record(functions[f].call, in, out, &count);
    drop_all(out, count);
    drop_all(in, INPUTS);
    return recording;
}

static uint8_t *save_one(JitRecording *recording, size_t *size)
{
    uint8_t *block = jit_freeze_save(1, &recording, "note", 4, size);
    OK(block);
    return block;
}

static size_t outputs_of(size_t f)
{
    uint32_t in[INPUTS], out[MOST];
    make_inputs(64, in);
    size_t count = functions[f].call(in, out);
    drop_all(out, count);
    drop_all(in, INPUTS);
    return count;
}

/* ------------------------------------------------------------ what is loaded */

static void check_loaded(size_t f, JitRecording *loaded)
{
    size_t count = outputs_of(f);
    for (size_t s = 0; s < COUNT_OF(sizes); ++s)
        check_replay(f, loaded, count, sizes[s], sizes[s] == 64);
}

static void test_functions(void **unused)
{
    (void) unused;
    JitRecording *recordings[COUNT_OF(functions)];
    for (size_t f = 0; f < COUNT_OF(functions); ++f)
        recordings[f] = record_number(f, 64);
    size_t size, count, note_size;
    const void *note;
    uint8_t *block =
        jit_freeze_save(COUNT_OF(functions), recordings, "a note", 7, &size);
    OK(block);
    OK(jit_freeze_inspect(block, size, &count, &note, &note_size));
    OK(jit_freeze_inspect(block, size, NULL, NULL, NULL));
    assert_int_equal(count, COUNT_OF(functions));
    assert_int_equal(note_size, 7);
    assert_string_equal(note, "a note");
    for (size_t f = 0; f < COUNT_OF(functions); ++f) {
        JitRecording *loaded = jit_freeze_load(CPU, block, size, f);
        if (!loaded)
            fail_msg("%s: %s", functions[f].name, jit_error_message());
        char *text = strdup(jit_freeze_str(recordings[f]));
        assert_string_equal(jit_freeze_str(loaded), text);
        free(text);
        jit_freeze_destroy(recordings[f]);
        check_loaded(f, loaded);
        size_t again_size; /* what is loaded can be saved */
        uint8_t *again = jit_freeze_save(1, &loaded, NULL, 0, &again_size);
        OK(again);
        jit_freeze_free(again);
        jit_freeze_destroy(loaded);
    }
    jit_freeze_free(block);
    jit_freeze_free(NULL);
}

/* Kernels come from the cache in memory, or, of engines that save code, from disk. */
static void test_kernels(void **unused)
{
    (void) unused;
    size_t size;
    JitRecording *recording = record_number(0, 64);
    uint8_t *block = save_one(recording, &size);
    jit_freeze_destroy(recording);
    Stats before = stats_now();
    JitRecording *loaded = jit_freeze_load(CPU, block, size, 0);
    OK(loaded);
    CHECK_STATS(before, 0, 1, 0);
    jit_freeze_destroy(loaded);
    jit_flush_kernel_cache();
    before = stats_now();
    loaded = jit_freeze_load(CPU, block, size, 0);
    OK(loaded);
    Stats after = stats_now();
    if (strcmp(getenv("DRJIT_CPU_ENGINE"), "llvm") == 0)
        assert_int_equal(after.soft - before.soft, 1);
    else
        assert_int_equal(after.hard - before.hard, 1);
    jit_freeze_destroy(record_number(0, 64));
    CHECK_STATS(after, 1, 1, 0);
    check_loaded(0, loaded);
    jit_freeze_destroy(loaded);
    jit_freeze_free(block);
}

static uint32_t scaled(uint32_t x, float factor, float offset)
{
    return take(jit_var_add, take(jit_var_mul, same(x), f32(factor)), f32(offset));
}

static void check_scaled(uint32_t x, uint32_t y, float factor, float offset)
{
    float a, b;
    OK(jit_var_read(x, 5, &a));
    OK(jit_var_read(y, 5, &b));
    assert_true(b == a * factor + offset);
}

/* A literal has become a parameter of the kernel, whose value is the recording's. The
 * kernel that is loaded serves others, too. */
static void test_general(void **unused)
{
    (void) unused;
    uint32_t in[INPUTS], out, again;
    make_inputs(64, in);
    for (int i = 1; i < 3; ++i) {
        uint32_t y = scaled(in[0], (float) i, 100);
        OK(jit_var_eval(y));
        jit_var_dec_ref(y);
    }
    OK(jit_freeze_start(CPU, INPUTS, in));
    out = scaled(in[0], 8, 100);
    JitRecording *recording = jit_freeze_stop(1, &out);
    OK(recording);
    size_t size;
    uint8_t *block = save_one(recording, &size);
    jit_freeze_destroy(recording);
    jit_flush_kernel_cache();
    recording = jit_freeze_load(CPU, block, size, 0);
    OK(recording);
    jit_freeze_free(block);
    assert_int_equal(jit_freeze_replay(recording, INPUTS, in, &again), 1);
    check_scaled(in[0], again, 8, 100);
    jit_var_dec_ref(again);
    Stats before = stats_now();
    for (int i = 3; i < 6; ++i) {
        uint32_t y = scaled(in[0], (float) i, 100);
        check_scaled(in[0], y, (float) i, 100);
        jit_var_dec_ref(y);
    }
    CHECK_STATS(before, 3, 3, 0);
    assert_int_equal(jit_freeze_replay(recording, INPUTS, in, &again), 1);
    check_scaled(in[0], again, 8, 100);
    DROP(out, again);
    drop_all(in, INPUTS);
    jit_freeze_destroy(recording);
}

/* ---------------------------------------------------------- other processes */

static char path[200];
static const char *program_name;

/* What the other process does: load all, and compare. */
static int load_file(void)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    size_t size = (size_t) ftell(file), count;
    uint8_t *block = malloc(size);
    rewind(file);
    assert_int_equal(fread(block, 1, size, file), size);
    fclose(file);
    OK(jit_init(CPU));
    OK(jit_freeze_inspect(block, size, &count, NULL, NULL));
    assert_int_equal(count, COUNT_OF(functions));
    Stats before = stats_now();
    for (size_t f = 0; f < count; ++f) {
        JitRecording *loaded = jit_freeze_load(CPU, block, size, f);
        if (!loaded)
            fail_msg("%s: %s", functions[f].name, jit_error_message());
        if (getenv("EXPECT_NO_COMPILE"))
            assert_int_equal(stats_now().hard, before.hard);
        check_loaded(f, loaded);
        before = stats_now();
        jit_freeze_destroy(loaded);
    }
    free(block);
    return jit_shutdown(0);
}

static void test_processes(void **unused)
{
    (void) unused;
    JitRecording *recordings[COUNT_OF(functions)];
    for (size_t f = 0; f < COUNT_OF(functions); ++f)
        recordings[f] = record_number(f, 64);
    size_t size;
    uint8_t *block = jit_freeze_save(COUNT_OF(functions), recordings, NULL, 0, &size);
    OK(block);
    const char *temporary = getenv("TMPDIR");
    snprintf(path, sizeof(path), "%s/drjit-freeze-XXXXXX",
             temporary ? temporary : "/tmp");
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, block, size), (ssize_t) size);
    close(file);
    const char *own = getenv("DRJIT_CPU_ENGINE");
    static const EngineCase engines[] = { { "interp", "" }, { "native", "avx2" },
                                          { "native", "" }, { "llvm", "" } };
    for (size_t e = 0; e < COUNT_OF(engines); ++e) {
        EngineCase engine = engines[e];
        engine.isa = *engine.isa ? engine.isa : NULL;
        if (engine_missing(&engine))
            continue;
        bool no_compile = !strcmp(own, "llvm") && !strcmp(engine.engine, "llvm");
        char command[600];
        snprintf(command, sizeof(command),
                 "DRJIT_CPU_ENGINE=%s %s%s %s '%s' load %s", engine.engine,
                 engine.isa ? "DRJIT_NATIVE_ISA=" : "", engine.isa ? engine.isa : "",
                 no_compile ? "EXPECT_NO_COMPILE=1" : "", program_name, path);
        if (system(command) != 0)
            fail_msg("failed: %s", command);
    }
    jit_error_clear();
    unlink(path);
    jit_freeze_free(block);
    for (size_t f = 0; f < COUNT_OF(functions); ++f)
        jit_freeze_destroy(recordings[f]);
}

/* ------------------------------------------------------------------- damage */

static void test_damage(void **unused)
{
    (void) unused;
    size_t size;
    JitRecording *recording = record_number(10, 64); /* selects */
    uint8_t *block = save_one(recording, &size);
    for (size_t bit = 0; bit < 8 * size; ++bit) {
        block[bit / 8] ^= (uint8_t) (1u << bit % 8);
        if (jit_freeze_load(CPU, block, size, 0))
            fail_msg("bit %zu was not missed", bit);
        assert_int_equal(jit_error(), JIT_ERROR_ARGUMENT);
        block[bit / 8] ^= (uint8_t) (1u << bit % 8);
    }
    for (size_t part = 0; part < size; ++part) {
        uint8_t *copy = malloc(part + 1); /* the sanitizer sees where it ends */
        memcpy(copy, block, part);
        assert_false(jit_freeze_inspect(copy, part, NULL, NULL, NULL));
        free(copy);
    }
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_inspect()", "bytes, expected",
                "damaged");
    jit_freeze_free(block);
    jit_freeze_destroy(recording);
}

/* Give a block the right size and checksum again. */
static void correct(uint8_t *block, size_t size)
{
    bytes_set(block + SIZE_PLACE, size, sizeof(uint64_t));
    bytes_set(block + SUM_PLACE, freezing_checksum(block, size), sizeof(uint64_t));
}

/* Are arrays so small that this may be repeated, if kernels do what they did? */
static bool is_small(const JitRecording *recording, uint32_t size)
{
    enum { MOST_ENTRIES = 1 << 16, MOST_BYTES = 64 };
    const Recording *r = &((const Frozen *) (const void *) recording)->recording;
    int64_t *values = calloc(r->symsizes.count + 1, sizeof(int64_t));
    int64_t inputs[INPUTS + 2] = { 0, 1, size, size, size };
    bool small = symsize_evaluate(&r->symsizes, 0, inputs, values);
    for (uint32_t i = 0; i < r->array_count; ++i)
        small = small && values[r->arrays[i].symsize] < MOST_ENTRIES &&
                r->arrays[i].entry <= MOST_BYTES;
    free(values);
    return small;
}

/* What comes out is anything, but nothing else is read or written (of which only a
 * sanitizer or valgrind knows more than whether the process goes on). */
static bool repeat(JitRecording *loaded, const uint32_t *in)
{
    const size_t count = ((Frozen *) (void *) loaded)->output_count;
    uint32_t *out = calloc(count + 1, sizeof(uint32_t));
    const int result = jit_freeze_replay(loaded, INPUTS, in, out);
    if (result > 0)
        drop_all(out, count);
    jit_sync_thread();
    jit_error_clear();
    free(out);
    return result > 0;
}

typedef struct Tried {
    size_t blocks, loaded, repeated, done;
} Tried;

/* Whatever is in a block, loading it is an error or gives something that can be shown
 * and compared with inputs. It is repeated if its kernels are those that there are, and
 * read nothing by index. */
static void try_block(const uint8_t *block, size_t size, bool safe, Tried *tried)
{
    uint32_t in[INPUTS];
    const Stats before = stats_now();
    JitRecording *loaded = jit_freeze_load(CPU, block, size, 0);
    const Stats after = stats_now();
    jit_error_clear();
    ++tried->blocks;
    if (!loaded)
        return;
    ++tried->loaded;
    make_inputs(64, in);
    OK(jit_freeze_str(loaded));
    jit_freeze_dry_run(loaded, INPUTS, in);
    jit_error_clear();
    if (safe && before.hard == after.hard && before.soft == after.soft &&
        is_small(loaded, 64)) {
        ++tried->repeated;
        tried->done += repeat(loaded, in);
    }
    drop_all(in, INPUTS);
    jit_freeze_destroy(loaded);
}

/* Neither an index that would come from other memory, nor a loop that would not end. */
static bool is_safe(Function call)
{
    static const Function safe[] = {
        arithmetic, two_kernels, sums, blocks, prefixes, selects_briefly, scans, pinned,
        vanishes, counts_along, reads, multiplies, multiplies_all, eight_blocks, pokes,
        compresses
    };
    for (size_t i = 0; i < COUNT_OF(safe); ++i)
        if (safe[i] == call)
            return true;
    return false;
}

static void test_mutations(void **unused)
{
    (void) unused;
    bool slow = strcmp(getenv("DRJIT_CPU_ENGINE"), "llvm") == 0;
    size_t rounds = slow ? 3 : 300;
    Tried tried = { 0 };
    for (size_t f = 0; f < COUNT_OF(functions); ++f) {
        size_t size;
        JitRecording *recording = record_number(f, 64);
        uint8_t *block = save_one(recording, &size);
        for (size_t i = 0; i < rounds; ++i) {
            size_t now = size;
            uint8_t *copy = malloc(size);
            memcpy(copy, block, size);
            for (uint64_t k = 0, n = 1 + random_bits() % 4; k < n; ++k) {
                size_t at = HEADER + random_bits() % (size - HEADER);
                uint64_t value = random_bits();
                if (value % 3 == 0)
                    copy[at] ^= (uint8_t) (1u << value % 8);
                else
                    copy[at] = value % 3 == 1 ? (uint8_t) (value >> 8) : 0xff;
            }
            if (i % 16 == 0)
                now = HEADER + random_bits() % (size - HEADER);
            correct(copy, now);
            try_block(copy, now, is_safe(functions[f].call), &tried);
            free(copy);
        }
        jit_freeze_free(block);
        jit_freeze_destroy(recording);
    }
    printf("%zu of %zu damaged blocks could be loaded, %zu of %zu repeated\n",
           tried.loaded, tried.blocks, tried.done, tried.repeated);
    assert_true(slow || (tried.repeated > tried.done && tried.done > 100));
}

/* Each bit of the header is looked at. */
static void test_header(void **unused)
{
    (void) unused;
    size_t size;
    JitRecording *recording = record_number(0, 64);
    uint8_t *block = save_one(recording, &size);
    jit_freeze_destroy(recording);
    for (size_t bit = 0; bit < 8 * SUM_PLACE; ++bit) {
        block[bit / 8] ^= (uint8_t) (1u << bit % 8);
        bytes_set(block + SUM_PLACE, freezing_checksum(block, size), sizeof(uint64_t));
        if (jit_freeze_load(CPU, block, size, 0))
            fail_msg("bit %zu was not missed", bit);
        assert_int_equal(jit_error(), JIT_ERROR_ARGUMENT);
        block[bit / 8] ^= (uint8_t) (1u << bit % 8);
    }
    jit_freeze_free(block);
}

/* Can it be loaded, or not even that, but not repeated? */
static bool is_refused(const uint8_t *block, size_t size)
{
    uint32_t in[INPUTS];
    make_inputs(64, in);
    JitRecording *loaded = jit_freeze_load(CPU, block, size, 0);
    bool refused = !loaded || !repeat(loaded, in);
    jit_error_clear();
    jit_freeze_destroy(loaded);
    drop_all(in, INPUTS);
    return refused;
}

/* What a launch reduces is an array with an entry for each lane, or a tile: here it is
 * made an array with one entry, the result of another reduction. */
static void test_short_source(void **unused)
{
    (void) unused;
    size_t size, changed = 0;
    JitRecording *recording = record_number(5, 64); /* sums */
    uint8_t *block = save_one(recording, &size);
    jit_freeze_destroy(recording);
    assert_false(is_refused(block, size));
    for (size_t at = HEADER; at + 2 * sizeof(FusedReduction) <= size; ++at) {
        FusedReduction fold[2];
        memcpy(fold, block + at, sizeof(fold));
        if (fold[0].block != 64 || fold[1].block != 64 || fold[0].stride != 1 ||
            fold[1].stride != 1 || fold[0].source[1] != FUSED_NONE)
            continue;
        uint32_t before = fold[0].source[0];
        fold[0].source[0] = fold[1].target;
        memcpy(block + at, fold, sizeof(fold));
        correct(block, size);
        assert_true(is_refused(block, size));
        fold[0].source[0] = before;
        memcpy(block + at, fold, sizeof(fold));
        ++changed;
    }
    assert_true(changed > 0);
    jit_freeze_free(block);
}

/* There are no dot products of integers, nor of the float that stands for any. */
static void test_dot_type(void **unused)
{
    (void) unused;
    size_t size, changed = 0;
    JitRecording *recording = record_number(5, 64); /* sums */
    uint8_t *block = save_one(recording, &size);
    jit_freeze_destroy(recording);
    for (size_t at = HEADER; at + sizeof(FusedReduction) <= size; ++at) {
        FusedReduction fold;
        memcpy(&fold, block + at, sizeof(fold));
        if (fold.block != 64 || fold.stride != 1 || fold.op != REDUCE_DOT)
            continue;
        static const uint8_t types[] = { VarTypeInt32, VarTypeBaseFloat };
        for (size_t i = 0; i < sizeof(types); ++i, ++changed) {
            fold.type = types[i];
            memcpy(block + at, &fold, sizeof(fold));
            correct(block, size);
            assert_true(is_refused(block, size));
        }
    }
    assert_int_equal(changed, 2);
    jit_freeze_free(block);
}

/* ------------------------------------------------------------------- errors */

static void test_errors(void **unused)
{
    (void) unused;
    size_t size = 0;
    uint32_t in[INPUTS], out;
    JitRecording *recording = record_number(0, 64), *none = NULL;
    assert_null(jit_freeze_save(1, NULL, NULL, 0, &size));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_save()", "recordings");
    assert_null(jit_freeze_save(1, &none, NULL, 0, &size));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_save()", "a recording");
    assert_null(jit_freeze_save(1, &recording, NULL, 3, &size));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_save()", "note");
    assert_null(jit_freeze_save(1, &recording, NULL, 0, NULL));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_save()", "size");
    assert_false(jit_freeze_inspect(NULL, 0, NULL, NULL, NULL));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_inspect()", "block");
    assert_null(jit_freeze_load(CPU, NULL, 0, 0));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_load()", "block");
    assert_null(jit_freeze_load(CPU, "no such thing", 13, 0));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_load()", "13 bytes",
                "jit_freeze_save()");
    uint8_t *block = save_one(recording, &size);
    assert_null(jit_freeze_load(CPU, block, size, 1));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_load()", "number 1", "has 1");
    assert_null(jit_freeze_load(JitBackendCUDA, block, size, 0));
    CHECK_ERROR(JIT_ERROR_UNSUPPORTED, "jit_freeze_load()");
    block[8] ^= 2; /* the version */
    correct(block, size);
    assert_null(jit_freeze_load(CPU, block, size, 0));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_load()", "another version");
    jit_freeze_free(block);
    jit_freeze_destroy(recording);

    make_inputs(64, in);
    OK(jit_freeze_start(CPU, INPUTS, in));
    out = jit_var_neg(in[0]);
    jit_registry_id_bound("llvm", "test");
    OK(recording = jit_freeze_stop(1, &out));
    assert_null(jit_freeze_save(1, &recording, NULL, 0, &size));
    CHECK_ERROR(JIT_ERROR_UNSUPPORTED, "jit_freeze_save()",
                "instances of the registry");
    jit_var_dec_ref(out);
    drop_all(in, INPUTS);
    jit_freeze_destroy(recording);
}

/* Operations that a later version appends do no harm; others do. */
static void test_tables(void **unused)
{
    (void) unused;
    enum { COUNTS = 32, PRINT = 16 };
    size_t size;
    JitRecording *recording = record_number(0, 64);
    uint8_t *block = save_one(recording, &size);
    jit_freeze_destroy(recording);
    const uint64_t counts = bytes_get(block + COUNTS, 8);
    for (unsigned shift = 0; shift <= 32; shift += 16) {
        bytes_set(block + COUNTS, counts + (1ull << shift), 8); /* of a later one */
        correct(block, size);
        assert_null(jit_freeze_load(CPU, block, size, 0));
        CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_load()", "other operations");
    }
    /* one operation fewer, as if the last one were new */
    bytes_set(block + COUNTS, counts - 1, 8);
    correct(block, size);
    assert_null(jit_freeze_load(CPU, block, size, 0));
    bytes_set(block + PRINT, freezing_fingerprint(counts - 1), 8);
    correct(block, size);
    JitRecording *loaded = jit_freeze_load(CPU, block, size, 0);
    OK(loaded);
    check_loaded(0, loaded);
    jit_freeze_destroy(loaded);
    jit_freeze_free(block);
}

/* Neither the disk cache nor its key is needed. */
static void test_without_cache(void **unused)
{
    (void) unused;
    char *before = strdup(getenv("DRJIT_CACHE_DIR"));
    size_t size;
    assert_int_equal(jit_shutdown(0), 0);
    setenv("DRJIT_CACHE_DIR", "", 1);
    OK(jit_init(CPU));
    JitRecording *recording = record_number(0, 64);
    uint8_t *block = save_one(recording, &size);
    jit_freeze_destroy(recording);
    JitRecording *loaded = jit_freeze_load(CPU, block, size, 0);
    OK(loaded);
    check_loaded(0, loaded);
    jit_freeze_destroy(loaded);
    jit_freeze_free(block);
    assert_int_equal(jit_shutdown(0), 0);
    setenv("DRJIT_CACHE_DIR", before, 1);
    OK(jit_init(CPU));
    free(before);
}

static int tests(void)
{
    const struct CMUnitTest list[] = {
        TEST(test_functions), TEST(test_kernels),
        TEST(test_general),   TEST(test_processes),
        TEST(test_damage),    TEST(test_mutations),
        TEST(test_header),    TEST(test_short_source),
        TEST(test_dot_type),
        TEST(test_errors),    TEST(test_tables),
        TEST(test_without_cache),
    };
    return cmocka_run_group_tests(list, NULL, NULL);
}

int main(int argc, char **argv)
{
    if (argc == 3) {
        snprintf(path, sizeof(path), "%s", argv[2]);
        return load_file();
    }
    program_name = argv[0];
    return run_engines_uncached(tests);
}
