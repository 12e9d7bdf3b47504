/*
 * leaf_map.c -- see leaf_map.h
 */
#include "python/flow/leaf_map.h"

bool leaf_map_make(LeafMap *map, size_t count)
{
    size_t slots = 2 * LEAF_MAP_FEW;
    map->few[0].object = NULL;
    map->slots = NULL;
    if (count <= LEAF_MAP_FEW)
        return true;
    while (slots < 2 * count)
        slots *= 2;
    map->mask = slots - 1;
    if (!(map->slots = PyMem_Calloc(slots, sizeof(LeafMapEntry))))
        PyErr_NoMemory();
    return map->slots;
}

void leaf_map_free(LeafMap *map)
{
    PyMem_Free(map->slots);
}

LeafMapEntry *leaf_map_find(LeafMap *map, const PyObject *object)
{
    if (!map->slots) {
        LeafMapEntry *place = map->few;
        while (place->object && place->object != object)
            ++place;
        return place;
    }
    /* The high bits of the product depend on all bits of the address. */
    size_t slot = (size_t) (((uint64_t) (uintptr_t) object * 0x9e3779b97f4a7c15) >> 32);
    while (map->slots[slot & map->mask].object &&
           map->slots[slot & map->mask].object != object)
        ++slot;
    return &map->slots[slot & map->mask];
}

size_t leaf_map_add(LeafMap *map, const PyObject *object, size_t leaf)
{
    LeafMapEntry *place = leaf_map_find(map, object);
    if (!place->object) {
        *place = (LeafMapEntry){ object, leaf };
        if (!map->slots)
            place[1].object = NULL;
    }
    return place->leaf;
}
