/*
 * finite.c -- see finite.h
 *
 * Three steps: what there is to search is noted under the lock; it is searched, and
 * lanes are computed, without; with the lock, variables are named. Each launch warns
 * once, and each line of the program, too.
 *
 * Infinities that are meant may fill an array, so that after a few lanes in which they
 * were, only those with NaN are computed.
 */
#include "trace/eval/finite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/stream.h"
#include "engine/interp/interp.h"
#include "kernel/origin.h"

enum {
    STEPS = 4000000, /* instructions that are computed for one launch, at most: less
                        than a second */
    MEANT = 64       /* lanes of an output in which what is meant may be found */
};

typedef enum FoundKind {
    FOUND_NOTHING,
    FOUND_ORIGIN,  /* it is known where it comes from */
    FOUND_OPERAND, /* likewise; 'param' is a place in Assembly.operands */
    FOUND_REDUCED, /* a reduction made it of finite values */
    FOUND_UNKNOWN
} FoundKind;

/* An array that the launch has written, and what was found in it. */
typedef struct Written {
    const Buffer *buffer;
    const char *data;
    VarType type;
    uint64_t size;
    uint32_t output; /* of the assembly; SLOT_NO_WORD: it has scattered there */
    uint32_t param;  /* SLOT_NO_WORD: the result of a reduction */
    FoundKind kind;
    uint64_t entry, bits;
    Origin origin;
} Written;

typedef struct Search {
    const Assembly *b;
    uint64_t *args;
    Written *list;
    uint32_t count;
    OriginWalk *walk;
} Search;

/* ----------------------------------------------------------------- what to search */

static bool is_written(const Assembly *b, const LaunchArray *a)
{
    return a->access == SLOT_READ_WRITE && a->word != SLOT_NO_WORD &&
           type_info[b->program->params[a->word].type].is_float;
}

static bool watches(const ThreadState *ts)
{
    return state_flag(ts, JitFlagDebug) && !ts->unwatched &&
           !state_flag(ts, JitFlagForbidSynchronization);
}

bool finite_watches(const ThreadState *ts, const Assembly *b)
{
    if (!watches(ts))
        return false;
    for (uint32_t i = 0; i < b->output_count; ++i)
        if (type_info[var_get(b->outputs[i])->type].is_float)
            return true;
    for (uint32_t i = 0; i < b->operand_count; ++i)
        if (is_written(b, &b->operands[i]))
            return true;
    return false;
}

static void add_written(Search *s, const Buffer *buffer, VarType type, uint64_t size,
                        uint32_t output, uint32_t param)
{
    if (buffer_host(buffer) && type_info[type].is_float)
        s->list[s->count++] = (Written){ .buffer = buffer, .data = buffer_host(buffer),
                                         .type = type, .size = size, .output = output,
                                         .param = param };
}

/* Addresses that the host can read. False: out of memory, or the device has memory of
 * its own. */
static bool begin(Search *s, const Assembly *b)
{
    const uint32_t inputs = b->operand_count - b->output_count;
    *s = (Search){ .b = b,
                   .args = alloc_zero(b->program->param_count + 1, sizeof(uint64_t)),
                   .list = alloc_zero(b->operand_count + 1, sizeof(Written)) };
    TRY(s->args && s->list, false);
    const uint32_t words = b->program->param_count - (b->program->check_count != 0);
    if (words)
        memcpy(s->args, b->args, words * sizeof(uint64_t));
    for (uint32_t i = 0; i < b->output_count; ++i) {
        const Var *v = var_get(b->outputs[i]);
        if (v->op == OP_EVALUATED)
            add_written(s, v->value.buffer, (VarType) v->type, var_lanes(v), i,
                        b->output_params[i]);
    }
    for (uint32_t i = 0; i < inputs; ++i) {
        const LaunchArray *a = &b->operands[i];
        TRY(buffer_host(a->buffer), false);
        if (a->word == SLOT_NO_WORD)
            continue;
        s->args[a->word] = (uintptr_t) buffer_host(a->buffer);
        const VarType type = (VarType) b->program->params[a->word].type;
        if (is_written(b, a))
            add_written(s, a->buffer, type, a->buffer->size / type_info[type].size,
                        SLOT_NO_WORD, a->word);
    }
    s->walk = origin_begin(&(OriginSpec){ .program = b->program, .args = s->args,
                                          .check_bounds = b->check_bounds,
                                          .steps = STEPS });
    return s->walk != NULL;
}

static void end(Search *s)
{
    origin_end(s->walk);
    alloc_free(s->args);
    alloc_free(s->list);
}

/* ----------------------------------------------------------------------- searching */

/* Is one of these words not finite? In a form that compilers turn into vectors. */
#define SEARCH(name, word, limit)                                                      \
    static bool name(const char *data, size_t count)                                   \
    {                                                                                  \
        const word *words = (const word *) (const void *) data;                        \
        word any = 0;                                                                  \
        for (size_t i = 0; i < count; ++i)                                             \
            any |= (word) ((words[i] & (limit)) == (limit));                           \
        return any != 0;                                                               \
    }
SEARCH(search_16, uint16_t, 0x7c00u)
SEARCH(search_32, uint32_t, 0x7f800000u)
SEARCH(search_64, uint64_t, UINT64_C(0x7ff0000000000000))

static uint64_t entry_bits(const char *data, VarType type, uint64_t entry)
{
    const uint32_t size = type_info[type].size;
    uint64_t bits = 0;
    memcpy(&bits, data + entry * size, size);
    return bits;
}

/* The first entry from 'entry' on, and before 'end', that is at least so bad; 'end':
 * there is none. */
static uint64_t next_bad(const char *data, VarType type, uint64_t entry, uint64_t end,
                         uint32_t badness)
{
    enum { PART = 4096 };
    const uint32_t size = type_info[type].size;
    while (entry < end) {
        const uint64_t part = end - entry < PART ? end - entry : PART,
                       last = entry + part;
        const char *at = data + entry * size;
        const bool any = size == 2   ? search_16(at, part)
                         : size == 4 ? search_32(at, part)
                                     : search_64(at, part);
        for (; any && entry < last; ++entry)
            if (origin_badness(type, entry_bits(data, type, entry)) >= badness)
                return entry;
        entry = last;
    }
    return end;
}

/* Infinities that the launch was given can be meant, and what is written as a literal
 * is. */
static bool is_meant(const Origin *origin)
{
    return origin->kind == ORIGIN_LITERAL ||
           (origin->kind == ORIGIN_ARRAY &&
            origin_badness(origin->type, origin->bits) == 1);
}

static bool note(Written *w, FoundKind kind, uint64_t entry, const Origin *origin)
{
    w->kind = kind;
    w->entry = entry;
    w->bits = entry_bits(w->data, w->type, entry);
    if (origin)
        w->origin = *origin;
    return true;
}

/* Look at an entry of an output, which is bad. True: that is it. */
static bool look_at_lane(Search *s, Written *w, uint64_t entry)
{
    uint64_t bits;
    if (!origin_lane(s->walk, (uint32_t) entry))
        return note(w, FOUND_UNKNOWN, entry, NULL);
    const Origin *origin = origin_output(s->walk, w->param, &bits);
    if (!origin) /* an engine that computes something else would be a surprise */
        return note(w, FOUND_UNKNOWN, entry, NULL);
    return !is_meant(origin) && note(w, FOUND_ORIGIN, entry, origin);
}

static void search_output(Search *s, Written *w)
{
    for (uint32_t badness = 1; badness <= 2; ++badness) {
        uint64_t at = 0;
        for (uint32_t meant = 0; meant < MEANT; ++meant) {
            at = next_bad(w->data, w->type, at, w->size, badness);
            if (at == w->size)
                return;
            if (look_at_lane(s, w, at++))
                return;
        }
    }
}

/* Of what a launch has scattered to an array that has bad entries, the first that it
 * made itself: these may have been there before. */
static void search_target(Search *s, Written *w)
{
    if (next_bad(w->data, w->type, 0, w->size, 1) == w->size)
        return;
    for (uint32_t lane = 0; lane < s->b->size && origin_lane(s->walk, lane); ++lane) {
        uint64_t entry;
        const Origin *origin = origin_scattered(s->walk, w->param, &entry);
        if (origin && entry < w->size) {
            note(w, FOUND_ORIGIN, entry, origin);
            w->bits = origin->bits;
            return;
        }
    }
}

/* What a reduction reads has a bad value in a lane of this range: find it. 'quiet' if
 * it was meant, or cannot be known. */
static const Origin *search_lanes(Search *s, uint32_t param, uint64_t first,
                                  uint64_t last, bool *quiet)
{
    for (uint64_t lane = first; lane < last; ++lane) {
        uint64_t bits;
        if (!origin_lane(s->walk, (uint32_t) lane)) {
            *quiet = true;
            return NULL;
        }
        const Origin *origin = origin_output(s->walk, param, &bits);
        if (origin && !is_meant(origin))
            return origin;
        *quiet |= origin != NULL;
    }
    return NULL;
}

static const Origin *search_array(Search *s, uint32_t operand, VarType type,
                                  uint64_t first, uint64_t last, Origin *found,
                                  bool *quiet)
{
    const Buffer *buffer = s->b->operands[operand].buffer;
    const char *data = buffer_host(buffer);
    const uint64_t at = next_bad(data, type, first, last, 1);
    if (at == last)
        return NULL;
    *found = (Origin){ .kind = ORIGIN_ARRAY, .type = type,
                       .bits = entry_bits(data, type, at), .param = operand,
                       .entry = at };
    *quiet = is_meant(found);
    return *quiet ? NULL : found;
}

/* The lanes that a bad result of a reduction is computed from. */
static void lanes_of(const FusedReduction *r, uint64_t entry, uint64_t size,
                     uint64_t *first, uint64_t *last)
{
    const bool prefix = r->op == REDUCE_PREFIX;
    const uint64_t block = prefix ? entry / r->block : entry;
    *first = r->stride == 1 ? block * r->block : 0;
    *last = r->stride == 1 && r->block < size - *first ? *first + r->block : size;
}

static void search_reduced(Search *s, Written *w)
{
    const Assembly *b = s->b;
    const uint64_t entry = next_bad(w->data, w->type, 0, w->size, 1);
    uint32_t i = 0;
    while (i < b->fused_count && b->fused[i].target != w->output)
        ++i;
    if (entry == w->size || i == b->fused_count)
        return;
    const FusedReduction *r = &b->fused[i];
    uint64_t first, last;
    lanes_of(r, entry, b->size, &first, &last);
    bool quiet = false;
    Origin array;
    const Origin *origin = NULL;
    for (uint32_t k = 0; k < 2 && !origin && r->source[k] != FUSED_NONE; ++k) {
        const uint32_t source = r->source[k];
        if (source & FUSED_TILE)
            origin = search_lanes(s, source & ~FUSED_TILE, first, last, &quiet);
        else if (source & ASSEMBLE_OUTPUT)
            origin = search_lanes(s, b->output_params[source & ~ASSEMBLE_OUTPUT], first,
                                  last, &quiet);
        else
            origin = search_array(s, source, w->type, first, last, &array, &quiet);
    }
    if (origin)
        note(w, origin == &array ? FOUND_OPERAND : FOUND_ORIGIN, entry, origin);
    else if (!quiet)
        note(w, FOUND_REDUCED, entry, NULL);
    else if (origin_is_exhausted(s->walk))
        note(w, FOUND_UNKNOWN, entry, NULL);
}

static void search(Search *s)
{
    for (uint32_t i = 0; i < s->count; ++i) {
        Written *w = &s->list[i];
        if (buffer_failure(w->buffer))
            continue;
        if (w->output == SLOT_NO_WORD)
            search_target(s, w);
        else if (w->param == SLOT_NO_WORD)
            search_reduced(s, w);
        else
            search_output(s, w);
    }
}

/* ----------------------------------------------------------------------- reporting */

static double value_of(VarType type, uint64_t bits)
{
    uint64_t args[] = { bits, 0, 0 }, wide = bits;
    if (type != VarTypeFloat64)
        interp_fold(OP_CAST, VarTypeFloat64, type, args, &wide);
    double value;
    memcpy(&value, &wide, sizeof(value));
    return value;
}

/* NaN has no sign that anybody means. */
static void put_value(Text *out, VarType type, uint64_t bits)
{
    const double value = value_of(type, bits);
    if (isnan(value))
        text_put(out, "nan");
    else
        text_putf(out, "%.*g", type == VarTypeFloat64 ? 17 : 9, value);
}

/* "0 / 0", "sqrt(-1)" */
static void put_operation(Text *out, const Origin *o)
{
    static const char *const infix[OP_COUNT] = {
        [OP_ADD] = " + ", [OP_SUB] = " - ", [OP_MUL] = " * ", [OP_DIV] = " / "
    };
    const char *between = infix[o->op] ? infix[o->op] : ", ";
    if (!o->count) {
        text_putf(out, "that of '%s'", op_info[o->op].name);
        return;
    }
    if (!infix[o->op])
        text_putf(out, "%s(", o->op == OP_CAST ? type_info[o->type].name
                                               : op_info[o->op].name);
    for (uint32_t k = 0; k < o->count; ++k) {
        text_put(out, k ? between : "");
        put_value(out, o->operand, o->operands[k]);
    }
    text_put(out, infix[o->op] ? "" : ")");
}

/* The array that it comes from; 0: not known. */
static VarId find_array(const Assembly *b, const Written *w)
{
    const bool operand = w->kind == FOUND_OPERAND;
    const Buffer *buffer = NULL;
    for (uint32_t i = 0; i < b->operand_count; ++i)
        if (operand ? i == w->origin.param : b->operands[i].word == w->origin.param)
            buffer = b->operands[i].buffer;
    for (uint32_t i = 0; buffer && i < b->array_count; ++i) {
        const Var *v = var_get(b->arrays[i]);
        if (v->op == OP_EVALUATED && v->value.buffer == buffer)
            return b->arrays[i];
    }
    return 0;
}

/* "the float32 array "size" made at program.py:2" */
static void put_array(Text *out, VarType type, VarId id)
{
    const Extra *e = id ? extra_find(var_get(id)) : NULL;
    text_putf(out, "%s %s array", id ? "the" : "a", type_info[type].name);
    if (e && e->label)
        text_putf(out, " \"%s\"", e->label);
    if (e && e->file)
        text_putf(out, " made at %s:%u", e->file, e->line);
    else if (id && !(e && e->label))
        text_putf(out, " r%u", id);
}

static void put_origin(Text *out, const Assembly *b, const Written *w)
{
    const Origin *o = &w->origin;
    if (w->kind == FOUND_UNKNOWN) {
        text_put(out, "; which operation made it was not found");
    } else if (w->kind == FOUND_REDUCED) {
        text_put(out, ": a sum or product of finite values has overflowed");
    } else if (w->kind == FOUND_OPERAND || o->kind == ORIGIN_ARRAY) {
        text_putf(out, ": it comes from entry %llu of ", (unsigned long long) o->entry);
        put_array(out, o->type, find_array(b, w));
    } else {
        text_put(out, ": the first value that is not finite is ");
        put_operation(out, o);
        if (o->source.file)
            text_putf(out, " at %s:%u", o->source.file, o->source.line);
    }
}

/* Has a warning named this line before? From now on one has. */
static bool is_known(SourceLine place)
{
    char name[300];
    snprintf(name, sizeof(name), "not finite: %s:%u", place.file, place.line);
    return place.file && extra_seen(name);
}

static SourceLine place_of(VarId id)
{
    const Extra *e = id ? extra_find(var_get(id)) : NULL;
    return e ? (SourceLine){ e->file, e->line } : (SourceLine){ NULL, 0 };
}

/* Both the line of what made it and that of the result are known from now on: where the
 * result is read, it is an array with such an entry. */
static bool is_news(const Assembly *b, const Written *w)
{
    const SourceLine made =
        place_of(w->output == SLOT_NO_WORD ? 0 : b->outputs[w->output]);
    const bool array = w->kind == FOUND_OPERAND || w->origin.kind == ORIGIN_ARRAY;
    const SourceLine from = w->kind > FOUND_OPERAND ? made
                            : array                 ? place_of(find_array(b, w))
                                                    : w->origin.source;
    const bool known = is_known(from);
    if (made.file && (made.file != from.file || made.line != from.line))
        (void) is_known(made);
    return !known;
}

static void warn(const Assembly *b, const Written *w)
{
    Text text = { 0 };
    text_put(&text, "jit_var_eval(): ");
    text_put(&text, w->output == SLOT_NO_WORD ? "what is scattered to " : "");
    text_put(&text, "entry ");
    text_putf(&text, "%llu of ", (unsigned long long) w->entry);
    put_array(&text, w->type, w->output == SLOT_NO_WORD ? 0 : b->outputs[w->output]);
    text_put(&text, " is ");
    put_value(&text, w->type, w->bits);
    put_origin(&text, b, w);
    const char *line = text_get(&text);
    if (line)
        log_text(LogLevelWarn, line);
    text_free(&text);
}

static void report(const Search *s)
{
    uint32_t i = 0;
    while (i < s->count &&
           (s->list[i].kind == FOUND_NOTHING || !is_news(s->b, &s->list[i])))
        ++i;
    if (i < s->count)
        warn(s->b, &s->list[i]);
}

/* ------------------------------------------------------------------------ commands */

bool finite_wants(const ThreadState *ts, VarType type)
{
    return watches(ts) && type_info[type].is_float;
}

static void hold_slot(FiniteInputs *inputs, const Slot *slot)
{
    const uint32_t most = sizeof(inputs->slots) / sizeof(inputs->slots[0]);
    if (!slot->buffer || inputs->count == most)
        return;
    inputs->slots[inputs->count++] = *slot;
    buffer_retain(slot->buffer);
}

void finite_hold(FiniteInputs *inputs, const Command *command)
{
    inputs->count = 0;
    for (uint32_t i = 0; i + 1 < command->slot_count; ++i)
        hold_slot(inputs, &command->slots[i]);
}

void finite_hold_vars(FiniteInputs *inputs, const VarId *ids, uint32_t count)
{
    inputs->count = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const Var *v = var_get(ids[i]);
        if (v->op == OP_EVALUATED)
            hold_slot(inputs, &(Slot){ .buffer = v->value.buffer,
                                       .bytes = var_bytes(v) });
    }
}

/* What was bad before, or cannot be looked at, is no news. */
static bool all_finite(const FiniteInputs *inputs, VarType type)
{
    for (uint32_t i = 0; i < inputs->count; ++i) {
        const Slot *slot = &inputs->slots[i];
        const char *data = buffer_host(slot->buffer);
        const uint64_t count = slot->bytes / type_info[type].size;
        if (!data || buffer_failure(slot->buffer) ||
            next_bad(data + slot->offset, type, 0, count, 1) != count)
            return false;
    }
    return true;
}

static void search_result(Written *w, const FiniteInputs *inputs)
{
    if (!w->data || buffer_failure(w->buffer))
        return;
    const uint64_t entry = next_bad(w->data, w->type, 0, w->size, 1);
    if (entry != w->size && all_finite(inputs, w->type))
        note(w, FOUND_REDUCED, entry, NULL);
}

void finite_check_result(ThreadState *ts, VarId result, FiniteInputs *inputs)
{
    const Var *v = result ? var_get(result) : NULL;
    if (v && v->op == OP_EVALUATED) {
        Written w = { .buffer = v->value.buffer, .data = buffer_host(v->value.buffer),
                      .type = (VarType) v->type, .size = var_lanes(v) };
        Device *device = var_device(v);
        const Assembly b = { .outputs = &result, .output_count = 1 };
        state_pause(ts);
        stream_sync(stream_self(device));
        search_result(&w, inputs);
        state_resume(ts);
        if (w.kind != FOUND_NOTHING && is_news(&b, &w))
            warn(&b, &w);
    }
    for (uint32_t i = 0; i < inputs->count; ++i)
        buffer_release(inputs->slots[i].buffer);
}

/* ------------------------------------------------------------------------ launches */

void finite_check(ThreadState *ts, const Assembly *b)
{
    ErrorRecord before;
    error_save(&before); /* it is not the program's error if memory is short here */
    Search s;
    if (begin(&s, b) && s.count) {
        state_pause(ts);
        stream_sync(stream_self(b->device));
        search(&s);
        state_resume(ts);
        report(&s);
    }
    end(&s);
    error_restore(&before);
}
