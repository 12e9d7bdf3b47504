/* expr.c -- see expr.h */
#include "expr.h"

#include <stdio.h>
#include <stdlib.h>

static uint32_t *owned;
static size_t owned_size, owned_capacity;
static bool failed;

void expr_end(void) {
    for (size_t i = owned_size; i-- > 0;)
        jit_var_dec_ref(owned[i]);
    free(owned);
    owned = NULL;
    owned_size = owned_capacity = 0;
    failed = false;
}

static Value fail(const char *message) {
    if (!failed)
        fprintf(stderr, "%s\n", message);
    failed = true;
    return 0;
}

Value expr_own(uint32_t index) {
    if (!index)
        return fail(jit_error_message());

    if (owned_size == owned_capacity) {
        const size_t capacity = owned_capacity ? 2 * owned_capacity : 1024;
        uint32_t *grown = realloc(owned, capacity * sizeof(*grown));
        if (!grown) {
            jit_var_dec_ref(index);
            return fail("out of memory");
        }
        owned = grown;
        owned_capacity = capacity;
    }
    owned[owned_size++] = index;
    return index;
}

uint32_t v_keep(Value a) {
    return a ? jit_var_inc_ref(a) : 0;
}

Value v_f(double value) {
    return expr_own(jit_var_f32(JitBackendLLVM, (float) value));
}

Value v_u(uint32_t value) {
    return expr_own(jit_var_u32(JitBackendLLVM, value));
}

Value v_op1(JitOp op, Value a) {
    return a ? expr_own(jit_var_new_op_1(op, a)) : 0;
}

Value v_op2(JitOp op, Value a, Value b) {
    return a && b ? expr_own(jit_var_new_op_2(op, a, b)) : 0;
}

Value v_op3(JitOp op, Value a, Value b, Value c) {
    return a && b && c ? expr_own(jit_var_new_op_3(op, a, b, c)) : 0;
}

Value v_cast(Value a, VarType type) {
    return a ? expr_own(jit_var_cast(a, type, 0)) : 0;
}

Value v_gather(Value source, Value index) {
    return source && index ? expr_own(jit_var_gather(source, index, 0)) : 0;
}

Value v_clamp(Value a, double low, double high) {
    return v_min(v_max(a, v_f(low)), v_f(high));
}

Value v_mix(Value a, Value b, Value t) {
    return v_fma(v_sub(b, a), t, a);
}

Value v_smoothstep(Value a) {
    const Value t = v_clamp(a, 0, 1);
    return v_mul(v_mul(t, t), v_fma(t, v_f(-2), v_f(3)));
}

Value v_square(Value a, int n) {
    for (int i = 0; i < n; ++i)
        a = v_mul(a, a);
    return a;
}

Value3 v3_f(double x, double y, double z) {
    return (Value3) { v_f(x), v_f(y), v_f(z) };
}

Value3 v3_add(Value3 a, Value3 b) {
    return (Value3) { v_add(a.x, b.x), v_add(a.y, b.y), v_add(a.z, b.z) };
}

Value3 v3_sub(Value3 a, Value3 b) {
    return (Value3) { v_sub(a.x, b.x), v_sub(a.y, b.y), v_sub(a.z, b.z) };
}

Value3 v3_mul(Value3 a, Value3 b) {
    return (Value3) { v_mul(a.x, b.x), v_mul(a.y, b.y), v_mul(a.z, b.z) };
}

Value3 v3_scale(Value3 a, Value b) {
    return (Value3) { v_mul(a.x, b), v_mul(a.y, b), v_mul(a.z, b) };
}

Value3 v3_fma(Value3 a, Value b, Value3 c) {
    return (Value3) { v_fma(a.x, b, c.x), v_fma(a.y, b, c.y), v_fma(a.z, b, c.z) };
}

Value3 v3_select(Value m, Value3 a, Value3 b) {
    return (Value3) { v_select(m, a.x, b.x), v_select(m, a.y, b.y),
                      v_select(m, a.z, b.z) };
}

Value3 v3_mix(Value3 a, Value3 b, Value t) {
    return (Value3) { v_mix(a.x, b.x, t), v_mix(a.y, b.y, t), v_mix(a.z, b.z, t) };
}

Value v3_dot(Value3 a, Value3 b) {
    return v_fma(a.x, b.x, v_fma(a.y, b.y, v_mul(a.z, b.z)));
}

Value3 v3_unit(Value3 a) {
    return v3_scale(a, v_op1(JitOpRsqrt, v3_dot(a, a)));
}

Value v3_pixels(Value3 color) {
    const Value channel[3] = { color.x, color.y, color.z };
    Value packed = v_u(255u << 24);
    for (uint32_t k = 0; k < 3; ++k) {
        const Value stored = v_sqrt(v_clamp(channel[k], 0, 1));
        const Value byte = v_cast(v_fma(stored, v_f(255), v_f(0.5)), VarTypeUInt32);
        packed = v_or(packed, v_shl(byte, v_u(8 * k)));
    }
    return packed;
}
