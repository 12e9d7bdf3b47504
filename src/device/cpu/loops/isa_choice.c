/*
 * isa_choice.c -- which loops of reductions, matrix products and so on are used: the
 * best ones that the CPU can run
 */
#include <stdatomic.h>
#include <string.h>

#include "base/isa.h"
#include "device/cpu/loops/gemm_lanes.h"
#include "device/cpu/loops/ordered_lanes.h"
#include "device/cpu/loops/reduce_lanes.h"

extern const Lanes reduce_lanes_baseline;
extern const GemmLanes gemm_lanes_baseline;
extern const OrderedLanes ordered_lanes_baseline;
#if defined(__x86_64__)
extern const Lanes reduce_lanes_avx2, reduce_lanes_avx512;
extern const GemmLanes gemm_lanes_avx2, gemm_lanes_avx512;
extern const OrderedLanes ordered_lanes_avx2, ordered_lanes_avx512;
#endif

/* What reduce_lanes_get() answers; NULL = not chosen yet. The tables are constant, so
 * relaxed order is enough, and threads that choose at the same time choose the same. */
static const Lanes *_Atomic chosen;

/* Tables that the CPU can run, best first; their number. */
static size_t list_usable(const Lanes *out[3])
{
    size_t count = 0;
#if defined(__x86_64__)
    if (isa_avx512())
        out[count++] = &reduce_lanes_avx512;
    if (isa_avx2())
        out[count++] = &reduce_lanes_avx2;
#endif
    out[count++] = &reduce_lanes_baseline;
    return count;
}

const Lanes *reduce_lanes_get(void)
{
    const Lanes *lanes = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (!lanes) {
        const Lanes *usable[3];
        list_usable(usable);
        lanes = usable[0];
        atomic_store_explicit(&chosen, lanes, memory_order_relaxed);
    }
    return lanes;
}

bool reduce_lanes_use(const char *isa)
{
    const Lanes *usable[3];
    size_t count = list_usable(usable);
    for (size_t i = 0; i < count; ++i)
        if (strcmp(usable[i]->isa, isa) == 0) {
            atomic_store_explicit(&chosen, usable[i], memory_order_relaxed);
            return true;
        }
    return false;
}

const GemmLanes *gemm_lanes_get(void)
{
#if defined(__x86_64__)
    const char *isa = reduce_lanes_get()->isa;
    if (strcmp(isa, "avx512") == 0)
        return &gemm_lanes_avx512;
    if (strcmp(isa, "avx2") == 0)
        return &gemm_lanes_avx2;
#endif
    return &gemm_lanes_baseline;
}

const OrderedLanes *ordered_lanes_get(void)
{
#if defined(__x86_64__)
    const char *isa = reduce_lanes_get()->isa;
    if (strcmp(isa, "avx512") == 0)
        return &ordered_lanes_avx512;
    if (strcmp(isa, "avx2") == 0)
        return &ordered_lanes_avx2;
#endif
    return &ordered_lanes_baseline;
}
