/*
 * api_print.c -- printing from kernels
 */
#include "trace/graph/print.h"

#include "api/api.h"
#include "base/error.h"

bool jit_var_print(uint32_t mask, uint32_t n, const uint32_t *values, size_t limit,
                   void (*callback)(const JitPrintRecords *, void *), void *payload)
{
    if (!callback || (n && !values))
        return api_null("jit_var_print()", callback ? "values" : "callback");
    ThreadState *ts = api_enter();
    TRY(ts, false);
    bool ok = print_record(ts, mask, n, values, limit, callback, payload);
    api_leave();
    return ok;
}
