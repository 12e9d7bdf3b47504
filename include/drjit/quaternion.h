/*
 * drjit/quaternion.h -- quaternions over arrays (C++17, header only)
 *
 * Quaternion<T> is x i + y j + z k + w with parts of type T. Those of length 1 are
 * rotations of vectors with three components.
 */
#ifndef DRJIT_QUATERNION_H
#define DRJIT_QUATERNION_H

#include <drjit/matrix.h>

namespace drjit {

template <typename T> struct Quaternion;
namespace detail {
template <typename T> inline constexpr bool is_special<Quaternion<T>> = true;
} /* namespace detail */

/** A quaternion; real numbers convert to it. */
template <typename T> struct Quaternion {
    using Value = T;
    using Vector = Array<T, 3>;
    static constexpr size_t Size = 4;

    Quaternion() = default;
    template <typename S, detail::if_converts<S, T> = 0>
    Quaternion(const S &real) : m_parts(scalar_t<T>(0)) { m_parts.w() = T(real); }
    Quaternion(const T &x, const T &y, const T &z, const T &w) : m_parts(x, y, z, w) { }
    Quaternion(const Vector &imaginary, const T &real)
        : m_parts(imaginary.x(), imaginary.y(), imaginary.z(), real) { }

    explicit Quaternion(const Array<T, 4> &parts) : m_parts(parts) { }

    T &x() { return m_parts.x(); }
    const T &x() const { return m_parts.x(); }
    T &y() { return m_parts.y(); }
    const T &y() const { return m_parts.y(); }
    T &z() { return m_parts.z(); }
    const T &z() const { return m_parts.z(); }
    T &w() { return m_parts.w(); }
    const T &w() const { return m_parts.w(); }
    T &operator[](size_t i) { return m_parts[i]; }
    const T &operator[](size_t i) const { return m_parts[i]; }

    /** All four, x first. */
    const Array<T, 4> &parts() const { return m_parts; }

    friend Quaternion operator+(const Quaternion &a, const Quaternion &b) {
        return Quaternion(a.m_parts + b.m_parts);
    }
    friend Quaternion operator-(const Quaternion &a, const Quaternion &b) {
        return Quaternion(a.m_parts - b.m_parts);
    }
    friend Quaternion operator-(const Quaternion &a) {
        return Quaternion(-a.m_parts);
    }
    /** The product of Hamilton: a * b rotates by b first. */
    friend Quaternion operator*(const Quaternion &a, const Quaternion &b) {
        const Vector u = imag(a), v = imag(b);
        return { Vector(cross(u, v) + u * b.w() + v * a.w()),
                 T(a.w() * b.w() - dot(u, v)) };
    }
    friend Quaternion operator/(const Quaternion &a, const Quaternion &b) {
        return a * rcp(b);
    }
    Quaternion &operator*=(const Quaternion &b) { return *this = *this * b; }

    auto fields() { return std::tie(m_parts); }

    friend std::ostream &operator<<(std::ostream &stream, const Quaternion &a) {
        return stream << a.m_parts;
    }

private:
    Array<T, 4> m_parts;
};

/** The real part; the imaginary ones; the conjugate, whose imaginary parts have the
 *  opposite sign; the inverse. */
template <typename T> T real(const Quaternion<T> &a) { return a.w(); }
template <typename T> Array<T, 3> imag(const Quaternion<T> &a) {
    return head<3>(a.parts());
}
template <typename T> Quaternion<T> conj(const Quaternion<T> &a) {
    return { Array<T, 3>(-imag(a)), a.w() };
}
template <typename T> Quaternion<T> rcp(const Quaternion<T> &a) {
    return Quaternion<T>(conj(a).parts() / squared_norm(a));
}

/** Of the vector of four parts. */
template <typename T>
T dot(const Quaternion<T> &a, const detail::same<Quaternion<T>> &b) {
    return dot(a.parts(), b.parts());
}
template <typename T> T squared_norm(const Quaternion<T> &a) {
    return squared_norm(a.parts());
}
template <typename T> T norm(const Quaternion<T> &a) { return norm(a.parts()); }
template <typename T> T abs(const Quaternion<T> &a) { return norm(a.parts()); }
template <typename T> Quaternion<T> normalize(const Quaternion<T> &a) {
    return Quaternion<T>(normalize(a.parts()));
}

/** The rotation by an angle in radians around an axis of length 1. */
template <typename Q>
Q rotate(const Array<value_t<Array<typename Q::Value, 1>>, 3> &axis,
         const typename Q::Value &angle) {
    using T = typename Q::Value;
    const T half_of(angle * scalar_t<T>(.5f));
    return Q(Array<T, 3>(axis * sin(half_of)), T(cos(half_of)));
}

/** The vector, rotated by a quaternion of length 1. */
template <typename T>
Array<T, 3> transform(const Quaternion<T> &q, const Array<T, 3> &v) {
    const Array<T, 3> u = imag(q), t = cross(u, v) * T(scalar_t<T>(2));
    return v + t * q.w() + cross(u, t);
}

/** The rotation as a matrix. */
template <typename T> Matrix<T, 3> quat_to_matrix(const Quaternion<T> &q) {
    Matrix<T, 3> result;
    for (size_t k = 0; k < 3; ++k) {
        Array<T, 3> unit(scalar_t<T>(0));
        unit.entry(k) = T(scalar_t<T>(1));
        const Array<T, 3> column = transform(q, unit);
        for (size_t i = 0; i < 3; ++i)
            result(i, k) = column.entry(i);
    }
    return result;
}

} /* namespace drjit */

#endif /* DRJIT_QUATERNION_H */
