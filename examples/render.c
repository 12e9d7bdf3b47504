/*
 * render.c -- a picture of a scene of spheres, boxes and a ground plane
 *
 *     render SCENE.txt OUTPUT.png [--size N] [--height N] [--samples N]
 *
 * Every pixel is one entry of the arrays; a ray meets all objects of the scene in
 * straight-line code, so that the whole picture is one kernel of some thousand
 * operations. A pass computes one sample of every pixel, with its own position within
 * the pixel, on the lens and on the lights. The numbers that differ between passes are
 * opaque, therefore all passes run the same kernel: only the first one compiles.
 *
 * Shadows: a sphere covers a disk of a light analytically, which is smooth without many
 * samples; a box is tested with a ray to a random point of the light.
 */
#include "common.h"
#include "expr.h"
#include "scene.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Options {
    const char *scene, *output;
    uint32_t width, height, samples;
} Options;

/* Properties of everything a ray can hit, by id: the objects in order, then the two
 * ground materials. Arrays in memory, read with gathers. */
typedef struct Tables {
    uint32_t center[3], scale[3], is_box;       /* scale: 1 / half */
    uint32_t color[3], mirror, metal, gloss, glow;
} Tables;

/* What all of a pass's code needs. */
typedef struct Pass {
    const Scene *scene;
    Tables tables;
    Value random[4];  /* of every pixel, 0 ... 1 */
} Pass;

typedef struct Ray {
    Value3 origin, direction;
} Ray;

typedef struct Hit {
    Value found;           /* mask */
    Value distance, id;
    Value3 point, normal;
} Hit;

static const double FAR_AWAY = 1e6;

static Value3 v3_of(const double v[3]) {
    return v3_f(v[0], v[1], v[2]);
}

/* ------------------------------------------------------------------- rays */

/* PCG's output permutation over a linear congruential step: 32 well mixed bits. */
static Value hash_bits(Value a) {
    const Value state = v_add(v_mul(a, v_u(747796405u)), v_u(2891336453u));
    const Value shift = v_add(v_shr(state, v_u(28)), v_u(4));
    const Value word = v_mul(v_xor(v_shr(state, shift), state), v_u(277803737u));
    return v_xor(v_shr(word, v_u(22)), word);
}

/* Two numbers in 0 ... 1 to a point of the unit disk, without trigonometry. */
static void map_disk(Value a, Value b, Value *x, Value *y) {
    const Value u = v_fma(a, v_f(2), v_f(-1)), v = v_fma(b, v_f(2), v_f(-1));
    const Value half = v_f(-0.5), one = v_f(1);
    *x = v_mul(u, v_sqrt(v_fma(v_mul(v, v), half, one)));
    *y = v_mul(v, v_sqrt(v_fma(v_mul(u, u), half, one)));
}

/* The random numbers of a pass: a fixed offset per pixel plus a step of a sequence
 * that fills four dimensions evenly (powers of the root of x^5 = x + 1). */
static void draw_random(Pass *pass, Value pixel, uint32_t sample) {
    const double root = 1.1673039782614187;
    double step = 1;
    Value bits = pixel;
    for (int i = 0; i < 4; ++i) {
        step /= root;
        const double offset = fmod(step * (sample + 0.5), 1.0);
        const float value = (float) offset;
        const Value moved = expr_own(jit_var_literal(JitBackendLLVM, VarTypeFloat32,
                                                     &value, 1, 1));
        bits = hash_bits(bits);
        const Value unit = v_mul(v_cast(v_shr(bits, v_u(8)), VarTypeFloat32),
                                 v_f(0x1p-24));
        const Value sum = v_add(unit, moved);
        pass->random[i] = v_sub(sum, v_floor(sum));
    }
}

static void cross(const double a[3], const double b[3], double out[3]) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static double normalize(double v[3]) {
    const double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int i = 0; i < 3; ++i)
        v[i] /= length;
    return length;
}

/* The ray of every pixel, from a point of the lens through the plane in focus. */
static Ray camera_ray(const Pass *pass, const Options *options, Value pixel) {
    const Scene *scene = pass->scene;
    double forward[3], right[3], up[3];
    for (int i = 0; i < 3; ++i)
        forward[i] = scene->target[i] - scene->eye[i];
    const double focus = normalize(forward);
    cross(forward, (const double[3]) { 0, 1, 0 }, right);
    normalize(right);
    cross(right, forward, up);

    const Value row = v_div(pixel, v_u(options->width));
    const Value column = v_sub(pixel, v_mul(row, v_u(options->width)));
    const Value px = v_add(v_cast(column, VarTypeFloat32), pass->random[0]);
    const Value py = v_add(v_cast(row, VarTypeFloat32), pass->random[1]);

    const double reach = focus * tan(scene->angle * acos(-1.0) / 360);
    const double unit = 2 * reach / options->width;
    const Value sx = v_fma(px, v_f(unit), v_f(-reach));
    const Value sy = v_fma(py, v_f(-unit), v_f(unit * options->height / 2));
    const Value3 center = v3_f(focus * forward[0], focus * forward[1],
                               focus * forward[2]);
    Value3 through = v3_fma(v3_of(right), sx, v3_fma(v3_of(up), sy, center));

    Value3 origin = v3_of(scene->eye);
    if (scene->lens > 0) {
        Value lx, ly;
        map_disk(pass->random[2], pass->random[3], &lx, &ly);
        const Value radius = v_f(scene->lens);
        const Value3 shift = v3_fma(v3_of(right), v_mul(lx, radius),
                                    v3_scale(v3_of(up), v_mul(ly, radius)));
        origin = v3_add(origin, shift);
        through = v3_sub(through, shift);
    }
    return (Ray) { origin, v3_unit(through) };
}

/* ------------------------------------------------------------ intersection */

/* Distance to a sphere along the ray, and whether there is one in front. */
static Value meet_sphere(const Object *object, Ray ray, Value *ahead) {
    const Value3 to = v3_sub(ray.origin, v3_of(object->center));
    const Value b = v3_dot(to, ray.direction);
    const Value c = v_sub(v3_dot(to, to), v_f(object->half[0] * object->half[0]));
    const Value root = v_fma(b, b, v_neg(c));
    const Value distance = v_sub(v_neg(b), v_sqrt(v_max(root, v_f(0))));
    *ahead = v_and(v_gt(root, v_f(0)), v_gt(distance, v_f(1e-3)));
    return distance;
}

/* The same for a box: the last entry into the three slabs comes before the first
 * exit. */
static Value meet_box(const Object *object, Ray ray, Value3 inverse, Value *ahead) {
    const Value3 to = v3_mul(v3_sub(v3_of(object->center), ray.origin), inverse);
    const Value3 half = v3_mul(v3_of(object->half), (Value3) {
        v_abs(inverse.x), v_abs(inverse.y), v_abs(inverse.z) });
    const Value3 in = v3_sub(to, half), out = v3_add(to, half);
    const Value enter = v_max(v_max(in.x, in.y), in.z);
    const Value leave = v_min(v_min(out.x, out.y), out.z);
    *ahead = v_and(v_lt(enter, leave), v_gt(enter, v_f(1e-3)));
    return enter;
}

static Value3 invert(Value3 direction) {
    const Value one = v_f(1);
    return (Value3) { v_div(one, direction.x), v_div(one, direction.y),
                      v_div(one, direction.z) };
}

/* Properties by id; 'table' has one entry an id. */
static Value3 look_up3(const uint32_t table[3], Value id) {
    return (Value3) { v_gather(table[0], id), v_gather(table[1], id),
                      v_gather(table[2], id) };
}

/* Outward normal. A high power of the position within a box gives its faces, with edges
 * that look slightly rounded. */
static Value3 surface_normal(const Pass *pass, Value3 point, Value id) {
    const Tables *tables = &pass->tables;
    const Value3 to = v3_sub(point, look_up3(tables->center, id));
    const Value3 at = v3_mul(to, look_up3(tables->scale, id));
    const Value3 face = { v_mul(at.x, v_square(at.x, 6)),
                          v_mul(at.y, v_square(at.y, 6)),
                          v_mul(at.z, v_square(at.z, 6)) };
    const Value is_box = v_gather(tables->is_box, id);
    Value3 normal = v3_unit(v3_select(is_box, face, at));

    if (pass->scene->has_ground) {
        const Value count = v_u((uint32_t) pass->scene->object_count);
        normal = v3_select(v_lt(id, count), normal, v3_f(0, 1, 0));
    }
    return normal;
}

/* Which of the two materials of the ground lies at a point. */
static Value ground_id(const Scene *scene, Value3 point) {
    const Value scale = v_f(1 / scene->ground_size);
    const Value x = v_cast(v_floor(v_mul(point.x, scale)), VarTypeInt32);
    const Value z = v_cast(v_floor(v_mul(point.z, scale)), VarTypeInt32);
    const Value parity = v_and(v_cast(v_add(x, z), VarTypeUInt32), v_u(1));
    return v_add(parity, v_u((uint32_t) scene->object_count));
}

/* The nearest thing on a ray. Entries that miss everything have id 0. */
static Hit trace_ray(const Pass *pass, Ray ray) {
    const Scene *scene = pass->scene;
    const Value3 inverse = invert(ray.direction);
    Value best = v_f(FAR_AWAY), id = v_u(0);

    for (size_t i = 0; i < scene->object_count; ++i) {
        const Object *object = &scene->objects[i];
        Value ahead;
        const Value distance = object->kind == OBJECT_SPHERE
                                   ? meet_sphere(object, ray, &ahead)
                                   : meet_box(object, ray, inverse, &ahead);
        const Value nearer = v_and(ahead, v_lt(distance, best));
        best = v_select(nearer, distance, best);
        id = v_select(nearer, v_u((uint32_t) i), id);
    }

    if (scene->has_ground) {
        const Value height = v_sub(v_f(scene->ground_y), ray.origin.y);
        const Value distance = v_mul(height, inverse.y);
        const Value nearer = v_and(v_gt(distance, v_f(1e-3)), v_lt(distance, best));
        best = v_select(nearer, distance, best);
        id = v_select(nearer, ground_id(scene, v3_fma(ray.direction, distance,
                                                      ray.origin)), id);
    }

    Hit hit = { .found = v_lt(best, v_f(FAR_AWAY)), .distance = best, .id = id };
    hit.point = v3_fma(ray.direction, best, ray.origin);
    hit.normal = surface_normal(pass, hit.point, id);
    return hit;
}

/* ------------------------------------------------------------------- light */

/* Does this object surround the lamp? Then it is the lamp, and casts no shadow. */
static bool surrounds(const Object *object, const double position[3]) {
    for (int i = 0; i < 3; ++i)
        if (fabs(object->center[i] - position[i]) >= object->half[i])
            return false;
    return true;
}

/* How much of a light's disk a sphere leaves visible, from the ray towards its center:
 * by how far the ray passes the sphere, relative to the light's apparent size there. */
static Value sphere_shade(const Object *object, Ray ray, Value range, double softness) {
    const double radius = object->half[0];
    const Value3 to = v3_sub(v3_of(object->center), ray.origin);
    const Value along = v3_dot(to, ray.direction);
    const Value aside = v_sqrt(v_max(v_sub(v3_dot(to, to), v_mul(along, along)),
                                     v_f(0)));
    const Value width = v_mul(v_max(along, v_f(1e-3)), v_f(2 * softness));
    const Value seen = v_smoothstep(v_add(v_div(v_sub(aside, v_f(radius)), width),
                                          v_f(0.5)));
    const Value between = v_and(v_gt(along, v_f(0)), v_lt(along, range));
    return v_select(between, seen, v_f(1));
}

/* Part of a light that is visible from a point: 'ray' leads to its center, 'range' is
 * the distance to it. */
static Value light_seen(const Pass *pass, const Light *light, bool lamp, Ray ray,
                        Value range) {
    const Scene *scene = pass->scene;
    Value x, y;
    map_disk(pass->random[3], pass->random[0], &x, &y);
    const Value soft = v_f(light->softness);
    const Value3 shift = { v_mul(x, soft), v_f(0), v_mul(y, soft) };
    const Ray bent = { ray.origin, v3_unit(v3_add(ray.direction, shift)) };
    const Value3 inverse = invert(bent.direction);

    Value seen = v_f(1);
    for (size_t i = 0; i < scene->object_count; ++i) {
        const Object *object = &scene->objects[i];
        if (lamp && surrounds(object, light->position))
            continue;
        if (object->kind == OBJECT_SPHERE) {
            seen = v_mul(seen, sphere_shade(object, ray, range, light->softness));
        } else {
            Value ahead;
            const Value distance = meet_box(object, bent, inverse, &ahead);
            const Value blocked = v_and(ahead, v_lt(distance, range));
            seen = v_select(blocked, v_f(0), seen);
        }
    }
    return seen;
}

/* Part of the sky that the objects leave open above a point (boxes count as
 * spheres). */
static Value sky_seen(const Scene *scene, Value3 point, Value3 normal) {
    Value seen = v_f(1);
    for (size_t i = 0; i < scene->object_count; ++i) {
        const double *half = scene->objects[i].half;
        const double radius = cbrt(half[0] * half[1] * half[2]);
        const Value3 to = v3_sub(v3_of(scene->objects[i].center), point);
        const Value square = v_max(v3_dot(to, to), v_f(radius * radius));
        const Value facing = v_max(v3_dot(to, normal), v_f(0));
        const Value covered = v_div(v_mul(facing, v_f(radius * radius)),
                                    v_mul(square, v_sqrt(square)));
        seen = v_mul(seen, v_sub(v_f(1), covered));
    }
    return seen;
}

/* Light of the sky and of the sun's disk in a direction. */
static Value3 sky_color(const Scene *scene, Value3 direction) {
    const Value height = v_sqrt(v_clamp(direction.y, 0, 1));
    Value3 color = v3_mix(v3_of(scene->horizon), v3_of(scene->zenith), height);
    if (scene->has_sun) {
        const Light *sun = &scene->sun;
        const Value facing = v_max(v3_dot(direction, v3_of(sun->position)), v_f(0));
        const double edge = sun->softness * sun->softness / 2;
        const Value disk = v_smoothstep(v_div(v_sub(facing, v_f(1 - edge)),
                                              v_f(edge * 0.5)));
        Value glow = v_mul(v_square(facing, 3), v_f(0.06));
        glow = v_fma(v_square(facing, 6), v_f(0.15), glow);
        glow = v_fma(disk, v_f(6), glow);
        color = v3_fma(v3_of(sun->color), glow, color);
    }
    return color;
}

/* Diffuse light and highlight that one light adds at a point. */
static void add_light(const Pass *pass, const Light *light, bool lamp, Hit hit,
                      Value3 view, Value gloss, Value3 *diffuse, Value3 *highlight) {
    Value3 direction = v3_of(light->position);
    Value range = v_f(FAR_AWAY), strength = v_f(1);
    if (lamp) {
        const Value3 to = v3_sub(direction, hit.point);
        const Value square = v3_dot(to, to);
        range = v_sqrt(square);
        strength = v_div(strength, square);
        direction = v3_scale(to, v_div(v_f(1), range));
    }

    const Ray ray = { v3_fma(hit.normal, v_f(2e-3), hit.point), direction };
    const Value facing = v_max(v3_dot(hit.normal, direction), v_f(0));
    const Value seen = v_mul(light_seen(pass, light, lamp, ray, range), strength);
    const Value3 arriving = v3_scale(v3_of(light->color), v_mul(facing, seen));
    *diffuse = v3_add(*diffuse, arriving);

    /* The cosine to the power 2^gloss; two powers and a mix stand for all of them. */
    const Value3 middle = v3_unit(v3_sub(direction, view));
    const Value cosine = v_max(v3_dot(hit.normal, middle), v_f(0));
    const Value dull = v_square(cosine, 4), sharp = v_mul(v_square(cosine, 9), v_f(6));
    const Value shine = v_mix(dull, sharp, v_mul(gloss, v_f(1.0 / 12)));
    const Value amount = v_mul(shine, v_mul(gloss, v_f(1.0 / 12)));
    *highlight = v3_fma(arriving, amount, *highlight);
}

/* Color seen along a ray that hit something; 'mirrored' is what its mirror direction
 * shows. */
static Value3 shade(const Pass *pass, Ray ray, Hit hit, Value3 mirrored) {
    const Scene *scene = pass->scene;
    const Tables *tables = &pass->tables;
    const Value3 color = look_up3(tables->color, hit.id);
    const Value metal = v_gather(tables->metal, hit.id);
    const Value gloss = v_gather(tables->gloss, hit.id);

    const Value upward = v_fma(hit.normal.y, v_f(0.5), v_f(0.5));
    const Value3 below = v3_scale(v3_of(scene->horizon), v_f(0.25));
    const Value3 above = v3_scale(v3_add(v3_of(scene->zenith), v3_of(scene->horizon)),
                                  v_f(0.5));
    const Value open = sky_seen(scene, hit.point, hit.normal);
    Value3 diffuse = v3_scale(v3_mix(below, above, upward), v_mul(open, v_f(0.55)));
    Value3 highlight = v3_f(0, 0, 0);
    if (scene->has_sun)
        add_light(pass, &scene->sun, false, hit, ray.direction, gloss, &diffuse,
                  &highlight);
    for (size_t i = 0; i < scene->light_count; ++i)
        add_light(pass, &scene->lights[i], true, hit, ray.direction, gloss, &diffuse,
                  &highlight);

    /* Schlick's approximation of the Fresnel reflection. */
    const Value cosine = v_clamp(v_neg(v3_dot(hit.normal, ray.direction)), 0, 1);
    const Value away = v_sub(v_f(1), cosine);
    const Value base = v_gather(tables->mirror, hit.id);
    const Value grazing = v_mul(v_square(away, 2), away);
    const Value rise = v_mul(grazing, v_min(v_mul(base, v_f(4)), v_sub(v_f(1), base)));
    const Value reflect = v_add(base, rise);
    const Value3 tint = v3_mix(v3_f(1, 1, 1), color, metal);

    const Value matte = v_mul(v_sub(v_f(1), reflect), v_sub(v_f(1), metal));
    Value3 result = v3_scale(v3_mul(color, diffuse), matte);
    result = v3_add(result, v3_scale(v3_mul(mirrored, tint), reflect));
    result = v3_add(result, v3_mul(highlight, tint));
    return v3_fma(color, v_gather(tables->glow, hit.id), result);
}

/* The mirror direction, starting just above the surface. */
static Ray mirror_ray(Ray ray, Hit hit) {
    const Value twice = v_mul(v3_dot(hit.normal, ray.direction), v_f(-2));
    return (Ray) { v3_fma(hit.normal, v_f(2e-3), hit.point),
                   v3_fma(hit.normal, twice, ray.direction) };
}

/* Haze: the farther, the more a color turns into that of the horizon. */
static Value3 fade(const Scene *scene, Hit hit, Value3 color) {
    const Value ratio = v_mul(hit.distance, v_f(1 / scene->fog));
    const Value kept = v_div(v_f(1), v_fma(ratio, ratio, v_f(1)));
    return v3_mix(v3_of(scene->horizon), color, kept);
}

/* One sample of all pixels. */
static Value3 trace_pass(const Pass *pass, const Options *options, Value pixel) {
    const Scene *scene = pass->scene;
    const Ray first = camera_ray(pass, options, pixel);
    const Hit hit = trace_ray(pass, first);
    const Ray second = mirror_ray(first, hit);
    const Hit other = trace_ray(pass, second);

    const Value3 last = sky_color(scene, mirror_ray(second, other).direction);
    const Value3 there = fade(scene, other, shade(pass, second, other, last));
    const Value3 mirrored = v3_select(other.found, there,
                                      sky_color(scene, second.direction));
    const Value3 here = fade(scene, hit, shade(pass, first, hit, mirrored));
    return v3_select(hit.found, here, sky_color(scene, first.direction));
}

/* -------------------------------------------------------------- the picture */

/* Put one number of each id into memory. */
static uint32_t upload(const double *values, size_t count) {
    float entries[SCENE_OBJECTS + 2];
    for (size_t i = 0; i < count; ++i)
        entries[i] = (float) values[i];
    return expr_own(jit_var_mem_copy(JitBackendLLVM, VarTypeFloat32, entries, count));
}

static Tables build_tables(const Scene *scene) {
    enum { ROWS = 13 };
    static double rows[ROWS][SCENE_OBJECTS + 2];
    bool boxes[SCENE_OBJECTS + 2];
    const size_t count = scene->object_count + 2;

    for (size_t i = 0; i < count; ++i) {
        const bool is_ground = i >= scene->object_count;
        const Object *object = is_ground ? NULL : &scene->objects[i];
        const size_t which = is_ground ? scene->ground_material[i - scene->object_count]
                                       : object->material;
        const Material *material = &scene->materials[which];
        boxes[i] = object && object->kind == OBJECT_BOX;
        for (int k = 0; k < 3; ++k) {
            rows[k][i] = object ? object->center[k] : 0;
            rows[3 + k][i] = object ? 1 / object->half[k] : 1;
            rows[6 + k][i] = material->color[k];
        }
        rows[9][i] = material->mirror;
        rows[10][i] = material->metal;
        rows[11][i] = material->gloss;
        rows[12][i] = material->glow;
    }

    uint32_t at[ROWS];
    for (int k = 0; k < ROWS; ++k)
        at[k] = upload(rows[k], count);
    return (Tables) {
        .center = { at[0], at[1], at[2] }, .scale = { at[3], at[4], at[5] },
        .color = { at[6], at[7], at[8] }, .mirror = at[9], .metal = at[10],
        .gloss = at[11], .glow = at[12],
        .is_box = expr_own(jit_var_mem_copy(JitBackendLLVM, VarTypeBool, boxes, count))
    };
}

/* Evaluate three sums together and make them the owned variables 'sums'. */
static bool evaluate(Value3 value, uint32_t sums[3]) {
    const Value parts[3] = { value.x, value.y, value.z };
    for (int i = 0; i < 3; ++i) {
        if (!parts[i])
            return false;
        jit_var_schedule(parts[i]);
    }
    jit_error_clear();
    if (!jit_eval() && jit_error() != JIT_OK)
        return report_error("evaluation");
    for (int i = 0; i < 3; ++i) {
        jit_var_dec_ref(sums[i]);
        sums[i] = v_keep(parts[i]);
    }
    return true;
}

/* All passes. Returns the sums of all samples in 'sums'. */
static bool render_passes(const Scene *scene, const Options *options, uint32_t sums[3],
                          Report *report) {
    const size_t count = (size_t) options->width * options->height;
    const bool talk = isatty(STDERR_FILENO);
    const float zero = 0;
    for (int i = 0; i < 3; ++i) {
        sums[i] = jit_var_literal(JitBackendLLVM, VarTypeFloat32, &zero, count, 1);
        if (!sums[i])
            return report_error("picture");
    }

    bool ok = true;
    for (uint32_t sample = 0; ok && sample < options->samples; ++sample) {
        report_resume(report);
        Pass pass = { .scene = scene, .tables = build_tables(scene) };
        const Value pixel = expr_own(jit_var_counter(JitBackendLLVM, count));
        draw_random(&pass, pixel, sample);
        const Value3 before = { sums[0], sums[1], sums[2] };
        const Value3 after = v3_add(before, trace_pass(&pass, options, pixel));
        report_traced(report);

        ok = evaluate(after, sums);
        expr_end();
        ok = ok && jit_sync_thread();
        if (talk)
            fprintf(stderr, "\r  pass %u of %u", sample + 1, options->samples);
    }
    if (talk)
        fprintf(stderr, "\r                        \r");
    return ok;
}

/* A curve that bends like film (a quotient of parabolas, after ACES), then gamma 2. */
static Value develop(Value sum, double factor) {
    const Value a = v_mul(sum, v_f(factor));
    const Value top = v_mul(a, v_fma(a, v_f(2.51), v_f(0.03)));
    const Value bottom = v_fma(a, v_fma(a, v_f(2.43), v_f(0.59)), v_f(0.14));
    const Value bright = v_sqrt(v_clamp(v_div(top, bottom), 0, 1));
    return v_cast(v_fma(bright, v_f(255), v_f(0.5)), VarTypeUInt32);
}

/* Pack the three sums into pixels and write the file. */
static bool write_picture(const Scene *scene, const Options *options,
                          const uint32_t sums[3], Report *report) {
    report_resume(report);
    const double factor = scene->exposure / options->samples;
    const Value red = develop(sums[0], factor), green = develop(sums[1], factor);
    const Value blue = develop(sums[2], factor);
    const Value packed = v_or(v_or(red, v_shl(green, v_u(8))), v_shl(blue, v_u(16)));
    report_traced(report);
    if (!packed)
        return false;

    void *pixels = NULL;
    const Value stored = expr_own(jit_var_data(packed, &pixels));
    if (!stored)
        return false;
    report_print(report, options->output);
    const Picture picture = { options->width, options->height, pixels };
    return picture_write(&picture, options->output);
}

static bool render(const Scene *scene, const Options *options) {
    uint32_t sums[3] = { 0, 0, 0 };
    Report report;
    report_start(&report);
    bool ok = render_passes(scene, options, sums, &report);
    ok = ok && write_picture(scene, options, sums, &report);
    expr_end();
    for (int i = 0; i < 3; ++i)
        jit_var_dec_ref(sums[i]);
    return ok;
}

/* ------------------------------------------------------------ command line */

static bool parse_options(int argc, char **argv, Options *options) {
    *options = (Options) { .width = 1024, .samples = 16 };
    for (int i = 1; i < argc; ++i) {
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--size") == 0) {
            if (!parse_count(next, "--size", 8, 8192, &options->width))
                return false;
            ++i;
        } else if (strcmp(argv[i], "--height") == 0) {
            if (!parse_count(next, "--height", 8, 8192, &options->height))
                return false;
            ++i;
        } else if (strcmp(argv[i], "--samples") == 0) {
            if (!parse_count(next, "--samples", 1, 4096, &options->samples))
                return false;
            ++i;
        } else if (argv[i][0] == '-') {
            fprintf(stderr, "expected --size, --height or --samples, found '%s'\n",
                    argv[i]);
            return false;
        } else if (!options->scene) {
            options->scene = argv[i];
        } else if (!options->output) {
            options->output = argv[i];
        } else {
            fprintf(stderr, "expected two file names, found '%s' too\n", argv[i]);
            return false;
        }
    }
    if (!options->height)
        options->height = options->width;
    if (!options->output)
        fprintf(stderr, "usage: render SCENE.txt OUTPUT.png [--size N] [--height N] "
                "[--samples N]\n");
    return options->output != NULL;
}

int main(int argc, char **argv) {
    static Scene scene;
    Options options;
    if (!parse_options(argc, argv, &options) || !scene_read(&scene, options.scene))
        return 2;
    if (!jit_init(JitBackendLLVM)) {
        report_error("render");
        return 1;
    }

    const bool ok = render(&scene, &options);
    return jit_shutdown(0) == 0 && ok ? 0 : 1;
}
