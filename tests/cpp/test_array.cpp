/*
 * test_array.cpp -- every function of array.h against the C++ standard library
 *
 * References are computed entry by entry with std:: functions or by loops written out
 * here. Floats are compared bit for bit unless a comment says why not. The program
 * prints what failed and returns the number of failures, at most 125.
 */
#include <drjit-core/array.h>
#include <drjit-core/cuda.h>
#include <drjit-core/llvm.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>

using Bool   = LLVMArray<bool>;
using Half   = LLVMArray<jit::half>;
using Float  = LLVMArray<float>;
using Double = LLVMArray<double>;
using Int8   = LLVMArray<int8_t>;
using UInt8  = LLVMArray<uint8_t>;
using Int16  = LLVMArray<int16_t>;
using UInt16 = LLVMArray<uint16_t>;
using Int32  = LLVMArray<int32_t>;
using UInt32 = LLVMArray<uint32_t>;
using Int64  = LLVMArray<int64_t>;
using UInt64 = LLVMArray<uint64_t>;

static int failures = 0;
static const char *current = "";

#define CHECK(condition)                                                           \
    ((condition) ? (void) 0                                                        \
                 : (void) (++failures, fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, \
                                               __LINE__, current, #condition)))

template <typename Function> static bool throws(JitError code, Function function) {
    try {
        function();
    } catch (const jit::Error &error) {
        return error.code() == code && error.what()[0] != '\0';
    }
    return false;
}

/* Same value: equal with the same sign of zero, or both NaN. */
template <typename T> static bool same(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(a) || std::isnan(b))
            return std::isnan(a) && std::isnan(b);
        return a == b && std::signbit(a) == std::signbit(b);
    } else if constexpr (std::is_same_v<T, jit::half>) {
        return same<float>(a, b);
    } else {
        return a == b;
    }
}

/* Compare an array with a function of the position. */
template <typename A, typename Function>
static bool match(const A &array, size_t size, Function reference) {
    if (array.size() != size) {
        fprintf(stderr, "  size %zu instead of %zu\n", array.size(), size);
        return false;
    }
    const auto values = array.to_vector();
    for (size_t i = 0; i < size; ++i) {
        const typename A::value_type expected = reference(i), found = values[i];
        if (!same<typename A::value_type>(expected, found)) {
            fprintf(stderr, "  entry %zu is %.17g instead of %.17g\n", i,
                    static_cast<double>(found), static_cast<double>(expected));
            return false;
        }
    }
    return true;
}

/* A small generator of test values with the extreme ones among them. */
static uint64_t random_state = 88172645463325252ull;

static uint64_t random_bits() {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

template <typename T> static std::vector<T> samples(size_t count) {
    using Limits = std::numeric_limits<T>;
    std::vector<T> values;
    if constexpr (std::is_floating_point_v<T>) {
        values = { T(0), -T(0), T(1), T(-1), T(.5), T(1.5), T(-2.5), Limits::infinity(),
                   -Limits::infinity(), Limits::quiet_NaN(), Limits::max(),
                   Limits::denorm_min(), Limits::min() };
        while (values.size() < count)
            values.push_back(T(static_cast<double>(int64_t(random_bits())) * 0x1p-55));
    } else {
        values = { T(0), T(1), T(2), T(-1), Limits::max(), Limits::min(), T(7) };
        while (values.size() < count)
            values.push_back(T(random_bits() >> (random_bits() % 48)));
    }
    return values;
}

template <typename A>
static A load_vector(const std::vector<typename A::value_type> &v) {
    return load<A>(v.data(), v.size());
}

/* ------------------------------------------------------------------- parts */

static void test_half() {
    current = "half";
    /* Every half survives the way to float and back; NaNs stay NaNs. */
    for (uint32_t bits = 0; bits < 65536; ++bits) {
        const jit::half value = jit::half::from_bits(uint16_t(bits));
        const float wide = value;
        if (std::isnan(wide))
            CHECK((bits & 0x7c00) == 0x7c00 && (bits & 0x3ff) != 0);
        else
            CHECK(jit::half(wide).bits == bits);
    }
    /* Neighbours a < b: all below the middle rounds to a, above to b, the tie to
     * even. */
    for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
        const float a = jit::half::from_bits(uint16_t(bits));
        const float b = jit::half::from_bits(uint16_t(bits + 1));
        const double middle = (double(a) + double(b)) / 2;
        CHECK(jit::half(middle).bits == bits + (bits & 1));
        CHECK(jit::half(std::nextafter(middle, 0.)).bits == bits);
        CHECK(jit::half(std::nextafter(middle, 1e9)).bits == bits + 1);
        CHECK(jit::half(-middle).bits == (0x8000 | (bits + (bits & 1))));
    }
    CHECK(float(jit::half(1)) == 1.f && jit::half(1).bits == 0x3c00);
    CHECK(jit::half(65504).bits == 0x7bff && jit::half(65519.f).bits == 0x7bff);
    CHECK(jit::half(65520).bits == 0x7c00 && jit::half(-1e300).bits == 0xfc00);
}

static void test_life() {
    current = "life";
    Float none_yet;
    CHECK(none_yet.size() == 0 && none_yet.index() == 0);
    CHECK(throws(JIT_ERROR_ARGUMENT, [&] { none_yet + 1.f; }));

    Float a(1, 2, 3), b = a, c;
    CHECK(a.index() == b.index() && jit_var_ref(a.index()) == 2);
    c = std::move(b);
    CHECK(b.index() == 0 && jit_var_ref(a.index()) == 2);
    const Float &alias = c;
    c = alias;
    CHECK(c.index() == a.index() && jit_var_ref(a.index()) == 2);
    c.swap(b);
    CHECK(c.index() == 0 && b.index() == a.index());

    const uint32_t index = b.release();
    CHECK(index == a.index() && jit_var_ref(index) == 2);
    Float d = Float::steal(index), e = Float::borrow(index);
    CHECK(jit_var_ref(index) == 3);
    CHECK(throws(JIT_ERROR_ARGUMENT, [] { Float::borrow(0xfffffff0u); }));

    e.set_entry(1, 20.f);
    CHECK(e[0] == 1.f && e[1] == 20.f && e[2] == 3.f && a.entry(1) == 2.f);

    d.set_label("distance");
    CHECK(std::string(d.label()) == "distance");

    const Float literal = 4.f;
    CHECK(*literal.data() == 4.f && literal.size() == 1);
    Float sum_ab = a + d;
    sum_ab.eval();
    CHECK(jit_var_state(sum_ab.index()) == VarStateEvaluated);
    CHECK(!sum_ab.schedule());
    Float x = a * 2.f, y = a * 3.f;
    CHECK(jit::schedule(x, y));
    eval(x, y);
    CHECK(jit_var_state(x.index()) == VarStateEvaluated);
    CHECK(jit_var_state(y.index()) == VarStateEvaluated);

    CHECK(std::string((a + .5f).str()) == "[1.5, 2.5, 3.5]");
    CHECK(throws(JIT_ERROR_ARGUMENT, [&] { a + Float(1, 2); }));
    a += Float(1, 1, 1);
    CHECK(a[2] == 4.f);
}

static void test_creation() {
    current = "creation";
    CHECK(match(zeros<Int16>(5), 5, [](size_t) { return int16_t(0); }));
    CHECK(match(ones<Double>(5), 5, [](size_t) { return 1.; }));
    CHECK(match(full<Float>(2.5, 4), 4, [](size_t) { return 2.5f; }));
    CHECK(match(full<Bool>(true, 4), 4, [](size_t) { return true; }));
    CHECK(match(opaque<Int64>(-3, 4), 4, [](size_t) { return int64_t(-3); }));
    CHECK(jit_var_state(opaque<Float>(1).index()) == VarStateEvaluated);
    CHECK(empty<Float>(9).size() == 9 && empty<Float>(0).size() == 0);
    CHECK(zeros<Float>(0).size() == 0 && zeros<Float>(0).to_vector().empty());

    CHECK(match(arange<UInt32>(50) * 2, 50, [](size_t i) { return uint32_t(2 * i); }));
    CHECK(match(arange<Float>(9), 9, [](size_t i) { return float(i); }));
    CHECK(match(arange<Int32>(-3, 8, 4), 3,
                [](size_t i) { return int32_t(4 * i) - 3; }));
    CHECK(match(arange<Int32>(5, 0, -2), 3,
                [](size_t i) { return 5 - int32_t(2 * i); }));
    CHECK(match(arange<Double>(0, 1, .25), 4, [](size_t i) { return double(i) / 4; }));
    CHECK(arange<Int32>(3, 3).size() == 0 && arange<UInt32>(0).size() == 0);

    const float step = float(1. / 100);
    CHECK(match(linspace<Float>(0, 1, 101), 101,
                [=](size_t i) { return std::fma(float(i), step, 0.f); }));
    CHECK(match(linspace<Double>(-1, 3, 8, false), 8,
                [](size_t i) { return double(i) / 2 - 1; }));
    CHECK(match(linspace<Half>(0, 4, 9), 9,
                [](size_t i) { return jit::half(i / 2.); }));
    CHECK(match(linspace<Float>(7, 9, 1), 1, [](size_t) { return 7.f; }));

    std::vector<double> memory{ 3, 1, 4, 1, 5 };
    const Double copied = load<Double>(memory.data(), memory.size());
    {
        const Double mapped = map<Double>(memory.data(), memory.size());
        memory[0] = 9;
        CHECK(copied[0] == 3. && mapped[0] == 9.);
        CHECK(match(mapped * 2., 5, [&](size_t i) { return memory[i] * 2; }));
    }
    const bool flags[] = { true, false, true };
    CHECK(match(load<Bool>(flags, 3), 3, [&](size_t i) { return flags[i]; }));
}

/* Operators that every number type has. Signed overflow is avoided by the unsigned
 * way. */
template <typename A> static void test_numbers(const char *name) {
    using T = typename A::value_type;
    current = name;
    const size_t n = 200;
    std::vector<T> va = samples<T>(n), vb = samples<T>(n);
    std::rotate(vb.begin(), vb.begin() + 5, vb.end());
    const A a = load_vector<A>(va), b = load_vector<A>(vb);

    const auto wrap = [](auto operation) {
        if constexpr (std::is_integral_v<T>)
            return [=](T x, T y) { return T(operation(uint64_t(x), uint64_t(y))); };
        else
            return [=](T x, T y) { return T(operation(x, y)); };
    };
    const auto plus = wrap([](auto x, auto y) { return x + y; });
    const auto minus = wrap([](auto x, auto y) { return x - y; });
    const auto times = wrap([](auto x, auto y) { return x * y; });

    CHECK(match(a + b, n, [&](size_t i) { return plus(va[i], vb[i]); }));
    CHECK(match(a - b, n, [&](size_t i) { return minus(va[i], vb[i]); }));
    CHECK(match(a * b, n, [&](size_t i) { return times(va[i], vb[i]); }));
    CHECK(match(a + 3, n, [&](size_t i) { return plus(va[i], T(3)); }));
    CHECK(match(3 - a, n, [&](size_t i) { return minus(T(3), va[i]); }));
    CHECK(match(-a, n, [&](size_t i) {
        return std::is_integral_v<T> ? minus(T(0), va[i]) : T(-va[i]);
    }));
    CHECK(match(+a, n, [&](size_t i) { return va[i]; }));

    A c = a;
    c += b;
    c -= 2;
    c *= b;
    CHECK(match(c, n, [&](size_t i) {
        return times(minus(plus(va[i], vb[i]), T(2)), vb[i]);
    }));

    CHECK(match(a == b, n, [&](size_t i) { return va[i] == vb[i]; }));
    CHECK(match(a != b, n, [&](size_t i) { return va[i] != vb[i]; }));
    CHECK(match(a < b, n, [&](size_t i) { return va[i] < vb[i]; }));
    CHECK(match(a <= b, n, [&](size_t i) { return va[i] <= vb[i]; }));
    CHECK(match(a > b, n, [&](size_t i) { return va[i] > vb[i]; }));
    CHECK(match(a >= b, n, [&](size_t i) { return va[i] >= vb[i]; }));
    CHECK(match(1 < a, n, [&](size_t i) { return T(1) < va[i]; }));
    CHECK(match(a == 1, n, [&](size_t i) { return va[i] == T(1); }));

    /* The standard's fmin returns the other operand of a NaN too; ties are settled
     * here. */
    const auto smaller = [](T x, T y) { return y < x || x != x ? y : x; };
    const auto larger = [](T x, T y) { return x > y || y != y ? x : y; };
    CHECK(match(min(a, b), n, [&](size_t i) { return smaller(va[i], vb[i]); }));
    CHECK(match(max(a, b), n, [&](size_t i) { return larger(va[i], vb[i]); }));
    CHECK(match(minimum(a, 1), n, [&](size_t i) { return smaller(va[i], T(1)); }));
    CHECK(match(maximum(1, a), n, [&](size_t i) { return larger(T(1), va[i]); }));
    CHECK(match(select(a < b, a, b), n,
                [&](size_t i) { return va[i] < vb[i] ? va[i] : vb[i]; }));
    CHECK(match(select(a < b, a, 5), n,
                [&](size_t i) { return va[i] < vb[i] ? va[i] : T(5); }));
    CHECK(match(a & (a < b), n,
                [&](size_t i) { return va[i] < vb[i] ? va[i] : T(0); }));
    CHECK(match(abs(a), n, [&](size_t i) {
        if constexpr (std::is_integral_v<T>)
            return va[i] < T(1) ? minus(T(0), va[i]) : va[i];
        else
            return std::fabs(va[i]);
    }));
    CHECK(match(fma(a, b, a), n, [&](size_t i) {
        if constexpr (std::is_integral_v<T>)
            return plus(times(va[i], vb[i]), va[i]);
        else
            return std::fma(va[i], vb[i], va[i]);
    }));
    CHECK(match(a / b, n, [&](size_t i) {
        if constexpr (std::is_integral_v<T>) {
            if (vb[i] == T(0))
                return T(0);
            return vb[i] == T(-1) && std::is_signed_v<T> ? minus(T(0), va[i])
                                                         : T(va[i] / vb[i]);
        } else {
            return va[i] / vb[i];
        }
    }));
}

template <typename A> static void test_integers(const char *name) {
    using T = typename A::value_type;
    using U = std::make_unsigned_t<T>;
    test_numbers<A>(name);
    const size_t n = 200;
    const uint32_t width = 8 * sizeof(T);
    std::vector<T> va = samples<T>(n), vb = samples<T>(n), shifts(n);
    for (size_t i = 0; i < n; ++i)
        shifts[i] = T(i % (width + 3));
    const A a = load_vector<A>(va), b = load_vector<A>(vb), s = load_vector<A>(shifts);

    CHECK(match(a % b, n, [&](size_t i) {
        if (vb[i] == T(0))
            return va[i];
        return vb[i] == T(-1) && std::is_signed_v<T> ? T(0) : T(va[i] % vb[i]);
    }));
    CHECK(match(a & b, n, [&](size_t i) { return T(va[i] & vb[i]); }));
    CHECK(match(a | b, n, [&](size_t i) { return T(va[i] | vb[i]); }));
    CHECK(match(a ^ 5, n, [&](size_t i) { return T(va[i] ^ 5); }));
    CHECK(match(~a, n, [&](size_t i) { return T(~va[i]); }));
    CHECK(match(a | (a < b), n,
                [&](size_t i) { return va[i] < vb[i] ? T(-1) : va[i]; }));
    CHECK(match(a << s, n, [&](size_t i) {
        return size_t(shifts[i]) >= width ? T(0) : T(uint64_t(va[i]) << shifts[i]);
    }));
    CHECK(match(a >> s, n, [&](size_t i) {
        const T sign = va[i] < T(1) && va[i] != T(0) ? T(-1) : T(0);
        return size_t(shifts[i]) >= width ? sign : T(va[i] >> shifts[i]);
    }));

    A c = a;
    c &= b;
    c |= 3;
    c ^= b;
    c <<= 2;
    c >>= 1;
    c %= 50;
    c /= 3;
    CHECK(match(c, n, [&](size_t i) {
        const T bits = T(((va[i] & vb[i]) | 3) ^ vb[i]);
        return T(T(T(T(uint64_t(bits) << 2) >> 1) % 50) / 3);
    }));

    const auto bit = [](T value, uint32_t k) { return uint32_t(U(value) >> k & 1); };
    const auto leading = [&](T value) {
        uint32_t zeros = 0;
        while (zeros < width && !bit(value, width - 1 - zeros))
            ++zeros;
        return T(zeros);
    };
    const auto trailing = [&](T value) {
        uint32_t zeros = 0;
        while (zeros < width && !bit(value, zeros))
            ++zeros;
        return T(zeros);
    };
    const auto ones_of = [&](T value) {
        uint32_t ones = 0;
        for (uint32_t k = 0; k < width; ++k)
            ones += bit(value, k);
        return T(ones);
    };
    const auto mirrored = [&](T value) {
        uint64_t result = 0;
        for (uint32_t k = 0; k < width; ++k)
            result |= uint64_t(bit(value, k)) << (width - 1 - k);
        return T(result);
    };
    CHECK(match(popcnt(a), n, [&](size_t i) { return ones_of(va[i]); }));
    CHECK(match(lzcnt(a), n, [&](size_t i) { return leading(va[i]); }));
    CHECK(match(tzcnt(a), n, [&](size_t i) { return trailing(va[i]); }));
    CHECK(match(brev(a), n, [&](size_t i) { return mirrored(va[i]); }));

    CHECK(match(mulhi(a, b), n, [&](size_t i) {
        using Product =
            std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
        return T((Product(va[i]) * Product(vb[i])) >> width);
    }));
    if constexpr (sizeof(T) <= 4) {
        using Wide = typename A::Wide;
        CHECK(match(mulwide(a, b), n, [&](size_t i) {
            using W = typename Wide::value_type;
            return W(uint64_t(va[i]) * uint64_t(vb[i]));
        }));
    }

    uint64_t total = 0;
    for (T value : va)
        total += uint64_t(value);
    CHECK(sum(a)[0] == T(total));
    CHECK(hmin(a)[0] == *std::min_element(va.begin(), va.end()));
    CHECK(hmax(a)[0] == *std::max_element(va.begin(), va.end()));
    uint64_t product = 1, inner = 0;
    for (size_t i = 0; i < n; ++i)
        inner += uint64_t(va[i]) * uint64_t(vb[i]);
    for (T value : va)
        product *= uint64_t(value | 1);
    CHECK(dot(a, b)[0] == T(inner));
    CHECK(prod(a | 1)[0] == T(product));
    const T both = std::accumulate(va.begin(), va.end(), T(-1),
                                   [](T x, T y) { return T(x & (y | 8)); });
    CHECK(reduce(ReduceOpAnd, a | 8)[0] == both);
}

template <typename A> static void test_floats(const char *name) {
    using T = typename A::value_type;
    test_numbers<A>(name);
    const size_t n = 200;
    const std::vector<T> va = samples<T>(n);
    std::vector<T> vb = va;
    std::rotate(vb.begin(), vb.begin() + 3, vb.end());
    const A a = load_vector<A>(va), b = load_vector<A>(vb);

    CHECK(match(sqrt(a), n, [&](size_t i) { return std::sqrt(va[i]); }));
    CHECK(match(rcp(a), n, [&](size_t i) { return T(1) / va[i]; }));
    CHECK(match(rsqrt(a), n,
                [&](size_t i) { return T(1 / std::sqrt((long double) va[i])); }));
    CHECK(match(1 / a, n, [&](size_t i) { return T(1) / va[i]; }));
    CHECK(match(floor(a), n, [&](size_t i) { return std::floor(va[i]); }));
    CHECK(match(ceil(a), n, [&](size_t i) { return std::ceil(va[i]); }));
    CHECK(match(round(a), n, [&](size_t i) { return std::nearbyint(va[i]); }));
    CHECK(match(trunc(a), n, [&](size_t i) { return std::trunc(va[i]); }));
    CHECK(match(copysign(a, b), n,
                [&](size_t i) { return std::copysign(va[i], vb[i]); }));
    CHECK(match(fmin(a, b), n, [&](size_t i) {
        if (va[i] == vb[i])
            return std::signbit(va[i]) ? va[i] : vb[i];
        return std::fmin(va[i], vb[i]);
    }));
    CHECK(match(fmax(a, b), n, [&](size_t i) {
        if (va[i] == vb[i])
            return std::signbit(va[i]) ? vb[i] : va[i];
        return std::fmax(va[i], vb[i]);
    }));

    /* Small whole numbers: every order of summation gives the same bits. */
    const A counter = arange<A>(1000);
    CHECK(sum(counter)[0] == T(499500));
    CHECK(dot(arange<A>(100), arange<A>(100))[0] == T(328350));
    CHECK(prod(A(2, -3, 5))[0] == T(-30));
    CHECK(hmin(counter - 7)[0] == T(-7) && hmax(counter)[0] == T(999));
}

static void test_half_arrays() {
    current = "half arrays";
    std::vector<jit::half> va, vb;
    for (int i = 0; i < 300; ++i) {
        va.push_back(jit::half(float(int64_t(random_bits())) * 0x1p-57f));
        vb.push_back(jit::half(float(int64_t(random_bits())) * 0x1p-61f));
    }
    const Half a = load_vector<Half>(va), b = load_vector<Half>(vb);
    /* Doubles hold sums and products of halves exactly, and quotients and roots with
     * more than twice the digits, so that their rounding to half is the correct one. */
    const size_t n = va.size();
    const auto x = [&](size_t i) { return double(float(va[i])); };
    const auto y = [&](size_t i) { return double(float(vb[i])); };
    CHECK(match(a + b, n, [&](size_t i) { return jit::half(x(i) + y(i)); }));
    CHECK(match(a - b, n, [&](size_t i) { return jit::half(x(i) - y(i)); }));
    CHECK(match(a * b, n, [&](size_t i) { return jit::half(x(i) * y(i)); }));
    CHECK(match(a / b, n, [&](size_t i) { return jit::half(x(i) / y(i)); }));
    CHECK(match(a * 2.f, n, [&](size_t i) { return jit::half(x(i) * 2); }));
    CHECK(match(-a, n, [&](size_t i) { return jit::half(-x(i)); }));
    CHECK(match(sqrt(abs(a)), n,
                [&](size_t i) { return jit::half(std::sqrt(std::fabs(x(i)))); }));
    CHECK(match(floor(a), n, [&](size_t i) { return jit::half(std::floor(x(i))); }));
    CHECK(match(min(a, b), n,
                [&](size_t i) { return jit::half(std::min(x(i), y(i))); }));
    CHECK(match(a < b, n, [&](size_t i) { return x(i) < y(i); }));
    CHECK(match(Float(a), n, [&](size_t i) { return float(va[i]); }));
    CHECK(match(Half(Float(a) * 3.f), n,
                [&](size_t i) { return jit::half(x(i) * 3); }));
    CHECK(match(reinterpret<UInt16>(a), n, [&](size_t i) { return va[i].bits; }));
    CHECK(float(sum(arange<Half>(60))[0]) == 1770.f); /* between 1024 and 2048: exact */
}

static void test_masks() {
    current = "masks";
    const size_t n = 100;
    const UInt32 i32 = arange<UInt32>(n);
    const Bool even = (i32 & 1) == 0, third = i32 % 3 == 0;
    CHECK(match(even & third, n, [](size_t i) { return i % 6 == 0; }));
    CHECK(match(even && third, n, [](size_t i) { return i % 6 == 0; }));
    CHECK(match(even || third, n, [](size_t i) { return i % 2 == 0 || i % 3 == 0; }));
    CHECK(match(even | third, n, [](size_t i) { return i % 2 == 0 || i % 3 == 0; }));
    CHECK(match(even ^ third, n,
                [](size_t i) { return (i % 2 == 0) != (i % 3 == 0); }));
    CHECK(match(even == third, n,
                [](size_t i) { return (i % 2 == 0) == (i % 3 == 0); }));
    CHECK(match(even != third, n,
                [](size_t i) { return (i % 2 == 0) != (i % 3 == 0); }));
    CHECK(match(!even, n, [](size_t i) { return i % 2 != 0; }));
    CHECK(match(~even, n, [](size_t i) { return i % 2 != 0; }));
    CHECK(match(even & true, n, [](size_t i) { return i % 2 == 0; }));
    CHECK(match(select(even, third, false), n, [](size_t i) { return i % 6 == 0; }));
    Bool both = even;
    both &= third;
    both |= i32 == 1;
    both ^= true;
    CHECK(match(both, n, [](size_t i) { return i % 6 != 0 && i != 1; }));

    CHECK(!all(even) && any(even) && !none(even));
    CHECK(all(i32 < 100) && none(i32 >= 100) && !any(i32 >= 100));
    CHECK(count(third)[0] == 34);
    CHECK(match(compress(third), 34, [](size_t i) { return uint32_t(3 * i); }));
    CHECK(compress(i32 > 500).size() == 0);
    CHECK(match(UInt32(even), n, [](size_t i) { return uint32_t(i % 2 == 0); }));
    CHECK(match(Bool(i32 % 3), n, [](size_t i) { return i % 3 != 0; }));
}

static void test_casts() {
    current = "casts";
    const float inf = std::numeric_limits<float>::infinity();
    const std::vector<float> v{ 0.f, -0.f, 1.9f, -1.9f, 254.5f, 3e9f, -3e9f, 1e20f,
                                inf,  -inf, std::nanf("") };
    const size_t n = v.size();
    const Float f = load_vector<Float>(v);
    const auto saturate = [&](size_t i, double low, double high) {
        const double x = v[i];
        return x != x ? 0. : std::clamp(std::trunc(x), low, high);
    };
    CHECK(match(Int32(f), n,
                [&](size_t i) { return int32_t(saturate(i, -2147483648.,
                                                        2147483647.)); }));
    CHECK(match(UInt32(f), n,
                [&](size_t i) { return uint32_t(saturate(i, 0, 4294967295.)); }));
    CHECK(match(UInt8(f), n, [&](size_t i) { return uint8_t(saturate(i, 0, 255)); }));
    CHECK(match(Int16(f), n,
                [&](size_t i) { return int16_t(saturate(i, -32768, 32767)); }));
    CHECK(match(Double(f), n, [&](size_t i) { return double(v[i]); }));
    CHECK(match(Bool(f), n, [&](size_t i) { return v[i] != 0.f; }));

    const std::vector<int64_t> w = samples<int64_t>(64);
    const Int64 l = load_vector<Int64>(w);
    CHECK(match(Int8(l), 64, [&](size_t i) { return int8_t(w[i]); }));
    CHECK(match(UInt32(l), 64, [&](size_t i) { return uint32_t(w[i]); }));
    CHECK(match(Double(l), 64, [&](size_t i) { return double(w[i]); }));
    CHECK(match(Float(l), 64, [&](size_t i) { return float(w[i]); }));
    CHECK(match(Double(UInt64(l)), 64,
                [&](size_t i) { return double(uint64_t(w[i])); }));

    CHECK(match(reinterpret<UInt32>(f), n, [&](size_t i) {
        uint32_t bits;
        memcpy(&bits, &v[i], sizeof(bits));
        return bits;
    }));
    CHECK(match(reinterpret<Float>(reinterpret<UInt32>(f)), n,
                [&](size_t i) { return v[i]; }));
    CHECK(reinterpret<UInt32>(Float(1.f))[0] == 0x3f800000u);
    CHECK(reinterpret<Int64>(Double(-2.))[0] == int64_t(0xc000000000000000ull));
}

static void test_memory() {
    current = "gather and scatter";
    const size_t n = 64;
    const Float source = arange<Float>(n) * arange<Float>(n);
    const UInt32 backwards = UInt32(uint32_t(n - 1)) - arange<UInt32>(n);
    const auto square = [](size_t i) { return float(i * i); };
    CHECK(match(gather(source, backwards), n,
                [&](size_t i) { return square(n - 1 - i); }));
    CHECK(match(gather<Float>(source, Int32(backwards), backwards < 32), n,
                [&](size_t i) { return n - 1 - i < 32 ? square(n - 1 - i) : 0.f; }));

    Float target = zeros<Float>(n);
    const Float before = target;
    scatter(target, source, backwards, backwards > 3);
    CHECK(match(target, n, [&](size_t i) { return i > 3 ? square(n - 1 - i) : 0.f; }));
    CHECK(match(before, n, [](size_t) { return 0.f; }));
    scatter(target, 7.f, UInt32(0u));
    CHECK(target[0] == 7.f && target[1] == 0.f);

    UInt32 histogram = zeros<UInt32>(5);
    scatter_reduce(ReduceOpAdd, histogram, 1, arange<UInt32>(1003) % 5);
    CHECK(match(histogram, 5, [](size_t i) { return uint32_t(i < 3 ? 201 : 200); }));
    scatter_add(histogram, UInt32(10), UInt32(4));
    CHECK(histogram[4] == 210);
    Int32 largest = full<Int32>(-1, 4);
    scatter_reduce(ReduceOpMax, largest, arange<Int32>(100), arange<UInt32>(100) & 3,
                   arange<UInt32>(100) < 80, ReduceModeDirect);
    CHECK(match(largest, 4, [](size_t i) { return int32_t(76 + i); }));

    /* The order of atomic operations is free: compare as sets. */
    UInt32 counters = zeros<UInt32>(2);
    UInt32 ticket = scatter_inc(counters, arange<UInt32>(100) & 1);
    eval(ticket);
    std::vector<uint32_t> tickets = ticket.to_vector();
    std::sort(tickets.begin(), tickets.end());
    bool complete = tickets.size() == 100;
    for (size_t i = 0; complete && i < 100; ++i)
        complete = tickets[i] == i / 2;
    CHECK(complete && counters[0] == 50 && counters[1] == 50);

    UInt32 slots = full<UInt32>(1000, 1);
    UInt32 previous = scatter_exch(slots, arange<UInt32>(20), zeros<UInt32>(20));
    eval(previous);
    std::vector<uint32_t> chain = previous.to_vector();
    chain.push_back(slots[0]);
    std::sort(chain.begin(), chain.end());
    for (size_t i = 0; i < chain.size(); ++i)
        CHECK(chain[i] == (i < 20 ? i : 1000));

    UInt32 lock = zeros<UInt32>(10);
    auto [old, won] = scatter_cas(lock, 0, arange<UInt32>(30) + 1,
                                  arange<UInt32>(30) % 10);
    eval(old, won);
    CHECK(count(won)[0] == 10);
    CHECK(match(Bool(lock % 10 == (arange<UInt32>(10) + 1) % 10), 10,
                [](size_t) { return true; }));
    CHECK(all(won == (old == 0)));
}

static void test_rearrange() {
    current = "prefix sums and rearrangement";
    const size_t n = 30;
    const std::vector<int32_t> v = samples<int32_t>(n);
    std::vector<int32_t> running(n);
    uint32_t total = 0;
    for (size_t i = 0; i < n; ++i)
        running[i] = int32_t(total += uint32_t(v[i]));
    const Int32 a = load_vector<Int32>(v);
    CHECK(match(cumsum(a), n, [&](size_t i) { return running[i]; }));
    CHECK(match(prefix_sum(a), n, [&](size_t i) { return i ? running[i - 1] : 0; }));
    CHECK(match(prefix_sum(a, false), n, [&](size_t i) { return running[i]; }));
    CHECK(match(prefix_reduce(ReduceOpMax, a, false, true), n, [&](size_t i) {
        return *std::max_element(v.begin() + std::ptrdiff_t(i), v.end());
    }));
    CHECK(match(block_sum(a, 5), 6, [&](size_t i) {
        uint32_t part = 0;
        for (size_t k = 0; k < 5; ++k)
            part += uint32_t(v[5 * i + k]);
        return int32_t(part);
    }));
    CHECK(match(block_reduce(ReduceOpMin, a, 10), 3, [&](size_t i) {
        const auto first = v.begin() + std::ptrdiff_t(10 * i);
        return *std::min_element(first, first + 10);
    }));
    CHECK(throws(JIT_ERROR_ARGUMENT, [&] { block_sum(a, 7); }));

    CHECK(match(tile(a, 3), 3 * n, [&](size_t i) { return v[i % n]; }));
    CHECK(match(repeat(a, 3), 3 * n, [&](size_t i) { return v[i / 3]; }));
    CHECK(match(reverse(a), n, [&](size_t i) { return v[n - 1 - i]; }));
    CHECK(match(shrink(a, 4), 4, [&](size_t i) { return v[i]; }));
    CHECK(match(resize(Int32(6), 4), 4, [](size_t) { return 6; }));
    CHECK(throws(JIT_ERROR_ARGUMENT, [&] { resize(a, 7); }));
}

static void test_readme() {
    current = "readme";
    Float x = linspace<Float>(0, 1, 101);
    UInt32 index = arange<UInt32>(50) * 2;
    Float y = gather(x, index);
    Bool mask = x < .5f;
    Float z = select(mask, sqrt(x), 1.f / x);
    const std::vector<float> v = x.to_vector();
    CHECK(match(y, 50, [&](size_t i) { return v[2 * i]; }));
    CHECK(match(z, 101, [&](size_t i) {
        return v[i] < .5f ? std::sqrt(v[i]) : 1.f / v[i];
    }));
    CHECK(z.str()[0] == '[');
}

static void test_cuda() {
    current = "cuda";
    if (jit_has_backend(JitBackendCUDA))
        return;
    bool thrown = false;
    try {
        CUDAArray<float> x = zeros<CUDAArray<float>>(4);
    } catch (const std::runtime_error &error) {
        thrown = error.what()[0] != '\0';
    }
    CHECK(thrown);
}

static void run_all() {
    test_half();
    test_life();
    test_creation();
    test_integers<Int8>("int8");
    test_integers<UInt8>("uint8");
    test_integers<Int16>("int16");
    test_integers<UInt16>("uint16");
    test_integers<Int32>("int32");
    test_integers<UInt32>("uint32");
    test_integers<Int64>("int64");
    test_integers<UInt64>("uint64");
    test_floats<Float>("float");
    test_floats<Double>("double");
    test_half_arrays();
    test_masks();
    test_casts();
    test_memory();
    test_rearrange();
    test_readme();
    test_cuda();
}

int main() {
    try {
        run_all();
    } catch (const std::exception &error) {
        fprintf(stderr, "%s: unexpected exception: %s\n", current, error.what());
        ++failures;
    }
    const uint32_t leaks = jit_shutdown(0);
    if (leaks) {
        fprintf(stderr, "%u variables leaked\n", leaks);
        ++failures;
    }
    printf("test_array: %d failures\n", failures);
    return std::min(failures, 125);
}
