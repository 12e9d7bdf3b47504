/*
 * memory.c -- memory of the device and the host, copies and patterns
 *
 * Memory of the device is the simulator's, at addresses of this process. That of the
 * host which kernels may access is too; it counts as written from the start, as nobody
 * sees what the host writes there.
 */
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "driver.h"

typedef struct Pinned {
    Handle handle;
    void *data;
} Pinned;

/* ---- allocations */

static CUresult get(void **address, size_t bytes)
{
    if (bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (bytes > driver.memory_size - driver.memory_used)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *address = sim_memory_get(driver.memory, bytes);
    if (!*address)
        return CUDA_ERROR_OUT_OF_MEMORY;
    driver.memory_used += bytes;
    driver.counts.allocations++;
    driver.counts.bytes_allocated += bytes;
    return CUDA_SUCCESS;
}

static CUresult put(void *address)
{
    size_t bytes;
    if (sim_memory_find(driver.memory, address, &bytes) != address || !address)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sim_memory_put(driver.memory, address))
        return CUDA_ERROR_INVALID_VALUE;
    driver.memory_used -= bytes;
    driver.counts.releases++;
    return CUDA_SUCCESS;
}

/* The memory of the host that begins here; NULL. */
static Pinned *pinned_at(const void *data)
{
    for (Handle *at = driver.live[HANDLE_PINNED]; at; at = at->next) {
        if (((Pinned *) at)->data == data)
            return (Pinned *) at;
    }
    return NULL;
}

CU_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
    CUresult result = driver_enter();
    if (result != CUDA_SUCCESS)
        return result;
    if (!address)
        return driver_leave(CUDA_ERROR_INVALID_VALUE);
    void *data = NULL;
    result = get(&data, bytes);
    if (result == CUDA_SUCCESS)
        *address = (uintptr_t) data;
    return driver_leave(result);
}

CU_EXPORT CUresult cuMemFree_v2(CUdeviceptr address)
{
    CUresult result = driver_enter();
    if (result != CUDA_SUCCESS)
        return result;
    void *data = (void *) (uintptr_t) address;
    return driver_leave(pinned_at(data) ? CUDA_ERROR_INVALID_VALUE : put(data));
}

CU_EXPORT CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream)
{
    CUresult result = driver_enter();
    if (result != CUDA_SUCCESS)
        return result;
    driver_leave(CUDA_SUCCESS);
    return stream_is(stream) ? cuMemAlloc_v2(address, bytes)
                             : CUDA_ERROR_INVALID_HANDLE;
}

CU_EXPORT CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    CUresult result = driver_enter();
    if (result != CUDA_SUCCESS)
        return result;
    driver_leave(CUDA_SUCCESS);
    return stream_is(stream) ? cuMemFree_v2(address) : CUDA_ERROR_INVALID_HANDLE;
}

CU_EXPORT CUresult cuMemGetInfo_v2(size_t *left, size_t *total)
{
    CUresult result = driver_enter();
    if (result != CUDA_SUCCESS)
        return result;
    if (!left || !total)
        return driver_leave(CUDA_ERROR_INVALID_VALUE);
    *left = driver.memory_size - driver.memory_used;
    *total = driver.memory_size;
    return driver_leave(CUDA_SUCCESS);
}

CU_EXPORT CUresult cuMemAllocHost_v2(void **address, size_t bytes)
{
    CUresult result = driver_enter();
    if (result != CUDA_SUCCESS)
        return result;
    if (!address)
        return driver_leave(CUDA_ERROR_INVALID_VALUE);
    Pinned *pinned = handle_new(HANDLE_PINNED, sizeof(Pinned));
    if (!pinned)
        return driver_leave(CUDA_ERROR_OUT_OF_MEMORY);
    result = get(&pinned->data, bytes);
    if (result != CUDA_SUCCESS) {
        handle_delete(HANDLE_PINNED, &pinned->handle);
        return driver_leave(result);
    }
    sim_memory_written(driver.memory, pinned->data, bytes);
    *address = pinned->data;
    return driver_leave(CUDA_SUCCESS);
}

CU_EXPORT CUresult cuMemFreeHost(void *address)
{
    CUresult result = driver_enter();
    if (result != CUDA_SUCCESS)
        return result;
    Pinned *pinned = pinned_at(address);
    if (!pinned)
        return driver_leave(CUDA_ERROR_INVALID_VALUE);
    result = put(address);
    handle_delete(HANDLE_PINNED, &pinned->handle);
    return driver_leave(result);
}

/* For managed memory only, and there is none. */
CU_EXPORT CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, int advice,
                               CUdevice device)
{
    CUresult result = driver_enter();
    if (result != CUDA_SUCCESS)
        return result;
    (void) address;
    (void) bytes;
    (void) advice;
    (void) device;
    return driver_leave(CUDA_ERROR_INVALID_VALUE);
}

/* ---- what an address is */

typedef enum Place { PLACE_HOST, PLACE_PINNED, PLACE_DEVICE } Place;

/* Where some bytes lie. False: not all of them are in the allocation of the first. */
static bool place_of(const void *address, size_t bytes, Place *place)
{
    size_t size;
    char *begin = sim_memory_find(driver.memory, address, &size);
    *place = PLACE_HOST;
    if (!begin)
        return true;
    *place = pinned_at(begin) ? PLACE_PINNED : PLACE_DEVICE;
    size_t offset = (size_t) ((const char *) address - begin);
    return bytes <= size - offset;
}

CU_EXPORT CUresult cuPointerGetAttribute(void *value, int attribute,
                                         CUdeviceptr address)
{
    CUresult result = driver_enter();
    if (result != CUDA_SUCCESS)
        return result;
    void *data = (void *) (uintptr_t) address;
    Place place;
    if (!value || !place_of(data, 1, &place) || place == PLACE_HOST)
        return driver_leave(CUDA_ERROR_INVALID_VALUE);
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *) value = &driver.context;
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *) value =
            place == PLACE_DEVICE ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *) value = address;
        break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (place == PLACE_DEVICE)
            return driver_leave(CUDA_ERROR_INVALID_VALUE);
        *(void **) value = data;
        break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *) value = 0;
        break;
    default:
        return driver_leave(CUDA_ERROR_INVALID_VALUE);
    }
    return driver_leave(CUDA_SUCCESS);
}

/* ---- copies */

static void count_copy(bool from_device, bool to_device, size_t bytes)
{
    Counts *counts = &driver.counts;
    uint64_t *const rows[2][2][2] = {
        { { &counts->copies_h2h, &counts->bytes_h2h },
          { &counts->copies_h2d, &counts->bytes_h2d } },
        { { &counts->copies_d2h, &counts->bytes_d2h },
          { &counts->copies_d2d, &counts->bytes_d2d } },
    };
    *rows[from_device][to_device][0] += 1;
    *rows[from_device][to_device][1] += bytes;
}

static CUresult copy(CUdeviceptr target, CUdeviceptr source, size_t bytes)
{
    void *to = (void *) (uintptr_t) target;
    const void *from = (const void *) (uintptr_t) source;
    Place to_place, from_place;
    if (bytes == 0)
        return CUDA_SUCCESS;
    if (!to || !from || !place_of(to, bytes, &to_place) ||
        !place_of(from, bytes, &from_place))
        return CUDA_ERROR_INVALID_VALUE;
    memmove(to, from, bytes);
    if (to_place != PLACE_HOST)
        sim_memory_written(driver.memory, to, bytes);
    count_copy(from_place == PLACE_DEVICE, to_place == PLACE_DEVICE, bytes);
    return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuMemcpy(CUdeviceptr target, CUdeviceptr source, size_t bytes)
{
    CUresult result = driver_enter();
    if (result != CUDA_SUCCESS)
        return result;
    driver.counts.blocking_copies++;
    return driver_leave(copy(target, source, bytes));
}

CU_EXPORT CUresult cuMemcpyAsync(CUdeviceptr target, CUdeviceptr source, size_t bytes,
                                 CUstream stream)
{
    CUresult result = driver_enter();
    if (result != CUDA_SUCCESS)
        return result;
    if (!stream_is(stream))
        return driver_leave(CUDA_ERROR_INVALID_HANDLE);
    return driver_leave(copy(target, source, bytes));
}

/* ---- patterns */

static CUresult fill(CUdeviceptr target, const void *value, size_t size, size_t count,
                     CUstream stream)
{
    CUresult result = driver_enter();
    if (result != CUDA_SUCCESS)
        return result;
    char *to = (char *) (uintptr_t) target;
    Place place;
    if (!stream_is(stream))
        return driver_leave(CUDA_ERROR_INVALID_HANDLE);
    if (count == 0)
        return driver_leave(CUDA_SUCCESS);
    if (target % size || count > SIZE_MAX / size ||
        !place_of(to, count * size, &place) || place == PLACE_HOST)
        return driver_leave(CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count; ++i)
        memcpy(to + i * size, value, size);
    sim_memory_written(driver.memory, to, count * size);
    driver.counts.memsets++;
    driver.counts.bytes_set += count * size;
    return driver_leave(CUDA_SUCCESS);
}

CU_EXPORT CUresult cuMemsetD8Async(CUdeviceptr target, unsigned char value,
                                   size_t count, CUstream stream)
{
    return fill(target, &value, sizeof value, count, stream);
}

CU_EXPORT CUresult cuMemsetD16Async(CUdeviceptr target, unsigned short value,
                                    size_t count, CUstream stream)
{
    return fill(target, &value, sizeof value, count, stream);
}

CU_EXPORT CUresult cuMemsetD32Async(CUdeviceptr target, unsigned value, size_t count,
                                    CUstream stream)
{
    return fill(target, &value, sizeof value, count, stream);
}
