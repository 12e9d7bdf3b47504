/*
 * bytes_seeds.c -- inputs for the targets in bytes_*.c to begin with, and a dictionary
 *
 *     bytes_seeds FOLDER
 *
 * makes folders in it: 'program', random Programs; 'recording', the functions of
 * tests/c/freeze_util.h; 'cache', an entry of the disk cache. The file 'words' is
 * libFuzzer's dictionary: from the tables of operations, types, commands and fields,
 * what a Program or a recording can have.
 */
#include "../c/freeze_util.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "bytes_cache.h"
#include "device/command.h"
#include "engine/llvm/llvm_engine.h"
#include "ir/program_identity.h"
#include "kernel/disk.h"
#include "kernel/seal.h"
#include "lower/legalise.h"
#include "random_program.h"
#include "recording/recording_fields.h"

enum { PROGRAMS = 12, OPERATIONS = 12 };

static char path[4096];
static const char *root;

static FILE *create(const char *folder, const char *name)
{
    snprintf(path, sizeof path, "%s/%s", root, folder);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        fail_msg("cannot create '%s'", path);
    snprintf(path, sizeof path, "%s/%s/%s", root, folder, name);
    FILE *file = fopen(path, "wb");
    if (!file)
        fail_msg("cannot create '%s'", path);
    return file;
}

static void store(const char *folder, const char *name, const void *data, size_t size)
{
    FILE *file = create(folder, name);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* ---- programs */

static void store_program(const char *folder, const char *name, const Program *program)
{
    size_t size;
    void *data = program_serialise(program, 0, &size);
    OK(data);
    store(folder, name, data, size);
    alloc_free(data);
}

static void make_programs(void)
{
    for (uint32_t i = 0; i < PROGRAMS; ++i) {
        char name[40];
        RandomProgram *random = random_program_new(i, OPERATIONS);
        OK(random);
        snprintf(name, sizeof name, "random-%u", i);
        store_program("program", name, random->program);
        random_program_free(random);
    }
}

/* ---- recordings */

static void make_recordings(void)
{
    enum { HEADER = 48 }; /* docs/dev/freezing.md */
    OK(jit_init(CPU));
    for (size_t f = 0; f < COUNT_OF(functions); ++f) {
        uint32_t in[INPUTS], out[MOST];
        size_t count, size;
        make_inputs(64, in);
        JitRecording *recording = record(functions[f].call, in, out, &count);
        uint8_t *block = jit_freeze_save(1, &recording, NULL, 0, &size);
        OK(block);
        store("recording", functions[f].name, block + HEADER, size - HEADER);
        jit_freeze_free(block);
        jit_freeze_destroy(recording);
        drop_all(out, count);
        drop_all(in, INPUTS);
    }
    OK(jit_shutdown(0) == 0);
}

/* ---- the disk cache */

/* Code as `llvm` makes it; without it, anything. */
static void make_entry(void)
{
    enum { MAC = 56, ROOM = 1 << 16 }; /* docs/dev/cache-format.md */
    static uint8_t bytes[ROOM];
    const Program *program = NULL;
    RandomProgram *random = random_program_new(9, 2);
    const void *data = "no code";
    size_t size = 7;
    Code *code = NULL;
    OK(random);
    if (llvm_engine.available())
        OK(program = legalise(random->program, &llvm_engine));
    if (program)
        OK(code = llvm_engine.compile(program, &(CodeSpec){ .hash = { 1, 2 } }));
    if (code)
        OK(llvm_engine.save(code, &data, &size));
    jit_error_clear();
    disk_store(bytes_cache_key, bytes_cache_engine, bytes_cache_identity,
               sizeof bytes_cache_identity, data, size);
    bytes_cache_path(path, sizeof path, getenv("DRJIT_CACHE_DIR"));
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    memmove(bytes + MAC, bytes + MAC + SEAL_CODE_SIZE, size - MAC - SEAL_CODE_SIZE);
    store("cache", "code", bytes, size - SEAL_CODE_SIZE);
    code_release(code);
    if (program != random->program)
        program_free((Program *) (uintptr_t) program);
    random_program_free(random);
}

/* ---- the dictionary */

static void put_word(FILE *file, const char *kind, const char *name, const void *data,
                     size_t size)
{
    const uint8_t *bytes = data;
    fprintf(file, "%s_%s=\"", kind, name);
    for (size_t i = 0; i < size; ++i)
        fprintf(file, "\\x%02x", bytes[i]);
    fprintf(file, "\"\n");
}

static void put_number(FILE *file, const char *kind, const char *name, uint32_t number)
{
    put_word(file, kind, name, &number, sizeof number);
}

/* The beginning of an instruction: operation, type, how many operands. */
static void put_operations(FILE *file)
{
    for (uint32_t op = 1; op < OP_COUNT; ++op) {
        const OpInfo *info = &op_info[op];
        if (info->flags & F_TRACE)
            continue;
        uint32_t type = 0;
        while (info->result != RESULT_VOID && type < VarTypeCount &&
               !(type_valid((VarType) type) && info->operands >> type & 1))
            ++type;
        Inst inst = { .op = (uint8_t) op, .type = type & 31,
                      .count = info->arity == OP_VARIADIC ? 2 : info->arity };
        put_word(file, "operation", info->name, &inst, offsetof(Inst, aux));
    }
}

/* An element of each list: every field is 1. */
static void put_elements(FILE *file)
{
    for (size_t i = 0; i < RECORDING_LISTS; ++i) {
        const RecordingList *list = &recording_lists[i];
        Text text = { 0 };
        for (size_t k = 0; k < list->field_count; ++k)
            bytes_put(&text, 1, list->fields[k].size);
        put_word(file, "element", list->name, text_get(&text), text.size);
        text_free(&text);
    }
}

static void make_words(void)
{
    FILE *file = create(".", "words");
    put_operations(file);
    put_elements(file);
    for (uint32_t i = 0; i < VarTypeCount; ++i)
        if (type_valid((VarType) i))
            put_number(file, "type", type_info[i].name, i);
    for (uint32_t i = 0; i < COMMAND_COUNT; ++i)
        put_number(file, "command", command_info[i].name, i);
    put_number(file, "number", "none", UINT32_MAX);
    put_number(file, "number", "tile", FUSED_TILE);
    put_word(file, "magic", "code", "djc-code", 8);
    put_word(file, "magic", "object", "\x7f" "ELF", 4);
    assert_int_equal(fclose(file), 0);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    char folder[] = "/tmp/drjit-fuzz-XXXXXX", command[100];
    root = argv[1];
    if ((mkdir(root, 0777) != 0 && errno != EEXIST) || !mkdtemp(folder) ||
        setenv("DRJIT_CACHE_DIR", folder, 1) != 0)
        return 1;
    make_words();
    make_programs();
    make_entry();
    disk_shutdown();
    make_recordings();
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0;
}
