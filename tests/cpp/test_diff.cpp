/*
 * test_diff.cpp -- derivatives and control flow of C++ arrays
 *
 * Derivatives are compared with central differences in double precision: a function is
 * written once, as a template, for arrays with and without derivatives. Loops,
 * conditionals and calls run recorded and evaluated, and are compared with loops of
 * C++.
 */
#include <drjit/array.h>
#include <drjit/autodiff.h>
#include <drjit/call.h>
#include <drjit/complex.h>
#include <drjit/if_stmt.h>
#include <drjit/math.h>
#include <drjit/matrix.h>
#include <drjit/tensor.h>
#include <drjit/while_loop.h>

#include "check.h"

#include <functional>
#include <sstream>

namespace dr = drjit;

using Double = DiffArray<JitBackend::LLVM, double>;
using UInt32 = dr::uint32_array_t<Double>;
using Mask   = dr::mask_t<Double>;
using Plain  = dr::detached_t<Double>;
using Array3 = dr::Array<Double, 3>;

static_assert(std::is_same_v<Plain, LLVMArray<double>>, "");
static_assert(dr::is_diff_v<Array3> && !dr::is_diff_v<Plain>, "");

/* ------------------------------------------------------------- derivatives */

static const std::vector<double> points{ .3, .7, 1.1, 1.9 };

/* Compare both modes with central differences of a function of one array. */
template <typename Function> static bool differentiates(Function f) {
    const size_t n = points.size();
    Double x = load<Double>(points.data(), n);
    const double h = 1e-5;
    const Plain slope = (Plain(f(Plain(dr::detach<false>(x)) + h)) -
                         Plain(f(Plain(dr::detach<false>(x)) - h))) / (2 * h);
    dr::enable_grad(x);
    Double y = f(x);
    dr::backward(y);
    const auto expected = [&](size_t i) { return slope[i]; };
    const bool reverse = near(dr::grad(x), n, 1e-8, expected);

    Double u = load<Double>(points.data(), n);
    dr::enable_grad(u);
    Double v = f(u);
    dr::forward(u);
    return reverse && near(dr::grad(v), n, 1e-8, expected);
}

static void test_operations() {
    current = "derivatives of operations";
    CHECK(differentiates([](auto x) { return x * x - 3 / x + (2 - x) * x; }));
    CHECK(differentiates([](auto x) { return sqrt(x) * sin(x) + dr::cos(2 * x); }));
    CHECK(differentiates([](auto x) { return exp(-x) * log(x) / dr::tanh(x); }));
    CHECK(differentiates([](auto x) {
        return fma(x, x, dr::pow(x, 3) + atan2(x, 2));
    }));
    CHECK(differentiates([](auto x) { return select(x > 1, x * x, -x) & (x > .5); }));
    CHECK(differentiates([](auto x) { return maximum(x, 1) + minimum(2 * x, 3); }));
    CHECK(differentiates([](auto x) {
        using A = decltype(x);
        const dr::Array<A, 3> v(x, x * x, 1), u(1, 2, x);
        return dr::norm(cross(v, u)) + dot(dr::normalize(v), u);
    }));
    CHECK(differentiates([](auto x) {
        using A = decltype(x);
        const dr::Matrix<A, 2> m(x, 1, 2, x * x + 4);
        return det(m) + inverse(m)(0, 1) + (m * dr::Array<A, 2>(x, 1)).y();
    }));
    CHECK(differentiates([](auto x) {
        using A = decltype(x);
        const dr::Complex<A> z(x, 2);
        return abs(exp(z) * z) + real(sqrt(z));
    }));
    CHECK(differentiates([](auto x) {
        using A = decltype(x);
        /* Lane i reads itself, so that differences are those of one lane. */
        return gather(A(x * x), arange<dr::uint32_array_t<A>>(4)) * x;
    }));
    CHECK(differentiates([](auto x) {
        using A = decltype(x);
        A target = zeros<A>(4);
        scatter_add(target, A(x * x), arange<dr::uint32_array_t<A>>(4));
        return target;
    }));
    CHECK(differentiates([](auto x) {
        using A = decltype(x);
        return dr::Tensor<A>(x * x, { 2, 2 }).map([](const A &a) { return a * a; })
            .array();
    }));
}

static void test_functions() {
    current = "functions of derivatives";
    Double x(1, 2, 3);
    CHECK(!dr::grad_enabled(x) && near(dr::grad(x), 3, 0, [](size_t) { return 0.; }));
    dr::enable_grad(x);
    CHECK(dr::grad_enabled(x) && !dr::grad_enabled(dr::detach(x)));
    CHECK(x.str() == "[1, 2, 3]" && *x.data() == 1 && dr::grad_enabled(x));

    Double loss = sum(x * x);
    dr::set_grad(loss, 3.);
    dr::enqueue(ADMode::Backward, loss);
    dr::traverse(ADMode::Backward, ADFlag::ClearInterior);
    CHECK(dr::grad(x).str() == "[6, 12, 18]");
    dr::accum_grad(x, Double(1, 1, 1));
    CHECK(dr::grad(x).str() == "[7, 13, 19]");
    dr::clear_grad(x);
    CHECK(dr::grad(x).str() == "[0, 0, 0]");
    dr::backward_from(loss, ADFlag::ClearNone);
    CHECK(dr::grad(x).str() == "[6, 12, 18]");

    {
        dr::suspend_grad scope;
        CHECK(!dr::grad_enabled(x * x));
    }
    CHECK(dr::grad_enabled(x * x));
    CHECK(throws("does not depend", [] { dr::backward(Double(1, 2)); }));
    dr::backward(Double(1, 2), ADFlag::AllowNoGrad);
    CHECK(!dr::grad_enabled(Double(UInt32(x))));

    const Double y = dr::replace_grad(Double(5, 5, 5), x * 2);
    CHECK(y.str() == "[5, 5, 5]");
    dr::clear_grad(x);
    dr::backward(y);
    CHECK(dr::grad(x).str() == "[2, 2, 2]");

    /* Second derivatives: of x^3, 6 x. */
    Double t(1, 2);
    dr::enable_grad(t);
    Double cube = t * t * t;
    dr::backward(cube, ADFlag::CreateGraph | ADFlag::ClearVertices);
    Double first = dr::grad(t);
    dr::clear_grad(t);
    dr::backward(first);
    CHECK(dr::grad(t).str() == "[6, 12]");

    /* Values with several arrays. */
    Array3 v(1, 2, Double(1, 2, 3));
    dr::enable_grad(v);
    Double length = dr::squared_norm(v);
    dr::backward(length);
    std::ostringstream text;
    text << dr::grad(v);
    CHECK(text.str() == "[[6, 12, 2],\n [6, 12, 4],\n [6, 12, 6]]");
    Array3 u(1, 2, 3);
    dr::enable_grad(u);
    dr::set_grad(u, Array3(1, 0, 2));
    Double w = dr::squared_norm(u);
    CHECK(dr::forward_to(w)[0] == 2 * 1 * 1 + 2 * 3 * 2);
    /* With and without derivatives in one operation. */
    static_assert(std::is_same_v<decltype(Double() + Plain()), Double>, "");
    CHECK((Double(1, 2) * Plain(3, 4)).str() == "[3, 8]");
}

/* ------------------------------------------------------------ control flow */

static void set_symbolic(bool symbolic) {
    jit_set_flag(JitFlag::SymbolicLoops, symbolic);
    jit_set_flag(JitFlag::SymbolicConditionals, symbolic);
    jit_set_flag(JitFlag::SymbolicCalls, symbolic);
}

/* A class of the program as part of a state. */
struct Walker {
    Array3 position;
    UInt32 steps;

    DRJIT_STRUCT(Walker, position, steps)
};

static void test_loops() {
    /* Newton's method for square roots until it no longer changes much. */
    const auto root = [](auto x) {
        using A = decltype(x);
        auto [r, i] = dr::while_loop(
            std::make_tuple(A(1), dr::uint32_array_t<A>(0u)),
            [&](auto &r, auto &i) { return abs(r * r - x) > 1e-12 && i < 30u; },
            [&](auto &r, auto &i) {
                r = .5 * (r + x / r);
                i += 1u;
            });
        return r;
    };
    CHECK(near(root(load<Plain>(points.data(), 4)), 4, 1e-11,
               [](size_t i) { return std::sqrt(points[i]); }));
    CHECK(differentiates(root));

    Walker walker{ Array3(0, Double(1, 2, 3), 0), UInt32(0, 0, 0) };
    std::tie(walker) = dr::while_loop(
        std::make_tuple(walker),
        [](const Walker &w) { return w.position.y() < 10; },
        [](const Walker &w) {
            return std::make_tuple(Walker{ w.position + Array3(1, w.position.y(), 0),
                                           w.steps + 1u });
        });
    CHECK(walker.steps.str() == "[4, 3, 2]");
    CHECK(walker.position.x().str() == "[4, 3, 2]");
    CHECK(walker.position.y().str() == "[16, 16, 12]");

    /* Numbers: a loop of C++. */
    const auto [k] = dr::while_loop(std::make_tuple(1), [](int k) { return k < 50; },
                                    [](int &k) { k *= 3; });
    CHECK(k == 81);

    /* Errors end the loop, and what follows is as before. */
    const auto fails = [](auto body) {
        dr::while_loop(std::make_tuple(Plain(1, 2)),
                       [](auto &x) { return x < 10.; }, body);
    };
    const auto mismatch = [](auto &x) { x = x + Plain(1, 2, 3); };
    CHECK(throws("jit_var_add", [&] { fails(mismatch); }));
    bool thrown = false;
    try {
        fails([](auto &) { throw std::out_of_range("mine"); });
    } catch (const std::out_of_range &) {
        thrown = true;
    }
    CHECK(thrown && (Plain(1, 2) + 1).str() == "[2, 3]");
}

static void test_conditionals() {
    const auto piecewise = [](auto x) {
        using A = decltype(x);
        return dr::if_stmt(std::make_tuple(x, A(3)), x > 1,
                           [](const A &x, const A &) { return A(sqrt(x)); },
                           [](const A &x, const A &three) { return A(x * three); });
    };
    CHECK(near(piecewise(load<Plain>(points.data(), 4)), 4, 1e-15, [](size_t i) {
        return points[i] > 1 ? std::sqrt(points[i]) : 3 * points[i];
    }));
    CHECK(differentiates(piecewise));

    /* Only lanes of a side write. */
    Plain target = zeros<Plain>(4);
    const LLVMArray<uint32_t> lane = arange<LLVMArray<uint32_t>>(4);
    const auto [a, b] = dr::if_stmt(
        std::make_tuple(lane), lane % 2u == 0u,
        [&](auto &lane) {
            scatter(target, Plain(7.), lane);
            return std::make_tuple(lane, Plain(1.));
        },
        [](auto &lane) { return std::make_tuple(lane * 10u, Plain(2.)); });
    CHECK(target.str() == "[7, 0, 7, 0]" && a.str() == "[0, 10, 2, 30]");
    CHECK(b.str() == "[1, 2, 1, 2]");
    CHECK(dr::if_stmt(std::make_tuple(3), true, [](int i) { return i; },
                      [](int i) { return -i; }) == 3);
}

struct Shape {
    static constexpr const char *Domain = "Shape";
    Shape() { jit_registry_put("", Domain, this); }
    virtual ~Shape() { jit_registry_remove(this); }
    virtual Double area(const Double &scale) const = 0;
    virtual void count(Plain &counter, const LLVMArray<uint32_t> &index) const = 0;
};

struct Square : Shape {
    Double side = 2.;
    Double area(const Double &scale) const override { return sqr(scale * side); }
    void count(Plain &counter, const LLVMArray<uint32_t> &index) const override {
        scatter_add(counter, Plain(1.), index);
    }
};

struct Strip : Shape {
    Double area(const Double &scale) const override { return scale * 5.; }
    void count(Plain &counter, const LLVMArray<uint32_t> &index) const override {
        scatter_add(counter, Plain(100.), index);
    }
};

static void test_calls() {
    using ShapePtr = LLVMArray<Shape *>;
    using Index = LLVMArray<uint32_t>;
    const auto area = [](Shape *shape, const Double &s) { return shape->area(s); };
    CHECK(throws("no instance is registered",
                 [&] { dr::dispatch(ShapePtr(nullptr), area, Double(1)); }));
    Square square;
    Strip strip;
    dr::enable_grad(square.side);
    const ShapePtr shapes =
        select(Index(0, 1, 2, 1) == 1u, ShapePtr(&square),
               select(Index(0, 1, 2, 1) == 0u, ShapePtr(&strip), ShapePtr(nullptr)));
    CHECK(shapes[0] == &strip && shapes[1] == &square && shapes[2] == nullptr);

    Double scale(1, 2, 3, 4);
    dr::enable_grad(scale);
    Double areas = dr::dispatch(shapes, area, scale);
    CHECK(areas.str() == "[5, 16, 0, 64]");
    dr::backward(areas);
    CHECK(dr::grad(scale).str() == "[5, 16, 0, 32]"); /* 2 s side^2 */
    CHECK(dr::grad(square.side).str() == "[80]");     /* 2 side (4 + 16) */

    Plain counter = zeros<Plain>(2);
    const auto add = [&](Shape *shape, const Index &i) { shape->count(counter, i); };
    dr::dispatch(shapes, add, Index(0, 1, 1, 1));
    CHECK(counter.str() == "[100, 2]");
    CHECK(dr::dispatch(ShapePtr(nullptr), area, Double(3)).str() == "[0]");
}

static void test_all() {
    test_operations();
    test_functions();
    for (bool symbolic : { true, false }) {
        set_symbolic(symbolic);
        current = symbolic ? "recorded loops" : "evaluated loops";
        test_loops();
        current = symbolic ? "recorded conditionals" : "evaluated conditionals";
        test_conditionals();
        current = symbolic ? "recorded calls" : "evaluated calls";
        test_calls();
    }
}

int main() { return run_tests("test_diff", test_all); }
