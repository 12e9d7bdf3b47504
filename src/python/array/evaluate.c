/*
 * evaluate.c -- waiting without the GIL
 */
#include "python/array/evaluate.h"

#include "python/base/error.h"
#include "python/base/gil.h"

bool evaluate_read(VarIndex index, size_t offset, void *entry)
{
    bool ok;
    var_ref(index);
    GIL_RELEASE_BEGIN_IF(!var_at_hand(index))
    ok = var_read(index, offset, entry);
    var_unref(index);
    GIL_RELEASE_END
    return ok;
}

/* Beside the caller's reference there is one while waiting. 'moves': what is wanted is
 * a copy that the host can read. */
static bool evaluate_memory(VarIndex index, bool moves, bool lend, VarIndex *evaluated,
                            void **data)
{
    *evaluated = 0;
    *data = NULL;
    if (var_is_empty(index))
        return true;
    var_ref(index);
    GIL_RELEASE_BEGIN_IF(!var_at_hand(index))
    const VarIndex there =
        moves ? var_migrate(index, type_backend_at(PLACE_HOST)) : index;
    if (there)
        *evaluated = lend ? var_lend(there, moves ? 1 : 2, data)
                          : var_data(there, data);
    if (moves)
        var_unref(there);
    if (*evaluated && !jit_sync_thread()) {
        if (lend)
            var_gather_whole_back(*evaluated);
        else
            var_unref(*evaluated);
        *evaluated = 0;
    }
    var_unref(index);
    GIL_RELEASE_END
    return *evaluated;
}

bool evaluate_data(const TypeInfo *info, VarIndex index, VarIndex *evaluated,
                   void **data)
{
    return evaluate_memory(index, info->place != PLACE_HOST, false, evaluated, data);
}

bool evaluate_lend(const TypeInfo *info, VarIndex index, bool host, VarIndex *evaluated,
                   void **data)
{
    const bool moves = host && info->place != PLACE_HOST;
    return evaluate_memory(index, moves, true, evaluated, data);
}

bool evaluate_scheduled(void)
{
    if (!jit_eval_pending())
        return true;
    bool ok;
    GIL_RELEASE_BEGIN
    ok = jit_eval();
    GIL_RELEASE_END
    return ok;
}

static bool evaluate_writes_into_leaf(VarIndex var)
{
    bool ok;
    if (!var || var_peek_state(var) != VarStateDirty)
        return true;
    var_ref(var);
    GIL_RELEASE_BEGIN
    ok = var_eval_writes(var);
    var_unref(var);
    GIL_RELEASE_END
    return ok;
}

bool evaluate_writes_into(const char *operation, PyObject *const *args, Py_ssize_t n)
{
    for (Py_ssize_t k = 0; k < n; k++) {
        const Array *a = args[k] ? array_of(args[k]) : NULL;
        for (size_t i = 0; a && a->info->jit && i < array_count(a); i++)
            if (!evaluate_writes_into_leaf(array_leaves(a)[i]))
                return error_from_core(operation, args, n);
    }
    return true;
}

VarIndex evaluate_call(VarIndex (*function)(VarIndex index, void *argument),
                       VarIndex index, void *argument)
{
    VarIndex result;
    var_ref(index);
    GIL_RELEASE_BEGIN
    result = function(index, argument);
    var_unref(index);
    GIL_RELEASE_END
    return result;
}

VarIndex evaluate_command(VarIndex (*function)(VarIndex index, void *argument),
                          VarIndex index, VarIndex second, void *argument)
{
    VarIndex result;
    var_ref(index);
    var_ref(second);
    GIL_RELEASE_BEGIN_IF(!var_at_hand(index) || (second && !var_at_hand(second)))
    result = function(index, argument);
    var_unref(index);
    var_unref(second);
    GIL_RELEASE_END
    return result;
}
