/*
 * legalise_matrix.c -- see legalise_matrix.h
 */
#include "lower/legalise_matrix.h"

#include "base/alloc.h"
#include "base/error.h"

/* Type of sums. */
static VarType sum_type(VarType type)
{
    return type == VarTypeFloat16 ? VarTypeFloat32 : type;
}

/* Position of an entry: some way behind the index of the instruction. */
static uint32_t entry_index(Build *build, uint32_t index, uint32_t entry)
{
    const Program *out = build->out;
    if (out->insts[index].op == OP_LITERAL)
        return build_bits(build, VarTypeUInt32,
                          out->literals[out->insts[index].aux] + entry);
    return build_2(build, OP_ADD, build_bitcast(build, VarTypeUInt32, index),
                   build_bits(build, VarTypeUInt32, entry));
}

/* An entry of the matrix as a summand's factor. */
static uint32_t gather(Build *build, VarType type, uint32_t pointer, uint32_t index)
{
    const uint32_t all = build_bits(build, VarTypeBool, 1);
    return build_cast(build, sum_type(type),
                      build_emit(build, &(BuildInst){ .op = OP_GATHER,
                                                      .type = type,
                                                      .operand = type,
                                                      .count = 3,
                                                      .args = (uint32_t[]){ pointer,
                                                                            index,
                                                                            all } }));
}

static uint32_t multiply_add(Build *build, uint32_t a, uint32_t b, uint32_t c)
{
    const VarType type = build_type(build, c);
    return build_emit(build, &(BuildInst){ .op = OP_FMA,
                                           .type = type,
                                           .operand = type,
                                           .count = 3,
                                           .args = (uint32_t[]){ a, b, c } });
}

/* Result i; 'x' are the entries of the vector, as factors. */
static uint32_t product(Build *build, const BuildInst *inst, const uint32_t *x,
                        uint32_t n, uint32_t i)
{
    const uint32_t m = inst->aux & MATVEC_RESULTS;
    const bool turned = inst->aux & MATVEC_TRANSPOSED;
    uint32_t sum = inst->aux & MATVEC_ADDS
                       ? build_cast(build, sum_type(inst->type), inst->args[2 + n + i])
                       : build_number(build, sum_type(inst->type), 0);
    for (uint32_t k = 0; k < n && sum != PROGRAM_NONE; ++k) {
        uint32_t index =
            entry_index(build, inst->args[1], turned ? k * m + i : i * n + k);
        sum = multiply_add(build, gather(build, inst->type, inst->args[0], index), x[k],
                           sum);
    }
    return build_cast(build, inst->type, sum);
}

bool legalise_matvec(Build *build, const BuildInst *inst, uint32_t *items)
{
    const uint32_t m = inst->aux & MATVEC_RESULTS;
    const uint32_t n = inst->count - 2 - (inst->aux & MATVEC_ADDS ? m : 0);
    uint32_t *x = alloc_get(n * sizeof(uint32_t));
    TRY(x, false);
    bool ok = true;
    for (uint32_t k = 0; k < n; ++k)
        x[k] = build_cast(build, sum_type(inst->type), inst->args[2 + k]);
    for (uint32_t i = 0; i < m && ok; ++i)
        if (items[i] != PROGRAM_NONE)
            ok = (items[i] = product(build, inst, x, n, i)) != PROGRAM_NONE;
    alloc_free(x);
    return ok;
}

bool legalise_outer(Build *build, const BuildInst *inst)
{
    const uint32_t m = inst->aux >> OUTER_ROWS, n = inst->count - 3 - m;
    const uint32_t *a = inst->args + 3, *b = a + m;
    for (uint32_t i = 0; i < m; ++i)
        for (uint32_t k = 0; k < n; ++k) {
            uint32_t value = build_2(build, OP_MUL, a[i], b[k]);
            uint32_t index = entry_index(build, inst->args[1], i * n + k);
            uint32_t done = build_emit(build, &(BuildInst){
                .op = OP_SCATTER, .type = VarTypeVoid,
                .operand = build_type(build, value), .aux = inst->aux & 0xffff,
                .count = 4,
                .args = (uint32_t[]){ inst->args[0], value, index, inst->args[2] } });
            TRY(done != PROGRAM_NONE, false);
        }
    return true;
}
