/*
 * command.c -- see command.h
 */
#include "device/command.h"

#include <string.h>

#include "base/alloc.h"
#include "base/interrupt.h"
#include "device/device.h"

const CommandInfo command_info[COMMAND_COUNT] = {
#define SIZES(first, count) offsetof(Command, first), count
#define NO_SIZES 0, 0
#define COMMAND(name, text, history, inputs, ...) \
    [COMMAND_##name] = { text, history, inputs, __VA_ARGS__ },
#include "device/commands.def"
#undef COMMAND
#undef SIZES
#undef NO_SIZES
};
_Static_assert(sizeof(size_t) == sizeof(uint64_t), "all of them are of one type");
_Static_assert(offsetof(Command, reduce.stride) ==
                   offsetof(Command, reduce.block) + sizeof(size_t), "one by one");
_Static_assert(offsetof(Command, transpose.items) ==
                   offsetof(Command, transpose.rows) + 2 * sizeof(size_t), "likewise");

enum { ALIGNMENT = 16 };

static size_t round_up(size_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

Command *command_create(Device *device, CommandKind kind, uint64_t size, uint32_t slots,
                        size_t data)
{
    size_t first = round_up(sizeof(Command));
    size_t head = first + round_up(slots * sizeof(Slot));
    size_t used = head + round_up(data);
    Command *c = alloc_get(used + device->job_bytes);
    TRY(c, NULL);
    memset(c, 0, offsetof(Command, few));
    memset((char *) c + first, 0, used - first); /* it can be freed half done */
    c->kind = kind;
    c->size = size;
    c->device = device;
    c->slots = (Slot *) (void *) ((char *) c + first);
    c->slot_count = slots;
    c->data = (char *) c + head;
    c->data_size = data;
    c->points = c->few;
    c->interrupts = interrupt_requests();
    c->job = (char *) c + used;
    return c;
}

void command_set_slot(Command *c, uint32_t slot, Buffer *buffer, size_t offset,
                      size_t bytes, SlotAccess access)
{
    buffer_retain(buffer);
    c->slots[slot] = (Slot) { buffer, offset, bytes, (uint32_t) access, SLOT_NO_WORD,
                                0 };
}

void command_set_buffer(Command *c, uint32_t slot, Buffer *buffer)
{
    buffer_retain(buffer);
    buffer_release(c->slots[slot].buffer);
    c->slots[slot].buffer = buffer;
}

Command *command_like(const Command *c, uint64_t size)
{
    Command *like = command_create(c->device, c->kind, size, c->slot_count,
                                   c->data_size);
    TRY(like, NULL);
    size_t first = offsetof(Command, launch), end = offsetof(Command, timed);
    memcpy((char *) like + first, (const char *) c + first, end - first);
    memcpy(like->data, c->data, c->data_size);
    if (c->kind == COMMAND_LAUNCH)
        code_retain(c->launch.code);
    return like;
}

Command *command_copy(const Command *c)
{
    Command *copy = command_like(c, c->size);
    TRY(copy, NULL);
    memcpy(copy->slots, c->slots, c->slot_count * sizeof(Slot));
    for (uint32_t i = 0; i < c->slot_count; ++i)
        buffer_retain(c->slots[i].buffer);
    return copy;
}

bool command_reserve_points(Command *c, uint32_t count)
{
    if (count <= COMMAND_POINTS)
        return true;
    if (c->points != c->few)
        alloc_free(c->points);
    c->points = alloc_get(count * sizeof(StreamPoint));
    if (!c->points)
        c->points = c->few;
    return c->points != c->few;
}

void command_let_go(Command *c)
{
    const Slot *slots = c->slots;
    for (uint32_t i = 0, count = c->slot_count; i < count; ++i)
        buffer_release(slots[i].buffer);
    c->slot_count = 0;
    if (c->kind == COMMAND_LAUNCH)
        code_release(c->launch.code);
    c->kind = COMMAND_EVENT;
}

void command_free(Command *c)
{
    if (!c)
        return;
    if (c->drop)
        c->drop(c->payload);
    if (c->prepared)
        c->device->discard(c->device, c);
    command_let_go(c);
    if (c->points != c->few)
        alloc_free(c->points);
    alloc_free(c);
}

/* Which of its words are addresses is known from the slots, and what they are is not
 * part of the command. */
static bool is_address(const Command *c, size_t word)
{
    for (uint32_t i = 0; c->kind == COMMAND_LAUNCH && i < c->slot_count; ++i)
        if (c->slots[i].word == word)
            return true;
    return false;
}

static bool data_equal(const Command *a, const Command *b)
{
    const char *x = a->data, *y = b->data;
    for (size_t at = 0; at < a->data_size; at += sizeof(uint64_t)) {
        size_t rest = a->data_size - at;
        if (memcmp(x + at, y + at, rest < sizeof(uint64_t) ? rest : sizeof(uint64_t)) &&
            !is_address(a, at / sizeof(uint64_t)))
            return false;
    }
    return true;
}

bool command_equal(const Command *a, const Command *b)
{
    if (a->kind != b->kind || a->size != b->size || a->device != b->device ||
        a->slot_count != b->slot_count || a->data_size != b->data_size)
        return false;
    for (uint32_t i = 0; i < a->slot_count; ++i) {
        const Slot *s = &a->slots[i], *t = &b->slots[i];
        if (s->offset != t->offset || s->bytes != t->bytes || s->access != t->access ||
            s->word != t->word)
            return false;
    }
    size_t first = offsetof(Command, launch), end = offsetof(Command, timed);
    return memcmp((const char *) a + first, (const char *) b + first, end - first) ==
               0 && data_equal(a, b);
}

bool command_repeats(const Command *first, const Command *second)
{
    if (first->kind != COMMAND_LAUNCH || second->kind != COMMAND_LAUNCH ||
        first->launch.code != second->launch.code)
        return false;
    for (uint32_t i = 0; i < first->slot_count; ++i)
        for (uint32_t k = 0; k < second->slot_count; ++k)
            if (first->slots[i].access & SLOT_WRITE &&
                first->slots[i].buffer == second->slots[k].buffer)
                return false;
    return true;
}

void command_write(const Command *c, Text *out)
{
    static const char *const access[] = { "", "r", "w", "b" };
    text_putf(out, "%s %llu [", command_info[c->kind].name,
              (unsigned long long) c->size);
    for (uint32_t i = 0; i < c->slot_count; ++i)
        text_putf(out, "%s%s %p +%zu %zu", i ? ", " : "", access[c->slots[i].access],
                  (const void *) c->slots[i].buffer, c->slots[i].offset,
                  c->slots[i].bytes);
    text_put(out, "]");
}
