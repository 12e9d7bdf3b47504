/*
 * nvtx.h -- NVIDIA's tools extension: marks and ranges for its profilers
 */
#ifndef WATCH_NVTX_H
#define WATCH_NVTX_H

/** Functions of NVTX. */
typedef struct Nvtx {
    void (*mark)(const char *message);
    int (*push)(const char *message);
    int (*pop)(void);
} Nvtx;

/** If a collector is attached, load the library that passes events on to it. NULL: none
 *  is, or the library was not found ('*problem' says so, static, else NULL). Once a
 *  process; the caller sees to that. */
const Nvtx *nvtx_load(const char **problem);

#endif
