/*
 * forms.c -- see forms.h
 */
#include "forms.h"

#include <stdio.h>

#include "engine/interp/interp.h"
#include "engine/ptx/ptx_kernel.h"
#include "random_maker.h"

enum { TYPES = VarTypeCount };

static bool is_form(Op op, VarType type, VarType operand)
{
    const uint32_t group = op_info[op].group;
    if (!(op_info[op].flags & F_FOLDS) ||
        (group != GROUP_ARITH && group != GROUP_CONVERT))
        return false;
    if (!type_valid(type) || !type_valid(operand) || type == VarTypePointer ||
        operand == VarTypePointer || !op_is_defined(op, operand))
        return false;
    if (group == GROUP_ARITH && op_result(op, operand) != type)
        return false;
    if (group == GROUP_CONVERT && type == operand)
        return false;
    if (op == OP_BITCAST && type_info[type].size != type_info[operand].size)
        return false;
    return ptx_kernel_supports(op, type, operand);
}

bool forms_at(uint32_t i, Form *form)
{
    for (uint32_t n = 0; n < OP_COUNT * TYPES * TYPES; ++n) {
        const Op op = (Op) (n / (TYPES * TYPES));
        const VarType operand = (VarType) (n / TYPES % TYPES);
        const VarType type = (VarType) (n % TYPES);
        if (!is_form(op, type, operand) || i--)
            continue;
        *form = (Form){ .op = op, .type = type, .operand = operand };
        const bool converts = op_info[op].group == GROUP_CONVERT;
        snprintf(form->name, sizeof form->name, converts ? "%s.%s.%s" : "%s.%s",
                 op_info[op].name, type_info[operand].short_name,
                 type_info[type].short_name);
        return true;
    }
    return false;
}

VarType forms_operand(const Form *form, uint32_t k)
{
    return op_role(form->op, k) == ROLE_MASK ? VarTypeBool : form->operand;
}

static uint64_t fold(const Form *form, Op op, uint64_t a, uint64_t b)
{
    const uint64_t args[FORM_OPERANDS + 1] = { a, b };
    uint64_t result = 0;
    interp_fold(op, form->type, form->operand, args, &result);
    return result;
}

/* A number from 1 to 2 with any fraction. */
static uint64_t full_number(Maker *maker, VarType type)
{
    const uint64_t fraction = type == VarTypeFloat64 ? 0xfffffffffffff : 0x7fffff;
    return type_info[type].one | (maker_draw(maker) & fraction);
}

/* What is seldom drawn: operands that are equal, or but for the sign; the quotient that
 * does not fit; a product whose rounding is all that is left. */
static void rare_values(Maker *maker, const Form *form, uint64_t i, uint64_t *args)
{
    const VarType type = form->operand;
    const uint32_t arity = op_info[form->op].arity;
    const uint64_t top = type_mask(type) ^ type_mask(type) >> 1;
    if (i % 7 == 0 || i % 11 == 0)
        args[arity - 1] = args[arity - 2];
    if (i % 11 == 0)
        args[arity - 1] ^= top;
    if (i % 13 == 0 && arity == 2 && type_info[type].is_signed) {
        args[0] = top;
        args[1] = type_mask(type);
    }
    if (i % 5 == 0 && form->op == OP_FMA && type_info[type].is_float) {
        args[0] = full_number(maker, type);
        args[1] = full_number(maker, type);
        args[2] = fold(form, OP_MUL, args[0], args[1]) ^ top;
    }
}

void forms_values(const Form *form, uint64_t i, uint64_t *args)
{
    Maker maker = { .state = i * 977 + form->op };
    const uint32_t arity = op_info[form->op].arity;
    for (uint32_t k = 0; k < arity; ++k)
        args[k] = maker_bits(&maker, forms_operand(form, k));
    if (arity >= 2)
        rare_values(&maker, form, i, args);
    if (form->type == VarTypeBool && form->op == OP_BITCAST)
        args[0] &= 1; /* all that a mask in memory can be */
}
