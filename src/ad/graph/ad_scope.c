/*
 * ad_scope.c -- see ad_scope.h
 */
#include "ad/graph/ad_scope.h"

#include <string.h>

#include "ad/graph/ad_hooks.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"

/* ---------------------------------------------------------------- sets of nodes */

static uint32_t find(const AdScopeState *s, uint64_t serial)
{
    uint32_t i = (uint32_t) (serial * 0x9e3779b97f4a7c15u >> 32) & (s->capacity - 1);
    while (s->set[i] && s->set[i] != serial)
        i = (i + 1) & (s->capacity - 1);
    return i;
}

bool ad_scope_contains(const AdScopeState *s, uint64_t serial)
{
    return s->count && s->set[find(s, serial)] == serial;
}

static bool set_resize(AdScopeState *s, uint32_t capacity)
{
    AdScopeState old = *s;
    uint64_t *set = alloc_zero(capacity, sizeof(uint64_t));
    TRY(set, false);
    s->set = set;
    s->capacity = capacity;
    for (uint32_t i = 0; i < old.capacity; i++)
        if (old.set[i])
            set[find(s, old.set[i])] = old.set[i];
    alloc_free(old.set);
    return true;
}

static bool set_add(AdScopeState *s, uint64_t serial)
{
    if (2 * (s->count + 1) > s->capacity)
        TRY(set_resize(s, s->capacity ? 2 * s->capacity : 16), false);
    uint64_t *entry = &s->set[find(s, serial)];
    s->count += *entry != serial;
    *entry = serial;
    return true;
}

/* What follows in the chain moves up. */
static void set_remove(AdScopeState *s, uint64_t serial)
{
    if (!ad_scope_contains(s, serial))
        return;
    uint32_t i = find(s, serial), mask = s->capacity - 1;
    s->set[i] = 0;
    s->count--;
    for (i = (i + 1) & mask; s->set[i]; i = (i + 1) & mask) {
        uint64_t other = s->set[i];
        s->set[i] = 0;
        s->set[find(s, other)] = other;
    }
}

static void swap_sets(AdScopeState *a, AdScopeState *b)
{
    AdScopeState old = *a;
    a->set = b->set;
    a->count = b->count;
    a->capacity = b->capacity;
    b->set = old.set;
    b->count = old.count;
    b->capacity = old.capacity;
}

/* ---------------------------------------------------------------- scopes */

bool ad_scope_admit(NodeId id)
{
    AdScopeState *s = ad_scope_current();
    return !s || !s->only || set_add(s, ad_graph_node(id)->serial);
}

bool ad_scope_suspend(NodeId id)
{
    AdScopeState *s = ad_scope_current();
    return !s || s->only || set_add(s, ad_graph_node(id)->serial);
}

bool ad_scope_postpone(NodeId id)
{
    AdScopeState *s = ad_scope_current();
    TRY(vec_push(&s->waiting, &s->waiting_count, &s->waiting_capacity, id), false);
    ad_graph_ref(id);
    return true;
}

void ad_scope_drop(AdThread *t)
{
    AdScopeState s = t->scopes[--t->scope_count];
    for (uint32_t i = 0; i < s.waiting_count; i++)
        ad_graph_unref(s.waiting[i]);
    alloc_free(s.waiting);
    alloc_free(s.set);
}

static bool copy_set(AdScopeState *s, const AdScopeState *from)
{
    if (!from->count)
        return true;
    TRY(s->set = alloc_get(from->capacity * sizeof(uint64_t)), false);
    memcpy(s->set, from->set, from->capacity * sizeof(uint64_t));
    s->count = from->count;
    s->capacity = from->capacity;
    return true;
}

/* A scope like the one around it. */
static AdScopeState *scope_push(AdThread *t)
{
    TRY(vec_reserve(&t->scopes, &t->scope_capacity, t->scope_count + 1,
                    sizeof(AdScopeState)),
        NULL);
    AdScopeState *s = &t->scopes[t->scope_count];
    if (!t->scope_count) {
        *s = (AdScopeState){ 0 };
    } else {
        const AdScopeState *outer = s - 1;
        *s = (AdScopeState){ .strict = outer->strict,
                             .only = outer->only,
                             .file = outer->file,
                             .line = outer->line,
                             .border = outer->border,
                             .beginning = outer->beginning };
        TRY(copy_set(s, outer), NULL);
    }
    t->scope_count++;
    return s;
}

AdScopeState *ad_scope_copy(bool *ok)
{
    const AdScopeState *s = ad_scope_current();
    *ok = true;
    if (!s || (!s->only && !s->count))
        return NULL;
    AdScopeState *copy = alloc_zero(1, sizeof(AdScopeState));
    *ok = copy && copy_set(copy, s);
    if (!*ok) {
        alloc_free(copy);
        return NULL;
    }
    copy->only = s->only;
    return copy;
}

void ad_scope_free_copy(AdScopeState *copy)
{
    if (copy)
        alloc_free(copy->set);
    alloc_free(copy);
}

bool ad_scope_enter_copy(const AdScopeState *copy)
{
    AdThread *t = ad_thread();
    TRY(t, false);
    state_lock();
    AdScopeState *s = scope_push(t);
    bool ok = s != NULL;
    if (ok) {
        alloc_free(s->set);
        s->set = NULL;
        s->count = s->capacity = 0;
        s->only = copy && copy->only;
        s->strict = copy != NULL;
        ok = !copy || copy_set(s, copy);
        if (!ok)
            ad_scope_drop(t);
    }
    state_unlock();
    return ok;
}

static bool scope_fill(AdScopeState *s, ADScope kind, size_t n, const uint64_t *indices)
{
    if (kind == ADScopeIsolate || kind == ADScopeClose) {
        s->isolates = true;
        s->border = ad_graph_serial();
        if (kind == ADScopeClose)
            s->beginning = s->border;
        return true;
    }
    bool resume = kind == ADScopeResume;
    if (!n) {
        alloc_free(s->set);
        s->set = NULL;
        s->count = s->capacity = 0;
        s->only = !resume;
    }
    for (size_t i = 0; i < n; i++) {
        NodeId node = ad_var_node(indices[i]);
        uint64_t serial = node ? ad_graph_node(node)->serial : 0;
        if (node && resume == s->only)
            TRY(set_add(s, serial), false);
        else if (node)
            set_remove(s, serial);
    }
    return true;
}

bool ad_scope_enter(ADScope kind, size_t n, const uint64_t *indices)
{
    if ((unsigned) kind > ADScopeClose)
        return error_set(JIT_ERROR_ARGUMENT,
                         "ad_scope_enter(): kind is %d, expected an ADScope",
                         (int) kind);
    AdThread *t = ad_thread();
    TRY(t && state_thread(), false);
    for (size_t i = 0; i < n; i++)
        ad_thread_read(indices[i]);
    state_lock();
    AdScopeState *s = scope_push(t);
    if (s && kind == ADScopeSuspend) {
        const ThreadState *ts = state_thread();
        s->file = ts->file;
        s->line = ts->line;
    }
    bool ok = s && scope_fill(s, kind, n, indices);
    if (ok && kind == ADScopeResume && ad_hooks.resume(n, indices))
        s->resumes = ad_graph_serial();
    if (s && !ok)
        ad_scope_drop(t);
    state_unlock();
    return ok;
}

bool ad_scope_suspends_all(void)
{
    return ad_scope_refuses();
}

bool ad_scope_suspends_others(void)
{
    const AdScopeState *s = ad_scope_current();
    return s && s->only;
}

bool ad_scope_admit_variable(uint64_t index)
{
    state_lock();
    bool ok = !ad_var_node(index) || ad_scope_admit(ad_var_node(index));
    state_unlock();
    return ok;
}

bool ad_scope_suspend_variable(uint64_t index)
{
    state_lock();
    bool ok = !ad_var_node(index) || ad_scope_suspend(ad_var_node(index));
    state_unlock();
    return ok;
}

bool ad_scope_suspended_before(uint64_t index)
{
    const AdThread *t = thread_self.ad;
    const AdScopeState *copy = NULL; /* scopes within are strict as well */
    for (uint32_t i = t ? t->scope_count : 0; i && t->scopes[i - 1].strict; i--)
        copy = &t->scopes[i - 1];
    if (!copy || !ad_var_node(index))
        return false;
    state_lock();
    const uint64_t serial = ad_graph_node(ad_var_node(index))->serial;
    state_unlock();
    return ad_scope_contains(copy, serial) != copy->only;
}

bool ad_scope_is_closed(void)
{
    const AdScopeState *s = ad_scope_current();
    return s && s->beginning;
}

bool ad_scope_keeps(uint64_t index)
{
    const AdScopeState *s = ad_scope_current();
    NodeId node = ad_var_node(index);
    bool found = false;
    for (uint32_t i = 0; node && s && i < s->waiting_count && !found; i++)
        found = s->waiting[i] == node;
    return found;
}

bool ad_scope_keep(size_t n, const uint64_t *indices)
{
    const AdScopeState *s = ad_scope_current();
    if (!s || !s->isolates)
        return error_set(JIT_ERROR_STATE, "ad_scope_keep(): the innermost scope does "
                                          "not isolate, expected one that does");
    bool ok = true;
    state_lock();
    for (size_t i = 0; i < n && ok; i++)
        ok = !ad_var_node(indices[i]) || ad_scope_postpone(ad_var_node(indices[i]));
    state_unlock();
    return ok;
}

uint32_t ad_scope_crossed(void)
{
    const AdScopeState *s = ad_scope_current();
    return s ? s->crossed : 0;
}

void ad_scope_note(NodeId id, ADCrossing crossing)
{
    const AdThread *t = thread_self.ad;
    const uint64_t serial = ad_graph_node(id)->serial;
    for (uint32_t i = t->scope_count; i && serial < t->scopes[i - 1].border; i--)
        t->scopes[i - 1].crossed |= (unsigned) crossing;
}

bool ad_scope_leave(bool go_on)
{
    AdThread *t = ad_thread();
    TRY(t && state_thread(), false);
    if (!t->scope_count)
        return error_set(JIT_ERROR_STATE,
                         "ad_scope_leave(): there is no scope to leave");
    AdScopeState *s = &t->scopes[t->scope_count - 1];
    AdScopeState *outer = t->scope_count > 1 ? s - 1 : NULL;
    NodeId *waiting = s->waiting;
    uint32_t count = s->waiting_count;
    /* Where several scopes isolate, the traversal after the inner one stops at the
       outer one's border. */
    bool isolates = s->border && (!outer || outer->border != s->border);
    s->waiting = NULL;
    s->waiting_count = 0;
    if (s->isolates && outer)
        swap_sets(s, outer); /* what was made in it is tracked after it, too */
    const uint64_t resumes = s->resumes;
    state_lock();
    if (resumes)
        ad_hooks.resumed(resumes);
    ad_scope_drop(t);
    if (!isolates && outer)
        for (uint32_t i = 0; i < count; i++)
            ad_scope_postpone(waiting[i]);
    state_unlock();
    bool ok = !go_on || !isolates || !count || ad_hooks.traverse_from(waiting, count);
    state_lock();
    for (uint32_t i = 0; i < count; i++)
        ad_graph_unref(waiting[i]);
    state_unlock();
    alloc_free(waiting);
    return ok;
}
