/*
 * test_model.c -- random programs of public calls beside a plain model
 *
 * A pool holds variables, each with the entries it must have. Random calls make new
 * ones, write to them, share, copy, label, schedule, evaluate, read and drop them,
 * under random flags; the model does the same on plain arrays. What is random is the
 * order of things: pending writes, copies on write, shared indices and freed slots meet
 * in ways that no list of cases has. A failure names the seed; DRJIT_TEST_SEED runs
 * that one alone.
 */
#include "test_util.h"

enum { POOL = 12, STEPS = 200, MAX_SIZE = 3000 };

typedef struct Entry {
    uint32_t id, size; /* id 0: free */
    uint32_t data[MAX_SIZE];
} Entry;

static Entry pool[POOL];
static uint64_t seed;
static int step;

static uint32_t pick(uint32_t bound)
{
    return (uint32_t) (random_bits() >> 33) % bound;
}

static Entry *live_entry(void)
{
    for (int i = 0; i < 100; ++i) {
        Entry *e = &pool[pick(POOL)];
        if (e->id)
            return e;
    }
    return NULL;
}

static void drop_entry(Entry *e)
{
    jit_var_dec_ref(e->id);
    e->id = 0;
}

/* A place for a result, made free if need be; not one of the operands. */
static Entry *place(const Entry *a, const Entry *b, const Entry *c)
{
    Entry *e;
    do
        e = &pool[pick(POOL)];
    while (e == a || e == b || e == c);
    if (e->id)
        drop_entry(e);
    return e;
}

static void must(uint32_t id, const char *what)
{
    if (!id)
        fail_msg("seed %llu, step %d: %s: %s", (unsigned long long) seed, step, what,
                 jit_error_message());
}

static void check_entry(Entry *e, const char *when)
{
    void *data;
    uint32_t stored = data_of(e->id, &data);
    must(stored, "jit_var_data");
    const uint32_t *found = data;
    if (jit_var_size(stored) != e->size)
        fail_msg("seed %llu, step %d: size %zu, expected %u", (unsigned long long) seed,
                 step, jit_var_size(stored), e->size);
    for (uint32_t i = 0; i < e->size; ++i)
        if (found[i] != e->data[i])
            fail_msg("seed %llu, step %d, %s: entry %u of r%u is %u, expected %u",
                     (unsigned long long) seed, step, when, i, e->id, found[i],
                     e->data[i]);
    jit_var_dec_ref(e->id);
    e->id = stored;
}

/* ----------------------------------------------------------------- creation */

static void make(void)
{
    static const uint32_t sizes[] = { 1, 2, 7, 64, 100, 1000, MAX_SIZE };
    Entry *e = place(NULL, NULL, NULL);
    e->size = sizes[pick(COUNT_OF(sizes))];
    uint32_t value = pick(4) ? pick(50) : (uint32_t) random_bits(), kind = pick(3);
    for (uint32_t i = 0; i < e->size; ++i)
        e->data[i] = kind == 0   ? value
                     : kind == 1 ? i
                                 : (uint32_t) random_bits() % 1000;
    if (kind == 0)
        e->id = jit_var_literal(CPU, VarTypeUInt32, &value, e->size, (int) pick(2));
    else if (kind == 1)
        e->id = jit_var_counter(CPU, e->size);
    else
        e->id = jit_var_mem_copy(CPU, VarTypeUInt32, e->data, e->size);
    must(e->id, "creation");
}

static void combine(void)
{
    Entry *a = live_entry(), *b = live_entry();
    if (!a || !b || (a->size != b->size && a->size != 1 && b->size != 1))
        return;
    Entry *e = place(a, b, NULL);
    e->size = a->size > b->size ? a->size : b->size;
    uint32_t kind = pick(4);
    e->id = kind == 0   ? jit_var_add(a->id, b->id)
            : kind == 1 ? jit_var_xor(a->id, b->id)
            : kind == 2 ? jit_var_mul(a->id, b->id)
                        : jit_var_min(a->id, b->id);
    must(e->id, "arithmetic");
    for (uint32_t i = 0; i < e->size; ++i) {
        uint32_t x = a->data[a->size == 1 ? 0 : i], y = b->data[b->size == 1 ? 0 : i];
        e->data[i] = kind == 0   ? x + y
                     : kind == 1 ? x ^ y
                     : kind == 2 ? x * y
                     : x < y     ? x
                                 : y;
    }
}

static void share(void)
{
    Entry *a = live_entry();
    if (!a)
        return;
    Entry *e = place(a, NULL, NULL);
    uint32_t kind = pick(5);
    *e = *a;
    if (kind == 0)
        e->id = jit_var_copy(a->id);
    else if (kind == 1)
        e->id = jit_var_set_label(a->id, pick(3) ? "name" : NULL);
    else if (kind == 2)
        e->id = jit_var_schedule_force(a->id, NULL);
    else
        e->id = jit_var_inc_ref(a->id);
    must(e->id, "sharing");
}

static void rearrange(void)
{
    Entry *a = live_entry();
    if (!a)
        return;
    Entry *e = place(a, NULL, NULL);
    uint32_t kind = pick(4), n = a->size, k = 1 + pick(n);
    e->size = kind == 1 ? k : n;
    if (kind == 0) {
        e->id = jit_var_reverse(a->id);
    } else if (kind == 1) {
        e->id = jit_var_shrink(a->id, k);
    } else if (kind == 2) {
        e->id = jit_var_block_prefix_reduce(ReduceOpAdd, a->id, n, 0, 0);
    } else {
        e->size = 1;
        e->id = jit_var_reduce(a->id, ReduceOpAdd);
    }
    must(e->id, "rearrangement");
    uint32_t sum = 0;
    for (uint32_t i = 0; i < n; ++i) {
        sum += a->data[i];
        if (kind == 3)
            e->data[0] = sum;
        else if (i < e->size)
            e->data[i] = kind == 0 ? a->data[n - 1 - i] : kind == 1 ? a->data[i] : sum;
    }
}

/* ------------------------------------------------------ gathers and scatters */

/* 'index' modulo 'size', as a variable and in 'out'. */
static uint32_t bounded(const Entry *index, uint32_t size, uint32_t *out)
{
    uint32_t bound = jit_var_u32(CPU, size), result = jit_var_mod(index->id, bound);
    must(result, "modulo");
    jit_var_dec_ref(bound);
    for (uint32_t i = 0; i < index->size; ++i)
        out[i] = index->data[i] % size;
    return result;
}

static void gather(void)
{
    Entry *a = live_entry(), *index = live_entry();
    static uint32_t position[MAX_SIZE];
    if (!a || !index)
        return;
    Entry *e = place(a, index, NULL);
    uint32_t i = bounded(index, a->size, position);
    e->size = index->size;
    e->id = jit_var_gather(a->id, i, 0);
    must(e->id, "jit_var_gather");
    jit_var_dec_ref(i);
    for (uint32_t l = 0; l < e->size; ++l)
        e->data[l] = a->data[position[l]];
}

static uint32_t reduce(ReduceOp op, uint32_t a, uint32_t b)
{
    switch (op) {
    case ReduceOpAdd:
        return a + b;
    case ReduceOpMul:
        return a * b;
    case ReduceOpMin:
        return a < b ? a : b;
    case ReduceOpMax:
        return a > b ? a : b;
    case ReduceOpAnd:
        return a & b;
    case ReduceOpOr:
        return a | b;
    default:
        return b;
    }
}

/* Target, value and index may be one variable. */
static void scatter_reduce(void)
{
    static const ReduceMode modes[] = { ReduceModeAuto, ReduceModeDirect,
                                        ReduceModeLocal, ReduceModeExpand };
    Entry *t = live_entry(), *v = live_entry(), *index = live_entry();
    static uint32_t position[MAX_SIZE], values[MAX_SIZE];
    if (!t || !v || !index ||
        (v->size != index->size && v->size != 1 && index->size != 1))
        return;
    ReduceOp op = (ReduceOp) (ReduceOpAdd + pick(6));
    uint32_t i = bounded(index, t->size, position);
    uint32_t lanes = v->size > index->size ? v->size : index->size;
    for (uint32_t l = 0; l < lanes; ++l)
        values[l] = v->data[v->size == 1 ? 0 : l];
    uint32_t written = jit_var_scatter(t->id, v->id, i, 0, op, modes[pick(4)]);
    must(written, "jit_var_scatter");
    jit_var_dec_ref(i);
    jit_var_dec_ref(t->id);
    t->id = written;
    for (uint32_t l = 0; l < lanes; ++l) {
        uint32_t *entry = &t->data[position[index->size == 1 ? 0 : l]];
        *entry = reduce(op, *entry, values[l]);
    }
}

/* Distinct positions: a rotation of all. Plain writes, exchanges, increments. */
static void scatter_distinct(void)
{
    Entry *t = live_entry(), *v = live_entry();
    static uint32_t values[MAX_SIZE];
    if (!t || !v || (v->size != t->size && v->size != 1))
        return;
    uint32_t n = t->size, k = pick(n), kind = pick(3);
    uint32_t c = jit_var_counter(CPU, n), shift = jit_var_u32(CPU, k);
    uint32_t size = jit_var_u32(CPU, n), moved = jit_var_add(c, shift);
    uint32_t i = jit_var_mod(moved, size), old = 0;
    for (uint32_t l = 0; l < n; ++l)
        values[l] = v->data[v->size == 1 ? 0 : l];
    /* Increments of one evaluation come in any order, so the previous values of these
     * are known only if no others are pending. */
    if (kind == 2 && jit_var_is_dirty(t->id))
        must(jit_eval(), "jit_eval");
    Entry *e = place(t, v, NULL);
    if (kind == 0) {
        uint32_t written =
            jit_var_scatter(t->id, v->id, i, 0, ReduceOpIdentity,
                            pick(2) ? ReduceModeAuto : ReduceModePermute);
        must(written, "jit_var_scatter");
        jit_var_dec_ref(t->id);
        t->id = written;
    } else {
        old = kind == 1 ? jit_var_scatter_exch(&t->id, v->id, i, 0)
                        : jit_var_scatter_inc(&t->id, i, 0);
        must(old, "atomic");
        e->size = n;
        for (uint32_t l = 0; l < n; ++l)
            e->data[l] = t->data[(l + k) % n];
        if (pick(
                2)) { /* keep the previous values: evaluate them now or with the next */
            jit_var_schedule(old);
            must(jit_eval(), "jit_eval");
            e->id = jit_var_inc_ref(old);
        }
    }
    for (uint32_t l = 0; l < n; ++l) {
        uint32_t *entry = &t->data[(l + k) % n];
        *entry = kind == 2 ? *entry + 1 : values[l];
    }
    DROP(c, shift, size, moved, i, old);
}

/* ----------------------------------------------------------- looking at it */

static void look(void)
{
    Entry *a = live_entry();
    if (!a)
        return;
    uint32_t i = pick(a->size), value = 0;
    switch (pick(8)) {
    case 0:
    case 1:
        must(jit_var_read(a->id, i, &value), "jit_var_read");
        if (value != a->data[i])
            fail_msg("seed %llu, step %d: read %u at %u of r%u, expected %u",
                     (unsigned long long) seed, step, value, i, a->id, a->data[i]);
        break;
    case 2:
        check_entry(a, "checked");
        break;
    case 3: {
        value = pick(100);
        uint32_t written = jit_var_write(a->id, i, &value);
        must(written, "jit_var_write");
        jit_var_dec_ref(a->id);
        a->id = written;
        a->data[i] = value;
        break;
    }
    case 4:
        jit_var_schedule(a->id);
        break;
    case 5:
        must(jit_eval(), "jit_eval");
        break;
    case 6:
        jit_var_eval(a->id);
        break;
    default:
        drop_entry(a);
        break;
    }
}

static void set_flags(void)
{
    static const JitFlag some[] = { JitFlagValueNumbering, JitFlagConstantPropagation,
                                    JitFlagReuseIndices,   JitFlagDebug,
                                    JitFlagLaunchBlocking, JitFlagScatterReduceLocal };
    jit_set_flags(JitFlagDefault);
    for (size_t i = 0; i < COUNT_OF(some); ++i)
        if (pick(4) == 0)
            jit_set_flag(some[i], !jit_flag(some[i]));
}

static void run_sequence(void)
{
    static void (*const moves[])(void) = {
        make,      make,   combine, combine,        combine,        share,
        rearrange, gather, gather,  scatter_reduce, scatter_reduce, scatter_distinct,
        look,      look
    };
    random_state = seed;
    set_flags();
    for (step = 0; step < STEPS; ++step) {
        moves[pick(COUNT_OF(moves))]();
        if (pick(60) == 0)
            must(jit_llvm_set_thread_count(pick(4)), "jit_llvm_set_thread_count");
        if (jit_error() != JIT_OK)
            fail_msg("seed %llu, step %d: %s", (unsigned long long) seed, step,
                     jit_error_message());
    }
    for (int i = 0; i < POOL; ++i) {
        if (!pool[i].id)
            continue;
        check_entry(&pool[i], "at the end");
        drop_entry(&pool[i]);
    }
}

static void test_sequences(void **unused)
{
    (void) unused;
    const char *only = getenv("DRJIT_TEST_SEED");
    uint64_t count = engine_is("llvm") ? 12 : 150;
    uint64_t first = only ? strtoull(only, NULL, 10) : 1;
    for (seed = first; seed < first + (only ? 1 : count); ++seed)
        run_sequence();
    OK(jit_llvm_set_thread_count(2));
}

static int run(void)
{
    const struct CMUnitTest tests[] = { TEST(test_sequences) };
    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}

int main(void)
{
    return run_engines(run);
}
