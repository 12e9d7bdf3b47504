/*
 * run_ptx.c -- does a text compute what a Program means?
 *
 *     run_ptx --write FOLDER SEEDS         the generator's texts: of all forms and
 *                                          chosen Programs, and of seeds 1 ... SEEDS
 *     run_ptx CASE FILE...                 run files in place of that of a case
 *
 * A case (cases.h) is run by the interpreter, and each file by the simulator, under
 * both orders of lanes and several seeds, on arrays that lie between memory that nobody
 * owns. For each file, and before that for the text of the generator ("original"), a
 * line tells what came of it:
 *
 *     FILE: same | different: where | fault: what | refused: by the parser, why
 *
 * Status 0 if there was an answer for each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../sim/sim.h"
#include "base/alloc.h"
#include "base/error.h"
#include "cases.h"
#include "chosen.h"
#include "device/cpu/launch/cpu_code.h"
#include "engine/interp/interp.h"
#include "forms.h"
#include "fuzz_run.h"
#include "ir/print_area.h"
#include "oracle_text.h"

enum { BLOCK = 64, SEEDS = 4, AREA_WORDS = 1 << 16, SM = 80, READABLE = 64 };
#define WORD ((size_t) 4)

/* What is run: set before fuzz_run_program() calls the engine. */
static struct {
    const RandomProgram *random;
    const SimKernel *kernel;
    uint32_t lanes; /* of a thread */
    uint64_t seed;
    uint64_t steps, step_limit; /* of warps; what the generator's text takes, and what
                                 * others may */
    char fault[SIM_MESSAGE];
} current;

static void *new_memory(SimMemory *memory, size_t bytes)
{
    void *found = sim_memory_get(memory, bytes);
    if (found)
        return found;
    fprintf(stderr, "run_ptx: out of memory\n");
    exit(1);
}

/* -------------------------------------------------------------------------- prints */

static size_t area_bytes(uint32_t prints)
{
    return print_area_head(prints, prints * RANDOM_PRINTED) +
           AREA_WORDS * sizeof(uint64_t);
}

/* An empty area for the prints of the Program. */
static PrintArea *new_area(SimMemory *memory)
{
    const uint32_t prints = current.random->program->print_count;
    PrintArea *area = new_memory(memory, area_bytes(prints));
    memset(area, 0, area_bytes(prints));
    area->words = AREA_WORDS;
    area->prints = prints;
    uint32_t *begins = print_area_begins(area), count = 0;
    for (uint32_t i = 0; i < prints; ++i) {
        begins[i] = count;
        for (uint32_t k = 0; k < RANDOM_PRINTED && current.random->printed[i][k]; ++k)
            print_area_types(area)[count++] = current.random->printed[i][k];
    }
    begins[prints] = count;
    sim_memory_written(memory, area, area_bytes(prints));
    return area;
}

/* Tell the log of the CPU what the kernel has put there. */
static void replay(PrintArea *area, PrintLog *log)
{
    const uint8_t always = 1;
    uint64_t *words = print_area_words(area);
    const uint32_t records = (uint32_t) area->used;
    for (uint32_t i = 0; i < records; ++i) {
        const PrintRecord *record =
            (const PrintRecord *) (void *) (words + (size_t) i * PRINT_RECORD_WORDS);
        const void *values[RANDOM_PRINTED] = { NULL };
        if (record->print >= area->prints)
            continue; /* what follows differs anyway */
        for (uint32_t k = 0; k < RANDOM_PRINTED; ++k)
            values[k] = &words[(record->first + k) % AREA_WORDS];
        log->append(log, record->print, record->lane, 1, &always, values);
    }
}

/* -------------------------------------------------------------------------- engine */

typedef struct FileCode {
    CpuCode cpu;
} FileCode;

/* Bytes of a parameter's array; 0: it has no array. */
static uint32_t array_bytes(uint32_t slot)
{
    const Program *p = current.random->program;
    if (p->params[slot].kind == PARAM_REPORT)
        return RANDOM_CHECKS * sizeof(CheckReport);
    return current.random->arrays[slot].data ? current.random->arrays[slot].bytes : 0;
}

/* An array in memory of the simulator. */
typedef struct Copy {
    uint8_t *memory; /* NULL: the parameter is no address of one */
    size_t size, shift, bytes;
} Copy;

/* The array as it is, as far from a multiple of 64, between bytes that stay what they
 * are. Inputs may be read for some bytes behind their end. Entries of less than 32 bits
 * are changed as parts of words: to these, as allocations are never shorter, the array
 * is extended. */
static Copy copy_in(SimMemory *memory, uint32_t slot, const void *host)
{
    const bool is_input = current.random->program->params[slot].kind == PARAM_INPUT;
    Copy copy = { .shift = (uintptr_t) host % 64, .bytes = array_bytes(slot) };
    copy.size = copy.shift + copy.bytes + (is_input ? READABLE : 0);
    copy.size = (copy.size + WORD - 1) & -WORD;
    copy.memory = new_memory(memory, copy.size);
    memset(copy.memory, ARRAY_FILL, copy.size);
    memcpy(copy.memory + copy.shift, host, copy.bytes);
    sim_memory_written(memory, copy.memory, copy.size);
    return copy;
}

/* Back to the host; what is around it must be as it was. */
static void copy_out(const Copy *copy, void *host)
{
    memcpy(host, copy->memory + copy->shift, copy->bytes);
    for (size_t i = 0; i < copy->size && !current.fault[0]; ++i)
        if ((i < copy->shift || i >= copy->shift + copy->bytes) &&
            copy->memory[i] != ARRAY_FILL)
            snprintf(current.fault, sizeof current.fault,
                     "memory next to an array was changed (byte %td of %zu)",
                     (ptrdiff_t) i - (ptrdiff_t) copy->shift, copy->bytes);
}

static void launch(SimMemory *memory, uint64_t *params, uint32_t begin, uint32_t end)
{
    const uint32_t threads = (end - begin + current.lanes - 1) / current.lanes;
    const PtxLaunch head = { .begin = begin, .end = end };
    SimResult result;
    memcpy(params, &head, sizeof head);
    const SimLaunch what = { .kernel = current.kernel,
                             .grid = { (threads + BLOCK - 1) / BLOCK },
                             .block = { BLOCK },
                             .params = params,
                             .param_bytes =
                                 sizeof head + current.random->program->param_count *
                                                   sizeof(uint64_t),
                             .memory = memory,
                             .order = current.seed % 2 ? SIM_RANDOM_PC : SIM_LOWEST_PC,
                             .seed = current.seed,
                             .step_limit = 4000000 };
    if (!sim_run(&what, &result))
        memcpy(current.fault, result.message, sizeof current.fault);
    current.steps += result.warp_steps;
}

static void file_run(const CpuCode *code, const uint64_t *args, uint32_t begin,
                     uint32_t end, uint32_t worker, uint32_t requests, void *scratch)
{
    enum { HEAD = sizeof(PtxLaunch) / sizeof(uint64_t) };
    (void) code, (void) worker, (void) requests, (void) scratch;
    const Program *p = current.random->program;
    SimMemory *memory = sim_memory_new();
    uint64_t *params = alloc_zero(HEAD + p->param_count, sizeof(uint64_t));
    Copy *copies = alloc_zero(p->param_count + 1u, sizeof *copies);
    PrintArea *area = NULL;
    for (uint32_t k = 0; params && copies && k < p->param_count; ++k) {
        uint64_t word = args[k];
        if (p->params[k].kind == PARAM_PRINT)
            word = (uint64_t) (uintptr_t) (area = new_area(memory));
        else if (array_bytes(k)) {
            copies[k] = copy_in(memory, k, (const void *) (uintptr_t) word);
            word = (uint64_t) (uintptr_t) (copies[k].memory + copies[k].shift);
        }
        params[HEAD + k] = word;
    }
    if (params && copies && !current.fault[0])
        launch(memory, params, begin, end);
    for (uint32_t k = 0; params && copies && k < p->param_count; ++k)
        if (copies[k].memory)
            copy_out(&copies[k], (void *) (uintptr_t) args[k]);
    if (area && !current.fault[0])
        replay(area, (PrintLog *) (uintptr_t) args[program_find_param(p, PARAM_PRINT)]);
    alloc_free(copies);
    alloc_free(params);
    sim_memory_delete(memory);
}

static void file_release(Code *code)
{
    alloc_free(code);
}

static Code *file_compile(const Program *program, const CodeSpec *spec)
{
    (void) program, (void) spec;
    FileCode *code = alloc_zero(1, sizeof *code);
    if (!code)
        return NULL;
    code->cpu.code = (Code){ .refs = 1, .release = file_release };
    code->cpu.run = file_run;
    return &code->cpu.code;
}

static const Engine file_engine = { .name = "file",
                                    .supports = ptx_kernel_supports,
                                    .compile = file_compile };

/* ---------------------------------------------------------------------------- files */

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    const size_t size = (size_t) ftell(file);
    char *text = alloc_zero(size + 1, 1);
    rewind(file);
    if (text && fread(text, 1, size, file) != size)
        text[0] = 0;
    fclose(file);
    return text;
}

/* Each seed of the simulator has another number of lanes. */
static FuzzJob job_of(uint64_t seed)
{
    const uint32_t lanes = current.random->lanes;
    return (FuzzJob){ .guard = GUARD_BYTES,
                      .lanes = lanes > seed ? lanes - (uint32_t) seed : lanes };
}

/* Does it do the same for this seed? Says what it does if not. */
static bool agrees(const char *path, uint64_t seed, const FuzzOutcome *expected)
{
    const FuzzJob job = job_of(seed);
    FuzzOutcome found = { 0 };
    current.fault[0] = 0;
    current.seed = seed;
    fuzz_run_program(current.random, &job, &file_engine, &found);
    const bool same = !current.fault[0] && fuzz_outcome_same(expected, &found);
    if (current.fault[0])
        printf("%s: fault: %s\n", path, current.fault);
    else if (!found.data)
        printf("%s: refused: %s\n", path, found.error);
    else if (!same)
        printf("%s: different\n", path);
    fuzz_outcome_free(&found);
    return same;
}

/* Run a text and tell what it does. */
static void run_text(const char *path, const char *text, const FuzzOutcome *expected)
{
    char error[SIM_MESSAGE];
    SimModule *module = sim_parse(text, SIM_STRICT, error);
    current.kernel = module ? sim_kernel_at(module, 0) : NULL;
    bool same = current.kernel != NULL;
    if (!same)
        printf("%s: refused: %s\n", path, module ? "there is no kernel" : error);
    for (uint64_t seed = 0; same && seed < SEEDS; ++seed)
        same = agrees(path, seed, &expected[seed]);
    if (same)
        printf("%s: same\n", path);
    sim_free(module);
    fflush(stdout);
}

static bool run_file(const char *path, const FuzzOutcome *expected)
{
    char *text = read_file(path);
    if (text)
        run_text(path, text, expected);
    else
        fprintf(stderr, "run_ptx: cannot read %s\n", path);
    alloc_free(text);
    return text != NULL;
}

/* ----------------------------------------------------------------------------- main */

static bool write_case(const char *folder, const char *name)
{
    Text text = { 0 };
    PtxKernel kernel;
    RandomProgram *random = cases_new(name);
    const bool ok = random && oracle_text(random->program, SM, &text, &kernel) &&
                    oracle_file(folder, name, &text);
    if (!ok)
        fprintf(stderr, "run_ptx: %s: %s\n", name, error_message());
    text_free(&text);
    random_program_free(random);
    return ok;
}

static int write_cases(const char *folder, uint32_t seeds)
{
    Form form;
    char name[FORM_NAME_SIZE + 8];
    bool ok = true;
    for (uint32_t i = 0; forms_at(i, &form); ++i) {
        snprintf(name, sizeof name, "form:%s", form.name);
        ok &= write_case(folder, name);
    }
    for (uint32_t i = 0; chosen_name(i); ++i) {
        snprintf(name, sizeof name, "chosen:%s", chosen_name(i));
        ok &= write_case(folder, name);
    }
    for (uint32_t i = 1; i <= seeds; ++i) {
        snprintf(name, sizeof name, "seed:%u", i);
        ok &= write_case(folder, name);
    }
    return ok ? 0 : 1;
}

/* What the interpreter gives. False: error recorded. */
static bool run_reference(FuzzOutcome *expected)
{
    bool ok = true;
    for (uint64_t seed = 0; seed < SEEDS; ++seed) {
        const FuzzJob job = job_of(seed);
        fuzz_run_program(current.random, &job, &interp_engine, &expected[seed]);
        ok &= expected[seed].data != NULL;
    }
    return ok;
}

/* The generator's own text comes first: how long may others take? */
static int run_files(const RandomProgram *random, char **files, int count)
{
    Text text = { 0 };
    PtxKernel kernel;
    FuzzOutcome expected[SEEDS] = { 0 };
    current.random = random;
    bool ok = oracle_text(random->program, SM, &text, &kernel);
    ok = run_reference(expected) && ok;
    if (!ok)
        fprintf(stderr, "run_ptx: %s\n", error_message());
    current.lanes = ok ? kernel.lanes : 1;
    if (ok)
        run_text("original", text_get(&text), expected);
    current.step_limit = 3 * current.steps + 10000;
    for (int i = 0; ok && i < count; ++i)
        ok = run_file(files[i], expected);
    for (uint64_t seed = 0; seed < SEEDS; ++seed)
        fuzz_outcome_free(&expected[seed]);
    text_free(&text);
    return ok ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--write") == 0)
        return write_cases(argv[2], (uint32_t) strtoul(argv[3], NULL, 0));
    if (argc < 3 || argv[1][0] == '-') {
        fprintf(stderr, "usage: run_ptx --write FOLDER SEEDS | CASE FILE...\n");
        return 2;
    }
    RandomProgram *random = cases_new(argv[1]);
    if (!random)
        fprintf(stderr, "run_ptx: there is no case %s\n", argv[1]);
    const int status = random ? run_files(random, argv + 2, argc - 2) : 1;
    random_program_free(random);
    return status;
}
