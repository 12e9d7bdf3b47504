/*
 * fuzz_run.c -- see fuzz_run.h
 *
 * Memory of a run is one block, so that an outcome is a copy of it. Each slot with
 * memory gets a piece:
 *
 *     | guard | shift | entries | guard | padding to 64 bytes |
 *
 * where guards, shift and padding hold ARRAY_FILL before and after. Reports of checks
 * come last. With guard pages, the entries of a slot move into a mapping of their own
 * for the run: what an engine must not touch then makes it crash.
 */
#include "fuzz_run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "device/cpu/launch/cpu_code.h"
#include "lower/legalise.h"

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

/* ---------------------------------------------------------------------- prints */

typedef struct Record {
    uint32_t print, lane, order;
    uint64_t values[RANDOM_PRINTED];
} Record;

typedef struct Recorder {
    PrintLog log;
    const RandomProgram *random;
    Record *records;
    uint32_t count, capacity;
} Recorder;

static void record(PrintLog *log, uint32_t print, uint32_t begin, uint32_t lanes,
                   const uint8_t *mask, const void *const *values)
{
    Recorder *r = (Recorder *) (void *) log;
    for (uint32_t i = 0; i < lanes; ++i) {
        if (!mask[i] ||
            !vec_reserve(&r->records, &r->capacity, r->count + 1, sizeof(Record)))
            continue;
        Record *to = &r->records[r->count];
        *to = (Record){ .print = print, .lane = begin + i, .order = r->count++ };
        for (uint32_t k = 0; k < RANDOM_PRINTED && r->random->printed[print][k]; ++k) {
            uint32_t size = type_info[r->random->printed[print][k]].size;
            memcpy(&to->values[k], (const char *) values[k] + (size_t) i * size, size);
        }
    }
}

static int compare_records(const void *a, const void *b)
{
    const Record *x = a, *y = b;
    if (x->print != y->print)
        return x->print < y->print ? -1 : 1;
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

/* Behind the memory of an outcome. */
static bool append_records(Recorder *r, FuzzOutcome *out)
{
    if (!r->count)
        return true;
    qsort(r->records, r->count, sizeof(Record), compare_records);
    for (uint32_t i = 0; i < r->count; ++i)
        r->records[i].order = 0;
    size_t bytes = r->count * sizeof(Record);
    uint8_t *data = alloc_aligned(out->size + bytes);
    if (!data)
        return false;
    memcpy(data, out->data, out->size);
    memcpy(data + out->size, r->records, bytes);
    alloc_free(out->data);
    out->data = data;
    out->size += bytes;
    return true;
}

/* ----------------------------------------------------------------- guard pages */

/* A mapping with room for 'bytes', between two pages that cannot be touched. */
typedef struct Mapping {
    uint8_t *pages;
    size_t size;
    uint8_t *entries;
} Mapping;

static size_t page_size(void)
{
    return (size_t) sysconf(_SC_PAGESIZE);
}

/* The entries lie at one end of the room; 'overrun' bytes after them may be read. */
static bool map_entries(Mapping *m, FuzzGuard guard, uint32_t bytes, uint32_t overrun,
                        uint32_t alignment)
{
    size_t page = page_size(), room = (bytes + overrun + page - 1) / page * page;
    m->size = room + 2 * page;
    m->pages = mmap(NULL, m->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m->pages == MAP_FAILED ||
        mprotect(m->pages + page, room, PROT_READ | PROT_WRITE) != 0)
        return false;
    size_t offset = guard == GUARD_BEFORE ? 0 : room - overrun - bytes;
    m->entries = m->pages + page + offset / alignment * alignment;
    memset(m->pages + page, ARRAY_FILL, room);
    return true;
}

/* Move the entries of all slots (back) between the block and mappings. */
static bool move_out(const RandomProgram *r, FuzzGuard guard, uint64_t *args,
                     Mapping *mappings)
{
    for (uint32_t i = 0; i < r->program->param_count; ++i) {
        const RandomArray *array = &r->arrays[i];
        const Param *param = &r->program->params[i];
        if (!has_memory(array))
            continue;
        if (!map_entries(&mappings[i], guard, array->bytes,
                         param->kind == PARAM_INPUT ? 64 : 0,
                         type_info[param->type].size))
            return false;
        memcpy(mappings[i].entries, (void *) (uintptr_t) args[i], array->bytes);
        args[i] = (uint64_t) (uintptr_t) mappings[i].entries;
    }
    return true;
}

static void move_back(const RandomProgram *r, uint8_t *block, Mapping *mappings)
{
    uint8_t *at = block;
    for (uint32_t i = 0; i < r->program->param_count; ++i) {
        const RandomArray *array = &r->arrays[i];
        if (!has_memory(array))
            continue;
        if (mappings[i].entries)
            memcpy(at + ARRAY_GUARD + array->shift, mappings[i].entries, array->bytes);
        if (mappings[i].pages && mappings[i].pages != MAP_FAILED)
            munmap(mappings[i].pages, mappings[i].size);
        at += piece_size(array);
    }
}

/* ------------------------------------------------------------------------- run */

static void fail(FuzzOutcome *out, const char *what)
{
    fuzz_outcome_free(out);
    snprintf(out->error, sizeof out->error, "%s: %s", what, error_message());
}

/* One or two launches. */
static bool launch_all(const RandomProgram *r, const Code *code, const FuzzJob *job,
                       uint64_t *args, void *scratch, FuzzOutcome *out)
{
    Recorder recorder = { .log.append = record, .random = r };
    uint32_t lanes = job->lanes ? job->lanes : r->lanes;
    uint32_t print = program_find_param(r->program, PARAM_PRINT);
    Mapping *mappings = alloc_zero(r->program->param_count + 1, sizeof(Mapping));
    if (!mappings)
        return false;
    fill_block(r, out->data, args);
    if (print != PROGRAM_NONE)
        args[print] = (uint64_t) (uintptr_t) &recorder.log;
    bool ok = job->guard == GUARD_BYTES || move_out(r, job->guard, args, mappings);
    if (ok) {
        uint32_t split = r->split < lanes ? r->split : 0;
        if (split)
            cpu_code_run(code, args, 0, split, 0, scratch);
        cpu_code_run(code, args, split, lanes, 0, scratch);
    }
    move_back(r, out->data, mappings);
    normalise(r, out->data);
    ok = ok && append_records(&recorder, out);
    alloc_free(recorder.records);
    alloc_free(mappings);
    return ok;
}

static void execute(const RandomProgram *r, const Program *legal, const Engine *engine,
                    const FuzzJob *job, FuzzOutcome *out)
{
    Code *code =
        engine->compile(legal, &(CodeSpec){ .hash = { r->lanes, legal->inst_count },
                                            .many_lanes = legal->inst_count % 2 });
    if (!code) {
        fail(out, "compile");
        return;
    }
    size_t bytes = cpu_code_scratch(code);
    uint64_t *args = alloc_zero(legal->param_count + 1, sizeof(uint64_t));
    void *scratch = alloc_aligned(bytes);
    out->size = block_size(r);
    out->data = alloc_aligned(out->size);
    if (!args || !scratch || !out->data ||
        !launch_all(r, code, job, args, scratch, out))
        fail(out, "run");
    alloc_free(args);
    alloc_free(scratch);
    code_release(code);
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
        execute(r, legal, engine, job, out);
    if (legal != program)
        program_free((Program *) legal);
}

void fuzz_run_program(const RandomProgram *random, const FuzzJob *job,
                      const Engine *engine, FuzzOutcome *out)
{
    memset(out, 0, sizeof *out);
    run_program(random, random->program, job, engine, out);
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
        fprintf(file, "memory next to parameter @%u was changed (byte %td of %u)\n",
                slot, (ptrdiff_t) offset - (ptrdiff_t) first, array->bytes);
        return;
    }
    size_t entry = (offset - first) / type->size;
    uint64_t a = 0, b = 0;
    memcpy(&a, expected + first + entry * type->size, type->size);
    memcpy(&b, found + first + entry * type->size, type->size);
    fprintf(file, "parameter @%u (%s), entry %zu: %#llx, expected %#llx\n", slot,
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
    size_t size = expected->size < found->size ? expected->size : found->size;
    while (at < size && expected->data[at] == found->data[at])
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
    size_t reports = RANDOM_CHECKS * sizeof(CheckReport);
    if (at - begin < reports)
        fprintf(file, "report of check %zu\n", (at - begin) / sizeof(CheckReport));
    else
        fprintf(file, "printed record %zu\n", (at - begin - reports) / sizeof(Record));
}
