/*
 * ad_last.c -- see ad_last.h
 */
#include "ad/array/ad_last.h"

#include "ad/graph/ad_thread.h"
#include "base/error.h"

/* The thread's, NULL: there is none. */
static AdLast *own_last(void)
{
    const AdThread *own = thread_self.ad;
    return own ? own->last : NULL;
}

static const AdLastSite *find_write(const AdLast *last, const AdMoves *m)
{
    for (uint32_t i = 0; last && i < last->site_count; i++)
        if (last->sites[i].m == m)
            return &last->sites[i];
    return NULL;
}

bool ad_last_has(const AdMoves *m)
{
    return find_write(own_last(), m) != NULL;
}

AdLastRegion *ad_last_region(const struct AdTemplate *t)
{
    const AdLast *last = own_last();
    for (uint32_t i = 0; last && i < last->region_count; i++)
        if (last->regions[i].t == t)
            return &last->regions[i];
    return NULL;
}

/* Like the numbers, of 32 bits or 64. */
static uint32_t constant(const VarInfo *like, uint64_t value)
{
    uint32_t half = (uint32_t) value;
    const void *bits = like->type == VarTypeUInt32 ? (void *) &half : (void *) &value;
    return jit_var_literal(like->backend, like->type, bits, 1, 0);
}

/* What an iteration adds to the numbers of its writes. */
static uint32_t of_iteration(const VarInfo *like, const AdLastRegion *region)
{
    uint32_t iteration = jit_var_cast(region->iteration, like->type, 0);
    return ad_moves_op(JitOpMul, iteration, constant(like, region->stride));
}

/* The number of a write in the iterations whose bodies are traced: a new reference. */
static uint32_t number_of(const AdLast *last, const AdLastSite *write)
{
    VarInfo info;
    TRY(jit_var_peek_info(last->arrays[write->which].numbers, &info), 0);
    uint64_t begin = 1;
    uint32_t number = constant(&info, 0);
    for (const AdLastSite *site = write;;) {
        const AdLastRegion *around = &last->regions[site->around];
        begin += site->place;
        if (around->iteration)
            number = ad_moves_op(JitOpAdd, number, of_iteration(&info, around));
        if (site->around == 0)
            break;
        site = &last->sites[around->site];
    }
    return ad_moves_op(JitOpAdd, number, constant(&info, begin));
}

bool ad_last_record(AdLast *last, const AdLastSite *write)
{
    const AdMoves *m = write->m;
    uint32_t n = ad_moves_packet(m), *array = &last->arrays[write->which].numbers;
    uint32_t number = number_of(last, write);
    bool ok = number != 0;
    for (uint32_t k = 0; k < n && ok; k++) {
        uint32_t index = ad_moves_position(m, k);
        uint32_t next = index ? jit_var_scatter(*array, number, index,
                                                ad_var_index(m->held.leaves[1]),
                                                ReduceOpIdentity, ReduceModeAuto)
                              : 0;
        jit_var_dec_ref(index);
        ok = next != 0;
        if (ok) {
            jit_var_dec_ref(*array);
            *array = next;
        }
    }
    jit_var_dec_ref(number);
    return ok;
}

bool ad_last_mask(const AdMoves *m, uint32_t index, uint32_t mask, uint32_t *result)
{
    const AdLast *last = own_last();
    const AdLastSite *write = find_write(last, m);
    *result = mask ? jit_var_inc_ref(mask) : 0;
    if (!write)
        return true;
    uint32_t number = number_of(last, write), found = 0;
    if (number)
        found = jit_var_gather(last->arrays[write->which].numbers, index, mask);
    /* What was added counts if it was added later. */
    uint32_t counts =
        ad_moves_op(ad_moves_overwrites(m) ? JitOpEq : JitOpLe, found, number);
    *result = counts && mask ? ad_moves_op(JitOpAnd, counts, *result) : counts;
    if (!counts)
        jit_var_dec_ref(mask);
    return *result != 0;
}

uint64_t ad_last_before(const AdLastArray *array, uint64_t g)
{
    uint64_t zero = ad_moves_number(g, 0);
    VarInfo info;
    uint32_t none = 0, kept = 0;
    if (zero && jit_var_peek_info(array->numbers, &info))
        none = constant(&info, 0);
    if (none)
        kept = jit_var_eq(array->numbers, none);
    uint64_t result = kept ? ad_var_select(kept, g, zero) : 0;
    jit_var_dec_ref(none);
    jit_var_dec_ref(kept);
    ad_var_dec_ref(zero);
    ad_var_dec_ref(g);
    return result;
}

void ad_last_free(AdLast *last)
{
    for (uint32_t i = 0; i < last->region_count; i++)
        jit_var_dec_ref(last->regions[i].iteration);
    for (uint32_t i = 0; i < last->array_count; i++)
        jit_var_dec_ref(last->arrays[i].numbers);
    alloc_free(last->sites);
    alloc_free(last->regions);
    alloc_free(last->arrays);
    *last = (AdLast){ 0 };
}
