/*
 * api_reduce.c -- reductions, scans, sorting, aggregation
 */
#include <string.h>

#include "api/api.h"
#include "base/error.h"
#include "ir/reduce_rule.h"
#include "trace/array/reduction.h"
#include "trace/array/axes.h"
#include "freeze/freezing.h"
#include "trace/eval/work.h"
#include "trace/graph/current.h"

uint32_t jit_var_all(uint32_t index)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = reduction_all(ts, index);
    api_leave();
    return result;
}

uint32_t jit_var_any(uint32_t index)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = reduction_any(ts, index);
    api_leave();
    return result;
}

uint32_t jit_var_reduce(uint32_t index, ReduceOp op)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    size_t size = var_exists(index) ? var_lanes_of(index) : 1;
    uint32_t result = reduction_reduce(ts, op, index, size, FREEZING_LANES,
                                       "jit_var_reduce()");
    api_leave();
    return result;
}

uint32_t jit_var_reduce_dot(uint32_t a, uint32_t b)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = reduction_dot(ts, a, b);
    api_leave();
    return result;
}

/* Blocks of a size that the caller has given; 0: of all entries. */
static SymSize block_symsize(ThreadState *ts, size_t block)
{
    SymSize symsize = freezing_take_number(ts, block);
    return block ? symsize : FREEZING_LANES;
}

uint32_t jit_var_block_reduce(ReduceOp op, uint32_t index, size_t block_size)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    SymSize symsize = block_symsize(ts, block_size);
    uint32_t result =
        reduction_reduce(ts, op, index, block_size, symsize, "jit_var_block_reduce()");
    api_leave();
    return result;
}

static ReductionAxis axis_of(ThreadState *ts, const JitAxis *axis)
{
    const uint64_t *sizes = axis->sizes;
    return (ReductionAxis) {
        axis->extent, axis->stride,
        { freezing_given(ts, axis->extent, sizes ? sizes[0] : 0),
          freezing_given(ts, axis->stride, sizes ? sizes[1] : 0) }
    };
}

uint32_t jit_var_axis_reduce(ReduceOp op, uint32_t index, const JitAxis *axis)
{
    const char *function = "jit_var_axis_reduce()";
    if (!axis)
        return (uint32_t) api_null(function, "axis");
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    const ReductionAxis along = axis_of(ts, axis);
    uint32_t result = reduction_axis(ts, op, index, &along, function);
    api_leave();
    return result;
}

uint32_t jit_var_axis_prefix_reduce(ReduceOp op, uint32_t index, const JitAxis *axis,
                                    int exclusive, int reverse)
{
    const char *function = "jit_var_axis_prefix_reduce()";
    if (!axis)
        return (uint32_t) api_null(function, "axis");
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    const ReductionAxis along = axis_of(ts, axis);
    uint32_t result = reduction_prefix(ts, op, index, &along, exclusive != 0,
                                       reverse != 0, function);
    api_leave();
    return result;
}

uint32_t jit_var_block_prefix_reduce(ReduceOp op, uint32_t index, size_t block_size,
                                     int exclusive, int reverse)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    SymSize symsize = block_symsize(ts, block_size);
    size_t all = var_exists(index) ? var_lanes_of(index) : 1;
    const ReductionAxis along = { block_size ? block_size : all, 1, { symsize, 0 } };
    uint32_t result = reduction_prefix(ts, op, index, &along, exclusive != 0,
                                       reverse != 0, "jit_var_block_prefix_reduce()");
    api_leave();
    return result;
}

uint32_t jit_var_transpose(uint32_t index, const JitTranspose *axes)
{
    if (!axes)
        return (uint32_t) api_null("jit_var_transpose()", "axes");
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    const uint64_t *sizes = axes->sizes;
    const SymSize symsizes[] = {
        freezing_given(ts, axes->rows, sizes ? sizes[0] : 0),
        freezing_given(ts, axes->columns, sizes ? sizes[1] : 0),
        freezing_given(ts, axes->items, sizes ? sizes[2] : 0),
    };
    uint32_t result = axes_transpose(ts, index, axes, symsizes);
    api_leave();
    return result;
}

static uint32_t sort(uint32_t index, size_t block, bool descending, bool indices)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    SymSize symsize = block_symsize(ts, block);
    uint32_t result = reduction_sort(ts, index, block, symsize, descending, indices);
    api_leave();
    return result;
}

uint32_t jit_var_sort(uint32_t index, size_t block_size, int descending)
{
    return sort(index, block_size, descending != 0, false);
}

uint32_t jit_var_argsort(uint32_t index, size_t block_size, int descending)
{
    return sort(index, block_size, descending != 0, true);
}

bool jit_reduce_identity(VarType type, ReduceOp op, uint64_t *bits)
{
    if (!bits)
        return api_null("jit_reduce_identity()", "bits");
    uint64_t neutral;
    if (!type_valid(type) || (unsigned) op >= ReduceOpCount ||
        !reduce_rule_identity(op, type, &neutral))
        return error_set(JIT_ERROR_ARGUMENT,
                         "jit_reduce_identity(): reduction %d is not "
                         "defined for type %d",
                         (int) op, (int) type);
    *bits = neutral;
    return true;
}

/* The arguments of jit_block_mkperm(). */
typedef struct Permutation {
    const uint32_t *values;
    uint32_t *perm, *offsets;
    uint32_t size, block_size, bucket_count;
} Permutation;

static bool permute(ThreadState *ts, Device *device, const Permutation *p,
                    uint32_t *unique)
{
    size_t bytes = p->size * sizeof(uint32_t);
    Command *c = command_create(device, COMMAND_PERMUTATION, p->size,
                                p->offsets ? 4 : 3, 0);
    TRY(c, false);
    c->permutation.block = p->block_size;
    c->permutation.buckets = p->bucket_count;
    Buffer *number = work_buffer(ts, device->index, sizeof(uint32_t));
    bool ok = number && work_memory(c, 0, (void *) p->values, bytes, SLOT_READ) &&
              work_memory(c, 1, p->perm, bytes, SLOT_WRITE) &&
              (!p->offsets ||
               work_memory(c, 3, p->offsets, 4 * bytes, SLOT_WRITE));
    if (number)
        command_set_slot(c, 2, number, 0, sizeof(uint32_t), SLOT_WRITE);
    buffer_release(number);
    if (!ok) {
        command_free(c);
        return false;
    }
    return reduction_count(ts, c, 2, unique, "jit_block_mkperm()");
}

uint32_t jit_block_mkperm(JitBackend backend, const uint32_t *values, uint32_t size,
                          uint32_t block_size, uint32_t bucket_count, uint32_t *perm,
                          uint32_t *offsets, bool *ok)
{
    static const char function[] = "jit_block_mkperm()";
    bool success = false;
    uint32_t unique = 0;
    Device *device = NULL;
    ThreadState *ts = api_enter();
    if (!ts) {
        /* error recorded */
    } else if (!values || !perm) {
        api_null(function, values ? "perm" : "values");
    } else if (!(device = current_device(ts, backend, function))) {
        /* likewise */
    } else if (!size || !block_size || size % block_size || !bucket_count) {
        error_set(JIT_ERROR_ARGUMENT,
                  "%s: size is %u, block_size %u, bucket_count %u; "
                  "expected positive numbers, block_size a divisor of size",
                  function, size, block_size, bucket_count);
    } else {
        success = permute(ts, device,
                          &(Permutation) { values, perm, offsets, size, block_size,
                                           bucket_count }, &unique);
    }
    if (ts)
        api_leave();
    if (ok)
        *ok = success;
    return offsets ? unique : 0;
}

/* The destination reaches to the end of the entry that is furthest. */
static bool aggregate(ThreadState *ts, Device *device, void *dst,
                      const AggregationEntry *entries, uint32_t count,
                      uint32_t addresses)
{
    size_t bytes = 0;
    Command *c = command_create(device, COMMAND_AGGREGATE, count, 1 + addresses,
                                count * sizeof *entries);
    TRY(c, false);
    AggregationEntry *data = c->data;
    if (count)
        memcpy(data, entries, count * sizeof *entries);
    bool ok = true;
    for (uint32_t i = 0, slot = 1; ok && i < count; ++i) {
        const AggregationEntry *e = &entries[i];
        size_t size = (size_t) (e->size < 0 ? -(int64_t) e->size : e->size);
        if (e->offset + size > bytes)
            bytes = e->offset + size;
        if (e->size >= 0)
            continue;
        ok = work_memory(c, slot, (void *) e->src, size, SLOT_READ);
        c->slots[slot++].word = i;
        data[i].src = NULL; /* where it is, is not part of the command */
    }
    ok = ok && work_memory(c, 0, dst, bytes, SLOT_READ_WRITE);
    if (ok)
        return work_submit(ts, c);
    command_free(c);
    return false;
}

bool jit_aggregate(JitBackend backend, void *dst, const AggregationEntry *entries,
                   uint32_t count)
{
    if (!dst || (count && !entries))
        return api_null("jit_aggregate()", dst ? "entries" : "dst");
    uint32_t addresses = 0;
    for (uint32_t i = 0; i < count; ++i) {
        int32_t size = entries[i].size;
        if (size != 1 && size != 2 && size != 4 && size != 8 && size >= 0)
            return error_set(JIT_ERROR_ARGUMENT,
                             "jit_aggregate(): entry %u has size %d, "
                             "expected 1, 2, 4, 8 or a negative number",
                             i, size);
        if (size < 0 && !entries[i].src)
            return error_set(JIT_ERROR_ARGUMENT,
                             "jit_aggregate(): entry %u has size %d and "
                             "src NULL, expected an address",
                             i, size);
        addresses += size < 0;
    }
    ThreadState *ts = api_enter();
    TRY(ts, false);
    Device *device = current_device(ts, backend, "jit_aggregate()");
    bool ok = device && aggregate(ts, device, dst, entries, count, addresses);
    api_leave();
    return ok;
}
