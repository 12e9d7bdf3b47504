/*
 * sim_space.h -- where addresses lead to, and what may not be done there
 *
 * An access of a lane is looked up once as a Place; its elements are then read and
 * written one by one, with whether they are defined.
 */
#ifndef CUDA_SIM_SIM_SPACE_H
#define CUDA_SIM_SIM_SPACE_H

#include "sim_memory.h"
#include "sim_warp.h"

typedef struct Place {
    Space space;
    uint64_t address; /* in its space; of the host for global and constant memory */
    SimAllocation *allocation; /* global memory: whose it is; NULL: not known */
} Place;

/** Check an access to this number of bytes. False: a fault. */
bool space_find(Warp *w, const Insn *i, uint32_t lane, uint64_t address, uint32_t bytes,
                Place *place);
/** An element of up to eight bytes, 'at' bytes behind the place. */
uint64_t space_read(Warp *w, const Insn *i, uint32_t lane, const Place *place,
                    uint32_t at, uint32_t bytes, bool *known);
void space_write(Warp *w, const Insn *i, uint32_t lane, const Place *place, uint32_t at,
                 uint32_t bytes, uint64_t value, bool known);
/** Memory that an atomic operation changes, after all checks. NULL: a fault. */
void *space_atomic(Warp *w, const Insn *i, uint32_t lane, const Place *place,
                   uint32_t at, uint32_t bytes, bool needs_value);
/** Bytes of a parameter or of local memory, for calls. */
void space_copy_local(Warp *w, uint32_t lane, uint32_t to, uint32_t from,
                      uint32_t bytes);
void space_put_local(Warp *w, uint32_t lane, uint32_t to, uint32_t bytes,
                     uint64_t value, bool known);
uint64_t space_get_local(Warp *w, uint32_t lane, uint32_t from, uint32_t bytes,
                         bool *known);
/** Make room for this many bytes of local memory of each thread. */
void space_grow_local(Warp *w, uint32_t bytes);

/* ---- sim_race.c: accesses to shared memory */

typedef enum RaceKind {
    RACE_READ,
    RACE_STRONG_READ, /* .volatile and the like: no race with its own kind */
    RACE_WRITE,
    RACE_ATOMIC /* and strong stores */
} RaceKind;
Race *race_new(size_t granules);
/** Note an access to bytes of shared memory; a fault if it races with another one. */
bool race_check(Warp *w, uint32_t lane, uint64_t offset, uint32_t bytes, RaceKind kind);

/* ---- sim_buffer.c: stores that other blocks do not see yet */

Buffer *sim_buffer_new(void);
void sim_buffer_put(Buffer *buffer, uint64_t address, uint32_t bytes, uint64_t value,
                SimAllocation *allocation);
/** Replace those bytes of a value that are in the buffer; returns the mask of them. */
uint32_t sim_buffer_get(const Buffer *buffer, uint64_t address, uint32_t bytes,
                    uint64_t *value);
/** Write what there is of the eight bytes around an address. */
void sim_buffer_flush_word(Buffer *buffer, uint64_t address);
void sim_buffer_flush(Buffer *buffer);
/** Write a part of it. */
void sim_buffer_leak(Buffer *buffer, Run *run);

/** Plain accesses to global memory, of 1, 2, 4 or 8 aligned bytes. */
uint64_t space_load_global(uint64_t address, uint32_t bytes);
void space_store_global(uint64_t address, uint32_t bytes, uint64_t value);

/* ---- sim_lines.c: what is read by .nc must not be written */

typedef struct LineTable LineTable;
LineTable *lines_new(void);
void lines_delete(LineTable *lines);
bool lines_check(Warp *w, uint32_t lane, uint64_t address, uint32_t bytes,
                 bool written);

#endif
