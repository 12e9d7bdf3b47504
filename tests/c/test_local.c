/*
 * test_local.c -- local memory: reads, writes, versions, limits, misuse
 *
 * The reference is an ordinary C array for each lane, with a copy for each version.
 * Loops and conditionals follow in test_local_regions.c.
 */
#include "test_util.h"

enum { N = 70 }; /* lanes: more than a packet, not a multiple of one */

static const VarType entry_types[] = {
    VarTypeBool, VarTypeInt8, VarTypeUInt8, VarTypeInt16, VarTypeUInt16, VarTypeInt32,
    VarTypeUInt32, VarTypeInt64, VarTypeUInt64, VarTypeFloat16, VarTypeFloat32,
    VarTypeFloat64
};

/* ------------------------------------------------------------ one of each type */

static void test_each_type(void **unused)
{
    (void) unused;
    for (size_t t = 0; t < COUNT_OF(entry_types); ++t) {
        const TestType *type = type_of(entry_types[t]);
        enum { LENGTH = 7, STEPS = 9 };
        uint64_t model[N][LENGTH] = { { 0 } };
        uint32_t array = jit_array_create(CPU, type->type, LENGTH, N);
        OK(array);
        assert_int_equal(jit_array_length(array), LENGTH);
        assert_int_equal(jit_var_type(array), type->type);
        assert_int_equal(jit_var_size(array), N);
        for (int s = 0; s < STEPS; ++s) {
            void *value = random_array(type->type, N);
            uint32_t *at = random_indices(N, LENGTH + 3); /* beyond the end, too */
            uint8_t on[N];
            for (int i = 0; i < N; ++i) {
                on[i] = s % 2 ? random_bits() & 1 : 1;
                if (on[i] && at[i] < LENGTH)
                    model[i][at[i]] = get_bits(value, type->size, (size_t) i);
            }
            uint32_t v = array_of(type->type, value, N), k = u32_array(N, at);
            uint32_t m = array_of(VarTypeBool, on, N);
            advance(&array, jit_array_write(array, k, v, s % 2 ? m : ALWAYS));
            DROP(v, k, m);
            free(value);
            free(at);
        }
        uint32_t *at = random_indices(N, LENGTH + 3);
        uint32_t k = u32_array(N, at), read[LENGTH + 1];
        read[LENGTH] = jit_array_read(array, k, ALWAYS);
        for (uint32_t i = 0; i < LENGTH; ++i) {
            uint32_t where = jit_var_u32(CPU, i);
            read[i] = jit_array_read(array, where, ALWAYS);
            OK(read[i]);
            assert_int_equal(jit_var_type(read[i]), type->type);
            jit_var_dec_ref(where);
        }
        for (uint32_t i = 0; i <= LENGTH; ++i)
            OK(jit_var_schedule(read[i]));
        OK(jit_eval());
        char expected[N * 8];
        for (uint32_t i = 0; i <= LENGTH; ++i) {
            for (uint32_t n = 0; n < N; ++n) {
                uint32_t from = i < LENGTH ? i : at[n];
                put_bits(expected, type->size, n, from < LENGTH ? model[n][from] : 0);
            }
            CHECK_BYTES(read[i], expected, N);
            jit_var_dec_ref(read[i]);
        }
        DROP(array, k);
        free(at);
    }
}

/* Negative positions are beyond the end, masks give 0 and write nothing. */
static void test_edges(void **unused)
{
    (void) unused;
    int32_t places[] = { -1, 0, 3, 4, INT32_MIN, INT32_MAX };
    uint8_t on[] = { 1, 1, 1, 1, 1, 0 }, off[] = { 0, 0, 0, 0, 0, 0 };
    uint32_t at = array_of(VarTypeInt32, places, 6), seven = jit_var_u32(CPU, 7);
    uint32_t mask = array_of(VarTypeBool, on, 6), none = array_of(VarTypeBool, off, 6);
    uint32_t a = jit_array_create(CPU, VarTypeUInt32, 4, 6), five = jit_var_u32(CPU, 5);
    uint32_t b = jit_array_init(a, five);
    uint32_t before = jit_array_read(a, at, ALWAYS);
    uint32_t filled = jit_array_read(b, at, mask);
    advance(&b, jit_array_write(b, at, seven, mask));
    uint32_t after = jit_array_read(b, at, ALWAYS);
    uint32_t masked = jit_array_read(b, at, none);
    advance(&b, jit_array_write(b, at, five, none));
    uint32_t same = jit_array_read(b, at, ALWAYS);
    CHECK_U32(before, 0, 0, 0, 0, 0, 0);
    CHECK_U32(filled, 0, 5, 5, 0, 0, 0);
    CHECK_U32(after, 0, 7, 7, 0, 0, 0);
    CHECK_U32(masked, 0, 0, 0, 0, 0, 0);
    CHECK_U32(same, 0, 7, 7, 0, 0, 0);
    DROP(at, seven, five, mask, none, a, b, before, filled, after, masked, same);
}

/* A local array of which tracing does not know that all entries are this number. */
static uint32_t filled(VarType type, size_t length, size_t size, uint64_t number)
{
    uint32_t fresh = jit_array_create(CPU, type, length, size);
    uint32_t value = array_of(type, &number, 1);
    uint32_t result = jit_array_init(fresh, value);
    DROP(fresh, value);
    return result;
}

/* What is read from an array that nothing was written to is what it was made with. */
static void test_literal(void **unused)
{
    (void) unused;
    uint32_t nine = jit_var_u32(CPU, 9), one = jit_var_u32(CPU, 1);
    uint32_t fresh = jit_array_create(CPU, VarTypeUInt32, 2, 3);
    uint32_t a = jit_array_init(fresh, nine);
    uint32_t places = u32_array(3, (uint32_t[]){ 0, 2, 1 });
    uint32_t mask = array_of(VarTypeBool, (uint8_t[]){ 0, 1, 1 }, 3);
    uint32_t x = jit_array_read(a, one, ALWAYS), y = jit_array_read(fresh, one, ALWAYS);
    uint32_t z = jit_array_read(a, nine, ALWAYS);
    assert_int_equal(jit_var_state(x), VarStateLiteral);
    assert_int_equal(jit_var_state(y), VarStateLiteral);
    assert_int_equal(jit_var_state(z), VarStateLiteral);
    uint32_t u = jit_array_read(a, places, ALWAYS), v = jit_array_read(a, one, mask);
    CHECK_U32(x, 9, 9, 9);
    CHECK_U32(y, 0, 0, 0);
    CHECK_U32(z, 0, 0, 0);
    CHECK_U32(u, 9, 0, 9);
    CHECK_U32(v, 0, 9, 9);
    uint32_t b = jit_array_write(a, one, one, mask);
    uint32_t w = jit_array_read(b, one, ALWAYS);
    CHECK_U32(w, 9, 1, 1);
    DROP(nine, one, fresh, a, places, mask, x, y, z, u, v, b, w);
}

/* ------------------------------------------------------------------- versions */

/* An old version can be read, written, and read again whatever happens to the new one.
 */
static void test_old_versions(void **unused)
{
    (void) unused;
    uint32_t zero = jit_var_u32(CPU, 0), one = jit_var_u32(CPU, 1);
    uint32_t nine = jit_var_u32(CPU, 9), lane = jit_var_counter(CPU, 3);
    uint32_t a = filled(VarTypeUInt32, 2, 3, 0);
    uint32_t b = jit_array_write(a, zero, nine, ALWAYS);
    uint32_t c = jit_array_write(a, zero, lane, ALWAYS); /* a second heir of 'a' */
    uint32_t d = jit_array_write(b, one, lane, ALWAYS);
    uint32_t e = jit_array_write(b, zero, one, ALWAYS);
    uint32_t arrays[] = { a, b, c, d, e }, got[5][2];
    for (int i = 0; i < 5; ++i) {
        got[i][0] = jit_array_read(arrays[i], zero, ALWAYS);
        got[i][1] = jit_array_read(arrays[i], one, ALWAYS);
    }
    drop_all(arrays, 5);
    for (int i = 0; i < 5; ++i) {
        OK(jit_var_schedule(got[i][0]));
        OK(jit_var_schedule(got[i][1]));
    }
    OK(jit_eval());
    CHECK_U32(got[0][0], 0, 0, 0);
    CHECK_U32(got[0][1], 0, 0, 0);
    CHECK_U32(got[1][0], 9, 9, 9);
    CHECK_U32(got[1][1], 0, 0, 0);
    CHECK_U32(got[2][0], 0, 1, 2);
    CHECK_U32(got[2][1], 0, 0, 0);
    CHECK_U32(got[3][0], 9, 9, 9);
    CHECK_U32(got[3][1], 0, 1, 2);
    CHECK_U32(got[4][0], 1, 1, 1);
    CHECK_U32(got[4][1], 0, 0, 0);
    for (int i = 0; i < 5; ++i)
        drop_all(got[i], 2);
    DROP(zero, one, nine, lane);
}

/* No copies where none are needed: a write that other operations were traced before
 * waits for these, whatever the order in which results are asked for. */
static void test_in_place(void **unused)
{
    (void) unused;
    uint32_t zero = jit_var_u32(CPU, 0), one = jit_var_u32(CPU, 1);
    uint32_t lane = jit_var_counter(CPU, 3);
    uint32_t a = jit_array_create(CPU, VarTypeUInt32, 8, 3);
    advance(&a, jit_array_write(a, zero, lane, ALWAYS));
    uint32_t early = jit_array_read(a, zero, ALWAYS);
    uint32_t early_too = jit_array_read(a, one, ALWAYS);
    advance(&a, jit_array_write(a, zero, one, ALWAYS));
    advance(&a, jit_array_write(a, one, one, ALWAYS));
    uint32_t late = jit_array_read(a, zero, ALWAYS);
    uint32_t sum = jit_var_add(late, early), all = jit_var_add(sum, early_too);
    const char *text = jit_program_str(all);
    OK(text);
    assert_int_equal(count_text(text, "= local.8 "), 1);
    assert_int_equal(count_text(text, "local_move"), 0);
    assert_int_equal(count_text(text, "local_write"), 3);
    CHECK_U32(all, 1, 2, 3);
    DROP(zero, one, lane, a, early, early_too, late, sum, all);
}

/* Random sequences: any version may be read or written at any time. */
static void test_random(void **unused)
{
    (void) unused;
    enum { LENGTH = 5, STEPS = 60, VERSIONS = 8, LANES = 33 };
    for (int round = 0; round < 40; ++round) {
        uint32_t versions[VERSIONS], got[STEPS], expected[STEPS][LANES];
        uint32_t model[VERSIONS][LANES][LENGTH];
        uint32_t count = 0, lane = jit_var_counter(CPU, LANES);
        memset(model, 0, sizeof(model));
        for (int v = 0; v < VERSIONS; ++v)
            versions[v] = jit_array_create(CPU, VarTypeUInt32, LENGTH, LANES);
        for (int s = 0; s < STEPS; ++s) {
            uint32_t from = (uint32_t) (random_bits() % VERSIONS);
            uint32_t to = (uint32_t) (random_bits() % VERSIONS);
            /* A position that differs by lane, and sometimes depends on what was read.
             */
            uint32_t shift = (uint32_t) (random_bits() % LENGTH);
            uint32_t step = jit_var_u32(CPU, shift), last = 0;
            uint32_t at[LANES], places;
            if (count && random_bits() & 1) {
                last = count - 1;
                uint32_t sum = jit_var_add(got[last], step);
                uint32_t bound = jit_var_u32(CPU, LENGTH);
                places = jit_var_mod(sum, bound);
                DROP(sum, bound);
                for (uint32_t i = 0; i < LANES; ++i)
                    at[i] = (expected[last][i] + shift) % LENGTH;
            } else {
                places = jit_var_mod(lane, step);
                for (uint32_t i = 0; i < LANES; ++i)
                    at[i] = shift ? i % shift : i;
            }
            if (random_bits() % 3) {
                uint32_t value = count ? got[random_bits() % count] : lane;
                const uint32_t *bits = NULL;
                for (uint32_t k = 0; k < count; ++k)
                    if (got[k] == value)
                        bits = expected[k];
                uint32_t more = jit_var_add(value, lane);
                uint32_t next = jit_array_write(versions[from], places, more, ALWAYS);
                uint32_t copy[LANES][LENGTH];
                memcpy(copy, model[from], sizeof(copy));
                for (uint32_t i = 0; i < LANES; ++i)
                    if (at[i] < LENGTH)
                        copy[i][at[i]] = (bits ? bits[i] : i) + i;
                memcpy(model[to], copy, sizeof(copy));
                advance(&versions[to], next);
                jit_var_dec_ref(more);
            } else {
                got[count] = jit_array_read(versions[from], places, ALWAYS);
                for (uint32_t i = 0; i < LANES; ++i)
                    expected[count][i] = at[i] < LENGTH ? model[from][i][at[i]] : 0;
                count++;
            }
            DROP(places, step);
        }
        drop_all(versions, VERSIONS);
        /* In random order, some of them in a kernel of their own. */
        for (uint32_t k = 0; k < count; ++k) {
            uint32_t which = (uint32_t) (random_bits() % count);
            jit_var_schedule(got[which]);
            if (random_bits() % 4 == 0)
                OK(jit_eval());
        }
        for (uint32_t k = 0; k < count; ++k) {
            CHECK_BYTES(got[k], expected[k], LANES);
            jit_var_dec_ref(got[k]);
        }
        jit_var_dec_ref(lane);
    }
}

/* An array of what is undefined is one of zeros, whatever its memory was used for. */
static void test_undefined(void **unused)
{
    (void) unused;
    enum { LENGTH = 40, LANES = 70 };
    uint32_t lane = jit_var_counter(CPU, LANES), seven = jit_var_u32(CPU, 7);
    for (int turn = 0; turn < 2; ++turn) {
        uint32_t value = turn ? jit_var_undefined(CPU, VarTypeUInt32, LANES)
                              : jit_var_inc_ref(seven);
        uint32_t fresh = jit_array_create(CPU, VarTypeUInt32, LENGTH, LANES);
        uint32_t array = jit_array_init(fresh, value), expected[LANES];
        uint32_t x = jit_array_read(array, lane, ALWAYS);
        for (uint32_t i = 0; i < LANES; ++i)
            expected[i] = i < LENGTH && !turn ? 7 : 0;
        OK(jit_var_eval(x));
        CHECK_BYTES(x, expected, LANES);
        DROP(value, fresh, array, x);
    }
    DROP(lane, seven);
}

/* ---------------------------------------------------------------------- sizes */

/* Far beyond 128 bytes, and with several arrays at once: all that a lane can have. */
static void test_large(void **unused)
{
    (void) unused;
    enum { LENGTH = 4096, LANES = 300 };
    uint32_t arrays[3], lane = jit_var_counter(CPU, LANES);
    for (int k = 0; k < 3; ++k) {
        uint32_t value = jit_var_u32(CPU, (uint32_t) k + 10);
        uint32_t fresh = jit_array_create(CPU, VarTypeUInt32, LENGTH, LANES);
        OK(fresh);
        arrays[k] = jit_array_init(fresh, value);
        DROP(value, fresh);
    }
    uint32_t factor = jit_var_u32(CPU, 13), far = jit_var_mul(lane, factor);
    for (int k = 0; k < 3; ++k)
        advance(&arrays[k], jit_array_write(arrays[k], far, lane, ALWAYS));
    uint32_t first = jit_var_u32(CPU, 13 * 299), last = jit_var_u32(CPU, LENGTH - 1);
    uint32_t x = jit_array_read(arrays[0], first, ALWAYS);
    uint32_t y = jit_array_read(arrays[2], last, ALWAYS);
    uint32_t z = jit_array_read(arrays[1], far, ALWAYS);
    uint32_t expected[3][LANES];
    for (uint32_t i = 0; i < LANES; ++i) {
        expected[0][i] = i == 299 ? 299 : 10;
        expected[1][i] = 12;
        expected[2][i] = i;
    }
    OK(jit_var_schedule(x) && jit_var_schedule(y) && jit_var_schedule(z));
    OK(jit_eval());
    CHECK_BYTES(x, expected[0], LANES);
    CHECK_BYTES(y, expected[1], LANES);
    CHECK_BYTES(z, expected[2], LANES);
    DROP(arrays[0], arrays[1], arrays[2], lane, factor, far, first, last, x, y, z);
}

static void test_limits(void **unused)
{
    (void) unused;
    assert_int_equal(jit_array_create(CPU, VarTypeUInt32, 16385, 1), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_array_create()", "16385", "16384", "uint32",
                "65536");
    assert_int_equal(jit_array_create(CPU, VarTypeBool, 0, 1), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_array_create()", "length is 0");
    assert_int_equal(jit_array_create(CPU, VarTypeBool, 1, 0), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_array_create()", "size is 0");
    /* Two that fit singly. */
    uint32_t a = filled(VarTypeUInt64, 8192, 4, 0);
    uint32_t at = jit_var_u32(CPU, 1);
    uint32_t b = filled(VarTypeUInt8, 1, 4, 0);
    uint32_t x = jit_array_read(a, at, ALWAYS), y = jit_array_read(b, at, ALWAYS);
    uint32_t wide = jit_var_cast(y, VarTypeUInt64, 0), sum = jit_var_add(x, wide);
    assert_false(jit_var_eval(sum));
    CHECK_ERROR(JIT_ERROR_UNSUPPORTED, "jit_eval()", "local arrays", "65536");
    CHECK_BYTES(x, ((uint64_t[]){ 0, 0, 0, 0 }), 4); /* one alone is fine */
    DROP(a, b, at, x, y, wide, sum);
}

static void test_broadcast(void **unused)
{
    (void) unused;
    uint32_t one = jit_var_u32(CPU, 1), lane = jit_var_counter(CPU, 4);
    uint32_t a = jit_array_create(CPU, VarTypeUInt32, 2, 1);
    uint32_t b = jit_array_write(a, one, lane, ALWAYS);
    assert_int_equal(jit_var_size(b), 4);
    uint32_t x = jit_array_read(b, one, ALWAYS), y = jit_array_read(a, one, ALWAYS);
    uint32_t z = jit_array_read(a, lane, ALWAYS);
    assert_int_equal(jit_var_size(y), 1);
    assert_int_equal(jit_var_size(z), 4);
    CHECK_U32(x, 0, 1, 2, 3);
    CHECK_U32(y, 0);
    CHECK_U32(z, 0, 0, 0, 0);
    uint32_t five = jit_var_counter(CPU, 5), w = jit_array_init(a, five);
    assert_int_equal(jit_var_size(w), 5);
    assert_int_equal(jit_array_read(b, five, ALWAYS), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_array_read()", "4", "5");
    assert_int_equal(jit_array_write(b, one, five, ALWAYS), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_array_write()", "4", "5");
    assert_int_equal(jit_array_init(b, five), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_array_init()", "4", "5");
    DROP(one, lane, a, b, x, y, z, five, w);
}

/* --------------------------------------------------------------------- misuse */

static void test_misuse(void **unused)
{
    (void) unused;
    uint32_t a = jit_array_create(CPU, VarTypeUInt32, 2, 3), one = jit_var_u32(CPU, 1);
    uint32_t real = jit_var_f32(CPU, 1), mask = jit_var_bool(CPU, true);
    assert_int_equal(jit_array_read(one, one, ALWAYS), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_array_read()", "not a local array");
    assert_int_equal(jit_array_read(0, one, ALWAYS), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_array_read()", "not a variable");
    assert_int_equal(jit_array_read(a, real, ALWAYS), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_array_read()", "float32", "uint32");
    assert_int_equal(jit_array_read(a, one, one), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_array_read()", "mask is uint32");
    assert_int_equal(jit_array_write(a, one, real, mask), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_array_write()", "float32", "uint32");
    assert_int_equal(jit_array_write(a, one, a, mask), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_array_write()", "local array");
    assert_int_equal(jit_array_write(a, a, one, mask), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_array_write()", "local array");
    assert_int_equal(jit_array_init(a, real), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_array_init()", "float32", "uint32");
    assert_int_equal(jit_array_length(one), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_array_length()", "not a local array");
    /* Other functions refuse arrays. */
    void *data;
    assert_int_equal(jit_var_add(a, one), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_add()", "local array");
    assert_int_equal(jit_var_neg(a), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_neg()", "local array");
    assert_int_equal(jit_var_select(mask, a, a), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_select()", "local array");
    assert_int_equal(jit_var_gather(a, one, mask), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_gather()", "local array");
    assert_int_equal(jit_var_scatter(a, one, one, mask, ReduceOpIdentity,
                                     ReduceModeAuto), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_scatter()", "local array");
    assert_int_equal(jit_var_cast(a, VarTypeFloat32, 0), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_cast()", "local array");
    assert_false(jit_var_eval(a));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "local array");
    assert_false(jit_var_schedule(a));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "local array");
    assert_int_equal(jit_var_data(a, &data), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "local array");
    assert_false(jit_var_read(a, 0, &data));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "local array");
    assert_int_equal(jit_var_write(a, 0, &data), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "local array");
    assert_null(jit_var_str(a));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "local array");
    assert_int_equal(jit_var_copy(a), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "local array");
    assert_int_equal(jit_var_resize(a, 3), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "local array");
    assert_int_equal(jit_var_reduce(a, ReduceOpAdd), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "local array");
    assert_int_equal(jit_var_stmt(CPU, VarTypeUInt32, "$r0 = add $r1, $r1", 0, 1, &a),
                     0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "local array");
    assert_int_equal(jit_var_schedule_force(a, NULL), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "local array");
    assert_int_equal(jit_var_pointer(CPU, &data, a, 0), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "local array");
    assert_null(jit_program_str(a));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "local array");
    OK(jit_var_whos());
    OK(jit_var_graphviz());
    assert_int_equal(jit_var_state(a), VarStateUnevaluated);
    DROP(a, one, real, mask);
}

/* Debug mode reports positions beyond the end, under the array's label. */
static void test_checks(void **unused)
{
    (void) unused;
    jit_set_log_level_callback(LogLevelWarn, log_keep);
    jit_set_flag(JitFlagDebug, 1);
    uint32_t at = u32_array(3, (uint32_t[]){ 0, 77, 1 }), one = jit_var_u32(CPU, 1);
    uint8_t some[] = { 1, 0, 1 };
    uint32_t mask = array_of(VarTypeBool, some, 3);
    uint32_t plain = jit_array_create(CPU, VarTypeUInt32, 2, 3);
    uint32_t a = jit_var_set_label(plain, "stack");
    uint32_t b = jit_array_write(a, at, one, mask), c = jit_array_read(b, at, mask);
    CHECK_U32(c, 1, 0, 1);
    jit_sync_thread();
    assert_int_equal(log_count("out-of-bounds"), 0);
    uint32_t d = jit_array_write(a, at, one, ALWAYS);
    uint32_t e = jit_array_read(d, at, ALWAYS), zero = jit_var_u32(CPU, 0);
    CHECK_U32(e, 1, 0, 1);
    jit_sync_thread();
    assert_int_equal(log_count("position 77 in an array of size 2. ("), 2);
    assert_int_equal(log_count("jit_array_write()"), 1);
    assert_int_equal(log_count("jit_array_read()"), 1);
    assert_int_equal(log_count("stack"), 1); /* the label is that of one version */
    DROP(at, one, mask, plain, a, b, c, d, e, zero);
}

/* The mask stack holds for local arrays. */
static void test_mask_stack(void **unused)
{
    (void) unused;
    uint8_t some[] = { 1, 0, 1 };
    uint32_t mask = array_of(VarTypeBool, some, 3), at = jit_var_u32(CPU, 1);
    uint32_t seven = jit_var_u32(CPU, 7), eight = jit_var_u32(CPU, 8);
    uint32_t a = jit_array_create(CPU, VarTypeUInt32, 2, 3);
    advance(&a, jit_array_write(a, at, seven, ALWAYS));
    OK(jit_var_mask_push(CPU, mask));
    advance(&a, jit_array_write(a, at, eight, ALWAYS));
    uint32_t x = jit_array_read(a, at, ALWAYS);
    OK(jit_var_mask_pop(CPU));
    uint32_t y = jit_array_read(a, at, ALWAYS);
    CHECK_U32(x, 8, 0, 8);
    CHECK_U32(y, 8, 7, 8);
    DROP(mask, at, seven, eight, a, x, y);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_each_type),    TEST(test_edges),    TEST(test_literal),
        TEST(test_old_versions), TEST(test_in_place), TEST(test_random),
        TEST(test_undefined),    TEST(test_large),    TEST(test_limits),
        TEST(test_broadcast),    TEST(test_misuse),   TEST(test_checks),
        TEST(test_mask_stack),
    };
    return cmocka_run_group_tests_name("local", tests, NULL, NULL);
}

int main(void)
{
    return run_engines(run);
}
