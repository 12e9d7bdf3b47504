/*
 * var.c -- see var.h
 */
#include "python/array/var.h"

#include <stdio.h>

VarIndex var_with_node(uint32_t variable, VarIndex like)
{
    if (!variable || !var_node(like))
        return var_of(variable);
    /* A reference to both halves, of which the other variable's is given back. */
    ad_var_inc_ref(like);
    jit_var_dec_ref(var_jit(like));
    return (VarIndex) var_node(like) << 32 | variable;
}

VarIndex var_plain(VarIndex var)
{
    if (var_node(var)) {
        jit_var_inc_ref(var_jit(var));
        ad_var_dec_ref(var);
    }
    return var_of(var_jit(var));
}

static bool is_tracked(int n, const VarIndex *from)
{
    for (int i = 0; i < n; i++)
        if (var_node(from[i]) && ad_grad_enabled(from[i]))
            return true;
    return false;
}

bool var_none(const TypeInfo *info, int n, const VarIndex *from, VarIndex *result)
{
    const bool tracked = info->diff && type_is_float(info) && is_tracked(n, from);
    *result = tracked ? ad_var_track_none((JitBackend) info->backend,
                                          (VarType) info->entry)
                      : 0;
    return *result || !tracked;
}

VarIndex var_of_none(VarIndex result, int n, const VarIndex *from)
{
    if (!result || var_node(result) || !is_tracked(n, from))
        return result;
    const VarIndex tracked = ad_var_track(var_jit(result));
    var_unref(result);
    return tracked;
}

/* ---------------------------------------------------------------- questions */

JitBackend var_backend(VarIndex var)
{
    VarInfo info;
    return var_info(var, &info) ? info.backend : JitBackendNone;
}

bool var_info(VarIndex var, VarInfo *info)
{
    return jit_var_peek_info(var_jit(var), info);
}

const char *var_label(VarIndex var)
{
    return jit_var_label(var_jit(var));
}

const char *var_location(VarIndex var, uint32_t *line)
{
    return jit_var_location(var_jit(var), line);
}

void var_places(VarIndex first, VarIndex second, char text[VAR_PLACES])
{
    uint32_t a = 0, b = 0;
    const char *file_a = first ? var_location(first, &a) : NULL,
               *file_b = second ? var_location(second, &b) : NULL;
    *text = 0;
    if (file_a && file_b)
        snprintf(text, VAR_PLACES,
                 "; the first was made at %.60s:%u, the second at %.60s:%u", file_a, a,
                 file_b, b);
    else if (file_a || file_b)
        snprintf(text, VAR_PLACES, "; the %s was made at %.60s:%u",
                 file_a ? "first" : "second", file_a ? file_a : file_b, file_a ? a : b);
}

void var_place(VarIndex var, char text[VAR_PLACES])
{
    uint32_t line = 0;
    const char *file = var ? var_location(var, &line) : NULL;
    *text = 0;
    if (file)
        snprintf(text, VAR_PLACES, "; it was made at %.60s:%u", file, line);
}

/* ---------------------------------------------------------------- new variables */

bool var_next_like(VarIndex like)
{
    return jit_freeze_size_like(var_jit(like));
}

VarIndex var_literal_like(const TypeInfo *info, const void *bits, VarIndex like)
{
    return var_next_like(like) ? var_literal(info, bits, var_peek_size(like)) : 0;
}

VarIndex var_of_size(JitBackend backend, size_t size)
{
    const uint8_t none = 0;
    return var_of(jit_var_literal(backend, VarTypeBool, &none, size, 0));
}

VarIndex var_opaque_width(VarIndex var)
{
    return var_of(jit_var_opaque_width(var_jit(var)));
}

VarIndex var_opaque(const TypeInfo *info, const void *bits, size_t size)
{
    return var_of(jit_var_literal((JitBackend) info->backend, (VarType) info->entry,
                                  bits, size, 1));
}

VarIndex var_constant(JitBackend backend, VarType type, const void *bits)
{
    return var_of(jit_var_literal(backend, type, bits, 1, 0));
}

VarIndex var_copy(const TypeInfo *info, const void *entries, size_t size)
{
    return var_of(jit_var_mem_copy((JitBackend) info->backend, (VarType) info->entry,
                                   entries, size));
}

VarIndex var_share(const TypeInfo *info, void *entries, size_t size,
                   void (*release)(void *entries, void *payload), void *payload)
{
    return var_of(jit_var_mem_share((JitBackend) info->backend, (VarType) info->entry,
                                    entries, size, release, payload));
}

VarIndex var_map(const TypeInfo *info, void *entries, size_t size,
                 void (*release)(void *entries, void *payload), void *payload)
{
    return var_of(jit_var_mem_map_release((JitBackend) info->backend,
                                          (VarType) info->entry, entries, size, release,
                                          payload));
}

VarIndex var_undefined(const TypeInfo *info, size_t size)
{
    return var_of(
        jit_var_undefined((JitBackend) info->backend, (VarType) info->entry, size));
}

VarIndex var_counter(JitBackend backend, size_t size)
{
    return var_of(jit_var_counter(backend, size));
}

VarIndex var_u32(JitBackend backend, uint32_t value)
{
    return var_of(jit_var_u32(backend, value));
}

VarIndex var_i32(JitBackend backend, int32_t value)
{
    return var_of(jit_var_i32(backend, value));
}

/* ---------------------------------------------------------------- arithmetic */

VarIndex var_not(VarIndex a)
{
    return var_of(jit_var_not(var_jit(a)));
}

VarIndex var_cast(VarIndex a, VarType type)
{
    return ad_var_cast(a, type, 0);
}

VarIndex var_reinterpret(VarIndex a, VarType type)
{
    return ad_var_cast(a, type, 1);
}

/* ---------------------------------------------------------------- masks */

Whole var_whole_begin(VarIndex array)
{
    static const uint64_t yes = 1;
    const JitBackend backend = var_backend(array);
    const uint32_t top = jit_var_mask_peek(backend);
    if (!top)
        return (Whole) { JitBackendNone, true };
    jit_var_dec_ref(top);
    const uint32_t all = jit_var_literal(backend, VarTypeBool, &yes, 1, 0);
    const bool ok = all && jit_var_mask_push(backend, all);
    jit_var_dec_ref(all);
    return (Whole) { ok ? backend : JitBackendNone, ok };
}

void var_whole_end(Whole whole)
{
    if (whole.masked != JitBackendNone)
        jit_var_mask_pop(whole.masked); /* which is there */
}

/* The result of an operation on a whole array. */
static VarIndex end_with(Whole whole, VarIndex result)
{
    var_whole_end(whole);
    return result;
}

/* ---------------------------------------------------------------- sizes */

VarIndex var_resize(VarIndex a, size_t size)
{
    return ad_var_resize(a, size);
}

VarIndex var_shrink(VarIndex a, size_t size)
{
    return ad_var_shrink(a, size);
}

VarIndex var_tile(VarIndex a, size_t count)
{
    const Whole whole = var_whole_begin(a);
    return end_with(whole, whole.ok ? ad_var_tile(a, count) : 0);
}

VarIndex var_repeat(VarIndex a, size_t count)
{
    const Whole whole = var_whole_begin(a);
    return end_with(whole, whole.ok ? ad_var_repeat(a, count) : 0);
}

VarIndex var_broadcast(VarIndex source, VarIndex index, size_t inner)
{
    const Whole whole = var_whole_begin(source);
    return end_with(
        whole, whole.ok ? ad_var_broadcast(source, var_jit(index), inner) : 0);
}

/* ---------------------------------------------------------------- memory */

VarIndex var_gather_whole(VarIndex source, VarIndex index)
{
    const Whole whole = var_whole_begin(source);
    return end_with(whole,
                    whole.ok ? var_gather(source, index, 0, ReduceModeAuto) : 0);
}

VarIndex var_scatter_whole(VarIndex target, VarIndex value, VarIndex index,
                           ReduceOp op, ReduceMode mode)
{
    const Whole whole = var_whole_begin(target);
    return end_with(whole,
                    whole.ok ? var_scatter(target, value, index, 0, op, mode) : 0);
}

VarIndex var_gather(VarIndex source, VarIndex index, VarIndex mask, ReduceMode mode)
{
    return ad_var_gather(source, var_jit(index), var_jit(mask), mode);
}

bool var_gather_packet(size_t n, VarIndex source, VarIndex index, VarIndex mask,
                       ReduceMode mode, VarIndex *out)
{
    return ad_var_gather_packet(n, source, var_jit(index), var_jit(mask), out,
                                mode);
}

bool var_matvec(VarIndex array, const JitMatrix *matrix, const VarIndex *x,
                VarIndex bias, size_t first, VarIndex gradient, VarIndex *out)
{
    return ad_var_matvec(array, matrix, x, bias, first, gradient, out);
}

VarIndex var_scatter(VarIndex target, VarIndex value, VarIndex index, VarIndex mask,
                     ReduceOp op, ReduceMode mode)
{
    return ad_var_scatter(target, value, var_jit(index), var_jit(mask), op,
                          mode);
}

VarIndex var_scatter_packet(size_t n, VarIndex target, const VarIndex *values,
                            VarIndex index, VarIndex mask, ReduceOp op,
                            ReduceMode mode)
{
    return ad_var_scatter_packet(n, target, values, var_jit(index),
                                 var_jit(mask), op, mode);
}

/* What follows has no derivative. */
static uint32_t without_node(VarIndex var)
{
    return var_jit(var_plain(var));
}

VarIndex var_scatter_inc(VarIndex *target, VarIndex index, VarIndex mask)
{
    uint32_t variable = without_node(*target);
    uint32_t before =
        jit_var_scatter_inc(&variable, var_jit(index), var_jit(mask));
    *target = var_of(variable);
    return var_of(before);
}

VarIndex var_scatter_exchange(VarIndex *target, VarIndex value, VarIndex index,
                              VarIndex mask)
{
    uint32_t variable = without_node(*target);
    uint32_t before = jit_var_scatter_exch(&variable, var_jit(value),
                                           var_jit(index), var_jit(mask));
    *target = var_of(variable);
    return var_of(before);
}

bool var_scatter_cas(VarIndex *target, VarIndex compare, VarIndex value,
                     VarIndex index, VarIndex mask, VarIndex out[2])
{
    uint32_t variable = without_node(*target), found[2] = { 0, 0 };
    bool ok = jit_var_scatter_cas(&variable, var_jit(compare), var_jit(value),
                                  var_jit(index), var_jit(mask), found);
    *target = var_of(variable);
    out[0] = var_of(found[0]);
    out[1] = var_of(found[1]);
    return ok;
}

bool var_scatter_add_kahan(VarIndex *target_1, VarIndex *target_2, VarIndex value,
                           VarIndex index, VarIndex mask)
{
    return ad_var_scatter_add_kahan(target_1, target_2, value, var_jit(index),
                                    var_jit(mask));
}

VarIndex var_write(VarIndex target, size_t offset, const void *entry)
{
    return ad_var_write(target, offset, entry);
}

/* ---------------------------------------------------------------- reductions */

VarIndex var_reduce(VarIndex a, ReduceOp op)
{
    return ad_var_reduce(a, op);
}

VarIndex var_reduce_dot(VarIndex a, VarIndex b)
{
    return ad_var_reduce_dot(a, b);
}

VarIndex var_block_reduce(ReduceOp op, VarIndex a, size_t block)
{
    return ad_var_block_reduce(op, a, block);
}

VarIndex var_axis_reduce(ReduceOp op, VarIndex a, const JitAxis *axis,
                         VarIndex index)
{
    return ad_var_axis_reduce(op, a, axis, var_jit(index));
}

VarIndex var_block_prefix_reduce(ReduceOp op, VarIndex a, size_t block, bool exclusive,
                                 bool reverse)
{
    return ad_var_block_prefix_reduce(op, a, block, exclusive, reverse);
}

VarIndex var_axis_prefix_reduce(ReduceOp op, VarIndex a, const JitAxis *axis,
                                bool exclusive, bool reverse)
{
    return ad_var_axis_prefix_reduce(op, a, axis, exclusive, reverse);
}

VarIndex var_transpose(VarIndex a, const JitTranspose *axes)
{
    return ad_var_transpose(a, axes);
}

VarIndex var_any(VarIndex mask)
{
    return var_of(jit_var_any(var_jit(mask)));
}

VarIndex var_compress(VarIndex mask, uint32_t spare)
{
    return var_of(jit_var_compress_temporary(var_jit(mask), spare));
}

VarIndex var_sort(VarIndex a, size_t block, bool descending)
{
    return ad_var_sort(a, block, descending);
}

VarIndex var_argsort(VarIndex a, size_t block, bool descending)
{
    return var_of(jit_var_argsort(var_jit(a), block, descending));
}

VarIndex var_gemm(VarIndex a, VarIndex b, const JitGemm *shape)
{
    return ad_var_batched_gemm(a, b, shape);
}

/* ---------------------------------------------------------------- evaluation */

bool var_schedule(VarIndex var)
{
    return jit_var_schedule(var_jit(var));
}

VarIndex var_schedule_force(VarIndex var, int *scheduled)
{
    return var_with_node(jit_var_schedule_force(var_jit(var), scheduled), var);
}

bool var_eval(VarIndex var)
{
    return jit_var_eval(var_jit(var));
}

bool var_eval_writes(VarIndex var)
{
    return jit_var_eval_writes(var_jit(var));
}

bool var_read(VarIndex var, size_t offset, void *entry)
{
    return jit_var_read(var_jit(var), offset, entry);
}

VarIndex var_data(VarIndex var, void **data)
{
    return var_with_node(jit_var_data(var_jit(var), data), var);
}

VarIndex var_migrate(VarIndex var, JitBackend backend)
{
    /* The backend that entries go to may be one that nothing has used so far. */
    return var_of(jit_init(backend) ? jit_var_migrate(var_jit(var), backend) : 0);
}

VarIndex var_lend(VarIndex var, uint32_t own, void **data)
{
    return var_with_node(jit_var_lend(var_jit(var), own, data), var);
}

void var_gather_whole_back(VarIndex var)
{
    (void) jit_var_inc_ref(var_jit(var)); /* which is given back with the node */
    jit_var_take_back(var_jit(var));
    var_unref(var);
}

VarIndex var_labelled(VarIndex var, const char *label)
{
    if (!ad_var_set_label(var, label))
        return 0;
    return var_with_node(jit_var_set_label(var_jit(var), label), var);
}
