/*
 * test_libdevice.c -- NVIDIA's math functions on the simulator are as exact as NVIDIA
 * says
 *
 *     test_libdevice FOLDER [--count N] [--report]
 *
 * FOLDER has what libdevice.py writes: PTX of code by others who had the hardware
 * in mind. Results are compared with MPFR (tests/accuracy); the bounds are those of the
 * CUDA C++ Programming Guide, "Mathematical Functions", in ulp from the correctly
 * rounded result. Small slips of the simulator (a rounding, a carry) are far outside of
 * them. --report shows the largest errors found.
 */
#include "foreign_util.h"

#include <math.h>

#include "accuracy/arguments.h"
#include "accuracy/reference.h"

enum { BLOCK = 128, MOST = 1 << 20 };

typedef struct Bound {
    const char *name;
    double f32, f64;
} Bound;

static const Bound bounds[] = {
    { "sin", 2, 2 },    { "cos", 2, 2 },   { "tan", 4, 2 },   { "asin", 2, 2 },
    { "acos", 2, 2 },   { "atan", 2, 2 },  { "sinh", 3, 2 },  { "cosh", 2, 1 },
    { "tanh", 2, 1 },   { "asinh", 3, 3 }, { "acosh", 4, 3 }, { "atanh", 3, 2 },
    { "exp", 2, 1 },    { "exp2", 2, 1 },  { "log", 1, 1 },   { "log2", 1, 1 },
    { "rsqrt", 2, 1 },  { "cbrt", 1, 1 },  { "erf", 2, 2 },   { "erfinv", 2, 5 },
    { "lgamma", 6, 4 }, { "atan2", 3, 2 }, { "power", 4, 2 }, { "hypot", 3, 2 },
};

static const char *folder;
static uint64_t wanted_count = 2000;
static bool report;

/* Where the guide gives no bound: next to the roots of lgamma. */
static bool is_excepted(const Bound *bound, const Format *format, const double *x)
{
    const bool single = format->type == VarTypeFloat32;
    return strcmp(bound->name, "lgamma") == 0 &&
           (single ? x[0] > -10.002 && x[0] < -2.263
                   : x[0] > -23.0002 && x[0] < -2.2636);
}

/* Keep about as many arguments as are wanted, from all places of the list. */
static void thin_out(Arguments *arguments, void *const *operands)
{
    const size_t size = (size_t) arguments->format->size;
    const uint64_t step = arguments->count / wanted_count + 1;
    uint64_t kept = 0;
    for (uint64_t i = 0; i < arguments->count; i += step, ++kept)
        for (int k = 0; k < arguments->function->arity; ++k)
            memmove((char *) operands[k] + kept * size, (char *) operands[k] + i * size,
                    size);
    arguments->count = kept;
}

/* Run the kernel for all arguments; results are in the simulator's memory. */
static void *run_kernel(const SimModule *module, const char *name, SimMemory *memory,
                        void *const *operands, int arity, size_t bytes, uint32_t count)
{
    uint64_t words[4];
    size_t n = 0;
    for (int k = 0; k < arity; ++k)
        words[n++] = foreign_word(foreign_array(memory, operands[k], bytes));
    void *result = sim_memory_get(memory, bytes);
    assert_non_null(result);
    words[n++] = foreign_word(result);
    words[n++] = count;
    const SimLaunch launch = { .grid = { (count + BLOCK - 1) / BLOCK },
                               .block = { BLOCK },
                               .memory = memory,
                               .seed = count };
    foreign_run(launch, module, name, words, n);
    return result;
}

/* The largest error in ulp; fails the test at a result that is off by more than what is
 * allowed. */
static double compare(const Bound *bound, const Arguments *arguments,
                      void *const *operands, const void *result)
{
    const Format *format = arguments->format;
    const double allowed =
        (format->type == VarTypeFloat32 ? bound->f32 : bound->f64) + 0.5;
    double most = 0;
    for (uint64_t i = 0; i < arguments->count; ++i) {
        double x[2] = { 0 };
        for (int k = 0; k < arguments->function->arity; ++k)
            x[k] = reference_value(format, arguments_bits(format, operands[k], i));
        const double y = reference_value(format, arguments_bits(format, result, i));
        if (is_excepted(bound, format, x))
            continue;
        const Difference d = reference_exact(arguments->function, format, x, y);
        if (d.special ? d.wrong : !(d.ulp <= allowed))
            fail_msg("%s_%s(%a, %a) is %a, expected %a (%g ulp)", bound->name,
                     format->name, x[0], x[1], y, d.exact, d.ulp);
        if (!d.special && d.ulp > most)
            most = d.ulp;
    }
    return most;
}

static void check(const Bound *bound, const char *format)
{
    char path[1000], name[40];
    void *operands[2] = { NULL };
    Arguments arguments;
    snprintf(name, sizeof name, "%s_%s", bound->name, format);
    assert_true(snprintf(path, sizeof path, "%s/%s.ptx", folder, name) < 1000);
    assert_true(arguments_begin(&arguments, reference_function(bound->name),
                                reference_format(format), wanted_count));
    const int arity = arguments.function->arity;
    assert_true(arguments.count < MOST);
    for (int k = 0; k < arity; ++k) {
        operands[k] = malloc(arguments.count * (size_t) arguments.format->size);
        assert_non_null(operands[k]);
    }
    arguments_fill(&arguments, 0, arguments.count, operands);
    thin_out(&arguments, operands);
    const size_t bytes = arguments.count * (size_t) arguments.format->size;
    SimMemory *memory = sim_memory_new();
    SimModule *module = foreign_module(path);
    const void *result = run_kernel(module, name, memory, operands, arity, bytes,
                                    (uint32_t) arguments.count);
    const double most = compare(bound, &arguments, operands, result);
    if (report)
        printf("%-12s %7llu arguments: %.2f ulp\n", name,
               (unsigned long long) arguments.count, most);
    sim_free(module);
    sim_memory_delete(memory);
    for (int k = 0; k < arity; ++k)
        free(operands[k]);
    arguments_end(&arguments);
}

static void test_f32(void **unused)
{
    (void) unused;
    for (size_t i = 0; i < COUNT_OF(bounds); ++i)
        check(&bounds[i], "f32");
}

static void test_f64(void **unused)
{
    (void) unused;
    for (size_t i = 0; i < COUNT_OF(bounds); ++i)
        check(&bounds[i], "f64");
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--report") == 0)
            report = true;
        else if (strcmp(argv[i], "--count") == 0 && i + 1 < argc)
            wanted_count = strtoull(argv[++i], NULL, 0);
        else
            folder = argv[i];
    }
    if (!folder) {
        fprintf(stderr, "usage: test_libdevice FOLDER [--count N] [--report]\n");
        return 2;
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_f32),
                                        cmocka_unit_test(test_f64) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
