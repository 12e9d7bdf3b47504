/*
 * leaf.c -- see leaf.h
 */
#include "python/object/leaf.h"

/* ---------------------------------------------------------------- questions */

JitBackend leaf_backend(Leaf leaf)
{
    VarInfo info;
    return leaf_info(leaf, &info) ? info.backend : JitBackendNone;
}

bool leaf_info(Leaf leaf, VarInfo *info)
{
    return jit_var_info(leaf_index(leaf), info);
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
    return leaf_of(jit_var_cast(leaf_index(a), type, 0));
}

Leaf leaf_reinterpret(Leaf a, VarType type)
{
    return leaf_of(jit_var_cast(leaf_index(a), type, 1));
}

/* ---------------------------------------------------------------- sizes */

Leaf leaf_resize(Leaf a, size_t size)
{
    return leaf_of(jit_var_resize(leaf_index(a), size));
}

Leaf leaf_shrink(Leaf a, size_t size)
{
    return leaf_of(jit_var_shrink(leaf_index(a), size));
}

Leaf leaf_tile(Leaf a, size_t count)
{
    return leaf_of(jit_var_tile(leaf_index(a), count));
}

Leaf leaf_repeat(Leaf a, size_t count)
{
    return leaf_of(jit_var_repeat(leaf_index(a), count));
}

/* ---------------------------------------------------------------- memory */

/* The largest packet of the core. */
enum { PACKET_LIMIT = 64 };

Leaf leaf_gather(Leaf source, Leaf position, Leaf mask)
{
    return leaf_of(
        jit_var_gather(leaf_index(source), leaf_index(position), leaf_index(mask)));
}

bool leaf_gather_packet(size_t n, Leaf source, Leaf position, Leaf mask, Leaf *out)
{
    uint32_t variables[PACKET_LIMIT];
    bool ok = jit_var_gather_packet(n, leaf_index(source), leaf_index(position),
                                    leaf_index(mask), variables);
    for (size_t i = 0; ok && i < n; i++)
        out[i] = leaf_of(variables[i]);
    return ok;
}

Leaf leaf_scatter(Leaf target, Leaf value, Leaf position, Leaf mask, ReduceOp op,
                  ReduceMode mode)
{
    return leaf_of(jit_var_scatter(leaf_index(target), leaf_index(value),
                                   leaf_index(position), leaf_index(mask), op, mode));
}

Leaf leaf_scatter_packet(size_t n, Leaf target, const Leaf *values, Leaf position,
                         Leaf mask, ReduceOp op, ReduceMode mode)
{
    uint32_t variables[PACKET_LIMIT];
    for (size_t i = 0; i < n; i++)
        variables[i] = leaf_index(values[i]);
    return leaf_of(jit_var_scatter_packet(n, leaf_index(target), variables,
                                          leaf_index(position), leaf_index(mask), op,
                                          mode));
}

Leaf leaf_scatter_inc(Leaf *target, Leaf position, Leaf mask)
{
    uint32_t variable = leaf_index(*target);
    uint32_t before =
        jit_var_scatter_inc(&variable, leaf_index(position), leaf_index(mask));
    *target = leaf_of(variable);
    return leaf_of(before);
}

Leaf leaf_scatter_exchange(Leaf *target, Leaf value, Leaf position, Leaf mask)
{
    uint32_t variable = leaf_index(*target);
    uint32_t before = jit_var_scatter_exch(&variable, leaf_index(value),
                                           leaf_index(position), leaf_index(mask));
    *target = leaf_of(variable);
    return leaf_of(before);
}

bool leaf_scatter_cas(Leaf *target, Leaf compare, Leaf value, Leaf position, Leaf mask,
                      Leaf out[2])
{
    uint32_t variable = leaf_index(*target), found[2] = { 0, 0 };
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
    uint32_t first = leaf_index(*target_1), second = leaf_index(*target_2);
    bool ok = jit_var_scatter_add_kahan(&first, &second, leaf_index(value),
                                        leaf_index(position), leaf_index(mask));
    *target_1 = leaf_of(first);
    *target_2 = leaf_of(second);
    return ok;
}

Leaf leaf_write(Leaf target, size_t offset, const void *entry)
{
    return leaf_of(jit_var_write(leaf_index(target), offset, entry));
}

/* ---------------------------------------------------------------- reductions */

Leaf leaf_reduce(Leaf a, ReduceOp op)
{
    return leaf_of(jit_var_reduce(leaf_index(a), op));
}

Leaf leaf_reduce_dot(Leaf a, Leaf b)
{
    return leaf_of(jit_var_reduce_dot(leaf_index(a), leaf_index(b)));
}

Leaf leaf_block_reduce(ReduceOp op, Leaf a, size_t block)
{
    return leaf_of(jit_var_block_reduce(op, leaf_index(a), block));
}

Leaf leaf_block_prefix_reduce(ReduceOp op, Leaf a, size_t block, bool exclusive,
                              bool reverse)
{
    return leaf_of(
        jit_var_block_prefix_reduce(op, leaf_index(a), block, exclusive, reverse));
}

Leaf leaf_any(Leaf mask)
{
    return leaf_of(jit_var_any(leaf_index(mask)));
}

Leaf leaf_compress(Leaf mask)
{
    return leaf_of(jit_var_compress(leaf_index(mask)));
}

Leaf leaf_sort(Leaf a, size_t block, bool descending)
{
    return leaf_of(jit_var_sort(leaf_index(a), block, descending));
}

Leaf leaf_argsort(Leaf a, size_t block, bool descending)
{
    return leaf_of(jit_var_argsort(leaf_index(a), block, descending));
}

Leaf leaf_gemm(Leaf a, Leaf b, const JitGemm *shape)
{
    return leaf_of(jit_var_batched_gemm(leaf_index(a), leaf_index(b), shape));
}

/* ---------------------------------------------------------------- evaluation */

bool leaf_schedule(Leaf leaf)
{
    return jit_var_schedule(leaf_index(leaf));
}

Leaf leaf_schedule_force(Leaf leaf, int *scheduled)
{
    return leaf_of(jit_var_schedule_force(leaf_index(leaf), scheduled));
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
    return leaf_of(jit_var_data(leaf_index(leaf), data));
}

Leaf leaf_labelled(Leaf leaf, const char *label)
{
    return leaf_of(jit_var_set_label(leaf_index(leaf), label));
}
