/*
 * memory.c -- see memory.h
 *
 * All of these have the same course: check the operands, settle the target (copy on
 * write), add a bounds check to the mask in debug mode, make the node, queue it if it
 * is a write.
 *
 * A pointer node holds a reference to its array. As long as a gather from an array has
 * not run, the array is therefore shared, and a write to it goes to a copy.
 */
#include "trace/array/memory.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "freeze/freezing.h"
#include "ir/reduce_rule.h"
#include "trace/array/array.h"
#include "trace/array/bounds.h"
#include "trace/array/in_order.h"
#include "trace/eval/effects.h"
#include "trace/eval/evaluate.h"
#include "trace/eval/evaluate_fused.h"
#include "trace/eval/expand.h"
#include "trace/eval/work.h"
#include "trace/graph/access.h"
#include "trace/graph/arith.h"
#include "trace/graph/distance.h"
#include "trace/graph/pending.h"
#include "trace/graph/loop_array.h"
#include "trace/graph/record.h"

VarId memory_pointer(ThreadState *ts, VarId array, bool write)
{
    uint8_t device = var_get(array)->device;
    if (write)
        return node_raw(ts, OP_POINTER, device, VarTypePointer, 1, 1,
                        (VarId[4]){ array });
    return node_operation(ts, var_head(OP_POINTER, VarTypePointer, device, 0), 1,
                          var_pair(array, 0), 0);
}

/* ----------------------------------------------------------------- gathers */

/* The only value of the source, or its only entry, which serves all indices as a
 * single entry broadcasts everywhere else. */
static VarId uniform_value(const Access *a, VarId source)
{
    const Var *v = var_get(source);
    VarId lanes = var_lanes_of(a->index) == a->size ? a->index : a->mask;
    SymSize symsize;
    TRY(freezing_like(a->ts, lanes, &symsize), 0);
    if (v->op == OP_LITERAL)
        return freezing_give(a->ts,
                             node_literal(a->ts, a->device, (VarType) v->type,
                                          v->value.literal, a->size),
                             symsize);
    if (symsize)
        freezing_hint(a->ts, symsize, a->size);
    return array_resize(a->ts, source, a->size);
}

/* Nothing to read. */
static VarId gather_uniform(Access *a, VarId source)
{
    VarType type = (VarType) var_get(source)->type;
    VarId value = uniform_value(a, source);
    VarId zero = node_literal(a->ts, a->device, type, 0, 1);
    VarId result = 0;
    if (value && zero) {
        VarId choice[] = { a->mask, value, zero };
        result = arith_make(a->ts, OP_SELECT, type, a->size, choice);
    }
    if (value)
        var_dec(value);
    if (zero)
        var_dec(zero);
    return result;
}

static bool is_uniform(VarId source)
{
    return var_get(source)->op == OP_LITERAL || var_lanes_of(source) == 1;
}

/* An access to packets of n entries of an array. */
static bool prepare(Access *a, uint32_t n, VarId array, VarId index, VarId mask,
                    const VarId *values, uint32_t value_count)
{
    return access_prepare(a, index, mask, values, value_count,
                          var_entries(var_get(array)) / n) &&
           bounds_check(a, array, n) && freezing_bound(a->ts, a->mask, array, n);
}

/* Checks shared by both forms; afterwards the source is in memory (or uniform, or
 * waits). */
static bool begin_gather(Access *a, VarId source, VarId index, VarId mask, uint32_t n)
{
    TRY(access_check_array(a, source, "the source"), false);
    TRY(node_usable(a->ts, source, a->function, "the source"), false);
    TRY(access_check_index(a, index), false);
    TRY(access_check_mask(a, mask), false);
    if (var_entries(var_get(source)) % n)
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: the source has %u entries, expected a "
                         "multiple of %u",
                         a->function, node_number(a->ts, source), n);
    if (n != 1)
        TRY(freezing_blocks(a->ts, source, n), false);
    if (!is_uniform(source))
        TRY(evaluate_fused_may_wait(a->ts, source) ? pending_note_array(source)
                                    : evaluate_var(a->ts, source),
            false);
    uint32_t size = var_lanes_of(source); /* one entry serves all indices */
    return size == 1
               ? access_prepare(a, index, mask, NULL, 0, ACCESS_UNBOUNDED)
               : prepare(a, n, source, index, mask, NULL, 0);
}

VarId memory_read(ThreadState *ts, VarId pointer, VarType type, VarId index, VarId mask)
{
    const Var *i = var_get(index), *m = var_get(mask);
    return node_operation(ts, var_head(OP_GATHER, type, i->device, 0),
                          var_lanes(i) != 1 ? var_lanes(i) : var_lanes(m),
                          var_pair(pointer, index), mask);
}

VarId memory_pick(ThreadState *ts, VarId source, VarId index, VarId mask)
{
    Access a = { .ts = ts, .function = "jit_var_gather()", .kind = CHECK_GATHER };
    VarId result = 0, pointer = 0;
    if (!begin_gather(&a, source, index, mask, 1)) {
        /* error recorded */
    } else if (is_uniform(source)) {
        result = gather_uniform(&a, source);
    } else if (array_use_distance(ts, &a.index) &&
               (pointer = memory_pointer(ts, source, false)) != 0) {
        result = memory_read(ts, pointer, (VarType) var_get(source)->type, a.index,
                             a.mask);
        var_dec(pointer);
    }
    access_finish(&a);
    return result;
}

VarId memory_gather(ThreadState *ts, VarId source, VarId index, VarId mask)
{
    const Extra *extra = NULL;
    if (ts->body && var_exists(index))
        extra = extra_find(var_get(index));
    bool whole = !extra || !extra->lanes;
    return memory_pick(ts, whole ? loop_array(ts, source) : source, index, mask);
}

/* index * n + k */
static VarId packet_index(ThreadState *ts, VarId index, uint32_t n, uint32_t k)
{
    const Var *v = var_get(index);
    VarType type = (VarType) v->type;
    uint32_t size = var_lanes(v);
    VarId scale = node_literal(ts, v->device, type, n, 1);
    VarId shift = node_literal(ts, v->device, type, k, 1);
    VarId result = 0;
    if (scale && shift) {
        VarId product[] = { index, scale };
        VarId sum[] = { arith_make(ts, OP_MUL, type, size, product), shift };
        if (sum[0]) {
            result = arith_make(ts, OP_ADD, type, size, sum);
            var_dec(sum[0]);
        }
    }
    if (scale)
        var_dec(scale);
    if (shift)
        var_dec(shift);
    return result;
}

/* Without packets: n gathers. */
static bool gather_singly(ThreadState *ts, uint32_t n, VarId source, VarId index,
                          VarId mask, VarId *out)
{
    for (uint32_t k = 0; k < n; ++k) {
        VarId position = packet_index(ts, index, n, k);
        out[k] = position ? memory_gather(ts, source, position, mask) : 0;
        if (position)
            var_dec(position);
        if (!out[k]) {
            while (k-- > 0)
                var_dec(out[k]);
            return false;
        }
    }
    return true;
}

static bool check_packet_size(const char *function, uint32_t n)
{
    if (!op_is_packet(n))
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: the packet has %u entries, expected a power of two or "
                         "three times one, from 1 to 64",
                         function, n);
    return true;
}

bool memory_gather_packet(ThreadState *ts, uint32_t n, VarId source, VarId index,
                          VarId mask, VarId *out)
{
    Access a = { .ts = ts,
                 .function = "jit_var_gather_packet()",
                 .kind = CHECK_GATHER };
    TRY(check_packet_size(a.function, n), false);
    source = loop_array(ts, source);
    if (!begin_gather(&a, source, index, mask, n)) {
        access_finish(&a);
        return false;
    }
    bool ok = false;
    if (n == 1 || var_get(source)->op == OP_LITERAL ||
        !state_flag(ts, JitFlagPacketOps)) {
        ok = gather_singly(ts, n, source, index, mask, out);
        access_finish(&a);
        return ok;
    }
    VarType type = (VarType) var_get(source)->type;
    VarId pointer = memory_pointer(ts, source, false), packet = 0;
    if (pointer) {
        Var v = { .op = OP_GATHER_PACKET, .type = (uint8_t) type, .aux = n,
                  .device = a.device, .own_lanes = a.size,
                  .dep = { pointer, a.index, a.mask } };
        packet = node_new(ts, &v);
        var_dec(pointer);
    }
    access_finish(&a);
    TRY(packet, false);
    for (uint32_t k = 0; k < n; ++k) {
        Var item = { .op = OP_PACKET_ITEM,
                     .type = (uint8_t) type,
                     .aux = k,
                     .device = a.device,
                     .own_lanes = a.size,
                     .dep = { packet } };
        out[k] = node_new(ts, &item);
        ok = out[k] != 0;
        if (!ok) {
            while (k-- > 0)
                var_dec(out[k]);
            break;
        }
    }
    var_dec(packet);
    return ok;
}

/* ------------------------------------------------------------ copy on write */

VarId memory_duplicate(ThreadState *ts, VarId id)
{
    const Var *v = var_get(id);
    uint8_t device = v->device;
    VarType type = (VarType) v->type;
    uint32_t size = var_lanes(v), entry = type_info[type].size;
    var_inc(id); /* the lock may be released */
    Buffer *buffer = work_buffer(ts, device, (size_t) size * entry);
    v = var_get(id);
    bool ok = buffer && (v->op != OP_UNDEFINED || freezing_undefined(ts, id, buffer));
    if (ok && v->op != OP_UNDEFINED)
        freezing_size_of(ts, id);
    if (ok && v->op == OP_LITERAL)
        ok = work_fill(ts, buffer, v->value.literal, entry);
    else if (ok && v->op == OP_EVALUATED)
        ok = work_copy(ts, v->value.buffer, 0, buffer, 0, (size_t) size * entry);
    var_dec(id);
    VarId copy = ok ? node_buffer(ts, device, type, size, buffer) : 0;
    if (!copy)
        buffer_release(buffer);
    return copy;
}

/* References that are not those of queued writes. The extra pending write of an
 * expanded target holds none. */
static uint32_t foreign_refs(VarId id)
{
    const Var *v = var_get(id);
    return v->refs - (var_pending(v) - (expand_copies_of(id) != 0));
}

/* Writes are performed thread by thread: those that another one has queued for the
 * array come before those to come. */
static bool run_others(ThreadState *ts, VarId id)
{
    if (!var_pending(var_get(id)))
        return true;
    VarId copies = expand_copies_of(id);
    return (!effects_others_write(ts, id) &&
            !(copies && effects_others_write(ts, copies))) ||
           evaluate_pending(ts, id);
}

/* The array to write to, where 'ignored' references do not make it shared. */
static VarId settle(ThreadState *ts, VarId id, uint32_t ignored)
{
    TRY(run_others(ts, id), 0);
    const Var *v = var_get(id);
    if (v->op != OP_LITERAL && v->op != OP_UNDEFINED && v->op != OP_EVALUATED)
        TRY(evaluate_var(ts, id), 0);
    if (foreign_refs(id) > 1 + ignored && pending_table.live)
        TRY(evaluate_fused_of(ts, id), 0);
    const bool guest = v->op == OP_EVALUATED && v->value.buffer->guest;
    if (foreign_refs(id) > 1 + ignored || guest) {
        if (var_pending(v))
            TRY(evaluate_pending(ts, id), 0);
        VarId copy = memory_duplicate(ts, id);
        if (copy && guest && !work_wait(ts, var_get(copy)->value.buffer, "a write")) {
            var_dec(copy);
            copy = 0;
        }
        return copy;
    }
    if (v->op != OP_EVALUATED)
        TRY(evaluate_literal(ts, id), 0);
    distance_forget(var_get(id));
    var_inc(id);
    return id;
}

VarId memory_writable(ThreadState *ts, VarId id) { return settle(ts, id, 0); }

/* The same for a write of these values to 'target', after which is array 'id'. One of
 * them may be the array itself: then it is shared and has to be copied. */
static VarId writable_beside(ThreadState *ts, VarId target, VarId id,
                             const VarId *values, uint32_t count)
{
    bool again = false;
    TRY(!ts->body || loop_array_settled(ts, target, id, &again), 0);
    for (uint32_t i = 0; i < count; ++i)
        var_inc(values[i]);
    VarId written = settle(ts, id, again      ? UINT32_MAX - 1
                                   : ts->body ? loop_array_holders(ts, id)
                                              : 0);
    for (uint32_t i = 0; i < count; ++i)
        var_dec(values[i]);
    if (!written || !ts->body || loop_array_written(ts, target, id, written))
        return written;
    var_dec(written);
    return 0;
}

/* ---------------------------------------------------------------- scatters */

static bool check_reduction(const char *function, VarType type, ReduceOp op,
                            ReduceMode mode)
{
    const bool known = (unsigned) mode < ReduceModeCount || mode == ReduceModeParts;
    if ((unsigned) op >= ReduceOpCount || !known)
        return error_set(JIT_ERROR_ARGUMENT, "%s: operation %d and mode %d, expected a "
                         "ReduceOp and a ReduceMode", function, (int) op, (int) mode);
    if (op != ReduceOpIdentity && mode == ReduceModeParts)
        return error_set(JIT_ERROR_ARGUMENT, "%s: a reduction with ReduceModeParts, "
                         "which is for writes that do not reduce", function);
    if (op != ReduceOpIdentity && !reduce_rule_defined(op, type))
        return error_set(JIT_ERROR_UNSUPPORTED,
                         "%s: this reduction is not defined for type "
                         "%s",
                         function, type_info[type].name);
    return true;
}

static ReduceMode shared_mode(const ThreadState *ts)
{
    return state_flag(ts, JitFlagScatterReduceLocal) ? ReduceModeLocal
                                                     : ReduceModeDirect;
}

/* Whether a body that is being recorded gets private copies turns out when all of its
 * writes are known: '*flags' notes what is asked for. */
static ReduceMode choose_mode(ThreadState *ts, const Var *target, ReduceOp op,
                              ReduceMode mode, uint64_t lanes, uint32_t *flags)
{
    *flags = 0;
    if (op == ReduceOpIdentity && mode == ReduceModeParts) {
        *flags = record_keeps(ts) ? 0 : ACCESS_PART;
        return ReduceModePermute;
    }
    if (op == ReduceOpIdentity)
        return mode == ReduceModePermute ? mode : ReduceModeDirect;
    if (mode == ReduceModePermute)
        return ReduceModeNoConflicts;
    if (mode != ReduceModeAuto && mode != ReduceModeExpand)
        return mode;
    if (record_keeps(ts)) {
        *flags = mode == ReduceModeAuto ? EXPAND_IF_IT_PAYS : EXPAND_ALWAYS;
        return shared_mode(ts);
    }
    if (mode == ReduceModeExpand || expand_pays(target, lanes))
        return ReduceModeExpand;
    return shared_mode(ts);
}

VarId memory_copies_distance(ThreadState *ts, VarId target)
{
    const Var *v = var_get(target);
    const SymSize symsize = freezing_stride(ts, target);
    return array_number(ts, v->device, expand_stride(v), symsize);
}

/* worker * distance / n */
static VarId start_of_copy(ThreadState *ts, VarType type, VarId distance, uint32_t n)
{
    uint8_t device = var_get(distance)->device;
    Var w = { .op = OP_WORKER, .type = VarTypeUInt32, .device = device,
              .own_lanes = 1 };
    VarId worker = node_new(ts, &w), divisor, start = 0;
    TRY(worker, 0);
    divisor = node_literal(ts, device, VarTypeUInt32, n, 1);
    VarId packets = divisor ? arith_make(ts, OP_DIV, VarTypeUInt32, 1,
                                         (VarId[]) { distance, divisor })
                            : 0;
    VarId product[] = { packets ? arith_cast(ts, worker, type, false) : 0,
                        packets ? arith_cast(ts, packets, type, false) : 0 };
    if (product[0] && product[1])
        start = arith_make(ts, OP_MUL, type, 1, product);
    const VarId used[] = { worker, divisor, packets, product[0], product[1] };
    for (size_t i = 0; i < sizeof(used) / sizeof(*used); ++i)
        var_drop(used[i]);
    return start;
}

VarId memory_shift_index(ThreadState *ts, VarId index, VarId distance, uint32_t n)
{
    VarType type = (VarType) var_get(index)->type;
    VarId start = start_of_copy(ts, type, distance, n);
    TRY(start, 0);
    VarId shifted = arith_make(ts, OP_ADD, type, var_lanes_of(index),
                               (VarId[]) { index, start });
    var_dec(start);
    return shifted;
}

/* The private copies of a target that are accessed in packets of n entries, owned, and
 * the index into them. The distance is there first: once nothing is queued for the
 * copies, they are gone as soon as the lock is released. */
static VarId use_copies(Access *a, VarId target, ReduceOp op, uint32_t n)
{
    VarId distance = memory_copies_distance(a->ts, target);
    TRY(distance, 0);
    VarId copies = expand_get(a->ts, target, op);
    VarId shifted = copies ? memory_shift_index(a->ts, a->index, distance, n) : 0;
    var_dec(distance);
    TRY(shifted, 0);
    var_dec(a->index);
    a->index = shifted;
    var_inc(copies);
    return copies;
}

/* The array an access goes to, owned: the written variable or its private copies. */
static VarId redirect(Access *a, VarId written, ReduceOp op, ReduceMode *mode,
                      uint32_t n)
{
    if (*mode == ReduceModeExpand && expand_fits(var_get(written)))
        return use_copies(a, written, op, n);
    if (*mode == ReduceModeExpand)
        *mode = ReduceModeLocal;
    /* Writes to the array itself come after what its private copies have gathered. */
    if (expand_copies_of(written))
        TRY(evaluate_pending(a->ts, written), 0);
    var_inc(written);
    return written;
}

/* Make the effect and queue it; ids[0] is filled in with the pointer. */
static bool queue_effect(Access *a, Op op, uint32_t aux, VarId array, VarId *ids,
                         uint32_t count, VarType type, VarId *result)
{
    ids[0] = memory_pointer(a->ts, array, true);
    TRY(ids[0], false);
    VarId effect;
    if (count > 4) {
        effect = node_wide(a->ts, op, a->device, type, a->size, aux, count, ids);
    } else {
        VarId deps[4] = { 0 };
        memcpy(deps, ids, count * sizeof(VarId));
        effect = node_raw(a->ts, op, a->device, type, a->size, aux, deps);
    }
    var_dec(ids[0]);
    TRY(effect, false);
    if (!record_effect(a->ts, effect)) {
        var_dec(effect);
        return false;
    }
    if (result) {
        var_inc(effect);
        *result = effect;
    }
    return true;
}

/* What can be said against a scatter of n values to target[index * n + k]. */
static bool check_scatter(Access *a, uint32_t n, VarId target, const VarId *values,
                          VarId index, VarId mask, ReduceOp op, ReduceMode mode)
{
    TRY(access_check_array(a, target, "the target"), false);
    if (n != 1)
        TRY(freezing_blocks(a->ts, target, n), false);
    TRY(check_reduction(a->function, (VarType) var_get(target)->type, op, mode), false);
    for (uint32_t i = 0; i < n; ++i)
        TRY(access_check_value(a, values[i], target, "the value"), false);
    TRY(access_check_index(a, index), false);
    TRY(access_check_mask(a, mask), false);
    if (var_entries(var_get(target)) % n)
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: the target has %u entries, expected a "
                         "multiple of %u",
                         a->function, node_number(a->ts, target), n);
    return true;
}

/* It is performed at once, also in a body that may be given up. */
static VarId scatter_in_order(Access *a, VarId named, VarId target, VarId value,
                              ReduceOp op)
{
    InOrder o;
    VarId written = 0;
    if (in_order_begin(&o, a, value))
        written = writable_beside(a->ts, named, target, &value, 1);
    bool ok = written && (!var_pending(var_get(written)) ||
                          evaluate_pending(a->ts, written)) &&
              effects_back_up(a->ts, written) && in_order_add(&o, a, written, op);
    in_order_finish(&o);
    if (ok)
        return written;
    var_drop(written);
    return 0;
}

/* Does no lane write? Then the target stays what it is, also if others have it. */
static bool is_off(const Access *a)
{
    const Var *mask = a->mask ? var_get(a->mask) : NULL;
    return mask && mask->op == OP_LITERAL && !mask->value.literal;
}

/* Scatter one value (n = 1, ids: pointer, value, index, mask) or a packet (pointer,
 * index, mask, values). */
static VarId scatter(Access *a, uint32_t n, VarId target, const VarId *values,
                     VarId index, VarId mask, ReduceOp op, ReduceMode mode)
{
    VarId named = target;
    target = loop_array(a->ts, target);
    TRY(check_scatter(a, n, target, values, index, mask, op, mode), 0);
    bool ordered = in_order_applies(a->ts, (VarType) var_get(target)->type, op, mode);
    TRY(!ordered || in_order_check(a->ts, a->function), 0);
    TRY(prepare(a, n, target, index, mask, values, n), 0);
    if (is_off(a)) {
        var_inc(named);
        return named;
    }
    if (ordered)
        return scatter_in_order(a, named, target, values[0], op);
    VarId written = writable_beside(a->ts, named, target, values, n);
    TRY(written, 0);
    uint32_t flags;
    mode = choose_mode(a->ts, var_get(written), op, mode, (uint64_t) a->size * n,
                       &flags);
    VarId array = redirect(a, written, op, &mode, n);
    bool ok = array != 0;
    uint32_t aux = (uint32_t) op | (uint32_t) mode << 8 | flags;
    if (ok && n == 1) {
        VarId ids[] = { 0, values[0], a->index, a->mask };
        ok = queue_effect(a, OP_SCATTER, aux, array, ids, 4, VarTypeVoid, NULL);
    } else if (ok) {
        VarId ids[3 + 64] = { 0, a->index, a->mask };
        memcpy(ids + 3, values, n * sizeof(VarId));
        ok = queue_effect(a, OP_SCATTER_PACKET, aux, array, ids, 3 + n, VarTypeVoid,
                          NULL);
    }
    if (array)
        var_dec(array);
    if (ok)
        return written;
    var_dec(written);
    return 0;
}

VarId memory_scatter(ThreadState *ts, VarId target, VarId value, VarId index,
                     VarId mask, ReduceOp op, ReduceMode mode)
{
    Access a = { .ts = ts, .function = "jit_var_scatter()", .kind = CHECK_SCATTER };
    VarId result = scatter(&a, 1, target, &value, index, mask, op, mode);
    access_finish(&a);
    return result;
}

/* All lanes meet in all entries, so each worker has a copy where that can be. */
static VarId add_outer(Access *a, VarId target, const VarId *values, uint32_t rows,
                       uint32_t count, VarId index, VarId mask)
{
    VarId named = target, *ids = NULL, array = 0;
    target = loop_array(a->ts, target);
    if (in_order_applies(a->ts, (VarType) var_get(target)->type, ReduceOpAdd,
                         ReduceModeExpand))
        return (VarId) error_set(JIT_ERROR_UNSUPPORTED,
                                 "%s: sums over lanes have no fixed order, as "
                                 "JitFlag.Deterministic asks for", a->function);
    TRY(access_prepare(a, index, mask, values, count, ACCESS_UNBOUNDED), 0);
    VarId written = writable_beside(a->ts, named, target, values, count);
    TRY(written, 0);
    uint32_t flags;
    ReduceMode mode = choose_mode(a->ts, var_get(written), ReduceOpAdd,
                                  ReduceModeExpand, a->size, &flags);
    const uint32_t aux = rows << OUTER_ROWS | (uint32_t) ReduceOpAdd | flags;
    bool ok = (ids = alloc_get((count + 3) * sizeof(VarId))) &&
              (array = redirect(a, written, ReduceOpAdd, &mode, 1));
    if (ok) {
        ids[1] = a->index;
        ids[2] = a->mask;
        memcpy(ids + 3, values, count * sizeof(VarId));
        ok = queue_effect(a, OP_OUTER, aux | (uint32_t) mode << 8, array, ids,
                          count + 3, VarTypeVoid, NULL);
    }
    alloc_free(ids);
    var_drop(array);
    if (ok)
        return written;
    var_dec(written);
    return 0;
}

VarId memory_add_outer(Access *a, VarId target, const VarId *values, uint32_t rows,
                       uint32_t count, VarId index, VarId mask)
{
    VarId result = add_outer(a, target, values, rows, count, index, mask);
    access_finish(a);
    return result;
}

/* Without packets: n scatters, each to the result of the one before. The target is not
 * held twice, which would make it look shared. */
static VarId scatter_singly(ThreadState *ts, uint32_t n, VarId target,
                            const VarId *values, VarId index, VarId mask, ReduceOp op,
                            ReduceMode mode)
{
    VarId current = target;
    for (uint32_t k = 0; k < n; ++k) {
        VarId position = packet_index(ts, index, n, k), next = 0;
        if (position) {
            next = memory_scatter(ts, current, values[k], position, mask, op, mode);
            var_dec(position);
        }
        if (current != target)
            var_dec(current);
        TRY(next, 0);
        if (next == target)
            var_dec(next);
        current = next;
    }
    if (current == target)
        var_inc(current);
    return current;
}

VarId memory_scatter_packet(ThreadState *ts, uint32_t n, VarId target,
                            const VarId *values, VarId index, VarId mask, ReduceOp op,
                            ReduceMode mode)
{
    Access a = { .ts = ts,
                 .function = "jit_var_scatter_packet()",
                 .kind = CHECK_SCATTER };
    TRY(check_packet_size(a.function, n), 0);
    if (n == 1)
        return memory_scatter(ts, target, values[0], index, mask, op, mode);
    TRY(access_check_array(&a, target, "the target"), 0);
    VarType type = (VarType) var_get(target)->type;
    if (!state_flag(ts, JitFlagPacketOps) || in_order_applies(ts, type, op, mode)) {
        TRY(check_scatter(&a, n, target, values, index, mask, op, mode), 0);
        TRY(access_check_sizes(&a, index, mask, values, n), 0);
        return scatter_singly(ts, n, target, values, index, mask, op, mode);
    }
    VarId result = scatter(&a, n, target, values, index, mask, op, mode);
    access_finish(&a);
    return result;
}

/* ----------------------------------------------------------------- atomics */

/* Shared course of the three atomics: ids[0] is left for the pointer, index and mask go
 * to the given places. */
static VarId atomic(Access *a, Op op, VarId *target, VarId *ids, uint32_t count,
                    VarId index, VarId mask, const VarId *values, uint32_t value_count)
{
    TRY(access_check_index(a, index), 0);
    TRY(access_check_mask(a, mask), 0);
    TRY(prepare(a, 1, *target, index, mask, values, value_count), 0);
    VarId array = loop_array(a->ts, *target);
    VarId written = writable_beside(a->ts, *target, array, values, value_count);
    TRY(written, 0);
    VarId result = 0;
    bool ok = !expand_copies_of(written) || evaluate_pending(a->ts, written);
    ids[count - 2] = a->index;
    ids[count - 1] = a->mask;
    ok = ok && queue_effect(a, op, 0, written, ids, count,
                            (VarType) var_get(written)->type, &result);
    if (!ok) {
        var_dec(written);
        return 0;
    }
    var_dec(*target);
    *target = written;
    return result;
}

VarId memory_scatter_inc(ThreadState *ts, VarId *target, VarId index, VarId mask)
{
    Access a = { .ts = ts, .function = access_functions[CHECK_INC], .kind = CHECK_INC };
    TRY(access_check_array(&a, *target, "the target"), 0);
    if (var_get(*target)->type != VarTypeUInt32)
        return (VarId) error_set(JIT_ERROR_ARGUMENT,
                                 "%s: the target is %s, expected uint32", a.function,
                                 type_info[var_get(*target)->type].name);
    VarId ids[3] = { 0 };
    VarId result = atomic(&a, OP_SCATTER_INC, target, ids, 3, index, mask, NULL, 0);
    access_finish(&a);
    return result;
}

VarId memory_scatter_exch(ThreadState *ts, VarId *target, VarId value, VarId index,
                          VarId mask)
{
    Access a = { .ts = ts,
                 .function = access_functions[CHECK_EXCH],
                 .kind = CHECK_EXCH };
    TRY(access_check_array(&a, *target, "the target"), 0);
    TRY(access_check_value(&a, value, *target, "the value"), 0);
    VarId ids[4] = { 0, value };
    VarId result = atomic(&a, OP_SCATTER_EXCH, target, ids, 4, index, mask, &value, 1);
    access_finish(&a);
    return result;
}

/* Lanes whose previous value has the bits of 'compare' and that are active have
 * succeeded. */
static VarId cas_success(ThreadState *ts, VarId old, VarId compare, VarId mask)
{
    VarType bits = type_bits((VarType) var_get(old)->type);
    bool is_mask = var_get(old)->type == VarTypeBool;
    VarId pair[2], equal = 0, result = 0;
    pair[0] = is_mask ? (var_inc(old), old) : arith_cast(ts, old, bits, true);
    pair[1] =
        is_mask ? (var_inc(compare), compare) : arith_cast(ts, compare, bits, true);
    if (pair[0] && pair[1])
        equal = arith_op(ts, OP_EQ, pair);
    if (equal && mask) {
        VarId both[] = { equal, mask };
        result = arith_op(ts, OP_AND, both);
        var_dec(equal);
    } else {
        result = equal;
    }
    for (int i = 0; i < 2; ++i)
        if (pair[i])
            var_dec(pair[i]);
    return result;
}

bool memory_scatter_cas(ThreadState *ts, VarId *target, VarId compare, VarId value,
                        VarId index, VarId mask, VarId out[2])
{
    Access a = { .ts = ts, .function = access_functions[CHECK_CAS], .kind = CHECK_CAS };
    TRY(access_check_array(&a, *target, "the target"), false);
    TRY(access_check_value(&a, compare, *target, "the comparison value"), false);
    TRY(access_check_value(&a, value, *target, "the value"), false);
    VarId ids[5] = { 0, compare, value }, values[] = { compare, value };
    VarId old = atomic(&a, OP_SCATTER_CAS, target, ids, 5, index, mask, values, 2);
    if (!old) {
        access_finish(&a);
        return false;
    }
    VarId success = cas_success(ts, old, compare, a.mask);
    access_finish(&a);
    if (!success) {
        var_dec(old);
        return false;
    }
    out[0] = old;
    out[1] = success;
    return true;
}

/* ------------------------------------------------------- compensated addition */

/* Both targets may hold one variable, as equal literals are one: each write goes to a
 * copy then. But each needs a place of its own for what it becomes. */
static bool check_kahan(Access *a, const VarId *targets[2], VarId value)
{
    VarId sums = *targets[0], errors = *targets[1];
    TRY(access_check_array(a, errors, "target 2"), false);
    TRY(access_check_array(a, sums, "target 1"), false);
    const Var *s = var_get(sums), *e = var_get(errors);
    if (!type_info[s->type].is_float || e->type != s->type ||
        var_lanes(e) != var_lanes(s) || targets[0] == targets[1])
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: the targets are r%u (%s, %u entries) and r%u (%s, %u "
                         "entries), expected two variables of one floating point type "
                         "and size",
                         a->function, sums, type_info[s->type].name,
                         node_number(a->ts, sums), errors, type_info[e->type].name,
                         node_number(a->ts, errors));
    TRY(node_same_device(s->device, e->device, "%s: operands", a->function), false);
    return access_check_value(a, value, sums, "the value");
}

/* result = op(a, b), or op(a) if b is 0; 0 if an operand is missing. */
static VarId apply(ThreadState *ts, Op op, VarId a, VarId b)
{
    TRY(a && (b || op_info[op].arity == 1), 0);
    return arith_op(ts, op, (VarId[]){ a, b });
}

/* What rounding took away from sum = old + value, exactly: with the larger one of both
 * in front, (larger - sum) + smaller. 0 if the sum is not finite. */
static VarId rounding_error(ThreadState *ts, VarId old, VarId value)
{
    VarType type = (VarType) var_get(old)->type;
    uint64_t infinity = 0;
    reduce_rule_identity(ReduceOpMin, type, &infinity);
    uint8_t device = var_get(old)->device;
    enum { ZERO, INFINITE, SUM, OLD_SIZE, VALUE_SIZE, SUM_SIZE, BIG, LARGER, SMALLER,
           REST, ERROR, FINITE, COUNT };
    VarId v[COUNT] = { 0 }, result = 0;
    v[ZERO] = node_literal(ts, device, type, 0, 1);
    v[INFINITE] = node_literal(ts, device, type, infinity, 1);
    v[SUM] = apply(ts, OP_ADD, old, value);
    v[OLD_SIZE] = apply(ts, OP_ABS, old, 0);
    v[VALUE_SIZE] = apply(ts, OP_ABS, value, 0);
    v[SUM_SIZE] = apply(ts, OP_ABS, v[SUM], 0);
    v[BIG] = apply(ts, OP_GE, v[OLD_SIZE], v[VALUE_SIZE]);
    if (v[BIG]) {
        v[LARGER] = arith_op(ts, OP_SELECT, (VarId[]){ v[BIG], old, value });
        v[SMALLER] = arith_op(ts, OP_SELECT, (VarId[]){ v[BIG], value, old });
    }
    v[REST] = apply(ts, OP_SUB, v[LARGER], v[SUM]);
    v[ERROR] = apply(ts, OP_ADD, v[REST], v[SMALLER]);
    v[FINITE] = apply(ts, OP_LT, v[SUM_SIZE], v[INFINITE]);
    if (v[ERROR] && v[FINITE] && v[ZERO])
        result = arith_op(ts, OP_SELECT, (VarId[]){ v[FINITE], v[ERROR], v[ZERO] });
    for (int i = 0; i < COUNT; ++i)
        if (v[i])
            var_dec(v[i]);
    return result;
}

/* The sum is an atomic addition that tells what it found, so the rounding error is
 * known exactly, even if others add to the same entry; the error itself is added as
 * usual. */
bool memory_scatter_add_kahan(ThreadState *ts, VarId *sums, VarId *errors, VarId value,
                              VarId index, VarId mask)
{
    Access a = { .ts = ts, .function = access_functions[CHECK_KAHAN],
                 .kind = CHECK_KAHAN };
    SymSize symsize;
    if (state_flag(ts, JitFlagDeterministic))
        return error_set(JIT_ERROR_UNSUPPORTED,
                         "%s: additions of several lanes to one entry have no fixed "
                         "order, as JitFlag.Deterministic asks for", a.function);
    TRY(check_kahan(&a, (const VarId *[]){ sums, errors }, value), false);
    TRY(freezing_like(ts, *sums, &symsize) && freezing_keeps(ts, *errors, symsize),
        false);
    TRY(access_check_index(&a, index) && access_check_mask(&a, mask), false);
    TRY(access_check_sizes(&a, index, mask, &value, 1), false);
    /* All that may evaluate comes before the first effect, whose result cannot be used
     * after an evaluation. */
    VarId array = loop_array(ts, *errors);
    VarId written = writable_beside(ts, *errors, array, (VarId[]){ value, *sums }, 2);
    TRY(written, false);
    bool ok = !expand_copies_of(written) || evaluate_pending(ts, written);
    VarId ids[] = { 0, value, 0, 0 }, old = 0, error = 0;
    if (ok)
        old = atomic(&a, OP_SCATTER_ADD, sums, ids, 4, index, mask, &value, 1);
    if (old)
        error = rounding_error(ts, old, value);
    if (error) {
        VarId more[] = { 0, error, a.index, a.mask };
        ok = queue_effect(&a, OP_SCATTER, ReduceOpAdd | ReduceModeDirect << 8, written,
                          more, 4, VarTypeVoid, NULL);
        var_dec(error);
    }
    if (old)
        var_dec(old);
    access_finish(&a);
    if (!ok || !error) {
        var_dec(written);
        return false;
    }
    var_dec(*errors);
    *errors = written;
    return true;
}
