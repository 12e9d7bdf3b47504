/*
 * errors_util.h -- call functions with bad arguments and see that nothing changes
 *
 * A rejected call returns 0, NULL or false, its message names the function, what was
 * found and what was expected, and nothing else has changed: the number of live
 * variables and the references of all variables that a test holds are the same as
 * before.
 */
#ifndef TESTS_ERRORS_UTIL_H
#define TESTS_ERRORS_UTIL_H

#include "test_util.h"

#include "trace/graph/var.h"

/* One variable of each kind that a call might stumble over. */
typedef struct Fixture {
    uint32_t f32, u32, i64, mask; /* evaluated, 6 entries */
    uint32_t four;                /* u32, 4 entries */
    uint32_t lazy;                /* unevaluated u32, 6 entries */
    uint32_t literal;             /* u32, 1 entry */
    uint32_t pointer, empty;
    uint32_t freed; /* not a variable any more */
    void *memory;
} Fixture;

static Fixture x;

static inline void make_fixture(void)
{
    float floats[6] = { 1, 2, 3, 4, 5, 6 };
    int64_t longs[6] = { 0 };
    uint32_t ints[6] = { 5, 4, 3, 2, 1, 0 };
    uint8_t flags[6] = { 1, 0, 1, 0, 1, 1 };
    x.f32 = array_of(VarTypeFloat32, floats, 6);
    x.u32 = u32_array(6, ints);
    x.i64 = array_of(VarTypeInt64, longs, 6);
    x.mask = array_of(VarTypeBool, flags, 6);
    x.four = u32_array(4, ints);
    x.literal = jit_var_u32(CPU, 3);
    x.lazy = jit_var_add(x.u32, x.literal);
    x.memory = jit_malloc(CPU, 64);
    x.pointer = jit_var_pointer(CPU, x.memory, 0, 0);
    uint32_t none = literal_of(VarTypeBool, 0, 6);
    x.empty = jit_var_compress(none);
    OK(x.empty);
    assert_int_equal(jit_var_size(x.empty), 0);
    /* Far above the indices that the calls themselves will use. */
    uint32_t many[500];
    for (uint32_t i = 0; i < 500; ++i)
        many[i] = literal_of(VarTypeFloat32, 0x12345678 + i, 77);
    x.freed = many[499];
    drop_all(many, 500);
    DROP(none);
}

static inline void drop_fixture(void)
{
    DROP(x.f32, x.u32, x.i64, x.mask, x.four, x.lazy, x.literal, x.pointer, x.empty);
    OK(jit_free(x.memory));
}

/* ------------------------------------------------------------ before and after */

typedef struct Snapshot {
    uint32_t live, refs[9];
} Snapshot;

static inline Snapshot take_snapshot(void)
{
    const uint32_t ids[9] = { x.f32,  x.u32,     x.i64,     x.mask, x.four,
                              x.lazy, x.literal, x.pointer, x.empty };
    Snapshot s = { .live = var_table.live };
    for (int i = 0; i < 9; ++i)
        s.refs[i] = jit_var_ref(ids[i]);
    return s;
}

static inline void check_unchanged(const Snapshot *before, const char *call, int line)
{
    Snapshot after = take_snapshot();
    if (after.live != before->live)
        fail_msg("line %d: %s: %u live variables, before %u", line, call, after.live,
                 before->live);
    if (memcmp(&after, before, sizeof(after)) != 0)
        fail_msg("line %d: %s changed reference counts", line, call);
}

/* The call returns 0, the message has these parts, nothing has changed. */
#define REJECTS(call, code, ...)                                \
    do {                                                        \
        Snapshot before_ = take_snapshot();                     \
        jit_error_clear();                                      \
        if (call)                                               \
            fail_msg("line %d: accepted: %s", __LINE__, #call); \
        CHECK_ERROR(code, __VA_ARGS__);                         \
        check_unchanged(&before_, #call, __LINE__);             \
    } while (0)
#define REJECTS_ARGUMENT(call, ...) REJECTS(call, JIT_ERROR_ARGUMENT, __VA_ARGS__)

/* The call with 'bad' as one operand, for all that is not a variable. */
#define REJECTS_INDICES(call, ...)                                                \
    do {                                                                          \
        const uint32_t bad_[] = { 0, x.freed, 0xdeadbeef, 1u << 20, UINT32_MAX }; \
        for (size_t b_ = 0; b_ < COUNT_OF(bad_); ++b_) {                          \
            uint32_t bad = bad_[b_];                                              \
            char name_[20];                                                       \
            snprintf(name_, sizeof(name_), "r%u", bad);                           \
            REJECTS_ARGUMENT(call, __VA_ARGS__, name_, "not a variable");         \
        }                                                                         \
    } while (0)

/* The call with 'backend', 'type' or 'size' out of range. */
#define REJECTS_BACKENDS(call, name)                                \
    do {                                                            \
        JitBackend backend = JitBackendCUDA;                        \
        if (!IS_FAR) /* where that is a device */                   \
            REJECTS(call, JIT_ERROR_UNSUPPORTED, name, "CUDA");     \
        const int bad_[] = { 0, 3, 4, -1, 1000 };                   \
        for (size_t b_ = 0; b_ < COUNT_OF(bad_); ++b_) {            \
            backend = (JitBackend) bad_[b_];                        \
            REJECTS_ARGUMENT(call, name, "backend is", "expected"); \
        }                                                           \
    } while (0)
#define REJECTS_TYPES(call, name)                                                 \
    do {                                                                          \
        const int bad_[] = {                                                      \
            VarTypeVoid, VarTypeBaseInt, VarTypeBaseFloat, VarTypeCount, -1, 4711 \
        };                                                                        \
        for (size_t b_ = 0; b_ < COUNT_OF(bad_); ++b_) {                          \
            VarType type = (VarType) bad_[b_];                                    \
            REJECTS_ARGUMENT(call, name, "type is", "expected");                  \
        }                                                                         \
    } while (0)
#define REJECTS_SIZES(call, name)                                              \
    do {                                                                       \
        const size_t bad_[] = { 0, (size_t) 1 << 32, SIZE_MAX, SIZE_MAX / 2 }; \
        for (size_t b_ = 0; b_ < COUNT_OF(bad_); ++b_) {                       \
            size_t size = bad_[b_];                                            \
            REJECTS_ARGUMENT(call, name, "size is", "expected");               \
        }                                                                      \
    } while (0)

static inline int begin(void **unused)
{
    if (test_begin(unused))
        return -1;
    make_fixture();
    return 0;
}

static inline int end(void **unused)
{
    drop_fixture();
    return test_end(unused);
}

#define FIXED(name) cmocka_unit_test_setup_teardown(name, begin, end)

#endif
