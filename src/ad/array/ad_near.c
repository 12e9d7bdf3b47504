/*
 * ad_near.c -- see ad_near.h
 */
#include "ad/array/ad_near.h"

#include "ad/graph/ad_thread.h"
#include "ad/rule/ad_apply.h"
#include "base/error.h"
#include "freeze/freezing.h"

/* An array of which few entries are accessed is better written to. */
static bool is_most(size_t lanes, size_t entries) { return lanes >= entries / 2; }

bool ad_near_find(uint32_t index, size_t entries, uint32_t *number)
{
    Distance d;
    TRY(entries > 1 && !ad_thread_in_body(), false);
    state_lock();
    const bool found = distance_find(index, &d) &&
                       is_most(var_lanes_of(index), entries) &&
                       freezing_assume_distance(state_thread(), &d);
    state_unlock();
    *number = d.number;
    return found;
}

uint64_t ad_near_reverse(const AdMoves *m, uint32_t number, uint32_t mask, uint64_t g)
{
    VarInfo info;
    TRY(jit_var_peek_info(ad_var_index(g), &info), 0);
    ad_size_next(m->size[0]);
    uint32_t entry = jit_var_counter(info.backend, m->size[0].count);
    uint32_t less = jit_var_u32(info.backend, number);
    uint32_t lane =
        entry && less ? jit_var_op(JitOpSub, (uint32_t[]){ entry, less }) : 0;
    uint32_t lanes = ad_size_number(m->size[1], info.backend);
    uint32_t there =
        lane && lanes ? jit_var_op(JitOpLt, (uint32_t[]){ lane, lanes }) : 0;
    uint32_t active = 0;
    if (there && mask) { /* one kernel, if both are yet to be computed */
        jit_var_schedule(mask);
        jit_var_schedule(ad_var_index(g));
    }
    if (there)
        active = mask ? jit_var_gather(mask, lane, there) : jit_var_inc_ref(there);
    uint64_t result = active ? ad_var_gather(g, lane, active, ReduceModePermute) : 0;
    const uint32_t used[] = { entry, less, lane, lanes, there, active };
    for (size_t i = 0; i < sizeof(used) / sizeof(*used); i++)
        jit_var_dec_ref(used[i]);
    return result;
}
