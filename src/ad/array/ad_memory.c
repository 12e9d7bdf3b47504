/*
 * ad_memory.c -- gathers, scatters, and what else moves entries
 *
 * The reverse of a gather is a scatter-addition into the gradient of the source, in
 * place if nobody else holds it; that of a scatter is a gather. Tiled, reversed and
 * shortened arrays are gathers from a position that the lane's number gives.
 */
#include "ad/array/ad_local.h"
#include "ad/array/ad_last.h"
#include "ad/array/ad_moves.h"
#include "ad/array/ad_near.h"
#include "ad/array/ad_repeat.h"
#include "ad/array/ad_untracked.h"
#include "ad/graph/ad_open.h"
#include "ad/graph/ad_thread.h"
#include "ad/rule/ad_apply.h"
#include "base/error.h"
#include "trace/graph/mask.h"

uint64_t ad_moves_leaf(const AdMoves *m, int i)
{
    return ad_traverse_is_tracked() ? m->held.leaves[i]
                                    : ad_var_index(m->held.leaves[i]);
}

uint64_t ad_moves_add(uint64_t into, uint64_t value)
{
    if (!into || !value) { /* nothing to add to, or a failure */
        ad_var_dec_ref(into);
        return value;
    }
    uint64_t sum = ad_var_add(into, value);
    ad_var_dec_ref(into);
    ad_var_dec_ref(value);
    return sum;
}

uint64_t ad_moves_number(uint64_t like, double value)
{
    VarInfo info;
    if (ad_local_is(like))
        return ad_local_zeros(ad_var_index(like));
    TRY(jit_var_peek_info(ad_var_index(like), &info), 0);
    uint32_t number = jit_var_f64(info.backend, value);
    uint32_t result = number ? jit_var_cast(number, info.type, 0) : 0;
    jit_var_dec_ref(number);
    return result;
}

uint64_t ad_moves_fill(uint64_t like, double value, AdSize size)
{
    uint64_t number = ad_moves_number(like, value);
    if (!number || ad_local_is(number))
        return number;
    ad_size_next(size);
    uint32_t result = jit_var_resize(ad_var_index(number), size.count);
    ad_var_dec_ref(number);
    return result;
}

uint32_t ad_moves_u32(uint32_t like, uint32_t number)
{
    VarInfo info;
    TRY(jit_var_peek_info(like, &info), 0);
    return jit_var_u32(info.backend, number);
}

uint32_t ad_moves_op(JitOp op, uint32_t a, uint32_t b)
{
    uint32_t result = a && b ? jit_var_op(op, (uint32_t[]){ a, b }) : 0;
    jit_var_dec_ref(a);
    jit_var_dec_ref(b);
    return result;
}

/* The mask of the stack for an access; a new reference, 0: nothing restricts it. */
static uint32_t mask_around(uint32_t index, uint32_t mask, size_t n,
                            const uint64_t *values)
{
    state_lock();
    VarId wide = mask_wide(&mask, 1, index);
    for (size_t i = 0; i < n; i++) {
        const VarId value = ad_var_index(values[i]);
        wide = mask_wide(&value, 1, wide);
    }
    VarId top = mask_for(state_thread(), wide);
    const Var *v = top ? var_get(top) : NULL;
    if (v && v->op == OP_LITERAL && v->value.literal)
        top = 0;
    if (top)
        var_inc(top);
    state_unlock();
    return top;
}

uint32_t ad_moves_mask(uint32_t index, uint32_t mask, size_t n, const uint64_t *values,
                       bool *ok)
{
    const uint32_t top = mask_around(index, mask, n, values);
    *ok = true;
    if (!top)
        return mask ? jit_var_inc_ref(mask) : 0;
    uint32_t full = mask ? jit_var_and(mask, top) : jit_var_inc_ref(top);
    jit_var_dec_ref(top);
    *ok = full != 0;
    return full;
}

uint64_t ad_moves_resize(uint64_t g, AdSize size)
{
    if (ad_local_is(g) || ad_size_is(size, ad_var_index(g)))
        return ad_var_inc_ref(g);
    ad_size_next(size);
    return ad_var_resize(g, size.count);
}

/* ---------------------------------------------------------------- gathers
 *
 * leaves: indices, mask or 0 */

typedef struct Gather {
    AdMoves m;
    ReduceMode mode;
    AdPattern pattern; /* of the indices, if sums can be made in its order */
    uint32_t number;   /* if AdMoves.near: the position is that of the lane plus it */
} Gather;

/* g with that many entries, or in a body as many as there are lanes; 0 where the mask
 * is not set. */
static uint64_t masked(uint64_t g, uint32_t mask, AdSize size)
{
    bool one = jit_var_peek_size(ad_var_index(g)) == 1;
    uint64_t whole = one ? ad_moves_resize(g, size) : ad_var_inc_ref(g);
    if (!mask || !whole)
        return whole;
    uint64_t zero = ad_moves_number(g, 0);
    uint64_t result = zero ? ad_var_select(mask, whole, zero) : 0;
    ad_var_dec_ref(zero);
    ad_var_dec_ref(whole);
    return result;
}

static uint64_t gather_forward(const AdMoves *m, uint32_t operand, uint64_t g,
                               uint64_t into)
{
    (void) operand;
    uint32_t index = ad_var_index(m->held.leaves[0]);
    uint32_t mask = ad_var_index(m->held.leaves[1]);
    return ad_moves_add(
        into, m->size[0].count == 1
                  ? masked(g, mask, m->size[1])
                  : ad_var_gather(g, index, mask, ((const Gather *) m)->mode));
}

/* With 'size' entries, those that are missing being 0. */
static uint64_t with_zeros(uint64_t g, size_t size)
{
    const size_t before = jit_var_peek_size(ad_var_index(g));
    if (before == size)
        return ad_var_inc_ref(g);
    VarInfo info;
    TRY(jit_var_peek_info(ad_var_index(g), &info), 0);
    const uint32_t place = jit_var_counter(info.backend, size);
    const uint32_t end = ad_moves_u32(ad_var_index(g), (uint32_t) before);
    const uint32_t there =
        place && end ? jit_var_op(JitOpLt, (uint32_t[]){ place, end }) : 0;
    const uint64_t result =
        there ? ad_var_gather(g, place, there, ReduceModePermute) : 0;
    jit_var_dec_ref(place);
    jit_var_dec_ref(end);
    jit_var_dec_ref(there);
    return result;
}

/* What each entry gets is a block or a column of the gradient. */
static uint64_t sum_in_order(const AdMoves *m, const AdPattern *pattern, uint64_t g,
                             uint64_t into)
{
    const size_t lanes = pattern->each * pattern->period * pattern->rows;
    uint64_t whole = ad_moves_resize(g, m->size[1]);
    uint64_t full = whole ? with_zeros(whole, lanes) : 0;
    uint64_t sums = full ? ad_repeat_sums(full, pattern) : 0;
    ad_var_dec_ref(whole);
    ad_var_dec_ref(full);
    return ad_moves_add(into, sums);
}

static uint64_t gather_backward(const AdMoves *m, uint32_t operand, uint64_t g,
                                uint64_t into)
{
    (void) operand;
    uint32_t index = ad_var_index(m->held.leaves[0]);
    uint32_t mask = ad_var_index(m->held.leaves[1]);
    ReduceMode mode = ((const Gather *) m)->mode;
    if (m->size[0].count == 1) /* for all indices; the node sums up in the end */
        return ad_moves_add(into, masked(g, mask, m->size[1]));
    const AdPattern *pattern = &((const Gather *) m)->pattern;
    if (pattern->each && !ad_thread_in_body())
        return sum_in_order(m, pattern, g, into);
    if (m->near && !ad_thread_in_body())
        return ad_moves_add(
            into, ad_near_reverse(m, ((const Gather *) m)->number, mask, g));
    /* A promise about the lanes of this gather says nothing about other iterations of a
     * loop, and other bodies, which write to the same array in one kernel. */
    bool promises = mode == ReduceModePermute || mode == ReduceModeNoConflicts;
    if (promises && ad_thread_in_body())
        mode = ReduceModeAuto;
    bool fresh = !into;
    if (fresh)
        into = ad_moves_fill(g, 0, m->size[0]);
    uint64_t whole = into ? ad_moves_resize(into, m->size[0]) : 0;
    ad_var_dec_ref(into);
    TRY(whole, 0);
    ReduceOp op = fresh && mode == ReduceModePermute ? ReduceOpIdentity : ReduceOpAdd;
    if (!fresh && mode == ReduceModePermute)
        mode = ReduceModeNoConflicts;
    uint64_t result = ad_var_scatter(whole, g, index, mask, op, mode);
    ad_var_dec_ref(whole);
    return result;
}

/* Of indices that no mask, promise or body has to do with. Those of a frozen function
 * that is recorded may have another pattern for other sizes. */
static AdPattern find_pattern(uint64_t source, uint32_t index, uint32_t mask,
                              ReduceMode mode)
{
    const size_t entries = jit_var_peek_size(ad_var_index(source));
    if (mask || mode != ReduceModeAuto || entries == 1 || ad_thread_in_body() ||
        state_thread()->recording)
        return (AdPattern){ 0 };
    state_lock();
    const AdPattern found = ad_pattern_of(index, entries);
    state_unlock();
    return found;
}

static uint64_t make_gather(uint32_t result, uint64_t source, uint32_t index,
                            uint32_t mask, ReduceMode mode)
{
    TRY(result, 0);
    bool ok;
    uint32_t full = ad_moves_mask(index, mask, 0, NULL, &ok);
    if (!ok) {
        jit_var_dec_ref(result);
        return 0;
    }
    Gather gather = {
        .m = { .held = { .count = 2, .leaves = { index, full } },
               .name = "gather",
               .kind = MOVES_READ,
               .forward = gather_forward,
               .backward = gather_backward,
               .size = { ad_size_of(ad_var_index(source)), ad_size_of(result) } },
        .mode = mode,
        .pattern = find_pattern(source, index, full, mode),
    };
    gather.m.near = ad_near_find(index, gather.m.size[0].count, &gather.number);
    uint64_t leaf = ad_apply_moves(result, 1, &source, &gather.m, sizeof(gather));
    jit_var_dec_ref(full);
    return leaf;
}

uint64_t ad_var_gather(uint64_t source, uint32_t index, uint32_t mask, ReduceMode mode)
{
    uint32_t result = jit_var_gather(ad_var_index(source), index, mask);
    return ad_var_node(source) ? make_gather(result, source, index, mask, mode)
                               : result;
}

/* Position of entry k of packets of n: index * n + k. */
static uint32_t packet_position(uint32_t index, size_t n, size_t k)
{
    VarInfo info;
    TRY(jit_var_peek_info(index, &info), 0);
    uint32_t factor = jit_var_literal(info.backend, info.type, &(uint64_t){ n }, 1, 0);
    uint32_t offset = jit_var_literal(info.backend, info.type, &(uint64_t){ k }, 1, 0);
    uint32_t result = factor && offset ? jit_var_fma(index, factor, offset) : 0;
    jit_var_dec_ref(factor);
    jit_var_dec_ref(offset);
    return result;
}

bool ad_var_gather_packet(size_t n, uint64_t source, uint32_t index, uint32_t mask,
                          uint64_t *out, ReduceMode mode)
{
    uint32_t plain[PACKET_LIMIT];
    if (!out)
        return error_set(JIT_ERROR_ARGUMENT, "ad_var_gather_packet(): 'out' is NULL");
    TRY(jit_var_gather_packet(n, ad_var_index(source), index, mask, plain), false);
    bool ok = true;
    for (size_t k = 0; k < n; k++) {
        if (!ad_var_node(source) || !ok) {
            out[k] = plain[k];
            continue;
        }
        uint32_t position = packet_position(index, n, k);
        if (position)
            out[k] = make_gather(plain[k], source, position, mask, mode);
        else
            jit_var_dec_ref(plain[k]);
        ok = position && out[k];
        if (!ok)
            out[k] = 0;
        jit_var_dec_ref(position);
    }
    for (size_t k = 0; k < n && !ok; k++) {
        ad_var_dec_ref(out[k]);
        out[k] = 0;
    }
    return ok;
}

/* A gather from indices that are known by now, whose reference moves. */
static uint64_t gather_like(uint32_t result, uint64_t source, uint32_t index,
                            ReduceMode mode)
{
    uint64_t leaf = index ? make_gather(result, source, index, 0, mode) : 0;
    if (!index)
        jit_var_dec_ref(result);
    jit_var_dec_ref(index);
    return leaf;
}

/* A number for each entry of a variable. */
static uint32_t counter_of(uint32_t index)
{
    VarInfo info;
    TRY(jit_var_peek_info(index, &info), 0);
    ad_size_next(ad_size_of(index));
    return jit_var_counter(info.backend, info.size);
}

uint64_t ad_var_copy(uint64_t index)
{
    uint64_t copy = jit_var_copy(ad_var_index(index));
    if (copy && ad_grad_enabled(index)) {
        state_lock();
        ad_graph_ref(ad_var_node(index));
        state_unlock();
        copy |= (uint64_t) ad_var_node(index) << 32;
    }
    return copy;
}

uint64_t ad_var_shrink(uint64_t index, size_t size)
{
    uint32_t result = jit_var_shrink(ad_var_index(index), size);
    if (!result || !ad_var_node(index))
        return result;
    return gather_like(result, index, counter_of(result), ReduceModePermute);
}

/* The size of a variable as the core has it in its kernels: read where a recording is
 * to serve others, and else the recording is bound to it. */
static uint32_t number_of_entries(uint32_t index)
{
    return jit_freeze_is_general()
               ? jit_var_opaque_width(index)
               : ad_moves_u32(index, (uint32_t) jit_var_size(index));
}

uint64_t ad_var_reverse(uint64_t index)
{
    uint32_t result = jit_var_reverse(ad_var_index(index));
    if (!result || !ad_var_node(index))
        return result;
    uint32_t last =
        ad_moves_op(JitOpSub, number_of_entries(result), ad_moves_u32(result, 1));
    uint32_t position = ad_moves_op(JitOpSub, last, counter_of(result));
    return gather_like(result, index, position, ReduceModePermute);
}

uint64_t ad_var_tile(uint64_t index, size_t count)
{
    uint32_t result = jit_var_tile(ad_var_index(index), count);
    if (!result || !ad_var_node(index))
        return result;
    uint32_t position = ad_moves_op(JitOpMod, counter_of(result),
                                    number_of_entries(ad_var_index(index)));
    if (!position || ad_thread_in_body() || jit_var_peek_size(ad_var_index(index)) == 1)
        return gather_like(result, index, position, ReduceModeAuto);
    uint64_t leaf =
        ad_repeat_track(result, index, position, ad_size_of(ad_var_index(index)));
    jit_var_dec_ref(position);
    return leaf;
}

/* ---------------------------------------------------------------- scatters
 *
 * Operand 0 is the target, the others are the values of a packet.
 * leaves: indices, mask or 0; for minimum and maximum: result, old target, value */

typedef struct Scatter {
    AdMoves m;
    ReduceOp op;
    ReduceMode mode;
    bool parts; /* of an array whose other parts nobody has looked at: the gradient of
                   the target is that of these only */
    uint32_t n; /* of a packet; else 1 */
} Scatter;

static uint32_t scatter_position(const Scatter *s, uint32_t operand)
{
    uint32_t index = ad_var_index(s->m.held.leaves[0]);
    return s->n == 1 ? jit_var_inc_ref(index)
                     : packet_position(index, s->n, operand - 1);
}

/* g, whose reference moves, where the target kept its entries, 0 elsewhere. */
static uint64_t keep_target(const Scatter *s, uint64_t g)
{
    uint32_t mask = ad_var_index(s->m.held.leaves[1]);
    if (s->op == ReduceOpAdd || s->parts || ad_last_has(&s->m))
        return g;
    if (s->op != ReduceOpIdentity) {
        uint64_t same = ad_apply(OP_EQ, 2,
                                 (uint64_t[]){ ad_var_index(s->m.held.leaves[2]),
                                               ad_var_index(s->m.held.leaves[3]) });
        uint64_t zero = ad_moves_number(g, 0);
        uint64_t kept = same && zero ? ad_var_select(same, g, zero) : 0;
        ad_var_dec_ref(same);
        ad_var_dec_ref(zero);
        ad_var_dec_ref(g);
        return kept;
    }
    uint64_t kept = ad_moves_resize(g, s->m.size[0]);
    ad_var_dec_ref(g);
    uint64_t zero = ad_moves_number(g, 0);
    for (uint32_t k = 1; k <= s->n && kept && zero; k++) {
        uint32_t index = scatter_position(s, k);
        uint64_t next =
            index ? ad_var_scatter(kept, zero, index, mask, ReduceOpIdentity, s->mode)
                  : 0;
        jit_var_dec_ref(index);
        ad_var_dec_ref(kept);
        kept = next;
    }
    ad_var_dec_ref(zero);
    return kept;
}

/* The mask of lanes whose value is in the result (0: all). False: error recorded. */
static bool value_mask(const Scatter *s, uint32_t index, uint32_t *result)
{
    uint32_t mask = ad_var_index(s->m.held.leaves[1]);
    if (s->op == ReduceOpIdentity || s->op == ReduceOpAdd)
        return ad_last_mask(&s->m, index, mask, result);
    uint32_t found = jit_var_gather(ad_var_index(s->m.held.leaves[2]), index, mask);
    uint32_t same = found ? jit_var_eq(found, ad_var_index(s->m.held.leaves[4])) : 0;
    *result = same && mask ? jit_var_and(same, mask) : jit_var_inc_ref(same);
    jit_var_dec_ref(found);
    jit_var_dec_ref(same);
    return *result != 0;
}

/* Into what there is, so that arrays that a body has written to need not be added. */
static uint64_t scatter_forward(const AdMoves *m, uint32_t operand, uint64_t g,
                                uint64_t into)
{
    const Scatter *s = (const Scatter *) m;
    if (operand == 0)
        return g ? ad_moves_add(into, keep_target(s, ad_var_inc_ref(g)))
                 : keep_target(s, into);
    uint32_t index = scatter_position(s, operand);
    uint32_t mask = 0;
    bool ok = index && value_mask(s, index, &mask);
    uint64_t base =
        into ? ad_moves_resize(into, m->size[0]) : ad_moves_fill(g, 0, m->size[0]);
    ad_var_dec_ref(into);
    /* What another iteration has written is overwritten. */
    ReduceOp op = s->op == ReduceOpIdentity && !ad_last_has(m) ? s->op : ReduceOpAdd;
    uint64_t result = 0;
    if (ok && base)
        result = ad_var_scatter(base, g, index, mask, op, s->mode);
    jit_var_dec_ref(index);
    jit_var_dec_ref(mask);
    ad_var_dec_ref(base);
    return result;
}

static uint64_t scatter_backward(const AdMoves *m, uint32_t operand, uint64_t g,
                                 uint64_t into)
{
    const Scatter *s = (const Scatter *) m;
    uint64_t result = 0;
    if (operand == 0) {
        result = keep_target(s, ad_var_inc_ref(g));
    } else {
        uint32_t index = scatter_position(s, operand);
        uint32_t mask = 0;
        bool ok = index && value_mask(s, index, &mask);
        uint64_t whole = ad_moves_resize(g, m->size[0]);
        if (ok && whole)
            result = ad_var_gather(whole, index, mask, s->mode);
        jit_var_dec_ref(index);
        jit_var_dec_ref(mask);
        ad_var_dec_ref(whole);
    }
    return ad_moves_add(into, result);
}

static Scatter scatter_of(uint32_t result, size_t n, uint32_t index, uint32_t mask,
                          ReduceOp op, ReduceMode mode)
{
    return (Scatter){
        .m = { .held = { .count = 2, .leaves = { index, mask } },
               .name = "scatter",
               .kind = MOVES_WRITE,
               .forward = scatter_forward,
               .backward = scatter_backward,
               .size = { ad_size_of(result) } },
        .op = op,
        .mode = mode == ReduceModeParts ? ReduceModePermute : mode,
        .parts = mode == ReduceModeParts,
        .n = (uint32_t) n,
    };
}

/* 'before': what the target was, if that is needed. */
static uint64_t make_scatter(uint32_t result, size_t n, uint64_t target,
                             uint32_t before, const uint64_t *values, uint32_t index,
                             uint32_t mask, ReduceOp op, ReduceMode mode)
{
    TRY(result, 0);
    uint64_t operands[PACKET_LIMIT + 1] = { target };
    for (size_t k = 0; k < n; k++)
        operands[k + 1] = values[k];
    bool ok;
    uint32_t full = ad_moves_mask(index, mask, n, values, &ok);
    if (!ok) {
        jit_var_dec_ref(result);
        return 0;
    }
    Scatter s = scatter_of(result, n, index, full, op, mode);
    if (before) {
        s.m.held.count = 5;
        s.m.held.leaves[2] = result;
        s.m.held.leaves[3] = before;
        s.m.held.leaves[4] = ad_var_index(values[0]);
    }
    state_lock();
    NodeId before_loop = 0;
    ok = !ad_graph_is_plain(target) ||
         ad_untracked_begin(result, &operands[0], &before_loop);
    state_unlock();
    uint64_t leaf = 0;
    if (ok)
        leaf = ad_apply_moves(result, (uint32_t) n + 1, operands, &s.m, sizeof(s));
    else
        jit_var_dec_ref(result);
    jit_var_dec_ref(full);
    state_lock();
    ad_untracked_mark(before_loop);
    bool noted = !ad_var_node(leaf) || ad_open_note_write(leaf);
    state_unlock();
    if (noted)
        return leaf;
    ad_var_dec_ref(leaf);
    return 0;
}

bool ad_moves_is_plain_scatter(const AdMoves *m)
{
    return m->forward == scatter_forward && ((const Scatter *) m)->op <= ReduceOpAdd;
}

bool ad_moves_overwrites(const AdMoves *m)
{
    return ((const Scatter *) m)->op == ReduceOpIdentity;
}

uint32_t ad_moves_packet(const AdMoves *m)
{
    return ((const Scatter *) m)->n;
}

uint32_t ad_moves_position(const AdMoves *m, uint32_t k)
{
    return scatter_position((const Scatter *) m, k + 1);
}

/* The result of a scatter of which nothing is tracked. */
static uint64_t make_untracked(uint32_t result, size_t n, uint64_t target,
                               const uint64_t *values, uint32_t index, uint32_t mask,
                               ReduceOp op, ReduceMode mode)
{
    bool possible;
    if (!result || op == ReduceOpAdd ||
        !ad_untracked_matters(result, target, &possible))
        return result;
    if (possible && op == ReduceOpIdentity)
        return make_scatter(result, n, target, 0, values, index, mask, op, mode);
    state_lock();
    bool ok = ad_open_note_untracked(result);
    state_unlock();
    if (ok)
        return result;
    jit_var_dec_ref(result);
    return 0;
}

/* One after the other, since each compares with what the ones before have left. */
static uint64_t scatter_each(size_t n, uint64_t target, const uint64_t *values,
                             uint32_t index, uint32_t mask, ReduceOp op,
                             ReduceMode mode)
{
    uint64_t result = ad_var_inc_ref(target);
    for (size_t k = 0; k < n && result; k++) {
        uint32_t where = packet_position(index, n, k);
        uint64_t next =
            where ? ad_var_scatter(result, values[k], where, mask, op, mode) : 0;
        jit_var_dec_ref(where);
        ad_var_dec_ref(result);
        result = next;
    }
    return result;
}

uint64_t ad_var_scatter_packet(size_t n, uint64_t target, const uint64_t *values,
                               uint32_t index, uint32_t mask, ReduceOp op,
                               ReduceMode mode)
{
    uint32_t plain[PACKET_LIMIT];
    if (!values || !n || n > PACKET_LIMIT)
        return (uint64_t) error_set(
            JIT_ERROR_ARGUMENT,
            "ad_var_scatter_packet(): %zu values at %p, expected "
            "1 to %d",
            n, (const void *) values, PACKET_LIMIT);
    bool tracked = ad_apply_tracks((uint32_t) n, values) || ad_apply_tracks(1, &target);
    bool compares = tracked && (op == ReduceOpMin || op == ReduceOpMax);
    if (tracked && !compares && op > ReduceOpAdd)
        return (uint64_t) error_set(
            JIT_ERROR_UNSUPPORTED,
            "ad_var_scatter(): this reduction (ReduceOp %d) has "
            "no derivative, expected Identity, Add, Min or Max, "
            "or operands that are not tracked",
            (int) op);
    if (compares && n > 1)
        return scatter_each(n, target, values, index, mask, op, mode);
    for (size_t k = 0; k < n; k++)
        plain[k] = ad_var_index(values[k]);
    /* Held, so that the core leaves it alone and writes to a copy. */
    uint32_t before = compares ? jit_var_inc_ref(ad_var_index(target)) : 0;
    uint32_t result =
        n == 1 ? jit_var_scatter(ad_var_index(target), plain[0], index, mask, op, mode)
               : jit_var_scatter_packet(n, ad_var_index(target), plain, index, mask, op,
                                        mode);
    uint64_t leaf =
        tracked ? make_scatter(result, n, target, before, values, index, mask, op, mode)
                : make_untracked(result, n, target, values, index, mask, op, mode);
    jit_var_dec_ref(before);
    return leaf;
}

uint64_t ad_var_scatter(uint64_t target, uint64_t value, uint32_t index, uint32_t mask,
                        ReduceOp op, ReduceMode mode)
{
    if (!(ad_var_node(target) | ad_var_node(value)))
        return make_untracked(jit_var_scatter(ad_var_index(target), ad_var_index(value),
                                              index, mask, op, mode),
                              1, target, &value, index, mask, op, mode);
    return ad_var_scatter_packet(1, target, &value, index, mask, op, mode);
}

bool ad_var_scatter_add_kahan(uint64_t *target_1, uint64_t *target_2, uint64_t value,
                              uint32_t index, uint32_t mask)
{
    if (!target_1 || !target_2)
        return error_set(JIT_ERROR_ARGUMENT,
                         "ad_var_scatter_add_kahan(): a target is NULL");
    uint64_t before = *target_1;
    uint32_t first = ad_var_index(*target_1), second = ad_var_index(*target_2);
    /* References to the variables move to the core and back. */
    if (!jit_var_scatter_add_kahan(&first, &second, value ? ad_var_index(value) : 0,
                                   index, mask))
        return false;
    *target_2 = (*target_2 >> 32 << 32) | second;
    *target_1 = first;
    if (!(ad_var_node(before) | ad_var_node(value)))
        return true;
    jit_var_inc_ref(first);
    uint64_t leaf = make_scatter(first, 1, before, 0, &value, index, mask, ReduceOpAdd,
                                 ReduceModeAuto);
    if (!leaf) {
        *target_1 = (before >> 32 << 32) | first;
        return false;
    }
    if (ad_var_node(before)) {
        state_lock();
        ad_graph_unref(ad_var_node(before));
        state_unlock();
    }
    jit_var_dec_ref(first);
    *target_1 = leaf;
    return true;
}

uint64_t ad_var_write(uint64_t target, size_t offset, const void *entry)
{
    uint32_t result = jit_var_write(ad_var_index(target), offset, entry);
    if (!result || !ad_grad_enabled(target))
        return result;
    uint32_t index = ad_moves_u32(result, (uint32_t) offset);
    uint64_t value = ad_moves_number(result, 0), leaf = 0;
    if (index && value)
        leaf = make_scatter(result, 1, target, 0, &value, index, 0, ReduceOpIdentity,
                            ReduceModeAuto);
    else
        jit_var_dec_ref(result);
    jit_var_dec_ref(index);
    ad_var_dec_ref(value);
    return leaf;
}
