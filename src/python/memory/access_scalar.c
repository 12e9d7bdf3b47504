/*
 * access_scalar.c -- gathers and scatters of drjit.scalar: loops over entries in memory
 *
 * Indices are always checked: a loop over Python-sized arrays can afford it, and a
 * wrong index must not touch other memory.
 */
#include "python/base/error.h"
#include "python/memory/access.h"

static bool lane_active(const Array *mask, size_t lane)
{
    if (!mask)
        return true;
    const uint8_t *bits = array_data(mask);
    return bits[array_count(mask) == 1 ? 0 : lane];
}

/* First entry of the n that lane accesses; false with an IndexError. */
static bool lane_position(const char *operation, const Array *array, const Array *index,
                          size_t lane, size_t n, size_t *position)
{
    const uint32_t *indices = array_data(index);
    uint32_t i = indices[array_count(index) == 1 ? 0 : lane];
    size_t count = array_count(array);
    if (i >= count / n) {
        error_raise(
            PyExc_IndexError, operation, NULL, 0,
            "position %u is out of bounds for %zu entries of which %zu are accessed at "
            "once",
            i, count, n);
        return false;
    }
    *position = i * n;
    return true;
}

bool access_load(const char *operation, const Array *source, const Array *index,
                 const Array *mask, size_t lanes, size_t n, void *result)
{
    size_t size = source->info->entry_size;
    const char *from = array_data(source);
    char *to = result;
    for (size_t lane = 0; lane < lanes; lane++, to += n * size) {
        size_t position;
        if (!lane_active(mask, lane)) {
            memset(to, 0, n * size);
            continue;
        }
        if (!lane_position(operation, source, index, lane, n, &position))
            return false;
        memcpy(to, from + position * size, n * size);
    }
    return true;
}

JitOp access_step(ReduceOp op)
{
    static const JitOp table[ReduceOpCount] = {
        [ReduceOpAdd] = JitOpAdd, [ReduceOpMul] = JitOpMul, [ReduceOpMin] = JitOpMin,
        [ReduceOpMax] = JitOpMax, [ReduceOpAnd] = JitOpAnd, [ReduceOpOr] = JitOpOr,
    };
    return table[op];
}

static bool store_one(ReduceOp op, VarType type, size_t size, char *target,
                      const char *value)
{
    if (op == ReduceOpIdentity) {
        memcpy(target, value, size);
        return true;
    }
    const JitHostOperand operands[] = { { target, 1 }, { value, 1 } };
    return jit_host_op(access_step(op), type, 1, operands, target);
}

bool access_check(const char *operation, const Array *target, const Array *index,
                  const Array *mask, size_t lanes, size_t n)
{
    size_t position;
    for (size_t lane = 0; lane < lanes; lane++)
        if (lane_active(mask, lane) &&
            !lane_position(operation, target, index, lane, n, &position))
            return false;
    return true;
}

bool access_store(const char *operation, Array *target, const Array *index,
                  const Array *mask, size_t lanes, size_t n, const void *value,
                  bool shared, ReduceOp op)
{
    size_t size = target->info->entry_size, position;
    VarType type = (VarType) target->info->entry;
    for (size_t lane = 0; lane < lanes; lane++) {
        if (!lane_active(mask, lane))
            continue;
        if (!lane_position(operation, target, index, lane, n, &position))
            return false;
        for (size_t k = 0; k < n; k++) {
            const char *from = (const char *) value + (shared ? k : lane) * size;
            char *to = (char *) array_data(target) + (position + k) * size;
            if (!store_one(op, type, size, to, from))
                return error_from_core(operation, NULL, 0);
        }
    }
    return true;
}
