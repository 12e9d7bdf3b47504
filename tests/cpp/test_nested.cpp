/*
 * test_nested.cpp -- nested arrays, matrices, complex numbers, quaternions, tensors and
 * random numbers against computations in double precision, lane by lane
 */
#include <drjit/array.h>
#include <drjit/complex.h>
#include <drjit/math.h>
#include <drjit/matrix.h>
#include <drjit/quaternion.h>
#include <drjit/random.h>
#include <drjit/tensor.h>

#include "check.h"

#include <complex>
#include <sstream>

namespace dr = drjit;

using Bool   = LLVMArray<bool>;
using Double = LLVMArray<double>;
using UInt32 = LLVMArray<uint32_t>;
using UInt64 = LLVMArray<uint64_t>;
using Array3 = dr::Array<Double, 3>;

static const size_t n = 40;

/* Numbers between -2 and 2 that have nothing to do with each other. */
static double sample(size_t i, size_t k) {
    const double x = std::sin(double(i) * 12.9898 + double(k) * 78.233) * 43758.5453;
    return 4 * (x - std::floor(x)) - 2;
}

static Double samples(size_t k) {
    std::vector<double> values(n);
    for (size_t i = 0; i < n; ++i)
        values[i] = sample(i, k);
    return load<Double>(values.data(), n);
}

template <typename A> static std::string text(const A &a) {
    std::ostringstream out;
    out << a;
    return out.str();
}

static void test_arithmetic() {
    current = "arrays: arithmetic";
    const Array3 a(samples(0), samples(1), samples(2));
    const Array3 b(samples(3), 2, samples(4));
    const Double s = samples(5);
    const auto A = [](size_t i, size_t k) { return sample(i, k); };
    const auto B = [](size_t i, size_t k) {
        return k == 1 ? 2. : sample(i, k ? 4 : 3);
    };
    for (size_t k = 0; k < 3; ++k) {
        const auto is = [&](const Array3 &found, auto expected) {
            return near(found[k], n, 1e-14,
                        [&](size_t i) { return expected(A(i, k), B(i, k)); });
        };
        CHECK(is(a + b, [](double x, double y) { return x + y; }));
        CHECK(is(a - b, [](double x, double y) { return x - y; }));
        CHECK(is(a * b, [](double x, double y) { return x * y; }));
        CHECK(is(a / b, [](double x, double y) { return x / y; }));
        CHECK(is(-a, [](double x, double) { return -x; }));
        CHECK(is(3 - a, [](double x, double) { return 3 - x; }));
        CHECK(is(dr::fma(a, b, 1.), [](double x, double y) { return x * y + 1; }));
        CHECK(is(dr::minimum(a, b),
                 [](double x, double y) { return std::min(x, y); }));
        CHECK(is(dr::maximum(a, 0), [](double x, double) { return std::max(x, 0.); }));
        CHECK(is(dr::select(a < b, a, 7.),
                 [](double x, double y) { return x < y ? x : 7; }));
        CHECK(is(dr::exp(a), [](double x, double) { return std::exp(x); }));
        CHECK(is(dr::atan2(a, b), [](double x, double y) { return std::atan2(x, y); }));
        CHECK(is(dr::lerp(a, b, .25),
                 [](double x, double y) { return .75 * x + .25 * y; }));
        CHECK(is(dr::clip(a, -1, 1),
                 [](double x, double) { return std::min(std::max(x, -1.), 1.); }));
        CHECK(near((a * s)[k], n, 1e-14,
                   [&](size_t i) { return A(i, k) * sample(i, 5); }));
        CHECK(near((s - a)[k], n, 1e-14,
                   [&](size_t i) { return sample(i, 5) - A(i, k); }));
    }
    Array3 c = a;
    c += b;
    c *= 2;
    c -= s;
    CHECK(near(c.z(), n, 1e-14, [&](size_t i) {
        return 2 * (A(i, 2) + B(i, 2)) - sample(i, 5);
    }));
    c.y() = 5;
    CHECK(near(c(1), 1, 0, [](size_t) { return 5.; }));

    /* Levels go together from the outermost on: row i with component i. */
    using Array2 = dr::Array<Double, 2>;
    const dr::Array<Array2, 2> rows(Array2(1, 2), Array2(3, 4));
    CHECK(text(rows * Array2(10, 100)) == "[[[10, 20],\n  [300, 400]]]");
    /* What has fewer components than rows is the same in each. */
    const dr::Array<Array3, 2> wide(Array3(1, 2, 3), Array3(4, 5, 6));
    CHECK(text(wide + Array3(10, 20, 30)) == "[[[11, 22, 33],\n  [14, 25, 36]]]");
    CHECK(near(dr::count(a > 0.), n, 0, [&](size_t i) {
        return (A(i, 0) > 0) + (A(i, 1) > 0) + (A(i, 2) > 0);
    }));
    CHECK(near(all(a > -1.), n, 0, [&](size_t i) {
        return A(i, 0) > -1 && A(i, 1) > -1 && A(i, 2) > -1;
    }));
    CHECK(dr::any_nested(a > 1.) && !dr::all_nested(a > 1.) && dr::none_nested(a > 3.));
    CHECK(dr::any_nested(dr::isnan(dr::sqrt(a))) && dr::all_nested(dr::isfinite(a)));
    CHECK(dr::any_nested(dr::isinf(a / 0.)) && !dr::any_nested(dr::isnan(a / 0.)));
}

static void test_geometry() {
    current = "arrays: geometry";
    const Array3 a(samples(0), samples(1), samples(2)), b(samples(3), samples(4), 1);
    const auto A = [](size_t i, size_t k) { return sample(i, k); };
    const auto B = [](size_t i, size_t k) { return k < 2 ? sample(i, 3 + k) : 1; };
    const auto dot_of = [&](size_t i) {
        return A(i, 0) * B(i, 0) + A(i, 1) * B(i, 1) + A(i, 2) * B(i, 2);
    };
    const auto length = [&](size_t i) {
        return std::sqrt(A(i, 0) * A(i, 0) + A(i, 1) * A(i, 1) + A(i, 2) * A(i, 2));
    };
    CHECK(near(dot(a, b), n, 1e-14, dot_of));
    CHECK(near(dr::norm(a), n, 1e-14, length));
    CHECK(near(dr::squared_norm(a), n, 1e-14,
               [&](size_t i) { return length(i) * length(i); }));
    CHECK(near(sum(a), n, 1e-14,
               [&](size_t i) { return A(i, 0) + A(i, 1) + A(i, 2); }));
    CHECK(near(prod(a), n, 1e-14,
               [&](size_t i) { return A(i, 0) * A(i, 1) * A(i, 2); }));
    CHECK(near(max(a), n, 0,
               [&](size_t i) { return std::max({ A(i, 0), A(i, 1), A(i, 2) }); }));
    CHECK(near(dr::mean(a), n, 1e-14,
               [&](size_t i) { return (A(i, 0) + A(i, 1) + A(i, 2)) / 3; }));
    for (size_t k = 0; k < 3; ++k) {
        CHECK(near(dr::normalize(a)[k], n, 1e-13,
                   [&](size_t i) { return A(i, k) / length(i); }));
        const size_t p = (k + 1) % 3, q = (k + 2) % 3;
        CHECK(near(cross(a, b)[k], n, 1e-13, [&](size_t i) {
            return A(i, p) * B(i, q) - A(i, q) * B(i, p);
        }));
    }
    CHECK(near(dr::tail<2>(a).x(), n, 0, [&](size_t i) { return A(i, 1); }));
    CHECK(near(dr::head<2>(a).y(), n, 0, [&](size_t i) { return A(i, 1); }));

    /* Of numbers. */
    const dr::Array<double, 3> u(1., 2., 2.), v(0., 1., 0.);
    CHECK(dr::norm(u) == 3. && dot(u, v) == 2. && sum(u * 2) == 10. && max(u) == 2.);
    CHECK(cross(u, v)[0] == -2. && (u > 1.5)[1] && !dr::all_nested(u > 1.5));
    CHECK(dr::sqrt(2.) == std::sqrt(2.) && dr::maximum(1, 3) == 3);
    CHECK(text(u) == "[1, 2, 2]");
}

static void test_memory() {
    current = "arrays: memory";
    CHECK(text(Array3(1, Double(2, 3), 4)) == "[[1, 2, 4],\n [1, 3, 4]]");
    CHECK(text(dr::zeros<Array3>(30)).find(" .. 24 skipped ..") != std::string::npos);
    CHECK(dr::width(Array3(1, Double(2, 3), 4)) == 2);
    const auto entry = dr::slice(Array3(1, Double(2, 3), 4), 1);
    CHECK(entry[0] == 1 && entry[1] == 3 && entry[2] == 4);

    /* Components side by side in one array, and one by one. */
    const Double packed = arange<Double>(12);
    const Array3 read = dr::gather<Array3>(packed, UInt32(3, 1));
    CHECK(text(read) == "[[9, 10, 11],\n [3, 4, 5]]");
    const Array3 again = dr::gather<Array3>(read, UInt32(1, 1, 0),
                                            Bool(UInt32(1, 0, 1)));
    CHECK(text(again) == "[[3, 4, 5],\n [0, 0, 0],\n [9, 10, 11]]");
    Double target = zeros<Double>(6);
    dr::scatter(target, read, UInt32(1, 0));
    CHECK(target.str() == "[3, 4, 5, 9, 10, 11]");
    dr::scatter_add(target, Array3(1, 2, 3), UInt32(0, 0));
    CHECK(target.str() == "[5, 8, 11, 9, 10, 11]");
    Array3 parts = dr::zeros<Array3>(2);
    dr::scatter_reduce(ReduceOp::Add, parts, Array3(1, 2, 3), UInt32(1, 1, 1));
    CHECK(text(parts) == "[[0, 0, 0],\n [3, 6, 9]]");

    Array3 lazy = read * 2;
    CHECK(dr::schedule(lazy));
    dr::eval(lazy);
    CHECK(jit_var_state(lazy.x().index()) == VarState::Evaluated);
    const auto [x, y] = dr::meshgrid(Double(1, 2), Double(5, 6, 7));
    CHECK(x.str() == "[1, 2, 1, 2, 1, 2]" && y.str() == "[5, 5, 6, 6, 7, 7]");
}

static void test_matrix() {
    current = "matrices";
    using Matrix3 = dr::Matrix<Double, 3>;
    Matrix3 a, b;
    for (size_t i = 0; i < 3; ++i)
        for (size_t k = 0; k < 3; ++k) {
            a(i, k) = samples(3 * i + k);
            b(i, k) = samples(9 + 3 * i + k);
        }
    const auto A = [](size_t l, size_t i, size_t k) { return sample(l, 3 * i + k); };
    const auto B = [](size_t l, size_t i, size_t k) {
        return sample(l, 9 + 3 * i + k);
    };
    const Array3 v(samples(20), samples(21), 1);
    for (size_t i = 0; i < 3; ++i) {
        for (size_t k = 0; k < 3; ++k) {
            CHECK(near((a * b)(i, k), n, 1e-13, [&](size_t l) {
                return A(l, i, 0) * B(l, 0, k) + A(l, i, 1) * B(l, 1, k) +
                       A(l, i, 2) * B(l, 2, k);
            }));
            CHECK(near((a + 2 * b)(i, k), n, 1e-13,
                       [&](size_t l) { return A(l, i, k) + 2 * B(l, i, k); }));
            CHECK(near(transpose(a)(i, k), n, 0,
                       [&](size_t l) { return A(l, k, i); }));
            /* The inverse is what gives the identity, up to its condition. */
            CHECK(near((inverse(a) * a)(i, k), n, 1e-10,
                       [&](size_t) { return double(i == k); }));
        }
        CHECK(near((a * v)[i], n, 1e-13, [&](size_t l) {
            return A(l, i, 0) * sample(l, 20) + A(l, i, 1) * sample(l, 21) +
                   A(l, i, 2);
        }));
    }
    const auto minor = [&](size_t l, size_t p, size_t q) {
        return A(l, 1, p) * A(l, 2, q) - A(l, 1, q) * A(l, 2, p);
    };
    CHECK(near(det(a), n, 1e-12, [&](size_t l) {
        return A(l, 0, 0) * minor(l, 1, 2) - A(l, 0, 1) * minor(l, 0, 2) +
               A(l, 0, 2) * minor(l, 0, 1);
    }));
    CHECK(near(trace(a), n, 1e-14,
               [&](size_t l) { return A(l, 0, 0) + A(l, 1, 1) + A(l, 2, 2); }));
    /* A pivot of 0 is no obstacle. */
    const dr::Matrix<double, 2> swap(0., 1., 1., 0.);
    CHECK(det(swap) == -1. && inverse(swap)(0, 1) == 1. && inverse(swap)(0, 0) == 0.);
    CHECK(dr::det(dr::transpose(swap)) == -1. && dr::trace(swap) == 0);
    CHECK(dr::inverse(swap)(1, 0) == 1. && dr::squared_norm(swap) == 2.);
    CHECK(text(dr::identity<dr::Matrix<double, 2>>()) == "[[1, 0],\n [0, 1]]");
}

static void test_complex() {
    current = "complex numbers";
    using Complex = dr::Complex<Double>;
    using C = std::complex<double>;
    const Complex a(samples(0), samples(1)), b(samples(2), samples(3));
    const auto is = [&](const Complex &found, auto expected) {
        const auto at = [&](size_t i) {
            return C(expected(C(sample(i, 0), sample(i, 1)),
                              C(sample(i, 2), sample(i, 3))));
        };
        return near(found.real(), n, 1e-12, [&](size_t i) { return at(i).real(); }) &&
               near(found.imag(), n, 1e-12, [&](size_t i) { return at(i).imag(); });
    };
    CHECK(is(a + b, [](C x, C y) { return x + y; }));
    CHECK(is(a - 2, [](C x, C) { return x - 2.; }));
    CHECK(is(a * b, [](C x, C y) { return x * y; }));
    CHECK(is(a / b, [](C x, C y) { return x / y; }));
    CHECK(is(conj(a), [](C x, C) { return std::conj(x); }));
    CHECK(is(exp(a), [](C x, C) { return std::exp(x); }));
    CHECK(is(log(a), [](C x, C) { return std::log(x); }));
    CHECK(is(sqrt(a), [](C x, C) { return std::sqrt(x); }));
    CHECK(is(pow(a, b), [](C x, C y) { return std::pow(x, y); }));
    CHECK(near(abs(a), n, 1e-14,
               [](size_t i) { return std::hypot(sample(i, 0), sample(i, 1)); }));
    CHECK(near(arg(a), n, 1e-14,
               [](size_t i) { return std::atan2(sample(i, 1), sample(i, 0)); }));
    CHECK(text(Complex(1, 2)) == "[[1, 2]]");
    CHECK(all(a == a) && all(a != b));

    /* Also by their full names, and with numbers. */
    CHECK(is(dr::exp(dr::conj(a)), [](C x, C) { return std::exp(std::conj(x)); }));
    CHECK(is(dr::pow(a, 2.), [](C x, C) { return std::pow(x, 2.); }));
    CHECK(near(dr::squared_norm(a) - dr::real(a) * dr::real(a), n, 1e-13,
               [](size_t i) { return sample(i, 1) * sample(i, 1); }));
    const dr::Complex<double> z(3, -4);
    CHECK(dr::abs(z) == 5 && dr::sqrt(z).real() == 2 && dr::sqrt(z).imag() == -1);
}

static void test_quaternion() {
    current = "quaternions";
    using Quaternion = dr::Quaternion<Double>;
    const Array3 axis = dr::normalize(Array3(1, 2, -2)), v(samples(0), samples(1), 1);
    const Double angle = samples(2);
    const Quaternion q = dr::rotate<Quaternion>(axis, angle);
    /* The formula of Rodrigues. */
    const double a[] = { 1 / 3., 2 / 3., -2 / 3. };
    const auto rotated = [&](size_t i, size_t k) {
        const double x[] = { sample(i, 0), sample(i, 1), 1 };
        const double c = std::cos(sample(i, 2)), s = std::sin(sample(i, 2));
        const size_t p = (k + 1) % 3, r = (k + 2) % 3;
        return x[k] * c + (a[p] * x[r] - a[r] * x[p]) * s +
               a[k] * (a[0] * x[0] + a[1] * x[1] + a[2] * x[2]) * (1 - c);
    };
    for (size_t k = 0; k < 3; ++k) {
        CHECK(near(transform(q, v)[k], n, 1e-13,
                   [&](size_t i) { return rotated(i, k); }));
        CHECK(near((quat_to_matrix(q) * v)[k], n, 1e-13,
                   [&](size_t i) { return rotated(i, k); }));
        CHECK(near(imag(q * Quaternion(v, 0) * rcp(q))[k], n, 1e-13,
                   [&](size_t i) { return rotated(i, k); }));
    }
    CHECK(near(norm(q), n, 1e-14, [](size_t) { return 1.; }));
    CHECK(near(real(q / q), n, 1e-14, [](size_t) { return 1.; }));
    const dr::Quaternion<double> p(1, 2, 4, 10);
    CHECK(dr::norm(p) == 11 && dr::squared_norm(dr::conj(p)) == 121);
    CHECK(dr::dot(p, dr::conj(p)) == 100 - 21 && dr::imag(p)[2] == 4);
    CHECK(std::fabs(dr::norm(dr::normalize(p)) - 1) < 1e-15);
}

static void test_tensor() {
    current = "tensors";
    using Tensor = dr::Tensor<Double>;
    const Tensor t(arange<Double>(24), { 2, 3, 4 });
    CHECK(t.ndim() == 3 && t.shape(1) == 3 && t.size() == 24);
    const Tensor column(Double(10, 20, 30), { 3, 1 });
    CHECK(near((t * column + 1).array(), 24, 0,
               [](size_t i) { return double(i) * double(10 * (i / 4 % 3 + 1)) + 1; }));
    CHECK((column + Tensor(Double(1, 2), { 2 })).shape() ==
          (std::vector<size_t>{ 3, 2 }));
    CHECK(near((t > 5.).array(), 24, 0, [](size_t i) { return i > 5; }));
    for (size_t axis = 0; axis < 3; ++axis) {
        const Tensor reduced = sum(t, axis);
        const size_t extents[] = { 2, 3, 4 }, strides[] = { 12, 4, 1 };
        CHECK(near(reduced.array(), 24 / extents[axis], 0, [&](size_t i) {
            const size_t stride = strides[axis], n = extents[axis];
            double total = 0;
            for (size_t k = 0; k < n; ++k)
                total += double(i / stride * stride * n + k * stride + i % stride);
            return total;
        }));
    }
    CHECK(sum(t).array()[0] == 276 && sum(t).ndim() == 0);
    CHECK(near(t.map(dr::sqrt<Double>).array(), 24, 1e-15,
               [](size_t i) { return std::sqrt(double(i)); }));
    CHECK(near(dr::sqrt(dr::abs(-t)).array(), 24, 1e-15,
               [](size_t i) { return std::sqrt(double(i)); }));
    CHECK(dr::exp(t).shape() == t.shape() && dr::sum(t, 1).shape(1) == 4);
    CHECK(throws("axis is 3", [&] { sum(t, 3); }));
    CHECK(text(Tensor(Double(1, 2), { 1, 2 })) == "Tensor(shape=(1, 2), [1, 2])");
    const size_t shape[] = { 4, 6 };
    CHECK(Tensor(arange<Double>(24), 2, shape).shape(0) == 4);
    CHECK(t.reshape({ 6, 4 }).shape(0) == 6);
    CHECK(throws("24 entries", [&] { t.reshape({ 5, 5 }); }));
    CHECK(throws("an axis has 2 entries", [&] { t + Tensor(Double(1, 2), { 2, 1 }); }));
}

/* Objects of a class of the program, as one value. */
template <typename F> struct Particle {
    dr::Array<F, 3> position;
    dr::Complex<F> phase;
    F weight;
    int kind = 7;

    DRJIT_STRUCT(Particle, position, phase, weight, kind)
};

static void test_classes() {
    current = "classes";
    using P = Particle<Double>;
    const P none = dr::zeros<P>(4);
    CHECK(dr::width(none) == 4 && none.position.z().size() == 4 && none.kind == 7);
    CHECK(!any(none.weight != 0.) && !any(none.phase.imag() != 0.));

    P all{ Array3(samples(0), samples(1), samples(2)), { samples(3), samples(4) },
           samples(5), 8 };
    const UInt32 index(7, 0, 39);
    const size_t at[] = { 7, 0, 39 };
    const P some = dr::gather<P>(all, index);
    CHECK(near(some.position.y(), 3, 0, [&](size_t i) { return sample(at[i], 1); }));
    CHECK(near(some.phase.imag(), 3, 0, [&](size_t i) { return sample(at[i], 4); }));
    CHECK(some.kind == 8);

    const P first = dr::select(all.weight < 0., all, dr::zeros<P>());
    CHECK(near(first.position.x(), n, 0, [](size_t i) {
        return sample(i, 5) < 0 ? sample(i, 0) : 0;
    }));
    CHECK(near(first.phase.real(), n, 0, [](size_t i) {
        return sample(i, 5) < 0 ? sample(i, 3) : 0;
    }));
    CHECK(dr::select(false, all, none).kind == 7);

    dr::scatter(all, dr::zeros<P>(3), index, index > 0u);
    CHECK(near(all.position.z(), n, 0, [](size_t i) {
        return i == 7 || i == 39 ? 0 : sample(i, 2);
    }));
    dr::eval(all, some);
    dr::eval();
    CHECK(jit_var_state(all.weight.index()) == VarState::Evaluated);

    static_assert(dr::backend_v<Array3> == JitBackend::LLVM && dr::is_llvm_v<Array3>);
    static_assert(!dr::is_cuda_v<Array3> && dr::backend_v<double> == JitBackend::None);
    static_assert(dr::size_v<Array3> == 3 && dr::size_v<Double> == 1);
}

/* The minimal C library of the paper's author. */
struct Reference {
    uint64_t state = 0, inc = 0;

    Reference(uint64_t initstate, uint64_t initseq) : inc(initseq << 1 | 1) {
        next();
        state += initstate;
        next();
    }
    uint32_t next() {
        const uint64_t old = state;
        state = old * 6364136223846793005ull + inc;
        const uint32_t word = uint32_t(((old >> 18u) ^ old) >> 27u);
        const uint32_t turn = uint32_t(old >> 59u);
        return word >> turn | word << (-turn & 31);
    }
};

static void test_random() {
    current = "random numbers";
    /* What the demonstration program of that library prints for seeds 42 and 54. */
    dr::PCG32<uint32_t> one(1, 42, 54);
    const uint32_t expected[] = { 0xa15c02b7, 0x7b47f409, 0xba1d3330,
                                  0x83d2f293, 0xbfa4784b, 0xcbed606e };
    for (uint32_t word : expected)
        CHECK(one.next_uint32() == word);

    dr::PCG32<UInt32> lanes(n);
    dr::PCG32<Double> sequences(7, arange<Double>(n));
    std::vector<Reference> references, others;
    for (size_t i = 0; i < n; ++i) {
        references.emplace_back(PCG32_DEFAULT_STATE + i, PCG32_DEFAULT_STREAM + i);
        others.emplace_back(7, i);
    }
    const auto next = [&](size_t i) { return references[i].next(); };
    CHECK(near(lanes.next_uint32(), n, 0, next));
    CHECK(near(sequences.next_uint32(), n, 0,
               [&](size_t i) { return others[i].next(); }));
    CHECK(near(lanes.next_float32(), n, 0,
               [&](size_t i) { return (next(i) >> 9) * 0x1p-23; }));
    CHECK(near(lanes.next_float64(), n, 0, [&](size_t i) {
        const uint64_t low = next(i), word = low | uint64_t(next(i)) << 32;
        return double(word >> 12) * 0x1p-52;
    }));
    /* Only some go on. */
    CHECK(near(lanes.next_uint32(arange<UInt32>(n) < 5), n, 0, [&](size_t i) {
        Reference copy = references[i];
        return i < 5 ? next(i) : copy.next();
    }));
    CHECK(near(lanes.next_uint32_bounded(0xc0000000u), n, 0, [&](size_t i) {
        uint32_t word = next(i);
        while (word < 0x40000000u) /* 2^32 mod the bound */
            word = next(i);
        return word % 0xc0000000u;
    }));
    dr::PCG32<UInt32> ahead = lanes;
    ahead.advance(int64_t(3));
    for (int k = 0; k < 3; ++k)
        lanes.next_uint32();
    CHECK(all(ahead.state == lanes.state));
    ahead.advance(int64_t(-3));
    for (int k = 0; k < 3; ++k)
        ahead.next_uint32();
    CHECK(all(ahead.state == lanes.state));
    const UInt64 wide = lanes.next_uint64();
    CHECK(wide.size() == n);
}

static void test_all() {
    test_arithmetic();
    test_geometry();
    test_memory();
    test_matrix();
    test_complex();
    test_quaternion();
    test_tensor();
    test_classes();
    test_random();
}

int main() { return run_tests("test_nested", test_all); }
