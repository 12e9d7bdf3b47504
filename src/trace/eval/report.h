/*
 * report.h -- what a launch reports to when it has ended
 *
 *     checks   bounds that were not kept: warnings; loops that ran too long: errors
 *     prints   values for the code that has asked for them (print.h)
 *     history  the time it took
 *
 * A launch that is repeated reports to a copy (report_again()). Reports belong to one
 * launch; what they need is in them, so that they ask for no lock.
 */
#ifndef TRACE_EVAL_REPORT_H
#define TRACE_EVAL_REPORT_H

#include "base/bytes.h"
#include "kernel/launch.h"
#include "trace/eval/assemble.h"
#include "trace/eval/history.h"

typedef struct Report Report;

/** Of a launch that is about to be made. NULL: out of memory. */
Report *report_make(const Assembly *b);
/** Another one for the same checks and prints; NULL: for none. NULL: out of memory. */
Report *report_again(const Report *report);
/** The end of a launch, see LaunchSpec: the report is the payload, and is released. */
void report_done(void *report, const LaunchResult *result);
/** A launch that does not come about; NULL is fine. Requires the graph lock: who prints
 *  is told when it is released. */
void report_drop(Report *report);

/** Write a report, to be read by another process. False: error recorded, or it has
 *  prints, which are given to somebody in this one. */
bool report_put(const Report *report, const char *function, Text *out);
/** What that has written. NULL: it is not that, or out of memory. */
Report *report_take(ByteReader *in);

/** How many prints has it? */
uint32_t report_prints(const Report *report);
/** A check of it: CHECK_..., and the name of its variable. False: it has no such. */
bool report_check(const Report *report, uint32_t number, uint32_t *kind,
                  const char **name);

/** Do two check the same? Whom they print to does not count. */
bool report_same(const Report *a, const Report *b);

/** What the history says of a launch. */
typedef struct ReportedLaunch {
    const Command *command;
    const Kernel *kernel;
    const Program *program;
    uint32_t operation_count, input_count, output_count;
    KernelRecordingMode mode;
    bool hit;
    uint64_t codegen_ns;
} ReportedLaunch;

/** Have the launch in the kernel history. Without memory it is left out. */
void report_add_history(Report *report, const ThreadState *ts,
                        const ReportedLaunch *launch);
/** Text of a kernel: its Program and, if 'engine_too', what the engine makes of it. */
void report_write_ir(const Kernel *kernel, bool engine_too, Text *out);

#endif
