/*
 * recorder.c -- what commands of a recording do, with which arrays; see recording.h
 *
 * For each command: which arrays does it read? What is its size, as a SymSize, and what
 * are those of its results? The second question is answered by the row of its kind
 * (device/commands.def), and for launches by what they reduce. Where there is no
 * answer, the sizes of the inputs are pinned, and from then on what cannot be told is a
 * constant.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "recording/recording.h"
#include "ir/reduce_rule.h"
#include "ir/type.h"
#include "kernel/cache.h"

/* ------------------------------------------------------------------- arrays */

uint32_t recorder_find(const Recorder *r, const Buffer *buffer)
{
    uintptr_t known = (uintptr_t) table_get(&r->known, &buffer, sizeof(buffer));
    return known ? (uint32_t) (known - 1) : RECORDER_UNKNOWN;
}

/* Let go of buffers that nobody else holds any more: they will not be met again. */
static void sweep(Recorder *r)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < r->held_count; ++i) {
        Buffer *buffer = r->held[i];
        if (atomic_load(&buffer->refs) > 1) {
            r->held[kept++] = buffer;
            continue;
        }
        table_remove(&r->known, &buffer, sizeof(buffer));
        buffer_release(buffer);
    }
    r->held_count = kept;
    r->sweep = 2 * kept + 64;
}

static bool add(Recorder *r, const FrozenArray *array, Buffer *buffer)
{
    Recording *out = &r->recording;
    if (r->held_count >= r->sweep)
        sweep(r);
    TRY(vec_reserve(&out->arrays, &out->array_capacity, out->array_count + 1,
                    sizeof(FrozenArray)) &&
            vec_reserve(&r->held, &r->held_capacity, r->held_count + 1,
                        sizeof(Buffer *)),
        false);
    void *number = (void *) ((uintptr_t) out->array_count + 1);
    TRY(table_put(&r->known, &buffer, sizeof(buffer), number), false);
    buffer_retain(buffer);
    r->held[r->held_count++] = buffer;
    out->arrays[out->array_count++] = *array;
    return true;
}

bool recorder_input(Recorder *r, uint32_t number, Buffer *buffer, SymSize symsize,
                    uint32_t entry)
{
    return add(r, &(FrozenArray) { FROZEN_INPUT, number, symsize, entry, 0 }, buffer);
}

bool recorder_undefined(Recorder *r, Buffer *buffer, SymSize symsize, uint32_t entry)
{
    return add(r,
               &(FrozenArray) { FROZEN_MADE, FROZEN_UNDEFINED, symsize, entry, 0 },
               buffer);
}

bool recorder_constant(Recorder *r, Buffer *buffer, SymSize symsize, uint32_t entry)
{
    Recording *out = &r->recording;
    uint32_t number = out->constant_count;
    TRY(vec_reserve(&out->constants, &out->constant_capacity, number + 1,
                    sizeof(Buffer *)) &&
            add(r, &(FrozenArray){ FROZEN_CONSTANT, number, symsize, entry, 0 },
                buffer),
        false);
    buffer_retain(buffer);
    out->constants[out->constant_count++] = buffer;
    return true;
}

bool recorder_rename(Recorder *r, Buffer *buffer, uint32_t array)
{
    void *number = (void *) ((uintptr_t) array + 1);
    return table_put(&r->known, &buffer, sizeof(buffer), number);
}

void recorder_keep(Recorder *r, uint32_t array)
{
    r->recording.arrays[array].last = UINT32_MAX;
}

/* -------------------------------------------------------------------- sizes */

static void fail(Recorder *r) { r->failed = true; }

static SymSize constant(Recorder *r, int64_t value)
{
    return symsize_constant(&r->recording.symsizes, value);
}

void recorder_pin(Recorder *r)
{
    Recording *out = &r->recording;
    for (uint32_t i = 1; !r->pinned && i < out->symsizes.count; ++i)
        if (out->symsizes.terms[i].op == SYMSIZE_INPUT ||
            out->symsizes.terms[i].op == SYMSIZE_READ)
            if (!symsize_pin(&out->symsizes, i))
                fail(r);
    r->pinned = true;
}

/* A size that nothing is known of. */
static SymSize unknown(Recorder *r, uint64_t value)
{
    recorder_pin(r);
    return constant(r, (int64_t) value);
}

/* What is known of a command while it is noted. */
typedef struct Note {
    Recorder *r;
    const Command *c;
    FrozenCommand *f;
} Note;

/* The array in a slot of a command, NULL: a new one. */
static const FrozenArray *array_in(const Note *n, uint32_t slot)
{
    uint32_t array = recorder_find(n->r, n->c->slots[slot].buffer);
    return array == RECORDER_UNKNOWN ? NULL : &n->r->recording.arrays[array];
}

/* Does a slot mean the whole array? */
static bool is_whole(const Note *n, uint32_t slot)
{
    const Slot *s = &n->c->slots[slot];
    const FrozenArray *a = array_in(n, slot);
    return a && !s->offset &&
           (uint64_t) symsize_value(&n->r->recording.symsizes, a->symsize) * a->entry ==
               s->bytes;
}

/* The command has an item for each 'entry' bytes of a slot. */
static bool sized_by(const Note *n, uint32_t slot, uint32_t entry)
{
    const FrozenArray *a = is_whole(n, slot) ? array_in(n, slot) : NULL;
    if (!a || a->entry % entry || n->c->size * entry != n->c->slots[slot].bytes)
        return false;
    n->f->size = a->symsize;
    n->f->unit = a->entry / entry;
    return true;
}

/* The symbolic size of the slot's new array: 'symsize' entries of 'entry' bytes. */
typedef struct Extent {
    SymSize symsize;
    uint32_t entry;
} Extent;

/* The command's size as one term. */
static SymSize whole_size(const Note *n)
{
    SymSize unit = constant(n->r, n->f->unit);
    return unit ? symsize_make(&n->r->recording.symsizes, SYMSIZE_MUL, n->f->size, unit)
                : 0;
}

/* An entry for each block of the command, the size of which is this parameter. */
static Extent blocks_of(const Note *n, uint32_t number, uint32_t entry)
{
    Recording *out = &n->r->recording;
    SymSize size = whole_size(n), block = out->extents[n->f->extent + number];
    TRY(size, ((Extent) { 0, entry }));
    if (symsize_value(&out->symsizes, size) == symsize_value(&out->symsizes, block))
        return (Extent) { constant(n->r, 1), entry }; /* which is guarded */
    return (Extent) { symsize_make(&out->symsizes, SYMSIZE_DIV, size, block), entry };
}

/* The parameters that are sizes: what who submits the command has said of them, if that
 * is all. */
static bool note_extents(const Note *n)
{
    Recording *out = &n->r->recording;
    Command *c = (Command *) (uintptr_t) n->c; /* which is only read */
    const uint32_t count = recording_extents(c), first = out->extent_count;
    n->f->extent = first - n->r->extents;
    bool said = n->r->extents == count;
    for (uint32_t i = 0; said && i < count; ++i)
        said =
            (uint64_t) symsize_value(&out->symsizes, out->extents[n->f->extent + i]) ==
            *recording_extent(c, i);
    if (said || !count)
        return true;
    n->f->extent = first;
    TRY(vec_reserve(&out->extents, &out->extent_capacity, first + count,
                    sizeof(SymSize)), false);
    for (uint32_t i = 0; i < count; ++i) {
        SymSize symsize = 0;
        if (c->kind != COMMAND_FILL)
            TRY(symsize = unknown(n->r, *recording_extent(c, i)), false);
        out->extents[out->extent_count++] = symsize;
    }
    return true;
}

/* ----------------------------------------------------------- sizes of commands */

/* Who submits the command has said what its size is. */
static bool sized_by_caller(const Note *n)
{
    SymSize size = n->r->size;
    if (!size ||
        (uint64_t) symsize_value(&n->r->recording.symsizes, size) != n->c->size)
        return false;
    n->f->size = size;
    return true;
}

static Extent result_of_launch(const Note *n, uint32_t slot)
{
    const Command *c = n->c;
    for (uint32_t i = 0; i < c->launch.fused; ++i) {
        const FusedReduction *reduction = &command_fused(c)[i];
        uint32_t entry = type_info[reduction->type].size;
        if (reduction->target != slot)
            continue;
        if (reduction->op != REDUCE_COMPRESS && reduction->op != REDUCE_PREFIX)
            return blocks_of(n, 2 * i, entry);
        if (reduction->op == REDUCE_PREFIX)
            return (Extent) { n->f->size, entry };
        SymSize one = constant(n->r, 1); /* the number comes after the indices */
        return (Extent){ one ? symsize_make(&n->r->recording.symsizes, SYMSIZE_ADD,
                                            n->f->size, one)
                             : 0,
                         sizeof(uint32_t) };
    }
    return (Extent) { n->f->size, (uint32_t) (c->slots[slot].bytes / c->size) };
}

/* It follows from an array that has an entry for each item, if what is written begins
 * where its array does. */
static bool sized_by_arrays(const Note *n)
{
    const Command *c = n->c;
    const SlotInfo *slots = command_info[c->kind].slots;
    const uint32_t count = slots[0].access ? c->slot_count : 0;
    for (uint32_t i = 0; i < count; ++i)
        if (slots[i].access != SLOT_READ && c->slots[i].offset)
            return false;
    for (uint32_t i = 0; i < count; ++i)
        if (slots[i].access == SLOT_READ &&
            (slots[i].extent == EXTENT_ITEMS ||
             slots[i].extent == EXTENT_ITEMS_OR_ONE) &&
            sized_by(n, i, command_entry(c, i)))
            return true;
    return false;
}

/* What a new array in a slot is. False: nothing is known of it. */
static bool find_result(const Note *n, uint32_t slot, Extent *out)
{
    const SlotInfo *slots = command_info[n->c->kind].slots;
    if (n->c->kind == COMMAND_LAUNCH) {
        *out = result_of_launch(n, slot);
        return true;
    }
    TRY(slots[0].access, false);
    const uint32_t entry = command_entry(n->c, slot);
    switch (slots[slot].extent) {
    case EXTENT_ITEMS: *out = (Extent) { n->f->size, n->f->unit * entry }; break;
    case EXTENT_BLOCKS: *out = blocks_of(n, 0, entry); break;
    case EXTENT_ONE: *out = (Extent) { constant(n->r, 1), entry }; break;
    default: return false;
    }
    return true;
}

/* ------------------------------------------------------------------ commands */

static bool add_use(const Note *n, uint32_t slot)
{
    Recording *out = &n->r->recording;
    const Slot *s = &n->c->slots[slot];
    uint32_t number = recorder_find(n->r, s->buffer);
    FrozenArray *a = &out->arrays[number];
    FrozenUse use = { .array = number, .symsize = a->symsize, .entry = a->entry,
                      .access = s->access, .word = s->word, .offset = s->offset };
    const Slot *first = n->c->kind == COMMAND_COPY && !s->offset ? &n->c->slots[0] : s;
    if (first != s && is_whole(n, 0) && s->bytes == first->bytes) {
        use.symsize = n->f->size; /* a part of it is written, as large as the source */
        use.entry = n->f->unit;
    } else if (!is_whole(n, slot)) {
        TRY(symsize_pin(&out->symsizes, a->symsize), false);
        use.symsize = constant(n->r, (int64_t) s->bytes);
        use.entry = 1;
    }
    a->last = out->command_count;
    TRY(use.symsize && vec_reserve(&out->uses, &out->use_capacity, out->use_count + 1,
                                   sizeof(FrozenUse)),
        false);
    out->uses[out->use_count++] = use;
    return true;
}

/* An array that no command has written before. */
static bool add_result(const Note *n, uint32_t slot, bool known)
{
    const Slot *s = &n->c->slots[slot];
    const SymSizes *w = &n->r->recording.symsizes;
    size_t bytes = s->buffer->size;
    Extent extent = { 0, 0 };
    bool whole = known && s->bytes == bytes && !s->offset &&
                 find_result(n, slot, &extent);
    if (whole && extent.symsize &&
        (uint64_t) symsize_value(w, extent.symsize) * extent.entry != bytes)
        whole = false;
    if (!whole) /* one whose size is a constant is filled in parts */
        extent = (Extent) { known && symsize_is_constant(w, n->f->size)
                                ? constant(n->r, (int64_t) bytes)
                                : unknown(n->r, bytes),
                            1 };
    return extent.symsize &&
           add(n->r, &(FrozenArray) { FROZEN_MADE, 0, extent.symsize, extent.entry, 0 },
               s->buffer);
}

void recorder_refuse(Recorder *r, const char *why)
{
    if (!r->refused)
        r->refused = why;
}

const char recorder_lost[] = "an array of one iteration of an evaluated loop is used "
                             "after the loop";

/* Do all slots name arrays that can be had again? */
static bool check_slots(const Note *n, bool known)
{
    for (uint32_t i = 0; i < n->f->count; ++i) {
        const Slot *s = &n->c->slots[i];
        const FrozenArray *a = array_in(n, i);
        if (a && a->kind == FROZEN_LOST)
            recorder_refuse(n->r, recorder_lost);
        else if (a && a->kind != FROZEN_MADE && s->access != SLOT_READ)
            recorder_refuse(n->r, "memory that existed before is written");
        else if (!a && s->access == SLOT_WRITE)
            TRY(add_result(n, i, known), false);
        else if (!a)
            recorder_refuse(n->r,
                            "memory is used that is not an array of the recording");
        TRY(!n->r->refused, true);
    }
    return true;
}

static bool add_command(const Note *n)
{
    Recording *out = &n->r->recording;
    TRY(vec_reserve(&out->commands, &out->command_capacity, out->command_count + 1,
                    sizeof(FrozenCommand)), false);
    bool known = sized_by_caller(n) || sized_by_arrays(n);
    if (!known) {
        n->f->size = unknown(n->r, n->c->size);
        n->f->unit = 1;
    }
    TRY(n->f->size && note_extents(n) && check_slots(n, known), false);
    if (n->r->refused)
        return true;
    n->f->first = out->use_count;
    for (uint32_t i = 0; i < n->f->count; ++i)
        TRY(add_use(n, i), false);
    n->f->pattern = command_like(n->c, n->c->size);
    TRY(n->f->pattern, false);
    if (n->f->launch.kernel) {
        cache_retain(n->f->launch.kernel);
        recording_bind(out, n->f);
    }
    out->commands[out->command_count++] = *n->f;
    return true;
}

void recorder_extent(Recorder *r, uint32_t number, SymSize symsize)
{
    Recording *out = &r->recording;
    if (number == 0)
        r->extents = 0; /* those of a command that was not made */
    if (vec_reserve(&out->extents, &out->extent_capacity, out->extent_count + 1,
                    sizeof(SymSize))) {
        out->extents[out->extent_count++] = symsize;
        r->extents++;
    } else {
        fail(r);
    }
}

void recorder_launch(Recorder *r, const FrozenLaunch *launch, const SymSize *bounds)
{
    Recording *out = &r->recording;
    if (!vec_reserve(&out->bounds, &out->bound_capacity,
                     out->bound_count + launch->checks, sizeof(SymSize))) {
        fail(r);
        return;
    }
    r->launch = *launch;
    r->launch.bound = out->bound_count;
    for (uint32_t i = 0; i < launch->checks; ++i)
        out->bounds[out->bound_count++] = bounds[i];
}

void recorder_note(void *recorder, const Command *c)
{
    Recorder *r = recorder;
    FrozenCommand f = { .unit = 1 };
    if (r->failed || r->refused || c->kind == COMMAND_EVENT)
        return;
    if (c->kind == COMMAND_LAUNCH)
        f.launch = r->launch;
    f.count = c->slot_count - (f.launch.checks != 0); /* reports are not arrays */
    if (c->kind == COMMAND_LAUNCH && c->launch.prints)
        --f.count;
    if (c->kind == COMMAND_HOST)
        recorder_refuse(r, "a function of the host is called");
    else if (!add_command(&(Note) { r, c, &f }))
        fail(r);
    r->size = r->extents = 0;
    r->launch = (FrozenLaunch) { 0 };
}

void recorder_keep_until_now(Recorder *r, uint32_t array)
{
    FrozenArray *a = &r->recording.arrays[array];
    uint32_t count = r->recording.command_count;
    if (count && a->last < count - 1)
        a->last = count - 1;
}

SymSize recorder_read(Recorder *r, const Buffer *buffer, SymSize place, uint32_t value)
{
    Recording *out = &r->recording;
    uint32_t array = recorder_find(r, buffer);
    if (array == RECORDER_UNKNOWN || r->refused || r->failed)
        return unknown(r, value);
    TRY(vec_reserve(&out->reads, &out->read_capacity, out->read_count + 1,
                    sizeof(FrozenRead)), 0);
    SymSize symsize = symsize_read(&out->symsizes, out->read_count, value);
    TRY(symsize && (!r->pinned || symsize_pin(&out->symsizes, symsize)), 0);
    recorder_keep_until_now(r, array);
    out->reads[out->read_count++] =
        (FrozenRead) { out->command_count, array, place, symsize };
    return symsize;
}

/* The entries after those that were read before, as a loop over them does. */
static bool extend_content(Recording *out, const FrozenContent *content)
{
    FrozenContent *last = out->contents + out->content_count;
    if (!out->content_count || (--last)->array != content->array ||
        last->behind != content->behind ||
        last->offset + last->bytes != content->offset)
        return false;
    last->bytes += content->bytes;
    return true;
}

/* Room for more bytes of contents. */
static bool reserve_content(Recording *out, size_t bytes)
{
    size_t wanted = out->content_bytes + bytes;
    if (wanted <= out->content_room)
        return true;
    size_t room = wanted < 2 * out->content_room ? 2 * out->content_room : wanted;
    unsigned char *grown = alloc_resize(out->content, room);
    TRY(grown, false);
    out->content = grown;
    out->content_room = room;
    return true;
}

/* They are in the order in which they are read. */
static void insert_content(Recording *out, const FrozenContent *content)
{
    uint32_t i = out->content_count++;
    for (; i && out->contents[i - 1].behind > content->behind; --i)
        out->contents[i] = out->contents[i - 1];
    out->contents[i] = *content;
}

void recorder_content_of(Recorder *r, uint32_t array, uint32_t behind, size_t offset,
                         const void *data, size_t bytes)
{
    Recording *out = &r->recording;
    bool fixed = !bytes || out->arrays[array].kind == FROZEN_CONSTANT;
    if (r->refused || r->failed || fixed)
        return;
    if (!vec_reserve(&out->contents, &out->content_capacity, out->content_count + 1,
                     sizeof(FrozenContent)) || !reserve_content(out, bytes)) {
        fail(r);
        return;
    }
    FrozenContent content = { behind, array, offset, bytes, out->content_bytes };
    if (!extend_content(out, &content))
        insert_content(out, &content);
    memcpy(out->content + out->content_bytes, data, bytes);
    out->content_bytes += bytes;
}

void recorder_content(Recorder *r, const Buffer *buffer, size_t offset,
                      const void *data, size_t bytes)
{
    uint32_t array = recorder_find(r, buffer);
    if (r->refused || r->failed)
        return;
    if (array == RECORDER_UNKNOWN ||
        r->recording.arrays[array].kind == FROZEN_LOST) {
        recorder_refuse(r, "memory is read that is not an array of the recording");
        return;
    }
    recorder_keep_until_now(r, array);
    recorder_content_of(r, array, r->recording.command_count, offset, data, bytes);
}

void recorder_end(Recorder *r)
{
    recorder_loop_end(r);
    for (uint32_t i = 0; i < r->held_count; ++i)
        buffer_release(r->held[i]);
    alloc_free(r->held);
    table_free(&r->known);
    r->held = NULL;
    r->held_count = r->held_capacity = 0;
}
