/*
 * freezing_note.c -- what is noted beside commands: whom launches report to, and what
 * the host reads; see freezing.h
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "freeze/freezing_inside.h"
#include "trace/graph/access.h"
#include "trace/graph/registry.h"

/* ----------------------------------------------------------------- launches */

/* A check's bound, which is known from the table, unless it is not that of an array. */
static SymSize bound_of(ThreadState *ts, VarId check, uint64_t bound)
{
    void *known = table_get(&ts->freezing->bounds, &check, sizeof(check));
    if (known)
        return (SymSize) (uintptr_t) known;
    if (var_get(check)->aux <= CHECK_KAHAN) /* a copy of one, perhaps */
        recorder_pin(&ts->freezing->recorder);
    return freezing_number(ts, bound);
}

bool freezing_bound(ThreadState *ts, VarId mask, VarId array, uint32_t n)
{
    if (!watch_records(ts) || var_get(mask)->op != OP_CHECK ||
        var_get(array)->flags & VAR_SYMBOLIC)
        return true;
    Freezing *f = ts->freezing;
    SymSizes *w = freezing_terms(ts);
    SymSize symsize = freezing_symsize(ts, array), block = freezing_number(ts, n);
    SymSize known = (SymSize) (uintptr_t) table_get(&f->bounds, &mask, sizeof(mask));
    TRY(symsize && block, false);
    if (n != 1)
        TRY(symsize = symsize_make(w, SYMSIZE_DIV, symsize, block), false);
    if (known)
        return symsize_assume(w, SYMSIZE_EQUAL, known, symsize);
    TRY(var_ids_add(&f->sized, mask), false);
    var_inc(mask);
    return table_put(&f->bounds, &mask, sizeof(mask), (void *) (uintptr_t) symsize);
}

/* One that prints or checks tells somebody each time. */
static bool keep_report(Freezing *f, const Report *report)
{
    Frozen *made = f->made;
    TRY(vec_reserve(&made->reports, &f->report_capacity, made->report_count + 1,
                    sizeof(Report *)), false);
    Report *again = report_again(report);
    TRY(again, false);
    made->reports[made->report_count++] = again;
    return true;
}

void freezing_launch(ThreadState *ts, const Assembly *b, Kernel *kernel,
                     const Report *report)
{
    if (!watch_records(ts))
        return;
    Freezing *f = ts->freezing;
    const Program *p = b->program;
    FrozenLaunch launch = { .kernel = kernel, .operations = p->inst_count,
                            .inputs = b->input_count, .outputs = b->output_count,
                            .checks = p->check_count };
    SymSize *bounds =
        p->check_count ? alloc_get(p->check_count * sizeof(SymSize)) : NULL;
    bool ok = bounds || !p->check_count;
    for (uint32_t i = 0; ok && i < p->check_count; ++i)
        ok = (bounds[i] = bound_of(ts, b->check_vars[i], b->check_bounds[i])) != 0;
    if (ok && (p->check_count || p->print_count)) {
        ok = keep_report(f, report);
        launch.report = f->made->report_count;
    }
    if (ok)
        recorder_launch(&f->recorder, &launch, bounds);
    else
        f->recorder.failed = true;
    f->prints |= p->print_count != 0;
    alloc_free(bounds);
}

/* -------------------------------------------------------------------- reads */

void freezing_note_decision(ThreadState *ts)
{
    if (ts->freezing->prints)
        freezing_refuse(ts,
                        "what a kernel has computed is read after one that prints");
}

bool freezing_may_read(const ThreadState *ts, const char *function)
{
    /* Where nothing will be repeated anything may be read; but not because of what may
     * be an input the next time. */
    const Freezing *f = ts->freezing;
    if (!watch_records(ts) || f->reads ||
        (f->recorder.refused && !f->foreign.count))
        return true;
    return error_set(JIT_ERROR_STATE,
                     "%s: cannot read the content of an array while a frozen function "
                     "is being recorded: what is done with it would not be repeated "
                     "(with 'allow_reads', the content becomes a condition)",
                     function);
}

bool freezing_allow_reads(ThreadState *ts, bool allow)
{
    TRY(ts->freezing, false);
    bool before = ts->freezing->reads;
    ts->freezing->reads = allow;
    return before;
}

bool freezing_exceeds(ThreadState *ts, VarId id, size_t number)
{
    TRY(watch_records(ts), true);
    SymSize size = freezing_symsize(ts, id), least = freezing_number(ts, number + 1);
    return size && least &&
           symsize_assume(freezing_terms(ts), SYMSIZE_NOT_LESS, size, least);
}

void freezing_read_buffer(ThreadState *ts, const Buffer *buffer, const void *data,
                          size_t bytes)
{
    if (!watch_records(ts))
        return;
    freezing_note_decision(ts);
    recorder_content(&ts->freezing->recorder, buffer, 0, data, bytes);
}

bool freezing_read(ThreadState *ts, VarId id, size_t first, size_t count)
{
    TRY(watch_records(ts), true);
    const Var *v = var_get(id);
    const size_t entry = type_info[v->type].size;
    if (count == var_lanes(v))
        freezing_pin(ts, id);
    else
        TRY(freezing_exceeds(ts, id, first + count - 1), false);
    void *data = alloc_get(count * entry);
    TRY(data, false);
    bool ok = buffer_read(v->value.buffer, first * entry, data, count * entry);
    if (ok) {
        freezing_note_decision(ts);
        recorder_content(&ts->freezing->recorder, v->value.buffer, first * entry, data,
                         count * entry);
    }
    alloc_free(data);
    return ok;
}

void freezing_refuse(ThreadState *ts, const char *why)
{
    if (watch_records(ts))
        recorder_refuse(&ts->freezing->recorder, why);
}

/* ----------------------------------------------------------------- registry */

static bool add_domain(Freezing *f, const char *variant, const char *domain)
{
    Frozen *made = f->made;
    TRY(!f->recorder.failed, true);
    for (uint32_t i = 0; i < made->domain_count; ++i)
        if (strcmp(made->domains[i].variant, variant) == 0 &&
            strcmp(made->domains[i].name, domain) == 0)
            return true;
    TRY(vec_reserve(&made->domains, &f->domain_capacity, made->domain_count + 1,
                    sizeof(FrozenDomain)), false);
    FrozenDomain *added = &made->domains[made->domain_count++];
    *added = (FrozenDomain) { alloc_string(variant), alloc_string(domain),
                              registry_version(variant, domain) };
    return added->variant && added->name;
}

void freezing_look_up(ThreadState *ts, const char *variant, const char *domain)
{
    if (watch_records(ts) && !add_domain(ts->freezing, variant, domain))
        ts->freezing->recorder.failed = true;
}
