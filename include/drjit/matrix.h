/*
 * drjit/matrix.h -- square matrices over arrays (C++17, header only)
 *
 * Matrix<T, N> has N rows of N entries of type T: arrays of the JIT, or numbers.
 * Vectors are Array<T, N>. Arithmetic with * is that of linear algebra.
 */
#ifndef DRJIT_MATRIX_H
#define DRJIT_MATRIX_H

#include <drjit/array.h>

namespace drjit {

template <typename T, size_t N> struct Matrix;
namespace detail {
template <typename T, size_t N> inline constexpr bool is_special<Matrix<T, N>> = true;
} /* namespace detail */

/** N rows of N entries. */
template <typename T, size_t N> struct Matrix {
    static constexpr size_t Size = N;
    using Value = T;
    using Row = Array<T, N>;

    /** No entries yet. */
    Matrix() = default;

    /** A multiple of the identity. */
    template <typename S, detail::if_converts<S, T> = 0>
    Matrix(const S &factor) {
        for (size_t i = 0; i < N; ++i)
            for (size_t k = 0; k < N; ++k)
                entry(i, k) = i == k ? T(factor) : T(scalar_t<T>(0));
    }

    /** All entries, row by row; or the rows. */
    template <typename... Ts,
              std::enable_if_t<sizeof...(Ts) == N * N && (N > 1) &&
                               (std::is_convertible_v<const Ts &, T> && ...), int> = 0>
    Matrix(const Ts &...entries) {
        const T values[] = { T(entries)... };
        for (size_t i = 0; i < N * N; ++i)
            entry(i / N, i % N) = values[i];
    }
    template <typename... Ts,
              std::enable_if_t<sizeof...(Ts) == N && (N > 1) &&
                               (std::is_same_v<Ts, Row> && ...), int> = 0>
    Matrix(const Ts &...rows) : m_rows{ rows... } { }

    /** The entry of row i, column k. */
    T &entry(size_t i, size_t k) { return m_rows[i].entry(k); }
    const T &entry(size_t i, size_t k) const { return m_rows[i].entry(k); }
    T &operator()(size_t i, size_t k) { return entry(i, k); }
    const T &operator()(size_t i, size_t k) const { return entry(i, k); }
    /** Row i. */
    Row &operator[](size_t i) { return m_rows[i]; }
    const Row &operator[](size_t i) const { return m_rows[i]; }

    friend Matrix operator+(const Matrix &a, const Matrix &b) {
        return rows([&](size_t i) -> Row { return a[i] + b[i]; });
    }
    friend Matrix operator-(const Matrix &a, const Matrix &b) {
        return rows([&](size_t i) -> Row { return a[i] - b[i]; });
    }
    friend Matrix operator-(const Matrix &a) {
        return rows([&](size_t i) -> Row { return -a[i]; });
    }

    /** Products: of matrices, with a vector, with a number. */
    friend Matrix operator*(const Matrix &a, const Matrix &b) {
        return rows([&](size_t i) -> Row { return combine(a[i], b); });
    }
    friend Row operator*(const Matrix &a, const Row &b) {
        Row result;
        for (size_t i = 0; i < N; ++i)
            result.entry(i) = dot(a[i], b);
        return result;
    }
    template <typename S, detail::if_converts<S, T> = 0>
    friend Matrix operator*(const Matrix &a, const S &factor) {
        return rows([&](size_t i) -> Row { return a[i] * T(factor); });
    }
    template <typename S, detail::if_converts<S, T> = 0>
    friend Matrix operator*(const S &factor, const Matrix &a) {
        return rows([&](size_t i) -> Row { return a[i] * T(factor); });
    }
    template <typename S, detail::if_converts<S, T> = 0>
    friend Matrix operator/(const Matrix &a, const S &divisor) {
        return rows([&](size_t i) -> Row { return a[i] / T(divisor); });
    }
    template <typename B> Matrix &operator+=(const B &b) { return *this = *this + b; }
    template <typename B> Matrix &operator-=(const B &b) { return *this = *this - b; }
    template <typename B> Matrix &operator*=(const B &b) { return *this = *this * b; }

    /** Make 'left' the identity by steps that do the same to 'right'; the determinant
     *  of 'left' as it was. A step swaps row i with each further one whose entry in
     *  column i is larger, where it is, so that lanes need not agree. */
    static T eliminate(Matrix &left, Matrix &right) {
        T result(scalar_t<T>(1));
        for (size_t i = 0; i < N; ++i) {
            for (size_t k = i + 1; k < N; ++k) {
                const mask_t<T> larger = abs(left(k, i)) > abs(left(i, i));
                exchange(larger, left[i], left[k]);
                exchange(larger, right[i], right[k]);
                result = select(larger, T(-result), result);
            }
            result = result * left(i, i);
            const Row scale(T(scalar_t<T>(1) / left(i, i)));
            left[i] = left[i] * scale;
            right[i] = right[i] * scale;
            for (size_t k = 0; k < N; ++k)
                if (k != i) {
                    const Row factor(T(-left(k, i)));
                    left[k] = fma(left[i], factor, left[k]);
                    right[k] = fma(right[i], factor, right[k]);
                }
        }
        return result;
    }

    auto fields() { return std::tie(m_rows); }

    friend std::ostream &operator<<(std::ostream &stream, const Matrix &a) {
        return stream << a.m_rows;
    }

private:
    template <typename Function> static Matrix rows(Function row) {
        Matrix result;
        for (size_t i = 0; i < N; ++i)
            result.m_rows.entry(i) = row(i);
        return result;
    }

    /* The rows of b, multiplied by factors and added up. */
    static Row combine(const Row &factors, const Matrix &b) {
        Row result = b[0] * factors.entry(0);
        for (size_t k = 1; k < N; ++k)
            result = fma(b[k], Row(factors.entry(k)), result);
        return result;
    }

    static void exchange(const mask_t<T> &where, Row &a, Row &b) {
        for (size_t k = 0; k < N; ++k) {
            const T first = a.entry(k);
            a.entry(k) = select(where, b.entry(k), first);
            b.entry(k) = select(where, first, b.entry(k));
        }
    }

    Array<Row, N> m_rows;
};

template <typename T, size_t N> Matrix<T, N> transpose(const Matrix<T, N> &a) {
    Matrix<T, N> result;
    for (size_t i = 0; i < N; ++i)
        for (size_t k = 0; k < N; ++k)
            result(i, k) = a(k, i);
    return result;
}

/** The diagonal, and its sum. */
template <typename T, size_t N> Array<T, N> diag(const Matrix<T, N> &a) {
    Array<T, N> result;
    for (size_t i = 0; i < N; ++i)
        result.entry(i) = a(i, i);
    return result;
}
template <typename T, size_t N> T trace(const Matrix<T, N> &a) { return sum(diag(a)); }

/** Sum of the squares of all entries. */
template <typename T, size_t N> T squared_norm(const Matrix<T, N> &a) {
    Array<T, N> sums;
    for (size_t i = 0; i < N; ++i)
        sums.entry(i) = squared_norm(a[i]);
    return sum(sums);
}

/** The inverse, and the determinant, by elimination with the larger of the entries of a
 *  column as pivot in each lane. A singular matrix gives infinities and NaN, and the
 *  determinant 0. */
template <typename T, size_t N> Matrix<T, N> inverse(const Matrix<T, N> &a) {
    Matrix<T, N> left(a), right(scalar_t<T>(1));
    Matrix<T, N>::eliminate(left, right);
    return right;
}
template <typename T, size_t N> T det(const Matrix<T, N> &a) {
    Matrix<T, N> left(a), right(scalar_t<T>(1));
    return Matrix<T, N>::eliminate(left, right);
}
template <typename T, size_t N> Matrix<T, N> inverse_transpose(const Matrix<T, N> &a) {
    return transpose(inverse(a));
}

/** The identity of a type: identity<Matrix<Float, 3>>(). */
template <typename M> M identity() { return M(1); }

} /* namespace drjit */

#endif /* DRJIT_MATRIX_H */
