/*
 * module.h -- modules and their kernels, for launch.c
 */
#ifndef CUDA_PEER_MODULE_H
#define CUDA_PEER_MODULE_H

#include "driver.h"

typedef struct Module {
    Handle handle;
    SimModule *code;
} Module;

typedef struct Function {
    Handle handle;
    const Module *module;
    const SimKernel *kernel;
    uint32_t shared_limit; /* bytes of dynamic shared memory, of a launch */
} Function;

enum { SHARED_DEFAULT = 49152, SHARED_MOST = 101376, THREADS_MOST = 1024 };

#endif
