/*
 * leaf_map.c -- see leaf_map.h
 */
#include "python/flow/leaf_map.h"

bool leaf_map_make(LeafMap *places, size_t count)
{
    size_t slots = 2 * PLACES_FEW;
    places->few[0].object = NULL;
    places->slots = NULL;
    if (count <= PLACES_FEW)
        return true;
    while (slots < 2 * count)
        slots *= 2;
    places->mask = slots - 1;
    if (!(places->slots = PyMem_Calloc(slots, sizeof(Place))))
        PyErr_NoMemory();
    return places->slots;
}

void leaf_map_free(LeafMap *places)
{
    PyMem_Free(places->slots);
}

Place *leaf_map_find(LeafMap *places, const PyObject *object)
{
    if (!places->slots) {
        Place *place = places->few;
        while (place->object && place->object != object)
            ++place;
        return place;
    }
    /* The high bits of the product depend on all bits of the address. */
    size_t slot = (size_t) (((uint64_t) (uintptr_t) object * 0x9e3779b97f4a7c15) >> 32);
    while (places->slots[slot & places->mask].object &&
           places->slots[slot & places->mask].object != object)
        ++slot;
    return &places->slots[slot & places->mask];
}

size_t leaf_map_add(LeafMap *places, const PyObject *object, size_t leaf)
{
    Place *place = leaf_map_find(places, object);
    if (!place->object) {
        *place = (Place){ object, leaf };
        if (!places->slots)
            place[1].object = NULL;
    }
    return place->leaf;
}
