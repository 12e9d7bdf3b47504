/*
 * ad_transpose.c -- axes that change places
 */
#include "ad/array/ad_moves.h"
#include "ad/rule/ad_apply.h"

typedef struct Transpose {
    AdMoves m;
    AdSize axes[3]; /* rows, columns, items */
} Transpose;

/* 'back': rows are columns. */
static uint64_t change(const AdMoves *m, uint64_t g, bool back, uint64_t into)
{
    const AdSize *axes = ((const Transpose *) m)->axes;
    uint64_t whole = ad_moves_resize(g, m->size[0]), result = 0;
    if (whole) {
        const uint64_t sizes[] = { ad_size_origin(axes[back]),
                                   ad_size_origin(axes[!back]),
                                   ad_size_origin(axes[2]) };
        const JitTranspose places = { axes[back].count, axes[!back].count,
                                      axes[2].count, sizes };
        result = ad_var_transpose(whole, &places);
    }
    ad_var_dec_ref(whole);
    return ad_moves_add(into, result);
}

static uint64_t transpose_forward(const AdMoves *m, uint32_t operand, uint64_t g,
                                  uint64_t into)
{
    (void) operand;
    return change(m, g, false, into);
}

static uint64_t transpose_backward(const AdMoves *m, uint32_t operand, uint64_t g,
                                   uint64_t into)
{
    (void) operand;
    return change(m, g, true, into);
}

uint64_t ad_var_transpose(uint64_t index, const JitTranspose *axes)
{
    uint32_t result = jit_var_transpose(ad_var_index(index), axes);
    if (!ad_var_node(index) || !result)
        return result;
    const uint64_t *sizes = axes->sizes;
    Transpose t = {
        .m = { .name = "transpose",
               .forward = transpose_forward,
               .backward = transpose_backward,
               .size = { ad_size_of(ad_var_index(index)) } },
        .axes = { ad_size_from(axes->rows, sizes ? sizes[0] : 0),
                  ad_size_from(axes->columns, sizes ? sizes[1] : 0),
                  ad_size_from(axes->items, sizes ? sizes[2] : 0) },
    };
    return ad_apply_moves(result, 1, &index, &t.m, sizeof(t));
}
