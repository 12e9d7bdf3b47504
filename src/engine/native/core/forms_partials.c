/*
 * forms_partials.c -- values that are added up where they are computed
 *
 * A value that is only reduced goes to a tile, or to partial results, as the launch has
 * it (CPU_PARTIALS in cpu_code.h). The jump is the same for all packets of a launch, so
 * the processor knows it; and as all copies of the code jump together, it is written
 * once:
 *
 *           test  address, CPU_PARTIALS
 *           je    tile
 *           mov   lane, first lane of the packet
 *           and   lane, number of partial results - 1
 *           sum   = [address - CPU_PARTIALS + lane * size]
 *           sum   = sum + value
 *           [address - CPU_PARTIALS + lane * size] = sum
 *           jmp   done
 *     tile: [address + first lane * size] = value
 *     done:
 *
 * Packets side by side are no more lanes than there are partial results, and begin at a
 * multiple of their number, so that none of them goes round.
 */
#include "device/cpu/cpu_code.h"
#include "engine/native/core/forms.h"
#include "engine/native/core/native.h"
#include "ir/reduce_rule.h"

_Static_assert((int) NATIVE_COPIES * 64 <= (int) CPU_PARTIAL_BYTES,
               "partial results for all packets side by side");

/* sum = sum + value, or sum * value, or sum + value * value, rounded once. */
static void add(Native *n, uint32_t reduced, VarType type, NativeReg sum,
                NativeReg value)
{
    Op op = reduced == ReduceOpAdd ? OP_ADD : reduced == ReduceOpMul ? OP_MUL : OP_FMA;
    X86Form form = (*n->target->rows)[op][type].inst | forms_length(n, type);
    NativeReg with = op == OP_FMA ? value : sum; /* VFMADD231 adds to the first one */
    x86_rrr(native_x86(n), form, sum, with, value);
}

static void store(Native *n, VarType type, NativeOperand place, NativeReg value)
{
    n->target->store(n, type, place, value, native_mask_bits(n, 0));
}

/* All registers are taken before the jump: making room may store something. */
static void add_or_store(Native *n, uint32_t reduced, VarType type,
                         NativeOperand place, NativeReg value)
{
    X86 *x = native_x86(n);
    X86Copies copies = x->copies;
    X86Form length = forms_length(n, type);
    X86Label tile = x86_label(x), done = x86_label(x);
    NativeReg sum = native_temp(n), lane = native_temp_general(n);
    X86Mem partial = x86_at_index(place.base, lane, place.shift, -CPU_PARTIALS);
    x->copies.count = 0;
    x86_ri(x, X86_TEST_I, place.base, CPU_PARTIALS);
    x86_jcc(x, X86_CC_E, tile);
    x86_rr(x, X86_MOV, lane, NATIVE_LANE);
    x86_ri(x, X86_AND_I, lane, (CPU_PARTIAL_BYTES >> place.shift) - 1);
    x->copies.count = copies.count;
    x->copies.index = lane;
    x86_rm(x, X86_VMOVUPS | length, sum, partial);
    add(n, reduced, type, sum, value);
    x86_mr(x, X86_VMOVUPS_ST | length, partial, sum);
    x->copies.count = 0;
    x86_jmp(x, done);
    x86_bind(x, tile);
    x->copies = copies;
    store(n, type, place, value);
    x86_bind(x, done);
}

void forms_store(Native *n)
{
    VarType type = native_type(n, 0);
    NativeReg value = native_use(n, 0);
    NativeOperand place = native_memory_array(n, n->inst->aux, type);
    uint32_t reduced = n->f->program->params[n->inst->aux].reduced;
    if (reduce_rule_adds(reduced, type))
        add_or_store(n, reduced, type, place, value);
    else
        store(n, type, place, value);
}
