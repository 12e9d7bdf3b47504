/*
 * test_renderer.cpp -- a small differentiable renderer finds a sphere in a picture
 *
 * A sphere in front of a pinhole camera, lit from one direction, the darker the farther
 * away: the picture is smooth in the sphere's position and radius, but for its outline,
 * which is blurred by a smooth step of the distance between ray and sphere. The
 * gradient of the squared difference between two pictures is compared with central
 * differences in double precision; then Adam finds position and radius, beginning
 * somewhere else.
 */
#include <drjit/array.h>
#include <drjit/autodiff.h>
#include <drjit/math.h>
#include <drjit/random.h>

#include "check.h"

namespace dr = drjit;

using Double = DiffArray<JitBackend::LLVM, double>;
using UInt32 = dr::uint32_array_t<Double>;
using Array3 = dr::Array<Double, 3>;

static const size_t width = 48, height = 36;

struct Sphere {
    Array3 center;
    Double radius;

    DRJIT_STRUCT(Sphere, center, radius)
};

/* One ray for each pixel, through its middle, from the origin along z. */
static Array3 camera_rays() {
    const UInt32 pixel = arange<UInt32>(width * height);
    const Double u((Double(pixel % uint32_t(width)) + .5) / double(width) * 2 - 1);
    const Double v((Double(pixel / uint32_t(width)) + .5) / double(height) * 2 - 1);
    return dr::normalize(Array3(u, v * (double(height) / double(width)), 1.5));
}

/* Brightness of each pixel. */
static Double render(const Sphere &sphere, const Array3 &rays) {
    /* Where the ray is closest to the center, and how far from it. */
    const Double along = dot(rays, sphere.center);
    const Double gap2 = dr::squared_norm(sphere.center) - along * along;
    const Double inside2 = sphere.radius * sphere.radius - gap2;

    /* The point that is hit; beside the sphere, a point on its outline. */
    const Double depth = along - sqrt(maximum(inside2, 1e-3));
    const Array3 normal = dr::normalize(rays * depth - sphere.center);

    const Array3 light = dr::normalize(Array3(-1, -1, -2));
    const Double falloff = 9 / (depth * depth);
    const Double lambert = (maximum(dot(normal, light), 0.) + .1) * falloff;
    const Double coverage = 1 / (1 + exp(-inside2 * 30));
    return lambert * coverage + .05 * (1 - coverage);
}

static Double loss_of(const Sphere &sphere, const Array3 &rays, const Double &target) {
    return dr::mean(sqr(render(sphere, rays) - target)) * 100.;
}

static void test_gradient(const Array3 &rays, const Double &target) {
    current = "gradient";
    Sphere sphere{ Array3(.3, -.1, 4.), Double(.9) };
    dr::enable_grad(sphere);
    dr::backward(loss_of(sphere, rays, target));
    const Sphere gradient = dr::grad(sphere);

    const auto loss_at = [&](size_t k, double step) {
        Sphere moved = dr::detach(sphere);
        Double &number = k < 3 ? moved.center[k] : moved.radius;
        number += step;
        return loss_of(moved, rays, target)[0];
    };
    for (size_t k = 0; k < 4; ++k) {
        const double h = 1e-5;
        const double slope = (loss_at(k, h) - loss_at(k, -h)) / (2 * h);
        const double found = k < 3 ? gradient.center[k][0] : gradient.radius[0];
        CHECK(std::fabs(slope) > 1e-3);
        CHECK(std::fabs(found - slope) < 1e-5 * std::max(1., std::fabs(slope)));
    }
}

/* Adam (Kingma, Ba 2014). */
static void test_fit(const Array3 &rays, const Double &target, const Sphere &truth) {
    current = "fit";
    Sphere sphere{ Array3(.5, -.4, 5.), Double(.7) };
    dr::make_opaque(sphere);
    Array<double, 4> first(0.), second(0.), state(.5, -.4, 5., .7);
    double begin = 0, loss = 0;
    for (int step = 1; step <= 250; ++step) {
        dr::enable_grad(sphere);
        Double difference = loss_of(sphere, rays, target);
        dr::backward(difference);
        const Sphere gradient = dr::grad(sphere);
        dr::eval(difference, gradient);
        loss = difference[0];
        begin = step == 1 ? loss : begin;
        const Array<double, 4> g(gradient.center.x()[0], gradient.center.y()[0],
                                 gradient.center.z()[0], gradient.radius[0]);
        first = first * .9 + g * .1;
        second = second * .99 + g * g * .01;
        const double rate = .05 * std::sqrt(1 - std::pow(.99, step)) /
                            (1 - std::pow(.9, step));
        state -= first * rate / (dr::sqrt(second) + 1e-8);
        sphere = Sphere{ Array3(state[0], state[1], state[2]), Double(state[3]) };
        dr::make_opaque(sphere);
    }
    printf("loss: %g, later %g; sphere at (%.3f, %.3f, %.3f) with radius %.3f\n", begin,
           loss, state[0], state[1], state[2], state[3]);
    CHECK(loss < begin * 1e-3);
    for (size_t k = 0; k < 3; ++k)
        CHECK(std::fabs(state[k] - truth.center[k][0]) < .02);
    CHECK(std::fabs(state[3] - truth.radius[0]) < .02);
}

static void test_all() {
    current = "picture";
    const Sphere truth{ Array3(-.2, .3, 4.), Double(1.1) };
    const Array3 rays = camera_rays();
    Double target = render(truth, rays);
    dr::eval(rays, target);

    /* Along the ray to the middle of the sphere, its normal points back. */
    const double length = std::sqrt(.2 * .2 + .3 * .3 + 16);
    const double facing = (-1 * .2 + 1 * .3 + 2 * 4.) / length / std::sqrt(6.);
    const Array3 middle = dr::normalize(truth.center);
    const double falloff = 9 / ((length - 1.1) * (length - 1.1));
    CHECK(std::fabs(render(truth, middle)[0] - (facing + .1) * falloff) < 1e-6);
    CHECK(std::fabs(target[0] - .05) < 1e-6);

    test_gradient(rays, target);
    test_fit(rays, target, truth);
}

int main() { return run_tests("test_renderer", test_all); }
