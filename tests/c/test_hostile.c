/*
 * test_hostile.c -- the n-th allocation, file operation or loader call fails, for every
 * n
 *
 * Built with JIT_HOSTILE; see hostile_util.h. test_freeze_hostile.c does the same with
 * recordings, test_ad_hostile.c with derivatives.
 */
#include "hostile_util.h"

#include <pthread.h>

#include "device/cpu/launch/cpu_launch.h"

/* ------------------------------------------------------------------- scenarios */

static bool trace_and_evaluate(void)
{
    uint32_t x = counter(), y = own(jit_var_mul(x, number(3)));
    uint32_t z = own(jit_var_add(y, number(7)));
    uint32_t m = own(jit_var_lt(z, number(100)));
    uint32_t s = own(jit_var_select(m, z, x));
    return jit_var_schedule(s) && jit_eval() && entry_is(s, 2, 13) &&
           entry_is(s, 200, 200);
}

/* Rules with conditionals and shared parts; literals that are folded, or not; a kernel
 * for host values. */
static bool functions(void)
{
    enum { ONE = 0x3f800000, FIVE = 0x40a00000 };
    uint32_t x = own(jit_var_cast(counter(), VarTypeFloat32, 0)), sine, cosine;
    jit_var_sincos(x, &sine, &cosine);
    if (!own(sine) || !own(cosine))
        return false;
    uint32_t four = own(jit_var_f32(CPU, 4)), y = own(jit_var_hypot(x, four));
    uint32_t folded = own(jit_var_hypot(own(jit_var_f32(CPU, 3)), four));
    float host[] = { 3, 4, 0 };
    bool ok =
        jit_host_op(JitOpHypot, VarTypeFloat32, 1,
                    (JitHostOperand[]){ { &host[0], 0 }, { &host[1], 0 } }, &host[2]);
    if (ok)
        assert_true(host[2] == 5);
    return ok && jit_var_schedule(sine) && jit_var_schedule(y) && jit_eval() &&
           entry_is(sine, 0, 0) && entry_is(cosine, 0, ONE) && entry_is(y, 3, FIVE) &&
           entry_is(folded, 0, FIVE);
}

static bool long_trace(void)
{
    uint32_t x = counter();
    for (uint32_t i = 0; i < 200 && x; ++i) {
        uint32_t one = jit_var_u32(CPU, i * i), next = jit_var_add(x, one);
        jit_var_dec_ref(one);
        if (i)
            jit_var_dec_ref(x);
        x = next;
    }
    own(x);
    return entry_is(x, 1, 1 + 199 * 200 * 399 / 6);
}

static bool many_types(void)
{
    uint32_t x = counter(), last = x;
    for (size_t i = 0; i < COUNT_OF(test_types); ++i)
        if (test_types[i].kind != 'p' && test_types[i].kind != 'b')
            last = own(jit_var_cast(last, test_types[i].type, 0));
    return entry_is(own(jit_var_cast(last, VarTypeUInt32, 0)), 100, 100);
}

static bool gather(void)
{
    uint32_t x = counter(), source = own(jit_var_mul(x, x));
    uint32_t index = own(jit_var_sub(number(N - 1), x));
    uint32_t mask = own(jit_var_gt(x, number(5)));
    uint32_t out = own(jit_var_gather(source, index, mask));
    return entry_is(out, 5, 0) && entry_is(out, 6, (N - 7) * (N - 7));
}

static bool gather_packet(void)
{
    uint32_t x = counter(), out[4] = { 0 };
    uint32_t index = own(jit_var_and(x, number(63)));
    bool ok = jit_var_gather_packet(4, x, index, 0, out);
    for (int i = 0; i < 4; ++i)
        own(out[i]);
    return ok && entry_is(out[3], 65, 7) && entry_is(out[0], 65, 4);
}

/* With packets, and channel by channel. */
static bool texture_with(uint32_t channels)
{
    enum { ONE = 0x3f800000 };
    JitTexture *t = jit_tex_create(CPU, 2, (size_t[]){ 3, 2 }, channels, VarTypeFloat32,
                                   JitTexFilterLinear, JitTexWrapMirror);
    float ones[24];
    for (size_t i = 0; i < COUNT_OF(ones); ++i)
        ones[i] = 1;
    uint32_t x = own(jit_var_f32(CPU, 0.5f)), at = number(1), out[4], again;
    bool ok = t && x && at && jit_tex_copy_from(t, ones) &&
              jit_tex_lookup(t, (uint32_t[]){ x, x }, 0, out);
    for (uint32_t c = 0; ok && c < channels; ++c)
        own(out[c]);
    ok = ok && entry_is(out[channels - 1], 0, ONE) &&
         jit_tex_write(t, (uint32_t[]){ at, at }, out, 0) && jit_tex_copy_to(t, ones) &&
         own(again = jit_tex_content(t)) && entry_is(again, 5, ONE);
    jit_tex_destroy(t);
    return ok;
}

static bool texture(void)
{
    return texture_with(4) && texture_with(3);
}

static bool scatter_with(ReduceMode mode)
{
    uint32_t x = counter(), target = zeros(10);
    own(jit_var_inc_ref(target)); /* somebody else holds it, so the target is copied */
    uint32_t index = own(jit_var_mod(x, number(10)));
    uint32_t out = own(jit_var_scatter(target, number(2), index, 0, ReduceOpAdd, mode));
    return entry_is(out, 9, 2 * N / 10) && entry_is(target, 9, 0);
}

static bool scatter_direct(void)
{
    return scatter_with(ReduceModeDirect);
}
static bool scatter_local(void)
{
    return scatter_with(ReduceModeLocal);
}
static bool scatter_expand(void)
{
    return scatter_with(ReduceModeExpand);
}

/* Several blocks, which need memory for copies; what fails leaves the target alone. */
static bool scatter_in_order(void)
{
    enum { LANES = 4000 };
    uint32_t target = own(jit_var_resize(own(jit_var_f32(CPU, 1)), 10));
    uint32_t lanes = own(jit_var_counter(CPU, LANES));
    uint32_t index = own(jit_var_mod(lanes, number(10)));
    uint32_t active = own(jit_var_lt(lanes, number(LANES - 10)));
    uint32_t two = own(jit_var_f32(CPU, 2));
    own(jit_var_inc_ref(target));
    jit_set_flag(JitFlagDeterministic, 1);
    uint32_t out = own(jit_var_scatter(target, two, index, active, ReduceOpAdd,
                                       ReduceModeAuto));
    jit_set_flag(JitFlagDeterministic, 0);
    return entry_is(own(jit_var_cast(out, VarTypeUInt32, 0)), 9, 2 * LANES / 10 - 1) &&
           entry_is(own(jit_var_cast(target, VarTypeUInt32, 0)), 9, 1);
}

static bool scatter_packet(void)
{
    uint32_t x = counter(), target = zeros(2 * N), values[2] = { x, number(9) };
    uint32_t out = own(jit_var_scatter_packet(2, target, values, x, 0, ReduceOpIdentity,
                                              ReduceModeAuto));
    return entry_is(out, 2 * 77, 77) && entry_is(out, 2 * 77 + 1, 9);
}

/* Where an owned variable is kept, for functions that replace it. */
static uint32_t *place_of(uint32_t id)
{
    for (size_t i = 0; i < owned_count; ++i)
        if (owned[i] == id)
            return &owned[i];
    return NULL;
}

static bool atomics(void)
{
    uint32_t x = counter(), seen[2] = { 0, 0 };
    uint32_t *count = place_of(zeros(1)), *cells = place_of(zeros(N));
    uint32_t target = zeros(N), zero = number(0), five = number(5);
    uint32_t first = own(jit_var_resize(zero, N)); /* every lane counts */
    if (!count || !cells || !target || !five || !first)
        return false;
    uint32_t slot = own(jit_var_scatter_inc(count, first, 0));
    uint32_t out =
        own(jit_var_scatter(target, x, slot, 0, ReduceOpIdentity, ReduceModePermute));
    bool ok = out && jit_eval() && entry_is(*count, 0, N) &&
              jit_var_scatter_cas(cells, zero, five, x, 0, seen);
    own(seen[0]);
    own(seen[1]);
    return ok && entry_is(*cells, 50, 5);
}

static bool compensated(void)
{
    uint32_t one = own(jit_var_f32(CPU, 1)), two = own(jit_var_f32(CPU, 2));
    uint32_t zero = own(jit_var_f32(CPU, 0)), first = number(0);
    uint32_t *sums = place_of(own(jit_var_resize(one, 5)));
    uint32_t *errors = place_of(own(jit_var_resize(zero, 5)));
    return sums && errors && two &&
           jit_var_scatter_add_kahan(sums, errors, two, first, 0) &&
           entry_is(own(jit_var_cast(*sums, VarTypeUInt32, 0)), 0, 3) &&
           entry_is(own(jit_var_cast(*errors, VarTypeUInt32, 0)), 0, 0);
}

static bool sorting(void)
{
    uint32_t x = own(jit_var_sub(number(N - 1), counter()));
    uint32_t sorted = own(jit_var_sort(x, 0, 0));
    uint32_t positions = own(jit_var_argsort(x, 0, 0));
    uint32_t pairs = own(jit_var_sort(x, 2, 0));
    return entry_is(sorted, 20, 20) && entry_is(positions, 20, N - 21) &&
           entry_is(pairs, 0, N - 2);
}

/* More than one chunk, so that memory is needed. */
static bool host_values(void)
{
    enum { COUNT = 70000 };
    static uint32_t values[COUNT];
    for (uint32_t i = 0; i < COUNT; ++i)
        values[i] = 1;
    uint32_t sum = 0;
    bool ok = jit_host_reduce(ReduceOpAdd, VarTypeUInt32, COUNT, values, &sum) &&
              jit_host_prefix_reduce(ReduceOpAdd, VarTypeUInt32, COUNT, COUNT, 0, 0,
                                     values, values);
    if (ok)
        assert_true(sum == COUNT && values[COUNT - 1] == COUNT);
    return ok;
}

static bool reductions(void)
{
    uint32_t x = counter();
    uint32_t sum = own(jit_var_reduce(x, ReduceOpAdd));
    uint32_t most = own(jit_var_reduce(x, ReduceOpMax));
    uint32_t blocks = own(jit_var_block_reduce(ReduceOpAdd, x, 10));
    uint32_t prefix = own(jit_var_block_prefix_reduce(ReduceOpAdd, x, N, 1, 0));
    uint32_t any = own(jit_var_any(own(jit_var_eq(x, number(7)))));
    bool found = false;
    return entry_is(sum, 0, N * (N - 1) / 2) && entry_is(most, 0, N - 1) &&
           entry_is(blocks, 1, 145) && entry_is(prefix, 4, 6) &&
           jit_var_read(any, 0, &found) && found;
}

static bool dot(void)
{
    uint32_t f = own(jit_var_cast(counter(), VarTypeFloat32, 0));
    uint32_t product = own(jit_var_reduce_dot(f, own(jit_var_f32(CPU, 2))));
    return entry_is(own(jit_var_cast(product, VarTypeUInt32, 0)), 0, N * (N - 1));
}

/* Packed operands need scratch memory, and many axes memory for their strides. */
static bool matrix_product(void)
{
    uint32_t x = counter();
    size_t extents[9] = { 1, 1, 1, 1, 1, 1, 1, 1, 2 };
    JitGemm shape = {
        .m = 5, .n = 6, .k = 10, .batch_ndim = 9, .batch_shape = extents
    };
    uint32_t product = own(jit_var_batched_gemm(x, x, &shape));
    return product && jit_var_size(product) == 60 && entry_is(product, 0, 6 * 285);
}

static bool compress(void)
{
    uint32_t x = counter();
    uint32_t odd = own(jit_var_eq(own(jit_var_and(x, number(1))), number(1)));
    uint32_t out = own(jit_var_compress(odd));
    return out && jit_var_size(out) == N / 2 && entry_is(out, 10, 21);
}

static bool counting_sort(void)
{
    uint32_t values[8] = { 2, 0, 1, 2, 0, 1, 2, 0 }, perm[8], offsets[13];
    bool ok = false;
    uint32_t buckets = jit_block_mkperm(CPU, values, 8, 8, 3, perm, offsets, &ok);
    if (ok)
        assert_true(buckets == 3 && perm[0] == 1 && perm[7] == 6);
    return ok;
}

static bool arrays(void)
{
    uint32_t data[4] = { 1, 2, 3, 4 };
    uint32_t a = own(jit_var_mem_copy(CPU, VarTypeUInt32, data, 4));
    uint32_t b = own(jit_var_mem_map(CPU, VarTypeUInt32, data, 4, 0));
    uint32_t c = own(jit_var_add(a, b)), d = own(jit_var_tile(c, 3));
    uint32_t e = own(jit_var_repeat(c, 2)), f = own(jit_var_reverse(d));
    uint32_t g = own(jit_var_shrink(f, 5)), h = own(jit_var_copy(g));
    uint32_t i = own(jit_var_write(h, 1, &data[2])), j = own(jit_var_resize(i, 5));
    bool ok = entry_is(e, 3, 4) && entry_is(g, 4, 8) && entry_is(j, 1, 3);
    ok = jit_sync_thread() && ok; /* 'data' is used until then */
    return ok;
}

static bool labels(void)
{
    bool pushed = jit_prefix_push(CPU, "outer");
    jit_set_source_location("file.c", 12);
    uint32_t x = counter(), named = own(jit_var_set_label(x, "name"));
    const char *label = named ? jit_var_label(named) : NULL;
    bool ok = pushed && label;
    if (ok)
        assert_string_equal(label, "outer/name");
    if (pushed)
        jit_prefix_pop(CPU);
    jit_set_source_location(NULL, 0);
    return ok;
}

static bool texts(void)
{
    uint32_t x = counter(), y = own(jit_var_add(x, number(1)));
    const char *program = jit_program_str(y), *whos = jit_var_whos();
    const char *graph = jit_var_graphviz(), *values = jit_var_str(y);
    bool ok = program && whos && graph && values;
    if (values)
        assert_string_equal(values, "[1, 2, 3, .. 294 skipped .., 298, 299, 300]");
    return ok;
}

static bool history(void)
{
    jit_set_flag(JitFlagKernelHistory, 1);
    uint32_t x = own(jit_var_add(counter(), number(1)));
    bool ok =
        entry_is(x, 1, 2) && entry_is(own(jit_var_reduce(x, ReduceOpAdd)), 0, 45150);
    KernelHistoryEntry *entries = NULL;
    size_t count = jit_kernel_history(&entries);
    jit_kernel_history_release(entries, count);
    jit_kernel_history_clear();
    jit_set_flag(JitFlagKernelHistory, 0);
    return ok;
}

static bool checks(void)
{
    jit_set_flag(JitFlagDebug, 1);
    uint32_t x = counter(), source = own(jit_var_add(x, number(1)));
    uint32_t out = own(jit_var_gather(source, own(jit_var_add(x, number(N - 3))), 0));
    bool ok = entry_is(out, 2, N) && entry_is(out, 3, 0);
    jit_set_flag(JitFlagDebug, 0);
    return ok;
}

static bool literals(void)
{
    for (uint32_t i = 0; i < 4; ++i)
        if (!entry_is(own(jit_var_mul(counter(), number(1000 + i * i))), 2,
                      2000 + 2 * i * i))
            return false;
    return true;
}

static bool registry(void)
{
    static int objects[3];
    bool ok = true;
    for (int i = 0; i < 3; ++i)
        ok &= jit_registry_put("llvm", "Thing", &objects[i]) != 0;
    if (ok)
        assert_int_equal(jit_registry_id(&objects[2]), 3);
    jit_registry_clear();
    return ok;
}

static bool memory(void)
{
    uint32_t *data = jit_malloc(CPU, 4000), value = 77, copy[4] = { 0 };
    bool ok = data && jit_memset_async(CPU, data, 1000, 4, &value) &&
              jit_memcpy(CPU, copy, data + 500, sizeof copy);
    if (ok)
        assert_int_equal(copy[3], 77);
    jit_sync_thread();
    jit_free(data);
    return ok;
}

static void call(void *payload)
{
    *(int *) payload += 1;
}

static bool events(void)
{
    int calls = 0;
    JitEvent *event = jit_event_create(CPU, 1);
    bool queued = jit_enqueue_host_func(CPU, call, &calls);
    bool ok = event && queued && jit_event_record(event) && jit_event_wait(event);
    jit_sync_thread();
    assert_int_equal(calls, queued);
    jit_event_destroy(event);
    return ok;
}

/* By several threads, and past the caches. */
static bool large(void)
{
    jit_llvm_set_thread_count(3);
    cpu_launch_set_cache(1024);
    uint32_t x = own(jit_var_counter(CPU, 1 << 18)), y = own(jit_var_mul(x, x));
    bool ok = entry_is(own(jit_var_reduce(y, ReduceOpOr)), 0, 0xffffffff & ~2u) &&
              entry_is(y, 70000, 70000u * 70000u);
    cpu_launch_set_cache(0);
    return ok;
}

static void *work(void *result)
{
    uint32_t x = jit_var_counter(CPU, N), y = jit_var_add(x, x);
    uint32_t found = 0;
    *(bool *) result = jit_var_read(y, 9, &found) && found == 18;
    jit_var_dec_ref(x);
    jit_var_dec_ref(y);
    return NULL;
}

static bool threads(void)
{
    bool ok[2] = { false, false };
    pthread_t ids[2];
    for (int i = 0; i < 2; ++i)
        assert_int_equal(pthread_create(&ids[i], NULL, work, &ok[i]), 0);
    for (int i = 0; i < 2; ++i)
        pthread_join(ids[i], NULL);
    return ok[0] && ok[1];
}

/* Keeps code on disk, and finds it there. */
static bool disk(void)
{
    for (uint32_t i = 0; i < 2; ++i) {
        if (!entry_is(
                own(jit_var_add(own(jit_var_mul(counter(), number(11))), number(5))), 2,
                27))
            return false;
        jit_flush_kernel_cache();
    }
    return true;
}

/* ------------------------------------------------ masks, local memory, prints,
 * calls */

static bool masks(void)
{
    uint32_t i = counter(), half = number(N / 2);
    uint32_t mask = own(jit_var_lt(i, half));
    if (!jit_var_mask_push(CPU, mask))
        return false;
    uint32_t square = own(jit_var_mul(i, i));
    uint32_t got = own(jit_var_gather(square, i, 0));
    uint32_t wide = own(jit_var_mask_apply(0, N));
    return jit_var_mask_pop(CPU) && wide && entry_is(got, 7, 49) &&
           entry_is(got, N - 1, 0);
}

static bool local_memory(void)
{
    uint32_t i = counter(), one = number(1), two = number(2);
    uint32_t a = own(jit_array_create(CPU, VarTypeUInt32, 3, N));
    uint32_t b = own(jit_array_write(a, one, i, 0));
    uint32_t c = own(jit_array_write(b, one, two, 0)); /* copies, for 'b' is read */
    uint32_t x = own(jit_array_read(c, one, 0)), y = own(jit_array_read(b, one, 0));
    uint32_t sum = own(jit_var_add(x, y));
    return sum && entry_is(sum, 8, 10);
}

static void sum_up(const JitPrintRecords *records, void *payload)
{
    uint64_t *seen = payload; /* sum of the values, good-byes */
    seen[1] += !records;
    for (size_t k = 0; records && k < records->count; ++k)
        seen[0] += records->values[k];
}

static bool prints(void)
{
    /* What a disturbed run leaves in the queue may come with the next one. */
    static uint64_t both[2][2], runs;
    uint64_t *seen = both[runs++ % 2];
    seen[0] = seen[1] = 0;
    uint32_t i = counter();
    bool recorded = jit_var_print(0, 1, &i, SIZE_MAX, sum_up, seen);
    bool ok = recorded && jit_eval() && jit_sync_thread();
    if (ok && seen[0] && seen[0] != N * (N - 1) / 2)
        fail_msg("the sum of printed values is %llu", (unsigned long long) seen[0]);
    if (!recorded && seen[1])
        fail_msg("the payload of a print that was not recorded was released");
    return ok;
}

static bool calls(void)
{
    uint32_t i = counter(), three = number(3), self = own(jit_var_mod(i, three));
    uint32_t array = own(jit_var_mem_copy(CPU, VarTypeUInt32, &(uint32_t){ 9 }, 1));
    uint32_t call = jit_var_call_start(CPU, "hostile", 0), result;
    if (!call)
        return false;
    uint32_t a = own(jit_var_call_input(call, i));
    for (uint32_t c = 0; c < 2; ++c) {
        uint32_t factor = number(7 + c), product = own(jit_var_mul(a, factor));
        uint32_t out = own(jit_var_add(product, c ? array : three));
        if (!a || !out) {
            jit_record_end(CPU, call, 1);
            return false;
        }
        if (!jit_var_call_append(call, 1, &out))
            return false;
    }
    if (!jit_var_call(call, self, 2, NULL, NULL, &result))
        return false;
    own(result);
    return entry_is(result, 4, 31) && entry_is(result, 5, 49) && entry_is(result, 6, 0);
}

/* A local array goes into a call and comes out of it. */
static bool call_with_array(void)
{
    uint32_t i = counter(), three = number(3), self = own(jit_var_mod(i, three));
    uint32_t empty = own(jit_array_create(CPU, VarTypeUInt32, 2, N)), results[2];
    uint32_t one = number(1), array = own(jit_array_write(empty, one, i, 0));
    uint32_t call = jit_var_call_start(CPU, "hostile", 0);
    if (!call)
        return false;
    uint32_t a = own(jit_var_call_input(call, array));
    for (uint32_t c = 0; c < 2; ++c) {
        uint32_t outputs[] = { a, own(jit_array_read(a, one, 0)) };
        if (c)
            outputs[0] = own(jit_array_write(a, one, three, 0));
        if (!outputs[0] || !outputs[1]) {
            jit_record_end(CPU, call, 1);
            return false;
        }
        if (!jit_var_call_append(call, 2, outputs))
            return false;
    }
    if (!jit_var_call(call, self, 2, NULL, NULL, results))
        return false;
    own(results[0]);
    own(results[1]);
    uint32_t entry = own(jit_array_read(results[0], one, 0));
    return entry_is(entry, 4, 4) && entry_is(entry, 5, 3) && entry_is(results[1], 5, 5);
}

/* while (x > 0) { sum += x; x -= 1; } with lanes taken out as they end */
static bool compressed_loop(void)
{
    jit_set_flag(JitFlagSymbolicLoops, 0);
    jit_set_flag(JitFlagCompressLoops, 1);
    uint32_t four = number(4), i = counter(), x = own(jit_var_mod(i, four));
    uint32_t zero = number(0), one = number(1);
    uint32_t state[] = { jit_var_inc_ref(x), jit_var_inc_ref(zero) };
    uint32_t loop = jit_var_loop_start(CPU, "hostile", 2, state);
    int again = loop ? 0 : -1;
    while (loop && again == 0) {
        uint32_t mask = jit_var_gt(state[0], zero);
        again = jit_var_loop_cond(loop, mask);
        jit_var_dec_ref(mask);
        if (again > 0 && !jit_var_loop_compress(loop, state))
            again = -1;
        if (again > 0) {
            uint32_t next[] = { jit_var_sub(state[0], one),
                                jit_var_add(state[1], state[0]) };
            for (int k = 0; k < 2; ++k) {
                jit_var_dec_ref(state[k]);
                state[k] = next[k];
            }
        }
        if (again >= 0)
            again = jit_var_loop_end(loop, state);
    }
    own(state[0]);
    own(state[1]);
    return again > 0 && entry_is(state[1], 4, 0) && entry_is(state[1], 7, 6) &&
           entry_is(state[1], 10, 3);
}

/* ----------------------------------------------------------------------- tests */

static const Scenario scenarios[] = {
    { "trace_and_evaluate", trace_and_evaluate, false, false },
    { "functions", functions, false, false },
    { "long_trace", long_trace, false, false },
    { "many_types", many_types, false, false },
    { "gather", gather, false, false },
    { "gather_packet", gather_packet, false, false },
    { "texture", texture, false, false },
    { "scatter_direct", scatter_direct, false, false },
    { "scatter_local", scatter_local, false, false },
    { "scatter_expand", scatter_expand, false, false },
    { "scatter_in_order", scatter_in_order, false, false },
    { "scatter_packet", scatter_packet, false, false },
    { "atomics", atomics, false, false },
    { "compensated", compensated, false, false },
    { "sorting", sorting, false, false },
    { "host_values", host_values, false, false },
    { "reductions", reductions, false, false },
    { "dot", dot, false, false },
    { "matrix_product", matrix_product, false, false },
    { "compress", compress, false, false },
    { "counting_sort", counting_sort, false, false },
    { "arrays", arrays, false, false },
    { "labels", labels, false, false },
    { "texts", texts, false, false },
    { "history", history, false, false },
    { "checks", checks, false, false },
    { "literals", literals, false, false },
    { "registry", registry, false, false },
    { "memory", memory, false, false },
    { "events", events, false, false },
    { "large", large, false, false },
    { "masks", masks, false, false },
    { "call_with_array", call_with_array, false, false },
    { "compressed_loop", compressed_loop, false, false },
    { "local_memory", local_memory, false, false },
    { "prints", prints, false, false },
    { "calls", calls, false, false },
    { "threads", threads, false, true },
    { "disk", disk, true, false }
};

/* The loader remembers how it fared, so every n has a process of its own. */
static void test_loading(void **unused)
{
    (void) unused;
    setenv("DRJIT_CACHE_DIR", "", 1);
    for (uint64_t n = 1; n < MOST_STEPS; ++n) {
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            unsetenv("DRJIT_CPU_ENGINE");
            alloc_fail_at(n);
            bool ok = jit_llvm_version(NULL, NULL, NULL);
            bool hit = alloc_steps() >= n;
            alloc_fail_at(0);
            bool sane =
                (ok || jit_error() != JIT_OK) && jit_init(CPU) && trace_and_evaluate();
            disown_all();
            sane &= jit_shutdown(0) == 0;
            _exit(!sane ? 2 : hit ? 1 : 0);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
            fail_msg("n = %llu: status 0x%x", (unsigned long long) n,
                     (unsigned) status);
        if (WEXITSTATUS(status) == 0)
            return;
    }
}

static int tests(void)
{
    return run_scenarios("hostile", scenarios, COUNT_OF(scenarios));
}

static int loading_tests(void)
{
    const struct CMUnitTest list[] = { cmocka_unit_test(test_loading) };
    return cmocka_run_group_tests(list, NULL, NULL);
}

int main(void)
{
    if (!begin_hostile())
        return 1;
    int failures = loading_tests() + run_engines(tests);
    return !end_hostile() || failures;
}
