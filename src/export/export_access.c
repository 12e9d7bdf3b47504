/*
 * export_access.c -- see export_access.h
 *
 * What a kernel does with an array follows from its parameter: pointers are what
 * gathers and scatters have. An array that is changed by index is a copy of the input,
 * so what is known of copies, and of states of loops, goes back to what they came from.
 */
#include "export/export_access.h"

#include "base/alloc.h"
#include "base/error.h"
#include "kernel/cache.h"

/* ---------------------------------------------------------------------- arrays */

static uint8_t access_of(const FrozenCommand *f, const FrozenUse *use)
{
    const bool word = use->word != SLOT_NO_WORD;
    if (f->pattern->kind == COMMAND_AGGREGATE && word) /* its address is in memory */
        return EXPORT_BY_INDEX;
    if (f->pattern->kind == COMMAND_ORDERED && use->access != SLOT_READ)
        return EXPORT_BY_INDEX;
    if (f->pattern->kind != COMMAND_LAUNCH || !word)
        return EXPORT_AS_A_WHOLE;
    const Param *param = &f->launch.kernel->program->params[use->word];
    return param->kind == PARAM_POINTER ? EXPORT_BY_INDEX : EXPORT_BY_LANE;
}

/* False: nothing is new. */
static bool add(uint8_t *arrays, uint32_t array, uint8_t bits)
{
    const uint8_t before = arrays[array];
    arrays[array] |= bits;
    return arrays[array] != before;
}

static bool add_copy(const Recording *r, const FrozenCommand *f, uint8_t *arrays)
{
    bool changed = false;
    const FrozenUse *uses = &r->uses[f->first];
    for (uint32_t i = 0; i < f->count; ++i)
        for (uint32_t k = 0; uses[i].access == SLOT_READ && k < f->count; ++k)
            if (uses[k].access != SLOT_READ)
                changed |= add(arrays, uses[i].array, arrays[uses[k].array]);
    return changed;
}

static bool add_origins(const Recording *r, uint8_t *arrays)
{
    bool changed = false;
    for (uint32_t i = r->command_count; i-- > 0;)
        if (r->commands[i].pattern->kind == COMMAND_COPY)
            changed |= add_copy(r, &r->commands[i], arrays);
    for (uint32_t i = 0; i < r->state_count; ++i) {
        const FrozenState *s = &r->states[i];
        changed |= add(arrays, s->initial, arrays[s->array]);
        changed |= add(arrays, s->next, arrays[s->array]);
    }
    return changed;
}

static void find_arrays(const Recording *r, uint8_t *arrays)
{
    for (uint32_t i = 0; i < r->command_count; ++i) {
        const FrozenCommand *f = &r->commands[i];
        for (uint32_t k = 0; k < f->count; ++k) {
            const FrozenUse *use = &r->uses[f->first + k];
            arrays[use->array] |= access_of(f, use);
        }
    }
    while (add_origins(r, arrays))
        continue;
}

/* --------------------------------------------------------------------- classes */

/* The classes that sizes depend on. Terms follow those that they are made of. */
static void find_classes(const SymSizes *w, bool *terms, bool *classes)
{
    for (uint32_t i = w->count; i-- > 0;) {
        const SizeTerm *t = &w->terms[i];
        if (terms[i] && t->op == SYMSIZE_INPUT)
            classes[t->a] = true;
        if (terms[i] && t->op >= SYMSIZE_ADD)
            terms[t->a] = terms[t->b] = true;
    }
}

bool export_access_find(const Recording *r, uint8_t *arrays, bool *classes)
{
    bool *terms = alloc_zero(r->symsizes.count + (size_t) 1, sizeof(bool));
    TRY(terms, false);
    find_arrays(r, arrays);
    for (uint32_t i = 0; i < r->array_count; ++i)
        if (arrays[i] & EXPORT_BY_INDEX)
            terms[r->arrays[i].symsize] = true;
    find_classes(&r->symsizes, terms, classes);
    alloc_free(terms);
    return true;
}
