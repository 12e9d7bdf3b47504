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

/* ---------------------------------------------------------------- factors */

static bool is_zero(VarId id)
{
    const Var *v = var_get(id);
    return v->op == OP_LITERAL && !v->value.literal;
}

/* Can it be read by index as well, or by all? */
static bool is_there(VarId id)
{
    const Var *v = var_get(id);
    return v->op == OP_EVALUATED || v->op == OP_LITERAL || var_lanes(v) == 1;
}

/* Is it x * by, with x of as many lanes? */
static bool is_product(VarId id, VarId *x, VarId *by)
{
    const Var *v = var_get(id);
    TRY(v->op == OP_MUL, false);
    for (uint32_t k = 0; k < 2; k++) {
        *x = v->dep[k];
        *by = v->dep[1 - k];
        if (var_lanes_of(*x) == var_lanes(v) && is_there(*by))
            return true;
    }
    return false;
}

/* Is it x == 0 ? 0 : x * by, the rule of a product? */
static bool is_guarded(VarId id, VarId *x, VarId *by)
{
    const Var *v = var_get(id), *test;
    TRY(v->op == OP_SELECT && is_zero(v->dep[1]), false);
    test = var_get(v->dep[0]);
    TRY(test->op == OP_EQ && is_zero(test->dep[1]), false);
    return is_product(v->dep[2], x, by) && *x == test->dep[0];
}

AdFactors ad_near_factors(uint64_t g)
{
    /* SHARED: it has users beside the node and the traversal. */
    enum { SHARED = 3 };
    AdFactors f = { .core = ad_var_index(g) };
    state_lock();
    while (!ad_var_node(g) && f.count < AD_FACTORS &&
           var_get(f.core)->refs < SHARED + (f.count > 0)) {
        const Var *v = var_get(f.core);
        VarId x = v->dep[0], by = 0;
        const bool guards = is_guarded(f.core, &x, &by);
        if (!guards && v->op != OP_NEG && !is_product(f.core, &x, &by))
            break;
        f.list[f.count].guards = guards;
        f.list[f.count++].by = by;
        if (by)
            var_inc(by);
        f.core = x;
    }
    var_inc(f.core);
    state_unlock();
    return f;
}

void ad_near_drop(AdFactors *f)
{
    jit_var_dec_ref(f->core);
    while (f->count--)
        jit_var_dec_ref(f->list[f->count].by);
}

/* Where the mask is set, factor k for the core. The reference of 'x' moves. */
static uint32_t multiply(const AdFactors *f, uint32_t k, uint32_t x, uint32_t lane,
                         uint32_t active)
{
    const VarId by = f->list[k].by;
    const bool one = by && jit_var_peek_size(by) == 1;
    uint32_t factor = !by  ? 0
                      : one ? jit_var_inc_ref(by)
                            : jit_var_gather(by, lane, active);
    uint32_t result = !by      ? jit_var_neg(x)
                      : factor ? jit_var_mul(x, factor)
                               : 0;
    if (result && f->list[k].guards) {
        const uint32_t zero = (uint32_t) ad_moves_number(x, 0);
        const uint32_t none =
            zero ? jit_var_op(JitOpEq, (uint32_t[]){ x, zero }) : 0;
        const uint32_t whole =
            none ? jit_var_op(JitOpSelect, (uint32_t[]){ none, zero, result }) : 0;
        jit_var_dec_ref(zero);
        jit_var_dec_ref(none);
        jit_var_dec_ref(result);
        result = whole;
    }
    jit_var_dec_ref(factor);
    jit_var_dec_ref(x);
    return result;
}

/* g[lane], where the mask is set. */
static uint64_t read(uint64_t g, uint32_t lane, uint32_t active)
{
    AdFactors f = ad_near_factors(g);
    uint64_t result = f.count ? jit_var_gather(f.core, lane, active)
                              : ad_var_gather(g, lane, active, ReduceModePermute);
    for (uint32_t k = f.count; k-- && result;)
        result = multiply(&f, k, (uint32_t) result, lane, active);
    ad_near_drop(&f);
    return result;
}

/* ---------------------------------------------------------------- the reverse */

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
        AdFactors f = ad_near_factors(g);
        jit_var_schedule(mask);
        jit_var_schedule(f.core);
        ad_near_drop(&f);
    }
    if (there)
        active = mask ? jit_var_gather(mask, lane, there) : jit_var_inc_ref(there);
    uint64_t result = active ? read(g, lane, active) : 0;
    const uint32_t used[] = { entry, less, lane, lanes, there, active };
    for (size_t i = 0; i < sizeof(used) / sizeof(*used); i++)
        jit_var_dec_ref(used[i]);
    return result;
}
