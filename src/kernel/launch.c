/*
 * launch.c -- see launch.h
 *
 * The arguments are the traced ones, then the values of generalised literals, then the
 * address of the reports, which lie in a buffer like any other array. Who wants to know
 * how a launch ended gets it from an End; most launches need none.
 */
#include "kernel/launch.h"

#include <string.h>

#include "base/alloc.h"
#include "device/stream.h"
#include "kernel/tier.h"

/* What is to be done when a launch has ended. */
typedef struct End {
    Kernel *kernel;   /* a reference, if its time is to be accounted; else NULL */
    PrintArea *prints; /* how their area begins; NULL if nothing is printed */
    size_t prints_size;
    void (*done)(void *payload, const LaunchResult *result);
    void *payload;
    uint32_t report_count;
    CheckReport reports[];
} End;

static void free_end(void *payload)
{
    End *end = payload;
    if (!end)
        return;
    cache_release(end->kernel);
    alloc_free(end->prints);
    alloc_free(end);
}

/* What was printed before the launch was interrupted is worth reading, too. */
static void read_prints(const End *end, const Command *command,
                        const CommandResult *result, PrintRecords *out)
{
    bool any = !result->error || result->error->code == JIT_ERROR_INTERRUPTED;
    const Slot *slot = &command->slots[command->launch.prints - 1];
    print_log_read(end->prints, end->prints_size, any ? slot->buffer : NULL, out);
}

static void launch_done(void *payload, const Command *command,
                        const CommandResult *result)
{
    End *end = payload;
    if (end->kernel)
        tier_account(end->kernel, result->ns);
    ErrorRecord wrong;
    wrong.code = JIT_OK;
    if (end->report_count && !result->error &&
        !buffer_read(command->slots[command->slot_count - 1].buffer, 0, end->reports,
                     end->report_count * sizeof(CheckReport)))
        error_save(&wrong);
    PrintRecords prints = { .copy = NULL };
    if (end->prints)
        read_prints(end, command, result, &prints);
    if (end->done)
        end->done(end->payload,
                  &(LaunchResult) {
                      .error = result->error, .ns = result->ns, .end = result->end,
                      .reports = end->reports, .report_count = end->report_count,
                      .prints = end->prints ? &prints : NULL, .wrong = &wrong });
    print_log_free(&prints);
    if (wrong.code && !result->error)
        stream_fail(command, &wrong);
    free_end(end);
}

static bool make_end(const LaunchSpec *spec, bool account, End **out)
{
    uint32_t checks = spec->program->check_count;
    *out = NULL;
    if (!spec->done && !account && !checks && !spec->program->print_count)
        return true;
    End *end = alloc_zero(1, sizeof *end + checks * sizeof(CheckReport));
    TRY(end, false);
    if (spec->program->print_count) {
        end->prints = print_log_area(spec->program, PRINT_LOG_BYTES,
                                     &end->prints_size);
        if (!end->prints) {
            alloc_free(end);
            return false;
        }
    }
    if (account) {
        end->kernel = spec->kernel;
        cache_retain(end->kernel);
    }
    end->done = spec->done;
    end->payload = spec->payload;
    end->report_count = checks;
    for (uint32_t i = 0; i < checks; ++i)
        end->reports[i].bound = spec->check_bounds[i];
    *out = end;
    return true;
}

/* A slot of 'bytes' that begin with this, for what kernels report. */
static bool add_reports(Command *c, uint32_t slot, uint32_t word, const void *begin,
                        size_t size, size_t bytes)
{
    Buffer *buffer = buffer_get(c->device, bytes);
    TRY(buffer, false);
    bool ok = buffer_write(buffer, 0, begin, size);
    if (ok)
        command_set_slot(c, slot, buffer, 0, bytes, SLOT_READ_WRITE);
    c->slots[slot].word = word;
    buffer_release(buffer);
    return ok;
}

/* Behind the arrays: what is printed, then the checks. */
static bool add_all_reports(Command *c, const Program *program, const End *end)
{
    const size_t checks = end->report_count * sizeof(CheckReport);
    uint32_t slot = c->slot_count - (end->report_count != 0);
    c->launch.prints = end->prints ? slot : 0;
    TRY(!end->prints ||
        add_reports(c, slot - 1, program_find_param(program, PARAM_PRINT), end->prints,
                    end->prints_size, end->prints_size + PRINT_LOG_BYTES), false);
    return !checks || add_reports(c, slot, program->param_count - 1, end->reports,
                                  checks, checks);
}

static void fill_args(uint64_t *args, const LaunchSpec *spec)
{
    const Kernel *kernel = spec->kernel;
    const Program *traced = spec->program;
    uint32_t count = traced->param_count - (traced->check_count != 0);
    if (count)
        memcpy(args, spec->args, count * sizeof(uint64_t));
    for (uint32_t i = 0; i < kernel->value_count; ++i)
        args[kernel->first_value + i] = traced->literals[kernel->value_literals[i]];
}

/* The code of a launch, and what is to be done at its end. On failure the command is
 * freed. */
static bool complete(Command *c, const LaunchSpec *spec)
{
    const Kernel *kernel = spec->kernel;
    const KernelCode *code = tier_code(kernel);
    bool account = code == &kernel->base && tier_is_open(kernel);
    End *end = NULL;
    if (!make_end(spec, account, &end) ||
        (end && !add_all_reports(c, kernel->program, end))) {
        command_free(c);
        free_end(end);
        return false;
    }
    if (c->launch.code)
        code_release(c->launch.code);
    c->launch.code = code_retain(code->code);
    if (!end)
        return true;
    c->timed = spec->done || account;
    c->once = end->prints != NULL;
    c->judged = end->report_count != 0;
    c->done = launch_done;
    c->drop = free_end;
    c->payload = end;
    return true;
}

Command *launch_create(const LaunchSpec *spec)
{
    const Kernel *kernel = spec->kernel;
    uint32_t words = kernel->program->param_count;
    Command *c = command_create(spec->device, COMMAND_LAUNCH, spec->size,
                                spec->array_count + (spec->program->check_count != 0) +
                                    (spec->program->print_count != 0),
                                words * sizeof(uint64_t) +
                                    spec->fused_count * sizeof(FusedReduction));
    TRY(c, NULL);
    c->launch.workers = spec->workers;
    c->launch.words = words;
    c->launch.fused = spec->fused_count;
    if (spec->fused_count)
        memcpy(command_fused(c), spec->fused,
               spec->fused_count * sizeof(FusedReduction));
    for (uint32_t i = 0; i < spec->array_count; ++i) {
        const LaunchArray *a = &spec->arrays[i];
        command_set_slot(c, i, a->buffer, 0, a->buffer->size, (SlotAccess) a->access);
        c->slots[i].word = a->word;
    }
    fill_args(c->data, spec);
    return complete(c, spec) ? c : NULL;
}

Command *launch_again(const Command *pattern, uint64_t size, const LaunchSpec *launch)
{
    Command *c = command_like(pattern, size);
    TRY(c, NULL);
    LaunchSpec spec = *launch;
    spec.program = spec.kernel->program;
    return complete(c, &spec) ? c : NULL;
}

uint64_t launch_predict(const Kernel *kernel, uint32_t size)
{
    Device *device = kernel->key.device;
    return device->predict ? device->predict(device, tier_code(kernel)->code, size) : 0;
}
