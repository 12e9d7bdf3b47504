/*
 * freezing_foreign.c -- variables that a recording reads and has neither made nor as
 * inputs; see freezing.h
 *
 * Each is noted once and held, so that its index stays its own. The operation that
 * reads it goes on with the right values; the recording is refused in the end.
 */
#include <stdio.h>

#include "base/error.h"
#include "freeze/freezing_inside.h"
#include "trace/graph/node.h"

/* False: out of memory. */
static bool note(Freezing *f, VarId id)
{
    const uint32_t count = f->foreign.count;
    const uint32_t number = table_number(&f->foreign_numbers, &id, sizeof(id), count);
    TRY(number != UINT32_MAX, false);
    TRY(number == count, true);
    if (!var_ids_add(&f->foreign, id)) {
        table_remove(&f->foreign_numbers, &id, sizeof(id));
        return false;
    }
    var_inc(id);
    return true;
}

void freezing_note_read(ThreadState *ts, VarId id)
{
    Freezing *f = ts->freezing;
    if (table_get(&f->numbers, &id, sizeof(id)) ||
        table_get(&f->foreign_numbers, &id, sizeof(id)))
        return;
    ErrorRecord before;
    error_save(&before);
    if (note(f, id))
        return;
    f->recorder.failed = true; /* which is the error, later on */
    error_restore(&before);
}

const VarIds *freezing_foreign(const ThreadState *ts)
{
    return ts->freezing ? &ts->freezing->foreign : NULL;
}

SymSize freezing_foreign_symsize(ThreadState *ts, VarId id)
{
    if (var_maker(id) == ts->recording)
        freezing_refuse(ts, "memory is used that is not an array of the recording");
    else
        node_read(ts, id);
    return freezing_number(ts, var_lanes_of(id));
}

/* "'scene/albedo', float32, 12 entries" */
static void describe(VarId id, char *out, size_t size)
{
    const Var *v = var_get(id);
    const Extra *extra = extra_find(v);
    const bool named = extra && (extra->label || extra->file);
    char name[200] = "";
    if (named)
        extra_describe(id, name, sizeof(name));
    snprintf(out, size, "%s%s%s, %u %s", name, named ? ", " : "",
             type_info[v->type].name, var_lanes(v),
             var_lanes(v) == 1 ? "entry" : "entries");
}

bool freezing_refuse_foreign(const Freezing *f)
{
    const uint32_t others = f->foreign.count - 1;
    char first[260], more[60] = "";
    describe(f->foreign.ids[0], first, sizeof(first));
    if (others)
        snprintf(more, sizeof(more), ", and %u other%s", others,
                 others == 1 ? "" : "s");
    return error_set(JIT_ERROR_UNSUPPORTED, "jit_freeze_stop(): what was recorded "
                     "cannot be repeated: it uses an array that existed before and is "
                     "not one of its inputs (%s)%s", first, more);
}
