/*
 * sim_access.c -- loads and stores, and what is done with addresses
 */
#include "sim_exec.h"
#include "sim_space.h"

#include <string.h>

static uint64_t sign_extend(uint64_t value, PtxType type)
{
    uint32_t unused = 64 - sim_types[type].bits;
    return sim_types[type].class == CLASS_SIGNED
               ? (uint64_t) ((int64_t) (value << unused) >> unused)
               : value;
}

/* What is added to the address register of all lanes. */
static uint64_t offset_of(const Warp *w, const Insn *i)
{
    return (uint64_t) i->offset + (i->flags & FLAG_FRAME ? w->local : 0);
}

/* An index in bytes, computed in the width of its register: ptxas does so. */
static uint64_t scaled(uint64_t product, uint8_t bytes)
{
    return bytes == 8 ? product : (uint32_t) product;
}

/* Addresses of the lanes; false: one of them is not defined. */
static bool addresses(Warp *w, const Insn *i, uint32_t mask, uint64_t *list)
{
    const uint64_t offset = offset_of(w, i);
    const uint8_t bytes = i->s[0].bytes;
    if (!sim_need(w, &i->s[0], mask, "the address"))
        return false;
    if (i->scale) {
        for (uint32_t l = 0; l < SIM_WARP; l++)
            list[l] = scaled(sim_lane(w, &i->s[0], l) * i->scale, bytes) + offset;
    } else if (bytes == 8) {
        const uint64_t *a = sim_data(w, &i->s[0]);
        for (uint32_t l = 0; l < SIM_WARP; l++)
            list[l] = a[l] + offset;
    } else {
        /* 32 bits: an offset does not carry beyond them. */
        const uint32_t *a = sim_data(w, &i->s[0]);
        for (uint32_t l = 0; l < SIM_WARP; l++)
            list[l] = (uint32_t) (a[l] + (uint32_t) offset);
    }
    return true;
}

/* A parameter, which is the same for all lanes. */
static void load_uniform(Warp *w, const Insn *i, uint32_t mask)
{
    const uint32_t bytes = sim_types[i->type].bytes;
    Place place;
    bool known;
    uint32_t first = (uint32_t) __builtin_ctz(mask);
    if (!space_find(w, i, first, offset_of(w, i), bytes * i->count, &place))
        return;
    for (uint32_t k = 0; k < i->count; k++) {
        const Ref *to = &i->vector[k];
        uint64_t value = sign_extend(
            space_read(w, i, first, &place, k * bytes, bytes, &known), i->type);
        SIM_LANES(mask, l)
        {
            sim_set_lane(w, to, l, value);
        }
        sim_define(w, to, mask, known ? SIM_ALL : 0);
    }
}

void access_ld(Warp *w, const Insn *i, uint32_t mask)
{
    if (i->space == SPACE_PARAM && i->flags & FLAG_UNIFORM) {
        load_uniform(w, i, mask);
        return;
    }
    const uint32_t bytes = sim_types[i->type].bytes, count = i->count;
    uint64_t list[SIM_WARP];
    uint32_t known[8] = { 0 };
    if (!addresses(w, i, mask, list))
        return;
    SIM_LANES(mask, l)
    {
        Place place;
        if (!space_find(w, i, l, list[l], bytes * count, &place))
            return;
        for (uint32_t k = 0; k < count; k++) {
            bool fine = false;
            uint64_t value = space_read(w, i, l, &place, k * bytes, bytes, &fine);
            sim_set_lane(w, &i->vector[k], l, sign_extend(value, i->type));
            known[k] |= (uint32_t) fine << l;
        }
    }
    for (uint32_t k = 0; k < count; k++)
        sim_define(w, &i->vector[k], mask, known[k]);
}

void access_st(Warp *w, const Insn *i, uint32_t mask)
{
    const uint32_t bytes = sim_types[i->type].bytes, count = i->count;
    uint64_t list[SIM_WARP];
    if (!addresses(w, i, mask, list))
        return;
    if (i->flags & FLAG_RELEASE && w->run->buffered)
        sim_buffer_flush(w->block->buffer);
    SIM_LANES(mask, l)
    {
        Place place;
        if (!space_find(w, i, l, list[l], bytes * count, &place))
            return;
        for (uint32_t k = 0; k < count; k++) {
            const Ref *from = &i->vector[k];
            space_write(w, i, l, &place, k * bytes, bytes, sim_lane(w, from, l),
                        sim_defined(w, from) >> l & 1);
        }
        if (w->run->faulted)
            return;
    }
}

void access_fence(Warp *w, const Insn *i, uint32_t mask)
{
    (void) i, (void) mask;
    if (w->run->buffered)
        sim_buffer_flush(w->block->buffer);
}

static uint64_t window_of(Space space)
{
    return space == SPACE_SHARED  ? WINDOW_SHARED
           : space == SPACE_LOCAL ? WINDOW_LOCAL
           : space == SPACE_PARAM ? WINDOW_PARAM
                                  : 0;
}

/* To a space ('op'), or from it to a generic address. */
void access_cvta(Warp *w, const Insn *i, uint32_t mask)
{
    uint64_t window = window_of(i->space);
    uint64_t frame = i->flags & FLAG_FRAME ? w->local : 0;
    SIM_LANES(mask, l)
    {
        uint64_t address = sim_lane(w, &i->s[0], l) + frame;
        sim_set_lane(w, &i->d, l, i->op ? address - window : address + window);
    }
    sim_define(w, &i->d, mask, sim_defined(w, &i->s[0]));
}

static bool is_const(const SimModule *m, uint64_t address)
{
    for (uint32_t k = 0; k < m->variable_count; k++) {
        const Variable *v = m->variables[k];
        if (v->space == SPACE_CONST && address - (uintptr_t) v->data < v->bytes)
            return true;
    }
    return false;
}

void access_isspacep(Warp *w, const Insn *i, uint32_t mask)
{
    uint32_t result = 0;
    uint64_t window = window_of(i->space);
    SIM_LANES(mask, l)
    {
        uint64_t address = sim_lane(w, &i->s[0], l);
        bool constant = is_const(w->run->module, address);
        bool inside = window ? (address & ~(WINDOW_BYTES - 1)) == window
                      : i->space == SPACE_CONST ? constant
                                                : address >> 56 == 0 && !constant;
        result |= (uint32_t) inside << l;
    }
    sim_set_mask(w, &i->d, mask, result);
    sim_define(w, &i->d, mask, sim_defined(w, &i->s[0]));
}
