/*
 * test_foreign.c -- PTX that nvcc has compiled gives what C gives
 *
 * The simulator and our own PTX are read from the same documents by the same people;
 * nvcc has not read them. Here it runs what nvcc made of functions.inc and blocks.cu
 * (make.sh), and every word is compared with what the C compiler made of the same
 * functions, or with a loop.
 *
 *     test_foreign FOLDER-OF-THE-PTX
 */
#include "foreign_util.h"

#include <limits.h>
#include <math.h>

#include "../../c/half_reference.h"

static const char *folder;

/* ------------------------------------------------------------------- elementwise */

static float float_of_half(uint16_t bits)
{
    return (float) half_value(bits);
}

#define DEVICE
#define POPC(x) ((uint64_t) __builtin_popcount(x))
#define CLZ(x) ((uint64_t) ((x) ? __builtin_clz(x) : 32))
#define MUL_HI(x, y) ((uint64_t) ((unsigned __int128) (x) * (y) >> 64))
#define HALF_FROM(x) half_bits(x)
#define HALF_TO(bits) float_of_half(bits)
#define FUNCTION(name) static uint64_t name(uint64_t a, uint64_t b)

static const uint64_t TABLE[16] = {
#include "table.inc"
};

#include "functions.inc"

typedef struct Row {
    const char *name;
    uint64_t (*function)(uint64_t a, uint64_t b);
} Row;

#define ROW(name)   \
    {               \
#name, name \
    }
static const Row rows[] = {
    ROW(add_sub),
    ROW(multiply),
    ROW(divide_u64),
    ROW(divide_s64),
    ROW(divide_u32),
    ROW(divide_s32),
    ROW(divide_by_constants),
    ROW(narrow),
    ROW(shifts),
    ROW(bits),
    ROW(compare),
    ROW(collatz),
    ROW(greatest_divisor),
    ROW(choose),
    ROW(early_exits),
    ROW(sort_bytes),
    ROW(histogram),
    ROW(table),
    ROW(recursion),
    ROW(pointers_to_functions),
    ROW(f32_arithmetic),
    ROW(f64_arithmetic),
    ROW(fused),
    ROW(float_compare),
    ROW(rounding),
    ROW(conversions),
    ROW(halves),
    ROW(sum_of_series),
};

enum { LANES = 1000, BLOCK = 96 };

/* Any word, or one next to a power of two, or a small one. */
static uint64_t random_word(uint64_t *state)
{
    const uint64_t word = foreign_random(state), kind = foreign_random(state) % 4;
    return kind < 2    ? word
           : kind == 2 ? ((uint64_t) 1 << (word & 63)) - (word >> 6 & 1)
                       : (uint64_t) ((int64_t) (word % 2001) - 1000);
}

static void check_row(const SimModule *module, const Row *row, SimOrder order)
{
    uint64_t a[LANES], b[LANES], state = (uint64_t) order + 1;
    SimMemory *memory = sim_memory_new();
    for (int i = 0; i < LANES; ++i) {
        a[i] = random_word(&state);
        b[i] = random_word(&state);
    }
    uint64_t *result = sim_memory_get(memory, sizeof a);
    assert_non_null(result);
    const uint64_t words[] = { foreign_word(foreign_array(memory, a, sizeof a)),
                               foreign_word(foreign_array(memory, b, sizeof b)),
                               foreign_word(result), LANES };
    const SimLaunch launch = { .grid = { (LANES + BLOCK - 1) / BLOCK },
                               .block = { BLOCK },
                               .memory = memory,
                               .order = order,
                               .seed = state };
    foreign_run(launch, module, row->name, words, COUNT_OF(words));
    for (int i = 0; i < LANES; ++i)
        if (result[i] != row->function(a[i], b[i]))
            fail_msg("%s(%#llx, %#llx) is %#llx, expected %#llx", row->name,
                     (unsigned long long) a[i], (unsigned long long) b[i],
                     (unsigned long long) result[i],
                     (unsigned long long) row->function(a[i], b[i]));
    sim_memory_delete(memory);
}

static SimModule *open_module(const char *name)
{
    char path[1000];
    assert_true(snprintf(path, sizeof path, "%s/%s", folder, name) < 1000);
    return foreign_module(path);
}

static void test_elementwise(void **unused)
{
    (void) unused;
    SimModule *module = open_module("elementwise.ptx");
    uint32_t kernels = 0;
    while (sim_kernel_at(module, kernels))
        kernels++;
    assert_int_equal(kernels, COUNT_OF(rows));
    for (size_t i = 0; i < COUNT_OF(rows); ++i) {
        check_row(module, &rows[i], SIM_LOWEST_PC);
        check_row(module, &rows[i], SIM_RANDOM_PC);
    }
    sim_free(module);
}

/* ------------------------------------------------------------------------ blocks */

enum { THREADS = 128, BLOCKS = 7, N = THREADS * BLOCKS, PART = N - 50, SEEDS = 6 };

/* One run of a kernel of blocks.cu: on words of random bits, with results that begin
 * with zeros. */
typedef struct Run {
    SimMemory *memory;
    SimLaunch launch;
    const SimModule *module;
    uint32_t in[N];
    uint32_t *device_in, *out;
} Run;

/* The kernel has run; what it wrote is right. */
typedef void (*Check)(Run *run);

static void each_seed(Check check)
{
    SimModule *module = open_module("blocks.ptx");
    for (uint64_t seed = 0; seed < SEEDS; ++seed) {
        Run run = { .memory = sim_memory_new(), .module = module };
        uint64_t state = seed;
        for (int i = 0; i < N; ++i)
            run.in[i] = (uint32_t) random_word(&state);
        run.device_in = foreign_array(run.memory, run.in, sizeof run.in);
        run.out = foreign_array(run.memory, NULL, 8 * N);
        run.launch = (SimLaunch){ .grid = { BLOCKS },
                                  .block = { THREADS },
                                  .memory = run.memory,
                                  .order = seed % 2 ? SIM_RANDOM_PC : SIM_LOWEST_PC,
                                  .seed = seed,
                                  .step_limit = 10000000 };
        check(&run);
        sim_memory_delete(run.memory);
    }
    sim_free(module);
}

static void start(Run *run, const char *name, uint32_t n)
{
    const uint64_t words[] = { foreign_word(run->device_in), foreign_word(run->out),
                               n };
    foreign_run(run->launch, run->module, name, words, COUNT_OF(words));
}

static void check_sum(Run *run)
{
    start(run, "block_sum", PART);
    for (int b = 0; b < BLOCKS; ++b) {
        uint32_t sum = 0;
        for (int i = b * THREADS; i < (b + 1) * THREADS && i < PART; ++i)
            sum += run->in[i];
        assert_int_equal(run->out[b], sum);
    }
}

static void check_max(Run *run)
{
    start(run, "block_max", PART);
    for (int b = 0; b < BLOCKS; ++b) {
        int32_t most = INT32_MIN;
        for (int i = b * THREADS; i < (b + 1) * THREADS && i < PART; ++i)
            most = (int32_t) run->in[i] > most ? (int32_t) run->in[i] : most;
        assert_int_equal((int32_t) run->out[b], most);
    }
}

/* Words of 64 bits: half as many. */
static void check_scan(Run *run)
{
    enum { WORDS = N / 2 };
    uint64_t in[WORDS], sum[WORDS];
    run->launch.grid[0] = (BLOCKS + 1) / 2;
    memcpy(in, run->in, sizeof in);
    start(run, "warp_scan", WORDS);
    for (int i = 0; i < WORDS; ++i)
        sum[i] = in[i] + (i % 32 ? sum[i - 1] : 0);
    for (int i = 0; i < WORDS; ++i) {
        const uint64_t last = sum[i / 32 * 32 + 31], fifth = sum[i / 8 * 8 + 5];
        const uint64_t next = i % 32 == 31 ? sum[i] : sum[i + 1];
        uint64_t found;
        memcpy(&found, run->out + 2 * i, sizeof found);
        assert_true(found == sum[i] * 3 + (last ^ fifth) + next);
    }
}

static void check_votes(Run *run)
{
    start(run, "votes", N);
    for (int i = 0; i < N; ++i) {
        const uint32_t *warp = run->in + i / 32 * 32;
        uint32_t odd = 0, peers = 0, seven = 0, no_nine = 1;
        for (int k = 0; k < 32; ++k) {
            odd |= (warp[k] & 1) << k;
            peers |= (uint32_t) (warp[k] % 5 == run->in[i] % 5) << k;
            seven |= warp[k] == 7;
            no_nine &= warp[k] != 9;
        }
        const uint32_t before = odd & ((1u << i % 32) - 1);
        assert_int_equal(run->out[i], odd ^ (peers * 3 + seven + 2 * no_nine +
                                             (uint32_t) __builtin_popcount(before)));
    }
}

static void check_histogram(Run *run)
{
    uint32_t count[256] = { 0 };
    start(run, "histogram_of_bytes", PART);
    for (int i = 0; i < PART; ++i)
        for (int k = 0; k < 4; ++k)
            count[run->in[i] >> 8 * k & 255]++;
    assert_memory_equal(run->out, count, sizeof count);
}

/* Every number of a thread occurs once behind the first six words. */
static void check_permutation(const uint32_t *numbers)
{
    bool seen[PART] = { false };
    for (int i = 0; i < PART; ++i) {
        assert_true(numbers[i] < PART && !seen[numbers[i]]);
        seen[numbers[i]] = true;
    }
}

static void check_atomics(Run *run)
{
    uint32_t expected[6] = { 5, 5, ~0u, 0, 0, 0 };
    uint64_t expected_wide[3] = { 0 };
    uint32_t *words = run->out;
    uint64_t *wide = foreign_array(run->memory, NULL, sizeof expected_wide);
    memcpy(words, expected, sizeof expected);
    const uint64_t params[] = { foreign_word(run->device_in), foreign_word(words),
                                foreign_word(wide), PART };
    foreign_run(run->launch, run->module, "atomics", params, COUNT_OF(params));
    for (int i = 0; i < PART; ++i) {
        const uint32_t x = run->in[i];
        const uint64_t square = (uint64_t) x * x;
        expected[0] = x < expected[0] ? x : expected[0];
        if ((int32_t) x > (int32_t) expected[1])
            expected[1] = x;
        expected[2] &= x | 0xff00ff;
        expected[3] |= x & 0x10101010u << x % 4;
        expected[4] ^= x;
        expected[5] = expected[5] >= 1000 ? 0 : expected[5] + 1;
        expected_wide[0] += (uint64_t) x << 20;
        expected_wide[1] = square > expected_wide[1] ? square : expected_wide[1];
        expected_wide[2] += square;
    }
    assert_memory_equal(words, expected, sizeof expected);
    assert_memory_equal(wide, expected_wide, sizeof expected_wide);
    check_permutation(words + 6);
    assert_int_equal(words[6 + PART], PART);
}

static void check_transpose(Run *run)
{
    enum { TILE = 16, WIDTH = 2 * TILE, HEIGHT = 3 * TILE };
    run->launch.grid[0] = WIDTH / TILE;
    run->launch.grid[1] = HEIGHT / TILE;
    run->launch.block[0] = TILE;
    run->launch.block[1] = 4;
    uint32_t *in = foreign_array(run->memory, NULL, 4 * WIDTH * HEIGHT);
    uint32_t *out = foreign_array(run->memory, NULL, 4 * WIDTH * HEIGHT);
    for (uint32_t i = 0; i < WIDTH * HEIGHT; ++i)
        in[i] = i * 2654435761u;
    const uint64_t words[] = { foreign_word(in), foreign_word(out), WIDTH };
    foreign_run(run->launch, run->module, "transpose", words, COUNT_OF(words));
    for (int y = 0; y < HEIGHT; ++y)
        for (int x = 0; x < WIDTH; ++x)
            assert_int_equal(out[x * HEIGHT + y], in[y * WIDTH + x]);
}

static void check_chain(Run *run)
{
    uint32_t *sums = foreign_array(run->memory, NULL, 4 * BLOCKS);
    uint32_t *ready = foreign_array(run->memory, NULL, 4 * BLOCKS);
    uint32_t *ticket = foreign_array(run->memory, NULL, 4);
    const uint64_t words[] = { foreign_word(run->device_in), foreign_word(sums),
                               foreign_word(ready), foreign_word(ticket), PART };
    foreign_run(run->launch, run->module, "chained_sums", words, COUNT_OF(words));
    uint32_t sum = 0;
    for (int i = 0; i < PART; ++i) {
        sum += run->in[i];
        if (i % THREADS == THREADS - 1 || i == PART - 1)
            assert_int_equal(sums[i / THREADS], sum);
    }
}

#define BLOCK_TEST(name)                   \
    static void test_##name(void **unused) \
    {                                      \
        (void) unused;                     \
        each_seed(check_##name);           \
    }
BLOCK_TEST(sum)
BLOCK_TEST(max)
BLOCK_TEST(scan)
BLOCK_TEST(votes)
BLOCK_TEST(histogram)
BLOCK_TEST(atomics)
BLOCK_TEST(transpose)
BLOCK_TEST(chain)

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: test_foreign FOLDER\n");
        return 2;
    }
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elementwise), cmocka_unit_test(test_sum),
        cmocka_unit_test(test_max),         cmocka_unit_test(test_scan),
        cmocka_unit_test(test_votes),       cmocka_unit_test(test_histogram),
        cmocka_unit_test(test_atomics),     cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_chain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
