/*
 * ad_last.c -- see ad_last.h
 */
#include "ad/array/ad_last.h"

#include "ad/graph/ad_thread.h"
#include "base/error.h"

/* The write, if the thread's list has it with an array of numbers. */
static const AdLastWrite *find(const AdMoves *m, const AdLast **list)
{
    const AdThread *own = thread_self.ad;
    const AdLast *last = own ? own->last : NULL;
    *list = last;
    for (uint32_t i = 0; last && i < last->count; i++)
        if (last->writes[i].m == m && last->arrays[last->writes[i].array])
            return &last->writes[i];
    return NULL;
}

bool ad_last_has(const AdMoves *m)
{
    const AdLast *last;
    return find(m, &last) != NULL;
}

/* The number of a write: iteration * count + place + 1. */
static uint32_t number_of(const AdLast *last, const AdLastWrite *w)
{
    VarInfo info;
    TRY(jit_var_peek_info(last->arrays[w->array], &info), 0);
    uint32_t place = (uint32_t) (w - last->writes) + 1;
    uint32_t own = jit_var_u32(info.backend, place);
    if (!last->iteration || !own)
        return own;
    uint32_t count = jit_var_u32(info.backend, last->count);
    uint32_t number = count ? jit_var_fma(last->iteration, count, own) : 0;
    jit_var_dec_ref(own);
    jit_var_dec_ref(count);
    return number;
}

static bool record_write(AdLast *last, const AdLastWrite *w)
{
    uint32_t n = ad_moves_packet(w->m), *array = &last->arrays[w->array];
    uint32_t number = number_of(last, w);
    bool ok = number != 0;
    for (uint32_t k = 0; k < n && ok; k++) {
        uint32_t index = ad_moves_position(w->m, k);
        uint32_t next = index ? jit_var_scatter(*array, number, index,
                                                ad_var_index(w->m->held.leaves[1]),
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

bool ad_last_record(AdLast *last, uint32_t body)
{
    for (uint32_t i = 0; i < last->count; i++) {
        const AdLastWrite *w = &last->writes[i];
        if (w->body == body && last->arrays[w->array] && ad_moves_overwrites(w->m))
            TRY(record_write(last, w), false);
    }
    return true;
}

bool ad_last_mask(const AdMoves *m, uint32_t index, uint32_t mask, uint32_t *result)
{
    const AdLast *last;
    const AdLastWrite *w = find(m, &last);
    *result = mask ? jit_var_inc_ref(mask) : 0;
    if (!w)
        return true;
    uint32_t number = number_of(last, w);
    uint32_t found = number ? jit_var_gather(last->arrays[w->array], index, mask) : 0;
    uint32_t counts = found ? jit_var_le(found, number) : 0;
    jit_var_dec_ref(number);
    jit_var_dec_ref(found);
    if (!counts || !mask) {
        *result = counts;
        return counts != 0;
    }
    *result = jit_var_and(counts, mask);
    jit_var_dec_ref(mask);
    jit_var_dec_ref(counts);
    return *result != 0;
}

uint64_t ad_last_before(const AdLast *last, uint32_t array, uint64_t g)
{
    uint64_t zero = ad_moves_number(g, 0);
    VarInfo info;
    uint32_t none = 0, kept = 0;
    if (zero && jit_var_peek_info(last->arrays[array], &info))
        none = jit_var_u32(info.backend, 0);
    if (none)
        kept = jit_var_eq(last->arrays[array], none);
    uint64_t result = kept ? ad_var_select(kept, g, zero) : 0;
    jit_var_dec_ref(none);
    jit_var_dec_ref(kept);
    ad_var_dec_ref(zero);
    ad_var_dec_ref(g);
    return result;
}

void ad_last_free(AdLast *last)
{
    for (uint32_t i = 0; last->arrays && i < last->array_count; i++)
        jit_var_dec_ref(last->arrays[i]);
    jit_var_dec_ref(last->iteration);
    alloc_free(last->arrays);
    alloc_free(last->writes);
    *last = (AdLast){ 0 };
}
