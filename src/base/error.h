/*
 * error.h -- errors as values
 *
 * A failing function records code and message for its thread and returns false, 0 or
 * NULL. Messages name the public function, what was found and what was expected:
 *     return error_set(JIT_ERROR_ARGUMENT, "jit_var_add(): operand 2 is float64, ...");
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "drjit-core/jit.h"

/** Record an error. Always returns 0, so that 'return error_set(...)' fits any
 *  result. */
int error_set(JitError code, const char *format, ...) JIT_PRINTF(2, 3);
/** Code and message of the calling thread ("" if none). */
JitError error_code(void);
const char *error_message(void);
void error_clear(void);

/** A saved error, to carry it between threads (asynchronous work, compile threads). */
typedef struct ErrorRecord {
    JitError code;
    char message[500];
} ErrorRecord;
/** Copy the calling thread's error out / make it the calling thread's error. */
void error_save(ErrorRecord *out);
void error_restore(const ErrorRecord *in);

/** Return 'result' from the enclosing function if 'expression' is false, 0 or NULL. */
#define TRY(expression, result) \
    do { \
        if (!(expression)) \
            return result; \
    } while (0)

#endif
