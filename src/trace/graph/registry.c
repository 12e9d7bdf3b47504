/*
 * registry.c -- see registry.h
 *
 * A domain is a growable array of pointers, position = id - 1; two hash tables lead
 * from "variant\0domain" to the domain and from a pointer to its domain and id.
 */
#include "trace/graph/registry.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/table.h"
#include "base/vec.h"

typedef struct Domain {
    void **pointers;
    uint32_t count, capacity;
    uint32_t first_free;  /* no position below this one is free */
    uint64_t version;     /* changes, of all domains, when it was changed */
} Domain;

typedef struct Place {
    Domain *domain;
    uint32_t id;
} Place;

static Table domains, places;
static uint64_t changes;

#define KEY_SIZE 512

/* The key of a domain; its length, 0 if the names are too long. */
static size_t domain_key(const char *variant, const char *domain, char key[KEY_SIZE])
{
    size_t a = strlen(variant) + 1, b = strlen(domain) + 1;
    if (a + b > KEY_SIZE)
        return 0;
    memcpy(key, variant, a);
    memcpy(key + a, domain, b);
    return a + b;
}

static Domain *find(const char *variant, const char *domain)
{
    char key[KEY_SIZE];
    size_t size = variant && domain ? domain_key(variant, domain, key) : 0;
    return size ? table_get(&domains, key, size) : NULL;
}

static Domain *find_or_make(const char *variant, const char *domain)
{
    char key[KEY_SIZE];
    size_t size = domain_key(variant, domain, key);
    if (!size) {
        error_set(JIT_ERROR_ARGUMENT,
                  "jit_registry_put(): names of variant and domain have "
                  "more than %d characters",
                  KEY_SIZE - 2);
        return NULL;
    }
    Domain *d = table_get(&domains, key, size);
    if (d)
        return d;
    d = alloc_zero(1, sizeof(Domain));
    TRY(d, NULL);
    if (!table_put(&domains, key, size, d)) {
        alloc_free(d);
        return NULL;
    }
    return d;
}

uint32_t registry_put(const char *variant, const char *domain, void *ptr)
{
    if (!variant || !domain || !ptr)
        return (uint32_t) error_set(JIT_ERROR_ARGUMENT,
                                    "jit_registry_put(): variant, domain "
                                    "or pointer is NULL");
    if (table_get(&places, &ptr, sizeof(ptr)))
        return (uint32_t) error_set(JIT_ERROR_ARGUMENT,
                                    "jit_registry_put(): %p is already "
                                    "registered",
                                    ptr);
    Domain *d = find_or_make(variant, domain);
    TRY(d, 0);
    uint32_t position = d->first_free;
    while (position < d->count && d->pointers[position])
        position++;
    if (position == d->count)
        TRY(vec_reserve(&d->pointers, &d->capacity, position + 1, sizeof(void *)), 0);
    Place *place = alloc_get(sizeof(Place));
    TRY(place, 0);
    *place = (Place) { d, position + 1 };
    if (!table_put(&places, &ptr, sizeof(ptr), place)) {
        alloc_free(place);
        return 0;
    }
    d->pointers[position] = ptr;
    d->count += position == d->count;
    d->first_free = position + 1;
    d->version = ++changes;
    return position + 1;
}

bool registry_remove(const void *ptr)
{
    Place *place = ptr ? table_remove(&places, &ptr, sizeof(ptr)) : NULL;
    if (!place)
        return error_set(JIT_ERROR_ARGUMENT,
                         "jit_registry_remove(): %p is not registered", (void *) ptr);
    Domain *d = place->domain;
    d->pointers[place->id - 1] = NULL;
    if (place->id - 1 < d->first_free)
        d->first_free = place->id - 1;
    while (d->count && !d->pointers[d->count - 1])
        d->count--;
    if (d->first_free > d->count)
        d->first_free = d->count;
    d->version = ++changes;
    alloc_free(place);
    return true;
}

uint32_t registry_id(const void *ptr)
{
    const Place *place = ptr ? table_get(&places, &ptr, sizeof(ptr)) : NULL;
    return place ? place->id : 0;
}

uint32_t registry_id_bound(const char *variant, const char *domain)
{
    const Domain *d = find(variant, domain);
    return d ? d->count : 0;
}

uint64_t registry_version(const char *variant, const char *domain)
{
    const Domain *d = find(variant, domain);
    return d ? d->version : 0;
}

void registry_get_pointers(const char *variant, const char *domain, void **out)
{
    const Domain *d = find(variant, domain);
    if (d && d->count)
        memcpy(out, d->pointers, d->count * sizeof(void *));
}

void *registry_ptr(const char *variant, const char *domain, uint32_t id)
{
    const Domain *d = find(variant, domain);
    return d && id && id <= d->count ? d->pointers[id - 1] : NULL;
}

void *registry_peek(const char *variant, const char *domain)
{
    const Domain *d = find(variant, domain);
    return d && d->count ? d->pointers[d->count - 1] : NULL;
}

void registry_clear(void)
{
    for (uint32_t i = 0; i < places.capacity; ++i)
        if (places.entries[i].size)
            alloc_free(places.entries[i].value);
    for (uint32_t i = 0; i < domains.capacity; ++i) {
        if (!domains.entries[i].size)
            continue;
        Domain *d = domains.entries[i].value;
        alloc_free(d->pointers);
        alloc_free(d);
    }
    table_free(&places);
    table_free(&domains);
}
