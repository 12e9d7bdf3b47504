/*
 * sim_space.c -- where addresses lead to
 *
 * Local memory of the threads of a warp is interleaved: eight bytes of each lane in
 * turn, so that it grows without moving. Its flags of defined bytes lie the same way.
 */
#include "sim_space.h"

#include "sim_exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define SPACE_WATCHED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SPACE_WATCHED 1
#endif
#endif
#ifdef SPACE_WATCHED
void *__asan_region_is_poisoned(void *begin, size_t size);
#endif

/* ---- global memory */

uint64_t space_load_global(uint64_t address, uint32_t bytes)
{
    void *p = (void *) (uintptr_t) address;
    switch (bytes) {
    case 1:
        return __atomic_load_n((uint8_t *) p, __ATOMIC_RELAXED);
    case 2:
        return __atomic_load_n((uint16_t *) p, __ATOMIC_RELAXED);
    case 4:
        return __atomic_load_n((uint32_t *) p, __ATOMIC_RELAXED);
    default:
        return __atomic_load_n((uint64_t *) p, __ATOMIC_RELAXED);
    }
}

void space_store_global(uint64_t address, uint32_t bytes, uint64_t value)
{
    void *p = (void *) (uintptr_t) address;
    switch (bytes) {
    case 1:
        __atomic_store_n((uint8_t *) p, (uint8_t) value, __ATOMIC_RELAXED);
        break;
    case 2:
        __atomic_store_n((uint16_t *) p, (uint16_t) value, __ATOMIC_RELAXED);
        break;
    case 4:
        __atomic_store_n((uint32_t *) p, (uint32_t) value, __ATOMIC_RELAXED);
        break;
    default:
        __atomic_store_n((uint64_t *) p, value, __ATOMIC_RELAXED);
        break;
    }
}

static bool within(const Variable *v, uint64_t address, uint32_t bytes, Space space)
{
    uint64_t at = address - (uintptr_t) v->data;
    return at < v->bytes && bytes <= v->bytes - at && v->space == space;
}

static bool in_variable(Run *run, uint64_t address, uint32_t bytes, Space space)
{
    const SimModule *m = run->module;
    if (run->variable && within(run->variable, address, bytes, space))
        return true;
    for (uint32_t k = 0; k < m->variable_count; k++) {
        if (within(m->variables[k], address, bytes, space)) {
            run->variable = m->variables[k];
            return true;
        }
    }
    return false;
}

static const char *access_name(const Insn *i)
{
    return i->exec == access_ld   ? "a load"
           : i->exec == access_st ? "a store"
                                  : "an access";
}

static bool outside(Warp *w, const Insn *i, uint32_t lane, uint64_t address,
                    uint32_t bytes, const char *what)
{
    sim_fault(w, lane, "%s of %u bytes at 0x%llx, %s", access_name(i), bytes,
              (unsigned long long) address, what);
    return false;
}

/* Memory of the host that is not in a SimMemory. */
static bool find_in_host(Warp *w, const Insn *i, uint32_t lane, uint64_t address,
                         uint32_t bytes)
{
    if (address < 4096 || address >> 56)
        return outside(w, i, lane, address, bytes, "where no memory is");
#ifdef SPACE_WATCHED
    void *wrong = __asan_region_is_poisoned((void *) (uintptr_t) address, bytes);
    if (wrong)
        return outside(w, i, lane, address, bytes, "outside of any block of memory");
#endif
    return true;
}

static bool find_global(Warp *w, const Insn *i, uint32_t lane, uint64_t address,
                        uint32_t bytes, Place *place)
{
    Run *run = w->run;
    if (!run->launch->memory)
        return find_in_host(w, i, lane, address, bytes);
    SimAllocation **known = &run->found[(uintptr_t) i / sizeof(Insn) % RUN_FOUND];
    SimAllocation *a = *known;
    if (run->variable && within(run->variable, address, bytes, SPACE_GLOBAL))
        return true;
    if (!a || address - (uintptr_t) a->begin >= a->bytes) {
        a = memory_find(run->launch->memory, address);
        if (a)
            *known = a;
    }
    if (!a) {
        bool reads = i->exec == access_ld;
        if (in_variable(run, address, bytes, SPACE_GLOBAL) ||
            (reads && in_variable(run, address, bytes, SPACE_CONST)))
            return true;
        return outside(w, i, lane, address, bytes, "outside of all allocations");
    }
    if (memory_is_released(a))
        return outside(w, i, lane, address, bytes,
                       "in an allocation that was released");
    if (bytes > a->bytes - (address - (uintptr_t) a->begin))
        return outside(w, i, lane, address, bytes, "beyond the end of an allocation");
    place->allocation = a;
    return true;
}

/* ---- the other spaces */

/* A byte of Block.shared. */
static uint64_t shared_index(const Run *run, uint64_t offset)
{
    return offset >= DYNAMIC_SHARED ? offset - DYNAMIC_SHARED + run->shared_static
                                    : offset;
}

static bool find_shared(Warp *w, const Insn *i, uint32_t lane, Place *place,
                        uint32_t bytes)
{
    const Run *run = w->run;
    uint64_t at = place->address;
    uint64_t end = at >= DYNAMIC_SHARED
                       ? DYNAMIC_SHARED + run->shared_bytes - run->shared_static
                       : run->shared_static;
    if (at >= end || bytes > end - at)
        return outside(w, i, lane, at, bytes, "outside of shared memory");
    place->address = shared_index(run, at);
    return true;
}

void space_grow_local(Warp *w, uint32_t bytes)
{
    w->local_bytes = bytes > w->local_bytes ? bytes : w->local_bytes;
    if (bytes <= w->local_room)
        return;
    uint32_t size = (bytes + 63) & ~63u;
    size_t old = (size_t) w->local_room * SIM_WARP, all = (size_t) size * SIM_WARP;
    w->locals = sim_resize(w->locals, all);
    w->locals_defined = sim_resize(w->locals_defined, all);
    memset(w->locals + old, 0, all - old);
    memset(w->locals_defined + old, 0, all - old);
    w->local_room = size;
}

static size_t local_index(uint32_t lane, uint64_t at)
{
    return ((size_t) (at / 8) * SIM_WARP + lane) * 8 + at % 8;
}

static bool find_param(Warp *w, const Insn *i, uint32_t lane, uint64_t at,
                       uint32_t bytes)
{
    uint64_t end = w->run->launch->param_bytes;
    if (at >= end || bytes > end - at)
        return outside(w, i, lane, at, bytes, "outside of the parameters");
    return true;
}

static void classify(const Insn *i, uint64_t address, Place *place)
{
    place->space = i->space;
    place->address = address;
    place->allocation = NULL;
    if (i->space != SPACE_GENERIC)
        return;
    uint64_t window = address & ~(WINDOW_BYTES - 1);
    place->space = window == WINDOW_SHARED  ? SPACE_SHARED
                   : window == WINDOW_LOCAL ? SPACE_LOCAL
                   : window == WINDOW_PARAM ? SPACE_PARAM
                                            : SPACE_GLOBAL;
    if (place->space != SPACE_GLOBAL)
        place->address = address - window;
}

bool space_find(Warp *w, const Insn *i, uint32_t lane, uint64_t address, uint32_t bytes,
                Place *place)
{
    classify(i, address, place);
    if (place->address & (bytes - 1)) {
        sim_fault(w, lane, "%s of %u bytes at 0x%llx, which is misaligned",
                  access_name(i), bytes, (unsigned long long) place->address);
        return false;
    }
    switch (place->space) {
    case SPACE_SHARED:
        return find_shared(w, i, lane, place, bytes);
    case SPACE_LOCAL:
        if (place->address >= w->local_bytes || bytes > w->local_bytes - place->address)
            return outside(w, i, lane, place->address, bytes,
                           "outside of local memory");
        return true;
    case SPACE_PARAM:
        return find_param(w, i, lane, place->address, bytes);
    case SPACE_CONST:
        if (!in_variable(w->run, place->address, bytes, SPACE_CONST))
            return outside(w, i, lane, place->address, bytes,
                           "outside of constant memory");
        return true;
    default:
        return find_global(w, i, lane, place->address, bytes, place);
    }
}

/* ---- elements */

static uint64_t read_global(Warp *w, const Insn *i, uint32_t lane, const Place *place,
                            uint64_t address, uint32_t bytes, bool *known)
{
    Run *run = w->run;
    if (run->lines && i->flags & FLAG_NC &&
        !lines_check(w, lane, address, bytes, false))
        return 0;
    uint64_t value = space_load_global(address, bytes);
    uint32_t own =
        run->buffered ? sim_buffer_get(w->block->buffer, address, bytes, &value) : 0;
    *known = true;
    if (place->allocation && own != (1u << bytes) - 1) {
        for (uint32_t k = 0; own && k < bytes; k++)
            *known &=
                own >> k & 1 || memory_is_written(place->allocation, address + k, 1);
        if (!own)
            *known = memory_is_written(place->allocation, address, bytes);
    }
    return value;
}

static uint64_t read_flagged(const uint8_t *data, const uint8_t *defined, size_t at,
                             uint32_t bytes, bool *known)
{
    uint64_t value = 0, flags = 0, want = UINT64_C(0x0101010101010101);
    memcpy(&value, data + at, bytes);
    memcpy(&flags, defined + at, bytes);
    *known = flags == (bytes < 8 ? want & ((UINT64_C(1) << bytes * 8) - 1) : want);
    return value;
}

uint64_t space_read(Warp *w, const Insn *i, uint32_t lane, const Place *place,
                    uint32_t at, uint32_t bytes, bool *known)
{
    uint64_t address = place->address + at, value = 0;
    switch (place->space) {
    case SPACE_SHARED:
        if (!race_check(w, lane, address, bytes,
                        i->flags & FLAG_STRONG ? RACE_STRONG_READ : RACE_READ))
            return 0;
        return read_flagged(w->block->shared, w->block->shared_defined, address, bytes,
                            known);
    case SPACE_LOCAL:
        return read_flagged(w->locals, w->locals_defined, local_index(lane, address),
                            bytes, known);
    case SPACE_PARAM:
        *known = true;
        memcpy(&value, (const uint8_t *) w->run->launch->params + address, bytes);
        return value;
    default:
        return read_global(w, i, lane, place, address, bytes, known);
    }
}

static void write_global(Warp *w, const Insn *i, uint32_t lane, const Place *place,
                         uint64_t address, uint32_t bytes, uint64_t value)
{
    Run *run = w->run;
    if (run->lines && !lines_check(w, lane, address, bytes, true))
        return;
    if (run->buffered && !(i->flags & FLAG_STRONG)) {
        sim_buffer_put(w->block->buffer, address, bytes, value, place->allocation);
        return;
    }
    if (run->buffered)
        sim_buffer_flush_word(w->block->buffer, address);
    space_store_global(address, bytes, value);
    if (place->allocation)
        memory_set_written(place->allocation, address, bytes);
}

void space_write(Warp *w, const Insn *i, uint32_t lane, const Place *place, uint32_t at,
                 uint32_t bytes, uint64_t value, bool known)
{
    uint64_t address = place->address + at;
    switch (place->space) {
    case SPACE_SHARED:
        if (!race_check(w, lane, address, bytes,
                        i->flags & FLAG_STRONG ? RACE_ATOMIC : RACE_WRITE))
            return;
        memcpy(w->block->shared + address, &value, bytes);
        memset(w->block->shared_defined + address, known, bytes);
        return;
    case SPACE_LOCAL: {
        size_t index = local_index(lane, address);
        memcpy(w->locals + index, &value, bytes);
        memset(w->locals_defined + index, known, bytes);
        return;
    }
    case SPACE_PARAM:
    case SPACE_CONST:
        outside(w, i, lane, address, bytes, "in memory that is constant");
        return;
    default:
        if (!known)
            sim_fault(w, lane, "what is stored to global memory was never written");
        else
            write_global(w, i, lane, place, address, bytes, value);
    }
}

void *space_atomic(Warp *w, const Insn *i, uint32_t lane, const Place *place,
                   uint32_t at, uint32_t bytes, bool needs_value)
{
    Run *run = w->run;
    uint64_t address = place->address + at;
    bool known = true;
    void *p = NULL;
    if (place->space == SPACE_SHARED) {
        if (!race_check(w, lane, address, bytes, RACE_ATOMIC))
            return NULL;
        read_flagged(w->block->shared, w->block->shared_defined, address, bytes,
                     &known);
        memset(w->block->shared_defined + address, 1, bytes);
        p = w->block->shared + address;
    } else if (place->space == SPACE_GLOBAL) {
        if (run->lines && !lines_check(w, lane, address, bytes, true))
            return NULL;
        if (run->buffered)
            sim_buffer_flush_word(w->block->buffer, address);
        if (place->allocation) {
            known = memory_is_written(place->allocation, address, bytes);
            memory_set_written(place->allocation, address, bytes);
        }
        p = (void *) (uintptr_t) address;
    } else {
        outside(w, i, lane, address, bytes, "where there are no atomic operations");
        return NULL;
    }
    if (!known && needs_value) {
        sim_fault(w, lane, "an atomic operation on memory that was never written");
        return NULL;
    }
    return p;
}

/* ---- local memory, for calls */

uint64_t space_get_local(Warp *w, uint32_t lane, uint32_t from, uint32_t bytes,
                         bool *known)
{
    return read_flagged(w->locals, w->locals_defined, local_index(lane, from), bytes,
                        known);
}

void space_put_local(Warp *w, uint32_t lane, uint32_t to, uint32_t bytes,
                     uint64_t value, bool known)
{
    size_t index = local_index(lane, to);
    memcpy(w->locals + index, &value, bytes);
    memset(w->locals_defined + index, known, bytes);
}

void space_copy_local(Warp *w, uint32_t lane, uint32_t to, uint32_t from,
                      uint32_t bytes)
{
    for (uint32_t k = 0; k < bytes; k++) {
        bool known;
        uint64_t byte = space_get_local(w, lane, from + k, 1, &known);
        space_put_local(w, lane, to + k, 1, byte, known);
    }
}
