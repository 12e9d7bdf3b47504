/*
 * lanes.c -- reading and writing entries of a leaf
 *
 * Through the core: a gather, a scatter, or the writing of one entry. It copies the
 * variable first if others share it. Positions are UInt32 expressions; only a position
 * that is known without computing anything is checked.
 *
 * What is assigned may run Python code when it is converted, and so may other threads
 * while the leaf is computed. They may replace it, so its size is compared with the one
 * that the positions were made for.
 */
#include "python/lanes.h"

#include "python/convert.h"
#include "python/convert_array.h"
#include "python/error.h"
#include "python/evaluate.h"
#include "python/index.h"
#include "python/key.h"
#include "python/memory.h"
#include "python/wait.h"

static PyObject *fail_core(const Array *a, int set)
{
    return error_from_core(key_name(a, set).text, NULL, 0);
}

static int fail_changed(const Array *a)
{
    error_raise(PyExc_RuntimeError, key_name(a, KEY_SET).text, NULL, 0,
                "the array changed its size during the assignment.");
    return -1;
}

/* ---------------------------------------------------------------- one entry */

/* Compute a leaf and wait for it without the GIL: one entry is written by the caller's
 * thread. False: exception. */
static bool settle(const Array *a)
{
    if (jit_var_state(array_index(a)) != VarStateUnevaluated)
        return true;
    if (!memory_prepare_target(key_name(a, KEY_SET).text, array_index(a)))
        return false;
    bool ok;
    WAIT_BEGIN
    ok = jit_sync_thread();
    WAIT_END
    if (!ok)
        fail_core(a, KEY_SET);
    return ok;
}

static uint32_t scatter_entry(const Array *a, size_t i, const Array *entry)
{
    const uint32_t at = jit_var_u32((JitBackend) a->info->backend, (uint32_t) i);
    const uint32_t written =
        at ? jit_var_scatter(array_index(a), array_index(entry), at, 0,
                             ReduceOpIdentity, ReduceModeAuto)
           : 0;
    jit_var_dec_ref(at);
    return written;
}

int lanes_set_entry(Array *a, size_t i, PyObject *value)
{
    const TypeInfo *info = a->info;
    uint64_t bits;
    Array *entry = NULL;
    bool ok;
    if (array_check(info->state, value)) {
        entry = convert_to(info, value, key_name(a, KEY_SET).text);
        ok = entry && lanes_count(entry) == 1;
    } else {
        ok = convert_number((VarType) info->entry, value, &bits);
    }
    int rv = -1;
    if (!ok) {
        index_fail_value(a, value);
    } else if (!settle(a) || (!entry && !evaluate_writes(key_name(a, KEY_SET).text,
                                                         (PyObject **) &a, 1))) {
        rv = -1;
    } else if (i >= lanes_count(a)) {
        fail_changed(a);
    } else {
        const uint32_t written = entry
                                     ? scatter_entry(a, i, entry)
                                     : jit_var_write(array_index(a), i, &bits);
        rv = written ? 0 : -1;
        if (written)
            array_set_leaf(a, 0, written);
        else
            fail_core(a, KEY_SET);
    }
    Py_XDECREF((PyObject *) entry);
    return rv;
}

/* ---------------------------------------------------------------- several */

static PyObject *gather(Array *a, uint32_t positions)
{
    uint32_t result = 0;
    if (positions &&
        !memory_gather_variables(array_index(a), positions, 0, 1, &result))
        return fail_core(a, KEY_GET);
    return (PyObject *) array_new_leaf(a->info, result);
}

/* Write to n positions in a leaf that had 'size' entries when they were made. */
static int scatter(Array *a, size_t size, uint32_t positions, size_t n, PyObject *value)
{
    if (index_refuses(a->info, value))
        return index_fail_value(a, value);
    Array *entries = convert_to(a->info, value, key_name(a, KEY_SET).text);
    if (!entries)
        return index_fail_value(a, value);
    int rv = -1;
    const bool ready =
        n == 0 || memory_prepare_target(key_name(a, KEY_SET).text, array_index(a));
    const size_t found = lanes_count(entries);
    if (!ready) {
        rv = -1;
    } else if (lanes_count(a) != size) {
        fail_changed(a);
    } else if (found != n && found != 1) {
        error_raise(PyExc_ValueError, key_name(a, KEY_SET).text, NULL, 0,
                    "%zu values cannot be assigned to %zu entries.", found, n);
    } else if (n == 0) {
        rv = 0;
    } else {
        const uint32_t written =
            jit_var_scatter(array_index(a), array_index(entries), positions, 0,
                            ReduceOpIdentity, ReduceModeAuto);
        rv = written ? 0 : -1;
        if (written)
            array_set_leaf(a, 0, written);
        else
            fail_core(a, KEY_SET);
    }
    Py_DECREF((PyObject *) entries);
    return rv;
}

/* ---------------------------------------------------------------- slices */

/* The n positions (0: none) that a slice selects; false: exception. */
static bool slice_lanes(const Array *a, PyObject *slice, int set, size_t *n,
                        uint32_t *positions)
{
    const JitBackend backend = (JitBackend) a->info->backend;
    Py_ssize_t start, stop, step;
    *positions = 0;
    if (PySlice_Unpack(slice, &start, &stop, &step) < 0)
        return false;
    *n = (size_t) PySlice_AdjustIndices((Py_ssize_t) lanes_count(a), &start, &stop,
                                        step);
    if (*n == 0)
        return true;
    const uint32_t lane = jit_var_counter(backend, *n);
    const uint32_t factor = jit_var_u32(backend, (uint32_t) step);
    const uint32_t first = jit_var_u32(backend, (uint32_t) start);
    if (lane && factor && first)
        *positions = jit_var_fma(lane, factor, first);
    jit_var_dec_ref(lane);
    jit_var_dec_ref(factor);
    jit_var_dec_ref(first);
    if (!*positions)
        fail_core(a, set);
    return *positions;
}

PyObject *lanes_get_slice(Array *a, PyObject *slice)
{
    size_t n;
    uint32_t positions;
    if (!slice_lanes(a, slice, KEY_GET, &n, &positions))
        return NULL;
    PyObject *result = gather(a, positions);
    jit_var_dec_ref(positions);
    return result;
}

int lanes_set_slice(Array *a, PyObject *slice, PyObject *value)
{
    size_t n;
    uint32_t positions;
    if (!slice_lanes(a, slice, KEY_SET, &n, &positions))
        return -1;
    const int rv = scatter(a, lanes_count(a), positions, n, value);
    jit_var_dec_ref(positions);
    return rv;
}

/* ---------------------------------------------------------------- positions */

uint32_t lanes_wrap(JitBackend backend, uint32_t signed_index, size_t extent)
{
    const uint32_t index = jit_var_cast(signed_index, VarTypeUInt32, 0);
    const uint32_t zero = jit_var_i32(backend, 0);
    const uint32_t size = jit_var_u32(backend, (uint32_t) extent);
    const uint32_t negative = zero ? jit_var_lt(signed_index, zero) : 0;
    const uint32_t wrapped = index && size ? jit_var_add(index, size) : 0;
    const uint32_t result =
        negative && wrapped ? jit_var_select(negative, wrapped, index) : 0;
    jit_var_dec_ref(index);
    jit_var_dec_ref(zero);
    jit_var_dec_ref(size);
    jit_var_dec_ref(negative);
    jit_var_dec_ref(wrapped);
    jit_var_dec_ref(signed_index);
    return result;
}

/* A position that is the same in all lanes and known must exist. */
static bool check_literal(const Array *a, uint32_t index, bool is_signed, size_t n,
                          int set)
{
    VarInfo info;
    if (!jit_var_info(index, &info) || info.state != VarStateLiteral)
        return true;
    const long long found =
        is_signed ? (int32_t) info.literal : (long long) info.literal;
    if (found < (long long) n && found >= -(long long) n)
        return true;
    error_raise(PyExc_IndexError, key_name(a, set).text, NULL, 0,
                "entry %lld is out of bounds (the array is of size %zu).", found, n);
    return false;
}

/* An index array as UInt32 positions; 0: exception. */
static uint32_t positions_of(const Array *a, Array *key, int set)
{
    const bool is_signed = type_is_signed((VarType) key->info->entry);
    const TypeInfo *wanted = &a->info->state->types[type_with_entry(
        a->info, is_signed ? VarTypeInt32 : VarTypeUInt32)];
    const JitBackend backend = (JitBackend) a->info->backend;
    Array *whole = convert_array(wanted, key, key_name(a, set).text);
    if (!whole)
        return 0;
    const size_t n = lanes_count(a);
    uint32_t index = jit_var_inc_ref(array_index(whole));
    Py_DECREF((PyObject *) whole);
    if (n == 1 && set == KEY_GET) { /* the entry stands for any number of equal ones */
        const uint32_t none = jit_var_cast(index, VarTypeUInt32, 0);
        const uint32_t zero = jit_var_u32(backend, 0);
        jit_var_dec_ref(index);
        index = none && zero ? jit_var_and(none, zero) : 0;
        jit_var_dec_ref(none);
        jit_var_dec_ref(zero);
    } else if (!check_literal(a, index, is_signed, n, set)) {
        jit_var_dec_ref(index);
        return 0;
    } else if (is_signed) {
        index = lanes_wrap(backend, index, n);
    }
    if (!index)
        fail_core(a, set);
    return index;
}

static bool is_empty(const Array *flat)
{
    return flat->info->jit ? !array_index(flat) : !array_count(flat);
}

PyObject *lanes_get(Array *a, Array *key)
{
    if (is_empty(key))
        return gather(a, 0);
    const uint32_t positions = positions_of(a, key, KEY_GET);
    PyObject *result = positions ? gather(a, positions) : NULL;
    jit_var_dec_ref(positions);
    return result;
}

int lanes_set(Array *a, Array *key, PyObject *value)
{
    if (is_empty(key))
        return 0;
    const uint32_t positions = positions_of(a, key, KEY_SET);
    const int rv = positions ? scatter(a, lanes_count(a), positions,
                                       jit_var_size(positions), value)
                             : -1;
    jit_var_dec_ref(positions);
    return rv;
}
