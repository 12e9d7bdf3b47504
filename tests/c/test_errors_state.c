/*
 * test_errors_state.c -- bad arguments to all other functions: memory, CPU, events,
 * properties of variables, registry, life
 */
#include "errors_util.h"

/* ------------------------------------------------------ memory, CPU, events */

static void test_memory(void **unused)
{
    (void) unused;
    uint8_t a[16] = { 0 }, b[16] = { 0 };
    REJECTS_BACKENDS(jit_malloc(backend, 8), "jit_malloc()");
    REJECTS_ARGUMENT(jit_malloc(CPU, 0), "jit_malloc()", "size is 0");
    REJECTS(jit_malloc(CPU, SIZE_MAX), JIT_ERROR_MEMORY, "memory");
    REJECTS(jit_malloc(CPU, SIZE_MAX - 100), JIT_ERROR_MEMORY, "memory");
    REJECTS(jit_malloc(CPU, SIZE_MAX / 2), JIT_ERROR_MEMORY, "memory");
    REJECTS_ARGUMENT(jit_free(a), "jit_free()", "jit_malloc()");
    REJECTS_ARGUMENT(jit_free((char *) x.memory + 1), "jit_free()", "jit_malloc()");
    REJECTS_BACKENDS(jit_memcpy(backend, a, b, 16), "jit_memcpy()");
    REJECTS_BACKENDS(jit_memcpy_async(backend, a, b, 16), "jit_memcpy_async()");
    REJECTS_ARGUMENT(jit_memcpy(CPU, NULL, b, 16), "jit_memcpy()", "dst is NULL");
    REJECTS_ARGUMENT(jit_memcpy(CPU, a, NULL, 16), "jit_memcpy()", "src is NULL");
    REJECTS_ARGUMENT(jit_memcpy_async(CPU, a, NULL, 16), "jit_memcpy_async()",
                     "src is NULL");
    REJECTS_BACKENDS(jit_memset_async(backend, a, 4, 4, b), "jit_memset_async()");
    REJECTS_ARGUMENT(jit_memset_async(CPU, NULL, 4, 4, b), "jit_memset_async()",
                     "NULL");
    REJECTS_ARGUMENT(jit_memset_async(CPU, a, 4, 4, NULL), "jit_memset_async()",
                     "NULL");
    const uint32_t sizes[] = { 0, 3, 16, UINT32_MAX };
    for (size_t i = 0; i < COUNT_OF(sizes); ++i)
        REJECTS_ARGUMENT(jit_memset_async(CPU, a, 1, sizes[i], b), "jit_memset_async()",
                         "item_size is", "expected");
    REJECTS_BACKENDS(jit_malloc_migrate(x.memory, backend, 1), "jit_malloc_migrate()");
    REJECTS_ARGUMENT(jit_malloc_migrate(a, CPU, 1), "jit_malloc_migrate()",
                     "jit_malloc()");
    REJECTS_ARGUMENT(jit_malloc_migrate(NULL, CPU, 0), "jit_malloc_migrate()",
                     "jit_malloc()");
    assert_true(jit_free(NULL));
}

static void test_cpu(void **unused)
{
    (void) unused;
    uint32_t threads = jit_llvm_thread_count(), block = jit_llvm_block_size();
    REJECTS_ARGUMENT(jit_llvm_set_thread_count(5000), "jit_llvm_set_thread_count()",
                     "5000", "at most");
    REJECTS_ARGUMENT(jit_llvm_set_thread_count(UINT32_MAX),
                     "jit_llvm_set_thread_count()");
    assert_int_equal(jit_llvm_thread_count(), threads);
    const uint32_t blocks[] = { 0, 1, 63, 65, 100 };
    for (size_t i = 0; i < COUNT_OF(blocks); ++i)
        REJECTS_ARGUMENT(jit_llvm_set_block_size(blocks[i]),
                         "jit_llvm_set_block_size()", "size is", "multiple of 64");
    assert_int_equal(jit_llvm_block_size(), block);
    const uint32_t widths[] = { 3, 65, 128, UINT32_MAX };
    for (size_t i = 0; i < COUNT_OF(widths); ++i)
        REJECTS_ARGUMENT(jit_llvm_set_target("skylake", NULL, widths[i]),
                         "jit_llvm_set_target()", "power of two");
}

static void test_events_and_history(void **unused)
{
    (void) unused;
    JitEvent *a = jit_event_create(CPU, 1), *b = jit_event_create(CPU, 0);
    OK(a && b);
    REJECTS_BACKENDS(jit_event_create(backend, 0), "jit_event_create()");
    REJECTS_ARGUMENT(jit_event_record(NULL), "jit_event_record()", "NULL");
    REJECTS_ARGUMENT(jit_event_query(NULL), "jit_event_query()", "NULL");
    REJECTS_ARGUMENT(jit_event_wait(NULL), "jit_event_wait()", "NULL");
    REJECTS_ARGUMENT(jit_event_elapsed_time(NULL, a) >= 0, "jit_event_elapsed_time()",
                     "NULL");
    REJECTS_ARGUMENT(jit_event_elapsed_time(a, NULL) >= 0, "jit_event_elapsed_time()",
                     "NULL");
    OK(jit_event_record(a) && jit_event_record(b) && jit_event_wait(b));
    REJECTS(jit_event_elapsed_time(a, b) >= 0, JIT_ERROR_STATE,
            "jit_event_elapsed_time():", "end event", "without timing");
    jit_event_destroy(NULL);
    jit_event_destroy(a);
    jit_event_destroy(b);
    REJECTS_ARGUMENT(jit_kernel_history(NULL), "jit_kernel_history()", "NULL");
    jit_kernel_history_release(NULL, 0);
    jit_launch_stats(NULL, NULL, NULL, NULL);
    REJECTS_ARGUMENT(jit_enqueue_host_func(CPU, NULL, NULL), "jit_enqueue_host_func()",
                     "NULL");
    REJECTS_BACKENDS(jit_enqueue_host_func(backend, free, NULL),
                     "jit_enqueue_host_func()");
}

/* --------------------------------------------------------------- variables */

static void ignore_callback(uint32_t index, int freed, void *payload)
{
    (void) index;
    (void) freed;
    (void) payload;
}

static void test_variables(void **unused)
{
    (void) unused;
    VarInfo info;
    const uint32_t bad_ids[] = { x.freed, 0xdeadbeef, UINT32_MAX };
    for (size_t i = 0; i < COUNT_OF(bad_ids); ++i) {
        REJECTS_ARGUMENT(jit_var_inc_ref(bad_ids[i]), "jit_var_inc_ref()",
                         "not a variable");
        REJECTS_ARGUMENT((jit_var_dec_ref(bad_ids[i]), 0), "jit_var_dec_ref()",
                         "not a variable");
        const uint32_t two[] = { x.u32, bad_ids[i] };
        const uint32_t refs = jit_var_ref(x.u32);
        REJECTS_ARGUMENT(jit_var_inc_refs(2, two), "jit_var_inc_refs()",
                         "not a variable");
        REJECTS_ARGUMENT((jit_var_dec_refs(1, two + 1), 0), "jit_var_dec_refs()",
                         "not a variable");
        assert_int_equal(jit_var_ref(x.u32), refs);
        assert_int_equal(jit_var_ref(bad_ids[i]), 0);
        assert_int_equal(jit_var_state(bad_ids[i]), VarStateInvalid);
        assert_false(jit_var_is_dirty(bad_ids[i]));
        assert_null(jit_var_label(bad_ids[i]));
        assert_null(jit_var_location(bad_ids[i], NULL));
    }
    jit_var_dec_ref(0);
    assert_int_equal(jit_error(), JIT_OK);
    REJECTS_ARGUMENT(jit_var_inc_refs(1, NULL), "jit_var_inc_refs()", "NULL");
    REJECTS_ARGUMENT((jit_var_dec_refs(1, NULL), 0), "jit_var_dec_refs()", "NULL");
    assert_int_equal(jit_var_inc_ref(0), 0);
    assert_int_equal(jit_var_ref(0), 0);
    REJECTS_INDICES(jit_var_size(bad), "jit_var_size()");
    REJECTS_INDICES(jit_var_type(bad), "jit_var_type()");
    REJECTS_INDICES(jit_var_info(bad, &info), "jit_var_info()");
    REJECTS_ARGUMENT(jit_var_info(x.u32, NULL), "jit_var_info()", "NULL");
    REJECTS_INDICES(jit_var_set_label(bad, "name"), "jit_var_set_label()");
    REJECTS_INDICES(jit_var_set_callback(bad, ignore_callback, NULL),
                    "jit_var_set_callback()");
    OK(jit_var_set_callback(x.u32, ignore_callback, NULL));
    REJECTS(jit_var_set_callback(x.u32, ignore_callback, NULL), JIT_ERROR_STATE,
            "jit_var_set_callback()", "has a callback");
    OK(jit_var_set_callback(x.u32, NULL, NULL));
    REJECTS_INDICES(jit_var_schedule(bad), "jit_var_schedule()");
    int rv = 1;
    REJECTS_INDICES(jit_var_schedule_force(bad, &rv), "jit_var_schedule_force()");
    assert_int_equal(rv, 0);
    REJECTS_INDICES(jit_var_schedule_force(bad, NULL), "jit_var_schedule_force()");
    REJECTS_INDICES(jit_var_eval(bad), "jit_var_eval()");
    REJECTS_INDICES(jit_program_str(bad), "jit_program_str()");
    REJECTS_ARGUMENT(jit_program_str(x.empty), "jit_program_str()", "empty");
    REJECTS(jit_prefix_pop(CPU), JIT_ERROR_STATE, "jit_prefix_pop()");
    REJECTS_ARGUMENT(jit_prefix_push(CPU, NULL), "jit_prefix_push()", "NULL");

    /* What an empty array is good for. */
    CHECK_STR(x.empty, "[]");
    assert_int_equal(jit_var_size(x.empty), 0);
    REJECTS_ARGUMENT(jit_var_copy(x.empty), "jit_var_copy()", "empty");
    REJECTS_ARGUMENT(jit_var_cast(x.empty, VarTypeInt8, 0), "jit_var_cast()", "empty");
    REJECTS_ARGUMENT(jit_var_tile(x.empty, 2), "jit_var_tile()", "empty");
    jit_var_eval(x.empty);
    assert_int_equal(jit_error(), JIT_OK);
}

static void test_registry(void **unused)
{
    (void) unused;
    int object;
    REJECTS_ARGUMENT(jit_registry_put(NULL, "d", &object), "jit_registry_put()",
                     "NULL");
    REJECTS_ARGUMENT(jit_registry_put("v", NULL, &object), "jit_registry_put()",
                     "NULL");
    REJECTS_ARGUMENT(jit_registry_put("v", "d", NULL), "jit_registry_put()", "NULL");
    OK(jit_registry_put("v", "d", &object) == 1);
    REJECTS_ARGUMENT(jit_registry_put("v", "d", &object), "jit_registry_put()",
                     "already");
    REJECTS_ARGUMENT(jit_registry_put("w", "e", &object), "jit_registry_put()",
                     "already");
    static char text[2000];
    memset(text, 'x', sizeof(text) - 1);
    int other;
    REJECTS_ARGUMENT(jit_registry_put(text, "d", &other), "jit_registry_put()",
                     "characters");
    REJECTS_ARGUMENT((jit_registry_get_pointers("v", "d", NULL), 0),
                     "jit_registry_get_pointers()", "NULL");
    OK(jit_registry_remove(&object));
    REJECTS_ARGUMENT(jit_registry_remove(&object), "jit_registry_remove()",
                     "not registered");
    REJECTS_ARGUMENT(jit_registry_remove(NULL), "jit_registry_remove()",
                     "not registered");
    assert_int_equal(jit_registry_id(NULL), 0);
    assert_int_equal(jit_registry_id(&object), 0);
    assert_int_equal(jit_registry_id_bound(NULL, NULL), 0);
    assert_null(jit_registry_ptr("nothing", "here", 1));
    assert_null(jit_registry_ptr(NULL, "d", 1));
    assert_null(jit_registry_peek(NULL, NULL));
}

/* -------------------------------------------------------------------- life */

static void test_init(void **unused)
{
    (void) unused;
    REJECTS_ARGUMENT(jit_init(0), "jit_init()", "0x0", "expected");
    REJECTS_ARGUMENT(jit_init(64), "jit_init()", "0x40", "expected");
    if (!IS_FAR) {
        REJECTS(jit_init(JitBackendCUDA), JIT_ERROR_UNSUPPORTED, "jit_init()", "CUDA");
        REJECTS(jit_init(JitBackendCUDA | JitBackendLLVM), JIT_ERROR_UNSUPPORTED,
                "CUDA");
        REJECTS(jit_init_async(JitBackendCUDA), JIT_ERROR_UNSUPPORTED, "CUDA");
        assert_false(jit_has_backend(JitBackendCUDA));
    }
    assert_true(jit_has_backend(CPU));
    assert_false(jit_has_backend(JitBackendNone));
    assert_false(jit_has_backend((JitBackend) 64));
    jit_log(LogLevelError, NULL);
    jit_set_log_level_callback(LogLevelTrace, NULL);
}

/* Nothing was initialised: creation says so, and the rest finds no variables. */
static void test_before_init(void **unused)
{
    (void) unused;
    const float value = 1;
    make_device();
    assert_false(jit_has_backend(CPU));
    assert_int_equal(jit_var_literal(CPU, VarTypeFloat32, &value, 1, 0), 0);
    CHECK_ERROR(JIT_ERROR_STATE, "jit_var_literal()", "jit_init");
    assert_int_equal(jit_var_counter(CPU, 10), 0);
    CHECK_ERROR(JIT_ERROR_STATE, "jit_var_counter()", "jit_init");
    assert_int_equal(jit_var_mem_copy(CPU, VarTypeFloat32, &value, 1), 0);
    CHECK_ERROR(JIT_ERROR_STATE, "jit_var_mem_copy()", "jit_init");
    assert_null(jit_malloc(CPU, 16));
    CHECK_ERROR(JIT_ERROR_STATE, "jit_malloc()", "jit_init");
    assert_null(jit_event_create(CPU, 0));
    CHECK_ERROR(JIT_ERROR_STATE, "jit_event_create()", "jit_init");
    assert_false(jit_memcpy(CPU, &(float){ 0 }, &value, 4));
    CHECK_ERROR(JIT_ERROR_STATE, "jit_memcpy()", "jit_init");
    assert_int_equal(jit_var_add(1, 2), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_add()", "r1");
    assert_false(jit_var_eval(1));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_eval()", "r1");
    assert_null(jit_var_str(1));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_str()", "r1");
    OK(jit_eval() && jit_sync_thread() && jit_sync_device() && jit_sync_all_devices());
    assert_non_null(jit_var_whos());
    assert_non_null(jit_var_graphviz());
    KernelHistoryEntry *entries;
    assert_int_equal(jit_kernel_history(&entries), 0);
    jit_kernel_history_release(entries, 0);
    assert_int_equal(jit_shutdown(0), 0);
    assert_int_equal(jit_shutdown(1), 0);
}

/* Waiting where it is forbidden. */
static void test_forbidden(void **unused)
{
    (void) unused;
    uint32_t value;
    void *data;
    jit_set_flag(JitFlagForbidSynchronization, 1);
    REJECTS(jit_sync_thread(), JIT_ERROR_STATE, "jit_sync_thread()",
            "ForbidSynchronization");
    REJECTS(jit_sync_device(), JIT_ERROR_STATE, "jit_sync_device()",
            "ForbidSynchronization");
    REJECTS(jit_var_read(x.u32, 0, &value), JIT_ERROR_STATE, "jit_var_read()",
            "ForbidSynchronization");
    REJECTS(jit_var_data(x.u32, &data), JIT_ERROR_STATE, "ForbidSynchronization");
    REJECTS(jit_var_str(x.u32), JIT_ERROR_STATE, "ForbidSynchronization");
    REJECTS(jit_var_write(x.u32, 0, &value), JIT_ERROR_STATE, "jit_var_write()",
            "ForbidSynchronization");
    REJECTS(jit_var_compress(x.mask), JIT_ERROR_STATE, "jit_var_compress()",
            "ForbidSynchronization");
    OK(jit_var_read(x.literal, 0, &value)); /* nothing to wait for */
    assert_int_equal(value, 3);
    OK(jit_var_eval(x.lazy));
    jit_set_flag(JitFlagForbidSynchronization, 0);
    CHECK_U32(x.lazy, 8, 7, 6, 5, 4, 3);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before_init),
        FIXED(test_memory), FIXED(test_cpu), FIXED(test_events_and_history),
        FIXED(test_variables), FIXED(test_registry), FIXED(test_init),
        FIXED(test_forbidden),
    };
    return cmocka_run_group_tests_name("errors_state", tests, NULL, NULL);
}

int main(void)
{
    return run_engines(run);
}
