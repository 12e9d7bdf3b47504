/*
 * check.h -- how tests of the C++ interface check, and end
 */
#ifndef TESTS_CPP_CHECK_H
#define TESTS_CPP_CHECK_H

#include <drjit-core/array.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>

static int failures = 0;
static const char *current = "";

#define CHECK(condition)                                                           \
    ((condition) ? (void) 0                                                        \
                 : (void) (++failures, fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, \
                                               __LINE__, current, #condition)))

/* Does this throw a drjit::Error with a message that has these words? */
template <typename Function>
static inline bool throws(const char *words, Function function) {
    try {
        function();
    } catch (const drjit::Error &error) {
        if (std::string(error.what()).find(words) != std::string::npos)
            return true;
        fprintf(stderr, "  the message is: %s\n", error.what());
    }
    return false;
}

/* Compare an array with a function of the position, up to a relative error (of numbers
 * below 1: an absolute one). */
template <typename A, typename Function>
static bool near(const A &array, size_t size, double tolerance, Function reference) {
    if (array.size() != size) {
        fprintf(stderr, "  size %zu instead of %zu\n", array.size(), size);
        return false;
    }
    const auto values = array.to_vector();
    for (size_t i = 0; i < size; ++i) {
        const double expected = double(reference(i)), found = double(values[i]);
        if (!(std::fabs(found - expected) <=
              tolerance * std::max(1., std::fabs(expected)))) {
            fprintf(stderr, "  entry %zu is %.17g instead of %.17g\n", i, found,
                    expected);
            return false;
        }
    }
    return true;
}

/* Run the tests and release everything; the number of failures, at most 125. */
static inline int run_tests(const char *name, void (*all)()) {
    try {
        all();
    } catch (const std::exception &error) {
        fprintf(stderr, "%s: unexpected exception: %s\n", current, error.what());
        ++failures;
    }
    const uint32_t leaks = jit_shutdown(0);
    if (leaks) {
        fprintf(stderr, "%u variables leaked\n", leaks);
        ++failures;
    }
    printf("%s: %d failures\n", name, failures);
    return std::min(failures, 125);
}

#endif /* TESTS_CPP_CHECK_H */
