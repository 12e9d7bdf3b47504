/*
 * print_util.h -- an area to print to, as a launch makes one, for tests of what prints
 */
#ifndef TESTS_PRINT_UTIL_H
#define TESTS_PRINT_UTIL_H

#include "base/alloc.h"
#include "device/buffer.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/launch/cpu_prints.h"
#include "kernel/print_log.h"

typedef struct TestPrints {
    CpuPrints cpu; /* first: what tests hold is its PrintLog */
    PrintArea *area;
    size_t size;
    Buffer *buffer;
    PrintRecords records;
} TestPrints;

static inline PrintLog *prints_make(const Program *p, size_t bytes)
{
    TestPrints *t = alloc_zero(1, sizeof *t);
    t->area = print_log_area(p, bytes, &t->size);
    t->buffer = buffer_get(cpu_device(), t->size + bytes);
    assert_non_null(t->area);
    assert_non_null(t->buffer);
    assert_true(buffer_write(t->buffer, 0, t->area, t->size));
    cpu_prints_begin(&t->cpu, buffer_host(t->buffer));
    return &t->cpu.log;
}

/* The records, as of now. */
static inline const PrintRecords *prints_finish(PrintLog *log)
{
    TestPrints *t = (TestPrints *) (void *) log;
    print_log_free(&t->records);
    print_log_read(t->area, t->size, t->buffer, &t->records);
    return &t->records;
}

static inline void prints_free(PrintLog *log)
{
    TestPrints *t = (TestPrints *) (void *) log;
    if (!t)
        return;
    print_log_free(&t->records);
    buffer_release(t->buffer);
    alloc_free(t->area);
    alloc_free(t);
}

#endif
