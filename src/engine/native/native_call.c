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
 * Local arrays and prints have functions of this kind here. A local array has a row of
 * W entries for each of its entries: [entry][lane].
 */
#include <string.h>

#include "base/vec.h"
#include "engine/interp/interp.h"
#include "engine/interp/interp_build.h"
#include "engine/native/forms.h"
#include "engine/native/native.h"

/* ---- functions for local arrays and prints. LaneStep.out: binary logarithm of the
 * entry size, and the lanes of a packet above. */

static uint32_t step_size(const LaneStep *s)
{
    return 1u << (s->out & 0xff);
}

static uint32_t step_lanes(const LaneStep *s)
{
    return s->out >> 8;
}

static char *local_array(const LaneFrame *f, uint32_t offset)
{
    return (char *) f->slot[NATIVE_LOCAL_SLOT] + offset;
}

/* arg: array, entries; the value is operand 1 */
static const LaneStep *local_fill(const LaneStep *s, const LaneFrame *f)
{
    size_t row = (size_t) step_size(s) * step_lanes(s);
    char *array = local_array(f, s->arg[0]);
    for (uint32_t i = 0; i < s->arg[1]; ++i)
        memcpy(array + i * row, f->slot[1], row);
    return s + 1;
}

/* arg: array, entries; operands array, index, mask */
static const LaneStep *local_read(const LaneStep *s, const LaneFrame *f)
{
    uint32_t size = step_size(s), lanes = step_lanes(s);
    const char *array = local_array(f, s->arg[0]);
    const uint32_t *index = f->slot[2];
    const uint8_t *mask = f->slot[3];
    char *out = f->slot[0];
    memset(out, 0, (size_t) size * lanes);
    for (uint32_t i = 0; i < lanes; ++i)
        if (mask[i] && index[i] < s->arg[1])
            memcpy(out + i * size, array + ((size_t) index[i] * lanes + i) * size,
                   size);
    return s + 1;
}

/* arg: array, entries; operands array, value, index, mask */
static const LaneStep *local_write(const LaneStep *s, const LaneFrame *f)
{
    uint32_t size = step_size(s), lanes = step_lanes(s);
    char *array = local_array(f, s->arg[0]);
    const char *value = f->slot[2];
    const uint32_t *index = f->slot[3];
    const uint8_t *mask = f->slot[4];
    for (uint32_t i = 0; i < lanes; ++i)
        if (mask[i] && index[i] < s->arg[1])
            memcpy(array + ((size_t) index[i] * lanes + i) * size, value + i * size,
                   size);
    return s + 1;
}

/* arg: array, source, entries; operands array, source, mask */
static const LaneStep *local_move(const LaneStep *s, const LaneFrame *f)
{
    uint32_t size = step_size(s), lanes = step_lanes(s);
    char *to = local_array(f, s->arg[0]);
    const char *from = local_array(f, s->arg[1]);
    const uint8_t *mask = f->slot[3];
    for (uint32_t k = 0; k < s->arg[2]; ++k)
        for (uint32_t i = 0; i < lanes; ++i)
            if (mask[i])
                memcpy(to + ((size_t) k * lanes + i) * size,
                       from + ((size_t) k * lanes + i) * size, size);
    return s + 1;
}

/* arg: number of the print; the mask is operand 1, the values are where 'values'
 * says */
static const LaneStep *print(const LaneStep *s, const LaneFrame *f)
{
    f->log->append(f->log, s->arg[0], f->begin, f->count, f->slot[1], f->values);
    return s + 1;
}

/* ---- which function */

static uint32_t size_class(VarType type)
{
    return (uint32_t) __builtin_ctz(type_info[type].size);
}

/* Operands of memory operations, by their number in the frame. */
enum { OUT, FIRST, SECOND, THIRD, FOURTH };
enum { EXTRA_INDEX_MASK, EXTRA_COMPARE = 2 }; /* places in native_call_extra */
const uint32_t native_call_extra[] = { THIRD, FOURTH, FOURTH, FOURTH + 1, SECOND };

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

static LaneStep find_local(const Native *n)
{
    const Inst *inst = n->inst;
    const NativeFunction *f = n->f;
    bool fills = inst->op == OP_LOCAL;
    uint32_t array = fills ? n->result : n->args[0];
    VarType type = (VarType) f->program->insts[array].type;
    uint32_t entries = f->program->insts[array].aux, offset = f->values[array].slot;
    LaneStep step = { NULL, size_class(type) | n->lanes << 8, { offset, entries, 0 } };
    switch (inst->op) {
    case OP_LOCAL:
        step.fn = local_fill;
        break;
    case OP_LOCAL_READ:
        step.fn = local_read;
        break;
    case OP_LOCAL_WRITE:
        step.fn = local_write;
        break;
    default:
        step.fn = local_move;
        step.arg[1] = f->values[n->args[1]].slot;
        step.arg[2] = entries;
    }
    return step;
}

static LaneStep find_print(const Native *n)
{
    return (LaneStep){ print, 0, { n->inst->aux, 0, 0 } };
}

bool native_call_supports(Op op, VarType type, VarType operand)
{
    switch (op) {
    case OP_SCATTER: /* of which some reductions do not exist; nobody asks for them */
    case OP_SCATTER_EXCH:
    case OP_SCATTER_CAS:
    case OP_GATHER:
        return type_valid(op == OP_SCATTER ? operand : type);
    case OP_SCATTER_ADD:
        return type_valid(type) && type_info[type].is_float;
    case OP_SCATTER_INC:
        return type == VarTypeUInt32;
    case OP_CHECK:
        return type == VarTypeBool;
    default:
        return op < OP_COUNT && op >= OP_NEG && op <= OP_BITCAST &&
               interp_build_find(interp_table(), op, type, operand) != NULL;
    }
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
    if (k == 0 && n->inst->op >= OP_GATHER && n->inst->op <= OP_SCATTER_CAS) {
        NativeReg address = native_use_address(n, k);
        x86_mr(&n->x, X86_MOV_ST | X86_W, forms_mem(place), address);
    } else {
        NativeReg reg = native_alloc_load(n, value);
        n->target->store(n, type, place, reg, n->f->values[value].bits);
    }
    native_alloc_unpin(n);
}

/* frame.steps + offset, &frame.lanes */
static void emit_call(Native *n, uint32_t offset)
{
    X86 *x = &n->x;
    x86_rm(x, X86_MOV | X86_W, X86_RDI,
           forms_mem(native_memory_frame(n, offsetof(NativeFrame, steps))));
    x86_rm(x, X86_LEA | X86_W, X86_RSI,
           forms_mem(native_memory_frame(n, offsetof(NativeFrame, lanes))));
    if (offset)
        x86_ri(x, X86_ADD_I | X86_W, X86_RDI, (int32_t) offset);
    native_dispatch_save(n);
    x86_m(x, X86_CALL_R, x86_at(X86_RDI, 0));
    native_dispatch_restore(n);
    native_memory_hoist(n);
}

static bool is_local(const Inst *inst)
{
    return inst->op >= OP_LOCAL && inst->op <= OP_LOCAL_MOVE;
}

static bool is_array(const Native *n, uint32_t k)
{
    return n->f->program->insts[n->args[k]].op == OP_LOCAL;
}

static void write_operands(Native *n)
{
    for (uint32_t k = 0; k < n->inst->count; ++k)
        if (!is_array(n, k))
            write_operand(n, k, operand_place(n, FIRST + k));
}

/* The values have an area of their own, as there may be many. */
static void write_printed(Native *n)
{
    write_operand(n, 0, operand_place(n, FIRST));
    NativeReg area = native_temp_general(n);
    x86_rm(&n->x, X86_MOV | X86_W, area,
           forms_mem(native_memory_frame(n, offsetof(NativeFrame, printed))));
    for (uint32_t k = 1; k < n->inst->count; ++k) {
        write_operand(n, k, native_at(area, (int32_t) ((k - 1) * NATIVE_HELPER_BYTES)));
        n->general_free &= ~(1u << area);
    }
    n->general_free |= 1u << area;
    x86_mr(&n->x, X86_MOV_ST,
           forms_mem(native_memory_frame(n, offsetof(NativeFrame, lanes) +
                                                offsetof(LaneFrame, begin))),
           NATIVE_LANE);
    if (n->inst->count - 1u > n->print_most)
        n->print_most = n->inst->count - 1u;
}

static void reserve_local(Native *n)
{
    const Inst *inst = n->inst;
    uint32_t bytes = inst->aux * type_info[inst->type].size * n->lanes;
    n->f->values[n->result].slot = n->local_bytes;
    n->local_bytes += (bytes + 63) & ~63u;
}

static LaneStep find_current(const Native *n)
{
    const Inst *inst = n->inst;
    if (is_local(inst))
        return find_local(n);
    if (inst->op == OP_PRINT)
        return find_print(n);
    uint32_t value = 0;
    if (inst->op == OP_SELECT || (inst->op >= OP_SCATTER && inst->op <= OP_SCATTER_CAS))
        value = 1;
    VarType operand = inst->count > value ? native_type(n, value) : VarTypeVoid;
    return find_step(n->lanes_table, (Op) inst->op, inst->aux, (VarType) inst->type,
                     operand);
}

void native_call_helper(Native *n)
{
    const Inst *inst = n->inst;
    if (inst->op == OP_LOCAL)
        reserve_local(n);
    if (inst->op == OP_PRINT)
        write_printed(n);
    else
        write_operands(n);
    for (uint32_t k = 0; k < inst->count; ++k)
        n->f->values[n->f->root[n->args[k]]].next = n->args_next[k];
    native_alloc_flush(n);
    emit_call(n, add_step(n, find_current(n)));
    if (inst->op == OP_PRINT || inst->op == OP_LOCAL || inst->type == VarTypeVoid)
        return;
    n->result_bits = 32;
    NativeReg to = native_result_fresh(n);
    n->target->load(n, (VarType) inst->type, to, operand_place(n, OUT));
}
