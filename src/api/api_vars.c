/*
 * api_vars.c -- references, properties, labels and texts of variables
 */
#include <string.h>

#include "api/api.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "base/vec.h"
#include "trace/array/array.h"
#include "trace/array/show.h"
#include "freeze/freezing.h"
#include "trace/eval/work.h"
#include "trace/graph/node.h"

static bool check(VarId id, const char *function)
{
    if (!var_exists(id))
        return error_set(JIT_ERROR_ARGUMENT, "%s: r%u is not a variable", function, id);
    return true;
}

/* -------------------------------------------------------------- references */

uint32_t jit_var_inc_ref(uint32_t index)
{
    if (!index)
        return 0;
    state_lock();
    bool ok = var_exists(index) || check(index, "jit_var_inc_ref()");
    if (ok)
        var_inc(index);
    state_unlock();
    return ok ? index : 0;
}

void jit_var_dec_ref(uint32_t index)
{
    if (!index)
        return;
    state_lock();
    if (var_exists(index))
        var_dec(index);
    else
        check(index, "jit_var_dec_ref()");
    state_unlock();
}

static bool all_exist(size_t count, const uint32_t *indices, const char *function)
{
    for (size_t i = 0; i < count; ++i)
        if (indices[i] && !var_exists(indices[i]))
            return check(indices[i], function);
    return true;
}

bool jit_var_inc_refs(size_t count, const uint32_t *indices)
{
    if (count && !indices)
        return api_null("jit_var_inc_refs()", "indices");
    state_lock();
    bool ok = all_exist(count, indices, "jit_var_inc_refs()");
    for (size_t i = 0; ok && i < count; ++i)
        if (indices[i])
            var_inc(indices[i]);
    state_unlock();
    return ok;
}

void jit_var_dec_refs(size_t count, const uint32_t *indices)
{
    if (count && !indices) {
        api_null("jit_var_dec_refs()", "indices");
        return;
    }
    state_lock();
    for (size_t i = 0; i < count; ++i)
        if (indices[i] && var_exists(indices[i]))
            var_dec(indices[i]);
        else if (indices[i])
            check(indices[i], "jit_var_dec_refs()");
    state_unlock();
}

uint32_t jit_var_inc_ref_ext(uint32_t index) { return jit_var_inc_ref(index); }
void jit_var_dec_ref_ext(uint32_t index) { jit_var_dec_ref(index); }

uint32_t jit_var_ref(uint32_t index)
{
    state_lock();
    uint32_t refs = var_exists(index) ? var_get(index)->refs : 0;
    state_unlock();
    return refs;
}

/* -------------------------------------------------------------- properties */

/* Code that looks at a variable may do anything with what it finds. */
static void note_read(VarId id)
{
    ThreadState *ts = thread_self.state;
    if (ts)
        node_read(ts, id);
}

size_t jit_var_size(uint32_t index)
{
    state_lock();
    bool ok = check(index, "jit_var_size()");
    if (ok)
        note_read(index);
    size_t size = ok ? node_number(thread_self.state, index) : 0;
    state_unlock();
    return size;
}

size_t jit_var_peek_size(uint32_t index)
{
    state_lock();
    size_t size = check(index, "jit_var_peek_size()") ? var_lanes_of(index) : 0;
    state_unlock();
    return size;
}

VarType jit_var_type(uint32_t index)
{
    state_lock();
    VarType type = check(index, "jit_var_type()") ? (VarType) var_get(index)->type
                                                  : VarTypeVoid;
    state_unlock();
    return type;
}

static VarState get_state(uint32_t index, bool read)
{
    state_lock();
    VarState result = var_exists(index) ? show_state(index) : VarStateInvalid;
    if (read && result != VarStateInvalid)
        note_read(index);
    state_unlock();
    return result;
}

VarState jit_var_state(uint32_t index) { return get_state(index, true); }

VarState jit_var_peek_state(uint32_t index) { return get_state(index, false); }

uint32_t jit_pending_writes(void)
{
    return atomic_load_explicit(&var_table.pending, memory_order_relaxed);
}

bool jit_var_at_hand(uint32_t index)
{
    state_lock();
    bool result = var_exists(index) && work_is_at_hand(index);
    state_unlock();
    return result;
}

static bool get_info(uint32_t index, VarInfo *info, bool bind, const char *function)
{
    if (!info)
        return api_null(function, "info");
    state_lock();
    bool ok = check(index, function);
    if (ok) {
        note_read(index);
        const Var *v = var_get(index);
        bool stored = v->op == OP_EVALUATED && v->value.buffer;
        void *data = stored ? v->value.buffer->address : NULL;
        *info = (VarInfo) {
            .backend = var_device(v)->backend, .type = (VarType) v->type,
            .state = show_state(index),
            .size = bind ? node_number(thread_self.state, index) : var_lanes(v),
            .unaligned = (uintptr_t) data % 64 != 0,
            .literal = v->op == OP_LITERAL ? v->value.literal : 0, .data = data
        };
    }
    state_unlock();
    return ok;
}

bool jit_var_info(uint32_t index, VarInfo *info)
{
    return get_info(index, info, true, "jit_var_info()");
}

bool jit_var_peek_info(uint32_t index, VarInfo *info)
{
    return get_info(index, info, false, "jit_var_peek_info()");
}

bool jit_var_is_dirty(uint32_t index)
{
    state_lock();
    bool ok = var_exists(index), dirty = ok && var_pending(var_get(index));
    if (ok)
        note_read(index);
    state_unlock();
    return dirty;
}

/* ------------------------------------------------------------------ labels */

/* "outer/inner/label" */
static char *full_label(const ThreadState *ts, const char *label)
{
    Text text = { 0 };
    for (uint32_t i = 0; i < ts->prefix_count; ++i)
        text_putf(&text, "%s/", ts->prefixes[i]);
    text_put(&text, label);
    return text_take(&text);
}

static VarId set_label(ThreadState *ts, VarId id, const char *label)
{
    TRY(check(id, "jit_var_set_label()"), 0);
    const Var *v = var_get(id);
    if (!label && !v->extra) {
        var_inc(id);
        return id;
    }
    char *full = label ? full_label(ts, label) : NULL;
    TRY(full || !label, 0);
    VarId target;
    if (v->refs > 1 && var_lanes(v) && !var_pending(v) &&
        op_may_drop((Op) v->op) &&
        v->op != OP_EVALUATED) {
        target = array_copy(ts, id);
    } else {
        target = id;
        var_inc(id);
    }
    Extra *extra = target ? extra_make(var_get(target)) : NULL;
    if (!extra) {
        alloc_free(full);
        if (target)
            var_dec(target);
        return 0;
    }
    alloc_free(extra->label);
    extra->label = full;
    return target;
}

uint32_t jit_var_set_label(uint32_t index, const char *label)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = set_label(ts, index, label);
    api_leave();
    return result;
}

const char *jit_var_label(uint32_t index)
{
    state_lock();
    const Extra *extra = var_exists(index) ? extra_find(var_get(index)) : NULL;
    const char *label = extra ? extra->label : NULL;
    if (thread_self.state) /* another input may have another one */
        freezing_refuse(thread_self.state, "the label of an array is read");
    state_unlock();
    return label;
}

const char *jit_var_location(uint32_t index, uint32_t *line)
{
    state_lock();
    const Extra *extra = var_exists(index) ? extra_find(var_get(index)) : NULL;
    const char *file = extra ? extra->file : NULL;
    if (file && line)
        *line = extra->line;
    state_unlock();
    return file;
}

bool jit_prefix_push(JitBackend backend, const char *label)
{
    (void) backend; /* prefixes belong to the thread */
    if (!label)
        return api_null("jit_prefix_push()", "label");
    ThreadState *ts = state_thread();
    TRY(ts, false);
    TRY(vec_reserve(&ts->prefixes, &ts->prefix_capacity, ts->prefix_count + 1,
                    sizeof(char *)), false);
    char *copy = alloc_string(label);
    TRY(copy, false);
    ts->prefixes[ts->prefix_count++] = copy;
    return true;
}

bool jit_prefix_pop(JitBackend backend)
{
    (void) backend;
    ThreadState *ts = state_thread();
    TRY(ts, false);
    if (!ts->prefix_count)
        return error_set(JIT_ERROR_STATE, "jit_prefix_pop(): there is no prefix");
    alloc_free(ts->prefixes[--ts->prefix_count]);
    return true;
}

void jit_set_source_location(const char *file, uint32_t line)
{
    ThreadState *ts = api_enter();
    if (!ts)
        return;
    ts->file = file ? extra_intern(file) : NULL;
    ts->line = line;
    api_leave();
}

bool jit_var_set_callback(uint32_t index, void (*callback)(uint32_t, int, void *),
                          void *payload)
{
    state_lock();
    bool ok = check(index, "jit_var_set_callback()");
    const Extra *extra = ok ? extra_find(var_get(index)) : NULL;
    if (extra && callback && extra->callback)
        ok = error_set(JIT_ERROR_STATE, "jit_var_set_callback(): r%u has a callback",
                       index);
    ok = ok && extra_set_callback(var_get(index), callback, payload);
    state_unlock();
    return ok;
}

/* ------------------------------------------------------------------- texts */

const char *jit_var_str(uint32_t index)
{
    ThreadState *ts = api_enter();
    TRY(ts, NULL);
    text_clear(&ts->str);
    const char *result = NULL;
    if (var_exists(index))
        node_read(ts, index);
    if (show_entries(ts, index, &ts->str))
        result = text_get(&ts->str);
    api_leave();
    return result;
}

const char *jit_var_whos(void)
{
    ThreadState *ts = api_enter();
    TRY(ts, NULL);
    text_clear(&ts->whos);
    show_whos(&ts->whos);
    const char *result = text_get(&ts->whos);
    api_leave();
    return result;
}

const char *jit_var_graphviz(void)
{
    ThreadState *ts = api_enter();
    TRY(ts, NULL);
    text_clear(&ts->graphviz);
    show_graphviz(&ts->graphviz);
    const char *result = text_get(&ts->graphviz);
    api_leave();
    return result;
}
