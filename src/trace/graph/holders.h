/*
 * holders.h -- who holds references to variables, for those who want to know of all
 *
 * Whatever is in the library and holds references adds them up here, each room its own.
 * What a variable has beyond that is held outside: by the callers of the public
 * interface. Requires the graph lock, and creates no variable.
 */
#ifndef TRACE_GRAPH_HOLDERS_H
#define TRACE_GRAPH_HOLDERS_H

#include "trace/graph/marks.h"

/** References by variable that are accounted for. */
typedef struct Holders {
    Marks *known;
} Holders;

/** One more; 0 stands for nothing. */
static inline void holders_add(Holders *h, VarId id)
{
    if (id)
        marks_set(h->known, id, marks_has(h->known, id) ? h->known->of[id].value + 1
                                                        : 1);
}
static inline void holders_add_all(Holders *h, const VarId *ids, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        holders_add(h, ids[i]);
}
/** Are there more references to a variable than that? */
static inline bool holders_lack(const Holders *h, VarId id)
{
    return var_get(id)->refs > (marks_has(h->known, id) ? h->known->of[id].value : 0);
}

/** Those of the graph of derivatives, which is above: src/ad sets it once there is a
 *  graph. */
extern void (*holders_of_derivatives)(Holders *h);

/** Those of the operands of a variable, and of what stands beside it (extra.h). */
void holders_add_operands(Holders *h, const Var *v);
/** Those of all threads: what is scheduled, queued, on mask stacks; and those of the
 *  graph of derivatives. */
void holders_add_queues(Holders *h);

#endif
