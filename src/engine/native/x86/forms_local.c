/*
 * forms_local.c -- arrays of a lane
 *
 * An array is a row of W lanes of 32 or 64 bits for each of its entries, in the form
 * that values have in registers, in the worker's scratch memory (masks: all ones or
 * zeros). One row more takes what lanes write that must not write.
 *
 *     entry 0   | lane 0 | lane 1 | ...     An index that is the same in all lanes
 *     entry 1   | lane 0 | lane 1 | ...     names a row, which is one vector; others
 *     ...                                   need an entry for each lane.
 *     spare row
 *
 * Whether all lanes agree is known for literals and uniform values. For others the code
 * looks: loops over an array have the same index in all lanes, and a row takes a
 * fraction of the time.
 *
 * Of packets side by side each has an array of its own, one behind the other. Since
 * there are jumps, and entries are found by general registers, the code is written for
 * one packet after the other (begin_packets()).
 */
#include "engine/native/x86/forms.h"
#include "engine/native/plan/native.h"

/* The array of the current instruction. */
typedef struct Array {
    VarType type;
    uint32_t entries, row; /* bytes of a row */
    uint32_t bytes;        /* of a packet's array */
    uint32_t offset;       /* bytes to it from the base */
} Array;

static uint32_t log_2(uint32_t value)
{
    return (uint32_t) __builtin_ctz(value);
}

static Array find_array(const Native *n, uint32_t at)
{
    const Inst *inst = &n->f->program->insts[at];
    VarType type = (VarType) inst->type;
    uint32_t row = native_bytes(n, type), bytes = ((inst->aux + 1) * row + 63) & ~63u;
    return (Array){ type, inst->aux, row, bytes, n->f->values[at].slot };
}

/* ---- packets side by side */

/* Write what follows for one packet, until 'all' is back. */
static X86Copies begin_packets(Native *n)
{
    X86Copies all = x86_native(n)->copies;
    x86_native(n)->copies.count = 0;
    return all;
}

static void end_packets(Native *n, const X86Copies *all)
{
    x86_native(n)->copies = *all;
}

/* A vector register of the first packet in packet c. */
static NativeReg vector_of(const X86Copies *all, uint32_t c, NativeReg reg)
{
    return reg == NATIVE_NO_REG ? reg : (NativeReg) (reg + c * all->vectors);
}

/* A mask of lanes: where there are no registers for masks, a vector. */
static NativeReg mask_of(const Native *n, const X86Copies *all, uint32_t c,
                         NativeReg reg)
{
    if (!n->target->registers[NATIVE_MASK])
        return vector_of(all, c, reg);
    return reg == NATIVE_NO_REG ? reg : (NativeReg) (reg + c * all->masks);
}

static Array array_of(const Array *array, uint32_t c)
{
    Array own = *array;
    own.offset += c * array->bytes;
    return own;
}

/* Where local arrays begin. */
static NativeReg use_base(Native *n)
{
    NativeReg base = native_temp_general(n);
    size_t slot = offsetof(NativeFrame, slot) + NATIVE_LOCAL_SLOT * sizeof(void *);
    x86_rm(x86_native(n), X86_MOV | X86_W, base,
           forms_mem(native_memory_frame(n, slot)));
    return base;
}

static X86Mem row_at(const Array *array, NativeReg base, uint32_t entry)
{
    return x86_at(base, (int32_t) (array->offset + entry * array->row));
}

/* ---- whole arrays */

enum { UNROLLED = 8 /* rows that are written without a loop */ };

/* A loop over the rows; 'at' counts bytes. */
static X86Label begin_rows(Native *n, NativeReg at)
{
    X86Label top = x86_label(x86_native(n));
    x86_rr(x86_native(n), X86_XOR, at, at);
    x86_bind(x86_native(n), top);
    return top;
}

static void end_rows(Native *n, const Array *array, NativeReg at, X86Label top)
{
    X86 *x = x86_native(n);
    x86_ri(x, X86_ADD_I, at, (int32_t) array->row);
    x86_ri(x, X86_CMP_I, at, (int32_t) (array->entries * array->row));
    x86_jcc(x, X86_CC_B, top);
}

/* Masks in registers of their own become vectors, all ones or zeros. */
static bool is_packed(const Native *n, VarType type)
{
    return type == VarTypeBool && n->target->registers[NATIVE_MASK];
}

/* Operand k in the form that memory has. */
static NativeReg use_value(Native *n, uint32_t k)
{
    if (native_type(n, k) != VarTypeBool)
        return native_use(n, k);
    NativeReg mask = native_use_mask(n, k, 32);
    if (!is_packed(n, VarTypeBool))
        return mask;
    NativeReg value = native_temp(n);
    x86_rr(x86_native(n), X86_VPMOVM2D | forms_length(n, VarTypeBool), value, mask);
    return value;
}

/* A register for the result in this form; in the end it becomes the result. */
static NativeReg take_result(Native *n)
{
    return is_packed(n, native_result_type(n)) ? native_temp(n)
                                               : native_result_mask_fresh(n, 32);
}

static void finish(Native *n, NativeReg to)
{
    if (is_packed(n, native_result_type(n)))
        x86_rr(x86_native(n), X86_VPMOVD2M | forms_length(n, VarTypeBool),
               native_result_mask(n, 32), to);
}

static void store_row(Native *n, const Array *array, X86Mem to, NativeReg value)
{
    x86_mr(x86_native(n), X86_VMOVUPS_ST | forms_length(n, array->type), to, value);
}

bool forms_local(Native *n, const NativeRow *row)
{
    (void) row;
    Array array = find_array(n, n->result);
    array.offset = n->f->values[n->result].slot = n->local_bytes;
    n->local_bytes += n->copies * array.bytes;
    if (n->insts[n->args[0]].op == OP_UNDEFINED) /* entries that nobody reads */
        return true;
    NativeReg value = use_value(n, 0), base = use_base(n);
    NativeReg at = native_temp_general(n);
    X86Copies all = begin_packets(n);
    for (uint32_t c = 0; c < n->copies; ++c) {
        Array own = array_of(&array, c);
        NativeReg from = vector_of(&all, c, value);
        if (array.entries <= UNROLLED) {
            for (uint32_t i = 0; i < array.entries; ++i)
                store_row(n, &own, row_at(&own, base, i), from);
            continue;
        }
        X86Label top = begin_rows(n, at);
        store_row(n, &own, x86_at_index(base, at, 0, (int32_t) own.offset), from);
        end_rows(n, &own, at, top);
    }
    end_packets(n, &all);
    return true;
}

/* Lanes that have the bit of operand k; NATIVE_NO_REG: all. */
static NativeReg use_lanes(Native *n, uint32_t k, VarType type)
{
    uint64_t bits;
    if (native_is_literal(n, k, &bits) && bits & 1)
        return NATIVE_NO_REG;
    return native_use_mask(n, k, forms_bits(type));
}

static void move_row(Native *n, const Array *array, X86Mem from, X86Mem to,
                     NativeReg lanes, NativeReg moved, NativeReg spare)
{
    x86_rm(x86_native(n), X86_VMOVUPS | forms_length(n, array->type), moved, from);
    forms_target(n)->local->store(n, array->type, to, lanes, moved, spare);
}

bool forms_local_move(Native *n, const NativeRow *row)
{
    (void) row;
    Array to = find_array(n, n->args[0]), from = find_array(n, n->args[1]);
    NativeReg lanes = use_lanes(n, 2, to.type), base = use_base(n);
    NativeReg moved = native_temp(n), spare = native_temp(n);
    NativeReg at = native_temp_general(n);
    X86Copies all = begin_packets(n);
    for (uint32_t c = 0; c < n->copies; ++c) {
        Array own = array_of(&to, c), other = array_of(&from, c);
        NativeReg mask = mask_of(n, &all, c, lanes);
        if (to.entries <= UNROLLED) {
            for (uint32_t i = 0; i < to.entries; ++i)
                move_row(n, &own, row_at(&other, base, i), row_at(&own, base, i), mask,
                         moved, spare);
            continue;
        }
        X86Label top = begin_rows(n, at);
        move_row(n, &own, x86_at_index(base, at, 0, (int32_t) other.offset),
                 x86_at_index(base, at, 0, (int32_t) own.offset), mask, moved, spare);
        end_rows(n, &own, at, top);
    }
    end_packets(n, &all);
    return true;
}

/* ---- entries */

/* What is known about an index. */
typedef enum IndexKind {
    INDEX_OUTSIDE,
    INDEX_LITERAL,
    INDEX_UNIFORM,
    INDEX_ANY
} IndexKind;

static IndexKind find_kind(const Native *n, const Array *array, uint32_t k,
                           uint32_t *index)
{
    uint64_t bits;
    if (native_is_literal(n, k, &bits)) {
        *index = (uint32_t) bits;
        return *index < array->entries ? INDEX_LITERAL : INDEX_OUTSIDE;
    }
    bool uniform = n->f->program->insts[n->args[k]].flags & INST_UNIFORM;
    return uniform ? INDEX_UNIFORM : INDEX_ANY;
}

/* The row that the first lane's index names; goes on at 'outside' if there is none.
 * 'entry' is destroyed. */
static X86Mem find_row(Native *n, const Array *array, NativeReg index, NativeReg base,
                       NativeReg entry, X86Label outside)
{
    X86 *x = x86_native(n);
    x86_rr(x, X86_VMOVD_ST, entry, index);
    x86_ri(x, X86_CMP_I, entry, (int32_t) array->entries);
    x86_jcc(x, X86_CC_AE, outside);
    x86_ri(x, X86_SHL_I, entry, (int32_t) log_2(array->row));
    return x86_at_index(base, entry, 0, (int32_t) array->offset);
}

static FormsLocalLanes use_entries(Native *n, const Array *array, NativeReg base,
                                   uint32_t index, NativeReg lanes)
{
    FormsLocalLanes any = { .entry = { .type = array->type,
                                       .base = base,
                                       .disp = (int32_t) array->offset,
                                       .index = native_use(n, index) },
                            .count = array->entries,
                            .lanes = lanes };
    any.narrow = lanes == NATIVE_NO_REG ? lanes : native_use_mask(n, index + 1, 32);
    any.entry.places = native_temp(n);
    any.entry.part = native_temp(n);
    any.entry.even = native_temp_general(n);
    any.entry.odd = native_temp_general(n);
    any.inside = native_temp(n);
    if (n->target->registers[NATIVE_MASK])
        any.inside_mask = native_temp_mask(n);
    return any;
}

/* The same in packet c. */
static FormsLocalLanes lanes_of(const Native *n, const X86Copies *all, uint32_t c,
                                const FormsLocalLanes *any, const Array *array)
{
    FormsLocalLanes own = *any;
    own.entry.disp = (int32_t) array->offset;
    own.entry.index = vector_of(all, c, any->entry.index);
    own.entry.places = vector_of(all, c, any->entry.places);
    own.entry.part = vector_of(all, c, any->entry.part);
    own.inside = vector_of(all, c, any->inside);
    own.lanes = mask_of(n, all, c, any->lanes);
    own.narrow = mask_of(n, all, c, any->narrow);
    own.inside_mask = mask_of(n, all, c, any->inside_mask);
    return own;
}

/* One packet reads or writes at an index in a register. */
static void access_at(Native *n, const Array *array, IndexKind kind,
                      const FormsLocalLanes *any, bool writes, NativeReg value)
{
    X86 *x = x86_native(n);
    const FormsLocal *rows = forms_target(n)->local;
    X86Label apart = x86_label(x), done = x86_label(x);
    if (kind == INDEX_ANY) {
        rows->agree(n, any);
        x86_jcc(x, X86_CC_NE, apart);
    }
    if (!writes)
        x86_rrr(x, X86_VPXORD, value, value, value);
    X86Mem at = find_row(n, array, any->entry.index, any->entry.base, any->entry.even,
                         done);
    if (writes)
        rows->store(n, array->type, at, any->lanes, value, any->entry.part);
    else
        rows->load(n, array->type, value, any->lanes, at);
    if (kind == INDEX_ANY) {
        x86_jmp(x, done);
        x86_bind(x, apart);
        (writes ? rows->scatter : rows->gather)(n, any, value);
    }
    x86_bind(x, done);
}

bool forms_local_read(Native *n, const NativeRow *row)
{
    (void) row;
    Array array = find_array(n, n->args[0]);
    uint32_t entry = 0;
    IndexKind kind = find_kind(n, &array, 1, &entry);
    if (kind == INDEX_OUTSIDE) {
        NativeReg to = take_result(n);
        x86_rrr(x86_native(n), X86_VPXORD, to, to, to);
        finish(n, to);
        return true;
    }
    NativeReg base = use_base(n);
    NativeReg lanes = use_lanes(n, 2, array.type);
    FormsLocalLanes any = { .lanes = lanes };
    if (kind != INDEX_LITERAL)
        any = use_entries(n, &array, base, 1, lanes);
    NativeReg to = take_result(n);
    X86Copies all = begin_packets(n);
    for (uint32_t c = 0; c < n->copies; ++c) {
        Array own = array_of(&array, c);
        NativeReg result = vector_of(&all, c, to);
        FormsLocalLanes mine = lanes_of(n, &all, c, &any, &own);
        if (kind == INDEX_LITERAL)
            forms_target(n)->local->load(n, array.type, result, mine.lanes,
                                         row_at(&own, base, entry));
        else
            access_at(n, &own, kind, &mine, false, result);
    }
    end_packets(n, &all);
    finish(n, to);
    return true;
}

bool forms_local_write(Native *n, const NativeRow *row)
{
    (void) row;
    Array array = find_array(n, n->args[0]);
    uint32_t entry = 0;
    IndexKind kind = find_kind(n, &array, 2, &entry);
    if (kind == INDEX_OUTSIDE)
        return true;
    NativeReg value = use_value(n, 1), base = use_base(n);
    NativeReg lanes = use_lanes(n, 3, array.type), spare = NATIVE_NO_REG;
    FormsLocalLanes any = { .lanes = lanes };
    if (kind == INDEX_LITERAL)
        spare = native_temp(n);
    else
        any = use_entries(n, &array, base, 2, lanes);
    X86Copies all = begin_packets(n);
    for (uint32_t c = 0; c < n->copies; ++c) {
        Array own = array_of(&array, c);
        NativeReg from = vector_of(&all, c, value);
        FormsLocalLanes mine = lanes_of(n, &all, c, &any, &own);
        if (kind == INDEX_LITERAL)
            forms_target(n)->local->store(n, array.type, row_at(&own, base, entry),
                                          mine.lanes, from, vector_of(&all, c, spare));
        else
            access_at(n, &own, kind, &mine, true, from);
    }
    end_packets(n, &all);
    return true;
}
