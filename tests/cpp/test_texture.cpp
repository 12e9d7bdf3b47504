/*
 * test_texture.cpp -- textures of the C++ interface against interpolation written out
 * here, in double precision
 */
#include <drjit/fwd.h>
#include <drjit/half.h>
#include <drjit/struct.h>
#include <drjit/texture.h>

#include "check.h"

namespace dr = drjit;

using Bool   = LLVMArray<bool>;
using Double = LLVMArray<double>;
using Float  = LLVMArray<float>;
using dr::FilterMode;
using dr::WrapMode;

/* Of the forwarding headers. */
static_assert(std::is_same_v<dr::half, jit::half>, "");
struct Material {
    dr::Texture<Float, 2> *albedo;
    Float roughness;
    DRJIT_STRUCT(Material, roughness)
};

static const int width = 5, height = 4, channels = 2;

static double content(int x, int y, int c) {
    return std::sin(double((y * width + x) * channels + c) * 12.9898);
}

static int wrapped(int i, int n, WrapMode mode) {
    if (mode == WrapMode::Clamp)
        return std::min(std::max(i, 0), n - 1);
    const int turn = ((i % n) + n) % n, other = ((i % (2 * n)) + 2 * n) % (2 * n);
    return mode == WrapMode::Repeat ? turn : other < n ? other : 2 * n - 1 - other;
}

/* Point i of n is at (i + 0.5) / n. */
static double expected(double x, double y, int c, FilterMode filter, WrapMode wrap) {
    const double px = x * width, py = y * height;
    const auto at = [&](int i, int k) {
        return content(wrapped(i, width, wrap), wrapped(k, height, wrap), c);
    };
    if (filter == FilterMode::Nearest)
        return at(int(std::floor(px)), int(std::floor(py)));
    const int i = int(std::floor(px - .5)), k = int(std::floor(py - .5));
    const double u = px - .5 - i, v = py - .5 - k;
    return (1 - v) * ((1 - u) * at(i, k) + u * at(i + 1, k)) +
           v * ((1 - u) * at(i, k + 1) + u * at(i + 1, k + 1));
}

static dr::Tensor<Double> grid() {
    std::vector<double> entries;
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            for (int c = 0; c < channels; ++c)
                entries.push_back(content(x, y, c));
    return { entries.data(), { height, width, channels } };
}

static void test_lookup() {
    current = "lookup";
    const size_t n = 200;
    std::vector<double> x(n), y(n);
    for (size_t i = 0; i < n; ++i) { /* from -1 to 2, never halfway between points */
        x[i] = 3 * (std::sin(double(i)) + 1) / 2 - 1;
        y[i] = 3 * (std::cos(double(i) * 1.7) + 1) / 2 - 1;
    }
    const dr::Array<Double, 2> pos(load<Double>(x.data(), n),
                                   load<Double>(y.data(), n));
    for (FilterMode filter : { FilterMode::Nearest, FilterMode::Linear })
        for (WrapMode wrap : { WrapMode::Repeat, WrapMode::Clamp, WrapMode::Mirror }) {
            const dr::Texture<Double, 2> texture(grid(), true, filter, wrap);
            CHECK(texture.filter_mode() == filter && texture.wrap_mode() == wrap);
            Double out[channels];
            texture.eval(pos, out, pos.x() < 1.5);
            for (int c = 0; c < channels; ++c)
                CHECK(near(out[c], n, 1e-12, [&](size_t i) {
                    return x[i] < 1.5 ? expected(x[i], y[i], c, filter, wrap) : 0;
                }));
        }
}

static void test_content() {
    current = "content";
    const size_t shape[] = { 2, 3 };
    dr::Texture<Float, 2> texture(shape, 2);
    CHECK(texture.shape()[0] == 2 && texture.shape()[1] == 3 &&
          texture.channels() == 2 && texture.ndim() == 3);
    CHECK(texture.filter_mode() == FilterMode::Linear &&
          texture.wrap_mode() == WrapMode::Clamp);
    CHECK(texture.value().size() == 12 && !any(texture.value() != 0.f));
    texture.set_value(arange<Float>(12));
    CHECK(texture.tensor().shape() == (std::vector<size_t>{ 2, 3, 2 }));
    CHECK(texture.tensor().array()[11] == 11);
    texture.set_tensor(texture.tensor() * 2);
    Float out[2];
    texture.eval(dr::Array<Float, 2>(5 / 6.f, .75f), out); /* the last point */
    CHECK(out[0].size() == 1 && std::fabs(out[0][0] - 20) < 1e-5f &&
          std::fabs(out[1][0] - 22) < 1e-5f);

    dr::Texture<Float, 2> other(std::move(texture)), third;
    third = std::move(other);
    CHECK(third.value()[11] == 22 && third.channels() == 2);

    CHECK(throws("", [&] { third.set_value(arange<Float>(11)); }));
    CHECK(third.value()[11] == 22);
    CHECK(throws("another shape", [&] {
        third.set_tensor({ arange<Float>(12), { 3, 2, 2 } });
    }));
    CHECK(throws("2 axes, expected 3", [] {
        dr::Texture<Float, 2>(dr::Tensor<Float>(arange<Float>(6), { 2, 3 }));
    }));
    CHECK(throws("jit_tex_create", [&] { dr::Texture<Float, 2>(shape, 0); }));
    CHECK(throws("not a variable", [&] { /* a position without entries */
        third.eval(dr::Array<Float, 2>(Float(), Float(0.f)), out);
    }));

    const size_t line[] = { 4 }, cube[] = { 2, 1, 3 };
    dr::Texture<Float, 1> one(line, 1);
    one.set_value(Float(1, 3, 5, 7));
    one.eval(dr::Array<Float, 1>(.5f), out);
    CHECK(std::fabs(out[0][0] - 4) < 1e-6f);
    dr::Texture<Float, 3> three(cube, 1);
    three.set_value(arange<Float>(6));
    three.eval(dr::Array<Float, 3>(.5f, .5f, .75f), out); /* z is the slowest axis */
    CHECK(std::fabs(out[0][0] - 4) < 1e-6f);
}

static void test_all() {
    test_lookup();
    test_content();
}

int main() { return run_tests("test_texture", test_all); }
