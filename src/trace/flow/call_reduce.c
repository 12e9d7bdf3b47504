/*
 * call_reduce.c -- which lanes call which instance, for calls that are not recorded
 */
#include "base/alloc.h"
#include "base/error.h"
#include "trace/array/array.h"
#include "trace/array/reduction.h"
#include "trace/eval/work.h"
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
    var_drop(active);
    var_drop(zero);
    return ids;
}

/* The permutation was refused: say which id is too large. */
static bool refuse_id(ThreadState *ts, VarId ids, uint32_t bound)
{
    ErrorRecord cause;
    error_save(&cause);
    Buffer *buffer = var_get(ids)->value.buffer;
    for (uint32_t i = 0, id; work_wait(ts, buffer, function) && i < var_get(ids)->size;
         ++i) {
        buffer_read(buffer, i * sizeof id, &id, sizeof id);
        if (id > bound)
            return error_set(JIT_ERROR_ARGUMENT,
                             "%s: lane %u has the instance id %u, expected at most %u",
                             function, i, id, bound);
    }
    error_restore(&cause);
    return false;
}

/* Lanes sorted by id. */
typedef struct Sorted {
    uint32_t *perm;  /* as long as the ids */
    uint32_t *found; /* four numbers for each id that occurs: id, start, count, 0 */
    uint32_t count;  /* of these ids */
} Sorted;

static bool fetch(const Command *c, uint32_t slot, size_t bytes, uint32_t **out)
{
    *out = alloc_get(bytes);
    if (*out)
        buffer_read(c->slots[slot].buffer, 0, *out, bytes);
    return *out != NULL;
}

/* The lock is released meanwhile. */
static bool sort_lanes(ThreadState *ts, VarId ids, uint32_t bound, Sorted *sorted)
{
    const size_t record = 4 * sizeof(uint32_t);
    uint32_t size = var_get(ids)->size, most = size <= bound ? size : bound + 1;
    const size_t bytes[] = { size * sizeof(uint32_t), sizeof(uint32_t), most * record };
    Command *c = work_command(ts, COMMAND_PERMUTATION, size, &ids, 1, bytes, 3,
                              0);
    TRY(c, false);
    c->permutation.block = size;
    c->permutation.buckets = bound + 1;
    Command *results = command_copy(c); /* holds the buffers */
    bool ok = false;
    if (!results)
        command_free(c);
    else if (reduction_count(ts, c, 2, &sorted->count, function))
        ok = fetch(results, 1, bytes[0], &sorted->perm) &&
             fetch(results, 3, sorted->count * record, &sorted->found);
    else if (error_code() == JIT_ERROR_ARGUMENT)
        refuse_id(ts, ids, bound);
    command_free(results);
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
    uint32_t size = var_get(ids)->size, made = 0;
    uint32_t most = size <= bound ? size : bound + 1;
    Sorted sorted = { NULL, NULL, 0 };
    JitCallBucket *list = alloc_zero((size_t) most + 1, sizeof(JitCallBucket));
    bool ok = list && sort_lanes(ts, ids, bound, &sorted) &&
              make_buckets(ts, (JitBackend) var_get(ids)->backend, variant, domain,
                           sorted.perm, sorted.found, sorted.count, list, &made);
    for (uint32_t i = 0; !ok && i < made; ++i)
        var_dec(list[i].index);
    if (!ok)
        alloc_free(list);
    var_dec(ids);
    alloc_free(sorted.perm);
    alloc_free(sorted.found);
    *buckets = ok ? list : NULL;
    *count = ok ? made : 0;
    return ok;
}
