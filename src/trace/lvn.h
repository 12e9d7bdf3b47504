/*
 * lvn.h -- local value numbering: equal pure operations share one variable
 *
 * Open addressing with linear probing and backward-shift deletion; a slot holds the
 * hash and the id, the key is the variable itself. Entries hold no reference: a
 * variable leaves the table when it is freed or evaluated. Requires the graph lock.
 */
#ifndef TRACE_LVN_H
#define TRACE_LVN_H

#include "trace/var.h"

/** Hash of everything that makes two nodes equal. */
uint32_t lvn_hash(const Var *v);
/** A variable equal to '*v' (whose hash is set), 0 if there is none. */
VarId lvn_lookup(const Var *v);
/** Enter a variable; silently left out if memory is out (it is only an
 *  optimisation). */
void lvn_insert(VarId id);
/** Take it out; VAR_NUMBERED is left to the caller. */
void lvn_remove(VarId id);
void lvn_free(void);

#endif
