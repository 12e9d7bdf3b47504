/*
 * call_util.h -- what the tests of calls share
 */
#ifndef CALL_UTIL_H
#define CALL_UTIL_H

#include "test_util.h"

enum { N = 100 }; /* lanes */

/* How many callables the Program of a variable has. */
#define CALLABLES(id) program_count(id, "    return")

/* ids[i] = i % bound */
static UNUSED uint32_t cyclic_ids(uint32_t bound, uint32_t *ids)
{
    for (uint32_t i = 0; i < N; ++i)
        ids[i] = i % bound;
    return u32_array(N, ids);
}

/* op(a, literal) */
static UNUSED uint32_t with_number(uint32_t (*op)(uint32_t, uint32_t), uint32_t a,
                                   uint32_t number)
{
    uint32_t b = jit_var_u32(CPU, number), result = op(a, b);
    OK(result);
    jit_var_dec_ref(b);
    return result;
}

#endif
