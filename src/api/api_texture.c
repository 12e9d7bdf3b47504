/*
 * api_texture.c -- the texture group: what is between points, as traced operations
 *
 * Written as a program is, with the functions of jit.h, each of which takes the lock:
 * a lookup needs nothing that programs cannot have. Python's textures (_texture.py,
 * _texture_taps.py) are the same operations in the same order.
 *
 *   position ──► folded into the first period ──► at = x * n - 1/2 ──► floor: first
 *            texels first + 0 and first + 1, brought into the grid   fraction: weights
 *
 * A Trace has all variables on the way, which are dropped in the end. An operation
 * whose operand is 0 has 0 as its result, and so the error is that of the first one
 * that failed.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "drjit-core/jit.h"
#include "ir/type.h"

enum { MOST_DIMS = 3, MOST_CHANNELS = 1024, MOST_EXTENT = 1 << 30, PACKET_LIMIT = 64 };

struct JitTexture {
    JitBackend backend;
    VarType type;
    JitTexFilter filter;
    JitTexWrap wrap;
    size_t ndim, channels, entries; /* of the content */
    uint32_t shape[MOST_DIMS];
    uint32_t content;
};

/* ---------------------------------------------------------------- making */

static bool is_float(VarType type)
{
    return type == VarTypeFloat16 || type == VarTypeFloat32 || type == VarTypeFloat64;
}

/* The number of entries; 0: not permitted. */
static size_t count_entries(size_t ndim, const size_t *shape, size_t channels)
{
    uint64_t count = channels;
    for (size_t k = 0; k < ndim; ++k) {
        if (shape[k] < 1 || shape[k] > MOST_EXTENT)
            return 0;
        count *= shape[k];
        if (count > UINT32_MAX)
            return 0;
    }
    return (size_t) count;
}

static bool check(size_t ndim, const size_t *shape, size_t channels, VarType type,
                  JitTexFilter filter, JitTexWrap wrap)
{
    const char *name = "jit_tex_create()";
    if (ndim < 1 || ndim > MOST_DIMS || !shape)
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: %zu dimensions at %p, expected 1 to 3", name, ndim,
                         (const void *) shape);
    if (channels < 1 || channels > MOST_CHANNELS)
        return error_set(JIT_ERROR_ARGUMENT, "%s: %zu channels, expected 1 to %d", name,
                         channels, MOST_CHANNELS);
    if ((unsigned) type >= VarTypeCount || !is_float(type))
        return error_set(JIT_ERROR_ARGUMENT, "%s: type %d, expected one of floats",
                         name, (int) type);
    if ((unsigned) filter > JitTexFilterLinear || (unsigned) wrap > JitTexWrapMirror)
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: filter %d and wrap %d, expected a JitTexFilter and a "
                         "JitTexWrap",
                         name, (int) filter, (int) wrap);
    if (!count_entries(ndim, shape, channels))
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: extents %zu, %zu, %zu, expected 1 to 2^30 each and 2^32 "
                         "- 1 entries at most",
                         name, shape[0], ndim > 1 ? shape[1] : 1,
                         ndim > 2 ? shape[2] : 1);
    return true;
}

JitTexture *jit_tex_create(JitBackend backend, size_t ndim, const size_t *shape,
                           size_t channels, VarType type, JitTexFilter filter,
                           JitTexWrap wrap)
{
    TRY(check(ndim, shape, channels, type, filter, wrap), NULL);
    JitTexture *t = alloc_get(sizeof(*t));
    TRY(t, NULL);
    *t = (JitTexture){ .backend = backend,
                       .type = type,
                       .filter = filter,
                       .wrap = wrap,
                       .ndim = ndim,
                       .channels = channels,
                       .entries = count_entries(ndim, shape, channels) };
    for (size_t k = 0; k < ndim; ++k)
        t->shape[k] = (uint32_t) shape[k];
    const uint64_t zero = 0;
    t->content = jit_var_literal(backend, type, &zero, t->entries, 0);
    if (t->content)
        return t;
    alloc_free(t);
    return NULL;
}

void jit_tex_destroy(JitTexture *texture)
{
    if (!texture)
        return;
    jit_var_dec_ref(texture->content);
    alloc_free(texture);
}

static bool is_there(const JitTexture *t, const char *function, const void *other)
{
    return (t && other) || error_set(JIT_ERROR_ARGUMENT, "%s: %s is NULL", function,
                                     t ? "a pointer" : "the texture");
}

size_t jit_tex_shape(const JitTexture *texture, size_t *shape)
{
    TRY(is_there(texture, "jit_tex_shape()", texture), 0);
    for (size_t k = 0; shape && k < texture->ndim; ++k)
        shape[k] = texture->shape[k];
    if (shape)
        shape[texture->ndim] = texture->channels;
    return texture->ndim;
}

/* ---------------------------------------------------------------- content */

/* It takes the reference. */
static bool replace(JitTexture *t, uint32_t content)
{
    TRY(content, false);
    jit_var_dec_ref(t->content);
    t->content = content;
    return true;
}

uint32_t jit_tex_content(const JitTexture *texture)
{
    TRY(is_there(texture, "jit_tex_content()", texture), 0);
    return jit_var_inc_ref(texture->content);
}

bool jit_tex_set_content(JitTexture *texture, uint32_t content)
{
    VarInfo info;
    TRY(is_there(texture, "jit_tex_set_content()", texture), false);
    TRY(jit_var_info(content, &info), false);
    if (info.type != texture->type || info.backend != texture->backend ||
        info.size != texture->entries)
        return error_set(JIT_ERROR_ARGUMENT,
                         "jit_tex_set_content(): r%u has %zu entries of type %s, "
                         "expected %zu of type %s and of the texture's backend",
                         content, (size_t) info.size, type_info[info.type].name,
                         texture->entries, type_info[texture->type].name);
    return replace(texture, jit_var_inc_ref(content));
}

bool jit_tex_copy_from(JitTexture *texture, const void *entries)
{
    TRY(is_there(texture, "jit_tex_copy_from()", entries), false);
    return replace(texture, jit_var_mem_copy(texture->backend, texture->type, entries,
                                             texture->entries));
}

bool jit_tex_copy_to(JitTexture *texture, void *entries)
{
    void *from = NULL;
    TRY(is_there(texture, "jit_tex_copy_to()", entries), false);
    TRY(replace(texture, jit_var_data(texture->content, &from)), false);
    return jit_memcpy(texture->backend, entries, from,
                      texture->entries * type_info[texture->type].size);
}

/* ---------------------------------------------------------------- operations */

typedef struct Trace {
    const JitTexture *texture;
    VarType type; /* of positions and results */
    uint32_t mask;
    uint32_t *ids; /* what is dropped in the end */
    uint32_t count, capacity;
} Trace;

static uint32_t keep(Trace *t, uint32_t id)
{
    TRY(id, 0);
    if (!vec_reserve(&t->ids, &t->capacity, t->count + 1, sizeof(*t->ids))) {
        jit_var_dec_ref(id);
        return 0;
    }
    return t->ids[t->count++] = id;
}

static void drop(Trace *t)
{
    jit_var_dec_refs(t->count, t->ids);
    alloc_free(t->ids);
}

static uint32_t one(Trace *t, JitOp op, uint32_t a)
{
    return a ? keep(t, jit_var_op(op, &a)) : 0;
}

static uint32_t two(Trace *t, JitOp op, uint32_t a, uint32_t b)
{
    return a && b ? keep(t, jit_var_op(op, (uint32_t[]){ a, b })) : 0;
}

static uint32_t fma_of(Trace *t, uint32_t a, uint32_t b, uint32_t c)
{
    return a && b && c ? keep(t, jit_var_fma(a, b, c)) : 0;
}

static uint32_t cast(Trace *t, uint32_t a, VarType type, bool bits)
{
    return a ? keep(t, jit_var_cast(a, type, bits)) : 0;
}

static uint32_t number(Trace *t, double value)
{
    JitBackend backend = t->texture->backend;
    return keep(t, t->type == VarTypeFloat16   ? jit_var_f16(backend, (float) value)
                   : t->type == VarTypeFloat32 ? jit_var_f32(backend, (float) value)
                                               : jit_var_f64(backend, value));
}

static uint32_t integer(Trace *t, int32_t value)
{
    return keep(t, jit_var_i32(t->texture->backend, value));
}

static uint32_t natural(Trace *t, uint32_t value)
{
    return keep(t, jit_var_u32(t->texture->backend, value));
}

/* ---------------------------------------------------------------- positions */

typedef struct Taps {
    uint32_t at[2], fraction;
} Taps;

/* The position in the first period: from 0 to 1, or if mirrored from -1 to 1. */
static uint32_t fold(Trace *t, uint32_t x)
{
    if (t->texture->wrap == JitTexWrapRepeat)
        return two(t, JitOpSub, x, one(t, JitOpFloor, x));
    if (t->texture->wrap == JitTexWrapClamp)
        return x;
    uint32_t period = one(t, JitOpRound, two(t, JitOpMul, x, number(t, 0.5)));
    return fma_of(t, period, number(t, -2), x);
}

/* A float without fraction, that of a folded position, as an integer between -1 (if
 * mirrored, -1 - n; with count 1, one more) and n - 1. */
static uint32_t to_integer(Trace *t, uint32_t first, int32_t n, int32_t count)
{
    const int32_t exact = t->type == VarTypeFloat16 ? 1 << 11 : 1 << 24;
    bool clamps = t->texture->wrap == JitTexWrapClamp;
    uint32_t x = two(t, JitOpMin, first, number(t, n - 1)); /* NaN, too */
    if (clamps)
        x = two(t, JitOpMax, x, number(t, 1 - count));
    uint32_t i = cast(t, x, VarTypeInt32, false);
    if (t->type == VarTypeFloat64 || n < exact - 2)
        return i;
    /* Bounds may have been rounded. */
    i = two(t, JitOpMin, i, integer(t, n - 1));
    return two(t, JitOpMax, i, integer(t, clamps ? 1 - count : -1 - n));
}

/* Of unsigned numbers, the smaller one is that in the grid. */
static uint32_t wrap(Trace *t, uint32_t i, int32_t k, int32_t count, uint32_t n)
{
    uint32_t at = k ? two(t, JitOpAdd, i, integer(t, k)) : i;
    if (t->texture->wrap == JitTexWrapClamp) {
        if (k < count - 1)
            at = two(t, JitOpMax, at, integer(t, 0));
        if (k > 0)
            at = two(t, JitOpMin, at, integer(t, (int32_t) n - 1));
        return cast(t, at, VarTypeUInt32, true);
    }
    at = cast(t, at, VarTypeUInt32, true);
    if (t->texture->wrap == JitTexWrapRepeat)
        return two(t, JitOpMin, at, two(t, k ? JitOpSub : JitOpAdd, at, natural(t, n)));
    at = two(t, JitOpMin, at, one(t, JitOpNot, at));
    return two(t, JitOpMin, at, two(t, JitOpSub, natural(t, 2 * n - 1), at));
}

/* The 'count' (1 or 2) points around a position along an axis. */
static bool find(Trace *t, size_t axis, uint32_t x, int32_t count, Taps *taps)
{
    uint32_t n = t->texture->shape[axis], size = number(t, n), folded = fold(t, x);
    uint32_t at = count == 1 ? two(t, JitOpMul, folded, size)
                             : fma_of(t, folded, size, number(t, -0.5));
    uint32_t first = one(t, JitOpFloor, at);
    uint32_t i = to_integer(t, first, (int32_t) n, count);
    taps->fraction = two(t, JitOpSub, at, first);
    for (int32_t k = 0; k < count; ++k)
        TRY(taps->at[k] = wrap(t, i, k, count, n), false);
    return taps->fraction != 0;
}

/* ---------------------------------------------------------------- points */

static bool has_packets(const JitTexture *t)
{
    return t->channels <= PACKET_LIMIT && !(t->channels & (t->channels - 1));
}

/* Of a point, by its place along each axis. */
static uint32_t index_of(Trace *t, const uint32_t *places)
{
    uint32_t index = places[0], stride = 1;
    for (size_t k = 1; k < t->texture->ndim; ++k) {
        stride *= t->texture->shape[k - 1];
        index =
            two(t, JitOpAdd, index, two(t, JitOpMul, places[k], natural(t, stride)));
    }
    return index;
}

/* The first entry of a point. */
static uint32_t entry_of(Trace *t, uint32_t index, size_t channel)
{
    uint32_t first =
        two(t, JitOpMul, index, natural(t, (uint32_t) t->texture->channels));
    return two(t, JitOpAdd, first, natural(t, (uint32_t) channel));
}

static bool read(Trace *t, uint32_t index, uint32_t *out)
{
    const JitTexture *x = t->texture;
    TRY(index, false);
    bool packets = has_packets(x);
    if (packets)
        TRY(jit_var_gather_packet(x->channels, x->content, index, t->mask, out), false);
    bool ok = true;
    for (size_t c = 0; c < x->channels; ++c) {
        uint32_t entry = packets ? 0 : entry_of(t, index, c);
        if (entry)
            out[c] = jit_var_gather(x->content, entry, t->mask);
        else if (!packets)
            out[c] = 0;
        out[c] = cast(t, keep(t, out[c]), t->type, false);
        ok &= out[c] != 0;
    }
    return ok;
}

/* All points of the taps, x first: out[k * channels + c]. */
static bool read_all(Trace *t, const Taps *taps, uint32_t corners, uint32_t *out)
{
    for (uint32_t k = 0; k < corners; ++k) {
        uint32_t places[MOST_DIMS] = { 0 };
        for (size_t axis = 0; axis < t->texture->ndim; ++axis)
            places[axis] = taps[axis].at[k >> axis & 1];
        TRY(read(t, index_of(t, places), out + k * t->texture->channels), false);
    }
    return true;
}

/* Along one axis after the other, of the points in 'values', which become 'channels'
 * results. */
static bool interpolate(Trace *t, const Taps *taps, uint32_t corners, uint32_t *values)
{
    size_t channels = t->texture->channels;
    for (size_t axis = 0; axis < t->texture->ndim; ++axis, corners /= 2) {
        uint32_t f = taps[axis].fraction, g = two(t, JitOpSub, number(t, 1), f);
        for (size_t i = 0; i < corners / 2 * channels; ++i) {
            const uint32_t *pair = values + i / channels * 2 * channels + i % channels;
            values[i] = fma_of(t, pair[channels], f, two(t, JitOpMul, pair[0], g));
            TRY(values[i], false);
        }
    }
    return true;
}

/* The positions' type; false: they are not positions. */
static bool start(Trace *t, const JitTexture *texture, const char *function,
                  const uint32_t *pos, uint32_t mask, bool integers)
{
    TRY(is_there(texture, function, pos), false);
    *t = (Trace){ .texture = texture, .mask = mask };
    for (size_t k = 0; k < texture->ndim; ++k) {
        VarInfo info;
        TRY(jit_var_peek_info(pos[k], &info), false);
        bool fits = integers ? info.type == VarTypeUInt32 || info.type == VarTypeInt32
                             : is_float(info.type) && (!k || info.type == t->type);
        if (!fits || info.backend != texture->backend)
            return error_set(JIT_ERROR_ARGUMENT,
                             "%s: position %zu is of type %s, expected %s of the "
                             "texture's backend",
                             function, k, type_info[info.type].name,
                             integers ? "UInt32 or Int32" : "floats of one type");
        t->type = info.type;
    }
    return true;
}

/* The results keep references of their own. */
static bool hand_out(const uint32_t *values, size_t count, uint32_t *out)
{
    TRY(jit_var_inc_refs(count, values), false);
    memcpy(out, values, count * sizeof(*out));
    return true;
}

static bool look_up(Trace *t, const uint32_t *pos, bool fetch, uint32_t *out)
{
    const JitTexture *x = t->texture;
    bool linear = fetch || x->filter == JitTexFilterLinear;
    uint32_t corners = linear ? 1u << x->ndim : 1;
    uint32_t *values = alloc_zero(corners * x->channels, sizeof(*values));
    Taps taps[MOST_DIMS];
    bool ok = values != NULL;
    for (size_t k = 0; ok && k < x->ndim; ++k)
        ok = find(t, k, pos[k], linear ? 2 : 1, &taps[k]);
    ok = ok && read_all(t, taps, corners, values);
    if (ok && linear && !fetch)
        ok = interpolate(t, taps, corners, values);
    ok = ok && hand_out(values, (fetch ? corners : 1) * x->channels, out);
    alloc_free(values);
    drop(t);
    return ok;
}

bool jit_tex_lookup(const JitTexture *texture, const uint32_t *pos, uint32_t mask,
                    uint32_t *out)
{
    Trace t;
    TRY(is_there(texture, "jit_tex_lookup()", out), false);
    TRY(start(&t, texture, "jit_tex_lookup()", pos, mask, false), false);
    return look_up(&t, pos, false, out);
}

bool jit_tex_bilerp_fetch(const JitTexture *texture, const uint32_t *pos, uint32_t mask,
                          uint32_t *out)
{
    Trace t;
    TRY(is_there(texture, "jit_tex_bilerp_fetch()", out), false);
    TRY(start(&t, texture, "jit_tex_bilerp_fetch()", pos, mask, false), false);
    return look_up(&t, pos, true, out);
}

/* ---------------------------------------------------------------- writes */

static bool write_packet(Trace *t, JitTexture *texture, uint32_t index,
                         const uint32_t *values)
{
    return replace(texture, jit_var_scatter_packet(texture->channels, texture->content,
                                                   values, index, t->mask,
                                                   ReduceOpIdentity, ReduceModeAuto));
}

static bool write_each(Trace *t, JitTexture *texture, uint32_t index,
                       const uint32_t *values)
{
    for (size_t c = 0; c < texture->channels; ++c) {
        uint32_t entry = entry_of(t, index, c);
        TRY(entry, false);
        TRY(replace(texture,
                    jit_var_scatter(texture->content, values[c], entry, t->mask,
                                    ReduceOpIdentity, ReduceModeAuto)),
            false);
    }
    return true;
}

static bool check_values(const JitTexture *t, const uint32_t *values)
{
    for (size_t c = 0; c < t->channels; ++c) {
        VarInfo info;
        TRY(jit_var_peek_info(values[c], &info), false);
        if (info.type != t->type || info.backend != t->backend)
            return error_set(JIT_ERROR_ARGUMENT,
                             "jit_tex_write(): value %zu is of type %s, expected %s of "
                             "the texture's backend",
                             c, type_info[info.type].name, type_info[t->type].name);
    }
    return true;
}

bool jit_tex_write(JitTexture *texture, const uint32_t *pos, const uint32_t *values,
                   uint32_t mask)
{
    Trace t;
    TRY(is_there(texture, "jit_tex_write()", values), false);
    TRY(start(&t, texture, "jit_tex_write()", pos, mask, true), false);
    TRY(check_values(texture, values), false);
    uint32_t places[MOST_DIMS] = { 0 };
    for (size_t k = 0; k < texture->ndim; ++k)
        places[k] = cast(&t, pos[k], VarTypeUInt32, false);
    uint32_t index = index_of(&t, places);
    bool ok = index && (has_packets(texture) ? write_packet
                                             : write_each)(&t, texture, index, values);
    drop(&t);
    return ok;
}
