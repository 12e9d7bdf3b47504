/*
 * call_reduce.c -- which lanes call which instance, for calls that are not recorded
 */
#include "base/alloc.h"
#include "base/error.h"
#include "trace/array/array.h"
#include "trace/array/reduction.h"
#include "freeze/freezing.h"
#include "trace/eval/work.h"
#include "trace/flow/call.h"
#include "trace/graph/access.h"
#include "trace/graph/arith.h"
#include "trace/graph/extra.h"
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
    TRY(access_check_mask(&(Access){ .ts = ts, .function = function }, mask), 0);
    uint8_t device = var_get(self)->device;
    VarId active = mask_apply(ts, device, mask, self, function);
    VarId zero = node_literal(ts, device, VarTypeUInt32, 0, 1), ids = 0;
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
    for (uint32_t i = 0, id; work_wait(ts, buffer, function) && i < var_lanes_of(ids);
         ++i) {
        TRY(buffer_read(buffer, i * sizeof id, &id, sizeof id), false);
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
    uint32_t *lanes; /* as many as there are ids; owned */
    uint32_t *found; /* after them, four numbers for each id that occurs: id, start,
                        count, 0 */
    uint32_t count;  /* of these ids */
} Sorted;

/* The lock is released meanwhile. */
static bool sort_lanes(ThreadState *ts, VarId ids, uint32_t bound, Sorted *sorted)
{
    const size_t record = 4 * sizeof(uint32_t);
    TRY(freezing_may_read(ts, function), false);
    uint32_t size = var_lanes_of(ids), most = size <= bound ? size : bound + 1;
    const size_t bytes[] = { size * sizeof(uint32_t), sizeof(uint32_t), most * record };
    Command *c = work_command(ts, COMMAND_PERMUTATION, size, &ids, 1, bytes, 3, 0);
    TRY(c, false);
    c->permutation.block = size;
    c->permutation.buckets = bound + 1;
    Command *results = command_copy(c); /* holds the buffers */
    if (!results)
        command_free(c);
    else if (reduction_count(ts, c, 2, &sorted->count, function))
        sorted->lanes = alloc_get(bytes[0] + sorted->count * record);
    else if (error_code() == JIT_ERROR_ARGUMENT)
        refuse_id(ts, ids, bound);
    sorted->found = sorted->lanes ? sorted->lanes + size : NULL;
    bool ok = sorted->lanes &&
              buffer_read(results->slots[1].buffer, 0, sorted->lanes, bytes[0]) &&
              buffer_read(results->slots[3].buffer, 0, sorted->found,
                          sorted->count * record);
    if (ok) {
        freezing_read_buffer(ts, results->slots[1].buffer, sorted->lanes, bytes[0]);
        freezing_read_buffer(ts, results->slots[2].buffer, &sorted->count,
                             sizeof(sorted->count));
        freezing_read_buffer(ts, results->slots[3].buffer, sorted->found,
                             sorted->count * record);
    }
    command_free(results);
    return ok;
}

/* The indices of the lanes that call an instance. */
static VarId make_index(ThreadState *ts, uint8_t device, const uint32_t *lanes,
                        uint32_t count)
{
    VarId index = array_mem_copy(ts, device, VarTypeUInt32, lanes, count);
    if (!index || !ts->body)
        return index;
    Extra *extra = extra_make(var_get(index));
    if (extra)
        extra->lanes = true;
    else
        var_clear(&index);
    return index;
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
    Sorted sorted = { NULL, NULL, 0 };
    JitCallBucket *list = NULL;
    if (sort_lanes(ts, ids, bound, &sorted))
        list = alloc_zero((size_t) sorted.count + 1, sizeof(JitCallBucket));
    bool ok = list != NULL;
    uint32_t made = 0;
    for (uint32_t i = 0; ok && i < sorted.count; ++i) {
        const uint32_t *found = sorted.found + 4 * (size_t) i, id = found[0];
        if (id == 0)
            continue;
        list[made].id = id;
        list[made].ptr = domain ? registry_ptr(variant, domain, id) : NULL;
        list[made].index = make_index(ts, var_get(ids)->device,
                                      sorted.lanes + found[1], found[2]);
        ok = list[made].index != 0;
        made += ok;
    }
    for (uint32_t i = 0; !ok && i < made; ++i)
        var_dec(list[i].index);
    if (!ok)
        alloc_free(list);
    var_dec(ids);
    alloc_free(sorted.lanes);
    *buckets = ok ? list : NULL;
    *count = ok ? made : 0;
    return ok;
}
