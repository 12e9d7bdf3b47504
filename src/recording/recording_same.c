/*
 * recording_same.c -- see recording_same.h
 */
#include "recording/recording_same.h"

#include <string.h>

#include "base/alloc.h"
#include "recording/recording_fields.h"
#include "kernel/cache.h"

/* ------------------------------------------------------------------- lists */

/* Of a term that is not a constant, the value is that of one recording. */
static bool same_element(const RecordingList *list, const void *a, const void *b)
{
    if (list->fields != recording_lists[0].fields)
        return fields_equal(a, b, list->fields, list->field_count);
    const SizeTerm *s = a, *t = b;
    return s->op == t->op && s->a == t->a && s->b == t->b &&
           (s->op != SYMSIZE_CONSTANT || s->value == t->value);
}

static bool same_list(const Recording *a, const Recording *b, size_t list)
{
    const uint32_t count = recording_count(a, list);
    bool same = count == recording_count(b, list);
    for (uint32_t i = 0; same && i < count; ++i)
        same = same_element(&recording_lists[list], recording_element(a, list, i),
                            recording_element(b, list, i));
    return same;
}

/* May they differ because sizes did, by which the device cuts its work, or because
 * loops had other numbers of iterations? */
static bool has_other_sizes(const Recording *a, const Recording *b)
{
    bool other = a->loop_count || b->loop_count;
    for (uint32_t i = 1; !other && i < a->symsizes.count && i < b->symsizes.count; ++i)
        other = a->symsizes.terms[i].op != SYMSIZE_CONSTANT &&
                a->symsizes.terms[i].op == b->symsizes.terms[i].op &&
                a->symsizes.terms[i].value != b->symsizes.terms[i].value;
    return other;
}

/* Has the host read other contents? */
static bool decides_otherwise(const Recording *a, const Recording *b)
{
    for (uint32_t i = 0; i < a->content_count && i < b->content_count; ++i) {
        const FrozenContent *s = &a->contents[i], *t = &b->contents[i];
        if (s->behind != t->behind || s->array != t->array || s->offset != t->offset ||
            s->bytes != t->bytes)
            break;
        if (memcmp(a->content + s->first, b->content + t->first, s->bytes) != 0)
            return true;
    }
    return false;
}

/* --------------------------------------------------------------- constants */

/* 1, 0, -1: error recorded. */
static int same_buffer(const Buffer *a, const Buffer *b)
{
    if (a->size != b->size)
        return 0;
    char *data = a != b ? alloc_get(2 * a->size) : NULL;
    if (!data)
        return a == b ? 1 : -1;
    int same = -1;
    if (buffer_read(a, 0, data, a->size) && buffer_read(b, 0, data + a->size, b->size))
        same = memcmp(data, data + a->size, a->size) == 0;
    alloc_free(data);
    return same;
}

static int same_constants(const Recording *a, const Recording *b)
{
    int same = a->constant_count == b->constant_count;
    for (uint32_t i = 0; same > 0 && i < a->constant_count; ++i)
        same = same_buffer(a->constants[i], b->constants[i]);
    return same;
}

/* ---------------------------------------------------------------- commands */

/* A command without what is of one day or process: sizes, addresses, and literals that
 * are parameters. To be freed: 'data'. */
static bool bare_command(const Recording *r, const FrozenCommand *f, Command *c)
{
    const Kernel *kernel = f->launch.kernel;
    *c = *f->pattern;
    c->data = alloc_get(c->data_size + 1);
    TRY(c->data, false);
    if (c->data_size)
        memcpy(c->data, f->pattern->data, c->data_size);
    for (uint32_t i = 0; i < recording_extents(c); ++i)
        if (r->extents[f->extent + i])
            *recording_extent(c, i) = 0;
    if (!kernel)
        return true;
    uint64_t *words = c->data;
    for (uint32_t i = 0; i < f->count; ++i)
        if (r->uses[f->first + i].word != SLOT_NO_WORD)
            words[r->uses[f->first + i].word] = 0;
    const FusedReduction *fused = command_fused(c);
    c->launch.words = kernel->value_count ? kernel->first_value
                                          : c->launch.words - (f->launch.checks != 0);
    memmove(words + c->launch.words, fused, c->launch.fused * sizeof(FusedReduction));
    c->data_size =
        c->launch.words * sizeof(uint64_t) + c->launch.fused * sizeof(FusedReduction);
    return true;
}

static const Program *traced(const Kernel *kernel)
{
    return kernel->traced ? kernel->traced : kernel->program;
}

/* A literal of the Program that a launch was traced as; '*next' is the first position
 * of Kernel.value_literals that has not come yet. */
static uint64_t literal_of(const FrozenCommand *f, uint32_t position, uint32_t *next)
{
    const Kernel *kernel = f->launch.kernel;
    if (*next >= kernel->value_count || kernel->value_literals[*next] != position)
        return traced(kernel)->literals[position];
    return ((const uint64_t *) f->pattern->data)[kernel->first_value + (*next)++];
}

static bool same_kernel(const FrozenCommand *f, const FrozenCommand *g)
{
    if (!f->launch.kernel || !g->launch.kernel)
        return f->launch.kernel == g->launch.kernel;
    const Program *p = traced(f->launch.kernel), *q = traced(g->launch.kernel);
    uint32_t i = 0, k = 0;
    TRY(p == q || program_equal_skeleton(p, q), false);
    for (uint32_t position = 0; position < p->literal_count; ++position)
        TRY(literal_of(f, position, &i) == literal_of(g, position, &k), false);
    return true;
}

static bool same_bare(const Command *a, const Command *b)
{
    const RecordingKind *kind = &recording_kinds[a->kind];
    return a->kind == b->kind && a->data_size == b->data_size &&
           fields_equal(a, b, kind->fields, kind->field_count) &&
           memcmp(a->data, b->data, a->data_size) == 0;
}

/* 1, 0, -1: out of memory. */
static int same_command(const Recording *a, const Recording *b, uint32_t number)
{
    const FrozenCommand *f = &a->commands[number], *g = &b->commands[number];
    Command c = { .data = NULL }, d = { .data = NULL };
    if (!same_kernel(f, g))
        return 0;
    const bool made = bare_command(a, f, &c) && bare_command(b, g, &d);
    const int same = made ? same_bare(&c, &d) : -1;
    alloc_free(c.data);
    alloc_free(d.data);
    return same;
}

/* 1, 0, -1: out of memory. */
static int same_all(const Recording *a, const Recording *b)
{
    int same = a->content_bytes == b->content_bytes;
    for (size_t i = 0; same && i < RECORDING_LISTS; ++i)
        same = same_list(a, b, i);
    if (same)
        same = same_constants(a, b);
    for (uint32_t i = 0; same > 0 && i < a->command_count; ++i)
        same = same_command(a, b, i);
    return same;
}

RecordingSame recording_same(const Recording *a, const Recording *b)
{
    if (decides_otherwise(a, b))
        return RECORDING_APART;
    const int same = same_all(a, b);
    return same ? (RecordingSame) same
                : has_other_sizes(a, b) ? RECORDING_APART : RECORDING_DIFFERS;
}
