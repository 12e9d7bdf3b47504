/*
 * error.c -- the error record of each thread
 *
 * The record is a fixed buffer in thread-local storage: recording an error needs no
 * memory (it must work when there is none) and a thread's end needs no destructor.
 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local ErrorRecord record;

int error_set(JitError code, const char *format, ...)
{
    /* The arguments may include the current message, so format beside it first. */
    char message[sizeof record.message];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(message, sizeof message, format, args);
    va_end(args);

    if (length < 0)
        message[0] = 0;
    else if ((size_t) length >= sizeof message)
        memcpy(message + sizeof message - 4, "...", 4);

    record.code = code;
    memcpy(record.message, message, strlen(message) + 1);
    return 0;
}

JitError error_code(void)
{
    return record.code;
}

const char *error_message(void)
{
    return record.message;
}

void error_clear(void)
{
    record.code = JIT_OK;
    record.message[0] = 0;
}

/* Nearly always there is none: then its text, which is long, is not copied. */
void error_save(ErrorRecord *out)
{
    out->code = JIT_OK;
    out->message[0] = 0;
    if (record.code != JIT_OK)
        *out = record;
}

void error_restore(const ErrorRecord *in)
{
    if (in->code == JIT_OK)
        error_clear();
    else
        record = *in;
}
