/*
 * matrix.c -- see matrix.h
 *
 * A product is one node, of which the entries of the result are items. Addresses are
 * the same in all lanes and known to be within the array, so neither needs a mask.
 */
#include "trace/array/matrix.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "freeze/freezing.h"
#include "trace/array/array.h"
#include "trace/array/memory.h"
#include "trace/eval/evaluate.h"
#include "trace/graph/access.h"
#include "trace/graph/loop_array.h"

/* Is there such a matrix? The recording holds if the array gets longer. */
static bool check_matrix(Access *access, const JitMatrix *a)
{
    TRY(access_check_array(access, a->array, "the matrix"), false);
    const Var *v = var_get(a->array);
    if (!type_info[v->type].is_float)
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: the matrix is %s, expected a floating point type",
                         access->function, type_info[v->type].name);
    if (!a->rows || !a->columns || a->rows > MATRIX_MOST || a->columns > MATRIX_MOST)
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: the matrix has %zu rows and %zu columns, expected 1 to "
                         "%d of each",
                         access->function, a->rows, a->columns, MATRIX_MOST);
    const size_t size = a->rows * a->columns, entries = var_entries(v);
    if (a->offset > entries || size > entries - a->offset)
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: %zu times %zu entries from position %zu on are out of "
                         "bounds for an array with %u entries", access->function,
                         a->rows, a->columns, a->offset,
                         node_number(access->ts, a->array));
    return freezing_exceeds(access->ts, a->array, a->offset + size - 1);
}

static bool check_vector(const Access *access, const VarId *values, size_t count,
                         VarId array, const char *what)
{
    for (size_t k = 0; k < count; ++k)
        TRY(access_check_value(access, values[k], array, what), false);
    return true;
}

/* The array in memory, also if it has one value; a new reference. */
static VarId array_in_memory(ThreadState *ts, VarId array)
{
    array = loop_array(ts, array);
    const Var *v = var_get(array);
    if (v->op == OP_LITERAL || v->op == OP_UNDEFINED)
        return memory_duplicate(ts, array);
    TRY(evaluate_var(ts, array), 0);
    var_inc(array);
    return array;
}

/* Operands: address, index, vector, what is added. They are borrowed. */
static VarId make_product(const Access *access, VarId array, const JitMatrix *a,
                          const VarId *values, uint32_t count, bool adds)
{
    ThreadState *ts = access->ts;
    const uint32_t results = (uint32_t) (a->transpose ? a->columns : a->rows);
    VarId *ids = alloc_get((count + 2) * sizeof(VarId)), product = 0;
    VarId pointer = memory_pointer(ts, array, false);
    VarId index = node_literal(ts, access->device, VarTypeUInt32, a->offset, 1);
    if (ids && pointer && index) {
        ids[0] = pointer;
        ids[1] = index;
        memcpy(ids + 2, values, count * sizeof(VarId));
        product = node_wide(ts, OP_MATVEC, access->device,
                            (VarType) var_get(array)->type, access->size,
                            results | (a->transpose ? MATVEC_TRANSPOSED : 0) |
                                (adds ? MATVEC_ADDS : 0),
                            count + 2, ids);
    }
    var_drop(pointer);
    var_drop(index);
    alloc_free(ids);
    return product;
}

static bool make_items(const Access *access, VarId product, uint32_t count, VarId *out)
{
    for (uint32_t k = 0; k < count; ++k) {
        Var item = { .op = OP_PACKET_ITEM,
                     .type = var_get(product)->type,
                     .aux = k,
                     .device = access->device,
                     .own_lanes = access->size,
                     .dep = { product } };
        out[k] = node_new(access->ts, &item);
        if (out[k])
            continue;
        while (k-- > 0)
            var_dec(out[k]);
        return false;
    }
    return true;
}

/* 'values': the vector, and after it what is added. */
static bool multiply(Access *access, const JitMatrix *a, const VarId *values,
                     uint32_t count, bool adds, VarId *out)
{
    VarId index = node_literal(access->ts, access->device, VarTypeUInt32, a->offset, 1);
    TRY(index, false);
    bool ok = access_check_sizes(access, index, 0, values, count);
    var_dec(index);
    TRY(ok, false);
    VarId array = array_in_memory(access->ts, a->array);
    VarId product = array ? make_product(access, array, a, values, count, adds) : 0;
    var_drop(array);
    ok = product && make_items(access, product,
                               var_get(product)->aux & MATVEC_RESULTS, out);
    var_drop(product);
    return ok;
}

bool matrix_multiply(ThreadState *ts, const JitMatrix *a, const VarId *x,
                     const VarId *add, VarId *out)
{
    Access access = { .ts = ts, .function = "jit_var_matvec()", .kind = CHECK_GATHER };
    TRY(check_matrix(&access, a), false);
    const size_t n = a->transpose ? a->rows : a->columns;
    const size_t added = !add ? 0 : a->transpose ? a->columns : a->rows;
    TRY(check_vector(&access, x, n, a->array, "the vector"), false);
    TRY(check_vector(&access, add, added, a->array, "what is added"), false);
    VarId *values = alloc_get((n + added) * sizeof(VarId));
    TRY(values, false);
    memcpy(values, x, n * sizeof(VarId));
    if (added)
        memcpy(values + n, add, added * sizeof(VarId));
    bool ok = multiply(&access, a, values, (uint32_t) (n + added), added != 0, out);
    alloc_free(values);
    return ok;
}

VarId matrix_add_outer(ThreadState *ts, const JitMatrix *a, const VarId *left,
                       const VarId *right, VarId mask)
{
    Access access = { .ts = ts, .function = "jit_var_outer()", .kind = CHECK_SCATTER };
    const size_t m = a->transpose ? a->columns : a->rows;
    const size_t n = a->transpose ? a->rows : a->columns;
    TRY(check_matrix(&access, a), 0);
    TRY(check_vector(&access, left, m, a->array, "the left vector"), 0);
    TRY(check_vector(&access, right, n, a->array, "the right vector"), 0);
    TRY(access_check_mask(&access, mask), 0);
    const VarId *first = a->transpose ? right : left; /* as the matrix stands */
    const VarId *second = a->transpose ? left : right;
    const uint32_t count = (uint32_t) (a->rows + a->columns);
    VarId *values = alloc_get(count * sizeof(VarId));
    VarId index = node_literal(ts, access.device, VarTypeUInt32, a->offset, 1);
    VarId result = 0;
    if (values && index) {
        memcpy(values, first, a->rows * sizeof(VarId));
        memcpy(values + a->rows, second, a->columns * sizeof(VarId));
        result = memory_add_outer(&access, a->array, values, (uint32_t) a->rows, count,
                                  index, mask);
    }
    var_drop(index);
    alloc_free(values);
    return result;
}
