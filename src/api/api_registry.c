/*
 * api_registry.c -- the registry group
 */
#include "trace/graph/registry.h"

#include "api/api.h"
#include "freeze/freezing.h"

/* A function that is being recorded depends on what it finds. */
static void note_look(const char *variant, const char *domain)
{
    ThreadState *ts = thread_self.state;
    if (ts && ts->freezing && variant && domain)
        freezing_look_up(ts, variant, domain);
}

uint32_t jit_registry_put(const char *variant, const char *domain, void *ptr)
{
    state_lock();
    uint32_t id = registry_put(variant, domain, ptr);
    state_unlock();
    return id;
}

bool jit_registry_remove(const void *ptr)
{
    state_lock();
    bool ok = registry_remove(ptr);
    state_unlock();
    return ok;
}

uint32_t jit_registry_id(const void *ptr)
{
    state_lock();
    uint32_t id = registry_id(ptr);
    state_unlock();
    return id;
}

uint32_t jit_registry_id_bound(const char *variant, const char *domain)
{
    state_lock();
    note_look(variant, domain);
    uint32_t bound = registry_id_bound(variant, domain);
    state_unlock();
    return bound;
}

void jit_registry_get_pointers(const char *variant, const char *domain, void **out)
{
    if (!out) {
        api_null("jit_registry_get_pointers()", "out");
        return;
    }
    state_lock();
    note_look(variant, domain);
    registry_get_pointers(variant, domain, out);
    state_unlock();
}

void *jit_registry_ptr(const char *variant, const char *domain, uint32_t id)
{
    state_lock();
    note_look(variant, domain);
    void *ptr = registry_ptr(variant, domain, id);
    state_unlock();
    return ptr;
}

void *jit_registry_peek(const char *variant, const char *domain)
{
    state_lock();
    note_look(variant, domain);
    void *ptr = registry_peek(variant, domain);
    state_unlock();
    return ptr;
}

void jit_registry_clear(void)
{
    state_lock();
    registry_clear();
    state_unlock();
}
