/*
 * write_folds.c -- operations on literals as PTX, for an assembler that folds constants
 *
 *     write_folds FOLDER [--sm NN] [--values N]
 *
 * Writes FOLDER/<form>.ptx for each form (forms.h). The kernel computes it for N sets
 * of literals, combines each result with what the interpreter gives for these
 * (exclusive or), and stores entry k of an array: 0 if the bits agree. A NaN may have
 * any payload: where one is expected, the entry is 0 if the result is a NaN. Only zeros
 * are left for the assembler to store if it folds and agrees.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "engine/interp/interp.h"
#include "forms.h"
#include "oracle_text.h"

#define OPERANDS(...) \
    (uint32_t[])      \
    {                 \
        __VA_ARGS__   \
    }

static bool is_nan(VarType type, uint64_t bits)
{
    static const uint64_t infinity[VarTypeCount] = { [VarTypeFloat16] = 0x7c00,
                                                     [VarTypeFloat32] = 0x7f800000,
                                                     [VarTypeFloat64] =
                                                         0x7ff0000000000000 };
    return type_info[type].is_float && (bits & type_mask(type) >> 1) > infinity[type];
}

/* What is stored for a sample: of an unsigned type as wide as the result's. */
static uint32_t add_sample(Program *p, const Form *form, uint64_t sample, bool *ok)
{
    uint64_t values[FORM_OPERANDS + 1] = { 0 }, expected;
    uint32_t args[FORM_OPERANDS];
    const VarType bits = type_bits(form->type);
    forms_values(form, sample, values);
    *ok &= interp_fold(form->op, form->type, form->operand, values, &expected);
    for (uint32_t k = 0; k < op_info[form->op].arity; ++k)
        args[k] = program_add_literal(p, forms_operand(form, k), values[k]);
    uint32_t result =
        program_add(p, form->op, form->type, 0, op_info[form->op].arity, args);
    const uint32_t zero = program_add_literal(p, bits, 0);
    if (is_nan(form->type, expected) || form->type == VarTypeBool) {
        const uint32_t one = program_add_literal(p, bits, 1);
        const uint32_t same =
            form->type == VarTypeBool
                ? program_add(
                      p, OP_EQ, VarTypeBool, 0, 2,
                      OPERANDS(result, program_add_literal(p, VarTypeBool, expected)))
                : program_add(p, OP_NEQ, VarTypeBool, 0, 2, OPERANDS(result, result));
        return program_add(p, OP_SELECT, bits, 0, 3, OPERANDS(same, zero, one));
    }
    if (bits != form->type)
        result = program_add(p, OP_BITCAST, bits, 0, 1, OPERANDS(result));
    return program_add(p, OP_XOR, bits, 0, 2,
                       OPERANDS(result, program_add_literal(p, bits, expected)));
}

static Program *make_program(const Form *form, uint32_t values)
{
    Program *p = alloc_zero(1, sizeof(Program));
    bool ok = p != NULL;
    if (!ok)
        return NULL;
    const VarType bits = type_bits(form->type);
    const uint32_t param = program_add_param(p, PARAM_POINTER, bits);
    p->params[param].written = 1;
    const uint32_t to = program_add(p, OP_PARAM, VarTypePointer, param, 0, NULL);
    const uint32_t yes = program_add_literal(p, VarTypeBool, 1);
    for (uint32_t k = 0; k < values; ++k) {
        const uint32_t value = add_sample(p, form, k, &ok);
        const uint32_t index = program_add_literal(p, VarTypeUInt32, k);
        program_add(p, OP_SCATTER, VarTypeVoid, 0, 4, OPERANDS(to, value, index, yes));
    }
    if (ok && program_verify(p))
        return p;
    program_free(p);
    return NULL;
}

static bool write_form(const char *folder, const Form *form, uint32_t values,
                       uint32_t sm)
{
    Text text = { 0 };
    PtxKernel kernel;
    Program *program = make_program(form, values);
    const bool ok = program && oracle_text(program, sm, &text, &kernel) &&
                    oracle_file(folder, form->name, &text);
    if (!ok)
        fprintf(stderr, "write_folds: %s: %s\n", form->name, error_message());
    program_free(program);
    text_free(&text);
    return ok;
}

int main(int argc, char **argv)
{
    uint32_t values = 100, sm = 80;
    bool ok = argc >= 2 && argc % 2 == 0;
    for (int i = 2; ok && i < argc; i += 2) {
        const uint32_t number = (uint32_t) strtoul(argv[i + 1], NULL, 0);
        if (strcmp(argv[i], "--values") == 0)
            values = number;
        else if (strcmp(argv[i], "--sm") == 0)
            sm = number;
        else
            ok = false;
    }
    if (!ok) {
        fprintf(stderr, "usage: write_folds FOLDER [--sm NN] [--values N]\n");
        return 2;
    }
    Form form;
    for (uint32_t i = 0; forms_at(i, &form); ++i)
        ok &= write_form(argv[1], &form, values, sm);
    return ok ? 0 : 1;
}
