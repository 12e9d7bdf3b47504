/*
 * scene.h -- what render.c draws, and the text file it is read from
 *
 * One statement a line, in any order except that a material stands before its first
 * use; '#' starts a comment. Lengths are arbitrary units, y points up, colors are
 * linear red green blue (1 is white paper, lights may be brighter).
 *
 *     camera   x y z   x y z   angle   from, looking at, degrees across the picture
 *     lens     radius                  depth of field, sharp at the point looked at
 *     sky      r g b   r g b           at the zenith, at the horizon
 *     sun      x y z   r g b   softness        towards the sun, light, 0.01 ... 0.2
 *     light    x y z   r g b   softness        a lamp; falls with distance squared
 *     fog      distance                where half of the light is lost in haze
 *     exposure factor
 *     material NAME    r g b   mirror metal gloss [glow]
 *                      mirror: reflection seen straight on, 0 ... 1
 *                      metal: 0 plastic, 1 colored reflections
 *                      gloss: size of highlights, 0 (dull) ... 12
 *                      glow: light of its own, in its color
 *     sphere   x y z   radius          NAME
 *     box      x y z   sx sy sz        NAME    center, half of each edge
 *     ground   y       NAME  NAME      size    a plane of two materials in squares
 */
#ifndef EXAMPLES_SCENE_H
#define EXAMPLES_SCENE_H

#include <stdbool.h>
#include <stddef.h>

enum { SCENE_MATERIALS = 64, SCENE_OBJECTS = 256, SCENE_LIGHTS = 4 };

typedef struct Material {
    char name[32];
    double color[3], mirror, metal, gloss, glow;
} Material;

typedef enum ObjectKind { OBJECT_SPHERE, OBJECT_BOX } ObjectKind;

typedef struct Object {
    ObjectKind kind;
    double center[3];
    double half[3];  /* of each edge; all three are the radius of a sphere */
    size_t material;
} Object;

typedef struct Light {
    double position[3]; /* the direction towards the sun, with length 1 */
    double color[3], softness;
} Light;

typedef struct Scene {
    double eye[3], target[3], angle, lens;
    double zenith[3], horizon[3], fog, exposure;
    bool has_sun, has_ground;
    Light sun;
    double ground_y, ground_size;
    size_t ground_material[2];
    Material materials[SCENE_MATERIALS];
    Object objects[SCENE_OBJECTS];
    Light lights[SCENE_LIGHTS];
    size_t material_count, object_count, light_count;
} Scene;

/** Read a scene file. On failure a message with the line is printed. */
bool scene_read(Scene *scene, const char *path);

#endif
