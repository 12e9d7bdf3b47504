/*
 * texture.c -- functions that are there, as the published package asks for them when it
 * starts, and that do nothing but say so: arrays, textures and surfaces, copies of
 * rectangles, and pictures of OpenGL
 *
 * The simulator has no instruction that reads a texture.
 */
#include "api.h"
#include "driver.h"

static CUresult refuse(const char *name)
{
    CUresult result = driver_enter();
    if (result != CUDA_SUCCESS)
        return result;
    driver_say("%s(): the simulator has no textures", name);
    return driver_leave(CUDA_ERROR_NOT_SUPPORTED);
}

/* Their parameters are not looked at, so none are declared. */
#define REFUSED(name) \
    CU_EXPORT CUresult name(void) \
    { \
        return refuse(#name); \
    }

REFUSED(cuMemcpy2DAsync_v2)
REFUSED(cuMemcpy3DAsync_v2)
REFUSED(cuArrayCreate_v2)
REFUSED(cuArray3DCreate_v2)
REFUSED(cuArray3DGetDescriptor_v2)
REFUSED(cuArrayDestroy)
REFUSED(cuMipmappedArrayCreate)
REFUSED(cuMipmappedArrayGetLevel)
REFUSED(cuMipmappedArrayDestroy)
REFUSED(cuTexObjectCreate)
REFUSED(cuTexObjectGetResourceDesc)
REFUSED(cuTexObjectDestroy)
REFUSED(cuSurfObjectCreate)
REFUSED(cuSurfObjectDestroy)
REFUSED(cuGraphicsGLRegisterBuffer)
REFUSED(cuGraphicsGLRegisterImage)
REFUSED(cuGraphicsUnregisterResource)
REFUSED(cuGraphicsMapResources)
REFUSED(cuGraphicsUnmapResources)
REFUSED(cuGraphicsSubResourceGetMappedArray)
REFUSED(cuGraphicsResourceGetMappedPointer)
