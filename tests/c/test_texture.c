/*
 * test_texture.c -- textures: lookups against loops over points, content, misuse
 */
#include <math.h>

#include "test_util.h"

enum { N = 61, MOST = 3 * 5 * 4 * 6 };

typedef struct Case {
    size_t ndim, shape[3], channels;
} Case;

static const Case cases[] = {
    { 1, { 5 }, 1 },       { 1, { 1 }, 3 },       { 2, { 4, 3 }, 3 },
    { 2, { 1, 6 }, 4 },    { 2, { 5, 2 }, 2 },    { 3, { 2, 4, 3 }, 1 },
    { 3, { 5, 1, 2 }, 6 }, { 3, { 3, 3, 3 }, 4 },
};

static const VarType types[] = { VarTypeFloat16, VarTypeFloat32, VarTypeFloat64 };

static size_t entries_of(const Case *c)
{
    size_t count = c->channels;
    for (size_t k = 0; k < c->ndim; ++k)
        count *= c->shape[k];
    return count;
}

/* ---------------------------------------------------------------- the model */

static long wrapped(long i, long n, JitTexWrap wrap)
{
    if (wrap == JitTexWrapClamp)
        return i < 0 ? 0 : i >= n ? n - 1 : i;
    long period = wrap == JitTexWrapRepeat ? n : 2 * n;
    i = (i % period + period) % period;
    return i < n ? i : period - 1 - i;
}

static double entry_at(const Case *c, const double *data, const long *first,
                       uint32_t corner, JitTexWrap wrap, size_t channel)
{
    size_t index = 0;
    for (size_t k = c->ndim; k-- > 0;) {
        long n = (long) c->shape[k], i = wrapped(first[k] + (corner >> k & 1), n, wrap);
        index = index * c->shape[k] + (size_t) i;
    }
    return data[index * c->channels + channel];
}

static double looked_up(const Case *c, const double *data, const double *p,
                        JitTexFilter filter, JitTexWrap wrap, size_t channel)
{
    long first[3];
    double fraction[3], sum = 0;
    bool linear = filter == JitTexFilterLinear;
    for (size_t k = 0; k < c->ndim; ++k) {
        double at = p[k] * (double) c->shape[k] - (linear ? 0.5 : 0);
        first[k] = (long) floor(at);
        fraction[k] = at - floor(at);
    }
    for (uint32_t corner = 0; corner < (linear ? 1u << c->ndim : 1); ++corner) {
        double weight = 1;
        for (size_t k = 0; linear && k < c->ndim; ++k)
            weight *= corner >> k & 1 ? fraction[k] : 1 - fraction[k];
        sum += weight * entry_at(c, data, first, corner, wrap, channel);
    }
    return sum;
}

/* ---------------------------------------------------------------- arrays */

/* Numbers that each type has, such that few of them lie between two points. */
static double random_number(double low, double high)
{
    double x = low + (high - low) * (double) (random_bits() >> 11) * 0x1p-53;
    return (floor(x * 64) + 0.5) / 64;
}

static uint32_t numbers(VarType type, const double *data, size_t size)
{
    uint32_t wide = array_of(VarTypeFloat64, data, size);
    uint32_t id = jit_var_cast(wide, type, 0);
    OK(id);
    jit_var_dec_ref(wide);
    return id;
}

static void check_numbers(uint32_t id, const double *expected, double tolerance)
{
    uint32_t wide = jit_var_cast(id, VarTypeFloat64, 0);
    OK(wide);
    for (size_t i = 0; i < N; ++i) {
        double found = 0;
        OK(jit_var_read(wide, i, &found));
        if (!(fabs(found - expected[i]) <= tolerance))
            fail_msg("lane %zu is %.17g, expected %.17g", i, found, expected[i]);
    }
    jit_var_dec_ref(wide);
}

static double tolerance_of(VarType type)
{
    return type == VarTypeFloat16 ? 0.02 : type == VarTypeFloat32 ? 2e-6 : 1e-13;
}

static JitTexture *texture_of(const Case *c, VarType type, JitTexFilter filter,
                              JitTexWrap wrap, double *data)
{
    JitTexture *t =
        jit_tex_create(CPU, c->ndim, c->shape, c->channels, type, filter, wrap);
    OK(t);
    for (size_t i = 0; i < entries_of(c); ++i)
        data[i] = random_number(0, 1);
    uint32_t content = numbers(type, data, entries_of(c));
    OK(jit_tex_set_content(t, content));
    jit_var_dec_ref(content);
    return t;
}

static void make_positions(const Case *c, VarType type, double (*p)[N], uint32_t *pos)
{
    for (size_t k = 0; k < c->ndim; ++k) {
        for (size_t i = 0; i < N; ++i)
            p[k][i] = random_number(-2.5, 3.5);
        pos[k] = numbers(type, p[k], N);
    }
}

/* ---------------------------------------------------------------- lookups */

static void check_lookups(const Case *c, VarType type, VarType query,
                          JitTexFilter filter, JitTexWrap wrap)
{
    double data[MOST], p[3][N], expected[N];
    uint32_t pos[3] = { 0 }, out[8];
    uint8_t on[N];
    JitTexture *t = texture_of(c, type, filter, wrap, data);
    make_positions(c, query, p, pos);
    for (size_t i = 0; i < N; ++i)
        on[i] = i % 3 != 0;
    uint32_t mask = array_of(VarTypeBool, on, N);
    for (int masked = 0; masked < 2; ++masked) {
        OK(jit_tex_lookup(t, pos, masked ? mask : ALWAYS, out));
        for (size_t channel = 0; channel < c->channels; ++channel) {
            for (size_t i = 0; i < N; ++i) {
                double place[3] = { p[0][i], p[1][i], p[2][i] };
                expected[i] = masked && !on[i]
                                  ? 0
                                  : looked_up(c, data, place, filter, wrap, channel);
            }
            assert_int_equal(jit_var_type(out[channel]), query);
            VarType least = type < query ? type : query;
            check_numbers(out[channel], expected, tolerance_of(least));
        }
        drop_all(out, c->channels);
    }
    drop_all(pos, 3);
    jit_var_dec_ref(mask);
    jit_tex_destroy(t);
}

static void test_lookups(void **unused)
{
    (void) unused;
    for (size_t i = 0; i < COUNT_OF(cases); ++i)
        for (int wrap = JitTexWrapRepeat; wrap <= JitTexWrapMirror; ++wrap)
            for (int filter = 0; filter <= JitTexFilterLinear; ++filter)
                check_lookups(&cases[i], types[(i + (size_t) wrap) % 3],
                              types[(i + (size_t) filter) % 3], (JitTexFilter) filter,
                              (JitTexWrap) wrap);
}

static void test_fetch(void **unused)
{
    (void) unused;
    for (size_t i = 0; i < COUNT_OF(cases); ++i) {
        const Case *c = &cases[i];
        JitTexWrap wrap = (JitTexWrap) (i % 3);
        double data[MOST], p[3][N] = { { 0 } }, expected[N];
        uint32_t pos[3] = { 0 }, out[8 * 8];
        JitTexture *t = texture_of(c, VarTypeFloat32, JitTexFilterNearest, wrap, data);
        make_positions(c, VarTypeFloat64, p, pos);
        OK(jit_tex_bilerp_fetch(t, pos, ALWAYS, out));
        size_t count = c->channels << c->ndim;
        for (size_t k = 0; k < count; ++k) {
            for (size_t lane = 0; lane < N; ++lane) {
                long first[3];
                for (size_t axis = 0; axis < c->ndim; ++axis)
                    first[axis] =
                        (long) floor(p[axis][lane] * (double) c->shape[axis] - 0.5);
                expected[lane] = entry_at(c, data, first, (uint32_t) (k / c->channels),
                                          wrap, k % c->channels);
            }
            check_numbers(out[k], expected, 0);
        }
        drop_all(out, count);
        drop_all(pos, 3);
        jit_tex_destroy(t);
    }
}

/* Whatever a position is, what is read is a point of the grid. */
static void test_wild_positions(void **unused)
{
    (void) unused;
    const double wild[] = {
        NAN, INFINITY, -INFINITY, 1e30,      -1e30, 3e9,   -3e9, 0,
        1,   -1,       1e-40,     0.9999999, -1e-9, 65504, 2,    -2
    };
    double ones[7 * 5 * 2];
    for (size_t i = 0; i < COUNT_OF(ones); ++i)
        ones[i] = 1;
    jit_set_flag(JitFlagDebug, 1);
    for (size_t type = 0; type < 3; ++type)
        for (int wrap = 0; wrap <= JitTexWrapMirror; ++wrap) {
            JitTexture *t =
                jit_tex_create(CPU, 2, (size_t[]){ 7, 5 }, 2, VarTypeFloat64,
                               JitTexFilterNearest, (JitTexWrap) wrap);
            OK(t);
            OK(jit_tex_copy_from(t, ones));
            uint32_t x = numbers(types[type], wild, COUNT_OF(wild)), out[8];
            OK(jit_tex_bilerp_fetch(t, (uint32_t[]){ x, x }, ALWAYS, out));
            for (size_t k = 0; k < 8; ++k)
                for (size_t i = 0; i < COUNT_OF(wild); ++i) {
                    uint32_t sum = jit_var_cast(out[k], VarTypeFloat64, 0);
                    double entry = 0;
                    OK(jit_var_read(sum, i, &entry));
                    assert_true(entry == 1);
                    jit_var_dec_ref(sum);
                }
            drop_all(out, 8);
            jit_var_dec_ref(x);
            jit_tex_destroy(t);
        }
    jit_set_flag(JitFlagDebug, 0);
}

/* More points than numbers of half precision count. */
static void test_long_axis(void **unused)
{
    (void) unused;
    enum { LENGTH = 5001 };
    static float line[LENGTH];
    for (size_t i = 0; i < LENGTH; ++i)
        line[i] = 1;
    const double places[] = { -2, -0.001, 0, 0.25, 0.9995, 1, 1.001, 7 };
    jit_set_flag(JitFlagDebug, 1);
    for (int wrap = 0; wrap <= JitTexWrapMirror; ++wrap) {
        JitTexture *t = jit_tex_create(CPU, 1, (size_t[]){ LENGTH }, 1, VarTypeFloat32,
                                       JitTexFilterLinear, (JitTexWrap) wrap);
        OK(t);
        OK(jit_tex_copy_from(t, line));
        uint32_t x = numbers(VarTypeFloat16, places, COUNT_OF(places)), out[2];
        OK(jit_tex_bilerp_fetch(t, &x, ALWAYS, out));
        for (size_t k = 0; k < 2; ++k)
            for (size_t i = 0; i < COUNT_OF(places); ++i) {
                uint16_t entry = 0;
                OK(jit_var_read(out[k], i, &entry));
                assert_int_equal(entry, 0x3c00);
            }
        DROP(x, out[0], out[1]);
        jit_tex_destroy(t);
    }
    jit_set_flag(JitFlagDebug, 0);
}

/* ---------------------------------------------------------------- content */

static void test_content(void **unused)
{
    (void) unused;
    size_t shape[4] = { 9, 9, 9, 9 };
    float in[2 * 3 * 3], out[2 * 3 * 3];
    for (size_t i = 0; i < COUNT_OF(in); ++i)
        in[i] = (float) i;
    JitTexture *t = jit_tex_create(CPU, 2, (size_t[]){ 2, 3 }, 3, VarTypeFloat32,
                                   JitTexFilterLinear, JitTexWrapClamp);
    OK(t);
    assert_int_equal(jit_tex_shape(t, shape), 2);
    assert_true(shape[0] == 2 && shape[1] == 3 && shape[2] == 3 && shape[3] == 9);
    assert_int_equal(jit_tex_shape(t, NULL), 2);
    OK(jit_tex_copy_to(t, out));
    for (size_t i = 0; i < COUNT_OF(out); ++i)
        assert_true(out[i] == 0);
    OK(jit_tex_copy_from(t, in));
    OK(jit_tex_copy_to(t, out));
    assert_memory_equal(in, out, sizeof(in));
    uint32_t before = jit_tex_content(t);
    CHECK_BYTES(before, in, COUNT_OF(in));
    /* Writes leave alone what others hold. */
    int32_t columns[] = { 1, 0, 1 }, rows[] = { 2, 0, 0 };
    uint8_t on[] = { 1, 1, 0 };
    float values[3][3] = { { -1, -2, -3 }, { -4, -5, -6 }, { -7, -8, -9 } };
    uint32_t mask = array_of(VarTypeBool, on, 3);
    uint32_t pos[] = { array_of(VarTypeInt32, columns, 3),
                       array_of(VarTypeInt32, rows, 3) };
    uint32_t ids[3];
    for (size_t c = 0; c < 3; ++c)
        ids[c] = array_of(VarTypeFloat32, values[c], 3);
    OK(jit_tex_write(t, pos, ids, mask));
    CHECK_BYTES(before, in, COUNT_OF(in));
    for (size_t c = 0; c < 3; ++c) {
        in[(2 * 2 + 1) * 3 + c] = values[c][0];
        in[c] = values[c][1];
    }
    OK(jit_tex_copy_to(t, out));
    assert_memory_equal(in, out, sizeof(in));
    drop_all(ids, 3);
    DROP(before, mask, pos[0], pos[1]);
    jit_tex_destroy(t);
    jit_tex_destroy(NULL);
}

/* Packets are written at once. */
static void test_write_packets(void **unused)
{
    (void) unused;
    JitTexture *t = jit_tex_create(CPU, 1, (size_t[]){ 4 }, 2, VarTypeFloat64,
                                   JitTexFilterNearest, JitTexWrapClamp);
    OK(t);
    uint32_t at = u32_array(2, (uint32_t[]){ 3, 1 }), ids[2];
    ids[0] = array_of(VarTypeFloat64, (double[]){ 1, 2 }, 2);
    ids[1] = array_of(VarTypeFloat64, (double[]){ 3, 4 }, 2);
    OK(jit_tex_write(t, &at, ids, ALWAYS));
    double out[8], right[8] = { 0, 0, 2, 4, 0, 0, 1, 3 };
    OK(jit_tex_copy_to(t, out));
    assert_memory_equal(out, right, sizeof(out));
    DROP(at, ids[0], ids[1]);
    jit_tex_destroy(t);
}

/* ---------------------------------------------------------------- misuse */

static JitTexture *make(size_t ndim, size_t n, size_t channels, int type, int filter)
{
    return jit_tex_create(CPU, ndim, (size_t[]){ n, 2, 3 }, channels, (VarType) type,
                          (JitTexFilter) filter, JitTexWrapClamp);
}

static void test_misuse(void **unused)
{
    (void) unused;
    enum { F32 = VarTypeFloat32 };
    assert_null(make(0, 2, 1, F32, 0));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_tex_create()", "0 dimensions", "1 to 3");
    assert_null(make(4, 2, 1, F32, 0));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "4 dimensions");
    assert_null(make(2, 0, 1, F32, 0));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "extents 0, 2, 1", "expected 1");
    assert_null(make(2, (size_t) 1 << 30, 2, F32, 0));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "extents 1073741824, 2, 1");
    assert_null(make(2, 2, 0, F32, 0));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "0 channels", "1 to 1024");
    assert_null(make(2, 2, 1, VarTypeInt32, 0));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "type", "floats");
    assert_null(make(2, 2, 1, 99, 0));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "type 99", "floats");
    assert_null(make(2, 2, 1, F32, 2));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "filter 2", "JitTexFilter");
    assert_false(jit_tex_lookup(NULL, NULL, 0, NULL));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_tex_lookup()", "the texture is NULL");
    JitTexture *t = make(2, 2, 3, F32, 1);
    OK(t);
    uint32_t x = jit_var_f32(CPU, 0.5f), wide = jit_var_f64(CPU, 0.5);
    uint32_t i = jit_var_u32(CPU, 1), out[3] = { 7, 7, 7 };
    assert_false(jit_tex_lookup(t, (uint32_t[]){ x, wide }, 0, out));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_tex_lookup()", "position 1", "floats");
    assert_false(jit_tex_bilerp_fetch(t, (uint32_t[]){ i, x }, 0, out));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_tex_bilerp_fetch()", "position 0", "floats");
    assert_false(jit_tex_lookup(t, (uint32_t[]){ x, 0 }, 0, out));
    assert_int_equal(jit_error(), JIT_ERROR_ARGUMENT);
    assert_false(jit_tex_lookup(t, (uint32_t[]){ x, x }, i, out)); /* no mask */
    assert_int_equal(jit_error(), JIT_ERROR_ARGUMENT);
    assert_false(jit_tex_write(t, (uint32_t[]){ i, x }, out, 0));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_tex_write()", "position 1", "Int32");
    assert_false(jit_tex_write(t, (uint32_t[]){ i, i }, (uint32_t[]){ x, x, i }, 0));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_tex_write()", "value 2");
    assert_false(jit_tex_set_content(t, x));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_tex_set_content()", "1 entries", "12");
    assert_false(jit_tex_copy_from(t, NULL));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_tex_copy_from()", "NULL");
    assert_false(jit_tex_copy_to(t, NULL));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_tex_copy_to()", "NULL");
    assert_true(out[0] == 7 && out[1] == 7 && out[2] == 7);
    jit_error_clear();
    DROP(x, wide, i);
    jit_tex_destroy(t);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_lookups),   TEST(test_fetch),   TEST(test_wild_positions),
        TEST(test_long_axis), TEST(test_content), TEST(test_write_packets),
        TEST(test_misuse),
    };
    return cmocka_run_group_tests_name("texture", tests, NULL, NULL);
}

int main(void)
{
    return run_engines(run);
}
