/*
 * cases.c -- see cases.h
 */
#include "cases.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "chosen.h"
#include "forms.h"
#include "random_maker.h"

/* Lanes of a form, where a sample of its values is a lane, and of others; lanes of the
 * first of two launches. The last warp is not full, nor is the last thread if one has
 * four lanes. */
enum { FORM_LANES = 1503, FORM_SPLIT = 512, LANES = 151, SPLIT = 64, SEED_OPS = 40 };

/* ------------------------------------------------------------------------- forms */

static void add_store(Program *p, VarType type, uint32_t value)
{
    const uint32_t param = program_add_param(p, PARAM_OUTPUT, type);
    program_add(p, OP_STORE, VarTypeVoid, param, 1, &value);
}

/* Narrow integers are stored as wide ones, too, which shows how they are extended. */
static Program *form_program(const Form *form)
{
    Program *p = alloc_zero(1, sizeof(Program));
    uint32_t args[FORM_OPERANDS];
    if (!p)
        return NULL;
    for (uint32_t k = 0; k < op_info[form->op].arity; ++k) {
        const VarType type = forms_operand(form, k);
        const uint32_t param = program_add_param(p, PARAM_INPUT, type);
        args[k] = program_add(p, OP_LOAD, type, param, 0, NULL);
    }
    const uint32_t value =
        program_add(p, form->op, form->type, 0, op_info[form->op].arity, args);
    add_store(p, form->type, value);
    if (type_info[form->type].is_integer && type_info[form->type].size < 4) {
        const VarType wide =
            type_info[form->type].is_signed ? VarTypeInt64 : VarTypeUInt64;
        add_store(p, wide, program_add(p, OP_CAST, wide, 0, 1, &value));
    }
    return p;
}

static bool find_form(const char *name, Form *form)
{
    for (uint32_t i = 0; forms_at(i, form); ++i)
        if (strcmp(form->name, name) == 0)
            return true;
    return false;
}

/* ------------------------------------------------------------------------ arrays */

static bool new_array(RandomArray *array, VarType type, uint32_t entries)
{
    array->bytes = entries * type_info[type].size;
    array->data = alloc_zero(entries, type_info[type].size);
    if (array->data)
        memset(array->data, ARRAY_FILL, array->bytes);
    return array->data != NULL;
}

static void put(RandomArray *array, VarType type, uint32_t i, uint64_t bits)
{
    memcpy(array->data + (size_t) i * type_info[type].size, &bits,
           type_info[type].size);
}

static void fill_form(RandomProgram *r, const Form *form)
{
    for (uint32_t i = 0; i < r->lanes; ++i) {
        uint64_t values[FORM_OPERANDS];
        forms_values(form, i, values);
        for (uint32_t k = 0; k < op_info[form->op].arity; ++k)
            put(&r->arrays[k], forms_operand(form, k), i, values[k]);
    }
}

static bool writes_by_index(const Program *p)
{
    for (uint32_t k = 0; k < p->param_count; ++k)
        if (p->params[k].written)
            return true;
    return false;
}

/* Integers are small, so that indices are inside. Where lanes meet, so are floats: sums
 * of them are exact in any order. Elsewhere these are special and random. */
static void fill_chosen(RandomProgram *r)
{
    const bool exact = writes_by_index(r->program);
    Maker maker = { .state = r->lanes };
    for (uint32_t k = 0; k < r->program->param_count; ++k) {
        const VarType type = (VarType) r->program->params[k].type;
        const bool is_float = type_info[type].is_float;
        const uint32_t entries = r->arrays[k].bytes / type_info[type].size;
        r->arrays[k].word = maker_bits(&maker, type);
        for (uint32_t i = 0; i < entries; ++i) {
            const uint32_t number = maker_below(&maker, 37);
            const float value = (float) number * 0.25f - 4;
            uint64_t bits = is_float ? maker_bits(&maker, type) : number;
            if (is_float && exact)
                memcpy(&bits, &value, sizeof value);
            put(&r->arrays[k], type, i, bits);
        }
    }
}

/* An array for each parameter that is one. NULL: out of memory. */
static RandomProgram *with_arrays(Program *program, uint32_t lanes, uint32_t split)
{
    RandomProgram *r = program ? alloc_zero(1, sizeof *r) : NULL;
    if (!r) {
        program_free(program);
        return NULL;
    }
    *r = (RandomProgram){ .program = program, .lanes = lanes, .split = split };
    r->arrays = alloc_zero(program->param_count + 1, sizeof *r->arrays);
    bool ok = r->arrays != NULL;
    for (uint32_t k = 0; ok && k < program->param_count; ++k)
        if (program->params[k].kind != PARAM_VALUE)
            ok = new_array(&r->arrays[k], (VarType) program->params[k].type, lanes);
    if (!r->arrays)
        program->param_count = 0;
    if (ok)
        return r;
    random_program_free(r);
    return NULL;
}

/* --------------------------------------------------------------------------- names */

static RandomProgram *form_case(const char *name)
{
    Form form;
    if (!find_form(name, &form))
        return NULL;
    RandomProgram *r = with_arrays(form_program(&form), FORM_LANES, FORM_SPLIT);
    if (r)
        fill_form(r, &form);
    return r;
}

static RandomProgram *chosen_case(const char *name)
{
    for (uint32_t i = 0; chosen_name(i); ++i) {
        if (strcmp(chosen_name(i), name) != 0)
            continue;
        RandomProgram *r = with_arrays(chosen_program(i), LANES, SPLIT);
        if (r)
            fill_chosen(r);
        return r;
    }
    return NULL;
}

RandomProgram *cases_new(const char *name)
{
    if (strncmp(name, "seed:", 5) == 0)
        return random_program_new(strtoull(name + 5, NULL, 0), SEED_OPS);
    if (strncmp(name, "form:", 5) == 0)
        return form_case(name + 5);
    if (strncmp(name, "chosen:", 7) == 0)
        return chosen_case(name + 7);
    return NULL;
}
