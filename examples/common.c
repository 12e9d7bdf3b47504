/* common.c -- see common.h */
#include "common.h"

#include <drjit-core/jit.h>

#include <errno.h>
#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---------------------------------------------------------------- pictures */

bool picture_read(Picture *picture, const char *path) {
    png_image image;
    memset(&image, 0, sizeof(image));
    image.version = PNG_IMAGE_VERSION;
    if (!png_image_begin_read_from_file(&image, path)) {
        fprintf(stderr, "cannot read the picture '%s': %s\n", path, image.message);
        return false;
    }

    image.format = PNG_FORMAT_RGBA;
    uint32_t *pixels = malloc(PNG_IMAGE_SIZE(image));
    if (!pixels) {
        png_image_free(&image);
        fprintf(stderr, "cannot read the picture '%s': out of memory\n", path);
        return false;
    }
    if (!png_image_finish_read(&image, NULL, pixels, 0, NULL)) {
        fprintf(stderr, "cannot read the picture '%s': %s\n", path, image.message);
        free(pixels);
        return false;
    }

    picture->width = image.width;
    picture->height = image.height;
    picture->pixels = pixels;
    return true;
}

bool picture_write(const Picture *picture, const char *path) {
    const size_t count = (size_t) picture->width * picture->height;
    uint8_t *bytes = malloc(3 * count);
    if (!bytes) {
        fprintf(stderr, "cannot write the picture '%s': out of memory\n", path);
        return false;
    }
    for (size_t i = 0; i < count; ++i) {
        bytes[3 * i] = (uint8_t) picture->pixels[i];
        bytes[3 * i + 1] = (uint8_t) (picture->pixels[i] >> 8);
        bytes[3 * i + 2] = (uint8_t) (picture->pixels[i] >> 16);
    }

    png_image image;
    memset(&image, 0, sizeof(image));
    image.version = PNG_IMAGE_VERSION;
    image.width = picture->width;
    image.height = picture->height;
    image.format = PNG_FORMAT_RGB;
    const bool ok = png_image_write_to_file(&image, path, 0, bytes, 0, NULL) != 0;
    if (!ok)
        fprintf(stderr, "cannot write the picture '%s': %s\n", path, image.message);
    free(bytes);
    return ok;
}

/* ------------------------------------------------------------------ timing */

double clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

void report_start(Report *report) {
    jit_set_flag(JitFlagKernelHistory, 1);
    jit_kernel_history_clear();
    report->start = clock_seconds();
    report->resume = report->start;
    report->trace = 0;
}

void report_traced(Report *report) {
    report->trace += clock_seconds() - report->resume;
}

void report_resume(Report *report) {
    report->resume = clock_seconds();
}

void report_print(const Report *report, const char *title) {
    jit_sync_thread();
    const double end = clock_seconds();

    KernelHistoryEntry *entries = NULL;
    const size_t count = jit_kernel_history(&entries);
    double prepare = 0, compile = 0, kernel_run = 0, other_run = 0;
    size_t kernels = 0, found = 0, others = 0, operations = 0, largest = 0;
    const char *engine = "";
    for (size_t i = 0; i < count; ++i) {
        const KernelHistoryEntry *entry = &entries[i];
        if (entry->type != KernelTypeJIT) {
            ++others;
            other_run += entry->execution_time;
            continue;
        }
        ++kernels;
        found += entry->cache_hit || entry->cache_disk;
        prepare += entry->codegen_time;
        compile += entry->backend_time;
        kernel_run += entry->execution_time;
        if (entry->operation_count > operations)
            operations = entry->operation_count;
        if (entry->size > largest)
            largest = entry->size;
        if (entry->engine)
            engine = entry->engine;
    }

    printf("%s\n", title);
    if (report->trace > 0)
        printf("  trace    %9.2f ms   recording operations, with the evaluations that "
               "gathers need\n", 1e3 * report->trace);
    printf("  prepare  %9.2f ms   scheduling and looking up %zu kernel launches\n",
           prepare, kernels);
    printf("  compile  %9.2f ms   %zu launches found their kernel in a cache\n",
           compile,
           found);
    printf("  run      %9.2f ms   up to %zu operations on %zu entries, engine '%s', "
           "%u threads\n", kernel_run, operations, largest, engine,
           jit_llvm_thread_count());
    if (others)
        printf("  other    %9.2f ms   %zu reductions, sorts, copies\n", other_run,
               others);
    printf("  total    %9.2f ms\n", 1e3 * (end - report->start));
    jit_kernel_history_release(entries, count);
}

/* ------------------------------------------------------------ command line */

bool parse_count(const char *text, const char *what, long low, long high,
                 uint32_t *out) {
    char *end = NULL;
    errno = 0;
    const long value = text ? strtol(text, &end, 10) : 0;
    if (!text || end == text || *end || errno || value < low || value > high) {
        fprintf(stderr, "%s: expected a whole number from %ld to %ld, found '%s'\n",
                what,
                low, high, text ? text : "nothing");
        return false;
    }
    *out = (uint32_t) value;
    return true;
}

bool parse_number(const char *text, const char *what, double low, double high,
                  double *out) {
    char *end = NULL;
    const double value = text ? strtod(text, &end) : 0;
    const bool number = text && end != text && !*end && isfinite(value);
    if (!number || value < low || value > high) {
        fprintf(stderr, "%s: expected a number from %g to %g, found '%s'\n", what, low,
                high, text ? text : "nothing");
        return false;
    }
    *out = value;
    return true;
}

bool report_error(const char *what) {
    fprintf(stderr, "%s: %s\n", what, jit_error_message());
    return false;
}
