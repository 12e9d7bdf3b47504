/*
 * few_rows_target.c -- see few_rows_target.h
 */
#include "few_rows_target.h"

#include <string.h>

#include "base/hash.h"
#include "engine/native/native_choose.h"
#include "engine/native/x86/avx2/avx2.h"
#include "engine/native/x86/avx512/avx512.h"

enum { FEW, SPARSE = 2 }; /* of AVX2; that of AVX-512 is the next one */

typedef struct Tables {
    NativeRows rows;
    NativeCasts casts;
} Tables;

static Tables tables[FEW_ROWS_TARGETS];
static FormsTarget made[FEW_ROWS_TARGETS];
const NativeTarget *few_rows_targets[FEW_ROWS_TARGETS];

static const struct {
    Op op;
    VarType type;
} few[] = {
    { OP_ADD, VarTypeFloat32 },    { OP_MUL, VarTypeFloat32 },
    { OP_ADD, VarTypeUInt32 },     { OP_GATHER, VarTypeFloat32 },
    { OP_SCATTER, VarTypeFloat32 }
};

static void copy_local(Tables *to, const FormsTarget *base)
{
    static const Op local[] = { OP_LOCAL, OP_LOCAL_READ, OP_LOCAL_WRITE,
                                OP_LOCAL_MOVE };
    for (uint32_t i = 0; i < sizeof local / sizeof *local; ++i)
        memcpy(to->rows[local[i]], (*base->native.rows)[local[i]],
               sizeof to->rows[local[i]]);
}

static void copy_few(Tables *to, const FormsTarget *base)
{
    for (uint32_t i = 0; i < sizeof few / sizeof *few; ++i)
        to->rows[few[i].op][few[i].type] =
            (*base->native.rows)[few[i].op][few[i].type];
    copy_local(to, base);
}

static bool is_drawn(uint64_t seed, uint32_t table, uint32_t line, uint32_t type)
{
    const uint32_t cell[] = { table, line, type };
    return hash_64(cell, sizeof cell, seed) & 1;
}

static void copy_half(Tables *to, const FormsTarget *base, uint64_t seed)
{
    memset(to, 0, sizeof *to);
    for (uint32_t type = 0; type < VarTypeCount; ++type) {
        for (uint32_t op = 0; op < OP_COUNT; ++op)
            if (is_drawn(seed, 0, op, type))
                to->rows[op][type] = (*base->native.rows)[op][type];
        for (uint32_t from = 0; from < VarTypeCount; ++from)
            if (is_drawn(seed, 1, from, type))
                to->casts[type][from] = (*base->native.casts)[type][from];
    }
    copy_local(to, base);
}

static void make(uint32_t k, const char *name, const FormsTarget *base)
{
    made[k] = *base;
    made[k].native.name = name;
    made[k].native.rows = &tables[k].rows;
    made[k].native.casts = &tables[k].casts;
    few_rows_targets[k] = &made[k].native;
}

void few_rows_draw(uint64_t seed)
{
    copy_half(&tables[SPARSE], &avx2_target, seed);
    copy_half(&tables[SPARSE + 1], &avx512_target, seed);
}

void few_rows_offer(void)
{
    copy_few(&tables[FEW], &avx2_target);
    copy_few(&tables[FEW + 1], &avx512_target);
    few_rows_draw(0);
    make(FEW, "few-avx2", &avx2_target);
    make(FEW + 1, "few-avx512", &avx512_target);
    make(SPARSE, "sparse-avx2", &avx2_target);
    make(SPARSE + 1, "sparse-avx512", &avx512_target);
    native_choose_offer(few_rows_targets, FEW_ROWS_TARGETS);
}
