/*
 * api_freeze.c -- functions that are recorded and repeated
 */
#include <string.h>

#include "api/api.h"
#include "base/alloc.h"
#include "base/error.h"
#include "export/export.h"
#include "trace/array/array.h"
#include "trace/eval/evaluate.h"
#include "freeze/freezing_file.h"
#include "trace/graph/current.h"
#include "trace/graph/node.h"

/* JitRecording is the public name of Frozen. */
static Frozen *inner(JitRecording *recording) { return (Frozen *) (void *) recording; }

static bool check_list(size_t count, const uint32_t *list, const char *function,
                       const char *name)
{
    if (count && !list)
        return api_null(function, name);
    return count <= UINT32_MAX / 2 ||
           error_set(JIT_ERROR_ARGUMENT, "%s: there are %zu variables", function,
                     count);
}

static void describe(const Var *v, JitFreezeInput *input)
{
    bool literal = v->op == OP_LITERAL;
    bool stored = !literal && evaluate_is_done(v);
    *input = (JitFreezeInput) {
        .size = var_lanes(v), .type = v->type, .literal = literal, .stored = stored,
        .padded = !stored || !var_lanes(v) || buffer_is_padded(v->value.buffer),
        .bits = literal ? v->value.literal : 0 };
}

bool jit_freeze_describe(size_t count, const uint32_t *indices, JitFreezeInput *inputs)
{
    static const char function[] = "jit_freeze_describe()";
    TRY(check_list(count, indices, function, "indices"), false);
    if (count && !inputs)
        return api_null(function, "inputs");
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = true;
    for (size_t i = 0; ok && i < count; ++i)
        if (var_exists(indices[i]))
            describe(var_get(indices[i]), &inputs[i]);
        else
            ok = error_set(JIT_ERROR_ARGUMENT, "%s: r%u is not a variable", function,
                           indices[i]);
    api_leave();
    return ok;
}

bool jit_freeze_start(JitBackend backend, size_t count, const uint32_t *inputs)
{
    static const char function[] = "jit_freeze_start()";
    TRY(check_list(count, inputs, function, "inputs"), false);
    ThreadState *ts = api_enter();
    TRY(ts, false);
    Device *device = current_device(ts, backend, function);
    bool ok = device && freezing_start(ts, device, inputs, (uint32_t) count);
    api_leave();
    return ok;
}

JitRecording *jit_freeze_stop(size_t count, const uint32_t *outputs)
{
    if (!check_list(count, outputs, "jit_freeze_stop()", "outputs")) {
        jit_freeze_abort();
        return NULL;
    }
    ThreadState *ts = api_enter();
    TRY(ts, NULL);
    Frozen *frozen = freezing_stop(ts, outputs, (uint32_t) count);
    api_leave();
    return (JitRecording *) (void *) frozen;
}

void jit_freeze_abort(void)
{
    ThreadState *ts = api_enter();
    if (!ts)
        return;
    freezing_abort(ts);
    api_leave();
}

bool jit_freeze_pause(void)
{
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = freezing_pause(ts);
    api_leave();
    return ok;
}

bool jit_freeze_resume(void)
{
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = freezing_resume(ts);
    api_leave();
    return ok;
}

uint32_t jit_freeze_copy(uint32_t index)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t copy = freezing_copy(ts, index);
    api_leave();
    return copy;
}

int jit_freeze_allow_reads(int allow)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    int before = freezing_allow_reads(ts, allow != 0);
    api_leave();
    return before;
}

/* ------------------------------------------------- what is foreign, what escapes */

bool jit_freeze_note(size_t count, const uint32_t *indices)
{
    static const char function[] = "jit_freeze_note()";
    TRY(check_list(count, indices, function, "indices"), false);
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = true;
    for (size_t i = 0; i < count; ++i)
        if (indices[i] && var_exists(indices[i]))
            node_read(ts, indices[i]);
        else if (indices[i])
            ok = error_set(JIT_ERROR_ARGUMENT, "%s: r%u is not a variable", function,
                           indices[i]);
    api_leave();
    return ok;
}

static size_t copy_list(const VarIds *list, size_t capacity, uint32_t *indices)
{
    const size_t count = list->count < capacity ? list->count : capacity;
    if (count)
        memcpy(indices, list->ids, count * sizeof(VarId));
    return list->count;
}

size_t jit_freeze_foreign(size_t capacity, uint32_t *indices)
{
    if (capacity && !indices)
        return (size_t) api_null("jit_freeze_foreign()", "indices");
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    const VarIds *found = freezing_foreign(ts);
    const size_t count = found ? copy_list(found, capacity, indices) : 0;
    api_leave();
    return count;
}

size_t jit_freeze_escaped(size_t count, const uint32_t *known, size_t capacity,
                          uint32_t *indices)
{
    static const char function[] = "jit_freeze_escaped()";
    const bool given = check_list(count, known, function, "known") &&
                       (!capacity || indices || api_null(function, "indices"));
    ThreadState *ts = given ? api_enter() : NULL;
    TRY(ts, SIZE_MAX);
    VarIds found = { 0 };
    const bool ok = freezing_escaped(ts, known, count, &found);
    const size_t result = ok ? copy_list(&found, capacity, indices) : SIZE_MAX;
    alloc_free(found.ids);
    api_leave();
    return result;
}

/* --------------------------------------------------------------- repetitions */

static int replay(JitRecording *recording, size_t count, const uint32_t *inputs,
                  uint32_t *outputs, const char *function)
{
    if (!recording)
        return api_null(function, "recording") - 1;
    TRY(check_list(count, inputs, function, "inputs"), -1);
    ThreadState *ts = api_enter();
    TRY(ts, -1);
    Replay result = freezing_replay(ts, inner(recording), inputs, (uint32_t) count,
                                    outputs, function);
    api_leave();
    return (int) result - REPLAY_REFUSED;
}

int jit_freeze_replay(JitRecording *recording, size_t count, const uint32_t *inputs,
                      uint32_t *outputs)
{
    if (recording && inner(recording)->output_count && !outputs)
        return api_null("jit_freeze_replay()", "outputs") - 1;
    uint32_t none;
    return replay(recording, count, inputs, outputs ? outputs : &none,
                  "jit_freeze_replay()");
}

int jit_freeze_dry_run(JitRecording *recording, size_t count, const uint32_t *inputs)
{
    return replay(recording, count, inputs, NULL, "jit_freeze_dry_run()");
}

bool jit_freeze_check(const JitRecording *known)
{
    if (!known)
        return api_null("jit_freeze_check()", "known");
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = freezing_check(ts, (const Frozen *) (const void *) known);
    api_leave();
    return ok;
}

int jit_freeze_same(const JitRecording *a, const JitRecording *b)
{
    static const char function[] = "jit_freeze_same()";
    if (!a || !b)
        return api_null(function, a ? "b" : "a") - 1;
    ThreadState *ts = api_enter();
    TRY(ts, -1);
    RecordingSame same = freezing_same(ts, (const Frozen *) (const void *) a,
                                       (const Frozen *) (const void *) b, function);
    api_leave();
    return (int) same;
}

size_t jit_freeze_input_count(const JitRecording *recording)
{
    return recording ? ((const Frozen *) (const void *) recording)->input_count : 0;
}

size_t jit_freeze_output_count(const JitRecording *recording)
{
    return recording ? ((const Frozen *) (const void *) recording)->output_count : 0;
}

const char *jit_freeze_str(JitRecording *recording)
{
    if (!recording) {
        api_null("jit_freeze_str()", "recording");
        return NULL;
    }
    ThreadState *ts = api_enter();
    TRY(ts, NULL);
    text_clear(&ts->program_text);
    freezing_write(inner(recording), &ts->program_text);
    const char *result = text_get(&ts->program_text);
    api_leave();
    return result;
}

static bool check_exports(size_t count, const JitExport *functions,
                          const char *function)
{
    if (!functions)
        return api_null(function, "functions");
    if (!count || count > UINT32_MAX / 4)
        return error_set(JIT_ERROR_ARGUMENT, "%s: there are %zu functions, expected "
                         "one or more", function, count);
    for (size_t i = 0; i < count; ++i) {
        if (!functions[i].recording || !functions[i].name)
            return api_null(function, functions[i].recording ? "name" : "recording");
        if ((unsigned) functions[i].bounds > JitExportBoundsCheck)
            return error_set(JIT_ERROR_ARGUMENT, "%s: bounds is %d, expected one of "
                             "JitExportBounds", function, (int) functions[i].bounds);
    }
    return true;
}

bool jit_freeze_export(const char *folder, size_t count, const JitExport *functions)
{
    static const char function[] = "jit_freeze_export()";
    if (!folder)
        return api_null(function, "folder");
    TRY(check_exports(count, functions, function), false);
    ThreadState *ts = api_enter();
    TRY(ts, false);
    ExportFiles files = { 0 };
    bool ok = export_make(ts, functions, (uint32_t) count, &files);
    api_leave();
    ok = ok && export_save(&files, folder);
    export_free(&files);
    return ok;
}

void jit_freeze_destroy(JitRecording *recording)
{
    ThreadState *ts = recording ? api_enter() : NULL;
    if (!ts)
        return;
    freezing_free(inner(recording));
    api_leave();
}

/* ------------------------------------------------------------------- saving */

void *jit_freeze_save(size_t count, JitRecording *const *recordings, const void *note,
                      size_t note_size, size_t *size)
{
    static const char function[] = "jit_freeze_save()";
    const char *missing = count && !recordings   ? "recordings"
                          : note_size && !note   ? "note"
                          : !size                ? "size"
                                                 : NULL;
    for (size_t i = 0; !missing && i < count; ++i)
        missing = recordings[i] ? NULL : "a recording";
    if (missing)
        api_null(function, missing);
    ThreadState *ts = missing ? NULL : api_enter();
    TRY(ts, NULL);
    Text out = { 0 };
    bool ok = freezing_save(ts, (Frozen *const *) (const void *) recordings,
                            (uint32_t) count, note, note_size, function, &out);
    api_leave();
    *size = out.size;
    char *block = ok ? text_take(&out) : NULL;
    text_free(&out);
    return block;
}

void jit_freeze_free(void *block) { alloc_free(block); }

bool jit_freeze_inspect(const void *block, size_t size, size_t *count,
                        const void **note, size_t *note_size)
{
    static const char function[] = "jit_freeze_inspect()";
    if (!block)
        return api_null(function, "block");
    FrozenBlock found;
    TRY(freezing_open(block, size, function, &found), false);
    if (count)
        *count = found.count;
    if (note)
        *note = found.note;
    if (note_size)
        *note_size = found.note_size;
    return true;
}

JitRecording *jit_freeze_load(JitBackend backend, const void *block, size_t size,
                              size_t number)
{
    static const char function[] = "jit_freeze_load()";
    if (!block)
        api_null(function, "block");
    FrozenBlock found;
    TRY(block && freezing_open(block, size, function, &found), NULL);
    ThreadState *ts = api_enter();
    TRY(ts, NULL);
    Device *device = current_device(ts, backend, function);
    Frozen *frozen = device ? freezing_load(ts, device, &found, number, function)
                            : NULL;
    api_leave();
    return (JitRecording *) (void *) frozen;
}

/* -------------------------------------------------------------------- sizes */

/* Handles are numbers of terms, with that of the recording in the upper half. */
static JitSize handle(const ThreadState *ts, SymSize symsize)
{
    return symsize ? (uint64_t) freezing_serial(ts) << 32 | symsize : 0;
}

/* The terms of what the thread records, and which of them a handle is. */
static SymSizes *find_size(ThreadState *ts, const char *function, JitSize size,
                           SymSize *symsize)
{
    SymSizes *w = freezing_symsizes(ts, function);
    TRY(w, NULL);
    if ((*symsize = freezing_term(ts, size)) != 0)
        return w;
    error_set(JIT_ERROR_ARGUMENT, "%s: 0x%llx is not a size of this recording",
              function, (unsigned long long) size);
    return NULL;
}

/* The lanes of a body are not a term before it is complete. */
static JitSize size_handle(ThreadState *ts, VarId id)
{
    SymSize symsize = freezing_size(ts, id);
    if (symsize == FREEZING_LANES)
        symsize = freezing_bind(ts)
                    ? symsize_constant(freezing_symsizes(ts, NULL), var_lanes_of(id))
                    : 0;
    return handle(ts, symsize);
}

JitSize jit_freeze_size(uint32_t index)
{
    static const char function[] = "jit_freeze_size()";
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    JitSize result = 0;
    if (!var_exists(index))
        error_set(JIT_ERROR_ARGUMENT, "%s: r%u is not a variable", function, index);
    else if (freezing_symsizes(ts, function)) {
        node_read(ts, index);
        result = size_handle(ts, index);
    }
    api_leave();
    return result;
}

JitSize jit_freeze_size_constant(int64_t value)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    SymSizes *w = freezing_symsizes(ts, "jit_freeze_size_constant()");
    JitSize result = w ? handle(ts, symsize_constant(w, value)) : 0;
    api_leave();
    return result;
}

JitSize jit_freeze_size_op(JitSizeOp op, JitSize a, JitSize b)
{
    static const char function[] = "jit_freeze_size_op()";
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    SymSize x, y;
    JitSize result = 0;
    SymSizes *w = find_size(ts, function, a, &x);
    w = w ? find_size(ts, function, b, &y) : NULL;
    if (w && (unsigned) op > JitSizeMod)
        error_set(JIT_ERROR_ARGUMENT, "%s: operation %d, expected a JitSizeOp",
                  function, (int) op);
    else if (w)
        result =
            handle(ts, symsize_make(w, (SizeOp) (SYMSIZE_ADD + (unsigned) op), x, y));
    api_leave();
    return result;
}

int64_t jit_freeze_size_value(JitSize size)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    SymSize symsize;
    const SymSizes *w = find_size(ts, "jit_freeze_size_value()", size, &symsize);
    int64_t result = w ? symsize_value(w, symsize) : 0;
    api_leave();
    return result;
}

int jit_freeze_size_test(JitSizeRelation relation, JitSize a, JitSize b)
{
    static const char function[] = "jit_freeze_size_test()";
    ThreadState *ts = api_enter();
    TRY(ts, -1);
    SymSize x, y;
    int result = -1;
    SymSizes *w = find_size(ts, function, a, &x);
    w = w ? find_size(ts, function, b, &y) : NULL;
    if (w && (unsigned) relation > JitSizeNotLess)
        error_set(JIT_ERROR_ARGUMENT, "%s: relation %d, expected a JitSizeRelation",
                  function, (int) relation);
    else if (w)
        result = symsize_test(w, (SizeRelation) relation, x, y);
    api_leave();
    return result;
}

uint32_t jit_freeze_size_var(JitBackend backend, JitSize size)
{
    static const char function[] = "jit_freeze_size_var()";
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    SymSize symsize;
    uint32_t result = 0;
    const Device *device = find_size(ts, function, size, &symsize)
                               ? current_device(ts, backend, function)
                               : NULL;
    if (device)
        result = array_of_symsize(ts, device->index, symsize);
    api_leave();
    return result;
}

bool jit_freeze_set_general(bool general)
{
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = freezing_set_general(ts, general);
    api_leave();
    return ok;
}

bool jit_freeze_is_general(void)
{
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool general = freezing_is_general(ts);
    api_leave();
    return general;
}

bool jit_freeze_bind(void)
{
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = freezing_bind(ts);
    api_leave();
    return ok;
}

bool jit_freeze_size_like(uint32_t index)
{
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = var_exists(index) ||
              error_set(JIT_ERROR_ARGUMENT, "jit_freeze_size_like(): r%u is not a "
                        "variable", index);
    if (ok && watch_records(ts)) {
        node_read(ts, index);
        SymSize symsize = freezing_size(ts, index);
        freezing_hint(ts, symsize, var_lanes_of(index));
        ok = symsize != 0;
    }
    api_leave();
    return ok;
}

bool jit_freeze_size_next(JitSize size)
{
    ThreadState *ts = api_enter();
    TRY(ts, false);
    SymSize symsize;
    const SymSizes *w = find_size(ts, "jit_freeze_size_next()", size, &symsize);
    if (w)
        freezing_hint(ts, symsize, (size_t) symsize_value(w, symsize));
    api_leave();
    return w != NULL;
}
