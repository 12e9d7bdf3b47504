/*
 * forms_store.c -- outputs: added up where they are computed, or past the caches
 *
 * A launch says by the address of an output where it goes (cpu_code.h). What is only
 * reduced goes to a tile or to partial results; a large output into the caches or past
 * them. The jump is the same for all packets of a launch, so the processor knows it;
 * and as all copies of the code jump together, it is written once:
 *
 *           test  address, CPU_PARTIALS
 *           je    plain
 *           mov   lane, first lane of the packet
 *           and   lane, number of partial results - 1
 *           sum   = [address - CPU_PARTIALS + lane * size]
 *           sum   = sum + value
 *           [address - CPU_PARTIALS + lane * size] = sum
 *           jmp   done
 *    plain: [address + first lane * size] = value
 *     done:
 *
 * Packets side by side are no more lanes than there are partial results, and begin at a
 * multiple of their number, so that none of them goes round.
 */
#include "device/cpu/launch/cpu_code.h"
#include "engine/native/x86/forms.h"
#include "engine/native/plan/native.h"
#include "ir/reduce_rule.h"

_Static_assert((int) NATIVE_COPIES * 64 <= (int) CPU_PARTIAL_BYTES,
               "partial results for all packets side by side");

/* A store of which there are two kinds. All registers are taken before the jump: making
 * room may store something. */
typedef struct Store {
    VarType type;
    NativeOperand place;
    NativeReg value;
    X86Copies copies; /* as they were */
    X86Label plain, done;
} Store;

/* The other kind follows, if the address has this mark. */
static void begin_other(Native *n, Store *s, int32_t mark)
{
    X86 *x = x86_native(n);
    s->copies = x->copies;
    s->plain = x86_label(x);
    s->done = x86_label(x);
    x->copies.count = 0;
    x86_ri(x, X86_TEST_I, s->place.base, mark);
    x86_jcc(x, X86_CC_E, s->plain);
    x->copies.count = s->copies.count;
}

/* Halves as they are in memory. */
static void put_packed(Native *n, const Store *s)
{
    uint32_t bytes = 2 * n->lanes;
    X86Form form = bytes == 8 ? X86_VMOVQ_ST : X86_VMOVUPS_ST | X86_LENGTH(bytes >> 5);
    x86_mr(x86_native(n), form, forms_mem(s->place), s->value);
}

static void put_plain(Native *n, const Store *s)
{
    if (native_has_form(n, 0, NATIVE_PACKED))
        put_packed(n, s);
    else
        n->target->store(n, s->type, s->place, s->value, native_mask_bits(n, 0));
}

static void end_other(Native *n, const Store *s)
{
    X86 *x = x86_native(n);
    x->copies.count = 0;
    x86_jmp(x, s->done);
    x86_bind(x, s->plain);
    x->copies = s->copies;
    put_plain(n, s);
    x86_bind(x, s->done);
}

/* ---- partial results */

/* sum = sum + value, or sum * value, or sum + value * value, rounded once. */
static void add(Native *n, uint32_t reduced, VarType type, NativeReg sum,
                NativeReg value)
{
    Op op = reduced == ReduceOpAdd ? OP_ADD : reduced == ReduceOpMul ? OP_MUL : OP_FMA;
    X86Form form = (*n->target->rows)[op][type].inst | forms_length(n, type);
    NativeReg with = op == OP_FMA ? value : sum; /* VFMADD231 adds to the first one */
    x86_rrr(x86_native(n), form, sum, with, value);
}

static void put_partials(Native *n, Store *s, uint32_t reduced)
{
    X86 *x = x86_native(n);
    X86Form length = forms_length(n, s->type);
    NativeReg sum = native_temp(n), lane = native_temp_general(n);
    X86Mem partial = x86_at_index(s->place.base, lane, s->place.shift, -CPU_PARTIALS);
    begin_other(n, s, CPU_PARTIALS);
    x86_rr(x, X86_MOV, lane, X86_LANE);
    x86_ri(x, X86_AND_I, lane, (CPU_PARTIAL_BYTES >> s->place.shift) - 1);
    x->copies.index = lane;
    x86_rm(x, X86_VMOVUPS | length, sum, partial);
    add(n, reduced, s->type, sum, s->value);
    x86_mr(x, X86_VMOVUPS_ST | length, partial, sum);
    end_other(n, s);
}

/* ---- past the caches */

bool forms_streams(const Native *n, const Param *output)
{
    return n->many_lanes && !output->reduced && type_info[output->type].size >= 4 &&
           program_find_param(n->root_program, PARAM_POINTER) == PROGRAM_NONE;
}

static void put_streamed(Native *n, Store *s)
{
    NativeOperand place = s->place;
    place.disp = -CPU_STREAMED;
    begin_other(n, s, CPU_STREAMED);
    x86_mr(x86_native(n), X86_VMOVNTPS_ST | forms_length(n, s->type), forms_mem(place),
           s->value);
    end_other(n, s);
}

/* ---- the row */

void forms_store(Native *n)
{
    const Param *output = &n->f->program->params[n->inst->aux];
    VarType type = native_type(n, 0);
    Store s = { .type = type, .value = native_use(n, 0) };
    s.place = native_memory_array(n, n->inst->aux, type);
    if (reduce_rule_adds(output->reduced, type))
        put_partials(n, &s, output->reduced);
    else if (forms_streams(n, output))
        put_streamed(n, &s);
    else
        put_plain(n, &s);
}
