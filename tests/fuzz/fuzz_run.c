/*
 * fuzz_run.c -- see fuzz_run.h
 *
 * Memory of a run is one block, so that an outcome is a copy of it. Each slot with
 * memory gets a piece:
 *
 *     | guard | shift | entries | guard | padding to 64 bytes |
 *
 * where guards, shift and padding hold ARRAY_FILL before and after. Reports of checks
 * come last.
 */
#include "fuzz_run.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "engine/interp/interp.h"
#include "kernel/legalise.h"

/* ---------------------------------------------------------------------- memory */

static size_t piece_size(const RandomArray *array)
{
    return (2 * ARRAY_GUARD + array->shift + array->bytes + 63u) / 64 * 64;
}

static bool has_memory(const RandomArray *array)
{
    return array->data != NULL;
}

static size_t block_size(const RandomProgram *r)
{
    size_t size = RANDOM_CHECKS * sizeof(CheckReport);
    for (uint32_t i = 0; i < r->program->param_count; ++i)
        if (has_memory(&r->arrays[i]))
            size += piece_size(&r->arrays[i]);
    return size;
}

static void fill_block(const RandomProgram *r, uint8_t *block, uint64_t *args)
{
    uint8_t *at = block;
    for (uint32_t i = 0; i < r->program->param_count; ++i) {
        const RandomArray *array = &r->arrays[i];
        args[i] = array->word;
        if (!has_memory(array))
            continue;
        uint8_t *entries = at + ARRAY_GUARD + array->shift;
        memset(at, ARRAY_FILL, piece_size(array));
        memcpy(entries, array->data, array->bytes);
        args[i] = (uint64_t) (uintptr_t) entries;
        at += piece_size(array);
    }
    CheckReport *reports = (CheckReport *) (void *) at;
    for (uint32_t i = 0; i < RANDOM_CHECKS; ++i)
        reports[i] = (CheckReport){ .bound = r->bounds[i] };
    if (r->program->check_count)
        args[r->program->param_count - 1] = (uint64_t) (uintptr_t) reports;
}

static void unify_nans(uint8_t *data, uint32_t bytes, VarType type)
{
    uint32_t size = type_info[type].size;
    uint64_t infinity = type == VarTypeFloat16   ? 0x7c00
                        : type == VarTypeFloat32 ? 0x7f800000
                                                 : 0x7ff0000000000000;
    uint64_t sign = 1ull << (size * 8 - 1);
    for (uint32_t i = 0; i + size <= bytes; i += size) {
        uint64_t bits = 0, nan = infinity | (infinity >> 1 & ~sign);
        memcpy(&bits, data + i, size);
        if ((bits & ~sign) > infinity)
            memcpy(data + i, &nan, size);
    }
}

/* Make equal what engines may do differently. */
static void normalise(const RandomProgram *r, uint8_t *block)
{
    uint8_t *at = block;
    for (uint32_t i = 0; i < r->program->param_count; ++i) {
        const RandomArray *array = &r->arrays[i];
        if (!has_memory(array))
            continue;
        VarType type = (VarType) r->program->params[i].type;
        if (type_info[type].is_float)
            unify_nans(at + ARRAY_GUARD + array->shift, array->bytes, type);
        at += piece_size(array);
    }
    /* Any index out of bounds is as good as another. */
    CheckReport *reports = (CheckReport *) (void *) at;
    for (uint32_t i = 0; i < RANDOM_CHECKS; ++i)
        if (reports[i].count && reports[i].index >= r->bounds[i])
            reports[i].index = UINT32_MAX;
}

/* ------------------------------------------------------------------------- run */

static void fail(FuzzOutcome *out, const char *what)
{
    fuzz_outcome_free(out);
    snprintf(out->error, sizeof out->error, "%s: %s", what, error_message());
}

static void execute(const RandomProgram *r, const Program *legal, const Engine *engine,
                    uint32_t lanes, FuzzOutcome *out)
{
    EngineCode *code = engine->compile(legal, (Hash128){ r->lanes, legal->inst_count });
    if (!code) {
        fail(out, "compile");
        return;
    }
    size_t bytes = engine->scratch ? engine->scratch(code) : 0;
    uint64_t *args = alloc_zero(legal->param_count + 1, sizeof(uint64_t));
    void *scratch = alloc_aligned(bytes);
    out->size = block_size(r);
    out->data = alloc_aligned(out->size);
    if (args && scratch && out->data) {
        fill_block(r, out->data, args);
        uint32_t split = r->split < lanes ? r->split : 0;
        if (split)
            engine->launch(code, args, 0, split, 0, scratch);
        engine->launch(code, args, split, lanes, 0, scratch);
        normalise(r, out->data);
    } else {
        fail(out, "run");
    }
    alloc_free(args);
    alloc_free(scratch);
    engine->free(code);
}

static void run_program(const RandomProgram *r, const Program *program,
                        const FuzzJob *job, const Engine *engine, FuzzOutcome *out)
{
    if (!program_verify(program)) {
        fail(out, "before legalise");
        return;
    }
    const Program *legal = legalise(program, engine);
    if (!legal)
        fail(out, "legalise");
    else if (!program_verify(legal))
        fail(out, "after legalise");
    else
        execute(r, legal, engine, job->lanes ? job->lanes : r->lanes, out);
    if (legal != program)
        program_free((Program *) legal);
}

void fuzz_run(const FuzzJob *job, const Engine *engine, FuzzOutcome *out)
{
    memset(out, 0, sizeof *out);
    RandomProgram *r = random_program_new(job->seed, job->ops);
    Program *smaller = NULL;
    if (r && job->reduction_count)
        smaller = random_program_reduce(r, job->reductions);
    if (!r || (job->reduction_count && !smaller))
        fail(out, "generate");
    else
        run_program(r, smaller ? smaller : r->program, job, engine, out);
    program_free(smaller);
    random_program_free(r);
}

Program *fuzz_program(const FuzzJob *job)
{
    RandomProgram *r = random_program_new(job->seed, job->ops);
    Program *program = NULL;
    if (r && job->reduction_count)
        program = random_program_reduce(r, job->reductions);
    else if (r)
        program = program_copy(r->program);
    random_program_free(r);
    return program;
}

/* -------------------------------------------------------------------- outcomes */

void fuzz_outcome_free(FuzzOutcome *outcome)
{
    alloc_free(outcome->data);
    outcome->data = NULL;
    outcome->size = 0;
}

bool fuzz_outcome_same(const FuzzOutcome *a, const FuzzOutcome *b)
{
    return a->data && b->data && a->size == b->size &&
           memcmp(a->data, b->data, a->size) == 0;
}

static void explain_entry(const RandomProgram *r, uint32_t slot, size_t offset,
                          const uint8_t *expected, const uint8_t *found, FILE *file)
{
    const RandomArray *array = &r->arrays[slot];
    const TypeInfo *type = &type_info[r->program->params[slot].type];
    size_t first = ARRAY_GUARD + array->shift;
    if (offset < first || offset >= first + array->bytes) {
        fprintf(file, "memory next to slot @%u was changed (byte %td of %u)\n", slot,
                (ptrdiff_t) offset - (ptrdiff_t) first, array->bytes);
        return;
    }
    size_t entry = (offset - first) / type->size;
    uint64_t a = 0, b = 0;
    memcpy(&a, expected + first + entry * type->size, type->size);
    memcpy(&b, found + first + entry * type->size, type->size);
    fprintf(file, "slot @%u (%s), entry %zu: %#llx, expected %#llx\n", slot,
            type->short_name, entry, (unsigned long long) b, (unsigned long long) a);
}

void fuzz_outcome_explain(const FuzzJob *job, const FuzzOutcome *expected,
                          const FuzzOutcome *found, FILE *file)
{
    if (!expected->data || !found->data) {
        fprintf(file, "%s\n", found->data ? expected->error : found->error);
        return;
    }
    RandomProgram *r = random_program_new(job->seed, job->ops);
    size_t at = 0, begin = 0;
    while (at < expected->size && expected->data[at] == found->data[at])
        at++;
    for (uint32_t i = 0; r && i < r->program->param_count; ++i) {
        if (!has_memory(&r->arrays[i]))
            continue;
        size_t end = begin + piece_size(&r->arrays[i]);
        if (at < end) {
            explain_entry(r, i, at - begin, expected->data + begin, found->data + begin,
                          file);
            random_program_free(r);
            return;
        }
        begin = end;
    }
    random_program_free(r);
    fprintf(file, "report of check %zu\n", (at - begin) / sizeof(CheckReport));
}

/* ----------------------------------------------------------------------- peers */

/* What travels before the reductions, and before the bytes of an outcome. */
typedef struct Request {
    uint64_t seed;
    uint32_t ops, lanes, reduction_count;
} Request;

static bool transfer(int file, void *data, size_t size, bool out)
{
    char *at = data;
    while (size) {
        ssize_t n = out ? write(file, at, size) : read(file, at, size);
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t) n;
    }
    return true;
}

static void serve(const FuzzPeer *peer)
{
    Request request;
    while (transfer(peer->from, &request, sizeof request, false)) {
        uint8_t *reductions = alloc_get(request.reduction_count);
        FuzzOutcome out;
        FuzzJob job = { request.seed, request.ops, request.lanes,
                        request.reduction_count, reductions };
        if (!reductions ||
            !transfer(peer->from, reductions, request.reduction_count, false))
            return;
        fuzz_run(&job, &interp_engine, &out);
        alloc_free(reductions);
        bool ok = transfer(peer->to, &out.size, sizeof out.size, true) &&
                  transfer(peer->to, out.error, sizeof out.error, true) &&
                  transfer(peer->to, out.data, out.size, true);
        fuzz_outcome_free(&out);
        if (!ok)
            return;
    }
}

bool fuzz_peer_start(FuzzPeer *peer, const char *isa)
{
    int down[2], up[2];
    snprintf(peer->name, sizeof peer->name, "interp-%s", isa);
    if (pipe(down) != 0 || pipe(up) != 0)
        return false;
    fflush(NULL);
    peer->pid = fork();
    if (peer->pid < 0)
        return false;
    bool child = peer->pid == 0;
    close(child ? down[1] : down[0]);
    close(child ? up[0] : up[1]);
    peer->to = child ? up[1] : down[1];
    peer->from = child ? down[0] : up[0];
    if (child) {
        setenv("DRJIT_INTERP_ISA", isa, 1);
        serve(peer);
        _exit(0);
    }
    return true;
}

void fuzz_peer_send(const FuzzPeer *peer, const FuzzJob *job)
{
    Request request;
    memset(&request, 0, sizeof request);
    request.seed = job->seed;
    request.ops = job->ops;
    request.lanes = job->lanes;
    request.reduction_count = job->reduction_count;
    /* If the peer is gone, receiving will tell. */
    if (transfer(peer->to, &request, sizeof request, true))
        transfer(peer->to, (void *) job->reductions, job->reduction_count, true);
}

void fuzz_peer_receive(const FuzzPeer *peer, FuzzOutcome *out)
{
    memset(out, 0, sizeof *out);
    if (transfer(peer->from, &out->size, sizeof out->size, false) &&
        transfer(peer->from, out->error, sizeof out->error, false)) {
        out->data = out->size ? alloc_aligned(out->size) : NULL;
        if (!out->data || transfer(peer->from, out->data, out->size, false))
            return;
    }
    fuzz_outcome_free(out);
    snprintf(out->error, sizeof out->error, "the process of %s is gone", peer->name);
}

void fuzz_peer_stop(const FuzzPeer *peer)
{
    close(peer->to);
    close(peer->from);
    /* Do not wait: peers started later share this one's pipe and keep it open. */
}
