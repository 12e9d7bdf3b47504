/*
 * access.c -- see access.h
 */
#include "trace/graph/access.h"

#include "base/alloc.h"
#include "base/error.h"
#include "trace/graph/mask.h"

const char *const access_functions[CHECK_COUNT] = {
    [CHECK_GATHER] = "jit_var_gather()",
    [CHECK_SCATTER] = "jit_var_scatter()",
    [CHECK_INC] = "jit_var_scatter_inc()",
    [CHECK_EXCH] = "jit_var_scatter_exch()",
    [CHECK_CAS] = "jit_var_scatter_cas()",
    [CHECK_KAHAN] = "jit_var_scatter_add_kahan()",
    [CHECK_LOCAL_READ] = "jit_array_read()",
    [CHECK_LOCAL_WRITE] = "jit_array_write()",
    [CHECK_CALL] = "jit_var_call()",
    [CHECK_LOOP] = "jit_eval()"
};

bool access_check_index(const Access *a, VarId index)
{
    TRY(node_usable(a->ts, index, a->function, "the index"), false);
    const Var *v = var_get(index);
    if (v->type != VarTypeInt32 && v->type != VarTypeUInt32)
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: the index is %s, expected int32 or uint32", a->function,
                         type_info[v->type].name);
    return true;
}

bool access_check_mask(const Access *a, VarId mask)
{
    if (!mask)
        return true;
    TRY(node_usable(a->ts, mask, a->function, "the mask"), false);
    if (var_get(mask)->type != VarTypeBool)
        return error_set(JIT_ERROR_ARGUMENT, "%s: the mask is %s, expected bool",
                         a->function, type_info[var_get(mask)->type].name);
    return true;
}

bool access_check_value(const Access *a, VarId value, VarId target, const char *what)
{
    TRY(node_usable(a->ts, value, a->function, what), false);
    const Var *v = var_get(value), *t = var_get(target);
    if (v->type != t->type)
        return error_set(JIT_ERROR_ARGUMENT, "%s: %s is %s, expected %s as the target",
                         a->function, what, type_info[v->type].name,
                         type_info[t->type].name);
    return true;
}

bool access_check_array(Access *a, VarId array, const char *what)
{
    a->array = array;
    if (!var_exists(array))
        return error_set(JIT_ERROR_ARGUMENT, "%s: %s is r%u, which is not a variable",
                         a->function, what, array);
    node_read(a->ts, array);
    const Var *v = var_get(array);
    if (v->flags & VAR_UNUSABLE)
        return node_usable(a->ts, array, a->function, what);
    if (var_lanes(v) == 0 || v->type == VarTypePointer)
        return error_set(JIT_ERROR_ARGUMENT, "%s: %s is %s", a->function, what,
                         var_lanes(v) == 0 ? "an empty array"
                                      : "a pointer, expected an array");
    a->device = v->device;
    return true;
}

static bool set_label(VarId check, const char *text)
{
    char *label = alloc_string(text);
    Extra *extra = label ? extra_make(var_get(check)) : NULL;
    if (extra)
        extra->label = label;
    else
        alloc_free(label);
    return extra != NULL;
}

/* A bounds check is reported under the label of the array it protects. */
static bool name_check(VarId check, VarId array)
{
    const Extra *named = extra_find(var_get(array));
    return !named || !named->label || set_label(check, named->label);
}

static bool same_device(const Access *a, VarId id)
{
    return node_same_device(a->device, var_get(id)->device, "%s: operands",
                            a->function);
}

/* 'lead' has the size of the access. */
static bool refuse_value(const Access *a, VarId value, VarId lead)
{
    char places[NODE_PLACES];
    node_places(places, value, lead);
    return error_set(JIT_ERROR_ARGUMENT,
                     "%s: the value has %u entries and index and "
                     "mask have %u, expected equal sizes or 1%s",
                     a->function, node_number(a->ts, value), a->size, places);
}

bool access_check_sizes(Access *a, VarId index, VarId mask, const VarId *values,
                        uint32_t value_count)
{
    a->wide = mask_wide(values, value_count, mask_wide(&mask, 1, index));
    VarId ids[] = { index, mask, mask_for(a->ts, a->wide) };
    TRY(node_common_size(ids, 3, a->function, &a->size), false);
    TRY(same_device(a, index), false);
    VarId lead = mask && var_lanes_of(mask) == a->size ? mask : 0;
    if (var_lanes_of(index) == a->size)
        lead = index;
    for (uint32_t i = 0; i < value_count; ++i) {
        TRY(same_device(a, values[i]), false);
        uint32_t n = var_lanes_of(values[i]);
        if (n != 1 && a->size != 1 && n != a->size)
            return refuse_value(a, values[i], lead);
        if (n != 1) {
            lead = a->size == 1 ? values[i] : lead;
            a->size = n;
        }
    }
    return true;
}

static VarId make_check(ThreadState *ts, uint32_t kind, VarId mask, VarId index,
                        uint64_t bound)
{
    uint32_t size = 1;
    node_common_size((VarId[]){ mask, index }, 2, access_functions[kind], &size);
    Var check = { .op = OP_CHECK, .type = VarTypeBool,
                  .device = var_get(index)->device, .own_lanes = size, .aux = kind,
                  .dep = { mask, index }, .value.literal = bound };
    return node_new(ts, &check);
}

bool access_prepare(Access *a, VarId index, VarId mask, const VarId *values,
                    uint32_t value_count, uint64_t bound)
{
    TRY(access_check_sizes(a, index, mask, values, value_count), false);
    mask = mask_apply(a->ts, a->device, mask, a->wide, a->function);
    TRY(mask, false);
    a->mask = mask;
    a->index = index;
    var_inc(index);
    if (bound == ACCESS_UNBOUNDED || !state_flag(a->ts, JitFlagDebug))
        return true;
    a->mask = make_check(a->ts, a->kind, mask, index, bound);
    var_dec(mask);
    return a->mask && name_check(a->mask, a->array);
}

VarId access_check_loop(ThreadState *ts, VarId number, uint32_t most, const char *name)
{
    VarId mask = mask_apply(ts, var_get(number)->device, 0, number,
                            access_functions[CHECK_LOOP]);
    TRY(mask, 0);
    VarId check = make_check(ts, CHECK_LOOP, mask, number, (uint64_t) most + 1);
    var_dec(mask);
    if (!check || set_label(check, name))
        return check;
    var_dec(check);
    return 0;
}

void access_finish(const Access *a)
{
    if (a->index)
        var_dec(a->index);
    if (a->mask)
        var_dec(a->mask);
}
