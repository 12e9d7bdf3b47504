/*
 * sim_atomic.c -- atom and red
 *
 * On global memory they are atomic for the host, too: other threads may run launches on
 * the same memory. The lanes come one after the other; which is the first one, chance
 * says where groups do so as well.
 */
#include "sim_exec.h"
#include "sim_float.h"
#include "sim_half.h"
#include "sim_space.h"

static float flush(float x, bool ftz)
{
    return ftz && fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

static uint64_t add_floats(PtxType type, uint64_t a, uint64_t b, bool ftz)
{
    if (type == PTX_F64)
        return bits_of_double(canon_f64(double_of_bits(a) + double_of_bits(b)));
    if (type == PTX_F16)
        return half_add((uint16_t) a, (uint16_t) b);
    if (type == PTX_F16X2)
        return half_add((uint16_t) a, (uint16_t) b) |
               (uint64_t) half_add((uint16_t) (a >> 16), (uint16_t) (b >> 16)) << 16;
    float x = flush(float_of_bits((uint32_t) a), ftz);
    float y = flush(float_of_bits((uint32_t) b), ftz);
    return bits_of_float(canon_f32(flush(x + y, ftz)));
}

static bool is_less(PtxType type, uint64_t a, uint64_t b)
{
    return type == PTX_S32   ? (int32_t) a < (int32_t) b
           : type == PTX_S64 ? (int64_t) a < (int64_t) b
                             : a < b;
}

/* The new value. 'c' is what cas puts there if it finds 'b'. */
static uint64_t apply(AtomicOp op, PtxType type, uint64_t a, uint64_t b, uint64_t c,
                      bool ftz)
{
    switch (op) {
    case ATOMIC_ADD:
        return sim_types[type].class == CLASS_FLOAT ? add_floats(type, a, b, ftz)
                                                    : a + b;
    case ATOMIC_MIN:
        return is_less(type, b, a) ? b : a;
    case ATOMIC_MAX:
        return is_less(type, a, b) ? b : a;
    case ATOMIC_INC:
        return a >= b ? 0 : a + 1;
    case ATOMIC_DEC:
        return a == 0 || a > b ? b : a - 1;
    case ATOMIC_AND:
        return a & b;
    case ATOMIC_OR:
        return a | b;
    case ATOMIC_XOR:
        return a ^ b;
    case ATOMIC_EXCH:
        return b;
    default:
        return a == b ? c : a;
    }
}

#define EXCHANGE(ctype)                                                           \
    do {                                                                          \
        ctype old = __atomic_load_n((ctype *) p, __ATOMIC_RELAXED), new;          \
        do                                                                        \
            new = (ctype) apply(i->op, i->type, old, b, c, ftz);                  \
        while (!__atomic_compare_exchange_n((ctype *) p, &old, new, false,        \
                                            __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)); \
        return old;                                                               \
    } while (0)

static uint64_t exchange(const Insn *i, void *p, uint64_t b, uint64_t c, bool ftz)
{
    switch (sim_types[i->type].bytes) {
    case 2:
        EXCHANGE(uint16_t);
    case 4:
        EXCHANGE(uint32_t);
    default:
        EXCHANGE(uint64_t);
    }
}

static bool run_lane(Warp *w, const Insn *i, uint32_t l, uint32_t *known)
{
    const uint32_t bytes = sim_types[i->type].bytes;
    Place place;
    uint64_t address = sim_lane(w, &i->s[0], l) + (uint64_t) i->offset;
    if (i->s[0].bytes == 4)
        address = (uint32_t) address;
    if (!space_find(w, i, l, address, bytes * i->count, &place))
        return false;
    /* Only additions in global memory flush subnormal numbers. */
    bool ftz = i->flags & FLAG_FTZ && place.space == SPACE_GLOBAL;
    for (uint32_t k = 0; k < i->count; k++) {
        bool needs_value = i->op != ATOMIC_EXCH;
        void *p = space_atomic(w, i, l, &place, k * bytes, bytes, needs_value);
        if (!p)
            return false;
        uint64_t old = exchange(i, p, sim_lane(w, &i->vector[k], l),
                                sim_lane(w, &i->s[1], l), ftz);
        if (i->flags & FLAG_SECOND) {
            sim_set_lane(w, &i->d, l, old);
            *known |= 1u << l;
        }
    }
    return true;
}

void atomic_run(Warp *w, const Insn *i, uint32_t mask)
{
    bool fine = sim_need(w, &i->s[0], mask, "the address");
    for (uint32_t k = 0; fine && k < i->count; k++)
        fine = sim_need(w, &i->vector[k], mask, "the operand");
    if (!fine || (i->op == ATOMIC_CAS && !sim_need(w, &i->s[1], mask, "the operand")))
        return;
    if (i->flags & FLAG_RELEASE && w->run->buffered)
        sim_buffer_flush(w->block->buffer);
    uint32_t known = 0, first = 0;
    if (w->run->launch->order == SIM_RANDOM_PC)
        first = (uint32_t) (sim_random(w->run) % SIM_WARP);
    for (uint32_t k = 0; k < SIM_WARP; k++) {
        uint32_t l = (first + k) % SIM_WARP;
        if (mask >> l & 1 && !run_lane(w, i, l, &known))
            return;
    }
    if (i->flags & FLAG_SECOND)
        sim_define(w, &i->d, mask, known);
}
