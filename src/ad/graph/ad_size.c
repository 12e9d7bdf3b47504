/*
 * ad_size.c -- see ad_size.h
 */
#include "ad/graph/ad_size.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "freeze/freezing.h"

/* The size of what a node stands for; by number of the node, so that most of these
 * belong to nodes that are gone, or to none. Guarded by the graph lock. */
typedef struct Note {
    uint64_t serial; /* of the node */
    uint64_t origin;
} Note;
static Note *notes;
static uint32_t note_capacity;

/* Does the thread record a function? */
static bool records(void)
{
    const ThreadState *ts = thread_self.state;
    return ts && ts->freezing && watch_records(ts);
}

/* ---------------------------------------------------------------- with the lock */

/* The term of a size, if it is one of what the thread records; else 0. */
static SymSize term_of(const ThreadState *ts, uint64_t origin)
{
    return origin && origin >> 32 == freezing_serial(ts) ? (SymSize) origin : 0;
}

/* The recording depends on the sizes of all inputs. */
static void bind(ThreadState *ts)
{
    (void) freezing_bind(ts); /* if that has failed, so has the recording */
    error_clear();
}

/* From a term, 0: out of memory. It stays a size of more than one entry. */
static uint64_t origin_of(ThreadState *ts, SymSize symsize)
{
    SymSizes *w = symsize ? freezing_symsizes(ts, "ad_size_of()") : NULL;
    if (w && (symsize == FREEZING_LANES || symsize_pin_kind(w, symsize)))
        return (uint64_t) freezing_serial(ts) << 32 | symsize;
    bind(ts);
    return 0;
}

/* Is there more to know than a number? */
static bool is_recorded(const ThreadState *ts, VarId array)
{
    return ts && ts->freezing && watch_records(ts) && var_lanes_of(array) > 1;
}

AdSize ad_size_of_array(VarId array)
{
    ThreadState *ts = thread_self.state;
    AdSize size = { .count = var_lanes_of(array) };
    if (is_recorded(ts, array))
        size.origin = origin_of(ts, freezing_size(ts, array));
    return size;
}

static uint64_t noted(NodeId id)
{
    const bool found =
        id < note_capacity && notes[id].serial == ad_graph_node(id)->serial;
    return found ? notes[id].origin : 0;
}

AdSize ad_size_of_node(NodeId id)
{
    return (AdSize) { .count = ad_graph_node(id)->size, .origin = noted(id) };
}

static void note(NodeId id, uint64_t origin)
{
    uint32_t before = note_capacity;
    if (id >= before && !vec_reserve(&notes, &note_capacity, id + 1, sizeof(Note))) {
        error_clear(); /* as if it was not known */
        return;
    }
    memset(notes + before, 0, (note_capacity - before) * sizeof(Note));
    notes[id] = (Note) { ad_graph_node(id)->serial, origin };
}

void ad_size_note_always(NodeId node, VarId array)
{
    const ThreadState *ts = thread_self.state;
    if (is_recorded(ts, array) && !term_of(ts, noted(node)))
        note(node, ad_size_of_array(array).origin);
}

void ad_size_note(NodeId node, VarId array, uint32_t n, const uint64_t *operands)
{
    const ThreadState *ts = thread_self.state;
    if (!is_recorded(ts, array))
        return;
    const uint32_t size = var_lanes_of(array);
    bool one = false;
    for (uint32_t i = 0; i < n; i++) {
        NodeId operand = ad_var_node(operands[i]);
        if (operand && ad_graph_node(operand)->size == size &&
            term_of(ts, noted(operand))) {
            note(node, noted(operand));
            return;
        }
        one |= operand && ad_graph_node(operand)->size == 1;
    }
    if (one)
        note(node, ad_size_of_array(array).origin);
}

void ad_size_note_same(NodeId node, NodeId other)
{
    if (noted(other))
        note(node, noted(other));
}

void ad_size_announce(AdSize size)
{
    ThreadState *ts = thread_self.state;
    SymSize symsize = records() ? term_of(ts, size.origin) : 0;
    if (symsize)
        freezing_hint(ts, symsize, size.count);
    else if (size.count > 1 && records())
        bind(ts);
}

void ad_size_forget(void)
{
    alloc_free(notes);
    notes = NULL;
    note_capacity = 0;
}

/* ---------------------------------------------------------------- without */

AdSize ad_size_of(uint32_t index)
{
    AdSize size = { .count = jit_var_peek_size(index) };
    if (size.count <= 1 || !records())
        return size;
    state_lock();
    size = ad_size_of_array(index);
    state_unlock();
    return size;
}

AdSize ad_size_take(size_t number)
{
    AdSize size = { .count = number };
    if (!records())
        return size;
    state_lock();
    ThreadState *ts = thread_self.state;
    const SymSize symsize = freezing_take_number(ts, number);
    if (number > 1)
        size.origin = origin_of(ts, symsize);
    state_unlock();
    return size;
}

AdSize ad_size_from(size_t number, uint64_t origin)
{
    AdSize size = { .count = number };
    if (number <= 1 || !records())
        return size;
    state_lock();
    ThreadState *ts = thread_self.state;
    SymSizes *w = freezing_symsizes(ts, "ad_size_from()");
    SymSize symsize = origin ? freezing_term(ts, origin)
                         : symsize_constant(w, (int64_t) number);
    if (symsize && (uint64_t) symsize_value(w, symsize) != number)
        symsize = 0;
    size.origin = origin_of(ts, symsize);
    state_unlock();
    return size;
}

uint64_t ad_size_origin(AdSize size)
{
    if (size.count <= 1 || !records())
        return 0;
    state_lock();
    ThreadState *ts = thread_self.state;
    const SymSize symsize = term_of(ts, size.origin);
    const bool known = symsize && symsize != FREEZING_LANES;
    if (!known)
        bind(ts);
    state_unlock();
    return known ? size.origin : 0;
}

bool ad_size_equal(AdSize a, AdSize b)
{
    const uint64_t x = ad_size_origin(a), y = ad_size_origin(b);
    if (x && y) {
        state_lock();
        ThreadState *ts = thread_self.state;
        if (symsize_test(freezing_symsizes(ts, "ad_size_equal()"), SYMSIZE_EQUAL,
                         (SymSize) x, (SymSize) y) < 0)
            bind(ts);
        state_unlock();
    }
    return a.count == b.count;
}

/* The term of a size; 0: it is not known. */
static SymSize term(ThreadState *ts, AdSize size)
{
    return size.count <= 1 ? symsize_constant(freezing_symsizes(ts, "ad_size_of()"),
                                              (int64_t) size.count)
                           : term_of(ts, size.origin);
}

/* A size that follows from others. */
static AdSize combine(SizeOp op, AdSize a, AdSize b, size_t count)
{
    AdSize result = { .count = count };
    if (count <= 1 || !records())
        return result;
    state_lock();
    ThreadState *ts = thread_self.state;
    const SymSize x = term(ts, a), y = term(ts, b);
    if (x && y && x != FREEZING_LANES && y != FREEZING_LANES)
        result.origin = origin_of(
            ts, symsize_make(freezing_symsizes(ts, "ad_size_of()"), op, x, y));
    state_unlock();
    return result;
}

AdSize ad_size_times(AdSize size, AdSize factor)
{
    return combine(SYMSIZE_MUL, size, factor, size.count * factor.count);
}

AdSize ad_size_over(AdSize size, AdSize divisor)
{
    return combine(SYMSIZE_DIV, size, divisor, size.count / divisor.count);
}

bool ad_size_is(AdSize size, uint32_t index)
{
    if (jit_var_peek_size(index) != size.count)
        return false;
    if (size.count <= 1 || !records())
        return true;
    state_lock();
    ThreadState *ts = thread_self.state;
    SymSize symsize = term_of(ts, size.origin);
    SymSize own = symsize ? freezing_size(ts, index) : 0;
    if (symsize && own != FREEZING_LANES && symsize != FREEZING_LANES &&
        (!own || !symsize_assume(freezing_symsizes(ts, "ad_size_is()"), SYMSIZE_EQUAL,
                                 own, symsize)))
        bind(ts);
    state_unlock();
    return true;
}

void ad_size_next(AdSize size)
{
    if (size.count <= 1 || !records())
        return;
    state_lock();
    ad_size_announce(size);
    state_unlock();
}

static bool is_constant(AdSize size)
{
    state_lock();
    ThreadState *ts = thread_self.state;
    const SymSize symsize = term_of(ts, size.origin);
    const bool constant =
        symsize && symsize != FREEZING_LANES &&
        symsize_is_constant(freezing_symsizes(ts, "ad_size_number()"), symsize);
    state_unlock();
    return constant;
}

uint32_t ad_size_number(AdSize size, JitBackend backend)
{
    if (size.count <= 1 || !records() || is_constant(size))
        return jit_var_u32(backend, (uint32_t) size.count);
    const uint8_t none = 0;
    ad_size_next(size);
    uint32_t entries = jit_var_literal(backend, VarTypeBool, &none, size.count, 0);
    uint32_t number = entries ? jit_var_opaque_width(entries) : 0;
    jit_var_dec_ref(entries);
    return number;
}
