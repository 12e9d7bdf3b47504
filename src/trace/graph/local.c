/*
 * local.c -- see local.h
 *
 * The number of entries is the 'aux' of LOCAL and LOCAL_WRITE; STATE and RESULT have it
 * above the number of their region (region.h). Accesses carry a serial number in
 * value.literal, by which local_plan.c tells their order; regions have one, too.
 */
#include "trace/graph/local.h"

#include <string.h>

#include "base/error.h"
#include "trace/graph/access.h"
#include "trace/graph/arith.h"
#include "trace/graph/watch.h"

static uint64_t last_serial; /* guarded by the graph lock */

uint64_t local_next_serial(void) { return ++last_serial; }

static bool check_array(VarId array, const char *function)
{
    if (!var_exists(array))
        return error_set(JIT_ERROR_ARGUMENT, "%s: the array is r%u, which is not a "
                         "variable", function, array);
    if (!local_is_array(var_get(array)))
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: r%u is not a local array (see jit_array_create())",
                         function, array);
    return true;
}

size_t local_length(VarId array, const char *function)
{
    TRY(check_array(array, function), 0);
    const Var *v = var_get(array);
    bool stands_for = v->op == OP_STATE || v->op == OP_RESULT;
    return stands_for ? (size_t) (v->value.literal >> 32) : v->aux;
}

/* An array whose entries start with a value, a reference to which is taken over. */
static VarId make_array(ThreadState *ts, uint8_t device, VarType type, size_t length,
                        size_t size, VarId value)
{
    TRY(value, 0);
    Var v = { .op = OP_LOCAL, .type = (uint8_t) type, .device = device,
              .flags = VAR_LOCAL, .own_lanes = (uint32_t) size,
              .aux = (uint32_t) length,
              .dep = { value } };
    VarId result = node_new(ts, &v);
    var_dec(value);
    return result;
}

static bool check_shape(VarType type, size_t length, size_t size)
{
    static const char *const function = "jit_array_create()";
    TRY(node_type_valid(type, function), false);
    TRY(node_size_valid(size, function), false);
    size_t most = LOCAL_MOST_BYTES / type_info[type].size;
    if (length == 0 || length > most)
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: length is %zu, expected 1 to %zu entries of type "
                         "%s (%d bytes a lane)", function, length, most,
                         type_info[type].name, LOCAL_MOST_BYTES);
    return true;
}

VarId local_create(ThreadState *ts, uint8_t device, VarType type, size_t length,
                   size_t size)
{
    TRY(check_shape(type, length, size), 0);
    return make_array(ts, device, type, length, size,
                      node_literal(ts, device, type, 0, 1));
}

VarId local_create_unset(ThreadState *ts, uint8_t device, VarType type, size_t length,
                         size_t size)
{
    static const VarId none[4];
    TRY(check_shape(type, length, size), 0);
    return make_array(ts, device, type, length, size,
                      node_raw(ts, OP_UNDEFINED, device, type, 1, 0, none));
}

VarId local_init(ThreadState *ts, VarId array, VarId value)
{
    static const char *const function = "jit_array_init()";
    TRY(check_array(array, function), 0);
    node_read(ts, array);
    Access a = { .ts = ts, .function = function };
    TRY(access_check_value(&a, value, array, "the value"), 0);
    uint32_t size;
    TRY(node_common_size((VarId[]){ array, value }, 2, function, &size), 0);
    const Var *v = var_get(array);
    uint8_t device = v->device;
    VarType type = (VarType) v->type;
    /* What a program leaves undefined is 0 on all engines. */
    if (var_get(value)->op == OP_UNDEFINED)
        value = node_literal(ts, device, type, 0, 1);
    else
        var_inc(value);
    return make_array(ts, device, type, local_length(array, function), size, value);
}

/* Checks shared by reads and writes; afterwards the access has index and mask. */
static bool begin(Access *a, VarId array, VarId index, VarId mask, const VarId *values,
                  uint32_t value_count)
{
    a->function = access_functions[a->kind];
    TRY(check_array(array, a->function), false);
    node_read(a->ts, array);
    a->array = array;
    a->device = var_get(array)->device;
    for (uint32_t i = 0; i < value_count; ++i)
        TRY(access_check_value(a, values[i], array, "the value"), false);
    TRY(access_check_index(a, index), false);
    TRY(access_check_mask(a, mask), false);
    uint32_t lanes;
    TRY(access_check_sizes(a, index, mask, values, value_count), false);
    if (a->size == 1)
        lanes = var_lanes_of(array);
    else
        lanes = a->size;
    if (var_lanes_of(array) != 1 && var_lanes_of(array) != lanes) {
        char places[NODE_PLACES];
        node_places(places, array, a->wide);
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: the array has %u lanes, and index, mask and value have "
                         "%u, expected equal sizes or 1%s", a->function,
                         node_number(a->ts, array), lanes, places);
    }
    TRY(access_prepare(a, index, mask, values, value_count,
                       local_length(array, a->function)), false);
    a->size = lanes;
    return true;
}

/* A read of a version, or with a 'value' the version after writing that. */
static VarId make_access(ThreadState *ts, VarId array, VarId index, VarId value,
                         VarId mask, uint32_t size)
{
    const Var *a = var_get(array);
    Var v = { .op = OP_LOCAL_READ, .type = a->type, .device = a->device,
              .own_lanes = size, .dep = { array, index, mask },
              .value.literal = local_next_serial() };
    if (value) {
        v.op = OP_LOCAL_WRITE;
        v.flags = VAR_LOCAL;
        v.aux = (uint32_t) local_length(array, "jit_array_write()");
        memcpy(v.dep, (VarId[]){ array, value, index, mask }, sizeof(v.dep));
    }
    return node_new(ts, &v);
}

/* ... lanes of an access whose position exists; 0: error recorded. */
static VarId lanes_inside(const Access *a, uint32_t length)
{
    const Var *index = var_get(a->index);
    if (index->op == OP_LITERAL && index->value.literal < length) {
        var_inc(a->mask);
        return a->mask;
    }
    VarId end = node_literal(a->ts, a->device, VarTypeUInt32, length, 1);
    VarId inside = end ? arith_binary(a->ts, OP_LT, a->index, end) : 0;
    VarId both = inside ? arith_binary(a->ts, OP_AND, a->mask, inside) : 0;
    var_drop(end);
    var_drop(inside);
    return both;
}

/* Is this an array that nothing was written to, all entries of which are a literal? */
static bool is_literal(const Var *array)
{
    return array->op == OP_LOCAL && var_get(array->dep[0])->op == OP_LITERAL;
}

/* A literal with as many lanes as the access. */
static VarId widen_literal(const Access *a, VarId literal)
{
    const Var v = *var_get(literal);
    if (v.own_lanes == a->size) {
        var_inc(literal);
        return literal;
    }
    VarId wide =
        node_literal(a->ts, v.device, (VarType) v.type, v.value.literal, a->size);
    VarId operands[] = { a->array, a->index, a->mask };
    return a->ts->freezing && wide ? watcher.keep_size(a->ts, wide, operands, 3) : wide;
}

/* Reading such an array. The mask may have one lane where the index is a literal of
 * many: the entry has these. */
static VarId read_literal(const Access *a, VarId start, uint32_t length)
{
    VarId inside = lanes_inside(a, length);
    VarId zero = node_literal(a->ts, a->device, (VarType) var_get(start)->type, 0, 1);
    VarId entry = widen_literal(a, start);
    VarId result = inside && zero && entry
                       ? arith_ternary(a->ts, OP_SELECT, inside, entry, zero)
                       : 0;
    var_drop(inside);
    var_drop(zero);
    var_drop(entry);
    return result;
}

VarId local_read(ThreadState *ts, VarId array, VarId index, VarId mask)
{
    Access a = { .ts = ts, .kind = CHECK_LOCAL_READ };
    VarId result = 0;
    if (begin(&a, array, index, mask, NULL, 0)) {
        const Var *v = var_get(array);
        const bool known = is_literal(v) && var_get(index)->type == VarTypeUInt32;
        result = known ? read_literal(&a, v->dep[0], v->aux)
                       : make_access(ts, array, a.index, 0, a.mask, a.size);
    }
    access_finish(&a);
    return result;
}

VarId local_write(ThreadState *ts, VarId array, VarId index, VarId value, VarId mask)
{
    Access a = { .ts = ts, .kind = CHECK_LOCAL_WRITE };
    VarId result = 0;
    if (begin(&a, array, index, mask, &value, 1))
        result = make_access(ts, array, a.index, value, a.mask, a.size);
    access_finish(&a);
    return result;
}

/* Access to entry k in all lanes, whatever is on the mask stack. */
static VarId access_entry(ThreadState *ts, VarId array, uint32_t k, VarId value)
{
    uint8_t device = var_get(array)->device;
    VarId index = node_literal(ts, device, VarTypeUInt32, k, 1), result = 0;
    VarId always = node_literal(ts, device, VarTypeBool, 1, 1);
    if (index && always)
        result = make_access(ts, array, index, value, always, var_lanes_of(array));
    var_drop(index);
    var_drop(always);
    return result;
}

bool local_split(ThreadState *ts, VarId array, VarIds *entries)
{
    uint32_t length = (uint32_t) local_length(array, "jit_array_read()");
    for (uint32_t k = 0; k < length; ++k)
        TRY(var_ids_take(entries, access_entry(ts, array, k, 0)), false);
    return true;
}

VarId local_join(ThreadState *ts, const VarId *entries, uint32_t length, uint32_t size)
{
    const Var *v = var_get(entries[0]);
    VarId array = local_create(ts, v->device, (VarType) v->type, length, size);
    for (uint32_t k = 0; array && k < length; ++k) {
        VarId next = access_entry(ts, array, k, entries[k]);
        var_dec(array);
        array = next;
    }
    return array;
}

bool local_select(ThreadState *ts, VarId mask, VarId a, VarId b, VarIds *entries)
{
    VarIds x = { 0 }, y = { 0 };
    bool ok = local_split(ts, a, &x) && local_split(ts, b, &y);
    for (uint32_t k = 0; ok && k < x.count; ++k)
        ok = var_ids_take(entries, arith_op(ts, OP_SELECT, (VarId[]){ mask, x.ids[k],
                                                                      y.ids[k] }));
    var_ids_drop(&x);
    var_ids_drop(&y);
    return ok;
}

VarId local_join_all(ThreadState *ts, const VarIds *entries)
{
    uint32_t size;
    TRY(node_common_size(entries->ids, entries->count, "jit_array_write()", &size), 0);
    return local_join(ts, entries->ids, entries->count, size);
}
