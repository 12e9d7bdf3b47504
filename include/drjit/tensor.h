/*
 * drjit/tensor.h -- arrays with a shape (C++17, header only)
 *
 * Tensor<A> is a shape and a flat array A of the JIT with its entries in row-major
 * order. Operands of one operation have the same shape, or shapes that broadcast as
 * those of NumPy: aligned at the last axis, with extents that are equal or 1.
 */
#ifndef DRJIT_TENSOR_H
#define DRJIT_TENSOR_H

#include <drjit/array.h>

#include <initializer_list>

namespace drjit {

template <typename A> struct Tensor;
namespace detail {
template <typename A> inline constexpr bool is_special<Tensor<A>> = true;
} /* namespace detail */

/** A flat array with a shape. */
template <typename A> struct Tensor {
    using Array = A;
    using Index = uint32_array_t<A>;
    using Shape = std::vector<size_t>;
    using Mask = Tensor<mask_t<A>>;

    /** A tensor of shape (0). */
    Tensor() : m_shape{ 0 } { }

    /** One number: shape (). */
    template <typename S, std::enable_if_t<detail::is_scalar<S>, int> = 0>
    Tensor(S value) : m_array(value) { }

    /** An array with a shape, that of one axis if none is given. An Error if the number
     *  of entries is another one; a single entry is repeated. */
    Tensor(const A &array, Shape shape) : m_array(array), m_shape(std::move(shape)) {
        const size_t size = product(m_shape), found = array.size();
        if (found == 1 && size > 1)
            m_array = drjit::resize(array, size);
        else if (found != size)
            jit_raise("drjit::Tensor(): the array has %zu entries, the shape %zu",
                      found, size);
    }
    Tensor(const A &array, size_t ndim, const size_t *shape)
        : Tensor(array, Shape(shape, shape + ndim)) { }
    explicit Tensor(const A &array) : m_array(array), m_shape{ array.size() } { }
    /** A copy of memory with a shape. */
    Tensor(const void *data, std::initializer_list<size_t> shape)
        : Tensor(A::copy(data, product(Shape(shape))), Shape(shape)) { }

    /** Shape, number of axes, of entries, and the flat array. */
    const Shape &shape() const { return m_shape; }
    size_t shape(size_t axis) const { return m_shape.at(axis); }
    size_t ndim() const { return m_shape.size(); }
    size_t size() const { return product(m_shape); }
    A &array() { return m_array; }
    const A &array() const { return m_array; }

    /** The same entries with another shape of as many. */
    Tensor reshape(Shape shape) const { return Tensor(m_array, std::move(shape)); }

    /** The entries, repeated to a shape that this one broadcasts to, or an Error. */
    Tensor broadcast(const Shape &shape) const {
        if (shape == m_shape)
            return *this;
        if (m_shape.empty())
            return Tensor(drjit::resize(m_array, product(shape)), shape);
        Index rest = arange<Index>(product(shape)), position(0u);
        uint32_t stride = 1;
        for (size_t i = 0; i < shape.size(); ++i) { /* from the last axis on */
            const uint32_t extent = uint32_t(shape[shape.size() - 1 - i]);
            const uint32_t own =
                i < ndim() ? uint32_t(m_shape[ndim() - 1 - i]) : 1u;
            if (own != 1 && own != extent)
                jit_raise("drjit::Tensor::broadcast(): an axis has %u entries, "
                          "expected 1 or %u", own, extent);
            if (own != 1)
                position = fma(rest % extent, stride, position);
            rest = rest / extent;
            stride *= own;
        }
        return Tensor(drjit::gather<A>(m_array, position), shape);
    }

    friend Tensor operator-(const Tensor &a) { return Tensor(-a.m_array, a.m_shape); }

#define DRJIT_TENSOR_OPERATOR(sign, op, what)                                          \
    friend Tensor operator sign(const Tensor &a, const Tensor &b) {                    \
        return combine(a, b, [](const A &x, const A &y) -> A { return x sign y; });    \
    }                                                                                  \
    Tensor &operator sign##=(const Tensor &b) { return *this = *this sign b; }
#define DRJIT_TENSOR_COMPARISON(sign, op, what)                                        \
    friend Mask operator sign(const Tensor &a, const Tensor &b) {                      \
        return combine(a, b, [](const A &x, const A &y) { return x sign y; });         \
    }
    DRJIT_BINARY_OPERATORS(DRJIT_TENSOR_OPERATOR)
    DRJIT_COMPARISONS(DRJIT_TENSOR_COMPARISON)

    /** A function of flat arrays for all entries: a name such as drjit::sqrt<A>, or any
     *  other one, whose result may be of another type. */
    Tensor map(A (*function)(const A &)) const {
        return Tensor(function(m_array), m_shape);
    }
    template <typename Function> auto map(Function function) const {
        using R = std::decay_t<decltype(function(m_array))>;
        return Tensor<R>(function(m_array), m_shape);
    }

    auto fields() { return std::tie(m_array); }

    /** Shape and entries as text. Waits. */
    friend std::ostream &operator<<(std::ostream &stream, const Tensor &a) {
        stream << "Tensor(shape=(";
        for (size_t i = 0; i < a.ndim(); ++i)
            stream << (i ? ", " : "") << a.m_shape[i];
        return stream << "), " << a.m_array << ")";
    }

private:
    static size_t product(const Shape &shape) {
        size_t result = 1;
        for (size_t extent : shape)
            result *= extent;
        return result;
    }

    template <typename Function>
    static auto combine(const Tensor &a, const Tensor &b, Function function) {
        using R = std::decay_t<decltype(function(a.m_array, b.m_array))>;
        Shape shape(std::max(a.ndim(), b.ndim()), 1);
        for (const Tensor *tensor : { &a, &b })
            for (size_t i = 0; i < tensor->ndim(); ++i) {
                size_t &extent = shape[shape.size() - tensor->ndim() + i];
                if (extent == 1)
                    extent = tensor->m_shape[i];
            }
        return Tensor<R>(function(a.broadcast(shape).m_array,
                                  b.broadcast(shape).m_array), shape);
    }

    A m_array;
    Shape m_shape;
};

/* Functions of floats and of numbers, for all entries. */
#define DRJIT_TENSOR_FUNCTION(name, op)                                                \
    template <typename A> Tensor<A> name(const Tensor<A> &a) {                         \
        return Tensor<A>(name(a.array()), a.shape());                                  \
    }
DRJIT_FLOAT_FUNCTIONS(DRJIT_TENSOR_FUNCTION)
DRJIT_NUMBER_FUNCTIONS(DRJIT_TENSOR_FUNCTION)

/** The sum over one axis, which the result does not have; without an axis of all
 *  entries. An Error if there is no such axis. */
template <typename A> Tensor<A> sum(const Tensor<A> &a, size_t axis) {
    using Index = uint32_array_t<A>;
    if (axis >= a.ndim())
        jit_raise("drjit::sum(): the axis is %zu, expected less than %zu", axis,
                  a.ndim());
    const size_t extent = a.shape(axis);
    std::vector<size_t> shape(a.shape());
    shape.erase(shape.begin() + std::ptrdiff_t(axis));
    size_t inner = 1;
    for (size_t i = axis + 1; i < a.ndim(); ++i)
        inner *= a.shape(i);
    if (inner == 1)
        return Tensor<A>(block_sum(a.array(), extent), shape);
    /* Entries of a block are 'inner' apart: bring them together. */
    const Index number = arange<Index>(a.size());
    const uint32_t n(extent), step(inner);
    const Index position = (number / (n * step)) * (n * step) + (number % n) * step +
                           (number / n) % step;
    return Tensor<A>(block_sum(gather<A>(a.array(), position), extent), shape);
}
template <typename A> Tensor<A> sum(const Tensor<A> &a) {
    return Tensor<A>(sum(a.array()), std::vector<size_t>());
}

} /* namespace drjit */

#endif /* DRJIT_TENSOR_H */
