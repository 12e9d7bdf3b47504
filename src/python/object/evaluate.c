/*
 * evaluate.c -- waiting without the GIL
 */
#include "python/object/evaluate.h"

#include "python/object/error.h"
#include "python/object/wait.h"

bool evaluate_read(Leaf index, size_t offset, void *entry)
{
    bool ok;
    leaf_ref(index);
    WAIT_BEGIN_IF(!leaf_at_hand(index))
    ok = leaf_read(index, offset, entry);
    leaf_unref(index);
    WAIT_END
    return ok;
}

/* Beside the caller's reference there is one while waiting. 'moves': what is wanted is
 * a copy that the host can read. */
static bool evaluate_memory(Leaf index, bool moves, bool lend, Leaf *evaluated,
                            void **data)
{
    *evaluated = 0;
    *data = NULL;
    if (leaf_is_empty(index))
        return true;
    leaf_ref(index);
    WAIT_BEGIN_IF(!leaf_at_hand(index))
    const Leaf there =
        moves ? leaf_migrate(index, type_backend_at(PLACE_HOST)) : index;
    if (there)
        *evaluated = lend ? leaf_lend(there, moves ? 1 : 2, data)
                          : leaf_data(there, data);
    if (moves)
        leaf_unref(there);
    if (*evaluated && !jit_sync_thread()) {
        if (lend)
            leaf_gather_whole_back(*evaluated);
        else
            leaf_unref(*evaluated);
        *evaluated = 0;
    }
    leaf_unref(index);
    WAIT_END
    return *evaluated;
}

bool evaluate_data(const TypeInfo *info, Leaf index, Leaf *evaluated, void **data)
{
    return evaluate_memory(index, info->place != PLACE_HOST, false, evaluated, data);
}

bool evaluate_lend(const TypeInfo *info, Leaf index, bool host, Leaf *evaluated,
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
    WAIT_BEGIN
    ok = jit_eval();
    WAIT_END
    return ok;
}

static bool evaluate_writes_into_leaf(Leaf leaf)
{
    bool ok;
    if (!leaf || leaf_peek_state(leaf) != VarStateDirty)
        return true;
    leaf_ref(leaf);
    WAIT_BEGIN
    ok = leaf_eval_writes(leaf);
    leaf_unref(leaf);
    WAIT_END
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

Leaf evaluate_call(Leaf (*function)(Leaf index, void *argument), Leaf index,
                   void *argument)
{
    Leaf result;
    leaf_ref(index);
    WAIT_BEGIN
    result = function(index, argument);
    leaf_unref(index);
    WAIT_END
    return result;
}

Leaf evaluate_command(Leaf (*function)(Leaf index, void *argument), Leaf index,
                      Leaf second, void *argument)
{
    Leaf result;
    leaf_ref(index);
    leaf_ref(second);
    WAIT_BEGIN_IF(!leaf_at_hand(index) || (second && !leaf_at_hand(second)))
    result = function(index, argument);
    leaf_unref(index);
    leaf_unref(second);
    WAIT_END
    return result;
}
