/*
 * drjit/array.h -- arrays of a fixed number of arrays: vectors of an entry (C++17)
 *
 * Array<T, N> has N components of type T: arrays of the JIT, nested arrays, or numbers.
 * Operators and functions work component by component; T, and what converts to it, is
 * the same for all components. Reductions (sum, dot, norm, all, ...) combine
 * components.
 *
 *     using Float   = LLVMArray<float>;
 *     using Array3f = Array<Float, 3>;
 *     Array3f v(1, 2, arange<Float>(10));
 *     Float length = norm(v);
 */
#ifndef DRJIT_ARRAY_H
#define DRJIT_ARRAY_H

#include <drjit-core/array.h>
#include <drjit/math.h>

#include <sstream>

namespace drjit {

/* Matrix, Complex, ... say that they are no components to broadcast. */
namespace detail {
template <typename A> inline constexpr bool is_special = false;
template <typename S, typename T>
using if_converts = std::enable_if_t<std::is_convertible_v<const S &, T>, int>;
} /* namespace detail */

/** N components of type T; see the head of this file. Errors of operations are those
 *  of the components. */
template <typename T, size_t N> struct Array {
    static_assert(N > 0, "Array: there are no arrays without components");
    static constexpr size_t Size = N;
    using Value = T;                     /**< type of components */
    using value_type = T;                /**< the same */
    using Scalar = scalar_t<T>;          /**< type of entries */
    using Mask = Array<mask_t<T>, N>;    /**< what comparisons give */

    /** Components as T() makes them: arrays without a variable, numbers that are 0. */
    Array() = default;

    /** All components are 'value'. */
    template <typename S,
              std::enable_if_t<std::is_convertible_v<const S &, T> &&
                               !detail::is_special<S>, int> = 0>
    Array(const S &value) {
        for (T &component : m_components)
            component = T(value);
    }

    /** One value for each component. */
    template <typename... Ts,
              std::enable_if_t<(N > 1) && sizeof...(Ts) == N &&
                               (std::is_convertible_v<const Ts &, T> && ...), int> = 0>
    Array(const Ts &...values) : m_components{ T(values)... } { }

    /** Components of another type: other entries, or with derivatives. */
    template <typename U,
              std::enable_if_t<!std::is_same_v<T, U> &&
                               !std::is_convertible_v<const Array<U, N> &, T> &&
                               std::is_constructible_v<T, const U &>, int> = 0>
    Array(const Array<U, N> &other) {
        for (size_t i = 0; i < N; ++i)
            m_components[i] = T(other.entry(i));
    }

    /** Number of components. */
    static constexpr size_t size() { return N; }

    /** Component i, which has to be less than N. */
    T &entry(size_t i) { return m_components[i]; }
    const T &entry(size_t i) const { return m_components[i]; }
    T &operator[](size_t i) { return m_components[i]; }
    const T &operator[](size_t i) const { return m_components[i]; }
    T &operator()(size_t i) { return m_components[i]; }
    const T &operator()(size_t i) const { return m_components[i]; }

    /** The first four by name. */
    T &x() { return m_components[0]; }
    const T &x() const { return m_components[0]; }
    T &y() { return at<1>(*this); }
    const T &y() const { return at<1>(*this); }
    T &z() { return at<2>(*this); }
    const T &z() const { return at<2>(*this); }
    T &w() { return at<3>(*this); }
    const T &w() const { return at<3>(*this); }

    T *begin() { return m_components; }
    T *end() { return m_components + N; }
    const T *begin() const { return m_components; }
    const T *end() const { return m_components + N; }

    /** As text, entry by entry: "[[1, 2, 3],\n [4, 5, 6]]" are two entries of three
     *  components. Waits. */
    std::string str() const;

private:
    template <size_t i, typename A> static auto &at(A &array) {
        static_assert(i < N, "Array: there is no such component");
        return array.m_components[i];
    }

    T m_components[N]{};
};

template <typename T, typename... Ts> Array(T, Ts...) -> Array<T, 1 + sizeof...(Ts)>;

/* --------------------------------------------------------------- geometry */

/** Sum of products of components, in fused operations. */
template <typename A, typename B, typename P = detail::common<A, B>,
          detail::if_nested<P> = 0>
value_t<P> dot(const A &a, const B &b) {
    const P x(a), y(b);
    value_t<P> result = x.entry(0) * y.entry(0);
    for (size_t i = 1; i < P::Size; ++i)
        if constexpr (is_array_v<value_t<P>>)
            result = fma(x.entry(i), y.entry(i), result);
        else
            result += x.entry(i) * y.entry(i);
    return result;
}

/** dot(a, a), its root, and a vector of length 1. */
template <typename A, detail::if_nested<A> = 0> value_t<A> squared_norm(const A &a) {
    return dot(a, a);
}
template <typename A, detail::if_nested<A> = 0> value_t<A> norm(const A &a) {
    return sqrt(squared_norm(a));
}
template <typename A, detail::if_nested<A> = 0> A normalize(const A &a) {
    return a * rsqrt(squared_norm(a));
}

/** Cross product of vectors of three components. */
template <typename T> Array<T, 3> cross(const Array<T, 3> &a, const Array<T, 3> &b) {
    return { a.y() * b.z() - a.z() * b.y(), a.z() * b.x() - a.x() * b.z(),
             a.x() * b.y() - a.y() * b.x() };
}

/** Components from 'first' on: head<2>(v), tail<2>(v). */
template <size_t M, typename T, size_t N> Array<T, M> head(const Array<T, N> &a) {
    static_assert(M <= N, "head: there are fewer components");
    Array<T, M> result;
    for (size_t i = 0; i < M; ++i)
        result.entry(i) = a.entry(i);
    return result;
}
template <size_t M, typename T, size_t N> Array<T, M> tail(const Array<T, N> &a) {
    static_assert(M <= N, "tail: there are fewer components");
    Array<T, M> result;
    for (size_t i = 0; i < M; ++i)
        result.entry(i) = a.entry(N - M + i);
    return result;
}

/* ---------------------------------------------------------------- printing */

/** Entry i of every array of a value: Array<float, 3> for Array<LLVMArray<float>, 3>.
 *  Arrays of one entry have it everywhere. Waits. */
template <typename A> auto slice(const A &value, size_t i) {
    if constexpr (detail::is_leaf<A>)
        return value.entry(value.size() == 1 ? 0 : i);
    else if constexpr (detail::is_nested<A>) {
        Array<decltype(slice(value.entry(0), i)), A::Size> result;
        for (size_t k = 0; k < A::Size; ++k)
            result.entry(k) = slice(value.entry(k), i);
        return result;
    } else
        return value;
}

namespace detail {

/* Numbers as %g has them, nested ones in brackets, one line for each of the last but
 * one level. */
template <typename A> void print(std::ostream &out, const A &a, size_t indent) {
    if constexpr (is_nested<A>) {
        out << "[";
        for (size_t i = 0; i < A::Size; ++i) {
            if (i > 0)
                out << (is_nested<value_t<A>> ? ",\n" + std::string(indent + 1, ' ')
                                              : ", ");
            print(out, a.entry(i), indent + 1);
        }
        out << "]";
    } else if constexpr (is_bool<A>)
        out << (a ? "True" : "False");
    else if constexpr (is_float<A>) {
        char text[32];
        std::snprintf(text, sizeof(text), "%g", static_cast<double>(a));
        out << text;
    } else
        out << +a;
}

/* More than 20 entries: the first and the last three. */
template <typename A> std::string text(const A &a) {
    std::ostringstream out;
    if constexpr (!is_jit_v<A>) {
        print(out, a, 0);
    } else {
        const size_t size = width(a);
        visit(a, [](auto &leaf) { leaf.schedule(); });
        jit_eval();
        out << "[";
        for (size_t i = 0; i < size; ++i) {
            if (size > 20 && i == 3) {
                out << ",\n .. " << size - 6 << " skipped ..";
                i = size - 3;
            }
            out << (i > 0 ? ",\n " : "");
            print(out, slice(a, i), 1);
        }
        out << "]";
    }
    return out.str();
}

} /* namespace detail */

template <typename T, size_t N> std::string Array<T, N>::str() const {
    return detail::text(*this);
}

/** Write an array as text. Waits. */
template <typename T, size_t N>
std::ostream &operator<<(std::ostream &stream, const Array<T, N> &a) {
    return stream << a.str();
}

} /* namespace drjit */

using drjit::Array;

#endif /* DRJIT_ARRAY_H */
