/*
 * native_call.c -- operations that a loop of the interpreter computes
 *
 * What no row of the target's table emits is computed by calling the function that the
 * interpreter has for it, on a packet: all values that are needed later leave the
 * registers, operands are written as arrays into the frame, and the result is read from
 * there. So every operation exists on every target, and the tables need only those that
 * are frequent.
 *
 *     frame.operands[0]      result
 *     frame.operands[1...5]  operands; of a pointer, the address
 *     frame.steps[...]       LaneStep with the function, and one that stops
 *
 * Prints have a function of this kind here. Their values, and vectors that are
 * multiplied with matrices, are rows: an area of its own, as long as it has to be.
 */
#include <string.h>

#include "base/vec.h"
#include "engine/interp/interp.h"
#include "engine/interp/interp_build.h"
#include "engine/native/plan/native_emit.h"

/* arg[0]: number of the print; the mask is operand 1, the values are where 'values'
 * says. */
static const LaneStep *print(const LaneStep *s, const LaneFrame *f)
{
    f->log->append(f->log, s->arg[0], f->begin, f->count, f->regs[1], f->values);
    return s + 1;
}

/* ---- which function */

static uint32_t size_class(VarType type)
{
    return (uint32_t) __builtin_ctz(type_info[type].size);
}

/* Operands of memory operations, by their number in the frame. */
enum { OUT, FIRST, SECOND, THIRD, FOURTH };
enum { EXTRA_INDEX_MASK, EXTRA_COMPARE = 2 }; /* places in native_launch_extra */

static LaneStep find_scatter(const LaneTable *t, uint32_t aux, VarType value)
{
    uint32_t op = aux & 0xff;
    LaneFn fn =
        op < ReduceOpCount ? t->scatter[interp_build_scatter(aux)][op][value] : NULL;
    return (LaneStep){ fn, FIRST, { SECOND, THIRD, FOURTH } };
}

static LaneStep find_step(const LaneTable *t, Op op, uint32_t aux, VarType type,
                          VarType operand)
{
    switch (op) {
    case OP_GATHER:
        return (LaneStep){ t->gather[size_class(type)], OUT, { FIRST, SECOND, THIRD } };
    case OP_SCATTER:
        return find_scatter(t, aux, operand);
    case OP_SCATTER_INC:
        return (LaneStep){ t->increment, OUT, { FIRST, SECOND, THIRD } };
    case OP_SCATTER_ADD:
        return (
            LaneStep){ t->fetch_add[type], OUT, { FIRST, SECOND, EXTRA_INDEX_MASK } };
    case OP_SCATTER_EXCH:
        return (LaneStep){ t->exchange[size_class(type)],
                           OUT,
                           { FIRST, SECOND, EXTRA_INDEX_MASK } };
    case OP_SCATTER_CAS:
        return (LaneStep){ t->compare_exchange[size_class(type)],
                           OUT,
                           { FIRST, THIRD, EXTRA_COMPARE } };
    case OP_CHECK:
        return (LaneStep){ t->check, OUT, { FIRST, SECOND, aux } };
    default:
        return (LaneStep){ interp_build_find(t, op, type, operand),
                           OUT,
                           { FIRST, SECOND, THIRD } };
    }
}

static LaneStep find_print(const Native *n)
{
    return (LaneStep){ print, 0, { n->inst->aux, 0, 0 } };
}

bool native_call_supports(Op op, VarType type, VarType operand)
{
    /* Some reductions of a SCATTER do not exist; nobody asks for them. */
    if (op_has_pointer(op))
        return op != OP_GATHER_PACKET && op != OP_SCATTER_PACKET &&
               op_is_defined(op, operand);
    return op_info[op].flags & F_FOLDS &&
           interp_build_find(interp_table(), op, type, operand) != NULL;
}

/* ---- code */

/* Offset of this step in frame.steps. */
static uint32_t add_step(Native *n, LaneStep step)
{
    enum { SEARCH = 64 };
    uint32_t first = n->helper_count > SEARCH ? n->helper_count - SEARCH : 0;
    for (uint32_t i = first & ~1u; i < n->helper_count; i += 2)
        if (memcmp(&n->helpers[i], &step, sizeof step) == 0)
            return i * (uint32_t) sizeof step;
    if (!vec_reserve(&n->helpers, &n->helper_capacity, n->helper_count + 2,
                     sizeof(LaneStep))) {
        n->failed = true;
        return 0;
    }
    uint32_t at = n->helper_count;
    n->helpers[at] = step;
    n->helpers[at + 1] = (LaneStep){ .fn = interp_build_stop };
    n->helper_count += 2;
    return at * (uint32_t) sizeof step;
}

static NativeOperand operand_place(const Native *n, uint32_t slot)
{
    return native_memory_frame(n, offsetof(NativeFrame, operands) +
                                      (size_t) slot * NATIVE_HELPER_BYTES);
}

static void write_operand(Native *n, uint32_t k, NativeOperand place)
{
    VarType type = native_type(n, k);
    uint32_t value = n->f->root[n->args[k]];
    if (op_role((Op) n->inst->op, k) == ROLE_POINTER) {
        NativeReg address = native_use_address(n, k);
        n->cpu->store_word(n, place, address);
    } else {
        NativeReg reg = native_alloc_load(n, value);
        n->target->store(n, type, place, reg, n->f->values[value].bits);
    }
    native_alloc_unpin(n);
}

/* Of the function of frame.steps + offset. */
static void emit_call(Native *n, uint32_t offset)
{
    n->cpu->begin_call(n, offset);
    native_dispatch_save(n);
    n->cpu->call_step(n);
    native_dispatch_restore(n);
    n->cpu->hoist(n);
}

static void write_operands(Native *n)
{
    for (uint32_t k = 0; k < n->inst->count; ++k)
        write_operand(n, k, operand_place(n, FIRST + k));
}

/* The area of rows, in a register. */
static NativeReg use_rows(Native *n)
{
    NativeReg area = native_temp_general(n);
    n->cpu->load_word(n, area, native_memory_frame(n, offsetof(NativeFrame, rows)));
    return area;
}

static NativeOperand row_place(NativeReg area, uint32_t k)
{
    return native_at(area, (int32_t) (k * NATIVE_HELPER_BYTES));
}

/* Operands from 'first' on have an area of their own, as there may be many. Behind them
 * is room for more. */
static void write_rows(Native *n, uint32_t first, uint32_t more)
{
    const uint32_t count = n->inst->count - first;
    NativeReg area = use_rows(n);
    for (uint32_t k = 0; k < count; ++k) {
        write_operand(n, first + k, row_place(area, k));
        n->general_free &= ~(1u << area);
    }
    n->general_free |= 1u << area;
    if (count + more > n->most_rows)
        n->most_rows = count + more;
}

static void write_printed(Native *n)
{
    write_operand(n, 0, operand_place(n, FIRST));
    write_rows(n, 1, 0);
    n->cpu->store_lane(n, native_memory_frame(n, offsetof(NativeFrame, lanes) +
                                                     offsetof(LaneFrame, begin)));
}

static LaneStep find_current(const Native *n)
{
    const Inst *inst = n->inst;
    if (inst->op == OP_PRINT)
        return find_print(n);
    return find_step(n->lanes_table, (Op) inst->op, inst->aux, (VarType) inst->type,
                     native_operation_type(n));
}

/* What was written is an operand no more. */
static void release_operands(Native *n)
{
    for (uint32_t k = 0; k < n->inst->count; ++k)
        n->f->values[n->f->root[n->args[k]]].next = n->args_next[k];
    native_alloc_flush(n);
}

void native_call_helper(Native *n)
{
    const Inst *inst = n->inst;
    if (inst->op == OP_PRINT)
        write_printed(n);
    else
        write_operands(n);
    if (inst->op == OP_SCATTER)
        n->cpu->prefetch_scatter(n, operand_place(n, FIRST + 2));
    release_operands(n);
    emit_call(n, add_step(n, find_current(n)));
    if (inst->type == VarTypeVoid)
        return;
    n->result_bits = 32;
    NativeReg to = native_result_fresh(n);
    n->target->load(n, (VarType) inst->type, to, operand_place(n, OUT));
}

static LaneStep find_matrix(const Native *n)
{
    const Inst *inst = n->inst;
    const LaneTable *t = n->lanes_table;
    VarType type = native_operation_type(n);
    if (inst->op == OP_OUTER) {
        const uint32_t m = inst->aux >> OUTER_ROWS;
        LaneFn fn = t->outer[interp_build_scatter(inst->aux & 0xffff)][type];
        return (LaneStep){ fn, m, { FIRST, SECOND, inst->count - 3 - m } };
    }
    const uint32_t added = inst->aux & MATVEC_ADDS ? program_item_count(inst) : 0;
    return (LaneStep){ t->matvec[type], inst->aux,
                       { FIRST, SECOND, inst->count - 2 - added } };
}

/* Results go from their rows into registers, or by way of these to where values are
 * that are spilled. */
static void bind_items(Native *n)
{
    const Inst *inst = n->inst;
    const uint32_t *items = n->f->items + n->f->values[n->result].slot;
    NativeReg area = use_rows(n);
    for (uint32_t k = 0; k < program_item_count(inst); ++k) {
        if (items[k] == NATIVE_NO_VALUE || n->f->values[items[k]].next == NATIVE_NEVER)
            continue;
        NativeReg reg = native_alloc_take(n, NATIVE_VECTOR);
        n->target->load(n, (VarType) inst->type, reg,
                        row_place(area, inst->count - 2u + k));
        native_alloc_bind(n, items[k], reg);
        n->files[NATIVE_VECTOR].pinned &= ~(1u << reg);
    }
}

void native_call_matrix(Native *n)
{
    enum { FIRST_ROW = 2 };
    write_operand(n, 0, operand_place(n, FIRST));
    write_operand(n, 1, operand_place(n, SECOND));
    write_rows(n, FIRST_ROW, program_item_count(n->inst));
    release_operands(n);
    emit_call(n, add_step(n, find_matrix(n)));
    if (n->inst->op == OP_MATVEC)
        bind_items(n);
}

/* Each value is scattered by itself. */
void native_call_scatter_packet(Native *n)
{
    enum { FIRST_VALUE = 3 };
    uint32_t count = n->inst->count - FIRST_VALUE;
    LaneStep step =
        find_scatter(n->lanes_table, n->inst->aux, native_type(n, FIRST_VALUE));
    /* Until the last call, all operands are needed again. */
    for (uint32_t k = 0; k < n->inst->count; ++k)
        n->f->values[n->f->root[n->args[k]]].next = n->step;
    uint32_t size = type_info[native_type(n, FIRST_VALUE)].size;
    n->cpu->prefetch_packets(n, operand_place(n, THIRD), count * size);
    for (uint32_t k = 0; k < count; ++k) {
        write_operand(n, 0, operand_place(n, FIRST));
        write_operand(n, FIRST_VALUE + k, operand_place(n, SECOND));
        write_operand(n, 2, operand_place(n, FOURTH));
        NativeReg index = native_use(n, 1), entry = native_temp(n);
        n->cpu->item_index(n, entry, index, count, k);
        n->cpu->spill(n, NATIVE_VECTOR, 4 * n->lanes, operand_place(n, THIRD), entry);
        native_alloc_unpin(n);
        native_alloc_flush(n);
        emit_call(n, add_step(n, step));
    }
}
