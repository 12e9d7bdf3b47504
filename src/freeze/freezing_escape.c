/*
 * freezing_escape.c -- variables of a recording that are kept by others; see freezing.h
 *
 * What holds a variable is either known: operands of what the recording has made, its
 * own lists, queues, the graph of derivatives, and what the caller accounts for. Or it
 * is somebody whom a repetition would not serve: a list that the function appends to,
 * another thread, a variable that another thread has computed from it.
 */
#include "base/error.h"
#include "freeze/freezing_inside.h"
#include "trace/graph/holders.h"
#include "trace/graph/node.h"

/* Those of the recording itself. */
static void add_own(Holders *h, const Freezing *f)
{
    holders_add_all(h, f->made->held.ids, f->made->held.count);
    holders_add_all(h, f->sized.ids, f->sized.count);
    holders_add_all(h, f->foreign.ids, f->foreign.count);
}

/* The next variable after this one that the recording has made; 0: there is none. */
static VarId next_made(const Freezing *f, VarId id)
{
    while (++id < var_table.end)
        if (var_maker(id) == f->scope && var_exists(id))
            return id;
    return 0;
}

bool freezing_escaped(ThreadState *ts, const VarId *known, size_t count, VarIds *out)
{
    static const char function[] = "jit_freeze_escaped()";
    const Freezing *f = ts->freezing;
    if (!f)
        return error_set(JIT_ERROR_STATE, "%s: the calling thread is not recording a "
                         "function", function);
    for (size_t i = 0; i < count; ++i)
        if (known[i] && !var_exists(known[i]))
            return error_set(JIT_ERROR_ARGUMENT, "%s: r%u is not a variable", function,
                             known[i]);
    Holders h = { marks_take() };
    TRY(h.known, false);
    holders_add_all(&h, known, count);
    add_own(&h, f);
    holders_add_queues(&h);
    for (VarId id = 0; (id = next_made(f, id)) != 0;)
        holders_add_operands(&h, var_get(id));
    bool ok = true;
    for (VarId id = 0; ok && (id = next_made(f, id)) != 0;)
        if (holders_lack(&h, id))
            ok = var_ids_add(out, id);
    marks_return(h.known);
    return ok;
}
