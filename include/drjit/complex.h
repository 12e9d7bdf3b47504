/*
 * drjit/complex.h -- complex numbers over arrays (C++17, header only)
 *
 * Complex<T> is a + b i with parts of type T: arrays of the JIT, nested arrays,
 * numbers.
 */
#ifndef DRJIT_COMPLEX_H
#define DRJIT_COMPLEX_H

#include <drjit/array.h>

namespace drjit {

template <typename T> struct Complex;
namespace detail {
template <typename T> inline constexpr bool is_special<Complex<T>> = true;
} /* namespace detail */

/** A complex number; real numbers convert to it. */
template <typename T> struct Complex {
    using Value = T;
    static constexpr size_t Size = 2;

    Complex() = default;
    template <typename S, detail::if_converts<S, T> = 0>
    Complex(const S &re) : m_re(re), m_im(scalar_t<T>(0)) { }
    Complex(const T &re, const T &im) : m_re(re), m_im(im) { }

    /** Real and imaginary part; entries 0 and 1. */
    T &real() { return m_re; }
    const T &real() const { return m_re; }
    T &imag() { return m_im; }
    const T &imag() const { return m_im; }
    T &operator[](size_t i) { return i ? m_im : m_re; }
    const T &operator[](size_t i) const { return i ? m_im : m_re; }

    friend Complex operator+(const Complex &a, const Complex &b) {
        return { a.m_re + b.m_re, a.m_im + b.m_im };
    }
    friend Complex operator-(const Complex &a, const Complex &b) {
        return { a.m_re - b.m_re, a.m_im - b.m_im };
    }
    friend Complex operator-(const Complex &a) { return { -a.m_re, -a.m_im }; }
    friend Complex operator*(const Complex &a, const Complex &b) {
        return { a.m_re * b.m_re - a.m_im * b.m_im,
                 a.m_re * b.m_im + a.m_im * b.m_re };
    }
    /** Division by 0 gives infinities and NaN, as of its parts. */
    friend Complex operator/(const Complex &a, const Complex &b) {
        return a * rcp(b);
    }
    Complex &operator+=(const Complex &b) { return *this = *this + b; }
    Complex &operator-=(const Complex &b) { return *this = *this - b; }
    Complex &operator*=(const Complex &b) { return *this = *this * b; }
    Complex &operator/=(const Complex &b) { return *this = *this / b; }

    /** Equal in both parts. */
    friend auto operator==(const Complex &a, const Complex &b) {
        return mask_t<T>(a.m_re == b.m_re) && mask_t<T>(a.m_im == b.m_im);
    }
    friend auto operator!=(const Complex &a, const Complex &b) {
        return mask_t<T>(a.m_re != b.m_re) || mask_t<T>(a.m_im != b.m_im);
    }

    auto fields() { return std::tie(m_re, m_im); }

    friend std::ostream &operator<<(std::ostream &stream, const Complex &a) {
        return stream << Array<T, 2>(a.m_re, a.m_im);
    }

private:
    T m_re{}, m_im{};
};

template <typename T> Complex<T> conj(const Complex<T> &a) {
    return { a.real(), -a.imag() };
}
template <typename T> T real(const Complex<T> &a) { return a.real(); }
template <typename T> T imag(const Complex<T> &a) { return a.imag(); }
template <typename T> T squared_norm(const Complex<T> &a) {
    return a.real() * a.real() + a.imag() * a.imag();
}
template <typename T> Complex<T> rcp(const Complex<T> &a) {
    const T scale = scalar_t<T>(1) / squared_norm(a);
    return { a.real() * scale, -a.imag() * scale };
}

/** Magnitude, by two names, and angle. */
template <typename T> T abs(const Complex<T> &a) { return hypot(a.real(), a.imag()); }
template <typename T> T norm(const Complex<T> &a) { return abs(a); }
template <typename T> T arg(const Complex<T> &a) { return atan2(a.imag(), a.real()); }

/** Functions with their usual branch cuts, along the negative real axis. */
template <typename T> Complex<T> exp(const Complex<T> &a) {
    const T size = exp(a.real());
    return { size * cos(a.imag()), size * sin(a.imag()) };
}
template <typename T> Complex<T> log(const Complex<T> &a) {
    return { log(abs(a)), arg(a) };
}
template <typename T> Complex<T> sqrt(const Complex<T> &a) {
    const scalar_t<T> half_of(.5f), zero(0);
    const T size = abs(a);
    const T re = sqrt(maximum(T((size + a.real()) * half_of), T(zero)));
    const T im = sqrt(maximum(T((size - a.real()) * half_of), T(zero)));
    return { re, copysign(im, a.imag()) };
}
template <typename T>
Complex<T> pow(const Complex<T> &a, const detail::same<Complex<T>> &b) {
    return exp(b * log(a));
}

} /* namespace drjit */

#endif /* DRJIT_COMPLEX_H */
