/*
 * ptx_atomic.c -- PTX of scatters that read and write
 *
 * Where there is an instruction for it (red, atom), it is used. Other reductions are
 * loops: read, combine, compare and swap until nobody was faster. Entries of 8 and 16
 * bits are parts of words of 32, which no instruction can exchange alone on all GPUs.
 *
 * red.add.f32 flushes subnormal numbers to zero, unlike every other addition here; it
 * is used if the target says so (PtxTarget.flushes).
 *
 *         ld.volatile old                      the value that was seen
 *     Lk: new = old with the entry combined
 *         atom.cas seen, old, new
 *         p = seen != old;  old = seen
 *         @p bra Lk
 */
#include "engine/ptx/ptx_writer.h"
#include "ir/reduce_rule.h"

/* ---- combining */

static const Op reduce_ops[] = {
    [ReduceOpAdd] = OP_ADD, [ReduceOpMul] = OP_MUL, [ReduceOpMin] = OP_MIN,
    [ReduceOpMax] = OP_MAX, [ReduceOpAnd] = OP_AND, [ReduceOpOr] = OP_OR
};

/* Floats: missing data, as FMIN and FMAX have it. */
static Op reducing_op(ReduceOp op, VarType type)
{
    const bool is_float = type_info[type].is_float;
    return is_float && op == ReduceOpMin   ? OP_FMIN
           : is_float && op == ReduceOpMax ? OP_FMAX
                                           : reduce_ops[op];
}

/* result = op(old, value), registers of a type; those of narrow integers are extended
 * then. Halves are computed in single precision, whose result, rounded again, is right
 * (legalise_float.c). */
static void combine(PtxWriter *writer, VarType type, ReduceOp op, PtxArg result,
                    PtxArg old, PtxArg value)
{
    PtxText *text = &writer->text;
    if (type == VarTypeFloat16) {
        PtxArg single[3];
        for (int k = 0; k < 3; ++k)
            single[k] = ptx_text_new(text, PTX_B32);
        ptx_text_put(text, type, "cvt.f32.f16 $0, $1", single[0], old);
        ptx_text_put(text, type, "cvt.f32.f16 $0, $1", single[1], value);
        ptx_text_put(text, VarTypeFloat32,
                     ptx_ops_pattern(reducing_op(op, type), VarTypeFloat32), single[2],
                     single[0], single[1]);
        ptx_text_put(text, type, "cvt.rn.f16.f32 $0, $1", result, single[2]);
        return;
    }
    ptx_text_put(text, type, ptx_ops_pattern(reducing_op(op, type), type), result, old,
                 value);
    if (ptx_is_narrow(type))
        ptx_convert_extend(writer, type, result, result);
}

void ptx_atomic_update(PtxWriter *writer, VarType type, ReduceOp op, PtxArg value,
                       PtxArg address, uint32_t offset, PtxArg mask)
{
    PtxArg old = ptx_text_new_value(&writer->text, type);
    PtxArg result = ptx_text_new_value(&writer->text, type);
    ptx_memory_get(writer, type, "global", old, address, offset, mask);
    combine(writer, type, op, result, old, value);
    ptx_memory_put(writer, type, "global", result, address, offset, mask);
}

/* ---- instructions */

/* Of the operation, without type; NULL: there is none. */
static const char *instruction(const PtxTarget *target, VarType type, ReduceOp op)
{
    static const char *const names[] = {
        [ReduceOpAdd] = "add", [ReduceOpMin] = "min", [ReduceOpMax] = "max",
        [ReduceOpAnd] = "and", [ReduceOpOr] = "or",   [ReduceOpMul] = NULL
    };
    const TypeInfo *info = &type_info[type];
    if (info->size < 4)
        return NULL;
    if (info->is_float)
        return op != ReduceOpAdd        ? NULL
               : type == VarTypeFloat32 ? (target->flushes ? "add" : NULL)
               : target->sm >= 60       ? "add"
                                        : NULL;
    return names[op];
}

/* Types that the instructions have: no 64-bit sums of signed ones, logic on bits. */
static const char *instruction_type(VarType type, ReduceOp op)
{
    return op == ReduceOpAnd || op == ReduceOpOr       ? ".$b"
           : op == ReduceOpAdd && type == VarTypeInt64 ? ".u64"
                                                       : ".$t";
}

/* ---- loops of compare and swap */

/* A loop that is being written. */
typedef struct Swap {
    PtxArg word;        /* address of the 32 or 64 bits that are exchanged */
    PtxArg old, next;   /* these bits */
    PtxArg shift;       /* of a narrow entry in them */
    PtxArg head, leave; /* labels */
    VarType bits;       /* UInt32 or UInt64 */
    bool narrow;
} Swap;

/* The lanes of the mask go in. */
static Swap swap_begin(PtxWriter *writer, VarType type, PtxArg address, uint32_t offset,
                       PtxArg mask)
{
    PtxText *text = &writer->text;
    Swap s = { .narrow = type_info[type].size < 4,
               .bits = type_info[type].size == 8 ? VarTypeUInt64 : VarTypeUInt32,
               .head = ptx_text_label(text),
               .leave = ptx_text_label(text),
               .word = ptx_text_new(text, PTX_B64),
               .shift = ptx_text_new(text, PTX_B32) };
    s.old = ptx_text_new_value(text, s.bits);
    s.next = ptx_text_new_value(text, s.bits);
    if (mask != PTX_NONE)
        ptx_text_put(text, type, "@!$0 bra $1", mask, s.leave);
    if (s.narrow)
        ptx_text_put(text, type,
                     "add.u64 $v, $2, $3; and.b64 $0, $v, -4; cvt.u32.u64 $x, $v; "
                     "and.b32 $x, $x, 3; shl.b32 $1, $x, 3",
                     s.word, s.shift, address, ptx_number(offset));
    else
        ptx_text_put(text, type, "add.u64 $0, $1, $2", s.word, address,
                     ptx_number(offset));
    ptx_text_put(text, s.bits, "ld.volatile.global.$t $0, [$1]", s.old, s.word);
    ptx_text_bind(text, s.head);
    return s;
}

/* The entry that was seen, as a register of its type. */
static PtxArg swap_entry(PtxWriter *writer, VarType type, const Swap *s)
{
    PtxText *text = &writer->text;
    if (!s->narrow)
        return s->old;
    PtxArg entry = ptx_text_new_value(text, type), bits = ptx_text_new(text, PTX_B32);
    ptx_text_put(text, type, "shr.u32 $0, $1, $2", bits, s->old, s->shift);
    if (type == VarTypeBool)
        ptx_text_put(text, type, "and.b32 $x, $1, 255; setp.ne.u32 $0, $x, 0", entry,
                     bits);
    else if (type == VarTypeFloat16)
        ptx_text_put(text, type, "cvt.u16.u32 $0, $1", entry, bits);
    else
        ptx_convert_extend(writer, type, entry, bits);
    return entry;
}

/* The word with another entry in it. */
static void swap_replace(PtxWriter *writer, VarType type, const Swap *s, PtxArg entry)
{
    PtxText *text = &writer->text;
    if (!s->narrow) {
        ptx_text_move(text, s->next, entry);
        return;
    }
    PtxArg bits = ptx_text_new(text, PTX_B32);
    if (type == VarTypeBool)
        ptx_text_put(text, type, "selp.b32 $0, 1, 0, $1", bits, entry);
    else if (type == VarTypeFloat16)
        ptx_text_put(text, type, "cvt.u32.u16 $0, $1", bits, entry);
    else
        ptx_text_put(text, type, "and.b32 $0, $1, $2", bits, entry,
                     ptx_number((uint32_t) type_mask(type)));
    ptx_text_put(text, type,
                 "shl.b32 $x, $4, $3; not.b32 $x, $x; and.b32 $x, $x, $1; "
                 "shl.b32 $y, $2, $3; or.b32 $0, $x, $y",
                 s->next, s->old, bits, s->shift,
                 ptx_number(type_info[type].size == 1 ? 0xff : 0xffff));
}

static void swap_end(PtxWriter *writer, const Swap *s)
{
    PtxText *text = &writer->text;
    ptx_text_put(text, s->bits,
                 "atom.global.cas.$b $k, [$2], $0, $1; setp.ne.$t $p, $k, $0; "
                 "mov.$b $0, $k; @$p bra $3",
                 s->old, s->next, s->word, s->head);
    ptx_text_bind(text, s->leave);
}

/* Combine in a loop. 'previous', if any, becomes what was there. */
static void reduce_in_loop(PtxWriter *writer, VarType type, ReduceOp op, PtxArg value,
                           PtxArg address, uint32_t offset, PtxArg mask,
                           PtxArg previous)
{
    Swap s = swap_begin(writer, type, address, offset, mask);
    PtxArg entry = swap_entry(writer, type, &s);
    if (previous != PTX_NONE)
        ptx_text_move(&writer->text, previous, entry);
    if (op == ReduceOpIdentity) {
        swap_replace(writer, type, &s, value);
    } else {
        PtxArg result = ptx_text_new_value(&writer->text, type);
        combine(writer, type, op, result, entry, value);
        swap_replace(writer, type, &s, result);
    }
    swap_end(writer, &s);
}

/* ---- reductions */

void ptx_atomic_reduce(PtxWriter *writer, VarType type, ReduceOp op, PtxArg value,
                       PtxArg address, uint32_t offset, PtxArg mask)
{
    const char *name = instruction(writer->target, type, op);
    char pattern[PTX_PATTERN_SIZE];
    if (!name) {
        reduce_in_loop(writer, type, op, value, address, offset, mask, PTX_NONE);
        return;
    }
    PTX_JOIN(pattern, mask == PTX_NONE ? "" : "@$3 ", "red.global.", name,
             instruction_type(type, op), " [$1+$2], $0");
    ptx_text_put(&writer->text, type, pattern, value, address, ptx_number(offset),
                 mask);
}

/* Combine the values of all lanes of a warp, in every lane: those at distances 16, 8,
 * 4, 2, 1. */
static void combine_warp(PtxWriter *writer, VarType type, ReduceOp op, PtxArg value)
{
    PtxText *text = &writer->text;
    for (uint32_t distance = 16; distance; distance /= 2) {
        PtxArg other = ptx_text_new_value(text, type);
        PtxArg result = ptx_text_new_value(text, type);
        ptx_text_put(
            text, type,
            type_info[type].size == 8
                ? "mov.b64 {$x, $y}, $1; shfl.sync.bfly.b32 $x, $x, $2, 31, -1; "
                  "shfl.sync.bfly.b32 $y, $y, $2, 31, -1; mov.b64 $0, {$x, $y}"
                : "shfl.sync.bfly.b32 $0, $1, $2, 31, -1",
            other, value, ptx_number(distance));
        combine(writer, type, op, result, value, other);
        ptx_text_move(text, value, result);
    }
}

/* If all lanes of the warp are here, and those of the mask have one address, then the
 * lowest of these adds what all have, and the others nothing. */
void ptx_atomic_reduce_local(PtxWriter *writer, VarType type, ReduceOp op, PtxArg value,
                             PtxArg address, uint32_t offset, PtxArg mask)
{
    PtxText *text = &writer->text;
    if (type_info[type].size < 4) {
        ptx_atomic_reduce(writer, type, op, value, address, offset, mask);
        return;
    }
    PtxArg adds = ptx_text_new(text, PTX_PRED), each = ptx_text_label(text);
    PtxArg sum = ptx_text_new_value(text, type), lowest = ptx_text_new(text, PTX_B32);
    PtxArg none = ptx_text_new_value(text, type);
    if (mask == PTX_NONE)
        ptx_text_put(text, VarTypeBool, "mov.pred $0, 1", adds);
    else
        ptx_text_move(text, adds, mask);
    ptx_text_move(text, sum, value);
    ptx_text_put(text, type, "activemask.b32 $x; setp.ne.u32 $p, $x, -1; @$p bra $0",
                 each);
    /* Lane 0 if there is none in the mask: nobody adds then. */
    ptx_text_put(text, type,
                 "vote.sync.ballot.b32 $x, $1, -1; neg.s32 $y, $x; and.b32 $y, $x, $y; "
                 "clz.b32 $0, $y; sub.u32 $0, 31, $0; max.s32 $0, $0, 0",
                 lowest, adds);
    ptx_text_put(text, type,
                 "mov.b64 {$x, $y}, $0; shfl.sync.idx.b32 $x, $x, $1, 31, -1; "
                 "shfl.sync.idx.b32 $y, $y, $1, 31, -1; mov.b64 $v, {$x, $y}; "
                 "setp.eq.u64 $p, $v, $0; not.pred $q, $2; or.pred $p, $p, $q; "
                 "vote.sync.all.pred $p, $p, -1; @!$p bra $3",
                 address, lowest, adds, each);
    ptx_text_literal(text, type, none, reduce_rule_neutral(op, type));
    ptx_text_put(text, type, "selp.$b $0, $0, $1, $2", sum, none, adds);
    combine_warp(writer, type, op, sum);
    ptx_text_put(text, type,
                 "mov.u32 $x, %laneid; setp.eq.u32 $p, $x, $1; and.pred $0, $0, $p",
                 adds, lowest);
    ptx_text_bind(text, each);
    ptx_atomic_reduce(writer, type, op, sum, address, offset, adds);
}

/* ---- operations that give what was there */

static void compare_and_swap(PtxWriter *writer, VarType type, const PtxArg *values,
                             PtxArg address, PtxArg mask, PtxArg result)
{
    PtxText *text = &writer->text;
    if (type_info[type].size >= 4) {
        ptx_text_put(text, type,
                     mask == PTX_NONE ? "atom.global.cas.$b $0, [$1], $2, $3"
                                      : "@$4 atom.global.cas.$b $0, [$1], $2, $3",
                     result, address, values[0], values[1], mask);
        return;
    }
    Swap s = swap_begin(writer, type, address, 0, mask);
    PtxArg entry = swap_entry(writer, type, &s);
    ptx_text_move(text, result, entry);
    ptx_text_put(text, type,
                 type == VarTypeBool      ? "xor.pred $p, $0, $1; @$p bra $2"
                 : type == VarTypeFloat16 ? "setp.ne.b16 $p, $0, $1; @$p bra $2"
                                          : "setp.ne.b32 $p, $0, $1; @$p bra $2",
                 entry, values[0], s.leave);
    swap_replace(writer, type, &s, values[1]);
    swap_end(writer, &s);
}

/* 'name': the instruction for it, with its type; NULL: there is none. */
static void exchange(PtxWriter *writer, VarType type, ReduceOp op, const char *name,
                     PtxArg value, PtxArg address, PtxArg mask, PtxArg result)
{
    char pattern[PTX_PATTERN_SIZE];
    if (!name) {
        reduce_in_loop(writer, type, op, value, address, 0, mask, result);
        return;
    }
    PTX_JOIN(pattern, mask == PTX_NONE ? "" : "@$3 ", "atom.global.", name,
             op == ReduceOpAdd ? instruction_type(type, op) : ".$b", " $0, [$1], $2");
    ptx_text_put(&writer->text, type, pattern, result, address, value, mask);
}

void ptx_atomic_exchange(PtxWriter *writer, uint32_t position)
{
    const Program *p = writer->frame->program;
    const Inst *inst = &p->insts[position];
    const uint32_t *args = program_args(p, inst), count = inst->count;
    const VarType type = (VarType) inst->type;
    PtxArg mask = ptx_memory_mask(writer, args[count - 1]);
    PtxArg result = ptx_writer_result(writer, position), values[2] = { ptx_number(1) };
    PtxArg address = ptx_memory_address(writer, ptx_writer_value(writer, args[0]),
                                        ptx_writer_value(writer, args[count - 2]),
                                        type_info[type].size);
    for (uint32_t k = 1; k + 2 < count; ++k)
        values[k - 1] = ptx_writer_value(writer, args[k]);
    if (mask != PTX_NONE)
        ptx_text_literal(&writer->text, type, result, 0);
    if (inst->op == OP_SCATTER_CAS)
        compare_and_swap(writer, type, values, address, mask, result);
    else if (inst->op == OP_SCATTER_EXCH)
        exchange(writer, type, ReduceOpIdentity,
                 type_info[type].size >= 4 ? "exch" : NULL, values[0], address, mask,
                 result);
    else
        exchange(writer, type, ReduceOpAdd,
                 instruction(writer->target, type, ReduceOpAdd), values[0], address,
                 mask, result);
}
