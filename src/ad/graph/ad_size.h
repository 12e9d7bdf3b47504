/*
 * ad_size.h -- sizes that derivatives need later on, and where they come from
 *
 * A recorded function is repeated for arrays of other sizes (drjit-core/freeze.h). What
 * an operation keeps of the size of a variable is therefore as good as the variable:
 * beside the number it says which size of the recording this is. Code that makes
 * something with a size announces it: ad_size_next().
 *
 * A node has a number only. Where a gradient with one entry arrives that stands for
 * many, the size is needed all the same, so it is noted for nodes whose operands have
 * one entry, and for what is computed from these. This is for the thread that records,
 * while it does.
 *
 * Sizes of which nothing is known bind the recording to those of all inputs. Sizes of 0
 * and 1 are numbers: a recording is bound to these anyway, and to others being larger.
 */
#ifndef AD_GRAPH_AD_SIZE_H
#define AD_GRAPH_AD_SIZE_H

#include "ad/graph/ad_graph.h"

typedef struct AdSize {
    size_t count;
    uint64_t origin; /* in the recording (a JitSize); 0: not known, or there is none */
} AdSize;

/** The size of a variable. */
AdSize ad_size_of(uint32_t index);
/** A number that an operation was given, which is whatever size was announced as the
 *  next one; it is taken. */
AdSize ad_size_take(size_t number);
/** A number that is this size (a JitSize, 0: just the number), and back: 0 also of
 *  sizes of which nothing is known, to which the recording is bound then. */
AdSize ad_size_from(size_t number, uint64_t origin);
uint64_t ad_size_origin(AdSize size);
/** Are they equal? It is assumed that this stays so. */
bool ad_size_equal(AdSize a, AdSize b);
/** Products; quotients, without rest. */
AdSize ad_size_times(AdSize size, AdSize factor);
AdSize ad_size_over(AdSize size, AdSize divisor);
/** Does a variable have this size? If so, it is assumed to stay like that. */
bool ad_size_is(AdSize size, uint32_t index);
/** The next literal, counter or resized variable that the thread makes has this size,
 *  or the next number that it gives an operation is this. */
void ad_size_next(AdSize size);
/** A UInt32 with one entry, which kernels read if a function is recorded. A new
 *  reference, 0: error recorded. */
uint32_t ad_size_number(AdSize size, JitBackend backend);

/** A node was made for an array, with edges from these operands: note its size if it
 *  will be needed. With the lock, as the next one. */
void ad_size_note(NodeId node, VarId array, uint32_t n, const uint64_t *operands);
/** Note it in any case, unless it is noted already. */
void ad_size_note_always(NodeId node, VarId array);
/** Two nodes stand for variables of one size. */
void ad_size_note_same(NodeId node, NodeId other);
/** There are no nodes any more. */
void ad_size_forget(void);

/** ad_size_of() and ad_size_next() with the lock. */
AdSize ad_size_of_array(VarId array);
void ad_size_announce(AdSize size);
/** The size of what a node stands for. With the lock. */
AdSize ad_size_of_node(NodeId id);

#endif
