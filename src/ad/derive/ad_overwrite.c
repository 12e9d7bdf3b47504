/*
 * ad_overwrite.c -- see ad_overwrite.h
 *
 * The region is recorded again with bodies of which each write writes its number, and
 * which have nothing else in them than what that needs. For that, the stride of a loop
 * has to be known, and so how many iterations loops in its body make at most: where no
 * bound says so, the region runs once before that, with bodies that write to nothing
 * but the largest number of iterations.
 */
#include "ad/derive/ad_overwrite.h"

#include "ad/array/ad_moves.h"
#include "ad/derive/ad_bodies.h"
#include "ad/derive/ad_room.h"
#include "ad/derive/ad_run.h"
#include "ad/region/ad_writes.h"
#include "base/alloc.h"
#include "base/error.h"

typedef struct Run {
    AdLast *last;
    uint32_t *most; /* by region: 1 entry, the largest number of iterations; references,
                       owned */
    bool counts;    /* ... of loops without a bound, which is all that is wanted; else
                       of those with one */
    uint32_t count; /* iterations of the outermost one, if it is a loop; a reference */
    uint64_t limit; /* more than these cannot be numbered; 0: there are not more */
} Run;

static JitBackend backend_of(const AdLast *last)
{
    const AdTemplate *t = last->regions[0].t;
    return (JitBackend) ad_graph_node(t->arrays[0].node)->backend;
}

/* ---------------------------------------------------------------- bodies */

static bool new_number(AdLastRegion *region)
{
    const AdTemplate *t = region->t;
    state_lock();
    VarId number = region_placeholder(state_thread(), OP_STATE, t->state_count,
                                      t->device, VarTypeUInt32, 1, 0);
    state_unlock();
    jit_var_dec_ref(region->iteration);
    return (region->iteration = number) != 0;
}

static bool record_region(Run *run, uint32_t region);

/* Nothing else than this is in a body. */
static bool record_sites(Run *run, uint32_t region, uint32_t body)
{
    AdLast *last = run->last;
    for (uint32_t i = 0; i < last->site_count; i++) {
        const AdLastSite *site = &last->sites[i];
        if (site->around != region || site->body != body)
            continue;
        if (!site->m)
            TRY(record_region(run, site->which), false);
        else if (!run->counts && ad_moves_overwrites(site->m))
            TRY(ad_last_record(last, site), false);
    }
    return true;
}

static bool record_bodies(Run *run, uint32_t region, RecordedBody *bodies,
                          ReplayGap **gaps)
{
    const AdTemplate *t = run->last->regions[region].t;
    bool ok = true;
    for (uint32_t b = 0; b < t->body_count && ok; b++) {
        AdReopened reopened;
        TRY(ad_bodies_reopen(&reopened, t, b), false);
        if (!*gaps)
            *gaps = ad_bodies_gaps(t, reopened.body.scope);
        ok = *gaps != NULL;
        if (ok && t->kind == REGION_LOOP)
            ok = new_number(&run->last->regions[region]);
        ok = ok && record_sites(run, region, b);
        ok = ad_bodies_close(&reopened, ok, &bodies[b]);
    }
    return ok;
}

/* ---------------------------------------------------------------- regions */

/* Iterations of a loop, 0: there is no bound. */
static uint32_t bound_of(const AdTemplate *t)
{
    bool bounded = t->max_iterations > 0 && t->max_iterations < UINT32_MAX;
    return bounded ? (uint32_t) t->max_iterations : 0;
}

/* With a bound, the launch fails in which lanes exceed it: their numbers would not be
 * right. */
static bool note_most(const Run *run, uint32_t region, uint32_t count)
{
    const AdTemplate *t = run->last->regions[region].t;
    uint32_t *most = &run->most[region], fine = 0;
    if (!run->counts)
        TRY(fine = ad_run_check(t, count), false);
    uint32_t first = ad_moves_u32(count, 0), next = 0;
    if (first)
        next = jit_var_scatter(*most, count, first, fine, ReduceOpMax, ReduceModeAuto);
    jit_var_dec_ref(first);
    jit_var_dec_ref(fine);
    TRY(next, false);
    jit_var_dec_ref(*most);
    *most = next;
    return true;
}

static bool record_loop(Run *run, uint32_t region, RecordedBody *body, ReplayGap *gaps)
{
    const AdLastRegion *own = &run->last->regions[region];
    uint32_t count = 0;
    bool ok = ad_run_repeat(own->t, body, gaps, own->iteration, &count);
    if (region == 0) {
        run->count = count;
        return ok;
    }
    if (run->counts != (bound_of(own->t) != 0))
        ok = ok && note_most(run, region, count);
    jit_var_dec_ref(count);
    return ok;
}

static bool record_region(Run *run, uint32_t region)
{
    AdTemplate *t = run->last->regions[region].t;
    RecordedBody *bodies = alloc_zero(t->body_count, sizeof(RecordedBody));
    TRY(bodies, false);
    ReplayGap *gaps = NULL;
    bool ok = record_bodies(run, region, bodies, &gaps);
    if (ok && t->kind == REGION_LOOP)
        ok = record_loop(run, region, bodies, gaps);
    VarId none;
    state_lock();
    if (ok && t->kind != REGION_LOOP)
        ok = ad_bodies_record(t, bodies, gaps, &none);
    for (uint32_t b = 0; b < t->body_count; b++)
        ad_bodies_release(&bodies[b]);
    state_unlock();
    alloc_free(bodies);
    alloc_free(gaps);
    return ok;
}

/* ---------------------------------------------------------------- how many numbers */

static bool begin_run(Run *run, AdLast *last, bool counts)
{
    const uint32_t zero = 0;
    *run = (Run){ .last = last, .counts = counts };
    TRY(run->most = alloc_zero(last->region_count, sizeof(uint32_t)), false);
    for (uint32_t r = 1; r < last->region_count; r++) {
        if (last->regions[r].t->kind != REGION_LOOP)
            continue;
        run->most[r] = jit_var_literal(backend_of(last), VarTypeUInt32, &zero, 1, 1);
        TRY(run->most[r], false);
    }
    return true;
}

static void schedule_run(const Run *run)
{
    for (uint32_t r = 0; r < run->last->region_count; r++)
        if (run->most[r])
            jit_var_schedule(run->most[r]);
}

static void end_run(Run *run)
{
    for (uint32_t r = 0; run->most && r < run->last->region_count; r++)
        jit_var_dec_ref(run->most[r]);
    jit_var_dec_ref(run->count);
    alloc_free(run->most);
}

static bool largest_of(uint32_t count, uint32_t *found)
{
    uint32_t largest = jit_var_reduce(count, ReduceOpMax);
    bool ok = largest && jit_var_read(largest, 0, found);
    jit_var_dec_ref(largest);
    return ok;
}

/* Of the loops for which it is not known yet. */
static bool count_iterations(AdLast *last, uint64_t *most)
{
    Run run;
    uint32_t found;
    bool ok = begin_run(&run, last, true) && record_region(&run, 0);
    if (ok)
        schedule_run(&run);
    for (uint32_t r = 0; r < last->region_count && ok; r++) {
        if (most[r])
            continue;
        ok = r == 0 ? largest_of(run.count, &found)
                    : jit_var_read(run.most[r], 0, &found);
        most[r] = ok ? found : 0;
    }
    end_run(&run);
    return ok;
}

static bool is_frozen(void)
{
    return jit_flag(JitFlagFreezingScope);
}

/* How many iterations loops make at most, by region; 1 for what is not a loop. 0: that
 * of the outermost one is not known, and can be looked at later. */
static bool find_most(AdLast *last, uint64_t *most)
{
    bool any = false;
    for (uint32_t r = 0; r < last->region_count; r++) {
        const AdTemplate *t = last->regions[r].t;
        most[r] = t->kind != REGION_LOOP ? 1 : r > 0 ? bound_of(t) : 0;
        any |= !most[r] && r > 0;
    }
    if (any && is_frozen())
        return error_set(JIT_ERROR_UNSUPPORTED,
                         "ad_traverse(): in '%s' a loop overwrites an array, and its "
                         "'max_iterations' has to be known in a frozen function",
                         last->regions[0].t->name);
    if (any)
        return count_iterations(last, most);
    if (!most[0] && is_frozen())
        most[0] = UINT32_MAX;
    return true;
}

static bool refuse_number(const AdLast *last)
{
    return error_set(JIT_ERROR_UNSUPPORTED,
                     "ad_traverse(): '%s' overwrites an array more often than can be "
                     "counted",
                     last->regions[0].t->name);
}

/* Places and strides, from the innermost regions outwards: these are the last ones. */
static bool set_places(AdLast *last, const uint64_t *most, uint64_t *sizes)
{
    for (uint32_t r = last->region_count; r-- > 0;) {
        AdLastRegion *region = &last->regions[r];
        uint64_t size = 0;
        for (uint32_t i = 0; i < last->site_count; i++) {
            AdLastSite *site = &last->sites[i];
            if (site->around != r)
                continue;
            site->place = size;
            size += site->m ? 1 : sizes[site->which];
        }
        region->stride = size;
        if (size > (UINT64_MAX >> 1) / (most[r] ? most[r] : 1))
            return refuse_number(last);
        sizes[r] = size * most[r];
    }
    return true;
}

/* 'total': the largest number, 0: not known. */
static bool number_sites(AdLast *last, uint64_t *total)
{
    uint64_t *most = alloc_zero(last->region_count, sizeof(uint64_t));
    uint64_t *sizes = alloc_zero(last->region_count, sizeof(uint64_t));
    bool ok = most && sizes && find_most(last, most) && set_places(last, most, sizes);
    *total = ok && most[0] ? sizes[0] + 1 : 0;
    alloc_free(most);
    alloc_free(sizes);
    return ok;
}

/* ---------------------------------------------------------------- who writes last */

static bool refuse(const AdTemplate *t, const char *why)
{
    static const char *const kinds[] = {
        [REGION_LOOP] = "loop", [REGION_IF] = "conditional", [REGION_CALL] = "call"
    };
    return error_set(JIT_ERROR_UNSUPPORTED,
                     "ad_traverse(): %s '%s' overwrites an array: its derivative is "
                     "not available %s; what runs at once (mode=\"evaluated\") has one",
                     kinds[t->kind], t->name, why);
}

static bool check_needed(const AdLast *last, const AdTarget *targets)
{
    for (uint32_t i = 0; i < last->array_count; i++)
        if (targets[i].needed && targets[i].divided)
            return refuse(last->regions[0].t, "where it is two arrays afterwards");
    return !last->site_count || !ad_room_is_recorded() ||
           refuse(last->regions[0].t, "where a body is recorded");
}

/* Arrays of zeros, for those that need one. */
static bool make_arrays(AdLast *last, const AdTarget *targets, VarType type)
{
    const uint64_t zero = 0;
    for (uint32_t i = 0; i < last->array_count; i++) {
        if (!targets[i].needed)
            continue;
        ad_size_next(targets[i].size);
        last->arrays[i].numbers =
            jit_var_literal(backend_of(last), type, &zero, targets[i].size.count, 1);
        TRY(last->arrays[i].numbers, false);
    }
    return true;
}

static bool check_limit(const Run *run)
{
    uint32_t found;
    return largest_of(run->count, &found) &&
           (found <= run->limit || refuse_number(run->last));
}

/* Run the region, and have the numbers in memory. */
static bool run_region(Run *run)
{
    const AdLast *last = run->last;
    TRY(record_region(run, 0), false);
    for (uint32_t i = 0; i < last->array_count; i++)
        if (last->arrays[i].numbers)
            jit_var_schedule(last->arrays[i].numbers);
    schedule_run(run);
    return (!run->limit || check_limit(run)) && jit_eval();
}

static bool find_last(AdLast *last, const AdTarget *targets)
{
    uint64_t total;
    TRY(check_needed(last, targets), false);
    TRY(last->site_count, true);
    TRY(number_sites(last, &total), false);
    uint64_t stride = last->regions[0].stride;
    /* Values of 64 bits make packets shorter. */
    bool narrow = total ? total <= UINT32_MAX : stride <= UINT16_MAX;
    Run run;
    bool ok = begin_run(&run, last, false);
    if (!total)
        run.limit = (narrow ? UINT32_MAX : UINT64_MAX) / (stride ? stride : 1);
    ok = ok && make_arrays(last, targets, narrow ? VarTypeUInt32 : VarTypeUInt64) &&
         run_region(&run);
    end_run(&run);
    return ok;
}

bool ad_overwrite_find(AdTemplate *t, AdLast *last)
{
    *last = (AdLast){ 0 };
    if (!t->array_count || t->block || ad_last_region(t))
        return true;
    AdTarget *targets = NULL;
    state_lock();
    bool ok = ad_writes_find(t, last, &targets);
    state_unlock();
    ok = ok && find_last(last, targets);
    alloc_free(targets);
    if (!ok || !last->site_count)
        ad_last_free(last);
    return ok;
}

bool ad_overwrite_number(const AdTemplate *t, uint32_t *placeholder)
{
    AdLastRegion *region = ad_last_region(t);
    *placeholder = 0;
    if (!region)
        return true;
    TRY(new_number(region), false);
    *placeholder = jit_var_inc_ref(region->iteration);
    return true;
}

bool ad_overwrite_cut(const AdLast *last, uint64_t *gradients)
{
    for (uint32_t i = 0; i < last->array_count; i++) {
        const AdLastArray *array = &last->arrays[i];
        uint64_t *g = array->entry ? &gradients[array->entry - 1] : NULL;
        if (g && *g && array->numbers)
            TRY(*g = ad_last_before(array, *g), false);
    }
    return true;
}
