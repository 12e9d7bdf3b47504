/*
 * forms_runs.c -- accesses by index that are runs of entries (native_runs.c)
 *
 * If rows are as long as a packet, its entries are those of one row, or of two:
 *
 *     lane                  end of the row
 *     │                     │
 *     e e+1 e+2 ...         │ f f+1 f+2 ...
 *
 * So the first one is found for the packet, with the units for integers, and one vector
 * is loaded or stored; few packets get a second one. There is no vector of indices.
 * Lanes behind the end, and those of the other row, are masked: nothing of theirs is
 * touched.
 */
#include "base/error.h"
#include "engine/native/x86/forms.h"
#include "engine/native/plan/native.h"

typedef struct Run {
    NativeRuns runs;
    VarType type;
    bool writes;
    NativeReg base, value, mask;           /* operands; 'value' may be the result */
    NativeReg entry, row, upper, spare;    /* general */
    NativeReg first, rest, other;          /* of packets in two rows: masks; values */
} Run;

static bool has_masks(const Native *n)
{
    return n->target->registers[NATIVE_MASK] != 0;
}

/* Can a packet have entries of two rows? It begins at a multiple of its size. */
static bool may_split(const Native *n, const NativeRuns *runs)
{
    return runs->levels && runs->length[0] % native_lanes(n);
}

/* entry = start + lane + factor * row + ... */
static void find_entry(Native *n, const Run *r)
{
    X86 *x = x86_native(n);
    const NativeRuns *runs = &r->runs;
    x86_rr(x, X86_MOV, r->entry, X86_LANE);
    if (runs->start)
        x86_ri(x, X86_ADD_I, r->entry, (int32_t) runs->start);
    for (uint32_t k = 0; k < runs->levels; ++k) {
        NativeReg quotient = k ? r->upper : r->row;
        if (k)
            forms_repeat_quotient(n, r->upper, k > 1 ? r->upper : r->row, r->spare,
                                  runs->length[k]);
        if (!runs->factor[k])
            continue;
        x86_rri(x, X86_IMUL_I, r->spare, quotient, (int32_t) runs->factor[k]);
        x86_rr(x, X86_ADD, r->entry, r->spare);
    }
}

static X86Mem place_of(const Run *r)
{
    return x86_at_index(r->base, r->entry, type_info[r->type].size == 8 ? 3 : 2, 0);
}

/* The entries of the lanes in a mask; of other lanes, 0 or what there was ('over'). */
static void load(Native *n, const Run *r, NativeReg to, NativeReg mask, bool over)
{
    X86 *x = x86_native(n);
    if (has_masks(n))
        x86_rm(x, forms_by_width(n, r->type, X86_VMOVDQU32, X86_VMOVDQU64) |
                      X86_K(mask) | (over ? (X86Form) 0 : X86_Z), to, place_of(r));
    else
        x86_rrm(x, forms_by_width(n, r->type, X86_VPMASKMOVD, X86_VPMASKMOVQ), to, mask,
                place_of(r));
}

static void store(Native *n, const Run *r, NativeReg mask)
{
    X86 *x = x86_native(n);
    if (has_masks(n))
        x86_mr(x, forms_by_width(n, r->type, X86_VMOVDQU32_ST, X86_VMOVDQU64_ST) |
                      X86_K(mask), place_of(r), r->value);
    else
        x86_mrr(x, forms_by_width(n, r->type, X86_VPMASKMOVD_ST, X86_VPMASKMOVQ_ST),
                place_of(r), mask, r->value);
}

/* Where masks are vectors, a store with one takes long: a packet of one row that is not
 * the last packet is stored without. */
static void store_whole(Native *n, const Run *r, X86Label done)
{
    X86 *x = x86_native(n);
    X86Label last = x86_label(x);
    if (has_masks(n)) {
        store(n, r, r->mask);
        return;
    }
    x86_rm(x, X86_LEA | X86_W, r->spare, x86_at(X86_LANE, (int) native_lanes(n)));
    x86_rr(x, X86_CMP | X86_W, r->spare, X86_END);
    x86_jcc(x, X86_CC_A, last);
    x86_mr(x, X86_VMOVUPS_ST | forms_length(n, r->type), place_of(r), r->value);
    x86_jmp(x, done);
    x86_bind(x, last);
    store(n, r, r->mask);
}

/* first, rest = active lanes before number 'spare', and from it on. */
static void find_next_row(Native *n, const Run *r)
{
    forms_target(n)->spread(n, r->other, r->spare);
    forms_repeat_first_lanes(n, r->type, r->first, r->other);
    n->target->without_mask(n, r->rest, r->mask, r->first);
    n->target->and_mask(n, r->first, r->first, r->mask);
}

/* entry = that of lane 0, if the next row reached back to it. */
static void enter_next_row(Native *n, const Run *r)
{
    X86 *x = x86_native(n);
    x86_ri(x, X86_ADD_I, r->row, 1);
    find_entry(n, r);
    /* In 32 bits the entry of the first lane that is there, in 64 the way back. */
    x86_rri(x, X86_IMUL_I, r->spare, r->row, (int32_t) r->runs.length[0]);
    x86_rr(x, X86_SUB, r->spare, X86_LANE);
    x86_rr(x, X86_ADD, r->entry, r->spare);
    x86_rr(x, X86_SUB | X86_W, r->entry, r->spare);
}

/* The packet has entries of two rows. */
static void access_split(Native *n, const Run *r)
{
    find_next_row(n, r);
    if (r->writes)
        store(n, r, r->first);
    else
        load(n, r, r->value, r->first, false);
    enter_next_row(n, r);
    if (r->writes) {
        store(n, r, r->rest);
    } else if (has_masks(n)) {
        load(n, r, r->value, r->rest, true);
    } else {
        load(n, r, r->other, r->rest, false);
        x86_rrr(x86_native(n), X86_VORPS | forms_length(n, r->type), r->value, r->value,
                r->other);
    }
}

static void access(Native *n, const Run *r)
{
    X86 *x = x86_native(n);
    X86Label split = x86_label(x), done = x86_label(x);
    const bool splits = may_split(n, &r->runs);
    if (r->runs.levels)
        forms_repeat_quotient(n, r->row, X86_LANE, r->spare, r->runs.length[0]);
    find_entry(n, r);
    if (splits) { /* lanes that are left in the row */
        x86_rri(x, X86_IMUL_I, r->spare, r->row, (int32_t) r->runs.length[0]);
        x86_ri(x, X86_ADD_I, r->spare, (int32_t) r->runs.length[0]);
        x86_rr(x, X86_SUB, r->spare, X86_LANE);
        x86_ri(x, X86_CMP_I, r->spare, (int32_t) native_lanes(n));
        x86_jcc(x, X86_CC_B, split);
    }
    if (r->writes)
        store_whole(n, r, done);
    else
        load(n, r, r->value, r->mask, false);
    if (splits) {
        x86_jmp(x, done);
        x86_bind(x, split);
        access_split(n, r);
    }
    x86_bind(x, done);
}

static Run begin(Native *n, VarType type, bool writes, uint32_t mask)
{
    Run r = { .type = type, .writes = writes };
    r.base = native_use_address(n, 0);
    r.mask = native_use_active(n, mask, forms_bits(type));
    return r;
}

/* All registers are taken before the first jump: making room may store something. */
static void take_temporaries(Native *n, Run *r)
{
    r->entry = native_temp_general(n);
    r->spare = native_temp_general(n);
    if (r->runs.levels)
        r->row = native_temp_general(n);
    if (r->runs.levels > 1)
        r->upper = native_temp_general(n);
    if (!may_split(n, &r->runs))
        return;
    r->other = native_temp(n);
    r->first = has_masks(n) ? native_temp_mask(n) : native_temp(n);
    r->rest = has_masks(n) ? native_temp_mask(n) : native_temp(n);
}

bool forms_runs_gather(Native *n)
{
    NativeRuns runs;
    TRY(native_runs_find(n->f->program, native_inst(n), native_lanes(n), &runs), false);
    Run r = begin(n, native_result_type(n), false, 2);
    r.runs = runs;
    take_temporaries(n, &r);
    r.value = native_result_fresh(n);
    access(n, &r);
    return true;
}

bool forms_runs_scatter(Native *n)
{
    NativeRuns runs;
    TRY(native_runs_find(n->f->program, native_inst(n), native_lanes(n), &runs), false);
    Run r = begin(n, native_type(n, 1), true, 3);
    r.runs = runs;
    r.value = native_use(n, 1);
    take_temporaries(n, &r);
    access(n, &r);
    return true;
}
