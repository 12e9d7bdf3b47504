/*
 * bytes_recording.c -- any bytes as a saved recording, with the right checksum: it is
 * refused, or repeated within its arrays
 *
 * A target for libFuzzer and for bytes_replay.c. The bytes are a block of
 * jit_freeze_save() without its header, which is made here: that of one recording, with
 * the checksum of these bytes. What is loaded is shown, saved again,
 * and repeated with inputs of the kinds that it asks for. Kernels are interpreted
 * (fence.h); arrays come from a device that has little memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "bytes_target.h"
#include "device/device.h"
#include "drjit-core/jit.h"
#include "engine/engine.h"
#include "fence.h"
#include "freeze/freezing_file.h"

enum {
    HEADER = 48, SIZE_PLACE = 24, SUM_PLACE = 40, /* docs/dev/freezing.md */
    ENTRIES = 64,
    MOST_INPUTS = 64, MOST_OUTPUTS = 64,
    MOST_BYTES = 1 << 16,  /* of an input */
    MOST_ARRAY = 1 << 18,  /* of an array */
    FLUSH_EVERY = 512
};
#define CPU JitBackendLLVM

/* The engines of this program. */
static const Engine *const engines[] = { &fenced_engine, NULL };
const Engine *const *const engine_list = engines;

const Engine *engine_find(const char *name)
{
    return strcmp(name, fenced_engine.name) ? NULL : &fenced_engine;
}

BytesOutcome bytes_outcome;

/* ---- the process */

static char folder[] = "/tmp/drjit-fuzz-XXXXXX";
static uint8_t header[HEADER];
static void *(*allocate)(Device *device, size_t bytes);

static void *allocate_little(Device *device, size_t bytes)
{
    if (bytes > MOST_ARRAY) {
        error_set(JIT_ERROR_MEMORY, "an array of %zu bytes is too large here", bytes);
        return NULL;
    }
    return allocate(device, bytes);
}

static void clean(void)
{
    char key[200];
    jit_shutdown(0);
    snprintf(key, sizeof key, "%s/key", folder);
    unlink(key);
    rmdir(folder);
}

static void check(bool ok)
{
    if (ok)
        return;
    fprintf(stderr, "%s\n", jit_error_message());
    abort();
}

/* The header of any block that has one recording. */
static void keep_header(void)
{
    size_t size;
    uint32_t x = jit_var_counter(CPU, ENTRIES);
    check(jit_var_eval(x) && jit_freeze_start(CPU, 1, &x));
    uint32_t y = jit_var_neg(x);
    JitRecording *recording = jit_freeze_stop(1, &y);
    uint8_t *block = jit_freeze_save(1, &recording, NULL, 0, &size);
    check(recording && block);
    memcpy(header, block, HEADER);
    jit_freeze_free(block);
    jit_freeze_destroy(recording);
    jit_var_dec_ref(x);
    jit_var_dec_ref(y);
}

static void begin(void)
{
    check(mkdtemp(folder) && setenv("DRJIT_CACHE_DIR", folder, 1) == 0 &&
          setenv("DRJIT_CPU_ENGINE", fenced_engine.name, 1) == 0);
    check(jit_init(CPU) && jit_llvm_set_thread_count(1));
    atexit(clean);
    keep_header();
    Device *device = device_find(CPU, 0);
    allocate = device->allocate;
    device->allocate = allocate_little;
    check(fence_start_watch());
}

static uint8_t *with_header(const uint8_t *data, size_t size)
{
    uint8_t *block = malloc(HEADER + size);
    memcpy(block, header, HEADER);
    memcpy(block + HEADER, data, size);
    bytes_set(block + SIZE_PLACE, HEADER + size, sizeof(uint64_t));
    bytes_set(block + SUM_PLACE, freezing_checksum(block, HEADER + size),
              sizeof(uint64_t));
    return block;
}

/* ---- repeating */

/* Small numbers, all of them different, whatever the type. */
static uint32_t make_array(VarType type, uint32_t size)
{
    uint8_t data[ENTRIES * sizeof(uint64_t)] = { 0 };
    const TypeInfo *info = &type_info[type];
    for (uint32_t i = 0; i < size; ++i) {
        uint64_t bits = type == VarTypeBool ? i & 1 : i * 5 % ENTRIES;
        if (info->is_float) /* near 1, and growing */
            bits = info->one + (bits << (info->size * 8 - 14));
        memcpy(data + i * info->size, &bits, info->size);
    }
    return jit_var_mem_copy(CPU, type, data, size);
}

static uint32_t make_input(const Frozen *f, uint32_t k, const uint32_t *in,
                           uint32_t entries)
{
    const FrozenInput *spec = &f->inputs[k];
    const uint32_t size = spec->size < 2 ? spec->size : entries / (spec->size - 1);
    if (spec->same != k)
        return jit_var_inc_ref(in[spec->same]);
    if (spec->literal)
        return jit_var_literal(CPU, (VarType) spec->type, &spec->bits, size, 0);
    return make_array((VarType) spec->type, size);
}

/* The last entry of an output is there. */
static void read_last(uint32_t id)
{
    uint64_t entry;
    const size_t size = jit_var_peek_size(id);
    if (size)
        (void) jit_var_read(id, size - 1, &entry);
}

static void repeat(JitRecording *recording, uint32_t entries)
{
    const Frozen *f = (const Frozen *) (const void *) recording;
    uint32_t in[MOST_INPUTS] = { 0 }, out[MOST_OUTPUTS] = { 0 };
    const size_t inputs = jit_freeze_input_count(recording);
    const size_t outputs = jit_freeze_output_count(recording);
    bool ok = inputs <= MOST_INPUTS && outputs <= MOST_OUTPUTS;
    for (uint32_t k = 0; ok && k < inputs; ++k)
        ok = (in[k] = make_input(f, k, in, entries)) != 0;
    ok = ok && jit_freeze_dry_run(recording, inputs, in) >= 0;
    if (ok && jit_freeze_replay(recording, inputs, in, out) == 1) {
        bytes_outcome = BYTES_RUN;
        for (size_t i = 0; i < outputs; ++i)
            read_last(out[i]);
    }
    (void) jit_sync_thread();
    for (size_t i = 0; i < MOST_OUTPUTS; ++i)
        jit_var_dec_ref(out[i]);
    for (size_t i = 0; i < MOST_INPUTS; ++i)
        jit_var_dec_ref(in[i]);
    jit_error_clear();
}

/* Does a command of it take indices from an array? Contents of arrays are not checked;
 * those that kernels use are fenced. */
static bool takes_indices(const JitRecording *recording)
{
    const Recording *r = &((const Frozen *) (const void *) recording)->recording;
    for (uint32_t i = 0; i < r->command_count; ++i)
        if (r->commands[i].pattern->kind == COMMAND_ORDERED)
            return true;
    return false;
}

static void use(JitRecording *recording)
{
    size_t size;
    bytes_outcome = BYTES_ACCEPTED;
    check(jit_freeze_str(recording) != NULL);
    jit_freeze_free(jit_freeze_save(1, &recording, NULL, 0, &size));
    if (!takes_indices(recording)) {
        repeat(recording, ENTRIES);
        repeat(recording, ENTRIES / 8);
    }
    jit_freeze_destroy(recording);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint32_t turn;
    if (!allocate)
        begin();
    bytes_outcome = BYTES_REFUSED;
    if (size > MOST_BYTES)
        return 0;
    uint8_t *block = with_header(data, size);
    JitRecording *recording = jit_freeze_load(CPU, block, HEADER + size, 0);
    if (recording)
        use(recording);
    free(block);
    jit_error_clear();
    if (++turn % FLUSH_EVERY == 0)
        jit_flush_kernel_cache();
    return 0;
}
