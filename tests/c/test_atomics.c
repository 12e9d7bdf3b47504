/*
 * test_atomics.c -- scatter_inc, _exch, _cas, _add_kahan; bounds checks
 *
 * Atomics on distinct entries are compared with a loop. Where lanes meet, what must
 * hold in any order is checked: previous values of increments are 0, 1, ... each once;
 * what is exchanged into an entry comes out again once; one of many compare-and-swaps
 * succeeds; compensated sums of integers are exact.
 */
#include "ops_reference.h"

#include <float.h>

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;
    return x < y ? -1 : x > y;
}

static void test_inc(void **unused)
{
    (void) unused;
    const uint32_t sizes[] = { 1, 16, 1000, 100001 };
    for (size_t s = 0; s < COUNT_OF(sizes); ++s) {
        enum { BINS = 3 };
        uint32_t n = sizes[s], total[BINS] = { 0 };
        uint32_t *index = random_indices(n, BINS);
        uint8_t *mask = random_array(VarTypeBool, n);
        uint32_t x = fill_u32(BINS, 0), i = u32_array(n, index);
        uint32_t m = array_of(VarTypeBool, mask, n);
        uint32_t old = jit_var_scatter_inc(&x, i, m);
        OK(old);
        assert_int_equal(jit_var_type(old), VarTypeUInt32);
        OK(jit_var_eval(old));
        /* The previous values of each bin are 0 ... count-1, each once. */
        uint32_t *seen[BINS], *data;
        for (uint32_t b = 0; b < BINS; ++b)
            seen[b] = calloc(n + 1, sizeof(uint32_t));
        uint32_t stored = data_of(old, (void **) &data);
        OK(stored);
        for (uint32_t l = 0; l < n; ++l) {
            if (!mask[l])
                continue;
            total[index[l]]++;
            assert_true(data[l] < n);
            seen[index[l]][data[l]]++;
        }
        for (uint32_t b = 0; b < BINS; ++b) {
            for (uint32_t k = 0; k < n; ++k)
                assert_int_equal(seen[b][k], k < total[b]);
            free(seen[b]);
        }
        CHECK_BYTES(x, total, BINS);
        DROP(stored, old, x, i, m);
        free(index);
        free(mask);
    }
}

/* The idiom the operation exists for: reserve a slot and write to it in the same
 * kernel. */
static void test_inc_compaction(void **unused)
{
    (void) unused;
    enum { N = 20000 };
    uint32_t next = fill_u32(1, 0), out = fill_u32(N, 0), c = jit_var_counter(CPU, N);
    uint32_t three = jit_var_u32(CPU, 3), rest = jit_var_mod(c, three);
    uint32_t zero = jit_var_u32(CPU, 0), m = jit_var_eq(rest, zero);
    uint32_t slot = jit_var_scatter_inc(&next, zero, m);
    OK(slot);
    advance(&out, jit_var_scatter(out, c, slot, m, ReduceOpIdentity, ReduceModeAuto));
    OK(jit_eval());
    uint32_t count = (N + 2) / 3, *data;
    CHECK_U32(next, count);
    uint32_t stored = data_of(out, (void **) &data);
    OK(stored);
    uint32_t *sorted = malloc(count * sizeof(uint32_t));
    memcpy(sorted, data, count * sizeof(uint32_t));
    qsort(sorted, count, sizeof(uint32_t), compare_u32);
    for (uint32_t k = 0; k < count; ++k)
        assert_int_equal(sorted[k], 3 * k);
    free(sorted);

    /* The slots themselves are gone. */
    assert_int_equal(jit_var_state(slot), VarStateInvalid);
    assert_int_equal(jit_var_add(slot, c), 0);
    CHECK_ERROR(JIT_ERROR_STATE, "jit_var_add()", "atomic", "earlier kernel");
    assert_int_equal(jit_var_gather(out, slot, ALWAYS), 0);
    CHECK_ERROR(JIT_ERROR_STATE, "jit_var_gather()", "atomic");
    uint32_t value;
    assert_false(jit_var_read(slot, 0, &value));
    CHECK_ERROR(JIT_ERROR_STATE, "jit_var_read()", "atomic");
    assert_false(jit_var_eval(slot) && jit_var_state(slot) != VarStateInvalid);
    jit_error_clear();
    DROP(stored, next, out, c, three, rest, zero, m, slot);
}

/* Reserved slots of vectors with three components: all writes are in the kernel that
 * reserves them, whatever else is queued for the same arrays. */
static void test_inc_vectors(void **unused)
{
    (void) unused;
    enum { N = 5000 };
    uint32_t next = fill_u32(1, 0), out = fill_u32(3 * N, 0);
    uint32_t c = jit_var_counter(CPU, N), zero = jit_var_u32(CPU, 0);
    uint32_t three = jit_var_u32(CPU, 3), value = jit_var_u32(CPU, 9), *data;
    advance(&out, jit_var_scatter(out, value, zero, ALWAYS, ReduceOpIdentity,
                                  ReduceModeAuto));
    uint32_t all = literal_of(VarTypeBool, 1, N);
    uint32_t slot = jit_var_scatter_inc(&next, zero, all);
    OK(slot);
    uint32_t base = jit_var_mul(slot, three);
    for (uint32_t k = 0; k < 3; ++k) {
        uint32_t shift = jit_var_u32(CPU, k), at = jit_var_add(base, shift);
        uint32_t component = jit_var_fma(c, three, shift);
        advance(&out, jit_var_scatter(out, component, at, ALWAYS, ReduceOpIdentity,
                                      ReduceModeAuto));
        DROP(shift, at, component);
    }
    OK(jit_eval());
    uint32_t stored = data_of(out, (void **) &data);
    OK(stored);
    uint8_t *seen = calloc(N, 1);
    for (uint32_t i = 0; i < N; ++i) {
        uint32_t first = data[3 * i];
        assert_int_equal(first % 3, 0);
        assert_true(first / 3 < N);
        assert_int_equal(data[3 * i + 1], first + 1);
        assert_int_equal(data[3 * i + 2], first + 2);
        assert_int_equal(seen[first / 3]++, 0);
    }
    free(seen);
    CHECK_U32(next, N);
    DROP(stored, next, out, c, zero, three, value, all, slot, base);
}

/* An exchange sees the writes queued before it, its result is there to be kept. */
static void test_exch_after_writes(void **unused)
{
    (void) unused;
    uint32_t x = fill_u32(6, 0), c4 = jit_var_counter(CPU, 4);
    uint32_t c6 = jit_var_counter(CPU, 6), one = jit_var_u32(CPU, 1);
    uint32_t two = jit_var_u32(CPU, 2), three = jit_var_u32(CPU, 3);
    uint32_t flip = jit_var_sub(three, c4);
    advance(&x, jit_var_scatter(x, one, c4, ALWAYS, ReduceOpIdentity, ReduceModeAuto));
    advance(&x, jit_var_scatter(x, c6, c6, ALWAYS, ReduceOpAdd, ReduceModeAuto));
    uint32_t old = jit_var_scatter_exch(&x, two, flip, ALWAYS);
    OK(old);
    uint32_t twice = jit_var_add(old, old);
    jit_var_schedule(twice);
    jit_var_schedule(old);
    OK(jit_eval());
    CHECK_U32(old, 4, 3, 2, 1);
    CHECK_U32(twice, 8, 6, 4, 2);
    CHECK_U32(x, 2, 2, 2, 2, 4, 5);
    DROP(x, c4, c6, one, two, three, flip, old, twice);
}

/* An expression made before the atomic ran, evaluated after it. */
static void test_consumed_expression(void **unused)
{
    (void) unused;
    uint32_t next = fill_u32(1, 0), zero = jit_var_u32(CPU, 0),
             c = jit_var_counter(CPU, 8);
    uint32_t all = literal_of(VarTypeBool, 1, 8);
    uint32_t slot = jit_var_scatter_inc(&next, zero, all);
    OK(slot);
    uint32_t sum = jit_var_add(slot, c);
    OK(sum);
    OK(jit_var_eval(next));
    CHECK_U32(next, 8);
    uint32_t value;
    assert_false(jit_var_read(sum, 0, &value));
    assert_int_equal(jit_error(), JIT_ERROR_STATE);
    assert_non_null(strstr(jit_error_message(), "atomic"));
    jit_error_clear();
    CHECK_U32(next, 8); /* it did not run again */
    DROP(next, zero, c, all, slot, sum);
}

static void test_exch(void **unused)
{
    (void) unused;
    enum { N = 5000 };
    /* One entry: what went in comes out once, but for the value that stays. */
    uint32_t x = fill_u32(1, N), c = jit_var_counter(CPU, N),
             zero = jit_var_u32(CPU, 0);
    uint32_t old = jit_var_scatter_exch(&x, c, zero, ALWAYS), *data;
    OK(old);
    OK(jit_var_eval(old));
    uint32_t stored = data_of(old, (void **) &data), last = 0;
    OK(stored && jit_var_read(x, 0, &last));
    uint8_t seen[N + 1] = { 0 };
    for (uint32_t l = 0; l < N; ++l) {
        assert_true(data[l] <= N);
        seen[data[l]]++;
    }
    seen[last]++;
    for (uint32_t k = 0; k <= N; ++k)
        assert_int_equal(seen[k], 1);
    DROP(stored, old, x, c);

    for (size_t t = 0; t < COUNT_OF(test_types); ++t) {
        const TestType *type = &test_types[t];
        if (type->kind == 'p')
            continue;
        enum { M = 300 };
        char *before = random_array(type->type, M),
             *value = random_array(type->type, M);
        char *after = malloc(M * 8), *previous = calloc(M, 8);
        uint32_t *index = permutation(M);
        uint8_t *mask = random_array(VarTypeBool, M);
        memcpy(after, before, M * type->size);
        for (uint32_t l = 0; l < M; ++l) {
            if (!mask[l])
                continue;
            put_bits(previous, type->size, l, get_bits(before, type->size, index[l]));
            put_bits(after, type->size, index[l], get_bits(value, type->size, l));
        }
        uint32_t y = array_of(type->type, before, M),
                 v = array_of(type->type, value, M);
        uint32_t i = u32_array(M, index), m = array_of(VarTypeBool, mask, M);
        uint32_t held = jit_var_inc_ref(y); /* must keep the old content */
        uint32_t got = jit_var_scatter_exch(&y, v, i, m);
        OK(got);
        assert_int_not_equal(y, held);
        jit_var_schedule(got);
        OK(jit_eval());
        CHECK_BYTES(got, previous, M);
        CHECK_BYTES(y, after, M);
        CHECK_BYTES(held, before, M);
        DROP(y, v, i, m, held, got);
        free(before);
        free(value);
        free(after);
        free(previous);
        free(index);
        free(mask);
    }
    jit_var_dec_ref(zero);
}

static void test_cas(void **unused)
{
    (void) unused;
    enum { N = 5000 };
    /* Many want one entry: one succeeds, the others see its value. */
    uint32_t x = fill_u32(1, N), c = jit_var_counter(CPU, N),
             zero = jit_var_u32(CPU, 0);
    uint32_t compare = jit_var_u32(CPU, N), out[2] = { 0, 0 };
    OK(jit_var_scatter_cas(&x, compare, c, zero, ALWAYS, out));
    jit_var_schedule(out[0]);
    jit_var_schedule(out[1]);
    OK(jit_eval());
    uint32_t *old, winner = 0, successes = 0;
    uint8_t *ok;
    uint32_t stored = data_of(out[0], (void **) &old);
    uint32_t stored_ok = data_of(out[1], (void **) &ok);
    OK(stored && stored_ok && jit_var_read(x, 0, &winner));
    assert_true(winner < N);
    for (uint32_t l = 0; l < N; ++l) {
        successes += ok[l];
        assert_int_equal(ok[l], l == winner);
        assert_int_equal(old[l], l == winner ? N : winner);
    }
    assert_int_equal(successes, 1);
    DROP(stored, stored_ok, out[0], out[1], x, c, zero, compare);

    for (size_t t = 0; t < COUNT_OF(test_types); ++t) {
        const TestType *type = &test_types[t];
        if (type->kind == 'p')
            continue;
        enum { M = 300 };
        char *before = random_array(type->type, M),
             *value = random_array(type->type, M);
        char *wanted = random_array(type->type, M), *after = malloc(M * 8);
        char *previous = malloc(M * 8);
        uint8_t success[M], *mask = random_array(VarTypeBool, M);
        uint32_t *index = permutation(M);
        memcpy(after, before, M * type->size);
        for (uint32_t l = 0; l < M; ++l) {
            uint64_t bits = get_bits(before, type->size, index[l]);
            if (l % 2) /* NaNs are compared as bits, too */
                put_bits(wanted, type->size, l, bits);
            success[l] = mask[l] && get_bits(wanted, type->size, l) == bits;
            put_bits(previous, type->size, l, mask[l] ? bits : 0);
            if (success[l])
                put_bits(after, type->size, index[l], get_bits(value, type->size, l));
        }
        uint32_t y = array_of(type->type, before, M),
                 v = array_of(type->type, value, M);
        uint32_t w = array_of(type->type, wanted, M), i = u32_array(M, index);
        uint32_t m = array_of(VarTypeBool, mask, M);
        OK(jit_var_scatter_cas(&y, w, v, i, m, out));
        jit_var_schedule(out[0]);
        jit_var_schedule(out[1]);
        OK(jit_eval());
        CHECK_BYTES(y, after, M);
        CHECK_BYTES(out[0], previous, M);
        CHECK_BYTES(out[1], success, M);
        DROP(y, v, w, i, m, out[0], out[1]);
        free(before);
        free(value);
        free(wanted);
        free(after);
        free(previous);
        free(mask);
        free(index);
    }
}

/* ------------------------------------------------------------- bounds checks */

static void test_debug(void **unused)
{
    (void) unused;
    jit_set_flag(JitFlagDebug, 1);
    jit_set_log_level_callback(LogLevelWarn, log_keep);
    jit_set_source_location("scene.c", 41);
    uint32_t grid = u32_array(4, (uint32_t[]){ 10, 11, 12, 13 });
    advance(&grid, jit_var_set_label(grid, "grid"));
    uint32_t index = u32_array(5, (uint32_t[]){ 0, 4, 3, 4000000000u, 9 });
    uint32_t g = jit_var_gather(grid, index, ALWAYS);
    uint32_t line = 0;
    assert_string_equal(jit_var_location(g, &line), "scene.c");
    assert_int_equal(line, 41);
    assert_string_equal(jit_var_location(g, NULL), "scene.c");
    CHECK_U32(g, 10, 0, 13, 0, 0);
    jit_sync_thread();
    assert_int_equal(log_count("out-of-bounds"), 1);
    assert_non_null(strstr(log_text_seen, "jit_var_gather()"));
    assert_non_null(strstr(log_text_seen, "scene.c:41"));
    assert_non_null(strstr(log_text_seen, "grid"));
    assert_non_null(strstr(log_text_seen, "size 4"));
    assert_non_null(strstr(log_text_seen, "3 lanes"));

    log_clear();
    jit_set_source_location("scene.c", 42);
    uint32_t seven = jit_var_u32(CPU, 7);
    uint32_t held = jit_var_inc_ref(grid);
    advance(&grid,
            jit_var_scatter(grid, seven, index, ALWAYS, ReduceOpAdd, ReduceModeAuto));
    CHECK_U32(grid, 17, 11, 12, 20);
    jit_sync_thread();
    assert_int_equal(log_count("out-of-bounds"), 1);
    assert_non_null(strstr(log_text_seen, "jit_var_scatter()"));
    assert_non_null(strstr(log_text_seen, "scene.c:42"));
    CHECK_U32(held, 10, 11, 12, 13);

    /* Masked lanes are nobody's business. */
    log_clear();
    uint8_t flags[] = { 1, 0, 1, 0, 0 };
    uint32_t mask = array_of(VarTypeBool, flags, 5);
    uint32_t quiet = jit_var_gather(grid, index, mask);
    CHECK_U32(quiet, 17, 0, 20, 0, 0);
    jit_sync_thread();
    assert_int_equal(log_length, 0);

    /* Negative positions, packets and atomics. */
    int32_t below[] = { -1, 0 };
    uint32_t negative = array_of(VarTypeInt32, below, 2);
    uint32_t r = jit_var_gather(grid, negative, ALWAYS), out[2];
    CHECK_U32(r, 0, 17);
    OK(jit_var_gather_packet(2, grid, negative, ALWAYS, out));
    CHECK_U32(out[0], 0, 17);
    CHECK_U32(out[1], 0, 11);
    uint32_t values[] = { seven, seven };
    advance(&grid, jit_var_scatter_packet(2, grid, values, negative, ALWAYS,
                                          ReduceOpIdentity, ReduceModeAuto));
    CHECK_U32(grid, 7, 7, 12, 20);
    log_clear();
    uint32_t old = jit_var_scatter_inc(&grid, negative, ALWAYS);
    OK(old && jit_var_eval(old));
    CHECK_U32(grid, 8, 7, 12, 20);
    jit_sync_thread();
    assert_int_equal(log_count("jit_var_scatter_inc()"), 1);
    log_clear();
    uint32_t swapped = jit_var_scatter_exch(&grid, seven, negative, ALWAYS);
    OK(swapped);
    CHECK_U32(swapped, 0, 8);
    jit_sync_thread();
    assert_int_equal(log_count("jit_var_scatter_exch()"), 1);
    log_clear();
    uint32_t pair[2];
    OK(jit_var_scatter_cas(&grid, seven, index, negative, ALWAYS, pair) ||
       jit_error() == JIT_ERROR_ARGUMENT); /* sizes 5 and 2 */
    jit_error_clear();
    uint32_t nine = jit_var_u32(CPU, 9);
    OK(jit_var_scatter_cas(&grid, seven, nine, negative, ALWAYS, pair));
    jit_var_schedule(pair[0]);
    jit_var_schedule(pair[1]);
    OK(jit_eval());
    CHECK_U32(grid, 9, 7, 12, 20);
    CHECK_BYTES(pair[1], ((uint8_t[]){ 0, 1 }), 2);
    jit_sync_thread();
    assert_int_equal(log_count("jit_var_scatter_cas()"), 1);

    /* A literal source has bounds as well. */
    uint32_t literal = literal_of(VarTypeUInt32, 5, 4),
             l = jit_var_gather(literal, index, ALWAYS);
    CHECK_U32(l, 5, 0, 5, 0, 0);
    jit_set_source_location(NULL, 0);
    DROP(grid, index, g, seven, held, mask, quiet, negative, r, out[0], out[1], old,
         swapped, pair[0], pair[1], nine, literal, l);
}

/* Sums of integers that are far from exact in the type, but exact with their rounding
 * errors, which are small integers. */
typedef struct Sums {
    VarType type;
    uint32_t size;
    int64_t *exact;
    uint32_t sums, errors; /* targets */
} Sums;

static Sums sums_new(VarType type, uint32_t size, double start)
{
    uint64_t bits = float_bits(type, start), zero = 0;
    Sums s = { .type = type, .size = size, .exact = malloc(size * sizeof(int64_t)) };
    for (uint32_t i = 0; i < size; ++i)
        s.exact[i] = (int64_t) start;
    s.sums = jit_var_literal(CPU, type, &bits, size, 0);
    s.errors = jit_var_literal(CPU, type, &zero, size, 0);
    OK(s.sums && s.errors);
    return s;
}

/* Add 'n' integers from 1 to 'most' at random places, half of them masked. */
static void sums_add(Sums *s, uint32_t n, uint32_t most)
{
    uint32_t entry = type_of(s->type)->size;
    uint32_t *index = random_indices(n, s->size);
    uint8_t *mask = random_array(VarTypeBool, n);
    char *value = malloc(n * entry);
    for (uint32_t i = 0; i < n; ++i) {
        uint32_t number = 1 + (uint32_t) (random_bits() % most);
        put_bits(value, entry, i, float_bits(s->type, number));
        s->exact[index[i]] += mask[i] ? number : 0;
    }
    uint32_t v = array_of(s->type, value, n), i = u32_array(n, index);
    uint32_t m = array_of(VarTypeBool, mask, n);
    OK(jit_var_scatter_add_kahan(&s->sums, &s->errors, v, i, m));
    DROP(v, i, m);
    free(index);
    free(mask);
    free(value);
}

/* Returns how many entries would have been wrong without compensation. */
static uint32_t sums_check(Sums *s)
{
    uint32_t entry = type_of(s->type)->size, wrong = 0;
    void *sums, *errors;
    uint32_t a = data_of(s->sums, &sums), b = data_of(s->errors, &errors);
    OK(a && b);
    for (uint32_t i = 0; i < s->size; ++i) {
        int64_t sum = (int64_t) float_value(s->type, get_bits(sums, entry, i));
        int64_t error = (int64_t) float_value(s->type, get_bits(errors, entry, i));
        assert_int_equal(sum + error, s->exact[i]);
        wrong += sum != s->exact[i];
    }
    DROP(a, b, s->sums, s->errors);
    free(s->exact);
    return wrong;
}

static void test_kahan(void **unused)
{
    (void) unused;
    static const struct {
        VarType type;
        double start;
        uint32_t n, size, most;
    } cases[] = { { VarTypeFloat32, 0x1p30, 100000, 50, 50 },
                  { VarTypeFloat32, 0x1p24, 20, 1, 3 },
                  { VarTypeFloat64, 0x1p60, 100000, 50, 50 },
                  { VarTypeFloat16, 2048, 300, 20, 7 } };
    for (size_t c = 0; c < COUNT_OF(cases); ++c) {
        Sums s = sums_new(cases[c].type, cases[c].size, cases[c].start);
        sums_add(&s, cases[c].n, cases[c].most);
        assert_true(sums_check(&s) > 0);
        /* Several in one evaluation, of equal and of other sizes. */
        s = sums_new(cases[c].type, cases[c].size, cases[c].start);
        sums_add(&s, cases[c].n / 4, cases[c].most);
        sums_add(&s, cases[c].n / 4, cases[c].most);
        sums_add(&s, cases[c].n / 2, cases[c].most);
        sums_check(&s);
    }
}

/* Beside other writes, shared targets, one lane, overflow. */
static void test_kahan_details(void **unused)
{
    (void) unused;
    float start[] = { 0x1p24f, 1, FLT_MAX, INFINITY }, zero[4] = { 0 };
    uint32_t s = array_of(VarTypeFloat32, start, 4),
             e = array_of(VarTypeFloat32, zero, 4);
    uint32_t held_s = jit_var_inc_ref(s), held_e = jit_var_inc_ref(e);
    uint32_t one = jit_var_f32(CPU, 1), three = jit_var_f32(CPU, 3);
    uint32_t zeroth = jit_var_u32(CPU, 0), second = jit_var_u32(CPU, 2);
    uint32_t last = jit_var_u32(CPU, 3), most = jit_var_f32(CPU, FLT_MAX);
    OK(jit_var_scatter_add_kahan(&s, &e, one, zeroth, ALWAYS));
    advance(&e, jit_var_scatter(e, three, zeroth, ALWAYS, ReduceOpAdd, ReduceModeAuto));
    advance(&s, jit_var_scatter(s, three, zeroth, ALWAYS, ReduceOpIdentity,
                                ReduceModeAuto));
    OK(jit_var_scatter_add_kahan(&s, &e, most, second, ALWAYS));
    OK(jit_var_scatter_add_kahan(&s, &e, one, last, ALWAYS));
    CHECK_BYTES(s, ((float[]){ 3, 1, INFINITY, INFINITY }), 4);
    CHECK_BYTES(e, ((float[]){ 4, 0, 0, 0 }), 4); /* 2^24 + 1 is a tie: 1 is left */
    CHECK_BYTES(held_s, start, 4);
    CHECK_BYTES(held_e, zero, 4);
    /* The value is one of the targets. */
    uint32_t a = array_of(VarTypeFloat32, start, 2),
             b = array_of(VarTypeFloat32, zero, 2);
    uint32_t c = jit_var_counter(CPU, 2);
    OK(jit_var_scatter_add_kahan(&a, &b, a, c, ALWAYS));
    CHECK_BYTES(a, ((float[]){ 0x1p25f, 2 }), 2);
    CHECK_BYTES(b, zero, 2);
    /* Both targets hold one variable: a literal, and an array in memory. */
    for (int literal = 0; literal < 2; ++literal) {
        float twice[] = { 0x1p24f, 0x1p24f };
        uint32_t sum = literal ? jit_var_literal(CPU, VarTypeFloat32, twice, 2, 0)
                               : array_of(VarTypeFloat32, twice, 2);
        uint32_t rest = jit_var_inc_ref(sum), whole = jit_var_inc_ref(sum);
        OK(jit_var_scatter_add_kahan(&sum, &rest, one, zeroth, ALWAYS));
        assert_int_not_equal(sum, rest);
        OK(jit_var_scatter_add_kahan(&sum, &rest, three, zeroth, ALWAYS));
        CHECK_BYTES(sum, ((float[]){ 0x1p24f + 4, 0x1p24f }), 2);
        CHECK_BYTES(rest, ((float[]){ 0x1p24f - 1, 0x1p24f }), 2);
        CHECK_BYTES(whole, twice, 2);
        DROP(sum, rest, whole);
    }
    DROP(s, e, held_s, held_e, one, three, zeroth, second, last, most, a, b, c);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_inc),
        TEST(test_inc_compaction),
        TEST(test_inc_vectors),
        TEST(test_exch_after_writes),
        TEST(test_consumed_expression),
        TEST(test_exch),
        TEST(test_cas),
        TEST(test_kahan),
        TEST(test_kahan_details),
        TEST(test_debug),
    };
    return cmocka_run_group_tests_name("atomics", tests, NULL, NULL);
}

int main(void)
{
    return run_engines(run);
}
