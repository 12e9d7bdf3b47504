/*
 * spans.h -- which entries of the arrays behind its parameters a lane of a Program uses
 */
#ifndef KERNEL_SPANS_H
#define KERNEL_SPANS_H

#include "device/cpu/cpu_code.h"
#include "ir/program.h"

/** As far as that is known. */
CpuSpans spans_find(const Program *program);

#endif
