/*
 * drjit/texture.h -- values on a grid, and interpolation between them (C++17)
 *
 * Texture<Value, N> is a JitTexture of drjit-core/texture.h, which says what a lookup
 * computes: N (1 to 3) dimensions, and some channels for each point of the grid. Value
 * is an array of floats without derivatives.
 *
 *     size_t shape[] = { height, width };
 *     Texture<Float, 2> texture(shape, 3);
 *     texture.set_value(pixels);                  height * width * 3 entries
 *     Float rgb[3];
 *     texture.eval(Array<Float, 2>(x, y), rgb);
 */
#ifndef DRJIT_TEXTURE_H
#define DRJIT_TEXTURE_H

#include <drjit/tensor.h>

namespace drjit {

/** Values between points: the nearest one, or linear interpolation. */
enum class FilterMode : uint32_t { Nearest, Linear };

/** Values beyond the grid: the grid again, its border, or its mirror image. */
enum class WrapMode : uint32_t { Repeat, Clamp, Mirror };

/** A grid of values; see the head of this file. Objects move, and are not copied.
 *  Errors and threads are those of drjit-core/texture.h. */
template <typename Value, size_t N> struct Texture {
    static_assert(detail::is_leaf<Value> && is_floating_point_v<Value>,
                  "Texture: values are arrays of floats, such as LLVMArray<float>");
    static_assert(!is_diff_v<Value>, "Texture: values have no derivatives");
    static_assert(N >= 1 && N <= 3, "Texture: there are 1 to 3 dimensions");
    static constexpr size_t Dimension = N;
    using Storage = Value;             /**< what the content is stored in */
    using Mask = mask_t<Value>;        /**< which lanes look something up */
    using PosF = Array<Value, N>;      /**< positions, x first */
    using TensorXf = Tensor<Value>;    /**< the content with its shape */

    /** No texture: only another one can be moved here. */
    Texture() = default;

    /** A texture whose content is 0. 'shape' has N extents, those of the fastest axis
     *  last: (height, width). 'migrate' is for GPUs, and has no effect. */
    Texture(const size_t *shape, size_t channels, bool migrate = true,
            FilterMode filter = FilterMode::Linear, WrapMode wrap = WrapMode::Clamp)
        : m_filter(filter), m_wrap(wrap) {
        (void) migrate;
        create(shape, channels);
    }

    /** A texture with this content: the last axis of the tensor is that of channels. An
     *  Error if the tensor does not have N + 1 axes. */
    explicit Texture(const TensorXf &tensor, bool migrate = true,
                     FilterMode filter = FilterMode::Linear,
                     WrapMode wrap = WrapMode::Clamp)
        : m_filter(filter), m_wrap(wrap) {
        (void) migrate;
        check_axes("drjit::Texture()", tensor);
        create(tensor.shape().data(), tensor.shape(N));
        try {
            set_value(tensor.array());
        } catch (...) { /* the destructor does not run */
            c::jit_tex_destroy(m_texture);
            throw;
        }
    }

    Texture(Texture &&other) noexcept { swap(other); }
    Texture &operator=(Texture &&other) noexcept {
        Texture(std::move(other)).swap(*this);
        return *this;
    }
    ~Texture() { c::jit_tex_destroy(m_texture); }

    /** Exchange two textures. */
    void swap(Texture &other) noexcept {
        std::swap(m_texture, other.m_texture);
        std::swap(m_shape, other.m_shape);
        std::swap(m_filter, other.m_filter);
        std::swap(m_wrap, other.m_wrap);
    }

    /** out[c] = channel c at these positions, 0 where 'active' is not set. The grid
     *  covers positions from 0 to 1, and 'out' has an array for each channel. */
    void eval(const PosF &pos, Value *out, const Mask &active = true) const {
        uint32_t positions[N];
        for (size_t i = 0; i < N; ++i)
            positions[i] = pos.entry(i).index();
        std::vector<uint32_t> indices(channels());
        jit_tex_lookup(m_texture, positions, active.index(), indices.data());
        for (size_t i = 0; i < indices.size(); ++i)
            out[i] = Value::steal(indices[i]);
    }

    /** The content: channels of a point side by side, points row by row. */
    Storage value() const { return Storage::steal(jit_tex_content(m_texture)); }

    /** Replace it by an array of as many entries. */
    void set_value(const Storage &value) {
        jit_tex_set_content(m_texture, value.index());
    }

    /** The content as a tensor with N + 1 axes. */
    TensorXf tensor() const { return TensorXf(value(), extents()); }

    /** Replace it by a tensor of the same shape. An Error for another one. */
    void set_tensor(const TensorXf &tensor) {
        if (tensor.shape() != extents())
            jit_raise("drjit::Texture::set_tensor(): the tensor has another shape than "
                      "the texture");
        set_value(tensor.array());
    }

    /** The extents as given to the constructor, and the number of channels: N + 1
     *  numbers. */
    const size_t *shape() const { return m_shape; }
    size_t channels() const { return m_shape[N]; }
    static constexpr size_t ndim() { return N + 1; }
    FilterMode filter_mode() const { return m_filter; }
    WrapMode wrap_mode() const { return m_wrap; }

private:
    static void check_axes(const char *function, const TensorXf &tensor) {
        if (tensor.ndim() != N + 1)
            jit_raise("%s: the tensor has %zu axes, expected %zu", function,
                      tensor.ndim(), N + 1);
    }

    void create(const size_t *shape, size_t channels) {
        size_t reversed[N]; /* the library's order */
        for (size_t i = 0; i < N; ++i)
            reversed[i] = shape[N - 1 - i];
        detail::start<Value::Backend>();
        m_texture = jit_tex_create(Value::Backend, N, reversed, channels, Value::Type,
                                   static_cast<JitTexFilter>(m_filter),
                                   static_cast<JitTexWrap>(m_wrap));
        std::copy(shape, shape + N, m_shape);
        m_shape[N] = channels;
    }

    typename TensorXf::Shape extents() const {
        return typename TensorXf::Shape(m_shape, m_shape + N + 1);
    }

    JitTexture *m_texture = nullptr;
    size_t m_shape[N + 1]{};
    FilterMode m_filter = FilterMode::Linear;
    WrapMode m_wrap = WrapMode::Clamp;
};

} /* namespace drjit */

#endif /* DRJIT_TEXTURE_H */
