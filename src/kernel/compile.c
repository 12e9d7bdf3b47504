/*
 * compile.c -- one Program and one engine -> code, through the disk cache
 *
 * Engines that can save their code have it kept on disk. An entry is found by the hash
 * of its identity: the Program as bytes and the engine's fingerprint. All of that is
 * compared when an entry is read, so a collision costs a compile and nothing else.
 */
#include "kernel/compile.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kernel/disk.h"
#include "lower/legalise.h"

typedef struct Identity {
    void *data;
    size_t size;
    Hash128 hash;
} Identity;

static bool make_identity(const Program *program, const Target *target,
                          const Engine *engine, Identity *out)
{
    out->data = program_serialise(program, engine->fingerprint(target), &out->size);
    TRY(out->data, false);
    out->hash = hash_128(out->data, out->size, 0);
    return true;
}

static Code *load(const Engine *engine, const Identity *identity)
{
    void *data;
    size_t size;
    TRY(disk_load(identity->hash, engine->name, identity->data, identity->size, &data,
                  &size),
        NULL);
    Code *code = engine->load(data, size);
    alloc_free(data);
    if (!code)
        error_clear();
    return code;
}

static void store(const Engine *engine, const Identity *identity,
                  const Code *code)
{
    const void *data;
    size_t size;
    if (engine->save(code, &data, &size))
        disk_store(identity->hash, engine->name, identity->data, identity->size, data,
                   size);
    else
        error_clear();
}

static bool verifying;

static void read_environment(void)
{
    const char *value = getenv("DRJIT_VERIFY");
    verifying = value && strcmp(value, "0") != 0 && *value;
}

bool compile_verify(const Program *program)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_environment);
    bool simple = !program->region_count && !program->callable_count;
    return (simple && !verifying) || program_verify(program);
}

static Code *compile(const Program *program, const ProgramKey *key,
                     const KernelCode *plan)
{
    const Engine *engine = plan->engine;
    const Program *legal = legalise(program, engine);
    TRY(legal, NULL);
    Code *code = NULL;
    if (compile_verify(legal))
        code = engine->compile(legal, &(CodeSpec){ .hash = key->full,
                                                   .target = key->target,
                                                   .many_lanes = plan->many_lanes });
    if (legal != program)
        program_free((Program *) legal);
    return code;
}

bool compile_code(const Program *program, const ProgramKey *key, KernelCode *out,
                  bool *from_disk)
{
    const Engine *engine = out->engine;
    Identity identity = { NULL, 0, { 0, 0 } };
    Code *code = NULL;
    *from_disk = false;
    if (engine->save) {
        if (make_identity(program, key->target, engine, &identity))
            code = load(engine, &identity);
        else
            error_clear(); /* do without the disk */
        *from_disk = code != NULL;
    }
    if (!code) {
        code = compile(program, key, out);
        if (code && identity.data)
            store(engine, &identity, code);
    }
    alloc_free(identity.data);
    if (!code)
        return false;
    if (key->device->describe)
        key->device->describe(key->device, program, code);
    out->code = code;
    return true;
}
