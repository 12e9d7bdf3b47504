/*
 * recording_check.h -- what is known of a recording that is being checked
 *
 *     recording_check.c          sizes; what is there at which point
 *     recording_check_command.c  has a command all that it reads and writes?
 */
#ifndef RECORDING_RECORDING_CHECK_H
#define RECORDING_RECORDING_CHECK_H

#include "recording/recording_file.h"

typedef struct Check {
    const Recording *r;
    Width *same;     /* of terms: the first one of its class */
    int64_t *fixed;  /* of classes: the value, if it is always the same, else -1; */
    int64_t *least;  /* what it is at least */
    uint32_t *since; /* of arrays: when they were made, 0: they are not there. By a
                        command: its number + 2 */
    uint32_t reads, contents, loops; /* how many have been met */
    uint32_t inside; /* the innermost loop whose block is being followed, or
                        RECORDER_UNKNOWN */
} Check;

/** Is a size known by now? */
static inline bool check_is_known(const Check *c, Width width)
{
    return c->r->widths.terms[width].late <= c->reads;
}

/** Are parameters of a command valid, and its arrays as large as these say? */
bool check_parameters(const Check *c, const FrozenCommand *f);

#endif
