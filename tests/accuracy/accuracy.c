/*
 * accuracy.c -- how exact are the functions?
 *
 *     accuracy [--function NAME|all] [--type f16|f32|f64|all] [--engine NAME]
 *              [--count N | --exhaustive] [--range LOWER UPPER --bins N]
 *              [--threads N] [--json FILE] [--state FOLDER] [--references]
 *
 * The functions are computed by the library as its users would, in blocks of 2^20
 * lanes, and compared with reference.h: the largest error in ulp with its argument, the
 * mean error, special values, the order of neighbours, symmetry. '--count' takes a
 * sample (arguments.h), '--exhaustive' every argument of f16 and f32 where there is one
 * operand; functions that are odd or even are then measured for positive arguments and
 * compared with themselves for negative ones. '--json' appends a line for each
 * function; with '--state' a run continues where an earlier one was stopped, and what
 * is complete is not done again. '--range' prints the largest and mean error in each of
 * '--bins' parts of a range instead, for plots. '--references' asks the references
 * instead whether they agree.
 *
 * One ulp is that of the binade of the exact value; below the normal numbers it is that
 * of the subnormal ones. Infinity counts as the number where the next binade would
 * begin.
 *
 * Status: 0 all within 1 ulp, without any violation; 1 not so; 2 usage or failure.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tally.h"

enum { BLOCK = 1 << 20, MOST_THREADS = 64, PATH_SIZE = 512 };

typedef struct Options {
    const char *function, *type, *engine, *json, *state;
    uint64_t count, bins;
    double lower, upper;
    bool exhaustive, references;
    int threads;
} Options;

/* One function and type that is being measured. */
typedef struct Run {
    const Options *options;
    Arguments arguments;
    Tally tally;
    uint64_t next; /* the first argument that is still to do */
    double seconds;
    char state_path[PATH_SIZE];
    /* of a block, with a place for its successor's first argument */
    void *x[2], *y, *mirrored;
} Run;

/* ------------------------------------------------------------------- results */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* The library's results for 'count' arguments. */
static bool compute(const Run *run, uint64_t count, void *const *x, void *y)
{
    const Function *function = run->arguments.function;
    const Format *f = run->arguments.format;
    uint32_t operands[2] = { 0 }, result = 0, stored = 0;
    void *data;
    bool ok = true;
    for (int k = 0; k < function->arity; ++k) {
        operands[k] = jit_var_mem_copy(JitBackendLLVM, f->type, x[k], count);
        ok = ok && operands[k];
    }
    result = ok ? jit_var_op(function->op, operands) : 0;
    stored = result ? jit_var_data(result, &data) : 0;
    if (stored)
        memcpy(y, data, count * (uint64_t) f->size);
    jit_var_dec_ref(operands[0]);
    jit_var_dec_ref(operands[1]);
    jit_var_dec_ref(result);
    jit_var_dec_ref(stored);
    return stored != 0;
}

/* The same for arguments with the other sign. */
static bool compute_mirrored(const Run *run, uint64_t count)
{
    const Format *f = run->arguments.format;
    unsigned char *top = (unsigned char *) run->x[0] + f->size - 1;
    for (uint64_t i = 0; i < count; ++i)
        top[i * (uint64_t) f->size] ^= 0x80;
    bool ok = compute(run, count, run->x, run->mirrored);
    for (uint64_t i = 0; i < count; ++i)
        top[i * (uint64_t) f->size] ^= 0x80;
    return ok;
}

typedef struct Slice {
    const Results *results;
    uint64_t first, end, count;
    Tally tally;
} Slice;

static void *tally_slice_of_block(void *argument)
{
    Slice *s = argument;
    tally_add(&s->tally, s->results, s->first, s->end, s->count);
    mpfr_free_cache(); /* of this thread */
    return NULL;
}

/* Compare a block in several threads. */
static bool compare(Run *run, uint64_t measured, uint64_t count)
{
    const Results results = { &run->arguments,
                              { run->x[0], run->x[1] },
                              run->y,
                              run->arguments.function->parity == PARITY_NONE
                                  ? NULL
                                  : run->mirrored };
    Slice slices[MOST_THREADS];
    pthread_t threads[MOST_THREADS];
    int started = 0, n = run->options->threads;
    for (int k = 0; k < n; ++k) {
        slices[k] = (Slice){ &results, measured * (uint64_t) k / (uint64_t) n,
                             measured * (uint64_t) (k + 1) / (uint64_t) n, count,
                             tally_slice(&run->tally) };
        if (pthread_create(&threads[k], NULL, tally_slice_of_block, &slices[k]))
            break;
        ++started;
    }
    for (int k = 0; k < started; ++k) {
        pthread_join(threads[k], NULL);
        tally_merge(&run->tally, &slices[k].tally);
    }
    return started == n;
}

/* The next block. */
static bool advance(Run *run)
{
    double start = now();
    const Arguments *a = &run->arguments;
    uint64_t left = a->count - run->next, measured = left < BLOCK ? left : BLOCK;
    uint64_t count = left > measured ? measured + 1 : measured;
    arguments_fill(a, run->next, count, run->x);
    bool ok = compute(run, count, run->x, run->y);
    if (ok && a->function->parity != PARITY_NONE)
        ok = compute_mirrored(run, count);
    if (!ok) {
        fprintf(stderr, "accuracy: %s %s: %s\n", a->function->name, a->format->name,
                jit_error_message());
        return false;
    }
    if (!compare(run, measured, count)) {
        fprintf(stderr, "accuracy: no thread can be started\n");
        return false;
    }
    run->next += measured;
    run->seconds += now() - start;
    return true;
}

/* --------------------------------------------------------------------- state */

/* What a state file is about, so that it is not taken for another run's. */
static void write_title(char *text, size_t size, const Run *run)
{
    const Arguments *a = &run->arguments;
    snprintf(text, size, "%s %s %s %" PRIu64, a->function->name, a->format->name,
             run->options->engine ? run->options->engine : "default", a->count);
}

static void save_witness(FILE *file, const Witness *w)
{
    fprintf(file, "%" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 "\n", w->x[0], w->x[1],
            w->found, w->expected);
}

static bool load_witness(FILE *file, Witness *w)
{
    return fscanf(file, "%" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64, &w->x[0],
                  &w->x[1], &w->found, &w->expected) == 4;
}

static bool save_state(const Run *run)
{
    char title[128], fresh[PATH_SIZE + 8];
    const Tally *t = &run->tally;
    if (!run->state_path[0])
        return true;
    snprintf(fresh, sizeof(fresh), "%s.new", run->state_path);
    FILE *file = fopen(fresh, "w");
    if (!file) {
        fprintf(stderr, "accuracy: %s: %s\n", fresh, strerror(errno));
        return false;
    }
    write_title(title, sizeof(title), run);
    fprintf(file, "%s\n%" PRIu64 " %a\n", title, run->next, run->seconds);
    fprintf(file, "%" PRIu64 " %" PRIu64 " %a %a %" PRIu64 " %" PRIu64 " %" PRIu64
                  " %" PRIu64 "\n", t->count, t->measured, t->sum, t->most, t->above,
            t->wrong, t->unordered, t->lopsided);
    save_witness(file, &t->worst);
    save_witness(file, &t->first_wrong);
    save_witness(file, &t->first_unordered);
    save_witness(file, &t->first_lopsided);
    return fclose(file) == 0 && rename(fresh, run->state_path) == 0;
}

/* Continue an earlier run, if there is one of the same title. */
static void load_state(Run *run)
{
    char title[128], line[128] = "";
    Tally t = { 0 };
    uint64_t next;
    double seconds;
    FILE *file = run->state_path[0] ? fopen(run->state_path, "r") : NULL;
    if (!file)
        return;
    write_title(title, sizeof(title), run);
    bool ok = fgets(line, sizeof(line), file) != NULL;
    line[strcspn(line, "\n")] = 0;
    ok = ok && strcmp(line, title) == 0 &&
         fscanf(file, "%" SCNu64 " %la", &next, &seconds) == 2 &&
         fscanf(file, "%" SCNu64 " %" SCNu64 " %la %la %" SCNu64 " %" SCNu64
                      " %" SCNu64 " %" SCNu64, &t.count, &t.measured, &t.sum, &t.most,
                &t.above, &t.wrong, &t.unordered, &t.lopsided) == 8 &&
         load_witness(file, &t.worst) && load_witness(file, &t.first_wrong) &&
         load_witness(file, &t.first_unordered) &&
         load_witness(file, &t.first_lopsided) && next <= run->arguments.count;
    fclose(file);
    if (!ok) {
        fprintf(stderr, "accuracy: %s is of another run\n", run->state_path);
        return;
    }
    run->tally = t;
    run->next = next;
    run->seconds = seconds;
}

/* -------------------------------------------------------------------- output */

static void print_witness(const Run *run, const char *what, uint64_t count,
                          const Witness *w)
{
    const Format *f = run->arguments.format;
    bool two = run->arguments.function->arity == 2;
    if (!count)
        return;
    printf("    %" PRIu64 " %s, first %s(%a", count, what,
           run->arguments.function->name, reference_value(f, w->x[0]));
    if (two)
        printf(", %a", reference_value(f, w->x[1]));
    printf(") = %a, expected %a\n", reference_value(f, w->found),
           reference_value(f, w->expected));
}

static void print_tally(const Run *run)
{
    const Arguments *a = &run->arguments;
    const Tally *t = &run->tally;
    printf("%-7s%-4s%11" PRIu64 "%s  largest %8.5f ulp at %a", a->function->name,
           a->format->name, t->count, a->all ? " (all)" : "", t->most,
           reference_value(a->format, t->worst.x[0]));
    if (a->function->arity == 2)
        printf(", %a", reference_value(a->format, t->worst.x[1]));
    printf(", mean %.4f, %.0f s  %s\n",
           t->measured ? t->sum / (double) t->measured : 0.0, run->seconds,
           tally_passes(t) ? "ok" : "VIOLATES");
    print_witness(run, "errors above 1 ulp", t->above, &t->worst);
    print_witness(run, "wrong special values", t->wrong, &t->first_wrong);
    if (t->unordered)
        printf("    %" PRIu64 " neighbours in wrong order, first %s(%a) = %a and its "
               "successor's %a\n", t->unordered, a->function->name,
               reference_value(a->format, t->first_unordered.x[0]),
               reference_value(a->format, t->first_unordered.found),
               reference_value(a->format, t->first_unordered.expected));
    print_witness(run, "violations of symmetry", t->lopsided, &t->first_lopsided);
    fflush(stdout);
}

/* A line of the JSON file; arguments are strings in C's hexadecimal form. */
static bool append_json(const Run *run)
{
    const Arguments *a = &run->arguments;
    const Tally *t = &run->tally;
    FILE *file = fopen(run->options->json, "a");
    if (!file) {
        fprintf(stderr, "accuracy: %s: %s\n", run->options->json, strerror(errno));
        return false;
    }
    fprintf(file, "{\"function\": \"%s\", \"type\": \"%s\", \"engine\": \"%s\", "
                  "\"exhaustive\": %s, \"count\": %" PRIu64 ", \"arguments\": [",
            a->function->name, a->format->name,
            run->options->engine ? run->options->engine : "default",
            a->all ? "true" : "false", t->count);
    for (int k = 0; k < a->function->arity; ++k)
        fprintf(file, "%s\"%a\"", k ? ", " : "",
                reference_value(a->format, t->worst.x[k]));
    fprintf(file, "], \"largest\": %.6f, \"mean\": %.6f, \"above\": %" PRIu64
                  ", \"wrong\": %" PRIu64 ", \"unordered\": %" PRIu64
                  ", \"lopsided\": %" PRIu64 ", \"seconds\": %.1f}\n",
            t->most, t->measured ? t->sum / (double) t->measured : 0.0, t->above,
            t->wrong, t->unordered, t->lopsided, run->seconds);
    return fclose(file) == 0;
}

static void show_progress(const Run *run)
{
    enum { WIDTH = 40 };
    static double last;
    const Arguments *a = &run->arguments;
    if (!isatty(STDERR_FILENO) || now() - last < 0.5)
        return;
    last = now();
    double done = (double) run->next / (double) a->count;
    int filled = (int) (done * WIDTH);
    double left = run->next ? run->seconds / done - run->seconds : 0;
    fprintf(stderr, "\r%-7s%s [%.*s%*s] %3.0f%%, %.0f s left, %.4f ulp ",
            a->function->name, a->format->name, filled,
            "########################################", WIDTH - filled, "",
            100 * done, left, run->tally.most);
    if (run->next == a->count)
        fprintf(stderr, "\r%80s\r", "");
}

/* ---------------------------------------------------------------------- runs */

/* Has the library this function? It says so at the first launch. */
static bool is_there(const Run *run)
{
    uint64_t zero[2] = { 0 }, result[2];
    void *x[] = { zero, zero };
    if (compute(run, 2, x, result))
        return true;
    if (jit_error() != JIT_ERROR_UNSUPPORTED)
        fprintf(stderr, "accuracy: %s\n", jit_error_message());
    else
        printf("%-7s%-4s not there yet, skipped\n", run->arguments.function->name,
               run->arguments.format->name);
    jit_error_clear();
    return false;
}

/* The largest and mean error in parts of a range, a line for each. */
static bool print_profile(Run *run)
{
    const Options *o = run->options;
    uint64_t per_bin = o->count / o->bins;
    double width = (o->upper - o->lower) / (double) o->bins;
    for (uint64_t bin = 0; bin < o->bins; ++bin) {
        run->tally = (Tally){ 0 };
        run->next = 0;
        run->arguments.count = per_bin < BLOCK ? per_bin : BLOCK;
        run->arguments.lower = o->lower + (double) bin * width;
        run->arguments.upper = run->arguments.lower + width;
        if (!advance(run))
            return false;
        printf("%.17g %.6f %.6f\n", run->arguments.lower + width / 2, run->tally.most,
               run->tally.sum / (double) run->tally.measured);
    }
    return true;
}

static bool measure_all(Run *run, bool *passes)
{
    const Options *o = run->options;
    if (o->state)
        snprintf(run->state_path, sizeof(run->state_path), "%s/%s-%s%s.state", o->state,
                 run->arguments.function->name, run->arguments.format->name,
                 run->arguments.all ? "-all" : "");
    load_state(run);
    bool fresh = run->next < run->arguments.count;
    for (int blocks = 0; run->next < run->arguments.count; ++blocks) {
        if (!advance(run) || (blocks % 16 == 15 && !save_state(run)))
            return false;
        show_progress(run);
    }
    print_tally(run);
    *passes &= tally_passes(&run->tally);
    return save_state(run) && (!fresh || !o->json || append_json(run));
}

/* Do the references agree on a sample, as far as they must? */
static bool compare_references(Run *run, bool *passes)
{
    const Arguments *a = &run->arguments;
    const Format *f = a->format;
    uint64_t wrong = 0;
    for (; run->next < a->count; ++run->next) {
        uint64_t bits[2] = { 0 };
        double x[2] = { 0 };
        arguments_fill(a, run->next, 1, (void *[]){ &bits[0], &bits[1] });
        for (int k = 0; k < a->function->arity; ++k)
            x[k] = reference_value(f, bits[k]);
        double near = a->function->arity == 1 ? a->function->near_1(x[0])
                                              : a->function->near_2(x[0], x[1]);
        double y = reference_value(f, reference_bits(f, near));
        Difference d = reference_near(a->function, f, x, y);
        Difference e = reference_exact(a->function, f, x, y);
        bool same = d.special == e.special && d.wrong == e.wrong &&
                    fabs(d.ulp - e.ulp) <= f->slack;
        /* Beyond the range of the references' type their results are special. */
        same |= e.ulp < f->slack && !d.wrong && (isinf(y) || y == 0);
        if (!same && !wrong++)
            printf("%s %s(%a, %a): %g ulp, exactly %g (special %d, %d; wrong %d, %d)\n",
                   f->name, a->function->name, x[0], x[1], d.ulp, e.ulp, d.special,
                   e.special, d.wrong, e.wrong);
    }
    if (wrong)
        printf("    and %" PRIu64 " more\n", wrong - 1);
    *passes &= wrong == 0;
    return true;
}

static bool allocate(Run *run)
{
    size_t size = (size_t) (BLOCK + 1) * (size_t) run->arguments.format->size;
    run->x[0] = malloc(size);
    run->x[1] = malloc(size);
    run->y = malloc(size);
    run->mirrored = malloc(size);
    return run->x[0] && run->x[1] && run->y && run->mirrored;
}

/* False: it could not be measured. */
static bool examine(const Options *options, const Function *function,
                    const Format *format, bool *passes)
{
    Run run = { .options = options };
    bool all = options->exhaustive && function->arity == 1 && format->size < 8;
    uint64_t count = all ? 0 : options->count;
    bool ok = arguments_begin(&run.arguments, function, format, count);
    ok = ok && allocate(&run);
    if (!ok)
        fprintf(stderr, "accuracy: out of memory\n");
    if (ok && options->references)
        ok = compare_references(&run, passes);
    else if (ok && is_there(&run))
        ok = options->bins ? print_profile(&run) : measure_all(&run, passes);
    free(run.x[0]);
    free(run.x[1]);
    free(run.y);
    free(run.mirrored);
    arguments_end(&run.arguments);
    return ok;
}

/* ------------------------------------------------------------------- options */

static bool is_all(const char *name)
{
    return strcmp(name, "all") == 0;
}

static bool parse(int argc, char **argv, Options *o)
{
    for (int i = 1; i < argc; ++i) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(name, "--exhaustive") == 0) {
            o->exhaustive = true;
            continue;
        }
        if (strcmp(name, "--references") == 0) {
            o->references = true;
            continue;
        }
        if (!value)
            return false;
        ++i;
        if (strcmp(name, "--function") == 0)
            o->function = value;
        else if (strcmp(name, "--type") == 0)
            o->type = value;
        else if (strcmp(name, "--engine") == 0)
            o->engine = value;
        else if (strcmp(name, "--json") == 0)
            o->json = value;
        else if (strcmp(name, "--state") == 0)
            o->state = value;
        else if (strcmp(name, "--count") == 0)
            o->count = (uint64_t) strtod(value, NULL);
        else if (strcmp(name, "--bins") == 0)
            o->bins = strtoull(value, NULL, 10);
        else if (strcmp(name, "--threads") == 0)
            o->threads = atoi(value);
        else if (strcmp(name, "--range") == 0 && i + 1 < argc) {
            o->lower = strtod(value, NULL);
            o->upper = strtod(argv[++i], NULL);
        } else
            return false;
    }
    return (is_all(o->function) || reference_function(o->function)) &&
           (is_all(o->type) || reference_format(o->type)) && o->count > 0 &&
           o->threads > 0 && o->threads <= MOST_THREADS &&
           (o->bins > 0) == (o->lower < o->upper) && o->count >= o->bins;
}

int main(int argc, char **argv)
{
    Options options = { .function = "all", .type = "all", .count = 1 << 22,
                        .threads = (int) sysconf(_SC_NPROCESSORS_ONLN) };
    if (!parse(argc, argv, &options)) {
        fprintf(stderr,
                "usage: accuracy [--function NAME|all] [--type f16|f32|f64|all]\n"
                "                [--engine NAME] [--count N | --exhaustive]\n"
                "                [--range LOWER UPPER --bins N] [--threads N]\n"
                "                [--json FILE] [--state FOLDER] [--references]\n");
        return 2;
    }
    /* Kernels on disk may be of rules that have changed since. */
    setenv("DRJIT_CACHE_DIR", "", 1);
    if (options.engine)
        setenv("DRJIT_CPU_ENGINE", options.engine, 1);
    jit_set_log_level_stderr(LogLevelError);
    if (!jit_init(JitBackendLLVM)) {
        fprintf(stderr, "accuracy: %s\n", jit_error_message());
        return 2;
    }
    bool done = true, passes = true;
    for (const Format *f = reference_formats; f->name; ++f)
        for (const Function *g = reference_functions; g->name; ++g)
            if ((is_all(options.type) || f == reference_format(options.type)) &&
                (is_all(options.function) || g == reference_function(options.function)))
                done &= examine(&options, g, f, &passes);
    mpfr_free_cache();
    jit_shutdown(0);
    return !done ? 2 : !passes;
}
