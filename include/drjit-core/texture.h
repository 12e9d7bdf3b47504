/*
 * drjit-core/texture.h -- values on a grid, and interpolation between them
 * (C99, usable from C++)
 *
 * A part of drjit-core/jit.h, which includes it and whose conventions hold here.
 */
#ifndef DRJIT_CORE_TEXTURE_H
#define DRJIT_CORE_TEXTURE_H

#include <drjit-core/types.h>

/* ---------------------------------------------------------------- textures */

/* A texture has an array of floats, its content, as the channels of the points of a
 * grid of one to three dimensions: entry c of point (x, y, z) is number ((z * height +
 * y) * width + x) * channels + c. Positions are floats: the grid covers those from 0 to
 * 1, and point i of n is at (i + 0.5) / n. Lookups are traced operations: gathers, and
 * products with weights, the same as those of Texture2f in Python.
 *
 *     size_t shape[] = { 640, 480 };
 *     JitTexture *t = jit_tex_create(JitBackendLLVM, 2, shape, 3, VarTypeFloat32,
 *                                    JitTexFilterLinear, JitTexWrapClamp);
 *     jit_tex_copy_from(t, pixels);
 *     jit_tex_lookup(t, (uint32_t[]){ x, y }, 0, rgb);
 *
 * NaN and infinite positions read an unspecified point of the grid. A texture may be
 * looked up by several threads at the same time, but not while one of them changes its
 * content. Those that are left at jit_shutdown() hold their content. */

/** Values between points: the nearest one, or linear interpolation. */
typedef enum JitTexFilter { JitTexFilterNearest, JitTexFilterLinear } JitTexFilter;

/** Values beyond the grid: the grid again, its border, or its mirror image. */
typedef enum JitTexWrap {
    JitTexWrapRepeat,
    JitTexWrapClamp,
    JitTexWrapMirror
} JitTexWrap;

typedef struct JitTexture JitTexture;
JIT_C_BEGIN

/** A texture whose content is 0. 'shape' has 'ndim' (1 to 3) extents, along x first,
 *  each 1 or more and 2^30 at most; a point has 'channels' (1 to 1024) entries of
 *  'type' (Float16, Float32 or Float64), 2^32 - 1 in all at most. NULL: an error. */
JIT_EXPORT JitTexture *jit_tex_create(JitBackend backend, size_t ndim,
                                      const size_t *shape, size_t channels,
                                      VarType type, JitTexFilter filter,
                                      JitTexWrap wrap);
/** Release a texture and its content. NULL: nothing. */
JIT_EXPORT void jit_tex_destroy(JitTexture *texture);
/** The number of dimensions n. shape[0..n-1] = the extents, along x first, shape[n] =
 *  the number of channels ('shape' may be NULL). */
JIT_EXPORT size_t jit_tex_shape(const JitTexture *texture, size_t *shape);
/** The content, a new reference; and another one, of the same type and size, of which
 *  the texture takes a reference: then it is not changed by what the texture writes. */
JIT_EXPORT uint32_t jit_tex_content(const JitTexture *texture);
JIT_EXPORT bool jit_tex_set_content(JitTexture *texture, uint32_t content);
/** Copy the content from memory of the host, or to it; done on return. */
JIT_EXPORT bool jit_tex_copy_from(JitTexture *texture, const void *entries);
JIT_EXPORT bool jit_tex_copy_to(JitTexture *texture, void *entries);
/** out[c] = channel c at the positions pos[0..n-1] (x first), of the type of these,
 *  which are floats of one type; 0 where 'mask' (0: always) is not set. New references,
 *  none on failure. */
JIT_EXPORT bool jit_tex_lookup(const JitTexture *texture, const uint32_t *pos,
                               uint32_t mask, uint32_t *out);
/** The points that a linear lookup reads: 2^n of them, x first; out[k * channels + c] =
 *  channel c of number k. Otherwise as jit_tex_lookup(). */
JIT_EXPORT bool jit_tex_bilerp_fetch(const JitTexture *texture, const uint32_t *pos,
                                     uint32_t mask, uint32_t *out);
/** Set the points at integer positions (UInt32 or Int32), which have to exist, to
 *  values[c] for channel c, of the texture's type, where 'mask' (0: always) is set. If
 *  memory runs out, some channels may have been written. */
JIT_EXPORT bool jit_tex_write(JitTexture *texture, const uint32_t *pos,
                              const uint32_t *values, uint32_t mask);

JIT_C_END

#if defined(__cplusplus)
#  include <drjit-core/checked_texture.inc>
#endif

#endif /* DRJIT_CORE_TEXTURE_H */
