/*
 * lanes.c -- reading and writing entries of a leaf
 *
 * Through the core: a gather, a scatter, or the writing of one entry. It copies the
 * variable first if others share it. Indices are UInt32 expressions; only an index
 * that is known without computing anything is checked.
 *
 * What is assigned may run Python code when it is converted, and so may other threads
 * while the leaf is computed. They may replace it, so its size is compared with the one
 * that the indices were made for.
 */
#include "python/index/lanes.h"

#include "python/array/evaluate.h"
#include "python/array/reads.h"
#include "python/base/error.h"
#include "python/base/gil.h"
#include "python/convert/convert.h"
#include "python/convert/convert_array.h"
#include "python/index/index.h"
#include "python/index/key.h"
#include "python/index/slice_indices.h"
#include "python/memory/access.h"
#include "python/memory/gather.h"

static PyObject *fail_core(const Array *a, int set)
{
    return error_from_core(key_name(a, set).text, NULL, 0);
}

static int fail_changed(const Array *a)
{
    error_raise(PyExc_RuntimeError, key_name(a, KEY_SET).text, NULL, 0,
                "the array changed its size during the assignment");
    return -1;
}

/* ---------------------------------------------------------------- one entry */

/* Compute a leaf and wait for it without the GIL: one entry is written by the caller's
 * thread. False: exception. */
static bool settle(const Array *a)
{
    if (var_state(array_var(a)) != VarStateUnevaluated)
        return true;
    if (!gather_prepare_target(key_name(a, KEY_SET).text, array_var(a)))
        return false;
    bool ok;
    GIL_RELEASE_BEGIN
    ok = jit_sync_thread();
    GIL_RELEASE_END
    if (!ok)
        fail_core(a, KEY_SET);
    return ok;
}

static VarIndex scatter_entry(const Array *a, size_t i, const Array *entry)
{
    const VarIndex at = var_u32((JitBackend) a->info->backend, (uint32_t) i);
    const VarIndex written = at ? var_scatter(array_var(a), array_var(entry), at, 0,
                                              ReduceOpIdentity, ReduceModeAuto)
                                : 0;
    var_unref(at);
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
        ok = entry && access_size(entry) == 1;
    } else {
        ok = convert_number((VarType) info->entry, value, &bits);
    }
    int rv = -1;
    if (!ok) {
        index_fail_value(a, value);
    } else if (!reads_check_write(key_name(a, KEY_SET).text, a) || !settle(a) ||
               (!entry && !evaluate_writes(key_name(a, KEY_SET).text, (PyObject **) &a,
                                           1))) {
        rv = -1;
    } else if (!extent_exceeds(access_extent(a), i)) {
        fail_changed(a);
    } else {
        const VarIndex written =
            entry ? scatter_entry(a, i, entry) : var_write(array_var(a), i, &bits);
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

/* The entries at these indices (0: none), which an index array gives lane by lane, or
 * a slice. */
static PyObject *gather(Array *a, VarIndex indices, bool slice)
{
    const VarIndex from = array_var(a);
    VarIndex result = 0;
    reads_note_gather(a);
    if (indices &&
        !(slice ? gather_whole(from, indices, 1, ReduceModeAuto, &result)
                : gather_variables(from, indices, 0, 1, ReduceModeAuto, &result)))
        return fail_core(a, KEY_GET);
    return (PyObject *) array_new_leaf(a->info, result);
}

/* Write at n indices of a leaf that had 'size' entries when they were made. */
static int scatter(Array *a, size_t size, VarIndex indices, Extent n, PyObject *value)
{
    if (index_refuses(a->info, value))
        return index_fail_value(a, value);
    Array *entries = convert_to(a->info, value, key_name(a, KEY_SET).text);
    if (!entries)
        return index_fail_value(a, value);
    int rv = -1;
    const bool ready =
        n.n == 0 || (reads_check_write(key_name(a, KEY_SET).text, a) &&
                     gather_prepare_target(key_name(a, KEY_SET).text, array_var(a)));
    const Extent found = access_extent(entries);
    if (!ready) {
        rv = -1;
    } else if (access_size(a) != size) {
        fail_changed(a);
    } else if (found.n != 1 && !extent_equal(found, n)) {
        char places[VAR_PLACES];
        var_places(access_peek(entries), indices, places);
        error_raise(PyExc_ValueError, key_name(a, KEY_SET).text, NULL, 0,
                    "found %zu values, expected 1 or %zu%s", found.n, n.n, places);
    } else if (n.n == 0) {
        rv = 0;
    } else {
        const VarIndex written =
            var_scatter(array_var(a), array_var(entries), indices, 0,
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

/* The n indices (0: none) that a slice selects; false: exception. */
static bool slice_lanes(const Array *a, PyObject *slice, int set, Extent *n,
                        VarIndex *indices)
{
    const JitBackend backend = (JitBackend) a->info->backend;
    SliceIndices p;
    *indices = 0;
    if (!slice_indices(slice, access_extent(a), &p))
        return false;
    *n = p.count;
    if (n->n == 0)
        return true;
    const VarIndex lane = var_counter(backend, extent_next(*n));
    const VarIndex factor = var_u32(backend, (uint32_t) (p.down ? -p.step : p.step));
    const VarIndex first = extent_times(backend, p.start, 1);
    if (lane && factor && first)
        *indices = var_fma(lane, factor, first);
    var_unref(lane);
    var_unref(factor);
    var_unref(first);
    if (!*indices)
        fail_core(a, set);
    return *indices;
}

PyObject *lanes_get_slice(Array *a, PyObject *slice)
{
    Extent n;
    VarIndex indices;
    if (!slice_lanes(a, slice, KEY_GET, &n, &indices))
        return NULL;
    PyObject *result = gather(a, indices, true);
    var_unref(indices);
    return result;
}

int lanes_set_slice(Array *a, PyObject *slice, PyObject *value)
{
    Extent n;
    VarIndex indices;
    if (!slice_lanes(a, slice, KEY_SET, &n, &indices))
        return -1;
    const int rv = scatter(a, access_size(a), indices, n, value);
    var_unref(indices);
    return rv;
}

/* ---------------------------------------------------------------- indices */

VarIndex lanes_wrap(JitBackend backend, VarIndex signed_index, Extent extent)
{
    const VarIndex index = var_cast(signed_index, VarTypeUInt32);
    const VarIndex zero = var_i32(backend, 0);
    const VarIndex size = extent_times(backend, extent, 1);
    const VarIndex negative = zero ? var_lt(signed_index, zero) : 0;
    const VarIndex wrapped = index && size ? var_add(index, size) : 0;
    const VarIndex result =
        negative && wrapped ? var_select(negative, wrapped, index) : 0;
    var_unref(index);
    var_unref(zero);
    var_unref(size);
    var_unref(negative);
    var_unref(wrapped);
    var_unref(signed_index);
    return result;
}

/* An index that is the same in all lanes and known must exist. */
static bool check_literal(const Array *a, VarIndex index, bool is_signed, Extent n,
                          int set)
{
    VarInfo info;
    if (!var_info(index, &info) || info.state != VarStateLiteral)
        return true;
    const long long found =
        is_signed ? (int32_t) info.literal : (long long) info.literal;
    if (extent_exceeds(n, (size_t) (found < 0 ? -(found + 1) : found)))
        return true;
    return error_raise(PyExc_IndexError, key_name(a, set).text, NULL, 0,
                       "index %lld is out of bounds for axis 0 with size %zu", found,
                       n.n);
}

/* An index array as UInt32 indices; 0: exception. */
static VarIndex indices_of(const Array *a, Array *key, int set)
{
    const bool is_signed = type_is_signed((VarType) key->info->entry);
    const TypeInfo *wanted = &a->info->state->types[type_with_entry(
        a->info, is_signed ? VarTypeInt32 : VarTypeUInt32)];
    const JitBackend backend = (JitBackend) a->info->backend;
    Array *whole = convert_array(wanted, key, key_name(a, set).text);
    if (!whole)
        return 0;
    const Extent n = access_extent(a);
    VarIndex index = var_ref(array_var(whole));
    Py_DECREF((PyObject *) whole);
    if (n.n == 1 && set == KEY_GET) { /* it stands for any number of equal entries */
        const VarIndex none = var_cast(index, VarTypeUInt32);
        const VarIndex zero = var_u32(backend, 0);
        var_unref(index);
        index = none && zero ? var_and(none, zero) : 0;
        var_unref(none);
        var_unref(zero);
    } else if (!check_literal(a, index, is_signed, n, set)) {
        var_unref(index);
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
    return flat->info->jit ? var_is_empty(array_var(flat)) : !array_count(flat);
}

PyObject *lanes_get(Array *a, Array *key)
{
    if (is_empty(key))
        return gather(a, 0, false);
    const VarIndex indices = indices_of(a, key, KEY_GET);
    PyObject *result = indices ? gather(a, indices, false) : NULL;
    var_unref(indices);
    return result;
}

int lanes_set(Array *a, Array *key, PyObject *value)
{
    if (is_empty(key))
        return 0;
    const VarIndex indices = indices_of(a, key, KEY_SET);
    const int rv =
        indices ? scatter(a, access_size(a), indices,
                          extent_of_leaf(indices, var_peek_size(indices)), value)
                : -1;
    var_unref(indices);
    return rv;
}
