/*
 * calc.c -- see calc.h
 */
#include "python/ops/calc.h"

#include "python/base/error.h"

void calc_start(Calc *c, const TypeInfo *info)
{
    c->info = info;
    c->ok = true;
    c->count = 0;
}

void calc_end(Calc *c)
{
    for (int i = 0; i < c->count; i++)
        value_release(c->info, c->all[i]);
}

Value calc_keep(Calc *c, Value value)
{
    if (c->count == CALC_TEMPORARIES) {
        value_release(c->info, value);
        c->ok = error_raise(PyExc_SystemError, "arithmetic", NULL, 0,
                            "the formula has more than %d values", CALC_TEMPORARIES);
        return 0;
    }
    c->all[c->count++] = value;
    return value;
}

static Value finish(Calc *c, bool ok, Value result)
{
    c->ok = ok;
    return ok ? calc_keep(c, result) : 0;
}

Value calc_1(Calc *c, JitOp op, Value a)
{
    Value result = 0;
    bool ok = c->ok && value_op(c->info, op, &a, &result);
    return finish(c, ok, result);
}

Value calc_2(Calc *c, JitOp op, Value a, Value b)
{
    Value result = 0;
    bool ok = c->ok && value_op2(c->info, op, a, b, &result);
    return finish(c, ok, result);
}

static Value ternary(Calc *c, JitOp op, Value a, Value b, Value d)
{
    Value result = 0;
    bool ok = c->ok && value_op3(c->info, op, a, b, d, &result);
    return finish(c, ok, result);
}

Value calc_fma(Calc *c, Value a, Value b, Value d)
{
    return ternary(c, JitOpFma, a, b, d);
}

Value calc_products(Calc *c, int n, const Value *a, int step_a, const Value *b,
                    int step_b, const Value *sum)
{
    Value result = sum ? *sum : 0;
    for (int i = 0; i < n; i++, a += step_a, b += step_b)
        result = i || sum ? calc_fma(c, *a, *b, result) : calc_mul(c, *a, *b);
    return result;
}

Value calc_sum(Calc *c, Value a, Value b, Value d, Value e)
{
    return calc_fma(c, a, b, calc_mul(c, d, e));
}

Value calc_difference(Calc *c, Value a, Value b, Value d, Value e)
{
    return calc_fma(c, a, b, calc_neg(c, calc_mul(c, d, e)));
}

Value calc_select(Calc *c, Value mask, Value a, Value b)
{
    return ternary(c, JitOpSelect, mask, a, b);
}

Value calc_detached(Calc *c, Value a)
{
    if (!c->ok || !c->info->jit)
        return a;
    return calc_keep(c, var_copied(var_detached(a)));
}

Value calc_number(Calc *c, double number)
{
    uint64_t bits = 0;
    Value wide = 0, result = 0;
    memcpy(&wide, &number, sizeof(wide));
    /* Converted from f64 on the host. */
    bool ok =
        c->ok &&
        jit_host_cast(VarTypeFloat64, (VarType) c->info->entry, 0, 1, &wide, &bits) &&
        value_constant(c->info, bits, &result);
    return finish(c, ok, result);
}
