/*
 * ad_local.c -- see ad_local.h; the functions of ad.h
 */
#include "ad/array/ad_local.h"

#include "ad/array/ad_moves.h"
#include "ad/rule/ad_apply.h"
#include "base/error.h"
#include "trace/graph/local.h"

bool ad_local_is(uint64_t leaf)
{
    VarId id = ad_var_index(leaf);
    state_lock();
    bool is = var_exists(id) && var_get(id)->flags & VAR_LOCAL;
    state_unlock();
    return is;
}

uint64_t ad_local_zeros(uint32_t like)
{
    VarInfo info;
    size_t length = jit_array_length(like);
    TRY(length && jit_var_peek_info(like, &info), 0);
    return jit_array_create(info.backend, info.type, length, info.size);
}

uint32_t ad_local_unset(uint32_t like, size_t length, size_t size)
{
    state_lock();
    const Var *v = var_get(like);
    VarId array = local_create_unset(state_thread(), v->device, (VarType) v->type,
                                     length, size);
    state_unlock();
    return array;
}

/* The position k, for all lanes. */
static uint32_t place(uint64_t array, size_t k)
{
    return ad_moves_u32(ad_var_index(array), (uint32_t) k);
}

/* array[index] += value; the reference to the array moves. */
static uint64_t add_to(uint64_t array, uint32_t index, uint64_t value, uint32_t mask)
{
    uint64_t before = array && index ? ad_array_read(array, index, mask) : 0;
    uint64_t sum = before ? ad_var_add(before, value) : 0;
    uint64_t next = sum ? ad_array_write(array, index, sum, mask) : 0;
    ad_var_dec_ref(before);
    ad_var_dec_ref(sum);
    ad_var_dec_ref(array);
    return next;
}

uint64_t ad_local_add(uint64_t a, uint64_t b)
{
    size_t length = jit_array_length(ad_var_index(a));
    uint64_t sum = ad_var_inc_ref(a);
    for (size_t k = 0; k < length && sum; k++) {
        uint32_t index = place(b, k);
        uint64_t entry = index ? ad_array_read(b, index, 0) : 0;
        if (entry) {
            sum = add_to(sum, index, entry, 0);
        } else {
            ad_var_dec_ref(sum);
            sum = 0;
        }
        jit_var_dec_ref(index);
        ad_var_dec_ref(entry);
    }
    return sum;
}

/* Both references move. */
static uint64_t join(uint64_t into, uint64_t array)
{
    if (!into || !array) {
        ad_var_dec_ref(into);
        return array;
    }
    uint64_t sum = ad_local_add(into, array);
    ad_var_dec_ref(into);
    ad_var_dec_ref(array);
    return sum;
}

/* ---------------------------------------------------------------- reading
 *
 * leaves: position, mask or 0, a local array like the operand */

static uint64_t read_forward(const AdMoves *m, uint32_t operand, uint64_t g,
                             uint64_t into)
{
    (void) operand;
    return ad_moves_add(into, ad_array_read(g, ad_var_index(m->held.leaves[0]),
                                            ad_var_index(m->held.leaves[1])));
}

static uint64_t read_backward(const AdMoves *m, uint32_t operand, uint64_t g,
                              uint64_t into)
{
    (void) operand;
    if (!into)
        into = ad_local_zeros(ad_var_index(m->held.leaves[2]));
    return add_to(into, ad_var_index(m->held.leaves[0]), g,
                  ad_var_index(m->held.leaves[1]));
}

/* The result (its reference moves) of an access to operand 0, a local array: it holds
 * where lanes access it, and which. */
static uint64_t track(uint32_t result, uint32_t n, const uint64_t *operands,
                      uint32_t offset, uint32_t mask, const AdMoves *access)
{
    bool ok;
    uint32_t full = ad_moves_mask(offset, mask, n - 1, operands + 1, &ok);
    if (!ok) {
        jit_var_dec_ref(result);
        return 0;
    }
    AdMoves m = *access;
    m.held.count = 3;
    m.held.leaves[0] = offset;
    m.held.leaves[1] = full;
    m.held.leaves[2] = ad_var_index(operands[0]);
    uint64_t leaf = ad_apply_moves(result, n, operands, &m, sizeof(m));
    jit_var_dec_ref(full);
    return leaf;
}

uint64_t ad_array_read(uint64_t array, uint32_t offset, uint32_t mask)
{
    uint32_t result = jit_array_read(ad_var_index(array), offset, mask);
    if (!result || !ad_grad_enabled(array))
        return result;
    const AdMoves read = { .name = "local read",
                           .kind = MOVES_LOCAL,
                           .forward = read_forward,
                           .backward = read_backward,
                           .local = { true, false } };
    return track(result, 1, &array, offset, mask, &read);
}

/* ---------------------------------------------------------------- writing
 *
 * The same; operand 0 is the array, operand 1 the value. */

static uint64_t write_zero(const AdMoves *m, uint64_t g)
{
    VarInfo info;
    TRY(jit_var_peek_info(ad_var_index(g), &info), 0);
    uint32_t zero = jit_var_literal(info.backend, info.type, &(uint64_t){ 0 }, 1, 0);
    uint64_t result = zero ? ad_array_write(g, ad_var_index(m->held.leaves[0]), zero,
                                            ad_var_index(m->held.leaves[1]))
                           : 0;
    jit_var_dec_ref(zero);
    return result;
}

/* The tangent of the array comes first. */
static uint64_t write_forward(const AdMoves *m, uint32_t operand, uint64_t g,
                              uint64_t into)
{
    if (operand == 0)
        return join(into, write_zero(m, g));
    if (!into)
        into = ad_local_zeros(ad_var_index(m->held.leaves[2]));
    return add_to(into, ad_var_index(m->held.leaves[0]), g,
                  ad_var_index(m->held.leaves[1]));
}

static uint64_t write_backward(const AdMoves *m, uint32_t operand, uint64_t g,
                               uint64_t into)
{
    if (operand == 0)
        return join(into, write_zero(m, g));
    return ad_moves_add(into, ad_array_read(g, ad_var_index(m->held.leaves[0]),
                                            ad_var_index(m->held.leaves[1])));
}

uint64_t ad_array_write(uint64_t array, uint32_t offset, uint64_t value, uint32_t mask)
{
    uint32_t result =
        jit_array_write(ad_var_index(array), offset, ad_var_index(value), mask);
    const uint64_t operands[] = { array, value };
    if (!result || !ad_apply_tracks(2, operands))
        return result;
    const AdMoves write = { .name = "local write",
                            .kind = MOVES_LOCAL,
                            .forward = write_forward,
                            .backward = write_backward,
                            .local = { true, true } };
    return track(result, 2, operands, offset, mask, &write);
}

/* ---------------------------------------------------------------- filling
 *
 * leaves: a local array like the result */

static uint64_t init_forward(const AdMoves *m, uint32_t operand, uint64_t g,
                             uint64_t into)
{
    (void) operand;
    return join(into, ad_array_init(ad_var_index(m->held.leaves[0]), g));
}

/* What each entry has got. */
static uint64_t init_backward(const AdMoves *m, uint32_t operand, uint64_t g,
                              uint64_t into)
{
    (void) operand;
    size_t length = jit_array_length(ad_var_index(m->held.leaves[0]));
    bool ok = true;
    for (size_t k = 0; k < length && ok; k++) {
        uint32_t index = place(g, k);
        uint64_t entry = index ? ad_array_read(g, index, 0) : 0;
        into = ad_moves_add(into, entry);
        ok = entry && into;
        jit_var_dec_ref(index);
    }
    if (ok)
        return into;
    ad_var_dec_ref(into);
    return 0;
}

uint64_t ad_array_init(uint32_t array, uint64_t value)
{
    uint32_t result = jit_array_init(array, ad_var_index(value));
    if (!result || !ad_grad_enabled(value))
        return result;
    const AdMoves m = { .held = { .count = 1, .leaves = { array } },
                        .name = "local array",
                        .kind = MOVES_LOCAL,
                        .forward = init_forward,
                        .backward = init_backward,
                        .local = { false, true } };
    return ad_apply_moves(result, 1, &value, &m, sizeof(m));
}
