/*
 * registry.h -- ids of objects, by variant and domain
 *
 * Requires the graph lock. Meaning as in jit.h.
 */
#ifndef TRACE_GRAPH_REGISTRY_H
#define TRACE_GRAPH_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

uint32_t registry_put(const char *variant, const char *domain, void *ptr);
bool registry_remove(const void *ptr);
uint32_t registry_id(const void *ptr);
uint32_t registry_id_bound(const char *variant, const char *domain);
/** A number that a domain has only as long as nothing is put into it or removed. */
uint64_t registry_version(const char *variant, const char *domain);
void registry_get_pointers(const char *variant, const char *domain, void **out);
void *registry_ptr(const char *variant, const char *domain, uint32_t id);
void *registry_peek(const char *variant, const char *domain);
void registry_clear(void);

#endif
