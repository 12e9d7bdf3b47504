/*
 * recording.c -- see recording.h
 */
#include "freeze/recording.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "ir/type.h"
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
    recording_fill(r, f, c, buffers, values);
    if (recording_fits(c))
        return c;
    command_free(c);
    error_set(JIT_ERROR_STATE, "jit_freeze_replay(): the sizes of a command do not fit "
              "its arrays");
    return NULL;
}

static bool add_product(uint64_t *sum, uint64_t a, uint64_t b)
{
    uint64_t product;
    return !__builtin_mul_overflow(a, b, &product) &&
           !__builtin_add_overflow(*sum, product, sum);
}

/* Does an operand of a product, of so many bytes, have all entries that are read? */
static bool has_operand(const GemmShape *s, bool first, uint64_t entry, size_t bytes)
{
    bool transpose = first ? s->transpose_a : s->transpose_b;
    size_t rows = first ? s->m : s->k, columns = first ? s->k : s->n;
    uint64_t count = transpose ? rows : columns;
    bool ok = add_product(&count, (transpose ? columns : rows) - 1,
                          first ? s->row_a : s->row_b);
    for (uint32_t i = 0; ok && i < s->axes; ++i)
        ok = add_product(&count, s->axis[i].extent - 1,
                         first ? s->axis[i].stride_a : s->axis[i].stride_b);
    return ok && count <= bytes / entry;
}

static bool has_operands(const Command *c)
{
    const GemmShape *s = c->data;
    uint64_t entry = type_info[c->gemm.type].size, size = s->m;
    bool ok = s->m && s->n && s->k && !__builtin_mul_overflow(size, s->n, &size);
    for (uint32_t i = 0; ok && i < s->axes; ++i)
        ok = s->axis[i].extent &&
             !__builtin_mul_overflow(size, s->axis[i].extent, &size);
    return ok && size == c->size && size <= c->slots[2].bytes / entry &&
           has_operand(s, true, entry, c->slots[0].bytes) &&
           has_operand(s, false, entry, c->slots[1].bytes);
}

/* Are private copies within their array, and as large as the target? */
static bool has_copies(const Command *c)
{
    uint64_t entry = type_info[c->combine.type].size, all = c->size;
    return add_product(&all, c->combine.copies - 1, c->combine.stride) &&
           all <= c->slots[0].bytes / entry && c->size <= c->slots[1].bytes / entry;
}

/* Does it consist of whole blocks? */
static bool has_blocks(Command *c)
{
    for (uint32_t i = 0; i < recording_extents(c); ++i) {
        const uint64_t block = *recording_extent(c, i);
        if (!block || c->size % block)
            return false;
    }
    return true;
}

bool recording_fits(Command *c)
{
    for (uint32_t i = 0; i < c->slot_count; ++i) {
        const Slot *s = &c->slots[i];
        if (s->offset > s->buffer->size || s->bytes > s->buffer->size - s->offset)
            return false;
    }
    switch (c->kind) {
        case COMMAND_COMBINE: return has_copies(c);
        case COMMAND_GEMM: return has_operands(c);
        case COMMAND_LAUNCH:
        case COMMAND_REDUCE:
        case COMMAND_PREFIX:
        case COMMAND_SORT: return has_blocks(c);
        default: return true;
    }
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

/* " (w3)": what a command has of sizes that are not its own, of blocks most often. */
static void write_extents(const Recording *r, const FrozenCommand *f, Text *out)
{
    const uint32_t count = recording_extents(f->pattern);
    bool any = false;
    for (uint32_t i = 0; i < count; ++i) {
        const Width width = r->extents[f->extent + i];
        if (!width || (width == f->size && f->pattern->kind != COMMAND_GEMM))
            continue;
        text_put(out, any ? ", " : " (");
        width_write(&r->widths, width, out);
        any = true;
    }
    text_put(out, any ? ")" : "");
}

static void write_command(const Recording *r, const FrozenCommand *f, Text *out)
{
    static const char *const access[] = { "", "r", "w", "b" };
    text_putf(out, "    %s ", command_info[f->pattern->kind].name);
    width_write(&r->widths, f->size, out);
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

void recording_write_content(const Recording *r, uint32_t content, Text *out)
{
    const FrozenContent *c = &r->contents[content];
    uint32_t entry = r->arrays[c->array].entry;
    write_array(r, c->array, out);
    text_putf(out, "[%zu", c->offset / entry);
    if (c->bytes != entry)
        text_putf(out, ":%zu", (c->offset + c->bytes) / entry);
    text_put(out, "]");
}

static void write_loops(const Recording *r, Text *out)
{
    if (r->loop_count)
        text_put(out, "loops:\n");
    for (uint32_t i = 0; i < r->loop_count; ++i) {
        const FrozenLoop *loop = &r->loops[i];
        text_putf(out, "    commands %u to %u, again while ", loop->first + 1,
                  loop->end);
        write_array(r, loop->again, out);
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
        recording_write_content(r, i, out);
        text_putf(out, " behind command %u\n", r->contents[i].behind);
    }
}

void recording_write(const Recording *r, Text *out)
{
    text_put(out, "guards:\n");
    for (uint32_t i = 0; i < r->widths.guard_count; ++i) {
        text_put(out, "    ");
        width_write_guard(&r->widths, &r->widths.guards[i], out);
        text_put(out, "\n");
    }
    text_put(out, "arrays:\n");
    for (uint32_t i = 0; i < r->array_count; ++i) {
        if (r->arrays[i].kind == FROZEN_LOST)
            continue;
        text_put(out, "    ");
        write_array(r, i, out);
        text_put(out, ": ");
        width_write(&r->widths, r->arrays[i].width, out);
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
    width_free(&r->widths);
    memset(r, 0, sizeof(*r));
}
