/*
 * test_freeze_foreign.c -- variables that a recording reads and has from elsewhere
 *
 * Each row of a table uses a variable in one way. Within a recording of which that
 * variable is not an input, the result has to be that of the same call outside, the
 * variable has to be found, and nothing else, and the recording has to be refused with
 * a message that names it; as an input it is not foreign. The variable is in memory,
 * not computed yet, or a literal.
 */
#include "freeze_uses.h"

#include <pthread.h>

typedef enum Form { IN_MEMORY, UNEVALUATED, LITERAL, FORMS } Form;

/* Not 0, and as an index within bounds. */
static uint32_t make_foreign(int kind, Form form)
{
    const VarType type = kind & FLOATS  ? VarTypeFloat32
                         : kind & MASKS ? VarTypeBool
                                        : VarTypeUInt32;
    uint32_t one = jit_var_u32(CPU, 1), counter, plain = 0;
    if (form == LITERAL) {
        plain = jit_var_cast(one, type, 0);
        jit_var_dec_ref(one);
        return plain;
    }
    counter = jit_var_counter(CPU, SIZE);
    uint32_t number = take(jit_var_or, counter, one); /* odd ones */
    if (kind & INTEGERS)
        plain = take(jit_var_sub, number, jit_var_u32(CPU, 1));
    else {
        plain = jit_var_cast(number, type, 0);
        jit_var_dec_ref(number);
    }
    OK(plain);
    if (form == IN_MEMORY)
        OK(jit_var_eval(plain));
    return plain;
}

/* Is it the only foreign variable? */
static void check_foreign(uint32_t g, const char *name, int form)
{
    uint32_t found[4] = { 0 };
    const size_t count = jit_freeze_foreign(4, found);
    if (count != 1 || found[0] != g)
        fail_msg("%s, form %d: %zu foreign variables, the first is r%u; expected r%u",
                 name, form, count, found[0], g);
}

static void check_use(size_t u, Form form)
{
    uint32_t in[INPUTS];
    make_inputs(SIZE, in);
    uint32_t g = make_foreign(uses[u].kind, form);
    uint32_t again = make_foreign(uses[u].kind, form); /* equal, perhaps the same */
    OK(jit_freeze_start(CPU, INPUTS, in));
    assert_int_equal(jit_freeze_foreign(0, NULL), 0);
    uint32_t out = uses[u].use(g, in[0], in[2]);
    if (!out)
        fail_msg("%s, form %d: %s", uses[u].name, (int) form, jit_error_message());
    OK(jit_freeze_note(1, &out));
    check_foreign(g, uses[u].name, (int) form);
    assert_null(jit_freeze_stop(1, &out));
    CHECK_ERROR(JIT_ERROR_UNSUPPORTED, "jit_freeze_stop()", "cannot be repeated",
                "uses an array that existed before and is not one of its inputs");
    assert_int_equal(jit_freeze_foreign(0, NULL), 0);
    uint32_t expected = uses[u].use(again, in[0], in[2]);
    OK(expected);
    compare(out, expected, uses[u].name, (size_t) form, SIZE);
    DROP(out, expected, g, again);
    drop_all(in, INPUTS);
}

static void test_uses(void **unused)
{
    (void) unused;
    for (size_t u = 0; u < COUNT_OF(uses); ++u)
        for (int form = 0; form < FORMS; ++form)
            if (form != LITERAL || !(uses[u].kind & NO_LITERAL))
                check_use(u, (Form) form);
}

/* The same as inputs: nothing is foreign, and the recording can be repeated, or the use
 * is refused for what it is. */
static void test_inputs(void **unused)
{
    (void) unused;
    for (size_t u = 0; u < COUNT_OF(uses); ++u)
        for (int form = 0; form < FORMS; form += LITERAL) {
            uint32_t in[INPUTS + 1];
            if (form == LITERAL && uses[u].kind & NO_LITERAL)
                continue;
            make_inputs(SIZE, in);
            in[INPUTS] = make_foreign(uses[u].kind, (Form) form);
            OK(jit_freeze_start(CPU, INPUTS + 1, in));
            uint32_t out = uses[u].use(in[INPUTS], in[0], in[2]);
            OK(out);
            assert_int_equal(jit_freeze_foreign(0, NULL), 0);
            JitRecording *recording = jit_freeze_stop(1, &out);
            if (!recording)
                fail_msg("%s: %s", uses[u].name, jit_error_message());
            DROP(out);
            drop_all(in, INPUTS + 1);
            jit_freeze_destroy(recording);
        }
}

/* Nothing is foreign to functions of their inputs. */
static void test_own(void **unused)
{
    (void) unused;
    for (size_t f = 0; f < COUNT_OF(functions); ++f) {
        uint32_t in[INPUTS], out[MOST], before[MOST];
        make_inputs(SIZE, in);
        /* Equal variables are there already, and are kept. */
        const size_t kept = functions[f].call(in, before);
        OK(jit_freeze_start(CPU, INPUTS, in));
        OK(jit_freeze_set_general(true));
        const size_t count = functions[f].call(in, out);
        OK(jit_freeze_note(count, out));
        if (jit_freeze_foreign(0, NULL))
            fail_msg("%s: %zu foreign variables", functions[f].name,
                     jit_freeze_foreign(0, NULL));
        JitRecording *recording = jit_freeze_stop(count, out);
        OK(recording);
        drop_all(out, count);
        drop_all(before, kept);
        drop_all(in, INPUTS);
        jit_freeze_destroy(recording);
    }
}

static void test_messages(void **unused)
{
    (void) unused;
    uint32_t in[INPUTS], out;
    make_inputs(SIZE, in);
    uint32_t albedo = fill_u32(12, 3), three = jit_var_u32(CPU, 3);
    advance(&albedo, jit_var_set_label(albedo, "scene/albedo"));
    OK(jit_freeze_start(CPU, INPUTS, in));
    uint32_t sum = jit_var_reduce(albedo, ReduceOpAdd);
    out = take(jit_var_add, sum, same(in[2]));
    assert_null(jit_freeze_stop(1, &out));
    CHECK_ERROR(JIT_ERROR_UNSUPPORTED, "(scene/albedo, uint32, 12 entries)");
    jit_var_dec_ref(out);
    OK(jit_freeze_start(CPU, INPUTS, in));
    uint32_t entry = jit_var_u32(CPU, 0), first = jit_var_add(in[2], three);
    out = take(jit_var_add, first, jit_var_gather(albedo, entry, ALWAYS));
    uint32_t found[2];
    assert_int_equal(jit_freeze_foreign(1, found), 2);
    assert_int_equal(found[0], three);
    assert_int_equal(jit_freeze_foreign(2, found), 2);
    assert_int_equal(found[1], albedo);
    assert_int_equal(jit_freeze_foreign(1, NULL), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_foreign()", "indices");
    assert_null(jit_freeze_stop(1, &out));
    CHECK_ERROR(JIT_ERROR_UNSUPPORTED, "(uint32, 1 entry), and 1 other");
    assert_false(jit_freeze_note(1, NULL));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_note()", "indices");
    assert_false(jit_freeze_note(1, &(uint32_t){ 1u << 30 }));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_note()", "not a variable");
    assert_true(jit_freeze_note(1, &three)); /* nothing is recorded */
    DROP(entry, out, albedo, three);
    drop_all(in, INPUTS);
}

/* An address, as an operand, and as that of an array. */
static void test_pointers(void **unused)
{
    (void) unused;
    for (int with_array = 0; with_array < 2; ++with_array) {
        uint32_t in[INPUTS], array = fill_u32(SIZE, 4), info_of = 0;
        make_inputs(SIZE, in);
        VarInfo where;
        OK(jit_var_info(array, &where));
        info_of = jit_var_pointer(CPU, where.data, with_array ? array : 0, 0);
        OK(info_of);
        OK(jit_freeze_start(CPU, INPUTS, in));
        uint32_t bits = jit_var_cast(info_of, VarTypeUInt64, 1);
        uint32_t zero = jit_var_u64(CPU, 0), none = jit_var_and(bits, zero);
        uint32_t out = take(jit_var_add, jit_var_cast(none, VarTypeUInt32, 0),
                            same(in[2]));
        check_foreign(info_of, "pointer", with_array);
        assert_null(jit_freeze_stop(1, &out));
        CHECK_ERROR(JIT_ERROR_UNSUPPORTED, "not one of its inputs", "pointer, 1 entry");
        compare(out, in[2], "pointer", 0, SIZE);
        DROP(array, info_of, bits, zero, none, out);
        drop_all(in, INPUTS);
    }
}

/* What is not looked at, and what is not foreign. */
static void test_allowed(void **unused)
{
    (void) unused;
    uint32_t in[INPUTS], out;
    make_inputs(SIZE, in);
    uint32_t g = fill_u32(SIZE, 3);
    OK(jit_freeze_start(CPU, INPUTS, in));
    assert_int_equal(jit_var_peek_size(g), SIZE);
    assert_int_equal(jit_var_peek_state(g), VarStateEvaluated);
    assert_int_equal(jit_var_type(g), VarTypeUInt32);
    assert_int_equal(jit_var_ref(jit_var_inc_ref(g)), 2);
    jit_var_dec_ref(g);
    JitFreezeInput described;
    OK(jit_freeze_describe(1, &g, &described));
    assert_true(described.stored);
    OK(jit_freeze_pause());
    out = jit_var_add(g, in[2]);
    OK(jit_var_eval(out));
    uint32_t most = jit_var_reduce(g, ReduceOpMax);
    CHECK_STR(most, "[3]");
    jit_var_dec_ref(most);
    OK(jit_freeze_resume());
    assert_int_equal(jit_freeze_foreign(0, NULL), 0);
    advance(&out, jit_var_neg(out)); /* made while it was paused */
    assert_int_equal(jit_freeze_foreign(0, NULL), 1);
    advance(&out, jit_var_add(in[2], in[2]));
    assert_null(jit_freeze_stop(1, &out));
    CHECK_ERROR(JIT_ERROR_UNSUPPORTED, "uint32, 64 entries");
    DROP(out, g);
    drop_all(in, INPUTS);
}

/* Equal operations and literals that are there already are not the recording's, and
 * its own are not handed to others. */
static void test_value_numbering(void **unused)
{
    (void) unused;
    uint32_t in[INPUTS], x, three = jit_var_u32(CPU, 3);
    uint32_t wide = literal_of(VarTypeUInt32, 3, SIZE);
    make_inputs(SIZE, in);
    x = in[2];
    uint32_t sum = jit_var_add(x, x), shifted = jit_var_add(x, three);
    const uint32_t scope = jit_scope(CPU);
    for (int round = 0; round < 2; ++round) {
        OK(jit_freeze_start(CPU, INPUTS, in));
        uint32_t own_three = jit_var_u32(CPU, 3), own_sum = jit_var_add(x, x);
        uint32_t own_wide = literal_of(VarTypeUInt32, 3, SIZE);
        uint32_t out = jit_var_add(x, own_three);
        assert_true(own_three != three && own_sum != sum && own_wide != wide &&
                    out != shifted);
        /* Within, they are found again. */
        uint32_t again[] = { jit_var_u32(CPU, 3), jit_var_add(x, x),
                             jit_var_add(x, own_three) };
        assert_true(again[0] == own_three && again[1] == own_sum && again[2] == out);
        assert_false(jit_set_scope(CPU, scope));
        CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_set_scope()");
        OK(jit_new_scope(CPU));
        uint32_t other = jit_var_add(x, x);
        assert_true(other != own_sum && other != sum);
        if (round) {
            jit_freeze_abort();
        } else {
            JitRecording *recording = jit_freeze_stop(1, &out);
            OK(recording);
            jit_freeze_destroy(recording);
        }
        assert_int_equal(jit_scope(CPU), scope);
        uint32_t behind[] = { jit_var_u32(CPU, 3), jit_var_add(x, x) };
        assert_true(behind[0] == three && behind[1] == sum);
        drop_all(again, COUNT_OF(again));
        drop_all(behind, COUNT_OF(behind));
        DROP(own_three, own_sum, own_wide, out, other);
    }
    DROP(three, wide, sum, shifted);
    drop_all(in, INPUTS);
}

/* Equal literals are one variable, of which a copy is told apart. */
static void test_equal_literals(void **unused)
{
    (void) unused;
    uint32_t x = jit_var_u32(CPU, 3), g = jit_var_u32(CPU, 3), out;
    uint32_t own = jit_var_copy(x);
    assert_true(g == x && own != x);
    for (int copied = 0; copied < 2; ++copied) {
        OK(jit_freeze_start(CPU, 1, copied ? &own : &x));
        out = jit_var_mul(copied ? own : x, g);
        OK(out);
        assert_int_equal(jit_freeze_foreign(0, NULL), copied);
        jit_freeze_abort();
        DROP(out);
    }
    DROP(x, g, own);
}

/* A foreign variable that goes meanwhile is kept, and its index is nobody else's. */
static void test_held(void **unused)
{
    (void) unused;
    uint32_t in[INPUTS], g = fill_u32(SIZE, 5);
    make_inputs(SIZE, in);
    OK(jit_freeze_start(CPU, INPUTS, in));
    uint32_t out = jit_var_add(in[2], g), more;
    OK(jit_var_eval(out));
    for (int i = 0; i < 3; ++i) {
        more = jit_var_mul(g, g);
        OK(more);
        jit_var_dec_ref(more);
    }
    assert_int_equal(jit_var_ref(g), 2);
    jit_var_dec_ref(g);
    more = fill_u32(SIZE, 6);
    assert_true(more != g);
    check_foreign(g, "held", 0);
    jit_freeze_abort();
    assert_int_equal(jit_var_ref(g), 0);
    DROP(more, out);
    drop_all(in, INPUTS);
}

/* A write goes to a copy: what is foreign stays what it is. */
static void test_written(void **unused)
{
    (void) unused;
    uint32_t in[INPUTS], g = fill_u32(4, 5), two = 0;
    make_inputs(SIZE, in);
    OK(jit_freeze_start(CPU, INPUTS, in));
    two = jit_var_u32(CPU, 2);
    uint32_t written =
        jit_var_scatter(g, two, two, ALWAYS, ReduceOpAdd, ReduceModeAuto);
    assert_true(written != g);
    assert_null(jit_freeze_stop(1, &written));
    CHECK_ERROR(JIT_ERROR_UNSUPPORTED, "4 entries");
    CHECK_U32(written, 5, 5, 7, 5);
    CHECK_U32(g, 5, 5, 5, 5);
    DROP(two, written, g);
    drop_all(in, INPUTS);
}

/* Memory of the caller's, and what kernels between pause and resume have computed. */
static void test_unknown_memory(void **unused)
{
    (void) unused;
    static uint32_t mapped[SIZE];
    uint32_t in[INPUTS], out;
    make_inputs(SIZE, in);
    OK(jit_freeze_start(CPU, INPUTS, in));
    uint32_t own = IS_FAR ? 0 : jit_var_mem_map(CPU, VarTypeUInt32, mapped, SIZE, 0);
    if (own) {
        out = jit_var_add(in[2], own);
        assert_int_equal(jit_freeze_foreign(0, NULL), 0);
        assert_null(jit_freeze_stop(1, &out));
        CHECK_ERROR(JIT_ERROR_UNSUPPORTED, "memory is used that is not an array");
        compare(out, in[2], "mapped", 0, SIZE);
        DROP(out, own);
        OK(jit_freeze_start(CPU, INPUTS, in));
    }
    uint32_t sum = jit_var_add(in[2], in[2]);
    OK(jit_freeze_pause());
    OK(jit_var_eval(sum));
    OK(jit_freeze_resume());
    out = jit_var_neg(sum);
    assert_int_equal(jit_freeze_foreign(0, NULL), 0);
    assert_null(jit_freeze_stop(1, &out));
    CHECK_ERROR(JIT_ERROR_UNSUPPORTED, "memory is used that is not an array");
    DROP(out, sum);
    drop_all(in, INPUTS);
}

/* ------------------------------------------------------------------------ threads */

typedef struct Work {
    uint32_t in[INPUTS], given; /* a variable of the other thread, or 0 */
    uint32_t made[2];
    bool ok;
} Work;

static void *make_elsewhere(void *data)
{
    Work *w = data;
    w->made[0] = jit_var_u32(CPU, 3);
    w->made[1] = jit_var_add(w->in[2], w->in[2]);
    w->ok = w->made[0] && w->made[1];
    return NULL;
}

static void run_beside(void *(*function)(void *), Work *w)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, function, w), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    OK(w->ok);
}

/* What another thread makes meanwhile is not the recording's, and is not handed out. */
static void test_another_thread(void **unused)
{
    (void) unused;
    Work w = { .given = 0 };
    make_inputs(SIZE, w.in);
    OK(jit_freeze_start(CPU, INPUTS, w.in));
    uint32_t three = jit_var_u32(CPU, 3), sum = jit_var_add(w.in[2], w.in[2]);
    run_beside(make_elsewhere, &w);
    assert_true(w.made[0] != three && w.made[1] != sum);
    uint32_t out = jit_var_add(sum, three), found[2];
    assert_int_equal(jit_freeze_foreign(0, NULL), 0);
    advance(&out, jit_var_add(out, w.made[0]));
    advance(&out, jit_var_add(out, w.made[1]));
    assert_int_equal(jit_freeze_foreign(2, found), 2);
    assert_int_equal(found[0], w.made[0]);
    assert_int_equal(found[1], w.made[1]);
    assert_null(jit_freeze_stop(1, &out));
    CHECK_ERROR(JIT_ERROR_UNSUPPORTED, "and 1 other");
    DROP(three, sum, out, w.made[0], w.made[1]);
    drop_all(w.in, INPUTS);
}

static void *record_elsewhere(void *data)
{
    Work *w = data;
    for (int i = 0; i < 50; ++i) {
        uint32_t out[MOST];
        JitRecording *recording = NULL;
        w->ok = jit_freeze_start(CPU, INPUTS, w->in);
        size_t count = w->ok ? arithmetic(w->in, out) : 0;
        w->ok = w->ok && !jit_freeze_foreign(0, NULL) &&
                !jit_freeze_escaped(count, out, 0, NULL) &&
                (recording = jit_freeze_stop(count, out)) != NULL;
        drop_all(out, count);
        jit_freeze_destroy(recording);
        if (!w->ok)
            break;
    }
    return NULL;
}

/* Two threads record with the same inputs. */
static void test_two_recordings(void **unused)
{
    (void) unused;
    Work w[2] = { { .given = 0 } };
    pthread_t thread;
    make_inputs(SIZE, w[0].in);
    memcpy(w[1].in, w[0].in, sizeof(w[0].in));
    assert_int_equal(pthread_create(&thread, NULL, record_elsewhere, &w[1]), 0);
    record_elsewhere(&w[0]);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(w[0].ok && w[1].ok);
    drop_all(w[0].in, INPUTS);
}

/* A recording that is given up within a loop, and one where the table grows. */
static void test_ends(void **unused)
{
    (void) unused;
    uint32_t in[INPUTS], state, limit, more;
    make_inputs(SIZE, in);
    const uint32_t scope = jit_scope(CPU);
    OK(jit_freeze_start(CPU, INPUTS, in));
    state = same(in[2]);
    uint32_t loop = jit_var_loop_start(CPU, "open", 1, &state);
    OK(loop);
    limit = jit_var_u32(CPU, 5);
    more = jit_var_lt(state, limit);
    assert_int_equal(jit_var_loop_cond(loop, more), 1);
    jit_freeze_abort();
    advance(&state, jit_var_add(state, limit));
    assert_int_equal(jit_var_loop_end(loop, &state), 1);
    assert_int_equal(jit_scope(CPU), scope);
    uint32_t least = jit_var_reduce(state, ReduceOpMin);
    CHECK_U32(least, 5);
    DROP(state, limit, more, least);
    enum { MANY = 5000 };
    static uint32_t many[MANY];
    OK(jit_freeze_start(CPU, INPUTS, in));
    for (uint32_t i = 0; i < MANY; ++i)
        many[i] = jit_var_u32(CPU, i);
    for (uint32_t i = 0; i < MANY; ++i)
        OK(jit_freeze_note(1, &many[i]));
    assert_int_equal(jit_freeze_foreign(0, NULL), 0);
    jit_freeze_abort();
    drop_all(many, MANY);
    drop_all(in, INPUTS);
}

static int tests(void)
{
    const struct CMUnitTest list[] = {
        TEST(test_uses), TEST(test_inputs), TEST(test_own), TEST(test_messages),
        TEST(test_pointers), TEST(test_allowed), TEST(test_value_numbering),
        TEST(test_equal_literals),
        TEST(test_held), TEST(test_written), TEST(test_unknown_memory),
        TEST(test_another_thread), TEST(test_two_recordings), TEST(test_ends)
    };
    return cmocka_run_group_tests(list, NULL, NULL);
}

int main(void) { return run_engines(tests); }
