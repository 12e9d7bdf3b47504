/*
 * api_create.c -- creation and statements
 */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/alloc.h"
#include "base/error.h"
#include "engine/interp/interp.h"
#include "trace/array/array.h"
#include "trace/array/memory.h"
#include "trace/eval/evaluate.h"
#include "freeze/freezing.h"
#include "trace/graph/current.h"

uint32_t jit_var_literal(JitBackend backend, VarType type, const void *value,
                         size_t size, int eval)
{
    if (!value)
        return (uint32_t) api_null("jit_var_literal()", "value");
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    const Device *device = current_device(ts, backend, "jit_var_literal()");
    uint32_t result =
        device ? array_literal(ts, device->index, type, value, size, eval != 0) : 0;
    if (!eval)
        result = freezing_sized(ts, result);
    api_leave();
    return result;
}

#define LITERAL(name, ctype, vartype) \
    uint32_t jit_var_##name(JitBackend backend, ctype value) { \
        return jit_var_literal(backend, vartype, &value, 1, 0); \
    }

LITERAL(i8, int8_t, VarTypeInt8)
LITERAL(u8, uint8_t, VarTypeUInt8)
LITERAL(i16, int16_t, VarTypeInt16)
LITERAL(u16, uint16_t, VarTypeUInt16)
LITERAL(i32, int32_t, VarTypeInt32)
LITERAL(u32, uint32_t, VarTypeUInt32)
LITERAL(i64, int64_t, VarTypeInt64)
LITERAL(u64, uint64_t, VarTypeUInt64)
LITERAL(f32, float, VarTypeFloat32)
LITERAL(f64, double, VarTypeFloat64)

uint32_t jit_var_bool(JitBackend backend, bool value)
{
    uint8_t byte = value;
    return jit_var_literal(backend, VarTypeBool, &byte, 1, 0);
}

uint32_t jit_var_f16(JitBackend backend, float value)
{
    uint64_t bits[3] = { 0 }, half = 0;
    memcpy(bits, &value, sizeof(value));
    interp_fold(OP_CAST, VarTypeFloat16, VarTypeFloat32, bits, &half);
    return jit_var_literal(backend, VarTypeFloat16, &half, 1, 0);
}

uint32_t jit_var_undefined(JitBackend backend, VarType type, size_t size)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    const Device *device = current_device(ts, backend, "jit_var_undefined()");
    uint32_t result = device ? array_undefined(ts, device->index, type, size) : 0;
    result = freezing_sized(ts, result);
    api_leave();
    return result;
}

uint32_t jit_var_counter(JitBackend backend, size_t size)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    const Device *device = current_device(ts, backend, "jit_var_counter()");
    uint32_t result = device ? array_counter(ts, device->index, size) : 0;
    result = freezing_sized(ts, result);
    api_leave();
    return result;
}

uint32_t jit_var_new_counter(JitBackend backend, size_t size)
{
    return jit_var_counter(backend, size);
}

uint32_t jit_var_mem_map_release(JitBackend backend, VarType type, void *ptr,
                                 size_t size, void (*release)(void *ptr, void *payload),
                                 void *payload)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    const Device *device = current_device(ts, backend, "jit_var_mem_map()");
    uint32_t result =
        device ? array_map(ts, device->index, type, ptr, size, release, payload) : 0;
    api_leave();
    return result;
}

uint32_t jit_var_mem_share(JitBackend backend, VarType type, void *ptr, size_t size,
                           void (*release)(void *ptr, void *payload), void *payload)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    const Device *device = current_device(ts, backend, "jit_var_mem_share()");
    uint32_t result =
        device ? array_share(ts, device->index, type, ptr, size, release, payload) : 0;
    api_leave();
    return result;
}

static void release_malloc(void *ptr, void *payload)
{
    (void) payload;
    free(ptr);
}

uint32_t jit_var_mem_map(JitBackend backend, VarType type, void *ptr, size_t size,
                         int free)
{
    return jit_var_mem_map_release(backend, type, ptr, size,
                                   free ? release_malloc : NULL, NULL);
}

uint32_t jit_var_mem_copy(JitBackend backend, VarType type, const void *ptr,
                          size_t size)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    const Device *device = current_device(ts, backend, "jit_var_mem_copy()");
    uint32_t result = device ? array_mem_copy(ts, device->index, type, ptr, size) : 0;
    api_leave();
    return result;
}

uint32_t jit_var_copy(uint32_t index)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = array_copy(ts, index);
    api_leave();
    return result;
}

uint32_t jit_var_resize(uint32_t index, size_t size)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = array_resize(ts, index, size);
    api_leave();
    return result;
}

uint32_t jit_var_shrink(uint32_t index, size_t size)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = array_shrink(ts, index, size);
    api_leave();
    return result;
}

uint32_t jit_var_reverse(uint32_t index)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = array_reverse(ts, index);
    api_leave();
    return result;
}

uint32_t jit_var_tile(uint32_t index, size_t count)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = array_tile(ts, index, count);
    api_leave();
    return result;
}

uint32_t jit_var_repeat(uint32_t index, size_t count)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = array_repeat(ts, index, count);
    api_leave();
    return result;
}

uint32_t jit_var_opaque_width(uint32_t index)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = array_opaque_width(ts, index);
    api_leave();
    return result;
}

uint32_t jit_var_migrate(uint32_t index, JitBackend backend)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    const Device *device = current_device(ts, backend, "jit_var_migrate()");
    uint32_t result = device ? array_migrate(ts, index, device->index) : 0;
    api_leave();
    return result;
}

static VarId pointer(ThreadState *ts, JitBackend backend, const void *value, VarId dep,
                     bool write)
{
    static const char function[] = "jit_var_pointer()";
    const Device *device = current_device(ts, backend, function);
    TRY(device, 0);
    if (dep) { /* the address is one of its entries: they have to be there */
        TRY(node_usable(ts, dep, function, "the dependency"), 0);
        TRY(node_same_device(device->index, var_get(dep)->device,
                             "%s: the address and the dependency", function), 0);
        TRY(evaluate_var(ts, dep), 0);
        if (write)
            distance_forget(var_get(dep));
    }
    Var v = { .op = OP_POINTER, .type = VarTypePointer, .device = device->index,
              .own_lanes = 1, .aux = write ? 2 : 0, .dep = { dep },
              .value.literal = (uint64_t) (uintptr_t) value };
    return node_new(ts, &v);
}

uint32_t jit_var_pointer(JitBackend backend, const void *value, uint32_t dep, int write)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = pointer(ts, backend, value, dep, write != 0);
    api_leave();
    return result;
}

/* -------------------------------------------------------------- statements */

static VarId statement(ThreadState *ts, JitBackend backend, VarType type,
                       const char *stmt, bool copy, uint32_t count,
                       const VarId *operands)
{
    static const char function[] = "jit_var_stmt()";
    char what[] = "operand 1";
    const Device *device = current_device(ts, backend, function);
    TRY(device, 0);
    TRY(node_type_valid(type, function), 0);
    for (uint32_t i = 0; i < count; ++i) {
        what[8] = (char) ('1' + i);
        TRY(node_usable(ts, operands[i], function, what), 0);
        TRY(node_same_device(device->index, var_get(operands[i])->device,
                             "%s: the statement and %s", function, what), 0);
    }
    uint32_t size;
    TRY(node_common_size(operands, count, function, &size), 0);
    Var v = { .op = OP_STMT, .type = (uint8_t) type, .device = device->index,
              .own_lanes = size, .aux = count, .value.text = stmt };
    if (copy) {
        v.value.text = alloc_string(stmt);
        v.flags = VAR_OWN_TEXT;
        TRY(v.value.text, 0);
    }
    memcpy(v.dep, operands, count * sizeof(VarId));
    VarId result = node_new(ts, &v);
    if (!result && copy)
        alloc_free((char *) v.value.text);
    return result;
}

uint32_t jit_var_stmt(JitBackend backend, VarType type, const char *stmt, int copy,
                      uint32_t n_operands, const uint32_t *operands)
{
    if (!stmt || (n_operands && !operands))
        return (uint32_t) api_null("jit_var_stmt()", stmt ? "operands" : "stmt");
    if (n_operands > 4)
        return (uint32_t) error_set(JIT_ERROR_ARGUMENT, "jit_var_stmt(): %u operands, "
                                    "expected at most 4", n_operands);
    static const uint32_t none[1];
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = statement(ts, backend, type, stmt, copy != 0, n_operands,
                                n_operands ? operands : none);
    api_leave();
    return result;
}

uint32_t jit_var_new_stmt_0(JitBackend backend, VarType type, const char *stmt)
{
    return jit_var_stmt(backend, type, stmt, 0, 0, NULL);
}

uint32_t jit_var_new_stmt_1(JitBackend backend, VarType type, const char *stmt,
                            uint32_t a)
{
    return jit_var_stmt(backend, type, stmt, 0, 1, &a);
}

uint32_t jit_var_new_stmt_2(JitBackend backend, VarType type, const char *stmt,
                            uint32_t a, uint32_t b)
{
    return jit_var_stmt(backend, type, stmt, 0, 2, (VarId[]) { a, b });
}

uint32_t jit_var_new_stmt_3(JitBackend backend, VarType type, const char *stmt,
                            uint32_t a, uint32_t b, uint32_t c)
{
    return jit_var_stmt(backend, type, stmt, 0, 3, (VarId[]) { a, b, c });
}

uint32_t jit_var_new_stmt_4(JitBackend backend, VarType type, const char *stmt,
                            uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return jit_var_stmt(backend, type, stmt, 0, 4, (VarId[]) { a, b, c, d });
}

uint32_t jit_var_new_0(JitBackend backend, VarType type, const char *stmt)
{
    return jit_var_new_stmt_0(backend, type, stmt);
}

uint32_t jit_var_new_1(JitBackend backend, VarType type, const char *stmt, uint32_t a)
{
    return jit_var_new_stmt_1(backend, type, stmt, a);
}

uint32_t jit_var_new_2(JitBackend backend, VarType type, const char *stmt, uint32_t a,
                       uint32_t b)
{
    return jit_var_new_stmt_2(backend, type, stmt, a, b);
}

uint32_t jit_var_new_3(JitBackend backend, VarType type, const char *stmt, uint32_t a,
                       uint32_t b, uint32_t c)
{
    return jit_var_new_stmt_3(backend, type, stmt, a, b, c);
}

uint32_t jit_var_new_4(JitBackend backend, VarType type, const char *stmt, uint32_t a,
                       uint32_t b, uint32_t c, uint32_t d)
{
    return jit_var_new_stmt_4(backend, type, stmt, a, b, c, d);
}
