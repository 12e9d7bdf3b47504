/*
 * forms.h -- every form of an operation that PTX is written for, with values
 *
 * A form is an operation of arithmetic or a conversion with the types of its result and
 * of its operands, of those that constants are folded for (F_FOLDS) and that
 * ptx_kernel_supports(). Values come from a seed: special ones often.
 */
#ifndef CUDA_ORACLE_FORMS_H
#define CUDA_ORACLE_FORMS_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/op.h"

enum { FORM_OPERANDS = 3, FORM_NAME_SIZE = 40 };

typedef struct Form {
    Op op;
    VarType type, operand;     /* of the result; of the operands, but for a mask's */
    char name[FORM_NAME_SIZE]; /* "add.f32", "cast.f64.u8" (operand first) */
} Form;

/** Number 'i' of them; false behind the last. */
bool forms_at(uint32_t i, Form *form);

/** Type of operand 'k'. */
VarType forms_operand(const Form *form, uint32_t k);

/** Operands of sample number 'i', as bits. */
void forms_values(const Form *form, uint64_t i, uint64_t *args);

#endif
