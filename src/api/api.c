/*
 * api.c -- see api.h; errors, log and flags
 */
#include "api/api.h"

#include <stdarg.h>

#include "base/error.h"
#include "base/log.h"
#include "watch/progress.h"
#include "base/text.h"
#include "trace/graph/record.h"

int api_null(const char *function, const char *argument)
{
    return error_set(JIT_ERROR_ARGUMENT, "%s: %s is NULL", function, argument);
}

/* ------------------------------------------------------------------ errors */

int jit_error(void) { return (int) error_code(); }
const char *jit_error_message(void) { return error_message(); }
void jit_error_clear(void) { error_clear(); }

/* --------------------------------------------------------------------- log */

void jit_set_log_level_stderr(LogLevel level) { log_set_stderr_level(level); }
LogLevel jit_log_level_stderr(void) { return log_stderr_level(); }
void jit_set_log_output(LogCallback write) { log_set_output(write); }
void jit_set_progress(bool enabled) { progress_allow(enabled); }

void jit_set_log_level_callback(LogLevel level, LogCallback callback)
{
    log_set_callback(level, callback);
}

LogLevel jit_log_level_callback(void) { return log_callback_level(); }

void jit_log(LogLevel level, const char *format, ...)
{
    if (!format || !log_enabled(level))
        return;
    va_list args;
    va_start(args, format);
    Text text = { 0 };
    text_vputf(&text, format, args);
    va_end(args);
    const char *line = text_get(&text);
    if (line)
        log_text(level, line);
    text_free(&text);
}

/* ------------------------------------------------------------------- flags */

void jit_set_flags(uint32_t flags)
{
    ThreadState *ts = state_thread();
    if (ts)
        ts->flags = flags;
}

/* JitFlagSymbolicScope says what the thread is doing, whatever it has been set to. */
uint32_t jit_flags(void)
{
    const ThreadState *ts = state_thread();
    TRY(ts, 0);
    uint32_t own = ts->flags & ~(uint32_t) JitFlagSymbolicScope;
    return record_is_symbolic(ts) ? own | (uint32_t) JitFlagSymbolicScope : own;
}

void jit_set_flag(JitFlag flag, int enable)
{
    ThreadState *ts = state_thread();
    if (ts)
        ts->flags = enable ? ts->flags | (uint32_t) flag : ts->flags & ~(uint32_t) flag;
}

int jit_flag(JitFlag flag)
{
    const ThreadState *ts = state_thread();
    return ts && (flag == JitFlagSymbolicScope ? record_is_symbolic(ts)
                                               : state_flag(ts, flag));
}
