/*
 * axes.c -- see axes.h
 */
#include "trace/array/axes.h"

#include "base/error.h"
#include "freeze/freezing.h"
#include "trace/eval/work.h"

static const char function[] = "jit_var_transpose()";

/* Does the array consist of whole matrices? */
static bool check_matrices(ThreadState *ts, VarId id, const JitTranspose *axes)
{
    size_t matrix;
    if (!__builtin_mul_overflow(axes->rows, axes->columns, &matrix) &&
        !__builtin_mul_overflow(matrix, axes->items, &matrix) && matrix &&
        var_entries(var_get(id)) % matrix == 0)
        return true;
    return error_set(JIT_ERROR_ARGUMENT,
                     "%s: there are %zu rows, %zu columns and %zu items; expected that "
                     "the product divides the size %u",
                     function, axes->rows, axes->columns, axes->items,
                     node_number(ts, id));
}

/* The recording depends on that. False: out of memory. */
static bool assume_matrices(ThreadState *ts, VarId id, const SymSize symsizes[3])
{
    SymSize all = symsizes[0];
    return freezing_times(ts, symsizes[1], &all) &&
           freezing_times(ts, symsizes[2], &all) && freezing_divides(ts, id, all);
}

VarId axes_transpose(ThreadState *ts, VarId id, const JitTranspose *axes,
                      const SymSize symsizes[3])
{
    TRY(node_usable(ts, id, function, "the variable"), 0);
    VarType type = (VarType) var_get(id)->type;
    if (type == VarTypePointer || !type_valid(type))
        return (VarId) error_set(JIT_ERROR_ARGUMENT, "%s: not defined for type %s",
                                 function, type_info[type].name);
    TRY(check_matrices(ts, id, axes) && assume_matrices(ts, id, symsizes), 0);
    if (axes->rows == 1 || axes->columns == 1 || var_get(id)->op == OP_LITERAL) {
        var_inc(id);
        return id;
    }
    uint32_t size = var_lanes_of(id);
    size_t bytes = (size_t) size * type_info[type].size;
    Command *c = work_command(ts, COMMAND_TRANSPOSE, size, &id, 1, &bytes, 1, 0);
    TRY(c, 0);
    c->transpose.type = type;
    c->transpose.rows = axes->rows;
    c->transpose.columns = axes->columns;
    c->transpose.items = axes->items;
    for (uint32_t i = 0; i < 3; ++i)
        freezing_extent(ts, i, symsizes[i]);
    return work_result(ts, c, type, size);
}
