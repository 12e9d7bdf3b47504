/*
 * leaf.c -- see leaf.h
 */
#include "python/object/leaf.h"

Leaf leaf_with_node(uint32_t variable, Leaf like)
{
    if (!variable || !leaf_node(like))
        return leaf_of(variable);
    /* A reference to both halves, of which the other variable's is given back. */
    ad_var_inc_ref(like);
    jit_var_dec_ref(leaf_index(like));
    return (Leaf) leaf_node(like) << 32 | variable;
}

Leaf leaf_plain(Leaf leaf)
{
    if (leaf_node(leaf)) {
        jit_var_inc_ref(leaf_index(leaf));
        ad_var_dec_ref(leaf);
    }
    return leaf_of(leaf_index(leaf));
}

static bool is_tracked(int n, const Leaf *from)
{
    for (int i = 0; i < n; i++)
        if (leaf_node(from[i]) && ad_grad_enabled(from[i]))
            return true;
    return false;
}

bool leaf_none(const TypeInfo *info, int n, const Leaf *from, Leaf *result)
{
    const bool tracked = info->diff && type_is_float(info) && is_tracked(n, from);
    *result = tracked ? ad_var_track_none((JitBackend) info->backend,
                                          (VarType) info->entry)
                      : 0;
    return *result || !tracked;
}

Leaf leaf_of_none(Leaf result, int n, const Leaf *from)
{
    if (!result || leaf_node(result) || !is_tracked(n, from))
        return result;
    const Leaf tracked = ad_var_track(leaf_index(result));
    leaf_unref(result);
    return tracked;
}

/* ---------------------------------------------------------------- questions */

JitBackend leaf_backend(Leaf leaf)
{
    VarInfo info;
    return leaf_info(leaf, &info) ? info.backend : JitBackendNone;
}

bool leaf_info(Leaf leaf, VarInfo *info)
{
    return jit_var_peek_info(leaf_index(leaf), info);
}

const char *leaf_label(Leaf leaf)
{
    return jit_var_label(leaf_index(leaf));
}

const char *leaf_location(Leaf leaf, uint32_t *line)
{
    return jit_var_location(leaf_index(leaf), line);
}

/* ---------------------------------------------------------------- new variables */

bool leaf_next_like(Leaf like)
{
    return jit_freeze_size_like(leaf_index(like));
}

Leaf leaf_literal_like(const TypeInfo *info, const void *bits, Leaf like)
{
    return leaf_next_like(like) ? leaf_literal(info, bits, leaf_peek_size(like)) : 0;
}

Leaf leaf_entries(JitBackend backend, size_t size)
{
    const uint8_t none = 0;
    return leaf_of(jit_var_literal(backend, VarTypeBool, &none, size, 0));
}

Leaf leaf_opaque_width(Leaf leaf)
{
    return leaf_of(jit_var_opaque_width(leaf_index(leaf)));
}

Leaf leaf_opaque(const TypeInfo *info, const void *bits, size_t size)
{
    return leaf_of(jit_var_literal((JitBackend) info->backend, (VarType) info->entry,
                                   bits, size, 1));
}

Leaf leaf_constant(JitBackend backend, VarType type, const void *bits)
{
    return leaf_of(jit_var_literal(backend, type, bits, 1, 0));
}

Leaf leaf_copy(const TypeInfo *info, const void *entries, size_t size)
{
    return leaf_of(jit_var_mem_copy((JitBackend) info->backend, (VarType) info->entry,
                                    entries, size));
}

Leaf leaf_share(const TypeInfo *info, void *entries, size_t size,
                void (*release)(void *entries, void *payload), void *payload)
{
    return leaf_of(jit_var_mem_share((JitBackend) info->backend, (VarType) info->entry,
                                     entries, size, release, payload));
}

Leaf leaf_map(const TypeInfo *info, void *entries, size_t size,
              void (*release)(void *entries, void *payload), void *payload)
{
    return leaf_of(jit_var_mem_map_release((JitBackend) info->backend,
                                           (VarType) info->entry, entries, size,
                                           release, payload));
}

Leaf leaf_undefined(const TypeInfo *info, size_t size)
{
    return leaf_of(
        jit_var_undefined((JitBackend) info->backend, (VarType) info->entry, size));
}

Leaf leaf_counter(JitBackend backend, size_t size)
{
    return leaf_of(jit_var_counter(backend, size));
}

Leaf leaf_u32(JitBackend backend, uint32_t value)
{
    return leaf_of(jit_var_u32(backend, value));
}

Leaf leaf_i32(JitBackend backend, int32_t value)
{
    return leaf_of(jit_var_i32(backend, value));
}

/* ---------------------------------------------------------------- arithmetic */

Leaf leaf_not(Leaf a)
{
    return leaf_of(jit_var_not(leaf_index(a)));
}

Leaf leaf_cast(Leaf a, VarType type)
{
    return ad_var_cast(a, type, 0);
}

Leaf leaf_reinterpret(Leaf a, VarType type)
{
    return ad_var_cast(a, type, 1);
}

/* ---------------------------------------------------------------- masks */

Whole leaf_whole_begin(Leaf array)
{
    static const uint64_t yes = 1;
    const JitBackend backend = leaf_backend(array);
    const uint32_t top = jit_var_mask_peek(backend);
    if (!top)
        return (Whole) { JitBackendNone, true };
    jit_var_dec_ref(top);
    const uint32_t all = jit_var_literal(backend, VarTypeBool, &yes, 1, 0);
    const bool ok = all && jit_var_mask_push(backend, all);
    jit_var_dec_ref(all);
    return (Whole) { ok ? backend : JitBackendNone, ok };
}

void leaf_whole_end(Whole whole)
{
    if (whole.masked != JitBackendNone)
        jit_var_mask_pop(whole.masked); /* which is there */
}

/* The result of an operation on a whole array. */
static Leaf end_with(Whole whole, Leaf result)
{
    leaf_whole_end(whole);
    return result;
}

/* ---------------------------------------------------------------- sizes */

Leaf leaf_resize(Leaf a, size_t size)
{
    return ad_var_resize(a, size);
}

Leaf leaf_shrink(Leaf a, size_t size)
{
    return ad_var_shrink(a, size);
}

Leaf leaf_tile(Leaf a, size_t count)
{
    const Whole whole = leaf_whole_begin(a);
    return end_with(whole, whole.ok ? ad_var_tile(a, count) : 0);
}

Leaf leaf_repeat(Leaf a, size_t count)
{
    const Whole whole = leaf_whole_begin(a);
    return end_with(whole, whole.ok ? ad_var_repeat(a, count) : 0);
}

Leaf leaf_broadcast(Leaf source, Leaf position, size_t inner)
{
    const Whole whole = leaf_whole_begin(source);
    return end_with(
        whole, whole.ok ? ad_var_broadcast(source, leaf_index(position), inner) : 0);
}

/* ---------------------------------------------------------------- memory */

Leaf leaf_gather_whole(Leaf source, Leaf position)
{
    const Whole whole = leaf_whole_begin(source);
    return end_with(whole,
                    whole.ok ? leaf_gather(source, position, 0, ReduceModeAuto) : 0);
}

Leaf leaf_scatter_whole(Leaf target, Leaf value, Leaf position, ReduceOp op,
                        ReduceMode mode)
{
    const Whole whole = leaf_whole_begin(target);
    return end_with(whole,
                    whole.ok ? leaf_scatter(target, value, position, 0, op, mode) : 0);
}

Leaf leaf_gather(Leaf source, Leaf position, Leaf mask, ReduceMode mode)
{
    return ad_var_gather(source, leaf_index(position), leaf_index(mask), mode);
}

bool leaf_gather_packet(size_t n, Leaf source, Leaf position, Leaf mask,
                        ReduceMode mode, Leaf *out)
{
    return ad_var_gather_packet(n, source, leaf_index(position), leaf_index(mask), out,
                                mode);
}

bool leaf_matvec(Leaf array, const JitMatrix *matrix, const Leaf *x, Leaf bias,
                 size_t first, Leaf gradient, Leaf *out)
{
    return ad_var_matvec(array, matrix, x, bias, first, gradient, out);
}

Leaf leaf_scatter(Leaf target, Leaf value, Leaf position, Leaf mask, ReduceOp op,
                  ReduceMode mode)
{
    return ad_var_scatter(target, value, leaf_index(position), leaf_index(mask), op,
                          mode);
}

Leaf leaf_scatter_packet(size_t n, Leaf target, const Leaf *values, Leaf position,
                         Leaf mask, ReduceOp op, ReduceMode mode)
{
    return ad_var_scatter_packet(n, target, values, leaf_index(position),
                                 leaf_index(mask), op, mode);
}

/* What follows has no derivative. */
static uint32_t without_node(Leaf leaf)
{
    return leaf_index(leaf_plain(leaf));
}

Leaf leaf_scatter_inc(Leaf *target, Leaf position, Leaf mask)
{
    uint32_t variable = without_node(*target);
    uint32_t before =
        jit_var_scatter_inc(&variable, leaf_index(position), leaf_index(mask));
    *target = leaf_of(variable);
    return leaf_of(before);
}

Leaf leaf_scatter_exchange(Leaf *target, Leaf value, Leaf position, Leaf mask)
{
    uint32_t variable = without_node(*target);
    uint32_t before = jit_var_scatter_exch(&variable, leaf_index(value),
                                           leaf_index(position), leaf_index(mask));
    *target = leaf_of(variable);
    return leaf_of(before);
}

bool leaf_scatter_cas(Leaf *target, Leaf compare, Leaf value, Leaf position, Leaf mask,
                      Leaf out[2])
{
    uint32_t variable = without_node(*target), found[2] = { 0, 0 };
    bool ok = jit_var_scatter_cas(&variable, leaf_index(compare), leaf_index(value),
                                  leaf_index(position), leaf_index(mask), found);
    *target = leaf_of(variable);
    out[0] = leaf_of(found[0]);
    out[1] = leaf_of(found[1]);
    return ok;
}

bool leaf_scatter_add_kahan(Leaf *target_1, Leaf *target_2, Leaf value, Leaf position,
                            Leaf mask)
{
    return ad_var_scatter_add_kahan(target_1, target_2, value, leaf_index(position),
                                    leaf_index(mask));
}

Leaf leaf_write(Leaf target, size_t offset, const void *entry)
{
    return ad_var_write(target, offset, entry);
}

/* ---------------------------------------------------------------- reductions */

Leaf leaf_reduce(Leaf a, ReduceOp op)
{
    return ad_var_reduce(a, op);
}

Leaf leaf_reduce_dot(Leaf a, Leaf b)
{
    return ad_var_reduce_dot(a, b);
}

Leaf leaf_block_reduce(ReduceOp op, Leaf a, size_t block)
{
    return ad_var_block_reduce(op, a, block);
}

Leaf leaf_axis_reduce(ReduceOp op, Leaf a, const JitAxis *axis, Leaf position)
{
    return ad_var_axis_reduce(op, a, axis, leaf_index(position));
}

Leaf leaf_block_prefix_reduce(ReduceOp op, Leaf a, size_t block, bool exclusive,
                              bool reverse)
{
    return ad_var_block_prefix_reduce(op, a, block, exclusive, reverse);
}

Leaf leaf_axis_prefix_reduce(ReduceOp op, Leaf a, const JitAxis *axis, bool exclusive,
                             bool reverse)
{
    return ad_var_axis_prefix_reduce(op, a, axis, exclusive, reverse);
}

Leaf leaf_transpose(Leaf a, const JitTranspose *axes)
{
    return ad_var_transpose(a, axes);
}

Leaf leaf_any(Leaf mask)
{
    return leaf_of(jit_var_any(leaf_index(mask)));
}

Leaf leaf_compress(Leaf mask, uint32_t spare)
{
    return leaf_of(jit_var_compress_temporary(leaf_index(mask), spare));
}

Leaf leaf_sort(Leaf a, size_t block, bool descending)
{
    return ad_var_sort(a, block, descending);
}

Leaf leaf_argsort(Leaf a, size_t block, bool descending)
{
    return leaf_of(jit_var_argsort(leaf_index(a), block, descending));
}

Leaf leaf_gemm(Leaf a, Leaf b, const JitGemm *shape)
{
    return ad_var_batched_gemm(a, b, shape);
}

/* ---------------------------------------------------------------- evaluation */

bool leaf_schedule(Leaf leaf)
{
    return jit_var_schedule(leaf_index(leaf));
}

Leaf leaf_schedule_force(Leaf leaf, int *scheduled)
{
    return leaf_with_node(jit_var_schedule_force(leaf_index(leaf), scheduled), leaf);
}

bool leaf_eval(Leaf leaf)
{
    return jit_var_eval(leaf_index(leaf));
}

bool leaf_eval_writes(Leaf leaf)
{
    return jit_var_eval_writes(leaf_index(leaf));
}

bool leaf_read(Leaf leaf, size_t offset, void *entry)
{
    return jit_var_read(leaf_index(leaf), offset, entry);
}

Leaf leaf_data(Leaf leaf, void **data)
{
    return leaf_with_node(jit_var_data(leaf_index(leaf), data), leaf);
}

Leaf leaf_migrate(Leaf leaf, JitBackend backend)
{
    /* The backend that entries go to may be one that nothing has used so far. */
    return leaf_of(jit_init(backend) ? jit_var_migrate(leaf_index(leaf), backend) : 0);
}

Leaf leaf_lend(Leaf leaf, uint32_t own, void **data)
{
    return leaf_with_node(jit_var_lend(leaf_index(leaf), own, data), leaf);
}

void leaf_gather_whole_back(Leaf leaf)
{
    (void) jit_var_inc_ref(leaf_index(leaf)); /* which is given back with the node */
    jit_var_take_back(leaf_index(leaf));
    leaf_unref(leaf);
}

Leaf leaf_labelled(Leaf leaf, const char *label)
{
    if (!ad_var_set_label(leaf, label))
        return 0;
    return leaf_with_node(jit_var_set_label(leaf_index(leaf), label), leaf);
}
