/*
 * cpu_prints.h -- how code of the CPU prints: through a function, into a PrintArea
 */
#ifndef DEVICE_CPU_LAUNCH_CPU_PRINTS_H
#define DEVICE_CPU_LAUNCH_CPU_PRINTS_H

#include "ir/print_area.h"
#include "ir/program.h"

/** What the word of PARAM_PRINT points to. */
typedef struct CpuPrints {
    PrintLog log; /* first: a PrintLog * points to the whole */
    PrintArea *area;
} CpuPrints;

/** Have 'prints' append to an area, from any number of threads. */
void cpu_prints_begin(CpuPrints *prints, PrintArea *area);

#endif
