/*
 * cu.h -- types and numbers of the CUDA driver's interface
 *
 * Those that the look-alike answers with or is asked for, as NVIDIA documents them
 * (CUDA Driver API, version 12). Handles are pointers that callers never look behind.
 */
#ifndef CUDA_PEER_CU_H
#define CUDA_PEER_CU_H

#include <stddef.h>
#include <stdint.h>

#define CU_EXPORT __attribute__((visibility("default")))

/** Results: name without CUDA_ERROR_ (success: CUDA_), number, what it means. */
#define CU_RESULTS(X) \
    X(INVALID_VALUE, 1, "invalid argument") \
    X(OUT_OF_MEMORY, 2, "out of memory") \
    X(NOT_INITIALIZED, 3, "initialization error") \
    X(NO_DEVICE, 100, "no CUDA-capable device is detected") \
    X(INVALID_DEVICE, 101, "invalid device ordinal") \
    X(INVALID_IMAGE, 200, "device kernel image is invalid") \
    X(INVALID_CONTEXT, 201, "invalid device context") \
    X(NO_BINARY_FOR_GPU, 209, "no kernel image for this device") \
    X(PEER_ACCESS_UNSUPPORTED, 217, "peer access is not supported") \
    X(INVALID_PTX, 218, "a PTX JIT compilation failed") \
    X(UNSUPPORTED_PTX_VERSION, 222, "the provided PTX is of a newer version") \
    X(INVALID_HANDLE, 400, "invalid resource handle") \
    X(NOT_FOUND, 500, "named symbol not found") \
    X(NOT_READY, 600, "device not ready") \
    X(ILLEGAL_ADDRESS, 700, "an illegal memory access was encountered") \
    X(NOT_PERMITTED, 800, "operation not permitted") \
    X(NOT_SUPPORTED, 801, "operation not supported")

typedef enum CUresult {
    CUDA_SUCCESS = 0,
#define CU_RESULT(name, number, text) CUDA_ERROR_##name = number,
    CU_RESULTS(CU_RESULT)
#undef CU_RESULT
} CUresult;

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;

typedef struct Handle Handle;
typedef Handle *CUcontext, *CUstream, *CUevent, *CUmodule, *CUfunction;

/** The stream NULL, and two more that nobody makes. */
#define CU_STREAM_LEGACY ((CUstream) 1)
#define CU_STREAM_PER_THREAD ((CUstream) 2)

enum { CU_STREAM_NON_BLOCKING = 1 };
enum { CU_EVENT_DISABLE_TIMING = 2, CU_EVENT_FLAGS = 7 };

enum {
    CU_JIT_WALL_TIME = 2,
    CU_JIT_INFO_LOG_BUFFER = 3,
    CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
    CU_JIT_ERROR_LOG_BUFFER = 5,
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6
};

enum {
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
    CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9
};

enum {
    CU_POINTER_ATTRIBUTE_CONTEXT = 1,
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
    CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
    CU_POINTER_ATTRIBUTE_HOST_POINTER = 4,
    CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9
};
enum { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2 };

/** What cuLaunchKernel() finds in 'extra'. */
#define CU_LAUNCH_PARAM_END ((void *) 0)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *) 1)
#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void *) 2)

#endif
