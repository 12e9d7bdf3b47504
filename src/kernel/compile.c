/*
 * compile.c -- one Program and one engine -> code, through the disk cache
 *
 * Engines that can save their code have it kept on disk. An entry is found by the hash
 * of its identity: the Program as bytes and the engine's fingerprint. All of that is
 * compared when an entry is read, so a collision costs a compile and nothing else.
 */
#include "kernel/compile.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "watch/profile.h"
#include "watch/progress.h"
#include "kernel/disk.h"
#include "lower/legalise.h"

enum { WATCHED_NS = 2000000 /* estimated: what is worth a thread that watches */ };

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

/* 12480 as "12,480". */
static void put_thousands(char *out, size_t size, uint64_t number)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long) number);
    size_t used = 0;
    for (int i = 0; i < length && used + 2 < size; ++i) {
        if (i && (length - i) % 3 == 0)
            out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = 0;
}

/* What is being compiled, for those who wait for it. An engine that needs no time is
 * not worth a thread that watches, unless the Program is huge. */
static void announce(Progress *progress, const Program *program, const ProgramKey *key,
                     const Engine *engine)
{
    progress->watched = false;
    if ((engine->instant && engine->compile_estimate(program) < WATCHED_NS) ||
        !progress_wanted())
        return;
    uint64_t count = program->inst_count;
    for (uint32_t i = 0; i < program->callable_count; ++i)
        count += program->callables[i]->inst_count;
    char text[32];
    put_thousands(text, sizeof text, count);
    progress_begin(progress, "compiling kernel %06x (%s operations, %s)",
                   (unsigned) (key->full.high >> 40), text, engine->name);
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
        Progress progress;
        announce(&progress, program, key, engine);
        bool profiled = profile_begin_if(
            "compile %016llx (%s)", (unsigned long long) key->full.high, engine->name);
        code = compile(program, key, out);
        if (profiled)
            profile_end();
        progress_end(&progress);
        if (code && identity.data)
            store(engine, &identity, code);
    }
    alloc_free(identity.data);
    if (!code)
        return false;
    code->name = key->full.high;
    if (key->device->describe)
        key->device->describe(key->device, program, code);
    out->code = code;
    return true;
}
