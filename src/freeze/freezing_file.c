/*
 * freezing_file.c -- see freezing_file.h
 */
#include "freeze/freezing_file.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "recording/recording_file.h"
#include "trace/eval/work.h"
#include "trace/graph/node.h"

/* docs/dev/freezing.md */
enum {
    FORMAT_VERSION = 7,
    SIZE_OFFSET = 24,
    COUNTS_OFFSET = 32,
    CHECKSUM_OFFSET = 40,
    HEADER_SIZE = 48
};

static const char magic[8] = { 'd', 'j', 'c', '-', 'f', 'r', 'o', 'z' };

/* ------------------------------------------------------------------- tables */

/* 'device' is that of the process which reads it. */
static const Field input_fields[] = {
    FIELD(FrozenInput, type, OF_TYPES),
    FIELD(FrozenInput, literal, OF_BOOLS),
    FIELD(FrozenInput, padded, OF_BOOLS),
    FIELD(FrozenInput, same, OF_INPUTS),
    FIELD(FrozenInput, size, OF_CLASSES),
    FIELD(FrozenInput, bits, OF_NUMBERS),
};
_Static_assert(sizeof(FrozenInput) == 24, "a field has no row");

static const Field output_fields[] = {
    FIELD(FrozenOutput, kind, OF_ENUM + FROZEN_RESULTS),
    FIELD(FrozenOutput, type, OF_TYPES),
    FIELD(FrozenOutput, number, OF_NUMBERS),
    FIELD(FrozenOutput, same, OF_OUTPUTS),
    FIELD(FrozenOutput, symsize, OF_SIZES_OR_0),
    FIELD(FrozenOutput, bits, OF_NUMBERS),
};
_Static_assert(sizeof(FrozenOutput) == 32, "a field has no row");

/* A variable of Frozen.held. */
typedef struct Held {
    uint8_t type;
    uint32_t size;
    uint32_t constant; /* its array, in Recording.constants */
} Held;
static const Field held_fields[] = {
    FIELD(Held, type, OF_TYPES),
    FIELD(Held, size, OF_POSITIVE),
    FIELD(Held, constant, OF_NUMBERS),
};

_Static_assert(sizeof(Frozen) == 320, "what has been added is to be saved, too");

/* How many operations, commands and types there are: a file has those of the version
 * that wrote it. Versions only append to these tables. */
typedef struct TableCounts {
    uint32_t ops, commands, types;
} TableCounts;

static const TableCounts own_counts = { OP_COUNT, COMMAND_COUNT, VarTypeCount };

static uint64_t counts_pack(TableCounts n)
{
    return n.ops | (uint64_t) n.commands << 16 | (uint64_t) n.types << 32;
}

static TableCounts counts_unpack(uint64_t bits)
{
    return (TableCounts) { .ops = bits & 0xffff,
                           .commands = bits >> 16 & 0xffff,
                           .types = (uint32_t) (bits >> 32) };
}

/* Whatever gives numbers in a file another meaning: the names of these operations,
 * commands and types, and the order of bytes. */
uint64_t freezing_fingerprint(uint64_t counts)
{
    const TableCounts n = counts_unpack(counts);
    const uint32_t order = 0x01020304;
    uint64_t hash = hash_64(&order, sizeof(order), sizeof(FusedReduction));
    for (uint32_t i = 0; i < n.ops; ++i)
        hash = hash_64(op_info[i].name, strlen(op_info[i].name), hash);
    for (uint32_t i = 0; i < n.commands; ++i)
        hash = hash_64(command_info[i].name, strlen(command_info[i].name), hash);
    for (uint32_t i = 0; i < n.types; ++i)
        hash = hash_64(type_info[i].name, strlen(type_info[i].name), hash);
    return hash;
}

/* Can this version read a block with these tables? */
static bool is_known(uint64_t counts, uint64_t fingerprint)
{
    const TableCounts n = counts_unpack(counts);
    return n.ops <= own_counts.ops && n.commands <= own_counts.commands &&
           n.types <= own_counts.types && fingerprint == freezing_fingerprint(counts);
}

uint64_t freezing_checksum(const void *block, size_t size)
{
    const uint8_t *bytes = block;
    return hash_64(bytes + HEADER_SIZE, size - HEADER_SIZE,
                   hash_64(bytes, CHECKSUM_OFFSET, 0));
}

/* ------------------------------------------------------------------- saving */

static bool put_held(const Frozen *f, Text *out)
{
    const Recording *r = &f->recording;
    bytes_put(out, f->held.count, sizeof(uint32_t));
    for (uint32_t i = 0; i < f->held.count; ++i) {
        const Var *v = var_get(f->held.ids[i]);
        Held held = { .type = v->type, .size = var_lanes(v) };
        while (held.constant < r->constant_count &&
               r->constants[held.constant] != v->value.buffer)
            ++held.constant;
        fields_put(out, &held, FIELDS(held_fields));
    }
    return true;
}

static bool put_reports(const Frozen *f, const char *function, Text *out)
{
    for (uint32_t i = 0; i < f->report_count; ++i)
        TRY(report_put(f->reports[i], function, out), false);
    return true;
}

static bool put_frozen(ThreadState *ts, const Frozen *f, const char *function,
                       Text *out)
{
    if (f->domain_count)
        return error_set(JIT_ERROR_UNSUPPORTED, "%s: the recording cannot be saved: it "
                         "depends on instances of the registry ('%s')", function,
                         f->domains[0].name);
    for (uint32_t i = 0; i < f->recording.constant_count; ++i)
        TRY(work_wait(ts, f->recording.constants[i], function), false);
    size_t start = out->size;
    bytes_put(out, 0, sizeof(uint64_t)); /* see below */
    bytes_put(out, f->input_count, sizeof(uint32_t));
    bytes_put(out, f->output_count, sizeof(uint32_t));
    bytes_put(out, f->report_count, sizeof(uint32_t));
    bytes_put(out, f->flags, sizeof(uint32_t));
    bytes_put(out, f->general, sizeof(uint32_t));
    for (uint32_t i = 0; i < f->input_count; ++i)
        fields_put(out, &f->inputs[i], FIELDS(input_fields));
    TRY(put_reports(f, function, out) && recording_put(&f->recording, function, out) &&
            put_held(f, out),
        false);
    for (uint32_t i = 0; i < f->output_count; ++i)
        fields_put(out, &f->outputs[i], FIELDS(output_fields));
    TRY(text_get(out), false);
    size_t length = out->size - start - sizeof(uint64_t);
    bytes_set(out->data + start, length, sizeof(uint64_t));
    return true;
}

bool freezing_save(ThreadState *ts, Frozen *const *frozen, uint32_t count,
                   const void *note, size_t note_size, const char *function, Text *out)
{
    text_put_n(out, magic, sizeof(magic));
    bytes_put(out, FORMAT_VERSION, sizeof(uint32_t));
    bytes_put(out, count, sizeof(uint32_t));
    bytes_put(out, freezing_fingerprint(counts_pack(own_counts)), sizeof(uint64_t));
    bytes_put(out, 0, sizeof(uint64_t)); /* the size of all of it */
    bytes_put(out, counts_pack(own_counts), sizeof(uint64_t));
    bytes_put(out, 0, sizeof(uint64_t)); /* the checksum */
    bytes_put_block(out, note, note_size);
    for (uint32_t i = 0; i < count; ++i)
        TRY(put_frozen(ts, frozen[i], function, out), false);
    TRY(text_get(out), false);
    bytes_set(out->data + SIZE_OFFSET, out->size, sizeof(uint64_t));
    bytes_set(out->data + CHECKSUM_OFFSET, freezing_checksum(out->data, out->size),
              sizeof(uint64_t));
    return true;
}

/* ------------------------------------------------------------------ loading */

/* Behind the note are as many recordings as there should be, and nothing else. */
static bool is_filled(const FrozenBlock *block)
{
    ByteReader in = block->recordings;
    size_t size;
    for (uint32_t i = 0; i < block->count && !in.failed; ++i)
        (void) bytes_take_block(&in, &size);
    return bytes_complete(&in);
}

bool freezing_open(const void *data, size_t size, const char *function,
                   FrozenBlock *block)
{
    const uint8_t *bytes = data;
    if (size < HEADER_SIZE || memcmp(data, magic, sizeof(magic)) != 0)
        return error_set(JIT_ERROR_ARGUMENT, "%s: these %zu bytes are not what "
                         "jit_freeze_save() gives", function, size);
    const uint64_t expected = bytes_get(bytes + SIZE_OFFSET, sizeof(uint64_t));
    if (expected != size)
        return error_set(JIT_ERROR_ARGUMENT, "%s: there are %zu bytes, expected %llu: "
                         "the block is damaged", function, size,
                         (unsigned long long) expected);
    if (bytes_get(bytes + CHECKSUM_OFFSET, sizeof(uint64_t)) !=
        freezing_checksum(data, size))
        return error_set(JIT_ERROR_ARGUMENT, "%s: the block is damaged: its checksum "
                         "is another one", function);
    const uint32_t format = (uint32_t) bytes_get(bytes + 8, sizeof(uint32_t));
    if (format != FORMAT_VERSION)
        return error_set(JIT_ERROR_ARGUMENT, "%s: the block was written by another "
                         "version of the library: it has format %u, expected %d",
                         function, format, FORMAT_VERSION);
    const uint64_t counts = bytes_get(bytes + COUNTS_OFFSET, sizeof(uint64_t));
    if (!is_known(counts, bytes_get(bytes + 16, sizeof(uint64_t))))
        return error_set(JIT_ERROR_ARGUMENT, "%s: the block was written by another "
                         "version of the library, with other operations", function);
    *block = (FrozenBlock) {
        .recordings = { .data = data, .size = size, .at = HEADER_SIZE },
        .count = (uint32_t) bytes_get(bytes + 12, sizeof(uint32_t)) };
    block->note = bytes_take_block(&block->recordings, &block->note_size);
    return is_filled(block) ||
           error_set(JIT_ERROR_ARGUMENT, "%s: the block is not well-formed", function);
}

static bool take_inputs(Frozen *f, const Device *device, ByteReader *in,
                        FieldCounts *counts)
{
    uint32_t count = bytes_take_count(in, 1), outputs = bytes_take_count(in, 1);
    uint32_t reports = bytes_take_count(in, 1);
    f->flags = (uint32_t) bytes_take(in, sizeof(uint32_t));
    f->general = bytes_take(in, sizeof(uint32_t)) != 0;
    counts->of[OF_INPUTS] = count;
    counts->of[OF_CLASSES] = (uint64_t) count + 2;
    counts->of[OF_OUTPUTS] = outputs;
    counts->of[OF_REPORTS] = (uint64_t) reports + 1;
    f->inputs = alloc_zero((size_t) count + 1, sizeof(FrozenInput));
    f->outputs = alloc_zero((size_t) outputs + 1, sizeof(FrozenOutput));
    TRY(f->inputs && f->outputs, false);
    f->input_count = count;
    f->output_count = outputs;
    for (uint32_t i = 0; i < count; ++i) {
        FrozenInput *input = &f->inputs[i];
        TRY(fields_take(in, input, counts, FIELDS(input_fields)), false);
        TRY(input->same == i || (input->same < i && !input->literal), false);
        input->device = (uint8_t) device->index;
    }
    f->reports = alloc_zero((size_t) reports + 1, sizeof(Report *));
    TRY(f->reports, false);
    for (; f->report_count < reports; ++f->report_count)
        TRY(f->reports[f->report_count] = report_take(in), false);
    return true;
}

/* Does a guard say that there is more than one entry? */
static bool is_many(const SymSizes *w, SymSize symsize)
{
    for (uint32_t i = 0; i < w->guard_count; ++i) {
        const SizeGuard *guard = &w->guards[i];
        if (guard->relation == SYMSIZE_NOT_LESS && guard->a == symsize &&
            symsize_is_constant(w, guard->b) && symsize_value(w, guard->b) > 1)
            return true;
    }
    return false;
}

/* Arrays and sizes that are inputs. Vectors are loaded at the end of those that lanes
 * of a launch have entries of. */
static bool check_inputs(const Frozen *f)
{
    const Recording *r = &f->recording;
    for (uint32_t i = 0; i < r->use_count; ++i) {
        const FrozenArray *a = &r->arrays[r->uses[i].array];
        if (a->kind == FROZEN_INPUT && a->number < f->input_count && r->uses[i].lane)
            f->inputs[a->number].padded = true;
    }
    for (uint32_t i = 0; i < r->array_count; ++i) {
        const FrozenArray *a = &r->arrays[i];
        if (a->kind != FROZEN_INPUT)
            continue;
        TRY(a->number < f->input_count, false);
        const FrozenInput *input = &f->inputs[a->number];
        const SizeTerm *term = &r->symsizes.terms[a->symsize];
        TRY(!input->literal && input->size && a->entry == type_info[input->type].size &&
                (input->size == 1
                     ? term->op == SYMSIZE_CONSTANT && term->value == 1
                     : term->op == SYMSIZE_INPUT && term->a == input->size &&
                           is_many(&r->symsizes, a->symsize)),
            false);
    }
    for (uint32_t i = 1; i < r->symsizes.count; ++i) {
        const SizeTerm *term = &r->symsizes.terms[i];
        uint32_t k = 0;
        while (term->op == SYMSIZE_INPUT && k < f->input_count &&
               f->inputs[k].size != term->a)
            ++k;
        TRY(term->op != SYMSIZE_INPUT || (term->a > 1 && k < f->input_count), false);
    }
    return true;
}

static bool take_held(ThreadState *ts, Frozen *f, ByteReader *in)
{
    const Recording *r = &f->recording;
    uint32_t count = bytes_take_count(in, fields_size(FIELDS(held_fields)));
    for (uint32_t i = 0; i < count; ++i) {
        Held held;
        TRY(fields_take(in, &held, NULL, FIELDS(held_fields)), false);
        TRY(held.constant < r->constant_count, false);
        Buffer *buffer = r->constants[held.constant];
        TRY((uint64_t) held.size * type_info[held.type].size == buffer->size, false);
        VarId id = node_buffer(ts, (uint8_t) r->device->index, (VarType) held.type,
                               held.size, buffer);
        TRY(id, false);
        buffer_retain(buffer);
        if (!var_ids_add(&f->held, id)) {
            var_dec(id);
            return false;
        }
    }
    return true;
}

/* An array that becomes a result; 'taken' are those that have. */
static bool check_array(const Recording *r, const FrozenOutput *out, bool *taken)
{
    if (out->number == RECORDER_UNKNOWN)
        return true; /* nothing, as its size has to be */
    if (out->number >= r->array_count || r->arrays[out->number].kind < FROZEN_MADE ||
        taken[out->number])
        return false;
    taken[out->number] = true;
    return true; /* its size is looked at when it is repeated */
}

static bool check_output(const Frozen *f, uint32_t i, bool *taken)
{
    const FrozenOutput *out = &f->outputs[i];
    if (out->same != i) /* that one has been checked */
        return out->same < i && f->outputs[out->same].same == out->same;
    switch (out->kind) {
        case FROZEN_RESULT_ARRAY:
            return out->symsize && check_array(&f->recording, out, taken);
        case FROZEN_RESULT_INPUT: return out->number < f->input_count;
        case FROZEN_RESULT_HELD: return out->number < f->held.count;
        default: return out->symsize != 0;
    }
}

static bool take_outputs(Frozen *f, const Device *device, ByteReader *in,
                         const FieldCounts *counts)
{
    bool *taken = alloc_zero((size_t) f->recording.array_count + 1, sizeof(bool));
    TRY(taken, false);
    bool ok = true;
    for (uint32_t i = 0; ok && i < f->output_count; ++i) {
        f->outputs[i].device = (uint8_t) device->index;
        ok = fields_take(in, &f->outputs[i], counts, FIELDS(output_fields)) &&
             check_output(f, i, taken);
    }
    alloc_free(taken);
    return ok;
}

static bool take_frozen(ThreadState *ts, Frozen *f, Device *device, ByteReader *in,
                        const char *function)
{
    FieldCounts counts = { { 0 } };
    TRY(take_inputs(f, device, in, &counts), false);
    state_pause(ts);
    bool ok = recording_take(&f->recording, device, function, in, &counts);
    state_resume(ts);
    return ok && check_inputs(f) && take_held(ts, f, in) &&
           take_outputs(f, device, in, &counts) && bytes_complete(in);
}

Frozen *freezing_load(ThreadState *ts, Device *device, const FrozenBlock *block,
                      size_t number, const char *function)
{
    ByteReader all = block->recordings, in = { .data = NULL };
    for (size_t i = 0; i <= number && !all.failed; ++i)
        in.data = bytes_take_block(&all, &in.size);
    if (number >= block->count || all.failed) {
        error_set(JIT_ERROR_ARGUMENT, "%s: there is no recording number %zu, the block "
                  "has %u", function, number, block->count);
        return NULL;
    }
    Frozen *f = alloc_zero(1, sizeof(Frozen));
    TRY(f, NULL);
    error_clear();
    if (take_frozen(ts, f, device, &in, function))
        return f;
    if (error_code() == JIT_OK)
        error_set(JIT_ERROR_ARGUMENT, "%s: the recording is not well-formed", function);
    freezing_free(f);
    return NULL;
}
