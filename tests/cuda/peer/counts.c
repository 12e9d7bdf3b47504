#include "counts.h"

#include <stdio.h>
#include <time.h>

#include "api.h"
#include "driver.h"

size_t counts_text(const Counts *counts, char *out, size_t size)
{
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
#define COUNTS_ROW(name) { #name, counts->name },
        COUNTS(COUNTS_ROW)
#undef COUNTS_ROW
    };
    size_t at = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        int got = snprintf(at < size ? out + at : NULL, at < size ? size - at : 0,
                           "%s\"%s\": %llu", i ? ", " : "{", rows[i].name,
                           (unsigned long long) rows[i].value);
        at += (size_t) got;
    }
    return at + (size_t) snprintf(at < size ? out + at : NULL,
                                  at < size ? size - at : 0, "}\n");
}

bool counts_write(const Counts *counts, const char *path)
{
    char text[4096];
    counts_text(counts, text, sizeof text);
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    bool done = fputs(text, file) >= 0;
    return fclose(file) == 0 && done;
}

uint64_t counts_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
}

/** The counts since the last reset as JSON, which is cut off at 'size' bytes; with
 *  'reset' they begin at zero again. The length it has without the final zero. */
CU_EXPORT size_t cudaSimCounts(char *out, size_t size, int reset)
{
    pthread_mutex_lock(&driver.lock);
    size_t length = counts_text(&driver.counts, out, size);
    if (reset)
        driver.counts = (Counts) { 0 };
    pthread_mutex_unlock(&driver.lock);
    return length;
}
