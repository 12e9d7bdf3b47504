/*
 * test_freeze.c -- functions that are recorded and repeated
 *
 * The reference is the function itself, called with the same inputs: repeating it has
 * to give the same bits for all sizes, or has to be refused, never something else. The
 * table of functions says for which a recording serves all sizes.
 */
#include "freeze_util.h"

#include <pthread.h>

#include "device/cpu/cpu_device.h"
#include "thread_util.h"

static void test_functions(void **unused)
{
    (void) unused;
    static const uint32_t sizes[] = { 64, 8, 64, 2000, 200000, 1, 7, 64, 16 };
    for (size_t f = 0; f < COUNT_OF(functions); ++f) {
        uint32_t in[INPUTS], out[MOST], expected[MOST];
        size_t count;
        make_inputs(64, in);
        JitRecording *recording = record(functions[f].call, in, out, &count);
        functions[f].call(in, expected);
        for (size_t i = 0; i < count; ++i)
            compare(out[i], expected[i], functions[f].name, i, 64);
        drop_all(out, count);
        drop_all(expected, count);
        drop_all(in, INPUTS);
        for (size_t s = 0; s < COUNT_OF(sizes); ++s)
            check_replay(f, recording, count, sizes[s], sizes[s] == 64);
        jit_freeze_destroy(recording);
    }
}

/* The only entry of the history since the last call, which the caller releases. */
static KernelHistoryEntry *take_entry(KernelRecordingMode mode)
{
    KernelHistoryEntry *e;
    assert_int_equal(jit_kernel_history(&e), 1);
    assert_int_equal(e->recording_mode, mode);
    return e;
}

/* The history says the same of a repeated launch as of one that was traced. */
static void test_history(void **unused)
{
    (void) unused;
    enum { SIZE = 1000 };
    uint32_t in[INPUTS], out[MOST];
    size_t count;
    make_inputs(SIZE, in);
    jit_kernel_history_clear();
    jit_set_flag(JitFlagKernelHistory, 1);
    JitRecording *recording = record(arithmetic, in, out, &count);
    KernelHistoryEntry *made = take_entry(KernelRecordingModeRecorded);
    drop_all(out, count);
    assert_int_equal(jit_freeze_replay(recording, INPUTS, in, out), 1);
    KernelHistoryEntry *e = take_entry(KernelRecordingModeReplayed);
    assert_int_equal(e->type, KernelTypeJIT);
    assert_memory_equal(e->hash, made->hash, sizeof(e->hash));
    assert_string_equal(e->engine, made->engine);
    assert_string_equal(e->ir, made->ir);
    assert_int_equal(e->operation_count, made->operation_count);
    assert_int_equal(e->input_count, made->input_count);
    assert_int_equal(e->output_count, made->output_count);
    assert_int_equal(e->bytes_read, made->bytes_read);
    assert_int_equal(e->bytes_written, made->bytes_written);
    assert_int_equal(e->flops, made->flops);
    assert_int_equal(e->flops, 3 * SIZE);
    assert_true(e->cache_hit && e->codegen_time == 0 && e->backend_time == 0);
    jit_kernel_history_release(e, 1);
    jit_kernel_history_release(made, 1);
    drop_all(out, count);
    uint32_t squares = jit_var_mul(in[0], in[0]);
    OK(jit_var_eval(squares));
    jit_kernel_history_release(take_entry(KernelRecordingModeInactive), 1);
    jit_set_flag(JitFlagKernelHistory, 0);
    jit_var_dec_ref(squares);
    drop_all(in, INPUTS);
    jit_freeze_destroy(recording);
}

/* What a print has reported, in all of its launches. */
typedef struct Heard {
    uint32_t calls, goodbyes;
    size_t count, lost;
    uint64_t sum;
} Heard;

static void hear(const JitPrintRecords *records, void *payload)
{
    Heard *heard = payload;
    heard->goodbyes += !records;
    heard->calls += records != NULL;
    heard->count += records ? records->count : 0;
    heard->lost += records ? records->lost : 0;
    for (size_t i = 0; records && i < records->count; ++i)
        heard->sum += records->values[i] + records->lanes[i];
}

/* Each time that it is repeated, a launch prints to whom it has printed before, with
 * the same limit; who prints hears the last of it when the recording is released. */
static void test_prints(void **unused)
{
    (void) unused;
    enum { LIMIT = 5 };
    static const uint32_t sizes[] = { 64, 7, 2000, 64 };
    uint32_t in[INPUTS], out;
    Heard heard = { 0 };
    make_inputs(64, in);
    OK(jit_freeze_start(CPU, INPUTS, in));
    OK(jit_var_print(ALWAYS, 1, &in[2], LIMIT, hear, &heard));
    out = jit_var_neg(in[0]);
    JitRecording *recording = jit_freeze_stop(1, &out);
    OK(recording);
    DROP(out);
    drop_all(in, INPUTS);
    jit_sync_thread();
    assert_int_equal(heard.calls, 1);
    for (size_t k = 0; k < COUNT_OF(sizes); ++k) {
        uint32_t *index = malloc(sizes[k] * sizeof(uint32_t));
        uint64_t sum = 0;
        for (uint32_t i = 0; i < sizes[k]; ++i) {
            index[i] = 3 * i + (uint32_t) k;
            sum += i < LIMIT ? index[i] + i : 0;
        }
        make_inputs(sizes[k], in);
        advance(&in[2], u32_array(sizes[k], index));
        heard = (Heard) { 0 };
        assert_int_equal(jit_freeze_replay(recording, INPUTS, in, &out), 1);
        jit_sync_thread();
        assert_int_equal(heard.calls, 1);
        assert_int_equal(heard.count, LIMIT);
        assert_int_equal(heard.lost, sizes[k] - LIMIT);
        assert_int_equal(heard.sum, sum);
        DROP(out);
        drop_all(in, INPUTS);
        free(index);
    }
    assert_int_equal(heard.goodbyes, 0);
    jit_freeze_destroy(recording);
    assert_int_equal(heard.goodbyes, 1);
}

/* Debug mode checks positions against the arrays of the day. */
static void test_checks(void **unused)
{
    (void) unused;
    uint32_t in[INPUTS], out;
    jit_set_flag(JitFlagDebug, 1);
    jit_set_log_level_callback(LogLevelWarn, log_keep);
    make_inputs(64, in);
    OK(jit_freeze_start(CPU, INPUTS, in));
    jit_set_source_location("scene.c", 41);
    uint32_t one = jit_var_u32(CPU, 1), next = jit_var_add(in[2], one);
    out = jit_var_gather(in[0], next, ALWAYS);
    JitRecording *recording = jit_freeze_stop(1, &out);
    OK(recording);
    DROP(next, out);
    drop_all(in, INPUTS);
    jit_sync_thread();
    assert_int_equal(log_count("position 64 in an array of size 64"), 1);
    log_clear();
    jit_set_source_location("other.c", 1);
    make_inputs(1000, in);
    assert_int_equal(jit_freeze_replay(recording, INPUTS, in, &out), 1);
    jit_sync_thread();
    assert_int_equal(log_count("out-of-bounds"), 1);
    assert_int_equal(log_count("position 1000 in an array of size 1000"), 1);
    assert_int_equal(log_count("scene.c:41"), 1);
    log_clear();
    jit_set_log_level_callback(LogLevelDisable, NULL);
    jit_set_source_location(NULL, 0);
    jit_set_flag(JitFlagDebug, 0);
    DROP(out, one);
    drop_all(in, INPUTS);
    jit_freeze_destroy(recording);
}

/* Reading, arrays of others, and calls in the wrong place are errors, after which the
 * library goes on as before. */
static void test_errors(void **unused)
{
    (void) unused;
    uint32_t in[INPUTS], one, two[2];
    make_inputs(64, in);
    uint32_t other = fill_u32(64, 3), unevaluated = jit_var_neg(in[0]);
    assert_null(jit_freeze_stop(0, NULL));
    CHECK_ERROR(JIT_ERROR_STATE, "jit_freeze_stop()", "not recording");
    assert_false(jit_freeze_pause());
    CHECK_ERROR(JIT_ERROR_STATE, "jit_freeze_pause()");
    assert_int_equal(jit_freeze_size(in[0]), 0);
    CHECK_ERROR(JIT_ERROR_STATE, "jit_freeze_size()");
    assert_false(jit_freeze_bind());
    CHECK_ERROR(JIT_ERROR_STATE, "jit_freeze_bind()", "not recording");
    assert_false(jit_freeze_set_general(true));
    CHECK_ERROR(JIT_ERROR_STATE, "jit_freeze_set_general()", "not recording");
    assert_false(jit_freeze_is_general());
    assert_false(jit_freeze_start(CPU, 1, &unevaluated));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_start()", "input 0", "neither");
    OK(jit_freeze_start(CPU, INPUTS, in));
    assert_false(jit_freeze_start(CPU, INPUTS, in));
    CHECK_ERROR(JIT_ERROR_STATE, "jit_freeze_start()", "already");
    float value;
    assert_false(jit_var_read(in[0], 0, &value));
    CHECK_ERROR(JIT_ERROR_STATE, "jit_var_read()", "frozen function");
    one = jit_var_add(in[2], other);
    assert_null(jit_freeze_stop(1, &one));
    CHECK_ERROR(JIT_ERROR_UNSUPPORTED, "not one of its inputs", "uint32, 64 entries");
    uint32_t expected = jit_var_add(in[2], other);
    compare(one, expected, "an array of others", 0, 64);
    jit_var_dec_ref(expected);
    assert_null(jit_freeze_stop(0, NULL));
    CHECK_ERROR(JIT_ERROR_STATE, "not recording");
    OK(jit_var_read(in[0], 0, &value));
    OK(jit_freeze_start(CPU, INPUTS, in));
    two[0] = two[1] = jit_var_neg(in[0]);
    JitRecording *recording = jit_freeze_stop(2, two);
    OK(recording);
    jit_var_dec_ref(two[0]);
    assert_int_equal(jit_freeze_replay(recording, 2, in, two), -1);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_replay()", "2 inputs, expected 3");
    const uint32_t swapped[] = { in[2], in[1], in[0] };
    assert_int_equal(jit_freeze_replay(recording, INPUTS, swapped, two), 0);
    assert_int_equal(jit_freeze_replay(recording, INPUTS, in, two), 1);
    assert_int_equal(two[0], two[1]);
    DROP(two[0], two[1], one, other, unevaluated);
    drop_all(in, INPUTS);
    jit_freeze_destroy(recording);
    jit_freeze_destroy(NULL);
}

/* What the host reads, of an input and of a result, has to be the same, whatever else
 * is in the arrays and how large they are. */
static void test_reads(void **unused)
{
    (void) unused;
    enum { ENTRY = 3, SIZE = 5 };
    static const struct {
        float entry, other;
        uint32_t size;
        int fits;
    } cases[] = { { 1, 2, SIZE, 1 }, { 1, 3, SIZE, 1 }, { 2, 2, SIZE, 0 },
                  { 1, 2, 1000, 1 }, { 1, 2, 4, 1 },    { 1, 2, 3, 0 } };
    float x[1000], value;
    uint32_t in, out, twice;
    for (uint32_t on_result = 0; on_result < 2; ++on_result) {
        JitRecording *recording = NULL;
        for (size_t c = 0; c < COUNT_OF(cases); ++c) {
            for (uint32_t i = 0; i < cases[c].size; ++i)
                x[i] = i == ENTRY ? cases[c].entry : cases[c].other;
            in = array_of(VarTypeFloat32, x, cases[c].size);
            if (!c) {
                OK(jit_freeze_start(CPU, 1, &in));
                assert_int_equal(jit_freeze_allow_reads(1), 0);
                assert_int_equal(jit_freeze_allow_reads(1), 1);
                twice = jit_var_add(in, in);
                OK(jit_var_read(on_result ? twice : in, ENTRY, &value));
                assert_true(value == (on_result ? 2 : 1));
                out = jit_var_neg(twice);
                recording = jit_freeze_stop(1, &out);
                OK(recording);
                DROP(twice, out);
            }
            const char *text = jit_freeze_str(recording);
            assert_non_null(strstr(text, on_result ? "a1[3] after command 1"
                                                   : "i0[3] after command 0"));
            assert_int_equal(jit_freeze_replay(recording, 1, &in, &out),
                             cases[c].fits);
            if (cases[c].fits) {
                float last;
                OK(jit_var_read(out, cases[c].size - 1, &last));
                assert_true(last == -2 * x[cases[c].size - 1]);
                DROP(out);
            } else if (cases[c].size > ENTRY) {
                assert_non_null(strstr(jit_freeze_str(recording),
                                       "not met the last time"));
            }
            DROP(in);
        }
        jit_freeze_destroy(recording);
    }
    assert_int_equal(jit_freeze_allow_reads(1), 0); /* nothing is being recorded */
    assert_int_equal(jit_freeze_allow_reads(0), 0);
}

/* All of an array: its size, too. */
static void test_reads_of_all(void **unused)
{
    (void) unused;
    uint32_t in = u32_array(3, (uint32_t[]){ 1, 2, 3 }), out, other, longer;
    void *data;
    OK(jit_freeze_start(CPU, 1, &in));
    jit_freeze_allow_reads(1);
    uint32_t stored = jit_var_data(in, &data);
    OK(stored);
    out = jit_var_add(in, in);
    JitRecording *recording = jit_freeze_stop(1, &out);
    OK(recording);
    DROP(stored, out);
    other = u32_array(3, (uint32_t[]){ 1, 2, 4 });
    longer = u32_array(4, (uint32_t[]){ 1, 2, 3, 4 });
    assert_int_equal(jit_freeze_replay(recording, 1, &other, &out), 0);
    assert_int_equal(jit_freeze_replay(recording, 1, &longer, &out), 0);
    assert_int_equal(jit_freeze_replay(recording, 1, &in, &out), 1);
    CHECK_U32(out, 2, 4, 6);
    DROP(in, out, other, longer);
    jit_freeze_destroy(recording);
}

/* A loop that is run at once has as many iterations as it needs, at least one. */
static void test_evaluated_loops(void **unused)
{
    (void) unused;
    static const struct {
        float first;
        uint32_t size;
        int fits;
    } cases[] = { { 100, 8, 1 }, { 3, 8, 1 },    { 1e30f, 8, 1 },
                  { 7, 1000, 1 }, { 0.5f, 8, 0 }, { 2, 64, 1 } };
    float x[1000];
    JitRecording *recording = NULL;
    for (size_t c = 0; c < COUNT_OF(cases); ++c) {
        for (uint32_t i = 0; i < cases[c].size; ++i)
            x[i] = i ? 1 / (float) i : cases[c].first;
        uint32_t in = array_of(VarTypeFloat32, x, cases[c].size), out[2], expected[2];
        if (!c) {
            OK(jit_freeze_start(CPU, 1, &in));
            loops_at_once(&in, out);
            recording = jit_freeze_stop(2, out);
            OK(recording);
            DROP(out[0], out[1]);
            assert_non_null(strstr(jit_freeze_str(recording), "again while"));
        }
        assert_int_equal(jit_freeze_replay(recording, 1, &in, out), cases[c].fits);
        if (cases[c].fits) {
            loops_at_once(&in, expected);
            compare(out[0], expected[0], "loop", 0, cases[c].size);
            compare(out[1], expected[1], "loop", 1, cases[c].size);
            DROP(out[0], out[1], expected[0], expected[1]);
        }
        DROP(in);
    }
    jit_freeze_destroy(recording);
}

/* Objects of a domain that was looked at must not come or go, those of others may. */
static void test_registry(void **unused)
{
    (void) unused;
    uint32_t in = u32_array(2, (uint32_t[]){ 1, 2 }), out;
    int objects[4];
    OK(jit_registry_put("llvm", "Shape", &objects[0]));
    OK(jit_freeze_start(CPU, 1, &in));
    assert_int_equal(jit_registry_id_bound("llvm", "Shape"), 1);
    out = jit_var_add(in, in);
    JitRecording *recording = jit_freeze_stop(1, &out);
    OK(recording);
    DROP(out);
    OK(jit_registry_put("llvm", "Other", &objects[1]));
    assert_int_equal(jit_freeze_replay(recording, 1, &in, &out), 1);
    DROP(out);
    OK(jit_registry_put("llvm", "Shape", &objects[2]));
    assert_int_equal(jit_freeze_replay(recording, 1, &in, &out), 0);
    OK(jit_registry_remove(&objects[2]));
    assert_int_equal(jit_freeze_replay(recording, 1, &in, &out), 0);
    jit_registry_clear();
    DROP(in);
    jit_freeze_destroy(recording);
}

/* What is done in a pause is left out; a recording that is given up leaves nothing. */
static void test_pause_and_abort(void **unused)
{
    (void) unused;
    uint32_t in[INPUTS], out;
    make_inputs(64, in);
    OK(jit_freeze_start(CPU, INPUTS, in));
    OK(jit_freeze_pause());
    uint32_t aside = take(jit_var_add, same(in[0]), f32(5));
    float value;
    OK(jit_var_read(aside, 0, &value));
    OK(jit_freeze_resume());
    out = jit_var_neg(in[0]);
    JitRecording *recording = jit_freeze_stop(1, &out);
    OK(recording);
    assert_int_equal(count_text(jit_freeze_str(recording), "launch"), 1);
    jit_var_dec_ref(out);
    jit_freeze_destroy(recording);
    OK(jit_freeze_start(CPU, INPUTS, in));
    out = jit_var_neg(in[0]);
    OK(jit_var_eval(out));
    jit_freeze_abort();
    jit_freeze_abort();
    assert_false(jit_flag(JitFlagFreezingScope));
    DROP(aside, out);
    drop_all(in, INPUTS);
}

static void *record_and_end(void *inputs)
{
    uint32_t out;
    OK(jit_freeze_start(CPU, INPUTS, inputs));
    out = jit_var_neg(*(uint32_t *) inputs);
    OK(jit_var_eval(out));
    jit_var_dec_ref(out);
    return NULL;
}

/* A thread that ends, and a shutdown, give up what is being recorded. */
static void test_ends(void **unused)
{
    (void) unused;
    uint32_t in[INPUTS];
    pthread_t thread;
    make_inputs(64, in);
    assert_int_equal(pthread_create(&thread, NULL, record_and_end, in), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    record_and_end(in);
    drop_all(in, INPUTS);
    assert_int_equal(jit_shutdown(0), 0);
    OK(jit_init(CPU));
    assert_null(jit_freeze_stop(0, NULL));
    CHECK_ERROR(JIT_ERROR_STATE, "not recording");
}

/* Sizes are terms, equal ones are one, and what is tested becomes a guard. */
static void test_sizes(void **unused)
{
    (void) unused;
    uint32_t in[INPUTS], out;
    make_inputs(64, in);
    OK(jit_freeze_start(CPU, INPUTS, in));
    JitSize w = jit_freeze_size(in[0]), three = jit_freeze_size_constant(3);
    OK(w && three);
    assert_true(w == jit_freeze_size(in[2]));
    JitSize product = jit_freeze_size_op(JitSizeMul, w, three);
    JitSize rest = jit_freeze_size_op(JitSizeMod, product, jit_freeze_size_constant(5));
    assert_int_equal(jit_freeze_size_value(product), 192);
    assert_int_equal(jit_freeze_size_value(rest), 2);
    assert_int_equal(jit_freeze_size_test(JitSizeEqual, rest, three), 0);
    assert_int_equal(jit_freeze_size_test(JitSizeLess, rest, three), 1);
    assert_int_equal(jit_freeze_size_op(JitSizeDiv, w, jit_freeze_size_constant(0)), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "64 and 0");
    assert_false(jit_freeze_size_like(0));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "r0 is not a variable");
    assert_int_equal(jit_freeze_size_value(12345), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "not a size of this recording");
    OK(jit_freeze_size_next(product));
    out = jit_var_counter(CPU, 192);
    JitRecording *recording = jit_freeze_stop(1, &out);
    OK(recording);
    jit_var_dec_ref(out);
    drop_all(in, INPUTS);
    static const struct {
        uint32_t size;
        int fits;
    } cases[] = { { 64, 1 }, { 65, 1 }, { 66, 0 }, { 69, 1 }, { 2, 1 }, { 3, 0 } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint32_t size = cases[i].size, rest_now = size * 3 % 5;
        make_inputs(size, in);
        int fits = rest_now < 3;
        assert_int_equal(fits, cases[i].fits);
        assert_int_equal(jit_freeze_replay(recording, INPUTS, in, &out), fits);
        if (fits) {
            assert_int_equal(jit_var_size(out), 3 * size);
            jit_var_dec_ref(out);
        }
        drop_all(in, INPUTS);
    }
    jit_freeze_destroy(recording);
}

/* Repeating takes the memory that the function needs: here, of the array between the
 * two kernels, of tiles for it (a quarter of it at most), and of the result. */
static void test_memory(void **unused)
{
    (void) unused;
    enum { SIZE = 1 << 20 };
    uint32_t in[INPUTS], out[MOST];
    size_t count;
    make_inputs(SIZE, in);
    JitRecording *recording = record(two_kernels, in, out, &count);
    drop_all(out, count);
    jit_sync_thread();
    jit_malloc_clear_statistics();
    assert_int_equal(jit_freeze_replay(recording, INPUTS, in, out), 1);
    jit_sync_thread();
    const size_t bytes = jit_malloc_watermark(CPU);
    const size_t array = SIZE * sizeof(float), more = 65536; /* commands need a bit */
    if (bytes > (INPUTS + 2) * array + array / 4 + more)
        fail_msg("%zu bytes", bytes);
    drop_all(out, count);
    drop_all(in, INPUTS);
    jit_freeze_destroy(recording);
}

/* More arrays than are asked for at once. */
enum { MANY = 2 * BUFFER_BATCH + 3 };

/* x i + 3, where 3 is a constant of the recording. */
static JitRecording *record_many(uint32_t x, uint32_t *out)
{
    OK(jit_freeze_start(CPU, 1, &x));
    const float three = 3;
    uint32_t constant = array_of(VarTypeFloat32, &three, 1);
    for (uint32_t i = 0; i < MANY; ++i) {
        out[i] = take(jit_var_add, take(jit_var_mul, same(x), f32((float) i)),
                      same(constant));
        OK(jit_var_schedule(out[i]));
    }
    jit_var_dec_ref(constant);
    JitRecording *recording = jit_freeze_stop(MANY, out);
    OK(recording);
    return recording;
}

/* Small numbers: 0, 1, ... */
static uint32_t count_to(uint32_t size)
{
    uint32_t counter = jit_var_counter(CPU, size);
    uint32_t result = jit_var_cast(counter, VarTypeFloat32, 0);
    jit_var_dec_ref(counter);
    (void) jit_var_eval(result); /* unless another thread has: the variable is shared */
    EXPECT(result && *jit_error_message() == 0);
    return result;
}

/* Are these what a repetition for count_to(size) gives? They are released. */
static void expect_many(const uint32_t *out, uint32_t size)
{
    for (uint32_t i = 0; i < MANY; ++i) {
        const uint32_t entry = (7 * i + 1) % size;
        float value = 0;
        EXPECT(jit_var_size(out[i]) == size);
        EXPECT(jit_var_read(out[i], entry, &value));
        EXPECT(value == (float) (entry * i + 3));
        jit_var_dec_ref(out[i]);
    }
}

static void *repeat_many(void *recording)
{
    uint32_t out[MANY];
    for (uint32_t size = 5; size < 5000; size += size / 3) {
        uint32_t x = count_to(size);
        EXPECT(jit_freeze_replay(recording, 1, &x, out) == 1);
        jit_var_dec_ref(x); /* while it is read, perhaps */
        expect_many(out, size);
    }
    return NULL;
}

/* Several threads repeat a recording at once; it may go before its commands end. */
static void test_many_arrays(void **unused)
{
    (void) unused;
    enum { THREADS = 3, LARGE = 100000 };
    pthread_t threads[THREADS];
    uint32_t out[MANY], x = count_to(64);
    JitRecording *recording = record_many(x, out);
    expect_many(out, 64);
    jit_var_dec_ref(x);
    for (uint32_t i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, repeat_many, recording), 0);
    for (uint32_t i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    x = count_to(LARGE);
    assert_int_equal(jit_freeze_replay(recording, 1, &x, out), 1);
    jit_freeze_destroy(recording);
    jit_var_dec_ref(x);
    expect_many(out, LARGE);
    assert_int_equal(faults, 0);
}

/* An array without a content that a command reads twice is one array. */
static void test_read_twice(void **unused)
{
    (void) unused;
    uint32_t in[INPUTS], out[2];
    make_inputs(64, in);
    OK(jit_freeze_start(CPU, INPUTS, in));
    OK(jit_freeze_size_like(in[0]));
    uint32_t empty = jit_var_undefined(CPU, VarTypeFloat32, 64);
    OK(jit_var_eval(empty));
    out[0] = jit_var_reduce_dot(empty, empty);
    OK(jit_var_eval(out[0]));
    JitRecording *recording = jit_freeze_stop(1, out);
    OK(recording);
    assert_non_null(strstr(jit_freeze_str(recording), "[r a3, r a3, w a4]"));
    const uint32_t live = buffer_stats(cpu_device()).live;
    assert_int_equal(jit_freeze_replay(recording, INPUTS, in, out + 1), 1);
    jit_sync_thread();
    assert_int_equal(buffer_stats(cpu_device()).live, live + 1);
    drop_all(out, 2);
    jit_var_dec_ref(empty);
    drop_all(in, INPUTS);
    jit_freeze_destroy(recording);
}

/* Numbers that are said to be sizes, and are none, or others, are taken for numbers. */
static void test_wrong_sizes(void **unused)
{
    (void) unused;
    for (int way = 0; way < 4; ++way) {
        uint32_t in[INPUTS], others[INPUTS], out, again = 0;
        make_inputs(64, in);
        make_inputs(128, others);
        OK(jit_freeze_start(CPU, INPUTS, in));
        JitSize all = jit_freeze_size(in[0]);
        JitSize sizes[5] = { 0, 0, way == 0 ? all + (1ull << 32) : way == 1 ? all : 7 };
        JitGemm shape = { .m = 1, .n = 1, .k = 32, .sizes = sizes };
        if (way == 3)
            OK(jit_freeze_size_next(all));
        out = way == 3 ? jit_var_block_reduce(ReduceOpAdd, in[0], 8)
                       : jit_var_batched_gemm(in[0], in[1], &shape);
        OK(out);
        JitRecording *recording = jit_freeze_stop(1, &out);
        OK(recording);
        int done = jit_freeze_replay(recording, INPUTS, others, &again);
        assert_int_equal(done, way == 3); /* blocks of eight, whatever the size */
        jit_var_dec_ref(again);
        assert_int_equal(jit_freeze_replay(recording, INPUTS, in, &again), 1);
        compare(again, out, "wrong sizes", 0, 64);
        DROP(out, again);
        drop_all(in, INPUTS);
        drop_all(others, INPUTS);
        jit_freeze_destroy(recording);
    }
}

/* What kernels read of sizes beyond 32 bits; and a product that is the size of an array
 * has to stay within these. */
static void test_wide_sizes(void **unused)
{
    (void) unused;
    uint32_t in[INPUTS], out[2];
    make_inputs(1000, in);
    OK(jit_freeze_start(CPU, INPUTS, in));
    JitSize w = jit_freeze_size(in[0]), square = jit_freeze_size_op(JitSizeMul, w, w);
    JitSize below = jit_freeze_size_op(JitSizeSub, jit_freeze_size_constant(5), w);
    JitSize wide = jit_freeze_size_op(JitSizeMul, square, below);
    out[0] = jit_freeze_size_var(CPU, wide);
    OK(out[0]);
    assert_int_equal(jit_var_type(out[0]), VarTypeInt64);
    OK(jit_freeze_size_next(square));
    out[1] = jit_var_counter(CPU, 1000000);
    assert_int_equal(jit_freeze_size_var(CPU, 1), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_size_var()", "not a size of this");
    JitRecording *whole = jit_freeze_stop(2, out);
    OK(whole);
    DROP(out[0], out[1]);
    OK(jit_freeze_start(CPU, INPUTS, in));
    w = jit_freeze_size(in[0]);
    square = jit_freeze_size_op(JitSizeMul, w, w);
    out[0] = jit_freeze_size_var(CPU, square);
    JitRecording *number = jit_freeze_stop(1, out);
    OK(number);
    jit_var_dec_ref(out[0]);
    drop_all(in, INPUTS);
    static const uint32_t sizes[] = { 7, 2000, 65535, 65536, 70000 };
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        const int64_t n = sizes[i];
        int64_t found = 0;
        make_inputs(sizes[i], in);
        assert_int_equal(jit_freeze_replay(number, INPUTS, in, out), 1);
        OK(jit_var_read(out[0], 0, &found));
        assert_int_equal(found, n * n);
        jit_var_dec_ref(out[0]);
        /* Memory for counters of 16 GiB is not part of this. */
        const int fits = n < 65536;
        assert_int_equal(jit_freeze_dry_run(whole, INPUTS, in), fits);
        if (n == 2000) {
            assert_int_equal(jit_freeze_replay(whole, INPUTS, in, out), 1);
            OK(jit_var_read(out[0], 0, &found));
            assert_int_equal(found, n * n * (5 - n));
            assert_int_equal(jit_var_size(out[1]), n * n);
            DROP(out[0], out[1]);
        }
        drop_all(in, INPUTS);
    }
    jit_freeze_destroy(whole);
    jit_freeze_destroy(number);
}

static int tests(void)
{
    const struct CMUnitTest list[] = {
        TEST(test_functions), TEST(test_history), TEST(test_prints),
        TEST(test_checks), TEST(test_errors),
        TEST(test_reads), TEST(test_reads_of_all), TEST(test_evaluated_loops),
        TEST(test_registry),
        TEST(test_pause_and_abort), TEST(test_ends), TEST(test_sizes),
        TEST(test_memory), TEST(test_many_arrays), TEST(test_read_twice),
        TEST(test_wrong_sizes), TEST(test_wide_sizes)
    };
    return cmocka_run_group_tests(list, NULL, NULL);
}

int main(void) { return run_engines(tests); }
