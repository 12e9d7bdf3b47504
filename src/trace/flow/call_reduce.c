/*
 * call_reduce.c -- which lanes call which instance, for calls that are not recorded
 */
#include "base/alloc.h"
#include "base/error.h"
#include "device/cpu/mkperm.h"
#include "trace/array/array.h"
#include "trace/flow/call.h"
#include "trace/graph/arith.h"
#include "trace/graph/mask.h"
#include "trace/graph/registry.h"

static const char function[] = "jit_var_call_reduce()";

/* The ids in memory, 0 where masked. */
static VarId find_ids(ThreadState *ts, VarId self, VarId mask)
{
    TRY(node_usable(ts, self, function, "the instance id"), 0);
    if (var_get(self)->type != VarTypeUInt32)
        return (VarId) error_set(JIT_ERROR_ARGUMENT,
                                 "%s: the instance id is %s, expected uint32", function,
                                 type_info[var_get(self)->type].name);
    if (mask)
        TRY(node_usable(ts, mask, function, "the mask"), 0);
    if (mask && var_get(mask)->type != VarTypeBool)
        return (VarId) error_set(JIT_ERROR_ARGUMENT,
                                 "%s: the mask is %s, expected bool", function,
                                 type_info[var_get(mask)->type].name);
    JitBackend backend = (JitBackend) var_get(self)->backend;
    VarId active = mask_apply(ts, backend, mask, function);
    VarId zero = node_literal(ts, backend, VarTypeUInt32, 0, 1), ids = 0;
    if (active && zero)
        ids = arith_ternary(ts, OP_SELECT, active, self, zero);
    if (active)
        var_dec(active);
    if (zero)
        var_dec(zero);
    return ids;
}

/* Sort the lanes by id: 'perm' as long as the ids, 'found' with four numbers for each
 * id that occurs. The lock is released meanwhile. */
static bool sort_lanes(ThreadState *ts, const uint32_t *ids, uint32_t size,
                       uint32_t bound, uint32_t *perm, uint32_t *found,
                       uint32_t *count)
{
    for (uint32_t i = 0; i < size; ++i)
        if (ids[i] > bound)
            return error_set(JIT_ERROR_ARGUMENT,
                             "%s: lane %u has the instance id %u, expected at most %u",
                             function, i, ids[i], bound);
    uint64_t ns = 0;
    state_unlock();
    bool ok = mkperm_run(ts->stream, ids, size, size, bound + 1, perm, found, count,
                         &ns);
    state_lock();
    return ok;
}

static bool make_buckets(ThreadState *ts, JitBackend backend, const char *variant,
                         const char *domain, const uint32_t *perm,
                         const uint32_t *found, uint32_t count, JitCallBucket *buckets,
                         uint32_t *made)
{
    for (uint32_t i = 0; i < count; ++i, found += 4) {
        if (found[0] == 0)
            continue;
        VarId index = array_mem_copy(ts, backend, VarTypeUInt32, perm + found[1],
                                     found[2]);
        Extra *extra = index && ts->body ? extra_make(var_get(index)) : NULL;
        if (index && ts->body && !extra)
            var_dec(index);
        TRY(index && (extra || !ts->body), false);
        if (extra)
            extra->lanes = true;
        void *ptr = domain ? registry_ptr(variant, domain, found[0]) : NULL;
        buckets[(*made)++] = (JitCallBucket){ .id = found[0], .ptr = ptr,
                                              .index = index };
    }
    return true;
}

bool call_reduce(ThreadState *ts, const char *variant, const char *domain,
                 uint32_t bound, VarId self, VarId mask, JitCallBucket **buckets,
                 uint32_t *count)
{
    if (domain)
        bound = registry_id_bound(variant, domain);
    if (bound == UINT32_MAX)
        return error_set(JIT_ERROR_ARGUMENT, "%s: the bound is %u", function, bound);
    VarId ids = find_ids(ts, self, mask);
    TRY(ids, false);
    void *data;
    VarId stored = array_data(ts, ids, &data);
    var_dec(ids);
    TRY(stored, false);
    uint32_t size = var_get(stored)->size, unique = 0, made = 0;
    uint32_t most = size <= bound ? size : bound + 1;
    uint32_t *perm = alloc_get((size_t) size * sizeof(uint32_t));
    uint32_t *found = alloc_get(((size_t) bound + 1) * 4 * sizeof(uint32_t));
    JitCallBucket *list = alloc_zero((size_t) most + 1, sizeof(JitCallBucket));
    bool ok = perm && found && list &&
              sort_lanes(ts, data, size, bound, perm, found, &unique) &&
              make_buckets(ts, (JitBackend) var_get(stored)->backend, variant, domain,
                           perm, found, unique, list, &made);
    for (uint32_t i = 0; !ok && i < made; ++i)
        var_dec(list[i].index);
    if (!ok)
        alloc_free(list);
    var_dec(stored);
    alloc_free(perm);
    alloc_free(found);
    *buckets = ok ? list : NULL;
    *count = ok ? made : 0;
    return ok;
}
