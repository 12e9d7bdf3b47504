/*
 * fuzz_programs.c -- random Programs give the same bits on all engines
 *
 *     fuzz_programs [--count N] [--seed S] [--ops N] [--engine NAME,...] [--print]
 *                   [--guard before|behind] [--inline] [N]
 *
 * Every Program of seeds S ... S+N-1 runs on the interpreter, which is the reference,
 * on its variants for other instruction sets, on 'scalar', which knows nothing of
 * packets, and on all other engines that are available here (or on the named ones
 * only), each after legalising for that engine and in a process of its own. A Program
 * that makes a difference, crashes or does not end is reduced as far as it still does
 * and printed with the place of the first difference.
 *
 * 'native-few...' and 'native-sparse...', targets with few rows and with half of them,
 * other ones for each Program (few_rows_target.h), run only if they are named; so do
 * 'ptx-sim', the simulator of PTX (cuda/engine/ptx_sim_engine.h), and 'ptx-sim-any',
 * for which each Program is written for a compute capability of its own.
 *
 * '--print' shows the Programs, '--guard' runs them with pages that cannot be touched
 * next to their arrays, '--inline' runs engines in this process, for a debugger
 * (without variants, which the environment chooses then). Status 1 if any failed, 77 if
 * none of the named engines is there.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "engine/interp/interp.h"
#include "os/clock.h"
#if defined(__x86_64__)
#include "few_rows_target.h"
#endif
#include "fuzz_peer.h"
#include "scalar_engine.h"

enum { MAX_RIVALS = 16, MAX_REPORTS = 10 };

typedef struct Options {
    uint64_t seed, count;
    uint32_t ops;
    const char *engines;
    bool print, is_inline;
    FuzzGuard guard;
} Options;

/* Who is compared with the reference. Peers without a process run here. */
static FuzzPeer rivals[MAX_RIVALS];
static uint32_t rival_count;

/* ---------------------------------------------------------------------- crashes */

static volatile uint64_t current_seed;

/* Say which Program it was, with nothing but write(). */
static void report_crash(int number)
{
    char text[80] = "\nfuzz_programs: crashed in the Program of seed ", digits[24];
    size_t size = strlen(text), n = 0;
    uint64_t seed = current_seed;
    do
        digits[n++] = (char) ('0' + seed % 10);
    while (seed /= 10);
    while (n)
        text[size++] = digits[--n];
    text[size++] = '\n';
    if (write(STDERR_FILENO, text, size) < 0)
        _exit(3);
    signal(number, SIG_DFL);
    raise(number);
}

/* A sanitizer that handles these already says more. */
static void catch_crashes(void)
{
    static const int numbers[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
        struct sigaction old;
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            signal(numbers[i], report_crash);
    }
}

/* ------------------------------------------------------------------- comparison */

static const char *rival_name(const FuzzPeer *rival)
{
    return rival->variant.name;
}

static void run_rival(const FuzzPeer *rival, const FuzzJob *job, FuzzOutcome *out)
{
    if (rival->pid) {
        fuzz_peer_send(rival, job);
        fuzz_peer_receive(rival, out);
    } else {
        fuzz_run(job, rival->variant.engine, out);
    }
}

/* Does this rival differ from the reference? */
static bool differs(const FuzzJob *job, const FuzzPeer *rival)
{
    FuzzOutcome expected, found;
    fuzz_run(job, &interp_engine, &expected);
    run_rival(rival, job, &found);
    bool same = fuzz_outcome_same(&expected, &found);
    fuzz_outcome_free(&expected);
    fuzz_outcome_free(&found);
    return !same;
}

/* All rivals, working while this process does. '*culprit' is the one that differs. */
static bool all_same(const FuzzJob *job, const FuzzPeer **culprit)
{
    for (uint32_t i = 0; i < rival_count; ++i)
        if (rivals[i].pid)
            fuzz_peer_send(&rivals[i], job);
    FuzzOutcome expected, found;
    fuzz_run(job, &interp_engine, &expected);
    *culprit = NULL;
    for (uint32_t i = 0; i < rival_count; ++i) {
        if (rivals[i].pid)
            fuzz_peer_receive(&rivals[i], &found);
        else
            fuzz_run(job, rivals[i].variant.engine, &found);
        if (!*culprit && !fuzz_outcome_same(&expected, &found))
            *culprit = &rivals[i];
        fuzz_outcome_free(&found);
    }
    fuzz_outcome_free(&expected);
    return !*culprit;
}

/* --------------------------------------------------------------------- reduction */

static void reduce_lanes(FuzzJob *job, const FuzzPeer *rival, uint32_t lanes)
{
    job->lanes = lanes;
    while (job->lanes > 1) {
        FuzzJob smaller = *job;
        smaller.lanes /= 2;
        if (!differs(&smaller, rival))
            return;
        *job = smaller;
    }
}

/* Drop what can be dropped: long runs of instructions first, then ever shorter ones. */
static void reduce_program(FuzzJob *job, uint8_t *reductions, const bool *fixed,
                           const FuzzPeer *rival)
{
    uint32_t count = job->reduction_count;
    uint8_t *saved = alloc_get(count);
    for (uint32_t size = count; saved && size; size /= 2) {
        for (uint32_t end = count; end > 0; end = end > size ? end - size : 0) {
            bool any = false;
            memcpy(saved, reductions, count);
            for (uint32_t i = end > size ? end - size : 0; i < end; ++i) {
                any |= !fixed[i] && !reductions[i];
                reductions[i] |= !fixed[i];
            }
            if (any && !differs(job, rival))
                memcpy(reductions, saved, count);
        }
    }
    alloc_free(saved);
}

static void print_program(const FuzzJob *job, FILE *file)
{
    Text text = { 0 };
    Program *program = fuzz_program(job);
    if (program)
        program_write(program, &text);
    const char *string = text_get(&text);
    fprintf(file, "%s", string ? string : error_message());
    text_free(&text);
    program_free(program);
}

static void report(FuzzJob job, const FuzzPeer *rival)
{
    RandomProgram *r = random_program_new(job.seed, job.ops);
    uint32_t count = r ? r->program->inst_count : 0;
    uint8_t *reductions = alloc_zero(count + 1, 1);
    fprintf(stderr,
            "\rFAILED: seed %llu: %s differs from interp. Reducing %u "
            "instructions ...\n",
            (unsigned long long) job.seed, rival_name(rival), count);
    if (r && reductions && differs(&job, rival)) {
        reduce_lanes(&job, rival, r->lanes);
        job.reduction_count = count;
        job.reductions = reductions;
        reduce_program(&job, reductions, r->fixed, rival);
    }
    FuzzOutcome expected, found;
    fuzz_run(&job, &interp_engine, &expected);
    run_rival(rival, &job, &found);
    fprintf(stderr, "with %u lanes: ", job.lanes);
    fuzz_outcome_explain(&job, &expected, &found, stderr);
    print_program(&job, stderr);
    fprintf(stderr,
            "again with: fuzz_programs --seed %llu --count 1 --ops %u --engine "
            "%s\n\n",
            (unsigned long long) job.seed, job.ops, rival_name(rival));
    fuzz_outcome_free(&expected);
    fuzz_outcome_free(&found);
    alloc_free(reductions);
    random_program_free(r);
}

/* -------------------------------------------------------------------------- main */

/* Is this name in the list of '--engine'? */
static bool wanted(const Options *options, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = options->engines; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || !at[length]))
            return true;
    }
    return !options->engines;
}

static void add_rival(const Options *options, const FuzzVariant *variant)
{
    if (!wanted(options, variant->name) || (options->is_inline && variant->variable))
        return;
    FuzzPeer *rival = &rivals[rival_count];
    if (options->is_inline)
        rival->variant = *variant;
    else if (!fuzz_peer_start(rival, variant)) {
        fprintf(stderr, "fuzz_programs: no process for %s\n", variant->name);
        return;
    }
    rival_count++;
}

/* Is the CPU one that has more than the variants? */
static bool has_avx512(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("avx512f");
#else
    return false;
#endif
}

/* Targets of the native engine with few rows. */
static void add_few_rows(const Options *options, const Engine *native)
{
#if defined(__x86_64__)
    static const FuzzVariant variants[] = {
        { "native-few-avx2", NULL, "DRJIT_NATIVE_ISA", "few-avx2", NULL },
        { "native-few-avx512", NULL, "DRJIT_NATIVE_ISA", "few-avx512", NULL },
        { "native-sparse-avx2", NULL, "DRJIT_NATIVE_ISA", "sparse-avx2", NULL },
        { "native-sparse-avx512", NULL, "DRJIT_NATIVE_ISA", "sparse-avx512", NULL },
    };
    few_rows_offer();
    for (size_t i = 0; i < sizeof variants / sizeof *variants; ++i) {
        FuzzVariant variant = variants[i];
        variant.engine = native;
        variant.prepare = few_rows_draw;
        if (options->engines && (!strstr(variant.name, "avx512") || has_avx512()))
            add_rival(options, &variant);
    }
#else
    (void) options, (void) native;
#endif
}

/* The simulator of PTX. Its process writes the next kernels for this one. */
static void draw_capability(uint64_t seed)
{
    static const char *const capabilities[] = { "50", "53", "60", "61", "70", "72",
                                                "75", "80", "86", "89", "90", "100",
                                                "121" };
    const size_t count = sizeof capabilities / sizeof *capabilities;
    setenv("DRJIT_PTX_SM", capabilities[seed % count], 1);
}

static void add_ptx(const Options *options)
{
    const Engine *engine = engine_find("ptx-sim");
    const FuzzVariant variants[] = { { "ptx-sim", engine, NULL, NULL, NULL },
                                     { "ptx-sim-any", engine, NULL, NULL,
                                       draw_capability } };
    for (size_t i = 0; options->engines && engine && i < 2; ++i)
        add_rival(options, &variants[i]);
}

static void find_rivals(const Options *options)
{
    const Engine *native = engine_find("native");
    const FuzzVariant variants[] = {
        { "interp-baseline", &interp_engine, "DRJIT_INTERP_ISA", "baseline", NULL },
        { "interp-avx2", &interp_engine, "DRJIT_INTERP_ISA", "avx2", NULL },
        { "native-avx2", native, "DRJIT_NATIVE_ISA", "avx2", NULL },
        { "native-packets", native, "DRJIT_NATIVE_PACKETS", "4", NULL },
        { "scalar", &scalar_engine, NULL, NULL, NULL },
    };
    for (size_t i = 0; i < sizeof variants / sizeof *variants; ++i)
        if (variants[i].engine && (!strstr(variants[i].name, "avx2") || has_avx512()))
            add_rival(options, &variants[i]);
    add_few_rows(options, native);
    add_ptx(options);
    for (const Engine *const *e = engine_list; *e && rival_count < MAX_RIVALS; ++e) {
        const FuzzVariant variant = { (*e)->name, *e, NULL, NULL, NULL };
        if (*e == &interp_engine || !wanted(options, variant.name) ||
            strcmp(variant.name, "ptx-sim") == 0)
            continue;
        if ((*e)->available())
            add_rival(options, &variant);
        else
            printf("%s is not compared: %s\n", variant.name, error_message());
    }
}

/* Did all end without a complaint? */
static bool stop_rivals(void)
{
    bool ok = true;
    for (uint32_t i = 0; i < rival_count; ++i)
        if (rivals[i].pid && !fuzz_peer_stop(&rivals[i])) {
            printf("the process of %s failed\n", rival_name(&rivals[i]));
            ok = false;
        }
    return ok;
}

static void show_progress(uint64_t done, uint64_t count, uint64_t *last)
{
    uint64_t now = clock_ns();
    if (now - *last < 200000000 || !isatty(STDERR_FILENO))
        return;
    *last = now;
    fprintf(stderr, "\r%llu of %llu ", (unsigned long long) done,
            (unsigned long long) count);
}

static bool parse(int argc, char **argv, Options *o)
{
    for (int i = 1; i < argc; ++i) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (name[0] >= '0' && name[0] <= '9') {
            o->count = strtoull(name, NULL, 0);
            continue;
        }
        if (strcmp(name, "--print") == 0) {
            o->print = true;
            continue;
        }
        if (strcmp(name, "--inline") == 0) {
            o->is_inline = true;
            continue;
        }
        if (!value)
            return false;
        if (strcmp(name, "--count") == 0)
            o->count = strtoull(value, NULL, 0);
        else if (strcmp(name, "--seed") == 0)
            o->seed = strtoull(value, NULL, 0);
        else if (strcmp(name, "--ops") == 0)
            o->ops = (uint32_t) strtoul(value, NULL, 0);
        else if (strcmp(name, "--guard") == 0)
            o->guard = strcmp(value, "before") == 0 ? GUARD_BEFORE : GUARD_BEHIND;
        else if (strcmp(name, "--engine") == 0)
            o->engines = value;
        else
            return false;
        ++i;
    }
    return true;
}

int main(int argc, char **argv)
{
    Options options = { .seed = 1, .count = 2000, .ops = 40 };
    if (!parse(argc, argv, &options)) {
        fprintf(stderr, "usage: fuzz_programs [--count N] [--seed S] [--ops N] "
                        "[--engine NAME,...] [--print] [--guard before|behind] "
                        "[--inline] [N]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    find_rivals(&options);
    catch_crashes();
    printf("interp is compared with");
    for (uint32_t i = 0; i < rival_count; ++i)
        printf("%s %s", i ? "," : "", rival_name(&rivals[i]));
    printf("%s\n", rival_count ? "" : " nobody");
    fflush(stdout);
    uint64_t failed = 0, last = clock_ns();
    for (uint64_t i = 0; i < options.count; ++i) {
        FuzzJob job = { .seed = options.seed + i,
                        .ops = options.ops,
                        .guard = options.guard };
        const FuzzPeer *culprit;
        current_seed = job.seed;
        show_progress(i, options.count, &last);
        if (options.print)
            print_program(&job, stdout);
        if (!all_same(&job, &culprit) && failed++ < MAX_REPORTS)
            report(job, culprit);
    }
    bool stopped = stop_rivals();
    printf("\n%llu passed, %llu failed\n",
           (unsigned long long) (options.count - failed), (unsigned long long) failed);
    return failed || !stopped ? 1 : rival_count ? 0 : 77;
}
