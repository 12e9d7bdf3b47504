/*
 * report.c -- see report.h
 */
#include "trace/eval/report.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "kernel/tier.h"
#include "lower/legalise.h"
#include "trace/eval/traffic.h"
#include "trace/graph/access.h"
#include "trace/graph/print.h"

struct Report {
    HistoryEntry *history; /* NULL: the launch is not in it */
    Printer **printers;    /* of each print, with a reference */
    uint32_t print_count;
    uint32_t count;        /* of checks */
    struct {
        uint32_t kind;     /* CHECK_... */
        char name[150];    /* of the variable: its label, or where it was made */
    } checks[];
};

/* ------------------------------------------------------------------- making */

static Report *make(uint32_t checks, uint32_t prints)
{
    Report *report = alloc_zero(1, sizeof(Report) + checks * sizeof(report->checks[0]));
    TRY(report, NULL);
    report->count = checks;
    report->print_count = prints;
    report->printers = prints ? alloc_get(prints * sizeof(Printer *)) : NULL;
    if (report->printers || !prints)
        return report;
    alloc_free(report);
    return NULL;
}

static void free_report(Report *report)
{
    alloc_free(report->printers);
    alloc_free(report);
}

Report *report_make(const Assembly *b)
{
    Report *report = make(b->program->check_count, b->program->print_count);
    TRY(report, NULL);
    for (uint32_t i = 0; i < report->count; ++i) {
        const Var *check = var_get(b->check_vars[i]);
        char *name = report->checks[i].name;
        report->checks[i].kind = check->aux;
        if (check->aux == CHECK_LOOP)
            snprintf(name, sizeof(report->checks[i].name), "%s", extra_label(check));
        else
            extra_describe(b->check_vars[i], name, sizeof(report->checks[i].name));
    }
    for (uint32_t i = 0; i < report->print_count; ++i)
        report->printers[i] = print_printer(b->print_vars[i]);
    return report;
}

Report *report_again(const Report *report)
{
    Report *again = report ? make(report->count, report->print_count) : make(0, 0);
    TRY(again && report, again);
    memcpy(again->checks, report->checks, report->count * sizeof(report->checks[0]));
    for (uint32_t i = 0; i < report->print_count; ++i)
        print_retain(again->printers[i] = report->printers[i]);
    return again;
}

/* -------------------------------------------------------------------- files */

bool report_put(const Report *report, const char *function, Text *out)
{
    if (report->print_count)
        return error_set(JIT_ERROR_UNSUPPORTED, "%s: the recording cannot be saved: a "
                         "kernel prints, to a function of this process", function);
    bytes_put(out, report->count, sizeof(uint32_t));
    for (uint32_t i = 0; i < report->count; ++i) {
        bytes_put(out, report->checks[i].kind, sizeof(uint32_t));
        bytes_put_block(out, report->checks[i].name, strlen(report->checks[i].name));
    }
    return true;
}

uint32_t report_prints(const Report *report) { return report->print_count; }

bool report_check(const Report *report, uint32_t number, uint32_t *kind,
                  const char **name)
{
    TRY(number < report->count, false);
    *kind = report->checks[number].kind;
    *name = report->checks[number].name;
    return true;
}

bool report_same(const Report *a, const Report *b)
{
    bool same = a->count == b->count && a->print_count == b->print_count;
    for (uint32_t i = 0; same && i < a->count; ++i)
        same = a->checks[i].kind == b->checks[i].kind &&
               strcmp(a->checks[i].name, b->checks[i].name) == 0;
    return same;
}

Report *report_take(ByteReader *in)
{
    enum { LEAST_BYTES = sizeof(uint32_t) + sizeof(uint64_t) };
    Report *report = make(bytes_take_count(in, LEAST_BYTES), 0);
    TRY(report, NULL);
    for (uint32_t i = 0; i < report->count; ++i) {
        size_t size;
        report->checks[i].kind = (uint32_t) bytes_take(in, sizeof(uint32_t));
        const void *name = bytes_take_block(in, &size);
        in->failed |= report->checks[i].kind >= CHECK_COUNT ||
                      size >= sizeof(report->checks[i].name);
        if (!in->failed)
            memcpy(report->checks[i].name, name, size);
    }
    if (!in->failed)
        return report;
    free_report(report);
    return NULL;
}

/* ------------------------------------------------------------------- the end */

static void log_check(uint32_t kind, const char *name, const CheckReport *found)
{
    unsigned long long bound = found->bound;
    bool reads = kind == CHECK_GATHER || kind == CHECK_LOCAL_READ;
    char lanes[32] = "";
    if (found->count > 1)
        snprintf(lanes, sizeof(lanes), ", %u lanes", found->count);
    if (kind == CHECK_CALL) /* ids count from 1 */
        log_write(LogLevelWarn,
                  "Attempted to invoke callable with index %u, but this value must be "
                  "smaller than %llu. (%s%s)",
                  found->index - 1, bound - 1, name, lanes);
    else
        log_write(LogLevelWarn,
                  "%s: out-of-bounds %s position %u in an array of size %llu. (%s%s)",
                  access_functions[kind], reads ? "read from" : "write to",
                  found->index, bound, name, lanes);
}

/* A loop has run for longer than the caller has said, and what was computed is wrong.
 * The first such check counts. */
static void fail_loop(ErrorRecord *wrong, const char *name, const CheckReport *found)
{
    if (wrong->code)
        return;
    wrong->code = JIT_ERROR_ARGUMENT;
    snprintf(wrong->message, sizeof(wrong->message),
             "%s: loop '%s' has run for %u iterations, its 'max_iterations' is %llu",
             access_functions[CHECK_LOOP], name, found->index,
             (unsigned long long) found->bound - 1);
}

void report_done(void *payload, const LaunchResult *result)
{
    Report *report = payload;
    const CheckReport *reports = result->reports;
    history_finish(report->history, result->ns, result->end);
    for (uint32_t i = 0; i < result->report_count && i < report->count; ++i)
        if (reports[i].count && report->checks[i].kind == CHECK_LOOP)
            fail_loop(result->wrong, report->checks[i].name, &reports[i]);
        else if (reports[i].count)
            log_check(report->checks[i].kind, report->checks[i].name, &reports[i]);
    if (result->prints)
        print_deliver(report->printers, report->print_count, result->prints);
    free_report(report);
}

void report_drop(Report *report)
{
    if (!report)
        return;
    history_finish(report->history, 0, 0);
    for (uint32_t i = 0; i < report->print_count; ++i)
        print_release_later(report->printers[i]);
    free_report(report);
}

/* ------------------------------------------------------------------ history */

void report_write_ir(const Kernel *kernel, bool engine_too, Text *out)
{
    program_write(kernel->program, out);
    const KernelCode *code = tier_code(kernel);
    const Engine *engine = code->engine;
    if (!engine->write_ir || !engine_too)
        return;
    const Program *legal = legalise(kernel->program, engine);
    if (legal) {
        text_put(out, "\n");
        engine->write_ir(legal, &(CodeSpec){ .hash = kernel->key.full,
                                             .target = kernel->key.target,
                                             .many_lanes = code->many_lanes }, out);
    }
    if (legal != kernel->program)
        program_free((Program *) legal);
}

void report_add_history(Report *report, const ThreadState *ts,
                        const ReportedLaunch *launch)
{
    const Kernel *kernel = launch->kernel;
    const Command *command = launch->command;
    Traffic traffic;
    if (!traffic_find(command, launch->program, &traffic))
        return;
    Text text = { 0 };
    report_write_ir(kernel, state_flag(ts, JitFlagPrintIR), &text);
    KernelHistoryEntry entry = {
        .backend = command->device->backend,
        .type = launch->operation_count ? KernelTypeJIT : KernelTypeBlockReduce,
        .hash = { kernel->key.full.low, kernel->key.full.high }, .ir = text_get(&text),
        .engine = tier_code(kernel)->engine->name, .size = (size_t) command->size,
        .input_count = launch->input_count, .output_count = launch->output_count,
        .operation_count = launch->operation_count, .cache_hit = launch->hit,
        .bytes_read = traffic.read, .bytes_written = traffic.written,
        .flops = traffic.flops, .has_loops = traffic.loops,
        .recording_mode = launch->mode,
        .cache_disk = !launch->hit && kernel->from_disk,
        .codegen_time = (double) launch->codegen_ns * 1e-6,
        .backend_time = launch->hit ? 0 : (double) kernel->build_ns * 1e-6
    };
    report->history = history_add(ts, &entry);
    text_free(&text);
}
