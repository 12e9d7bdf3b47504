/*
 * recording.c -- see recording.h
 */
#include "recording/recording.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kernel/launch.h"

/* A launch of the kernel's present code, with the bounds of the day. */
static Command *repeat_launch(const Recording *r, const FrozenCommand *f,
                              const int64_t *values, LaunchSpec *spec)
{
    uint64_t few[16], *bounds = few;
    if (f->launch.checks > sizeof(few) / sizeof(*few))
        TRY(bounds = alloc_get(f->launch.checks * sizeof(uint64_t)), NULL);
    for (uint32_t i = 0; i < f->launch.checks; ++i)
        bounds[i] = (uint64_t) values[r->bounds[f->launch.bound + i]];
    spec->kernel = f->launch.kernel;
    spec->check_bounds = bounds;
    Command *c = launch_again(f->pattern, recording_size(f, values), spec);
    if (bounds != few)
        alloc_free(bounds);
    return c;
}

Command *recording_repeat(const Recording *r, uint32_t command, Buffer *const *buffers,
                          const int64_t *values,
                          void (*done)(void *payload, const LaunchResult *result),
                          void *payload)
{
    const FrozenCommand *f = &r->commands[command];
    LaunchSpec spec = { .done = done, .payload = payload };
    Command *c = f->launch.kernel ? repeat_launch(r, f, values, &spec)
                                  : command_like(f->pattern, recording_size(f, values));
    TRY(c, NULL);
    if (recording_fill(r, f, c, buffers, values))
        return c;
    command_free(c);
    error_set(JIT_ERROR_STATE, "jit_freeze_replay(): the sizes of a command do not fit "
              "its arrays");
    return NULL;
}

/* --------------------------------------------------------------------- text */

static void write_array(const Recording *r, uint32_t number, Text *out)
{
    static const char names[] = { [FROZEN_INPUT] = 'i', [FROZEN_CONSTANT] = 'c',
                                  [FROZEN_MADE] = 'a', [FROZEN_LOST] = 'x' };
    const FrozenArray *array = &r->arrays[number];
    text_putf(out, "%c%u", names[array->kind],
              array->kind >= FROZEN_MADE ? number : array->number);
}

/* Is it worth saying? The size of all is not, nor is a stride of 1. */
static bool tells(const Recording *r, const FrozenCommand *f, SymSize symsize)
{
    if (!symsize || f->pattern->kind == COMMAND_GEMM)
        return symsize != 0;
    return symsize != f->size && !(symsize_is_constant(&r->symsizes, symsize) &&
                                   symsize_value(&r->symsizes, symsize) == 1);
}

/* " (w3)": what a command has of sizes that are not its own, of blocks most often. */
static void write_extents(const Recording *r, const FrozenCommand *f, Text *out)
{
    const uint32_t count = recording_extents(f->pattern);
    bool any = false;
    for (uint32_t i = 0; i < count; ++i) {
        const SymSize symsize = r->extents[f->extent + i];
        if (!tells(r, f, symsize))
            continue;
        text_put(out, any ? ", " : " (");
        symsize_write(&r->symsizes, symsize, out);
        any = true;
    }
    text_put(out, any ? ")" : "");
}

static void write_command(const Recording *r, const FrozenCommand *f, Text *out)
{
    static const char *const access[] = { "", "r", "w", "b" };
    text_putf(out, "    %s ", command_info[f->pattern->kind].name);
    symsize_write(&r->symsizes, f->size, out);
    if (f->unit != 1)
        text_putf(out, " * %u", f->unit);
    write_extents(r, f, out);
    text_put(out, " [");
    for (uint32_t i = 0; i < f->count; ++i) {
        const FrozenUse *use = &r->uses[f->first + i];
        text_putf(out, "%s%s ", i ? ", " : "", access[use->access]);
        write_array(r, use->array, out);
    }
    text_put(out, "]\n");
}

static void write_content(const Recording *r, const FrozenContent *c, Text *out)
{
    uint32_t entry = r->arrays[c->array].entry;
    write_array(r, c->array, out);
    text_putf(out, "[%zu", c->offset / entry);
    if (c->bytes != entry)
        text_putf(out, ":%zu", (c->offset + c->bytes) / entry);
    text_put(out, "]");
}

void recording_write_decision(const Recording *r, uint32_t decision, Text *out)
{
    const uint32_t loop = decision - r->content_count;
    if (decision < r->content_count)
        write_content(r, &r->contents[decision], out);
    else
        text_putf(out, "the number of iterations of loop %u", loop + 1);
}

/* "commands 3 to 4 if a2, again while a11", "commands 3 to 4 as a2, once as not a11" */
static void write_iterations(const Recording *r, const FrozenLoop *loop, Text *out)
{
    if (!loop->most) {
        text_put(out, "no command as not ");
        write_array(r, loop->enter, out);
        return;
    }
    text_putf(out, "commands %u to %u %s ", loop->first + 1, loop->end,
              loop->least ? "as" : "if");
    write_array(r, loop->enter, out);
    if (loop->again == loop->enter)
        return;
    text_put(out, loop->most > 1 ? ", again while " : ", once as not ");
    write_array(r, loop->again, out);
}

static void write_loops(const Recording *r, Text *out)
{
    if (r->loop_count)
        text_put(out, "loops:\n");
    for (uint32_t i = 0; i < r->loop_count; ++i) {
        const FrozenLoop *loop = &r->loops[i];
        text_putf(out, "    loop %u: ", i + 1);
        write_iterations(r, loop, out);
        for (uint32_t k = 0; k < loop->states; ++k) {
            const FrozenState *state = &r->states[loop->state + k];
            text_put(out, k ? ", " : ": ");
            write_array(r, state->array, out);
            text_put(out, " = ");
            write_array(r, state->initial, out);
            text_put(out, ", then ");
            write_array(r, state->next, out);
        }
        text_put(out, "\n");
    }
}

static void write_contents(const Recording *r, Text *out)
{
    if (r->content_count)
        text_put(out, "contents:\n");
    for (uint32_t i = 0; i < r->content_count; ++i) {
        text_put(out, "    ");
        write_content(r, &r->contents[i], out);
        text_putf(out, " after command %u\n", r->contents[i].behind);
    }
}

void recording_write(const Recording *r, Text *out)
{
    text_put(out, "guards:\n");
    for (uint32_t i = 0; i < r->symsizes.guard_count; ++i) {
        text_put(out, "    ");
        symsize_write_guard(&r->symsizes, &r->symsizes.guards[i], out);
        text_put(out, "\n");
    }
    text_put(out, "arrays:\n");
    for (uint32_t i = 0; i < r->array_count; ++i) {
        if (r->arrays[i].kind == FROZEN_LOST)
            continue;
        text_put(out, "    ");
        write_array(r, i, out);
        text_put(out, ": ");
        symsize_write(&r->symsizes, r->arrays[i].symsize, out);
        text_putf(out, " x %u bytes\n", r->arrays[i].entry);
    }
    text_put(out, "commands:\n");
    for (uint32_t i = 0; i < r->command_count; ++i)
        write_command(r, &r->commands[i], out);
    write_loops(r, out);
    write_contents(r, out);
}

void recording_drop_command(FrozenCommand *f)
{
    command_free(f->pattern);
    cache_release(f->launch.kernel);
}

void recording_free(Recording *r)
{
    for (uint32_t i = 0; i < r->command_count; ++i)
        recording_drop_command(&r->commands[i]);
    for (uint32_t i = 0; i < r->constant_count; ++i)
        buffer_release(r->constants[i]);
    alloc_free(r->arrays);
    alloc_free(r->uses);
    alloc_free(r->commands);
    alloc_free(r->reads);
    alloc_free(r->loops);
    alloc_free(r->states);
    alloc_free(r->contents);
    alloc_free(r->content);
    alloc_free(r->bounds);
    alloc_free(r->extents);
    alloc_free(r->constants);
    symsize_free(&r->symsizes);
    memset(r, 0, sizeof(*r));
}
