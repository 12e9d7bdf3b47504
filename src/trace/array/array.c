/*
 * array.c -- see array.h
 */
#include "trace/array/array.h"

#include <string.h>

#include "base/error.h"
#include "trace/array/memory.h"
#include "trace/eval/evaluate.h"
#include "freeze/freezing.h"
#include "trace/eval/work.h"
#include "trace/graph/arith.h"
#include "trace/graph/pending.h"

/* ---------------------------------------------------------------- creation */

static bool valid(VarType type, size_t size, const char *function)
{
    return node_type_valid(type, function) && node_size_valid(size, function);
}

VarId array_literal(ThreadState *ts, uint8_t device, VarType type,
                    const void *value, size_t size, bool eval)
{
    SymSize symsize = eval ? freezing_take_hint(ts, size) : 0;
    TRY(valid(type, size, "jit_var_literal()"), 0);
    uint64_t bits = 0;
    memcpy(&bits, value, type_info[type].size);
    if (type == VarTypeBool)
        bits = bits != 0;
    if (!eval)
        return node_literal(ts, device, type, bits, (uint32_t) size);
    uint32_t entry = type_info[type].size;
    Buffer *buffer = work_buffer(ts, device, size * entry);
    TRY(buffer, 0);
    VarId id = 0;
    if (freezing_size_given(ts, symsize, size) && work_fill(ts, buffer, bits, entry))
        id = node_buffer(ts, device, type, (uint32_t) size, buffer);
    if (!id)
        buffer_release(buffer);
    return id;
}

VarId array_undefined(ThreadState *ts, uint8_t device, VarType type, size_t size)
{
    TRY(valid(type, size, "jit_var_undefined()"), 0);
    const VarId none[4] = { 0 };
    return node_raw(ts, OP_UNDEFINED, device, type, (uint32_t) size, 0, none);
}

VarId array_counter(ThreadState *ts, uint8_t device, size_t size)
{
    TRY(node_size_valid(size, "jit_var_counter()"), 0);
    if (size == 1)
        return node_literal(ts, device, VarTypeUInt32, 0, 1);
    Var v = { .op = OP_COUNTER, .type = VarTypeUInt32, .device = device,
              .own_lanes = (uint32_t) size };
    return node_new(ts, &v);
}

VarId array_map(ThreadState *ts, uint8_t device, VarType type, void *ptr,
                size_t size, void (*release)(void *ptr, void *payload), void *payload)
{
    TRY(valid(type, size, "jit_var_mem_map()"), 0);
    uint32_t entry = type_info[type].size;
    if (!ptr || (uintptr_t) ptr % entry)
        return (VarId) error_set(JIT_ERROR_ARGUMENT,
                                 "jit_var_mem_map(): the address is %p, "
                                 "expected one that is aligned to %u bytes",
                                 ptr, entry);
    Buffer *buffer = buffer_map(device_at(device), ptr, size * entry, NULL, NULL);
    TRY(buffer, 0);
    VarId id = node_buffer(ts, device, type, (uint32_t) size, buffer);
    if (!id) {
        buffer_release(buffer);
        return 0;
    }
    buffer->release = release; /* only now: on failure the caller keeps the memory */
    buffer->payload = payload;
    return id;
}

VarId array_share(ThreadState *ts, uint8_t device, VarType type, void *ptr, size_t size,
                  void (*release)(void *ptr, void *payload), void *payload)
{
    if (watch_records(ts)) {
        VarId copy = array_mem_copy(ts, device, type, ptr, size);
        if (copy && release)
            release(ptr, payload);
        return copy;
    }
    VarId id = array_map(ts, device, type, ptr, size, release, payload);
    if (id)
        buffer_set_guest(var_get(id)->value.buffer);
    return id;
}

VarId array_mem_copy(ThreadState *ts, uint8_t device, VarType type, const void *ptr,
                     size_t size)
{
    TRY(valid(type, size, "jit_var_mem_copy()"), 0);
    if (!ptr)
        return (VarId) error_set(JIT_ERROR_ARGUMENT,
                                 "jit_var_mem_copy(): the address is "
                                 "NULL, expected %zu entries",
                                 size);
    Buffer *buffer = work_buffer(ts, device, size * type_info[type].size);
    TRY(buffer, 0);
    VarId id = 0;
    if (buffer_write(buffer, 0, ptr, size * type_info[type].size))
        id = node_buffer(ts, device, type, (uint32_t) size, buffer);
    if (!id)
        buffer_release(buffer);
    if (!id || freezing_constant(ts, id))
        return id;
    var_dec(id);
    return 0;
}

/* --------------------------------------------------------- other contents */

/* A node of its own that is the same value: a select between it and itself, which
 * nothing simplifies. For those that a region knows by index, or that run once. */
static VarId wrap(ThreadState *ts, VarId id)
{
    const Var *v = var_get(id);
    VarId mask = node_literal(ts, v->device, VarTypeBool, 1, 1);
    TRY(mask, 0);
    VarId result = node_raw(ts, OP_SELECT, v->device, (VarType) v->type,
                            var_lanes(v), 0, (VarId[4]){ mask, id, id });
    var_dec(mask);
    return result;
}

VarId array_copy(ThreadState *ts, VarId id)
{
    TRY(node_usable(ts, id, "jit_var_copy()", "the variable"), 0);
    const Var *v = var_get(id);
    if (v->op == OP_EVALUATED)
        return memory_duplicate(ts, id);
    bool effect = !op_may_drop((Op) v->op);
    if (op_info[v->op].group == GROUP_FRAME || (effect && v->flags & VAR_SYMBOLIC))
        return wrap(ts, id);
    if (effect || v->flags & VAR_OWN_TEXT || pending_is(v)) {
        /* An atomic runs once, so its result has to be in memory before it can be
         * copied; a reduction need not be performed twice. */
        TRY(evaluate_var(ts, id), 0);
        return memory_duplicate(ts, id);
    }
    Var copy = *v; /* operands gain references; not entered into value numbering */
    copy.flags = v->flags & VAR_SYMBOLIC;
    copy.extra = copy.pending = 0;
    copy.scope = ts->scope;
    return var_create(&copy, state_flag(ts, JitFlagReuseIndices));
}

/* The values on another device: a literal stays one, the rest is evaluated and carried
 * over. */
VarId array_migrate(ThreadState *ts, VarId id, uint8_t device)
{
    TRY(node_usable(ts, id, "jit_var_migrate()", "the variable"), 0);
    const Var *v = var_get(id);
    VarType type = (VarType) v->type;
    uint32_t size = var_lanes(v);
    if (v->op == OP_LITERAL && v->device != device)
        return node_literal(ts, device, type, v->value.literal, size);
    var_inc(id); /* the lock may be released */
    if (v->device == device)
        return id;
    size_t bytes = (size_t) size * type_info[type].size;
    Buffer *buffer = evaluate_var(ts, id) ? work_buffer(ts, device, bytes) : NULL;
    bool ok = buffer && work_transfer(ts, var_get(id)->value.buffer, buffer, bytes);
    var_dec(id);
    VarId result = ok ? node_buffer(ts, device, type, size, buffer) : 0;
    if (!result)
        buffer_release(buffer);
    return result;
}

VarId array_resize(ThreadState *ts, VarId id, size_t size)
{
    SymSize symsize = freezing_take_hint(ts, size);
    TRY(node_usable(ts, id, "jit_var_resize()", "the variable"), 0);
    TRY(node_size_valid(size, "jit_var_resize()"), 0);
    const Var *v = var_get(id);
    if (var_lanes(v) == size) {
        TRY(freezing_keeps(ts, id, symsize), 0);
        var_inc(id);
        return id;
    }
    if (var_lanes(v) != 1)
        return (VarId) error_set(JIT_ERROR_ARGUMENT,
                                 "jit_var_resize(): the variable has %u "
                                 "entries, expected 1 or %zu",
                                 node_number(ts, id), size);
    uint8_t device = v->device;
    VarType type = (VarType) v->type;
    if (v->op == OP_LITERAL)
        return freezing_give(
            ts, node_literal(ts, device, type, v->value.literal, (uint32_t) size),
            symsize);
    if (v->op == OP_UNDEFINED)
        return freezing_give(ts, array_undefined(ts, device, type, size), symsize);
    /* A select between the value and itself with a mask of the new size, built directly
     * because simplification would remove it. */
    VarId mask = freezing_give(
        ts, node_literal(ts, device, VarTypeBool, 1, (uint32_t) size), symsize);
    TRY(mask, 0);
    Var wide = { .op = OP_SELECT, .type = (uint8_t) type, .device = device,
                 .own_lanes = (uint32_t) size, .dep = { mask, id, id } };
    VarId result = node_new(ts, &wide);
    var_dec(mask);
    return result;
}

VarId array_shrink(ThreadState *ts, VarId id, size_t size)
{
    TRY(node_usable(ts, id, "jit_var_shrink()", "the variable"), 0);
    const Var *v = var_get(id);
    uint8_t device = v->device;
    VarType type = (VarType) v->type;
    const uint32_t entries = node_number(ts, id);
    if (size == 0 || size > entries)
        return (VarId) error_set(JIT_ERROR_ARGUMENT,
                                 "jit_var_shrink(): size is %zu, expected "
                                 "1 to %u",
                                 size, entries);
    if (entries == size) {
        var_inc(id);
        return id;
    }
    if (v->op == OP_LITERAL)
        return node_literal(ts, device, type, v->value.literal, (uint32_t) size);
    if (v->op == OP_UNDEFINED)
        return array_undefined(ts, device, type, size);
    size_t bytes = size * type_info[type].size;
    Command *c = work_command(ts, COMMAND_COPY, bytes, &id, 1, &bytes, 1, 0);
    TRY(c, 0);
    c->slots[0].bytes = bytes;
    return work_result(ts, c, type, (uint32_t) size);
}

/* ---------------------------------------------------------- rearrangement */

/* op(counter, number) or op(number, counter), with 'number' given away. The counter has
 * the given size, which is this symbolic size. */
static VarId counter_with(ThreadState *ts, uint32_t size, SymSize symsize, Op op,
                          VarId number, bool forward)
{
    TRY(number, 0);
    VarId counter = freezing_give(
        ts, array_counter(ts, var_get(number)->device, size), symsize);
    VarId result = 0;
    if (counter) {
        VarId args[] = { forward ? counter : number, forward ? number : counter };
        result = arith_make(ts, op, VarTypeUInt32, size, args);
        var_dec(counter);
    }
    var_dec(number);
    return result;
}

/* The number of the lane plus 'number', with the size of 'like'. */
static VarId counter_from(ThreadState *ts, VarId like, VarType type, uint32_t number)
{
    const uint8_t device = var_get(like)->device;
    const uint32_t size = var_lanes_of(like);
    SymSize symsize = 0;
    TRY(freezing_like(ts, like, &symsize), 0);
    VarId first = node_literal(ts, device, VarTypeUInt32, number, 1);
    VarId index = first ? counter_with(ts, size, symsize, OP_ADD, first, true) : 0;
    if (!index || type == VarTypeUInt32)
        return index;
    VarId result = arith_cast(ts, index, type, true);
    var_dec(index);
    return result;
}

bool array_use_distance(ThreadState *ts, VarId *index)
{
    Distance d;
    if (ts->body || !distance_find(*index, &d) || !d.array ||
        !freezing_assume_distance(ts, &d))
        return true;
    const VarType type = (VarType) var_get(*index)->type;
    VarId counted = counter_from(ts, *index, type, d.number);
    TRY(counted, false);
    var_dec(*index);
    *index = counted;
    return true;
}

/* id[position], with 'position' given away. */
static VarId pick(ThreadState *ts, VarId id, VarId position)
{
    TRY(position, 0);
    VarId result = memory_gather(ts, id, position, 0);
    var_dec(position);
    return result;
}

static VarId number_like(ThreadState *ts, VarId id, uint32_t value)
{
    return node_literal(ts, var_get(id)->device, VarTypeUInt32, value, 1);
}

/* A number that freezing_extent() has been told of. */
static VarId number_in_memory(ThreadState *ts, uint8_t device, VarType type,
                              const void *value)
{
    VarId result = array_literal(ts, device, type, value, 1, true);
    if (!result) /* the next command would take it for its own */
        freezing_refuse(ts, "memory ran out");
    return result;
}

static VarId size_in_memory(ThreadState *ts, uint8_t device, uint32_t value)
{
    return number_in_memory(ts, device, VarTypeUInt32, &value);
}

/* The size of a variable minus a number, as a variable: in memory where a recording is
 * to serve others. */
static VarId size_minus(ThreadState *ts, VarId id, uint32_t number)
{
    if (!freezing_varies(ts, id))
        return number_like(ts, id, node_number(ts, id) - number);
    VarId size = array_opaque_width(ts, id), less = number_like(ts, id, number);
    VarId result = size && less ? arith_make(ts, OP_SUB, VarTypeUInt32, 1,
                                             (VarId[]) { size, less })
                                : 0;
    if (size)
        var_dec(size);
    if (less)
        var_dec(less);
    return result;
}

VarId array_reverse(ThreadState *ts, VarId id)
{
    TRY(node_usable(ts, id, "jit_var_reverse()", "the variable"), 0);
    uint32_t size = var_lanes_of(id);
    if (size == 1 || var_get(id)->op == OP_LITERAL) {
        var_inc(id);
        return id;
    }
    SymSize symsize = 0;
    VarId last = size_minus(ts, id, 1);
    if (last && !freezing_like(ts, id, &symsize))
        var_clear(&last);
    return pick(ts, id, counter_with(ts, size, symsize, OP_SUB, last, false));
}

static bool check_count(ThreadState *ts, VarId id, size_t count, const char *function)
{
    uint64_t limit = UINT32_MAX / var_entries(var_get(id));
    if (count == 0 || count > limit)
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: count is %zu, expected 1 to %llu for an "
                         "array of %u entries",
                         function, count, (unsigned long long) limit,
                         node_number(ts, id));
    return true;
}

VarId array_number(ThreadState *ts, uint8_t device, uint32_t value, SymSize symsize)
{
    if (freezing_number_varies(ts, symsize)) {
        freezing_extent(ts, 0, symsize);
        return size_in_memory(ts, device, value);
    }
    return freezing_pin_number(ts, symsize)
               ? node_literal(ts, device, VarTypeUInt32, value, 1)
               : 0;
}

/* id[counter op (each ? count : size)]; the counter has 'count' times the size. */
static VarId replicate(ThreadState *ts, VarId id, size_t count, bool each,
                       const char *function)
{
    const SymSize times = freezing_take_number(ts, count);
    TRY(node_usable(ts, id, function, "the variable"), 0);
    TRY(check_count(ts, id, count, function), 0);
    SymSize symsize;
    TRY(freezing_like(ts, id, &symsize) && freezing_times(ts, times, &symsize), 0);
    uint32_t size = var_entries(var_get(id)), total = (uint32_t) (size * count);
    if (size == 1 || count == 1) {
        if (symsize)
            freezing_hint(ts, symsize, total);
        return array_resize(ts, id, total);
    }
    VarId number = each ? array_number(ts, var_get(id)->device, (uint32_t) count, times)
                        : size_minus(ts, id, 0);
    return pick(ts, id, counter_with(ts, total, symsize, each ? OP_DIV : OP_MOD, number,
                                     true));
}

VarId array_tile(ThreadState *ts, VarId id, size_t count)
{
    return replicate(ts, id, count, false, "jit_var_tile()");
}

VarId array_repeat(ThreadState *ts, VarId id, size_t count)
{
    return replicate(ts, id, count, true, "jit_var_repeat()");
}

VarId array_of_symsize(ThreadState *ts, uint8_t device, SymSize symsize)
{
    const int64_t value = symsize_value(freezing_symsizes(ts, NULL), symsize);
    freezing_extent(ts, 0, symsize);
    return number_in_memory(ts, device, VarTypeInt64, &value);
}

VarId array_opaque_width(ThreadState *ts, VarId id)
{
    TRY(node_usable(ts, id, "jit_var_opaque_width()", "the variable"), 0);
    TRY(freezing_extent_of(ts, id), 0);
    return size_in_memory(ts, var_get(id)->device, var_lanes_of(id));
}

/* ------------------------------------------------------- reads and writes */

VarId array_force(ThreadState *ts, VarId id, const char *function)
{
    TRY(node_usable(ts, id, function, "the variable"), 0);
    const Var *v = var_get(id);
    if (v->op == OP_LITERAL && v->refs > 1)
        return memory_duplicate(ts, id);
    TRY(evaluate_var(ts, id), 0);
    var_inc(id);
    return id;
}

/* Wait for entries of an array, which the host is going to read. */
static bool await_entries(ThreadState *ts, VarId id, size_t first, size_t count,
                          const char *function)
{
    return freezing_may_read(ts, function) &&
           work_wait(ts, var_get(id)->value.buffer, function) &&
           freezing_read(ts, id, first, count);
}

bool array_sync(ThreadState *ts, VarId id, const char *function)
{
    return await_entries(ts, id, 0, var_lanes_of(id), function);
}

VarId array_data(ThreadState *ts, VarId id, void **data)
{
    VarId result = array_force(ts, id, "jit_var_data()");
    TRY(result, 0);
    if (!array_sync(ts, result, "jit_var_data()")) {
        var_dec(result);
        return 0;
    }
    distance_forget(var_get(result));
    *data = var_get(result)->value.buffer->address;
    return result;
}

/* References of readers: neither the caller's nor those that are lent. */
static bool is_read(VarId id, uint32_t own)
{
    const Extra *extra = extra_find(var_get(id));
    return var_get(id)->refs > own + (extra ? extra->lent : 0);
}

VarId array_lend(ThreadState *ts, VarId id, uint32_t own, void **data)
{
    VarId result = array_data(ts, id, data);
    TRY(result, 0);
    if (is_read(result, 1 + (result == id ? own : 0))) {
        VarId copy = memory_duplicate(ts, result);
        var_dec(result);
        TRY(copy, 0);
        result = array_data(ts, copy, data);
        var_dec(copy);
        TRY(result, 0);
    }
    Extra *extra = extra_make(var_get(result));
    if (extra) {
        extra->lent++;
        return result;
    }
    var_dec(result);
    return 0;
}

void array_take_back(VarId id)
{
    extra_find(var_get(id))->lent--;
    var_dec(id);
}

bool array_read(ThreadState *ts, VarId id, size_t offset, void *dst)
{
    TRY(node_usable(ts, id, "jit_var_read()", "the variable"), false);
    const Var *v = var_get(id);
    uint32_t entry = type_info[v->type].size;
    if (offset >= var_lanes(v))
        return error_set(JIT_ERROR_ARGUMENT,
                         "jit_var_read(): offset is %zu, expected less "
                         "than %u",
                         offset, node_number(ts, id));
    if (v->op == OP_LITERAL) {
        TRY(freezing_exceeds(ts, id, offset), false);
        memcpy(dst, &v->value.literal, entry);
        return true;
    }
    var_inc(id); /* what is read is shared: nobody writes to it in place */
    bool ok = evaluate_var(ts, id) &&
              await_entries(ts, id, offset, 1, "jit_var_read()") &&
              buffer_read(var_get(id)->value.buffer, offset * entry, dst, entry);
    var_dec(id);
    return ok;
}

VarId array_write(ThreadState *ts, VarId id, size_t offset, const void *src)
{
    TRY(node_usable(ts, id, "jit_var_write()", "the variable"), 0);
    if (offset >= var_lanes_of(id))
        return (VarId) error_set(JIT_ERROR_ARGUMENT, "jit_var_write(): offset is %zu, "
                                 "expected less than %u", offset, node_number(ts, id));
    if (state_flag(ts, JitFlagForbidSynchronization))
        return (VarId) error_set(JIT_ERROR_STATE,
                                 "jit_var_write(): has to wait for queued "
                                 "work, which JitFlagForbidSynchronization forbids");
    VarId written = memory_writable(ts, id);
    TRY(written, 0);
    const Var *v = var_get(written);
    uint32_t entry = type_info[v->type].size;
    if (work_entries(ts, written)) {
        memcpy((char *) buffer_host(v->value.buffer) + offset * entry, src, entry);
        buffer_count_write(v->value.buffer);
        return written;
    }
    Command *c = command_create(var_device(v), COMMAND_POKE, entry, 1, 0);
    if (c) {
        command_set_slot(c, 0, v->value.buffer, offset * entry, entry, SLOT_READ_WRITE);
        memcpy(&c->fill.bits, src, entry);
        c->fill.item_size = entry;
        if (work_submit(ts, c))
            return written;
    }
    var_dec(written);
    return 0;
}
