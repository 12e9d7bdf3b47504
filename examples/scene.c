/* scene.c -- see scene.h */
#include "scene.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The place in the file, for messages, and what is left of the line. */
typedef struct Parser {
    const char *path;
    unsigned line;
    char *rest;
} Parser;

static bool complain(const Parser *parser, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s:%u: ", parser->path, parser->line);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return false;
}

static char *next_word(Parser *parser) {
    char *word = parser->rest + strspn(parser->rest, " \t\r\n");
    char *end = word + strcspn(word, " \t\r\n");
    parser->rest = *end ? end + 1 : end;
    *end = '\0';
    return *word ? word : NULL;
}

static bool read_numbers(Parser *parser, const char *what, double *out, size_t count,
                         double low, double high) {
    for (size_t i = 0; i < count; ++i) {
        const char *word = next_word(parser);
        char *end = NULL;
        const double value = word ? strtod(word, &end) : 0;
        if (!word || *end || !(value >= low && value <= high))
            return complain(parser, "%s: expected a number from %g to %g, found '%s'",
                            what, low, high, word ? word : "the end of the line");
        out[i] = value;
    }
    return true;
}

static bool read_point(Parser *parser, const char *what, double out[3]) {
    return read_numbers(parser, what, out, 3, -1e4, 1e4);
}

static bool read_color(Parser *parser, const char *what, double out[3]) {
    return read_numbers(parser, what, out, 3, 0, 1e4);
}

static bool read_material(Parser *parser, const Scene *scene, size_t *out) {
    const char *word = next_word(parser);
    for (size_t i = 0; word && i < scene->material_count; ++i) {
        if (strcmp(word, scene->materials[i].name) == 0) {
            *out = i;
            return true;
        }
    }
    return complain(parser, "expected the name of a material defined above, found '%s'",
                    word ? word : "the end of the line");
}

static bool parse_material(Parser *parser, Scene *scene) {
    if (scene->material_count == SCENE_MATERIALS)
        return complain(parser, "more than %d materials", SCENE_MATERIALS);

    Material *material = &scene->materials[scene->material_count];
    const char *name = next_word(parser);
    if (!name || strlen(name) >= sizeof(material->name))
        return complain(parser, "expected a name of 1 to %zu letters",
                        sizeof(material->name) - 1);
    memcpy(material->name, name, strlen(name) + 1);

    if (!read_color(parser, "color", material->color) ||
        !read_numbers(parser, "mirror", &material->mirror, 1, 0, 1) ||
        !read_numbers(parser, "metal", &material->metal, 1, 0, 1) ||
        !read_numbers(parser, "gloss", &material->gloss, 1, 0, 12))
        return false;

    material->glow = 0;
    if (parser->rest[strspn(parser->rest, " \t\r\n")] &&
        !read_numbers(parser, "glow", &material->glow, 1, 0, 100))
        return false;
    ++scene->material_count;
    return true;
}

static bool parse_object(Parser *parser, Scene *scene, ObjectKind kind) {
    if (scene->object_count == SCENE_OBJECTS)
        return complain(parser, "more than %d objects", SCENE_OBJECTS);

    Object *object = &scene->objects[scene->object_count];
    object->kind = kind;
    const size_t sizes = kind == OBJECT_SPHERE ? 1 : 3;
    if (!read_point(parser, "center", object->center) ||
        !read_numbers(parser, "size", object->half, sizes, 1e-3, 1e3) ||
        !read_material(parser, scene, &object->material))
        return false;
    if (kind == OBJECT_SPHERE)
        object->half[1] = object->half[2] = object->half[0];
    ++scene->object_count;
    return true;
}

static bool parse_light(Parser *parser, Light *light) {
    return read_point(parser, "position", light->position) &&
           read_color(parser, "color", light->color) &&
           read_numbers(parser, "softness", &light->softness, 1, 1e-3, 2);
}

static bool parse_sun(Parser *parser, Scene *scene) {
    if (!parse_light(parser, &scene->sun))
        return false;
    double *p = scene->sun.position;
    const double length = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
    if (length < 1e-6)
        return complain(parser, "sun: expected a direction other than 0 0 0");
    for (int i = 0; i < 3; ++i)
        p[i] /= length;
    scene->has_sun = true;
    return true;
}

static bool parse_ground(Parser *parser, Scene *scene) {
    scene->has_ground = true;
    return read_numbers(parser, "height", &scene->ground_y, 1, -1e4, 1e4) &&
           read_material(parser, scene, &scene->ground_material[0]) &&
           read_material(parser, scene, &scene->ground_material[1]) &&
           read_numbers(parser, "size", &scene->ground_size, 1, 1e-2, 1e3);
}

static bool parse_statement(Parser *parser, Scene *scene, const char *word) {
    if (strcmp(word, "camera") == 0)
        return read_point(parser, "from", scene->eye) &&
               read_point(parser, "looking at", scene->target) &&
               read_numbers(parser, "angle", &scene->angle, 1, 1, 150);
    if (strcmp(word, "lens") == 0)
        return read_numbers(parser, "radius", &scene->lens, 1, 0, 10);
    if (strcmp(word, "sky") == 0)
        return read_color(parser, "zenith", scene->zenith) &&
               read_color(parser, "horizon", scene->horizon);
    if (strcmp(word, "sun") == 0)
        return parse_sun(parser, scene);
    if (strcmp(word, "light") == 0) {
        if (scene->light_count == SCENE_LIGHTS)
            return complain(parser, "more than %d lights", SCENE_LIGHTS);
        return parse_light(parser, &scene->lights[scene->light_count++]);
    }
    if (strcmp(word, "fog") == 0)
        return read_numbers(parser, "distance", &scene->fog, 1, 1, 1e6);
    if (strcmp(word, "exposure") == 0)
        return read_numbers(parser, "factor", &scene->exposure, 1, 1e-3, 1e3);
    if (strcmp(word, "material") == 0)
        return parse_material(parser, scene);
    if (strcmp(word, "sphere") == 0)
        return parse_object(parser, scene, OBJECT_SPHERE);
    if (strcmp(word, "box") == 0)
        return parse_object(parser, scene, OBJECT_BOX);
    if (strcmp(word, "ground") == 0)
        return parse_ground(parser, scene);
    return complain(parser, "expected camera, lens, sky, sun, light, fog, exposure, "
                    "material, sphere, box or ground, found '%s'", word);
}

static bool parse_line(Parser *parser, Scene *scene) {
    parser->rest[strcspn(parser->rest, "#")] = '\0';
    const char *word = next_word(parser);
    if (!word)
        return true;
    if (!parse_statement(parser, scene, word))
        return false;
    const char *more = next_word(parser);
    return !more || complain(parser, "expected the end of the line, found '%s'", more);
}

bool scene_read(Scene *scene, const char *path) {
    *scene = (Scene) { .eye = { 0, 1, 5 }, .angle = 45, .fog = 1e6, .exposure = 1,
                       .zenith = { 0.2, 0.4, 0.8 }, .horizon = { 0.8, 0.9, 1.0 } };
    FILE *file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "cannot read the scene '%s': %s\n", path, strerror(errno));
        return false;
    }

    char line[512];
    bool ok = true;
    Parser parser = { .path = path };
    while (ok && fgets(line, sizeof(line), file)) {
        ++parser.line;
        parser.rest = line;
        if (!strchr(line, '\n') && strlen(line) == sizeof(line) - 1)
            ok = complain(&parser, "the line is longer than %zu letters",
                          sizeof(line) - 2);
        else
            ok = parse_line(&parser, scene);
    }
    if (ok && ferror(file))
        ok = complain(&parser, "cannot read further: %s", strerror(errno));
    fclose(file);

    if (ok && scene->object_count + scene->has_ground == 0)
        ok = complain(&parser, "the scene is empty: expected a sphere, box or ground");
    const double *a = scene->eye, *b = scene->target;
    if (ok && hypot(a[0] - b[0], a[2] - b[2]) < 1e-6)
        ok = complain(&parser, "camera: expected not to look straight up or down");
    return ok;
}
