/*
 * test_driver.c -- the look-alike as a program sees it: what right and wrong calls
 * return
 *
 * The driver is one for the process, so the tests are in an order: the first one finds
 * it as it is before cuInit(), the last one breaks the context.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api.h"
#include "counts.h"

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)
#define FAILS(error, call) assert_int_equal(call, CUDA_ERROR_##error)
#define ADDRESS(pointer) ((CUdeviceptr) (uintptr_t) (pointer))

/* p[i] += k for i < n; and a store to address 8. */
static const char PTX[] = ".version 7.0\n"
                          ".target sm_70\n"
                          ".address_size 64\n"
                          ".visible .entry add(.param .u32 n, .param .u64 p,\n"
                          "                    .param .u32 k)\n"
                          "{\n"
                          "    .reg .pred %q;\n"
                          "    .reg .b32 %i, %n, %k, %x, %b, %w, %t;\n"
                          "    .reg .b64 %p, %o;\n"
                          "    ld.param.u32 %n, [n];\n"
                          "    ld.param.u64 %p, [p];\n"
                          "    ld.param.u32 %k, [k];\n"
                          "    mov.u32 %b, %ctaid.x;\n"
                          "    mov.u32 %w, %ntid.x;\n"
                          "    mov.u32 %t, %tid.x;\n"
                          "    mad.lo.u32 %i, %b, %w, %t;\n"
                          "    setp.ge.u32 %q, %i, %n;\n"
                          "    @%q bra done;\n"
                          "    mul.wide.u32 %o, %i, 4;\n"
                          "    add.u64 %p, %p, %o;\n"
                          "    ld.global.u32 %x, [%p];\n"
                          "    add.u32 %x, %x, %k;\n"
                          "    st.global.u32 [%p], %x;\n"
                          "done:\n"
                          "    ret;\n"
                          "}\n"
                          ".visible .entry wrong()\n"
                          "{\n"
                          "    .reg .b64 %p;\n"
                          "    mov.u64 %p, 8;\n"
                          "    st.global.u32 [%p], 1;\n"
                          "    ret;\n"
                          "}\n";

static CUcontext context;

static void test_before_init(void **unused)
{
    (void) unused;
    int count;
    CUstream stream;
    const char *text;
    FAILS(NOT_INITIALIZED, cuDeviceGetCount(&count));
    FAILS(NOT_INITIALIZED, cuStreamCreate(&stream, 0));
    FAILS(INVALID_VALUE, cuInit(1));
    OK(cuInit(0));
    OK(cuInit(0));
    OK(cuDeviceGetCount(&count));
    assert_int_equal(count, 1);
    OK(cuGetErrorName(700, &text));
    assert_string_equal(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
    OK(cuGetErrorString(CUDA_SUCCESS, &text));
    assert_string_equal(text, "no error");
    FAILS(INVALID_VALUE, cuGetErrorName(12345, &text));
    assert_null(text);
}

static void test_device(void **unused)
{
    (void) unused;
    CUdevice device;
    int value;
    size_t bytes;
    char name[8];
    OK(cuDeviceGet(&device, 0));
    FAILS(INVALID_DEVICE, cuDeviceGet(&device, 1));
    OK(cuDeviceGetName(name, sizeof name, device));
    assert_string_equal(name, "simulat");
    OK(cuDeviceTotalMem_v2(&bytes, device));
    assert_int_equal(bytes, 64 << 20); /* of the environment, see main() */
    OK(cuDeviceGetAttribute(&value, 75, device));
    assert_int_equal(value, 8);
    OK(cuDeviceGetAttribute(&value, 10, device));
    assert_int_equal(value, 32);
    FAILS(INVALID_VALUE, cuDeviceGetAttribute(&value, 0, device));
    FAILS(INVALID_VALUE, cuDeviceGetAttribute(NULL, 10, device));
    FAILS(INVALID_DEVICE, cuDeviceGetAttribute(&value, 10, -1));
}

static void test_context(void **unused)
{
    (void) unused;
    CUdeviceptr address;
    CUcontext popped;
    FAILS(INVALID_CONTEXT, cuMemAlloc_v2(&address, 16));
    FAILS(INVALID_CONTEXT, cuCtxPopCurrent_v2(&popped));
    FAILS(INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    FAILS(INVALID_CONTEXT, cuCtxPushCurrent_v2(NULL));
    OK(cuCtxPushCurrent_v2(context));
    OK(cuCtxPushCurrent_v2(context));
    OK(cuCtxPopCurrent_v2(&popped));
    assert_ptr_equal(popped, context);
    OK(cuCtxSynchronize());
    FAILS(PEER_ACCESS_UNSUPPORTED, cuCtxEnablePeerAccess(context, 0));
}

static void test_memory(void **unused)
{
    (void) unused;
    CUdeviceptr a, b;
    unsigned host[16], back[16];
    OK(cuMemAlloc_v2(&a, sizeof host));
    OK(cuMemAllocAsync(&b, sizeof host, NULL));
    FAILS(INVALID_VALUE, cuMemAlloc_v2(&b, 0));
    FAILS(OUT_OF_MEMORY, cuMemAlloc_v2(&b, (size_t) 65 << 20));
    for (unsigned i = 0; i < 16; ++i)
        host[i] = i * i;
    OK(cuMemcpyAsync(a, ADDRESS(host), sizeof host, NULL));
    OK(cuMemcpyAsync(b, a, sizeof host, CU_STREAM_LEGACY));
    OK(cuMemsetD32Async(b + 8, 7, 2, NULL));
    OK(cuMemsetD16Async(b + 6, 0x0102, 1, NULL));
    OK(cuMemsetD8Async(b, 9, 1, NULL));
    OK(cuMemcpy(ADDRESS(back), b, sizeof host));
    assert_int_equal(back[0], 9);
    assert_int_equal(back[1], 0x01020001);
    assert_int_equal(back[3], 7);
    assert_int_equal(back[15], 225);
    FAILS(INVALID_VALUE, cuMemcpy(a + 4, ADDRESS(host), sizeof host));
    FAILS(INVALID_VALUE, cuMemcpy(0, a, 4));
    FAILS(INVALID_VALUE, cuMemsetD32Async(a + 2, 7, 1, NULL));
    FAILS(INVALID_VALUE, cuMemsetD8Async(a, 7, 65, NULL));
    FAILS(INVALID_VALUE, cuMemsetD8Async(ADDRESS(host), 7, 4, NULL));
    FAILS(INVALID_HANDLE, cuMemcpyAsync(a, b, 4, (CUstream) context));
    FAILS(INVALID_VALUE, cuMemFree_v2(a + 4));
    OK(cuMemFree_v2(a));
    FAILS(INVALID_VALUE, cuMemFree_v2(a));
    OK(cuMemFreeAsync(b, NULL));
}

static void test_pinned(void **unused)
{
    (void) unused;
    void *host, *pointer;
    CUdeviceptr device;
    unsigned type;
    OK(cuMemAllocHost_v2(&host, 100));
    OK(cuMemAlloc_v2(&device, 100));
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, ADDRESS(host)));
    assert_int_equal(type, CU_MEMORYTYPE_HOST);
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device + 99));
    assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
    OK(cuPointerGetAttribute(&pointer, CU_POINTER_ATTRIBUTE_HOST_POINTER,
                             ADDRESS(host)));
    assert_ptr_equal(pointer, host);
    FAILS(INVALID_VALUE,
          cuPointerGetAttribute(&pointer, CU_POINTER_ATTRIBUTE_HOST_POINTER, device));
    FAILS(INVALID_VALUE, cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                               ADDRESS(&type)));
    FAILS(INVALID_VALUE, cuMemFree_v2(ADDRESS(host)));
    FAILS(INVALID_VALUE, cuMemFreeHost((char *) host + 1));
    OK(cuMemFreeHost(host));
    FAILS(INVALID_VALUE, cuMemFreeHost(host));
    OK(cuMemFree_v2(device));
}

static void use_driver(void *data)
{
    *(CUresult *) data = cuCtxSynchronize();
}

static void test_streams(void **unused)
{
    (void) unused;
    CUstream stream;
    CUevent first, last, untimed;
    float time;
    CUresult inside = CUDA_SUCCESS;
    FAILS(INVALID_VALUE, cuStreamCreate(&stream, 2));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&first, 0));
    OK(cuEventCreate(&last, 0));
    OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    FAILS(INVALID_VALUE, cuEventCreate(&untimed, 8));
    OK(cuEventRecord(first, stream));
    FAILS(INVALID_HANDLE, cuEventElapsedTime(&time, first, last));
    OK(cuEventRecord(last, NULL));
    OK(cuEventElapsedTime(&time, first, last));
    assert_true(time >= 0 && time < 1e4f);
    OK(cuEventRecord(untimed, stream));
    FAILS(INVALID_HANDLE, cuEventElapsedTime(&time, first, untimed));
    OK(cuEventQuery(last));
    OK(cuEventSynchronize(last));
    OK(cuStreamWaitEvent(stream, last, 0));
    FAILS(INVALID_HANDLE, cuStreamWaitEvent(stream, (CUevent) stream, 0));
    OK(cuLaunchHostFunc(stream, use_driver, &inside));
    assert_int_equal(inside, CUDA_ERROR_NOT_PERMITTED);
    OK(cuStreamSynchronize(stream));
    OK(cuEventDestroy_v2(first));
    OK(cuEventDestroy_v2(last));
    OK(cuEventDestroy_v2(untimed));
    FAILS(INVALID_HANDLE, cuEventRecord(last, stream));
    OK(cuStreamDestroy_v2(stream));
    FAILS(INVALID_HANDLE, cuStreamDestroy_v2(stream));
    FAILS(INVALID_HANDLE, cuStreamSynchronize(stream));
}

/* ---- modules */

static void test_modules(void **unused)
{
    (void) unused;
    CUmodule module;
    CUfunction add;
    char info[200] = "", error[200] = "";
    int names[] = { CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                    CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    void *values[] = { info, (void *) sizeof info, error, (void *) sizeof error };
    OK(cuModuleLoadDataEx(&module, PTX, 4, names, values));
    assert_non_null(strstr(info, "add"));
    assert_int_equal((uintptr_t) values[1], strlen(info));
    OK(cuModuleGetFunction(&add, module, "add"));
    FAILS(NOT_FOUND, cuModuleGetFunction(&add, module, "sub"));
    OK(cuFuncSetAttribute(add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536));
    FAILS(INVALID_VALUE, cuFuncSetAttribute(add, 8, 1 << 20));
    FAILS(INVALID_HANDLE, cuFuncSetAttribute((CUfunction) module, 8, 0));
    int blocks, threads;
    OK(cuOccupancyMaxPotentialBlockSize(&blocks, &threads, add, NULL, 0, 100));
    assert_int_equal(threads, 100);
    OK(cuModuleUnload(module));
    FAILS(INVALID_HANDLE, cuModuleUnload(module));
    FAILS(INVALID_HANDLE, cuFuncSetAttribute(add, 8, 0));

    values[3] = (void *) sizeof error;
    FAILS(INVALID_PTX,
          cuModuleLoadDataEx(&module, ".version 7.0\nnonsense", 4, names, values));
    assert_true(error[0] != 0);
    assert_int_equal((uintptr_t) values[3], strlen(error));
    FAILS(UNSUPPORTED_PTX_VERSION, cuModuleLoadData(&module, ".version 99.0\n"));
    FAILS(NO_BINARY_FOR_GPU,
          cuModuleLoadData(&module, ".version 8.0\n.target sm_90\n"));
    FAILS(NO_BINARY_FOR_GPU, cuModuleLoadData(&module, "\177ELF"));
}

static void expect(CUdeviceptr array, unsigned first, unsigned second)
{
    unsigned back[100];
    OK(cuMemcpy(ADDRESS(back), array, sizeof back));
    for (unsigned i = 0; i < 100; ++i)
        assert_int_equal(back[i], i < 70 ? first : second);
}

static void test_launches(void **unused)
{
    (void) unused;
    CUmodule module;
    CUfunction add;
    CUdeviceptr array;
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleGetFunction(&add, module, "add"));
    OK(cuMemAlloc_v2(&array, 400));
    OK(cuMemsetD32Async(array, 5, 100, NULL));

    unsigned n = 70, k = 3;
    void *params[] = { &n, &array, &k };
    OK(cuLaunchKernel(add, 2, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
    expect(array, 8, 5);

    struct {
        unsigned n;
        CUdeviceptr p;
        unsigned k;
    } block = { 100, array, 10 };
    size_t size = 20;
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &block,
                      CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END };
    OK(cuLaunchKernel(add, 4, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
    expect(array, 18, 15);

    FAILS(INVALID_VALUE, cuLaunchKernel(add, 0, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
    FAILS(INVALID_VALUE,
          cuLaunchKernel(add, 1, 1, 1, 1025, 1, 1, 0, NULL, params, NULL));
    FAILS(INVALID_VALUE,
          cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 49153, NULL, params, NULL));
    FAILS(INVALID_VALUE,
          cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, NULL, params, extra));
    FAILS(INVALID_HANDLE, cuLaunchKernel((CUfunction) module, 1, 1, 1, 32, 1, 1, 0,
                                         NULL, params, NULL));
    expect(array, 18, 15);
    OK(cuMemFree_v2(array));
    OK(cuModuleUnload(module));
}

static void test_counts(void **unused)
{
    (void) unused;
    char text[4096];
    cudaSimCounts(text, sizeof text, 1);
    assert_non_null(strstr(text, "\"launches\": 2,"));
    assert_non_null(strstr(text, "\"modules\": 2,"));
    assert_non_null(strstr(text, "\"copies_h2d\": 1,"));
    assert_non_null(strstr(text, "\"bytes_d2h\": 1264,"));
    assert_non_null(strstr(text, "\"memsets\": 4,"));
    cudaSimCounts(text, sizeof text, 0);
    assert_non_null(strstr(text, "\"launches\": 0,"));
    assert_int_equal(cudaSimCounts(text, 10, 0), cudaSimCounts(NULL, 0, 0));
    assert_int_equal(strlen(text), 9);
}

static void test_counts_file(void **unused)
{
    (void) unused;
    char path[] = "cuda_counts_XXXXXX", text[4096] = "";
    int file = mkstemp(path);
    assert_true(file >= 0);
    const Counts counts = { .launches = 3, .waits = 8 };
    assert_true(counts_write(&counts, path));
    assert_true(read(file, text, sizeof text - 1) > 0);
    close(file);
    unlink(path);
    assert_ptr_equal(strstr(text, "{\"launches\": 3, "), text);
    assert_non_null(strstr(text, ", \"waits\": 8}\n"));
    assert_false(counts_write(&counts, "/nonexistent/counts"));
}

static void test_textures(void **unused)
{
    (void) unused;
    FAILS(NOT_SUPPORTED, cuTexObjectCreate());
}

static void test_fault(void **unused)
{
    (void) unused;
    CUmodule module;
    CUfunction wrong;
    CUdeviceptr address;
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleGetFunction(&wrong, module, "wrong"));
    FAILS(ILLEGAL_ADDRESS,
          cuLaunchKernel(wrong, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    FAILS(ILLEGAL_ADDRESS, cuCtxSynchronize());
    FAILS(ILLEGAL_ADDRESS, cuMemAlloc_v2(&address, 4));
}

int main(void)
{
    setenv("CUDA_SIM_MEMORY", "64", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before_init), cmocka_unit_test(test_device),
        cmocka_unit_test(test_context),     cmocka_unit_test(test_memory),
        cmocka_unit_test(test_pinned),      cmocka_unit_test(test_streams),
        cmocka_unit_test(test_modules),     cmocka_unit_test(test_launches),
        cmocka_unit_test(test_counts),      cmocka_unit_test(test_counts_file),
        cmocka_unit_test(test_textures),    cmocka_unit_test(test_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
