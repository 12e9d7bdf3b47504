/*
 * test_programs.cpp -- small programs as users write them for the published headers
 *
 * A Mandelbrot set, light that bounces between spheres, and a polynomial that is found
 * by gradient descent; each result is compared with the same program in plain C++, or
 * with what is known of it.
 */
#include <drjit/array.h>
#include <drjit/autodiff.h>
#include <drjit/complex.h>
#include <drjit/if_stmt.h>
#include <drjit/math.h>
#include <drjit/random.h>
#include <drjit/struct.h>
#include <drjit/while_loop.h>

#include "check.h"

#include <complex>
#include <iostream>
#include <sstream>

namespace dr = drjit;

using Float  = LLVMArray<float>;
using UInt32 = dr::uint32_array_t<Float>;
using Bool   = dr::mask_t<Float>;

/* -------------------------------------------------------------- Mandelbrot */

static void test_mandelbrot() {
    current = "Mandelbrot";
    using Complex2f = dr::Complex<Float>;
    const uint32_t width = 60, height = 30, most = 50;

    const UInt32 i = arange<UInt32>(width * height);
    const Complex2f c(Float(i % width) / (float) width * 3.f - 2.f,
                      Float(i / width) / (float) height * 2.f - 1.f);
    auto [z, turns] = dr::while_loop(
        std::make_tuple(Complex2f(0.f, 0.f), UInt32(0)),
        [=](const Complex2f &z, const UInt32 &turns) {
            return dr::squared_norm(z) < 4.f && turns < most;
        },
        [&](Complex2f &z, UInt32 &turns) {
            z = z * z + c;
            turns += 1;
        });
    dr::eval(z, turns);

    CHECK(near(turns, width * height, 0, [=](size_t k) {
        const float re = float(k % width) / float(width) * 3.f - 2.f;
        const float im = float(k / width) / float(height) * 2.f - 1.f;
        float x = 0, y = 0;
        uint32_t n = 0;
        while (x * x + y * y < 4.f && n < most) {
            const float next = x * x - y * y + re;
            y = x * y + y * x + im;
            x = next;
            ++n;
        }
        return n;
    }));
}

/* ------------------------------------------------------------------- light */

namespace light {

using Vector2f = dr::Array<Float, 2>;
using Vector3f = dr::Array<Float, 3>;
using Vector4f = dr::Array<Float, 4>;
using Sampler  = dr::PCG32<Float>;

struct Ray {
    Vector3f o, d;

    Vector3f operator()(const Float &t) const { return dr::fmadd(d, t, o); }
    DRJIT_STRUCT(Ray, o, d)
};

struct Hit {
    Float t = dr::Infinity<Float>;
    Vector3f n = 0.f;
    UInt32 id = 0;

    Bool valid() const { return t < dr::Infinity<Float>; }
};

static Hit intersect(const Ray &ray, const Float &spheres, uint32_t count) {
    Hit hit;
    for (uint32_t i = 0; i < count; ++i) {
        const Vector4f sphere = dr::gather<Vector4f>(spheres, UInt32(i));
        const Vector3f center = dr::head<3>(sphere), o = ray.o - center;
        const Float b = dr::dot(o, ray.d);
        const Float disc = b * b - dr::squared_norm(o) + dr::sqr(sphere.w());
        const Float root = dr::sqrt(dr::max(disc, 0.f));
        const Float t = dr::select(-b - root > 1e-3f, -b - root, root - b);
        const Bool closer = disc > 0.f && t > 1e-3f && t < hit.t;
        hit.t = dr::select(closer, t, hit.t);
        hit.n = dr::select(closer, dr::normalize(ray(t) - center), hit.n);
        hit.id = dr::select(closer, i, hit.id);
    }
    return hit;
}

/* In a closed sphere that reflects the part a of the light, and emits 1 everywhere, the
 * light of paths of up to k reflections is 1 + a + ... + a^k, whichever way they go.
 * The sphere in it reflects the same part. */
static void test() {
    current = "light";
    const uint32_t resolution = 32, samples = 4, most = 6;
    const uint32_t pixels = resolution * resolution, paths = pixels * samples;
    const float data[] = { 0, 0, 0, 10, 0, 0, 3, 1 }, parts[] = { .5f, .5f };
    const Float spheres = load<Float>(data, 8), albedo = load<Float>(parts, 2);

    const UInt32 index = arange<UInt32>(paths), pixel = index / samples;
    Sampler rng(paths);
    Vector2f p(Float(pixel % resolution), Float(pixel / resolution));
    p += Vector2f(rng.next_float32(), rng.next_float32());
    p = p * (2.f / resolution) - 1.f;

    Ray ray{ Vector3f(0.f), dr::normalize(Vector3f(p.x(), -p.y(), 1.5f)) };
    Float throughput = 1.f, radiance = 0.f;
    UInt32 depth = 0;
    Bool active = true;
    std::tie(ray, rng, throughput, radiance, depth, active) = dr::while_loop(
        std::make_tuple(ray, rng, throughput, radiance, depth, active),
        [](auto &, auto &, auto &, auto &, auto &, auto &active) { return active; },
        [&](Ray &ray, Sampler &rng, Float &throughput, Float &radiance, UInt32 &depth,
            Bool &active) {
            const Hit hit = intersect(ray, spheres, 2);
            active &= hit.valid();
            radiance += dr::select(active, throughput, 0.f);
            throughput *= dr::gather<Float>(albedo, hit.id, active);
            const Vector3f u(rng.next_float32(), rng.next_float32(),
                             rng.next_float32());
            const Vector3f n = dr::select(dr::dot(hit.n, ray.d) < 0.f, hit.n, -hit.n);
            ray = Ray{ ray(hit.t),
                       dr::normalize(n + .9f * dr::normalize(u * 2.f - 1.f)) };
            depth += 1;
            active &= depth < most;
        },
        "paths");

    Float image = zeros<Float>(pixels);
    scatter_reduce(ReduceOp::Add, image, radiance / (float) samples, pixel);
    CHECK(near(image, pixels, 1e-6, [](size_t) { return 2 - std::pow(.5, most - 1); }));
    CHECK(dr::all(depth == most) && dr::count(depth == most)[0] == paths);

    /* Those on the left, side by side in a queue. */
    UInt32 counter = zeros<UInt32>(1), queue = zeros<UInt32>(paths);
    const Bool left = p.x() < 0.f;
    const UInt32 slot = dr::scatter_inc(counter, UInt32(0), left);
    scatter(queue, index + 1, slot, left);
    dr::eval(queue, counter);
    const uint32_t found = counter[0];
    CHECK(found == dr::count(left)[0] && found > paths / 3 && found < paths * 2 / 3);
    CHECK(dr::count(queue > 0u)[0] == found);

    const Float sides = dr::if_stmt(
        std::make_tuple(p), left, [](const Vector2f &p) { return Float(-p.x()); },
        [](const Vector2f &p) { return p.x(); });
    CHECK(dr::all(sides == dr::abs(p.x())));
}

} /* namespace light */

/* -------------------------------------------------------- gradient descent */

static void test_descent() {
    current = "gradient descent";
    using FloatD   = DiffArray<JitBackend::LLVM, float>;
    using UInt32D  = dr::uint32_array_t<FloatD>;
    using Array3fD = dr::Array<FloatD, 3>;

    const FloatD x = linspace<FloatD>(-1, 1, 200);
    const FloatD y = 2.f * dr::sqr(x) - 3.f * x + .5f;
    Array3fD p(0.f);
    FloatD loss;
    for (int turn = 0; turn < 300; ++turn) {
        dr::enable_grad(p);
        const FloatD found = dr::fmadd(dr::fmadd(x, p.x(), p.y()), x, p.z());
        loss = dr::mean(dr::sqr(found - y));
        dr::backward(loss);
        p = dr::detach(p) - .5f * dr::grad(p);
        dr::eval(p);
    }
    CHECK(std::fabs(p.x()[0] - 2) < 1e-4f && std::fabs(p.y()[0] + 3) < 1e-4f &&
          std::fabs(p.z()[0] - .5f) < 1e-4f && loss[0] < 1e-8f);
    static_assert(std::is_same_v<dr::detached_t<FloatD>, Float>, "");

    /* Through a gather, with names of the full library. */
    FloatD values = dr::PCG32<FloatD>(10).next_float32();
    dr::enable_grad(values);
    FloatD some = dr::gather<FloatD>(values, arange<UInt32D>(5) * 2);
    dr::set_grad(some, 1.f);
    dr::enqueue(dr::ADMode::Backward, some);
    dr::traverse(dr::ADMode::Backward, dr::ADFlag::Default);
    std::ostringstream text;
    text << dr::grad(values);
    CHECK(text.str() == "[1, 0, 1, 0, 1, 0, 1, 0, 1, 0]");
}

static void test_all() {
    test_mandelbrot();
    light::test();
    test_descent();
}

int main() { return run_tests("test_programs", test_all); }
