/*
 * exported.c -- see exported.h
 *
 * A call is what freezing_replay.c does, for memory in the place of variables: commands
 * are done again one after the other (recording/recording_walk.h). An output is
 * computed in the caller's memory where kernels may load whole vectors at its end, else
 * copied there; so is the state of a loop, and what has a size that is found on the
 * way.
 */
#include "export/runtime/exported.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/isa.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/launch/cpu_describe.h"
#include "device/cpu/pool.h"
#include "device/cpu/primitives/transfer.h"
#include "device/stream.h"
#include "ir/program.h"

enum { PADDING = 64 };

/* Kernels come with what is to be known of them (src/export/export_source.c). */
void cpu_describe(Device *device, const Program *program, Code *code)
{
    (void) device;
    (void) program;
    (void) code;
}

/** One call. */
typedef struct Call {
    ExportedFunction *f;
    const ExportedArray *in;
    ExportedArray *out;
    Stream *stream;
    Walk walk;
    Buffer **inputs;   /* memory of the caller, or copies of it; references */
    uint32_t *targets; /* of arrays: the output that each is computed for, NONE */
    bool *own;         /* of outputs: the memory is ours, until the call succeeds */
    int64_t *sizes;    /* of inputs, by class */
} Call;

#define NONE UINT32_MAX

/* ------------------------------------------------------------------- beginning */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void drop_constants(ExportedFunction *f)
{
    for (uint32_t i = 0; i < f->recording->constant_count; ++i) {
        buffer_release(f->recording->constants[i]);
        f->recording->constants[i] = NULL;
    }
}

static bool begin(ExportedFunction *f)
{
    Recording *r = f->recording;
    if (!exported_isa_suits() || f->extensions & ~isa_extensions())
        return error_set(JIT_ERROR_UNSUPPORTED, "%s(): this CPU lacks instructions: "
                         "the function was exported on one with more, for %s", f->name,
                         exported_isa());
    r->device = cpu_device();
    f->link();
    for (uint32_t i = 0; i < r->command_count; ++i)
        r->commands[i].pattern->device = r->device;
    for (uint32_t i = 0; i < r->constant_count; ++i) {
        const ExportedConstant *c = &f->constants[i];
        r->constants[i] = buffer_map(r->device, (void *) c->address, c->bytes, NULL,
                                     NULL);
        if (!r->constants[i]) {
            drop_constants(f);
            return false;
        }
    }
    return true;
}

static bool begin_once(ExportedFunction *f)
{
    pthread_mutex_lock(&lock);
    if (!f->begun)
        f->begun = begin(f);
    bool ok = f->begun;
    pthread_mutex_unlock(&lock);
    return ok;
}

/* ----------------------------------------------------------------- what is given */

static bool is_done(const Call *c, Replay result)
{
    if (result == REPLAY_REFUSED && error_code() == JIT_OK)
        error_set(JIT_ERROR_ARGUMENT, "%s(): the sizes are too large", c->f->name);
    return result == REPLAY_DONE;
}

static const char *name_of_size(const Call *c, uint32_t size)
{
    uint32_t i = 0;
    while (c->f->inputs[i].size != size)
        ++i;
    return c->f->inputs[i].name;
}

/* Kernels do not read indices that were known when they were made. */
static bool check_entries(const Call *c, uint32_t k)
{
    const ExportedInput *input = &c->f->inputs[k];
    const uint32_t *entries = c->in[k].address;
    size_t i = 0;
    while (input->counts && i < c->in[k].size &&
           entries[i] == (uint32_t) i + input->first)
        ++i;
    return !input->counts || i == c->in[k].size ||
           error_set(JIT_ERROR_ARGUMENT, "%s(): entry %zu of '%s' is %u, expected %u, "
                     "as when it was recorded", c->f->name, i, input->name, entries[i],
                     (uint32_t) i + input->first);
}

static bool check_input(const Call *c, uint32_t k)
{
    const ExportedInput *input = &c->f->inputs[k];
    const ExportedArray *a = &c->in[k];
    if (a->size > UINT32_MAX)
        return error_set(JIT_ERROR_ARGUMENT, "%s(): '%s' has %zu entries, expected "
                         "fewer than 2^32", c->f->name, input->name, a->size);
    if (a->size && input->entry && !a->address)
        return error_set(JIT_ERROR_ARGUMENT, "%s(): '%s' is NULL", c->f->name,
                         input->name);
    const int64_t pinned = c->f->pinned[input->size];
    if (pinned >= 0 && pinned != (int64_t) a->size)
        return error_set(JIT_ERROR_ARGUMENT, "%s(): '%s' has %zu entries, expected "
                         "%lld, as when it was recorded: arrays of its size are "
                         "accessed by index", c->f->name, input->name, a->size,
                         (long long) pinned);
    if (c->sizes[input->size] < 0)
        c->sizes[input->size] = (int64_t) a->size;
    if (c->sizes[input->size] != (int64_t) a->size)
        return error_set(JIT_ERROR_ARGUMENT, "%s(): '%s' has %zu entries, expected "
                         "%lld, as '%s'", c->f->name, input->name, a->size,
                         (long long) c->sizes[input->size],
                         name_of_size(c, input->size));
    return check_entries(c, k);
}

static Replay set_sizes(void *call, uint32_t numbers)
{
    const Call *c = call;
    const SymSizes *w = &c->f->recording->symsizes;
    uint32_t guard;
    TRY(symsize_evaluate(w, numbers, c->sizes, c->walk.values), REPLAY_REFUSED);
    if (symsize_hold(w, numbers, c->walk.values, &guard))
        return REPLAY_DONE;
    error_set(JIT_ERROR_ARGUMENT, "%s(): the sizes do not fit: '%s' does not hold",
              c->f->name, c->f->guards[guard]);
    return REPLAY_FAILED;
}

static bool check_inputs(Call *c)
{
    for (uint32_t i = 0; i < c->f->sizes; ++i)
        c->sizes[i] = i < 2 ? (int64_t) i : -1;
    for (uint32_t k = 0; k < c->f->input_count; ++k)
        if (!check_input(c, k))
            return false;
    return is_done(c, set_sizes(c, 0));
}

static size_t output_size(const Call *c, uint32_t k)
{
    const SymSize symsize = c->f->outputs[k].symsize;
    return symsize ? (size_t) c->walk.values[symsize] : 0;
}

/* Does its size depend on numbers that are read on the way? */
static bool is_late(const Call *c, uint32_t k)
{
    return c->f->recording->symsizes.terms[c->f->outputs[k].symsize].late != 0;
}

/* Its size is known. Is there room? If not, outputs say what they need. */
static bool check_room(const Call *c, uint32_t k)
{
    const ExportedOutput *output = &c->f->outputs[k];
    size_t size = output_size(c, k), room = c->out[k].size;
    if (!c->out[k].address || room >= size)
        return true;
    for (uint32_t i = 0; i < c->f->output_count; ++i)
        if (i == k || !is_late(c, i))
            c->out[i].size = output_size(c, i);
    return error_set(JIT_ERROR_ARGUMENT, "%s(): '%s' has room for %zu entries, needed "
                     "are %zu", c->f->name, output->name, room, size);
}

/* Does memory of the caller for an output overlap that of something else? */
static bool overlaps(const ExportedArray *a, uint32_t a_entry, const ExportedArray *b,
                     uint32_t b_entry)
{
    uintptr_t x = (uintptr_t) a->address, y = (uintptr_t) b->address;
    return a->address && b->address && x < y + b->size * b_entry &&
           y < x + a->size * a_entry;
}

static bool check_overlap(const Call *c, uint32_t k)
{
    const ExportedOutput *outputs = c->f->outputs;
    const char *other = NULL;
    for (uint32_t i = 0; i < c->f->input_count; ++i)
        if (overlaps(&c->out[k], outputs[k].entry, &c->in[i], c->f->inputs[i].entry))
            other = c->f->inputs[i].name;
    for (uint32_t i = 0; i < k; ++i)
        if (overlaps(&c->out[k], outputs[k].entry, &c->out[i], outputs[i].entry))
            other = outputs[i].name;
    return !other || error_set(JIT_ERROR_ARGUMENT, "%s(): the memory of '%s' overlaps "
                               "that of '%s'", c->f->name, outputs[k].name, other);
}

static bool check_outputs(const Call *c)
{
    for (uint32_t k = 0; k < c->f->output_count; ++k)
        TRY(check_overlap(c, k), false);
    for (uint32_t k = 0; k < c->f->output_count; ++k)
        TRY(is_late(c, k) || check_room(c, k), false);
    return true;
}

/* --------------------------------------------------------------------- arrays */

/* The memory of an input, or a copy where it must not be read past its end. */
static Buffer *take_input(const Call *c, uint32_t k)
{
    const ExportedInput *input = &c->f->inputs[k];
    size_t bytes = c->in[k].size * input->entry;
    Buffer *given = buffer_map(c->f->recording->device, c->in[k].address, bytes, NULL,
                               NULL);
    if (!given || !input->padded || buffer_is_padded(given))
        return given;
    Buffer *copy = buffer_get(c->f->recording->device, bytes);
    if (copy)
        memcpy(buffer_host(copy), c->in[k].address, bytes);
    buffer_release(given);
    return copy;
}

static bool take_inputs(const Call *c)
{
    for (uint32_t k = 0; k < c->f->input_count; ++k) {
        if (!c->in[k].size || !c->f->inputs[k].entry)
            continue;
        c->inputs[k] = take_input(c, k);
        TRY(c->inputs[k], false);
    }
    const Recording *r = c->f->recording;
    for (uint32_t i = 0; i < r->array_count; ++i) {
        const FrozenArray *a = &r->arrays[i];
        if (a->kind != FROZEN_INPUT && a->kind != FROZEN_CONSTANT)
            continue;
        c->walk.buffers[i] = a->kind == FROZEN_INPUT ? c->inputs[a->number]
                                                     : r->constants[a->number];
    }
    return true;
}

/* Memory for an output whose size is known. */
static bool take_output(const Call *c, uint32_t k)
{
    size_t size = output_size(c, k);
    bool memory = size && c->f->outputs[k].source != EXPORTED_SIZE;
    TRY(check_room(c, k), false);
    if (!c->out[k].address && memory) {
        c->out[k].address = alloc_aligned(size * c->f->outputs[k].entry + PADDING);
        c->own[k] = true;
    }
    c->out[k].size = size;
    return c->out[k].address || !memory;
}

/* An array that is made: in the memory of the output that it is, if that can be. */
static Buffer *take_array(const Call *c, uint32_t number, size_t bytes)
{
    Device *device = c->f->recording->device;
    const uint32_t target = c->targets[number];
    if (target != NONE) {
        TRY(take_output(c, target), NULL);
        size_t needed = c->out[target].size * c->f->outputs[target].entry;
        Buffer *given = needed == bytes ? buffer_map(device, c->out[target].address,
                                                     bytes, NULL, NULL)
                                        : NULL;
        if (given && (c->own[target] || buffer_is_padded(given)))
            return given;
        buffer_release(given);
    }
    return buffer_get(device, bytes);
}

static bool take(void *call, uint32_t count, const uint32_t *arrays,
                 const size_t *bytes, Buffer **buffers)
{
    for (uint32_t i = 0; i < count; ++i) {
        if ((buffers[i] = take_array(call, arrays[i], bytes[i])))
            continue;
        while (i-- > 0)
            buffer_release(buffers[i]);
        return false;
    }
    return true;
}

/* --------------------------------------------------------------------- checks */

/* What a launch has to tell when it has ended. */
typedef struct Checked {
    const ExportedFunction *f;
    const FrozenCommand *command;
} Checked;

static const struct {
    const char *what, *is, *most;
    uint32_t from; /* numbers count from here */
} founds[] = {
    [EXPORTED_READ] = { "entry", "is read", "the size of the array is", 0 },
    [EXPORTED_WRITTEN] = { "entry", "is written", "the size of the array is", 0 },
    [EXPORTED_CALLED] = { "callable", "is called", "their number is", 1 },
    [EXPORTED_LOOPED] = { "iteration", "of a loop has ended", "the most is", 0 },
};

/* The first check that has failed makes the results wrong. */
static void check_done(void *payload, const Command *command,
                       const CommandResult *result)
{
    const Checked *checked = payload;
    const FrozenLaunch *launch = &checked->command->launch;
    const char *reports = command->slots[command->slot_count - 1].buffer->address;
    for (uint32_t i = 0; !result->error && i < launch->checks; ++i) {
        CheckReport report;
        memcpy(&report, reports + i * sizeof(report), sizeof(report));
        if (!report.count)
            continue;
        const ExportedCheck *check = &checked->f->checks[launch->bound + i];
        const uint32_t from = founds[check->found].from;
        const uint64_t less = check->found >= EXPORTED_CALLED;
        ErrorRecord error = { .code = JIT_ERROR_ARGUMENT };
        snprintf(error.message, sizeof(error.message), "%s(): %s %u %s, %s %llu (%s)",
                 checked->f->name, founds[check->found].what, report.index - from,
                 founds[check->found].is, founds[check->found].most,
                 (unsigned long long) (report.bound - less), check->name);
        stream_fail(command, &error);
        break;
    }
    alloc_free(payload);
}

/* An array for what the checks of a launch find, as its last slot. */
static bool add_checks(const Call *c, const FrozenCommand *f, Command *command)
{
    const Recording *r = c->f->recording;
    const uint32_t count = f->launch.checks, slot = command->slot_count - 1;
    Buffer *buffer = buffer_get(r->device, count * sizeof(CheckReport));
    Checked *checked = alloc_get(sizeof(*checked));
    if (!buffer || !checked) {
        buffer_release(buffer);
        alloc_free(checked);
        return false;
    }
    for (uint32_t i = 0; i < count; ++i) {
        const SymSize bound = r->bounds[f->launch.bound + i];
        const CheckReport report = { .bound = (uint64_t) c->walk.values[bound] };
        ((CheckReport *) buffer_host(buffer))[i] = report;
    }
    command_set_slot(command, slot, buffer, 0, count * sizeof(CheckReport),
                     SLOT_READ_WRITE);
    command->slots[slot].word = command->launch.words - 1;
    buffer_release(buffer);
    *checked = (Checked) { c->f, f };
    command->done = check_done;
    command->drop = alloc_free;
    command->payload = checked;
    return true;
}

/* ------------------------------------------------------------------- commands */

static bool submit(void *call, uint32_t number)
{
    const Call *c = call;
    const FrozenCommand *f = &c->f->recording->commands[number];
    Command *command = command_like(f->pattern, recording_size(f, c->walk.values));
    TRY(command, false);
    command->interrupts = c->walk.interrupts;
    if (!recording_fill(c->f->recording, f, command, c->walk.buffers, c->walk.values)) {
        command_free(command);
        return error_set(JIT_ERROR_ARGUMENT, "%s(): the sizes do not fit: command %u "
                         "has an array that is too small", c->f->name, number + 1);
    }
    if (f->launch.checks && !add_checks(c, f, command)) {
        command_free(command);
        return false;
    }
    TRY(stream_submit(c->stream, command), false);
    stream_run();
    return true;
}

static bool wait_for(void *call, Buffer *buffer)
{
    (void) call;
    return stream_sync_buffer(buffer);
}

static void differs(void *call, uint32_t decision)
{
    const Call *c = call;
    error_set(JIT_ERROR_ARGUMENT, "%s(): %s is not what it was when the function was "
              "recorded", c->f->name, c->f->decisions[decision]);
}

static const WalkCalls calls = { take, submit, wait_for, set_sizes, differs };

/* -------------------------------------------------------------------- results */

/* What becomes of an output that was not computed in its place. */
static void fill_output(const Call *c, uint32_t k)
{
    const ExportedOutput *output = &c->f->outputs[k];
    size_t bytes = c->out[k].size * output->entry;
    if (output->source == EXPORTED_VALUE) {
        transfer_fill(c->out[k].address, bytes, output->bits, output->entry);
        return;
    }
    const Buffer *from = output->source == EXPORTED_INPUT ? c->inputs[output->number]
                         : output->source == EXPORTED_CONSTANT
                             ? c->f->recording->constants[output->number]
                             : c->walk.buffers[output->number];
    if (from->address != c->out[k].address)
        memcpy(c->out[k].address, buffer_host(from), bytes);
}

static bool make_outputs(const Call *c)
{
    for (uint32_t k = 0; k < c->f->output_count; ++k) {
        const ExportedOutput *output = &c->f->outputs[k];
        if (output->source != EXPORTED_ARRAY || output->number == NONE)
            continue;
        TRY(is_done(c, walk_take(&c->walk, output->number)) && /* nobody has written */
            stream_sync_buffer(c->walk.buffers[output->number]), false);
    }
    for (uint32_t k = 0; k < c->f->output_count; ++k) {
        TRY(take_output(c, k), false);
        if (c->out[k].size && c->f->outputs[k].source != EXPORTED_SIZE)
            fill_output(c, k);
    }
    return true;
}

/* ----------------------------------------------------------------------- call */

static bool run(Call *c)
{
    TRY(check_inputs(c) && check_outputs(c) && take_inputs(c), false);
    TRY(is_done(c, walk_run(&c->walk)) && make_outputs(c), false);
    stream_sync(c->stream); /* a check may fail of which no output depends */
    return stream_check(c->stream);
}

static void *cut(char **memory, size_t count, size_t size)
{
    void *piece = *memory;
    *memory += count * size;
    return piece;
}

/* Memory for what a call keeps, from one block. */
static char *lay_out(Call *c)
{
    const Recording *r = c->f->recording;
    const size_t terms = r->symsizes.count, arrays = r->array_count;
    const size_t sizes = c->f->sizes, in = c->f->input_count, out = c->f->output_count;
    char *all = alloc_zero((sizes + terms + arrays + in) * sizeof(int64_t) +
                               arrays * sizeof(uint32_t) + out, 1);
    char *at = all;
    TRY(all, NULL);
    c->sizes = cut(&at, sizes, sizeof(int64_t));
    c->walk.values = cut(&at, terms, sizeof(int64_t));
    c->walk.buffers = cut(&at, arrays, sizeof(Buffer *));
    c->inputs = cut(&at, in, sizeof(Buffer *));
    c->targets = cut(&at, arrays, sizeof(uint32_t));
    c->own = cut(&at, out, sizeof(bool));
    for (size_t i = 0; i < arrays; ++i)
        c->targets[i] = NONE;
    for (uint32_t k = 0; k < out; ++k)
        if (c->f->outputs[k].source == EXPORTED_ARRAY &&
            c->f->outputs[k].number != NONE && !is_late(c, k))
            c->targets[c->f->outputs[k].number] = k;
    return all;
}

static void end(const Call *c, bool ok)
{
    stream_run();
    stream_sync(c->stream);
    (void) stream_check(c->stream); /* of a call that has failed */
    walk_end(&c->walk);
    for (uint32_t k = 0; k < c->f->input_count; ++k)
        buffer_release(c->inputs[k]);
    for (uint32_t k = 0; !ok && k < c->f->output_count; ++k)
        if (c->own[k]) {
            alloc_free(c->out[k].address);
            c->out[k].address = NULL;
        }
}

JitError exported_call(ExportedFunction *f, const ExportedArray *in, ExportedArray *out)
{
    error_clear();
    TRY(begin_once(f), error_code());
    Call c = { .f = f, .in = in, .out = out };
    c.walk = (Walk){ .recording = f->recording, .calls = &calls, .who = &c };
    c.stream = stream_self(f->recording->device);
    char *memory = c.stream ? lay_out(&c) : NULL;
    TRY(memory, error_code());
    bool ok = run(&c);
    ErrorRecord error;
    error_save(&error);
    end(&c, ok);
    error_restore(&error);
    alloc_free(memory);
    return ok ? JIT_OK : error_code();
}

JitError exported_null(const ExportedFunction *f)
{
    error_set(JIT_ERROR_ARGUMENT, "%s(): a struct is NULL", f->name);
    return JIT_ERROR_ARGUMENT;
}

JitError exported_set_threads(uint32_t count)
{
    error_clear();
    return pool_set_size(count) ? JIT_OK : error_code();
}

void exported_shutdown(ExportedFunction *const *functions)
{
    pthread_mutex_lock(&lock);
    pool_stop();
    stream_shutdown();
    for (; *functions; ++functions) {
        if ((*functions)->begun)
            drop_constants(*functions);
        (*functions)->begun = false;
    }
    pthread_mutex_unlock(&lock);
    buffer_trim();
}

const struct LaneStep *exported_stop(const struct LaneStep *step,
                                     const struct LaneFrame *frame)
{
    (void) step;
    (void) frame;
    return NULL;
}
