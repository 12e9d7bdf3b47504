/*
 * uses.c -- see uses.h
 *
 * Each buffer has an owner: the one stream that uses it, as long as that is so; it
 * notes the numbers of the owner's last commands that write and read the buffer. A
 * buffer without an owner ("shared") names its last writer and reader; it gets an owner
 * again when all other streams' uses are over.
 *
 * On the fast path a stream announces a command first and asks who owns the buffers
 * then, without a lock. A second stream that comes along, with the lock, removes the
 * owner first and reads what it has announced then. By the order of these steps it
 * either finds the announced command, and waits for it, or its removal is seen by the
 * owner's question.
 */
#include "device/uses.h"

#include "base/error.h"
#include "device/queue.h"

/* Stands for no owner: an address that no stream has. */
static char shared_mark;
#define SHARED ((Stream *) (void *) &shared_mark)

/* Who uses a buffer, whether it is owned or shared. Only open uses are listed. */
typedef struct Uses {
    StreamPoint write, read; /* stream NULL: none */
    bool many;               /* more readers than can be named */
} Uses;

/* Does this stream exist? One freed by a shutdown was idle: what names it is over. */
static bool exists(const Stream *stream)
{
    for (const Stream *s = queues.streams; s; s = s->next) {
        if (s == stream)
            return true;
    }
    return false;
}

static StreamPoint open_use(Stream *stream, uint64_t seq)
{
    if (!stream || !exists(stream) || stream_passed(stream, seq))
        return (StreamPoint) {NULL, 0};
    return (StreamPoint) {stream, seq};
}

/* The uses by an owner that has just been taken away, or is looked at from outside.
 * With an empty queue, an open number is a command announced on the fast path, which
 * may or may not use this buffer; with a queue, every command has entered its number in
 * the buffer. */
static Uses owner_uses(const Buffer *buffer, Stream *owner)
{
    if (!owner || !exists(owner))
        return (Uses) {0};
    uint64_t announced = stream_position(owner);
    uint64_t write = atomic_load(&buffer->own_write);
    uint64_t read = atomic_load(&buffer->own_read);
    if (!owner->head && !stream_passed(owner, announced))
        write = read = announced;
    return (Uses) {.write = open_use(owner, write), .read = open_use(owner, read)};
}

static Uses shared_uses(const Buffer *buffer)
{
    return (Uses) {.write = open_use(buffer->writer, buffer->writer_seq),
                   .read = open_use(buffer->reader, buffer->reader_seq),
                   .many = buffer->readers_many};
}

/* Make 'stream' the owner if no other one uses the buffer, else make the buffer shared.
 */
static void settle(Buffer *buffer, Stream *stream)
{
    if (atomic_load(&buffer->owner) == stream)
        return;
    /* From here on, a former owner's fast path does not take the buffer any more. */
    Stream *former = atomic_exchange(&buffer->owner, SHARED);
    Uses uses = former == SHARED ? shared_uses(buffer) : owner_uses(buffer, former);
    if (!uses.many && (!uses.write.stream || uses.write.stream == stream) &&
        (!uses.read.stream || uses.read.stream == stream)) {
        atomic_store_explicit(&buffer->own_write, uses.write.seq, memory_order_relaxed);
        atomic_store_explicit(&buffer->own_read, uses.read.seq, memory_order_relaxed);
        atomic_store(&buffer->owner, stream);
        return;
    }
    buffer->writer = uses.write.stream;
    buffer->writer_seq = uses.write.seq;
    buffer->reader = uses.read.stream;
    buffer->reader_seq = uses.read.seq;
    buffer->readers_many = uses.many;
}

/* Have the command wait for a point in another stream; there is room for one each. */
static void add_point(Command *c, StreamPoint point)
{
    if (!point.stream || point.stream == c->stream)
        return;
    for (uint32_t i = 0; i < c->point_count; i++) {
        if (c->points[i].stream == point.stream) {
            if (c->points[i].seq < point.seq)
                c->points[i].seq = point.seq;
            return;
        }
    }
    c->points[c->point_count++] = point;
}

static void add_points(Command *c, const Slot *slot)
{
    const Buffer *buffer = slot->buffer;
    if (atomic_load(&buffer->owner) != SHARED)
        return;
    Uses uses = shared_uses(buffer);
    add_point(c, uses.write);
    if (!(slot->access & SLOT_WRITE))
        return;
    add_point(c, uses.read);
    if (uses.many) {
        for (Stream *s = queues.streams; s; s = s->next)
            add_point(c, open_use(s, stream_position(s)));
    }
}

/* Commands that may be performed later recognise by this what has changed until then.
 * Not an atomic step: who submits holds a lock, or has buffers of its own. */
static inline void count_write(Slot *slot)
{
    Buffer *buffer = slot->buffer;
    if (slot->access & SLOT_WRITE)
        buffer_count_write(buffer);
    slot->writes = buffer_writes(buffer);
}

/* Enter the command in a buffer that was settled. */
static void mark(const Command *c, Slot *slot)
{
    Buffer *b = slot->buffer;
    if (!c->again)
        count_write(slot);
    bool owned = atomic_load(&b->owner) == c->stream;
    if (slot->access & SLOT_WRITE) {
        if (owned) {
            atomic_store_explicit(&b->own_write, c->seq, memory_order_relaxed);
        } else {
            b->writer = c->stream;
            b->writer_seq = c->seq;
            b->reader = NULL;
            b->readers_many = false;
        }
    } else if (owned) {
        atomic_store_explicit(&b->own_read, c->seq, memory_order_relaxed);
    } else if (!b->reader || b->reader == c->stream) {
        b->reader = c->stream;
        b->reader_seq = c->seq;
    } else {
        b->readers_many = true;
    }
}

void uses_find_points(Command *c)
{
    for (uint32_t i = 0; i < c->slot_count; i++)
        settle(c->slots[i].buffer, c->stream);
    for (uint32_t i = 0; i < c->slot_count; i++)
        add_points(c, &c->slots[i]);
}

void uses_mark(const Command *c)
{
    for (uint32_t i = 0; i < c->slot_count; i++)
        mark(c, &c->slots[i]);
}

/* It has one that nobody ever used. */
static bool take(Stream *stream, Buffer *buffer)
{
    Stream *owner = NULL;
    return atomic_compare_exchange_strong(&buffer->owner, &owner, stream);
}

static inline bool owns(Stream *stream, Buffer *buffer)
{
    return atomic_load(&buffer->owner) == stream || take(stream, buffer);
}

bool uses_own(const Command *c)
{
    Stream *stream = c->stream;
    const uint64_t seq = c->seq;
    const uint32_t count = c->slot_count;
    Slot *slots = c->slots;
    for (uint32_t i = 0; i < count; i++)
        TRY(owns(stream, slots[i].buffer), false);
    for (uint32_t i = 0; i < count; i++) {
        Buffer *b = slots[i].buffer;
        const bool write = slots[i].access & SLOT_WRITE;
        count_write(&slots[i]);
        atomic_store_explicit(write ? &b->own_write : &b->own_read, seq,
                              memory_order_relaxed);
    }
    return true;
}

bool uses_by_others(const Buffer *buffer, const Stream *stream)
{
    const Stream *owner = atomic_load(&buffer->owner);
    return owner && owner != stream;
}

StreamPoint uses_last_write(const Buffer *buffer)
{
    Stream *owner = atomic_load(&buffer->owner);
    return (owner == SHARED ? shared_uses(buffer) : owner_uses(buffer, owner)).write;
}
