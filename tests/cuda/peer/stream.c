/*
 * stream.c -- streams and events
 *
 * Work is done when it is given to a stream, so all of them are at their ends, and an
 * event has happened when it is recorded. Its time is that of the host's clock.
 */
#include "api.h"
#include "driver.h"

typedef struct Event {
    Handle handle;
    unsigned flags;
    bool recorded;
    uint64_t time; /* counts_clock() */
} Event;

bool stream_is(CUstream stream)
{
    return !stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD ||
           handle_is(HANDLE_STREAM, stream);
}

/* ---- streams */

CU_EXPORT CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    CUresult result = driver_enter();
    if (result != CUDA_SUCCESS)
        return result;
    if (!stream || flags & ~(unsigned) CU_STREAM_NON_BLOCKING)
        return driver_leave(CUDA_ERROR_INVALID_VALUE);
    *stream = handle_new(HANDLE_STREAM, sizeof(Handle));
    return driver_leave(*stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CU_EXPORT CUresult cuStreamDestroy_v2(CUstream stream)
{
    CUresult result = driver_enter();
    if (result != CUDA_SUCCESS)
        return result;
    bool done = handle_delete(HANDLE_STREAM, stream);
    return driver_leave(done ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

/* Take the lock for work on a stream. */
static CUresult enter_stream(CUstream stream)
{
    CUresult result = driver_enter();
    if (result != CUDA_SUCCESS)
        return result;
    return stream_is(stream) ? CUDA_SUCCESS : driver_leave(CUDA_ERROR_INVALID_HANDLE);
}

CU_EXPORT CUresult cuStreamSynchronize(CUstream stream)
{
    CUresult result = enter_stream(stream);
    if (result != CUDA_SUCCESS)
        return result;
    driver.counts.stream_syncs++;
    return driver_leave(CUDA_SUCCESS);
}

CU_EXPORT CUresult cuStreamQuery(CUstream stream)
{
    CUresult result = enter_stream(stream);
    return result == CUDA_SUCCESS ? driver_leave(result) : result;
}

CU_EXPORT CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    CUresult result = enter_stream(stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (!handle_is(HANDLE_EVENT, event))
        return driver_leave(CUDA_ERROR_INVALID_HANDLE);
    if (flags > 1)
        return driver_leave(CUDA_ERROR_INVALID_VALUE);
    driver.counts.waits++;
    return driver_leave(CUDA_SUCCESS);
}

/* NULL is the stream of the thread here. */
CU_EXPORT CUresult cuStreamWaitEvent_ptsz(CUstream stream, CUevent event,
                                          unsigned flags)
{
    return cuStreamWaitEvent(stream, event, flags);
}

CU_EXPORT CUresult cuLaunchHostFunc(CUstream stream, void (*function)(void *),
                                    void *data)
{
    CUresult result = enter_stream(stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (!function)
        return driver_leave(CUDA_ERROR_INVALID_VALUE);
    driver.counts.host_functions++;
    driver_leave(CUDA_SUCCESS);
    driver_call_host(function, data);
    return CUDA_SUCCESS;
}

/* ---- events */

CU_EXPORT CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    CUresult result = driver_enter();
    if (result != CUDA_SUCCESS)
        return result;
    if (!event || flags & ~(unsigned) CU_EVENT_FLAGS)
        return driver_leave(CUDA_ERROR_INVALID_VALUE);
    Event *made = handle_new(HANDLE_EVENT, sizeof(Event));
    if (!made)
        return driver_leave(CUDA_ERROR_OUT_OF_MEMORY);
    made->flags = flags;
    *event = &made->handle;
    return driver_leave(CUDA_SUCCESS);
}

/* Take the lock for an event: '*found' is it. */
static CUresult enter_event(CUevent event, Event **found)
{
    *found = NULL;
    CUresult result = driver_enter();
    if (result != CUDA_SUCCESS)
        return result;
    if (!handle_is(HANDLE_EVENT, event))
        return driver_leave(CUDA_ERROR_INVALID_HANDLE);
    *found = (Event *) event;
    return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuEventDestroy_v2(CUevent event)
{
    Event *found;
    CUresult result = enter_event(event, &found);
    if (result != CUDA_SUCCESS)
        return result;
    handle_delete(HANDLE_EVENT, event);
    return driver_leave(CUDA_SUCCESS);
}

CU_EXPORT CUresult cuEventRecord(CUevent event, CUstream stream)
{
    Event *found;
    CUresult result = enter_event(event, &found);
    if (result != CUDA_SUCCESS)
        return result;
    if (!stream_is(stream))
        return driver_leave(CUDA_ERROR_INVALID_HANDLE);
    found->recorded = true;
    found->time = counts_clock();
    driver.counts.events++;
    return driver_leave(CUDA_SUCCESS);
}

CU_EXPORT CUresult cuEventQuery(CUevent event)
{
    Event *found;
    CUresult result = enter_event(event, &found);
    return result == CUDA_SUCCESS ? driver_leave(result) : result;
}

CU_EXPORT CUresult cuEventSynchronize(CUevent event)
{
    Event *found;
    CUresult result = enter_event(event, &found);
    if (result != CUDA_SUCCESS)
        return result;
    driver.counts.event_syncs++;
    return driver_leave(CUDA_SUCCESS);
}

CU_EXPORT CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    Event *first;
    CUresult result = enter_event(start, &first);
    if (result != CUDA_SUCCESS)
        return result;
    if (!milliseconds)
        return driver_leave(CUDA_ERROR_INVALID_VALUE);
    if (!handle_is(HANDLE_EVENT, end))
        return driver_leave(CUDA_ERROR_INVALID_HANDLE);
    const Event *last = (const Event *) end;
    if (!first->recorded || !last->recorded ||
        (first->flags | last->flags) & CU_EVENT_DISABLE_TIMING)
        return driver_leave(CUDA_ERROR_INVALID_HANDLE);
    *milliseconds = (float) ((double) (int64_t) (last->time - first->time) * 1e-3);
    return driver_leave(CUDA_SUCCESS);
}
